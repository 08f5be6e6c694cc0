// SPDX-License-Identifier: MIT
//
// Arithmetic on matrices in one loop, where each result is used by the next only; and where it is
// used twice, or something comes in between that writes a matrix or memory, one by one.
//
// RUN: %heddle compile %s --isa x86-64-v4 -D WHAT=0 --emit llvm-plain | %filecheck %s
// RUN: for W in 0 1 2 3 4 5; do for T in float float16_t int32_t; do \
// RUN:   %heddle run %s -D WHAT=$W -D T=$T --bind 0=rand:s8[4096]@1 --bind 1=zeros:f32[1024] \
// RUN:     --push list:u32:3 --groups 1 --out 1=%t.npy && \
// RUN:   %heddle run %s -D WHAT=$W -D T=$T --bind 0=rand:s8[4096]@1 --bind 1=zeros:f32[1024] \
// RUN:     --push list:u32:3 --groups 1 --device reference --compare 1=%t.npy --tolerance 0 \
// RUN:     || exit 1; done; done

// CHECK: fmul <16 x float>
// CHECK-NOT: store
// CHECK: fadd <16 x float>
// CHECK-NEXT: fneg <16 x float>
// CHECK-NEXT: store <16 x float>

#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#ifndef T
#define T float
#endif
#define MATRIX coopmat<T, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
layout(local_size_x = 32) in;
layout(binding = 0) buffer From { int8_t from[]; };
layout(binding = 1) buffer To { T to[]; };
layout(push_constant) uniform Push { uint scalar; };

MATRIX loaded(uint at)
{
    coopmat<int8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> x;
    coopMatLoad(x, from, at * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
    return MATRIX(x);
}

void main()
{
    MATRIX x = loaded(0), y = loaded(1), r;
    T k = T(scalar);
#if WHAT == 0
    r = -(x * T(2) + y);
#elif WHAT == 1
    r = x * k + MATRIX(k) - y * T(gl_WorkGroupID.x + 5);
    r = r * r + x;
#elif WHAT == 2
    MATRIX twice = x * T(3);
    r = twice + y - twice;
    r = x + (r - MATRIX(T(1)));
#elif WHAT == 3
    r = x * T(2);
    coopMatStore(x, to, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    x = x + y;
    r = r - x;
#elif WHAT == 4
    /* each lane scales what it holds */
    r = (x + y) * T(gl_SubgroupInvocationID & 3u);
    r = -(r * T(2));
#else
    r = x;
    for (uint i = 0; i < scalar; i++)
        r = (r - y) * T(2) + x;
    if (scalar > 2)
        r = -(r + y);
#endif
    coopMatStore(r, to, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
}
