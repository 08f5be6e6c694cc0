// SPDX-License-Identifier: MIT
// RUN: %heddle compile %s --emit passes -o %t.spvasm && %filecheck %s < %t.spvasm
// RUN: %spirv-as --target-env vulkan1.3 %t.spvasm -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// Arrays of matrices are values, all loops over tiles are unrolled, and four steps of k are one block.
// CHECK-NOT: OpVariable {{.*}} Function
// CHECK-COUNT-16: OpPhi {{.*}} %{{[0-9]+}}
// CHECK: OpLoopMerge
// CHECK: OpBranchConditional
// CHECK-COUNT-64: OpCooperativeMatrixMulAddKHR
// CHECK: OpLoopMerge
// CHECK-COUNT-16: OpCooperativeMatrixMulAddKHR
// CHECK-NOT: OpCooperativeMatrixMulAddKHR
// CHECK-COUNT-16: OpCooperativeMatrixStoreKHR
// CHECK-NOT: OpLoopMerge
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require
// The plain matrix product: a 4x4 grid of 16x16x16 tiles straight from global memory.
layout(local_size_x = 32) in;
layout(constant_id = 0) const uint TILES_M = 4;
layout(constant_id = 1) const uint TILES_N = 4;
layout(constant_id = 2) const uint TM = 16;
layout(constant_id = 3) const uint TN = 16;
layout(constant_id = 4) const uint TK = 16;
layout(set = 0, binding = 0) readonly buffer BufA { float a[]; };
layout(set = 0, binding = 1) readonly buffer BufB { float b[]; };
layout(set = 0, binding = 2) buffer BufC { float c[]; };
layout(push_constant) uniform Push { uint m, n, k; float alpha; } p;

void main() {
    coopmat<float, gl_ScopeSubgroup, TM, TK, gl_MatrixUseA> ma[TILES_M];
    coopmat<float, gl_ScopeSubgroup, TK, TN, gl_MatrixUseB> mb;
    coopmat<float, gl_ScopeSubgroup, TM, TN, gl_MatrixUseAccumulator> acc[TILES_M][TILES_N];
    uint row = gl_WorkGroupID.y * TM * TILES_M, col = gl_WorkGroupID.x * TN * TILES_N;
    [[unroll]] for (uint i = 0; i < TILES_M; i++)
        [[unroll]] for (uint j = 0; j < TILES_N; j++)
            acc[i][j] = coopmat<float, gl_ScopeSubgroup, TM, TN, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < p.k; k += TK) {
        [[unroll]] for (uint i = 0; i < TILES_M; i++)
            coopMatLoad(ma[i], a, (row + i * TM) * p.k + k, p.k, gl_CooperativeMatrixLayoutRowMajor);
        for (uint j = 0; j < TILES_N; j++) {
            coopMatLoad(mb, b, k * p.n + col + j * TN, p.n, gl_CooperativeMatrixLayoutRowMajor);
            for (uint i = 0; i < TILES_M; i++)
                acc[i][j] = coopMatMulAdd(ma[i], mb, acc[i][j]);
        }
    }
    for (uint i = 0; i < TILES_M; i++)
        for (uint j = 0; j < TILES_N; j++) {
            acc[i][j] *= p.alpha;
            coopMatStore(acc[i][j], c, (row + i * TM) * p.n + col + j * TN, p.n,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
}
