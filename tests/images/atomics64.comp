/* SPDX-License-Identifier: MIT */
/* Images of 64-bit integers: read, written and worked on by atomics. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_image_int64 : require
#include "images.glsl"

layout(binding = 3, r64ui) uniform u64image2D u;
layout(binding = 4, r64i) uniform i64image3D s;
layout(binding = 5, r64ui) uniform u64imageBuffer b;
layout(binding = 6, r64ui) uniform u64image2DArray f;
layout(binding = 7, r64i) uniform i64image1D several[3];
layout(binding = 8, r64i) uniform readonly i64image2D only;

void put(uint64_t x) { put(uint(x)); put(uint(x >> 32)); }
void put(int64_t x) { put(uint64_t(x)); }

void main()
{
    ivec2 own = ivec2(me % 16, me / 16);
    uint64_t wide = uint64_t(uint(I(2))) << 32 | uint(I(3));
    /* Many invocations at one texel: the order shows in no sum. */
    imageAtomicAdd(u, ivec2(I(0), I(1)) & 3, wide);
    imageAtomicMin(s, ivec3(I(0), I(1), I(2)) & 1, int64_t(wide) - 5);
    imageAtomicMax(s, ivec3(2, 2, 0), int64_t(wide));
    imageAtomicOr(b, I(4) % 300, 1ul << (I(5) & 63));
    imageAtomicXor(b, -1, 7ul);
    imageAtomicAnd(several[nonuniformEXT(uint(I(6)) % 3)], I(0) & 3, int64_t(wide));
    barrier();
    /* Each its own texel. */
    put(imageAtomicExchange(s, ivec3(own, 1) + 4, int64_t(wide)));
    if (some())
        put(imageAtomicCompSwap(u, own + 8, 0ul, wide));
    put(imageAtomicMin(u, own + 8, wide >> 3));
    i64vec4 x = imageLoad(only, own);
    put(x.x); put(x.y); put(x.z); put(x.w);
    imageStore(f, ivec3(own, 1), u64vec4(wide * 3, 1, 2, 3));
    put(imageLoad(f, ivec3(own, 1)).x);
}
