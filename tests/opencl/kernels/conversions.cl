// SPDX-License-Identifier: MIT
// convert_T with rounding and saturation, as_T.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

/* Where it widens by convert_T, clang mistakes the sign of what it widens (LLVM 22). */
#ifdef __clang__
#define WIDE(function, type, x) ((type)(x))
#define WIDE4(v) ((uint4)((v).x, (v).y, (v).z, (v).w))
#else
#define WIDE(function, type, x) function(x)
#define WIDE4(v) convert_uint4(v)
#endif
#define F(x) ((float)((int)(x) >> 8) * 0.0009765625f)

KERNEL(narrow_and_saturate)
{
    BEGIN;
    o[0] = convert_uchar_sat((int)x >> 22);
    o[1] = convert_char_sat(y >> 22);
    o[2] = convert_ushort_sat((int)x);
    o[3] = convert_short_sat(x);
    o[4] = convert_int_sat(x);
    o[5] = convert_uint_sat((int)y);
    o[6] = convert_uchar_sat((char)x) + 256 * convert_char_sat((uchar)y);
    o[7] = convert_uint_sat((long)(int)x * 3);
}
KERNEL(narrow)
{
    BEGIN;
    o[0] = convert_uchar(x);
    o[1] = convert_char(x);
    o[2] = convert_short((int)y);
    o[3] = WIDE(convert_ulong, ulong, x) >> 8;
    o[4] = WIDE(convert_long, long, (int)x) >> 8;
    o[5] = WIDE(convert_int, int, (char)z);
}
KERNEL(round_to_integers)
{
    BEGIN;
    float a = F(x) / 4096, h = (float)((int)y >> 28) + 0.5f;
    o[0] = convert_int_rte(a);
    o[1] = convert_int_rtz(a);
    o[2] = convert_int_rtp(a);
    o[3] = convert_int_rtn(a);
    o[4] = convert_int_rte(h) * 16 + convert_int_rtz(h);
    o[5] = convert_int_rtp(h) * 16 + convert_int_rtn(h);
    o[6] = convert_int(a);
    o[7] = convert_short_rte(h);
}
KERNEL(saturate_floats)
{
    BEGIN;
    float a = F(x);
    o[0] = convert_uchar_sat(a);
    o[1] = convert_char_sat(a);
    o[2] = convert_short_sat_rte(a * 0.25f);
    o[3] = convert_uint_sat(a * 4096);
    o[4] = convert_int_sat(a * 4096);
    o[5] = convert_ushort_sat_rtp(a);
    o[6] = convert_int_sat(as_float(0x7fc00000)) + convert_uchar_sat(as_float(0x7f800000));
    o[7] = convert_char_sat_rtn(a / 65536);
}
KERNEL(to_float)
{
    BEGIN;
    o[0] = as_uint(convert_float(x));
    o[1] = as_uint(convert_float((int)y));
    o[2] = as_uint(convert_float_rte((short)x));
    o[3] = as_uint(convert_float((ulong)x << 7));
    o[4] = as_uint(convert_float(convert_half(F(x) / 4096)));
    o[5] = as_uint(convert_float((double)(int)x / 3));
}
KERNEL(convert_vectors)
{
    BEGIN;
    int4 v = (int4)(x, y, z, 7) >> 20;
    uchar4 c = convert_uchar4_sat(v);
    o[0] = c.x + c.y * 256 + c.z * 65536;
    float4 f = convert_float4(v);
    o[1] = as_uint(f.x + f.w);
    short2 s = convert_short2(v.yz);
    o[2] = s.x + s.y;
    o[3] = convert_int3_rtp(f.xyz / 3).y;
    o[4] = WIDE4(c).z;
    o[5] = convert_char3_sat_rte(f.xyz).x;
}
KERNEL(reinterpret)
{
    BEGIN;
    o[0] = as_int(x) >> 3;
    o[1] = as_uchar4(x).z;
    o[2] = as_char4(y).w;
    o[3] = as_ushort2(z).y;
    o[4] = as_uint(as_uchar4((uint)(x ^ y)).wzyx);
    o[5] = as_ulong((uint2)(x, y)) >> 16;
    o[6] = as_uint2((ulong)x << 32 | y).x;
    o[7] = as_uint3(as_uint4((uint4)(x, y, z, 1))).z;
}
KERNEL(to_bool)
{
    BEGIN;
    bool a = x & 1, b = F(y), c = !a;
    o[0] = a + 2 * b + 4 * c + 8 * (bool)(x & 2);
    o[1] = a == c;
    o[2] = sizeof(bool);
}
KERNEL(directed_roundings)
{
    BEGIN;
    float a = (float)(int)x / 65536 / 7, tiny = as_float((x & 0x83ffffff) | 0x32000000);
    o[0] = as_uint(convert_float_rtz(x)) ^ as_uint(convert_float_rtp(x | 0xffffff00));
    o[1] = as_uint(convert_float_rtp((int)y)) ^ as_uint(convert_float_rtn((int)y));
    o[2] = as_uint(convert_float_rtn((double)(int)z / 3));
    o[3] = as_uint(convert_float_rtz((long)x << 32 | y)) +
           as_uint(convert_float_rtn((ulong)y << 32 | x));
    o[4] = as_ushort(convert_half_rtz(a)) + as_ushort(convert_half_rtp(tiny)) * 3;
    o[5] = as_ushort(convert_half_rtn(tiny)) + as_ushort(convert_half_rtz(x)) * 3 +
           as_ushort(convert_half_rtp((int)y)) * 5 + as_ushort(convert_half_rtn((int)z)) * 7;
    vstore_half4_rtn((float4)(a, 1, 2, 0.1f), 0, (global half *)(o + 6));
}
KERNEL(roundings_of_halves_in_memory)
{
    BEGIN;
    global half *h = (global half *)o;
    float a = (float)(int)x / 65536 / 7;
    vstore_half_rtz(a, 0, h);
    vstore_half_rtp(a, 1, h);
    vstore_half_rtn(-a, 2, h);
    vstore_half_rte(a * 3, 3, h);
    vstore_half8_rtz(convert_float8((uint8)(x, y, z, 1, 2, 3, 4, 5)) / 7.0f, 1, h);
}
