/* SPDX-License-Identifier: MIT
 *
 * In: an LLVM module with the kernel's function. Out: machine code in memory (contract in jit.h).
 *
 * verify -> attributes -> passes -> object file -> ORC. The passes are few, and chosen by what the
 * code generator leaves to do (allocas to promote, masks to fold, address arithmetic to share and
 * hoist); each is close to linear in the size of the function. Each object is linked by an LLJIT
 * instance of its own, because freeing that is what frees the code's memory.
 *
 * LLVM reports in two ways. Diagnostics of a context go to a handler and from there to the sink.
 * Fatal errors (an operation that cannot be selected) end the compilation, and its LLVM objects are
 * then left alone (llvm/guard.h).
 */
#include "cpu/jit/jit.h"
#include "llvm/guard.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLEE_STACK 4096u /* for the C functions that a kernel calls */

struct CpuCode {
    LLVMOrcLLJITRef jit;
};

typedef struct Message {
    DiagSeverity severity;
    char *text;
} Message;

typedef struct Compile {
    LLVMModuleRef module;
    LLVMContextRef context;
    const CpuTarget *target;
    const CpuOptions *options;
    CpuJit *out;
    LLVMTargetMachineRef machine;
    LLVMOrcLLJITRef jit;
    bool fast;       /* the first tier */
    uint64_t frames; /* stack frames of all functions, as LLVM reports them */
    Message messages[16];
    uint32_t n_messages;
    bool ok;
} Compile;

/* ---- messages -------------------------------------------------------------------------------- */

static void message(Compile *c, DiagSeverity severity, const char *what, const char *text)
{
    if (c->n_messages == COUNT_OF(c->messages))
        return;
    char line[1024];
    snprintf(line, sizeof line, "%s%s", what, text);
    c->messages[c->n_messages++] = (Message){ severity, strdup(line) };
}

static bool fail(Compile *c, const char *what, const char *text)
{
    message(c, DIAG_ERROR, what, text);
    return false;
}

/* Disposes of the error. */
static bool failed(Compile *c, const char *what, LLVMErrorRef error)
{
    if (!error)
        return false;
    char *text = LLVMGetErrorMessage(error);
    fail(c, what, text);
    LLVMDisposeErrorMessage(text);
    return true;
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    Compile *c = user;
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);
    char *text = LLVMGetDiagInfoDescription(info);
    const char *frame = strstr(text, "stack frame size (");
    unsigned long long bytes;
    if (frame && sscanf(frame, "stack frame size (%llu)", &bytes) == 1)
        c->frames += bytes;
    else if (severity == LLVMDSError)
        message(c, DIAG_ERROR, "LLVM: ", text);
    LLVMDisposeMessage(text);
}

static void on_orc_error(void *user, LLVMErrorRef error) { failed(user, "LLVM: ", error); }

/* An error after the end of a compilation has no one to go to. */
static void on_late_orc_error(void *user, LLVMErrorRef error)
{
    (void)user;
    LLVMConsumeError(error);
}

static void on_fatal_error(void *user, const char *reason)
{
    message(user, DIAG_ERROR, "LLVM: ", reason);
}

static void initialise(void)
{
    /* Where accesses have two ways each, LLVM's code generator moves what is calculated with their
     * values to behind the last of them, and so keeps all that was loaded in registers that there
     * are not: without it products with quantised blocks take 0.75 to 0.8 of the time (AVX-512), or
     * 0.6 to 0.8 (AVX2). What only one of two ways needs, instcombine has moved there before. */
    static const char *const arguments[] = { "heddle", "-disable-machine-sink" };
    LLVMInitializeNativeTarget();
    LLVMParseCommandLineOptions(COUNT_OF(arguments), arguments, NULL);
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser();
#ifdef HEDDLE_LLVM_AARCH64 /* to look at its code anywhere (machine/target.c) */
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
#endif
}

/* ---- the module ---------------------------------------------------------------------------- */

