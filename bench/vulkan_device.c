/* SPDX-License-Identifier: MIT
 *
 * What lowered kernels reach on a Vulkan driver (--device vulkan), each beside what it has to be
 * compared with on the same driver, by turns, by the device's own clock: Qualcomm's workloads
 * beside the same staged through shared memory by hand; loops with the hint for wait queues,
 * loading ahead, beside those without; kernels of NVIDIA's second extension lowered to KHR's beside
 * the driver's own where it has that; KHR's matrices lowered away beside a shader without matrices.
 * Then how long lowering takes. A kernel that the driver refuses says why, and the rest goes on.
 *
 *     bench_vulkan_device [--device N] [--line NAME] [--rounds N]
 */
#include "base/base.h"
#include "heddle/heddle.h"
#include "lower/lower.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_DEFINES = 4, MOST_SPECS = 7, MOST_BUFFERS = 5, MOST_ROUNDS = 101, N_HINTS = 4 };

/* seconds: that measuring a row takes; that a driver may take to make a kernel; that a device is
 * kept busy before, since one that was idle begins at a sixth of its clock */
static const double PATIENCE = 2, MOST_TO_MAKE = 10, WARM_UP = 0.5;

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

/* Sorts. */
static double quantile(double *values, int n, double q)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n ? values[(int)(q * (n - 1) + 0.5)] : NAN;
}

/* ---- what is measured ------------------------------------------------------------------------ */

/* What of the driver's a kernel may use. */
typedef enum Target {
    ALL,        /* what it has; the device lowers the rest */
    NATIVE_NV2, /* the same, where it has all of NVIDIA's second extension */
    KHR,        /* KHR's matrices alone */
    NONE,       /* no matrices */
    N_TARGETS
} Target;

typedef struct Job {
    const char *file;
    HeddleDefine defines[MOST_DEFINES];
    Target target;
    uint32_t subgroup_size; /* that it is written for; 0: any */
    const char *hint;       /* wait queues, lowered by loading ahead */
} Job;

typedef struct Input {
    HeddleType type;
    uint64_t count;
} Input;

/* One size of a line. */
typedef struct Problem {
    uint32_t specs[MOST_SPECS], n_specs, push[4], groups[2];
    Input in[MOST_BUFFERS]; /* the last one that there is: the result, floats */
    double work;
} Problem;

typedef struct Line {
    const char *name, *shape;
    Job jobs[2]; /* what it is compared with; ours */
    bool hints;  /* ours for each number of wait queues, the best of which counts */
    double goal;
    Problem sizes[2]; /* the second where the first takes less than a millisecond */
} Line;

/* clang-format off */
#define F16 { "T", "float16_t" }
#define CONVOLUTION(size, in, out) \
    { { size, size, in, out, 3, 1, 1 }, 7, { 0 }, { (size) * (size) / 64, (out) / 64 }, \
      { { HEDDLE_F16, (size) * (size) * (in) }, { HEDDLE_F16, 9 * (in) * (out) }, \
        { HEDDLE_F32, (size) * (size) * (out) } }, 18.0 * (size) * (size) * (in) * (out) }
#define ATTENTION(heads, n) \
    { { n, 0 }, 2, { 0 }, { (n) / 64, heads }, \
      { { HEDDLE_F16, (heads) * (n) * 64 }, { HEDDLE_F16, (heads) * (n) * 64 }, \
        { HEDDLE_F16, (heads) * (n) * 64 }, { HEDDLE_F32, (heads) * (n) * 64 } }, \
      4.0 * (heads) * (n) * (n) * 64 }
#define TEXTURE(n) \
    { { n }, 1, { 0 }, { n, 1 }, \
      { { HEDDLE_F16, 64 * 64 * 12 }, { HEDDLE_F16, 2 * 16 * 16 }, \
        { HEDDLE_F32, (n) * (n) * 3 } }, \
      1024.0 * (n) * (n) }
