// SPDX-License-Identifier: MIT
// A matrix is the workgroup's however it is divided: into whole subgroups, or less than one. The rule
// is told of as a warning.
// RUN: for d in cpu reference vulkan; do for s in 32 128; do \
// RUN:   %heddle vulkan HEDDLE_MATRICES=none -- %heddle run %s --device $d --subgroup-size $s --bind 0=iota:f32[256] \
// RUN:     --bind 1=zeros:f32[512] --out 1=%t.$d.$s.npy > %t.said 2>&1 || exit 1; \
// RUN:   cmp %t.$d.$s.npy %t.cpu.32.npy || exit 1; \
// RUN: done; %filecheck %s < %t.said || exit 1; done
// CHECK: warning: a workgroup of 64x1x1 with matrices, in subgroups of 128: its first size is no multiple of that
// CHECK-SAME: [VUID-VkPipelineShaderStageCreateInfo-module-10169]
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { float a[]; };
layout(set = 0, binding = 1) buffer C { float c[]; };

float add(const in float x, const in float y) { return x + y; }
float twice(const in uint row, const in uint column, const in float x) { return 2 * x + row + column; }

void main()
{
    coopmat<float, gl_ScopeWorkgroup, 16, 16, gl_MatrixUseA> x;
    coopmat<float, gl_ScopeWorkgroup, 16, 16, gl_MatrixUseB> y;
    coopmat<float, gl_ScopeWorkgroup, 16, 16, gl_MatrixUseAccumulator> z =
        coopmat<float, gl_ScopeWorkgroup, 16, 16, gl_MatrixUseAccumulator>(0), sums;
    coopMatLoad(x, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(y, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    z = coopMatMulAdd(x, y, z);
    coopMatPerElementNV(z, z, twice);
    coopMatReduceNV(sums, z, gl_CooperativeMatrixReduceRowNV, add);
    coopMatStore(sums, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(z, c, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
}
