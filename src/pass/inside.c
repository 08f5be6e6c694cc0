/* SPDX-License-Identifier: MIT
 *
 * inside: a version of the kernel for workgroups that are away from all edges. In: a function after
 * simplify. Out: where an integer of an invocation's is compared with a bound that the workgroup
 * shares ("is it in the image, in the matrix?"), or clamped to one, a second version of the body in
 * which all such tests have come out as they do inside; a workgroup runs it if they do for each of
 * its invocations, in each iteration of the loops around.
 *
 * That is asked once, at the beginning. Each integer lies between two ends, which are sums of
 * products of what the beginning knows: the workgroup's place, push constants, arguments, and the
 * last value of a counter that goes up to such a bound. The ends are those of the numbers that the
 * kernel would compute if they did not overflow; whether they do is asked, too.
 */
#include "pass/edit.h"

enum {
    MOST_SIZE = 1024, /* instructions of the body: twice as many take twice as long to compile */
    MOST_ASKED = 256, /* tests at the beginning, and those of them that others do not say already */
    MOST_TESTS = 48,
    MOST_ATOMS = 64,
    MOST_DEEP = 24,
    MOST_TIMES = 1 << 20, /* factors of what is below 2^32: their sums are below 2^63 */
    /* tests by lanes that are worth a version; one in a loop counts for so many more */
    LEAST_TESTS = 4,
    BY_LOOP = 4,
    SMALL = 16, /* numbers are not below a smaller bound, inside, and below a larger one */
};

/* What the beginning knows. */
typedef enum AtomKind {
    ATOM_BUILTIN, /* component `part` of one */
    ATOM_VALUE,   /* a parameter, or what is loaded from where nobody writes */
    ATOM_LAST,    /* the last of start, start + step, ... that is at most `most`; or the start */
} AtomKind;

typedef struct Atom {
    AtomKind kind;
    uint32_t builtin, part;
    SpvId value;
    Polynomial start, most;
    uint64_t step;
    SpvId at_beginning; /* 64 bits wide, once it was written */
} Atom;

/* An integer of any invocation, at any time, is between them. Terms are of atoms: 1 + place. */
typedef struct Ends {
    Polynomial low, high;
} Ends;

/* less + by <= more */
typedef struct Relation {
    SpvId less, more;
    uint32_t by;
    bool is_signed;
} Relation;

/* What an instruction of the body becomes in the version. */
typedef struct Decision {
    const SpvInst *inst;
    SpvId operand; /* 0: it is a boolean, */
    bool holds;
} Decision;

typedef struct Inside {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    const Uniformity *uniformity;
    PassRange range;
    PolynomialReader reader; /* of 64 bits, for sums */
    Atom *atoms;             /* MOST_ATOMS of them */
    uint32_t n_atoms;
    Polynomial *tests; /* none of them is negative; MOST_ASKED */
    uint32_t n_tests;
    uint8_t *leaves;    /* by id: a loop is left by it */
    SpvId *becomes;     /* by id, n_ids of them: Decision.operand */
    uint32_t n_ids, at; /* position of the block that is looked from */
    VEC(Decision) decisions;
    uint64_t weight;
} Inside;

/* ---- sums ------------------------------------------------------------------------------------ */

static Polynomial number(const Inside *s, int64_t n)
{
    Polynomial one = { .n = 1, .terms[0].times = 1 }, p = { .n = 0 };
    if (n)
        polynomial_add(&s->reader, &p, &one, (uint64_t)n);
    return p;
}

static Polynomial sum(const Inside *s, const Polynomial *x, const Polynomial *y, int64_t times)
{
    Polynomial p = *x;
    polynomial_add(&s->reader, &p, y, (uint64_t)times);
    return p;
}

static bool is_number(const Polynomial *p, int64_t *n)
{
    uint64_t x;
    bool is = polynomial_number(p, &x);
    *n = (int64_t)x;
    return is;
}

static bool is_small(const Polynomial *p)
{
    bool small = !p->too_large;
    for (uint32_t k = 0; small && k < p->n; k++) {
        int64_t times = (int64_t)p->terms[k].times;
        bool constant = !p->terms[k].of[POLYNOMIAL_FACTORS - 1];
        int64_t most = constant ? (int64_t)UINT32_MAX : MOST_TIMES;
        small = times >= -most && times <= most;
    }
    return small;
}

static Ends exactly(Polynomial p) { return (Ends){ p, p }; }

static bool are_equal(const Inside *s, const Ends *x)
{
    return polynomial_equal(&s->reader, &x->low, &x->high);
}

/* ---- what the beginning is asked ------------------------------------------------------------- */

