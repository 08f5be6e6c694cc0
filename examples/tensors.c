/* SPDX-License-Identifier: MIT
 *
 * What GL_NV_cooperative_matrix2 is for, through libheddle: a GEMM of any size, attention, weights
 * in five quantised formats, convolution and rearranged tensors, by matrices of whole workgroups
 * and tensor layouts, each checked against double precision.
 *
 *     tensors [FOLDER OF THE KERNELS [cpu|reference]]
 *
 * A rate is the median of the rounds'; the reference device runs each once, for the errors.
 */
#include "workload.h"

static Workload workload(const char *name, const char *file, uint32_t n_specs, double tolerance)
{
    return (Workload){ .name = name, .file = file, .n_specs = n_specs, .tolerance = tolerance };
}

static void set_specs(Workload *w, const uint32_t *values)
{
    for (uint32_t k = 0; k < w->n_specs; k++)
        w->specs[k] = (HeddleSpecValue){ k, values[k] };
}

static uint32_t tiles(uint32_t n, uint32_t tile) { return (n + tile - 1) / tile; }

/* ---- GEMM ------------------------------------------------------------------------------------ */

/* Specs: M, N, K. */
static double multiplied(const Workload *w, uint64_t element)
{
    uint64_t n = spec(w, 1), depth = spec(w, 2), row = element / n;
    double sum = 0;
    for (uint64_t k = 0; k < depth; k++)
        sum += w->x[0][row * depth + k] * w->x[1][k * n + element % n];
    return sum;
}

static bool gemm(Workload *w, HeddleType type, const uint32_t *size, HeddleLog *log)
{
    uint32_t m = size[0], n = size[1], k = size[2];
    bool f16 = type == HEDDLE_F16;
    /* products of exact inputs, summed in f32 */
    *w = workload(f16 ? "GEMM f16" : "GEMM f32", "tensor_gemm.comp", 3, 1e-5);
    w->expected = multiplied;
    w->work = 2.0 * m * n * k;
    w->groups[0] = tiles(n, 128);
    w->groups[1] = tiles(m, 128);
    w->defines[w->n_defines++] = (HeddleDefine){ "T", f16 ? "float16_t" : "float" };
    set_specs(w, size);
    snprintf(w->shape, sizeof w->shape, "%u x %u x %u", m, n, k);
    return add_input(w, type, (uint64_t)m * k, log) && add_input(w, type, (uint64_t)k * n, log) &&
           set_output(w, (uint64_t)m * n, log);
}

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct Attention {
    HeddleType type;
    uint32_t specs[5]; /* queries, keys, heads, ratio, size */
    float cap;
    bool causal;
} Attention;

static const Attention attentions[] = {
    { HEDDLE_F16, { 512, 512, 8, 1, 64 }, 0, true },
    { HEDDLE_F16, { 300, 450, 8, 4, 64 }, 20, true },
    { HEDDLE_BF16, { 300, 450, 8, 4, 128 }, 20, false },
};

static double float_of(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float x;
    memcpy(&x, &word, sizeof x);
    return (double)x;
}

/* Softmax in two passes. */
static double attended(const Workload *w, uint64_t element)
{
    uint64_t keys = spec(w, 1), heads = spec(w, 2), d = spec(w, 4), vector = element / d;
    uint64_t query = vector / heads, of = vector % heads / spec(w, 3), kv = heads / spec(w, 3);
    double cap = float_of(spec(w, 5)), highest = -INFINITY, total = 0, sum = 0;
    double *score = malloc(keys * sizeof *score);
    for (uint64_t k = 0; score && k < keys; k++) {
        score[k] = 0;
        for (uint64_t i = 0; i < d; i++)
            score[k] += w->x[0][vector * d + i] * w->x[1][(k * kv + of) * d + i];
        score[k] /= sqrt((double)d);
        score[k] = (cap != 0 ? cap * tanh(score[k] / cap) : score[k]) + w->x[3][query * keys + k];
        highest = fmax(highest, score[k]);
    }
    for (uint64_t k = 0; score && k < keys; k++) {
        double e = exp(score[k] - highest);
        total += e;
        sum += e * w->x[2][(k * kv + of) * d + element % d];
    }
    free(score);
    return sum / total;
}

