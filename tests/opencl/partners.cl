// SPDX-License-Identifier: MIT
//
// Elements whose index differs in high bits from a work-item's number (a sorting network's partners)
// are loaded as vectors, unless lower bits differ too.
//
// RUN: %heddle compile %s --entry fixed --isa x86-64-v4 --emit llvm-plain | %filecheck %s
// RUN: for K in fixed either given; do for C in 0 24 32 -64; do for I in host x86-64-v3; do \
// RUN:   alike %s 1 --entry $K --bind 0=rand:s32[256]@3 --bind 1=zeros:s32[256] \
// RUN:     --bind 2=list:s32:$C --global 192 --offset 3 --local 64 --isa $I || exit 1; \
// RUN:   alike %s 1 --entry $K --bind 0=rand:s32[256]@3 --bind 1=zeros:s32[256] \
// RUN:     --bind 2=list:s32:$C --global 256 --local 64 --isa $I || exit 1; done; done; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: access.together:
// CHECK-NOT: gather
// CHECK: load <32 x i32>
// CHECK: access.apart:
// CHECK: }

#define KERNEL kernel __attribute__((reqd_work_group_size(64, 1, 1))) void

KERNEL fixed(global const int *x, global int *y, int c)
{
    int i = get_global_id(0);
    y[i] = x[i ^ 64] * 3 + x[i ^ 8] + c;
}

KERNEL either(global const int *x, global int *y, int c)
{
    uint i = get_global_id(0);
    y[i] = x[(i | c) & 255] + x[(i | 32u) & 255] * 5;
}

KERNEL given(global const int *x, global int *y, int c)
{
    uint i = get_global_id(0);
    y[i] = x[(c & 255) ^ (i & 255)];
}
