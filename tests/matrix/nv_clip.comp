// SPDX-License-Identifier: MIT
// A slice that ends within its matrix' rows: of 32 columns the last COLUMNS are outside of the tensor,
// whichever rows are, and are zeros although there is memory behind each row's end. Masked loads of
// which the machine needs several, one for lanes that are all outside.
// RUN: for t in float:f32 float16_t:f16 int:s32; do for c in 3 8 14 17 24 31; do \
// RUN:   D="-D T=${t%:*} -D COLUMNS=$c" B="--bind 0=full:1:${t#*:}[2048] --bind 1=zeros:${t#*:}[1024]"; \
// RUN:   %heddle run %s $D --device reference $B --out 1=%t.npy && \
// RUN:   for isa in x86-64-v4 x86-64-v3 x86-64-v2; do \
// RUN:     HEDDLE_ISA=$isa %heddle run %s $D $B --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN:   done || exit 1; \
// RUN: done; done
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { T from[]; };
layout(set = 0, binding = 1) writeonly buffer Out { T to[]; };

void main()
{
    coopmat<T, gl_ScopeSubgroup, 32, 32, gl_MatrixUseAccumulator> x;
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> layout_ = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    layout_ = setTensorLayoutDimensionNV(layout_, 30, 32 + 7 - COLUMNS);
    layout_ = sliceTensorLayoutNV(layout_, 5, 32, 7, 32);
    coopMatLoadTensorNV(x, from, 16, layout_);
    coopMatStore(x, to, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
