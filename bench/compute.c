/* SPDX-License-Identifier: MIT
 *
 * Ordinary compute kernels (kernels/nbody.comp and others) on heddle, against the same SPIR-V on
 * Mesa's lavapipe, against plain C loops (compute_loops.c) with as many threads, and against heddle
 * with robust access. All take turns in this process (bench.h), heddle before and after each;
 * ratios are medians. Results are compared with C's. One line a problem:
 *
 *     problem  heddle  C  lavapipe (Gitem/s)  heddle/C  heddle/lavapipe  robust access's cost in %
 *
 *     bench_compute [--threads N] [--kernel NAME] [--rounds N] [--subgroup N]
 */
#include "bench.h"
#include "compute_loops.h"
#include "vulkan_host.h"

#include <heddle/heddle.h>
#include <pthread.h>

enum { MAX_STEPS = 4, MAX_BUFFERS = VULKAN_MAX_BUFFERS, MAX_PHASES = 2 };
enum { N_BODIES = 4096, N_SCAN = 1 << 20, N_WORDS = 1 << 20, N_PIXELS = 1024, N_POINTS = 512,
       N_SUM = 1 << 20, N_PARTS = 64, N_MATRIX = 1024, N_ROWS = 1024 };

typedef enum Data { DATA_BITS, DATA_SMALL, DATA_UNIT } Data;   /* words; 0..15; floats in 0..1 */

typedef struct Problem {
    const char *name, *file;
    uint32_t n_steps;
    struct {
        const char *phase;
        uint32_t groups[3];
    } steps[MAX_STEPS];
    uint64_t sizes[MAX_BUFFERS];        /* of the buffers, in words; the first has the input */
    uint32_t push[2];
    bool no_input;                      /* the first buffer is the output */
    bool arithmetic;                    /* needs subgroup operations */
    Data data;
    double items;
    LoopFn *loops[MAX_PHASES];
    uint32_t loop_count;                /* what threads share: rows, elements */
    bool integer;                       /* results are equal, else close to `tolerance` */
    double tolerance;
} Problem;

