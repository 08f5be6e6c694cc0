/* SPDX-License-Identifier: MIT
 *
 * In: an LLVM module with the kernel's function. Out: PTX.
 *
 * verify -> masks -> passes -> PTX. The passes are few: what the driver's own compiler does again
 * (scheduling, registers, unrolling) is left to it.
 */
#include "nvptx/internal.h"
#include "llvm/guard.h"
#include "llvm/ir.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIPLE "nvptx64-nvidia-cuda"

typedef struct Target {
    uint32_t capability;
    const char *name, *features; /* features: the first version of PTX that has the target */
} Target;

/* PTX ISA, "Release Notes". Drivers know older PTX, so the least that serves is chosen: movmatrix
 * is of 7.8. */
static const Target targets[] = {
    { 80, "sm_80", "+ptx78" },   { 86, "sm_86", "+ptx78" },   { 87, "sm_87", "+ptx78" },
    { 89, "sm_89", "+ptx81" },   { 90, "sm_90", "+ptx80" },   { 90, "sm_90a", "+ptx80" },
    { 100, "sm_100", "+ptx86" }, { 120, "sm_120", "+ptx87" },
};

static const Target *target_named(const char *name)
{
    for (uint32_t k = 0; k < COUNT_OF(targets); k++)
        if (!strcmp(targets[k].name, name))
            return &targets[k];
    return NULL;
}

const char *nvptx_isa(const char *isa, DiagSink *sink)
{
    const Target *t = target_named(isa ? isa : "sm_80");
    if (t)
        return t->name;
    char known[256] = "";
    for (uint32_t k = 0, n = 0; k < COUNT_OF(targets); k++)
        n +=
            (uint32_t)snprintf(known + n, sizeof known - n, "%s%s", k ? ", " : "", targets[k].name);
    diag(sink, DIAG_ERROR, NULL, NULL, "'%s' is no GPU that PTX is made for; there are %s", isa,
         known);
    return NULL;
}

const char *nvptx_isa_of(uint32_t capability)
{
    const char *best = NULL;
    for (uint32_t k = 0; k < COUNT_OF(targets); k++)
        if (targets[k].capability <= capability)
            best = targets[k].name;
    /* sm_90a's instructions are 9.0's alone */
    return best && !strcmp(best, "sm_90a") && capability != 90 ? "sm_90" : best;
}

typedef struct Making {
    LLVMModuleRef module;
    LLVMContextRef context;
    const NvptxRequest *request;
    const Target *target;
    NvptxKernel *out;
    LLVMTargetMachineRef machine;
    char said[1024];
} Making;

static bool fail(Making *m, const char *what, const char *text)
{
    if (!m->said[0])
        snprintf(m->said, sizeof m->said, "%s%s", what, text);
    return false;
}

static bool failed(Making *m, const char *what, LLVMErrorRef error)
{
    if (!error)
        return false;
    char *text = LLVMGetErrorMessage(error);
    fail(m, what, text);
    LLVMDisposeErrorMessage(text);
    return true;
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    char *text = LLVMGetDiagInfoDescription(info);
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
        fail(user, "LLVM: ", text);
    LLVMDisposeMessage(text);
}

static void on_fatal_error(void *user, const char *reason) { fail(user, "LLVM: ", reason); }

static bool keep_text(Making *m, const char *text, size_t size, char **to)
{
    *to = malloc(size + 1);
    if (!*to)
        return fail(m, "out of memory", "");
    memcpy(*to, text, size);
    (*to)[size] = 0;
    return true;
}

static bool keep_ir(Making *m)
{
    char *text = LLVMPrintModuleToString(m->module);
    bool ok = keep_text(m, text, strlen(text), &m->out->text);
    LLVMDisposeMessage(text);
    return ok;
}

static bool open_machine(Making *m)
{
    LLVMTargetRef target;
    char *error = NULL;
    if (LLVMGetTargetFromTriple(TRIPLE, &target, &error)) {
        fail(m, "LLVM: ", error);
        LLVMDisposeMessage(error);
        return false;
    }
    m->machine = LLVMCreateTargetMachine(target, TRIPLE, m->target->name, m->target->features,
                                         m->request->optimise ? LLVMCodeGenLevelDefault
                                                              : LLVMCodeGenLevelNone,
                                         LLVMRelocDefault, LLVMCodeModelDefault);
    return m->machine || fail(m, "LLVM has no code generator for ", TRIPLE);
}

static bool verify(Making *m)
{
    char *error = NULL;
    bool broken = LLVMVerifyModule(m->module, LLVMReturnStatusAction, &error);
    if (broken)
        fail(m, "the code generator made invalid LLVM IR: ", error);
    LLVMDisposeMessage(error);
    return !broken;
}

