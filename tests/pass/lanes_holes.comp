// SPDX-License-Identifier: MIT
//
// Small numbers that lanes store with holes between them, of 8 and 16 bits, 2 to 16 bytes apart: by
// vectors under masks, which leave the holes as they were. All lanes, those of a test, and rows of 8.
//
// RUN: for D in uint8_t:2 uint8_t:8 uint8_t:16 uint16_t:2 uint16_t:4 uint16_t:8; do \
// RUN:   %heddle compile %s --isa x86-64-v4 -D T=${D%%:*} -D STEP=${D##*:} --emit llvm-plain \
// RUN:     -o %t.ll && %filecheck %s < %t.ll || exit 1; done
// RUN: %heddle compile %s --isa x86-64-v4 -D T=uint8_t -D STEP=32 --emit llvm-plain -o %t.ll && \
// RUN:   %filecheck %s --check-prefix=FAR < %t.ll
// RUN: B="--groups 2,2 --bind 0=rand:u8[4096]@1 --bind 1=rand:u8[16384]@2 --push list:s32:"; \
// RUN: for T in uint8_t uint16_t; do for S in 2 3 4 8 16; do for W in 8 16 64; do \
// RUN:   D="-D T=$T -D STEP=$S -D W=$W"; for N in 999 37; do \
// RUN:   %heddle run %s $D $B$N --device reference --out 1=%t.npy > /dev/null || exit 1; \
// RUN:   for I in host x86-64-v3; do \
// RUN:     %heddle run %s $D $B$N --isa $I --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; \
// RUN:   done; done; done; done; done
// RUN: for T in uint8_t uint16_t; do for S in 4 16; do D="-D T=$T -D STEP=$S -D W=128"; \
// RUN:   B="--groups 1,2 --bind 0=rand:u8[4096]@1 --bind 1=rand:u8[16384]@2 --push list:s32:200"; \
// RUN:   %heddle run %s $D $B --device reference --out 1=%t.npy > /dev/null && \
// RUN:   %heddle run %s $D $B --subgroup-size 128 --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; \
// RUN: done; done
// RUN: for I in %levels; do D="-D T=uint16_t -D STEP=4 -D W=16"; \
// RUN:   B="--groups 2,2 --bind 0=rand:u8[4096]@1 --bind 1=rand:u8[16384]@2 --push list:s32:37"; \
// RUN:   %heddle run %s $D $B --device reference --out 1=%t.npy > /dev/null && \
// RUN:   %heddle run %s $D $B --isa $I --compare 1=%t.npy --tolerance 0 > /dev/null && \
// RUN:   %heddle run %s $D $B --isa $I --robust --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; done

// CHECK-NOT: lane_values
// CHECK: call void @llvm.masked.store.
// FAR: lane_values

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#ifndef W
#define W 64
#endif

layout(local_size_x = W, local_size_y = (64 + W - 1) / W) in;
layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) writeonly buffer B { T b[]; };
layout(push_constant) uniform Sizes { int n; };

void main()
{
    int width = int(gl_NumWorkGroups.x) * W;
    int i = int(gl_GlobalInvocationID.y) * width + int(gl_GlobalInvocationID.x);
    if (i < n)
        b[i * STEP + 1] = a[i] + T(3);
    if ((a[i] & T(3)) == T(1))
        b[i * STEP] = a[i * 2];
}
