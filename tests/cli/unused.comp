// SPDX-License-Identifier: MIT
// A buffer that no instruction reaches need not be bound.
// RUN: %heddle run %s --bind 0=zeros:u32[32] | %filecheck %s
// CHECK: cpu
#version 460
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Used { uint a[]; };
layout(set = 0, binding = 1) buffer Unused { uint b[]; };
void main()
{
    if (false)
        b[0] = 1;
    a[gl_LocalInvocationIndex] = 7;
}
