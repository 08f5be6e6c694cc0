// SPDX-License-Identifier: MIT
// A subgroup's sum where not all of its invocations are, in a loop that they leave at different
// times: who is there is voted on where they part, and the sum goes over those alone.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit llvm -o %t.ll && \
// RUN: %filecheck %s --check-prefix IR < %t.ll
// RUN: %heddle compile %s -D ALL --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix ALL < %t.ptx
// CHECK: vote.sync.ballot.b32
// CHECK: shfl.sync.idx.b32
// IR-NOT: heddle_mask
// ALL-NOT: vote.sync
// ALL-COUNT-5: shfl.sync.idx.b32
// ALL-NOT: shfl.sync
#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Input { uint counts[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint sums[]; };

void main()
{
    uint id = gl_GlobalInvocationID.x, sum = 0;
#ifdef ALL
    sum = subgroupAdd(counts[id]);
#else
    for (uint k = 0; k < counts[id]; k++) {
        if ((k & 3) == 3)
            continue;
        sum += subgroupAdd(k);
    }
#endif
    sums[id] = sum;
}
