// SPDX-License-Identifier: MIT
//
// C = A * B with cooperative matrices: row-major, A is m x k, B is k x n, C is m x n.
//
// A work-group is one sub-group. It computes 64 x 64 elements of C as a 4 x 4 grid of 16 x 16
// accumulators, and walks along k in steps of 16. m and n are multiples of 64, k of 16. A half that
// is multiplied becomes a float; with -D INPUT=char -D OUTPUT=int the elements are 8-bit integers.
// Integers are said to be signed by -D OPERANDS=15 (all four of the enumeration's SIGNED bits).
//
//     heddle run examples/opencl/gemm.cl --global 128,4
//         --bind 0=randn:f16[256,256]@1 --bind 1=randn:f16[256,256]@2 --bind 2=zeros:f32[256,256]
//         --bind 3=list:u32:256 --bind 4=list:u32:256
#ifndef INPUT
#define INPUT half
#define OUTPUT float
#endif
#ifndef OPERANDS
#define OPERANDS CLK_COOPERATIVE_MATRIX_OPERAND_NONE
#endif

#define TILE 16
#define GRID 4
#define MATRIX(T, use)                                                                             \
    T __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, TILE, TILE,                   \
                              CLK_COOPERATIVE_MATRIX_##use)))
#define ROW_MAJOR CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR

typedef MATRIX(INPUT, A) MatrixA;
typedef MATRIX(INPUT, B) MatrixB;
typedef MATRIX(OUTPUT, ACCUMULATOR) MatrixC;

__attribute__((reqd_work_group_size(32, 1, 1), intel_reqd_sub_group_size(32)))
kernel void gemm(global const INPUT *restrict a, global const INPUT *restrict b,
                 global OUTPUT *restrict c, uint k_size, uint n)
{
    const uint row = get_group_id(1) * GRID * TILE, column = get_group_id(0) * GRID * TILE;
    MatrixC sum[GRID][GRID];
    for (uint i = 0; i < GRID; i++) {
        for (uint j = 0; j < GRID; j++) {
            MatrixC zero = { 0 };
            sum[i][j] = zero;
        }
    }
    for (uint k = 0; k < k_size; k += TILE) {
        MatrixA left[GRID];
        MatrixB right[GRID];
        for (uint i = 0; i < GRID; i++)
            left[i] = coop_mat_load(a + (row + i * TILE) * k_size + k, ROW_MAJOR, k_size);
        for (uint j = 0; j < GRID; j++)
            right[j] = coop_mat_load(b + k * n + column + j * TILE, ROW_MAJOR, n);
        for (uint i = 0; i < GRID; i++) {
            for (uint j = 0; j < GRID; j++)
                sum[i][j] = coop_matmul_add(left[i], right[j], sum[i][j], OPERANDS);
        }
    }
    for (uint i = 0; i < GRID; i++) {
        for (uint j = 0; j < GRID; j++)
            coop_mat_store(c + (row + i * TILE) * n + column + j * TILE, sum[i][j], ROW_MAJOR, n);
    }
}
