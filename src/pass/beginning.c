/* SPDX-License-Identifier: MIT
 *
 * beginning: what can be said at a kernel's beginning of the integers of all invocations of a
 * workgroup, in all iterations of their loops (inside.c). Each lies between two ends, which are
 * sums of products of what the beginning knows: the workgroup's place, push constants, arguments,
 * and the last value of a counter that goes up to such a bound. The ends are those of the numbers
 * that the kernel would compute if they did not overflow; whether they do is asked, too.
 */
#include "pass/edit.h"

enum {
    MOST_ASKED = 256,
    MOST_ATOMS = 64,
    MOST_DEEP = 24,
    MOST_LOOKED_AT = 256, /* values, for one integer */
    MOST_TIMES = 1 << 20, /* factors of what is below 2^32: their sums are below 2^63 */
};

/* What the beginning knows. */
typedef enum AtomKind {
    ATOM_BUILTIN, /* component `part` of one */
    ATOM_VALUE,   /* a parameter, or what is loaded from where nobody writes */
    ATOM_LAST,    /* the last of start, start + step, ... that is at most `most`; or the start */
} AtomKind;

typedef struct PassAtom {
    AtomKind kind;
    uint32_t builtin, part;
    SpvId value;
    Polynomial start, most;
    uint64_t step;
    SpvId at_beginning; /* 64 bits wide, once it was written */
} Atom;

typedef PassBeginning Beginning;
typedef PassEnds Ends;
typedef PassRelation Relation;

/* ---- sums ------------------------------------------------------------------------------------ */

static Polynomial number(const Beginning *s, int64_t n)
{
    Polynomial one = { .n = 1, .terms[0].times = 1 }, p = { .n = 0 };
    if (n)
        polynomial_add(&s->reader, &p, &one, (uint64_t)n);
    return p;
}

static Polynomial sum(const Beginning *s, const Polynomial *x, const Polynomial *y, int64_t times)
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

bool ends_are_one(const Beginning *s, const Ends *x)
{
    return polynomial_equal(&s->reader, &x->low, &x->high);
}

/* ---- what the beginning is asked ------------------------------------------------------------- */

/* p is not negative. False: it is, always, or there are too many tests. */
static bool ask(Beginning *s, const Polynomial *p)
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

static bool ask_at_most(Beginning *s, const Polynomial *x, int64_t most)
{
    Polynomial m = number(s, most), p = sum(s, &m, x, -1);
    return ask(s, &p);
}

static bool ask_at_least(Beginning *s, const Polynomial *x, int64_t least)
{
    Polynomial m = number(s, least), p = sum(s, x, &m, -1);
    return ask(s, &p);
}

bool beginning_ask_fit(Beginning *s, const Ends *x, uint32_t bits, bool is_signed)
{
    return (is_signed && bits == 64 ? true : ask_at_least(s, &x->low, is_signed ? INT32_MIN : 0)) &&
           (bits == 64 || ask_at_most(s, &x->high, INT32_MAX));
}

bool beginning_ask_order(Beginning *s, const Ends *less, const Ends *more, uint32_t by)
{
    Polynomial number_by = number(s, by), p = sum(s, &more->low, &less->high, -1);
    p = sum(s, &p, &number_by, -1);
    return ask(s, &p);
}

/* ---- where integers are ---------------------------------------------------------------------- */

static bool ends_of(Beginning *s, SpvId id, uint32_t depth, Ends *x);

static bool is_kernel(const Beginning *s) { return s->c->entry.model == SpvExecutionModelKernel; }

static bool same_atom(const Beginning *s, const Atom *x, const Atom *y)
{
    if (x->kind != y->kind || x->builtin != y->builtin || x->part != y->part || x->step != y->step)
        return false;
    if (x->kind == ATOM_VALUE)
        return x->value == y->value || (spv_def(s->m, x->value)->op != SpvOpFunctionParameter &&
                                        values_alike(s->m, x->value, y->value));
    return x->kind == ATOM_BUILTIN || (polynomial_equal(&s->reader, &x->start, &y->start) &&
                                       polynomial_equal(&s->reader, &x->most, &y->most));
}

