// SPDX-License-Identifier: MIT
// What saves time and costs workgroup memory (words of several elements, a row's sums for others) is
// left out where there would be too little: results that go into larger numbers (PACKED) and sums of
// another type take their own. Refused is only what needs more than there is by itself.
// RUN: for k in "float16_t f16 128 2" "float f32 64 4"; do set -- $k; \
// RUN:     D="-D T=$1 -D M=$3 -D SIZE=$4"; ARRAYS="--bind 0=randn:$2[128,128]@1 --bind 2=zeros:$2[$3,128]"; \
// RUN:     %heddle run %s $D $ARRAYS --groups 1 --out 2=%t.npy || exit 1; \
// RUN:     for memory in 65536 32768; do for width in 8 32; do \
// RUN:         sed "s/\"features\": \[/&\"subgroup_shuffle\", /; s/\"min_subgroup_size\": [0-9]*/\"min_subgroup_size\": 8/; s/65536/$memory/" tests/lower/none.json > %t.json; \
// RUN:         %heddle compile %s $D --for %t.json --subgroup-size $width --emit spirv -o %t.$2.$memory.$width.spv && \
// RUN:         %spirv-val --target-env vulkan1.3 %t.$2.$memory.$width.spv || exit 1; \
// RUN:         for d in cpu reference; do \
// RUN:             %heddle run %t.$2.$memory.$width.spv --device $d --subgroup-size $width $ARRAYS --groups 1 \
// RUN:                 --compare 2=%t.npy --tolerance 2e-3 || exit 1; done; done; done || exit 1; done
// RUN: %spirv-dis %t.f16.65536.32.spv | %filecheck %s --check-prefix WORDS
// RUN: %spirv-dis %t.f16.32768.32.spv | %filecheck %s --check-prefix NO-WORDS
// RUN: sed "s/65536/16384/" tests/lower/none.json > %t.json; \
// RUN: ! %heddle compile %s -D T=float16_t -D M=128 -D SIZE=2 --for %t.json --subgroup-size 32 2>&1 | %filecheck %s --check-prefix REFUSED
// WORDS: OpBitcast %v2half %{{[0-9]}}
// NO-WORDS-NOT: OpBitcast %v2half %{{[0-9]}}
// REFUSED: takes 32768 bytes with its own
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 2) writeonly buffer C { uvec4 c[]; };

T larger(const in T x, const in T y) { return max(x, y); }

void main()
{
    coopmat<T, gl_ScopeWorkgroup, M, 64, gl_MatrixUseA> x;
    coopmat<T, gl_ScopeWorkgroup, 64, 128, gl_MatrixUseB> y;
    coopmat<T, gl_ScopeWorkgroup, M, 128, gl_MatrixUseAccumulator> z =
        coopmat<T, gl_ScopeWorkgroup, M, 128, gl_MatrixUseAccumulator>(1), rows;
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    coopMatLoadTensorNV(x, a, 0, setTensorLayoutDimensionNV(of, 9, 64));
    coopMatLoad(y, a, 0, 128, gl_CooperativeMatrixLayoutRowMajor);
    z = coopMatMulAdd(x, y, z);
    for (uint k = 0; k <= gl_WorkGroupID.x; k++)
        coopMatReduceNV(rows, z, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatStore(z - rows, c, 0, 128 * SIZE / 16, gl_CooperativeMatrixLayoutRowMajor);
}
