/* SPDX-License-Identifier: MIT
 *
 * The kernels of kernels/pocl.cl by heddle and by another OpenCL implementation for CPUs, pocl
 * (Debian: pocl-opencl-icd), opened at run time. One thread each, CPU time, by turns; both results
 * are compared. A ratio is how many times as fast heddle is.
 *
 *     bench_pocl [--row PART] [--rounds N]
 *
 * OCL_ICD_VENDORS chooses an implementation that is not installed.
 */
#include "bench.h"

#include <dlfcn.h>
#include <heddle/heddle.h>

enum { WORDS = 4 << 20, DIMENSION = 512, N_ARRAYS = 3, N_ARGUMENTS };

typedef enum Contents { FLOATS, WORDS_AND_FLOATS, INTEGERS } Contents;

typedef struct Row {
    const char *name;
    uint32_t global[3], local[3]; /* local 0: left to the implementation */
    int n;
    Contents contents; /* of y, and of x too */
    bool whole;        /* results are integers */
} Row;

#define LINE(name_, size_, group_, n_, ...)                                                        \
    { .name = name_, .global = { size_, 1, 1 },                                                    \
      .local = { group_, group_ ? 1 : 0, group_ ? 1 : 0 }, .n = n_, __VA_ARGS__ }
#define PLANE(name_, size_, group_, n_, ...)                                                       \
    { .name = name_, .global = { size_, size_, 1 }, .local = { group_, group_, group_ ? 1 : 0 },   \
      .n = n_, __VA_ARGS__ }
#define WHOLE .contents = INTEGERS, .whole = true

static const Row rows[] = {
    LINE("add", 1 << 20, 0, 0),
    LINE("saxpy", 1 << 20, 0, 1000000),
    LINE("dot_product", 1 << 14, 256, 1 << 20),
    LINE("maximum", 1 << 18, 128, 0),
    LINE("row_sums", DIMENSION, 0, DIMENSION),
    LINE("column_sums", DIMENSION, 0, DIMENSION),
    LINE("scan", 1 << 18, 256, 0),
    LINE("prefix_up_down", 1 << 18, 256, 0, WHOLE),
    PLANE("transpose", DIMENSION, 0, DIMENSION),
    PLANE("transpose_tiled", DIMENSION, 16, DIMENSION),
    PLANE("stencil", DIMENSION, 0, DIMENSION),
    PLANE("convolution", DIMENSION, 0, DIMENSION),
    PLANE("blur_bytes", DIMENSION, 0, DIMENSION, WHOLE),
    LINE("histogram", 1 << 14, 256, 1 << 20, WHOLE),
    LINE("count_atomically", 1 << 18, 0, 0, WHOLE),
    LINE("nbody", 1024, 0, 1024),
    PLANE("matmul", 256, 0, 256),
    PLANE("matmul_tiled", 256, 16, 256),
    PLANE("matmul_blocks", 64, 0, 256),
    LINE("sparse_rows", 1 << 15, 0, 1 << 15, .contents = WORDS_AND_FLOATS),
    LINE("sparse_ell", 1 << 15, 0, 1 << 15, .contents = WORDS_AND_FLOATS),
    LINE("bitonic_step", 1 << 20, 0, 0, WHOLE),
    PLANE("mandelbrot", 256, 0, 256),
    LINE("black_scholes", 1 << 18, 0, 0),
    LINE("k_means", 1 << 16, 0, 1 << 16),
    LINE("hash_rounds", 1 << 18, 0, 0, WHOLE),
    LINE("random_numbers", 1 << 18, 0, 0, WHOLE),
    LINE("fft_radix2", 1 << 18, 0, 0),
    LINE("fft_radix4", 1 << 18, 0, 0),
    LINE("search", 1 << 12, 0, 0, WHOLE),
    PLANE("floyd_warshall", DIMENSION, 0, DIMENSION),
    PLANE("lu_step", DIMENSION, 0, DIMENSION),
    LINE("gather", 1 << 18, 0, 1 << 18, WHOLE),
    LINE("scatter", 1 << 18, 0, 1 << 18, WHOLE),
};

/* ---- the other implementation ---------------------------------------------------------------- */

/* Named as in OpenCL's headers, which need not be installed. */
static struct Library {
    int (*clGetPlatformIDs)(uint32_t, void **, uint32_t *);
    int (*clGetDeviceIDs)(void *, uint64_t, uint32_t, void **, uint32_t *);
    int (*clGetDeviceInfo)(void *, uint32_t, size_t, void *, size_t *);
    void *(*clCreateContext)(const void *, uint32_t, void *const *, void *, void *, int *);
    void *(*clCreateCommandQueue)(void *, void *, uint64_t, int *);
    void *(*clCreateProgramWithSource)(void *, uint32_t, const char **, const size_t *, int *);
    int (*clBuildProgram)(void *, uint32_t, void *const *, const char *, void *, void *);
    void *(*clCreateKernel)(void *, const char *, int *);
    void *(*clCreateBuffer)(void *, uint64_t, size_t, void *, int *);
    int (*clSetKernelArg)(void *, uint32_t, size_t, const void *);
    int (*clEnqueueNDRangeKernel)(void *, void *, uint32_t, const size_t *, const size_t *,
                                  const size_t *, uint32_t, const void *, void *);
    int (*clFinish)(void *);
} cl;

