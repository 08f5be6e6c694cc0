// SPDX-License-Identifier: MIT
// Statements: loops, selections, jumps, calls.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"

uint twice(uint a) { return a * 2; }
uint collatz(uint n)
{
    uint steps = 0;
    while (n != 1 && steps < 64) {
        n = n & 1 ? n * 3 + 1 : n / 2;
        ++steps;
    }
    return steps;
}
uint early(uint a)
{
    if (a & 1)
        return 1;
    for (int i = 0; i < 10; i++)
        if ((a >> i & 7) == 5)
            return i + 2;
    return a & 2 ? 40 : 50;
}
void both(uint *a, uint *b)
{
    uint t = *a;
    *a = *b;
    *b = t;
}

KERNEL(counted)
{
    BEGIN;
    uint s = 0;
    for (uint i = 0; i < (x & 15); i++)
        s += i * y;
    o[0] = s;
    for (int i = 10, j = 0; i > j; i -= 2, j++)
        s ^= i << j;
    o[1] = s;
    for (uint i = y; i; i >>= 1)
        s++;
    o[2] = s;
}
KERNEL(nested)
{
    BEGIN;
    uint s = 0;
    for (uint i = 0; i < (x & 7) + 1; i++)
        for (uint j = i; j < 8; j++) {
            if ((i ^ j) == (y & 7))
                continue;
            if (j > (z & 7))
                break;
            s = s * 3 + i + j;
        }
    o[0] = s;
}
KERNEL(do_while)
{
    BEGIN;
    uint s = x, n = 0;
    do {
        s = s * 5 + 1;
        if (s % 11 == 0)
            break;
    } while (++n < (y & 15));
    o[0] = s;
    o[1] = n;
}
KERNEL(forever)
{
    BEGIN;
    uint s = x & 0xff;
    for (;;) {
        if (s > 1000)
            break;
        s += 1 + (s >> 3);
        if (s & 8)
            continue;
        s += 3;
    }
    o[0] = s;
    o[1] = collatz((y & 31) + 1);
}
KERNEL(switches)
{
    BEGIN;
    uint s = 0;
    switch (x % 7) {
    case 0:
        s = 1;
        break;
    case 1:
        s = 2;
    case 2:
        s += 10;
        break;
    case 4: {
        s = y;
        break;
    }
    default:
        s = 99;
    case 5:
        s ^= 7;
    }
    o[0] = s;
    switch ((char)y) {
    case -1: o[1] = 1; break;
    case 'a': o[1] = 2; break;
    case 5: o[1] = 3; break;
    }
}
KERNEL(switch_in_loop)
{
    BEGIN;
    uint s = 0;
    for (int i = 0; i < 12; i++) {
        switch (x >> i & 3) {
        case 0: continue;
        case 1: s += i; break;
        case 2: s ^= y; break;
        case 3:
            if (s & 1)
                break;
            s <<= 1;
        }
        if (s > 0x80000000)
            break;
        s++;
    }
    o[0] = s;
}
KERNEL(ternary_and_logic)
{
    BEGIN;
    o[0] = x > y ? y > z ? 1 : 2 : x > z ? 3 : 4;
    o[1] = (x & 1) && (y & 1) || !(z & 1);
    uint n = 0;
    if ((n = x & 3) && n++ < 3 || (n += 10))
        n *= 2;
    o[2] = n;
    o[3] = x && y ? z : 0;
    o[4] = (x & 2 ? (int)y : -1) < 0;
}
KERNEL(jumps)
{
    BEGIN;
    uint s = x & 63, n = 0;
again:
    n++;
    if (s > 40)
        goto done;
    s += (y & 7) + 1;
    if (n < 30)
        goto again;
    s = 0;
done:
    o[0] = s;
    o[1] = n;
}
KERNEL(calls)
{
    BEGIN;
    o[0] = early(x) + twice(early(y));
    o[1] = collatz(early(z)) + twice(twice(x));
    both(&x, &y);
    o[2] = x - y;
}
KERNEL(leave_early)
{
    BEGIN;
    o[0] = 1;
    if (x & 1)
        return;
    o[1] = 2;
    for (uint i = 0; i < 8; i++) {
        if ((y >> i & 3) == 3)
            return;
        o[2] = i;
    }
    o[3] = 3;
}
KERNEL(scopes)
{
    BEGIN;
    uint n = 1;
    {
        uint n = x;
        {
            uint n = 5;
            o[0] = n;
        }
        o[1] = n;
        n++;
    }
    for (uint n = 3; n < 5; n++)
        o[2] = n;
    o[3] = n;
}
KERNEL(declarations)
{
    BEGIN;
    const uint a = x, *p = &a, b[] = { 1, 2, a }, (*q)[3] = &b;
    o[0] = *p + (*q)[2] + b[x % 3];
    typedef struct { int v; } Local;
    Local s = { y }, t = s;
    o[1] = t.v + sizeof(Local);
    enum Colour { RED = 3, GREEN, BLUE = GREEN * 2 } c = BLUE;
    o[2] = c + RED;
    unsigned u = z;
    long long_ = u;
    o[3] = long_ >> 3;
}