static Polynomial atom(Beginning *s, const Atom *a)
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

static Polynomial builtin_atom(Beginning *s, uint32_t builtin, uint32_t part)
{
    return atom(s, &(Atom){ .kind = ATOM_BUILTIN, .builtin = builtin, .part = part });
}

/* Component k of a built-in that is different for each invocation or workgroup. */
static bool ends_of_builtin(Beginning *s, uint32_t builtin, uint64_t k, Ends *x)
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
            Ends offset = exactly(builtin_atom(s, SpvBuiltInGlobalOffset, (uint32_t)k));
            x->low = sum(s, &x->low, &offset.low, 1);
            if (!beginning_ask_fit(s, &offset, 32, true))
                return false;
        }
        Polynomial more = number(s, (int64_t)size[k] - 1);
        x->high = sum(s, &x->low, &more, 1);
    } else
        return false;
    return true;
}

/* A load, or component k of one, from a variable or a fixed place in it: that variable, and the
 * component. */
static const SpvInst *loaded_from(const Beginning *s, const SpvInst *i, uint64_t *k)
{
    *k = 0;
    bool part = i->op == SpvOpCompositeExtract && spv_n_operands(i) == 2;
    const SpvInst *load = part ? spv_def(s->m, spv_operand(i, 0)) : i;
    if (part)
        *k = spv_operand(i, 1);
    if (!load || load->op != SpvOpLoad || !loads_constant(s->m, load))
        return NULL;
    const SpvInst *p = spv_def(s->m, spv_operand(load, 0));
    if (edit_is_fixed_chain(s->m, p)) {
        if (!part && spv_n_operands(p) == 2)
            spv_constant(s->m, spv_operand(p, 1), k);
        p = spv_def(s->m, spv_operand(p, 0));
    }
    return p && p->op == SpvOpVariable ? p : NULL;
}

static bool ends_of_loaded(Beginning *s, const SpvInst *i, uint32_t bits, Ends *x)
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
    return bits == 32 || beginning_ask_fit(s, x, 32, true);
}

/* By a number. */
static bool multiply(Beginning *s, Ends *x, int64_t by)
{
    Polynomial none = { .n = 0 }, low = sum(s, &none, &x->low, by),
               high = sum(s, &none, &x->high, by);
    *x = by < 0 ? (Ends){ high, low } : (Ends){ low, high };
    return by >= -MOST_TIMES && by <= MOST_TIMES && is_small(&low) && is_small(&high);
}

static bool ends_of_product(Beginning *s, const SpvInst *i, uint32_t depth, Ends *x)
{
    Ends y;
    int64_t by;
    if (!ends_of(s, spv_operand(i, 0), depth, x) || !ends_of(s, spv_operand(i, 1), depth, &y))
        return false;
    if (is_number(&y.low, &by) && ends_are_one(s, &y))
        return multiply(s, x, by);
    Ends z = *x;
    *x = y;
    return is_number(&z.low, &by) && ends_are_one(s, &z) && multiply(s, x, by);
}

static bool ends_of_sum(Beginning *s, const SpvInst *i, uint32_t depth, Ends *x)
{
    Ends y;
    if (!ends_of(s, spv_operand(i, 0), depth, x) || !ends_of(s, spv_operand(i, 1), depth, &y))
        return false;
    bool minus = i->op == SpvOpISub;
    x->low = sum(s, &x->low, minus ? &y.high : &y.low, minus ? -1 : 1);
    x->high = sum(s, &x->high, minus ? &y.low : &y.high, minus ? -1 : 1);
    return is_small(&x->low) && is_small(&x->high);
}

/* Divided by a number, or the rest, of what is between two numbers that are not negative. */
static bool ends_of_quotient(Beginning *s, const SpvInst *i, uint32_t depth, Ends *x)
{
    uint64_t by;
    int64_t low, high;
    if (!spv_constant(s->m, spv_operand(i, 1), &by) || !by || by > INT32_MAX ||
        !ends_of(s, spv_operand(i, 0), depth, x) || !is_number(&x->low, &low) || low < 0 ||
        !is_number(&x->high, &high) || high > INT32_MAX)
        return false;
    int64_t n = (int64_t)by;
    if (i->op == SpvOpUDiv || i->op == SpvOpSDiv)
        *x = (Ends){ number(s, low / n), number(s, high / n) };
    else if (high >= n)
        *x = (Ends){ number(s, 0), number(s, n - 1) };
    return true;
}

