/* SPDX-License-Identifier: MIT
 *
 * Conversions of lanes that repeat a few numbers, as the scales of quantised blocks are repeated in
 * each lane that takes a part of a block. In: a vector that a shuffle made of one at most half as
 * long, behind the ways of its load. Out: the short one converted, and then shuffled.
 */
#include "cpu/lanes/internal.h"
#include "llvm/arith.h"
#include "llvm/ir.h"

/* The shuffle, if that is what a vector is, by bits. */
static LV shuffle_of(LV x)
{
    LT to = LLVMTypeOf(x);
    if (LLVMIsABitCastInst(x)) {
        x = LLVMGetOperand(x, 0);
        if (!ir_is_vector(x) || LLVMGetVectorSize(LLVMTypeOf(x)) != LLVMGetVectorSize(to))
            return NULL;
    }
    if (!LLVMIsAShuffleVectorInst(x))
        return NULL;
    uint32_t few = LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(x, 0)));
    if (2 * few > LLVMGetVectorSize(to))
        return NULL;
    for (unsigned k = 0; k < LLVMGetNumMaskElements(x); k++)
        if (LLVMGetMaskValue(x, k) < 0 || (uint32_t)LLVMGetMaskValue(x, k) >= few)
            return NULL;
    return x;
}

static LV convert(Emit *e, LV x, IrComp from, IrComp to)
{
    LV shuffle = shuffle_of(x);
    int lanes[IR_MAX_LANES];
    if (!shuffle)
        return arith_convert(e->b, x, from, to, ROUND_NEAREST, false);
    LV few = LLVMGetOperand(shuffle, 0);
    uint32_t n = LLVMGetVectorSize(LLVMTypeOf(few)), size = LLVMGetNumMaskElements(shuffle);
    few = LLVMBuildBitCast(e->b, few, LLVMVectorType(LLVMGetElementType(LLVMTypeOf(x)), n), "");
    few = arith_convert(e->b, few, from, to, ROUND_NEAREST, false);
    for (unsigned k = 0; k < size; k++)
        lanes[k] = LLVMGetMaskValue(shuffle, k);
    return ir_shuffle(e->b, few, NULL, lanes, size);
}

LV repeated_widen(Emit *e, LV x, IrComp from, IrComp to)
{
    enum { WAYS = 2 };
    LV to_come[WAYS];
    LLVMBasicBlockRef blocks[WAYS], here = LLVMGetInsertBlock(e->b);
    if (!ir_is_vector(x))
        return NULL;
    if (!LLVMIsAPHINode(x))
        return shuffle_of(x) ? convert(e, x, from, to) : NULL;
    if (LLVMCountIncoming(x) != WAYS || !shuffle_of(LLVMGetIncomingValue(x, 0)))
        return NULL;
    for (unsigned k = 0; k < WAYS; k++) {
        blocks[k] = LLVMGetIncomingBlock(x, k);
        LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(blocks[k]));
        to_come[k] = convert(e, LLVMGetIncomingValue(x, k), from, to);
    }
    LLVMPositionBuilderBefore(e->b, x);
    LV r = LLVMBuildPhi(e->b, LLVMTypeOf(to_come[0]), "");
    LLVMAddIncoming(r, to_come, blocks, WAYS);
    LLVMPositionBuilderAtEnd(e->b, here);
    return r;
}
