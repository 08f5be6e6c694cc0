/* SPDX-License-Identifier: MIT
 *
 * Matrix multiplication through libheddle: gemm.comp, compiled for three combinations of types,
 * run on random matrices, checked against double precision and timed beside OpenBLAS's sgemm.
 *
 *     gemm [FOLDER OF gemm.comp]
 *
 * OpenBLAS is looked for when the program runs; where there is none, its columns hold a dash.
 * What is compared runs by turns in this process, on the same threads, and a ratio is the median
 * of the rounds'.
 */
#include <dlfcn.h>
#include <heddle/heddle.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef EXAMPLES
#define EXAMPLES "examples"
#endif

enum { TILE = 64, ROUNDS = 9, CHECKED_ROWS = 256 };

typedef struct Variant {
    const char *name;
    HeddleType input, output;
    HeddleDefine defines[2];
    double tolerance;               /* relative error that rounding explains */
} Variant;

static const Variant variants[] = {
    { "f32", HEDDLE_F32, HEDDLE_F32, { { "INPUT", "float" }, { "OUTPUT", "float" } }, 1e-5 },
    { "f16 -> f32", HEDDLE_F16, HEDDLE_F32, { { "INPUT", "float16_t" }, { "OUTPUT", "float" } },
      1e-5 },
    { "s8 -> s32", HEDDLE_S8, HEDDLE_S32, { { "INPUT", "int8_t" }, { "OUTPUT", "int" } }, 0 },
};

/* A device with the variant's kernel on it; gpu: both NULL where there is none. */
typedef struct Place {
    HeddleDevice *device;
    HeddleKernel *kernel;
} Place;

typedef struct Shape { uint32_t m, n, k; } Shape;
static const Shape shapes[] = { { 256, 256, 256 }, { 512, 512, 512 }, { 1024, 1024, 1024 },
                                { 2048, 2048, 2048 }, { 512, 2048, 768 } };

/* ---- OpenBLAS -------------------------------------------------------------------------------- */

typedef struct Blas {
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*set_threads)(int n);
    char *(*core)(void);
} Blas;

static void blas_run(const Blas *blas, Shape s, const float *a, const float *b, float *c)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111 };
    blas->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, (int)s.m, (int)s.n, (int)s.k, 1, a, (int)s.k, b,
                (int)s.n, 0, c, (int)s.n);
}

/* False where there is none. */
static bool blas_open(Blas *blas, uint32_t threads)
{
    /* OpenBLAS falls back to its slowest kernels on a CPU younger than itself: choose for it. */
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    *(void **)&blas->sgemm = dlsym(library, "cblas_sgemm");
    *(void **)&blas->set_threads = dlsym(library, "openblas_set_num_threads");
    *(void **)&blas->core = dlsym(library, "openblas_get_corename");
    if (!blas->sgemm || !blas->set_threads || !blas->core)
        return false;
    blas->set_threads((int)threads);
    /* It reaches its lasting speed only after a large call. */
    Shape large = { 1024, 1024, 1024 };
    float *zeros = calloc(3 * 1024 * 1024, sizeof *zeros);
    for (int i = 0; zeros && i < 3; i++)
        blas_run(blas, large, zeros, zeros + 1024 * 1024, zeros + 2 * 1024 * 1024);
    free(zeros);
    return true;
}

/* ---- one problem ----------------------------------------------------------------------------- */

typedef struct Problem {
    const Variant *variant;
    HeddleKernel *kernel;
    Shape shape;
    HeddleArray *a, *b, *c;
    HeddleBuffer *a_buffer, *b_buffer, *c_buffer;   /* the arrays' memory, in place */
    float *a32, *b32, *c32;                         /* OpenBLAS's */
} Problem;

static HeddleArray *random_matrix(HeddleType type, uint32_t rows, uint32_t columns, int seed,
                                  HeddleLog *log)
{
    char spec[64];
    bool integer = type == HEDDLE_S8;
    HeddleArray *a;
    snprintf(spec, sizeof spec, "%s:%s[%u,%u]@%d", integer ? "rand" : "randn",
             heddle_type_name(type), rows, columns, seed);
    heddle_array_from_spec(spec, &a, log);
    return a;
}

static float *as_float(const HeddleArray *a)
{
    float *x = malloc(a->count * sizeof *x);
    for (uint64_t i = 0; x && i < a->count; i++)
        x[i] = (float)heddle_array_get(a, i);
    return x;
}

