/* SPDX-License-Identifier: MIT
 *
 * load_ahead: software pipelines. In: a function after simplify, with hints for wait queues
 * (SPV_QCOM_multiple_wait_queues) on loops. Out: what such a loop loads is loaded N iterations
 * before it is used, for drivers that do not know the hint; simplified.
 *
 *     prologue   k = 0..N-1: if there is an iteration k, r[k] = load of iteration k
 *     main loop  while there is an iteration i + N: new = its load; iteration i, on r[0]; r <<= new
 *     epilogue   the old loop, which loads nothing: iteration i, on r[0]; r <<= nothing
 *
 * The registers are phis. Counters run twice, the second time N iterations ahead, and what
 * addresses and the exit's condition are made of is computed on those. So any way of counting
 * works, wrapping included, and loads are carried out for exactly those iterations that carry them
 * out in the original. Until it is certain that an iteration will come, only what cannot fail is
 * computed for it.
 *
 * A load may move up past everything in N iterations if nothing there writes the memory or orders
 * accesses to it. The table below lists the reasons for leaving a loop, or a load, as it is.
 */
#include "pass/edit.h"

enum {
    MAX_SLICE = 192, /* instructions that conditions, or addresses, may take */
    MAX_BLOCKS = 4096,
    MAX_SIZE = 16384, /* of a loop that is copied */
    BUDGET = 1 << 16, /* of all the copies */
};

static const char *const reasons[AHEAD_N_REASONS] = {
    [AHEAD_DONE] = "",
    [AHEAD_UNROLLED] = "it is unrolled: it indexes matrices by what it counts",
    [AHEAD_LATCHES] = "it has no single back edge",
    [AHEAD_EXITS] = "it is left elsewhere than at one branch that each iteration comes to",
    [AHEAD_CONDITION] = "whether a later iteration comes is not known ahead of it",
    [AHEAD_SIZE] = "the kernel would grow too large",
    [AHEAD_NO_LOAD] = "it loads neither matrices nor from buffers",
    [AHEAD_VOLATILE] = "a load is volatile or coherent",
    [AHEAD_STORE] = "a store may change what a later iteration loads",
    [AHEAD_BARRIER] = "a barrier or an atomic orders its loads",
    [AHEAD_SAME] = "a load reads the same in all iterations",
    [AHEAD_STEP] = "an address does not move on by the same step each time",
    [AHEAD_SELDOM] = "a load is not carried out in each iteration",
    [AHEAD_EXIT_BETWEEN] = "the loop is left between its loads",
    [AHEAD_STRUCTURE] = "inlining or unrolling leaves control flow that cannot be structured",
    [AHEAD_CALLS] = "a load calls a function, and the loop writes memory",
};

const char *ahead_reason(PassAheadReason why) { return why < AHEAD_N_REASONS ? reasons[why] : ""; }

void ahead_report(PassAheadReport *r, const SpvModule *m, const SpvInst *merge, PassAheadLoop l)
{
    l.loc = spv_loc(r->arena, m, merge);
    vec_push(r->arena, &r->loops, l);
}

/* Instructions of the loop that can be computed for another iteration. */
typedef struct Slice {
    VEC(SpvInst *) insts;
    SpvId *made; /* by place: for the iteration at hand, 0: not yet */
} Slice;

typedef struct Register {
    SpvInst *load;
    SpvId next[WAIT_QUEUES_MOST]; /* what they start with, then the phis of the main loop */
    SpvId fresh;                  /* the load of the main loop */
} Register;

typedef struct Rename {
    SpvInst *old;
    SpvId id, by;
} Rename;
typedef struct Copied {
    SpvId from, to;
} Copied;

typedef struct Pipeliner {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    const PassWaitQueues *found;
    PassLoopMarks marks;
    PassIdWords ids;
    uint64_t budget;
    VEC(Rename) renames; /* at the end of a round */
    /* of one loop */
    PassLoopCopy l;
    uint32_t queues;
    SpvInst *exit;          /* its terminator leaves the loop */
    bool exit_when, behind; /* on this value; loads stand behind it */
    VEC(SpvInst *) effects; /* what writes memory or orders accesses */
    /* always: the condition and the counters, which are computed for iterations that may not come;
     * guarded: addresses */
    Slice always, guarded;
    VEC(Register) registers;
    VEC(Copied) copied; /* instructions of slices, for their decorations */
} Pipeliner;

static bool in_loop(const Pipeliner *s, SpvId id)
{
    const SpvInst *d = spv_def(s->m, id);
    return d && d->block && d->op != SpvOpLabel && loop_holds(&s->l, d->block);
}

static bool is_counter(const Pipeliner *s, const SpvInst *i)
{
    return i->op == SpvOpPhi && i->block == s->l.header;
}

/* ---- what memory accesses mean to each other ------------------------------------------------- */

