// SPDX-License-Identifier: MIT
// Float atomics: add, min, max in workgroup memory and buffers.
// INPUT: float
// SIZES: 32 8
// ULPS: 2000
// ABSOLUTE: 0.01
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_shader_atomic_float2 : require
#include "ops.glsl"

shared float f[4], g[4][16];
shared float16_t h[4];
shared double d[4];
layout(std430, set = 0, binding = 2) buffer Cells { float cells[]; };

void main()
{
    uint l = gl_LocalInvocationIndex, c = word(1) & 15u;
    if (l < 16)
        for (uint k = 0; k < 4; k++) {
            f[k] = 0;
            h[k] = 0.0hf;
            d[k] = 0.0lf;
            g[k][l] = k == 3 ? uintBitsToFloat(0x7fc00000) : 0;
        }
    barrier();
    float x = uintBitsToFloat(word(0));
    x = abs(x) < 16 && abs(x) > 0.01 ? x : 1.25;
    atomicAdd(f[0], x); atomicMin(f[1], x); atomicMax(f[2], x); atomicExchange(f[3], 2.5);
    atomicAdd(g[0][c], x); atomicMin(g[1][c], x); atomicMax(g[2][c], x);
    if ((c & 1u) != 0)
        atomicMin(g[3][c], x);
    else
        atomicMax(g[3][c], x);
    atomicMin(h[1], float16_t(x)); atomicMax(h[2], float16_t(x)); atomicAdd(h[0], 0.5hf);
    atomicAdd(d[0], double(x)); atomicMin(d[1], double(x)); atomicMax(d[2], double(x));
    barrier();
    for (uint k = 0; k < 4; k++) {
        near(f[k]); near(float(h[k])); near(float(d[k])); near(g[k][l & 15]);
    }
    uint base = 256 * 100;
    atomicAdd(cells[base], x); atomicAdd(cells[base + 1 + c], x); atomicMax(cells[base + 20 + c], x);
    atomicMin(cells[base + 40], x);
    put(1);
}