/* Of a wider or narrower one: the same number, if it is one of that width. */
static bool ends_of_converted(Beginning *s, const SpvInst *i, uint32_t bits, uint32_t depth,
                              Ends *x)
{
    const SpvType *from = spv_type_of(s->m, spv_operand(i, 0));
    return from->kind == SPV_INT && ends_of(s, spv_operand(i, 0), depth, x) &&
           (from->bits >= bits || beginning_ask_fit(s, x, from->bits, i->op == SpvOpSConvert));
}

/* ---- counters -------------------------------------------------------------------------------- */

bool relation_read(const SpvInst *i, bool holds, Relation *r)
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
static bool stays_if(const Beginning *s, const CfgLoop *loop, uint32_t p, Relation *r, uint32_t *to)
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
           condition && relation_read(condition, then, r);
}

/* The largest value of a counter that begins between `x` and goes up by steps to `most`. */
static bool count_up(Beginning *s, Ends *x, const Polynomial *most, uint64_t step,
                     bool at_least_once)
{
    int64_t start, last;
    bool exact = ends_are_one(s, x);
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

/* What a counter grows by, and starts with. */
static bool find_step(const Beginning *s, const CfgLoop *loop, const SpvInst *phi, SpvId *start,
                      const SpvInst **next, uint64_t *step)
{
    const CfgBlock *header = &s->g->blocks[loop->header];
    uint32_t before = header->preds[header->preds[0] == loop->latch];
    const SpvInst *i = spv_def(s->m, loop_incoming(phi, s->g->blocks[loop->latch].block->id));
    *start = loop_incoming(phi, s->g->blocks[before].block->id);
    *next = i;
    return i && i->op == SpvOpIAdd && spv_operand(i, 0) == phi->id &&
           spv_constant(s->m, spv_operand(i, 1), step) && *step && *step <= MOST_TIMES;
}

/* The loop is only come to if what holds of the next numbers holds of the first one, too. */
static bool is_guarded(const Beginning *s, const CfgLoop *loop, SpvId start, const Relation *r)
{
    Relation guard;
    for (uint32_t b = loop->header; b; b = s->g->blocks[b].idom) {
        uint32_t from = s->g->blocks[b].idom;
        const SpvInst *end = s->g->blocks[from].block->insts.last;
        const SpvInst *test =
            end->op == SpvOpBranchConditional ? spv_def(s->m, spv_operand(end, 0)) : NULL;
        bool chosen = s->g->blocks[b].n_preds == 1, known = test && test->block;
        bool when = known && spv_operand(end, 1) == s->g->blocks[b].block->id;
        if (chosen && known && relation_read(test, when, &guard) && guard.less == start &&
            guard.more == r->more && guard.by == r->by && guard.is_signed == r->is_signed)
            return true;
    }
    return false;
}

/* The counter of a loop, where one of the tests by which it is left is known to have held. */
static bool ends_by_test(Beginning *s, const CfgLoop *loop, const SpvInst *phi, uint32_t p,
                         uint32_t depth, Ends *x)
{
    Relation r;
    uint32_t to;
    uint64_t step;
    SpvId start;
    Ends bound;
    const SpvInst *next;
    if (!find_step(s, loop, phi, &start, &next, &step) || !stays_if(s, loop, p, &r, &to) ||
        (r.less != phi->id && r.less != next->id))
        return false;
    bool behind = r.less == phi->id;
    if (behind && (s->g->blocks[to].n_preds != 1 || !cfg_dominates(s->g, to, s->at)))
        return false;
    if (!ends_of(s, start, depth, x) || !ends_of(s, r.more, depth, &bound) ||
        !beginning_ask_fit(s, x, 32, r.is_signed) || !beginning_ask_fit(s, &bound, 32, r.is_signed))
        return false; /* wider ones, too: other sums are of them */
    Polynomial by = number(s, -(int64_t)r.by), most = sum(s, &bound.high, &by, 1);
    Polynomial on = number(s, (int64_t)step);
    if (!count_up(s, x, &most, step, !behind && !is_guarded(s, loop, start, &r)))
        return false;
    on = sum(s, &x->high, &on, 1);
    return ask_at_most(s, &on, INT32_MAX); /* the next one is more */
}

static bool ends_of_counter(Beginning *s, const SpvInst *phi, uint32_t depth, Ends *x)
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

static bool ends_of_inst(Beginning *s, const SpvInst *i, uint32_t bits, uint32_t depth, Ends *x)
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
    case SpvOpUDiv:
    case SpvOpSDiv:
    case SpvOpUMod:
    case SpvOpSRem:
    case SpvOpSMod: return ends_of_quotient(s, i, depth, x);
    case SpvOpSConvert:
    case SpvOpUConvert: return ends_of_converted(s, i, bits, depth, x);
    case SpvOpBitcast:
    case SpvOpCopyObject: return ends_of(s, spv_operand(i, 0), depth, x);
    case SpvOpPhi: return ends_of_counter(s, i, depth, x);
    default: return false;
    }
}

