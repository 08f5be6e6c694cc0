/* SPDX-License-Identifier: MIT
 *
 * unroll: turns counted loops into straight lines. In: a function after simplify. Out: loops whose
 * trip count is constant are gone where they index variables that hold matrices by what they count
 * (so that promote can split those), if they have matrices inside and ask for it, or if they are
 * short; simplified.
 *
 * The trip count is found by computing the exit's condition from the header phis' constants,
 * iteration after iteration, so any way of counting works. Copies are chained, each with its exit
 * branch decided; other ways out stay. Inner loops go first; after each round of loops the function
 * is simplified, which makes the counts of outer loops and of triangular inner ones known.
 *
 * A `break` or `continue` that is left in a copy was structured as the loop's exit. Where one of
 * the two is left, an OpSwitch of one case in its place keeps it so; where both are, the module's
 * control flow is no longer structured in SPIR-V's sense (2.11.2), though still reducible.
 */
#include "pass/edit.h"

#define NONE UINT32_MAX
enum {
    MAX_ROUNDS = 16,
    MAX_TRIP = 4096,
    MAX_STEPS = 400,
    MAX_DEPTH = 40,
    DEFAULT_BUDGET = 16384,
    SHORT = 256,     /* instructions that any loop may become */
    INDEXED = 2048,  /* that a loop over a private array or a matrix's elements may */
    MATRICES = 1024, /* that one with matrices may: more leaves the instruction cache */
    MATRIX_TRIP = 8,
    ASKED_TRIP = 32,
    MAX_BLOCKS = 4096,
    LEAST_COST = 64, /* of unrolling a loop at all: bounds their number */
};

typedef struct Unroller {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassFold fold;
    PassLoopMarks marks;
    const Uniformity *uniform; /* of a round; NULL until it is asked for */
    bool changed;              /* in the round: u->g is what was before */
    uint64_t budget;           /* instructions left to grow by */
    bool structured;
} Unroller;

typedef struct Trip {
    SpvBlock *exit;  /* the block whose branch ends the loop */
    bool exit_when;  /* on this value of its condition */
    uint32_t copies; /* times that block is run */
} Trip;

/* ---- the trip count -------------------------------------------------------------------------- */

typedef struct Counting {
    Unroller *u;
    const CfgLoop *loop;
    VEC(SpvInst *) phis;
    VEC(SpvId) now;
    uint32_t steps;
} Counting;

static SpvId evaluate(Counting *s, SpvId id, uint32_t depth)
{
    SpvInst *i = spv_def(s->u->m, id);
    if (!i || ++s->steps > MAX_STEPS || depth > MAX_DEPTH)
        return 0;
    if (!i->block)
        return i->op == SpvOpVariable ? 0 : id;
    uint32_t p = s->u->g->position[i->block->index];
    if (p == NONE || !cfg_in_loop(s->loop, s->u->g, p))
        return 0;
    if (i->op == SpvOpPhi) {
        for (uint32_t k = 0; p == s->loop->header && k < s->phis.len; k++)
            if (s->phis.data[k] == i)
                return s->now.data[k];
        return 0;
    }
    uint32_t n = spv_n_operands(i), operands[8];
    uint16_t at[8];
    if (!spv_is_pure(i) || i->op == SpvOpExtInst || n > 8)
        return 0;
    memcpy(operands, i->words + i->first_operand, n * sizeof *operands);
    uint32_t n_ids = spv_id_operands(i, at, 8);
    for (uint32_t k = 0; k < n_ids; k++) {
        uint32_t *o = &operands[at[k] - i->first_operand];
        if ((*o = evaluate(s, *o, depth + 1)) == 0)
            return 0;
    }
    return fold_inst(&s->u->fold, i, operands, n);
}

