/* SPDX-License-Identifier: MIT
 *
 * strip_mine: several steps of a loop in one block: of one that chains matrix multiply-adds, or in
 * which each invocation walks along a row of its own (row_loops.c). In: a function after simplify.
 * Out: such a loop has a loop in front of it that does the work of some iterations in each of its
 * own, as one straight line, so that the code generator sees chains of multiply-adds it can keep in
 * registers, or neighbours that it can load together; the old loop does what is left over. Nothing
 * is reordered here.
 *
 * The loop must be one straight line behind a header that alone leaves it, without stores, atomics,
 * barriers or volatile accesses. Multiply-adds need a uniform one. Invocations that walk along rows
 * may leave it one by one: all that are in it vote for a strip. The new header evaluates the old
 * one's condition for each step in advance, with the values that the counters will have then, and
 * continues only if all hold. So any counting and any comparison work, wrapping included, and no
 * step is started that the old loop would not have started. The code that is evaluated in advance
 * must have no effects: it consists of pure instructions that cannot fail, and of loads that do not
 * depend on the counters.
 *
 * The line may make detours on conditions that can be evaluated in advance as well (`if (k < n)`).
 * A strip makes all of them; from where one is not made, the old loop goes on.
 */
#include "pass/edit.h"

#define NONE UINT32_MAX
enum {
    MAX_SLICE = 64,  /* instructions that the condition may take */
    MAX_SIZE = 8192, /* of the new block */
    MAX_FUSED = 16,
    /* length of a chain, in bytes of k, that amortises loading and storing the accumulators: 64 of
     * f32, 256 of 8-bit types */
    GOOD_BYTES = 256,
    /* of what is left over: one step of the engine with the longest ones (AMX) */
    LEAST_BYTES = 64,
};

/* What must hold for a step: the header's condition, or a detour's. */
typedef struct Test {
    SpvId condition;
    bool on_true;
} Test;

/* A block of the line, and which one control comes from. */
typedef struct Place {
    SpvBlock *block;
    SpvId from;
} Place;

typedef struct Miner {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    const Uniformity *u;
    PassLoopMarks marks;
    PassIdWords ids;
    PassLoopCopy l;
    uint32_t good, steps;        /* bytes of k; iterations at once */
    bool divergent;              /* invocations leave one by one */
    SpvBlock *head, *body, *out; /* of the new loop; `out` leads to the old one */
    VEC(Place) line;             /* the loop's blocks, from the header on */
    VEC(Test) tests;
    SpvId *cloned; /* by step and place in slice */
    /* what the condition is made of, in the loop, header phis included */
    VEC(SpvInst *) slice;
    SpvId *new_phi; /* by place in slice */
} Miner;

static bool in_loop(const Miner *s, SpvId id)
{
    SpvInst *d = spv_def(s->m, id);
    return d && d->block && d->op != SpvOpLabel && loop_holds(&s->l, d->block);
}

static bool is_header_phi(const Miner *s, const SpvInst *i)
{
    return i->op == SpvOpPhi && i->block == s->l.header;
}

/* ---- may it be done? ------------------------------------------------------------------------- */

static bool has_volatile_operand(const SpvInst *i, uint32_t operand)
{
    return spv_n_operands(i) > operand && spv_operand(i, operand) & SpvMemoryAccessVolatileMask;
}

static bool is_harmless(SpvModule *m, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (i->op == SpvOpLoad)
        return !has_volatile_operand(i, 1);
    if (i->op == SpvOpCooperativeMatrixLoadKHR)
        return !has_volatile_operand(i, 3);
    if (i->op == SpvOpCooperativeMatrixLoadTensorNV)
        return !has_volatile_operand(i, 3) && calls_only_read(m, i);
    return info && !(info->flags & (SPV_OPF_MEMORY | SPV_OPF_ATOMIC | SPV_OPF_BARRIER)) &&
           (spv_is_pure(i) || i->op == SpvOpPhi || i->op == SpvOpLabel || i->op == SpvOpLoopMerge ||
            i->op == SpvOpBranch || i->op == SpvOpBranchConditional ||
            i->op == SpvOpSelectionMerge || i->op == SpvOpCooperativeMatrixMulAddKHR);
}

