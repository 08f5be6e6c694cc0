// SPDX-License-Identifier: MIT
// D = A * B + C for one M x N x K multiply-add; types by macro, sizes and layouts by specialisation.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require

layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint N = 16;
layout(constant_id = 2) const uint K = 16;
layout(constant_id = 3) const int LA = 0;
layout(constant_id = 4) const int LB = 0;
layout(constant_id = 5) const int LC = 0;
layout(constant_id = 6) const int LD = 0;

layout(set = 0, binding = 0) readonly buffer BA { TA a[]; };
layout(set = 0, binding = 1) readonly buffer BB { TB b[]; };
layout(set = 0, binding = 2) readonly buffer BC { TC c[]; };
layout(set = 0, binding = 3) writeonly buffer BD { TC d[]; };
layout(push_constant) uniform Strides { uint sa, sb, sc, sd; };

void main()
{
    coopmat<TA, gl_ScopeSubgroup, M, K, gl_MatrixUseA> ma;
    coopmat<TB, gl_ScopeSubgroup, K, N, gl_MatrixUseB> mb;
    coopmat<TC, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> mc;
    coopMatLoad(ma, a, 3, sa, LA);
    coopMatLoad(mb, b, 3, sb, LB);
    coopMatLoad(mc, c, 3, sc, LC);
#ifdef SATURATE
    mc = coopMatMulAdd(ma, mb, mc, gl_MatrixOperandsSaturatingAccumulation);
#else
    mc = coopMatMulAdd(ma, mb, mc);
#endif
    coopMatStore(mc, d, 3, sd, LD);
}
