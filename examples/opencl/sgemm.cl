// SPDX-License-Identifier: MIT
// C = A B of square matrices, through tiles in local memory.
#define TILE 16
kernel void sgemm(global const float *a, global const float *b, global float *c, int n)
{
    local float x[TILE][TILE], y[TILE][TILE];
    int row = get_global_id(1), column = get_global_id(0);
    int i = get_local_id(1), j = get_local_id(0);
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        x[i][j] = a[row * n + k + j];
        y[i][j] = b[(k + i) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = 0; t < TILE; t++)
            sum = mad(x[i][t], y[t][j], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
