/* SPDX-License-Identifier: MIT
 *
 * Plans the control flow. In: Cfg (compact order) and Uniformity. Out: for each node where control
 * goes, which blocks run under a mask and where the mask comes from, which values need slots.
 *
 * After Moll and Hack, "Partial Control-Flow Linearization" (PLDI 2018): where lanes part, control
 * goes to the target that is first in the order, and the others become pending. Every path from
 * there passes them, in order, before it goes beyond them. A branch that all active lanes take
 * together stays a branch. The back edges of a loop lead to a node of their own behind its blocks,
 * so a loop repeats when all of its blocks have been passed. So each block runs once an iteration,
 * with all the lanes that come to it.
 */
#include "cpu/lanes/flow.h"

#include <stdlib.h>

/* ---- sets of nodes --------------------------------------------------------------------------- */

/* The index of x in s, or where it belongs. */
static uint32_t set_find(const FlowNodeSet *s, uint32_t x)
{
    uint32_t low = 0, high = s->len;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (s->data[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool set_has(const FlowNodeSet *s, uint32_t x)
{
    uint32_t k = set_find(s, x);
    return k < s->len && s->data[k] == x;
}

static void set_add(Arena *a, FlowNodeSet *s, uint32_t x)
{
    uint32_t at = set_find(s, x);
    if (at < s->len && s->data[at] == x)
        return;
    vec_push(a, s, x);
    memmove(s->data + at + 1, s->data + at, (s->len - 1 - at) * sizeof *s->data);
    s->data[at] = x;
}

/* Adds all of t except `except`, merging in place from the end. */
static void set_add_all(Arena *a, FlowNodeSet *s, const FlowNodeSet *t, uint32_t except)
{
    uint32_t more = 0;
    for (uint32_t k = 0, j = 0; k < t->len; k++) {
        while (j < s->len && s->data[j] < t->data[k])
            j++;
        more += t->data[k] != except && (j == s->len || s->data[j] != t->data[k]);
    }
    if (!more)
        return;
    uint32_t i = s->len, k = t->len, to = s->len + more;
    vec_reserve(a, s, to);
    s->len = to;
    while (to > i) {
        uint32_t x = t->data[k - 1];
        if (x == except || (i && s->data[i - 1] == x))
            k--;
        else if (i && s->data[i - 1] > x)
            s->data[--to] = s->data[--i];
        else
            s->data[--to] = t->data[--k];
    }
}

uint32_t flow_next(const FlowNodeSet *pending, uint32_t to)
{
    return pending->len ? MIN(pending->data[0], to) : to;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

SpvBlock *flow_target(const Emit *e, const SpvInst *terminator, uint32_t k)
{
    uint32_t word = cfg_target(terminator, k);
    SpvInst *label = word ? spv_def(e->module, terminator->words[word]) : NULL;
    return label ? label->block : NULL;
}

uint32_t flow_edge_node(const struct Flow *f, uint32_t from, uint32_t to)
{
    return to <= from ? f->latch_of[to] : f->node_of[to];
}

static int by_node(const void *a, const void *b)
{
    const FlowCase *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->literal > y->literal) - (x->literal < y->literal);
}

static uint64_t switch_literal(Emit *e, const SpvInst *term, uint32_t k)
{
    uint32_t word = cfg_target(term, k), bits = spv_type_of(e->module, spv_operand(term, 0))->bits;
    uint64_t x = term->words[word - 1];
    if (term->literal_words == 2)
        x = term->words[word - 2] | x << 32;
    return bits < 64 ? x & (((uint64_t)1 << bits) - 1) : x;
}

const FlowCase *flow_cases(const FlowNode *n, uint32_t to, uint32_t *count)
{
    uint32_t low = 0, high = n->n_cases;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (n->cases[middle].node < to)
            low = middle + 1;
        else
            high = middle;
    }
    while (high < n->n_cases && n->cases[high].node == to)
        high++;
    *count = high - low;
    return n->cases + low;
}

static void find_targets(Emit *e, FlowNode *n)
{
    const SpvInst *term = e->cfg->blocks[n->block].block->insts.last;
    SpvBlock *to;
    uint32_t count = 0;
    while (flow_target(e, term, count))
        count++;
    FlowCase *edges = NEW_ARRAY(e->arena, FlowCase, count + 1);
    for (uint32_t k = 0; (to = flow_target(e, term, k)); k++) {
        edges[k].node = flow_edge_node(flow_of(e), n->block, e->cfg->position[to->index]);
        edges[k].literal = term->op == SpvOpSwitch && k ? switch_literal(e, term, k) : 0;
    }
    if (!count)
        edges[count++].node = flow_of(e)->n_nodes - 1;
    if (term->op == SpvOpSwitch) {
        n->n_cases = count - 1;
        n->cases = arena_copy(e->arena, edges + 1, n->n_cases * sizeof *edges);
        qsort(n->cases, n->n_cases, sizeof *n->cases, by_node);
    }
    qsort(edges, count, sizeof *edges, by_node);
    n->targets = NEW_ARRAY(e->arena, uint32_t, count);
    for (uint32_t k = 0; k < count; k++)
        if (!k || edges[k].node != edges[k - 1].node)
            n->targets[n->n_targets++] = edges[k].node;
    n->divergent = e->uniformity->divergent_branch[n->block] && n->n_targets > 1;
}

static void make_nodes(Emit *e)
{
    struct Flow *f = flow_of(e);
    const Cfg *c = e->cfg;
    f->nodes = NEW_ARRAY(e->arena, FlowNode, c->n + c->n_loops + 1);
    f->node_of = NEW_ARRAY(e->arena, uint32_t, c->n);
    f->latch_of = NEW_ARRAY(e->arena, uint32_t, c->n);
    f->loop_diverges = NEW_ARRAY(e->arena, uint8_t, c->n);
    CfgLoop **headed = NEW_ARRAY(e->arena, CfgLoop *, c->n);
    for (uint32_t k = 0; k < c->n_loops; k++) {
        headed[c->loops[k]->header] = c->loops[k];
        f->loop_diverges[c->loops[k]->header] = e->uniformity->divergent_loop[k];
    }
    for (uint32_t p = 0; p + 1 < c->n; p++) {
        f->node_of[p] = f->n_nodes;
        f->nodes[f->n_nodes++] = (FlowNode){ .block = p,
                                             .loop = headed[p],
                                             .heir_of = FLOW_NONE,
                                             .chosen_by = FLOW_NONE };
        for (CfgLoop *l = c->blocks[p].loop; l && l->header + l->n_blocks - 1 == p; l = l->parent) {
            f->latch_of[l->header] = f->n_nodes;
            f->nodes[f->n_nodes++] = (FlowNode){ .block = FLOW_NONE,
                                                 .loop = l,
                                                 .is_latch = true,
                                                 .divergent = f->loop_diverges[l->header],
                                                 .heir_of = FLOW_NONE,
                                                 .chosen_by = FLOW_NONE };
        }
    }
    f->node_of[c->n - 1] = f->n_nodes;
    f->nodes[f->n_nodes++] =
        (FlowNode){ .block = FLOW_NONE, .heir_of = FLOW_NONE, .chosen_by = FLOW_NONE };
    for (uint32_t k = 0; k < f->n_nodes; k++)
        if (f->nodes[k].block != FLOW_NONE)
            find_targets(e, &f->nodes[k]);
}

/* ---- what is pending where ------------------------------------------------------------------- */

/* The blocks outside of a loop that its blocks lead to. */
static FlowNodeSet loop_exits(Emit *e, const CfgLoop *l)
{
    struct Flow *f = flow_of(e);
    FlowNodeSet exits = { 0 };
    uint32_t first = f->node_of[l->header], last = f->latch_of[l->header];
    for (uint32_t k = first; k <= last; k++)
        for (uint32_t t = 0; t < f->nodes[k].n_targets; t++)
            if (f->nodes[k].targets[t] > last)
                set_add(e->arena, &exits, f->nodes[k].targets[t]);
    return exits;
}

static void arrive(Emit *e, uint32_t node, const FlowNodeSet *pending, uint32_t to, uint32_t except)
{
    FlowNode *n = &flow_of(e)->nodes[node];
    n->reached = true;
    set_add_all(e->arena, &n->pending, pending, node);
    if (to != FLOW_NONE && to != node && to != except)
        set_add(e->arena, &n->pending, to);
}

static void leave_block(Emit *e, FlowNode *n)
{
    if (n->divergent) {
        FlowNodeSet all = { 0 };
        set_add_all(e->arena, &all, &n->pending, FLOW_NONE);
        set_add_all(e->arena, &all, &(FlowNodeSet){ n->targets, n->n_targets, 0 }, FLOW_NONE);
        arrive(e, all.data[0], &all, FLOW_NONE, FLOW_NONE);
    } else {
        for (uint32_t t = 0; t < n->n_targets; t++)
            arrive(e, flow_next(&n->pending, n->targets[t]), &n->pending, n->targets[t], FLOW_NONE);
    }
    if (n->pending.len)
        arrive(e, n->pending.data[0], &n->pending, FLOW_NONE, FLOW_NONE);
}

/* True if a back edge leads to pending nodes that its header does not have yet: the loop must be
 * planned again with them. */
static bool leave_latch(Emit *e, FlowNode *n, FlowNodeSet *more)
{
    struct Flow *f = flow_of(e);
    FlowNode *header = &f->nodes[f->node_of[n->loop->header]];
    bool changed = false;
    if (n->divergent)
        set_add_all(e->arena, &n->pending, more, FLOW_NONE);
    for (uint32_t k = 0; k < n->pending.len; k++) {
        if (set_has(&header->pending, n->pending.data[k]))
            continue;
        set_add(e->arena, more, n->pending.data[k]);
        changed = true;
    }
    if (n->divergent && n->pending.len)
        arrive(e, n->pending.data[0], &n->pending, FLOW_NONE, FLOW_NONE);
    return changed;
}

static void find_pending(Emit *e)
{
    struct Flow *f = flow_of(e);
    /* by header: nodes that are pending throughout the loop */
    FlowNodeSet *more = NEW_ARRAY(e->arena, FlowNodeSet, e->cfg->n);
    for (uint32_t k = 0; k < e->cfg->n_loops; k++)
        if (f->loop_diverges[e->cfg->loops[k]->header])
            more[e->cfg->loops[k]->header] = loop_exits(e, e->cfg->loops[k]);
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t k = 0; k < f->n_nodes; k++) {
            f->nodes[k].reached = k == 0;
            f->nodes[k].pending.len = 0;
        }
        for (uint32_t k = 0; k + 1 < f->n_nodes; k++) {
            FlowNode *n = &f->nodes[k];
            if (!n->reached)
                continue;
            if (n->is_latch) {
                changed |= leave_latch(e, n, &more[n->loop->header]);
                continue;
            }
            if (n->loop)
                set_add_all(e->arena, &n->pending, &more[n->loop->header], FLOW_NONE);
            leave_block(e, n);
        }
    }
}

