// SPDX-License-Identifier: MIT
// --remarks of matrices: what became of multiply-adds, what is copied and what is transposed first.
// RUN: %heddle compile %s --remarks | %filecheck %s
// CHECK-DAG: remarks_matrix.comp:[[@LINE+28]]: remark: the 16x16 matrix is copied before it is used: not only multiply-adds use it [matrix-copied]
// CHECK-DAG: remarks_matrix.comp:[[@LINE+31]]: remark: 1 x 2 sums of {{[0-9]+}} products of 16x16x16 in one call, by {{.*}} [multiply-add]
// CHECK-DAG: remarks_matrix.comp:[[@LINE+35]]: remark: the 16x16 matrix is transposed: it lies column by column in memory, and is used row by row [matrix-transposed]
#version 450
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A
{
    float a[];
};
layout(binding = 1) readonly buffer B
{
    float b[];
};
layout(binding = 2) buffer C
{
    float c[];
};
#define MATRIX(USE) coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUse##USE>

void main()
{
    MATRIX(Accumulator) s[2] = { MATRIX(Accumulator)(0.0), MATRIX(Accumulator)(0.0) };
    MATRIX(B) y;
    for (uint k = 0u; k < 4u; k++) {
        MATRIX(A) x;
        coopMatLoad(x, a, k * 16u, 64, gl_CooperativeMatrixLayoutColumnMajor);
        x = x * 2.0;
        for (uint j = 0u; j < 2u; j++) {
            coopMatLoad(y, b, k * 1024u + j * 16u, 64, gl_CooperativeMatrixLayoutRowMajor);
            s[j] = coopMatMulAdd(x, y, s[j]);
        }
    }
    coopMatStore(s[0], c, 0u, 64, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(s[1], c, 16u, 64, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(s[1], c, 1024u, 64, gl_CooperativeMatrixLayoutColumnMajor);
}
