/* SPDX-License-Identifier: MIT
 *
 * endless: loops that are left only by returns. In: functions of a shader. Out: the same, except
 * that returns inside such a loop branch to its new merge block, which returns. So invocations that
 * leave in some iteration finish it by themselves and meet the others after the loop (SPIR-V 2.11,
 * SPV_KHR_maximal_reconvergence). Once the function is inlined, nothing else distinguishes the loop
 * from what follows the call.
 */
#include "pass/edit.h"

/* A block that returns, and the position in the Cfg of it or of the block that dominates it. */
typedef struct End {
    SpvBlock *block;
    uint32_t at;
} End;
typedef VEC(End) Ends;

static void leave_by_merge(PassContext *c, const Cfg *g, const CfgLoop *l, Ends *ends)
{
    VEC(uint32_t) values = { 0 };
    SpvBlock *merge = NULL;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < ends->len; k++) {
        End e = ends->data[k];
        if (!cfg_dominates(g, l->header, e.at)) {
            ends->data[kept++] = e;
            continue;
        }
        SpvInst *end = e.block->insts.last;
        if (end->op == SpvOpReturnValue) {
            vec_push(c->scratch, &values, spv_operand(end, 0));
            vec_push(c->scratch, &values, e.block->id);
        }
        if (!merge)
            merge = spv_new_block(g->function, g->function->last);
        edit_become(c->module, end, SpvOpBranch, &merge->id, 1);
    }
    ends->len = kept;
    if (!merge)
        return;
    if (values.len) {
        SpvId type = spv_def(c->module, values.data[0])->type, phi = spv_new_id(c->module);
        spv_append(merge, spv_make(c->module, SpvOpPhi, type, phi, values.data, values.len));
        edit_append(c->module, merge, SpvOpReturnValue, &phi, 1);
    } else {
        edit_append(c->module, merge, SpvOpReturn, NULL, 0);
    }
    l->merge_inst->words[l->merge_inst->first_operand] = merge->id;
    vec_push(c->scratch, ends, ((End){ merge, l->header }));
}

static bool close_loops(PassContext *c, SpvFunction *f)
{
    Ends ends = { 0 };
    spv_number_blocks(f);
    const Cfg *g = cfg_build(c->scratch, f, c->sink);
    for (uint32_t k = 0; g && k + 1 < g->n; k++) {
        uint16_t op = g->blocks[k].block->insts.last->op;
        if (op == SpvOpReturn || op == SpvOpReturnValue)
            vec_push(c->scratch, &ends, ((End){ g->blocks[k].block, k }));
    }
    for (uint32_t i = g ? g->n_loops : 0; i-- > 0;) /* inner ones first */
        if (g->loops[i]->merge_inst && g->loops[i]->merge == UINT32_MAX)
            leave_by_merge(c, g, g->loops[i], &ends);
    return g;
}

bool pass_endless(PassContext *c)
{
    /* a return out of several loops at once is no structured exit any more */
    if (c->entry.model != SpvExecutionModelGLCompute || c->options->ahead)
        return true;
    for (SpvFunction *f = c->module->functions; f; f = f->next)
        if (f->first && !close_loops(c, f))
            return false;
    return true;
}
