/* SPDX-License-Identifier: MIT
 *
 * What GL_QCOM_cooperative_matrix_conversion is for, through libheddle: convolution, decompression
 * of a texture by a neural network, attention, and multiplication by 4-bit weights; each with the
 * conversions and with the same data staged through shared memory, checked against double
 * precision.
 *
 *     conversions [FOLDER OF THE KERNELS [PICTURE.png]]
 *
 * The two forms run by turns; a rate is the median of the rounds', the speed-up that of their
 * ratio.
 */
#include "texture.h"
#include "workload.h"

/* ---- convolution ----------------------------------------------------------------------------- */

typedef struct Convolution {
    HeddleType type;
    uint32_t size, in, out, filter, stride, dilation;
} Convolution;

static const Convolution convolutions[] = {
    { HEDDLE_F32, 64, 64, 128, 3, 1, 1 },
    { HEDDLE_F32, 64, 256, 128, 1, 1, 1 },
    { HEDDLE_F32, 64, 128, 128, 3, 2, 1 },
    { HEDDLE_F16, 64, 64, 128, 3, 1, 2 },
};

static bool convolution(Workload *w, const Convolution *c, HeddleLog *log)
{
    bool f16 = c->type == HEDDLE_F16;
    uint32_t side = (c->size - 1) / c->stride + 1, pixels = side * side,
             taps = c->filter * c->filter;
    *w = (Workload){ .name = f16 ? "convolution f16" : "convolution f32",
                     .file = "convolution.comp",
                     .defines = { { "T", f16 ? "float16_t" : "float" },
                                  { "K", f16 ? "16" : "8" },
                                  { "E", f16 ? "uint" : "float" } },
                     .n_defines = 3,
                     .n_specs = 7,
                     .groups = { pixels / 64, c->out / 64 },
                     .specs = { { 0, c->size },
                                { 1, c->size },
                                { 2, c->in },
                                { 3, c->out },
                                { 4, c->filter },
                                { 5, c->stride },
                                { 6, c->dilation } },
                     /* products of exact inputs, summed in f32 */
                     .tolerance = 1e-5,
                     .expected = nhwc_convolved,
                     .work = 2.0 * pixels * c->out * taps * c->in };
    snprintf(w->shape, sizeof w->shape, "%ux%u %ux%u s%u d%u %u>%u", c->size, c->size, c->filter,
             c->filter, c->stride, c->dilation, c->in, c->out);
    return add_input(w, c->type, (uint64_t)c->size * c->size * c->in, log) &&
           add_input(w, c->type, (uint64_t)taps * c->in * c->out, log) &&
           set_output(w, (uint64_t)pixels * c->out, log);
}

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct Attention {
    HeddleType type;
    uint32_t heads, sequence, size;
    bool causal;
} Attention;

static const Attention attentions[] = {
    { HEDDLE_F32, 8, 128, 64, false },
    { HEDDLE_F32, 8, 512, 64, false },
    { HEDDLE_F32, 2, 1024, 128, true },
    { HEDDLE_F16, 8, 512, 64, true },
    { HEDDLE_F16, 2, 1024, 128, false },
    { HEDDLE_F16, 1, 4096, 64, false },
};

static int head_size(const Workload *w) { return atoi(w->defines[2].value); }

/* Softmax in two passes. */
static double attended(const Workload *w, uint64_t element)
{
    uint64_t n = spec(w, 0), d = (uint64_t)head_size(w), query = element / d, head = query / n * n;
    uint64_t end = spec(w, 1) ? query - head + 1 : n;
    double *score = malloc(n * sizeof *score), highest = -INFINITY, total = 0, sum = 0;
    for (uint64_t k = 0; score && k < end; k++) {
        score[k] = 0;
        for (uint64_t i = 0; i < d; i++)
            score[k] += w->x[0][query * d + i] * w->x[1][(head + k) * d + i];
        score[k] /= sqrt((double)d);
        highest = fmax(highest, score[k]);
    }
    for (uint64_t k = 0; score && k < end; k++) {
        double e = exp(score[k] - highest);
        total += e;
        sum += e * w->x[2][(head + k) * d + element % d];
    }
    free(score);
    return sum / total;
}

