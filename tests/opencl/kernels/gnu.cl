// SPDX-License-Identifier: MIT
// What programs use of GNU C: statements in expressions, typeof, ranges of cases, __builtin_.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"
#ifndef __HEDDLE__ /* clang has no such word in OpenCL C */
#define typeof __typeof__
#endif

#define MAX(a, b) ({ __typeof__(a) p_ = (a); __typeof__(b) q_ = (b); p_ > q_ ? p_ : q_; })

typedef struct Pair { uint a; float b; } Pair;

uint early(uint x)
{
    uint y = ({ if (x & 1) return 7; x * 3; });
    return y + 1;
}

KERNEL(statements)
{
    BEGIN;
    o[0] = MAX(x, MAX(y, z));
    o[1] = ({ uint s = 0; for (uint k = 0; k < (x & 7); k++) s += in[k]; s; }) + 1;
    Pair p = ({ Pair q = { x, 2.5f }; q.a ^= y; q; });
    o[2] = p.a + (uint)p.b;
    o[3] = early(x) + early(y);
    uint i = 0;
    for (uint k = 0; k < 9; k++)
        i += ({ if (k == (x & 3)) continue; if (k > 3 + (y & 3)) break; in[k] & 15; });
    o[4] = i;
    ({ o[5] = z; });
    uint4 v = ({ uint4 w = { x, y, z, 1 }; w.yxwz; });
    v.x += ({ v.y++; v.z; });
    o[6] = v.x + v.y * 3 + v.z * 5 + v.w * 7;
    o[7] = x & 1 ? ({ uint t = y; t /= 3; t; }) : ({ z; });
}

KERNEL(types)
{
    BEGIN;
    const uint c = 5;
    typeof(0 ? x : 1u) a = x;
    __typeof__(in) p = in + 3;
    __typeof(uint[3]) list = { x, y, z };
    typeof(list) other = { 1, 2, 3 };
    typeof((uchar)1 + (short)2) sum = -3;
    typeof(1 ? x : 2.0f) number = 2.5f;
    typeof(c + 0) changed = c;
    changed += a;
    o[0] = a + *p;
    o[1] = list[1] * other[2];
    o[2] = sizeof(sum) + sum;
    o[3] = number * 2;
    o[4] = changed;
    o[5] = sizeof(typeof(list));
    typeof(*p) *q = in + 7;
    o[6] = *q + sizeof(typeof(*q));
}

uint ranged(uint x)
{
    switch (x) {
    case 0 ... 9: return 1;
    case 10: return 2;
    case 11 ... 11: return 3;
    default: return 4;
    case 'a' ... 'z': x++;
    case 0xfffffff0 ... 0xffffffff: return x;
    }
}

int signed_ranges(int x)
{
    int r = 0;
    switch (x) {
    case -100 ... -1: r = 1;
    case 0: r += 2; break;
    case 1 ... 3: r = 5; break;
    case 5 ... 2147483647: r = 9;
    }
    return r;
}

ulong wide(ulong x)
{
    switch (x) {
    case 0x100000000 ... 0x1ffffffff: return 1;
    case 7: return 2;
    }
    return 3;
}

KERNEL(ranges)
{
    BEGIN;
    o[0] = ranged(x % 14) + ranged(y & 127) * 16;
    o[1] = ranged(0xffffffe8 + (z & 31));
    o[2] = signed_ranges((int)(x & 7)) + signed_ranges((int)y) * 16;
    o[3] = signed_ranges(-95 - (int)(z & 7));
    o[4] = wide((ulong)(x & 3) << 32 | y) + wide(z & 7) * 4;
}

KERNEL(builtins)
{
    BEGIN;
    ulong w = (ulong)x << 32 | y;
    if (__builtin_expect(x & 1, 0))
        o[0] = 3;
    o[1] = __builtin_popcount(x) + __builtin_popcountl(w) * 100 + __builtin_popcountll(w) * 10000;
    o[2] = __builtin_clz(x | 1) + __builtin_clzl(w | 1) * 100;
    o[3] = __builtin_ctz(y | 256) + __builtin_ctzl(w << 40 | 1l << 50) * 100;
    o[4] = __builtin_bswap32(x) ^ __builtin_bswap16((ushort)y);
    o[5] = (uint)(__builtin_bswap64(w) >> 13);
    o[6] = __builtin_ffs(x & 48) + __builtin_ffs(0) + __builtin_parity(y) * 100;
    o[7] = __builtin_offsetof(Pair, b) + __builtin_abs(-(int)(z & 255));
}
