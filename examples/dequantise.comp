// SPDX-License-Identifier: MIT
//
// C (M x N) = A (M x K) * B (K x N), A quantised to 4 bits (q4_0: 32 weights that follow one
// another in a row are an f16 scale d and 16 bytes; byte i has weight i in its low half and weight
// i + 16 in its high one, each d times its 4 bits less 8), B of f16, C of f32. A workgroup is one
// subgroup of 64 and computes 64 x 64: a lane reads its row's blocks. Sizes are multiples of 64.
//
//     heddle run examples/dequantise.comp --subgroup-size 64 --groups 4,4 --bind 0=zeros:u8[256,8,18]
//         --bind 1=randn:f16[256,256]@1 --bind 2=zeros:f32[256,256]
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#define E float16_t
const int STAGE = 64 * 16;
#include "convert.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const int DEPTH = 256;
layout(constant_id = 1) const int COLUMNS = 256;

struct Block { float16_t d; uint16_t quants[8]; };
layout(set = 0, binding = 0) readonly buffer A { Block blocks[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t right[]; };
layout(set = 0, binding = 2) writeonly buffer C { float result[]; };

void main()
{
    int row = int(gl_WorkGroupID.y) * 64, column = int(gl_WorkGroupID.x) * 64;
    int first = (row + int(gl_SubgroupInvocationID)) * (DEPTH / 32);
    coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator>(0.0);
    for (int step = 0; step < DEPTH; step += 32) {
        int at = first + step / 32;
        float scale = float(blocks[at].d);
        float16_t weights[32];
        for (int i = 0; i < 8; i++) {
            uint q = uint(blocks[at].quants[i]);
            weights[2 * i] = float16_t(scale * (float(q & 15) - 8.0));
            weights[2 * i + 1] = float16_t(scale * (float(q >> 8 & 15) - 8.0));
            weights[2 * i + 16] = float16_t(scale * (float(q >> 4 & 15) - 8.0));
            weights[2 * i + 17] = float16_t(scale * (float(q >> 12 & 15) - 8.0));
        }
        [[unroll]] for (int k = 0; k < 32; k += 16) {
            coopmat<float16_t, gl_ScopeSubgroup, 64, 16, gl_MatrixUseA> a;
            coopmat<float16_t, gl_ScopeSubgroup, 16, 64, gl_MatrixUseB> b;
            ARRAY_TO_MATRIX(weights, k, 16, a);
            coopMatLoad(b, right, (step + k) * COLUMNS + column, COLUMNS, ROW_MAJOR);
            sum = coopMatMulAdd(a, b, sum);
        }
    }
    coopMatStore(sum, result, row * COLUMNS + column, COLUMNS, ROW_MAJOR);
}
