/* SPDX-License-Identifier: MIT
 *
 * shader, instructions: translates what Vulkan's environment expresses differently from OpenCL's:
 * built-in variables, barriers and atomics (scopes and semantics), sub-group functions, matrices'
 * memory, conversions that round or saturate, classes of numbers.
 */
#include "pass/shader.h"

#include <stdio.h>

static const SpvType *component_of(const SpvType *t)
{
    return t->kind == SPV_VECTOR ? t->element : t;
}

/* ---- built-in variables ---------------------------------------------------------------------- */

typedef struct Triple {
    SpvId x[3];
} Triple;

static Triple input_triple(Shader *s, uint32_t builtin)
{
    Triple t;
    SpvId v = shader_input(s, builtin, spv_vector_type(s->m, s->u32, 3));
    for (uint32_t k = 0; k < 3; k++)
        t.x[k] = EMIT(s, SpvOpCompositeExtract, s->u32, v, k);
    return t;
}

static Triple local_size(Shader *s)
{
    return (Triple){ { s->local_size[0], s->local_size[1], s->local_size[2] } };
}

static Triple times(Shader *s, Triple a, Triple b)
{
    for (uint32_t k = 0; k < 3; k++)
        a.x[k] = EMIT(s, SpvOpIMul, s->u32, a.x[k], b.x[k]);
    return a;
}

static SpvId linear(Shader *s, Triple id, Triple size)
{
    SpvId n = EMIT(s, SpvOpIMul, s->u32, id.x[2], size.x[1]);
    n = EMIT(s, SpvOpIAdd, s->u32, n, id.x[1]);
    n = EMIT(s, SpvOpIMul, s->u32, n, size.x[0]);
    return EMIT(s, SpvOpIAdd, s->u32, n, id.x[0]);
}

static SpvId as_integer(Shader *s, const SpvType *t, SpvId value)
{
    return t->bits == 32 ? value : EMIT(s, SpvOpUConvert, t->id, value);
}

static bool triple(Shader *s, uint32_t builtin, Triple *out)
{
    SpvId zero = shader_u32(s, 0);
    switch (builtin) {
    case SpvBuiltInNumWorkgroups:
    case SpvBuiltInWorkgroupId:
    case SpvBuiltInLocalInvocationId:
    case SpvBuiltInGlobalInvocationId: *out = input_triple(s, builtin); return true;
    case SpvBuiltInWorkgroupSize:
    case SpvBuiltInEnqueuedWorkgroupSize: *out = local_size(s); return true;
    case SpvBuiltInGlobalSize:
        *out = times(s, input_triple(s, SpvBuiltInNumWorkgroups), local_size(s));
        return true;
    case SpvBuiltInGlobalOffset: *out = (Triple){ { zero, zero, zero } }; return true;
    default: return false;
    }
}

static SpvId single(Shader *s, uint32_t builtin)
{
    switch (builtin) {
    case SpvBuiltInGlobalLinearId:
        return linear(s, input_triple(s, SpvBuiltInGlobalInvocationId),
                      times(s, input_triple(s, SpvBuiltInNumWorkgroups), local_size(s)));
    case SpvBuiltInWorkDim: return s->work_dim = s->work_dim ? s->work_dim : shader_spec(s, 3, 3);
    case SpvBuiltInSubgroupSize: return s->subgroup_size;
    case SpvBuiltInSubgroupMaxSize: return shader_input(s, SpvBuiltInSubgroupSize, s->u32);
    case SpvBuiltInNumEnqueuedSubgroups: return shader_input(s, SpvBuiltInNumSubgroups, s->u32);
    default: return shader_input(s, builtin, s->u32);
    }
}

static ShaderFate builtin(Shader *s, SpvInst *i, SpvId *to)
{
    uint32_t n;
    const uint32_t *which = spv_decoration(s->m, spv_operand(i, 0), -1, SpvDecorationBuiltIn, &n);
    const SpvType *t = spv_type(s->m, i->type);
    Triple ids;
    if (!which || (t->kind != SPV_VECTOR && t->kind != SPV_INT))
        return shader_refuse(s, i, "this variable"), FATE_ERROR;
    if (t->kind == SPV_VECTOR && t->count == 4)
        *to = shader_input(s, *which, t->id);
    else if (t->kind == SPV_INT)
        *to = as_integer(s, t, single(s, *which));
    else if (!triple(s, *which, &ids))
        return shader_refuse(s, i, "this built-in variable"), FATE_ERROR;
    else
        *to = EMIT(s, SpvOpCompositeConstruct, t->id, as_integer(s, t->element, ids.x[0]),
                   as_integer(s, t->element, ids.x[1]), as_integer(s, t->element, ids.x[2]));
    return FATE_GONE;
}

