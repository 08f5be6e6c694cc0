/* SPDX-License-Identifier: MIT
 *
 * SPV_KHR_cooperative_matrix. An invocation's value of a matrix is the elements it owns;
 * whole-matrix operations are carried out for the scope's invocations together: loads and stores
 * element by element as their owners, a multiply-add on the gathered matrices. Elementwise
 * operations (arith.c, convert.c, composite.c) need no other invocation.
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

uint32_t ref_owned_element(const RefShape *s, uint32_t lane, uint32_t e)
{
    uint32_t row, column, total = s->rows * s->cols, length = (total + s->lanes - 1) / s->lanes;
    uint32_t x = s->map == REF_OWN_BLOCKED ? lane * length + e : e * s->lanes + lane;
    if (x >= total || e >= length)
        return UINT32_MAX;
    if (s->map == REF_OWN_TILES && s->lanes == TILES_LANES && tiles_size(s->rows, s->cols))
        return tiles_position(s->rows, s->cols, lane, e, &row, &column) ? row * s->cols + column
                                                                        : UINT32_MAX;
    if (s->map == REF_OWN_COLUMN_MAJOR)
        return x % s->rows * s->cols + x / s->rows;
    if (s->map == REF_OWN_SHUFFLED) {
        uint32_t step = (total / 2 + 1 + 2 * s->use) | 1;
        while (gcd(step, total) != 1)
            step += 2;
        return (uint32_t)(((uint64_t)x * step + s->rows + s->use) % total);
    }
    return x;
}

static uint32_t lanes_of(const RMachine *m, const RInv *v, uint32_t scope)
{
    if (m->probing)
        return 1; /* for the workgroup's size, which is not known yet */
    if (!m->inv)  /* a constant is being evaluated */
        return scope == SpvScopeWorkgroup ? m->n_inv : m->smallest;
    return scope == SpvScopeWorkgroup ? m->n_inv : m->subgroups[v->subgroup].n;
}

static uint32_t lane_of(const RInv *v, uint32_t scope)
{
    return scope == SpvScopeWorkgroup ? v->index : v->lane;
}

uint32_t matrix_owned(const RMachine *m, const RInv *v, const RType *t, uint32_t e)
{
    RefShape s = { m->d->ownership, t->rows, t->cols, t->use, lanes_of(m, v, t->scope) };
    return ref_owned_element(&s, lane_of(v, t->scope), e);
}

void *matrix_scratch(RMachine *m, size_t size)
{
    if (size > m->scratch_size) {
        m->scratch = arena_alloc(m->arena, size * 2);
        m->scratch_size = size * 2;
    }
    return m->scratch;
}

void matrix_collect(RMachine *m, RInv **set, uint32_t n, const RType *t, Ref r, RLeaves whole)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[k], t, e);
            if (at == UINT32_MAX)
                continue;
            whole.x[at] = leaf(set[k], r)[e];
            whole.undef[at] = unset(set[k], r)[e];
        }
}

RLeaves matrix_gather(RMachine *m, RInv **set, uint32_t n, const RType *t, Ref r)
{
    size_t total = (size_t)t->rows * t->cols;
    RLeaves whole = { matrix_scratch(m, total * 9), NULL };
    whole.undef = (uint8_t *)(whole.x + total);
    memset(whole.x, 0, total * 9);
    matrix_collect(m, set, n, t, r, whole);
    return whole;
}

void matrix_scatter(RMachine *m, RInv **set, uint32_t n, const RType *t, Ref r, RLeaves whole)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[k], t, e);
            leaf(set[k], r)[e] = at == UINT32_MAX ? 0 : whole.x[at];
            unset(set[k], r)[e] = at == UINT32_MAX ? 0 : whole.undef[at];
        }
}

/* ---- length ---------------------------------------------------------------------------------- */

static RStep step_length(RMachine *m, RInv *v, const RInst *i)
{
    const RType *t = i->aux ? i->aux : type_get(m, spv_operand(i->src, 0));
    uint32_t lanes = t ? lanes_of(m, v, t->scope) : 1;
    *leaf(v, i->dst) = t ? (t->rows * t->cols + lanes - 1) / lanes : 0;
    *unset(v, i->dst) = 0;
    return STEP_NEXT;
}

static bool prepare_length(RMachine *m, RInst *i)
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

