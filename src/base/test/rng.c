/* SPDX-License-Identifier: MIT */
#include "base/test.h"

/* The first outputs of splitmix64 for seed 1234567, as its authors' reference program prints
 * them. */
TEST(splitmix_reference)
{
    Rng r = { 1234567 };
    CHECK_EQ_U64(rng_u64(&r), 6457827717110365317u);
    CHECK_EQ_U64(rng_u64(&r), 3203168211198807973u);
    CHECK_EQ_U64(rng_u64(&r), 9817491932198370423u);
}

TEST(uniform_moments)
{
    Rng r = { 7 };
    enum { N = 200000 };
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        double x = rng_uniform(&r);
        REQUIRE(x >= 0 && x < 1);
        sum += x;
        squares += x * x;
    }
    CHECK_NEAR(sum / N, 0.5, 0.003);
    CHECK_NEAR(squares / N, 1.0 / 3, 0.003);
}

TEST(normal_moments)
{
    Rng r = { 7 };
    enum { N = 200000 };
    double moment[5] = { 0 };
    for (int i = 0; i < N; i++) {
        double x = rng_normal(&r), power = 1;
        for (int k = 1; k <= 4; k++)
            moment[k] += (power *= x) / N;
    }
    CHECK_NEAR(moment[1], 0, 0.01);
    CHECK_NEAR(moment[2], 1, 0.015);
    CHECK_NEAR(moment[3], 0, 0.04);
    CHECK_NEAR(moment[4], 3, 0.1);
}

/* Frozen: files made from randn: must not change with the machine or the version. */
TEST(normal_is_the_same_everywhere)
{
    Rng r = { 7 };
    double first = rng_normal(&r), second = rng_normal(&r);
    CHECK_NEAR(first, -0.041741523381452331, 0);
    CHECK_NEAR(second, 0.87648146909945668, 0);
}
