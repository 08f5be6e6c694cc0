// SPDX-License-Identifier: MIT
// A run: buffers by number and by name, push constants, a comparison, a file out and in again.
// RUN: %heddle run %s --bind 0=iota:f32[64] --bind y=full:1:f32[64] --push list:f32:2 --groups 2 \
// RUN:   --out y=%t.npy --compare y=%t.npy --compare 1=%t.npy | %filecheck %s
// RUN: %heddle run %s --bind x=iota:f32[64] --bind y=%t.npy --push list:f32:-2 --global 64 \
// RUN:   --compare y=full:1:f32[64] --tolerance 0 | %filecheck %s --check-prefix=BACK
// RUN: %heddle run %s --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --push list:f32:2 --groups 2 \
// RUN:   --device reference --compare 1=iota:f32[64] --tolerance 1 | %filecheck %s --check-prefix=REF
// RUN: not %heddle run %s --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --push list:f32:2 \
// RUN:   --groups 2 --compare 1=iota:f32[8,8] 2>&1 | %filecheck %s --check-prefix=DIFFER
// CHECK: kernel device subgroup groups compile time
// CHECK-NEXT: run.comp {{.*}}cpu {{.*}}32 {{.*}}2x1x1
// CHECK: compared y with {{.*}}: 0 of 64 differ
// CHECK: compared 1 with {{.*}}: 0 of 64 differ
// BACK: 0 of 64 differ, largest error 0, relative 0
// REF: run.comp {{.*}}reference
// REF: 0 of 64 differ
// DIFFER: heddle: error: 63 of 64 elements differ by more than 0.001; worst at [63]: got 126,
// DIFFER-SAME: expected 63 (difference 63
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform Push { float factor; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    y[i] += factor * x[i];
}
