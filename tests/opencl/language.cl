// SPDX-License-Identifier: MIT
//
// C as OpenCL C has it: structures, unions, bit-fields, control flow, integers of all widths, pointers.
//
// RUN: %heddle compile %s --emit spirv -o %t.spv && %spirv-val %t.spv
// RUN: alike %s 0 --entry k --bind 0=zeros:s32[4096] --bind 1=randn:f32[64]@3 --global 32 --local 16

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
typedef struct { int a; float b; char c[3]; } S;
typedef union { float f; uint u; uchar b[4]; } U;
struct B { uint x : 5; int y : 7; uint z : 20; int w; };
enum E { P, Q = 7, R };
constant float coef[4] = { 0.5f, 1.5f, [3] = -2.0f };
constant S cs[2] = { { 1, 2.5f, { 'a', 'b' } }, { .b = 3.0f, .a = 9 } };
int fact(int n) { int r = 1; while (n > 1) r *= n--; return r; }
S make(int a, float b) { S s = { a, b, { 1, 2, 3 } }; return s; }
float sum(S s) { return s.a + s.b + s.c[0] + s.c[2]; }
void swap(private int *a, private int *b) { int t = *a; *a = *b; *b = t; }
kernel void k(global int *out, global float *in)
{
    int g = get_global_id(0), n = 0;
    global int *o = out + g * 64;
    S s = make(g, in[g]);
    s.c[1] += 5; S t = s; t.a = -t.a;
    o[n++] = (int)sum(s); o[n++] = (int)(sum(t) * 16);
    U u; u.f = in[g]; o[n++] = u.u; o[n++] = u.b[3]; u.b[2] ^= 0x80; o[n++] = as_int(u.f);
    struct B b = { g, -g, 1000 * g }; b.x += 3; b.y--; o[n++] = b.x; o[n++] = b.y; o[n++] = b.z;
    b.w = 5; o[n++] = b.w + b.y;
    enum E e = g & 1 ? Q : R; o[n++] = e;
    switch (g % 5) { case 0: o[n] = 1; case 1: o[n] = 10; break; case 2: { o[n] = 20; break;
    } default: o[n] = 99; break; case 4: o[n] = 7; }
    n++;
    int x = g, y = 100; swap(&x, &y); o[n++] = x * 1000 + y;
    int arr[8] = { 1, 2, 3 }; for (int i = 0; i < 8; i++) { if (i == 2) continue; arr[i] += i * g;
    if (i > 5) break; }
    int acc = 0; do { acc += arr[acc & 7]; acc++; } while (acc < 50); o[n++] = acc;
    o[n++] = fact(g % 9); o[n++] = (int)(coef[g & 3] * 8) + cs[g & 1].a + cs[1].c[0] + cs[0].c[1];
    int i = 0; again: i += 3; if (i < g) goto again; o[n++] = i;
    o[n++] = g > 3 && g < 9 || g == 12; o[n++] = !g + ~g; o[n++] = -g % 7; o[n++] = g / -3;
    o[n++] = g << 33; o[n++] = -g >> 2; o[n++] = (uint)-g >> 28;
    char c = g * 37; uchar uc = g * 37; short sh = g * 7777; ushort us = g * 7777;
    long l = (long)g * 0x100000001L; ulong ul = l;
    o[n++] = c; o[n++] = uc; o[n++] = sh; o[n++] = us; o[n++] = l >> 3; o[n++] = (int)(ul >> 31);
    o[n++] = c * uc; o[n++] = c < uc; o[n++] = (c + us) / 3;
    o[n++] = sizeof(S) + sizeof(U) * 100 + sizeof(struct B) * 1000 + sizeof(float3) * 10000;
    o[n++] = (g, g + 1); o[n++] = (g ? g : 5) + (g > 4 ? 1.5f : g); bool bo = g & 2;
    o[n++] = bo + bo; bo = in[g]; o[n++] = bo;
    int (*pa)[4] = (int (*)[4])arr; o[n++] = pa[1][2]; private int *p = arr + 7; o[n++] = p - arr;
    o[n++] = *--p; o[n++] = p[-2]; p += 1; o[n++] = p == &arr[7];
    o[n++] = ((S[]){ { 1 }, { 2, 3 } })[g & 1].a; float2 f2 = (float2){ 1, 2 }; o[n++] = f2.y;
    double d = in[g] * 1.0 / 3; o[n++] = (int)(d * 1e6); half h = (half)in[g];
    h = h * 2.0h + 1.0h; o[n++] = (int)(h * 4.0h); o[n++] = (int)(float)h;
    o[n++] = "hello"[g % 5]; o[n++] = 8; float ff = in[g]; ff *= 2; ff -= 1; ff /= 3;
    o[n++] = (int)(ff * 100);
    uint ui = g; ui -= 5; o[n++] = ui > 3; o[n++] = (int)ui < 3; ui |= 0x10; ui ^= 3; ui &= ~1u;
    ui <<= 1; ui >>= 2; ui %= 17; o[n++] = ui;
}
