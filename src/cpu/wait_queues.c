/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_multiple_wait_queues on a CPU: a loop's hint of N becomes prefetches, at each of its
 * loads, of the lines that the same load reads some iterations later. In: a load's pointer. Out:
 * prefetches, where the pointer advances by a loop-invariant step.
 *
 * The step is found by differences: of header phis by what the latch adds to them, of sums and
 * products by their operands'. It need only be right to be of use: a prefetch of any address
 * changes no result and cannot fault. More than MOST iterations never paid (PERFORMANCE, rule 6).
 * Whether it pays at all, which is when the data is far away and workgroups are not interleaved,
 * the dispatch knows (CpuEnv.prefetch).
 */
#include "cpu/emit.h"

#include <stddef.h>

enum { MOST = 2, MAX_DEPTH = 24, MAX_ASKED = 256, LINE = 64 };

typedef struct Steps {
    Emit *e;
    const CfgLoop *loop;
    SpvBlock *latch;
    uint32_t *left;             /* values that may still be asked about */
} Steps;

static LV k64(const Steps *s, uint64_t x) { return LLVMConstInt(s->e->i64, x, false); }
static LV step_of(const Steps *s, SpvId id, uint32_t depth);

static bool inside(const Steps *s, const SpvInst *i)
{
    uint32_t p = i && i->block ? s->e->cfg->position[i->block->index] : UINT32_MAX;
    return p != UINT32_MAX && cfg_in_loop(s->loop, s->e->cfg, p);
}

static bool is_zero(LV v) { return v && LLVMIsAConstantInt(v) && !LLVMConstIntGetZExtValue(v); }

static LV value(const Steps *s, SpvId id)
{
    return emit_cast_index(s->e, emit_uniform(s->e, emit_leaf(s->e, id, 0)), s->e->i64);
}

/* id - phi, where id is phi plus what does not change. */
static LV beyond(const Steps *s, SpvId phi, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->e->module, id);
    LLVMBuilderRef b = s->e->b;
    if (id == phi)
        return k64(s, 0);
    if (!inside(s, i) || !depth || (i->op != SpvOpIAdd && i->op != SpvOpISub))
        return NULL;
    for (uint32_t k = 0; k < (i->op == SpvOpIAdd ? 2u : 1u); k++) {
        SpvId other = spv_operand(i, 1 - k);
        if (inside(s, spv_def(s->e->module, other)))
            continue;
        LV rest = beyond(s, phi, spv_operand(i, k), depth - 1);
        if (rest)
            return i->op == SpvOpIAdd ? LLVMBuildAdd(b, rest, value(s, other), "")
                                      : LLVMBuildSub(b, rest, value(s, other), "");
    }
    return NULL;
}

static LV step_of_phi(const Steps *s, const SpvInst *phi, uint32_t depth)
{
    if (!s->latch || phi->block != s->e->cfg->blocks[s->loop->header].block)
        return NULL;
    for (uint32_t k = 0; k + 1 < spv_n_operands(phi); k += 2)
        if (spv_operand(phi, k + 1) == s->latch->id)
            return beyond(s, phi->id, spv_operand(phi, k), depth);
    return NULL;
}

static LV step_of_product(const Steps *s, const SpvInst *i, uint32_t depth)
{
    LV x = step_of(s, spv_operand(i, 0), depth), y = step_of(s, spv_operand(i, 1), depth);
    if (is_zero(x) && is_zero(y))
        return x;
    if (x && is_zero(y))
        return LLVMBuildMul(s->e->b, x, value(s, spv_operand(i, 1)), "");
    return y && is_zero(x) ? LLVMBuildMul(s->e->b, y, value(s, spv_operand(i, 0)), "") : NULL;
}

/* Bytes that a chain's indices move on. */
static LV step_of_chain(const Steps *s, const SpvInst *i, uint32_t depth)
{
    const SpvType *t = spv_type_of(s->e->module, spv_operand(i, 0));
    LV sum = step_of(s, spv_operand(i, 0), depth);
    t = t && t->kind == SPV_POINTER ? t->element : NULL;
    for (uint32_t k = 1; sum && k < spv_n_operands(i); k++) {
        uint64_t member, stride = 0;
        LV index = step_of(s, spv_operand(i, k), depth);
        if (!t || !index)
            return NULL;
        if (t->kind == SPV_STRUCT) {
            bool known = spv_constant(s->e->module, spv_operand(i, k), &member);
            t = known && member < t->count ? t->members[member] : NULL;
            continue;
        }
        if (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY)
            stride = t->array_stride;
        else if (t->kind == SPV_VECTOR)
            stride = spv_type_size(t->element);
        if (!stride && !is_zero(index))
            return NULL;
        sum = LLVMBuildAdd(s->e->b, sum, LLVMBuildMul(s->e->b, index, k64(s, stride), ""), "");
        t = t->element;
    }
    return sum;
}

