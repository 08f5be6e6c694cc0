/* SPDX-License-Identifier: MIT
 *
 * What a loop's hint for wait queues is worth (SPV_QCOM_multiple_wait_queues): products of large
 * matrices whose tiles come straight from global memory, with the leading dimension a power of two;
 * the same with B column-major; and with A block-sparse, where the indices of the blocks are data.
 * On one thread, each number of wait queues as a ratio to the loop without the hint, run by turns
 * (bench.h), with and without the interleaving of workgroups. Of the largest sizes a strip of C is
 * computed. Numbers are small integers, so that the hint may not change a bit of C. The last ratio
 * is that of the unhinted loop where A's and B's rows overlap so that the caches hold all of them:
 * the most that looking ahead can gain.
 *
 *     bench_wait_queues [--size N] [--kernel NAME] [--rounds N] [--interleave 0|1]
 */
#include "bench.h"

#include <heddle/heddle.h>

enum {
    N_HINTS = 4,
    STRIP = 256,
    NEAR = 64,                  /* elements from row to row where all is near */
    SHARE = 8,                  /* of A's blocks, one in so many is there */
};
static const char *const hints[N_HINTS] = {"1", "2", "4", "8"};

typedef struct Kernel {
    const char *name, *file, *define;
    bool sparse;
} Kernel;

static const Kernel kernels[] = {
    {"large stride", "gemm.comp", NULL, false},
    {"column-major B", "gemm.comp", "COLUMN_B", false},
    {"block-sparse A", "sparse_gemm.comp", NULL, true},
};

typedef struct Data {
    HeddleBuffer *a, *b, *c, *columns;
    uint32_t n, rows, steps;    /* rows of C; what the kernel counts to: K, or blocks a row */
    int interleave;
} Data;

typedef struct Run {
    HeddleKernel *kernel;
    const Data *data;
    bool near;                  /* the same loop on a few rows' memory, which the caches hold */
} Run;

static void run(void *user)
{
    const Run *r = user;
    const Data *d = r->data;
    uint32_t stride = r->near ? NEAR : d->n, push[4] = {d->steps, stride, stride, d->n};
    HeddleBinding bindings[] = {{.binding = 0, .buffer = d->a}, {.binding = 1, .buffer = d->b},
                                {.binding = 2, .buffer = d->c},
                                {.binding = 3, .buffer = d->columns}};
    HeddleDispatch dispatch = {.groups = {d->n / 64, d->rows / 64, 1},
                               .bindings = bindings, .n_bindings = 4,
                               .push = push, .push_size = sizeof(push),
                               .max_threads = 1, .interleave = d->interleave};
    if (heddle_dispatch(r->kernel, &dispatch, NULL, NULL) != HEDDLE_OK)
        fprintf(stderr, "dispatch failed\n");
}

/* Small integers; or indices of blocks, below `blocks`. */
static void fill(HeddleBuffer *b, uint32_t blocks)
{
    float *x = heddle_buffer_data(b);
    uint32_t *index = heddle_buffer_data(b), seed = 1;
    for (size_t i = 0; i < heddle_buffer_size(b) / 4; i++) {
        seed = seed * 1664525 + 1013904223;
        if (blocks)
            index[i] = (uint32_t)((uint64_t)seed * blocks >> 32);
        else
            x[i] = (float)((int)(seed >> 29) - 3);
    }
}

static bool make_data(HeddleDevice *device, HeddleLog *log, const Kernel *k, Data *d)
{
    uint64_t n = d->n, blocks = n / 16 / SHARE;
    d->rows = d->n > 2048 ? STRIP : d->n;
    d->steps = k->sparse ? (uint32_t)blocks : d->n;
    uint64_t a = k->sparse ? d->rows / 64 * blocks * 1024 : d->rows * n;
    if (heddle_buffer_new(device, a * 4, &d->a, log)
        || heddle_buffer_new(device, n * n * 4, &d->b, log)
        || heddle_buffer_new(device, d->rows * n * 4, &d->c, log)
        || heddle_buffer_new(device, d->rows / 64 * blocks * 4 + 64, &d->columns, log))
        return false;
    fill(d->a, 0);
    fill(d->b, 0);
    fill(d->columns, d->n / 16);
    return true;
}