/* p is not negative. False: it is, always, or there are too many tests. */
static bool ask(Inside *s, const Polynomial *p)
{
    int64_t n;
    if (!is_small(p))
        return false;
    if (is_number(p, &n))
        return n >= 0;
    for (uint32_t k = 0; k < s->n_tests; k++) {
        Polynomial more = sum(s, p, &s->tests[k], -1);
        if (is_number(&more, &n) && n >= 0)
            return true;
    }
    if (s->n_tests == MOST_ASKED)
        return false;
    s->tests[s->n_tests++] = *p;
    return true;
}

static bool ask_at_most(Inside *s, const Polynomial *x, int64_t most)
{
    Polynomial m = number(s, most), p = sum(s, &m, x, -1);
    return ask(s, &p);
}

static bool ask_at_least(Inside *s, const Polynomial *x, int64_t least)
{
    Polynomial m = number(s, least), p = sum(s, x, &m, -1);
    return ask(s, &p);
}

/* The number that the kernel computes is the one between the ends: as a signed number, or (where it
 * is the same, below the half of it) as an unsigned one. */
static bool ask_fit(Inside *s, const Ends *x, uint32_t bits, bool is_signed)
{
    return (is_signed && bits == 64 ? true : ask_at_least(s, &x->low, is_signed ? INT32_MIN : 0)) &&
           (bits == 64 || ask_at_most(s, &x->high, INT32_MAX));
}

/* ---- where integers are ---------------------------------------------------------------------- */

static bool ends_of(Inside *s, SpvId id, uint32_t depth, Ends *x);

static bool is_kernel(const Inside *s) { return s->c->entry.model == SpvExecutionModelKernel; }

static bool same_atom(const Inside *s, const Atom *x, const Atom *y)
{
    if (x->kind != y->kind || x->builtin != y->builtin || x->part != y->part || x->step != y->step)
        return false;
    if (x->kind == ATOM_VALUE)
        return x->value == y->value || (spv_def(s->m, x->value)->op != SpvOpFunctionParameter &&
                                        values_alike(s->m, x->value, y->value));
    return x->kind == ATOM_BUILTIN || (polynomial_equal(&s->reader, &x->start, &y->start) &&
                                       polynomial_equal(&s->reader, &x->most, &y->most));
}

static Polynomial atom(Inside *s, const Atom *a)
{
    Polynomial p = { .n = 1, .terms[0].times = 1 };
    uint32_t k = 0;
    while (k < s->n_atoms && !same_atom(s, &s->atoms[k], a))
        k++;
    if (k == MOST_ATOMS)
        p.too_large = true;
    else if (k == s->n_atoms)
        s->atoms[s->n_atoms++] = *a;
    p.terms[0].of[POLYNOMIAL_FACTORS - 1] = k + 1;
    return p;
}

static Polynomial builtin_atom(Inside *s, uint32_t builtin, uint32_t part)
{
    return atom(s, &(Atom){ .kind = ATOM_BUILTIN, .builtin = builtin, .part = part });
}

/* Component k of a built-in that is different for each invocation or workgroup. */
static bool ends_of_builtin(Inside *s, uint32_t builtin, uint64_t k, Ends *x)
{
    const uint32_t *size = s->c->entry.local_size;
    if (k > 2)
        return false;
    if (builtin == SpvBuiltInWorkgroupId || builtin == SpvBuiltInNumWorkgroups)
        *x = exactly(builtin_atom(s, builtin, (uint32_t)k));
    else if (builtin == SpvBuiltInGlobalInvocationId) {
        Polynomial none = { .n = 0 }, group = builtin_atom(s, SpvBuiltInWorkgroupId, (uint32_t)k);
        x->low = sum(s, &none, &group, size[k]);
        if (is_kernel(s)) {
            Polynomial offset = builtin_atom(s, SpvBuiltInGlobalOffset, (uint32_t)k);
            x->low = sum(s, &x->low, &offset, 1);
        }
        Polynomial more = number(s, (int64_t)size[k] - 1);
        x->high = sum(s, &x->low, &more, 1);
    } else
        return false;
    return true;
}

static bool is_fixed_chain(const Inside *s, const SpvInst *i)
{
    bool fixed = i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain;
    for (uint32_t k = 1; fixed && k < spv_n_operands(i); k++)
        fixed = spv_is_constant(s->m, spv_operand(i, k));
    return fixed;
}

/* A load, or component k of one, from a variable or a fixed place in it: that variable, and the
 * component. */