/* ---- masks ----------------------------------------------------------------------------------- */

static bool in_divergent_loop(const struct Flow *f, const CfgLoop *l)
{
    for (; l; l = l->parent)
        if (f->loop_diverges[l->header])
            return true;
    return false;
}

/* Whether exactly the lanes of block v come to block p, before v runs again. v dominates p. */
static bool same_lanes(Emit *e, uint32_t v, uint32_t p)
{
    struct Flow *f = flow_of(e);
    const CfgBlock *bv = &e->cfg->blocks[v], *bp = &e->cfg->blocks[p];
    const FlowNode *np = &f->nodes[f->node_of[p]], *nv = &f->nodes[f->node_of[v]];
    bool header = np->loop && !f->loop_diverges[p] && np->loop->parent == bv->loop;
    if (bp->loop != bv->loop && !header)
        return false;
    for (uint32_t k = 0; k < nv->pending.len; k++)
        if (nv->pending.data[k] < f->node_of[p])
            return false;
    if (!cfg_postdominates(e->cfg, p, v))
        return false;
    for (uint32_t k = f->node_of[v]; k < f->node_of[p]; k++)
        for (uint32_t t = 0; t < f->nodes[k].n_targets; t++)
            if (f->nodes[k].targets[t] > f->node_of[p])
                return false;
    return true;
}

