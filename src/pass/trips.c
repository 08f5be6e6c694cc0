/* SPDX-License-Identifier: MIT
 *
 * trips: counters that begin at an invocation's number in its workgroup, or go on from such a
 * counter. In: a function after simplify, with loops like `for (i = tid; i < bound; i += step)`.
 * Out: such a counter is start + n * step, where n counts the iterations from 0, the same for all
 * invocations. Addresses then show what of them is common, and what it is a multiple of. Where the
 * bound is a constant and all invocations run the loop equally often, the loop's condition is on n
 * too, so that it does not diverge, and unroll knows how often it runs. Where they do not, but all
 * of them seldom, as where a workgroup copies a tile that is a little larger than itself, so it is,
 * and the counter's own condition guards the body.
 *
 * Steps that are the same in all iterations, but computed in each, are computed before the loop.
 *
 * start + n * step is what the counter was modulo 2^bits, so it may wrap. The condition is replaced
 * only where the largest start and all steps stay below 2^31.
 */
#include "pass/edit.h"

enum { MAX_DEPTH = 16, MAX_BLOCKS = 4096, MOST_GUARDED = 4 /* iterations */ };
static const uint64_t most = INT32_MAX;

/* A loop of few iterations whose body is to be guarded. */
typedef struct Guard {
    const CfgLoop *loop;
    SpvInst *n; /* the iteration's number */
    uint64_t longest;
    bool stays; /* when the condition is this */
} Guard;

typedef struct Trips {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassFold fold;
    PassRange range;
    VEC(Guard) guards;
    uint32_t n_ids;
    bool *is_sum; /* by id, of those that were there: a counter that is start + n * step now */
} Trips;

/* ---- the loop's condition -------------------------------------------------------------------- */

typedef struct Counter {
    SpvInst *phi, *step; /* step: phi + by */
    SpvId start;
    uint64_t by, largest; /* of its starts */
    SpvInst *n, *next;    /* the iteration's number, and the one behind it */
} Counter;

/* How often the loop runs if it begins at 0; alike: and at any start. 0: it may wrap. */
static uint64_t trips(const Counter *k, uint64_t bound, bool *alike)
{
    if (k->largest > most || bound > most)
        return 0;
    uint64_t longest = (bound + k->by - 1) / k->by;
    *alike = bound > k->largest && longest == (bound - k->largest + k->by - 1) / k->by;
    return k->largest + (longest + 1) * k->by <= most ? longest : 0;
}

/* Makes a branch one on whether so many iterations are not yet done; stays: if that is this. */
static void test_count(Trips *s, SpvInst *term, const SpvInst *done, uint64_t all, bool stays)
{
    uint32_t operands[2] = { done->id, fold_int(&s->fold, done->type, all) };
    SpvInst *merge = cfg_merge_inst(term->block);
    uint16_t op = stays ? SpvOpULessThan : SpvOpUGreaterThanEqual;
    SpvId type = spv_type_of(s->m, spv_operand(term, 0))->id;
    term->words[term->first_operand] =
        spv_put(s->m, merge ? merge : term, op, type, operands, 2)->id;
}

/* Whether a value of the loop is used behind it. */
static bool is_used_behind(Trips *s, const PassLoopCopy *l)
{
    PassIdWords *ids = NEW(s->c->scratch, PassIdWords);
    for (SpvBlock *b = s->c->entry.function->first; b; b = b->next)
        for (const SpvInst *i = loop_holds(l, b) ? NULL : b->insts.first; i; i = i->next) {
            edit_ids(i, ids);
            for (uint32_t k = 0; k < ids->n; k++) {
                const SpvInst *d = spv_def(s->m, i->words[ids->at[k]]);
                if (d && d->op != SpvOpLabel && d->block && loop_holds(l, d->block))
                    return true;
            }
        }
    return false;
}