static bool attention(Workload *w, const Attention *a, HeddleLog *log)
{
    bool f16 = a->type == HEDDLE_F16;
    uint64_t n = (uint64_t)a->heads * a->sequence * a->size;
    *w = (Workload){ .name = f16 ? "attention f16" : "attention f32",
                     .file = "attention.comp",
                     .defines = { { "T", f16 ? "float16_t" : "float" },
                                  { "K", f16 ? "16" : "8" },
                                  { "D", a->size == 64 ? "64" : "128" } },
                     .n_defines = 3,
                     .specs = { { 0, a->sequence }, { 1, a->causal } },
                     .n_specs = 2,
                     .groups = { a->sequence / 64, a->heads },
                     .expected = attended,
                     /* f16: a softmax' numbers are rounded to 11 bits before they multiply V */
                     .tolerance = f16 ? 5e-4 : 1e-5,
                     .work = 4.0 * (double)n * a->sequence * (a->causal ? 0.5 : 1) };
    snprintf(w->shape, sizeof w->shape, "%u heads %u x %u%s", a->heads, a->sequence, a->size,
             a->causal ? " causal" : "");
    return add_input(w, a->type, n, log) && add_input(w, a->type, n, log) &&
           add_input(w, a->type, n, log) && set_output(w, n, log);
}

/* ---- 4-bit weights --------------------------------------------------------------------------- */

enum { BLOCK = 32, BLOCK_BYTES = 18 };

/* q4_0: a block's scale maps its number of largest magnitude to -8, the others to the nearest of 16
 * steps. `back` gets what a reader of the block has for them. */
static void quantise(const double *x, uint8_t *block, HeddleArray *f16, double *back)
{
    double most = 0;
    for (int i = 0; i < BLOCK; i++)
        most = fabs(x[i]) > fabs(most) ? x[i] : most;
    heddle_array_set(f16, 0, most / -8);
    double scale = heddle_array_get(f16, 0);
    memcpy(block, f16->data, 2);
    for (int i = 0; i < BLOCK; i++) {
        double q = scale != 0 ? floor(x[i] / scale + 8.5) : 8;
        int bits = q < 0 ? 0 : q > 15 ? 15 : (int)q;
        uint8_t *byte = &block[2 + i % 16];
        *byte = (uint8_t)(i < 16 ? bits : *byte | bits << 4);
        back[i] = scale * (bits - 8);
    }
}

static double multiplied(const Workload *w, uint64_t element)
{
    uint64_t depth = spec(w, 0), columns = spec(w, 1), row = element / columns;
    double sum = 0;
    for (uint64_t k = 0; k < depth; k++)
        sum += w->x[0][row * depth + k] * w->x[1][k * columns + element % columns];
    return sum;
}

static bool dequantised(Workload *w, uint32_t m, uint32_t n, uint32_t k, HeddleLog *log)
{
    uint64_t one = 1, blocks = (uint64_t)m * k / BLOCK, bytes = blocks * BLOCK_BYTES;
    HeddleArray *f16 = NULL, *packed = NULL;
    *w = (Workload){ .name = "q4_0 x f16",
                     .file = "dequantise.comp",
                     .n_specs = 2,
                     .specs = { { 0, k }, { 1, n } },
                     .groups = { n / 64, m / 64 },
                     /* a weight is rounded to the 11 bits of f16 */
                     .tolerance = 5e-4,
                     .expected = multiplied,
                     .work = 2.0 * m * n * k };
    snprintf(w->shape, sizeof w->shape, "%u x %u x %u", m, n, k);
    bool good = add_input(w, HEDDLE_F32, (uint64_t)m * k, log) &&
                add_input(w, HEDDLE_F16, (uint64_t)k * n, log) &&
                set_output(w, (uint64_t)m * n, log) &&
                !heddle_array_new(HEDDLE_F16, 1, &one, &f16, log) &&
                !heddle_array_new(HEDDLE_U8, 1, &bytes, &packed, log);
    for (uint64_t b = 0; good && b < blocks; b++) {
        double back[BLOCK];
        quantise(w->x[0] + b * BLOCK, (uint8_t *)packed->data + b * BLOCK_BYTES, f16, back);
        memcpy(w->x[0] + b * BLOCK, back, sizeof back);
    }
    heddle_array_free(f16);
    if (good) {
        heddle_array_free(w->in[0]);
        w->in[0] = packed;
    }
    return good;
}

