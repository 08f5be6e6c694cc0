// SPDX-License-Identifier: MIT
// Five of llama.cpp's weight formats: the Block, its BLOCK elements, `element` k of it and `elements`
// k to k + 3, k being a multiple of 4.

#if defined(Q4_0) /* a scale, 32 nibbles less 8: element k in byte k % 16, the upper 16 above */
#define BLOCK 32
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Block {
    float16_t scale;
    uint8_t q[16];
};

float element(Block b, uint k)
{
    return (float(uint(b.q[k % 16]) >> k / 16 * 4 & 15) - 8) * float(b.scale);
}

vec4 elements(Block b, uint k)
{
    uvec4 q = uvec4(b.q[k % 16], b.q[k % 16 + 1], b.q[k % 16 + 2], b.q[k % 16 + 3]);
    return (vec4(q >> k / 16 * 4 & 15) - 8) * float(b.scale);
}

#elif defined(Q8_0) /* a scale, 32 signed bytes */
#define BLOCK 32
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Block {
    float16_t scale;
    int8_t q[32];
};

float element(Block b, uint k)
{
    return float(b.q[k]) * float(b.scale);
}

vec4 elements(Block b, uint k)
{
    return vec4(b.q[k], b.q[k + 1], b.q[k + 2], b.q[k + 3]) * float(b.scale);
}

#elif defined(Q4_K)
/* 256 nibbles in 8 parts of 32, each with a scale and a minimum of 6 bits, and one pair of factors
 * for all of them. Parts 2 c and 2 c + 1 are the lower and upper nibbles of bytes 32 c to
 * 32 c + 31. The first four scales and minima are the low 6 bits of bytes 0 to 3 and 4 to 7; the
 * others' low nibbles are those of bytes 8 to 11, their upper bits the topmost of the bytes before. */
#define BLOCK 256
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Block {
    float16_t factor, minimum_factor;
    uint8_t scales[12];
    uint8_t q[128];
};

/* Scale and minimum of a part. */
vec2 part_scale(Block b, uint part)
{
    if (part < 4)
        return vec2(b.scales[part] & uint8_t(63), b.scales[part + 4] & uint8_t(63)) *
               vec2(b.factor, b.minimum_factor);
    uint low = uint(b.scales[part + 4]);
    return vec2(low & 15 | uint(b.scales[part - 4]) >> 6 << 4,
                low >> 4 | uint(b.scales[part]) >> 6 << 4) *
           vec2(b.factor, b.minimum_factor);
}

float element(Block b, uint k)
{
    vec2 scale = part_scale(b, k / 32);
    return float(uint(b.q[k / 64 * 32 + k % 32]) >> k / 32 % 2 * 4 & 15) * scale.x - scale.y;
}

vec4 elements(Block b, uint k)
{
    vec2 scale = part_scale(b, k / 32);
    uint at = k / 64 * 32 + k % 32;
    uvec4 q = uvec4(b.q[at], b.q[at + 1], b.q[at + 2], b.q[at + 3]);
    return vec4(q >> k / 32 % 2 * 4 & 15) * scale.x - scale.y;
}

#elif defined(Q6_K)
/* 256 numbers of 6 bits less 32, in 16 parts of 16 with a signed scale each, and a factor. In each
 * half, 32 elements at a time: the low 4 bits are the lower nibbles of 32 bytes, then of the next
 * 32, then the upper ones of the same; the high 2 bits are bits 0, 2, 4, 6 of 32 other bytes. */
#define BLOCK 256
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Block {
    uint8_t low[128], high[64];
    int8_t scales[16];
    float16_t factor;
};

float element(Block b, uint k)
{
    uint row = k % 128 / 32, low = uint(b.low[k / 128 * 64 + row % 2 * 32 + k % 32]);
    uint high = uint(b.high[k / 128 * 32 + k % 32]);
    float q = float((low >> row / 2 * 4 & 15) | (high >> row * 2 & 3) << 4) - 32;
    return q * float(b.scales[k / 16]) * float(b.factor);
}

vec4 elements(Block b, uint k)
{
    uint row = k % 128 / 32, at = k / 128 * 64 + row % 2 * 32 + k % 32, top = k / 128 * 32 + k % 32;
    uvec4 low = uvec4(b.low[at], b.low[at + 1], b.low[at + 2], b.low[at + 3]);
    uvec4 high = uvec4(b.high[top], b.high[top + 1], b.high[top + 2], b.high[top + 3]);
    vec4 q = vec4((low >> row / 2 * 4 & 15) | (high >> row * 2 & 3) << 4) - 32;
    return q * float(b.scales[k / 16]) * float(b.factor);
}

#else /* MXFP4: an exponent, 32 numbers of sign, 2 bits of exponent, 1 of mantissa, as in q4_0 */
#define BLOCK 32
layout(buffer_reference, std430, buffer_reference_align = 1) readonly buffer Block {
    uint8_t exponent;
    uint8_t q[16];
};

vec4 e2m1(uvec4 q)
{
    uvec4 e = q >> 1 & 3, m = q & 1;
    vec4 x = mix(vec4(2 + m) * exp2(vec4(e) - 2), vec4(m) * 0.5, equal(e, uvec4(0)));
    return mix(x, -x, notEqual(q & 8, uvec4(0)));
}

float element(Block b, uint k)
{
    uvec4 q = uvec4(uint(b.q[k % 16]) >> k / 16 * 4 & 15);
    return e2m1(q).x * uintBitsToFloat(uint(b.exponent) << 23);
}

vec4 elements(Block b, uint k)
{
    uvec4 q = uvec4(b.q[k % 16], b.q[k % 16 + 1], b.q[k % 16 + 2], b.q[k % 16 + 3]);
    return e2m1(q >> k / 16 * 4 & 15) * uintBitsToFloat(uint(b.exponent) << 23);
}
#endif
