/* SPDX-License-Identifier: MIT
 *
 * Conversions between all component types (SPIR-V, 3.3.11; the OFP8 formats of SPV_EXT_float8 and
 * those of SPV_EXT_ocp_microscaling_types, which nothing is converted to).
 *
 * Floats: every small format widens exactly to float; narrowing goes from float, and from double
 * through a float that keeps 11 bits and the "or" of the rest, enough for any small format to be
 * rounded once. bf16 and fp8 are made of integer operations, since the machine's own flush
 * denormals or are missing. Rounding other than to nearest compares the nearest result with the
 * original and steps back.
 */
#include "llvm/arith.h"

#include <math.h>

typedef LLVMValueRef Val;

static LLVMContextRef context_of(Val x) { return LLVMGetTypeContext(LLVMTypeOf(x)); }
static LLVMTypeRef type_like(Val x, LLVMTypeRef element)
{
    return ir_type_like(LLVMTypeOf(x), element);
}
static LLVMTypeRef ints(Val x, unsigned n)
{
    return type_like(x, LLVMIntTypeInContext(context_of(x), n));
}
static LLVMTypeRef floats(Val x) { return type_like(x, LLVMFloatTypeInContext(context_of(x))); }

static Val and_(LLVMBuilderRef b, Val x, uint64_t n)
{
    return LLVMBuildAnd(b, x, ir_inum(x, n), "");
}
static Val or_(LLVMBuilderRef b, Val x, Val y) { return LLVMBuildOr(b, x, y, ""); }
static Val shl(LLVMBuilderRef b, Val x, unsigned n)
{
    return LLVMBuildShl(b, x, ir_inum(x, n), "");
}
static Val lshr(LLVMBuilderRef b, Val x, unsigned n)
{
    return LLVMBuildLShr(b, x, ir_inum(x, n), "");
}
static Val bitcast(LLVMBuilderRef b, Val x, LLVMTypeRef t) { return LLVMBuildBitCast(b, x, t, ""); }
static Val pick(LLVMBuilderRef b, Val c, Val x, Val y) { return LLVMBuildSelect(b, c, x, y, ""); }

static Val ieq(LLVMBuilderRef b, Val x, uint64_t n)
{
    return LLVMBuildICmp(b, LLVMIntEQ, x, ir_inum(x, n), "");
}

static Val above(LLVMBuilderRef b, Val x, uint64_t n)
{
    return LLVMBuildICmp(b, LLVMIntUGT, x, ir_inum(x, n), "");
}

static bool is_double(Val x) { return LLVMGetTypeKind(ir_element_of(x)) == LLVMDoubleTypeKind; }

/* ---- small floats ---------------------------------------------------------------------------- */

/* A format of at most 8 bits: how many bits it and its mantissa have, its exponent's bias, its
 * codes of the largest finite value, of overflow and of NaN. The formats of
 * SPV_EXT_ocp_microscaling_types have neither of the last two. */
typedef struct Tiny {
    unsigned bits, mantissa, bias, max, overflow, nan;
} Tiny;

static Tiny tiny(IrComp c)
{
    switch (c) {
    case COMP_E4M3: return (Tiny){ 8, 3, 7, 0x7e, 0x7f, 0x7f };
    case COMP_E5M2: return (Tiny){ 8, 2, 15, 0x7b, 0x7c, 0x7e };
    case COMP_E3M2: return (Tiny){ 6, 2, 3, 0x1f, 0, 0 };
    case COMP_E2M3: return (Tiny){ 6, 3, 1, 0x1f, 0, 0 };
    default: return (Tiny){ 4, 1, 1, 7, 0, 0 };
    }
}

/* Finite codes: the bits moved to a float's place, the bias made up for. Denormals have no leading
 * one: they get it from an exponent more, and lose it by a subtraction. (A multiplication would do
 * for all, but takes Intel's machines 150 cycles where its operand is a float's denormal.) */
