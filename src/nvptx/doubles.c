/* SPDX-License-Identifier: MIT
 *
 * Functions of double. In: a module that calls the C library's (sin, pow), as the CPU does. Out:
 * one that has them, of libclc: LLVM's library of OpenCL's functions, as bitcode for PTX.
 */
#include "nvptx/internal.h"
#include "llvm/arith.h"
#include "llvm/ir.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_missing(LLVMValueRef f)
{
    return LLVMIsDeclaration(f) && !LLVMGetIntrinsicID(f) && LLVMGetFirstUse(f);
}

/* Functions of C that libclc's are not quite: bits. */
enum {
    REPAIR_BY_DOUBLE = 1,         /* it loses results that are denormal, or is off by too much */
    REPAIR_NEGATIVE_INFINITY = 2, /* which has infinity (C, F.10.5.3), not itself */
    REPAIR_ZERO = 4,              /* which has infinity of its own sign (C, F.10.5.4) */
    REPAIR_BY_PRODUCT = 8,        /* reduced_gamma */
    REPAIR_LARGE_EXPONENT = 16,   /* whose product with the logarithm overflows */
};

/* Libclc's gamma function of doubles is right to a few ulps between 1 and 2 only, and off by a
 * hundred where it is large. Elsewhere, gamma(x + 1) = x gamma(x): products of up to 172 factors,
 * each with what rounding takes from it (p + e, q + f), as no factor is rounded. 2^-16 keeps the
 * product finite where the result is. */
#define GAMMA "heddle_gamma"
static const char reduced_gamma[] =
    "declare double @_Z6tgammad(double)\n"
    "declare double @llvm.fma.f64(double, double, double)\n"
    "declare double @llvm.floor.f64(double)\n"
    "define double @" GAMMA "(double %x) {\n"
    "entry:\n"
    "  %floor = call double @llvm.floor.f64(double %x)\n"
    "  %whole = fcmp oeq double %x, %floor\n"
    "  %low = fcmp ole double %x, 0.0\n"
    "  %pole = and i1 %whole, %low\n"
    "  %above = fcmp oge double %x, -169.0\n"
    "  %below = fcmp ole double %x, 172.0\n"
    "  %between = and i1 %above, %below\n"
    "  %reduces = select i1 %pole, i1 false, i1 %between\n"
    "  br i1 %reduces, label %down, label %direct\n"
    "direct:\n"
    "  %d = call double @_Z6tgammad(double %x)\n"
    "  ret double %d\n"
    "down:\n"
    "  %r = phi double [ %x, %entry ], [ %r1, %less ]\n"
    "  %p = phi double [ 0x3EF0000000000000, %entry ], [ %p1, %less ]\n"
    "  %e = phi double [ 0.0, %entry ], [ %e1, %less ]\n"
    "  %is_large = fcmp oge double %r, 2.0\n"
    "  br i1 %is_large, label %less, label %up\n"
    "less:\n"
    "  %r1 = fsub double %r, 1.0\n"
    "  %p1 = fmul double %p, %r1\n"
    "  %p2 = fneg double %p1\n"
    "  %lost = call double @llvm.fma.f64(double %p, double %r1, double %p2)\n"
    "  %e1 = call double @llvm.fma.f64(double %e, double %r1, double %lost)\n"
    "  br label %down\n"
    "up:\n"
    "  %s = phi double [ %r, %down ], [ %s1, %more ]\n"
    "  %q = phi double [ 1.0, %down ], [ %q1, %more ]\n"
    "  %f = phi double [ 0.0, %down ], [ %f1, %more ]\n"
    "  %is_small = fcmp olt double %s, 1.0\n"
    "  br i1 %is_small, label %more, label %done\n"
    "more:\n"
    "  %q1 = fmul double %q, %s\n"
    "  %q2 = fneg double %q1\n"
    "  %gone = call double @llvm.fma.f64(double %q, double %s, double %q2)\n"
    "  %f1 = call double @llvm.fma.f64(double %f, double %s, double %gone)\n"
    "  %s1 = fadd double %s, 1.0\n"
    "  br label %up\n"
    "done:\n"
    "  %g = call double @_Z6tgammad(double %s)\n"
    "  %ge = fmul double %g, %e\n"
    "  %n = call double @llvm.fma.f64(double %g, double %p, double %ge)\n"
    "  %n1 = fmul double %n, 65536.0\n"
    "  %v = fdiv double %n1, %q\n"
    "  %part = fdiv double %f, %q\n"
    "  %less_v = fneg double %v\n"
    "  %better = call double @llvm.fma.f64(double %less_v, double %part, double %v)\n"
    "  %is_nan = fcmp uno double %better, %better\n" /* v is infinite */
    "  %result = select i1 %is_nan, double %v, double %better\n"
    "  ret double %result\n"
    "}\n";