static void *context, *queue, *program;

static bool open_library(void)
{
    static const struct { const char *name; size_t at; } functions[] = {
#define FUNCTION(name) { #name, offsetof(struct Library, name) }
        FUNCTION(clGetPlatformIDs),     FUNCTION(clGetDeviceIDs),
        FUNCTION(clGetDeviceInfo),      FUNCTION(clCreateContext),
        FUNCTION(clCreateCommandQueue), FUNCTION(clCreateProgramWithSource),
        FUNCTION(clBuildProgram),       FUNCTION(clCreateKernel),
        FUNCTION(clCreateBuffer),       FUNCTION(clSetKernelArg),
        FUNCTION(clEnqueueNDRangeKernel), FUNCTION(clFinish),
#undef FUNCTION
    };
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t k = 0; library && k < sizeof(functions) / sizeof(*functions); k++) {
        void *f = dlsym(library, functions[k].name);
        if (!f)
            return false;
        memcpy((char *)&cl + functions[k].at, &f, sizeof(f));
    }
    return library;
}

/* The first CPU of the first implementation. */
static bool open_device(const char *source)
{
    enum { DEVICE_TYPE_CPU = 2, DEVICE_NAME = 0x102b };
    void *platform, *device;
    char name[256] = "";
    int error = 0;
    uint32_t n = 0;
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    if (!open_library() || cl.clGetPlatformIDs(1, &platform, &n) || !n
        || cl.clGetDeviceIDs(platform, DEVICE_TYPE_CPU, 1, &device, &n) || !n)
        return false;
    cl.clGetDeviceInfo(device, DEVICE_NAME, sizeof(name) - 1, name, NULL);
    printf("heddle and %s, one thread\n", name);
    context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    queue = error ? NULL : cl.clCreateCommandQueue(context, device, 0, &error);
    program = error ? NULL : cl.clCreateProgramWithSource(context, 1, &source, NULL, &error);
    return !error && !cl.clBuildProgram(program, 1, &device, NULL, NULL, NULL);
}

/* ---- a kernel on both sides ------------------------------------------------------------------ */

typedef struct Run {
    const Row *row;
    HeddleKernel *ours;
    HeddleBinding binding[N_ARGUMENTS];
    void *theirs;
    bool failed;
} Run;

static void run_ours(void *user)
{
    Run *r = user;
    HeddleDispatch d = { .bindings = r->binding, .n_bindings = N_ARGUMENTS, .max_threads = 1 };
    memcpy(d.global_size, r->row->global, sizeof(d.global_size));
    memcpy(d.local_size, r->row->local, sizeof(d.local_size));
    r->failed |= heddle_dispatch(r->ours, &d, NULL, NULL) != HEDDLE_OK;
}

static void run_theirs(void *user)
{
    Run *r = user;
    size_t global[3], local[3];
    for (int k = 0; k < 3; k++) {
        global[k] = r->row->global[k];
        local[k] = r->row->local[k];
    }
    r->failed |= cl.clEnqueueNDRangeKernel(queue, r->theirs, 3, NULL, global,
                                           local[0] ? local : NULL, 0, NULL, NULL)
        || cl.clFinish(queue);
}

static void *inputs[2][INTEGERS + 1], *results[2];

static void fill(void)
{
    uint32_t state = 1;
    for (int c = FLOATS; c <= INTEGERS; c += INTEGERS)
        for (int k = 0; k < 2; k++) {
            uint32_t *words = inputs[k][c] = bench_alloc(WORDS * sizeof(float));
            for (int i = 0; i < WORDS; i++) {
                state = state * 1664525 + 1013904223;
                float f = (float)(state >> 8) / (1 << 24);
                memcpy(&words[i], c == FLOATS ? (void *)&f : (void *)&state, sizeof(f));
            }
        }
    inputs[0][WORDS_AND_FLOATS] = inputs[0][FLOATS];
    inputs[1][WORDS_AND_FLOATS] = inputs[1][INTEGERS];
    for (int side = 0; side < 2; side++)
        results[side] = bench_alloc(WORDS * sizeof(float));
}

