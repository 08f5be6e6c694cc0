// SPDX-License-Identifier: MIT
// Attention in one pass over the keys (flash attention 2): a workgroup has 64 queries of one head;
// RATIO heads of queries share one of keys and values. Scores are capped softly, a mask tensor is
// added; the softmax' maxima and sums are reductions of rows, its exponentials functions of every
// element.
//
//     heddle run examples/tensor_attention.comp -D T=float16_t --groups 1,1
//         --bind 0=randn:f16[64,64]@1 --bind 1=randn:f16[64,64]@2 --bind 2=randn:f16[64,64]@3
//         --bind 3=zeros:f16[64,64] --bind 4=zeros:f32[64,64]
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_bfloat16 : enable
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint QUERIES = 64;
layout(constant_id = 1) const uint KEYS = 64;
layout(constant_id = 2) const uint HEADS = 1;
layout(constant_id = 3) const uint RATIO = 1;
layout(constant_id = 4) const uint D = 64;
layout(constant_id = 5) const float CAP = 0; /* 0: none */

layout(set = 0, binding = 0) readonly buffer Queries { T queries[]; };
layout(set = 0, binding = 1) readonly buffer Keys { T keys[]; };
layout(set = 0, binding = 2) readonly buffer Values { T values[]; };
layout(set = 0, binding = 3) readonly buffer Mask { float16_t mask[]; };
layout(set = 0, binding = 4) writeonly buffer Result { float result[]; };

const uint ROWS = 64, STEP = 64, CLAMP = gl_CooperativeMatrixClampModeConstantNV;
const float LOWEST = -1e30; /* of what is no key; finite, so that differences are numbers */

#define SCORES coopmat<float, gl_ScopeWorkgroup, ROWS, STEP, gl_MatrixUseAccumulator>
#define SUMS coopmat<float, gl_ScopeWorkgroup, ROWS, D, gl_MatrixUseAccumulator>
#define MASK coopmat<float16_t, gl_ScopeWorkgroup, ROWS, STEP, gl_MatrixUseAccumulator>

float larger(const in float a, const in float b) { return max(a, b); }
float added(const in float a, const in float b) { return a + b; }
float either(const in float a, const in float b) { return a; }

float soft_cap(const in uint row, const in uint column, const in float x)
{
    return CAP * tanh(x / CAP);
}

float bound(const in uint row, const in uint column, const in float x, const in uint columns)
{
    return column < columns ? x : LOWEST;
}

float larger_of(const in uint row, const in uint column, const in float a, const in float b)
{
    return max(a, b);
}

float exp_difference(const in uint row, const in uint column, const in float a, const in float b)
{
    return exp(a - b);
}

void main()
{
    uint first = gl_WorkGroupID.x * ROWS, head = gl_WorkGroupID.y;
    tensorLayoutNV<3, CLAMP> tq = createTensorLayoutNV(3, CLAMP), tk = createTensorLayoutNV(3, CLAMP);
    tensorLayoutNV<2, CLAMP> tm = createTensorLayoutNV(2, CLAMP);
    tensorViewNV<3, false, 2, 1, 0> turned = createTensorViewNV(3, false, 2, 1, 0);
    tq = setTensorLayoutDimensionNV(tq, QUERIES, HEADS, D);
    tk = setTensorLayoutDimensionNV(tk, KEYS, HEADS / RATIO, D);
    tm = setTensorLayoutDimensionNV(tm, QUERIES, KEYS);
    tq = sliceTensorLayoutNV(tq, first, ROWS, head, 1, 0, D);

    coopmat<T, gl_ScopeWorkgroup, ROWS, D, gl_MatrixUseA> q;
    coopMatLoadTensorNV(q, queries, 0, tq);
    SUMS sum = SUMS(0);
    SCORES highest = SCORES(LOWEST), total = SCORES(0);
    for (uint key = 0; key < KEYS; key += STEP) {
        tensorLayoutNV<3, CLAMP> part = sliceTensorLayoutNV(tk, key, STEP, head / RATIO, 1, 0, D);
        coopmat<T, gl_ScopeWorkgroup, D, STEP, gl_MatrixUseB> k;
        coopmat<T, gl_ScopeWorkgroup, STEP, D, gl_MatrixUseB> v;
        MASK m;
        coopMatLoadTensorNV(k, keys, 0, part, turned);
        coopMatLoadTensorNV(m, mask, 0, sliceTensorLayoutNV(tm, first, ROWS, key, STEP));
        SCORES score = coopMatMulAdd(q, k, SCORES(0)) * inversesqrt(float(D));
        if (CAP != 0)
            coopMatPerElementNV(score, score, soft_cap);
        score += SCORES(m);
        if (key + STEP > KEYS)
            coopMatPerElementNV(score, score, bound, KEYS - key);

        SCORES high, p, shrink, rows;
        coopMatReduceNV(high, score, gl_CooperativeMatrixReduceRowNV, larger);
        coopMatPerElementNV(high, high, larger_of, highest);
        coopMatPerElementNV(p, score, exp_difference, high);
        coopMatPerElementNV(shrink, highest, exp_difference, high);
        coopMatReduceNV(rows, p, gl_CooperativeMatrixReduceRowNV, added);
        total = shrink * total + rows;
        highest = high;
        SUMS wide;
        coopMatReduceNV(wide, shrink, gl_CooperativeMatrixReduceRowNV, either);
        coopMatLoadTensorNV(v, values, 0, part);
        sum = coopMatMulAdd(coopmat<T, gl_ScopeWorkgroup, ROWS, STEP, gl_MatrixUseA>(p), v,
                            sum * wide);
    }
    SUMS wide;
    coopMatReduceNV(wide, total, gl_CooperativeMatrixReduceRowNV, either);
    coopMatStoreTensorNV(sum / wide, result, 0, tq);
}
