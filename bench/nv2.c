/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_cooperative_matrix2 on one thread, each line a ratio of two things run by turns: GEMM at
 * workgroup scope to OpenBLAS's sgemm; sizes that are no multiples of the tile to those that are;
 * tensor loads to plain ones; blocks of q4_0 to f16 weights; reductions and functions of elements
 * to a copy of the tile. kernels/nv_gemm.comp, kernels/nv_tile.comp.
 *
 *     bench_nv2 [--size N] [--line NAME] [--rounds N]
 */
#include "bench.h"

#include <heddle/heddle.h>

typedef struct Kernel {
    const char *file;
    HeddleDefine defines[6];
    uint32_t n_defines, b_bytes;    /* of B's element, 0: blocks of 18 bytes for 32 */
    uint32_t a_bytes;
} Kernel;

enum { BLAS, PLAIN, TENSOR, CLAMPED, F16, Q4_0, COPY, ROWS, COLUMNS, ALL, ELEMENTS };

static const Kernel kernels[] = {
    [PLAIN] = {"nv_gemm.comp", {{"LOADS", "0"}}, 1, 4, 4},
    [TENSOR] = {"nv_gemm.comp", {{"LOADS", "1"}}, 1, 4, 4},
    [CLAMPED] = {"nv_gemm.comp", {{"LOADS", "2"}}, 1, 4, 4},
    [F16] = {"nv_gemm.comp", {{"AB", "float16_t"}, {"B16", "1"}}, 2, 2, 2},
    [Q4_0] = {"nv_gemm.comp", {{"AB", "float16_t"}, {"BLOCKS", "1"}}, 2, 0, 2},
    [COPY] = {"nv_tile.comp", {{"WHAT", "0"}}, 1, 0, 0},
    [ROWS] = {"nv_tile.comp", {{"WHAT", "1"}}, 1, 0, 0},
    [COLUMNS] = {"nv_tile.comp", {{"WHAT", "2"}}, 1, 0, 0},
    [ALL] = {"nv_tile.comp", {{"WHAT", "3"}}, 1, 0, 0},
    [ELEMENTS] = {"nv_tile.comp", {{"WHAT", "4"}}, 1, 0, 0},
};

typedef struct Line {
    const char *name;
    uint8_t reference, what;
    uint32_t reference_size, size;  /* 0: 64x64 tiles */
    double goal;
} Line;

static const Line lines[] = {
    {"workgroup GEMM", BLAS, CLAMPED, 1024, 1024, 0.7},
    {"workgroup GEMM", BLAS, CLAMPED, 2048, 2048, 0.7},
    {"workgroup GEMM", BLAS, CLAMPED, 4096, 4096, 0.7},
    {"edges", CLAMPED, CLAMPED, 1024, 1000, 0.85},
    {"edges", CLAMPED, CLAMPED, 1024, 777, 0.85},
    {"edges", CLAMPED, CLAMPED, 2048, 1900, 0.85},
    {"tensor loads", PLAIN, TENSOR, 1024, 1024, 0.97},
    {"clamped loads", PLAIN, CLAMPED, 1024, 1024, 0.9},
    {"q4_0 to f16", F16, Q4_0, 1024, 1024, 0.8},
    {"reduce rows", COPY, ROWS, 0, 0, 1 / 1.5},
    {"reduce columns", COPY, COLUMNS, 0, 0, 1 / 1.5},
    {"reduce all", COPY, ALL, 0, 0, 1 / 1.5},
    {"every element", COPY, ELEMENTS, 0, 0, 1 / 1.5},
};

typedef struct Run {
    HeddleKernel *kernel;       /* NULL: OpenBLAS */
    HeddleBuffer *buffer[3];
    uint32_t n_buffers, push[3], groups;
    double work;
} Run;

static void run(void *user)
{
    Run *r = user;
    HeddleBinding bindings[3];
    if (!r->kernel) {
        int n = (int)r->push[0];
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1,
                    heddle_buffer_data(r->buffer[0]), n, heddle_buffer_data(r->buffer[1]), n, 0,
                    heddle_buffer_data(r->buffer[2]), n);
        return;
    }
    for (uint32_t k = 0; k < r->n_buffers; k++)
        bindings[k] = (HeddleBinding){.binding = k, .buffer = r->buffer[k]};
    HeddleDispatch d = {.groups = {r->groups, r->groups, 1}, .bindings = bindings,
                        .n_bindings = r->n_buffers, .push = r->push,
                        .push_size = r->n_buffers == 3 ? 12 : 8, .max_threads = 1};
    if (heddle_dispatch(r->kernel, &d, NULL, NULL) != HEDDLE_OK)
        fprintf(stderr, "dispatch failed\n");
}

