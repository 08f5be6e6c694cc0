// SPDX-License-Identifier: MIT
// What the pointer of a matrix' load or store may lead to: numbers, vectors, bytes, also where nothing
// else may be the same memory (restrict) or in a block of workgroup memory (STAGED), and, with tensor
// layouts, structures with one such member (WRAPPED). By a layout (TENSOR), elements that are components are
// stored one by one. Invocations in lockstep need no barriers within their subgroup.
// RUN: ARRAYS="--bind 0=randn:f16[48,32]@1 --bind 1=zeros:f16[48,32]"; \
// RUN: for o in "" -DSCOPE=gl_ScopeWorkgroup -DTENSOR=1 "-DTENSOR=1 -DWRAPPED=1"; do \
// RUN:   for d in "" "-DITEM=f16vec2 -DMANY=2" "-DITEM=f16vec4 -DMANY=4" "-DITEM=uvec4 -DMANY=8" \
// RUN:            "-DITEM=uint8_t -DBYTES=2" "-DITEM=uint8_t -DBYTES=2 -DSTAGED=1"; do \
// RUN:     case "$o $d" in *TENSOR*uvec4*) continue;; esac; \
// RUN:     %heddle run %s $d $o $ARRAYS --out 1=%t.npy || exit 1; \
// RUN:     %heddle run %s $d $o $ARRAYS --compare 1=%t.npy --device reference || exit 1; \
// RUN:     for p in khr16 subgroup32 nvidia-hopper-khr; do \
// RUN:       case "$d $p" in *STAGED*[!2]) continue;; esac; \
// RUN:       %heddle compile %s $d $o --for $p --subgroup-size 32 --emit spirv -o %t.spv > %t.out && \
// RUN:       %spirv-val --target-env vulkan1.3 --scalar-block-layout %t.spv && \
// RUN:       %heddle run %t.spv $ARRAYS --compare 1=%t.npy || exit 1; done; done; done
// RUN: ! %heddle compile %s -DTENSOR=1 -DITEM=uvec4 -DMANY=8 --for subgroup32 2>&1 | %filecheck %s --check-prefix=SHARED
// SHARED: its pointer leads to what several elements share
// RUN: p=%S/../../share/profiles/subgroup32.json; sed 's/"features": \[/&"lockstep", /' $p > %t.json; \
// RUN: %heddle compile %s -DITEM=f16vec2 -DMANY=2 --for $p | %filecheck %s --check-prefix=APART && \
// RUN: %heddle compile %s -DITEM=f16vec2 -DMANY=2 --for %t.json | %filecheck %s --check-prefix=LOCKSTEP
// APART: OpControlBarrier
// LOCKSTEP-NOT: OpControlBarrier
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shared_memory_block : enable
#extension GL_NV_cooperative_matrix2 : require

#ifndef ITEM
#define ITEM float16_t
#endif
#ifndef MANY
#define MANY 1
#endif
#ifndef BYTES
#define BYTES 1
#endif
#ifndef SCOPE
#define SCOPE gl_ScopeSubgroup
#endif

layout(local_size_x = 32) in;

#ifdef WRAPPED
struct Item {
    ITEM item;
};
#else
#define Item ITEM
#endif

layout(set = 0, binding = 0, scalar) restrict readonly buffer From { Item x[]; } from;
layout(set = 0, binding = 1, scalar) restrict writeonly buffer To { Item x[]; } to;
#ifdef STAGED
shared Staged { Item x[48 * 32 * BYTES / MANY]; } staged;
#define SOURCE staged
#else
#define SOURCE from
#endif

void main()
{
    coopmat<float16_t, SCOPE, 48, 32, gl_MatrixUseAccumulator> m;
#ifdef STAGED
    for (uint k = gl_LocalInvocationIndex; k < 48 * 32 * BYTES / MANY; k += 32)
        staged.x[k] = from.x[k];
    barrier();
#endif
#ifdef TENSOR
    tensorLayoutNV<2> all = setTensorLayoutDimensionNV(createTensorLayoutNV(2), 48, 32);
    coopMatLoadTensorNV(m, SOURCE.x, 0, all);
    coopMatStoreTensorNV(m + m, to.x, 0, all);
#else
    coopMatLoad(m, SOURCE.x, 0, 32 * BYTES / MANY, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(m + m, to.x, 0, 32 * BYTES / MANY, gl_CooperativeMatrixLayoutRowMajor);
#endif
}