static const Problem problems[] = {
    {.name = "n-body", .file = "nbody.comp", .n_steps = 1,
     .steps = {{NULL, {N_BODIES / 256, 1, 1}}},
     .sizes = {4 * N_BODIES, 4 * N_BODIES}, .push = {N_BODIES}, .data = DATA_UNIT,
     .items = (double)N_BODIES * N_BODIES, .loops = {loop_nbody}, .loop_count = N_BODIES,
     .tolerance = 1e-4},
    {.name = "prefix sum", .file = "scan.comp", .n_steps = 3,
     .steps = {{"0", {N_SCAN / 4096, 1, 1}}, {"1", {1, 1, 1}}, {"2", {N_SCAN / 4096, 1, 1}}},
     .sizes = {N_SCAN, N_SCAN, N_SCAN / 4096}, .push = {N_SCAN}, .arithmetic = true,
     .data = DATA_SMALL, .items = N_SCAN, .loops = {loop_scan_sum, loop_scan},
     .loop_count = N_SCAN, .integer = true},
    {.name = "histogram", .file = "histogram.comp", .n_steps = 1,
     .steps = {{NULL, {N_WORDS / 8192, 1, 1}}},
     .sizes = {N_WORDS, 256}, .push = {N_WORDS}, .data = DATA_BITS, .items = 4.0 * N_WORDS,
     .loops = {loop_histogram}, .loop_count = 4 * N_WORDS, .integer = true},
    {.name = "mandelbrot", .file = "mandelbrot.comp", .n_steps = 1,
     .steps = {{NULL, {N_POINTS / 16, N_POINTS / 16, 1}}}, .sizes = {N_POINTS * N_POINTS},
     .push = {N_POINTS, N_POINTS}, .no_input = true, .items = N_POINTS * N_POINTS,
     .loops = {loop_mandelbrot}, .loop_count = N_POINTS},
    {.name = "blur 3x3", .file = "blur.comp", .n_steps = 1,
     .steps = {{NULL, {N_PIXELS / 16, N_PIXELS / 16, 1}}},
     .sizes = {N_PIXELS * N_PIXELS, N_PIXELS * N_PIXELS},
     .push = {N_PIXELS, N_PIXELS}, .data = DATA_UNIT, .items = N_PIXELS * N_PIXELS,
     .loops = {loop_blur}, .loop_count = N_PIXELS, .tolerance = 1e-5},
    {.name = "reduction", .file = "reduce.comp", .n_steps = 2,
     .steps = {{"0", {N_PARTS, 1, 1}}, {"1", {1, 1, 1}}}, .sizes = {N_SUM, N_PARTS},
     .push = {N_SUM, N_PARTS}, .arithmetic = true, .data = DATA_UNIT, .items = N_SUM,
     .loops = {loop_reduce}, .loop_count = N_SUM, .tolerance = 1e-2},
    {.name = "transposition", .file = "transpose.comp", .n_steps = 1,
     .steps = {{NULL, {N_MATRIX / 32, N_MATRIX / 32, 1}}},
     .sizes = {N_MATRIX * N_MATRIX, N_MATRIX * N_MATRIX},
     .push = {N_MATRIX}, .data = DATA_UNIT, .items = N_MATRIX * N_MATRIX, .loops = {loop_transpose},
     .loop_count = N_MATRIX, .tolerance = 0},
    {.name = "softmax", .file = "softmax.comp", .n_steps = 1, .steps = {{NULL, {64, 1, 1}}},
     .sizes = {N_ROWS * N_ROWS, N_ROWS * N_ROWS}, .push = {N_ROWS, N_ROWS}, .arithmetic = true,
     .data = DATA_UNIT, .items = N_ROWS * N_ROWS, .loops = {loop_softmax}, .loop_count = N_ROWS,
     .tolerance = 1e-5},
};

/* ---- heddle ---------------------------------------------------------------------------------- */

typedef struct Ours {
    const Problem *p;
    HeddleKernel *kernels[MAX_STEPS];
    HeddleBuffer *buffers[MAX_BUFFERS];
    uint32_t n_buffers, threads;
    HeddleLog *log;
    bool failed;                        /* said once */
} Ours;

static uint32_t count_buffers(const Problem *p)
{
    uint32_t n = 0;
    while (n < MAX_BUFFERS && p->sizes[n])
        n++;
    return n;
}

static void run_heddle(void *user)
{
    Ours *o = user;
    HeddleBinding bindings[MAX_BUFFERS];
    for (uint32_t i = 0; i < o->n_buffers; i++)
        bindings[i] = (HeddleBinding){.binding = i, .buffer = o->buffers[i]};
    for (uint32_t i = 0; i < o->p->n_steps; i++) {
        const uint32_t *g = o->p->steps[i].groups;
        HeddleDispatch d = {.groups = {g[0], g[1], g[2]}, .bindings = bindings,
                            .n_bindings = o->n_buffers, .push = o->p->push,
                            .push_size = sizeof(o->p->push), .max_threads = o->threads};
        if (!o->failed)
            o->failed = heddle_dispatch(o->kernels[i], &d, NULL, o->log) != HEDDLE_OK;
    }
}

static bool open_heddle(Ours *o, HeddleDevice *device, HeddleModule *const *modules,
                        const HeddleKernelOptions *options, void *const *memory, HeddleLog *log)
{
    o->n_buffers = count_buffers(o->p);
    for (uint32_t i = 0; i < o->p->n_steps; i++)
        if (heddle_kernel_new(device, modules[i], options, &o->kernels[i], log))
            return false;
    for (uint32_t i = 0; i < o->n_buffers; i++)
        if (heddle_buffer_wrap(device, memory[i], o->p->sizes[i] * 4, &o->buffers[i], log))
            return false;
    return true;
}

