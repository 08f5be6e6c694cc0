// SPDX-License-Identifier: MIT
// A private array's element that a loop stores is stored behind the loop, whole.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// CHECK-NOT: st.local.b8
// CHECK: bra
// CHECK: st.local.b32
// CHECK-NOT: st.local.b8
#version 460

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer B { float x[]; };

void main()
{
    uint id = gl_GlobalInvocationID.x;
    float part[4] = float[](x[id], 0, 0, 1);
    part[uint(x[id + 1]) & 3] = 5;
    for (uint k = 0; k < uint(x[id + 2]); k++)
        if (x[k] > 3)
            part[1] = x[k + 4];
    x[id] = part[uint(x[id + 3]) & 3];
}
