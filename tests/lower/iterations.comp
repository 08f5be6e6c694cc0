#version 460
// SPDX-License-Identifier: MIT
// Sums of products that are too many to be named take eight an iteration, in the order of k, and those
// of a row together: Mesa's lavapipe ends all loops of an invocation together after 65,535 iterations,
// and here it would be twice as many.
// RUN: %heddle compile %s --for subgroup8 -o %t.spv && %spirv-dis %t.spv | %filecheck %s
// CHECK-DAG: %[[STEPS:uint_2]] = OpConstant %uint 2
// CHECK-DAG: %[[ROWS:uint_128]] = OpConstant %uint 128
// CHECK: OpULessThan %bool %{{[0-9]+}} %[[STEPS]]
// CHECK: OpULessThan %bool %{{[0-9]+}} %[[ROWS]]
// CHECK-COUNT-32: OpFMul %float
// CHECK-NOT: OpFMul %float
// CHECK: OpStore
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer A { float a[]; };
layout(binding = 1) buffer C { float c[]; };
void main()
{
    coopmat<float, gl_ScopeSubgroup, 128, 16, gl_MatrixUseA> x;
    coopmat<float, gl_ScopeSubgroup, 16, 32, gl_MatrixUseB> y;
    coopmat<float, gl_ScopeSubgroup, 128, 32, gl_MatrixUseAccumulator> z =
        coopmat<float, gl_ScopeSubgroup, 128, 32, gl_MatrixUseAccumulator>(0);
    for (uint k = 0; k < 256; k += 16) {
        coopMatLoad(x, a, k, 256, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(y, a, 32 * k, 32, gl_CooperativeMatrixLayoutRowMajor);
        z = coopMatMulAdd(x, y, z);
    }
    coopMatStore(z, c, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
