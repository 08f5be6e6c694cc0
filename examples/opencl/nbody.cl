// SPDX-License-Identifier: MIT
// Gravity of n bodies on each other: positions with the mass in w, a tile of them at a time in
// local memory.
//
//     heddle run examples/opencl/nbody.cl --global 256 --local 64
//         --bind 0=randn:f32[256,4]@1 --bind 1=zeros:f32[256,4] --bind 2=list:s32:256
//         --bind 3=list:f32:0.01
#define TILE 64
kernel void nbody(global const float4 *bodies, global float4 *forces, int n, float softening)
{
    local float4 tile[TILE];
    int l = get_local_id(0);
    float4 own = bodies[get_global_id(0)];
    float3 force = 0;
    for (int start = 0; start < n; start += TILE) {
        tile[l] = bodies[start + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) {
            float3 d = tile[k].xyz - own.xyz;
            float inverse = rsqrt(dot(d, d) + softening);
            force += d * (tile[k].w * inverse * inverse * inverse);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    forces[get_global_id(0)] = (float4)(force, 0);
}
