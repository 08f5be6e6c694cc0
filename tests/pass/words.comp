// SPDX-License-Identifier: MIT
//
// Sums of bytes that lanes load as words, rows of their own, are dot products of bytes (src/cpu/jit/words.c):
// of both signs, times other rows' bytes, bytes that all lanes share, or constants. Bytes are the
// largest, the smallest, or any.
//
// RUN: %heddle compile %s --isa sapphirerapids -D A=int8_t -D B=int8_t -D F=1 --emit llvm | %filecheck %s --check-prefix=SUMS
// RUN: %heddle compile %s --isa sapphirerapids -D A=uint8_t -D B=int8_t -D F='int(b[row * N + k])' --emit llvm | %filecheck %s --check-prefix=ROWS
// RUN: %heddle compile %s --isa sapphirerapids -D A=uint8_t -D B=int8_t -D F='int(b[k])' --emit llvm | %filecheck %s --check-prefix=SHARED
// RUN: %heddle compile %s --isa x86-64-v3 -D A=uint8_t -D B=int8_t -D F=1 --emit llvm | %filecheck %s --check-prefix=PAIRS
// RUN: %heddle compile %s --isa sapphirerapids -D A=uint8_t -D B=int8_t -D F='(k % 4 == 3 ? -3 : 200)' --emit llvm | %filecheck %s --check-prefix=NEITHER
// RUN: for F in 1 '(200 - k)' '(k % 4 == 3 ? -3 : 200)' 'int(b[k])' 'int(b[row * N + k])' 'int(a[row * N + k])' \
// RUN:   '(k % 4 == 3 ? int(b[row * N + k]) : int(b[k]))'; do \
// RUN: for T in '-D A=int8_t -D B=int8_t' '-D A=uint8_t -D B=int8_t' '-D A=uint8_t -D B=uint8_t'; do \
// RUN:   for X in 16,full:-128:s8 7,rand:s8; do \
// RUN:     D="-D N=${X%%,*} --bind 0=${X#*,}[512] --bind 1=rand:s8[512] --bind 2=zeros:s32[32] --groups 1"; \
// RUN:     %heddle run %s $D $T -D "F=$F" --device reference --out 2=%t.npy && for I in %levels; do \
// RUN:       %heddle run %s $D $T -D "F=$F" --isa $I --compare 2=%t.npy --tolerance 0 || exit 1; \
// RUN: done || exit 1; done || exit 1; done || exit 1; done

// SUMS: vpdpbusd{{.*}}(<16 x i32> splat (i32 16843009)
// SUMS-NOT: ashr
// ROWS: vpdpbusd
// ROWS-NOT: = mul
// SHARED: vpdpbusd
// SHARED-NOT: = mul
// PAIRS: pmadd.ub.sw
// NEITHER-COUNT-2: vpdpbusd
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#ifndef N
#define N 64
#endif
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer BufferA { A a[]; };
layout(set = 0, binding = 1) readonly buffer BufferB { B b[]; };
layout(set = 0, binding = 2) writeonly buffer C { int c[]; };

void main()
{
    int row = int(gl_GlobalInvocationID.x), sum = 0;
    for (int k = 0; k < N; k++)
        sum += int(a[row * N + k]) * F;
    c[row] = sum;
}
