/* SPDX-License-Identifier: MIT
 *
 * version: a second version of a function's body, which a condition chooses at the beginning.
 */
#include "pass/edit.h"

bool version_open(PassVersion *v, PassContext *c)
{
    SpvFunction *f = c->entry.function;
    SpvInst *at = f->first->insts.first->next;
    while (at->op == SpvOpVariable)
        at = at->next;
    *v = (PassVersion){ .c = c, .entry = f->first, .body = edit_split(c->module, at) };
    edit_append(c->module, v->entry, SpvOpBranch, &v->body->id, 1);
    v->at = v->entry->insts.last;
    v->g = cfg_build(c->scratch, f, c->sink);
    if (!v->g)
        return false;
    v->marks = loop_marks(c, v->g);
    loop_open_behind(&v->copy, c, v->g, &v->marks, v->body, UINT32_MAX);
    loop_copy(&v->copy, v->body->prev);
    return true;
}

SpvBlock *version_block(const PassVersion *v, const SpvBlock *b)
{
    return edit_block(v->c->module, loop_mapped(&v->copy, b->id));
}

bool version_close(PassVersion *v, SpvId condition)
{
    PassContext *c = v->c;
    SpvId to[3] = { condition, version_block(v, v->body)->id, v->body->id };
    if (c->entry.model == SpvExecutionModelGLCompute) {
        SpvBlock *none = spv_new_block(c->entry.function, NULL);
        SpvId merge[2] = { none->id, SpvSelectionControlMaskNone };
        edit_append(c->module, none, SpvOpUnreachable, NULL, 0);
        spv_insert_before(v->at, spv_make(c->module, SpvOpSelectionMerge, 0, 0, merge, 2));
    }
    edit_become(c->module, v->at, SpvOpBranchConditional, to, 3);
    loop_done(&v->copy);
    edit_prune(c->module, c->entry.function, c->scratch);
    const Cfg *g = cfg_build(c->scratch, c->entry.function, c->sink);
    if (!g)
        return false;
    edit_order_blocks(g);
    return pass_simplify(c);
}
