/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "images.glsl"

layout(binding = 3) uniform sampler1D s1;
layout(binding = 4) uniform sampler2D s2;
layout(binding = 5) uniform sampler3D s3;
layout(binding = 6) uniform samplerCube sc;
layout(binding = 7) uniform sampler1DArray s1a;
layout(binding = 8) uniform sampler2DArray s2a;
layout(binding = 9) uniform samplerCubeArray sca;
layout(binding = 10) uniform isampler2D si;
layout(binding = 11) uniform usampler3D su;
layout(binding = 12) uniform isamplerCubeArray sic;

void main()
{
    vec4 p = vec4(F(0), F(1), F(2), F(3) * 2), d = vec4(F(4), F(5), F(6), F(7)) * 0.1;
    float lod = F(7) * 3;
    about(textureLod(s1, p.x, lod));
    about(textureLod(s2, p.xy, lod));
    about(textureLod(s3, p.xyz, lod));
    about(textureLod(sc, p.xyz, lod));
    about(textureLod(s1a, p.xw, lod));
    about(textureLod(s2a, p.xyw, lod));
    about(textureLod(sca, p, lod));
    put(textureLod(si, p.xy, lod));
    put(textureLod(su, p.xyz, lod));
    put(textureLod(sic, p, lod));
    if (some()) {
        about(textureGrad(s1, p.x, d.x, d.y));
        about(textureGrad(s2, p.xy, d.xy, d.zw));
        about(textureGrad(s3, p.xyz, d.xyz, d.yzw));
        about(textureGrad(sc, p.xyz, d.xyz, d.yzw));
        about(textureGrad(s2a, p.xyw, d.xy, d.zw));
    }
    about(textureLodOffset(s1, p.x, lod, 3));
    about(textureLodOffset(s2, p.xy, lod, ivec2(-8, 7)));
    about(textureGradOffset(s3, p.xyz, d.xyz, d.yzw, ivec3(1, -2, 3)));
    about(textureLodOffset(s2a, p.xyw, lod, ivec2(1, -1)));
    about(textureProjLod(s1, vec2(p.x, 1.5 + d.x), lod));
    about(textureProjLod(s2, vec3(p.xy, 2 + d.x), lod));
    about(textureProjGrad(s3, vec4(p.xyz, 1.25), d.xyz, d.yzw));
    about(textureProjLodOffset(s2, vec3(p.xy, -3), lod, ivec2(2, 1)));
    /* The same for all lanes. */
    about(textureLod(s2, vec2(number[0][0], number[1][0]), number[2][0]));
    about(texture(s3, vec3(0.3, 0.7, 0.1)));
}
