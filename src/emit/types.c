/* SPDX-License-Identifier: MIT
 *
 * Types for the code generator: the LLVM type of a leaf, how a composite is flattened, where its
 * parts lie in memory.
 *
 * Explicit layouts come from Offset, ArrayStride, MatrixStride and RowMajor (SPIR-V 3.20). A type
 * without them (a scalar behind a physical pointer, a workgroup variable) is laid out naturally,
 * each scalar aligned to its size.
 */
#include "emit/target.h"

LT emit_scalar_type(Emit *e, const SpvType *t)
{
    switch (t->kind) {
    case SPV_BOOL: return e->i1;
    case SPV_INT: return LLVMIntTypeInContext(e->cx, t->bits);
    case SPV_FLOAT:
        if (t->bits <= 8)
            return e->i8;
        if (t->bits == 16)
            return t->format == SPV_BF16 ? e->bf16 : e->f16;
        return t->bits == 64 ? e->f64 : e->f32;
    case SPV_POINTER:
    case SPV_IMAGE:
    case SPV_SAMPLER:
    case SPV_SAMPLED_IMAGE: return e->i64;
    default: return e->i32;
    }
}

LT emit_lanes_type(Emit *e, LT scalar)
{
    return e->target->lanes ? LLVMVectorType(scalar, e->W) : scalar;
}

bool emit_is_physical(const Emit *e, const SpvType *pointer)
{
    if (e->entry->model == SpvExecutionModelKernel)
        return true;
    switch (pointer->storage) {
    case SpvStorageClassPhysicalStorageBuffer:
    case SpvStorageClassCrossWorkgroup:
    case SpvStorageClassGeneric: return true;
    default: return false;
    }
}

bool emit_is_opaque(const SpvType *t)
{
    while (t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY))
        t = t->element;
    return t && (t->kind == SPV_IMAGE || t->kind == SPV_SAMPLER || t->kind == SPV_SAMPLED_IMAGE);
}

uint32_t emit_tensor_dims(Emit *e, const SpvType *t)
{
    uint64_t n = 0;
    spv_constant(e->module, spv_operand(spv_def(e->module, t->id), 0), &n);
    return (uint32_t)MIN((uint32_t)n, 5u);
}

uint32_t emit_n_leaves(Emit *e, const SpvType *t)
{
    uint64_t n = 0;
    switch (t->kind) {
    case SPV_BOOL:
    case SPV_INT:
    case SPV_FLOAT:
    case SPV_EVENT:
    case SPV_IMAGE:
    case SPV_SAMPLER: return 1;
    case SPV_SAMPLED_IMAGE: return 2;
    case SPV_POINTER: return emit_is_physical(e, t) ? 1 : 3;
    case SPV_VECTOR:
    case SPV_MATRIX:
    case SPV_ARRAY: n = (uint64_t)t->count * emit_n_leaves(e, t->element); break;
    case SPV_STRUCT:
        for (uint32_t k = 0; k < t->count; k++)
            n += emit_n_leaves(e, t->members[k]);
        break;
    case SPV_TENSOR_LAYOUT: return 5 * emit_tensor_dims(e, t) + 1;
    case SPV_TENSOR_VIEW: return 2 * emit_tensor_dims(e, t) + 4;
    default: return 0;
    }
    if (n > 65536) {
        emit_error(e, spv_def(e->module, t->id), NULL,
                   "a value of %llu components is too large to be held in registers",
                   (unsigned long long)n);
        return 0;
    }
    return (uint32_t)n;
}

const SpvType *emit_part_type(const SpvType *t, uint32_t index)
{
    switch (t->kind) {
    case SPV_STRUCT: return index < t->count ? t->members[index] : NULL;
    case SPV_VECTOR:
    case SPV_MATRIX:
    case SPV_ARRAY: return index < t->count ? t->element : NULL;
    case SPV_RUNTIME_ARRAY: return t->element;
    default: return NULL;
    }
}

