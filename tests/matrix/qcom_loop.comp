// SPDX-License-Identifier: MIT
// Conversions of f32 cost nothing: in a loop that loads lanes' arrays, makes A and B of them and
// multiplies, each element's vector is loaded and stored as it is; nothing is shuffled, gathered,
// or copied from tile to tile.
// RUN: %heddle compile %s --subgroup-size 32 --emit llvm -o - | %filecheck %s
// CHECK: define void @heddle_kernel
// CHECK-NOT: {{shufflevector|gather|scatter|tile_copy}}
// CHECK: store <32 x float>
// CHECK-NOT: {{shufflevector|gather|scatter|tile_copy}}
// CHECK: call void @{{.*}}gemm
// CHECK-NOT: {{shufflevector|gather|scatter|tile_copy}}
// CHECK: load <32 x float>
// CHECK-NOT: {{shufflevector|gather|scatter|tile_copy}}
// CHECK: ret void
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_QCOM_cooperative_matrix_conversion : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; }; // K x 32
layout(set = 0, binding = 1) readonly buffer B { float b[]; }; // K x 32
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { uint depth; };

void main()
{
    uint lane = gl_SubgroupInvocationID;
    coopmat<float, gl_ScopeSubgroup, 32, 32, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, 32, 32, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < depth; k += 8) {
        coopmat<float, gl_ScopeSubgroup, 32, 8, gl_MatrixUseA> ma;
        coopmat<float, gl_ScopeSubgroup, 8, 32, gl_MatrixUseB> mb;
        float x[8], y[8];
        for (uint j = 0; j < 8; j++) {
            x[j] = a[(k + j) * 32 + lane];
            y[j] = b[(k + j) * 32 + lane];
        }
        vectorToCoopmatQCOM(x, ma);
        vectorToCoopmatQCOM(y, mb);
        sum = coopMatMulAdd(ma, mb, sum);
    }
    float row[32];
    coopmatToVectorQCOM(sum, row);
    for (uint j = 0; j < 32; j++)
        c[j * 32 + lane] = row[j];
}
