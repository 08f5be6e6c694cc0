/* SPDX-License-Identifier: MIT
 *
 * What bench_cuda measures: a row a kernel and size, its data, and the check of samples of its
 * result in double precision.
 */
#include "base/base.h"

#include "cuda.h"

#include <math.h>

enum { SAMPLES = 64 };

/* ---- data ------------------------------------------------------------------------------------ */

static uint32_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static double value_of(const void *data, HeddleType type, uint64_t i)
{
    switch (type) {
    case HEDDLE_F16: return f16_to_double(((const uint16_t *)data)[i]);
    case HEDDLE_BF16: return bf16_to_double(((const uint16_t *)data)[i]);
    case HEDDLE_E4M3: return e4m3_to_double(((const uint8_t *)data)[i]);
    case HEDDLE_S8: return ((const int8_t *)data)[i];
    case HEDDLE_S32: return ((const int32_t *)data)[i];
    case HEDDLE_U32: return ((const uint32_t *)data)[i];
    default: return ((const float *)data)[i];
    }
}

/* Floats in -1 to 1, in steps that all types have; integers of all their bits. */
static void fill(void *data, uint64_t bytes, HeddleType type, uint64_t seed)
{
    uint64_t state = seed, n = bytes / heddle_type_size(type);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits = next(&state);
        double x = (double)(int32_t)(bits >> 8 & 255) / 128 - 1;
        switch (type) {
        case HEDDLE_F16: ((uint16_t *)data)[i] = f16_from_double(x); break;
        case HEDDLE_BF16: ((uint16_t *)data)[i] = bf16_from_double(x); break;
        case HEDDLE_E4M3: ((uint8_t *)data)[i] = e4m3_from_double(x); break;
        case HEDDLE_S8: ((int8_t *)data)[i] = (int8_t)(bits >> 8); break;
        case HEDDLE_U32: ((uint32_t *)data)[i] = bits; break;
        default: ((float *)data)[i] = (float)x; break;
        }
    }
}

/* Small numbers, whose sums are exact. */
static void fill_small(void *data, uint64_t bytes, HeddleType type, uint64_t seed)
{
    uint64_t state = seed;
    (void)type;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)data)[i] = next(&state) >> 8 & 15;
}

static void fill_bytes(uint8_t *x, uint64_t bytes, uint64_t seed)
{
    uint64_t state = seed;
    for (uint64_t i = 0; i < bytes; i++)
        x[i] = (uint8_t)(next(&state) >> 8);
}

enum { BLOCK = 32, BLOCK_BYTES = 18 };

/* Blocks of q4_0: a scale and 32 values of four bits. */
static void fill_blocks(void *data, uint64_t bytes, HeddleType type, uint64_t seed)
{
    uint8_t *x = data;
    (void)type;
    fill_bytes(x, bytes, seed);
    for (uint64_t i = 0; i + BLOCK_BYTES <= bytes; i += BLOCK_BYTES) {
        uint16_t scale = f16_from_double((x[i] + 1) / 1024.0);
        memcpy(x + i, &scale, 2);
    }
}

static double block_value(const void *data, uint64_t i)
{
    const uint8_t *x = (const uint8_t *)data + i / BLOCK * BLOCK_BYTES;
    uint16_t scale;
    uint32_t k = i % BLOCK, q = x[2 + k % 16];
    memcpy(&scale, x, 2);
    return f16_to_double(scale) * ((int)(k < 16 ? q & 15 : q >> 4) - 8);
}

enum { K_BLOCK = 256, K_BLOCK_BYTES = 144 };

/* Of q4_K: two factors, twelve bytes of scales and minima, 256 values of four bits
 * (examples/quants.glsl). */
static void fill_k_blocks(void *data, uint64_t bytes, HeddleType type, uint64_t seed)
{
    uint8_t *x = data;
    (void)type;
    fill_bytes(x, bytes, seed);
    for (uint64_t i = 0; i + K_BLOCK_BYTES <= bytes; i += K_BLOCK_BYTES) {
        uint16_t factors[2] = { f16_from_double((x[i] + 1) / 65536.0),
                                f16_from_double((x[i + 1] + 1) / 8192.0) };
        memcpy(x + i, factors, sizeof factors);
    }
}