static void put_in_line(Miner *s, uint32_t p, SpvId from)
{
    vec_push(s->c->scratch, &s->line, (Place){ s->g->blocks[p].block, from });
}

/* Puts the detour that block p may make in line. Where it leads to; NONE: it is none. */
static uint32_t make_detour(Miner *s, uint32_t p)
{
    PassDetour d;
    uint32_t join = loop_detour(&s->l, p, &d), q = d.first;
    const SpvInst *term = s->g->blocks[p].block->insts.last;
    if (join == NONE)
        return NONE;
    for (uint32_t k = 0; k < d.n; k++, q = s->g->blocks[q].succs[0])
        put_in_line(s, q, vec_last(&s->line).block->id);
    vec_push(s->c->scratch, &s->tests, (Test){ spv_operand(term, 0), d.on_true });
    return join;
}

/* The header branches into the line, each block of it to the next, or to a detour and the next, the
 * last to the header. */
static bool is_straight(Miner *s)
{
    const CfgBlock *h = &s->g->blocks[s->l.loop->header];
    SpvInst *term = h->block->insts.last;
    uint32_t inside = NONE;
    s->line.len = s->tests.len = 0;
    if (term->op != SpvOpBranchConditional || h->n_succs != 2 ||
        s->l.blocks.len != s->l.loop->n_blocks)
        return false;
    for (uint32_t k = 0; k < 2; k++)
        if (cfg_in_loop(s->l.loop, s->g, h->succs[k]))
            inside = inside == NONE ? h->succs[k] : s->l.loop->header;
    if (inside == NONE || inside == s->l.loop->header)
        return false;
    bool on_true = spv_operand(term, 1) == s->g->blocks[inside].block->id;
    vec_push(s->c->scratch, &s->tests, (Test){ spv_operand(term, 0), on_true });
    put_in_line(s, s->l.loop->header, 0);
    uint32_t joins = NONE;
    for (uint32_t p = inside, next; p != s->l.loop->header; p = next) {
        const CfgBlock *b = &s->g->blocks[p];
        if ((b->n_preds != 1 && p != joins) || s->line.len > s->l.loop->n_blocks)
            return false;
        put_in_line(s, p, vec_last(&s->line).block->id);
        next = b->n_succs == 1 && b->block->insts.last->op == SpvOpBranch ? b->succs[0]
                                                                          : make_detour(s, p);
        if (next == NONE)
            return false;
        joins = b->n_succs == 1 ? NONE : next;
        s->divergent |= b->n_succs != 1 && s->u->divergent_branch[p];
    }
    return s->line.len == s->l.loop->n_blocks;
}

/* Length in bytes of k of the chain of multiply-adds from a header phi to what the latch passes on,
 * if that accumulator is used for nothing else on the way. */
static uint32_t chain_bytes(Miner *s, const SpvInst *phi, const uint32_t *uses)
{
    uint32_t k = 0;
    SpvInst *i = spv_def(s->m, loop_incoming(phi, s->l.latch->id));
    for (uint32_t n = 0; i && i->op == SpvOpCooperativeMatrixMulAddKHR && n < MAX_SIZE; n++) {
        const SpvType *a = spv_type_of(s->m, spv_operand(i, 0));
        SpvInst *c = spv_def(s->m, spv_operand(i, 2));
        if (!a || a->kind != SPV_COOPMAT || !a->element || !c || !in_loop(s, i->id) ||
            uses[c->id] != 1)
            return 0;
        k += a->cols * a->element->bits / 8;
        if (c == phi)
            return k;
        i = c;
    }
    return 0;
}

/* How many iterations of multiply-adds to do at once. */
static uint32_t chain_steps(const Miner *s, uint32_t longest)
{
    uint32_t asked = s->c->options->fuse_steps, steps = asked ? asked : s->good / longest;
    return MIN(MIN(steps, MAX_FUSED), MAX(1, MAX_SIZE / MAX(s->l.size, 1)));
}

