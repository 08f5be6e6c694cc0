// SPDX-License-Identifier: MIT
//
// Rows of a sparse matrix, of any length, one for each work-item: several iterations of the loop,
// which LLVM leaves at its end, are one block, whose columns and values are loaded in chunks. Tests in the
// loop that can be told ahead are told together.
//
// RUN: %heddle compile %s --entry sparse --isa x86-64-v4 --emit llvm-plain | %filecheck %s
// RUN: for K in sparse backwards last some; do for I in %levels; do \
// RUN:   alike %s 4 --entry $K --bind 0=rand:s32[257]@3 --bind 1=rand:s32[6000]@1 \
// RUN:     --bind 2=rand:s32[6000]@2 --bind 3=rand:s32[256]@4 --bind 4=zeros:s32[256] \
// RUN:     --global 250 --local 50 --isa $I || exit 1; done || exit 1; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: load <8 x i32>, ptr
// CHECK: load <4 x i32>, ptr
// CHECK: llvm.masked.gather.v32i32

#define ROW                                                                                        \
    int i = get_global_id(0), start = 21 * i + (starts[i] & 7), end = start + (starts[i + 1] & 31) - 3;
#define ARGS global const int *starts, global const int *columns, global const int *values,    \
             global const int *x, global int *y

kernel void sparse(ARGS)
{
    ROW
    int sum = 0;
    for (int k = start; k < end; k++)
        sum += values[k] * x[columns[k] & 255];
    y[i] = sum;
}

kernel void backwards(ARGS)
{
    ROW
    int sum = 0;
    for (long k = end; k > start; k--)
        sum = sum * 31 + values[k];
    y[i] = sum;
}

kernel void last(ARGS)
{
    ROW
    int largest = -1;
    int at = 0, k = start;
    if (start < end)
        do
            if (values[k] > largest)
                largest = values[k], at = k;
        while (++k < end);
    y[i] = at + largest * k;
}

kernel void some(ARGS)
{
    ROW
    int sum = 0;
    for (int k = start; k < end; k++)
        if (k - start < (starts[i] & 15) + 6)
            sum += values[k] * columns[k];
    y[i] = sum;
}
