// SPDX-License-Identifier: MIT
// Functions of OpenCL C as clang and LLVM's SPIR-V target leave them, some as calls that heddle
// turns into instructions: atomics, vector loads and stores, conversions, relational, integer and
// geometric functions. Both devices give the same, and
// so does heddle's own front end.
// RUN: for O in 1 2; do for K in atomics atomics2 vectors conversions functions ids; do \
// RUN:   alike %s 0 --entry $K --bind 0=zeros:s32[4096] --bind 1=randn:f32[4096]@5 \
// RUN:     --bind 2=rand:s32[4096]@6 --global 20,3,2 --local 8,2,1 || exit 1; done; done
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

int place(void) { return get_global_linear_id(); }

kernel void atomics(global int *r, global const float *f, global const int *a)
{
    int x = a[place()];
    local int sum, low;
    local uint high;
    if (get_local_linear_id() == 0)
        sum = 0, low = 1000, high = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sum, x);
    atomic_min(&low, x);
    atomic_max(&high, (uint)(x & 255));
    atomic_inc(r), atomic_dec(r + 1), atomic_sub(r + 2, x), atomic_and(r + 3, x), atomic_or(r + 4, x);
    atomic_xor(r + 5, x), atom_add(r + 6, 3), atomic_max((volatile global uint *)r + 7, (uint)x);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_linear_id() == 0)
        atomic_add(r + 8, sum), atomic_min(r + 9, low), atomic_max(r + 10, (int)high);
    r[100 + place()] = atomic_cmpxchg(r + 1000 + place(), 0, x) + atomic_xchg(r + 2000 + place(), x);
}

kernel void atomics2(global atomic_int *r, global const float *f, global const int *a)
{
    int x = a[place()], expected = 0;
    atomic_fetch_add(r, x);
    atomic_fetch_sub_explicit(r + 1, x, memory_order_relaxed);
    atomic_fetch_max(r + 2, x);
    atomic_fetch_min_explicit(r + 3, x, memory_order_acq_rel, memory_scope_device);
    atomic_fetch_max((global atomic_uint *)r + 4, (uint)x);
    atomic_store(r + 100 + place(), x);
    atomic_fetch_xor(r + 5, x);
    bool done = atomic_compare_exchange_strong(r + 300 + place(), &expected, x);
    atomic_store(r + 500 + place(), atomic_load(r + 100 + place()) + done + expected);
    if (!atomic_flag_test_and_set((global atomic_flag *)r + 900))
        atomic_fetch_add(r + 6, 1);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
}

kernel void vectors(global int *r, global const float *f, global const int *a)
{
    int i = place();
    float3 x = vload3(i, f);
    float8 y = vload8(i, f);
    vstore3(convert_int3_rte(x * 100), i, r);
    vstore4(convert_int4_sat(y.hi * 1e3f), i, r + 400);
    vstore_half(f[i], i, (global half *)(r + 1000));
    vstore_half4_rtz(y.lo, i, (global half *)(r + 1100));
    vstorea_half3_rtp(x, i, (global half *)(r + 1500));
    float4 z = vload_half4(i, (global const half *)f);
    vstore4(as_int4(z), i, r + 2000);
    uchar16 b = vload16(i, (global const uchar *)a);
    vstore16(b.sfdb97531eca86420, i, (global uchar *)(r + 2600));
    uint4 m = convert_uint4(vload4(i, a)) & 7;
    vstore4(as_int4(shuffle2(y.lo, y.hi, m)), i, r + 3200);
}

kernel void conversions(global int *r, global const float *f, global const int *a)
{
    int i = place();
    float x = f[i] * 200;
    global int *o = r + i * 16;
    o[0] = convert_int_rte(x), o[1] = convert_int_rtp(x), o[2] = convert_int_rtn(x);
    o[3] = convert_uchar_sat(x), o[4] = convert_char_sat_rte(x), o[5] = convert_uint_sat(x);
    o[6] = as_int(convert_float_rtz(a[i] * 1234567)), o[7] = as_int(convert_float_rtp(a[i] * 1234567));
    o[8] = as_short(convert_half_rtz(x)), o[9] = as_short(convert_half(x));
    o[10] = convert_short_sat((uint)a[i] * 1000), o[11] = convert_ushort_sat(a[i] * 1000);
    double d = convert_double(a[i]) / 3;
    o[12] = convert_int_rtn(d), o[13] = as_int(convert_float_rtn(d)), o[14] = convert_long(x) >> 1;
    o[15] = convert_uchar_sat((char)a[i]) + convert_char_sat((uchar)a[i]);
}

kernel void functions(global int *r, global const float *f, global const int *a)
{
    int i = place(), x = a[i], y = a[i + 1], z = a[i + 2];
    float4 g = vload4(i, f), h = vload4(i + 1, f);
    global int *o = r + i * 16;
    o[0] = mul24(x, y) + mad24(x, y, z) + mul_hi(x << 20, y << 20) + mad_hi(x << 20, y, z);
    o[1] = mad_sat(x << 20, y, z) ^ rotate(x, y) ^ popcount(x);
    o[2] = clz(x) + ctz(y | 1) * 100 + abs(z) * 1000 + abs_diff(x, y) * 1000000;
    o[3] = add_sat(x << 24, y << 24) ^ sub_sat(x << 24, y << 24);
    o[4] = hadd(x, y) + rhadd(x, z) * 1000 + upsample((short)x, (ushort)y);
    o[5] = min(x, y) + max(y, z) * 1000 + clamp(x, min(y, z), max(y, z)) * 1000000;
    o[6] = any(g > h) + 2 * all(isless(g, h)) + 4 * isnan(g.x) + 8 * isfinite(h.y) + 16 * signbit(g.z);
    o[7] = any((int4)(x, y, z, x)) + 2 * all((int4)(x, y, z, x));
    float4 s = select(g, h, isgreater(g, h)), b = bitselect(g, h, (float4)(1.5f, 2, 3, 4));
    o[8] = as_int(s.x), o[9] = as_int(s.w), o[10] = as_int(b.y);
    o[11] = as_int(fmax(g.x, g.y) + fmin(h.x, h.y) + copysign(g.z, h.z) + trunc(h.w));
    o[12] = convert_int(floor(g.x * 10) + ceil(g.y * 10) + rint(g.z * 10) + round(g.w * 10));
    o[13] = as_int(fmod(g.x * 100, h.x)) + as_int(nextafter(g.y, h.y)) + ilogb(g.x);
    int n;
    o[14] = as_int(frexp(h.x, &n)) + n;
    o[15] = as_int(step(g.x, h.x)) + as_int(sign(g.y)) + as_int(fdim(g.z, h.z));
}

kernel void ids(global int *r, global const float *f, global const int *a)
{
    global int *o = r + place() * 16;
    for (int d = 0; d < 3; d++) {
        o[d] = get_global_id(d) + 100 * get_local_id(d) + 10000 * get_group_id(d);
        o[3 + d] = get_global_size(d) + 100 * get_local_size(d) + 10000 * get_num_groups(d);
        o[6 + d] = get_enqueued_local_size(d) + 100 * get_global_offset(d);
    }
    o[9] = get_work_dim() + 10 * get_local_linear_id();
}
