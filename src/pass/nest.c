/* SPDX-License-Identifier: MIT
 *
 * nest: who does an instruction, and how often. In: an instruction that all invocations of a
 * workgroup come to, in counted loops and behind tests of numbers that each of them knows. Out:
 * invocation after invocation, iteration after iteration (copies.c).
 */
#include "pass/edit.h"

enum { MOST_DEEP_IN_CONDITION = 6, MOST_ITERATIONS = 1 << 10 };

#define NONE UINT32_MAX

static uint32_t position(const PassCopies *s, const SpvInst *i)
{
    return s->g->position[i->block->index];
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* The block that it is left from, if that is one alone, its header or its end. */
static uint32_t find_exit(const PassCopies *s, const CfgLoop *loop)
{
    uint32_t exit = NONE;
    if (loop->latch == NONE || s->g->blocks[loop->header].n_preds != 2)
        return NONE;
    for (uint32_t k = 0; k < loop->n_blocks; k++) {
        uint32_t p = loop->blocks[k];
        const CfgBlock *b = &s->g->blocks[p];
        for (uint32_t j = 0; j < b->n_succs; j++)
            if (!cfg_in_loop(loop, s->g, b->succs[j])) {
                if (exit != NONE || (p != loop->header && p != loop->latch))
                    return NONE;
                exit = p;
            }
    }
    bool branches =
        exit != NONE && s->g->blocks[exit].block->insts.last->op == SpvOpBranchConditional;
    return branches ? exit : NONE;
}

static bool depends_on(const PassCopies *s, SpvId id, const SpvInst *phi, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    SpvOperand o;
    if (i == phi)
        return true;
    if (!i || !depth || !spv_is_pure(i))
        return false;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.is_id && depends_on(s, i->words[o.word], phi, depth - 1))
            return true;
    return false;
}

/* The first phi of a header that the loop's end depends on. */
static const SpvInst *find_counter(const PassCopies *s, const SpvBlock *header, SpvId condition)
{
    const SpvInst *phi = header->insts.first->next;
    while (phi->op == SpvOpPhi && !depends_on(s, condition, phi, MOST_DEEP_IN_CONDITION))
        phi = phi->next;
    return phi->op == SpvOpPhi ? phi : NULL;
}