static bool start_counting(Counting *s, const PassLoopCopy *l)
{
    const CfgBlock *h = &s->u->g->blocks[s->loop->header];
    for (SpvInst *i = h->block->insts.first->next; i && i->op == SpvOpPhi; i = i->next) {
        const SpvType *t = spv_type(s->u->m, i->type);
        SpvId init = 0;
        if (!t || (t->kind != SPV_INT && t->kind != SPV_BOOL && t->kind != SPV_FLOAT))
            continue;
        for (uint32_t k = 0; k < h->n_preds; k++) {
            SpvBlock *p = s->u->g->blocks[h->preds[k]].block;
            SpvId value = p == l->latch ? init : loop_incoming(i, p->id);
            init = init && init != value ? NONE : value;
        }
        SpvInst *d = init == NONE ? NULL : spv_def(s->u->m, init);
        vec_push(s->u->c->scratch, &s->phis, i);
        vec_push(s->u->c->scratch, &s->now, d && !d->block && d->op != SpvOpVariable ? init : 0);
    }
    return s->phis.len > 0;
}

static void next_iteration(Counting *s, const PassLoopCopy *l)
{
    SpvId *next = NEW_ARRAY(s->u->c->scratch, SpvId, s->phis.len);
    for (uint32_t k = 0; k < s->phis.len; k++) {
        s->steps = 0;
        next[k] = s->now.data[k] ? evaluate(s, loop_incoming(s->phis.data[k], l->latch->id), 0) : 0;
    }
    memcpy(s->now.data, next, s->phis.len * sizeof *next);
}

/* Runs the loop on its constants until block p's branch leaves it. */
static bool count_at(Unroller *u, const PassLoopCopy *l, uint32_t p, uint32_t limit, Trip *trip)
{
    SpvInst *term = u->g->blocks[p].block->insts.last;
    if (u->g->blocks[p].loop != l->loop || term->op != SpvOpBranchConditional)
        return false;
    bool stays_true = loop_stays(l, spv_operand(term, 1));
    bool stays_false = loop_stays(l, spv_operand(term, 2));
    if (stays_true == stays_false)
        return false;
    Counting s = { .u = u, .loop = l->loop };
    if (!start_counting(&s, l))
        return false;
    *trip = (Trip){ .exit = u->g->blocks[p].block, .exit_when = stays_false };
    for (uint32_t k = 0; k < limit; k++) {
        uint64_t value;
        s.steps = 0;
        SpvId condition = evaluate(&s, spv_operand(term, 0), 0);
        if (!condition || !spv_constant(u->m, condition, &value))
            return false;
        if ((value != 0) == trip->exit_when) {
            trip->copies = k + 1;
            return true;
        }
        next_iteration(&s, l);
    }
    return false;
}

static bool count_trip(Unroller *u, const PassLoopCopy *l, uint32_t limit, Trip *trip)
{
    uint32_t p = l->loop->latch;
    for (;; p = u->g->blocks[p].idom) { /* blocks that each iteration runs */
        if (count_at(u, l, p, limit, trip))
            return true;
        if (p == l->loop->header)
            return false;
    }
}

/* ---- what is worth it ------------------------------------------------------------------------ */

typedef struct Traits {
    bool indexes_matrices, indexes_arrays, matrices, asks, refuses, has_loop;
} Traits;

static bool holds_matrix(const SpvType *t)
{
    for (uint32_t depth = 0; t && depth < 64; depth++) {
        if (t->kind == SPV_COOPMAT)
            return true;
        if (t->kind == SPV_STRUCT) {
            for (uint32_t k = 0; k < t->count; k++)
                if (t->members[k]->kind == SPV_COOPMAT || t->members[k]->kind == SPV_ARRAY)
                    return true; /* an array in it: perhaps of matrices, unrolled to find out */
            return false;
        }
        t = t->kind == SPV_ARRAY ? t->element : NULL;
    }
    return false;
}

static void judge_chain(Unroller *u, const SpvInst *i, Traits *t)
{
    const SpvType *base = spv_type_of(u->m, spv_operand(i, 0));
    bool known = true;
    if (!base || base->kind != SPV_POINTER ||
        (base->storage != SpvStorageClassFunction && base->storage != SpvStorageClassPrivate))
        return;
    for (uint32_t k = 1; k < spv_n_operands(i); k++) {
        uint64_t value;
        known = known && spv_constant(u->m, spv_operand(i, k), &value);
    }
    if (known)
        return;
    bool elements = base->element && base->element->kind == SPV_COOPMAT;
    t->indexes_matrices |= !elements && holds_matrix(base->element);
    t->indexes_arrays = true;
}

