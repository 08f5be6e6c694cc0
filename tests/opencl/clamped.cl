// SPDX-License-Identifier: MIT
//
// Indices that are kept within bounds by clamp, min and max: most often lanes count up all the same,
// and load vectors. Where some stop at a bound, the vector that begins at the first lane's is permuted.
//
// RUN: for K in clamped both most; do \
// RUN:   %heddle compile %s --entry $K --isa x86-64-v4 --emit llvm-plain -o %t.ll && %filecheck %s < %t.ll || exit 1; done
// RUN: for K in clamped clamped_u both least_u most some; do \
// RUN:   for I in %levels; do for N in 1 37 200; do \
// RUN:     alike %s 1 --entry $K --bind 0=rand:s32[1100]@1 --bind 1=zeros:s32[256] --bind 2=list:s32:$N \
// RUN:       --global 256 --isa $I || exit 1; \
// RUN:   done || exit 1; done || exit 1; done
// RUN: for K in chars some_chars shorts some_shorts longs; do for I in %levels; do \
// RUN:   alike %s 1 --entry $K --bind 0=rand:u8[2048]@1 --bind 1=zeros:s32[256] --bind 2=list:s32:77 \
// RUN:     --global 256 --isa $I || exit 1; done || exit 1; done

// CHECK: access.together
// CHECK: access.near:
// CHECK: permvar

#define KERNEL(name, T, BOUND, ACTIVE)                                                       \
    kernel __attribute__((reqd_work_group_size(32, 1, 1))) void name(                        \
        global const T *a, global int *b, int n)                                             \
    {                                                                                        \
        int u = get_global_id(0);                                                            \
        if (ACTIVE(u))                                                                       \
            b[u] = (int)(a[BOUND(u)] * 3 + a[BOUND(u - 1)] - a[BOUND(u + 1)]);               \
    }
#define ALL(u) true
#define SOME(u) ((u) % 7 != n % 7)
#define CLAMPED(u) clamp(u, 0, n - 1)
#define CLAMPED_U(u) clamp((uint)(u), 0u, (uint)n - 1)
#define BOTH(u) min(max(u, 0), n - 1)
#define LEAST_U(u) min((uint)(u), (uint)n - 1)
#define MOST(u) max(u - 3, n)

KERNEL(clamped, int, CLAMPED, ALL)
KERNEL(clamped_u, int, CLAMPED_U, ALL)
KERNEL(both, int, BOTH, ALL)
KERNEL(least_u, int, LEAST_U, ALL)
KERNEL(most, int, MOST, ALL)
KERNEL(some, int, BOTH, SOME)
KERNEL(chars, char, BOTH, ALL)
KERNEL(some_chars, char, CLAMPED, SOME)
KERNEL(shorts, short, CLAMPED, ALL)
KERNEL(some_shorts, short, BOTH, SOME)
KERNEL(longs, long, BOTH, ALL)