#define Q4_0(k, n, m) \
    { { k, n }, 2, { 0 }, { (n) / 64, (m) / 64 }, \
      { { HEDDLE_U8, (m) * (k) / 32 * 18 }, { HEDDLE_F16, (k) * (n) }, \
        { HEDDLE_F32, (m) * (n) } }, \
      2.0 * (m) * (n) * (k) }
#define GEMM(n, type) \
    { { 0 }, 0, { n, n, n, n }, { (n) / 64, (n) / 64 }, \
      { { type, (n) * (n) }, { type, (n) * (n) }, { HEDDLE_F32, (n) * (n) } }, \
      2.0 * (n) * (n) * (n) }
/* of A's blocks one in eight is there */
#define SPARSE(n) \
    { { 0 }, 0, { (n) / 128, n, n, n }, { (n) / 64, (n) / 64 }, \
      { { HEDDLE_F16, (n) / 64 * ((n) / 128) * 1024 }, { HEDDLE_F16, (n) * (n) }, \
        { HEDDLE_F32, (n) * (n) }, { HEDDLE_U32, (n) / 64 * ((n) / 128) } }, \
      0.25 * (n) * (n) * (n) }
#define NV2_GEMM(n) \
    { { n, n, n }, 3, { 0 }, { (n) / 128, (n) / 128 }, \
      { { HEDDLE_F16, (n) * (n) }, { HEDDLE_F16, (n) * (n) }, { HEDDLE_F32, (n) * (n) } }, \
      2.0 * (n) * (n) * (n) }
#define NV2_ATTENTION(heads, n, d) \
    { { n, n, heads, 1, d }, 5, { 0 }, { (n) / 64, heads }, \
      { { HEDDLE_F16, (heads) * (n) * (d) }, { HEDDLE_F16, (heads) * (n) * (d) }, \
        { HEDDLE_F16, (heads) * (n) * (d) }, { HEDDLE_F16, (n) * (n) }, \
        { HEDDLE_F32, (heads) * (n) * (d) } }, 4.0 * (heads) * (n) * (n) * (d) }
#define NV2_Q4_0(n) \
    { { n, n, n }, 3, { 0 }, { (n) / 64, (n) / 64 }, \
      { { HEDDLE_U8, (n) * (n) / 32 * 18 }, { HEDDLE_F16, (n) * (n) }, \
        { HEDDLE_F32, (n) * (n) } }, \
      2.0 * (n) * (n) * (n) }

#define STAGED(title, of, file, goal, small, large, ...) \
    { title, of, { { file, { __VA_ARGS__, { "SHARED", "1" } }, ALL, 64, NULL }, \
                   { file, { __VA_ARGS__ }, ALL, 64, NULL } }, false, goal, { small, large } }
#define AHEAD(title, of, file, small, large, ...) \
    { title, of, { { file, { __VA_ARGS__ }, ALL, 0, NULL }, \
                   { file, { __VA_ARGS__ }, ALL, 0, "1" } }, true, 1.1, { small, large } }
#define LOWERED(title, of, file, small, large, ...) \
    { title, of, { { file, { __VA_ARGS__ }, NATIVE_NV2, 0, NULL }, \
                   { file, { __VA_ARGS__ }, KHR, 0, NULL } }, false, 0.6, { small, large } }
#define HALF F16, { "K", "16" }, { "E", "uint" }

