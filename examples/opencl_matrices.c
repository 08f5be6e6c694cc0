/* SPDX-License-Identifier: MIT
 *
 * Kernels in OpenCL C with cooperative matrices: products of halves and of bytes, a convolution, a
 * product with a bias and a rectifier in one kernel. Each is checked against double precision; the
 * product of halves is timed beside the same kernel in GLSL, by turns.
 *
 *     opencl_matrices [FOLDER OF THE KERNELS]
 */
#include "workload.h"

enum { SIDE = 512, WIDTH = 64, HEIGHT = 32, CHANNELS = 32, OUTPUTS = 32, MAX_VALUES = 4 };

typedef struct Case {
    const char *name, *file, *twin; /* twin: the same in GLSL */
    bool bytes;
    uint32_t groups[3];
    uint32_t values[MAX_VALUES];    /* arguments after the buffers */
    uint32_t n_values;
    uint64_t in_counts[3];
    HeddleType in_types[3], out_type;
    uint64_t out_count;
    double work, tolerance;
    double (*expected)(const struct Case *c, double *const *x, uint64_t element);
    float scale;                    /* the last argument; 0: none */
} Case;

static double product(const Case *c, double *const *x, uint64_t element)
{
    uint64_t row = element / SIDE, column = element % SIDE;
    double sum = 0;
    for (uint64_t k = 0; k < SIDE; k++)
        sum += x[0][row * SIDE + k] * x[1][k * SIDE + column];
    return c->scale != 0 ? fmax(c->scale * sum + x[2][column], 0) : sum;
}

static double convolved(const Case *c, double *const *x, uint64_t element)
{
    uint64_t k = element % OUTPUTS, at = element / OUTPUTS % WIDTH, y = element / OUTPUTS / WIDTH;
    double sum = 0;
    (void)c;
    for (uint64_t offset = 0; offset < 9; offset++) {
        uint64_t pixel = (y + offset / 3) * (WIDTH + 2) + at + offset % 3;
        for (uint64_t i = 0; i < CHANNELS; i++)
            sum += x[0][pixel * CHANNELS + i] * x[1][(offset * CHANNELS + i) * OUTPUTS + k];
    }
    return sum;
}

#define SQUARE ((uint64_t)SIDE * SIDE)

static const Case cases[] = {
    { .name = "gemm f16", .file = "opencl/gemm.cl", .twin = "gemm.comp",
      .groups = { SIDE / 64, SIDE / 64, 1 }, .values = { SIDE, SIDE }, .n_values = 2,
      .in_counts = { SQUARE, SQUARE }, .in_types = { HEDDLE_F16, HEDDLE_F16 },
      .out_type = HEDDLE_F32, .out_count = SQUARE, .work = 2.0 * SQUARE * SIDE, .tolerance = 1e-5,
      .expected = product },
    { .name = "gemm s8", .file = "opencl/gemm.cl", .bytes = true,
      .groups = { SIDE / 64, SIDE / 64, 1 }, .values = { SIDE, SIDE }, .n_values = 2,
      .in_counts = { SQUARE, SQUARE }, .in_types = { HEDDLE_S8, HEDDLE_S8 },
      .out_type = HEDDLE_S32, .out_count = SQUARE, .work = 2.0 * SQUARE * SIDE,
      .expected = product },
    { .name = "convolution", .file = "opencl/convolution.cl",
      .groups = { WIDTH / 16, HEIGHT, OUTPUTS / 16 }, .values = { WIDTH, CHANNELS, OUTPUTS },
      .n_values = 3,
      .in_counts = { (WIDTH + 2) * (HEIGHT + 2) * CHANNELS, 9 * CHANNELS * OUTPUTS },
      .in_types = { HEDDLE_F16, HEDDLE_F16 }, .out_type = HEDDLE_F32,
      .out_count = WIDTH * HEIGHT * OUTPUTS, .work = 18.0 * WIDTH * HEIGHT * CHANNELS * OUTPUTS,
      .tolerance = 1e-5, .expected = convolved },
    { .name = "bias + relu", .file = "opencl/gemm_bias_relu.cl",
      .groups = { SIDE / 32, SIDE / 32, 1 }, .values = { SIDE, SIDE }, .n_values = 2,
      .in_counts = { SQUARE, SQUARE, SIDE }, .in_types = { HEDDLE_F16, HEDDLE_F16, HEDDLE_F32 },
      .out_type = HEDDLE_F32, .out_count = SQUARE, .work = 2.0 * SQUARE * SIDE, .tolerance = 1e-5,
      .expected = product, .scale = 0.125f },
};

/* ---- running --------------------------------------------------------------------------------- */

/* A case with its arrays, in one of the languages. */
typedef struct Trial {
    const Case *c;
    Workload arrays;
    HeddleKernel *kernel;
    bool glsl;
    double times[ROUNDS];
} Trial;

