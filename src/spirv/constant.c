/* SPDX-License-Identifier: MIT
 *
 * Values of integer and bool constants. OpSpecConstantOp is evaluated at each request, since a pass
 * may have changed its operands. A budget of steps bounds the time for expressions that share parts
 * exponentially often (their values are then unknown).
 */
#include "spirv/internal.h"

typedef struct Eval {
    const SpvModule *m;
    uint32_t steps; /* left */
} Eval;

/* Extends the bits as an integer type (or bool: 1 bit) does. */
typedef struct Width {
    uint32_t bits;
    bool is_signed;
} Width;

static bool width_of(const SpvModule *m, SpvId type, Width *w)
{
    const SpvInst *t = spv_def(m, type);
    if (!t)
        return false;
    if (t->op == SpvOpTypeBool)
        return *w = (Width){ 1, false }, true;
    if (t->op != SpvOpTypeInt || spv_n_operands(t) < 2)
        return false;
    *w = (Width){ spv_operand(t, 0), spv_operand(t, 1) != 0 };
    return w->bits >= 1 && w->bits <= 64;
}

static uint64_t zero_extend(uint64_t x, uint32_t bits)
{
    return bits < 64 ? x & ((UINT64_C(1) << bits) - 1) : x;
}

static int64_t sign_extend(uint64_t x, uint32_t bits)
{
    uint64_t top = UINT64_C(1) << (bits - 1);
    return (int64_t)((zero_extend(x, bits) ^ top) - top);
}

static uint64_t extend(uint64_t x, Width w)
{
    return w.is_signed ? (uint64_t)sign_extend(x, w.bits) : zero_extend(x, w.bits);
}

static bool evaluate(Eval *e, SpvId id, uint32_t depth, uint64_t *value);

static bool evaluate_division(uint16_t op, uint64_t a, uint64_t b, uint32_t bits, uint64_t *r)
{
    uint64_t ua = zero_extend(a, bits), ub = zero_extend(b, bits);
    int64_t sa = sign_extend(a, bits), sb = sign_extend(b, bits);
    if (!ub)
        return false;
    if (op == SpvOpUDiv)
        return *r = ua / ub, true;
    if (op == SpvOpUMod)
        return *r = ua % ub, true;
    if (sb == -1)
        return *r = op == SpvOpSDiv ? -(uint64_t)sa : 0, true; /* the one that overflows */
    int64_t rem = sa % sb;
    if (op == SpvOpSMod && rem && (rem < 0) != (sb < 0))
        rem += sb;
    *r = op == SpvOpSDiv ? (uint64_t)(sa / sb) : (uint64_t)rem;
    return true;
}

static bool evaluate_shift(uint16_t op, uint64_t a, uint64_t by, uint32_t bits, uint64_t *r)
{
    if (by >= bits)
        return false;
    if (op == SpvOpShiftLeftLogical)
        *r = a << by;
    else if (op == SpvOpShiftRightLogical)
        *r = zero_extend(a, bits) >> by;
    else
        *r = (uint64_t)(sign_extend(a, bits) >> by);
    return true;
}

/* Two operands of the same width (shifts: the first's), not yet cut to the result's. */
static bool evaluate_binary(uint16_t op, uint64_t a, uint64_t b, uint32_t bits, uint64_t *r)
{
    uint64_t ua = zero_extend(a, bits), ub = zero_extend(b, bits);
    int64_t sa = sign_extend(a, bits), sb = sign_extend(b, bits);
    switch (op) {
    case SpvOpIAdd: *r = a + b; return true;
    case SpvOpISub: *r = a - b; return true;
    case SpvOpIMul: *r = a * b; return true;
    case SpvOpUDiv:
    case SpvOpSDiv:
    case SpvOpUMod:
    case SpvOpSRem:
    case SpvOpSMod: return evaluate_division(op, a, b, bits, r);
    case SpvOpShiftRightLogical:
    case SpvOpShiftRightArithmetic:
    case SpvOpShiftLeftLogical: return evaluate_shift(op, a, b, bits, r);
    case SpvOpBitwiseOr:
    case SpvOpLogicalOr: *r = a | b; return true;
    case SpvOpBitwiseXor: *r = a ^ b; return true;
    case SpvOpBitwiseAnd:
    case SpvOpLogicalAnd: *r = a & b; return true;
    case SpvOpIEqual:
    case SpvOpLogicalEqual: *r = ua == ub; return true;
    case SpvOpINotEqual:
    case SpvOpLogicalNotEqual: *r = ua != ub; return true;
    case SpvOpULessThan: *r = ua < ub; return true;
    case SpvOpSLessThan: *r = sa < sb; return true;
    case SpvOpUGreaterThan: *r = ua > ub; return true;
    case SpvOpSGreaterThan: *r = sa > sb; return true;
    case SpvOpULessThanEqual: *r = ua <= ub; return true;
    case SpvOpSLessThanEqual: *r = sa <= sb; return true;
    case SpvOpUGreaterThanEqual: *r = ua >= ub; return true;
    case SpvOpSGreaterThanEqual: *r = sa >= sb; return true;
    default: return false;
    }
}

