// SPDX-License-Identifier: MIT
//
// Loops in which each invocation walks along a row of its own, upwards or downwards, for as many
// iterations as the others or not, and tests at the head or at the end: several iterations are one
// block, whose loads of a row are one, of chunks that are transposed. What is left over is done one
// by one.
//
// RUN: for M in 0 2; do %heddle compile %s -D MODE=$M -D T=uint --isa x86-64-v4 --emit llvm-plain | \
// RUN:   %filecheck %s || exit 1; done
// RUN: for M in 1 3 4; do %heddle compile %s -D MODE=$M -D T=uint --isa x86-64-v4 --emit llvm-plain | \
// RUN:   %filecheck %s || exit 1; \
// RUN:   %heddle compile %s -D MODE=$M -D T=uint --emit passes -o %t.spv && \
// RUN:   %heddle compile %t.spv --emit asm | %filecheck %s --check-prefix=VOTE || exit 1; done
// RUN: for M in 0,uint 1,uint 2,uint 3,uint 4,uint 1,uint8_t 4,uint16_t 3,uint64_t; do \
// RUN:   D="-D MODE=${M%,*} -D T=${M#*,} --bind 0=rand:u8[80000]@1 --bind 1=rand:u32[256]@2"; \
// RUN:   D="$D --bind 2=zeros:u32[256] --groups 2 --push list:u32:19"; C="--compare 2=%t.npy --tolerance 0"; \
// RUN:   %heddle run %s $D --device reference --out 2=%t.npy && \
// RUN:   for I in %levels; do %heddle run %s $D --isa $I $C || exit 1; done && \
// RUN:   for W in 8 128; do %heddle run %s $D --subgroup-size $W $C || exit 1; done && \
// RUN:   %heddle run %s $D --robust $C || exit 1; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: load <8 x i32>, ptr
// CHECK: load <8 x i32>, ptr
// CHECK: load <8 x i32>, ptr

// VOTE: OpGroupNonUniformAll
// VOTE: OpGroupNonUniformAll

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(set = 0, binding = 2) buffer O { uint o[]; };
layout(push_constant) uniform Push { int n; };

void main()
{
    uint id = gl_GlobalInvocationID.x, s = id;
    int row = int(id) * 37 + int(b[id] % 5), length = MODE == 0 || MODE == 2 ? n : int(b[id] % 30);
#if MODE == 0 || MODE == 1
    for (int k = 0; k < length; k++)
        s = 31 * s + uint(a[row + k]) * 3 + uint(a[row + k + 1]);
#elif MODE == 2
    for (int k = length; k-- > 0;)
        s = 31 * s + uint(a[row + k]);
#elif MODE == 3
    int k = row;
    if (b[id] % 4 > 0)
        do {
            s = 31 * s + uint(a[k]);
            k++;
        } while (k < row + length);
    s += k;
#else
    int k = row, before = 0;
    do {
        s = 31 * s + uint(a[k]);
        before = k++;
    } while (k <= row + length);
    s += 7 * before + k;
#endif
    o[id] = s;
}
