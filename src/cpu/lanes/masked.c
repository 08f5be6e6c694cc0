/* SPDX-License-Identifier: MIT
 *
 * Loads and stores under a mask.
 *
 * Runs of elements that the machine cannot load or store under a mask, but one by one: most often
 * all of them are active, as in tiles that are not at an edge, which takes one access, or none, as
 * beside a tensor; and what lies in one page may be loaded as a whole. What is left is a loop over
 * the active ones: LLVM would write out a branch for each element, of which there may be 512.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

uint32_t lanes_scalar_bits(LT scalar)
{
    switch (LLVMGetTypeKind(scalar)) {
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(scalar);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    case LLVMFloatTypeKind: return 32;
    default: return 64;
    }
}

bool lanes_has_masks(Emit *e, uint32_t bits)
{
    const CpuTarget *machine = lanes_of(e)->machine;
    return machine->sets & CPU_AVX512 || (bits >= 32 && machine->vector_bits >= 256);
}

bool lanes_slow_masked_stores(Emit *e, uint32_t bits)
{
    return !lanes_has_masks(e, bits) || lanes_of(e)->machine->tuning->slow_masked_stores;
}

typedef struct AllOrSome {
    LLVMBasicBlockRef all, none, some, done;
} AllOrSome;

/* Branches on whether the mask is all ones, or, where `whole` (NULL: nowhere), has any; and on
 * whether it has none. Continues in the first way. */
static AllOrSome all_or_some(Emit *e, LV mask, LV whole)
{
    AllOrSome w = { emit_new_block(e, "access.all"), emit_new_block(e, "access.none"),
                    emit_new_block(e, "access.some"), emit_new_block(e, "access.done") };
    LT bits = LLVMIntTypeInContext(e->cx, LLVMGetVectorSize(LLVMTypeOf(mask)));
    LV is = LLVMBuildBitCast(e->b, mask, bits, "");
    LV all = LLVMBuildICmp(e->b, LLVMIntEQ, is, LLVMConstAllOnes(bits), "");
    LV any = LLVMBuildICmp(e->b, LLVMIntNE, is, LLVMConstNull(bits), "");
    if (whole)
        all = LLVMBuildOr(e->b, all, LLVMBuildAnd(e->b, any, whole, ""), "");
    LLVMBuildCondBr(e->b, all, w.all, w.none);
    LLVMPositionBuilderAtEnd(e->b, w.none);
    LLVMBuildCondBr(e->b, any, w.some, w.done);
    LLVMPositionBuilderAtEnd(e->b, w.all);
    return w;
}

/* i1: whether a vector lies in one page of memory, so that all of it may be read if any of it may:
 * of memory that LLVM knows nothing of. NULL: it knows. */
static LV in_one_page(Emit *e, LV address, uint64_t bytes)
{
    enum { PAGE = 4096 };
    LV base = address;
    while (LLVMIsAGetElementPtrInst(base))
        base = LLVMGetOperand(base, 0);
    bool known = !LLVMIsALoadInst(base) && !LLVMIsAArgument(base) && !LLVMIsAIntToPtrInst(base);
    if (known || bytes > PAGE)
        return NULL;
    LV at = LLVMBuildPtrToInt(e->b, address, e->i64, "");
    at = LLVMBuildAnd(e->b, at, ir_int(e->i64, PAGE - 1), "");
    return LLVMBuildICmp(e->b, LLVMIntULE, at, ir_int(e->i64, PAGE - bytes), "");
}

/* Ends a way, and continues at the other or behind both. */
static void go_on(Emit *e, const AllOrSome *w, LLVMBasicBlockRef at)
{
    LLVMBuildBr(e->b, w->done);
    LLVMPositionBuilderAtEnd(e->b, at);
}

enum { FEWEST_LOOPED = 16 };

static bool is_long_run(Emit *e, LT type)
{
    uint32_t n = LLVMGetVectorSize(type);
    return n >= FEWEST_LOOPED && n <= ACCESS_WIDEST * e->W;
}

static LV load_some(Emit *e, LT type, const LV args[3], unsigned align)
{
    if (is_long_run(e, type))
        return by_lanes_gather(e, type, args[0], align, args[1]);
    return ir_masked(e->b, "llvm.masked.load", args, 0, align);
}

static void store_some(Emit *e, const LV args[3], unsigned align)
{
    if (is_long_run(e, LLVMTypeOf(args[0])))
        by_lanes_scatter(e, args[0], args[1], align, args[2]);
    else
        ir_masked(e->b, "llvm.masked.store", args, 1, align);
}

static LV load_run(Emit *e, LT type, const LV args[3], unsigned align)
{
    uint64_t bytes = LLVMGetVectorSize(type) * lanes_scalar_bits(LLVMGetElementType(type)) / 8;
    AllOrSome w = all_or_some(e, args[1], in_one_page(e, args[0], bytes));
    LV v[3] = { ir_load(e->b, type, args[0], align), args[2] };
    v[0] = LLVMBuildSelect(e->b, args[1], v[0], args[2], "");
    go_on(e, &w, w.some);
    v[2] = load_some(e, type, args, align);
    LLVMBasicBlockRef from[3] = { w.all, w.none, LLVMGetInsertBlock(e->b) };
    go_on(e, &w, w.done);
    LV phi = LLVMBuildPhi(e->b, type, "");
    LLVMAddIncoming(phi, v, from, 3);
    return phi;
}

