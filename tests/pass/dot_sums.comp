// SPDX-License-Identifier: MIT
//
// Sums of dot products of bytes: vpdpbusd adds to the other, and vpmaddubsw's 16 bits are added where
// they cannot overflow: below a mask of 63, but not of 127 (src/cpu/jit/dots.c). Bytes are the largest,
// the smallest, or any.
//
// RUN: %heddle compile %s --isa sapphirerapids -D MASK=0x3f3f3f3f --emit llvm | %filecheck %s --check-prefix=WORDS
// RUN: %heddle compile %s --isa x86-64-v3 -D MASK=0x3f3f3f3f --emit llvm | %filecheck %s --check-prefix=HALVES
// RUN: %heddle compile %s --isa x86-64-v3 -D MASK=0x7f7f7f7f --emit llvm | %filecheck %s --check-prefix=APART
// RUN: for M in 0x0f0f0f0f 0x3f3f3f3f 0x7f7f7f7f 0x407f3f3f 0xffffffff; do \
// RUN:   for B in full:-128:s8[512] full:127:s8[512] rand:s8[512]; do \
// RUN:     D="--bind 1=$B --bind 2=zeros:s32[64] --groups 2 -D MASK=$M --bind 0"; \
// RUN:     for A in full:255:u8[512] rand:u8[512]; do \
// RUN:       %heddle run %s $D=$A --device reference --out 2=%t.npy && for I in %levels; do \
// RUN:         %heddle run %s $D=$A --isa $I --compare 2=%t.npy --tolerance 0 || exit 1; \
// RUN: done || exit 1; done; done; done

// WORDS: = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> zeroinitializer
// WORDS: = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %
// HALVES: add <16 x i16>
// APART-NOT: add <16 x i16>
#version 460
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[128]; };
layout(set = 0, binding = 1) readonly buffer B { int b[128]; };
layout(set = 0, binding = 2) buffer Y { int y[64]; };

void main()
{
    uint at = gl_GlobalInvocationID.x, x = a[at] & uint(MASK), more = a[at + 64] & uint(MASK);
    y[at] = dotPacked4x8EXT(int(x), b[at]) + dotPacked4x8EXT(int(more), b[at + 64]);
}