static bool problem_open(Problem *p, HeddleDevice *device, HeddleLog *log)
{
    Shape s = p->shape;
    uint64_t c_shape[] = { s.m, s.n };
    p->a = random_matrix(p->variant->input, s.m, s.k, 1, log);
    p->b = random_matrix(p->variant->input, s.k, s.n, 2, log);
    if (!p->a || !p->b || heddle_array_new(p->variant->output, 2, c_shape, &p->c, log) ||
        heddle_buffer_wrap(device, p->a->data, p->a->size, &p->a_buffer, log) ||
        heddle_buffer_wrap(device, p->b->data, p->b->size, &p->b_buffer, log) ||
        heddle_buffer_wrap(device, p->c->data, p->c->size, &p->c_buffer, log))
        return false;
    p->a32 = as_float(p->a);
    p->b32 = as_float(p->b);
    p->c32 = calloc(p->c->count, sizeof *p->c32);
    return p->a32 && p->b32 && p->c32;
}

static void problem_close(Problem *p)
{
    heddle_buffer_free(p->a_buffer);
    heddle_buffer_free(p->b_buffer);
    heddle_buffer_free(p->c_buffer);
    heddle_array_free(p->a);
    heddle_array_free(p->b);
    heddle_array_free(p->c);
    free(p->a32);
    free(p->b32);
    free(p->c32);
}

/* Multiplies; returns the seconds it took, or a negative number. */
static double problem_run(const Problem *p, HeddleLog *log)
{
    uint32_t sizes[4] = { p->shape.k, p->shape.k, p->shape.n, p->shape.n };
    HeddleBinding bindings[3] = { { .binding = 0, .buffer = p->a_buffer },
                                  { .binding = 1, .buffer = p->b_buffer },
                                  { .binding = 2, .buffer = p->c_buffer } };
    HeddleDispatch d = { .groups = { p->shape.n / TILE, p->shape.m / TILE, 1 },
                         .bindings = bindings, .n_bindings = 3,
                         .push = sizes, .push_size = sizeof sizes };
    HeddleReport report = { .struct_size = sizeof report };
    return heddle_dispatch(p->kernel, &d, &report, log) ? -1 : report.seconds;
}

/* |C - A B| / |A B| (Frobenius), A B in double precision; over at most CHECKED_ROWS rows, evenly
 * spaced. */
static double relative_error(const Problem *p)
{
    Shape s = p->shape;
    uint32_t rows = s.m < CHECKED_ROWS ? s.m : CHECKED_ROWS;
    double *sum = malloc(s.n * sizeof *sum), squares = 0, norm = 0;
    for (uint32_t r = 0; sum && r < rows; r++) {
        uint64_t i = (uint64_t)r * (s.m - 1) / (rows > 1 ? rows - 1 : 1);
        memset(sum, 0, s.n * sizeof *sum);
        for (uint32_t k = 0; k < s.k; k++)
            for (uint32_t j = 0; j < s.n; j++)
                sum[j] += (double)p->a32[i * s.k + k] * p->b32[(uint64_t)k * s.n + j];
        for (uint32_t j = 0; j < s.n; j++) {
            double difference = heddle_array_get(p->c, i * s.n + j) - sum[j];
            squares += difference * difference;
            norm += sum[j] * sum[j];
        }
    }
    free(sum);
    return sum && norm > 0 ? sqrt(squares / norm) : NAN;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return x[n / 2];
}

typedef struct Times { double ours, blas, ratio; } Times; /* seconds, seconds, blas / ours */

/* By turns; short problems several times a turn, so that a turn takes 20 ms. */
static bool measure(const Problem *p, const Blas *blas, Times *out, HeddleLog *log)
{
    double ours[ROUNDS], theirs[ROUNDS], ratios[ROUNDS], once = problem_run(p, log);
    int repeat = once > 0 && once < 0.02 ? (int)(0.02 / once) + 1 : 1;
    for (int round = 0; round < ROUNDS && once >= 0; round++) {
        double start = now();
        for (int i = 0; i < repeat; i++)
            once = problem_run(p, log);
        ours[round] = (now() - start) / repeat;
        start = now();
        for (int i = 0; i < repeat && blas; i++)
            blas_run(blas, p->shape, p->a32, p->b32, p->c32);
        theirs[round] = (now() - start) / repeat;
        ratios[round] = theirs[round] / ours[round];
    }
    if (once < 0)
        return false;
    *out = (Times){ median(ours, ROUNDS), median(theirs, ROUNDS), median(ratios, ROUNDS) };
    return true;
}

