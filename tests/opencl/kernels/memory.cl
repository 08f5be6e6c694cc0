// SPDX-License-Identifier: MIT
// Objects in memory: structures, unions, bit-fields, arrays, pointers, address spaces.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

#ifdef __clang__
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
#endif

typedef struct Pair { short a; char b[2]; int c; } Pair;
typedef struct Deep { Pair pair[2]; uint2 v; uchar last; } Deep;
typedef struct __attribute__((packed)) Packed { uchar a; uint b; ushort c; } Packed;
typedef union Either { uint u; float f; uchar b[4]; short s[2]; } Either;
typedef struct Fields { uint a : 5; int b : 7; uint : 3; uint c : 17; uchar d : 3, e : 5; } Fields;

constant int table[6] = { 3, 1, 4, 1, 5, 9 };
constant Pair pairs[2] = { { 1, { 2, 3 }, 4 }, { .c = 7, .a = -1 } };
constant float4 weights = (float4)(1, 2, 3, 4);
constant char text[] = "kernels" " and strings";

Pair make(uint a) { Pair p = { a, { 1, a >> 8 }, a ^ 5 }; return p; }
int total(Pair p) { return p.a + p.b[0] + p.b[1] + p.c; }
int sum(const int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += *p++;
    return s;
}

KERNEL(structures)
{
    BEGIN;
    Pair p = make(x), q = p;
    q.b[1] = y;
    o[0] = total(p);
    o[1] = total(q);
    p = (Pair){ .c = z, .a = 3 };
    o[2] = total(p) + sizeof(Pair);
    Pair r[2] = { p, q }, *s = &r[x & 1];
    s->c++;
    o[3] = r[0].c ^ r[1].c;
}
KERNEL(structures_in_structures)
{
    BEGIN;
    Deep d = { { { x, { y } }, { .c = z } }, (uint2)(x, y), 9 };
    d.pair[x & 1].b[y & 1] = 7;
    Deep e = d;
    e.v.y++;
    o[0] = total(e.pair[0]) + total(d.pair[1]);
    o[1] = d.v.y ^ e.v.y;
    o[2] = sizeof(Deep) + e.last;
    o[3] = (uint)((uchar *)&d.v - (uchar *)&d);
}
typedef struct Nested {
    union { uint u; float f; };
    struct { short p, q; };
    int n;
} Nested;
KERNEL(members_without_names)
{
    BEGIN;
    Nested s = { .f = 2.5f, .q = x, .n = y };
    o[0] = s.u ^ s.q;
    s.u = z;
    s.p--;
    o[1] = as_uint(s.f) + s.p;
    o[2] = (Nested){ .n = 9, .p = x }.p + sizeof(Nested);
}
KERNEL(packed)
{
    BEGIN;
    Packed p = { x, y, z };
    o[0] = sizeof p + p.a;
    o[1] = p.b;
    o[2] = p.c;
}
KERNEL(unions)
{
    BEGIN;
    Either e = { x };
    o[0] = e.b[2] + e.s[1];
    e.b[1] = y;
    o[1] = e.u;
    e.f = 1.5f;
    o[2] = e.u;
    o[3] = sizeof e;
}
KERNEL(bit_fields)
{
    BEGIN;
    Fields f = { x, y, z, 1, 2 };
    o[0] = f.a + f.c;
    o[1] = f.b;
    f.d += y;
    f.b = -3;
    f.a--;
    o[2] = f.d * 1000 + f.e * 10 + f.b;
    o[3] = f.a + sizeof f;
}
KERNEL(arrays)
{
    BEGIN;
    uint a[4][3], s = 0;
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 3; j++)
            a[i][j] = x * i + y * j;
    for (uint i = 0; i < 12; i++)
        s = s * 7 + (&a[0][0])[i];
    o[0] = s;
    o[1] = a[z & 3][z % 3];
    uint b[8] = { 1, 2, [5] = x, y };
    o[2] = b[x & 7] + b[6];
    o[3] = sizeof a / sizeof a[0];
}
KERNEL(pointers)
{
    BEGIN;
    int own[8];
    for (int i = 0; i < 8; i++)
        own[i] = in[g + i] & 255;
    o[0] = sum(own, x & 7);
    o[1] = sum(own + 2, 3);
    int *p = own + 7, *q = own;
    while (p > q) {
        int t = *p;
        *p-- = *q;
        *q++ = t;
    }
    o[2] = own[1] * 3 + own[6];
    o[3] = p - own + (p == q) * 100 + (p != own) * 10;
    int **pp = &p;
    **pp = 5;
    o[4] = own[p - own];
}
KERNEL(constants)
{
    BEGIN;
    o[0] = table[x % 6];
    o[1] = pairs[y & 1].a + pairs[1].c + pairs[x & 1].b[1];
    o[2] = as_uint(weights.z) + as_uint(weights[x & 3]);
    o[3] = text[x % 7] + sizeof text;
    constant int *p = table + (z % 3);
    o[4] = p[1] + *p;
}
KERNEL(other_types)
{
    BEGIN;
    global const uchar *b = (global const uchar *)in;
    global const ushort *h = (global const ushort *)(in + 3);
    o[0] = b[g * 3] + h[g];
    o[1] = ((global const ulong *)in)[g] >> 16;
    o[2] = as_uint(((global const float *)in)[g] > 0 ? 1.0f : 2.0f);
    o[3] = ((global const uchar4 *)in)[g].z;
    ((global uchar *)(o + 4))[1] = x;
    ((global ushort *)(o + 4))[1] = y;
}
KERNEL(vector_loads)
{
    BEGIN;
    uint3 t = vload3(g, in);
    o[0] = t.x ^ t.z;
    o[1] = vload2(g >> 1, in + 1).y;
    o[2] = vload4(1, (global const uchar *)(in + g)).w;
    vstore2((uint2)(x, y), 1, o + 1);
    vstore3((ushort3)(1, x, 3), 0, (global ushort *)(o + 5));
}
KERNEL(half_loads)
{
    BEGIN;
    global half *h = (global half *)o;
    vstore_half((float)(x & 0x3ff), 0, h);
    vstore_half2((float2)(0.1f, (float)(int)y / 65536), 1, h);
    o[2] = as_uint(vload_half(0, h));
    o[3] = as_uint(vload_half2(1, h).y);
}
KERNEL(local_memory)
{
    local uint shared[16], total;
    BEGIN;
    shared[l] = x;
    if (!l)
        total = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    o[0] = shared[15 - l] + shared[l ^ 5];
    atomic_add(&total, x & 0xff);
    barrier(CLK_LOCAL_MEM_FENCE);
    o[1] = total;
    for (uint n = 8; n; n >>= 1) {
        if (l < n)
            shared[l] += shared[l + n];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    o[2] = shared[0];
}
KERNEL(local_structures)
{
    local Pair shared[16];
    BEGIN;
    shared[l].a = x;
    shared[l].c = y;
    shared[l].b[0] = l;
    shared[l].b[1] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    Pair p = shared[l ^ 3];
    o[0] = total(p);
    local int *q = &shared[(l + 1) & 15].c;
    o[1] = *q;
}
uint first_of(const uint *p) { return p[0] + p[1]; }
KERNEL(generic_pointers)
{
    local uint shared[32];
    BEGIN;
    uint own[2] = { x, y };
    shared[l * 2] = y;
    shared[l * 2 + 1] = z;
    o[5] = x;
    o[6] = z;
    o[0] = first_of(own);
    o[1] = first_of(shared + l * 2);
    o[2] = first_of(o + 5);
    uint *p = own;
    o[3] = *p++ + *p;
}
KERNEL(volatile_and_restrict)
{
    BEGIN;
    volatile uint v = x;
    v += y;
    o[0] = v;
    global uint *restrict r = o;
    r[1] = v ^ z;
    volatile global uint *w = o + 2;
    *w = 5;
    *w += x;
}
KERNEL(offsets)
{
    BEGIN;
    o[0] = offsetof(Pair, c) + offsetof(Deep, v) * 16;
    o[1] = sizeof(uint3) + sizeof(int[5]) * 100;
    global const uint *end = in + 10, *begin = in + (x & 7);
    o[2] = end - begin;
    o[3] = (uint)(&in[y & 7] - in) + (begin < end) + (begin == in);
    o[4] = __alignof__(uint4) + __alignof__(Deep);
}
typedef struct Padded {
    char c;
    double d;
    short s[3];
    uchar3 v;
} Padded;
KERNEL(padding)
{
    BEGIN;
    local Padded shared[16];
    Padded p[2];
    p[x & 1].c = x;
    p[0].d = y;
    p[1].d = z;
    p[0].s[z % 3] = x;
    p[1].v = (uchar3)(x, y, z);
    shared[l] = p[y & 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    Padded other = shared[(l + 1) & 15];
    o[0] = (uint)other.d;
    o[1] = sizeof(Padded);
    ((global Padded *)(out + 512))[g].d = 3;
}