static HeddleKernel *compile(HeddleDevice *device, HeddleLog *log, const Kernel *k,
                             const char *hint)
{
    char path[512];
    HeddleDefine defines[2];
    HeddleModuleOptions o = {.defines = defines};
    HeddleModule *module;
    HeddleKernel *kernel = NULL;
    if (k->define)
        defines[o.n_defines++] = (HeddleDefine){k->define, "1"};
    if (hint)
        defines[o.n_defines++] = (HeddleDefine){"WQ", hint};
    snprintf(path, sizeof(path), "%s/bench/kernels/%s", HEDDLE_SOURCE_DIR, k->file);
    if (!heddle_module_from_file(path, &o, &module, log)) {
        heddle_kernel_new(device, module, NULL, &kernel, log);
        heddle_module_free(module);
    }
    return kernel;
}

static bool measure(const Kernel *k, HeddleKernel **compiled, Data *d, int rounds, double peak)
{
    double work = 2.0 * 64 * 16 * d->n * (d->rows / 64) * (k->sparse ? d->steps : d->n / 16);
    Run runs[N_HINTS + 2];
    BenchCase cases[N_HINTS + 2];
    uint64_t size = heddle_buffer_size(d->c);
    void *want = bench_alloc(size);
    bool good = want;
    for (int i = 0; i <= N_HINTS; i++) {
        runs[i] = (Run){compiled[i], d, false};
        cases[i] = (BenchCase){.name = i ? hints[i - 1] : "unhinted", .run = run,
                               .user = &runs[i], .work = work};
        run(&runs[i]);
        if (good && !i)
            memcpy(want, heddle_buffer_data(d->c), size);
        good &= good && !memcmp(want, heddle_buffer_data(d->c), size);
    }
    runs[N_HINTS + 1] = (Run){compiled[0], d, true};
    cases[N_HINTS + 1] = (BenchCase){.name = "near", .run = run, .user = &runs[N_HINTS + 1],
                                     .work = work};
    BenchOptions o = {.threads = 1, .rounds = rounds, .peak = peak};
    good &= bench_paired(&cases[0], cases + 1, N_HINTS + 1, &o);
    printf("%-16s %5u %-4s %8.1f", k->name, d->n, d->interleave ? "off" : "on", cases[0].rate);
    for (int i = 1; i <= N_HINTS + 1; i++)
        printf("  %5.3f [%.2f %.2f]", cases[i].ratio, cases[i].p25, cases[i].p75);
    printf("%s\n", good ? "" : "  WRONG");
    fflush(stdout);
    free(want);
    return good;
}

static uint32_t option(int argc, char **argv, const char *name, uint32_t otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return (uint32_t)atoi(argv[i + 1]);
    return otherwise;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--kernel"))
            only = argv[i + 1];
    uint32_t size = option(argc, argv, "--size", 0), rounds = option(argc, argv, "--rounds", 5);
    uint32_t interleave = option(argc, argv, "--interleave", 2);
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device;
    if (heddle_device_new(NULL, &device, log))
        return 1;
    double peak = bench_peak();
    bool ok = true;
    printf("%-16s %5s %-4s %8s  with 1, 2, 4, 8 wait queues, all data near: ratio [quartiles]\n",
           "kernel", "n", "turns", "GFLOP/s");
    for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
        HeddleKernel *compiled[N_HINTS + 1];
        if (only && !strstr(kernels[k].name, only))
            continue;
        for (int i = 0; i <= N_HINTS; i++)
            if (!(compiled[i] = compile(device, log, &kernels[k], i ? hints[i - 1] : NULL)))
                return 1;
        for (uint32_t n = 512; n <= 8192; n *= 2) {
            Data d = {.n = n};
            if ((size && size != n) || !make_data(device, log, &kernels[k], &d))
                continue;
            for (d.interleave = 0; d.interleave < 2; d.interleave++)
                if (interleave > 1 || interleave == !d.interleave)
                    ok &= measure(&kernels[k], compiled, &d, (int)rounds, peak);
            HeddleBuffer *all[] = {d.a, d.b, d.c, d.columns};
            for (int i = 0; i < 4; i++)
                heddle_buffer_free(all[i]);
        }
        for (int i = 0; i <= N_HINTS; i++)
            heddle_kernel_free(compiled[i]);
    }
    heddle_device_free(device);
    heddle_log_free(log);
    return !ok;
}
