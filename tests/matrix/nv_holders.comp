// SPDX-License-Identifier: MIT
// RUN: %heddle run %s --device reference --bind 0=rand:f32[24,40] --bind 1=zeros:f32[24,40] \
// RUN:     --bind 2=zeros:f32[24,40] --bind 3=zeros:f32[40,24] --bind 4=zeros:f32[24,40] \
// RUN:     --out 1=%t.1.npy --out 2=%t.2.npy --out 3=%t.3.npy --out 4=%t.4.npy
// RUN: %heddle run %s --bind 0=rand:f32[24,40] --bind 1=zeros:f32[24,40] \
// RUN:     --bind 2=zeros:f32[24,40] --bind 3=zeros:f32[40,24] --bind 4=zeros:f32[24,40] \
// RUN:     --compare 1=%t.1.npy --compare 2=%t.2.npy --compare 3=%t.3.npy \
// RUN:     --compare 4=%t.4.npy --tolerance 0 | %filecheck %s
// Invocations' own elements of a workgroup's matrices, between operations on the whole of them: each
// holds those whose linear index is its own, modulo the workgroup's size.
// CHECK-COUNT-4: 0 of 960 differ
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer In { float from[]; };
layout(set = 0, binding = 1) buffer Doubled { float doubled[]; };
layout(set = 0, binding = 2) buffer Index { float index[]; };
layout(set = 0, binding = 3) buffer Scaled { float scaled[]; };
layout(set = 0, binding = 4) buffer Product { float product[]; };

#define MATRIX coopmat<float, gl_ScopeWorkgroup, 24, 40, gl_MatrixUseAccumulator>
#define ROWS gl_CooperativeMatrixLayoutRowMajor

void main()
{
    MATRIX a, b;
    coopMatLoad(a, from, 0, 40, ROWS);
    for (uint i = 0; i < a.length(); i++)
        a[i] = a[i] * 2 + float(i);
    b = a;
    if (gl_LocalInvocationIndex % 3 == 1)
        b[1] = 77.0;
    b = b + a;
    coopMatStore(b, doubled, 0, 40, ROWS);
    coopMatStore(MATRIX(float(gl_LocalInvocationIndex)), index, 0, 40, ROWS);
    coopMatStore(b * float(gl_SubgroupID + 1), scaled, 0, 24, gl_CooperativeMatrixLayoutColumnMajor);
    coopMatStore(MATRIX(from[gl_WorkGroupID.x]) * from[3], product, 0, 40, ROWS);
}
