// SPDX-License-Identifier: MIT
// Subgroups with matrices are whole, and check says of a device what run would say.
// RUN: %heddle check %s
// RUN: for d in cpu reference; do \
// RUN:   status 1 %heddle check %s --device $d -D X=40 2>&1 | %filecheck %s --check-prefix=PARTIAL || exit 1; \
// RUN:   status 1 %heddle run %s --device $d -D X=40 --bind 0=zeros:f32[512] 2>&1 | %filecheck %s --check-prefix=PARTIAL || exit 1; \
// RUN:   %heddle check %s --device $d -D X=40 --subgroup-size 8 -D ROWS=8 || exit 1; \
// RUN:   %heddle check %s --device $d -D X=16 -D Y=4 2>&1 | %filecheck %s --check-prefix=ROWS || exit 1; \
// RUN:   status 1 %heddle check %s --device $d -D X=64 -D ROWS=64 2>&1 | %filecheck %s --check-prefix=LARGE || exit 1; \
// RUN:   %heddle check %s --device $d -D X=64 -D ROWS=64 --subgroup-size 64 || exit 1; \
// RUN:   status 1 %heddle check %s --device $d --spec DEPTH=16 2>&1 | %filecheck %s --check-prefix=DEEP || exit 1; \
// RUN: done
// PARTIAL: error: a workgroup of 40x1x1 with matrices, in subgroups of 32: its first size is no multiple of that
// PARTIAL-SAME: [VUID-VkPipelineShaderStageCreateInfo-module-08987]
// ROWS: warning: a workgroup of 16x4x1 with matrices, in subgroups of 32: {{.*}}-08987]
// LARGE: error: the 64x8 matrix takes 64 invocations, but subgroups have 32; run it with a larger
// DEEP: error: the matrix has 16 columns of f32, not 8 {{.*}}[qcom-depth (
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_QCOM_cooperative_matrix_conversion : require
#ifndef X
#define X 32
#endif
#ifndef Y
#define Y 1
#endif
#ifndef ROWS
#define ROWS 32
#endif

layout(local_size_x = X, local_size_y = Y) in;
layout(constant_id = 0) const uint DEPTH = 8;
layout(set = 0, binding = 0) buffer Out { float o[]; };

void main()
{
    float v[DEPTH];
    for (uint i = 0; i < DEPTH; i++)
        v[i] = float(gl_LocalInvocationIndex);
    coopmat<float, gl_ScopeSubgroup, ROWS, DEPTH, gl_MatrixUseA> m;
    vectorToCoopmatQCOM(v, m);
    coopMatStore(m, o, 0, DEPTH, gl_CooperativeMatrixLayoutRowMajor);
}
