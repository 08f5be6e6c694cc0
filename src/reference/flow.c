/* SPDX-License-Identifier: MIT
 *
 * The position of an invocation as a key that only grows while it runs: for each frame, for each
 * loop around the block the loop's place and its iteration, then the block's place, then the
 * instruction. Places are reverse postorder numbers, so that forward edges go up and a back edge
 * raises an iteration.
 *
 * Two invocations with equal keys are in the same dynamic instance, and one with a smaller key may
 * still come to where the larger one waits. Carrying out collective operations in the order of
 * their keys, with all the invocations that are there, is maximal reconvergence
 * (SPV_KHR_maximal_reconvergence) and holds for modules without merge instructions too.
 *
 * A loop is what its header dominates and its OpLoopMerge's merge block does not; without
 * OpLoopMerge, the natural loop of its back edges. Dominators as Cooper, Harvey and Kennedy compute
 * them.
 */
#include "reference/machine.h"

static bool block_dominates(const RBlock *a, const RBlock *b)
{
    return a->pre <= b->pre && b->post <= a->post;
}

/* Reverse postorder of the reachable blocks, without recursion. */
static uint32_t number_blocks(RMachine *m, RFunc *f, RBlock **order)
{
    RBlock **stack = NEW_ARRAY(m->arena, RBlock *, f->n_blocks + 1);
    uint32_t *next = NEW_ARRAY(m->arena, uint32_t, f->n_blocks + 1);
    uint32_t depth = 0, at = f->n_blocks;
    stack[0] = &f->blocks[0];
    stack[0]->reached = true;
    next[0] = stack[0]->n_succs;
    depth = 1;
    while (depth) {
        RBlock *b = stack[depth - 1];
        if (next[depth - 1]) {
            /* The last successor first: the first one then gets the lower number. */
            RBlock *s = b->succs[--next[depth - 1]];
            if (!s->reached) {
                s->reached = true;
                stack[depth] = s;
                next[depth++] = s->n_succs;
            }
        } else {
            order[--at] = b;
            depth--;
        }
    }
    uint32_t n = f->n_blocks - at;
    memmove(order, order + at, n * sizeof(*order));
    for (uint32_t k = 0; k < n; k++)
        order[k]->rpo = k;
    return n;
}

static RBlock *meet(RBlock *a, RBlock *b)
{
    while (a != b) {
        while (a->rpo > b->rpo)
            a = a->idom;
        while (b->rpo > a->rpo)
            b = b->idom;
    }
    return a;
}

static void find_dominators(RBlock **order, uint32_t n)
{
    bool changed = true;
    order[0]->idom = order[0];
    while (changed) {
        changed = false;
        for (uint32_t k = 1; k < n; k++) {
            RBlock *b = order[k], *d = NULL;
            for (uint32_t p = 0; p < b->n_preds; p++)
                if (b->preds[p]->reached && b->preds[p]->idom)
                    d = d ? meet(d, b->preds[p]) : b->preds[p];
            if (b->idom != d) {
                b->idom = d;
                changed = true;
            }
        }
    }
}

/* Intervals of the dominator tree: subtree sizes from the back, then places from the front. */
static void number_tree(RMachine *m, RBlock **order, uint32_t n)
{
    uint32_t *size = NEW_ARRAY(m->arena, uint32_t, n), *used = NEW_ARRAY(m->arena, uint32_t, n);
    for (uint32_t k = n; k-- > 0;) {
        size[k]++;
        if (k)
            size[order[k]->idom->rpo] += size[k];
    }
    for (uint32_t k = 0; k < n; k++) {
        RBlock *b = order[k], *d = b->idom;
        b->pre = k ? d->pre + 1 + used[d->rpo] : 0;
        b->post = b->pre + size[k] - 1;
        if (k)
            used[d->rpo] += size[k];
    }
}

