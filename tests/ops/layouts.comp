// SPDX-License-Identifier: MIT
// The same structures in std140, std430 and scalar layout, in buffers, shared blocks and registers: nested
// arrays, matrices by rows and by columns, copies from one layout to another whole and by members.
// INPUT: int
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shared_memory_block : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#include "ops.glsl"

struct Inner { vec3 a; float b; f16vec3 c; uint8_t d; mat3x2 m; };
struct Outer { Inner in_[2]; mat2x3 r[2]; uint16_t e[3]; double f; mat4x3 g; };

shared layout(std430) Blocks { layout(row_major) Outer o430; } s430;
shared layout(scalar) Others { uint pad; layout(column_major) Outer os; } s_scalar;
shared layout(std140) Last { layout(row_major) Outer o140; } s140;

void show(const Inner i)
{
    put(i.a.x); put(i.a.z); put(i.b); put(i.c.y); put(i.d); put(i.m[2][1]); put(i.m[0][0]);
}

void show(const Outer o, uint k)
{
    show(o.in_[k & 1]); put(o.r[k >> 1 & 1][k & 1][k % 3]); put(o.e[k % 3]); put(o.f); put(o.g[k & 3][k % 3]);
    put(o.r[1][1].z);
}

Inner inner(uint x)
{
    Inner i;
    i.a = vec3(x, x + 1, x + 2); i.b = float(x) + 0.5; i.c = f16vec3(x & 31, 2, 3); i.d = uint8_t(x);
    i.m = mat3x2(x, 1, 2, 3, 4, x * 2);
    return i;
}

void main()
{
    uint x = word(0) & 1023, k = word(1);
    Outer o;
    o.in_[0] = inner(x); o.in_[1] = inner(x + 7);
    o.r[0] = mat2x3(1, 2, 3, x, 5, 6); o.r[1] = mat2x3(7, x, 9, 10, 11, 12);
    o.e[0] = uint16_t(x); o.e[1] = uint16_t(x + 1); o.e[2] = uint16_t(x + 2);
    o.f = double(x) / 3; o.g = mat4x3(x, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, x);
    show(o, k);
    for (uint turn = 0; turn < 128; turn += 61) {
        if (gl_LocalInvocationIndex == turn)
            s430.o430 = o;
        barrier();
        if (gl_LocalInvocationIndex == (turn + 1) % 128) {
            s_scalar.os = s430.o430;
            s_scalar.os.g[k & 3][2] = 99;
            s_scalar.os.r[k & 1][1] = vec3(4, 5, x);
        }
        barrier();
        if (gl_LocalInvocationIndex == (turn + 2) % 128) {
            s140.o140 = s_scalar.os;
            s140.o140.in_[1] = s430.o430.in_[0];
            s140.o140.in_[k & 1].m[k % 3].y = float(x);
        }
        barrier();
        show(s140.o140, k);
        show(s_scalar.os, k + 1);
        Outer mine = s140.o140;
        mine.r = s430.o430.r;
        mine.in_[k & 1].m = s430.o430.in_[1].m * 2;
        show(mine, k + 2);
        vec2 v = s430.o430.in_[0].m * vec3(1, 2, 3);
        vec3 w = s_scalar.os.g * vec4(1, 2, 3, 4), z = vec2(k & 3, 2) * transpose(s140.o140.r[k & 1]);
        put(v.x); put(v.y); put(w.y); put(z.z);
        barrier();
    }
}
