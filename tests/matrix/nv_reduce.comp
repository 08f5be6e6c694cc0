// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// An M x N matrix reduced to ROWS x COLS by COMBINE(a, b).
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_bfloat16 : enable
#extension GL_EXT_float_e4m3 : enable
#extension GL_EXT_float_e5m2 : enable

#ifndef T
#define T float
#define SCOPE gl_ScopeWorkgroup
#define COMBINE(a, b) max(a, b)
#define MODE gl_CooperativeMatrixReduceRowNV
#endif

layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint N = 16;
layout(constant_id = 2) const uint ROWS = 16;
layout(constant_id = 3) const uint COLS = 32;

layout(set = 0, binding = 0) readonly buffer In { T from[]; };
layout(set = 0, binding = 1) writeonly buffer Out { T to[]; };

T combine(const in T a, const in T b)
{
    return COMBINE(a, b);
}

void main()
{
    coopmat<T, SCOPE, M, N, gl_MatrixUseAccumulator> source;
    coopmat<T, SCOPE, ROWS, COLS, gl_MatrixUseAccumulator> result;
    coopMatLoad(source, from, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    coopMatReduceNV(result, source, MODE, combine);
    coopMatStore(result, to, 0, COLS, gl_CooperativeMatrixLayoutRowMajor);
}
