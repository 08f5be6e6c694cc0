/* SPDX-License-Identifier: MIT
 *
 * What reductions and scans combine with.
 */
#include "emit/ops.h"
#include "llvm/ir.h"

#include <math.h>

LV combine(Emit *e, EmitCombine how, LV x, LV y)
{
    static const char *const calls[COMBINE_N] = {
        [COMBINE_SMIN] = "llvm.smin",
        [COMBINE_UMIN] = "llvm.umin",
        [COMBINE_SMAX] = "llvm.smax",
        [COMBINE_UMAX] = "llvm.umax",
    };
    switch (how) {
    case COMBINE_IADD: return LLVMBuildAdd(e->b, x, y, "");
    case COMBINE_FADD: return LLVMBuildFAdd(e->b, x, y, "");
    case COMBINE_IMUL: return LLVMBuildMul(e->b, x, y, "");
    case COMBINE_FMUL: return LLVMBuildFMul(e->b, x, y, "");
    case COMBINE_AND: return LLVMBuildAnd(e->b, x, y, "");
    case COMBINE_OR: return LLVMBuildOr(e->b, x, y, "");
    case COMBINE_XOR: return LLVMBuildXor(e->b, x, y, "");
    case COMBINE_FMIN: return ir_lesser(e->b, x, y);
    case COMBINE_FMAX: return ir_greater(e->b, x, y);
    default: return ir_binary(e->b, calls[how], x, y);
    }
}

LV combine_identity(Emit *e, EmitCombine how, LT t)
{
    (void)e;
    uint64_t top = how == COMBINE_SMIN || how == COMBINE_SMAX
                       ? UINT64_C(1) << (LLVMGetIntTypeWidth(t) - 1)
                       : 0;
    switch (how) {
    case COMBINE_FADD: return LLVMConstReal(t, -0.0);
    case COMBINE_IMUL: return ir_int(t, 1);
    case COMBINE_FMUL: return LLVMConstReal(t, 1);
    case COMBINE_SMIN: return ir_int(t, top - 1);
    case COMBINE_SMAX: return ir_int(t, top);
    case COMBINE_FMIN: return LLVMConstReal(t, INFINITY);
    case COMBINE_FMAX: return LLVMConstReal(t, -INFINITY);
    case COMBINE_UMIN:
    case COMBINE_AND: return LLVMConstAllOnes(t);
    default: return LLVMConstNull(t);
    }
}

EmitCombine combine_of(uint16_t op)
{
    switch (op) {
    case SpvOpGroupNonUniformIAdd:
    case SpvOpGroupIAdd: return COMBINE_IADD;
    case SpvOpGroupNonUniformFAdd:
    case SpvOpGroupFAdd: return COMBINE_FADD;
    case SpvOpGroupNonUniformIMul:
    case SpvOpGroupIMulKHR: return COMBINE_IMUL;
    case SpvOpGroupNonUniformFMul:
    case SpvOpGroupFMulKHR: return COMBINE_FMUL;
    case SpvOpGroupNonUniformSMin:
    case SpvOpGroupSMin: return COMBINE_SMIN;
    case SpvOpGroupNonUniformUMin:
    case SpvOpGroupUMin: return COMBINE_UMIN;
    case SpvOpGroupNonUniformFMin:
    case SpvOpGroupFMin: return COMBINE_FMIN;
    case SpvOpGroupNonUniformSMax:
    case SpvOpGroupSMax: return COMBINE_SMAX;
    case SpvOpGroupNonUniformUMax:
    case SpvOpGroupUMax: return COMBINE_UMAX;
    case SpvOpGroupNonUniformFMax:
    case SpvOpGroupFMax: return COMBINE_FMAX;
    case SpvOpGroupNonUniformBitwiseAnd:
    case SpvOpGroupNonUniformLogicalAnd:
    case SpvOpGroupBitwiseAndKHR:
    case SpvOpGroupLogicalAndKHR: return COMBINE_AND;
    case SpvOpGroupNonUniformBitwiseOr:
    case SpvOpGroupNonUniformLogicalOr:
    case SpvOpGroupBitwiseOrKHR:
    case SpvOpGroupLogicalOrKHR: return COMBINE_OR;
    default: return COMBINE_XOR;
    }
}
