// SPDX-License-Identifier: MIT
// A hint for wait queues and loads through tensor layouts: they prefetch what a later slice reads,
// at edges too, and become software pipelines, whose matrices clamp as before.
// RUN: %heddle compile %s -D WQ=3 --emit llvm-plain | %filecheck %s --check-prefix=LLVM
// RUN: %heddle compile %s -D WQ=3 --pipeline --emit spirv --stats -o %t.spv | \
// RUN:   %filecheck %s --check-prefix=STATS
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %t.spv | %filecheck %s
// RUN: %heddle run %s --bind 0=randn:f32[16,77]@1 --bind 1=randn:f32[77,16]@2 \
// RUN:   --bind 2=zeros:f32[16,16] --push list:u32:77 --out 2=%t.npy
// RUN: for n in 1 2 8; do %heddle run %s -D WQ=$n --bind 0=randn:f32[16,77]@1 \
// RUN:   --bind 1=randn:f32[77,16]@2 --bind 2=zeros:f32[16,16] --push list:u32:77 \
// RUN:   --compare 2=%t.npy --tolerance 0 || exit 1; done
// RUN: %heddle run %t.spv --bind 0=randn:f32[16,77]@1 --bind 1=randn:f32[77,16]@2 \
// RUN:   --bind 2=zeros:f32[16,16] --push list:u32:77 --compare 2=%t.npy --tolerance 0
// RUN: %heddle run %t.spv --device reference --check --bind 0=randn:f32[16,77]@1 \
// RUN:   --bind 1=randn:f32[77,16]@2 --bind 2=zeros:f32[16,16] --push list:u32:77 \
// RUN:   --compare 2=%t.npy --tolerance 1e-5
// LLVM: call void @llvm.prefetch
// STATS: {{nv_wait_queues.comp:[0-9]+ *3 *2 *2$}}
// CHECK-COUNT-8: OpCooperativeMatrixLoadTensorNV
// CHECK-NOT: OpCooperativeMatrixLoadTensorNV
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_NV_cooperative_matrix2 : require
#ifdef WQ
#extension GL_QCOM_multiple_wait_queues : require
#endif
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
    tensorLayoutNV<2, 1> ta = createTensorLayoutNV(2, 1), tb = createTensorLayoutNV(2, 1);
    ta = setTensorLayoutDimensionNV(ta, 16, k_total);
    tb = setTensorLayoutDimensionNV(tb, k_total, 16);
#ifdef WQ
    [[multiple_wait_queuesQCOM(WQ)]]
#endif
    for (uint k = 0; k < k_total; k += 16) {
        coopMatLoadTensorNV(ma, a, 0, sliceTensorLayoutNV(ta, 0, 16, k, 16));
        coopMatLoadTensorNV(mb, b, 0, sliceTensorLayoutNV(tb, k, 16, 0, 16));
        mc = coopMatMulAdd(ma, mb, mc);
    }
    coopMatStore(mc, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