static uint32_t storage_of(const Pipeliner *s, SpvId pointer)
{
    const SpvType *t = spv_type_of(s->m, pointer);
    return t && t->kind == SPV_POINTER ? t->storage : SpvStorageClassGeneric;
}

enum { READ_ONLY = 0, IN_BUFFERS = 1, IN_WORKGROUP = 2, IN_PRIVATE = 4, ANYWHERE = 7 };

static uint32_t place_of_storage(uint32_t storage)
{
    switch (storage) {
    case SpvStorageClassFunction:
    case SpvStorageClassPrivate: return IN_PRIVATE;
    case SpvStorageClassWorkgroup: return IN_WORKGROUP;
    case SpvStorageClassPushConstant:
    case SpvStorageClassUniformConstant:
    case SpvStorageClassInput: return READ_ONLY;
    case SpvStorageClassGeneric: return ANYWHERE;
    default: return IN_BUFFERS;
    }
}

static bool may_alias(const Pipeliner *s, SpvId a, SpvId b)
{
    uint32_t place = place_of_storage(storage_of(s, a));
    const SpvInst *x = pointer_root(s->m, a), *y = pointer_root(s->m, b);
    if (!(place & place_of_storage(storage_of(s, b))))
        return false;
    if (!x || !y || x == y || x->op != SpvOpVariable || y->op != SpvOpVariable)
        return true;
    bool aliased = spv_has_decoration(s->m, x->id, -1, SpvDecorationAliased) ||
                   spv_has_decoration(s->m, y->id, -1, SpvDecorationAliased);
    bool distinct = place != IN_BUFFERS ||
                    spv_has_decoration(s->m, x->id, -1, SpvDecorationRestrict) ||
                    spv_has_decoration(s->m, y->id, -1, SpvDecorationRestrict);
    return aliased || !distinct;
}

static bool is_decorated(const Pipeliner *s, SpvId id, int32_t member)
{
    return spv_has_decoration(s->m, id, member, SpvDecorationVolatile) ||
           spv_has_decoration(s->m, id, member, SpvDecorationCoherent);
}

static bool is_volatile_load(const Pipeliner *s, const SpvInst *load)
{
    const uint32_t special = SpvMemoryAccessVolatileMask | SpvMemoryAccessMakePointerVisibleMask;
    SpvOperand o;
    for (SpvWalk w = spv_walk(load); spv_walk_next(&w, &o);)
        if (o.kind == SPV_OPERAND_MemoryAccess && load->words[o.word] & special)
            return true;
    const SpvInst *root = pointer_root(s->m, spv_operand(load, 0));
    if (!root || is_decorated(s, root->id, -1))
        return root != NULL;
    const SpvType *t = spv_type_of(s->m, root->id);
    for (uint32_t depth = 0; t && t->kind != SPV_STRUCT && depth < 8; depth++)
        t = t->element;
    for (uint32_t k = 0; t && t->kind == SPV_STRUCT && k < t->count; k++)
        if (is_decorated(s, t->id, (int32_t)k))
            return true;
    return false;
}

/* Where an instruction writes, and orders accesses, as far as it is known: ANYWHERE else. */
typedef struct Effect {
    uint32_t writes, orders;
    SpvId through;
} Effect;

static uint32_t ordered_by(const Pipeliner *s, SpvId semantics)
{
    uint64_t mask;
    if (!spv_constant(s->m, semantics, &mask))
        return ANYWHERE;
    const uint32_t order = SpvMemorySemanticsAcquireMask | SpvMemorySemanticsReleaseMask |
                           SpvMemorySemanticsAcquireReleaseMask |
                           SpvMemorySemanticsSequentiallyConsistentMask;
    const uint32_t buffers =
        SpvMemorySemanticsUniformMemoryMask | SpvMemorySemanticsCrossWorkgroupMemoryMask;
    if (!(mask & order))
        return 0;
    return (mask & buffers ? IN_BUFFERS : 0) |
           (mask & SpvMemorySemanticsWorkgroupMemoryMask ? IN_WORKGROUP : 0);
}

static Effect effect_of(const Pipeliner *s, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    SpvId callees[SPV_MAX_CALLEES];
    Effect none = { 0 }, all = { ANYWHERE, ANYWHERE, 0 };
    switch (i->op) {
    case SpvOpLoad:
    case SpvOpCooperativeMatrixLoadKHR:
    case SpvOpVariable:
    case SpvOpArrayLength:
    case SpvOpImageRead:
    case SpvOpImageFetch: return none;
    case SpvOpCooperativeMatrixLoadTensorNV: return spv_callees(s->m, i, callees) ? all : none;
    case SpvOpStore:
    case SpvOpCopyMemory:
    case SpvOpCopyMemorySized:
    case SpvOpCooperativeMatrixStoreKHR:
    case SpvOpCooperativeMatrixStoreTensorNV:
        return (Effect){ place_of_storage(storage_of(s, spv_operand(i, 0))), 0, spv_operand(i, 0) };
    case SpvOpControlBarrier: return (Effect){ 0, ordered_by(s, spv_operand(i, 2)), 0 };
    case SpvOpMemoryBarrier: return (Effect){ 0, ordered_by(s, spv_operand(i, 1)), 0 };
    default: break;
    }
    if (spv_is_pure(i) || i->op == SpvOpPhi || spv_is_nonsemantic(i))
        return none;
    if (!info || i->op == SpvOpExtInst || i->op == SpvOpFunctionCall ||
        spv_callees(s->m, i, callees) ||
        info->flags & (SPV_OPF_MEMORY | SPV_OPF_ATOMIC | SPV_OPF_BARRIER))
        return all;
    return none;
}

