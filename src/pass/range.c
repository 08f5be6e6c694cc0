/* SPDX-License-Identifier: MIT
 *
 * How large integers get, as far as that is known: what invocations are numbered by, what is
 * computed of it, and counters where a loop's condition has held.
 *
 * signs. In: a function after simplify. Out: divisions, remainders and shifts of signed numbers
 * that are not negative are those of unsigned ones, of which the code generator knows what they do
 * to numbers of lanes, and which take fewer instructions.
 */
#include "pass/edit.h"

#define NONE UINT32_MAX
enum { MAX_DEPTH = 16 };
static const uint64_t most = INT32_MAX;

/* ---- how large numbers get ------------------------------------------------------------------- */

/* The largest value of component k (of a scalar: 0) of a built-in variable. */
static uint64_t largest_builtin(PassRange *s, SpvId variable, uint64_t k)
{
    const uint32_t *size = s->c->entry.local_size;
    uint32_t n;
    const uint32_t *builtin = spv_decoration(s->c->module, variable, -1, SpvDecorationBuiltIn, &n);
    if (!builtin || !n || !size[0] || !size[1] || !size[2])
        return RANGE_UNKNOWN;
    if (*builtin == SpvBuiltInLocalInvocationIndex)
        return (uint64_t)size[0] * size[1] * size[2] - 1;
    if (*builtin == SpvBuiltInLocalInvocationId && k < 3)
        return size[k] - 1;
    if (*builtin == SpvBuiltInSubgroupLocalInvocationId && s->c->options->subgroup_size)
        return s->c->options->subgroup_size - 1;
    return RANGE_UNKNOWN;
}

/* Of a load of an input or of a component of one, or of component k of such a load. */
static uint64_t largest_input(PassRange *s, const SpvInst *load, uint64_t k)
{
    const SpvInst *p =
        load && load->op == SpvOpLoad ? spv_def(s->c->module, spv_operand(load, 0)) : NULL;
    if (p && p->op == SpvOpVariable)
        return largest_builtin(s, p->id, k);
    if (p && p->op == SpvOpAccessChain && spv_n_operands(p) == 2 &&
        spv_constant(s->c->module, spv_operand(p, 1), &k))
        return largest_builtin(s, spv_operand(p, 0), k);
    return RANGE_UNKNOWN;
}

static uint64_t largest(PassRange *s, SpvId id, uint32_t depth);

static uint64_t within_most(uint64_t x) { return x <= most ? x : RANGE_UNKNOWN; }

static uint64_t largest_binary(PassRange *s, const SpvInst *i, uint32_t depth)
{
    uint64_t x = largest(s, spv_operand(i, 0), depth), y = largest(s, spv_operand(i, 1), depth), c;
    bool constant = spv_constant(s->c->module, spv_operand(i, 1), &c) && c <= most;
    bool known = x != RANGE_UNKNOWN && y != RANGE_UNKNOWN;
    switch (i->op) {
    case SpvOpBitwiseAnd: return MIN(x, y);
    case SpvOpUMod: return constant && c ? MIN(x, c - 1) : RANGE_UNKNOWN;
    case SpvOpSRem:
    case SpvOpSMod: return known && constant && c ? MIN(x, c - 1) : RANGE_UNKNOWN;
    case SpvOpUDiv: return constant && c && x != RANGE_UNKNOWN ? x / c : x;
    case SpvOpSDiv: return known && constant && c ? x / c : RANGE_UNKNOWN;
    case SpvOpShiftRightLogical:
    case SpvOpShiftRightArithmetic: return constant && c < 32 && x != RANGE_UNKNOWN ? x >> c : x;
    case SpvOpIAdd: return known ? within_most(x + y) : RANGE_UNKNOWN;
    case SpvOpIMul: return known ? within_most(x * y) : RANGE_UNKNOWN;
    default: return RANGE_UNKNOWN;
    }
}

/* What a loop's condition says of a number in the block that is looked from. */
static uint64_t largest_of_fact(const PassRange *s, SpvId id)
{
    if (s->at == NONE || id >= s->n_ids || !s->fact[id].where)
        return RANGE_UNKNOWN;
    return cfg_dominates(s->g, s->fact[id].where, s->at) ? s->fact[id].largest : RANGE_UNKNOWN;
}

