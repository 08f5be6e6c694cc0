/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "images.glsl"

layout(binding = 3) uniform sampler1DShadow s1;
layout(binding = 4) uniform sampler2DShadow s2;
layout(binding = 5) uniform samplerCubeShadow sc;
layout(binding = 6) uniform sampler2DArrayShadow s2a;

void main()
{
    vec4 p = vec4(F(0), F(1), F(2), F(3) * 2);
    float d = F(4), lod = F(7) * 3;
    about(textureLod(s1, vec3(p.x, 0, d), lod));
    about(textureLod(s2, vec3(p.xy, d), lod));
    about(textureGrad(sc, vec4(p.xyz, d), p.yzw * 0.1, p.xyz * 0.1));
    about(textureGrad(s2a, vec4(p.xyw, d), p.xy * 0.2, p.zw * 0.1));
    about(textureLodOffset(s2, vec3(p.xy, d), lod, ivec2(-1, 2)));
    about(textureProjLod(s2, vec4(p.xy, d, 1.5), lod));
    about(texture(s2, vec3(0.4, 0.6, 0.5)));
    about(textureGather(s2, p.xy, d));
    about(textureGather(sc, p.xyz, d));
    about(textureGatherOffset(s2a, p.xyw, d, ivec2(1, -1)));
}
