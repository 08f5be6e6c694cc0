/* SPDX-License-Identifier: MIT
 *
 * SPV_KHR_cooperative_matrix on both devices against plain loops in double precision: multiply-adds
 * over types, shapes, orders, strides and subgroup sizes (muladd.comp), and everything else that a
 * matrix can be (values.comp).
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/matrix/"

typedef struct Types {
    HeddleType a, b, c;
    const char *ga, *gb, *gc;   /* in GLSL */
    bool saturate;
    /* GLSL has no such matrices: pairs to replace in a narrower kernel's SPIR-V */
    const char *edits[6];
} Types;

static const Types types[] = {
    {HEDDLE_F32, HEDDLE_F32, HEDDLE_F32, "float", "float", "float", false, {0}},
    {HEDDLE_F16, HEDDLE_F16, HEDDLE_F32, "float16_t", "float16_t", "float", false, {0}},
    {HEDDLE_F16, HEDDLE_F16, HEDDLE_F16, "float16_t", "float16_t", "float16_t", false, {0}},
    {HEDDLE_BF16, HEDDLE_BF16, HEDDLE_F32, "bfloat16_t", "bfloat16_t", "float", false, {0}},
    {HEDDLE_BF16, HEDDLE_BF16, HEDDLE_BF16, "bfloat16_t", "bfloat16_t", "bfloat16_t", false, {0}},
    {HEDDLE_F64, HEDDLE_F64, HEDDLE_F64, "float", "float", "float", false,
     {"OpTypeFloat 32", "OpTypeFloat 64", "ArrayStride 4", "ArrayStride 8", "OpCapability Shader",
      "OpCapability Shader\nOpCapability Float64"}},
    {HEDDLE_E4M3, HEDDLE_E4M3, HEDDLE_F32, "floate4m3_t", "floate4m3_t", "float", false, {0}},
    {HEDDLE_E5M2, HEDDLE_E5M2, HEDDLE_F16, "floate5m2_t", "floate5m2_t", "float16_t", false, {0}},
    {HEDDLE_S8, HEDDLE_S8, HEDDLE_S32, "int8_t", "int8_t", "int", false, {0}},
    {HEDDLE_U8, HEDDLE_S8, HEDDLE_S32, "uint8_t", "int8_t", "int", false, {0}},
    {HEDDLE_S8, HEDDLE_U8, HEDDLE_S32, "int8_t", "uint8_t", "int", false, {0}},
    {HEDDLE_U8, HEDDLE_U8, HEDDLE_U32, "uint8_t", "uint8_t", "uint", false, {0}},
    {HEDDLE_S8, HEDDLE_S8, HEDDLE_S32, "int8_t", "int8_t", "int", true, {0}},
    {HEDDLE_U8, HEDDLE_U8, HEDDLE_U32, "uint8_t", "uint8_t", "uint", true, {0}},
    {HEDDLE_S16, HEDDLE_S16, HEDDLE_S32, "int16_t", "int16_t", "int", false, {0}},
    {HEDDLE_U16, HEDDLE_U16, HEDDLE_U32, "uint16_t", "uint16_t", "uint", false, {0}},
    {HEDDLE_S16, HEDDLE_S16, HEDDLE_S16, "int16_t", "int16_t", "int16_t", false, {0}},
    {HEDDLE_U8, HEDDLE_U8, HEDDLE_U8, "uint8_t", "uint8_t", "uint8_t", false, {0}},
    {HEDDLE_S8, HEDDLE_S8, HEDDLE_S8, "int8_t", "int8_t", "int8_t", true, {0}},
    {HEDDLE_U32, HEDDLE_U32, HEDDLE_U32, "uint", "uint", "uint", false, {0}},
    {HEDDLE_S32, HEDDLE_S32, HEDDLE_S32, "int", "int", "int", true, {0}},
    {HEDDLE_E4M3, HEDDLE_E4M3, HEDDLE_E4M3, "floate4m3_t", "floate4m3_t", "floate4m3_t", false,
     {0}},
    {HEDDLE_S64, HEDDLE_S64, HEDDLE_S64, "int16_t", "int16_t", "int16_t", false,
     {"OpTypeInt 16 1", "OpTypeInt 64 1", "ArrayStride 2", "ArrayStride 8", "OpCapability Int16",
      "OpCapability Int64"}},
};