static uint64_t largest(PassRange *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->c->module, id);
    const SpvType *t = i ? spv_type(s->c->module, i->type) : NULL;
    uint64_t c;
    if (!t || t->kind != SPV_INT || t->bits < 32 || ++depth > MAX_DEPTH)
        return RANGE_UNKNOWN;
    if (spv_constant(s->c->module, id, &c))
        return within_most(c);
    uint64_t fact = largest_of_fact(s, id);
    if (fact != RANGE_UNKNOWN)
        return fact;
    switch (i->op) {
    case SpvOpLoad: return largest_input(s, i, 0);
    case SpvOpCompositeExtract:
        return spv_n_operands(i) == 2
                   ? largest_input(s, spv_def(s->c->module, spv_operand(i, 0)), spv_operand(i, 1))
                   : RANGE_UNKNOWN;
    case SpvOpCopyObject:
    case SpvOpBitcast:
    case SpvOpUConvert:
    case SpvOpSConvert: return largest(s, spv_operand(i, 0), depth);
    default: return spv_n_operands(i) == 2 ? largest_binary(s, i, depth) : RANGE_UNKNOWN;
    }
}

uint64_t range_largest(PassRange *s, SpvId id) { return largest(s, id, 0); }

/* ---- conditions ------------------------------------------------------------------------------ */

/* `op` with its operands exchanged, or its result inverted. */
static uint16_t turned(uint16_t op, bool exchange)
{
    static const uint16_t less[][4] = {
        { SpvOpULessThan, SpvOpUGreaterThan, SpvOpULessThanEqual, SpvOpUGreaterThanEqual },
        { SpvOpSLessThan, SpvOpSGreaterThan, SpvOpSLessThanEqual, SpvOpSGreaterThanEqual },
    };
    for (uint32_t row = 0; row < COUNT_OF(less); row++)
        for (uint32_t k = 0; k < 4; k++)
            if (less[row][k] == op)
                return less[row][exchange ? k ^ 1 : 3 - k];
    return 0;
}

bool range_test(SpvModule *m, SpvId condition, bool stays_when, PassTest *test)
{
    const SpvInst *i = spv_def(m, condition);
    uint16_t op = i && spv_n_operands(i) == 2 ? i->op : 0;
    if (!turned(op, true))
        return false;
    bool constant_first = spv_constant(m, spv_operand(i, 0), &test->bound);
    if (!constant_first && !spv_constant(m, spv_operand(i, 1), &test->bound))
        return false;
    test->of = spv_operand(i, constant_first);
    op = constant_first ? turned(op, true) : op;
    op = stays_when ? op : turned(op, false);
    test->is_signed = op == SpvOpSLessThan || op == SpvOpSLessThanEqual;
    bool equal = op == SpvOpULessThanEqual || op == SpvOpSLessThanEqual;
    if (!equal && op != SpvOpULessThan && op != SpvOpSLessThan)
        return false;
    test->bound += equal;
    return test->bound && test->bound <= most;
}

/* A sum of a start and a multiple of how often the loop has run, as trips makes it, or the phi that
 * a step is added to: what it starts with, and the step. */
static bool counts_up(PassRange *s, const CfgLoop *loop, const SpvInst *x, SpvId *start,
                      uint64_t *by)
{
    SpvModule *m = s->c->module;
    SpvId latch = s->g->blocks[loop->latch].block->id;
    const SpvBlock *header = s->g->blocks[loop->header].block;
    if (x->op == SpvOpIAdd) {
        const SpvInst *times = spv_def(m, spv_operand(x, 1));
        const SpvInst *n =
            times && times->op == SpvOpIMul ? spv_def(m, spv_operand(times, 0)) : NULL;
        SpvId zero;
        uint64_t one, value;
        *start = spv_operand(x, 0);
        const SpvInst *d = spv_def(m, *start);
        bool inside = d && d->block && cfg_in_loop(loop, s->g, s->g->position[d->block->index]);
        return n && !inside && n != x && n->op == SpvOpPhi && counts_up(s, loop, n, &zero, &one) &&
               one == 1 && spv_constant(m, zero, &value) && value == 0 &&
               spv_constant(m, spv_operand(times, 1), by);
    }
    if (x->op != SpvOpPhi || x->block != header || spv_n_operands(x) != 4)
        return false;
    bool second = spv_operand(x, 3) == latch;
    const SpvInst *next = spv_def(m, spv_operand(x, second ? 2 : 0));
    *start = spv_operand(x, second ? 0 : 2);
    return spv_operand(x, second ? 3 : 1) == latch && next && next->op == SpvOpIAdd &&
           spv_operand(next, 0) == x->id && spv_constant(m, spv_operand(next, 1), by);
}

/* The condition of a branch that keeps a loop running, in one of its blocks. */
static bool test_of(PassRange *s, const CfgLoop *loop, uint32_t p, uint32_t *inside, PassTest *test)
{
    const CfgBlock *b = &s->g->blocks[p];
    const SpvInst *term = b->block->insts.last;
    if (term->op != SpvOpBranchConditional || b->n_succs != 2)
        return false;
    bool first = cfg_in_loop(loop, s->g, b->succs[0]);
    *inside = b->succs[first ? 0 : 1];
    bool stays_when = spv_operand(term, 1) == s->g->blocks[*inside].block->id;
    return first != cfg_in_loop(loop, s->g, b->succs[1]) &&
           range_test(s->c->module, spv_operand(term, 0), stays_when, test) && test->of < s->n_ids;
}

