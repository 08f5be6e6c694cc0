/* SPDX-License-Identifier: MIT
 *
 * In: LLVM IR for the triple spirv64. Out: SPIR-V, from LLVM's SPIR-V target.
 *
 * The target's extensions are a command-line option of LLVM's, of which there is one set for the
 * process: it is set once, before the first use, and nothing else reads it. What goes wrong inside
 * is either a diagnostic of the context or a fatal error, and both come back through the sink.
 */
#include "front/opencl/spirv_target.h"
#include "llvm/guard.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Emission {
    LLVMModuleRef module;
    LLVMMemoryBufferRef out;
    bool structured;
    char *error;                /* for free() */
} Emission;

#ifdef HEDDLE_LLVM_SPIRV

static void initialise(void)
{
    /* Those that heddle runs and that LLVM would use for what OpenCL C can say. */
    static const char *const arguments[] = {
        "heddle",
        "--spirv-ext=+SPV_KHR_cooperative_matrix,+SPV_KHR_bit_instructions,"
        "+SPV_KHR_integer_dot_product,+SPV_KHR_subgroup_rotate,"
        "+SPV_KHR_uniform_group_instructions,+SPV_EXT_shader_atomic_float_add,"
        "+SPV_EXT_shader_atomic_float_min_max,+SPV_KHR_non_semantic_info",
    };
    LLVMInitializeSPIRVTargetInfo();
    LLVMInitializeSPIRVTarget();
    LLVMInitializeSPIRVTargetMC();
    LLVMInitializeSPIRVAsmPrinter();
    LLVMParseCommandLineOptions(COUNT_OF(arguments), arguments, NULL);
}

static void say(Emission *e, const char *what, const char *text)
{
    char line[1024];
    if (e->error)
        return;
    snprintf(line, sizeof line, "%s%s", what, text);
    e->error = strdup(line);
}

static void on_fatal_error(void *user, const char *reason)
{
    say(user, "LLVM's SPIR-V target: ", reason);
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    say(user, "LLVM's SPIR-V target: ", text);
    LLVMDisposeMessage(text);
}

/* One function a kernel, its variables values, its pointers of known address spaces: the target
 * guesses what pointers lead to, and guesses best when there is little of it. */
#define TIDY                                                                                      \
    "always-inline,globaldce,function(sroa,early-cse,loop(loop-rotate,loop-unroll-full),sroa,"     \
    "early-cse,infer-address-spaces,early-cse)"
/* Every loop has one exit, at its end, and every selection one end: as AMD's targets want it. */
#define STRUCTURE                                                                                 \
    ",function(simplifycfg,lower-switch,mergereturn,unify-loop-exits,structurizecfg,early-cse)"

static void inline_all(LLVMModuleRef module)
{
    static const char name[] = "alwaysinline";
    enum { KERNEL_CONVENTION = 76 };
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    LLVMAttributeRef attribute = LLVMCreateEnumAttribute(context, kind, 0);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || LLVMGetFunctionCallConv(f) == KERNEL_CONVENTION)
            continue;
        LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute);
        LLVMSetLinkage(f, LLVMInternalLinkage);
    }
}

static void tidy(Emission *e, LLVMTargetMachineRef machine)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    if (e->structured)
        inline_all(e->module);
    LLVMErrorRef error = LLVMRunPasses(e->module, e->structured ? TIDY STRUCTURE : TIDY, machine,
                                       options);
    LLVMDisposePassBuilderOptions(options);
    if (error) {
        char *text = LLVMGetErrorMessage(error);
        say(e, "LLVM: ", text);
        LLVMDisposeErrorMessage(text);
    }
}

static bool emit(Emission *e)
{
    static const char triple[] = "spirv64-unknown-unknown";
    LLVMTargetRef target;
    char *error = NULL;
    bool failed = LLVMVerifyModule(e->module, LLVMReturnStatusAction, &error);
    if (failed)
        say(e, "the LLVM IR is not well formed: ", error);
    LLVMDisposeMessage(error);
    error = NULL;
    if (failed || LLVMGetTargetFromTriple(triple, &target, &error)) {
        say(e, "LLVM: ", error ? error : "");
        LLVMDisposeMessage(error);
        return false;
    }
    /* Without the code generator's own optimisations: loops that count by pointers are no good to
     * whoever gets the module. */
    LLVMTargetMachineRef machine =
        LLVMCreateTargetMachine(target, triple, "", "", LLVMCodeGenLevelNone, LLVMRelocDefault,
                                LLVMCodeModelDefault);
    LLVMSetTarget(e->module, triple);
    tidy(e, machine);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, e->module, LLVMObjectFile, &error, &e->out)) {
        say(e, "LLVM's SPIR-V target: ", error);
        LLVMDisposeMessage(error);
    }
    LLVMDisposeTargetMachine(machine);
    return e->out && !e->error;
}

static bool work(void *user)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    Emission *e = user;
    LLVMContextRef context = LLVMGetModuleContext(e->module);
    pthread_once(&once, initialise);
    LLVMContextSetDiagnosticHandler(context, on_diagnostic, e);
    bool ok = emit(e);
    LLVMDisposeModule(e->module);
    LLVMContextDispose(context);
    return ok;
}

static bool run(Emission *e)
{
    return llvm_guarded(work, on_fatal_error, e);
}

#else

static bool run(Emission *e)
{
    LLVMContextRef context = LLVMGetModuleContext(e->module);
    LLVMDisposeModule(e->module);
    LLVMContextDispose(context);
    e->error = strdup("this LLVM was built without the SPIR-V target, which OpenCL C needs");
    return false;
}

#endif

SpvModule *ocl_spirv(Arena *arena, LLVMModuleRef ir, bool structured, const char *name,
                     DiagSink *sink)
{
    Emission e = { .module = ir, .structured = structured };
    SpvModule *m = NULL;
    DiagLoc loc = { .file = name };
    if (run(&e))
        m = spv_read(arena, LLVMGetBufferStart(e.out), LLVMGetBufferSize(e.out), name, sink);
    else
        diag(sink, DIAG_ERROR, &loc, NULL, "%s", e.error ? e.error : "LLVM failed silently");
    if (e.out)
        LLVMDisposeMemoryBuffer(e.out);
    free(e.error);
    return m && ocl_link(m, sink) ? m : NULL;
}
