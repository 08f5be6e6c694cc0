/* SPDX-License-Identifier: MIT
 *
 * Operations of a whole workgroup (SPIR-V 3.3.21): OpGroup* with that scope, asynchronous copies.
 *
 * Each subgroup combines its lanes, leaves the result in a slot of workgroup memory and waits for
 * the others; then each reads what it needs. A second wait keeps the slots until all have read
 * them. An asynchronous copy is made at once, each subgroup copying a part; waiting for its event
 * is a barrier.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <stddef.h>

enum { MAX_INVOCATIONS = 65536 }; /* where the workgroup's size is not known */

static uint64_t invocations(const Emit *e)
{
    return (uint64_t)e->local_size[0] * e->local_size[1] * e->local_size[2];
}

static LV subgroup(Emit *e) { return lanes_env(e, e->b, e->i32, offsetof(CpuEnv, subgroup)); }
static LV n_subgroups(Emit *e) { return lanes_env(e, e->b, e->i32, offsetof(CpuEnv, n_subgroups)); }

/* Workgroup memory of `bytes` for each subgroup. */
static LV slots(Emit *e, uint32_t bytes)
{
    uint64_t n = invocations(e);
    if (!n)
        n = lanes_of(e)->kernel->max_invocations = MAX_INVOCATIONS;
    uint64_t start = align_up(e->shared_bytes, 64);
    e->shared_bytes = start + (n + e->W - 1) / e->W * bytes;
    return ir_at(e->b, lanes_env(e, e->b, e->ptr, offsetof(CpuEnv, shared)), ir_int(e->i64, start));
}

static LV slot(Emit *e, LV base, LV number, LT type)
{
    return LLVMBuildGEP2(e->b, type, base, &number, 1, "");
}

/* Booleans are stored as bytes. */
static LT stored_type(Emit *e, LT t) { return t == e->i1 ? e->i8 : t; }

static LV to_slot(Emit *e, LV v)
{
    return LLVMTypeOf(v) == e->i1 ? LLVMBuildZExt(e->b, v, e->i8, "") : v;
}

static LV from_slot(Emit *e, LV v, LT type)
{
    return type == e->i1 ? LLVMBuildTrunc(e->b, v, e->i1, "") : v;
}

/* The values in the slots of subgroups 0 to n - 1, combined. */
static LV combine_slots(Emit *e, EmitCombine how, LV base, LV n, LT type)
{
    LT t = stored_type(e, type);
    LV sum = emit_alloca(e, t, "sum");
    LLVMBuildStore(e->b, to_slot(e, combine_identity(e, how, type)), sum);
    EmitLoop l = loop_begin(e, n);
    LV part = LLVMBuildLoad2(e->b, t, slot(e, base, l.index, t), "");
    LV old = LLVMBuildLoad2(e->b, t, sum, "");
    LV new = combine(e, how, from_slot(e, old, type), from_slot(e, part, type));
    LLVMBuildStore(e->b, to_slot(e, new), sum);
    loop_end(e, &l);
    return from_slot(e, LLVMBuildLoad2(e->b, t, sum, ""), type);
}

/* Combines v over the workgroup; `operation` is a SPIR-V GroupOperation. */
static LV group_combine(Emit *e, EmitCombine how, LV v, uint32_t operation)
{
    LT type = ir_element(LLVMTypeOf(v)), t = stored_type(e, type);
    LV own = combine_reduce(e, how, v, e->mask), number = subgroup(e), n = n_subgroups(e);
    LV base = slots(e, 8);
    LLVMBuildStore(e->b, to_slot(e, own), slot(e, base, number, t));
    flow_barrier(e);
    bool reduce = operation == SpvGroupOperationReduce;
    LV others = combine_slots(e, how, base, reduce ? n : number, type);
    flow_barrier(e);
    if (reduce)
        return others;
    LV scan = combine_scan(e, how, v, e->mask, operation == SpvGroupOperationInclusiveScan);
    return combine(e, how, emit_lanes(e, others), scan);
}

/* The value of v in the invocation with that index. */
static LV group_broadcast(Emit *e, LV v, LV index)
{
    LT type = ir_element(LLVMTypeOf(v)), t = stored_type(e, type);
    LV base = slots(e, 8), lane = LLVMBuildAnd(e->b, index, ir_int(e->i32, e->W - 1), "");
    LV owner = LLVMBuildUDiv(e->b, index, ir_int(e->i32, e->W), "");
    EmitIf mine = if_begin(e, LLVMBuildICmp(e->b, LLVMIntEQ, owner, subgroup(e), ""));
    LLVMBuildStore(e->b, to_slot(e, emit_lane(e, v, lane)), base);
    if_end(e, &mine);
    flow_barrier(e);
    LV r = from_slot(e, LLVMBuildLoad2(e->b, t, base, ""), type);
    flow_barrier(e);
    return r;
}

