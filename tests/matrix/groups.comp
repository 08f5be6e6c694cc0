// SPDX-License-Identifier: MIT
// A plain GEMM loop becomes one kernel a strip of 256 bytes of k: the multiply-adds of eight k-steps
// are one call, whose table has the first step's tiles only, no tile is copied on the way, and what
// is left over has kernels of its own, of two steps and of one.
// RUN: %heddle compile %s --emit llvm | %filecheck %s
// CHECK-LABEL: define void @heddle_kernel
// CHECK-NOT: call void @tile_copy
// CHECK: call void @gemm_f16_f16_f32_16x16x16_2x2x8_even
// CHECK-NOT: call void @tile_copy
// CHECK: call void @gemm_f16_f16_f32_16x16x16_2x2x2_even
// CHECK-NOT: call void @tile_copy
// CHECK: call void @gemm_f16_f16_f32_16x16x16_2x2x1
// CHECK: call void @tile_copies_16x64
// CHECK-LABEL: define internal void @gemm_f16_f16_f32_16x16x16_2x2x8_even
// CHECK: fpext <16 x half>
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Sizes { uint k_size; };

void main()
{
    const int ROW = gl_CooperativeMatrixLayoutRowMajor;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            sum[i][j] = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
    for (uint k = 0; k < k_size; k += 16) {
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> left[2];
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> right[2];
        for (int i = 0; i < 2; i++) {
            coopMatLoad(left[i], a, i * 16 * k_size + k, k_size, ROW);
            coopMatLoad(right[i], b, k * 32 + i * 16, 32, ROW);
        }
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                sum[i][j] = coopMatMulAdd(left[i], right[j], sum[i][j]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            coopMatStore(sum[i][j], c, i * 512 + j * 16, 32, ROW);
}
