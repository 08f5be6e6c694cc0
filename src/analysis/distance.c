/* SPDX-License-Identifier: MIT
 *
 * Pointers that lie at one distance. In: pointers into one object, each an access chain. Out:
 * whether each differs from the one before by the same number, which need not be known.
 *
 * The indices are written as polynomials (polynomial.c), modulo two to the power of their width.
 * That differences are equal modulo that power makes them equal: an index of n bits "is treated as
 * signed" (OpAccessChain), so that those of an array's elements are below 2^(n-1), and their
 * differences between -2^(n-1) and 2^(n-1). The element of OpPtrAccessChain may be negative; there
 * the width has to be that of addresses, which wrap around themselves.
 */
#include "analysis/analysis.h"

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
    PolynomialReader d = { .m = m, .bits = t->bits };
    Polynomial last = { .n = 0 }, apart = last;
    for (uint32_t k = 0; k < n; k++) {
        const SpvInst *i = spv_def(m, pointers[k]);
        const SpvType *other = spv_type_of(m, spv_operand(i, which));
        if (!other || other->kind != SPV_INT || other->bits != t->bits ||
            other->is_signed != t->is_signed)
            return false;
        Polynomial here = polynomial_read(&d, spv_operand(i, which)), more = here;
        polynomial_add(&d, &more, &last, UINT64_MAX);
        if (k == 1)
            apart = more;
        polynomial_add(&d, &more, &apart, UINT64_MAX);
        if (more.too_large || (k > 0 && more.n))
            return false;
        last = here;
    }
    return true;
}

bool pointers_apart(SpvModule *m, SpvId from, SpvId to, bool kernel, int64_t *elements)
{
    const SpvInst *a = spv_def(m, from), *b = spv_def(m, to);
    uint32_t which = 0;
    *elements = 0;
    if (from == to)
        return true;
    if (!find_index(a, b, &which) || a->type != b->type)
        return false;
    if (!which)
        return true;
    if (which + 1 != spv_n_operands(a))
        return false;
    SpvId x = spv_operand(a, which), y = spv_operand(b, which);
    const SpvType *t = spv_type_of(m, x), *u = spv_type_of(m, y);
    if (!t || t->kind != SPV_INT || !u || u->kind != SPV_INT || u->bits != t->bits ||
        !counts_elements(m, a, which, t->bits))
        return false;
    PolynomialReader d = { .m = m, .bits = t->bits, .extends = kernel };
    Polynomial apart = polynomial_read(&d, y), before = polynomial_read(&d, x);
    uint64_t n;
    polynomial_add(&d, &apart, &before, UINT64_MAX);
    if (!polynomial_number(&apart, &n))
        return false;
    uint32_t unused = 64 - t->bits;
    *elements = (int64_t)(n << unused) >> unused;
    return true;
}
