// SPDX-License-Identifier: MIT
// Identifiers, atomics, barriers, sub-groups.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

KERNEL(identifiers)
{
    BEGIN;
    o[0] = get_global_id(0) + get_global_id(1) * 10 + get_global_id(2) * 100;
    o[1] = get_local_id(0) + get_group_id(0) * 100;
    o[2] = get_global_size(0) + get_local_size(0) * 1000 + get_num_groups(0) * 100000;
    o[3] = get_global_linear_id() + get_local_linear_id() * 100;
    o[4] = get_global_offset(0) + get_enqueued_local_size(0) * 10 + get_global_size(1);
    o[5] = get_global_id(7) + get_local_size(5) + get_num_groups(get_group_id(0) & 3);
}
KERNEL(old_atomics)
{
    BEGIN;
    volatile global uint *a = out + 600;
    atomic_add(a, x & 15);
    atomic_sub(a + 1, y & 15);
    atomic_inc(a + 2);
    atomic_dec(a + 3);
    atomic_min(a + 4, x);
    atomic_max(a + 5, y);
    atomic_and(a + 6, x);
    atomic_or(a + 7, 1u << (y & 31));
    atomic_xor(a + 8, z);
    atomic_max((volatile global int *)a + 9, (int)z);
    o[0] = atomic_xchg(o + 1, x) + atomic_cmpxchg(o + 1, x, y) - atomic_cmpxchg(o + 1, x, z);
}
KERNEL(new_atomics)
{
    BEGIN;
    volatile global atomic_uint *a = (volatile global atomic_uint *)(out + 600);
    atomic_fetch_add(a, x & 15);
    atomic_fetch_or_explicit(a + 1, x, memory_order_relaxed);
    atomic_fetch_min_explicit((volatile global atomic_int *)a + 2, (int)y, memory_order_acq_rel,
                              memory_scope_device);
    global atomic_uint *own = (global atomic_uint *)o;
    atomic_store(own, x);
    o[1] = atomic_load(own);
    o[2] = atomic_exchange_explicit(own, y, memory_order_release, memory_scope_work_group);
    uint expected = y;
    o[3] = atomic_compare_exchange_strong(own, &expected, z);
    o[4] = atomic_compare_exchange_strong(own, &expected, x) + (expected == z) * 2;
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_work_group);
}
KERNEL(local_atomics)
{
    local uint count, bins[4];
    local atomic_uint n;
    BEGIN;
    if (l < 4)
        bins[l] = 0;
    if (!l) {
        count = 0;
        atomic_init(&n, 5);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&bins[x & 3]);
    atomic_or(&count, 1u << l);
    atomic_fetch_add_explicit(&n, 2u, memory_order_relaxed, memory_scope_work_group);
    work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
    o[0] = bins[l & 3];
    o[1] = count;
    o[2] = atomic_load(&n);
}
KERNEL(through_global_memory)
{
    BEGIN;
    o[0] = x;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    o[1] = out[(g ^ 1) * 8];
}