static void find_effects(Pipeliner *s)
{
    s->effects.len = 0;
    for (uint32_t k = 0; k < s->l.blocks.len; k++)
        for (SpvInst *i = s->l.blocks.data[k]->insts.first; i; i = i->next) {
            Effect e = effect_of(s, i);
            if (e.writes || e.orders)
                vec_push(s->c->scratch, &s->effects, i);
        }
}

/* Whether a load means the same in an earlier iteration. */
static PassAheadReason may_move(const Pipeliner *s, const SpvInst *load)
{
    uint32_t place = place_of_storage(storage_of(s, spv_operand(load, 0)));
    SpvId callees[SPV_MAX_CALLEES];
    if (is_volatile_load(s, load))
        return AHEAD_VOLATILE;
    if (spv_callees(s->m, load, callees) && s->effects.len)
        return AHEAD_CALLS;
    for (uint32_t k = 0; k < s->effects.len; k++) {
        Effect e = effect_of(s, s->effects.data[k]);
        if (e.orders & place)
            return AHEAD_BARRIER;
        if (e.writes & place && (!e.through || may_alias(s, spv_operand(load, 0), e.through)))
            return AHEAD_STORE;
    }
    return AHEAD_DONE;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static bool has(const Slice *x, const SpvInst *i, uint32_t *place)
{
    for (*place = 0; *place < x->insts.len; ++*place)
        if (x->insts.data[*place] == i)
            return true;
    return false;
}

/* A matrix that a tensor load keeps only where a view clips it. */
static bool is_unused_object(const SpvInst *i, uint32_t word)
{
    SpvOperand o;
    if (i->op != SpvOpCooperativeMatrixLoadTensorNV || word != i->first_operand + 1u)
        return false;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.kind == SPV_OPERAND_TensorAddressingOperands)
            return !(i->words[o.word] & SpvTensorAddressingOperandsTensorViewMask);
    return true;
}

/* Adds what `i` is made of to its slice, which it may be in already: all of it in the loop, from
 * place `from` on. */
static bool close_slice(Pipeliner *s, Slice *x, uint32_t from)
{
    uint32_t place;
    for (uint32_t k = from; k < x->insts.len; k++) {
        SpvInst *i = x->insts.data[k];
        edit_ids(i, &s->ids);
        for (uint32_t n = 0; n < s->ids.n; n++) {
            SpvId id = i->words[s->ids.at[n]];
            SpvInst *d = in_loop(s, id) ? spv_def(s->m, id) : NULL;
            bool other_edge = is_counter(s, i) && id != loop_incoming(i, s->l.latch->id);
            if (!d || other_edge || is_unused_object(i, s->ids.at[n]) || has(x, d, &place) ||
                (x == &s->guarded && (is_counter(s, d) || has(&s->always, d, &place))))
                continue;
            if (x->insts.len == MAX_SLICE)
                return false;
            vec_push(s->c->scratch, &x->insts, d);
        }
    }
    return true;
}

/* Adds to what is computed for iterations that may not come. A load there must read the same in all
 * of them, and be carried out in the first. */
static bool add_always(Pipeliner *s, SpvId id)
{
    uint32_t from = s->always.insts.len, place;
    SpvInst *root = spv_def(s->m, id);
    bool good = !in_loop(s, id) || has(&s->always, root, &place);
    if (!good && from < MAX_SLICE) {
        vec_push(s->c->scratch, &s->always.insts, root);
        good = close_slice(s, &s->always, from);
    }
    for (uint32_t k = from; k < s->always.insts.len && good; k++) {
        const SpvInst *i = s->always.insts.data[k];
        good = is_counter(s, i) || edit_cannot_fail(s->m, i) ||
               (i->op == SpvOpLoad && !may_move(s, i) &&
                wait_queues_same(s->c->scratch, s->m, s->g, s->l.loop, i->id));
    }
    if (!good)
        s->always.insts.len = from;
    return good;
}

