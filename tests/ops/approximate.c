/* SPDX-License-Identifier: MIT
 *
 * Operations that a device may compute faster than exactly (HeddleKernelOptions.exact), of f32 and
 * f16, against double precision: within what Vulkan allows ("Precision of Individual Operations");
 * and those declared precise, within half an ulp.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <math.h>
#include <stdlib.h>

/* Results in the order of `operations`. */
static const char kernel[] =
    "#version 460\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    "\n"
    "layout(local_size_x = 64) in;\n"
    "layout(set = 0, binding = 0) readonly buffer Input { T x[]; };\n"
    "layout(set = 0, binding = 1) writeonly buffer Output { T y[]; };\n"
    "\n"
    "void main()\n"
    "{\n"
    "    uint i = gl_GlobalInvocationID.x;\n"
    "    T a = x[2 * i], b = x[2 * i + 1];\n"
    "    y[8 * i] = b / a;\n"
    "    y[8 * i + 1] = sqrt(a);\n"
    "    y[8 * i + 2] = inversesqrt(a);\n"
    "    y[8 * i + 3] = exp2(b);\n"
    "    y[8 * i + 4] = exp(b);\n"
    "    y[8 * i + 5] = log2(a);\n"
    "    y[8 * i + 6] = log(a);\n"
    "    precise T quotient = b / a;\n"
    "    y[8 * i + 7] = quotient;\n"
    "}\n";

enum { GROUPS = 64, N = 64 * GROUPS, RESULTS = 8 };

typedef struct Format {
    const char *glsl;
    uint32_t bytes;
    int digits, least; /* of the significand; exponent of the smallest normal number */
    double range;      /* of what is taken the exponential of */
} Format;
static const Format formats[] = { { "float", 4, 24, -126, 80 }, { "float16_t", 2, 11, -14, 8 } };

typedef struct Operation {
    const char *name;
    double ulps, each; /* and so many for each 1 of |x| */
    double near;       /* absolute, of f32 and x between 0.5 and 2 */
    double near_half;  /* of f16 */
} Operation;
static const Operation operations[RESULTS] = {
    { "b / a", 2.5, 0, 0, 0 },        { "sqrt(a)", 3, 0, 0, 0 },
    { "inversesqrt(a)", 2, 0, 0, 0 }, { "exp2(b)", 3, 2, 0, 0 },
    { "exp(b)", 3, 2, 0, 0 },         { "log2(a)", 3, 0, 0x1p-21, 0x1p-7 },
    { "log(a)", 3, 0, 0x1p-21, 0x1p-7 }, { "precise b / a", 0.5001, 0, 0, 0 },
};

static double want(uint32_t k, double a, double b)
{
    switch (k) {
    case 1: return sqrt(a);
    case 2: return 1 / sqrt(a);
    case 3: return exp2(b);
    case 4: return exp(b);
    case 5: return log2(a);
    case 6: return log(a);
    default: return b / a;
    }
}

static double get(const Format *f, const void *data, uint32_t at)
{
    return f->bytes == 4 ? ((const float *)data)[at] : f16_to_double(((const uint16_t *)data)[at]);
}

static void put(const Format *f, void *data, uint32_t at, double x)
{
    if (f->bytes == 4)
        ((float *)data)[at] = (float)x;
    else
        ((uint16_t *)data)[at] = f16_from_double(x);
}

static void check(const Format *f, const void *in, const void *out, uint32_t i, uint32_t k)
{
    const Operation *o = &operations[k];
    double a = get(f, in, 2 * i), b = get(f, in, 2 * i + 1);
    double got = get(f, out, RESULTS * i + k), exact = want(k, a, b);
    bool exponential = o->each != 0;
    int exponent;
    frexp(exact, &exponent);
    double ulp = ldexp(1, MAX(exponent - 1, f->least) - f->digits + 1);
    double allowed = (o->ulps + o->each * fabs(b) * exponential) * ulp;
    if (o->near != 0 && a >= 0.5 && a <= 2)
        allowed = MAX(allowed, f->bytes == 4 ? o->near : o->near_half);
    if (exponent - 1 < f->least) /* a denormal result may be 0 */
        allowed = MAX(allowed, fabs(exact));
    if (!(fabs(got - exact) <= allowed))
        test_fail(__FILE__, __LINE__, "%s of %s %a, %a is %a, not %a: %g ulps", o->name, f->glsl, a,
                  b, got, exact, fabs(got - exact) / ulp);
}

static void run(HeddleDevice *d, const Format *f, HeddleLog *log)
{
    HeddleDefine define = { "T", f->glsl };
    HeddleModuleOptions o = { .defines = &define, .n_defines = 1 };
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleBinding b[2] = { { .binding = 0 }, { .binding = 1 } };
    size_t size[2] = { 2 * N * f->bytes, (size_t)RESULTS * N * f->bytes };
    void *data[2] = { aligned_alloc(64, size[0]), aligned_alloc(64, size[1]) };
    Rng r = { 5 };
    for (uint32_t i = 0; i < N; i++) {
        int exponent = (int)(rng_u64(&r) % (i % 2 ? 3 : 24)) - (i % 2 ? 2 : 12);
        put(f, data[0], 2 * i, ldexp(1 + rng_uniform(&r), exponent));
        put(f, data[0], 2 * i + 1, (2 * rng_uniform(&r) - 1) * f->range);
    }
    bool good = !heddle_module_new(kernel, sizeof kernel - 1, "approximate.comp", &o, &m, log) &&
                !heddle_kernel_new(d, m, NULL, &k, log);
    for (uint32_t i = 0; i < 2; i++)
        good = good && !heddle_buffer_wrap(d, data[i], size[i], &b[i].buffer, log);
    HeddleDispatch x = { .groups = { GROUPS, 1, 1 }, .bindings = b, .n_bindings = 2 };
    good = good && !heddle_dispatch(k, &x, NULL, log);
    CHECK(good);
    for (uint32_t i = 0; good && i < N * RESULTS; i++)
        check(f, data[0], data[1], i / RESULTS, i % RESULTS);
    for (uint32_t i = 0; i < 2; i++) {
        heddle_buffer_free(b[i].buffer);
        free(data[i]);
    }
    heddle_kernel_free(k);
    heddle_module_free(m);
}

TEST(approximations)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *d = NULL;
    CHECK(!heddle_device_new(&(HeddleDeviceOptions){ .kind = HEDDLE_DEVICE_CPU }, &d, log));
    for (uint32_t f = 0; d && f < COUNT_OF(formats); f++)
        run(d, &formats[f], log);
    heddle_device_free(d);
    heddle_log_free(log);
}
