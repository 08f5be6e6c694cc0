/* SPDX-License-Identifier: MIT
 *
 * small_numbers: integers of 8 and 16 bits and f16 that the target does not calculate in. In: a
 * module without matrices of them. Out: values, and the memory of functions and workgroups, have
 * numbers of 32 bits in their place: integers extended by their type's sign, f32 that f16 holds.
 * What is calculated is cut off or rounded to what the type has. Buffers keep their types; what is
 * loaded and stored there is converted at once, which is all that Vulkan's features of storage
 * alone permit (small_memory.c).
 */
#include "lower/internal.h"

#include <ctype.h>

enum { AS_IS = 1, SIGNED, UNSIGNED, MOVED };

/* How operands are read; what is moved only changes its type. Of others nothing is known. */
static const struct {
    uint16_t op, how;
} rows[] = {
    { SpvOpLoad, MOVED },
    { SpvOpStore, MOVED },
    { SpvOpCopyMemory, MOVED },
    { SpvOpAccessChain, MOVED },
    { SpvOpInBoundsAccessChain, MOVED },
    { SpvOpVariable, MOVED },
    { SpvOpUndef, MOVED },
    { SpvOpPhi, MOVED },
    { SpvOpSelect, MOVED },
    { SpvOpSwitch, MOVED },
    { SpvOpFunctionCall, MOVED },
    { SpvOpFunctionParameter, MOVED },
    { SpvOpReturnValue, MOVED },
    { SpvOpCopyObject, MOVED },
    { SpvOpCopyLogical, MOVED },
    { SpvOpCompositeConstruct, MOVED },
    { SpvOpCompositeExtract, MOVED },
    { SpvOpCompositeInsert, MOVED },
    { SpvOpVectorShuffle, MOVED },
    { SpvOpVectorExtractDynamic, MOVED },
    { SpvOpVectorInsertDynamic, MOVED },
    { SpvOpFNegate, MOVED },
    { SpvOpIsNan, MOVED },
    { SpvOpIsInf, MOVED },
    { SpvOpFOrdEqual, MOVED },
    { SpvOpFUnordEqual, MOVED },
    { SpvOpFOrdNotEqual, MOVED },
    { SpvOpFUnordNotEqual, MOVED },
    { SpvOpFOrdLessThan, MOVED },
    { SpvOpFUnordLessThan, MOVED },
    { SpvOpFOrdGreaterThan, MOVED },
    { SpvOpFUnordGreaterThan, MOVED },
    { SpvOpFOrdLessThanEqual, MOVED },
    { SpvOpFUnordLessThanEqual, MOVED },
    { SpvOpFOrdGreaterThanEqual, MOVED },
    { SpvOpFUnordGreaterThanEqual, MOVED },
    { SpvOpGroupNonUniformAllEqual, MOVED },
    { SpvOpGroupNonUniformBroadcast, MOVED },
    { SpvOpGroupNonUniformBroadcastFirst, MOVED },
    { SpvOpGroupNonUniformShuffle, MOVED },
    { SpvOpGroupNonUniformShuffleXor, MOVED },
    { SpvOpGroupNonUniformShuffleUp, MOVED },
    { SpvOpGroupNonUniformShuffleDown, MOVED },
    { SpvOpGroupNonUniformRotateKHR, MOVED },
    { SpvOpGroupNonUniformQuadBroadcast, MOVED },
    { SpvOpGroupNonUniformQuadSwap, MOVED },
    { SpvOpFAdd, AS_IS },
    { SpvOpFSub, AS_IS },
    { SpvOpFMul, AS_IS },
    { SpvOpFDiv, AS_IS },
    { SpvOpFRem, AS_IS },
    { SpvOpFMod, AS_IS },
    { SpvOpDot, AS_IS },
    { SpvOpVectorTimesScalar, AS_IS },
    { SpvOpSNegate, AS_IS },
    { SpvOpNot, AS_IS },
    { SpvOpIAdd, AS_IS },
    { SpvOpISub, AS_IS },
    { SpvOpIMul, AS_IS },
    { SpvOpBitwiseAnd, AS_IS },
    { SpvOpBitwiseOr, AS_IS },
    { SpvOpBitwiseXor, AS_IS },
    { SpvOpShiftLeftLogical, UNSIGNED },
    { SpvOpShiftRightLogical, UNSIGNED },
    { SpvOpShiftRightArithmetic, SIGNED },
    { SpvOpUDiv, UNSIGNED },
    { SpvOpUMod, UNSIGNED },
    { SpvOpSDiv, SIGNED },
    { SpvOpSRem, SIGNED },
    { SpvOpSMod, SIGNED },
    { SpvOpIEqual, UNSIGNED },
    { SpvOpINotEqual, UNSIGNED },
    { SpvOpULessThan, UNSIGNED },
    { SpvOpULessThanEqual, UNSIGNED },
    { SpvOpUGreaterThan, UNSIGNED },
    { SpvOpUGreaterThanEqual, UNSIGNED },
    { SpvOpSLessThan, SIGNED },
    { SpvOpSLessThanEqual, SIGNED },
    { SpvOpSGreaterThan, SIGNED },
    { SpvOpSGreaterThanEqual, SIGNED },
    { SpvOpGroupNonUniformFAdd, AS_IS },
    { SpvOpGroupNonUniformFMul, AS_IS },
    { SpvOpGroupNonUniformFMin, AS_IS },
    { SpvOpGroupNonUniformFMax, AS_IS },
    { SpvOpGroupNonUniformIAdd, AS_IS },
    { SpvOpGroupNonUniformIMul, AS_IS },
    { SpvOpGroupNonUniformSMin, SIGNED },
    { SpvOpGroupNonUniformSMax, SIGNED },
    { SpvOpGroupNonUniformUMin, UNSIGNED },
    { SpvOpGroupNonUniformUMax, UNSIGNED },
    { SpvOpGroupNonUniformBitwiseAnd, AS_IS },
    { SpvOpGroupNonUniformBitwiseOr, AS_IS },
    { SpvOpGroupNonUniformBitwiseXor, AS_IS },
};

