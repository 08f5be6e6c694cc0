// SPDX-License-Identifier: MIT
// D = A * B + C as muladd.comp does it, with SPV_NV_cooperative_matrix: MA is a type of
// matrices, NA how many bits their components have.
#version 460
#pragma use_vulkan_memory_model
#extension GL_NV_cooperative_matrix : require
#extension GL_NV_integer_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x_id = 10) in;
layout(constant_id = 10) const uint W = 32;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint N = 16;
layout(constant_id = 2) const uint K = 16;
layout(constant_id = 3) const bool LA = false;
layout(constant_id = 4) const bool LB = false;
layout(constant_id = 5) const bool LC = false;
layout(constant_id = 6) const bool LD = false;

layout(set = 0, binding = 0) readonly buffer BA { TA a[]; };
layout(set = 0, binding = 1) readonly buffer BB { TB b[]; };
layout(set = 0, binding = 2) readonly buffer BC { TC c[]; };
layout(set = 0, binding = 3) writeonly buffer BD { TC d[]; };
layout(push_constant) uniform Strides { uint sa, sb, sc, sd; };

void main()
{
    MA<NA, gl_ScopeSubgroup, M, K> ma;
    MB<NB, gl_ScopeSubgroup, K, N> mb;
    MC<NC, gl_ScopeSubgroup, M, N> mc;
    coopMatLoadNV(ma, a, 3, sa, LA);
    coopMatLoadNV(mb, b, 3, sb, LB);
    coopMatLoadNV(mc, c, 3, sc, LC);
    mc = coopMatMulAddNV(ma, mb, mc);
    if (mc.length() != (M * N + W - 1) / W)
        mc = -mc;
    coopMatStoreNV(mc, d, 3, sd, LD);
}
