// SPDX-License-Identifier: MIT
// Split barriers: what is written before the arrival is read behind the wait, whatever happens between.
// VARIANTS: WORK=1 | WORK=9
// SIZES: 32 8 128
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_split_barrier : require
#include "ops.glsl"

shared uint front[128], back[128];

void main()
{
    uint l = gl_LocalInvocationID.x, sum = 0;
    for (uint round = 0; round < 6; round++) {
        front[l] = word(round) + sum;
        controlBarrierArrive();
        for (uint k = 0; k < WORK; k++)
            sum = sum * 5 + (word(k & 7) ^ round);
        if (round == 2) { // another barrier between the two
            back[l] = sum;
            barrier();
            sum += back[l ^ 64];
        }
        controlBarrierWait();
        sum ^= front[127 - l];
        barrier();
    }
    put(sum);
    controlBarrierArrive(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsRelease);
    controlBarrierWait(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquire);
    controlBarrierArrive(gl_ScopeWorkgroup, gl_ScopeWorkgroup, 0, gl_SemanticsRelaxed);
    controlBarrierWait(gl_ScopeWorkgroup, gl_ScopeWorkgroup, 0, gl_SemanticsRelaxed);
    near(1.0);
}
