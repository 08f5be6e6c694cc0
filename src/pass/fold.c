/* SPDX-License-Identifier: MIT
 *
 * fold: evaluates operations on constants. In: an opcode and constant operands. Out: the id of a
 * constant, which is found in a pool by type and value, or made.
 *
 * Integers wrap at their width. f16, bf16, f32 and f64 are computed with one rounding (double holds
 * the exact f16 and bf16 sums and products, and a quotient rounded twice this way is the same).
 * What the specification leaves undefined (division by zero, shifts too far) is not folded.
 */
#include "pass/edit.h"

#include <math.h>

/* ---- the pool -------------------------------------------------------------------------------- */

static uint64_t pool_key(uint16_t op, SpvId type, const uint32_t *words, uint32_t n)
{
    return hash_bytes(words, n * sizeof *words, (uint64_t)type << 16 | op);
}

static bool same_inst(const SpvInst *i, uint16_t op, SpvId type, const uint32_t *words, uint32_t n)
{
    return i && i->op == op && i->type == type && spv_n_operands(i) == n &&
           (!n || !memcmp(i->words + i->first_operand, words, n * sizeof *words));
}

void fold_learn(PassFold *f, const SpvInst *i)
{
    if (i->op != SpvOpConstant && i->op != SpvOpConstantTrue && i->op != SpvOpConstantFalse &&
        i->op != SpvOpConstantNull && i->op != SpvOpConstantComposite)
        return;
    uint64_t old, key = pool_key(i->op, i->type, i->words + i->first_operand, spv_n_operands(i));
    if (!map_get(&f->pool, key, &old))
        map_put(f->scratch, &f->pool, key, i->id);
}

void fold_modes(PassFold *f, const SpvEntryPoint *entry)
{
    SpvId function = entry->inst ? spv_operand(entry->inst, 1) : 0;
    for (const SpvInst *i = f->m->globals.first; i; i = i->next)
        if (i->op == SpvOpExecutionMode && spv_n_operands(i) > 2 && spv_operand(i, 0) == function &&
            spv_operand(i, 1) == SpvExecutionModeRoundingModeRTZ)
            f->towards_zero |= spv_operand(i, 2);
}

PassFold fold_open(SpvModule *m, Arena *scratch)
{
    PassFold f = { .m = m, .scratch = scratch };
    for (SpvInst *i = m->globals.first; i; i = i->next)
        fold_learn(&f, i);
    return f;
}

/* Two constants may have the same key; then the second is created anew each time, which is
 * harmless. */
static SpvId pool_get(PassFold *f, uint16_t op, SpvId type, const uint32_t *words, uint32_t n)
{
    uint64_t id, key = pool_key(op, type, words, n);
    if (map_get(&f->pool, key, &id) && same_inst(spv_def(f->m, (SpvId)id), op, type, words, n))
        return (SpvId)id;
    SpvInst *i = spv_make(f->m, op, type, spv_new_id(f->m), words, n);
    if (f->before)
        edit_insert_global(f->before, i);
    else
        spv_append_global(f->m, i);
    map_put(f->scratch, &f->pool, key, i->id);
    return i->id;
}

/* ---- reading and writing --------------------------------------------------------------------- */

static uint64_t width_mask(const SpvType *t)
{
    return t->kind == SPV_BOOL ? 1 : t->bits >= 64 ? UINT64_MAX : ((uint64_t)1 << t->bits) - 1;
}

static bool read_scalar(const PassFold *f, SpvId id, const SpvType *t, uint64_t *bits)
{
    const SpvInst *i = spv_def(f->m, id);
    if (!i || (t->kind != SPV_INT && t->kind != SPV_FLOAT && t->kind != SPV_BOOL))
        return false;
    switch (i->op) {
    case SpvOpConstant:
        *bits = spv_operand(i, 0);
        if (t->bits > 32 && spv_n_operands(i) > 1)
            *bits |= (uint64_t)spv_operand(i, 1) << 32;
        *bits &= width_mask(t);
        return true;
    case SpvOpConstantTrue: *bits = 1; return true;
    case SpvOpConstantFalse:
    case SpvOpConstantNull:
    case SpvOpUndef: *bits = 0; return true;
    default: return false;
    }
}