static Traits judge(Unroller *u, const PassLoopCopy *l)
{
    Traits t = { 0 };
    uint32_t count, control = l->loop->merge_inst ? spv_operand(l->loop->merge_inst, 2)
                                                  : loop_named_control(u->m, l->header, &count);
    t.asks = control & SpvLoopControlUnrollMask;
    t.refuses = control & SpvLoopControlDontUnrollMask ||
                (u->c->options->ahead && wait_queues_hint(l->loop));
    for (uint32_t k = 0; k < l->blocks.len; k++) {
        SpvBlock *b = l->blocks.data[k];
        uint32_t p = u->g->position[b->index];
        t.has_loop |= p != NONE && u->g->blocks[p].loop != l->loop;
        for (SpvInst *i = b->insts.first; i; i = i->next) {
            const SpvType *type = i->type ? spv_type(u->m, i->type) : NULL;
            t.matrices |=
                (type && type->kind == SPV_COOPMAT) || i->op == SpvOpCooperativeMatrixStoreKHR;
            if (spv_is_chain(i))
                judge_chain(u, i, &t);
        }
    }
    return t;
}

/* Whether a value is more than a function of the loop's counters. */
static bool is_open(Unroller *u, const PassLoopCopy *l, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(u->m, id);
    uint16_t at[8];
    if (!i || !i->block)
        return i && i->op == SpvOpFunctionParameter;
    if (!depth || i->op == SpvOpLoad || !loop_holds(l, i->block))
        return true;
    uint32_t n = i->op == SpvOpPhi ? 0 : spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = 0; k < MIN(n, COUNT_OF(at)); k++)
        if (is_open(u, l, i->words[at[k]], depth - 1))
            return true;
    return false;
}

/* Whether strip_mine leaves a loop with such an instruction alone. */
static bool changes_memory(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    return !info || i->op == SpvOpStore || info->flags & (SPV_OPF_ATOMIC | SPV_OPF_BARRIER);
}

/* A loop along a row that leaves elements out on a test: copies would load in blocks of their own,
 * each element by a gather, while strip_mine makes several tests at once. */
static bool walks_with_tests(Unroller *u, const PassLoopCopy *l)
{
    enum { DEPTH = 8 };
    PassDetour d;
    bool tests = false;
    for (uint32_t k = 0; k < l->blocks.len; k++) {
        uint32_t p = u->g->position[l->blocks.data[k]->index];
        for (const SpvInst *i = l->blocks.data[k]->insts.first; i; i = i->next)
            if (changes_memory(i))
                return false;
        if (p != NONE && loop_detour(l, p, &d) != NONE)
            tests |= is_open(u, l, spv_operand(u->g->blocks[p].block->insts.last, 0), DEPTH);
    }
    if (!tests || !u->c->options->whole)
        return false;
    if (u->changed)
        return true; /* or so the next round will tell */
    if (!u->uniform)
        u->uniform = uniformity_build_for(u->c->scratch, u->m, u->g, u->c->options->subgroup_size);
    return loop_row_steps(l, u->uniform, false) >= 2;
}

/* Instructions that the loop may become, and its most copies. */
static uint64_t allowance(Unroller *u, const PassLoopCopy *l, uint32_t *limit)
{
    Traits t = judge(u, l);
    uint64_t whole = u->c->options->max_unrolled ? u->c->options->max_unrolled : DEFAULT_BUDGET;
    *limit = MAX_TRIP;
    if (t.indexes_matrices)
        return MIN(whole, u->budget);
    if (t.refuses)
        return 0;
    if (t.indexes_arrays)
        return MIN(MIN(INDEXED, whole), u->budget);
    if ((t.has_loop && !t.asks) || walks_with_tests(u, l))
        return 0;
    if (t.matrices) {
        *limit = (t.asks ? ASKED_TRIP : MATRIX_TRIP) + 1;
        return MIN(t.asks ? whole : MIN(MATRICES, whole), u->budget);
    }
    return MIN(MIN(t.asks ? INDEXED : SHORT, whole), u->budget);
}

