// SPDX-License-Identifier: MIT
//
// Arrays of an invocation that are accessed by casts of their address: known places become values,
// computed ones elements of an array, whatever the order of sizes, types and vectors.
//
// RUN: %heddle compile %s --entry tile --emit passes | %filecheck --check-prefix=TILE %s
// RUN: %heddle compile %s --entry vectors --emit passes | %filecheck --check-prefix=TILE %s
// RUN: %heddle compile %s --entry asked --emit passes | %filecheck --check-prefix=TILE %s
// RUN: %heddle compile %s --entry chosen --emit passes | %filecheck --check-prefix=CHOSEN %s
// RUN: %heddle compile %s --entry chosen --emit llvm-plain | %filecheck --check-prefix=LANES %s
// RUN: for K in tile vectors asked chosen mixed moved overlaid escaping; do \
// RUN:   alike %s 1 --entry $K --bind 0=randn:f32[4096]@3 --bind 1=zeros:f32[16384] \
// RUN:     --bind 2=list:s32:5 --global 64 --local 64 || exit 1; done

// TILE-NOT: OpVariable %_ptr_Function
// TILE: OpFunctionEnd

// CHOSEN: OpVariable %_ptr_Function__arr_float_uint_64 Function
// CHOSEN-NOT: OpVariable %_ptr_Function
// CHOSEN: OpFunctionEnd

// All lanes read the same element: one vector, as lanes are interleaved.
// LANES-LABEL: define {{.*}}@heddle_kernel(
// LANES-NOT: gather
// LANES: }

/* Others may fuse other products with sums. */
#pragma OPENCL FP_CONTRACT OFF

kernel void tile(global const float *a, global float *o, int n)
{
    float acc[8][8], x[8], y[8];
    int l = get_global_id(0);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            acc[i][j] = 0;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < 8; i++) {
            x[i] = a[(k * 64 + l) * 8 + i];
            y[i] = a[k * 8 + i];
        }
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++)
                acc[i][j] += x[i] * y[j];
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            o[(i * 8 + j) * 64 + l] = acc[i][j];
}

kernel void vectors(global const float *a, global float *o, int n)
{
    float4 acc[8][2];
    int l = get_global_id(0);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 2; j++)
            acc[i][j] = (float4)(i, j, 0, 0);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 2; j++) {
                acc[i][j] += vload4(k * 8 + i, a) * a[k * 64 + l];
                acc[i][j].y = acc[i][j].x + 1;
            }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 2; j++)
            vstore4(acc[i][j], (i * 2 + j) * 64 + l, o);
}

kernel void asked(global const float *a, global float *o, int n)
{
    float acc[24];
    int l = get_global_id(0);
#pragma unroll
    for (int i = 0; i < 24; i++)
        acc[i] = a[i * 64 + l];
    for (int k = 0; k < n; k++)
#pragma unroll
        for (int i = 0; i < 24; i++)
            acc[i] = fma(acc[i], a[k], acc[(i * 7) % 24]);
#pragma unroll
    for (int i = 0; i < 24; i++)
        o[i * 64 + l] = acc[i];
}

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void chosen(global const float *a, global float *o, int n)
{
    float acc[8][8];
    int l = get_global_id(0);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            acc[i][j] = a[(i * 8 + j) * 64 + l];
    float s = 0;
    for (int k = 0; k < n; k++) {
        s += acc[k % 8][(k + n) & 7];
        acc[n & 7][k % 3] += s;
    }
    o[l] = s;
}

kernel void mixed(global const float *a, global float *o, int n)
{
    float acc[16];
    int l = get_global_id(0);
    int *bits = (int *)acc;
    for (int i = 0; i < 4; i++)
        vstore4(vload4(i * 64 + l, a), i, acc);
    for (int i = 0; i < 16; i++)
        bits[i] ^= i << 20;
    acc[l & 15] += 1;
    for (int i = 0; i < n + 11; i++)
        o[i * 64 + l] = acc[i];
}

typedef struct { float x; int k; float2 v[2]; } Item;

kernel void moved(global const float *a, global float *o, int n)
{
    Item item[4];
    int l = get_global_id(0);
    for (int i = 0; i < 4; i++) {
        item[i].x = a[i * 64 + l];
        item[i].k = i * n;
        item[i].v[0] = (float2)(l, i);
        item[i].v[1] = item[i].v[0].yx * item[i].x;
    }
    Item *p = item + 4;
    for (int i = 0; i < 4; i++) {
        p--;
        o[(i * 3) * 64 + l] = p->x + p->k;
        o[(i * 3 + 1) * 64 + l] = p->v[1].x;
        o[(i * 3 + 2) * 64 + l] = ((float *)p)[5 - (i & 1)];
    }
}

// Halves of what was stored as a whole: stays in memory.
kernel void overlaid(global const float *a, global float *o, int n)
{
    float acc[8];
    int l = get_global_id(0);
    ushort *half_of = (ushort *)acc;
    for (int i = 0; i < 8; i++)
        acc[i] = a[i * 64 + l];
    for (int i = 0; i < 16; i++)
        half_of[i] ^= (ushort)(i * n) & 0xff;
    for (int i = 0; i < 8; i++)
        o[i * 64 + l] = acc[i];
}

kernel void escaping(global const float *a, global float *o, int n)
{
    float first[8], second[8];
    int l = get_global_id(0);
    for (int i = 0; i < 8; i++) {
        first[i] = a[i * 64 + l];
        second[i] = -first[i];
    }
    float *p = l & 1 ? first : second;
    for (int i = 0; i < 8; i++)
        o[i * 64 + l] = p[i] + first[n & 7];
}
