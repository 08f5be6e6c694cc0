// SPDX-License-Identifier: MIT
// What a target without matrices gets: the table says what became of what, positions stay, and the
// module is valid and declares nothing of the family.
// RUN: %heddle compile %s --for subgroup32 --emit spirv -o %t.spv | %filecheck %s --check-prefix=TABLE
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle check %t.spv
// RUN: %heddle compile %t.spv | %filecheck %s
// RUN: not %heddle compile %s --for subgroup32 --subgroup-size 16 2>&1 | %filecheck %s --check-prefix=SIZE
// RUN: not %heddle compile %s --for nothing 2>&1 | %filecheck %s --check-prefix=NONE
// RUN: echo '{ "name": "x", "sorce": "y" }' > %t.json
// RUN: not %heddle compile %s --for %t.json 2>&1 | %filecheck %s --check-prefix=MEMBER
// RUN: echo '{ "name": [[[1, 2], { }], ' > %t.json
// RUN: not %heddle compile %s --for %t.json 2>&1 | %filecheck %s --check-prefix=JSON
// TABLE: OpCooperativeMatrixLoadKHR {{ *}}3 {{ *}}lower_khr {{ *}}loads of elements
// TABLE: OpCooperativeMatrixMulAddKHR {{ *}}1 {{ *}}lower_khr {{ *}}workgroup memory
// CHECK-NOT: {{CooperativeMatrix|MakePointer}}
// CHECK: OpLine %{{.*}} [[#@LINE+28]] 0
// CHECK: OpControlBarrier
// CHECK: OpLoopMerge
// SIZE: its subgroups have 16 invocations, the target's at least 32
// NONE: brings no profile of that name
// MEMBER: error: there is no member 'sorce' here
// JSON: error: {{.*}}RFC 8259
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };

#define MATRIX(type, use) coopmat<type, gl_ScopeSubgroup, 16, 16, use>

void main()
{
    MATRIX(float16_t, gl_MatrixUseA) x;
    MATRIX(float16_t, gl_MatrixUseB) y;
    MATRIX(float, gl_MatrixUseAccumulator) z;
    coopMatLoad(x, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(y, b, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
    coopMatLoad(z, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    z = coopMatMulAdd(x, y, z);
    coopMatStore(z * 2.0, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
