// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %s --emit asm -o %t.spvasm
// RUN: sed 's/OpExecutionModeId .*/OpExecutionMode %main LocalSize 0 0 0/' %t.spvasm > %t.0.spvasm
// RUN: status 1 %heddle compile %t.0.spvasm --emit native 2>&1 | %filecheck %s --check-prefix=OPEN
// OPEN: a workgroup's matrix in a kernel that leaves the workgroup's size open
// Matrices of a workgroup beside those of its subgroups: D = 2 * (A B + C) with the product of the
// workgroup's matrices, doubled by the subgroups' through shared memory between barriers.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint M = 64;
layout(constant_id = 1) const uint N = 64;
layout(constant_id = 2) const uint K = 32;
layout(constant_id = 3) const uint DEPTH = 96;

layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) readonly buffer C { float c[]; };
layout(set = 0, binding = 3) writeonly buffer D { float d[]; };

shared float tile[M * N];

void main()
{
    coopmat<float, gl_ScopeWorkgroup, M, N, gl_MatrixUseAccumulator> sum;
    coopMatLoad(sum, c, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    for (uint k = 0; k < DEPTH; k += K) {
        coopmat<float16_t, gl_ScopeWorkgroup, M, K, gl_MatrixUseA> x;
        coopmat<float16_t, gl_ScopeWorkgroup, K, N, gl_MatrixUseB> y;
        coopMatLoad(x, a, k, DEPTH, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(y, b, k * N, N, gl_CooperativeMatrixLayoutRowMajor);
        sum = coopMatMulAdd(x, y, sum);
    }
    coopMatStore(sum, tile, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    for (uint s = gl_SubgroupID; s < M / 8; s += gl_NumSubgroups) {
        coopmat<float, gl_ScopeSubgroup, 8, N, gl_MatrixUseAccumulator> part;
        coopMatLoad(part, tile, s * 8 * N, N, gl_CooperativeMatrixLayoutRowMajor);
        coopMatStore(part * 2.0, d, s * 8 * N, N, gl_CooperativeMatrixLayoutRowMajor);
    }
}
