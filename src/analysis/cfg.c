/* SPDX-License-Identifier: MIT
 *
 * cfg: a function's control-flow graph. In: blocks with terminators. Out: Cfg, in compact order.
 *
 * Blocks are numbered in reverse postorder first. Dominators and post-dominators are Lengauer and
 * Tarjan's ("A fast algorithm for finding dominators in a flowgraph", 1979, the simple variant).
 * Loops are grown backwards from their back edges, inner ones first, which then count as one node;
 * a loop with an OpLoopMerge also takes in the blocks that lead from it to its merge block (SPIR-V
 * 2.11, structured control flow: a construct is what its header dominates and its merge block does
 * not). The compact order is a preorder walk of the dominator tree, loops walked to their end
 * before what follows them. Nothing recurses, and nothing costs more than blocks times loop depth
 * on reducible graphs.
 */
#include "analysis/analysis.h"

#define NONE UINT32_MAX
enum { MAX_LOOP_DEPTH = 1023 }; /* SPIR-V 2.17, universal limits: nesting depth of control flow */

/* of node i: to[start[i]] .. to[start[i + 1] - 1] */
typedef struct Edges {
    uint32_t *start, *to;
} Edges;
typedef VEC(uint32_t) Nodes;

typedef struct LoopInfo {
    uint32_t header, parent, group; /* group: union-find towards the outermost loop so far */
    uint32_t latch, merge;
    SpvInst *merge_inst;
    Nodes own, exits;
} LoopInfo;

typedef struct Builder {
    Arena *a;
    SpvFunction *f;
    DiagSink *sink;
    uint32_t n;       /* reachable blocks, and the exit: n - 1 */
    SpvBlock **block; /* by number */
    uint32_t *number; /* by SpvBlock.index, NONE when unreachable */
    Edges succ, pred;
    uint32_t *idom, *ipdom;
    uint32_t *first, *last; /* dominator tree intervals */
    uint32_t *owner;        /* by number: innermost loop, NONE */
    uint8_t *leaving;
    VEC(LoopInfo) loops; /* inner before outer */
    Nodes inner;         /* loops taken into the loop that is being found */
    uint32_t *stamp, stamps;
    uint32_t *position; /* by number: place in the compact order */
} Builder;

SpvInst *cfg_merge_inst(const SpvBlock *b)
{
    SpvInst *i = b->insts.last ? b->insts.last->prev : NULL;
    return i && (i->op == SpvOpSelectionMerge || i->op == SpvOpLoopMerge) ? i : NULL;
}

uint32_t cfg_target(const SpvInst *term, uint32_t k)
{
    uint32_t at = term->first_operand;
    switch (term->op) {
    case SpvOpBranch: return k == 0 ? at : 0;
    case SpvOpBranchConditional: return k < 2 ? at + 1 + k : 0;
    case SpvOpSwitch: {
        uint32_t word = at + 1 + k * ((term->literal_words == 2 ? 2u : 1u) + 1);
        return word < term->n_words ? word : 0;
    }
    default: return 0;
    }
}

/* ---- numbering and edges --------------------------------------------------------------------- */

static SpvBlock *target_block(SpvModule *m, const SpvInst *term, uint32_t k)
{
    uint32_t word = cfg_target(term, k);
    SpvInst *label = word ? spv_def(m, term->words[word]) : NULL;
    return label ? label->block : NULL;
}

static void number_blocks(Builder *b)
{
    SpvFunction *f = b->f;
    struct Frame {
        SpvBlock *block;
        uint32_t k;
    } *stack = NEW_ARRAY(b->a, struct Frame, f->n_blocks + 1);
    SpvBlock **post = NEW_ARRAY(b->a, SpvBlock *, f->n_blocks + 1);
    uint32_t depth = 0, n = 0;
    b->number = NEW_ARRAY(b->a, uint32_t, f->n_blocks + 1);
    memset(b->number, 0xff, sizeof(uint32_t) * (f->n_blocks + 1));
    stack[depth++] = (struct Frame){ f->first, 0 };
    b->number[f->first->index] = 0;
    while (depth) {
        struct Frame *top = &stack[depth - 1];
        SpvInst *term = top->block->insts.last;
        if (!cfg_target(term, top->k)) {
            post[n++] = top->block;
            depth--;
            continue;
        }
        SpvBlock *to = target_block(f->module, term, top->k++);
        if (to && to->function == f && b->number[to->index] == NONE) {
            b->number[to->index] = 0;
            stack[depth++] = (struct Frame){ to, 0 };
        }
    }
    b->n = n + 1;
    b->block = NEW_ARRAY(b->a, SpvBlock *, b->n);
    for (uint32_t i = 0; i < n; i++) {
        b->block[i] = post[n - 1 - i];
        b->number[b->block[i]->index] = i;
    }
}

