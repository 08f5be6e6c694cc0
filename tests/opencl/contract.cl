// SPDX-License-Identifier: MIT
//
// Products that are added or subtracted in one expression, and FP_CONTRACT (OpenCL C 3.0, 7.4).
//
// RUN: %heddle compile %s --emit asm | %filecheck %s
// RUN: for D in cpu reference; do %heddle run %s --bind 0=randn:f32[16]@1 --bind 1=randn:f32[16]@2 \
// RUN:   --bind 2=zeros:f32[64] --global 1 --device $D --out 2=%t.$D.npy && \
// RUN:   %heddle run %s --bind 0=randn:f32[16]@1 --bind 1=randn:f32[16]@2 --bind 2=zeros:f32[64] \
// RUN:   --global 1 -DEXACT --device $D --compare 2=%t.$D.npy --tolerance 1e-5 || exit 1; done
// RUN: %heddle compile %s -DWRONG --emit ast 2>&1 >/dev/null | %filecheck --check-prefix=WRONG %s

#ifdef WRONG
// WRONG: :[[@LINE+1]]:9: warning: expected '#pragma OPENCL FP_CONTRACT ON', 'OFF' or 'DEFAULT'
#pragma OPENCL FP_CONTRACT MAYBE
// WRONG: :[[@LINE+1]]:9: warning: expected '#pragma OPENCL FP_CONTRACT ON', 'OFF' or 'DEFAULT'
#pragma STDC FP_CONTRACT
#endif
#ifdef EXACT
#pragma OPENCL FP_CONTRACT OFF
#endif

kernel void sums(global const float *x, global const float4 *y, global float *o)
{
    float a = x[0], b = x[1], c = x[2], d = x[3];
    global float4 *v = (global float4 *)(o + 32);
    // CHECK-COUNT-3: OpExtInst %float {{.*}} mad
    o[0] = a * b + c;
    o[1] = c + (a * d);
    o[2] = a * c + b * d;
    // CHECK: OpFNegate
    // CHECK: OpExtInst %float {{.*}} mad
    // CHECK: OpFNegate
    // CHECK: OpExtInst %float {{.*}} mad
    o[3] = a * b - d;
    o[4] = c - b * d;
    // CHECK: OpExtInst %v4float {{.*}} mad
    v[0] = y[0] * y[1] + y[2];
    // CHECK: OpExtInst %float {{.*}} mad
    o[5] = a;
    o[5] += b * c;
    // What is rounded in between, or of integers, is no such product.
    // CHECK-NOT: mad
    float product = c * d;
    o[6] = product + b;
    o[7] = (float)(int)(c * d) + b;
    o[8] = (int)a * (int)b + (int)c;
    o[9] = a / b + c;
    {
#pragma OPENCL FP_CONTRACT OFF
        o[10] = b * b + c;
        {
#pragma STDC FP_CONTRACT ON
            // CHECK: OpExtInst %float {{.*}} mad
            // CHECK-NOT: mad
            o[11] = c * c + b;
        }
        o[12] = d * d + b;
    }
    // CHECK: OpExtInst %float {{.*}} mad
    // CHECK-NOT: mad
    o[13] = a * a + b;
}
