// SPDX-License-Identifier: MIT
//
// Where nobody asks for a size of subgroups, lanes that read and write side by side, and part only
// at the ends of the data, are as many as fill eight vectors; others stay 32. A load that goes on to
// another page in each iteration is prefetched, one iteration ahead.
//
// RUN: for I in x86-64-v4:128 x86-64-v3:64; do for K in ends leaps; do %heddle compile %s --entry $K --isa ${I%%:*} --emit llvm-plain | %filecheck %s -DW=${I##*:} || exit 1; done; done
// RUN: for K in parts apart pairs; do %heddle compile %s --entry $K --isa x86-64-v4 --emit llvm-plain | %filecheck %s --check-prefix=LEAST || exit 1; done
// RUN: %heddle compile %s --entry leaps --isa x86-64-v4 --emit llvm-plain | %filecheck %s --check-prefix=AHEAD
// RUN: %heddle compile %s --entry ends --isa x86-64-v4 --subgroup-size 16 --emit llvm-plain | %filecheck %s -DW=16
// RUN: for K in ends leaps parts apart pairs; do for I in host x86-64-v3 x86-64-v2; do alike %s 1 --entry $K --bind 0=rand:s32[8192]@3 --bind 1=zeros:s32[1024] --bind 2=list:s32:997 --global 512 --isa $I || exit 1; done; done
//
// CHECK: <[[W]] x i1>
// LEAST: {{store <32 x i32>|masked.store.v32i32}}
// AHEAD: call void @llvm.prefetch
// AHEAD: call <128 x i32> @llvm.masked.load

#define KERNEL kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
#define I (int)get_global_id(0)

KERNEL ends(global const int *x, global int *y, int n)
{
    if (I < n && I > 2)
        y[I] = x[I] + x[I - 1];
}

KERNEL leaps(global const int *x, global int *y, int n)
{
    local int part[256];
    int sum = 0, l = get_local_id(0);
    for (int i = I; i < n * 8; i += get_global_size(0))
        sum += x[i];
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    y[I] = part[l] + part[255];
}

KERNEL parts(global const int *x, global int *y, int n)
{
    if (x[I] & 1)
        y[I] = x[I] * n;
}

KERNEL apart(global const int *x, global int *y, int n) { y[I] = x[I * 3] + n; }

KERNEL pairs(global const int *x, global int *y, int n)
{
    int2 p = vload2(I, x);
    y[I] = p.x - p.y + n;
}
