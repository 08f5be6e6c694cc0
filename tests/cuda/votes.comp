// SPDX-License-Identifier: MIT
// Who runs a block is voted on only where something asks: neither a loop's mask nor a ballot that
// nothing reads is made, and what all vote alike is their mask.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s --no-optimisation --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s -D READ --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix READ < %t.ptx
// CHECK-LABEL: heddle_kernel(
// CHECK-NOT: vote.sync
// CHECK: ret;
// READ: vote.sync.ballot.b32
#version 460
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer B { uint x[]; };

void main()
{
    uint id = gl_GlobalInvocationID.x, n = x[id];
    uvec4 met = uvec4(0);
    for (uint k = 0; k < n; k++)
        met += subgroupBallot(x[k] > k);
    uvec4 all = subgroupBallot(true);
#ifdef READ
    x[id] = met.x;
#else
    x[id] = all.x;
#endif
}
