// SPDX-License-Identifier: MIT
// A kernel of Qualcomm's extension for subgroups of 64 on targets whose subgroups are smaller: the
// workgroup stands for one. What subgroups do together goes through workgroup memory; where the
// target has matrices, they are dealt to its subgroups, else arrays in blocks.
// RUN: %heddle run %s --subgroup-size 64 --bind 0=randn:f16[64,16]@1 --bind 1=zeros:f32[64] \
// RUN:     --bind 2=randn:f16[16,64]@2 --bind 3=zeros:f32[64,64] --out 1=%t.1.npy --out 3=%t.3.npy
// RUN: for w in 8 32; do \
// RUN:     %heddle compile %s --subgroup-size 64 --for subgroup$w --emit spirv -o %t.spv > %t.table && \
// RUN:     %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN:     %heddle run %t.spv --subgroup-size $w --bind 0=randn:f16[64,16]@1 --bind 1=zeros:f32[64] \
// RUN:     --bind 2=randn:f16[16,64]@2 --bind 3=zeros:f32[64,64] --compare 1=%t.1.npy \
// RUN:     --compare 3=%t.3.npy --tolerance 1e-4 || exit 1; done
// RUN: %filecheck %s --check-prefix=TABLE < %t.table
// RUN: for p in nvidia-hopper-khr khr16; do \
// RUN:     %heddle compile %s --subgroup-size 64 --for $p --emit spirv -o %t.dealt.spv > %t.dealt && \
// RUN:     %spirv-val --target-env vulkan1.3 %t.dealt.spv && \
// RUN:     %heddle run %t.dealt.spv --subgroup-size 32 --bind 0=randn:f16[64,16]@1 \
// RUN:     --bind 1=zeros:f32[64] --bind 2=randn:f16[16,64]@2 --bind 3=zeros:f32[64,64] \
// RUN:     --compare 1=%t.1.npy --compare 3=%t.3.npy --tolerance 1e-4 || exit 1; done
// RUN: %filecheck %s --check-prefix=DEALT < %t.dealt
// RUN: %heddle compile %t.spv | %filecheck %s
// RUN: not %heddle compile %s -D DIVERGENT --subgroup-size 64 --for subgroup32 2>&1 \
// RUN:     | %filecheck %s --check-prefix=BRANCH
// TABLE: OpGroupNonUniformFAdd {{ *}}1 {{ *}}wide_subgroups {{ *}}workgroup memory
// TABLE: OpCompositeConstructCoopMatQCOM {{ *}}1 {{ *}}lower_qcom {{ *}}workgroup memory
// DEALT: OpCooperativeMatrixMulAddKHR {{ *}}1 {{ *}}lower_workgroup {{ *}}a part each subgroup
// DEALT: OpCompositeConstructCoopMatQCOM {{ *}}1 {{ *}}lower_qcom {{ *}}workgroup memory
// CHECK-NOT: OpGroupNonUniform
// BRANCH: wide.comp:[[#@LINE+34]]: error: wide_subgroups cannot be lowered for {{.*}} this branch alike
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_QCOM_cooperative_matrix_conversion : require

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) buffer Sums { float sums[]; };
layout(set = 0, binding = 2) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 3) buffer C { float c[]; };

void main()
{
    uint lane = gl_SubgroupInvocationID;
    float16_t row[16];
    float sum = 0;
    for (uint k = 0; k < 16; k++) {
        row[k] = a[lane * 16 + k];
        sum += float(row[k]);
    }
    coopmat<float16_t, gl_ScopeSubgroup, 64, 16, gl_MatrixUseA> x;
    coopmat<float16_t, gl_ScopeSubgroup, 16, 64, gl_MatrixUseB> y;
    coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator> z =
        coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator>(0.0);
    vectorToCoopmatQCOM(row, x);
    coopMatLoad(y, b, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
    z = coopMatMulAdd(x, y, z);
#ifdef DIVERGENT
    if (sum > 0)
        sum = subgroupAdd(sum);
#endif
    sums[lane] = subgroupAdd(sum) + subgroupShuffleXor(sum, 33) + float(gl_SubgroupSize);
    coopMatStore(z, c, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
}
