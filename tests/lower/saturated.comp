// SPDX-License-Identifier: MIT
// A conversion to fp8 that saturates, tile by tile (e5m2's tiles are as large as f16's) and element
// by element (e4m3's are not): that it saturates is said of each part. 60000 is above the largest
// number of both.
// RUN: for t in floate4m3_t:126 floate5m2_t:123; do \
// RUN:   %heddle compile %s -D T=${t%:*} --for %S/fp8.json | %filecheck %s || exit 1; \
// RUN:   %heddle run %s -D T=${t%:*} --for %S/fp8.json --bind 0=full:60000:f16[64,64] --bind 1=zeros:u8[64,64] --compare 1=full:${t#*:}:u8[64,64] || exit 1; \
// RUN: done
// CHECK: OpDecorate [[PART:%[0-9a-z_]+]] SaturatedToLargestFloat8NormalConversionEXT
// CHECK: [[PART]] = OpFConvert
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float16_t x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { uint8_t y[]; };

void main()
{
    coopmat<float16_t, gl_ScopeSubgroup, 64, 64, gl_MatrixUseA> m;
    coopmat<T, gl_ScopeSubgroup, 64, 64, gl_MatrixUseA> s;
    coopMatLoad(m, x, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
    saturatedConvertEXT(s, m);
    coopMatStore(s, y, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
}
