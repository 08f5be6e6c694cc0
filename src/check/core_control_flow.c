/* SPDX-License-Identifier: MIT
 *
 * Structured control flow of shaders as they are written (SPIR-V 2.11, 2.16.2): where back edges
 * lead, what headers dominate, how constructs nest, are entered and left, what cases fall through
 * to.
 *
 * All of it is about the structural graph, in which a header also leads to the blocks that its
 * merge instruction names. A construct is what its entry dominates and its end does not; there a
 * block's constructs are those of its immediate dominator but for the ones that end here, and those
 * that it enters: they hang in a chain, the innermost first, and a branch is judged by the chains
 * of its two ends.
 */
#include "check/internal.h"

#define NONE UINT32_MAX
enum { MOST_NESTED = 1023 }; /* SPIR-V 2.17 */

typedef enum Kind { SELECTION, LOOP, CONTINUE, CASE } Kind;

typedef struct Construct Construct;
struct Construct {
    Kind kind;
    const SpvInst *inst; /* the merge instruction */
    uint32_t header;     /* the block that it is in; blocks are told by their indices */
    uint32_t entry, merge;
    uint32_t target;           /* LOOP, CONTINUE: the continue target */
    uint32_t back;             /* the same: the back-edge block, or NONE */
    uint32_t depth;            /* of headers around it, itself included */
    bool is_switch;            /* SELECTION */
    Construct *of;             /* CONTINUE: its loop; CASE: its switch */
    Construct *parent;         /* the innermost that it lies in */
    Construct *loop;           /* the innermost loop or continue construct around it */
    Construct *in_switch;      /* the innermost switch within that */
    Construct *falls, *fallen; /* CASE: which it falls through to, and from */
};

struct CheckStructure {
    const SpvFunction *function;
    SpvBlock **blocks;
    uint32_t *first_succ, *succs;   /* of real edges */
    SpvDominators *dom, *post;      /* in `post` node 0 is the exit, node 1 + n block n */
    Construct **headed;             /* by block: the selection or loop of its merge instruction */
    Construct **continues, **cases; /* by block: what is entered there */
    Construct **innermost;          /* by block */
    bool too_deep;
};

/* ---- the structural graph -------------------------------------------------------------------- */

typedef VEC(uint32_t) Nodes;

static void add_labels(Checker *c, Nodes *to, const SpvInst *i)
{
    uint32_t from, step, end;
    if (!i || !spv_label_operands(i, &from, &step, &end))
        return;
    for (uint32_t k = from; k < end; k += step)
        vec_push(c->arena, to, spv_def(c->m, spv_operand(i, k))->block->index);
}

static const SpvInst *merge_inst(const SpvBlock *b)
{
    const SpvInst *i = b->insts.last->prev;
    return i && (i->op == SpvOpLoopMerge || i->op == SpvOpSelectionMerge) ? i : NULL;
}

static void build_graph(Checker *c, CheckStructure *s)
{
    uint32_t n = s->function->n_blocks;
    SpvEdges forth = { NEW_ARRAY(c->arena, uint32_t, n + 1), NULL };
    SpvEdges back = { NEW_ARRAY(c->arena, uint32_t, n + 2), NULL };
    Nodes real = { 0 }, all = { 0 }, exits = { 0 };
    s->blocks = NEW_ARRAY(c->arena, SpvBlock *, n);
    s->first_succ = NEW_ARRAY(c->arena, uint32_t, n + 1);
    for (SpvBlock *b = s->function->first; b; b = b->next) {
        uint32_t before = all.len;
        s->blocks[b->index] = b;
        add_labels(c, &real, b->insts.last);
        add_labels(c, &all, b->insts.last);
        add_labels(c, &all, merge_inst(b));
        for (uint32_t k = before; k < all.len; k++)
            vec_push(c->arena, &exits, all.data[k] + 1);
        if (before == all.len)
            vec_push(c->arena, &exits, 0);
        s->first_succ[b->index + 1] = real.len;
        forth.first[b->index + 1] = all.len;
        back.first[b->index + 2] = exits.len;
    }
    s->succs = real.data;
    forth.ends = all.data;
    back.ends = exits.data;
    SpvEdges preds = spv_turn_edges(c->arena, &forth, n);
    s->dom = spv_dominators(c->arena, &preds, n);
    s->post = spv_dominators(c->arena, &back, n + 1);
}

