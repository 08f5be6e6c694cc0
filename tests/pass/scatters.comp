// SPDX-License-Identifier: MIT
// A scatter is as many accesses as it has lanes where the machine has none, so that blocks of many are
// split (a kernel lowered for 16 lanes of AVX2 took 15 s to compile, and takes 3).
//
// RUN: %heddle compile %s --isa x86-64-v3 --subgroup-size 16 --emit llvm | %filecheck %s
// RUN: %heddle compile %s --isa x86-64-v4 --subgroup-size 16 --emit llvm | %filecheck %s --check-prefix WHOLE
// CHECK: call void @llvm.masked.scatter
// CHECK: label %never
// CHECK: call void @llvm.masked.scatter
// WHOLE: call void @llvm.masked.scatter
// WHOLE-NOT: label %never
#version 460
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer In { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { uint y[]; };
shared uint all[1024];

void main()
{
    uint id = gl_LocalInvocationIndex;
    [[unroll]] for (uint k = 0; k < 32; k++)
        all[x[id + 16 * k] & 1023] = k;
    barrier();
    [[unroll]] for (uint k = 0; k < 32; k++)
        y[id + 16 * k] = all[id + 16 * k];
}
