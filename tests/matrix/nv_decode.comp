// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// Blocks of a scale and 32 signed bytes, decoded one element at a time or V at once; the slice may
// begin and end anywhere. The coordinates that a decode function gets come out in a second matrix.
// TOLD is added to what comes from a vector: so it shows which function was called.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_long_vector : enable
#extension GL_NV_cooperative_matrix_decode_vector : require

#ifndef V
#define V 4
#define SCOPE gl_ScopeWorkgroup
#define USE gl_MatrixUseA
#define TURNED 0
#define TOLD 0
#endif

layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint N = 32;

layout(set = 0, binding = 0) readonly buffer Numbers { uint p[]; };
layout(set = 0, binding = 1) readonly buffer In { uint8_t blocks[]; };
layout(set = 0, binding = 2) writeonly buffer Out { float16_t decoded[]; };
layout(set = 0, binding = 3) writeonly buffer Where { float16_t where[]; };

layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Block {
    float16_t scale;
    int8_t q[32];
};
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Pairs {
    float16_t scale;
    int16_t q[16];
};

float16_t one(const in Block b, const in uint block[2], const in uint in_block[2])
{
    return float16_t(b.q[in_block[1]]) * b.scale;
}

vector<float16_t, V> several(const in Pairs b, const in uint block[2], const in uint in_block[2])
{
    vector<float16_t, V> r;
    for (uint k = 0; k < V; k += 2) {
        int16_t pair = b.q[in_block[1] / 2 + k / 2];
        r[k] = float16_t(int8_t(pair)) * b.scale + float16_t(TOLD);
        r[k + 1] = float16_t(int8_t(pair >> 8)) * b.scale + float16_t(TOLD);
    }
    return r;
}

float16_t place(const in Block b, const in uint block[2], const in uint in_block[2])
{
    return float16_t(block[0] * 8 + block[1]) + float16_t(in_block[1]) / float16_t(32);
}

void main()
{
    coopmat<float16_t, SCOPE, M, N, USE> m;
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> t =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutBlockSizeNV(t, 1, 32);
    t = setTensorLayoutDimensionNV(t, p[0], p[1]);
#if TURNED
    tensorViewNV<2, false, 1, 0> v = createTensorViewNV(2, false, 1, 0);
    t = sliceTensorLayoutNV(t, p[2], N, p[3], M);
    coopMatLoadTensorNV(m, blocks, 0, t, v, one, several);
#else
    t = sliceTensorLayoutNV(t, p[2], M, p[3], N);
    coopMatLoadTensorNV(m, blocks, 0, t, one, several);
#endif
    coopMatStore(m, decoded, 0, N, gl_CooperativeMatrixLayoutRowMajor);
#if TURNED
    coopMatLoadTensorNV(m, blocks, 0, t, v, place);
#else
    coopMatLoadTensorNV(m, blocks, 0, t, place);
#endif
    coopMatStore(m, where, 0, N, gl_CooperativeMatrixLayoutRowMajor);
}
