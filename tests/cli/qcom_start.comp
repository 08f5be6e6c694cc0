// SPDX-License-Identifier: MIT
// A part of an array begins at a multiple of its length: said of constants by check, of the rest by
// run --check; also where functions take the part or are told where it begins.
// RUN: start="--bind result=zeros:f32[256] --check --push"; \
// RUN: for how in HERE MADE_BELOW TAKEN_BELOW RETURNED OUTSIDE_STRUCT MEMBER; do \
// RUN:   not %heddle check %s -D $how=1 -D START=3 2>&1 | %filecheck %s || exit 1; \
// RUN:   not %heddle run %s -D $how=1 -D START=first $start list:s32:3 2>&1 | %filecheck %s || exit 1; \
// RUN:   %heddle check %s -D $how=1 -D START=24 || exit 1; \
// RUN:   %heddle run %s -D $how=1 -D START=first $start list:s32:24 || exit 1; \
// RUN: done
// CHECK: qcom_start.comp:{{[0-9]+}}:{{[0-9:]*}} error: the start index 3 is not a multiple of the part's length, 8
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_QCOM_cooperative_matrix_conversion : require
layout(local_size_x = 32) in;
layout(binding = 0) writeonly buffer Result { float result[256]; };
layout(push_constant) uniform P { int first; };


#define MATRIX coopmat<float, gl_ScopeSubgroup, 32, 8, gl_MatrixUseA>

MATRIX made(float array[8])
{
    MATRIX a;
    vectorToCoopmatQCOM(array, a);
    return a;
}

void take(float from[32], int at, out float part[8]) { extractSubArrayQCOM(from, at, part); }

float[8] taken(float from[32], int at)
{
    float part[8];
    extractSubArrayQCOM(from, at, part);
    return part;
}

struct Pair { float one[8], other[8]; };

void main()
{
    float uvecAcc[32], uvecA[8], unused[8];
    Pair pair;
    MATRIX a;
    for (int i = 0; i < 32; i++)
        uvecAcc[i] = float(i);
#ifdef HERE
    extractSubArrayQCOM(uvecAcc, START, uvecA);
    vectorToCoopmatQCOM(uvecA, a);
#elif defined MADE_BELOW
    extractSubArrayQCOM(uvecAcc, START, uvecA);
    extractSubArrayQCOM(uvecAcc, 16, unused);
    a = made(uvecA);
#elif defined TAKEN_BELOW
    take(uvecAcc, START, uvecA);
    take(uvecAcc, 16, unused);
    a = made(uvecA);
#elif defined RETURNED
    unused = taken(uvecAcc, 16);
    uvecA = taken(uvecAcc, START);
    vectorToCoopmatQCOM(uvecA, a);
#elif defined OUTSIDE_STRUCT
    extractSubArrayQCOM(uvecAcc, 16, pair.one);
    extractSubArrayQCOM(uvecAcc, START, uvecA);
    pair.other = uvecA;
    vectorToCoopmatQCOM(pair.other, a);
#elif defined MEMBER
    extractSubArrayQCOM(uvecAcc, 16, pair.one);
    take(uvecAcc, START, pair.other);
    a = made(pair.other);
#endif
    coopMatStore(a, result, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
}