static const uint32_t shapes[][3] = {
    { 16, 16, 16 }, { 8, 8, 8 },   { 16, 8, 32 }, { 1, 1, 1 },     { 3, 5, 7 },
    { 64, 64, 16 }, { 32, 16, 8 }, { 13, 40, 4 }, { 128, 24, 20 },
};

static const uint32_t sizes[] = {32, 8, 16, 64, 128};

typedef struct Fixture { HeddleDevice *device[2]; HeddleLog *log; } Fixture;

static Fixture setup(void)
{
    Fixture f = {.log = heddle_log_new(heddle_print_to_stderr, NULL)};
    heddle_device_new(NULL, &f.device[0], f.log);
    heddle_device_new(&(HeddleDeviceOptions){.kind = HEDDLE_DEVICE_REFERENCE}, &f.device[1], f.log);
    return f;
}

static void tear_down(Fixture *f)
{
    heddle_device_free(f->device[0]);
    heddle_device_free(f->device[1]);
    heddle_log_free(f->log);
}

/* `text` with every `what` replaced by `by`; frees it. */
static char *replace(char *text, const char *what, const char *by)
{
    size_t n = strlen(text), count = 0, step = strlen(what);
    for (char *p = text; (p = strstr(p, what)); p += step)
        count++;
    char *out = malloc(n + count * strlen(by) + 1), *to = out;
    for (char *p = text; out && *p;) {
        if (!strncmp(p, what, step)) {
            to = stpcpy(to, by);
            p += step;
        } else {
            *to++ = *p++;
        }
    }
    if (out)
        *to = 0;
    free(text);
    return out;
}

static HeddleModule *edited(Fixture *f, HeddleModule *m, const Types *t)
{
    char *text = heddle_module_disassemble(m, false);
    heddle_module_free(m);
    for (uint32_t k = 0; text && k < COUNT_OF(t->edits) && t->edits[k]; k += 2)
        text = replace(text, t->edits[k], t->edits[k + 1]);
    m = NULL;
    if (text)
        heddle_module_new(text, strlen(text), "muladd.spvasm", NULL, &m, f->log);
    free(text);
    return m;
}

static HeddleModule *compile(Fixture *f, const char *file, const Types *t)
{
    HeddleDefine defines[4] = { { "TA", t ? t->ga : "float" },
                                { "TB", t ? t->gb : "float" },
                                { "TC", t ? t->gc : "float" },
                                { "SATURATE", "1" } };
    HeddleModuleOptions o = {.defines = defines, .n_defines = t && t->saturate ? 4 : 3};
    HeddleModule *m = NULL;
    char path[1024];
    snprintf(path, sizeof(path), "%s%s", FOLDER, file);
    heddle_module_from_file(path, &o, &m, f->log);
    return m && t && t->edits[0] ? edited(f, m, t) : m;
}

/* ---- multiply-adds --------------------------------------------------------------------------- */

enum { START = 3 };             /* muladd.comp's matrices begin at this element */

static uint64_t place(bool col, uint32_t stride, uint32_t i, uint32_t j)
{
    return START + (col ? (uint64_t)j * stride + i : (uint64_t)i * stride + j);
}

/* The integers that a type has. */
static double lowest(HeddleType t)
{
    return t < HEDDLE_U8 ? -ldexp(1, 8 * (int)heddle_type_size(t) - 1) : 0;
}

static double highest(HeddleType t)
{
    return ldexp(1, 8 * (int)heddle_type_size(t) - (t < HEDDLE_U8)) - 1;
}

static HeddleArray *random_matrix(HeddleType type, uint32_t rows, uint32_t cols, bool col,
                                  uint32_t stride, Rng *r, double range)
{
    uint64_t n = START + (uint64_t)stride * (col ? cols : rows);
    HeddleArray *a = NULL;
    heddle_array_new(type, 1, &n, &a, NULL);
    for (uint32_t i = 0; a && i < rows; i++)
        for (uint32_t j = 0; j < cols; j++) {
            double x = rng_uniform(r) * 2 - 1;
            heddle_array_set(a, place(col, stride, i, j),
                             range ? (lowest(type) < 0 ? x : fabs(x)) * range : x);
        }
    return a;
}

static bool is_float(HeddleType t) { return t <= HEDDLE_E5M2; }

/* Relative to the sum of magnitudes: half an ulp of the narrowest rounding on the way, with room
 * for the f32 accumulation of up to 32 products. */