static const SpvInst *loaded_from(const Inside *s, const SpvInst *i, uint64_t *k)
{
    *k = 0;
    bool part = i->op == SpvOpCompositeExtract && spv_n_operands(i) == 2;
    const SpvInst *load = part ? spv_def(s->m, spv_operand(i, 0)) : i;
    if (part)
        *k = spv_operand(i, 1);
    if (!load || load->op != SpvOpLoad || !loads_constant(s->m, load))
        return NULL;
    const SpvInst *p = spv_def(s->m, spv_operand(load, 0));
    if (is_fixed_chain(s, p)) {
        if (!part && spv_n_operands(p) == 2)
            spv_constant(s->m, spv_operand(p, 1), k);
        p = spv_def(s->m, spv_operand(p, 0));
    }
    return p && p->op == SpvOpVariable ? p : NULL;
}

static bool ends_of_loaded(Inside *s, const SpvInst *i, uint32_t bits, Ends *x)
{
    uint64_t k;
    uint32_t n;
    const SpvInst *v = i->op == SpvOpFunctionParameter ? i : loaded_from(s, i, &k);
    if (!v)
        return false;
    const uint32_t *builtin = spv_decoration(s->m, v->id, -1, SpvDecorationBuiltIn, &n);
    if (builtin && n)
        return ends_of_builtin(s, *builtin, k, x);
    if (v != i && spv_operand(v, 0) != SpvStorageClassPushConstant)
        return false;
    *x = exactly(atom(s, &(Atom){ .kind = ATOM_VALUE, .value = i->id }));
    return bits == 32 || ask_fit(s, x, 32, true);
}

/* By a number. */
static bool multiply(Inside *s, Ends *x, int64_t by)
{
    Polynomial none = { .n = 0 }, low = sum(s, &none, &x->low, by),
               high = sum(s, &none, &x->high, by);
    *x = by < 0 ? (Ends){ high, low } : (Ends){ low, high };
    return by >= -MOST_TIMES && by <= MOST_TIMES && is_small(&low) && is_small(&high);
}

static bool ends_of_product(Inside *s, const SpvInst *i, uint32_t depth, Ends *x)
{
    Ends y;
    int64_t by;
    if (!ends_of(s, spv_operand(i, 0), depth, x) || !ends_of(s, spv_operand(i, 1), depth, &y))
        return false;
    if (is_number(&y.low, &by) && are_equal(s, &y))
        return multiply(s, x, by);
    Ends z = *x;
    *x = y;
    return is_number(&z.low, &by) && are_equal(s, &z) && multiply(s, x, by);
}

static bool ends_of_sum(Inside *s, const SpvInst *i, uint32_t depth, Ends *x)
{
    Ends y;
    if (!ends_of(s, spv_operand(i, 0), depth, x) || !ends_of(s, spv_operand(i, 1), depth, &y))
        return false;
    bool minus = i->op == SpvOpISub;
    x->low = sum(s, &x->low, minus ? &y.high : &y.low, minus ? -1 : 1);
    x->high = sum(s, &x->high, minus ? &y.low : &y.high, minus ? -1 : 1);
    return is_small(&x->low) && is_small(&x->high);
}

/* Of a wider or narrower one: the same number, if it is one of that width. */
static bool ends_of_converted(Inside *s, const SpvInst *i, uint32_t bits, uint32_t depth, Ends *x)
{
    const SpvType *from = spv_type_of(s->m, spv_operand(i, 0));
    return from->kind == SPV_INT && ends_of(s, spv_operand(i, 0), depth, x) &&
           (from->bits >= bits || ask_fit(s, x, from->bits, i->op == SpvOpSConvert));
}

/* ---- counters -------------------------------------------------------------------------------- */

static bool relation_of(const SpvInst *i, bool holds, Relation *r)
{
    static const struct {
        uint16_t op;
        bool exchanged, by, is_signed;
    } all[] = {
        { SpvOpSLessThan, false, 1, true },    { SpvOpSLessThanEqual, false, 0, true },
        { SpvOpSGreaterThan, true, 1, true },  { SpvOpSGreaterThanEqual, true, 0, true },
        { SpvOpULessThan, false, 1, false },   { SpvOpULessThanEqual, false, 0, false },
        { SpvOpUGreaterThan, true, 1, false }, { SpvOpUGreaterThanEqual, true, 0, false },
    };
    for (uint32_t k = 0; k < COUNT_OF(all); k++)
        if (all[k].op == i->op) {
            bool exchange = all[k].exchanged != !holds;
            *r = (Relation){ spv_operand(i, exchange), spv_operand(i, !exchange),
                             holds ? all[k].by : !all[k].by, all[k].is_signed };
            return true;
        }
    return false;
}

/* A block that the loop is left from, by a comparison in each iteration: what holds if it is not;
 * `to` is where it goes on. */
