/* SPDX-License-Identifier: MIT
 *
 * simplify: evaluates what is known at compile time. In: any function. Out: the same with constants
 * folded, copies forwarded, branches on constants resolved, straight lines of blocks merged, and
 * unreachable or unused code removed.
 *
 * Rounds of values.c and of the branches here run until nothing changes, then dead.c sweeps. A
 * switch whose case is known keeps its construct, as a switch with one target, while other blocks
 * leave through its merge block: that is what makes their branches structured (SPIR-V 2.11.2).
 */
#include "pass/edit.h"

#define NONE UINT32_MAX
enum { MAX_ROUNDS = 12 };

typedef struct Simplifier {
    PassContext *c;
    SpvModule *m;
    SpvFunction *f;
    uint32_t *n_preds; /* by block index; edges of one block counted once */
    uint8_t *is_named; /* by block index: merge block or continue target */
} Simplifier;

static void count_preds(Simplifier *s)
{
    spv_number_blocks(s->f);
    s->n_preds = NEW_ARRAY(s->c->scratch, uint32_t, s->f->n_blocks);
    s->is_named = NEW_ARRAY(s->c->scratch, uint8_t, s->f->n_blocks);
    uint32_t *stamp = NEW_ARRAY(s->c->scratch, uint32_t, s->f->n_blocks);
    for (SpvBlock *b = s->f->first; b; b = b->next) {
        uint32_t at;
        for (uint32_t k = 0; (at = cfg_target(b->insts.last, k)) != 0; k++) {
            SpvBlock *t = edit_block(s->m, b->insts.last->words[at]);
            if (t && stamp[t->index] != b->index + 1) {
                stamp[t->index] = b->index + 1;
                s->n_preds[t->index]++;
            }
        }
        SpvInst *merge = cfg_merge_inst(b);
        for (uint32_t k = 0; merge && k < (merge->op == SpvOpLoopMerge ? 2u : 1u); k++) {
            SpvBlock *t = edit_block(s->m, spv_operand(merge, k));
            if (t)
                s->is_named[t->index] = 1;
        }
    }
}

/* ---- branches -------------------------------------------------------------------------------- */

/* Where a branch to that block comes to, if the block does nothing and is for this branch alone. */
static SpvId target_behind(const Simplifier *s, SpvId to)
{
    const SpvBlock *b = edit_block(s->m, to);
    const SpvInst *i = b ? b->insts.first->next : NULL;
    bool idle = i && i->op == SpvOpBranch && s->n_preds[b->index] == 1 && !s->is_named[b->index];
    return idle ? spv_operand(i, 0) : to;
}

/* Where both ways of a branch meet at once, and nothing is chosen by it; or 0. */
static SpvId meeting_point(const Simplifier *s, const SpvInst *term)
{
    SpvId x = target_behind(s, spv_operand(term, 1)), y = target_behind(s, spv_operand(term, 2));
    const SpvBlock *b = x == y ? edit_block(s->m, x) : NULL;
    return b && b->insts.first->next->op != SpvOpPhi ? x : 0;
}

/* The only block that a terminator can branch to, or 0. */
static SpvId sure_target(Simplifier *s, const SpvInst *term)
{
    uint64_t value;
    if (term->op == SpvOpBranchConditional) {
        SpvId met = meeting_point(s, term);
        if (met)
            return met;
        if (spv_operand(term, 1) == spv_operand(term, 2))
            return spv_operand(term, 1);
        if (!spv_constant(s->m, spv_operand(term, 0), &value))
            return 0;
        return spv_operand(term, value ? 1 : 2);
    }
    if (term->op != SpvOpSwitch)
        return 0;
    if (spv_n_operands(term) == 2)
        return spv_operand(term, 1);
    if (!spv_constant(s->m, spv_operand(term, 0), &value))
        return 0;
    uint32_t at, wide = term->literal_words == 2;
    const SpvType *t = spv_type_of(s->m, spv_operand(term, 0));
    uint64_t mask = t && t->bits < 64 ? ((uint64_t)1 << t->bits) - 1 : UINT64_MAX;
    for (uint32_t k = 1; (at = cfg_target(term, k)) != 0; k++) {
        uint64_t literal = term->words[at - 1 - wide];
        if (wide)
            literal |= (uint64_t)term->words[at - 1] << 32;
        if (((literal ^ value) & mask) == 0)
            return term->words[at];
    }
    return spv_operand(term, 1);
}

