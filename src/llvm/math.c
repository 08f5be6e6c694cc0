/* SPDX-License-Identifier: MIT
 *
 * Elementary functions over scalars and vectors of float.
 *
 * Each is a range reduction, a minimax polynomial (coefficients: weighted Lawson iteration, rounded
 * to float one after the other, lowest order first, the rest fitted anew) and a reconstruction,
 * with no call and no table. Multiply-adds are llvm.fmuladd: fused where the machine can, and the
 * reductions use constants short enough to be exact where it cannot. No fast-math flags: the code
 * below means what it says, so that adding and subtracting 1.5 * 2^23 does round to an integer.
 *
 * Angles beyond 2^13 take the Payne-Hanek way (multiplication by as many bits of 1/pi as matter) in
 * a function of its own, called when any lane needs it.
 */
#include "llvm/math.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef LLVMValueRef Val;

/* What the emitters below need at hand: builder, the type of the values and of their bits. */
typedef struct M {
    LLVMBuilderRef b;
    LLVMTypeRef t, it;
} M;

/* ---- helpers --------------------------------------------------------------------------------- */

static LLVMModuleRef module_of(LLVMBuilderRef b)
{
    return LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b)));
}

Val math_fma(LLVMBuilderRef b, Val x, Val y, Val z)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    Val args[3] = { x, y, z };
    return ir_intrinsic(b, "llvm.fmuladd", &t, 1, args, 3);
}

static M math_of(LLVMBuilderRef b, Val x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    LLVMContextRef cx = LLVMGetTypeContext(t);
    bool wide = LLVMGetTypeKind(ir_element(t)) == LLVMDoubleTypeKind;
    LLVMTypeRef bits = wide ? LLVMInt64TypeInContext(cx) : LLVMInt32TypeInContext(cx);
    return (M){ b, t, ir_type_like(t, bits) };
}

static Val num(M *m, double x) { return ir_real(m->t, x); }
static Val inum(M *m, int64_t x) { return ir_int(m->it, (uint64_t)x); }
static Val add(M *m, Val x, Val y) { return LLVMBuildFAdd(m->b, x, y, ""); }
static Val sub(M *m, Val x, Val y) { return LLVMBuildFSub(m->b, x, y, ""); }
static Val mul(M *m, Val x, Val y) { return LLVMBuildFMul(m->b, x, y, ""); }
static Val quot(M *m, Val x, Val y) { return LLVMBuildFDiv(m->b, x, y, ""); }
static Val mad(M *m, Val x, Val y, Val z) { return math_fma(m->b, x, y, z); }
static Val neg(M *m, Val x) { return LLVMBuildFNeg(m->b, x, ""); }
static Val sqroot(M *m, Val x) { return ir_unary(m->b, "llvm.sqrt", x); }
static Val fabsv(M *m, Val x) { return ir_unary(m->b, "llvm.fabs", x); }
static Val copysignv(M *m, Val x, Val s) { return ir_binary(m->b, "llvm.copysign", x, s); }
static Val bits(M *m, Val x) { return LLVMBuildBitCast(m->b, x, m->it, ""); }
static Val real(M *m, Val x) { return LLVMBuildBitCast(m->b, x, m->t, ""); }
static Val iadd(M *m, Val x, Val y) { return LLVMBuildAdd(m->b, x, y, ""); }
static Val isub(M *m, Val x, Val y) { return LLVMBuildSub(m->b, x, y, ""); }
static Val shl(M *m, Val x, unsigned n) { return LLVMBuildShl(m->b, x, inum(m, n), ""); }
static Val ashr(M *m, Val x, unsigned n) { return LLVMBuildAShr(m->b, x, inum(m, n), ""); }
static Val pick(M *m, Val c, Val x, Val y) { return LLVMBuildSelect(m->b, c, x, y, ""); }

static Val cmp(M *m, LLVMRealPredicate p, Val x, double y)
{
    return LLVMBuildFCmp(m->b, p, x, num(m, y), "");
}

