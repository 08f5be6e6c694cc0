// SPDX-License-Identifier: MIT
// Branches that differ between invocations as far as anyone can tell, but that all of them take alike:
// blocks that nobody comes to do not pass matrices on, even where nothing else is in them.
// RUN: B="--bind 0=randn:f32[64,64]@1 --bind 1=zeros:f32[64,64]"; \
// RUN: for w in RETURN BREAK CASE; do for n in 8 32; do for limit in 100.0 -100.0; do \
// RUN:   D="-D $w -D LIMIT=$limit -D LANES=$n --subgroup-size $n"; \
// RUN:   %heddle run %s $D $B --device reference --out 1=%t.npy && \
// RUN:   %heddle run %s $D $B --compare 1=%t.npy --tolerance 0 && \
// RUN:   %heddle run %s $D $B --no-optimisation --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN: done; done; done
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = LANES) in;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) buffer Out { float z[]; };
#define Matrix coopmat<float, gl_ScopeSubgroup, 32, 16, gl_MatrixUseAccumulator>

#if defined(RETURN)
Matrix chosen(Matrix a, float lane)
{
    if (lane > LIMIT)
        return a;
    return a * 2.0;
}
#elif defined(BREAK)
Matrix chosen(Matrix a, float lane)
{
    Matrix result = a * 2.0;
    for (uint k = 0; k < 3; k++) {
        if (lane > LIMIT) {
            result = a;
            break;
        }
        result = result * 0.5 + a;
    }
    return result;
}
#else
Matrix chosen(Matrix a, float lane)
{
    Matrix result = a * 3.0;
    switch (int(lane > LIMIT)) {
    case 0: result = a; break;
    case 1: result = a * 2.0; break;
    }
    return result;
}
#endif

void main()
{
    Matrix a, sum;
    coopMatLoad(a, x, 16, 64, gl_CooperativeMatrixLayoutRowMajor);
    sum = a;
    for (uint k = 0; k < uint(abs(x[0]) * 0.0 + 2.5); k++)
        sum = chosen(a, x[gl_LocalInvocationIndex]) + sum;
    coopMatStore(sum, z, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
}