/* Whether p's only predecessor is v, and all lanes of v go to p together or not at all. */
static bool follows_together(Emit *e, uint32_t v, uint32_t p)
{
    struct Flow *f = flow_of(e);
    const CfgBlock *bp = &e->cfg->blocks[p];
    if (bp->n_preds != 1 || bp->preds[0] != v || f->nodes[f->node_of[v]].divergent)
        return false;
    for (const CfgLoop *l = e->cfg->blocks[v].loop; l && !cfg_in_loop(l, e->cfg, p); l = l->parent)
        if (f->loop_diverges[l->header])
            return false;
    return true;
}

static uint32_t find_heir_of(Emit *e, uint32_t p)
{
    uint32_t v = e->cfg->blocks[p].idom;
    if (v != p && follows_together(e, v, p))
        return v;
    for (uint32_t tries = 0; tries < 8 && v != p; tries++) {
        if (p - v > 256)
            break;
        if (same_lanes(e, v, p))
            return v;
        if (e->cfg->blocks[v].idom == v)
            break;
        v = e->cfg->blocks[v].idom;
    }
    return FLOW_NONE;
}

/* Whether all lanes that come to a divergent loop come by one edge, which they take together. */
static bool entered_together(Emit *e, const FlowNode *n)
{
    struct Flow *f = flow_of(e);
    const CfgBlock *b = &e->cfg->blocks[n->block];
    uint32_t entries = 0, from = 0;
    for (uint32_t k = 0; n->loop && k < b->n_preds; k++)
        if (b->preds[k] < n->block) {
            entries++;
            from = b->preds[k];
        }
    if (entries != 1)
        return false;
    const FlowNode *v = &f->nodes[f->node_of[from]];
    return !v->divergent && v->nonempty && e->cfg->blocks[from].loop == n->loop->parent;
}