void matrix_uniform(RMachine *m, RInv **set, uint32_t n, const RInst *i, RSharedOperand o)
{
    if (o.r == REF_NONE || (o.r & REF_CONST))
        return;
    for (uint32_t k = 0; k < n; k++) {
        if (*unset(set[k], o.r))
            matters(m, set[k], i, o.r, 1, "is an operand of a matrix operation");
        if (memcmp(leaf(set[k], o.r), leaf(set[0], o.r), o.leaves * sizeof(uint64_t))) {
            found(m, set[k], i, REF_NOT_UNIFORM,
                  "the %s differs between the invocations of the matrix' scope", o.what);
            return;
        }
    }
}

typedef struct MatrixTransfer {
    const RType *t; /* the matrix */
    const RType *pointee;
    Ref pointer, stride, object;
    bool column_major;
    uint64_t no_stride; /* the stride where the operand is left out */
    uint32_t stride_bits;
} MatrixTransfer;

/* Moves an invocation's share of a matrix to or from the memory at `base`. */
static void transfer_share(RMachine *m, RInv *v, const RInst *i, RPointer base, uint64_t stride)
{
    const MatrixTransfer *x = i->aux;
    const RType *t = x->t, *e = t->element;
    bool stores = x->object != REF_NONE;
    v->steps += t->count / 4;
    for (uint32_t j = 0; j < t->count; j++) {
        uint32_t at = matrix_owned(m, v, t, j);
        RLeaves l = leaves_at(v, (stores ? x->object : i->dst) + j);
        if (at == UINT32_MAX) {
            if (!stores)
                *l.x = *l.undef = 0;
            continue;
        }
        uint64_t row = at / t->cols, col = at % t->cols;
        uint64_t offset =
            x->column_major ? col * stride + row * e->size : row * stride + col * e->size;
        if (stores)
            mem_store_scalar(m, v, i, pointer_plus(base, offset), e, l);
        else
            mem_load_scalar(m, v, i, pointer_plus(base, offset), e, l);
    }
}

/* Lines that overlap are stored by invocations that race for what they share. */
static void check_lines(RMachine *m, RInv **set, uint32_t n, const RInst *i, int64_t stride)
{
    const MatrixTransfer *x = i->aux;
    uint32_t lines = x->column_major ? x->t->cols : x->t->rows;
    int64_t bytes = (x->column_major ? x->t->rows : x->t->cols) * (int64_t)x->t->element->size;
    if (x->object != REF_NONE && n > 1 && lines > 1 && stride < bytes && stride > -bytes)
        found(m, set[0], i, REF_RACE,
              "%s 0 and 1 of the matrix overlap: they have %lld bytes and begin %lld apart",
              x->column_major ? "columns" : "rows", (long long)bytes, (long long)stride);
}

static void all_transfer(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const MatrixTransfer *x = i->aux;
    uint64_t stride = x->no_stride;
    if (x->stride != REF_NONE)
        stride = (uint64_t)sext(*leaf(set[0], x->stride), x->stride_bits) * x->pointee->size;
    matrix_uniform(m, set, n, i, (RSharedOperand){ x->pointer, 2, "pointer" });
    matrix_uniform(m, set, n, i, (RSharedOperand){ x->stride, 1, "stride" });
    check_lines(m, set, n, i, (int64_t)stride);
    m->by_matrix = true;
    for (uint32_t k = 0; k < n; k++)
        transfer_share(m, set[k], i, pointer_at(set[0], x->pointer), stride);
    m->by_matrix = false;
}