static const Line lines[] = {
    STAGED("QCOM convolution f16", "staged", "examples/convolution.comp", 1.0,
           CONVOLUTION(32, 32, 64), CONVOLUTION(128, 64, 128), HALF),
    STAGED("QCOM attention f16", "staged", "examples/attention.comp", 1.2,
           ATTENTION(2, 128), ATTENTION(16, 1024), F16, { "K", "16" }, { "D", "64" }),
    STAGED("QCOM texture f16", "staged", "examples/texture.comp", 1.2,
           TEXTURE(128), TEXTURE(1024), { "LAYERS", "2" }),
    STAGED("QCOM q4_0 x f16", "staged", "examples/dequantise.comp", 1.0,
           Q4_0(256, 128, 128), Q4_0(2048, 1024, 1024), { "UNUSED", "1" }),
    AHEAD("wait queues, large stride", "without", "bench/kernels/gemm.comp",
          GEMM(256, HEDDLE_F16), GEMM(2048, HEDDLE_F16),
          { "AB", "float16_t" }, { "CD", "float" }),
    AHEAD("wait queues, column-major B", "without", "bench/kernels/gemm.comp",
          GEMM(256, HEDDLE_F16), GEMM(2048, HEDDLE_F16),
          { "AB", "float16_t" }, { "CD", "float" }, { "COLUMN_B", "1" }),
    AHEAD("wait queues, block-sparse A", "without", "bench/kernels/sparse_gemm.comp",
          SPARSE(256), SPARSE(4096), { "AB", "float16_t" }),
    LOWERED("NV2 GEMM f16", "native", "examples/tensor_gemm.comp",
            NV2_GEMM(256), NV2_GEMM(2048), F16),
    LOWERED("NV2 attention f16", "native", "examples/tensor_attention.comp",
            NV2_ATTENTION(2, 128, 64), NV2_ATTENTION(16, 1024, 64), F16),
    LOWERED("NV2 q4_0 x f16", "native", "examples/tensor_quants.comp",
            NV2_Q4_0(256), NV2_Q4_0(1024), { "Q4_0", "1" }),
    { "KHR GEMM f32 by lower_khr", "no matrices",
      { { "bench/kernels/gemm_plain.comp", { { 0 } }, ALL, 0, NULL },
        { "bench/kernels/gemm.comp", { { 0 } }, NONE, 0, NULL } }, false, 1.0,
      { GEMM(256, HEDDLE_F32), GEMM(2048, HEDDLE_F32) } },
};
/* clang-format on */

static const char *const hints[N_HINTS] = { "1", "2", "4", "8" };

/* ---- the device ------------------------------------------------------------------------------ */

typedef struct Machine {
    HeddleDevice *device;
    const LowerProfile *profile;
    const char *profiles[N_TARGETS]; /* JSON */
    const char *roomy[N_TARGETS];    /* the same with as much workgroup memory as there may be */
    int rounds;
} Machine;

static bool has_nv2(const Machine *m)
{
    uint32_t needs = PROFILE_HAS_NV2 | PROFILE_HAS_TENSORS;
    return (m->profile->features & needs) == needs;
}

/* The device's own, less what the target hides, with so much workgroup memory. */
static const char *hide(Arena *a, const LowerProfile *own, Target target, uint32_t memory)
{
    LowerProfile p = *own;
    LowerShape *shapes = NEW_ARRAY(a, LowerShape, own->n_shapes + 1);
    p.shapes = shapes;
    p.n_shapes = 0;
    p.workgroup_memory = memory;
    p.features &= ~(uint32_t)(PROFILE_HAS_NV2 | PROFILE_HAS_TENSORS | PROFILE_HAS_QCOM);
    for (uint32_t k = 0; k < own->n_shapes && target != NONE; k++)
        if (own->shapes[k].scope == SpvScopeSubgroup && own->shapes[k].m &&
            !own->shapes[k].flexible) /* those are NV2's */
            shapes[p.n_shapes++] = own->shapes[k];
    return profile_write(a, &p);
}

/* ---- a job ----------------------------------------------------------------------------------- */

typedef struct Contender {
    const Machine *machine;
    HeddleKernel *kernel;
    double seconds[MOST_ROUNDS];
    char why[200]; /* it does not run; "": it does */
} Contender;

static void give_up(Contender *c, HeddleLog *log)
{
    for (size_t k = 0; k < heddle_log_count(log) && !c->why[0]; k++)
        if (heddle_log_get(log, k)->severity == HEDDLE_ERROR)
            snprintf(c->why, sizeof c->why, "%s", heddle_log_get(log, k)->text);
    if (!c->why[0])
        snprintf(c->why, sizeof c->why, "it failed");
}

