/* SPDX-License-Identifier: MIT
 *
 * Integer and float arithmetic with SPIR-V's meaning (SPIR-V, 3.3.13 to 3.3.16).
 *
 * In: LLVM scalars or vectors. Out: the same, defined for every input. LLVM scalarises vector
 * division, so elements of up to 32 bits go through floating-point: |q| < 2^n is exact after
 * truncation in a format of more than 2n bits, or of n + 1 where the quotient is at least 1/x away
 * from the next integer.
 */
#include "llvm/arith.h"

#include <math.h>

typedef LLVMValueRef Val;

static unsigned width_of(Val x) { return LLVMGetIntTypeWidth(ir_element_of(x)); }

/* Poison (a lane that is not active may hold it) becomes any value. */
static Val freeze(LLVMBuilderRef b, Val x)
{
    return LLVMIsConstant(x) ? x : LLVMBuildFreeze(b, x, "");
}

static uint64_t sign_bit(Val x) { return UINT64_C(1) << (width_of(x) - 1); }

/* ---- division -------------------------------------------------------------------------------- */

/* A constant divisor that LLVM turns into a multiplication: splats count. */
static bool good_divisor(Val y, bool is_signed)
{
    Val c = y;
    if (ir_is_vector(y)) {
        if (!LLVMIsConstant(y) || LLVMIsUndef(y))
            return false;
        c = LLVMGetAggregateElement(y, 0);
        for (unsigned i = 1; c && i < LLVMGetVectorSize(LLVMTypeOf(y)); i++)
            if (LLVMGetAggregateElement(y, i) != c)
                return false;
    }
    if (!c || !LLVMIsAConstantInt(c) || width_of(c) > 64 || ir_is_int(c, 0))
        return false;
    return !is_signed || LLVMConstIntGetSExtValue(c) != -1;
}

/* 1 where dividing by y would trap. Both are frozen already. */
static Val safe_divisor(LLVMBuilderRef b, Val x, Val y, bool is_signed)
{
    if (good_divisor(y, is_signed))
        return y;
    Val bad = LLVMBuildICmp(b, LLVMIntEQ, y, ir_inum(y, 0), "");
    if (is_signed) {
        Val least = LLVMBuildICmp(b, LLVMIntEQ, x, ir_inum(x, sign_bit(x)), "");
        Val minus = LLVMBuildICmp(b, LLVMIntEQ, y, ir_inum(y, UINT64_MAX), "");
        bad = LLVMBuildOr(b, bad, LLVMBuildAnd(b, least, minus, ""), "");
    }
    return LLVMBuildSelect(b, bad, ir_inum(y, 1), y, "");
}

static Val divide_as_float(LLVMBuilderRef b, Val x, Val y, bool is_signed)
{
    LLVMContextRef cx = LLVMGetTypeContext(LLVMTypeOf(x));
    LLVMTypeRef f = width_of(x) <= 16 ? LLVMFloatTypeInContext(cx) : LLVMDoubleTypeInContext(cx);
    LLVMTypeRef ft = ir_type_like(LLVMTypeOf(x), f), it = LLVMTypeOf(x);
    Val fx = is_signed ? LLVMBuildSIToFP(b, x, ft, "") : LLVMBuildUIToFP(b, x, ft, "");
    Val fy = is_signed ? LLVMBuildSIToFP(b, y, ft, "") : LLVMBuildUIToFP(b, y, ft, "");
    Val q = LLVMBuildFDiv(b, fx, fy, "");
    return freeze(b, is_signed ? LLVMBuildFPToSI(b, q, it, "") : LLVMBuildFPToUI(b, q, it, ""));
}

static Val divide(LLVMBuilderRef b, Val x, Val y, bool is_signed)
{
    if (ir_is_vector(x) && width_of(x) <= 32 && !good_divisor(y, is_signed))
        return divide_as_float(b, x, y, is_signed);
    x = freeze(b, x);
    y = safe_divisor(b, x, freeze(b, y), is_signed);
    return is_signed ? LLVMBuildSDiv(b, x, y, "") : LLVMBuildUDiv(b, x, y, "");
}