bool fold_read(const PassFold *f, SpvId id, PassFoldValue *v)
{
    const SpvInst *i = spv_def(f->m, id);
    const SpvType *t = i && i->type ? spv_type(f->m, i->type) : NULL;
    if (!t)
        return false;
    if (t->kind != SPV_VECTOR) {
        v->type = t;
        v->count = 1;
        return read_scalar(f, id, t, &v->bits[0]);
    }
    v->type = t->element;
    v->count = t->count;
    if (t->count > FOLD_MAX)
        return false;
    if (i->op == SpvOpConstantNull || i->op == SpvOpUndef) {
        memset(v->bits, 0, sizeof v->bits);
        return true;
    }
    if (i->op != SpvOpConstantComposite && i->op != SpvOpConstantCompositeReplicateEXT)
        return false;
    for (uint32_t k = 0; k < t->count; k++)
        if (!read_scalar(f, spv_operand(i, i->op == SpvOpConstantComposite ? k : 0), t->element,
                         &v->bits[k]))
            return false;
    return true;
}

int64_t fold_signed(const PassFoldValue *v, uint32_t c)
{
    uint32_t bits = v->type->kind == SPV_INT ? v->type->bits : 64;
    return bits >= 64 ? (int64_t)v->bits[c] : (int64_t)(v->bits[c] << (64 - bits)) >> (64 - bits);
}

static SpvId write_scalar(PassFold *f, SpvId type, const SpvType *t, uint64_t bits)
{
    if (t->kind == SPV_BOOL)
        return pool_get(f, bits ? SpvOpConstantTrue : SpvOpConstantFalse, type, NULL, 0);
    if (t->kind == SPV_INT && t->is_signed && t->bits < 32) /* 2.2.1: literals are sign-extended */
        bits = (uint64_t)((int64_t)(bits << (64 - t->bits)) >> (64 - t->bits));
    uint32_t words[2] = { (uint32_t)bits, (uint32_t)(bits >> 32) };
    return pool_get(f, SpvOpConstant, type, words, t->bits > 32 ? 2 : 1);
}

SpvId fold_composite(PassFold *f, SpvId type, const SpvId *parts, uint32_t n)
{
    return pool_get(f, SpvOpConstantComposite, type, parts, n);
}

SpvId fold_write(PassFold *f, SpvId type, const PassFoldValue *v)
{
    const SpvType *t = spv_type(f->m, type);
    if (!t)
        return 0;
    if (t->kind != SPV_VECTOR)
        return write_scalar(f, type, t, v->bits[0]);
    SpvId parts[FOLD_MAX];
    for (uint32_t k = 0; k < v->count; k++)
        parts[k] = write_scalar(f, t->element->id, t->element, v->bits[k]);
    return fold_composite(f, type, parts, v->count);
}

SpvId fold_int(PassFold *f, SpvId type, uint64_t value)
{
    const SpvType *t = spv_type(f->m, type);
    return write_scalar(f, type, t, value & width_mask(t));
}

SpvId fold_bool(PassFold *f, SpvId type, bool value)
{
    return pool_get(f, value ? SpvOpConstantTrue : SpvOpConstantFalse, type, NULL, 0);
}

SpvId fold_null(PassFold *f, SpvId type) { return pool_get(f, SpvOpConstantNull, type, NULL, 0); }

