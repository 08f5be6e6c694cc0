// SPDX-License-Identifier: MIT
//
// Lanes that lie at least 16 bytes apart and each read a row of numbers load it whole and transpose
// (chunks.c); what is read of it alone is picked from vectors that hold several lanes' (windows.c).
//
// RUN: %heddle compile %s -D T=uint8_t -D STRIDE=16 -D COUNT=16 --isa x86-64-v4 --emit llvm-plain | %filecheck %s
// RUN: %heddle compile %s -D T=uint8_t -D STRIDE=16 -D COUNT=2 --isa x86-64-v4 --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=FEW
// RUN: for B in uint8_t,16,16 uint8_t,16,2 uint8_t,17,16 uint8_t,31,24 uint16_t,8,8 uint16_t,9,8 \
// RUN:     uint16_t,11,3 uint,4,4 uint,5,5 uint,7,4 uint64_t,2,2 uint64_t,3,3; do \
// RUN:   IFS=, read T S N <<< $B; \
// RUN:   D="-D T=$T -D STRIDE=$S -D COUNT=$N --bind 0=rand:u8[8192]@1 --bind 1=zeros:u32[256] --groups 2"; \
// RUN:   C="--compare 1=%t.npy --tolerance 0"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   for W in 8 16 64; do %heddle run %s $D --subgroup-size $W $C || exit 1; done && \
// RUN:   for I in %levels; do %heddle run %s $D --isa $I $C || exit 1; done && \
// RUN:   %heddle run %s $D --robust $C || exit 1; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: load <4 x i32>
// CHECK-NOT: load <64 x i8>
// CHECK: }

// FEW-LABEL: define {{.*}}@heddle_kernel(
// FEW: load <64 x i8>
// FEW: }

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) writeonly buffer O { uint o[]; };

void main()
{
    int id = int(gl_GlobalInvocationID.x), row = id * STRIDE;
    uint s = id;
    [[unroll]] for (int k = 0; k < COUNT; k++)
        s = 31 * s + uint(a[row + k]);
    o[id] = s;
}
