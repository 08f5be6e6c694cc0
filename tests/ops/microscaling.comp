// SPDX-License-Identifier: MIT
// The OCP's microscaling types of 8 bits: every code, to every larger format, in and out of memory.
// VARIANTS: S=floatue8m0_t V=fue8m0vec4 OF=uintBitsToFloatue8m0EXT BITS=floatue8m0BitsToUintEXT ONE=1.0fue8m0 | S=floatmxint8_t V=fmxint8vec4 OF=uintBitsToFloatmxint8EXT BITS=floatmxint8BitsToUintEXT ONE=1.0fmxint8
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require
#extension GL_EXT_float_ue8m0 : require
#extension GL_EXT_float_mxint8 : require
#include "ops.glsl"

shared S passed[128];

struct Pair { S x; uint k; };

S twice(S x, bool first) { return first ? x : ONE; }

void main()
{
    uint code = gl_GlobalInvocationID.x;
    S s = OF(uint8_t(code));
    put(float(s)); put(double(s)); put(float16_t(s));
    put(float(bfloat16_t(s))); put(float(floate4m3_t(s))); put(float(floate5m2_t(s)));
    put(uint(BITS(s)));
    uint8_t low = uint8_t(word(0));
    V v = V(s, OF(low), ONE, s);
    vec4 f = vec4(v);
    put(f.x); put(f.y); put(f.z); put(f.w);
    u8vec4 b = BITS(v.wzyx);
    put(b.x); put(b.y); put(b.z); put(b.w);
    passed[gl_LocalInvocationID.x] = s;
    barrier();
    put(float(passed[127 - gl_LocalInvocationID.x]));
    S kept[4] = S[4](s, ONE, OF(low), s);
    kept[word(1) & 3] = twice(s, word(2) > 7);
    Pair p = Pair(kept[word(3) & 3], code);
    put(float(p.x)); put(p.k);
    S chosen = ONE;
    for (uint k = 0; k < (word(4) & 3); k++)
        chosen = kept[k];
    put(float(word(5) > 9 ? chosen : s));
    near(1.0);
}
