// SPDX-License-Identifier: MIT
// Workgroups of one subgroup whose loop sums up products, on sm_90a: eight of them (or four, where
// the dispatch is small) are a block, which copies panels to workgroup memory and multiplies them
// by wgmma; the loop stays behind it, for what is left. Bytes of B that lie by rows are transposed
// on their way; of tiles of 8 x 8 it takes 32 workgroups. Not so on other targets, or where there
// is an effect before the loop.
//
// RUN: %heddle compile %s --device cuda --isa sm_90a --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s -D ROWS -D AB=int8_t -D CD=int --device cuda --isa sm_90a --emit ptx \
// RUN: -o %t.ptx && %filecheck %s --check-prefix TURNED < %t.ptx
// RUN: %heddle compile %s -D TILE=8 --device cuda --isa sm_90a --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix SMALL < %t.ptx
// RUN: %heddle compile %s -D EFFECT --device cuda --isa sm_90a --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix DIRECT < %t.ptx
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix DIRECT < %t.ptx
// RUN: %heddle compile %s -D AB=int8_t -D CD=int --device cuda --isa sm_90a --emit ptx -o %t.ptx \
// RUN: && %filecheck %s --check-prefix BYTES < %t.ptx
// CHECK: .maxntid 256, 1, 1
// CHECK: bar.red.and.pred
// CHECK-COUNT-36: cp.async.cg.shared.global
// CHECK: wgmma.fence
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16{{[^;]*}}p, 1, 1, 0, 0;
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK-COUNT-12: cp.async.cg.shared.global
// CHECK-COUNT-48: cp.async.cg.shared.global
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16{{[^;]*}}p, 1, 1, 0, 0;
// CHECK-COUNT-16: cp.async.cg.shared.global
// CHECK-COUNT-32: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-NOT: mma.sync
// DIRECT: .reqntid 32, 1, 1
// DIRECT-NOT: cp.async
// DIRECT: mma.sync
// TURNED: ld.global.v4.b32
// TURNED: prmt.b32 {{.*}}0x5140
// TURNED: st.shared.b32
// TURNED: wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8{{[^;]*}}p;
// SMALL: .maxntid 1024, 1, 1
// SMALL-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// SMALL: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
// BYTES: .maxntid 256, 1, 1
// BYTES: wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8{{[^;]*}}p;
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require

#ifndef AB
#define AB float16_t
#define CD float
#endif
#ifndef TILE
#define TILE 16
#endif
#ifdef ROWS
#define LIES gl_CooperativeMatrixLayoutRowMajor
#define AT(k, c) (k) * n + (c)
#else
#define LIES gl_CooperativeMatrixLayoutColumnMajor
#define AT(k, c) (c) * k_size + (k)
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InputA { AB a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { AB b[]; };
layout(set = 0, binding = 2) writeonly buffer Output { CD c[]; };
layout(set = 0, binding = 3) buffer Seen { uint seen; };
layout(push_constant) uniform Sizes { uint k_size, n; };

void main()
{
#ifdef EFFECT
    seen = 1;
#endif
    coopmat<CD, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseAccumulator> sum[4][4];
    uint row = gl_WorkGroupID.y * 4 * TILE, column = gl_WorkGroupID.x * 4 * TILE;
    [[unroll]] for (uint i = 0; i < 4; i++)
        [[unroll]] for (uint j = 0; j < 4; j++)
            sum[i][j] = coopmat<CD, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseAccumulator>(0);
    for (uint k = 0; k < k_size; k += TILE) {
        coopmat<AB, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseA> left[4];
        coopmat<AB, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseB> right[4];
        [[unroll]] for (uint i = 0; i < 4; i++)
            coopMatLoad(left[i], a, (row + TILE * i) * k_size + k, k_size,
                        gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0; j < 4; j++)
            coopMatLoad(right[j], b, AT(k, column + TILE * j), n, LIES);
        [[unroll]] for (uint i = 0; i < 4; i++)
            [[unroll]] for (uint j = 0; j < 4; j++)
                sum[i][j] = coopMatMulAdd(left[i], right[j], sum[i][j]);
    }
    [[unroll]] for (uint i = 0; i < 4; i++)
        [[unroll]] for (uint j = 0; j < 4; j++)
            coopMatStore(sum[i][j], c, (row + TILE * i) * n + column + TILE * j, n,
                         gl_CooperativeMatrixLayoutRowMajor);
}