uint32_t emit_leaf_offset(Emit *e, const SpvType *t, uint32_t index)
{
    if (t->kind != SPV_STRUCT)
        return t->element ? index * emit_n_leaves(e, t->element) : 0;
    uint32_t n = 0;
    for (uint32_t k = 0; k < index && k < t->count; k++)
        n += emit_n_leaves(e, t->members[k]);
    return n;
}

const SpvType *emit_leaf_type(Emit *e, const SpvType *t, uint32_t k)
{
    static const SpvType word = { .kind = SPV_INT, .bits = 32 };
    for (;;) {
        switch (t->kind) {
        case SPV_VECTOR:
        case SPV_MATRIX:
        case SPV_ARRAY: {
            uint32_t n = emit_n_leaves(e, t->element);
            if (!n)
                return t;
            k %= n;
            t = t->element;
            break;
        }
        case SPV_STRUCT: {
            uint32_t m = 0;
            for (; m + 1 < t->count; m++) {
                uint32_t n = emit_n_leaves(e, t->members[m]);
                if (k < n)
                    break;
                k -= n;
            }
            if (m >= t->count)
                return t;
            t = t->members[m];
            break;
        }
        case SPV_TENSOR_LAYOUT:
        case SPV_TENSOR_VIEW: return &word;
        default: return t;
        }
    }
}

bool emit_has_matrix(const SpvType *t)
{
    switch (t ? t->kind : SPV_VOID) {
    case SPV_COOPMAT: return true;
    case SPV_POINTER:
        /* not followed for buffers: they cannot hold matrices, and may point to themselves */
        return (t->storage == SpvStorageClassFunction || t->storage == SpvStorageClassPrivate) &&
               emit_has_matrix(t->element);
    case SPV_ARRAY: return emit_has_matrix(t->element);
    case SPV_STRUCT:
        for (uint32_t k = 0; k < t->count; k++)
            if (t->members[k]->kind != SPV_POINTER && emit_has_matrix(t->members[k]))
                return true;
        return false;
    default: return false;
    }
}

uint32_t emit_scalar_bytes(Emit *e, const SpvType *t)
{
    (void)e;
    switch (t->kind) {
    case SPV_BOOL: return 1;
    case SPV_INT:
    case SPV_FLOAT: return (t->bits + 7) / 8;
    case SPV_POINTER:
    case SPV_IMAGE:
    case SPV_SAMPLER:
    case SPV_SAMPLED_IMAGE: return 8;
    default: return 4;
    }
}

/* ---- layouts --------------------------------------------------------------------------------- */

static uint64_t vector_bytes(Emit *e, const EmitLayout *l)
{
    const SpvType *t = l->type;
    uint32_t size = emit_scalar_bytes(e, t->element);
    if (l->component_stride)
        return (uint64_t)l->component_stride * (t->count - 1) + size;
    if (l->rule == LAYOUT_OPENCL && t->count == 3)
        return (uint64_t)size * 4;
    return (uint64_t)size * t->count;
}

/* A structure of OpenCL C without gaps between its members. */
static bool is_packed(Emit *e, const EmitLayout *l)
{
    return l->rule == LAYOUT_OPENCL &&
           spv_has_decoration(e->module, l->type->id, -1, SpvDecorationCPacked);
}

uint64_t emit_layout_align(Emit *e, const EmitLayout *l)
{
    const SpvType *t = l->type;
    EmitLayout part = *l;
    uint64_t align = 1;
    switch (t->kind) {
    case SPV_VECTOR:
        if (l->rule == LAYOUT_OPENCL)
            return vector_bytes(e, l);
        return emit_scalar_bytes(e, t->element);
    case SPV_MATRIX:
    case SPV_ARRAY:
    case SPV_RUNTIME_ARRAY: part.type = t->element; return emit_layout_align(e, &part);
    case SPV_STRUCT:
        for (uint32_t k = 0; k < t->count && !is_packed(e, l); k++) {
            part.type = t->members[k];
            align = MAX(align, emit_layout_align(e, &part));
        }
        return align;
    case SPV_POINTER: return 8;
    case SPV_COOPMAT: return 1;
    default: return emit_scalar_bytes(e, t);
    }
}

