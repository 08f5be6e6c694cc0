// SPDX-License-Identifier: MIT
// Arrays of pointers: by constant and by variable indices, filled in loops, passed, in structures.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

typedef struct Block {
    half scale;
    char values[30];
} Block;

KERNEL(rows_of_blocks)
{
    BEGIN;
    global const Block *rows[4];
    global const char *bytes = (global const char *)in;
    uint stride = 32 * (1 + (x & 1));
    for (int r = 0; r < 4; r++)
        rows[r] = (global const Block *)(bytes + r * stride);
    int sums[4] = { 0 };
    for (uint b = l & 1; b < 3; b += 2)
        for (short r = 0; r < 4; r++) {
            global const char *values = rows[r][b].values;
            for (short k = 0; k < 8; k++)
                sums[r] += values[k];
            sums[r] ^= as_short(rows[r][b].scale);
        }
    for (int r = 0; r < 4; r++)
        o[r] = sums[r];
}

KERNEL(constant_indices)
{
    BEGIN;
    global const uint *list[5];
    list[0] = in;
    list[1] = in + x % 9;
    list[4] = out + 700;
    list[2] = list[1] + 2;
    list[3] = 0;
    if (y & 1)
        list[3] = list[z & 1];
    o[0] = list[0][l];
    o[1] = list[2][l];
    o[2] = list[3] ? *list[3] : 5;
    o[3] = list[4] - out;
    o[4] = list[2] - list[0];
}

uint sum_of(global const uint **list, uint n, uint at)
{
    uint s = 0;
    for (uint k = 0; k < n; k++)
        s = s * 3 + list[k][at];
    return s;
}

void turn(global const uint **list, uint n, uint by)
{
    for (; by; by--) {
        global const uint *first = list[0];
        for (uint k = 1; k < n; k++)
            list[k - 1] = list[k];
        list[n - 1] = first;
    }
}

KERNEL(lists_passed_on)
{
    BEGIN;
    global const uint *list[6];
    for (uint k = 0; k < 6; k++)
        list[k] = in + k * 5;
    list[x % 6] = in + 40;
    o[0] = sum_of(list, 6, l);
    turn(list, 6, y % 5);
    o[1] = sum_of(list, 6, l);
    o[2] = sum_of(list + (z & 3), 2, l);
    global const uint **at = &list[z % 6];
    *at += 3;
    o[3] = sum_of(list, 6, l);
}

typedef struct Ring {
    uint n;
    global const uint *at[3];
    struct {
        uint first;
        uint *own;
    } ends[2];
} Ring;

Ring ring_of(global const uint *from, uint *own, uint x)
{
    Ring r = { 3, { from, from + 4, from + 8 }, { { 1, own }, { 2, own + 1 } } };
    r.at[x % 3] += 2;
    return r;
}

KERNEL(lists_in_structures)
{
    BEGIN;
    uint own[4] = { x, y, z, 9 };
    Ring rings[2] = { ring_of(in, own, x), ring_of(in + 20, own + 1, y) }, r = rings[z & 1];
    for (uint k = 0; k < 6; k++)
        o[0] = o[0] * 5 + rings[k & 1].at[(k + x) % r.n][l];
    *r.ends[x & 1].own += 100;
    rings[y & 1].ends[z & 1].own[0] ^= 3;
    o[1] = own[0] + own[1] * 3 + own[2] * 7;
    o[2] = r.ends[0].first + r.at[y % 3][1];
    o[3] = rings[0].at[1] == rings[1].at[1];
}

KERNEL(lists_of_lists)
{
    BEGIN;
    local uint shared[16];
    shared[l] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    local uint *table[2][3];
    for (uint k = 0; k < 6; k++)
        table[k / 3][k % 3] = shared + (k * 2 + y) % 16;
    local uint **row = table[x & 1];
    o[0] = *row[z % 3] + *table[y & 1][1];
    o[1] = row[2] - row[0];
    local uint *local shared_list[16];
    shared_list[l] = &shared[(l * 5 + 1) % 16];
    barrier(CLK_LOCAL_MEM_FENCE);
    local uint *p = shared_list[(l + 3) % 16];
    for (uint k = 0; k < 3; k++)
        p = shared_list[p - shared];
    o[2] = *p;
    o[3] = shared_list[5] - shared;
}

KERNEL(two_levels)
{
    BEGIN;
    global const uint *p = in + (x & 7), *q = in + 30, **at = y & 1 ? &p : &q;
    *at += z & 3;
    o[0] = *p;
    o[1] = *q;
    o[2] = **at;
    at = &p;
    for (uint k = 0; k < (x & 3); k++, at = at == &p ? &q : &p)
        *at += k;
    o[3] = p[l] - q[l];
}
