/* SPDX-License-Identifier: MIT
 *
 * What looking costs, by turns with not looking, on one thread: compiling with the source's lines
 * (-g), and with variables (-g --no-optimisation, against --no-optimisation); runs at which a timer
 * looks every half millisecond, as `heddle profile` has them, and the run that counts; also of
 * dispatches that are over sooner than a timer is made. Times are ratios; the goals are 1.10 for -g
 * and 1.3 for profiling. With --goals it fails where three quarters of the ratios exceed one.
 * Before that, milliseconds from GLSL to a module and to a kernel, compiled and where HEDDLE_CACHE
 * has them.
 *
 *     bench_costs [--rounds N] [--goals]
 */
#include "bench.h"

#include <heddle/heddle.h>

typedef struct Kernel {
    const char *name, *file;
    uint32_t groups[3], floats; /* of each of three buffers */
    uint32_t push[4];
    bool opencl;
} Kernel;

static const Kernel kernels[] = {
    {"gemm", "examples/gemm.comp", {8, 8, 1}, 512 * 512, {512, 512, 512, 512}, false},
    {"accesses", "tests/cli/accesses.comp", {32768, 1, 1}, 64 * 32768, {0}, false},
    {"lines", "tests/cli/profile.comp", {512, 1, 1}, 64 * 9 * 512, {0}, false},
    {"short", "tests/cli/accesses.comp", {1, 1, 1}, 64, {0}, false},
    {"gemm.cl", "examples/opencl/gemm.cl", {0}, 0, {0}, true},
    {"nbody.cl", "examples/opencl/nbody.cl", {0}, 0, {0}, true},
};

typedef struct Compiling {
    HeddleDevice *device;
    HeddleModule *module;
    HeddleKernelOptions options;
    HeddleLog *log;
} Compiling;

static void compile_once(void *user)
{
    Compiling *c = user;
    HeddleKernel *k = NULL;
    if (heddle_kernel_new(c->device, c->module, &c->options, &k, c->log))
        fprintf(stderr, "a kernel cannot be compiled\n");
    heddle_kernel_free(k);
}

typedef struct Running {
    HeddleKernel *kernel;
    const Kernel *about;
    HeddleBuffer *buffers[3];
    double sample;
} Running;

static void run_once(void *user)
{
    Running *r = user;
    HeddleBinding bindings[3];
    for (uint32_t k = 0; k < 3; k++)
        bindings[k] = (HeddleBinding){.binding = k, .buffer = r->buffers[k]};
    HeddleDispatch d = {.struct_size = sizeof d,
                        .groups = {r->about->groups[0], r->about->groups[1], 1},
                        .bindings = bindings,
                        .n_bindings = 3,
                        .push = r->about->push,
                        .push_size = r->about->push[0] ? sizeof r->about->push : 0,
                        .max_threads = 1,
                        .sample = r->sample};
    if (heddle_dispatch(r->kernel, &d, NULL, NULL))
        fprintf(stderr, "%s: the dispatch failed\n", r->about->name);
}

static bool missed;

static void report(const Kernel *k, const BenchCase *c, double goal)
{
    missed |= goal && 1 / c->p75 > goal;
    printf("%-12s %-40s %.3f  [%.3f %.3f]\n", k->name, c->name, 1 / c->ratio, 1 / c->p75,
           1 / c->p25);
    fflush(stdout);
}

static void measure_compiling(const Kernel *k, const Compiling *from, const BenchOptions *o)
{
    Compiling plain = *from, lines = *from, slow = *from, variables = *from;
    lines.options.debug = variables.options.debug = true;
    slow.options.no_optimisation = variables.options.no_optimisation = true;
    BenchCase without = {.name = "", .run = compile_once, .user = &plain, .work = 1};
    BenchCase with = {.name = "-g", .run = compile_once, .user = &lines, .work = 1};
    bench_paired(&without, &with, 1, o);
    report(k, &with, 1.1);
    BenchCase bare = {.name = "", .run = compile_once, .user = &slow, .work = 1};
    BenchCase all = {.name = "-g --no-optimisation", .run = compile_once, .user = &variables,
                     .work = 1};
    bench_paired(&bare, &all, 1, o);
    report(k, &all, 0);
}