/* c[0] + x c[1] + ... */
static Val poly(M *m, Val x, const double *c, unsigned n)
{
    Val r = num(m, c[n - 1]);
    for (unsigned i = n - 1; i-- > 0;)
        r = mad(m, r, x, num(m, c[i]));
    return r;
}
#define POLY(m, x, ...)                                                                            \
    poly((m), (x), (const double[]){ __VA_ARGS__ },                                                \
         sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

/* Bounds that let NaN through. */
static Val clamp_between(M *m, Val x, double lo, double hi)
{
    x = pick(m, cmp(m, LLVMRealOGT, x, hi), num(m, hi), x);
    return pick(m, cmp(m, LLVMRealOLT, x, lo), num(m, lo), x);
}

/* Nearest integer of x, |x| < 2^22, as a float and as bits. */
static Val nearest(M *m, Val x, Val *as_int)
{
    const double magic = 0x1.8p23;
    Val t = add(m, x, num(m, magic));
    *as_int = isub(m, bits(m, t), bits(m, num(m, magic)));
    return sub(m, t, num(m, magic));
}

/* x * 2^n for n in [-252, 254], in two steps so that results below the normal range round once. */
static Val scale(M *m, Val x, Val n)
{
    Val half = ashr(m, n, 1), rest = isub(m, n, half);
    Val a = real(m, shl(m, iadd(m, half, inum(m, 127)), 23));
    Val b = real(m, shl(m, iadd(m, rest, inum(m, 127)), 23));
    return mul(m, mul(m, x, a), b);
}

typedef Val Unary(M *m, Val x);

static bool is_kind(Val x, LLVMTypeKind k)
{
    return LLVMGetTypeKind(ir_element(LLVMTypeOf(x))) == k;
}

static Val to_float(LLVMBuilderRef b, Val x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    return LLVMBuildFPExt(b, x, ir_type_like(t, LLVMFloatTypeInContext(LLVMGetTypeContext(t))), "");
}

Val math_call(LLVMBuilderRef b, const char *name, Val *x, unsigned n)
{
    LLVMTypeRef t = LLVMTypeOf(x[0]), d = ir_element(t), params[] = { d, d, d };
    LLVMTypeRef ft = LLVMFunctionType(d, params, n, false);
    LLVMModuleRef module = module_of(b);
    Val f = LLVMGetNamedFunction(module, name);
    if (!f)
        f = LLVMAddFunction(module, name, ft);
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return LLVMBuildCall2(b, ft, f, x, n, "");
    Val r = LLVMGetPoison(t), args[3];
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(t));
    for (unsigned i = 0; i < LLVMGetVectorSize(t); i++) {
        Val at = LLVMConstInt(i32, i, false);
        for (unsigned k = 0; k < n; k++)
            args[k] = LLVMBuildExtractElement(b, x[k], at, "");
        r = LLVMBuildInsertElement(b, r, LLVMBuildCall2(b, ft, f, args, n, ""), at, "");
    }
    return r;
}

static Val call_libm(LLVMBuilderRef b, const char *name, Val x, Val y)
{
    return math_call(b, name, (Val[]){ x, y }, y ? 2 : 1);
}

Val math_libm(LLVMBuilderRef b, const char *name, Val x, Val y)
{
    char narrow_name[32];
    LLVMTypeRef t = LLVMTypeOf(x);
    if (is_kind(x, LLVMDoubleTypeKind))
        return call_libm(b, name, x, y);
    bool narrow = !is_kind(x, LLVMFloatTypeKind);
    snprintf(narrow_name, sizeof narrow_name, "%sf", name);
    if (narrow && y)
        y = to_float(b, y);
    Val r = call_libm(b, narrow_name, narrow ? to_float(b, x) : x, y);
    return narrow ? LLVMBuildFPTrunc(b, r, t, "") : r;
}

/* Half is computed in float, double by the C library. */
static Val apply_unary(LLVMBuilderRef b, Val x, Unary *in_float, const char *libm)
{
    if (is_kind(x, LLVMDoubleTypeKind))
        return call_libm(b, libm, x, NULL);
    LLVMTypeRef t = LLVMTypeOf(x);
    bool narrow = !is_kind(x, LLVMFloatTypeKind);
    if (narrow)
        x = to_float(b, x);
    M m = math_of(b, x);
    Val r = in_float(&m, x);
    return narrow ? LLVMBuildFPTrunc(b, r, t, "") : r;
}

typedef Val Binary(M *m, Val x, Val y);

static Val apply_binary(LLVMBuilderRef b, Val x, Val y, Binary *in_float, const char *libm)
{
    if (is_kind(x, LLVMDoubleTypeKind))
        return call_libm(b, libm, x, y);
    LLVMTypeRef t = LLVMTypeOf(x);
    bool narrow = !is_kind(x, LLVMFloatTypeKind);
    if (narrow) {
        x = to_float(b, x);
        y = to_float(b, y);
    }
    M m = math_of(b, x);
    Val r = in_float(&m, x, y);
    return narrow ? LLVMBuildFPTrunc(b, r, t, "") : r;
}

/* ---- exponentials ---------------------------------------------------------------------------- */

static Val exp2_float(M *m, Val x)
{
    x = clamp_between(m, x, -151, 129);
    Val n, r = sub(m, x, nearest(m, x, &n));
    Val p = POLY(m, r, 0x1.62e43p-1, 0x1.ebfbdcp-3, 0x1.c6af7ap-5, 0x1.3b2dd2p-7, 0x1.5f0956p-10,
                 0x1.417ae8p-13);
    return scale(m, mad(m, p, r, num(m, 1)), n);
}

/* 2^shift * e^x. ln 2 is split so that n * high is exact: 16 + 8 bits. */
static Val exp_shifted(M *m, Val x, int shift)
{
    x = clamp_between(m, x, -105, 90);
    Val n, t = nearest(m, mul(m, x, num(m, 0x1.715476p+0)), &n);
    Val r = mad(m, t, num(m, -0x1.62e4p-1), x);
    r = mad(m, t, num(m, -0x1.7f7d1cp-20), r);
    Val q = POLY(m, r, 0x1.fffffcp-2, 0x1.55549p-3, 0x1.5558aep-5, 0x1.123b16p-7, 0x1.6a522ap-10);
    Val e = add(m, mad(m, mul(m, r, r), q, r), num(m, 1));
    return scale(m, e, shift ? iadd(m, n, inum(m, shift)) : n);
}

