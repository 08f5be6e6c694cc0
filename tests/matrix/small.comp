// SPDX-License-Identifier: MIT
// Matrices of subgroups and of workgroups by loops over their elements, as many as the length says: what is
// stored is each element less what it should be. Fewer invocations than a subgroup has lanes are refused, as
// Vulkan has it; small.cl has such a workgroup.
// RUN: %heddle run %s --subgroup-size 32 --spec 10=32 --bind 0=iota:f32[273] --bind 1=full:9:f32[546] \
// RUN:   --bind 2=zeros:u32[2] --compare 1=zeros:f32[546] --compare 2=list:u32:9,9 --tolerance 0
// RUN: not %heddle run %s --subgroup-size 32 --spec 10=8 --bind 0=iota:f32[273] --bind 1=zeros:f32[546] \
// RUN:   --bind 2=zeros:u32[2] 2>&1 | %filecheck %s
// CHECK: error: a workgroup of 8x1x1 with matrices, in subgroups of 32
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x_id = 10) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float o[]; };
layout(set = 0, binding = 2) writeonly buffer Lengths { uint n[]; };

#define Matrix(scope) coopmat<float, scope, 13, 21, gl_MatrixUseAccumulator>

void main()
{
    Matrix(gl_ScopeSubgroup) s, t;
    Matrix(gl_ScopeWorkgroup) w, v;
    coopMatLoad(s, a, 0, 21, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(w, a, 0, 13, gl_CooperativeMatrixLayoutColumnMajor);
    t = s;
    v = w;
    for (uint k = 0; k < s.length(); k++)
        s[k] = s[k] * 2.0 + 1.0;
    for (uint k = 0; k < w.length(); k++)
        w[k] = w[k] * 3.0 - 1.0;
    s = s - t * 2.0 - Matrix(gl_ScopeSubgroup)(1.0);
    w = w - v * 3.0 + Matrix(gl_ScopeWorkgroup)(1.0);
    coopMatStore(s, o, 0, 21, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(w, o, 273, 21, gl_CooperativeMatrixLayoutRowMajor);
    if (gl_LocalInvocationIndex == 0) {
        n[0] = s.length();
        n[1] = w.length();
    }
}
