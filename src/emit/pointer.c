/* SPDX-License-Identifier: MIT
 *
 * Pointers as values with leaves, and the access chains that move them.
 */
#include "emit/internal.h"
#include "llvm/ir.h"

const EmitPointer *emit_pointer(Emit *e, SpvId id)
{
    const EmitValue *v = emit_value(e, id);
    if (v->pointer)
        return v->pointer;
    emit_error(e, spv_def(e->module, id), NULL, "the value is used as a pointer and is none");
    EmitPointer *p = NEW(e->arena, EmitPointer);
    p->at.type = v->type;
    p->base = LLVMConstNull(e->ptr);
    p->affine.group = 1;
    return p;
}

LV pointer_to_address(Emit *e, LV address)
{
    LT type = emit_is_lanes(address) ? emit_lanes_type(e, e->i64) : e->i64;
    return LLVMBuildPtrToInt(e->b, address, type, "");
}

LV pointer_from_address(Emit *e, LV address)
{
    LT type = emit_is_lanes(address) ? emit_lanes_type(e, e->ptr) : e->ptr;
    return LLVMBuildIntToPtr(e->b, address, type, "");
}

void emit_pointer_leaves(Emit *e, const EmitPointer *p, LV *leaves)
{
    EmitPointer as = { .storage = p->storage };
    SpvType t = { .kind = SPV_POINTER, .storage = as.storage };
    if (p->builtin || p->descriptors || p->at.rule == LAYOUT_LANES) {
        emit_error(e, NULL, NULL, "a pointer to %s cannot be a value",
                   p->builtin       ? "an input"
                   : p->descriptors ? "an array of buffers"
                                    : "this variable");
        leaves[0] = leaves[1] = leaves[2] = ir_int(e->i64, 0);
        return;
    }
    if (emit_is_physical(e, &t)) {
        leaves[0] = pointer_to_address(e, emit_address(e, p, 0, 1));
        return;
    }
    EmitPointer offset = *p;
    offset.base = LLVMConstNull(e->ptr);
    leaves[0] = pointer_to_address(e, p->base);
    leaves[1] = pointer_to_address(e, emit_address(e, &offset, 0, 1));
    leaves[2] = p->limit ? p->limit : ir_int(e->i64, INT64_MAX);
}

EmitPointer *pointer_from_leaves(Emit *e, const SpvType *type, const LV *leaves,
                                 const EmitAffine *affine)
{
    EmitPointer *p = NEW(e->arena, EmitPointer);
    p->storage = type->storage;
    p->at = emit_layout(e, type->element, type->storage);
    p->affine.group = 1;
    if (emit_is_physical(e, type)) {
        if (affine && emit_is_lanes(leaves[0]) && affine[0].group > 1) {
            p->base = LLVMConstNull(e->ptr);
            p->lane_index = leaves[0];
            p->lane_scale = 1;
            p->affine = affine[0];
        } else {
            p->base = pointer_from_address(e, leaves[0]);
        }
        return p;
    }
    p->base = pointer_from_address(e, leaves[0]);
    p->limit = leaves[2];
    if (emit_is_lanes(leaves[1])) {
        p->lane_index = leaves[1];
        p->lane_scale = 1;
    } else {
        p->offset = leaves[1];
    }
    return p;
}

/* ---- access chains --------------------------------------------------------------------------- */

bool emit_is_chain(Emit *e, const SpvInst *i)
{
    const SpvType *t = i->op == SpvOpCopyObject ? spv_type(e->module, i->type) : NULL;
    return (t && t->kind == SPV_POINTER) || spv_is_chain(i);
}

bool emit_is_checked(const Emit *e, const EmitPointer *p)
{
    return e->robust && (p->limit || p->descriptors);
}

/* Robust access: an index that could wrap around the 64-bit address space is clamped. It is then
 * still outside of every buffer, as buffers have less than 2^48 bytes, and sums of 64 such indices
 * stay below 2^63. */
int64_t emit_farthest(int64_t stride) { return ((int64_t)1 << 57) / MAX(stride, 1); }

