/* SPDX-License-Identifier: MIT
 *
 * Random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood: Fast
 * splittable pseudorandom number generators, 2014), and normal ones by Marsaglia's polar method
 * with a logarithm made of IEEE's exact operations, as the C library's differ in the last place.
 */
#include "base/base.h"

#include <math.h>

uint64_t rng_u64(Rng *r)
{
    uint64_t x = r->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

double rng_uniform(Rng *r) { return (double)(rng_u64(r) >> 11) * 0x1p-53; }

/* Natural logarithm of x > 0: 2 artanh((m-1)/(m+1)) + e ln 2, m within a factor sqrt(2) of 1, where
 * 12 terms of the series reach a double's last place. */
static double ln(double x)
{
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    double t = (m - 1) / (m + 1), square = t * t, sum = 0;
    for (int k = 23; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2 * t * sum + e * 0.69314718055994531;
}

double rng_normal(Rng *r)
{
    double u, v, s;
    do {
        u = 2 * rng_uniform(r) - 1;
        v = 2 * rng_uniform(r) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    return u * sqrt(-2 * ln(s) / s);
}
