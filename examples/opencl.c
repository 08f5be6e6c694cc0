/* SPDX-License-Identifier: MIT
 *
 * OpenCL C kernels as programs bring them, without matrices, through libheddle: a reduction, a
 * prefix sum, n bodies, a matrix product through local memory, a histogram with atomics; each
 * checked against the same computed here.
 *
 *     opencl [FOLDER OF THE KERNELS]
 */
#include "workload.h"

enum { MAX_ARGUMENTS = 5 };

typedef struct Launch {
    const char *file, *entry;
    HeddleArray *arrays[MAX_ARGUMENTS];     /* NULL: no buffer */
    int32_t values[MAX_ARGUMENTS];          /* ints, or bytes of local memory */
    float real;
    uint32_t n, global[2], local[2];
    int local_argument, real_argument;      /* which argument is that; -1: none */
} Launch;

/* Seconds; negative after an error. `rounds` times, the median. */
static double launch(const Session *s, const Launch *l, int rounds)
{
    char path[4096];
    double times[ROUNDS];
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleBinding b[MAX_ARGUMENTS] = { { 0 } };
    HeddleKernelOptions o = { .entry = l->entry,
                              .local_size = { l->local[0], l->local[1], 1 } };
    snprintf(path, sizeof path, "%s/%s", s->folder, l->file);
    bool good = !heddle_module_from_file(path, NULL, &m, s->log) &&
                !heddle_kernel_new(s->device, m, &o, &k, s->log);
    for (uint32_t i = 0; good && i < l->n; i++) {
        HeddleArray *a = l->arrays[i];
        b[i].binding = i;
        if (a)
            good = !heddle_buffer_wrap(s->device, a->data, a->size, &b[i].buffer, s->log);
        else if ((int)i == l->local_argument)
            b[i].size = (uint64_t)l->values[i];
        else {
            b[i].value = (int)i == l->real_argument ? (const void *)&l->real : &l->values[i];
            b[i].size = 4;
        }
    }
    HeddleDispatch d = { .global_size = { l->global[0], l->global[1], 1 }, .bindings = b,
                         .n_bindings = l->n };
    for (int r = 0; good && r < rounds; r++) {
        HeddleReport report = { .struct_size = sizeof report };
        good = !heddle_dispatch(k, &d, &report, s->log);
        times[r] = report.seconds;
    }
    for (uint32_t i = 0; i < l->n; i++)
        heddle_buffer_free(b[i].buffer);
    heddle_kernel_free(k);
    heddle_module_free(m);
    return good ? median(times, rounds) : -1;
}

static HeddleArray *array(const Session *s, const char *spec)
{
    HeddleArray *a = NULL;
    heddle_array_from_spec(spec, &a, s->log);
    return a;
}

/* One line of the table; false where the result is wrong. */
static bool report(const char *name, const char *shape, double seconds, double work,
                   const char *unit, double error, double tolerance)
{
    bool good = seconds > 0 && error <= tolerance;
    printf("%-12s %-20s %9.3f ms %8.2f %-10s error %8.1e  %s\n", name, shape, seconds * 1e3,
           work / seconds * 1e-9, unit, error, good ? "ok" : "WRONG");
    return good;
}

/* ---- the workloads --------------------------------------------------------------------------- */

static bool reduction(const Session *s)
{
    enum { N = 1 << 22, LOCAL = 256, GROUPS = 64 };
    HeddleArray *x = array(s, "rand:f32[4194304]@1"), *sums = array(s, "zeros:f32[64]");
    Launch l = { .file = "reduction.cl", .arrays = { x, sums }, .n = 4,
                 .values = { 0, 0, N, LOCAL * 4 }, .local_argument = 3, .real_argument = -1,
                 .global = { LOCAL * GROUPS, 1 }, .local = { LOCAL, 1 } };
    double seconds = x && sums ? launch(s, &l, ROUNDS) : -1, want = 0, got = 0;
    for (uint64_t i = 0; seconds > 0 && i < N; i++)
        want += heddle_array_get(x, i);
    for (uint64_t i = 0; seconds > 0 && i < GROUPS; i++)
        got += heddle_array_get(sums, i);
    bool good = report("reduction", "4194304 floats", seconds, 4.0 * N, "GB/s",
                       fabs(got - want) / want, 1e-6);
    heddle_array_free(x);
    heddle_array_free(sums);
    return good;
}

static bool prefix_sum(const Session *s)
{
    enum { N = 1000000, LOCAL = 256, BLOCKS = (N + LOCAL - 1) / LOCAL, LEVELS = 3 };
    static const uint32_t sizes[LEVELS] = { N, BLOCKS, (BLOCKS + LOCAL - 1) / LOCAL };
    HeddleArray *x = array(s, "rand:s32[1000000]@2"), *sums[LEVELS + 1] = { NULL };
    double seconds = 0;
    for (int k = 0; k <= LEVELS; k++) {
        uint64_t n = k < LEVELS ? sizes[k] : 1;
        heddle_array_new(HEDDLE_S32, 1, &n, &sums[k], s->log);
    }
    /* the blocks, the blocks' totals, their totals; and back */
    for (int k = 0; k < LEVELS && seconds >= 0; k++) {
        Launch l = { .file = "prefix_sum.cl", .entry = "scan", .n = 5, .real_argument = -1,
                     .arrays = { k ? sums[k] : x, sums[k], sums[k + 1] }, .local_argument = 4,
                     .values = { 0, 0, 0, (int32_t)sizes[k], LOCAL * 4 },
                     .global = { (sizes[k] + LOCAL - 1) / LOCAL * LOCAL, 1 },
                     .local = { LOCAL, 1 } };
        double t = launch(s, &l, 1);
        seconds = t < 0 ? t : seconds + t;
    }
    for (int k = LEVELS - 2; k >= 0 && seconds >= 0; k--) {
        Launch l = { .file = "prefix_sum.cl", .entry = "add_blocks", .n = 3, .real_argument = -1,
                     .arrays = { sums[k], sums[k + 1] }, .local_argument = -1,
                     .values = { 0, 0, (int32_t)sizes[k] },
                     .global = { (sizes[k] + LOCAL - 1) / LOCAL * LOCAL, 1 },
                     .local = { LOCAL, 1 } };
        double t = launch(s, &l, 1);
        seconds = t < 0 ? t : seconds + t;
    }
    double sum = 0, wrong = 0;
    for (uint64_t i = 0; seconds > 0 && i < N; i++) {
        sum += heddle_array_get(x, i);
        wrong += heddle_array_get(sums[0], i) != sum;
    }
    bool good = report("prefix sum", "1000000 ints", seconds, 8.0 * N, "GB/s", wrong, 0);
    for (int k = 0; k <= LEVELS; k++)
        heddle_array_free(sums[k]);
    heddle_array_free(x);
    return good;
}

