/* SPDX-License-Identifier: MIT
 *
 * Atomic instructions (SPIR-V 3.3.18; SPV_EXT_shader_atomic_float_add, _min_max).
 *
 * If all lanes use one address, integer operations and float minima are first combined over the
 * active lanes; one atomic of the machine applies the result, and each lane's own result comes from
 * the lanes below it (a scan), as if the lanes had gone one after the other. Everything else goes
 * lane by lane in ascending order. Workgroup and private memory belong to one thread, on which the
 * subgroups of a workgroup take turns, so they need no locks.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

typedef struct Atomic {
    const SpvInst *i;
    const EmitPointer *p;
    int64_t byte; /* of the current leaf */
    LT type;
    uint32_t size;
    LV address, mask;     /* mask: lanes that take part; NULL = all */
    LV value, comparator; /* or NULL */
    LLVMAtomicOrdering order, failure;
    bool locked; /* other threads see the memory */
} Atomic;

/* ---- orders ---------------------------------------------------------------------------------- */

static LLVMAtomicOrdering order_of(Emit *e, SpvId semantics)
{
    uint64_t s;
    if (!spv_constant(e->module, semantics, &s) || s & SpvMemorySemanticsSequentiallyConsistentMask)
        return LLVMAtomicOrderingSequentiallyConsistent;
    bool acquire = s & (SpvMemorySemanticsAcquireMask | SpvMemorySemanticsAcquireReleaseMask);
    bool release = s & (SpvMemorySemanticsReleaseMask | SpvMemorySemanticsAcquireReleaseMask);
    return acquire && release ? LLVMAtomicOrderingAcquireRelease
           : acquire          ? LLVMAtomicOrderingAcquire
           : release          ? LLVMAtomicOrderingRelease
                              : LLVMAtomicOrderingMonotonic;
}

static LLVMAtomicOrdering of_load(LLVMAtomicOrdering o)
{
    if (o == LLVMAtomicOrderingRelease)
        return LLVMAtomicOrderingMonotonic;
    return o == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingAcquire : o;
}

static LLVMAtomicOrdering of_store(LLVMAtomicOrdering o)
{
    if (o == LLVMAtomicOrderingAcquire)
        return LLVMAtomicOrderingMonotonic;
    return o == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingRelease : o;
}

/* ---- operations ------------------------------------------------------------------------------ */

typedef struct Row {
    uint16_t op;
    LLVMAtomicRMWBinOp rmw;
    int8_t how; /* the Combine; -1: cannot be combined */
} Row;

/* clang-format off */
static const Row rows[] = {
    { SpvOpAtomicIIncrement, LLVMAtomicRMWBinOpAdd, COMBINE_IADD },
    { SpvOpAtomicIDecrement, LLVMAtomicRMWBinOpSub, COMBINE_IADD },
    { SpvOpAtomicIAdd, LLVMAtomicRMWBinOpAdd, COMBINE_IADD },
    { SpvOpAtomicISub, LLVMAtomicRMWBinOpSub, COMBINE_IADD },
    { SpvOpAtomicSMin, LLVMAtomicRMWBinOpMin, COMBINE_SMIN },
    { SpvOpAtomicUMin, LLVMAtomicRMWBinOpUMin, COMBINE_UMIN },
    { SpvOpAtomicSMax, LLVMAtomicRMWBinOpMax, COMBINE_SMAX },
    { SpvOpAtomicUMax, LLVMAtomicRMWBinOpUMax, COMBINE_UMAX },
    { SpvOpAtomicAnd, LLVMAtomicRMWBinOpAnd, COMBINE_AND },
    { SpvOpAtomicOr, LLVMAtomicRMWBinOpOr, COMBINE_OR },
    { SpvOpAtomicXor, LLVMAtomicRMWBinOpXor, COMBINE_XOR },
    { SpvOpAtomicExchange, LLVMAtomicRMWBinOpXchg, -1 },
    { SpvOpAtomicFAddEXT, LLVMAtomicRMWBinOpFAdd, -1 },
    { SpvOpAtomicFMinEXT, LLVMAtomicRMWBinOpFMin, COMBINE_FMIN },
    { SpvOpAtomicFMaxEXT, LLVMAtomicRMWBinOpFMax, COMBINE_FMAX },
};
/* clang-format on */

