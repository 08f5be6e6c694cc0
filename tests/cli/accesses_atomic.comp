// SPDX-License-Identifier: MIT
// Atomics, push constants and loops under masks are accesses too, and two devices agree about them.
// RUN: for d in cpu reference; do %heddle run %s --stats --device $d --groups 2 --push list:u32:3 \
// RUN:   --bind 0=zeros:u32[64] --bind 1=zeros:u32[64] | %filecheck %s || exit 1; done
// Each of four subgroups: the push constant and the sum; y[i] = i; what 16, 8 and 4 lanes store; the
// histogram.
// CHECK: scalar accesses, bytes 8, 32
// CHECK: vector accesses, bytes 4, 512
// CHECK: masked accesses, bytes 12, 448
// CHECK: gathers and scatters, bytes 4, 512
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer X
{
    uint sum, histogram[63];
};
layout(binding = 1) buffer Y
{
    uint y[];
};
layout(push_constant) uniform Push
{
    uint p;
};

void main()
{
    uint i = gl_LocalInvocationIndex, lane = gl_LocalInvocationIndex % 32u;
    uint v = p;
    y[i] = i;
    atomicAdd(sum, 1u);
    atomicAdd(histogram[(i * 7u) % 16u], 1u);
    for (uint k = 16u; k >= 4u && lane < k; k /= 2u)
        y[i] = v + k;
}
