// SPDX-License-Identifier: MIT
// Accesses through addresses that are aligned to one and two bytes.
// INPUT: int
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#include "ops.glsl"
layout(push_constant) uniform Push { uint64_t base; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer U1 { uint x; };
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer U2 { uint x; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer D1 { double x; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer V1 { uvec3 v; uint8_t b; u16vec2 h; uint64_t q[2]; };
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer H2 { float16_t h[5]; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer M1 { mat3x2 m; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint64_t a = base + i * 7 + 1;
    put(U1(a).x); put(U2((a | 1ul) + 1ul).x); put(V1(a).v.x ^ V1(a).v.y * 3 ^ V1(a).v.z); put(V1(a).b); put(V1(a).h.y);
    put(V1(a).q[word(0) & 1u]); put(doubleBitsToUint64(D1(a).x) & 0x7fffffffffffful);
    put(uint(float16BitsToUint16(H2(a & ~1ul).h[word(1) % 5])));
    M1 m = M1(a); put(floatBitsToUint(m.m[word(2) % 3].y) & 0x7fffffu); put(floatBitsToUint(m.m[1].x) & 0x7fffffu);
    put(U1(base + 13).x); put(V1(base + 3).v.y);
    near(1.0);
}
