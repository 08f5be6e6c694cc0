// SPDX-License-Identifier: MIT
//
// Lanes anywhere in memory, on machines that do not gather or scatter: all of them, those of a mask,
// and more such accesses than take a way of their own when all lanes are active (by_lanes.c).
//
// RUN: for T in uint8_t uint uint64_t; do for I in %levels; do for W in 32 128; do \
// RUN:   D="-D T=$T --subgroup-size $W --isa $I --bind 0=rand:u32[1024]@1 --bind 2=rand:u8[16384]@2"; \
// RUN:   D="$D --bind 1=zeros:u8[32768] --groups 2"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   %heddle run %s $D --compare 1=%t.npy --tolerance 0 || exit 1; done; done; done
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { uint at[]; };
layout(set = 0, binding = 1) buffer O { T o[]; };
layout(set = 0, binding = 2) readonly buffer I { T from[]; };

void main()
{
    uint id = gl_GlobalInvocationID.x, place = (id * 37 + 11) & 1023;
    T all = from[place];
    [[unroll]] for (uint k = 0; k < 20; k++)
        all = all * T(3) + from[at[(id + k) & 1023] & 1023];
    if ((at[(id * 3) & 1023] & 3) != 0) {
        all += from[at[(id + 5) & 1023] & 1023];
        o[1024 + place] = all;
    }
    o[place] = all;
}
