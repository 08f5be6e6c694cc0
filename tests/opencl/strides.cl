// SPDX-License-Identifier: MIT
//
// Loops in which each work-item takes every so many-th element load vectors, however wide the
// counter is and wherever its step is computed.
//
// RUN: for K in total local_size wide computed; do \
// RUN:   %heddle compile %s --entry $K --isa x86-64-v4 --emit llvm-plain | %filecheck %s || exit 1; \
// RUN:   for I in host x86-64-v3; do \
// RUN:     alike %s 1 --entry $K --bind 0=rand:s32[3000]@3 --bind 1=zeros:s32[64] \
// RUN:       --bind 2=list:s32:2987 --global 64 --local 64 --isa $I || exit 1; done; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: call <{{32|64}} x i32> @llvm.masked.load
// CHECK-NOT: gather
// CHECK: }

#define KERNEL kernel __attribute__((reqd_work_group_size(64, 1, 1))) void

KERNEL total(global const int *x, global int *sums, int n)
{
    int sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        sum += x[i];
    sums[get_global_id(0)] = sum;
}

KERNEL local_size(global const int *x, global int *sums, int n)
{
    int sum = 0;
    for (int i = get_local_id(0); i < n; i += get_local_size(0))
        sum = sum * 3 + x[i];
    sums[get_global_id(0)] = sum;
}

KERNEL wide(global const int *x, global int *sums, int n)
{
    int sum = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        sum = sum * 5 + x[i];
    sums[get_global_id(0)] = sum;
}

KERNEL computed(global const int *x, global int *sums, int n)
{
    int sum = 0;
    for (int i = get_global_id(0); i < n; i += get_num_groups(0) * get_local_size(0))
        sum ^= x[i] << (i & 3);
    sums[get_global_id(0)] = sum;
}