/* Blocks that reach a back edge of `h` without passing it. */
static void natural_loop(RMachine *m, RBlock *h, uint32_t n)
{
    RBlock **stack = NEW_ARRAY(m->arena, RBlock *, n);
    uint32_t depth = 0;
    h->members = NEW_ARRAY(m->arena, uint8_t, n);
    h->members[h->rpo] = 1;
    for (uint32_t p = 0; p < h->n_preds; p++) {
        RBlock *t = h->preds[p];
        if (t->reached && block_dominates(h, t) && !h->members[t->rpo]) {
            h->members[t->rpo] = 1;
            stack[depth++] = t;
        }
    }
    while (depth) {
        RBlock *b = stack[--depth];
        for (uint32_t p = 0; p < b->n_preds; p++) {
            RBlock *q = b->preds[p];
            if (q->reached && !h->members[q->rpo]) {
                h->members[q->rpo] = 1;
                stack[depth++] = q;
            }
        }
    }
}

static bool in_loop(const RBlock *h, const RBlock *b)
{
    if (h->members)
        return h->members[b->rpo];
    return block_dominates(h, b) && !(h->merge->reached && block_dominates(h->merge, b));
}

static void find_levels(RMachine *m, RFunc *f, RBlock **order, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        RBlock *b = order[k];
        const RBlock *d = b->idom;
        b->loops = NEW_ARRAY(m->arena, RBlock *, (k ? d->depth : 0) + 1);
        for (uint32_t l = 0; k && l < d->depth && in_loop(d->loops[l], b); l++)
            b->loops[b->depth++] = d->loops[l];
        if (b->is_header)
            b->loops[b->depth++] = b;
        f->max_depth = MAX(f->max_depth, b->depth);
    }
}

bool flow_build(RMachine *m, RFunc *f)
{
    RBlock **order = NEW_ARRAY(m->arena, RBlock *, f->n_blocks + 1);
    uint32_t n = number_blocks(m, f, order);
    find_dominators(order, n);
    number_tree(m, order, n);
    for (uint32_t k = 0; k < n; k++) {
        RBlock *b = order[k];
        for (uint32_t s = 0; s < b->n_succs; s++) {
            RBlock *h = b->succs[s];
            if (h->rpo > b->rpo)
                continue;
            if (!block_dominates(h, b)) {
                refuse(m, h->src->insts.first, "irreducible control flow: a loop with two entries");
                return false;
            }
            h->is_header = true;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        if (order[k]->merge)
            order[k]->is_header = true;
        else if (order[k]->is_header)
            natural_loop(m, order[k], n);
    }
    find_levels(m, f, order, n);
    return true;
}

static int order_u32(uint32_t a, uint32_t b) { return a < b ? -1 : a > b; }

static int compare_blocks(const RBlock *a, const uint32_t *ia, const RBlock *b, const uint32_t *ib)
{
    for (uint32_t l = 0;; l++) {
        bool la = l < a->depth, lb = l < b->depth;
        int c = order_u32(la ? a->loops[l]->rpo : a->rpo, lb ? b->loops[l]->rpo : b->rpo);
        if (c || !la || !lb)
            return c;
        if ((c = order_u32(ia[l], ib[l])))
            return c;
    }
}

int flow_compare(const RMachine *m, const RInv *a, const RInv *b)
{
    for (uint32_t k = 0;; k++) {
        const RFrame *fa = &a->frames[k], *fb = &b->frames[k];
        bool last_a = k + 1 == a->n_frames, last_b = k + 1 == b->n_frames;
        uint32_t pa = last_a ? a->pc : a->frames[k + 1].return_pc - 1;
        uint32_t pb = last_b ? b->pc : b->frames[k + 1].return_pc - 1;
        if (pa != pb || memcmp(a->iters + fa->iters, b->iters + fb->iters,
                               m->code.data[pa].block->depth * sizeof(uint32_t))) {
            int c = compare_blocks(m->code.data[pa].block, a->iters + fa->iters,
                                   m->code.data[pb].block, b->iters + fb->iters);
            return c ? c : order_u32(pa, pb);
        }
        if (last_a || last_b)
            return last_a ? (last_b ? 0 : -1) : 1;
    }
}
