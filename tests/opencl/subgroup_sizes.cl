// SPDX-License-Identifier: MIT
// A sub-group counts the work-items that it has, of which the last one of a work-group, and those
// of a work-group cut off at the dispatch's edge, have fewer. Each work-item writes 0 where all is
// as the sizes of the work-group and of the largest sub-group have it, with both devices and as a
// shader.
// RUN: for W in 8 32 64; do for D in cpu reference; do for L in 1 7 32 44 70; do \
// RUN:   %heddle run %s --entry any_size --bind 0=full:1:u32[213] --global 213 --local $L \
// RUN:     --device $D --subgroup-size $W --compare 0=zeros:u32[213] --tolerance 0 || exit 1; done; \
// RUN:   %heddle run %s --entry of_44 --bind 0=full:1:u32[88] --global 88 \
// RUN:     --device $D --subgroup-size $W --compare 0=zeros:u32[88] --tolerance 0 || exit 1; \
// RUN:   %heddle run %s --entry of_44 --target vulkan --bind 0=full:1:u32[88] --global 88 \
// RUN:     --device $D --subgroup-size $W --compare 0=zeros:u32[88] --tolerance 0 || exit 1; \
// RUN: done; done
uint wrong(uint enqueued)
{
    uint n = get_local_size(0), most = get_max_sub_group_size(), size = get_sub_group_size();
    uint first = get_sub_group_id() * most;
    uint bad = size != min(most, n - first);
    bad |= (get_num_sub_groups() != (n + most - 1) / most) << 1;
    bad |= (get_enqueued_num_sub_groups() != (enqueued + most - 1) / most) << 2;
    bad |= (sub_group_reduce_add(1u) != size) << 3;
    bad |= (sub_group_broadcast((uint)get_local_id(0), size - 1) != first + size - 1) << 4;
    bad |= !sub_group_all(get_sub_group_local_id() < size) << 5;
    bad |= (sub_group_scan_exclusive_add(1u) != get_sub_group_local_id()) << 6;
    return bad;
}

kernel void any_size(global uint *o) { o[get_global_id(0)] = wrong(get_enqueued_local_size(0)); }

kernel __attribute__((reqd_work_group_size(44, 1, 1))) void of_44(global uint *o)
{
    o[get_global_id(0)] = wrong(44);
}