static const struct {
    const char *name;
    uint32_t repair;
} repairs[] = {
    { "erfcf", REPAIR_BY_DOUBLE },
    { "lgamma", REPAIR_NEGATIVE_INFINITY },
    { "lgammaf", REPAIR_NEGATIVE_INFINITY },
    { "pow", REPAIR_LARGE_EXPONENT },
    { "tgamma", REPAIR_BY_PRODUCT | REPAIR_ZERO },
    { "tgammaf", REPAIR_BY_DOUBLE | REPAIR_ZERO },
};

static uint32_t repair_of(LLVMValueRef f)
{
    size_t size;
    const char *name = LLVMGetValueName2(f, &size);
    for (uint32_t k = 0; k < COUNT_OF(repairs); k++)
        if (!strcmp(repairs[k].name, name))
            return repairs[k].repair;
    return 0;
}

/* NULL: there is not enough memory. */
static LLVMValueRef gamma_function(LLVMModuleRef m)
{
    LLVMMemoryBufferRef text =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(reduced_gamma, sizeof reduced_gamma - 1, GAMMA);
    LLVMModuleRef parsed;
    char *error = NULL;
    if (LLVMParseIRInContext(LLVMGetModuleContext(m), text, &parsed, &error)) {
        LLVMDisposeMessage(error);
        return NULL;
    }
    LLVMSetTarget(parsed, LLVMGetTarget(m));
    LLVMSetDataLayout(parsed, LLVMGetDataLayoutStr(m));
    return LLVMLinkModules2(m, parsed) ? NULL : LLVMGetNamedFunction(m, GAMMA);
}

/* "pow" of two doubles is _Z3powdd there, "powf" _Z3powff (Itanium C++ ABI, 5.1.2). */
static LLVMValueRef library_function(LLVMModuleRef m, LLVMValueRef f)
{
    size_t size;
    const char *name = LLVMGetValueName2(f, &size);
    char mangled[64];
    unsigned n = MIN(LLVMCountParams(f), 3);
    LLVMTypeRef type = LLVMGlobalGetValueType(f);
    bool single = LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMFloatTypeKind;
    if (repair_of(f) & REPAIR_BY_PRODUCT)
        return gamma_function(m);
    if (single)
        size--; /* C's f */
    if (repair_of(f) & REPAIR_BY_DOUBLE) {
        LLVMTypeRef d = LLVMDoubleTypeInContext(LLVMGetModuleContext(m));
        type = LLVMFunctionType(d, (LLVMTypeRef[]){ d, d, d }, n, false);
        single = false;
    }
    snprintf(mangled, sizeof mangled, "_Z%zu%.*s%.*s", size, (int)size, name, (int)n,
             single ? "fff" : "ddd");
    LLVMValueRef found = LLVMGetNamedFunction(m, mangled);
    return found ? found : LLVMAddFunction(m, mangled, type);
}

/* Exponents of 2^70 already are even, and give 0, 1 or infinity. NaNs stay. */
static LLVMValueRef bounded_exponent(LLVMBuilderRef b, LLVMValueRef y)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        LLVMValueRef most = LLVMConstReal(LLVMTypeOf(y), sign * 0x1p70);
        LLVMValueRef is = LLVMBuildFCmp(b, sign < 0 ? LLVMRealOLT : LLVMRealOGT, y, most, "");
        y = LLVMBuildSelect(b, is, most, y, "");
    }
    return y;
}

static LLVMValueRef repaired_argument(LLVMBuilderRef b, uint32_t repair, LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    if (repair & REPAIR_BY_DOUBLE)
        return LLVMBuildFPExt(b, x, LLVMDoubleTypeInContext(LLVMGetTypeContext(t)), "");
    if (!(repair & REPAIR_NEGATIVE_INFINITY))
        return x;
    LLVMValueRef infinity = LLVMConstReal(t, INFINITY);
    LLVMValueRef is = LLVMBuildFCmp(b, LLVMRealOEQ, x, LLVMConstReal(t, -INFINITY), "");
    return LLVMBuildSelect(b, is, infinity, x, "");
}

