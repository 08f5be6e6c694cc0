// SPDX-License-Identifier: MIT
// Float controls: denormals flushed and results rounded towards zero, by width.
// VARIANTS: FLUSH=1 | ZERO=1 | KEEP=1
// INPUT: float
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"

#define CONTROLS extensions = ["SPV_KHR_float_controls"]
#if defined(FLUSH)
spirv_execution_mode(CONTROLS, capabilities = [4465], 4460, 32);
spirv_execution_mode(CONTROLS, capabilities = [4465], 4460, 16);
#elif defined(ZERO)
spirv_execution_mode(CONTROLS, capabilities = [4468], 4463, 32);
spirv_execution_mode(CONTROLS, capabilities = [4468], 4463, 16);
#else
spirv_execution_mode(CONTROLS, capabilities = [4464], 4459, 32);
spirv_execution_mode(CONTROLS, capabilities = [4466], 4461, 32);
spirv_execution_mode(CONTROLS, capabilities = [4467], 4462, 16);
#endif

void main()
{
    float x = uintBitsToFloat(word(0)), y = uintBitsToFloat(word(1)), z = uintBitsToFloat(word(0) & 0x807fffffu);
    precise float sum = x + y, product = x * y, quotient = x / y, small = z + z, smaller = z * 0.5;
    put(sum); put(x - y); put(quotient);
#ifdef FLUSH
    put(small); put(smaller); put(-z); put(float16_t(z)); put(product);
#else
    put(abs(product) > 1e-30 ? product : 0);
#endif
    // whether a conversion's result is flushed is left open
    float16_t h = float16_t(abs(x) < 0.01 ? 0.5 : x), k = float16_t(abs(y) < 0.01 ? 0.75 : y);
    precise float16_t hsum = h + k, hproduct = h * k;
    put(h); put(hsum); put(abs(hproduct) > 0.001hf ? hproduct : 0.0hf);
    precise double d = double(x) + double(y) * 1e-9lf, e = double(x) / 3.0lf;
    put(d); put(float(d)); put(isnan(x) || abs(x) > 1e30 || abs(x) < 1e-30 ? 0.0lf : e);
    put(float(int(word(2)))); put(float16_t(word(3))); put(float(word64(2)));
    near(1.0);
}