/* ---- types ----------------------------------------------------------------------------------- */

bool small_holds(const Lower *l, const SpvType *t, bool (*is)(const Lower *, const SpvType *))
{
    if (t->kind == SPV_VECTOR || t->kind == SPV_MATRIX || t->kind == SPV_ARRAY ||
        t->kind == SPV_RUNTIME_ARRAY)
        return small_holds(l, t->element, is);
    for (uint32_t k = 0; t->kind == SPV_STRUCT && k < t->count; k++)
        if (small_holds(l, t->members[k], is))
            return true;
    return is(l, t);
}

static uint64_t grown(const Lower *l, const SpvType *t)
{
    uint64_t all = 0;
    if (t->kind == SPV_VECTOR || t->kind == SPV_MATRIX || t->kind == SPV_ARRAY)
        return t->count * grown(l, t->element);
    for (uint32_t k = 0; t->kind == SPV_STRUCT && k < t->count; k++)
        all += align_up(grown(l, t->members[k]), t->members[k]->align);
    return t->kind == SPV_STRUCT ? all : lower_is_small(l, t) ? 4 : t->size;
}

uint64_t lower_size(const Lower *l, const SpvType *t)
{
    return small_holds(l, t, lower_is_small) ? grown(l, t) : t->size;
}

bool small_is_own(uint32_t storage)
{
    return storage == SpvStorageClassFunction || storage == SpvStorageClassPrivate ||
           storage == SpvStorageClassWorkgroup;
}

/* A declaration once more, of other types: not as it lies in memory. */
static SpvId declare_again(LowerSmall *s, SpvId type)
{
    SpvModule *m = s->l->m;
    const SpvInst *def = spv_def(m, type);
    uint32_t n = spv_n_operands(def), types = def->op == SpvOpTypeArray ? 1 : n;
    uint32_t *x = arena_copy(s->l->scratch, def->words + def->first_operand, n * sizeof *x);
    bool changed = false;
    for (uint32_t k = 0; k < types; k++) {
        SpvId now = small_value(s, x[k]);
        changed |= now != x[k];
        x[k] = now;
    }
    if (!changed)
        return type;
    SpvInst *again = spv_make(m, def->op, 0, spv_new_id(m), x, n);
    spv_append_global(m, again);
    return again->id;
}

