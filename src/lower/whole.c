/* SPDX-License-Identifier: MIT
 *
 * lower_whole_subgroup: a subgroup that is larger than the target's, and all of its workgroup. In:
 * any module. Out: the same for several subgroups of the target's own size: matrices are the
 * workgroup's (which lower_workgroup deals), and what else subgroups do is done by wide_subgroups.
 * Where the target has no matrices that they could be dealt in, the module as it was.
 */
#include "lower/internal.h"

static bool has_matrices(const SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpTypeCooperativeMatrixKHR)
            return true;
    return false;
}

/* What is a subgroup's, its matrices and whom it tells what it wrote, is the workgroup's. */
static void widen_scopes(Lower *l, SpvInst *i)
{
    SpvOperand o;
    uint64_t scope;
    SpvId workgroup = build_const(l, SpvScopeWorkgroup);
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.kind == SPV_OPERAND_IdScope && spv_constant(l->m, i->words[o.word], &scope) &&
            scope == SpvScopeSubgroup)
            i->words[o.word] = workgroup;
}

void lower_whole_subgroup(Lower *l)
{
    uint32_t own = l->profile->max_subgroup_size; /* which pipelines require of wider ones */
    l->widened =
        l->width > own && l->invocations == l->width && l->width % own == 0 && has_matrices(l->m);
    if (!l->widened || !is_pow2(l->width / own))
        return;
    wide_subgroups(l);
    for (SpvInst *i = l->m->globals.first; i; i = i->next)
        widen_scopes(l, i);
    lower_each(l, widen_scopes);
    spv_forget_types(l->m);
    l->width = l->lanes = own;
    l->subgroups = l->invocations / own;
    memset(l->places, 0, sizeof l->places);
    for (uint32_t k = 0; k < l->staging.len; k++)
        l->staging.data[k].scope = SpvScopeWorkgroup;
}
