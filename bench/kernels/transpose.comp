#version 450
// SPDX-License-Identifier: MIT
// An n x n matrix transposed by tiles through shared memory.
layout(local_size_x = 32, local_size_y = 8) in;

layout(binding = 0) readonly buffer In { float a[]; };
layout(binding = 1) writeonly buffer Out { float b[]; };
layout(push_constant) uniform Push { uint n; };

shared float tile[32][33];      // a column more, for those who have banks

void main()
{
    uint x = gl_WorkGroupID.x * 32 + gl_LocalInvocationID.x;
    uint y = gl_WorkGroupID.y * 32 + gl_LocalInvocationID.y;
    for (uint k = 0; k < 32; k += 8)
        tile[gl_LocalInvocationID.y + k][gl_LocalInvocationID.x] = a[(y + k) * n + x];
    barrier();
    x = gl_WorkGroupID.y * 32 + gl_LocalInvocationID.x;
    y = gl_WorkGroupID.x * 32 + gl_LocalInvocationID.y;
    for (uint k = 0; k < 32; k += 8)
        b[(y + k) * n + x] = tile[gl_LocalInvocationID.x][gl_LocalInvocationID.y + k];
}