static SpvId value_of(LowerSmall *s, SpvId type)
{
    Lower *l = s->l;
    const SpvType *t = spv_type(l->m, type);
    switch (t->kind) {
    case SPV_INT: return lower_is_small(l, t) ? spv_int_type(l->m, 32, t->is_signed) : type;
    case SPV_FLOAT: return lower_is_small(l, t) ? spv_float_type(l->m, 32) : type;
    case SPV_VECTOR: return spv_vector_type(l->m, small_value(s, t->element->id), t->count);
    case SPV_POINTER:
        return small_is_own(t->storage) && t->element
                   ? spv_pointer_type(l->m, t->storage, small_value(s, t->element->id))
                   : type;
    case SPV_ARRAY:
    case SPV_STRUCT:
    case SPV_FUNCTION: return declare_again(s, type);
    default: return type;
    }
}

SpvId small_value(LowerSmall *s, SpvId type)
{
    if (type >= s->n)
        return type;
    if (!s->value[type])
        s->value[type] = value_of(s, type);
    return s->value[type];
}

static void retype(LowerSmall *s, SpvInst *i)
{
    if (i->type)
        i->type = i->words[1] = small_value(s, i->type);
}

static const SpvType *old_type(const LowerSmall *s, SpvId id)
{
    return id < s->n ? s->old[id] : NULL;
}

