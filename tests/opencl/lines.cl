// SPDX-License-Identifier: MIT
// OpenCL C's own positions: in the module, in faults and checks, in profiles; also of functions that
// were inlined, of included files, and of a shader that the kernel becomes.
// RUN: %heddle compile %s | %filecheck %s
// RUN: %heddle compile %s --target vulkan | %filecheck %s --check-prefix=SHADER
// RUN: status 1 %heddle run %s --global 64 --bind 0=iota:f32[64] --bind 1=zeros:f32[192] \
// RUN:   --bind 2=list:s32:5000000 2>&1 | %filecheck %s --check-prefix=FAULT
// RUN: status 1 %heddle run %s --check --global 64 --bind 0=iota:f32[64] --bind 1=zeros:f32[100] \
// RUN:   --bind 2=list:s32:50 2>&1 | %filecheck %s --check-prefix=FOUND
// RUN: %heddle profile %s --seconds 0.01 --global 64 --bind 0=iota:f32[64] --bind 1=zeros:f32[192] \
// RUN:   --bind 2=list:s32:50 | %filecheck %s --check-prefix=PROFILE
// RUN: %heddle run %s --stats --global 64 --bind 0=iota:f32[64] --bind 1=zeros:f32[192] \
// RUN:   --bind 2=list:s32:50 | grep -q 'scalar accesses, bytes'
// RUN: %heddle compile %s --emit llvm | not grep DILocation
// CHECK: [[FILE:%.*]] = OpString "{{.*}}lines.cl"
// CHECK-NOT: OpName {{.*}}lines.cl
// CHECK: OpLine [[FILE]] [[@LINE+25]]
// CHECK: OpLine [[FILE]] [[@LINE+16]]
// CHECK-NEXT: OpExtInst {{.*}} mad
// CHECK: OpLine [[FILE]] [[@LINE+27]]
// CHECK: OpStore
// SHADER: OpLine {{%.*}} [[@LINE+24]] 22
// SHADER-NEXT: OpFMul
// FAULT: lines.cl:[[@LINE+22]]:{{[0-9]+}}: error: the kernel reads memory that the program does not have
// FOUND: lines.cl:[[@LINE+22]]:{{[0-9]+}}: error: write of 4 bytes
// PROFILE: 32.0 {{.*}}[[@LINE+16]]{{ *}}float v = x[i];
// PROFILE: [[@LINE+20]]{{ *}}y[i * 3] = v;

float scale(float v)
{


    /* the line that is inlined */
    return v * 3.0f + 1.0f;
}

__kernel void k(__global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);


    float v = x[i];
    if (v > 0.5f)
        v = scale(v);
    for (int j = 0; j < n; j++)
        v = v * 0.5f + x[j];
    y[i * 3] = v;
}
