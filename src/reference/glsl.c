/* SPDX-License-Identifier: MIT
 *
 * GLSL.std.450: computed in double (long double for f64), rounded once to the result's type, except
 * where the specification asks for an exact result. For undefined arguments the result is 0 or NaN,
 * as in the C library.
 */
#include "reference/machine.h"

#include <math.h>

static uint64_t round_result(const RInst *i, long double x)
{
    if (i->fmt == FMT_F32) {
        float f = (float)x;
        uint32_t w;
        memcpy(&w, &f, 4);
        return w;
    }
    return i->rtz ? fmt_put_rtz((RFmt)i->fmt, (double)x) : fmt_put((RFmt)i->fmt, (double)x);
}

static long double float1(uint32_t op, long double x)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    switch (op) {
    case GLSLstd450Round:
    case GLSLstd450RoundEven: return rintl(x);
    case GLSLstd450Trunc: return truncl(x);
    case GLSLstd450FAbs: return fabsl(x);
    case GLSLstd450FSign: return isnan(x) ? 0 : x > 0 ? 1 : x < 0 ? -1 : x;
    case GLSLstd450Floor: return floorl(x);
    case GLSLstd450Ceil: return ceill(x);
    case GLSLstd450Fract: return x - floorl(x);
    case GLSLstd450Radians: return x * pi / 180;
    case GLSLstd450Degrees: return x * 180 / pi;
    case GLSLstd450Sin: return sinl(x);
    case GLSLstd450Cos: return cosl(x);
    case GLSLstd450Tan: return tanl(x);
    case GLSLstd450Asin: return asinl(x);
    case GLSLstd450Acos: return acosl(x);
    case GLSLstd450Atan: return atanl(x);
    case GLSLstd450Sinh: return sinhl(x);
    case GLSLstd450Cosh: return coshl(x);
    case GLSLstd450Tanh: return tanhl(x);
    case GLSLstd450Asinh: return asinhl(x);
    case GLSLstd450Acosh: return acoshl(x);
    case GLSLstd450Atanh: return atanhl(x);
    case GLSLstd450Exp: return expl(x);
    case GLSLstd450Log: return logl(x);
    case GLSLstd450Exp2: return exp2l(x);
    case GLSLstd450Log2: return log2l(x);
    case GLSLstd450Sqrt: return sqrtl(x);
    default: return 1 / sqrtl(x);
    }
}

static RStep step_unary(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t op = ext_number(i);
    const uint64_t *a = leaf(v, i->ops[2]);
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        uint64_t r;
        if (op == GLSLstd450FAbs)
            r = a[k] & mask_bits(i->sbits - 1u);
        else if (i->sfmt == FMT_F64 &&
                 (op == GLSLstd450Sqrt || op == GLSLstd450Floor || op == GLSLstd450Ceil))
            r = fmt_put(FMT_F64, (double)float1(op, ext_float(i, a[k])));
        else
            r = round_result(i, float1(op, ext_float(i, a[k])));
        if (op == GLSLstd450Fract && ext_float(i, r) >= 1) /* the result is below 1 */
            r -= 1;
        leaf(v, i->dst)[k] = r;
    }
    memcpy(unset(v, i->dst), unset(v, i->ops[2]), i->n);
    return STEP_NEXT;
}

/* Of two zeros, picks by sign if the module may distinguish them. */
static long double least(const RMachine *m, long double x, long double y)
{
    return y < x || (m->signed_zeros && x == y && signbit(y)) ? y : x;
}

static long double most(const RMachine *m, long double x, long double y)
{
    return x < y || (m->signed_zeros && x == y && signbit(x)) ? y : x;
}

static long double float2(const RMachine *m, uint32_t op, long double x, long double y)
{
    switch (op) {
    case GLSLstd450Atan2: return atan2l(x, y);
    case GLSLstd450Pow: return powl(x, y);
    case GLSLstd450FMin: return least(m, x, y);
    case GLSLstd450FMax: return most(m, x, y);
    case GLSLstd450NMin: return isnan(x) ? y : isnan(y) ? x : least(m, x, y);
    case GLSLstd450NMax: return isnan(x) ? y : isnan(y) ? x : most(m, x, y);
    default: return y < x ? 0 : 1; /* Step: edge, x */
    }
}