static bool stays_if(const Inside *s, const CfgLoop *loop, uint32_t p, Relation *r, uint32_t *to)
{
    const CfgBlock *b = &s->g->blocks[p];
    const SpvInst *end = b->block->insts.last;
    if (end->op != SpvOpBranchConditional || b->n_succs != 2 ||
        !cfg_dominates(s->g, p, loop->latch))
        return false;
    const SpvBlock *first = edit_block(s->m, spv_operand(end, 1));
    bool then = cfg_in_loop(loop, s->g, s->g->position[first->index]);
    *to = b->succs[cfg_in_loop(loop, s->g, b->succs[1])];
    const SpvInst *condition = spv_def(s->m, spv_operand(end, 0));
    return cfg_in_loop(loop, s->g, b->succs[0]) != cfg_in_loop(loop, s->g, b->succs[1]) &&
           condition && relation_of(condition, then, r);
}

/* The largest value of a counter that begins between `x` and goes up by steps to `most`. */
static bool count_up(Inside *s, Ends *x, const Polynomial *most, uint64_t step, bool at_least_once)
{
    int64_t start, last;
    bool exact = are_equal(s, x);
    if (is_number(&x->high, &start) && is_number(most, &last)) {
        if (exact && last > start)
            last -= (last - start) % (int64_t)step;
        x->high = number(s, at_least_once ? MAX(start, last) : last);
    } else if (!at_least_once && (step == 1 || !exact))
        x->high = *most;
    else
        x->high = atom(s, &(Atom){ .kind = ATOM_LAST,
                                   .start = x->high,
                                   .most = *most,
                                   .step = exact ? step : 1 });
    return !x->high.too_large;
}

/* The counter of a loop, where one of the tests by which it is left is known to have held. */
static bool ends_by_test(Inside *s, const CfgLoop *loop, const SpvInst *phi, uint32_t p,
                         uint32_t depth, Ends *x)
{
    Relation r;
    uint32_t to;
    uint64_t step;
    Ends bound;
    const CfgBlock *header = &s->g->blocks[loop->header];
    uint32_t before = header->preds[header->preds[0] == loop->latch];
    const SpvInst *next = spv_def(s->m, loop_incoming(phi, s->g->blocks[loop->latch].block->id));
    bool first = next && next->op == SpvOpIAdd && spv_operand(next, 0) == phi->id;
    if (!first || !spv_constant(s->m, spv_operand(next, 1), &step) || !step || step > MOST_TIMES ||
        !stays_if(s, loop, p, &r, &to) || (r.less != phi->id && r.less != next->id))
        return false;
    bool behind = r.less == phi->id;
    if (behind && (s->g->blocks[to].n_preds != 1 || !cfg_dominates(s->g, to, s->at)))
        return false;
    uint32_t bits = spv_type(s->m, phi->type)->bits;
    if (!ends_of(s, loop_incoming(phi, s->g->blocks[before].block->id), depth, x) ||
        !ends_of(s, r.more, depth, &bound) || !ask_fit(s, x, bits, r.is_signed) ||
        !ask_fit(s, &bound, bits, r.is_signed))
        return false;
    Polynomial by = number(s, -(int64_t)r.by), most = sum(s, &bound.high, &by, 1);
    Polynomial on = number(s, (int64_t)step);
    if (!count_up(s, x, &most, step, !behind))
        return false;
    on = sum(s, &x->high, &on, 1);
    return ask_at_most(s, &on, INT32_MAX); /* the next one is more */
}

