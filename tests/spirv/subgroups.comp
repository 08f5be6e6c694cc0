#version 460
// Subgroup operations.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_rotate : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer O { uint o[]; };
void main() {
    uint x = o[gl_GlobalInvocationID.x], r = 0;
    if (subgroupElect()) r += 1;
    if (subgroupAll(x > 3) || subgroupAny(x == 1) || subgroupAllEqual(x)) r += 2;
    r += subgroupAdd(x) + subgroupInclusiveMul(x) + subgroupExclusiveMax(x) + subgroupClusteredXor(x, 8);
    uvec4 b = subgroupBallot(x > 5);
    r += subgroupBallotBitCount(b) + subgroupBallotFindLSB(b) + uint(subgroupInverseBallot(b));
    r += subgroupShuffle(x, 3) + subgroupShuffleXor(x, 1) + subgroupShuffleUp(x, 2) + subgroupRotate(x, 5);
    r += subgroupQuadSwapHorizontal(x) + subgroupQuadBroadcast(x, 2) + subgroupBroadcastFirst(x);
    subgroupBarrier();
    o[gl_GlobalInvocationID.x] = r + gl_SubgroupInvocationID + gl_SubgroupSize;
}
