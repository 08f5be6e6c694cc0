/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_tensor_addressing: layouts and views as values. They are split into scalar leaves, so that
 * what a kernel sets to a constant is a constant here.
 */
#include "emit/tensor.h"
#include "emit/internal.h"
#include "llvm/ir.h"

static LV uniform_operand(Emit *e, SpvId id)
{
    return emit_cast_index(e, emit_uniform(e, emit_leaf(e, id, 0)), e->i32);
}

LV *emit_tensor_state(Emit *e, SpvId id, uint32_t n)
{
    LV *v = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t k = 0; k < n; k++)
        v[k] = emit_uniform(e, emit_leaf(e, id, k));
    return v;
}

static void create_tensor(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    uint32_t n = emit_n_leaves(e, t), dims = emit_tensor_dims(e, t);
    LV *v = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t k = 0; k < n; k++)
        v[k] = ir_int(e->i32, t->kind == SPV_TENSOR_LAYOUT && k < dims);
    if (t->kind == SPV_TENSOR_VIEW)
        v[TENSOR_VIEW_CLIP * dims + TENSOR_CLIP_ROWS] =
            v[TENSOR_VIEW_CLIP * dims + TENSOR_CLIP_COLS] = ir_int(e->i32, UINT32_MAX);
    emit_set(e, i, v, n);
}

/* The result of dividing by 0 is undefined, but the division must not trap. */
LV emit_tensor_divisor(Emit *e, LV n)
{
    LV zero = LLVMBuildICmp(e->b, LLVMIntEQ, n, ir_int(e->i32, 0), "");
    return LLVMBuildSelect(e->b, zero, ir_int(e->i32, 1), n, "");
}

/* ceiling(n / size) */
static LV blocks_in(Emit *e, LV n, LV size)
{
    if (ir_is_int(size, 1))
        return n;
    size = emit_tensor_divisor(e, size);
    LV q = LLVMBuildUDiv(e->b, n, size, ""), r = LLVMBuildURem(e->b, n, size, "");
    LV more = LLVMBuildICmp(e->b, LLVMIntNE, r, ir_int(e->i32, 0), "");
    return LLVMBuildAdd(e->b, q, LLVMBuildZExt(e->b, more, e->i32, ""), "");
}

static void set_layout(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    uint32_t n = emit_n_leaves(e, t), d = emit_tensor_dims(e, t);
    LV *v = emit_tensor_state(e, spv_operand(i, 0), n), x[2 * TENSOR_MAX_DIMS];
    uint32_t given = spv_n_operands(i) - 1;
    bool slice = i->op == SpvOpTensorLayoutSliceNV;
    bool clamp = i->op == SpvOpTensorLayoutSetClampValueNV;
    if (given != (slice ? 2 * d : clamp ? 1 : d)) {
        emit_error(e, i, "SPV_NV_tensor_addressing", "the layout has %u dimensions", d);
        return;
    }
    for (uint32_t k = 0; k < given; k++)
        x[k] = uniform_operand(e, spv_operand(i, 1 + k));
    LV stride = ir_int(e->i32, 1);
    for (uint32_t k = clamp ? 0 : d; k-- > 0;) {
        LV *f = v + k;
        switch (i->op) {
        case SpvOpTensorLayoutSetBlockSizeNV: f[TENSOR_BLOCK * d] = x[k]; break;
        case SpvOpTensorLayoutSetStrideNV: f[TENSOR_STRIDE * d] = x[k]; break;
        case SpvOpTensorLayoutSliceNV:
            f[TENSOR_OFFSET * d] = LLVMBuildAdd(e->b, f[TENSOR_OFFSET * d], x[2 * k], "");
            f[TENSOR_SPAN * d] = x[2 * k + 1];
            break;
        default:
            f[TENSOR_SIZE * d] = f[TENSOR_SPAN * d] = x[k];
            f[TENSOR_OFFSET * d] = ir_int(e->i32, 0);
            f[TENSOR_STRIDE * d] = stride;
            stride = LLVMBuildMul(e->b, stride, blocks_in(e, x[k], f[TENSOR_BLOCK * d]), "");
        }
    }
    if (clamp)
        v[TENSOR_CLAMP_VALUE * d] = x[0];
    emit_set(e, i, v, n);
}

static void set_view(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    uint32_t n = emit_n_leaves(e, t), d = emit_tensor_dims(e, t), given = spv_n_operands(i) - 1;
    LV *v = emit_tensor_state(e, spv_operand(i, 0), n), stride = ir_int(e->i32, 1);
    bool clip = i->op == SpvOpTensorViewSetClipNV;
    if (given != (clip ? 4 : d)) {
        emit_error(e, i, "SPV_NV_tensor_addressing", "the view has %u dimensions", d);
        return;
    }
    for (uint32_t k = given; k-- > 0;) {
        LV x = uniform_operand(e, spv_operand(i, 1 + k));
        if (i->op == SpvOpTensorViewSetDimensionNV) {
            v[TENSOR_VIEW_SIZE * d + k] = x;
            v[TENSOR_VIEW_STRIDE * d + k] = stride;
            stride = LLVMBuildMul(e->b, stride, x, "");
        } else {
            v[(clip ? TENSOR_VIEW_CLIP : TENSOR_VIEW_STRIDE) * d + k] = x;
        }
    }
    emit_set(e, i, v, n);
}

const EmitRule emit_rules_tensor[] = {
    { SpvOpCreateTensorLayoutNV, EMIT_CHEAP, create_tensor },
    { SpvOpCreateTensorViewNV, EMIT_CHEAP, create_tensor },
    { SpvOpTensorLayoutSetBlockSizeNV, 0, set_layout },
    { SpvOpTensorLayoutSetDimensionNV, 0, set_layout },
    { SpvOpTensorLayoutSetStrideNV, 0, set_layout },
    { SpvOpTensorLayoutSliceNV, 0, set_layout },
    { SpvOpTensorLayoutSetClampValueNV, 0, set_layout },
    { SpvOpTensorViewSetDimensionNV, 0, set_view },
    { SpvOpTensorViewSetStrideNV, 0, set_view },
    { SpvOpTensorViewSetClipNV, 0, set_view },
    { 0, 0, NULL },
};