static Val exp_float(M *m, Val x) { return exp_shifted(m, x, 0); }

/* e^|x| / 2 = E gives sinh = E - 1/(4E), cosh = E + 1/(4E), without overflow where they have
 * none. */
static Val sinh_float(M *m, Val x)
{
    Val a = fabsv(m, x);
    Val e = exp_shifted(m, a, -1);
    Val large = sub(m, e, quot(m, num(m, 0.25), e));
    Val z = mul(m, a, a);
    Val p = POLY(m, z, 0x1.555556p-3, 0x1.1110ep-7, 0x1.a022bap-13, 0x1.756ccp-19);
    Val small = mad(m, mul(m, p, z), a, a);
    return copysignv(m, pick(m, cmp(m, LLVMRealOLT, a, 1), small, large), x);
}

static Val cosh_float(M *m, Val x)
{
    Val e = exp_shifted(m, fabsv(m, x), -1);
    return add(m, e, quot(m, num(m, 0.25), e));
}

static Val tanh_float(M *m, Val x)
{
    Val a = fabsv(m, x);
    Val bounded = clamp_between(m, a, 0, 10); /* 1 from 9.02 on */
    Val e = exp_float(m, add(m, bounded, bounded));
    Val large = sub(m, num(m, 1), quot(m, num(m, 2), add(m, e, num(m, 1))));
    Val z = mul(m, a, a);
    Val p = POLY(m, z, -0x1.555554p-2, 0x1.11107ep-3, -0x1.b9f2d2p-5, 0x1.63b77ep-6, -0x1.0cc8eep-7,
                 0x1.1bdf3ep-9);
    Val small = mad(m, mul(m, p, z), a, a);
    return copysignv(m, pick(m, cmp(m, LLVMRealOLT, a, 0.6), small, large), x);
}

/* ---- logarithms ------------------------------------------------------------------------------ */

/* x = (1 + f) * 2^e with 1 + f in [sqrt(1/2), sqrt(2)); finite x > 0. */
static Val split_exponent(M *m, Val x, Val *e)
{
    Val small = cmp(m, LLVMRealOLT, x, 0x1p-126);
    Val i = bits(m, pick(m, small, mul(m, x, num(m, 0x1p23)), x));
    Val n = ashr(m, isub(m, i, inum(m, 0x3f3504f3)), 23);
    Val f = sub(m, real(m, isub(m, i, shl(m, n, 23))), num(m, 1));
    n = iadd(m, n, pick(m, small, inum(m, -23), inum(m, 0)));
    *e = LLVMBuildSIToFP(m->b, n, m->t, "");
    return f;
}

/* log(1 + f) - f */
static Val log_tail(M *m, Val f)
{
    Val q = POLY(m, f, -0x1.fffff8p-2, 0x1.55555p-2, -0x1.000436p-2, 0x1.99a418p-3, -0x1.542488p-3,
                 0x1.226d1cp-3, -0x1.0f4bbap-3, 0x1.086f24p-3, -0x1.382bd2p-4);
    return mul(m, mul(m, f, f), q);
}

static Val log_edges(M *m, Val x, Val r)
{
    r = pick(m, cmp(m, LLVMRealOEQ, x, INFINITY), x, r);
    r = pick(m, cmp(m, LLVMRealOEQ, x, 0), num(m, -INFINITY), r);
    return pick(m, cmp(m, LLVMRealULT, x, 0), num(m, NAN), r);
}

static Val log_float(M *m, Val x)
{
    Val e, f = split_exponent(m, x, &e);
    Val tail = mad(m, e, num(m, 0x1.7f7d1cp-20), log_tail(m, f));
    Val r = mad(m, e, num(m, 0x1.62e4p-1), add(m, f, tail));
    return log_edges(m, x, r);
}

static Val log2_float(M *m, Val x)
{
    Val e, f = split_exponent(m, x, &e);
    Val tail = mad(m, f, num(m, 0x1.4ae0cp-26), mul(m, log_tail(m, f), num(m, 0x1.715476p+0)));
    return log_edges(m, x, add(m, e, mad(m, f, num(m, 0x1.715476p+0), tail)));
}

/* log(1 + u) for u >= 0 (or in (-1, 0)), corrected for what 1 + u lost. */
static Val log1p_float(M *m, Val u)
{
    Val y = add(m, u, num(m, 1));
    Val lost = sub(m, u, sub(m, y, num(m, 1)));
    Val corrected = add(m, log_float(m, y), quot(m, lost, y));
    Val finite = cmp(m, LLVMRealOLT, y, INFINITY);
    corrected = pick(m, finite, corrected, y);
    return pick(m, cmp(m, LLVMRealOEQ, y, 1), u, corrected);
}

