// SPDX-License-Identifier: MIT
// Stores one behind the other are written line by line through all neighbours: in a row, in the
// opposite order, on top of one another, so close that lines lie in others' lines, column-major,
// and of matrices that are transposed on the way. The last store to a place is what stays.
// RUN: %heddle run %s -D T=float --bind 0=randn:f32[8192]@1 --bind 1=zeros:f32[32768] \
// RUN:     --out 1=%t.npy --device reference
// RUN: %heddle run %s -D T=float --bind 0=randn:f32[8192]@1 --bind 1=zeros:f32[32768] \
// RUN:     --compare 1=%t.npy
// RUN: %heddle run %s -D T=float --bind 0=randn:f32[8192]@1 --bind 1=zeros:f32[32768] \
// RUN:     --compare 1=%t.npy --robust
// RUN: %heddle run %s -D T=float16_t -D M=24 -D N=8 --bind 0=randn:f16[8192]@1 \
// RUN:     --bind 1=zeros:f16[32768] --out 1=%t.npy --device reference
// RUN: %heddle run %s -D T=float16_t -D M=24 -D N=8 --bind 0=randn:f16[8192]@1 \
// RUN:     --bind 1=zeros:f16[32768] --compare 1=%t.npy
// RUN: %heddle run %s -D T=int8_t -D M=20 -D N=12 --bind 0=rand:s8[8192]@1 \
// RUN:     --bind 1=zeros:s8[32768] --out 1=%t.npy --device reference
// RUN: %heddle run %s -D T=int8_t -D M=20 -D N=12 --bind 0=rand:s8[8192]@1 \
// RUN:     --bind 1=zeros:s8[32768] --compare 1=%t.npy
// RUN: %heddle compile %s -D T=float --emit llvm | %filecheck %s
// CHECK: call void @tile_copies_16x64(ptr{{.*}}, i64 8)
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require
#ifndef M
#define M 16
#define N 16
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer From { T from[]; };
layout(set = 0, binding = 1) buffer To { T to[]; };

const int ROWS = gl_CooperativeMatrixLayoutRowMajor;
const int COLUMNS = gl_CooperativeMatrixLayoutColumnMajor;
const uint PART = 4096;

coopmat<T, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> m[8];

void main()
{
    [[unroll]] for (uint k = 0; k < 8; k++)
        coopMatLoad(m[k], from, k * M * N, N, ROWS);
    [[unroll]] for (uint k = 0; k < 8; k++) // two rows of four
        coopMatStore(m[k], to, k / 4 * M * 4 * N + k % 4 * N, 4 * N, ROWS);
    barrier();
    [[unroll]] for (uint k = 0; k < 8; k++) // a row, from its end
        coopMatStore(m[k], to, PART + (7 - k) * N, 8 * N, ROWS);
    barrier();
    [[unroll]] for (uint k = 0; k < 8; k++) // on top of one another
        coopMatStore(m[k], to, 2 * PART + k * N / 2, 8 * N, ROWS);
    barrier();
    [[unroll]] for (uint k = 0; k < 8; k++) // the fourth's first line is the first's second
        coopMatStore(m[k], to, 3 * PART + k * N, 3 * N, ROWS);
    barrier();
    [[unroll]] for (uint k = 0; k < 8; k++) // columns
        coopMatStore(m[k], to, 4 * PART + k * M, 8 * M, COLUMNS);
    barrier();
    [[unroll]] for (uint k = 0; k < 4; k++) { // both orders in turn
        coopMatStore(m[k], to, 5 * PART + k * N, 4 * N, ROWS);
        coopMatStore(m[k], to, 6 * PART + k * M, 4 * M, COLUMNS);
    }
    barrier();
    [[unroll]] for (uint k = 0; k < 4; k++) // a line in two lines' stride, and something in between
        coopMatStore(m[k] + m[k + 4], to, 7 * PART + k * N, 8 * N, ROWS);
}