static bool was_small(const LowerSmall *s, SpvId id)
{
    const SpvType *t = lower_scalar(old_type(s, id));
    return t && lower_is_small(s->l, t);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const SpvType *f32_type(Lower *l) { return spv_type(l->m, spv_float_type(l->m, 32)); }

static SpvId cast(Lower *l, SpvInst *at, SpvId type, SpvId value)
{
    return spv_def(l->m, value)->type == type ? value : BUILD(l, at, SpvOpBitcast, type, value);
}

/* The lowest bits of an integer, or several, by a sign. */
static SpvId cut(Lower *l, SpvInst *at, SpvId value, uint32_t bits, bool is_signed)
{
    return BUILD(l, at, is_signed ? SpvOpBitFieldSExtract : SpvOpBitFieldUExtract,
                 spv_def(l->m, value)->type, value, build_const(l, 0), build_const(l, bits));
}

/* f32 that f16 holds. */
static SpvId rounded(LowerSmall *s, SpvInst *at, bool towards_zero, SpvId value)
{
    const SpvType *f16 = spv_type(s->l->m, spv_float_type(s->l->m, 16));
    LowerNarrowing n = { .to = f16, .towards_zero = towards_zero };
    return small_widen(s->l, at, f16, small_narrow(s->l, at, &n, value));
}

typedef SpvId (*OneFn)(LowerSmall *s, SpvInst *at, SpvId value, const void *user);

/* Of each component of a value, which become that of type `to`. */
static SpvId by_component(LowerSmall *s, SpvInst *at, SpvId to, SpvId value, OneFn one,
                          const void *user)
{
    SpvModule *m = s->l->m;
    const SpvType *t = spv_type_of(m, value);
    SpvId parts[16];
    if (t->kind != SPV_VECTOR)
        return one(s, at, value, user);
    for (uint32_t k = 0; k < t->count && k < COUNT_OF(parts); k++)
        parts[k] =
            one(s, at, BUILD(s->l, at, SpvOpCompositeExtract, t->element->id, value, k), user);
    return build(s->l, at, SpvOpCompositeConstruct, to, parts, t->count);
}

static SpvId round_one(LowerSmall *s, SpvInst *at, SpvId value, const void *user)
{
    return rounded(s, at, *(const bool *)user, value);
}

/* What was calculated in 32 bits, as the type has it that the result was of. */
static SpvId fit(LowerSmall *s, SpvInst *at, const SpvType *was, SpvId value)
{
    const SpvType *t = lower_scalar(was);
    if (!lower_is_small(s->l, t))
        return value;
    if (t->kind == SPV_INT)
        return cut(s->l, at, value, t->bits, t->is_signed);
    return by_component(s, at, spv_def(s->l->m, value)->type, value, round_one, &s->towards_zero);
}

/* An operand, its bits above read as the instruction does. */
static SpvId read_as(LowerSmall *s, SpvInst *at, SpvId id, uint32_t how)
{
    const SpvType *t = was_small(s, id) ? lower_scalar(old_type(s, id)) : NULL;
    bool other = t && t->kind == SPV_INT &&
                 ((how == SIGNED && !t->is_signed) || (how == UNSIGNED && t->is_signed));
    return other ? cut(s->l, at, id, t->bits, how == SIGNED) : id;
}

SpvId small_encode(LowerSmall *s, SpvInst *at, const SpvType *t, SpvId value)
{
    Lower *l = s->l;
    SpvId u32 = build_u32(l);
    if (t->bits == 32)
        return cast(l, at, u32, value);
    if (!lower_is_small(l, t))
        lower_uses(l, t);
    if (t->kind == SPV_INT) {
        if (!lower_is_small(l, t))
            value = BUILD(l, at, SpvOpUConvert, u32,
                          cast(l, at, spv_int_type(l->m, t->bits, false), value));
        return cut(l, at, cast(l, at, u32, value), t->bits, false);
    }
    LowerNarrowing n = { .to = t };
    if (!lower_is_small(l, t))
        value = BUILD(l, at, SpvOpFConvert, f32_type(l)->id, value);
    return small_narrow(l, at, &n, value);
}

SpvId small_decode(LowerSmall *s, SpvInst *at, const SpvType *t, SpvId bits)
{
    Lower *l = s->l;
    if (t->bits == 32)
        return cast(l, at, t->id, bits);
    if (!lower_is_small(l, t))
        lower_uses(l, t);
    if (t->kind == SPV_FLOAT) {
        SpvId value = small_widen(l, at, t, bits);
        return lower_is_small(l, t) ? value : BUILD(l, at, SpvOpFConvert, t->id, value);
    }
    if (!lower_is_small(l, t))
        return cast(l, at, t->id,
                    BUILD(l, at, SpvOpUConvert, spv_int_type(l->m, t->bits, false), bits));
    return cut(l, at, cast(l, at, small_value(s, t->id), bits), t->bits, t->is_signed);
}

/* ---- conversions ----------------------------------------------------------------------------- */

typedef struct Conversion {
    uint16_t op;
    const SpvType *from, *to; /* scalars, as they were */
    bool towards_zero;
    bool stored; /* that rounds it */
} Conversion;

static SpvId to_float(LowerSmall *s, SpvInst *at, SpvId value, const Conversion *c)
{
    Lower *l = s->l;
    bool of_integer = c->op != SpvOpFConvert;
    if (c->from->bits == 16 && c->from->kind == SPV_FLOAT && c->from->format == SPV_IEEE &&
        lower_is_small(l, c->to))
        return value;
    if (lower_is_small(l, c->to) && c->stored)
        return small_as_f32(l, at, c->op, value);
    if (lower_is_small(l, c->to))
        return rounded(s, at, c->towards_zero, small_as_f32(l, at, c->op, value));
    if (!of_integer && spv_def(l->m, value)->type == c->to->id)
        return value;
    return BUILD(l, at, c->op, c->to->id, value);
}

static SpvId to_integer(LowerSmall *s, SpvInst *at, SpvId value, const Conversion *c)
{
    Lower *l = s->l;
    bool small = lower_is_small(l, c->to),
         resizes = c->op == SpvOpUConvert || c->op == SpvOpSConvert;
    const SpvType *to = spv_type(l->m, small_value(s, c->to->id)), *from = spv_type_of(l->m, value);
    if (!resizes || from->bits != to->bits)
        value = BUILD(l, at, c->op, to->id, value);
    value = cast(l, at, to->id, value);
    return small ? cut(l, at, value, c->to->bits, c->to->is_signed) : value;
}

static SpvId convert_one(LowerSmall *s, SpvInst *at, SpvId value, const void *user)
{
    const Conversion *c = user;
    return c->to->kind == SPV_FLOAT ? to_float(s, at, value, c) : to_integer(s, at, value, c);
}

static bool is_conversion(uint16_t op)
{
    return op == SpvOpFConvert || op == SpvOpUConvert || op == SpvOpSConvert ||
           op == SpvOpConvertFToS || op == SpvOpConvertFToU || op == SpvOpConvertSToF ||
           op == SpvOpConvertUToF;
}

static void convert(LowerSmall *s, SpvInst *i)
{
    SpvId x = spv_operand(i, 0);
    uint32_t words;
    const uint32_t *mode = spv_decoration(s->l->m, i->id, -1, SpvDecorationFPRoundingMode, &words);
    bool is_signed = i->op == SpvOpSConvert || i->op == SpvOpConvertSToF;
    Conversion c = { .op = i->op,
                     .from = lower_scalar(old_type(s, x)),
                     .to = lower_scalar(old_type(s, i->id)),
                     .towards_zero = s->towards_zero };
    if (mode && words)
        c.towards_zero = *mode == SpvFPRoundingModeRTZ;
    c.stored = !c.towards_zero && !s->used[i->id];
    if (c.from->kind == SPV_INT)
        x = read_as(s, i, x, is_signed ? SIGNED : UNSIGNED);
    retype(s, i);
    lower_undecorate(s->l, i->id);
    build_replace(s->l, i, by_component(s, i, i->type, x, convert_one, &c));
}

/* ---- bit casts ------------------------------------------------------------------------------- */

static SpvId component(Lower *l, SpvInst *at, SpvId value, uint32_t k)
{
    const SpvType *t = spv_type_of(l->m, value);
    return t->kind == SPV_VECTOR ? BUILD(l, at, SpvOpCompositeExtract, t->element->id, value, k)
                                 : value;
}

/* The value's bits, `unit` of them in a u32 each. Returns how many there are. */
static uint32_t take_bits(LowerSmall *s, SpvInst *at, SpvId value, uint32_t unit, SpvId *out)
{
    Lower *l = s->l;
    const SpvType *was = old_type(s, value), *t = lower_scalar(was);
    uint32_t n = was->kind == SPV_VECTOR ? was->count : 1, words = t->bits > 32 ? 2 : 1, count = 0;
    SpvId two = words > 1 ? spv_vector_type(l->m, build_u32(l), 2) : 0;
    for (uint32_t k = 0; k < n; k++) {
        SpvId x = component(l, at, value, k);
        x = two ? cast(l, at, two, x) : small_encode(s, at, t, x);
        for (uint32_t w = 0; w < words; w++) {
            SpvId word = component(l, at, x, w);
            for (uint32_t first = 0; first < MIN(t->bits, 32); first += unit)
                out[count++] = unit == MIN(t->bits, 32)
                                   ? word
                                   : BUILD(l, at, SpvOpBitFieldUExtract, build_u32(l), word,
                                           build_const(l, first), build_const(l, unit));
        }
    }
    return count;
}

static SpvId join(Lower *l, SpvInst *at, const SpvId *units, uint32_t n, uint32_t unit)
{
    SpvId word = units[0], u32 = build_u32(l);
    for (uint32_t k = 1; k < n; k++) {
        SpvId high = BUILD(l, at, SpvOpShiftLeftLogical, u32, units[k], build_const(l, k * unit));
        word = BUILD(l, at, SpvOpBitwiseOr, u32, word, high);
    }
    return word;
}

static void bit_cast(LowerSmall *s, SpvInst *i)
{
    enum { MOST = 64 };
    Lower *l = s->l;
    const SpvType *was = old_type(s, i->id), *t = lower_scalar(was),
                  *from = lower_scalar(old_type(s, spv_operand(i, 0)));
    uint32_t n = was->kind == SPV_VECTOR ? was->count : 1, unit = MIN(t->bits, from->bits);
    uint32_t words = t->bits > 32 ? 2 : 1, each = t->bits / words / unit;
    SpvId units[MOST], parts[16], word[2];
    take_bits(s, i, spv_operand(i, 0), unit, units);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t w = 0; w < words; w++)
            word[w] = join(l, i, units + (k * words + w) * each, each, unit);
        SpvId two = words > 1 ? spv_vector_type(l->m, build_u32(l), 2) : 0;
        parts[k] = two ? BUILD(l, i, SpvOpBitcast, t->id,
                               build(l, i, SpvOpCompositeConstruct, two, word, 2))
                       : small_decode(s, i, t, word[0]);
    }
    retype(s, i);
    build_replace(l, i,
                  n == 1 && was->kind != SPV_VECTOR
                      ? parts[0]
                      : build(l, i, SpvOpCompositeConstruct, i->type, parts, n));
}

