/* SPDX-License-Identifier: MIT
 *
 * For tests of code that only emits LLVM IR: functions of the form
 *     void f(void *out, const void *a, const void *b)
 * over one vector of `lanes` elements each, in one module, compiled for this machine or for less.
 */
#ifndef HEDDLE_TEST_JIT_SMALL_H
#define HEDDLE_TEST_JIT_SMALL_H

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void SmallFn(void *out, const void *a, const void *b);

typedef struct SmallJit {
    LLVMContextRef cx;
    LLVMOrcThreadSafeContextRef shared;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMValueRef fn;            /* being built */
    LLVMOrcLLJITRef jit;        /* after small_compile */
} SmallJit;

static inline void small_open(SmallJit *j)
{
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
#if LLVM_VERSION_MAJOR < 21
    j->shared = LLVMOrcCreateNewThreadSafeContext();
    j->cx = LLVMOrcThreadSafeContextGetContext(j->shared);
#else
    j->cx = LLVMContextCreate();
    j->shared = LLVMOrcCreateNewThreadSafeContextFromLLVMContext(j->cx);
#endif
    j->module = LLVMModuleCreateWithNameInContext("test", j->cx);
    j->b = LLVMCreateBuilderInContext(j->cx);
    j->jit = NULL;
}

static inline void small_begin(SmallJit *j, const char *name)
{
    LLVMTypeRef p = LLVMPointerTypeInContext(j->cx, 0), params[3] = { p, p, p };
    j->fn = LLVMAddFunction(j->module, name,
                            LLVMFunctionType(LLVMVoidTypeInContext(j->cx), params, 3, 0));
    LLVMPositionBuilderAtEnd(j->b, LLVMAppendBasicBlockInContext(j->cx, j->fn, "entry"));
}

static inline LLVMValueRef small_load(SmallJit *j, unsigned param, LLVMTypeRef t)
{
    LLVMValueRef v = LLVMBuildLoad2(j->b, t, LLVMGetParam(j->fn, param), "");
    LLVMSetAlignment(v, 1);
    return v;
}

static inline void small_end(SmallJit *j, LLVMValueRef result)
{
    LLVMSetAlignment(LLVMBuildStore(j->b, result, LLVMGetParam(j->fn, 0)), 1);
    LLVMBuildRetVoid(j->b);
}

static inline int small_fault(LLVMErrorRef e)
{
    if (!e)
        return 0;
    char *text = LLVMGetErrorMessage(e);
    printf("jit: %s\n", text);
    LLVMDisposeErrorMessage(text);
    return 1;
}

/* Takes the module; `cpu` NULL for this machine's. Returns 0 after printing what is wrong. */
static inline int small_compile(SmallJit *j, const char *cpu)
{
    LLVMValueRef f = cpu ? LLVMGetFirstFunction(j->module) : NULL;
    for (; f; f = LLVMGetNextFunction(f)) {
        LLVMAddTargetDependentFunctionAttr(f, "target-cpu", cpu);
        LLVMAddTargetDependentFunctionAttr(f, "target-features", "");
    }
    char *text = NULL;
    int bad = LLVMVerifyModule(j->module, LLVMReturnStatusAction, &text);
    if (bad)
        printf("verify: %s\n", text);
    LLVMDisposeMessage(text);
    LLVMDisposeBuilder(j->b);
    if (bad || small_fault(LLVMOrcCreateLLJIT(&j->jit, NULL)))
        return 0;
    LLVMSetDataLayout(j->module, LLVMOrcLLJITGetDataLayoutStr(j->jit));
    LLVMOrcThreadSafeModuleRef m = LLVMOrcCreateNewThreadSafeModule(j->module, j->shared);
    LLVMOrcDisposeThreadSafeContext(j->shared);
    return !small_fault(
        LLVMOrcLLJITAddLLVMIRModule(j->jit, LLVMOrcLLJITGetMainJITDylib(j->jit), m));
}

static inline SmallFn *small_lookup(SmallJit *j, const char *name)
{
    LLVMOrcExecutorAddress at = 0;
    if (small_fault(LLVMOrcLLJITLookup(j->jit, &at, name)))
        return NULL;
    return (SmallFn *)(uintptr_t)at;
}

static inline void small_close(SmallJit *j)
{
    if (j->jit)
        small_fault(LLVMOrcDisposeLLJIT(j->jit));
}

#endif
