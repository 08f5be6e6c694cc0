// SPDX-License-Identifier: MIT
// Votes of quads.
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_quad_control : require
#include "ops.glsl"

void main()
{
    bool p = (word(0) & 3u) != 0;
    put(subgroupQuadAll(p)); put(subgroupQuadAny(!p));
    if ((word(1) & 3u) != 0) {  // of the quad's active lanes
        put(subgroupQuadAll(p)); put(subgroupQuadAny(!p));
    }
    near(1.0);
}
