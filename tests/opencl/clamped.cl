// SPDX-License-Identifier: MIT
//
// Indices that are kept within bounds by clamp, min and max: most often lanes count up all the same,
// and load vectors.
//
// RUN: for K in clamped both most; do \
// RUN:   %heddle compile %s --entry $K --isa x86-64-v4 --emit llvm-plain -o %t.ll && %filecheck %s < %t.ll || exit 1; done
// RUN: for K in clamped clamped_u both least_u most; do \
// RUN:   for I in %levels; do for N in 1 37 200; do \
// RUN:     alike %s 1 --entry $K --bind 0=rand:s32[1100]@1 --bind 1=zeros:s32[256] --bind 2=list:s32:$N \
// RUN:       --global 256 --isa $I || exit 1; \
// RUN:   done || exit 1; done || exit 1; done

// CHECK: access.together

#define KERNEL(name, BOUND)                                                                  \
    kernel __attribute__((reqd_work_group_size(32, 1, 1))) void name(                        \
        global const int *a, global int *b, int n)                                           \
    {                                                                                        \
        int u = get_global_id(0);                                                            \
        b[u] = a[BOUND(u)] * 3 + a[BOUND(u - 1)] - a[BOUND(u + 1)];                          \
    }
#define CLAMPED(u) clamp(u, 0, n - 1)
#define CLAMPED_U(u) clamp((uint)(u), 0u, (uint)n - 1)
#define BOTH(u) min(max(u, 0), n - 1)
#define LEAST_U(u) min((uint)(u), (uint)n - 1)
#define MOST(u) max(u - 3, n)

KERNEL(clamped, CLAMPED)
KERNEL(clamped_u, CLAMPED_U)
KERNEL(both, BOTH)
KERNEL(least_u, LEAST_U)
KERNEL(most, MOST)