static void find_edges(Builder *b)
{
    SpvModule *m = b->f->module;
    Nodes to = { 0 };
    b->stamp = NEW_ARRAY(b->a, uint32_t, b->n);
    b->succ.start = NEW_ARRAY(b->a, uint32_t, b->n + 1);
    for (uint32_t i = 0; i + 1 < b->n; i++) {
        SpvInst *term = b->block[i]->insts.last;
        b->stamps++;
        b->succ.start[i] = to.len;
        for (uint32_t k = 0; cfg_target(term, k); k++) {
            SpvBlock *t = target_block(m, term, k);
            uint32_t number = t && t->function == b->f ? b->number[t->index] : NONE;
            if (number != NONE && b->stamp[number] != b->stamps) {
                b->stamp[number] = b->stamps;
                vec_push(b->a, &to, number);
            }
        }
        if (to.len == b->succ.start[i])
            vec_push(b->a, &to, b->n - 1);
    }
    b->succ.start[b->n - 1] = b->succ.start[b->n] = to.len;
    b->succ.to = to.data;

    uint32_t *start = b->pred.start = NEW_ARRAY(b->a, uint32_t, b->n + 2);
    b->pred.to = NEW_ARRAY(b->a, uint32_t, to.len + 1);
    for (uint32_t e = 0; e < to.len; e++)
        start[to.data[e] + 2]++;
    for (uint32_t i = 2; i <= b->n + 1; i++)
        start[i] += start[i - 1];
    for (uint32_t i = 0; i + 1 < b->n; i++)
        for (uint32_t e = b->succ.start[i]; e < b->succ.start[i + 1]; e++)
            b->pred.to[start[to.data[e] + 1]++] = i;
}

/* ---- dominators ------------------------------------------------------------------------------ */

typedef struct Dom {
    uint32_t n, reached;
    uint32_t *vertex, *parent, *semi, *label, *ancestor, *bucket, *next, *idom, *path;
    uint8_t *extra; /* hung below the root although no edge leads there */
} Dom;

static void dom_visit(Dom *d, uint32_t v, uint32_t parent)
{
    d->semi[v] = d->reached;
    d->vertex[d->reached++] = v;
    d->parent[v] = parent;
}

static void dom_search(Dom *d, uint32_t start, uint32_t parent, Edges out, uint32_t *cursor)
{
    uint32_t v = start;
    dom_visit(d, v, parent);
    while (true) {
        if (cursor[v] < out.start[v + 1] - out.start[v]) {
            uint32_t to = out.to[out.start[v] + cursor[v]++];
            if (d->semi[to] == NONE) {
                dom_visit(d, to, v);
                v = to;
            }
        } else if (v == start) {
            return;
        } else {
            v = d->parent[v];
        }
    }
}

static uint32_t dom_eval(Dom *d, uint32_t v)
{
    if (d->ancestor[v] == NONE)
        return v;
    uint32_t depth = 0;
    for (uint32_t x = v; d->ancestor[d->ancestor[x]] != NONE; x = d->ancestor[x])
        d->path[depth++] = x;
    while (depth) {
        uint32_t x = d->path[--depth], up = d->ancestor[x];
        if (d->semi[d->label[up]] < d->semi[d->label[x]])
            d->label[x] = d->label[up];
        d->ancestor[x] = d->ancestor[up];
    }
    return d->label[v];
}

/* Immediate dominators of the graph out/in from root. Nodes that root does not reach: with
 * `connect` they hang below the root (the blocks of endless loops, seen from the exit), else it
 * dominates them. */