/* Kernels whose workgroup is one subgroup have INVOCATIONS: else several compute the same. */
static HeddleResult load(const Machine *m, const Job *j, const char *hint, HeddleModule **out,
                         HeddleLog *log)
{
    char path[512];
    HeddleDefine defines[MOST_DEFINES + 2];
    char invocations[16];
    uint32_t n = 0;
    for (; n < MOST_DEFINES && j->defines[n].name; n++)
        defines[n] = j->defines[n];
    if (hint)
        defines[n++] = (HeddleDefine){ "WQ", hint };
    snprintf(invocations, sizeof invocations, "%u", m->profile->subgroup_size);
    defines[n++] = (HeddleDefine){ "INVOCATIONS", invocations };
    HeddleModuleOptions o = { .defines = defines, .n_defines = n };
    snprintf(path, sizeof path, "%s/%s", HEDDLE_SOURCE_DIR, j->file);
    return heddle_module_from_file(path, &o, out, log);
}

static HeddleResult lower(const char *profile, const HeddleModule *m, const HeddleSpecValue *specs,
                          uint32_t n_specs, HeddleModule **out, HeddleLog *log)
{
    HeddleLowerOptions o = { .profile = profile,
                             .profile_size = strlen(profile),
                             .specs = specs,
                             .n_specs = n_specs };
    return heddle_module_lower(m, &o, out, log);
}

static HeddleResult compile(Contender *c, const Job *j, const Problem *p, const char *hint,
                            HeddleLog *log)
{
    HeddleModule *m = NULL, *made = NULL;
    HeddleSpecValue specs[MOST_SPECS];
    for (uint32_t k = 0; k < p->n_specs; k++)
        specs[k] = (HeddleSpecValue){ k, p->specs[k] };
    HeddleKernelOptions o = { .specs = specs, .n_specs = p->n_specs };
    HeddleResult r = load(c->machine, j, hint, &m, log);
    if (!r && j->target >= KHR)
        r = lower(c->machine->profiles[j->target], m, specs, p->n_specs, &made, log);
    else
        o.subgroup_size = j->subgroup_size;
    if (made)
        o.n_specs = 0; /* they have been specialised */
    if (!r)
        r = heddle_kernel_new(c->machine->device, made ? made : m, &o, &c->kernel, log);
    heddle_module_free(made);
    heddle_module_free(m);
    return r;
}

static void open_contender(Contender *c, const Machine *m, const Job *j, const Problem *p,
                           const char *hint)
{
    *c = (Contender){ .machine = m };
    if (j->target == NATIVE_NV2 && !has_nv2(m)) {
        snprintf(c->why, sizeof c->why, "the driver has it not");
        return;
    }
    HeddleLog *log = heddle_log_new(NULL, NULL);
    if (compile(c, j, p, hint, log))
        give_up(c, log);
    heddle_log_free(log);
}

/* ---- buffers --------------------------------------------------------------------------------- */

typedef struct Data {
    const Problem *problem;
    HeddleBuffer *buffers[MOST_BUFFERS];
    HeddleBinding bindings[MOST_BUFFERS];
    uint32_t n, out;
    float *first, *result; /* results: of the one that ran first, and of another */
} Data;

/* Small numbers of either sign, other ones in each buffer; small scales of blocks; indices of
 * blocks of 16 rows of B, which has push[1] rows. */
static double number(const Problem *p, const Input *in, uint32_t buffer, uint64_t k)
{
    uint64_t mixed = (k + buffer) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    if (in->type == HEDDLE_U8)
        return (double)(k % 18 < 2 ? 0x2a : mixed % 256);
    if (in->type == HEDDLE_U32)
        return (double)(mixed % (p->push[1] / 16));
    return (double)(mixed % 64) / 64 - 0.5;
}

static bool open_buffer(Data *d, HeddleDevice *device, uint32_t b, HeddleLog *log)
{
    const Input *in = &d->problem->in[b];
    uint64_t shape[] = { in->count };
    HeddleArray *values;
    if (heddle_array_new(in->type, 1, shape, &values, log))
        return false;
    for (uint64_t k = 0; k < in->count && b != d->out; k++)
        heddle_array_set(values, k, number(d->problem, in, b, k));
    uint64_t size = in->count * heddle_type_size(in->type);
    bool good =
        !heddle_buffer_new_placed(device, size, HEDDLE_PLACEMENT_DEVICE, &d->buffers[b], log) &&
        !heddle_buffer_write(d->buffers[b], 0, values->data, size, log);
    d->bindings[b] = (HeddleBinding){ .binding = b, .buffer = d->buffers[b] };
    heddle_array_free(values);
    return good;
}

