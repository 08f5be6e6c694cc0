// SPDX-License-Identifier: MIT
// Sums of a loop over k whose last products wait for the store, and write there: from zeros or not,
// none at all, column-major, on top of one another, stored twice, stored in a loop that goes on with
// them or begins anew, exchanged on the way, and of an A that the sums overwrite. Each is what the
// reference gets.
// RUN: run="%heddle run %s --bind 0=rand:s8[16384]@1 --bind 1=rand:s8[16384]@2"; \
// RUN: run="$run --bind 2=zeros:s32[16384]"; \
// RUN: for d in PLAIN COLUMNS ABOVE TWICE GOES_ON ANEW SWAPS BEGINS; do for k in 0 48 272; do \
// RUN:   $run -D $d=1 --push list:u32:$k --groups 2,1 --out 2=%t.npy --device reference && \
// RUN:   $run -D $d=1 --push list:u32:$k --groups 2,1 --compare 2=%t.npy && \
// RUN:   $run -D $d=1 --push list:u32:$k --groups 2,1 --compare 2=%t.npy --isa x86-64-v3 || exit 1; \
// RUN: done; done
// RUN: run="%heddle run %s -D AB=float -D CD=float -D SAME=1 --bind 0=randn:f32[16384]@1"; \
// RUN: run="$run --bind 1=randn:f32[16384]@2 --push list:u32:128"; \
// RUN: $run --out 0=%t.npy --device reference && $run --compare 0=%t.npy
// RUN: %heddle compile %s -D PLAIN=1 --emit llvm | %filecheck %s
// CHECK: call void @gemm_s8_s8_s32_16x16x16_2x2x16_even_moves
// RUN: for d in TWICE GOES_ON; do \
// RUN:   %heddle compile %s -D $d=1 --emit llvm | %filecheck %s --check-prefix=HOME || exit 1; done
// Wherever a call runs, what a debugger and a profiler see is the line of its products.
// RUN: [ $(%heddle compile examples/gemm.comp -g --emit llvm-plain -o - | grep 'call void @gemm_' | \
// RUN:   sed 's/.*!dbg //' | sort -u | wc -l) = 1 ]
// HOME-NOT: _moves
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require
#ifndef AB
#define AB int8_t
#define CD int
#endif
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InputA { AB a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { AB b[]; };
#ifdef SAME
layout(set = 0, binding = 0) buffer Output { CD c[]; };
#else
layout(set = 0, binding = 2) buffer Output { CD c[]; };
#endif
layout(push_constant) uniform Sizes { uint k_size; };

const int ROWS = gl_CooperativeMatrixLayoutRowMajor;
const int COLUMNS_ = gl_CooperativeMatrixLayoutColumnMajor;

coopmat<CD, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum[2][2];

void begin()
{
    [[unroll]] for (uint i = 0; i < 4; i++)
#ifdef BEGINS
        coopMatLoad(sum[i / 2][i % 2], c, 8192 + i * 256, 16, ROWS);
#else
        sum[i / 2][i % 2] = coopmat<CD, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(CD(0));
#endif
}

void add()
{
    for (uint k = 0; k < k_size; k += 16) {
        coopmat<AB, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma[2];
        coopmat<AB, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb[2];
        [[unroll]] for (uint i = 0; i < 2; i++) {
            coopMatLoad(ma[i], a, i * 16 * 512 + k, 512, ROWS);
            coopMatLoad(mb[i], b, k * 32 + i * 16, 32, ROWS);
        }
        [[unroll]] for (uint i = 0; i < 4; i++)
            sum[i / 2][i % 2] = coopMatMulAdd(ma[i / 2], mb[i % 2], sum[i / 2][i % 2]);
#ifdef SWAPS
        coopmat<CD, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> first = sum[0][0];
        sum[0][0] = sum[1][1];
        sum[1][1] = first;
#endif
    }
}

void store(uint at)
{
    at += gl_WorkGroupID.x * 4096;
    [[unroll]] for (uint i = 0; i < 4; i++)
#ifdef COLUMNS
        coopMatStore(sum[i / 2][i % 2], c, at + i % 2 * 16 * 40 + i / 2 * 16, 40, COLUMNS_);
#elif defined(ABOVE)
        coopMatStore(sum[i / 2][i % 2], c, at + i / 2 * 8 * 32 + i % 2 * 16, 32, ROWS);
#else
        coopMatStore(sum[i / 2][i % 2], c, at + i / 2 * 16 * 32 + i % 2 * 16, 32, ROWS);
#endif
}

void main()
{
#if defined(GOES_ON) || defined(ANEW)
    begin();
    for (uint turn = 0; turn < 3; turn++) {
#ifdef ANEW
        begin();
#endif
        add();
        store(turn * 1024);
    }
#else
    begin();
    add();
    store(0);
#ifdef TWICE
    store(1024);
#endif
#endif
}
