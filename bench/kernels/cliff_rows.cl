// SPDX-License-Identifier: MIT
// A sparse matrix times a vector, a row for each work-item: columns and values of row i are those
// from starts[i] to starts[i + 1].
kernel void sparse(int n, global const int *starts, global const int *columns,
                   global const float *values, global const float *x, global float *y)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float sum = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++)
        sum += values[k] * x[columns[k]];
    y[i] = sum;
}