static bool reached(const CheckStructure *s, uint32_t b) { return s->dom->number[b] != 0; }

static bool dominates(const CheckStructure *s, uint32_t a, uint32_t b)
{
    return spv_dominates(s->dom, a, b);
}

/* An edge to a block that is still being visited depth first. */
static bool is_back_edge(const CheckStructure *s, uint32_t from, uint32_t to)
{
    return s->dom->number[to] >= s->dom->number[from];
}

/* for (Edge e = first_edge(s); next_edge(s, &e);) gives the real edges between blocks that are
 * reached. */
typedef struct Edge {
    uint32_t from, to, k;
} Edge;

static Edge first_edge(void) { return (Edge){ 0, 0, 0 }; }

static bool next_edge(const CheckStructure *s, Edge *e)
{
    uint32_t n = s->function->n_blocks;
    while (e->from < n && (!reached(s, e->from) || e->k >= s->first_succ[e->from + 1])) {
        e->from++;
        e->k = e->from < n ? s->first_succ[e->from] : 0;
    }
    if (e->from < n)
        e->to = s->succs[e->k++];
    return e->from < n;
}

/* ---- constructs ------------------------------------------------------------------------------ */

static bool contains(const CheckStructure *s, const Construct *k, uint32_t b)
{
    if (!dominates(s, k->entry, b) || dominates(s, k->merge, b))
        return false;
    switch (k->kind) {
    case LOOP: return !dominates(s, k->target, b);
    case CONTINUE: return k->back == NONE || b == k->back || !dominates(s, k->back, b);
    default: return true;
    }
}

static Construct *part_of(Checker *c, Construct *whole, Kind kind, uint32_t entry)
{
    Construct *k = NEW(c->arena, Construct);
    *k = *whole;
    k->kind = kind;
    k->of = whole;
    k->entry = entry;
    return k;
}

/* The constructs that begin at a header or at what it leads to. */
static void find_constructs(Checker *c, CheckStructure *s, uint32_t b)
{
    const SpvInst *i = merge_inst(s->blocks[b]), *end = s->blocks[b]->insts.last;
    if (!i)
        return;
    Nodes named = { 0 };
    add_labels(c, &named, i);
    Construct *k = NEW(c->arena, Construct);
    *k = (Construct){ .kind = i->op == SpvOpLoopMerge ? LOOP : SELECTION,
                      .inst = i,
                      .header = b,
                      .entry = b,
                      .merge = named.data[0],
                      .back = NONE,
                      .is_switch = end->op == SpvOpSwitch };
    s->headed[b] = k;
    if (k->kind == LOOP) {
        k->target = named.data[1];
        if (dominates(s, b, k->target))
            s->continues[k->target] = part_of(c, k, CONTINUE, k->target);
    }
    for (uint32_t e = s->first_succ[b]; k->is_switch && e < s->first_succ[b + 1]; e++) {
        uint32_t to = s->succs[e];
        if (to != k->merge && to != b && dominates(s, b, to) && !s->cases[to])
            s->cases[to] = part_of(c, k, CASE, to);
    }
}

static void find_back_edges(CheckStructure *s)
{
    for (Edge e = first_edge(); next_edge(s, &e);) {
        Construct *k = s->headed[e.to];
        if (!k || k->kind != LOOP || !is_back_edge(s, e.from, e.to) || k->back != NONE)
            continue;
        k->back = e.from;
        if (s->continues[k->target] && s->continues[k->target]->of == k)
            s->continues[k->target]->back = e.from;
    }
}