static bool open_ours(HeddleDevice *device, const HeddleModule *m, HeddleLog *log, Run *r)
{
    HeddleKernelOptions o = { .entry = r->row->name };
    memcpy(o.local_size, r->row->local, sizeof(o.local_size));
    if (!o.local_size[0])
        heddle_local_size(r->row->global, o.local_size);
    if (heddle_kernel_new(device, m, &o, &r->ours, log))
        return false;
    void *arrays[] = { inputs[0][r->row->contents], inputs[1][r->row->contents], results[0] };
    for (uint32_t k = 0; k < N_ARRAYS; k++) {
        HeddleBuffer *b;
        if (heddle_buffer_wrap(device, arrays[k], WORDS * sizeof(float), &b, log))
            return false;
        r->binding[k] = (HeddleBinding){ .binding = k, .buffer = b };
    }
    r->binding[N_ARRAYS] = (HeddleBinding){ .binding = N_ARRAYS, .value = &r->row->n,
                                            .size = sizeof(int) };
    return true;
}

static bool open_theirs(Run *r)
{
    enum { USE_HOST_POINTER = 1 << 3 };
    int error;
    r->theirs = cl.clCreateKernel(program, r->row->name, &error);
    void *arrays[] = { inputs[0][r->row->contents], inputs[1][r->row->contents], results[1] };
    for (uint32_t k = 0; !error && k < N_ARRAYS; k++) {
        void *b = cl.clCreateBuffer(context, USE_HOST_POINTER, WORDS * sizeof(float), arrays[k],
                                    &error);
        error |= cl.clSetKernelArg(r->theirs, k, sizeof(b), &b);
    }
    return !error && !cl.clSetKernelArg(r->theirs, N_ARRAYS, sizeof(int), &r->row->n);
}

/* Sums are in the order of the source in both, but products may be fused or not. */
static bool same_results(const Row *row)
{
    const float *a = results[0], *b = results[1];
    if (row->whole)
        return !memcmp(a, b, WORDS * sizeof(*a));
    int differ = 0;
    for (int i = 0; i < WORDS; i++)
        differ += !(fabsf(a[i] - b[i]) <= 1e-3f * fmaxf(1, fabsf(b[i])));
    return differ <= WORDS / 10000; /* a Mandelbrot set has an edge */
}

static bool measure(HeddleDevice *device, const HeddleModule *m, HeddleLog *log, const Row *row,
                    int rounds, double *ratio)
{
    Run r = { .row = row };
    bool ok = open_ours(device, m, log, &r) && open_theirs(&r);
    for (int side = 0; ok && side < 2; side++)
        memset(results[side], 0, WORDS * sizeof(float));
    if (ok) {
        double work = (double)row->global[0] * row->global[1];
        BenchCase theirs = { .name = "theirs", .run = run_theirs, .user = &r, .work = work };
        BenchCase ours = { .name = row->name, .run = run_ours, .user = &r, .work = work };
        run_ours(&r);
        run_theirs(&r);
        bool same = same_results(row);
        bench_paired(&theirs, &ours, 1, &(BenchOptions){ .threads = 1, .rounds = rounds });
        *ratio = ours.ratio;
        printf("%-20s %10.3f %10.3f %7.2f  [%.2f %.2f]%s\n", row->name, 1e3 * ours.rate,
               1e3 * theirs.rate, ours.ratio, ours.p25, ours.p75, same ? "" : "  results differ");
        fflush(stdout);
        ok = same && !r.failed;
    }
    for (int k = 0; k < N_ARRAYS; k++)
        heddle_buffer_free(r.binding[k].buffer);
    heddle_kernel_free(r.ours);
    return ok;
}

static char *read_source(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = f ? calloc(1, 1 << 16) : NULL;
    if (text && !fread(text, 1, (1 << 16) - 1, f))
        text[0] = 0;
    if (f)
        fclose(f);
    return text;
}

int main(int argc, char **argv)
{
    static const char path[] = HEDDLE_SOURCE_DIR "/bench/kernels/pocl.cl";
    const char *only = bench_option(argc, argv, "--row");
    const char *rounds = bench_option(argc, argv, "--rounds");
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device = NULL;
    HeddleModule *m = NULL;
    char *source = read_source(path);
    if (!source || !open_device(source)) {
        printf("no other OpenCL implementation for CPUs (Debian: pocl-opencl-icd)\n");
        return 0;
    }
    if (heddle_device_new(NULL, &device, log) || heddle_module_from_file(path, NULL, &m, log))
        return 1;
    fill();
    printf("%-20s %10s %10s %7s  quartiles (millions of work-items a second)\n", "kernel", "heddle",
           "peer", "ratio");
    double logs = 0, least = INFINITY, ratio = 0;
    int n = 0;
    bool ok = true;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        if (only && !strstr(rows[k].name, only))
            continue;
        ok &= measure(device, m, log, &rows[k], rounds ? atoi(rounds) : 9, &ratio);
        logs += log2(ratio);
        least = fmin(least, ratio);
        n++;
    }
    printf("%d kernels: geometric mean %.2f (goal 2), least %.2f (goal 0.8)\n", n,
           n ? exp2(logs / n) : 0, least);
    return !ok;
}
