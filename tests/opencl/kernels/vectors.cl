// SPDX-License-Identifier: MIT
// Vectors of 2, 3 and 4 components.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

KERNEL(literals_and_components)
{
    BEGIN;
    uint4 v = (uint4)(x, y, (uint2)(z, g));
    uint3 t = (uint3)(v.xy, 5);
    uint2 p = { x, y };
    o[0] = v.x + v.s1 * 2 + v.z * 3 + v.s3 * 4;
    o[1] = t.z + t.s0;
    o[2] = p.lo + p.hi;
    o[3] = v.hi.y + v.even.x + v.odd.y;
    o[4] = ((uint4)7).w + ((int2)(-1)).y;
}
KERNEL(swizzle)
{
    BEGIN;
    uint4 v = (uint4)(x, y, z, g);
    v.xy = v.wz;
    v.s23 += v.yx;
    o[0] = v.x;
    o[1] = v.wzyx.y;
    v.odd = (uint2)(1, 2);
    v = v.zzxy;
    o[2] = v.x ^ v.w;
    o[3] = v.xxx.z + v.lo.x;
    uint3 t = v.xyz;
    t.zx = t.xy;
    o[4] = t.z * 3 + t.x;
}
KERNEL(componentwise)
{
    BEGIN;
    uint4 a = (uint4)(x, y, z, 3), b = (uint4)(y | 1, z | 1, 7, 9);
    uint4 r = a + b * 2u - (a & b);
    o[0] = r.x ^ r.y ^ r.z ^ r.w;
    r = a / b + a % b;
    o[1] = r.x ^ r.y ^ r.z ^ r.w;
    r = (a << 3u) | (a >> b) ^ ~a;
    o[2] = r.x ^ r.y ^ r.z ^ r.w;
    r = -a;
    r *= b;
    r++;
    o[3] = r.x ^ r.y ^ r.z ^ r.w;
}
KERNEL(compare_vectors)
{
    BEGIN;
    int4 a = (int4)(x, y, z, 3), b = (int4)(y, z, 7, 3);
    int4 m = a < b;
    o[0] = m.x + m.y * 2 + m.z * 4 + m.w * 8;
    m = (a == b) | (a >= b) & (a != 7);
    o[1] = m.x + m.y * 2 + m.z * 4 + m.w * 8;
    m = !a || b && (a > 5);
    o[2] = m.x + m.y * 2 + m.z * 4 + m.w * 8;
    short2 s = (short2)(x, y) > (short2)(z, z);
    o[3] = s.x + s.y * 2;
}
KERNEL(choose)
{
    BEGIN;
    int4 a = (int4)(x, y, z, 3), b = (int4)(y, z, 7, 4);
    int4 r = a < b ? a : b;
    o[0] = r.x ^ r.y ^ r.z ^ r.w;
    r = select(a, b, a > b);
    o[1] = r.x ^ r.y ^ r.z ^ r.w;
    r = x & 1 ? a : b;
    o[2] = r.z ^ r.w;
    uint2 u = select((uint2)(x, y), (uint2)(z, 5), (uint2)(0x80000000, x));
    o[3] = u.x ^ u.y;
}
KERNEL(functions_of_vectors)
{
    BEGIN;
    int4 a = (int4)(x, y, z, 3), b = (int4)(y, z, 7, 4);
    int4 r = max(a, b) - min(a, 5) + clamp(a, -9, 9) + convert_int4(abs(a));
    o[0] = r.x ^ r.y ^ r.z ^ r.w;
    uint4 u = add_sat(as_uint4(a), as_uint4(b)) + hadd(as_uint4(a), as_uint4(b));
    o[1] = u.x ^ u.y ^ u.z ^ u.w;
    u = popcount(as_uint4(a)) * clz(as_uint4(b));
    o[2] = u.x ^ u.y ^ u.z ^ u.w;
    u = rotate(as_uint4(a), as_uint4(b)) ^ mul_hi(as_uint4(a), as_uint4(b));
    o[3] = u.x ^ u.y ^ u.z ^ u.w;
}
KERNEL(index)
{
    BEGIN;
    uint4 v = (uint4)(x, y, z, g);
    int i = x & 3;
    o[0] = v[i];
    v[i ^ 1] = 77;
    o[1] = v.x ^ v.y * 3 ^ v.z * 5 ^ v.w * 7;
    uint s = 0;
    for (int k = 0; k < 4; k++)
        s = s * 5 + v[k];
    o[2] = s;
}
KERNEL(geometry)
{
    BEGIN;
    float3 a = (float3)(x & 15, y & 15, z & 15), b = (float3)(y & 7, z & 7, x & 7);
    o[0] = as_uint(dot(a, b));
    float3 c = cross(a, b);
    o[1] = as_uint(c.x);
    o[2] = as_uint(c.y * 4 + c.z);
    o[3] = as_uint(dot((float2)(3, x & 7), a.xy));
    o[4] = as_uint(dot((float4)(a, 2), (float4)(b, 3)));
}
KERNEL(vector_arrays)
{
    BEGIN;
    uint3 t[3] = { { x, y, z }, (uint3)(1), { y, 2, 3 } };
    t[x % 3].y = 9;
    o[0] = t[0].y + t[1].y * 2 + t[2].y * 3;
    o[1] = t[y % 3].x + sizeof(t);
    uint2 *p = (uint2 *)&t[1];
    o[2] = p->y + p[1].x;
}
KERNEL(small_vectors)
{
    BEGIN;
    uchar4 a = as_uchar4(x), b = as_uchar4(y);
    o[0] = as_uint((uchar4)(a + b));
    o[1] = as_uint((uchar4)(a * b - (uchar)3));
    o[2] = as_uint((uchar4)(max(a, b) >> (uchar)1));
    char2 c = (char2)(x, y) / (char2)(3, 5);
    o[3] = c.x + c.y;
    short3 s = (short3)(x, y, z);
    s.y -= s.z;
    o[4] = s.x + s.y;
    ulong2 w = (ulong2)(x, y) * (ulong2)(z, x);
    o[5] = (w.x ^ w.y) >> 32;
}
KERNEL(shuffles)
{
    BEGIN;
    uint4 v = (uint4)(x, y, z, g);
    uint4 r = shuffle(v, (uint4)(3, 0, 1, 1));
    o[0] = r.x ^ r.y * 3 ^ r.z * 5 ^ r.w * 7;
    r = shuffle2(v, v * 3, (uint4)(6, 1, 4, 3));
    o[1] = r.x ^ r.y * 3 ^ r.z * 5 ^ r.w * 7;
    o[2] = shuffle(v, (uint2)(2, 5)).y;
}
KERNEL(dot_products)
{
    BEGIN;
    o[0] = dot(as_uchar4(x), as_uchar4(y));
    o[1] = dot(as_char4(x), as_char4(y));
    o[2] = dot(as_uchar4(x), as_char4(y));
    o[3] = dot_acc_sat(as_uchar4(x), as_uchar4(y), z);
    o[4] = dot_4x8packed_uu_uint(x, y);
    o[5] = dot_4x8packed_ss_int(x, y);
    o[6] = dot_acc_sat_4x8packed_su_int(x, y, (int)z);
}
