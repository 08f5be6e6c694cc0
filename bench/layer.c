/* SPDX-License-Identifier: MIT
 *
 * What the layer costs, on the system's Vulkan driver (VK_DRIVER_FILES as it stands) and on
 * heddle's own without matrices: a program whose shaders need nothing of it, with and without it
 * by turns, where the ratio of the two devices without it shows what the machine's noise is; and
 * kernels that need it, beside the same by --device vulkan, which lowers them without a layer.
 * Times are the process's own on CPUs, of kernels on GPUs the clock's. What is not there it says.
 *
 *     bench_layer [--line NAME] [--rounds N]
 */
#include "bench.h"

#include "base/base.h"
#include "heddle/heddle.h"
#include "vulkan_host.h"

#include <math.h>

enum { STEPS = 1000, MOST_BUFFERS = 3 };

/* Read when an instance is made. */
static void choose(bool layer)
{
    setenv("HEDDLE_LAYER_SUBGROUPS", "64", 1);
    if (layer)
        setenv("HEDDLE_LAYER", "1", 1);
    else
        unsetenv("HEDDLE_LAYER");
}

/* ---- shaders that need nothing --------------------------------------------------------------- */

static const char empty[] = "#version 450\nlayout(local_size_x = 32) in;\nvoid main() {}\n";

typedef struct Plain {
    VulkanHost *host;
    VulkanProgram *one, *many;
    VulkanStep step;
} Plain;

static void run_one(void *user) { vulkan_program_run(((Plain *)user)->one); }
static void run_many(void *user) { vulkan_program_run(((Plain *)user)->many); }

static void make_pipeline(void *user)
{
    Plain *p = user;
    if (!vulkan_program_remake(p->one, &p->step))
        fprintf(stderr, "no pipeline\n");
}

/* A device through the layer asks for cooperative matrices: of others nothing passes through it. */
static bool plain_new(bool layer, const HeddleModule *m, Plain *p, const char **reason)
{
    static VulkanStep steps[STEPS];
    choose(layer);
    p->step = (VulkanStep){ .groups = { 1, 1, 1 } };
    p->step.spirv = heddle_module_spirv(m, &p->step.size);
    for (int k = 0; k < STEPS; k++)
        steps[k] = p->step;
    p->host = vulkan_host_new(VULKAN_ANY, reason);
    if (!p->host)
        return false;
    *reason = "the driver has no such pipelines";
    p->one = vulkan_program_new(p->host, steps, 1, NULL, 0, NULL, 0);
    p->many = vulkan_program_new(p->host, steps, STEPS, NULL, 0, NULL, 0);
    return p->one && p->many;
}

static void plain_free(Plain *p)
{
    if (p->one)
        vulkan_program_free(p->one);
    if (p->many)
        vulkan_program_free(p->many);
    if (p->host)
        vulkan_host_free(p->host);
}

/* Devices in the order in which they were made: drivers serve a process' later ones more slowly,
 * which the four ratios together leave out. */
enum { BARE, LAYER, LAYER_AGAIN, BARE_AGAIN, N_DEVICES };

static void compare(Plain *all, const char *only, int rounds)
{
    static const struct {
        const char *name;
        void (*run)(void *user);
    } lines[] = { { "empty dispatch", run_one },
                  { "1,000 dispatches", run_many },
                  { "cached pipeline", make_pipeline } };
    printf("%-28s %10s %10s  %6s  %6s\n", "microseconds", "without", "layer", "noise", "ratio");
    for (size_t k = 0; k < COUNT_OF(lines); k++) {
        BenchCase c[N_DEVICES];
        BenchOptions o = { .threads = 1, .rounds = rounds };
        for (int of = 0; of < N_DEVICES; of++)
            c[of] = (BenchCase){ .run = lines[k].run, .user = &all[of], .work = 1 };
        if (only && !strstr(lines[k].name, only))
            continue;
        bench_paired(&c[BARE], &c[LAYER], N_DEVICES - 1, &o);
        double noise = c[BARE_AGAIN].ratio,
               ratio = sqrt(c[LAYER].ratio * c[LAYER_AGAIN].ratio / noise);
        printf("%-28s %10.2f %10.2f  %6.3f  %6.3f  goal 0.99 %s\n", lines[k].name,
               1e-3 / c[BARE].rate, 1e-3 / c[LAYER].rate, noise, ratio,
               ratio >= 0.99 ? "reached" : "missed");
        fflush(stdout);
    }
}

