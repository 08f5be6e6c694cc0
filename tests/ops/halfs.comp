// SPDX-License-Identifier: MIT
// GLSL.std.450 in f16, which is computed in float and rounded: within one ulp of f16 (8192 of float).
// INPUT: float
// SIZES: 32 8
// ULPS: 9000
// ABSOLUTE: 1e-3
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"

void main()
{
    float16_t x = float16_t(uintBitsToFloat(word(0))), y = float16_t(uintBitsToFloat(word(1)));
    float16_t a = abs(x) < 200.0hf ? x : 1.0hf;
    near(float(sin(a))); near(float(cos(a))); near(float(exp(x))); near(float(log(abs(x)))); near(float(exp2(x)));
    near(float(log2(abs(x)))); near(float(inversesqrt(abs(x) + 0.01hf))); near(float(atan(x)));
    near(float(tanh(x))); near(float(a * y + 1.0hf)); near(float(length(f16vec2(a, 1.0hf))));
    put(floor(x)); put(roundEven(x)); put(abs(x)); put(sqrt(abs(x)));
    put(isnan(x) || isnan(y) || x == y ? 0.0hf : max(x, y));
    int power = 0;
    put(isnan(x) || isinf(x) ? 0.0hf : frexp(x, power)); put(isnan(x) || isinf(x) ? 0 : power);
    put(isnan(x) || isinf(x) ? 0.0hf : ldexp(x, int(word(2) & 15) - 8));
    f16vec2 pair = unpackFloat2x16(word(3) & 0x7bff7bffu);
    put(packFloat2x16(pair.yx)); put(pair.x);
}
