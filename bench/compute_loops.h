/* SPDX-License-Identifier: MIT
 *
 * The kernels of bench/compute.c as plain C loops. A loop does the part [first, last) of its
 * problem for one thread of `parts`; a problem takes its phases one after the other, with all
 * threads done between two of them.
 */
#ifndef HEDDLE_BENCH_COMPUTE_LOOPS_H
#define HEDDLE_BENCH_COMPUTE_LOOPS_H

#include <stdint.h>

enum { LOOP_MAX_THREADS = 256 };

typedef struct LoopJob {
    const void *in;
    void *out;
    uint32_t width, height;             /* of a problem with one size: width */
    double sums[LOOP_MAX_THREADS];
    uint32_t counts[LOOP_MAX_THREADS][256];
} LoopJob;

/* One thread's share of a phase. */
typedef void LoopFn(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);

void loop_nbody(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);
void loop_scan_sum(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);
void loop_scan(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);
void loop_histogram(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);
void loop_mandelbrot(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);
void loop_blur(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);
void loop_reduce(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);
void loop_transpose(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);
void loop_softmax(LoopJob *job, uint32_t part, uint32_t first, uint32_t last);

#endif