static RStep step_binary(RMachine *m, RInv *v, const RInst *i)
{
    const uint64_t *a = leaf(v, i->ops[2]), *b = leaf(v, i->ops[3]);
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        leaf(v, i->dst)[k] =
            round_result(i, float2(m, ext_number(i), ext_float(i, a[k]), ext_float(i, b[k])));
        unset(v, i->dst)[k] = ext_undefined(v, i, k);
    }
    return STEP_NEXT;
}

static uint64_t float3(const RMachine *m, const RInst *i, uint64_t a, uint64_t b, uint64_t c)
{
    double x = ext_float(i, a), y = ext_float(i, b), z = ext_float(i, c);
    switch (ext_number(i)) {
    case GLSLstd450FClamp: return round_result(i, least(m, most(m, x, y), z));
    case GLSLstd450NClamp:
        return round_result(i, float2(m, GLSLstd450NMin, float2(m, GLSLstd450NMax, x, y), z));
    case GLSLstd450FMix:
        return round_result(i, (long double)x * (1 - (long double)z) + (long double)y * z);
    case GLSLstd450Fma:
        return i->sfmt == FMT_F64   ? fmt_put(FMT_F64, fma(x, y, z))
               : i->sfmt == FMT_F32 ? round_result(i, fmaf((float)x, (float)y, (float)z))
                                    : round_result(i, (long double)x * y + z);
    default: { /* SmoothStep: edge0, edge1, x */
        long double t = ((long double)z - x) / ((long double)y - x);
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        return round_result(i, t * t * (3 - 2 * t));
    }
    }
}

static RStep step_ternary(RMachine *m, RInv *v, const RInst *i)
{
    const uint64_t *a = leaf(v, i->ops[2]), *b = leaf(v, i->ops[3]), *c = leaf(v, i->ops[4]);
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        leaf(v, i->dst)[k] = float3(m, i, a[k], b[k], c[k]);
        unset(v, i->dst)[k] = ext_undefined(v, i, k);
    }
    return STEP_NEXT;
}

/* ---- integers -------------------------------------------------------------------------------- */

static uint64_t find_bit(uint32_t op, uint64_t x, uint32_t bits)
{
    if (op == GLSLstd450FindSMsb && x >> (bits - 1) & 1)
        x = ~x & mask_bits(bits);
    if (!x)
        return UINT64_MAX;
    return (uint64_t)(op == GLSLstd450FindILsb ? __builtin_ctzll(x) : 63 - __builtin_clzll(x));
}

static RStep step_integer(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t op = ext_number(i), bits = i->sbits;
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        uint64_t a = leaf(v, i->ops[2])[k], r = 0;
        uint64_t b = i->n_ops > 3 ? leaf(v, i->ops[3])[k] : 0,
                 c = i->n_ops > 4 ? leaf(v, i->ops[4])[k] : 0;
        int64_t x = sext(a, bits), y = sext(b, bits), z = sext(c, bits);
        switch (op) {
        case GLSLstd450SAbs: r = (uint64_t)(x < 0 ? 0 - (uint64_t)x : (uint64_t)x); break;
        case GLSLstd450SSign: r = x > 0 ? 1 : x < 0 ? UINT64_MAX : 0; break;
        case GLSLstd450UMin: r = MIN(a, b); break;
        case GLSLstd450UMax: r = MAX(a, b); break;
        case GLSLstd450SMin: r = x < y ? a : b; break;
        case GLSLstd450SMax: r = x > y ? a : b; break;
        case GLSLstd450UClamp: r = MIN(MAX(a, b), c); break;
        case GLSLstd450SClamp: r = MAX(x, y) < z ? (uint64_t)MAX(x, y) : c; break;
        default: r = find_bit(op, a, bits); break;
        }
        leaf(v, i->dst)[k] = r & mask_bits(i->bits);
        unset(v, i->dst)[k] = ext_undefined(v, i, k);
    }
    return STEP_NEXT;
}

/* ---- geometry -------------------------------------------------------------------------------- */

static long double dot(const RInst *i, const uint64_t *a, const uint64_t *b, uint32_t n)
{
    long double s = 0;
    for (uint32_t k = 0; k < n; k++)
        s += (long double)ext_float(i, a[k]) * ext_float(i, b[k]);
    return s;
}

