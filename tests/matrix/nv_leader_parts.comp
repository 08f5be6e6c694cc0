// SPDX-License-Identifier: MIT
//
// Invocations change elements of a workgroup's matrix before, between and after what has two ways at
// run time, as at the ends of buffers and of tensors; or while some subgroups work on matrices of their
// own, where others do not come; or behind branches on what is the same in all. Nothing but what all
// subgroups run may have them wait for each other.
//
// RUN: G="--groups 1 --bind 0=iota:f32[1024] --bind 1=zeros:f32[1280] --push list:u32:"; \
// RUN: for C in 0:0 0:500 1:0 1:500 1:100000 2:0 2:7 3:0 3:7 4:0 5:0 6:0 7:0 7:100000; do for R in "" --robust; do \
// RUN:   case $C$R in 1:500|1:100000|0:500) continue; esac; \
// RUN:   B="-D CASE=${C%:*} $R $G${C#*:},16"; \
// RUN:   for S in 8 16 32; do \
// RUN:     %heddle run %s $B --subgroup-size $S --device reference --out 1=%t.npy > /dev/null && \
// RUN:     %heddle run %s $B --subgroup-size $S --compare 1=%t.npy --tolerance 1e-6 > /dev/null || exit 1; \
// RUN: done; done; done
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { float from[]; };
layout(set = 0, binding = 1) buffer Out { float to[]; };
layout(push_constant) uniform Push { uint at, n; };

#define ROWS gl_CooperativeMatrixLayoutRowMajor
#define Matrix(use) coopmat<float, gl_ScopeWorkgroup, 32, 32, gl_MatrixUse##use>

float largest(const in float a, const in float b) { return max(a, b); }
float moved(const in uint row, const in uint column, const in float x)
{
    return mod(x * 3.0 + float(row) - float(2 * column), 1021.0);
}

void change(inout Matrix(Accumulator) m)
{
    for (uint i = 0; i < n; i++)
        m[i] = floor(m[i] * 0.5) + float(gl_LocalInvocationIndex);
}

void main()
{
    Matrix(Accumulator) m;
    coopMatLoad(m, from, 0, 32, ROWS);
#if CASE == 0
    change(m);
    coopMatStore(m, to, at, 32, ROWS);
#elif CASE == 1
    for (uint k = 0; k < 2; k++) {
        change(m);
        coopMatStore(m, to, 0, 32, ROWS);
        coopMatLoad(m, from, at, 32, ROWS);
    }
    coopMatStore(m, to, 0, 32, ROWS);
#elif CASE == 2 || CASE == 3
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> l =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    l = setTensorLayoutDimensionNV(l, 32, 32);
    change(m);
#if CASE == 2
    coopMatStoreTensorNV(m, to, 0, sliceTensorLayoutNV(l, at, 32, 0, 32));
#else
    Matrix(Accumulator) other;
    coopMatLoadTensorNV(other, from, 0, sliceTensorLayoutNV(l, at, 32, 0, 32));
    coopMatStore(m + other, to, 0, 32, ROWS);
#endif
#elif CASE == 4
    Matrix(Accumulator) sum = Matrix(Accumulator)(1.0);
    for (uint k = 0; k < 2; k++) {
        change(sum);
        Matrix(A) a;
        Matrix(B) b;
        coopMatLoad(a, from, at, 32, ROWS);
        coopMatLoad(b, from, 0, 32, ROWS);
        sum = coopMatMulAdd(a, b, sum);
    }
    coopMatStore(sum, to, 0, 32, ROWS);
#elif CASE == 7
    for (uint k = 0; k < 3; k++) {
        Matrix(Accumulator) high;
        coopMatReduceNV(high, m, gl_CooperativeMatrixReduceRowAndColumnNV, largest);
        if (high[0] > float(at)) { // the same for all, which only they know
            coopMatPerElementNV(m, m, moved);
            m = m + high;
            if (k == 1)
                change(m);
        }
        coopMatPerElementNV(m, m, moved);
    }
    coopMatStore(m, to, 0, 32, ROWS);
#else
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> own;
    coopMatLoad(own, from, 0, 16, ROWS);
#if CASE == 5
    if (gl_SubgroupID == 1) {
        own = own * 2.0 + own;
        coopMatStore(own, to, 1024, 16, ROWS);
    }
#else
    for (uint k = 0; k <= gl_SubgroupID; k++)
        own = own + coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(1.0);
    if (gl_SubgroupID == 0)
        coopMatStore(own, to, 1024, 16, ROWS);
#endif
    change(m);
    coopMatStore(m, to, 0, 32, ROWS);
#endif
}
