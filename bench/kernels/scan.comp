#version 450
// SPDX-License-Identifier: MIT
// Inclusive prefix sum of n numbers (a multiple of 4) in three dispatches: PHASE 0 sums each block,
// PHASE 1 scans the sums in one workgroup, PHASE 2 scans each block from where the ones before it ended.
// An invocation has four numbers at a time, so that the workgroup meets less often.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;

layout(binding = 0) readonly buffer In { uvec4 a[]; };
layout(binding = 1) buffer Out { uvec4 b[]; };
layout(binding = 2) buffer Sums { uint sums[]; };
layout(push_constant) uniform Push { uint n; };

const uint BLOCK = 1024;        // of four numbers
shared uint part[2][64];

// The sum of x over the invocations of the workgroup before this one; of all in `total`. Steps use
// two places by turns: who is a step ahead writes where nobody reads any more.
uint scan(uint x, uint place, out uint total)
{
    uint mine = subgroupExclusiveAdd(x);
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1)
        part[place][gl_SubgroupID] = mine + x;
    barrier();
    uint before = 0;
    total = 0;
    for (uint s = 0; s < gl_NumSubgroups; s++) {
        if (s == gl_SubgroupID)
            before = total;
        total += part[place][s];
    }
    return before + mine;
}

void main()
{
    uint block = gl_WorkGroupID.x * BLOCK, me = gl_LocalInvocationID.x, count = n / 4, total;
#if PHASE == 0
    uvec4 sum = uvec4(0);
    for (uint k = 0; k < BLOCK; k += 256)
        if (block + k + me < count)
            sum += a[block + k + me];
    scan(sum.x + sum.y + sum.z + sum.w, 0, total);
    if (me == 0)
        sums[gl_WorkGroupID.x] = total;
#elif PHASE == 1
    uint blocks = (count + BLOCK - 1) / BLOCK, carry = 0;
    for (uint k = 0; k < blocks; k += 256) {
        uint x = k + me < blocks ? sums[k + me] : 0;
        uint before = scan(x, k / 256 % 2, total);
        if (k + me < blocks)
            sums[k + me] = carry + before;
        carry += total;
    }
#else
    uint carry = sums[gl_WorkGroupID.x];
    for (uint k = 0; k < BLOCK; k += 256) {
        uint i = block + k + me;
        uvec4 x = i < count ? a[i] : uvec4(0);
        x.y += x.x;
        x.z += x.y;
        x.w += x.z;
        uint before = carry + scan(x.w, k / 256 % 2, total);
        if (i < count)
            b[i] = x + before;
        carry += total;
    }
#endif
}