static uint32_t *dominators(Arena *a, uint32_t n, uint32_t root, Edges out, Edges in, bool connect)
{
    Dom d = { .n = n };
    uint32_t **arrays[] = { &d.vertex, &d.parent, &d.semi, &d.label, &d.ancestor,
                            &d.bucket, &d.next,   &d.idom, &d.path };
    for (uint32_t i = 0; i < COUNT_OF(arrays); i++) {
        *arrays[i] = NEW_ARRAY(a, uint32_t, n);
        memset(*arrays[i], 0xff, sizeof(uint32_t) * n);
    }
    uint32_t *cursor = NEW_ARRAY(a, uint32_t, n);
    d.extra = NEW_ARRAY(a, uint8_t, n);
    dom_search(&d, root, root, out, cursor);
    for (uint32_t v = n; connect && v-- > 0;) {
        if (d.semi[v] == NONE) {
            d.extra[v] = 1;
            dom_search(&d, v, root, out, cursor);
        }
    }
    for (uint32_t v = 0; v < n; v++)
        d.label[v] = v;
    for (uint32_t i = d.reached; i-- > 1;) {
        uint32_t w = d.vertex[i], p = d.parent[w];
        if (d.extra[w])
            d.semi[w] = 0;
        for (uint32_t e = in.start[w]; e < in.start[w + 1]; e++) {
            if (d.semi[in.to[e]] == NONE)
                continue;
            uint32_t u = dom_eval(&d, in.to[e]);
            d.semi[w] = MIN(d.semi[w], d.semi[u]);
        }
        uint32_t at = d.vertex[d.semi[w]];
        d.next[w] = d.bucket[at];
        d.bucket[at] = w;
        d.ancestor[w] = p;
        for (uint32_t v = d.bucket[p]; v != NONE; v = d.next[v]) {
            uint32_t u = dom_eval(&d, v);
            d.idom[v] = d.semi[u] < d.semi[v] ? u : p;
        }
        d.bucket[p] = NONE;
    }
    d.idom[root] = root;
    for (uint32_t i = 1; i < d.reached; i++) {
        uint32_t w = d.vertex[i];
        if (d.idom[w] != d.vertex[d.semi[w]])
            d.idom[w] = d.idom[d.idom[w]];
    }
    for (uint32_t v = 0; v < n; v++)
        if (d.idom[v] == NONE)
            d.idom[v] = root;
    return d.idom;
}

/* Numbers the dominator tree so that v's subtree is first[v] .. last[v]. */
static void dominator_intervals(Builder *b)
{
    uint32_t *child = NEW_ARRAY(b->a, uint32_t, b->n), *sibling = NEW_ARRAY(b->a, uint32_t, b->n);
    memset(child, 0xff, sizeof(uint32_t) * b->n);
    b->first = NEW_ARRAY(b->a, uint32_t, b->n);
    b->last = NEW_ARRAY(b->a, uint32_t, b->n);
    for (uint32_t v = b->n; v-- > 1;) {
        sibling[v] = child[b->idom[v]];
        child[b->idom[v]] = v;
    }
    uint32_t clock = 0, v = 0;
    b->first[0] = clock++;
    while (true) {
        if (child[v] != NONE) {
            uint32_t c = child[v];
            child[v] = sibling[c];
            v = c;
            b->first[v] = clock++;
        } else {
            b->last[v] = clock - 1;
            if (v == 0)
                return;
            v = b->idom[v];
        }
    }
}

static bool idom_leads_to(const Builder *b, uint32_t x, uint32_t y)
{
    return b->first[x] <= b->first[y] && b->last[y] <= b->last[x];
}

/* ---- loops ----------------------------------------------------------------------------------- */

static uint32_t find_group(Builder *b, uint32_t l)
{
    LoopInfo *loops = b->loops.data;
    while (loops[l].group != l)
        l = loops[l].group = loops[loops[l].group].group;
    return l;
}

static bool in_group(Builder *b, uint32_t node, uint32_t l)
{
    return b->owner[node] != NONE && find_group(b, b->owner[node]) == l;
}

