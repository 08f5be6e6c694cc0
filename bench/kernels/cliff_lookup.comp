// SPDX-License-Identifier: MIT
//
// What four bits mean, by a table; with -D COMPUTED it is computed.
#version 460

layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer O { float o[]; };
layout(push_constant) uniform Push { uint n; };

const float meaning[16] = float[](-127, -104, -83, -65, -49, -35, -22, -10,
                                  1, 13, 25, 38, 53, 69, 89, 113);

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= n)
        return;
    uint x = a[i];
    float s = 0;
    for (uint k = 0; k < 8; k++) {
        uint bits = x >> (4 * k) & 15;
#ifdef COMPUTED
        float y = float(bits) - 8;
        s = s * 3 + (y * (y * y * 0.04 + 13.5) + 1);
#else
        s = s * 3 + meaning[bits];
#endif
    }
    o[i] = s;
}
