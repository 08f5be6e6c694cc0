// SPDX-License-Identifier: MIT
//
// Numbers that lanes look up in a table of at most 16, which the workgroup shares, or of constants:
// the table is loaded as a whole and permuted, whatever the width of a number, of the machine and
// of a subgroup.
//
// RUN: %heddle compile %s --isa x86-64-v3 -D T=int8_t -D N=16 --emit llvm-plain | %filecheck %s
// RUN: %heddle compile %s --isa x86-64-v3 -D T=float -D N=11 --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=WORDS
// RUN: %heddle compile %s --isa x86-64-v4 -D T=uint -D N=16 --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=WIDE
// RUN: %heddle compile %s --isa x86-64-v3 -D T=int8_t -D N=17 --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=LONG
// RUN: %heddle compile %s --isa x86-64-v3 -D T=float -D N=8 -D CONSTANT --emit llvm | \
// RUN:   %filecheck %s --check-prefix=CONSTANT --implicit-check-not=gather
// RUN: for B in int8_t,16 int8_t,5 uint8_t,3 uint16_t,16 int16_t,7 float16_t,16 uint,16 float,16 \
// RUN:     float,8 int,9 uint,2 uint64_t,16 int,17 float,8,CONSTANT int8_t,8,CONSTANT; do \
// RUN:   IFS=, read -r T N STORAGE <<< "$B"; \
// RUN:   D="-D T=$T -D N=$N -D ${STORAGE:-SHARED} --bind 0=rand:u32[256]@1 --bind 1=zeros:u32[256] --groups 2"; \
// RUN:   C="--compare 1=%t.npy --tolerance 0"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   for W in 8 16 32 64 128; do %heddle run %s $D --subgroup-size $W $C || exit 1; done; \
// RUN:   for I in %levels; do %heddle run %s $D --isa $I $C || exit 1; done; \
// RUN: done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK-NOT: gather
// CHECK: call <32 x i8> @llvm.x86.avx2.pshuf.b(
// CHECK-NOT: lane_addresses
// CHECK: }

// WORDS-COUNT-8: call <8 x i32> @llvm.x86.avx2.permd(
// WIDE-COUNT-2: call <16 x i32> @llvm.x86.avx512.permvar.si.512(
// LONG-NOT: pshuf
// CONSTANT-COUNT-8: call <8 x i32> @llvm.x86.avx2.permd(

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer O { uint o[]; };
#ifdef CONSTANT
const T table[N] = T[](T(3), T(1), T(4), T(1), T(5), T(9), T(2), T(6));
#else
shared T table[N];
#endif

void main()
{
    uint me = gl_LocalInvocationIndex, i = gl_GlobalInvocationID.x, x = a[i], s = 0;
#ifndef CONSTANT
    if (me < N)
        table[me] = T(int(me * me) - 20);
    barrier();
#endif
    s = uint(int(table[x % N]));
    if (x % 3 != 0) // with some of the lanes
        s = 31 * s + uint(int(table[uint8_t(x >> 8) % uint8_t(N)]));
    o[i] = s;
}