/* ---- scopes and semantics -------------------------------------------------------------------- */

static SpvId scope(Shader *s, SpvId id)
{
    uint64_t x = SpvScopeDevice;
    shader_constant(s, id, &x);
    if (x == SpvScopeCrossDevice || x == SpvScopeDevice)
        x = s->matrices ? SpvScopeQueueFamily : SpvScopeDevice;
    if (x == SpvScopeInvocation)
        x = SpvScopeSubgroup;
    return shader_u32(s, (uint32_t)x);
}

/* Vulkan has no sequential consistency: it becomes acquire and release. */
static SpvId semantics(Shader *s, SpvId id, uint32_t forbidden)
{
    enum {
        ORDERS = SpvMemorySemanticsAcquireMask | SpvMemorySemanticsReleaseMask |
                 SpvMemorySemanticsAcquireReleaseMask
    };
    uint64_t x = 0;
    shader_constant(s, id, &x);
    uint32_t order = (uint32_t)x & ORDERS, memory = 0;
    if (x & SpvMemorySemanticsSequentiallyConsistentMask)
        order = SpvMemorySemanticsAcquireReleaseMask;
    if (order & forbidden)
        order = forbidden & SpvMemorySemanticsReleaseMask ? SpvMemorySemanticsAcquireMask
                                                          : SpvMemorySemanticsReleaseMask;
    if (x & SpvMemorySemanticsCrossWorkgroupMemoryMask)
        memory |= SpvMemorySemanticsUniformMemoryMask;
    if (x & SpvMemorySemanticsWorkgroupMemoryMask)
        memory |= SpvMemorySemanticsWorkgroupMemoryMask;
    if (!order)
        return shader_u32(s, 0);
    if (!memory)
        memory = SpvMemorySemanticsUniformMemoryMask | SpvMemorySemanticsWorkgroupMemoryMask;
    if (s->matrices && order != SpvMemorySemanticsReleaseMask)
        memory |= SpvMemorySemanticsMakeVisibleMask;
    if (s->matrices && order != SpvMemorySemanticsAcquireMask)
        memory |= SpvMemorySemanticsMakeAvailableMask;
    return shader_u32(s, order | memory);
}

static ShaderFate barrier(Shader *s, SpvInst *i)
{
    bool control = i->op == SpvOpControlBarrier;
    uint32_t at = i->first_operand;
    SpvId *w = i->words + at;
    for (uint32_t k = 0; k < (control ? 2u : 1u); k++)
        w[k] = scope(s, w[k]);
    SpvId *last = &w[control ? 2 : 1];
    *last = semantics(s, *last, 0);
    return !control && *last == shader_u32(s, 0) ? FATE_GONE : FATE_STAYS;
}

void shader_barrier(Shader *s, uint32_t memory)
{
    SpvId where = shader_u32(s, SpvScopeWorkgroup);
    SpvId order = semantics(s, shader_u32(s, SpvMemorySemanticsAcquireReleaseMask | memory), 0);
    EMIT(s, SpvOpControlBarrier, 0, where, where, order);
}

/* ---- atomics --------------------------------------------------------------------------------- */

static ShaderFate flag(Shader *s, SpvInst *i, SpvId *to)
{
    const SpvType *word = spv_type(s->m, s->u32);
    uint32_t pieces;
    SpvId p = shader_access_chain(s, i, spv_operand(i, 0), word, true, &pieces);
    bool clear = i->op == SpvOpAtomicFlagClear;
    if (!p)
        return FATE_ERROR;
    SpvId at = scope(s, spv_operand(i, 1));
    SpvId order =
        semantics(s, spv_operand(i, 2),
                  clear ? SpvMemorySemanticsAcquireMask | SpvMemorySemanticsAcquireReleaseMask : 0);
    if (clear) {
        EMIT(s, SpvOpAtomicStore, 0, p, at, order, shader_u32(s, 0));
        return FATE_GONE;
    }
    SpvId old = EMIT(s, SpvOpAtomicExchange, s->u32, p, at, order, shader_u32(s, 1));
    *to = EMIT(s, SpvOpINotEqual, s->bool_, old, shader_u32(s, 0));
    return FATE_GONE;
}

