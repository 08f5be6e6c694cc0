// SPDX-License-Identifier: MIT
// What a workgroup shares is dealt in blocks where its rows are as long as some subgroups: products,
// functions of elements, reductions, other uses, transposition and elements taken one by one give
// what they do in heddle's own matrices, for shapes that have blocks, that have none, and whose sums
// a loop goes through. Where rows are reduced in a loop (ROUNDS), blocks have whole rows, and
// subgroups combine them by shuffles.
// RUN: sed 's/"features": \[/&"subgroup_shuffle", /; s/"min_subgroup_size": [0-9]*/"min_subgroup_size": 8/' tests/lower/none.json > %t.json
// RUN: for shape in "64 64 32 128" "32 64 16 64" "16 128 8 256" "128 64 16 16" "64 16 64 128" "8 32 24 64" "24 64 8 48" "64 32 16 8,local_size_y=16"; do \
// RUN:     set -- $shape; \
// RUN:     sed "s/%M/$1/g; s/%N/$2/g; s/%K/$3/g; s/%X/$4/g" %s > %t.comp; \
// RUN:     ARRAYS="--bind 0=randn:f16[$1,$3]@1 --bind 1=randn:f16[$3,$2]@2 --bind 2=zeros:f32[3,$1,$2] --bind 3=zeros:f32[$2,$1]"; \
// RUN:     %heddle run %t.comp $ARRAYS --groups 1 --out 2=%t.2.npy --out 3=%t.3.npy || exit 1; \
// RUN:     for rounds in 0 1; do for width in 8 32; do \
// RUN:         %heddle compile %t.comp --for %t.json --subgroup-size $width -D ROUNDS=$rounds --emit spirv -o %t.spv > %t.txt && \
// RUN:         %spirv-val --target-env vulkan1.3 %t.spv || exit 1; \
// RUN:         for d in cpu reference; do \
// RUN:             %heddle run %t.spv --device $d --subgroup-size $width $ARRAYS --groups 1 \
// RUN:                 --compare 2=%t.2.npy --compare 3=%t.3.npy --tolerance 2e-3 || exit 1; done; done; done || exit 1; done
// RUN: sed "s/%M/64/g; s/%N/64/g; s/%K/32/g; s/%X/128/g" %s > %t.comp
// What stays a matrix is dealt as its target says, one element after the other here.
// RUN: sed 's/"features": \[/&"subgroup_shuffle", /; s/"cooperative_matrix2", //' share/profiles/heddle.json > %t.json
// RUN: ARRAYS="--bind 0=randn:f16[64,32]@1 --bind 1=randn:f16[32,64]@2 --bind 2=zeros:f32[3,64,64] --bind 3=zeros:f32[64,64]"; \
// RUN:     %heddle run %t.comp $ARRAYS --groups 1 --out 2=%t.2.npy --out 3=%t.3.npy && \
// RUN:     %heddle compile %t.comp --for %t.json --subgroup-size 32 -D ROUNDS=1 -o %t.spv && \
// RUN:     %heddle run %t.spv --subgroup-size 32 $ARRAYS --groups 1 --compare 2=%t.2.npy --compare 3=%t.3.npy --tolerance 2e-3
// RUN: %heddle compile %t.comp --for subgroup8 -D ROUNDS=1 -o %t.spv && %spirv-dis %t.spv | %filecheck %s --check-prefix WHOLE
// RUN: %heddle compile %t.comp --for subgroup8 -o %t.spv && %spirv-dis %t.spv | %filecheck %s
// Of 64 x 64 a lane of 8 in 16 subgroups has 8 rows by 4 columns: of four k it loads 16 elements of
// B, and 4 of A for each row.
// CHECK: OpDecorate %{{.*}} BuiltIn SubgroupId
// CHECK: OpLoopMerge
// CHECK-COUNT-20: OpFConvert %float
// CHECK-NOT: OpFConvert
// CHECK-COUNT-16: OpFMul %float
// CHECK-NOT: OpFMul
// CHECK-COUNT-4: OpFConvert %float
// CHECK-NOT: OpFConvert
// CHECK: OpFMul %float
// A subgroup has four rows of 64 then: three steps for each without a barrier, as for its part of
// all; what 16 parts come to takes as many.
// WHOLE: OpGroupNonUniformShuffleXor
// WHOLE-NOT: OpControlBarrier
// WHOLE-COUNT-14: OpGroupNonUniformShuffleXor
// WHOLE-NOT: OpGroupNonUniformShuffleXor
// WHOLE: OpControlBarrier
// WHOLE-COUNT-3: OpGroupNonUniformShuffleXor
// WHOLE-NOT: OpGroupNonUniformShuffleXor
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = %X) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };
layout(set = 0, binding = 3) writeonly buffer D { float d[]; };

float16_t moved(const in uint row, const in uint column, const in float16_t x)
{
    return x + float16_t(row) * float16_t(0.125) - float16_t(column) * float16_t(0.0625);
}
float larger(const in float x, const in float y) { return max(x, y); }

void main()
{
    coopmat<float16_t, gl_ScopeWorkgroup, %M, %K, gl_MatrixUseA> x;
    coopmat<float16_t, gl_ScopeWorkgroup, %K, %N, gl_MatrixUseB> y;
    coopmat<float, gl_ScopeWorkgroup, %M, %N, gl_MatrixUseAccumulator> z =
        coopmat<float, gl_ScopeWorkgroup, %M, %N, gl_MatrixUseAccumulator>(1.0);
    coopmat<float, gl_ScopeWorkgroup, %M, %N, gl_MatrixUseAccumulator> rows;
    coopMatLoad(x, a, 0, %K, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(y, b, 0, %N, gl_CooperativeMatrixLayoutRowMajor);
    z = coopMatMulAdd(x, y, z);
#if ROUNDS
    for (uint k = 0; k <= gl_WorkGroupID.x; k++)
#endif
        coopMatReduceNV(rows, z, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatStore(z, c, 0, %N, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float, gl_ScopeWorkgroup, %M, %N, gl_MatrixUseAccumulator> all, columns;
    coopMatReduceNV(all, z, gl_CooperativeMatrixReduceRowAndColumnNV, larger);
    coopMatReduceNV(columns, z, gl_CooperativeMatrixReduceColumnNV, larger);
    rows = rows + 0.25 * all + 0.5 * columns;
    coopMatStore(z - rows, c, %M * %N, %N, gl_CooperativeMatrixLayoutRowMajor);
    for (int k = 0; k < z.length(); k++)
        z[k] = z[k] * 0.5 + float(k >= 0);
    coopMatStore(z, d, 0, %M, gl_CooperativeMatrixLayoutColumnMajor);
    coopmat<float16_t, gl_ScopeWorkgroup, %M, %N, gl_MatrixUseAccumulator> small =
        coopmat<float16_t, gl_ScopeWorkgroup, %M, %N, gl_MatrixUseAccumulator>(z);
    coopMatPerElementNV(small, small, moved);
    z = coopmat<float, gl_ScopeWorkgroup, %M, %N, gl_MatrixUseAccumulator>(small);
    coopMatStore(z, c, 2 * %M * %N, %N, gl_CooperativeMatrixLayoutRowMajor);
}
