// SPDX-License-Identifier: MIT
//
// A reduction of the workgroup, whose barriers order no memory, between accesses that are made lane by
// lane: what these leave on the stack is not there behind it.
//
// RUN: D="--bind 0=rand:u32[512]@1 --bind 1=zeros:u32[1024] --global 256"; \
// RUN: %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN: for W in 32 64 128; do for I in %levels; do \
// RUN:   %heddle run %s $D --subgroup-size $W --isa $I --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN: done || exit 1; done

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void around(global uint *a, global uint *b)
{
    uint l = get_local_id(0), j = a[l ^ 128] % 2 * 256 + l * 37 % 256, x = a[a[l] % 512];
    uint largest = work_group_reduce_max(l ^ 5);
    b[j] = x;
    b[512 + l] = largest;
}