static LLVMTargetMachineRef target_machine(Compile *c)
{
    LLVMTargetRef target;
    char *error = NULL;
    if (LLVMGetTargetFromTriple(c->target->triple, &target, &error)) {
        fail(c, "LLVM: ", error);
        LLVMDisposeMessage(error);
        return NULL;
    }
    /* Position-independent code of the small model: constants are reached relative to the code,
     * which the linker places beside it, and calls go through its stubs. */
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
        target, c->target->triple, c->target->cpu, c->target->features,
        c->options->optimise && !c->fast ? LLVMCodeGenLevelDefault : LLVMCodeGenLevelNone,
        LLVMRelocPIC, LLVMCodeModelSmall);
    if (!machine)
        fail(c, "LLVM has no code generator for ", c->target->triple);
    return machine;
}

static void set_attribute(Compile *c, LLVMValueRef function, const char *name, const char *value)
{
    unsigned n = (unsigned)strlen(name);
    if (LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, name, n))
        return;
    LLVMAddAttributeAtIndex(
        function, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(c->context, name, n, value, (unsigned)strlen(value)));
}

static LLVMAttributeRef attribute(Compile *c, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    return LLVMCreateEnumAttribute(c->context, kind, value);
}

static void set_attributes(Compile *c)
{
    char bits[16];
    snprintf(bits, sizeof bits, "%u", c->target->vector_bits);
    LLVMAttributeRef unwind = attribute(c, "nounwind", 0);
    /* Addresses that a kernel makes by itself are offsets from null, where LLVM otherwise takes for
     * granted that nobody loads. */
    LLVMAttributeRef null = attribute(c, "null_pointer_is_valid", 0);
    /* Where an ABI aligns the stack to less, LLVM lets vectors that it keeps there straddle cache
     * lines, all or none of them, as the depth of the callers has it. */
    LLVMAttributeRef aligned = attribute(c, "alignstack", c->target->vector_bits / 8);
    for (LLVMValueRef f = LLVMGetFirstFunction(c->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        set_attribute(c, f, "target-cpu", c->target->cpu);
        set_attribute(c, f, "target-features", c->target->features);
        /* Without these two LLVM splits 512-bit vectors on many CPUs (PERFORMANCE, rule 13). */
        set_attribute(c, f, "prefer-vector-width", bits);
        set_attribute(c, f, "min-legal-vector-width", bits);
        /* a large frame must not skip the guard page */
        set_attribute(c, f, "probe-stack", "inline-asm");
        set_attribute(c, f, "warn-stack-size", "0"); /* reports the size of every frame */
        LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, unwind);
        LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, null);
        if (c->target->vector_bits > 128 && LLVMGetLinkage(f) == LLVMExternalLinkage)
            LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, aligned);
    }
}

/* Copies to out->text. */
static bool keep_text(Compile *c, const char *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return fail(c, "out of memory", "");
    memcpy(text, data, size);
    text[size] = 0;
    c->out->text = text;
    c->out->text_size = size;
    return true;
}

static bool keep_ir(Compile *c)
{
    char *text = LLVMPrintModuleToString(c->module);
    bool ok = keep_text(c, text, strlen(text));
    LLVMDisposeMessage(text);
    return ok;
}

static LLVMMemoryBufferRef emit(Compile *c, LLVMModuleRef module, LLVMCodeGenFileType type)
{
    char *error = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, module, type, &error, &buffer)) {
        fail(c, "LLVM: ", error);
        LLVMDisposeMessage(error);
        return NULL;
    }
    return buffer;
}

