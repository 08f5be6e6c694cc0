/* SPDX-License-Identifier: MIT
 *
 * The extended instruction set OpenCL.std: mathematics, integers, common, geometric and relational
 * functions, leaf by leaf, within the OpenCL specification's "Relative Error as ULPs" (full
 * profile). opencl_memory.c has those that read or write memory, print, or are not component-wise.
 *
 * Most functions are vector code of math.h, whose float versions are well within what OpenCL
 * demands; the rarely used ones call the C library for each lane (math_libm). native_ and half_
 * functions are the full ones.
 */
#include "emit/opencl_std.h"
#include "llvm/ir.h"

#include <math.h> /* declares sinpi, pown, powr, ... in C23, so ours end in _ */

static LV add(Emit *e, const SpvInst *i, LV x, LV y) { return ops_float(e, i, LLVMFAdd, x, y); }
static LV sub(Emit *e, const SpvInst *i, LV x, LV y) { return ops_float(e, i, LLVMFSub, x, y); }
static LV mul(Emit *e, const SpvInst *i, LV x, LV y) { return ops_float(e, i, LLVMFMul, x, y); }
static LV quot(Emit *e, const SpvInst *i, LV x, LV y) { return ops_float(e, i, LLVMFDiv, x, y); }
static LV pick(Emit *e, LV c, LV x, LV y) { return LLVMBuildSelect(e->b, c, x, y, ""); }
static LV both(Emit *e, LV x, LV y) { return LLVMBuildAnd(e->b, x, y, ""); }
static LV fabs_(Emit *e, LV x) { return ir_unary(e->b, "llvm.fabs", x); }
static LV copysign_(Emit *e, LV x, LV y) { return ir_binary(e->b, "llvm.copysign", x, y); }

static LV fcmp(Emit *e, LLVMRealPredicate p, LV x, LV y)
{
    return LLVMBuildFCmp(e->b, p, x, y, "");
}

static LV is(Emit *e, LV x, double y) { return fcmp(e, LLVMRealOEQ, x, ir_fnum(x, y)); }

static LV nan_either(Emit *e, LV x, LV y) { return fcmp(e, LLVMRealUNO, x, y); }

/* ---- angles in units of pi ------------------------------------------------------------------- */

/* x = n / 2 + r with |r| <= 1/4, exactly; *quadrant is n modulo 4. Gives pi r. */
static LV reduce_pi(Emit *e, LV x, LV *quadrant)
{
    LV two = LLVMBuildFMul(e->b, x, ir_fnum(x, 2), "");
    LV n = ir_unary(e->b, "llvm.roundeven", two);
    LV r = LLVMBuildFSub(e->b, x, LLVMBuildFMul(e->b, n, ir_fnum(n, 0.5), ""), "");
    LV fours = ir_unary(e->b, "llvm.floor", LLVMBuildFMul(e->b, n, ir_fnum(n, 0.25), ""));
    *quadrant = LLVMBuildFSub(e->b, n, LLVMBuildFMul(e->b, fours, ir_fnum(n, 4), ""), "");
    return LLVMBuildFMul(e->b, r, ir_fnum(r, M_PI), "");
}

static LV sinpi_(Emit *e, LV x)
{
    LV q, r = reduce_pi(e, x, &q);
    LV odd = LLVMBuildOr(e->b, is(e, q, 1), is(e, q, 3), "");
    LV v = pick(e, odd, math_cos(e->b, r), math_sin(e->b, r));
    v = pick(e, fcmp(e, LLVMRealOGE, q, ir_fnum(q, 2)), LLVMBuildFNeg(e->b, v, ""), v);
    return pick(e, is(e, v, 0), copysign_(e, v, x), v);
}

static LV cospi_(Emit *e, LV x)
{
    LV q, r = reduce_pi(e, x, &q);
    LV odd = LLVMBuildOr(e->b, is(e, q, 1), is(e, q, 3), "");
    LV v = pick(e, odd, math_sin(e->b, r), math_cos(e->b, r));
    LV minus = LLVMBuildOr(e->b, is(e, q, 1), is(e, q, 2), "");
    v = pick(e, minus, LLVMBuildFNeg(e->b, v, ""), v);
    return LLVMBuildFAdd(e->b, v, ir_fnum(v, 0), ""); /* zeros are positive */
}

static LV over_pi(Emit *e, LV x) { return LLVMBuildFMul(e->b, x, ir_fnum(x, M_1_PI), ""); }

/* ---- exponentials ---------------------------------------------------------------------------- */

