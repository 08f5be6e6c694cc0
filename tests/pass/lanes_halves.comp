// SPDX-License-Identifier: MIT
//
// Two numbers of 16 bits that lie side by side are loaded as a word, also where others' come in
// between (src/cpu/lanes/series.c): of three rows, whose blocks of 18 bytes begin with a scale. The
// words' high halves of bytes are shifts of bytes (src/cpu/jit/dots.c), but not where the mask is
// another.
//
// RUN: %heddle compile %s -D T=uint16_t -D MASK=0x0f0f0f0fu --isa x86-64-v4 --emit llvm | %filecheck %s
// RUN: %heddle compile %s -D T=uint16_t -D MASK=0x070f0f0fu --isa x86-64-v4 --emit llvm | \
// RUN:   %filecheck %s --check-prefix=OTHER
// RUN: for T in uint16_t int16_t float16_t; do for M in 0x0f0f0f0fu 0x070f0f0fu 0x0000000fu; do \
// RUN:   D="-D T=$T -D MASK=$M --bind 0=rand:u8[27720] --bind 1=zeros:u32[256] --groups 2"; \
// RUN:   C="--compare 1=%t.npy --tolerance 0"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   for I in %levels; do %heddle run %s $D --isa $I $C || exit 1; done && \
// RUN:   for W in 8 128; do %heddle run %s $D --subgroup-size $W $C || exit 1; done && \
// RUN:   %heddle run %s $D --robust $C || exit 1; done || exit 1; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK-NOT: i16
// CHECK: lshr <{{[0-9]+}} x i8>
// CHECK-NOT: i16
// CHECK: }

// OTHER-LABEL: define {{.*}}@heddle_kernel(
// OTHER-NOT: i16
// OTHER-NOT: lshr {{.*}} x i8>
// OTHER: lshr <{{[0-9]+}} x i32>
// OTHER-NOT: i16
// OTHER: }

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 128) in;
struct Block {
    uint16_t scale;
    T q[8];
};
layout(set = 0, binding = 0) readonly buffer A { Block a[]; };
layout(set = 0, binding = 1) writeonly buffer O { uint o[]; };

uint16_t bits(uint16_t x) { return x; }
uint16_t bits(int16_t x) { return uint16_t(x); }
uint16_t bits(float16_t x) { return float16BitsToUint16(x); }

uint word(T low, T high) { return packUint2x16(u16vec2(bits(low), bits(high))); }

void main()
{
    uint id = gl_GlobalInvocationID.x, block = id / 4, q = id % 4 * 2;
    T low[3], high[3];
    for (uint row = 0; row < 3; row++)
        low[row] = a[block + row * 512].q[q];
    for (uint row = 0; row < 3; row++)
        high[row] = a[block + row * 512].q[q + 1];
    uint sum = 0;
    for (uint row = 0; row < 3; row++) {
        uint w = word(low[row], high[row]);
        sum = sum * 31 + (w & 0x0f0f0f0fu) + 7 * (w >> 4 & MASK);
    }
    o[id] = sum;
}