static Val widen_tiny(LLVMBuilderRef b, Val x, IrComp c)
{
    Tiny f = tiny(c);
    unsigned sign_bit = 1u << (f.bits - 1);
    Val i = LLVMBuildZExt(b, x, ints(x, 32), "");
    Val low = and_(b, i, sign_bit - 1), sign = shl(b, and_(b, i, sign_bit), 32 - f.bits);
    Val normal = LLVMBuildAdd(b, shl(b, low, 23 - f.mantissa),
                              ir_inum(i, (uint64_t)(127 - f.bias) << 23), "");
    Val more = LLVMBuildAdd(b, normal, ir_inum(i, 1 << 23), "");
    Val least = ir_real(floats(i), ldexp(1, 1 - (int)f.bias));
    Val denormal = LLVMBuildFSub(b, bitcast(b, more, floats(i)), least, "");
    Val r =
        pick(b, above(b, low, (1u << f.mantissa) - 1), normal, bitcast(b, denormal, LLVMTypeOf(i)));
    if (c == COMP_E5M2)
        r = pick(b, ieq(b, low, f.overflow), ir_inum(i, 0x7f800000), r);
    if (f.nan)
        r = pick(b, above(b, low, f.overflow - (c == COMP_E4M3)), ir_inum(i, 0x7fc00000), r);
    return bitcast(b, or_(b, r, sign), floats(i));
}

/* A bare exponent: 2^-127 is a denormal of float's, the last code NaN. */
static Val widen_e8m0(LLVMBuilderRef b, Val x)
{
    Val i = LLVMBuildZExt(b, x, ints(x, 32), "");
    Val r = pick(b, ieq(b, i, 0xff), ir_inum(i, 0x7fc00000), shl(b, i, 23));
    return bitcast(b, pick(b, ieq(b, i, 0), ir_inum(i, 0x400000), r), floats(i));
}

/* The integer counts 64ths. */
static Val widen_mxint8(LLVMBuilderRef b, Val x)
{
    Val f = LLVMBuildSIToFP(b, x, floats(x), "");
    return LLVMBuildFMul(b, f, ir_fnum(f, 0x1p-6), "");
}

enum { INFINITE = 0x7f800000, QUIET = 0x7fc00000 }; /* a float's infinity and NaN */

static uint64_t largest_tiny(Tiny f)
{
    return ((uint64_t)(127 - f.bias) << 23) + ((uint64_t)f.max << (23 - f.mantissa));
}

/* A float on its way to a format. Adding 2^(its exponent + 23 - mantissa) has the machine round its
 * magnitude to nearest even: the sum's bits count units from `unit`'s on. Below the normal range
 * units stay as they are. */
typedef struct Rounding {
    Tiny f;
    Val magnitude;    /* the float's bits, without the sign */
    Val exponent;     /* at least that of the smallest normal number, at a float's place */
    Val unit, sum;    /* bits of floats */
    Val over, is_nan; /* conditions; NULL: `over` has NaNs, which overflow like numbers */
} Rounding;

static Rounding round_tiny(LLVMBuilderRef b, Val x, IrComp c, bool saturate)
{
    Tiny f = tiny(c);
    unsigned drop = 23 - f.mantissa;
    Rounding r = { f, .magnitude = and_(b, bitcast(b, x, ints(x, 32)), 0x7fffffff) };
    r.exponent = ir_binary(b, "llvm.umax", and_(b, r.magnitude, INFINITE),
                           ir_inum(r.magnitude, (uint64_t)(128 - f.bias) << 23));
    r.unit = LLVMBuildAdd(b, r.exponent, ir_inum(r.exponent, drop << 23), "");
    Val sum = LLVMBuildFAdd(b, bitcast(b, r.magnitude, LLVMTypeOf(x)),
                            bitcast(b, r.unit, LLVMTypeOf(x)), "");
    r.sum = bitcast(b, sum, LLVMTypeOf(r.unit));
    /* more than the largest number and half a unit, or, where that is odd, as much */
    r.over = above(b, r.magnitude, largest_tiny(f) + (1u << (drop - 1)) - (f.max & 1));
    if (saturate || f.overflow != f.nan)
        r.is_nan = above(b, r.magnitude, INFINITE);
    return r;
}

