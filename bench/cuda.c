/* SPDX-License-Identifier: MIT
 *
 * Kernels on an NVIDIA GPU: by the device cuda, by NVIDIA's own Vulkan driver, which gets the same
 * SPIR-V in this process (the device vulkan), and, where it is installed, by cuBLAS. All are
 * launched by turns; medians, by the GPU's clock (cuBLAS: ten products by the wall clock). Samples
 * of every result are compared with double precision. Without a GPU it says so and ends.
 *
 *     bench_cuda [--rounds N] [--only NAME]
 */
#include <dlfcn.h>
#include <heddle/heddle.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n ? values[n / 2] : NAN;
}

/* ---- a problem on a device ------------------------------------------------------------------- */

typedef enum Who { CUDA, CUDA_ROBUST, VULKAN, N_WHO } Who;
static const char *const who_names[] = { "cuda --no-robust", "cuda", "vulkan" };

typedef struct Machine {
    HeddleDevice *device[N_WHO];
    int rounds;
} Machine;

typedef struct Contender {
    HeddleDevice *device;
    HeddleKernel *kernels[MAX_STEPS];
    HeddleBuffer *buffers[MAX_BUFFERS];
    double times[MAX_ROUNDS], error;
    char why[160]; /* it cannot run; "": it can */
} Contender;

static void give_up(Contender *c, HeddleLog *log)
{
    size_t n = heddle_log_count(log);
    const char *text = n ? heddle_log_get(log, 0)->text : "it failed";
    snprintf(c->why, sizeof c->why, "%s", text);
}

static bool build_step(Contender *c, const Problem *p, uint32_t step, bool no_robust)
{
    HeddleDefine defines[MAX_DEFINES + 1];
    char phase[4];
    uint32_t n = 0;
    for (; n < MAX_DEFINES && p->defines[n].name; n++)
        defines[n] = p->defines[n];
    snprintf(phase, sizeof phase, "%u", step);
    if (p->n_steps > 1)
        defines[n++] = (HeddleDefine){ "PHASE", phase };
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleModuleOptions o = { .defines = defines, .n_defines = n };
    HeddleSpecValue specs[MAX_SPECS];
    for (uint32_t i = 0; i < p->n_specs; i++)
        specs[i] = (HeddleSpecValue){ i, p->specs[i] };
    HeddleKernelOptions k = { .struct_size = sizeof k,
                              .no_robust = no_robust,
                              .specs = specs,
                              .n_specs = p->n_specs };
    HeddleModule *m = NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", HEDDLE_SOURCE_DIR, p->file);
    HeddleResult r = heddle_module_from_file(path, &o, &m, log);
    if (!r)
        r = heddle_kernel_new(c->device, m, &k, &c->kernels[step], log);
    if (r)
        give_up(c, log);
    heddle_module_free(m);
    heddle_log_free(log);
    return !r;
}

static bool open_contender(Contender *c, const Problem *p, void *const *data, bool no_robust)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleResult r = HEDDLE_OK;
    for (uint32_t s = 0; s < p->n_steps; s++)
        if (!build_step(c, p, s, no_robust))
            return false;
    for (uint32_t b = 0; b < MAX_BUFFERS && p->sizes[b] && !r; b++) {
        r = heddle_buffer_new_placed(c->device, p->sizes[b], HEDDLE_PLACEMENT_DEVICE,
                                     &c->buffers[b], log);
        if (!r && data[b])
            r = heddle_buffer_write(c->buffers[b], 0, data[b], p->sizes[b], log);
    }
    if (r)
        give_up(c, log);
    heddle_log_free(log);
    return !r;
}

static bool launch(Contender *c, const Problem *p, double *seconds)
{
    HeddleBinding bindings[MAX_BUFFERS];
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleResult r = HEDDLE_OK;
    uint32_t n = 0;
    for (; n < MAX_BUFFERS && c->buffers[n]; n++)
        bindings[n] = (HeddleBinding){ .binding = n, .buffer = c->buffers[n] };
    *seconds = 0;
    for (uint32_t s = 0; s < p->n_steps && !r; s++) {
        HeddleReport report = { .struct_size = sizeof report };
        HeddleDispatch d = { .bindings = bindings,
                             .n_bindings = n,
                             .push = p->push,
                             .push_size = sizeof p->push };
        memcpy(d.groups, p->steps[s], sizeof d.groups);
        r = heddle_dispatch(c->kernels[s], &d, &report, log);
        *seconds += report.seconds;
    }
    if (r)
        give_up(c, log);
    heddle_log_free(log);
    return !r;
}

