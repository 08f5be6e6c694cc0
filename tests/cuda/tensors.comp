// SPDX-License-Identifier: MIT
// A workgroup's matrices and tensor layouts: its subgroups, 2 x 4, have parts of 64 x 64, and what
// they load, where it lies inside of the tensors, is matrices as they lie there. On sm_90a the
// workgroup copies panels to workgroup memory and multiplies them by wgmma; the loop stays behind
// it, for what is left, and where it is not inside elements are loaded. A row's largest element is
// found by shuffles among four lanes.
//
// RUN: %heddle compile %s --device cuda --isa sm_90a --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix DIRECT < %t.ptx
// RUN: %heddle compile %s -D REDUCE --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix REDUCE < %t.ptx
// RUN: %heddle compile %s -D TALL=32 -D WIDE=64 --for tests/lower/fits.json -o %t.spv \
// RUN: && %spirv-dis %t.spv | %filecheck %s --check-prefix PARTS
// CHECK: .reqntid 256, 1, 1
// CHECK: .minnctapersm 1
// CHECK: bar.red.and.pred
// CHECK-COUNT-36: cp.async.cg.shared.global
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16{{[^;]*}}p, 1, 1, 0, 1;
// CHECK-COUNT-12: cp.async.cg.shared.global
// CHECK-COUNT-128: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// DIRECT-NOT: cp.async
// DIRECT-COUNT-128: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// REDUCE-NOT: ld.shared
// REDUCE-COUNT-8: shfl.sync.idx.b32
// REDUCE-NOT: shfl.sync
// PARTS-NOT: TensorLayout
// PARTS: OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_0
// PARTS: OpCooperativeMatrixLoadKHR
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require

#ifndef TALL
#define TALL 128
#define WIDE 256
#endif

layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer InputA { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { float16_t b[]; };
layout(set = 0, binding = 2) buffer Output { float c[]; };
layout(push_constant) uniform Sizes { uint m, n, k; };

const uint CLAMP = gl_CooperativeMatrixClampModeConstantNV;
#define SUMS(rows, columns) coopmat<float, gl_ScopeWorkgroup, rows, columns, gl_MatrixUseAccumulator>

float larger(const in float x, const in float y) { return max(x, y); }

void main()
{
    uint row = gl_WorkGroupID.y * TALL, column = gl_WorkGroupID.x * WIDE;
    tensorLayoutNV<2, CLAMP> ta = createTensorLayoutNV(2, CLAMP), tb = ta, tc = ta;
    ta = setTensorLayoutDimensionNV(ta, m, k);
    tb = setTensorLayoutDimensionNV(tb, k, n);
    tc = setTensorLayoutDimensionNV(tc, m, n);
#ifdef REDUCE
    SUMS(256, 64) all, largest;
    coopMatLoadTensorNV(all, c, 0, sliceTensorLayoutNV(tc, row, 256, column, 64));
    coopMatReduceNV(largest, all, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatStoreTensorNV(largest, c, 0, sliceTensorLayoutNV(tc, row, 256, column, 64));
#else
    SUMS(TALL, WIDE) sum = SUMS(TALL, WIDE)(0);
    for (uint i = 0; i < k; i += 64) {
        coopmat<float16_t, gl_ScopeWorkgroup, TALL, 64, gl_MatrixUseA> x;
        coopmat<float16_t, gl_ScopeWorkgroup, 64, WIDE, gl_MatrixUseB> y;
        coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(ta, row, TALL, i, 64));
        coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(tb, i, 64, column, WIDE));
        sum = coopMatMulAdd(x, y, sum);
    }
    coopMatStoreTensorNV(sum, c, 0, sliceTensorLayoutNV(tc, row, TALL, column, WIDE));
#endif
}
