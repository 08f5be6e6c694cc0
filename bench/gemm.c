/* SPDX-License-Identifier: MIT
 *
 * heddle's GEMM: kernels/gemm.comp (and _shared) over types, sizes, leading dimensions and threads.
 * On one thread the ratio is to OpenBLAS's sgemm of the same shape, on more to heddle's own single
 * thread (OpenBLAS's threads go on spinning for long after a call and take the cores from whoever
 * runs next), measured by turns in this process (bench.h). Results are checked exactly.
 *
 *     bench_gemm [--threads N] [--size N] [--kernel NAME] [--rounds N] [--interleave 1|16]
 */
#include "bench.h"

#include <heddle/heddle.h>
#include <string.h>
#include <unistd.h>

typedef struct Kernel {
    const char *name, *file;
    HeddleType ab, cd;
    HeddleDefine defines[10];
    uint32_t n_defines;
    double goal[4];             /* ratio at 256, 512, 1024, 2048 */
} Kernel;

#define TYPES(AB, CD) {"AB", AB}, {"CD", CD}
#define TILES(M, N, K, GM, GN) {"TM", M}, {"TN", N}, {"TK", K}, {"GM", GM}, {"GN", GN}

static const Kernel kernels[] = {
    {"f32 4x4 of 16x16x16", "gemm.comp", HEDDLE_F32, HEDDLE_F32,
     {TYPES("float", "float")}, 2, {0.8, 0.8, 0.8, 0.65}},
    {"f16->f32 4x4 of 16x16x16", "gemm.comp", HEDDLE_F16, HEDDLE_F32,
     {TYPES("float16_t", "float")}, 2, {0.7, 0.7, 0.7, 0.55}},
    {"bf16->f32 4x4 of 16x16x16", "gemm.comp", HEDDLE_BF16, HEDDLE_F32,
     {TYPES("bfloat16_t", "float")}, 2, {0}},
    {"s8->s32 4x4 of 16x16x16", "gemm.comp", HEDDLE_S8, HEDDLE_S32,
     {TYPES("int8_t", "int")}, 2, {2.0, 2.0, 2.0, 1.6}},
    {"f32 1x1 of 64x64x16", "gemm.comp", HEDDLE_F32, HEDDLE_F32,
     {TYPES("float", "float"), TILES("64", "64", "16", "1", "1")}, 7, {0}},
    {"f32 8x8 of 8x8x8", "gemm.comp", HEDDLE_F32, HEDDLE_F32,
     {TYPES("float", "float"), TILES("8", "8", "8", "8", "8")}, 7, {0.4, 0.4, 0.4, 0.33}},
    {"f32 shared memory", "gemm_shared.comp", HEDDLE_F32, HEDDLE_F32,
     {TYPES("float", "float")}, 2, {0.6, 0.6, 0.6, 0.6}},
};

typedef struct Run {
    const Kernel *k;
    HeddleKernel *kernel;
    HeddleBuffer *a, *b, *c;
    uint32_t n, ld, threads;
    int interleave;
    float *x, *y, *z;           /* OpenBLAS's */
} Run;

static void run_heddle(void *user)
{
    Run *r = user;
    uint32_t push[4] = {r->n, r->ld, r->ld, r->ld};
    HeddleBinding bindings[3] = {{.binding = 0, .buffer = r->a}, {.binding = 1, .buffer = r->b},
                                 {.binding = 2, .buffer = r->c}};
    HeddleDispatch d = { .groups = { r->n / 64, r->n / 64, 1 },
                         .bindings = bindings,
                         .n_bindings = 3,
                         .push = push,
                         .push_size = sizeof(push),
                         .max_threads = r->threads,
                         .interleave = r->interleave };
    if (heddle_dispatch(r->kernel, &d, NULL, NULL) != HEDDLE_OK)
        fprintf(stderr, "dispatch failed\n");
}

static void run_blas(void *user)
{
    Run *r = user;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)r->n, (int)r->n, (int)r->n, 1, r->x,
                (int)r->ld, r->y, (int)r->ld, 0, r->z, (int)r->ld);
}

/* Small integers, so that every product and sum is exact in every type here. */
static void fill(HeddleBuffer *b, HeddleType type, float *copy, size_t n, uint32_t seed)
{
    HeddleArray view = {
        .type = type, .rank = 1, .shape = { n }, .count = n, .data = heddle_buffer_data(b)
    };
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        double v = (int)(seed >> 29) - 3;
        heddle_array_set(&view, i, v);
        copy[i] = (float)v;
    }
}

static double error_of(const Run *r)
{
    HeddleArray view = {.type = r->k->cd, .rank = 1, .count = (uint64_t)r->ld * r->n,
                        .data = heddle_buffer_data(r->c)};
    double worst = 0;
    for (size_t i = 0; i < r->n; i++)
        for (size_t j = 0; j < r->n; j++)
            worst = fmax(worst, fabs(heddle_array_get(&view, i * r->ld + j) - r->z[i * r->ld + j]));
    return worst;
}

