// SPDX-License-Identifier: MIT
// Arguments of every kind (a structure by value, workgroup memory, a vector of three), constants of
// program scope, printf; with and without clang's optimisation, on both devices.
// REQUIRES: clang_spirv
// RUN: printf '\007\0\0\0____________\0\0\300\077\0\0\200\077\0\0\100\300\0\0\200\100' > %t.bin
// RUN: for O in 0 2; do for D in cpu reference; do \
// RUN:   %clang -cl-std=CL3.0 -target spirv64 -O$O -c %s -o %t.spv -mllvm \
// RUN:     --spirv-ext=+SPV_EXT_relaxed_printf_string_address_space && \
// RUN:   %heddle run %t.spv --bind 0=zeros:f32[16] --bind 1=@%t.bin --bind 2=local:16 \
// RUN:     --bind 3=list:f32:1,2,3 --global 4 --local 4 --device $D \
// RUN:     --compare 0=list:f32:49.5,50,41,59,49.5,50,41,59,49.5,50,41,59,49.5,50,41,59 \
// RUN:   | %filecheck %s || exit 1; done; done
// CHECK-DAG: id 0: 46.0 abc 1.5,1.0,-3.0,4.0 7 100%
// CHECK-DAG: id 1: 46.0 abc 1.5,1.0,-3.0,4.0 7 100%
// CHECK: 0 of 16 differ
typedef struct { int x; float4 y; } S;
constant float table[4] = { 1, 2, 3, 4 };
kernel void arguments(global float4 *a, S s, local float *l, float3 q)
{
    int i = get_local_id(0);
    l[i] = s.x + q.y + table[i & 3];
    barrier(CLK_LOCAL_MEM_FENCE);
    float r = 0;
    for (int k = 0; k < get_local_size(0); k++)
        r += l[k];
    s.y.y += 1;
    a[get_global_id(0)] = s.y + r + convert_float4_rte(convert_char4_sat(s.y))
        + q.x * (float4)(1, 0, 1, 5);
    s.y.y -= 1;
    if (i < 2 && get_group_id(0) == 0)
        printf("id %d: %.1f %s %2.1v4hlf %hhd 100%%\n", i, r, "abc", s.y, s.x);
}
