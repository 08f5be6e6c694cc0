#version 450
// SPDX-License-Identifier: MIT
// Accelerations of n bodies under each other's gravity, a body an invocation.
layout(local_size_x = 256) in;

layout(binding = 0) readonly buffer In { vec4 body[]; };     // position, mass
layout(binding = 1) writeonly buffer Out { vec4 acceleration[]; };
layout(push_constant) uniform Push { uint n; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= n)
        return;
    vec3 me = body[i].xyz;
    vec3 sum = vec3(0);
    for (uint j = 0; j < n; j++) {
        vec4 other = body[j];
        vec3 d = other.xyz - me;
        float r = inversesqrt(dot(d, d) + 0.01);
        sum += d * (other.w * r * r * r);
    }
    acceleration[i] = vec4(sum, 0);
}