bool emit_is_tame(LV index, int64_t stride)
{
    enum { TAME_STRIDE = 1 << 24 };
    LT type = LLVMTypeOf(index);
    unsigned width = LLVMGetIntTypeWidth(emit_is_lanes(index) ? LLVMGetElementType(type) : type);
    return width <= 32 && stride <= TAME_STRIDE;
}

static void add_uniform(Emit *e, EmitPointer *p, LV index, int64_t stride)
{
    int64_t farthest = emit_farthest(stride);
    if (emit_is_checked(e, p) && !emit_is_tame(index, stride))
        index = emit_clamp(e, emit_cast_index(e, index, e->i64), -farthest, farthest);
    if (LLVMIsAConstantInt(index)) {
        uint64_t bytes = (uint64_t)LLVMConstIntGetSExtValue(index) * (uint64_t)stride;
        p->constant = (int64_t)((uint64_t)p->constant + bytes);
        return;
    }
    LV bytes = emit_scaled(e, emit_cast_index(e, index, e->i64), stride);
    p->offset = p->offset ? LLVMBuildAdd(e->b, p->offset, bytes, "") : bytes;
}

static void add_index(Emit *e, EmitPointer *p, LV index, EmitAffine affine, int64_t stride)
{
    if (stride != 0 && emit_is_lanes(index))
        e->target->add_lanes(e, p, index, affine, stride);
    else if (stride != 0)
        add_uniform(e, p, index, stride);
}

void pointer_add_index(Emit *e, EmitPointer *p, SpvId index, int64_t stride)
{
    add_index(e, p, emit_leaf(e, index, 0), emit_affine(e, emit_value(e, index), 0), stride);
}

/* Clamps an index to below `count` (i32 or a constant), for memory that has no size to check
 * against. */
static LV clamp_index(Emit *e, LV index, LV count)
{
    if (LLVMIsAConstantInt(index) && LLVMIsAConstantInt(count)) {
        uint64_t n = LLVMConstIntGetZExtValue(count);
        return LLVMConstIntGetZExtValue(index) < n ? index
                                                   : ir_int(LLVMTypeOf(index), n ? n - 1 : 0);
    }
    LT type = LLVMTypeOf(index);
    if (LLVMGetIntTypeWidth(emit_is_lanes(index) ? LLVMGetElementType(type) : type) < 32)
        index = emit_cast_index(e, index, e->i32);
    type = LLVMTypeOf(index);
    LV last = LLVMBuildSub(e->b, count, ir_int(e->i32, 1), "");
    last = LLVMBuildZExt(e->b, last, emit_is_lanes(index) ? LLVMGetElementType(type) : type, "");
    LV args[2] = { index, emit_is_lanes(index) ? emit_lanes(e, last) : last };
    return ir_intrinsic(e->b, "llvm.umin", &type, 1, args, 2);
}

/* The number of parts of an object that has no size to check against; NULL if it has one. */
static LV parts_to_clamp(Emit *e, const EmitPointer *p, const SpvType *t)
{
    bool own = p->storage == SpvStorageClassFunction || p->storage == SpvStorageClassPrivate;
    if (p->n_descriptors)
        return p->n_descriptors;
    if (t->kind == SPV_RUNTIME_ARRAY || p->builtin || !own)
        return NULL;
    return ir_int(e->i32, t->count);
}

/* Chooses one buffer from an array of them. */
static void choose_buffer(Emit *e, EmitPointer *p, LV index)
{
    LV descriptors = p->descriptors;
    if (e->robust)
        index = clamp_index(e, index, p->n_descriptors);
    p->descriptors = p->n_descriptors = NULL;
    p->at.type = p->at.type->element;
    LV wide =
        LLVMBuildZExt(e->b, index, emit_is_lanes(index) ? emit_lanes_type(e, e->i64) : e->i64, "");
    LT pair = LLVMArrayType2(e->i64, 2);
    LV at = LLVMBuildGEP2(e->b, pair, descriptors, &wide, 1, "");
    if (!emit_is_lanes(at)) {
        variable_use_descriptor(e, e->b, p, at);
        return;
    }
    EmitPointer table = { .base = descriptors,
                          .lane_index = index,
                          .lane_scale = DESCRIPTOR_BYTES,
                          .affine = { .group = 1 } };
    SpvType word = { .kind = SPV_INT, .bits = 64 };
    p->base = pointer_from_address(e, emit_load_leaf(e, &table, DESCRIPTOR_BASE, &word));
    p->limit = emit_load_leaf(e, &table, DESCRIPTOR_SIZE, &word);
}

