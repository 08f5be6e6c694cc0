/* SPDX-License-Identifier: MIT
 *
 * Votes of a subgroup: whether all of its active lanes have a property, or any, or the same value.
 * In: the lanes' booleans or values. Out: a scalar.
 *
 * Where lanes count up, as in `subgroupAll(i < n)`, which loops over rows of n numbers begin with
 * (pass/whole.c), the lane that is the furthest decides for all, and nothing is compared lane by
 * lane.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

static LV vote_all(Emit *e, LV p)
{
    if (!emit_is_lanes(p))
        return p;
    LV other = lanes_and(e, e->mask, LLVMBuildNot(e->b, p, ""));
    return LLVMBuildNot(e->b, lanes_any(e, other), "");
}

/* ---- what the furthest lane decides ---------------------------------------------------------- */

/* An order of integers: how SPIR-V numbers those from OpUGreaterThan to OpSLessThanEqual. */
enum { ORDER_SIGNED = 1, ORDER_OR_EQUAL = 2, ORDER_LESS = 4, ORDERS = 8 };

static LV compare(Emit *e, uint32_t order, LV x, LV y)
{
    static const LLVMIntPredicate predicates[ORDERS] = { LLVMIntUGT, LLVMIntSGT, LLVMIntUGE,
                                                         LLVMIntSGE, LLVMIntULT, LLVMIntSLT,
                                                         LLVMIntULE, LLVMIntSLE };
    return LLVMBuildICmp(e->b, predicates[order], x, y, "");
}

/* Whether what an instruction takes has here the value that it had there. */
static bool is_as_there(Emit *e, const SpvInst *i)
{
    if (i->block && e->cfg->position[i->block->index] == e->position)
        return true;
    bool same = !flow_needs_slot(e, i->id);
    for (uint32_t k = 0; k < spv_n_operands(i); k++)
        same &= !flow_needs_slot(e, spv_operand(i, k));
    return same;
}

/* Whether all lanes of what counts up from a->first are in an order with y, which they share. Where
 * they wrap, which they do once at most, each is compared. */
static LV all_by_furthest(Emit *e, uint32_t order, const EmitAffine *a, LV y)
{
    LV first = a->first[0];
    LV across = ir_int(LLVMTypeOf(first), (uint64_t)a->stride * (e->W - 1));
    LV last = LLVMBuildAdd(e->b, first, across, "");
    LV least = a->stride > 0 ? first : last, most = a->stride > 0 ? last : first;
    LV wraps = compare(e, (order & ORDER_SIGNED) | ORDER_LESS, most, least);
    LV all[2] = { compare(e, order, order & ORDER_LESS ? most : least, y) };
    LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(e->b) };
    EmitIf f = if_begin(e, wraps);
    ir_expect(LLVMGetBasicBlockTerminator(from[0]), false);
    LV lanes = affine_counting(e, first, a->stride);
    all[1] = vote_all(e, compare(e, order, lanes, emit_lanes(e, y)));
    from[1] = LLVMGetInsertBlock(e->b);
    if_end(e, &f);
    LV phi = LLVMBuildPhi(e->b, e->i1, "");
    LLVMAddIncoming(phi, all, from, 2);
    return phi;
}

/* Of a comparison, or, if not `value`, of its opposite. NULL: each lane must be compared. */
static LV compared_by_furthest(Emit *e, const SpvInst *i, bool value)
{
    uint32_t order = (uint32_t)i->op - SpvOpUGreaterThan, counting = 0;
    if (order >= ORDERS || e->mask || emit_value(e, i->id)->n != 1)
        return NULL;
    if (!value)
        order ^= ORDER_LESS | ORDER_OR_EQUAL;
    if (!emit_is_lanes(emit_leaf(e, spv_operand(i, 0), 0))) {
        counting = 1;
        order ^= ORDER_LESS;
    }
    EmitAffine a = emit_affine(e, emit_value(e, spv_operand(i, counting)), 0);
    LV y = emit_leaf(e, spv_operand(i, 1 - counting), 0);
    bool counts = affine_is_whole(e, &a) && a.stride && affine_wraps_once(&a);
    return counts && !emit_is_lanes(y) ? all_by_furthest(e, order, &a, y) : NULL;
}

