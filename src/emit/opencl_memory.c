/* SPDX-License-Identifier: MIT
 *
 * The instructions of OpenCL.std that do not work component by component, or that use memory:
 * vector loads and stores (also of half, which they convert), second results through pointers,
 * geometry, shuffles, printf.
 *
 * printf: each active lane's arguments, passed as in OpenCL C, become 64-bit words (integers
 * extended from their own width, floats as double, strings as addresses). The dispatch formats
 * them.
 */
#include "emit/internal.h"
#include "emit/opencl_std.h"
#include "llvm/ir.h"

#include <math.h>
#include <stddef.h>

static SpvId operand(const SpvInst *i, uint32_t n) { return spv_operand(i, 2 + n); }
static const SpvType *result_type(Emit *e, const SpvInst *i)
{
    return spv_type(e->module, i->type);
}

static const SpvType half = { .kind = SPV_FLOAT, .bits = 16, .leaves = 1, .size = 2, .align = 2 };

/* ---- vectors in memory ----------------------------------------------------------------------- */

/* The pointer moved by `index` steps of `stride` bytes. */
static EmitPointer element(Emit *e, SpvId pointer, SpvId index, int64_t stride)
{
    EmitPointer p = *emit_pointer(e, pointer);
    pointer_add_index(e, &p, index, stride);
    return p;
}

/* vloadn: tight vectors of any element. */
static void load_vector(Emit *e, const SpvInst *i)
{
    const SpvType *t = result_type(e, i);
    uint32_t n = emit_n_leaves(e, t), size = emit_scalar_bytes(e, emit_leaf_type(e, t, 0));
    EmitPointer p = element(e, operand(i, 1), operand(i, 0), (int64_t)size * n);
    LV *v = NEW_ARRAY(e->arena, LV, n + 1);
    p.at.type = t;
    emit_load(e, &p, v);
    emit_set(e, i, v, n);
}

static void store_vector(Emit *e, const SpvInst *i)
{
    const EmitValue *value = emit_value(e, operand(i, 0));
    uint32_t n, size = emit_scalar_bytes(e, emit_leaf_type(e, value->type, 0));
    LV *v = ops_leaves(e, operand(i, 0), &n);
    EmitPointer p = element(e, operand(i, 2), operand(i, 1), (int64_t)size * n);
    p.at.type = value->type;
    e->target->settle(e);
    emit_store(e, &p, v);
}

static IrRounding rounding(uint32_t mode)
{
    return mode == SpvFPRoundingModeRTZ   ? ROUND_ZERO
           : mode == SpvFPRoundingModeRTP ? ROUND_UP
           : mode == SpvFPRoundingModeRTN ? ROUND_DOWN
                                          : ROUND_NEAREST;
}

/* If `aligned`, a vector of three takes up as much memory as one of four. */
static void load_half(Emit *e, const SpvInst *i, bool aligned)
{
    const SpvType *t = result_type(e, i);
    uint32_t n = emit_n_leaves(e, t);
    IrComp to = comp_of(emit_leaf_type(e, t, 0));
    EmitPointer p = element(e, operand(i, 1), operand(i, 0), 2 * (aligned && n == 3 ? 4 : n));
    LV *v = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t k = 0; k < n; k++)
        v[k] = arith_convert(e->b, emit_load_leaf(e, &p, 2 * k, &half), COMP_F16, to, ROUND_NEAREST,
                             false);
    emit_set(e, i, v, n);
}

static void store_half(Emit *e, const SpvInst *i, bool aligned, bool rounded)
{
    uint32_t n;
    LV *v = ops_leaves(e, operand(i, 0), &n);
    IrComp from = comp_of(ops_type(e, operand(i, 0)));
    IrRounding r = rounded ? rounding(operand(i, 3)) : ROUND_NEAREST;
    EmitPointer p = element(e, operand(i, 2), operand(i, 1), 2 * (aligned && n == 3 ? 4 : n));
    e->target->settle(e);
    for (uint32_t k = 0; k < n; k++)
        emit_store_leaf(e, &p, 2 * k, &half, arith_convert(e->b, v[k], from, COMP_F16, r, false));
}

/* ---- second results -------------------------------------------------------------------------- */

