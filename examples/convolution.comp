// SPDX-License-Identifier: MIT
//
// Convolution of an NHWC tensor by implicit im2col. A workgroup is one subgroup of 64: each lane
// has an output pixel, together they compute 64 output channels of 64 pixels. For each place of the
// filter and each 32 input channels a lane reads its pixel's, zeros where that is outside, and the
// subgroup makes the A tiles of the 64 arrays. Weights are [filter row][filter column][input
// channel][output channel]. Input channels are a multiple of 32, output pixels and channels of 64.
//
// T is the tensors' type, K the depth of its tiles. Pixels are read, and become A, as E: float, or
// uint with two f16 in each; 32 bytes, 8 of them, are a row of a tile either way.
//
//     heddle run examples/convolution.comp --subgroup-size 64 -D T=float -D K=8 -D E=float --groups 16,1
//         --bind 0=randn:f32[32,32,64]@1 --bind 1=randn:f32[3,3,64,64]@2
//         --bind 2=zeros:f32[32,32,64]
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
const int STAGE = 64 * 8;
#include "convert.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const int HEIGHT = 32;
layout(constant_id = 1) const int WIDTH = 32;
layout(constant_id = 2) const int CHANNELS_IN = 64;
layout(constant_id = 3) const int CHANNELS_OUT = 64;
layout(constant_id = 4) const int FILTER = 3;
layout(constant_id = 5) const int STRIDE = 1;
layout(constant_id = 6) const int DILATION = 1;
const int DEPTH = 32, PACKED = K / 8;

layout(set = 0, binding = 0) readonly buffer Input { E pixels[][DEPTH / PACKED]; };
layout(set = 0, binding = 1) readonly buffer Weights { T weights[]; };
layout(set = 0, binding = 2) writeonly buffer Output { float result[]; };

void main()
{
    int first = int(gl_WorkGroupID.x) * 64, channel = int(gl_WorkGroupID.y) * 64;
    int width = (WIDTH - 1) / STRIDE + 1, pixel = first + int(gl_SubgroupInvocationID);
    int row = pixel / width * STRIDE, column = pixel % width * STRIDE;
    coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator>(0.0);
    for (int f = 0; f < FILTER * FILTER; f++) {
        int y = row + (f / FILTER - FILTER / 2) * DILATION;
        int x = column + (f % FILTER - FILTER / 2) * DILATION;
        bool inside = y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH;
        int from = inside ? (y * WIDTH + x) * (CHANNELS_IN / DEPTH) : 0;
        for (int c = 0; c < CHANNELS_IN; c += DEPTH) {
            E values[DEPTH / PACKED] = pixels[from + c / DEPTH];
            for (int i = 0; i < DEPTH / PACKED; i++)
                values[i] = inside ? values[i] : E(0);
            [[unroll]] for (int k = 0; k < DEPTH; k += K) {
                coopmat<T, gl_ScopeSubgroup, 64, K, gl_MatrixUseA> a;
                coopmat<T, gl_ScopeSubgroup, K, 64, gl_MatrixUseB> b;
                ARRAY_TO_MATRIX(values, k / PACKED, 8, a);
                coopMatLoad(b, weights, (f * CHANNELS_IN + c + k) * CHANNELS_OUT + channel,
                            CHANNELS_OUT, ROW_MAJOR);
                sum = coopMatMulAdd(a, b, sum);
            }
        }
    }
    coopMatStore(sum, result, first * CHANNELS_OUT + channel, CHANNELS_OUT, ROW_MAJOR);
}
