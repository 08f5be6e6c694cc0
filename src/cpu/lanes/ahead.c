/* SPDX-License-Identifier: MIT
 *
 * Rows that follow one another in memory. In: a load in a loop, by lanes that lie close together.
 * Out: prefetches of what is so many bytes further on, beyond the end of a short row: there the
 * next workgroup's rows begin.
 *
 * A machine's own prefetchers stop at the end of a page. What a workgroup reads first of a row then
 * takes as long as memory does, and nothing of it is asked for before the workgroup before it has
 * come to its end. Only outermost loops: what comes after a row in a loop over rows need not be
 * what the loop reads next.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

/* loads of a block whose prefetches are remembered; lanes to a cache line, at least; operands of
 * operands that are looked at */
enum { REMEMBERED = 16, LANES_OF_A_LINE = 4, DEPTH = 12 };

/* What has been prefetched in the block that code is built for. */
struct LanesAhead {
    uint32_t position, n; /* the block's; loads so far */
    struct Row {
        LV base, offset, first;
        int64_t constant;
    } row[REMEMBERED];
    uint32_t *asked, question; /* by id: the last question that it was asked for */
};

static struct LanesAhead *state(Emit *e)
{
    Lanes *lanes = lanes_of(e);
    if (!lanes->ahead) {
        lanes->ahead = NEW(e->arena, struct LanesAhead);
        lanes->ahead->asked = NEW_ARRAY(e->arena, uint32_t, e->module->bound);
    }
    return lanes->ahead;
}

/* Whether a value is another one in each iteration: made of a phi of the loop's, or beyond what is
 * looked at. Outside of loops: whether a loop has moved it on, so that a row's rest is here. Each
 * value is asked for once. */
static bool moves_on(const Emit *e, const CfgLoop *loop, SpvId id, uint32_t depth,
                     struct LanesAhead *a)
{
    const Cfg *c = e->cfg;
    const SpvInst *i = spv_def(e->module, id);
    uint32_t p = i && i->block ? c->position[i->block->index] : UINT32_MAX;
    uint16_t at[16];
    const CfgLoop *of = p == UINT32_MAX ? NULL : c->blocks[p].loop;
    if (!loop && of && !of->parent)
        loop = of;
    if (p == UINT32_MAX || of != loop || a->asked[id] == a->question)
        return false;
    a->asked[id] = a->question;
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    bool moves = loop && (i->op == SpvOpPhi || !depth || n > COUNT_OF(at));
    for (uint32_t k = 0; depth && k < MIN(n, COUNT_OF(at)) && !moves; k++)
        moves = moves_on(e, loop, i->words[at[k]], depth - 1, a);
    return moves;
}

static bool is_of_workgroup(const Emit *e, SpvId variable)
{
    uint32_t n;
    const uint32_t *b = spv_decoration(e->module, variable, -1, SpvDecorationBuiltIn, &n);
    return b && n && (*b == SpvBuiltInWorkgroupId || *b == SpvBuiltInGlobalInvocationId);
}

/* Of a workgroup's place in y or z: those that follow one another have the same. */
static bool is_of_another_axis(const Emit *e, const SpvInst *i)
{
    uint64_t axis = 0;
    const SpvInst *from = i;
    if (i->op == SpvOpCompositeExtract) {
        axis = spv_operand(i, 1);
        from = spv_def(e->module, spv_operand(i, 0));
    } else if (i->op == SpvOpAccessChain && spv_n_operands(i) == 2) {
        spv_constant(e->module, spv_operand(i, 1), &axis);
    }
    if (!axis || !from || (from == i ? 0 : from->op != SpvOpLoad))
        return false;
    return is_of_workgroup(e, spv_operand(from, 0));
}

/* Whether a value is another one in each workgroup, as far as one sees. */
static bool is_workgroups_own(const Emit *e, SpvId id, struct LanesAhead *a)
{
    const SpvInst *i = spv_def(e->module, id);
    uint16_t at[16];
    if (!i || a->asked[id] == a->question || is_of_another_axis(e, i))
        return false;
    a->asked[id] = a->question;
    if (i->op == SpvOpVariable)
        return is_of_workgroup(e, id);
    uint32_t n = i->block ? spv_id_operands(i, at, COUNT_OF(at)) : 0;
    bool own = false;
    for (uint32_t k = 0; k < MIN(n, COUNT_OF(at)) && !own; k++)
        own = is_workgroups_own(e, i->words[at[k]], a);
    return own;
}

/* What all workgroups read alike does not go on behind it. */
static bool goes_through_a_row(Emit *e, const SpvInst *i)
{
    const CfgLoop *loop = e->cfg->blocks[e->position].loop;
    struct LanesAhead *a = state(e);
    a->question++;
    if ((loop && loop->parent) || !moves_on(e, loop, spv_operand(i, 0), DEPTH, a))
        return false;
    a->question++;
    return is_workgroups_own(e, spv_operand(i, 0), a);
}

/* What a load's lanes read, from the first byte to behind the last. */
typedef struct Reach {
    LV at, first; /* its address; of what of it is not constant, the scalar by which it moves on */
    int64_t scale, constant;
    uint32_t bytes; /* 0: they are not one row */
} Reach;

