// SPDX-License-Identifier: MIT
// Conversions between all integers and floats. Floats are kept within the range of the integer.
// VARIANTS: S=float | S=float16_t | S=double | S=int | S=uint | S=int8_t | S=uint8_t | S=int16_t | S=uint16_t | S=int64_t WIDE=1 | S=uint64_t WIDE=1
// INPUT: float
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"

#define BOUND(x, low, high) ((x) > (low) && (x) < (high) ? (x) : S(3))

void main()
{
#ifdef WIDE
    S x = S(word64(0) ^ word64(2) << (word(3) & 31));
#else
    S x = S(uintBitsToFloat(word(0)));
    if (S(0.5) == S(0))
        x = S(word(1));
#endif
    put(float(x)); put(double(x)); put(float16_t(x));
    if (S(0.5) == S(0)) {
        put(int8_t(x)); put(uint8_t(x)); put(int16_t(x)); put(uint16_t(x));
        put(int(x)); put(uint(x)); put(int64_t(x)); put(uint64_t(x));
    } else {
        double d = double(x);
        bool b = d > -128.0lf && d < 128.0lf, ub = d > -1.0lf && d < 256.0lf;
        bool s = d > -32768.0lf && d < 32768.0lf, us = d > -1.0lf && d < 65536.0lf;
        bool w = d > -2147483648.0lf && d < 2147483648.0lf, uw = d > -1.0lf && d < 4294967296.0lf;
        bool l = d > -9e18lf && d < 9e18lf, ul = d > -1.0lf && d < 1.8e19lf;
        put(int8_t(b ? x : S(1))); put(uint8_t(ub ? x : S(1)));
        put(int16_t(s ? x : S(1))); put(uint16_t(us ? x : S(1)));
        put(int(w ? x : S(1))); put(uint(uw ? x : S(1)));
        put(int64_t(l ? x : S(1))); put(uint64_t(ul ? x : S(1)));
    }
    put(bool(x)); put(S(word(2) > 5u) == S(1));
    near(1.0);
}