static void close_heddle(Ours *o)
{
    for (uint32_t i = 0; i < o->p->n_steps; i++)
        heddle_kernel_free(o->kernels[i]);
    for (uint32_t i = 0; i < o->n_buffers; i++)
        heddle_buffer_free(o->buffers[i]);
}

/* ---- C --------------------------------------------------------------------------------------- */

typedef struct Loops {
    const Problem *p;
    LoopJob *job;
    uint32_t threads;
} Loops;

typedef struct LoopThread {
    LoopFn *loop;
    LoopJob *job;
    uint32_t part, first, last;
} LoopThread;

static void *loop_thread(void *argument)
{
    LoopThread *t = argument;
    t->loop(t->job, t->part, t->first, t->last);
    return NULL;
}

static void run_phase(const Loops *l, LoopFn *loop)
{
    LoopThread parts[LOOP_MAX_THREADS];
    pthread_t threads[LOOP_MAX_THREADS];
    bool started[LOOP_MAX_THREADS] = {false};
    for (uint32_t i = 0; i < l->threads; i++) {
        uint64_t n = l->p->loop_count;
        parts[i] = (LoopThread){loop, l->job, i, (uint32_t)(n * i / l->threads),
                                (uint32_t)(n * (i + 1) / l->threads)};
        if (i)
            started[i] = !pthread_create(&threads[i], NULL, loop_thread, &parts[i]);
    }
    for (uint32_t i = 0; i < l->threads; i++) {
        if (!started[i])
            loop_thread(&parts[i]);
        else
            pthread_join(threads[i], NULL);
    }
}

static void run_loops(void *user)
{
    Loops *l = user;
    for (int i = 0; i < MAX_PHASES && l->p->loops[i]; i++)
        run_phase(l, l->p->loops[i]);
}

/* What the threads found each for itself becomes the result. */
static void finish_loops(const Loops *l)
{
    if (l->p->loops[0] == loop_reduce) {
        double sum = 0;
        for (uint32_t i = 0; i < l->threads; i++)
            sum += l->job->sums[i];
        *(float *)l->job->out = (float)sum;
    }
    for (uint32_t i = 0; l->p->loops[0] == loop_histogram && i < l->threads; i++)
        for (int b = 0; b < 256; b++)
            ((uint32_t *)l->job->out)[b] += l->job->counts[i][b];
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void run_vulkan(void *user)
{
    if (!vulkan_program_run(user))
        fprintf(stderr, "lavapipe: the dispatch failed\n");
}

static void fill(void *to, const Problem *p)
{
    uint32_t seed = 1;
    for (uint64_t i = 0; i < p->sizes[0]; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t bits = seed ^ seed >> 15;
        float unit = (float)(bits >> 8) * 0x1p-24f;
        bits = p->data == DATA_SMALL ? bits >> 28 : bits;
        memcpy((char *)to + 4 * i, p->data == DATA_UNIT ? (void *)&unit : &bits, 4);
    }
}

/* Mandelbrot's points near the edge take other numbers of steps where a multiply-add rounds once:
 * up to one point in a hundred may differ. */
static bool same(const Problem *p, const void *got, const void *want, const char *who)
{
    uint32_t out = p->no_input ? 0 : 1;
    uint64_t n = p->loops[0] == loop_reduce ? 1 : p->sizes[out], wrong = 0, worst = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t x = ((const uint32_t *)got)[i], y = ((const uint32_t *)want)[i];
        float a = ((const float *)got)[i], b = ((const float *)want)[i];
        bool close = fabsf(a - b) <= p->tolerance * (fabsf(b) + 1e-3f);
        bool equal = p->integer || p->no_input ? x == y : close;
        worst = equal ? worst : i;
        wrong += !equal;
    }
    if (wrong <= (p->no_input ? n / 100 : 0))
        return true;
    fprintf(stderr, "%s: %s differs from C at %llu places, as at %llu: %g (%u), not %g (%u)\n",
            p->name, who, (unsigned long long)wrong, (unsigned long long)worst,
            ((const float *)got)[worst],
            ((const uint32_t *)got)[worst], ((const float *)want)[worst],
            ((const uint32_t *)want)[worst]);
    return false;
}

