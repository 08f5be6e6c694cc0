// SPDX-License-Identifier: MIT
// Reductions by the larger of two narrow floats, which compares integers unless the function does
// more: it turns infinities into numbers, replaces denormals, writes to memory, is not that of both.
// RUN: for w in PLAIN:float16_t PLAIN:bfloat16_t SATURATES:floate5m2_t FLUSHES:bfloat16_t WRITES:floate4m3_t ONE:floate4m3_t; do \
// RUN:   D="-D ${w%:*} -D T=${w#*:}"; \
// RUN:   case $w in *e5m2_t) I=full:124:u8[256];; *e4m3_t) I=randn:e4m3[256]@1;; *) I=iota:u16[256];; esac; \
// RUN:   %heddle run %s $D --device reference --bind 0=$I --bind 1=zeros:u8[1024] --out 1=%t.npy && \
// RUN:   for isa in x86-64-v4 x86-64-v3 x86-64-v2; do \
// RUN:     HEDDLE_ISA=$isa %heddle run %s $D --bind 0=$I --bind 1=zeros:u8[1024] --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN:   done || exit 1; \
// RUN: done
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e5m2 : require
#extension GL_EXT_float_e4m3 : require
#ifdef FLUSHES
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4465], 4460, 32);
#endif
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { T from[]; };
layout(set = 0, binding = 1) writeonly buffer Out { T to[]; };

T larger(const in T a, const in T b)
{
#if defined(SATURATES)
    T x;
    saturatedConvertEXT(x, max(float(a), float(b)));
    return x;
#elif defined(ONE)
    return T(max(float(b), float(b)));
#else
#ifdef WRITES
    to[300] = T(1.0);
#endif
    return T(max(float(b), float(a)));
#endif
}

void main()
{
    coopmat<T, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> x, y;
    coopMatLoad(x, from, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatReduceNV(y, x, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatStore(y, to, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
