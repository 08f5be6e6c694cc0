// SPDX-License-Identifier: MIT
// Rows of 4-bit blocks (18 bytes: a scale and 32 nibbles, the low ones first) times a vector of bytes,
// four lanes a block, LENGTH numbers a row. As kernels do that serve any length, each lane counts the
// rounds that it has to do: four at a time, then two, then one.
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_integer_dot_product : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#ifndef LENGTH
#define LENGTH 6144
#endif
layout(local_size_x = 32) in;
struct Block { float16_t scale; uint16_t q[8]; };
struct Part { int32_t q[8]; float scale; };
layout(set = 0, binding = 0) readonly buffer Matrix { Block blocks[]; };
layout(set = 0, binding = 1) readonly buffer Vector { Part parts[]; };
layout(set = 0, binding = 2) writeonly buffer Result { float result[]; };
layout(push_constant) uniform Push { uint none; };

#define lane gl_LocalInvocationID.x
float sum = 0;

void take(uint at)
{
    uint length = LENGTH + none;
    uint other = at / 32, block = gl_WorkGroupID.x * (length / 32) + other, i = lane % 4;
    uint w = uint(blocks[block].q[2 * i]) | uint(blocks[block].q[2 * i + 1]) << 16;
    int dot = dotPacked4x8EXT(int32_t(w & 0x0f0f0f0fu), parts[other].q[i])
        + dotPacked4x8EXT(int32_t(w >> 4 & 0x0f0f0f0fu), parts[other].q[i + 4]);
    sum += float(blocks[block].scale) * parts[other].scale * float(dot);
}

void main()
{
    uint length = LENGTH + none;
    uint at = 8 * lane, left = length / 256 + uint(length % 256 > at);
    for (; left >= 4; left -= 4, at += 1024)
        for (uint k = 0; k < 4; k++)
            take(at + 256 * k);
    for (; left >= 2; left -= 2, at += 512)
        for (uint k = 0; k < 2; k++)
            take(at + 256 * k);
    for (; left >= 1; left--, at += 256)
        take(at);
    float all = subgroupAdd(sum);
    if (subgroupElect())
        result[gl_WorkGroupID.x] = all;
}
