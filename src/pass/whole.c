/* SPDX-License-Identifier: MIT
 *
 * whole: iterations that whole subgroups run. In: a function after simplify, with loops like `for
 * (i = tid; i < n; i += step)`, which invocations leave one by one. Out: such a loop has a copy in
 * front of it that goes on while all of a subgroup's invocations do, so that nothing in it diverges
 * but what did within an iteration; the old loop does the rest.
 *
 * Lanes of vectors then need no masks in the copy, which runs nearly all iterations where counters
 * begin side by side. Where it runs all of them, the old loop is passed over, and with it what it
 * takes that lanes leave one by one. Loops that end by what they compute are left alone: one
 * invocation of many leaves those early.
 *
 * The loop must be left by its header alone, which has no effects, because it is evaluated again
 * where the copy ends.
 */
#include "pass/edit.h"

enum { MAX_SIZE = 384, MAX_BLOCKS = 32, MAX_DEPTH = 3 };

typedef struct Whole {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassLoopMarks marks;
    PassLoopCopy l;
} Whole;

/* ---- may it be done? ------------------------------------------------------------------------- */

static bool is_innermost(const Whole *s)
{
    for (uint32_t k = 0; k < s->g->n_loops; k++)
        if (s->g->loops[k]->parent == s->l.loop)
            return false;
    return true;
}

/* Where only some get to the loop, it takes masks anyway. */
static bool is_entered_by_all(const Whole *s, const Uniformity *u)
{
    const CfgBlock *h = &s->g->blocks[s->l.loop->header];
    for (uint32_t k = 0; k < h->n_preds; k++) {
        uint32_t p = h->preds[k];
        if (!cfg_in_loop(s->l.loop, s->g, p) && (u->divergent_block[p] || u->divergent_branch[p]))
            return false;
    }
    return true;
}

static bool is_left_by_header(const Whole *s)
{
    const CfgLoop *loop = s->l.loop;
    for (uint32_t k = 0; k < loop->n_blocks; k++) {
        const CfgBlock *b = &s->g->blocks[loop->blocks[k]];
        uint32_t staying = 0;
        for (uint32_t n = 0; n < b->n_succs; n++)
            staying += cfg_in_loop(loop, s->g, b->succs[n]);
        if (b->leaving || staying + (loop->blocks[k] == loop->header) != b->n_succs)
            return false;
    }
    return s->l.header->insts.last->op == SpvOpBranchConditional;
}

static bool has_effects(const SpvInst *i)
{
    bool load = i->op == SpvOpLoad &&
                (spv_n_operands(i) < 2 || !(spv_operand(i, 1) & SpvMemoryAccessVolatileMask));
    return !load && !spv_is_pure(i) && i->op != SpvOpPhi && i->op != SpvOpLoopMerge &&
           i->op != SpvOpBranchConditional && i->op != SpvOpLabel;
}

static bool header_has_effects(const Whole *s)
{
    for (const SpvInst *i = s->l.header->insts.first; i; i = i->next)
        if (has_effects(i))
            return true;
    return false;
}

/* Matrices are the business of whole subgroups already. */
static bool has_matrices(const Whole *s)
{
    for (uint32_t k = 0; k < s->l.blocks.len; k++)
        for (const SpvInst *i = s->l.blocks.data[k]->insts.first; i; i = i->next)
            if (i->type && edit_has_matrix(spv_type(s->m, i->type)))
                return true;
    return false;
}

/* A phi of the header that each iteration adds to. */
static bool is_counter(const Whole *s, SpvId id)
{
    const SpvInst *phi = spv_def(s->m, id);
    while (phi && (phi->op == SpvOpSConvert || phi->op == SpvOpUConvert || phi->op == SpvOpBitcast))
        phi = spv_def(s->m, spv_operand(phi, 0));
    if (!phi || phi->op != SpvOpPhi || phi->block != s->l.header)
        return false;
    const SpvInst *next = spv_def(s->m, loop_incoming(phi, s->l.latch->id));
    return next && (next->op == SpvOpIAdd || next->op == SpvOpISub) &&
           (spv_operand(next, 0) == phi->id || spv_operand(next, 1) == phi->id);
}

/* A sum that pass_trips made of a counter of iterations counts as one. */
static bool counts(const Whole *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    if (is_counter(s, id))
        return true;
    bool goes_on = depth && i && (i->op == SpvOpIAdd || i->op == SpvOpIMul);
    return goes_on &&
           (counts(s, spv_operand(i, 0), depth - 1) || counts(s, spv_operand(i, 1), depth - 1));
}

static bool is_counted(const Whole *s)
{
    const SpvInst *i = spv_def(s->m, spv_operand(s->l.header->insts.last, 0));
    return i && i->op >= SpvOpIEqual && i->op <= SpvOpSLessThanEqual &&
           (counts(s, spv_operand(i, 0), MAX_DEPTH) || counts(s, spv_operand(i, 1), MAX_DEPTH));
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* The header's phis, for the copy: new ones, which the old ones go on from. */
static void copy_phis(Whole *s)
{
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        s->marks.map[i->id] = spv_new_id(s->m);
}

static void link_phis(Whole *s, SpvBlock *head, const SpvBlock *out)
{
    SpvInst *at = head->insts.first->next;
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next) {
        SpvInst *copy = spv_clone_inst(s->m, i);
        copy->id = copy->words[copy->first_operand - 1] = s->marks.map[i->id];
        s->m->defs[copy->id] = copy;
        for (uint32_t k = copy->first_operand; k + 1 < copy->n_words; k += 2)
            if (copy->words[k + 1] == s->l.latch->id) {
                copy->words[k] = loop_mapped(&s->l, copy->words[k]);
                copy->words[k + 1] = loop_mapped(&s->l, s->l.latch->id);
            }
        spv_insert_before(at, copy);
        SpvId next = loop_incoming(i, s->l.latch->id);
        edit_become(s->m, i, SpvOpPhi, (uint32_t[]){ copy->id, out->id, next, s->l.latch->id }, 4);
    }
}

