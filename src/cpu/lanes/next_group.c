/* SPDX-License-Identifier: MIT
 *
 * How far on the next workgroup's load lies, or where a call does several, the next call's. In: a
 * load's pointer. Out: the bytes by which its address grows with the workgroup's place in x,
 * computed as the address is, step by step: sums, products with what all workgroups have alike,
 * quotients. It is good enough for a prefetch: that a quotient is rounded, or that an index wraps,
 * is not looked at.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

enum { BUDGET = 128 }; /* of instructions, one that several sums share as often */

static LV growth(Emit *e, SpvId id, uint32_t *budget);

static LV none(Emit *e) { return ir_int(e->i64, 0); }

static bool is_group(Emit *e, const SpvInst *variable)
{
    uint32_t n;
    const uint32_t *b = variable && variable->op == SpvOpVariable
                            ? spv_decoration(e->module, variable->id, -1, SpvDecorationBuiltIn, &n)
                            : NULL;
    return b && n && *b == SpvBuiltInWorkgroupId;
}

/* Of a load from a variable that is no buffer's: a component of the workgroup's place; else it does
 * not grow, as far as one sees. */
static LV growth_of_load(Emit *e, const SpvInst *i)
{
    uint64_t axis;
    const SpvInst *chain = spv_def(e->module, spv_operand(i, 0));
    if (!chain || chain->op != SpvOpAccessChain)
        return is_group(e, chain) ? NULL : none(e);
    if (!is_group(e, spv_def(e->module, spv_operand(chain, 0))))
        return none(e);
    bool known = spv_constant(e->module, spv_operand(chain, 1), &axis);
    return known ? ir_int(e->i64, axis == 0) : NULL;
}

static LV growth_of_product(Emit *e, const SpvInst *i, uint32_t *budget)
{
    LV by[] = { growth(e, spv_operand(i, 0), budget), growth(e, spv_operand(i, 1), budget) };
    uint32_t k = by[0] && ir_is_int(by[0], 0); /* the one that grows */
    if (!by[0] || !by[1] || !ir_is_int(by[1 - k], 0))
        return NULL;
    if (ir_is_int(by[k], 0))
        return by[k];
    LV factor = emit_leaf(e, spv_operand(i, 1 - k), 0);
    return emit_is_lanes(factor)
               ? NULL
               : LLVMBuildMul(e->b, by[k], emit_cast_index(e, factor, e->i64), "");
}

static LV growth(Emit *e, SpvId id, uint32_t *budget)
{
    const SpvInst *i = spv_def(e->module, id);
    uint64_t x;
    LV a, b;
    if (!i || !i->block)
        return none(e);
    if (!*budget)
        return NULL;
    --*budget;
    switch (i->op) {
    case SpvOpLoad: return growth_of_load(e, i);
    case SpvOpPhi: /* a counter's start, where the loop adds what all workgroups add */
    case SpvOpCopyObject:
    case SpvOpBitcast:
    case SpvOpUConvert:
    case SpvOpSConvert: return growth(e, spv_operand(i, 0), budget);
    case SpvOpIAdd:
    case SpvOpISub:
        a = growth(e, spv_operand(i, 0), budget);
        b = growth(e, spv_operand(i, 1), budget);
        return !a || !b             ? NULL
               : i->op == SpvOpIAdd ? LLVMBuildAdd(e->b, a, b, "")
                                    : LLVMBuildSub(e->b, a, b, "");
    case SpvOpIMul: return growth_of_product(e, i, budget);
    case SpvOpUDiv:
        a = growth(e, spv_operand(i, 0), budget);
        if (!a || ir_is_int(a, 0))
            return a;
        return spv_constant(e->module, spv_operand(i, 1), &x) && x
                   ? LLVMBuildUDiv(e->b, a, ir_int(e->i64, x), "")
                   : NULL;
    case SpvOpUMod:
        a = growth(e, spv_operand(i, 0), budget);
        return a && ir_is_int(a, 0) ? a : NULL;
    default: return NULL;
    }
}

/* 1 + the position of the block from which on several workgroups are done: it says so. */
static uint32_t find_version(Emit *e)
{
    for (uint32_t p = 0; p + 1 < e->cfg->n; p++)
        for (const SpvInst *i = e->cfg->blocks[p].block->insts.first; i; i = i->next)
            if (i->op == SpvOpStore && spv_operand(i, 0) == e->output)
                return 1 + p;
    return 0;
}

/* How many workgroups a call does if it comes by the block that code is built for. */
static uint32_t groups_of_call(Emit *e)
{
    Lanes *lanes = lanes_of(e);
    if (!e->output)
        return 1;
    if (!lanes->version)
        lanes->version = find_version(e);
    bool in = lanes->version && cfg_dominates(e->cfg, lanes->version - 1, e->position);
    return in ? lanes->kernel->groups_at_once : 1;
}

LV next_group_distance(Emit *e, SpvId pointer)
{
    const SpvInst *chain = spv_def(e->module, pointer);
    if (!chain || (chain->op != SpvOpAccessChain && chain->op != SpvOpInBoundsAccessChain))
        return NULL;
    const SpvType *t = spv_type_of(e->module, spv_operand(chain, 0));
    LV sum = none(e);
    uint32_t budget = BUDGET;
    t = t && t->kind == SPV_POINTER ? t->element : NULL;
    for (uint32_t k = 1; t && k < spv_n_operands(chain); k++) {
        uint64_t member = 0;
        bool known = spv_constant(e->module, spv_operand(chain, k), &member);
        LV by = known ? none(e) : growth(e, spv_operand(chain, k), &budget);
        bool array = t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY;
        if (!by || (!array && !ir_is_int(by, 0)))
            return NULL;
        if (array)
            sum = LLVMBuildAdd(e->b, sum,
                               LLVMBuildMul(e->b, by, ir_int(e->i64, t->array_stride), ""), "");
        t = t->kind != SPV_STRUCT        ? t->element
            : known && member < t->count ? t->members[member]
                                         : NULL;
    }
    return t && !ir_is_int(sum, 0) ? LLVMBuildMul(e->b, sum, ir_int(e->i64, groups_of_call(e)), "")
                                   : NULL;
}
