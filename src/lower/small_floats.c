/* SPDX-License-Identifier: MIT
 *
 * small_floats: bf16 and fp8 that the target has no values of. In: a module without matrices of
 * them. Out: each such type is that of unsigned integers of its width, and conversions are their
 * arithmetic, by way of f32, which holds every number of these formats exactly. They are all that
 * computes with them, but for dot products of bf16 (SPV_KHR_bfloat16, SPV_EXT_float8).
 *
 * A number is rounded once: what f32 does not hold is rounded to odd there, so that the bits that
 * are cut off later tell which half it is in (f32 has more than two bits more than any of these).
 */
#include "lower/internal.h"

enum { INFINITE = 0x7f800000, MAGNITUDE = 0x7fffffff };

static SpvId bitwise(Lower *l, SpvInst *at, uint16_t op, SpvId a, uint32_t b)
{
    return BUILD(l, at, op, build_u32(l), a, build_const(l, b));
}

static SpvId mask(Lower *l, SpvInst *at, SpvId a, uint32_t b)
{
    return bitwise(l, at, SpvOpBitwiseAnd, a, b);
}

static SpvId shift_left(Lower *l, SpvInst *at, SpvId a, uint32_t by)
{
    return bitwise(l, at, SpvOpShiftLeftLogical, a, by);
}

static SpvId shift_right(Lower *l, SpvInst *at, SpvId a, uint32_t by)
{
    return bitwise(l, at, SpvOpShiftRightLogical, a, by);
}

static SpvId either(Lower *l, SpvInst *at, SpvId a, SpvId b)
{
    return BUILD(l, at, SpvOpBitwiseOr, build_u32(l), a, b);
}

static SpvId f32_type(Lower *l) { return spv_float_type(l->m, 32); }

static SpvId to_bits(Lower *l, SpvInst *at, SpvId f32)
{
    return BUILD(l, at, SpvOpBitcast, build_u32(l), f32);
}

static SpvId from_bits(Lower *l, SpvInst *at, SpvId bits)
{
    return BUILD(l, at, SpvOpBitcast, f32_type(l), bits);
}

/* ---- formats --------------------------------------------------------------------------------- */

static uint32_t fraction_of(const SpvType *t)
{
    return t->format == SPV_IEEE ? 10 : spv_float_info(t->format)->fraction;
}

static uint32_t bias_of(const SpvType *t) { return (1u << (t->bits - 2 - fraction_of(t))) - 1; }

/* The code that is no number any more: e4m3 has no infinity, and one NaN (OCP 8-bit Floating Point
 * Specification, 5.1). */
static uint32_t overflow_of(const SpvType *t)
{
    uint32_t sign = 1u << (t->bits - 1);
    return t->format == SPV_E4M3 ? sign - 1 : sign - (1u << fraction_of(t));
}

/* ---- to f32 ---------------------------------------------------------------------------------- */

SpvId small_widen(Lower *l, SpvInst *at, const SpvType *t, SpvId bits)
{
    SpvId f32 = f32_type(l);
    if (t->format == SPV_BF16)
        return from_bits(l, at, shift_left(l, at, bits, 16));
    uint32_t fraction = fraction_of(t), bias = bias_of(t), minus = 1u << (t->bits - 1);
    SpvId sign = shift_left(l, at, mask(l, at, bits, minus), 32 - t->bits);
    SpvId low = mask(l, at, bits, minus - 1);
    SpvId normal =
        build_add(l, at, shift_left(l, at, low, 23 - fraction), build_const(l, (127 - bias) << 23));
    /* below the normal numbers: so many of the smallest one, as f32 that are normal */
    SpvId step = spv_number_constant(l->m, f32, (127 + 1 - bias - fraction) << 23);
    SpvId small = BUILD(l, at, SpvOpConvertUToF, f32, low);
    small = to_bits(l, at, BUILD(l, at, SpvOpFMul, f32, small, step));
    SpvId is_small = build_less(l, at, low, build_const(l, 1u << fraction));
    SpvId is_number = build_less(l, at, low, build_const(l, overflow_of(t)));
    SpvId number = build_select(l, at, is_small, small, normal);
    SpvId none = bitwise(l, at, SpvOpBitwiseOr, normal, INFINITE);
    return from_bits(l, at, either(l, at, sign, build_select(l, at, is_number, number, none)));
}

