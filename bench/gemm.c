/* SPDX-License-Identifier: MIT
 *
 * heddle's GEMM: kernels/gemm.comp (and _shared) over types, sizes, leading dimensions and threads.
 * On one thread the ratios are to OpenBLAS's sgemm of the same shape and to oneDNN's product of the
 * same types, as the operands lie and with the weights packed before; on more threads to heddle's
 * own single thread (the others' threads go on spinning for long after a call and take the cores
 * from whoever runs next). A kernel that is to be as fast as another, its twin, is compared with
 * that, too. All are measured by turns in this process (bench.h), and results are checked exactly.
 *
 *     bench_gemm [--threads N] [--size N] [--kernel NAME] [--rounds N] [--interleave 1|16]
 *                [--isa LEVEL]
 *
 * --isa: what heddle generates code for; oneDNN's is then ONEDNN_MAX_CPU_ISA, OpenBLAS's
 * OPENBLAS_CORETYPE; without it both have their best kernels.
 */
#include "bench.h"
#include "onednn.h"

#include <heddle/heddle.h>
#include <string.h>
#include <unistd.h>

typedef struct Kernel {
    const char *name, *file;
    HeddleType a, b, cd;
    HeddleDefine defines[10];
    uint32_t n_defines;
    double goal[4];             /* ratio to OpenBLAS at 256, 512, 1024, 2048 */
    const char *twin;           /* or NULL */
    double of_twin;             /* the ratio to it that is the goal */
} Kernel;

#define PLAIN_F32  "f32 4x4 of 16x16x16"
#define PLAIN_BF16 "bf16->f32 4x4 of 16x16x16"
#define PLAIN_S8   "s8->s32 4x4 of 16x16x16"

#define TYPES(AB, CD) {"AB", AB}, {"CD", CD}
#define TILES(M, N, K, GM, GN) {"TM", M}, {"TN", N}, {"TK", K}, {"GM", GM}, {"GN", GN}

static const Kernel kernels[] = {
    {PLAIN_F32, "gemm.comp", HEDDLE_F32, HEDDLE_F32, HEDDLE_F32,
     {TYPES("float", "float")}, 2, {0.8, 0.8, 0.8, 0.65}, NULL, 0},
    {"f16->f32 4x4 of 16x16x16", "gemm.comp", HEDDLE_F16, HEDDLE_F16, HEDDLE_F32,
     {TYPES("float16_t", "float")}, 2, {0.7, 0.7, 0.7, 0.55}, PLAIN_F32, 0.95},
    {PLAIN_BF16, "gemm.comp", HEDDLE_BF16, HEDDLE_BF16, HEDDLE_F32,
     {TYPES("bfloat16_t", "float")}, 2, {0}, NULL, 0},
    {PLAIN_S8, "gemm.comp", HEDDLE_S8, HEDDLE_S8, HEDDLE_S32,
     {TYPES("int8_t", "int")}, 2, {2.0, 2.0, 2.0, 1.6}, NULL, 0},
    {"u8 x s8->s32 4x4 of 16x16x16", "gemm.comp", HEDDLE_U8, HEDDLE_S8, HEDDLE_S32,
     {TYPES("uint8_t", "int"), {"B_TYPE", "int8_t"}}, 3, {0}, NULL, 0},
    {"e4m3->f32 4x4 of 16x16x16", "gemm.comp", HEDDLE_E4M3, HEDDLE_E4M3, HEDDLE_F32,
     {TYPES("floate4m3_t", "float")}, 2, {0}, PLAIN_BF16, 0.9},
    {"f32 1x1 of 64x64x16", "gemm.comp", HEDDLE_F32, HEDDLE_F32, HEDDLE_F32,
     {TYPES("float", "float"), TILES("64", "64", "16", "1", "1")}, 7, {0}, PLAIN_F32, 0.9},
    {"f32 8x8 of 8x8x8", "gemm.comp", HEDDLE_F32, HEDDLE_F32, HEDDLE_F32,
     {TYPES("float", "float"), TILES("8", "8", "8", "8", "8")}, 7, {0.4, 0.4, 0.4, 0.33}, PLAIN_F32,
     0.9},
    {"f32 64x64x16, workgroup's", "gemm.comp", HEDDLE_F32, HEDDLE_F32, HEDDLE_F32,
     {TYPES("float", "float"), TILES("64", "64", "16", "1", "1"),
      {"SCOPE", "gl_ScopeWorkgroup"}, {"INVOCATIONS", "128"}}, 9, {0}, PLAIN_F32, 0.9},
    {"s8->s32 1x1 of 64x64x64", "gemm.comp", HEDDLE_S8, HEDDLE_S8, HEDDLE_S32,
     {TYPES("int8_t", "int"), TILES("64", "64", "64", "1", "1")}, 7, {0}, PLAIN_S8, 0.9},
    {"s8->s32 8x8 of 8x8x16", "gemm.comp", HEDDLE_S8, HEDDLE_S8, HEDDLE_S32,
     {TYPES("int8_t", "int"), TILES("8", "8", "16", "8", "8")}, 7, {0}, PLAIN_S8, 0.9},
    {"f32 shared memory", "gemm_shared.comp", HEDDLE_F32, HEDDLE_F32, HEDDLE_F32,
     {TYPES("float", "float")}, 2, {0.6, 0.6, 0.6, 0.6}, PLAIN_F32, 0.75},
    {"bf16->f32 shared memory", "gemm_shared.comp", HEDDLE_BF16, HEDDLE_BF16, HEDDLE_F32,
     {TYPES("bfloat16_t", "float")}, 2, {0}, PLAIN_BF16, 0.75},
    {"s8->s32 shared memory", "gemm_shared.comp", HEDDLE_S8, HEDDLE_S8, HEDDLE_S32,
     {TYPES("int8_t", "int")}, 2, {0}, PLAIN_S8, 0.75},
};

