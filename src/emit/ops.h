/* SPDX-License-Identifier: MIT
 *
 * What the emitters of plain instructions share with those of targets.
 */
#ifndef HEDDLE_EMIT_OPS_H
#define HEDDLE_EMIT_OPS_H

#include "llvm/arith.h"
#include "emit/emit.h"

/* ---- ops.c ----------------------------------------------------------------------------------- */

LV ops_flush(Emit *e, LV v); /* denormals become zeros, if the kernel says so */
bool ops_flushes(Emit *e);   /* it does, for any format */
bool ops_keeps_denormals(Emit *e, uint32_t bits); /* the kernel asks for this; for IEEE formats */
LV ops_fold(Emit *e, LV v);                       /* bf16 as float, anything else as it is */

/* How a conversion to `to` rounds: as decorated, or as the kernel's float controls have it. */
IrRounding ops_rounding(Emit *e, const SpvInst *i, IrComp to);
/* Float arithmetic under the kernel's float controls and the decorations of i (NULL: nothing may be
 * contracted). op: LLVMFAdd, FSub, FMul, FDiv. */
LV ops_float(Emit *e, const SpvInst *i, LLVMOpcode op, LV x, LV y);
LV ops_dot(Emit *e, const SpvInst *i, const LV *x, const LV *y, uint32_t n);
/* Whether the module has such modes, and the sign of zeros matters to this instruction. */
bool ops_signed_zeros(Emit *e, const SpvInst *i, LV v);
/* llvm.fma if the machine has it, else a multiplication and an addition, which round twice. */
LV ops_fma(Emit *e, LV x, LV y, LV z);
/* EmitTarget.approximate, where instruction i may be as exact as that. */
LV ops_approximate(Emit *e, const SpvInst *i, uint32_t number, LV x, LV y);
/* All leaves of an operand, in the compilation's arena. */
LV *ops_leaves(Emit *e, SpvId id, uint32_t *n);
/* the scalar type of a value's first leaf */
const SpvType *ops_type(Emit *e, SpvId id);
LV ops_bits(Emit *e, LV v);                       /* as integers of its width */
LV ops_select(Emit *e, LV condition, LV x, LV y); /* operands unified */

/* arith_convert, by what the machine has for it. */
LV ops_convert(Emit *e, LV x, IrComp from, IrComp to, IrRounding rounding, bool saturate);

/* ---- held.c: 8-bit floats that are held as floats -------------------------------------------- */

bool held_is_small(IrComp c); /* of the formats that are */
void held_begin(Emit *e);     /* for e->fn */
/* `small`, of format c, has the value of `wide`, which dominates what is built from now on. */
void held_add(Emit *e, LV small, LV wide, IrComp c);
/* ops_convert between such a format and float. NULL: of others. */
LV held_convert(Emit *e, LV x, IrComp from, IrComp to, bool saturate);

/* ---- ops_vector.c ---------------------------------------------------------------------------- */

EmitFn ops_any_all, ops_inner_product, ops_integer_dot, ops_times_scalar, ops_matrix_product,
    ops_outer_product, ops_extended_multiply, ops_carry;

/* ---- glsl450.c ------------------------------------------------------------------------------- */

void glsl450_inst(Emit *e, const SpvInst *i); /* OpExtInst of GLSL.std.450 */

/* ---- combine.c ------------------------------------------------------------------------------- */

/* What reductions and scans combine with. */
typedef enum EmitCombine {
    COMBINE_IADD,
    COMBINE_FADD,
    COMBINE_IMUL,
    COMBINE_FMUL,
    COMBINE_SMIN,
    COMBINE_UMIN,
    COMBINE_FMIN,
    COMBINE_SMAX,
    COMBINE_UMAX,
    COMBINE_FMAX,
    COMBINE_AND,
    COMBINE_OR,
    COMBINE_XOR,
    COMBINE_N
} EmitCombine;
LV combine(Emit *e, EmitCombine how, LV x, LV y); /* same types */
LV combine_identity(Emit *e, EmitCombine how, LT scalar);
EmitCombine combine_of(uint16_t op); /* of an OpGroup* or OpGroupNonUniform* */

/* clang-format off */
/* Rows of a table of rules: votes; reductions and scans, all by one function. */
#define VOTE_RULES(fn) \
    { SpvOpGroupNonUniformAll, 0, fn }, \
    { SpvOpGroupNonUniformAny, 0, fn }, \
    { SpvOpGroupNonUniformAllEqual, 0, fn }, \
    { SpvOpGroupAll, 0, fn }, \
    { SpvOpGroupAny, 0, fn }, \
    { SpvOpSubgroupAllKHR, 0, fn }, \
    { SpvOpSubgroupAnyKHR, 0, fn }, \
    { SpvOpSubgroupAllEqualKHR, 0, fn },
#define COMBINE_RULES(fn) \
    { SpvOpGroupNonUniformIAdd, 0, fn }, \
    { SpvOpGroupNonUniformFAdd, 0, fn }, \
    { SpvOpGroupNonUniformIMul, 0, fn }, \
    { SpvOpGroupNonUniformFMul, 0, fn }, \
    { SpvOpGroupNonUniformSMin, 0, fn }, \
    { SpvOpGroupNonUniformUMin, 0, fn }, \
    { SpvOpGroupNonUniformFMin, 0, fn }, \
    { SpvOpGroupNonUniformSMax, 0, fn }, \
    { SpvOpGroupNonUniformUMax, 0, fn }, \
    { SpvOpGroupNonUniformFMax, 0, fn }, \
    { SpvOpGroupNonUniformBitwiseAnd, 0, fn }, \
    { SpvOpGroupNonUniformBitwiseOr, 0, fn }, \
    { SpvOpGroupNonUniformBitwiseXor, 0, fn }, \
    { SpvOpGroupNonUniformLogicalAnd, 0, fn }, \
    { SpvOpGroupNonUniformLogicalOr, 0, fn }, \
    { SpvOpGroupNonUniformLogicalXor, 0, fn }, \
    { SpvOpGroupIAdd, 0, fn }, \
    { SpvOpGroupFAdd, 0, fn }, \
    { SpvOpGroupFMin, 0, fn }, \
    { SpvOpGroupUMin, 0, fn }, \
    { SpvOpGroupSMin, 0, fn }, \
    { SpvOpGroupFMax, 0, fn }, \
    { SpvOpGroupUMax, 0, fn }, \
    { SpvOpGroupSMax, 0, fn }, \
    { SpvOpGroupIMulKHR, 0, fn }, \
    { SpvOpGroupFMulKHR, 0, fn }, \
    { SpvOpGroupBitwiseAndKHR, 0, fn }, \
    { SpvOpGroupBitwiseOrKHR, 0, fn }, \
    { SpvOpGroupBitwiseXorKHR, 0, fn }, \
    { SpvOpGroupLogicalAndKHR, 0, fn }, \
    { SpvOpGroupLogicalOrKHR, 0, fn }, \
    { SpvOpGroupLogicalXorKHR, 0, fn },
/* clang-format on */

#endif