static SpvId widen(Lower *l, SpvInst *at, const SpvType *t, SpvId value)
{
    return small_widen(l, at, t, BUILD(l, at, SpvOpUConvert, build_u32(l), value));
}

/* Of the two f32 beside a number that is none, the odd one. */
static SpvId odd_of_f64(Lower *l, SpvInst *at, const SpvType *t, SpvId value)
{
    SpvId boolean = build_bool(l), zero = spv_null_constant(l->m, t->id);
    SpvId single = BUILD(l, at, SpvOpFConvert, f32_type(l), value);
    SpvId back = BUILD(l, at, SpvOpFConvert, t->id, single), bits = to_bits(l, at, single);
    SpvId less = BUILD(l, at, SpvOpFOrdLessThan, boolean, back, value);
    SpvId positive = BUILD(l, at, SpvOpFOrdLessThan, boolean, zero, value);
    SpvId nearer_zero = BUILD(l, at, SpvOpLogicalEqual, boolean, less, positive);
    SpvId to = build_select(l, at, nearer_zero, build_const(l, 1), build_const(l, UINT32_MAX));
    SpvId inexact = BUILD(l, at, SpvOpFOrdNotEqual, boolean, back, value);
    SpvId even = build_less(l, at, mask(l, at, bits, 1), build_const(l, 1));
    SpvId moves = BUILD(l, at, SpvOpLogicalAnd, boolean, inexact, even);
    return from_bits(l, at, build_select(l, at, moves, build_add(l, at, bits, to), bits));
}

/* The same: where an integer has more bits than f32, those below become one that stays. */
static SpvId odd_of_integer(Lower *l, SpvInst *at, const SpvType *t, SpvId x)
{
    SpvModule *m = l->m;
    for (uint32_t s = 8; s + 24 <= t->bits; s += 8) {
        uint64_t below = (UINT64_C(1) << s) - 1;
        SpvId rest = spv_int_constant(m, t->id, below), high = spv_int_constant(m, t->id, ~below);
        SpvId one = spv_int_constant(m, t->id, below + 1);
        SpvId few = spv_int_constant(m, t->id, UINT64_C(1) << (s + 16));
        SpvId low = BUILD(l, at, SpvOpBitwiseAnd, t->id, x, rest);
        SpvId sticks = BUILD(l, at, SpvOpIAdd, t->id, low, rest);
        sticks = BUILD(l, at, SpvOpBitwiseAnd, t->id, sticks, one);
        SpvId kept = BUILD(l, at, SpvOpBitwiseAnd, t->id, x, high);
        kept = BUILD(l, at, SpvOpBitwiseOr, t->id, kept, sticks);
        x = build_select(l, at, build_less(l, at, x, few), x, kept);
    }
    return BUILD(l, at, SpvOpConvertUToF, f32_type(l), x);
}

static SpvId of_integer(Lower *l, SpvInst *at, bool is_signed, SpvId value)
{
    const SpvType *t = spv_type_of(l->m, value);
    SpvId zero = spv_null_constant(l->m, t->id), f32 = f32_type(l);
    if (!is_signed)
        return odd_of_integer(l, at, t, value);
    SpvId negative = BUILD(l, at, SpvOpSLessThan, build_bool(l), value, zero);
    SpvId minus = BUILD(l, at, SpvOpSNegate, t->id, value);
    SpvId x = odd_of_integer(l, at, t, build_select(l, at, negative, minus, value));
    return build_select(l, at, negative, BUILD(l, at, SpvOpFNegate, f32, x), x);
}

