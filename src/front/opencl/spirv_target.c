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
#include <llvm/Config/llvm-config.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Emission {
    LLVMModuleRef module;
    LLVMMemoryBufferRef out;
    OclSpirv form;
    char *error;    /* for free() */
    char file[512]; /* of the kernel that the error is about, where that is known */
    unsigned line, column;
} Emission;

#ifdef HEDDLE_LLVM_SPIRV

static const char triple[] = "spirv64-unknown-unknown";

static void initialise_target(void)
{
    /* Those that heddle runs and that LLVM would use for what OpenCL C can say. */
    static const char *const arguments[] = {
        "heddle",
        "--spirv-ext=+SPV_KHR_cooperative_matrix,+SPV_KHR_bit_instructions,"
        "+SPV_KHR_integer_dot_product,+SPV_KHR_subgroup_rotate,"
        "+SPV_KHR_uniform_group_instructions,+SPV_EXT_shader_atomic_float_add,"
        "+SPV_EXT_shader_atomic_float_min_max,+SPV_KHR_non_semantic_info,"
        "+SPV_KHR_shader_clock",
#if LLVM_VERSION_MAJOR >= 22
        "--spirv-emit-op-names", /* of instructions too: places.c */
#endif
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

/* What cannot be translated is told with its function's name. The module itself is sound: a copy of
 * it is what is being translated. */
static void name_function(Emission *e, const char *reason)
{
    static const char before[] = "(in function: ";
    const char *at = strstr(reason, before), *value;
    unsigned length;
    char name[256];
    if (!at)
        return;
    at += sizeof before - 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ")"), at);
    LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
    LLVMAttributeRef a = !f ? NULL
                            : LLVMGetStringAttributeAtIndex(f, (unsigned)LLVMAttributeFunctionIndex,
                                                            OCL_PLACE, sizeof OCL_PLACE - 1);
    value = a ? LLVMGetStringAttributeValue(a, &length) : "";
    if (sscanf(value, "%u:%u:%511[^\n]", &e->line, &e->column, e->file) != 3)
        e->line = e->column = 0;
}

static void on_fatal_error(void *user, const char *reason)
{
    char beginning[256];
    name_function(user, reason);
    snprintf(beginning, sizeof beginning, "%s%s", reason,
             strlen(reason) < sizeof beginning ? "" : "...");
    say(user, "LLVM's SPIR-V target: ", beginning);
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
 * guesses what pointers lead to, and guesses best when there is little of it. What no kernel calls,
 * most of a large library, goes first: inlining into it took three quarters of the pass's time.
 * What is left is small before it is copied to every call, where that may be: debuggers want its
 * variables, and a shader's pointers must not depend on more than the source's own do. */
#define ONE_FUNCTION(before) "globaldce," before "always-inline,globaldce"
#define SMALL                "function(mem2reg,early-cse,simplifycfg),"
#define TIDY(promote, loops)                                                                       \
    "function(" promote ",early-cse," loops promote ",early-cse,infer-address-spaces,early-cse)"
#define LOOPS "loop(loop-rotate,loop-unroll-full),"
/* Every loop has one exit, at its end, and every selection one end: as AMD's targets want it.
 * Values that cross blocks are in variables meanwhile, as structurizecfg takes phis with poison for
 * others (LLVM 22). */
#define STRUCTURE                                                                                  \
    "function(simplifycfg,lower-switch,mergereturn,unify-loop-exits,reg2mem,structurizecfg,"       \
    "mem2reg,early-cse)"

static void run_passes(Emission *e, const char *passes, LLVMTargetMachineRef machine)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(e->module, passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) {
        char *text = LLVMGetErrorMessage(error);
        say(e, "LLVM: ", text);
        LLVMDisposeErrorMessage(text);
    }
}

/* A vector of as many lanes as OpenCL C has none of. */
static bool is_odd(LLVMTypeRef t)
{
    static const uint32_t lanes = 1u << 2 | 1u << 3 | 1u << 4 | 1u << 8 | 1u << 16;
    unsigned n = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetVectorSize(t) : 2;
    return n > 16 || !(lanes >> n & 1);
}

static bool has_odd_vectors(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if (is_odd(LLVMTypeOf(i)))
                    return true;
    return false;
}

/* Each loop that is unrolled costs time in proportion to the function around it, so that of many
 * inlined ones nothing is unrolled. */
static bool is_vast(LLVMModuleRef m)
{
    enum { MOST_BLOCKS = 2000 };
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (LLVMCountBasicBlocks(f) > MOST_BLOCKS)
            return true;
    return false;
}

/* sroa makes one vector of a union that is accessed as vectors of several types, of 128 bytes if
 * need be, which the target is slow not to translate. Such a program's variables are promoted as
 * wholes or not at all. */
static void tidy(Emission *e, LLVMTargetMachineRef machine)
{
    if (e->form == OCL_SPIRV_WITH_VARIABLES)
        ocl_keep_variables(e->module);
    bool plain = e->form == OCL_SPIRV_KERNELS;
    run_passes(e, plain ? ONE_FUNCTION(SMALL) : ONE_FUNCTION(""), machine);
    if (e->form == OCL_SPIRV_WITH_VARIABLES)
        ocl_keep_inlined(e->module);
    bool vast = is_vast(e->module);
    LLVMModuleRef copy = LLVMCloneModule(e->module);
    run_passes(e, vast ? TIDY("sroa", "") : TIDY("sroa", LOOPS), machine);
    if (has_odd_vectors(e->module)) {
        LLVMDisposeModule(e->module);
        e->module = copy;
        run_passes(e, vast ? TIDY("mem2reg", "") : TIDY("mem2reg", LOOPS), machine);
    } else {
        LLVMDisposeModule(copy);
    }
    ocl_name_loops(e->module);
    if (e->form == OCL_SPIRV_STRUCTURED)
        run_passes(e, STRUCTURE, machine);
    ocl_lower_pointers(e->module);
    ocl_name_places(e->module);
}

