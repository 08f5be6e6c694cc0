/* SPDX-License-Identifier: MIT
 *
 * In: a module for a machine without AVX-512. Out: the same module, with the gathers and scatters
 * of a large kernel in functions of their own, one for each type. There LLVM takes them apart lane
 * by lane, each with a test and a branch, and begins again at the first block when it has added
 * some (ScalarizeMaskedMemIntrin), so that the time is quadratic in their number: a kernel of
 * 7500 took 160 s.
 */
#include <llvm-c/DebugInfo.h>

#include "cpu/jit/jit.h"
#include "llvm/ir.h"

enum {
    FEW = 250,
    MOST_FUNCTIONS = 32,
    MOST_ATTRIBUTES = 64,
    WIDEST = 512 /* bits: AVX-512 has instructions for both */
};

typedef struct Function {
    LLVMValueRef intrinsic, its;
    unsigned align;
} Function;

typedef struct Outliner {
    LLVMModuleRef module;
    LLVMValueRef kernel;
    LLVMBuilderRef builder;
    Function functions[MOST_FUNCTIONS];
    uint32_t n;
} Outliner;

/* Its three arguments, without the alignment that LLVM had among them before 22. */
typedef struct Access {
    bool scatter;
    unsigned align;
    LLVMValueRef args[3];
    LLVMTypeRef types[3];
} Access;

static bool is_access(LLVMValueRef i, Access *a)
{
    a->scatter = ir_calls(i, "llvm.masked.scatter");
    if (!a->scatter && !ir_calls(i, "llvm.masked.gather"))
        return false;
    a->align = ir_masked_args(i, a->scatter, a->args);
    for (uint32_t k = 0; k < 3; k++)
        a->types[k] = LLVMTypeOf(a->args[k]);
    return true;
}

/* The kernel's, processor and features among them, and that it stays a function. */
static void set_attributes(Outliner *o, LLVMValueRef function)
{
    LLVMAttributeRef all[MOST_ATTRIBUTES];
    unsigned n = LLVMGetAttributeCountAtIndex(o->kernel, LLVMAttributeFunctionIndex);
    unsigned kind = LLVMGetEnumAttributeKindForName("noinline", 8);
    LLVMContextRef context = LLVMGetModuleContext(o->module);
    LLVMGetAttributesAtIndex(o->kernel, LLVMAttributeFunctionIndex, all);
    all[n++] = LLVMCreateEnumAttribute(context, kind, 0);
    for (unsigned k = 0; k < n; k++)
        LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, all[k]);
}

static LLVMValueRef new_function(Outliner *o, LLVMTypeRef type, const Access *a)
{
    LLVMValueRef function = LLVMAddFunction(o->module, a->scatter ? "scatter" : "gather", type);
    LLVMValueRef args[3] = { LLVMGetParam(function, 0), LLVMGetParam(function, 1),
                             LLVMGetParam(function, 2) };
    LLVMSetLinkage(function, LLVMInternalLinkage);
    set_attributes(o, function);
    LLVMContextRef context = LLVMGetModuleContext(o->module);
    LLVMPositionBuilderAtEnd(o->builder, LLVMAppendBasicBlockInContext(context, function, "entry"));
    if (a->scatter) {
        ir_masked(o->builder, "llvm.masked.scatter", args, 1, a->align);
        LLVMBuildRetVoid(o->builder);
    } else {
        LLVMBuildRet(o->builder, ir_masked(o->builder, "llvm.masked.gather", args, 0, a->align));
    }
    return function;
}

/* NULL: there are too many others. */
static LLVMValueRef function_for(Outliner *o, LLVMValueRef call, LLVMTypeRef type, const Access *a)
{
    LLVMValueRef intrinsic = LLVMGetCalledValue(call);
    for (uint32_t k = 0; k < o->n; k++)
        if (o->functions[k].intrinsic == intrinsic && o->functions[k].align == a->align)
            return o->functions[k].its;
    if (o->n == MOST_FUNCTIONS)
        return NULL;
    LLVMValueRef function = new_function(o, type, a);
    o->functions[o->n++] = (Function){ intrinsic, function, a->align };
    return function;
}

static void outline(Outliner *o, LLVMValueRef call, Access *a)
{
    LLVMTypeRef type = LLVMFunctionType(LLVMTypeOf(call), a->types, 3, false);
    LLVMValueRef function = function_for(o, call, type, a);
    if (!function)
        return;
    LLVMPositionBuilderBefore(o->builder, call);
    LLVMValueRef instead = LLVMBuildCall2(o->builder, type, function, a->args, 3, "");
    LLVMReplaceAllUsesWith(call, instead);
    LLVMInstructionEraseFromParent(call);
}

/* Counts them, or with an outliner puts them elsewhere. */
static uint32_t each_access(LLVMValueRef kernel, Outliner *o)
{
    uint32_t n = 0;
    Access a;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (!is_access(i, &a))
                continue;
            n++;
            if (o)
                outline(o, i, &a);
        }
    return n;
}

/* Not where lines are kept: a fault is to tell its own. */
void cpu_outline_accesses(LLVMModuleRef module, uint32_t vector_bits)
{
    LLVMValueRef kernel = LLVMGetNamedFunction(module, CPU_KERNEL_NAME);
    if (vector_bits >= WIDEST || !kernel || LLVMGetSubprogram(kernel) ||
        LLVMGetAttributeCountAtIndex(kernel, LLVMAttributeFunctionIndex) >= MOST_ATTRIBUTES ||
        each_access(kernel, NULL) <= FEW)
        return;
    Outliner o = { .module = module,
                   .kernel = kernel,
                   .builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module)) };
    each_access(kernel, &o);
    LLVMDisposeBuilder(o.builder);
}
