// SPDX-License-Identifier: MIT
//
// Tiles that a workgroup copies to workgroup memory: matrices are loaded from where they were copied
// from, where that can be said by a place and a stride.
//
// Row by row, transposed on the way, by vectors, by the components of LocalInvocationID, by signed
// numbers, in loops that are not unrolled, also one in another:
// RUN: for K in PLAIN TURNED VECTORS SQUARE SIGNED BY_COLUMN LOOPED STRIDED NESTED; do \
// RUN:   %heddle compile %s -D $K --emit passes | %filecheck %s --check-prefix=GONE || exit 1; done
// RUN: %heddle compile %s -D TURNED --emit passes | %filecheck %s --check-prefix=TURNED
// RUN: %heddle compile %s -D PLAIN --emit passes | %filecheck %s --check-prefix=PLAIN
//
// Not where memory is coherent, edges are tested, a part of the tile is not copied, the buffer is
// written to, the tile is read by invocations too, the copies are not awaited, values are changed,
// or the tile is one of two:
// RUN: for K in COHERENT GUARDED PARTLY WRITTEN READ_TOO EARLY CHANGED TWO; do \
// RUN:   %heddle compile %s -D $K --emit passes | %filecheck %s --check-prefix=STAYS || exit 1; done
//
// RUN: for K in PLAIN TURNED VECTORS SQUARE SIGNED BY_COLUMN LOOPED STRIDED NESTED GUARDED PARTLY \
// RUN:   WRITTEN READ_TOO CHANGED TWO; do \
// RUN:   run="%heddle run %s -D $K --bind 0=randn:f16[8192]@1 --bind 1=randn:f16[8192]@2"; \
// RUN:   run="$run --bind 2=zeros:f32[8192] --push list:u32:64,64,128 --groups 2,2"; \
// RUN:   $run --device reference --out 2=%t.npy || exit 1; for I in host x86-64-v3; do \
// RUN:     $run --isa $I --compare 2=%t.npy --tolerance 1e-3 || exit 1; done; done

// GONE-NOT: {{.*}} = OpVariable {{.*}} Workgroup
// GONE: OpCooperativeMatrixLoadKHR
// GONE-NOT: OpControlBarrier

// Both tiles lie by rows of the buffers; A's is the other way round in workgroup memory.
// TURNED: OpCooperativeMatrixLoadKHR {{%.*}} {{%.*}} %int_0
// PLAIN: OpCooperativeMatrixLoadKHR {{%.*}} {{%.*}} %int_0

// STAYS: OpVariable {{.*}} Workgroup
// STAYS: OpControlBarrier

#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require

#define T 32 // rows, columns and step of what a workgroup computes
#define PITCH (T + 8)

#ifdef SQUARE
layout(local_size_x = 16, local_size_y = 8) in;
#define ME (gl_LocalInvocationID.y * 16 + gl_LocalInvocationID.x)
#else
layout(local_size_x = 128) in;
#define ME gl_LocalInvocationIndex
#endif
#ifdef SIGNED
#define NUMBER int
#else
#define NUMBER uint
#endif

#if defined STRIDED || defined NESTED
#define OWN 0
#else
#define OWN NUMBER(ME)
#endif

#ifdef VECTORS
#define UNIT f16vec4
#define EACH 4
#else
#define UNIT float16_t
#define EACH 1
#endif
#ifdef COHERENT
layout(binding = 0) coherent readonly buffer A { UNIT a[]; };
#elif defined WRITTEN
layout(binding = 0) buffer A { UNIT a[]; };
#else
layout(binding = 0) readonly buffer A { UNIT a[]; };
#endif
layout(binding = 1) readonly buffer B { UNIT b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Sizes { uint K, lda, ldb; };

#ifdef TWO
shared UNIT tile_a[2 * T * PITCH / EACH], tile_b[2 * T * PITCH / EACH];
#else
shared UNIT tile_a[T * PITCH / EACH], tile_b[T * PITCH / EACH];
#endif

#ifdef TURNED
#define AT_A(row, k) ((k) * PITCH + (row))
#define ORDER_A gl_CooperativeMatrixLayoutColumnMajor
#else
#define AT_A(row, k) ((row) * (PITCH / EACH) + (k) / EACH)
#define ORDER_A gl_CooperativeMatrixLayoutRowMajor
#endif
#ifdef BY_COLUMN // of a B whose columns lie one behind the other
#define FROM_B(k, column) ((column) * ldb + (k))
#define AT_B(k, column) ((column) * PITCH + (k))
#define ORDER_B gl_CooperativeMatrixLayoutColumnMajor
#else
#define FROM_B(k, column) ((k) * (ldb / EACH) + (column) / EACH)
#define AT_B(k, column) ((k) * (PITCH / EACH) + (column) / EACH)
#define ORDER_B gl_CooperativeMatrixLayoutRowMajor
#endif

void main()
{
    NUMBER row = NUMBER(gl_WorkGroupID.y) * T, column = NUMBER(gl_WorkGroupID.x) * T, part = 0;
    NUMBER own_row = NUMBER(gl_SubgroupID) / 2 * 16, own_column = NUMBER(gl_SubgroupID) % 2 * 16;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    for (NUMBER k = 0; k < NUMBER(K); k += T) {
#ifdef TWO
        part = NUMBER(T * PITCH) - part;
#endif
#ifdef LOOPED
        for (NUMBER e = 0; e < T * T; e += 128) {
#elif defined STRIDED
        for (NUMBER e = NUMBER(ME); e < T * T; e += 128) {
#elif defined NESTED
        for (NUMBER y = NUMBER(ME) / T; y < T; y += 128 / T)
        for (NUMBER z = NUMBER(ME) % T; z < T; z += T) {
            NUMBER e = y * T + z;
#elif defined PARTLY
        [[unroll]] for (NUMBER e = 0; e < T * T - 128; e += 128) {
#else
        [[unroll]] for (NUMBER e = 0; e < T * T / EACH; e += 128) {
#endif
            NUMBER i = (e + OWN) * EACH, r = i / T, s = i % T;
            UNIT x = a[(row + r) * NUMBER(lda / EACH) + k / EACH + s / EACH];
#ifdef GUARDED
            x = row + r < 60 ? x : UNIT(0);
#elif defined CHANGED
            x += UNIT(1);
#endif
            tile_a[AT_A(r, s) + part] = x;
#ifdef BY_COLUMN
            tile_b[AT_B(s, r) + part] = b[FROM_B(k + s, column + r)];
#else
            tile_b[AT_B(r, s) + part] = b[FROM_B(k + r, column) + s / EACH];
#endif
        }
#ifndef EARLY
        barrier();
#endif
        [[unroll]] for (NUMBER kk = 0; kk < T; kk += 16) {
            coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma;
            coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb;
            coopMatLoad(ma, tile_a, AT_A(own_row, kk) + part, PITCH / EACH, ORDER_A);
            coopMatLoad(mb, tile_b, AT_B(kk, own_column) + part, PITCH / EACH, ORDER_B);
            sum = coopMatMulAdd(ma, mb, sum);
        }
#ifdef READ_TOO
        sum += coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(
            float(tile_a[0]) + float(tile_b[0]));
#endif
        barrier();
#ifdef WRITTEN
        if (k == 0 && gl_WorkGroupID.x + gl_WorkGroupID.y == 0 && ME == 0)
            a[8191] = UNIT(3);
#endif
    }
    coopMatStore(sum, c, (row + own_row) * 64 + column + own_column, 64,
                 gl_CooperativeMatrixLayoutRowMajor);
}
