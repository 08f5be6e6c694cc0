// SPDX-License-Identifier: MIT
// --check runs on the reference device, reports what the kernel does wrong where it does it, and exits 1.
// RUN: status 1 %heddle run %s --check --bind 0=zeros:f32[64] --push list:u32:60 2>&1 | %filecheck %s
// RUN: %heddle run %s --check --bind 0=zeros:f32[64] --push list:u32:0 2>&1 \
// RUN:   | %filecheck %s --check-prefix=FINE
// RUN: status 1 %heddle run %s --check=portability --bind 0=zeros:f32[64] --push list:u32:60 2>&1 \
// RUN:   | %filecheck %s
// CHECK: check.comp:[[#@LINE + 10]]: error: write of 4 bytes at byte {{[0-9]+}} of buffer 'Data'
// CHECK: check.comp {{.*}}reference
// FINE-NOT: error
// FINE: check.comp reference
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer Data { float data[]; };
layout(push_constant) uniform Push { uint from; };
void main()
{
    data[from + gl_LocalInvocationIndex] = 1.0;
}
