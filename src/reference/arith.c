/* SPDX-License-Identifier: MIT
 *
 * Arithmetic, bit, relational and logical instructions (SPIR-V 3.3.13 to 3.3.15), component by
 * component. Floats are computed in double and rounded to the type; integers wrap. What the
 * specification leaves undefined gives 0 and, when asked, a finding.
 */
#include "reference/machine.h"

#include <math.h>

static uint64_t round_result(const RInst *i, double x)
{
    return i->rtz ? fmt_put_rtz((RFmt)i->fmt, x) : fmt_put((RFmt)i->fmt, x);
}

#define UNARY(name, expr)                                                                          \
    static RStep name(RMachine *m, RInv *v, const RInst *i)                                        \
    {                                                                                              \
        uint64_t *d = leaf(v, i->dst);                                                             \
        const uint64_t *a = leaf(v, i->ops[0]);                                                    \
        (void)m;                                                                                   \
        for (uint32_t k = 0; k < i->n; k++) {                                                      \
            uint64_t A = a[k];                                                                     \
            d[k] = (expr);                                                                         \
        }                                                                                          \
        memcpy(unset(v, i->dst), unset(v, i->ops[0]), i->n);                                       \
        return STEP_NEXT;                                                                          \
    }

#define BINARY(name, expr)                                                                         \
    static RStep name(RMachine *m, RInv *v, const RInst *i)                                        \
    {                                                                                              \
        uint64_t *d = leaf(v, i->dst);                                                             \
        const uint64_t *a = leaf(v, i->ops[0]), *b = leaf(v, i->ops[1]);                           \
        uint8_t *u = unset(v, i->dst);                                                             \
        const uint8_t *s = unset(v, i->ops[0]), *t = unset(v, i->ops[1]);                          \
        (void)m;                                                                                   \
        for (uint32_t k = 0; k < i->n; k++) {                                                      \
            uint64_t A = a[k], B = b[k];                                                           \
            d[k] = (expr);                                                                         \
            u[k] = s[k] | t[k];                                                                    \
        }                                                                                          \
        return STEP_NEXT;                                                                          \
    }

#define INT(expr) ((uint64_t)(expr) & mask_bits(i->bits))
#define S(x)      sext(x, i->sbits)
#define F(x)      fmt_get((RFmt)i->sfmt, x)

BINARY(iadd, INT(A + B))
BINARY(isub, INT(A - B))
BINARY(imul, INT(A *B))
BINARY(band, A &B)
BINARY(bor, A | B)
BINARY(bxor, A ^ B)
UNARY(snegate, INT(0 - A))
UNARY(bnot, INT(~A))

static uint64_t divide_integers(RMachine *m, RInv *v, const RInst *i, uint64_t a, uint64_t b,
                                uint8_t undefined)
{
    bool is_signed = i->op == SpvOpSDiv || i->op == SpvOpSRem || i->op == SpvOpSMod;
    int64_t x = S(a), y = S(b);
    bool overflow = is_signed && y == -1 && a == 1ull << (i->sbits - 1);
    if (b == 0 || overflow) {
        if (!undefined)
            found(m, v, i, REF_RANGE,
                  b ? "division of the least integer by -1" : "division by zero");
        return 0;
    }
    switch (i->op) {
    case SpvOpUDiv: return a / b;
    case SpvOpUMod: return a % b;
    case SpvOpSDiv: return INT(x / y);
    case SpvOpSRem: return INT(x % y);
    default: {
        int64_t r = x % y;
        return INT(r && (r < 0) != (y < 0) ? r + y : r);
    }
    }
}
BINARY(idivide, divide_integers(m, v, i, A, B, s[k] | t[k]))

static uint64_t shift_bits(RMachine *m, RInv *v, const RInst *i, uint64_t a, uint64_t b,
                           uint8_t undefined)
{
    if (b >= i->sbits) {
        if (!undefined)
            found(m, v, i, REF_RANGE, "shift of a %u-bit value by %llu", i->sbits,
                  (unsigned long long)b);
        return 0;
    }
    switch (i->op) {
    case SpvOpShiftLeftLogical: return INT(a << b);
    case SpvOpShiftRightLogical: return a >> b;
    default: return INT(S(a) >> b);
    }
}
BINARY(ishift, shift_bits(m, v, i, A, B, s[k] | t[k]))

