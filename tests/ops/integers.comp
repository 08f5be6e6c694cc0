// SPDX-License-Identifier: MIT
// Integer arithmetic, comparisons and bits. What SPIR-V leaves undefined (x / 0, MIN / -1) is kept away.
// VARIANTS: T=int U=uint W=32 | T=int8_t U=uint8_t W=8 | T=int16_t U=uint16_t W=16 | T=int64_t U=uint64_t W=64
// SIZES: 32 8 128
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"

spirv_instruction(id = 138) T srem(T x, T y);
spirv_instruction(id = 139) T smod(T x, T y);

void arithmetic(T x, T y, U ux, U uy)
{
    put(x + y); put(x - y); put(x * y); put(-x); put(~x);
    put(x & y); put(x | y); put(x ^ y);
    U d = uy == U(0) ? U(3) : uy;
    put(ux / d); put(ux % d); put(ux / U(10)); put(ux % U(7));
    T s = y == T(0) || y == T(-1) ? T(5) : y;
    put(x / s); put(srem(x, s)); put(smod(x, s)); put(x / T(-3));
    put(srem(x, T(10))); put(smod(x, T(10)));
    U n = uy & U(W - 1);
    put(x << n); put(x >> n); put(ux >> n); put(ux << U(3)); put(x >> U(W - 1));
}

void comparisons(T x, T y, U ux, U uy)
{
    put(x < y); put(x <= y); put(x > y); put(x >= y); put(x == y); put(x != y);
    put(ux < uy); put(ux <= uy); put(ux > uy); put(ux >= uy);
    put(min(x, y)); put(max(x, y)); put(min(ux, uy)); put(max(ux, uy)); put(abs(x)); put(sign(x));
    put(clamp(x, T(-5), T(100))); put(clamp(ux, U(5), U(100)));
    bool p = x < y, q = ux < uy;
    put(p && q); put(p || q); put(!p); put(p == q); put(p != q);
    put(p ? x : y);
}

void main()
{
    T x = T(word64(0)), y = T(word64(1));
    if (W < 64) {
        x = T(word(0));
        y = T(word(1));
    }
    arithmetic(x, y, U(x), U(y));
    comparisons(x, y, U(x), U(y));
    // vectors, and a uniform operand
    T u = T(words[5]);
    near(1.0);
    put(x + u); put(u * y); put(u - x);
    // shifts of what counts with the lanes, by amounts of other widths
    T lane = T(gl_LocalInvocationIndex), group = T(gl_LocalInvocationIndex / 16u);
    put(lane << uint64_t(3)); put(lane << uint8_t(2)); put(group << uint64_t(3)); put(group << 1u);
}
