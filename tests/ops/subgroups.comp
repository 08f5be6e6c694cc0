// SPDX-License-Identifier: MIT
// Subgroup operations with all lanes and under a divergent condition.
// VARIANTS: T=int | T=uint | T=int64_t | T=uint8_t | T=int16_t
// SIZES: 32 8 16 64 128
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_rotate : require
#extension GL_EXT_shader_subgroup_extended_types_int8 : require
#extension GL_EXT_shader_subgroup_extended_types_int16 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#include "ops.glsl"

void arithmetic(T x)
{
    put(subgroupAdd(x)); put(subgroupMul(x)); put(subgroupMin(x)); put(subgroupMax(x)); put(subgroupAnd(x));
    put(subgroupOr(x)); put(subgroupXor(x));
    put(subgroupInclusiveAdd(x)); put(subgroupExclusiveAdd(x)); put(subgroupInclusiveMul(x)); put(subgroupExclusiveMul(x));
    put(subgroupInclusiveMin(x)); put(subgroupExclusiveMin(x)); put(subgroupInclusiveMax(x)); put(subgroupExclusiveMax(x));
    put(subgroupInclusiveAnd(x)); put(subgroupExclusiveOr(x)); put(subgroupInclusiveXor(x)); put(subgroupExclusiveAnd(x));
    put(subgroupClusteredAdd(x, 4)); put(subgroupClusteredMin(x, 8)); put(subgroupClusteredXor(x, 2)); put(subgroupClusteredMax(x, 1));
    put(subgroupAdd(T(3))); put(subgroupInclusiveAdd(T(2))); put(subgroupMin(T(9)));
}

void votes(T x, bool p)
{
    put(subgroupAll(p)); put(subgroupAny(p)); put(subgroupAllEqual(x)); put(subgroupAllEqual(T(4)));
    put(subgroupAnd(uint(p)) != 0 ? 1u : 0u); put(subgroupElect());
    put(subgroupBroadcastFirst(x));
    put(subgroupAny(x == T(words[3])));
}

void ballots(bool p)
{
    uvec4 b = subgroupBallot(p);
    put(b.x); put(b.y); put(b.z); put(b.w);
    put(subgroupInverseBallot(b)); put(subgroupBallotBitExtract(b, word(3) % gl_SubgroupSize));
    put(subgroupBallotBitCount(b)); put(subgroupBallotInclusiveBitCount(b)); put(subgroupBallotExclusiveBitCount(b));
    put(any(notEqual(b, uvec4(0))) ? subgroupBallotFindLSB(b) : 0u); put(any(notEqual(b, uvec4(0))) ? subgroupBallotFindMSB(b) : 0u);
    put(gl_SubgroupLtMask.x); put(gl_SubgroupGeMask.y); put(gl_SubgroupEqMask.x);
}

void moves(T x)
{
    uint l = gl_SubgroupInvocationID, n = gl_SubgroupSize;
    put(subgroupBroadcast(x, 5)); put(subgroupShuffle(x, word(2) % n)); put(subgroupShuffle(x, 3));
    put(subgroupShuffleXor(x, 5)); put(subgroupShuffleXor(x, words[1] & 7));
    T up = subgroupShuffleUp(x, 3), down = subgroupShuffleDown(x, 2), far = subgroupShuffleUp(x, words[2] & 3);
    put(l >= 3 ? up : T(0)); put(l + 2 < n ? down : T(0)); put(l >= (words[2] & 3) ? far : T(0));
    put(subgroupRotate(x, 5)); put(subgroupClusteredRotate(x, 3, 4)); put(subgroupRotate(x, words[3] & 7));
    put(subgroupQuadBroadcast(x, 2)); put(subgroupQuadSwapHorizontal(x)); put(subgroupQuadSwapVertical(x));
    put(subgroupQuadSwapDiagonal(x));
}

void main()
{
    T x = T(word(0) ^ gl_SubgroupInvocationID);
    arithmetic(x);
    votes(x, (word(1) & 3u) != 0);
    ballots((word(1) & 1u) != 0);
    moves(x);
    bool q = (word(1) & 2u) != 0;   // lanes that are not active have one too
    if ((word(4) & 3u) != 0) {
        arithmetic(x); put(subgroupBallot(q).x); put(subgroupBallot(true).x); put(subgroupAny(!q));
        votes(x, (word(1) & 3u) != 0);
        ballots((word(1) & 1u) != 0);
    }
    near(1.0);
}
