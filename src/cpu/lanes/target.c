/* SPDX-License-Identifier: MIT
 *
 * The table through which emit uses lanes, and the kernel's environment.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

_Static_assert(sizeof(DeviceBinding) == DESCRIPTOR_BYTES, "a descriptor");
_Static_assert(offsetof(DeviceBinding, size) == DESCRIPTOR_SIZE, "a descriptor");

LV lanes_env(Emit *e, LLVMBuilderRef b, LT type, size_t offset)
{
    LV index = ir_int(e->i64, offset);
    LV at = ir_at(b, e->env, index);
    return LLVMBuildLoad2(b, type, at, "");
}

LV lanes_frame(Emit *e, uint64_t bytes)
{
    LV base = lanes_env(e, e->entry_b, e->ptr, offsetof(CpuEnv, frame));
    LV index = ir_int(e->i64, lanes_of(e)->kernel->frame_bytes);
    lanes_of(e)->kernel->frame_bytes += align_up(bytes, 64);
    return ir_at(e->entry_b, base, index);
}

static LV widen(Emit *e, LV x, IrComp from, IrComp to)
{
    uint32_t sets = lanes_of(e)->machine->sets;
    bool exact = (from == COMP_F16 || from == COMP_BF16) && to == COMP_F32;
    LV r = exact ? repeated_widen(e, x, from, to) : NULL;
    if (!r && sets & CPU_AVX512_VBMI)
        r = arith_look_up(e->b, x, from, to);
    bool by_half = to == COMP_F32 && sets & (CPU_F16C | CPU_NEON);
    return r || !by_half ? r : arith_widen_by_half(e->b, x, from);
}

LV lanes_active(Emit *e, LV mask)
{
    LT bits = LLVMIntTypeInContext(e->cx, LLVMGetVectorSize(LLVMTypeOf(mask)));
    LV n, word = LLVMBuildBitCast(e->b, mask, bits, "");
    n = ir_intrinsic(e->b, "llvm.ctpop", &bits, 1, &word, 1);
    uint32_t lanes = LLVMGetIntTypeWidth(bits);
    return lanes < 64   ? LLVMBuildZExt(e->b, n, e->i64, "")
           : lanes > 64 ? LLVMBuildTrunc(e->b, n, e->i64, "")
                        : n;
}

static bool begin(Emit *e)
{
    kept_begin(e);
    variables_lanes_begin(e);
    return builtin_begin(e);
}

static bool load_together(Emit *e, const SpvInst *i, const EmitPointer *p, LV *leaves)
{
    lanes_of(e)->dotted = in_place_wanted(e, i) && !p->volatile_;
    return lookup_load(e, i, p, leaves) || series_load(e, i, p, leaves);
}

const EmitTarget lanes_target = {
    .name = "the CPU",
    .lanes = true,
    .begin = begin,
    .plan = lanes_plan,
    .blocks = lanes_blocks,
    .prepare = together_block,
    .reached = rows_reached,
    .defined = kept_defined,
    .elsewhere = kept_elsewhere,
    .uniform = lanes_uniform,
    .given = variables_given,
    .own_variable = variables_own,
    .own_copy = variables_copy,
    .builtin = builtin_value,
    .zero_shared = variables_zero_shared,
    .add_lanes = index_add_lanes,
    .address = address_of_part,
    .load = access_load,
    .store = access_store,
    .load_leaf = access_load_leaf,
    .store_leaf = access_store_leaf,
    .load_opaque = image_load,
    .copy_sized = copy_sized,
    .inside = together_inside,
    .load_together = load_together,
    .memory_of = variables_memory_of,
    .print = lanes_print,
    .dot = lanes_dot,
    .dot4 = lanes_dot4,
    .widen = widen,
};