/* Steps worth doing at once; 1: the loop is not one of ours. */
static uint32_t choose_steps(Miner *s)
{
    uint32_t *uses = NEW_ARRAY(s->c->scratch, uint32_t, s->m->bound), longest = 0;
    for (uint32_t n = 0; n < s->l.blocks.len; n++) {
        for (SpvInst *i = s->l.blocks.data[n]->insts.first; i; i = i->next) {
            if (!is_harmless(s->c->module, i))
                return 1;
            edit_ids(i, &s->ids);
            for (uint32_t k = 0; k < s->ids.n; k++)
                uses[i->words[s->ids.at[k]]]++;
        }
    }
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        longest = MAX(longest, chain_bytes(s, i, uses));
    if (longest)
        return s->divergent ? 1 : chain_steps(s, longest);
    return s->c->options->whole ? loop_row_steps(&s->l, s->u, s->good != GOOD_BYTES) : 1;
}

/* ---- the condition, ahead of time ------------------------------------------------------------ */

static uint32_t slice_place(const Miner *s, const SpvInst *i)
{
    for (uint32_t k = 0; k < s->slice.len; k++)
        if (s->slice.data[k] == i)
            return k;
    return NONE;
}

/* Whether what a load's address is made of are no counters. */
static bool is_steady(Miner *s, const SpvInst *load)
{
    VEC(SpvId) work = { 0 };
    vec_push(s->c->scratch, &work, load->id);
    for (uint32_t n = 0; n < work.len; n++) {
        SpvInst *i = spv_def(s->m, work.data[n]);
        if (i->op == SpvOpPhi || work.len > MAX_SLICE * 4)
            return false;
        edit_ids(i, &s->ids);
        for (uint32_t o = 0; o < s->ids.n; o++)
            if (in_loop(s, i->words[s->ids.at[o]]))
                vec_push(s->c->scratch, &work, i->words[s->ids.at[o]]);
    }
    return true;
}

/* Gathers what a condition is made of. */
static bool add_to_slice(Miner *s, SpvId id, bool of_header)
{
    uint32_t first = s->slice.len;
    if (in_loop(s, id) && slice_place(s, spv_def(s->m, id)) == NONE)
        vec_push(s->c->scratch, &s->slice, spv_def(s->m, id));
    for (uint32_t k = first; k < s->slice.len; k++) {
        SpvInst *i = s->slice.data[k];
        bool phi = is_header_phi(s, i), load = i->op == SpvOpLoad;
        if ((!phi && !load && !edit_cannot_fail(s->m, i)) || (i->op == SpvOpPhi && !phi) ||
            s->slice.len > MAX_SLICE || (!phi && spv_n_operands(i) > MAX_SLICE))
            return false;
        /* a detour may be in a loop that does not run at all */
        bool there = of_header || i->block == s->l.header || loads_constant(s->m, i);
        if (load && (!there || !is_steady(s, i)))
            return false;
        edit_ids(i, &s->ids);
        for (uint32_t o = 0; o < s->ids.n; o++) {
            SpvId operand = i->words[s->ids.at[o]];
            if (phi && operand != loop_incoming(i, s->l.latch->id))
                continue;
            if (in_loop(s, operand) && slice_place(s, spv_def(s->m, operand)) == NONE)
                vec_push(s->c->scratch, &s->slice, spv_def(s->m, operand));
        }
    }
    return true;
}

/* What all tests are made of. */
static bool find_slice(Miner *s)
{
    s->slice.len = 0;
    for (uint32_t k = 0; k < s->tests.len; k++)
        if (!add_to_slice(s, s->tests.data[k].condition, k == 0))
            return false;
    return in_loop(s, s->tests.data[0].condition);
}

static SpvInst *put_copy(Miner *s, SpvBlock *b, SpvInst *i)
{
    if (i->id)
        s->m->defs[i->id] = i;
    spv_append(b, i);
    return i;
}

/* The value of slice[place] in step n, put into the new header. Recursion is bounded: by the slice
 * times the steps, each level of which is one or the other less. */