static bool evaluate_unary(uint16_t op, uint64_t a, uint32_t bits, uint64_t *r)
{
    switch (op) {
    case SpvOpSConvert: *r = (uint64_t)sign_extend(a, bits); return true;
    case SpvOpUConvert: *r = zero_extend(a, bits); return true;
    case SpvOpSNegate: *r = -a; return true;
    case SpvOpNot: *r = ~a; return true;
    case SpvOpLogicalNot: *r = !a; return true;
    case SpvOpBitcast:
    case SpvOpCopyObject: *r = a; return true;
    default: return false;
    }
}

/* OpCompositeExtract from a constant: follow the indices to the scalar. */
static bool evaluate_extract(Eval *e, const SpvInst *i, uint32_t depth, uint64_t *value)
{
    SpvId id = spv_operand(i, 1);
    for (uint32_t k = 2; k < spv_n_operands(i); k++) {
        const SpvInst *c = spv_def(e->m, id);
        uint32_t at = spv_operand(i, k);
        if (!c)
            return false;
        if (c->op == SpvOpConstantNull)
            return *value = 0, true;
        bool replicate = c->op == SpvOpConstantCompositeReplicateEXT ||
                         c->op == SpvOpSpecConstantCompositeReplicateEXT;
        if (replicate)
            at = 0;
        else if (c->op != SpvOpConstantComposite && c->op != SpvOpSpecConstantComposite)
            return false;
        if (at >= spv_n_operands(c))
            return false;
        id = spv_operand(c, at);
    }
    return evaluate(e, id, depth + 1, value);
}

static bool evaluate_op(Eval *e, const SpvInst *i, uint32_t depth, uint64_t *value)
{
    uint16_t op = (uint16_t)spv_operand(i, 0);
    uint32_t n = spv_n_operands(i);
    uint64_t a, b;
    if (op == SpvOpCompositeExtract)
        return n >= 2 && evaluate_extract(e, i, depth, value);
    if (n < 2 || !evaluate(e, spv_operand(i, 1), depth + 1, &a))
        return false;
    if (op == SpvOpSelect)
        return n == 4 && evaluate(e, spv_operand(i, a ? 2 : 3), depth + 1, value);
    const SpvInst *first = spv_def(e->m, spv_operand(i, 1));
    Width w;
    if (!width_of(e->m, first->type, &w))
        return false;
    if (n == 2)
        return evaluate_unary(op, a, w.bits, value);
    return n == 3 && evaluate(e, spv_operand(i, 2), depth + 1, &b) &&
           evaluate_binary(op, a, b, w.bits, value);
}

static bool evaluate(Eval *e, SpvId id, uint32_t depth, uint64_t *value)
{
    const SpvInst *i = spv_def(e->m, id);
    Width w;
    if (!i || !i->type || depth > SPV_MAX_EXPRESSION_DEPTH || !e->steps--)
        return false;
    if (!width_of(e->m, i->type, &w))
        return false;
    switch (i->op) {
    case SpvOpConstantTrue:
    case SpvOpSpecConstantTrue: *value = 1; return true;
    case SpvOpConstantFalse:
    case SpvOpSpecConstantFalse:
    case SpvOpConstantNull: *value = 0; return true;
    case SpvOpConstant:
    case SpvOpSpecConstant:
        *value = spv_operand(i, 0);
        if (spv_n_operands(i) > 1)
            *value |= (uint64_t)spv_operand(i, 1) << 32;
        break;
    case SpvOpSpecConstantOp:
        if (!evaluate_op(e, i, depth, value))
            return false;
        break;
    default: return false;
    }
    *value = extend(*value, w);
    return true;
}

bool spv_constant(const SpvModule *m, SpvId id, uint64_t *value)
{
    Eval e = { m, 1 << 16 };
    return evaluate(&e, id, 0, value);
}

bool spv_is_constant(const SpvModule *m, SpvId id)
{
    const SpvInst *i = spv_def(m, id);
    const SpvOpInfo *info = i ? spv_op_info(i->op) : NULL;
    return info && info->flags & SPV_OPF_CONSTANT;
}

bool spv_is_spec_constant(const SpvModule *m, SpvId id)
{
    return spv_is_constant(m, id) && !strncmp(spv_op_name(spv_def(m, id)->op), "OpSpec", 6);
}

/* ---- find or make ---------------------------------------------------------------------------- */

/* Scalar types, pointers and constants by what they say, the result left out. */
struct SpvInterned {
    Map by_content;
};

