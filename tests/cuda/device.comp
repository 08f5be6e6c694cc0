// SPDX-License-Identifier: MIT
// What the device says of itself, and who holds what of its matrices, without a GPU. The object that
// stored kernels have is the PTX.
//
// RUN: %heddle info --device cuda --isa sm_90a > %t.out && %filecheck %s --check-prefix INFO < %t.out
// RUN: %heddle layout 16x16 f16 A --device cuda --isa sm_80 > %t.out && \
// RUN: %filecheck %s --check-prefix TILE < %t.out
// RUN: %heddle layout 4x8 f16 A --device cuda --isa sm_80 > %t.out && \
// RUN: %filecheck %s --check-prefix SMALL < %t.out
// RUN: %heddle layout 16x16 f16 A --device cuda --isa sm_80 --svg %t.svg
// RUN: not %heddle layout 16x16 f16 A --device gpu > %t.out 2>&1 && \
// RUN: %filecheck %s --check-prefix WRONG < %t.out
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit object -o %t.o && \
// RUN: %filecheck %s --check-prefix OBJECT < %t.o
// INFO: cuda:
// INFO: code for {{ *}}sm_90a
// INFO: matrices {{ *}}lowered, but for
// INFO: 16x16x16 {{.*}}f16*f16->f32
// TILE: 16x16 f16 A, subgroup of 32: 8 elements an invocation
// TILE: 0 | {{ *}}0.0 0.1 0.2 0.3 1.0
// SMALL: 4x8 f16 A, subgroup of 32: 1 element an invocation
// SMALL: 0 | {{ *}}0.0 1.0 2.0
// WRONG: --device takes cpu, reference, vulkan or cuda
// OBJECT: .visible .entry heddle_kernel
#version 460

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };

void main() { a[0] = 1; }
