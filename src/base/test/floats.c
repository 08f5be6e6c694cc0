/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include <math.h>

/* The four formats behind one face, so that each property is stated once. */
typedef struct Row {
    const char *name;
    uint32_t (*from)(double);
    double (*to)(uint32_t);
    uint32_t n;               /* of encodings */
    uint32_t infinity, nan;   /* e4m3 has no infinity: both are its NaN */
    double largest, smallest; /* smallest subnormal */
} Row;

static uint32_t f16_from(double x) { return f16_from_double(x); }
static double f16_to(uint32_t h) { return f16_to_double((uint16_t)h); }
static uint32_t bf16_from(double x) { return bf16_from_double(x); }
static double bf16_to(uint32_t h) { return bf16_to_double((uint16_t)h); }
static uint32_t e4m3_from(double x) { return e4m3_from_double(x); }
static double e4m3_to(uint32_t h) { return e4m3_to_double((uint8_t)h); }
static uint32_t e5m2_from(double x) { return e5m2_from_double(x); }
static double e5m2_to(uint32_t h) { return e5m2_to_double((uint8_t)h); }

static const Row rows[] = {
    { "f16", f16_from, f16_to, 65536, 0x7c00, 0x7e00, 65504, 0x1p-24 },
    { "bf16", bf16_from, bf16_to, 65536, 0x7f80, 0x7fc0, 0x1.fep127, 0x1p-133 },
    { "e4m3", e4m3_from, e4m3_to, 256, 0x7f, 0x7f, 448, 0x1p-9 },
    { "e5m2", e5m2_from, e5m2_to, 256, 0x7c, 0x7e, 57344, 0x1p-16 },
};

TEST(every_number_comes_back)
{
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        uint32_t numbers = 0;
        for (uint32_t h = 0; h < rows[r].n; h++) {
            double x = rows[r].to(h);
            if (isnan(x))
                continue;
            numbers++;
            if (rows[r].from(x) != h)
                test_fail(__FILE__, __LINE__, "%s 0x%x is %a, which gives 0x%x", rows[r].name, h, x,
                          rows[r].from(x));
            CHECK(!!signbit(x) == (h >= rows[r].n / 2));
        }
        uint32_t nans = rows[r].n - numbers;
        CHECK_EQ_U64(nans, 2 * (rows[r].n / 2 - 1 - (rows[r].infinity - (r == 2))));
    }
}

/* OCP Microscaling Formats 1.0, 5.3: the values of FP4 and of the bounds of the others, and each
 * code by the formula of its fields. */
TEST(microscaling_formats)
{
    static const double e2m1[] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };
    for (uint8_t h = 0; h < 16; h++) {
        double want = h < 8 ? e2m1[h] : -e2m1[h - 8];
        CHECK(e2m1_to_double(h) == want && !!signbit(e2m1_to_double(h)) == (h >= 8));
    }
    for (uint8_t h = 0; h < 64; h++) {
        int sign = h >= 32 ? -1 : 1, e3 = h >> 2 & 7, e2 = h >> 3 & 3;
        double e3m2 = e3 ? exp2(e3 - 3) * (1 + (h & 3) / 4.0) : exp2(-2) * ((h & 3) / 4.0);
        double e2m3 = e2 ? exp2(e2 - 1) * (1 + (h & 7) / 8.0) : (h & 7) / 8.0;
        CHECK(e3m2_to_double(h) == sign * e3m2 && e2m3_to_double(h) == sign * e2m3);
        CHECK(!!signbit(e3m2_to_double(h)) == (h >= 32));
        CHECK(!!signbit(e2m3_to_double(h)) == (h >= 32));
    }
    CHECK(e3m2_to_double(31) == 28 && e3m2_to_double(1) == 0.0625);
    CHECK(e2m3_to_double(31) == 7.5 && e2m3_to_double(1) == 0.125);
    for (uint32_t h = 0; h < 255; h++) {
        CHECK(e8m0_to_double((uint8_t)h) == exp2((double)h - 127));
        CHECK(mxint8_to_double((uint8_t)h) == (h < 128 ? (double)h : (double)h - 256) / 64);
    }
    CHECK(isnan(e8m0_to_double(255)) && mxint8_to_double(127) == 1.984375);
}

