/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_image_load_formatted : require
#include "images.glsl"

layout(binding = 3) uniform texture2DMS t;
layout(binding = 4) uniform texture2DMSArray ta;
layout(binding = 5) uniform utexture2DMS tu;
layout(binding = 6) uniform isampler2DMSArray s;
layout(binding = 7) uniform texture2DMS several[3];
layout(binding = 8, rgba8) uniform image2DMS i;
layout(binding = 9, r32ui) uniform uimage2DMSArray ia;
layout(binding = 10) uniform iimage2DMS any;
layout(binding = 11, r32i) uniform iimage2DMS counts;

void main()
{
    ivec2 p = ivec2(I(0), I(1)) % 40 - 2;
    int layer = I(4) % 8 - 1, one = I(3) % 10 - 1;
    put(texelFetch(t, p, one));
    put(texelFetch(t, ivec2(0), 1));
    put(texelFetch(ta, ivec3(p, layer), one));
    put(texelFetch(tu, p, one));
    put(texelFetch(s, ivec3(p, layer), one));
    put(texelFetch(several[nonuniformEXT(uint(I(6)) % 3)], p, one));
    put(imageLoad(i, p, one));
    put(imageLoad(ia, ivec3(p, layer), one));
    put(imageLoad(any, p, 0));
    /* Queries. */
    put(textureSize(t));
    put(textureSize(ta));
    put(textureSize(s));
    put(imageSize(i));
    put(imageSize(ia));
    put(textureSamples(t));
    put(textureSamples(ta));
    put(textureSamples(several[nonuniformEXT(uint(I(6)) % 3)]));
    put(imageSamples(i));
    put(imageSamples(ia));
    imageAtomicAdd(counts, p & 3, one, I(2));
    imageAtomicMax(counts, ivec2(4), 1, I(2));
    barrier();
    /* One sample an invocation. */
    ivec2 own = ivec2(me % 8, me / 8 % 8);
    int mine = int(me / 64);
    vec4 x = vec4(F(0), F(1), F(2), F(3)) - 0.5;
    if (some()) {
        imageStore(i, own, mine, x);
        imageStore(ia, ivec3(own, 1), mine, uvec4(I(5)));
    }
    imageStore(any, own, mine, ivec4(I(0), I(1), I(2), I(3)));
    imageStore(any, own, 8, ivec4(0));
    if (some())
        put(imageAtomicExchange(ia, ivec3(own, 0), mine, uint(I(5))));
    put(imageAtomicMin(ia, ivec3(own, 0), mine, uint(I(6))));
}
