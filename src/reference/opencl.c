/* SPDX-License-Identifier: MIT
 *
 * OpenCL.std: computed in long double and rounded once to the result's type, or in integers of 64
 * or 128 bits; loads, stores and second results go through checked memory accesses.
 */
#include "reference/machine.h"

#include <math.h>

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UWide;

static const long double PI = 3.14159265358979323846264338327950288L;

static uint64_t round_result(const RInst *i, long double x)
{
    if (i->fmt == FMT_F32) {
        float f = (float)x;
        uint32_t w;
        memcpy(&w, &f, 4);
        return w;
    }
    return fmt_put((RFmt)i->fmt, (double)x);
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* The angle pi x, reduced exactly first. */
static long double turns(long double x, bool cosine)
{
    long double r = fmodl(fabsl(x), 2), s = 1;
    if (isnan(r))
        return r;
    if (!cosine)
        s = signbit(x) ? -1 : 1;
    if (r >= 1) {
        r -= 1;
        s = -s;
    }
    if (cosine)
        return r == 0.5L ? 0 : s * (r < 0.25L || r > 0.75L ? cosl(PI * r) : sinl(PI * (0.5L - r)));
    if (r == 0)
        return copysignl(0, x);
    return s * (r > 0.5L ? sinl(PI * (1 - r)) : sinl(PI * r));
}

/* long: one flat switch */
static bool float1(uint32_t op, long double x, long double *r)
{
    switch (op) {
    case OpenCLstd_acos: *r = acosl(x); return true;
    case OpenCLstd_acosh: *r = acoshl(x); return true;
    case OpenCLstd_acospi: *r = acosl(x) / PI; return true;
    case OpenCLstd_asin: *r = asinl(x); return true;
    case OpenCLstd_asinh: *r = asinhl(x); return true;
    case OpenCLstd_asinpi: *r = asinl(x) / PI; return true;
    case OpenCLstd_atan: *r = atanl(x); return true;
    case OpenCLstd_atanh: *r = atanhl(x); return true;
    case OpenCLstd_atanpi: *r = atanl(x) / PI; return true;
    case OpenCLstd_cbrt: *r = cbrtl(x); return true;
    case OpenCLstd_ceil: *r = ceill(x); return true;
    case OpenCLstd_cos:
    case OpenCLstd_half_cos:
    case OpenCLstd_native_cos: *r = cosl(x); return true;
    case OpenCLstd_cosh: *r = coshl(x); return true;
    case OpenCLstd_cospi: *r = turns(x, true); return true;
    case OpenCLstd_erfc: *r = erfcl(x); return true;
    case OpenCLstd_erf: *r = erfl(x); return true;
    case OpenCLstd_exp:
    case OpenCLstd_half_exp:
    case OpenCLstd_native_exp: *r = expl(x); return true;
    case OpenCLstd_exp2:
    case OpenCLstd_half_exp2:
    case OpenCLstd_native_exp2: *r = exp2l(x); return true;
    case OpenCLstd_exp10:
    case OpenCLstd_half_exp10:
    case OpenCLstd_native_exp10: *r = powl(10, x); return true;
    case OpenCLstd_expm1: *r = expm1l(x); return true;
    case OpenCLstd_fabs: *r = fabsl(x); return true;
    case OpenCLstd_floor: *r = floorl(x); return true;
    case OpenCLstd_lgamma: *r = lgammal(x); return true;
    case OpenCLstd_log:
    case OpenCLstd_half_log:
    case OpenCLstd_native_log: *r = logl(x); return true;
    case OpenCLstd_log2:
    case OpenCLstd_half_log2:
    case OpenCLstd_native_log2: *r = log2l(x); return true;
    case OpenCLstd_log10:
    case OpenCLstd_half_log10:
    case OpenCLstd_native_log10: *r = log10l(x); return true;
    case OpenCLstd_log1p: *r = log1pl(x); return true;
    case OpenCLstd_logb: *r = logbl(x); return true;
    case OpenCLstd_rint: *r = rintl(x); return true;
    case OpenCLstd_round: *r = roundl(x); return true;
    case OpenCLstd_rsqrt:
    case OpenCLstd_half_rsqrt:
    case OpenCLstd_native_rsqrt: *r = 1 / sqrtl(x); return true;
    case OpenCLstd_sin:
    case OpenCLstd_half_sin:
    case OpenCLstd_native_sin: *r = sinl(x); return true;
    case OpenCLstd_sinh: *r = sinhl(x); return true;
    case OpenCLstd_sinpi: *r = turns(x, false); return true;
    case OpenCLstd_sqrt:
    case OpenCLstd_half_sqrt:
    case OpenCLstd_native_sqrt: *r = sqrtl(x); return true;
    case OpenCLstd_tan:
    case OpenCLstd_half_tan:
    case OpenCLstd_native_tan: *r = tanl(x); return true;
    case OpenCLstd_tanh: *r = tanhl(x); return true;
    case OpenCLstd_tanpi: *r = turns(x, false) / turns(x, true); return true;
    case OpenCLstd_tgamma: *r = tgammal(x); return true;
    case OpenCLstd_trunc: *r = truncl(x); return true;
    case OpenCLstd_half_recip:
    case OpenCLstd_native_recip: *r = 1 / x; return true;
    case OpenCLstd_degrees: *r = x * 180 / PI; return true;
    case OpenCLstd_radians: *r = x * PI / 180; return true;
    case OpenCLstd_sign: *r = isnan(x) ? 0 : x > 0 ? 1 : x < 0 ? -1 : x; return true;
    default: return false;
    }
}

static long double powr_(long double x, long double y)
{
    bool bad = isnan(x) || isnan(y) || x < 0 || (x == 0 && y == 0) || (isinf(x) && y == 0) ||
               (x == 1 && isinf(y));
    return bad ? NAN : fabsl(powl(x, y));
}

static long double nextafter_of(const RInst *i, uint64_t a, uint64_t b)
{
    double x = ext_float(i, a), y = ext_float(i, b);
    uint32_t bits = i->sbits;
    uint64_t sign = UINT64_C(1) << (bits - 1);
    if (isnan(x) || isnan(y))
        return NAN;
    if (x == y)
        return y;
    if (x == 0)
        return ext_float(i, (y < 0 ? sign : 0) | 1);
    return ext_float(i, (x < y) == (x > 0) ? a + 1 : a - 1);
}

static bool float2(const RInst *i, uint32_t op, uint64_t a, uint64_t b, long double *r)
{
    long double x = ext_float(i, a), y = ext_float(i, b);
    switch (op) {
    case OpenCLstd_atan2: *r = atan2l(x, y); return true;
    case OpenCLstd_atan2pi: *r = atan2l(x, y) / PI; return true;
    case OpenCLstd_copysign: *r = copysignl(x, y); return true;
    case OpenCLstd_fdim: *r = isnan(x) || isnan(y) ? NAN : x > y ? x - y : 0; return true;
    case OpenCLstd_fmax: *r = isnan(x) ? y : isnan(y) ? x : x < y ? y : x; return true;
    case OpenCLstd_fmin: *r = isnan(x) ? y : isnan(y) ? x : y < x ? y : x; return true;
    case OpenCLstd_fmod: *r = fmodl(x, y); return true;
    case OpenCLstd_hypot: *r = hypotl(x, y); return true;
    case OpenCLstd_maxmag:
        *r = fabsl(x) > fabsl(y) ? x : fabsl(y) > fabsl(x) ? y : fmaxl(x, y);
        return true;
    case OpenCLstd_minmag:
        *r = fabsl(x) < fabsl(y) ? x : fabsl(y) < fabsl(x) ? y : fminl(x, y);
        return true;
    case OpenCLstd_nextafter: *r = nextafter_of(i, a, b); return true;
    case OpenCLstd_pow: *r = powl(x, y); return true;
    case OpenCLstd_powr:
    case OpenCLstd_half_powr:
    case OpenCLstd_native_powr: *r = powr_(x, y); return true;
    case OpenCLstd_remainder: *r = remainderl(x, y); return true;
    case OpenCLstd_half_divide:
    case OpenCLstd_native_divide: *r = x / y; return true;
    case OpenCLstd_fmax_common: *r = x < y ? y : x; return true;
    case OpenCLstd_fmin_common: *r = y < x ? y : x; return true;
    case OpenCLstd_step: *r = y < x ? 0 : 1; return true;
    default: return false;
    }
}

/* A float and an integer. */
static bool float_int(uint32_t op, long double x, int64_t n, long double *r)
{
    n = op == OpenCLstd_ldexp ? MIN(MAX(n, -5000), 5000) : n;
    switch (op) {
    case OpenCLstd_ldexp: *r = ldexpl(x, (int)n); return true;
    case OpenCLstd_pown: *r = powl(x, n); return true;
    case OpenCLstd_rootn:
        *r = !n || (x < 0 && !(n & 1)) ? NAN : powl(fabsl(x), 1 / (long double)n);
        if (n & 1)
            *r = copysignl(*r, x);
        return true;
    default: return false;
    }
}

static uint64_t float3(const RInst *i, uint64_t a, uint64_t b, uint64_t c)
{
    double x = ext_float(i, a), y = ext_float(i, b), z = ext_float(i, c);
    long double t;
    switch (ext_number(i)) {
    case OpenCLstd_fma:
    case OpenCLstd_mad:
        return i->sfmt == FMT_F64   ? fmt_put(FMT_F64, fma(x, y, z))
               : i->sfmt == FMT_F32 ? round_result(i, fmaf((float)x, (float)y, (float)z))
                                    : round_result(i, (long double)x * y + z);
    case OpenCLstd_fclamp: return round_result(i, fmin(fmax(x, y), z));
    case OpenCLstd_mix: return round_result(i, x + ((long double)y - x) * z);
    default: /* smoothstep: edge0, edge1, x */
        t = ((long double)z - x) / ((long double)y - x);
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        return round_result(i, t * t * (3 - 2 * t));
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

static uint64_t saturated(Wide x, uint32_t bits, bool is_signed)
{
    Wide most = is_signed ? (Wide)(mask_bits(bits) >> 1) : (Wide)mask_bits(bits);
    Wide least = is_signed ? -most - 1 : 0;
    return (uint64_t)(x > most ? most : x < least ? least : x);
}

/* long: one flat switch */
static uint64_t integer_of(uint32_t op, uint64_t a, uint64_t b, uint64_t c, uint32_t bits)
{
    int64_t x = sext(a, bits), y = sext(b, bits), z = sext(c, bits);
    switch (op) {
    case OpenCLstd_s_abs: return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    case OpenCLstd_u_abs: return a;
    case OpenCLstd_s_abs_diff: return x < y ? (uint64_t)y - (uint64_t)x : (uint64_t)x - (uint64_t)y;
    case OpenCLstd_u_abs_diff: return a < b ? b - a : a - b;
    case OpenCLstd_s_add_sat: return saturated((Wide)x + y, bits, true);
    case OpenCLstd_u_add_sat: return saturated((Wide)a + b, bits, false);
    case OpenCLstd_s_sub_sat: return saturated((Wide)x - y, bits, true);
    case OpenCLstd_u_sub_sat: return saturated((Wide)a - (Wide)b, bits, false);
    case OpenCLstd_s_hadd: return (uint64_t)(((Wide)x + y) >> 1);
    case OpenCLstd_u_hadd: return (uint64_t)(((UWide)a + b) >> 1);
    case OpenCLstd_s_rhadd: return (uint64_t)(((Wide)x + y + 1) >> 1);
    case OpenCLstd_u_rhadd: return (uint64_t)(((UWide)a + b + 1) >> 1);
    case OpenCLstd_s_max: return x > y ? a : b;
    case OpenCLstd_u_max: return MAX(a, b);
    case OpenCLstd_s_min: return x < y ? a : b;
    case OpenCLstd_u_min: return MIN(a, b);
    case OpenCLstd_s_clamp: return MAX(x, y) < z ? (uint64_t)MAX(x, y) : c;
    case OpenCLstd_u_clamp: return MIN(MAX(a, b), c);
    case OpenCLstd_clz: return a ? (uint64_t)__builtin_clzll(a) - (64 - bits) : bits;
    case OpenCLstd_ctz: return a ? (uint64_t)__builtin_ctzll(a) : bits;
    case OpenCLstd_popcount: return (uint64_t)__builtin_popcountll(a);
    case OpenCLstd_s_mul_hi: return (uint64_t)((Wide)x * y >> bits);
    case OpenCLstd_u_mul_hi: return (uint64_t)((UWide)a * b >> bits);
    case OpenCLstd_s_mad_hi: return (uint64_t)((Wide)x * y >> bits) + c;
    case OpenCLstd_u_mad_hi: return (uint64_t)((UWide)a * b >> bits) + c;
    case OpenCLstd_s_mad_sat: return saturated((Wide)x * y + z, bits, true);
    case OpenCLstd_u_mad_sat: {
        UWide p = (UWide)a * b, sum = p + c;
        return sum < p || sum > mask_bits(bits) ? mask_bits(bits) : (uint64_t)sum;
    }
    case OpenCLstd_s_mul24:
    case OpenCLstd_u_mul24: return a * b;
    case OpenCLstd_s_mad24:
    case OpenCLstd_u_mad24: return a * b + c;
    case OpenCLstd_rotate: {
        uint32_t n = (uint32_t)(b % bits);
        return n ? a << n | (a & mask_bits(bits)) >> (bits - n) : a;
    }
    case OpenCLstd_u_upsample:
    case OpenCLstd_s_upsample: return a << bits | b;
    case OpenCLstd_bitselect: return (a & ~c) | (b & c);
    default: return 0;
    }
}

static uint64_t not_a_number(const RInst *i, uint64_t code)
{
    switch (i->fmt) {
    case FMT_F16: return 0x7e00 | (code & 0x1ff);
    case FMT_F64: return 0x7ff8000000000000 | (code & 0x7ffffffffffff);
    default: return 0x7fc00000 | (code & 0x3fffff);
    }
}

/* ---- component by component ------------------------------------------------------------------ */

static uint64_t compute_component(RMachine *m, RInv *v, const RInst *i, uint32_t k)
{
    uint32_t op = ext_number(i);
    uint64_t x[3] = { 0 };
    long double r = 0;
    for (uint32_t o = 2; o < i->n_ops && o < 5; o++)
        x[o - 2] = leaf(v, i->ops[o])[k];
    switch (op) {
    case OpenCLstd_fma:
    case OpenCLstd_mad:
    case OpenCLstd_fclamp:
    case OpenCLstd_mix:
    case OpenCLstd_smoothstep: return float3(i, x[0], x[1], x[2]);
    case OpenCLstd_ilogb: {
        double a = ext_float(i, x[0]);
        int64_t e = a == 0 ? INT32_MIN : !isfinite(a) ? INT32_MAX : ilogb(a);
        return (uint64_t)e & mask_bits(i->bits);
    }
    case OpenCLstd_nan: return not_a_number(i, x[0]);
    case OpenCLstd_fabs: return x[0] & mask_bits(i->sbits - 1u);
    case OpenCLstd_select: {
        uint32_t bits = type_scalar(operand_type(m, i, 4))->bits;
        bool vector = i->type->kind == SPV_VECTOR;
        return (vector ? x[2] >> (bits - 1) & 1 : x[2] != 0) ? x[1] : x[0];
    }
    default: break;
    }
    if (i->sfmt == FMT_NONE || op == OpenCLstd_bitselect)
        return integer_of(op, x[0], x[1], x[2], i->sbits) & mask_bits(i->bits);
    if (i->n_ops == 3 && float1(op, ext_float(i, x[0]), &r))
        return round_result(i, r);
    const RType *second = i->n_ops > 3 ? type_scalar(operand_type(m, i, 3)) : NULL;
    if (second && second->kind == SPV_INT)
        float_int(op, ext_float(i, x[0]), sext(x[1], second->bits), &r);
    else if (second)
        float2(i, op, x[0], x[1], &r);
    return round_result(i, r);
}

static RStep step_plain(RMachine *m, RInv *v, const RInst *i)
{
    for (uint32_t k = 0; k < i->n; k++) {
        leaf(v, i->dst)[k] = compute_component(m, v, i, k);
        unset(v, i->dst)[k] = ext_undefined(v, i, k);
    }
    return STEP_NEXT;
}

/* ---- second results through pointers --------------------------------------------------------- */

static uint64_t split_value(const RInst *i, double x, double y, const RType *second,
                            long double *first)
{
    int n = 0;
    long double part = 0;
    switch (ext_number(i)) {
    case OpenCLstd_fract: {
        part = floorl(x);
        long double most = i->fmt == FMT_F16   ? 0x1.ffcp-1L
                           : i->fmt == FMT_F64 ? 0x1.fffffffffffffp-1L
                                               : 0x1.fffffep-1L;
        *first = isinf(x) ? copysignl(0, x) : x - part;
        *first = *first == 0 ? copysignl(0, x) : *first > most ? most : *first;
        break;
    }
    case OpenCLstd_modf: *first = modfl(x, &part); break;
    case OpenCLstd_sincos:
        *first = sinl(x);
        part = cosl(x);
        break;
    case OpenCLstd_frexp:
        *first = frexpl(x, &n);
        n = isfinite(x) ? n : 0;
        break;
    case OpenCLstd_remquo: {
        long double some = isfinite(x) && y != 0 && !isnan(y), b = fabsl(y);
        long double q = some ? rintl(fmodl(fabsl(x), 128 * b) / b) : 0;
        *first = remainderl(x, y);
        n = (int)q & 127;
        n = signbit(x) == signbit(y) ? n : -n;
        break;
    }
    default: /* lgamma_r */
        *first = lgammal(x);
        n = x < 0 && fmod(floor(x), 2) != 0 ? -1 : 1;
        break;
    }
    return second->kind == SPV_INT ? (uint64_t)(int64_t)n & mask_bits(second->bits)
                                   : round_result(i, part);
}

static RStep step_two_results(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t at = ext_number(i) == OpenCLstd_remquo ? 4 : 3;
    const RType *second = i->aux;
    RPointer p = pointer_at(v, i->ops[at]);
    for (uint32_t k = 0; k < i->n; k++) {
        long double first = 0;
        double y = at == 4 ? ext_float(i, leaf(v, i->ops[3])[k]) : 0;
        uint64_t other = split_value(i, ext_float(i, leaf(v, i->ops[2])[k]), y, second, &first);
        uint8_t u = unset(v, i->ops[2])[k];
        leaf(v, i->dst)[k] = round_result(i, first);
        unset(v, i->dst)[k] = u;
        mem_store_scalar(m, v, i, pointer_plus(p, k * second->size), second,
                         (RLeaves){ &other, &u });
    }
    return STEP_NEXT;
}

/* The operands behind the set and the number, `n` of them (0: all), are values. */
static bool values(RMachine *m, const RInst *i, uint32_t n)
{
    for (uint32_t o = 2; o < (n ? 2 + n : i->n_ops); o++)
        if (o >= i->n_ops || ref_of(m, spv_operand(i->src, o)) == REF_NONE ||
            !type_of(m, spv_operand(i->src, o)))
            return false;
    return i->at != NULL;
}

/* ---- vectors in memory ----------------------------------------------------------------------- */

typedef struct Lane {
    RType scalar;            /* in memory */
    uint32_t n, stride;      /* components; bytes from one vector to the next */
    uint32_t index, pointer; /* operands */
    uint32_t mode;           /* FPRoundingMode of a store */
} Lane;

static RStep step_vectors(RMachine *m, RInv *v, const RInst *i)
{
    const Lane *l = i->aux;
    const RType *it = operand_type(m, i, l->index);
    RPointer p = pointer_at(v, i->ops[l->pointer]);
    p.va += (uint64_t)sext(*leaf(v, i->ops[l->index]), it->bits) * l->stride;
    bool store = l->pointer == 4, half = l->scalar.format == SPV_IEEE &&
                                         l->scalar.kind == SPV_FLOAT && l->scalar.bits == 16 &&
                                         i->sfmt != FMT_F16;
    for (uint32_t k = 0; k < l->n; k++, p.va += l->scalar.size) {
        if (store) {
            uint64_t x = leaf(v, i->ops[2])[k];
            if (l->mode != UINT32_MAX)
                x = fmt_put_mode(FMT_F16, fmt_get((RFmt)i->sfmt, x), l->mode);
            mem_store_scalar(m, v, i, p, &l->scalar, (RLeaves){ &x, &unset(v, i->ops[2])[k] });
            continue;
        }
        RLeaves to = leaves_at(v, i->dst + k);
        mem_load_scalar(m, v, i, p, &l->scalar, to);
        if (half && i->fmt != FMT_F16 && i->fmt != FMT_NONE)
            *to.x = round_result(i, f16_to_double((uint16_t)*to.x));
    }
    return STEP_NEXT;
}

static bool prepare_vectors(RMachine *m, RInst *i)
{
    uint32_t op = ext_number(i);
    Lane *l = NEW(m->arena, Lane);
    bool load = op == OpenCLstd_vloadn || op == OpenCLstd_vload_half ||
                op == OpenCLstd_vload_halfn || op == OpenCLstd_vloada_halfn;
    bool half = op != OpenCLstd_vloadn && op != OpenCLstd_vstoren;
    bool aligned = op == OpenCLstd_vloada_halfn || op == OpenCLstd_vstorea_halfn ||
                   op == OpenCLstd_vstorea_halfn_r;
    bool rounded = op == OpenCLstd_vstore_half_r || op == OpenCLstd_vstore_halfn_r ||
                   op == OpenCLstd_vstorea_halfn_r;
    l->index = load ? 2 : 3;
    l->pointer = load ? 3 : 4;
    if (i->n_ops <= l->pointer + rounded || !values(m, i, load ? 2 : 3) ||
        operand_type(m, i, l->index)->kind != SPV_INT ||
        operand_type(m, i, l->pointer)->kind != SPV_POINTER)
        return false;
    const RType *t = load ? i->type : operand_type(m, i, 2);
    l->scalar = *type_scalar(t);
    l->n = t->leaves;
    l->mode = half && !load ? rounded ? i->ops[5] : SpvFPRoundingModeRTE : UINT32_MAX;
    if (half) {
        l->scalar.bits = 16;
        l->scalar.size = l->scalar.align = 2;
    }
    l->stride = (uint32_t)l->scalar.size * (aligned && l->n == 3 ? 4 : l->n);
    i->aux = l;
    return true;
}

/* ---- geometry, shuffles ---------------------------------------------------------------------- */

static RStep step_geometry(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t n = i->at->leaves, op = ext_number(i);
    const uint64_t *a = leaf(v, i->ops[2]), *b = i->n_ops > 3 ? leaf(v, i->ops[3]) : a;
    uint64_t *d = leaf(v, i->dst), out[16] = { 0 };
    long double s = 0;
    uint8_t u = 0;
    (void)m;
    for (uint32_t k = 0; k < n; k++)
        u |= ext_undefined(v, i, k);
    for (uint32_t k = 0; k < n; k++) {
        long double x = ext_float(i, a[k]), y = ext_float(i, b[k]);
        if (op == OpenCLstd_distance || op == OpenCLstd_fast_distance)
            x -= y;
        s += x * x;
    }
    s = sqrtl(s);
    for (uint32_t k = 0; k < n && k < 16; k++) {
        uint32_t p = (k + 1) % 3, q = (k + 2) % 3;
        if (op == OpenCLstd_cross)
            out[k] =
                k == 3 ? 0
                       : round_result(i, (long double)ext_float(i, a[p]) * ext_float(i, b[q]) -
                                             (long double)ext_float(i, a[q]) * ext_float(i, b[p]));
        else
            out[k] = s == 0 ? a[k] : round_result(i, ext_float(i, a[k]) / s);
    }
    if (i->n == 1 && op != OpenCLstd_normalize && op != OpenCLstd_fast_normalize)
        out[0] = round_result(i, s);
    memcpy(d, out, MIN(i->n, 16) * sizeof *d);
    memset(unset(v, i->dst), u, i->n);
    return STEP_NEXT;
}

static RStep step_shuffle(RMachine *m, RInv *v, const RInst *i)
{
    bool two = ext_number(i) == OpenCLstd_shuffle2;
    uint32_t n = i->at->leaves;
    Ref mask = i->ops[two ? 4 : 3];
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        uint32_t at = (uint32_t)leaf(v, mask)[k] & (n * (two ? 2 : 1) - 1);
        Ref from = i->ops[at < n ? 2 : 3];
        leaf(v, i->dst)[k] = leaf(v, from)[at % n];
        unset(v, i->dst)[k] = unset(v, from)[at % n] | unset(v, mask)[k];
    }
    return STEP_NEXT;
}

/* ---- printf, prefetch ------------------------------------------------------------------------ */

/* A NUL-terminated text in memory of the device; NULL when it is none. */
static const char *text_at(RMachine *m, RInv *v, const RInst *i, RPointer p)
{
    for (uint32_t n = 0; n < 65536; n++) {
        RAccess a;
        if (!mem_access(m, v, i, &(RRequest){ pointer_plus(p, n), 1, 1, ACCESS_READ }, &a))
            return NULL;
        if (!*a.data)
            return (const char *)a.data - n;
    }
    return NULL;
}

static RStep step_print(RMachine *m, RInv *v, const RInst *i)
{
    enum { MAX_WORDS = 256 };
    uint64_t words[MAX_WORDS];
    uint32_t n = 0;
    const char *format = text_at(m, v, i, pointer_at(v, i->ops[2]));
    for (uint32_t o = 3; o < i->n_ops; o++) {
        const RType *t = operand_type(m, i, o), *s = type_scalar(t);
        const uint64_t *x = leaf(v, i->ops[o]);
        uint32_t count = t->kind == SPV_POINTER ? 1 : t->leaves;
        for (uint32_t k = 0; k < count && n < MAX_WORDS; k++) {
            double f = s->kind == SPV_FLOAT ? fmt_get(fmt_of(s), x[k]) : 0;
            if (s->kind == SPV_POINTER)
                words[n] = (uint64_t)(uintptr_t)text_at(m, v, i, pointer_at(v, i->ops[o]));
            else if (s->kind == SPV_FLOAT)
                memcpy(&words[n], &f, sizeof f);
            else
                words[n] = x[k];
            n++;
        }
    }
    if (format && m->d->print)
        m->d->print(m->d->user, format, words, n);
    *leaf(v, i->dst) = 0;
    *unset(v, i->dst) = 0;
    return STEP_NEXT;
}

/* ---- preparation ----------------------------------------------------------------------------- */

/* Every operand has as many components as the result. */
static bool prepare_plain(RMachine *m, RInst *i)
{
    const SpvExtInst *info = spv_ext_inst(SPV_SET_OpenCLstd_, ext_number(i));
    if (!info || i->n_ops != 2u + info->n_operands || !values(m, i, 0))
        return false;
    for (uint32_t o = 2; o < i->n_ops; o++)
        if (operand_type(m, i, o)->leaves != i->n || type_is_wide(operand_type(m, i, o)))
            return false;
    return true;
}

static bool prepare_two(RMachine *m, RInst *i)
{
    uint32_t at = ext_number(i) == OpenCLstd_remquo ? 4 : 3;
    if (i->n_ops <= at || !values(m, i, 0) || i->n != i->at->leaves)
        return false;
    const RType *p = operand_type(m, i, at),
                *t = p->kind == SPV_POINTER ? type_get(m, p->pointee) : NULL;
    if (!t || t->leaves != i->n || type_is_wide(t) || t->kind == SPV_POINTER)
        return false;
    i->aux = (void *)(uintptr_t)type_scalar(t);
    return true;
}

static bool prepare_geometry(RMachine *m, RInst *i)
{
    bool two = ext_number(i) == OpenCLstd_cross || ext_number(i) == OpenCLstd_distance ||
               ext_number(i) == OpenCLstd_fast_distance;
    return i->n_ops == 3u + two && values(m, i, 0) && i->at->leaves <= 16 &&
           (!two || operand_type(m, i, 3)->leaves == i->at->leaves) &&
           (i->n == 1 || i->n == i->at->leaves);
}

static bool prepare_shuffle(RMachine *m, RInst *i)
{
    bool two = ext_number(i) == OpenCLstd_shuffle2;
    return i->n_ops == 4u + two && values(m, i, 0) && is_pow2(i->at->leaves) &&
           (!two || operand_type(m, i, 3)->leaves == i->at->leaves) &&
           operand_type(m, i, two ? 4 : 3)->leaves == i->n;
}

static bool prepare_print(RMachine *m, RInst *i)
{
    return i->n_ops >= 3 && values(m, i, 0) && i->at->kind == SPV_POINTER;
}

const ROpRow *opencl_row(uint32_t op)
{
    static const ROpRow plain_row = { 0, step_plain, prepare_plain, NULL, 0 },
                        two_row = { 0, step_two_results, prepare_two, NULL, 0 },
                        vectors_row = { 0, step_vectors, prepare_vectors, NULL, 0 },
                        geometry_row = { 0, step_geometry, prepare_geometry, NULL, 0 },
                        shuffle_row = { 0, step_shuffle, prepare_shuffle, NULL, 0 },
                        print_row = { 0, step_print, prepare_print, NULL, 0 },
                        nothing_row = { 0, step_nothing, NULL, NULL, 0 };
    if (!spv_ext_inst(SPV_SET_OpenCLstd_, op))
        return NULL;
    if (op >= OpenCLstd_vloadn && op <= OpenCLstd_vstorea_halfn_r)
        return &vectors_row;
    switch (op) {
    case OpenCLstd_fract:
    case OpenCLstd_frexp:
    case OpenCLstd_modf:
    case OpenCLstd_sincos:
    case OpenCLstd_remquo:
    case OpenCLstd_lgamma_r: return &two_row;
    case OpenCLstd_cross:
    case OpenCLstd_distance:
    case OpenCLstd_length:
    case OpenCLstd_normalize:
    case OpenCLstd_fast_distance:
    case OpenCLstd_fast_length:
    case OpenCLstd_fast_normalize: return &geometry_row;
    case OpenCLstd_shuffle:
    case OpenCLstd_shuffle2: return &shuffle_row;
    case OpenCLstd_printf: return &print_row;
    case OpenCLstd_prefetch: return &nothing_row;
    default: return &plain_row;
    }
}
