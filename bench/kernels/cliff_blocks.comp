// SPDX-License-Identifier: MIT
// A matrix times a vector, a row for each subgroup, a block of 32 weights for each lane: FORMAT 8 with
// a scale and 32 bytes, 34 bytes together; 4 with a scale and 32 nibbles, 18 bytes together, the low
// ones first. The vector comes as bytes with a scale for each block.
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_integer_dot_product : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#ifndef FORMAT
#define FORMAT 8
#endif

layout(local_size_x = 32) in;
struct Block { float16_t scale; uint16_t q[2 * FORMAT]; };
struct Part { int32_t q[8]; float scale; };
layout(set = 0, binding = 0) readonly buffer Matrix { Block blocks[]; };
layout(set = 0, binding = 1) readonly buffer Vector { Part parts[]; };
layout(set = 0, binding = 2) writeonly buffer Result { float result[]; };
layout(push_constant) uniform Push { uint n; };

void main()
{
    uint row = gl_WorkGroupID.x;
    float sum = 0;
    for (uint b = gl_SubgroupInvocationID; b < n; b += 32) {
        uint at = row * n + b;
        int32_t dot = 0;
        for (uint k = 0; k < FORMAT; k++) {
            uint w = uint(blocks[at].q[2 * k]) | uint(blocks[at].q[2 * k + 1]) << 16;
#if FORMAT == 8
            dot += dotPacked4x8EXT(int32_t(w), parts[b].q[k]);
#else
            dot += dotPacked4x8EXT(int32_t(w & 0x0f0f0f0fu), parts[b].q[k]);
            dot += dotPacked4x8EXT(int32_t(w >> 4 & 0x0f0f0f0fu), parts[b].q[k + 4]);
#endif
        }
        sum += float(blocks[at].scale) * parts[b].scale * float(dot);
    }
    sum = subgroupAdd(sum);
    if (subgroupElect())
        result[row] = sum;
}
