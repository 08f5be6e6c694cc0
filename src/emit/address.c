/* SPDX-License-Identifier: MIT
 *
 * Pointers as numbers: comparisons, differences, casts, generic pointers.
 */
#include "emit/internal.h"
#include "llvm/ir.h"

/* The lanes' part is added as a number: LLVM 22 miscompiles differences of vectors of addresses
 * that have a scalar base. */
static LV address_of(Emit *e, SpvId id)
{
    const EmitPointer *p = emit_pointer(e, id);
    if (!p->lane_index || p->at.rule == LAYOUT_LANES || emit_is_lanes(p->base))
        return pointer_to_address(e, emit_address(e, p, 0, 1));
    EmitPointer start = *p;
    start.lane_index = NULL;
    LV at = emit_lanes(e, pointer_to_address(e, emit_address(e, &start, 0, 1)));
    LV index = emit_lanes(e, emit_cast_index(e, p->lane_index, e->i64));
    LV scale = ir_int(LLVMTypeOf(index), (uint64_t)p->lane_scale);
    return LLVMBuildAdd(e->b, at, LLVMBuildMul(e->b, index, scale, ""), "");
}

static void compare_pointers(Emit *e, const SpvInst *i)
{
    LV v[2] = { address_of(e, spv_operand(i, 0)), address_of(e, spv_operand(i, 1)) };
    emit_unify(e, v, 2);
    LLVMIntPredicate is = i->op == SpvOpPtrEqual ? LLVMIntEQ : LLVMIntNE;
    emit_set1(e, i, LLVMBuildICmp(e->b, is, v[0], v[1], ""));
}

static void pointer_difference(Emit *e, const SpvInst *i)
{
    LV v[2] = { address_of(e, spv_operand(i, 0)), address_of(e, spv_operand(i, 1)) };
    const EmitPointer *p = emit_pointer(e, spv_operand(i, 0));
    const SpvType *t = spv_type_of(e->module, spv_operand(i, 0));
    uint64_t stride = align_up(emit_layout_size(e, &p->at), emit_layout_align(e, &p->at));
    if (t && t->array_stride && p->at.rule == LAYOUT_EXPLICIT)
        stride = t->array_stride;
    emit_unify(e, v, 2);
    LV bytes = LLVMBuildSub(e->b, v[0], v[1], "");
    LV n = LLVMBuildSDiv(e->b, LLVMBuildFreeze(e->b, bytes, ""),
                         ir_int(LLVMTypeOf(bytes), stride ? stride : 1), "");
    emit_set1(e, i, emit_cast_index(e, n, emit_scalar_type(e, spv_type(e->module, i->type))));
}

/* Sets the result to an address: as a number, or as a pointer of either kind. */
static void set_address(Emit *e, const SpvInst *i, LV address, const EmitAffine *affine)
{
    const SpvType *t = spv_type(e->module, i->type);
    LV leaves[3] = { address, ir_int(e->i64, 0), ir_int(e->i64, INT64_MAX) };
    if (t->kind != SPV_POINTER) {
        LT type = emit_scalar_type(e, t);
        emit_set1(e, i, emit_cast_index(e, address, type));
    } else if (affine && emit_is_physical(e, t)) {
        emit_set_affine(e, i, leaves, 1, affine);
    } else {
        emit_set(e, i, leaves, emit_n_leaves(e, t));
    }
}

static void pointer_to_number(Emit *e, const SpvInst *i)
{
    set_address(e, i, address_of(e, spv_operand(i, 0)), NULL);
}

static void number_to_pointer(Emit *e, const SpvInst *i)
{
    LV v = emit_leaf(e, spv_operand(i, 0), 0);
    EmitAffine a = emit_affine(e, emit_value(e, spv_operand(i, 0)), 0);
    LT from = emit_is_lanes(v) ? LLVMGetElementType(LLVMTypeOf(v)) : LLVMTypeOf(v);
    if (LLVMGetIntTypeWidth(from) != 64) {
        v = LLVMBuildZExt(e->b, v, emit_is_lanes(v) ? emit_lanes_type(e, e->i64) : e->i64, "");
        a = (EmitAffine){ .group = 1 };
    }
    set_address(e, i, v, &a);
}

