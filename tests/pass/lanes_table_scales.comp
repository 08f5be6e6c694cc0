#version 460
// SPDX-License-Identifier: MIT
// Lanes that share blocks, four lanes a block of 34 bytes, and repeat its scale: the scales of eight blocks
// are loaded once and converted before they are repeated. Four halves that follow one another in each
// lane are one load of neighbours, without gathers; so are two words. All of it is right where a row
// begins within a block too, and where most lanes leave the loop first.
// RUN: %heddle compile %s --isa x86-64-v4 --emit llvm --subgroup-size 32 | %filecheck %s
// RUN: for n in 512 264 536; do for isa in %levels; do for way in "" --robust; do \
// RUN:     %heddle run %s --isa $isa $way --groups 3,1,1 --push list:u32:$n --bind 0=rand:u8[4096]@1 \
// RUN:         --bind 1=rand:s8[4096]@2 --bind 2=zeros:f32[96] --out 2=%t.$n.npy && \
// RUN:     %heddle run %s --device reference --check --groups 3,1,1 --push list:u32:$n \
// RUN:         --bind 0=rand:u8[4096]@1 --bind 1=rand:s8[4096]@2 --bind 2=zeros:f32[96] \
// RUN:         --compare 2=%t.$n.npy --tolerance 0 || exit 1; \
// RUN: done; done; done
// CHECK: access.together
// CHECK: load <8 x i32>
// CHECK: fpext <8 x half>
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;

struct Weights {
    float16_t scale;
    int16_t q[16];
};
layout(push_constant) uniform P { uint length; };
layout(std430, binding = 0) readonly buffer A { Weights weights[]; };
layout(std430, binding = 1) readonly buffer B { int numbers[]; };
layout(std430, binding = 2) writeonly buffer C { float sums[]; };

int half_sum(int word) { return (word >> 16) - (word & 0xff); }

void main()
{
    uint lane = gl_LocalInvocationID.x;
    int sum = 0;
    for (uint at = lane * 8; at < length; at += 256) {
        uint block = (gl_WorkGroupID.x * length + at) / 32, from = lane % 4 * 4;
        int low = pack32(i16vec2(weights[block].q[from], weights[block].q[from + 1]));
        int high = pack32(i16vec2(weights[block].q[from + 2], weights[block].q[from + 3]));
        float scale = float(weights[block].scale);
        int other = numbers[at / 32 * 8 + lane % 4 * 2] ^ numbers[at / 32 * 8 + lane % 4 * 2 + 1];
        /* integers, so that any order of the sums is the same */
        sum += (half_sum(low) * 3 + half_sum(high) + other % 64) * (scale > 0 ? 1 : -2);
    }
    sums[gl_GlobalInvocationID.x] = float(sum);
}
