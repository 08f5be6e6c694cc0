// SPDX-License-Identifier: MIT
// Which instructions form the products, by types and CPU, and that a kernel that preserves
// denormals gets none that make zeros of them.
// RUN: %heddle compile %s --isa znver4 --emit llvm-plain | %filecheck %s --check-prefix=BF16
// RUN: %heddle compile %s --isa znver4 -D KEEP --emit llvm-plain | %filecheck %s --check-prefix=KEEP
// RUN: %heddle compile %s --isa cooperlake --emit llvm-plain | %filecheck %s --check-prefix=KEEP
// RUN: %heddle compile %s --isa znver4 -D AB=floate4m3_t --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=BF16
// RUN: %heddle compile %s --isa alderlake -D AB=int8_t -D C=int --emit native | \
// RUN:   %filecheck %s --check-prefix=VEX
// RUN: %heddle compile %s --isa x86-64-v3 -D AB=int8_t -D C=int --emit native | \
// RUN:   %filecheck %s --check-prefix=PAIRS
// BF16: @llvm.x86.avx512bf16.dpbf16ps.512
// KEEP-NOT: bf16ps
// KEEP: @llvm.fmuladd.v16f32
// KEEP-NOT: bf16ps
// RUN: %heddle compile %s --isa arrowlake -D AB=int8_t -D C=int --emit native | \
// RUN:   %filecheck %s --check-prefix=SIGNS
// RUN: %heddle compile %s --isa arrowlake -D AB=uint8_t -D C=uint --emit native | \
// RUN:   %filecheck %s --check-prefix=UNSIGNED
// VEX: {vex} vpdpbusd
// PAIRS: vpmaddwd {{.*}}%ymm
// SIGNS: vpdpbssd {{.*}}%ymm
// UNSIGNED: vpdpbuud {{.*}}%ymm
// REQUIRES: x86-64
// Code of another architecture is looked at only.
// RUN: not %heddle run %s --isa armv8 --bind 0=iota:bf16[256] --bind 1=iota:bf16[256] \
// RUN:   --bind 2=zeros:f32[256] 2>&1 | %filecheck %s --check-prefix=FOREIGN
// FOREIGN: this machine lacks "aarch64"
// What they make of it: small integers are exact in all of these types.
// RUN: %heddle run %s --bind 0=iota:bf16[256] --bind 1=iota:bf16[256] \
// RUN:   --bind 2=zeros:f32[256] --out 2=%t.npy
// RUN: %heddle run %s --bind 0=iota:bf16[256] --bind 1=iota:bf16[256] \
// RUN:   --bind 2=zeros:f32[256] --compare 2=%t.npy --tolerance 0 --device reference
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_spirv_intrinsics : require

#ifndef AB
#define AB bfloat16_t
#endif
#ifndef B_TYPE
#define B_TYPE AB
#endif
#ifndef C
#define C float
#endif
#ifndef M
#define M 16
#endif

#ifdef KEEP
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4464], 4459, 32);
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { AB a[]; };
layout(set = 0, binding = 1) readonly buffer B { B_TYPE b[]; };
layout(set = 0, binding = 2) buffer Sum { C c[]; };

void main()
{
    coopmat<AB, gl_ScopeSubgroup, M, 16, gl_MatrixUseA> ma;
    coopmat<B_TYPE, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb;
    coopmat<C, gl_ScopeSubgroup, M, 16, gl_MatrixUseAccumulator> sum;
    coopMatLoad(ma, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(mb, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    sum = coopMatMulAdd(ma, mb, sum);
    coopMatStore(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
