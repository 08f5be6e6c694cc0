// SPDX-License-Identifier: MIT
// A part of an array that becomes a matrix begins at a multiple of a K: said of constants by check,
// of the rest by run --check.
// RUN: not %heddle check %s -D START=3 2>&1 | %filecheck %s
// RUN: not %heddle run %s -D START=first --bind result=zeros:f32[256] --push list:s32:3 --check \
// RUN:   2>&1 | %filecheck %s
// RUN: %heddle check %s -D START=24
// RUN: %heddle run %s -D START=first --bind result=zeros:f32[256] --push list:s32:24 --check
// CHECK: error: the start index 3 is not a multiple of 8, 16 or 32
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_QCOM_cooperative_matrix_conversion : require
layout(local_size_x = 32) in;
layout(binding = 0) writeonly buffer Result { float result[256]; };
layout(push_constant) uniform P { int first; };

void main()
{
    float uvecAcc[32], uvecA[8];
    for (int i = 0; i < 32; i++)
        uvecAcc[i] = float(i);
    extractSubArrayQCOM(uvecAcc, START, uvecA);
    coopmat<float, gl_ScopeSubgroup, 32, 8, gl_MatrixUseA> a;
    vectorToCoopmatQCOM(uvecA, a);
    coopMatStore(a, result, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
}
