/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_atomic_float : require
#include "images.glsl"

layout(binding = 3, r32ui) uniform uimage2D u;
layout(binding = 4, r32i) uniform iimage3D s;
layout(binding = 5, r32ui) uniform uimageBuffer b;
layout(binding = 6, r32f) uniform image2DArray f;
layout(binding = 7, r32i) uniform iimage1D several[3];

void main()
{
    ivec2 own = ivec2(me % 16, me / 16);
    /* Many invocations at one texel: the order shows in no sum. */
    imageAtomicAdd(u, ivec2(I(0), I(1)) & 3, uint(I(2)));
    imageAtomicAdd(u, ivec2(5, 5), uint(I(2)));
    imageAtomicMin(s, ivec3(I(0), I(1), I(2)) & 1, I(3));
    imageAtomicMax(s, ivec3(2, 2, 0), I(3));
    imageAtomicOr(b, I(4) % 300, 1 << (I(5) & 31));
    imageAtomicXor(b, -1, 7);
    imageAtomicAdd(f, ivec3(0, 0, 1), 0.25);
    imageAtomicAnd(several[nonuniformEXT(uint(I(6)) % 3)], I(0) & 3, I(1));
    barrier();
    /* Each its own texel. */
    put(imageAtomicExchange(s, ivec3(own, 1) + 4, I(0)));
    if (some()) {
        put(imageAtomicCompSwap(u, own + 8, 0u, uint(I(1))));
        put(imageAtomicExchange(f, ivec3(own, 0) + 1, F(0)) == 0 ? 1 : 2);
    }
    put(imageAtomicMin(u, own + 8, uint(I(2))));
}