Val arith_udiv(LLVMBuilderRef b, Val x, Val y) { return divide(b, x, y, false); }
Val arith_sdiv(LLVMBuilderRef b, Val x, Val y) { return divide(b, x, y, true); }

static Val remainder_of(LLVMBuilderRef b, Val x, Val y, bool is_signed)
{
    if (!ir_is_vector(x) || good_divisor(y, is_signed)) {
        x = freeze(b, x);
        y = safe_divisor(b, x, freeze(b, y), is_signed);
        return is_signed ? LLVMBuildSRem(b, x, y, "") : LLVMBuildURem(b, x, y, "");
    }
    return LLVMBuildSub(b, x, LLVMBuildMul(b, divide(b, x, y, is_signed), y, ""), "");
}

Val arith_umod(LLVMBuilderRef b, Val x, Val y) { return remainder_of(b, x, y, false); }
Val arith_srem(LLVMBuilderRef b, Val x, Val y) { return remainder_of(b, x, y, true); }

Val arith_smod(LLVMBuilderRef b, Val x, Val y)
{
    Val r = arith_srem(b, x, y);
    Val other = LLVMBuildICmp(b, LLVMIntSLT, LLVMBuildXor(b, r, y, ""), ir_inum(r, 0), "");
    Val some = LLVMBuildICmp(b, LLVMIntNE, r, ir_inum(r, 0), "");
    Val fix = LLVMBuildAnd(b, other, some, "");
    return LLVMBuildAdd(b, r, LLVMBuildSelect(b, fix, y, ir_inum(y, 0), ""), "");
}

/* A negative y is taken from an unsigned x; an unsigned one is added to a signed x by halves, which
 * are not negative. */
LLVMValueRef arith_add_saturating(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, bool is_signed,
                                  bool mixed)
{
    if (!mixed)
        return ir_binary(b, is_signed ? "llvm.sadd.sat" : "llvm.uadd.sat", x, y);
    if (!is_signed) {
        Val negative = LLVMBuildICmp(b, LLVMIntSLT, y, ir_inum(y, 0), "");
        Val less = ir_binary(b, "llvm.usub.sat", x, LLVMBuildNeg(b, y, ""));
        return LLVMBuildSelect(b, negative, less, ir_binary(b, "llvm.uadd.sat", x, y), "");
    }
    Val half = LLVMBuildLShr(b, y, ir_inum(y, 1), "");
    Val sum = ir_binary(b, "llvm.sadd.sat", ir_binary(b, "llvm.sadd.sat", x, half), half);
    return ir_binary(b, "llvm.sadd.sat", sum, LLVMBuildAnd(b, y, ir_inum(y, 1), ""));
}

/* ---- bits ------------------------------------------------------------------------------------ */

Val arith_resize(LLVMBuilderRef b, Val x, LLVMTypeRef element, bool is_signed)
{
    unsigned from = width_of(x), to = LLVMGetIntTypeWidth(element);
    LLVMTypeRef t = ir_type_like(LLVMTypeOf(x), element);
    if (from == to)
        return x;
    if (from > to)
        return LLVMBuildTrunc(b, x, t, "");
    return is_signed ? LLVMBuildSExt(b, x, t, "") : LLVMBuildZExt(b, x, t, "");
}

/* The amount in x's width, below it. */
static Val amount_for(LLVMBuilderRef b, Val x, Val amount)
{
    amount = arith_resize(b, amount, ir_element_of(x), false);
    return LLVMBuildAnd(b, amount, ir_inum(x, width_of(x) - 1), "");
}

Val arith_shl(LLVMBuilderRef b, Val x, Val amount)
{
    return LLVMBuildShl(b, x, amount_for(b, x, amount), "");
}

Val arith_lshr(LLVMBuilderRef b, Val x, Val amount)
{
    return LLVMBuildLShr(b, x, amount_for(b, x, amount), "");
}

Val arith_ashr(LLVMBuilderRef b, Val x, Val amount)
{
    return LLVMBuildAShr(b, x, amount_for(b, x, amount), "");
}

