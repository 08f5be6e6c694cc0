// SPDX-License-Identifier: MIT
// A warp's barrier orders what its threads wrote for each other without a fence; other orders are
// fences, of all accesses only where they have to be in one sequence.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && %filecheck %s < %t.ptx
// CHECK-LABEL: heddle_kernel(
// CHECK-NOT: fence
// CHECK: bar.warp.sync
// CHECK-NOT: fence
// CHECK: fence.acq_rel.gpu
// CHECK: atom.global.add.u32
// CHECK: fence.acq_rel.gpu
// CHECK: fence.acq_rel.cta
// CHECK-NOT: fence.sc
// CHECK: ret;
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer B { uint n, x[]; };
shared uint part[32];

void main()
{
    uint id = gl_SubgroupInvocationID;
    part[id] = x[id];
    controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease);
    uint other = part[id ^ 1];
    x[id] = other + atomicAdd(n, other, gl_ScopeQueueFamily, gl_StorageSemanticsBuffer,
                              gl_SemanticsAcquireRelease);
    memoryBarrier(gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    x[id + 32] = part[id];
}