/* asinh(a) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))); from 2^32 on log(a) + log(2). */
static Val asinh_float(M *m, Val x)
{
    Val a = fabsv(m, x);
    Val large = cmp(m, LLVMRealOGT, a, 0x1p32);
    Val s = pick(m, large, num(m, 1), a);
    Val z = mul(m, s, s);
    Val root = sqroot(m, add(m, z, num(m, 1)));
    Val u = add(m, s, quot(m, z, add(m, root, num(m, 1))));
    Val near = log1p_float(m, u);
    Val far = add(m, log_float(m, a), num(m, 0x1.62e43p-1));
    return copysignv(m, pick(m, large, far, near), x);
}

/* acosh(x) = log1p(t + sqrt(2 t + t^2)), t = x - 1. */
static Val acosh_float(M *m, Val x)
{
    Val large = cmp(m, LLVMRealOGT, x, 0x1p32);
    Val t = sub(m, pick(m, large, num(m, 1), x), num(m, 1));
    Val u = add(m, t, sqroot(m, mul(m, t, add(m, t, num(m, 2)))));
    Val near = log1p_float(m, u);
    Val far = add(m, log_float(m, x), num(m, 0x1.62e43p-1));
    Val r = pick(m, large, far, near);
    return pick(m, cmp(m, LLVMRealULT, x, 1), num(m, NAN), r);
}

static Val atanh_float(M *m, Val x)
{
    Val a = fabsv(m, x);
    Val u = quot(m, add(m, a, a), sub(m, num(m, 1), a));
    return copysignv(m, mul(m, log1p_float(m, u), num(m, 0.5)), x);
}

/* ---- pow ------------------------------------------------------------------------------------- */

/* 2^(y log2 x) in double: the product needs 8 bits more than float has, and double is cheaper than
 * pairs of floats. log2(1 + f) is odd in s = f / (2 + f). */
static Val pow_float(M *m, Val x, Val y)
{
    LLVMTypeRef wide = ir_type_like(m->t, LLVMDoubleTypeInContext(LLVMGetTypeContext(m->t)));
    Val e, f = split_exponent(m, x, &e);
    M d = { m->b, wide, ir_type_like(wide, LLVMInt64TypeInContext(LLVMGetTypeContext(wide))) };
    e = LLVMBuildFPExt(m->b, e, wide, "");
    f = LLVMBuildFPExt(m->b, f, wide, "");
    Val s = quot(&d, f, add(&d, f, num(&d, 2)));
    Val p = POLY(&d, mul(&d, s, s), 0x1.71547652bee39p+1, 0x1.ec709d123b4p-1, 0x1.27778067401e1p-1,
                 0x1.a58d482c43648p-2, 0x1.5ced4e1ca81d9p-2);
    Val l = mad(&d, p, s, e);
    l = pick(&d, cmp(m, LLVMRealOEQ, x, 0), num(&d, -INFINITY), l);
    l = pick(&d, cmp(m, LLVMRealOEQ, x, INFINITY), num(&d, INFINITY), l);
    l = pick(&d, cmp(m, LLVMRealULT, x, 0), num(&d, NAN), l);
    Val t = clamp_between(&d, mul(&d, LLVMBuildFPExt(m->b, y, wide, ""), l), -200, 200);
    Val shifted = add(&d, t, num(&d, 0x1.8p52));
    Val n = isub(&d, bits(&d, shifted), bits(&d, num(&d, 0x1.8p52)));
    Val r = sub(&d, t, sub(&d, shifted, num(&d, 0x1.8p52)));
    Val q = POLY(&d, r, 1, 0x1.62e430af3f952p-1, 0x1.ebfbdc3bff9b4p-3, 0x1.c6aee86d5a221p-5,
                 0x1.3b2d4cf0cea5cp-7, 0x1.5f3e63b385b9fp-10, 0x1.41fbd89b9adc8p-13);
    Val power = real(&d, iadd(&d, bits(&d, q), shl(&d, n, 52)));
    power = pick(&d, LLVMBuildFCmp(m->b, LLVMRealUNO, t, t, ""), num(&d, NAN), power);
    Val narrow = LLVMBuildFPTrunc(m->b, power, m->t, "");
    Val one = LLVMBuildOr(m->b, cmp(m, LLVMRealOEQ, y, 0), cmp(m, LLVMRealOEQ, x, 1), "");
    return pick(m, one, num(m, 1), narrow);
}

/* ---- angles ---------------------------------------------------------------------------------- */

/* Bits of 1/pi after the point, 32 a word. */
static const uint32_t inv_pi[6] = {
    0x517cc1b7, 0x27220a94, 0xfe13abe8, 0xfa9a6ee0, 0x6db14acc, 0x9e21c820,
};

/* The word number `at` + k of inv_pi for lanes' at in 0..3; at + k = 0 is the zero before the
 * point. */
static Val pi_word(M *m, Val at, int k)
{
    Val r = inum(m, k < 3 ? inv_pi[k + 2] : inv_pi[5]);
    for (int i = 2; i >= 0; i--) {
        Val here = LLVMBuildICmp(m->b, LLVMIntEQ, at, inum(m, i), "");
        r = pick(m, here, inum(m, i + k ? inv_pi[i + k - 1] : 0), r);
    }
    return r;
}

