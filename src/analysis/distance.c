/* SPDX-License-Identifier: MIT
 *
 * Pointers that lie at one distance. In: pointers into one object, each an access chain. Out:
 * whether each differs from the one before by the same number, which need not be known.
 *
 * The indices are written as polynomials: sums of products of values that are not looked into, as
 * the module computes them, modulo two to the power of their width. Where a polynomial would be too
 * large, a value is not looked into either, so two equal numbers may look different, but never the
 * other way round. That differences are equal modulo that power makes them equal: an index of n
 * bits "is treated as signed" (OpAccessChain), so that those of an array's elements are below
 * 2^(n-1), and their differences between -2^(n-1) and 2^(n-1). The element of OpPtrAccessChain may
 * be negative; there the width has to be that of addresses, which wrap around themselves.
 */
#include "analysis/analysis.h"

enum { MOST_FACTORS = 3, MOST_TERMS = 12, MOST_LOOKED_INTO = 64 };

typedef struct Term {
    uint64_t times;
    SpvId of[MOST_FACTORS]; /* ascending, zeros first */
} Term;

typedef struct Polynomial {
    Term terms[MOST_TERMS];
    uint32_t n;
    bool too_large;
} Polynomial;

typedef struct Distance {
    SpvModule *m;
    uint64_t mask; /* of the numbers' width */
    uint32_t left; /* values that may still be looked into */
} Distance;

static void add_term(const Distance *d, Polynomial *to, const Term *t, uint64_t times)
{
    uint32_t k = 0;
    times *= t->times;
    while (k < to->n && memcmp(to->terms[k].of, t->of, sizeof t->of))
        k++;
    if (k == MOST_TERMS) {
        to->too_large = true;
        return;
    }
    if (k == to->n) {
        to->terms[to->n++] = *t;
        to->terms[k].times = 0;
    }
    to->terms[k].times = (to->terms[k].times + times) & d->mask;
    if (!to->terms[k].times)
        to->terms[k] = to->terms[--to->n];
}

static void add_polynomial(const Distance *d, Polynomial *to, const Polynomial *x, uint64_t times)
{
    to->too_large |= x->too_large;
    for (uint32_t k = 0; k < x->n; k++)
        add_term(d, to, &x->terms[k], times);
}

static bool multiply_terms(const Term *x, const Term *y, Term *out)
{
    *out = (Term){ .times = x->times * y->times };
    int i = MOST_FACTORS - 1, j = i, k = i;
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

static void multiply_polynomials(const Distance *d, const Polynomial *x, const Polynomial *y,
                                 Polynomial *out)
{
    out->too_large |= x->too_large || y->too_large;
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t j = 0; j < y->n; j++) {
            Term t;
            if (multiply_terms(&x->terms[i], &y->terms[j], &t))
                add_term(d, out, &t, 1);
            else
                out->too_large = true;
        }
}

static Polynomial polynomial(Distance *d, SpvId id);

/* What the instruction computes of its operands; too large: it is not looked into. */
static Polynomial looked_into(Distance *d, const SpvInst *i)
{
    Polynomial p = { .n = 0 }, x, y;
    uint64_t shift;
    switch (i->op) {
    case SpvOpIAdd:
    case SpvOpISub:
        p = polynomial(d, spv_operand(i, 0));
        y = polynomial(d, spv_operand(i, 1));
        add_polynomial(d, &p, &y, i->op == SpvOpIAdd ? 1 : UINT64_MAX);
        return p;
    case SpvOpIMul:
        x = polynomial(d, spv_operand(i, 0));
        y = polynomial(d, spv_operand(i, 1));
        multiply_polynomials(d, &x, &y, &p);
        return p;
    case SpvOpShiftLeftLogical:
        if (!spv_constant(d->m, spv_operand(i, 1), &shift) || d->mask >> 1 >> shift == 0)
            break;
        x = polynomial(d, spv_operand(i, 0));
        add_polynomial(d, &p, &x, UINT64_C(1) << shift);
        return p;
    case SpvOpCopyObject: return polynomial(d, spv_operand(i, 0));
    default: break;
    }
    p.too_large = true;
    return p;
}

