// SPDX-License-Identifier: MIT
// Integers of all widths: promotions, operators, built-in functions.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

KERNEL(add_and_multiply)
{
    BEGIN;
    o[0] = x + y * z;
    o[1] = (ushort)(x * y) - (uchar)z;
    ulong w = (ulong)x * y + z;
    o[2] = w >> 32;
    o[3] = w;
    o[4] = -x - ~y + !z;
}
KERNEL(divide)
{
    BEGIN;
    int a = x, b = (int)y >> 20 | 1;
    o[0] = x / (y >> 12 | 1);
    o[1] = x % (y >> 12 | 1);
    o[2] = b == -1 ? 0 : a / b;
    o[3] = b == -1 ? 0 : a % b;
    o[4] = (uchar)x / (uchar)(y | 1);
    o[5] = (char)x / (char)((y & 63) + 1);
    o[6] = (ulong)x * y / ((ulong)z + 1);
}
KERNEL(shift)
{
    BEGIN;
    o[0] = x << (y & 31) | x >> (z & 31);
    o[1] = (int)x >> (y & 31);
    o[2] = (short)x >> (y & 15);
    o[3] = ((ulong)x << 32 | y) >> (z & 63);
    o[4] = (uchar)(x << 3);
    o[5] = 1 << (x & 30);
}
KERNEL(compare)
{
    BEGIN;
    o[0] = (x < y) + 2 * (x > y) + 4 * (x <= z) + 8 * (x >= z) + 16 * (x == y) + 32 * (x != z);
    o[1] = ((int)x < (int)y) + 2 * ((int)x > (int)z);
    o[2] = ((char)x < (uchar)y) + 2 * ((short)x < (int)z) + 4 * (-1 < (uint)1);
    o[3] = ((long)(int)x < (long)y) + 2 * ((ulong)x > (ulong)(int)y);
}
KERNEL(promote)
{
    BEGIN;
    char c = x;
    uchar u = y;
    short s = z;
    o[0] = c + u;
    o[1] = c * s;
    o[2] = ~u;
    o[3] = -s;
    o[4] = c << 4;
    o[5] = (ushort)(u + 0xff00) + s;
    o[6] = sizeof(c + u) + sizeof(u ? c : u) * 16 + sizeof((char)1) * 256;
}
KERNEL(assign)
{
    BEGIN;
    uchar c = x;
    int s = y;
    c += y;
    c *= 3;
    c ^= z;
    s -= x & 0xffff;
    s /= 7;
    s %= 1000;
    s <<= 3;
    s |= 5;
    s &= 0xfff7;
    o[0] = c++ + ++c;
    o[1] = s-- - --s;
    o[2] = c;
    o[3] = s;
    o[4] = (x += y, x ^= z);
}
KERNEL(saturate)
{
    BEGIN;
    o[0] = add_sat(x, y);
    o[1] = add_sat((int)x, (int)y);
    o[2] = sub_sat((short)x, (short)y);
    o[3] = sub_sat((uchar)x, (uchar)y);
    o[4] = add_sat((char)x, (char)y) + add_sat((ushort)x, (ushort)z);
    o[5] = sub_sat((long)((ulong)x << 33), (long)((ulong)y << 33)) >> 40;
    o[6] = mad_sat((int)x, (int)y >> 12, (int)z);
    o[7] = mad_sat(x, y >> 24, z);
}
KERNEL(halve)
{
    BEGIN;
    o[0] = hadd(x, y);
    o[1] = rhadd(x, y);
    o[2] = hadd((int)x, (int)y);
    o[3] = rhadd((int)x, (int)y);
    o[4] = hadd((uchar)x, (uchar)y) + rhadd((short)x, (short)y);
    o[5] = hadd((long)(int)x, (long)(int)y);
}
KERNEL(high_product)
{
    BEGIN;
    o[0] = mul_hi(x, y);
    o[1] = mul_hi((int)x, (int)y);
    o[2] = mad_hi(x, y, z);
    o[3] = mul_hi((ushort)x, (ushort)y);
    o[4] = mul_hi((char)x, (char)y);
    ulong w = mul_hi((ulong)x << 32 | y, (ulong)z << 31 | x);
    o[5] = w;
    o[6] = w >> 32;
    o[7] = mul_hi((long)((ulong)x << 32 | y), (long)((ulong)z << 32 | x)) >> 13;
}
KERNEL(count_bits)
{
    BEGIN;
    o[0] = popcount(x) + popcount((uchar)y) * 64 + popcount((ushort)z) * 4096;
    o[1] = popcount((ulong)x << 13 | y);
    o[2] = clz(x >> (y & 31)) + clz((uchar)(x & 15)) * 64 + clz((ushort)(y & 511)) * 4096;
    o[3] = clz((ulong)x << (y & 31)) + clz(0u) * 256;
    o[4] = ctz(x << (y & 31)) + ctz((uchar)(x & 0xf8)) * 64;
    o[5] = ctz((ulong)x << 32) + ctz(0) * 256;
}
KERNEL(turn)
{
    BEGIN;
    o[0] = rotate(x, y);
    o[1] = rotate((uchar)x, (uchar)(y & 7));
    o[2] = rotate((ushort)x, (ushort)(y & 15));
    o[3] = rotate((ulong)x << 32 | y, (ulong)(z & 63)) >> 16;
    o[4] = rotate((int)x, 5);
}
KERNEL(distance_of_integers)
{
    BEGIN;
    o[0] = abs((int)x);
    o[1] = abs_diff(x, y);
    o[2] = abs_diff((int)x, (int)y);
    o[3] = abs((char)x) + abs((short)y) * 256;
    o[4] = abs_diff((char)x, (char)y) + abs_diff((ushort)x, (ushort)z) * 256;
    o[5] = abs((long)(int)x);
}
KERNEL(least_and_greatest)
{
    BEGIN;
    o[0] = min(x, y);
    o[1] = max((int)x, (int)y);
    o[2] = clamp(x, 1000u, 2000000000u);
    o[3] = clamp((int)x, -100, 100);
    o[4] = min((char)x, (char)y) + max((uchar)x, (uchar)y);
    o[5] = max((long)x << 1, (long)y) >> 3;
    o[6] = clamp((short)x, (short)-5, (short)(y & 0xff));
}
KERNEL(of_24_bits)
{
    BEGIN;
    o[0] = mul24(x & 0xfff, y & 0xfff);
    o[1] = mul24((int)x >> 20, (int)y >> 20);
    o[2] = mad24(x & 0xfff, y & 0xfff, z);
    o[3] = mad24((int)x >> 20, (int)y >> 20, (int)z);
}
KERNEL(put_together)
{
    BEGIN;
    o[0] = upsample((uchar)x, (uchar)y);
    o[1] = upsample((ushort)x, (ushort)y);
    ulong w = upsample(x, y);
    o[2] = w >> 20;
    o[3] = upsample((char)x, (uchar)y);
    o[4] = upsample((int)x, y) >> 24;
}
KERNEL(choose_bits)
{
    BEGIN;
    o[0] = bitselect(x, y, z);
    o[1] = bitselect((uchar)x, (uchar)y, (uchar)z);
    o[2] = select(x, y, z & 1);
    o[3] = select((int)x, (int)y, (int)z);
    o[4] = as_uint(bitselect(as_float(x), as_float(y), as_float(z & 0x7fffff)));
}