/* (hi:lo) << s, upper word; s in 0..31. */
static Val funnel(M *m, Val hi, Val lo, Val s)
{
    Val args[3] = { hi, lo, s };
    return ir_intrinsic(m->b, "llvm.fshl", &m->it, 1, args, 3);
}

/* Payne-Hanek for finite |x| >= 1: quadrant and remainder in [-pi/4, pi/4]. |x| = mantissa * 2^(e -
 * 31); the product with 96 bits of 1/pi, begun where the integer part's low bits are, halved,
 * leaves a 64-bit fraction of a turn. */
static void build_reduction(M *m, Val x, Val *quadrant, Val *remainder)
{
    LLVMBuilderRef b = m->b;
    LLVMTypeRef i64 = ir_type_like(m->t, LLVMInt64TypeInContext(LLVMGetTypeContext(m->t)));
    LLVMTypeRef f64 = ir_type_like(m->t, LLVMDoubleTypeInContext(LLVMGetTypeContext(m->t)));
    M w = { b, f64, i64 };
    Val i = bits(m, x);
    Val biased = LLVMBuildLShr(b, i, inum(m, 23), "");
    Val e = isub(m, LLVMBuildAnd(b, biased, inum(m, 255), ""), inum(m, 127));
    Val mant = LLVMBuildOr(b, shl(m, i, 8), inum(m, 0x80000000u), "");
    Val at = LLVMBuildAnd(b, ashr(m, e, 5), inum(m, 3), "");
    Val s = LLVMBuildAnd(b, e, inum(m, 31), "");
    Val words[4];
    for (int k = 0; k < 4; k++)
        words[k] = pi_word(m, at, k);
    Val wide = LLVMBuildZExt(b, mant, i64, "");
    Val part[3];
    for (int k = 0; k < 3; k++) {
        Val f = LLVMBuildZExt(b, funnel(m, words[k], words[k + 1], s), i64, "");
        part[k] = LLVMBuildMul(b, wide, f, "");
    }
    Val turn = iadd(&w, shl(&w, part[0], 32), part[1]);
    turn = iadd(&w, turn, LLVMBuildLShr(b, part[2], inum(&w, 32), ""));
    Val rounded = iadd(&w, turn, inum(&w, INT64_C(1) << 61));
    Val q = LLVMBuildLShr(b, rounded, inum(&w, 62), "");
    Val rest = isub(&w, turn, shl(&w, q, 62));
    Val angle = mul(&w, LLVMBuildSIToFP(b, rest, f64, ""), num(&w, 0x1.921fb54442d18p-62));
    *remainder = LLVMBuildFPTrunc(b, angle, m->t, "");
    *quadrant = LLVMBuildTrunc(b, q, m->it, "");
}

/* The reduction as a function of the module: {quadrants, remainders} (|x|). */
static Val reduction_function(M *m, LLVMTypeRef *type)
{
    unsigned n = LLVMGetTypeKind(m->t) == LLVMVectorTypeKind ? LLVMGetVectorSize(m->t) : 0;
    char name[40];
    snprintf(name, sizeof name, "heddle.reduce_angle.%u", n);
    LLVMContextRef cx = LLVMGetTypeContext(m->t);
    LLVMTypeRef members[2] = { m->it, m->t };
    LLVMTypeRef result = LLVMStructTypeInContext(cx, members, 2, false);
    *type = LLVMFunctionType(result, &m->t, 1, false);
    LLVMModuleRef module = module_of(m->b);
    Val f = LLVMGetNamedFunction(module, name);
    if (f)
        return f;
    f = LLVMAddFunction(module, name, *type);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    unsigned noinline_kind = LLVMGetEnumAttributeKindForName("noinline", 8);
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(cx, noinline_kind, 0));
    M in = { LLVMCreateBuilderInContext(cx), m->t, m->it };
    LLVMPositionBuilderAtEnd(in.b, LLVMAppendBasicBlockInContext(cx, f, "entry"));
    Val quadrant, remainder;
    build_reduction(&in, LLVMGetParam(f, 0), &quadrant, &remainder);
    Val r = LLVMBuildInsertValue(in.b, LLVMGetPoison(result), quadrant, 0, "");
    LLVMBuildRet(in.b, LLVMBuildInsertValue(in.b, r, remainder, 1, ""));
    LLVMDisposeBuilder(in.b);
    return f;
}

static Val any_lane(M *m, Val mask)
{
    LLVMTypeRef t = LLVMTypeOf(mask);
    mask = LLVMBuildFreeze(m->b, mask, ""); /* branching on poison is undefined */
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind
               ? ir_intrinsic(m->b, "llvm.vector.reduce.or", &t, 1, &mask, 1)
               : mask;
}

static Val phi2(M *m, LLVMTypeRef t, Val x, LLVMBasicBlockRef from_x, Val y,
                LLVMBasicBlockRef from_y)
{
    Val phi = LLVMBuildPhi(m->b, t, ""), values[2] = { x, y };
    LLVMBasicBlockRef blocks[2] = { from_x, from_y };
    LLVMAddIncoming(phi, values, blocks, 2);
    return phi;
}

/* |x| = quadrant * pi/2 + remainder. Up to 2^13 pi/2 is taken off in three parts of 8, 11 and 24
 * bits, the first two exact without a fused multiply. Infinities leave NaN. */