/* ---- integer dot products -------------------------------------------------------------------- */

typedef struct Dot {
    const SpvType *sum; /* is summed up in */
    bool is_signed[3], saturates;
} Dot;

static bool open_dot(const SpvInst *i, Dot *d)
{
    bool s = i->op == SpvOpSDot || i->op == SpvOpSDotAccSat;
    bool u = i->op == SpvOpUDot || i->op == SpvOpUDotAccSat;
    bool mixed = i->op == SpvOpSUDot || i->op == SpvOpSUDotAccSat;
    *d = (Dot){ .is_signed = { !u, s, !u } };
    d->saturates =
        i->op == SpvOpSDotAccSat || i->op == SpvOpUDotAccSat || i->op == SpvOpSUDotAccSat;
    return s || u || mixed;
}

/* A number as one of the sum's type. */
static SpvId widened(LowerSmall *s, SpvInst *at, const Dot *d, SpvId value, bool is_signed)
{
    const SpvType *t = spv_type_of(s->l->m, value);
    uint16_t op = is_signed ? SpvOpSConvert : SpvOpUConvert;
    return t->bits == d->sum->bits ? cast(s->l, at, d->sum->id, value)
                                   : BUILD(s->l, at, op, d->sum->id, value);
}

/* Of the sum's own width an overflow shows: it is on the wrong side of what was added to. */
static SpvId saturated(LowerSmall *s, SpvInst *at, const Dot *d, const SpvType *to, SpvId x[2])
{
    Lower *l = s->l;
    bool is_signed = d->is_signed[2];
    SpvId type = d->sum->id, b = build_bool(l), sum = BUILD(l, at, SpvOpIAdd, type, x[0], x[1]);
    uint64_t most = (is_signed ? UINT64_C(1) << (to->bits - 1) : 0) - 1;
    SpvId high = spv_int_constant(
        l->m, type, to->bits < 64 && !is_signed ? (UINT64_C(1) << to->bits) - 1 : most);
    SpvId low = spv_int_constant(l->m, type, is_signed ? ~most : 0);
    if (to->bits < d->sum->bits) {
        uint16_t less = is_signed ? SpvOpSLessThan : SpvOpULessThan;
        sum = build_select(l, at, BUILD(l, at, less, b, high, sum), high, sum);
        return is_signed ? build_select(l, at, BUILD(l, at, less, b, sum, low), low, sum) : sum;
    }
    if (!is_signed)
        return build_select(l, at, BUILD(l, at, SpvOpULessThan, b, sum, x[0]), high, sum);
    SpvId zero = spv_int_constant(l->m, type, 0);
    SpvId up = BUILD(l, at, SpvOpSLessThan, b, sum, x[0]);
    SpvId down = BUILD(l, at, SpvOpSLessThan, b, x[0], sum);
    return build_select(l, at, BUILD(l, at, SpvOpSLessThan, b, x[1], zero),
                        build_select(l, at, down, low, sum), build_select(l, at, up, high, sum));
}