static bool ends_of_counter(Inside *s, const SpvInst *phi, uint32_t depth, Ends *x)
{
    uint32_t at = s->g->position[phi->block->index];
    const CfgLoop *loop = s->g->blocks[at].loop;
    if (!loop || loop->header != at || loop->latch == UINT32_MAX || s->g->blocks[at].n_preds != 2 ||
        !cfg_in_loop(loop, s->g, s->at))
        return false;
    for (uint32_t k = 0; k < loop->n_blocks; k++) {
        uint32_t n_tests = s->n_tests;
        if (ends_by_test(s, loop, phi, loop->blocks[k], depth, x))
            return true;
        s->n_tests = n_tests;
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------- */

static bool ends_of_inst(Inside *s, const SpvInst *i, uint32_t bits, uint32_t depth, Ends *x)
{
    uint64_t by;
    switch (i->op) {
    case SpvOpLoad:
    case SpvOpCompositeExtract:
    case SpvOpFunctionParameter: return ends_of_loaded(s, i, bits, x);
    case SpvOpIAdd:
    case SpvOpISub: return ends_of_sum(s, i, depth, x);
    case SpvOpIMul: return ends_of_product(s, i, depth, x);
    case SpvOpShiftLeftLogical:
        return spv_constant(s->m, spv_operand(i, 1), &by) && by < 20 &&
               ends_of(s, spv_operand(i, 0), depth, x) && multiply(s, x, INT64_C(1) << by);
    case SpvOpSConvert:
    case SpvOpUConvert: return ends_of_converted(s, i, bits, depth, x);
    case SpvOpBitcast:
    case SpvOpCopyObject: return ends_of(s, spv_operand(i, 0), depth, x);
    case SpvOpPhi: return ends_of_counter(s, i, depth, x);
    default: return false;
    }
}

static bool ends_of(Inside *s, SpvId id, uint32_t depth, Ends *x)
{
    const SpvInst *i = spv_def(s->m, id);
    const SpvType *t = i && i->type ? spv_type(s->m, i->type) : NULL;
    uint64_t bits;
    if (!t || t->kind != SPV_INT || (t->bits != 32 && t->bits != 64) || !depth)
        return false;
    if (id < s->n_ids && s->becomes[id])
        return ends_of(s, s->becomes[id], depth - 1, x);
    if (spv_constant(s->m, id, &bits)) {
        int64_t value = t->bits == 32 ? (int32_t)bits : (int64_t)bits;
        *x = exactly(number(s, value));
        return is_small(&x->low);
    }
    if (ends_of_inst(s, i, t->bits, depth - 1, x))
        return true;
    uint64_t largest = range_largest(&s->range, id);
    *x = (Ends){ number(s, 0), number(s, (int64_t)largest) };
    return largest != RANGE_UNKNOWN;
}

/* ---- tests, and what becomes of them --------------------------------------------------------- */

static bool varies(const Inside *s, const Ends *x) { return !are_equal(s, x); }

/* Whether one of two numbers is below the other one, inside: it is above small ones, and below what
 * is not known. */
static bool is_below(const Ends *bound)
{
    int64_t n;
    return !is_number(&bound->low, &n) || n >= SMALL;
}

/* less + by <= more, always. */
static bool ask_relation(Inside *s, const Ends *less, const Ends *more, uint32_t by)
{
    Polynomial number_by = number(s, by), p = sum(s, &more->low, &less->high, -1);
    p = sum(s, &p, &number_by, -1);
    return ask(s, &p);
}

static void decide(Inside *s, const SpvInst *i, SpvId operand, bool holds)
{
    const CfgLoop *loop = s->g->blocks[s->at].loop;
    uint64_t weight = s->uniformity->varying[i->id];
    for (; loop; loop = loop->parent)
        weight = MIN(weight * BY_LOOP, 1 << 16);
    s->weight += weight;
    vec_push(s->c->scratch, &s->decisions, (Decision){ i, operand, holds });
    s->becomes[i->id] = operand;
}

/* The ends of both, if one is of the invocation's and the other one the workgroup's. */
static bool open_test(Inside *s, SpvId x, SpvId y, bool is_signed, Ends *ends_x, Ends *ends_y)
{
    const SpvType *t = spv_type_of(s->m, x);
    return t && t->kind == SPV_INT && ends_of(s, x, MOST_DEEP, ends_x) &&
           ends_of(s, y, MOST_DEEP, ends_y) && varies(s, ends_x) != varies(s, ends_y) &&
           ask_fit(s, ends_x, t->bits, is_signed) && ask_fit(s, ends_y, t->bits, is_signed);
}

static bool test_relation(Inside *s, const SpvInst *i)
{
    Relation r;
    Ends less, more;
    if (!relation_of(i, true, &r) || !open_test(s, r.less, r.more, r.is_signed, &less, &more))
        return false;
    bool holds = varies(s, &less) ? is_below(&more) : !is_below(&less);
    if (!holds) {
        Ends other = less;
        less = more;
        more = other;
        r.by = !r.by;
    }
    if (!ask_relation(s, &less, &more, r.by))
        return false;
    decide(s, i, 0, holds);
    return true;
}

static bool test_equality(Inside *s, const SpvInst *i)
{
    Ends x, y;
    if (!open_test(s, spv_operand(i, 0), spv_operand(i, 1), true, &x, &y))
        return false;
    const Ends *own = varies(s, &x) ? &x : &y, *bound = own == &x ? &y : &x;
    bool below = is_below(bound);
    if (!ask_relation(s, below ? own : bound, below ? bound : own, 1))
        return false;
    decide(s, i, 0, i->op == SpvOpINotEqual);
    return true;
}

typedef enum Bounds { NO_BOUND, LOWER = 1, UPPER = 2, BOTH = 3 } Bounds;

static Bounds bounds_of(const SpvInst *i, bool *is_signed)
{
    static const struct {
        uint16_t set, op;
        Bounds bounds;
        bool is_signed;
    } all[] = {
        { SPV_SET_GLSLstd450, GLSLstd450SMin, UPPER, true },
        { SPV_SET_GLSLstd450, GLSLstd450UMin, UPPER, false },
        { SPV_SET_GLSLstd450, GLSLstd450SMax, LOWER, true },
        { SPV_SET_GLSLstd450, GLSLstd450UMax, LOWER, false },
        { SPV_SET_GLSLstd450, GLSLstd450SClamp, BOTH, true },
        { SPV_SET_GLSLstd450, GLSLstd450UClamp, BOTH, false },
        { SPV_SET_OpenCLstd_, OpenCLstd_s_min, UPPER, true },
        { SPV_SET_OpenCLstd_, OpenCLstd_u_min, UPPER, false },
        { SPV_SET_OpenCLstd_, OpenCLstd_s_max, LOWER, true },
        { SPV_SET_OpenCLstd_, OpenCLstd_u_max, LOWER, false },
        { SPV_SET_OpenCLstd_, OpenCLstd_s_clamp, BOTH, true },
        { SPV_SET_OpenCLstd_, OpenCLstd_u_clamp, BOTH, false },
    };
    for (uint32_t k = 0; k < COUNT_OF(all); k++)
        if (i->op == SpvOpExtInst && i->ext_set == all[k].set && spv_operand(i, 1) == all[k].op) {
            *is_signed = all[k].is_signed;
            return all[k].bounds;
        }
    return NO_BOUND;
}

/* A clamp, or a minimum or maximum with a bound, is the number inside. */
static bool test_clamp(Inside *s, const SpvInst *i)
{
    bool is_signed;
    Ends x, y;
    Bounds bounds = bounds_of(i, &is_signed);
    if (!bounds)
        return false;
    SpvId own = spv_operand(i, 2), bound = spv_operand(i, 3);
    if (!open_test(s, own, bound, is_signed, &x, &y))
        return false;
    if (bounds != BOTH && !varies(s, &x)) {
        Ends other = x;
        x = y;
        y = other;
        own = bound;
    }
    if (!varies(s, &x) || !ask_relation(s, bounds & LOWER ? &y : &x, bounds & LOWER ? &x : &y, 0))
        return false;
    if (bounds == BOTH &&
        (!open_test(s, own, spv_operand(i, 4), is_signed, &x, &y) || !ask_relation(s, &x, &y, 0)))
        return false;
    decide(s, i, own, false);
    return true;
}

static void look(Inside *s, const SpvInst *i)
{
    uint32_t n_tests = s->n_tests;
    bool equal = i->op == SpvOpIEqual || i->op == SpvOpINotEqual;
    if (!i->id || s->leaves[i->id] ||
        !(equal ? test_equality(s, i) : test_relation(s, i) || test_clamp(s, i)))
        s->n_tests = n_tests;
}

/* What loops are left by is not the same in all iterations. */
static void find_leaves(Inside *s)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        const CfgBlock *b = &s->g->blocks[p];
        const SpvInst *end = b->block->insts.last;
        for (uint32_t k = 0; end->op == SpvOpBranchConditional && k < b->n_succs; k++)
            if (b->loop && !cfg_in_loop(b->loop, s->g, b->succs[k]))
                s->leaves[spv_operand(end, 0)] = 1;
    }
}

