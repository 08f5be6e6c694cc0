/* SPDX-License-Identifier: MIT
 *
 * Kernels in MLIR through libheddle: a product of matrices written by hand, one that MLIR's own
 * passes make of linalg (mlir/lower-linalg.sh), and a convolution by a sliding window whose
 * overlapping loads become rotations of what is in registers. Checked against double precision; the
 * convolutions' two forms against each other, bit by bit.
 *
 *     mlir [FOLDER OF THE KERNELS]
 *
 * The two forms run by turns; a rate is the median of the rounds', the speed-up that of their
 * ratio. Where heddle is built without MLIR all of it is passed over.
 */
#include <heddle/heddle.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EXAMPLES
#define EXAMPLES "examples"
#endif

enum { ROUNDS = 15, SAMPLES = 1024, N_INPUTS = 2 };

typedef struct Workload {
    const char *name, *file, *entry, *shape;
    const char *command;            /* whose output is the module, given the file; NULL: the file
                                     * is */
    uint32_t groups[2];
    uint32_t sizes[4];              /* what expected() wants to know */
    uint64_t in_counts[N_INPUTS], out_count;
    double work;                    /* multiplications and additions */
    bool windows;                   /* has overlapping loads */
    double (*expected)(const struct Workload *w, double *const *x, uint64_t element);
} Workload;

/* ---- what they compute ----------------------------------------------------------------------- */

/* sizes: columns of C, columns of A */
static double product(const Workload *w, double *const *x, uint64_t element)
{
    uint64_t n = w->sizes[0], depth = w->sizes[1], row = element / n, column = element % n;
    double sum = 0;
    for (uint64_t k = 0; k < depth; k++)
        sum += x[0][row * depth + k] * x[1][k * n + column];
    return sum;
}

/* sizes: width of the window, height of input and output, channels in and out */
static double convolved(const Workload *w, double *const *x, uint64_t element)
{
    uint64_t width = w->sizes[0], high = w->sizes[1], out_high = w->sizes[2], n = w->sizes[3];
    uint64_t k = element % n, y = element / n % out_high, at = element / n / out_high;
    double sum = 0;
    for (uint64_t dx = 0; dx < width; dx++) {
        for (uint64_t dy = 0; dy < 3; dy++) {
            for (uint64_t c = 0; c < n; c++)
                sum += x[0][((at + dx) * high + y + dy) * n + c] *
                       x[1][((dx * 3 + dy) * n + c) * n + k];
        }
    }
    return sum;
}

enum { GEMM = 256, LINALG = 128, SIDE = 64, CHANNELS = 64 };

static const Workload workloads[] = {
    { .name = "gemm", .file = "gemm.mlir", .entry = "gemm", .shape = "256 x 256 x 256",
      .groups = { 8, 8 }, .sizes = { GEMM, GEMM }, .in_counts = { GEMM * GEMM, GEMM * GEMM },
      .out_count = GEMM * GEMM, .work = 2.0 * GEMM * GEMM * GEMM, .expected = product },
    { .name = "linalg", .file = "linalg.mlir", .entry = "matmul_kernel", .shape = "128 x 128 x 128",
      .command = "sh '%1$s/lower-linalg.sh' '%1$s/%2$s' 2>&1", .groups = { 8, 8 },
      .sizes = { LINALG, LINALG }, .in_counts = { LINALG * LINALG, LINALG * LINALG },
      .out_count = LINALG * LINALG, .work = 2.0 * LINALG * LINALG * LINALG, .expected = product },
    { .name = "conv 3x1", .file = "conv.mlir", .entry = "conv3x1", .shape = "64 x 64, 64 > 64",
      .groups = { SIDE, SIDE / 16 }, .sizes = { 1, SIDE + 2, SIDE, CHANNELS },
      .in_counts = { (SIDE + 2) * (SIDE + 2) * CHANNELS, 3 * CHANNELS * CHANNELS },
      .out_count = SIDE * SIDE * CHANNELS, .windows = true,
      .work = 2.0 * SIDE * SIDE * 3 * CHANNELS * CHANNELS, .expected = convolved },
    { .name = "conv 3x3", .file = "conv.mlir", .entry = "conv3x3", .shape = "64 x 64, 64 > 64",
      .groups = { SIDE, SIDE / 16 }, .sizes = { 3, SIDE + 2, SIDE, CHANNELS },
      .in_counts = { (SIDE + 2) * (SIDE + 2) * CHANNELS, 9 * CHANNELS * CHANNELS },
      .out_count = SIDE * SIDE * CHANNELS, .windows = true,
      .work = 2.0 * SIDE * SIDE * 9 * CHANNELS * CHANNELS, .expected = convolved },
};