/* Products of components, in 32 bits, or 64 where the result has them; operands that are packed in
 * words stay, of a result that is small. */
static void multiply_vectors(LowerSmall *s, SpvInst *i, const Dot *given)
{
    Lower *l = s->l;
    Dot d = *given;
    const SpvType *was = old_type(s, i->id), *v = old_type(s, spv_operand(i, 0));
    SpvId sum = 0, x[2], acc = d.saturates ? spv_operand(i, 2) : 0;
    d.sum = spv_type(l->m, spv_int_type(l->m, was->bits == 64 ? 64 : 32, d.is_signed[2]));
    for (uint32_t k = 0; v->kind == SPV_VECTOR && k < v->count; k++) {
        for (uint32_t o = 0; o < 2; o++) {
            SpvId value = read_as(s, i, spv_operand(i, o), d.is_signed[o] ? SIGNED : UNSIGNED);
            x[o] = widened(s, i, &d, component(l, i, value, k), d.is_signed[o]);
        }
        SpvId product = BUILD(l, i, SpvOpIMul, d.sum->id, x[0], x[1]);
        sum = sum ? BUILD(l, i, SpvOpIAdd, d.sum->id, sum, product) : product;
    }
    if (!sum) {
        uint16_t op = d.is_signed[1] ? SpvOpSDot : d.is_signed[0] ? SpvOpSUDot : SpvOpUDot;
        sum = BUILD(l, i, op, d.sum->id, spv_operand(i, 0), spv_operand(i, 1),
                    SpvPackedVectorFormatPackedVectorFormat4x8Bit);
    }
    if (acc) {
        acc = widened(s, i, &d, read_as(s, i, acc, d.is_signed[2] ? SIGNED : UNSIGNED),
                      d.is_signed[2]);
        sum = saturated(s, i, &d, was, (SpvId[]){ sum, acc });
    }
    retype(s, i);
    build_replace(l, i, fit(s, i, was, cast(l, i, i->type, sum)));
}