/* Makes the end of `head` go on while all invocations would, and else to `out`. Returns the boolean
 * whether an invocation would leave. */
static SpvId decide_together(Whole *s, SpvBlock *head, const SpvBlock *out, const SpvBlock *exit)
{
    SpvInst *term = head->insts.last, *merge = s->l.loop->merge_inst;
    SpvId condition = spv_operand(term, 0);
    bool leaves_when = spv_operand(term, 1) == exit->id;
    SpvId inside = spv_operand(term, leaves_when ? 2 : 1);
    SpvId other = spv_put(s->m, term, SpvOpLogicalNot, spv_bool_type(s->m), &condition, 1)->id;
    SpvId all = edit_all(s->m, term->block, term, leaves_when ? other : condition);
    if (merge) {
        SpvId to = loop_mapped(&s->l, spv_operand(merge, 1));
        spv_insert_before(term, spv_make(s->m, SpvOpLoopMerge, 0, 0,
                                         (uint32_t[]){ out->id, to, SpvLoopControlMaskNone }, 3));
    }
    edit_become(s->m, term, SpvOpBranchConditional, (uint32_t[]){ all, inside, out->id }, 3);
    return leaves_when ? condition : other;
}

/* Where no invocation would go on, `out` leads to the loop's exit instead, whose phis have operands
 * for that. The old loop gets a merge block of its own. */
static void pass_over(Whole *s, SpvBlock *out, SpvBlock *exit, SpvId leaves)
{
    SpvBlock *header = s->l.header, *last = s->l.blocks.data[s->l.blocks.len - 1];
    SpvInst *term = out->insts.last, *merge = s->l.loop->merge_inst;
    SpvBlock *left = spv_new_block(s->g->function, last);
    left->index = s->g->made_later;
    edit_append(s->m, left, SpvOpBranch, &exit->id, 1);
    edit_retarget(header->insts.last, exit->id, left->id);
    edit_rename_pred(s->m, exit, header->id, left->id);
    SpvId none = edit_all(s->m, term->block, term, leaves);
    if (merge) {
        merge->words[merge->first_operand] = left->id;
        spv_insert_before(term, spv_make(s->m, SpvOpSelectionMerge, 0, 0,
                                         (uint32_t[]){ exit->id, SpvSelectionControlMaskNone }, 2));
    }
    edit_become(s->m, term, SpvOpBranchConditional, (uint32_t[]){ none, exit->id, header->id }, 3);
}

/* Whether nothing but the loop leads to its exit, and no other construct ends there, so that the
 * loop's values can leave it by phis. */
static bool is_own(const Whole *s, const SpvBlock *exit)
{
    const SpvInst *merge = s->l.loop->merge_inst;
    return s->g->blocks[s->g->position[exit->index]].n_preds == 1 &&
           (!merge || spv_operand(merge, 0) == exit->id);
}

static void precede(Whole *s)
{
    SpvBlock *header = s->l.header, *before = header->prev;
    bool stays = loop_stays(&s->l, spv_operand(header->insts.last, 1));
    SpvBlock *exit = edit_block(s->m, spv_operand(header->insts.last, stays ? 2 : 1));
    bool passes = is_own(s, exit) && loop_close_values(&s->l);
    copy_phis(s);
    SpvBlock *last = loop_copy(&s->l, before);
    SpvBlock *head = edit_block(s->m, loop_mapped(&s->l, header->id));
    loop_redirect_entries(&s->l, head);
    SpvBlock *out = spv_new_block(s->g->function, last);
    out->index = s->g->made_later;
    edit_append(s->m, out, SpvOpBranch, &header->id, 1);
    link_phis(s, head, out);
    SpvId leaves = decide_together(s, head, out, exit);
    if (passes) {
        edit_rename_pred(s->m, exit, head->id, out->id);
        pass_over(s, out, exit, leaves);
    } else {
        edit_remove_pred(s->m, exit, head->id);
    }
    loop_done(&s->l);
}

static bool try_loop(Whole *s, const CfgLoop *loop, const Uniformity *u)
{
    if (!u->divergent_branch[loop->header] ||
        !loop_open(&s->l, s->c, s->g, &s->marks, loop, MAX_BLOCKS) || !is_innermost(s) ||
        !is_entered_by_all(s, u) || !is_left_by_header(s) || header_has_effects(s) ||
        !is_counted(s) || has_matrices(s) || s->l.size > MAX_SIZE)
        return false;
    precede(s);
    return true;
}

bool pass_whole(PassContext *c)
{
    SpvFunction *f = c->entry.function;
    bool any = false;
    if (!c->options->whole)
        return true;
    edit_prune(c->module, f, c->scratch);
    Whole s = { .c = c, .m = c->module, .g = cfg_build(c->scratch, f, c->sink) };
    if (!s.g)
        return false;
    const Uniformity *u =
        uniformity_build_for(c->scratch, c->module, s.g, c->options->subgroup_size);
    s.marks = loop_marks(c, s.g);
    for (uint32_t k = 0; k < s.g->n_loops; k++)
        any |= try_loop(&s, s.g->loops[k], u);
    if (!any)
        return true;
    Cfg *g = cfg_build(c->scratch, f, c->sink);
    if (!g)
        return false;
    edit_order_blocks(g);
    return pass_simplify(c);
}