/* ---- unrolling ------------------------------------------------------------------------------- */

static uint32_t count_branches_to(const PassLoopCopy *l, const SpvBlock *to, const SpvBlock *but)
{
    uint32_t at, n = 0;
    for (uint32_t k = 0; k < l->blocks.len; k++) {
        SpvBlock *b = l->blocks.data[k];
        for (uint32_t o = 0; b != but && (at = cfg_target(b->insts.last, o)) != 0; o++)
            n += b->insts.last->words[at] == to->id;
    }
    return n;
}

/* Makes what follows the phis of b a construct with that merge block: a switch of one case. */
static void wrap(Unroller *u, SpvBlock *b, SpvId merge)
{
    SpvBlock *rest = edit_split(u->m, edit_after_phis(b));
    SpvId zero = spv_int_constant(u->m, spv_int_type(u->m, 32, false), 0);
    rest->index = u->g->made_later;
    edit_append(u->m, b, SpvOpSelectionMerge, (uint32_t[]){ merge, 0 }, 2);
    edit_append(u->m, b, SpvOpSwitch, (uint32_t[]){ zero, rest->id }, 2);
}

typedef struct Copies {
    SpvBlock **header, **latch, **exit;
    SpvId *target;
} Copies;

/* Chains the copies: latch to next header, exits decided, constructs put where breaks are left. */
static void link_copies(Unroller *u, const PassLoopCopy *l, const Trip *trip, const Copies *k,
                        SpvInst *merge_inst)
{
    SpvId merge = merge_inst ? spv_operand(merge_inst, 0) : 0;
    SpvBlock *out = merge ? edit_block(u->m, merge) : NULL;
    SpvBlock *target = merge ? edit_block(u->m, k->target[0]) : NULL;
    bool breaks = out && count_branches_to(l, out, trip->exit);
    bool continues = target && target != l->header && count_branches_to(l, target, NULL) > 1;
    for (uint32_t n = 0; n < trip->copies; n++) {
        bool last = n + 1 == trip->copies;
        if (!last)
            edit_retarget(k->latch[n]->insts.last, l->header->id, k->header[n + 1]->id);
        loop_decide_exit(u->m, k->exit[n], trip->exit_when, last);
    }
    for (uint32_t n = 0; u->structured && continues && n < trip->copies; n++)
        wrap(u, k->header[n], k->target[n]);
    if (u->structured && breaks)
        wrap(u, k->header[0], merge);
}

