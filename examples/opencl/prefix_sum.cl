// SPDX-License-Identifier: MIT
// Sums of all numbers up to each one, in blocks of a workgroup: a scan in local memory that doubles
// its reach at each step; the blocks' totals are scanned by the same kernel, and added.
//
//     heddle run examples/opencl/prefix_sum.cl --entry scan --global 1024 --local 64
//         --bind 0=full:1:s32[1024] --bind 1=zeros:s32[1024] --bind 2=zeros:s32[16]
//         --bind 3=list:s32:1024 --bind 4=local:256
kernel void scan(global const int *x, global int *sums, global int *totals, int n,
                 local int *shared)
{
    int i = get_global_id(0), l = get_local_id(0), size = get_local_size(0);
    shared[l] = i < n ? x[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 1; reach < size; reach *= 2) {
        int below = l >= reach ? shared[l - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[l] += below;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n)
        sums[i] = shared[l];
    if (l == size - 1)
        totals[get_group_id(0)] = shared[l];
}

kernel void add_blocks(global int *sums, global const int *totals, int n)
{
    int i = get_global_id(0), block = get_group_id(0);
    if (i < n && block > 0)
        sums[i] += totals[block - 1];
}