static bool open_data(Data *d, HeddleDevice *device, const Problem *p, HeddleLog *log)
{
    *d = (Data){ .problem = p };
    while (d->n < MOST_BUFFERS && p->in[d->n].count)
        d->n++;
    for (uint32_t b = 0; b < d->n; b++)
        if (p->in[b].type == HEDDLE_F32)
            d->out = b; /* of inputs in f32 the last is the result */
    for (uint32_t b = 0; b < d->n; b++)
        if (!open_buffer(d, device, b, log))
            return false;
    d->first = calloc(p->in[d->out].count, sizeof *d->first);
    d->result = calloc(p->in[d->out].count, sizeof *d->result);
    return d->first && d->result;
}

static void close_data(Data *d)
{
    for (uint32_t b = 0; b < d->n; b++)
        heddle_buffer_free(d->buffers[b]);
    free(d->first);
    free(d->result);
}

/* ---- running --------------------------------------------------------------------------------- */

static double launch(Contender *c, const Data *d)
{
    const Problem *p = d->problem;
    HeddleReport report = { .struct_size = sizeof report };
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleDispatch x = { .groups = { p->groups[0], p->groups[1], 1 },
                         .bindings = d->bindings,
                         .n_bindings = d->n,
                         .push = p->push[0] ? p->push : NULL,
                         .push_size = p->push[0] ? sizeof p->push : 0 };
    if (heddle_dispatch(c->kernel, &x, &report, log))
        give_up(c, log);
    heddle_log_free(log);
    return report.seconds;
}

/* Both round differently: f16's weights of a softmax, and the order of sums. */
static void compare(Contender *c, const Data *d)
{
    uint64_t n = d->problem->in[d->out].count;
    double apart = 0, largest = 0;
    for (uint64_t k = 0; k < n; k++) {
        double x = (double)d->first[k], y = (double)d->result[k];
        apart = x == x && y == y ? fmax(apart, fabs(x - y)) : INFINITY;
        largest = fmax(largest, fabs(x));
    }
    if (!(largest > 0 && apart <= 5e-3 * largest))
        snprintf(c->why, sizeof c->why, "WRONG: off by %g, where the largest is %g", apart,
                 largest);
}

/* Once, and its result. The seconds it took. */
static double try_contender(Contender *c, Data *d, bool first)
{
    uint64_t bytes = d->problem->in[d->out].count * sizeof *d->result;
    float *to = first ? d->first : d->result;
    memset(to, 0, bytes);
    if (heddle_buffer_write(d->buffers[d->out], 0, to, bytes, NULL))
        snprintf(c->why, sizeof c->why, "its buffers cannot be written");
    double seconds = c->why[0] ? NAN : launch(c, d);
    if (!c->why[0] && heddle_buffer_read(d->buffers[d->out], 0, to, bytes, NULL))
        snprintf(c->why, sizeof c->why, "its result cannot be read");
    if (!c->why[0] && !first)
        compare(c, d);
    return seconds;
}

/* ---- a line ---------------------------------------------------------------------------------- */

typedef struct Row {
    const Machine *machine;
    const Line *line;
    const Problem *problem;
    Contender all[1 + N_HINTS]; /* what ours are compared with, then ours */
    int n, rounds;
    Data data;
} Row;

/* Drivers take minutes for large kernels: where one took long to make, those that load further
 * ahead are left out, and all where no matrix is the driver's own, since then each is hundreds of
 * loads. */
