// SPDX-License-Identifier: MIT
//
// Elements that follow one another in each lane are one load although instructions load them one by
// one, in any order, between other loads, and some of them twice; but not across a store.
//
// RUN: %heddle compile %s -D T=uint -D STORE=0 --isa x86-64-v4 --emit llvm-plain | %filecheck %s
// RUN: %heddle compile %s -D T=uint -D STORE=1 --isa x86-64-v4 --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=STORE
// RUN: for S in 0 1; do for T in uint uint8_t uint16_t uint64_t; do \
// RUN:   D="-D T=$T -D STORE=$S --bind 0=rand:u8[140000]@1 --bind 1=zeros:u32[256] --groups 2 --push list:u32:61"; \
// RUN:   C="--compare 1=%t.npy --tolerance 0"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   for I in %levels; do %heddle run %s $D --isa $I $C || exit 1; done && \
// RUN:   for W in 8 128; do %heddle run %s $D --subgroup-size $W $C || exit 1; done && \
// RUN:   %heddle run %s $D --robust $C || exit 1; done || exit 1; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: load <8 x i32>, ptr
// CHECK-NOT: masked.gather
// CHECK: call <32 x i32> @llvm.masked.gather
// CHECK-NOT: masked.gather
// CHECK: }

// STORE-LABEL: define {{.*}}@heddle_kernel(
// STORE: load <4 x i32>, ptr
// STORE: masked.scatter
// STORE: load <4 x i32>, ptr

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer A { T a[]; };
layout(set = 0, binding = 1) writeonly buffer O { uint o[]; };
layout(push_constant) uniform Push { int n; };

void main()
{
    int id = int(gl_GlobalInvocationID.x), row = id * n + 40;
    uint s = id, first = uint(a[row + 3]);
    for (int k = 7; k >= 4; k--)
        s = 31 * s + uint(a[row + k]);
    s += uint(a[row * 2 - row + 3]) + uint(a[row - 27]);
    if (STORE != 0)
        a[row + 11] = T(s);
    for (int k = 0; k < 3; k++)
        s = 31 * s + uint(a[row + k]) * first;
    s += STORE != 0 ? uint(a[row + 3]) : 0;
    o[id] = s;
}