/* ---- instructions ---------------------------------------------------------------------------- */

static uint32_t how_of(const SpvInst *i)
{
    const SpvExtInst *e =
        i->op == SpvOpExtInst ? spv_ext_inst(i->ext_set, spv_operand(i, 1)) : NULL;
    if (e) /* SMax, FindSMsb; Sqrt and SmoothStep are of floats */
        return strchr(e->name, 'S') && isupper((unsigned char)strchr(e->name, 'S')[1])   ? SIGNED
               : strchr(e->name, 'U') && isupper((unsigned char)strchr(e->name, 'U')[1]) ? UNSIGNED
                                                                                         : AS_IS;
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        if (rows[k].op == i->op)
            return rows[k].how;
    return 0;
}

static void calculate(LowerSmall *s, SpvInst *i, uint32_t how)
{
    Lower *l = s->l;
    uint16_t at[64];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at)), count = spv_n_operands(i);
    uint32_t *x = NEW_ARRAY(l->scratch, uint32_t, count);
    const SpvType *was = old_type(s, i->id);
    memcpy(x, i->words + i->first_operand, count * sizeof *x);
    for (uint32_t k = 0; k < n && k < COUNT_OF(at); k++)
        x[at[k] - i->first_operand] = read_as(s, i, i->words[at[k]], how);
    retype(s, i);
    SpvId value = build(l, i, i->op, i->type, x, count);
    lower_hand_down(l, i->id, &value, 1);
    lower_undecorate(l, i->id);
    build_replace(l, i, fit(s, i, was, value));
}

/* Its result, or what it uses, are such numbers, or hold some. */
static bool concerns(const LowerSmall *s, const SpvInst *i)
{
    uint16_t at[64];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    const SpvType *t = i->id ? old_type(s, i->id) : NULL;
    if (t && small_holds(s->l, t, lower_is_small))
        return true;
    for (uint32_t k = 0; k < n && k < COUNT_OF(at); k++) {
        t = old_type(s, i->words[at[k]]);
        if (t && small_holds(s->l, t, lower_is_small))
            return true;
    }
    return false;
}

