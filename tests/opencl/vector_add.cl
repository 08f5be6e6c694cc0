// SPDX-License-Identifier: MIT
// A kernel as clang's SPIR-V target compiles it: buffers in order, a value, a last workgroup that
// is smaller, an offset; on both devices.
// REQUIRES: clang_spirv
// RUN: %clang -cl-std=CL3.0 -target spirv64 -O2 -c %s -o %t.spv
// RUN: %heddle run %t.spv --bind 0=iota:f32[100] --bind 1=full:2:f32[100] \
// RUN:   --bind 2=zeros:f32[100] --bind 3=list:s32:90 --global 100 --local 64 --out 2=%t.npy
// RUN: %heddle run %t.spv --bind 0=iota:f32[100] --bind 1=full:2:f32[100] \
// RUN:   --bind 2=zeros:f32[100] --bind 3=list:s32:90 --global 100 --local 64 --device reference \
// RUN:   --compare 2=%t.npy --tolerance 0 | %filecheck %s --check-prefix=SAME
// RUN: %heddle run %t.spv --bind 0=zeros:f32[100] --bind 1=full:2:f32[100] \
// RUN:   --bind 2=full:2:f32[100] --bind 3=list:s32:90 --global 80 --local 16 --offset 10 \
// RUN:   --compare 2=full:2:f32[100] --tolerance 0
// RUN: not %heddle run %t.spv --bind 0=iota:f32[100] --bind 1=local:16 --global 100 2>&1 \
// RUN:   | %filecheck %s --check-prefix=WRONG
// SAME: 0 of 100 differ
// WRONG: set 0, binding 1 (''): its buffer is NULL
// WRONG: no buffer is bound to set 0, binding 2
// WRONG: argument 3 of the kernel is a value: it needs one
kernel void vector_add(global const float *a, global const float *b, global float *c, int n)
{
    int i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}
