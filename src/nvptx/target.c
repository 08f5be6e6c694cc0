/* SPDX-License-Identifier: MIT
 *
 * The table that emit knows threads by: variables, and what a launch passes.
 *
 * An invocation's own variables are allocas, workgroup memory is the block's dynamic shared memory,
 * and a variable that a workgroup shares lies in it where variables.c of emit says.
 */
#include "nvptx/fuse.h"
#include "llvm/ir.h"

#include <stddef.h>
#include <stdio.h>

LV threads_call(Emit *e, const char *name, LT result, LV *args, unsigned n)
{
    LT types[8];
    for (unsigned k = 0; k < n; k++)
        types[k] = LLVMTypeOf(args[k]);
    LT type = LLVMFunctionType(result, types, n, 0);
    LV fn = LLVMGetNamedFunction(e->ll, name);
    if (!fn)
        fn = LLVMAddFunction(e->ll, name, type);
    return LLVMBuildCall2(e->b, type, fn, args, n, "");
}

LV threads_register(Emit *e, const char *name)
{
    char full[64] = "llvm.nvvm.read.ptx.sreg.";
    strncat(full, name, sizeof full - strlen(full) - 1);
    return threads_call(e, full, e->i32, NULL, 0);
}

LV threads_asm(Emit *e, const IrAsm *code, LT result, LV *args, unsigned n)
{
    LV call = ir_asm(e->b, code, result, args, n);
    unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(e->cx, convergent, 0));
    return call;
}

LV threads_env(Emit *e, LLVMBuilderRef b, LT type, size_t offset)
{
    LV index = LLVMConstInt(e->i64, offset, 0);
    LV at = LLVMBuildGEP2(b, e->i8, e->env, &index, 1, "");
    return ir_load(b, type, at, type == e->i32 ? sizeof(uint32_t) : sizeof(uint64_t));
}

/* ---- memory that a launch gives -------------------------------------------------------------- */

static LV shared_memory(Emit *e, LLVMBuilderRef b)
{
    LT bytes = LLVMArrayType2(e->i8, 0);
    LV memory = LLVMGetNamedGlobal(e->ll, "heddle_shared");
    if (!memory) {
        memory = LLVMAddGlobalInAddressSpace(e->ll, bytes, "heddle_shared", SPACE_SHARED);
        LLVMSetLinkage(memory, LLVMExternalLinkage);
        LLVMSetAlignment(memory, 1024); /* what wgmma's swizzle wants */
    }
    return LLVMBuildAddrSpaceCast(b, memory, e->ptr, "");
}

static LV from_address(Emit *e, LLVMBuilderRef b, size_t offset)
{
    return LLVMBuildIntToPtr(b, threads_env(e, b, e->i64, offset), e->ptr, "");
}

static LV given(Emit *e, LLVMBuilderRef b, EmitGiven what)
{
    LV behind = LLVMConstInt(e->i64, sizeof(NvptxEnv), 0);
    switch (what) {
    case EMIT_GIVEN_COUNTS: return from_address(e, b, offsetof(NvptxEnv, counts));
    case EMIT_GIVEN_PUSH: return LLVMBuildGEP2(b, e->i8, e->env, &behind, 1, "");
    case EMIT_GIVEN_SHARED: return shared_memory(e, b);
    default: return threads_env(e, b, e->i64, offsetof(NvptxEnv, shared_bytes));
    }
}

static LV descriptors(Emit *e, LLVMBuilderRef b, uint32_t slot)
{
    bool own = slot < NVPTX_OWN_SLOTS && e->slots.data[slot].count == 1;
    if (own)
        return ir_at(b, e->env, ir_int(e->i64, offsetof(NvptxEnv, own[slot])));
    LV slots = from_address(e, b, offsetof(NvptxEnv, slots)), number = ir_int(e->i64, slot);
    return LLVMBuildLoad2(b, e->ptr, LLVMBuildGEP2(b, e->ptr, slots, &number, 1, ""), "");
}

/* ---- variables ------------------------------------------------------------------------------- */

static LV own_memory(Emit *e, uint64_t bytes)
{
    LV slot = emit_alloca(e, LLVMArrayType2(e->i8, MAX(bytes, 1)), "");
    LLVMSetAlignment(slot, 16);
    return slot;
}

static void own_variable(Emit *e, const SpvInst *variable, EmitPointer *p)
{
    uint64_t size = align_up(emit_layout_size(e, &p->at), emit_layout_align(e, &p->at));
    if (size > (uint64_t)1 << 18) {
        emit_error(e, variable, NULL, "a private variable of %llu bytes is too large",
                   (unsigned long long)size);
        size = 0;
    }
    p->base = own_memory(e, size);
}

static EmitPointer own_copy(Emit *e, LV from, uint64_t size, uint64_t align)
{
    (void)align;
    EmitPointer p = { .base = own_memory(e, size), .affine = { .group = 1 } };
    LLVMBuildMemCpy(e->b, p.base, 16, from, 1, LLVMConstInt(e->i64, size, 0));
    return p;
}

