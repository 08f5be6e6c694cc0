// SPDX-License-Identifier: MIT
// Reductions and scans of floats: sums in any order. Lanes with bool, vectors, halves.
// INPUT: float
// SIZES: 32 8 16 64 128
// ULPS: 20000
// ABSOLUTE: 0.05
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require
#extension GL_ARB_shader_ballot : require
#extension GL_ARB_shader_group_vote : require
#extension GL_ARB_gpu_shader_int64 : require
#include "ops.glsl"

float tame(uint k)
{
    float x = uintBitsToFloat(word(k));
    return abs(x) < 16 && abs(x) > 0.01 ? x : 1.25 + float(k);
}

void all(float x)
{
    near(subgroupAdd(x)); near(subgroupMul(1 + x * 0.001)); near(subgroupInclusiveAdd(x)); near(subgroupExclusiveAdd(x));
    near(subgroupInclusiveMul(1 + x * 0.001)); near(subgroupExclusiveMul(1 + x * 0.001));
    put(subgroupMin(x)); put(subgroupMax(x)); put(subgroupInclusiveMin(x)); put(subgroupExclusiveMax(x));
    near(subgroupClusteredAdd(x, 4)); put(subgroupClusteredMin(x, 8)); near(subgroupAdd(1.5));
    put(subgroupMin(float16_t(x))); near(float(subgroupAdd(float16_t(x * 0.01))));
    vec2 v = subgroupMax(vec2(x, -x)); put(v.x); put(v.y);
    bool p = x > 0;
    put(subgroupAnd(p)); put(subgroupOr(p)); put(subgroupXor(p)); put(subgroupInclusiveOr(p));
    put(subgroupAllEqual(x)); put(subgroupAllEqual(x > -100)); put(subgroupAllEqual(uintBitsToFloat(words[5] | 0x7fc00000u)));
    put(subgroupBroadcastFirst(float16_t(x)));
}

void older(float x)
{
    put(ballotARB(x > 1)); put(anyInvocationARB(x > 1)); put(allInvocationsARB(x > 1)); put(allInvocationsEqualARB(x > 1));
    put(readFirstInvocationARB(x)); put(readInvocationARB(x, 3));
}

void main()
{
    float x = tame(0);
    all(x);
    older(x);
    put(subgroupShuffle(x > 1, word(2) % gl_SubgroupSize)); put(subgroupShuffle(float16_t(x), word(2) % gl_SubgroupSize));
    if (tame(1) > 0.5) {
        all(x);
    }
}
