// SPDX-License-Identifier: MIT
//
// Robust loads that are most likely inside: the lanes' own indices are computed where they are not
// (src/cpu/jit/seldom.c), also those that both loads' unexpected ways share.
//
// RUN: %heddle compile %s --robust --isa x86-64-v4 --subgroup-size 8 --emit llvm -o %t.ll && %filecheck %s < %t.ll
// RUN: B="--bind 0=rand:f32[4096]@1 --bind 1=rand:f32[4096]@2 --bind 2=zeros:f32[64] --groups 2 --push list:u32:"; \
// RUN: for N in 0 7 32 33; do \
// RUN:   %heddle run %s $B$N --robust --device reference --out 2=%t.npy > /dev/null || exit 1; \
// RUN:   for I in %levels; do for S in 8 32; do \
// RUN:     %heddle run %s $B$N --robust --isa $I --subgroup-size $S --compare 2=%t.npy --tolerance 1e-5 > /dev/null || exit 1; \
// RUN: done; done; done

// CHECK: define {{.*}}@heddle_kernel
// CHECK: phi <8 x float>
// CHECK-NOT: <8 x i32>
// CHECK: load <8 x float>
// CHECK-NOT: <8 x i32>
// CHECK: load <8 x float>
// CHECK: <8 x i32>
#version 460
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { uint n; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float sum = 0;
    for (uint k = 0; k < n; k++)
        sum += dot(a[k * 64 + i], b[k * 64 + i]);
    c[i] = sum;
}