/* Adds a load and what its address is made of. Other loads there must be free to move too. */
static PassAheadReason add_guarded(Pipeliner *s, SpvInst *load)
{
    uint32_t from = s->guarded.insts.len, always = s->always.insts.len, place;
    PassAheadReason why = AHEAD_DONE;
    if (!has(&s->guarded, load, &place)) {
        vec_push(s->c->scratch, &s->guarded.insts, load);
        if (from >= MAX_SLICE || !close_slice(s, &s->guarded, from))
            why = AHEAD_SIZE;
    }
    VEC(SpvId) counters = { 0 };
    for (uint32_t k = from; k < s->guarded.insts.len && !why; k++) {
        SpvInst *i = s->guarded.insts.data[k];
        if (wait_queues_may_load(s->m, i) || i->op == SpvOpLoad)
            why = may_move(s, i);
        else if (!spv_is_pure(i))
            why = AHEAD_STEP;
        edit_ids(i, &s->ids);
        for (uint32_t n = 0; n < s->ids.n; n++) {
            SpvInst *d = spv_def(s->m, i->words[s->ids.at[n]]);
            if (d && d->block && is_counter(s, d) && !is_unused_object(i, s->ids.at[n]))
                vec_push(s->c->scratch, &counters, d->id);
        }
    }
    for (uint32_t k = 0; k < counters.len && !why; k++)
        if (!add_always(s, counters.data[k]))
            why = AHEAD_STEP;
    if (why) {
        s->guarded.insts.len = from;
        s->always.insts.len = always;
    }
    return why;
}

/* ---- what the loop is ------------------------------------------------------------------------ */

/* The one conditional branch that leaves, in a block that each iteration runs. */
static bool find_exit(Pipeliner *s)
{
    const CfgLoop *loop = s->l.loop;
    const CfgBlock *from = NULL;
    uint32_t leaving = 0, at = 0;
    for (uint32_t k = 0; k < loop->n_blocks; k++) {
        const CfgBlock *b = &s->g->blocks[loop->blocks[k]];
        for (uint32_t n = 0; n < b->n_succs && !(b->leaving && b->loop == loop); n++) {
            const CfgBlock *to = &s->g->blocks[b->succs[n]];
            if (to->block && loop_stays(&s->l, to->block->id))
                continue;
            leaving++;
            from = b;
            at = loop->blocks[k];
        }
    }
    if (leaving != 1 || from->loop != loop || !cfg_dominates(s->g, at, loop->latch))
        return false;
    s->exit = from->block->insts.last;
    if (s->exit->op != SpvOpBranchConditional)
        return false;
    s->exit_when = loop_stays(&s->l, spv_operand(s->exit, 2));
    return s->exit_when != loop_stays(&s->l, spv_operand(s->exit, 1));
}

/* Its address is made of what a load brings that goes by the same step each time. */
static bool goes_by_data(Pipeliner *s, SpvInst *load)
{
    Slice x = { 0 };
    vec_push(s->c->scratch, &x.insts, load);
    for (uint32_t k = 0; k < x.insts.len; k++) {
        const PassAheadLoad *l = k ? wait_queues_load(s->found, x.insts.data[k]) : NULL;
        uint32_t place;
        if (l && l->moves == AHEAD_STEPS)
            return true;
        edit_ids(x.insts.data[k], &s->ids);
        for (uint32_t n = 0; n < s->ids.n && x.insts.len < MAX_SLICE; n++) {
            SpvInst *d = spv_def(s->m, x.insts.data[k]->words[s->ids.at[n]]);
            if (d && in_loop(s, d->id) && !is_counter(s, d) && !has(&x, d, &place))
                vec_push(s->c->scratch, &x.insts, d);
        }
    }
    return false;
}

static bool is_behind_exit(const Pipeliner *s, const PassAheadLoad *l)
{
    uint32_t p = s->g->position[l->inst->block->index];
    uint32_t exit = s->g->position[s->exit->block->index];
    return p != exit && cfg_dominates(s->g, exit, p);
}

static PassAheadReason take_load(Pipeliner *s, const PassAheadLoad *l)
{
    uint32_t p = s->g->position[l->inst->block->index];
    if (!cfg_dominates(s->g, p, s->l.loop->latch))
        return AHEAD_SELDOM;
    if (l->moves == AHEAD_STAYS)
        return AHEAD_SAME;
    if (is_behind_exit(s, l) != s->behind)
        return AHEAD_EXIT_BETWEEN;
    if (l->moves == AHEAD_UNKNOWN && !goes_by_data(s, l->inst))
        return AHEAD_STEP;
    PassAheadReason why = add_guarded(s, l->inst);
    if (!why)
        vec_push(s->c->scratch, &s->registers, (Register){ .load = l->inst });
    return why;
}

/* Takes the loads behind the exit; where there are none, those in front of it. */
static void take_loads(Pipeliner *s, PassAheadLoop *r)
{
    const PassAheadLoad *all = s->found->loads.data;
    s->behind = false;
    for (uint32_t k = 0; k < s->found->loads.len; k++)
        s->behind |=
            all[k].loop == s->l.loop && all[k].moves != AHEAD_STAYS && is_behind_exit(s, &all[k]);
    for (uint32_t k = 0; k < s->found->loads.len; k++) {
        if (all[k].loop != s->l.loop)
            continue;
        PassAheadReason why = take_load(s, &all[k]);
        r->why = r->why ? r->why : why;
        r->loads++;
    }
    r->ahead = s->registers.len;
    r->why = r->loads ? r->why : AHEAD_NO_LOAD;
}