static const Row *row_of(uint16_t op)
{
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        if (rows[k].op == op)
            return &rows[k];
    return NULL;
}

/* What memory holds after `op` with the old value and the operand. */
static LV applied(Emit *e, const Row *row, LV old, LV value)
{
    if (row->rmw == LLVMAtomicRMWBinOpXchg)
        return value;
    if (row->rmw == LLVMAtomicRMWBinOpSub)
        return LLVMBuildSub(e->b, old, value, "");
    return combine(e, row->how < 0 ? COMBINE_FADD : (EmitCombine)row->how, old, value);
}

static LV load_one(Emit *e, const Atomic *a, LV at)
{
    LV v = ir_load(e->b, a->type, at, a->size);
    if (a->locked)
        LLVMSetOrdering(v, of_load(a->order));
    return v;
}

static void store_one(Emit *e, const Atomic *a, LV value, LV at)
{
    LV s = LLVMBuildStore(e->b, value, at);
    LLVMSetAlignment(s, a->size);
    if (a->locked)
        LLVMSetOrdering(s, of_store(a->order));
}

/* One lane's operation on scalars. Returns the old value; NULL for a store. */
static LV one(Emit *e, const Atomic *a, LV at, LV value, LV comparator)
{
    uint16_t op = a->i->op;
    if (op == SpvOpAtomicLoad)
        return load_one(e, a, at);
    if (op == SpvOpAtomicStore || op == SpvOpAtomicFlagClear) {
        store_one(e, a, value, at);
        return NULL;
    }
    if (comparator) {
        if (a->locked) {
            LV pair =
                LLVMBuildAtomicCmpXchg(e->b, at, comparator, value, a->order, a->failure, false);
            return LLVMBuildExtractValue(e->b, pair, 0, "");
        }
        LV old = load_one(e, a, at);
        LV equal = LLVMBuildICmp(e->b, LLVMIntEQ, old, comparator, "");
        store_one(e, a, LLVMBuildSelect(e->b, equal, value, old, ""), at);
        return old;
    }
    const Row *row = row_of(op == SpvOpAtomicFlagTestAndSet ? SpvOpAtomicExchange : op);
    if (a->locked)
        return LLVMBuildAtomicRMW(e->b, row->rmw, at, value, a->order, false);
    LV old = load_one(e, a, at);
    store_one(e, a, applied(e, row, old, value), at);
    return old;
}

/* ---- over the lanes -------------------------------------------------------------------------- */

/* Stores a vector to memory, for a loop over the lanes to read. */
static LV spill(Emit *e, LV v)
{
    if (!v || !emit_is_lanes(v))
        return v;
    LV memory = emit_alloca(e, LLVMTypeOf(v), "lanes");
    LLVMBuildStore(e->b, v, memory);
    return memory;
}

static LV lane_at(Emit *e, LV memory, LT type, LV index)
{
    return LLVMBuildGEP2(e->b, type, memory, &index, 1, "");
}

static LV lane_of(Emit *e, LV original, LV spilled, LV index)
{
    if (!original || !emit_is_lanes(original))
        return original;
    LT type = LLVMGetElementType(LLVMTypeOf(original));
    return LLVMBuildLoad2(e->b, type, lane_at(e, spilled, type, index), "");
}

/* The memory that a loop over the lanes reads and writes. */
typedef struct Spilled {
    LV address, value, comparator, result;
} Spilled;

/* All lanes, from registers. Without locks to wait for, this is twice as fast as finding the active
 * lanes in memory. */
static void every_lane(Emit *e, const Atomic *a, const Spilled *s)
{
    for (uint32_t k = 0; k < e->W; k++) {
        LV index = ir_int(e->i32, k);
        LV value = a->value ? emit_lane(e, a->value, index) : NULL;
        LV comparator = a->comparator ? emit_lane(e, a->comparator, index) : NULL;
        LV old = one(e, a, emit_lane(e, a->address, index), value, comparator);
        if (old)
            LLVMBuildStore(e->b, old, lane_at(e, s->result, a->type, index));
    }
}

