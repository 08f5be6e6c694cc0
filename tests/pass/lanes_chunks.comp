// SPDX-License-Identifier: MIT
//
// Lanes that each read several numbers side by side, wherever that is, load them in chunks and
// transpose: no gather, whatever the width of a number, of the machine's vectors and of a subgroup.
//
// RUN: %heddle compile %s --isa x86-64-v4 -D T=uint -D LENGTH=16 --emit llvm-plain | %filecheck %s
// RUN: %heddle compile %s --isa x86-64-v3 -D T=uint -D LENGTH=16 --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=AVX2
// RUN: for B in uint8_t,37 uint8_t,70 uint16_t,8 uint16_t,47 uint,3 uint,5 \
// RUN:     uint,23 uint64_t,2 uint64_t,15; do \
// RUN:   D="-D T=${B%,*} -D LENGTH=${B#*,} --bind 0=rand:u8[73000]@1 --bind 1=zeros:u32[256] --groups 2"; \
// RUN:   C="--compare 1=%t.npy --tolerance 0"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   for W in 8 16 32 64 128; do %heddle run %s $D --subgroup-size $W $C || exit 1; done; \
// RUN:   for I in %levels; do %heddle run %s $D --isa $I $C || exit 1; done; \
// RUN:   %heddle run %s $D --robust $C || exit 1; \
// RUN:   D="${D/73000/20000}"; %heddle run %s $D --robust --isa x86-64-v2 --out 1=%t.npy && \
// RUN:   %heddle run %s $D --robust $C || exit 1; \
// RUN: done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK-NOT: gather
// CHECK: load <16 x i32>
// CHECK-NOT: gather
// CHECK: }

// AVX2-NOT: gather
// AVX2: load <8 x i32>
// AVX2-NOT: gather

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 128) in;
layout(scalar, binding = 0) readonly buffer A { T a[][LENGTH]; };
layout(binding = 1) writeonly buffer O { uint o[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x, s = i;
    T block[LENGTH] = a[(i * i + 7 * i) % 127];
    for (int k = 0; k < LENGTH; k++)
        s = 31 * s + uint(block[k]);
    if (s % 3 == 0) {
        block = a[s % 127];
        s ^= uint(block[0]) + 3 * uint(block[LENGTH - 1]);
    }
    o[i] = s;
}
