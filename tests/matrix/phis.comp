// SPDX-License-Identifier: MIT
// A matrix that comes from any of 48 blocks, each of which overwrites where it was read from: more than 64 ids
// are the phi's operands.
// RUN: %heddle run %s --bind 0=list:u32:0,5,17,46,1 --bind 1=iota:f32[1024] --bind 2=full:9:f32[320] \
// RUN:   --out 2=%t.npy
// RUN: %heddle run %s --bind 0=list:u32:0,5,17,46,1 --bind 1=iota:f32[1024] --bind 2=full:9:f32[320] \
// RUN:   --device reference --compare 2=%t.npy --tolerance 0
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer Numbers { uint p[]; };
layout(set = 0, binding = 1) readonly buffer In { float a[]; };
layout(set = 0, binding = 2) writeonly buffer Out { float o[]; };

#define Matrix coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator>
#define CASE(k) case k: m = two[p[0]]; two[p[0]] = m * (k + 2.0); break;
#define CASES(k) CASE(k) CASE(k + 1) CASE(k + 2) CASE(k + 3) CASE(k + 4) CASE(k + 5) CASE(k + 6) CASE(k + 7)

void main()
{
    Matrix two[2];
    coopMatLoad(two[0], a, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(two[1], a, 64, 8, gl_CooperativeMatrixLayoutRowMajor);
    for (uint i = 0; i < 5; i++) {
        Matrix m = Matrix(1.0);
        switch (p[i]) {
        CASES(0) CASES(8) CASES(16) CASES(24) CASES(32) CASES(40)
        default: break;
        }
        coopMatStore(m, o, i * 64, 8, gl_CooperativeMatrixLayoutRowMajor);
    }
}