static double k_block_value(const void *data, uint64_t i)
{
    const uint8_t *x = (const uint8_t *)data + i / K_BLOCK * K_BLOCK_BYTES, *s = x + 4;
    uint32_t k = i % K_BLOCK, part = k / 32, q = x[16 + k / 64 * 32 + k % 32] >> part % 2 * 4 & 15;
    uint32_t scale = part < 4 ? s[part] & 63 : (s[part + 4] & 15) | s[part - 4] >> 6 << 4;
    uint32_t least = part < 4 ? s[part + 4] & 63 : s[part + 4] >> 4 | s[part] >> 6 << 4;
    uint16_t factors[2];
    memcpy(factors, x, sizeof factors);
    return q * f16_to_double(factors[0]) * scale - f16_to_double(factors[1]) * least;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static double product_at(const Problem *p, void *const *data, uint64_t row, uint64_t column)
{
    double sum = 0;
    for (uint64_t k = 0; k < p->size; k++) {
        uint64_t b = p->column_b ? column * p->stride + k : k * p->stride + column;
        sum += value_of(data[0], p->input, row * p->stride + k) * value_of(data[1], p->input, b);
    }
    return sum;
}

static double check_product(const Problem *p, void *const *data, const void *out)
{
    double worst = 0;
    uint64_t state = 7;
    for (int s = 0; s < SAMPLES; s++) {
        uint64_t row = next(&state) % p->size, column = next(&state) % p->size;
        double got = value_of(out, p->result, row * p->stride + column);
        worst = fmax(worst, fabs(got - product_at(p, data, row, column)));
    }
    return worst / sqrt(p->size);
}

/* B is n x k, of blocks. */
static double check_weights(const Problem *p, void *const *data, const void *out,
                            double (*weight)(const void *data, uint64_t i))
{
    double worst = 0;
    uint64_t state = 7;
    for (int s = 0; s < SAMPLES; s++) {
        uint64_t row = next(&state) % p->size, column = next(&state) % p->size;
        double sum = 0;
        for (uint64_t k = 0; k < p->size; k++)
            sum += value_of(data[0], p->input, row * p->size + k) *
                   weight(data[1], column * p->size + k);
        worst = fmax(worst, fabs(value_of(out, p->result, row * p->size + column) - sum));
    }
    return worst / sqrt(p->size);
}

static double check_blocks(const Problem *p, void *const *data, const void *out)
{
    return check_weights(p, data, out, block_value);
}

static double check_k_blocks(const Problem *p, void *const *data, const void *out)
{
    return check_weights(p, data, out, k_block_value);
}

enum { KEYS = 4096, HEADS = 16, WIDTH = 128 };

/* Of one query's scores with all keys, exponentials; returns their sum. */
static double weigh_keys(void *const *data, uint64_t query, uint64_t head, double *weight)
{
    double all = 0;
    for (uint64_t k = 0; k < KEYS; k++) {
        double dot = 0;
        for (uint64_t d = 0; d < WIDTH; d++)
            dot += value_of(data[0], HEDDLE_F16, (query * HEADS + head) * WIDTH + d) *
                   value_of(data[1], HEDDLE_F16, (k * HEADS + head) * WIDTH + d);
        weight[k] =
            exp(dot / sqrt(WIDTH) + value_of(data[3], HEDDLE_F16, query * KEYS + k));
        all += weight[k];
    }
    return all;
}

/* The mask, data[3], keeps keys behind the query out. */
static void fill_causal(void *data, uint64_t bytes, HeddleType type, uint64_t seed)
{
    const uint16_t least = 0xfbff; /* -65504 */
    uint16_t *mask = data;
    fill(data, bytes, type, seed);
    for (uint64_t query = 0; seed == 4 && query < KEYS; query++)
        for (uint64_t k = query + 1; k < KEYS; k++)
            mask[query * KEYS + k] = least;
}

static double check_attention(const Problem *p, void *const *data, const void *out)
{
    double worst = 0, weight[KEYS];
    uint64_t state = 11;
    (void)p;
    for (int s = 0; s < SAMPLES; s++) {
        uint64_t query = next(&state) % KEYS, head = next(&state) % HEADS;
        double all = weigh_keys(data, query, head, weight);
        for (uint64_t d = 0; d < WIDTH; d += 31) {
            double sum = 0;
            for (uint64_t k = 0; k < KEYS; k++)
                sum += weight[k] * value_of(data[2], HEDDLE_F16, (k * HEADS + head) * WIDTH + d);
            double got = value_of(out, HEDDLE_F32, (query * HEADS + head) * WIDTH + d);
            worst = fmax(worst, fabs(got - sum / all));
        }
    }
    return worst;
}

static double check_nbody(const Problem *p, void *const *data, const void *out)
{
    const float *body = data[0], *got = out;
    double worst = 0;
    for (uint32_t s = 0; s < SAMPLES; s++) {
        uint32_t i = s * (p->size / SAMPLES);
        double sum[3] = { 0 }, size = 0;
        for (uint32_t j = 0; j < p->size; j++) {
            double d[3], square = 0.01;
            for (int k = 0; k < 3; k++) {
                d[k] = (double)body[4 * j + k] - body[4 * i + k];
                square += d[k] * d[k];
            }
            for (int k = 0; k < 3; k++)
                sum[k] += d[k] * body[4 * j + 3] / (square * sqrt(square));
            size += fabs(body[4 * j + 3]) / square;
        }
        for (int k = 0; k < 3; k++)
            worst = fmax(worst, fabs(got[4 * i + k] - sum[k]) / size);
    }
    return worst;
}

static double check_sum(const Problem *p, void *const *data, const void *out)
{
    double sum = 0, size = 0;
    for (uint64_t i = 0; i < p->sizes[0] / 4; i++) {
        sum += value_of(data[0], HEDDLE_F32, i);
        size += fabs(value_of(data[0], HEDDLE_F32, i));
    }
    return fabs(*(const float *)out - sum) / size;
}

static double check_histogram(const Problem *p, void *const *data, const void *out)
{
    uint32_t count[256] = { 0 };
    for (uint64_t i = 0; i < p->sizes[0]; i++)
        count[((const uint8_t *)data[0])[i]]++;
    return memcmp(count, out, sizeof count) != 0;
}

static double check_scan(const Problem *p, void *const *data, const void *out)
{
    uint32_t sum = 0, wrong = 0;
    for (uint64_t i = 0; i < p->sizes[0] / 4; i++) {
        sum += ((const uint32_t *)data[0])[i];
        wrong += ((const uint32_t *)out)[i] != sum;
    }
    return wrong;
}

static double check_transposition(const Problem *p, void *const *data, const void *out)
{
    const float *a = data[0], *b = out;
    uint64_t n = p->size, wrong = 0;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++)
            wrong += b[j * n + i] != a[i * n + j];
    return (double)wrong;
}

