/* SPDX-License-Identifier: MIT
 *
 * The small floating-point formats, from and to double in one rounding.
 *
 * A format is its field widths; IEEE 754 binary16, bfloat16 and OFP8 E5M2 have infinities and NaNs
 * as IEEE's, OFP8 E4M3 gives up the infinities and all NaNs but one a sign to reach 448 (OCP 8-bit
 * Floating Point Specification, 5.1). Those of the OCP's Microscaling Formats have numbers only,
 * and are only widened. Every value of each is exact in double.
 */
#include "base/base.h"

#include <math.h>

typedef struct Format {
    int exponent_bits, mantissa_bits;
    /* What the top binade holds. E4M3: numbers, but for NaN with all bits set. */
    enum { INFINITY_AND_NANS, ONE_NAN, NUMBERS } top;
} Format;

static const Format f16 = { 5, 10, INFINITY_AND_NANS }, bf16 = { 8, 7, INFINITY_AND_NANS },
                    e4m3 = { 4, 3, ONE_NAN }, e5m2 = { 5, 2, INFINITY_AND_NANS },
                    e2m1 = { 2, 1, NUMBERS }, e3m2 = { 3, 2, NUMBERS }, e2m3 = { 2, 3, NUMBERS };

/* x rounded to nearest even. What rounds past the largest number is infinity (E4M3: NaN); a NaN
 * keeps its sign and the top of its payload and is made quiet. */
static uint32_t narrow_double(double x, Format f)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    const uint32_t sign = (uint32_t)(bits >> 63) << (f.exponent_bits + f.mantissa_bits);
    /* infinity, were there one */
    const uint32_t top = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
    const uint32_t overflow = f.top == ONE_NAN ? top | ((1u << f.mantissa_bits) - 1) : top;
    const int least = 2 - (1 << (f.exponent_bits - 1)); /* exponent of the smallest normal number */
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    const uint64_t fraction = bits & ((1ull << 52) - 1);

    if (exponent == 1024 && fraction) {
        uint32_t payload = (uint32_t)(fraction >> (52 - f.mantissa_bits));
        return sign | (f.top == ONE_NAN ? overflow : top | 1u << (f.mantissa_bits - 1) | payload);
    }
    const int shift = 52 - f.mantissa_bits + MAX(least - exponent, 0);
    if (shift > 53) /* below half of the smallest subnormal; doubles' own subnormals are here too */
        return sign;

    uint64_t significand = fraction | 1ull << 52, half = 1ull << (shift - 1);
    uint64_t kept = significand >> shift, rest = significand & (2 * half - 1);
    kept += rest > half || (rest == half && (kept & 1));
    /* The significand's leading one, and a carry out of it, count up the exponent field. */
    uint64_t magnitude = ((uint64_t)MAX(exponent - least, 0) << f.mantissa_bits) + kept;
    return sign | (uint32_t)MIN(magnitude, overflow);
}

static double widen_to_double(uint32_t h, Format f)
{
    const uint32_t fraction = h & ((1u << f.mantissa_bits) - 1);
    const int field = (int)(h >> f.mantissa_bits & ((1u << f.exponent_bits) - 1));
    const int least = 2 - (1 << (f.exponent_bits - 1));
    const int top = (1 << f.exponent_bits) - 1;
    const bool negative = h >> (f.mantissa_bits + f.exponent_bits) & 1;
    double x;

    bool ones = fraction == (1u << f.mantissa_bits) - 1;
    if (field == top && (f.top == INFINITY_AND_NANS || (f.top == ONE_NAN && ones))) {
        uint64_t bits = 0x7ffull << 52 | (uint64_t)fraction << (52 - f.mantissa_bits);
        bits |= fraction ? 1ull << 51 : 0;
        memcpy(&x, &bits, sizeof(x));
    } else if (field) {
        x = ldexp(fraction | 1u << f.mantissa_bits, least + field - 1 - f.mantissa_bits);
    } else {
        x = ldexp(fraction, least - f.mantissa_bits);
    }
    return copysign(x, negative ? -1.0 : 1.0);
}

uint16_t f16_from_double(double x) { return (uint16_t)narrow_double(x, f16); }
double f16_to_double(uint16_t h) { return widen_to_double(h, f16); }
uint16_t bf16_from_double(double x) { return (uint16_t)narrow_double(x, bf16); }
double bf16_to_double(uint16_t h) { return widen_to_double(h, bf16); }
uint8_t e4m3_from_double(double x) { return (uint8_t)narrow_double(x, e4m3); }
double e4m3_to_double(uint8_t h) { return widen_to_double(h, e4m3); }
uint8_t e5m2_from_double(double x) { return (uint8_t)narrow_double(x, e5m2); }
double e5m2_to_double(uint8_t h) { return widen_to_double(h, e5m2); }
double e2m1_to_double(uint8_t h) { return widen_to_double(h, e2m1); }
double e3m2_to_double(uint8_t h) { return widen_to_double(h, e3m2); }
double e2m3_to_double(uint8_t h) { return widen_to_double(h, e2m3); }
double e8m0_to_double(uint8_t h) { return h == 255 ? NAN : ldexp(1, h - 127); }
double mxint8_to_double(uint8_t h) { return (int8_t)h / 64.0; }

uint32_t ufloat_from_double(double x, int mantissa_bits)
{
    const Format f = { 5, mantissa_bits, INFINITY_AND_NANS };
    const uint32_t infinity = 31u << mantissa_bits;
    if (isnan(x))
        return infinity | 1;
    if (isinf(x))
        return x > 0 ? infinity : 0;
    return x > 0 ? MIN(narrow_double(x, f), infinity - 1) : 0;
}
