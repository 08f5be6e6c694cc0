// SPDX-License-Identifier: MIT
// REQUIRES: x86-64-v3
// HEDDLE_ISA: everything is as on a machine that has no more than the level says.
// RUN: HEDDLE_ISA=x86-64-v2 %heddle info | %filecheck %s --check-prefix=INFO
// INFO: code for x86-64-v2, 128-bit vectors
// INFO: runs code for x86-64 x86-64-v2{{$}}
// RUN: HEDDLE_ISA=x86-64-v2 %heddle compile --emit native %s | %filecheck %s --implicit-check-not=ymm
// CHECK: xmm
// RUN: HEDDLE_ISA=x86-64-v2 status 1 %heddle run %s --isa x86-64-v3 --bind 0=zeros:f32[64] 2>&1 | %filecheck %s --check-prefix=LACKS
// LACKS: this machine lacks "{{.*}}", which CPU level "x86-64-v3" has
// RUN: HEDDLE_ISA=arrow %heddle run %s --bind 0=zeros:f32[64] 2>&1 | %filecheck %s --check-prefix=WRONG
// WRONG: warning: HEDDLE_ISA is not a CPU level that this machine has: ignored
#version 460
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { float a[]; };
void main() { a[gl_GlobalInvocationID.x] *= 2; }
