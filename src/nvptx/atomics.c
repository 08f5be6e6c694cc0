/* SPDX-License-Identifier: MIT
 *
 * Atomic instructions (SPIR-V 3.3.18; SPV_EXT_shader_atomic_float_add, _min_max).
 *
 * LLVM 22's NVPTX drops the order of an atomicrmw without a word, so an order is fences before
 * (release) and after (acquire) a relaxed operation, of the scope that the module names.
 */
#include "nvptx/internal.h"
#include "llvm/ir.h"

typedef struct Atomic {
    const SpvInst *i;
    const EmitPointer *p;
    LT type;
    uint32_t size;
    unsigned scope;       /* LLVM's */
    LV value, comparator; /* or NULL */
} Atomic;

typedef struct Row {
    uint16_t op;
    LLVMAtomicRMWBinOp rmw;
} Row;

static const Row rows[] = {
    { SpvOpAtomicIIncrement, LLVMAtomicRMWBinOpAdd },
    { SpvOpAtomicIDecrement, LLVMAtomicRMWBinOpSub },
    { SpvOpAtomicIAdd, LLVMAtomicRMWBinOpAdd },
    { SpvOpAtomicISub, LLVMAtomicRMWBinOpSub },
    { SpvOpAtomicSMin, LLVMAtomicRMWBinOpMin },
    { SpvOpAtomicUMin, LLVMAtomicRMWBinOpUMin },
    { SpvOpAtomicSMax, LLVMAtomicRMWBinOpMax },
    { SpvOpAtomicUMax, LLVMAtomicRMWBinOpUMax },
    { SpvOpAtomicAnd, LLVMAtomicRMWBinOpAnd },
    { SpvOpAtomicOr, LLVMAtomicRMWBinOpOr },
    { SpvOpAtomicXor, LLVMAtomicRMWBinOpXor },
    { SpvOpAtomicExchange, LLVMAtomicRMWBinOpXchg },
    { SpvOpAtomicFlagTestAndSet, LLVMAtomicRMWBinOpXchg },
    { SpvOpAtomicFAddEXT, LLVMAtomicRMWBinOpFAdd },
    { SpvOpAtomicFMinEXT, LLVMAtomicRMWBinOpFMin },
    { SpvOpAtomicFMaxEXT, LLVMAtomicRMWBinOpFMax },
};

static LLVMAtomicRMWBinOp rmw_of(uint16_t op)
{
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        if (rows[k].op == op)
            return rows[k].rmw;
    return LLVMAtomicRMWBinOpXchg;
}

/* Operand numbers of the value and the comparator after pointer, scope, semantics; 0: none. */
static void operands(uint16_t op, uint32_t *value, uint32_t *comparator)
{
    *value = 3;
    *comparator = 0;
    if (op == SpvOpAtomicCompareExchange || op == SpvOpAtomicCompareExchangeWeak) {
        *value = 4;
        *comparator = 5;
    } else if (op == SpvOpAtomicLoad || op == SpvOpAtomicIIncrement ||
               op == SpvOpAtomicIDecrement || op == SpvOpAtomicFlagTestAndSet ||
               op == SpvOpAtomicFlagClear) {
        *value = 0;
    }
}

