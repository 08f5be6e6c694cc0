// SPDX-License-Identifier: MIT
// Derivatives in quads of neighbours in x and y, and of four invocations one after the other; who is in a quad.
// VARIANTS: WORKGROUP=local_size_x=16,local_size_y=8 QUADS=1 | WORKGROUP=local_size_x=6,local_size_y=4,local_size_z=5 QUADS=1 | WORKGROUP=local_size_x=128 | WORKGROUP=local_size_x=8,local_size_y=16
// INPUT: float
// SIZES: 32 8 128
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_compute_shader_derivatives : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "ops.glsl"
#ifdef QUADS
layout(derivative_group_quadsKHR) in;
#else
layout(derivative_group_linearKHR) in;
#endif

void main()
{
    float x = uintBitsToFloat(word(0)), y = uintBitsToFloat(word(1));
    put(gl_LocalInvocationIndex); put(gl_LocalInvocationID.x); put(gl_LocalInvocationID.y);
    put(gl_LocalInvocationID.z); put(gl_GlobalInvocationID.x); put(gl_GlobalInvocationID.y);
    put(gl_SubgroupInvocationID); put(gl_SubgroupID);
    put(subgroupQuadSwapHorizontal(gl_LocalInvocationIndex));
    put(subgroupQuadSwapVertical(gl_LocalInvocationIndex));
    put(dFdx(x)); put(dFdy(x)); put(fwidth(x));
    put(dFdxFine(y)); put(dFdyFine(y)); put(fwidthFine(y));
    put(dFdxCoarse(x * 2)); put(dFdyCoarse(x * 2)); put(fwidthCoarse(x * 2));
    vec3 p = vec3(x, y, x + y);
    vec3 dx = dFdx(p), dy = dFdy(p), w = fwidth(p);
    put(dx.y); put(dy.z); put(w.x);
    // linear in the place: the slope is the same in the whole quad
    vec2 at = vec2(gl_LocalInvocationID.xy);
    put(dFdx(at.x)); put(dFdy(at.y)); put(dFdx(at.y)); put(dFdy(at.x));
    put(dFdx(uintBitsToFloat(words[3])));  // one value for all
    uint quad = gl_SubgroupInvocationID / 4;
    if ((quad & 1) != 0)                   // in what is uniform for the quad
        put(dFdx(y * 3));
    else
        put(dFdy(y * 3));
    near(1.0);
}