static void free_contender(Contender *c)
{
    for (uint32_t s = 0; s < MAX_STEPS; s++)
        heddle_kernel_free(c->kernels[s]);
    for (uint32_t b = 0; b < MAX_BUFFERS; b++)
        heddle_buffer_free(c->buffers[b]);
}

/* ---- all of a problem ------------------------------------------------------------------------ */

static void check_result(Contender *c, const Problem *p, void *const *data, char *out)
{
    if (!c->buffers[p->out] || c->why[0])
        return;
    if (heddle_buffer_read(c->buffers[p->out], 0, out, p->sizes[p->out], NULL))
        snprintf(c->why, sizeof c->why, "its result cannot be read");
    else
        c->error = p->check(p, data, out);
    if (!c->why[0] && !(c->error <= p->tolerance))
        snprintf(c->why, sizeof c->why, "WRONG: off by %g", c->error);
}

/* Histograms count on: what a kernel adds to is emptied first. */
static void empty(Contender *c, const Problem *p, void *const *data)
{
    if (p->adds && c->buffers[p->out])
        heddle_buffer_write(c->buffers[p->out], 0, data[p->out], p->sizes[p->out], NULL);
}

static void measure(const Machine *m, const Problem *p, Contender *all, void *const *data,
                    char *out)
{
    double seconds;
    for (int w = 0; w < N_WHO; w++) {
        if (!all[w].why[0])
            open_contender(&all[w], p, data, w != CUDA_ROBUST);
        if (!all[w].why[0] && launch(&all[w], p, &seconds))
            check_result(&all[w], p, data, out);
    }
    for (int round = 0; round < m->rounds; round++)
        for (int w = 0; w < N_WHO; w++) {
            if (all[w].why[0])
                continue;
            empty(&all[w], p, data);
            launch(&all[w], p, &all[w].times[round]);
        }
}

static void print_row(const Machine *m, const Problem *p, Contender *all, double blas)
{
    double t[N_WHO];
    for (int w = 0; w < N_WHO; w++)
        t[w] = all[w].why[0] ? NAN : median(all[w].times, m->rounds);
    printf("%-34s", p->name);
    for (int w = 0; w < N_WHO; w++)
        if (all[w].why[0])
            printf("%12s", "-");
        else
            printf("%8.1f us%6.0f", t[w] * 1e6, p->work / t[w] * 1e-9);
    printf("  x%.2f", t[VULKAN] / t[CUDA]);
    if (blas == blas)
        printf("  cuBLAS %.0f", p->work / blas * 1e-9);
    printf("  off by %.2g\n", all[CUDA].error);
    for (int w = 0; w < N_WHO; w++)
        if (all[w].why[0])
            printf("    %s: %s\n", who_names[w], all[w].why);
    fflush(stdout);
}

static void run_problem(const Machine *m, const Problem *p)
{
    static Contender all[N_WHO];
    void *data[MAX_BUFFERS] = { NULL };
    memset(all, 0, sizeof all);
    for (uint32_t b = 0; b < MAX_BUFFERS && p->sizes[b]; b++) {
        data[b] = calloc(p->sizes[b], 1);
        if (data[b] && b != p->out)
            (b == 1 && p->fill_b ? p->fill_b : p->fill)(data[b], p->sizes[b], p->input, b + 1);
    }
    for (int w = 0; w < N_WHO; w++) {
        all[w].device = m->device[w];
        if (!m->device[w])
            snprintf(all[w].why, sizeof all[w].why, "no Vulkan driver of NVIDIA's");
    }
    char *out = malloc(p->sizes[p->out]);
    measure(m, p, all, data, out);
    double blas = all[CUDA].why[0] ? NAN : blas_seconds(p, all[CUDA].buffers);
    print_row(m, p, all, blas);
    for (int w = 0; w < N_WHO; w++)
        free_contender(&all[w]);
    for (uint32_t b = 0; b < MAX_BUFFERS; b++)
        free(data[b]);
    free(out);
}