static PassAheadReason examine(Pipeliner *s, const CfgLoop *loop, PassAheadLoop *r)
{
    if (!loop_open(&s->l, s->c, s->g, &s->marks, loop, MAX_BLOCKS) || !loop->merge_inst)
        return AHEAD_LATCHES;
    if (s->l.size > MAX_SIZE || s->l.size > s->budget)
        return AHEAD_SIZE;
    if (!find_exit(s))
        return AHEAD_EXITS;
    find_effects(s);
    s->always.insts.len = s->guarded.insts.len = s->registers.len = s->copied.len = 0;
    if (!add_always(s, spv_operand(s->exit, 0)))
        return AHEAD_CONDITION;
    take_loads(s, r);
    return r->why;
}

/* ---- iterations ahead ------------------------------------------------------------------------ */

static SpvId put_inst(Pipeliner *s, SpvBlock *b, uint16_t op, SpvId type, const uint32_t *operands,
                      uint32_t n)
{
    SpvInst *i = spv_make(s->m, op, type, spv_new_id(s->m), operands, n);
    spv_append(b, i);
    return i->id;
}

static SpvId both(Pipeliner *s, SpvBlock *b, SpvId x, SpvId y)
{
    return x ? put_inst(s, b, SpvOpLogicalAnd, spv_bool_type(s->m), (uint32_t[]){ x, y }, 2) : y;
}

static SpvBlock *block_after(Pipeliner *s, SpvBlock *b)
{
    SpvBlock *made = spv_new_block(s->g->function, b);
    made->index = s->g->made_later;
    return made;
}

/* Forgets the values of the current iteration. */
static void next_iteration(Pipeliner *s)
{
    s->always.made = NEW_ARRAY(s->c->scratch, SpvId, s->always.insts.len + 1);
    s->guarded.made = NEW_ARRAY(s->c->scratch, SpvId, s->guarded.insts.len + 1);
}

/* The value of `id` in the current iteration, computed at the end of `b` if it is not there yet.
 * The size of slices bounds the recursion. */
static SpvId make_value(Pipeliner *s, SpvBlock *b, SpvId id)
{
    SpvInst *i = in_loop(s, id) ? spv_def(s->m, id) : NULL;
    Slice *x = &s->always;
    uint32_t place;
    if (!i)
        return id;
    if (!has(x, i, &place) && !has(x = &s->guarded, i, &place))
        return id; /* never: slices are closed */
    if (x->made[place])
        return x->made[place];
    SpvInst *copy = spv_clone_inst(s->m, i);
    uint32_t n = spv_id_operands(i, NULL, 0);
    uint16_t *at = NEW_ARRAY(s->c->scratch, uint16_t, n + 1);
    n = spv_id_operands(copy, at, n);
    for (uint32_t k = 0; k < n; k++)
        copy->words[at[k]] = is_unused_object(i, at[k]) ? spv_null_constant(s->m, i->type)
                                                        : make_value(s, b, copy->words[at[k]]);
    copy->id = copy->words[copy->first_operand - 1] = spv_new_id(s->m);
    s->m->defs[copy->id] = copy;
    spv_append(b, copy);
    vec_push(s->c->scratch, &s->copied, (Copied){ i->id, copy->id });
    return x->made[place] = copy->id;
}

/* Whether the current iteration stays in the loop at its exit. */
static SpvId make_condition(Pipeliner *s, SpvBlock *b)
{
    SpvId value = make_value(s, b, spv_operand(s->exit, 0));
    return s->exit_when ? put_inst(s, b, SpvOpLogicalNot, spv_bool_type(s->m), &value, 1) : value;
}

/* Counters of the current iteration, by place in `always`; 0 for anything else. */
static void set_counters(Pipeliner *s, const SpvId *counters)
{
    next_iteration(s);
    memcpy(s->always.made, counters, s->always.insts.len * sizeof *counters);
}

/* Those of the next iteration. */
static SpvId *make_next(Pipeliner *s, SpvBlock *b)
{
    SpvId *next = NEW_ARRAY(s->c->scratch, SpvId, s->always.insts.len + 1);
    for (uint32_t k = 0; k < s->always.insts.len; k++)
        if (is_counter(s, s->always.insts.data[k]))
            next[k] = make_value(s, b, loop_incoming(s->always.insts.data[k], s->l.latch->id));
    return next;
}

/* ---- prologue -------------------------------------------------------------------------------- */

typedef struct Prologue {
    SpvBlock *first, *last;
    SpvId *counters; /* by place in `always`: of iteration N */
    SpvId *start;    /* by header phi: what the old loop started with */
    SpvId full;      /* whether all registers were loaded, or 0: they were */
} Prologue;

