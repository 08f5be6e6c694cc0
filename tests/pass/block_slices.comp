// SPDX-License-Identifier: MIT
//
// Lanes that each take pieces of a block of their own load slices of it and interleave them, where
// the machine does not permute pairs of vectors or blocks are long. The last lane's slice is not
// read, because there may be nothing behind its piece.
//
// RUN: for L in x86-64-v2,8 x86-64-v3,8 x86-64-v4,23; do \
// RUN:   %heddle compile %s --isa ${L%,*} -D T=uint -D LENGTH=${L#*,} --emit llvm-plain | %filecheck %s \
// RUN:   || exit 1; done
// RUN: for B in uint8_t,34 uint16_t,17 uint,23 uint64_t,3; do \
// RUN:   D="-D T=${B%,*} -D LENGTH=${B#*,} --bind 0=rand:u8[11776]@1 --bind 1=zeros:u32[128] --groups 2"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && for I in %levels; do \
// RUN:     %heddle run %s $D --isa $I --compare 1=%t.npy --tolerance 0 || exit 1; done || exit 1; \
// RUN: done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK-NOT: gather
// CHECK: load <4 x i32>
// CHECK-NOT: gather
// CHECK: insertelement
// CHECK-NOT: gather
// CHECK: ret void

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 64) in;
struct Block { T q[LENGTH]; };
layout(scalar, binding = 0) readonly buffer A { Block a[]; };
layout(binding = 1) writeonly buffer O { uint o[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    o[i] = uint(a[i].q[0]) + 3 * uint(a[i].q[LENGTH - 1]) + 5 * uint(a[i].q[LENGTH / 2]) +
           7 * uint(a[i].q[1]) + 11 * uint(a[i].q[LENGTH - 2]);
}
