// SPDX-License-Identifier: MIT
// The k.comp that the documents' commands name: C = A * B, 512 x 512, f16 with sums of f32.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_QCOM_multiple_wait_queues : require

const uint N = 512, T = 16, G = 4;
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InputA { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { float16_t b[]; };
layout(set = 0, binding = 2) writeonly buffer Output { float c[]; };

void main()
{
    coopmat<float, gl_ScopeSubgroup, T, T, gl_MatrixUseAccumulator> sums[G][G];
    uint row = gl_WorkGroupID.y * (G * T), column = gl_WorkGroupID.x * (G * T);
    [[unroll]] for (uint i = 0; i < G * G; i++)
        sums[i / G][i % G] = coopmat<float, gl_ScopeSubgroup, T, T, gl_MatrixUseAccumulator>(0.0);
    [[multiple_wait_queuesQCOM(2)]]
    for (uint k = 0; k < N; k += T) {
        coopmat<float16_t, gl_ScopeSubgroup, T, T, gl_MatrixUseA> x[G];
        coopmat<float16_t, gl_ScopeSubgroup, T, T, gl_MatrixUseB> y[G];
        [[unroll]] for (uint i = 0; i < G; i++) {
            coopMatLoad(x[i], a, (row + i * T) * N + k, N, gl_CooperativeMatrixLayoutRowMajor);
            coopMatLoad(y[i], b, k * N + column + i * T, N, gl_CooperativeMatrixLayoutRowMajor);
        }
        [[unroll]] for (uint i = 0; i < G; i++)
            [[unroll]] for (uint j = 0; j < G; j++)
                sums[i][j] = coopMatMulAdd(x[i], y[j], sums[i][j]);
    }
    [[unroll]] for (uint i = 0; i < G; i++)
        [[unroll]] for (uint j = 0; j < G; j++)
            coopMatStore(sums[i][j], c, (row + i * T) * N + column + j * T, N,
                         gl_CooperativeMatrixLayoutRowMajor);
}
