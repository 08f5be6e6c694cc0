// SPDX-License-Identifier: MIT
// What a loop does on the way out, by a break or by a return out of a function, each iteration's
// invocations do together: its mask is of those who leave then, not of all that entered the loop.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit llvm-plain -o %t.ll && \
// RUN: %filecheck %s < %t.ll
// RUN: %heddle compile %s -D return=break --device cuda --isa sm_80 --emit llvm-plain -o %t.ll && \
// RUN: %filecheck %s < %t.ll
// CHECK: %mask = phi i32 [ [[ENTERED:%[0-9]+]], %b
// CHECK-NOT: llvm.nvvm.vote.ballot.sync(i32 [[ENTERED]], i1 true)
// CHECK-NOT: heddle_never
// CHECK: ret void
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_maximal_reconvergence : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer B { uint x[]; };

uint met;

void one_by_one()
{
    for (;;) {
        met = met * 5 + subgroupAdd(1u);
        if (subgroupElect()) {
            met = met * 7 + subgroupBallotBitCount(subgroupBallot(true));
            return;
        }
        met++;
    }
}

void main() [[maximally_reconverges]]
{
    met = x[gl_LocalInvocationIndex];
    if (gl_LocalInvocationIndex % 16 > 3)
        one_by_one();
    x[gl_LocalInvocationIndex] = met;
}
