/* SPDX-License-Identifier: MIT
 *
 * arith: what SPIR-V's scalar instructions mean, as LLVM IR over scalars or vectors alike.
 *
 * Operands of one call have one type unless said otherwise. Where SPIR-V leaves a result undefined
 * (division by zero, shifts past the width, conversions out of range) these give some value: never
 * poison, never a trap.
 */
#ifndef HEDDLE_LLVM_ARITH_H
#define HEDDLE_LLVM_ARITH_H

#include "llvm/comp.h"
#include "llvm/ir.h"
#include "llvm/math.h"

/* ---- arith.c: integers ----------------------------------------------------------------------- */

LLVMValueRef arith_udiv(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef arith_sdiv(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef arith_umod(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef arith_srem(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y); /* sign of x */
LLVMValueRef arith_smod(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y); /* sign of y */
/* The amount may have another width than x. */
LLVMValueRef arith_shl(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef amount);
LLVMValueRef arith_lshr(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef amount);
LLVMValueRef arith_ashr(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef amount);
LLVMValueRef arith_insert_bits(LLVMBuilderRef b, LLVMValueRef base, LLVMValueRef insert,
                               LLVMValueRef offset, LLVMValueRef count);
LLVMValueRef arith_extract_bits(LLVMBuilderRef b, LLVMValueRef base, LLVMValueRef offset,
                                LLVMValueRef count, bool is_signed);
LLVMValueRef arith_multiply_high(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, bool is_signed);
/* Clamped to the range of the signedness told; y's is the other one where `mixed`. */
LLVMValueRef arith_add_saturating(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, bool is_signed,
                                  bool mixed);
/* Zero- or sign-extended or truncated to the width of `element`. */
LLVMValueRef arith_resize(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef element, bool is_signed);
LLVMValueRef arith_find_lsb(LLVMBuilderRef b, LLVMValueRef x); /* -1 for 0 */
LLVMValueRef arith_find_msb(LLVMBuilderRef b, LLVMValueRef x, bool is_signed);

/* ---- dot.c: four bytes by four bytes --------------------------------------------------------- */

/* x86 with AVX2 at least, of vectors of so many bits; `has_dots`: with vpdpbusd. */
typedef struct IrDots {
    LLVMBuilderRef b;
    uint32_t vector_bits;
    bool has_dots;
} IrDots;
/* sum + x . y, vectors of at least four words each; sum may be NULL. */
LLVMValueRef arith_dot4(const IrDots *d, LLVMValueRef sum, LLVMValueRef x, LLVMValueRef y,
                        bool x_signed, bool y_signed);

/* ---- arith.c: floats ------------------------------------------------------------------------- */

LLVMValueRef arith_frem(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y); /* sign of x */
LLVMValueRef arith_fmod(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y); /* sign of y */
/* Denormals replaced by zeros of their sign. */
LLVMValueRef arith_flush(LLVMBuilderRef b, LLVMValueRef x);
/* op is LLVMFAdd, LLVMFSub, LLVMFMul or LLVMFDiv, on float or double: rounded towards zero. */
LLVMValueRef arith_towards_zero(LLVMBuilderRef b, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y);

/* A C function that machine code finds by this name: double (double, double, double), rounded
 * towards zero once. */
#define ARITH_FMA_TOWARDS_ZERO "heddle_fma_towards_zero"

/* ---- convert.c ------------------------------------------------------------------------------- */

typedef enum IrRounding { ROUND_NEAREST, ROUND_ZERO, ROUND_UP, ROUND_DOWN } IrRounding;

/* x holds elements of `from` as comp_type says. Integers to integers extend by `from`'s signedness;
 * `saturate` clamps to the range of `to` (floats: to the largest finite, for fp8 only). Floats to
 * integers drop the fraction, or round as told by `rounding` where it is not ROUND_NEAREST. */
LLVMValueRef arith_convert(LLVMBuilderRef b, LLVMValueRef x, IrComp from, IrComp to,
                           IrRounding rounding, bool saturate);
/* E4M3 or E5M2 to float, for machines that convert f16. NULL: of other types. */
LLVMValueRef arith_widen_by_half(LLVMBuilderRef b, LLVMValueRef x, IrComp from);
/* x, a float, as conversions to `to` (E4M3 or E5M2) and back leave it. */
LLVMValueRef arith_round_small(LLVMBuilderRef b, LLVMValueRef x, IrComp to, bool saturate);
/* Rounded to f16's precision and range, denormals flushed: OpQuantizeToF16. x is float. */
LLVMValueRef arith_quantize_f16(LLVMBuilderRef b, LLVMValueRef x);

/* ---- tables.c -------------------------------------------------------------------------------- */

/* arith_convert of vectors of E4M3 or E5M2 to a wider float, by instructions of x86's AVX512-VBMI,
 * which the code's machine must have. NULL: not of these operands. */
LLVMValueRef arith_look_up(LLVMBuilderRef b, LLVMValueRef x, IrComp from, IrComp to);

#endif
