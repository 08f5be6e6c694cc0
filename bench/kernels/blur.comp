#version 450
// SPDX-License-Identifier: MIT
// The mean of each 3x3 neighbourhood of an image; the image's edge is continued.
layout(local_size_x = 16, local_size_y = 16) in;

layout(binding = 0) readonly buffer In { float a[]; };
layout(binding = 1) writeonly buffer Out { float b[]; };
layout(push_constant) uniform Push { int width, height; };

void main()
{
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    if (p.x >= width || p.y >= height)
        return;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int x = clamp(p.x + dx, 0, width - 1), y = clamp(p.y + dy, 0, height - 1);
            sum += a[y * width + x];
        }
    b[p.y * width + p.x] = sum / 9.0;
}
