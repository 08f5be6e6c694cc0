// SPDX-License-Identifier: MIT
//
// Sub-groups and atomics of floats: the same as OpenCL kernels and as shaders.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: for K in sub_groups more_of_sub_groups rotations_of_sub_groups atomics_of_floats; do \
// RUN:   %heddle run %s --entry $K --bind 0=zeros:u32[1024] --bind 1=rand:u32[256]@3 \
// RUN:   --global 64 --local 16 --out 0=%t.npy && for D in cpu reference; do \
// RUN:   %heddle run %t.spv --entry $K --bind 0=zeros:u32[1024] --bind 1=rand:u32[256]@3 \
// RUN:   --global 64 --device $D --compare 0=%t.npy --tolerance 0 || exit 1; done || exit 1; done
#include "kernels/kernel.h"

KERNEL(sub_groups)
{
    BEGIN;
    o[0] = get_sub_group_size() + get_sub_group_local_id() * 100 + get_sub_group_id() * 10000;
    o[1] = sub_group_reduce_add(x & 0xff) + sub_group_broadcast(y, 2);
    o[2] = sub_group_scan_exclusive_max(x) + sub_group_scan_inclusive_add(x & 15);
    o[3] = sub_group_all(x) + 2 * sub_group_any(!x);
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    o[4] = get_num_sub_groups() + get_max_sub_group_size();
}
KERNEL(more_of_sub_groups)
{
    BEGIN;
    o[0] = sub_group_shuffle(x, get_sub_group_local_id() ^ 3);
    o[1] = sub_group_shuffle_xor(x, 5);
    o[2] = sub_group_ballot(x & 1).x;
    o[3] = sub_group_ballot_bit_count(sub_group_ballot(y & 1));
    o[4] = sub_group_non_uniform_reduce_xor(x);
    o[5] = sub_group_clustered_reduce_max(x, 4);
    o[6] = sub_group_elect();
    if (x & 1)
        o[7] = sub_group_non_uniform_scan_inclusive_add(x & 0xff);
}
KERNEL(rotations_of_sub_groups)
{
    BEGIN;
    o[0] = sub_group_rotate(x, 3);
    o[1] = sub_group_clustered_rotate(x, 1, 4);
    o[2] = sub_group_broadcast_first(y);
    o[3] = sub_group_non_uniform_all_equal(z & 0) + sub_group_inverse_ballot((uint4)(0x5555));
}
KERNEL(atomics_of_floats)
{
    BEGIN;
    local float sum;
    local atomic_uint count;
    if (l == 0) {
        sum = 0;
        atomic_init(&count, 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_fetch_add_explicit((volatile local atomic_float *)&sum, (float)(x & 255),
                              memory_order_relaxed, memory_scope_work_group);
    atomic_fetch_add(&count, y);
    barrier(CLK_LOCAL_MEM_FENCE);
    o[0] = as_uint(sum);
    o[1] = atomic_load(&count);
    atomic_fetch_add_explicit((volatile global atomic_float *)(out + 900), (float)(z & 15),
                              memory_order_relaxed, memory_scope_device);
    atomic_fetch_max((volatile global atomic_ulong *)(out + 902), (ulong)x << 20);
}