/* `count` ones from bit 0; count (of x's type) in 0..width. */
static Val low_mask(LLVMBuilderRef b, Val x, Val count)
{
    Val all = LLVMBuildICmp(b, LLVMIntUGE, count, ir_inum(x, width_of(x)), "");
    Val one = arith_shl(b, ir_inum(x, 1), count);
    return LLVMBuildSelect(b, all, ir_inum(x, UINT64_MAX), LLVMBuildSub(b, one, ir_inum(x, 1), ""),
                           "");
}

Val arith_insert_bits(LLVMBuilderRef b, Val base, Val insert, Val offset, Val count)
{
    offset = arith_resize(b, offset, ir_element_of(base), false);
    count = arith_resize(b, count, ir_element_of(base), false);
    Val mask = arith_shl(b, low_mask(b, base, count), offset);
    Val in = LLVMBuildAnd(b, arith_shl(b, insert, offset), mask, "");
    return LLVMBuildOr(b, in, LLVMBuildAnd(b, base, LLVMBuildNot(b, mask, ""), ""), "");
}

Val arith_extract_bits(LLVMBuilderRef b, Val base, Val offset, Val count, bool is_signed)
{
    offset = arith_resize(b, offset, ir_element_of(base), false);
    count = arith_resize(b, count, ir_element_of(base), false);
    if (!is_signed)
        return LLVMBuildAnd(b, arith_lshr(b, base, offset), low_mask(b, base, count), "");
    Val above = LLVMBuildSub(b, ir_inum(base, width_of(base)), count, "");
    Val up = arith_shl(b, base, LLVMBuildSub(b, above, offset, ""));
    Val none = LLVMBuildICmp(b, LLVMIntEQ, count, ir_inum(count, 0), "");
    return LLVMBuildSelect(b, none, ir_inum(base, 0), arith_ashr(b, up, above), "");
}

Val arith_multiply_high(LLVMBuilderRef b, Val x, Val y, bool is_signed)
{
    unsigned n = width_of(x);
    LLVMTypeRef wide = LLVMIntTypeInContext(LLVMGetTypeContext(LLVMTypeOf(x)), 2 * n);
    Val p = LLVMBuildMul(b, arith_resize(b, x, wide, is_signed),
                         arith_resize(b, y, wide, is_signed), "");
    return LLVMBuildTrunc(b, LLVMBuildLShr(b, p, ir_inum(p, n), ""), LLVMTypeOf(x), "");
}

/* By cttz or ctlz; of 0 both give the width. */
static Val count_zeros(LLVMBuilderRef b, const char *intrinsic, Val x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    Val args[2] = { x, LLVMConstInt(LLVMInt1TypeInContext(LLVMGetTypeContext(t)), 0, false) };
    return ir_intrinsic(b, intrinsic, &t, 1, args, 2);
}

Val arith_find_lsb(LLVMBuilderRef b, Val x)
{
    Val none = LLVMBuildICmp(b, LLVMIntEQ, x, ir_inum(x, 0), "");
    return LLVMBuildSelect(b, none, ir_inum(x, UINT64_MAX), count_zeros(b, "llvm.cttz", x), "");
}

Val arith_find_msb(LLVMBuilderRef b, Val x, bool is_signed)
{
    if (is_signed)
        x = LLVMBuildXor(b, x, LLVMBuildAShr(b, x, ir_inum(x, width_of(x) - 1), ""), "");
    return LLVMBuildSub(b, ir_inum(x, width_of(x) - 1), count_zeros(b, "llvm.ctlz", x), "");
}

/* ---- floats ---------------------------------------------------------------------------------- */

static bool is_half(Val x) { return LLVMGetTypeKind(ir_element_of(x)) == LLVMHalfTypeKind; }

static Val widen_half(LLVMBuilderRef b, Val x)
{
    LLVMTypeRef f = LLVMFloatTypeInContext(LLVMGetTypeContext(LLVMTypeOf(x)));
    return LLVMBuildFPExt(b, x, ir_type_like(LLVMTypeOf(x), f), "");
}

static Val fabsv(LLVMBuilderRef b, Val x) { return ir_unary(b, "llvm.fabs", x); }