SpvId small_as_f32(Lower *l, SpvInst *at, uint16_t op, SpvId value)
{
    const SpvType *t = spv_type_of(l->m, value);
    if (t->kind == SPV_INT)
        return of_integer(l, at, op == SpvOpConvertSToF, value);
    if (lower_lacks_float(l, t))
        return widen(l, at, t, value);
    if (t->bits == 64)
        return odd_of_f64(l, at, t, value);
    return t->id == f32_type(l) ? value : BUILD(l, at, SpvOpFConvert, f32_type(l), value);
}

/* ---- from f32 -------------------------------------------------------------------------------- */

/* x / 2^by, rounded. */
static SpvId cut(Lower *l, SpvInst *at, const LowerNarrowing *n, SpvId x, SpvId by)
{
    SpvId u32 = build_u32(l), one = build_const(l, 1);
    SpvId kept = BUILD(l, at, SpvOpShiftRightLogical, u32, x, by);
    if (n->towards_zero)
        return kept;
    SpvId half = BUILD(l, at, SpvOpShiftLeftLogical, u32, one, build_sub(l, at, by, one));
    SpvId most = build_add(l, at, build_sub(l, at, half, one), mask(l, at, kept, 1));
    return BUILD(l, at, SpvOpShiftRightLogical, u32, build_add(l, at, x, most), by);
}

/* fp8 has fewer exponents: what is below its normal numbers loses more bits. */
static SpvId encode(Lower *l, SpvInst *at, const LowerNarrowing *n, SpvId magnitude)
{
    uint32_t fraction = fraction_of(n->to), overflow = overflow_of(n->to);
    SpvId least = build_const(l, 127 + 1 - bias_of(n->to));
    SpvId exponent = shift_right(l, at, magnitude, 23);
    SpvId taken = build_select(l, at, build_less(l, at, exponent, least), least, exponent);
    SpvId by = build_add(l, at, build_sub(l, at, taken, exponent), build_const(l, 23 - fraction));
    SpvId significand = mask(l, at, magnitude, 0x7fffff);
    significand = bitwise(l, at, SpvOpBitwiseOr, significand, 0x800000);
    SpvId kept = cut(l, at, n, significand, build_min(l, at, by, 25));
    SpvId code = shift_left(l, at, build_sub(l, at, taken, least), fraction);
    code = build_add(l, at, code, kept);
    if (n->saturates)
        return build_min(l, at, code, overflow - 1);
    if (!n->towards_zero)
        return build_min(l, at, code, overflow);
    SpvId finite = build_less(l, at, magnitude, build_const(l, INFINITE));
    SpvId most = build_min(l, at, code, overflow - 1);
    return build_select(l, at, finite, most, build_const(l, overflow));
}

/* bf16 is the upper half of f32: what is rounded up carries into it, at most up to infinity. */
static SpvId narrow_half(Lower *l, SpvInst *at, const LowerNarrowing *n, SpvId bits)
{
    SpvId kept = bits;
    if (!n->towards_zero) {
        SpvId odd = mask(l, at, shift_right(l, at, bits, 16), 1);
        kept = build_add(l, at, build_add(l, at, bits, build_const(l, 0x7fff)), odd);
    }
    SpvId nan = bitwise(l, at, SpvOpBitwiseOr, bits, 0x400000);
    SpvId is_nan = build_less(l, at, build_const(l, INFINITE), mask(l, at, bits, MAGNITUDE));
    return shift_right(l, at, build_select(l, at, is_nan, nan, kept), 16);
}

