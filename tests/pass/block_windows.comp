// SPDX-License-Identifier: MIT
//
// Lanes that each take pieces of a block of their own load vectors that hold several lanes' blocks,
// under masks only if all are active, so that nothing behind the last piece is read.
//
// RUN: %heddle compile %s --isa x86-64-v4 -D T=uint -D LENGTH=8 --emit llvm-plain | %filecheck %s
// RUN: %heddle compile %s --isa x86-64-v4 -D T=uint -D LENGTH=8 -D SHIFTED --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=SHIFTED
// RUN: for B in uint8_t,9 uint8_t,34 uint16_t,17 uint,5 uint64_t,3; do \
// RUN:   D="-D T=${B%,*} -D LENGTH=${B#*,} --bind 1=zeros:u32[128] --push list:u32:100 --groups 2"; \
// RUN:   W="--bind 0=rand:u8[8192]@1" L="--bind 0=rand:u8[1001]@1" C="--compare 1=%t.npy --tolerance 0"; \
// RUN:   %heddle run %s $D $W --device reference --out 1=%t.npy && %heddle run %s $D $W $C && \
// RUN:   for I in %levels; do %heddle run %s $D $W --isa $I --robust $C || exit 1; done && \
// RUN:   %heddle run %s $D $L --isa x86-64-v2 --robust --out 1=%t.npy && \
// RUN:   %heddle run %s $D $L --robust $C || exit 1; \
// RUN: done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK-NOT: gather
// CHECK: load <16 x i32>
// CHECK: br i1 {{.*}} label %access.together
// CHECK-NOT: gather
// CHECK: load <16 x i32>
// CHECK: access.apart
// CHECK: gather
// CHECK: }

// Where in its block a piece is may not be known: words that few lanes of a window have are gathered.
// SHIFTED: gather
// SHIFTED: store

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 64) in;
struct Block { T q[LENGTH]; };
layout(scalar, binding = 0) readonly buffer A { Block a[]; };
layout(binding = 1) writeonly buffer O { uint o[]; };
#ifdef SHIFTED
layout(binding = 2) readonly buffer B { uint b[]; };
#endif
layout(push_constant) uniform P { uint n; };

void main()
{
    uint i = gl_GlobalInvocationID.x, s;
#ifdef SHIFTED
    o[i] = b[8 * i + n];
    return;
#endif
    s = uint(a[i].q[0]) + 3 * uint(a[i].q[LENGTH - 1]) + 5 * uint(a[i].q[LENGTH / 2]);
    for (uint j = i; j < n; j += 33)
        s = 7 * s + uint(a[j].q[1]) + 11 * uint(a[j].q[0]) + 13 * uint(a[j].q[LENGTH - 1]);
    if (i % 5 != 1)
        s += 17 * uint(a[i].q[2]) + 19 * uint(a[i].q[1]) + 23 * uint(a[i].q[LENGTH - 2]);
    o[i] = s;
}