static void enter(CheckStructure *s, Construct *k, uint32_t b, Construct **chain)
{
    Construct *p = *chain;
    if (!k || !contains(s, k, b))
        return;
    k->parent = p;
    k->depth = (p ? p->depth : 0) + (k->kind == LOOP || k->kind == SELECTION);
    if (p) {
        bool loop = p->kind == LOOP || p->kind == CONTINUE;
        k->loop = loop ? p : p->loop;
        k->in_switch = loop ? NULL : p->kind == SELECTION && p->is_switch ? p : p->in_switch;
    }
    s->too_deep |= k->depth > MOST_NESTED;
    *chain = k;
}

/* In reverse postorder a block comes after its immediate dominator. */
static void nest_constructs(CheckStructure *s)
{
    for (uint32_t n = s->dom->n_order; n-- > 0;) {
        uint32_t b = s->dom->order[n];
        Construct *chain = b ? s->innermost[s->dom->idom[b]] : NULL;
        while (chain && !contains(s, chain, b))
            chain = chain->parent;
        enter(s, s->continues[b], b, &chain);
        enter(s, s->cases[b], b, &chain);
        enter(s, s->headed[b], b, &chain);
        s->innermost[b] = chain;
    }
}

static CheckStructure *structure(Checker *c)
{
    CheckStructure *s = c->structure;
    if (!has_capability(c, SpvCapabilityShader) || !c->function->first)
        return NULL;
    if (s && s->function == c->function)
        return s;
    uint32_t n = c->function->n_blocks;
    s = c->structure = NEW(c->arena, CheckStructure);
    s->function = c->function;
    s->headed = NEW_ARRAY(c->arena, Construct *, n);
    s->continues = NEW_ARRAY(c->arena, Construct *, n);
    s->cases = NEW_ARRAY(c->arena, Construct *, n);
    s->innermost = NEW_ARRAY(c->arena, Construct *, n);
    build_graph(c, s);
    for (uint32_t k = s->dom->n_order; k-- > 0;)
        find_constructs(c, s, s->dom->order[k]);
    find_back_edges(s);
    nest_constructs(s);
    return s;
}

/* For rules that go through chains, unless these have no end. */
static CheckStructure *nested_structure(Checker *c)
{
    CheckStructure *s = structure(c);
    return s && !s->too_deep ? s : NULL;
}

static SpvId name(const CheckStructure *s, uint32_t b) { return s->blocks[b]->id; }

static const SpvInst *end_of(const CheckStructure *s, uint32_t b)
{
    return s->blocks[b]->insts.last;
}

static const char *kind_name(const Construct *k)
{
    static const char *const names[] = { "selection", "loop", "continue construct", "case" };
    return names[k->kind];
}

/* ---- headers --------------------------------------------------------------------------------- */

static void check_back_edges(Checker *c, SpvInst *i)
{
    const CheckStructure *s = structure(c);
    (void)i;
    if (!s)
        return;
    for (Edge e = first_edge(); next_edge(s, &e);) {
        const Construct *k = s->headed[e.to];
        if (!is_back_edge(s, e.from, e.to))
            continue;
        if (!k || k->kind != LOOP)
            broken(c, end_of(s, e.from), "a back edge to %%%u, which is no loop's header",
                   name(s, e.to));
        else if (k->back != e.from)
            broken(c, end_of(s, e.from), "%%%u leads back to %%%u already", name(s, k->back),
                   name(s, e.to));
    }
    for (uint32_t b = 0; b < s->function->n_blocks; b++)
        if (s->headed[b] && s->headed[b]->kind == LOOP && s->headed[b]->back == NONE)
            broken(c, s->headed[b]->inst, "no block leads back to the loop's header");
}

static bool post_dominates(const CheckStructure *s, uint32_t a, uint32_t b)
{
    return !s->post->number[b + 1] || spv_dominates(s->post, a + 1, b + 1);
}

