/* SPDX-License-Identifier: MIT
 *
 * The C functions that machine code may call by name, one row each: those that LLVM itself calls
 * (memory, conversions and divisions for which the CPU has no instruction), and the C library's
 * mathematics.
 *
 * They are looked up here before the process is searched. The library may be loaded where such a
 * search does not see its dependencies' symbols, and it never sees the half conversions of the
 * compiler's own support library. A name found nowhere is a diagnostic of the kernel that calls it.
 */
#include "cpu/machine/image.h"
#include "cpu/jit/jit.h"
#include "llvm/arith.h"

#include <fenv.h>
#include <math.h>

#if defined(__FLT16_MANT_DIG__)
/* LLVM calls these for half on CPUs without conversions; the ABI passes half as _Float16. */
static float extend_f16_f32(_Float16 x)
{
    uint16_t bits;
    memcpy(&bits, &x, 2);
    return (float)f16_to_double(bits);
}

static double extend_f16_f64(_Float16 x)
{
    uint16_t bits;
    memcpy(&bits, &x, 2);
    return f16_to_double(bits);
}

static _Float16 truncate_f64_f16(double x)
{
    uint16_t bits = f16_from_double(x);
    _Float16 result;
    memcpy(&result, &bits, 2);
    return result;
}

static _Float16 truncate_f32_f16(float x) { return truncate_f64_f16(x); }

/* Like half, bfloat16 is passed in a floating-point register. */
static _Float16 truncate_f64_bf16(double x)
{
    uint16_t bits = bf16_from_double(x);
    _Float16 result;
    memcpy(&result, &bits, 2);
    return result;
}

static _Float16 truncate_f32_bf16(float x) { return truncate_f64_bf16(x); }
#endif

/* GCC and clang call these for 128-bit integers, which computing the high half of a 64-bit product
 * may need. */
#if defined(__SIZEOF_INT128__)
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;
static Int128 multiply_i128(Int128 a, Int128 b) { return (Int128)((UInt128)a * (UInt128)b); }
static Int128 divide_i128(Int128 a, Int128 b) { return a / b; }
static Int128 remainder_i128(Int128 a, Int128 b) { return a % b; }
static UInt128 divide_u128(UInt128 a, UInt128 b) { return a / b; }
static UInt128 remainder_u128(UInt128 a, UInt128 b) { return a % b; }
#endif

/* For doubles, whose products no wider type can hold. The operands are volatile, because a compiler
 * may move computations across a change of the rounding mode. */
static double fma_towards_zero(double x, double y, double z)
{
    volatile double a = x, b = y, c = z;
    int mode = fegetround();
    fesetround(FE_TOWARDZERO);
    volatile double r = fma(a, b, c);
    fesetround(mode);
    return r;
}

#define ROW(name, function) { name, (void (*)(void))(function) },
#define BOTH(x)             ROW(#x, x) ROW(#x "f", x##f)

/* clang-format off */
const CpuSymbol cpu_symbols[] = {
    ROW(CPU_IMAGE_NAME, cpu_image) ROW(CPU_CLOCK_NAME, clock_ns)
    ROW(ARITH_FMA_TOWARDS_ZERO, fma_towards_zero)
    ROW("memcpy", memcpy) ROW("memmove", memmove) ROW("memset", memset) ROW("memcmp", memcmp)
    BOTH(acos) BOTH(acosh) BOTH(asin) BOTH(asinh) BOTH(atan) BOTH(atan2) BOTH(atanh) BOTH(cbrt)
    BOTH(ceil) BOTH(copysign) BOTH(cos) BOTH(cosh) BOTH(erf) BOTH(erfc) BOTH(exp) BOTH(exp2)
    BOTH(expm1) BOTH(fabs) BOTH(fdim) BOTH(floor) BOTH(fma) BOTH(fmax) BOTH(fmin) BOTH(fmod)
    BOTH(frexp) BOTH(hypot) BOTH(ilogb) BOTH(ldexp) BOTH(lgamma) BOTH(log) BOTH(log10) BOTH(log1p)
    BOTH(log2) BOTH(logb) BOTH(lrint) BOTH(lround) BOTH(modf) BOTH(nearbyint) BOTH(nextafter)
    BOTH(pow) BOTH(remainder) BOTH(remquo) BOTH(rint) BOTH(round) BOTH(scalbn) BOTH(sin)
    BOTH(sincos) BOTH(sinh) BOTH(sqrt) BOTH(tan) BOTH(tanh) BOTH(tgamma) BOTH(trunc)
    ROW("llrint", llrint) ROW("llrintf", llrintf) ROW("llround", llround) ROW("llroundf", llroundf)
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 25)
    ROW("roundeven", roundeven) ROW("roundevenf", roundevenf)
#endif
#endif
#if defined(__FLT16_MANT_DIG__)
    ROW("__extendhfsf2", extend_f16_f32) ROW("__extendhfdf2", extend_f16_f64)
    ROW("__truncsfhf2", truncate_f32_f16) ROW("__truncdfhf2", truncate_f64_f16)
    ROW("__truncsfbf2", truncate_f32_bf16) ROW("__truncdfbf2", truncate_f64_bf16)
#endif
#if defined(__SIZEOF_INT128__)
    ROW("__multi3", multiply_i128) ROW("__divti3", divide_i128) ROW("__modti3", remainder_i128)
    ROW("__udivti3", divide_u128) ROW("__umodti3", remainder_u128)
#endif
};
/* clang-format on */
const uint32_t cpu_n_symbols = COUNT_OF(cpu_symbols);
