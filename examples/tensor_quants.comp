// SPDX-License-Identifier: MIT
// C = A B with A's weights in one of llama.cpp's formats (quants.glsl): a tensor layout in blocks and
// functions that decode elements as the matrix is loaded.
//
//     heddle run examples/tensor_quants.comp -D Q8_0 --groups 1,1 --bind 0=zeros:u8[64,8,34]
//         --bind 1=randn:f16[256,64]@1 --bind 2=zeros:f32[64,64]
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
#extension GL_GOOGLE_include_directive : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_NV_cooperative_matrix_decode_vector : require

#include "quants.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint M = 64;
layout(constant_id = 1) const uint N = 64;
layout(constant_id = 2) const uint K = 256;

layout(set = 0, binding = 0) readonly buffer Weights { uint8_t weights[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };

const uint TILE = 64, STEP = 64, CLAMP = gl_CooperativeMatrixClampModeConstantNV;

float16_t decode(const in Block block, const in uint at[2], const in uint within[2])
{
    return float16_t(element(block, within[1]));
}

f16vec4 decode4(const in Block block, const in uint at[2], const in uint within[2])
{
    return f16vec4(elements(block, within[1]));
}

void main()
{
    uint row = gl_WorkGroupID.y * TILE, column = gl_WorkGroupID.x * TILE;
    tensorLayoutNV<2, CLAMP> ta = createTensorLayoutNV(2, CLAMP), tb = ta, tc = ta;
    ta = setTensorLayoutBlockSizeNV(ta, 1, BLOCK);
    ta = setTensorLayoutDimensionNV(ta, M, K);
    tb = setTensorLayoutDimensionNV(tb, K, N);
    tc = setTensorLayoutDimensionNV(tc, M, N);
    coopmat<float, gl_ScopeWorkgroup, TILE, TILE, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeWorkgroup, TILE, TILE, gl_MatrixUseAccumulator>(0);
    for (uint k = 0; k < K; k += STEP) {
        coopmat<float16_t, gl_ScopeWorkgroup, TILE, STEP, gl_MatrixUseA> x;
        coopmat<float16_t, gl_ScopeWorkgroup, STEP, TILE, gl_MatrixUseB> y;
        coopMatLoadTensorNV(x, weights, 0, sliceTensorLayoutNV(ta, row, TILE, k, STEP), decode,
                            decode4);
        coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(tb, k, STEP, column, TILE));
        sum = coopMatMulAdd(x, y, sum);
    }
    coopMatStoreTensorNV(sum, c, 0, sliceTensorLayoutNV(tc, row, TILE, column, TILE));
}