static LV exp10_(Emit *e, LV x)
{
    if (LLVMGetTypeKind(ir_element(LLVMTypeOf(x))) == LLVMDoubleTypeKind)
        return math_pow(e->b, ir_fnum(x, 10), x);
    /* x log2(10) in two parts; the power of the second by the first terms of its series */
    LV c = ir_fnum(x, 0x1.a934fp+1), high = LLVMBuildFMul(e->b, x, c, "");
    LT t = LLVMTypeOf(x);
    LV args[3] = { x, c, LLVMBuildFNeg(e->b, high, "") };
    LV low = ir_intrinsic(e->b, "llvm.fma", &t, 1, args, 3);
    low = LLVMBuildFAdd(e->b, low, LLVMBuildFMul(e->b, x, ir_fnum(x, 0x1.2f346ep-24), ""), "");
    LV finite = fcmp(e, LLVMRealOLT, fabs_(e, high), ir_fnum(high, 200));
    low = pick(e, finite, low, ir_fnum(low, 0));
    LV p = math_exp2(e->b, high);
    LV tail = LLVMBuildFMul(e->b, p, LLVMBuildFMul(e->b, low, ir_fnum(low, M_LN2), ""), "");
    return pick(e, is(e, fabs_(e, p), INFINITY), p, LLVMBuildFAdd(e->b, p, tail, ""));
}

static LV log10_(Emit *e, LV x)
{
    if (LLVMGetTypeKind(ir_element(LLVMTypeOf(x))) == LLVMDoubleTypeKind)
        return math_libm(e->b, "log10", x, NULL);
    LV l = math_log(e->b, x);
    return LLVMBuildFMul(e->b, l, ir_fnum(l, M_LOG10E), "");
}

/* |x|^y, with x's sign if y is an odd integer; `odd` and `whole` say what y is. */
static LV signed_power(Emit *e, LV power, LV x, LV odd, LV whole)
{
    LV minus = both(e, fcmp(e, LLVMRealOLT, x, ir_fnum(x, 0)),
                    fcmp(e, LLVMRealOGT, x, ir_fnum(x, -INFINITY)));
    LV r = pick(e, odd, copysign_(e, power, x), power);
    return whole ? pick(e, both(e, minus, LLVMBuildNot(e->b, whole, "")), ir_fnum(r, NAN), r) : r;
}

static LV pow_(Emit *e, LV x, LV y)
{
    if (LLVMGetTypeKind(ir_element(LLVMTypeOf(x))) == LLVMDoubleTypeKind)
        return math_pow(e->b, x, y);
    LV half = LLVMBuildFMul(e->b, y, ir_fnum(y, 0.5), "");
    LV whole = fcmp(e, LLVMRealOEQ, ir_unary(e->b, "llvm.trunc", y), y);
    LV even = fcmp(e, LLVMRealOEQ, ir_unary(e->b, "llvm.trunc", half), half);
    LV r = signed_power(e, math_pow(e->b, fabs_(e, x), y), x,
                        both(e, whole, LLVMBuildNot(e->b, even, "")), whole);
    LV one = both(e, is(e, x, -1), is(e, fabs_(e, y), INFINITY));
    return pick(e, one, ir_fnum(r, 1), r);
}

/* The exponent is an integer: a float, and what the float leaves over. */
static LV pown_(Emit *e, LV x, LV n)
{
    LV y = LLVMBuildSIToFP(e->b, n, LLVMTypeOf(x), "");
    LV power = math_pow(e->b, fabs_(e, x), y);
    LT t = LLVMTypeOf(n), types[2] = { t, LLVMTypeOf(y) };
    if (!LLVMIsConstant(n)) {
        LV back = ir_intrinsic(e->b, "llvm.fptosi.sat", types, 2, &y, 1);
        LV rest = LLVMBuildSIToFP(e->b, LLVMBuildSub(e->b, n, back, ""), LLVMTypeOf(x), "");
        LV more = math_pow(e->b, fabs_(e, x), rest);
        LV exact = is(e, rest, 0);
        power = pick(e, exact, power, LLVMBuildFMul(e->b, power, more, ""));
    }
    LV odd = LLVMBuildICmp(e->b, LLVMIntNE, both(e, n, ir_inum(n, 1)), ir_inum(n, 0), "");
    return signed_power(e, power, x, odd, NULL);
}