/* What it is computed of tells more. */
static bool is_arithmetic(uint16_t op)
{
    return op == SpvOpIAdd || op == SpvOpISub || op == SpvOpIMul || op == SpvOpBitcast ||
           op == SpvOpCopyObject || op == SpvOpSConvert || op == SpvOpUConvert;
}

static bool ends_of(Beginning *s, SpvId id, uint32_t depth, Ends *x)
{
    const SpvInst *i = spv_def(s->m, id);
    const SpvType *t = i && i->type ? spv_type(s->m, i->type) : NULL;
    uint64_t bits;
    if (!t || t->kind != SPV_INT || (t->bits != 32 && t->bits != 64) || !depth || !s->left)
        return false;
    s->left--;
    if (id < s->n_ids && s->becomes[id])
        return ends_of(s, s->becomes[id], depth - 1, x);
    if (spv_constant(s->m, id, &bits)) {
        int64_t value = t->bits == 32 ? (int32_t)bits : (int64_t)bits;
        *x = exactly(number(s, value));
        return is_small(&x->low);
    }
    if (ends_of_inst(s, i, t->bits, depth - 1, x))
        return true;
    if (is_arithmetic(i->op))
        return false;
    s->range.at = s->at;
    uint64_t largest = range_largest(&s->range, id);
    *x = (Ends){ number(s, 0), number(s, (int64_t)largest) };
    return largest != RANGE_UNKNOWN;
}

bool beginning_ends(Beginning *s, SpvId id, Ends *x)
{
    s->left = MOST_LOOKED_AT;
    return ends_of(s, id, MOST_DEEP, x);
}

/* ---- the beginning --------------------------------------------------------------------------- */

void beginning_open(Beginning *s, PassContext *c, const Cfg *g)
{
    *s = (Beginning){ .c = c, .m = c->module, .g = g, .n_ids = c->module->bound };
    s->reader = (PolynomialReader){ .m = c->module, .bits = 64 };
    s->atoms = NEW_ARRAY(c->scratch, Atom, MOST_ATOMS);
    s->tests = NEW_ARRAY(c->scratch, Polynomial, MOST_ASKED);
    s->becomes = NEW_ARRAY(c->scratch, SpvId, s->n_ids);
    range_find(&s->range, c, g);
}

void beginning_drop(Beginning *s)
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

typedef struct Writer {
    Beginning *s;
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

SpvId beginning_write(Beginning *s, SpvInst *at)
{
    edit_capability(s->m, SpvCapabilityInt64);
    Writer w = { s, at, spv_int_type(s->m, 64, false) };
    SpvId all = put_early_number(&w, 0);
    for (uint32_t k = 0; k < s->n_tests; k++)
        all = put_early(&w, SpvOpBitwiseOr, w.type, all, write_sum(&w, &s->tests[k]));
    return put_early(&w, SpvOpSGreaterThanEqual, spv_bool_type(s->m), all, put_early_number(&w, 0));
}
