// SPDX-License-Identifier: MIT
//
// Saturating conversions of each integer type to each, one and three at a time, and vloada_half3, by
// what they are to give: LLVM 22's SPIR-V target takes signs, and the function, for others.
//
// RUN: %heddle run %s --entry saturates --bind 0=full:9:s32[64] --global 64 --local 32 \
// RUN:   --compare 0=zeros:s32[64] --tolerance 0
// RUN: %heddle run %s --entry saturates --bind 0=full:9:s32[64] --global 64 --local 32 \
// RUN:   --device reference --compare 0=zeros:s32[64] --tolerance 0
// RUN: for D in cpu reference; do %heddle run %s --entry padded --bind 0=full:9:s32[3] \
// RUN:   --bind 1=list:f16:9,9,9,9,1.5,2.5,3.5 --global 1 --device $D \
// RUN:   --compare 0=list:s32:15,25,35 --tolerance 0 || exit 1; done

#define TO(F, T, low, high, top)                                                                   \
    {                                                                                              \
        const bool is_ulong = sizeof(F) == 8 && (F)-1 > 0;                                         \
        const T want = is_ulong ? (T)min((ulong)v, (ulong)(top))                                   \
                                : (T)clamp((long)v, (long)(low), (long)(high));                    \
        bad += convert_##T##_sat(v) != want;                                                       \
        bad += any(convert_##T##3_sat((F##3)(v, 0, v)) != (T##3)(want, 0, want));                  \
    }
#define FROM(F)                                                                                    \
    {                                                                                              \
        const F v = (F)x;                                                                          \
        TO(F, char, -128, 127, 127)                                                                \
        TO(F, uchar, 0, 255, 255)                                                                  \
        TO(F, short, -32768, 32767, 32767)                                                         \
        TO(F, ushort, 0, 65535, 65535)                                                             \
        TO(F, int, INT_MIN, INT_MAX, INT_MAX)                                                      \
        TO(F, uint, 0, UINT_MAX, UINT_MAX)                                                         \
        TO(F, long, LONG_MIN, LONG_MAX, LONG_MAX)                                                  \
        TO(F, ulong, 0, LONG_MAX, ULONG_MAX)                                                       \
    }
kernel void saturates(global int *out)
{
    const int g = get_global_id(0);
    int bad = 0;
    for (int i = -1; i < 2; i++) { /* around each power of two, and its opposite */
        const long x = (1l << g) + i;
        FROM(char) FROM(uchar) FROM(short) FROM(ushort) FROM(int) FROM(uint) FROM(long) FROM(ulong)
    }
    out[g] = bad;
}
kernel void padded(global int *out, global const half *in)
{
    const float3 v = vloada_half3(1, in) * 10;
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
}