/* Runs all once from a clean start and compares. */
static bool check(const Problem *p, Ours *plain, Ours *robust, VulkanProgram *vulkan, Loops *loops)
{
    uint32_t out = p->no_input ? 0 : 1;
    size_t size = p->sizes[out] * 4;
    void *ours = loops->job->out, *want = malloc(size);
    if (!want)
        return false;
    memset(ours, 0, size);
    run_loops(loops);
    finish_loops(loops);
    memcpy(want, ours, size);
    memset(ours, 0, size);
    run_heddle(plain);
    bool ok = same(p, ours, want, "heddle");
    memset(ours, 0, size);
    run_heddle(robust);
    ok &= same(p, ours, want, "robust heddle");
    if (vulkan) {
        memset(vulkan_program_buffer(vulkan, out), 0, size);
        run_vulkan(vulkan);
        ok &= same(p, vulkan_program_buffer(vulkan, out), want, "lavapipe");
    }
    free(want);
    return ok;
}

/* ---- a problem ------------------------------------------------------------------------------- */

typedef struct Setting {
    HeddleDevice *device;
    HeddleLog *log;
    VulkanHost *vulkan;
    uint32_t threads, subgroup;
    int rounds;
} Setting;

static VulkanProgram *open_vulkan(const Setting *s, const Problem *p, HeddleModule *const *modules)
{
    VulkanStep steps[MAX_STEPS] = { 0 };
    uint64_t sizes[MAX_BUFFERS];
    if (!s->vulkan || (p->arithmetic && !vulkan_host_has_arithmetic(s->vulkan)))
        return NULL;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        steps[i].spirv = heddle_module_spirv(modules[i], &steps[i].size);
        memcpy(steps[i].groups, p->steps[i].groups, sizeof(steps[i].groups));
    }
    for (uint32_t i = 0; i < count_buffers(p); i++)
        sizes[i] = p->sizes[i] * 4;
    return vulkan_program_new(s->vulkan, steps, p->n_steps, sizes, count_buffers(p), p->push,
                              sizeof(p->push));
}

static bool open_modules(const Setting *s, const Problem *p, HeddleModule **modules)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/bench/kernels/%s", HEDDLE_SOURCE_DIR, p->file);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        HeddleDefine define = {"PHASE", p->steps[i].phase};
        HeddleModuleOptions o = {.defines = &define, .n_defines = p->steps[i].phase ? 1 : 0,
                                 .target_env = "vulkan1.2"};
        if (heddle_module_from_file(path, &o, &modules[i], s->log))
            return false;
    }
    return true;
}

static void print_line(const Problem *p, const BenchCase *ours, const BenchCase *c,
                       const BenchCase *robust, const BenchCase *vulkan, bool ok)
{
    printf("%-14s %9.4f %9.4f ", p->name, ours->rate, c->rate);
    if (vulkan)
        printf("%9.4f %9.2f %9.2f ", vulkan->rate, 1 / c->ratio, 1 / vulkan->ratio);
    else
        printf("%9s %9.2f %9s ", "-", 1 / c->ratio, "-");
    printf("%9.1f%s\n", (1 / robust->ratio - 1) * 100, ok ? "" : "  WRONG");
    fflush(stdout);
}