static LV local_size(Emit *e, uint32_t axis)
{
    return e->local_size[axis]
               ? ir_int(e->i32, e->local_size[axis])
               : lanes_env(e, e->b, e->i32, offsetof(CpuEnv, local_size) + 4 * axis);
}

/* The index in the workgroup that belongs to a local id of one to three components. */
static LV linear(Emit *e, SpvId id)
{
    uint32_t n;
    LV *x = ops_leaves(e, id, &n), index = ir_int(e->i32, 0);
    for (uint32_t k = n; k-- > 0;) {
        LV part = arith_resize(e->b, emit_uniform(e, x[k]), e->i32, false);
        index = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, index, local_size(e, k), ""), part, "");
    }
    return index;
}

bool group_is_subgroup(Emit *e) { return invocations(e) && invocations(e) <= e->W; }

void group_inst(Emit *e, const SpvInst *i)
{
    uint32_t n;
    bool vote = i->op == SpvOpGroupAll || i->op == SpvOpGroupAny ||
                i->op == SpvOpGroupNonUniformAll || i->op == SpvOpGroupNonUniformAny;
    bool broadcast = i->op == SpvOpGroupBroadcast || i->op == SpvOpGroupNonUniformBroadcast;
    e->target->settle(e);
    LV *v = ops_leaves(e, spv_operand(i, vote || broadcast ? 1 : 2), &n);
    LV index = broadcast ? linear(e, spv_operand(i, 2)) : NULL;
    bool all = i->op == SpvOpGroupAll || i->op == SpvOpGroupNonUniformAll;
    for (uint32_t k = 0; k < n; k++) {
        if (broadcast)
            v[k] = group_broadcast(e, v[k], index);
        else
            v[k] = group_combine(e, vote ? all ? COMBINE_AND : COMBINE_OR : combine_of(i->op), v[k],
                                 vote ? SpvGroupOperationReduce : spv_operand(i, 1));
    }
    emit_set(e, i, v, n);
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

static LV uniform_address(Emit *e, SpvId id)
{
    return emit_uniform(e, emit_address(e, emit_pointer(e, id), 0, 1));
}

static LV wide(Emit *e, SpvId id)
{
    return arith_resize(e->b, emit_uniform(e, emit_leaf(e, id, 0)), e->i64, false);
}

/* The first of this subgroup's share of n elements: number * n / subgroups. */
static LV share(Emit *e, LV n, LV number)
{
    LV count = LLVMBuildZExt(e->b, n_subgroups(e), e->i64, "");
    LV part = LLVMBuildMul(e->b, n, LLVMBuildZExt(e->b, number, e->i64, ""), "");
    return LLVMBuildUDiv(e->b, part, count, "");
}

void group_async_copy(Emit *e, const SpvInst *i)
{
    SpvId to = spv_operand(i, 1), from = spv_operand(i, 2);
    const EmitPointer *p = emit_pointer(e, to);
    uint64_t size = align_up(emit_layout_size(e, &p->at), emit_layout_align(e, &p->at));
    LV n = wide(e, spv_operand(i, 3)), step = wide(e, spv_operand(i, 4)),
       bytes = ir_int(e->i64, size);
    LV stride = LLVMBuildMul(e->b, step, bytes, "");
    bool gathers = p->storage == SpvStorageClassWorkgroup;
    e->target->settle(e);
    LV d = uniform_address(e, to), s = uniform_address(e, from), number = subgroup(e);
    LV first = share(e, n, number);
    LV count = LLVMBuildSub(e->b, share(e, n, LLVMBuildAdd(e->b, number, ir_int(e->i32, 1), "")),
                            first, "");
    EmitLoop l = loop_begin(e, count);
    LV k = LLVMBuildAdd(e->b, first, l.index, "");
    LV there = ir_at(e->b, d, LLVMBuildMul(e->b, k, gathers ? bytes : stride, ""));
    LV here = ir_at(e->b, s, LLVMBuildMul(e->b, k, gathers ? stride : bytes, ""));
    LLVMBuildMemCpy(e->b, there, 1, here, 1, bytes);
    loop_end(e, &l);
    emit_set1(e, i, NULL);
}

void group_wait_events(Emit *e, const SpvInst *i)
{
    (void)i;
    e->target->settle(e);
    flow_barrier(e);
}
