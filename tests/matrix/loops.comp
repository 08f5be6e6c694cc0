// SPDX-License-Identifier: MIT
// Sums of products over k, as kernels have them: a workgroup is one subgroup with GM x GN sums, and
// goes along k by CHAIN tiles at once. What varies is what a device may look at before it stages,
// fuses or shares the loads of such a loop: how matrices lie, which axis of workgroups goes along
// rows, what sums begin with and what becomes of them, and what limits the loop.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_control_flow_attributes : require

#define MATRIX(T, U) coopmat<T, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUse##U>
#ifdef COLUMN_A
#define A_AT(r, k) a_start + (k) * a_stride + (r)
#define A_LIES gl_CooperativeMatrixLayoutColumnMajor
#else
#define A_AT(r, k) a_start + (r) * a_stride + (k)
#define A_LIES gl_CooperativeMatrixLayoutRowMajor
#endif
#ifdef COLUMN_B
#define B_AT(k, c) b_start + (c) * b_stride + (k)
#define B_LIES gl_CooperativeMatrixLayoutColumnMajor
#else
#define B_AT(k, c) b_start + (k) * b_stride + (c)
#define B_LIES gl_CooperativeMatrixLayoutRowMajor
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InputA { AB a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { AB b[]; };
layout(set = 0, binding = 2) buffer Output { CD c[]; };
layout(push_constant) uniform Sizes {
    uint k_first, k_size, a_start, a_stride, b_start, b_stride, c_stride, bent;
};

void main()
{
#ifdef ROWS_BY_X
    uint row = gl_WorkGroupID.x * GM * TILE, column = gl_WorkGroupID.y * GN * TILE;
#else
    uint row = gl_WorkGroupID.y * GM * TILE, column = gl_WorkGroupID.x * GN * TILE;
#endif
    uint last = k_size;
    if (bent != 0) /* not all workgroups go equally far */
        last -= min(last, TILE * CHAIN * (gl_WorkGroupID.x & 1));
    MATRIX(CD, Accumulator) sum[GM][GN];
    [[unroll]] for (uint i = 0; i < GM; i++)
        [[unroll]] for (uint j = 0; j < GN; j++)
#ifdef BEGINS
            coopMatLoad(sum[i][j], c, (row + TILE * i) * c_stride + column + TILE * j, c_stride,
                        gl_CooperativeMatrixLayoutRowMajor);
#else
            sum[i][j] = MATRIX(CD, Accumulator)(CD(0));
#endif
    for (uint k = k_first; k < last; k += TILE * CHAIN) {
        [[unroll]] for (uint q = 0; q < CHAIN; q++) {
            MATRIX(AB, A) left[GM];
            MATRIX(AB, B) right[GN];
            [[unroll]] for (uint i = 0; i < GM; i++)
                coopMatLoad(left[i], a, A_AT(row + TILE * i, k + TILE * q), a_stride, A_LIES);
            [[unroll]] for (uint j = 0; j < GN; j++)
                coopMatLoad(right[j], b, B_AT(k + TILE * q, column + TILE * j), b_stride, B_LIES);
            [[unroll]] for (uint i = 0; i < GM; i++)
                [[unroll]] for (uint j = 0; j < GN; j++)
                    sum[i][j] = coopMatMulAdd(left[i], right[j], sum[i][j]);
        }
    }
    [[unroll]] for (uint i = 0; i < GM; i++)
        [[unroll]] for (uint j = 0; j < GN; j++) {
#ifdef ENDS
            for (uint e = 0; e < sum[i][j].length(); e++)
                sum[i][j][e] = -sum[i][j][e];
#endif
            coopMatStore(sum[i][j], c, (row + TILE * i) * c_stride + column + TILE * j, c_stride,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
}
