// SPDX-License-Identifier: MIT
// ROUNDS times over one M x N tile of a subgroup: WHAT 0 copies it to another matrix (through two
// that are loaded and stored in memory that stays in the cache), 1 to 3 reduce it by rows, columns
// or to one number, 4 puts every element through a function.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

#ifndef WHAT
#define WHAT 0
#endif
#ifndef M
#define M 64
#define N 64
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float from[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float to[]; };
layout(push_constant) uniform Push { uint rounds; float scale; };

float larger(const in float a, const in float b) { return max(a, b); }
float scaled(const in uint row, const in uint col, const in float x, const in float s)
{
    return col > row ? 0.0 : x * s;
}

void main()
{
    coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> x, y;
    for (uint r = 0; r < rounds; r++) {
        coopMatLoad(x, from, (r & 3) * M * N, N, gl_CooperativeMatrixLayoutRowMajor);
#if WHAT == 0
        y = x;
#elif WHAT == 1
        coopMatReduceNV(y, x, gl_CooperativeMatrixReduceRowNV, larger);
#elif WHAT == 2
        coopMatReduceNV(y, x, gl_CooperativeMatrixReduceColumnNV, larger);
#elif WHAT == 3
        coopMatReduceNV(y, x, gl_CooperativeMatrixReduceRowAndColumnNV, larger);
#else
        coopMatPerElementNV(y, x, scaled, scale);
#endif
        coopMatStore(y, to, (r & 3) * M * N, N, gl_CooperativeMatrixLayoutRowMajor);
    }
}
