// SPDX-License-Identifier: MIT
// C = A B for any M x N x K: a workgroup's matrices, loaded and stored through tensor layouts. What
// overhangs the edges is loaded as zero and not stored, so that the kernel has no edges of its own.
//
//     heddle run examples/tensor_gemm.comp -D T=float16_t --groups 1,1
//         --bind 0=randn:f16[128,128]@1 --bind 1=randn:f16[128,128]@2 --bind 2=zeros:f32[128,128]
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint M = 128;
layout(constant_id = 1) const uint N = 128;
layout(constant_id = 2) const uint K = 128;

const uint TILE = 128, STEP = 64, CLAMP = gl_CooperativeMatrixClampModeConstantNV;

layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) readonly buffer B { T b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };

void main()
{
    uint row = gl_WorkGroupID.y * TILE, column = gl_WorkGroupID.x * TILE;
    tensorLayoutNV<2, CLAMP> ta = setTensorLayoutDimensionNV(createTensorLayoutNV(2, CLAMP), M, K);
    tensorLayoutNV<2, CLAMP> tb = setTensorLayoutDimensionNV(createTensorLayoutNV(2, CLAMP), K, N);
    tensorLayoutNV<2, CLAMP> tc = setTensorLayoutDimensionNV(createTensorLayoutNV(2, CLAMP), M, N);
    coopmat<float, gl_ScopeWorkgroup, TILE, TILE, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeWorkgroup, TILE, TILE, gl_MatrixUseAccumulator>(0);
    for (uint k = 0; k < K; k += STEP) {
        coopmat<T, gl_ScopeWorkgroup, TILE, STEP, gl_MatrixUseA> x;
        coopmat<T, gl_ScopeWorkgroup, STEP, TILE, gl_MatrixUseB> y;
        coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(ta, row, TILE, k, STEP));
        coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(tb, k, STEP, column, TILE));
        sum = coopMatMulAdd(x, y, sum);
    }
    coopMatStoreTensorNV(sum, c, 0, sliceTensorLayoutNV(tc, row, TILE, column, TILE));
}