static void forget_other_targets(Simplifier *s, SpvBlock *b, SpvId taken)
{
    uint32_t at;
    for (uint32_t k = 0; (at = cfg_target(b->insts.last, k)) != 0; k++) {
        SpvBlock *t = edit_block(s->m, b->insts.last->words[at]);
        if (t && t->id != taken)
            edit_remove_pred(s->m, t, b->id);
    }
}

static bool settle_branch(Simplifier *s, SpvBlock *b)
{
    SpvInst *term = b->insts.last, *merge = cfg_merge_inst(b);
    SpvId to = sure_target(s, term);
    if (!to)
        return false;
    SpvBlock *out =
        merge && merge->op == SpvOpSelectionMerge ? edit_block(s->m, spv_operand(merge, 0)) : NULL;
    bool keep = term->op == SpvOpSwitch && out && s->n_preds[out->index] > 1;
    if (keep && spv_n_operands(term) == 2)
        return false;
    forget_other_targets(s, b, to);
    if (keep) {
        edit_become(s->m, term, SpvOpSwitch, (uint32_t[]){ spv_operand(term, 0), to }, 2);
        return true;
    }
    edit_become(s->m, term, SpvOpBranch, &to, 1);
    if (out)
        edit_remove(s->m, merge);
    return true;
}

/* The next block of a straight line, when it can become part of b. */
static SpvBlock *straight_next(Simplifier *s, const SpvBlock *b)
{
    SpvInst *term = b->insts.last, *merge = cfg_merge_inst(b);
    if (term->op != SpvOpBranch || (merge && merge->op != SpvOpLoopMerge))
        return NULL;
    SpvBlock *to = edit_block(s->m, spv_operand(term, 0));
    if (!to || to == b || to == s->f->first || s->n_preds[to->index] != 1 ||
        s->is_named[to->index] || (merge && (cfg_merge_inst(to) || !cfg_target(to->insts.last, 0))))
        return NULL;
    SpvInst *first = to->insts.first->next, *loop = cfg_merge_inst(to);
    /* of one trip: its header must not become the entry block */
    if (loop && loop->op == SpvOpLoopMerge)
        return NULL;
    return first && first->op == SpvOpPhi ? NULL : to;
}

/* A loop header keeps its OpLoopMerge, in front of its new terminator. */
static void append_block(Simplifier *s, SpvBlock *b, SpvBlock *to)
{
    SpvInst *merge = cfg_merge_inst(b);
    edit_rename_source(s->m, to->insts.last, to->id, b->id);
    edit_remove(s->m, b->insts.last);
    if (merge)
        spv_unlink(merge);
    for (SpvInst *i = to->insts.first->next, *next; i; i = next) {
        next = i->next;
        spv_unlink(i);
        if (!next && merge)
            spv_append(b, merge);
        spv_append(b, i);
    }
    s->m->defs[to->id] = NULL;
    spv_unlink_block(to);
}

static bool simplify_branches(Simplifier *s)
{
    bool changed = false;
    count_preds(s);
    for (SpvBlock *b = s->f->first; b; b = b->next)
        changed |= settle_branch(s, b);
    if (changed)
        edit_prune(s->m, s->f, s->c->scratch);
    count_preds(s);
    for (SpvBlock *b = s->f->first; b; b = b->next) {
        SpvBlock *to;
        while ((to = straight_next(s, b)) != NULL) {
            append_block(s, b, to);
            changed = true;
        }
    }
    spv_number_blocks(s->f);
    return changed;
}

/* ---- loops that do not loop ------------------------------------------------------------------ */

/* The OpLoopMerge of a block that heads no loop any more, or NULL. */
static SpvInst *idle_merge(const Cfg *g, uint32_t p)
{
    SpvInst *merge = cfg_merge_inst(g->blocks[p].block);
    const CfgLoop *l = g->blocks[p].loop;
    return merge && merge->op == SpvOpLoopMerge && !(l && l->header == p) ? merge : NULL;
}