/* False: there is no driver, or no layer. */
static bool overheads(const char *only, int rounds, HeddleLog *log)
{
    Plain all[N_DEVICES] = { 0 };
    const char *reason = "no glslang";
    HeddleModule *m = NULL;
    heddle_module_new(empty, strlen(empty), "empty.comp", NULL, &m, log);
    bool good = m && plain_new(false, m, &all[BARE], &reason) &&
                plain_new(true, m, &all[LAYER], &reason) &&
                plain_new(true, m, &all[LAYER_AGAIN], &reason) &&
                plain_new(false, m, &all[BARE_AGAIN], &reason);
    if (good && !vulkan_host_has_matrices(all[LAYER].host)) {
        good = false;
        reason = "the loader does not find the layer";
    }
    if (good) {
        printf("\n%s\n", vulkan_host_name(all[0].host));
        compare(all, only, rounds);
    } else {
        printf("skipped: %s\n", reason);
    }
    for (int k = 0; k < N_DEVICES; k++)
        plain_free(&all[k]);
    heddle_module_free(m);
    return good;
}

/* ---- kernels that need it -------------------------------------------------------------------- */

typedef struct Input {
    HeddleType type;
    uint32_t count;
} Input;

typedef struct Line {
    const char *name, *file;
    HeddleDefine defines[3];
    uint32_t specs[7], n_specs, groups[2];
    uint32_t subgroup_size; /* that the kernel is written for; 0: any */
    Input in[MOST_BUFFERS];
    uint32_t out; /* floats */
    double work;
} Line;

/* Small, since drivers without matrices of their own take their time. */
static const Line lines[] = {
    { "QCOM convolution f32", "convolution.comp",
      { { "T", "float" }, { "K", "8" }, { "E", "float" } },
      { 32, 32, 32, 64, 3, 1, 1 }, 7, { 16, 1 }, 64,
      { { HEDDLE_F32, 32 * 32 * 32 }, { HEDDLE_F32, 9 * 32 * 64 } }, 32 * 32 * 64,
      2.0 * 32 * 32 * 64 * 9 * 32 },
    { "QCOM attention f32", "attention.comp",
      { { "T", "float" }, { "K", "8" }, { "D", "64" } },
      { 256, 0 }, 2, { 4, 2 }, 64,
      { { HEDDLE_F32, 2 * 256 * 64 }, { HEDDLE_F32, 2 * 256 * 64 }, { HEDDLE_F32, 2 * 256 * 64 } },
      2 * 256 * 64, 4.0 * 2 * 256 * 256 * 64 },
    { "QCOM texture f16", "texture.comp", { { "LAYERS", "2" } }, { 128 }, 1, { 128, 1 }, 64,
      { { HEDDLE_F16, 64 * 64 * 12 }, { HEDDLE_F16, 2 * 16 * 16 } }, 128 * 128 * 3,
      2.0 * 128 * 128 * 16 * 16 * 2 },
    { "QCOM q4_0 x f16", "dequantise.comp", { { 0 } }, { 256, 128 }, 2, { 2, 2 }, 64,
      { { HEDDLE_U8, 128 * 256 / 32 * 18 }, { HEDDLE_F16, 256 * 128 } }, 128 * 128,
      2.0 * 128 * 128 * 256 },
    { "NV2 GEMM f16", "tensor_gemm.comp", { { "T", "float16_t" } }, { 256, 256, 256 }, 3, { 2, 2 },
      0,
      { { HEDDLE_F16, 256 * 256 }, { HEDDLE_F16, 256 * 256 } }, 256 * 256, 2.0 * 256 * 256 * 256 },
    { "NV2 convolution f16", "tensor_convolution.comp", { { 0 } },
      { 32, 32, 32, 64, 3, 1, 1 }, 7, { 16, 1 }, 0,
      { { HEDDLE_F16, 32 * 32 * 32 }, { HEDDLE_F16, 9 * 32 * 64 } }, 32 * 32 * 64,
      2.0 * 32 * 32 * 64 * 9 * 32 },
};

