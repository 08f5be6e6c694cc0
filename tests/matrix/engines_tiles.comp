// SPDX-License-Identifier: MIT
// Tile registers of f16, which few CPUs have: pairs of k of A as they lie, of B interleaved, and none
// where denormals of sums are to be kept.
// RUN: %heddle compile %s --isa graniterapids --emit native | %filecheck %s
// RUN: %heddle compile %s --isa graniterapids -D KEEP --emit native | \
// RUN:   %filecheck %s --check-prefix=KEEP
// RUN: %heddle compile %s --isa sapphirerapids --emit native | %filecheck %s --check-prefix=KEEP
// CHECK-LABEL: gemm_f16_f16_f32_16x16x32_1x1x1:
// CHECK: vpermt2w
// CHECK: tileloadd
// CHECK: tdpfp16ps %tmm6, %tmm4, %tmm0
// CHECK: tilestored %tmm0
// KEEP-NOT: tdpfp16ps
// REQUIRES: x86-64
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_spirv_intrinsics : require

#ifdef KEEP
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4464], 4459, 32);
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) buffer Sum { float c[]; };

void main()
{
    coopmat<float16_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> ma;
    coopmat<float16_t, gl_ScopeSubgroup, 32, 16, gl_MatrixUseB> mb;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum;
    coopMatLoad(ma, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(mb, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    sum = coopMatMulAdd(ma, mb, sum);
    coopMatStore(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