/* Null if the address lies in memory of another kind than the result's. */
static void generic_to_pointer(Emit *e, const SpvInst *i)
{
    LV address = address_of(e, spv_operand(i, 0)), shared, own;
    uint32_t storage = spv_operand(i, 1);
    e->target->memory_of(e, address, &shared, &own);
    LV is = storage == SpvStorageClassWorkgroup ? shared
            : storage == SpvStorageClassFunction
                ? own
                : LLVMBuildNot(e->b, LLVMBuildOr(e->b, shared, own, ""), "");
    address = LLVMBuildSelect(e->b, is, address, LLVMConstNull(LLVMTypeOf(address)), "");
    set_address(e, i, address, NULL);
}

static void generic_semantics(Emit *e, const SpvInst *i)
{
    LV address = address_of(e, spv_operand(i, 0)), shared, own;
    e->target->memory_of(e, address, &shared, &own);
    LT type = emit_is_lanes(shared) ? emit_lanes_type(e, e->i32) : e->i32;
    LV other = LLVMBuildSelect(e->b, own, LLVMConstNull(type),
                               ir_int(type, SpvMemorySemanticsCrossWorkgroupMemoryMask), "");
    emit_set1(e, i,
              LLVMBuildSelect(e->b, shared, ir_int(type, SpvMemorySemanticsWorkgroupMemoryMask),
                              other, ""));
}

void address_bitcast(Emit *e, const SpvInst *i)
{
    const SpvType *to = spv_type(e->module, i->type),
                  *from = spv_type_of(e->module, spv_operand(i, 0));
    if (from->kind == SPV_POINTER && to->kind == SPV_POINTER && from->storage == to->storage) {
        EmitPointer p = *emit_pointer(e, spv_operand(i, 0));
        if (p.at.rule != LAYOUT_LANES && !p.builtin && !p.descriptors) {
            p.at = emit_layout(e, to->element, to->storage);
            emit_set_pointer(e, i, &p);
            return;
        }
    }
    if (from->kind == SPV_POINTER && to->kind == SPV_VECTOR) {
        LV address = address_of(e, spv_operand(i, 0)), leaves[2];
        leaves[0] = emit_cast_index(e, address, e->i32);
        LV high = LLVMBuildLShr(e->b, address, ir_int(LLVMTypeOf(address), 32), "");
        leaves[1] = emit_cast_index(e, high, e->i32);
        emit_set(e, i, leaves, 2);
        return;
    }
    if (from->kind == SPV_POINTER) {
        pointer_to_number(e, i);
        return;
    }
    if (from->kind == SPV_VECTOR) {
        LV v[2] = { emit_leaf(e, spv_operand(i, 0), 0), emit_leaf(e, spv_operand(i, 0), 1) };
        emit_unify(e, v, 2);
        LT type = emit_is_lanes(v[0]) ? emit_lanes_type(e, e->i64) : e->i64;
        LV high = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, v[1], type, ""), ir_int(type, 32), "");
        set_address(e, i, LLVMBuildOr(e->b, LLVMBuildZExt(e->b, v[0], type, ""), high, ""), NULL);
        return;
    }
    number_to_pointer(e, i);
}

const EmitRule emit_rules_address[] = {
    { SpvOpPtrEqual, 0, compare_pointers },
    { SpvOpPtrNotEqual, 0, compare_pointers },
    { SpvOpPtrDiff, 0, pointer_difference },
    { SpvOpConvertPtrToU, 0, pointer_to_number },
    { SpvOpConvertUToPtr, 0, number_to_pointer },
    { SpvOpPtrCastToGeneric, 0, pointer_to_number },
    { SpvOpGenericCastToPtr, 0, pointer_to_number },
    { SpvOpGenericCastToPtrExplicit, 0, generic_to_pointer },
    { SpvOpGenericPtrMemSemantics, 0, generic_semantics },
    { 0, 0, NULL },
};
