/* SPDX-License-Identifier: MIT
 *
 * Operations of a whole workgroup (SPIR-V 3.3.21): OpGroup* with that scope, asynchronous copies.
 *
 * Each thread leaves its value in workgroup memory and waits for the others; then each reads what
 * it needs, in order of invocations. A second wait keeps the values until all have read them. A
 * copy is done at once, each thread a part; waiting for its event is a barrier.
 */
#include "nvptx/internal.h"
#include "llvm/ir.h"

enum { MAX_INVOCATIONS = 1024 }; /* of any block */

static LV values(Emit *e)
{
    uint64_t n = (uint64_t)e->local_size[0] * e->local_size[1] * e->local_size[2];
    uint64_t start = align_up(e->shared_bytes, 64);
    e->shared_bytes = start + (n ? n : MAX_INVOCATIONS) * 8;
    return ir_at(e->b, e->target->given(e, e->b, EMIT_GIVEN_SHARED), ir_int(e->i64, start));
}

/* Booleans have no place in memory. */
static LT stored_type(Emit *e, LT t) { return t == e->i1 ? e->i8 : t; }

static void store_slot(Emit *e, LV base, LV number, LV v)
{
    LT t = stored_type(e, LLVMTypeOf(v));
    if (LLVMTypeOf(v) == e->i1)
        v = LLVMBuildZExt(e->b, v, e->i8, "");
    LLVMBuildStore(e->b, v, LLVMBuildGEP2(e->b, t, base, &number, 1, ""));
}

static LV load_slot(Emit *e, LV base, LV number, LT type)
{
    LT t = stored_type(e, type);
    LV v = LLVMBuildLoad2(e->b, t, LLVMBuildGEP2(e->b, t, base, &number, 1, ""), "");
    return type == e->i1 ? LLVMBuildTrunc(e->b, v, e->i1, "") : v;
}

/* Of the invocations that a scan sees: all, or those up to or below one's own. */
static LV how_many(Emit *e, uint32_t operation)
{
    if (operation == SpvGroupOperationReduce)
        return threads_invocations(e);
    LV own = threads_local_index(e);
    return operation == SpvGroupOperationInclusiveScan
               ? LLVMBuildAdd(e->b, own, ir_int(e->i32, 1), "")
               : own;
}

static LV combined(Emit *e, EmitCombine how, LV v, uint32_t operation)
{
    LT type = LLVMTypeOf(v);
    LV base = values(e), own = threads_local_index(e), n = how_many(e, operation);
    store_slot(e, base, own, v);
    threads_barrier(e);
    LV first = combine_identity(e, how, type), sum = emit_alloca(e, type, "sum");
    if (how == COMBINE_FADD && operation == SpvGroupOperationExclusiveScan)
        first = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, own, ir_int(e->i32, 0), ""),
                                LLVMConstNull(type), first, "");
    LLVMBuildStore(e->b, first, sum);
    EmitLoop l = loop_begin(e, n);
    LV next =
        combine(e, how, LLVMBuildLoad2(e->b, type, sum, ""), load_slot(e, base, l.index, type));
    LLVMBuildStore(e->b, next, sum);
    loop_end(e, &l);
    threads_barrier(e);
    return LLVMBuildLoad2(e->b, type, sum, "");
}

static LV broadcast(Emit *e, LV v, LV from)
{
    LV base = values(e);
    store_slot(e, base, threads_local_index(e), v);
    threads_barrier(e);
    LV r = load_slot(e, base, from, LLVMTypeOf(v));
    threads_barrier(e);
    return r;
}

/* The place in the workgroup of a local id of one to three components. */
static LV linear(Emit *e, SpvId id)
{
    uint32_t n;
    LV *x = ops_leaves(e, id, &n), index = ir_int(e->i32, 0);
    for (uint32_t k = n; k-- > 0;) {
        LV part = arith_resize(e->b, x[k], e->i32, false);
        index =
            LLVMBuildAdd(e->b, LLVMBuildMul(e->b, index, threads_local_size(e, k), ""), part, "");
    }
    return index;
}

void threads_group_inst(Emit *e, const SpvInst *i)
{
    uint32_t n;
    bool all = i->op == SpvOpGroupAll || i->op == SpvOpGroupNonUniformAll;
    bool vote = all || i->op == SpvOpGroupAny || i->op == SpvOpGroupNonUniformAny;
    bool broadcasts = i->op == SpvOpGroupBroadcast || i->op == SpvOpGroupNonUniformBroadcast;
    LV *v = ops_leaves(e, spv_operand(i, vote || broadcasts ? 1 : 2), &n);
    LV from = broadcasts ? linear(e, spv_operand(i, 2)) : NULL;
    EmitCombine how = vote ? all ? COMBINE_AND : COMBINE_OR : broadcasts ? 0 : combine_of(i->op);
    for (uint32_t k = 0; k < n; k++)
        v[k] = broadcasts
                   ? broadcast(e, v[k], from)
                   : combined(e, how, v[k], vote ? SpvGroupOperationReduce : spv_operand(i, 1));
    emit_set(e, i, v, n);
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

static LV wide(Emit *e, SpvId id) { return arith_resize(e->b, emit_leaf(e, id, 0), e->i64, false); }

/* Elements own, own + size, own + 2 * size, ... of n. */
static void async_copy(Emit *e, const SpvInst *i)
{
    SpvId to = spv_operand(i, 1), from = spv_operand(i, 2);
    const EmitPointer *p = emit_pointer(e, to);
    uint64_t size = align_up(emit_layout_size(e, &p->at), emit_layout_align(e, &p->at));
    LV bytes = ir_int(e->i64, size), n = wide(e, spv_operand(i, 3));
    LV stride = LLVMBuildMul(e->b, wide(e, spv_operand(i, 4)), bytes, "");
    bool gathers = p->storage == SpvStorageClassWorkgroup;
    LV d = emit_address(e, p, 0, 1), s = emit_address(e, emit_pointer(e, from), 0, 1);
    LV step = LLVMBuildZExt(e->b, threads_invocations(e), e->i64, "");
    LV own = LLVMBuildZExt(e->b, threads_local_index(e), e->i64, "");
    LV more = LLVMBuildAdd(e->b, n, LLVMBuildSub(e->b, step, ir_int(e->i64, 1), ""), "");
    LV rounds = LLVMBuildUDiv(e->b, LLVMBuildSub(e->b, more, own, ""), step, "");
    EmitLoop l = loop_begin(e, rounds);
    LV k = LLVMBuildAdd(e->b, own, LLVMBuildMul(e->b, l.index, step, ""), "");
    LV there = ir_at(e->b, d, LLVMBuildMul(e->b, k, gathers ? bytes : stride, ""));
    LV here = ir_at(e->b, s, LLVMBuildMul(e->b, k, gathers ? stride : bytes, ""));
    LLVMBuildMemCpy(e->b, there, 1, here, 1, bytes);
    loop_end(e, &l);
    emit_set1(e, i, NULL);
}

static void wait_events(Emit *e, const SpvInst *i)
{
    (void)i;
    threads_barrier(e);
}

const EmitRule threads_rules_group[] = {
    { SpvOpGroupAsyncCopy, 0, async_copy },
    { SpvOpGroupWaitEvents, 0, wait_events },
    { 0, 0, NULL },
};
