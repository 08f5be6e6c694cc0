// SPDX-License-Identifier: MIT
// What C99 says and is easily forgotten: bit-fields as operands, designators into what is initialised
// already, macros that come by their names late, declarations within functions.
// VULKAN: no: bytes of structures
#include "kernel.h"
#include "guarded.h"
#include "guarded.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable

struct Bits {
    int a : 3;
    uint b : 5, c : 32;
    int : 0;
    char d : 2;
    long f : 40;
    ulong g : 20;
    short h : 9;
    uchar i;
    ushort j : 3;
};
struct __attribute__((packed)) Packed {
    char x;
    int a : 3;
    uint b : 13, c : 20;
    int d;
    short s : 7;
    long t : 50;
};
struct Nested {
    struct { uint p : 4; int q : 4; } in[2];
    uint r : 1;
};
struct Point { int x, y; };
struct Shape { struct Point p[2]; char s[4]; float4 v; };

KERNEL(bit_operands)
{
    BEGIN;
    struct Bits b = { x, y, z, x >> 3, (long)x * y, z, y, x, z };
    o[0] = (b.b - 31 < 0) + 2 * (b.c - 5 < 0) + 4 * (b.g - 5 < 0) + 8 * (-1 < b.b);
    o[1] = 16 * (b.j - 9 < 0) + 32 * (~b.b < 0) + 64 * (-b.b < 0) + 128 * (b.c > -1);
    o[2] = (b.b << 28) >> 28;
    o[3] = (b.g << 30) >> 8;
    o[4] = (b.b ? b.b : -1) > 0;
    o[5] = ((b.b += 3) - 40 < 0) + 2 * (--b.b - 40 < 0) + 4 * (b.b * -1 < 0);
    b.b /= -2;
    o[6] = b.b;
    o[7] = b.j++ + sizeof b;
}
KERNEL(bit_values) // an assignment's value is what is stored
{
    BEGIN;
    struct Bits b = { x, y, z };
    o[0] = b.a += 5;
    o[1] = b.b *= 7;
    o[2] = b.a = 7;
    o[3] = (b.d = 7) * 3;
    o[4] = (b.f = (long)x << 20) >> 16;
    o[5] = b.b--;
    o[6] = --b.b;
    o[7] = b.b ^= 0xff;
}
constant struct Bits bits[2] = { { 1, 2, 3, 1, -5, 7 }, { .g = 0xfffff, .h = -3, .j = 6 } };
constant struct Packed packed = { 1, 2, 3, 4, 5, 6, -7 };
KERNEL(bits_packed) // which may reach past a unit of their type, and that past the structure
{
    BEGIN;
    struct Packed b = { x, y, z, x, y, z, (long)x * y }, c = b;
    b.c += 3;
    b.t -= 9;
    o[0] = b.a ^ b.b << 3;
    o[1] = b.c;
    o[2] = b.d ^ b.s;
    o[3] = b.t;
    o[4] = b.t >> 32;
    o[5] = sizeof b + __alignof__(b) + c.x;
    o[6] = bits[x & 1].a + bits[x & 1].f + bits[1].h + bits[y & 1].j;
    o[7] = packed.c + packed.s * 16 + packed.t * 256;
}
KERNEL(bits_nested)
{
    BEGIN;
    struct Nested b = { { { x, y }, { .q = z } }, y }, a[3];
    b.in[x & 1].p |= 5;
    b.in[y & 1].q--;
    a[x % 3] = a[(x + 1) % 3] = b;
    a[x % 3].r ^= 1;
    o[0] = b.in[0].p + b.in[1].p * 16;
    o[1] = b.in[0].q * 16 + b.in[1].q;
    o[2] = b.r + 2 * a[x % 3].r;
    o[3] = a[(x + 1) % 3].in[0].q;
}
KERNEL(overrides)
{
    BEGIN;
    struct Point p = { x, y };
    struct { struct Point a; int b; } q = { .a = p, .a.y = 5, 6 };
    struct Point list[3] = { p, [2] = p, [0].x = 7, [1] = { .y = 3 }, [1].x = 4 };
    struct Shape s = { { (struct Point){ 1, z } }, .p[0].x = 9, .s = "abc", .v = { 1, 2, 3, 4 } };
    o[0] = q.a.x ^ q.a.y ^ q.b;
    o[1] = list[0].x * 3 ^ list[0].y ^ list[2].y;
    o[2] = list[1].x * 10 + list[1].y;
    o[3] = s.p[0].x ^ s.p[0].y ^ s.p[1].x;
    o[4] = s.s[x & 3] + (int)s.v.z;
}
constant float4 many[] = { 1, (float4)(5, 6, 7, 8), { 6, 7, 8, 9 }, 10 };
KERNEL(vectors_in_lists) // a number is all components
{
    BEGIN;
    struct { int4 v; int n; } s = { x, 5 };
    int4 four = { 5, 6, 7, 8 }, list[2] = { 1, four };
    o[0] = s.v.x + s.v.w + s.n;
    o[1] = list[0].y + list[1].z;
    o[2] = many[x & 3].y;
    o[3] = sizeof many;
}
KERNEL(shifts_of_widths)
{
    BEGIN;
    char4 c = as_char4(x);
    c = c << (int4)(y, z, 9, 300);
    long4 d = (long4)(x, y, z, -1) >> as_char4(y & 0x3f3f3f3f);
    ushort2 e = (ushort2)(x, y);
    e >>= (uint2)(3, 18);
    e <<= (ulong2)(1, 2);
    o[0] = as_uint(c);
    o[1] = d.x ^ d.y;
    o[2] = d.z ^ d.w;
    o[3] = as_uint(e);
}
KERNEL(declared_within)
{
    BEGIN;
    int later(int);
    extern constant int beyond;
    typedef int function(uint);
    function typed;
    o[0] = later(x) + beyond + typed(y);
    o[1] = GUARDED + true + 2 * false;
}
constant int beyond = 77;
int later(int a) { return a * 3; }
int typed(uint a) { return a >> 1; }

