// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %spirv-dis %t.spv | %filecheck %s
// CHECK-COUNT-4: SaturatedToLargestFloat8NormalConversionEXT
// RUN: for with in "--device cpu" "--device reference" "--device cpu --subgroup-size 8" \
// RUN: "--device cpu -D SCOPE=gl_ScopeWorkgroup" "--device reference -D SCOPE=gl_ScopeWorkgroup"; \
// RUN: do %heddle run %s $with --groups 1 --bind 0=list:f32:1,500,-1000,448,464,1e30,-1e30,inf \
// RUN: --bind 1=zeros:u8[8] --bind 2=zeros:u8[8] --bind 3=zeros:u8[8] --bind 4=zeros:u8[8] \
// RUN: --bind 5=zeros:u8[8] \
// RUN: --compare 1=list:u8:56,126,254,126,126,126,254,126 \
// RUN: --compare 2=list:u8:60,96,228,95,95,123,251,123 \
// RUN: --compare 3=list:u8:56,126,254,126,126,126,254,126 \
// RUN: --compare 4=list:u8:60,96,228,95,95,123,251,123 \
// RUN: --compare 5=list:u8:56,127,255,126,126,127,255,127 || exit; done
// Saturating conversions of matrices to 8-bit floats, with and without another use; and a plain one,
// which makes NaNs of what is too large. 464 lies between 448, the largest e4m3, and what would be
// the next one.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require
#extension GL_NV_cooperative_matrix2 : require
#ifndef SCOPE
#define SCOPE gl_ScopeSubgroup
#endif
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Out1 { uint8_t a[]; };
layout(set = 0, binding = 2) writeonly buffer Out2 { uint8_t b[]; };
layout(set = 0, binding = 3) writeonly buffer Out3 { uint8_t c[]; };
layout(set = 0, binding = 4) writeonly buffer Out4 { uint8_t d[]; };
layout(set = 0, binding = 5) writeonly buffer Out5 { uint8_t e[]; };

void main()
{
    const int row = gl_CooperativeMatrixLayoutRowMajor;
    coopmat<float, SCOPE, 2, 4, gl_MatrixUseAccumulator> m;
    coopMatLoad(m, x, 0, 4, row);
    coopmat<floate4m3_t, SCOPE, 2, 4, gl_MatrixUseAccumulator> p;
    coopmat<floate5m2_t, SCOPE, 2, 4, gl_MatrixUseAccumulator> q;
    coopmat<floate4m3_t, SCOPE, 2, 4, gl_MatrixUseA> r;
    coopmat<floate5m2_t, SCOPE, 2, 4, gl_MatrixUseB> s;
    saturatedConvertEXT(p, m);
    saturatedConvertEXT(q, m);
    saturatedConvertEXT(r, m);
    saturatedConvertEXT(s, m);
    coopMatStore(p, a, 0, 4, row);
    coopMatStore(q, b, 0, 4, row);
    coopMatStore(r, c, 0, 4, row);
    coopMatStore(s, d, 0, 4, row);
    p = coopmat<floate4m3_t, SCOPE, 2, 4, gl_MatrixUseAccumulator>(m);
    coopMatStore(p, e, 0, 4, row);
}
