/* SPDX-License-Identifier: MIT
 *
 * What is known of integers over the lanes (Affine), carried along through arithmetic: that they
 * count up by a constant, or are the same, within aligned groups of lanes. In: an instruction and
 * what is known of its operands. Out: what is known of its result, with the scalar arithmetic for
 * lane 0.
 *
 * What comes out of a minimum, maximum, clamp or select of such numbers most often still is one, at
 * a border it is not: that is `likely`, and the access that relies on it asks first.
 */
#include "cpu/emit.h"
#include "cpu/emit_internal.h"

Affine value_affine(Emit *e, const Value *v, uint32_t k)
{
    if (v->affine && k < v->n)
        return v->affine[k];
    if (k < v->n && v->leaf[k] && !emit_is_lanes(v->leaf[k]))
        return (Affine){ .first = v->leaf[k], .group = e->W };
    return (Affine){ .group = 1 };
}

static bool fits(int64_t x)
{
    return x >= -65536 && x <= 65536;
}

static bool small_constant(LV v, int64_t *x)
{
    if (!v || !LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *x = LLVMConstIntGetSExtValue(v);
    return fits(*x);
}

/* How many low bits of an integer are known to be zero. */
static uint32_t trailing_zeros(LV v, uint32_t depth)
{
    if (LLVMIsAConstantInt(v)) {
        uint64_t x = LLVMConstIntGetZExtValue(v);
        return x ? (uint32_t)__builtin_ctzll(x) : 64;
    }
    if (!depth || !LLVMIsAInstruction(v))
        return 0;
    uint32_t a = LLVMGetNumOperands(v) > 0 ? trailing_zeros(LLVMGetOperand(v, 0), depth - 1) : 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMMul: return a + trailing_zeros(LLVMGetOperand(v, 1), depth - 1);
    case LLVMAdd: return MIN(a, trailing_zeros(LLVMGetOperand(v, 1), depth - 1));
    case LLVMShl:
        return LLVMIsAConstantInt(LLVMGetOperand(v, 1))
            ? a + (uint32_t)LLVMConstIntGetZExtValue(LLVMGetOperand(v, 1)) : a;
    case LLVMZExt: return a;
    default: return 0;
    }
}

/* first + lane, divided by 2^bits or reduced modulo it: in aligned runs that share a quotient the
 * remainder goes on counting. */
static Affine affine_split(Emit *e, Affine a, uint32_t bits, bool quotient)
{
    static const Affine none = { .group = 1 };
    uint64_t run = bits < 32 ? (uint64_t)1 << bits : 0;
    if (a.stride != 1 || !a.first || !run)
        return none;
    LT type = LLVMTypeOf(a.first);
    if (bits >= LLVMGetIntTypeWidth(type) ||
        MIN(run, a.group) > (uint64_t)1 << MIN(trailing_zeros(a.first, 8), 31))
        return none;
    Affine r = { .stride = !quotient, .group = (uint32_t)MIN(run, a.group), .no_wrap = true };
    if (r.group == e->W)
        r.first = quotient ? LLVMBuildLShr(e->b, a.first, LLVMConstInt(type, bits, 0), "")
                           : LLVMBuildAnd(e->b, a.first, LLVMConstInt(type, run - 1, 0), "");
    return r;
}

/* Unsigned x / d, x % d, x >> n, x & m by constants, as a shift and a mask; false: something
 * else. */
static bool splits(uint16_t op, LV operand, uint32_t *bits, bool *quotient)
{
    if (!operand || !LLVMIsAConstantInt(operand) || LLVMGetIntTypeWidth(LLVMTypeOf(operand)) > 64)
        return false;
    uint64_t x = LLVMConstIntGetZExtValue(operand);
    *quotient = op == SpvOpUDiv || op == SpvOpShiftRightLogical;
    if (op == SpvOpShiftRightLogical)
        *bits = (uint32_t)MIN(x, 64);
    else if (op == SpvOpBitwiseAnd && is_pow2(x + 1))
        *bits = (uint32_t)__builtin_ctzll(x + 1);
    else if ((op == SpvOpUDiv || op == SpvOpUMod) && is_pow2(x))
        *bits = (uint32_t)__builtin_ctzll(x);
    else
        return false;
    return true;
}

