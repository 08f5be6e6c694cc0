// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// An accumulator of T to A, B and an accumulator of U, to A of T, and transposed to B of T and of V.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_bfloat16 : enable

#ifndef T
#define T float
#define U float16_t
#define SCOPE gl_ScopeSubgroup
#endif

layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint N = 8;

layout(set = 0, binding = 0) readonly buffer In { T from[]; };
layout(set = 0, binding = 1) writeonly buffer OutA { U to_a[]; };
layout(set = 0, binding = 2) writeonly buffer OutB { U to_b[]; };
layout(set = 0, binding = 3) writeonly buffer OutC { U to_c[]; };
layout(set = 0, binding = 4) writeonly buffer Same { T same[]; };
layout(set = 0, binding = 5) writeonly buffer Transposed { T transposed[]; };
#ifdef V
layout(set = 0, binding = 6) writeonly buffer Other { V other[]; };
#endif

void main()
{
    coopmat<T, SCOPE, M, N, gl_MatrixUseAccumulator> source;
    coopMatLoad(source, from, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(coopmat<U, SCOPE, M, N, gl_MatrixUseA>(source), to_a, 0, N,
                 gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(coopmat<U, SCOPE, M, N, gl_MatrixUseB>(source), to_b, 0, N,
                 gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(coopmat<U, SCOPE, M, N, gl_MatrixUseAccumulator>(source), to_c, 0, N,
                 gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(coopmat<T, SCOPE, M, N, gl_MatrixUseA>(source), same, 0, N,
                 gl_CooperativeMatrixLayoutRowMajor);
    coopmat<T, SCOPE, N, M, gl_MatrixUseB> turned;
    coopMatTransposeNV(turned, source);
    coopMatStore(turned, transposed, 0, M, gl_CooperativeMatrixLayoutRowMajor);
#ifdef V
    coopmat<V, SCOPE, N, M, gl_MatrixUseB> converted;
    coopMatTransposeNV(converted, source);
    coopMatStore(converted, other, 0, M, gl_CooperativeMatrixLayoutRowMajor);
#endif
}
