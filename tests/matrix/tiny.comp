// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// Sums of two 8-bit floats by reductions, of the rows of one matrix and the columns of another, and of
// products and an 8-bit float by a multiply-add. A workgroup has 256 sums of each.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_float_e4m3 : enable
#extension GL_EXT_float_e5m2 : enable

#ifndef T
#define T floate4m3_t
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer Pairs { T pairs[]; };
layout(set = 0, binding = 1) readonly buffer Factors { T factors[]; };
layout(set = 0, binding = 2) writeonly buffer Rows { T rows[]; };
layout(set = 0, binding = 3) writeonly buffer Columns { T columns[]; };
layout(set = 0, binding = 4) writeonly buffer Products { T products[]; };

#define ROWS gl_CooperativeMatrixLayoutRowMajor
#define COLUMNS gl_CooperativeMatrixLayoutColumnMajor
#define Matrix(m, n, use) coopmat<T, gl_ScopeSubgroup, m, n, use>

T add(const in T x, const in T y) { return T(float(x) + float(y)); }

void main()
{
    uint at = gl_WorkGroupID.x * 256;
    Matrix(256, 2, gl_MatrixUseAccumulator) tall;
    Matrix(256, 1, gl_MatrixUseAccumulator) tall_sums;
    coopMatLoad(tall, pairs, 2 * at, 2, ROWS);
    coopMatReduceNV(tall_sums, tall, gl_CooperativeMatrixReduceRowNV, add);
    coopMatStore(tall_sums, rows, at, 1, ROWS);

    Matrix(2, 256, gl_MatrixUseAccumulator) wide;
    Matrix(1, 256, gl_MatrixUseAccumulator) wide_sums;
    coopMatLoad(wide, pairs, 2 * at, 2, COLUMNS);
    coopMatReduceNV(wide_sums, wide, gl_CooperativeMatrixReduceColumnNV, add);
    coopMatStore(wide_sums, columns, at, 256, ROWS);

    Matrix(16, 8, gl_MatrixUseA) a;
    Matrix(8, 16, gl_MatrixUseB) b;
    Matrix(16, 16, gl_MatrixUseAccumulator) c;
    coopMatLoad(a, factors, 0, 8, ROWS);
    coopMatLoad(b, factors, 128, 16, ROWS);
    coopMatLoad(c, pairs, 2 * at, 16, ROWS);
    coopMatStore(coopMatMulAdd(a, b, c), products, at, 16, ROWS);
}