/* The target remembers the labels of all blocks that it ever wrote, by their function's address,
 * and a function that comes to lie where an earlier one was gets that one's labels: ids that others
 * have too, or that are out of bound. */
static bool ids_are_sound(const uint32_t *words, size_t n)
{
    enum { HEADER = 5, MAX_BOUND = 1 << 22 };
    uint32_t bound = n > HEADER ? words[3] : 0;
    uint8_t *defined = bound && bound <= MAX_BOUND ? calloc(bound, 1) : NULL;
    bool sound = defined != NULL;
    for (size_t k = HEADER; sound && k < n && words[k] >> 16; k += words[k] >> 16) {
        const SpvOpInfo *info = spv_op_info((uint16_t)words[k]);
        if (!info || !info->has_result || k + info->has_type + 1u >= n)
            continue;
        uint32_t id = words[k + info->has_type + 1u];
        sound = id < bound && !defined[id];
        if (sound)
            defined[id] = 1;
    }
    free(defined);
    return sound;
}

/* Memory that is free, so that functions will lie elsewhere: pieces smaller than any of them, and
 * of all sizes that they may have, since some allocators keep each size apart. */
static void **occupy(size_t n)
{
    enum { LEAST = 256, STEP = 64, MOST = 4096 };
    void **all = calloc(n + 1, sizeof *all);
    for (size_t k = 0; all && k < n; k++)
        all[k] = malloc(LEAST + (k % 2 ? k / 2 * STEP % (MOST - LEAST) : 0));
    return all;
}

static void give_back(void **pieces)
{
    for (void **p = pieces; p && *p; p++)
        free(*p);
    free(pieces);
}

static bool emit_once(Emission *e, LLVMTargetMachineRef machine)
{
    char *error = NULL;
    LLVMModuleRef copy = LLVMCloneModule(e->module);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, copy, LLVMObjectFile, &error, &e->out)) {
        say(e, "LLVM's SPIR-V target: ", error);
        LLVMDisposeMessage(error);
    }
    LLVMDisposeModule(copy);
    return e->out && ids_are_sound((const uint32_t *)(const void *)LLVMGetBufferStart(e->out),
                                   LLVMGetBufferSize(e->out) / sizeof(uint32_t));
}

/* Without the code generator's own optimisations: loops that count by pointers are no good to
 * whoever gets the module. */
static LLVMTargetMachineRef new_machine(LLVMTargetRef target)
{
    return LLVMCreateTargetMachine(target, triple, "", "", LLVMCodeGenLevelNone, LLVMRelocDefault,
                                   LLVMCodeModelDefault);
}

static bool emit(Emission *e)
{
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
    LLVMSetTarget(e->module, triple);
    bool sound = false;
    for (size_t pieces = 0; !sound && !e->error && pieces <= (size_t)1 << 16;
         pieces = pieces ? pieces * 4 : 1 << 10) {
        LLVMTargetMachineRef machine = new_machine(target);
        void **occupied = occupy(pieces);
        if (!pieces)
            tidy(e, machine);
        else if (e->out)
            LLVMDisposeMemoryBuffer(e->out);
        e->out = NULL;
        sound = emit_once(e, machine);
        give_back(occupied);
        LLVMDisposeTargetMachine(machine);
    }
    return e->out && !e->error;
}

static bool work(void *user)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    Emission *e = user;
    LLVMContextRef context = LLVMGetModuleContext(e->module);
    pthread_once(&once, initialise_target);
    LLVMContextSetDiagnosticHandler(context, on_diagnostic, e);
    bool ok = emit(e);
    LLVMDisposeModule(e->module);
    LLVMContextDispose(context);
    return ok;
}

/* One at a time: the target's tables are the process's. */
static bool run_target(Emission *e)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    bool ok = llvm_guarded(work, on_fatal_error, e);
    pthread_mutex_unlock(&one);
    return ok;
}

#else

static bool run_target(Emission *e)
{
    LLVMContextRef context = LLVMGetModuleContext(e->module);
    LLVMDisposeModule(e->module);
    LLVMContextDispose(context);
    e->error = strdup("this LLVM was built without the SPIR-V target, which OpenCL C needs");
    return false;
}

#endif

SpvModule *ocl_spirv(Arena *arena, LLVMModuleRef ir, OclSpirv form, const char *name,
                     DiagSink *sink)
{
    Emission e = { .module = ir, .form = form };
    SpvModule *m = NULL;
    bool good = run_target(&e);
    DiagLoc loc = { .file = e.line ? e.file : name, .line = e.line, .column = e.column };
    if (good)
        m = spv_read(arena, LLVMGetBufferStart(e.out), LLVMGetBufferSize(e.out), name, sink);
    else
        diag(sink, DIAG_ERROR, &loc, NULL, "%s", e.error ? e.error : "LLVM failed silently");
    if (m)
        ocl_take_places(m);
    if (e.out)
        LLVMDisposeMemoryBuffer(e.out);
    free(e.error);
    return m && ocl_link(m, sink) ? m : NULL;
}
