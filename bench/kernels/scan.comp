#version 450
// SPDX-License-Identifier: MIT
// Inclusive prefix sum of n numbers in three dispatches: PHASE 0 sums each block, PHASE 1 scans the
// sums in one workgroup, PHASE 2 scans each block from where the ones before it ended.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;

layout(binding = 0) readonly buffer In { uint a[]; };
layout(binding = 1) buffer Out { uint b[]; };
layout(binding = 2) buffer Sums { uint sums[]; };
layout(push_constant) uniform Push { uint n; };

const uint BLOCK = 4096;
shared uint part[64];

// The sum of x over the invocations of the workgroup up to this one; their total in `total`.
uint scan(uint x, out uint total)
{
    uint mine = subgroupInclusiveAdd(x);
    barrier();
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1)
        part[gl_SubgroupID] = mine;
    barrier();
    uint before = 0;
    total = 0;
    for (uint s = 0; s < gl_NumSubgroups; s++) {
        if (s == gl_SubgroupID)
            before = total;
        total += part[s];
    }
    return before + mine;
}

void main()
{
    uint block = gl_WorkGroupID.x * BLOCK, me = gl_LocalInvocationID.x, total;
#if PHASE == 0
    uint sum = 0;
    for (uint k = 0; k < BLOCK; k += 256)
        if (block + k + me < n)
            sum += a[block + k + me];
    scan(sum, total);
    if (me == 0)
        sums[gl_WorkGroupID.x] = total;
#elif PHASE == 1
    uint blocks = (n + BLOCK - 1) / BLOCK, carry = 0;
    for (uint k = 0; k < blocks; k += 256) {
        uint x = k + me < blocks ? sums[k + me] : 0;
        uint y = scan(x, total);
        if (k + me < blocks)
            sums[k + me] = carry + y - x;
        carry += total;
    }
#else
    uint carry = sums[gl_WorkGroupID.x];
    for (uint k = 0; k < BLOCK; k += 256) {
        uint i = block + k + me;
        uint y = scan(i < n ? a[i] : 0, total);
        if (i < n)
            b[i] = carry + y;
        carry += total;
    }
#endif
}
