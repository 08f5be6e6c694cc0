// SPDX-License-Identifier: MIT
// Loops that go to another page in each iteration take turns with the other subgroups of their
// workgroup: where more is read than the caches hold, and never in short steps, in loops that wait
// at a barrier anyway, and in workgroups without barriers.
//
// RUN: %heddle run %s --stats --groups 4 --bind 0=iota:f32[4194304] --bind 1=zeros:f32[4] \
// RUN:   --push list:u32:4194304 | %filecheck %s --check-prefix=TURNS
// RUN: %heddle run %s --stats --groups 4 --bind 0=iota:f32[65536] --bind 1=zeros:f32[4] \
// RUN:   --push list:u32:65536 | %filecheck %s --check-prefix=NONE
// RUN: for D in NEAR WAITING FREE; do \
// RUN:   %heddle run %s -D $D --stats --groups 4 --bind 0=iota:f32[4194304] --bind 1=zeros:f32[4] \
// RUN:     --push list:u32:4194304 | %filecheck %s --check-prefix=NONE || exit 1; done
//
// What comes of it is the same, also where lanes leave the loop in different iterations.
// RUN: for N in 65536 65001 1000 7; do for W in 8 32; do \
// RUN:   %heddle run %s --subgroup-size $W --interleave 16 --groups 4 --bind 0=iota:f32[65536] \
// RUN:     --bind 1=zeros:f32[4] --push list:u32:$N --out 1=%t.npy && \
// RUN:   %heddle run %s --device reference --groups 4 --bind 0=iota:f32[65536] \
// RUN:     --bind 1=zeros:f32[4] --push list:u32:$N --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN: done; done
// TURNS: yields {{ *}}{{[1-9]}}
// NONE: kernel
// NONE-NOT: yields
#version 460
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Sums { float sums[]; };
layout(push_constant) uniform Push { uint n; };
shared float part[256];

void main()
{
    uint id = gl_LocalInvocationID.x, step = gl_NumWorkGroups.x * 256;
    float sum = 0;
#ifdef NEAR
    for (uint i = gl_GlobalInvocationID.x; i < n; i += 256)
#else
    for (uint i = gl_GlobalInvocationID.x; i < n; i += step)
#endif
    {
        sum = mod(sum + x[i], 4096.0);
#ifdef WAITING
        barrier();
#endif
    }
#ifdef FREE
    sums[gl_WorkGroupID.x] = sum;
#else
    part[id] = sum;
    barrier();
    if (id == 0) {
        for (uint k = 1; k < 256; k++)
            sum += part[k];
        sums[gl_WorkGroupID.x] = sum;
    }
#endif
}
