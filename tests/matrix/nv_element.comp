// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// Functions of every element: of its place, of a structure and a scalar, of another matrix' element;
// with loops, branches and calls of its own; one that stores to a buffer as well.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_bfloat16 : enable

#ifndef T
#define T float
#define SCOPE gl_ScopeWorkgroup
#define USE gl_MatrixUseAccumulator
#endif

layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint N = 16;

layout(set = 0, binding = 0) readonly buffer In { T from[]; };
layout(set = 0, binding = 1) readonly buffer Other { T other[]; };
layout(set = 0, binding = 2) writeonly buffer Placed { T placed[]; };
layout(set = 0, binding = 3) writeonly buffer Mixed { T mixed[]; };
layout(set = 0, binding = 4) writeonly buffer Masked { T masked[]; };
layout(set = 0, binding = 5) writeonly buffer Side { uint side[]; };

struct Bounds { uint rows, cols; T outside; };
uint base; /* an invocation's own */

T place(const in uint row, const in uint col, const in T x)
{
    return x + T(row * 64 + col);
}

T power(T x, uint n)
{
    T y = T(1);
    for (uint k = 0; k < n; k++)
        y *= x;
    return y;
}

T mix_with(const in uint row, const in uint col, const in T x, const in T y, const in T scale)
{
    if ((row + col) % 2 == 0)
        return x * scale + y;
    return power(y, col % 3) - x;
}

T bound(const in uint row, const in uint col, const in T x, const in Bounds b)
{
    return row >= b.rows || col >= b.cols ? b.outside : x;
}

T store(const in uint row, const in uint col, const in T x, const in uint first)
{
    side[base + first + row * N + col] = row * 1000 + col;
    return x;
}

void main()
{
    coopmat<T, SCOPE, M, N, USE> a, b, c;
    base = gl_WorkGroupID.x;
    coopMatLoad(a, from, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b, other, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(c, a, place);
    coopMatStore(c, placed, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(c, a, mix_with, b, T(3));
    coopMatStore(c, mixed, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(c, a, bound, Bounds(M - 3, N / 2, T(-5)));
    coopMatStore(c, masked, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(c, a, store, 0u);
}
