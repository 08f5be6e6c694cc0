// SPDX-License-Identifier: MIT
// Rows behind a tensor's end are all the same, and their products are made once; a product with a
// constant is a sum of rows. %n of %M rows are there. Buffers are declared as bytes, and read and
// written as what is in them; elements of B that a lane has of a column are staged in words.
// RUN: sed 's/"features": \[/&"subgroup_shuffle", /; s/"min_subgroup_size": [0-9]*/"min_subgroup_size": 8/' tests/lower/none.json > %t.json
// RUN: sed 's/, "bfloat16", "float8"//' %t.json > %t.integers.json
// RUN: TYPES="float16_t float f16 f32"; for shape in "32 64 32 256" "64 64 64 128" "16 32 8 128" "32 64 64 64"; do \
// RUN:   for n in 0 9 100; do set -- $shape $TYPES; \
// RUN:     sed "s/%M/$1/g; s/%N/$2/g; s/%K/$3/g; s/%X/$4/g; s/%n/$n/g; s/%E/$5/g; s/%R/$6/g" %s > %t.comp; \
// RUN:     ARRAYS="--bind 0=rand:$7[$1,$3]@1 --bind 1=rand:$7[$2,$3]@2 --bind 2=zeros:$8[2,$1,$2] --bind 3=zeros:$8[$1,$2]"; \
// RUN:     %heddle run %t.comp $ARRAYS --groups 1 --out 2=%t.2.npy --out 3=%t.3.npy || exit 1; \
// RUN:     for how in "8 0 json" "8 1 integers.json" "32 1 json"; do set -- $how; \
// RUN:         %heddle compile %t.comp --for %t.$3 --subgroup-size $1 -D ROUNDS=$2 --emit spirv -o %t.spv > %t.txt && \
// RUN:         %spirv-val --target-env vulkan1.3 %t.spv || exit 1; \
// RUN:         for d in cpu reference; do \
// RUN:             %heddle run %t.spv --device $d --subgroup-size $1 $ARRAYS --groups 1 \
// RUN:                 --compare 2=%t.2.npy --compare 3=%t.3.npy --tolerance 2e-3 || exit 1; done || exit 1; done || exit 1; \
// RUN:     case $TYPES in float1*) TYPES="int8_t int32_t s8 s32";; int*) TYPES="bfloat16_t float bf16 f32";; \
// RUN:         bf*) TYPES="floate4m3_t float e4m3 f32";; *) TYPES="float16_t float f16 f32";; esac; done || exit 1; done
// RUN: sed "s/%M/32/g; s/%N/64/g; s/%K/64/g; s/%X/256/g; s/%n/2/g; s/%E/float16_t/g; s/%R/float/g" %s > %t.comp
// RUN: %heddle compile %t.comp --for subgroup8 -D ROUNDS=1 -o %t.spv | %filecheck %s --check-prefix REPORT
// RUN: %spirv-dis %t.spv | %filecheck %s
// No element is put together from bytes, and no product needs more than the two barriers that its
// staging needs anyway.
// CHECK-NOT: OpTypeVector %uchar
// CHECK: OpBitcast %uint
// CHECK-COUNT-4: OpControlBarrier
// CHECK-NOT: OpControlBarrier
// REPORT-DAG: OpCooperativeMatrixMulAddKHR {{ *}}1 {{ *}}lower_khr {{ *}}shuffles, sums of rows
// REPORT-DAG: OpCooperativeMatrixMulAddKHR {{ *}}2 {{ *}}lower_khr {{ *}}workgroup memory, sums of products
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e4m3 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = %X) in;
layout(set = 0, binding = 0) readonly buffer A { uint8_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { uint8_t b[]; };
layout(set = 0, binding = 2) writeonly buffer C { uint8_t c[]; };
layout(set = 0, binding = 3) writeonly buffer D { uint8_t d[]; };

%R moved(const in uint row, const in uint column, const in %R x)
{
    return x + %R(row) - %R(column) * %R(2);
}
%E changed(const in uint row, const in uint column, const in %E x)
{
    return %E(float(x) * 0.5 + float(row / 5));
}
%R larger(const in %R x, const in %R y) { return max(x, y); }

void main()
{
    coopmat<%E, gl_ScopeWorkgroup, %M, %K, gl_MatrixUseA> x;
    coopmat<%E, gl_ScopeWorkgroup, %K, %N, gl_MatrixUseB> y;
    coopmat<%R, gl_ScopeWorkgroup, %M, %N, gl_MatrixUseAccumulator> z =
        coopmat<%R, gl_ScopeWorkgroup, %M, %N, gl_MatrixUseAccumulator>(1), rows;
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_x =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    tensorLayoutNV<2> of_y = createTensorLayoutNV(2), of_z = of_y;
    of_x = setTensorLayoutDimensionNV(of_x, min(%n, %M), %K);
    of_y = setTensorLayoutDimensionNV(of_y, %N, %K);
    of_z = setTensorLayoutDimensionNV(of_z, %M, %N);
    coopMatLoadTensorNV(x, a, 0, of_x);
    coopMatLoadTensorNV(y, b, 0, of_y, createTensorViewNV(2, false, 1, 0));
    coopMatPerElementNV(z, z, moved);
    z = coopMatMulAdd(x, y, z);
#if ROUNDS
    for (uint k = 0; k <= gl_WorkGroupID.x; k++)
#endif
        coopMatReduceNV(rows, z, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatStoreTensorNV(z, c, 0, of_z);
    z = coopMatMulAdd(x, coopmat<%E, gl_ScopeWorkgroup, %K, %N, gl_MatrixUseB>(3), rows);
    coopMatStoreTensorNV(z, c, %M * %N * 4, of_z);
    coopMatPerElementNV(x, x, changed);
    z = coopMatMulAdd(x, y, z);
    coopMatStoreTensorNV(z, d, 0, of_z);
}