/* Each thread clears its share, in words, and waits for the others. */
static void zero_shared(Emit *e, LV base, uint64_t bytes)
{
    LLVMBuilderRef b = e->b;
    e->b = e->entry_b;
    LV linear = threads_register(e, "tid.z"),
       size[2] = { threads_register(e, "ntid.x"), threads_register(e, "ntid.y") };
    linear = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, linear, size[1], ""),
                          threads_register(e, "tid.y"), "");
    linear = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, linear, size[0], ""),
                          threads_register(e, "tid.x"), "");
    /* the first thread alone: such memory is small, and this runs once */
    LV first = LLVMBuildICmp(e->b, LLVMIntEQ, linear, LLVMConstInt(e->i32, 0, 0), "");
    LV count = LLVMBuildSelect(e->b, first, LLVMConstInt(e->i64, bytes, 0),
                               LLVMConstInt(e->i64, 0, 0), "");
    LLVMBuildMemSet(e->b, base, LLVMConstInt(e->i8, 0, 0), count, 16);
    threads_barrier(e);
    e->b = b;
}

/* ---- generic pointers ------------------------------------------------------------------------ */

static LV is_space(Emit *e, LV address, const char *name)
{
    LV p = LLVMBuildIntToPtr(e->b, address, e->ptr, "");
    return threads_call(e, name, e->i1, &p, 1);
}

static void memory_of(Emit *e, LV address, LV *shared, LV *own)
{
    *shared = is_space(e, address, "llvm.nvvm.isspacep.shared");
    *own = is_space(e, address, "llvm.nvvm.isspacep.local");
}

/* ---- what there is nothing to do for --------------------------------------------------------- */

static void nothing(Emit *e) { (void)e; }

static void no_edge(Emit *e, uint32_t from, uint32_t to) { (void)e, (void)from, (void)to; }

static void no_prefetch(Emit *e, const SpvInst *i, const EmitPointer *p)
{
    (void)e, (void)i, (void)p;
}

static void defined(Emit *e, const SpvInst *i, EmitValue *v) { (void)e, (void)i, (void)v; }

/* A value's definition dominates its uses, and blocks are laid out as they are. */
static const EmitValue *elsewhere(Emit *e, const SpvInst *i, const EmitValue *v)
{
    (void)e, (void)i;
    return v;
}

static void load_opaque(Emit *e, const EmitPointer *p, LV *leaves)
{
    uint32_t n = emit_n_leaves(e, p->at.type);
    emit_error(e, NULL, NULL, "images and samplers are not supported on %s", e->target->name);
    for (uint32_t k = 0; k < n; k++)
        leaves[k] = LLVMConstNull(e->i64);
}

/* ---- the function ---------------------------------------------------------------------------- */

/* Registers are to suffice for so many threads. */
static void set_block_size(Emit *e)
{
    char size[40];
    const NvptxFusion *fused = fused_workgroups(e);
    uint32_t x = e->local_size[0] * (fused ? fused->rows * fused->columns : 1);
    int n = snprintf(size, sizeof size, "%u,%u,%u", x, e->local_size[1], e->local_size[2]);
    if (!e->local_size[0])
        return;
    LLVMAddAttributeAtIndex(e->fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(e->cx,
                                                      fused ? "nvvm.maxntid" : "nvvm.reqntid", 12,
                                                      size, (unsigned)n));
    /* Matrices want registers. Where ptxas is not told that one block is enough, it gives some
     * kernels 32 a thread, and spills the rest. */
    if (threads_of(e)->has_matrices)
        LLVMAddAttributeAtIndex(e->fn, LLVMAttributeFunctionIndex,
                                LLVMCreateStringAttribute(e->cx, "nvvm.minctasm", 13, "1", 1));
}

void threads_set_parameter(Emit *e, uint32_t bytes)
{
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5),
             align = LLVMGetEnumAttributeKindForName("align", 5);
    LT type = LLVMArrayType2(e->i64, bytes / 8);
    LLVMAddAttributeAtIndex(e->fn, 1, LLVMCreateTypeAttribute(e->cx, byval, type));
    LLVMAddAttributeAtIndex(e->fn, 1, LLVMCreateEnumAttribute(e->cx, align, 16));
}

static bool begin(Emit *e)
{
    LLVMSetFunctionCallConv(e->fn, NVPTX_KERNEL_CONVENTION);
    set_block_size(e);
    return true;
}

static const EmitRule *const rules[] = { threads_rules_flow, threads_rules_subgroup,
                                         threads_rules_group, threads_rules_atomic, NULL };

const EmitTarget threads_target = {
    .name = "cuda",
    .rules = rules,
    .begin = begin,
    .inst = threads_inst,
    .plan = threads_plan,
    .blocks = threads_blocks,
    .block_begin = nothing,
    .block_end = nothing,
    .edge = no_edge,
    .defined = defined,
    .elsewhere = elsewhere,
    .given = given,
    .descriptors = descriptors,
    .own_variable = own_variable,
    .own_copy = own_copy,
    .builtin = threads_builtin,
    .zero_shared = zero_shared,
    .address = threads_address,
    .load = threads_load,
    .store = threads_store,
    .load_leaf = threads_load_leaf,
    .store_leaf = threads_store_leaf,
    .load_opaque = load_opaque,
    .copy_sized = threads_copy_sized,
    .prefetch = no_prefetch,
    .memory_of = memory_of,
    .settle = nothing,
    .print = threads_print,
    .approximate = threads_approximate,
};
