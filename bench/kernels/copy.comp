#version 450
// SPDX-License-Identifier: MIT
// A copy of n vectors of four: what the memory gives, at most.
layout(local_size_x = 256) in;

layout(binding = 0) readonly buffer In { uvec4 a[]; };
layout(binding = 1) writeonly buffer Out { uvec4 b[]; };
layout(push_constant) uniform Push { uint n; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        b[i] = a[i];
}