#define HASH(...) HASH_((__VA_ARGS__))
#define HASH_(s)                                                                                   \
    h = 7;                                                                                         \
    for (uint i = 0; i < sizeof s; i++)                                                            \
    h = h * 31 + (uchar)(s)[i]
#define TEXT(...) #__VA_ARGS__
#define EXPANDED(...) TEXT(__VA_ARGS__)
#define X 2
#define F(a) F(X * (a))
#define G F
#define Z Z[0]
#define T(a) a
#define P() int
#define Q(x) x
#define R(x, y) x##y
#define R3(x, y, z) x##y##z
#define REST(a, ...) [a|__VA_ARGS__]
#define AGAIN(x) x AGAIN
#define HASHES # ## #
#define JOIN(c, d) TEXT_IN(c HASHES d)
#define TEXT_IN(a) TEXT(a)
KERNEL(texts) // C99, 6.10.3.5
{
    BEGIN;
    uint h;
    HASH(EXPANDED(F(y + 1) + F(F(Z)) % T(T(G)(0) + T)(1);));
    o[0] = h;
    HASH(EXPANDED(P() i[Q()] = { Q(1), R(2, 3), R(4, ), R(, 5), R(, ) };));
    o[1] = h;
    HASH(EXPANDED(R3(1, 2, 3), R3(, 4, 5), R3(6, , 7), R3(8, 9, ), R3(10, , ), R3(, , )));
    o[2] = h;
    HASH(EXPANDED(REST(1) REST(1, ) REST(1, 2, 3) REST() REST((1, 2), (3, 4))));
    o[3] = h;
    HASH(EXPANDED(AGAIN(1)(2)(3) AGAIN (4) T(AGAIN)(5)));
    o[4] = h;
    HASH(EXPANDED(- - 1 -T()- + + -R(-, -) R(+, =) R(<, <=) R(., 5) R(1, .) R(x, 1)));
    o[5] = h;
    HASH(JOIN(x, y) TEXT(  a  "b\n" '\'' +  c ));
    o[6] = h;
    HASH("\a\b\f\n\r\t\v\\\'\"\?\0\x7f\177\1\18\xffz");
    o[7] = h + 'ab' + 'abcd' + '\xff';
}
#if 0
What is left out need not be tokens: don't, "
#endif
%: define DIGRAPHS <: 2 :>
KERNEL(digraphs)
<%
    BEGIN;
    int list DIGRAPHS = <% x, y %>;
    o<:0:> = list<:1:>;
# 1000 "elsewhere.cl"
    o[1] = __LINE__;
#line 2000
    o[2] = __LINE__ + sizeof __FILE__;
%>
KERNEL(any_of_one) // clang's any() of a scalar is no valid SPIR-V
{
    BEGIN;
    o[0] = any((char)x) + 2 * all((long)y << 32) + 4 * any((int)z);
}