/* Where a header's condition has held. A signed number below a bound might be negative, but not if
 * it begins with one that is not, and its steps do not lead beyond the largest one. */
static void find_fact(PassRange *s, const CfgLoop *loop)
{
    PassTest test;
    SpvId start;
    uint32_t inside;
    uint64_t by = 0;
    s->at = loop->header;
    if (!test_of(s, loop, loop->header, &inside, &test) || s->g->blocks[inside].n_preds != 1)
        return;
    if (test.is_signed &&
        (!counts_up(s, loop, spv_def(s->c->module, test.of), &start, &by) || !by || by > most ||
         test.bound - 1 + by > most || range_largest(s, start) == RANGE_UNKNOWN))
        return;
    s->fact[test.of] = (PassRangeFact){ test.bound - 1, inside };
}

/* In all of a loop whose end tests what a number will be next. */
static void find_fact_at_end(PassRange *s, const CfgLoop *loop)
{
    PassTest test;
    SpvId start;
    uint32_t header;
    uint64_t by = 0, step;
    s->at = loop->header;
    if (!test_of(s, loop, loop->latch, &header, &test) || header != loop->header ||
        s->g->blocks[header].n_preds != 2)
        return;
    const SpvInst *next = spv_def(s->c->module, test.of);
    const SpvInst *x = next->op == SpvOpIAdd ? spv_def(s->c->module, spv_operand(next, 0)) : NULL;
    if (!x || x->id >= s->n_ids || !spv_constant(s->c->module, spv_operand(next, 1), &step) ||
        !counts_up(s, loop, x, &start, &by) || by != step || !by || by > most)
        return;
    uint64_t first = range_largest(s, start);
    if (first != RANGE_UNKNOWN && MAX(first, test.bound - 1) + by <= most)
        s->fact[x->id] = (PassRangeFact){ MAX(first, test.bound - 1), header };
}

void range_find(PassRange *s, PassContext *c, const Cfg *g)
{
    *s = (PassRange){ .c = c, .g = g, .n_ids = c->module->bound };
    s->fact = NEW_ARRAY(c->scratch, PassRangeFact, s->n_ids);
    for (uint32_t k = 0; k < g->n_loops; k++) { /* outer ones first */
        if (g->loops[k]->latch == NONE)
            continue; /* there are several */
        find_fact(s, g->loops[k]);
        find_fact_at_end(s, g->loops[k]);
    }
    s->at = NONE;
}

/* ---- signs ----------------------------------------------------------------------------------- */

static uint16_t unsigned_op(uint16_t op)
{
    switch (op) {
    case SpvOpSDiv: return SpvOpUDiv;
    case SpvOpSRem:
    case SpvOpSMod: return SpvOpUMod;
    case SpvOpShiftRightArithmetic: return SpvOpShiftRightLogical;
    default: return 0;
    }
}

/* OpUDiv and OpUMod are of types without a sign. */
static void make_unsigned(SpvModule *m, SpvInst *i, uint16_t op)
{
    const SpvType *t = spv_type(m, i->type);
    SpvId type = spv_int_type(m, t->bits, false);
    uint32_t operands[2] = { spv_operand(i, 0), spv_operand(i, 1) };
    if (op == SpvOpShiftRightLogical || type == i->type) {
        edit_become(m, i, op, operands, 2);
        return;
    }
    for (uint32_t k = 0; k < 2; k++) {
        uint64_t number;
        operands[k] = spv_constant(m, operands[k], &number)
                          ? spv_int_constant(m, type, number)
                          : spv_put(m, i, SpvOpBitcast, type, &operands[k], 1)->id;
    }
    SpvId result = spv_put(m, i, op, type, operands, 2)->id;
    edit_become(m, i, SpvOpBitcast, &result, 1);
}

bool pass_signs(PassContext *c)
{
    SpvFunction *f = c->entry.function;
    edit_prune(c->module, f, c->scratch);
    const Cfg *g = cfg_build(c->scratch, f, c->sink);
    if (!g)
        return false;
    PassRange s;
    range_find(&s, c, g);
    for (s.at = 0; s.at < g->n; s.at++) {
        SpvBlock *b = g->blocks[s.at].block;
        for (SpvInst *i = b ? b->insts.first : NULL; i; i = i->next) {
            uint16_t op = unsigned_op(i->op);
            const SpvType *t = op ? spv_type(c->module, i->type) : NULL;
            if (t && t->kind == SPV_INT && range_largest(&s, spv_operand(i, 0)) != RANGE_UNKNOWN &&
                (op == SpvOpShiftRightLogical ||
                 range_largest(&s, spv_operand(i, 1)) != RANGE_UNKNOWN))
                make_unsigned(c->module, i, op);
        }
    }
    return true;
}
