// SPDX-License-Identifier: MIT
// C = A * B, where A is block-sparse: of each row of blocks of 64 x 16 the same number is there, one
// behind the other, and `column` says for each which 16 rows of B it is multiplied by. So where the
// next step's B lies is data. AB: the type of A and B. WQ: so many wait queues.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require
#ifdef WQ
#extension GL_QCOM_multiple_wait_queues : require
#endif

#ifndef AB
#define AB float
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InputA { AB a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { AB b[]; };
layout(set = 0, binding = 2) writeonly buffer Output { float c[]; };
layout(set = 0, binding = 3) readonly buffer Columns { uint column[]; };
layout(push_constant) uniform Sizes { uint blocks, lda, ldb, ldc; };

void main()
{
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> acc[4][4];
    uint row = gl_WorkGroupID.y, col = gl_WorkGroupID.x * 64;
    [[unroll]] for (uint i = 0; i < 4; i++)
        [[unroll]] for (uint j = 0; j < 4; j++)
            acc[i][j] = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
#ifdef WQ
    [[multiple_wait_queuesQCOM(WQ)]]
#endif
    for (uint t = row * blocks; t < (row + 1) * blocks; t++) {
        coopmat<AB, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma[4];
        coopmat<AB, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb[4];
        uint k = column[t] * 16;
        [[unroll]] for (uint i = 0; i < 4; i++)
            coopMatLoad(ma[i], a, t * 1024 + i * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0; j < 4; j++)
            coopMatLoad(mb[j], b, k * ldb + col + j * 16, ldb, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint i = 0; i < 4; i++)
            [[unroll]] for (uint j = 0; j < 4; j++)
                acc[i][j] = coopMatMulAdd(ma[i], mb[j], acc[i][j]);
    }
    [[unroll]] for (uint i = 0; i < 4; i++)
        [[unroll]] for (uint j = 0; j < 4; j++)
            coopMatStore(acc[i][j], c, (row * 64 + i * 16) * ldc + col + j * 16, ldc,
                         gl_CooperativeMatrixLayoutRowMajor);
}
