/* SPDX-License-Identifier: MIT
 *
 * Every value is there where it is used: its definition dominates the use, or, for a phi, the end
 * of the predecessor that the value comes from (2.16.1). Dominators by Cooper, Harvey and Kennedy,
 * "A Simple, Fast Dominance Algorithm"; blocks that cannot be reached may use what they like.
 */
#include "spirv/internal.h"

typedef SpvDominators Tree;

SpvEdges spv_turn_edges(Arena *a, const SpvEdges *edges, uint32_t n)
{
    SpvEdges t = { NEW_ARRAY(a, uint32_t, n + 2), NEW_ARRAY(a, uint32_t, edges->first[n] + 1) };
    for (uint32_t k = 0; k < edges->first[n]; k++)
        t.first[edges->ends[k] + 2]++;
    for (uint32_t b = 0; b < n; b++)
        t.first[b + 2] += t.first[b + 1];
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t k = edges->first[b]; k < edges->first[b + 1]; k++)
            t.ends[t.first[edges->ends[k] + 1]++] = b;
    return t;
}

/* Postorder without recursion: `at` is how far each block's successors were followed. */
static void sort_blocks(Arena *a, Tree *t, SpvEdges out)
{
    uint32_t *stack = NEW_ARRAY(a, uint32_t, t->n), *at = NEW_ARRAY(a, uint32_t, t->n);
    uint32_t depth = 0;
    t->order = NEW_ARRAY(a, uint32_t, t->n);
    t->number = NEW_ARRAY(a, uint32_t, t->n);
    for (uint32_t b = 0; b < t->n; b++)
        at[b] = out.first[b];
    t->number[0] = UINT32_MAX; /* on its way */
    stack[depth++] = 0;
    while (depth) {
        uint32_t b = stack[depth - 1];
        if (at[b] == out.first[b + 1]) {
            t->order[t->n_order++] = b;
            t->number[b] = t->n_order;
            depth--;
            continue;
        }
        uint32_t next = out.ends[at[b]++];
        if (!t->number[next]) {
            t->number[next] = UINT32_MAX;
            stack[depth++] = next;
        }
    }
}

static uint32_t meet(const Tree *t, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (t->number[a] < t->number[b])
            a = t->idom[a];
        while (t->number[b] < t->number[a])
            b = t->idom[b];
    }
    return a;
}

static void find_dominators(Arena *a, Tree *t, const SpvEdges *e)
{
    t->idom = NEW_ARRAY(a, uint32_t, t->n);
    for (uint32_t b = 1; b < t->n; b++)
        t->idom[b] = UINT32_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = t->n_order - 1; k-- > 0;) {
            uint32_t b = t->order[k], best = UINT32_MAX;
            for (uint32_t p = e->first[b]; p < e->first[b + 1]; p++) {
                uint32_t pred = e->ends[p];
                if (!t->number[pred] || t->idom[pred] == UINT32_MAX)
                    continue;
                best = best == UINT32_MAX ? pred : meet(t, best, pred);
            }
            changed |= t->idom[b] != best;
            t->idom[b] = best;
        }
    }
}

/* Times so that a dominates b exactly when b's lie within a's. A parent comes before its children
 * in reverse postorder, so sizes of subtrees add up in one sweep and times come out in another. */
static void number_tree(Arena *a, Tree *t)
{
    uint32_t *size = NEW_ARRAY(a, uint32_t, t->n), *used = NEW_ARRAY(a, uint32_t, t->n);
    t->enter = NEW_ARRAY(a, uint32_t, t->n);
    t->leave = NEW_ARRAY(a, uint32_t, t->n);
    for (uint32_t k = 0; k + 1 < t->n_order; k++)
        size[t->idom[t->order[k]]] += ++size[t->order[k]];
    t->leave[0] = ++size[0];
    for (uint32_t k = t->n_order - 1; k-- > 0;) {
        uint32_t b = t->order[k], parent = t->idom[b];
        t->enter[b] = t->enter[parent] + 1 + used[parent];
        t->leave[b] = t->enter[b] + size[b];
        used[parent] += size[b];
    }
}

SpvDominators *spv_dominators(Arena *a, const SpvEdges *edges, uint32_t n)
{
    Tree *t = NEW(a, Tree);
    t->n = n;
    sort_blocks(a, t, spv_turn_edges(a, edges, n));
    find_dominators(a, t, edges);
    number_tree(a, t);
    return t;
}

bool spv_dominates(const SpvDominators *t, uint32_t a, uint32_t b)
{
    return t->number[a] && t->enter[a] <= t->enter[b] && t->leave[b] <= t->leave[a];
}

/* ---- uses ------------------------------------------------------------------------------------ */

static bool is_there(const Tree *t, const SpvInst *def, const SpvInst *use, const SpvBlock *from)
{
    if (!def->block || def->op == SpvOpLabel)
        return true; /* parameters and what is global; labels are no values */
    if (from)
        return !t->number[from->index] || spv_dominates(t, def->block->index, from->index);
    if (def->block == use->block)
        return def->index < use->index;
    return spv_dominates(t, def->block->index, use->block->index);
}

static bool may_name_labels(uint16_t op)
{
    return op == SpvOpPhi || op == SpvOpBranch || op == SpvOpBranchConditional ||
           op == SpvOpSwitch || op == SpvOpLoopMerge || op == SpvOpSelectionMerge;
}

static bool check_inst(const Tree *t, SpvModule *m, const SpvInst *i, DiagSink *sink)
{
    SpvOperand o;
    if (spv_is_nonsemantic(i) || i->op == SpvOpExtInstWithForwardRefsKHR)
        return true;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        if (!o.is_id)
            continue;
        const SpvInst *def = spv_def(m, i->words[o.word]);
        const SpvBlock *from = NULL;
        if (i->op == SpvOpPhi && def->op != SpvOpLabel)
            from = spv_def(m, i->words[o.word + 1])->block;
        if (def->op == SpvOpLabel && !may_name_labels(i->op)) {
            spv_error(m, i, sink, NULL, "%%%u is a label, not a value", def->id);
            return false;
        }
        if (!is_there(t, def, i, from)) {
            spv_error(m, i, sink, "SPIR-V 2.16.1", "%%%u is used where it need not be defined",
                      def->id);
            return false;
        }
    }
    return true;
}

/* Blocks come behind those that dominate them. */
static bool check_order(const Tree *t, const SpvModule *m, const SpvBlock *b, DiagSink *sink)
{
    uint32_t at = b->index;
    if (!t->number[at] || t->idom[at] <= at)
        return true;
    spv_error(m, b->insts.first, sink, "SPIR-V 2.16.1", "%%%u comes before its dominator", b->id);
    return false;
}

bool spv_check_dominance(SpvModule *m, SpvFunction *f, const SpvEdges *edges, DiagSink *sink)
{
    const Tree *t = spv_dominators(m->arena, edges, f->n_blocks);
    for (const SpvBlock *b = f->first; b; b = b->next) {
        if (!check_order(t, m, b, sink))
            return false;
        if (!t->number[b->index])
            continue;
        for (const SpvInst *i = b->insts.first; i; i = i->next)
            if (!check_inst(t, m, i, sink))
                return false;
    }
    return true;
}