static LV second_result(Emit *e, const SpvInst *i, uint32_t number, LV x, LV y, LV *second)
{
    LV power, zero = LLVMConstNull(LLVMTypeOf(x));
    switch (number) {
    case OpenCLstd_fract: return opencl_fract(e, x, second);
    case OpenCLstd_remquo: return opencl_remquo(e, x, y, second);
    case OpenCLstd_sincos: *second = math_cos(e->b, x); return math_sin(e->b, x);
    case OpenCLstd_frexp: {
        LV r = math_frexp(e->b, x, &power);
        *second = power;
        return r;
    }
    case OpenCLstd_modf: {
        *second = ir_unary(e->b, "llvm.trunc", x);
        LV rest = LLVMBuildFSub(e->b, x, *second, "");
        LV infinite = LLVMBuildFCmp(e->b, LLVMRealOEQ, ir_unary(e->b, "llvm.fabs", x),
                                    ir_real(LLVMTypeOf(x), INFINITY), "");
        rest = LLVMBuildSelect(e->b, infinite, zero, rest, "");
        return ir_binary(e->b, "llvm.copysign", rest, x);
    }
    default: { /* lgamma_r: gamma is negative between -1 and 0, -3 and -2, ... */
        LV floor = ir_unary(e->b, "llvm.floor", x);
        LV two = LLVMBuildFMul(e->b, floor, ir_real(LLVMTypeOf(x), 0.5), "");
        LV odd = LLVMBuildFCmp(e->b, LLVMRealONE, ir_unary(e->b, "llvm.floor", two), two, "");
        LV below = LLVMBuildFCmp(e->b, LLVMRealOLT, x, zero, "");
        LT ints = ir_type_like(LLVMTypeOf(x), e->i32);
        *second = LLVMBuildSelect(e->b, LLVMBuildAnd(e->b, odd, below, ""),
                                  ir_int(ints, UINT64_MAX), ir_int(ints, 1), "");
        (void)i;
        return math_libm(e->b, "lgamma", x, NULL);
    }
    }
}

static void two_results(Emit *e, const SpvInst *i, uint32_t number)
{
    bool binary = number == OpenCLstd_remquo;
    uint32_t n, m;
    LV *x = ops_leaves(e, operand(i, 0), &n), *y = binary ? ops_leaves(e, operand(i, 1), &m) : x;
    LV *second = NEW_ARRAY(e->arena, LV, n + 1);
    EmitPointer p = *emit_pointer(e, operand(i, binary ? 2 : 1));
    if (!p.at.type || emit_n_leaves(e, p.at.type) != n) {
        emit_error(e, i, "OpenCL.std", "the second result has another size than the first");
        return;
    }
    LT type = emit_scalar_type(e, emit_leaf_type(e, p.at.type, 0));
    for (uint32_t k = 0; k < n; k++) {
        LV v[2] = { x[k], y[k] };
        emit_unify(e, v, 2);
        x[k] = second_result(e, i, number, v[0], v[1], &second[k]);
        if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind)
            second[k] = arith_resize(e->b, second[k], type, true);
    }
    e->target->settle(e);
    emit_store(e, &p, second);
    emit_set(e, i, x, n);
}

/* ---- geometry -------------------------------------------------------------------------------- */

static LV times(Emit *e, LV x, LV y) { return LLVMBuildFMul(e->b, x, y, ""); }

/* A power of two that keeps the squares of the components from overflowing or vanishing, usually
 * 1. */
static LV scale_of(Emit *e, const LV *x, uint32_t n)
{
    LV most = ir_unary(e->b, "llvm.fabs", x[0]);
    for (uint32_t k = 1; k < n; k++)
        most = ir_greater(e->b, most, ir_unary(e->b, "llvm.fabs", x[k]));
    LT t = LLVMTypeOf(most);
    double limit = ir_element(t) == e->f64 ? 0x1p500 : 0x1p60;
    LV large = LLVMBuildFCmp(e->b, LLVMRealOGT, most, ir_real(t, limit), "");
    LV small = LLVMBuildFCmp(e->b, LLVMRealOLT, most, ir_real(t, 1 / limit), "");
    LV up = LLVMBuildSelect(e->b, small, ir_real(t, limit * 0x1p26), ir_real(t, 1), "");
    return LLVMBuildSelect(e->b, large, ir_real(t, 1 / limit / 0x1p10), up, "");
}

/* half is computed in float, which has room for its squares. */
static LV *widened(Emit *e, SpvId id, uint32_t *n)
{
    LV *x = ops_leaves(e, id, n);
    emit_unify(e, x, *n);
    for (uint32_t k = 0; k < *n; k++)
        if (ir_element(LLVMTypeOf(x[k])) == e->f16)
            x[k] = LLVMBuildFPExt(e->b, x[k], ir_type_like(LLVMTypeOf(x[k]), e->f32), "");
    return x;
}