static bool prepare(Making *m)
{
    LLVMContextSetDiagnosticHandler(m->context, on_diagnostic, m);
    if (!open_machine(m))
        return false;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(m->machine);
    LLVMSetModuleDataLayout(m->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(m->module, TRIPLE);
    if (!verify(m))
        return false;
    if (m->request->members) {
        if (failed(m, "LLVM's passes: ", masks_structure(m->module, m->machine)))
            return false;
        masks_resolve(m->module, LLVMGetNamedFunction(m->module, NVPTX_KERNEL_NAME),
                      m->request->members);
    }
    masks_close(m->module);
    return verify(m);
}

#define OPTIMISING_PASSES(rotate)                                                                  \
    "always-inline,globaldce,function("                                                            \
    "infer-address-spaces,sroa<modify-cfg>,early-cse,simplifycfg,"                                 \
    "instcombine<no-verify-fixpoint>,loop-mssa(loop-instsimplify,licm<allowspeculation>),"         \
    "infer-address-spaces,sroa<modify-cfg>,early-cse<memssa>,reassociate,"                         \
    "instcombine<no-verify-fixpoint>,loop-mssa(" rotate "licm<allowspeculation>))"

/* The driver's compiler unrolls what is rotated. Where masks say who runs a block, loops stay as
 * they were structured: rotated, returns out of them (tests/ops/returns.comp) met too few. */
static const char optimising_passes[] = OPTIMISING_PASSES("loop-rotate,"),
                  structured_passes[] = OPTIMISING_PASSES("");
static const char last_passes[] = "function(infer-alignment,load-store-vectorizer,early-cse,"
                                  "instcombine<no-verify-fixpoint>,adce,simplifycfg)";
/* What comes from blocks that no thread can come to must not be left to the driver's compiler
 * (580.159), which takes it for values that matter. */
static const char least_passes[] = "always-inline,globaldce,function(infer-address-spaces,"
                                   "sroa<modify-cfg>,instsimplify,adce,simplifycfg)";

/* LLVM forgets how private memory is aligned when it finds its space. Its loops' last stores, moved
 * behind them, would be of single bytes, which CUDA 13.0's compiler gets wrong. */
static void tell_alignment(Making *m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(m->context);
    LT i1 = LLVMInt1TypeInContext(m->context), i64 = LLVMInt64TypeInContext(m->context);
    LT type = LLVMFunctionType(LLVMVoidTypeInContext(m->context), &i1, 1, false);
    unsigned id = LLVMLookupIntrinsicID("llvm.assume", 11);
    LV yes = LLVMConstInt(i1, 1, false),
       kernel = LLVMGetNamedFunction(m->module, NVPTX_KERNEL_NAME);
    LV i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel));
    for (LV next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        LV memory = LLVMIsAAddrSpaceCastInst(i) ? LLVMGetOperand(i, 0) : NULL;
        if (!memory || !LLVMIsAAllocaInst(memory))
            continue;
        LV told[] = { i, LLVMConstInt(i64, LLVMGetAlignment(memory), false) };
        LLVMOperandBundleRef bundle = LLVMCreateOperandBundle("align", 5, told, 2);
        LLVMPositionBuilderBefore(b, next);
        LLVMBuildCallWithOperandBundles(
            b, type, LLVMGetIntrinsicDeclaration(m->module, id, NULL, 0), &yes, 1, &bundle, 1, "");
        LLVMDisposeOperandBundle(bundle);
    }
    LLVMDisposeBuilder(b);
}

static bool run(Making *m, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(m->module, passes, m->machine, options);
    LLVMDisposePassBuilderOptions(options);
    return !failed(m, "LLVM's passes: ", error);
}

static bool run_passes(Making *m)
{
    if (!m->request->optimise)
        return run(m, least_passes);
    if (!run(m, m->request->members ? structured_passes : optimising_passes))
        return false;
    tell_alignment(m);
    return run(m, last_passes);
}

/* The driver's compiler widens a value of 16 bits before it takes the negative or the absolute of
 * it, which for -32768 is another number. It does not see through a product. */
static LV negative16(LLVMBuilderRef b, LV x)
{
    static const IrAsm code = { "mul.lo.s16 $0, $1, -1;", "=h,h", false };
    return ir_asm(b, &code, LLVMTypeOf(x), &x, 1);
}

static void repair_negative(LLVMBuilderRef b, LV i)
{
    LT type = LLVMTypeOf(i);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 16)
        return;
    LV x = LLVMGetNumOperands(i) ? LLVMGetOperand(i, 0) : NULL, r = NULL;
    LLVMPositionBuilderBefore(b, i);
    if (LLVMGetInstructionOpcode(i) == LLVMSub && LLVMIsNull(x))
        r = negative16(b, LLVMGetOperand(i, 1));
    else if (ir_calls(i, "llvm.abs"))
        r = ir_binary(b, "llvm.smax", x, negative16(b, x));
    if (!r)
        return;
    LLVMReplaceAllUsesWith(i, r);
    LLVMInstructionEraseFromParent(i);
}

static bool is_of_16_bits(LT type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind ||
           (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 16);
}

/* Nor does it keep apart, of private memory that it has put into registers, the two values of 16
 * bits that one is selected from (CUDA 12.4's and 13.0's). Of 32 bits it does. */