/* Redirects what entered the loop to the prologue, with the same values. */
static void enter_prologue(Pipeliner *s, Prologue *p)
{
    uint32_t n = 0, place;
    p->counters = NEW_ARRAY(s->c->scratch, SpvId, s->always.insts.len + 1);
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        n++;
    p->start = NEW_ARRAY(s->c->scratch, SpvId, n + 1);
    loop_redirect_entries(&s->l, p->first);
    n = 0;
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next, n++) {
        SpvInst *phi = spv_clone_inst(s->m, i);
        phi->id = phi->words[phi->first_operand - 1] = spv_new_id(s->m);
        s->m->defs[phi->id] = phi;
        spv_append(p->first, phi);
        p->start[n] = phi->id;
        if (has(&s->always, i, &place))
            p->counters[place] = phi->id;
    }
    edit_remove_pred(s->m, p->first, s->l.latch->id);
}

/* The loads of iteration k, where `guard` (0: always). */
static void load_first(Pipeliner *s, Prologue *p, uint32_t k, SpvId guard)
{
    SpvBlock *from = p->last, *inside = from;
    if (guard) {
        inside = block_after(s, from);
        p->last = block_after(s, inside);
        edit_append(s->m, from, SpvOpSelectionMerge, (uint32_t[]){ p->last->id, 0 }, 2);
        edit_append(s->m, from, SpvOpBranchConditional,
                    (uint32_t[]){ guard, inside->id, p->last->id }, 3);
    }
    for (uint32_t n = 0; n < s->registers.len; n++)
        s->registers.data[n].next[k] = make_value(s, inside, s->registers.data[n].load->id);
    if (!guard)
        return;
    edit_append(s->m, inside, SpvOpBranch, &p->last->id, 1);
    for (uint32_t n = 0; n < s->registers.len; n++) {
        Register *r = &s->registers.data[n];
        uint32_t either[] = { r->next[k], inside->id, spv_null_constant(s->m, r->load->type),
                              from->id };
        r->next[k] = put_inst(s, p->last, SpvOpPhi, r->load->type, either, 4);
    }
}

static Prologue make_prologue(Pipeliner *s)
{
    Prologue p = { 0 };
    p.first = p.last = block_after(s, s->l.header->prev);
    enter_prologue(s, &p);
    for (uint32_t k = 0; k < s->queues; k++) {
        set_counters(s, p.counters);
        SpvId stays = make_condition(s, p.last);
        p.counters = make_next(s, p.last);
        SpvId comes = both(s, p.last, p.full, stays);
        load_first(s, &p, k, s->behind ? comes : p.full);
        p.full = comes;
    }
    return p;
}

/* ---- main loop, epilogue --------------------------------------------------------------------- */

typedef struct Main {
    SpvBlock *head, *fetch, *latch, *out;
    SpvId *counters, *next; /* by place in `always`: of iteration i + N, and of the next */
    SpvId full;             /* whether the loads up to iteration i + N - 1 were carried out */
    SpvId comes;            /* the condition of iteration i + N */
} Main;

static SpvId put_phi(Pipeliner *s, SpvBlock *b, SpvId type, SpvId start, SpvId from)
{
    return put_inst(s, b, SpvOpPhi, type, (uint32_t[]){ start, from }, 2);
}

static void add_edge(Pipeliner *s, SpvId phi, SpvId value, SpvId from)
{
    edit_add_incoming(s->m, spv_def(s->m, phi), value, from);
}

/* Phis: of the old header's values, counters ahead, registers. */
static void open_main(Pipeliner *s, const Prologue *p, Main *x)
{
    SpvId from = p->last->id;
    uint32_t n = 0;
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next, n++)
        s->marks.map[i->id] = put_phi(s, x->head, i->type, p->start[n], from);
    x->counters = NEW_ARRAY(s->c->scratch, SpvId, s->always.insts.len + 1);
    for (uint32_t k = 0; k < s->always.insts.len; k++)
        if (is_counter(s, s->always.insts.data[k]))
            x->counters[k] =
                put_phi(s, x->head, s->always.insts.data[k]->type, p->counters[k], from);
    x->full = put_phi(s, x->head, spv_bool_type(s->m), p->full, from);
    for (n = 0; n < s->registers.len; n++)
        for (uint32_t k = 0; k < s->queues; k++) {
            Register *r = &s->registers.data[n];
            r->next[k] = put_phi(s, x->head, r->load->type, r->next[k], from);
        }
}

/* Of the loop controls, those that do not count iterations. */
static uint32_t plain_controls(const Pipeliner *s)
{
    return spv_operand(s->l.loop->merge_inst, 2) &
           (SpvLoopControlUnrollMask | SpvLoopControlDontUnrollMask |
            SpvLoopControlDependencyInfiniteMask);
}