static void open_contenders(Row *r)
{
    const Line *l = r->line;
    double last = 0;
    r->n = l->hints ? 1 + N_HINTS : 2;
    for (int k = 0; k < r->n; k++) {
        double start = now();
        if (l->hints && !r->machine->profile->n_shapes)
            snprintf(r->all[k].why, sizeof r->all[k].why, "left out: the driver has no matrices");
        else if (l->hints && last > MOST_TO_MAKE)
            snprintf(r->all[k].why, sizeof r->all[k].why,
                     "left out, as the kernel before it took %.1f s to make", last);
        else
            open_contender(&r->all[k], r->machine, &l->jobs[k > 0], r->problem,
                           k && l->hints ? hints[k - 1] : NULL);
        last = MAX(last, now() - start);
    }
}

/* The longest that one of them took once; NaN: none runs. */
static double open_row(Row *r, HeddleLog *log)
{
    double longest = NAN;
    bool first = true;
    open_contenders(r);
    bool good = open_data(&r->data, r->machine->device, r->problem, log);
    for (int k = 0; k < r->n; k++) {
        Contender *c = &r->all[k];
        if (!good && !c->why[0])
            give_up(c, log);
        if (c->why[0])
            continue;
        longest = fmax(longest, try_contender(c, &r->data, first));
        first &= c->why[0] != 0;
    }
    return longest;
}

static void close_row(Row *r)
{
    for (int k = 0; k < r->n; k++)
        heddle_kernel_free(r->all[k].kernel);
    close_data(&r->data);
}

static void run_round(Row *r, int round)
{
    for (int k = 0; k < r->n; k++)
        if (!r->all[k].why[0])
            r->all[k].seconds[round] = launch(&r->all[k], &r->data);
}

/* By turns, for PATIENCE at most. */
static void measure(Row *r)
{
    double start = now();
    do
        run_round(r, 0);
    while (now() - start < WARM_UP);
    start = now();
    for (r->rounds = 0; r->rounds < r->machine->rounds; r->rounds++) {
        if (r->rounds >= 3 && now() - start > PATIENCE)
            break;
        run_round(r, r->rounds);
    }
}

static double rate(const Row *r, int k)
{
    double seconds[MOST_ROUNDS];
    memcpy(seconds, r->all[k].seconds, sizeof seconds);
    return r->all[k].why[0] ? NAN : r->problem->work / quantile(seconds, r->rounds, 0.5) * 1e-9;
}

static void print_number(double x, const char *form, int width)
{
    if (x == x)
        printf(form, x);
    else
        printf("%*s", width, "-");
}

/* Which of ours is best. */
static int best_of(const Row *r)
{
    int best = 1;
    for (int k = 2; k < r->n; k++)
        if (!(rate(r, best) >= rate(r, k)) && !r->all[k].why[0])
            best = k;
    return best;
}

static void print_row(Row *r)
{
    int best = best_of(r);
    bool both = !r->all[0].why[0] && !r->all[best].why[0];
    double ratios[MOST_ROUNDS], median = NAN;
    for (int k = 0; k < r->rounds; k++)
        ratios[k] = r->all[0].seconds[k] / r->all[best].seconds[k];
    printf("%-28s %-12s", r->line->name, r->line->shape);
    print_number(rate(r, best), "%10.2f", 10);
    print_number(rate(r, 0), "%10.2f", 10);
    if (both)
        median = quantile(ratios, r->rounds, 0.5);
    print_number(median, "%8.3f", 8);
    if (both)
        printf("  [%.2f %.2f]  goal %.1f %s", quantile(ratios, r->rounds, 0.25),
               quantile(ratios, r->rounds, 0.75), r->line->goal,
               median >= r->line->goal ? "reached" : "missed");
    if (r->line->hints && !r->all[best].why[0])
        printf(", %s ahead", hints[best - 1]);
    printf("\n");
    for (int k = 0; k < r->n; k++)
        if (r->all[k].why[0] && (!k || strcmp(r->all[k].why, r->all[k - 1].why)))
            printf("    %s %s: %s\n", k ? "lowered" : r->line->shape,
                   k && r->line->hints ? hints[k - 1] : "", r->all[k].why);
    fflush(stdout);
}

