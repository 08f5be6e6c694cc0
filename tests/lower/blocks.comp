// SPDX-License-Identifier: MIT
// Decode functions on a target without tensors: the invocations of the workgroup, or of each
// subgroup, decode runs of blocks into workgroup memory, wherefrom matrices are loaded. Runs that
// the tensor ends in, or that do not begin with a block's (START), go element by element. Blocks need
// not begin at a multiple of their size (FROM); functions take them for other structures and add to
// their addresses (WORDS), or leave them alone and read the buffer (BOUND).
// RUN: for d in "" -DTURNED=1 -DSTART=7 -DSCOPE=gl_ScopeSubgroup -DFROM=16 -DWORDS=1 -DBOUND=1; do \
// RUN:   ARRAYS="--bind 0=list:u32:40,88 --bind 1=iota:u8[41,3,34] --bind 3=randn:f16[64,64]@1 \
// RUN:       --bind 2=zeros:f32[48,64] --groups 1"; CLOSE="--compare 2=%t.npy --tolerance 1e-5"; \
// RUN:   %heddle run %s $d $ARRAYS --out 2=%t.npy || exit 1; \
// RUN:   %heddle run %s $d $ARRAYS $CLOSE --check --device reference || exit 1; \
// RUN:   for p in nvidia-hopper-khr khr16 subgroup32; do \
// RUN:     %heddle compile %s $d --for $p --subgroup-size 32 --emit spirv -o %t.spv > %t.$p && \
// RUN:     %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN:     %heddle run %t.spv --tier fast $ARRAYS $CLOSE || exit 1; done; \
// RUN:   %filecheck %s --input-file %t.nvidia-hopper-khr || exit 1; done
// CHECK: OpCooperativeMatrixLoadTensorNV {{ *}}1 {{ *}}lower_tensor {{ *}}calls for runs of blocks
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
#extension GL_NV_cooperative_matrix2 : require

#ifndef SCOPE
#define SCOPE gl_ScopeWorkgroup
#endif
#ifndef FROM
#define FROM 0
#endif
#ifndef START
#define START 0
#endif

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer Sizes { uint rows, columns; };
layout(set = 0, binding = 1) readonly buffer Blocks { uint8_t blocks[]; };
layout(set = 0, binding = 2) buffer Sums { float sums[]; };
layout(set = 0, binding = 3) readonly buffer Factor { float16_t b[]; };

layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Block {
    uint8_t low, high;
    int8_t q[32];
};

layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Words {
    uint16_t head;
    u16vec2 q[];
};

layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Bytes {
    uint8_t all[];
};

#if defined(BOUND)
int number(const in Bytes x, const in uint block[2], uint at)
{
    return int(int8_t(blocks[(block[0] * 3 + block[1]) * 34 + 2 + at]));
}
#elif defined(WORDS)
int number(const in Block x, const in uint block[2], uint at)
{
    Words w = Words(x);
    if (at >= 16)
        w = Words(uint64_t(x) + 16ul);
    u16vec2 two = w.q[at % 16 / 4];
    return int(int8_t(two[at / 2 % 2] >> at % 2 * 8));
}
#endif

#if defined(BOUND)
#define Block Bytes
#elif !defined(WORDS)
#define number(x, block, at) int(x.q[at])
#endif

float16_t decode(const in Block x, const in uint block[2], const in uint in_block[2])
{
    return float16_t(number(x, block, in_block[1]) + int(block[0] * 3 + block[1])) / 64.0hf;
}

#define MATRIX(type, rows, columns, use) coopmat<type, SCOPE, rows, columns, gl_MatrixUse##use>

void main()
{
    if (SCOPE == gl_ScopeSubgroup && gl_SubgroupID != 0)
        return;
    uint from = (rows - 39) * FROM;
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> t =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutBlockSizeNV(t, 1, 32);
    t = setTensorLayoutDimensionNV(t, rows, columns);
    t = setTensorLayoutClampValueNV(t, 0x3c00); /* 1 */
    t = sliceTensorLayoutNV(t, 0, 64, START, 64);
#ifdef TURNED
    MATRIX(float16_t, 48, 64, A) other;
    MATRIX(float16_t, 64, 64, B) x;
    coopMatLoad(other, b, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoadTensorNV(x, blocks, from, t, createTensorViewNV(2, false, 1, 0), decode);
    MATRIX(float, 48, 64, Accumulator) sum =
        coopMatMulAdd(other, x, MATRIX(float, 48, 64, Accumulator)(0.0));
#else
    t = sliceTensorLayoutNV(t, 0, 48, 0, 64);
    MATRIX(float16_t, 64, 64, B) other;
    MATRIX(float16_t, 48, 64, A) x;
    coopMatLoad(other, b, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoadTensorNV(x, blocks, from, t, decode);
    MATRIX(float, 48, 64, Accumulator) sum =
        coopMatMulAdd(x, other, MATRIX(float, 48, 64, Accumulator)(0.0));
#endif
    coopMatStore(sum, sums, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
}
