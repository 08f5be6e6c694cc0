// SPDX-License-Identifier: MIT
// A matrix of 16 x 16 on a GPU's tensor cores, without a GPU: eight bytes a lane from each of two
// rows, under one test of the bounds for all loads of a step; B turned by movmatrix; two products a
// tile. By columns B comes as it is wanted.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s --device cuda --isa sm_90a --no-robust --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix FREE < %t.ptx
// RUN: %heddle compile %s -D B=1 --device cuda --isa sm_80 --no-robust --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix TURNED < %t.ptx
// RUN: not %heddle compile %s --device cuda --isa sm_52 --emit ptx > %t.out 2>&1 && \
// RUN: %filecheck %s --check-prefix OLD < %t.out
// CHECK: .target sm_80
// CHECK: .visible .entry heddle_kernel
// CHECK: .reqntid 32, 1, 1
// CHECK-COUNT-4: ld.global.v4.b16
// CHECK-NOT: ld.global.v4.b16
// CHECK: movmatrix.sync.aligned.m8n8.trans.b16
// CHECK-COUNT-2: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-NOT: mma.sync
// FREE: .target sm_90a
// FREE-NOT: setp
// FREE-COUNT-4: movmatrix
// FREE-COUNT-2: mma.sync
// FREE-COUNT-2: st.global.v4.b32
// TURNED-NOT: movmatrix
// TURNED-COUNT-2: mma.sync
// OLD: error: 'sm_52' is no GPU that PTX is made for; there are sm_80,
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

#ifndef B
#define B 0
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InputA { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { float16_t b[]; };
layout(set = 0, binding = 2) writeonly buffer Output { float c[]; };

void main()
{
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> left;
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> right;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    coopMatLoad(left, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(right, b, 0, 16, B);
    sum = coopMatMulAdd(left, right, sum);
    coopMatStore(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
