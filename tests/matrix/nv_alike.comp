// SPDX-License-Identifier: MIT
//
// Rows that are alike, behind the end of a tensor or because its stride is 0, and what is computed from
// them row by row; between things that make them unlike, or ask for all of them: functions that know
// their row, reductions of columns, elements that invocations change, transposes, stores
// (src/cpu/matrix/alike.c). Each workgroup carries out a program of its own, of eight octal digits;
// what comes out is whole numbers, and the same wherever they are computed.
//
// RUN: C="%heddle compile %s -D ROWS=32 -D SCOPE=gl_ScopeWorkgroup -D LOCAL=64 -D CLAMP=Constant --subgroup-size 32 --emit llvm-plain"; \
// RUN: $C -D PLAIN | %filecheck %s && $C -D PLAIN -D UNLIKE | %filecheck %s --check-prefix=UNLIKE
// RUN: for K in Constant:32 ClampToEdge:48 Repeat:8 Undefined:32; do for S in Subgroup:32:32 Workgroup:16:32 Workgroup:64:64; do \
// RUN:   R=${K#*:}; W=${S#*:}; W=${W%:*}; D="-D ROWS=$R -D SCOPE=gl_Scope${S%%:*} -D LOCAL=${S##*:} -D CLAMP=${K%:*}"; \
// RUN:   B="--groups 96 --bind 0=rand:u32[96]@$R --bind 1=iota:f32[8192] --bind 2=iota:f16[128] --bind 3=zeros:f32[$((96 * R * 32))]"; \
// RUN:   %heddle run %s $D $B --device reference --out 3=%t.npy > /dev/null || exit 1; \
// RUN:   for I in host "host --robust" x86-64-v2; do \
// RUN:     %heddle run %s $D $B --isa $I --subgroup-size $W --compare 3=%t.npy --tolerance 0 > /dev/null || exit 1; \
// RUN: done; done; done
// RUN: for I in %levels; do D="-D ROWS=32 -D SCOPE=gl_ScopeWorkgroup -D LOCAL=128 -D CLAMP=Constant"; \
// RUN:   B="--groups 96 --bind 0=rand:u32[96]@7 --bind 1=iota:f32[8192] --bind 2=iota:f16[128] --bind 3=zeros:f32[98304]"; \
// RUN:   %heddle run %s $D $B --device reference --out 3=%t.npy > /dev/null && \
// RUN:   %heddle run %s $D $B --isa $I --subgroup-size 32 --compare 3=%t.npy --tolerance 0 > /dev/null || exit 1; done

// CHECK: call void @gemm_{{.*}}_some(
// UNLIKE-NOT: _some(
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = LOCAL) in;
layout(set = 0, binding = 0) readonly buffer Programs { uint programs[]; };
layout(set = 0, binding = 1) readonly buffer In { float from[]; };
layout(set = 0, binding = 2) readonly buffer Times { float16_t by[]; };
layout(set = 0, binding = 3) writeonly buffer Out { float to[]; };

#define CLAMP_MODE_(K) gl_CooperativeMatrixClampMode##K##NV
#define CLAMP_MODE(K) CLAMP_MODE_(K)
#define IS_DEFINED (CLAMP_MODE(CLAMP) != gl_CooperativeMatrixClampModeUndefinedNV)
/* The farthest wrap on the way. */
#define OFFSET(N) (!IS_DEFINED ? N % 11 : N % 4 == 0 ? 0x7fffffff - N % 50 : N % 11 - 5)
#define Matrix coopmat<float, SCOPE, ROWS, 32, gl_MatrixUseAccumulator>
#define Factor coopmat<float16_t, SCOPE, ROWS, 32, gl_MatrixUseA>
#define Square coopmat<float16_t, SCOPE, 32, 32, gl_MatrixUseB>

float wrapped(const in uint row, const in uint column, const in float x)
{
    return mod(x * 3.0 + float(column), 1021.0);
}
float small(const in uint row, const in uint column, const in float x) { return mod(x, 16.0); }
float moved(const in uint row, const in uint column, const in float x)
{
    return mod(x * 3.0 + float(row) - float(2 * column), 1021.0);
}
float sum(const in uint row, const in uint column, const in float x, const in float y)
{
    return mod(x + y, 1021.0);
}
float largest(const in float a, const in float b) { return max(a, b); }
/* These two do not end for any number: what is not there must not come to them. */
float reduced(const in uint row, const in uint column, const in float x)
{
    float rest = x;
    while (rest >= 1021.0)
        rest -= 1021.0;
    return rest;
}
float sum_of(const in float a, const in float b) { return reduced(0, 0, a + b); }

