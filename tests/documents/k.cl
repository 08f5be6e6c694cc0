// SPDX-License-Identifier: MIT
// The k.cl that the documents' commands name: C = A * B, 64 x 64, a tile of C a sub-group.
#define MATRIX(T, use)                                                                             \
    T __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, 16, 16,                       \
                              CLK_COOPERATIVE_MATRIX_##use)))
#define ROW_MAJOR CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR
#define N 64

__attribute__((intel_reqd_sub_group_size(32)))
kernel void gemm(global const half *a, global const half *b, global float *c)
{
    uint group = get_group_id(1) * get_num_groups(0) + get_group_id(0);
    uint tile = group * get_num_sub_groups() + get_sub_group_id();
    uint row = tile / 4 * 16, column = tile % 4 * 16;
    MATRIX(float, ACCUMULATOR) sum = { 0 };
    for (uint k = 0; k < N; k += 16) {
        MATRIX(half, A) x = coop_mat_load(a + row * N + k, ROW_MAJOR, N);
        MATRIX(half, B) y = coop_mat_load(b + k * N + column, ROW_MAJOR, N);
        sum = coop_matmul_add(x, y, sum, CLK_COOPERATIVE_MATRIX_OPERAND_NONE);
    }
    coop_mat_store(c + row * N + column, sum, ROW_MAJOR, N);
}
