// SPDX-License-Identifier: MIT
// Vectors of 8 and 16 components, which shaders have to do without: arithmetic, conversions, bits,
// shuffles, components chosen at run time, memory, functions with a pointer.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

KERNEL(wide_loop)
{
    BEGIN;
    float8 v = convert_float8(vload8(g & 15, in) & 255u), w = v.s76543210;
    for (uint j = 0; j < (x & 7); j++)
        v = v * 0.5f + w;
    if (y & 1)
        v.s3 = 7;
    vstore8(as_uint8(v), g, out);
}

KERNEL(wide_16)
{
    BEGIN;
    uint16 a = vload16(g & 7, in);
    ushort16 h = convert_ushort16_sat(as_int16(a));
    uchar16 c = as_uchar16(a.s0369);
    a = a.sfedcba9876543210 ^ (convert_uint16(h) & 0xffff) + (convert_uint16(c) & 0xff);
    a = select(a, a + 1u, a > 0x80000000u ? (uint16)(-1) : (uint16)0);
    int16 m = convert_int16(c) < 100;
    o[0] = any(m) + all(m) * 2;
    o[2] = a[x & 15];
    a[y & 15] = z;
    uint8 low = a.lo + a.hi, even = a.even * a.odd;
    o[3] = low.s0 ^ low.s7;
    o[4] = even.s3 ^ even.s5;
    o[5] = (uint)(as_ulong8(a).s3 >> 20);
    o[6] = as_uint4(c).s2;
    o[7] = as_ulong2(c).y;
}

KERNEL(wide_components)
{
    BEGIN;
    union { uint16 v; uint a[16]; } q;
    for (int i = 0; i < 16; i++)
        q.a[i] = in[(g + i) & 127];
    uint8 p = (uint8)(q.v.s0123, q.v.s45, x, y);
    p = rotate(p, (uint8)(z & 31));
    p = clz(min(p, 0xf0000000u)) + popcount(p);
    char8 c = convert_char8_sat_rte(convert_float8(p) * 3.5f);
    o[0] = p.s0 + p.s5;
    o[1] = c.s3;
    o[2] = as_uint2(c).y;
    o[3] = shuffle(q.v, (uint2)(x, y)).y;
    o[4] = shuffle2(p, p + 1, (uint8)(x, y, z, 1, 2, 3, 4, 9)).s2;
    o[5] = (uint)(convert_double8(p) * 1.5).s7;
    o[6] = as_ushort(convert_half8(convert_float8(p)).s4);
    float8 whole, part = fract(convert_float8(p) * 0.25f, &whole);
    o[7] = as_uint(part.s6 + whole.s2);
}

typedef struct Mixed { float8 f; short16 s; char c; } Mixed;

KERNEL(wide_memory)
{
    BEGIN;
    local Mixed all[16];
    half stored[16];
    all[l].f = convert_float8((uint8)(x, y, z, 1, 2, 3, x ^ y, y ^ z) >> 12);
    all[l].s = as_short16((uint8)(x, y, z, g, 7, y, x, 9));
    all[l].c = (char)x;
    barrier(CLK_LOCAL_MEM_FENCE);
    Mixed other = all[(l + 5) & 15];
    vstore_half16((float16)(other.f, other.f.s76543210) * 0x1p-8f, 0, stored);
    float16 back = vload_half16(0, stored);
    o[0] = as_uint(other.f.s5);
    o[1] = (ushort)other.s.sb + other.c;
    o[2] = as_uint(back.s3 + back.sa);
    o[3] = as_uint(((float *)&other.f)[x & 7]);
    vstore8(convert_uchar8_sat(other.f), 0, (global uchar *)(o + 4));
    o[6] = as_uint(fmax(other.f, 100.0f).s2);
    o[7] = sizeof(Mixed) + (uint)((uint)(sizeof(float8) * 2) * (x & 1));
}
