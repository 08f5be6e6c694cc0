// SPDX-License-Identifier: MIT
//
// What each lane reads of workgroup memory side by side is one load of a chunk too, although arrays
// there have no stride (src/cpu/lanes/series.c), and where groups of four lanes read the same.
//
// RUN: %heddle compile %s -D T=float --isa x86-64-v4 --emit llvm-plain | %filecheck %s
// RUN: for T in float int16_t uint8_t int64_t vec3; do \
// RUN:   D="-D T=$T --bind 0=rand:u8[8192]@1 --bind 1=zeros:u32[64] --groups 4"; \
// RUN:   [ $T = float ] || [ $T = vec3 ] && D="${D/rand:u8\[8192\]/randn:f32[2048]}"; \
// RUN:   C="--compare 1=%t.npy --tolerance 0"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   for W in 8 16; do %heddle run %s $D --subgroup-size $W $C || exit 1; done && \
// RUN:   for I in %levels; do %heddle run %s $D --isa $I $C || exit 1; done && \
// RUN:   %heddle run %s $D --robust $C || exit 1; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: load <4 x float>
// CHECK-NOT: gather
// CHECK: }

#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 4, local_size_y = 4) in;
layout(scalar, set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) writeonly buffer O { uint o[]; };
shared T tile[128];

uint bits(float x) { return floatBitsToUint(x); }
uint bits(vec3 x) { return floatBitsToUint(x.x) + 3 * floatBitsToUint(x.y) + 5 * floatBitsToUint(x.z); }
uint bits(int16_t x) { return uint(x); }
uint bits(uint8_t x) { return uint(x); }
uint bits(int64_t x) { return uint(x) + 3 * uint(x >> 32); }

void main()
{
    uint self = gl_LocalInvocationIndex, s = 0;
    for (uint k = self; k < 128; k += 16)
        tile[k] = a[k + gl_WorkGroupID.x];
    barrier();
    [[unroll]] for (int d = 0; d < 4; d++)
        [[unroll]] for (int j = 0; j < 4; j++)
            s = 31 * s + bits(tile[16 * d + gl_LocalInvocationID.x * 4 + j]) *
                             bits(tile[64 + gl_LocalInvocationID.y * 4 + j]);
    o[gl_WorkGroupID.x * 16 + self] = s;
}
