// SPDX-License-Identifier: MIT
//
// Local memory, atomics, barriers, copies, collective functions.
//
// RUN: %heddle compile %s --emit spirv -o %t.spv && %spirv-val %t.spv
// RUN: alike %s 0 --entry k --bind 0=zeros:s32[4096] --bind 1=randn:f32[64]@3 --global 32 --local 16

__attribute__((reqd_work_group_size(16, 1, 1)))
kernel void k(global int *out, global float *in)
{
    local int l[16], cnt; local float2 pair[4];
    int g = get_global_id(0), i = get_local_id(0), n = 0;
    global int *o = out + g * 64;
    if (i == 0) cnt = 0;
    l[i] = g * g; barrier(CLK_LOCAL_MEM_FENCE);
    o[n++] = l[15 - i]; atomic_add(&cnt, i); atomic_add(&cnt,1); barrier(CLK_LOCAL_MEM_FENCE);
    o[n++] = cnt;
    atomic_add(&l[0], i * 3); atomic_sub(&l[1], i); atomic_or(&l[2], 1 << i);
    atomic_xor(&l[3], i); work_group_barrier(CLK_LOCAL_MEM_FENCE);
    o[n++] = l[0] + l[1]; o[n++] = l[2]; o[n++] = l[3]; if (i < 4) pair[i] = (float2)(in[i], i);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    o[n++] = pair[i & 3].y + pair[(i + 1) & 3].x;
    volatile local int *vl = &l[4]; if (i == 0) { o[n] = atomic_xchg(vl, 7);
    o[n + 1] = atomic_cmpxchg(vl, 7, 9); o[n + 2] = *vl; o[n + 3] = atomic_sub(vl, 2);
    o[n + 4] = atomic_and(vl, 6); o[n + 5] = atomic_sub(vl,1); o[n + 6] = *vl; } n += 7;
    o[n++] = get_global_size(0) + get_local_size(0) * 1000 + get_num_groups(0) * 100000 + get_group_id(0) + get_work_dim() * 10000000; o[n++] = get_global_offset(0) + get_local_linear_id();
    global atomic_int *at = (global atomic_int *)(out + 2000); if (g == 0) { atomic_init(at, 5);
    o[n] = atomic_fetch_add(at, 3); o[n + 1] = atomic_load(at); atomic_store(at, 20);
    o[n + 2] = atomic_exchange(at, 4); int ex = 4;
    o[n + 3] = atomic_compare_exchange_strong(at, &ex, 6); o[n + 4] = ex;
    o[n + 5] = atomic_compare_exchange_weak(at, &ex, 8); o[n + 6] = ex;
    o[n + 7] = atomic_fetch_max(at,9); o[n + 8] = atomic_load_explicit(at, memory_order_acquire);
    } n += 9;
    barrier(CLK_LOCAL_MEM_FENCE); event_t ev = async_work_group_copy(l, out + 3000, 16, 0);
    wait_group_events(1, &ev); 
    generic int *gp = i & 1 ? (generic int *)&l[0] : (generic int *)&n; o[n++] = *gp != 0;
    prefetch(in, 4);  
    o[n++] = sub_group_reduce_add(1) > 0; o[n++] = work_group_reduce_add(i);
    o[n++] = work_group_scan_inclusive_add(i);
    o[n++] = work_group_any(i == 3) + work_group_all(i < 100) * 2;
    o[n++] = work_group_broadcast(g, 3);
}