static Val reduce_angle(M *m, Val a, Val *quadrant)
{
    Val near_q,
        n = nearest(m, mul(m, clamp_between(m, a, 0, 0x1p14), num(m, 0x1.45f306p-1)), &near_q);
    Val r = mad(m, n, num(m, -0x1.92p0), a);
    r = mad(m, n, num(m, -0x1.fb4p-12), r);
    r = mad(m, n, num(m, -0x1.4442d2p-24), r);
    Val large = cmp(m, LLVMRealOGT, a, 0x1p13);

    LLVMContextRef cx = LLVMGetTypeContext(m->t);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(m->b);
    LLVMValueRef function = LLVMGetBasicBlockParent(before);
    LLVMBasicBlockRef slow = LLVMAppendBasicBlockInContext(cx, function, "angle.large");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(cx, function, "angle.done");
    LLVMMoveBasicBlockAfter(slow, before);
    LLVMMoveBasicBlockAfter(done, slow);
    LLVMBuildCondBr(m->b, any_lane(m, large), slow, done);

    LLVMPositionBuilderAtEnd(m->b, slow);
    LLVMTypeRef ft;
    Val f = reduction_function(m, &ft);
    Val both = LLVMBuildCall2(m->b, ft, f, &a, 1, "");
    Val far_q = pick(m, large, LLVMBuildExtractValue(m->b, both, 0, ""), near_q);
    Val far_r = pick(m, large, LLVMBuildExtractValue(m->b, both, 1, ""), r);
    Val infinite = cmp(m, LLVMRealOEQ, a, INFINITY);
    far_r = pick(m, infinite, num(m, NAN), far_r);
    LLVMBuildBr(m->b, done);

    LLVMPositionBuilderAtEnd(m->b, done);
    *quadrant = phi2(m, m->it, near_q, before, far_q, slow);
    return phi2(m, m->t, r, before, far_r, slow);
}

/* On [-pi/4, pi/4]. */
static Val sin_poly(M *m, Val r, Val z)
{
    Val p = POLY(m, z, -0x1.555546p-3, 0x1.110774p-7, -0x1.9951eap-13);
    return mad(m, mul(m, p, z), r, r);
}

static Val cos_poly(M *m, Val z)
{
    Val p = POLY(m, z, 0x1.55554ap-5, -0x1.6c0c28p-10, 0x1.99e80ep-16);
    return add(m, mad(m, mul(m, p, z), z, mul(m, z, num(m, -0.5))), num(m, 1));
}

static Val odd(M *m, Val q)
{
    return LLVMBuildICmp(m->b, LLVMIntNE, LLVMBuildAnd(m->b, q, inum(m, 1), ""), inum(m, 0), "");
}

/* x with its sign flipped where bit 1 of q is set. */
static Val flip(M *m, Val x, Val q)
{
    Val sign = LLVMBuildAnd(m->b, shl(m, q, 30), inum(m, 0x80000000u), "");
    return real(m, LLVMBuildXor(m->b, bits(m, x), sign, ""));
}

static Val flip_with(M *m, Val x, Val sign_of)
{
    Val sign = LLVMBuildAnd(m->b, bits(m, sign_of), inum(m, 0x80000000u), "");
    return real(m, LLVMBuildXor(m->b, bits(m, x), sign, ""));
}

static Val sin_float(M *m, Val x)
{
    Val q, r = reduce_angle(m, fabsv(m, x), &q);
    Val z = mul(m, r, r);
    Val y = pick(m, odd(m, q), cos_poly(m, z), sin_poly(m, r, z));
    return flip_with(m, flip(m, y, q), x);
}

static Val cos_float(M *m, Val x)
{
    Val q, r = reduce_angle(m, fabsv(m, x), &q);
    Val z = mul(m, r, r);
    Val y = pick(m, odd(m, q), sin_poly(m, r, z), cos_poly(m, z));
    return flip(m, y, iadd(m, q, inum(m, 1)));
}

static Val tan_float(M *m, Val x)
{
    Val q, r = reduce_angle(m, fabsv(m, x), &q);
    Val z = mul(m, r, r), s = sin_poly(m, r, z), c = cos_poly(m, z), o = odd(m, q);
    Val y = quot(m, pick(m, o, neg(m, c), s), pick(m, o, s, c));
    return flip_with(m, y, x);
}

/* ---- inverse angles -------------------------------------------------------------------------- */

/* asin(x) = x + x z P(z), z = x^2 <= 1/4; beyond, pi/2 - 2 asin(sqrt((1 - x) / 2)). */
static Val asin_poly(M *m, Val s, Val z)
{
    Val p = POLY(m, z, 0x1.55554cp-3, 0x1.3338a6p-4, 0x1.6ca924p-5, 0x1.04bd5cp-5, 0x1.d6b762p-7,
                 0x1.342144p-5);
    return mad(m, mul(m, p, z), s, s);
}