static void run_line(const Machine *m, const Line *l, HeddleLog *log)
{
    static Row r;
    for (int size = 0; size < 2; size++) {
        r = (Row){ .machine = m, .line = l, .problem = &l->sizes[size] };
        double seconds = open_row(&r, log);
        if (size || !(seconds < 1e-3)) {
            measure(&r);
            print_row(&r);
            size = 2;
        }
        close_row(&r);
    }
}

/* ---- lowering -------------------------------------------------------------------------------- */

/* It takes as long whether or not the device has room for what comes of it. */
static void time_lowering(const Machine *m, Target target, HeddleLog *log)
{
    static const Job job = { "examples/tensor_attention.comp", { F16 }, KHR, 0, NULL };
    static const Problem p = NV2_ATTENTION(2, 4096, 256);
    double times[7];
    HeddleSpecValue specs[MOST_SPECS];
    HeddleModule *from = NULL;
    int n = 0;
    for (uint32_t k = 0; k < p.n_specs; k++)
        specs[k] = (HeddleSpecValue){ k, p.specs[k] };
    if (!load(m, &job, NULL, &from, log))
        for (; n < (int)COUNT_OF(times); n++) {
            HeddleModule *to = NULL;
            double start = now();
            if (lower(m->roomy[target], from, specs, p.n_specs, &to, log))
                break;
            times[n] = now() - start;
            heddle_module_free(to);
        }
    printf("%-41s", target == KHR ? "lowering NV2 attention of 256 to KHR" : "the same to nothing");
    double median = quantile(times, n, 0.5) * 1e3;
    print_number(median, "%10.2f ms", 13);
    printf("  goal 50 ms %s\n", median <= 50 ? "reached" : "missed");
    heddle_module_free(from);
}

/* ---- the program ----------------------------------------------------------------------------- */

static bool open_machine(Machine *m, Arena *a, uint32_t ordinal, HeddleLog *log)
{
    HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_VULKAN, .ordinal = ordinal };
    if (heddle_device_new(&o, &m->device, log))
        return false;
    const HeddleDeviceInfo *info = heddle_device_info(m->device);
    const char *text = heddle_device_profile(m->device);
    DiagSink sink = { 0 };
    m->profile = profile_read(a, text, strlen(text), info->name, &sink);
    for (int t = KHR; m->profile && t < N_TARGETS; t++) {
        m->profiles[t] = hide(a, m->profile, (Target)t, m->profile->workgroup_memory);
        m->roomy[t] = hide(a, m->profile, (Target)t, 1 << 20);
    }
    printf("%s, %s; median of %d by turns\n", info->name, info->driver, m->rounds);
    printf("%-28s %-12s%10s%10s%8s\n", "Gop/s", "against", "lowered", "its", "ratio");
    fflush(stdout);
    return m->profile;
}

int main(int n, char **arguments)
{
    Machine m = { .rounds = 25 };
    Arena arena = { 0 };
    const char *only = NULL;
    uint32_t ordinal = 0;
    for (int i = 1; i + 1 < n; i += 2) {
        if (!strcmp(arguments[i], "--device"))
            ordinal = (uint32_t)atoi(arguments[i + 1]);
        if (!strcmp(arguments[i], "--line"))
            only = arguments[i + 1];
        if (!strcmp(arguments[i], "--rounds"))
            m.rounds = MAX(1, MIN(atoi(arguments[i + 1]), MOST_ROUNDS));
    }
    HeddleLog *log = heddle_log_new(NULL, NULL);
    if (open_machine(&m, &arena, ordinal, log)) {
        for (size_t k = 0; k < COUNT_OF(lines); k++)
            if (!only || strstr(lines[k].name, only))
                run_line(&m, &lines[k], log);
        for (int t = KHR; t < N_TARGETS && (!only || strstr("lowering", only)); t++)
            time_lowering(&m, (Target)t, log);
    } else {
        size_t count = heddle_log_count(log);
        printf("skipped: %s\n", count ? heddle_log_get(log, count - 1)->text : "no profile");
    }
    heddle_device_free(m.device);
    heddle_log_free(log);
    arena_free(&arena);
    return 0;
}