/* ---- launches -------------------------------------------------------------------------------- */

static const char nothing[] = "#version 450\nlayout(local_size_x = 32) in;\nvoid main() {}\n";

static double queued(HeddleKernel *k, HeddleDevice *d, uint32_t n)
{
    HeddleQueue *q;
    HeddleDispatch x = { .groups = { 1, 1, 1 } };
    if (heddle_queue_new(d, &q, NULL))
        return NAN;
    double start = now();
    for (uint32_t i = 0; i < n; i++)
        heddle_queue_submit(q, k, &x, NULL, NULL);
    heddle_queue_wait(q, NULL);
    double seconds = now() - start;
    heddle_queue_free(q);
    return seconds;
}

static void print_launches(const Machine *m)
{
    for (int w = CUDA; w <= VULKAN; w += VULKAN - CUDA) {
        HeddleModule *module = NULL;
        HeddleKernel *k = NULL;
        HeddleDispatch x = { .groups = { 1, 1, 1 } };
        enum { WAITS = 20 };
        double waits[MAX_ROUNDS * WAITS], queues[MAX_ROUNDS];
        if (!m->device[w] ||
            heddle_module_new(nothing, sizeof nothing - 1, "nothing.comp", NULL, &module, NULL) ||
            heddle_kernel_new(m->device[w], module, NULL, &k, NULL))
            continue;
        for (int r = 0; r < m->rounds; r++) {
            for (int i = 0; i < WAITS; i++) {
                double start = now();
                heddle_dispatch(k, &x, NULL, NULL);
                waits[WAITS * r + i] = now() - start;
            }
            queues[r] = queued(k, m->device[w], 1000);
        }
        printf("%-18s launch and wait %.1f us, 1000 queued %.2f ms\n", who_names[w],
               median(waits, m->rounds * WAITS) * 1e6, median(queues, m->rounds) * 1e3);
        heddle_kernel_free(k);
        heddle_module_free(module);
    }
}

/* ---- the machine ----------------------------------------------------------------------------- */

static HeddleDevice *open_vulkan(void)
{
    uint32_t n = heddle_device_count(HEDDLE_DEVICE_VULKAN);
    for (uint32_t k = 0; k < n; k++) {
        HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_VULKAN, .ordinal = k };
        HeddleDevice *d;
        if (heddle_device_new(&o, &d, NULL))
            continue;
        if (strstr(heddle_device_info(d)->name, "NVIDIA"))
            return d;
        heddle_device_free(d);
    }
    return NULL;
}

static bool open_machine(Machine *m)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_CUDA };
    HeddleDevice *d;
    bool good = !heddle_device_new(&o, &d, log);
    if (!good) {
        size_t n = heddle_log_count(log);
        printf("no GPU: %s\n", n ? heddle_log_get(log, n - 1)->text : "");
    } else {
        m->device[CUDA] = m->device[CUDA_ROBUST] = d;
        m->device[VULKAN] = open_vulkan();
        printf("%s, %s; median of %d: time, then Top/s (matrices, n-body) or GB/s; xN: cuda "
               "--no-robust to vulkan\n",
               heddle_device_info(d)->name, heddle_device_info(d)->driver, m->rounds);
        printf("%-34s%17s%17s%17s\n", "", who_names[0], who_names[1], who_names[2]);
    }
    heddle_log_free(log);
    return good;
}

int main(int n, char **arguments)
{
    Machine m = { .rounds = 40 };
    const char *only = NULL;
    for (int i = 1; i + 1 < n; i += 2) {
        if (!strcmp(arguments[i], "--rounds"))
            m.rounds = atoi(arguments[i + 1]);
        if (!strcmp(arguments[i], "--only"))
            only = arguments[i + 1];
    }
    m.rounds = m.rounds < 1 ? 1 : m.rounds > MAX_ROUNDS ? MAX_ROUNDS : m.rounds;
    if (!open_machine(&m))
        return 0;
    if (!only)
        print_launches(&m);
    for (uint32_t k = 0; k < n_problems; k++)
        if (!only || strstr(problems[k].name, only))
            run_problem(&m, &problems[k]);
    heddle_device_free(m.device[VULKAN]);
    heddle_device_free(m.device[CUDA]);
    return 0;
}
