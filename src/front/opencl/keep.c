/* SPDX-License-Identifier: MIT
 *
 * Leaves variables to debuggers, before LLVM's passes make values of them. In: functions as the
 * tree was emitted. Out: beside each named variable of numbers another one, which is written
 * wherever that one is, by volatile stores, and never read (as pass_keep does it for modules whose
 * variables still are some). Its name begins with a place as those of instructions do, so that it
 * is its own, whatever LLVM appends to tell copies of inlined functions apart.
 */
#include "front/opencl/spirv_target.h"

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>

static bool is_numbers(LLVMTypeRef t)
{
    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind)
        t = LLVMGetElementType(t);
    LLVMTypeKind kind = LLVMGetTypeKind(t);
    return kind == LLVMHalfTypeKind || kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind ||
           (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) > 1);
}

/* The one beside a variable, which is the instruction behind it; NULL: it has none. */
static LLVMValueRef beside(LLVMValueRef variable)
{
    LLVMValueRef next = variable ? LLVMGetNextInstruction(variable) : NULL;
    return next && LLVMIsAAllocaInst(next) && ocl_is_kept(next) ? next : NULL;
}

static void add_beside(LLVMBuilderRef b, LLVMValueRef variable)
{
    size_t n;
    const char *own = LLVMGetValueName2(variable, &n);
    LLVMTypeRef t = LLVMGetAllocatedType(variable);
    const char *dot = memchr(own, '.', n);
    if (dot && n - (size_t)(dot - own) == 5 && !memcmp(dot, ".addr", 5))
        n -= 5; /* a parameter's */
    else if (dot)
        return;
    char *name = n && is_numbers(t) ? strndup(own, n) : NULL;
    if (!name)
        return;
    LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(variable));
    LLVMValueRef kept = LLVMBuildAlloca(b, t, "");
    LLVMSetAlignment(kept, LLVMGetAlignment(variable));
    LLVMInstructionSetDebugLoc(kept, LLVMInstructionGetDebugLoc(variable));
    ocl_name_kept(kept, name);
    free(name);
}

static LLVMValueRef root(LLVMValueRef pointer)
{
    while (LLVMIsAGetElementPtrInst(pointer) || LLVMIsABitCastInst(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    return LLVMIsAAllocaInst(pointer) ? pointer : NULL;
}

/* Behind `i`, which may have written to the variable that the operand leads to. */
static void keep_written(LLVMBuilderRef b, LLVMValueRef i, LLVMValueRef pointer)
{
    LLVMValueRef variable = root(pointer), kept = beside(variable);
    if (!kept)
        return;
    LLVMTypeRef t = LLVMGetAllocatedType(variable);
    LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(i));
    LLVMValueRef load = LLVMBuildLoad2(b, t, variable, "");
    LLVMSetAlignment(load, LLVMGetAlignment(variable));
    LLVMValueRef store = LLVMBuildStore(b, load, kept);
    LLVMSetAlignment(store, LLVMGetAlignment(kept));
    LLVMSetVolatile(store, true);
    LLVMInstructionSetDebugLoc(load, LLVMInstructionGetDebugLoc(i));
    LLVMInstructionSetDebugLoc(store, LLVMInstructionGetDebugLoc(i));
}

static void keep_writes(LLVMBuilderRef b, LLVMValueRef i)
{
    if (LLVMIsAStoreInst(i))
        keep_written(b, i, LLVMGetOperand(i, 1));
    else if (LLVMIsACallInst(i))
        for (unsigned k = 0; k < LLVMGetNumArgOperands(i); k++)
            keep_written(b, i, LLVMGetOperand(i, k));
}

void ocl_keep_variables(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        LLVMBasicBlockRef entry = LLVMIsDeclaration(f) ? NULL : LLVMGetEntryBasicBlock(f);
        LLVMValueRef i = entry ? LLVMGetFirstInstruction(entry) : NULL;
        for (LLVMValueRef next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (LLVMIsAAllocaInst(i))
                add_beside(b, i);
        }
        for (LLVMBasicBlockRef x = entry; x; x = LLVMGetNextBasicBlock(x))
            for (LLVMValueRef j = LLVMGetFirstInstruction(x), next; j; j = next) {
                next = LLVMGetNextInstruction(j);
                keep_writes(b, j);
            }
    }
    LLVMDisposeBuilder(b);
}

static bool is_lifetime(LLVMValueRef i)
{
    LLVMValueRef f = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    size_t n = 0;
    const char *name = f && LLVMIsAFunction(f) ? LLVMGetValueName2(f, &n) : "";
    return n > 14 && !memcmp(name, "llvm.lifetime.", 14);
}

void ocl_keep_inlined(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef x = LLVMGetFirstBasicBlock(f); x; x = LLVMGetNextBasicBlock(x))
            for (LLVMValueRef i = LLVMGetFirstInstruction(x), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                LLVMValueRef last =
                    is_lifetime(i) ? LLVMGetOperand(i, LLVMGetNumArgOperands(i) - 1) : NULL;
                if (last && LLVMIsAAllocaInst(last) && ocl_is_kept(last))
                    LLVMInstructionEraseFromParent(i);
            }
}
