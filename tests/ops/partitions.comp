// SPDX-License-Identifier: MIT
// Partitions of a subgroup, whole and divergent.
// INPUT: float
// SIZES: 32 8 64
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_NV_shader_subgroup_partitioned : require
#include "ops.glsl"

void put(uvec4 v) { put(v.x); put(v.y); }

void scans(uint x, float f, uvec4 set)
{
    put(subgroupPartitionedAddNV(x, set));
    put(subgroupPartitionedInclusiveMulNV(x, set));
    put(subgroupPartitionedExclusiveMaxNV(int(x), set));
    put(subgroupPartitionedMinNV(x, set));
    put(subgroupPartitionedExclusiveXorNV(x, set));
    put(subgroupPartitionedInclusiveOrNV(x > 7u, set));
    put(subgroupPartitionedAddNV(f, set));
    put(subgroupPartitionedExclusiveAddNV(f, set));
    put(subgroupPartitionedInclusiveMaxNV(vec2(f, -f), set).y);
}

void main()
{
    uint x = word(0) % 5u;
    float f = isnan(uintBitsToFloat(word(1))) ? 1.5 : float(int(word(1)) >> 12);
    put(subgroupPartitionNV(x));
    put(subgroupPartitionNV(uintBitsToFloat(word(1))));
    put(subgroupPartitionNV(uvec2(x, word(2) & 1u)));
    scans(x, f, subgroupPartitionNV(x));
    if ((word(3) & 1u) != 0u)
        scans(word(2), f, subgroupPartitionNV(word(2) & 3u));
    else
        scans(word(4), -f, subgroupPartitionNV(x > 2u));
    near(1.0);
}
