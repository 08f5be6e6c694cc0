// SPDX-License-Identifier: MIT
// C (W x 16) += A (W x K) * B (K x 16) over four steps of K = 8, all of it from lanes' arrays: A by
// rows, a part of a long array taken at a start that the loop decides; C passes through bit casts.
// RUN: %heddle compile %s --for lavapipe --emit spirv -o %t.spv | %filecheck %s
// RUN: %heddle compile %s --for xe2 --emit spirv -o %t.spv 2>&1 | %filecheck %s --check-prefix=SIZE
// RUN: sed 's/local_size_x = 32, //' %s > %t.comp
// RUN: not %heddle compile %t.comp --for lavapipe 2>&1 | %filecheck %s --check-prefix=SMALL
// CHECK: OpCompositeConstructCoopMatQCOM {{ *}}3 {{ *}}lower_qcom
// SIZE: warning: {{.*}} subgroups of 32, which a pipeline must require
// SMALL: the arrays of 32 invocations, of which the workgroup has 1
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_QCOM_cooperative_matrix_conversion : require

layout(local_size_x = 32, local_size_x_id = 10) in;
layout(constant_id = 0) const uint W = 32;
const uint N = 8;

layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
layout(push_constant) uniform P { int steps, shift; };

void main()
{
    uint lane = gl_SubgroupInvocationID;
    float row[32], part[8], column[8], sum[N];
    uint bits[N];
    for (int k = 0; k < 32; k++)
        row[k] = a[lane * 32 + k];
    for (uint k = 0; k < N; k++)
        sum[k] = c[lane * N + k];
    coopmat<float, gl_ScopeSubgroup, W, 8, gl_MatrixUseA> ma;
    coopmat<float, gl_ScopeSubgroup, 8, N, gl_MatrixUseB> mb;
    coopmat<float, gl_ScopeSubgroup, W, N, gl_MatrixUseAccumulator> mc;
    vectorToCoopmatQCOM(sum, mc);
    for (int step = 0; step < steps; step++) {
        extractSubArrayQCOM(row, step * 8, part);
        for (int k = 0; k < 8; k++)
            column[k] = lane < N ? b[(step * 8 + k) * N + lane] : 1e30;
        vectorToCoopmatQCOM(part, ma);
        vectorToCoopmatQCOM(column, mb);
        mc = coopMatMulAdd(ma, mb, mc);
    }
    coopmatToVectorQCOM(mc, sum);
    bitcastQCOM(sum, bits);
    for (uint k = 0; k < N; k++)
        c[lane * N + k] = uintBitsToFloat(bits[k]);
    extractSubArrayQCOM(row, int(lane % 4) * 8 * shift, part); // a lane's own start
    for (uint k = 0; k < 8; k++)
        c[W * N + lane * 8 + k] = part[k];
}