static uint64_t content(uint16_t op, SpvId type, const uint32_t *operands, uint32_t n)
{
    uint64_t head = (uint64_t)op << 32 | type;
    return hash_bytes(operands, n * sizeof *operands, hash_bytes(&head, sizeof head, n));
}

static bool may_share(SpvModule *m, const SpvInst *i)
{
    switch (i->op) {
    case SpvOpTypeInt:
    case SpvOpTypeBool:
    case SpvOpTypeFloat:
    case SpvOpTypeVector:
    case SpvOpConstant:
    case SpvOpConstantComposite:
    case SpvOpConstantNull:
    case SpvOpUndef:
    case SpvOpConstantTrue:
    case SpvOpConstantFalse: return true;
    case SpvOpTypePointer: /* types that differ in decorations are different types */
        return !spv_has_decoration(m, i->id, -1, SpvDecorationArrayStride);
    default: return false;
    }
}

static struct SpvInterned *interned(SpvModule *m)
{
    if (m->interned)
        return m->interned;
    struct SpvInterned *t = NEW(m->arena, struct SpvInterned);
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        if (!i->id || !may_share(m, i))
            continue;
        uint64_t key = content(i->op, i->type, i->words + i->first_operand, spv_n_operands(i)), old;
        if (!map_get(&t->by_content, key, &old))
            map_put(m->arena, &t->by_content, key, i->id);
    }
    return m->interned = t;
}

static SpvId intern(SpvModule *m, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n)
{
    struct SpvInterned *t = interned(m);
    uint64_t key = content(op, type, operands, n), id;
    if (map_get(&t->by_content, key, &id)) {
        const SpvInst *i = spv_def(m, (SpvId)id);
        if (i && i->list == &m->globals && i->op == op && i->type == type &&
            spv_n_operands(i) == n &&
            (!n || !memcmp(i->words + i->first_operand, operands, n * sizeof *operands)))
            return (SpvId)id;
    }
    SpvInst *i = spv_make(m, op, type, spv_new_id(m), operands, n);
    spv_append_global(m, i);
    map_put(m->arena, &t->by_content, key, i->id);
    return i->id;
}

SpvId spv_int_type(SpvModule *m, uint32_t bits, bool is_signed)
{
    return intern(m, SpvOpTypeInt, 0, (uint32_t[]){ bits, is_signed }, 2);
}

SpvId spv_float_type(SpvModule *m, uint32_t bits) { return intern(m, SpvOpTypeFloat, 0, &bits, 1); }

SpvId spv_vector_type(SpvModule *m, SpvId element, uint32_t n)
{
    return intern(m, SpvOpTypeVector, 0, (uint32_t[]){ element, n }, 2);
}

SpvId spv_composite_constant(SpvModule *m, SpvId type, const SpvId *parts, uint32_t n)
{
    return intern(m, SpvOpConstantComposite, type, parts, n);
}

SpvId spv_bool_type(SpvModule *m) { return intern(m, SpvOpTypeBool, 0, NULL, 0); }

SpvId spv_pointer_type(SpvModule *m, uint32_t storage, SpvId pointee)
{
    return intern(m, SpvOpTypePointer, 0, (uint32_t[]){ storage, pointee }, 2);
}

SpvId spv_array_type(SpvModule *m, SpvId element, SpvId length)
{
    return intern(m, SpvOpTypeArray, 0, (uint32_t[]){ element, length }, 2);
}

SpvId spv_null_constant(SpvModule *m, SpvId type)
{
    return intern(m, SpvOpConstantNull, type, NULL, 0);
}

SpvId spv_undef(SpvModule *m, SpvId type) { return intern(m, SpvOpUndef, type, NULL, 0); }

SpvId spv_int_constant(SpvModule *m, SpvId type, uint64_t value)
{
    Width w = { 32, false };
    const SpvInst *t = spv_def(m, type);
    if (t && t->op == SpvOpTypeBool)
        return intern(m, value ? SpvOpConstantTrue : SpvOpConstantFalse, type, NULL, 0);
    width_of(m, type, &w);
    value = extend(value, w);
    uint32_t words[2] = { (uint32_t)value, (uint32_t)(value >> 32) };
    return intern(m, SpvOpConstant, type, words, w.bits > 32 ? 2 : 1);
}

SpvId spv_number_constant(SpvModule *m, SpvId type, uint64_t bits)
{
    const SpvInst *t = spv_def(m, type);
    if (t->op != SpvOpTypeFloat)
        return spv_int_constant(m, type, bits);
    uint32_t words[2] = { (uint32_t)bits, (uint32_t)(bits >> 32) };
    return intern(m, SpvOpConstant, type, words, spv_operand(t, 0) > 32 ? 2 : 1);
}
