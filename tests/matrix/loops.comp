// SPDX-License-Identifier: MIT
// Sums of products over k, as kernels have them: a workgroup is DOWN x ACROSS subgroups with GM x GN
// sums each, and goes along k by CHAIN tiles at once, STAGED by workgroup memory or not. What varies is what a device may look at before it stages,
// fuses or shares the loads of such a loop: how matrices lie, which axis of workgroups goes along
// rows, what sums begin with and what becomes of them, what limits the loop, and its wait queues (QUEUES).
//
// On sm_90a eight workgroups of four subgroups are a block of 32 warps, staged by hand or not; what
// was staged is copied by cp.async instead.
// RUN: for K in STAGED DIRECT; do \
// RUN:   %heddle compile %s -D AB=float16_t -D CD=float -D GM=2 -D GN=2 -D CHAIN=2 -D TILE=16 \
// RUN:     -D DOWN=2 -D ACROSS=2 -D $K --device cuda --isa sm_90a --emit ptx -o %t.ptx && \
// RUN:   %filecheck %s < %t.ptx || exit 1; done
// A hint for wait queues says how many stages are copied ahead, of the three that there is memory for; two
// of bytes that are transposed on the way.
// RUN: for q in 1,0 2,1 8,2; do \
// RUN:   %heddle compile %s -D AB=float16_t -D CD=float -D GM=4 -D GN=4 -D CHAIN=1 -D TILE=16 -D DOWN=1 \
// RUN:     -D ACROSS=1 -D QUEUES=${q%,*} --device cuda --isa sm_90a --emit ptx -o %t.ptx && \
// RUN:   %filecheck %s --check-prefix=QUEUES -DN=${q#*,} < %t.ptx || exit 1; done
// RUN: %heddle compile %s -D AB=int8_t -D CD=int -D GM=4 -D GN=4 -D CHAIN=1 -D TILE=16 -D DOWN=1 -D ACROSS=1 \
// RUN:   -D QUEUES=1 --device cuda --isa sm_90a --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix=QUEUES -DN=1 < %t.ptx
// QUEUES-COUNT-2: cp.async.wait_group [[N]];
// QUEUES-NOT: cp.async.wait_group
// CHECK: .maxntid 1024, 1, 1
// CHECK-NOT: ld.global.b16
// CHECK: cp.async.cg.shared.global
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_control_flow_attributes : require
#ifdef QUEUES
#extension GL_QCOM_multiple_wait_queues : require
#endif

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

#define SUBGROUPS (DOWN * ACROSS)
#define ROWS (DOWN * GM * TILE)
#define COLUMNS (ACROSS * GN * TILE)
#define STEP (TILE * CHAIN)
layout(local_size_x = 32 * SUBGROUPS) in;
layout(set = 0, binding = 0) readonly buffer InputA { AB a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { AB b[]; };
layout(set = 0, binding = 2) buffer Output { CD c[]; };
layout(push_constant) uniform Sizes {
    uint k_first, k_size, a_start, a_stride, b_start, b_stride, c_stride, bent;
};

#ifdef STAGED
shared AB tile_a[ROWS * (STEP + 8)], tile_b[STEP * (COLUMNS + 8)];
#define A_FROM tile_a, (own_row + TILE * i) * (STEP + 8) + TILE * q, STEP + 8, \
               gl_CooperativeMatrixLayoutRowMajor
#define B_FROM tile_b, TILE * q * (COLUMNS + 8) + own_column + TILE * j, COLUMNS + 8, \
               gl_CooperativeMatrixLayoutRowMajor
#else
#define A_FROM a, A_AT(row + TILE * i, k + TILE * q), a_stride, A_LIES
#define B_FROM b, B_AT(k + TILE * q, column + TILE * j), b_stride, B_LIES
#endif

void main()
{
#ifdef ROWS_BY_X
    uint first_row = gl_WorkGroupID.x * ROWS, first_column = gl_WorkGroupID.y * COLUMNS;
#else
    uint first_row = gl_WorkGroupID.y * ROWS, first_column = gl_WorkGroupID.x * COLUMNS;
#endif
#if SUBGROUPS > 1
    uint own_row = gl_SubgroupID / ACROSS * GM * TILE, own_column = gl_SubgroupID % ACROSS * GN * TILE;
#else
    uint own_row = 0, own_column = 0;
#endif
    uint row = first_row + own_row, column = first_column + own_column;
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
#ifdef QUEUES
    [[multiple_wait_queuesQCOM(QUEUES)]]
#endif
    for (uint k = k_first; k < last; k += STEP) {
#ifdef STAGED
        [[unroll]] for (uint e = 0; e < ROWS * STEP; e += 32 * SUBGROUPS) {
            uint i = e + gl_LocalInvocationIndex, r = i / STEP, s = i % STEP;
            tile_a[r * (STEP + 8) + s] = a[A_AT(first_row + r, k + s)];
        }
        [[unroll]] for (uint e = 0; e < STEP * COLUMNS; e += 32 * SUBGROUPS) {
            uint i = e + gl_LocalInvocationIndex, r = i / COLUMNS, s = i % COLUMNS;
            tile_b[r * (COLUMNS + 8) + s] = b[B_AT(k + r, first_column + s)];
        }
        barrier();
#endif
        [[unroll]] for (uint q = 0; q < CHAIN; q++) {
            MATRIX(AB, A) left[GM];
            MATRIX(AB, B) right[GN];
            [[unroll]] for (uint i = 0; i < GM; i++)
                coopMatLoad(left[i], A_FROM);
            [[unroll]] for (uint j = 0; j < GN; j++)
                coopMatLoad(right[j], B_FROM);
            [[unroll]] for (uint i = 0; i < GM; i++)
                [[unroll]] for (uint j = 0; j < GN; j++)
                    sum[i][j] = coopMatMulAdd(left[i], right[j], sum[i][j]);
        }
#ifdef STAGED
        barrier();
#endif
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