/* ---- texture decompression ------------------------------------------------------------------- */

static double decoded(const Workload *w, uint64_t element)
{
    Texel t;
    uint64_t texel = element / 3;
    decode(w->network, (double)(texel / PICTURE), (double)(texel % PICTURE), &t);
    return t.input[w->network->layers][element % 3];
}

/* As f16 for the kernel, and rounded so for the reference. */
static bool add_numbers(Workload *w, double *x, uint64_t n, HeddleLog *log)
{
    uint32_t k = w->n_in++;
    if (heddle_array_new(HEDDLE_F16, 1, &n, &w->in[k], log))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        heddle_array_set(w->in[k], i, x[i]);
        x[i] = heddle_array_get(w->in[k], i);
    }
    return true;
}

static bool texture(Workload *w, int layers, HeddleLog *log)
{
    uint32_t weights = (uint32_t)(layers * WIDTH * WIDTH);
    *w = (Workload){ .name = "texture f16",
                     .file = "texture.comp",
                     .n_specs = 1,
                     .n_defines = 1,
                     .defines = { { "LAYERS", layers == 2 ? "2" : "4" } },
                     .specs = { { 0, PICTURE } },
                     .groups = { PICTURE, 1 },
                     .expected = decoded,
                     /* features and neurons are rounded to 11 bits between the layers */
                     .tolerance = 2e-3,
                     .work = 2.0 * PICTURE * PICTURE * weights,
                     .network = malloc(sizeof(Network)) };
    snprintf(w->shape, sizeof w->shape, "%ux%u, %d layers", PICTURE, PICTURE, layers);
    if (!w->network)
        return false;
    network_fit(w->network, layers);
    return add_numbers(w, w->network->grid, GRID * GRID * LATENT, log) &&
           add_numbers(w, w->network->weights, weights, log) &&
           set_output(w, (uint64_t)PICTURE * PICTURE * 3, log);
}

/* Writes what the kernel decoded; the decibels by which it differs from the original. */
static double show(const Workload *w, const char *path)
{
    uint8_t *rgb = malloc(w->out->count);
    double squares = 0, colour[3];
    for (uint64_t k = 0; rgb && k < w->out->count; k++) {
        double x = heddle_array_get(w->out, k), bounded = fmin(fmax(x, 0), 1);
        uint64_t texel = k / 3;
        picture_at(((double)(texel % PICTURE) + 0.5) / PICTURE,
                   ((double)(texel / PICTURE) + 0.5) / PICTURE, colour);
        squares += (bounded - colour[k % 3]) * (bounded - colour[k % 3]);
        rgb[k] = (uint8_t)(bounded * 255 + 0.5);
    }
    bool good = rgb && png_write(path, rgb, PICTURE, PICTURE);
    free(rgb);
    return good ? -10 * log10(squares / (double)w->out->count) : NAN;
}

/* ---- running --------------------------------------------------------------------------------- */