static void visit(LowerSmall *s, SpvInst *i)
{
    if (small_access(s, i) || s->l->failed)
        return;
    if (!concerns(s, i)) {
        retype(s, i);
        return;
    }
    uint32_t how = how_of(i);
    Dot d;
    if (is_conversion(i->op))
        convert(s, i);
    else if (open_dot(i, &d))
        multiply_vectors(s, i, &d);
    else if (i->op == SpvOpBitcast)
        bit_cast(s, i);
    else if (how == MOVED)
        retype(s, i);
    else if (how)
        calculate(s, i, how);
    else
        lower_refuse(s->l, i, "its numbers of 8 or 16 bits want %s, which '%s' lacks",
                     "shaderInt8, shaderInt16 or shaderFloat16", s->l->profile->name);
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void change_constant(LowerSmall *s, SpvInst *i)
{
    const SpvType *t = spv_type(s->l->m, i->type);
    uint32_t *word = &i->words[i->first_operand];
    float wide;
    if (i->op == SpvOpConstant && t->kind == SPV_FLOAT && lower_is_small(s->l, t)) {
        wide = (float)f16_to_double((uint16_t)*word);
        memcpy(word, &wide, sizeof wide);
    }
    retype(s, i);
}

/* The capabilities and modes of what is gone. */
static bool is_of_small(const Lower *l, const SpvInst *i)
{
    static const struct {
        uint32_t capability, unless; /* PROFILE_HAS_* */
    } gone[] = {
        { SpvCapabilityFloat16, PROFILE_HAS_FLOAT16 },
        { SpvCapabilityInt8, PROFILE_HAS_INT8 },
        { SpvCapabilityInt16, PROFILE_HAS_INT16 },
        { SpvCapabilityStorageBuffer8BitAccess, PROFILE_HAS_STORAGE8 },
        { SpvCapabilityUniformAndStorageBuffer8BitAccess, PROFILE_HAS_STORAGE8 },
        { SpvCapabilityStoragePushConstant8, PROFILE_HAS_STORAGE8 },
        { SpvCapabilityStorageBuffer16BitAccess, PROFILE_HAS_STORAGE16 },
        { SpvCapabilityUniformAndStorageBuffer16BitAccess, PROFILE_HAS_STORAGE16 },
        { SpvCapabilityStoragePushConstant16, PROFILE_HAS_STORAGE16 },
    };
    uint32_t mode = i->op == SpvOpExecutionMode ? spv_operand(i, 1) : 0;
    if (mode >= SpvExecutionModeDenormPreserve && mode <= SpvExecutionModeRoundingModeRTZ)
        return spv_operand(i, 2) == 16 && !(l->profile->features & PROFILE_HAS_FLOAT16);
    for (uint32_t k = 0; i->op == SpvOpCapability && k < COUNT_OF(gone); k++)
        if (gone[k].capability == spv_operand(i, 0))
            return !(l->profile->features & gone[k].unless);
    return i->op == SpvOpExtension && !strcmp(spv_string(i, 0, NULL), "SPV_KHR_8bit_storage") &&
           !(l->profile->features & PROFILE_HAS_STORAGE8);
}

static void change_globals(LowerSmall *s)
{
    for (SpvInst *i = s->l->m->globals.first, *next; i; i = next) {
        next = i->next;
        if (is_of_small(s->l, i))
            edit_remove(s->l->m, i);
        else if (i->id < s->n && s->old[i->id] && !s->words[i->id].variable)
            change_constant(s, i); /* or a variable */
    }
}

static bool open_small(Lower *l, LowerSmall *s)
{
    bool any = false;
    *s = (LowerSmall){ .l = l, .n = l->m->bound };
    s->old = NEW_ARRAY(l->scratch, const SpvType *, s->n);
    s->value = NEW_ARRAY(l->scratch, SpvId, s->n);
    s->words = NEW_ARRAY(l->scratch, LowerWords, s->n);
    s->written = NEW_ARRAY(l->scratch, uint8_t, s->n);
    s->used = NEW_ARRAY(l->scratch, uint8_t, s->n);
    for (SpvId id = 1; id < s->n; id++) {
        const SpvInst *def = spv_def(l->m, id);
        const SpvOpInfo *info = def ? spv_op_info(def->op) : NULL;
        if (def && def->type)
            s->old[id] = spv_type(l->m, def->type);
        if (info && info->flags & SPV_OPF_TYPE) {
            const SpvType *t = spv_type(l->m, id);
            any |= lower_is_small(l, t) || lower_lacks_storage(l, t);
        }
    }
    for (const SpvInst *i = l->m->globals.first; i; i = i->next)
        s->towards_zero |= i->op == SpvOpExecutionMode && spv_n_operands(i) > 2 &&
                           spv_operand(i, 1) == SpvExecutionModeRoundingModeRTZ &&
                           spv_operand(i, 2) == 16;
    return any;
}

static void change_functions(LowerSmall *s)
{
    SpvModule *m = s->l->m;
    VEC(SpvInst *) list = { 0 };
    for (SpvFunction *f = m->functions; f; f = f->next) {
        f->def->words[f->def->first_operand + 1] = small_value(s, spv_operand(f->def, 1));
        for (SpvInst *i = f->head.first; i; i = i->next)
            retype(s, i);
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                vec_push(s->l->scratch, &list, i);
    }
    for (uint32_t k = 0; k < list.len && !s->l->failed; k++)
        visit(s, list.data[k]);
}

void small_numbers(Lower *l)
{
    LowerSmall s;
    if (!open_small(l, &s) || !small_open_memory(&s))
        return;
    change_globals(&s);
    change_functions(&s);
    l->types_used &= l->profile->features |
                     ~(uint32_t)(PROFILE_HAS_FLOAT16 | PROFILE_HAS_INT8 | PROFILE_HAS_INT16);
    lower_merge_types(l->m);
    spv_forget_types(l->m);
}
