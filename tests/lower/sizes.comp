// SPDX-License-Identifier: MIT
// What was lowered runs in subgroups of the size that it was lowered for, whatever the device's own
// are: a profile's of 8, and of 16 because somebody asks for them.
// RUN: for p in lavapipe "%S/tiles.json --subgroup-size 16"; do \
// RUN:   %heddle run %s --groups 1 --for $p --bind 0=randn:f32[16,16]@1 --bind 1=zeros:f32[16,16] --out 1=%t.npy && \
// RUN:   %heddle run %s --groups 1 --device reference --bind 0=randn:f32[16,16]@1 --bind 1=zeros:f32[16,16] --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN: done | %filecheck %s
// CHECK: cpu {{ *}}8
// CHECK: cpu {{ *}}16
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float y[]; };

void main()
{
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
    coopMatLoad(m, x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(m, y, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