static double check_softmax(const Problem *p, void *const *data, const void *out)
{
    double worst = 0;
    for (uint64_t s = 0; s < SAMPLES; s++) {
        uint64_t row = s * (p->size / SAMPLES) * p->size;
        double sum = 0;
        for (uint64_t i = 0; i < p->size; i++)
            sum += exp(value_of(data[0], HEDDLE_F32, row + i));
        for (uint64_t i = 0; i < p->size; i++) {
            double want = exp(value_of(data[0], HEDDLE_F32, row + i)) / sum;
            worst = fmax(worst, fabs(value_of(out, HEDDLE_F32, row + i) / want - 1));
        }
    }
    return worst;
}

static double check_blur(const Problem *p, void *const *data, const void *out)
{
    double worst = 0;
    int64_t n = p->size;
    uint64_t state = 3;
    for (int s = 0; s < 100 * SAMPLES; s++) {
        int64_t x = next(&state) % n, y = next(&state) % n;
        double sum = 0;
        for (int64_t k = 0; k < 9; k++) {
            int64_t at_x = MIN(MAX(x + k % 3 - 1, 0), n - 1),
                    at_y = MIN(MAX(y + k / 3 - 1, 0), n - 1);
            sum += value_of(data[0], HEDDLE_F32, (uint64_t)(at_y * n + at_x));
        }
        worst = fmax(worst, fabs(value_of(out, HEDDLE_F32, (uint64_t)(y * n + x)) - sum / 9));
    }
    return worst;
}

