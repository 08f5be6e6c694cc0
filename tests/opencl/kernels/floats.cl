// SPDX-License-Identifier: MIT
// Floating point, where OpenCL says the result exactly.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

#define F(x) ((float)((int)(x) >> 8) * 0.0009765625f)
#define U(f) as_uint((float)(f))
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

KERNEL(four_operations)
{
    BEGIN;
    float a = F(x), b = F(y);
    o[0] = U(a + b);
    o[1] = U(a - b * F(z));
    o[2] = U(a * b);
    o[3] = U(a / (b == 0 ? 1 : b));
    o[4] = U(-a);
    a += 1;
    a *= 0.5f;
    o[5] = U(a++);
    o[6] = U(--a);
}
KERNEL(round_to_whole)
{
    BEGIN;
    float a = F(x) / 1024, b = (float)((int)y >> 28) + 0.5f;
    o[0] = U(floor(a));
    o[1] = U(ceil(a));
    o[2] = U(trunc(a));
    o[3] = U(rint(a) + 16);
    o[4] = U(round(a) + 16);
    o[5] = U(rint(b) + 16);
    o[6] = U(round(b));
    o[7] = U(floor(b) * 8 + ceil(b));
}
KERNEL(compare_floats)
{
    BEGIN;
    float a = F(x), b = F(y), n = as_float(0x7fc00000 | (x & 0xff));
    o[0] = (a < b) + 2 * (a > b) + 4 * (a <= b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b);
    o[1] = (a < n) + 2 * (n > b) + 4 * (n == n) + 8 * (n != n) + 16 * !n + 32 * !a;
    o[2] = isequal(a, b) + 2 * isnotequal(a, n) + 4 * isgreater(a, b) + 8 * isless(a, b) +
           16 * isgreaterequal(a, a) + 32 * islessequal(n, a) + 64 * islessgreater(a, b);
}
KERNEL(classify)
{
    BEGIN;
    float inf = as_float(0x7f800000), n = as_float(0x7fc00000 | (x & 0xff)), a = F(x);
    o[0] = isnan(n) + 2 * isnan(a) + 4 * isinf(inf) + 8 * isinf(a) + 16 * isfinite(a) +
           32 * isfinite(-inf) + 64 * isnormal(a + 1000000) + 128 * isnormal(inf);
    o[1] = isordered(a, n) + 2 * isunordered(a, n) + 4 * isordered(a, a);
    o[2] = signbit(a) + 2 * signbit(-0.0f) + 4 * signbit(as_float(y));
}
KERNEL(least_and_greatest_floats)
{
    BEGIN;
    float a = F(x), b = F(y), n = as_float(0x7fc00000);
    o[0] = U(fmin(a, b));
    o[1] = U(fmax(a, b));
    o[2] = U(fmin(a, n));
    o[3] = U(fmax(n, b));
    o[4] = U(clamp(a, -10.0f, 10.0f));
    o[5] = U(min(a, b) + max(a, b));
    o[6] = U(maxmag(a, b));
    o[7] = U(minmag(a, b));
}
KERNEL(parts)
{
    BEGIN;
    float a = F(x), b = F(y);
    o[0] = U(fabs(a));
    o[1] = U(copysign(a, b));
    o[2] = U(fdim(a, b));
    o[3] = U(sign(a));
    o[4] = U(step(a, b));
    o[5] = U(ldexp(a, (int)(y & 15) - 8));
    o[6] = U(mix(a, b, 0.25f));
}
KERNEL(split)
{
    BEGIN;
    float a = F(x) / 1024, whole, below;
    o[0] = U(modf(a, &whole));
    o[1] = U(whole);
    o[2] = U(fract(a, &below));
    o[3] = U(below);
}
KERNEL(from_integers)
{
    BEGIN;
    o[0] = U(x);
    o[1] = U((int)x);
    o[2] = U((char)x) + U((ushort)y);
    o[3] = U((ulong)x << 20 | y);
    o[4] = U((long)(int)x * (int)y);
    o[5] = U(x > y);
}
KERNEL(to_integers)
{
    BEGIN;
    float a = F(x);
    o[0] = (int)a;
    o[1] = (uint)fabs(a);
    o[2] = (char)(a / 1048576);
    o[3] = (ulong)(fabs(a) * 65536);
    o[4] = (long)(a * 65536) >> 8;
    o[5] = (int)(a * 0.001f) + (a != 0 ? 1 : 0);
}
KERNEL(bits)
{
    BEGIN;
    float a = F(x);
    o[0] = as_uint(a) ^ 0x80000000;
    o[1] = U(as_float(as_int(a) & 0x7fffff00));
    o[2] = as_ushort2(a).y;
    o[3] = as_uint(as_float(as_short2(x & 0x7f7fffff)));
}
KERNEL(square_roots)
{
    BEGIN;
    float a = fabs(F(x));
    o[0] = U(sqrt(a));
    o[1] = U(sqrt((float)(x & 0xffff)));
}
KERNEL(doubles)
{
    BEGIN;
    double a = (int)x, b = (int)y * 0.25;
    o[0] = as_ulong(a + b) >> 32;
    o[1] = as_ulong(a * b) >> 20;
    o[2] = a < b;
    o[3] = (int)(a * 0.5);
    o[5] = as_ulong(floor(b) + fabs(a)) >> 20;
    o[6] = U(a - b);
    o[7] = as_ulong((double)F(z)) >> 24;
}
KERNEL(halves)
{
    BEGIN;
    half a = (half)((int)(x & 0xfff) - 2048), b = (half)((int)(y & 0xff)) * 0.125h;
    o[0] = as_ushort(a + b);
    o[1] = as_ushort(a * b);
    o[2] = a > b;
    o[3] = U(a);
    o[4] = (int)b;
    o[5] = as_ushort(fabs(a)) + as_ushort(fmin(a, b));
    o[6] = as_ushort((half)F(z));
}
KERNEL(literals)
{
    BEGIN;
    o[0] = U(0x1.8p3f + x % 4);
    o[1] = U(1e-3f * (x & 7));
    o[2] = U(.5f + 3.f + 1E2f);
    o[3] = 'a' + '\n' + '\x41' + '\101' + '\0';
    o[4] = 0x7fffffff + 017 + 10u + 1L;
    o[5] = sizeof(1.0f) + sizeof(1.0) * 16 + sizeof(1L) * 256 + sizeof('a') * 4096;
}