static double fmodulo(double x, double y)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
BINARY(f_add, round_result(i, F(A) + F(B)))
BINARY(f_sub, round_result(i, F(A) - F(B)))
BINARY(f_mul, round_result(i, F(A) * F(B)))
BINARY(f_div, round_result(i, F(A) / F(B)))
BINARY(f_rem, round_result(i, fmod(F(A), F(B))))
BINARY(f_mod, round_result(i, fmodulo(F(A), F(B))))
UNARY(f_negate, A ^ 1ull << (i->sbits - 1))

BINARY(ieq, A == B)
BINARY(ine, A != B)
BINARY(ugt, A > B)
BINARY(uge, A >= B)
BINARY(ult, A < B)
BINARY(ule, A <= B)
BINARY(sgt, S(A) > S(B))
BINARY(sge, S(A) >= S(B))
BINARY(slt, S(A) < S(B))
BINARY(sle, S(A) <= S(B))
BINARY(land, A & B & 1)
BINARY(lor, (A | B) & 1)
UNARY(lnot, !A)
BINARY(ford_eq, F(A) == F(B))
BINARY(ford_ne, F(A) < F(B) || F(A) > F(B))
BINARY(ford_lt, F(A) < F(B))
BINARY(ford_gt, F(A) > F(B))
BINARY(ford_le, F(A) <= F(B))
BINARY(ford_ge, F(A) >= F(B))
BINARY(funo_eq, !(F(A) < F(B) || F(A) > F(B)))
BINARY(funo_ne, F(A) != F(B))
BINARY(funo_lt, !(F(A) >= F(B)))
BINARY(funo_gt, !(F(A) <= F(B)))
BINARY(funo_le, !(F(A) > F(B)))
BINARY(funo_ge, !(F(A) < F(B)))
BINARY(ordered, !isnan(F(A)) && !isnan(F(B)))
BINARY(unordered, isnan(F(A)) || isnan(F(B)))
UNARY(is_nan, isnan(F(A)) != 0)
UNARY(is_inf, isinf(F(A)) != 0)
UNARY(is_finite, isfinite(F(A)) != 0)
static bool is_normal_in(RFmt f, double x)
{
    double least = f == FMT_F16 ? 0x1p-14 : f == FMT_F64 ? 0x1p-1022 : 0x1p-126;
    return isfinite(x) && fabs(x) >= least;
}
UNARY(is_normal, is_normal_in((RFmt)i->sfmt, F(A)))
UNARY(sign_bit, A >> (i->sbits - 1) & 1)

/* SPV_KHR_fma: one rounding. For f32 and narrower the product is exact in double; the sum is
 * rounded to double first, which can only matter to a tie. */
static RStep step_fused(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        double a = F(leaf(v, i->ops[0])[k]), b = F(leaf(v, i->ops[1])[k]);
        double c = F(leaf(v, i->ops[2])[k]);
        double r = i->fmt == FMT_F32 ? fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
        leaf(v, i->dst)[k] = round_result(i, r);
        unset(v, i->dst)[k] =
            unset(v, i->ops[0])[k] | unset(v, i->ops[1])[k] | unset(v, i->ops[2])[k];
    }
    return STEP_NEXT;
}

/* ---- bits ------------------------------------------------------------------------------------ */

static uint64_t reverse(uint64_t x, uint32_t bits)
{
    uint64_t r = 0;
    for (uint32_t k = 0; k < bits; k++)
        r |= (x >> k & 1) << (bits - 1 - k);
    return r;
}
UNARY(bit_reverse, reverse(A, i->sbits))
UNARY(bit_count, (uint64_t)__builtin_popcountll(A))

/* Offset and count come last and are scalars; (base, insert,) offset, count. */
static RStep step_bit_field(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t at = i->op == SpvOpBitFieldInsert ? 2 : 1;
    uint64_t offset = *leaf(v, i->ops[at]), count = *leaf(v, i->ops[at + 1]);
    uint8_t bad = *unset(v, i->ops[at]) | *unset(v, i->ops[at + 1]);
    uint64_t *d = leaf(v, i->dst), *a = leaf(v, i->ops[0]), *b = leaf(v, i->ops[1]);
    bool outside = offset > i->bits || count > i->bits || offset + count > i->bits;
    if (outside && !bad)
        found(m, v, i, REF_RANGE, "a bit field of %llu bits at %llu in %u bits",
              (unsigned long long)count, (unsigned long long)offset, i->bits);
    for (uint32_t k = 0; k < i->n; k++) {
        uint8_t u = unset(v, i->ops[0])[k] | bad;
        uint64_t part = count && !outside ? a[k] >> offset & mask_bits((uint32_t)count) : 0;
        if (outside) {
            d[k] = 0;
        } else if (i->op == SpvOpBitFieldInsert) {
            uint64_t mask = count ? mask_bits((uint32_t)count) << offset : 0;
            d[k] = INT((a[k] & ~mask) | ((count ? b[k] << offset : 0) & mask));
            u |= unset(v, i->ops[1])[k];
        } else if (i->op == SpvOpBitFieldSExtract) {
            d[k] = count ? INT(sext(part, (uint32_t)count)) : 0;
        } else {
            d[k] = part;
        }
        unset(v, i->dst)[k] = u;
    }
    return STEP_NEXT;
}

