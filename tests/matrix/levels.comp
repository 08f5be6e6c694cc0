// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// What moves elements of a matrix of any size about, and what computes with them, one after the other:
// each has 8192 elements of the output for itself.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_bfloat16 : enable
#extension GL_EXT_float_e4m3 : enable

#ifndef T
#define T bfloat16_t
#endif

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint R = 3;
layout(constant_id = 1) const uint C = 17;
layout(set = 0, binding = 0) readonly buffer In { T a[]; };
layout(set = 0, binding = 1) buffer Out { T o[]; };
layout(set = 0, binding = 2) readonly buffer Numbers { uint p[]; };

#define Matrix(r, c, use) coopmat<T, gl_ScopeSubgroup, r, c, use>
#define ACC gl_MatrixUseAccumulator
#define PUT(m, width) coopMatStore(m, o, at, width, gl_CooperativeMatrixLayoutRowMajor); at += 8192

T most(const in T x, const in T y) { return float(x) > float(y) ? x : y; }
T least(const in T x, const in T y) { return float(x) < float(y) ? x : y; }
T add_place(const in uint r, const in uint c, const in T x, const in float y)
{
    return T(float(x) + float(r % 2 + c % 3) + y);
}

void main()
{
    uint at = 0;
    Matrix(R, C, ACC) m, n, rows, columns, all;
    coopMatLoad(m, a, 3, C + 1, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(n, a, 5, R + 2, gl_CooperativeMatrixLayoutColumnMajor);
    PUT(m, C + 3);
    coopMatStore(n, o, at, R, gl_CooperativeMatrixLayoutColumnMajor);
    at += 8192;
    coopMatReduceNV(rows, m, gl_CooperativeMatrixReduceRowNV, most);
    coopMatReduceNV(columns, n, gl_CooperativeMatrixReduceColumnNV, least);
    coopMatReduceNV(all, m, gl_CooperativeMatrixReduceRowAndColumnNV, most);
    PUT(rows, C);
    PUT(columns, C);
    PUT(all, C);
    coopMatPerElementNV(m, n, add_place, float(p[0]));
    PUT(m, C);
    for (uint k = 0; k < m.length(); k++)
        m[k] = T(float(m[k]) + 1.0);
    PUT(m, C);

    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> t =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutDimensionNV(t, R + 2, C + p[0]);
    coopMatLoadTensorNV(n, a, 0, sliceTensorLayoutNV(t, 1, R, p[0], C));
    PUT(n, C);
    coopMatLoadTensorNV(n, a, 0, sliceTensorLayoutNV(t, -1, R, -2, C));
    PUT(n, C);
    coopMatLoadTensorNV(n, a, 0, sliceTensorLayoutNV(t, 0, C, 0, R), createTensorViewNV(2, false, 1, 0));
    PUT(n, C);
    coopMatStoreTensorNV(m, o, at, sliceTensorLayoutNV(t, 1, R, -1, C));
    at += 8192;

    coopmat<float, gl_ScopeSubgroup, R, C, ACC> f = coopmat<float, gl_ScopeSubgroup, R, C, ACC>(m);
    PUT((Matrix(R, C, ACC)(f + f)), C);
    Matrix(R, C, gl_MatrixUseA) x = Matrix(R, C, gl_MatrixUseA)(m);
    Matrix(C, R, gl_MatrixUseB) y;
    coopMatTransposeNV(y, m);
    PUT(y, R);
    coopMatLoad(y, a, 1, R, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float, gl_ScopeSubgroup, R, R, ACC> z = coopmat<float, gl_ScopeSubgroup, R, R, ACC>(0.5);
    z = coopMatMulAdd(x, y, z);
    PUT((Matrix(R, R, ACC)(z)), R);
}