TEST(nans_stay_nans)
{
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        CHECK_EQ_U64(rows[r].from(NAN), rows[r].nan);
        CHECK_EQ_U64(rows[r].from(-NAN), rows[r].nan + rows[r].n / 2);
        for (uint32_t h = 0; h < rows[r].n; h++)
            if (isnan(rows[r].to(h)))
                CHECK_EQ_U64(rows[r].from(rows[r].to(h)),
                             h | (rows[r].nan & ~rows[r].infinity)); /* made quiet */
        uint64_t signalling = 0x7ff0000000000001u;
        double x;
        memcpy(&x, &signalling, sizeof(x));
        CHECK_EQ_U64(rows[r].from(x), rows[r].nan);
    }
}

/* Between each two neighbours: the middle goes to the even one, all else to the nearer one, however
 * little it lies off the middle (rounding through float first would get those wrong). */
TEST(rounds_to_nearest_even_once)
{
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        const Row *f = &rows[r];
        for (uint32_t h = 0; f->to(h) < f->largest; h++) {
            double a = f->to(h), b = f->to(h + 1), middle = (a + b) / 2;
            uint32_t even = h & 1 ? h + 1 : h, minus = f->n / 2;
            REQUIRE(f->from(middle) == even);
            REQUIRE(f->from(-middle) == even + minus);
            REQUIRE(f->from(nextafter(middle, -INFINITY)) == h);
            REQUIRE(f->from(nextafter(middle, INFINITY)) == h + 1);
            REQUIRE(f->from(nextafter(b, a)) == h + 1);
            REQUIRE(f->from(nextafter(a, b)) == h);
        }
    }
}

TEST(overflow_and_underflow)
{
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        const Row *f = &rows[r];
        uint32_t largest = f->from(f->largest), minus = f->n / 2;
        double step = f->largest - f->to(largest - 1), edge = f->largest + step / 2;
        CHECK_EQ_U64(largest, f->infinity - 1);
        CHECK_EQ_U64(f->from(nextafter(edge, 0)), largest);
        CHECK_EQ_U64(f->from(nextafter(edge, INFINITY)), f->infinity);
        /* the tie: even is what follows the largest number, but for e4m3, whose 0x7e is even */
        CHECK_EQ_U64(f->from(edge), largest & 1 ? f->infinity : largest);
        CHECK_EQ_U64(f->from(1e300), f->infinity);
        CHECK_EQ_U64(f->from(INFINITY), f->infinity);
        CHECK_EQ_U64(f->from(-INFINITY), f->infinity + minus);
        CHECK_EQ_U64(f->from(f->smallest), 1);
        CHECK_EQ_U64(f->from(f->smallest / 2), 0);
        CHECK_EQ_U64(f->from(nextafter(f->smallest / 2, 1)), 1);
        CHECK_EQ_U64(f->from(-f->smallest / 4), minus);
        CHECK_EQ_U64(f->from(-0.0), minus);
        CHECK_EQ_U64(f->from(0x1p-1074), 0);
        CHECK_EQ_U64(f->from(0x1p-1022), 0);
    }
}

TEST(known_values)
{
    CHECK_EQ_U64(f16_from_double(1), 0x3c00);
    CHECK_EQ_U64(f16_from_double(-2), 0xc000);
    CHECK_EQ_U64(f16_from_double(1.0 / 3), 0x3555);
    CHECK_EQ_U64(bf16_from_double(1), 0x3f80);
    CHECK_EQ_U64(bf16_from_double(3.140625), 0x4049);
    CHECK_EQ_U64(e4m3_from_double(1), 0x38);
    CHECK_EQ_U64(e4m3_from_double(448), 0x7e);
    CHECK_EQ_U64(e5m2_from_double(1), 0x3c);
    CHECK_NEAR(e4m3_to_double(0x08), 0x1p-6, 0);
    CHECK_NEAR(e5m2_to_double(0x7b), 57344, 0);
    CHECK(isinf(e5m2_to_double(0x7c)) && isnan(e4m3_to_double(0xff)));
    CHECK(isinf(f16_to_double(0xfc00)) && f16_to_double(0xfc00) < 0);
}