static bool open_kernel(HeddleDevice *device, HeddleLog *log, const Kernel *k, Run *r)
{
    char path[512];
    HeddleModule *m = NULL;
    HeddleModuleOptions o = {.defines = k->defines, .n_defines = k->n_defines};
    snprintf(path, sizeof(path), "%s/bench/kernels/%s", HEDDLE_SOURCE_DIR, k->file);
    bool ok = !heddle_module_from_file(path, &o, &m, log)
        && !heddle_kernel_new(device, m, NULL, &r->kernel, log);
    heddle_module_free(m);
    return ok;
}

/* Whole tiles, so that plain loads find memory. The bytes are numbers of middling size in f32, f16
 * and q4_0: products that are denormal would make all of it slow. */
static bool open_run(HeddleDevice *device, HeddleLog *log, uint32_t which, uint32_t n, Run *r)
{
    *r = (Run){.n_buffers = n ? 3 : 2};
    if (which != BLAS && !open_kernel(device, log, &kernels[which], r))
        return false;
    uint32_t ea = which == BLAS ? 4 : kernels[which].a_bytes;
    uint32_t eb = which == BLAS ? 4 : kernels[which].b_bytes;
    uint64_t bytes[3] = {(uint64_t)n * n * ea, (uint64_t)n * n * eb, (uint64_t)n * n * 4};
    if (!eb)
        bytes[1] = (uint64_t)n * n / 32 * 18;
    if (!n)
        bytes[0] = bytes[1] = 4 * 64 * 64 * 4;
    for (uint32_t k = 0; k < r->n_buffers; k++) {
        if (heddle_buffer_new(device, bytes[k], &r->buffer[k], log))
            return false;
        memset(heddle_buffer_data(r->buffer[k]), k ? 0x3a : 0x3c, bytes[k]);
    }
    r->groups = n ? (n + 255) / 256 : 1;
    r->push[0] = n ? n : 256;
    r->push[1] = r->push[2] = n;
    r->work = n ? 2.0 * n * n * n : 256.0 * 64 * 64;
    return true;
}

static void close_run(Run *r)
{
    heddle_kernel_free(r->kernel);
    for (uint32_t k = 0; k < r->n_buffers; k++)
        heddle_buffer_free(r->buffer[k]);
}

static bool measure(HeddleDevice *device, HeddleLog *log, const Line *l, int rounds, double peak)
{
    Run x, y;
    if (!open_run(device, log, l->reference, l->reference_size, &x)
        || !open_run(device, log, l->what, l->size, &y))
        return false;
    BenchCase reference = {.name = "reference", .run = run, .user = &x, .work = x.work};
    BenchCase ours = {.name = l->name, .run = run, .user = &y, .work = y.work};
    BenchOptions o = {.threads = 1, .rounds = rounds ? rounds : l->size >= 2048 ? 3 : 9,
                      .peak = peak};
    bool ok = bench_paired(&reference, &ours, 1, &o);
    printf("%-16s %5u %9.1f %9.1f %7.3f  [%.3f %.3f]  %4.2f %s  compiled in %.0f ms\n", l->name,
           l->size, ours.rate, reference.rate, ours.ratio, ours.p25, ours.p75, l->goal,
           ours.ratio >= l->goal ? "reached" : "missed", heddle_kernel_seconds(y.kernel) * 1e3);
    fflush(stdout);
    close_run(&x);
    close_run(&y);
    return ok;
}

static uint32_t option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return (uint32_t)atoi(argv[i + 1]);
    return 0;
}

int main(int argc, char **argv)
{
    bench_openblas_for_this_cpu(argv);
    const char *only = NULL;
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--line"))
            only = argv[i + 1];
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device;
    if (heddle_device_new(NULL, &device, log))
        return 1;
    double peak = bench_peak();
    bench_warm_openblas(1);
    printf("peak %.1f GFLOP/s f32 a core; OpenBLAS %s\n", peak, openblas_get_corename());
    printf("%-16s %5s %9s %9s %7s  %-13s  goal\n", "line", "n", "Gop/s", "reference", "ratio",
           "quartiles");
    bool ok = true;
    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++)
        if ((!only || strstr(lines[k].name, only))
            && (!option(argc, argv, "--size") || option(argc, argv, "--size") == lines[k].size))
            ok &= measure(device, log, &lines[k], (int)option(argc, argv, "--rounds"), peak);
    heddle_device_free(device);
    heddle_log_free(log);
    return !ok;
}