/* ---- modules --------------------------------------------------------------------------------- */

/* The output of the workload's command; NULL when it fails. For free(). */
static char *command_output(const Workload *w, const char *folder)
{
    enum { MOST = 1 << 20 };
    char command[1024], *text = calloc(1, MOST);
    snprintf(command, sizeof command, w->command, folder, w->file);
    FILE *f = text ? popen(command, "r") : NULL;
    size_t n = f ? fread(text, 1, MOST - 1, f) : 0;
    int status = f ? pclose(f) : -1;
    if (status == 0 && n < MOST - 1)
        return text;
    printf("%-9s passed over: %.60s\n", w->name, text ? text : "");
    free(text);
    return NULL;
}

static HeddleResult open_module(const Workload *w, const char *folder, bool rotate,
                                HeddleModule **out, HeddleLog *log)
{
    HeddleModuleOptions options = { .language = HEDDLE_LANGUAGE_MLIR, .rotate_loads = rotate };
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, w->file);
    if (!w->command)
        return heddle_module_from_file(path, &options, out, log);
    char *text = command_output(w, folder);
    if (!text)
        return HEDDLE_ERROR_TOOL;
    HeddleResult r = heddle_module_new(text, strlen(text), w->file, &options, out, log);
    free(text);
    return r;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct Form {               /* of a workload: without rotations, with them */
    HeddleModule *module;
    HeddleKernel *kernel;
    HeddleArray *out;
    HeddleBuffer *buffer;
    double times[ROUNDS];
} Form;

typedef struct Session {
    const Workload *w;
    const char *folder;
    HeddleDevice *device;
    HeddleLog *log;
    HeddleArray *in[N_INPUTS];
    double *x[N_INPUTS];            /* the same numbers */
    HeddleBuffer *buffers[N_INPUTS];
    Form forms[2];
    int n_forms;
} Session;

static HeddleResult open_inputs(Session *s)
{
    HeddleResult r = HEDDLE_OK;
    for (int i = 0; i < N_INPUTS && !r; i++) {
        char text[64];
        snprintf(text, sizeof text, "randn:f16[%llu]@%d", (unsigned long long)s->w->in_counts[i],
                 i + 1);
        r = heddle_array_from_spec(text, &s->in[i], s->log);
        if (!r)
            r = heddle_buffer_wrap(s->device, s->in[i]->data, s->in[i]->size, &s->buffers[i],
                                   s->log);
        s->x[i] = r ? NULL : malloc(s->in[i]->count * sizeof *s->x[i]);
        for (uint64_t k = 0; s->x[i] && k < s->in[i]->count; k++)
            s->x[i][k] = heddle_array_get(s->in[i], k);
        if (!r && !s->x[i])
            r = HEDDLE_ERROR_MEMORY;
    }
    return r;
}

static HeddleResult open_form(Session *s, Form *f, bool rotate)
{
    HeddleKernelOptions options = { .entry = s->w->entry };
    HeddleResult r = open_module(s->w, s->folder, rotate, &f->module, s->log);
    if (!r)
        r = heddle_kernel_new(s->device, f->module, &options, &f->kernel, s->log);
    if (!r)
        r = heddle_array_new(HEDDLE_F32, 1, &s->w->out_count, &f->out, s->log);
    if (!r)
        r = heddle_buffer_wrap(s->device, f->out->data, f->out->size, &f->buffer, s->log);
    return r;
}

static HeddleResult run_form(Session *s, Form *f, double *seconds)
{
    HeddleBinding bindings[N_INPUTS + 1];
    for (uint32_t i = 0; i <= N_INPUTS; i++)
        bindings[i] = (HeddleBinding){ .binding = i,
                                       .buffer = i < N_INPUTS ? s->buffers[i] : f->buffer };
    HeddleDispatch d = { .groups = { s->w->groups[0], s->w->groups[1], 1 }, .bindings = bindings,
                         .n_bindings = N_INPUTS + 1 };
    HeddleReport report = { .struct_size = sizeof report };
    memset(f->out->data, 0, f->out->size); /* linalg's kernel adds to it */
    HeddleResult r = heddle_dispatch(f->kernel, &d, &report, s->log);
    *seconds = r ? 0 : report.seconds;
    return r;
}

