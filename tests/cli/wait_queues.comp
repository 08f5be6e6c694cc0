// SPDX-License-Identifier: MIT
// The loop attribute GL_QCOM_multiple_wait_queues reaches the module with what it needs declared, is
// kept by strip-mining, and prefetches; more than 8 queues are refused; no number changes a bit.
// RUN: %heddle compile %s -D WQ=2 --emit asm | %filecheck %s
// RUN: %heddle compile %s -D WQ=2 --emit spirv -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %s -D WQ=2 --emit passes | %filecheck %s --check-prefix=PASSES
// RUN: %heddle compile %s -D WQ=2 --emit llvm | %filecheck %s --check-prefix=LLVM
// RUN: status 1 %heddle check %s -D WQ=9 2>&1 | %filecheck %s --check-prefix=MANY
// RUN: %heddle run %s --bind 0=rand:f32[16,80]@1 --bind 1=rand:f32[80,16]@2 \
// RUN:   --bind 2=zeros:f32[16,16] --push list:u32:80 --out 2=%t.npy
// RUN: for n in 1 2 3 8; do %heddle run %s -D WQ=$n --bind 0=rand:f32[16,80]@1 \
// RUN:   --bind 1=rand:f32[80,16]@2 --bind 2=zeros:f32[16,16] --push list:u32:80 \
// RUN:   --compare 2=%t.npy --tolerance 0 || exit 1; done
// RUN: %heddle run %s -D WQ=2 --device reference --bind 0=rand:f32[16,80]@1 \
// RUN:   --bind 1=rand:f32[80,16]@2 --bind 2=zeros:f32[16,16] --push list:u32:80 \
// RUN:   --compare 2=%t.npy --tolerance 1e-5
// CHECK: OpCapability MultipleWaitQueuesQCOM
// CHECK: OpExtension "SPV_QCOM_multiple_wait_queues"
// CHECK: OpLoopMerge {{.*}} MultipleWaitQueuesQCOM 2
// PASSES-COUNT-2: OpLoopMerge {{.*}} MultipleWaitQueuesQCOM 2
// LLVM: select i1 {{.*}}@gemm_f32_f32_f32_16x16x16_1x1x4{{[, ].*}}@gemm_f32_f32_f32_16x16x16_1x1x4_ahead
// LLVM: define {{.*}} @gemm_f32_f32_f32_16x16x16_1x1x4_ahead
// LLVM: call void @llvm.prefetch{{.*}}, i32 2, i32 1)
// MANY: wait_queues.comp:{{[0-9]+}}: error: the loop asks for 9 wait queues; there are 8
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
#ifdef WQ
    [[multiple_wait_queuesQCOM(WQ)]]
#endif
    for (uint k = 0; k < k_total; k += 16) {
        coopMatLoad(ma, a, k, k_total, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(mb, b, k * 16, 16, gl_CooperativeMatrixLayoutRowMajor);
        mc = coopMatMulAdd(ma, mb, mc);
    }
    coopMatStore(mc, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
