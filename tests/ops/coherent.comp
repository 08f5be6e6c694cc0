// SPDX-License-Identifier: MIT
// Memory operands of the Vulkan memory model: what is made available and visible, to whom; volatile.
// INPUT: int
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#pragma use_vulkan_memory_model
#include "ops.glsl"
layout(std430, set = 0, binding = 1) workgroupcoherent buffer C1 { uint c1[]; };
layout(std430, set = 0, binding = 1) devicecoherent volatile buffer C2 { uint c2[]; };
layout(std430, set = 0, binding = 1) queuefamilycoherent buffer C3 { uvec4 c3[]; };
layout(std430, set = 0, binding = 1) nonprivate buffer C4 { uint c4[]; };
#define BOTH gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible
shared uint s[128];
void main()
{
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x, base = 256 * 50;
    c1[base + g] = word(0);
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, BOTH);
    uint x = c1[base + (g ^ 1)];
    put(x);
    c2[base + 256 + g] = x + 1; put(c2[base + 256 + g]);
    c3[(base + 512) / 4 + g] = uvec4(x, 1, 2, word(1));
    put(c3[(base + 512) / 4 + g].w);
    c4[base + 256 * 8 + g] = x;
    s[l] = x; barrier(); put(s[127 - l]);
    memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, BOTH);
    put(c4[base + 256 * 8 + g]);
    near(1.0);
}