/* The body: a copy of the loop, that stays at its exit and goes on to the new header. */
static void copy_body(Pipeliner *s, Main *x)
{
    loop_copy(&s->l, x->fetch);
    SpvBlock *header = edit_block(s->m, loop_mapped(&s->l, s->l.header->id));
    x->latch = edit_block(s->m, loop_mapped(&s->l, s->l.latch->id));
    loop_decide_exit(s->m, edit_block(s->m, loop_mapped(&s->l, s->exit->block->id)), s->exit_when,
                     false);
    edit_retarget(x->latch->insts.last, header->id, x->head->id);
    edit_append(s->m, x->fetch, SpvOpBranch, &header->id, 1);
}

static void close_main(Pipeliner *s, Main *x)
{
    SpvId from = x->latch->id;
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        add_edge(s, loop_mapped(&s->l, i->id), loop_mapped(&s->l, loop_incoming(i, s->l.latch->id)),
                 from);
    for (uint32_t k = 0; k < s->always.insts.len; k++)
        if (x->counters[k])
            add_edge(s, x->counters[k], x->next[k], from);
    PassFold fold = fold_open(s->m, s->c->scratch);
    SpvId yes = fold_bool(&fold, spv_bool_type(s->m), true);
    add_edge(s, x->full, s->behind ? yes : x->comes, from);
    for (uint32_t n = 0; n < s->registers.len; n++) {
        const Register *r = &s->registers.data[n];
        for (uint32_t k = 0; k < s->queues; k++)
            add_edge(s, r->next[k], k + 1 < s->queues ? r->next[k + 1] : r->fresh, from);
    }
}

static void make_main(Pipeliner *s, const Prologue *p, Main *x)
{
    x->head = block_after(s, p->last);
    x->fetch = block_after(s, x->head);
    edit_append(s->m, p->last, SpvOpBranch, &x->head->id, 1);
    open_main(s, p, x);
    set_counters(s, x->counters);
    x->comes = make_condition(s, x->head);
    x->next = make_next(s, x->head);
    SpvId go = s->behind ? both(s, x->head, x->full, x->comes) : x->full;
    for (uint32_t n = 0; n < s->registers.len; n++)
        s->registers.data[n].fresh = make_value(s, x->fetch, s->registers.data[n].load->id);
    copy_body(s, x);
    x->out = block_after(s, s->l.header->prev);
    SpvId next = loop_mapped(&s->l, spv_operand(s->l.loop->merge_inst, 1));
    edit_append(s->m, x->head, SpvOpLoopMerge, (uint32_t[]){ x->out->id, next, plain_controls(s) },
                3);
    edit_append(s->m, x->head, SpvOpBranchConditional, (uint32_t[]){ go, x->fetch->id, x->out->id },
                3);
    edit_append(s->m, x->out, SpvOpBranch, &s->l.header->id, 1);
    close_main(s, x);
}