static bool builtin_step(Emit *e, EmitPointer *p, const SpvInst *i, LV index)
{
    const SpvType *t = p->at.type, *part = emit_part_type(t, 0);
    if (LLVMIsAConstantInt(index)) {
        uint32_t k = (uint32_t)LLVMConstIntGetZExtValue(index);
        part = emit_part_type(t, k);
        p->constant += part ? emit_leaf_offset(e, t, k) : 0;
    } else {
        p->lane_index = index;
    }
    if (!part) {
        emit_error(e, i, NULL, "an index is outside the input variable");
        return false;
    }
    p->at.type = part;
    return true;
}

static bool step(Emit *e, EmitPointer *p, const SpvInst *i, SpvId id)
{
    LV index = emit_leaf(e, id, 0);
    EmitAffine affine = emit_affine(e, emit_value(e, id), 0);
    const SpvType *t = p->at.type;
    if (p->builtin)
        return builtin_step(e, p, i, index);
    if (p->descriptors) {
        choose_buffer(e, p, index);
        return true;
    }
    if (t->kind == SPV_STRUCT) {
        uint64_t offset,
            k = LLVMIsAConstantInt(index) ? LLVMConstIntGetZExtValue(index) : UINT64_MAX;
        if (k >= t->count) {
            emit_error(e, i, NULL, "the index of a struct's member is no constant or too large");
            return false;
        }
        p->at = emit_layout_part(e, &p->at, (uint32_t)k, &offset);
        p->constant += (int64_t)offset;
        return true;
    }
    const SpvType *part = emit_part_type(t, 0);
    if (!part) {
        emit_error(e, i, NULL, "an access chain goes into a type that has no parts");
        return false;
    }
    LV count = parts_to_clamp(e, p, t);
    p->n_descriptors = NULL;
    if (count && (e->robust || LLVMIsAConstantInt(index))) {
        LV clamped = clamp_index(e, index, count);
        if (clamped != index && !LLVMIsAConstantInt(index))
            affine = (EmitAffine){ .group = 1 };
        index = clamped;
    }
    uint64_t offset;
    int64_t stride = (int64_t)emit_layout_stride(e, &p->at);
    p->at = emit_layout_part(e, &p->at, 0, &offset);
    add_index(e, p, index, affine, stride);
    return true;
}

static void access_chain(Emit *e, const SpvInst *i)
{
    EmitPointer p = *emit_pointer(e, spv_operand(i, 0));
    const SpvType *t = spv_type(e->module, i->type),
                  *base = spv_type_of(e->module, spv_operand(i, 0));
    uint32_t k = 1;
    if (i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain) {
        int64_t stride = (int64_t)align_up(emit_layout_size(e, &p.at), emit_layout_align(e, &p.at));
        if (base && base->array_stride && p.at.rule == LAYOUT_EXPLICIT)
            stride = base->array_stride;
        pointer_add_index(e, &p, spv_operand(i, k++), stride);
    }
    for (; k < spv_n_operands(i); k++)
        if (!step(e, &p, i, spv_operand(i, k)))
            break;
    if (t && t->kind == SPV_POINTER && p.at.type && t->element &&
        p.at.type->kind == t->element->kind)
        p.at.type = t->element;
    emit_set_pointer(e, i, &p);
}

const EmitRule emit_rules_pointer[] = {
    { SpvOpAccessChain, 0, access_chain },
    { SpvOpInBoundsAccessChain, 0, access_chain },
    { SpvOpPtrAccessChain, 0, access_chain },
    { SpvOpInBoundsPtrAccessChain, 0, access_chain },
    { 0, 0, NULL },
};