static LV relaxed_load(Emit *e, const Atomic *a, LV at)
{
    LV v = ir_load(e->b, a->type, at, a->size);
    LLVMSetOrdering(v, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(v, a->scope);
    return v;
}

static void relaxed_store(Emit *e, const Atomic *a, LV at)
{
    LV s = LLVMBuildStore(e->b, a->value, at);
    LLVMSetAlignment(s, a->size);
    LLVMSetOrdering(s, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(s, a->scope);
}

/* The old value; NULL of a store. */
static LV one(Emit *e, const Atomic *a, LV at)
{
    LLVMAtomicOrdering relaxed = LLVMAtomicOrderingMonotonic;
    uint16_t op = a->i->op;
    if (op == SpvOpAtomicLoad)
        return relaxed_load(e, a, at);
    if (op == SpvOpAtomicStore || op == SpvOpAtomicFlagClear) {
        relaxed_store(e, a, at);
        return NULL;
    }
    if (!a->comparator)
        return LLVMBuildAtomicRMWSyncScope(e->b, rmw_of(op), at, a->value, relaxed, a->scope);
    LV pair = LLVMBuildAtomicCmpXchgSyncScope(e->b, at, a->comparator, a->value, relaxed, relaxed,
                                              a->scope);
    return LLVMBuildExtractValue(e->b, pair, 0, "");
}

/* 0 where robust access keeps it from happening. */
static LV guarded(Emit *e, const Atomic *a, int64_t byte)
{
    LV inside = threads_inside(e, a->p, byte, a->size);
    LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(e->b) };
    EmitIf f = { 0 };
    if (inside)
        f = if_begin(e, inside);
    LV old = one(e, a, threads_narrowed(e, a->p, threads_address(e, a->p, byte, a->size)));
    if (!inside)
        return old;
    from[1] = LLVMGetInsertBlock(e->b);
    if_end(e, &f);
    if (!old)
        return NULL;
    LV phi = LLVMBuildPhi(e->b, a->type, ""), values[2] = { LLVMConstNull(a->type), old };
    LLVMAddIncoming(phi, values, from, 2);
    return phi;
}

static LV implied_value(uint16_t op, LT type)
{
    return op == SpvOpAtomicFlagClear || op == SpvOpAtomicLoad ? LLVMConstNull(type)
                                                               : ir_int(type, 1);
}

static uint32_t constant(Emit *e, SpvId id)
{
    uint64_t x = 0;
    spv_constant(e->module, id, &x);
    return (uint32_t)x;
}

/* Float atomics on vectors (SPV_NV_shader_atomic_fp16_vector) are one atomic a component. */
static void atomic(Emit *e, const SpvInst *i)
{
    Atomic a = { .i = i, .p = emit_pointer(e, spv_operand(i, 0)) };
    const SpvType *t = a.p->at.type;
    uint32_t n = emit_n_leaves(e, t), value, comparator;
    if (!n || n > 4) {
        emit_error(e, i, NULL, "%s needs a pointer to a scalar", spv_op_name(i->op));
        return;
    }
    const SpvType *scalar = emit_leaf_type(e, t, 0);
    uint32_t scope = constant(e, spv_operand(i, 1)), order = constant(e, spv_operand(i, 2));
    const uint32_t both =
        SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsSequentiallyConsistentMask;
    a.type = emit_scalar_type(e, scalar);
    a.size = emit_scalar_bytes(e, scalar);
    a.scope = threads_scope(e, scope);
    operands(i->op, &value, &comparator);
    if (order & (both | SpvMemorySemanticsReleaseMask))
        threads_fence(e, scope, order);
    LV results[4];
    for (uint32_t k = 0; k < n; k++) {
        a.value = value ? emit_leaf(e, spv_operand(i, value), k) : implied_value(i->op, a.type);
        a.comparator = comparator ? emit_leaf(e, spv_operand(i, comparator), k) : NULL;
        results[k] = guarded(e, &a, (int64_t)k * a.size);
        if (i->op == SpvOpAtomicFlagTestAndSet)
            results[k] = LLVMBuildICmp(e->b, LLVMIntNE, results[k], LLVMConstNull(a.type), "");
    }
    if (order & (both | SpvMemorySemanticsAcquireMask))
        threads_fence(e, scope, order);
    if (i->id)
        emit_set(e, i, results, n);
}

#define ROW(name) { SpvOp##name, 0, atomic }

/* clang-format off */
const EmitRule threads_rules_atomic[] = {
    ROW(AtomicLoad), ROW(AtomicStore), ROW(AtomicExchange), ROW(AtomicCompareExchange),
    ROW(AtomicCompareExchangeWeak), ROW(AtomicIIncrement), ROW(AtomicIDecrement), ROW(AtomicIAdd),
    ROW(AtomicISub), ROW(AtomicSMin), ROW(AtomicUMin), ROW(AtomicSMax), ROW(AtomicUMax),
    ROW(AtomicAnd), ROW(AtomicOr), ROW(AtomicXor), ROW(AtomicFlagTestAndSet),
    ROW(AtomicFlagClear), ROW(AtomicFAddEXT), ROW(AtomicFMinEXT), ROW(AtomicFMaxEXT),
    { 0, 0, NULL },
};
/* clang-format on */