static bool prepare_transfer(RMachine *m, RInst *i)
{
    bool store = i->op == SpvOpCooperativeMatrixStoreKHR;
    uint32_t at = store ? 2 : 1;
    uint64_t layout;
    MatrixTransfer *x = NEW(m->arena, MatrixTransfer);
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

typedef struct Factor { /* or the addend */
    const RType *t;
    Ref r;
    bool is_signed;
} Factor;

typedef struct MulAdd {
    Factor a, b, c;
    const RType *d;
    bool signed_result, saturate;
} MulAdd;

typedef __int128 Wide;
typedef union Number {
    double f;
    Wide w;
} Number;

/* A matrix as numbers, row-major, from what the invocations of the set own; what nobody of them
 * owns is 0. */
static void collect(RMachine *m, RInv **set, uint32_t n, const Factor *x, Number *out,
                    uint8_t *undef)
{
    const RType *t = x->t;
    uint32_t total = t->rows * t->cols;
    RFmt f = fmt_of(t);
    memset(out, 0, total * sizeof(*out));
    memset(undef, 0, total);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[k], t, e);
            if (at == UINT32_MAX)
                continue;
            uint64_t bits = leaf(set[k], x->r)[e];
            undef[at] = unset(set[k], x->r)[e];
            if (f != FMT_NONE)
                out[at].f = fmt_get(f, bits);
            else
                out[at].w = x->is_signed ? (Wide)sext(bits, t->element->bits) : (Wide)bits;
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
        Wide most = x->signed_result ? (Wide)(mask_bits(bits) >> 1) : (Wide)mask_bits(bits);
        Wide least = x->signed_result ? -most - 1 : 0;
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

static void all_muladd(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const MulAdd *x = i->aux;
    uint32_t rows = x->d->rows, cols = x->d->cols, depth = x->a.t->cols;
    size_t na = (size_t)rows * depth, nb = (size_t)depth * cols, nc = (size_t)rows * cols;
    Number *a = matrix_scratch(m, (na + nb + nc) * (sizeof(Number) + 1)), *b = a + na, *c = b + nb;
    uint8_t *ua = (uint8_t *)(c + nc), *ub = ua + na, *uc = ub + nb;
    bool is_float = fmt_of(x->d) != FMT_NONE;
    collect(m, set, n, &x->a, a, ua);
    collect(m, set, n, &x->b, b, ub);
    collect(m, set, n, &x->c, c, uc);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t k = 1; k < depth; k++)
            ua[r * depth] |= ua[r * depth + k];
    for (uint32_t k = 1; k < depth; k++)
        for (uint32_t q = 0; q < cols; q++)
            ub[q] |= ub[k * cols + q];
    for (uint32_t k = 0; k < n; k++) {
        RInv *v = set[k];
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

/* The n-th operand, whose components are signed where the instruction's Matrix Operands have the
 * bit `sign`. */
static Factor factor(RMachine *m, const RInst *i, uint32_t n, uint32_t sign)
{
    bool is_signed = i->n_ops > 3 && i->ops[3] & sign;
    return (Factor){ type_of(m, spv_operand(i->src, n)), i->ops[n], is_signed };
}

static bool prepare_muladd(RMachine *m, RInst *i)
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
    uint32_t operands = i->n_ops > 3 ? i->ops[3] : 0;
    *x = (MulAdd){
        .a = factor(m, i, 0, SpvCooperativeMatrixOperandsMatrixASignedComponentsKHRMask),
        .b = factor(m, i, 1, SpvCooperativeMatrixOperandsMatrixBSignedComponentsKHRMask),
        .c = factor(m, i, 2, SpvCooperativeMatrixOperandsMatrixCSignedComponentsKHRMask),
        .d = i->type,
        .signed_result = operands & SpvCooperativeMatrixOperandsMatrixResultSignedComponentsKHRMask,
        .saturate = operands & SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask,
    };
    const RType *a = x->a.t, *b = x->b.t, *c = x->c.t, *d = x->d;
    bool kind = fmt_of(d) == FMT_NONE;
    bool fits = a->rows == d->rows && b->cols == d->cols && a->cols == b->rows &&
                c->rows == d->rows && c->cols == d->cols && (fmt_of(a) == FMT_NONE) == kind &&
                (fmt_of(b) == FMT_NONE) == kind && (fmt_of(c) == FMT_NONE) == kind;
    if (!fits)
        refuse(m, i->src,
               "the matrices' shapes or component types do not fit: %ux%u by %ux%u plus %ux%u to "
               "%ux%u",
               a->rows, a->cols, b->rows, b->cols, c->rows, c->cols, d->rows, d->cols);
    i->scope = (uint8_t)d->scope;
    i->aux = x;
    return fits;
}

/* clang-format off */
static const ROpRow rows[] = {
    { SpvOpCooperativeMatrixLengthKHR, step_length, prepare_length, NULL, OPF_CONSTANT },
    { SpvOpCooperativeMatrixLoadKHR, NULL, prepare_transfer, all_transfer, OPF_WHOLE },
    { SpvOpCooperativeMatrixStoreKHR, NULL, prepare_transfer, all_transfer, OPF_WHOLE },
    { SpvOpCooperativeMatrixMulAddKHR, NULL, prepare_muladd, all_muladd, OPF_WHOLE },
};
/* clang-format on */
const ROpTable ref_matrix_ops = { rows, COUNT_OF(rows) };