/* |x|^(1/n), the exponent in two parts. */
static LV rootn_(Emit *e, LV x, LV n)
{
    LT t = LLVMTypeOf(x);
    LV y = LLVMBuildSIToFP(e->b, n, t, ""), a = fabs_(e, x);
    LV high = LLVMBuildFDiv(e->b, ir_fnum(y, 1), y, "");
    LV args[3] = { LLVMBuildFNeg(e->b, high, ""), y, ir_fnum(y, 1) };
    LV low = LLVMBuildFDiv(e->b, ir_intrinsic(e->b, "llvm.fma", &t, 1, args, 3), y, "");
    LV more = math_pow(e->b, a, low);
    LV plain = LLVMBuildOr(e->b, is(e, a, 0), is(e, a, INFINITY), "");
    LV power = math_pow(e->b, a, high);
    power = pick(e, plain, power, LLVMBuildFMul(e->b, power, more, ""));
    LV odd = LLVMBuildICmp(e->b, LLVMIntNE, both(e, n, ir_inum(n, 1)), ir_inum(n, 0), "");
    LV r = signed_power(e, power, x, odd, odd);
    return pick(e, LLVMBuildICmp(e->b, LLVMIntEQ, n, ir_inum(n, 0), ""), ir_fnum(r, NAN), r);
}

static LV powr_(Emit *e, LV x, LV y)
{
    LV r = math_pow(e->b, x, y), zero = is(e, y, 0);
    LV bad = both(e, zero, LLVMBuildOr(e->b, is(e, x, 0), is(e, x, INFINITY), ""));
    bad = LLVMBuildOr(e->b, bad, nan_either(e, x, y), "");
    bad = LLVMBuildOr(e->b, bad, both(e, is(e, x, 1), is(e, fabs_(e, y), INFINITY)), "");
    bad = LLVMBuildOr(e->b, bad, fcmp(e, LLVMRealOLT, x, ir_fnum(x, 0)), "");
    return pick(e, bad, ir_fnum(r, NAN), fabs_(e, r));
}

/* The C library's cbrt of a double may be off by more than 2 ulp; one step of Newton's method
 * corrects it. */
static LV cbrt_(Emit *e, LV x)
{
    LV r = math_libm(e->b, "cbrt", x, NULL), t = LLVMBuildFMul(e->b, r, r, "");
    LT type = LLVMTypeOf(x);
    if (ir_element(type) != e->f64)
        return r;
    LV square[3] = { r, r, LLVMBuildFNeg(e->b, t, "") };
    LV cube[3] = { t, r, LLVMBuildFNeg(e->b, x, "") };
    LV rest = LLVMBuildFMul(e->b, ir_intrinsic(e->b, "llvm.fma", &type, 1, square, 3), r, "");
    rest = LLVMBuildFAdd(e->b, rest, ir_intrinsic(e->b, "llvm.fma", &type, 1, cube, 3), "");
    LV step = LLVMBuildFDiv(e->b, rest, LLVMBuildFMul(e->b, t, ir_fnum(t, 3), ""), "");
    LV better = LLVMBuildFSub(e->b, r, step, "");
    return pick(e, fcmp(e, LLVMRealOLT, fabs_(e, step), ir_fnum(step, INFINITY)), better, r);
}

/* ---- parts of floats ------------------------------------------------------------------------- */

/* floor(log2 |x|) as an integer. `special` is the result for zeros, infinities and NaN. */
static LV exponent(Emit *e, LV x, LV *special)
{
    LV power;
    math_frexp(e->b, x, &power);
    *special = LLVMBuildNot(e->b, fcmp(e, LLVMRealOLT, fabs_(e, x), ir_fnum(x, INFINITY)), "");
    return LLVMBuildSub(e->b, power, ir_inum(power, 1), "");
}

static LV ilogb_(Emit *e, LV x)
{
    LV special, n = exponent(e, x, &special);
    n = pick(e, special, ir_inum(n, INT32_MAX), n);
    return pick(e, is(e, x, 0), ir_inum(n, (uint64_t)(int64_t)INT32_MIN), n);
}

static LV logb_(Emit *e, LV x)
{
    LV special, n = exponent(e, x, &special), f = LLVMBuildSIToFP(e->b, n, LLVMTypeOf(x), "");
    f = pick(e, special, LLVMBuildFMul(e->b, x, x, ""), f);
    return pick(e, is(e, x, 0), ir_fnum(x, -INFINITY), f);
}