static bool prepare_bit_field(RMachine *m, RInst *i)
{
    uint32_t n = i->op == SpvOpBitFieldInsert ? 4 : 3;
    if (i->n_ops < n || !prepare_value(m, i))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t want = k < n - 2 ? i->n : 1;
        if (operand_type(m, i, k)->leaves != want) {
            refuse(m, i->src, "operand %u has the wrong number of components", k);
            return false;
        }
    }
    return true;
}

/* ---- results of two halves ------------------------------------------------------------------- */

static RStep step_extended(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t n = i->n / 2, bits = i->sbits;
    const uint64_t *a = leaf(v, i->ops[0]), *b = leaf(v, i->ops[1]);
    uint64_t *d = leaf(v, i->dst), mask = mask_bits(bits);
    (void)m;
    for (uint32_t k = 0; k < n; k++) {
        unsigned __int128 low = 0, high = 0;
        switch (i->op) {
        case SpvOpIAddCarry:
            low = (unsigned __int128)a[k] + b[k];
            high = low >> bits;
            break;
        case SpvOpISubBorrow:
            low = (unsigned __int128)a[k] - b[k];
            high = a[k] < b[k];
            break;
        case SpvOpUMulExtended:
            low = (unsigned __int128)a[k] * b[k];
            high = low >> bits;
            break;
        default:
            low = (unsigned __int128)((__int128)sext(a[k], bits) * sext(b[k], bits));
            high = low >> bits;
            break;
        }
        d[k] = (uint64_t)low & mask;
        d[n + k] = (uint64_t)high & mask;
        unset(v, i->dst)[k] = unset(v, i->dst)[n + k] =
            unset(v, i->ops[0])[k] | unset(v, i->ops[1])[k];
    }
    return STEP_NEXT;
}

static bool prepare_extended(RMachine *m, RInst *i)
{
    if (i->n_ops < 2 || !prepare_value(m, i))
        return false;
    if (operand_type(m, i, 0)->leaves * 2 == i->n && operand_type(m, i, 1)->leaves * 2 == i->n)
        return true;
    refuse(m, i->src, "the result must be a structure of two values of the operands' type");
    return false;
}

/* ---- select, any, all ------------------------------------------------------------------------ */

static RStep step_select(RMachine *m, RInv *v, const RInst *i)
{
    const uint64_t *c = leaf(v, i->ops[0]);
    const uint8_t *cu = unset(v, i->ops[0]);
    uint32_t step = i->at->leaves > 1;
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        Ref from = c[k * step] ? i->ops[1] : i->ops[2];
        leaf(v, i->dst)[k] = leaf(v, from)[k];
        unset(v, i->dst)[k] = unset(v, from)[k] | cu[k * step];
    }
    return STEP_NEXT;
}

static bool prepare_select(RMachine *m, RInst *i)
{
    if (i->n_ops < 3 || !prepare_value(m, i))
        return false;
    uint32_t c = operand_type(m, i, 0)->leaves;
    if (operand_type(m, i, 1)->leaves == i->n && operand_type(m, i, 2)->leaves == i->n &&
        (c == 1 || c == i->n))
        return true;
    refuse(m, i->src, "the objects or the condition do not match the result type");
    return false;
}

static RStep step_any_all(RMachine *m, RInv *v, const RInst *i)
{
    const uint64_t *a = leaf(v, i->ops[0]);
    bool all = i->op == SpvOpAll, r = all, decided = false;
    uint8_t u = 0;
    (void)m;
    for (uint32_t k = 0; k < i->at->leaves; k++) {
        uint8_t uk = unset(v, i->ops[0])[k];
        r = all ? r && a[k] : r || a[k];
        decided |= !uk && (a[k] != 0) != all;
        u |= uk;
    }
    *leaf(v, i->dst) = r;
    *unset(v, i->dst) = decided ? 0 : u;
    return STEP_NEXT;
}