/* Whether a branch of it passes on matrices, which are copied as wholes, whatever the mask is. */
static bool passes_matrices(Emit *e, const SpvBlock *block)
{
    const SpvInst *end = block->insts.last;
    for (uint32_t k = 0, at; (at = cfg_target(end, k)); k++) {
        const SpvInst *label = spv_def(e->module, end->words[at]);
        for (const SpvInst *i = label ? label->next : NULL; i; i = i->next)
            if (i->op == SpvOpPhi && emit_has_matrix(spv_type(e->module, i->type)))
                return true;
    }
    return false;
}

/* Whether it is worth running with no lane active, and harmless. */
static bool is_cheap(Emit *e, const FlowNode *n)
{
    uint32_t count = 0;
    if (n->n_targets != 1 || n->loop)
        return false;
    const SpvBlock *block = e->cfg->blocks[n->block].block;
    if (passes_matrices(e, block))
        return false;
    for (const SpvInst *i = block->insts.first; i != block->insts.last; i = i->next) {
        const SpvOpInfo *info = spv_op_info(i->op);
        if (i->op == SpvOpLabel || (info && info->flags & SPV_OPF_DEBUG) ||
            i->op == SpvOpSelectionMerge || i->op == SpvOpNop)
            continue;
        const EmitRule *rule = emit_rule(e, i->op);
        const SpvType *t = i->type ? spv_type(e->module, i->type) : NULL;
        if (i->op == SpvOpPhi || !rule || !(rule->flags & EMIT_CHEAP) || emit_has_matrix(t) ||
            ++count > 6)
            return false;
    }
    return true;
}

static void find_masks(Emit *e)
{
    struct Flow *f = flow_of(e);
    for (uint32_t k = 0; k < f->n_nodes; k++) {
        FlowNode *n = &f->nodes[k];
        uint32_t p = n->block;
        if (p == FLOW_NONE)
            continue;
        n->masked =
            e->uniformity->divergent_block[p] || in_divergent_loop(f, e->cfg->blocks[p].loop);
        n->nonempty = true;
        if (!n->masked)
            continue;
        uint32_t v = find_heir_of(e, p);
        bool sure = entered_together(e, n) || !n->pending.len;
        if (v != FLOW_NONE) {
            n->heir_of = f->node_of[v];
            f->nodes[n->heir_of].has_heirs = true;
            sure |= f->nodes[n->heir_of].nonempty;
        }
        n->tracked = v == FLOW_NONE;
        n->nonempty = sure || !is_cheap(e, n);
        n->test = n->nonempty && !sure;
    }
    for (uint32_t k = 0; k < f->n_nodes; k++)
        if (f->nodes[k].is_latch)
            f->nodes[k].tracked =
                f->nodes[k].divergent || f->nodes[f->node_of[f->nodes[k].loop->header]].tracked;
}

/* Stepping out of the loops that are left on the way. */
uint32_t flow_home(Emit *e, uint32_t from, uint32_t to)
{
    for (const CfgLoop *l = e->cfg->blocks[from].loop; l && !cfg_in_loop(l, e->cfg, to);
         l = l->parent)
        from = e->cfg->blocks[l->header].idom;
    return flow_of(e)->node_of[from];
}