static SpvId ahead(Miner *s, uint32_t place, uint32_t step)
{
    SpvInst *i = s->slice.data[place];
    SpvId *known = &s->cloned[step * s->slice.len + place];
    if (*known)
        return *known;
    if (is_header_phi(s, i)) {
        SpvId next = loop_incoming(i, s->l.latch->id);
        if (step == 0)
            return *known = s->new_phi[place];
        uint32_t at = in_loop(s, next) ? slice_place(s, spv_def(s->m, next)) : NONE;
        return *known = at == NONE ? next : ahead(s, at, step - 1);
    }
    if (i->op == SpvOpLoad && step) /* of memory that does not change in the loop */
        return *known = ahead(s, place, 0);
    SpvInst *copy = spv_clone_inst(s->m, i);
    uint16_t at[MAX_SLICE];
    uint32_t n = MIN(spv_id_operands(copy, at, COUNT_OF(at)), COUNT_OF(at));
    for (uint32_t k = 0; k < n; k++)
        if (in_loop(s, copy->words[at[k]]))
            copy->words[at[k]] = ahead(s, slice_place(s, spv_def(s->m, copy->words[at[k]])), step);
    copy->id = copy->words[copy->first_operand - 1] = spv_new_id(s->m);
    put_copy(s, s->head, copy);
    return *known = copy->id;
}

/* ---- the new loop ---------------------------------------------------------------------------- */

/* Each header phi becomes two: the new one starts where the old one did, the old one where the new
 * ends. */
static void split_phis(Miner *s)
{
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next) {
        SpvId next = loop_incoming(i, s->l.latch->id);
        SpvInst *first = spv_clone_inst(s->m, i);
        first->id = first->words[first->first_operand - 1] = spv_new_id(s->m);
        put_copy(s, s->head, first);
        s->marks.map[i->id] = first->id;
        uint32_t place = slice_place(s, i);
        if (place != NONE)
            s->new_phi[place] = first->id;
        edit_become(s->m, i, SpvOpPhi, (uint32_t[]){ first->id, s->out->id, next, s->l.latch->id },
                    4);
    }
}

static void copy_place(Miner *s, const Place *at)
{
    for (SpvInst *i = at->block->insts.first->next; i != at->block->insts.last; i = i->next) {
        if (is_header_phi(s, i) || i->op == SpvOpLoopMerge || i->op == SpvOpSelectionMerge)
            continue;
        if (i->op == SpvOpPhi) {
            s->marks.map[i->id] = loop_mapped(&s->l, loop_incoming(i, at->from));
            continue;
        }
        SpvInst *copy = spv_clone_inst(s->m, i);
        edit_ids(copy, &s->ids);
        for (uint32_t k = 0; k < s->ids.n; k++)
            copy->words[s->ids.at[k]] = loop_mapped(&s->l, copy->words[s->ids.at[k]]);
        if (copy->id) {
            copy->id = copy->words[copy->first_operand - 1] = spv_new_id(s->m);
            s->marks.map[i->id] = copy->id;
        }
        put_copy(s, s->body, copy);
    }
}

