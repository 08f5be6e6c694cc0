// SPDX-License-Identifier: MIT
// What conversions move, as it is counted: nothing where arrays of f32 become A and B and an
// accumulator becomes arrays, whether or not the lanes are more than the matrix' rows; what is
// packed into words (four matrices of 32 x 16 f16); an accumulator of 32 x 32 f32 that is stored by
// rows too, from one order into the other.
// RUN: run="%heddle run %s --bind x=randn:f32[32,32] --bind y=zeros:f32[32,32]"; \
// RUN: for d in ROWS=32 ROWS=16; do $run -D $d --stats | %filecheck %s || exit 1; done; \
// RUN: $run -D ROWS=32 -D PACKED=1 --stats | %filecheck %s --check-prefix=PACKED && \
// RUN: $run -D ROWS=32 -D STORED=1 --bind z=zeros:f32[32,32] --stats \
// RUN:   | %filecheck %s --check-prefix=STORED
// RUN: %heddle check %s -D ROWS=16 2>&1 | %filecheck %s --check-prefix=LANES
// RUN: %heddle check %s -D ROWS=32 2>&1 | %filecheck %s --check-prefix=ALL --allow-empty
// LANES: qcom_stats.comp:[[#@LINE+51]]:{{.*}}note: the matrix has no rows for lanes 16 to 31: they get zeros
// LANES-NOT: note
// ALL-NOT: note
// CHECK: multiply-adds {{ *}}4
// CHECK: conversions {{ *}}9
// CHECK: bytes moved {{ *}}0
// PACKED: multiply-adds {{ *}}2
// PACKED: conversions {{ *}}5
// PACKED: bytes moved {{ *}}4096
// STORED: conversions {{ *}}9
// STORED: bytes moved {{ *}}4096
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_QCOM_cooperative_matrix_conversion : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float y[]; };
#ifdef STORED
layout(set = 0, binding = 2) writeonly buffer Whole { float z[]; };
#endif
#ifdef PACKED
#define T float16_t
#define E uint
const uint DEPTH = 16;
#else
#define T float
#define E float
const uint DEPTH = 8;
#endif

void main()
{
    uint lane = gl_SubgroupInvocationID;
    coopmat<float, gl_ScopeSubgroup, ROWS, 32, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, ROWS, 32, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < 32; k += DEPTH) {
        E of[8];
        for (uint j = 0; j < 8; j++)
            of[j] = E(x[(k + j) * 32 + lane]);
        coopmat<T, gl_ScopeSubgroup, ROWS, DEPTH, gl_MatrixUseA> a;
        coopmat<T, gl_ScopeSubgroup, DEPTH, 32, gl_MatrixUseB> b;
        vectorToCoopmatQCOM(of, a);
        vectorToCoopmatQCOM(of, b);
        sum = coopMatMulAdd(a, b, sum);
    }
    float row[32];
    coopmatToVectorQCOM(sum, row);
    for (uint j = 0; j < 32; j++)
        y[j * 32 + lane] = row[j];
#ifdef STORED
    coopMatStore(sum, z, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
#endif
}
