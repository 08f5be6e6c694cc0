/* SPDX-License-Identifier: MIT
 *
 * The workloads of VK_QCOM_cooperative_matrix_conversion (kernels in examples/) on one thread, each
 * measured by turns against its form staged through shared memory, against OpenBLAS's sgemm on the
 * same multiply-adds, and the f32 3x3 convolution against oneDNN's where that is installed, which
 * lays its tensors out as it likes. `make run` checks their results.
 *
 *     bench_conversions [--line NAME] [--rounds N]
 */
#include "bench.h"

#include <heddle/heddle.h>

#ifdef HEDDLE_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

typedef struct Input { HeddleType type; uint32_t count; } Input;

typedef struct Line {
    const char *name, *file;
    HeddleDefine defines[4];    /* the last is SHARED's place */
    uint32_t n_defines;
    HeddleSpecValue specs[7];
    uint32_t n_specs, groups[2];
    Input in[3];
    uint32_t out;               /* floats */
    uint32_t m, n, k, times;    /* the products: m x k times k x n */
    bool causal;                /* does half of them; both of attention's are as large */
    double staged_goal, blas_goal;
} Line;

#define F32 {"T", "float"}, {"K", "8"}, {"E", "float"}
#define F16 {"T", "float16_t"}, {"K", "16"}, {"E", "uint"}
#define CONVOLUTION(NAME, DEFINES, TYPE, SIZE, IN, OUT, FILTER, STRIDE, DILATION) \
    {NAME, "convolution.comp", {DEFINES}, 3, \
     {{0, SIZE}, {1, SIZE}, {2, IN}, {3, OUT}, {4, FILTER}, {5, STRIDE}, {6, DILATION}}, 7, \
     {(SIZE) / (STRIDE) * ((SIZE) / (STRIDE)) / 64, (OUT) / 64}, \
     {{TYPE, (SIZE) * (SIZE) * (IN)}, {TYPE, (FILTER) * (FILTER) * (IN) * (OUT)}}, \
     (SIZE) / (STRIDE) * ((SIZE) / (STRIDE)) * (OUT), \
     (SIZE) / (STRIDE) * ((SIZE) / (STRIDE)), OUT, (FILTER) * (FILTER) * (IN), 1, false, 1, 0.5}