static double check_copy(const Problem *p, void *const *data, const void *out)
{
    return memcmp(data[0], out, p->sizes[p->out]) != 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
#define DEFINES(...) .defines = { __VA_ARGS__ }
#define PRODUCT(title, of, n, row, from, to, from_bytes, to_bytes, tile, limit, ...) \
    { .name = title, .file = of, .n_steps = 1, .steps = { { (n) / (tile), (n) / (tile), 1 } }, \
      .sizes = { (uint64_t)(row) * (n) * (from_bytes), (uint64_t)(row) * (n) * (from_bytes), \
                 (uint64_t)(row) * (n) * (to_bytes) }, \
      .out = 2, .input = from, .result = to, .fill = fill, .check = check_product, \
      .tolerance = limit, .work = 2e-3 * (n) * (n) * (n), .size = n, .stride = row, __VA_ARGS__ }
#define STRIDES(n) .push = { n, n, n, n }
#define SIZES(n)   .push = { n, n, n }
#define PLAIN      "examples/gemm.comp"
#define TUNABLE    "bench/kernels/gemm.comp"
#define F16_F32(title, n, row) \
    PRODUCT(title, PLAIN, n, row, HEDDLE_F16, HEDDLE_F32, 2, 4, 64, 1e-3, \
            .push = { n, row, row, row }, DEFINES({ "INPUT", "float16_t" }))
/* By a workgroup's matrices and tensor layouts. */
#define TENSORS(title, tall, wide, rows, columns, loads) \
    { .name = title, .file = "bench/kernels/nv_gemm.comp", .n_steps = 1, \
      .steps = { { 4096 / (wide), 4096 / (tall), 1 } }, .sizes = { 2 << 24, 2 << 24, 4 << 24 }, \
      .out = 2, .input = HEDDLE_F16, .result = HEDDLE_F32, .fill = fill, .check = check_product, \
      .tolerance = 1e-3, .work = 2e-3 * 4096 * 4096 * 4096, .size = 4096, .stride = 4096, \
      SIZES(4096), DEFINES({ "AB", "float16_t" }, { "TM", rows }, { "TN", columns }, \
                           { "TK", "64" }, { "LOADS", loads }) }
#define FLAT(title, of, words, ...) \
    { .name = title, .file = of, .sizes = { 4ull * (words), 4ull * (words) }, .out = 1, \
      .input = HEDDLE_F32, .result = HEDDLE_F32, .fill = fill, __VA_ARGS__ }

enum { WORDS = 1 << 26, SIDE = 8192, BODIES = 32768 };

#define ATTENTION(what, filled)                                                                    \
    { .name = what, .file = "examples/tensor_attention.comp",                                      \
      .n_steps = 1, .steps = { { KEYS / 64, HEADS, 1 } },                                          \
      .sizes = { 2 * KEYS * HEADS * WIDTH, 2 * KEYS * HEADS * WIDTH, 2 * KEYS * HEADS * WIDTH,     \
                 2 * KEYS * KEYS, 4 * KEYS * HEADS * WIDTH },                                      \
      .specs = { KEYS, KEYS, HEADS, 1, WIDTH }, .n_specs = 5, .out = 4, .input = HEDDLE_F16,       \
      .result = HEDDLE_F32, .fill = filled, .check = check_attention, .tolerance = 1e-3,           \
      .work = 4e-3 * KEYS * KEYS * HEADS * WIDTH, DEFINES({ "T", "float16_t" }) }

const Problem problems[] = {
    F16_F32("gemm.comp f16 f32 1024", 1024, 1024),
    F16_F32("gemm.comp f16 f32 2048", 2048, 2048),
    F16_F32("gemm.comp f16 f32 4096", 4096, 4096),
    F16_F32("gemm.comp f16 f32 4096, rows +16", 4096, 4112),
    F16_F32("gemm.comp f16 f32 8192", 8192, 8192),
    PRODUCT("gemm.comp bf16 f32 4096", TUNABLE, 4096, 4096, HEDDLE_BF16, HEDDLE_F32, 2, 4, 64, 1e-3,
            STRIDES(4096), DEFINES({ "AB", "bfloat16_t" }, { "CD", "float" })),
    PRODUCT("gemm.comp f16 f16 4096", PLAIN, 4096, 4096, HEDDLE_F16, HEDDLE_F16, 2, 2, 64, 0.1,
            STRIDES(4096), DEFINES({ "INPUT", "float16_t" }, { "OUTPUT", "float16_t" })),
    PRODUCT("gemm.comp s8 s32 4096", PLAIN, 4096, 4096, HEDDLE_S8, HEDDLE_S32, 1, 4, 64, 0,
            STRIDES(4096), DEFINES({ "INPUT", "int8_t" }, { "OUTPUT", "int" })),
    PRODUCT("gemm.comp s8 s32 4096, B columns", TUNABLE, 4096, 4096, HEDDLE_S8, HEDDLE_S32, 1, 4,
            64, 0, STRIDES(4096), .column_b = true,
            DEFINES({ "AB", "int8_t" }, { "CD", "int" }, { "COLUMN_B", "1" })),
    PRODUCT("gemm.comp e4m3 f32 4096, B columns", TUNABLE, 4096, 4096, HEDDLE_E4M3, HEDDLE_F32, 1,
            4, 64, 1e-2, STRIDES(4096), .column_b = true,
            DEFINES({ "AB", "floate4m3_t" }, { "CD", "float" }, { "COLUMN_B", "1" })),
    PRODUCT("gemm_shared.comp f16 f32 4096", "bench/kernels/gemm_shared.comp", 4096, 4096,
            HEDDLE_F16, HEDDLE_F32, 2, 4, 64, 1e-3, STRIDES(4096),
            DEFINES({ "AB", "float16_t" }, { "CD", "float" })),
    PRODUCT("4x4 of 8x8x8 f16 f32 4096", TUNABLE, 4096, 4096, HEDDLE_F16, HEDDLE_F32, 2, 4, 32,
            1e-3, STRIDES(4096),
            DEFINES({ "AB", "float16_t" }, { "CD", "float" },
                    { "TM", "8" }, { "TN", "8" }, { "TK", "8" }, { "GM", "4" }, { "GN", "4" })),
    PRODUCT("one 64x64x16 f16 f32 4096", TUNABLE, 4096, 4096, HEDDLE_F16, HEDDLE_F32, 2, 4, 64,
            1e-3, STRIDES(4096),
            DEFINES({ "AB", "float16_t" }, { "CD", "float" },
                    { "TM", "64" }, { "TN", "64" }, { "TK", "16" }, { "GM", "1" }, { "GN", "1" })),
    TENSORS("nv_gemm 128x256 f16 f32 4096", 128, 256, "128", "256", "1"),
    TENSORS("nv_gemm 128x256 f16 f32 4096, clamped", 128, 256, "128", "256", "2"),
    TENSORS("nv_gemm 128x128 f16 f32 4096", 128, 128, "128", "128", "1"),
    TENSORS("nv_gemm 256x128 f16 f32 4096", 256, 128, "256", "128", "1"),
    TENSORS("nv_gemm 256x256 f16 f32 4096", 256, 256, "256", "256", "1"),
    { .name = "nv_gemm 128x256 f16 q4_0 4096", .file = "bench/kernels/nv_gemm.comp", .n_steps = 1,
      .steps = { { 16, 32, 1 } }, .sizes = { 2 << 24, (1 << 24) / BLOCK * BLOCK_BYTES, 4 << 24 },
      .out = 2, .input = HEDDLE_F16, .result = HEDDLE_F32, .fill = fill, .fill_b = fill_blocks,
      .check = check_blocks, .tolerance = 1e-2, .work = 2e-3 * 4096 * 4096 * 4096, .size = 4096,
      SIZES(4096), DEFINES({ "AB", "float16_t" }, { "TM", "128" }, { "TN", "256" },
                           { "TK", "64" }, { "LOADS", "1" }, { "BLOCKS", "1" }) },
    { .name = "nv_gemm 128x256 f16 q4_K 4096", .file = "bench/kernels/nv_gemm.comp", .n_steps = 1,
      .steps = { { 16, 32, 1 } },
      .sizes = { 2 << 24, (1 << 24) / K_BLOCK * K_BLOCK_BYTES, 4 << 24 }, .out = 2,
      .input = HEDDLE_F16, .result = HEDDLE_F32, .fill = fill, .fill_b = fill_k_blocks,
      .check = check_k_blocks, .tolerance = 1e-2, .work = 2e-3 * 4096 * 4096 * 4096, .size = 4096,
      SIZES(4096), DEFINES({ "AB", "float16_t" }, { "TM", "128" }, { "TN", "256" }, { "TK", "64" },
                           { "LOADS", "1" }, { "BLOCKS", "1" }, { "Q4_K", "1" }) },
    ATTENTION("tensor_attention 4096 x 128, 16 heads", fill),
    ATTENTION("tensor_attention, causal", fill_causal),
    FLAT("copy", "bench/kernels/copy.comp", WORDS, .n_steps = 1,
         .steps = { { WORDS / 1024, 1, 1 } }, .push = { WORDS / 4 },
         .check = check_copy, .work = 8.0 * WORDS),
    { .name = "n-body", .file = "bench/kernels/nbody.comp", .n_steps = 1,
      .steps = { { BODIES / 256, 1, 1 } }, .sizes = { 16 * BODIES, 16 * BODIES }, .out = 1,
      .push = { BODIES }, .input = HEDDLE_F32, .result = HEDDLE_F32, .fill = fill,
      .check = check_nbody, .tolerance = 1e-4, .size = BODIES, .work = 20e-3 * BODIES * BODIES },
    { .name = "reduction", .file = "bench/kernels/reduce.comp", .n_steps = 2,
      .steps = { { 2048, 1, 1 }, { 1, 1, 1 } }, .sizes = { 4ull * WORDS, 4 * 2048 }, .out = 1,
      .push = { WORDS, 2048 }, .input = HEDDLE_F32, .result = HEDDLE_F32, .fill = fill,
      .check = check_sum, .tolerance = 1e-5, .work = 4.0 * WORDS },
    { .name = "histogram", .file = "bench/kernels/histogram.comp", .n_steps = 1,
      .steps = { { WORDS / 8192, 1, 1 } }, .sizes = { 4ull * WORDS, 1024 }, .out = 1,
      .push = { WORDS }, .input = HEDDLE_U32, .result = HEDDLE_U32, .fill = fill,
      .check = check_histogram, .work = 4.0 * WORDS, .adds = true },
    { .name = "prefix sum", .file = "bench/kernels/scan.comp", .n_steps = 3,
      .steps = { { WORDS / 4096, 1, 1 }, { 1, 1, 1 }, { WORDS / 4096, 1, 1 } },
      .sizes = { 4ull * WORDS, 4ull * WORDS, WORDS / 1024 }, .out = 1, .push = { WORDS },
      .input = HEDDLE_U32, .result = HEDDLE_U32, .fill = fill_small, .check = check_scan,
      .work = 12.0 * WORDS },
    FLAT("transposition", "bench/kernels/transpose.comp", SIDE * SIDE, .n_steps = 1,
         .steps = { { SIDE / 32, SIDE / 32, 1 } }, .push = { SIDE }, .check = check_transposition,
         .size = SIDE, .work = 8.0 * SIDE * SIDE),
    FLAT("softmax", "bench/kernels/softmax.comp", SIDE * SIDE, .n_steps = 1,
         .steps = { { SIDE / 4, 1, 1 } }, .push = { SIDE, SIDE }, .check = check_softmax,
         .tolerance = 1e-4, .size = SIDE, .work = 8.0 * SIDE * SIDE),
    FLAT("blur", "bench/kernels/blur.comp", SIDE * SIDE, .n_steps = 1,
         .steps = { { SIDE / 16, SIDE / 16, 1 } }, .push = { SIDE, SIDE }, .check = check_blur,
         .tolerance = 1e-5, .size = SIDE, .work = 8.0 * SIDE * SIDE),
};
/* clang-format on */
const uint32_t n_problems = COUNT_OF(problems);
