// SPDX-License-Identifier: MIT
// Subgroup operations in loops and switches that lanes leave at different times.
// INPUT: int
// SIZES: 32 8 128
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#include "ops.glsl"
void main()
{
    uint x = word(0), n = word(1) & 7u, sum = 0, last = 0;
    for (uint k = 0; k < n; k++) {
        sum += subgroupClusteredAdd(x + k, 4) * (k + 1);
        sum ^= subgroupClusteredMax(x ^ k, 8);
        if ((x >> k & 1u) != 0) {
            sum += subgroupClusteredXor(x, 2);
            continue;
        }
        last = subgroupClusteredMin(x + k, 8);
        if ((word(2) & 15u) == k) break;
        sum += subgroupBallot(true).x + subgroupBallotBitCount(subgroupBallot((x & 2u) != 0));
    }
    put(sum); put(last);
    uint y = x & 31u; sum = 0;
    do {
        uvec4 b = subgroupBallot(true);
        sum += subgroupAdd(y) + (subgroupElect() ? 100 : 0);
        while (y > 20) {
            sum += subgroupClusteredAdd(1u, 8);
            y -= 3;
            if (subgroupAny(y == 21))
                break;
        }
        sum ^= subgroupBallotBitCount(b);
        if (y == 0) break;
        y--;
    } while (subgroupAny(y > 3));
    put(sum); put(y);
    switch (x & 3u) {
    case 0: sum = subgroupClusteredAdd(x, 2);
    case 1: sum += subgroupClusteredOr(x, 4); break;
    case 2:
        for (uint k = 0; k < (word(3) & 3u); k++) {
            sum += subgroupClusteredMul(k + x, 8);
            switch (word(4) & 3u) {
            case 1: continue;
            case 2: sum++; break;
            default: sum += subgroupInclusiveAdd(1u);
            }
        }
    default: sum ^= subgroupExclusiveAdd(x);
    }
    put(sum);
    near(1.0);
}
