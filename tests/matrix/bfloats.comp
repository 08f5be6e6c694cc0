// SPDX-License-Identifier: MIT
// Lines of 9, 17 and 33 bfloats, which LLVM 22 does not load and shuffle by itself.
// RUN: for n in 9 17 33; do for with in "--device cpu" "--device reference" \
// RUN: "--device cpu --no-optimisation"; do %heddle run %s $with --spec 0=$n \
// RUN: --bind 0=full:1:bf16[264] --bind 1=zeros:bf16[264] --compare 1=full:3:bf16[264] || exit; \
// RUN: done; done
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_bfloat16 : require
layout(local_size_x = 32) in;
layout(constant_id = 0) const uint N = 9;
layout(set = 0, binding = 0) readonly buffer In { bfloat16_t x[]; };
layout(set = 0, binding = 1) buffer Out { bfloat16_t o[]; };

void main()
{
    const int row = gl_CooperativeMatrixLayoutRowMajor;
    coopmat<bfloat16_t, gl_ScopeSubgroup, 8, 3, gl_MatrixUseA> a;
    coopmat<bfloat16_t, gl_ScopeSubgroup, 3, N, gl_MatrixUseB> b;
    coopmat<bfloat16_t, gl_ScopeSubgroup, 8, N, gl_MatrixUseAccumulator> c;
    coopMatLoad(a, x, 0, 3, row);
    coopMatLoad(b, x, 0, N, row);
    coopMatLoad(c, o, 0, N, row);
    coopMatStore(coopMatMulAdd(a, b, c), o, 0, N, row);
    for (uint k = 8 * N + gl_LocalInvocationIndex; k < 264; k += 32)
        o[k] = bfloat16_t(3.0);
}