static bool keep_asm(Compile *c)
{
    LLVMModuleRef copy = LLVMCloneModule(c->module); /* because emission changes a module */
    LLVMMemoryBufferRef buffer = emit(c, copy, LLVMAssemblyFile);
    LLVMDisposeModule(copy);
    if (!buffer)
        return false;
    bool ok = keep_text(c, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return ok;
}

/* ---- passes -------------------------------------------------------------------------------- */

/* Left out: GVN, jump threading, DSE and the vectorisers take longer than all of these together,
 * and find nothing in code that consists of vectors already. Loops are unrolled before, where it is
 * known which ones gain: LLVM would unroll the multiply-adds' k, which costs 8 to 19 %
 * (PERFORMANCE, rule 2). A run of instcombine is a fifth of the passes' time, and another one in
 * the middle changes next to nothing. Between the two lists trace.c copies blocks, which the second
 * one joins at first. */
static const char first_passes[] = "always-inline,function("
                                   "sroa<modify-cfg>,dce,early-cse,simplifycfg)";
static const char optimising_passes[] =
    "function(simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-instsimplify,loop-rotate<header-duplication>,licm<allowspeculation>),"
    "simplifycfg,"
    "loop(indvars,loop-deletion),"
    "sroa<modify-cfg>,early-cse<memssa>,"
    "instcombine<no-verify-fixpoint>,loop-mssa(licm<allowspeculation>),adce,simplifycfg)";

/* The first tier's: what makes the fast selection that follows faster, each well below its time. */
static const char fast_passes[] = "always-inline,function("
                                  "sroa<modify-cfg>,early-cse,simplifycfg,instsimplify,adce,"
                                  "simplifycfg,instsimplify)";

/* What LLVM's code generator folds only while it makes code (x | true), it takes an i1's upper bits
 * for zeros behind that are none, on every machine. The first tier ends with it for this, too. */
static const char plain_passes[] = "function(instsimplify)";

/* Before and after barriers.c, which keeps twice what is there twice, and takes no critical
 * edges. */
static const char alike_passes[] = "function(early-cse,break-crit-edges)";
static const char variable_passes[] = "function(mem2reg,adce)";

static bool unwanted(const Compile *c)
{
    return c->options->unwanted && atomic_load(c->options->unwanted);
}

static bool run(Compile *c, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(c->module, passes, c->machine, options);
    LLVMDisposePassBuilderOptions(options);
    return !failed(c, "LLVM's passes: ", error) && !unwanted(c);
}

static bool optimise_fully(Compile *c)
{
    if (!run(c, first_passes))
        return false;
    if (!cpu_trace_expected(c->module))
        return fail(c, "out of memory", "");
    return run(c, optimising_passes);
}

static bool return_at_barriers(Compile *c)
{
    if (!LLVMGetNamedFunction(c->module, CPU_BARRIER_NAME))
        return true;
    if (!run(c, alike_passes))
        return false;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
    bool done = cpu_return_at_barriers(c->module, layout, c->target, c->out);
    LLVMDisposeTargetData(layout);
    if (!done)
        return fail(c, "out of memory", "");
    return !c->out->returns_at_barriers || run(c, variable_passes);
}

static bool optimise(Compile *c)
{
    if (!(c->fast ? run(c, fast_passes) : optimise_fully(c)))
        return false;
    if (!c->fast && !cpu_sink_to_seldom(c->module))
        return fail(c, "out of memory", "");
    if (!c->fast && !cpu_dot_words(c->module, c->target))
        return fail(c, "out of memory", "");
    cpu_join_dots(c->module);
    if (!c->fast && c->target->sets & CPU_AVX512)
        cpu_multiply_whole(c->module);
    if (!c->fast && !return_at_barriers(c))
        return false;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
    if (!c->fast)
        cpu_access_in_order(c->module, layout, c->target->vector_bits);
    cpu_split_blocks(c->module, layout, c->target->vector_bits);
    LLVMDisposeTargetData(layout);
    if (!c->fast)
        cpu_shift_bytes(c->module);
    return true;
}

static bool run_passes(Compile *c)
{
    if (c->options->optimise ? !optimise(c) : !run(c, plain_passes))
        return false;
    cpu_call_barriers(c->module);
    cpu_outline_accesses(c->module, c->target->vector_bits);
    if (!cpu_carry_masks(c->module, c->target))
        return fail(c, "out of memory", "");
    cpu_work_around(c->module, c->options->optimise && !c->fast ? c->target->vector_bits : 0);
    return true;
}

/* ---- linking ------------------------------------------------------------------------------- */

static bool define_symbols(Compile *c)
{
    LLVMOrcCSymbolMapPair *pairs = calloc(cpu_n_symbols, sizeof *pairs);
    if (!pairs)
        return fail(c, "out of memory", "");
    for (uint32_t i = 0; i < cpu_n_symbols; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(c->jit, cpu_symbols[i].name);
        pairs[i].Sym.Address = (uintptr_t)cpu_symbols[i].address;
        pairs[i].Sym.Flags.GenericFlags =
            LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    }
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, cpu_n_symbols);
    free(pairs);
    LLVMErrorRef error = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(c->jit), unit);
    if (error)
        LLVMOrcDisposeMaterializationUnit(unit);
    return !failed(c, "LLVM: ", error);
}