typedef struct Run {
    const Kernel *k;
    HeddleKernel *kernel;
    HeddleBuffer *a, *b, *c;
    uint32_t n, ld, threads;
    int interleave;
    float *x, *y, *z;           /* OpenBLAS's */
    void *w;                    /* oneDNN's result */
    Onednn dnnl[2];             /* as they lie; packed */
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
        double v = (int)(seed >> 29) - (type == HEDDLE_U8 ? 0 : 3);
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

typedef struct Sizes {
    uint32_t n, ld, threads;
    int rounds, interleave;
    double peak; /* f32, of the threads together */
} Sizes;

static bool make_run(Run *r, HeddleDevice *device, HeddleLog *log, const Kernel *k,
                     HeddleKernel *kernel, const Sizes *z)
{
    size_t count = (size_t)z->ld * z->n, ec = heddle_type_size(k->cd);
    *r = (Run){ .k = k,
                .kernel = kernel,
                .n = z->n,
                .ld = z->ld,
                .threads = z->threads,
                .interleave = z->interleave };
    r->x = bench_alloc(count * 4);
    r->y = bench_alloc(count * 4);
    r->z = bench_alloc(count * 4);
    r->w = bench_alloc(count * ec);
    if (heddle_buffer_new(device, count * heddle_type_size(k->a), &r->a, log) ||
        heddle_buffer_new(device, count * heddle_type_size(k->b), &r->b, log) ||
        heddle_buffer_new(device, count * ec, &r->c, log))
        return false;
    fill(r->a, k->a, r->x, count, z->n);
    fill(r->b, k->b, r->y, count, z->n + 1);
    return true;
}

static void free_run(Run *r)
{
    heddle_buffer_free(r->a);
    heddle_buffer_free(r->b);
    heddle_buffer_free(r->c);
    free(r->x), free(r->y), free(r->z), free(r->w);
}

/* Other libraries, and oneself on one thread. Returns how many. */
static int open_peers(Run *r, Run *single, BenchCase *peers, double work)
{
    static const char *const names[] = { "oneDNN", "oneDNN, packed" };
    int n = 0;
    *single = *r;
    single->threads = 1;
    if (r->threads > 1) {
        peers[n++] = (BenchCase){ .name = "one thread", .run = run_heddle, .user = single };
        peers[0].work = work;
        peers[0].peak = INFINITY;
        return n;
    }
    peers[n++] = (BenchCase){
        .name = "OpenBLAS", .run = run_blas, .user = r, .work = work, .peak = INFINITY
    };
    for (int i = 0; i < 2; i++) {
        OnednnProduct p = { r->k->a,
                            r->k->b,
                            r->k->cd,
                            r->n,
                            r->ld,
                            { heddle_buffer_data(r->a), heddle_buffer_data(r->b), r->w },
                            i == 1 };
        if (onednn_open(&r->dnnl[i], &p))
            peers[n++] = (BenchCase){ .name = names[i],
                                      .run = onednn_run,
                                      .user = &r->dnnl[i],
                                      .work = work,
                                      .peak = INFINITY };
    }
    return n;
}

static void print_peers(const BenchCase *peers, int n)
{
    for (int i = 0; i < n; i++)
        printf("  %9.1f %6.3f [%.3f %.3f]", peers[i].rate, 1 / peers[i].ratio, 1 / peers[i].p75,
               1 / peers[i].p25);
}

static void print_twin(const Kernel *k, const BenchCase *twin)
{
    double ratio = 1 / twin->ratio;
    printf("  of %s: %.3f [%.3f %.3f]  %4.2f %s", k->twin, ratio, 1 / twin->p75, 1 / twin->p25,
           k->of_twin, ratio >= k->of_twin ? "reached" : "missed");
}

/* twin: NULL, or of the same sizes. */
static bool measure(Run *r, Run *twin, const Sizes *z)
{
    const Kernel *k = r->k;
    uint32_t n = z->n;
    double work = 2.0 * n * n * n;
    double bound = k->a == HEDDLE_F32 || k->a == HEDDLE_F16 ? z->peak : z->peak * 64;
    Run single;
    BenchCase peers[4];
    int n_peers = open_peers(r, &single, peers, work), n_cases = n_peers;
    if (twin)
        peers[n_cases++] = (BenchCase){
            .name = k->twin, .run = run_heddle, .user = twin, .work = work, .peak = INFINITY
        };
    BenchCase ours = {
        .name = k->name, .run = run_heddle, .user = r, .work = work, .peak = bound
    };
    BenchOptions o = { .threads = (int)z->threads,
                       .rounds = z->rounds   ? z->rounds
                                 : n >= 2048 ? 5
                                 : n >= 1024 ? 9
                                             : 15,
                       .peak = z->peak };
    bench_warm_openblas(1);
    bool ok = bench_paired(&ours, peers, n_cases, &o);
    run_blas(r);
    run_heddle(r);
    double error = error_of(r);
    double goal = k->goal[n <= 256 ? 0 : n == 512 ? 1 : n == 1024 ? 2 : 3];
    printf("%-26s %5u %5u %3u %9.1f", k->name, n, z->ld, z->threads, ours.rate);
    print_peers(peers, n_peers);
    if (z->threads > 1)
        goal = 0.9 * z->threads;
    if (goal > 0)
        printf("  %4.2f %s", goal, 1 / peers[0].ratio >= goal ? "reached" : "missed");
    if (twin)
        print_twin(k, &peers[n_peers]);
    if (error > 0)
        printf("  WRONG by %g", error);
    printf("\n");
    fflush(stdout);
    return ok && error == 0;
}

static uint32_t number(int argc, char **argv, const char *name, uint32_t otherwise)
{
    const char *given = bench_option(argc, argv, name);
    return given ? (uint32_t)atoi(given) : otherwise;
}

/* NULL after reporting. */
static HeddleKernel *compile(HeddleDevice *device, HeddleLog *log, const Kernel *k)
{
    char path[512];
    HeddleModule *module = NULL;
    HeddleKernel *kernel = NULL;
    HeddleModuleOptions mo = { .defines = k->defines, .n_defines = k->n_defines };
    snprintf(path, sizeof(path), "%s/bench/kernels/%s", HEDDLE_SOURCE_DIR, k->file);
    if (!heddle_module_from_file(path, &mo, &module, log))
        heddle_kernel_new(device, module, NULL, &kernel, log);
    heddle_module_free(module);
    return kernel;
}

static const Kernel *kernel_named(const char *name)
{
    for (size_t i = 0; name && i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (!strcmp(kernels[i].name, name))
            return &kernels[i];
    return NULL;
}

typedef struct Bench {
    HeddleDevice *device;
    HeddleLog *log;
    const Kernel *k, *twin;     /* twin: or NULL */
    HeddleKernel *kernel, *of_twin;
} Bench;

static bool measure_at(const Bench *b, const Sizes *z)
{
    Run r, twin;
    bool paired = b->twin && z->threads == 1;
    bool ok = make_run(&r, b->device, b->log, b->k, b->kernel, z) &&
              (!paired || make_run(&twin, b->device, b->log, b->twin, b->of_twin, z)) &&
              measure(&r, paired ? &twin : NULL, z);
    free_run(&r);
    if (paired)
        free_run(&twin);
    return ok;
}

/* At all sizes. */
static bool measure_all(const Bench *b, Sizes asked, uint32_t all)
{
    bool ok = true;
    uint32_t first = asked.threads ? asked.threads : 1, last = asked.threads ? asked.threads : all;
    for (uint32_t t = first; t <= last; t += all > 1 ? all - 1 : 1)
        for (uint32_t n = 256; n <= 4096; n *= 2)
            for (uint32_t pad = 0; pad <= 16; pad += 16) {
                Sizes z = { n, n + pad, t, asked.rounds, asked.interleave, asked.peak * t };
                if (asked.n ? asked.n == n : n <= 2048)
                    ok &= measure_at(b, &z);
            }
    return ok;
}

static bool measure_kernel(HeddleDevice *device, HeddleLog *log, const Kernel *k, Sizes asked,
                           uint32_t all)
{
    Bench b = { device, log, k, kernel_named(k->twin), compile(device, log, k), NULL };
    if (b.twin)
        b.of_twin = compile(device, log, b.twin);
    bool ok = b.kernel && (!b.twin || b.of_twin);
    if (ok) {
        printf("%-26s compiled in %.0f ms\n", k->name, heddle_kernel_seconds(b.kernel) * 1e3);
        ok = measure_all(&b, asked, all);
    }
    heddle_kernel_free(b.kernel);
    heddle_kernel_free(b.of_twin);
    return ok;
}

int main(int argc, char **argv)
{
    if (!bench_option(argc, argv, "--isa"))
        bench_openblas_for_this_cpu(argv);
    const char *only = bench_option(argc, argv, "--kernel");
    HeddleDeviceOptions options = { .isa = bench_option(argc, argv, "--isa") };
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device;
    if (heddle_device_new(&options, &device, log))
        return 1;
    uint32_t all = heddle_device_info(device)->threads;
    Sizes asked = { .n = number(argc, argv, "--size", 0),
                    .threads = number(argc, argv, "--threads", 0),
                    .rounds = (int)number(argc, argv, "--rounds", 0),
                    .interleave = (int)number(argc, argv, "--interleave", 0),
                    .peak = bench_peak() };
    printf("peak %.1f GFLOP/s f32 a core, %u cores; OpenBLAS with its kernels for %s; %s\n",
           asked.peak, all, openblas_get_corename(), onednn_name());
    printf("%-26s %5s %5s %3s %9s  %s\n", "kernel", "n", "ld", "thr", "Gop/s",
           "OpenBLAS (or one thread), oneDNN, oneDNN packed: Gop/s, our ratio [quartiles]; goal, "
           "twin");
    bool ok = true;
    for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++)
        if (!only || strstr(kernels[k].name, only))
            ok &= measure_kernel(device, log, &kernels[k], asked, all);
    heddle_device_free(device);
    heddle_log_free(log);
    return !ok;
}