static RStep step_geometry(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t n = i->at->leaves, op = ext_number(i);
    const uint64_t *a = leaf(v, i->ops[2]), *b = i->n_ops > 3 ? leaf(v, i->ops[3]) : a;
    uint64_t *d = leaf(v, i->dst);
    uint8_t u = 0;
    long double s = 0;
    (void)m;
    for (uint32_t o = 2; o < i->n_ops; o++)
        for (uint32_t k = 0; k < operand_type(m, i, o)->leaves; k++)
            u |= unset(v, i->ops[o])[k];
    memset(unset(v, i->dst), u, i->n);
    switch (op) {
    case GLSLstd450Length: d[0] = round_result(i, sqrtl(dot(i, a, a, n))); break;
    case GLSLstd450Distance:
        for (uint32_t k = 0; k < n; k++)
            s += ((long double)ext_float(i, a[k]) - ext_float(i, b[k])) *
                 ((long double)ext_float(i, a[k]) - ext_float(i, b[k]));
        d[0] = round_result(i, sqrtl(s));
        break;
    case GLSLstd450Cross:
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t p = (k + 1) % 3, q = (k + 2) % 3;
            d[k] = round_result(i, (long double)ext_float(i, a[p]) * ext_float(i, b[q]) -
                                       (long double)ext_float(i, a[q]) * ext_float(i, b[p]));
        }
        break;
    case GLSLstd450Normalize:
        s = sqrtl(dot(i, a, a, n));
        for (uint32_t k = 0; k < n; k++)
            d[k] = round_result(i, ext_float(i, a[k]) / s);
        break;
    case GLSLstd450FaceForward: { /* N, I, Nref */
        s = dot(i, leaf(v, i->ops[4]), b, n);
        for (uint32_t k = 0; k < n; k++)
            d[k] = s < 0 ? a[k] : round_result(i, -ext_float(i, a[k]));
        break;
    }
    case GLSLstd450Reflect: /* I, N */
        s = dot(i, b, a, n);
        for (uint32_t k = 0; k < n; k++)
            d[k] = round_result(i, ext_float(i, a[k]) - 2 * s * ext_float(i, b[k]));
        break;
    default: { /* Refract: I, N, eta */
        long double eta = ext_float(i, *leaf(v, i->ops[4])), r;
        s = dot(i, b, a, n);
        r = 1 - eta * eta * (1 - s * s);
        for (uint32_t k = 0; k < n; k++)
            d[k] = r < 0 ? 0
                         : round_result(i, eta * ext_float(i, a[k]) -
                                               (eta * s + sqrtl(r)) * ext_float(i, b[k]));
        break;
    }
    }
    return STEP_NEXT;
}

/* Columns into a; returns the determinant, by elimination with pivots, and the inverse in place. */
static long double invert(long double a[4][4], uint32_t n)
{
    long double det = 1, r[4][4] = { { 0 } };
    for (uint32_t k = 0; k < n; k++)
        r[k][k] = 1;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t p = k;
        for (uint32_t j = k; j < n; j++)
            p = fabsl(a[j][k]) > fabsl(a[p][k]) ? j : p;
        long double pivot = a[p][k];
        det *= p == k ? pivot : -pivot;
        for (uint32_t c = 0; c < n; c++) {
            long double x = a[p][c], y = r[p][c];
            a[p][c] = a[k][c];
            r[p][c] = r[k][c];
            a[k][c] = x / pivot;
            r[k][c] = y / pivot;
        }
        for (uint32_t j = 0; j < n; j++) {
            long double f = a[j][k];
            for (uint32_t c = 0; j != k && c < n; c++) {
                a[j][c] -= f * a[k][c];
                r[j][c] -= f * r[k][c];
            }
        }
    }
    memcpy(a, r, sizeof(r));
    return det;
}

static RStep step_matrix(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t n = i->at->count;
    long double a[4][4];
    uint8_t u = 0;
    (void)m;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t r = 0; r < n; r++) {
            a[c][r] = ext_float(i, leaf(v, i->ops[2])[c * n + r]);
            u |= unset(v, i->ops[2])[c * n + r];
        }
    long double det = invert(a, n);
    if (ext_number(i) == GLSLstd450Determinant)
        *leaf(v, i->dst) = round_result(i, isnan(det) ? 0 : det);
    else
        for (uint32_t k = 0; k < n * n; k++)
            leaf(v, i->dst)[k] = round_result(i, a[k / n][k % n]);
    memset(unset(v, i->dst), u, i->n);
    return STEP_NEXT;
}

