/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "images.glsl"

layout(binding = 3) uniform sampler2D s2;
layout(binding = 4) uniform sampler2DArray s2a;
layout(binding = 5) uniform samplerCube sc;
layout(binding = 6) uniform isampler2D si;
layout(binding = 7) uniform usamplerCubeArray sca;

const ivec2 offsets[4] = ivec2[](ivec2(-8, 7), ivec2(0, 1), ivec2(3, -2), ivec2(7, 0));

void main()
{
    vec4 p = vec4(F(0), F(1), F(2), F(3) * 2);
    about(textureGather(s2, p.xy));
    about(textureGather(s2, p.xy, 2));
    about(textureGather(s2a, p.xyw, 1));
    about(textureGather(sc, p.xyz, 3));
    put(textureGather(si, p.xy, 1));
    put(textureGather(sca, p, 2));
    about(textureGatherOffset(s2, p.xy, ivec2(-3, 4), 1));
    /* An offset that differs between lanes. */
    about(textureGatherOffset(s2, p.xy, ivec2(I(0) & 7, -(I(1) & 7)), 1));
    about(textureGatherOffsets(s2a, p.xyw, offsets, 0));
    put(textureGatherOffsets(si, p.xy, offsets, 3));
}
