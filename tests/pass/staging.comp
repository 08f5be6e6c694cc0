// SPDX-License-Identifier: MIT
//
// A tile that a workgroup copies, with tests at its edges: all invocations run the loop equally
// often, and lanes that follow one another load vectors, under masks where the tests say so.
//
// RUN: %heddle compile %s --isa x86-64-v4 --emit llvm-plain | %filecheck %s --check-prefix=WIDE
// RUN: %heddle compile %s --isa x86-64-v3 --emit llvm-plain | %filecheck %s --check-prefix=NARROW
// RUN: %heddle compile %s --robust --isa x86-64-v4 --emit llvm-plain | %filecheck %s --check-prefix=ROBUST
// RUN: for I in %levels; do for R in --robust ""; do \
// RUN:   for S in 64,64 61,49; do \
// RUN:     %heddle run %s --isa $I $R --bind 0=randn:f16[4096]@1 --bind 1=zeros:f16[8192] \
// RUN:       --push list:u32:$S --groups 2,4 --out 1=%t.npy && \
// RUN:     %heddle run %s --device reference --bind 0=randn:f16[4096]@1 --bind 1=zeros:f16[8192] \
// RUN:       --push list:u32:$S --groups 2,4 --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN:   done; done; done

// Its 16 lanes of one row are one load, of each of four iterations.
// WIDE-LABEL: define {{.*}}@heddle_kernel(
// WIDE-COUNT-8: call <16 x half> @llvm.masked.load
// WIDE-NOT: gather
// WIDE: }

// Where the machine has no such masks: at no edge, a plain load.
// NARROW: access.all
// NARROW: load <16 x half>

// ROBUST: access.together

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32, local_size_y = 4) in;
layout(binding = 0) readonly buffer A { float16_t a[]; };
layout(binding = 1) writeonly buffer O { float16_t o[]; };
layout(push_constant) uniform P { uint M, K; };
shared float16_t tile[32 * 16];

void main()
{
    uint tid = gl_LocalInvocationIndex, row = gl_WorkGroupID.x * 32, column = gl_WorkGroupID.y * 16;
    for (uint i = tid; i < 32 * 16; i += 128) {
        uint r = row + i / 16, c = column + i % 16;
        tile[i] = r < M && c < K ? a[r * K + c] : float16_t(0);
    }
    barrier();
    for (uint i = 0; i < 4; i++)
        o[((gl_WorkGroupID.y * 2 + gl_WorkGroupID.x) * 4 + i) * 128 + tid] = tile[i * 128 + tid];
}