/* ---- vectors and matrices -------------------------------------------------------------------- */

/* Rounds after each multiplication and each addition. */
static double dot(const RInst *i, const uint64_t *a, uint32_t sa, const uint64_t *b, uint32_t sb,
                  uint32_t n)
{
    RFmt f = (RFmt)i->fmt;
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        double p = fmt_get(f, round_result(i, fmt_get(f, a[k * sa]) * fmt_get(f, b[k * sb])));
        sum = k ? fmt_get(f, round_result(i, sum + p)) : p;
    }
    return sum;
}

static uint8_t any_unset(const uint8_t *a, uint32_t step, uint32_t n)
{
    uint8_t u = 0;
    for (uint32_t k = 0; k < n; k++)
        u |= a[k * step];
    return u;
}

static RStep step_dot(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t n = i->at->leaves;
    (void)m;
    *leaf(v, i->dst) = round_result(i, dot(i, leaf(v, i->ops[0]), 1, leaf(v, i->ops[1]), 1, n));
    *unset(v, i->dst) = any_unset(unset(v, i->ops[0]), 1, n) | any_unset(unset(v, i->ops[1]), 1, n);
    return STEP_NEXT;
}

static bool prepare_dot(RMachine *m, RInst *i)
{
    if (i->n_ops >= 2 && prepare_value(m, i) && i->n == 1 && i->at->leaves &&
        i->at->leaves == operand_type(m, i, 1)->leaves)
        return true;
    refuse(m, i->src, "the vectors do not have the same number of components");
    return false;
}

static RStep step_times_scalar(RMachine *m, RInv *v, const RInst *i)
{
    uint64_t s = *leaf(v, i->ops[1]);
    uint8_t su = *unset(v, i->ops[1]);
    const uint64_t *a = leaf(v, i->ops[0]);
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        leaf(v, i->dst)[k] = i->fmt == FMT_NONE ? INT(a[k] * s) : round_result(i, F(a[k]) * F(s));
        unset(v, i->dst)[k] = unset(v, i->ops[0])[k] | su;
    }
    return STEP_NEXT;
}

static bool prepare_times_scalar(RMachine *m, RInst *i)
{
    if (i->n_ops >= 2 && prepare_value(m, i) && i->at->leaves == i->n &&
        operand_type(m, i, 1)->leaves == 1)
        return true;
    refuse(m, i->src, "the operands do not match the result type");
    return false;
}

/* Columns of a (cols x inner) and b; a vector is a matrix of one column (on the right) or row. */
static RStep step_matrix_product(RMachine *m, RInv *v, const RInst *i)
{
    const RType *a = i->at, *b = operand_type(m, i, 1);
    uint32_t inner = a->count, rows = a->kind == SPV_MATRIX ? a->element->count : 1;
    uint32_t cols = b->kind == SPV_MATRIX ? b->count : 1;
    for (uint32_t c = 0; c < cols; c++)
        for (uint32_t r = 0; r < rows; r++) {
            const uint64_t *x = leaf(v, i->ops[0]) + r, *y = leaf(v, i->ops[1]) + c * inner;
            leaf(v, i->dst)[c * rows + r] = round_result(i, dot(i, x, rows, y, 1, inner));
            unset(v, i->dst)[c * rows + r] = any_unset(unset(v, i->ops[0]) + r, rows, inner) |
                                             any_unset(unset(v, i->ops[1]) + c * inner, 1, inner);
        }
    return STEP_NEXT;
}

static bool prepare_matrix_product(RMachine *m, RInst *i)
{
    if (i->n_ops >= 2 && prepare_value(m, i)) {
        const RType *a = operand_type(m, i, 0), *b = operand_type(m, i, 1);
        bool shapes = (a->kind == SPV_MATRIX || a->kind == SPV_VECTOR) &&
                      (b->kind == SPV_MATRIX || b->kind == SPV_VECTOR);
        if (shapes) {
            uint32_t rows = a->kind == SPV_MATRIX ? a->element->count : 1;
            uint32_t cols = b->kind == SPV_MATRIX ? b->count : 1;
            uint32_t inner = b->kind == SPV_MATRIX ? b->element->count : b->count;
            if (inner == a->count && (uint64_t)rows * cols == i->n)
                return true;
        }
    }
    refuse(m, i->src, "the operands' shapes do not fit");
    return false;
}

