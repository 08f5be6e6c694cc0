/* SPDX-License-Identifier: MIT
 *
 * Integers as polynomials: sums of products of values that are not looked into, as the module
 * computes them, modulo two to the power of their width. Where a polynomial would be too large, a
 * value is not looked into either, so two equal numbers may look different, but never the other way
 * round.
 */
#include "analysis/analysis.h"

enum { MOST_LOOKED_INTO = 64, MOST_ALIKE = 6 /* instructions, one of the other */ };

static uint64_t mask_of(const PolynomialReader *d)
{
    return d->bits < 64 ? (UINT64_C(1) << d->bits) - 1 : UINT64_MAX;
}

static void add_term(const PolynomialReader *d, Polynomial *to, const PolynomialTerm *t,
                     uint64_t times)
{
    uint32_t k = 0;
    times *= t->times;
    while (k < to->n && memcmp(to->terms[k].of, t->of, sizeof t->of))
        k++;
    if (k == POLYNOMIAL_TERMS) {
        to->too_large = true;
        return;
    }
    if (k == to->n) {
        to->terms[to->n++] = *t;
        to->terms[k].times = 0;
    }
    to->terms[k].times = (to->terms[k].times + times) & mask_of(d);
    if (!to->terms[k].times)
        to->terms[k] = to->terms[--to->n];
}

void polynomial_add(const PolynomialReader *d, Polynomial *to, const Polynomial *x, uint64_t times)
{
    to->too_large |= x->too_large;
    for (uint32_t k = 0; k < x->n; k++)
        add_term(d, to, &x->terms[k], times);
}

static bool multiply_terms(const PolynomialTerm *x, const PolynomialTerm *y, PolynomialTerm *out)
{
    *out = (PolynomialTerm){ .times = x->times * y->times };
    int i = POLYNOMIAL_FACTORS - 1, j = i, k = i;
    while (k >= 0 && (i >= 0 || j >= 0)) {
        bool from_x = j < 0 || (i >= 0 && x->of[i] >= y->of[j]);
        out->of[k--] = from_x ? x->of[i--] : y->of[j--];
    }
    while (i >= 0 && !x->of[i])
        i--;
    while (j >= 0 && !y->of[j])
        j--;
    return i < 0 && j < 0;
}

bool polynomial_equal(const PolynomialReader *d, const Polynomial *x, const Polynomial *y)
{
    Polynomial rest = *x;
    polynomial_add(d, &rest, y, UINT64_MAX);
    return !rest.too_large && !rest.n;
}

bool polynomial_number(const Polynomial *p, uint64_t *value)
{
    static const PolynomialTerm one = { .times = 1 };
    *value = p->n ? p->terms[0].times : 0;
    return !p->too_large &&
           (!p->n || (p->n == 1 && !memcmp(p->terms[0].of, one.of, sizeof one.of)));
}

static void multiply_polynomials(const PolynomialReader *d, const Polynomial *x,
                                 const Polynomial *y, Polynomial *out)
{
    out->too_large |= x->too_large || y->too_large;
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t j = 0; j < y->n; j++) {
            PolynomialTerm t;
            if (multiply_terms(&x->terms[i], &y->terms[j], &t))
                add_term(d, out, &t, 1);
            else
                out->too_large = true;
        }
}

static Polynomial value_of(PolynomialReader *d, SpvId id);

static Polynomial number(const PolynomialReader *d, uint64_t value)
{
    Polynomial p = { .n = 0 };
    PolynomialTerm one = { .times = 1 };
    add_term(d, &p, &one, value);
    return p;
}

