/* SPDX-License-Identifier: MIT
 *
 * workgroup: finds the values that are the same for all invocations of a workgroup, as far as
 * operands tell. In: the values that are the same for a subgroup. Out: the values that are
 * computed, without a side effect, from constants, arguments, built-ins of the workgroup and memory
 * that the workgroup shares.
 *
 * Blocks are visited in the Cfg's order, where a definition comes before its uses. Phis, the only
 * exception, are never counted as the same, since the paths that subgroups take are not tracked.
 */
#include "analysis/analysis.h"

static bool is_variable_same(SpvModule *m, const SpvInst *v)
{
    uint32_t n;
    const uint32_t *builtin = spv_decoration(m, v->id, -1, SpvDecorationBuiltIn, &n);
    if (builtin)
        return n && (*builtin == SpvBuiltInWorkgroupId || *builtin == SpvBuiltInNumWorkgroups ||
                     *builtin == SpvBuiltInWorkgroupSize);
    switch (spv_operand(v, 0)) {
    case SpvStorageClassPushConstant:
    case SpvStorageClassUniform:
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassWorkgroup: return true;
    default: return false;
    }
}

static bool is_same(SpvModule *m, const uint8_t *same, const SpvInst *i)
{
    SpvOperand o;
    if (i->op == SpvOpVariable)
        return is_variable_same(m, i);
    bool computed = i->op == SpvOpLoad || i->op == SpvOpAccessChain ||
                    i->op == SpvOpInBoundsAccessChain || spv_is_pure(i);
    if (i->op == SpvOpPhi || !computed)
        return false;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.is_id && !same[i->words[o.word]])
            return false;
    return true;
}

uint8_t *workgroup_same(Arena *a, SpvModule *m, const Cfg *c, const Uniformity *u)
{
    uint8_t *same = NEW_ARRAY(a, uint8_t, m->bound);
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->id)
            same[i->id] = i->op != SpvOpVariable || is_variable_same(m, i);
    for (const SpvInst *i = c->function->head.first; i; i = i->next)
        if (i->op == SpvOpFunctionParameter)
            same[i->id] = !u->varying[i->id];
    for (uint32_t b = 0; b + 1 < c->n; b++)
        for (const SpvInst *i = c->blocks[b].block->insts.first; i; i = i->next)
            if (i->id)
                same[i->id] = !u->varying[i->id] && is_same(m, same, i);
    return same;
}
