/* SPDX-License-Identifier: MIT
 *
 * One element of an array as a double, and back: rounded to nearest even for floating point,
 * truncated and clamped for integers (NaN becomes 0).
 */
#include <math.h>

#include "runtime/internal.h"

#define LOAD(T)                                                                                    \
    do {                                                                                           \
        T v;                                                                                       \
        memcpy(&v, p, sizeof v);                                                                   \
        return (double)v;                                                                          \
    } while (0)

double number_load(HeddleType type, const void *p)
{
    uint16_t half;
    switch (type) {
    case HEDDLE_F16: memcpy(&half, p, 2); return f16_to_double(half);
    case HEDDLE_BF16: memcpy(&half, p, 2); return bf16_to_double(half);
    case HEDDLE_F32: LOAD(float);
    case HEDDLE_F64: LOAD(double);
    case HEDDLE_E4M3: return e4m3_to_double(*(const uint8_t *)p);
    case HEDDLE_E5M2: return e5m2_to_double(*(const uint8_t *)p);
    case HEDDLE_S8: LOAD(int8_t);
    case HEDDLE_S16: LOAD(int16_t);
    case HEDDLE_S32: LOAD(int32_t);
    case HEDDLE_S64: LOAD(int64_t);
    case HEDDLE_U16: LOAD(uint16_t);
    case HEDDLE_U32: LOAD(uint32_t);
    case HEDDLE_U64: LOAD(uint64_t);
    default: LOAD(uint8_t); /* u8, bool, raw bytes */
    }
}

#define STORE(T, x)                                                                                \
    do {                                                                                           \
        T v = (x);                                                                                 \
        memcpy(p, &v, sizeof v);                                                                   \
    } while (0)

/* The double itself when it lies within [low, high], else the nearer end. 2^63 and 2^64 are not in
 * their types, so the ends are compared with <= and the callers name the type's own limits. */
static int64_t clamp_signed(double x, int64_t low, int64_t high)
{
    if (isnan(x))
        return 0;
    if (x <= (double)low)
        return low;
    return x >= (double)high ? high : (int64_t)x;
}

static uint64_t clamp_unsigned(double x, uint64_t high)
{
    if (isnan(x) || x <= 0)
        return 0;
    return x >= (double)high ? high : (uint64_t)x;
}

void number_store(HeddleType type, void *p, double x)
{
    switch (type) {
    case HEDDLE_F16: STORE(uint16_t, f16_from_double(x)); break;
    case HEDDLE_BF16: STORE(uint16_t, bf16_from_double(x)); break;
    case HEDDLE_F32: STORE(float, (float)x); break;
    case HEDDLE_F64: STORE(double, x); break;
    case HEDDLE_E4M3: STORE(uint8_t, e4m3_from_double(x)); break;
    case HEDDLE_E5M2: STORE(uint8_t, e5m2_from_double(x)); break;
    case HEDDLE_S8: STORE(int8_t, (int8_t)clamp_signed(x, INT8_MIN, INT8_MAX)); break;
    case HEDDLE_S16: STORE(int16_t, (int16_t)clamp_signed(x, INT16_MIN, INT16_MAX)); break;
    case HEDDLE_S32: STORE(int32_t, (int32_t)clamp_signed(x, INT32_MIN, INT32_MAX)); break;
    case HEDDLE_S64: STORE(int64_t, clamp_signed(x, INT64_MIN, INT64_MAX)); break;
    case HEDDLE_U16: STORE(uint16_t, (uint16_t)clamp_unsigned(x, UINT16_MAX)); break;
    case HEDDLE_U32: STORE(uint32_t, (uint32_t)clamp_unsigned(x, UINT32_MAX)); break;
    case HEDDLE_U64: STORE(uint64_t, clamp_unsigned(x, UINT64_MAX)); break;
    case HEDDLE_BOOL: STORE(uint8_t, x != 0); break;
    default: STORE(uint8_t, (uint8_t)clamp_unsigned(x, UINT8_MAX)); break;
    }
}
