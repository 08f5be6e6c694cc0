// SPDX-License-Identifier: MIT
// Bit fields, counts, extended products, carries, packing, casts.
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"

spirv_instruction(id = 124) uvec2 words_of(u16vec4 x);
spirv_instruction(id = 124) u16vec4 halves_of(uvec2 x);
spirv_instruction(id = 204) int64_t reverse64(int64_t x);

void fields(uint x, uint y)
{
    int at = int(word(2) & 31), n = int(word(3) % uint(33 - at));
    put(bitfieldExtract(x, at, n)); put(bitfieldExtract(int(x), at, n)); put(bitfieldInsert(x, y, at, n));
    put(bitfieldExtract(x, 3, 0)); put(bitfieldExtract(int(x), 0, 32)); put(bitfieldInsert(x, y, 0, 32));
    put(bitfieldReverse(x)); put(bitCount(x)); put(findLSB(x)); put(findMSB(x)); put(findMSB(int(x)));
    put(bitCount(words[3])); put(findMSB(words[4]));
}

void products(uint x, uint y)
{
    uint high, low, carry;
    int shigh, slow;
    umulExtended(x, y, high, low); put(high); put(low);
    imulExtended(int(x), int(y), shigh, slow); put(shigh); put(slow);
    put(uaddCarry(x, y, carry)); put(carry); put(usubBorrow(x, y, carry)); put(carry);
    uvec2 pair = unpackUint2x32(packUint2x32(uvec2(x, y))); put(pair.x); put(pair.y);
    u16vec4 quad = unpack16(packUint2x32(uvec2(x, y))); put(quad.w);
    u8vec4 bytes = unpack8(x); put(bytes.y); put(pack32(bytes.wzyx)); put(pack64(quad.wzyx));
    put(words_of(quad.yxwz).x); put(words_of(quad.yxwz).y); u16vec4 h = halves_of(uvec2(x, y)); put(h.x); put(h.z);
    put(floatBitsToUint(uintBitsToFloat(x & 0x7f7fffffu)));
    put(uint64_t(doubleBitsToUint64(uint64BitsToDouble(packUint2x32(pair) & 0x7fefffffffffffffUL))));
}

void main()
{
    fields(word(0), word(1));
    products(word(0), word(1));
    put(any(lessThan(uvec3(word(0), word(1), 5), uvec3(7, 9, 5)))); put(all(lessThan(uvec2(word(0), word(1)), uvec2(word(2)))));
    near(1.0);
}
