// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %spirv-dis %t.spv | %filecheck %s
// CHECK-COUNT-2: OpCooperativeMatrixConvertUseEXT
// RUN: for with in "--device cpu" "--device reference" "--device cpu --subgroup-size 8"; do \
// RUN: %heddle run %s $with --bind 0=list:s8:-1,2,-128,127,5,-6,7,-8 --bind 1=zeros:u8[8] \
// RUN: --bind 2=zeros:s8[8] --compare 1=list:u8:255,2,128,127,5,250,7,248 \
// RUN: --compare 2=list:s8:-1,2,-128,127,5,-6,7,-8 || exit; done
// glslang changes the use and the sign of integers in one instruction.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { int8_t x[]; };
layout(set = 0, binding = 1) writeonly buffer Out1 { uint8_t a[]; };
layout(set = 0, binding = 2) writeonly buffer Out2 { int8_t b[]; };

void main()
{
    const int row = gl_CooperativeMatrixLayoutRowMajor;
    coopmat<int8_t, gl_ScopeSubgroup, 2, 4, gl_MatrixUseAccumulator> m;
    coopMatLoad(m, x, 0, 4, row);
    coopmat<uint8_t, gl_ScopeSubgroup, 2, 4, gl_MatrixUseA> p =
        coopmat<uint8_t, gl_ScopeSubgroup, 2, 4, gl_MatrixUseA>(m);
    coopmat<uint8_t, gl_ScopeSubgroup, 2, 4, gl_MatrixUseAccumulator> q =
        coopmat<uint8_t, gl_ScopeSubgroup, 2, 4, gl_MatrixUseAccumulator>(m);
    coopMatStore(p, a, 0, 4, row);
    coopMatStore(coopmat<int8_t, gl_ScopeSubgroup, 2, 4, gl_MatrixUseB>(q), b, 0, 4, row);
}