/* Orders that the instruction must not have. */
static uint32_t forbidden_orders(uint16_t op)
{
    if (op == SpvOpAtomicLoad)
        return SpvMemorySemanticsReleaseMask | SpvMemorySemanticsAcquireReleaseMask;
    if (op == SpvOpAtomicStore)
        return SpvMemorySemanticsAcquireMask | SpvMemorySemanticsAcquireReleaseMask;
    return 0;
}

static ShaderFate convert_atomic(Shader *s, SpvInst *i, SpvId *to)
{
    bool is_store = i->op == SpvOpAtomicStore;
    bool compare = i->op == SpvOpAtomicCompareExchange || i->op == SpvOpAtomicCompareExchangeWeak;
    if (i->op == SpvOpAtomicFlagTestAndSet || i->op == SpvOpAtomicFlagClear)
        return flag(s, i, to);
    const SpvType *t = is_store ? spv_type_of(s->m, spv_operand(i, 3)) : spv_type(s->m, i->type);
    /* Floats are only moved here, so they are moved as integers, which every driver supports. */
    bool moved = t->kind == SPV_FLOAT &&
                 (is_store || compare || i->op == SpvOpAtomicLoad || i->op == SpvOpAtomicExchange);
    const SpvType *as = moved ? spv_type(s->m, spv_int_type(s->m, t->bits, false)) : t;
    uint32_t words[6], n = spv_n_operands(i), pieces, at = 3;
    words[0] = shader_access_chain(s, i, spv_operand(i, 0), as, true, &pieces);
    if (!words[0])
        return FATE_ERROR;
    words[1] = scope(s, spv_operand(i, 1));
    words[2] = semantics(s, spv_operand(i, 2), forbidden_orders(i->op));
    if (compare)
        words[at++] =
            semantics(s, spv_operand(i, 3),
                      SpvMemorySemanticsReleaseMask | SpvMemorySemanticsAcquireReleaseMask);
    for (; at < n; at++)
        words[at] = moved ? EMIT(s, SpvOpBitcast, as->id, spv_operand(i, at)) : spv_operand(i, at);
    uint16_t op = compare ? SpvOpAtomicCompareExchange : i->op;
    SpvId value = shader_emit(s, op, is_store ? 0 : as->id, words, n);
    *to = moved && !is_store ? EMIT(s, SpvOpBitcast, t->id, value) : value;
    return FATE_GONE;
}

/* ---- sub-groups ------------------------------------------------------------------------------ */

static ShaderFate group(Shader *s, SpvInst *i, SpvId *to)
{
    static const struct {
        uint16_t op, as;
    } table[] = {
        { SpvOpGroupAll, SpvOpGroupNonUniformAll },
        { SpvOpGroupAny, SpvOpGroupNonUniformAny },
        { SpvOpGroupBroadcast, SpvOpGroupNonUniformBroadcast },
        { SpvOpGroupIAdd, SpvOpGroupNonUniformIAdd },
        { SpvOpGroupFAdd, SpvOpGroupNonUniformFAdd },
        { SpvOpGroupFMin, SpvOpGroupNonUniformFMin },
        { SpvOpGroupUMin, SpvOpGroupNonUniformUMin },
        { SpvOpGroupSMin, SpvOpGroupNonUniformSMin },
        { SpvOpGroupFMax, SpvOpGroupNonUniformFMax },
        { SpvOpGroupUMax, SpvOpGroupNonUniformUMax },
        { SpvOpGroupSMax, SpvOpGroupNonUniformSMax },
    };
    uint64_t where;
    for (uint32_t k = 0; k < COUNT_OF(table); k++) {
        if (table[k].op != i->op)
            continue;
        if (!shader_constant(s, spv_operand(i, 0), &where) || where != SpvScopeSubgroup)
            return shader_refuse(s, i, "a scope that is no constant"), FATE_ERROR;
        uint32_t n = spv_n_operands(i);
        uint32_t words[3] = { spv_operand(i, 0), spv_operand(i, 1), n > 2 ? spv_operand(i, 2) : 0 };
        const SpvType *lane = n > 2 ? spv_type_of(s->m, words[2]) : NULL;
        if (i->op == SpvOpGroupBroadcast && lane && lane->bits > 32)
            words[2] = EMIT(s, SpvOpUConvert, s->u32, words[2]);
        *to = shader_emit(s, table[k].as, i->type, words, n);
        return FATE_GONE;
    }
    return FATE_STAYS;
}

