/* SPDX-License-Identifier: MIT
 *
 * Accesses of lanes one after the other, in a loop. LLVM writes out in full what the machine cannot
 * gather or scatter, under a mask with a branch for each lane, and takes as long over AVX2's
 * gathers of many lanes, whose masks each need a register: up to a minute for a hundred gathers of
 * 128 lanes. In the loop, lanes' addresses and values are in memory.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

LV by_lanes_element(Emit *e, LT element, LV array, LV index)
{
    return LLVMBuildInBoundsGEP2(e->b, element, array, &index, 1, "");
}

static LV scratch(Emit *e, LT type, const char *name)
{
    LV memory = emit_alloca(e, type, name);
    ir_mark(memory, CPU_SCRATCH);
    return memory;
}

LV by_lanes_values(Emit *e)
{
    Lanes *lanes = lanes_of(e);
    if (!lanes->values)
        lanes->values = scratch(e, LLVMVectorType(e->i64, ACCESS_WIDEST * e->W), "lane_values");
    return lanes->values;
}

bool by_lanes_needed(Emit *e, uint32_t bits, LV mask, bool store)
{
    const CpuTarget *machine = lanes_of(e)->machine;
    if (machine->sets & CPU_AVX512)
        return e->W >= 32 && store && bits < 32;
    bool branches = (store || !cpu_gathers(machine)) && mask && !LLVMIsConstant(mask);
    bool short_ = branches || lanes_of(e)->seldom || machine->vector_bits < 256;
    return e->W >= (short_ ? 32 : 64);
}

/* A base and indices as they are, which are half as wide, if that is what the addresses consist
 * of. */
static bool has_indices(LV address)
{
    return LLVMIsAGetElementPtrInst(address) && LLVMGetNumOperands(address) == 2 &&
           LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(address, 0))) == LLVMPointerTypeKind;
}

/* Where the lanes' elements are. */
typedef struct Places {
    LV array, base; /* of addresses; or of indices, with what they are from */
    LT element;     /* of the array */
    LT unit;        /* what indices count */
} Places;

static Places keep_places(Emit *e, LV address)
{
    Lanes *lanes = lanes_of(e);
    bool indices = has_indices(address);
    LV where = indices ? LLVMGetOperand(address, 1) : address;
    if (!lanes->addresses)
        lanes->addresses = scratch(e, LLVMTypeOf(address), "lane_addresses");
    LLVMBuildStore(e->b, where, lanes->addresses);
    return (Places){ .array = lanes->addresses,
                     .base = indices ? LLVMGetOperand(address, 0) : NULL,
                     .element = LLVMGetElementType(LLVMTypeOf(where)),
                     .unit = indices ? LLVMGetGEPSourceElementType(address) : NULL };
}

/* Of n lanes, as a vector; of one, as a scalar. */
static LV places_of(Emit *e, const Places *p, LV lane, uint32_t n)
{
    LT type = n > 1 ? LLVMVectorType(p->element, n) : p->element;
    LV at = LLVMBuildLoad2(e->b, type, by_lanes_element(e, p->element, p->array, lane), "");
    return p->base ? LLVMBuildGEP2(e->b, p->unit, p->base, &at, 1, "") : at;
}

static bool is_all(LV mask) { return mask == LLVMConstAllOnes(LLVMTypeOf(mask)); }

LanesLoop by_lanes_begin(Emit *e, LV address, LV mask, LV *at)
{
    Places p = keep_places(e, address);
    LanesLoop l = lane_loop_begin(e, is_all(mask) ? NULL : mask);
    *at = places_of(e, &p, l.index, 1);
    return l;
}

/* ---- all lanes, some at a time --------------------------------------------------------------- */

/* Most often all lanes are active, and need not be looked for. */
typedef struct AllFirst {
    LLVMBasicBlockRef some, done;
} AllFirst;

/* Continues with the way of all lanes, if there is one: what is unrolled has hundreds of accesses,
 * and takes seconds to compile. */
static bool all_begin(Emit *e, LV address, LV mask, AllFirst *w)
{
    enum { MOST_WAYS = 16 }; /* of a kernel */
    if (!emit_is_lanes(address) || lanes_of(e)->seldom || lanes_of(e)->n_all == MOST_WAYS)
        return false;
    lanes_of(e)->n_all++;
    if (!is_all(mask)) {
        LLVMBasicBlockRef all = emit_new_block(e, "lanes.all");
        w->done = emit_new_block(e, "lanes.each");
        w->some = emit_new_block(e, "lanes.some");
        LV other = lanes_any(e, LLVMBuildNot(e->b, mask, ""));
        LLVMBuildCondBr(e->b, other, w->some, all);
        LLVMPositionBuilderAtEnd(e->b, all);
    }
    return true;
}

