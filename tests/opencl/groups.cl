// SPDX-License-Identifier: MIT
// Operations of the whole workgroup, asynchronous copies, generic pointers and what they lead to;
// several subgroups a workgroup, the last one not full; both devices give the same.
// RUN: for L in 8 50 100; do for W in 8 32; do for K in groups copies pointers; do \
// RUN:   alike %s 1 --entry $K --bind 0=rand:s32[400]@3 --bind 1=zeros:s32[1600] \
// RUN:     --bind 2=local:4096 --global 200 --local $L --subgroup-size $W || exit 1; done; done; done
kernel void groups(global const int *a, global int *r, local int *l)
{
    int i = get_global_id(0), x = a[i];
    global int *o = r + i * 8;
    o[0] = work_group_reduce_add(x);
    o[1] = work_group_scan_inclusive_max(x);
    o[2] = work_group_scan_exclusive_add(x);
    o[3] = work_group_broadcast(x, 5);
    o[4] = work_group_all(x > -100) + 2 * work_group_any(x > 125);
    o[5] = (int)work_group_reduce_min((float)x);
    o[6] = sub_group_reduce_add(x);
    o[7] = sub_group_scan_exclusive_max(x);
}

kernel void copies(global const int *a, global int *r, local int *l)
{
    int g = get_group_id(0), n = get_local_size(0), i = get_local_id(0);
    event_t e = async_work_group_copy(l, a + g * n, n, 0);
    wait_group_events(1, &e);
    l[n + i] = l[n - 1 - i];
    barrier(CLK_LOCAL_MEM_FENCE);
    e = async_work_group_copy(r + g * n, l + n, n, 0);
    wait_group_events(1, &e);
    e = async_work_group_strided_copy(l, a, n, 2, 0);
    wait_group_events(1, &e);
    r[400 + get_global_id(0)] = l[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    e = async_work_group_strided_copy(r + 800 + g * n * 2, l, n, 2, 0);
    wait_group_events(1, &e);
}

kernel void pointers(global const int *a, global int *r, local int *l)
{
    int i = get_global_id(0), own = a[i], j = get_local_id(0);
    l[j] = 2 * own;
    int *p = r + i;
    if (own % 3 == 0)
        p = l + j;
    else if (own % 3 == 1)
        p = &own;
    *p += 7;
    r[200 + i] = own;
    r[400 + i] = l[j];
    r[600 + i] = *p;
}