static LV nextafter_(Emit *e, LV x, LV y)
{
    LV bits = ops_bits(e, x), sign = ops_bits(e, copysign_(e, ir_fnum(x, 0), y));
    LV away =
        LLVMBuildXor(e->b, fcmp(e, LLVMRealOLT, x, y), fcmp(e, LLVMRealOLT, x, ir_fnum(x, 0)), "");
    LV up = LLVMBuildAdd(e->b, bits, ir_inum(bits, 1), ""),
       down = LLVMBuildSub(e->b, bits, ir_inum(bits, 1), "");
    LV next = pick(e, away, up, down);
    next = pick(e, is(e, x, 0), LLVMBuildOr(e->b, sign, ir_inum(bits, 1), ""), next);
    LV r = LLVMBuildBitCast(e->b, next, LLVMTypeOf(x), "");
    r = pick(e, fcmp(e, LLVMRealOEQ, x, y), y, r);
    return pick(e, nan_either(e, x, y), LLVMBuildFAdd(e->b, x, y, ""), r);
}

/* The remainder to the nearest quotient, and the quotient's seven lowest bits with its sign.
 * Subtracting a multiple of |y| from less than its double is exact. */
LV opencl_remquo(Emit *e, LV x, LV y, LV *quotient)
{
    LV a = fabs_(e, x), b = fabs_(e, y), large = LLVMBuildFMul(e->b, b, ir_fnum(b, 128), "");
    LV overflow = is(e, large, INFINITY);
    LV m = pick(e, overflow, a, arith_frem(e->b, a, pick(e, overflow, ir_fnum(b, 1), large)));
    LT ints = ir_type_like(LLVMTypeOf(x), e->i32);
    LV q = LLVMConstNull(ints);
    for (int k = 6; k >= 0; k--) {
        LV step = LLVMBuildFMul(e->b, b, ir_fnum(b, (double)(1 << k)), "");
        LV fits = fcmp(e, LLVMRealOGE, m, step);
        m = pick(e, fits, LLVMBuildFSub(e->b, m, step, ""), m);
        q = pick(e, fits, LLVMBuildOr(e->b, q, ir_inum(q, 1u << k), ""), q);
    }
    LV rest = LLVMBuildFSub(e->b, b, m, "");
    LV odd = LLVMBuildICmp(e->b, LLVMIntNE, both(e, q, ir_inum(q, 1)), ir_inum(q, 0), "");
    LV up = LLVMBuildOr(e->b, fcmp(e, LLVMRealOGT, m, rest),
                        both(e, fcmp(e, LLVMRealOEQ, m, rest), odd), "");
    m = pick(e, up, LLVMBuildFNeg(e->b, rest, ""), m);
    q = pick(e, up, LLVMBuildAdd(e->b, q, ir_inum(q, 1), ""), q);
    q = both(e, q, ir_inum(q, 127));
    LV bad = LLVMBuildOr(e->b, is(e, y, 0), is(e, a, INFINITY), "");
    bad = LLVMBuildOr(e->b, bad, nan_either(e, x, y), "");
    LV minus =
        LLVMBuildICmp(e->b, LLVMIntSLT, LLVMBuildXor(e->b, ops_bits(e, x), ops_bits(e, y), ""),
                      ir_inum(ops_bits(e, x), 0), "");
    *quotient = pick(e, bad, ir_inum(q, 0), pick(e, minus, LLVMBuildNeg(e->b, q, ""), q));
    LV sign = LLVMBuildFMul(e->b, m, copysign_(e, ir_fnum(x, 1), x), "");
    sign = pick(e, is(e, m, 0), copysign_(e, m, x), sign);
    sign = pick(e, both(e, is(e, b, INFINITY), LLVMBuildNot(e->b, bad, "")), x, sign);
    return pick(e, bad, ir_fnum(m, NAN), sign);
}

/* x - floor(x), below 1. */
LV opencl_fract(Emit *e, LV x, LV *whole)
{
    LT t = ir_element(LLVMTypeOf(x));
    double most = t == e->f16 ? 0x1.ffcp-1 : t == e->f64 ? 0x1.fffffffffffffp-1 : 0x1.fffffep-1;
    *whole = ir_unary(e->b, "llvm.floor", x);
    LV r = LLVMBuildFSub(e->b, x, *whole, "");
    r = pick(e, fcmp(e, LLVMRealOGT, r, ir_fnum(r, most)), ir_fnum(r, most), r);
    r = pick(e, is(e, r, 0), copysign_(e, r, x), r);
    return pick(e, is(e, fabs_(e, x), INFINITY), copysign_(e, ir_fnum(x, 0), x), r);
}

/* ---- by magnitude, by order ------------------------------------------------------------------ */

static LV by_magnitude(Emit *e, LV x, LV y, bool larger)
{
    LV a = fabs_(e, x), b = fabs_(e, y);
    LV other = larger ? ir_greater(e->b, x, y) : ir_lesser(e->b, x, y);
    LV first = fcmp(e, larger ? LLVMRealOGT : LLVMRealOLT, a, b);
    LV second = fcmp(e, larger ? LLVMRealOGT : LLVMRealOLT, b, a);
    return pick(e, first, x, pick(e, second, y, other));
}

