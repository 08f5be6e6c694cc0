// SPDX-License-Identifier: MIT
// --check names the arguments and variables of a kernel as its source does, with both sides of a race.
// RUN: status 1 %heddle run %s --entry k --check --global 128 --local 64 --bind 0=iota:f32[128] --bind 1=zeros:f32[128] \
// RUN:   --bind 2=local:128 --bind 3=list:s32:5 2>&1 | %filecheck %s
// RUN: status 1 %heddle run %s --entry between --check --global 128 --local 64 --bind 0=zeros:f32[128] 2>&1 \
// RUN:   | %filecheck %s --check-prefix=BETWEEN
__kernel void k(__global const float *src, __global float *dst, __local float *tmp, int n)
{
    __local float sa[64];
    int i = get_global_id(0), l = get_local_id(0);
    float q[4];
    q[0] = src[i];
    q[1] = q[2] = q[3] = 0;

    sa[l] = q[0];
    // CHECK-DAG: check.cl:[[@LINE+1]]:21: error: read of 'sa' races with the write by invocation ({{[0-9]+}}, 0, 0) at instruction {{[0-9]+}} (line [[@LINE-1]]); in workgroup (0, 0, 0), invocation ({{[0-9]+}}, 0, 0) {{.*}}[data-race]
    float other = sa[(l + 1) % 64];
    // CHECK-DAG: check.cl:[[@LINE+1]]:12: error: write of 4 bytes at byte {{[0-9]+}} of 'tmp' (argument 2), which has 128; {{.*}}[out-of-bounds]
    tmp[l] = other;
    // CHECK-DAG: check.cl:[[@LINE+2]]:27: error: read of 4 bytes at byte 20 of 'q', which has 16; {{.*}}[out-of-bounds]
    // CHECK-DAG: check.cl:[[@LINE+1]]:16: error: write of 4 bytes at byte 512 of buffer 'dst' (argument 1), which has 512; in workgroup (1, 0, 0), invocation (63, 0, 0) {{.*}}[out-of-bounds]
    dst[i + 1] = other + q[n];
}

__kernel void between(__global float *dst)
{
    int i = get_local_id(0) + 32 * get_group_id(0);
    // BETWEEN: check.cl:[[@LINE+1]]:12: error: write of 'dst' races with the write by invocation ({{[0-9]+}}, 0, 0) of workgroup (0, 0, 0) at instruction {{[0-9]+}} (line [[@LINE+1]]); in workgroup (1, 0, 0), invocation ({{[0-9]+}}, 0, 0) {{.*}}[data-race]
    dst[i] = i;
}
