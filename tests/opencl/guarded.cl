// SPDX-License-Identifier: MIT
//
// Loops that count by the same step for all work-items, which LLVM leaves at their end, behind a
// test that some work-items do not pass: all come to them, and what all of a subgroup do needs no
// masks. What is used behind such a loop is what it was before for those that it kept out.
//
// RUN: %heddle compile %s --entry strided --emit passes | %filecheck %s
// RUN: for K in strided behind down other_ways kept_out; do for I in %levels; do \
// RUN:   alike %s 1 --entry $K --bind 0=rand:s32[4096]@1 --bind 1=zeros:s32[512] \
// RUN:     --bind 2=list:s32:3001 --global 250 --local 50 --isa $I || exit 1; done || exit 1; done

// CHECK-LABEL: %strided = OpFunction
// CHECK: [[ALL:%[0-9a-z_]+]] = OpGroupNonUniformAll %bool
// CHECK-NEXT: OpBranchConditional [[ALL]]
// CHECK: OpFunctionEnd

#define ARGS global const int *x, global int *y, int n

kernel void strided(ARGS)
{
    int sum = 7;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        sum = sum * 3 + x[i];
    y[get_global_id(0)] = sum;
}

// What the counter and a value of the last iteration are; lanes from 200 on do not iterate.
kernel void behind(ARGS)
{
    int at = get_global_id(0), i = at * 15, seen = -at, sum = 1;
    while (i < n) {
        seen = x[i] & 255;
        sum = sum * 5 + seen;
        i += 40;
    }
    y[2 * at] = sum + seen * 1000;
    y[2 * at + 1] = i;
}

kernel void down(ARGS)
{
    long i = (long)get_global_id(0) * 4 - 100;
    uint sum = 0;
    for (; i >= 0; i -= 9)
        sum = sum * 31 + x[i];
    y[get_global_id(0)] = sum + (int)i;
}

// The test is on the counter's other side, or not of its sign.
kernel void other_ways(ARGS)
{
    uint at = get_global_id(0), sum = at, more = n;
    for (uint i = at; more > i; i += get_global_size(0))
        sum ^= x[i] << (i & 15);
    for (int i = at & 31; i != 40; i++)
        sum = sum * 3 + x[i + at];
    y[at] = sum;
}

// None of the first subgroups, all, and some.
kernel void kept_out(ARGS)
{
    int at = get_global_id(0), sum = at;
    for (int i = 2000 - at * 16; i < 64; i += 3)
        sum = sum * 7 + x[(i + at) & 4095];
    y[at] = sum;
}