static Val narrow_tiny(LLVMBuilderRef b, Val x, IrComp c, bool saturate)
{
    Rounding r = round_tiny(b, x, c, saturate);
    Val i = bitcast(b, x, LLVMTypeOf(r.sum)), sign = and_(b, lshr(b, i, 24), 0x80);
    /* units since the exponent began, and those of all exponents before */
    Val low = LLVMBuildSub(b, lshr(b, r.exponent, 23 - r.f.mantissa), r.unit, "");
    Val code = LLVMBuildSub(b, LLVMBuildAdd(b, r.sum, low, ""),
                            ir_inum(i, (128 - r.f.bias) << r.f.mantissa), "");
    code = pick(b, r.over, ir_inum(i, saturate ? r.f.max : r.f.overflow), code);
    if (r.is_nan)
        code = pick(b, r.is_nan, ir_inum(i, r.f.nan), code);
    return LLVMBuildTrunc(b, or_(b, code, sign), ints(x, 8), "");
}

Val arith_round_small(LLVMBuilderRef b, Val x, IrComp to, bool saturate)
{
    Rounding r = round_tiny(b, x, to, saturate);
    Val i = bitcast(b, x, LLVMTypeOf(r.sum)), sign = and_(b, i, 0x80000000);
    Val value =
        LLVMBuildFSub(b, bitcast(b, r.sum, LLVMTypeOf(x)), bitcast(b, r.unit, LLVMTypeOf(x)), "");
    uint64_t limit = saturate ? largest_tiny(r.f) : r.f.overflow == r.f.nan ? QUIET : INFINITE;
    value = pick(b, r.over, ir_inum(i, limit), bitcast(b, value, LLVMTypeOf(i)));
    if (r.is_nan)
        value = pick(b, r.is_nan, ir_inum(i, QUIET), value);
    return bitcast(b, or_(b, value, sign), LLVMTypeOf(x));
}

/* f16 has all that fp8 has: e5m2 is its upper half, e4m3 has its bits elsewhere. Of that the
 * exponent's bias is made up for in float, where no number is a denormal. */
Val arith_widen_by_half(LLVMBuilderRef b, Val x, IrComp from)
{
    bool e4m3 = from == COMP_E4M3;
    if (!e4m3 && from != COMP_E5M2)
        return NULL;
    Val i = LLVMBuildSExt(b, x, ints(x, 16), "");
    i = e4m3 ? and_(b, shl(b, i, 7), 0xbf80) : shl(b, i, 8);
    Val is_nan = above(b, and_(b, x, 0x7f), tiny(from).overflow - e4m3);
    i = pick(b, is_nan, or_(b, and_(b, i, 0x8000), ir_inum(i, 0x7e00)), i);
    Val f = LLVMBuildFPExt(b, bitcast(b, i, type_like(x, LLVMHalfTypeInContext(context_of(x)))),
                           floats(x), "");
    return e4m3 ? LLVMBuildFMul(b, f, ir_fnum(f, 0x1p8), "") : f;
}

static Val widen_bf16(LLVMBuilderRef b, Val x)
{
    Val i = LLVMBuildZExt(b, bitcast(b, x, ints(x, 16)), ints(x, 32), "");
    return bitcast(b, shl(b, i, 16), floats(x));
}

static Val narrow_bf16(LLVMBuilderRef b, Val x)
{
    Val i = bitcast(b, x, ints(x, 32));
    Val odd = and_(b, lshr(b, i, 16), 1);
    Val up = LLVMBuildAdd(b, i, LLVMBuildAdd(b, odd, ir_inum(i, 0x7fff), ""), "");
    Val nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, "");
    Val r = pick(b, nan, or_(b, i, ir_inum(i, 0x400000)), up);
    r = LLVMBuildTrunc(b, lshr(b, r, 16), ints(x, 16), "");
    return bitcast(b, r, type_like(x, LLVMBFloatTypeInContext(context_of(x))));
}

/* A double as a float with 11 mantissa bits and the "or" of the others in the twelfth. */
static Val sticky_float(LLVMBuilderRef b, Val x)
{
    Val i = bitcast(b, x, ints(x, 64));
    uint64_t low = (UINT64_C(1) << 40) - 1;
    Val some = LLVMBuildICmp(b, LLVMIntNE, and_(b, i, low), ir_inum(i, 0), "");
    Val keep =
        or_(b, and_(b, i, ~low), pick(b, some, ir_inum(i, UINT64_C(1) << 40), ir_inum(i, 0)));
    return LLVMBuildFPTrunc(b, bitcast(b, keep, LLVMTypeOf(x)), floats(x), "");
}