/* Each invocation's elements, some of them seldom. */
void change(inout Matrix m, uint round)
{
    for (int i = 0; i < m.length(); i++)
        if ((uint(i) + gl_LocalInvocationIndex + round) % 3 != 0)
            m[i] = mod(m[i] * 5.0 + float(gl_LocalInvocationIndex), 509.0);
}

/* So many rows of a tensor, from one on; the last ones begin anew where the span is less. */
Matrix loaded(uint rows, uint first, uint stride, uint span)
{
    Matrix m;
    tensorLayoutNV<2, CLAMP_MODE(CLAMP)> t = createTensorLayoutNV(2, CLAMP_MODE(CLAMP));
    t = setTensorLayoutDimensionNV(t, IS_DEFINED ? rows : 100, 32);
    t = setTensorLayoutStrideNV(t, stride, 1);
    t = setTensorLayoutClampValueNV(t, floatBitsToUint(77.0));
    t = sliceTensorLayoutNV(t, first, span, 0, 32);
    coopMatLoadTensorNV(m, from, 256, t);
    coopMatPerElementNV(m, m, wrapped);
    return m;
}

Square times()
{
    Square m;
    coopMatLoad(m, by, 0, 1, gl_CooperativeMatrixLayoutRowMajor);
    return m;
}

Matrix multiplied(Matrix a, Matrix b)
{
    coopMatPerElementNV(a, a, small);
    return coopMatMulAdd(Factor(a), times(), b);
}

/* What is added to may have rows alike, what is multiplied has none. */
Matrix multiplied_plainly(Matrix b)
{
    Factor a;
    coopMatLoad(a, by, 5, 1, gl_CooperativeMatrixLayoutRowMajor);
    return coopMatMulAdd(a, times(), b);
}

void follow(inout Matrix a, inout Matrix b, uint program)
{
    for (uint k = 0; k < 8; k++, program /= 16) {
        uint more = program / 16;
        switch (program % 16) {
        case 0: a = loaded(1 + more % 40, more % 3, 32, more % 4 == 0 ? 8 : ROWS); break;
        case 1: b = loaded(1 + more % 40, more % 5, 0, ROWS); break;
        case 2: a = loaded(1 + more % 7, OFFSET(more), 32, ROWS); break;
        case 3: b = a + b; // fall through
        case 4: coopMatPerElementNV(b, b, wrapped); break;
        case 5: coopMatReduceNV(a, b, gl_CooperativeMatrixReduceRowNV, largest); break;
        case 6: coopMatReduceNV(b, a, gl_CooperativeMatrixReduceColumnNV, largest); break;
        case 7:
            if (more % 3 == 0)
                b = multiplied(a, b);
            else if (more % 3 == 1)
                b = multiplied_plainly(b);
            else
                b = coopMatMulAdd(Factor(1.0), times(), b);
            coopMatPerElementNV(b, b, wrapped);
            break;
        case 8:
            if (more % 2 == 0) {
                b = coopMatMulAdd(Factor(1.0), times(), a);
                coopMatPerElementNV(b, b, reduced);
            } else {
                coopMatReduceNV(b, b, gl_CooperativeMatrixReduceRowNV, sum_of);
            }
            break;
        case 9: coopMatPerElementNV(a, a, sum, b); break;
        case 10:
            for (uint j = 0; j <= gl_LocalInvocationIndex / 32; j++) // as often as a subgroup likes
                change(b, more + j);
            break;
        case 11: coopMatPerElementNV(a, a, moved); break;
        case 12: b = Matrix(float(more % 16)); break;
        case 13:
            if (more % 2 == 0) {
                Matrix c = a;
                a = b;
                b = c;
            } else {
                a = b * 2.0 - a;
                coopMatPerElementNV(a, a, wrapped);
            }
            break;
        case 14: a = -a; coopMatPerElementNV(a, a, wrapped); break;
        default: b = a; break;
        }
    }
}

void main()
{
    Matrix a = Matrix(1.0), b = Matrix(3.0);
#ifdef PLAIN
    for (uint k = 0; k < programs[0]; k++) {
#ifdef UNLIKE
        coopMatLoad(a, to, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
#else
        a = loaded(programs[1], k, 32, ROWS);
#endif
        b = multiplied(a, b);
    }
#else
    uint program = (programs[gl_WorkGroupID.x] + gl_WorkGroupID.x * 256 + 1) * 0x9E3779B1u;
    follow(a, b, program ^ program >> 15);
#endif
    a = a + b;
    coopMatStore(a, to, gl_WorkGroupID.x * ROWS * 32, 32, gl_CooperativeMatrixLayoutRowMajor);
}
