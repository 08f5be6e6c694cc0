// SPDX-License-Identifier: MIT
// What Vulkan has no counterpart of, or that the shader's environment does otherwise.
// VULKAN: no
#include "kernel.h"

KERNEL(fused)
{
    BEGIN;
    o[0] = as_uint(fma((float)(int)x, (float)(int)y, (float)(int)z));
    o[1] = as_uint(fma((float)(int)x, -(float)(int)y, 1.0f));
}
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
global uint counter = 3;
constant uint seven = 7;
KERNEL(variables_of_the_program)
{
    BEGIN;
    static constant uint hidden[2] = { 5, 6 };
    o[0] = counter + seven + hidden[x & 1];
}
