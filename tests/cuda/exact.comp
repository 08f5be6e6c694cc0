// SPDX-License-Identifier: MIT
// Divisions, roots, exponentials and logarithms go to the special function units, but for what is
// precise, and unless all is to be exact.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s --device cuda --isa sm_80 --exact --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix EXACT < %t.ptx
// CHECK: div.full.f32
// CHECK: rsqrt.approx.f32
// CHECK: ex2.approx.f32
// CHECK: lg2.approx.f32
// CHECK: div.rn.f32
// CHECK-NOT: div.
// EXACT-NOT: approx
// EXACT: div.rn.f32
// EXACT-NOT: approx
#version 460
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Input { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { float y[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float r = 3 / x[i];
    r = inversesqrt(r);
    r = exp(r);
    r = log2(r);
    precise float last = x[i + 2] / x[i + 1];
    y[2 * i] = r;
    y[2 * i + 1] = last;
}