static Val negative(LLVMBuilderRef b, Val x)
{
    return LLVMBuildFCmp(b, LLVMRealOLT, x, ir_fnum(x, 0), "");
}

/* x - y * round(x / y). The quotient may round up to the next integer: then the remainder has the
 * wrong sign and one y mends it. An infinite y divides 0 times. */
static Val float_remainder(LLVMBuilderRef b, Val x, Val y, const char *rounding, bool sign_of_y)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    bool narrow = is_half(x);
    if (narrow) {
        x = widen_half(b, x);
        y = widen_half(b, y);
    }
    Val q = ir_unary(b, rounding, LLVMBuildFDiv(b, x, y, ""));
    Val r = math_fma(b, LLVMBuildFNeg(b, q, ""), y, x);
    Val reference = sign_of_y ? y : x;
    Val bound = ir_binary(b, "llvm.copysign", y, reference);
    Val some = LLVMBuildFCmp(b, LLVMRealONE, r, ir_fnum(r, 0), "");
    Val wrong = LLVMBuildXor(b, negative(b, r), negative(b, reference), "");
    Val low = LLVMBuildAnd(b, some, wrong, "");
    Val high = LLVMBuildFCmp(b, LLVMRealOGT, fabsv(b, r), fabsv(b, y), "");
    Val up = LLVMBuildFAdd(b, r, bound, ""), down = LLVMBuildFSub(b, r, bound, "");
    r = LLVMBuildSelect(b, low, up, LLVMBuildSelect(b, high, down, r, ""), "");
    Val zero = LLVMBuildFCmp(b, LLVMRealOEQ, r, ir_fnum(r, 0), "");
    r = LLVMBuildSelect(b, zero, ir_binary(b, "llvm.copysign", ir_fnum(r, 0), x), r, "");
    Val endless = LLVMBuildFCmp(b, LLVMRealOEQ, fabsv(b, y), ir_fnum(y, INFINITY), "");
    Val finite = LLVMBuildFCmp(b, LLVMRealOLT, fabsv(b, x), ir_fnum(x, INFINITY), "");
    Val same = LLVMBuildXor(b, negative(b, x), negative(b, y), "");
    Val whole = sign_of_y ? LLVMBuildSelect(b, same, y, x, "") : x;
    Val none = LLVMBuildFCmp(b, LLVMRealOEQ, x, ir_fnum(x, 0), "");
    whole = LLVMBuildSelect(b, none, x, whole, "");
    r = LLVMBuildSelect(b, LLVMBuildAnd(b, endless, finite, ""), whole, r, "");
    return narrow ? LLVMBuildFPTrunc(b, r, t, "") : r;
}

Val arith_frem(LLVMBuilderRef b, Val x, Val y)
{
    return float_remainder(b, x, y, "llvm.trunc", false);
}
Val arith_fmod(LLVMBuilderRef b, Val x, Val y)
{
    return float_remainder(b, x, y, "llvm.floor", true);
}

static double least_normal(Val x)
{
    switch (LLVMGetTypeKind(ir_element_of(x))) {
    case LLVMHalfTypeKind: return 0x1p-14;
    case LLVMDoubleTypeKind: return 0x1p-1022;
    default: return 0x1p-126;
    }
}

Val arith_flush(LLVMBuilderRef b, Val x)
{
    Val small = LLVMBuildFCmp(b, LLVMRealOLT, fabsv(b, x), ir_fnum(x, least_normal(x)), "");
    Val zero = ir_binary(b, "llvm.copysign", ir_fnum(x, 0), x);
    return LLVMBuildSelect(b, small, zero, x, "");
}

/* ---- rounding towards zero ------------------------------------------------------------------- */

static Val fused(LLVMBuilderRef b, Val x, Val y, Val z)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    Val args[3] = { x, y, z };
    return ir_intrinsic(b, "llvm.fma", &t, 1, args, 3);
}

/* `scale` in lanes where |x| < least, 1 in the others. */
static Val scale_below(LLVMBuilderRef b, Val x, double least, double scale)
{
    Val small = LLVMBuildFCmp(b, LLVMRealOLT, fabsv(b, x), ir_fnum(x, least), "");
    return LLVMBuildSelect(b, small, ir_fnum(x, scale), ir_fnum(x, 1), "");
}

