// SPDX-License-Identifier: MIT
// The group operations of OpenCL, over subgroups.
// INPUT: float
// SIZES: 32 8 128
// ULPS: 20000
// ABSOLUTE: 0.05
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"

#define SUBGROUP 3u
#define GROUPS capabilities = [18]
#define UNIFORM extensions = ["SPV_KHR_uniform_group_instructions"], capabilities = [6400, 18]
spirv_instruction(GROUPS, id = 261) bool group_all(uint scope, bool p);
spirv_instruction(GROUPS, id = 262) bool group_any(uint scope, bool p);
spirv_instruction(GROUPS, id = 263) uint group_broadcast(uint scope, uint x, uint from);
spirv_instruction(GROUPS, id = 264) uint group_add(uint scope, spirv_literal uint how, uint x);
spirv_instruction(GROUPS, id = 265) float group_add(uint scope, spirv_literal uint how, float x);
spirv_instruction(GROUPS, id = 266) float group_min(uint scope, spirv_literal uint how, float x);
spirv_instruction(GROUPS, id = 267) uint group_min(uint scope, spirv_literal uint how, uint x);
spirv_instruction(GROUPS, id = 268) int group_min(uint scope, spirv_literal uint how, int x);
spirv_instruction(GROUPS, id = 269) float group_max(uint scope, spirv_literal uint how, float x);
spirv_instruction(GROUPS, id = 270) uint group_max(uint scope, spirv_literal uint how, uint x);
spirv_instruction(GROUPS, id = 271) int group_max(uint scope, spirv_literal uint how, int x);
spirv_instruction(UNIFORM, id = 6401) uint group_mul(uint scope, spirv_literal uint how, uint x);
spirv_instruction(UNIFORM, id = 6402) float group_mul(uint scope, spirv_literal uint how, float x);
spirv_instruction(UNIFORM, id = 6403) uint group_and(uint scope, spirv_literal uint how, uint x);
spirv_instruction(UNIFORM, id = 6404) uint group_or(uint scope, spirv_literal uint how, uint x);
spirv_instruction(UNIFORM, id = 6405) uint group_xor(uint scope, spirv_literal uint how, uint x);
spirv_instruction(UNIFORM, id = 6406) bool group_and(uint scope, spirv_literal uint how, bool x);
spirv_instruction(UNIFORM, id = 6407) bool group_or(uint scope, spirv_literal uint how, bool x);
spirv_instruction(UNIFORM, id = 6408) bool group_xor(uint scope, spirv_literal uint how, bool x);

void main()
{
    float f = uintBitsToFloat(word(0));
    f = abs(f) < 16 && abs(f) > 0.01 ? f : 1.25;
    uint x = word(1);
    bool p = (x & 7u) != 0u;
    put(group_all(SUBGROUP, p)); put(group_any(SUBGROUP, p)); put(group_broadcast(SUBGROUP, x, 3u));
    put(group_add(SUBGROUP, 0, x)); put(group_add(SUBGROUP, 1, x)); put(group_add(SUBGROUP, 2, x));
    near(group_add(SUBGROUP, 0, f)); near(group_mul(SUBGROUP, 2, 1.0 + f * 0.001));
    put(group_min(SUBGROUP, 0, f)); put(group_max(SUBGROUP, 1, f));
    put(group_min(SUBGROUP, 0, x)); put(group_max(SUBGROUP, 1, x));
    put(group_min(SUBGROUP, 2, int(x))); put(group_max(SUBGROUP, 0, int(x)));
    put(group_mul(SUBGROUP, 1, x)); put(group_and(SUBGROUP, 0, x)); put(group_or(SUBGROUP, 1, x));
    put(group_xor(SUBGROUP, 2, x)); put(group_and(SUBGROUP, 0, p)); put(group_or(SUBGROUP, 1, p));
    put(group_xor(SUBGROUP, 0, p));
}
