// SPDX-License-Identifier: MIT
// The sum of 3,072 quarters in bf16, which holds no quarter beside 64 any more: they are combined
// by parts on every target, which is exact here.
// RUN: for target in "lavapipe 8" "tests/lower/none.json 32" "tests/lower/words.json 32"; do set -- $target; \
// RUN:     %heddle compile %s --for $1 --subgroup-size 32 --emit spirv -o %t.spv > %t.txt && \
// RUN:     %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN:     %heddle run %t.spv --subgroup-size $2 --groups 1 --bind 0=full:0.25:f32[64,48] \
// RUN:         --bind 1=zeros:f32[16,16] --compare 1=full:768:f32[16,16] || exit 1; \
// RUN: done
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_bfloat16 : require

layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer C { float c[]; };

bfloat16_t add(const in bfloat16_t x, const in bfloat16_t y)
{
    return bfloat16_t(float(x) + float(y));
}

void main()
{
    coopmat<float, gl_ScopeSubgroup, 64, 48, gl_MatrixUseAccumulator> all;
    coopmat<bfloat16_t, gl_ScopeSubgroup, 64, 48, gl_MatrixUseAccumulator> x;
    coopmat<bfloat16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum;
    coopMatLoad(all, a, 0, 48, gl_CooperativeMatrixLayoutRowMajor);
    x = coopmat<bfloat16_t, gl_ScopeSubgroup, 64, 48, gl_MatrixUseAccumulator>(all);
    coopMatReduceNV(sum, x, gl_CooperativeMatrixReduceRowAndColumnNV, add);
    coopMatStore(coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(sum), c, 0, 16,
                 gl_CooperativeMatrixLayoutRowMajor);
}
