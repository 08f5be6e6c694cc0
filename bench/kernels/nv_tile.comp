// SPDX-License-Identifier: MIT
// Twice a round over one M x N tile of a subgroup: WHAT 0 copies it to memory that stays in the cache,
// 1 to 3 reduce it by rows, columns or to one number (in all elements), which is the largest or (SUM)
// the sum, 4 puts every element through a function; 5 is arithmetic on the whole matrix, 6 the same by a function. Elements are of type T.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_float_e4m3 : require

#ifndef WHAT
#define WHAT 0
#endif
#define MODE (WHAT == 1 ? gl_CooperativeMatrixReduceRowNV : WHAT == 2 ? \
              gl_CooperativeMatrixReduceColumnNV : gl_CooperativeMatrixReduceRowAndColumnNV)
#ifndef M
#define M 64
#define N 64
#endif
#ifndef T
#define T float
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { T from[]; };
layout(set = 0, binding = 1) writeonly buffer Out { T to[]; };
layout(push_constant) uniform Push { uint rounds; float scale; };

#ifdef SUM
T combined(const in T a, const in T b) { return T(float(a) + float(b)); }
#else
T combined(const in T a, const in T b) { return T(max(float(a), float(b))); }
#endif
T scaled(const in uint row, const in uint col, const in T x, const in float s)
{
    return T(col > row ? 0.0 : float(x) * s);
}
T moved(const in uint row, const in uint col, const in T x, const in float s)
{
    return T(float(x) * 0.5 + s);
}

void main()
{
    coopmat<T, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> x, y;
    coopMatLoad(x, from, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    for (uint r = 0; r < rounds; r++) {
#if WHAT == 0
        coopMatStore(x, to, 0, N, gl_CooperativeMatrixLayoutRowMajor);
        coopMatStore(x, to, M * N, N, gl_CooperativeMatrixLayoutRowMajor);
#elif WHAT < 4
        coopMatReduceNV(y, x, MODE, combined);
        coopMatReduceNV(x, y, MODE, combined);
#elif WHAT == 4
        coopMatPerElementNV(x, x, scaled, scale);
        coopMatPerElementNV(x, x, scaled, scale);
#elif WHAT == 5
        y = coopmat<T, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(scale);
        x = x * 0.5 + y;
        x = x * 0.5 + y;
#else
        coopMatPerElementNV(x, x, moved, scale);
        coopMatPerElementNV(x, x, moved, scale);
#endif
    }
    coopMatStore(x, to, 0, N, gl_CooperativeMatrixLayoutRowMajor);
}
