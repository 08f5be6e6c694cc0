// SPDX-License-Identifier: MIT
// Where arrays are faster than the target's matrices nothing that is lowered keeps any; a subgroup
// larger than the target's is a workgroup of the target's, with blocks.
// RUN: ARRAYS="--bind 0=randn:f16[128,128]@1 --bind 1=zeros:f16[128,128] --groups 1"; \
// RUN: for scope in Workgroup Subgroup; do sed "s/WHOSE/$scope/" %s > %t.comp && \
// RUN:     %heddle run %t.comp --subgroup-size 64 $ARRAYS --out 1=%t.npy && \
// RUN:     %heddle compile %t.comp --for tests/lower/slow.json --subgroup-size 64 -o %t.spv | %filecheck %s && \
// RUN:     %spirv-val --target-env vulkan1.3 %t.spv && %spirv-dis %t.spv | %filecheck %s --check-prefix BLOCKS && \
// RUN:     %heddle run %t.spv --subgroup-size 8 $ARRAYS --compare 1=%t.npy --tolerance 1e-2 || exit 1; done
// What a cleaning pass removes is not used any more.
// RUN: %heddle compile examples/texture.comp -D T=float16_t -D LAYERS=2 --subgroup-size 64 --for tests/lower/slow.json -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// CHECK-NOT: fit_matrices
// CHECK: OpCooperativeMatrixMulAddKHR {{ *}}1 {{ *}}lower_khr
// BLOCKS: BuiltIn SubgroupId
// BLOCKS-NOT: OpTypeCooperativeMatrixKHR
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) writeonly buffer C { float16_t c[]; };

float16_t larger(const in float16_t x, const in float16_t y) { return max(x, y); }

void main()
{
    coopmat<float16_t, gl_ScopeWHOSE, 128, 16, gl_MatrixUseA> x;
    coopmat<float16_t, gl_ScopeWHOSE, 16, 128, gl_MatrixUseB> y;
    coopmat<float16_t, gl_ScopeWHOSE, 128, 128, gl_MatrixUseAccumulator> z, columns;
    coopMatLoad(x, a, 0, 128, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(y, a, 0, 128, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(z, a, 0, 128, gl_CooperativeMatrixLayoutRowMajor);
    z = coopMatMulAdd(x, y, z);
    coopMatReduceNV(columns, z, gl_CooperativeMatrixReduceColumnNV, larger);
    coopMatStore(z - columns, c, 0, 128, gl_CooperativeMatrixLayoutRowMajor);
}
