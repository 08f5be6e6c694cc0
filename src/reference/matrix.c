/* SPDX-License-Identifier: MIT
 *
 * SPV_KHR_cooperative_matrix. An invocation's value of a matrix is the elements it owns;
 * whole-matrix operations are carried out for the scope's invocations together: loads and stores
 * element by element as their owners, a multiply-add on the gathered matrices. What works on
 * elements one by one (arith.c, convert.c, composite.c) needs nobody else.
 */
#include "reference/machine.h"

/* ---- ownership ------------------------------------------------------------------------------- */

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

uint32_t ref_owned_element(RefOwnership map, uint32_t rows, uint32_t cols, uint32_t use,
                           uint32_t lanes, uint32_t lane, uint32_t e)
{
    uint32_t total = rows * cols, length = (total + lanes - 1) / lanes;
    uint32_t x = map == REF_OWN_BLOCKED ? lane * length + e : e * lanes + lane;
    if (x >= total || e >= length)
        return UINT32_MAX;
    if (map == REF_OWN_COLUMN_MAJOR)
        return x % rows * cols + x / rows;
    if (map == REF_OWN_SHUFFLED) {
        uint32_t step = (total / 2 + 1 + 2 * use) | 1;
        while (gcd(step, total) != 1)
            step += 2;
        return (uint32_t)(((uint64_t)x * step + rows + use) % total);
    }
    return x;
}

static uint32_t lanes_of(const Machine *m, const Inv *v, uint32_t scope)
{
    if (m->probing)
        return 1; /* for the workgroup's size, which is not known yet */
    if (!m->inv)  /* a constant is being evaluated */
        return scope == SpvScopeWorkgroup ? m->n_inv : m->smallest;
    return scope == SpvScopeWorkgroup ? m->n_inv : m->subgroups[v->subgroup].n;
}

static uint32_t lane_of(const Inv *v, uint32_t scope)
{
    return scope == SpvScopeWorkgroup ? v->index : v->lane;
}

uint32_t matrix_owned(const Machine *m, const Inv *v, const RType *t, uint32_t e)
{
    return ref_owned_element(m->d->ownership, t->rows, t->cols, t->use, lanes_of(m, v, t->scope),
                             lane_of(v, t->scope), e);
}

void *matrix_scratch(Machine *m, size_t size)
{
    if (size > m->scratch_size) {
        m->scratch = arena_alloc(m->arena, size * 2);
        m->scratch_size = size * 2;
    }
    return m->scratch;
}

Whole matrix_gather(Machine *m, Inv **set, uint32_t n, const RType *t, Ref r)
{
    size_t total = (size_t)t->rows * t->cols;
    Whole w = { matrix_scratch(m, total * 9), NULL };
    w.undef = memset(w.x + total, 0, total);
    memset(w.x, 0, total * sizeof(*w.x));
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[k], t, e);
            if (at == UINT32_MAX)
                continue;
            w.x[at] = leaf(set[k], r)[e];
            w.undef[at] = unset(set[k], r)[e];
        }
    return w;
}

void matrix_scatter(Machine *m, Inv **set, uint32_t n, const RType *t, Ref r, Whole w)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[k], t, e);
            leaf(set[k], r)[e] = at == UINT32_MAX ? 0 : w.x[at];
            unset(set[k], r)[e] = at == UINT32_MAX ? 0 : w.undef[at];
        }
}

/* ---- length ---------------------------------------------------------------------------------- */

static Step length(Machine *m, Inv *v, const RInst *i)
{
    const RType *t = i->aux ? i->aux : type_get(m, spv_operand(i->src, 0));
    uint32_t lanes = t ? lanes_of(m, v, t->scope) : 1;
    *leaf(v, i->dst) = t ? (t->rows * t->cols + lanes - 1) / lanes : 0;
    *unset(v, i->dst) = 0;
    return STEP_NEXT;
}

static bool prepare_length(Machine *m, RInst *i)
{
    const RType *t = i->n_ops ? type_get(m, spv_operand(i->src, 0)) : NULL;
    if (!t || t->kind != SPV_COOPMAT || i->n != 1) {
        refuse(m, i->src, "the operand is not a cooperative matrix type");
        return false;
    }
    i->aux = (void *)(uintptr_t)t;
    return true;
}

