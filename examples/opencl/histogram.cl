// SPDX-License-Identifier: MIT
// How often each byte occurs: a histogram a workgroup in local memory, then one for all, both with
// atomics.
//
//     heddle run examples/opencl/histogram.cl --global 256 --local 64
//         --bind 0=rand:u8[4096]@1 --bind 1=zeros:s32[256] --bind 2=list:s32:4096
#define BINS 256
kernel void histogram(global const uchar4 *bytes, global int *bins, int n)
{
    local int shared[BINS];
    for (int i = get_local_id(0); i < BINS; i += get_local_size(0))
        shared[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n / 4; i += get_global_size(0)) {
        uchar4 four = bytes[i];
        atomic_inc(&shared[four.x]);
        atomic_inc(&shared[four.y]);
        atomic_inc(&shared[four.z]);
        atomic_inc(&shared[four.w]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < BINS; i += get_local_size(0))
        atomic_add(&bins[i], shared[i]);
}