/* Lanes side by side, or nearly so. */
static Reach row_of_lanes(Emit *e, const EmitPointer *p)
{
    int64_t stride = address_lane_stride(p), line = lanes_of(e)->machine->tuning->line_bytes;
    if (!p->lane_index || p->at.rule == LAYOUT_LANES || emit_is_lanes(p->base) || stride <= 0 ||
        stride > line / LANES_OF_A_LINE)
        return (Reach){ .bytes = 0 };
    return (Reach){ .at = address_group(e, p, 0, 0),
                    .first = address_first_lane(e, p),
                    .scale = p->lane_scale,
                    .constant = p->constant,
                    .bytes = (uint32_t)stride * e->W };
}

/* Lanes that take pieces of blocks, most of them one of their own. The address does not matter
 * where it is not as expected: prefetches do not fault. */
static Reach row_of_pieces(Emit *e, const EmitPointer *p)
{
    LanesTable t;
    uint32_t own = 0;
    int64_t low = INT64_MAX, high = INT64_MIN;
    int64_t line = lanes_of(e)->machine->tuning->line_bytes;
    if (!table_open(e, p, &t))
        return (Reach){ .bytes = 0 };
    for (uint32_t l = 0; l < e->W; l++) {
        low = MIN(low, t.at[l]);
        high = MAX(high, t.at[l]);
        own += !l || t.at[l] != t.at[l - 1];
    }
    if (own < e->W / 2 || high - low >= line / LANES_OF_A_LINE * e->W)
        return (Reach){ .bytes = 0 };
    return (Reach){ .at = ir_at(e->b, t.address, ir_int(e->i64, (uint64_t)low)),
                    .first = t.base,
                    .scale = 1,
                    .constant = p->constant + low,
                    .bytes = (uint32_t)(high + 1 - low) };
}

/* Whether two scalars are computed alike, of the same values. */
static bool are_alike(LV x, LV y, uint32_t depth)
{
    if (x == y)
        return true;
    if (!depth || !LLVMIsAInstruction(x) || !LLVMIsAInstruction(y) || LLVMIsAPHINode(x) ||
        LLVMIsALoadInst(x) || LLVMIsACallInst(x) ||
        LLVMGetInstructionOpcode(x) != LLVMGetInstructionOpcode(y) ||
        LLVMTypeOf(x) != LLVMTypeOf(y) || LLVMGetNumOperands(x) != LLVMGetNumOperands(y))
        return false;
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(x); k++)
        if (!are_alike(LLVMGetOperand(x, k), LLVMGetOperand(y, k), depth - 1))
            return false;
    return true;
}

/* Whether a load before it in the block reads nearly the same lines. */
static bool is_repeated(Emit *e, const EmitPointer *p, const Reach *what)
{
    struct LanesAhead *a = state(e);
    if (a->position != e->position) {
        a->position = e->position;
        a->n = 0;
    }
    for (uint32_t k = 0; k < MIN(a->n, REMEMBERED); k++) {
        const struct Row *r = &a->row[k];
        int64_t apart = 0;
        if (r->base != p->base || r->offset != p->offset ||
            (!are_alike(what->first, r->first, DEPTH) &&
             !address_apart_by(what->first, r->first, &apart)))
            continue;
        apart = apart * what->scale + what->constant - r->constant;
        if (apart < what->bytes / 2 && -apart < what->bytes / 2)
            return true;
    }
    a->row[a->n++ % REMEMBERED] = (struct Row){ p->base, p->offset, what->first, what->constant };
    return false;
}

/* The usual distance; where what a workgroup reads is longer, so that this leads to its own rows,
 * the next workgroup's. */
static LV distance_ahead(Emit *e, LV next, uint64_t usual)
{
    enum { FARTHEST = 8 /* times the usual one */ };
    LV near = ir_int(e->i64, usual);
    if (!next)
        return near;
    LV longer = LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, next, near, ""),
                              ir_int(e->i64, (FARTHEST - 1) * usual), "");
    return LLVMBuildSelect(e->b, longer, next, near, "");
}

/* Where machines are asked again. Not where what the next workgroup reads lies beside it, in the
 * same rows: they step from row to row, and others read these too. */
static LV again_ahead(Emit *e, LV next, uint64_t usual)
{
    bool beside = next && LLVMIsAConstantInt(next) && LLVMConstIntGetZExtValue(next) < usual;
    return usual && !beside ? ir_int(e->i64, usual) : NULL;
}

LV lanes_row_ahead(Emit *e, const SpvInst *i, const EmitPointer *p, uint32_t *bytes, LV distance[2])
{
    const CpuTuning *tuning = lanes_of(e)->machine->tuning;
    if (p->storage != SpvStorageClassStorageBuffer || !goes_through_a_row(e, i))
        return NULL;
    Reach what = p->affine.group >= e->W ? row_of_lanes(e, p) : row_of_pieces(e, p);
    *bytes = what.bytes;
    if (!what.bytes || is_repeated(e, p, &what))
        return NULL;
    LV next = next_group_distance(e, spv_operand(i, 0));
    distance[0] = distance_ahead(e, next, tuning->row_ahead);
    distance[1] = again_ahead(e, next, tuning->row_again);
    return what.at;
}
