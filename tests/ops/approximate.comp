// SPDX-License-Identifier: MIT
// What a device may approximate, of random numbers: results in the order of approximate.c's table.
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Input { T x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { T y[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    T a = x[2 * i], b = x[2 * i + 1];
    y[8 * i] = b / a;
    y[8 * i + 1] = sqrt(a);
    y[8 * i + 2] = inversesqrt(a);
    y[8 * i + 3] = exp2(b);
    y[8 * i + 4] = exp(b);
    y[8 * i + 5] = log2(a);
    y[8 * i + 6] = log(a);
    precise T quotient = b / a;
    y[8 * i + 7] = quotient;
}
