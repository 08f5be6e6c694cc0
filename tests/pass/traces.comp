// SPDX-License-Identifier: MIT
//
// Accesses of a loop that are expected to be side by side, and inside, are one straight line if all of
// them are (src/cpu/jit/trace.c). Here the first, a later one or none of them goes as expected: indices
// wrap in the middle of a subgroup, or begin outside of the buffer. One depends on what another loaded,
// and one on a load behind a store, which end a trace.
//
// RUN: %heddle compile %s --isa x86-64-v3 --subgroup-size 8 --robust --emit llvm | %filecheck %s -DW=8
// RUN: %heddle compile %s --isa x86-64-v4 --robust --emit llvm | %filecheck %s -DW=32
// RUN: %heddle compile %s --isa x86-64-v4 --robust --emit llvm --tier fast | %filecheck %s --check-prefix=FAST
// RUN: for A in 0 4294967280 1010; do for B in 64 4294967279 1020; do for C in 128 4294967295; do \
// RUN:   D="--robust --bind 0=rand:u32[1024]@1 --bind 1=iota:u32[1024] --bind 2=zeros:u32[1024] --groups 2 \
// RUN:      --push list:u32:$A,$B,$C"; \
// RUN:   %heddle run %s $D --device reference --out 2=%t.npy --out 1=%t.1.npy && for I in %levels; do \
// RUN:     %heddle run %s $D --isa $I --compare 2=%t.npy --compare 1=%t.1.npy --tolerance 0 || exit 1; \
// RUN:   done || exit 1; \
// RUN: done; done; done

// A test's arithmetic is looked at once, however often it uses what it computed before (it would take
// until tomorrow).
// RUN: %heddle compile %s --isa x86-64-v4 --robust --emit llvm -D SQUARES | %filecheck %s -DW=32

// CHECK: {{^}}trace{{.*}}:
// CHECK-NOT: {{^}}singly
// CHECK: load <[[W]] x i32>
// CHECK-NOT: {{^}}singly
// CHECK: load <[[W]] x i32>
// CHECK-NOT: {{^}}singly
// CHECK: load <[[W]] x i32>
// CHECK-NOT: {{^}}singly
// CHECK: load <[[W]] x i32>
// CHECK: {{^}}singly
// FAST-NOT: {{^}}trace
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
layout(set = 0, binding = 2) buffer Z { uint z[]; };
layout(push_constant) uniform Push { uint a, b, c; };

void main()
{
    uint lane = gl_LocalInvocationIndex, group = gl_WorkGroupID.x, sum = 0;
    for (uint k = 0; k < 4; k++) {
        uint first = x[a + lane + k * 32] + 3 * x[b + lane + k * 32];
        uint second = x[c + lane + k] ^ y[group * 512 + lane + k * 32];
        sum = sum * 5 + first + second;
        if (k > 1)
            sum += x[subgroupBroadcastFirst(first) % 900 + lane];
        y[group * 512 + lane + k * 32] = sum;
#ifdef SQUARES
        uint h = k;
        for (uint i = 0; i < 40; i++)
            h *= h;
        sum += x[h + lane] + x[lane + k * 3];
#endif
        sum += y[group * 512 + lane + (k ^ 1) * 32] * x[a + b + lane];
    }
    z[gl_GlobalInvocationID.x] = sum;
}
