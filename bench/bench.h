/* SPDX-License-Identifier: MIT
 *
 * How the programs here measure, so that their figures can be believed:
 *
 * - What is compared runs in one process, by turns: the reference directly before and after every
 *   candidate, and a candidate's ratio is to the mean of those two. Medians over the rounds.
 * - One thread is timed by the CPU time of the process (the work may run on a worker thread), more
 *   by the wall clock.
 * - OpenBLAS is told its threads here and warmed by a large call: until one has run it is slower.
 * - A figure above what a loop of nothing but multiply-adds reaches is a mistake: bench_paired says
 *   so and returns false.
 */
#ifndef HEDDLE_BENCH_H
#define HEDDLE_BENCH_H

#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_MAX_ROUNDS = 101 };

typedef struct BenchCase {
    const char *name;
    void (*run)(void *user);
    void *user;
    double work;                /* operations of one run */
    double peak;                /* its own bound in Gop/s; 0 = BenchOptions.peak */
    /* results */
    double rate;                /* Gop/s: median over the rounds */
    double ratio, p25, p75;     /* to the reference: median and quartiles of the paired ratios */
    /* while measuring */
    int runs;                   /* in one measurement */
    double rates[BENCH_MAX_ROUNDS], ratios[BENCH_MAX_ROUNDS];
} BenchCase;

typedef struct BenchOptions {
    int threads;                /* 1 chooses the CPU clock */
    int rounds;                 /* 0 = 15 */
    double seconds;             /* least time of one measurement; 0 = 0.02 */
    double peak;                /* Gop/s that nothing can exceed, of all threads together */
} BenchOptions;