static bool nbody(const Session *s)
{
    enum { N = 2048 };
    const float softening = 0.01f;
    HeddleArray *x = array(s, "rand:f32[2048,4]@3"), *forces = array(s, "zeros:f32[2048,4]");
    Launch l = { .file = "nbody.cl", .arrays = { x, forces }, .n = 4, .values = { 0, 0, N },
                 .real = softening, .local_argument = -1, .real_argument = 3,
                 .global = { N, 1 }, .local = { 64, 1 } };
    double seconds = x && forces ? launch(s, &l, ROUNDS) : -1, squares = 0, norm = 0;
    double *p = as_double(x);
    for (int i = 0; seconds > 0 && p && i < N; i += 37) {
        double f[3] = { 0 };
        for (int j = 0; j < N; j++) {
            double d[3], r = softening;
            for (int c = 0; c < 3; c++) {
                d[c] = p[j * 4 + c] - p[i * 4 + c];
                r += d[c] * d[c];
            }
            for (int c = 0; c < 3; c++)
                f[c] += d[c] * p[j * 4 + 3] / (r * sqrt(r));
        }
        for (int c = 0; c < 3; c++) {
            double got = heddle_array_get(forces, (uint64_t)i * 4 + (uint64_t)c);
            squares += (got - f[c]) * (got - f[c]);
            norm += f[c] * f[c];
        }
    }
    bool good = report("n bodies", "2048", seconds, 20.0 * N * N, "GFLOP/s", sqrt(squares / norm),
                       1e-4);
    free(p);
    heddle_array_free(x);
    heddle_array_free(forces);
    return good;
}

static double product(const Workload *w, uint64_t element)
{
    uint64_t n = spec(w, 0), row = element / n, column = element % n;
    double sum = 0;
    for (uint64_t k = 0; k < n; k++)
        sum += w->x[0][row * n + k] * w->x[1][k * n + column];
    return sum;
}

static bool sgemm(const Session *s)
{
    enum { N = 512 };
    Workload w = { .specs = { { 0, N } }, .expected = product };
    bool made = add_input(&w, HEDDLE_F32, N * N, s->log) &&
                add_input(&w, HEDDLE_F32, N * N, s->log) && set_output(&w, N * N, s->log);
    Launch l = { .file = "sgemm.cl", .arrays = { w.in[0], w.in[1], w.out }, .n = 4,
                 .values = { 0, 0, 0, N }, .local_argument = -1, .real_argument = -1,
                 .global = { N, N }, .local = { 16, 16 } };
    double seconds = made ? launch(s, &l, ROUNDS) : -1;
    bool good = report("SGEMM", "512x512x512", seconds, 2.0 * N * N * N, "GFLOP/s",
                       seconds > 0 ? relative_error(&w) : 0, 1e-5);
    workload_close(&w);
    return good;
}

static bool histogram(const Session *s)
{
    enum { N = 1 << 20, BINS = 256 };
    HeddleArray *x = array(s, "rand:u8[1048576]@4"), *bins = array(s, "zeros:s32[256]");
    Launch l = { .file = "histogram.cl", .arrays = { x, bins }, .n = 3, .values = { 0, 0, N },
                 .local_argument = -1, .real_argument = -1, .global = { 64 * 128, 1 },
                 .local = { 128, 1 } };
    double seconds = x && bins ? launch(s, &l, 1) : -1, want[BINS] = { 0 }, wrong = 0;
    for (uint64_t i = 0; seconds > 0 && i < N; i++)
        want[(int)heddle_array_get(x, i)]++;
    for (uint64_t i = 0; seconds > 0 && i < BINS; i++)
        wrong += heddle_array_get(bins, i) != want[i];
    bool good = report("histogram", "1048576 bytes", seconds, N, "GB/s", wrong, 0);
    heddle_array_free(x);
    heddle_array_free(bins);
    return good;
}

int main(int argc, char **argv)
{
    Session s = { .folder = argc > 1 ? argv[1] : EXAMPLES "/opencl",
                  .log = heddle_log_new(heddle_print_to_stderr, NULL) };
    if (!has_opencl())
        return EXIT_SUCCESS;
    if (heddle_device_new(NULL, &s.device, s.log))
        return EXIT_FAILURE;
    printf("OpenCL C on %s\n", heddle_device_info(s.device)->name);
    bool good = reduction(&s);
    good &= prefix_sum(&s);
    good &= nbody(&s);
    good &= sgemm(&s);
    good &= histogram(&s);
    heddle_device_free(s.device);
    heddle_log_free(s.log);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