typedef struct Run {
    const Line *line;
    HeddleModule *module;
    HeddleKernel *kernel;
    HeddleBuffer *buffers[MOST_BUFFERS + 1];
    HeddleBinding bindings[MOST_BUFFERS + 1];
    uint64_t sizes[MOST_BUFFERS + 1];
    uint32_t n;
    VulkanProgram *program; /* the same module through the layer */
} Run;

static void dispatch(void *user)
{
    Run *r = user;
    HeddleDispatch d = { .groups = { r->line->groups[0], r->line->groups[1], 1 },
                         .bindings = r->bindings,
                         .n_bindings = r->n };
    if (heddle_dispatch(r->kernel, &d, NULL, NULL) != HEDDLE_OK)
        fprintf(stderr, "dispatch failed\n");
}

static void run_program(void *user) { vulkan_program_run(((Run *)user)->program); }

static bool open_kernel(Run *r, HeddleDevice *device, HeddleLog *log)
{
    const Line *l = r->line;
    char path[512];
    HeddleSpecValue specs[COUNT_OF(l->specs)];
    HeddleModuleOptions mo = { .defines = l->defines };
    HeddleKernelOptions ko = { .specs = specs, .n_specs = l->n_specs };
    ko.subgroup_size = l->subgroup_size;
    while (mo.n_defines < COUNT_OF(l->defines) && l->defines[mo.n_defines].name)
        mo.n_defines++;
    for (uint32_t k = 0; k < l->n_specs; k++)
        specs[k] = (HeddleSpecValue){ k, l->specs[k] };
    snprintf(path, sizeof path, "%s/examples/%s", HEDDLE_SOURCE_DIR, l->file);
    return !heddle_module_from_file(path, &mo, &r->module, log) &&
           !heddle_kernel_new(device, r->module, &ko, &r->kernel, log);
}

/* Small numbers of either sign; bytes are those of blocks whose scales are small, too. */
static bool open_buffer(Run *r, HeddleDevice *device, const Input *in, HeddleLog *log)
{
    uint64_t size = in->count * heddle_type_size(in->type);
    if (heddle_buffer_new(device, size, &r->buffers[r->n], log))
        return false;
    HeddleArray view = { .type = in->type,
                         .rank = 1,
                         .shape = { in->count },
                         .count = in->count,
                         .data = heddle_buffer_data(r->buffers[r->n]) };
    for (uint64_t k = 0; k < in->count; k++)
        heddle_array_set(
            &view, k, in->type == HEDDLE_U8 ? (double)(k % 31) : (double)(k * 37 % 64) / 64 - 0.5);
    r->bindings[r->n] = (HeddleBinding){ .binding = r->n, .buffer = r->buffers[r->n] };
    r->sizes[r->n++] = size;
    return true;
}

static bool open_program(Run *r, VulkanHost *h)
{
    const Line *l = r->line;
    VulkanStep step = { .groups = { l->groups[0], l->groups[1], 1 },
                        .specs = l->specs,
                        .n_specs = l->n_specs,
                        .subgroup_size = l->subgroup_size };
    step.spirv = heddle_module_spirv(r->module, &step.size);
    r->program = vulkan_program_new(h, &step, 1, r->sizes, r->n, NULL, 0);
    for (uint32_t k = 0; k < r->n && r->program; k++)
        memcpy(vulkan_program_buffer(r->program, k), heddle_buffer_data(r->buffers[k]),
               r->sizes[k]);
    return r->program;
}

static bool open_run(Run *r, HeddleDevice *device, VulkanHost *h, HeddleLog *log)
{
    const Input out = { HEDDLE_F32, r->line->out };
    bool good = open_kernel(r, device, log);
    for (uint32_t k = 0; good && k < MOST_BUFFERS && r->line->in[k].count; k++)
        good = open_buffer(r, device, &r->line->in[k], log);
    return good && open_buffer(r, device, &out, log) && open_program(r, h);
}

