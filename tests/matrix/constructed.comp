// SPDX-License-Identifier: MIT
//
// A matrix that is neither loaded nor multiplied, only made of a number and changed element by
// element: how many of them an invocation has tells how large its subgroup is, so it stays 32 where
// nobody asks for another size.
//
// RUN: B="--push list:s32:40 --groups 1 --bind 0=rand:u32[128]@1 --bind 1=zeros:u32[128]"; \
// RUN: %heddle run %s $B --device reference --out 1=%t.npy > /dev/null || exit 1; \
// RUN: for I in %levels; do \
// RUN:   %heddle run %s $B --isa $I --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; done

#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer B { uint b[]; };
layout(push_constant) uniform Sizes { int n; };

#define MATRIX coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

void main()
{
    uint t = gl_GlobalInvocationID.x, sum = 0;
    MATRIX m = MATRIX(1);
    for (int i = 0; i < n; i++)
        m[i % m.length()] += uint(i * n);
    for (int i = 0; i < n; i++)
        sum = sum * 3 + m[i % m.length()] * a[t];
    b[t] = sum;
}