static double tolerance(HeddleType c)
{
    return c == HEDDLE_F64    ? 1e-14
           : c == HEDDLE_F32  ? 4e-6
           : c == HEDDLE_F16  ? 6e-4
           : c == HEDDLE_BF16 ? 5e-3
           : c == HEDDLE_E4M3 ? 0.07
                              : 0;
}

static double wrap(const Types *t, double x)
{
    if (is_float(t->c) || t->c == HEDDLE_S64)
        return x;
    double low = lowest(t->c), high = highest(t->c), n = high - low + 1;
    return t->saturate ? fmin(fmax(x, low), high) : x - floor((x - low) / n) * n;
}

/* Of random numbers; 0: of [-1, 1]. What is saturated must be C's sum, not the products'. */
static double range(const Types *t, HeddleType type, bool is_c)
{
    if (is_float(type))
        return 0;
    if (is_c)
        return t->saturate ? highest(type) : MIN(1000, highest(type));
    return heddle_type_size(t->c) == 1 && t->saturate ? 2 : MIN(127, highest(type));
}

static bool muladd(Fixture *f, HeddleModule *m, const Types *t, const uint32_t *shape,
                   uint32_t orders, uint32_t subgroup, int device)
{
    uint32_t M = shape[0], N = shape[1], K = shape[2];
    uint32_t rows[4] = {M, K, M, M}, cols[4] = {K, N, N, N}, stride[4];
    HeddleType type[4] = {t->a, t->b, t->c, t->c};
    HeddleArray *x[4];
    HeddleBuffer *buffers[4];
    HeddleBinding bindings[4];
    Rng r = {shape[0] * 1000 + orders};
    for (uint32_t k = 0; k < 4; k++) {
        bool col = orders >> k & 1;
        stride[k] = (col ? rows[k] : cols[k]) + k * 5;
        x[k] = random_matrix(type[k], rows[k], cols[k], col, stride[k], &r,
                             range(t, type[k], k >= 2));
        heddle_buffer_wrap(f->device[device], x[k]->data, x[k]->size, &buffers[k], f->log);
        bindings[k] = (HeddleBinding){.binding = k, .buffer = buffers[k]};
    }
    HeddleSpecValue specs[] = { { 0, M },
                                { 1, N },
                                { 2, K },
                                { 3, orders & 1 },
                                { 4, orders >> 1 & 1 },
                                { 5, orders >> 2 & 1 },
                                { 6, orders >> 3 & 1 },
                                { 10, subgroup } };
    HeddleKernelOptions o = {.specs = specs, .n_specs = COUNT_OF(specs), .subgroup_size = subgroup};
    HeddleKernel *kernel;
    bool good = heddle_kernel_new(f->device[device], m, &o, &kernel, f->log) == HEDDLE_OK;
    HeddleDispatch d = {
        .bindings = bindings, .n_bindings = 4, .push = stride, .push_size = sizeof(stride)
    };
    good = good && heddle_dispatch(kernel, &d, NULL, f->log) == HEDDLE_OK;
    for (uint32_t i = 0; good && i < M; i++)
        for (uint32_t j = 0; good && j < N; j++) {
            double sum = heddle_array_get(x[2], place(orders >> 2 & 1, stride[2], i, j)),
                   size = fabs(sum);
            for (uint32_t k = 0; k < K; k++) {
                double p = heddle_array_get(x[0], place(orders & 1, stride[0], i, k))
                    * heddle_array_get(x[1], place(orders >> 1 & 1, stride[1], k, j));
                sum += p;
                size += fabs(p);
            }
            double got = heddle_array_get(x[3], place(orders >> 3 & 1, stride[3], i, j));
            if (!(fabs(got - wrap(t, sum)) <= tolerance(t->c) * size)) {
                printf("%s*%s+%s %ux%ux%u orders %x subgroup %u device %d: [%u][%u] is %.9g, not "
                       "%.9g\n",
                       t->ga, t->gb, t->gc, M, N, K, orders, subgroup, device, i, j, got,
                       wrap(t, sum));
                good = false;
            }
        }
    for (uint32_t k = 0; k < 4; k++) {
        heddle_buffer_free(buffers[k]);
        heddle_array_free(x[k]);
    }
    heddle_kernel_free(kernel);
    return good;
}