/* Whether a block may run for invocations that the body does not run for. */
static bool needs_no_guard(Trips *s, const PassLoopCopy *l, const SpvBlock *b)
{
    for (const SpvInst *i = b->insts.first->next; i != b->insts.last; i = i->next) {
        uint16_t at[8];
        uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
        bool merge = i->op == SpvOpLoopMerge;
        if (!merge && i->op != SpvOpPhi && !edit_cannot_fail(s->m, i))
            return false;
        for (uint32_t k = 0; k < MIN(n, COUNT_OF(at)) && !merge && b != l->header; k++) {
            const SpvInst *d = spv_def(s->m, i->words[at[k]]);
            if (n > COUNT_OF(at) || !d ||
                (d->block && d->block != b && d->block != l->header && loop_holds(l, d->block)))
                return false;
        }
    }
    return true;
}

/* Whether nothing but the counter goes from iteration to iteration, nor out of the loop, and the
 * body is a construct of its own between the header and a block that leads back. */
static bool may_guard(Trips *s, const PassLoopCopy *l)
{
    const SpvInst *merge = l->loop->merge_inst, *term = l->header->insts.last;
    if (!merge || merge->block != l->header || spv_operand(merge, 1) != l->latch->id)
        return false;
    const SpvInst *phi = l->header->insts.first->next;
    uint32_t body = loop_stays(l, spv_operand(term, 1)) ? 1 : 2;
    const SpvBlock *b = edit_block(s->m, spv_operand(term, body));
    const CfgBlock *first = &s->g->blocks[s->g->position[b->index]];
    const CfgBlock *latch = &s->g->blocks[s->g->position[l->latch->index]];
    return spv_operand(term, 3 - body) == spv_operand(merge, 0) && b != l->latch &&
           first->n_preds == 1 && latch->n_preds == 1 && latch->n_succs == 1 && phi &&
           phi->op == SpvOpPhi && phi->next->op != SpvOpPhi &&
           l->latch->insts.first->next->op != SpvOpPhi && needs_no_guard(s, l, l->header) &&
           needs_no_guard(s, l, l->latch) && !is_used_behind(s, l);
}

/* The body becomes a selection between what was its first block, and is now the test, and what was
 * the latch, and is now where both ways meet. */
static void guard(Trips *s, const Guard *what)
{
    SpvBlock *header = s->g->blocks[what->loop->header].block;
    SpvBlock *join = s->g->blocks[what->loop->latch].block;
    SpvInst *term = header->insts.last, *merge = what->loop->merge_inst;
    SpvId condition = spv_operand(term, 0);
    SpvBlock *test = edit_block(s->m, spv_operand(term, what->stays ? 1 : 2));
    SpvBlock *body = edit_split(s->m, edit_after_phis(test));
    SpvBlock *latch = edit_split(s->m, edit_after_phis(join));
    body->index = latch->index = s->g->made_later;
    edit_append(s->m, test, SpvOpSelectionMerge, (uint32_t[]){ join->id, 0 }, 2);
    edit_append(s->m, test, SpvOpBranchConditional,
                (uint32_t[]){ condition, what->stays ? body->id : join->id,
                              what->stays ? join->id : body->id },
                3);
    edit_append(s->m, join, SpvOpBranch, &latch->id, 1);
    merge->words[merge->first_operand + 1] = latch->id;
    test_count(s, term, what->n, what->longest, what->stays);
}

/* Makes the branch at the end of block p, which each iteration runs, one on the iteration's
 * number. */
