/* SPDX-License-Identifier: MIT
 *
 * What cuda.c measures (cuda_problems.c), and cuBLAS beside it (cuda_blas.c).
 */
#ifndef HEDDLE_BENCH_CUDA_H
#define HEDDLE_BENCH_CUDA_H

#include <heddle/heddle.h>

enum {
    MAX_STEPS = 3,
    MAX_BUFFERS = 5,
    MAX_DEFINES = 8,
    MAX_ROUNDS = 200,
    MAX_PUSH = 4,
    MAX_SPECS = 6
};

typedef struct Problem Problem;
struct Problem {
    const char *name, *file;
    HeddleDefine defines[MAX_DEFINES];
    uint32_t n_steps;
    uint32_t steps[MAX_STEPS][3]; /* workgroups */
    uint64_t sizes[MAX_BUFFERS];  /* of the buffers, in bytes */
    uint32_t out;                 /* the one with the result */
    uint32_t push[MAX_PUSH];
    uint32_t specs[MAX_SPECS], n_specs; /* of the constants 0, 1, ... */
    HeddleType input, result;
    void (*fill)(void *data, uint64_t bytes, HeddleType type, uint64_t seed);
    void (*fill_b)(void *data, uint64_t bytes, HeddleType type, uint64_t seed); /* NULL: as all */
    /* The largest difference among samples, as a part of what is there. */
    double (*check)(const Problem *p, void *const *data, const void *out);
    double tolerance;
    double work;     /* operations in thousands, or bytes: GB/s are 1e9 a second */
    bool adds;       /* to what was in the result */
    uint32_t size;   /* of a product: m, n and k; else what the check wants */
    uint32_t stride; /* of its rows; 0: it is none */
    bool column_b;   /* B lies by columns */
};

extern const Problem problems[];
extern const uint32_t n_problems;

/* Of one product like it; NaN: it is none, or there is no cuBLAS. */
double blas_seconds(const Problem *p, HeddleBuffer *const *buffers);

#endif
