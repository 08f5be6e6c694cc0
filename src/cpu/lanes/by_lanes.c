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
    bool branches = !cpu_gathers(machine) && mask && !LLVMIsConstant(mask);
    bool short_ = store || branches || lanes_of(e)->seldom || machine->vector_bits < 256;
    return e->W >= (short_ ? 32 : 64);
}

/* A base and indices as they are, which are half as wide, if that is what the addresses consist
 * of. */
static bool has_indices(LV address)
{
    return LLVMIsAGetElementPtrInst(address) && LLVMGetNumOperands(address) == 2 &&
           LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(address, 0))) == LLVMPointerTypeKind;
}

LanesLoop by_lanes_begin(Emit *e, LV address, LV mask, LV *at)
{
    Lanes *lanes = lanes_of(e);
    bool indices = has_indices(address);
    LV where = indices ? LLVMGetOperand(address, 1) : address;
    if (!lanes->addresses)
        lanes->addresses = scratch(e, LLVMTypeOf(address), "lane_addresses");
    LLVMBuildStore(e->b, where, lanes->addresses);
    bool all = mask == LLVMConstAllOnes(LLVMTypeOf(mask));
    LanesLoop l = lane_loop_begin(e, all ? NULL : mask);
    LT element = LLVMGetElementType(LLVMTypeOf(where));
    *at =
        LLVMBuildLoad2(e->b, element, by_lanes_element(e, element, lanes->addresses, l.index), "");
    if (indices) {
        LV base = LLVMGetOperand(address, 0);
        *at = LLVMBuildGEP2(e->b, LLVMGetGEPSourceElementType(address), base, at, 1, "");
    }
    return l;
}

/* Addresses are a vector, or those of a run of elements. */
static LanesLoop over_elements(Emit *e, LT element, LV address, LV mask, LV *at)
{
    if (emit_is_lanes(address))
        return by_lanes_begin(e, address, mask, at);
    LanesLoop l = lane_loop_begin(e, mask);
    *at = by_lanes_element(e, element, address, l.index);
    return l;
}

LV by_lanes_gather(Emit *e, LT type, LV address, unsigned align, LV mask)
{
    LT element = LLVMGetElementType(type);
    LV from;
    LLVMBuildStore(e->b, LLVMConstNull(type), by_lanes_values(e));
    LanesLoop l = over_elements(e, element, address, mask, &from);
    LV x = ir_load(e->b, element, from, align);
    LLVMBuildStore(e->b, x, by_lanes_element(e, element, by_lanes_values(e), l.index));
    lane_loop_end(e, &l);
    return LLVMBuildLoad2(e->b, type, by_lanes_values(e), "");
}

void by_lanes_scatter(Emit *e, LV v, LV address, unsigned align, LV mask)
{
    LT element = LLVMGetElementType(LLVMTypeOf(v));
    LV to;
    LLVMBuildStore(e->b, v, by_lanes_values(e));
    LanesLoop l = over_elements(e, element, address, mask, &to);
    LV x = LLVMBuildLoad2(e->b, element, by_lanes_element(e, element, by_lanes_values(e), l.index),
                          "");
    ir_store(e->b, x, to, align);
    lane_loop_end(e, &l);
}