static Polynomial polynomial(Distance *d, SpvId id)
{
    Polynomial p = { .n = 0 };
    const SpvInst *i = spv_def(d->m, id);
    uint64_t bits;
    if (spv_constant(d->m, id, &bits)) {
        Term t = { .times = 1 };
        add_term(d, &p, &t, bits);
        return p;
    }
    if (i && d->left) {
        d->left--;
        p = looked_into(d, i);
        if (!p.too_large)
            return p;
    }
    Term t = { .times = 1 };
    t.of[MOST_FACTORS - 1] = id;
    p = (Polynomial){ .n = 0 };
    add_term(d, &p, &t, 1);
    return p;
}

static bool is_chain(uint16_t op)
{
    return op == SpvOpAccessChain || op == SpvOpInBoundsAccessChain || op == SpvOpPtrAccessChain ||
           op == SpvOpInBoundsPtrAccessChain;
}

/* The one operand in which the chains differ, 0: none. False: they differ in more. */
static bool find_index(const SpvInst *a, const SpvInst *b, uint32_t *which)
{
    if (!a || !b || !is_chain(a->op) || a->op != b->op || spv_n_operands(a) != spv_n_operands(b) ||
        spv_operand(a, 0) != spv_operand(b, 0))
        return false;
    for (uint32_t k = 1; k < spv_n_operands(a); k++) {
        if (spv_operand(a, k) == spv_operand(b, k))
            continue;
        if (*which && *which != k)
            return false;
        *which = k;
    }
    return true;
}

static bool has_element(const SpvInst *i)
{
    return i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain;
}

/* What the chain's operand selects a part of. */
static const SpvType *indexed_type(SpvModule *m, const SpvInst *i, uint32_t which)
{
    const SpvType *t = spv_type_of(m, spv_operand(i, 0));
    t = t ? t->element : NULL;
    for (uint32_t k = has_element(i) ? 2 : 1; t && k < which; k++) {
        uint64_t member;
        bool known = spv_constant(m, spv_operand(i, k), &member);
        t = t->kind != SPV_STRUCT        ? t->element
            : known && member < t->count ? t->members[member]
                                         : NULL;
    }
    return t;
}

/* Whether the chain's operand, so many bits wide, counts what lies at one distance: neither the
 * members of a structure nor descriptors. */
static bool counts_elements(SpvModule *m, const SpvInst *i, uint32_t which, uint32_t bits)
{
    const SpvInst *base = spv_def(m, spv_operand(i, 0));
    const SpvType *t = indexed_type(m, i, which), *p = spv_type_of(m, spv_operand(i, 0));
    bool buffers =
        p && (p->storage == SpvStorageClassStorageBuffer || p->storage == SpvStorageClassUniform);
    if (!base || !p || (buffers && base->op == SpvOpVariable && which == 1))
        return false;
    if (has_element(i) && which == 1)
        return bits == 64;
    return t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY || t->kind == SPV_VECTOR);
}

bool pointers_even(SpvModule *m, const SpvId *pointers, uint32_t n)
{
    const SpvInst *first = spv_def(m, pointers[0]);
    uint32_t which = 0;
    for (uint32_t k = 1; k < n; k++)
        if (pointers[k] != pointers[0] && !find_index(first, spv_def(m, pointers[k]), &which))
            return false;
    if (!which)
        return true;
    const SpvType *t = spv_type_of(m, spv_operand(first, which));
    if (!t || t->kind != SPV_INT || !counts_elements(m, first, which, t->bits))
        return false;
    Distance d = { m, t->bits < 64 ? (UINT64_C(1) << t->bits) - 1 : UINT64_MAX, 0 };
    Polynomial last = { .n = 0 }, apart = last;
    for (uint32_t k = 0; k < n; k++) {
        const SpvInst *i = spv_def(m, pointers[k]);
        const SpvType *other = spv_type_of(m, spv_operand(i, which));
        if (!other || other->kind != SPV_INT || other->bits != t->bits ||
            other->is_signed != t->is_signed)
            return false;
        d.left = MOST_LOOKED_INTO;
        Polynomial here = polynomial(&d, spv_operand(i, which)), more = here;
        add_polynomial(&d, &more, &last, UINT64_MAX);
        if (k == 1)
            apart = more;
        add_polynomial(&d, &more, &apart, UINT64_MAX);
        if (more.too_large || (k > 0 && more.n))
            return false;
        last = here;
    }
    return true;
}
