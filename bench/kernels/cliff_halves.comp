// SPDX-License-Identifier: MIT
// Two rows of halves times a vector of floats: each lane takes four numbers that follow one another,
// the halves as two pairs, or (IN_LINE) one number after the other of what the lanes read in line.
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer Matrix { f16vec2 pair[]; };
layout(set = 0, binding = 0) readonly buffer Numbers { float16_t number[]; };
layout(set = 0, binding = 1) readonly buffer Vector { vec4 parts[]; };
layout(set = 0, binding = 1) readonly buffer Floats { float floats[]; };
layout(set = 0, binding = 2) writeonly buffer Result { float result[]; };
layout(push_constant) uniform Push { uint columns; };

void main()
{
    uint lane = gl_LocalInvocationID.x, first = 2 * gl_WorkGroupID.x;
    float sum[2] = { 0.0, 0.0 };
    for (uint at = 0; at < columns; at += 128)
        for (uint row = 0; row < 2; row++) {
            uint from = (first + row) * columns + at;
#ifdef IN_LINE
            for (uint k = 0; k < 4; k++)
                sum[row] += float(number[from + 32 * k + lane]) * floats[at + 32 * k + lane];
#else
            uint two = from / 2 + 2 * lane;
            sum[row] += dot(vec4(pair[two], pair[two + 1]), parts[at / 4 + lane]);
#endif
        }
    for (uint row = 0; row < 2; row++) {
        float all = subgroupAdd(sum[row]);
        if (subgroupElect())
            result[first + row] = all;
    }
}
