/* SPDX-License-Identifier: MIT
 *
 * In: optimised LLVM IR. Out: the same, except that pointers in memory are integers: variables and
 * the chains into them have integer types, inttoptr follows a load, ptrtoint precedes a store.
 * LLVM's SPIR-V target guesses the pointee of a pointer to a pointer, and mistakes arrays and
 * structures of pointers for a single pointer (LLVM 22); with integers there is nothing to guess.
 * Also, a truncation that is widened again becomes a mask, because the target makes a mask with the
 * wrong type of it.
 *
 * Constant memory stays as it is, since its initialisers hold addresses.
 */
#include "front/opencl/spirv_target.h"

#include <llvm-c/Core.h>
#include <stdlib.h>

enum { CONSTANT_MEMORY = 2, LOCAL_MEMORY = 3 };

/* The type with integers in place of pointers: itself, if it has none. */
static LLVMTypeRef lowered(LLVMTypeRef t)
{
    LLVMContextRef c = LLVMGetTypeContext(t);
    switch (LLVMGetTypeKind(t)) {
    case LLVMPointerTypeKind: return LLVMInt64TypeInContext(c);
    case LLVMArrayTypeKind: {
        LLVMTypeRef element = LLVMGetElementType(t), to = lowered(element);
        return to == element ? t : LLVMArrayType2(to, LLVMGetArrayLength2(t));
    }
    case LLVMStructTypeKind: {
        unsigned n = LLVMCountStructElementTypes(t);
        LLVMTypeRef *list = calloc(n + 1, sizeof(LLVMTypeRef));
        bool changed = false;
        for (unsigned i = 0; list && i < n; i++) {
            LLVMTypeRef own = LLVMStructGetTypeAtIndex(t, i);
            list[i] = lowered(own);
            changed |= list[i] != own;
        }
        if (changed)
            t = LLVMStructTypeInContext(c, list, n, LLVMIsPackedStruct(t));
        free(list);
        return t;
    }
    default: return t;
    }
}

static bool is_pointer(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMPointerTypeKind; }

static bool is_constant_memory(LLVMValueRef pointer)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == CONSTANT_MEMORY;
}

/* The replacement of `i`, in the same place; NULL: it stays. */
static LLVMValueRef lower_variable(LLVMBuilderRef b, LLVMValueRef i)
{
    LLVMTypeRef own = LLVMGetAllocatedType(i), t = lowered(own);
    LLVMValueRef v = t == own ? NULL : LLVMBuildAlloca(b, t, "");
    if (v)
        LLVMSetAlignment(v, LLVMGetAlignment(i));
    return v;
}

static LLVMValueRef chain(LLVMBuilderRef b, LLVMValueRef i)
{
    LLVMTypeRef own = LLVMGetGEPSourceElementType(i), t = lowered(own);
    LLVMValueRef index[8], base = LLVMGetOperand(i, 0);
    unsigned n = LLVMGetNumIndices(i);
    if (t == own || n > COUNT_OF(index) || is_constant_memory(base))
        return NULL;
    for (unsigned k = 0; k < n; k++)
        index[k] = LLVMGetOperand(i, k + 1);
    return LLVMIsInBounds(i) ? LLVMBuildInBoundsGEP2(b, t, base, index, n, "")
                             : LLVMBuildGEP2(b, t, base, index, n, "");
}

static void same_access(LLVMValueRef to, LLVMValueRef from)
{
    LLVMSetAlignment(to, LLVMGetAlignment(from));
    LLVMSetVolatile(to, LLVMGetVolatile(from));
}

static LLVMValueRef lower_load(LLVMBuilderRef b, LLVMValueRef i)
{
    LLVMTypeRef t = LLVMTypeOf(i);
    LLVMValueRef from = LLVMGetOperand(i, 0);
    if (!is_pointer(t) || is_constant_memory(from))
        return NULL;
    LLVMValueRef v = LLVMBuildLoad2(b, lowered(t), from, "");
    same_access(v, i);
    return LLVMBuildIntToPtr(b, v, t, "");
}

