/* SPDX-License-Identifier: MIT
 *
 * What the demonstrations share: a kernel with its inputs and the same numbers in double precision,
 * compiled, run, measured, compared.
 */
#ifndef HEDDLE_EXAMPLES_WORKLOAD_H
#define HEDDLE_EXAMPLES_WORKLOAD_H

#include <heddle/heddle.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EXAMPLES
#define EXAMPLES "examples"
#endif

enum { ROUNDS = 7, SAMPLES = 1024, MAX_INPUTS = 4 };

typedef struct Workload {
    const char *name, *file;
    char shape[48];
    HeddleDefine defines[4]; /* the last is SHARED's place */
    uint32_t n_defines;
    HeddleSpecValue specs[8];
    uint32_t n_specs, groups[2], subgroup_size;
    HeddleArray *in[MAX_INPUTS], *out;
    double *x[MAX_INPUTS]; /* the same numbers */
    uint32_t n_in;
    struct Network *network; /* the texture's */
    double work;      /* multiplications and additions */
    double tolerance;
    double (*expected)(const struct Workload *w, uint64_t element);
} Workload;

static inline uint64_t spec(const Workload *w, uint32_t n) { return w->specs[n].bits; }

static inline double *as_double(const HeddleArray *a)
{
    double *x = malloc(a->count * sizeof *x);
    for (uint64_t i = 0; x && i < a->count; i++)
        x[i] = heddle_array_get(a, i);
    return x;
}

/* LLVM without a target for SPIR-V, such as Debian's LLVM 19, compiles no OpenCL C. */
static inline bool has_opencl(void)
{
    static const char text[] = "kernel void nothing(void) {}";
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_OPENCL };
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleModule *m = NULL;
    HeddleResult r = heddle_module_new(text, sizeof text - 1, "nothing.cl", &o, &m, log);
    if (r)
        printf("OpenCL C: passed over: %s\n",
               heddle_log_count(log) ? heddle_log_get(log, 0)->text : heddle_result_name(r));
    heddle_module_free(m);
    heddle_log_free(log);
    return !r;
}

/* Random numbers of a normal distribution; false where there is no memory. */
static inline bool add_input(Workload *w, HeddleType type, uint64_t n, HeddleLog *log)
{
    char text[64];
    uint32_t k = w->n_in++;
    snprintf(text, sizeof text, "randn:%s[%llu]@%u", heddle_type_name(type), (unsigned long long)n,
             k + 1);
    if (heddle_array_from_spec(text, &w->in[k], log))
        return false;
    w->x[k] = as_double(w->in[k]);
    return w->x[k];
}

static inline bool set_output(Workload *w, uint64_t n, HeddleLog *log)
{
    return !heddle_array_new(HEDDLE_F32, 1, &n, &w->out, log);
}

static inline void workload_close(Workload *w)
{
    for (uint32_t k = 0; k < w->n_in; k++) {
        heddle_array_free(w->in[k]);
        free(w->x[k]);
    }
    heddle_array_free(w->out);
    free(w->network);
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct Session {
    const char *folder;
    HeddleDevice *device, *gpu; /* gpu: NULL where there is none */
    HeddleLog *log;
} Session;

/* An NVIDIA GPU, if there is one. */
static inline HeddleDevice *open_gpu(void)
{
    HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_CUDA };
    HeddleLog *unheard = heddle_log_new(NULL, NULL);
    HeddleDevice *gpu = NULL;
    heddle_device_new(&o, &gpu, unheard);
    heddle_log_free(unheard);
    return gpu;
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return x[n / 2];
}

static inline HeddleKernel *compile(const Session *s, const Workload *w)
{
    char path[4096];
    HeddleModule *module;
    HeddleKernel *kernel = NULL;
    HeddleModuleOptions m = { .defines = w->defines,
                              .n_defines = w->n_defines,
                              .compiler = getenv("HEDDLE_GLSLANG") };
    HeddleKernelOptions k = { .specs = w->specs, .n_specs = w->n_specs };
    k.subgroup_size = w->subgroup_size;
    snprintf(path, sizeof path, "%s/%s", s->folder, w->file);
    if (!heddle_module_from_file(path, &m, &module, s->log))
        heddle_kernel_new(s->device, module, &k, &kernel, s->log);
    heddle_module_free(module);
    return kernel;
}

