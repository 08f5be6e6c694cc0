// SPDX-License-Identifier: MIT
// bf16 and the two 8-bit formats: conversions to and from everything, rounded once.
// VARIANTS: S=bfloat16_t BITS=16 | S=floate4m3_t | S=floate5m2_t
// INPUT: float
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require
#include "ops.glsl"

void main()
{
    float x = uintBitsToFloat(word(0));
    S s = S(x);
    put(float(s)); put(double(s)); put(float16_t(s));
    S d = S(double(x) * 1.000001lf), h = S(float16_t(x)), i = S(int(word(1))), u = S(word(1));
    S l = S(int64_t(word64(1))), c = S(int8_t(word(1)));
    put(float(d)); put(float(h)); put(float(i)); put(float(u)); put(float(l)); put(float(c));
    bfloat16_t b = bfloat16_t(s);
    floate4m3_t e4 = floate4m3_t(s);
    floate5m2_t e5 = floate5m2_t(s);
    put(float(b)); put(float(e4)); put(float(e5));
    float f = float(s);
    S safe = S(f > -100 && f < 100 ? f : 1.0);
    put(int(safe)); put(int8_t(safe)); put(uint(S(abs(float(safe)))));
    int k = -12;
    uint m = 20;
    put(float(S(k))); put(float(S(m)));    // constants, once variables are values
    near(1.0);
}
