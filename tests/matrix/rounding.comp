// SPDX-License-Identifier: MIT
// A kernel that rounds f16 towards zero: conversions and arithmetic of whole matrices do, as scalars.
// RUN: for with in "--device cpu" "--device reference" "--device cpu --subgroup-size 8"; do \
// RUN: %heddle run %s $with --bind 0=list:f32:1.0009,-1.0009,2049,2051,65519,65530,-1e9,3 \
// RUN: --bind 1=zeros:f16[32] --compare 1=list:f16:1,-1,2048,2050,65504,65504,-65504,3,\
// RUN: 1,-1,2048,2050,65504,65504,-65504,3,0,-2,2047,2048,65472,65472,-65504,2,\
// RUN: 0.33325195,-0.33325195,682.5,683,21824,21824,-21824,1 || exit; done
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4468], 4463, 16);
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Half { float16_t half_[]; };
#define M(T, USE) coopmat<T, gl_ScopeSubgroup, 2, 4, gl_MatrixUse##USE>

void main()
{
    const int row = gl_CooperativeMatrixLayoutRowMajor;
    M(float, Accumulator) m;
    coopMatLoad(m, x, 0, 4, row);
    M(float16_t, Accumulator) h = M(float16_t, Accumulator)(m);
    coopMatStore(h, half_, 0, 4, row);
    coopMatStore(M(float16_t, A)(m), half_, 8, 4, row);
    coopMatStore(h - M(float16_t, Accumulator)(1.0hf), half_, 16, 4, row);
    coopMatStore(h / M(float16_t, Accumulator)(3.0hf), half_, 24, 4, row);
}