/* ---- load and store -------------------------------------------------------------------------- */

void matrix_uniform(Machine *m, Inv **set, uint32_t n, const RInst *i, Ref r, uint32_t leaves,
                    const char *what)
{
    if (r == REF_NONE || (r & REF_CONST))
        return;
    for (uint32_t k = 0; k < n; k++) {
        if (*unset(set[k], r))
            matters(m, set[k], i, r, 1, "is an operand of a matrix operation");
        if (memcmp(leaf(set[k], r), leaf(set[0], r), leaves * sizeof(uint64_t))) {
            found(m, set[k], i, REF_NOT_UNIFORM,
                  "the %s differs between the invocations of the matrix' scope", what);
            return;
        }
    }
}

typedef struct Transfer {
    const RType *t; /* the matrix */
    const RType *pointee;
    Ref pointer, stride, object;
    bool column_major;
    uint64_t no_stride; /* the stride where the operand is left out */
    uint32_t stride_bits;
} Transfer;

static void transfer(Machine *m, Inv **set, uint32_t n, const RInst *i)
{
    const Transfer *x = i->aux;
    const RType *t = x->t, *e = t->element;
    const uint64_t *p = leaf(set[0], x->pointer);
    uint64_t stride = x->no_stride, size = e->size;
    bool store = x->object != REF_NONE;
    if (x->stride != REF_NONE)
        stride = (uint64_t)sext(*leaf(set[0], x->stride), x->stride_bits) * x->pointee->size;
    matrix_uniform(m, set, n, i, x->pointer, 2, "pointer");
    matrix_uniform(m, set, n, i, x->stride, 1, "stride");
    m->by_matrix = true;
    for (uint32_t k = 0; k < n; k++) {
        Inv *v = set[k];
        v->steps += t->count / 4;
        for (uint32_t j = 0; j < t->count; j++) {
            uint32_t at = matrix_owned(m, v, t, j);
            uint64_t *value = store ? leaf(v, x->object) + j : leaf(v, i->dst) + j;
            uint8_t *undef = store ? unset(v, x->object) + j : unset(v, i->dst) + j;
            if (at == UINT32_MAX) {
                if (!store)
                    *value = 0, *undef = 0;
                continue;
            }
            uint64_t row = at / t->cols, col = at % t->cols;
            uint64_t va =
                p[0] + (x->column_major ? col * stride + row * size : row * stride + col * size);
            if (store)
                mem_store_scalar(m, v, i, va, p[1], e, value, undef);
            else
                mem_load_scalar(m, v, i, va, p[1], e, value, undef);
        }
    }
    m->by_matrix = false;
}

static bool prepare_transfer(Machine *m, RInst *i)
{
    bool store = i->op == SpvOpCooperativeMatrixStoreKHR;
    uint32_t at = store ? 2 : 1;
    uint64_t layout;
    Transfer *x = NEW(m->arena, Transfer);
    x->object = x->stride = REF_NONE;
    if (i->n_ops <= at || !i->at || i->at->kind != SPV_POINTER) {
        refuse(m, i->src, "the pointer is not a pointer");
        return false;
    }
    x->t = i->type;
    x->pointer = i->ops[0];
    x->pointee = type_get(m, i->at->pointee);
    if (store) {
        x->t = type_of(m, spv_operand(i->src, 1));
        x->object = ref_of(m, spv_operand(i->src, 1));
    }
    if (!x->pointee || !x->t || x->t->kind != SPV_COOPMAT || (store && x->object == REF_NONE) ||
        type_scalar(x->pointee)->leaves != 1 || x->pointee->kind == SPV_COOPMAT ||
        type_is_wide(x->pointee)) {
        refuse(m, i->src,
               "the object is not a cooperative matrix or the pointer not to scalars or vectors");
        return false;
    }
    if (!constant_uint(m, spv_operand(i->src, at), &layout) || layout > 1) {
        refuse(m, i->src, "the memory layout is not a constant that names row- or column-major");
        return false;
    }
    x->column_major = layout == 1;
    x->no_stride = (x->column_major ? x->t->rows : x->t->cols) * x->t->element->size;
    if (i->n_ops > at + 1) {
        const RType *s = type_of(m, spv_operand(i->src, at + 1));
        if (!s || s->kind != SPV_INT) {
            refuse(m, i->src, "the stride is not a scalar integer");
            return false;
        }
        x->stride = m->refs[spv_operand(i->src, at + 1)];
        x->stride_bits = s->is_signed ? s->bits : 64;
    }
    i->scope = (uint8_t)x->t->scope;
    i->aux = x;
    return true;
}