static bool measure(const Setting *s, const Problem *p)
{
    HeddleModule *modules[MAX_STEPS] = {NULL};
    Ours plain = {.p = p, .threads = s->threads, .log = s->log}, robust = plain;
    Loops loops = {.p = p, .threads = s->threads, .job = bench_alloc(sizeof(*loops.job))};
    HeddleKernelOptions fast = {.subgroup_size = s->subgroup}, safe = fast;
    safe.robust = true;
    void *memory[MAX_BUFFERS] = {NULL};     /* of all but lavapipe, so that none has better pages */
    for (uint32_t i = 0; i < count_buffers(p); i++)
        memory[i] = bench_alloc(p->sizes[i] * 4);
    if (!loops.job || !open_modules(s, p, modules)
        || !open_heddle(&plain, s->device, modules, &fast, memory, s->log)
        || !open_heddle(&robust, s->device, modules, &safe, memory, s->log))
        return false;
    VulkanProgram *vulkan = open_vulkan(s, p, modules);
    *loops.job = (LoopJob){.in = memory[0], .out = memory[p->no_input ? 0 : 1],
                           .width = p->no_input || p->push[1] ? p->push[0] : p->loop_count,
                           .height = p->push[1]};
    fill(memory[0], p);
    if (vulkan)
        fill(vulkan_program_buffer(vulkan, 0), p);
    bool ok = check(p, &plain, &robust, vulkan, &loops);
    BenchCase ours = {.name = "heddle", .run = run_heddle, .user = &plain, .work = p->items};
    BenchCase others[3] = {{.name = "C", .run = run_loops, .user = &loops, .work = p->items},
                           {.name = "robust", .run = run_heddle, .user = &robust, .work = p->items},
                           {.name = "lavapipe", .run = run_vulkan, .user = vulkan,
                            .work = p->items}};
    BenchOptions o = {.threads = (int)s->threads, .rounds = s->rounds, .seconds = 0.01};
    bench_paired(&ours, others, vulkan ? 3 : 2, &o);
    print_line(p, &ours, &others[0], &others[1], vulkan ? &others[2] : NULL, ok);
    if (vulkan)
        vulkan_program_free(vulkan);
    close_heddle(&plain);
    close_heddle(&robust);
    for (uint32_t i = 0; i < p->n_steps; i++)
        heddle_module_free(modules[i]);
    for (uint32_t i = 0; i < count_buffers(p); i++)
        free(memory[i]);
    free(loops.job);
    return ok;
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    const char *given = bench_option(argc, argv, name);
    return given ? given : otherwise;
}

int main(int argc, char **argv)
{
    Setting s = {.log = heddle_log_new(heddle_print_to_stderr, NULL)};
    HeddleDeviceOptions wish = {.threads = (uint32_t)atoi(option(argc, argv, "--threads", "0"))};
    if (heddle_device_new(&wish, &s.device, s.log))
        return 1;
    const HeddleDeviceInfo *info = heddle_device_info(s.device);
    s.threads = info->threads > LOOP_MAX_THREADS ? LOOP_MAX_THREADS : info->threads;
    s.rounds = atoi(option(argc, argv, "--rounds", "0"));
    s.subgroup = (uint32_t)atoi(option(argc, argv, "--subgroup", "0"));
    const char *only = option(argc, argv, "--kernel", ""), *reason;
    char text[16];
    snprintf(text, sizeof(text), "%u", s.threads);
    setenv("LP_NUM_THREADS", text, 1);
    s.vulkan = vulkan_host_new(VULKAN_LAVAPIPE, &reason);
    printf("%s, %u threads, subgroups of %u; ", info->name, s.threads,
           s.subgroup ? s.subgroup : info->default_subgroup_size);
    if (s.vulkan)
        printf("%s, subgroups of %u\n", vulkan_host_name(s.vulkan),
               vulkan_host_subgroup_size(s.vulkan));
    else
        printf("no lavapipe: %s\n", reason);
    printf("%-14s %9s %9s %9s %9s %9s %9s\n", "problem", "heddle", "C", "lavapipe", "/C",
           "/lavapipe", "robust %");
    bool ok = true;
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
        if (strstr(problems[i].name, only))
            ok &= measure(&s, &problems[i]);
    if (s.vulkan)
        vulkan_host_free(s.vulkan);
    heddle_device_free(s.device);
    heddle_log_free(s.log);
    return !ok;
}
