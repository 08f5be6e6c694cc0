// SPDX-License-Identifier: MIT
// The attribute without a number asks for as many wait queues as there are: 0 in the module, 2
// iterations ahead here and in a software pipeline. A module as glslang writes it, which declares
// neither capability nor extension, is a warning and runs; heddle's own declares both.
// RUN: %heddle compile %s | %filecheck %s
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %t.spv --emit llvm | %filecheck %s --check-prefix=LLVM
// RUN: %heddle compile %s --pipeline --stats 2>&1 | %filecheck %s --check-prefix=PIPELINE
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.raw.spv
// RUN: %heddle check %t.raw.spv 2>&1 | %filecheck %s --check-prefix=RAW
// RUN: %heddle run %s --bind 0=rand:f32[16,80]@1 --bind 1=rand:f32[80,16]@2 \
// RUN:   --bind 2=zeros:f32[16,16] --push list:u32:80 --out 2=%t.npy
// RUN: %heddle compile %s --pipeline -o %t.ahead.spv && %spirv-val --target-env vulkan1.3 \
// RUN:   %t.ahead.spv
// RUN: for k in %t.spv %t.raw.spv %t.ahead.spv; do %heddle run $k --bind 0=rand:f32[16,80]@1 \
// RUN:   --bind 1=rand:f32[80,16]@2 --bind 2=zeros:f32[16,16] --push list:u32:80 \
// RUN:   --compare 2=%t.npy --tolerance 0 || exit 1; done
// RUN: %heddle run %t.spv --device reference --bind 0=rand:f32[16,80]@1 \
// RUN:   --bind 1=rand:f32[80,16]@2 --bind 2=zeros:f32[16,16] --push list:u32:80 \
// RUN:   --compare 2=%t.npy --tolerance 1e-5
// CHECK: OpCapability MultipleWaitQueuesQCOM
// CHECK: OpExtension "SPV_QCOM_multiple_wait_queues"
// CHECK: OpLoopMerge {{.*}} MultipleWaitQueuesQCOM 0
// LLVM: select i1 {{.*}}@gemm_f32_f32_f32_16x16x16_1x1x4{{[, ].*}}@gemm_f32_f32_f32_16x16x16_1x1x4_ahead
// PIPELINE: {{.*wait_queues_bare.comp:[0-9]+ *2 *2 *2$}}
// RAW: warning: the loop asks for wait queues, but MultipleWaitQueuesQCOM is not declared
// RAW-NOT: error
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_QCOM_multiple_wait_queues : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Sizes { uint k_total; };
void main()
{
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> mc =
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    [[multiple_wait_queuesQCOM]]
    for (uint k = 0; k < k_total; k += 16) {
        coopMatLoad(ma, a, k, k_total, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(mb, b, k * 16, 16, gl_CooperativeMatrixLayoutRowMajor);
        mc = coopMatMulAdd(ma, mb, mc);
    }
    coopMatStore(mc, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