/* What only numbers are known of; signed operations where neither is negative. */
static bool computed(uint16_t op, uint64_t x, uint64_t y, uint64_t sign, uint64_t *r)
{
    switch (op) {
    case SpvOpSDiv:
    case SpvOpSMod:
    case SpvOpSRem:
        if ((x | y) & sign)
            return false;
        /* fallthrough */
    case SpvOpUDiv:
    case SpvOpUMod:
        if (y)
            *r = op == SpvOpUDiv || op == SpvOpSDiv ? x / y : x % y;
        return y;
    case SpvOpBitwiseAnd: *r = x & y; return true;
    case SpvOpBitwiseOr: *r = x | y; return true;
    case SpvOpBitwiseXor: *r = x ^ y; return true;
    case SpvOpShiftRightLogical: *r = y < 64 ? x >> y : 0; return true;
    default: return false;
    }
}

static bool is_computed(uint16_t op)
{
    uint64_t r;
    return computed(op, 1, 1, 0, &r);
}

/* An integer as wide, of either sign. */
static bool is_recast(const PolynomialReader *d, const SpvInst *i)
{
    const SpvType *t = spv_type_of(d->m, spv_operand(i, 0));
    return t && t->kind == SPV_INT && t->bits == d->bits;
}

/* An integer's width; 0: it is none. */
static uint32_t width(SpvModule *m, SpvId id)
{
    const SpvType *t = spv_type_of(m, id);
    return t && t->kind == SPV_INT ? t->bits : 0;
}

static uint64_t extended(const PolynomialReader *d, SpvId id, uint64_t value)
{
    uint32_t bits = width(d->m, id);
    if (!d->extends || !bits || bits >= d->bits)
        return value;
    return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits)) & mask_of(d);
}

/* What the instruction computes of its operands; too large: it is not looked into. */
static Polynomial looked_into(PolynomialReader *d, const SpvInst *i)
{
    Polynomial p = { .n = 0 }, x, y;
    uint64_t shift, a, b;
    if (is_computed(i->op) && (!d->extends || width(d->m, i->id) == d->bits)) {
        x = value_of(d, spv_operand(i, 0));
        y = value_of(d, spv_operand(i, 1));
        if (polynomial_number(&x, &a) && polynomial_number(&y, &b) &&
            computed(i->op, a, b, mask_of(d) ^ mask_of(d) >> 1, &shift))
            return number(d, shift);
        p.too_large = true;
        return p;
    }
    switch (i->op) {
    case SpvOpIAdd:
    case SpvOpISub:
        p = value_of(d, spv_operand(i, 0));
        y = value_of(d, spv_operand(i, 1));
        polynomial_add(d, &p, &y, i->op == SpvOpIAdd ? 1 : UINT64_MAX);
        return p;
    case SpvOpIMul:
        x = value_of(d, spv_operand(i, 0));
        y = value_of(d, spv_operand(i, 1));
        multiply_polynomials(d, &x, &y, &p);
        return p;
    case SpvOpShiftLeftLogical:
        if (!spv_constant(d->m, spv_operand(i, 1), &shift) || shift >= d->bits - 1)
            break;
        x = value_of(d, spv_operand(i, 0));
        polynomial_add(d, &p, &x, UINT64_C(1) << shift);
        return p;
    case SpvOpSConvert:
        if (!d->extends || !width(d->m, i->id) || width(d->m, i->id) > d->bits ||
            width(d->m, spv_operand(i, 0)) >= width(d->m, i->id))
            break;
        return value_of(d, spv_operand(i, 0));
    case SpvOpCopyObject: return value_of(d, spv_operand(i, 0));
    case SpvOpBitcast:
        if (is_recast(d, i))
            return value_of(d, spv_operand(i, 0));
        break;
    default: break;
    }
    p.too_large = true;
    return p;
}

bool loads_constant(SpvModule *m, const SpvInst *i)
{
    const SpvType *p = i->op == SpvOpLoad ? spv_type_of(m, spv_operand(i, 0)) : NULL;
    return p && p->kind == SPV_POINTER &&
           (p->storage == SpvStorageClassInput || p->storage == SpvStorageClassPushConstant);
}

/* Whether two instructions compute the same, as those do that front ends write for each use of an
 * invocation's number. */
