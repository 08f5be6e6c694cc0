/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_image_load_formatted : require
#include "images.glsl"

layout(binding = 3, rgba8) uniform image1D i1;
layout(binding = 4, rgba32f) uniform image2D i2;
layout(binding = 5, rgba16_snorm) uniform image3D i3;
layout(binding = 6, rg16f) uniform imageCube ic;
layout(binding = 7, r11f_g11f_b10f) uniform image1DArray i1a;
layout(binding = 8, rgb10_a2) uniform image2DArray i2a;
layout(binding = 9, rgba8ui) uniform uimageCubeArray ica;
layout(binding = 10, rg8i) uniform iimage2D ii;
layout(binding = 11, r32ui) uniform uimageBuffer ib;
layout(binding = 12) uniform image2D any;
layout(binding = 13) uniform writeonly uimage2DArray wo;
layout(binding = 14, r16) uniform image2D several[3];
layout(binding = 15, rgba16i) readonly uniform iimageBuffer rb;
layout(binding = 16, rgb10_a2ui) uniform uimage2D packed;
layout(binding = 17, r32i) uniform iimage2DMS ms;

void main()
{
    ivec3 p = ivec3(I(0), I(1), I(2)) % 40 - 2;
    int layer = I(4) % 8 - 1;
    put(imageLoad(i1, p.x));
    put(imageLoad(i2, p.xy));
    put(imageLoad(i3, p));
    put(imageLoad(ic, ivec3(p.xy, layer)));
    put(imageLoad(i1a, ivec2(p.x, layer)));
    put(imageLoad(i2a, ivec3(p.xy, layer)));
    put(imageLoad(ica, ivec3(p.xy, layer * 2)));
    put(imageLoad(ii, p.xy));
    put(imageLoad(ib, p.x * 10));
    put(imageLoad(any, p.xy));
    put(imageLoad(several[nonuniformEXT(uint(I(6)) % 3)], p.xy));
    put(imageLoad(rb, I(5) % 300 - 10));
    put(imageLoad(packed, p.xy));
    put(imageLoad(ms, p.xy, I(3) % 2));
    put(imageSize(i1));
    put(imageSize(i2));
    put(imageSize(i3));
    put(imageSize(ic));
    put(imageSize(i1a));
    put(imageSize(i2a));
    put(imageSize(ica));
    put(imageSize(ib));
    put(imageSize(several[nonuniformEXT(uint(I(6)) % 3)]));
    put(imageSize(ms));
    put(imageSamples(ms));
    barrier();
    /* One texel an invocation: which of several writes stays is anyone's. */
    ivec2 own = ivec2(me % 16, me / 16);
    vec4 x = vec4(F(0), F(1), F(2), F(3)) - 0.5;
    ivec4 n = ivec4(I(0), I(1), I(2), I(3));
    if (some()) {
        imageStore(i1, int(me), x);
        imageStore(i2, own, x);
        imageStore(i3, ivec3(own, 1), x);
        imageStore(ic, ivec3(own, 5), x);
        imageStore(i1a, ivec2(me, 1), x);
        imageStore(i2a, ivec3(own, 0), x);
    }
    imageStore(ica, ivec3(own, 7), uvec4(n));
    imageStore(ii, own, n);
    imageStore(ib, int(me), uvec4(n));
    imageStore(any, own, x);
    imageStore(wo, ivec3(own, layer), uvec4(n) >> 3);
    imageStore(several[nonuniformEXT(me % 3)], own, x);
    imageStore(packed, own, uvec4(n));
    imageStore(any, ivec2(1000, 1000), x);
    imageStore(any, ivec2(-1, 0), x);
    if (me == 0)
        imageStore(several[1], ivec2(16, 0), vec4(0.25));
}
