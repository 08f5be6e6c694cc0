// SPDX-License-Identifier: MIT
// A target that loads numbers below 32 bits slowly from buffers: in a loop with a hint for wait queues
// matrices come by way of workgroup memory, where their lines are whole vectors. Lines that begin
// elsewhere (odd strides and offsets), and those that end outside of the buffer, come as they did.
// RUN: N=nvidia-hopper-khr; \
// RUN: for t in "float16_t float 16 f16 f32" "int8_t int 32 s8 s32" "uint8_t uint 32 u8 u32" "bfloat16_t float 16 bf16 f32"; do set -- $t; \
// RUN:   for o in "-DLA=0 -DLB=0" "-DLA=1 -DLB=1"; do \
// RUN:     D="-DT=$1 -DS=$2 -DK=$3 $o"; B="--bind 1=rand:$4[6000]@2 --bind 2=zeros:$5[32,16]"; \
// RUN:     %heddle compile %s $D -DWQ=1 --for $N --emit spirv -o %t.spv | %filecheck %s && \
// RUN:     %spirv-val --target-env vulkan1.3 --scalar-block-layout %t.spv || exit 1; \
// RUN:     for p in 64,64,0,0 64,80,16,48 65,64,0,0 64,64,3,0 72,64,8,1; do for r in "" --robust; do \
// RUN:       for w in 0=rand:$4[6000]@1 0=rand:$4[2501]@1; do \
// RUN:       [ -z "$r" ] && [ $w != 0=rand:$4[6000]@1 ] && continue; \
// RUN:       %heddle run %s $D --device reference $B --bind $w --push list:u32:$p,64 $r --out 2=%t.npy && \
// RUN:       %heddle run %t.spv $B --bind $w --push list:u32:$p,64 $r --compare 2=%t.npy || exit 1; \
// RUN:   done; done; done; done; done
// RUN: %heddle compile %s -DT=float16_t -DS=float -DK=16 -DLA=0 -DLB=0 --for nvidia-hopper-khr | %filecheck %s --check-prefix=PLAIN
// CHECK: OpCooperativeMatrixLoadKHR {{ *}}4 {{ *}}load_lines {{ *}}workgroup memory, by lines of vectors
// PLAIN-NOT: load_lines
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#ifdef WQ
#extension GL_QCOM_multiple_wait_queues : require
#endif

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) readonly buffer B { T b[]; };
layout(set = 0, binding = 2) writeonly buffer C { S c[]; };
layout(push_constant) uniform Sizes { uint lda, ldb, first_a, first_b, depth; };

void main()
{
    uint row = gl_SubgroupID * 16;
    coopmat<S, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum =
        coopmat<S, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
#ifdef WQ
    [[multiple_wait_queuesQCOM(WQ)]]
#endif
    for (uint k = 0; k < depth; k += K) {
        coopmat<T, gl_ScopeSubgroup, 16, K, gl_MatrixUseA> x;
        coopmat<T, gl_ScopeSubgroup, K, 16, gl_MatrixUseB> y;
        coopMatLoad(x, a, first_a + (LA == 0 ? row * lda + k : k * lda + row), lda, LA);
        coopMatLoad(y, b, first_b + (LB == 0 ? k * ldb : k), ldb, LB);
        sum = coopMatMulAdd(x, y, sum);
    }
    coopMatStore(sum, c, row * 16, 16, gl_CooperativeMatrixLayoutRowMajor);
}