/* Puts a node, or the outermost loop that already holds it, into loop l. False when it is in l. */
static bool adopt(Builder *b, uint32_t node, uint32_t l, uint32_t *added)
{
    if (b->owner[node] == NONE) {
        b->owner[node] = l;
        vec_push(b->a, &b->loops.data[l].own, node);
        *added = node;
        return true;
    }
    uint32_t inner = find_group(b, b->owner[node]);
    if (inner == l)
        return false;
    b->loops.data[inner].group = b->loops.data[inner].parent = l;
    vec_push(b->a, &b->inner, inner);
    *added = b->loops.data[inner].header;
    return true;
}

static void natural_loop(Builder *b, uint32_t l, Nodes *work)
{
    while (work->len) {
        uint32_t node = work->data[--work->len], added;
        if (!adopt(b, node, l, &added))
            continue;
        for (uint32_t e = b->pred.start[added]; e < b->pred.start[added + 1]; e++)
            vec_push(b->a, work, b->pred.to[e]);
    }
}

static void collect_exits_of(Builder *b, uint32_t l, uint32_t node)
{
    for (uint32_t e = b->succ.start[node]; e < b->succ.start[node + 1]; e++) {
        uint32_t to = b->succ.to[e];
        if (!in_group(b, to, l) && b->stamp[to] != b->stamps) {
            b->stamp[to] = b->stamps;
            vec_push(b->a, &b->loops.data[l].exits, to);
        }
    }
}

/* Finds the blocks that loop l exits to, from its own blocks and from inner loops. */
static void collect_exits(Builder *b, uint32_t l)
{
    const Nodes *inner = &b->inner;
    b->loops.data[l].exits.len = 0;
    b->stamps++;
    for (uint32_t i = 0; i < b->loops.data[l].own.len; i++)
        collect_exits_of(b, l, b->loops.data[l].own.data[i]);
    for (uint32_t i = 0; i < inner->len; i++) {
        Nodes *exits = &b->loops.data[inner->data[i]].exits;
        for (uint32_t k = 0; k < exits->len; k++) {
            uint32_t to = exits->data[k];
            if (!in_group(b, to, l) && b->stamp[to] != b->stamps) {
                b->stamp[to] = b->stamps;
                vec_push(b->a, &b->loops.data[l].exits, to);
            }
        }
    }
}

/* Nodes reached from the ones in `found` on, strictly below header h in the dominator tree, not
 * below m (NONE: nothing is) and not in loop l. */
static void spread(Builder *b, uint32_t l, uint32_t m, Nodes *found)
{
    uint32_t h = b->loops.data[l].header;
    for (uint32_t i = 0; i < found->len; i++) {
        uint32_t node = found->data[i];
        for (uint32_t e = b->succ.start[node]; e < b->succ.start[node + 1]; e++) {
            uint32_t to = b->succ.to[e];
            if (b->stamp[to] == b->stamps || to == h || to == b->n - 1 ||
                !idom_leads_to(b, h, to) || (m != NONE && idom_leads_to(b, m, to)) ||
                in_group(b, to, l))
                continue;
            b->stamp[to] = b->stamps;
            vec_push(b->a, found, to);
        }
    }
}

static void adopt_ways(Builder *b, uint32_t l, const Nodes *ways, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t added, node = ways->data[i];
        bool single = b->owner[node] == NONE;
        if (!adopt(b, node, l, &added))
            continue;
        if (single)
            b->leaving[node] = 1;
    }
}

/* For a loop with an unreachable merge block: whether the code after it is outside the blocks that
 * its header dominates. This is the end of a function, which returns in the loop lead to. */
static bool leads_outside(const Builder *b, uint32_t l, const Nodes *ways)
{
    for (uint32_t i = 0; i < ways->len; i++) {
        uint32_t node = ways->data[i];
        for (uint32_t e = b->succ.start[node]; e < b->succ.start[node + 1]; e++)
            if (b->succ.to[e] != b->n - 1 &&
                !idom_leads_to(b, b->loops.data[l].header, b->succ.to[e]))
                return true;
    }
    return false;
}

/* The blocks on the way out of loop l that its construct includes: those that lead to the merge
 * block, and those that end the function without being reachable from it. Adds them to the loop. */
