// SPDX-License-Identifier: MIT
// Pointers into one or another buffer or variable, null, pointers in memory and as integers, lists.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

KERNEL(one_or_another)
{
    BEGIN;
    global const uint *p = x & 1 ? in + 3 : (global const uint *)out + 600, *q = 0;
    o[0] = p == in + 3;
    o[1] = p[0] * (x & 1);
    if (y & 1)
        q = in + l;
    o[2] = q ? *q : 7;
    o[3] = q == 0;
}

KERNEL(any_memory)
{
    BEGIN;
    uint own[4] = { x, y, z, 1 };
    const uint *r = z & 1 ? own + (x & 3) : (const uint *)(in + g);
    local uint shared[16];
    shared[l] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint *w = y & 2 ? (uint *)&shared[l] : &own[1];
    o[4] = *r;
    *w += 5;
    o[5] = shared[l];
    o[6] = own[1];
    o[7] = w != &own[1];
    for (uint k = 0; k < 4; k++) {
        w = w == &own[3] || w == (uint *)&shared[l] ? own : w + 1;
        *w ^= k;
    }
    o[0] = own[0] + own[1] * 3 + own[2] * 5 + own[3] * 7;
}

typedef struct Node {
    local struct Node *next;
    uint value;
} Node;

KERNEL(lists)
{
    BEGIN;
    local Node nodes[16];
    nodes[l].value = x;
    nodes[l].next = (l & 3) == 3 ? 0 : &nodes[l + 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (local Node *n = &nodes[l]; n; n = n->next)
        sum += n->value;
    o[0] = sum;
    global uint *both[2] = { o + 1, o + 2 };
    both[x & 1][0] = 1;
    both[~x & 1][0] = 2;
    global const uint *from[2] = { in, in + 9 };
    o[3] = from[y & 1][l];
}

KERNEL(integers)
{
    BEGIN;
    uintptr_t a = (uintptr_t)(in + g), b = (uintptr_t)in;
    o[0] = (uint)(a - b);
    o[1] = (uint)(a & 3);
    o[2] = a > b;
    o[3] = *(global const uint *)(b + 4 * l);
    ulong h = x & 1 ? (ulong)&o[5] : (ulong)&o[6];
    *(global uint *)h = 77;
}

uint get(const uint *p, int i) { return p[i]; }

KERNEL(generic_pointers)
{
    BEGIN;
    local uint shared[16];
    shared[l] = y;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint own[2] = { z, x }, s = 0;
    const uint *list[3] = { own, shared, (const uint *)in };
    for (int i = 0; i < 3; i++)
        s = s * 3 + get(list[(i + x) % 3], i & 1);
    o[0] = s;
    const uint *p = list[y % 3];
    o[1] = to_local(p) != 0;
    o[2] = to_global(p) == in;
    o[3] = to_private((uint *)p) ? 3 : 4;
    o[4] = get_fence(p);
    o[5] = p - list[y % 3];
    barrier(CLK_LOCAL_MEM_FENCE);
    volatile uint *at = z & 1 ? (uint *)&o[6] : (uint *)&shared[l];
    o[6] = 3;
    at[0] = 3;
    atomic_fetch_add((volatile atomic_uint *)at, 4);
    barrier(CLK_LOCAL_MEM_FENCE);
    o[7] = shared[l];
}

typedef struct Both { uint n; const global uint *p; } Both;

KERNEL(structures)
{
    BEGIN;
    Both all[3] = { { 1, in }, { 2, in + 1 }, { 3, out + 700 } }, other;
    other = all[x & 1];
    o[0] = other.n + other.p[l];
    other = all[(y & 1) + 1];
    o[1] = other.n + (other.p == out + 700 ? 5 : other.p[0]);
    uint4 v = vload4(l, x & 1 ? in : (global const uint *)out + 700);
    o[2] = x & 1 ? v.y : 0;
    uint out2[3];
    float f = fract(as_float(x & 0x41ffffff), y & 1 ? (float *)out2 : (float *)out2 + 1);
    o[3] = as_uint(f);
    o[4] = out2[~y & 1];
}

constant uint table0[3] = { 1, 2, 3 }, table1[2] = { 7, 9 };
constant uint *constant first = table0, *constant second = table1;

KERNEL(constants_that_point)
{
    BEGIN;
    constant uint *p = x & 1 ? first : second;
    o[0] = p[1];
    o[1] = first[y % 3];
    o[2] = p == table1;
}