static Val asin_halves(M *m, Val a, Val *large)
{
    *large = cmp(m, LLVMRealOGT, a, 0.5);
    Val z = pick(m, *large, mad(m, a, num(m, -0.5), num(m, 0.5)), mul(m, a, a));
    Val s = pick(m, *large, sqroot(m, z), a);
    return asin_poly(m, s, z);
}

static const double half_pi = 0x1.921fb6p+0, half_pi_rest = -0x1.777a5cp-25;

static Val asin_float(M *m, Val x)
{
    Val large, y = asin_halves(m, fabsv(m, x), &large);
    Val beyond = add(m, mad(m, y, num(m, -2), num(m, half_pi)), num(m, half_pi_rest));
    return copysignv(m, pick(m, large, beyond, y), x);
}

/* acos(x) = 2 asin(sqrt((1 - x) / 2)); pi minus that of -x below -1/2; pi/2 - asin(x) between. */
static Val acos_float(M *m, Val x)
{
    Val large, y = asin_halves(m, fabsv(m, x), &large);
    Val negative = cmp(m, LLVMRealOLT, x, 0);
    Val twice = add(m, y, y);
    Val left = add(m, sub(m, num(m, 2 * half_pi), twice), num(m, 2 * half_pi_rest));
    Val outer = pick(m, negative, left, twice);
    Val inner = add(m, sub(m, num(m, half_pi), copysignv(m, y, x)), num(m, half_pi_rest));
    return pick(m, large, outer, inner);
}

/* On [0, 1]. */
static Val atan_poly(M *m, Val t)
{
    Val z = mul(m, t, t);
    Val p = POLY(m, z, -0x1.55553ep-2, 0x1.9991e6p-3, -0x1.2420b8p-3, 0x1.c08f94p-4, -0x1.581636p-4,
                 0x1.da628ep-5, -0x1.fe04c8p-6, 0x1.64cc02p-7, -0x1.d4ab68p-10);
    return mad(m, mul(m, p, z), t, t);
}

static Val from_half_pi(M *m, Val y)
{
    return add(m, sub(m, num(m, half_pi), y), num(m, half_pi_rest));
}

static Val atan_float(M *m, Val x)
{
    Val a = fabsv(m, x), large = cmp(m, LLVMRealOGT, a, 1);
    Val y = atan_poly(m, pick(m, large, quot(m, num(m, 1), a), a));
    return copysignv(m, pick(m, large, from_half_pi(m, y), y), x);
}

/* Octant by octant; 0/0 and inf/inf count as 0 and 1, as the C library has it. */
static Val atan2_float(M *m, Val y, Val x)
{
    Val ay = fabsv(m, y), ax = fabsv(m, x);
    Val steep = LLVMBuildFCmp(m->b, LLVMRealOGT, ay, ax, "");
    Val num_ = pick(m, steep, ax, ay), den = pick(m, steep, ay, ax);
    Val t = quot(m, num_, den);
    t = pick(m, cmp(m, LLVMRealOEQ, den, 0), num(m, 0), t);
    t = pick(m, cmp(m, LLVMRealOEQ, num_, INFINITY), num(m, 1), t);
    Val r = atan_poly(m, t);
    r = pick(m, steep, from_half_pi(m, r), r);
    Val back = LLVMBuildICmp(m->b, LLVMIntSLT, bits(m, x), inum(m, 0), "");
    Val other = add(m, sub(m, num(m, 2 * half_pi), r), num(m, 2 * half_pi_rest));
    r = copysignv(m, pick(m, back, other, r), y);
    Val nan = LLVMBuildFCmp(m->b, LLVMRealUNO, x, y, "");
    return pick(m, nan, add(m, x, y), r);
}

/* ---- roots, exponents ------------------------------------------------------------------------ */

static Val rsqrt_float(M *m, Val x) { return quot(m, num(m, 1), sqroot(m, x)); }

Val math_sqrt(LLVMBuilderRef b, Val x) { return ir_unary(b, "llvm.sqrt", x); }

Val math_rsqrt(LLVMBuilderRef b, Val x)
{
    if (!is_kind(x, LLVMDoubleTypeKind))
        return apply_unary(b, x, rsqrt_float, NULL);
    M m = math_of(b, x);
    return rsqrt_float(&m, x);
}