static bool is_same(SpvModule *m, SpvId x, SpvId y, uint32_t depth)
{
    const SpvInst *a = spv_def(m, x), *b = spv_def(m, y);
    if (x == y)
        return true;
    if (!a || !b || !depth || a->op != b->op || a->type != b->type || a->n_words != b->n_words ||
        a->first_operand != b->first_operand || a->op == SpvOpPhi ||
        (!spv_is_pure(a) && !loads_constant(m, a) && a->op != SpvOpAccessChain))
        return false;
    uint16_t at[8];
    uint32_t n = spv_id_operands(a, at, COUNT_OF(at)), next = 0;
    for (uint32_t k = a->first_operand; k < a->n_words; k++) {
        bool id = next < MIN(n, COUNT_OF(at)) && at[next] == k;
        next += id;
        if (a->words[k] != b->words[k] && (!id || !is_same(m, a->words[k], b->words[k], depth - 1)))
            return false;
    }
    return true;
}

bool values_alike(SpvModule *m, SpvId x, SpvId y) { return is_same(m, x, y, MOST_ALIKE); }

/* The first value not looked into that is the same. */
static SpvId first_alike(PolynomialReader *d, SpvId id)
{
    for (uint32_t k = 0; k < d->n_unlike; k++)
        if (is_same(d->m, d->unlike[k], id, MOST_ALIKE))
            return d->unlike[k];
    if (d->n_unlike < COUNT_OF(d->unlike))
        d->unlike[d->n_unlike++] = id;
    return id;
}

static Polynomial value_of(PolynomialReader *d, SpvId id)
{
    Polynomial p = { .n = 0 };
    const SpvInst *i = spv_def(d->m, id);
    uint64_t bits;
    if (spv_constant(d->m, id, &bits) || (d->known && i && d->known(d->user, i, &bits)))
        return number(d, extended(d, id, bits));
    bool more = i && d->more && d->more(d->user, i, &bits);
    if (i && d->left && !more) {
        d->left--;
        p = looked_into(d, i);
        if (!p.too_large)
            return p;
    }
    PolynomialTerm t = { .times = 1 };
    t.of[POLYNOMIAL_FACTORS - 1] = first_alike(d, id);
    p = more ? number(d, extended(d, id, bits)) : (Polynomial){ .n = 0 };
    add_term(d, &p, &t, 1);
    return p;
}

/* Where it is a number, in less time. */
static bool number_of(PolynomialReader *d, SpvId id, uint64_t *value)
{
    const SpvInst *i = spv_def(d->m, id);
    uint64_t x, y = 0;
    if (spv_constant(d->m, id, value) || (d->known && i && d->known(d->user, i, value))) {
        *value &= mask_of(d);
        return true;
    }
    if (!i || !d->left || d->extends)
        return false;
    d->left--;
    bool same = i->op == SpvOpCopyObject || (i->op == SpvOpBitcast && is_recast(d, i));
    bool sums = i->op == SpvOpIAdd || i->op == SpvOpISub || i->op == SpvOpIMul;
    if ((!same && !sums && !is_computed(i->op)) || !number_of(d, spv_operand(i, 0), &x) ||
        (!same && !number_of(d, spv_operand(i, 1), &y)))
        return false;
    if (!same && !sums)
        return computed(i->op, x, y, mask_of(d) ^ mask_of(d) >> 1, value);
    *value = mask_of(d) & (i->op == SpvOpIAdd   ? x + y
                           : i->op == SpvOpISub ? x - y
                           : i->op == SpvOpIMul ? x * y
                                                : x);
    return true;
}

Polynomial polynomial_read(PolynomialReader *d, SpvId id)
{
    uint64_t value;
    d->left = MOST_LOOKED_INTO;
    if (number_of(d, id, &value))
        return number(d, value);
    d->left = MOST_LOOKED_INTO;
    return value_of(d, id);
}