/* What `id` grows by from one iteration to the next, i64; NULL: not the same each time. */
static LV step_of(const Steps *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->e->module, id);
    LLVMBuilderRef b = s->e->b;
    uint16_t at[16];
    if (!inside(s, i))
        return k64(s, 0);
    if (!depth-- || !*s->left)
        return NULL;
    --*s->left;
    LV x = NULL, y = NULL;
    uint64_t bits;
    switch (i->op) {
    case SpvOpPhi: return step_of_phi(s, i, depth);
    case SpvOpAccessChain: case SpvOpInBoundsAccessChain: return step_of_chain(s, i, depth);
    case SpvOpIMul: return step_of_product(s, i, depth);
    case SpvOpUConvert: case SpvOpSConvert: case SpvOpBitcast: case SpvOpCopyObject:
        return step_of(s, spv_operand(i, 0), depth);
    case SpvOpIAdd: case SpvOpISub:
        x = step_of(s, spv_operand(i, 0), depth);
        y = x ? step_of(s, spv_operand(i, 1), depth) : NULL;
        return !y ? NULL : i->op == SpvOpIAdd ? LLVMBuildAdd(b, x, y, "")
                                              : LLVMBuildSub(b, x, y, "");
    case SpvOpShiftLeftLogical:
        x = step_of(s, spv_operand(i, 0), depth);
        if (x && spv_constant(s->e->module, spv_operand(i, 1), &bits) && bits < 32)
            return LLVMBuildShl(b, x, k64(s, bits), "");
        return NULL;
    default:
        break;
    }
    /* the same operands give the same */
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    if ((!spv_is_pure(i) && i->op != SpvOpLoad) || n > COUNT_OF(at))
        return NULL;
    for (uint32_t k = i->op == SpvOpExtInst; k < n; k++)
        if (!is_zero(step_of(s, i->words[at[k]], depth)))
            return NULL;
    return k64(s, 0);
}

void emit_ahead(Emit *e, SpvId pointer, LV p, LV stride, uint32_t lines, uint32_t bytes)
{
    const Cfg *c = e->cfg;
    const CfgLoop *loop = c->blocks[e->position].loop;
    const SpvInst *merge = loop ? loop->merge_inst : NULL;
    if (!merge || !(spv_operand(merge, 2) & SpvLoopControlMultipleWaitQueuesQCOMMask))
        return;
    uint32_t left = MAX_ASKED;
    Steps s = { e, loop, loop->latch == UINT32_MAX ? NULL : c->blocks[loop->latch].block, &left };
    uint32_t asked = merge->words[merge->n_words - 1];
    LV step = step_of(&s, pointer, MAX_DEPTH);
    if (!step || is_zero(step))
        return;
    LV on = emit_env(e, e->b, e->i32, offsetof(CpuEnv, prefetch));
    If f = if_begin(e, LLVMBuildICmp(e->b, LLVMIntNE, on, LLVMConstInt(e->i32, 0, false), ""));
    LV far = LLVMBuildMul(e->b, step, k64(&s, asked ? MIN(asked, MOST) : MOST), "");
    Loop l = loop_begin(e, k64(&s, lines));
    LV offset = LLVMBuildAdd(e->b, far, LLVMBuildMul(e->b, l.index, stride, ""), "");
    for (uint32_t k = 0; k < bytes; k += LINE) {
        LV at = LLVMBuildAdd(e->b, offset, k64(&s, k), "");
        LV args[] = { LLVMBuildGEP2(e->b, e->i8, p, &at, 1, ""), LLVMConstInt(e->i32, 0, false),
                      LLVMConstInt(e->i32, 3, false), LLVMConstInt(e->i32, 1, false) };
        emit_intrinsic(e, "llvm.prefetch", &e->ptr, 1, args, 4);
    }
    loop_end(e, &l);
    if_end(e, &f);
}