static inline double bench_now(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What follows an option on the command line; NULL: it is not given. */
static inline const char *bench_option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return NULL;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The q-quantile; sorts. */
static inline double bench_quantile(double *values, int n, double q)
{
    qsort(values, (size_t)n, sizeof(*values), bench_compare);
    return values[(int)(q * (n - 1) + 0.5)];
}

/* 2 MB aligned, on huge pages where the system gives them, zeroed and touched. NULL when out of
 * memory. Freed with the process. */
static inline void *bench_alloc(size_t size)
{
    const size_t page = 2 << 20;
    size = (size + page - 1) / page * page;
    void *p = aligned_alloc(page, size);
    if (p) {
        madvise(p, size, MADV_HUGEPAGE);
        for (size_t i = 0; i < size; i++)
            ((volatile char *)p)[i] = 0;
    }
    return p;
}

#if defined(__AVX512F__)
typedef float BenchVector __attribute__((vector_size(64)));
#elif defined(__AVX__)
typedef float BenchVector __attribute__((vector_size(32)));
#else
typedef float BenchVector __attribute__((vector_size(16)));
#endif

/* a = a * x + y as one instruction that no compiler takes apart or moves. */
static inline __attribute__((always_inline)) void bench_fma(BenchVector *a, BenchVector x,
                                                            BenchVector y)
{
#if defined(__AVX512F__)
    __asm__("vfmadd213ps %2, %1, %0" : "+v"(*a) : "v"(x), "v"(y));
#elif defined(__FMA__)
    __asm__("vfmadd213ps %2, %1, %0" : "+x"(*a) : "x"(x), "x"(y));
#elif defined(__aarch64__)
    __asm__("fmla %0.4s, %1.4s, %2.4s" : "+w"(*a) : "w"(x), "w"(y));
#else
    *a = *a * x + y;
#endif
}

/* f32 GFLOP/s of one core at its best: independent chains of multiply-adds in registers (variables,
 * as an array would go to memory), the best of a quarter second, in which the clock rises. */
static inline double bench_peak(void)
{
    enum { CHAINS = 12, STEPS = 2000000, LANES = sizeof(BenchVector) / sizeof(float) };
    double best = 0;
    for (int attempt = 0; attempt < 60; attempt++) {
        BenchVector zero = { 0 }, x = zero + 0.999f, y = zero + 1e-4f;
        BenchVector a = y, b = y, c = y, d = y, e = y, f = y, g = y, h = y, i = y, j = y, k = y,
                    l = y;
        double t = bench_now(1);
        for (int step = 0; step < STEPS; step++) {
            bench_fma(&a, x, y), bench_fma(&b, x, y), bench_fma(&c, x, y), bench_fma(&d, x, y);
            bench_fma(&e, x, y), bench_fma(&f, x, y), bench_fma(&g, x, y), bench_fma(&h, x, y);
            bench_fma(&i, x, y), bench_fma(&j, x, y), bench_fma(&k, x, y), bench_fma(&l, x, y);
        }
        t = bench_now(1) - t;
        BenchVector sum = a + b + c + d + e + f + g + h + i + j + k + l;
        volatile float used = sum[0];
        (void)used;
        best = fmax(best, 2.0 * CHAINS * LANES * STEPS / t * 1e-9);
    }
    return best;
}

/* OpenBLAS knows the CPUs of its time; on a later one it falls back to its slowest kernels (0.3.21
 * on a Xeon of 2023: 22 GFLOP/s instead of 110), and OPENBLAS_CORETYPE may name others than the
 * best. Where that is so on a CPU with AVX-512, starts this program again with its best kernels
 * chosen by hand. Call first thing in main, unless what is measured is limited as well. */
static inline void bench_openblas_for_this_cpu(char **argv)
{
#if defined(__x86_64__)
    static const char *const good[] = { "SkylakeX", "Cooperlake", "Sapphire", "Zen" };
    const char *name = openblas_get_corename(), *chosen = getenv("OPENBLAS_CORETYPE");
    bool known = !__builtin_cpu_supports("avx512f") || (chosen && !strcmp(chosen, "SkylakeX"));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        known |= !strncmp(name, good[i], strlen(good[i]));
    if (known)
        return;
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    execv("/proc/self/exe", argv);
#else
    (void)argv;
#endif
}

/* Sets OpenBLAS's threads and brings it to its lasting speed. */
static inline void bench_warm_openblas(int threads)
{
    enum { N = 1024 };
    static float *m;
    openblas_set_num_threads(threads);
    if (!m)
        m = bench_alloc(3 * N * N * sizeof(*m));
    if (!m)
        return;
    for (int i = 0; i < 3; i++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, m, N, m + N * N, N, 0,
                    m + 2 * N * N, N);
}

/* Before more than one thread is timed, threads that another library's last call left spinning must
 * be asleep (OpenBLAS's spin for tenths of a second): waits until the process has used next to no
 * time for 10 ms, 2 s at most. Then wakes the case's own. */
static inline void bench_settle(BenchCase *c, int threads)
{
    for (int i = 0; threads > 1 && i < 200; i++) {
        double used = bench_now(1);
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
        if (bench_now(1) - used < 0.001)
            break;
    }
    if (threads > 1)
        c->run(c->user);
}

static inline double bench_measure(BenchCase *c, int threads)
{
    bench_settle(c, threads);
    double t = bench_now(threads);
    for (int i = 0; i < c->runs; i++)
        c->run(c->user);
    return c->work * c->runs / (bench_now(threads) - t) * 1e-9;
}

static inline void bench_calibrate(BenchCase *c, const BenchOptions *o)
{
    double least = o->seconds > 0 ? o->seconds : 0.02;
    c->runs = 1;
    bench_measure(c, o->threads);
    double t = c->work / bench_measure(c, o->threads) * 1e-9;
    c->runs = t >= least ? 1 : (int)fmin(ceil(least / t), 1e6);
}

/* Fills in the results of `reference` and the n cases. False, after saying so, when one is
 * impossible. */
static inline bool bench_paired(BenchCase *reference, BenchCase *cases, int n,
                                const BenchOptions *o)
{
    int rounds = o->rounds > 0 && o->rounds <= BENCH_MAX_ROUNDS ? o->rounds : 15;
    bench_calibrate(reference, o);
    for (int i = 0; i < n; i++)
        bench_calibrate(&cases[i], o);
    for (int r = 0; r < rounds; r++) {
        double before = bench_measure(reference, o->threads);
        reference->rates[r] = before;
        for (int i = 0; i < n; i++) {
            double rate = bench_measure(&cases[i], o->threads);
            double after = bench_measure(reference, o->threads);
            cases[i].rates[r] = rate;
            cases[i].ratios[r] = rate / ((before + after) / 2);
            before = after;
        }
        reference->ratios[r] = 1;
    }
    bool possible = true;
    for (int i = -1; i < n; i++) {
        BenchCase *c = i < 0 ? reference : &cases[i];
        double peak = c->peak > 0 ? c->peak : o->peak;
        c->rate = bench_quantile(c->rates, rounds, 0.5);
        c->p25 = bench_quantile(c->ratios, rounds, 0.25);
        c->ratio = bench_quantile(c->ratios, rounds, 0.5);
        c->p75 = bench_quantile(c->ratios, rounds, 0.75);
        /* the clock may have been lower when the peak was taken */
        if (peak > 0 && c->rate > peak * 1.02)
            peak *= fmax(1, bench_peak() * o->threads / o->peak);
        if (peak > 0 && c->rate > peak * 1.02) {
            fprintf(stderr, "%s: %.1f Gop/s is above the peak of %.1f: not a measurement\n",
                    c->name, c->rate, peak);
            possible = false;
        }
    }
    return possible;
}

/* One line a figure, for people and for cut: problem, name, rate, ratio, quartiles. */
static inline void bench_print(const char *problem, const BenchCase *c)
{
    printf("%-24s %-32s %8.1f Gop/s  ratio %.3f  [%.3f %.3f]\n", problem, c->name, c->rate,
           c->ratio, c->p25, c->p75);
    fflush(stdout);
}

#endif