/* Continues with the way of the others; false: there is none. */
static bool all_else(Emit *e, const AllFirst *w)
{
    if (!w->some)
        return false;
    LLVMBuildBr(e->b, w->done);
    LLVMPositionBuilderAtEnd(e->b, w->some);
    return true;
}

static void all_end(Emit *e, const AllFirst *w)
{
    if (!w->done)
        return;
    LLVMBuildBr(e->b, w->done);
    LLVMPositionBuilderAtEnd(e->b, w->done);
}

/* As many as a vector of the machine holds. */
static EmitLoop some_at_a_time(Emit *e, LT element, uint32_t *n, LV *first)
{
    *n = MIN(lanes_of(e)->machine->vector_bits / lanes_scalar_bits(element), e->W);
    EmitLoop l = loop_begin(e, ir_int(e->i32, e->W / *n));
    *first = LLVMBuildMul(e->b, l.index, ir_int(e->i32, *n), "");
    return l;
}

static void gather_all(Emit *e, LT element, LV address, unsigned align)
{
    uint32_t n;
    LV first;
    Places p = keep_places(e, address);
    EmitLoop l = some_at_a_time(e, element, &n, &first);
    LV v = LLVMGetPoison(LLVMVectorType(element, n));
    for (uint32_t k = 0; k < n; k++) {
        LV lane = LLVMBuildAdd(e->b, first, ir_int(e->i32, k), "");
        LV x = ir_load(e->b, element, places_of(e, &p, lane, 1), align);
        v = LLVMBuildInsertElement(e->b, v, x, ir_int(e->i32, k), "");
    }
    LLVMBuildStore(e->b, v, by_lanes_element(e, element, by_lanes_values(e), first));
    loop_end(e, &l);
}

/* From registers: what is loaded behind a store to anywhere may have to wait for it. */
static void scatter_all(Emit *e, LT element, LV address, unsigned align)
{
    uint32_t n;
    LV first;
    Places p = keep_places(e, address);
    EmitLoop l = some_at_a_time(e, element, &n, &first);
    LV from = by_lanes_element(e, element, by_lanes_values(e), first);
    LV args[3] = { LLVMBuildLoad2(e->b, LLVMVectorType(element, n), from, ""),
                   places_of(e, &p, first, n), LLVMConstAllOnes(LLVMVectorType(e->i1, n)) };
    ir_masked(e->b, "llvm.masked.scatter", args, 1, align);
    loop_end(e, &l);
}

/* ---- the active lanes ------------------------------------------------------------------------ */

/* Addresses are a vector, or those of a run of elements. */
static LanesLoop over_elements(Emit *e, LT element, LV address, LV mask, LV *at)
{
    if (emit_is_lanes(address))
        return by_lanes_begin(e, address, mask, at);
    LanesLoop l = lane_loop_begin(e, mask);
    *at = by_lanes_element(e, element, address, l.index);
    return l;
}

static void gather_some(Emit *e, LT type, LV address, unsigned align, LV mask)
{
    LT element = LLVMGetElementType(type);
    LV from;
    LLVMBuildStore(e->b, LLVMConstNull(type), by_lanes_values(e));
    LanesLoop l = over_elements(e, element, address, mask, &from);
    LV x = ir_load(e->b, element, from, align);
    LLVMBuildStore(e->b, x, by_lanes_element(e, element, by_lanes_values(e), l.index));
    lane_loop_end(e, &l);
}

static void scatter_some(Emit *e, LT element, LV address, unsigned align, LV mask)
{
    LV to;
    LanesLoop l = over_elements(e, element, address, mask, &to);
    LV from = by_lanes_element(e, element, by_lanes_values(e), l.index);
    ir_store(e->b, LLVMBuildLoad2(e->b, element, from, ""), to, align);
    lane_loop_end(e, &l);
}

LV by_lanes_gather(Emit *e, LT type, LV address, unsigned align, LV mask)
{
    AllFirst w = { 0 };
    bool all = all_begin(e, address, mask, &w);
    if (all)
        gather_all(e, LLVMGetElementType(type), address, align);
    if (!all || all_else(e, &w))
        gather_some(e, type, address, align, mask);
    all_end(e, &w);
    return LLVMBuildLoad2(e->b, type, by_lanes_values(e), "");
}

void by_lanes_scatter(Emit *e, LV v, LV address, unsigned align, LV mask)
{
    AllFirst w = { 0 };
    LT element = LLVMGetElementType(LLVMTypeOf(v));
    LLVMBuildStore(e->b, v, by_lanes_values(e));
    bool all = all_begin(e, address, mask, &w);
    if (all)
        scatter_all(e, element, address, align);
    if (!all || all_else(e, &w))
        scatter_some(e, element, address, align, mask);
    all_end(e, &w);
}
