// SPDX-License-Identifier: MIT
// A convolution as an implicit GEMM: the matrix of windows is what one load through a layout of
// (height, width, channels), a slice with the windows' surroundings and a view of windows gives.
// Clamping is the padding; nothing is indexed by hand.
//
//     heddle run examples/tensor_convolution.comp --groups 1,1 --bind 0=randn:f16[8,8,16]@1
//         --bind 1=randn:f16[3,3,16,64]@2 --bind 2=zeros:f32[8,8,64]
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint HEIGHT = 8;
layout(constant_id = 1) const uint WIDTH = 8;
layout(constant_id = 2) const uint IN = 16;
layout(constant_id = 3) const uint OUT = 64;
layout(constant_id = 4) const uint FILTER = 3;
layout(constant_id = 5) const uint STRIDE = 1;
layout(constant_id = 6) const uint DILATION = 1;

layout(set = 0, binding = 0) readonly buffer Image { float16_t image[]; };
layout(set = 0, binding = 1) readonly buffer Filters { float16_t filters[]; };
layout(set = 0, binding = 2) writeonly buffer Result { float result[]; };

/* Of outputs: SIDE x SIDE pixels by CHANNELS; of inputs STEP channels at a time. */
const uint SIDE = 8, CHANNELS = 64, STEP = 16, CLAMP = gl_CooperativeMatrixClampModeConstantNV;
const uint AROUND = (SIDE - 1) * STRIDE + (FILTER - 1) * DILATION + 1;
const uint PIXELS = SIDE * SIDE, DEPTH = FILTER * FILTER * STEP;

void main()
{
    uint across = (WIDTH - 1) / STRIDE + 1, down = (HEIGHT - 1) / STRIDE + 1;
    uint y = gl_WorkGroupID.x / ((across + SIDE - 1) / SIDE) * SIDE;
    uint x = gl_WorkGroupID.x % ((across + SIDE - 1) / SIDE) * SIDE;
    uint channel = gl_WorkGroupID.y * CHANNELS;
    int pad = int(FILTER / 2 * DILATION), top = int(y * STRIDE) - pad, left = int(x * STRIDE) - pad;
    tensorLayoutNV<3, CLAMP> ti = createTensorLayoutNV(3, CLAMP), to = ti;
    tensorLayoutNV<4, CLAMP> tf = createTensorLayoutNV(4, CLAMP);
    ti = setTensorLayoutDimensionNV(ti, HEIGHT, WIDTH, IN);
    tf = setTensorLayoutDimensionNV(tf, FILTER, FILTER, IN, OUT);
    to = setTensorLayoutDimensionNV(to, down, across, OUT);
    tensorViewNV<5, true, 0, 1, 2, 3, 4> windows = createTensorViewNV(5, true, 0, 1, 2, 3, 4);
    windows = setTensorViewDimensionsNV(windows, SIDE, SIDE, FILTER, FILTER, STEP);
    windows = setTensorViewStrideNV(windows, STRIDE * AROUND * STEP, STRIDE * STEP,
                                    DILATION * AROUND * STEP, DILATION * STEP, 1);

    coopmat<float, gl_ScopeWorkgroup, PIXELS, CHANNELS, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeWorkgroup, PIXELS, CHANNELS, gl_MatrixUseAccumulator>(0);
    for (uint c = 0; c < IN; c += STEP) {
        coopmat<float16_t, gl_ScopeWorkgroup, PIXELS, DEPTH, gl_MatrixUseA> w;
        coopmat<float16_t, gl_ScopeWorkgroup, DEPTH, CHANNELS, gl_MatrixUseB> f;
        coopMatLoadTensorNV(w, image, 0, sliceTensorLayoutNV(ti, top, AROUND, left, AROUND, c, STEP),
                            windows);
        coopMatLoadTensorNV(f, filters, 0, sliceTensorLayoutNV(tf, 0, FILTER, 0, FILTER, c, STEP,
                                                               channel, CHANNELS));
        sum = coopMatMulAdd(w, f, sum);
    }
    coopMatStoreTensorNV(sum, result, 0, sliceTensorLayoutNV(to, y, SIDE, x, SIDE, channel, CHANNELS));
}