uint32_t flow_edges_home(Emit *e, uint32_t to, uint32_t except)
{
    const CfgBlock *b = &e->cfg->blocks[to];
    uint32_t home = flow_of(e)->node_of[to];
    for (uint32_t k = 0; k < b->n_preds; k++)
        if (b->preds[k] < to && flow_of(e)->node_of[b->preds[k]] != except)
            home = MIN(home, flow_home(e, b->preds[k], to));
    return home;
}

/* If the masks of all targets of a switch were collected, they would all live at once. So each is
 * computed on arrival, except for targets that lanes also reach in other iterations. */
static void find_chosen(Emit *e)
{
    struct Flow *f = flow_of(e);
    for (uint32_t k = 0; k < f->n_nodes; k++) {
        FlowNode *n = &f->nodes[k];
        for (uint32_t t = 0; n->divergent && n->cases && t < n->n_targets; t++) {
            FlowNode *to = &f->nodes[n->targets[t]];
            if (to->tracked && !to->is_latch && e->cfg->blocks[to->block].idom == n->block &&
                flow_home(e, n->block, to->block) == k)
                to->chosen_by = k;
        }
    }
}

/* ---- slots ----------------------------------------------------------------------------------- */

int flow_needs_slot(const Emit *e, SpvId id)
{
    return id < e->module->bound ? flow_of(e)->needs_slot[id] : SLOT_NONE;
}

bool flow_left_apart(Emit *e, uint32_t from, uint32_t to)
{
    for (const CfgLoop *l = e->cfg->blocks[from].loop; l && !cfg_in_loop(l, e->cfg, to);
         l = l->parent)
        if (flow_of(e)->loop_diverges[l->header])
            return true;
    return false;
}

uint32_t flow_slot_home(const Emit *e, SpvId id) { return flow_of(e)->home[id]; }

typedef struct Uses {
    Emit *e;
    uint16_t at[65536];
} Uses;

static void note_use(Uses *u, SpvId id, uint32_t use, uint32_t depth)
{
    Emit *e = u->e;
    SpvInst *def = spv_def(e->module, id);
    if (!def || !def->block || !def->type || e->cfg->position[def->block->index] == FLOW_NONE)
        return;
    uint32_t p = e->cfg->position[def->block->index];
    struct Flow *f = flow_of(e);
    uint8_t *slot = &f->needs_slot[id];
    if (p == use || !f->nodes[f->node_of[p]].masked || def->op == SpvOpVariable)
        return;
    uint32_t home = flow_home(e, p, use);
    f->home[id] = *slot ? MIN(f->home[id], home) : home;
    *slot = MAX(*slot, flow_left_apart(e, p, use) ? SLOT_MASKED : SLOT_PLAIN);
    if (!emit_is_chain(e, def) || depth > 32)
        return;
    for (uint32_t k = 0; k < spv_n_operands(def); k++)
        note_use(u, spv_operand(def, k), use, depth + 1);
}

static void find_slots(Emit *e)
{
    Uses *u = NEW(e->arena, Uses);
    u->e = e;
    for (uint32_t p = 0; p + 1 < e->cfg->n; p++)
        for (SpvInst *i = e->cfg->blocks[p].block->insts.first; i; i = i->next) {
            uint32_t n = spv_id_operands(i, u->at, COUNT_OF(u->at));
            for (uint32_t k = 0; k < n; k++) {
                uint32_t use = p;
                if (i->op == SpvOpPhi) {
                    SpvInst *label = k + 1 < n ? spv_def(e->module, i->words[u->at[k + 1]]) : NULL;
                    if (k % 2 || !label || !label->block)
                        continue;
                    use = e->cfg->position[label->block->index];
                    if (use == FLOW_NONE)
                        continue;
                }
                note_use(u, i->words[u->at[k]], use, 0);
            }
        }
}

bool lanes_plan(Emit *e)
{
    struct Flow *f = lanes_of(e)->flow = NEW(e->arena, struct Flow);
    f->needs_slot = NEW_ARRAY(e->arena, uint8_t, e->module->bound);
    f->home = NEW_ARRAY(e->arena, uint32_t, e->module->bound);
    f->phis = NEW_ARRAY(e->arena, FlowPhiSlot, e->module->bound);
    make_nodes(e);
    find_pending(e);
    find_masks(e);
    find_chosen(e);
    find_slots(e);
    turns_plan(e);
    return true;
}