/* Pointers, and the zeros of what holds some. */
static LLVMValueRef lower_store(LLVMBuilderRef b, LLVMValueRef i)
{
    LLVMValueRef v = LLVMGetOperand(i, 0);
    LLVMTypeRef own = LLVMTypeOf(v), t = lowered(own);
    if (t == own || (!is_pointer(own) && !LLVMIsNull(v)))
        return NULL;
    v = LLVMIsNull(v) ? LLVMConstNull(t) : LLVMBuildPtrToInt(b, v, t, "");
    LLVMValueRef s = LLVMBuildStore(b, v, LLVMGetOperand(i, 1));
    same_access(s, i);
    return s;
}

static LLVMValueRef mask_of(LLVMTypeRef t, unsigned bits)
{
    bool vector = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
    LLVMTypeRef e = vector ? LLVMGetElementType(t) : t;
    LLVMValueRef one = LLVMConstInt(e, UINT64_MAX >> (64 - bits), false), all[16];
    unsigned n = vector ? MIN(LLVMGetVectorSize(t), (unsigned)COUNT_OF(all)) : 0;
    for (unsigned k = 0; k < n; k++)
        all[k] = one;
    return vector ? LLVMConstVector(all, n) : one;
}

static unsigned bits_of(LLVMTypeRef t)
{
    return LLVMGetIntTypeWidth(LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t)
                                                                        : t);
}

static LLVMValueRef widening(LLVMBuilderRef b, LLVMValueRef i)
{
    LLVMValueRef narrow = LLVMGetOperand(i, 0);
    if (!LLVMIsATruncInst(narrow))
        return NULL;
    LLVMTypeRef to = LLVMTypeOf(i);
    LLVMValueRef x = LLVMGetOperand(narrow, 0);
    unsigned bits = bits_of(LLVMTypeOf(narrow));
    if (bits_of(to) < bits_of(LLVMTypeOf(x)))
        x = LLVMBuildTrunc(b, x, to, "");
    x = LLVMBuildAnd(b, x, mask_of(LLVMTypeOf(x), bits), "");
    return bits_of(to) > bits_of(LLVMTypeOf(x)) ? LLVMBuildZExt(b, x, to, "") : x;
}

static void lower_inst(LLVMBuilderRef b, LLVMValueRef i)
{
    LLVMValueRef to = NULL;
    size_t length;
    LLVMPositionBuilderBefore(b, i);
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMAlloca: to = lower_variable(b, i); break;
    case LLVMGetElementPtr: to = chain(b, i); break;
    case LLVMLoad: to = lower_load(b, i); break;
    case LLVMStore: to = lower_store(b, i); break;
    case LLVMZExt: to = widening(b, i); break;
    default: break;
    }
    if (!to)
        return;
    if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind) {
        const char *name = LLVMGetValueName2(i, &length);
        if (length && LLVMIsAInstruction(to))
            LLVMSetValueName2(to, name, length);
        LLVMReplaceAllUsesWith(i, to);
    }
    LLVMInstructionEraseFromParent(i);
}

/* A variable of a work-group: nothing initialises it. */
static void lower_global(LLVMModuleRef m, LLVMValueRef g)
{
    LLVMTypeRef own = LLVMGlobalGetValueType(g), t = lowered(own);
    size_t length;
    if (t == own || LLVMGetPointerAddressSpace(LLVMTypeOf(g)) != LOCAL_MEMORY)
        return;
    LLVMValueRef to = LLVMAddGlobalInAddressSpace(m, t, "", LOCAL_MEMORY);
    LLVMSetInitializer(to, LLVMGetUndef(t));
    LLVMSetLinkage(to, LLVMGetLinkage(g));
    LLVMSetAlignment(to, LLVMGetAlignment(g));
    char *name = strdup(LLVMGetValueName2(g, &length));
    LLVMReplaceAllUsesWith(g, to);
    LLVMDeleteGlobal(g);
    LLVMSetValueName2(to, name ? name : "", name ? length : 0);
    free(name);
}

void ocl_lower_pointers(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef g = LLVMGetFirstGlobal(m), next; g; g = next) {
        next = LLVMGetNextGlobal(g);
        lower_global(m, g);
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
            for (LLVMValueRef i = LLVMGetFirstInstruction(k), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                lower_inst(b, i);
            }
    LLVMDisposeBuilder(b);
}
