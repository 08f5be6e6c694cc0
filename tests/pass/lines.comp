// SPDX-License-Identifier: MIT
// Positions survive the passes, and are written out again: what was inlined, loads that run ahead,
// and the multiply-add that stays behind; the module is as valid as one without.
// RUN: %heddle compile %s --pipeline | %filecheck %s
// RUN: %heddle compile %s --pipeline --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %s --emit passes | %filecheck %s --check-prefix=PASSES
// RUN: %heddle compile %s --emit asm | %filecheck %s --check-prefix=READ
// CHECK: %[[FILE:.*]] = OpString "{{.*}}lines.comp"
// CHECK: OpLine %[[FILE]] [[#@LINE+45]] 0
// CHECK-NEXT: {{.*}}OpAccessChain
// CHECK-NEXT: {{.*}}OpCooperativeMatrixLoadKHR
// CHECK: OpLoopMerge
// CHECK: OpLine %[[FILE]] [[#@LINE+42]] 0
// CHECK-NEXT: {{.*}}OpIMul
// CHECK-NEXT: {{.*}}OpAccessChain
// CHECK-NEXT: {{.*}}OpCooperativeMatrixLoadKHR
// CHECK-NEXT: {{.*}}OpLine %[[FILE]] [[#@LINE+26]] 0
// CHECK-NEXT: {{.*}}OpFMul
// CHECK-NEXT: {{.*}}OpLine %[[FILE]] [[#@LINE+37]] 0
// CHECK-NEXT: {{.*}}OpCooperativeMatrixMulAddKHR
// PASSES: OpLine %{{.*}} [[#@LINE+22]] 0
// PASSES-NEXT: {{.*}}OpFMul
// PASSES-NEXT: {{.*}}OpLine %{{.*}} [[#@LINE+33]] 0
// PASSES-NEXT: {{.*}}OpCooperativeMatrixMulAddKHR
// READ: OpLine %{{.*}} [[#@LINE+18]] 0
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_QCOM_multiple_wait_queues : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { uint K; };

#define SUB gl_ScopeSubgroup

coopmat<float, SUB, 16, 8, gl_MatrixUseA> scaled(coopmat<float, SUB, 16, 8, gl_MatrixUseA> x)
{
    return x * x;
}

void main()
{
    coopmat<float, SUB, 16, 8, gl_MatrixUseA> ma;
    coopmat<float, SUB, 8, 16, gl_MatrixUseB> mb;
    coopmat<float, SUB, 16, 16, gl_MatrixUseAccumulator> mc =
        coopmat<float, SUB, 16, 16, gl_MatrixUseAccumulator>(0.0);
    [[multiple_wait_queuesQCOM(2)]]
    for (uint k = 0; k < K; k += 8) {
        coopMatLoad(ma, a, k, K, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(mb, b, k * 16, 16, gl_CooperativeMatrixLayoutRowMajor);
        mc = coopMatMulAdd(scaled(ma), mb, mc);
    }
    coopMatStore(mc, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
