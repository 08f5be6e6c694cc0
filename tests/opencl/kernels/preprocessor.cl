// SPDX-License-Identifier: MIT
// The preprocessor, predefined macros, attributes.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
#include "kernel.h"
#include "kernel.h" // guarded by nothing: the same definitions again

#define ADD(a, b) ((a) + (b))
#define PASTE(a, b) a##b
#define NAME(n) PASTE(value_, n)
#define TEXT(a) #a
#define EXPANDED(a) TEXT(a)
#define LAST(first, ...) ADD(first, __VA_ARGS__)
#define EMPTY
#define NOTHING()
#define LONG_ONE(a) \
    ((a) * \
     3)

uint __attribute__((overloadable)) kind(uint a) { return 1; }
uint __attribute__((overloadable)) kind(float a) { return 2; }
uint __attribute__((overloadable)) kind(uint2 a) { return 3 + a.x; }
inline static uint helper(uint a) __attribute__((always_inline));
static uint helper(uint a) { return a ^ 3; }
#define helper(a) helper(a + 1) // which names itself

KERNEL(macros)
{
    BEGIN;
    uint value_7 = x;
    o[0] = ADD(NAME(7), y) + LAST(1, z) EMPTY NOTHING();
    o[1] = sizeof(EXPANDED(ADD(1, 2))) + sizeof TEXT("a\n");
    o[2] = LONG_ONE(ADD(1, ADD(2, 3)));
    o[3] = __LINE__;
}
KERNEL(conditions)
{
    BEGIN;
#if defined(__OPENCL_C_VERSION__) && __OPENCL_C_VERSION__ >= 120 && !defined(NEVER)
    o[0] = 1;
#elif 1
    o[0] = 2;
#else
#error not reached
#endif
#ifndef ADD
    o[1] = 1;
#else
    o[1] = (1 ? 5u - 6 > 0 : 0) + (-1 >> 1 < 0);
#endif
#undef ADD
#ifdef ADD
    o[2] = 1;
#else
    o[2] = 3;
#endif
#if 'a' == 97 && 0x10 == 16 && (2 || 1 / 0)
    o[3] = __ENDIAN_LITTLE__;
#endif
}
KERNEL(limits)
{
    BEGIN;
    o[0] = INT_MAX ^ CHAR_MIN ^ SHRT_MIN ^ UCHAR_MAX ^ USHRT_MAX;
    o[1] = (ULONG_MAX >> 40) + (LONG_MIN >> 50);
    o[2] = as_uint(FLT_MAX) ^ as_uint(FLT_EPSILON) ^ as_uint(INFINITY);
    o[3] = as_uint(M_PI_F) ^ as_uint((float)M_E) ^ FLT_DIG ^ DBL_MAX_EXP;
    o[4] = CLK_LOCAL_MEM_FENCE + CLK_GLOBAL_MEM_FENCE * 16 + CHAR_BIT;
    o[5] = isnan(NAN) + (HUGE_VALF == INFINITY);
}
KERNEL(overloads)
{
    BEGIN;
    o[0] = kind(x) + kind(1.0f) * 10 + kind((uint2)(x, y));
    o[1] = helper(x);
}
KERNEL(strings_and_comments)
{
    BEGIN;
    constant char *s = "a\tb" "c\\\"" /* between */ "\x31";
    o[0] = s[x % 7]; // a comment \
    o[0] = 99;
    o[1] = 10 /* inner */ / 2;
    o[2] = sizeof("") + sizeof "\0\0" + sizeof(__func__);
    o[3] = __func__[x % 8];
}
__attribute__((work_group_size_hint(16, 1, 1))) __attribute__((vec_type_hint(uint4)))
KERNEL(attributes)
{
    BEGIN;
    typedef uint Aligned __attribute__((aligned(16)));
    struct { uchar a; Aligned b; } s = { 1, x };
    o[0] = sizeof s + s.b;
    uint a __attribute__((aligned(32))) = y, unused __attribute__((unused));
    o[1] = a;
    __attribute__((opencl_unroll_hint(2)))
    for (int i = 0; i < 5; i++)
        o[2] += i * x;
#pragma unroll
    for (int i = 0; i < 5; i++)
        o[3] ^= i * y;
}
