// SPDX-License-Identifier: MIT
// The OCP's microscaling types of 4 and 6 bits: every code, packed and unpacked, extracted, to every larger format.
// VARIANTS: S=floate2m1_t V=fe2m1vec4 EXTRACT=bitcastExtractfe2m1EXT SIZE=4 ONE=1.0fe2m1 | S=floate3m2_t V=fe3m2vec4 EXTRACT=bitcastExtractfe3m2EXT SIZE=6 ONE=1.0fe3m2 | S=floate2m3_t V=fe2m3vec4 EXTRACT=bitcastExtractfe2m3EXT SIZE=6 ONE=1.0fe2m3
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_long_vector : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require
#extension GL_EXT_float_e2m1 : require
#extension GL_EXT_float_e3m2 : require
#extension GL_EXT_float_e2m3 : require
#include "ops.glsl"

S global;

void put(V v) { vec4 f = vec4(v); put(f.x); put(f.y); put(f.z); put(f.w); }
void put8(vector<S, 8> v) { [[unroll]] for (int k = 0; k < 8; k++) put(float(v[k])); }

void unpack(floate2m1_t only)
{
    put(vec2(unpackFloat2xfe2m1EXT(uint8_t(word(0)))).y);
    fe2m1vec4 four = unpackFloat4xfe2m1EXT(uint16_t(word(0)));
    vector<floate2m1_t, 8> eight = unpackFloat8xfe2m1EXT(word(0));
    vector<floate2m1_t, 16> sixteen = unpackFloat16xfe2m1EXT(uvec2(word(0), word(1)));
    put(float(four.x)); put(float(four.w));
    [[unroll]] for (int k = 0; k < 8; k++) put(float(eight[k]));
    [[unroll]] for (int k = 0; k < 16; k++) put(float(sixteen[k]));
    put(uint(packFloat2xfe2m1EXT(four.zw)));
    put(uint(packFloat4xfe2m1EXT(four.wzyx)));
    eight[word(1) & 7] = only;
    put(packFloat8xfe2m1EXT(eight));
    uvec2 words = packFloat16xfe2m1EXT(sixteen);
    put(words.x); put(words.y);
}

#define UNPACK(T, V4, name) \
void unpack(T only) \
{ \
    u8vec3 bytes = u8vec3(word(0), word(1), word(2)); \
    u16vec3 halfs = u16vec3(word(0), word(1), word(2)); \
    uvec3 words = uvec3(word(0), word(1), word(2)); \
    V4 four = unpackFloat4x##name##EXT(bytes); \
    vector<T, 8> eight = unpackFloat8x##name##EXT(halfs); \
    vector<T, 16> sixteen = unpackFloat16x##name##EXT(words); \
    [[unroll]] for (int k = 0; k < 4; k++) put(float(four[k])); \
    [[unroll]] for (int k = 0; k < 8; k++) put(float(eight[k])); \
    [[unroll]] for (int k = 0; k < 16; k++) put(float(sixteen[k])); \
    four[word(1) & 3] = only; \
    eight[word(1) & 7] = only; \
    u8vec3 b = packFloat4x##name##EXT(four); \
    u16vec3 h = packFloat8x##name##EXT(eight); \
    uvec3 w = packFloat16x##name##EXT(sixteen); \
    put(uint(b.x)); put(uint(b.y)); put(uint(b.z)); \
    put(uint(h.x)); put(uint(h.y)); put(uint(h.z)); \
    put(w.x); put(w.y); put(w.z); \
}
UNPACK(floate3m2_t, fe3m2vec4, fe3m2)
UNPACK(floate2m3_t, fe2m3vec4, fe2m3)

void main()
{
    uint code = gl_GlobalInvocationID.x;
    S s = EXTRACT(uint8_t(code), 0);
    put(float(s)); put(double(s)); put(float16_t(s));
    put(float(bfloat16_t(s))); put(float(floate4m3_t(s))); put(float(floate5m2_t(s)));
    uint offset = code % (9 - SIZE);
    V v = EXTRACT(u8vec4(word(0), word(0) >> 8, code, word(1)), offset);
    put(v);
    put(float(EXTRACT(uint8_t(word(2)), word(3) % (9 - SIZE))));
    unpack(s);
    S kept[4] = S[4](s, ONE, v.y, v.z);
    kept[word(1) & 3] = s;
    global = kept[word(3) & 3];
    V changed = v;
    changed[word(2) & 3] = global;
    put(changed);
    S chosen = ONE;
    for (uint k = 0; k < (word(4) & 3); k++)
        chosen = kept[k];
    put(float(word(5) > 9 ? chosen : global));
    near(1.0);
}