static void close_run(Run *r)
{
    if (r->program)
        vulkan_program_free(r->program);
    heddle_kernel_free(r->kernel);
    for (uint32_t k = 0; k < r->n; k++)
        heddle_buffer_free(r->buffers[k]);
    heddle_module_free(r->module);
}

/* The largest, as a part of the largest number. */
static double difference(const Run *r)
{
    const float *a = heddle_buffer_data(r->buffers[r->n - 1]);
    const float *b = vulkan_program_buffer(r->program, r->n - 1);
    double apart = 0, largest = 0;
    for (uint32_t k = 0; k < r->line->out; k++) {
        apart = fmax(apart, fabs((double)a[k] - (double)b[k]));
        largest = fmax(largest, fabs((double)a[k]));
    }
    return largest > 0 ? apart / largest : 1;
}

static bool measure(const Line *l, HeddleDevice *device, VulkanHost *h, int rounds, HeddleLog *log)
{
    Run r = { .line = l };
    bool there = !l->subgroup_size || vulkan_host_has_subgroups_of(h, l->subgroup_size);
    bool good = !there || open_run(&r, device, h, log);
    if (there && good) {
        BenchCase a = { .name = "lowered", .run = dispatch, .user = &r, .work = l->work };
        BenchCase b = { .name = "layer", .run = run_program, .user = &r, .work = l->work };
        BenchOptions o = { .threads = vulkan_host_is_cpu(h) ? 1 : 2, .rounds = rounds };
        bench_paired(&a, &b, 1, &o);
        good = difference(&r) < 1e-3;
        printf("%-28s %10.2f %10.2f  %6.3f  [%.3f %.3f]  goal 0.97 %s%s\n", l->name, a.rate, b.rate,
               b.ratio, b.p25, b.p75, b.ratio >= 0.97 ? "reached" : "missed",
               good ? "" : ", RESULTS DIFFER");
    } else {
        printf("%-28s %s\n", l->name, there ? "FAILED" : "no subgroups of 64");
    }
    fflush(stdout);
    close_run(&r);
    return good;
}

static bool kernels(const char *only, int rounds, HeddleLog *log)
{
    HeddleDeviceOptions o = { .struct_size = sizeof o, .kind = HEDDLE_DEVICE_VULKAN };
    HeddleDevice *device = NULL;
    const char *reason;
    bool good = true;
    choose(true);
    VulkanHost *h = vulkan_host_new(VULKAN_ANY, &reason);
    choose(false);
    if (h && !heddle_device_new(&o, &device, log)) {
        printf("%-28s %10s %10s  %6s  quartiles\n", "Gop/s", "--device", "layer", "ratio");
        for (size_t k = 0; k < COUNT_OF(lines); k++)
            if (!only || strstr(lines[k].name, only))
                good &= measure(&lines[k], device, h, rounds, log);
    }
    heddle_device_free(device);
    if (h)
        vulkan_host_free(h);
    return good;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    int rounds = 0;
    for (int i = 1; i + 1 < argc; i++) {
        if (!strcmp(argv[i], "--line"))
            only = argv[i + 1];
        if (!strcmp(argv[i], "--rounds"))
            rounds = atoi(argv[i + 1]);
    }
    setenv("XDG_DATA_DIRS", HEDDLE_SHARE ":/usr/local/share:/usr/share", 1);
    setenv("VK_ADD_IMPLICIT_LAYER_PATH", HEDDLE_SHARE "/vulkan/implicit_layer.d", 1);
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    bool good = true;
    for (int own = 0; own < 2; own++) {
        if (own) {
            setenv("VK_DRIVER_FILES", HEDDLE_MANIFEST, 1);
            setenv("VK_ICD_FILENAMES", HEDDLE_MANIFEST, 1);
            setenv("HEDDLE_MATRICES", "none", 1);
        }
        if (overheads(only, rounds ? rounds : 51, log))
            good &= kernels(only, rounds ? rounds : 15, log);
    }
    heddle_log_free(log);
    return !good;
}