static void active_lanes(Emit *e, const Atomic *a, const Spilled *s)
{
    LanesLoop l = lane_loop_begin(e, a->mask);
    LV old = one(e, a, lane_of(e, a->address, s->address, l.index),
                 lane_of(e, a->value, s->value, l.index),
                 lane_of(e, a->comparator, s->comparator, l.index));
    if (old)
        LLVMBuildStore(e->b, old, lane_at(e, s->result, a->type, l.index));
    lane_loop_end(e, &l);
}

static LV lane_by_lane(Emit *e, const Atomic *a)
{
    emit_remark(e, REMARK_ATOMIC,
                emit_is_lanes(a->address) ? "their addresses may differ"
                                          : "the operation cannot be combined first");
    access_count(e, a->p, HEDDLE_ACCESS_GATHER, a->mask ? a->mask : lanes_mask(e), a->size);
    LT lanes = emit_lanes_type(e, a->type);
    Spilled s = { spill(e, a->address), spill(e, a->value), spill(e, a->comparator),
                  emit_alloca(e, lanes, "old") };
    LLVMBuildStore(e->b, LLVMConstNull(lanes), s.result);
    enum { MOST_IN_REGISTERS = 64 };
    if (a->locked || e->W > MOST_IN_REGISTERS) {
        active_lanes(e, a, &s);
    } else if (!a->mask) {
        every_lane(e, a, &s);
    } else {
        LV some_not = lanes_any(e, LLVMBuildNot(e->b, a->mask, ""));
        EmitIf all = if_begin(e, LLVMBuildNot(e->b, some_not, ""));
        every_lane(e, a, &s);
        if_end(e, &all);
        EmitIf some = if_begin(e, some_not);
        active_lanes(e, a, &s);
        if_end(e, &some);
    }
    return LLVMBuildLoad2(e->b, lanes, s.result, "");
}

/* All lanes at one address, combined. IDecrement and ISub subtract the sum of their operands. */
static LV all_at_once(Emit *e, const Atomic *a, const Row *row)
{
    EmitCombine how = (EmitCombine)row->how;
    LV sum = combine_reduce(e, how, a->value, a->mask);
    LV old = emit_lanes(e, one(e, a, a->address, sum, NULL));
    return applied(e, row, old, combine_scan(e, how, a->value, a->mask, false));
}

/* The atomic, under a condition that may be false (robust access). 0 if nothing was read. */
static LV do_atomic(Emit *e, const Atomic *a)
{
    const Row *row = row_of(a->i->op);
    bool store = a->i->op == SpvOpAtomicStore || a->i->op == SpvOpAtomicFlagClear;
    bool once = a->i->op == SpvOpAtomicLoad || (store && !emit_is_lanes(a->value));
    bool combined = row && row->how >= 0;
    if (emit_is_lanes(a->address) || (!once && !combined))
        return lane_by_lane(e, a);
    access_count(e, a->p, HEDDLE_ACCESS_SCALAR, NULL, a->size);
    if (once)
        return one(e, a, a->address, store ? a->value : NULL, NULL);
    return all_at_once(e, a, row);
}