/* ---- matrices -------------------------------------------------------------------------------- */

static ShaderFate matrix_access(Shader *s, SpvInst *i, SpvId *to)
{
    bool is_load = i->op == SpvOpCooperativeMatrixLoadKHR;
    uint32_t at = is_load ? 1 : 2, pieces, words[5], n = 0;
    const SpvType *t = is_load ? spv_type(s->m, i->type) : spv_type_of(s->m, spv_operand(i, 1));
    words[n++] = shader_access_chain(s, i, spv_operand(i, 0), t->element, false, &pieces);
    if (!words[0])
        return FATE_ERROR;
    if (!is_load)
        words[n++] = spv_operand(i, 1);
    words[n++] = spv_operand(i, at);
    if (spv_n_operands(i) > at + 1) {
        SpvId stride = spv_operand(i, at + 1);
        const SpvType *st = spv_type_of(s->m, stride);
        uint64_t k;
        if (shader_constant(s, stride, &k))
            stride = shader_u32(s, (uint32_t)k);
        else if (st->bits != 32)
            stride = EMIT(s, SpvOpUConvert, s->u32, stride);
        if (pieces > 1)
            stride = EMIT(s, SpvOpIMul, s->u32, stride, shader_u32(s, pieces));
        words[n++] = stride;
        words[n++] = SpvMemoryAccessNonPrivatePointerMask;
    }
    SpvId value = shader_emit(s, i->op, is_load ? i->type : 0, words, n);
    *to = is_load ? value : 0;
    return FATE_GONE;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static SpvId vector_like(Shader *s, const SpvType *shape, SpvId scalar)
{
    return shape->kind == SPV_VECTOR ? spv_vector_type(s->m, scalar, shape->count) : scalar;
}

static SpvId splat_scalar(Shader *s, const SpvType *shape, SpvId scalar)
{
    SpvId parts[16];
    if (shape->kind != SPV_VECTOR)
        return scalar;
    for (uint32_t k = 0; k < shape->count; k++)
        parts[k] = scalar;
    return spv_composite_constant(s->m, shape->id, parts, shape->count);
}

static SpvId float_constant(Shader *s, const SpvType *shape, double value)
{
    const SpvType *c = component_of(shape);
    return splat_scalar(s, shape,
                        spv_number_constant(s->m, c->id, shader_float_bits(value, c->bits)));
}

static SpvId int_constant(Shader *s, const SpvType *shape, uint64_t value)
{
    return splat_scalar(s, shape, spv_int_constant(s->m, component_of(shape)->id, value));
}

static double power_of_two(uint32_t n)
{
    double x = 1;
    while (n--)
        x *= 2;
    return x;
}

/* To an integer, as the decorations say: rounded first, and the ends of the range chosen. */
static ShaderFate float_to_int(Shader *s, SpvInst *i, SpvId *to)
{
    static const char *const modes[] = { "x RoundEven", NULL, "x Ceil", "x Floor" };
    uint32_t n;
    const uint32_t *mode = spv_decoration(s->m, i->id, -1, SpvDecorationFPRoundingMode, &n);
    bool saturated = spv_has_decoration(s->m, i->id, -1, SpvDecorationSaturatedConversion);
    SpvId x = spv_operand(i, 0);
    const SpvType *from = spv_type_of(s->m, x), *t = spv_type(s->m, i->type);
    bool is_signed = i->op == SpvOpConvertFToS;
    uint32_t bits = component_of(t)->bits;
    if (mode && *mode < COUNT_OF(modes) && modes[*mode])
        x = shader_evaluate(s, modes[*mode], from->id, &x);
    *to = EMIT(s, i->op, i->type, x);
    if (!saturated)
        return FATE_GONE;
    uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint64_t high = is_signed ? all >> 1 : all, low = is_signed ? all ^ high : 0;
    double above = power_of_two(is_signed ? bits - 1 : bits);
    SpvId bools = vector_like(s, from, s->bool_);
    SpvId over = EMIT(s, SpvOpFOrdGreaterThanEqual, bools, x, float_constant(s, from, above));
    SpvId under =
        EMIT(s, SpvOpFOrdLessThanEqual, bools, x, float_constant(s, from, is_signed ? -above : 0));
    *to = EMIT(s, SpvOpSelect, i->type, over, int_constant(s, t, high), *to);
    *to = EMIT(s, SpvOpSelect, i->type, under, int_constant(s, t, low), *to);
    SpvId none = EMIT(s, SpvOpIsNan, bools, x);
    *to = EMIT(s, SpvOpSelect, i->type, none, int_constant(s, t, 0), *to);
    return FATE_GONE;
}

/* Whether the float r, what the integer x became, is above x, and whether below: by r as an integer
 * again, which it may be too large for. */
static void compare_integer(Shader *s, const SpvType *t, SpvId x, SpvId r, bool is_signed,
                            SpvId out[2])
{
    const SpvType *rt = spv_type_of(s->m, r);
    uint32_t bits = component_of(t)->bits;
    SpvId bools = vector_like(s, t, s->bool_);
    SpvId limit = float_constant(s, rt, power_of_two(is_signed ? bits - 1 : bits));
    SpvId over = EMIT(s, SpvOpFOrdGreaterThanEqual, bools, r, limit);
    SpvId infinite = EMIT(s, SpvOpIsInf, bools, r);
    SpvId none = EMIT(s, SpvOpLogicalOr, bools, over, infinite);
    SpvId good = EMIT(s, SpvOpLogicalNot, bools, none);
    SpvId under = EMIT(s, SpvOpLogicalAnd, bools, infinite, EMIT(s, SpvOpLogicalNot, bools, over));
    r = EMIT(s, SpvOpSelect, rt->id, none, float_constant(s, rt, 0), r);
    SpvId back = EMIT(s, is_signed ? SpvOpConvertFToS : SpvOpConvertFToU, t->id, r);
    for (uint32_t k = 0; k < 2; k++) {
        uint16_t op = is_signed ? (k ? SpvOpSLessThan : SpvOpSGreaterThan)
                                : (k ? SpvOpULessThan : SpvOpUGreaterThan);
        SpvId own = EMIT(s, SpvOpLogicalAnd, bools, good, EMIT(s, op, bools, back, x));
        out[k] = EMIT(s, SpvOpLogicalOr, bools, own, k ? under : over);
    }
}

/* Shaders round to either neighbour; if it is the wrong one, the other is taken. */
SpvId shader_round(Shader *s, uint16_t op, SpvId type, SpvId x, uint32_t mode)
{
    /* of the result, whether it is above, whether below */
    static const char *const steps[] = {
        [SpvFPRoundingModeRTZ] = "x bits =b  x 0 FOrdLessThan z y ? b 1i ISub b ? float",
        [SpvFPRoundingModeRTP] = "x bits =b  z b 0i SLessThan b 1i ISub b 1i IAdd ?  b ? float",
        [SpvFPRoundingModeRTN] = "x bits =b  y b 0i SLessThan b 1i IAdd b 1i ISub ?  b ? float",
    };
    const SpvType *from = spv_type_of(s->m, x), *t = spv_type(s->m, type);
    bool wider = op == SpvOpFConvert && component_of(from)->bits < component_of(t)->bits;
    SpvId set[3] = { EMIT(s, op, type, x) };
    if (wider || mode >= COUNT_OF(steps) || !steps[mode])
        return set[0];
    if (op == SpvOpFConvert) {
        SpvId bools = vector_like(s, t, s->bool_), back = EMIT(s, op, from->id, set[0]);
        set[1] = EMIT(s, SpvOpFOrdGreaterThan, bools, back, x);
        set[2] = EMIT(s, SpvOpFOrdLessThan, bools, back, x);
    } else {
        compare_integer(s, from, x, set[0], op == SpvOpConvertSToF, set + 1);
    }
    return shader_evaluate(s, steps[mode], type, set);
}

static ShaderFate to_float(Shader *s, SpvInst *i, SpvId *to)
{
    uint32_t n;
    const uint32_t *mode = spv_decoration(s->m, i->id, -1, SpvDecorationFPRoundingMode, &n);
    if (!mode || *mode == SpvFPRoundingModeRTE)
        return FATE_STAYS;
    *to = shader_round(s, i->op, i->type, spv_operand(i, 0), *mode);
    return FATE_GONE;
}

static ShaderFate saturate(Shader *s, SpvInst *i, SpvId *to)
{
    SpvId x = spv_operand(i, 0);
    const SpvType *from = spv_type_of(s->m, x), *t = spv_type(s->m, i->type);
    uint32_t in = component_of(from)->bits, out = component_of(t)->bits;
    bool is_signed = i->op == SpvOpSatConvertSToU;
    uint32_t most = is_signed ? out : out - 1;
    SpvId set[2] = { x, int_constant(s, from, 0) };
    if (is_signed)
        set[0] = shader_evaluate(s, "x y SMax", from->id, set);
    if (most < in) {
        set[1] = int_constant(s, from, (UINT64_C(1) << most) - 1);
        set[0] = shader_evaluate(s, "x y UMin", from->id, set);
    }
    *to = in == out ? set[0] : EMIT(s, SpvOpUConvert, i->type, set[0]);
    return FATE_GONE;
}

static ShaderFate by_expression(Shader *s, SpvInst *i, const char *expression, SpvId *to)
{
    *to = shader_evaluate(s, expression, i->type, i->words + i->first_operand);
    return FATE_GONE;
}

/* NoContraction where the kernel's arithmetic is to be carried out as it is written. */
static ShaderFate arithmetic(Shader *s, SpvInst *i)
{
    if (s->exact && spv_type(s->m, i->type)->kind != SPV_COOPMAT)
        vec_push(s->a, &s->exact_ids, i->id);
    return FATE_STAYS;
}

/* Of a composite that was just made. */
static ShaderFate convert_extract(Shader *s, SpvInst *i, SpvId *to)
{
    const SpvInst *from = spv_def(s->m, spv_operand(i, 0));
    uint32_t k = spv_operand(i, 1);
    if (spv_n_operands(i) != 2 || from->op != SpvOpCompositeConstruct ||
        spv_type(s->m, from->type)->count != spv_n_operands(from) || k >= spv_n_operands(from))
        return FATE_STAYS;
    *to = spv_operand(from, k);
    return FATE_GONE;
}

static ShaderFate convert_call(Shader *s, SpvInst *i)
{
    const char *name = spv_name(s->m, spv_operand(i, 0));
    char text[160];
    snprintf(text, sizeof text, "a call of %s", name ? name : "a function");
    shader_refuse(s, i, text);
    return FATE_ERROR;
}

/* Vulkan has clocks of sub-groups and of the device. */
static ShaderFate clock_of(Shader *s, SpvInst *i)
{
    uint64_t where;
    if (!shader_constant(s, spv_operand(i, 0), &where) || where != SpvScopeSubgroup)
        i->words[i->first_operand] = shader_u32(s, SpvScopeDevice);
    return FATE_STAYS;
}

ShaderFate shader_operation(Shader *s, SpvInst *i, SpvId *to)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    switch (i->op) {
    case SpvOpLoad: return builtin(s, i, to);
    case SpvOpFunctionCall: return convert_call(s, i);
    case SpvOpControlBarrier:
    case SpvOpMemoryBarrier: return barrier(s, i);
    case SpvOpCooperativeMatrixLoadKHR:
    case SpvOpCooperativeMatrixStoreKHR: return matrix_access(s, i, to);
    case SpvOpConvertFToS:
    case SpvOpConvertFToU: return float_to_int(s, i, to);
    case SpvOpConvertSToF:
    case SpvOpConvertUToF:
    case SpvOpFConvert: return to_float(s, i, to);
    case SpvOpSatConvertSToU:
    case SpvOpSatConvertUToS: return saturate(s, i, to);
    case SpvOpBitCount: return by_expression(s, i, "x BitCount", to);
    case SpvOpIsFinite: return by_expression(s, i, "x IsNan x IsInf LogicalOr LogicalNot", to);
    case SpvOpIsNormal:
        return by_expression(s, i,
                             "x FAbs normal FOrdGreaterThanEqual x IsInf LogicalNot "
                             "LogicalAnd",
                             to);
    case SpvOpSignBitSet: return by_expression(s, i, "x bits 0i SLessThan", to);
    case SpvOpLessOrGreater: return by_expression(s, i, "x y FOrdNotEqual", to);
    case SpvOpOrdered: return by_expression(s, i, "x IsNan y IsNan LogicalOr LogicalNot", to);
    case SpvOpUnordered: return by_expression(s, i, "x IsNan y IsNan LogicalOr", to);
    case SpvOpFAdd:
    case SpvOpFSub:
    case SpvOpFMul: return arithmetic(s, i);
    case SpvOpReadClockKHR: return clock_of(s, i);
    case SpvOpCompositeExtract: return convert_extract(s, i, to);
    case SpvOpExtInst:
        return i->ext_set == SPV_SET_OpenCLstd_ ? shader_function(s, i, to) : FATE_STAYS;
    default:
        if (info && info->flags & SPV_OPF_ATOMIC)
            return convert_atomic(s, i, to);
        return group(s, i, to);
    }
}