/* The old loop continues where the main loop ends. */
static void make_epilogue(Pipeliner *s, const Main *x)
{
    SpvBlock *header = s->l.header;
    SpvId latch = s->l.latch->id, phis[WAIT_QUEUES_MOST];
    SpvInst *merge = s->l.loop->merge_inst;
    for (SpvInst *i = header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        edit_become(
            s->m, i, SpvOpPhi,
            (uint32_t[]){ loop_mapped(&s->l, i->id), x->out->id, loop_incoming(i, latch), latch },
            4);
    for (uint32_t n = 0; n < s->registers.len; n++) {
        Register *r = &s->registers.data[n];
        SpvId copy = loop_mapped(&s->l, r->load->id);
        for (uint32_t k = s->queues; k-- > 0;) {
            phis[k] = spv_new_id(s->m);
            spv_insert_after(header->insts.first,
                             spv_make(s->m, SpvOpPhi, r->load->type, phis[k],
                                      (uint32_t[]){ r->next[k], x->out->id,
                                                    phis[MIN(k + 1, s->queues - 1)], latch },
                                      4));
        }
        vec_push(s->c->scratch, &s->renames, (Rename){ r->load, r->load->id, phis[0] });
        vec_push(s->c->scratch, &s->renames, (Rename){ spv_def(s->m, copy), copy, r->next[0] });
    }
    edit_become(s->m, merge, SpvOpLoopMerge,
                (uint32_t[]){ spv_operand(merge, 0), spv_operand(merge, 1), plain_controls(s) }, 3);
}

/* Decorations of a value apply to its copies too, except for its precision. */
static void decorate_copies(Pipeliner *s)
{
    for (SpvInst *i = s->m->globals.first; i; i = i->next) {
        uint32_t place;
        SpvInst *d = i->op == SpvOpDecorate || i->op == SpvOpDecorateId
                         ? spv_def(s->m, spv_operand(i, 0))
                         : NULL;
        if (!d || !d->block || spv_operand(i, 1) == SpvDecorationRelaxedPrecision ||
            (!has(&s->always, d, &place) && !has(&s->guarded, d, &place)))
            continue;
        for (uint32_t k = 0; k < s->copied.len; k++) {
            if (s->copied.data[k].from != d->id)
                continue;
            SpvInst *copy = spv_clone_inst(s->m, i);
            copy->words[copy->first_operand] = s->copied.data[k].to;
            spv_insert_before(i, copy);
        }
    }
}

static void pipeline(Pipeliner *s)
{
    Main x = { 0 };
    Prologue p = make_prologue(s);
    make_main(s, &p, &x);
    make_epilogue(s, &x);
    decorate_copies(s);
    loop_done(&s->l);
    s->budget -= s->l.size;
}

/* ---- the function ---------------------------------------------------------------------------- */

static void drop_hint(SpvModule *m, SpvInst *merge)
{
    uint32_t n = spv_n_operands(merge);
    uint32_t *operands = merge->words + merge->first_operand;
    operands[2] &= ~(uint32_t)SpvLoopControlMultipleWaitQueuesQCOMMask;
    edit_become(m, merge, SpvOpLoopMerge, operands, n - 1);
}

static bool try_loop(Pipeliner *s, const CfgLoop *loop)
{
    SpvInst *merge = loop->merge_inst;
    PassAheadReport *report = s->c->options->ahead;
    PassAheadLoop r = { .queues = wait_queues_hint(loop) };
    s->queues = report->most ? MIN(r.queues, report->most) : r.queues;
    r.why = examine(s, loop, &r);
    ahead_report(report, s->m, merge, r);
    if (r.ahead)
        pipeline(s);
    else
        drop_hint(s->m, merge);
    return r.ahead;
}

static void finish_round(Pipeliner *s)
{
    uint32_t n = s->m->bound;
    SpvId *with = NEW_ARRAY(s->c->scratch, SpvId, n);
    for (uint32_t k = 0; k < s->renames.len; k++)
        with[s->renames.data[k].id] = s->renames.data[k].by;
    edit_replace(s->g->function, with, n);
    for (uint32_t k = 0; k < s->renames.len; k++)
        edit_remove(s->m, s->renames.data[k].old);
}

/* The innermost loops with the hint; *any: there were some. */
static bool run_round(PassContext *c, uint64_t *budget, bool *any)
{
    SpvFunction *f = c->entry.function;
    Pipeliner *s = NEW(c->scratch, Pipeliner);
    bool changed = false;
    edit_prune(c->module, f, c->scratch);
    s->c = c;
    s->m = c->module;
    s->budget = *budget;
    s->g = cfg_build(c->scratch, f, c->sink);
    if (!s->g)
        return false;
    s->found = wait_queues_find(c->scratch, s->m, s->g);
    s->marks = loop_marks(c, s->g);
    uint8_t *touched = NEW_ARRAY(c->scratch, uint8_t, s->g->n_loops + 1);
    *any = false;
    for (uint32_t k = s->g->n_loops; k-- > 0;) {
        const CfgLoop *loop = s->g->loops[k];
        if (!touched[k] && wait_queues_hint(loop)) {
            *any = true;
            touched[k] = try_loop(s, loop);
        }
        changed |= touched[k];
        if (loop->parent)
            touched[loop->parent->index] |= touched[k];
    }
    *budget = s->budget;
    if (!changed)
        return true;
    finish_round(s);
    edit_prune(s->m, f, c->scratch);
    Cfg *g = cfg_build(c->scratch, f, c->sink);
    if (!g)
        return false;
    edit_order_blocks(g);
    return pass_simplify(c);
}

static bool is_hinted(const SpvBlock *b)
{
    const SpvInst *i = cfg_merge_inst(b);
    return i && i->op == SpvOpLoopMerge &&
           spv_operand(i, 2) & SpvLoopControlMultipleWaitQueuesQCOMMask;
}

bool pass_has_wait_queues(const SpvModule *m)
{
    for (const SpvFunction *f = m->functions; f; f = f->next)
        for (const SpvBlock *b = f->first; b; b = b->next)
            if (is_hinted(b))
                return true;
    return false;
}

void pass_drop_wait_queues(SpvModule *m)
{
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            if (is_hinted(b))
                drop_hint(m, cfg_merge_inst(b));
    for (SpvInst *i = m->globals.first, *next; i; i = next) {
        next = i->next;
        if ((i->op == SpvOpCapability &&
             spv_operand(i, 0) == SpvCapabilityMultipleWaitQueuesQCOM) ||
            (i->op == SpvOpExtension &&
             !strcmp(spv_string(i, 0, NULL), "SPV_QCOM_multiple_wait_queues")))
            edit_remove(m, i);
    }
}

bool pass_load_ahead(PassContext *c)
{
    uint64_t budget = BUDGET;
    bool any = c->options->ahead != NULL;
    while (any)
        if (!run_round(c, &budget, &any))
            return false;
    if (c->options->ahead)
        pass_drop_wait_queues(c->module);
    return true;
}