static RStep step_outer_product(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t rows = i->at->leaves, cols = i->n / rows;
    (void)m;
    for (uint32_t c = 0; c < cols; c++)
        for (uint32_t r = 0; r < rows; r++) {
            leaf(v, i->dst)[c * rows + r] =
                round_result(i, F(leaf(v, i->ops[0])[r]) * F(leaf(v, i->ops[1])[c]));
            unset(v, i->dst)[c * rows + r] = unset(v, i->ops[0])[r] | unset(v, i->ops[1])[c];
        }
    return STEP_NEXT;
}

static bool prepare_outer(RMachine *m, RInst *i)
{
    if (i->n_ops >= 2 && prepare_value(m, i) &&
        (uint64_t)i->at->leaves * operand_type(m, i, 1)->leaves == i->n && i->n)
        return true;
    refuse(m, i->src, "the operands' shapes do not fit");
    return false;
}

static RStep step_transpose(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t rows = i->at->element->count, cols = i->at->count;
    (void)m;
    for (uint32_t c = 0; c < cols; c++)
        for (uint32_t r = 0; r < rows; r++) {
            leaf(v, i->dst)[r * cols + c] = leaf(v, i->ops[0])[c * rows + r];
            unset(v, i->dst)[r * cols + c] = unset(v, i->ops[0])[c * rows + r];
        }
    return STEP_NEXT;
}

static bool prepare_transpose(RMachine *m, RInst *i)
{
    if (prepare_same(m, i) && i->at->kind == SPV_MATRIX)
        return true;
    refuse(m, i->src, "the operand is not a matrix");
    return false;
}

/* ---- integer dot products (SPV_KHR_integer_dot_product) -------------------------------------- */

static RStep step_integer_dot(RMachine *m, RInv *v, const RInst *i)
{
    bool sa = i->op != SpvOpUDot && i->op != SpvOpUDotAccSat;
    bool sb = i->op == SpvOpSDot || i->op == SpvOpSDotAccSat;
    bool sat = i->op >= SpvOpSDotAccSat;
    bool packed = i->at->kind == SPV_INT;
    uint32_t n = packed ? 4 : i->at->leaves, bits = packed ? 8 : i->sbits;
    const uint64_t *a = leaf(v, i->ops[0]), *b = leaf(v, i->ops[1]);
    __int128 sum = 0;
    uint8_t u = 0;
    (void)m;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t x = packed ? a[0] >> 8 * k & 255 : a[k], y = packed ? b[0] >> 8 * k & 255 : b[k];
        __int128 p = sa ? (__int128)sext(x, bits) : (__int128)x;
        sum += p * (sb ? (__int128)sext(y, bits) : (__int128)y);
        u |= unset(v, i->ops[0])[packed ? 0 : k] | unset(v, i->ops[1])[packed ? 0 : k];
    }
    if (sat) {
        uint64_t c = *leaf(v, i->ops[2]);
        __int128 most = sa ? (__int128)(mask_bits(i->bits) >> 1) : (__int128)mask_bits(i->bits);
        __int128 least = sa ? -most - 1 : 0;
        sum += sa ? (__int128)sext(c, i->bits) : (__int128)c;
        sum = sum > most ? most : sum < least ? least : sum;
        u |= *unset(v, i->ops[2]);
    }
    *leaf(v, i->dst) = INT(sum);
    *unset(v, i->dst) = u;
    return STEP_NEXT;
}

static bool prepare_integer_dot(RMachine *m, RInst *i)
{
    bool sat = i->op >= SpvOpSDotAccSat;
    if (i->n_ops >= 2u + sat && prepare_value(m, i) && i->n == 1 &&
        operand_type(m, i, 1)->leaves == i->at->leaves && i->at->leaves &&
        (!sat || operand_type(m, i, 2)->leaves == 1))
        return true;
    refuse(m, i->src, "the operands' shapes do not fit");
    return false;
}

