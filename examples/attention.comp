// SPDX-License-Identifier: MIT
//
// Flash attention: softmax(Q K^T / sqrt(D)) V, one head a workgroup row, 64 queries a workgroup
// (one subgroup of 64, a lane a query). For each 64 keys the scores are a 64 x 64 accumulator; each
// lane takes its row, brings its maximum and sum up to date, and gives the exponentials back as A
// tiles for the product with V. Q, K and V are [head][sequence][D]; the sequence is a multiple of
// 64. T is their type, K the depth of tiles of it.
//
//     heddle run examples/attention.comp --subgroup-size 64 -D T=float -D K=8 -D D=64 --groups 2,4
//         --bind 0=randn:f32[4,128,64]@1 --bind 1=randn:f32[4,128,64]@2
//         --bind 2=randn:f32[4,128,64]@3 --bind 3=zeros:f32[4,128,64]
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#define E T
const int STAGE = 64 * 64;
#include "convert.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const int SEQUENCE = 128;
layout(constant_id = 1) const bool CAUSAL = false;

layout(set = 0, binding = 0) readonly buffer Q { T queries[]; };
layout(set = 0, binding = 1) readonly buffer Keys { T keys[]; };
layout(set = 0, binding = 2) readonly buffer V { T values[]; };
layout(set = 0, binding = 3) writeonly buffer O { float result[]; };

#define Sum coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator>
#define MatrixA coopmat<T, gl_ScopeSubgroup, 64, K, gl_MatrixUseA>
#define MatrixB coopmat<T, gl_ScopeSubgroup, K, 64, gl_MatrixUseB>

void main()
{
    int head = int(gl_WorkGroupID.y) * SEQUENCE * D, first = int(gl_WorkGroupID.x) * 64;
    int query = first + int(gl_SubgroupInvocationID), end = CAUSAL ? first + 64 : SEQUENCE;
    float highest = -1e30, total = 0.0, scale = inversesqrt(float(D));
    Sum outcome[D / 64];
    [[unroll]] for (int d = 0; d < D / 64; d++)
        outcome[d] = Sum(0.0);

    for (int key = 0; key < end; key += 64) {
        Sum product = Sum(0.0);
        [[unroll]] for (int d = 0; d < D; d += K) {
            MatrixA a;
            MatrixB b;
            coopMatLoad(a, queries, head + first * D + d, D, ROW_MAJOR);
            coopMatLoad(b, keys, head + key * D + d, D, COLUMN_MAJOR);
            product = coopMatMulAdd(a, b, product);
        }
        float scores[64];
        SUM_TO_ARRAY(product, 64, scores);
        float top = highest, sum = 0.0;
        for (int j = 0; j < 64; j++) {
            float x = scores[j] * scale;
            scores[j] = CAUSAL && key + j > query ? -1e30 : x;
            top = max(top, scores[j]);
        }
        T weights[64];
        for (int j = 0; j < 64; j++) {
            float x = exp(scores[j] - top);
            sum += x;
            weights[j] = T(x);
        }
        float keep = exp(highest - top);
        total = total * keep + sum;
        highest = top;
        [[unroll]] for (int d = 0; d < D / 64; d++) {
            float row[64];
            SUM_TO_ARRAY(outcome[d], 64, row);
            for (int j = 0; j < 64; j++)
                row[j] *= keep;
            ARRAY_TO_SUM(row, 64, outcome[d]);
        }
        [[unroll]] for (int k = 0; k < 64; k += K) {
            MatrixA a;
            ARRAY_TO_MATRIX(weights, k, K, a);
            [[unroll]] for (int d = 0; d < D / 64; d++) {
                MatrixB b;
                coopMatLoad(b, values, head + (key + k) * D + d * 64, D, ROW_MAJOR);
                outcome[d] = coopMatMulAdd(a, b, outcome[d]);
            }
        }
    }
    [[unroll]] for (int d = 0; d < D / 64; d++) {
        float row[64];
        SUM_TO_ARRAY(outcome[d], 64, row);
        for (int j = 0; j < 64; j++)
            result[head + query * D + d * 64 + j] = row[j] / total;
    }
}