static LV narrowed(Emit *e, const SpvInst *i, LV x)
{
    LT t = emit_scalar_type(e, emit_leaf_type(e, result_type(e, i), 0));
    return t == e->f16 ? LLVMBuildFPTrunc(e->b, x, ir_type_like(LLVMTypeOf(x), t), "") : x;
}

static LV norm(Emit *e, const SpvInst *i, const LV *x, uint32_t n, LV scale)
{
    LV *s = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t k = 0; k < n; k++)
        s[k] = times(e, x[k], scale);
    return math_sqrt(e->b, ops_dot(e, i, s, s, n));
}

static void length(Emit *e, const SpvInst *i, bool distance)
{
    uint32_t n, m;
    LV *x = widened(e, operand(i, 0), &n), *y = distance ? widened(e, operand(i, 1), &m) : NULL;
    for (uint32_t k = 0; y && k < MIN(n, m); k++) {
        LV v[2] = { x[k], y[k] };
        emit_unify(e, v, 2);
        x[k] = LLVMBuildFSub(e->b, v[0], v[1], "");
    }
    emit_unify(e, x, n);
    LV scale = scale_of(e, x, n);
    LV r = LLVMBuildFDiv(e->b, norm(e, i, x, n, scale), scale, "");
    emit_set1(e, i, narrowed(e, i, n == 1 ? ir_unary(e->b, "llvm.fabs", x[0]) : r));
}

static void normalize(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *x = widened(e, operand(i, 0), &n), scale = scale_of(e, x, n);
    LV size = norm(e, i, x, n, scale), zero = LLVMConstNull(LLVMTypeOf(size));
    LV none = LLVMBuildFCmp(e->b, LLVMRealOEQ, size, zero, "");
    for (uint32_t k = 0; k < n; k++) {
        LV r = LLVMBuildFDiv(e->b, times(e, x[k], scale), size, "");
        x[k] = narrowed(e, i, LLVMBuildSelect(e->b, none, x[k], r, ""));
    }
    emit_set(e, i, x, n);
}

/* The fourth component, if any, is 0. */
static void cross(Emit *e, const SpvInst *i)
{
    uint32_t n, m;
    LV *x = ops_leaves(e, operand(i, 0), &n), *y = ops_leaves(e, operand(i, 1), &m), r[4];
    emit_unify(e, x, n);
    emit_unify(e, y, n);
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t a = (k + 1) % 3, b = (k + 2) % 3;
        r[k] = ops_float(e, i, LLVMFSub, ops_float(e, i, LLVMFMul, x[a], y[b]),
                         ops_float(e, i, LLVMFMul, y[a], x[b]));
    }
    r[3] = LLVMConstNull(emit_scalar_type(e, emit_leaf_type(e, result_type(e, i), 0)));
    emit_set(e, i, r, MIN(n, 4));
}

/* ---- shuffles -------------------------------------------------------------------------------- */

/* Component k is the component of x (or of x and y side by side) that component k of the mask
 * names. */
static void shuffle(Emit *e, const SpvInst *i, bool two)
{
    uint32_t n, m = 0, count;
    LV *x = ops_leaves(e, operand(i, 0), &n), *y = two ? ops_leaves(e, operand(i, 1), &m) : NULL;
    LV *mask = ops_leaves(e, operand(i, two ? 2 : 1), &count);
    LV *r = NEW_ARRAY(e->arena, LV, count + 1);
    for (uint32_t k = 0; k < count; k++) {
        LT t = LLVMTypeOf(mask[k]);
        LV at = LLVMBuildAnd(e->b, mask[k], ir_int(t, n + m - 1), "");
        r[k] = x[0];
        for (uint32_t j = 1; j < n + m; j++) {
            LV is = LLVMBuildICmp(e->b, LLVMIntEQ, at, ir_int(t, j), "");
            r[k] = ops_select(e, is, j < n ? x[j] : y[j - n], r[k]);
        }
    }
    emit_set(e, i, r, count);
}

/* ---- printf ---------------------------------------------------------------------------------- */

/* A component of an argument as a 64-bit word. */
static LV print_word(Emit *e, const SpvType *t, LV v)
{
    if (t->kind == SPV_FLOAT) {
        IrComp c = comp_of(t);
        v = c == COMP_F64 ? v : arith_convert(e->b, v, c, COMP_F64, ROUND_NEAREST, false);
        return LLVMBuildBitCast(e->b, v, ir_type_like(LLVMTypeOf(v), e->i64), "");
    }
    return arith_resize(e->b, v, e->i64, false);
}

