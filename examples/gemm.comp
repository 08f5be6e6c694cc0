// SPDX-License-Identifier: MIT
//
// C = A * B with cooperative matrices: row-major, A is m x k, B is k x n, C is m x n.
//
// A workgroup is one subgroup. It computes 64 x 64 elements of C as a 4 x 4 grid of 16 x 16
// accumulators, and walks along k in steps of 16: each step loads four tiles of A and four of B
// straight from global memory and multiplies every pair. m and n are multiples of 64, k of 16.
//
//     heddle run examples/gemm.comp --groups 8,8 --push list:u32:512,512,512,512
//         --bind a=randn:f32[512,512]@1 --bind b=randn:f32[512,512]@2 --bind c=zeros:f32[512,512]
//
// INPUT and OUTPUT choose the types: -D INPUT=float16_t for f16 -> f32, -D INPUT=int8_t
// -D OUTPUT=int for s8 -> s32.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require

#ifndef INPUT
#define INPUT float
#endif
#ifndef OUTPUT
#define OUTPUT float
#endif

const uint TILE = 16, GRID = 4;

layout(local_size_x = 32) in;

layout(set = 0, binding = 0) readonly buffer BufferA { INPUT a[]; };
layout(set = 0, binding = 1) readonly buffer BufferB { INPUT b[]; };
layout(set = 0, binding = 2) writeonly buffer BufferC { OUTPUT c[]; };

layout(push_constant) uniform Sizes {
    uint k_size;        // columns of A, rows of B
    uint a_stride;      // elements from one row of A to the next
    uint b_stride;
    uint c_stride;
};

#define MatrixA coopmat<INPUT, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseA>
#define MatrixB coopmat<INPUT, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseB>
#define MatrixC coopmat<OUTPUT, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseAccumulator>
const int ROW_MAJOR = gl_CooperativeMatrixLayoutRowMajor;

void main()
{
    uint row = gl_WorkGroupID.y * GRID * TILE, column = gl_WorkGroupID.x * GRID * TILE;

    MatrixC sum[GRID][GRID];
    [[unroll]] for (uint i = 0; i < GRID; i++)
        [[unroll]] for (uint j = 0; j < GRID; j++)
            sum[i][j] = MatrixC(OUTPUT(0));

    for (uint k = 0; k < k_size; k += TILE) {
        MatrixA left[GRID];
        MatrixB right[GRID];
        [[unroll]] for (uint i = 0; i < GRID; i++)
            coopMatLoad(left[i], a, (row + i * TILE) * a_stride + k, a_stride, ROW_MAJOR);
        [[unroll]] for (uint j = 0; j < GRID; j++)
            coopMatLoad(right[j], b, k * b_stride + column + j * TILE, b_stride, ROW_MAJOR);
        [[unroll]] for (uint i = 0; i < GRID; i++)
            [[unroll]] for (uint j = 0; j < GRID; j++)
                sum[i][j] = coopMatMulAdd(left[i], right[j], sum[i][j]);
    }

    [[unroll]] for (uint i = 0; i < GRID; i++)
        [[unroll]] for (uint j = 0; j < GRID; j++)
            coopMatStore(sum[i][j], c, (row + i * TILE) * c_stride + column + j * TILE, c_stride,
                         ROW_MAJOR);
}