static void store_run(Emit *e, const LV args[3], unsigned align)
{
    AllOrSome w = all_or_some(e, args[2], NULL);
    ir_store(e->b, args[0], args[1], align);
    go_on(e, &w, w.some);
    store_some(e, args, align);
    go_on(e, &w, w.done);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Machines gather elements of at least 32 bits; LLVM would load narrower ones one by one. Each lies
 * within an aligned word, which may be read wherever one of its bytes may. */
static LV gather_narrow(Emit *e, LT type, LV address, uint32_t bits, LV mask)
{
    LT words = LLVMVectorType(e->i32, e->W), addresses = LLVMVectorType(e->i64, e->W);
    LT types[2] = { LLVMTypeOf(address), addresses };
    LV aligned[2] = { address, ir_int(addresses, ~3ull) };
    LV args[3] = { ir_intrinsic(e->b, "llvm.ptrmask", types, 2, aligned, 2), mask,
                   LLVMConstNull(words) };
    LV word = ir_masked(e->b, "llvm.masked.gather", args, 0, 4);
    LV byte = LLVMBuildTrunc(e->b, LLVMBuildPtrToInt(e->b, address, addresses, ""), words, "");
    byte = LLVMBuildAnd(e->b, byte, ir_int(words, 3), "");
    word = LLVMBuildLShr(e->b, word, LLVMBuildShl(e->b, byte, ir_int(words, 3), ""), "");
    LT narrow = LLVMVectorType(LLVMIntTypeInContext(e->cx, bits), e->W);
    return LLVMBuildBitCast(e->b, LLVMBuildTrunc(e->b, word, narrow, ""), type, "");
}

/* 16 bits at an address that may be odd can lie in two words. */
static LV gather_halves(Emit *e, LT type, LV address, LV mask)
{
    LT bytes = LLVMVectorType(e->i8, e->W), whole = LLVMVectorType(e->i16, e->W);
    LV one = ir_int(e->i64, 1);
    LV low = gather_narrow(e, bytes, address, 8, mask);
    LV above = ir_at(e->b, address, one);
    LV high = LLVMBuildZExt(e->b, gather_narrow(e, bytes, above, 8, mask), whole, "");
    high = LLVMBuildShl(e->b, high, ir_int(whole, 8), "");
    return LLVMBuildBitCast(e->b, LLVMBuildOr(e->b, high, LLVMBuildZExt(e->b, low, whole, ""), ""),
                            type, "");
}

LV lanes_masked_load(Emit *e, LT type, LV address, unsigned align, LV mask)
{
    LV args[3] = { address, mask, LLVMConstNull(type) };
    bool lanes = emit_is_lanes(address);
    uint32_t bits = lanes_scalar_bits(LLVMGetElementType(type));
    if (lanes && by_lanes_needed(e, bits, mask, false))
        return by_lanes_gather(e, type, address, align, mask);
    if (lanes && bits == 16 && align < 2)
        return gather_halves(e, type, address, mask);
    if (lanes && (bits == 8 || bits == 16))
        return gather_narrow(e, type, address, bits, mask);
    if (!lanes && !LLVMIsConstant(mask) && !lanes_has_masks(e, bits))
        return load_run(e, type, args, align);
    return ir_masked(e->b, lanes ? "llvm.masked.gather" : "llvm.masked.load", args, 0, align);
}

static bool all_set(LV mask, uint32_t from, uint32_t n)
{
    uint32_t k = 0;
    while (k < n && ir_is_int(LLVMGetAggregateElement(mask, from + k), 1))
        k++;
    return k == n;
}

/* Elements of a constant mask that follow one another, 2^k at a time. */
static void store_pieces(Emit *e, LV v, LV address, unsigned align, LV mask)
{
    uint32_t size = LLVMGetVectorSize(LLVMTypeOf(v));
    uint64_t bytes = lanes_scalar_bits(LLVMGetElementType(LLVMTypeOf(v))) / 8;
    for (uint32_t k = 0, n; k < size; k += n) {
        n = 1;
        if (!all_set(mask, k, 1))
            continue;
        while (k % (2 * n) == 0 && k + 2 * n <= size && all_set(mask, k + n, n))
            n *= 2;
        LV at = ir_at(e->b, address, ir_int(e->i64, k * bytes));
        LV piece = n > 1 ? ir_part(e->b, v, k, n)
                         : LLVMBuildExtractElement(e->b, v, ir_int(e->i32, k), "");
        ir_store(e->b, piece, at, align);
    }
}

void lanes_masked_store(Emit *e, LV v, LV address, unsigned align, LV mask)
{
    LV args[3] = { v, address, mask };
    bool lanes = emit_is_lanes(address);
    uint32_t bits = lanes_scalar_bits(LLVMGetElementType(LLVMTypeOf(v)));
    if (lanes && by_lanes_needed(e, bits, mask, true)) {
        by_lanes_scatter(e, v, address, align, mask);
        return;
    }
    bool slow = lanes_slow_masked_stores(e, bits);
    if (!lanes && slow && !LLVMIsConstant(mask))
        store_run(e, args, align);
    else if (!lanes && slow)
        store_pieces(e, v, address, align, mask);
    else
        ir_masked(e->b, lanes ? "llvm.masked.scatter" : "llvm.masked.store", args, 1, align);
}