static bool attention(Workload *w, const Attention *a, HeddleLog *log)
{
    bool f16 = a->type == HEDDLE_F16;
    uint32_t queries = a->specs[0], keys = a->specs[1], heads = a->specs[2], d = a->specs[4];
    uint64_t n = (uint64_t)queries * heads * d, kv = (uint64_t)keys * heads / a->specs[3] * d;
    uint32_t cap;
    /* a softmax' numbers are rounded to 11 bits, or 8, before they multiply V */
    *w = workload(f16 ? "attention f16" : "attention bf16", "tensor_attention.comp", 5,
                  f16 ? 5e-4 : 4e-3);
    memcpy(&cap, &a->cap, sizeof cap);
    set_specs(w, a->specs);
    w->specs[w->n_specs++] = (HeddleSpecValue){ 5, cap };
    w->expected = attended;
    w->work = 4.0 * (double)n * keys;
    w->groups[0] = tiles(queries, 64);
    w->groups[1] = heads;
    w->defines[w->n_defines++] = (HeddleDefine){ "T", f16 ? "float16_t" : "bfloat16_t" };
    snprintf(w->shape, sizeof w->shape, "%ux%u, %u/%u heads of %u%s", queries, keys, heads,
             heads / a->specs[3], d, a->cap != 0 ? ", capped" : "");
    bool good = add_input(w, a->type, n, log) && add_input(w, a->type, kv, log) &&
                add_input(w, a->type, kv, log) &&
                add_input(w, HEDDLE_F16, (uint64_t)queries * keys, log) && set_output(w, n, log);
    for (uint32_t i = 0; good && a->causal && i < queries * keys; i++)
        if (i % keys > i / keys + keys - queries) {
            heddle_array_set(w->in[3], i, -1e4);
            w->x[3][i] = heddle_array_get(w->in[3], i);
        }
    return good;
}

/* ---- quantised weights ----------------------------------------------------------------------- */

typedef struct Format {
    const char *name, *define;
    uint32_t elements, bytes;
    void (*decode)(const uint8_t *block, const double *f16, double *out);
    uint32_t f16s[2]; /* bytes where scales are, UINT32_MAX: none */
} Format;

static void q4_0(const uint8_t *b, const double *f16, double *out)
{
    for (int k = 0; k < 16; k++) {
        out[k] = f16[0] * ((b[2 + k] & 15) - 8);
        out[k + 16] = f16[0] * ((b[2 + k] >> 4) - 8);
    }
}

static void q8_0(const uint8_t *b, const double *f16, double *out)
{
    for (int k = 0; k < 32; k++)
        out[k] = f16[0] * (int8_t)b[2 + k];
}

static void q4_k(const uint8_t *b, const double *f16, double *out)
{
    const uint8_t *packed = b + 4, *q = b + 16;
    int scale[8], least[8];
    for (int k = 0; k < 4; k++) {
        scale[k] = packed[k] & 0x3f;
        least[k] = packed[k + 4] & 0x3f;
        scale[k + 4] = (packed[k + 8] & 0x0f) + (packed[k] >> 6) * 16;
        least[k + 4] = (packed[k + 8] >> 4) + (packed[k + 4] >> 6) * 16;
    }
    for (int pair = 0; pair < 4; pair++)
        for (int k = 0; k < 32; k++) {
            int byte = q[pair * 32 + k], low = 2 * pair, high = low + 1;
            out[low * 32 + k] = f16[0] * scale[low] * (byte & 15) - f16[1] * least[low];
            out[high * 32 + k] = f16[0] * scale[high] * (byte >> 4) - f16[1] * least[high];
        }
}

static void q6_k(const uint8_t *b, const double *f16, double *out)
{
    for (int half = 0; half < 2; half++) {
        const uint8_t *low = b + half * 64, *high = b + 128 + half * 32;
        const int8_t *scale = (const int8_t *)b + 192 + half * 8;
        double *to = out + half * 128;
        for (int k = 0; k < 32; k++) {
            int q[4] = { (low[k] & 15) + (high[k] & 3) * 16,
                         (low[k + 32] & 15) + (high[k] >> 2 & 3) * 16,
                         (low[k] >> 4) + (high[k] >> 4 & 3) * 16,
                         (low[k + 32] >> 4) + (high[k] >> 6) * 16 };
            for (int row = 0; row < 4; row++)
                to[row * 32 + k] = f16[0] * scale[row * 2 + k / 16] * (q[row] - 32);
        }
    }
}

static void mxfp4(const uint8_t *b, const double *f16, double *out)
{
    static const double values[] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };
    double scale = ldexp(1, b[0] - 127);
    (void)f16;
    for (int k = 0; k < 32; k++) {
        int q = b[1 + k % 16] >> k / 16 * 4 & 15;
        out[k] = (q & 8 ? -1 : 1) * values[q & 7] * scale;
    }
}