static void count_at(Trips *s, const PassLoopCopy *l, const Counter *k, uint32_t p)
{
    SpvInst *term = s->g->blocks[p].block->insts.last;
    PassTest test;
    if (s->g->blocks[p].loop != l->loop || term->op != SpvOpBranchConditional)
        return;
    bool stays = loop_stays(l, spv_operand(term, 1));
    if (stays == loop_stays(l, spv_operand(term, 2)) ||
        !range_test(s->m, spv_operand(term, 0), stays, &test) ||
        (test.of != k->phi->id && test.of != k->step->id))
        return;
    bool alike;
    uint64_t n = trips(k, test.bound, &alike);
    if (n && n <= MOST_GUARDED && !alike && p == l->loop->header && test.of == k->phi->id &&
        may_guard(s, l))
        vec_push(s->c->scratch, &s->guards, (Guard){ l->loop, k->n, n, stays });
    if (!n || !alike)
        return;
    test_count(s, term, test.of == k->phi->id ? k->n : k->next, n, stays);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool is_input(Trips *s, const SpvInst *load)
{
    const SpvType *t = load->op == SpvOpLoad ? spv_type_of(s->m, spv_operand(load, 0)) : NULL;
    return t && t->kind == SPV_POINTER && t->storage == SpvStorageClassInput;
}

/* Moves what a value is computed from out of the loop, before `at`; false: it is not the same in
 * all iterations, or might fail. */
static bool hoist(Trips *s, const PassLoopCopy *l, SpvId id, SpvInst *at, uint32_t depth)
{
    SpvInst *i = spv_def(s->m, id);
    uint16_t word[8];
    if (!i || !i->block || !loop_holds(l, i->block))
        return i != NULL;
    uint32_t n = spv_id_operands(i, word, COUNT_OF(word));
    if (i->op == SpvOpPhi || n > COUNT_OF(word) || depth > MAX_DEPTH ||
        (!is_input(s, i) && !edit_cannot_fail(s->m, i)))
        return false;
    for (uint32_t k = 0; k < n; k++)
        if (!hoist(s, l, i->words[word[k]], at, depth + 1))
            return false;
    spv_unlink(i);
    spv_insert_before(at, i);
    return true;
}

static bool widens(Trips *s, SpvId id, SpvId from)
{
    const SpvInst *i = spv_def(s->m, id);
    return i && (i->op == SpvOpSConvert || i->op == SpvOpUConvert) && spv_operand(i, 0) == from;
}

/* `i += x` with a wider x is the lower bits of a wide sum, of which it is enough to add the lower
 * bits. */
static void narrow_step(Trips *s, const SpvInst *phi, SpvInst *step)
{
    const SpvInst *sum = step && (step->op == SpvOpUConvert || step->op == SpvOpSConvert)
                             ? spv_def(s->m, spv_operand(step, 0))
                             : NULL;
    const SpvType *narrow = spv_type(s->m, phi->type),
                  *wide = sum ? spv_type(s->m, sum->type) : NULL;
    if (!wide || sum->op != SpvOpIAdd || narrow->kind != SPV_INT || wide->bits <= narrow->bits)
        return;
    bool second = widens(s, spv_operand(sum, 1), phi->id);
    if (!second && !widens(s, spv_operand(sum, 0), phi->id))
        return;
    SpvId by = spv_operand(sum, !second);
    uint32_t operands[2] = { phi->id, spv_put(s->m, step, SpvOpUConvert, phi->type, &by, 1)->id };
    edit_become(s->m, step, SpvOpIAdd, operands, 2);
}

/* What a counter is advanced by, as compilers may leave get_global_size() within the loop. */
static void hoist_step(Trips *s, const PassLoopCopy *l, const SpvInst *phi)
{
    SpvInst *step = spv_def(s->m, loop_incoming(phi, l->latch->id));
    SpvBlock *before = s->g->blocks[s->g->blocks[l->loop->header].idom].block;
    SpvInst *merge = cfg_merge_inst(before);
    narrow_step(s, phi, step);
    if (!step || (step->op != SpvOpIAdd && step->op != SpvOpISub) ||
        s->g->blocks[s->g->blocks[l->loop->header].idom].loop != l->loop->parent)
        return; /* or what precedes is in a loop */
    for (uint32_t k = 0; k < 2; k++)
        if (spv_operand(step, k) != phi->id)
            hoist(s, l, spv_operand(step, k), merge ? merge : before->insts.last, 0);
}

/* ---- counters -------------------------------------------------------------------------------- */

/* Whether a value is a counter's, or comes to that by adding constants. */
static bool goes_on(Trips *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    uint64_t by;
    if (!i || id >= s->n_ids || ++depth > MAX_DEPTH / 2)
        return false;
    if (s->is_sum[id])
        return true;
    if (i->op == SpvOpIAdd)
        return spv_constant(s->m, spv_operand(i, 1), &by) && goes_on(s, spv_operand(i, 0), depth);
    for (uint32_t k = 0; i->op == SpvOpPhi && k < spv_n_operands(i); k += 2)
        if (!goes_on(s, spv_operand(i, k), depth))
            return false;
    return i->op == SpvOpPhi;
}

static bool read_counter(Trips *s, const PassLoopCopy *l, SpvInst *phi, Counter *k)
{
    const SpvType *t = spv_type(s->m, phi->type);
    if (!t || t->kind != SPV_INT || t->bits < 32 || spv_n_operands(phi) != 4)
        return false;
    bool second = spv_operand(phi, 3) == l->latch->id;
    *k = (Counter){ .phi = phi,
                    .start = spv_operand(phi, second ? 0 : 2),
                    .step = spv_def(s->m, spv_operand(phi, second ? 2 : 0)) };
    if ((!second && spv_operand(phi, 1) != l->latch->id) || !k->step || k->step->op != SpvOpIAdd)
        return false;
    bool first = spv_operand(k->step, 0) == phi->id;
    SpvId by = spv_operand(k->step, first);
    const SpvInst *start = spv_def(s->m, k->start);
    if ((!first && spv_operand(k->step, 1) != phi->id) || !spv_constant(s->m, by, &k->by) ||
        !k->by || k->by > most || !start || !start->block)
        return false;
    k->largest = range_largest(&s->range, k->start);
    return k->largest != RANGE_UNKNOWN || goes_on(s, k->start, 0);
}

/* Makes the phi the sum. The counter of iterations takes its place. */
static void rewrite(Trips *s, const PassLoopCopy *l, Counter *k)
{
    SpvInst *after = edit_after_phis(l->header), *old = k->phi;
    SpvId type = old->type, one = fold_int(&s->fold, type, 1);
    SpvId by = fold_int(&s->fold, type, k->by);
    k->n = spv_clone_inst(s->m, old);
    k->n->words[2] = k->n->id = spv_new_id(s->m);
    s->m->defs[k->n->id] = k->n;
    spv_insert_before(old, k->n);
    k->next = spv_put(s->m, after, SpvOpIAdd, type, (uint32_t[]){ k->n->id, one }, 2);
    bool second = spv_operand(old, 3) == l->latch->id;
    k->n->words[k->n->first_operand + (second ? 0 : 2)] = fold_int(&s->fold, type, 0);
    k->n->words[k->n->first_operand + (second ? 2 : 0)] = k->next->id;
    SpvInst *whole = spv_put(s->m, after, SpvOpIMul, type, (uint32_t[]){ k->n->id, by }, 2);
    spv_unlink(old);
    spv_insert_before(after, old);
    edit_become(s->m, old, SpvOpIAdd, (uint32_t[]){ k->start, whole->id }, 2);
    if (old->id < s->n_ids)
        s->is_sum[old->id] = true;
}

static void rewrite_loop(Trips *s, PassLoopMarks *marks, const CfgLoop *loop)
{
    PassLoopCopy l;
    if (!loop_open(&l, s->c, s->g, marks, loop, MAX_BLOCKS))
        return;
    for (SpvInst *i = l.header->insts.first->next, *next; i && i->op == SpvOpPhi; i = next) {
        Counter k;
        next = i->next;
        hoist_step(s, &l, i);
        if (!read_counter(s, &l, i, &k))
            continue;
        rewrite(s, &l, &k);
        uint32_t p = loop->latch;
        for (; p != loop->header; p = s->g->blocks[p].idom)
            count_at(s, &l, &k, p);
        count_at(s, &l, &k, p);
    }
}

bool pass_trips(PassContext *c)
{
    SpvFunction *f = c->entry.function;
    edit_prune(c->module, f, c->scratch);
    Trips s = { .c = c, .m = c->module, .g = cfg_build(c->scratch, f, c->sink) };
    if (!s.g)
        return false;
    s.fold = fold_open(s.m, c->scratch);
    s.range = (PassRange){ .c = c };
    s.n_ids = s.m->bound;
    s.is_sum = NEW_ARRAY(c->scratch, bool, s.n_ids);
    PassLoopMarks marks = loop_marks(c, s.g);
    for (uint32_t k = 0; k < s.g->n_loops; k++)
        rewrite_loop(&s, &marks, s.g->loops[k]);
    for (uint32_t k = 0; k < s.guards.len; k++)
        guard(&s, &s.guards.data[k]);
    Cfg *g = s.guards.len ? cfg_build(c->scratch, f, c->sink) : NULL;
    if (g)
        edit_order_blocks(g);
    return g || !s.guards.len;
}
