// SPDX-License-Identifier: MIT
// What a shader's environment does otherwise than OpenCL's.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

KERNEL(work_groups)
{
    BEGIN;
    o[0] = work_group_reduce_add(x & 0xff) + work_group_reduce_max(y);
    o[1] = work_group_scan_exclusive_add(x & 0xff);
    o[2] = work_group_scan_inclusive_min((int)y);
    o[3] = work_group_broadcast(x, 3);
    o[4] = work_group_any(x & 1) + 2 * work_group_all(x & 1);
}
KERNEL(async_copies)
{
    local uint a[32], b[16];
    BEGIN;
    event_t e = async_work_group_copy(a, in + get_group_id(0), 32, 0);
    e = async_work_group_strided_copy(b, in, 16, 3, e);
    wait_group_events(1, &e);
    o[0] = a[l * 2] ^ b[15 - l];
    prefetch(in, 16);
}
KERNEL(wide_vectors)
{
    BEGIN;
    uint8 v = (uint8)(x, y, z, 1, 2, 3, 4, 5);
    uint16 w = (uint16)(v, v.s76543210);
    o[0] = w.s8 + w.sF + v.hi.s2;
    w *= w.sfedcba9876543210;
    w.s0246 = w.s1357;
    o[1] = w.s0 ^ w.s4 ^ w.se;
    float8 f = convert_float8(v) * 0.5f;
    o[2] = as_uint(f.s1);
    o[3] = convert_uchar8_sat(as_int8(v >> (uint8)20)).s2;
    vstore8(v + 1u, 0, o);
}
KERNEL(one_or_another)
{
    local uint shared[16];
    BEGIN;
    uint own = y;
    shared[l] = x;
    uint *p = x & 1 ? (uint *)&own : (uint *)&shared[l];
    o[0] = *p;
    o[1] = to_local(p) != 0;
    o[2] = get_fence(&shared[0]) == CLK_LOCAL_MEM_FENCE;
}
KERNEL(addresses)
{
    BEGIN;
    o[0] = ((size_t)&o[3] - (size_t)o) + ((uintptr_t)in & 3);
    global uint *p = (global uint *)((size_t)o + 4);
    *p = x;
}
KERNEL(sums_of_exponents)
{
    BEGIN;
    int e;
    float a = (float)(int)x / 1024;
    o[0] = as_uint(frexp(a, &e));
    o[1] = e;
    o[2] = ilogb(a + 0.5f);
    o[3] = as_uint(logb(a + 0.5f));
    o[4] = as_uint(nextafter(a, 1e9f));
    o[5] = as_uint(remainder(a, 3.0f));
    o[6] = as_uint(remquo(a, 3.5f, &e));
    o[7] = as_uint(fmod(a, 7.0f));
}
KERNEL(other_roundings)
{
    BEGIN;
    global half *h = (global half *)o;
    float a = (float)(int)x / 65536 / 7;
    vstore_half_rtz(a, 0, h);
    vstore_half_rtp(a, 1, h);
    vstore_half4_rtn((float4)(a, 1, 2, 0.1f), 1, h);
    o[4] = as_uint(convert_float_rtz(x));
    o[5] = as_uint(convert_float_rtp((int)y));
    o[6] = as_uint(convert_float_rtn((double)(int)z / 3));
}
kernel void inner(global uint *p, uint v) { p[1] = v; }
KERNEL(kernels_call_kernels)
{
    BEGIN;
    inner(o, x);
    o[0] = y;
}
