// SPDX-License-Identifier: MIT
//
// Neural texture decompression: a texel's features (12 numbers interpolated from a coarse grid, and
// 4 of where it lies in its cell) go through LAYERS layers of 16 neurons, ReLU between them; the
// first three of the last are its colour. A workgroup is one subgroup of 64, a lane a texel; it
// keeps the weights and walks along a row of SIZE texels.
//
//     heddle run examples/texture.comp --subgroup-size 64 -D LAYERS=2 --groups 512 --bind 0=zeros:u32[64,64,6]
//         --bind 1=randn:f16[2,16,16]@1 --bind 2=zeros:f32[512,512,3]
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#define E float16_t
const int STAGE = 64 * 16;
#include "convert.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const int SIZE = 512;
const int GRID = 64, LATENT = 12;

layout(set = 0, binding = 0) readonly buffer Grid { uint grid[]; }; // two f16 in each
layout(set = 0, binding = 1) readonly buffer Weights { float16_t weights[]; };
layout(set = 0, binding = 2) writeonly buffer Colours { float colours[]; };

#define MatrixA coopmat<float16_t, gl_ScopeSubgroup, 64, 16, gl_MatrixUseA>
#define MatrixB coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
#define Sum coopmat<float, gl_ScopeSubgroup, 64, 16, gl_MatrixUseAccumulator>

void main()
{
    int row = int(gl_WorkGroupID.x);
    MatrixB layers[LAYERS];
    [[unroll]] for (int l = 0; l < LAYERS; l++)
        coopMatLoad(layers[l], weights, l * 256, 16, ROW_MAJOR);
    for (int first = 0; first < SIZE; first += 64) {
        int column = first + int(gl_SubgroupInvocationID);
        float y = (float(row) + 0.5) * float(GRID - 1) / float(SIZE);
        float x = (float(column) + 0.5) * float(GRID - 1) / float(SIZE);
        int cell = int(y) * GRID + int(x);
        float fy = fract(y), fx = fract(x);
        float16_t features[16];
        for (int i = 0; i < LATENT / 2; i++) {
            int at = cell * (LATENT / 2) + i, under = at + GRID * (LATENT / 2);
            vec2 above = mix(unpackHalf2x16(grid[at]), unpackHalf2x16(grid[at + LATENT / 2]), fx);
            vec2 below = mix(unpackHalf2x16(grid[under]), unpackHalf2x16(grid[under + LATENT / 2]),
                             fx);
            vec2 both = mix(above, below, fy);
            features[2 * i] = float16_t(both.x);
            features[2 * i + 1] = float16_t(both.y);
        }
        features[12] = float16_t(fx);
        features[13] = float16_t(fy);
        features[14] = float16_t(fx * fy);
        features[15] = float16_t(1.0);
        float neurons[16];
        [[unroll]] for (int l = 0; l < LAYERS; l++) {
            MatrixA a;
            Sum sum = Sum(0.0);
            ARRAY_TO_MATRIX(features, 0, 16, a);
            sum = coopMatMulAdd(a, layers[l], sum);
            SUM_TO_ARRAY(sum, 16, neurons);
            for (int i = 0; i < 15; i++)
                features[i] = float16_t(max(neurons[i], 0.0));
        }
        for (int i = 0; i < 3; i++)
            colours[(row * SIZE + column) * 3 + i] = neurons[i];
    }
}
