/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_cooperative_matrix2 on both devices against plain loops in double precision, over
 * component types, sizes, subgroup sizes and both scopes (the kernels are nv_*.comp).
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/matrix/"

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

/* ---- running a kernel ------------------------------------------------------------------------ */

typedef struct Scope { const char *name; uint32_t subgroup, workgroup; } Scope;

static const Scope scopes[] = {
    { "gl_ScopeSubgroup", 32, 32 },   { "gl_ScopeSubgroup", 8, 8 },
    { "gl_ScopeSubgroup", 64, 64 },   { "gl_ScopeWorkgroup", 32, 64 },
    { "gl_ScopeWorkgroup", 16, 256 }, { "gl_ScopeWorkgroup", 64, 64 },
};

typedef struct Type {
    HeddleType type;
    const char *name;
    double tolerance;
    bool has_arithmetic; /* in GLSL */
} Type;

static const Type types[] = {
    { HEDDLE_F32, "float", 2e-6, true },          { HEDDLE_F16, "float16_t", 2e-3, true },
    { HEDDLE_BF16, "bfloat16_t", 2e-2, false },   { HEDDLE_S32, "int", 0, true },
    { HEDDLE_U8, "uint8_t", 0, true },            { HEDDLE_S16, "int16_t", 0, true },
    { HEDDLE_E4M3, "floate4m3_t", 0.1, false },   { HEDDLE_E5M2, "floate5m2_t", 0.2, false },
};

enum { MAX_ARRAYS = 6 };

typedef struct Run {
    HeddleArray *array[MAX_ARRAYS]; /* by binding */
    HeddleSpecValue specs[6];
    uint32_t n_specs;
} Run;

static HeddleArray *array_of(HeddleType type, uint64_t n)
{
    HeddleArray *a = NULL;
    heddle_array_new(type, 1, &n, &a, NULL);
    return a;
}

static double small(HeddleType t, Rng *r)
{
    double x = floor(rng_uniform(r) * 33) / 4 - 4;
    return t == HEDDLE_U8 || t == HEDDLE_U32 ? floor(fabs(x)) : t > HEDDLE_E5M2 ? floor(x) : x;
}

static HeddleArray *random_of(HeddleType type, uint64_t n, uint64_t seed)
{
    HeddleArray *a = array_of(type, n);
    Rng r = {seed};
    for (uint64_t k = 0; a && k < n; k++)
        heddle_array_set(a, k, small(type, &r));
    return a;
}

static HeddleModule *compile(Fixture *f, const char *file, const HeddleDefine *defines, uint32_t n)
{
    HeddleModuleOptions o = {.defines = defines, .n_defines = n};
    HeddleModule *m = NULL;
    char path[1024];
    snprintf(path, sizeof(path), "%s%s", FOLDER, file);
    heddle_module_from_file(path, &o, &m, f->log);
    return m;
}

static bool run(Fixture *f, HeddleModule *m, int device, const Scope *s, const Run *r)
{
    HeddleBuffer *buffer[MAX_ARRAYS] = {0};
    HeddleBinding bindings[MAX_ARRAYS];
    uint32_t n = 0;
    for (; n < MAX_ARRAYS && r->array[n]; n++) {
        heddle_buffer_wrap(f->device[device], r->array[n]->data, r->array[n]->size, &buffer[n],
                           f->log);
        bindings[n] = (HeddleBinding){.binding = n, .buffer = buffer[n]};
    }
    HeddleSpecValue specs[8];
    memcpy(specs, r->specs, sizeof(r->specs));
    specs[r->n_specs] = (HeddleSpecValue){10, s->workgroup};
    HeddleKernelOptions o = {
        .specs = specs, .n_specs = r->n_specs + 1, .subgroup_size = s->subgroup
    };
    HeddleKernel *k = NULL;
    HeddleDispatch d = {.bindings = bindings, .n_bindings = n};
    bool ok = m && heddle_kernel_new(f->device[device], m, &o, &k, f->log) == HEDDLE_OK
        && heddle_dispatch(k, &d, NULL, f->log) == HEDDLE_OK;
    heddle_kernel_free(k);
    while (n)
        heddle_buffer_free(buffer[--n]);
    return ok;
}

static void free_run(Run *r)
{
    for (uint32_t k = 0; k < MAX_ARRAYS; k++)
        heddle_array_free(r->array[k]);
}

/* Prints the first difference. */
static bool near(const char *what, const Scope *s, double got, double want, double tolerance,
                 uint64_t at)
{
    if (fabs(got - want) <= tolerance * (1 + fabs(want)))
        return true;
    printf("%s, %s of %u (subgroups of %u): element %llu is %.9g, not %.9g\n", what, s->name,
           s->workgroup, s->subgroup, (unsigned long long)at, got, want);
    return false;
}

static double rounded(HeddleType t, double x)
{
    HeddleArray *a = array_of(t, 1);
    heddle_array_set(a, 0, x);
    x = heddle_array_get(a, 0);
    heddle_array_free(a);
    return x;
}

