#version 450
// SPDX-License-Identifier: MIT
// Steps until z*z + c leaves the circle, a point an invocation: a loop that each lane leaves at its
// own time.
layout(local_size_x = 16, local_size_y = 16) in;

layout(binding = 0) writeonly buffer Out { uint steps[]; };
layout(push_constant) uniform Push { uint width, height; };

void main()
{
    uvec2 p = gl_GlobalInvocationID.xy;
    if (p.x >= width || p.y >= height)
        return;
    vec2 c = vec2(-2.0, -1.25) + vec2(p) * vec2(2.5 / width, 2.5 / height);
    vec2 z = vec2(0);
    uint k = 0;
    for (; k < 256; k++) {
        if (dot(z, z) > 4.0)
            break;
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
    }
    steps[p.y * width + p.x] = k;
}
