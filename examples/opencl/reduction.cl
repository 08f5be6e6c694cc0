// SPDX-License-Identifier: MIT
// A sum of n numbers: each work-item adds up its share, the workgroup a tree in local memory, one
// number a workgroup is left.
//
//     heddle run examples/opencl/reduction.cl --global 256 --local 64
//         --bind 0=randn:f32[4096]@1 --bind 1=zeros:f32[4] --bind 2=list:s32:4096
//         --bind 3=local:256
kernel void reduction(global const float *x, global float *sums, int n, local float *shared)
{
    int local_id = get_local_id(0), size = get_local_size(0);
    float sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        sum += x[i];
    shared[local_id] = sum;
    for (int width = size / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (local_id < width)
            shared[local_id] += shared[local_id + width];
    }
    if (local_id == 0)
        sums[get_group_id(0)] = shared[0];
}