/* The next copy's header phis are what the last one's latch passes on. */
static void advance_phis(Unroller *u, PassLoopCopy *l)
{
    VEC(SpvId) next = { 0 };
    uint32_t k = 0;
    for (SpvInst *i = l->header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        vec_push(u->c->scratch, &next, loop_mapped(l, loop_incoming(i, l->latch->id)));
    for (SpvInst *i = l->header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        l->marks->map[i->id] = next.data[k++];
}

static bool unroll_loop(Unroller *u, PassLoopCopy *l, const Trip *trip)
{
    Arena *a = u->c->scratch;
    SpvBlock *after = l->blocks.data[l->blocks.len - 1];
    if (!loop_close_values(l))
        return false;
    if (u->c->options->ahead && wait_queues_hint(l->loop))
        ahead_report(u->c->options->ahead, u->m, l->loop->merge_inst,
                     (PassAheadLoop){ .queues = wait_queues_hint(l->loop), .why = AHEAD_UNROLLED });
    Copies k = { NEW_ARRAY(a, SpvBlock *, trip->copies), NEW_ARRAY(a, SpvBlock *, trip->copies),
                 NEW_ARRAY(a, SpvBlock *, trip->copies), NEW_ARRAY(a, SpvId, trip->copies) };
    SpvInst *merge = l->loop->merge_inst;
    k.header[0] = l->header, k.latch[0] = l->latch, k.exit[0] = trip->exit;
    k.target[0] = merge ? spv_operand(merge, 1) : 0;
    for (uint32_t n = 1; n < trip->copies; n++) {
        advance_phis(u, l);
        after = loop_copy(l, after);
        k.header[n] = edit_block(u->m, loop_mapped(l, l->header->id));
        k.latch[n] = edit_block(u->m, loop_mapped(l, l->latch->id));
        k.exit[n] = edit_block(u->m, loop_mapped(l, trip->exit->id));
        k.target[n] = merge ? loop_mapped(l, spv_operand(merge, 1)) : 0;
        /* A copy's back edge goes to the first header until the copies are linked. */
        edit_retarget(k.latch[n]->insts.last, k.header[n]->id, l->header->id);
    }
    loop_done(l);
    link_copies(u, l, trip, &k, merge);
    if (merge)
        edit_remove(u->m, merge);
    if (trip->copies > 1)
        edit_remove_pred(u->m, l->header, l->latch->id);
    u->budget -= MIN(u->budget, MAX(LEAST_COST, (uint64_t)l->size * (trip->copies - 1)));
    return true;
}

/* The loops, inner before outer and each before those behind it. */
static const CfgLoop **order_loops(Unroller *u)
{
    const CfgLoop **order = NEW_ARRAY(u->c->scratch, const CfgLoop *, u->g->n_loops);
    uint32_t *first = NEW_ARRAY(u->c->scratch, uint32_t, u->g->n + 1); /* by end: 1 + loop */
    uint32_t *next = NEW_ARRAY(u->c->scratch, uint32_t, u->g->n_loops), n = 0;
    /* outer ones first: the last pushed is the innermost */
    for (uint32_t k = 0; k < u->g->n_loops; k++) {
        uint32_t end = u->g->loops[k]->header + u->g->loops[k]->n_blocks;
        next[k] = first[end];
        first[end] = k + 1;
    }
    for (uint32_t end = 0; end <= u->g->n; end++)
        for (uint32_t k = first[end]; k; k = next[k - 1])
            order[n++] = u->g->loops[k - 1];
    return order;
}

static bool try_loop(Unroller *u, const CfgLoop *loop)
{
    PassLoopCopy l;
    Trip trip;
    uint32_t limit;
    if (u->budget <= LEAST_COST || !loop_open(&l, u->c, u->g, &u->marks, loop, MAX_BLOCKS))
        return false;
    uint64_t room = allowance(u, &l, &limit);
    limit = (uint32_t)MIN(limit, room / l.size + 1);
    bool done = room >= l.size && count_trip(u, &l, limit, &trip) && unroll_loop(u, &l, &trip);
    u->changed |= done;
    return done;
}

/* One round: the innermost loops that are worth it; *any: there were some. */
static bool unroll_round(Unroller *u, bool *any)
{
    SpvFunction *f = u->c->entry.function;
    edit_prune(u->m, f, u->c->scratch);
    u->g = cfg_build(u->c->scratch, f, u->c->sink);
    if (!u->g)
        return false;
    u->fold = fold_open(u->m, u->c->scratch);
    u->marks = loop_marks(u->c, u->g);
    u->uniform = NULL;
    u->changed = false;
    const CfgLoop **order = order_loops(u);
    /* changed, or holds one such */
    uint8_t *touched = NEW_ARRAY(u->c->scratch, uint8_t, u->g->n_loops);
    *any = false;
    for (uint32_t k = 0; k < u->g->n_loops; k++) {
        const CfgLoop *loop = order[k];
        if (!touched[loop->index])
            touched[loop->index] = try_loop(u, loop);
        *any |= touched[loop->index];
        if (loop->parent)
            touched[loop->parent->index] |= touched[loop->index];
    }
    if (!*any)
        return true;
    edit_prune(u->m, f, u->c->scratch);
    Cfg *g = cfg_build(u->c->scratch, f, u->c->sink);
    if (!g)
        return false;
    edit_order_blocks(g);
    return pass_simplify(u->c);
}

bool pass_unroll(PassContext *c)
{
    Unroller u = { .c = c, .m = c->module };
    u.budget = 4ull * (c->options->max_unrolled ? c->options->max_unrolled : DEFAULT_BUDGET);
    u.structured = c->entry.model == SpvExecutionModelGLCompute;
    bool any = true;
    for (uint32_t round = 0; any && round < MAX_ROUNDS; round++)
        if (!unroll_round(&u, &any))
            return false;
    return true;
}