/* After a step: the header phis are what the latch passes on. */
static void next_step(Miner *s)
{
    VEC(SpvId) next = { 0 };
    uint32_t k = 0;
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        vec_push(s->c->scratch, &next, loop_mapped(&s->l, loop_incoming(i, s->l.latch->id)));
    for (SpvInst *i = s->l.header->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        s->marks.map[i->id] = next.data[k++];
}

/* The new phis' operands for the back edge instead of the old latch's. */
static void close_loop(Miner *s)
{
    SpvInst *old = s->l.header->insts.first->next, *i = s->head->insts.first->next;
    for (; old && old->op == SpvOpPhi; old = old->next, i = i->next)
        for (uint32_t k = i->first_operand; k + 1 < i->n_words; k += 2)
            if (i->words[k + 1] == s->l.latch->id) {
                i->words[k] = loop_mapped(&s->l, old->id);
                i->words[k + 1] = s->body->id;
            }
}

/* Of the loop controls, a request for wait queues is the new loop's too. */
static void append_merge(Miner *s)
{
    const SpvInst *old = s->l.loop->merge_inst;
    uint32_t hint = spv_operand(old, 2) & SpvLoopControlMultipleWaitQueuesQCOMMask;
    uint32_t count = old->words[old->n_words - 1]; /* the literal of the highest bit is the last */
    edit_append(s->m, s->head, SpvOpLoopMerge, (uint32_t[]){ s->out->id, s->body->id, hint, count },
                hint ? 4 : 3);
}

/* Whether a test holds for a step, in the new header. */
static SpvId holds_ahead(Miner *s, const Test *t, uint32_t step)
{
    SpvId holds = in_loop(s, t->condition)
                      ? ahead(s, slice_place(s, spv_def(s->m, t->condition)), step)
                      : t->condition;
    if (t->on_true)
        return holds;
    SpvInst *inverse =
        spv_make(s->m, SpvOpLogicalNot, spv_bool_type(s->m), spv_new_id(s->m), &holds, 1);
    return put_copy(s, s->head, inverse)->id;
}

static SpvId both(Miner *s, SpvId x, SpvId y)
{
    uint32_t of[2] = { x, y };
    SpvInst *two = spv_make(s->m, SpvOpLogicalAnd, spv_bool_type(s->m), spv_new_id(s->m), of, 2);
    return x ? put_copy(s, s->head, two)->id : y;
}

static void mine(Miner *s)
{
    SpvBlock *header = s->l.header;
    SpvId all = 0;
    Arena *a = s->c->scratch;
    s->out = spv_new_block(s->g->function, header->prev);
    s->head = spv_new_block(s->g->function, header->prev);
    s->body = spv_new_block(s->g->function, header->prev);
    s->out->index = s->head->index = s->body->index = s->g->made_later;
    s->new_phi = NEW_ARRAY(a, SpvId, s->slice.len);
    s->cloned = NEW_ARRAY(a, SpvId, s->slice.len * s->steps);
    loop_redirect_entries(&s->l, s->head);
    split_phis(s);
    for (uint32_t n = 0; n < s->steps; n++)
        for (uint32_t k = 0; k < s->tests.len; k++)
            all = both(s, all, holds_ahead(s, &s->tests.data[k], n));
    if (s->divergent)
        all = edit_all(s->m, s->head, NULL, all); /* that are in the loop */
    if (s->l.loop->merge_inst)
        append_merge(s);
    edit_append(s->m, s->head, SpvOpBranchConditional, (uint32_t[]){ all, s->body->id, s->out->id },
                3);
    for (uint32_t n = 0; n < s->steps; n++) {
        for (uint32_t k = 0; k < s->line.len; k++)
            copy_place(s, &s->line.data[k]);
        next_step(s);
    }
    edit_append(s->m, s->body, SpvOpBranch, &s->head->id, 1);
    edit_append(s->m, s->out, SpvOpBranch, &header->id, 1);
    close_loop(s);
    loop_done(&s->l);
}

static bool try_loop(Miner *s, const CfgLoop *loop)
{
    s->divergent = s->u->divergent_branch[loop->header];
    if (!loop_open(&s->l, s->c, s->g, &s->marks, loop, 64) || !is_straight(s))
        return false;
    s->steps = choose_steps(s);
    if (s->steps < 2 || !find_slice(s))
        return false;
    mine(s);
    return true;
}

static bool mine_loops(PassContext *c, uint32_t good, bool *any)
{
    SpvFunction *f = c->entry.function;
    edit_prune(c->module, f, c->scratch);
    Miner *s = NEW(c->scratch, Miner);
    *any = false;
    s->c = c;
    s->m = c->module;
    s->good = good;
    s->g = cfg_build(c->scratch, f, c->sink);
    if (!s->g)
        return false;
    s->u = uniformity_build(c->scratch, c->module, s->g);
    s->marks = loop_marks(c, s->g);
    for (uint32_t k = 0; k < s->g->n_loops; k++)
        *any |= try_loop(s, s->g->loops[k]);
    if (!*any)
        return true;
    Cfg *g = cfg_build(c->scratch, f, c->sink);
    if (!g)
        return false;
    edit_order_blocks(g);
    return pass_simplify(c);
}

/* Long strips first; then what they leave over of elements smaller than a word, or of rows, is
 * mined again, in shorter ones. */
bool pass_strip_mine(PassContext *c)
{
    bool any;
    if (c->options->fuse_steps == 1)
        return true;
    if (!mine_loops(c, GOOD_BYTES, &any))
        return false;
    return !any || c->options->fuse_steps || mine_loops(c, LEAST_BYTES, &any);
}