Val math_exp(LLVMBuilderRef b, Val x) { return apply_unary(b, x, exp_float, "exp"); }
Val math_exp2(LLVMBuilderRef b, Val x) { return apply_unary(b, x, exp2_float, "exp2"); }
Val math_log(LLVMBuilderRef b, Val x) { return apply_unary(b, x, log_float, "log"); }
Val math_log2(LLVMBuilderRef b, Val x) { return apply_unary(b, x, log2_float, "log2"); }
Val math_pow(LLVMBuilderRef b, Val x, Val y) { return apply_binary(b, x, y, pow_float, "pow"); }
Val math_sin(LLVMBuilderRef b, Val x) { return apply_unary(b, x, sin_float, "sin"); }
Val math_cos(LLVMBuilderRef b, Val x) { return apply_unary(b, x, cos_float, "cos"); }
Val math_tan(LLVMBuilderRef b, Val x) { return apply_unary(b, x, tan_float, "tan"); }
Val math_asin(LLVMBuilderRef b, Val x) { return apply_unary(b, x, asin_float, "asin"); }
Val math_acos(LLVMBuilderRef b, Val x) { return apply_unary(b, x, acos_float, "acos"); }
Val math_atan(LLVMBuilderRef b, Val x) { return apply_unary(b, x, atan_float, "atan"); }
Val math_atan2(LLVMBuilderRef b, Val y, Val x)
{
    return apply_binary(b, y, x, atan2_float, "atan2");
}
Val math_sinh(LLVMBuilderRef b, Val x) { return apply_unary(b, x, sinh_float, "sinh"); }
Val math_cosh(LLVMBuilderRef b, Val x) { return apply_unary(b, x, cosh_float, "cosh"); }
Val math_tanh(LLVMBuilderRef b, Val x) { return apply_unary(b, x, tanh_float, "tanh"); }
Val math_asinh(LLVMBuilderRef b, Val x) { return apply_unary(b, x, asinh_float, "asinh"); }
Val math_acosh(LLVMBuilderRef b, Val x) { return apply_unary(b, x, acosh_float, "acosh"); }
Val math_atanh(LLVMBuilderRef b, Val x) { return apply_unary(b, x, atanh_float, "atanh"); }

/* The two formats that exponents are taken apart in. */
typedef struct FloatFields {
    unsigned mantissa, bias, mask;
} FloatFields;

static FloatFields fields_of(M *m)
{
    bool wide = LLVMGetTypeKind(ir_element(m->t)) == LLVMDoubleTypeKind;
    return wide ? (FloatFields){ 52, 1023, 2047 } : (FloatFields){ 23, 127, 255 };
}

static Val frexp_bits(M *m, Val x, Val *e)
{
    FloatFields f = fields_of(m);
    int lift = (int)f.mantissa + 1;
    Val a = fabsv(m, x);
    Val small = cmp(m, LLVMRealOLT, a, ldexp(1, 1 - (int)f.bias));
    Val y = pick(m, small, mul(m, x, num(m, ldexp(1, lift))), x);
    Val i = bits(m, y);
    Val biased =
        LLVMBuildAnd(m->b, LLVMBuildLShr(m->b, i, inum(m, f.mantissa), ""), inum(m, f.mask), "");
    Val n = isub(m, biased, inum(m, f.bias - 1));
    n = isub(m, n, pick(m, small, inum(m, lift), inum(m, 0)));
    Val keep = LLVMBuildAnd(m->b, i, inum(m, ~((int64_t)f.mask << f.mantissa)), "");
    Val mant = real(m, LLVMBuildOr(m->b, keep, inum(m, (int64_t)(f.bias - 1) << f.mantissa), ""));
    Val regular =
        LLVMBuildAnd(m->b, cmp(m, LLVMRealONE, x, 0), cmp(m, LLVMRealOLT, a, INFINITY), "");
    *e = pick(m, regular, n, inum(m, 0));
    return pick(m, regular, mant, x);
}

Val math_frexp(LLVMBuilderRef b, Val x, Val *e)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    LLVMTypeRef i32 = ir_type_like(t, LLVMInt32TypeInContext(LLVMGetTypeContext(t)));
    bool narrow = !is_kind(x, LLVMFloatTypeKind) && !is_kind(x, LLVMDoubleTypeKind);
    if (narrow)
        x = to_float(b, x);
    M m = math_of(b, x);
    Val r = frexp_bits(&m, x, e);
    if (m.it != i32)
        *e = LLVMBuildTrunc(b, *e, i32, "");
    return narrow ? LLVMBuildFPTrunc(b, r, t, "") : r;
}

static Val power_of_two(M *m, FloatFields f, Val n)
{
    return real(m, shl(m, iadd(m, n, inum(m, f.bias)), f.mantissa));
}

static Val ibound(M *m, Val x, int64_t lo, int64_t hi)
{
    x = ir_binary(m->b, "llvm.smax", x, inum(m, lo));
    return ir_binary(m->b, "llvm.smin", x, inum(m, hi));
}

/* The mantissa is scaled to the edge of the normal range first, which is exact, then by the
 * rest. */
Val math_ldexp(LLVMBuilderRef b, Val x, Val e)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    bool narrow = !is_kind(x, LLVMFloatTypeKind) && !is_kind(x, LLVMDoubleTypeKind);
    if (narrow)
        x = to_float(b, x);
    M m = math_of(b, x);
    FloatFields f = fields_of(&m);
    Val n, mant = frexp_bits(&m, x, &n);
    int64_t bias = f.bias;
    if (LLVMTypeOf(e) != m.it)
        e = LLVMBuildSExt(b, e, m.it, "");
    e = ibound(&m, e, -4 * bias, 4 * bias);
    Val sum = ibound(&m, iadd(&m, n, e), -bias - (int64_t)f.mantissa - 1, bias + 3);
    Val first = ibound(&m, sum, 2 - bias, bias);
    Val r = mul(&m, mant, power_of_two(&m, f, first));
    r = mul(&m, r, power_of_two(&m, f, isub(&m, sum, first)));
    return narrow ? LLVMBuildFPTrunc(b, r, t, "") : r;
}