/* The GPU's own rate, by its clock. False when the result is wrong. */
static bool show_gpu(const Variant *v, Place gpu, Shape s, HeddleLog *log)
{
    Problem p = { .variant = v, .kernel = gpu.kernel, .shape = s };
    double times[ROUNDS];
    bool good = problem_open(&p, gpu.device, log);
    for (int round = 0; good && round < ROUNDS; round++)
        good = (times[round] = problem_run(&p, log)) >= 0;
    good = good && relative_error(&p) <= v->tolerance;
    if (good)
        printf("  %9.1f", 2.0 * s.m * s.n * s.k * 1e-9 / median(times, ROUNDS));
    problem_close(&p);
    return good;
}

/* One line of the table. False when the result is wrong. */
static bool demonstrate(const Variant *v, const Place at[2], Shape s, const Blas *blas,
                        HeddleLog *log)
{
    Problem p = { .variant = v, .kernel = at[0].kernel, .shape = s };
    Times t;
    bool good = problem_open(&p, at[0].device, log) && measure(&p, blas, &t, log);
    if (good) {
        double error = relative_error(&p), work = 2.0 * s.m * s.n * s.k * 1e-9;
        char blas_rate[16] = "-", ratio[16] = "-";
        good = error <= v->tolerance;
        if (blas) {
            snprintf(blas_rate, sizeof blas_rate, "%.1f", work / t.blas);
            snprintf(ratio, sizeof ratio, "%.2f", t.ratio);
        }
        printf("%-11s %5u x %4u x %4u   %8.1e  %8.1f  %8s  %6s", v->name, s.m, s.n, s.k, error,
               work / t.ours, blas_rate, ratio);
        if (at[1].kernel)
            good &= show_gpu(v, at[1], s, log);
        printf("%s\n", good ? "" : "   WRONG");
        fflush(stdout);
    }
    problem_close(&p);
    return good;
}

static bool run_variant(const Variant *v, const char *path, const Blas *blas,
                        HeddleDevice *device, HeddleDevice *gpu, HeddleLog *log)
{
    Place at[2] = { { .device = device }, { .device = gpu } };
    HeddleModuleOptions options = { .defines = v->defines, .n_defines = 2,
                                    .compiler = getenv("HEDDLE_GLSLANG") };
    HeddleModule *module;
    bool good = true;
    if (heddle_module_from_file(path, &options, &module, log))
        return false;
    for (int i = 0; i < 2 && good && at[i].device; i++)
        good = !heddle_kernel_new(at[i].device, module, NULL, &at[i].kernel, log);
    for (size_t i = 0; good && i < sizeof shapes / sizeof *shapes; i++)
        good = demonstrate(v, at, shapes[i], blas, log);
    heddle_kernel_free(at[0].kernel);
    heddle_kernel_free(at[1].kernel);
    heddle_module_free(module);
    return good;
}

/* An NVIDIA GPU, if there is one. */
static HeddleDevice *open_gpu(void)
{
    HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_CUDA };
    HeddleLog *unheard = heddle_log_new(NULL, NULL);
    HeddleDevice *gpu = NULL;
    heddle_device_new(&o, &gpu, unheard);
    heddle_log_free(unheard);
    return gpu;
}

int main(int argc, char **argv)
{
    char path[4096];
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device, *gpu = open_gpu();
    Blas blas;
    snprintf(path, sizeof path, "%s/gemm.comp", argc > 1 ? argv[1] : EXAMPLES);
    if (heddle_device_new(NULL, &device, log))
        return 1;
    const HeddleDeviceInfo *info = heddle_device_info(device);
    bool has_blas = blas_open(&blas, info->threads);
    printf("%s\n%s, %u threads; OpenBLAS: %s\n\n", path, info->name, info->threads,
           has_blas ? blas.core() : "not found");
    if (gpu)
        printf("the GPU: %s, by its own clock\n\n", heddle_device_info(gpu)->name);
    printf("%-11s %5s   %4s   %4s   %8s  %8s  %8s  %6s%s\n", "types", "m", "n", "k", "error",
           "GFLOP/s", "OpenBLAS", "ratio", gpu ? "    the GPU" : "");
    bool good = true;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        good &= run_variant(&variants[i], path, has_blas ? &blas : NULL, device, gpu, log);
    printf("\nerror: |C - AB| / |AB| against double precision; OpenBLAS: sgemm of that shape\n");
    heddle_device_free(device);
    heddle_device_free(gpu);
    heddle_log_free(log);
    return good ? 0 : 1;
}
