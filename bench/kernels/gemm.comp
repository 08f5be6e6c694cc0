// SPDX-License-Identifier: MIT
// C = A * B, row-major, written plainly: a workgroup is one subgroup and holds a grid of GM x GN
// accumulators of TM x TN; every step of TK loads its tiles straight from global memory. COLUMN_B: B
// is column-major. B_TYPE: its elements, if not A's. WQ: so many wait queues. SCOPE, INVOCATIONS: of the matrices, in a workgroup.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e4m3 : enable
#extension GL_EXT_control_flow_attributes : require
#ifdef WQ
#extension GL_QCOM_multiple_wait_queues : require
#endif

#ifndef AB
#define AB float
#define CD float
#endif
#ifndef B_TYPE
#define B_TYPE AB
#endif
#ifndef TM
#define TM 16
#define TN 16
#define TK 16
#define GM 4
#define GN 4
#endif

#ifndef SCOPE
#define SCOPE gl_ScopeSubgroup
#endif
#ifndef INVOCATIONS
#define INVOCATIONS 32
#endif

layout(local_size_x = INVOCATIONS) in;
layout(set = 0, binding = 0) readonly buffer InputA { AB a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { B_TYPE b[]; };
layout(set = 0, binding = 2) writeonly buffer Output { CD c[]; };
layout(push_constant) uniform Sizes { uint k_total, lda, ldb, ldc; };

void main()
{
    coopmat<CD, SCOPE, TM, TN, gl_MatrixUseAccumulator> acc[GM][GN];
    uint row = gl_WorkGroupID.y * (GM * TM), col = gl_WorkGroupID.x * (GN * TN);
    [[unroll]] for (uint i = 0; i < GM; i++)
        [[unroll]] for (uint j = 0; j < GN; j++)
            acc[i][j] = coopmat<CD, SCOPE, TM, TN, gl_MatrixUseAccumulator>(CD(0));
#ifdef WQ
    [[multiple_wait_queuesQCOM(WQ)]]
#endif
    for (uint k = 0; k < k_total; k += TK) {
        coopmat<AB, SCOPE, TM, TK, gl_MatrixUseA> ma[GM];
        coopmat<B_TYPE, SCOPE, TK, TN, gl_MatrixUseB> mb[GN];
        [[unroll]] for (uint i = 0; i < GM; i++)
            coopMatLoad(ma[i], a, (row + i * TM) * lda + k, lda, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0; j < GN; j++)
#ifdef COLUMN_B
            coopMatLoad(mb[j], b, (col + j * TN) * ldb + k, ldb,
                        gl_CooperativeMatrixLayoutColumnMajor);
#else
            coopMatLoad(mb[j], b, k * ldb + col + j * TN, ldb, gl_CooperativeMatrixLayoutRowMajor);
#endif
        [[unroll]] for (uint i = 0; i < GM; i++)
            [[unroll]] for (uint j = 0; j < GN; j++)
                acc[i][j] = coopMatMulAdd(ma[i], mb[j], acc[i][j]);
    }
    [[unroll]] for (uint i = 0; i < GM; i++)
        [[unroll]] for (uint j = 0; j < GN; j++)
            coopMatStore(acc[i][j], c, (row + i * TM) * ldc + col + j * TN, ldc,
                         gl_CooperativeMatrixLayoutRowMajor);
}
