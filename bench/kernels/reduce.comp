#version 450
// SPDX-License-Identifier: MIT
// Sum of n numbers in two dispatches: PHASE 0 sums a part a workgroup, PHASE 1 those sums.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;

layout(binding = 0) readonly buffer In { float a[]; };
layout(binding = 1) buffer Out { float sums[]; };    // the parts', then the result in the first
layout(push_constant) uniform Push { uint n, parts; };

shared float part[64];

void main()
{
    uint me = gl_LocalInvocationID.x;
    float sum = 0;
#if PHASE == 0
    for (uint i = gl_GlobalInvocationID.x; i < n; i += 256 * parts)
        sum += a[i];
#else
    for (uint i = me; i < parts; i += 256)
        sum += sums[i];
#endif
    sum = subgroupAdd(sum);
    if (subgroupElect())
        part[gl_SubgroupID] = sum;
    barrier();
    if (me == 0) {
        float total = 0;
        for (uint s = 0; s < gl_NumSubgroups; s++)
            total += part[s];
        sums[gl_WorkGroupID.x] = total;
    }
}
