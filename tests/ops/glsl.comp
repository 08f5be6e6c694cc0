// SPDX-License-Identifier: MIT
// GLSL.std.450 on floats: what is exact, and the rest within a few ulps.
// INPUT: float
// SIZES: 32 8 128
// ULPS: 6
// ABSOLUTE: 1e-37
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"

void exact_ones(float x, float y, float z)
{
    put(floor(x)); put(ceil(x)); put(trunc(x)); put(roundEven(x)); put(round(x)); put(abs(x)); put(sign(x));
    precise float f = fract(x); put(f);
    put(step(x, y)); put(sqrt(abs(x)));
    bool ordered = !isnan(x) && !isnan(y) && x != y;
    put(ordered ? min(x, y) : 0); put(ordered ? max(x, y) : 0);
    put(isnan(x) ? 0 : clamp(x, -1.0, 2.0));
    float whole; put(modf(x, whole)); put(whole);
    int power; float m = isinf(x) || isnan(x) ? 0 : frexp(x, power);
    put(m); put(power = isinf(x) || isnan(x) ? 0 : power); put(ldexp(m, power)); put(ldexp(m, power - 3));
    put(ldexp(m, int(word(3) & 255) - 128));
}

void packing(float x, float y, float z)
{
    float a = isnan(x) ? 0.25 : x, b = isnan(y) ? -0.75 : y, c = isnan(z) ? 1 : z;
    put(packSnorm4x8(vec4(a, b, c, 0.25))); put(packUnorm4x8(vec4(a, b, c, 0.25)));
    put(packSnorm2x16(vec2(a, b))); put(packUnorm2x16(vec2(c, b))); put(packHalf2x16(vec2(a, b)));
    vec4 v = unpackSnorm4x8(word(3)), u = unpackUnorm4x8(word(3));
    put(v.x); put(v.y); put(v.z); put(v.w); put(u.x); put(u.y); put(u.z); put(u.w);
    vec2 s = unpackSnorm2x16(word(3)), t = unpackUnorm2x16(word(3)), h = unpackHalf2x16(word(3));
    put(s.x); put(s.y); put(t.x); put(t.y); put(h.x); put(h.y);
}

void close(float x, float y, float z)
{
    near(radians(x)); near(degrees(x));
    float angle = abs(x) < 4e4 ? x : 1.0;
    near(sin(angle)); near(cos(angle)); near(tan(angle));
    near(asin(clamp(angle, -1, 1))); near(acos(clamp(angle, -1, 1))); near(atan(x));
    near(sinh(x)); near(cosh(x)); near(tanh(x)); near(asinh(x)); near(acosh(abs(x) + 1)); near(atanh(angle / (abs(angle) + 1)));
    near(exp(x)); near(exp2(x)); near(log(abs(x))); near(log2(abs(x))); near(inversesqrt(abs(x) + 1e-30));
    near(atan(y, x == 0 || isinf(x) ? 1 : x));
    float base = abs(x) > 1e-3 && abs(x) < 1e3 ? abs(x) : 2;
    near(abs(y) < 100 ? pow(base, y) : 0);
}

void main()
{
    float x = uintBitsToFloat(word(0)), y = uintBitsToFloat(word(1)), z = uintBitsToFloat(word(2));
    exact_ones(x, y, z);
    packing(x, y, z);
    close(x, y, z);
}