static const Format formats[] = {
    { "q4_0 x f16", "Q4_0", 32, 18, q4_0, { 0, UINT32_MAX } },
    { "q8_0 x f16", "Q8_0", 32, 34, q8_0, { 0, UINT32_MAX } },
    { "q4_K x f16", "Q4_K", 256, 144, q4_k, { 0, 2 } },
    { "q6_K x f16", "Q6_K", 256, 210, q6_k, { 208, UINT32_MAX } },
    { "MXFP4 x f16", "MXFP4", 32, 17, mxfp4, { UINT32_MAX, UINT32_MAX } },
};

/* Blocks of random bits, but for scales near 1 / 16; `x` gets what they stand for. */
static bool random_blocks(const Format *f, HeddleArray *packed, double *x, uint64_t n,
                          HeddleLog *log)
{
    HeddleArray *f16;
    uint64_t count = 2, state = 1;
    if (heddle_array_new(HEDDLE_F16, 1, &count, &f16, log))
        return false;
    for (uint64_t block = 0; block < n; block++) {
        uint8_t *b = (uint8_t *)packed->data + block * f->bytes;
        double scales[2] = { 0 };
        for (uint32_t k = 0; k < f->bytes; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            b[k] = (uint8_t)(state >> 56);
        }
        if (f->decode == mxfp4)
            b[0] = (uint8_t)(121 + b[0] % 8);
        for (int k = 0; k < 2 && f->f16s[k] != UINT32_MAX; k++) {
            heddle_array_set(f16, (uint64_t)k, (1 + b[f->f16s[k]] / 256.0) / 16);
            memcpy(b + f->f16s[k], (uint8_t *)f16->data + 2 * k, 2);
            scales[k] = heddle_array_get(f16, (uint64_t)k);
        }
        f->decode(b, scales, x + block * f->elements);
    }
    heddle_array_free(f16);
    return true;
}

static bool quantised(Workload *w, const Format *f, const uint32_t *size, HeddleLog *log)
{
    uint32_t m = size[0], n = size[1], k = size[2];
    uint64_t blocks = (uint64_t)m * k / f->elements, bytes = blocks * f->bytes;
    /* a weight is rounded to the 11 bits of f16 */
    *w = workload(f->name, "tensor_quants.comp", 3, 5e-4);
    w->expected = multiplied;
    w->work = 2.0 * m * n * k;
    w->groups[0] = tiles(n, 64);
    w->groups[1] = tiles(m, 64);
    w->defines[w->n_defines++] = (HeddleDefine){ f->define, "1" };
    set_specs(w, size);
    snprintf(w->shape, sizeof w->shape, "%u x %u x %u", m, n, k);
    w->n_in = 1;
    w->x[0] = malloc((size_t)m * k * sizeof *w->x[0]);
    return w->x[0] && !heddle_array_new(HEDDLE_U8, 1, &bytes, &w->in[0], log) &&
           random_blocks(f, w->in[0], w->x[0], blocks, log) &&
           add_input(w, HEDDLE_F16, (uint64_t)k * n, log) && set_output(w, (uint64_t)m * n, log);
}

/* ---- convolution ----------------------------------------------------------------------------- */

/* Height, width, channels in and out, filter, stride, dilation. */
static const uint32_t convolutions[][7] = {
    { 64, 64, 64, 128, 3, 1, 1 },
    { 61, 45, 64, 64, 3, 2, 1 },
    { 40, 40, 32, 64, 5, 1, 2 },
};

static bool convolution(Workload *w, const uint32_t *c, HeddleLog *log)
{
    uint32_t down = (c[0] - 1) / c[5] + 1, across = (c[1] - 1) / c[5] + 1, taps = c[4] * c[4];
    uint64_t results = (uint64_t)down * across * c[3];
    *w = workload("convolution f16", "tensor_convolution.comp", 7, 1e-5);
    w->expected = nhwc_convolved;
    w->work = 2.0 * (double)results * taps * c[2];
    w->groups[0] = tiles(down, 8) * tiles(across, 8);
    w->groups[1] = tiles(c[3], 64);
    set_specs(w, c);
    snprintf(w->shape, sizeof w->shape, "%ux%u %ux%u s%u d%u %u>%u", c[0], c[1], c[4], c[4], c[5],
             c[6], c[2], c[3]);
    return add_input(w, HEDDLE_F16, (uint64_t)c[0] * c[1] * c[2], log) &&
           add_input(w, HEDDLE_F16, (uint64_t)taps * c[2] * c[3], log) &&
           set_output(w, results, log);
}

/* ---- rearranged tensors ---------------------------------------------------------------------- */

