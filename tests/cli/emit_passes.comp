// SPDX-License-Identifier: MIT
// --emit passes shows the module that code is generated from, so the length of a matrix is a number
// also where nobody says how large subgroups are: the device chooses.
// RUN: %heddle compile %s --emit passes | %filecheck %s --check-prefix=CHOSEN
// RUN: %heddle compile %s --emit passes --subgroup-size 16 | %filecheck %s --check-prefix=GIVEN
// RUN: %heddle compile %s --emit passes -o %t.spvasm && %heddle compile %t.spvasm --emit passes | %filecheck %s --check-prefix=CHOSEN
// CHOSEN: OpExecutionMode %main LocalSize 32 1 1
// CHOSEN-NOT: OpCooperativeMatrixLengthKHR
// CHOSEN: OpStore %{{.*}} %uint_8
// CHOSEN-NOT: OpCooperativeMatrixLengthKHR
// CHOSEN: OpFunctionEnd
// GIVEN-NOT: OpCooperativeMatrixLengthKHR
// GIVEN: OpStore %{{.*}} %uint_16
// GIVEN: OpFunctionEnd
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 32) in;
layout(binding = 0) buffer Out { uint o[]; };

void main()
{
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
    o[gl_LocalInvocationIndex] = m.length();
}