uint64_t emit_layout_stride(Emit *e, const EmitLayout *l)
{
    const SpvType *t = l->type;
    bool explicit_ = l->rule == LAYOUT_EXPLICIT;
    if (t->kind == SPV_VECTOR)
        return l->component_stride ? l->component_stride : emit_scalar_bytes(e, t->element);
    EmitLayout part = *l;
    part.type = t->element;
    if (t->kind == SPV_MATRIX && explicit_ && l->matrix_stride)
        return l->row_major ? emit_scalar_bytes(e, t->element->element) : l->matrix_stride;
    if ((t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY) && explicit_ && t->array_stride)
        return t->array_stride;
    return align_up(emit_layout_size(e, &part), emit_layout_align(e, &part));
}

static EmitLayout member_layout(const EmitLayout *l, uint32_t k)
{
    const SpvType *t = l->type;
    EmitLayout part = { .type = t->members[k], .rule = l->rule };
    if (l->rule == LAYOUT_EXPLICIT && t->matrix_strides)
        part.matrix_stride = t->matrix_strides[k];
    if (l->rule == LAYOUT_EXPLICIT && t->row_major)
        part.row_major = t->row_major[k];
    return part;
}

/* The offset of member k of a struct; for k == count, the end of the last member. */
static uint64_t member_offset(Emit *e, const EmitLayout *l, uint32_t k)
{
    const SpvType *t = l->type;
    uint64_t at = 0, end = 0;
    for (uint32_t m = 0; m < t->count; m++) {
        bool placed = l->rule == LAYOUT_EXPLICIT && t->offsets && t->offsets[m] != UINT32_MAX;
        if (m == k && placed)
            return t->offsets[m];
        if (placed && k < t->count)
            continue;
        EmitLayout part = member_layout(l, m);
        uint64_t own = is_packed(e, l) ? 1 : emit_layout_align(e, &part);
        at = placed ? t->offsets[m] : align_up(at, own);
        if (m == k)
            return at;
        at += emit_layout_size(e, &part);
        end = MAX(end, at);
    }
    return end;
}

uint64_t emit_layout_size(Emit *e, const EmitLayout *l)
{
    const SpvType *t = l->type;
    EmitLayout part;
    uint64_t offset;
    switch (t->kind) {
    case SPV_VECTOR: return vector_bytes(e, l);
    case SPV_MATRIX:
        part = emit_layout_part(e, l, t->count - 1, &offset);
        return offset + emit_layout_size(e, &part);
    case SPV_ARRAY: return t->count * emit_layout_stride(e, l);
    case SPV_STRUCT:
        offset = member_offset(e, l, t->count);
        return l->rule == LAYOUT_EXPLICIT ? offset : align_up(offset, emit_layout_align(e, l));
    case SPV_BOOL:
    case SPV_INT:
    case SPV_FLOAT:
    case SPV_POINTER:
    case SPV_EVENT:
    case SPV_TENSOR_LAYOUT:
    case SPV_TENSOR_VIEW: return (uint64_t)emit_n_leaves(e, t) * emit_scalar_bytes(e, t);
    case SPV_IMAGE:
    case SPV_SAMPLER:
    case SPV_SAMPLED_IMAGE: return DESCRIPTOR_BYTES;
    default: return 0;
    }
}

EmitLayout emit_layout_part(Emit *e, const EmitLayout *l, uint32_t index, uint64_t *offset)
{
    const SpvType *t = l->type;
    if (t->kind == SPV_STRUCT) {
        *offset = member_offset(e, l, index);
        return member_layout(l, index);
    }
    EmitLayout part = *l;
    *offset = index * emit_layout_stride(e, l);
    part.type = t->element;
    part.component_stride = 0;
    if (t->kind == SPV_MATRIX && l->rule == LAYOUT_EXPLICIT && l->row_major)
        part.component_stride = l->matrix_stride;
    return part;
}