static void find_tests(Inside *s)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        s->at = s->range.at = p;
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            look(s, i);
    }
}

/* Leaves out the tests that others say already. */
static void drop_tests(Inside *s)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->n_tests; k++) {
        bool said = false;
        for (uint32_t j = 0; j < s->n_tests && !said; j++) {
            int64_t less;
            Polynomial p = sum(s, &s->tests[k], &s->tests[j], -1);
            said = j != k && is_number(&p, &less) && less >= 0 && (less || j < k);
        }
        if (!said)
            s->tests[n++] = s->tests[k];
    }
    s->n_tests = n;
}

/* ---- the beginning --------------------------------------------------------------------------- */

typedef struct Writer {
    Inside *s;
    SpvInst *at;
    SpvId type; /* of 64 bits */
} Writer;

static SpvId put_early(const Writer *w, uint16_t op, SpvId type, SpvId x, SpvId y)
{
    return spv_put(w->s->m, w->at, op, type, (uint32_t[]){ x, y }, y ? 2 : 1)->id;
}

static SpvId put_early_number(const Writer *w, int64_t n)
{
    return spv_int_constant(w->s->m, w->type, (uint64_t)n);
}

static SpvId write_sum(const Writer *w, const Polynomial *p);

static SpvId write_builtin(const Writer *w, const Atom *a)
{
    SpvModule *m = w->s->m;
    SpvId scalar = spv_int_type(m, is_kernel(w->s) ? 64 : 32, false);
    SpvId v = edit_builtin(m, w->s->c->entry.inst, a->builtin, spv_vector_type(m, scalar, 3));
    const SpvType *t = spv_type(m, spv_type_of(m, v)->element->id);
    SpvId all = put_early(w, SpvOpLoad, t->id, v, 0);
    uint32_t part[2] = { all, a->part };
    SpvId x = spv_put(m, w->at, SpvOpCompositeExtract, t->element->id, part, 2)->id;
    return put_early(w, t->element->bits == 64 ? SpvOpBitcast : SpvOpUConvert, w->type, x, 0);
}