static bool open_trial(const Session *s, Trial *t)
{
    const Case *c = t->c;
    char path[4096];
    HeddleModule *module = NULL;
    HeddleModuleOptions o = { .compiler = getenv("HEDDLE_GLSLANG") };
    HeddleDefine bytes[] = { { "INPUT", "char" }, { "OUTPUT", "int" }, { "OPERANDS", "15" } };
    HeddleDefine halves[] = { { "INPUT", "float16_t" } };
    if (c->bytes || t->glsl) {
        o.defines = c->bytes ? bytes : halves;
        o.n_defines = c->bytes ? 3 : 1;
    }
    snprintf(path, sizeof path, "%s/%s", s->folder, t->glsl ? c->twin : c->file);
    if (!heddle_module_from_file(path, &o, &module, s->log))
        heddle_kernel_new(s->device, module, NULL, &t->kernel, s->log);
    heddle_module_free(module);
    bool good = t->kernel != NULL;
    for (uint32_t k = 0; good && k < 3 && c->in_counts[k]; k++)
        good = add_input(&t->arrays, c->in_types[k], c->in_counts[k], s->log);
    uint64_t n = c->out_count;
    return good && !heddle_array_new(c->out_type, 1, &n, &t->arrays.out, s->log);
}

static double run_trial(const Session *s, Trial *t)
{
    const Case *c = t->c;
    Workload *w = &t->arrays;
    HeddleBinding b[MAX_INPUTS + MAX_VALUES + 1];
    HeddleBuffer *buffers[MAX_INPUTS + 1] = { NULL };
    HeddleReport report = { .seconds = -1 };
    uint32_t n = 0, push[] = { SIDE, SIDE, SIDE, SIDE };
    bool good = true;
    for (uint32_t k = 0; k <= w->n_in; k++, n++) {
        const HeddleArray *a = k < w->n_in ? w->in[k] : w->out;
        good &= !heddle_buffer_wrap(s->device, a->data, a->size, &buffers[k], s->log);
        b[n] = (HeddleBinding){ .binding = n, .buffer = buffers[k] };
    }
    for (uint32_t k = 0; k < c->n_values && !t->glsl; k++, n++)
        b[n] = (HeddleBinding){ .binding = n, .value = &c->values[k], .size = 4 };
    if (c->scale != 0) {
        b[n] = (HeddleBinding){ .binding = n, .value = &c->scale, .size = 4 };
        n++;
    }
    HeddleDispatch d = { .groups = { c->groups[0], c->groups[1], c->groups[2] }, .bindings = b,
                         .n_bindings = n };
    if (t->glsl) {
        d.push = push;
        d.push_size = sizeof push;
    }
    if (good && heddle_dispatch(t->kernel, &d, &report, s->log))
        report.seconds = -1;
    for (uint32_t k = 0; k <= w->n_in; k++)
        heddle_buffer_free(buffers[k]);
    return report.seconds;
}

static double error_of(const Trial *t)
{
    double squares = 0, norm = 0;
    for (uint64_t k = 0; k < SAMPLES; k++) {
        uint64_t element = k * (t->c->out_count - 1) / (SAMPLES - 1);
        double want = t->c->expected(t->c, t->arrays.x, element);
        double got = heddle_array_get(t->arrays.out, element);
        squares += (got - want) * (got - want);
        norm += want * want;
    }
    return norm > 0 ? sqrt(squares / norm) : NAN;
}

static bool show(const Session *s, const Case *c)
{
    Trial trials[2] = { { .c = c }, { .c = c, .glsl = true } };
    double ratios[ROUNDS], ratio = NAN;
    int n = c->twin ? 2 : 1;
    bool good = true;
    for (int i = 0; i < n && good; i++)
        good = open_trial(s, &trials[i]) && run_trial(s, &trials[i]) >= 0;
    for (int k = 0; k < ROUNDS && good; k++) {
        for (int i = 0; i < n; i++)
            trials[i].times[k] = run_trial(s, &trials[i]);
        ratios[k] = trials[1].times[k] / trials[0].times[k];
    }
    if (good) {
        double error = error_of(&trials[0]), time = median(trials[0].times, ROUNDS);
        good = error <= c->tolerance;
        if (n == 2)
            ratio = median(ratios, ROUNDS);
        printf("%-12s %9.3f ms %8.1f GFLOP/s  error %8.1e  %s", c->name, time * 1e3,
               c->work / time * 1e-9, error, good ? "good" : "WRONG");
        printf(n == 2 ? "  %.2f of GLSL's speed\n" : "\n", ratio);
    } else {
        printf("%-12s FAILED\n", c->name);
    }
    for (int i = 0; i < n; i++) {
        heddle_kernel_free(trials[i].kernel);
        workload_close(&trials[i].arrays);
    }
    return good;
}

int main(int n, char **args)
{
    Session s = { .folder = n > 1 ? args[1] : EXAMPLES };
    bool good = true;
    if (!has_opencl())
        return 0;
    s.log = heddle_log_new(heddle_print_to_stderr, NULL);
    if (!s.log || heddle_device_new(NULL, &s.device, s.log))
        return 1;
    printf("OpenCL C with cooperative matrices\n");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        good &= show(&s, &cases[k]);
    heddle_device_free(s.device);
    heddle_log_free(s.log);
    return good ? 0 : 1;
}
