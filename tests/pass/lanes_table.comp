#version 460
// SPDX-License-Identifier: MIT
// Lanes that share blocks, four lanes a block of 18 bytes and sixteen a block of 144: which block, and
// where in it, are quotients and remainders of what all lanes share (multiples of a row's length,
// known at run time only) plus what a lane adds. Where the row's length is such a multiple no lane
// gathers, two halves that follow one another are one word, and a loop that lanes leave at different
// times makes no difference; else each access has a second way. Rows of 512, where all lanes go on
// together; of 264, where most of them leave first; and of 536, which begin within a block.
// RUN: %heddle compile %s --isa x86-64-v3 --emit llvm --subgroup-size 32 | %filecheck %s
// RUN: for n in 512 264 536; do for isa in %levels; do for way in "" --robust; do \
// RUN:     %heddle run %s --isa $isa $way --groups 3,1,1 --push list:u32:$n,0 --bind 0=rand:u16[1024]@1 \
// RUN:         --bind 1=rand:s32[512]@2 --bind 2=zeros:s32[96] --out 2=%t.$n.npy && \
// RUN:     %heddle run %s --device reference --check --groups 3,1,1 --push list:u32:$n,0 \
// RUN:         --bind 0=rand:u16[1024]@1 --bind 1=rand:s32[512]@2 --bind 2=zeros:s32[96] \
// RUN:         --compare 2=%t.$n.npy --tolerance 0 || exit 1; \
// RUN: done; done; done
// CHECK: access.together
// CHECK: load <4 x i32>
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 32) in;

struct Weights {
    uint16_t scale;
    uint16_t q[8];
};
struct Numbers {
    uint16_t scale[8];
    int q[32];
};
layout(push_constant) uniform P {
    uint length, first;
};
layout(std430, binding = 0) readonly buffer A { Weights weights[]; };
layout(std430, binding = 1) readonly buffer B { Numbers numbers[]; };
layout(std430, binding = 2) writeonly buffer C { int sums[]; };

int product(uint row, uint at, uint lane)
{
    uint block = (row * length + at) / 32, other = at / 32 + first;
    uint word = uint(weights[block].q[lane % 4 * 2]) | uint(weights[block].q[lane % 4 * 2 + 1]) << 16;
    uint i = other % 4 * 8 + lane % 4;
    int low = dotPacked4x8EXT(int(word & 0x0f0f0f0fu), numbers[other / 4].q[i]);
    int high = dotPacked4x8EXT(int(word >> 4 & 0x0f0f0f0fu), numbers[other / 4].q[i + 4]);
    int all = dotPacked4x8EXT(int(word), numbers[other / 4].q[i]);
    return (low + high + all) * int(weights[block].scale) + int(numbers[other / 4].scale[other % 4 * 2]);
}

void main()
{
    uint lane = gl_LocalInvocationID.x, sum = 0;
    for (uint at = lane * 8; at < length; at += 256)
        sum += uint(product(gl_WorkGroupID.x, at, lane));
    sums[gl_GlobalInvocationID.x] = int(sum);
}