/* What the rounded result lacks, or something of its sign (0 when exact, NaN when not finite).
 * Small numbers are scaled first, so that it does not underflow. */
static Val error_of(LLVMBuilderRef b, LLVMOpcode op, Val x, Val y, Val r)
{
    bool wide = LLVMGetTypeKind(ir_element_of(x)) == LLVMDoubleTypeKind;
    if (op == LLVMFDiv) {
        Val scale = scale_below(b, x, wide ? 0x1p-900 : 0x1p-100, wide ? 0x1p120 : 0x1p60);
        x = LLVMBuildFMul(b, x, scale, "");
        y = LLVMBuildFMul(b, y, scale, "");
        Val rest = fused(b, LLVMBuildFNeg(b, r, ""), y, x);
        Val flip = LLVMBuildSelect(b, negative(b, y), ir_fnum(y, -1), ir_fnum(y, 1), "");
        return LLVMBuildFMul(b, rest, flip, "");
    }
    if (op == LLVMFSub)
        y = LLVMBuildFNeg(b, y, "");
    Val less = LLVMBuildFCmp(b, LLVMRealOLT, fabsv(b, x), fabsv(b, y), "");
    Val small = LLVMBuildSelect(b, less, x, y, ""), large = LLVMBuildSelect(b, less, y, x, "");
    if (op == LLVMFMul) {
        Val scale = scale_below(b, r, wide ? 0x1p-900 : 0x1p-60, wide ? 0x1p240 : 0x1p100);
        small = LLVMBuildFMul(b, small, scale, "");
        return fused(b, small, large, LLVMBuildFNeg(b, LLVMBuildFMul(b, r, scale, ""), ""));
    }
    /* Dekker: what the larger leaves of the sum does not overflow */
    return LLVMBuildFSub(b, small, LLVMBuildFSub(b, r, large, ""), "");
}

/* The nearest result, stepped back by one unit where its error says that it lies too far out. */
Val arith_towards_zero(LLVMBuilderRef b, LLVMOpcode op, Val x, Val y)
{
    Val r = LLVMBuildBinOp(b, op, x, y, "");
    Val error = error_of(b, op, x, y, r);
    LLVMTypeRef t = LLVMTypeOf(r);
    LLVMContextRef cx = LLVMGetTypeContext(t);
    bool wide = LLVMGetTypeKind(ir_element(t)) == LLVMDoubleTypeKind;
    LLVMTypeRef bits =
        ir_type_like(t, wide ? LLVMInt64TypeInContext(cx) : LLVMInt32TypeInContext(cx));
    Val away = LLVMBuildXor(b, negative(b, error), negative(b, r), "");
    Val inexact = LLVMBuildFCmp(b, LLVMRealONE, error, ir_fnum(error, 0), "");
    inexact = LLVMBuildAnd(b, inexact, LLVMBuildFCmp(b, LLVMRealONE, r, ir_fnum(r, 0), ""), "");
    away = LLVMBuildAnd(b, away, inexact, "");
    Val infinite = LLVMBuildFCmp(b, LLVMRealOEQ, fabsv(b, r), ir_fnum(r, INFINITY), "");
    Val fx = LLVMBuildFCmp(b, LLVMRealOLT, fabsv(b, x), ir_fnum(x, INFINITY), "");
    Val fy = LLVMBuildFCmp(b, LLVMRealOLT, fabsv(b, y), ir_fnum(y, INFINITY), "");
    Val overflow = LLVMBuildAnd(b, infinite, LLVMBuildAnd(b, fx, fy, ""), "");
    if (op == LLVMFDiv) /* x / 0 is exactly infinite */
        overflow =
            LLVMBuildAnd(b, overflow, LLVMBuildFCmp(b, LLVMRealONE, y, ir_fnum(y, 0), ""), "");
    Val step = LLVMBuildZExt(b, LLVMBuildOr(b, away, overflow, ""), bits, "");
    Val i = LLVMBuildSub(b, LLVMBuildBitCast(b, r, bits, ""), step, "");
    return LLVMBuildBitCast(b, i, t, "");
}