/* The variable whose beginning a pointer leads to, or NULL. */
static const SpvInst *pointed_variable(const SpvModule *m, SpvId pointer)
{
    const SpvInst *i = spv_def(m, pointer);
    for (; i->op != SpvOpVariable; i = spv_def(m, spv_operand(i, 0))) {
        uint64_t index = 0;
        if (i->op != SpvOpAccessChain && i->op != SpvOpInBoundsAccessChain &&
            i->op != SpvOpPtrAccessChain && i->op != SpvOpInBoundsPtrAccessChain &&
            i->op != SpvOpBitcast && i->op != SpvOpPtrCastToGeneric && i->op != SpvOpCopyObject)
            return NULL;
        for (uint32_t o = 1; o < spv_n_operands(i); o++)
            if (!spv_constant(m, spv_operand(i, o), &index) || index)
                return NULL;
    }
    return i;
}

/* The characters of a constant array of them, to whose first a pointer leads. */
static const char *constant_text(Emit *e, SpvId pointer)
{
    SpvModule *m = e->module;
    const SpvInst *v =
        spv_type_of(m, pointer)->kind == SPV_POINTER ? pointed_variable(m, pointer) : NULL;
    const SpvInst *from = v && spv_n_operands(v) > 1 ? spv_def(m, spv_operand(v, 1)) : NULL;
    if (!from || (from->op != SpvOpConstantComposite && from->op != SpvOpConstantNull))
        return NULL;
    uint32_t n = from->op == SpvOpConstantNull ? 0 : spv_n_operands(from);
    char *text = arena_alloc(e->arena, n + 1);
    text[n] = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t character;
        if (!spv_constant(m, spv_operand(from, k), &character) || character > UINT8_MAX)
            return NULL;
        text[k] = (char)character;
    }
    return text;
}

static void print(Emit *e, const SpvInst *i)
{
    VEC(LV) words = { 0 };
    VEC(const char *) texts = { 0 };
    for (uint32_t o = 1; o + 2 < spv_n_operands(i); o++) {
        uint32_t n;
        const SpvType *t = emit_value(e, operand(i, o))->type;
        LV *v = ops_leaves(e, operand(i, o), &n);
        const char *text = constant_text(e, operand(i, o));
        for (uint32_t k = 0; k < n; k++) {
            vec_push(e->arena, &words, print_word(e, emit_leaf_type(e, t, k), v[k]));
            vec_push(e->arena, &texts, text);
        }
    }
    EmitPrint p = { operand(i, 0), words.data, (uint32_t)words.len, constant_text(e, operand(i, 0)),
                    texts.data };
    e->target->print(e, &p);
    emit_set1(e, i, LLVMConstNull(emit_scalar_type(e, result_type(e, i))));
}

/* ---- the instruction ------------------------------------------------------------------------- */

bool opencl_memory_inst(Emit *e, const SpvInst *i)
{
    uint32_t number = spv_operand(i, 1);
    switch (number) {
    case OpenCLstd_vloadn: load_vector(e, i); return true;
    case OpenCLstd_vstoren: store_vector(e, i); return true;
    case OpenCLstd_vload_half:
    case OpenCLstd_vload_halfn: load_half(e, i, false); return true;
    case OpenCLstd_vloada_halfn: load_half(e, i, true); return true;
    case OpenCLstd_vstore_half:
    case OpenCLstd_vstore_halfn: store_half(e, i, false, false); return true;
    case OpenCLstd_vstore_half_r:
    case OpenCLstd_vstore_halfn_r: store_half(e, i, false, true); return true;
    case OpenCLstd_vstorea_halfn: store_half(e, i, true, false); return true;
    case OpenCLstd_vstorea_halfn_r: store_half(e, i, true, true); return true;
    case OpenCLstd_fract:
    case OpenCLstd_frexp:
    case OpenCLstd_modf:
    case OpenCLstd_sincos:
    case OpenCLstd_remquo:
    case OpenCLstd_lgamma_r: two_results(e, i, number); return true;
    case OpenCLstd_length:
    case OpenCLstd_fast_length: length(e, i, false); return true;
    case OpenCLstd_distance:
    case OpenCLstd_fast_distance: length(e, i, true); return true;
    case OpenCLstd_normalize:
    case OpenCLstd_fast_normalize: normalize(e, i); return true;
    case OpenCLstd_cross: cross(e, i); return true;
    case OpenCLstd_shuffle: shuffle(e, i, false); return true;
    case OpenCLstd_shuffle2: shuffle(e, i, true); return true;
    case OpenCLstd_printf: print(e, i); return true;
    case OpenCLstd_prefetch: return true;
    default: return false;
    }
}
