// SPDX-License-Identifier: MIT
//
// Tiles that a work-group stages are read where they come from, in OpenCL C as in GLSL: its loops
// are left at their ends, behind tests, and its buffers are arguments. What is at edges is tested in
// a version of the kernel of its own.
//
// RUN: for K in border clamps product flat; do \
// RUN:   %heddle compile %s --entry $K --emit passes | %filecheck %s --check-prefix=GONE || exit 1; done
// RUN: %heddle compile %s --entry tests --emit passes | %filecheck %s --check-prefix=INSIDE
//
// Not where the buffer is written to, or by an address that may be any:
// RUN: for K in in_place anywhere; do \
// RUN:   %heddle compile %s --entry $K --emit passes | %filecheck %s --check-prefix=STAYS || exit 1; done
//
// RUN: for K in border product flat tests clamps in_place; do for I in %levels; do \
// RUN:   alike %s 1 --entry $K --bind 0=rand:s32[4096]@1 --bind 1=zeros:s32[4096] \
// RUN:     --bind 2=list:s32:64 --global 48,32 --isa $I || exit 1; done || exit 1; done

// GONE-NOT: {{.*}} = OpVariable {{.*}} Workgroup
// GONE: = OpFunction
// GONE-NOT: OpControlBarrier

// The version stages nothing; the other one does.
// INSIDE: {{.*}} = OpVariable {{.*}} Workgroup
// INSIDE-NOT: {{.*}} = OpVariable {{.*}} Workgroup
// INSIDE: = OpFunction
// INSIDE: OpBranchConditional [[ASKED:%[0-9a-z_]+]] [[VERSION:%[0-9a-z_]+]]
// INSIDE: OpControlBarrier
// INSIDE: [[VERSION]] = OpLabel
// INSIDE-NOT: OpControlBarrier

// STAYS: {{.*}} = OpVariable {{.*}} Workgroup
// STAYS: OpControlBarrier

#define SIDE 16
#define ARGS global const int *x, global int *y, int n
#define SIZED kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void

#define FILL(element)                                                                          \
    local int tile[(SIDE + 2) * (SIDE + 2)];                                                   \
    for (int j = get_local_id(1); j < SIDE + 2; j += SIDE)                                     \
        for (int i = get_local_id(0); i < SIDE + 2; i += SIDE) {                               \
            int u = (int)get_group_id(0) * SIDE + i - 1, v = (int)get_group_id(1) * SIDE + j - 1; \
            tile[j * (SIDE + 2) + i] = element;                                                \
        }                                                                                      \
    barrier(CLK_LOCAL_MEM_FENCE)
#define NEAR(i, j) tile[(get_local_id(1) + 1 + (j)) * (SIDE + 2) + get_local_id(0) + 1 + (i)]
#define OUT y[get_global_id(1) * n + get_global_id(0)]
#define CROSS (NEAR(0, 0) * 3 + NEAR(-1, 0) - NEAR(1, 0) * 2 + NEAR(0, -1) * 5 + NEAR(0, 1))

SIZED border(ARGS)
{
    FILL(x[(v + 1) * n + u + 1] + 1);
    OUT = CROSS;
}

SIZED tests(ARGS)
{
    FILL(u >= 0 && u < n - 16 && v >= 0 && v < 32 ? x[v * n + u] : 7);
    OUT = CROSS + NEAR(1, 1) - NEAR(-1, 1) * 7 + NEAR(1, -1) * 2 - NEAR(-1, -1);
}

SIZED clamps(ARGS)
{
    FILL(x[clamp(v, 0, 31) * n + clamp(u, 0, n - 17)]);
    OUT = CROSS;
}

// In a loop around, by two tiles of which each invocation fills one element.
SIZED product(ARGS)
{
    local int rows[SIDE][SIDE], columns[SIDE][SIDE];
    int i = get_local_id(1), j = get_local_id(0), sum = 0;
    for (int k = 0; k < n; k += SIDE) {
        rows[i][j] = x[(get_group_id(1) * SIDE + i) * n + k + j];
        columns[i][j] = x[(k + i) * n + get_group_id(0) * SIDE + j];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 0; d < SIDE; d++)
            sum += rows[i][d] * columns[d][j];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    OUT = sum;
}

// By the first work-items, several elements each.
SIZED flat(ARGS)
{
    local int tile[SIDE * SIDE];
    int self = get_local_id(1) * SIDE + get_local_id(0);
    int first = (get_group_id(1) * SIDE) * n + get_group_id(0) * SIDE;
    if (self < 100)
        for (int at = self; at < SIDE * SIDE; at += 100)
            tile[at] = x[first + at / SIDE * n + at % SIDE];
    barrier(CLK_LOCAL_MEM_FENCE);
    OUT = tile[self] - 2 * tile[self / SIDE * SIDE + 3];
}

SIZED in_place(global int *x, global int *y, int n)
{
    FILL(x[(v + 1) * n + u + 1]);
    OUT = CROSS;
    if (n < 0)
        x[get_global_id(0)] = 1;
}

SIZED anywhere(global const int *x, global int *y, int n)
{
    FILL(x[(v + 1) * n + u + 1]);
    global int *to = (global int *)((size_t)y + (size_t)n);
    to[get_global_id(1) * n + get_global_id(0)] = CROSS;
}