static void check_dominance(Checker *c, SpvInst *i)
{
    const CheckStructure *s = structure(c);
    (void)i;
    for (uint32_t b = 0; s && b < s->function->n_blocks; b++) {
        const Construct *k = s->headed[b];
        if (!k)
            continue;
        if (k->merge == b || !dominates(s, b, k->merge))
            broken(c, k->inst, "the header does not dominate its merge block");
        if (k->kind != LOOP)
            continue;
        if (!dominates(s, b, k->target))
            broken(c, k->inst, "the header does not dominate its continue target");
        if (k->back == NONE)
            continue;
        if (!dominates(s, k->target, k->back))
            broken(c, k->inst, "the continue target does not dominate %%%u, which leads back",
                   name(s, k->back));
        if (!post_dominates(s, k->back, k->target))
            broken(c, k->inst,
                   "from the continue target not all ways lead to %%%u, which leads "
                   "back",
                   name(s, k->back));
    }
}

static void check_nesting(Checker *c, SpvInst *i)
{
    const CheckStructure *s = structure(c);
    (void)i;
    for (uint32_t b = 0; s && b < s->function->n_blocks; b++) {
        const Construct *k = s->headed[b];
        const Construct *around = s->innermost[b] == k && k ? k->parent : s->innermost[b];
        if (!k)
            continue;
        if (k->depth > MOST_NESTED)
            broken(c, k->inst, "nested more than %d deep", MOST_NESTED);
        for (; around && k->depth <= MOST_NESTED; around = around->parent)
            if (around->entry != b && !contains(s, around, k->merge)) {
                broken(c, k->inst, "the header lies in the %s of %%%u, its merge block does not",
                       kind_name(around), name(s, around->header));
                break;
            }
    }
}

/* ---- branches -------------------------------------------------------------------------------- */

/* To the end of the innermost loop around a selection or to its continue target; to that of the
 * innermost switch, but from a switch. */
static bool breaks(const Construct *selection, uint32_t to)
{
    const Construct *loop = selection->loop, *out = selection->in_switch;
    return (loop && (to == loop->merge || to == loop->target)) ||
           (!selection->is_switch && out && to == out->merge);
}

static bool is_exit(const CheckStructure *s, const Construct *k, uint32_t to)
{
    switch (k->kind) {
    case LOOP: return to == k->merge || to == k->target;
    case CONTINUE: return to == k->merge || to == k->header;
    case CASE: return (s->cases[to] && s->cases[to]->of == k->of) || is_exit(s, k->of, to);
    default: return to == k->merge || breaks(k, to);
    }
}

static void check_exits(Checker *c, SpvInst *i)
{
    const CheckStructure *s = nested_structure(c);
    (void)i;
    if (!s)
        return;
    for (Edge e = first_edge(); next_edge(s, &e);)
        for (const Construct *k = s->innermost[e.from]; k && !contains(s, k, e.to); k = k->parent)
            if (!is_exit(s, k, e.to)) {
                broken(c, end_of(s, e.from), "a branch to %%%u leaves the %s of %%%u",
                       name(s, e.to), kind_name(k), name(s, k->header));
                break;
            }
}

static void check_entries(Checker *c, SpvInst *i)
{
    const CheckStructure *s = nested_structure(c);
    (void)i;
    if (!s)
        return;
    for (Edge e = first_edge(); next_edge(s, &e);)
        for (const Construct *k = s->innermost[e.to]; k && !contains(s, k, e.from); k = k->parent) {
            bool from_loop =
                k->kind != CONTINUE || k->entry == k->header || contains(s, k->of, e.from);
            if (k->entry != e.to || !from_loop) {
                broken(c, end_of(s, e.from), "a branch to %%%u leads into the %s of %%%u",
                       name(s, e.to), kind_name(k), name(s, k->header));
                break;
            }
        }
}

/* A block that a conditional branch need not name a merge block for: constructs end or begin
 * there. */
static void mark_known(const CheckStructure *s, uint8_t *known)
{
    for (uint32_t b = 0; b < s->function->n_blocks; b++) {
        const Construct *k = s->headed[b];
        if (!k)
            continue;
        known[k->merge] = 1;
        if (k->kind == LOOP)
            known[k->target] = known[b] = 1;
        for (uint32_t e = s->first_succ[b]; k->is_switch && e < s->first_succ[b + 1]; e++)
            known[s->succs[e]] = 1;
    }
}