static LV guarded(Emit *e, Atomic *a)
{
    LV inside = lanes_in_bounds(e, a->p, a->byte, a->size);
    a->mask = e->mask;
    if (!inside)
        return do_atomic(e, a);
    if (emit_is_lanes(inside)) {
        a->mask = lanes_and(e, e->mask, inside);
        return do_atomic(e, a);
    }
    LT lanes = emit_lanes_type(e, a->type);
    LV result = emit_alloca(e, lanes, "old");
    LLVMBuildStore(e->b, LLVMConstNull(lanes), result);
    EmitIf f = if_begin(e, inside);
    LV old = do_atomic(e, a);
    if (old)
        LLVMBuildStore(e->b, emit_lanes(e, old), result);
    if_end(e, &f);
    return LLVMBuildLoad2(e->b, lanes, result, "");
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool one_thread(uint32_t storage)
{
    return storage == SpvStorageClassWorkgroup || storage == SpvStorageClassFunction ||
           storage == SpvStorageClassPrivate;
}

/* The numbers of the operands behind pointer, scope and semantics that hold the value and the
 * comparator; 0: there is none. */
static void operands(uint16_t op, uint32_t *value, uint32_t *comparator)
{
    *value = *comparator = 0;
    switch (op) {
    case SpvOpAtomicLoad:
    case SpvOpAtomicIIncrement:
    case SpvOpAtomicIDecrement:
    case SpvOpAtomicFlagTestAndSet:
    case SpvOpAtomicFlagClear: return;
    case SpvOpAtomicCompareExchange:
    case SpvOpAtomicCompareExchangeWeak:
        *value = 4;
        *comparator = 5;
        return;
    default: *value = 3;
    }
}

static LV implied_value(Emit *e, uint16_t op, LT type)
{
    if (op == SpvOpAtomicIIncrement || op == SpvOpAtomicIDecrement ||
        op == SpvOpAtomicFlagTestAndSet)
        return ir_int(type, 1);
    (void)e;
    return op == SpvOpAtomicFlagClear ? LLVMConstNull(type) : NULL;
}

static Atomic open(Emit *e, const SpvInst *i)
{
    Atomic a = { .i = i, .p = emit_pointer(e, spv_operand(i, 0)) };
    a.locked = !one_thread(a.p->storage);
    bool swap = i->op == SpvOpAtomicCompareExchange || i->op == SpvOpAtomicCompareExchangeWeak;
    a.order = order_of(e, spv_operand(i, 2));
    if (swap)
        a.failure = of_load(order_of(e, spv_operand(i, 3)));
    return a;
}

/* A float atomic on a vector (SPV_NV_shader_atomic_fp16_vector) is one atomic for each
 * component. */
static void atomic(Emit *e, const SpvInst *i)
{
    e->target->settle(e);
    Atomic a = open(e, i);
    const SpvType *t = a.p->at.type;
    uint32_t n = emit_n_leaves(e, t), value, comparator;
    if (!n || n > 4) {
        emit_error(e, i, NULL, "%s needs a pointer to a scalar", spv_op_name(i->op));
        return;
    }
    const SpvType *scalar = emit_leaf_type(e, t, 0);
    a.type = emit_scalar_type(e, scalar);
    a.size = emit_scalar_bytes(e, scalar);
    operands(i->op, &value, &comparator);
    LV results[4];
    for (uint32_t k = 0; k < n; k++) {
        a.byte = (int64_t)k * a.size;
        a.value = value ? emit_leaf(e, spv_operand(i, value), k) : implied_value(e, i->op, a.type);
        a.comparator = comparator ? emit_leaf(e, spv_operand(i, comparator), k) : NULL;
        a.address = emit_address(e, a.p, a.byte, a.size);
        results[k] = guarded(e, &a);
        if (i->op == SpvOpAtomicFlagTestAndSet)
            results[k] = LLVMBuildICmp(e->b, LLVMIntNE, results[k],
                                       LLVMConstNull(LLVMTypeOf(results[k])), "");
    }
    if (i->id)
        emit_set(e, i, results, n);
}

#define ROW(name) { SpvOp##name, 0, atomic }

/* clang-format off */
const EmitRule lanes_rules_atomic[] = {
    ROW(AtomicLoad), ROW(AtomicStore), ROW(AtomicExchange), ROW(AtomicCompareExchange),
    ROW(AtomicCompareExchangeWeak), ROW(AtomicIIncrement), ROW(AtomicIDecrement), ROW(AtomicIAdd),
    ROW(AtomicISub), ROW(AtomicSMin), ROW(AtomicUMin), ROW(AtomicSMax), ROW(AtomicUMax),
        ROW(AtomicAnd),
    ROW(AtomicOr), ROW(AtomicXor), ROW(AtomicFlagTestAndSet), ROW(AtomicFlagClear),
        ROW(AtomicFAddEXT),
    ROW(AtomicFMinEXT), ROW(AtomicFMaxEXT),
    { 0, 0, NULL },
};
/* clang-format on */
