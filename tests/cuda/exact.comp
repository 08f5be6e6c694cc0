// SPDX-License-Identifier: MIT
// Divisions, roots, exponentials and logarithms go to the special function units, which take
// denormals for zeros unless the kernel wants them; but not what is precise, nor if all is to be exact.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s --device cuda --isa sm_80 --exact --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix EXACT < %t.ptx
// RUN: %heddle compile %s -D KEEP --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix KEEP < %t.ptx
// CHECK: div.full.ftz.f32
// CHECK: rsqrt.approx.ftz.f32
// CHECK: ex2.approx.ftz.f32
// CHECK: lg2.approx.ftz.f32
// CHECK: div.rn.f32
// CHECK-NOT: div.
// EXACT-NOT: approx
// EXACT: div.rn.f32
// EXACT-NOT: approx
// KEEP: div.full.f32
// KEEP: rsqrt.approx.f32
// KEEP: ex2.approx.f32
// KEEP: lg2.approx.f32
#version 460
#ifdef KEEP
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4464], 4459, 32);
#endif
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
