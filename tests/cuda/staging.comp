// SPDX-License-Identifier: MIT
// What conversions stage in workgroup memory is accessed by whole vectors, without tests for robust
// access: nothing that lowering puts there is outside. Subgroups of 64 wait for none but their warp.
//
// RUN: %heddle compile %s --device cuda --isa sm_90a --subgroup-size 64 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// CHECK-LABEL: heddle_kernel(
// CHECK-NOT: {{shared.b16|shared.b32|barrier.sync}}
// CHECK: st.shared.v4.b32
// CHECK-NOT: {{shared.b16|shared.b32|barrier.sync}}
// CHECK: bar.warp.sync
// CHECK-NOT: {{shared.b16|shared.b32|barrier.sync}}
// CHECK: ld.shared.v2.b32
// CHECK-NOT: {{shared.b16|shared.b32|barrier.sync}}
// CHECK: ret;
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_QCOM_cooperative_matrix_conversion : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Rows { float16_t x[][16]; };
layout(set = 0, binding = 1) readonly buffer Right { float16_t y[]; };
layout(set = 0, binding = 2) writeonly buffer Out { float z[]; };

void main()
{
    float16_t row[16] = x[gl_SubgroupInvocationID];
    coopmat<float16_t, gl_ScopeSubgroup, 64, 16, gl_MatrixUseA> a;
    coopmat<float16_t, gl_ScopeSubgroup, 16, 64, gl_MatrixUseB> b;
    coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator> c =
        coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator>(0.0);
    vectorToCoopmatQCOM(row, a);
    coopMatLoad(b, y, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
    c = coopMatMulAdd(a, b, c);
    coopMatStore(c, z, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
}