SpvId fold_member(PassFold *f, SpvId composite, uint32_t index)
{
    const SpvInst *i = spv_def(f->m, composite);
    const SpvType *t = i && i->type ? spv_type(f->m, i->type) : NULL;
    if (!t)
        return 0;
    const SpvType *part = t->kind != SPV_STRUCT ? t->element
                          : index < t->count    ? t->members[index]
                                                : NULL;
    if (!part)
        return 0;
    switch (i->op) {
    case SpvOpConstantComposite:
        if (t->kind == SPV_COOPMAT)
            index = 0; /* all elements are the same */
        return index < spv_n_operands(i) ? spv_operand(i, index) : 0;
    case SpvOpConstantCompositeReplicateEXT: return spv_operand(i, 0);
    case SpvOpConstantNull:
    case SpvOpUndef:
        return part->kind == SPV_INT || part->kind == SPV_FLOAT || part->kind == SPV_BOOL
                   ? write_scalar(f, part->id, part, 0)
                   : fold_null(f, part->id);
    default: return 0;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Formats of 8 bits and fewer; without `from` nothing is converted to the format. */
static const struct {
    double (*to)(uint8_t bits);
    uint8_t (*from)(double x);
} small[] = {
    [SPV_E4M3] = { e4m3_to_double, e4m3_from_double },
    [SPV_E5M2] = { e5m2_to_double, e5m2_from_double },
    [SPV_E2M1] = { e2m1_to_double, NULL },
    [SPV_E3M2] = { e3m2_to_double, NULL },
    [SPV_E2M3] = { e2m3_to_double, NULL },
    [SPV_E8M0] = { e8m0_to_double, NULL },
    [SPV_MXINT8] = { mxint8_to_double, NULL },
    [SPV_NO_FLOAT] = { NULL, NULL },
};

static bool is_known_float(const SpvType *t)
{
    return t->kind == SPV_FLOAT && (small[t->format].to || t->format == SPV_BF16 ||
                                    (t->format == SPV_IEEE && t->bits >= 16));
}

static bool is_plain_float(const SpvType *t)
{
    return is_known_float(t) && (!small[t->format].to || small[t->format].from);
}

static double float_of(const SpvType *t, uint64_t bits)
{
    if (small[t->format].to)
        return small[t->format].to((uint8_t)bits);
    if (t->format == SPV_BF16)
        return bf16_to_double((uint16_t)bits);
    if (t->bits == 16)
        return f16_to_double((uint16_t)bits);
    if (t->bits == 32) {
        uint32_t w = (uint32_t)bits;
        float x;
        memcpy(&x, &w, sizeof x);
        return x;
    }
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t float_bits(const SpvType *t, double x)
{
    if (small[t->format].from)
        return small[t->format].from(x);
    if (t->format == SPV_BF16)
        return bf16_from_double(x);
    if (t->bits == 16)
        return f16_from_double(x);
    if (t->bits == 32) {
        float y = (float)x;
        uint32_t w;
        memcpy(&w, &y, sizeof w);
        return w;
    }
    uint64_t w;
    memcpy(&w, &x, sizeof w);
    return w;
}

/* The only mode of the machine that folding heeds: RoundingModeRTZ for the result's width. */
typedef struct FoldOperands {
    const PassFoldValue *a, *b;
    const SpvType *result;
    bool denormals, towards_zero;
} FoldOperands;

/* No mode is about bf16 (Vulkan, Precision and Operation of SPIR-V Instructions). */
static bool rounds_towards_zero(const PassFold *f, const SpvType *t)
{
    return t->kind == SPV_FLOAT && t->format == SPV_IEEE && f->towards_zero & t->bits;
}

/* x, which is exact, in a type's bits. */
static uint64_t rounded_bits(const FoldOperands *o, double x)
{
    uint64_t bits = float_bits(o->result, x);
    return bits - (o->towards_zero && fabs(float_of(o->result, bits)) > fabs(x));
}

/* Prepares an integer for rounded_bits: bits that a double has no room for become one sticky bit,
 * so that a narrower type is rounded as the whole number would be. */
static double wide_integer(const FoldOperands *o, uint64_t magnitude)
{
    int extra = magnitude >> 53 ? 11 - __builtin_clzll(magnitude) : 0;
    uint64_t kept = magnitude >> extra;
    if (o->result->bits == 64 && !o->towards_zero)
        return (double)magnitude;
    return ldexp((double)(kept | (o->result->bits < 64 && kept << extra != magnitude)), extra);
}

static bool is_denormal(const SpvType *t, double x)
{
    double least = t->bits == 16 && t->format == SPV_IEEE ? 0x1p-14
                   : t->bits == 64                        ? 0x1p-1022
                                                          : 0x1p-126;
    return x != 0 && fabs(x) < least;
}

static bool eval_int(uint16_t op, const FoldOperands *o, uint32_t c, uint64_t *out)
{
    uint64_t a = o->a->bits[c], b = o->b->bits[c];
    int64_t sa = fold_signed(o->a, c), sb = fold_signed(o->b, c);
    uint32_t bits = o->a->type->bits;
    switch (op) {
    case SpvOpIAdd: *out = a + b; return true;
    case SpvOpISub: *out = a - b; return true;
    case SpvOpIMul: *out = a * b; return true;
    case SpvOpUDiv: return b && (*out = a / b, true);
    case SpvOpUMod: return b && (*out = a % b, true);
    case SpvOpSDiv:
        return sb && !(sb == -1 && sa == INT64_MIN) && (*out = (uint64_t)(sa / sb), true);
    case SpvOpSRem:
        return sb && !(sb == -1 && sa == INT64_MIN) && (*out = (uint64_t)(sa % sb), true);
    case SpvOpSMod: {
        if (!sb || (sb == -1 && sa == INT64_MIN))
            return false;
        int64_t r = sa % sb;
        *out = (uint64_t)(r && (r < 0) != (sb < 0) ? r + sb : r);
        return true;
    }
    case SpvOpSNegate: *out = 0 - a; return true;
    case SpvOpNot: *out = ~a; return true;
    case SpvOpShiftLeftLogical: return b < bits && (*out = a << b, true);
    case SpvOpShiftRightLogical: return b < bits && (*out = a >> b, true);
    case SpvOpShiftRightArithmetic: return b < bits && (*out = (uint64_t)(sa >> b), true);
    case SpvOpBitwiseAnd: *out = a & b; return true;
    case SpvOpBitwiseOr: *out = a | b; return true;
    case SpvOpBitwiseXor: *out = a ^ b; return true;
    case SpvOpIEqual: *out = a == b; return true;
    case SpvOpINotEqual: *out = a != b; return true;
    case SpvOpULessThan: *out = a < b; return true;
    case SpvOpULessThanEqual: *out = a <= b; return true;
    case SpvOpUGreaterThan: *out = a > b; return true;
    case SpvOpUGreaterThanEqual: *out = a >= b; return true;
    case SpvOpSLessThan: *out = sa < sb; return true;
    case SpvOpSLessThanEqual: *out = sa <= sb; return true;
    case SpvOpSGreaterThan: *out = sa > sb; return true;
    case SpvOpSGreaterThanEqual: *out = sa >= sb; return true;
    case SpvOpUConvert: *out = a; return true;
    case SpvOpSConvert: *out = (uint64_t)sa; return true;
    case SpvOpConvertUToF:
        return is_plain_float(o->result) && (*out = rounded_bits(o, wide_integer(o, a)), true);
    case SpvOpConvertSToF:
        return is_plain_float(o->result) &&
               (*out = rounded_bits(o, sa < 0 ? -wide_integer(o, 0 - (uint64_t)sa)
                                              : wide_integer(o, (uint64_t)sa)),
                true);
    default: return false;
    }
}

static bool eval_bool(uint16_t op, const FoldOperands *o, uint32_t c, uint64_t *out)
{
    uint64_t a = o->a->bits[c], b = o->b->bits[c];
    switch (op) {
    case SpvOpLogicalOr: *out = a | b; return true;
    case SpvOpLogicalAnd: *out = a & b; return true;
    case SpvOpLogicalNot: *out = !a; return true;
    case SpvOpLogicalEqual: *out = a == b; return true;
    case SpvOpLogicalNotEqual: *out = a != b; return true;
    default: return false;
    }
}

static bool eval_float_to_int(uint16_t op, const FoldOperands *o, double x, uint64_t *out)
{
    uint32_t bits = o->result->bits;
    bool is_signed = op == SpvOpConvertFToS;
    double top = ldexp(1, (int)bits - is_signed);
    if (isnan(x) || x >= top || x <= (is_signed ? -top - 1 : -1))
        return false;
    *out = is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
    return true;
}

static bool eval_float(uint16_t op, const FoldOperands *o, uint32_t c, uint64_t *out)
{
    const SpvType *r = o->result;
    double a = float_of(o->a->type, o->a->bits[c]);
    double b = is_plain_float(o->b->type) ? float_of(o->b->type, o->b->bits[c]) : 0;
    bool ordered = !isnan(a) && !isnan(b);
    bool exact = op == SpvOpFConvert || op == SpvOpQuantizeToF16;
    /* Denormals are left to the machine, because its mode decides what becomes of them. */
    if (!o->denormals && (is_denormal(o->a->type, a) || is_denormal(o->b->type, b)))
        return false;
    switch (op) {
    case SpvOpFNegate: *out = o->a->bits[c] ^ ((width_mask(r) >> 1) + 1); return true;
    case SpvOpFAdd: *out = float_bits(r, a + b); break;
    case SpvOpFSub: *out = float_bits(r, a - b); break;
    case SpvOpFMul: *out = float_bits(r, a * b); break;
    case SpvOpFDiv:
        if (b == 0 && !o->denormals)
            return false;
        *out = float_bits(r, a / b);
        break;
    case SpvOpFConvert: *out = rounded_bits(o, a); break;
    case SpvOpFRem: *out = float_bits(r, fmod(a, b)); break;
    case SpvOpFMod: {
        double rest = fmod(a, b);
        *out = float_bits(r, rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
        break;
    }
    case SpvOpQuantizeToF16: {
        double half = f16_to_double(f16_from_double(a));
        *out = float_bits(r, fabs(half) < 0x1p-14 ? copysign(0, half) : half);
        break;
    }
    case SpvOpConvertFToS:
    case SpvOpConvertFToU: return eval_float_to_int(op, o, a, out);
    case SpvOpFOrdEqual: *out = ordered && a == b; return true;
    case SpvOpFUnordEqual: *out = !ordered || a == b; return true;
    case SpvOpFOrdNotEqual: *out = ordered && a != b; return true;
    case SpvOpFUnordNotEqual: *out = !ordered || a != b; return true;
    case SpvOpFOrdLessThan: *out = ordered && a < b; return true;
    case SpvOpFUnordLessThan: *out = !ordered || a < b; return true;
    case SpvOpFOrdGreaterThan: *out = ordered && a > b; return true;
    case SpvOpFUnordGreaterThan: *out = !ordered || a > b; return true;
    case SpvOpFOrdLessThanEqual: *out = ordered && a <= b; return true;
    case SpvOpFUnordLessThanEqual: *out = !ordered || a <= b; return true;
    case SpvOpFOrdGreaterThanEqual: *out = ordered && a >= b; return true;
    case SpvOpFUnordGreaterThanEqual: *out = !ordered || a >= b; return true;
    case SpvOpIsNan: *out = isnan(a); return true;
    case SpvOpIsInf: *out = isinf(a); return true;
    default: return false;
    }
    return o->denormals ||
           (ordered && (exact || !o->towards_zero) && !is_denormal(r, float_of(r, *out)));
}

static bool eval(uint16_t op, const FoldOperands *o, PassFoldValue *out)
{
    const SpvType *t = o->a->type;
    for (uint32_t c = 0; c < out->count; c++) {
        bool ok = t->kind == SPV_INT    ? eval_int(op, o, c, &out->bits[c])
                  : t->kind == SPV_BOOL ? eval_bool(op, o, c, &out->bits[c])
                  : is_known_float(t) && (is_plain_float(o->result) || o->result->kind != SPV_FLOAT)
                      ? eval_float(op, o, c, &out->bits[c])
                      : false;
        if (!ok)
            return false;
        out->bits[c] &= width_mask(o->result);
    }
    return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool is_scalar(const SpvType *t)
{
    return t->kind == SPV_INT || t->kind == SPV_FLOAT || t->kind == SPV_BOOL;
}

/* Arithmetic, logic and conversions, component by component. */
static SpvId fold_components(PassFold *f, uint16_t op, SpvId type, const uint32_t *operands,
                             uint32_t n)
{
    const SpvType *t = spv_type(f->m, type);
    PassFoldValue a, b = { 0 }, out = { 0 };
    if (!t || n < 1 || n > 2 || !fold_read(f, operands[0], &a))
        return 0;
    b = a;
    if (n == 2 && (!fold_read(f, operands[1], &b) || b.count != a.count))
        return 0;
    const SpvType *component = t->kind == SPV_VECTOR ? t->element : t;
    uint32_t count = t->kind == SPV_VECTOR ? t->count : 1;
    if (!is_scalar(component) || count != a.count)
        return 0;
    out.type = component;
    out.count = count;
    if (op == SpvOpBitcast) {
        if (component->bits != a.type->bits || component->kind == SPV_BOOL ||
            a.type->kind == SPV_BOOL)
            return 0;
        memcpy(out.bits, a.bits, sizeof out.bits);
        return fold_write(f, type, &out);
    }
    FoldOperands o = { &a, &b, component, f->denormals, rounds_towards_zero(f, component) };
    return eval(op, &o, &out) ? fold_write(f, type, &out) : 0;
}

static SpvId fold_select(PassFold *f, SpvId type, const uint32_t *operands)
{
    PassFoldValue c, a, b;
    if (!fold_read(f, operands[0], &c))
        return 0;
    if (c.count == 1)
        return c.bits[0] ? operands[1] : operands[2];
    if (!fold_read(f, operands[1], &a) || !fold_read(f, operands[2], &b) || a.count != c.count ||
        b.count != c.count)
        return 0;
    for (uint32_t k = 0; k < c.count; k++)
        a.bits[k] = c.bits[k] ? a.bits[k] : b.bits[k];
    return fold_write(f, type, &a);
}

static SpvId fold_shuffle(PassFold *f, SpvId type, const uint32_t *operands, uint32_t n)
{
    PassFoldValue a, b, out = { 0 };
    if (n < 2 || n - 2 > FOLD_MAX || !fold_read(f, operands[0], &a) ||
        !fold_read(f, operands[1], &b))
        return 0;
    out.count = n - 2;
    for (uint32_t k = 0; k < out.count; k++) {
        uint32_t c = operands[k + 2];
        if (c >= a.count + b.count && c != UINT32_MAX) /* that one is undefined */
            return 0;
        out.bits[k] = c == UINT32_MAX ? 0 : c < a.count ? a.bits[c] : b.bits[c - a.count];
    }
    return fold_write(f, type, &out);
}

/* The composite with `object` where the indices lead. */
static SpvId fold_insert(PassFold *f, SpvId type, SpvId object, SpvId composite, const uint32_t *at,
                         uint32_t n)
{
    const SpvType *t = spv_type(f->m, type);
    if (!n)
        return object;
    bool known = t && (t->kind == SPV_VECTOR || t->kind == SPV_MATRIX || t->kind == SPV_ARRAY ||
                       t->kind == SPV_STRUCT);
    if (!known || at[0] >= t->count || t->count > UINT16_MAX)
        return 0;
    SpvId *parts = NEW_ARRAY(f->scratch, SpvId, t->count);
    for (uint32_t k = 0; k < t->count; k++) {
        const SpvType *part = t->kind == SPV_STRUCT ? t->members[k] : t->element;
        parts[k] = fold_member(f, composite, k);
        if (k == at[0] && parts[k])
            parts[k] = fold_insert(f, part->id, object, parts[k], at + 1, n - 1);
        if (!parts[k])
            return 0;
    }
    return fold_composite(f, type, parts, t->count);
}

static bool is_constant_id(const PassFold *f, SpvId id)
{
    const SpvInst *i = spv_def(f->m, id);
    return i && (i->op == SpvOpConstant || i->op == SpvOpConstantTrue ||
                 i->op == SpvOpConstantFalse || i->op == SpvOpConstantNull ||
                 i->op == SpvOpConstantComposite || i->op == SpvOpConstantCompositeReplicateEXT);
}

SpvId fold_op(PassFold *f, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n)
{
    switch (op) {
    case SpvOpSelect:
        return n == 3 && is_constant_id(f, operands[1]) && is_constant_id(f, operands[2])
                   ? fold_select(f, type, operands)
                   : 0;
    case SpvOpVectorShuffle: return fold_shuffle(f, type, operands, n);
    case SpvOpCompositeInsert:
        return n > 2 && is_constant_id(f, operands[0])
                   ? fold_insert(f, type, operands[0], operands[1], operands + 2, n - 2)
                   : 0;
    case SpvOpCopyObject: return n == 1 && is_constant_id(f, operands[0]) ? operands[0] : 0;
    case SpvOpCompositeExtract: {
        SpvId at = n > 1 ? operands[0] : 0;
        for (uint32_t k = 1; at && k < n; k++)
            at = fold_member(f, at, operands[k]);
        return at;
    }
    case SpvOpCompositeConstruct: {
        const SpvType *t = spv_type(f->m, type);
        PassFoldValue out = { 0 }, part;
        if (!t || t->kind == SPV_COOPMAT)
            return 0;
        for (uint32_t k = 0; k < n; k++)
            if (!is_constant_id(f, operands[k]))
                return 0;
        if (t->kind != SPV_VECTOR)
            return n ? fold_composite(f, type, operands, n) : 0;
        for (uint32_t k = 0; k < n; k++) {
            if (!fold_read(f, operands[k], &part) || out.count + part.count > FOLD_MAX)
                return 0;
            for (uint32_t c = 0; c < part.count; c++)
                out.bits[out.count++] = part.bits[c];
        }
        return fold_write(f, type, &out);
    }
    default: return fold_components(f, op, type, operands, n);
    }
}

SpvId fold_inst(PassFold *f, const SpvInst *i, const uint32_t *operands, uint32_t n)
{
    static const uint32_t ways[] = { SpvDecorationFPRoundingMode, SpvDecorationSaturatedConversion,
                                     SpvDecorationSaturatedToLargestFloat8NormalConversionEXT };
    bool converts = i->op >= SpvOpConvertFToU && i->op <= SpvOpFConvert;
    if (!spv_is_pure(i) || i->op == SpvOpExtInst)
        return 0;
    for (uint32_t k = 0; converts && k < COUNT_OF(ways); k++)
        if (spv_has_decoration(f->m, i->id, -1, ways[k]))
            return 0;
    return fold_op(f, i->op, i->type, operands, n);
}