static void check_selections(Checker *c, SpvInst *i)
{
    const CheckStructure *s = structure(c);
    (void)i;
    if (!s)
        return;
    uint8_t *known = NEW_ARRAY(c->arena, uint8_t, s->function->n_blocks);
    mark_known(s, known);
    for (uint32_t n = s->dom->n_order; n-- > 0;) {
        uint32_t b = s->dom->order[n];
        const uint32_t *to = s->succs + s->first_succ[b];
        if (end_of(s, b)->op != SpvOpBranchConditional)
            continue;
        bool is_new = !known[to[0]] && !known[to[1]] && to[0] != to[1];
        known[to[0]] = known[to[1]] = 1;
        if (is_new && !(s->headed[b] && s->headed[b]->kind == SELECTION))
            broken(c, end_of(s, b), "a selection between two blocks without a merge block");
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void check_fall(Checker *c, const CheckStructure *s, const Edge *e)
{
    Construct *to = s->cases[e->to], *from = s->innermost[e->from];
    while (from && !(from->kind == CASE && from->of == to->of))
        from = from->parent;
    if (!from || from == to)
        return;
    if (from->falls && from->falls != to)
        broken(c, end_of(s, e->from), "the case of %%%u falls through to those of %%%u and %%%u",
               name(s, from->entry), name(s, from->falls->entry), name(s, e->to));
    else if (to->fallen && to->fallen != from)
        broken(c, end_of(s, e->from), "the cases of %%%u and %%%u fall through to %%%u",
               name(s, to->fallen->entry), name(s, from->entry), name(s, e->to));
    from->falls = to;
    to->fallen = from;
}

static bool is_listed(const uint32_t *list, uint32_t n, uint32_t b)
{
    for (uint32_t k = 0; k < n; k++)
        if (list[k] == b)
            return true;
    return false;
}

/* What a case falls through to follows it in the switch's list, where the default has no place
 * but what it falls through to has. */
static void check_order(Checker *c, const CheckStructure *s, uint32_t b)
{
    const uint32_t *list = s->succs + s->first_succ[b] + 1;
    uint32_t n = s->first_succ[b + 1] - s->first_succ[b] - 1, other = list[-1];
    bool has_place = is_listed(list, n, other);
    for (uint32_t k = 0, next; k < n; k = next) {
        const Construct *from = s->cases[list[k]];
        for (next = k + 1; next < n && list[next] == list[k];)
            next++;
        if (!from || from->of != s->headed[b])
            continue;
        const Construct *to = from->falls;
        if (to && to->entry == other && !has_place)
            to = to->falls;
        if (to && (next >= n || list[next] != to->entry))
            broken(c, end_of(s, b),
                   "the case of %%%u falls through to that of %%%u, which does "
                   "not follow it",
                   name(s, list[k]), name(s, to->entry));
    }
}

static void check_cases(Checker *c, SpvInst *i)
{
    const CheckStructure *s = nested_structure(c);
    (void)i;
    if (!s)
        return;
    for (Edge e = first_edge(); next_edge(s, &e);) {
        const Construct *k = s->headed[e.from];
        if (k && k->is_switch && e.to != k->merge && !dominates(s, e.from, e.to))
            broken(c, end_of(s, e.from), "the switch does not dominate its case %%%u",
                   name(s, e.to));
        else if (s->cases[e.to])
            check_fall(c, s, &e);
    }
    for (uint32_t b = 0; b < s->function->n_blocks; b++)
        if (s->headed[b] && s->headed[b]->is_switch)
            check_order(c, s, b);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void check_two_labels(Checker *c, SpvInst *i)
{
    if (c->m->version >= 0x00010600 && spv_operand(i, 1) == spv_operand(i, 2))
        broken(c, i, "both labels are %%%u", spv_operand(i, 1));
}

/* Blocks that more than one other leads to, and branches whose ways are one. */
static void check_reconvergence(Checker *c, const CheckStructure *s)
{
    uint32_t n = s->function->n_blocks;
    uint8_t *known = NEW_ARRAY(c->arena, uint8_t, n);
    uint32_t *from = NEW_ARRAY(c->arena, uint32_t, n);
    mark_known(s, known);
    for (Edge e = first_edge(); next_edge(s, &e);) {
        if (from[e.to] && from[e.to] != e.from + 1 && !known[e.to])
            broken(c, s->blocks[e.to]->insts.first, "ways meet where no construct ends");
        from[e.to] = e.from + 1;
    }
    for (SpvBlock *b = s->function->first; b; b = b->next) {
        const SpvInst *i = b->insts.last;
        if (i->op == SpvOpBranchConditional && spv_operand(i, 1) == spv_operand(i, 2))
            broken(c, i, "both labels are %%%u", spv_operand(i, 1));
    }
}

static void reach_functions(Checker *c, SpvId id, Map *seen)
{
    VEC(SpvId) work = { 0 };
    vec_push(c->arena, &work, id);
    while (work.len) {
        SpvFunction *f = function_of(c, work.data[--work.len]);
        SpvId callees[SPV_MAX_CALLEES];
        uint64_t any;
        if (!f || map_get(seen, f->def->id, &any))
            continue;
        map_put(c->arena, seen, f->def->id, 1);
        for (SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next)
                for (uint32_t k = spv_callees(c->m, i, callees); k-- > 0;)
                    vec_push(c->arena, &work, callees[k]);
    }
}

static void check_maximal(Checker *c, SpvInst *i)
{
    const CheckStructure *s = structure(c);
    uint64_t any;
    if (!c->reconverges_known)
        for (const SpvInst *k = c->m->globals.first; k; k = k->next)
            if (k->op == SpvOpExecutionMode &&
                spv_operand(k, 1) == SpvExecutionModeMaximallyReconvergesKHR)
                reach_functions(c, spv_operand(k, 0), &c->reconverges);
    c->reconverges_known = true;
    if (s && map_get(&c->reconverges, i->id, &any))
        check_reconvergence(c, s);
}

static const CheckRow rows[] = {
    { { "back-edge", "SPIR-V 2.11",
        "Back edges lead to headers of loops, and to each from one block." },
      { SpvOpFunction },
      NULL,
      check_back_edges },
    { { "construct-dominance", "SPIR-V 2.11",
        "A header dominates its merge block and its continue target, which dominates the back-edge "
        "block and is post-dominated by it." },
      { SpvOpFunction },
      NULL,
      check_dominance },
    { { "construct-nesting", "SPIR-V 2.11, 2.17",
        "A construct that contains a header contains its merge block; not too many nest." },
      { SpvOpFunction },
      NULL,
      check_nesting },
    { { "construct-exit", "SPIR-V 2.11",
        "A construct is left to its end, or to where the innermost loop or switch goes on." },
      { SpvOpFunction },
      NULL,
      check_exits },
    { { "construct-entry", "SPIR-V 2.11", "A construct is entered at its header alone." },
      { SpvOpFunction },
      NULL,
      check_entries },
    { { "selection-structured", "SPIR-V 2.11",
        "A branch that selects between blocks names the block where they meet." },
      { SpvOpFunction },
      NULL,
      check_selections },
    { { "case-order", "SPIR-V 2.11",
        "A switch dominates its cases; one falls through to one other, which follows it." },
      { SpvOpFunction },
      NULL,
      check_cases },
    { { "branch-labels", "SPIR-V 3.3.17",
        "The labels of a conditional branch differ from SPIR-V 1.6 on." },
      { SpvOpBranchConditional },
      NULL,
      check_two_labels },
    { { "maximal-reconvergence", "SPV_KHR_maximal_reconvergence",
        "Ways meet where constructs or cases begin or end, and branches have two ways." },
      { SpvOpFunction },
      NULL,
      check_maximal },
};
const CheckFamily check_core_control_flow = { rows, COUNT_OF(rows) };
