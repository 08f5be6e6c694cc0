// SPDX-License-Identifier: MIT
//
// A workgroup's matrices, of which invocations change elements of their own here and there: what is
// done to whole matrices and to elements keeps its order, in loops, in branches, at phis, before and
// behind blocks that have nothing to do with matrices. A loop over whole matrices has no barriers
// (src/cpu/matrix/leader.c).
//
// RUN: %heddle compile %s -D WHERE=4 --subgroup-size 16 --emit llvm-plain -o %t.ll && \
// RUN:   tac %t.ll | sed -n '/1.021/,$p' | tac | sed -n '/1.021/,$p' | %filecheck %s
// RUN: G="--groups 1 --bind 0=rand:s32[1024]@1 --bind 1=zeros:f32[1024] --push list:u32:"; \
// RUN: for W in 0:0 0:4 1:1 1:4 2:3 3:4 4:3 5:4 6:1 6:8 6:65 6:80 6:520 6:3719 6:32767 6:21930 6:42799 \
// RUN:     6:2396745 6:12714617 6:6699221; do \
// RUN:   B="-D WHERE=${W%:*} $G${W#*:},1"; \
// RUN:   %heddle run %s $B --device reference --out 1=%t.npy > /dev/null || exit 1; \
// RUN:   for S in 8 16 32; do \
// RUN:     %heddle run %s $B --subgroup-size $S --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; \
// RUN: done; done; \
// RUN: for I in %levels; do B="-D WHERE=6 ${G}342391,1"; \
// RUN:   %heddle run %s $B --device reference --out 1=%t.npy > /dev/null && \
// RUN:   %heddle run %s $B --isa $I --subgroup-size 8 --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; done

// From the first to the last use of a number in the loop.
// CHECK-NOT: call void @heddle_barrier
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { int from[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float to[]; };
layout(push_constant) uniform Push { uint rounds, one; };

#define Matrix coopmat<float, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseAccumulator>

float moved(const in uint row, const in uint column, const in float x)
{
    return mod(x * 3.0 + float(row) - float(2 * column), 1021.0);
}
float largest(const in float a, const in float b) { return max(a, b); }

/* Each invocation's elements, some of them seldom. */
void change(inout Matrix m, uint round)
{
    for (int i = 0; i < m.length(); i++)
        if ((uint(i) + gl_LocalInvocationIndex + round) % 3 != 0)
            m[i] = mod(m[i] * 5.0 + float(gl_LocalInvocationIndex), 509.0);
}

/* A program of octal digits, the last one first. */
void follow(inout Matrix a, inout Matrix b, uint program)
{
    for (; program > 0; program /= 8) {
        uint round = program / 8;
        switch (program % 8) {
        case 0: coopMatPerElementNV(a, a, moved); break;
        case 1: change(a, round); break;
        case 2: b = a + b; break;
        case 3: change(b, round); // fall through
        case 4: coopMatReduceNV(a, b, gl_CooperativeMatrixReduceRowNV, largest); break;
        case 5: {
            Matrix c = a;
            a = b;
            b = c;
            break;
        }
        case 6:
            if (round % 2 == one)
                change(a, round);
            else
                b = Matrix(float(round % 16)) - a;
            break;
        default: break;
        }
        if (round % 5 == 0)
            to[gl_LocalInvocationIndex] = float(round);
    }
}

void main()
{
    Matrix a, b;
    for (int i = 0; i < a.length(); i++)
        a[i] = float(from[gl_LocalInvocationIndex * 16 + i] & 15);
    b = Matrix(1.0);
#if WHERE == 6
    follow(a, b, rounds);
#else
    for (uint k = 0; k < rounds; k++) {
        Matrix high;
        coopMatReduceNV(high, a, gl_CooperativeMatrixReduceRowNV, largest);
        b = b + high;
        coopMatPerElementNV(a, a, moved);
#if WHERE == 0
        change(a, k);
#elif WHERE == 1
        if (k % 2 == one)
            change(a, k);
        else
            b = b - a;
#elif WHERE == 2
        change(b, k);
        a = b;
        change(a, k + 1);
#elif WHERE == 3
        for (uint j = 0; j < k; j++) {
            coopMatPerElementNV(b, b, moved);
            if (j + one == k)
                change(a, j);
        }
#elif WHERE == 5
        Matrix c = k % 2 == one ? a : b;
        change(c, k);
        b = a + c;
#endif
        coopMatPerElementNV(b, b, moved);
    }
#endif
#if WHERE == 4
    change(b, rounds);
#endif
    a = a + b;
    coopMatStore(a, to, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
