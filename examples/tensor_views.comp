// SPDX-License-Identifier: MIT
// Tensors rearranged by a load through a view and a store without one. TURN: an image of HEIGHT x
// WIDTH becomes one of WIDTH x HEIGHT. Otherwise space to depth: the 2 x 2 pixels of CHANNELS at each
// other place become one of 4 CHANNELS.
//
//     heddle run examples/tensor_views.comp --groups 4,4 --bind 0=randn:f16[64,64,16]@1
//         --bind 1=zeros:f16[32,32,64]
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint HEIGHT = 64;
layout(constant_id = 1) const uint WIDTH = 64;
layout(constant_id = 2) const uint CHANNELS = 16;

layout(set = 0, binding = 0) readonly buffer From { float16_t from[]; };
layout(set = 0, binding = 1) writeonly buffer To { float16_t to[]; };

const uint CLAMP = gl_CooperativeMatrixClampModeConstantNV;

#ifdef TURN
const uint TILE = 64;
coopmat<float16_t, gl_ScopeWorkgroup, TILE, TILE, gl_MatrixUseAccumulator> m;

void main()
{
    uint y = gl_WorkGroupID.y * TILE, x = gl_WorkGroupID.x * TILE;
    tensorLayoutNV<2, CLAMP> tf = createTensorLayoutNV(2, CLAMP), tt = tf;
    tf = setTensorLayoutDimensionNV(tf, HEIGHT, WIDTH);
    tt = setTensorLayoutDimensionNV(tt, WIDTH, HEIGHT);
    tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
    coopMatLoadTensorNV(m, from, 0, sliceTensorLayoutNV(tf, y, TILE, x, TILE), turned);
    coopMatStoreTensorNV(m, to, 0, sliceTensorLayoutNV(tt, x, TILE, y, TILE));
}
#else
const uint SIDE = 8, PIXELS = SIDE * SIDE, DEPTH = 4 * CHANNELS; /* of a tile of results */
coopmat<float16_t, gl_ScopeWorkgroup, PIXELS, DEPTH, gl_MatrixUseAccumulator> m;

void main()
{
    uint y = gl_WorkGroupID.y * SIDE, x = gl_WorkGroupID.x * SIDE;
    tensorLayoutNV<3, CLAMP> tf = createTensorLayoutNV(3, CLAMP), tt = tf;
    tf = setTensorLayoutDimensionNV(tf, HEIGHT, WIDTH, CHANNELS);
    tt = setTensorLayoutDimensionNV(tt, HEIGHT / 2, WIDTH / 2, DEPTH);
    tensorViewNV<5, true, 0, 2, 1, 3, 4> v = createTensorViewNV(5, true, 0, 2, 1, 3, 4);
    v = setTensorViewDimensionsNV(v, SIDE, 2, SIDE, 2, CHANNELS);
    coopMatLoadTensorNV(m, from, 0,
                        sliceTensorLayoutNV(tf, 2 * y, 2 * SIDE, 2 * x, 2 * SIDE, 0, CHANNELS), v);
    coopMatStoreTensorNV(m, to, 0, sliceTensorLayoutNV(tt, y, SIDE, x, SIDE, 0, DEPTH));
}
#endif
