// SPDX-License-Identifier: MIT
// Steps of a loop whose operand is decoded by a function are multiplied in one call, where the function only
// reads; one that stores comes between them.
// RUN: %heddle compile %s --emit llvm-plain | %filecheck %s
// RUN: %heddle compile %s -D STORES --emit llvm-plain | %filecheck %s --check-prefix=STORES
// CHECK: call void @gemm_f16_f16_f32_32x32x32_1x1x4
// STORES-NOT: 1x1x4
// STORES: call void @gemm_f16_f16_f32_32x32x32_1x1x1
// STORES-NOT: 1x1x4
// RUN: data="--bind 0=rand:u8[4352]@1 --bind 1=rand:s8[8192]@2 --bind 2=zeros:f32[32,32] --bind 3=zeros:u32[1]" && \
// RUN:   for K in PLAIN STORES; do %heddle run %s -D $K $data --device reference --out 2=%t.npy && \
// RUN:   for isa in %levels; do %heddle run %s -D $K $data --isa $isa --compare 2=%t.npy --tolerance 0.0001 || \
// RUN:   exit 1; done; done
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 32) in;
const uint K = 128;

layout(set = 0, binding = 0) readonly buffer A { uint8_t blocks[]; };
layout(set = 0, binding = 1) readonly buffer B { int8_t numbers[]; };
layout(set = 0, binding = 2) writeonly buffer C { float sums[]; };
layout(set = 0, binding = 3) writeonly buffer D { uint seen[]; };

layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Block {
    int16_t scale;
    int8_t q[32];
};

float16_t decode(const in Block b, const in uint block[2], const in uint in_block[2])
{
#ifdef STORES
    seen[0] = 1;
#endif
    return float16_t(int(b.q[in_block[1]]) / 16 * (int(b.scale) % 4 + 5));
}

layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Number {
    int8_t x;
};

float16_t plain(const in Number b, const in uint block[2], const in uint in_block[2])
{
    return float16_t(int(b.x) / 8);
}

void main()
{
    coopmat<float, gl_ScopeSubgroup, 32, 32, gl_MatrixUseAccumulator> acc =
        coopmat<float, gl_ScopeSubgroup, 32, 32, gl_MatrixUseAccumulator>(0.0);
    tensorLayoutNV<2> a = createTensorLayoutNV(2), b = createTensorLayoutNV(2);
    a = setTensorLayoutBlockSizeNV(a, 1, 32);
    a = setTensorLayoutDimensionNV(a, 32, K);
    b = setTensorLayoutDimensionNV(b, K, 32);
    for (uint k = 0; k < K; k += 32) {
        coopmat<float16_t, gl_ScopeSubgroup, 32, 32, gl_MatrixUseA> x;
        coopmat<float16_t, gl_ScopeSubgroup, 32, 32, gl_MatrixUseB> y;
        coopMatLoadTensorNV(x, blocks, 0, sliceTensorLayoutNV(a, 0, 32, k, 32), decode);
        coopMatLoadTensorNV(y, numbers, 0, sliceTensorLayoutNV(b, k, 32, 0, 32), plain);
        acc = coopMatMulAdd(x, y, acc);
    }
    coopMatStore(acc, sums, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