static void adopt_ways_out(Builder *b, uint32_t l)
{
    uint32_t m = b->loops.data[l].merge;
    Nodes ways = { 0 }, back = { 0 }, after = { 0 };
    if (!b->loops.data[l].merge_inst ||
        (m != NONE && !idom_leads_to(b, b->loops.data[l].header, m)))
        return;
    b->stamps++;
    for (uint32_t i = 0; i < b->loops.data[l].exits.len; i++) {
        uint32_t e = b->loops.data[l].exits.data[i];
        if (e == b->n - 1 || (m != NONE && idom_leads_to(b, m, e)) ||
            !idom_leads_to(b, b->loops.data[l].header, e))
            continue;
        b->stamp[e] = b->stamps;
        vec_push(b->a, &ways, e);
    }
    if (!ways.len)
        return;
    spread(b, l, m, &ways);
    if (m == NONE) {
        adopt_ways(b, l, &ways, leads_outside(b, l, &ways) ? ways.len : 0);
        return;
    }
    uint32_t in_ways = b->stamps, to_merge = ++b->stamps;
    vec_push(b->a, &back, m);
    for (uint32_t i = 0; i < back.len; i++) {
        uint32_t node = back.data[i];
        for (uint32_t e = b->pred.start[node]; e < b->pred.start[node + 1]; e++) {
            uint32_t p = b->pred.to[e];
            if (b->stamp[p] == in_ways) {
                b->stamp[p] = to_merge;
                vec_push(b->a, &back, p);
            }
        }
    }
    bool all = back.len - 1 == ways.len;
    uint32_t n_taken = 0;
    /* `back` again, in a form that survives the next stamp */
    for (uint32_t i = 0; i < ways.len; i++)
        if (b->stamp[ways.data[i]] == to_merge) {
            uint32_t x = ways.data[n_taken];
            ways.data[n_taken++] = ways.data[i];
            ways.data[i] = x;
        }
    if (!all) {
        b->stamps++;
        b->stamp[m] = b->stamps;
        vec_push(b->a, &after, m);
        spread(b, l, NONE, &after);
        for (uint32_t i = n_taken; i < ways.len; i++)
            if (b->stamp[ways.data[i]] != b->stamps)
                ways.data[n_taken++] = ways.data[i];
    }
    adopt_ways(b, l, &ways, n_taken);
}

static bool report_irreducible(Builder *b, uint32_t h)
{
    const char *name = spv_name(b->f->module, b->block[h]->id);
    spv_error(
        b->f->module, b->block[h]->insts.first, b->sink, "SPIR-V 2.11, structured control flow",
        "a loop is entered at block %%%u%s%s%s and elsewhere too; such irreducible control flow is "
        "not supported",
        b->block[h]->id, name ? " (" : "", name ? name : "", name ? ")" : "");
    return false;
}

static SpvInst *loop_merge(const SpvBlock *b)
{
    SpvInst *i = cfg_merge_inst(b);
    return i && i->op == SpvOpLoopMerge ? i : NULL;
}

/* Makes the loop that h heads, if it heads one. Inner loops must have been found before. */
static bool find_loop(Builder *b, uint32_t h)
{
    Nodes work = { 0 };
    for (uint32_t e = b->pred.start[h]; e < b->pred.start[h + 1]; e++) {
        uint32_t p = b->pred.to[e];
        if (p < h)
            continue;
        if (!idom_leads_to(b, h, p))
            return report_irreducible(b, h);
        vec_push(b->a, &work, p);
    }
    if (!work.len)
        return true;
    uint32_t l = b->loops.len;
    LoopInfo info = { .header = h,
                      .parent = NONE,
                      .group = l,
                      .merge = NONE,
                      .latch = work.len == 1 ? work.data[0] : NONE,
                      .merge_inst = loop_merge(b->block[h]) };
    if (info.merge_inst) {
        SpvInst *label = spv_def(b->f->module, spv_operand(info.merge_inst, 0));
        info.merge = label && label->block ? b->number[label->block->index] : NONE;
    }
    vec_push(b->a, &b->loops, info);
    b->owner[h] = l;
    vec_push(b->a, &b->loops.data[l].own, h);
    b->inner.len = 0;
    natural_loop(b, l, &work);
    collect_exits(b, l);
    uint32_t own = b->loops.data[l].own.len, n_inner = b->inner.len;
    adopt_ways_out(b, l);
    if (b->loops.data[l].own.len != own || b->inner.len != n_inner)
        collect_exits(b, l);
    return true;
}

