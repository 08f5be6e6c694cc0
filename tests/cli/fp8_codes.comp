// SPDX-License-Identifier: MIT
// Each code of fp8 in a product: row i of A has code i in column i % 64 and zeros elsewhere, all of B
// is one, so that row i of C is the number. Panels of them are converted by tables where there are
// some (x86-64-v4 has none, znver4 has), and what comes of it is what the interpreter makes of it.
// RUN: for t in floate4m3_t:0x38 floate5m2_t:0x3c; do \
// RUN:   %heddle run %s -D MAKE -D ONE=${t#*:} --groups 256 --bind 0=zeros:u8[256,64] --bind 1=zeros:u8[64,64] --out 0=%t.a.npy --out 1=%t.b.npy || exit 1; \
// RUN:   all="%s -D T=${t%:*} --groups 1,4 --bind 0=%t.a.npy --bind 1=%t.b.npy"; \
// RUN:   %heddle run $all --bind 2=zeros:f32[256,64] --device reference --out 2=%t.c.npy || exit 1; \
// RUN:   for isa in %levels; do \
// RUN:     %heddle run $all --bind 2=full:7:f32[256,64] --isa $isa --compare 2=%t.c.npy --tolerance 0 || exit 1; \
// RUN:   done; \
// RUN: done 2>&1 | %filecheck %s
// CHECK-COUNT-2: 0 of 16384 differ
// RUN: %heddle compile %s -D T=floate4m3_t --isa znver4 --emit native | %filecheck %s --check-prefix TABLE
// TABLE: vperm{{[it]}}2b
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_float_e4m3 : enable
#extension GL_EXT_float_e5m2 : enable
#ifdef MAKE
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer InputA { uint8_t a[]; };
layout(set = 0, binding = 1) writeonly buffer InputB { uint8_t b[]; };

void main()
{
    uint row = gl_WorkGroupID.x, column = gl_LocalInvocationID.x;
    a[row * 64 + column] = uint8_t(row % 64 == column ? row : 0);
    if (row < 64)
        b[row * 64 + column] = uint8_t(ONE);
}
#else
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InputA { T a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { T b[]; };
layout(set = 0, binding = 2) writeonly buffer Output { float c[]; };

void main()
{
    uint row = gl_WorkGroupID.y * 64;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum[4][4];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            sum[i][j] = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < 64; k += 16) {
        coopmat<T, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x[4];
        coopmat<T, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y[4];
        for (uint i = 0; i < 4; i++)
            coopMatLoad(x[i], a, (row + 16 * i) * 64 + k, 64, gl_CooperativeMatrixLayoutRowMajor);
        for (uint j = 0; j < 4; j++)
            coopMatLoad(y[j], b, k * 64 + 16 * j, 64, gl_CooperativeMatrixLayoutRowMajor);
        for (uint i = 0; i < 4; i++)
            for (uint j = 0; j < 4; j++)
                sum[i][j] = coopMatMulAdd(x[i], y[j], sum[i][j]);
    }
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            coopMatStore(sum[i][j], c, (row + 16 * i) * 64 + 16 * j, 64,
                         gl_CooperativeMatrixLayoutRowMajor);
}
#endif
