/* SPDX-License-Identifier: MIT
 *
 * Atomic instructions (SPIR-V 3.3.18). Since only one invocation runs at a time, each is atomic
 * already; memory orders and scopes matter only to race.c.
 */
#include "reference/machine.h"

#include <math.h>

typedef struct AtomicInst {
    uint32_t scope, order, storage;
    const RType *t;
    Ref value, comparator;
} AtomicInst;

enum {
    ACQUIRES = SpvMemorySemanticsAcquireMask | SpvMemorySemanticsAcquireReleaseMask |
               SpvMemorySemanticsSequentiallyConsistentMask,
    RELEASES = SpvMemorySemanticsReleaseMask | SpvMemorySemanticsAcquireReleaseMask |
               SpvMemorySemanticsSequentiallyConsistentMask,
};

uint32_t atomic_scope(const RInst *i) { return ((const AtomicInst *)i->aux)->scope; }

static uint64_t combine_atomic(const RInst *i, const RType *t, uint64_t old, uint64_t x)
{
    uint64_t mask = mask_bits(t->bits);
    RFmt f = fmt_of(t);
    double a = f != FMT_NONE ? fmt_get(f, old) : 0, b = f != FMT_NONE ? fmt_get(f, x) : 0;
    switch (i->op) {
    case SpvOpAtomicIIncrement: return (old + 1) & mask;
    case SpvOpAtomicIDecrement: return (old - 1) & mask;
    case SpvOpAtomicIAdd: return (old + x) & mask;
    case SpvOpAtomicISub: return (old - x) & mask;
    case SpvOpAtomicAnd: return old & x;
    case SpvOpAtomicOr: return old | x;
    case SpvOpAtomicXor: return old ^ x;
    case SpvOpAtomicUMin: return MIN(old, x);
    case SpvOpAtomicUMax: return MAX(old, x);
    case SpvOpAtomicSMin: return sext(old, t->bits) < sext(x, t->bits) ? old : x;
    case SpvOpAtomicSMax: return sext(old, t->bits) > sext(x, t->bits) ? old : x;
    case SpvOpAtomicFAddEXT: return fmt_put(f, a + b);
    case SpvOpAtomicFMinEXT: return isnan(a) || b < a ? x : old;
    case SpvOpAtomicFMaxEXT: return isnan(a) || b > a ? x : old;
    case SpvOpAtomicFlagTestAndSet: return 1;
    case SpvOpAtomicFlagClear: return 0;
    default: return x; /* store, exchange */
    }
}

static RStep step_atomic(RMachine *m, RInv *v, const RInst *i)
{
    const AtomicInst *x = i->aux;
    RPointer p = pointer_at(v, i->ops[0]);
    uint32_t size = (uint32_t)x->t->size;
    bool reads = i->op == SpvOpAtomicLoad,
         writes = i->op == SpvOpAtomicStore || i->op == SpvOpAtomicFlagClear;
    RAccess a;
    matters(m, v, i, i->ops[0], 1, "is used as an address");
    if (i->dst != REF_NONE) {
        *leaf(v, i->dst) = 0;
        *unset(v, i->dst) = 0;
    }
    RAccessKind kind = reads ? ACCESS_ATOMIC_READ : ACCESS_ATOMIC;
    if (!mem_access(m, v, i, &(RRequest){ p, size, size, kind }, &a))
        return STEP_NEXT;
    uint64_t old = mem_read(a.data, size), value = x->value == REF_NONE ? 0 : *leaf(v, x->value);
    uint8_t undef = x->value == REF_NONE ? 0 : *unset(v, x->value), old_undef = 0;
    for (uint32_t k = 0; a.undef && k < size; k++)
        old_undef |= a.undef[k];
    uint64_t offset = a.object ? p.va - a.object->va : 0;
    if (!writes)
        race_acquire(m, v, a.object, offset, x->scope, x->order & ACQUIRES);
    bool swaps = x->comparator == REF_NONE || old == *leaf(v, x->comparator);
    if (!reads && swaps) {
        if (undef && !a.undef)
            found(m, v, i, REF_UNDEFINED, "%s is stored to a buffer", undefined_name(undef));
        uint64_t next = combine_atomic(i, x->t, old, value);
        mem_write(a.data, size, next);
        m->changes += a.object && next != old;
        bool keeps = !writes && i->op != SpvOpAtomicExchange && x->comparator == REF_NONE;
        if (a.undef)
            memset(a.undef, undef | (keeps && old_undef), size);
        race_release(m, v, a.object, offset, x->scope, !(x->order & RELEASES));
    }
    if (i->dst != REF_NONE) {
        *leaf(v, i->dst) = i->op == SpvOpAtomicFlagTestAndSet ? old != 0 : old;
        *unset(v, i->dst) = old_undef;
    }
    return STEP_SWITCH;
}

static bool prepare_atomic(RMachine *m, RInst *i)
{
    uint64_t scope, order;
    AtomicInst *x = NEW(m->arena, AtomicInst);
    bool compares = i->op == SpvOpAtomicCompareExchange || i->op == SpvOpAtomicCompareExchangeWeak;
    uint32_t value = compares ? 4 : 3;
    if (i->n_ops < 3 || !prepare_value(m, i) || i->at->kind != SPV_POINTER) {
        refuse(m, i->src, "the operand is not a pointer");
        return false;
    }
    x->t = type_get(m, i->at->pointee);
    if (!x->t || x->t->leaves != 1 || (x->t->kind != SPV_INT && x->t->kind != SPV_FLOAT)) {
        refuse(m, i->src, "atomics work on scalars only");
        return false;
    }
    if (!constant_uint(m, spv_operand(i->src, 1), &scope) ||
        !constant_uint(m, spv_operand(i->src, 2), &order)) {
        refuse(m, i->src, "scope and semantics must be constants");
        return false;
    }
    x->scope = (uint32_t)scope;
    x->order = (uint32_t)order;
    x->value = i->n_ops > value ? i->ops[value] : REF_NONE;
    x->comparator = compares && i->n_ops > 5 ? i->ops[5] : REF_NONE;
    if (i->n_ops > value && operand_type(m, i, value)->leaves != 1)
        refuse(m, i->src, "the value is not a scalar");
    if (compares && x->comparator == REF_NONE)
        refuse(m, i->src, "operands are missing");
    i->aux = x;
    return !m->failed;
}

static const ROpRow rows[] = {
#define ATOMIC(name) { SpvOpAtomic##name, step_atomic, prepare_atomic, NULL, 0 }
    ATOMIC(Load),
    ATOMIC(Store),
    ATOMIC(Exchange),
    ATOMIC(CompareExchange),
    ATOMIC(CompareExchangeWeak),
    ATOMIC(IIncrement),
    ATOMIC(IDecrement),
    ATOMIC(IAdd),
    ATOMIC(ISub),
    ATOMIC(SMin),
    ATOMIC(UMin),
    ATOMIC(SMax),
    ATOMIC(UMax),
    ATOMIC(And),
    ATOMIC(Or),
    ATOMIC(Xor),
    ATOMIC(FAddEXT),
    ATOMIC(FMinEXT),
    ATOMIC(FMaxEXT),
    ATOMIC(FlagTestAndSet),
    ATOMIC(FlagClear),
#undef ATOMIC
};
const ROpTable ref_atomic_ops = { rows, COUNT_OF(rows) };