static void all_muladds(int device)
{
    Fixture f = setup();
    for (uint32_t t = 0; t < COUNT_OF(types); t++) {
        if (!TEST_TAKES(t))
            continue;
        HeddleModule *m = compile(&f, "muladd.comp", &types[t]);
        CHECK(m);
        /* every order in the first shape, every shape in some */
        for (uint32_t k = 0; m && k < 16; k += HEDDLE_TEST_STEP) {
            uint32_t shape = k % COUNT_OF(shapes), subgroup = sizes[(k + t) % COUNT_OF(sizes)];
            CHECK(muladd(&f, m, &types[t], shapes[0], k, 32, device));
            CHECK(muladd(&f, m, &types[t], shapes[shape], (k * 7 + t) % 16, subgroup, device));
        }
        heddle_module_free(m);
    }
    tear_down(&f);
}

TEST(muladd_cpu) { all_muladds(0); }
TEST(muladd_reference) { all_muladds(1); }

/* SPV_NV_cooperative_matrix has one type for all uses. */
static HeddleModule *compile_nv(Fixture *f, const Types *t)
{
    static const char *const names[] = { "MA", "MB", "MC" }, *const widths[] = { "NA", "NB", "NC" };
    static const char *const kinds[] = { "fcoopmatNV", "icoopmatNV", "ucoopmatNV" };
    HeddleType type[] = { t->a, t->b, t->c };
    char bits[3][8];
    HeddleDefine defines[9] = { { "TA", t->ga }, { "TB", t->gb }, { "TC", t->gc } };
    for (uint32_t k = 0; k < 3; k++) {
        snprintf(bits[k], sizeof bits[k], "%u", (unsigned)heddle_type_size(type[k]) * 8);
        defines[3 + k] = (HeddleDefine){
            names[k], kinds[is_float(type[k]) ? 0 : type[k] < HEDDLE_U8 ? 1 : 2] };
        defines[6 + k] = (HeddleDefine){ widths[k], bits[k] };
    }
    HeddleModuleOptions o = { .defines = defines, .n_defines = COUNT_OF(defines) };
    HeddleModule *m = NULL;
    heddle_module_from_file(FOLDER "muladd_nv.comp", &o, &m, f->log);
    return m;
}

static void nv_muladds(int device)
{
    static const uint32_t of[] = { 0, 1, 2, 8, 11 };
    Fixture f = setup();
    for (uint32_t t = 0; t < COUNT_OF(of); t++) {
        HeddleModule *m = compile_nv(&f, &types[of[t]]);
        CHECK(m);
        for (uint32_t k = 0; m && k < 5; k += HEDDLE_TEST_STEP)
            CHECK(muladd(&f, m, &types[of[t]], shapes[k], k * 3 + t, sizes[k], device));
        heddle_module_free(m);
    }
    tear_down(&f);
}

TEST(muladd_nv_cpu) { nv_muladds(0); }
TEST(muladd_nv_reference) { nv_muladds(1); }

/* ---- values ---------------------------------------------------------------------------------- */

enum { N_RESULTS = 34, ROUNDS = 5, WHICH = 2, K = WHICH % 3 };

static double fibonacci(uint32_t n)
{
    double a = 0, b = 1;
    while (n--) {
        double t = a + b;
        a = b;
        b = t;
    }
    return a;
}

/* values.comp, mixed(): what its loop carries, the matrix's element or the number. */
static double carried(double x, bool number)
{
    double a[3] = { x, x, x }, f[3] = { 2, 3, 4 };
    a[(K + 1) % 3] = (K + 2) * x;
    f[(K + 1) % 3] = K + 2;
    double walk_a = a[K], walk_f = f[K];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        walk_a += a[(K + i) % 3];
        walk_f = i % 2 ? f[(K + i) % 3] : walk_f + 1;
    }
    return number ? walk_f : walk_a;
}

/* Results that hang on who holds which element: others do where tiles stand for a matrix. */
#ifdef HEDDLE_LOWER_TILES
enum { TILES = true };
#else
enum { TILES = false };
#endif
static const bool of_owners[N_RESULTS] = {
    [12] = TILES, [13] = TILES, [24] = TILES, [32] = TILES
};

