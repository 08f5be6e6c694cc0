// SPDX-License-Identifier: MIT
//
// A tile of vectors that a workgroup copies: the lanes of a row load and store theirs as whole
// vectors of the machine, with all components, under masks where there are tests.
//
// RUN: %heddle compile %s --isa x86-64-v4 -D TYPE=vec4 --emit llvm-plain | %filecheck %s
// RUN: %heddle compile %s --isa x86-64-v4 -D TYPE=uvec2 --emit llvm-plain | %filecheck %s --check-prefix=TWO
// RUN: for T in vec4 uvec2 ivec3; do for S in 64,64 61,29; do \
// RUN:   run="%heddle run %s -D TYPE=$T --bind 0=rand:s32[20000]@1 --bind 1=zeros:u32[8192]"; \
// RUN:   run="$run --push list:u32:$S --groups 2,4"; $run --device reference --out 1=%t.npy || exit 1; \
// RUN:   for I in host x86-64-v3 x86-64-v2; do for R in --robust ""; do \
// RUN:     $run --isa $I $R --compare 1=%t.npy --tolerance 0 || exit 1; done; done; done; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK-COUNT-4: call <64 x float> @llvm.masked.load
// CHECK-NOT: gather
// CHECK: }
// TWO-COUNT-4: call <32 x i32> @llvm.masked.load

#version 460
layout(local_size_x = 32, local_size_y = 2) in;
layout(binding = 0) readonly buffer A { TYPE a[]; };
layout(binding = 1) writeonly buffer O { TYPE o[]; };
layout(push_constant) uniform P { uint M, K; };
shared TYPE tile[8 * 16];

void main()
{
    uint tid = gl_LocalInvocationIndex, row = gl_WorkGroupID.x * 32, column = gl_WorkGroupID.y * 16;
    for (uint i = tid; i < 8 * 16; i += 64) {
        uint r = row + i / 16, c = column + i % 16;
        tile[i] = r < M && c < K ? a[r * K + c] : TYPE(0);
    }
    barrier();
    for (uint i = 0; i < 2; i++)
        o[(gl_WorkGroupID.y * 2 + gl_WorkGroupID.x) * 128 + i * 64 + tid] = tile[(1 - i) * 64 + tid];
}
