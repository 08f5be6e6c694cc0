// SPDX-License-Identifier: MIT
//
// Mathematical and integer functions.
//
// RUN: %heddle compile %s --emit spirv -o %t.spv && %spirv-val %t.spv
// RUN: alike %s 0 --entry k --bind 0=zeros:s32[4096] --bind 1=randn:f32[64]@3 --global 32 --local 16

kernel void k(global int *out, global float *in)
{
    int g = get_global_id(0), n = 0;
    global int *o = out + g * 64;
    float x = in[g] , y = x * 0.3f + 1; int e; float ip;
    o[n++] = sin(x) * 4096; o[n++] = cos(x) * 4096; o[n++] = exp(x) * 256;
    o[n++] = log(y * y + 1) * 4096; o[n++] = sqrt(fabs(x)) * 4096;
    o[n++] = pow(fabs(x) + 1, 2.5f) * 64; o[n++] = fma(x, y, 1.0f) * 1024;
    o[n++] = floor(x) + ceil(y) * 10 + round(x) * 100 + trunc(x) * 1000 + rint(x) * 10000;
    o[n++] = fmod(x, 0.7f) * 4096; o[n++] = frexp(y, &e) * 4096; o[n++] = e;
    o[n++] = modf(x, &ip) * 4096; o[n++] = ip; o[n++] = fract(x, &ip) * 4096;
    o[n++] = ldexp(x, 3) * 64; o[n++] = ilogb(y); o[n++] = hypot(x, y) * 1024;
    o[n++] = atan2(x, y) * 4096; o[n++] = sincos(x, &ip) * 4096; o[n++] = copysign(y, x) * 1024;
    o[n++] = fmin(x, y) * 1024; o[n++] = fdim(x, y) * 1024; o[n++] = native_sin(x) * 256;
    o[n++] = half_exp(x) * 64; o[n++] = tanh(x) * 4096; o[n++] = cbrt(x) * 4096;
    o[n++] = mad(x, y, 2) * 256; o[n++] = pown(x, 3) * 64; o[n++] = rsqrt(y * y) * 1024;
    o[n++] = sign(x); o[n++] = degrees(x) ;
    o[n++] = exp2(x) * 64 + log2(y*y+1) * 8 + exp10(x * 0.1f) * 8; o[n++] = nextafter(x, y) == x;
    o[n++] = signbit(x) + 2 * isfinite(y) + 4 * isnormal(x);
    int a = g * 12345 - 50000; uint u = a; short s = a; uchar c = g * 17;
    o[n++] = abs(a); o[n++] = abs_diff(a, 7); o[n++] = add_sat(s, (short)30000);
    o[n++] = hadd(a, 5) + rhadd(u, 3u); o[n++] = clz(u) + clz(s) * 100 + clz(c) * 10000;
    o[n++] = mad_hi(a, 99999, 3); o[n++] = mul_hi(u, 99999u); o[n++] = rotate(u, 5u);
    o[n++] = sub_sat(c, (uchar)100); o[n++] = upsample(s, (ushort)7);
    o[n++] = popcount(u) + popcount(c) * 100; o[n++] = mad24(g, 100, 3) + mul24(g, g);
    o[n++] = mad_sat(a, 100000, 5); o[n++] = ctz(u | 256u);
    o[n++] = (int)mul_hi((ulong)u << 20, (ulong)12345 << 30);
    o[n++] = smoothstep(0.0f, 1.0f, x) * 4096; o[n++] = radians(x) * 4096;
    o[n++] = fast_length((float2)(x, y)) * 16; o[n++] = remainder(x, y) * 1024;
    o[n++] = maxmag(x, y) * 64; int qu; o[n++] = remquo(x, 0.7f, &qu) * 1024; o[n++] = qu & 7;
    o[n++] = as_int(nan(5u)) != 0; o[n++] = tgamma(fabs(x) + 1) * 16;
    o[n++] = lgamma_r(y + 3, &e) * 64; o[n++] = erf(x) * 4096;
    vstore_half(x, g, (global half *)(out + 32 * 64));
    o[n++] = vload_half(g, (global half *)(out + 32 * 64)) * 512;
}
