// SPDX-License-Identifier: MIT
// Vectors of booleans that are loaded in two ways, which meet: of a table of constants, each
// invocation its own.
// RUN: B="--bind 0=list:u32:2,1,0,3"; \
// RUN: %heddle run %s $B --bind 1=zeros:u32[4] --device reference --out 1=%t.npy && \
// RUN: for isa in x86-64-v4 x86-64-v3 x86-64-v2; do \
// RUN:   HEDDLE_ISA=$isa %heddle run %s $B --bind 1=zeros:u32[4] --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN: done
#version 460
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer In { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { uint z[]; };

void main()
{
    const bvec4 table[4] = { bvec4(true, false, true, false), bvec4(false, true, true, true),
                             bvec4(false), bvec4(true) };
    bvec4 own = table[gl_LocalInvocationIndex];
    z[gl_LocalInvocationIndex] = uint(own[x[0]]) | uint(own[x[1]]) << 1 | uint(own[x[2]]) << 2 | uint(own[x[3]]) << 3;
}
