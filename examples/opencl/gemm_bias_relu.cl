// SPDX-License-Identifier: MIT
//
// max(0, scale * A * B + bias), in one kernel: the product, then the matrix operators, then the
// elements in local memory. A is m x k, B is k x n, the bias has n elements; m and n are multiples of
// 32, k of 16.
//
// The bias is a matrix whose rows are all the same: a load with a stride of 0.
//
//     heddle run examples/opencl/gemm_bias_relu.cl --global 64,2
//         --bind 0=randn:f16[64,64]@1 --bind 1=randn:f16[64,64]@2 --bind 2=randn:f32[64]@3
//         --bind 3=zeros:f32[64,64] --bind 4=list:u32:64 --bind 5=list:u32:64 --bind 6=list:f32:1
#define TILE 16
#define GRID 2
#define MATRIX(T, use)                                                                             \
    T __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, TILE, TILE,                   \
                              CLK_COOPERATIVE_MATRIX_##use)))
#define ROW_MAJOR CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR

typedef MATRIX(half, A) MatrixA;
typedef MATRIX(half, B) MatrixB;
typedef MATRIX(float, ACCUMULATOR) MatrixC;

__attribute__((reqd_work_group_size(32, 1, 1), intel_reqd_sub_group_size(32)))
kernel void gemm_bias_relu(global const half *restrict a, global const half *restrict b,
                           global const float *restrict bias, global float *restrict c,
                           uint k_size, uint n, float scale)
{
    local float tile[TILE * TILE];
    const uint row = get_group_id(1) * GRID * TILE, column = get_group_id(0) * GRID * TILE;
    const uint lane = get_local_id(0);
    MatrixC sum[GRID][GRID] = { 0 };
    for (uint k = 0; k < k_size; k += TILE) {
        MatrixA left[GRID];
        MatrixB right[GRID];
        for (uint i = 0; i < GRID; i++)
            left[i] = coop_mat_load(a + (row + i * TILE) * k_size + k, ROW_MAJOR, k_size);
        for (uint j = 0; j < GRID; j++)
            right[j] = coop_mat_load(b + k * n + column + j * TILE, ROW_MAJOR, n);
        for (uint i = 0; i < GRID; i++) {
            for (uint j = 0; j < GRID; j++)
                sum[i][j] = coop_matmul_add(left[i], right[j], sum[i][j],
                                            CLK_COOPERATIVE_MATRIX_OPERAND_NONE);
        }
    }
    for (uint i = 0; i < GRID; i++) {
        for (uint j = 0; j < GRID; j++) {
            const uint x = column + j * TILE, y = row + i * TILE;
            MatrixC shift = coop_mat_load(bias + x, ROW_MAJOR, 0);
            coop_mat_store(tile, sum[i][j] * scale + shift, ROW_MAJOR, TILE);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint e = lane; e < TILE * TILE; e += 32)
                c[(y + e / TILE) * n + x + e % TILE] = fmax(tile[e], 0.0f);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}