/* ---- float to float -------------------------------------------------------------------------- */

/* To float, or double where it is one. Exact. */
static Val widen_float(LLVMBuilderRef b, Val x, IrComp from)
{
    switch (from) {
    case COMP_F16: return LLVMBuildFPExt(b, x, floats(x), "");
    case COMP_BF16: return widen_bf16(b, x);
    case COMP_F32:
    case COMP_F64: return x;
    case COMP_E8M0: return widen_e8m0(b, x);
    case COMP_MXINT8: return widen_mxint8(b, x);
    default: return widen_tiny(b, x, from);
    }
}

/* x is float or double. To nearest even. */
static Val narrow_float(LLVMBuilderRef b, Val x, IrComp to, bool saturate)
{
    LLVMTypeRef t = type_like(x, comp_type(context_of(x), to));
    if (to == COMP_F64)
        return is_double(x) ? x : LLVMBuildFPExt(b, x, t, "");
    if (to == COMP_F32)
        return is_double(x) ? LLVMBuildFPTrunc(b, x, t, "") : x;
    if (is_double(x))
        x = sticky_float(b, x);
    if (to == COMP_F16)
        return LLVMBuildFPTrunc(b, x, t, "");
    return to == COMP_BF16 ? narrow_bf16(b, x) : narrow_tiny(b, x, to, saturate);
}

/* Steps `r`, x rounded to nearest in `to`, by one unit where it lies on the wrong side of x. */
static Val directed(LLVMBuilderRef b, Val x, Val r, IrComp to, IrRounding rounding)
{
    Val back = widen_float(b, r, to);
    if (is_double(x) && !is_double(back))
        back = LLVMBuildFPExt(b, back, LLVMTypeOf(x), "");
    Val high = LLVMBuildFCmp(b, LLVMRealOGT, back, x, "");
    Val low = LLVMBuildFCmp(b, LLVMRealOLT, back, x, "");
    Val minus = LLVMBuildFCmp(b, LLVMRealOLT, x, ir_fnum(x, 0), "");
    Val i = bitcast(b, r, ints(r, comp_bytes(to) * 8));
    /* the magnitude shrinks or grows by one unit; zeros grow into the sign of x */
    Val signed_ =
        or_(b, and_(b, i, (UINT64_C(1) << (comp_bytes(to) * 8 - 1)) - 1),
            pick(b, minus, ir_inum(i, UINT64_C(1) << (comp_bytes(to) * 8 - 1)), ir_inum(i, 0)));
    Val in = LLVMBuildSub(b, signed_, ir_inum(i, 1), ""),
        out = LLVMBuildAdd(b, signed_, ir_inum(i, 1), "");
    Val shrink, grow;
    Val far = pick(b, minus, low, high), near = pick(b, minus, high, low);
    Val no = LLVMConstNull(LLVMTypeOf(far));
    if (rounding == ROUND_ZERO) {
        shrink = far;
        grow = no;
    } else {
        Val wrong_sign = rounding == ROUND_UP ? minus : LLVMBuildNot(b, minus, "");
        shrink = LLVMBuildAnd(b, far, wrong_sign, "");
        grow = LLVMBuildAnd(b, near, LLVMBuildNot(b, wrong_sign, ""), "");
    }
    return bitcast(b, pick(b, shrink, in, pick(b, grow, out, i)), LLVMTypeOf(r));
}

/* Of what bf16 has exactly. */
static Val truncate_bf16(LLVMBuilderRef b, Val x)
{
    Val i = LLVMBuildTrunc(b, lshr(b, bitcast(b, x, ints(x, 32)), 16), ints(x, 16), "");
    return bitcast(b, i, type_like(x, LLVMBFloatTypeInContext(context_of(x))));
}

static Val float_to_float(LLVMBuilderRef b, Val x, IrComp from, IrComp to, IrRounding rounding,
                          bool saturate)
{
    x = widen_float(b, x, from);
    if (to == COMP_BF16 && comp_bytes(from) == 1 && from != COMP_E8M0)
        return truncate_bf16(b, x);
    Val r = narrow_float(b, x, to, saturate);
    bool directs = rounding != ROUND_NEAREST && comp_bytes(to) < (is_double(x) ? 8 : 4) &&
                   to != COMP_E4M3 && to != COMP_E5M2;
    return directs ? directed(b, x, r, to, rounding) : r;
}

