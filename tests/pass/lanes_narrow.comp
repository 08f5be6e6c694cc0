#version 460
// SPDX-License-Identifier: MIT
// Lanes that share blocks, by indices of 8 bits that wrap: from the fourth block on they begin anew, so that lanes'
// addresses do not differ by the constants that one would take them to differ by. So does 7 * 64 by itself.
// RUN: for isa in %levels; do for way in "" --robust; do \
// RUN:     %heddle run %s --isa $isa $way --groups 1,1,1 --push list:u32:1 --bind 0=iota:u32[256] \
// RUN:         --bind 1=zeros:u32[32] --out 1=%t.npy && \
// RUN:     %heddle run %s --device reference --check --groups 1,1,1 --push list:u32:1 --bind 0=iota:u32[256] \
// RUN:         --bind 1=zeros:u32[32] --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN: done; done
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(push_constant) uniform P { uint x; };
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) writeonly buffer C { uint o[]; };

void main()
{
    uint l = gl_LocalInvocationID.x;
    uint8_t block = (uint8_t(x) + uint8_t(l / 4)) * uint8_t(64);
    uint8_t other = (uint8_t(x * 32) + uint8_t(l)) % uint8_t(32) / uint8_t(4) * uint8_t(64);
    o[l] = a[uint(uint8_t(block + uint8_t(l % 4)))] + 1000 * a[uint(other) + l % 4];
}