/* ---- multiply-add ---------------------------------------------------------------------------- */

typedef struct MulAdd {
    const RType *a, *b, *c, *d;
    Ref ra, rb, rc;
    bool sign_a, sign_b, sign_c, sign_d, saturate;
} MulAdd;

typedef __int128 Wide;
typedef union Number {
    double f;
    Wide w;
} Number;

/* Collects a matrix, row-major, from what the set's invocations own; what nobody present owns is 0.
 */
static void collect(Machine *m, Inv **set, uint32_t n, const RType *t, Ref r, bool is_signed,
                    Number *out, uint8_t *undef)
{
    uint32_t total = t->rows * t->cols;
    Fmt f = fmt_of(t);
    memset(out, 0, total * sizeof(*out));
    memset(undef, 0, total);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[k], t, e);
            if (at == UINT32_MAX)
                continue;
            uint64_t x = leaf(set[k], r)[e];
            undef[at] = unset(set[k], r)[e];
            if (f != FMT_NONE)
                out[at].f = fmt_get(f, x);
            else
                out[at].w = is_signed ? (Wide)sext(x, t->element->bits) : (Wide)x;
        }
}

static uint64_t integer_element(const MulAdd *x, const Number *a, const Number *b, Wide c,
                                uint32_t depth, uint32_t cols)
{
    unsigned __int128 sum = 0; /* unsigned: wraps */
    uint32_t bits = x->d->element->bits;
    for (uint32_t k = 0; k < depth; k++)
        sum += (unsigned __int128)a[k].w * (unsigned __int128)b[k * cols].w;
    Wide r = (Wide)(sum + (unsigned __int128)c);
    if (x->saturate) {
        Wide most = x->sign_d ? (Wide)(mask_bits(bits) >> 1) : (Wide)mask_bits(bits);
        Wide least = x->sign_d ? -most - 1 : 0;
        r = r > most ? most : r < least ? least : r;
    }
    return (uint64_t)r & mask_bits(bits);
}

static double float_element(const Number *a, const Number *b, double c, uint32_t depth,
                            uint32_t cols)
{
    double sum = 0;
    for (uint32_t k = 0; k < depth; k++)
        sum += a[k].f * b[k * cols].f;
    return sum + c;
}

static void muladd(Machine *m, Inv **set, uint32_t n, const RInst *i)
{
    const MulAdd *x = i->aux;
    uint32_t rows = x->d->rows, cols = x->d->cols, depth = x->a->cols;
    size_t na = (size_t)rows * depth, nb = (size_t)depth * cols, nc = (size_t)rows * cols;
    Number *a = matrix_scratch(m, (na + nb + nc) * (sizeof(Number) + 1)), *b = a + na, *c = b + nb;
    uint8_t *ua = (uint8_t *)(c + nc), *ub = ua + na, *uc = ub + nb;
    bool is_float = fmt_of(x->d) != FMT_NONE;
    collect(m, set, n, x->a, x->ra, x->sign_a, a, ua);
    collect(m, set, n, x->b, x->rb, x->sign_b, b, ub);
    collect(m, set, n, x->c, x->rc, x->sign_c, c, uc);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t k = 1; k < depth; k++)
            ua[r * depth] |= ua[r * depth + k];
    for (uint32_t k = 1; k < depth; k++)
        for (uint32_t q = 0; q < cols; q++)
            ub[q] |= ub[k * cols + q];
    for (uint32_t k = 0; k < n; k++) {
        Inv *v = set[k];
        v->steps += (uint64_t)rows * cols * depth / n / 8;
        for (uint32_t e = 0; e < x->d->count; e++) {
            uint32_t at = matrix_owned(m, v, x->d, e);
            uint64_t *out = leaf(v, i->dst) + e;
            *out = 0;
            unset(v, i->dst)[e] = 0;
            if (at == UINT32_MAX)
                continue;
            uint32_t r = at / cols, q = at % cols;
            const Number *ra = a + (size_t)r * depth, *cb = b + q;
            *out = is_float ? fmt_put(fmt_of(x->d), float_element(ra, cb, c[at].f, depth, cols))
                            : integer_element(x, ra, cb, c[at].w, depth, cols);
            unset(v, i->dst)[e] = ua[r * depth] | ub[q] | uc[at];
        }
    }
}