static void repair_selection(LLVMBuilderRef b, LV i)
{
    static const IrAsm code = { "{ .reg .b32 x, y; cvt.u32.u16 x, $2; cvt.u32.u16 y, $3; "
                                "selp.b32 x, x, y, $1; cvt.u16.u32 $0, x; }",
                                "=h,b,h,h", false };
    LT type = LLVMTypeOf(i), bits = LLVMInt16TypeInContext(LLVMGetTypeContext(type));
    LLVMPositionBuilderBefore(b, i);
    LV x[] = { LLVMGetOperand(i, 0), LLVMBuildBitCast(b, LLVMGetOperand(i, 1), bits, ""),
               LLVMBuildBitCast(b, LLVMGetOperand(i, 2), bits, "") };
    LLVMReplaceAllUsesWith(i, LLVMBuildBitCast(b, ir_asm(b, &code, bits, x, 3), type, ""));
    LLVMInstructionEraseFromParent(i);
}

/* CUDA 13.0's compiler keeps two values of 16 bits in a register, and takes all of it for the
 * lower one where that is widened. Built of two halves, it is widened by zero; what is loaded is
 * alone. */
static bool needs_widening(LV i)
{
    LV x = LLVMGetInstructionOpcode(i) == LLVMZExt ? LLVMGetOperand(i, 0) : NULL;
    return x && is_of_16_bits(LLVMTypeOf(x)) && !LLVMIsALoadInst(x);
}

static void repair_widening(LLVMBuilderRef b, LV i)
{
    static const IrAsm code = { "{ .reg .b16 z; mov.b16 z, 0; mov.b32 $0, {$1, z}; }", "=r,h",
                                false };
    LT type = LLVMTypeOf(i), i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
    LV x = LLVMGetOperand(i, 0);
    LLVMPositionBuilderBefore(b, i);
    LV wide = ir_asm(b, &code, i32, &x, 1);
    LLVMReplaceAllUsesWith(i, LLVMBuildZExtOrBitCast(b, wide, type, ""));
    LLVMInstructionEraseFromParent(i);
}

/* A vote on what is known ends the compilers of CUDA 12.4 and 13.0 where nothing reads it, even if
 * only they see that. */
static void repair_vote(LV i)
{
    LV condition = LLVMGetOperand(i, 1);
    if (!LLVMIsAConstantInt(condition))
        return;
    LLVMReplaceAllUsesWith(i, ir_is_int(condition, 0) ? LLVMConstNull(LLVMTypeOf(i))
                                                      : LLVMGetOperand(i, 0));
    LLVMInstructionEraseFromParent(i);
}

static bool has_private_memory(LV f)
{
    LLVMBasicBlockRef entry = LLVMIsDeclaration(f) ? NULL : LLVMGetEntryBasicBlock(f);
    LV i = entry ? LLVMGetFirstInstruction(entry) : NULL;
    while (i && LLVMGetInstructionOpcode(i) != LLVMAlloca)
        i = LLVMGetNextInstruction(i);
    return i;
}

/* What the driver's compiler gets wrong. */
static void repair(Making *m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(m->context);
    for (LV f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f)) {
        bool private = has_private_memory(f);
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LV i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                LLVMOpcode op = LLVMGetInstructionOpcode(i);
                if (ir_calls(i, NVPTX_VOTE))
                    repair_vote(i);
                else if (needs_widening(i))
                    repair_widening(b, i);
                else if (op == LLVMSelect && private && is_of_16_bits(LLVMTypeOf(i)))
                    repair_selection(b, i);
                else
                    repair_negative(b, i);
            }
    }
    LLVMDisposeBuilder(b);
}

static bool make_ptx(Making *m)
{
    repair(m);
    char *error = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(m->machine, m->module, LLVMAssemblyFile, &error,
                                            &buffer)) {
        fail(m, "LLVM: ", error);
        LLVMDisposeMessage(error);
        return false;
    }
    bool ok = keep_text(m, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), &m->out->ptx);
    LLVMDisposeMemoryBuffer(buffer);
    return ok && !m->said[0];
}

static bool make(Making *m)
{
    NvptxEmit shown = m->request->emit;
    return prepare(m) && (shown != NVPTX_EMIT_LLVM || keep_ir(m)) &&
           doubles_define(m->module, m->said, sizeof m->said) && run_passes(m) &&
           (shown != NVPTX_EMIT_LLVM_OPTIMISED || keep_ir(m)) && make_ptx(m);
}

static bool make_all(void *user)
{
    Making *m = user;
    bool ok = make(m);
    if (m->machine)
        LLVMDisposeTargetMachine(m->machine);
    LLVMDisposeModule(m->module);
    LLVMContextDispose(m->context);
    return ok;
}

static void initialise(void)
{
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

bool ptx_of_module(LLVMModuleRef module, LLVMContextRef context, const NvptxRequest *r,
                   NvptxKernel *out, DiagSink *sink)
{
    static pthread_once_t initialised = PTHREAD_ONCE_INIT;
    pthread_once(&initialised, initialise);
    Making m = { .module = module,
                 .context = context,
                 .request = r,
                 .target = target_named(r->isa),
                 .out = out };
    bool ok = llvm_guarded(make_all, on_fatal_error, &m);
    if (!ok)
        diag(sink, DIAG_ERROR, NULL, NULL, "%s", m.said[0] ? m.said : "LLVM failed");
    return ok;
}