/* ---- parts of a float ------------------------------------------------------------------------ */

static RStep step_split(RMachine *m, RInv *v, const RInst *i)
{
    bool pointer = ext_number(i) == GLSLstd450Modf || ext_number(i) == GLSLstd450Frexp;
    bool whole = ext_number(i) == GLSLstd450Modf || ext_number(i) == GLSLstd450ModfStruct;
    uint32_t n = i->at->leaves;
    const RType *second = i->aux;
    for (uint32_t k = 0; k < n; k++) {
        double x = ext_float(i, leaf(v, i->ops[2])[k]), part;
        uint8_t u = unset(v, i->ops[2])[k];
        uint64_t low, high;
        if (whole) {
            low = fmt_put((RFmt)i->sfmt, modf(x, &part));
            high = fmt_put((RFmt)i->sfmt, part);
        } else {
            int e = 0;
            low = fmt_put((RFmt)i->sfmt, frexp(x, &e));
            high = (uint64_t)(int64_t)(isfinite(x) ? e : 0) & mask_bits(second->bits);
        }
        leaf(v, i->dst)[k] = low;
        unset(v, i->dst)[k] = u;
        if (pointer) {
            RPointer p = pointer_plus(pointer_at(v, i->ops[3]), k * second->size);
            mem_store_scalar(m, v, i, p, second, (RLeaves){ &high, &u });
        } else {
            leaf(v, i->dst)[n + k] = high;
            unset(v, i->dst)[n + k] = u;
        }
    }
    return STEP_NEXT;
}

static RStep step_ldexp(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t bits = type_scalar(operand_type(m, i, 3))->bits;
    for (uint32_t k = 0; k < i->n; k++) {
        int64_t e = sext(leaf(v, i->ops[3])[k], bits);
        e = e > 5000 ? 5000 : e < -5000 ? -5000 : e;
        leaf(v, i->dst)[k] = round_result(i, ldexpl(ext_float(i, leaf(v, i->ops[2])[k]), (int)e));
        unset(v, i->dst)[k] = ext_undefined(v, i, k);
    }
    return STEP_NEXT;
}

/* ---- packing --------------------------------------------------------------------------------- */

static double clamp_double(double x, double lo, double hi)
{
    return x < lo || isnan(x) ? lo : x > hi ? hi : x;
}

static RStep step_pack(RMachine *m, RInv *v, const RInst *i)
{
    uint64_t r = 0;
    uint32_t n = i->at->leaves, bits = 64 / n / (ext_number(i) == GLSLstd450PackDouble2x32 ? 1 : 2);
    uint8_t u = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t a = leaf(v, i->ops[2])[k];
        double x = i->sfmt != FMT_NONE ? ext_float(i, a) : 0;
        u |= unset(v, i->ops[2])[k];
        switch (ext_number(i)) {
        case GLSLstd450PackSnorm4x8:
        case GLSLstd450PackSnorm2x16:
            a = (uint64_t)(int64_t)rint(clamp_double(isnan(x) ? 0 : x, -1, 1) *
                                        (double)(mask_bits(bits) >> 1));
            break;
        case GLSLstd450PackUnorm4x8:
        case GLSLstd450PackUnorm2x16:
            a = (uint64_t)rint(clamp_double(x, 0, 1) * (double)mask_bits(bits));
            break;
        case GLSLstd450PackHalf2x16: a = controls_flush(m, FMT_F16, f16_from_double(x)); break;
        default: break;
        }
        r |= (a & mask_bits(bits)) << k * bits;
    }
    *leaf(v, i->dst) = r;
    *unset(v, i->dst) = u;
    return STEP_NEXT;
}

