// SPDX-License-Identifier: MIT
//
// Vectors: literals, components, operators, conversions, built-in functions.
//
// RUN: %heddle compile %s --emit spirv -o %t.spv && %spirv-val %t.spv
// RUN: alike %s 0 --entry k --bind 0=zeros:s32[4096] --bind 1=randn:f32[64]@3 --global 32 --local 16

// clang's any() of vectors is no valid SPIR-V in LLVM 22.
#ifdef __clang__
#define ANY_ALL ((b.x > 3 || b.y > 3 || b.z > 3 || b.w > 3) + \
                 2 * (b.x > -100 && b.y > -100 && b.z > -100 && b.w > -100))
#else
#define ANY_ALL (any(b > 3) + 2 * all(b > -100))
#endif
float4 f(float4 a, int4 b) { return a * convert_float4(b) + a.wzyx; }
kernel void k(global int *out, global float *in)
{
    int g = get_global_id(0), n = 0;
    global int *o = out + g * 64;
    float4 a = (float4)(in[g], in[g + 1], 2, 3); int4 b = (int4)(g, 2, (int2)(3, -g));
    uchar4 q = (uchar4)(g, 255, 3, 4); short8 s8 = (short8)(1, 2, 3, 4, 5, 6, 7, g);
    float4 r = f(a, b); o[n++] = r.x * 16; o[n++] = r.s3 * 16; r.xz = a.yx; r.w += 1;
    o[n++] = r.z * 16; o[n++] = r.w * 8; r.lo = r.hi; o[n++] = r.x * 8; o[n++] = r.even.y * 8;
    r.odd = (float2)(7, g); o[n++] = r.w;
    int4 c = a < r; o[n++] = c.x + c.y * 2; c = b == (int4)3; o[n++] = c.z; c = !b; o[n++] = c.x;
    c = b && 1; o[n++] = c.w; c = b ? b : 7; o[n++] = c.x + c.w; c = -b; o[n++] = c.w; c = b << 3;
    o[n++] = c.w; c = ~b >> (int4)(1, 2, 3, 4); o[n++] = c.x;
    q += (uchar4)10; o[n++] = q.x + q.y * 256; q = q * (uchar)3; o[n++] = q.z;
    q = convert_uchar4_sat(b * 100); o[n++] = q.x + q.y + q.w * 1000;
    o[n++] = convert_int4_rte(a * 2.25f).x; o[n++] = 0;
    o[n++] = 0; o[n++] = convert_short_sat(g * 40000);
    o[n++] = convert_uint_sat(-a.x); 
    o[n++] = as_int4(a).y; o[n++] = as_uint(as_float(g)); o[n++] = as_short2(g * 77777).y;
    o[n++] = as_char4(a.x).z; o[n++] = as_int3(b).z; 
    s8.s0246 = s8.s1357; o[n++] = s8.s0 + s8.s6; s8.hi.lo.x = 50; o[n++] = s8.s4; o[n++] = s8.s7;
    s8++; o[n++] = s8.s7; 
    o[n++] = dot(a, a) * 4; o[n++] = length(a.xyz) * 4;
    o[n++] = cross(a.xyz, (float3)(1, 2, 3)).y * 4; o[n++] = normalize(a).x * 1000;
    o[n++] = distance(a.xy, a.zw) * 8; 
    o[n++] = max(b, 2).x; o[n++] = min(b, (int4)(1)).w; o[n++] = clamp(g, 2, 5);
    o[n++] = clamp(a, 0.5f, 2.5f).x * 8; o[n++] = mix(a, r, 0.5f).x * 8; o[n++] = step(1.0f, a).x;
    o[n++] = select(b, c, (int4)(-1, 0, -1, 0)).y; o[n++] = select(g, 5, g > 3);
    o[n++] = ANY_ALL; o[n++] = bitselect(g, 0xff, 0x0f);
    o[n++] = isequal(a, a).x + isnan(in[g]) + isless(1.0f, in[g]);
    o[n++] = vload3(0, (global int *)in).z; int2 v2 = vload2(g, (global int *)in); o[n++] = v2.x;
    vstore2((int2)(5, g), 0, o + n); n += 2; 
    uint3 t = (uint3)(1, 2, 3); t.yz *= 2; o[n++] = t.z; uint3 tt[2] = { t, t.zyx };
    o[n++] = tt[1].x; float16 w = (float16)(1); w.s89AB = a; o[n++] = w.sa; o[n++] = w.sF;
    int idx = g & 3; o[n++] = a[idx] * 2; b[idx] = 77; o[n++] = b.y; 
    int4 z = (int4)( 1, 2,0,0 ); o[n++] = z.y + z.z; o[n++] = (g > 2 ? a : r).x * 4;
    o[n++] = shuffle(b, (uint4)(3, 2, 1, 0)).w;
}
