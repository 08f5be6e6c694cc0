/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "images.glsl"

layout(binding = 3) uniform texture1D t1;
layout(binding = 4) uniform texture2D t2;
layout(binding = 5) uniform texture3D t3;
layout(binding = 6) uniform texture1DArray t1a;
layout(binding = 7) uniform texture2DArray t2a;
layout(binding = 8) uniform utextureBuffer tb;
layout(binding = 9) uniform itexture2D ti;
layout(binding = 10) uniform sampler2D s2;
layout(binding = 11) uniform textureBuffer tf;
layout(binding = 12) uniform textureCubeArray tc;
layout(binding = 13) uniform samplerCube sc;
layout(binding = 14) uniform sampler s;
layout(binding = 15) uniform itexture2DArray many[4];
layout(binding = 16) uniform sampler some_samplers[3];

void main()
{
    ivec3 p = ivec3(I(0), I(1), I(2)) % 40 - 2;
    int lod = I(3) % 6 - 1, layer = I(4) % 8 - 1;
    put(texelFetch(t1, p.x, lod));
    put(texelFetch(t2, p.xy, lod));
    put(texelFetch(t3, p, lod));
    put(texelFetch(t1a, ivec2(p.x, layer), lod));
    put(texelFetch(t2a, ivec3(p.xy, layer), lod));
    put(texelFetch(tb, I(5) % 300));
    put(texelFetch(ti, p.xy, lod));
    put(texelFetch(s2, p.xy, lod));
    put(texelFetch(tf, I(5) % 300 - 20));
    put(texelFetchOffset(t2, p.xy, lod, ivec2(-1, 5)));
    put(texelFetch(t2, ivec2(1, 2), 0));
    if (some()) {
        put(texelFetch(many[nonuniformEXT(I(6) & 3)], ivec3(p.xy, layer), lod));
        about(textureLod(sampler2DArray(t2a, some_samplers[nonuniformEXT(uint(I(6)) % 3)]),
                         vec3(F(0), F(1), F(2)), F(3)));
    }
    about(textureLod(sampler2D(t2, s), vec2(F(0), F(1)), 0));
    /* Queries. */
    put(textureSize(t1, lod));
    put(textureSize(t2, lod));
    put(textureSize(t3, lod));
    put(textureSize(t1a, lod));
    put(textureSize(t2a, lod));
    put(textureSize(tb));
    put(textureSize(tc, lod));
    put(textureSize(sc, 1));
    put(textureSize(many[nonuniformEXT(I(6) & 3)], 0));
    put(textureQueryLevels(t2));
    put(textureQueryLevels(many[nonuniformEXT(I(6) & 3)]));
    put(textureQueryLevels(sc));
}
