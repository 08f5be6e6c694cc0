/* SPDX-License-Identifier: MIT
 *
 * What execution costs apart from the kernels: a switch between fibers, a barrier, a yield, a
 * workgroup, a dispatch from call to return, with the workers awake and asleep. Kernels are empty C
 * functions. One line a figure: name, median, quartiles, unit.
 */
#include "bench.h"
#include "cpu/cpu.h"
#include "cpu/run/fiber.h"

enum { ROUNDS = 51, MAX_FIBERS = 1000 };

static double wall(void)
{
    return bench_now(2);
}

static void print_line(const char *name, double *values, int n, double scale, const char *unit)
{
    double median = bench_quantile(values, n, 0.5);
    printf("%-44s %9.2f  %9.2f..%-9.2f %s\n", name, median * scale,
           bench_quantile(values, n, 0.25) * scale, bench_quantile(values, n, 0.75) * scale, unit);
}

static void report_diagnostic(void *user, const Diag *d)
{
    char text[512];
    (void)user;
    diag_format(d, text, sizeof text);
    fprintf(stderr, "%s\n", text);
}

/* ---- fibers -------------------------------------------------------------------------------- */

typedef struct Ring {
    Fiber home, fibers[MAX_FIBERS];
    int n, at;
    bool stop;
} Ring;

static Ring ring;

static Fiber *turn(void *argument)
{
    Fiber *self = argument;
    int number = (int)(self - ring.fibers);
    Fiber *next = number + 1 < ring.n ? self + 1 : &ring.home;
    while (!ring.stop)
        fiber_switch(self, next);
    return next;
}

static bool bench_fibers(int n)
{
    double values[ROUNDS];
    int turns = 20000 / n + 1;
    ring.n = n;
    ring.stop = false;
    for (int i = 0; i < n; i++) {
        if (!fiber_new(&ring.fibers[i], 32 << 10, (uint32_t)i))
            return false;
        fiber_start(&ring.fibers[i], turn, &ring.fibers[i]);
    }
    for (int r = 0; r < ROUNDS; r++) {
        double t = wall();
        for (int i = 0; i < turns; i++)
            fiber_switch(&ring.home, &ring.fibers[0]);
        values[r] = (wall() - t) / ((double)turns * (n + 1));
    }
    ring.stop = true;
    fiber_switch(&ring.home, &ring.fibers[0]);
    for (int i = 0; i < n; i++)
        fiber_free(&ring.fibers[i]);
    char name[64];
    snprintf(name, sizeof name, "fiber switch, %d fibers", n);
    print_line(name, values, ROUNDS, 1e9, "ns");
    return true;
}

/* ---- dispatches ---------------------------------------------------------------------------- */

enum { STEPS = 1000 };

static void kernel_nothing(CpuEnv *env)
{
    (void)env;
}

static void kernel_barriers(CpuEnv *env)
{
    for (int i = 0; i < STEPS; i++)
        env->barrier(env);
}

static void kernel_yields(CpuEnv *env)
{
    for (int i = 0; i < STEPS; i++)
        env->yield(env);
}

typedef struct Shape {
    const char *name;
    CpuSubgroupFn *code;
    uint32_t subgroups, groups[2];
    int interleave;
    int repeat;                 /* dispatches in one measurement */
    double per;                 /* what one measurement is divided by, in a dispatch */
    bool idle;                  /* sleep before each */
    double scale;
    const char *unit;
} Shape;

static bool bench_shape(CpuDevice *device, const Shape *s, DiagSink *sink)
{
    CpuKernel kernel = {.code = s->code, .subgroup_size = 32, .stack_bytes = 4096,
                        .local_size = {32 * s->subgroups, 1, 1},
                        .has_barrier = s->code == kernel_barriers,
                        .can_yield = s->interleave > 1};
    double values[ROUNDS];
    for (int r = -2; r < ROUNDS; r++) {
        double total = 0;
        for (int i = 0; i < s->repeat; i++) {
            CpuDispatch x = {.kernel = &kernel, .groups = {s->groups[0], s->groups[1], 1},
                             .interleave = s->interleave};
            if (s->idle)
                usleep(1000);
            double t = wall();
            if (!cpu_dispatch(device, &x, sink))
                return false;
            total += wall() - t;
        }
        if (r >= 0)
            values[r] = total / (s->repeat * s->per);
    }
    char name[96];
    snprintf(name, sizeof name, "%s, %u thread%s", s->name, cpu_device_threads(device),
             cpu_device_threads(device) == 1 ? "" : "s");
    print_line(name, values, ROUNDS, s->scale, s->unit);
    return true;
}

static const Shape on_one_thread[] = {
    {"barrier, 2 subgroups", kernel_barriers, 2, {1, 1}, 1, 5, 2 * STEPS, false, 1e9,
     "ns a subgroup"},
    {"barrier, 8 subgroups", kernel_barriers, 8, {1, 1}, 1, 5, 8 * STEPS, false, 1e9,
     "ns a subgroup"},
    {"barrier, 32 subgroups", kernel_barriers, 32, {1, 1}, 1, 2, 32 * STEPS, false, 1e9,
     "ns a subgroup"},
    {"yield, 16 workgroups", kernel_yields, 1, {4, 4}, 16, 3, 16 * STEPS, false, 1e9, "ns"},
};

static const Shape on_any[] = {
    {"dispatch of 1 workgroup", kernel_nothing, 1, {1, 1}, 1, 200, 1, false, 1e6, "us"},
    {"dispatch of 2 workgroups", kernel_nothing, 1, {2, 1}, 1, 200, 1, false, 1e6, "us"},
    {"dispatch of 64 workgroups", kernel_nothing, 1, {8, 8}, 1, 100, 1, false, 1e6, "us"},
    {"dispatch of 16384 workgroups", kernel_nothing, 1, {128, 128}, 1, 5, 16384, false, 1e9,
     "ns a workgroup"},
    {"dispatch of 1 after 1 ms idle", kernel_nothing, 1, {1, 1}, 1, 5, 1, true, 1e6, "us"},
    {"dispatch of 64 after 1 ms idle", kernel_nothing, 1, {8, 8}, 1, 5, 1, true, 1e6, "us"},
};

int main(void)
{
    static const int fibers[] = {1, 2, 8, 64, 1000};
    DiagSink sink = {.report = report_diagnostic};
    printf("%-44s %9s  %9s..%-9s\n", "", "median", "quartiles", "");
    for (size_t i = 0; i < COUNT_OF(fibers); i++)
        if (!bench_fibers(fibers[i]))
            return 1;
    for (uint32_t threads = 1; threads != UINT32_MAX; threads = threads ? 0 : UINT32_MAX) {
        CpuDevice *device = cpu_device_new(threads, true, &sink);
        bool ok = device != NULL;
        for (size_t i = 0; ok && threads == 1 && i < COUNT_OF(on_one_thread); i++)
            ok = bench_shape(device, &on_one_thread[i], &sink);
        for (size_t i = 0; ok && i < COUNT_OF(on_any); i++)
            ok = bench_shape(device, &on_any[i], &sink);
        cpu_device_free(device);
        if (!ok)
            return 1;
    }
    return 0;
}
