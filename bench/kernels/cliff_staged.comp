// SPDX-License-Identifier: MIT
// gelu(A * B + bias), row-major, written as one would: a workgroup of four subgroups computes 32 x 32,
// and copies what it reads to shared memory with tests at the edges. PLAIN: without copies and tests.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define TILE 32
#define STEP 16

layout(local_size_x = 32, local_size_y = 4) in;
layout(set = 0, binding = 0) readonly buffer InputA { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { float16_t b[]; };
layout(set = 0, binding = 2) readonly buffer InputBias { float bias[]; };
layout(set = 0, binding = 3) writeonly buffer Output { float c[]; };
layout(push_constant) uniform Sizes { uint rows, columns, depth; };

shared float16_t tile_a[TILE * STEP];
shared float16_t tile_b[STEP * TILE];
shared float tile_c[TILE * TILE];

float gelu(float x) { return 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }

void main()
{
    uint tid = gl_LocalInvocationIndex, quarter = gl_LocalInvocationID.y;
    uint row = gl_WorkGroupID.y * TILE, column = gl_WorkGroupID.x * TILE;
    uint below = quarter / 2 * 16, right = quarter % 2 * 16;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;
    for (uint k = 0; k < depth; k += STEP) {
#ifdef PLAIN
        coopMatLoad(x, a, (row + below) * depth + k, depth, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(y, b, k * columns + column + right, columns, gl_CooperativeMatrixLayoutRowMajor);
#else
        for (uint i = tid; i < TILE * STEP; i += 128) {
            uint r = row + i / STEP, d = k + i % STEP;
            tile_a[i] = r < rows && d < depth ? a[r * depth + d] : float16_t(0);
        }
        for (uint i = tid; i < STEP * TILE; i += 128) {
            uint d = k + i / TILE, s = column + i % TILE;
            tile_b[i] = d < depth && s < columns ? b[d * columns + s] : float16_t(0);
        }
        barrier();
        coopMatLoad(x, tile_a, below * STEP, STEP, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(y, tile_b, right, TILE, gl_CooperativeMatrixLayoutRowMajor);
#endif
        sum = coopMatMulAdd(x, y, sum);
#ifndef PLAIN
        barrier();
#endif
    }
    coopMatStore(sum, tile_c, below * TILE + right, TILE, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    for (uint i = tid; i < TILE * TILE; i += 128) {
        uint r = row + i / TILE, s = column + i % TILE;
        if (r < rows && s < columns)
            c[r * columns + s] = gelu(tile_c[i] + bias[s]);
    }
}