static RStep step_unpack(RMachine *m, RInv *v, const RInst *i)
{
    uint64_t a = *leaf(v, i->ops[2]);
    uint32_t bits = (ext_number(i) == GLSLstd450UnpackDouble2x32 ? 64 : 32) / i->n;
    for (uint32_t k = 0; k < i->n; k++) {
        uint64_t x = a >> k * bits & mask_bits(bits);
        switch (ext_number(i)) {
        case GLSLstd450UnpackSnorm2x16:
        case GLSLstd450UnpackSnorm4x8:
            x = round_result(i, fmax((double)sext(x, bits) / (double)(mask_bits(bits) >> 1), -1));
            break;
        case GLSLstd450UnpackUnorm2x16:
        case GLSLstd450UnpackUnorm4x8:
            x = round_result(i, (double)x / (double)mask_bits(bits));
            break;
        case GLSLstd450UnpackHalf2x16:
            x = round_result(i, f16_to_double((uint16_t)controls_flush(m, FMT_F16, x)));
            break;
        default: break;
        }
        leaf(v, i->dst)[k] = x;
        unset(v, i->dst)[k] = *unset(v, i->ops[2]);
    }
    return STEP_NEXT;
}

/* ---- preparation ----------------------------------------------------------------------------- */

static uint32_t n_operands(uint32_t op)
{
    switch (op) {
    case GLSLstd450Atan2:
    case GLSLstd450Pow:
    case GLSLstd450FMin:
    case GLSLstd450UMin:
    case GLSLstd450SMin:
    case GLSLstd450FMax:
    case GLSLstd450UMax:
    case GLSLstd450SMax:
    case GLSLstd450Step:
    case GLSLstd450Ldexp:
    case GLSLstd450Modf:
    case GLSLstd450Frexp:
    case GLSLstd450Distance:
    case GLSLstd450Cross:
    case GLSLstd450Reflect:
    case GLSLstd450NMin:
    case GLSLstd450NMax: return 2;
    case GLSLstd450FClamp:
    case GLSLstd450UClamp:
    case GLSLstd450SClamp:
    case GLSLstd450FMix:
    case GLSLstd450SmoothStep:
    case GLSLstd450Fma:
    case GLSLstd450FaceForward:
    case GLSLstd450Refract:
    case GLSLstd450NClamp: return 3;
    default: return 1;
    }
}

/* How many leaves operand `k` must have, given those of the first operand and of the result. */
static uint32_t wanted(const RInst *i, uint32_t op, uint32_t k)
{
    if (op == GLSLstd450Refract && k == 2)
        return 1;
    if ((op == GLSLstd450Modf || op == GLSLstd450Frexp) && k == 1)
        return 2; /* a pointer */
    return i->at->leaves;
}

static bool operands_fit(RMachine *m, RInst *i, uint32_t op)
{
    uint32_t n = i->at->leaves, r = i->n;
    switch (op) {
    case GLSLstd450Length:
    case GLSLstd450Distance: return r == 1;
    case GLSLstd450Cross: return r == 3 && n == 3;
    case GLSLstd450Determinant:
    case GLSLstd450MatrixInverse:
        return i->at->kind == SPV_MATRIX && i->at->count <= 4 &&
               i->at->count == i->at->element->count && r == (op == GLSLstd450Determinant ? 1 : n);
    case GLSLstd450ModfStruct:
    case GLSLstd450FrexpStruct: {
        if (i->type->kind != SPV_STRUCT || r != 2 * n)
            return false;
        i->aux = (void *)(uintptr_t)type_scalar(i->type->members[1]);
        return true;
    }
    case GLSLstd450Modf:
    case GLSLstd450Frexp: {
        const RType *p = operand_type(m, i, 3),
                    *t = p->kind == SPV_POINTER ? type_get(m, p->pointee) : NULL;
        if (!t || t->leaves != n || type_is_wide(t) || t->kind == SPV_POINTER)
            return false;
        i->aux = (void *)(uintptr_t)type_scalar(t);
        return r == n;
    }
    case GLSLstd450PackSnorm4x8:
    case GLSLstd450PackUnorm4x8: return n == 4 && r == 1;
    case GLSLstd450PackSnorm2x16:
    case GLSLstd450PackUnorm2x16:
    case GLSLstd450PackHalf2x16:
    case GLSLstd450PackDouble2x32: return n == 2 && r == 1;
    case GLSLstd450UnpackSnorm2x16:
    case GLSLstd450UnpackUnorm2x16:
    case GLSLstd450UnpackHalf2x16:
    case GLSLstd450UnpackDouble2x32: return n == 1 && r == 2;
    case GLSLstd450UnpackSnorm4x8:
    case GLSLstd450UnpackUnorm4x8: return n == 1 && r == 4;
    default: return r == n;
    }
}

