/* SPDX-License-Identifier: MIT
 *
 * shader, control flow: merge instructions (SPIR-V 2.11). In: a graph without them whose loops have
 * one back edge and leave by one block, and whose selections all end in the block that follows
 * both sides. Out: the same graph, each construct with a merge block and each loop with a continue
 * target of its own: blocks that do nothing, so that none is named twice.
 */
#include "pass/shader.h"

#define NONE UINT32_MAX

typedef struct ShaderFlow {
    Shader *s;
    SpvModule *m;
    Cfg *g;
    Map owner; /* of blocks made here, by label: position of the block it serves */
} ShaderFlow;

static SpvBlock *block_at(const ShaderFlow *w, uint32_t position)
{
    return w->g->blocks[position].block;
}

static void retarget(SpvInst *term, SpvId from, SpvId to)
{
    uint32_t at;
    for (uint32_t k = 0; (at = cfg_target(term, k)) != 0; k++)
        if (term->words[at] == from)
            term->words[at] = to;
}

/* A block that the edges from `preds` to `b` go through, with the phis they need. */
static SpvBlock *join_edges(ShaderFlow *w, SpvBlock *b, SpvBlock *const *preds, uint32_t n)
{
    SpvModule *m = w->m;
    SpvBlock *join = spv_new_block(b->function, NULL);
    for (SpvInst *phi = b->insts.first->next; phi && phi->op == SpvOpPhi; phi = phi->next) {
        uint32_t *operands = NEW_ARRAY(w->s->a, uint32_t, 2 * n);
        for (uint32_t k = 0; k < n; k++) {
            operands[2 * k] = loop_incoming(phi, preds[k]->id);
            operands[2 * k + 1] = preds[k]->id;
        }
        SpvId value = operands[0];
        if (n > 1) {
            SpvInst *own = spv_make(m, SpvOpPhi, phi->type, spv_new_id(m), operands, 2 * n);
            spv_append(join, own);
            value = own->id;
        }
        edit_add_incoming(m, phi, value, join->id);
    }
    edit_append(m, join, SpvOpBranch, &b->id, 1);
    for (uint32_t k = 0; k < n; k++) {
        edit_remove_pred(m, b, preds[k]->id);
        retarget(preds[k]->insts.last, b->id, join->id);
    }
    return join;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool is_inside(const ShaderFlow *w, const CfgLoop *l, uint32_t position)
{
    return cfg_in_loop(l, w->g, position);
}

/* The block that the loop leaves to, or a new one that is never reached. */
static SpvBlock *loop_exit(ShaderFlow *w, const CfgLoop *l)
{
    VEC(SpvBlock *) leaving = { 0 };
    uint32_t target = NONE;
    for (uint32_t k = 0; k < l->n_blocks; k++) {
        const CfgBlock *b = &w->g->blocks[l->blocks[k]];
        for (uint32_t j = 0; j < b->n_succs; j++) {
            if (is_inside(w, l, b->succs[j]) || !block_at(w, b->succs[j]))
                continue;
            if (target != NONE && target != b->succs[j])
                return NULL;
            target = b->succs[j];
            vec_push(w->s->a, &leaving, b->block);
        }
    }
    if (target != NONE)
        return join_edges(w, block_at(w, target), leaving.data, leaving.len);
    SpvBlock *never = spv_new_block(w->s->f, NULL);
    edit_append(w->m, never, SpvOpUnreachable, NULL, 0);
    return never;
}

static bool structure_loop(ShaderFlow *w, const CfgLoop *l)
{
    SpvBlock *header = block_at(w, l->header);
    SpvBlock *latch = l->latch == NONE ? NULL : block_at(w, l->latch);
    SpvBlock *exit = latch ? loop_exit(w, l) : NULL;
    if (!exit)
        return shader_refuse(w->s, header->insts.last, "a loop with several ways out");
    SpvBlock *next = join_edges(w, header, &latch, 1);
    /* The header only begins the loop: a selection in it is one of the loop's body. */
    SpvInst *body = edit_after_phis(header);
    SpvBlock *rest = edit_split(w->m, body);
    uint32_t operands[] = { exit->id, next->id, 0, 0 };
    operands[2] = loop_named_control(w->m, header, &operands[3]);
    edit_append(w->m, header, SpvOpLoopMerge, operands,
                operands[2] == SpvLoopControlPartialCountMask ? 4 : 3);
    edit_append(w->m, header, SpvOpBranch, &rest->id, 1);
    return true;
}

/* ---- selections ------------------------------------------------------------------------------ */

static bool serves(ShaderFlow *w, SpvBlock *b, uint32_t head)
{
    uint64_t owner;
    if (!map_get(&w->owner, b->id, &owner))
        owner = w->g->position[b->index];
    return owner != NONE && cfg_dominates(w->g, head, (uint32_t)owner);
}

/* Blocks that go to `b` and that `head` dominates; not the ones that go back in a loop. */
static void find_preds(ShaderFlow *w, const SpvBlock *b, uint32_t head, SpvBlock ***out,
                       uint32_t *n)
{
    VEC(SpvBlock *) list = { 0 };
    for (SpvBlock *p = w->s->f->first; p; p = p->next) {
        uint32_t at;
        for (uint32_t k = 0; (at = cfg_target(p->insts.last, k)) != 0; k++) {
            if (p->insts.last->words[at] != b->id || !serves(w, p, head))
                continue;
            vec_push(w->s->a, &list, p);
            break;
        }
    }
    *out = list.data;
    *n = list.len;
}

static bool is_exit(const ShaderFlow *w, SpvId label, const CfgLoop *l)
{
    const SpvInst *merge = l ? l->merge_inst : NULL;
    (void)w;
    return merge && (spv_operand(merge, 0) == label || spv_operand(merge, 1) == label);
}

static void structure_selection(ShaderFlow *w, uint32_t position)
{
    CfgBlock *b = &w->g->blocks[position];
    SpvInst *term = b->block->insts.last;
    if (term->op != SpvOpBranchConditional || cfg_merge_inst(b->block) ||
        is_exit(w, spv_operand(term, 1), b->loop) || is_exit(w, spv_operand(term, 2), b->loop))
        return;
    SpvBlock *end = block_at(w, b->ipdom), **preds = NULL, *merge;
    uint32_t n = 0;
    if (end)
        find_preds(w, end, position, &preds, &n);
    if (n) {
        merge = join_edges(w, end, preds, n);
    } else {
        merge = spv_new_block(w->s->f, NULL);
        edit_append(w->m, merge, SpvOpUnreachable, NULL, 0);
    }
    map_put(w->s->a, &w->owner, merge->id, position);
    SpvInst *selection = spv_make(w->m, SpvOpSelectionMerge, 0, 0, (uint32_t[]){ merge->id, 0 }, 2);
    spv_insert_before(term, selection);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* SPIR-V 1.6 wants the two labels of a conditional branch to differ. */
static void drop_false_choices(ShaderFlow *w)
{
    for (SpvBlock *b = w->s->f->first; b; b = b->next) {
        SpvInst *t = b->insts.last;
        SpvId target = t->op == SpvOpBranchConditional ? spv_operand(t, 1) : 0;
        if (target && target == spv_operand(t, 2))
            edit_become(w->m, t, SpvOpBranch, &target, 1);
    }
}

static bool look(ShaderFlow *w)
{
    spv_number_blocks(w->s->f);
    w->g = cfg_build(w->s->a, w->s->f, w->s->c->sink);
    return w->g != NULL;
}

/* A loop without its merge instruction, all loops in which have theirs. */
static const CfgLoop *innermost(const ShaderFlow *w)
{
    for (uint32_t k = w->g->n_loops; k-- > 0;)
        if (!w->g->loops[k]->merge_inst)
            return w->g->loops[k];
    return NULL;
}

bool shader_structure(Shader *s)
{
    ShaderFlow w = { .s = s, .m = s->m };
    drop_false_choices(&w);
    edit_prune(s->m, s->f, s->a);
    if (!look(&w))
        return false;
    for (const CfgLoop *l; (l = innermost(&w)) != NULL;)
        if (!structure_loop(&w, l) || !look(&w))
            return false;
    for (uint32_t k = w.g->n - 1; k-- > 0;)
        structure_selection(&w, k);
    if (!look(&w))
        return false;
    edit_order_blocks(w.g);
    spv_number_blocks(s->f);
    s->g = w.g;
    return true;
}
