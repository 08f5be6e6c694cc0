// SPDX-License-Identifier: MIT
// C = A * B, row-major, f32, without cooperative matrices: a workgroup of 128 computes 64 x 64, each
// invocation 8 x 4 of it in registers; steps of 16 are staged through shared memory.
#version 460
#extension GL_EXT_control_flow_attributes : require

#define TILE 64
#define STEP 16
#define ROWS 8
#define COLUMNS 4

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer InputA { float a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { float b[]; };
layout(set = 0, binding = 2) writeonly buffer Output { float c[]; };
layout(push_constant) uniform Sizes { uint k_total, lda, ldb, ldc; };

shared float tile_a[STEP * (TILE + 1)]; /* by columns */
shared float tile_b[STEP * TILE];

void main()
{
    uint self = gl_LocalInvocationIndex, row = gl_WorkGroupID.y * TILE, col = gl_WorkGroupID.x * TILE;
    uint own_row = self / 16 * ROWS, own_col = self % 16 * COLUMNS;
    float sum[ROWS][COLUMNS];
    [[unroll]] for (uint i = 0; i < ROWS; i++)
        [[unroll]] for (uint j = 0; j < COLUMNS; j++)
            sum[i][j] = 0;
    for (uint k = 0; k < k_total; k += STEP) {
        [[unroll]] for (uint e = 0; e < TILE * STEP; e += 128) {
            uint i = e + self;
            tile_a[i % STEP * (TILE + 1) + i / STEP] = a[(row + i / STEP) * lda + k + i % STEP];
            tile_b[i] = b[(k + i / TILE) * ldb + col + i % TILE];
        }
        barrier();
        for (uint kk = 0; kk < STEP; kk++) {
            float x[ROWS], y[COLUMNS];
            [[unroll]] for (uint i = 0; i < ROWS; i++)
                x[i] = tile_a[kk * (TILE + 1) + own_row + i];
            [[unroll]] for (uint j = 0; j < COLUMNS; j++)
                y[j] = tile_b[kk * TILE + own_col + j];
            [[unroll]] for (uint i = 0; i < ROWS; i++)
                [[unroll]] for (uint j = 0; j < COLUMNS; j++)
                    sum[i][j] = fma(x[i], y[j], sum[i][j]);
        }
        barrier();
    }
    [[unroll]] for (uint i = 0; i < ROWS; i++)
        [[unroll]] for (uint j = 0; j < COLUMNS; j++)
            c[(row + own_row + i) * ldc + col + own_col + j] = sum[i][j];
}