static LV fdim_(Emit *e, const SpvInst *i, LV x, LV y)
{
    LV r = pick(e, fcmp(e, LLVMRealOGT, x, y), sub(e, i, x, y), ir_fnum(x, 0));
    return pick(e, nan_either(e, x, y), ir_fnum(x, NAN), r);
}

static LV clamp(Emit *e, LV x, LV low, LV high)
{
    return ir_lesser(e->b, ir_greater(e->b, x, low), high);
}

static LV smooth(Emit *e, const SpvInst *i, LV low, LV high, LV x)
{
    LV t = quot(e, i, sub(e, i, x, low), sub(e, i, high, low));
    t = clamp(e, t, ir_fnum(t, 0), ir_fnum(t, 1));
    return mul(e, i, mul(e, i, t, t), sub(e, i, ir_fnum(t, 3), mul(e, i, t, ir_fnum(t, 2))));
}

static LV sign_(Emit *e, LV x)
{
    LV one = copysign_(e, ir_fnum(x, 1), x);
    LV r = pick(e, is(e, x, 0), x, one);
    return pick(e, nan_either(e, x, x), ir_fnum(x, 0), r);
}

/* ---- functions of one, two and three floats -------------------------------------------------- */

static LV math1(Emit *e, const SpvInst *i, uint32_t number, LV x)
{
    LLVMBuilderRef b = e->b;
    switch (number) {
    case OpenCLstd_acos: return math_acos(b, x);
    case OpenCLstd_acosh: return math_acosh(b, x);
    case OpenCLstd_acospi: return over_pi(e, math_acos(b, x));
    case OpenCLstd_asin: return math_asin(b, x);
    case OpenCLstd_asinh: return math_asinh(b, x);
    case OpenCLstd_asinpi: return over_pi(e, math_asin(b, x));
    case OpenCLstd_atan: return math_atan(b, x);
    case OpenCLstd_atanh: return math_atanh(b, x);
    case OpenCLstd_atanpi: return over_pi(e, math_atan(b, x));
    case OpenCLstd_cbrt: return cbrt_(e, x);
    case OpenCLstd_ceil: return ir_unary(b, "llvm.ceil", x);
    case OpenCLstd_cos:
    case OpenCLstd_half_cos:
    case OpenCLstd_native_cos: return math_cos(b, x);
    case OpenCLstd_cosh: return math_cosh(b, x);
    case OpenCLstd_cospi: return cospi_(e, x);
    case OpenCLstd_erfc: return math_libm(b, "erfc", x, NULL);
    case OpenCLstd_erf: return math_libm(b, "erf", x, NULL);
    case OpenCLstd_exp:
    case OpenCLstd_half_exp:
    case OpenCLstd_native_exp: return math_exp(b, x);
    case OpenCLstd_exp2:
    case OpenCLstd_half_exp2:
    case OpenCLstd_native_exp2: return math_exp2(b, x);
    case OpenCLstd_exp10:
    case OpenCLstd_half_exp10:
    case OpenCLstd_native_exp10: return exp10_(e, x);
    case OpenCLstd_expm1: return math_libm(b, "expm1", x, NULL);
    case OpenCLstd_fabs: return fabs_(e, x);
    case OpenCLstd_floor: return ir_unary(b, "llvm.floor", x);
    case OpenCLstd_ilogb: return ilogb_(e, x);
    case OpenCLstd_lgamma: return math_libm(b, "lgamma", x, NULL);
    case OpenCLstd_log:
    case OpenCLstd_half_log:
    case OpenCLstd_native_log: return math_log(b, x);
    case OpenCLstd_log2:
    case OpenCLstd_half_log2:
    case OpenCLstd_native_log2: return math_log2(b, x);
    case OpenCLstd_log10:
    case OpenCLstd_half_log10:
    case OpenCLstd_native_log10: return log10_(e, x);
    case OpenCLstd_log1p: return math_libm(b, "log1p", x, NULL);
    case OpenCLstd_logb: return logb_(e, x);
    case OpenCLstd_rint: return ir_unary(b, "llvm.roundeven", x);
    case OpenCLstd_round: return ir_unary(b, "llvm.round", x);
    case OpenCLstd_rsqrt:
    case OpenCLstd_half_rsqrt:
    case OpenCLstd_native_rsqrt: return math_rsqrt(b, x);
    case OpenCLstd_sin:
    case OpenCLstd_half_sin:
    case OpenCLstd_native_sin: return math_sin(b, x);
    case OpenCLstd_sinh: return math_sinh(b, x);
    case OpenCLstd_sinpi: return sinpi_(e, x);
    case OpenCLstd_sqrt:
    case OpenCLstd_half_sqrt:
    case OpenCLstd_native_sqrt: return math_sqrt(b, x);
    case OpenCLstd_tan:
    case OpenCLstd_half_tan:
    case OpenCLstd_native_tan: return math_tan(b, x);
    case OpenCLstd_tanh: return math_tanh(b, x);
    case OpenCLstd_tanpi: return LLVMBuildFDiv(b, sinpi_(e, x), cospi_(e, x), "");
    case OpenCLstd_tgamma: return math_libm(b, "tgamma", x, NULL);
    case OpenCLstd_trunc: return ir_unary(b, "llvm.trunc", x);
    case OpenCLstd_half_recip:
    case OpenCLstd_native_recip: return quot(e, i, ir_fnum(x, 1), x);
    case OpenCLstd_degrees: return mul(e, i, x, ir_fnum(x, 180 / M_PI));
    case OpenCLstd_radians: return mul(e, i, x, ir_fnum(x, M_PI / 180));
    case OpenCLstd_sign: return sign_(e, x);
    default: return NULL;
    }
}