/* ---- the compact order ----------------------------------------------------------------------- */

/* In the region of the loop that directly holds v, the node below which v is placed: its immediate
 * dominator, or the header of the inner loop that this is in (then *outside: after that whole
 * loop). */
static uint32_t region_parent(const Builder *b, uint32_t v, bool *outside)
{
    const LoopInfo *loops = b->loops.data;
    uint32_t d = b->idom[v], region = b->owner[v], inner = b->owner[d];
    if (region != NONE && loops[region].header == v)
        region = loops[region].parent;
    *outside = inner != region;
    if (!*outside)
        return d;
    while (inner != NONE && loops[inner].parent != region)
        inner = loops[inner].parent;
    if (inner != NONE)
        return loops[inner].header;
    *outside = false; /* not nested as it should be: stay correct, lose compactness */
    return d;
}

static void compact_order(Builder *b)
{
    uint32_t n = b->n - 1;
    uint32_t *inside = NEW_ARRAY(b->a, uint32_t, n), *outside = NEW_ARRAY(b->a, uint32_t, n);
    uint32_t *sibling = NEW_ARRAY(b->a, uint32_t, n);
    memset(inside, 0xff, sizeof(uint32_t) * n);
    memset(outside, 0xff, sizeof(uint32_t) * n);
    for (uint32_t v = 1; v < n; v++) {
        bool out;
        uint32_t p = region_parent(b, v, &out);
        uint32_t *list = out ? &outside[p] : &inside[p];
        sibling[v] = *list;
        *list = v;
    }
    /* The lists run from the last in reverse postorder to the first: pushed so, the first pops
     * first. */
    Nodes stack = { 0 };
    uint32_t place = 0;
    b->position = NEW_ARRAY(b->a, uint32_t, b->n);
    vec_push(b->a, &stack, 0);
    while (stack.len) {
        uint32_t v = stack.data[--stack.len];
        b->position[v] = place++;
        for (uint32_t c = outside[v]; c != NONE; c = sibling[c])
            vec_push(b->a, &stack, c);
        for (uint32_t c = inside[v]; c != NONE; c = sibling[c])
            vec_push(b->a, &stack, c);
    }
    b->position[n] = n;
}

/* ---- the result ------------------------------------------------------------------------------ */

static uint32_t *placed(const Builder *b, Edges e, uint32_t v, uint32_t *count)
{
    *count = e.start[v + 1] - e.start[v];
    uint32_t *out = NEW_ARRAY(b->a, uint32_t, *count);
    for (uint32_t i = 0; i < *count; i++)
        out[i] = b->position[e.to[e.start[v] + i]];
    return out;
}

static void place_loops(Builder *b, Cfg *c)
{
    uint32_t *identity = NEW_ARRAY(b->a, uint32_t, c->n);
    for (uint32_t i = 0; i < c->n; i++)
        identity[i] = i;
    c->n_loops = b->loops.len;
    c->loops = NEW_ARRAY(b->a, CfgLoop *, c->n_loops);
    for (uint32_t i = 0; i < c->n_loops; i++)
        c->loops[i] = NEW(b->a, CfgLoop);
    for (uint32_t i = 0; i < c->n_loops; i++) { /* found inner first; told outer first */
        LoopInfo *info = &b->loops.data[c->n_loops - 1 - i];
        CfgLoop *l = c->loops[i];
        l->parent = info->parent == NONE ? NULL : c->loops[c->n_loops - 1 - info->parent];
        l->depth = l->parent ? l->parent->depth + 1 : 1;
        l->index = i;
        l->header = b->position[info->header];
        l->latch = info->latch == NONE ? NONE : b->position[info->latch];
        l->merge = info->merge == NONE ? NONE : b->position[info->merge];
        l->merge_inst = info->merge_inst;
        l->blocks = identity + l->header;
    }
    for (uint32_t v = 0; v + 1 < b->n; v++) {
        CfgLoop *l = b->owner[v] == NONE ? NULL : c->loops[c->n_loops - 1 - b->owner[v]];
        c->blocks[b->position[v]].loop = l;
        if (l)
            l->n_blocks++;
    }
    for (uint32_t i = c->n_loops; i-- > 0;)
        if (c->loops[i]->parent)
            c->loops[i]->parent->n_blocks += c->loops[i]->n_blocks;
}

