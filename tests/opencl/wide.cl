// SPDX-License-Identifier: MIT
//
// Where nobody asks for a size of subgroups, lanes that read and write side by side, and part only
// at the ends of the data, are as many as fill eight vectors, or four rows of the workgroup; others
// stay 32, or as many as the workgroup has. A load that goes on to another page in each iteration is
// prefetched, one iteration ahead.
//
// RUN: for I in x86-64-v4:128 x86-64-v3:64; do for K in ends leaps ends32 staged32; do %heddle compile %s --entry $K --isa ${I%%:*} --emit llvm-plain | %filecheck %s -DW=${I##*:} || exit 1; done; done
// RUN: %heddle compile %s --entry thirds --isa x86-64-v4 --emit llvm-plain | %filecheck %s -DW=128
// RUN: for K in ends16 staged16; do %heddle compile %s --entry $K --isa x86-64-v4 --emit llvm-plain | %filecheck %s -DW=64 || exit 1; done
// RUN: for K in parts fifths pairs columns16 all16; do %heddle compile %s --entry $K --isa x86-64-v4 --emit llvm-plain | %filecheck %s -DW=32 || exit 1; done
// RUN: for K in few4:16 few3:16 few2:8; do %heddle compile %s --entry ${K%%:*} --isa x86-64-v4 --emit llvm-plain | %filecheck %s -DW=${K##*:} || exit 1; done
// RUN: %heddle compile %s --entry leaps --isa x86-64-v4 --emit llvm-plain | %filecheck %s --check-prefix=AHEAD
// RUN: %heddle compile %s --entry ends --isa x86-64-v4 --subgroup-size 16 --emit llvm-plain | %filecheck %s -DW=16
// RUN: for K in ends leaps parts thirds fifths pairs; do for I in host x86-64-v3 x86-64-v2; do alike %s 1 --entry $K --bind 0=rand:s32[8192]@3 --bind 1=zeros:s32[1024] --bind 2=list:s32:997 --global 512 --isa $I || exit 1; done; done
// RUN: for K in ends32 staged32 ends16 staged16 columns16 all16 few4 few3 few2; do for I in host x86-64-v3 x86-64-v2; do alike %s 1 --entry $K --bind 0=rand:s32[8192]@3 --bind 1=zeros:s32[9216] --bind 2=list:s32:93 --global 96,96 --isa $I || exit 1; done; done
//
// CHECK: zext <[[W]] x i32>
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

KERNEL thirds(global const int *x, global int *y, int n) { y[I] = x[I * 3] + n; }

KERNEL fifths(global const int *x, global int *y, int n) { y[I] = x[I * 5] + n; }

KERNEL pairs(global const int *x, global int *y, int n)
{
    int2 p = vload2(I, x);
    y[I] = p.x - p.y + n;
}

// Workgroups of several rows, of a plane of 96 x 96.
#define X (int)get_global_id(0)
#define Y (int)get_global_id(1)
#define LX (int)get_local_id(0)
#define LY (int)get_local_id(1)

#define ENDS(w, h)                                                                        \
    kernel __attribute__((reqd_work_group_size(w, h, 1))) void ends##w(                   \
        global const int *x, global int *y, int n)                                        \
    {                                                                                     \
        if (X < n && Y > 2)                                                               \
            y[Y * 96 + X] = x[(Y / 2) * n + X] - x[Y];                                    \
    }
ENDS(32, 8)
ENDS(16, 16)

#define STAGED(w, h)                                                                      \
    kernel __attribute__((reqd_work_group_size(w, h, 1))) void staged##w(                 \
        global const int *x, global int *y, int n)                                        \
    {                                                                                     \
        local int part[w * h], of_column[w];                                              \
        int self = LY * w + LX, sum = 0;                                                  \
        part[self] = X < n ? x[(Y - LY + self / w) % 64 * n + X - LX + self % w] : 7;     \
        if (LY == 1)                                                                      \
            of_column[LX] = x[X];                                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                     \
        for (int k = 0; k < w; k++)                                                       \
            sum += part[LY * w + k] * of_column[k] + part[k % h * w + LX];                \
        y[Y * 96 + X] = sum;                                                              \
    }
STAGED(32, 8)
STAGED(16, 16)

// The lanes of a row read far apart.
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void columns16(
    global const int *x, global int *y, int n)
{
    y[Y * 96 + X] = x[X * 80 + Y % 64] + n;
}

// What all invocations of a subgroup say tells how many they are.
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void all16(
    global const int *x, global int *y, int n)
{
    y[Y * 96 + X] = sub_group_all(LY < 2) ? x[X] : n;
}

#define FEW(w, h)                                                                         \
    kernel __attribute__((reqd_work_group_size(w, h, 1))) void few##w(                    \
        global const int *x, global int *y, int n)                                        \
    {                                                                                     \
        y[Y * 96 + X] = x[LY * n + X] * x[Y] + n;                                         \
    }
FEW(4, 4)
FEW(3, 4)
FEW(2, 2)
