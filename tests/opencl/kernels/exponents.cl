// SPDX-License-Identifier: MIT
// Functions that take numbers apart, with exact results: exponents, quotients, neighbours.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

KERNEL(exponents)
{
    BEGIN;
    int e;
    float a = x & 1 ? as_float((x & 0x807fffff) + 0x00800000 + (x % 200 << 23))
                    : (float)(int)y / 1024;
    a = g == 3 ? 0 : g == 4 ? -INFINITY : g == 5 ? -0.0f : a;
    o[0] = as_uint(frexp(a, &e));
    o[1] = isfinite(a) ? e : 0;
    o[2] = ilogb(a);
    o[3] = as_uint(logb(a));
    o[4] = as_uint(nextafter(a, (float)(int)z));
}

KERNEL(quotients)
{
    BEGIN;
    int e = 0;
    float a = (float)((int)x >> 8) / 1024, b = ((z & 255) + 1) * 0.25f, whole;
    o[0] = as_uint(remainder(a, b));
    o[1] = as_uint(remquo(a, -b, &e));
    o[2] = e;
    o[3] = as_uint(modf(a, &whole));
    o[4] = as_uint(whole);
    o[5] = as_uint(fract(a, &whole));
    o[6] = as_uint(whole);
    o[7] = as_uint(remainder(-0.0f, b)) ^ as_uint(modf(-INFINITY, &whole)) ^ as_uint(whole);
}

KERNEL(exponents_of_double)
{
    BEGIN;
    int e;
    double b = (double)(int)x / 3, a = b * as_double((ulong)(1023 + (y & 511)) << 52), whole;
    /* without AVX-512 lavapipe 22.3 leaves doubles above 2^24 as they are where it rounds them */
    double c = b / 1024;
    o[0] = as_uint2(frexp(a, &e)).y;
    o[1] = e;
    o[2] = ilogb(b);
    o[3] = as_uint2(logb(b)).y;
    o[4] = as_uint2(nextafter(b, 1e9)).x;
    o[5] = as_uint2(modf(c, &whole)).x;
    o[6] = as_uint2(fract(c, &whole)).y;
    o[7] = as_uint2(whole).y;
}

KERNEL(exponents_of_vectors)
{
    BEGIN;
    int4 e;
    int8 f;
    int k;
    float4 v = frexp(convert_float4((int4)(x, y, z, g)) / 64.0f, &e);
    float8 whole, part = modf((float8)(v, v.wzyx) * 99.0f, &whole);
    half h = (half)(1.25f + ((int)x >> 20)), below;
    o[0] = as_uint(v.y);
    o[1] = e.w;
    o[2] = as_uint(part.s5);
    o[3] = as_uint(whole.s6);
    part = frexp(part, &f);
    o[4] = f.s3;
    o[5] = as_uint(part.s7);
    h = frexp(h, &k);
    o[6] = as_ushort(h) << 16 | (ushort)k;
    o[7] = as_ushort(nextafter(h, (half)3)) + ilogb(h) + as_ushort(fract(h * (half)8, &below));
}
