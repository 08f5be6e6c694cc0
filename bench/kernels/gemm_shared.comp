// SPDX-License-Identifier: MIT
// C = A * B, row-major, staged through shared memory: a workgroup of four subgroups computes 64 x 64,
// each subgroup a quarter; steps of 32 are copied by all invocations between two barriers.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_bfloat16 : enable
#extension GL_EXT_control_flow_attributes : require

#ifndef AB
#define AB float
#define CD float
#endif
#define TILE 64
#define STEP 32
#define PAD 8

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer InputA { AB a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { AB b[]; };
layout(set = 0, binding = 2) writeonly buffer Output { CD c[]; };
layout(push_constant) uniform Sizes { uint k_total, lda, ldb, ldc; };

shared AB tile_a[TILE * (STEP + PAD)];
shared AB tile_b[STEP * (TILE + PAD)];

void main()
{
    coopmat<CD, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> acc[2][2];
    uint row = gl_WorkGroupID.y * TILE, col = gl_WorkGroupID.x * TILE;
    uint quarter_row = gl_SubgroupID / 2 * 32, quarter_col = gl_SubgroupID % 2 * 32;
    [[unroll]] for (uint i = 0; i < 2; i++)
        [[unroll]] for (uint j = 0; j < 2; j++)
            acc[i][j] = coopmat<CD, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(CD(0));
    for (uint k = 0; k < k_total; k += STEP) {
        [[unroll]] for (uint e = 0; e < TILE * STEP; e += 128) {
            uint i = e + gl_LocalInvocationIndex;
            tile_a[i / STEP * (STEP + PAD) + i % STEP] = a[(row + i / STEP) * lda + k + i % STEP];
            tile_b[i / TILE * (TILE + PAD) + i % TILE] = b[(k + i / TILE) * ldb + col + i % TILE];
        }
        barrier();
        [[unroll]] for (uint kk = 0; kk < STEP; kk += 16) {
            coopmat<AB, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma[2];
            coopmat<AB, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb[2];
            [[unroll]] for (uint i = 0; i < 2; i++)
                coopMatLoad(ma[i], tile_a, (quarter_row + i * 16) * (STEP + PAD) + kk, STEP + PAD,
                            gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint j = 0; j < 2; j++)
                coopMatLoad(mb[j], tile_b, kk * (TILE + PAD) + quarter_col + j * 16, TILE + PAD,
                            gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint i = 0; i < 2; i++)
                [[unroll]] for (uint j = 0; j < 2; j++)
                    acc[i][j] = coopMatMulAdd(ma[i], mb[j], acc[i][j]);
        }
        barrier();
    }
    [[unroll]] for (uint i = 0; i < 2; i++)
        [[unroll]] for (uint j = 0; j < 2; j++)
            coopMatStore(acc[i][j], c, (row + quarter_row + i * 16) * ldc + col + quarter_col + j * 16,
                         ldc, gl_CooperativeMatrixLayoutRowMajor);
}
