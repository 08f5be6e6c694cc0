/* SPDX-License-Identifier: MIT
 *
 * Instructions that load and store. The target makes the accesses themselves.
 */
#include "emit/internal.h"
#include "llvm/ir.h"

void emit_load(Emit *e, const EmitPointer *p, LV *leaves) { e->target->load(e, p, leaves); }

void emit_store(Emit *e, const EmitPointer *p, const LV *leaves) { e->target->store(e, p, leaves); }

LV emit_load_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t)
{
    return e->target->load_leaf(e, p, byte, t);
}

void emit_store_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV v)
{
    e->target->store_leaf(e, p, byte, t, v);
}

LV emit_address(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size)
{
    return e->target->address(e, p, byte, size);
}

void emit_load_builtin(Emit *e, const EmitPointer *p, LV *leaves)
{
    const EmitInput *b = variable_input(e, p->variable);
    uint32_t n = emit_n_leaves(e, p->at.type), at = (uint32_t)p->constant;
    for (uint32_t k = 0; k < n; k++)
        leaves[k] = at + k < b->n ? b->leaves[at + k] : ir_int(e->i64, 0);
    if (!p->lane_index)
        return;
    for (uint32_t k = at + 1; k < b->n; k++) { /* a dynamic index into a vector */
        LV is = LLVMBuildICmp(e->b, LLVMIntEQ, p->lane_index,
                              ir_int(LLVMTypeOf(p->lane_index), k - at), "");
        LV v[2] = { emit_is_lanes(is) ? emit_lanes(e, b->leaves[k]) : b->leaves[k], leaves[0] };
        emit_unify(e, v, 2);
        leaves[0] = LLVMBuildSelect(e->b, is, v[0], v[1], "");
    }
}

/* The pointer, with what the access's memory operands say. */
static EmitPointer accessed(Emit *e, const SpvInst *i, SpvId id, uint32_t operands)
{
    EmitPointer p = *emit_pointer(e, id);
    if (e->target->inside)
        p.inside = e->target->inside(e, i);
    if (spv_n_operands(i) <= operands)
        return p;
    uint32_t mask = spv_operand(i, operands);
    p.volatile_ |= (mask & SpvMemoryAccessVolatileMask) != 0;
    if (mask & SpvMemoryAccessAlignedMask && spv_n_operands(i) > operands + 1)
        p.align = spv_operand(i, operands + 1);
    return p;
}

void emit_before_write(Emit *e, const EmitPointer *p)
{
    if (p->storage != SpvStorageClassFunction && p->storage != SpvStorageClassPrivate)
        e->target->settle(e);
}

static bool accessible(Emit *e, const SpvInst *i, const EmitPointer *p)
{
    if (!p->descriptors && p->at.type)
        return true;
    emit_error(e, i, NULL,
               p->descriptors ? "an array of buffers is accessed as a whole"
                              : "access through an untyped pointer");
    return false;
}

static void op_load(Emit *e, const SpvInst *i)
{
    EmitPointer p = accessed(e, i, spv_operand(i, 0), 1);
    const SpvType *t = spv_type(e->module, i->type);
    uint32_t n = emit_n_leaves(e, t);
    LV *leaves = NEW_ARRAY(e->arena, LV, n + 1);
    if (!accessible(e, i, &p) || n != emit_n_leaves(e, p.at.type)) {
        emit_error(e, i, NULL, "the loaded type does not fit the pointer");
        emit_set(e, i, leaves, n);
        return;
    }
    e->target->prefetch(e, i, &p);
    if (emit_is_opaque(t))
        e->target->load_opaque(e, &p, leaves);
    else if (!e->target->load_together || !e->target->load_together(e, i, &p, leaves))
        emit_load(e, &p, leaves);
    if (p.builtin && !p.lane_index)
        emit_set_affine(e, i, leaves, n, variable_input(e, p.variable)->affine + p.constant);
    else
        emit_set(e, i, leaves, n);
}

static const LV *leaves_of(Emit *e, SpvId id)
{
    const EmitValue *v = emit_value(e, id);
    LV *leaves = NEW_ARRAY(e->arena, LV, v->n + 1);
    for (uint32_t k = 0; k < v->n; k++)
        leaves[k] = emit_leaf(e, id, k);
    return leaves;
}

static void op_store(Emit *e, const SpvInst *i)
{
    EmitPointer p = accessed(e, i, spv_operand(i, 0), 2);
    SpvId id = spv_operand(i, 1);
    if (!accessible(e, i, &p))
        return;
    if (emit_value(e, id)->n != emit_n_leaves(e, p.at.type)) {
        emit_error(e, i, NULL, "the stored value does not fit the pointer");
        return;
    }
    emit_before_write(e, &p);
    emit_store(e, &p, leaves_of(e, id));
}

static void copy_memory(Emit *e, const SpvInst *i)
{
    EmitPointer to = accessed(e, i, spv_operand(i, 0), 2),
                from = accessed(e, i, spv_operand(i, 1), 2);
    if (!accessible(e, i, &to) || !accessible(e, i, &from))
        return;
    uint32_t n = emit_n_leaves(e, from.at.type);
    LV *leaves = NEW_ARRAY(e->arena, LV, n + 1);
    if (emit_n_leaves(e, to.at.type) != n) {
        emit_error(e, i, NULL, "the two pointers of a copy point to different types");
        return;
    }
    emit_load(e, &from, leaves);
    emit_before_write(e, &to);
    emit_store(e, &to, leaves);
}

static void array_length(Emit *e, const SpvInst *i)
{
    const EmitPointer *p = emit_pointer(e, spv_operand(i, 0));
    uint32_t member = spv_operand(i, 1);
    const SpvType *t = p->at.type;
    if (!p->limit || !t || t->kind != SPV_STRUCT || member >= t->count) {
        emit_error(e, i, NULL, "OpArrayLength needs a pointer to a buffer's block");
        emit_set1(e, i, NULL);
        return;
    }
    uint64_t offset;
    EmitLayout array = emit_layout_part(e, &p->at, member, &offset);
    uint64_t stride = emit_layout_stride(e, &array);
    LT type = LLVMTypeOf(p->limit);
    LV args[2] = { p->limit, ir_int(type, offset) };
    LV bytes = ir_intrinsic(e->b, "llvm.usub.sat", &type, 1, args, 2);
    LV n = LLVMBuildUDiv(e->b, bytes, ir_int(type, stride ? stride : 1), "");
    emit_set1(e, i, emit_cast_index(e, n, emit_scalar_type(e, spv_type(e->module, i->type))));
}

static void copy_sized(Emit *e, const SpvInst *i) { e->target->copy_sized(e, i); }

static void variable(Emit *e, const SpvInst *i) { emit_set_pointer(e, i, variable_pointer(e, i)); }

const EmitRule emit_rules_memory[] = {
    { SpvOpVariable, 0, variable },
    { SpvOpLoad, 0, op_load },
    { SpvOpStore, 0, op_store },
    { SpvOpCopyMemory, 0, copy_memory },
    { SpvOpCopyMemorySized, 0, copy_sized },
    { SpvOpArrayLength, 0, array_length },
    { 0, 0, NULL },
};