/* A NaN keeps the top of its payload, and is quiet. */
SpvId small_narrow(Lower *l, SpvInst *at, const LowerNarrowing *n, SpvId value)
{
    const SpvType *t = n->to;
    uint32_t fraction = fraction_of(t), sign = 1u << (t->bits - 1);
    SpvId bits = to_bits(l, at, value), magnitude = mask(l, at, bits, MAGNITUDE);
    if (t->format == SPV_BF16)
        return narrow_half(l, at, n, bits);
    SpvId code = encode(l, at, n, magnitude);
    SpvId nan = mask(l, at, shift_right(l, at, magnitude, 23 - fraction), sign - 1);
    nan = t->format == SPV_E4M3 ? build_const(l, overflow_of(t))
                                : bitwise(l, at, SpvOpBitwiseOr, nan, 1u << (fraction - 1));
    SpvId is_nan = build_less(l, at, build_const(l, INFINITE), magnitude);
    code = build_select(l, at, is_nan, nan, code);
    SpvId minus = mask(l, at, shift_right(l, at, bits, 32 - t->bits), sign);
    return either(l, at, code, minus);
}

static SpvId narrow(Lower *l, SpvInst *at, const LowerNarrowing *n, SpvId value)
{
    return BUILD(l, at, SpvOpUConvert, n->to->id, small_narrow(l, at, n, value));
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool read_mode(Lower *l, const SpvInst *i, LowerNarrowing *n)
{
    uint32_t words;
    const uint32_t *mode = spv_decoration(l->m, i->id, -1, SpvDecorationFPRoundingMode, &words);
    n->towards_zero = mode && words && *mode == SpvFPRoundingModeRTZ;
    n->saturates = spv_has_decoration(l->m, i->id, -1,
                                      SpvDecorationSaturatedToLargestFloat8NormalConversionEXT);
    if (mode && words && *mode > SpvFPRoundingModeRTZ)
        return lower_refuse(l, i,
                            "it is rounded neither to nearest nor towards zero "
                            "(VUID-StandaloneSpirv-FPRoundingMode-04675)");
    return true;
}

static SpvId convert_one(Lower *l, SpvInst *i, const LowerNarrowing *n, SpvId value)
{
    SpvId x = small_as_f32(l, i, i->op, value);
    if (lower_lacks_float(l, n->to))
        return narrow(l, i, n, x);
    bool is_f32 = n->to->id == f32_type(l);
    return is_f32 ? x : BUILD(l, i, i->op, n->to->id, x); /* to f16, f64, an integer */
}

static void convert(Lower *l, SpvInst *i)
{
    const SpvType *t = spv_type(l->m, i->type), *from = spv_type_of(l->m, spv_operand(i, 0));
    LowerNarrowing n = { .to = lower_scalar(t) };
    if (!(lower_lacks_float(l, n.to) || lower_lacks_float(l, lower_scalar(from))) ||
        !read_mode(l, i, &n))
        return;
    lower_note(l, i, "integer arithmetic");
    lower_undecorate(l, i->id);
    if (t->kind != SPV_VECTOR) {
        build_replace(l, i, convert_one(l, i, &n, spv_operand(i, 0)));
        return;
    }
    SpvId *parts = NEW_ARRAY(l->scratch, SpvId, t->count);
    for (uint32_t k = 0; k < t->count; k++)
        parts[k] = convert_one(
            l, i, &n, BUILD(l, i, SpvOpCompositeExtract, from->element->id, spv_operand(i, 0), k));
    edit_become(l->m, i, SpvOpCompositeConstruct, parts, t->count);
}

/* Of bf16, whose products are exact in f32. */
static void multiply_vectors(Lower *l, SpvInst *i)
{
    const SpvType *t = spv_type(l->m, i->type), *v = spv_type_of(l->m, spv_operand(i, 0));
    LowerNarrowing n = { .to = t };
    SpvId f32 = f32_type(l), sum = 0;
    bool lacks = lower_lacks_float(l, t);
    if (t->format != SPV_BF16 || (!lacks && l->profile->features & PROFILE_HAS_BFLOAT16_DOT))
        return;
    for (uint32_t k = 0; k < v->count; k++) {
        SpvId x[2];
        for (uint32_t o = 0; o < 2; o++) {
            x[o] = BUILD(l, i, SpvOpCompositeExtract, t->id, spv_operand(i, o), k);
            x[o] = lacks ? widen(l, i, t, x[o]) : BUILD(l, i, SpvOpFConvert, f32, x[o]);
        }
        SpvId product = BUILD(l, i, SpvOpFMul, f32, x[0], x[1]);
        sum = sum ? BUILD(l, i, SpvOpFAdd, f32, sum, product) : product;
    }
    lower_note(l, i, "sums in f32");
    lower_undecorate(l, i->id);
    build_replace(l, i, lacks ? narrow(l, i, &n, sum) : BUILD(l, i, SpvOpFConvert, t->id, sum));
}

static void visit(Lower *l, SpvInst *i)
{
    switch (i->op) {
    case SpvOpFConvert:
    case SpvOpConvertFToU:
    case SpvOpConvertFToS:
    case SpvOpConvertSToF:
    case SpvOpConvertUToF: convert(l, i); return;
    case SpvOpDot: multiply_vectors(l, i); return;
    default: return;
    }
}

/* ---- types ----------------------------------------------------------------------------------- */

static void become_integer(Lower *l, SpvInst *i, const SpvType *t)
{
    const SpvType *integer = spv_type(l->m, spv_int_type(l->m, t->bits, false));
    lower_uses(l, integer);
    l->types_used &= ~(uint32_t)(t->format == SPV_BF16 ? PROFILE_HAS_BFLOAT16 : PROFILE_HAS_FLOAT8);
    spv_replace_uses(l->m, t->id, integer->id);
    edit_remove(l->m, i);
}

/* Two types that are no aggregates are not the same (SPIR-V 2.8). */
static bool is_unique(uint16_t op)
{
    return op == SpvOpTypeVector || op == SpvOpTypeVectorIdEXT || op == SpvOpTypeFunction;
}

static bool is_same(const SpvInst *a, const SpvInst *b)
{
    uint32_t n = spv_n_operands(a);
    return a->op == b->op && n == spv_n_operands(b) &&
           !memcmp(a->words + a->first_operand, b->words + b->first_operand, n * sizeof *a->words);
}

/* True where there was another one. */
static bool merge_into(SpvModule *m, const SpvInst *kept)
{
    for (SpvInst *i = kept->next; i; i = i->next)
        if (is_same(kept, i)) {
            spv_replace_uses(m, i->id, kept->id);
            edit_remove(m, i);
            return true;
        }
    return false;
}

void lower_merge_types(SpvModule *m)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (SpvInst *i = m->globals.first; i; i = i->next)
            while (is_unique(i->op) && merge_into(m, i))
                changed = true;
    }
}

static void drop_casts(Lower *l, SpvInst *i)
{
    const SpvType *from = i->op == SpvOpBitcast ? spv_type_of(l->m, spv_operand(i, 0)) : NULL;
    if (from && from->id == i->type)
        build_replace(l, i, spv_operand(i, 0));
}

static bool has_any(Lower *l)
{
    bool dots = edit_find_capability(l->m, SpvCapabilityBFloat16DotProductKHR);
    bool any = dots && !(l->profile->features & PROFILE_HAS_BFLOAT16_DOT);
    for (SpvInst *i = l->m->globals.first; i; i = i->next)
        any |= i->op == SpvOpTypeFloat && lower_lacks_float(l, spv_type(l->m, i->id));
    return any;
}

void small_floats(Lower *l)
{
    if (!has_any(l))
        return;
    lower_each(l, visit);
    for (SpvInst *i = l->m->globals.first, *next; i && !l->failed; i = next) {
        next = i->next;
        if (i->op == SpvOpTypeFloat && lower_lacks_float(l, spv_type(l->m, i->id)))
            become_integer(l, i, spv_type(l->m, i->id));
    }
    lower_merge_types(l->m);
    spv_forget_types(l->m);
    lower_each(l, drop_casts);
}