static bool prepare_glsl(RMachine *m, RInst *i)
{
    uint32_t op = i->ops[1], n = n_operands(op);
    bool good = i->n_ops >= 2 + n && i->at;
    for (uint32_t k = 0; good && k < i->n_ops - 2u; k++)
        good = ref_of(m, spv_operand(i->src, 2 + k)) != REF_NONE &&
               type_of(m, spv_operand(i->src, 2 + k)) &&
               operand_type(m, i, 2 + k)->leaves == wanted(i, op, k);
    if (!good || i->n_ops != 2 + n || !operands_fit(m, i, op)) {
        refuse(m, i->src, "the operands of GLSL.std.450 instruction %u do not fit", op);
        return false;
    }
    i->part = op;
    return true;
}

static const ROpRow rows[] = {
    { 0, step_unary, prepare_glsl, NULL, 0 },    { 0, step_binary, prepare_glsl, NULL, 0 },
    { 0, step_ternary, prepare_glsl, NULL, 0 },  { 0, step_integer, prepare_glsl, NULL, 0 },
    { 0, step_geometry, prepare_glsl, NULL, 0 }, { 0, step_matrix, prepare_glsl, NULL, 0 },
    { 0, step_split, prepare_glsl, NULL, 0 },    { 0, step_ldexp, prepare_glsl, NULL, 0 },
    { 0, step_pack, prepare_glsl, NULL, 0 },     { 0, step_unpack, prepare_glsl, NULL, 0 },
};
enum {
    R_UNARY,
    R_BINARY,
    R_TERNARY,
    R_INTEGER,
    R_GEOMETRY,
    R_MATRIX,
    R_SPLIT,
    R_LDEXP,
    R_PACK,
    R_UNPACK
};

const ROpRow *glsl_row(uint32_t op)
{
    switch (op) {
    case GLSLstd450SAbs:
    case GLSLstd450SSign:
    case GLSLstd450UMin:
    case GLSLstd450SMin:
    case GLSLstd450UMax:
    case GLSLstd450SMax:
    case GLSLstd450UClamp:
    case GLSLstd450SClamp:
    case GLSLstd450FindILsb:
    case GLSLstd450FindSMsb:
    case GLSLstd450FindUMsb: return &rows[R_INTEGER];
    case GLSLstd450Atan2:
    case GLSLstd450Pow:
    case GLSLstd450FMin:
    case GLSLstd450FMax:
    case GLSLstd450Step:
    case GLSLstd450NMin:
    case GLSLstd450NMax: return &rows[R_BINARY];
    case GLSLstd450FClamp:
    case GLSLstd450FMix:
    case GLSLstd450SmoothStep:
    case GLSLstd450Fma:
    case GLSLstd450NClamp: return &rows[R_TERNARY];
    case GLSLstd450Determinant:
    case GLSLstd450MatrixInverse: return &rows[R_MATRIX];
    case GLSLstd450Modf:
    case GLSLstd450ModfStruct:
    case GLSLstd450Frexp:
    case GLSLstd450FrexpStruct: return &rows[R_SPLIT];
    case GLSLstd450Ldexp: return &rows[R_LDEXP];
    case GLSLstd450Length:
    case GLSLstd450Distance:
    case GLSLstd450Cross:
    case GLSLstd450Normalize:
    case GLSLstd450FaceForward:
    case GLSLstd450Reflect:
    case GLSLstd450Refract: return &rows[R_GEOMETRY];
    case GLSLstd450IMix: return NULL;
    default: break;
    }
    if (op >= GLSLstd450PackSnorm4x8 && op <= GLSLstd450PackDouble2x32)
        return &rows[R_PACK];
    if (op >= GLSLstd450UnpackSnorm2x16 && op <= GLSLstd450UnpackDouble2x32)
        return &rows[R_UNPACK];
    return op >= GLSLstd450Round && op <= GLSLstd450InverseSqrt ? &rows[R_UNARY] : NULL;
}
