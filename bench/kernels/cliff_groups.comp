#version 460
// SPDX-License-Identifier: MIT
// y = 2x + y on rows of 512, by workgroups of LX x LY invocations.
layout(local_size_x = LX, local_size_y = LY) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };

void main()
{
    uint i = gl_GlobalInvocationID.y * 512 + gl_GlobalInvocationID.x;
    y[i] += 2 * x[i];
}
