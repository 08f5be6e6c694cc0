// SPDX-License-Identifier: MIT
// RUN: %heddle compile %s --emit passes -o %t.spvasm && %filecheck %s < %t.spvasm
// Matrices that nothing looks at are not loaded, unless the load calls what may have an effect.
// CHECK-NOT: OpCooperativeMatrixLoad
// CHECK: OpCooperativeMatrixLoadTensorNV {{.*}} DecodeFunc
// CHECK-NOT: OpCooperativeMatrixLoad
// CHECK: OpFunctionEnd
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Buf { float x[]; };
layout(buffer_reference) buffer Ref { float x; };
float decode(const in Ref r, const in uint block[2], const in uint at[2]) { x[block[0]] = 1; return r.x; }

void main() {
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
    tensorLayoutNV<2> l = setTensorLayoutDimensionNV(createTensorLayoutNV(2), 16, 16);
    coopMatLoad(a, x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoadTensorNV(a, x, 0, l);
    coopMatLoadTensorNV(a, x, 0, l, decode);
}