static double turned(const Workload *w, uint64_t element)
{
    uint64_t height = spec(w, 0), width = spec(w, 1);
    return w->x[0][element % height * width + element / height];
}

static double to_depth(const Workload *w, uint64_t element)
{
    uint64_t width = spec(w, 1), channels = spec(w, 2), channel = element % channels;
    uint64_t part = element / channels % 4, place = element / channels / 4;
    uint64_t y = place / (width / 2) * 2 + part / 2, x = place % (width / 2) * 2 + part % 2;
    return w->x[0][(y * width + x) * channels + channel];
}

static bool rearranged(Workload *w, bool turn, const uint32_t *size, HeddleLog *log)
{
    uint64_t n = (uint64_t)size[0] * size[1] * size[2];
    uint32_t tile = turn ? 64 : 16;
    *w = workload(turn ? "transpose" : "space to depth", "tensor_views.comp", 3, 0);
    w->expected = turn ? turned : to_depth;
    w->work = 2.0 * 2 * (double)n; /* bytes read and written */
    w->groups[0] = tiles(size[1], tile);
    w->groups[1] = tiles(size[0], tile);
    w->defines[0] = (HeddleDefine){ "TURN", "1" };
    w->n_defines = turn;
    set_specs(w, size);
    snprintf(w->shape, sizeof w->shape, turn ? "%u x %u" : "%u x %u x %u", size[0], size[1],
             size[2]);
    return add_input(w, HEDDLE_F16, n, log) && !heddle_array_new(HEDDLE_F16, 1, &n, &w->out, log);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* One line of the table. False when a result is wrong. */
static bool demonstrate(const Session *s, Workload *w)
{
    HeddleKernel *kernel = compile(s, w);
    bool once = heddle_device_info(s->device)->kind == HEDDLE_DEVICE_REFERENCE;
    double error, seconds = time_of(s, w, kernel, once ? 1 : ROUNDS, &error);
    bool right = seconds >= 0 && error <= w->tolerance;
    printf("%-16s %-36s %8.1e  %8.1f", w->name, w->shape, error, w->work * 1e-9 / seconds);
    right &= show_gpu(s, w);
    printf("%s%s\n", w->tolerance > 0 ? "" : "  GB/s", right ? "" : "   WRONG");
    fflush(stdout);
    heddle_kernel_free(kernel);
    return right;
}

static bool all_workloads(const Session *s)
{
    static const uint32_t sizes[][3] = { { 1000, 777, 513 }, { 1024, 768, 512 } };
    static const uint32_t images[][3] = { { 1000, 777, 1 }, { 250, 198, 32 } };
    Workload w;
    bool good = true;
    for (int k = 0; k < 4; k++) {
        HeddleType type = k < 2 ? HEDDLE_F16 : HEDDLE_F32;
        good &= gemm(&w, type, sizes[k % 2], s->log) && demonstrate(s, &w);
        workload_close(&w);
    }
    for (size_t k = 0; k < sizeof attentions / sizeof *attentions; k++) {
        good &= attention(&w, &attentions[k], s->log) && demonstrate(s, &w);
        workload_close(&w);
    }
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        good &= quantised(&w, &formats[k], (const uint32_t[]){ 500, 300, 512 }, s->log) &&
                demonstrate(s, &w);
        workload_close(&w);
    }
    for (size_t k = 0; k < sizeof convolutions / sizeof *convolutions; k++) {
        good &= convolution(&w, convolutions[k], s->log) && demonstrate(s, &w);
        workload_close(&w);
    }
    for (int k = 0; k < 2; k++) {
        good &= rearranged(&w, !k, images[k], s->log) && demonstrate(s, &w);
        workload_close(&w);
    }
    return good;
}

int main(int argc, char **argv)
{
    bool reference = argc > 2 && !strcmp(argv[2], "reference");
    HeddleDeviceOptions o = { .kind = reference ? HEDDLE_DEVICE_REFERENCE : HEDDLE_DEVICE_CPU };
    Session s = { .folder = argc > 1 ? argv[1] : EXAMPLES,
                  .gpu = reference ? NULL : open_gpu(),
                  .log = heddle_log_new(heddle_print_to_stderr, NULL) };
    if (heddle_device_new(&o, &s.device, s.log))
        return 1;
    printf("%-16s %-36s %8s  %8s%s\n", "workload", "shape", "error", "GFLOP/s",
           s.gpu ? "  on the GPU" : "");
    bool good = all_workloads(&s);
    printf("\nerror: relative, against double precision\n");
    heddle_device_free(s.device);
    heddle_device_free(s.gpu);
    heddle_log_free(s.log);
    return good ? 0 : 1;
}