/* clang-format off */
static const ROpRow rows[] = {
    { SpvOpIAdd, iadd, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpISub, isub, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpIMul, imul, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpUDiv, idivide, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpSDiv, idivide, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpUMod, idivide, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpSRem, idivide, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpSMod, idivide, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpSNegate, snegate, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpNot, bnot, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpBitwiseAnd, band, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpBitwiseOr, bor, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpBitwiseXor, bxor, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpShiftLeftLogical, ishift, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpShiftRightLogical, ishift, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpShiftRightArithmetic, ishift, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFAdd, f_add, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFSub, f_sub, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFMul, f_mul, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFDiv, f_div, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFRem, f_rem, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFMod, f_mod, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFmaKHR, step_fused, prepare_same, NULL, 0 },
    { SpvOpFNegate, f_negate, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpIEqual, ieq, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpINotEqual, ine, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpUGreaterThan, ugt, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpUGreaterThanEqual, uge, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpULessThan, ult, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpULessThanEqual, ule, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpSGreaterThan, sgt, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpSGreaterThanEqual, sge, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpSLessThan, slt, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpSLessThanEqual, sle, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpLogicalAnd, land, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpLogicalOr, lor, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpLogicalNot, lnot, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpLogicalEqual, ieq, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpLogicalNotEqual, ine, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFOrdEqual, ford_eq, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFOrdNotEqual, ford_ne, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFOrdLessThan, ford_lt, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFOrdGreaterThan, ford_gt, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFOrdLessThanEqual, ford_le, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFOrdGreaterThanEqual, ford_ge, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFUnordEqual, funo_eq, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFUnordNotEqual, funo_ne, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFUnordLessThan, funo_lt, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFUnordGreaterThan, funo_gt, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFUnordLessThanEqual, funo_le, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpFUnordGreaterThanEqual, funo_ge, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpLessOrGreater, ford_ne, prepare_same, NULL, 0 },
    { SpvOpOrdered, ordered, prepare_same, NULL, 0 },
    { SpvOpUnordered, unordered, prepare_same, NULL, 0 },
    { SpvOpIsNan, is_nan, prepare_same, NULL, 0 },
    { SpvOpIsInf, is_inf, prepare_same, NULL, 0 },
    { SpvOpIsFinite, is_finite, prepare_same, NULL, 0 },
    { SpvOpIsNormal, is_normal, prepare_same, NULL, 0 },
    { SpvOpSignBitSet, sign_bit, prepare_same, NULL, 0 },
    { SpvOpBitReverse, bit_reverse, prepare_same, NULL, 0 },
    { SpvOpBitCount, bit_count, prepare_same, NULL, 0 },
    { SpvOpBitFieldInsert, step_bit_field, prepare_bit_field, NULL, 0 },
    { SpvOpBitFieldSExtract, step_bit_field, prepare_bit_field, NULL, 0 },
    { SpvOpBitFieldUExtract, step_bit_field, prepare_bit_field, NULL, 0 },
    { SpvOpIAddCarry, step_extended, prepare_extended, NULL, 0 },
    { SpvOpISubBorrow, step_extended, prepare_extended, NULL, 0 },
    { SpvOpUMulExtended, step_extended, prepare_extended, NULL, 0 },
    { SpvOpSMulExtended, step_extended, prepare_extended, NULL, 0 },
    { SpvOpSelect, step_select, prepare_select, NULL, OPF_CONSTANT },
    { SpvOpAny, step_any_all, prepare_value, NULL, 0 },
    { SpvOpAll, step_any_all, prepare_value, NULL, 0 },
    { SpvOpDot, step_dot, prepare_dot, NULL, 0 },
    { SpvOpVectorTimesScalar, step_times_scalar, prepare_times_scalar, NULL, 0 },
    { SpvOpMatrixTimesScalar, step_times_scalar, prepare_times_scalar, NULL, 0 },
    { SpvOpVectorTimesMatrix, step_matrix_product, prepare_matrix_product, NULL, 0 },
    { SpvOpMatrixTimesVector, step_matrix_product, prepare_matrix_product, NULL, 0 },
    { SpvOpMatrixTimesMatrix, step_matrix_product, prepare_matrix_product, NULL, 0 },
    { SpvOpOuterProduct, step_outer_product, prepare_outer, NULL, 0 },
    { SpvOpTranspose, step_transpose, prepare_transpose, NULL, 0 },
    { SpvOpSDot, step_integer_dot, prepare_integer_dot, NULL, 0 },
    { SpvOpUDot, step_integer_dot, prepare_integer_dot, NULL, 0 },
    { SpvOpSUDot, step_integer_dot, prepare_integer_dot, NULL, 0 },
    { SpvOpSDotAccSat, step_integer_dot, prepare_integer_dot, NULL, 0 },
    { SpvOpUDotAccSat, step_integer_dot, prepare_integer_dot, NULL, 0 },
    { SpvOpSUDotAccSat, step_integer_dot, prepare_integer_dot, NULL, 0 },
};
/* clang-format on */
const ROpTable ref_arith_ops = { rows, COUNT_OF(rows) };
