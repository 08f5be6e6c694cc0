// SPDX-License-Identifier: MIT
// Functions of whole work-groups and asynchronous copies: in shaders, memory and barriers.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

KERNEL(reductions)
{
    BEGIN;
    o[0] = work_group_reduce_add(x);
    o[1] = work_group_reduce_min((int)y);
    o[2] = work_group_reduce_max(z);
    o[3] = as_uint(work_group_reduce_add((float)(x & 255)));
    o[4] = as_uint(work_group_reduce_max((float)(y & 0xffff)));
    o[5] = (uint)(work_group_reduce_add((ulong)x << 8) >> 10);
    o[6] = work_group_any(x > 0xf0000000u) + 2 * work_group_all(y > 0x08000000u);
    o[7] = as_uint(work_group_reduce_min((float)(int)z));
}

KERNEL(scans)
{
    BEGIN;
    o[0] = work_group_scan_inclusive_add(x);
    o[1] = work_group_scan_exclusive_add(x & 15);
    o[2] = work_group_scan_exclusive_min((int)y);
    o[3] = work_group_scan_inclusive_max(z);
    o[4] = as_uint(work_group_scan_exclusive_max((float)(int)x));
    o[5] = work_group_broadcast(y, 5);
    o[6] = (uint)work_group_scan_exclusive_max((long)(int)x);
    o[7] = work_group_scan_exclusive_min(x);
}

KERNEL(in_a_loop)
{
    BEGIN;
    for (int i = 0; i < 3; i++) {
        uint s = work_group_reduce_add(x + i);
        o[i] = s;
        if (s & 1)
            o[3 + i] = work_group_broadcast(x, i);
    }
}

KERNEL(copies)
{
    BEGIN;
    local uint a[32];
    local uint4 b[8];
    size_t group = get_group_id(0);
    event_t e = async_work_group_copy(a, in + group * 16, 32, 0);
    e = async_work_group_copy(b, (global const uint4 *)in + 3, 8, e);
    wait_group_events(1, &e);
    o[0] = a[l] + a[31 - l];
    o[1] = b[l & 7].w;
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] = x;
    a[l + 16] = y;
    barrier(CLK_LOCAL_MEM_FENCE);
    e = async_work_group_copy(out + 512 + group * 32, a, 32, 0);
    wait_group_events(1, &e);
}

KERNEL(strided_copies)
{
    BEGIN;
    local float a[16];
    local uchar c[64];
    event_t e[2];
    size_t group = get_group_id(0);
    e[0] = async_work_group_strided_copy(a, (global const float *)in + group, 16, 3, 0);
    e[1] = async_work_group_copy(c, (global const uchar *)in + 5, 50, 0);
    wait_group_events(2, e);
    o[0] = as_uint(a[l]);
    o[1] = c[l];
    o[2] = c[l + 30];
    event_t f = async_work_group_strided_copy((global float *)out + 520 + group, a, 16, 5, 0);
    wait_group_events(1, &f);
}

KERNEL(copies_of_vectors)
{
    BEGIN;
    local float8 a[8];
    local uint3 t[8];
    for (int i = 0; i < 2; i++) {
        event_t e = async_work_group_copy(a, (global const float8 *)in + i, 8, 0);
        e = async_work_group_copy(t, (global const uint3 *)in + 1, 8, e);
        wait_group_events(1, &e);
        o[i] = as_uint(a[l & 7].s5);
        o[2 + i] = t[l & 7].z;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
