/* SPDX-License-Identifier: MIT
 *
 * What a GPU's special function units compute. Errors are the PTX ISA's (9.7.3); Vulkan's
 * "Precision of Individual Operations" allows 2.5 ulps of a division, 2 of an inverse square root,
 * 3 + 2 |x| of an exponential, and 3, or 2^-21 between 0.5 and 2, of a logarithm. Sines and cosines
 * are not here: theirs are good near zero only. Nor is the natural logarithm: the binary one times
 * a constant was off by 3.3 ulps.
 */
#include "nvptx/internal.h"
#include "llvm/ir.h"

typedef struct Approximation {
    uint32_t number;             /* GLSL.std.450's; 0: a division */
    const char *name, *flushing; /* the latter takes denormals for zeros */
    double factor;               /* of the operand */
} Approximation;

static const Approximation approximations[] = {
    /* 2 ulps */
    { 0, "llvm.nvvm.div.full", "llvm.nvvm.div.full.ftz", 1 },
    /* 2^-23 of it */
    { GLSLstd450Sqrt, "llvm.nvvm.sqrt.approx.f", "llvm.nvvm.sqrt.approx.ftz.f", 1 },
    /* 2^-22.9 of it */
    { GLSLstd450InverseSqrt, "llvm.nvvm.rsqrt.approx.f", "llvm.nvvm.rsqrt.approx.ftz.f", 1 },
    /* 2 ulps */
    { GLSLstd450Exp2, "llvm.nvvm.ex2.approx.f32", "llvm.nvvm.ex2.approx.ftz.f32", 1 },
    { GLSLstd450Exp, "llvm.nvvm.ex2.approx.f32", "llvm.nvvm.ex2.approx.ftz.f32", 0x1.715476p+0 },
    /* 2 ulps, or 2^-22 between 0.5 and 2 */
    { GLSLstd450Log2, "llvm.nvvm.lg2.approx.f", "llvm.nvvm.lg2.approx.ftz.f", 1 },
};

static LV times(Emit *e, LV x, double factor)
{
    return factor == 1 ? x : LLVMBuildFMul(e->b, x, LLVMConstReal(e->f32, factor), "");
}

static LV single(Emit *e, LV x)
{
    return x && LLVMTypeOf(x) != e->f32 ? LLVMBuildFPExt(e->b, x, e->f32, "") : x;
}

LV threads_approximate(Emit *e, const SpvInst *i, uint32_t number, LV x, LV y)
{
    (void)i;
    for (uint32_t k = 0; k < COUNT_OF(approximations) && !threads_of(e)->exact; k++) {
        const Approximation *a = &approximations[k];
        if (a->number != number)
            continue;
        LT type = LLVMTypeOf(x);
        LV args[2] = { times(e, single(e, x), a->factor), single(e, y) };
        bool keeps = type == e->f32 && ops_keeps_denormals(e, 32);
        LV r = threads_call(e, keeps ? a->name : a->flushing, e->f32, args, y ? 2 : 1);
        return type == e->f32 ? r : LLVMBuildFPTrunc(e->b, r, type, "");
    }
    return NULL;
}