static inline double run(const Session *s, const Workload *w, HeddleKernel *kernel)
{
    HeddleBinding bindings[MAX_INPUTS + 1];
    HeddleBuffer *buffers[MAX_INPUTS + 1] = { NULL };
    HeddleReport report = { .seconds = -1 };
    bool good = true;
    for (uint32_t k = 0; k <= w->n_in; k++) {
        const HeddleArray *a = k < w->n_in ? w->in[k] : w->out;
        good &= !heddle_buffer_wrap(s->device, a->data, a->size, &buffers[k], s->log);
        bindings[k] = (HeddleBinding){ .binding = k, .buffer = buffers[k] };
    }
    HeddleDispatch d = { .groups = { w->groups[0], w->groups[1] },
                         .bindings = bindings,
                         .n_bindings = w->n_in + 1 };
    if (good && heddle_dispatch(kernel, &d, &report, s->log))
        report.seconds = -1;
    for (uint32_t k = 0; k <= w->n_in; k++)
        heddle_buffer_free(buffers[k]);
    return report.seconds;
}

/* |result - expected| / |expected|, over elements spread evenly. */
static inline double relative_error(const Workload *w)
{
    double squares = 0, norm = 0;
    uint64_t samples = w->out->count < SAMPLES ? w->out->count : SAMPLES;
    for (uint64_t k = 0; k < samples; k++) {
        uint64_t element = k * (w->out->count - 1) / (samples - 1);
        double want = w->expected(w, element), got = heddle_array_get(w->out, element);
        squares += (got - want) * (got - want);
        norm += want * want;
    }
    return norm > 0 ? sqrt(squares / norm) : NAN;
}

/* Of a kernel compiled, its median time over so many rounds; *error: of the first. Negative when it
 * fails. */
static inline double time_of(const Session *s, const Workload *w, HeddleKernel *kernel, int rounds,
                             double *error)
{
    double times[ROUNDS];
    memset(w->out->data, 0xff, w->out->size);
    *error = NAN;
    for (int r = 0; r < rounds; r++) {
        times[r] = kernel ? run(s, w, kernel) : -1;
        if (times[r] < 0)
            return -1;
        *error = r ? *error : relative_error(w);
    }
    return median(times, rounds);
}

/* A column of the GPU's rate, right or not; prints nothing where there is no GPU. */
static inline bool show_gpu(const Session *s, const Workload *w)
{
    Session on_gpu = { s->folder, s->gpu, NULL, s->log };
    double error;
    if (!s->gpu)
        return true;
    HeddleKernel *kernel = compile(&on_gpu, w);
    double seconds = time_of(&on_gpu, w, kernel, ROUNDS, &error);
    bool right = seconds >= 0 && error <= w->tolerance;
    printf("  %9.1f%s", w->work * 1e-9 / seconds, right ? "" : " WRONG");
    heddle_kernel_free(kernel);
    return right;
}

/* An element of a convolution of NHWC x[0] with x[1], by the sizes that the kernels share. */
static inline double nhwc_convolved(const Workload *w, uint64_t element)
{
    int height = (int)spec(w, 0), width = (int)spec(w, 1), in = (int)spec(w, 2);
    int out = (int)spec(w, 3), filter = (int)spec(w, 4), stride = (int)spec(w, 5);
    int dilation = (int)spec(w, 6), across = (width - 1) / stride + 1;
    int pixel = (int)(element / (uint64_t)out), channel = (int)(element % (uint64_t)out);
    double sum = 0;
    for (int f = 0; f < filter * filter; f++) {
        int y = pixel / across * stride + (f / filter - filter / 2) * dilation;
        int x = pixel % across * stride + (f % filter - filter / 2) * dilation;
        for (int c = 0; y >= 0 && y < height && x >= 0 && x < width && c < in; c++)
            sum += w->x[0][(y * width + x) * in + c] * w->x[1][(f * in + c) * out + channel];
    }
    return sum;
}

#endif