/* What the function gives, y, as one of type t. */
static LLVMValueRef repaired_result(LLVMBuilderRef b, uint32_t repair, LLVMValueRef x,
                                    LLVMValueRef y, LLVMTypeRef t)
{
    LLVMTypeRef of_x = LLVMTypeOf(x);
    if (repair & REPAIR_ZERO) {
        LLVMValueRef infinity = ir_binary(b, "llvm.copysign", LLVMConstReal(of_x, INFINITY), x);
        LLVMValueRef is = LLVMBuildFCmp(b, LLVMRealOEQ, x, LLVMConstNull(of_x), "");
        y = LLVMBuildSelect(b, is, infinity, y, "");
    }
    return repair & REPAIR_BY_DOUBLE ? LLVMBuildFPTrunc(b, y, t, "") : y;
}

static void define_by(LLVMContextRef cx, LLVMValueRef f, LLVMValueRef by)
{
    LLVMValueRef x[3], y;
    uint32_t repair = repair_of(f);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(cx);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(cx, f, ""));
    LLVMGetParams(f, x);
    for (unsigned k = 0; k < LLVMCountParams(f); k++)
        x[k] = repaired_argument(b, repair, x[k]);
    if (repair & REPAIR_LARGE_EXPONENT)
        x[1] = bounded_exponent(b, x[1]);
    y = LLVMBuildCall2(b, LLVMGlobalGetValueType(by), by, x, LLVMCountParams(f), "");
    LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(f));
    LLVMBuildRet(b, repaired_result(b, repair, x[0], y, result));
    LLVMDisposeBuilder(b);
    LLVMSetLinkage(f, LLVMInternalLinkage);
}

/* What the CPU calls C for: a fused multiply-add of doubles, rounded towards zero. */
static void define_fma(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, ARITH_FMA_TOWARDS_ZERO);
    unsigned id = LLVMLookupIntrinsicID("llvm.nvvm.fma.rz.d", 18);
    if (f && LLVMIsDeclaration(f))
        define_by(LLVMGetModuleContext(m), f, LLVMGetIntrinsicDeclaration(m, id, NULL, 0));
}

static const char *library_path(void)
{
    const char *given = getenv("HEDDLE_LIBCLC");
    return given && *given ? given : HEDDLE_LIBCLC;
}

static LLVMModuleRef load_library(LLVMModuleRef m)
{
    LLVMMemoryBufferRef buffer;
    LLVMModuleRef library = NULL;
    char *error = NULL;
    if (LLVMCreateMemoryBufferWithContentsOfFile(library_path(), &buffer, &error)) {
        LLVMDisposeMessage(error);
        return NULL;
    }
    if (LLVMParseBitcodeInContext2(LLVMGetModuleContext(m), buffer, &library))
        library = NULL;
    LLVMDisposeMemoryBuffer(buffer);
    if (library) {
        LLVMSetTarget(library, LLVMGetTarget(m));
        LLVMSetDataLayout(library, LLVMGetDataLayoutStr(m));
    }
    return library;
}

static LLVMValueRef missing_function(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetFirstFunction(m);
    while (f && !is_missing(f))
        f = LLVMGetNextFunction(f);
    return f;
}

/* What is of the library is the module's own, so that what nobody calls can go. */
static void drop_unused(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && LLVMGetFunctionCallConv(f) != NVPTX_KERNEL_CONVENTION)
            LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(m, "globaldce", NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (error)
        LLVMConsumeError(error);
}

bool doubles_define(LLVMModuleRef m, char *said, size_t size)
{
    define_fma(m);
    LLVMValueRef f = missing_function(m);
    if (!f)
        return true;
    LLVMModuleRef library = load_library(m);
    if (!library) {
        size_t length;
        snprintf(said, size, "'%s' is libclc's, whose nvptx64--.bc is not at '%s' (HEDDLE_LIBCLC)",
                 LLVMGetValueName2(f, &length), library_path());
        return false;
    }
    for (LLVMValueRef last = LLVMGetLastFunction(m);; f = LLVMGetNextFunction(f)) {
        LLVMValueRef by = is_missing(f) ? library_function(m, f) : NULL;
        if (by)
            define_by(LLVMGetModuleContext(m), f, by);
        if (f == last)
            break;
    }
    if (LLVMLinkModules2(m, library)) {
        snprintf(said, size, "libclc cannot be linked");
        return false;
    }
    drop_unused(m);
    f = missing_function(m);
    if (f)
        snprintf(said, size, "libclc has no function '%s'", LLVMGetValueName2(f, &(size_t){ 0 }));
    return !f;
}