#define ATTENTION(NAME, T, K, TYPE, HEADS, N, D, CAUSAL) \
    {NAME, "attention.comp", {{"T", T}, {"K", K}, {"D", #D}}, 3, {{0, N}, {1, CAUSAL}}, 2, \
     {(N) / 64, HEADS}, \
     {{TYPE, (HEADS) * (N) * (D)}, {TYPE, (HEADS) * (N) * (D)}, {TYPE, (HEADS) * (N) * (D)}}, \
     (HEADS) * (N) * (D), N, N, D, 2 * (HEADS), CAUSAL, 1.5, 0.35}
#define TEXTURE(NAME, LAYERS) \
    {NAME, "texture.comp", {{"LAYERS", #LAYERS}}, 1, {{0, 512}}, 1, {512, 1}, \
     {{HEDDLE_F16, 64 * 64 * 12}, {HEDDLE_F16, (LAYERS) * 16 * 16}}, 512 * 512 * 3, \
     512 * 512, 16, 16, LAYERS, false, 1.5, 0}

static const Line lines[] = {
    CONVOLUTION("convolution f32 3x3", F32, HEDDLE_F32, 64, 64, 128, 3, 1, 1),
    CONVOLUTION("convolution f32 1x1", F32, HEDDLE_F32, 64, 256, 128, 1, 1, 1),
    CONVOLUTION("convolution f32 stride 2", F32, HEDDLE_F32, 64, 128, 128, 3, 2, 1),
    CONVOLUTION("convolution f16 dilation 2", F16, HEDDLE_F16, 64, 64, 128, 3, 1, 2),
    ATTENTION("attention f32 8x128x64", "float", "8", HEDDLE_F32, 8, 128, 64, 0),
    ATTENTION("attention f32 8x512x64", "float", "8", HEDDLE_F32, 8, 512, 64, 0),
    ATTENTION("attention f32 1x4096x64", "float", "8", HEDDLE_F32, 1, 4096, 64, 0),
    ATTENTION("attention f32 2x1024x128 causal", "float", "8", HEDDLE_F32, 2, 1024, 128, 1),
    ATTENTION("attention f16 8x512x64", "float16_t", "16", HEDDLE_F16, 8, 512, 64, 0),
    ATTENTION("attention f16 8x512x64 causal", "float16_t", "16", HEDDLE_F16, 8, 512, 64, 1),
    ATTENTION("attention f16 2x1024x128", "float16_t", "16", HEDDLE_F16, 2, 1024, 128, 0),
    TEXTURE("texture f16 2 layers", 2),
    TEXTURE("texture f16 4 layers", 4),
    {"q4_0 x f16 1024x512x1024", "dequantise.comp", {{0}}, 0, {{0, 1024}, {1, 512}}, 2, {8, 16},
     {{HEDDLE_U8, 1024 * 1024 / 32 * 18}, {HEDDLE_F16, 1024 * 512}}, 1024 * 512, 1024, 512, 1024, 1,
     false, 1, 0.5},
};

typedef struct Run {
    const Line *l;
    HeddleKernel *kernel;
    HeddleBuffer *buffers[4];
    uint32_t n;
    float *x, *y, *z;           /* OpenBLAS's */
} Run;

static void run_heddle(void *user)
{
    Run *r = user;
    HeddleBinding bindings[4];
    for (uint32_t k = 0; k < r->n; k++)
        bindings[k] = (HeddleBinding){.binding = k, .buffer = r->buffers[k]};
    HeddleDispatch d = {.groups = {r->l->groups[0], r->l->groups[1], 1}, .bindings = bindings,
                        .n_bindings = r->n, .max_threads = 1};
    if (heddle_dispatch(r->kernel, &d, NULL, NULL) != HEDDLE_OK)
        fprintf(stderr, "dispatch failed\n");
}

static void run_blas(void *user)
{
    Run *r = user;
    int m = (int)r->l->m, n = (int)r->l->n, k = (int)r->l->k;
    for (uint32_t t = 0; t < r->l->times; t++) {
        bool back = t % 2;      /* attention's second product: the scores times V */
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, back ? k : n, back ? n : k, 1,
                    back ? r->z : r->x, back ? n : k, r->y, back ? k : n, 0, back ? r->x : r->z,
                    back ? k : n);
    }
}

/* ---- oneDNN ---------------------------------------------------------------------------------- */

#if defined(HEDDLE_DNNL) && DNNL_VERSION_MAJOR == 2
typedef struct Dnnl {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    dnnl_exec_arg_t args[3];
} Dnnl;

static void run_dnnl(void *user)
{
    Dnnl *d = user;
    dnnl_primitive_execute(d->primitive, d->stream, 3, d->args);
    dnnl_stream_wait(d->stream);
}

/* The 3x3 convolution of the first line, all formats left to the library. Freed at the end. */
static bool dnnl_open(Dnnl *d)
{
    static const dnnl_dims_t shapes[3] = {{1, 64, 64, 64}, {128, 64, 3, 3}, {1, 128, 64, 64}};
    static const dnnl_dims_t one = {1, 1};
    static const dnnl_query_t queries[3] = {dnnl_query_src_md, dnnl_query_weights_md,
                                            dnnl_query_dst_md};
    static const int names[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_engine_t engine;
    dnnl_memory_desc_t md[3];
    dnnl_convolution_desc_t desc;
    dnnl_primitive_desc_t pd;
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) ||
        dnnl_stream_create(&d->stream, engine, dnnl_stream_default_flags))
        return false;
    for (int i = 0; i < 3; i++)
        if (dnnl_memory_desc_init_by_tag(&md[i], 4, shapes[i], dnnl_f32, dnnl_format_tag_any))
            return false;
    if (dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_auto,
                                           &md[0], &md[1], NULL, &md[2], one, one, one) ||
        dnnl_primitive_desc_create(&pd, &desc, NULL, engine, NULL) ||
        dnnl_primitive_create(&d->primitive, pd))
        return false;
    for (int i = 0; i < 3; i++) {
        const dnnl_memory_desc_t *own = dnnl_primitive_desc_query_md(pd, queries[i], 0);
        dnnl_memory_t memory;
        void *data;
        if (!own || dnnl_memory_create(&memory, own, engine, DNNL_MEMORY_ALLOCATE) ||
            dnnl_memory_get_data_handle(memory, &data))
            return false;
        for (size_t k = 0; k < dnnl_memory_desc_get_size(own) / 4; k++)
            ((float *)data)[k] = (float)(k % 7) - 3;
        d->args[i] = (dnnl_exec_arg_t){names[i], memory};
    }
    return true;
}

static bool against_dnnl(BenchCase *ours, const BenchOptions *o)
{
    static Dnnl d;
    BenchCase reference = {.name = "oneDNN", .run = run_dnnl, .user = &d, .work = ours->work};
    if (!dnnl_open(&d))
        return fprintf(stderr, "oneDNN has no such convolution\n"), true;
    bool good = bench_paired(&reference, ours, 1, o);
    printf("%-32s oneDNN    %8.1f %8.1f  %6.2f  [%.2f %.2f]  goal 0.50\n", ours->name, ours->rate,
           reference.rate, ours->ratio, ours->p25, ours->p75);
    return good;
}
#else
static bool against_dnnl(BenchCase *ours, const BenchOptions *o)
{
    (void)ours, (void)o;
    printf("oneDNN 2 (Debian: libdnnl-dev) is not there to compare with\n");
    return true;
}
#endif

/* ---- measuring ------------------------------------------------------------------------------- */

static HeddleKernel *compile(HeddleDevice *device, HeddleLog *log, const Line *l, bool shared)
{
    char path[512];
    Line copy = *l;
    copy.defines[l->n_defines] = (HeddleDefine){"SHARED", "1"};
    HeddleModuleOptions mo = {.defines = copy.defines, .n_defines = l->n_defines + shared};
    HeddleKernelOptions ko = {.specs = l->specs, .n_specs = l->n_specs, .subgroup_size = 64};
    HeddleModule *module;
    HeddleKernel *kernel = NULL;
    snprintf(path, sizeof path, "%s/examples/%s", HEDDLE_SOURCE_DIR, l->file);
    if (!heddle_module_from_file(path, &mo, &module, log))
        heddle_kernel_new(device, module, &ko, &kernel, log);
    heddle_module_free(module);
    return kernel;
}

/* Small numbers of either sign; bytes are those of blocks whose scales are small, too. */
static bool open_buffers(HeddleDevice *device, HeddleLog *log, Run *r)
{
    for (; r->n < 3 && r->l->in[r->n].count; r->n++) {
        const Input *in = &r->l->in[r->n];
        uint64_t size = in->count * heddle_type_size(in->type);
        if (heddle_buffer_new(device, size, &r->buffers[r->n], log))
            return false;
        HeddleArray view = {.type = in->type, .rank = 1, .shape = {in->count}, .count = in->count,
                            .data = heddle_buffer_data(r->buffers[r->n])};
        for (uint64_t k = 0; k < in->count; k++)
            heddle_array_set(&view, k, in->type == HEDDLE_U8 ? (double)(k % 31)
                                                             : (double)(k * 37 % 64) / 64 - 0.5);
    }
    const Line *l = r->l;
    r->x = bench_alloc((size_t)l->m * l->k * 4);
    r->y = bench_alloc((size_t)l->k * l->n * 4);
    r->z = bench_alloc((size_t)l->m * l->n * 4);
    return r->x && r->y && r->z &&
           !heddle_buffer_new(device, (uint64_t)l->out * 4, &r->buffers[r->n++], log);
}

static void print(const BenchCase *ours, const BenchCase *to, const char *what, double goal)
{
    printf("%-32s %-9s %8.1f %8.1f  %6.2f  [%.2f %.2f]", ours->name, what, ours->rate, to->rate,
           ours->ratio, ours->p25, ours->p75);
    if (goal > 0)
        printf("  goal %.2f %s", goal, ours->ratio >= goal ? "reached" : "missed");
    printf("\n");
    fflush(stdout);
}

static bool measure(HeddleDevice *device, HeddleLog *log, const Line *l, const BenchOptions *o)
{
    Run r = {.l = l, .kernel = compile(device, log, l, false)};
    bool good = r.kernel && open_buffers(device, log, &r);
    Run staged = r;
    staged.kernel = compile(device, log, l, true);
    double all = 2.0 * l->m * l->n * l->k * l->times, work = all * (l->causal ? 0.5 : 1);
    BenchCase ours = {.name = l->name, .run = run_heddle, .user = &r, .work = work};
    BenchCase shared = {.name = "staged", .run = run_heddle, .user = &staged, .work = work};
    BenchCase blas = {.name = "OpenBLAS sgemm", .run = run_blas, .user = &r, .work = all};
    if (good && staged.kernel) {
        good &= bench_paired(&shared, &ours, 1, o);
        print(&ours, &shared, "staged", l->staged_goal);
        good &= bench_paired(&blas, &ours, 1, o);
        print(&ours, &blas, "OpenBLAS", l->blas_goal);
        if (l == lines)
            good &= against_dnnl(&ours, o);
    }
    for (uint32_t k = 0; k < r.n; k++)
        heddle_buffer_free(r.buffers[k]);
    heddle_kernel_free(r.kernel);
    heddle_kernel_free(staged.kernel);
    free(r.x), free(r.y), free(r.z);
    return good;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    BenchOptions o = {.threads = 1, .rounds = 9};
    for (int i = 1; i + 1 < argc; i++) {
        if (!strcmp(argv[i], "--line"))
            only = argv[i + 1];
        if (!strcmp(argv[i], "--rounds"))
            o.rounds = atoi(argv[i + 1]);
    }
    if (!getenv("OMP_NUM_THREADS")) { /* oneDNN's; read before main */
        setenv("OMP_NUM_THREADS", "1", 1);
        execv("/proc/self/exe", argv);
    }
    bench_openblas_for_this_cpu(argv);
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device;
    if (heddle_device_new(NULL, &device, log))
        return 1;
    bench_warm_openblas(1);
    printf("%-32s %-9s %8s %8s  %6s  quartiles\n", "workload", "against", "GFLOP/s", "its",
           "ratio");
    bool good = true;
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
        if (!only || strstr(lines[k].name, only))
            good &= measure(device, log, &lines[k], &o);
    heddle_device_free(device);
    heddle_log_free(log);
    return !good;
}