static Affine affine_binary(Emit *e, uint16_t op, Affine a, Affine b)
{
    static const Affine none = { .group = 1 };
    Affine r = { .group = MIN(a.group, b.group), .likely = a.likely || b.likely };
    bool first = a.first && b.first;
    int64_t factor;
    switch (op) {
    case SpvOpIAdd:
        r.stride = a.stride + b.stride;
        r.first = first ? LLVMBuildAdd(e->b, a.first, b.first, "") : NULL;
        break;
    case SpvOpISub:
        r.stride = a.stride - b.stride;
        r.first = first ? LLVMBuildSub(e->b, a.first, b.first, "") : NULL;
        break;
    case SpvOpIMul:
        if (a.stride == 0 && a.group == e->W && b.stride) {
            Affine t = a;
            a = b;
            b = t;
        }
        if (a.stride == 0 && b.stride == 0)
            factor = 0;
        else if (b.stride || b.group != e->W || !small_constant(b.first, &factor))
            return none;
        r.stride = a.stride * factor;
        r.first = first ? LLVMBuildMul(e->b, a.first, b.first, "") : NULL;
        break;
    case SpvOpShiftLeftLogical:
        if (b.stride || b.group != e->W || !small_constant(b.first, &factor) || factor < 0 ||
            factor > 16)
            return none;
        r.stride = a.stride * ((int64_t)1 << factor);
        r.first = first ? LLVMBuildShl(e->b, a.first, /* the amount may be of another width */
                                       LLVMConstInt(LLVMTypeOf(a.first), (uint64_t)factor, false),
                                       "") : NULL;
        break;
    default:
        if (a.likely || b.likely)
            return none;
        if (a.stride && !b.stride && b.group == e->W) {
            uint32_t bits;
            bool quotient;
            return splits(op, b.first, &bits, &quotient) ? affine_split(e, a, bits, quotient)
                : none;
        }
        return none;
    }
    return fits(r.stride) ? r : none;
}

static Affine affine_unary(Emit *e, const SpvInst *i, Affine a, LT from, LT type)
{
    static const Affine none = { .group = 1 };
    unsigned bits = LLVMGetIntTypeWidth(from), to = LLVMGetIntTypeWidth(type);
    switch (i->op) {
    case SpvOpCopyObject:
        return a;
    case SpvOpBitcast:
        return bits == to ? a : none;
    case SpvOpUConvert:
    case SpvOpSConvert:
        if (!a.no_wrap && to > bits)
            return none;
        if (a.first && to != bits)
            a.first = to < bits ? LLVMBuildTrunc(e->b, a.first, type, "")
                                : LLVMBuildZExt(e->b, a.first, type, "");
        a.no_wrap &= to >= bits;
        return a;
    default:
        return none;
    }
}

static bool is_unary(uint16_t op)
{
    return op == SpvOpCopyObject || op == SpvOpUConvert || op == SpvOpSConvert ||
        op == SpvOpBitcast;
}

static bool is_binary(uint16_t op)
{
    switch (op) {
    case SpvOpIAdd: case SpvOpISub: case SpvOpIMul: case SpvOpShiftLeftLogical:
    case SpvOpUDiv: case SpvOpUMod: case SpvOpShiftRightLogical: case SpvOpBitwiseAnd:
        return true;
    default:
        return false;
    }
}

/* Minimum, maximum, clamp, select: gives one of its operands. First operand of those. */
static bool is_choice(const SpvInst *i, uint32_t *first)
{
    *first = i->op == SpvOpSelect ? 1 : 2;
    if (i->op == SpvOpSelect)
        return true;
    if (i->op != SpvOpExtInst || i->ext_set != SPV_SET_GLSLstd450)
        return false;
    switch (spv_operand(i, 1)) {
    case GLSLstd450UMin: case GLSLstd450SMin: case GLSLstd450UMax: case GLSLstd450SMax:
    case GLSLstd450UClamp: case GLSLstd450SClamp:
        return true;
    default:
        return false;
    }
}

