/* SPDX-License-Identifier: MIT */
/* Levels of detail by derivatives, as in fragments: of places, of directions, of projected places. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_compute_shader_derivatives : require
#include "images.glsl"
layout(derivative_group_linearKHR) in;

layout(binding = 3) uniform sampler1D s1;
layout(binding = 4) uniform sampler2D s2;
layout(binding = 5) uniform sampler3D s3;
layout(binding = 6) uniform samplerCube sc;
layout(binding = 7) uniform sampler2DArray s2a;
layout(binding = 8) uniform samplerCubeArray sca;
layout(binding = 9) uniform usampler2D su;
layout(binding = 10) uniform sampler2DShadow d2;

void main()
{
    /* Neighbours are near one another, by a distance that differs. */
    uint quad = me / 4;
    vec4 p = vec4(number[0][quad], number[1][quad], number[2][quad], number[3][quad]);
    precise vec4 q = p + vec4(F(4), F(5), F(6), F(7)) * (0.2 / float(1 + (quad & 7)));
    about(texture(s1, q.x));
    about(texture(s2, q.xy));
    about(texture(s2, q.xy, F(7)));
    about(texture(s3, q.xyz));
    precise vec3 east = p.xyz + vec3(3, 0, 0) + q.xyz * 0.1, north = p.xyz + vec3(0, 3, 0) + q.yzx * 0.1;
    about(texture(sc, east));
    about(texture(s2a, vec3(q.xy, p.w)));
    about(texture(sca, vec4(north, p.w)));
    put(texture(su, q.xy));
    about(texture(d2, vec3(q.xy, 0.4)));
    about(textureProj(s2, vec3(q.xy, 2 + abs(q.z))));
    about(textureProj(s3, vec4(q.xyz, 1.5 + abs(q.w)), 0.5));
    about(textureOffset(s2, q.xy, ivec2(1, -2)));
    about(textureQueryLod(s2, q.xy));
    about(textureQueryLod(s3, q.xyz));
    if ((quad & 1) != 0)
        about(texture(s2, q.yz));
    /* The same for all lanes. */
    about(texture(s3, vec3(0.3, 0.7, 0.1)));
}