static Cfg *finish_cfg(Builder *b)
{
    Cfg *c = NEW(b->a, Cfg);
    c->function = b->f;
    c->n = b->n;
    c->made_later = b->f->n_blocks;
    c->blocks = NEW_ARRAY(b->a, CfgBlock, c->n);
    c->position = NEW_ARRAY(b->a, uint32_t, b->f->n_blocks + 1);
    memset(c->position, 0xff, sizeof(uint32_t) * (b->f->n_blocks + 1));
    for (uint32_t v = 0; v < b->n; v++) {
        CfgBlock *to = &c->blocks[b->position[v]];
        to->block = b->block[v];
        if (to->block)
            c->position[to->block->index] = b->position[v];
        to->succs = placed(b, b->succ, v, &to->n_succs);
        to->preds = placed(b, b->pred, v, &to->n_preds);
        to->idom = b->position[b->idom[v]];
        to->ipdom = b->position[b->ipdom[v]];
        to->leaving = b->leaving[v];
        to->dom_first = b->first[v];
        to->dom_last = b->last[v];
    }
    place_loops(b, c);
    return c;
}

/* Checked before anything walks up the nest, so that such walks are short. */
static bool nest_is_shallow(Builder *b)
{
    uint32_t *depth = NEW_ARRAY(b->a, uint32_t, b->loops.len);
    for (uint32_t l = b->loops.len; l-- > 0;) {
        depth[l] = b->loops.data[l].parent == NONE ? 1 : depth[b->loops.data[l].parent] + 1;
        if (depth[l] > MAX_LOOP_DEPTH) {
            spv_error(b->f->module, b->block[b->loops.data[l].header]->insts.first, b->sink,
                      "SPIR-V 2.17, universal limits", "loops are nested deeper than %d",
                      MAX_LOOP_DEPTH);
            return false;
        }
    }
    return true;
}

Cfg *cfg_build(Arena *a, SpvFunction *f, DiagSink *sink)
{
    Builder b = { .a = a, .f = f, .sink = sink };
    if (!f->first) {
        spv_error(f->module, f->def, sink, NULL, "the function has no body");
        return NULL;
    }
    spv_number_blocks(f);
    number_blocks(&b);
    find_edges(&b);
    b.idom = dominators(a, b.n, 0, b.succ, b.pred, false);
    b.ipdom = dominators(a, b.n, b.n - 1, b.pred, b.succ, true);
    dominator_intervals(&b);
    b.owner = NEW_ARRAY(a, uint32_t, b.n);
    memset(b.owner, 0xff, sizeof(uint32_t) * b.n);
    b.leaving = NEW_ARRAY(a, uint8_t, b.n);
    for (uint32_t h = b.n - 1; h-- > 0;)
        if (!find_loop(&b, h))
            return NULL;
    if (!nest_is_shallow(&b))
        return NULL;
    compact_order(&b);
    return finish_cfg(&b);
}

bool cfg_dominates(const Cfg *c, uint32_t a, uint32_t b)
{
    const CfgBlock *x = &c->blocks[a], *y = &c->blocks[b];
    return x->dom_first <= y->dom_first && y->dom_last <= x->dom_last;
}

bool cfg_postdominates(const Cfg *c, uint32_t a, uint32_t b)
{
    while (b != a && c->blocks[b].ipdom != b)
        b = c->blocks[b].ipdom;
    return a == b;
}

bool cfg_in_loop(const CfgLoop *l, const Cfg *c, uint32_t block)
{
    (void)c;
    return block >= l->header && block - l->header < l->n_blocks;
}
