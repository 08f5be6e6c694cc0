// SPDX-License-Identifier: MIT
// RUN: %heddle compile %s --subgroup-size 32 --emit passes -o %t.spvasm && %filecheck %s < %t.spvasm
// RUN: %spirv-as --target-env vulkan1.3 %t.spvasm -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// Matrices in structures and arrays, passed by reference, are values; element loops are unrolled.
// CHECK-NOT: OpVariable {{.*}} Function
// CHECK-NOT: OpVariable {{.*}} Private
// CHECK-NOT: OpLoopMerge
// CHECK: OpCooperativeMatrixMulAddKHR
// CHECK-COUNT-8: OpCompositeInsert
// CHECK-NOT: OpCompositeInsert
// CHECK: OpFunctionEnd
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
// Matrices in structs, nested arrays, functions' parameters and results, and private variables.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Buf { float x[]; };
#define MAT coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define MATA coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define MATB coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
struct Tile { MAT acc[2]; int count; vec3 scale[2]; };
struct Pair { Tile left, right; };
MAT total;
float bias = 0.5;

MAT scaled(MAT m, float s) { return m * s; }

void add(inout Tile t, MATA a, MATB b, int which) {
    if (which > 1)
        return;
    t.acc[which] = coopMatMulAdd(a, b, t.acc[which]);
    t.count++;
    t.scale[which].y += 1.0;
}

void main() {
    Pair p;
    MATA a;
    MATB b;
    MAT none = MAT(bias);
    p.left.acc[0] = none;
    p.left.acc[1] = MAT(1.0);
    p.left.count = 0;
    p.left.scale = vec3[2](vec3(1), vec3(2));
    p.right = p.left;
    total = MAT(0.0);
    coopMatLoad(a, x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b, x, 256, 16, gl_CooperativeMatrixLayoutColumnMajor);
    for (int i = 0; i < 2; i++) {
        add(p.left, a, b, i);
        add(p.right, a, b, 1 - i);
        total += scaled(p.left.acc[i], p.right.scale[1].y);
    }
    for (int i = 0; i < total.length(); i++)
        total[i] = total[i] > 0.0 ? total[i] : float(p.left.count);
    coopMatStore(total, x, 512, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(p.right.acc[0], x, 768, 16, gl_CooperativeMatrixLayoutRowMajor);
}