/* In one form: SHARED stages the conversions through shared memory. */
static HeddleKernel *compile_form(const Session *s, Workload *w, bool shared)
{
    w->subgroup_size = 64;
    w->defines[w->n_defines] = (HeddleDefine){ "SHARED", "1" };
    w->n_defines += shared;
    HeddleKernel *kernel = compile(s, w);
    w->n_defines -= shared;
    return kernel;
}

/* On the GPU, in both forms. */
static bool show_both(const Session *s, Workload *w)
{
    bool good = show_gpu(s, w);
    w->defines[w->n_defines] = (HeddleDefine){ "SHARED", "1" };
    w->n_defines++;
    good &= show_gpu(s, w);
    w->n_defines--;
    return good;
}

/* One line of the table. False when a result is wrong. */
static bool demonstrate(const Session *s, Workload *w)
{
    HeddleKernel *kernel[2] = { compile_form(s, w, false), compile_form(s, w, true) };
    double times[2][ROUNDS], ratio[ROUNDS], error = 0;
    bool good = kernel[0] && kernel[1];
    for (int form = 0; good && form < 2; form++) {
        memset(w->out->data, 0xff, w->out->size);
        good = run(s, w, kernel[form]) >= 0;
        error = good ? fmax(error, relative_error(w)) : NAN;
        good = good && error <= w->tolerance;
    }
    for (int r = 0; kernel[0] && kernel[1] && r < ROUNDS; r++) {
        for (int form = 0; form < 2; form++)
            times[form][r] = run(s, w, kernel[form]);
        ratio[r] = times[1][r] / times[0][r];
    }
    if (kernel[0] && kernel[1])
        printf("%-16s %-28s %8.1e  %8.1f  %8.1f  %6.2f%s", w->name, w->shape, error,
               w->work * 1e-9 / median(times[0], ROUNDS), w->work * 1e-9 / median(times[1], ROUNDS),
               median(ratio, ROUNDS), good ? "" : "   WRONG");
    if (good)
        good = show_both(s, w);
    printf("\n");
    fflush(stdout);
    heddle_kernel_free(kernel[0]);
    heddle_kernel_free(kernel[1]);
    return good;
}

static bool all_workloads(const Session *s, const char *picture, double *decibels)
{
    Workload w;
    bool good = true;
    for (size_t k = 0; k < sizeof convolutions / sizeof *convolutions; k++) {
        good &= convolution(&w, &convolutions[k], s->log) && demonstrate(s, &w);
        workload_close(&w);
    }
    for (int layers = 2; layers <= 4; layers += 2) {
        good &= texture(&w, layers, s->log) && demonstrate(s, &w);
        if (w.out)
            *decibels = show(&w, picture);
        workload_close(&w);
    }
    for (size_t k = 0; k < sizeof attentions / sizeof *attentions; k++) {
        good &= attention(&w, &attentions[k], s->log) && demonstrate(s, &w);
        workload_close(&w);
    }
    good &= dequantised(&w, 1024, 512, 1024, s->log) && demonstrate(s, &w);
    workload_close(&w);
    return good;
}

int main(int argc, char **argv)
{
    const char *picture = argc > 2 ? argv[2] : "texture.png";
    double decibels = 0;
    Session s = { .folder = argc > 1 ? argv[1] : EXAMPLES,
                  .gpu = open_gpu(),
                  .log = heddle_log_new(heddle_print_to_stderr, NULL) };
    if (heddle_device_new(NULL, &s.device, s.log))
        return 1;
    printf("%-16s %-28s %8s  %8s  %8s  %6s%s\n", "workload", "shape", "error", "GFLOP/s",
           "staged", "ratio", s.gpu ? "    the GPU     staged" : "");
    bool good = all_workloads(&s, picture, &decibels);
    printf("\nerror: relative, against double precision; staged: the same through shared memory\n"
           "%s: the texture as four layers decode it, %.1f dB from the original\n",
           picture, decibels);
    heddle_device_free(s.device);
    heddle_device_free(s.gpu);
    heddle_log_free(s.log);
    return good ? 0 : 1;
}