static void close_session(Session *s)
{
    for (int i = 0; i < s->n_forms; i++) {
        heddle_buffer_free(s->forms[i].buffer);
        heddle_array_free(s->forms[i].out);
        heddle_kernel_free(s->forms[i].kernel);
        heddle_module_free(s->forms[i].module);
    }
    for (int i = 0; i < N_INPUTS; i++) {
        heddle_buffer_free(s->buffers[i]);
        heddle_array_free(s->in[i]);
        free(s->x[i]);
    }
}

/* ---- what came out --------------------------------------------------------------------------- */

/* The largest error of a sample, relative to what the products' sums are like. */
static double worst_error(const Session *s)
{
    const Workload *w = s->w;
    uint64_t step = w->out_count / SAMPLES;
    double worst = 0, size = 0;
    for (uint64_t e = 0; e < w->out_count; e += step) {
        double want = w->expected(w, s->x, e);
        worst = fmax(worst, fabs(heddle_array_get(s->forms[0].out, e) - want));
        size = fmax(size, fabs(want));
    }
    return worst / size;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x)
{
    qsort(x, ROUNDS, sizeof *x, ascending);
    return x[ROUNDS / 2];
}

/* Prints the row; whether the numbers are right. */
static bool judge(Session *s)
{
    const Workload *w = s->w;
    double ratios[ROUNDS], error = worst_error(s);
    bool same = s->n_forms < 2 ||
                !memcmp(s->forms[0].out->data, s->forms[1].out->data, s->forms[0].out->size);
    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = s->n_forms < 2 ? 1 : s->forms[0].times[i] / s->forms[1].times[i];
    printf("%-9s %-18s %8.1f", w->name, w->shape, w->work / median(s->forms[0].times) * 1e-9);
    if (s->n_forms > 1) {
        uint32_t before, after;
        heddle_module_matrix_loads(s->forms[1].module, &before, &after);
        printf(" %9.1f %8.2f %5u > %u", w->work / median(s->forms[1].times) * 1e-9, median(ratios),
               before, after);
    } else {
        printf(" %9s %8s %9s", "", "", "");
    }
    printf(" %9.1e%s%s\n", error, error < 1e-5 ? "" : "  WRONG", same ? "" : "  NOT THE SAME");
    return error < 1e-5 && same;
}

/* TOOL where there is no MLIR. */
static HeddleResult run_workload(const Workload *w, const char *folder, HeddleDevice *device,
                                 HeddleLog *log)
{
    Session s = { .w = w, .folder = folder, .device = device, .log = log,
                  .n_forms = w->windows ? 2 : 1 };
    HeddleResult r = open_inputs(&s);
    for (int i = 0; i < s.n_forms && !r; i++)
        r = open_form(&s, &s.forms[i], i == 1);
    for (int round = -1; round < ROUNDS && !r; round++) { /* one to warm up */
        for (int i = 0; i < s.n_forms && !r; i++) {
            double seconds;
            r = run_form(&s, &s.forms[i], &seconds);
            s.forms[i].times[round < 0 ? 0 : round] = seconds;
        }
    }
    if (!r && !judge(&s))
        r = HEDDLE_ERROR_MISMATCH;
    close_session(&s);
    return r;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : EXAMPLES "/mlir";
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device;
    if (heddle_device_new(&(HeddleDeviceOptions){ 0 }, &device, log))
        return 1;
    HeddleModule *module;
    static const char nothing[] = "gpu.module @m { gpu.func @f() kernel { gpu.return } }";
    HeddleModuleOptions mlir = { .language = HEDDLE_LANGUAGE_MLIR };
    HeddleResult have = heddle_module_new(nothing, sizeof nothing - 1, "nothing", &mlir, &module,
                                          NULL);
    int status = have && have != HEDDLE_ERROR_TOOL;
    if (have) {
        printf("MLIR: %s\n", status ? heddle_result_name(have)
                                    : "passed over, heddle is built without it");
    } else {
        printf("\n%-9s %-18s %8s %9s %8s %9s %9s\n", "MLIR", "f16 > f32", "GFLOP/s", "rotating",
               "speed-up", "loads", "error");
        for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
            HeddleResult r = run_workload(&workloads[i], folder, device, log);
            status |= r && r != HEDDLE_ERROR_TOOL;
        }
    }
    heddle_module_free(module);
    heddle_device_free(device);
    heddle_log_free(log);
    return status;
}
