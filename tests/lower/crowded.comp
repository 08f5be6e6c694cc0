// SPDX-License-Identifier: MIT
// A matrix of a large workgroup on a target with matrices of subgroups: each subgroup converts its
// part in workgroup memory of its own. Where there is too little of it, the matrix is an array instead.
// RUN: ARRAYS="--bind 0=randn:f16[32,32]@1 --bind 1=zeros:f32[32,32]"; p=%S/../../share/profiles/khr16.json; \
// RUN: %heddle run %s $ARRAYS --out 1=%t.npy || exit 1; \
// RUN: for bytes in 65536 16384; do \
// RUN:   sed "s/\"workgroup_memory\": [0-9]*/\"workgroup_memory\": $bytes/" $p > %t.json; \
// RUN:   %heddle compile %s --for %t.json --subgroup-size 32 --emit spirv -o %t.spv > %t.out && \
// RUN:   %spirv-val --target-env vulkan1.3 %t.spv && %filecheck %s --check-prefix=AT$bytes --input-file %t.out && \
// RUN:   %heddle run %t.spv $ARRAYS --compare 1=%t.npy || exit 1; done
// AT65536: OpCooperativeMatrixLoadKHR {{ *}}1 {{ *}}lower_workgroup {{ *}}a part each subgroup
// AT16384-NOT: lower_workgroup
// AT16384: OpCooperativeMatrixLoadKHR {{ *}}1 {{ *}}lower_khr {{ *}}loads of elements
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 1024) in;
layout(set = 0, binding = 0) readonly buffer From { float16_t x[]; } from;
layout(set = 0, binding = 1) writeonly buffer To { float x[]; } to;

float twice(const in uint32_t row, const in uint32_t column, const in float x)
{
    return 2 * x + float(row) - float(column);
}

void main()
{
    coopmat<float16_t, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseAccumulator> m;
    coopMatLoad(m, from.x, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseAccumulator> x =
        coopmat<float, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseAccumulator>(m);
    coopMatPerElementNV(x, x, twice);
    coopMatStore(x, to.x, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