static uint32_t place_of(const Simplifier *s, const Cfg *g, SpvId label)
{
    SpvBlock *b = edit_block(s->m, label);
    return b ? g->position[b->index] : NONE;
}

/* Without break or continue, a loop with a single trip need not be a construct. */
static bool drop_idle_loops(Simplifier *s, const Cfg *g)
{
    bool changed = false;
    for (uint32_t p = 0; p + 1 < g->n; p++) {
        SpvInst *merge = idle_merge(g, p);
        if (!merge || merge->next->op != SpvOpBranch)
            continue;
        uint32_t out = place_of(s, g, spv_operand(merge, 0)),
                 next = place_of(s, g, spv_operand(merge, 1));
        if ((out == NONE || g->blocks[out].n_preds == 1) &&
            (next == NONE || g->blocks[next].n_preds == 1)) {
            edit_remove(s->m, merge);
            changed = true;
        }
    }
    return changed;
}

/* Otherwise it stays one, and gets an unreachable continue target with the required back edge. */
static void close_idle_loops(Simplifier *s, const Cfg *g)
{
    for (uint32_t p = 0; p + 1 < g->n; p++) {
        SpvBlock *header = g->blocks[p].block;
        SpvInst *merge = idle_merge(g, p);
        if (!merge || place_of(s, g, spv_operand(merge, 1)) == NONE)
            continue;
        SpvBlock *stub = spv_new_block(s->f, NULL);
        stub->index = g->made_later;
        edit_append(s->m, stub, SpvOpBranch, &header->id, 1);
        merge->words[merge->first_operand + 1] = stub->id;
        for (SpvInst *i = header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
            edit_add_incoming(s->m, i, spv_undef(s->m, i->type), stub->id);
    }
}

/* Whether a load through the view may leave elements as they were. */
static bool may_clip(const SpvModule *m, SpvId view)
{
    for (SpvInst *i = spv_def(m, view); i; i = spv_def(m, spv_operand(i, 0))) {
        if (i->op == SpvOpCreateTensorViewNV)
            return false;
        if (i->op != SpvOpTensorViewSetDimensionNV && i->op != SpvOpTensorViewSetStrideNV)
            return true;
    }
    return true;
}

/* A tensor load without a clip does not need the matrix it would leave as it was, which a source
 * language hands on from one round of a loop to the next. */
static void forget_objects(Simplifier *s)
{
    for (SpvBlock *b = s->f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next) {
            SpvInst *object = i->op == SpvOpCooperativeMatrixLoadTensorNV
                                  ? spv_def(s->m, spv_operand(i, 1))
                                  : NULL;
            if (!object || object->op == SpvOpUndef)
                continue;
            SpvOperand o;
            uint32_t mask = 0;
            SpvId view = 0;
            for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
                if (o.kind == SPV_OPERAND_TensorAddressingOperands)
                    mask = i->words[o.word];
                else if (mask & SpvTensorAddressingOperandsTensorViewMask && !view)
                    view = i->words[o.word];
            }
            if (!view || !may_clip(s->m, view))
                i->words[i->first_operand + 1] = spv_undef(s->m, object->type);
        }
}

bool pass_simplify(PassContext *c)
{
    Simplifier s = { .c = c, .m = c->module, .f = c->entry.function };
    bool changed = true;
    forget_objects(&s);
    for (uint32_t round = 0; changed && round < MAX_ROUNDS; round++) {
        edit_prune(s.m, s.f, c->scratch);
        Cfg *g = cfg_build(c->scratch, s.f, c->sink);
        if (!g)
            return false;
        changed = values_simplify(c, g);
        changed |= drop_idle_loops(&s, g);
        changed |= simplify_branches(&s);
    }
    edit_prune(s.m, s.f, c->scratch);
    Cfg *g = cfg_build(c->scratch, s.f, c->sink);
    if (!g)
        return false;
    close_idle_loops(&s, g);
    dead_remove(c, g);
    return true;
}
