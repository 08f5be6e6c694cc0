// SPDX-License-Identifier: MIT
// C = A B of square matrices, through tiles in local memory.
//
//     heddle run examples/opencl/sgemm.cl --global 64,64 --local 16,16
//         --bind 0=randn:f32[64,64]@1 --bind 1=randn:f32[64,64]@2 --bind 2=zeros:f32[64,64]
//         --bind 3=list:s32:64
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