static bool measure(HeddleDevice *device, HeddleLog *log, const Kernel *k, HeddleKernel *kernel,
                    uint32_t n, uint32_t ld, uint32_t threads, int rounds, int interleave,
                    double peak)
{
    size_t count = (size_t)ld * n, es = heddle_type_size(k->ab), ec = heddle_type_size(k->cd);
    Run r = {.k = k, .kernel = kernel, .n = n, .ld = ld, .threads = threads,
             .interleave = interleave};
    r.x = bench_alloc(count * 4);
    r.y = bench_alloc(count * 4);
    r.z = bench_alloc(count * 4);
    if (heddle_buffer_new(device, count * es, &r.a, log) ||
        heddle_buffer_new(device, count * es, &r.b, log) ||
        heddle_buffer_new(device, count * ec, &r.c, log))
        return false;
    fill(r.a, k->ab, r.x, count, n);
    fill(r.b, k->ab, r.y, count, n + 1);
    double work = 2.0 * n * n * n;
    Run single = r;
    single.threads = 1;
    double bound = k->ab == HEDDLE_F32 || k->ab == HEDDLE_F16 ? peak : peak * 64;
    BenchCase alone = {.name = "one thread", .run = run_heddle, .user = &single, .work = work,
                       .peak = bound};
    BenchCase blas = {.name = "OpenBLAS sgemm", .run = run_blas, .user = &r, .work = work};
    BenchCase ours = {.name = k->name, .run = run_heddle, .user = &r, .work = work, .peak = bound};
    BenchOptions o = { .threads = (int)threads,
                       .rounds = rounds      ? rounds
                                 : n >= 2048 ? 5
                                 : n >= 1024 ? 9
                                             : 15,
                       .peak = peak };
    BenchCase *reference = threads > 1 ? &alone : &blas;
    bench_warm_openblas(1);
    bool ok = bench_paired(reference, &ours, 1, &o);
    run_blas(&r);
    run_heddle(&r);
    double error = error_of(&r);
    double goal = n == 256    ? k->goal[0]
                  : n == 512  ? k->goal[1]
                  : n == 1024 ? k->goal[2]
                              : k->goal[3];
    printf("%-26s %5u %5u %7u %9.1f %9.1f %7.3f  [%.3f %.3f]", k->name, n, ld, threads, ours.rate,
           reference->rate, ours.ratio, ours.p25, ours.p75);
    if (threads > 1)
        goal = 0.9 * threads;
    if (goal > 0)
        printf("  %4.2f %s", goal, ours.ratio >= goal ? "reached" : "missed");
    if (error > 0)
        printf("  WRONG by %g", error);
    printf("\n");
    fflush(stdout);
    heddle_buffer_free(r.a);
    heddle_buffer_free(r.b);
    heddle_buffer_free(r.c);
    free(r.x), free(r.y), free(r.z);
    return ok && error == 0;
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
    bench_openblas_for_this_cpu(argv);
    const char *only = NULL;
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--kernel"))
            only = argv[i + 1];
    uint32_t threads = option(argc, argv, "--threads", 0), size = option(argc, argv, "--size", 0);
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device;
    if (heddle_device_new(NULL, &device, log))
        return 1;
    uint32_t all = heddle_device_info(device)->threads;
    double peak = bench_peak();
    printf("peak %.1f GFLOP/s f32 a core, %u cores; OpenBLAS %s\n", peak, all,
           openblas_get_corename());
    printf("%-26s %5s %5s %7s %9s %9s %7s  %-13s  goal\n", "kernel", "n", "ld", "threads", "Gop/s",
           "reference", "ratio", "quartiles");
    bool ok = true;
    for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
        if (only && !strstr(kernels[k].name, only))
            continue;
        char path[512];
        snprintf(path, sizeof(path), "%s/bench/kernels/%s", HEDDLE_SOURCE_DIR, kernels[k].file);
        HeddleModule *module;
        HeddleKernel *kernel;
        HeddleModuleOptions mo = {.defines = kernels[k].defines, .n_defines = kernels[k].n_defines};
        if (heddle_module_from_file(path, &mo, &module, log)
            || heddle_kernel_new(device, module, NULL, &kernel, log))
            return 1;
        printf("%-26s compiled in %.0f ms\n", kernels[k].name, heddle_kernel_seconds(kernel) * 1e3);
        for (uint32_t t = threads ? threads : 1; t <= (threads ? threads : all);
             t += all > 1 ? all - 1 : 1)
            for (uint32_t n = 256; n <= 2048; n *= 2)
                for (uint32_t pad = 0; pad <= 16; pad += 16)
                    if (!size || size == n)
                        ok &= measure(device, log, &kernels[k], kernel, n, n + pad, t,
                                      (int)option(argc, argv, "--rounds", 0),
                                      (int)option(argc, argv, "--interleave", 0), peak * t);
        heddle_kernel_free(kernel);
        heddle_module_free(module);
    }
    heddle_device_free(device);
    heddle_log_free(log);
    return !ok;
}