static LV math2(Emit *e, const SpvInst *i, uint32_t number, LV x, LV y)
{
    LLVMBuilderRef b = e->b;
    LV unused;
    switch (number) {
    case OpenCLstd_atan2: return math_atan2(b, x, y);
    case OpenCLstd_atan2pi: return over_pi(e, math_atan2(b, x, y));
    case OpenCLstd_copysign: return copysign_(e, x, y);
    case OpenCLstd_fdim: return fdim_(e, i, x, y);
    case OpenCLstd_fmax: return ir_greater(b, x, y);
    case OpenCLstd_fmin: return ir_lesser(b, x, y);
    case OpenCLstd_fmod: return arith_frem(b, x, y);
    case OpenCLstd_hypot: return math_libm(b, "hypot", x, y);
    case OpenCLstd_ldexp: return math_ldexp(b, x, arith_resize(b, y, e->i32, true));
    case OpenCLstd_maxmag: return by_magnitude(e, x, y, true);
    case OpenCLstd_minmag: return by_magnitude(e, x, y, false);
    case OpenCLstd_nextafter: return nextafter_(e, x, y);
    case OpenCLstd_pow: return pow_(e, x, y);
    case OpenCLstd_pown: return pown_(e, x, y);
    case OpenCLstd_powr:
    case OpenCLstd_half_powr:
    case OpenCLstd_native_powr: return powr_(e, x, y);
    case OpenCLstd_remainder: return opencl_remquo(e, x, y, &unused);
    case OpenCLstd_rootn: return rootn_(e, x, y);
    case OpenCLstd_half_divide:
    case OpenCLstd_native_divide: return quot(e, i, x, y);
    case OpenCLstd_fmax_common: return pick(e, fcmp(e, LLVMRealOLT, x, y), y, x);
    case OpenCLstd_fmin_common: return pick(e, fcmp(e, LLVMRealOLT, y, x), y, x);
    case OpenCLstd_step: return pick(e, fcmp(e, LLVMRealOLT, y, x), ir_fnum(x, 0), ir_fnum(x, 1));
    default: return NULL;
    }
}