/* A load, and what it is of, again. */
static SpvId write_again(const Writer *w, SpvId id)
{
    const SpvInst *i = spv_def(w->s->m, id);
    uint16_t at[16];
    if (!i->block)
        return id;
    SpvInst *x = edit_another(w->s->m, i);
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = 0; k < MIN(n, COUNT_OF(at)); k++)
        x->words[at[k]] = write_again(w, i->words[at[k]]);
    spv_insert_before(w->at, x);
    return x->id;
}

static SpvId write_value(const Writer *w, const Atom *a)
{
    SpvId x = write_again(w, a->value);
    bool wide = spv_type_of(w->s->m, x)->bits == 64;
    return put_early(w, wide ? SpvOpBitcast : SpvOpSConvert, w->type, x, 0);
}

static SpvId write_last(const Writer *w, const Atom *a)
{
    SpvId start = write_sum(w, &a->start), last = write_sum(w, &a->most);
    SpvId boolean = spv_bool_type(w->s->m);
    if (a->step > 1) {
        SpvId way = put_early(w, SpvOpISub, w->type, last, start);
        SpvId left = put_early(w, SpvOpSRem, w->type, way, put_early_number(w, (int64_t)a->step));
        last = put_early(w, SpvOpISub, w->type, last, left);
    }
    uint32_t larger[3] = { put_early(w, SpvOpSGreaterThan, boolean, last, start), last, start };
    return spv_put(w->s->m, w->at, SpvOpSelect, w->type, larger, 3)->id;
}

static SpvId write_atom(const Writer *w, Atom *a)
{
    if (!a->at_beginning)
        a->at_beginning = a->kind == ATOM_BUILTIN ? write_builtin(w, a)
                          : a->kind == ATOM_VALUE ? write_value(w, a)
                                                  : write_last(w, a);
    return a->at_beginning;
}

static SpvId write_sum(const Writer *w, const Polynomial *p)
{
    SpvId r = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        const PolynomialTerm *t = &p->terms[k];
        uint32_t of = t->of[POLYNOMIAL_FACTORS - 1];
        SpvId times = put_early_number(w, (int64_t)t->times);
        if (of)
            times = put_early(w, SpvOpIMul, w->type, write_atom(w, &w->s->atoms[of - 1]), times);
        r = r ? put_early(w, SpvOpIAdd, w->type, r, times) : times;
    }
    return r ? r : put_early_number(w, 0);
}

/* Whether no test is negative. */
static SpvId write_tests(Inside *s, SpvInst *at)
{
    edit_capability(s->m, SpvCapabilityInt64);
    Writer w = { s, at, spv_int_type(s->m, 64, false) };
    SpvId all = put_early_number(&w, 0);
    for (uint32_t k = 0; k < s->n_tests; k++)
        all = put_early(&w, SpvOpBitwiseOr, w.type, all, write_sum(&w, &s->tests[k]));
    return put_early(&w, SpvOpSGreaterThanEqual, spv_bool_type(s->m), all, put_early_number(&w, 0));
}

/* ---- the version ----------------------------------------------------------------------------- */

static void apply(Inside *s, const PassVersion *v)
{
    SpvId zero = spv_int_constant(s->m, spv_int_type(s->m, 32, false), 0);
    for (uint32_t k = 0; k < s->decisions.len; k++) {
        const Decision *d = &s->decisions.data[k];
        SpvInst *copy = spv_def(s->m, loop_mapped(&v->copy, d->inst->id));
        SpvId operand = loop_mapped(&v->copy, d->operand), zeros[2] = { zero, zero };
        if (d->operand)
            edit_become(s->m, copy, SpvOpCopyObject, &operand, 1);
        else
            edit_become(s->m, copy, d->holds ? SpvOpIEqual : SpvOpINotEqual, zeros, 2);
    }
}