static void measure_running(const Kernel *k, const Compiling *from, const BenchOptions *o)
{
    HeddleKernelOptions options = from->options;
    Running plain = {.about = k}, sampled, counting;
    HeddleKernel *counts = NULL;
    options.debug = true;
    bool good = !heddle_kernel_new(from->device, from->module, &options, &plain.kernel, from->log);
    options.profile = true;
    good = good && !heddle_kernel_new(from->device, from->module, &options, &counts, from->log);
    for (uint32_t i = 0; i < 3 && good; i++)
        good = !heddle_buffer_new(from->device, k->floats * 4ull, &plain.buffers[i], from->log);
    sampled = counting = plain;
    sampled.sample = 0.0005;
    counting.kernel = counts;
    BenchCase bare = {.name = "", .run = run_once, .user = &plain, .work = 1};
    BenchCase cases[] = {
        {.name = "profile: a run with looks", .run = run_once, .user = &sampled, .work = 1},
        {.name = "profile: the run that counts", .run = run_once, .user = &counting, .work = 1},
    };
    if (good)
        bench_paired(&bare, cases, 2, o);
    for (int i = 0; i < 2 && good; i++)
        report(k, &cases[i], 1.3);
    for (uint32_t i = 0; i < 3; i++)
        heddle_buffer_free(plain.buffers[i]);
    heddle_kernel_free(counts);
    heddle_kernel_free(plain.kernel);
}

/* ---- from GLSL to a module and a kernel ------------------------------------------------------ */

typedef struct Reading {
    const char *cache;    /* NULL: none */
    HeddleDevice *device; /* NULL: a module only */
} Reading;

static void read_once(void *user)
{
    const Reading *r = user;
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    if (r->cache)
        setenv("HEDDLE_CACHE", r->cache, 1);
    if (heddle_module_from_file(HEDDLE_SOURCE_DIR "/examples/gemm.comp", NULL, &m, NULL) ||
        (r->device && heddle_kernel_new(r->device, m, NULL, &k, NULL)))
        fprintf(stderr, "gemm.comp cannot be compiled\n");
    unsetenv("HEDDLE_CACHE");
    heddle_kernel_free(k);
    heddle_module_free(m);
}

/* device: NULL for a module only */
static void measure_reading(const char *what, HeddleDevice *device, const BenchOptions *o)
{
    char folder[] = "/tmp/heddle-costs-XXXXXX", command[64];
    BenchOptions wall = *o;
    wall.threads = 2; /* the time of another program counts */
    if (!mkdtemp(folder))
        return;
    Reading plain = {NULL, device}, kept = {folder, device};
    BenchCase without = {.name = what, .run = read_once, .user = &plain};
    BenchCase with = {.name = "the same, seen before", .run = read_once, .user = &kept};
    without.work = with.work = 1;
    bench_paired(&without, &with, 1, &wall);
    printf("gemm         %-40s %.1f ms\n", without.name, 1e-6 / without.rate);
    printf("gemm         %-40s %.2f ms, goal 5\n", with.name, 1e-6 / with.rate);
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command))
        fprintf(stderr, "%s stays\n", folder);
}

static bool measure(const Kernel *k, Compiling *c, const BenchOptions *o)
{
    char path[512];
    snprintf(path, sizeof path, HEDDLE_SOURCE_DIR "/%s", k->file);
    c->module = NULL;
    if (heddle_module_from_file(path, NULL, &c->module, c->log))
        return false;
    measure_compiling(k, c, o);
    if (!k->opencl)
        measure_running(k, c, o);
    heddle_module_free(c->module);
    return true;
}

int main(int argc, char **argv)
{
    BenchOptions o = {.threads = 1, .rounds = 11, .seconds = 0.05};
    bool goals = argc > 1 && !strcmp(argv[argc - 1], "--goals");
    if (argc >= 3 && !strcmp(argv[1], "--rounds"))
        o.rounds = atoi(argv[2]);
    Compiling c = {.options = {.struct_size = sizeof c.options, .emit = HEDDLE_EMIT_OBJECT}};
    c.log = heddle_log_new(heddle_print_to_stderr, NULL);
    bool good = c.log && !heddle_device_new(NULL, &c.device, c.log);
    if (good) {
        measure_reading("GLSL to a module", NULL, &o);
        measure_reading("GLSL to a kernel", c.device, &o);
    }
    printf("%-12s %-40s times the same without, [quartiles]\n", "kernel", "");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && good; i++)
        good = measure(&kernels[i], &c, &o);
    heddle_device_free(c.device);
    heddle_log_free(c.log);
    return !good || (goals && missed);
}
