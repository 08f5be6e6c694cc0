// SPDX-License-Identifier: MIT
// Returns out of loops that nothing else leaves, be it found out late: who leaves finishes the iteration alone, and meets the
// others behind the call.
// SIZES: 32 8 64
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_vote : require
#include "ops.glsl"

uint met;

void one_by_one()
{
    for (;;) {
        met = met * 5 + subgroupAdd(1u);
        if (subgroupElect()) {
            met = met * 7 + subgroupBallotBitCount(subgroupBallot(true));
            return;
        }
        met++;
    }
}

uint waterfall(uint key)
{
    for (;;) {
        uint first = subgroupBroadcastFirst(key);
        if (first == key) {
            if (subgroupAdd(1u) > 2)
                return first + subgroupAdd(met);
            return subgroupBallotBitCount(subgroupBallot(true));
        }
    }
}

uint nested(uint n)
{
    for (uint i = 0;; i++) {
        for (uint k = 0; k < 3; k++) {
            if (subgroupElect() && k == n % 3)
                return i + subgroupAdd(100u);
            met += subgroupAdd(1u);
        }
        for (;;) {
            if (subgroupAny(met > i))
                break;
            if ((n & 1) != 0)
                return subgroupAdd(7u);
            met++;
        }
        if (i > n % 4)
            return i * 3 + subgroupAdd(2u);
    }
}

/* Its break is never taken, which only the caller knows. */
uint unbroken(uint n, uint never)
{
    if (n > 2) {
        for (;;) {
            met += subgroupAdd(1u);
            if (subgroupElect()) {
                met = met * 3 + subgroupBallotBitCount(subgroupBallot(true));
                return met;
            }
            if (never != 0)
                break;
        }
        met = 0;
    }
    return n;
}

void main()
{
    met = word(0) % 3;
    uint key = word(1) % 5;
    if (ME % 16 > 3)
        one_by_one();
    put(met); put(subgroupAdd(1u));
    put(waterfall(key)); put(subgroupAdd(1u));
    put(nested(word(2))); put(met); put(subgroupAdd(1u));
    put(unbroken(word(3) % 7, 0)); put(met); put(subgroupAdd(1u));
    near(1.0);
    for (uint i = 0;; i++) {
        if (subgroupElect()) {
            put(subgroupAdd(i + 1));
            return;
        }
    }
}
