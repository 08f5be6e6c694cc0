// SPDX-License-Identifier: MIT
// A kernel of NVIDIA's extension on a target that lists 16x16x16 in f16 alone: the products of
// matrices become those of tiles, the reduction goes through workgroup memory, and the results are
// the same. What the target does not have at all is made of elements.
// RUN: %heddle run %s --bind 0=randn:f16[32,32]@1 --bind 1=randn:f16[32,32]@2 \
// RUN:     --bind 2=zeros:f32[32,32] --out 2=%t.npy
// RUN: %heddle compile %s --for khr16 --emit spirv -o %t.spv | %filecheck %s --check-prefix=TABLE
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %t.spv | %filecheck %s
// RUN: %heddle run %t.spv --bind 0=randn:f16[32,32]@1 --bind 1=randn:f16[32,32]@2 \
// RUN:     --bind 2=zeros:f32[32,32] --compare 2=%t.npy --tolerance 1e-5
// RUN: for p in nvidia-hopper-khr nvidia-hopper subgroup32 apple-m heddle; do \
// RUN:     %heddle compile %s --for $p --subgroup-size 32 --emit spirv -o %t.spv > /dev/null && \
// RUN:     %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN:     %heddle run %t.spv --bind 0=randn:f16[32,32]@1 --bind 1=randn:f16[32,32]@2 \
// RUN:     --bind 2=zeros:f32[32,32] --compare 2=%t.npy --tolerance 1e-5 || exit 1; done
// TABLE: OpCooperativeMatrixReduceEXT {{ *}}1 {{ *}}lower_nv2 {{ *}}workgroup memory, calls by parts
// TABLE: OpCooperativeMatrixLoadKHR {{ *}}2 {{ *}}fit_matrices {{ *}}loads of tiles
// TABLE: OpCooperativeMatrixMulAddKHR {{ *}}1 {{ *}}fit_matrices {{ *}}multiply-adds of tiles
// CHECK-NOT: SPV_NV_cooperative_matrix2
// CHECK: %[[N:.*]] = OpConstant %uint 16
// CHECK: OpTypeCooperativeMatrixKHR %{{.*}} %{{.*}} %[[N]] %[[N]]
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };

#define MATRIX(type, use) coopmat<type, gl_ScopeSubgroup, 32, 32, use>

float larger(const in float x, const in float y) { return max(x, y); }

void main()
{
    MATRIX(float16_t, gl_MatrixUseA) x;
    MATRIX(float16_t, gl_MatrixUseB) y;
    MATRIX(float, gl_MatrixUseAccumulator) z = MATRIX(float, gl_MatrixUseAccumulator)(1.0), most;
    coopMatLoad(x, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(y, b, 0, 32, gl_CooperativeMatrixLayoutColumnMajor);
    z = coopMatMulAdd(x, y, z);
    coopMatReduceNV(most, z, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatStore(z - most, c, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
