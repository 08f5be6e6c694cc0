// SPDX-License-Identifier: MIT
// Addresses that a kernel makes of numbers, four neighbours at a time. For LLVM they are offsets from
// null, where by its rules nothing could be loaded, had it not been told.
// RUN: %heddle run %s --bind 9=iota:u8[64] --bind 0=zeros:u32[32] --push address:9 --out 0=%t.npy
// RUN: %heddle run %s --bind 9=iota:u8[64] --bind 0=zeros:u32[32] --push address:9 \
// RUN:   --device reference --compare 0=%t.npy 2>&1 | %filecheck %s
// RUN: %heddle compile %s --emit llvm | %filecheck %s --check-prefix IR
// CHECK: 0 of 32 differ
// IR-NOT: unreachable
// IR: store <{{[0-9]+}} x i32>
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 1) readonly buffer Block { uint8_t x[8]; };
layout(binding = 0) writeonly buffer Result { uint result[]; };
layout(push_constant) uniform Push { uint64_t from; };
void main()
{
    uint i = gl_LocalInvocationIndex, at = i + 32 * gl_WorkGroupID.x;
    Block block = Block(from + 8 * (at / 4));
    result[i] = uint(block.x[at % 4]) + gl_WorkGroupID.x;
}
