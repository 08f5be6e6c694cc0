// SPDX-License-Identifier: MIT
// Float arithmetic and comparisons: single operations are correctly rounded, so bit by bit.
// VARIANTS: T=float INPUT=0 | T=float16_t INPUT=1
// INPUT: float
// SIZES: 32 8 128
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"
#include "floats.glsl"

void main()
{
#if INPUT == 1
    floats(float16_t(uintBitsToFloat(word(0))), float16_t(uintBitsToFloat(word(1))),
           float16_t(uintBitsToFloat(words[9])));
#else
    floats(uintBitsToFloat(word(0)), uintBitsToFloat(word(1)), uintBitsToFloat(words[9]));
#endif
    near(1.0);
}