/* Most likely the operand that counts, when the others are the same for the lanes of a group. */
static Affine affine_choice(Emit *e, const SpvInst *i, uint32_t first, uint32_t k)
{
    Affine r = { .group = 1 };
    for (uint32_t o = first; o < spv_n_operands(i); o++) {
        Affine a = value_affine(e, emit_value(e, spv_operand(i, o)), k);
        if (a.group == 1 || (a.stride && r.stride))
            return (Affine){ .group = 1 };
        r.group = o == first ? a.group : MIN(r.group, a.group);
        if (a.stride)
            r.stride = a.stride;
    }
    r.likely = true;
    return r;
}

/* A pure operation on what does not differ within groups gives such. The group, 1 when it may
 * differ. */
static uint32_t same_within(Emit *e, const SpvInst *i, uint32_t n, uint32_t k)
{
    uint16_t at[8];
    uint32_t operands = spv_id_operands(i, at, COUNT_OF(at)), group = e->W;
    if (!spv_is_pure(i) || operands > COUNT_OF(at))
        return 1;
    for (uint32_t o = i->op == SpvOpExtInst; o < operands; o++) {
        const SpvType *t = spv_type_of(e->module, i->words[at[o]]);
        if (!t || emit_has_matrix(t))
            return 1;
        const Value *v = emit_value(e, i->words[at[o]]);
        if (v->pointer || (v->n != n && v->n != 1))
            return 1;
        Affine a = value_affine(e, v, v->n == 1 ? 0 : k);
        if (a.stride || a.likely)
            return 1;
        group = MIN(group, a.group);
    }
    return operands ? group : 1;
}

static Affine affine_leaf(Emit *e, const SpvInst *i, const Value *v, uint32_t k)
{
    static const Affine none = { .group = 1 };
    const SpvType *scalar = emit_leaf_type(e, v->type, k);
    uint32_t group = same_within(e, i, v->n, k), first;
    if (group > 1)
        return (Affine){ .group = group };
    if (scalar->kind != SPV_INT)
        return none;
    if (is_choice(i, &first))
        return affine_choice(e, i, first, k);
    if (!is_unary(i->op) && !is_binary(i->op))
        return none;
    const Value *a = emit_value(e, spv_operand(i, 0));
    const Value *b = is_unary(i->op) ? a : emit_value(e, spv_operand(i, 1));
    if (a->n != v->n || b->n != v->n)
        return none;
    if (is_binary(i->op))
        return affine_binary(e, i->op, value_affine(e, a, k), value_affine(e, b, k));
    LT from = LLVMTypeOf(a->leaf[k]);
    from = emit_is_lanes(a->leaf[k]) ? LLVMGetElementType(from) : from;
    if (LLVMGetTypeKind(from) != LLVMIntegerTypeKind)
        return none;
    return affine_unary(e, i, value_affine(e, a, k), from, emit_scalar_type(e, scalar));
}

/* Arithmetic: from the operands. Composites set theirs themselves (value_set_affine). */
void affine_result(Emit *e, const SpvInst *i, Value *v)
{
    if (!v->n || v->n > 4 || i->op == SpvOpPhi || v->type->kind == SPV_POINTER || !spv_is_pure(i))
        return;
    for (uint32_t k = 0; k < v->n; k++) {
        if (!emit_is_lanes(v->leaf[k]))
            continue;
        Affine a = affine_leaf(e, i, v, k);
        if (a.group < 2)
            continue;
        if (a.group == e->W && a.first && !a.stride && !a.likely) {
            v->leaf[k] = a.first;   /* the same for all lanes after all */
            continue;
        }
        if (!v->affine) {
            v->affine = NEW_ARRAY(e->arena, Affine, v->n);
            for (uint32_t j = 0; j < v->n; j++)
                v->affine[j].group = 1;
        }
        v->affine[k] = a;
    }
    for (uint32_t k = 0; v->affine && k < v->n; k++)
        if (!emit_is_lanes(v->leaf[k]))
            v->affine[k] = (Affine){ .first = v->leaf[k], .group = e->W };
}