static LV math3(Emit *e, const SpvInst *i, uint32_t number, LV x, LV y, LV z)
{
    LT t = LLVMTypeOf(x);
    LV args[3] = { x, y, z };
    switch (number) {
    case OpenCLstd_fma: return ir_intrinsic(e->b, "llvm.fma", &t, 1, args, 3);
    case OpenCLstd_mad: return math_fma(e->b, x, y, z);
    case OpenCLstd_fclamp: return clamp(e, x, y, z);
    case OpenCLstd_mix: return add(e, i, x, mul(e, i, sub(e, i, y, x), z));
    case OpenCLstd_smoothstep: return smooth(e, i, x, y, z);
    default: return NULL;
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

static LV shift1(Emit *e, LV x, bool is_signed)
{
    return is_signed ? LLVMBuildAShr(e->b, x, ir_inum(x, 1), "")
                     : LLVMBuildLShr(e->b, x, ir_inum(x, 1), "");
}

/* Half of the sum, rounded down or up, computed without losing the carry. */
static LV half_sum(Emit *e, LV x, LV y, bool is_signed, bool up)
{
    LV one = up ? LLVMBuildOr(e->b, x, y, "") : LLVMBuildAnd(e->b, x, y, "");
    LV sum = LLVMBuildAdd(e->b, shift1(e, x, is_signed), shift1(e, y, is_signed), "");
    return LLVMBuildAdd(e->b, sum, both(e, one, ir_inum(one, 1)), "");
}

static LV difference(Emit *e, LV x, LV y, bool is_signed)
{
    LV less = LLVMBuildICmp(e->b, is_signed ? LLVMIntSLT : LLVMIntULT, x, y, "");
    return pick(e, less, LLVMBuildSub(e->b, y, x, ""), LLVMBuildSub(e->b, x, y, ""));
}

/* x y + z, clamped to the type: computed in twice its width. */
static LV multiply_add_saturated(Emit *e, LV x, LV y, LV z, bool is_signed)
{
    LT element = ir_element(LLVMTypeOf(x));
    unsigned bits = LLVMGetIntTypeWidth(element);
    LT wide = LLVMIntTypeInContext(e->cx, 2 * bits);
    LV p = LLVMBuildMul(e->b, arith_resize(e->b, x, wide, is_signed),
                        arith_resize(e->b, y, wide, is_signed), "");
    p = LLVMBuildAdd(e->b, p, arith_resize(e->b, z, wide, is_signed), "");
    LV most = arith_resize(e->b, ir_inum(x, is_signed ? UINT64_MAX >> (65 - bits) : UINT64_MAX),
                           wide, false);
    LV least = arith_resize(e->b, ir_inum(x, UINT64_C(1) << (bits - 1)), wide, true);
    p = ir_binary(e->b, is_signed ? "llvm.smin" : "llvm.umin", p, most);
    if (is_signed)
        p = ir_binary(e->b, "llvm.smax", p, least);
    return arith_resize(e->b, p, element, false);
}

static LV with_flag(Emit *e, const char *name, LV x)
{
    LT t = LLVMTypeOf(x);
    LV args[2] = { x, ir_int(e->i1, 0) };
    return ir_intrinsic(e->b, name, &t, 1, args, 2);
}

static LV rotate(Emit *e, LV x, LV y)
{
    LT t = LLVMTypeOf(x);
    LV args[3] = { x, x, y };
    return ir_intrinsic(e->b, "llvm.fshl", &t, 1, args, 3);
}

static LV upsample(Emit *e, LV high, LV low)
{
    unsigned bits = LLVMGetIntTypeWidth(ir_element(LLVMTypeOf(high)));
    LT wide = LLVMIntTypeInContext(e->cx, 2 * bits);
    LV h = arith_resize(e->b, high, wide, false), l = arith_resize(e->b, low, wide, false);
    return LLVMBuildOr(e->b, LLVMBuildShl(e->b, h, ir_inum(h, bits), ""), l, "");
}

static LV select_bits(Emit *e, LV x, LV y, LV z)
{
    LV a = ops_bits(e, x), b = ops_bits(e, y), c = ops_bits(e, z);
    LV r = LLVMBuildOr(e->b, both(e, a, LLVMBuildNot(e->b, c, "")), both(e, b, c), "");
    return LLVMBuildBitCast(e->b, r, LLVMTypeOf(x), "");
}

static LV integer(Emit *e, uint32_t number, LV x, LV y, LV z)
{
    LLVMBuilderRef b = e->b;
    switch (number) {
    case OpenCLstd_s_abs: return with_flag(e, "llvm.abs", x);
    case OpenCLstd_u_abs: return x;
    case OpenCLstd_s_abs_diff: return difference(e, x, y, true);
    case OpenCLstd_u_abs_diff: return difference(e, x, y, false);
    case OpenCLstd_s_add_sat: return ir_binary(b, "llvm.sadd.sat", x, y);
    case OpenCLstd_u_add_sat: return ir_binary(b, "llvm.uadd.sat", x, y);
    case OpenCLstd_s_sub_sat: return ir_binary(b, "llvm.ssub.sat", x, y);
    case OpenCLstd_u_sub_sat: return ir_binary(b, "llvm.usub.sat", x, y);
    case OpenCLstd_s_hadd: return half_sum(e, x, y, true, false);
    case OpenCLstd_u_hadd: return half_sum(e, x, y, false, false);
    case OpenCLstd_s_rhadd: return half_sum(e, x, y, true, true);
    case OpenCLstd_u_rhadd: return half_sum(e, x, y, false, true);
    case OpenCLstd_s_max: return ir_binary(b, "llvm.smax", x, y);
    case OpenCLstd_u_max: return ir_binary(b, "llvm.umax", x, y);
    case OpenCLstd_s_min: return ir_binary(b, "llvm.smin", x, y);
    case OpenCLstd_u_min: return ir_binary(b, "llvm.umin", x, y);
    case OpenCLstd_s_clamp: return ir_binary(b, "llvm.smin", ir_binary(b, "llvm.smax", x, y), z);
    case OpenCLstd_u_clamp: return ir_binary(b, "llvm.umin", ir_binary(b, "llvm.umax", x, y), z);
    case OpenCLstd_clz: return with_flag(e, "llvm.ctlz", x);
    case OpenCLstd_ctz: return with_flag(e, "llvm.cttz", x);
    case OpenCLstd_popcount: return ir_unary(b, "llvm.ctpop", x);
    case OpenCLstd_s_mul_hi: return arith_multiply_high(b, x, y, true);
    case OpenCLstd_u_mul_hi: return arith_multiply_high(b, x, y, false);
    case OpenCLstd_s_mad_hi: return LLVMBuildAdd(b, arith_multiply_high(b, x, y, true), z, "");
    case OpenCLstd_u_mad_hi: return LLVMBuildAdd(b, arith_multiply_high(b, x, y, false), z, "");
    case OpenCLstd_s_mad_sat: return multiply_add_saturated(e, x, y, z, true);
    case OpenCLstd_u_mad_sat: return multiply_add_saturated(e, x, y, z, false);
    case OpenCLstd_s_mul24:
    case OpenCLstd_u_mul24: return LLVMBuildMul(b, x, y, "");
    case OpenCLstd_s_mad24:
    case OpenCLstd_u_mad24: return LLVMBuildAdd(b, LLVMBuildMul(b, x, y, ""), z, "");
    case OpenCLstd_rotate: return rotate(e, x, y);
    case OpenCLstd_u_upsample:
    case OpenCLstd_s_upsample: return upsample(e, x, y);
    case OpenCLstd_bitselect: return select_bits(e, x, y, z);
    default: return NULL;
    }
}

/* ---- the instruction ------------------------------------------------------------------------- */

/* select: vectors by the highest bit of each component, scalars by being zero or not. */
static LV select_(Emit *e, const SpvInst *i, LV x, LV y, LV c)
{
    bool vector = spv_type(e->module, i->type)->kind == SPV_VECTOR;
    LV yes = LLVMBuildICmp(e->b, vector ? LLVMIntSLT : LLVMIntNE, c, ir_inum(c, 0), "");
    return pick(e, yes, y, x);
}

static LV not_a_number(Emit *e, const SpvInst *i, LV code)
{
    LT t = emit_scalar_type(e, emit_leaf_type(e, spv_type(e->module, i->type), 0));
    uint64_t quiet = t == e->f16 ? 0x7e00 : t == e->f64 ? 0x7ff8000000000000 : 0x7fc00000;
    uint64_t payload = t == e->f16 ? 0x1ff : t == e->f64 ? 0x7ffffffffffff : 0x3fffff;
    LV bits = LLVMBuildOr(e->b, both(e, code, ir_inum(code, payload)), ir_inum(code, quiet), "");
    return LLVMBuildBitCast(e->b, bits, ir_type_like(LLVMTypeOf(code), t), "");
}

static LV any_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    uint32_t number = spv_operand(i, 1);
    LV x = v[0], y = n > 1 ? v[1] : NULL, z = n > 2 ? v[2] : NULL;
    if (number == OpenCLstd_nan)
        return not_a_number(e, i, x);
    if (number == OpenCLstd_select)
        return select_(e, i, x, y, z);
    LLVMTypeKind kind = LLVMGetTypeKind(ir_element(LLVMTypeOf(x)));
    LV r = NULL;
    if (kind != LLVMIntegerTypeKind)
        r = n == 1   ? math1(e, i, number, x)
            : n == 2 ? math2(e, i, number, x, y)
            : n == 3 ? math3(e, i, number, x, y, z)
                     : NULL;
    if (!r)
        r = integer(e, number, x, y, z);
    if (r)
        return r;
    emit_error(e, i, "OpenCL.std", "instruction %u is not supported on the CPU", number);
    return LLVMConstNull(LLVMTypeOf(x));
}

void opencl_inst(Emit *e, const SpvInst *i)
{
    const SpvExtInst *info = spv_ext_inst(SPV_SET_OpenCLstd_, spv_operand(i, 1));
    if (!info) {
        emit_error(e, i, "OpenCL.std", "there is no instruction %u", spv_operand(i, 1));
        return;
    }
    if (opencl_memory_inst(e, i))
        return;
    emit_each_leaf(e, i, 2, MIN(spv_n_operands(i) - 2, info->n_operands), any_leaf);
}