/* ---- float to integer ------------------------------------------------------------------------ */

static Val float_to_int(LLVMBuilderRef b, Val x, IrComp from, IrComp to, IrRounding rounding,
                        bool saturate)
{
    x = widen_float(b, x, from);
    if (rounding == ROUND_UP || rounding == ROUND_DOWN)
        x = ir_unary(b, rounding == ROUND_UP ? "llvm.ceil" : "llvm.floor", x);
    LLVMTypeRef t = ints(x, comp_bytes(to) * 8);
    bool is_signed = comp_is_signed(to);
    if (saturate) {
        LLVMTypeRef types[2] = { t, LLVMTypeOf(x) };
        return ir_intrinsic(b, is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, &x, 1);
    }
    Val r = is_signed ? LLVMBuildFPToSI(b, x, t, "") : LLVMBuildFPToUI(b, x, t, "");
    return LLVMBuildFreeze(b, r, "");
}

/* ---- integer to float ------------------------------------------------------------------------ */

static Val int_as_float(LLVMBuilderRef b, Val x, LLVMTypeRef element, bool is_signed)
{
    LLVMTypeRef t = type_like(x, element);
    return is_signed ? LLVMBuildSIToFP(b, x, t, "") : LLVMBuildUIToFP(b, x, t, "");
}

/* The `keep` leading bits of the magnitude, the last of them set when `sticky` and any bit was
 * dropped. */
static Val leading_bits(LLVMBuilderRef b, Val magnitude, unsigned keep, bool sticky)
{
    unsigned w = LLVMGetIntTypeWidth(ir_element_of(magnitude));
    LLVMTypeRef t = LLVMTypeOf(magnitude);
    Val args[2] = { magnitude,
                    LLVMConstInt(LLVMInt1TypeInContext(context_of(magnitude)), 0, false) };
    Val zeros = ir_intrinsic(b, "llvm.ctlz", &t, 1, args, 2);
    Val spare = LLVMBuildSub(b, ir_inum(magnitude, w - keep), zeros, "");
    spare = ir_binary(b, "llvm.smax", spare, ir_inum(spare, 0));
    Val unit = arith_shl(b, ir_inum(magnitude, 1), spare);
    Val low = LLVMBuildSub(b, unit, ir_inum(magnitude, 1), "");
    Val dropped = LLVMBuildAnd(b, magnitude, low, "");
    Val r = LLVMBuildAnd(b, magnitude, LLVMBuildNot(b, low, ""), "");
    if (!sticky)
        return r;
    Val some = LLVMBuildICmp(b, LLVMIntNE, dropped, ir_inum(dropped, 0), "");
    return LLVMBuildOr(b, r, pick(b, some, unit, ir_inum(unit, 0)), "");
}

/* Integers wider than the format's precision, rounded otherwise than by the machine: through the
 * exact double of up to 32 bits, or of 50 leading bits with the rest or'ed in. */
static Val int_to_float_slow(LLVMBuilderRef b, Val x, IrComp from, IrComp to, IrRounding rounding)
{
    bool is_signed = comp_is_signed(from);
    LLVMTypeRef f64 = LLVMDoubleTypeInContext(context_of(x));
    if (comp_bytes(from) < 8 || to == COMP_F64) {
        Val wide = int_as_float(b, x, f64, is_signed);
        if (comp_bytes(from) < 8)
            return float_to_float(b, wide, COMP_F64, to, rounding, false);
    }
    Val minus = is_signed ? LLVMBuildICmp(b, LLVMIntSLT, x, ir_inum(x, 0), "") : NULL;
    Val magnitude = minus ? pick(b, minus, LLVMBuildNeg(b, x, ""), x) : x;
    bool away = rounding == ROUND_UP || rounding == ROUND_DOWN;
    if (to == COMP_F64) {
        Val r = int_as_float(b, leading_bits(b, magnitude, 53, false), f64, false);
        if (away) {
            Val exact =
                LLVMBuildICmp(b, LLVMIntEQ, leading_bits(b, magnitude, 53, false), magnitude, "");
            Val outward = minus ? minus : LLVMConstNull(LLVMTypeOf(exact));
            if (rounding == ROUND_UP)
                outward = LLVMBuildNot(b, outward, "");
            Val step = LLVMBuildAnd(b, outward, LLVMBuildNot(b, exact, ""), "");
            Val i = bitcast(b, r, LLVMTypeOf(x));
            r = bitcast(b, LLVMBuildAdd(b, i, LLVMBuildZExt(b, step, LLVMTypeOf(x), ""), ""),
                        LLVMTypeOf(r));
        }
        return minus ? pick(b, minus, LLVMBuildFNeg(b, r, ""), r) : r;
    }
    Val wide = int_as_float(b, leading_bits(b, magnitude, 50, true), f64, false);
    if (minus)
        wide = pick(b, minus, LLVMBuildFNeg(b, wide, ""), wide);
    return float_to_float(b, wide, COMP_F64, to, rounding, false);
}