static LV all_one_by_one(Emit *e, SpvId id, bool value)
{
    LV p = emit_leaf(e, id, 0);
    return vote_all(e, value ? p : LLVMBuildNot(e->b, p, ""));
}

/* Whether the boolean of all lanes is `value`, if the furthest lane decides a part of it; else
 * NULL. */
static LV decided_by_furthest(Emit *e, SpvId id, bool value, uint32_t depth)
{
    const SpvInst *i = spv_def(e->module, id);
    if (!depth || !i || !emit_is_lanes(emit_leaf(e, id, 0)) || !is_as_there(e, i))
        return NULL;
    if (i->op == SpvOpLogicalNot)
        return decided_by_furthest(e, spv_operand(i, 0), !value, depth - 1);
    if (i->op != (value ? SpvOpLogicalAnd : SpvOpLogicalOr))
        return compared_by_furthest(e, i, value);
    LV part[2];
    for (uint32_t k = 0; k < 2; k++)
        part[k] = decided_by_furthest(e, spv_operand(i, k), value, depth - 1);
    if (!part[0] && !part[1])
        return NULL;
    for (uint32_t k = 0; k < 2; k++)
        part[k] = part[k] ? part[k] : all_one_by_one(e, spv_operand(i, k), value);
    return LLVMBuildAnd(e->b, part[0], part[1], "");
}

static LV all_are(Emit *e, SpvId id, bool value)
{
    enum { DEPTH = 4 };
    LV r = decided_by_furthest(e, id, value, DEPTH);
    return r ? r : all_one_by_one(e, id, value);
}

static LV some_is(Emit *e, SpvId id) { return LLVMBuildNot(e->b, all_are(e, id, false), ""); }

/* ---- the instructions ------------------------------------------------------------------------ */

LV vote_same(Emit *e, LV x, LV y)
{
    return LLVMGetTypeKind(ir_element_of(x)) == LLVMIntegerTypeKind
               ? LLVMBuildICmp(e->b, LLVMIntEQ, x, y, "")
               : LLVMBuildFCmp(e->b, LLVMRealOEQ, ops_fold(e, x), ops_fold(e, y), "");
}

/* A uniform value equals itself, unless it is NaN. */
static LV vote_equal(Emit *e, SpvId id)
{
    uint32_t n;
    LV *v = ops_leaves(e, id, &n), r = ir_int(e->i1, 1);
    for (uint32_t k = 0; k < n; k++) {
        LV first = emit_uniform(e, v[k]);
        LV equal = emit_is_lanes(v[k]) ? vote_same(e, v[k], emit_lanes(e, first))
                                       : vote_same(e, first, first);
        r = LLVMBuildAnd(e->b, r, vote_all(e, equal), "");
    }
    return r;
}

static void vote(Emit *e, const SpvInst *i)
{
    bool khr = i->op == SpvOpSubgroupAllKHR || i->op == SpvOpSubgroupAnyKHR ||
               i->op == SpvOpSubgroupAllEqualKHR;
    bool equal = i->op == SpvOpGroupNonUniformAllEqual || i->op == SpvOpSubgroupAllEqualKHR;
    if (!khr && !equal && !subgroup_is_scope(e, i))
        return;
    SpvId id = spv_operand(i, khr ? 0 : 1);
    switch (i->op) {
    case SpvOpGroupNonUniformAll:
    case SpvOpGroupAll:
    case SpvOpSubgroupAllKHR: emit_set1(e, i, all_are(e, id, true)); break;
    case SpvOpGroupNonUniformAny:
    case SpvOpGroupAny:
    case SpvOpSubgroupAnyKHR: emit_set1(e, i, some_is(e, id)); break;
    default: emit_set1(e, i, vote_equal(e, id));
    }
}

/* clang-format off */
const EmitRule lanes_rules_vote[] = {
    VOTE_RULES(vote)
    { 0, 0, NULL },
};
/* clang-format on */