/* Result r at (i, j) of an M x N matrix whose element there is x. */
static double expected(uint32_t r, const float *in, uint32_t M, uint32_t N, uint32_t W, uint32_t i,
                       uint32_t j)
{
    float x = in[i * N + j];
    uint32_t linear = i * N + j;
    int whole = (int)x;
    switch (r) {
    case 0: case 3: return 2 * x;
    case 1: return 1;
    case 4: return x * (WHICH % 3);
    case 5: return x + 7;
    case 6: return 0;
    case 7: return -x;
    case 8: return fibonacci(ROUNDS) * x;
    case 9: return fibonacci(ROUNDS + 1) * x;
    case 10: case 11: return fibonacci(ROUNDS) * x;
    case 12: return 2 * x + linear;
    case 13: return linear < W ? 5 : x;
    case 14: return in[j * M + i];
    case 19: return in[j];
    case 20: return (M * N + W - 1) / W;
    case 21: return f16_to_double(f16_from_double(x));
    case 22: return whole / (whole + 1000);
    case 23: return (x * x - x) / (x + 1000.0f);
    case 24: return linear % W;
    case 25: case 28: return (K + 2) * x;
    case 26: return K % 2 ? 2 * x : K - x;
    case 27: return 2 * x + K + 5 + K % 2;
    case 29: return carried(x, false);
    case 30: return carried(x, true);
    case 31: return 28 * x;
    case 32: return x + linear / W;
    case 33: return K % 2 ? K : 3 * x;
    default: return x;
    }
}

/* Of a GPU's private memory the matrices of more would be 0.4 MB for each thread that could run,
 * which is more than there is. */
#ifdef HEDDLE_TEST_CUDA
enum { MOST_HELD = 256 };
#else
enum { MOST_HELD = 4096 };
#endif

static void all_values(int device)
{
    static const uint32_t shape[][2] = {{16, 16}, {8, 4}, {32, 8}, {4, 20}, {64, 64}};
    Fixture f = setup();
    HeddleModule *m = compile(&f, "values.comp", NULL);
    CHECK(m);
    for (uint32_t s = 0; m && s < COUNT_OF(shape) * COUNT_OF(sizes); s += HEDDLE_TEST_STEP) {
        uint32_t M = shape[s / COUNT_OF(sizes)][0], N = shape[s / COUNT_OF(sizes)][1],
                 W = sizes[s % COUNT_OF(sizes)];
        if ((s % COUNT_OF(sizes) && W == sizes[s % COUNT_OF(sizes) - 1]) || M * N > MOST_HELD * W)
            continue;
        HeddleBuffer *in, *out;
        heddle_buffer_new(f.device[device], M * N * 4, &in, f.log);
        heddle_buffer_new(f.device[device], N_RESULTS * M * N * 4, &out, f.log);
        float *x = heddle_buffer_data(in), *y = heddle_buffer_data(out);
        Rng r = {s};
        for (uint32_t i = 0; i < M * N; i++)
            x[i] = (float)(int)(rng_uniform(&r) * 100);
        struct {
            uint32_t rounds, which;
            uint64_t remote;
        } push = { ROUNDS, WHICH, heddle_buffer_address(in) };
        HeddleBinding b[] = { { .binding = 0, .buffer = in },
                              { .binding = 1, .buffer = out },
                              { .binding = 2, .buffer = in },
                              { .binding = 3, .buffer = in } };
        HeddleSpecValue specs[] = {{0, M}, {1, N}, {10, W}};
        HeddleKernelOptions o = {.specs = specs, .n_specs = 3, .subgroup_size = W};
        HeddleDispatch d = {
            .bindings = b, .n_bindings = 4, .push = &push, .push_size = sizeof(push)
        };
        HeddleKernel *k;
        bool ran = heddle_kernel_new(f.device[device], m, &o, &k, f.log) == HEDDLE_OK
            && heddle_dispatch(k, &d, NULL, f.log) == HEDDLE_OK;
        CHECK(ran);
        for (uint32_t e = 0; ran && e < N_RESULTS; e++)
            for (uint32_t i = 0; i < M * N && !of_owners[e]; i++) {
                double want = expected(e, x, M, N, W, i / N, i % N), got = y[(size_t)e * M * N + i];
                if (!(fabs(got - want) <= 1e-6 * fabs(want))) {
                    printf("%ux%u subgroup %u device %d: result %u [%u][%u] is %g, not %g\n", M, N,
                           W, device, e, i / N, i % N, got, want);
                    CHECK(false);
                    break;
                }
            }
        heddle_kernel_free(k);
        heddle_buffer_free(in);
        heddle_buffer_free(out);
    }
    heddle_module_free(m);
    tear_down(&f);
}

TEST(values_cpu) { all_values(0); }
TEST(values_reference) { all_values(1); }
