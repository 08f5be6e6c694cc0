// SPDX-License-Identifier: MIT
// A function of the elements stays beside the kernel: global variables of the kernel alone are values
// nevertheless, what the function names is not.
// RUN: %heddle compile %s --emit passes | %filecheck %s
// RUN: %heddle run %s --bind 0=iota:f32[16,16] --bind 1=zeros:f32[16,16] --out 1=%t.npy
// RUN: %heddle run %s --bind 0=iota:f32[16,16] --bind 1=zeros:f32[16,16] --device reference \
// RUN:   --compare 1=%t.npy 2>&1 | %filecheck --check-prefix SAME %s
// SAME: 0 of 256 differ
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float a[]; };
layout(std430, set = 0, binding = 1) buffer Out { float c[]; };

coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> kernels, unused;
float both;

float shifted(const in uint row, const in uint column, const in float x) { return x + both; }

// CHECK: OpVariable {{.*}} Private
// CHECK-NOT: OpVariable {{.*}} Private
// CHECK-COUNT-1: OpCooperativeMatrixLoadKHR
// CHECK-NOT: OpCooperativeMatrixLoadKHR
void main()
{
    both = 3;
    coopMatLoad(kernels, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(unused, a, 1u << 20, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(kernels, kernels, shifted);
    coopMatStore(kernels, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