static const uint32_t shapes[][2] = {
    {16, 16}, {16, 8}, {64, 64}, {32, 48}, {5, 7}, {16, 128}, {24, 40}, {128, 20}, {1, 1},
    {33, 63}, {63, 33}, {35, 130},
};

/* ---- conversions ----------------------------------------------------------------------------- */

static bool convert(Fixture *f, HeddleModule *m, int device, const Scope *s, const Type *t,
                    const Type *u, uint32_t M, uint32_t N)
{
    Run r = {.specs = {{0, M}, {1, N}}, .n_specs = 2};
    HeddleType type[] = {t->type, u->type, u->type, u->type, t->type, t->type};
    for (uint32_t k = 0; k < 6; k++)
        r.array[k] = random_of(type[k], M * N, k);
    bool ok = run(f, m, device, s, &r);
    for (uint32_t e = 0; ok && e < M * N; e++) {
        double x = heddle_array_get(r.array[0], e), y = rounded(u->type, x);
        for (uint32_t k = 1; ok && k < 5; k++)
            ok = near("conversion", s, heddle_array_get(r.array[k], e), k < 4 ? y : x, 0, e);
        ok = ok && near("transpose", s, heddle_array_get(r.array[5], e % N * M + e / N), x, 0, e);
    }
    free_run(&r);
    return ok;
}

static void conversions(int device)
{
    static const uint8_t pairs[][2] = {{0, 1}, {1, 0}, {0, 2}, {3, 0}, {3, 5}, {0, 3}};
    Fixture f = setup();
    for (uint32_t p = 0; p < COUNT_OF(pairs); p++)
        for (uint32_t w = 0; w < 2; w++) {
            if (!TEST_TAKES(2 * p + w))
                continue;
            const Type *t = &types[pairs[p][0]], *u = &types[pairs[p][1]];
            HeddleDefine d[] = {{"T", t->name}, {"U", u->name}, {"SCOPE", scopes[3 * w].name}};
            HeddleModule *m = compile(&f, "nv_convert.comp", d, 3);
            CHECK(m);
            uint32_t s = p % 2 + p / 2 % HEDDLE_TEST_STEP * 2;
            for (; m && s < COUNT_OF(shapes); s += 2 * HEDDLE_TEST_STEP)
                CHECK(convert(&f, m, device, &scopes[3 * w + (s + p) % 3], t, u, shapes[s][0],
                              shapes[s][1]));
            heddle_module_free(m);
        }
    tear_down(&f);
}

TEST(conversions_cpu) { conversions(0); }
TEST(conversions_reference) { conversions(1); }

/* ---- functions of every element -------------------------------------------------------------- */

static double mixed(const HeddleArray *x, const HeddleArray *y, uint32_t e, uint32_t N)
{
    uint32_t row = e / N, col = e % N;
    double a = heddle_array_get(x, e), b = heddle_array_get(y, e);
    return (row + col) % 2 ? pow(b, col % 3) - a : a * 3 + b;
}

static bool element(Fixture *f, HeddleModule *m, int device, const Scope *s, const Type *t,
                    uint32_t M, uint32_t N)
{
    Run r = {.specs = {{0, M}, {1, N}}, .n_specs = 2};
    for (uint32_t k = 0; k < 6; k++)
        r.array[k] = random_of(k < 5 ? t->type : HEDDLE_U32, M * N, k);
    bool ok = run(f, m, device, s, &r);
    for (uint32_t e = 0; ok && e < M * N; e++) {
        uint32_t row = e / N, col = e % N;
        double x = heddle_array_get(r.array[0], e);
        double masked = row >= M - 3 || col >= N / 2 ? -5 : x;
        ok = near("place", s, heddle_array_get(r.array[2], e),
                  rounded(t->type, x + rounded(t->type, row * 64 + col)), t->tolerance, e)
            && near("mixed", s, heddle_array_get(r.array[3], e),
                    mixed(r.array[0], r.array[1], e, N), 3 * t->tolerance, e)
            && near("masked", s, heddle_array_get(r.array[4], e), masked, 0, e)
            && near("side", s, heddle_array_get(r.array[5], e), row * 1000 + col, 0, e);
    }
    free_run(&r);
    return ok;
}

static void elements(int device)
{
    static const uint8_t which[] = {0, 1, 3, 5};
    static const char *const uses[] = { "gl_MatrixUseAccumulator", "gl_MatrixUseA",
                                        "gl_MatrixUseB" };
    Fixture f = setup();
    for (uint32_t p = 0; p < COUNT_OF(which); p++)
        for (uint32_t w = 0; w < 2; w++) {
            if (!TEST_TAKES(2 * p + w))
                continue;
            const Type *t = &types[which[p]];
            HeddleDefine d[] = { { "T", t->name },
                                 { "USE", uses[p % 3] },
                                 { "SCOPE", scopes[3 * w].name } };
            HeddleModule *m = compile(&f, "nv_element.comp", d, 3);
            CHECK(m);
            uint32_t s = w + p % HEDDLE_TEST_STEP * 2;
            for (; m && s + 1 < COUNT_OF(shapes); s += 2 * HEDDLE_TEST_STEP)
                CHECK(element(&f, m, device, &scopes[3 * w + (s + p) % 3], t, shapes[s][0],
                              shapes[s][1]));
            heddle_module_free(m);
        }
    tear_down(&f);
}

