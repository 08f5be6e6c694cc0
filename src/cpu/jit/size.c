/* SPDX-License-Identifier: MIT
 *
 * In: a module as it was generated. Out: whether it is so large that a first tier pays. What LLVM
 * takes for it grows with its instructions, a vector counted as many times as the machine has to
 * split it, and in kernels of many branches faster than that.
 */
#include "cpu/jit/jit.h"

#define LARGE 80000u /* about a second; what people write by hand has up to a tenth of it */

static uint32_t scalar_bits(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(type);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    case LLVMFloatTypeKind: return 32;
    default: return 64;
    }
}

/* How many machine vectors the value fills, at least 1. */
static uint64_t vectors(LLVMTypeRef type, uint32_t vector_bits)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return 1;
    uint64_t bits = (uint64_t)LLVMGetVectorSize(type) * scalar_bits(LLVMGetElementType(type));
    return (bits + vector_bits - 1) / vector_bits;
}

bool cpu_is_large(LLVMModuleRef module, uint32_t vector_bits)
{
    uint64_t n = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
                bool stores = LLVMGetInstructionOpcode(i) == LLVMStore;
                n += vectors(LLVMTypeOf(stores ? LLVMGetOperand(i, 0) : i), vector_bits);
            }
    return n >= LARGE;
}
