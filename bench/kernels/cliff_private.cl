// SPDX-License-Identifier: MIT
// C = A' * B' by blocks of 8 x 8 in private arrays that loops index; `named` has a variable for each
// column, as vectors. A and B have a row for each k.
#define SIZES int n, global const float *a, global const float *b, global float *c

kernel void scalars(SIZES)
{
    int i0 = get_global_id(0) * 8, j0 = get_global_id(1) * 8;
    float sum[8][8], x[8], y[8];
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 8; i++)
            sum[j][i] = 0;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < 8; i++) {
            x[i] = a[k * n + i0 + i];
            y[i] = b[k * n + j0 + i];
        }
        for (int j = 0; j < 8; j++)
            for (int i = 0; i < 8; i++)
                sum[j][i] += x[i] * y[j];
    }
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 8; i++)
            c[(j0 + j) * n + i0 + i] = sum[j][i];
}

kernel void vectors(SIZES)
{
    int i0 = get_global_id(0) * 8, j0 = get_global_id(1) * 8;
    float4 sum[8][2];
    for (int j = 0; j < 8; j++)
        sum[j][0] = sum[j][1] = (float4)(0);
    for (int k = 0; k < n; k++)
        for (int j = 0; j < 8; j++)
            for (int i = 0; i < 2; i++)
                sum[j][i] += vload4(i, a + k * n + i0) * b[k * n + j0 + j];
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 2; i++)
            vstore4(sum[j][i], i, c + (j0 + j) * n + i0);
}

#define EACH(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7)
#define CLEAR(j) float8 sum##j = 0;
#define ADD(j) sum##j += x * y.s##j;
#define STORE(j) vstore8(sum##j, 0, c + (j0 + j) * n + i0);

kernel void named(SIZES)
{
    int i0 = get_global_id(0) * 8, j0 = get_global_id(1) * 8;
    EACH(CLEAR)
    for (int k = 0; k < n; k++) {
        float8 x = vload8(0, a + k * n + i0), y = vload8(0, b + k * n + j0);
        EACH(ADD)
    }
    EACH(STORE)
}