static bool open_loop(const PassCopies *s, const CfgLoop *loop, uint32_t inside, PassCounted *x)
{
    const CfgBlock *header = &s->g->blocks[loop->header];
    uint32_t exit = find_exit(s, loop);
    if (exit == NONE)
        return false;
    const SpvInst *branch = s->g->blocks[exit].block->insts.last;
    const SpvInst *phi = find_counter(s, header->block, spv_operand(branch, 0));
    x->at_end = exit == loop->latch;
    /* what is in a header is done once more than the condition holds */
    if (!phi || (!x->at_end && inside == loop->header))
        return false;
    uint32_t latch = loop->latch, before = header->preds[header->preds[0] == latch];
    const SpvBlock *then = edit_block(s->m, spv_operand(branch, 1));
    x->loop = loop;
    x->counter = phi;
    x->start = loop_incoming(phi, s->g->blocks[before].block->id);
    x->next = loop_incoming(phi, s->g->blocks[latch].block->id);
    x->condition = spv_operand(branch, 0);
    x->stays = cfg_in_loop(loop, s->g, s->g->position[then->index]);
    return true;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static bool postdominates(const Cfg *g, uint32_t a, uint32_t b)
{
    while (b != a && b + 1 < g->n)
        b = g->blocks[b].ipdom;
    return a == b;
}

/* What block b is chosen by at the end of the one that dominates it, behind `n` of the loops.
 * False: in a way that is not known. */
static bool find_test(const PassCopies *s, uint32_t b, uint32_t n, PassNest *nest)
{
    uint32_t from = s->g->blocks[b].idom;
    const SpvInst *branch = s->g->blocks[from].block->insts.last;
    if (postdominates(s->g, b, from))
        return true;
    if (branch->op != SpvOpBranchConditional || s->g->blocks[b].n_preds != 1 ||
        nest->n_tests == COPIES_TESTS)
        return false;
    bool when = spv_operand(branch, 1) == s->g->blocks[b].block->id;
    nest->tests[nest->n_tests++] = (PassChoice){ spv_operand(branch, 0), when, n };
    if (!n)
        nest->chosen_at = from;
    return true;
}

/* What a block is chosen by, from another one on that dominates it. */
static bool find_tests(const PassCopies *s, uint32_t b, uint32_t from, uint32_t n, PassNest *nest)
{
    for (; b != from; b = s->g->blocks[b].idom)
        if (!find_test(s, b, n, nest))
            return false;
    return true;
}

/* Where both an instruction and `outside` are led to. */
static uint32_t common_dominator(const PassCopies *s, uint32_t b, uint32_t outside)
{
    while (!cfg_dominates(s->g, b, outside))
        b = s->g->blocks[b].idom;
    return b;
}

bool copies_nest(const PassCopies *s, const SpvInst *i, uint32_t outside, PassNest *nest,
                 bool surely)
{
    uint32_t inside = position(s, i), n = 0;
    const CfgLoop *first = s->g->blocks[inside].loop, *loop;
    for (loop = first; loop && !cfg_in_loop(loop, s->g, outside); loop = loop->parent)
        n++;
    *nest = (PassNest){ .n = n, .surely = surely, .chosen_at = NONE };
    for (loop = first; n <= COPIES_NESTED && n; loop = loop->parent) {
        PassCounted *x = &nest->loops[n - 1];
        if (!open_loop(s, loop, inside, x))
            return false;
        /* a loop that is left from its header comes to its second block by that test */
        uint32_t top = loop->header;
        while (!x->at_end && s->g->blocks[inside].idom != top && inside != top) {
            if (!find_test(s, inside, n, nest) && surely)
                return false;
            inside = s->g->blocks[inside].idom;
        }
        if (x->at_end && !find_tests(s, inside, top, n, nest) && surely)
            return false;
        inside = top;
        n--;
    }
    return !n && (find_tests(s, inside, common_dominator(s, inside, outside), 0, nest) || !surely);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool read_number(PassCopies *s, SpvId id, uint64_t *value)
{
    Polynomial p;
    return copies_index(s, id, &p) && polynomial_number(&p, value);
}

/* A comparison of numbers. */
static bool read_comparison(PassCopies *s, const SpvInst *i, bool *value)
{
    uint64_t x, y;
    if (spv_n_operands(i) != 2 || !read_number(s, spv_operand(i, 0), &x) ||
        !read_number(s, spv_operand(i, 1), &y))
        return false;
    uint64_t sign = UINT64_C(1) << (s->reader.bits - 1);
    switch (i->op) {
    case SpvOpSLessThan:
    case SpvOpSLessThanEqual:
    case SpvOpSGreaterThan:
    case SpvOpSGreaterThanEqual: /* as unsigned numbers, when the lowest is 0 */
        x ^= sign;
        y ^= sign;
        break;
    default: break;
    }
    switch (i->op) {
    case SpvOpSLessThan:
    case SpvOpULessThan: *value = x < y; return true;
    case SpvOpSLessThanEqual:
    case SpvOpULessThanEqual: *value = x <= y; return true;
    case SpvOpSGreaterThan:
    case SpvOpUGreaterThan: *value = x > y; return true;
    case SpvOpSGreaterThanEqual:
    case SpvOpUGreaterThanEqual: *value = x >= y; return true;
    case SpvOpIEqual: *value = x == y; return true;
    case SpvOpINotEqual: *value = x != y; return true;
    default: return false;
    }
}

static bool read_condition(PassCopies *s, SpvId id, uint32_t deep, bool *value)
{
    const SpvInst *i = spv_def(s->m, id);
    bool x, y;
    if (!i || !deep)
        return false;
    switch (i->op) {
    case SpvOpLogicalNot:
        if (!read_condition(s, spv_operand(i, 0), deep - 1, &x))
            return false;
        *value = !x;
        return true;
    case SpvOpLogicalAnd:
    case SpvOpLogicalOr:
        if (!read_condition(s, spv_operand(i, 0), deep - 1, &x) ||
            !read_condition(s, spv_operand(i, 1), deep - 1, &y))
            return false;
        *value = i->op == SpvOpLogicalAnd ? x && y : x || y;
        return true;
    case SpvOpSelect:
        if (!read_condition(s, spv_operand(i, 0), deep - 1, &x))
            return false;
        return read_condition(s, spv_operand(i, x ? 1 : 2), deep - 1, value);
    case SpvOpConstantTrue:
    case SpvOpConstantFalse: *value = i->op == SpvOpConstantTrue; return true;
    default: return read_comparison(s, i, value);
    }
}

/* Whether a loop goes on, where it asks. */
static bool read_stays(PassCopies *s, const PassCounted *x, bool *stays)
{
    bool holds, known = read_condition(s, x->condition, MOST_DEEP_IN_CONDITION, &holds);
    *stays = known && holds == x->stays;
    return known;
}

/* ---- one invocation after the other ---------------------------------------------------------- */

/* Whether it comes there, by the tests behind `depth` loops. False: that is not known. */
static bool is_chosen(PassCopies *s, const PassNest *nest, uint32_t depth, bool *chosen)
{
    *chosen = true;
    for (uint32_t k = 0; k < nest->n_tests && *chosen; k++) {
        const PassChoice *x = &nest->tests[k];
        bool holds;
        if (x->loops != depth)
            continue;
        if (read_condition(s, x->condition, MOST_DEEP_IN_CONDITION, &holds))
            *chosen = holds == x->when;
        else if (nest->surely)
            return false;
    }
    return true;
}

static bool do_nest(PassCopies *s, const PassNest *nest, uint32_t depth, uint64_t *left,
                    PassDoes does, void *user);

static bool do_loop(PassCopies *s, const PassNest *nest, uint32_t depth, uint64_t *left,
                    PassDoes does, void *user)
{
    const PassCounted *x = &nest->loops[depth];
    bool stays = true, good = read_number(s, x->start, &s->counts[depth]);
    s->counters[depth] = x->counter;
    s->n_counters = depth + 1;
    for (uint32_t n = 0; good && stays; n++) {
        good = n < MOST_ITERATIONS && (x->at_end || read_stays(s, x, &stays));
        if (!good || !stays)
            break;
        uint64_t next;
        good = do_nest(s, nest, depth + 1, left, does, user) && read_number(s, x->next, &next) &&
               (!x->at_end || read_stays(s, x, &stays));
        if (good)
            s->counts[depth] = next;
    }
    s->n_counters = depth;
    return good;
}

static bool do_nest(PassCopies *s, const PassNest *nest, uint32_t depth, uint64_t *left,
                    PassDoes does, void *user)
{
    bool chosen;
    if (!is_chosen(s, nest, depth, &chosen))
        return false;
    if (!chosen)
        return true;
    if (depth < nest->n && depth < COPIES_NESTED)
        return do_loop(s, nest, depth, left, does, user);
    return *left && (*left)-- && does(s, user);
}

bool copies_each(PassCopies *s, const PassNest *nest, uint64_t *left, PassDoes does, void *user)
{
    for (s->invocation = 0; s->invocation < s->invocations; s->invocation++)
        if (!do_nest(s, nest, 0, left, does, user))
            return false;
    return true;
}