/* f16 and the 8-bit formats overflow before float loses a bit that matters to them; bf16 does
 * not. */
static Val int_to_float(LLVMBuilderRef b, Val x, IrComp from, IrComp to, IrRounding rounding,
                        bool saturate)
{
    LLVMContextRef cx = context_of(x);
    bool is_signed = comp_is_signed(from);
    bool exact = comp_bytes(from) <= 2 || (to == COMP_F64 && comp_bytes(from) == 4);
    if ((rounding != ROUND_NEAREST && !exact) || (to == COMP_BF16 && !exact))
        return int_to_float_slow(b, x, from, to, rounding);
    if (to == COMP_F32 || to == COMP_F64)
        return int_as_float(b, x, comp_type(cx, to), is_signed);
    Val f = int_as_float(b, x, LLVMFloatTypeInContext(cx), is_signed);
    return float_to_float(b, f, COMP_F32, to, rounding, saturate);
}

/* ---- integer to integer ---------------------------------------------------------------------- */

static Val int_to_int(LLVMBuilderRef b, Val x, IrComp from, IrComp to, bool saturate)
{
    unsigned n = comp_bytes(to) * 8, w = comp_bytes(from) * 8;
    bool from_signed = comp_is_signed(from), to_signed = comp_is_signed(to);
    if (saturate) {
        uint64_t max = UINT64_MAX >> (64 - n + (to_signed ? 1 : 0));
        uint64_t from_max = UINT64_MAX >> (64 - w + (from_signed ? 1 : 0));
        if (from_signed && !to_signed)
            x = ir_binary(b, "llvm.smax", x, ir_inum(x, 0));
        else if (from_signed && n < w)
            x = ir_binary(b, "llvm.smax", x, ir_inum(x, ~max));
        if (max < from_max)
            x = ir_binary(b, from_signed ? "llvm.smin" : "llvm.umin", x, ir_inum(x, max));
    }
    return arith_resize(b, x, LLVMIntTypeInContext(context_of(x), n), from_signed);
}

Val arith_convert(LLVMBuilderRef b, Val x, IrComp from, IrComp to, IrRounding rounding,
                  bool saturate)
{
    if (from == to)
        return x;
    if (comp_is_float(from))
        return comp_is_float(to) ? float_to_float(b, x, from, to, rounding, saturate)
                                 : float_to_int(b, x, from, to, rounding, saturate);
    return comp_is_float(to) ? int_to_float(b, x, from, to, rounding, saturate)
                             : int_to_int(b, x, from, to, saturate);
}

/* SPIR-V, 3.3.11, OpQuantizeToF16: what has no normal f16 becomes a zero, overflow an infinity. */
Val arith_quantize_f16(LLVMBuilderRef b, Val x)
{
    Val h = LLVMBuildFPTrunc(b, x, type_like(x, LLVMHalfTypeInContext(context_of(x))), "");
    Val r = LLVMBuildFPExt(b, h, LLVMTypeOf(x), "");
    Val small = LLVMBuildFCmp(b, LLVMRealOLT, ir_unary(b, "llvm.fabs", r), ir_fnum(r, 0x1p-14), "");
    return pick(b, small, ir_binary(b, "llvm.copysign", ir_fnum(r, 0), r), r);
}
