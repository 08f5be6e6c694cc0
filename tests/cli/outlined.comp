// SPDX-License-Identifier: MIT
// REQUIRES: x86-64-v3
// Without AVX-512 a kernel with many gathers and scatters calls functions for them, one a type, where
// LLVM has instructions for gathers; else each is a loop.
// RUN: for t in fast full; do \
// RUN:   %heddle compile %s --isa alderlake --tier $t --emit llvm | %filecheck %s --implicit-check-not='@gather.1' || exit 1; \
// RUN:   for isa in %levels; do \
// RUN:     %heddle run %s --isa $isa --tier $t --bind 0=rand:u32[256]@1 --bind 1=zeros:u32[64] --bind 2=zeros:u16[256] \
// RUN:       --out 1=%t.$isa.$t.1 --out 2=%t.$isa.$t.2 || exit 1; \
// RUN:     cmp %t.$isa.$t.1 %t.host.fast.1 && cmp %t.$isa.$t.2 %t.host.fast.2 || exit 1; \
// RUN:   done; done
// RUN: %heddle run %s --device reference --bind 0=rand:u32[256]@1 --bind 1=zeros:u32[64] --bind 2=zeros:u16[256] --out 1=%t.1 --out 2=%t.2
// RUN: cmp %t.1 %t.host.fast.1 && cmp %t.2 %t.host.fast.2
// CHECK: call <32 x i32> @gather(
// CHECK: define internal <32 x i32> @gather(
// Few are left where they are.
// RUN: %heddle compile %s -D ALL=S8 --isa alderlake --emit llvm | %filecheck %s --check-prefix=FEW --implicit-check-not=@gather
// FEW: @llvm.masked.gather
#version 460
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer B { uint b[]; };
layout(set = 0, binding = 2) writeonly buffer C { uint16_t c[]; };
#define S(k) if ((x & 7) != k % 8) x = x * 31 + a[(x + k) & 255];
#define S8(k) S(k) S(k + 1) S(k + 2) S(k + 3) S(k + 4) S(k + 5) S(k + 6) S(k + 7) \
    c[(x & 3) * 64 + i] = uint16_t(x);
#define S64(k) S8(k) S8(k + 8) S8(k + 16) S8(k + 24) S8(k + 32) S8(k + 40) S8(k + 48) S8(k + 56)
#define S320(k) S64(k) S64(k + 64) S64(k + 128) S64(k + 192) S64(k + 256)
#ifndef ALL
#define ALL S320
#endif
void main()
{
    uint i = gl_LocalInvocationID.x, x = i;
    ALL(0)
    b[i] = x;
}