/* Disposes of the object. */
static bool load_object(Compile *c, LLVMMemoryBufferRef object, bool debug)
{
    LLVMOrcLLJITBuilderRef builder = debug ? cpu_debug_linker() : NULL;
    if (failed(c, "LLVM's JIT: ", LLVMOrcCreateLLJIT(&c->jit, builder))) {
        LLVMDisposeMemoryBuffer(object);
        return false;
    }
    LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(c->jit), on_orc_error,
                                            c);
    if (!define_symbols(c)) {
        LLVMDisposeMemoryBuffer(object);
        return false;
    }
    LLVMOrcExecutorAddress address = 0;
    LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(c->jit);
    if (failed(c, "LLVM's JIT: ", LLVMOrcLLJITAddObjectFile(c->jit, dylib, object)) ||
        failed(c, "LLVM's JIT: ", LLVMOrcLLJITLookup(c->jit, &address, CPU_KERNEL_NAME)))
        return false;
    LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(c->jit),
                                            on_late_orc_error, NULL);
    c->out->code = (CpuSubgroupFn *)(uintptr_t)address;
    return true;
}

/* Disposes of the object. */
static bool link_object(Compile *c, LLVMMemoryBufferRef object)
{
    bool debug = c->options->debug || cpu_perf();
    LLVMMemoryBufferRef seen = NULL;
    if (debug)
        seen = LLVMCreateMemoryBufferWithMemoryRangeCopy(LLVMGetBufferStart(object),
                                                         LLVMGetBufferSize(object), "kernel");
    bool good = load_object(c, object, debug);
    if (good && seen)
        c->out->lines = cpu_debug_lines(seen, (uintptr_t)c->out->code);
    if (c->out->lines && cpu_perf() == CPU_PERF_MAP)
        cpu_perf_map(c->out->lines, c->options->name ? c->options->name : "kernel");
    if (seen)
        LLVMDisposeMemoryBuffer(seen);
    return good;
}

/* ---- the compilation ----------------------------------------------------------------------- */

