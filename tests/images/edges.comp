/* SPDX-License-Identifier: MIT
 *
 * Coordinates, layers and samples that are anything, next to where numbers end: what is outside
 * reads as zeros and is not written, and nothing else is touched.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "images.glsl"

layout(binding = 3, rgba8) uniform image1D i1;
layout(binding = 4, rgba32f) uniform image2D i2;
layout(binding = 5, rgba16f) uniform image3D i3;
layout(binding = 6, rg16f) uniform imageCube ic;
layout(binding = 7, rgba8ui) uniform uimage2DArray i2a;
layout(binding = 8, r32ui) uniform uimageBuffer ib;
layout(binding = 9, r32ui) uniform uimage2D counters;
layout(binding = 10, rg8i) uniform iimage2D several[3];
layout(binding = 11) uniform sampler2D s2;
layout(binding = 12) uniform sampler2DArray s2a;
layout(binding = 13) uniform usamplerBuffer sb;

/* 0, the ends of 8, 16 and 32 bits, what bytes of a texel make of those, the image's own size. */
int edge(uint number, int size)
{
    const int ends[12] = { 0, size, 127, 255, 32767, 65535, 1 << 27, 1 << 28, 1 << 29, 1 << 30,
                           2147483647, -2147483647 - 1 };
    uint k = uint(whole[number % 8][(me + number * 37) % 256]);
    return ends[k % 12] + int(k / 12 % 33) - 16;
}

ivec2 edges(uint number, ivec2 size)
{
    return ivec2(edge(number, size.x), edge(number + 1, size.y));
}

ivec3 edges(uint number, ivec3 size)
{
    return ivec3(edges(number, size.xy), edge(number + 2, size.z));
}

void main()
{
    for (uint n = 0; n < 4; n++) {
        put(imageLoad(i1, edge(n, imageSize(i1))));
        put(imageLoad(i2, edges(n, imageSize(i2))));
        put(imageLoad(i3, edges(n, imageSize(i3))));
        put(imageLoad(ic, edges(n, ivec3(imageSize(ic), 6))));
        put(imageLoad(i2a, edges(n, imageSize(i2a))));
        put(imageLoad(ib, edge(n, imageSize(ib))));
        uint which = uint(I(n)) % 3;
        put(imageLoad(several[nonuniformEXT(which)], edges(n, imageSize(several[0]))));
        put(texelFetch(s2, edges(n, textureSize(s2, 0)), 0));
        put(texelFetch(s2a, edges(n, textureSize(s2a, 0)), 0));
        put(texelFetch(sb, edge(n, textureSize(sb))));
    }
    barrier();
    /* Of invocations that write one texel all write the same. */
    for (uint n = 0; n < 4; n++) {
        if (some())
            imageStore(i1, edge(n, imageSize(i1)), vec4(0.25));
        imageStore(i2, edges(n, imageSize(i2)), vec4(2.5));
        imageStore(i3, edges(n, imageSize(i3)), vec4(3.5));
        imageStore(ic, edges(n, ivec3(imageSize(ic), 6)), vec4(4.5));
        imageStore(i2a, edges(n, imageSize(i2a)), uvec4(5));
        imageStore(ib, edge(n, imageSize(ib)), uvec4(6));
        uint which = uint(I(n)) % 3;
        imageStore(several[nonuniformEXT(which)], edges(n, imageSize(several[0])), ivec4(7));
        imageAtomicAdd(counters, edges(n, imageSize(counters)), 1);
    }
}