static bool may_have_twin(const Inside *s, const SpvInst *variable)
{
    return variable->op == SpvOpVariable && spv_operand(variable, 0) == SpvStorageClassWorkgroup &&
           spv_n_operands(variable) == 1 &&
           spv_type(s->m, variable->type)->element->kind == SPV_ARRAY &&
           !spv_has_decoration(s->m, variable->id, -1, SpvDecorationAliased);
}

/* Variables of workgroup memory are other ones in the version, so that each can be looked at by
 * itself (unstage.c, forward.c). */
static void part_variables(Inside *s, const PassVersion *v)
{
    PassContext *c = s->c;
    SpvId *twin = NEW_ARRAY(c->scratch, SpvId, s->n_ids);
    PassIdWords *ids = NEW(c->scratch, PassIdWords);
    for (SpvInst *i = s->m->globals.first; i && c->n_twins < PASS_TWINS; i = i->next)
        if (i->id < s->n_ids && may_have_twin(s, i)) {
            const SpvType *t = spv_type(s->m, i->type)->element;
            twin[i->id] = edit_variable(s->m, c->entry.inst, SpvStorageClassWorkgroup, t->id);
            c->twins[c->n_twins++] = (PassTwin){ i->id, twin[i->id] };
        }
    for (uint32_t k = 0; k < v->copy.blocks.len; k++)
        for (SpvInst *i = version_block(v, v->copy.blocks.data[k])->insts.first; i; i = i->next) {
            edit_ids(i, ids);
            for (uint32_t n = 0; n < ids->n; n++) {
                SpvId *id = &i->words[ids->at[n]];
                *id = *id < s->n_ids && twin[*id] ? twin[*id] : *id;
            }
        }
}

static bool add_version(Inside *s)
{
    PassVersion v;
    if (!version_open(&v, s->c))
        return false;
    SpvId is_inside = write_tests(s, v.at);
    apply(s, &v);
    if (s->c->entry.model == SpvExecutionModelGLCompute)
        part_variables(s, &v);
    return version_close(&v, is_inside);
}

static bool is_for(const PassContext *c)
{
    const uint32_t *size = c->entry.local_size;
    bool compute =
        c->entry.model == SpvExecutionModelGLCompute || c->entry.model == SpvExecutionModelKernel;
    return c->options->inside && compute && size[0] && size[1] && size[2] &&
           edit_count(c->entry.function) <= MOST_SIZE;
}

bool pass_inside(PassContext *c)
{
    if (!is_for(c))
        return true;
    Inside *s = NEW(c->scratch, Inside);
    *s = (Inside){ .c = c, .m = c->module, .reader = { .m = c->module, .bits = 64 } };
    s->g = cfg_build(c->scratch, c->entry.function, c->sink);
    if (!s->g)
        return false;
    s->n_ids = s->m->bound;
    s->atoms = NEW_ARRAY(c->scratch, Atom, MOST_ATOMS);
    s->tests = NEW_ARRAY(c->scratch, Polynomial, MOST_ASKED);
    s->leaves = NEW_ARRAY(c->scratch, uint8_t, s->n_ids);
    s->becomes = NEW_ARRAY(c->scratch, SpvId, s->n_ids);
    s->uniformity = uniformity_build_for(c->scratch, s->m, s->g, c->options->subgroup_size);
    range_find(&s->range, c, s->g);
    find_leaves(s);
    find_tests(s);
    drop_tests(s);
    return s->weight < LEAST_TESTS || !s->n_tests || s->n_tests > MOST_TESTS || add_version(s);
}

/* ---- share ----------------------------------------------------------------------------------- */

static bool is_used(const PassContext *c, SpvId id)
{
    PassIdWords *ids = NEW(c->scratch, PassIdWords);
    for (const SpvBlock *b = c->entry.function->first; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next) {
            edit_ids(i, ids);
            for (uint32_t k = 0; k < ids->n; k++)
                if (i->words[ids->at[k]] == id)
                    return true;
        }
    return false;
}

bool pass_share(PassContext *c)
{
    SpvId *with = NEW_ARRAY(c->scratch, SpvId, c->module->bound);
    for (uint32_t k = 0; k < c->n_twins; k++) {
        const PassTwin *t = &c->twins[k];
        if (spv_def(c->module, t->of) && spv_def(c->module, t->twin) && is_used(c, t->of))
            with[t->twin] = t->of;
    }
    edit_replace(c->entry.function, with, c->module->bound);
    bool any = c->n_twins;
    c->n_twins = 0;
    return !any || pass_simplify(c);
}
