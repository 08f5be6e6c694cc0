// SPDX-License-Identifier: MIT
// As floats.comp, in double.
// INPUT: double
#version 460
#extension GL_GOOGLE_include_directive : require
#define T double
#include "ops.glsl"
#include "floats.glsl"

void main()
{
    floats(uint64BitsToDouble(word64(0)), uint64BitsToDouble(word64(1)), 0.75lf);
    double x = uint64BitsToDouble(word64(0));
    put(floor(x)); put(ceil(x)); put(trunc(x)); put(roundEven(x)); put(fract(x)); put(sign(x));
    put(sqrt(x)); put(min(x, 2.0lf)); put(max(x, 2.0lf)); put(clamp(x, -1.0lf, 1.0lf));
    put(packDouble2x32(unpackDouble2x32(x)));
    int power;
    if (!isnan(x) && !isinf(x)) {
        put(frexp(x, power)); put(power); put(ldexp(x, power));
    } else {
        put(0.0lf); put(0); put(0.0lf);
    }
    near(float(inversesqrt(abs(x) + 1.0lf)));
}
