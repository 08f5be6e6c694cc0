/* SPDX-License-Identifier: MIT
 *
 * Floating-point scalars between their bits and double. Every format but f64 is exact in double,
 * and double has more than twice their precision plus two bits, so that rounding a sum, difference,
 * product, quotient or square root computed in double rounds it correctly.
 */
#include "reference/machine.h"

#include <math.h>

double fmt_get(RFmt f, uint64_t bits)
{
    switch (f) {
    case FMT_F16: return f16_to_double((uint16_t)bits);
    case FMT_BF16: return bf16_to_double((uint16_t)bits);
    case FMT_E4M3: return e4m3_to_double((uint8_t)bits);
    case FMT_E5M2: return e5m2_to_double((uint8_t)bits);
    case FMT_E2M1: return e2m1_to_double((uint8_t)bits);
    case FMT_E3M2: return e3m2_to_double((uint8_t)bits);
    case FMT_E2M3: return e2m3_to_double((uint8_t)bits);
    case FMT_E8M0: return e8m0_to_double((uint8_t)bits);
    case FMT_MXINT8: return mxint8_to_double((uint8_t)bits);
    case FMT_F32: {
        uint32_t w = (uint32_t)bits;
        float x;
        memcpy(&x, &w, 4);
        return x;
    }
    default: {
        double x;
        memcpy(&x, &bits, 8);
        return x;
    }
    }
}

uint64_t fmt_put(RFmt f, double x)
{
    switch (f) {
    case FMT_F16: return f16_from_double(x);
    case FMT_BF16: return bf16_from_double(x);
    case FMT_E4M3: return e4m3_from_double(x);
    case FMT_E5M2: return e5m2_from_double(x);
    case FMT_F32: {
        float y = (float)x;
        uint32_t w;
        memcpy(&w, &y, 4);
        return w;
    }
    default: {
        uint64_t w;
        memcpy(&w, &x, 8);
        return w;
    }
    }
}

/* Rounds to nearest, then steps back if that went away from zero. Sign and magnitude formats order
 * their magnitudes as integers. */
uint64_t fmt_put_rtz(RFmt f, double x)
{
    uint64_t r = fmt_put(f, x);
    if (f == FMT_F64 || x != x || isinf(x))
        return r;
    double y = fmt_get(f, r);
    if (y != y || fabs(y) > fabs(x))
        r--;
    return r;
}

/* Rounds to nearest, then moves to the neighbour if that lies on the wrong side. */
uint64_t fmt_put_mode(RFmt f, long double x, uint32_t mode)
{
    static const uint32_t widths[] = { [FMT_F16] = 16,  [FMT_F32] = 32, [FMT_F64] = 64,
                                       [FMT_BF16] = 16, [FMT_E4M3] = 8, [FMT_E5M2] = 8 };
    uint64_t r = fmt_put(f, (double)x), sign = UINT64_C(1) << (widths[f] - 1);
    if (f == FMT_F32) { /* at once: a double between would round twice */
        float single = (float)x;
        memcpy(&r, &single, sizeof single);
        r &= UINT32_MAX;
    }
    double y = fmt_get(f, r);
    bool minus = signbit(x);
    if (isnan(x) || isinf(x) || y == x)
        return r;
    bool up = mode == SpvFPRoundingModeRTP || (mode == SpvFPRoundingModeRTZ && minus);
    bool down = mode == SpvFPRoundingModeRTN || (mode == SpvFPRoundingModeRTZ && !minus);
    if ((up && y < x) || (down && y > x)) {
        bool away = up != minus;
        r = (r & ~sign) + (away ? 1 : UINT64_MAX);
        r = (r & (sign - 1)) | (minus ? sign : 0);
    }
    return r;
}
