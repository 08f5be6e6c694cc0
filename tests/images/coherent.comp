/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#pragma use_vulkan_memory_model
#include "images.glsl"

layout(binding = 3, rgba8i) workgroupcoherent uniform iimage2D a;
layout(binding = 4, r32ui) devicecoherent volatile uniform uimageBuffer b;
layout(binding = 5, rgba16f) workgroupcoherent restrict uniform image2DArray c;
layout(binding = 6, r32ui) workgroupcoherent uniform uimage2D d;

/* What one invocation writes another reads. */
void main()
{
    ivec2 own = ivec2(me % 16, me / 16), other = ivec2((me + 5) % 16, me / 16);
    imageStore(a, own, ivec4(I(0), I(1), I(2), I(3)) % 128);
    imageStore(b, int(me), uvec4(I(4)));
    imageStore(c, ivec3(own, 0), vec4(F(0), F(1), F(2), F(3)));
    imageAtomicAdd(d, own, uint(I(5)));
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsImage,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable |
                       gl_SemanticsMakeVisible);
    put(imageLoad(a, other));
    put(imageLoad(b, int(me ^ 31)));
    put(imageLoad(c, ivec3(other, 0)));
    put(imageAtomicLoad(d, other, gl_ScopeWorkgroup, gl_StorageSemanticsImage,
                        gl_SemanticsAcquire));
}