static bool prepare_muladd(Machine *m, RInst *i)
{
    if (i->n_ops < 3)
        return false;
    MulAdd *x = NEW(m->arena, MulAdd);
    for (uint32_t k = 0; k < 3; k++) {
        const RType *t = type_of(m, spv_operand(i->src, k));
        if (ref_of(m, spv_operand(i->src, k)) == REF_NONE || !t || t->kind != SPV_COOPMAT ||
            i->type->kind != SPV_COOPMAT || t->scope != i->type->scope) {
            refuse(m, i->src, "operand %c is not a cooperative matrix of the result's scope",
                   'A' + k);
            return false;
        }
    }
    *x = (MulAdd){ type_of(m, spv_operand(i->src, 0)),
                   type_of(m, spv_operand(i->src, 1)),
                   type_of(m, spv_operand(i->src, 2)),
                   i->type,
                   i->ops[0],
                   i->ops[1],
                   i->ops[2],
                   false,
                   false,
                   false,
                   false,
                   false };
    uint32_t operands = i->n_ops > 3 ? i->ops[3] : 0;
    x->sign_a = operands & SpvCooperativeMatrixOperandsMatrixASignedComponentsKHRMask;
    x->sign_b = operands & SpvCooperativeMatrixOperandsMatrixBSignedComponentsKHRMask;
    x->sign_c = operands & SpvCooperativeMatrixOperandsMatrixCSignedComponentsKHRMask;
    x->sign_d = operands & SpvCooperativeMatrixOperandsMatrixResultSignedComponentsKHRMask;
    x->saturate = operands & SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask;
    bool kind = fmt_of(x->d) == FMT_NONE;
    bool fits = x->a->rows == x->d->rows && x->b->cols == x->d->cols && x->a->cols == x->b->rows &&
                x->c->rows == x->d->rows && x->c->cols == x->d->cols &&
                (fmt_of(x->a) == FMT_NONE) == kind && (fmt_of(x->b) == FMT_NONE) == kind &&
                (fmt_of(x->c) == FMT_NONE) == kind;
    if (!fits)
        refuse(m, i->src,
               "the matrices' shapes or component types do not fit: %ux%u by %ux%u plus %ux%u to "
               "%ux%u",
               x->a->rows, x->a->cols, x->b->rows, x->b->cols, x->c->rows, x->c->cols, x->d->rows,
               x->d->cols);
    i->scope = (uint8_t)x->d->scope;
    i->aux = x;
    return fits;
}

/* clang-format off */
static const OpRow rows[] = {
    { SpvOpCooperativeMatrixLengthKHR, length, prepare_length, NULL, OPF_CONSTANT },
    { SpvOpCooperativeMatrixLoadKHR, NULL, prepare_transfer, transfer, OPF_WHOLE },
    { SpvOpCooperativeMatrixStoreKHR, NULL, prepare_transfer, transfer, OPF_WHOLE },
    { SpvOpCooperativeMatrixMulAddKHR, NULL, prepare_muladd, muladd, OPF_WHOLE },
};
/* clang-format on */
const OpTable ref_matrix_ops = { rows, COUNT_OF(rows) };
