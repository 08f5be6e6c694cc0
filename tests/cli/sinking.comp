#version 450
// SPDX-License-Identifier: MIT
//
// What is calculated with loaded values is calculated before the next load's two ways, so that no
// more values live across these than the source has.
//
// RUN: %heddle compile %s --robust --isa x86-64-v4 --subgroup-size 16 --emit native | %filecheck %s

// CHECK-LABEL: heddle_kernel:
// CHECK: vsubps
// CHECK: ja
// CHECK: vsubps
// CHECK: ja
// CHECK: vsubps

layout(local_size_x = 16) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { int n; } p;

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float sum = 0;
    for (int k = 0; k < p.n; k++) {
        sum = a[i * 16 + k * 3] - a[i * 2] - sum;
        sum = a[i * 8 + k * 5] - a[i * 3] - sum;
        sum = a[i * 4 + k * 7] - a[i * 5] - sum;
    }
    c[i] = sum;
}