static bool prepare_module(Compile *c)
{
    LLVMContextSetDiagnosticHandler(c->context, on_diagnostic, c);
    CpuTier tier = c->options->tier;
    c->fast = c->options->optimise &&
              (tier == CPU_TIER_FAST ||
               (tier == CPU_TIER_AUTO && cpu_is_large(c->module, c->target->vector_bits)));
    c->machine = target_machine(c);
    if (!c->machine)
        return false;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
    LLVMSetModuleDataLayout(c->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(c->module, c->target->triple);
    char *error = NULL;
    bool broken = LLVMVerifyModule(c->module, LLVMReturnStatusAction, &error);
    if (broken)
        fail(c, "the code generator made invalid LLVM IR: ", error);
    LLVMDisposeMessage(error);
    if (broken)
        return false;
    LLVMValueRef kernel = LLVMGetNamedFunction(c->module, CPU_KERNEL_NAME);
    if (!kernel || LLVMIsDeclaration(kernel) || LLVMCountParams(kernel) != 1 ||
        LLVMGetTypeKind(LLVMGetReturnType(LLVMGlobalGetValueType(kernel))) != LLVMVoidTypeKind)
        return fail(c, "the module does not define ", CPU_KERNEL_NAME);
    set_attributes(c);
    return true;
}

static bool compile_module(Compile *c)
{
    if (!prepare_module(c))
        return false;
    CpuEmit text = c->options->emit;
    if ((text == CPU_EMIT_LLVM && !keep_ir(c)) || !run_passes(c) ||
        (text == CPU_EMIT_LLVM_OPTIMISED && !keep_ir(c)) || (text == CPU_EMIT_ASM && !keep_asm(c)))
        return false;
    c->frames = 0; /* emitting the assembly has reported them too */
    LLVMMemoryBufferRef object = emit(c, c->module, LLVMObjectFile);
    if (!object)
        return false;
    if (c->n_messages) { /* an error after which emission went on */
        LLVMDisposeMemoryBuffer(object);
        return false;
    }
    if (text == CPU_EMIT_OBJECT &&
        !keep_text(c, LLVMGetBufferStart(object), LLVMGetBufferSize(object))) {
        LLVMDisposeMemoryBuffer(object);
        return false;
    }
    if (c->target->foreign)
        LLVMDisposeMemoryBuffer(object);
    else if (!link_object(c, object))
        return false;
    uint64_t stack = align_up(c->frames, 16) + CALLEE_STACK;
    if (stack > UINT32_MAX / 2)
        return fail(c, "the kernel's stack frame is too large", "");
    c->out->stack_bytes = (uint32_t)stack;
    return true;
}

static bool compile_all(void *user)
{
    Compile *c = user;
    bool ok = compile_module(c);
    if (c->machine)
        LLVMDisposeTargetMachine(c->machine);
    LLVMDisposeModule(c->module);
    LLVMContextDispose(c->context);
    return ok;
}

static void dispose_jit(LLVMOrcLLJITRef jit)
{
    LLVMErrorRef error = jit ? LLVMOrcDisposeLLJIT(jit) : NULL;
    if (error)
        LLVMConsumeError(error);
}

/* Reports messages, and hands what was compiled to the caller. */
static bool finish(Compile *c, double start, DiagSink *sink)
{
    for (uint32_t i = 0; i < c->n_messages; i++) {
        diag(sink, c->messages[i].severity, NULL, NULL, "%s",
             c->messages[i].text ? c->messages[i].text : "out of memory");
        free(c->messages[i].text);
    }
    struct CpuCode *code = c->ok ? malloc(sizeof *code) : NULL;
    if (!code) {
        if (c->ok)
            diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        else if (!c->n_messages && !unwanted(c))
            diag(sink, DIAG_ERROR, NULL, NULL, "LLVM failed without saying why");
        dispose_jit(c->jit);
        free(c->out->text);
        cpu_lines_free(c->out->lines);
        memset(c->out, 0, sizeof *c->out);
        return false;
    }
    code->jit = c->jit;
    c->out->owner = code;
    c->out->fast = c->fast;
    c->out->seconds = clock_seconds() - start;
    return true;
}

static pthread_once_t initialised = PTHREAD_ONCE_INIT;

bool cpu_jit(LLVMModuleRef module, LLVMContextRef context, const CpuTarget *target,
             const CpuOptions *options, CpuJit *out, DiagSink *sink)
{
    pthread_once(&initialised, initialise);
    double start = clock_seconds();
    memset(out, 0, sizeof *out);
    Compile c = { .module = module,
                  .context = context,
                  .target = target,
                  .options = options,
                  .out = out };
    c.ok = llvm_guarded(compile_all, on_fatal_error, &c);
    return finish(&c, start, sink);
}

bool cpu_jit_load(const void *object, size_t size, const CpuOptions *options, CpuJit *out,
                  DiagSink *sink)
{
    pthread_once(&initialised, initialise);
    double start = clock_seconds();
    memset(out, 0, sizeof *out);
    Compile c = { .options = options, .out = out };
    LLVMMemoryBufferRef copy =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(object, size, CPU_KERNEL_NAME);
    c.ok = link_object(&c, copy);
    return finish(&c, start, sink);
}

void cpu_code_free(struct CpuCode *code)
{
    if (!code)
        return;
    dispose_jit(code->jit);
    free(code);
}
