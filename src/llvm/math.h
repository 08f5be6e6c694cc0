/* SPDX-License-Identifier: MIT
 *
 * math: elementary functions as straight vector code, for LLVM's builder.
 *
 * Every function takes and returns scalars or vectors of one floating-point type. float is computed
 * by polynomials without a call; half goes through float; double calls the C library element by
 * element. Results meet the Vulkan specification's "Precision and Operation of SPIR-V Instructions"
 * with a wide margin (test/math.c measures them against MPFR). No input yields poison or a trap.
 *
 * The builder may stand in another block of the same function afterwards (sin, cos and tan branch
 * to a rarely needed reduction of large angles).
 */
#ifndef HEDDLE_LLVM_MATH_H
#define HEDDLE_LLVM_MATH_H

#include "llvm/ir.h"

LLVMValueRef math_exp(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_exp2(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_log(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_log2(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_pow(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y); /* NaN for x < 0 */
LLVMValueRef math_sin(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_cos(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_tan(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_asin(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_acos(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_atan(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_atan2(LLVMBuilderRef b, LLVMValueRef y, LLVMValueRef x);
LLVMValueRef math_sinh(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_cosh(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_tanh(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_asinh(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_acosh(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_atanh(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_sqrt(LLVMBuilderRef b, LLVMValueRef x);
LLVMValueRef math_rsqrt(LLVMBuilderRef b, LLVMValueRef x);

/* x * 2^e; e has x's shape, i32. Rounded once. */
LLVMValueRef math_ldexp(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef e);
/* Mantissa in [0.5, 1) and exponent (i32) with x = m * 2^e; zeros, infinities and NaN give x
 * and 0. */
LLVMValueRef math_frexp(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef *e);

/* A C function of n <= 3 doubles, lane by lane. */
LLVMValueRef math_call(LLVMBuilderRef b, const char *name, LLVMValueRef *x, unsigned n);
/* The C library's function of that name (of double; float and half call float's), lane by lane. y
 * may be NULL. */
LLVMValueRef math_libm(LLVMBuilderRef b, const char *name, LLVMValueRef x, LLVMValueRef y);

/* x * y + z, fused where that is cheap. */
LLVMValueRef math_fma(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);

#endif
