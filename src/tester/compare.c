/* SPDX-License-Identifier: MIT
 *
 * What a driver wrote against what was expected: words, or numbers within a tolerance.
 */
#include <math.h>
#include <stdio.h>

#include "tester/internal.h"

static double number(HeddleType t, const uint8_t *p)
{
    union {
        uint64_t u;
        uint8_t b[8];
        float f;
        double d;
        int8_t s8;
        int16_t s16;
        int32_t s32;
        int64_t s64;
        uint16_t u16;
    } x = { 0 };
    memcpy(x.b, p, heddle_type_size(t));
    switch (t) {
    case HEDDLE_F16: return f16_to_double(x.u16);
    case HEDDLE_F32: return (double)x.f;
    case HEDDLE_F64: return x.d;
    case HEDDLE_BF16: return bf16_to_double(x.u16);
    case HEDDLE_E4M3: return e4m3_to_double(x.b[0]);
    case HEDDLE_E5M2: return e5m2_to_double(x.b[0]);
    case HEDDLE_S8: return x.s8;
    case HEDDLE_S16: return x.s16;
    case HEDDLE_S32: return x.s32;
    case HEDDLE_S64: return (double)x.s64;
    default: return (double)x.u;
    }
}

/* Not-a-numbers are one number here, and so are zeros of both signs. */
static bool is_near(double expected, double got, double tolerance)
{
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got);
    if (expected == got)
        return true;
    return fabs(expected - got) <= tolerance * (1 + fabs(expected));
}

typedef struct Difference {
    uint32_t first, count, elements;
    double expected, got;
} Difference;

static Difference differ(const TesterBuffer *b, const uint8_t *expected, const uint8_t *got)
{
    HeddleType t = b->type ? b->type : HEDDLE_U32;
    uint32_t each = (uint32_t)heddle_type_size(t);
    Difference d = { .elements = b->size / each };
    for (uint32_t k = 0; k < d.elements; k++) {
        size_t at = b->at + (size_t)k * each;
        double x = number(t, expected + at), y = number(t, got + at);
        bool same = b->type ? is_near(x, y, b->tolerance) : !memcmp(expected + at, got + at, each);
        if (!same && !d.count++) {
            d.first = k;
            d.expected = x;
            d.got = y;
        }
    }
    return d;
}

bool compare_buffers(const TesterCase *c, const uint8_t *expected, const uint8_t *got, char *text,
                     size_t size)
{
    for (uint32_t k = 0; k < c->n_buffers; k++) {
        const TesterBuffer *b = &c->buffers[k];
        if (!b->compared)
            continue;
        Difference d = differ(b, expected, got);
        if (!d.count)
            continue;
        snprintf(text, size, "binding %u: %u of %u differ; [%u] is %.9g, not %.9g", k, d.count,
                 d.elements, d.first, d.got, d.expected);
        return true;
    }
    return false;
}
