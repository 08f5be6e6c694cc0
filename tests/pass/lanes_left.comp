#version 460
// SPDX-License-Identifier: MIT
// A loop that takes four blocks at a time, then one of two, then one more: how often lanes go round is
// theirs, so they may leave it at different times, but where a row's length is a multiple of what all
// of them take they do not, and go on in blocks that they share (one test finds out, and two tests
// whether all of that is inside). Rows of 1536 = 4 + 2 of 256, 1792 = 4 + 2 + 1, 2000, where some lanes
// go on alone, and 40, where most have nothing to do.
// RUN: %heddle compile %s --isa x86-64-v3 --emit llvm --subgroup-size 32 | %filecheck %s
// RUN: %heddle compile %s --isa x86-64-v3 --emit llvm --subgroup-size 32 --robust | %filecheck %s
// RUN: for n in 1536 1792 2000 40; do for isa in %levels; do for way in "" --robust; do \
// RUN:     %heddle run %s --isa $isa $way --groups 3,1,1 --push list:u32:$n --bind 0=rand:u16[2048]@1 \
// RUN:         --bind 1=zeros:u32[96] --out 1=%t.$n.npy && \
// RUN:     %heddle run %s --device reference --check --groups 3,1,1 --push list:u32:$n \
// RUN:         --bind 0=rand:u16[2048]@1 --bind 1=zeros:u32[96] --compare 1=%t.$n.npy --tolerance 0 || exit 1; \
// RUN: done; done; done
// CHECK-COUNT-22: {{^}}access.together
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;

struct Block {
    uint16_t scale;
    uint16_t q[8];
};
layout(push_constant) uniform P { uint length; };
layout(std430, binding = 0) readonly buffer A { Block blocks[]; };
layout(std430, binding = 1) writeonly buffer C { uint sums[]; };

uint take(uint at, uint lane)
{
    uint block = (gl_WorkGroupID.x * length + at) / 32;
    return uint(blocks[block].q[lane % 4 * 2]) * uint(blocks[block].scale) + at;
}

void main()
{
    uint lane = gl_LocalInvocationID.x, at = lane * 8, sum = 0;
    uint left = length / 256 + uint(length % 256 > lane * 8);
    for (; left >= 4; left -= 4, at += 1024)
        sum += take(at, lane) + take(at + 256, lane) * 3 + take(at + 512, lane) * 5 + take(at + 768, lane) * 7;
    if (left >= 2) {
        sum += take(at, lane) * 9 + take(at + 256, lane) * 11;
        left -= 2;
        at += 512;
    }
    if (left > 0)
        sum += take(at, lane) * 13;
    sums[gl_GlobalInvocationID.x] = sum;
}