TEST(elements_cpu) { elements(0); }
TEST(elements_reference) { elements(1); }

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct Mode { const char *name; bool rows, cols, two; } Mode;

static const Mode modes[] = {
    { "gl_CooperativeMatrixReduceRowNV", true, false, false },
    { "gl_CooperativeMatrixReduceColumnNV", false, true, false },
    { "gl_CooperativeMatrixReduceRowAndColumnNV", true, true, false },
    { "gl_CooperativeMatrixReduce2x2NV", false, false, true },
};

typedef enum Kind { LARGEST, SUM, SMALLEST, N_KINDS } Kind;

static const char *const combinations[] = { "T(max(W(a),W(b)))", "T(W(a)+W(b))",
                                            "T(min(W(a),W(b)))" };

/* Over the elements that are combined for (i, j), and the sum of sizes. */
static double reduced(const HeddleArray *x, const Mode *mode, Kind kind, uint32_t M, uint32_t N,
                      uint32_t i, uint32_t j, double *size)
{
    uint32_t r0 = mode->two ? 2 * i : mode->cols ? 0 : i, r1 = mode->two ? r0 + 2 : mode->cols ? M
        : i + 1;
    uint32_t c0 = mode->two ? 2 * j : mode->rows ? 0 : j, c1 = mode->two ? c0 + 2 : mode->rows ? N
        : j + 1;
    double s = 0, most = -INFINITY, least = INFINITY;
    *size = 0;
    for (uint32_t r = r0; r < r1; r++)
        for (uint32_t c = c0; c < c1; c++) {
            double v = heddle_array_get(x, (uint64_t)r * N + c);
            s += v;
            *size += fabs(v);
            most = fmax(most, v);
            least = fmin(least, v);
        }
    return kind == SUM ? s : kind == LARGEST ? most : least;
}

static bool reduce(Fixture *f, HeddleModule *m, int device, const Scope *s, const Type *t,
                   const Mode *mode, Kind kind, uint32_t M, uint32_t N)
{
    uint32_t rows = mode->two ? M / 2 : mode->cols ? M + 3 : M;
    uint32_t cols = mode->two ? N / 2 : mode->rows ? N / 2 + 1 : N;
    Run r = {.specs = {{0, M}, {1, N}, {2, rows}, {3, cols}}, .n_specs = 4};
    r.array[0] = random_of(t->type, M * N, M + N);
    r.array[1] = random_of(t->type, rows * cols, 1);
    bool ok = run(f, m, device, s, &r);
    for (uint32_t e = 0; ok && e < rows * cols; e++) {
        double size,
            want = reduced(r.array[0], mode, kind, M, N, e / cols, e % cols, &size);
        ok = near(mode->name, s, heddle_array_get(r.array[1], e), want,
                  kind == SUM ? t->tolerance * (1 + size) : 0, e);
    }
    if (!ok)
        printf("of %ux%u %s\n", M, N, t->name);
    free_run(&r);
    return ok;
}

static void reductions(int device)
{
    static const uint8_t which[] = { 0, 1, 2, 3, 5, 6, 7 }; /* as many as no step divides */
    enum { N_TYPES = COUNT_OF(which), N_MODES = COUNT_OF(modes) };
    Fixture f = setup();
    for (uint32_t p = 0; p < N_TYPES * N_MODES * N_KINDS; p++) {
        if (!TEST_TAKES(p))
            continue;
        const Type *t = &types[which[p % N_TYPES]];
        const Mode *mode = &modes[p / N_TYPES % N_MODES];
        Kind kind = p / N_TYPES / N_MODES;
        for (uint32_t w = 0; w < 2; w++) {
            if ((p + kind + w + (uint32_t)device) % 2)
                continue;       /* one scope for sums, the other for those picked */
            HeddleDefine d[] = { { "T", t->name },
                                 { "MODE", mode->name },
                                 { "COMBINE(a,b)", combinations[kind] },
                                 { "W", t->has_arithmetic ? "T" : "float" },
                                 { "SCOPE", scopes[3 * w].name } };
            HeddleModule *m = compile(&f, "nv_reduce.comp", d, 5);
            CHECK(m);
            uint32_t s = p % 2 + p / N_TYPES % HEDDLE_TEST_STEP * 2;
            for (; m && s < COUNT_OF(shapes); s += 2 * HEDDLE_TEST_STEP) {
                uint32_t M = shapes[s][0], N = shapes[s][1];
                if (!mode->two || !((M | N) % 2))
                    CHECK(reduce(&f, m, device, &scopes[3 * w + (s + p) % 3], t, mode, kind, M, N));
            }
            heddle_module_free(m);
        }
    }
    tear_down(&f);
}

TEST(reductions_cpu) { reductions(0); }
TEST(reductions_reference) { reductions(1); }
