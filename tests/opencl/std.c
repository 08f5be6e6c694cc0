/* SPDX-License-Identifier: MIT
 *
 * OpenCL.std on both devices: one kernel an instruction, made as SPIR-V assembly, on edges and
 * random numbers; the result against the C library's in long double, in units of the last place
 * (OpenCL C, "Relative Error as ULPs", full profile), or exactly where that table says so. Half is
 * not in the table of every function: 2 units more than float's are allowed of it.
 */
#include "base/test.h"

#include <float.h>
#include <heddle/heddle.h>
#include <stdlib.h>

enum { N = 512 };

typedef long double Exact(long double x, long double y, long double z);

typedef struct Row {
    const char *name;
    Exact *exact;
    uint32_t operands;
    double low, high;           /* where most samples lie */
    double ulps;                /* 0: exactly */
} Row;

static const long double PI = 3.14159265358979323846264338327950288L;

#define ONE(name, value)                                                                           \
    static long double exact_##name(long double x, long double y, long double z)                   \
    {                                                                                              \
        (void)y, (void)z;                                                                          \
        return value;                                                                              \
    }
ONE(acos, acosl(x)) ONE(acosh, acoshl(x)) ONE(acospi, acosl(x) / PI) ONE(asin, asinl(x))
ONE(asinh, asinhl(x)) ONE(asinpi, asinl(x) / PI) ONE(atan, atanl(x)) ONE(atanh, atanhl(x))
ONE(atanpi, atanl(x) / PI) ONE(atan2, atan2l(x, y)) ONE(atan2pi, atan2l(x, y) / PI)
ONE(cbrt, cbrtl(x)) ONE(ceil, ceill(x)) ONE(copysign, copysignl(x, y)) ONE(cos, cosl(x))
ONE(cosh, coshl(x)) ONE(erfc, erfcl(x)) ONE(erf, erfl(x)) ONE(exp, expl(x)) ONE(exp2, exp2l(x))
ONE(exp10, powl(10, x)) ONE(expm1, expm1l(x)) ONE(fabs, fabsl(x)) ONE(fdim, fdiml(x, y))
ONE(floor, floorl(x)) ONE(fma, fmal(x, y, z)) ONE(fmax, fmaxl(x, y)) ONE(fmin, fminl(x, y))
ONE(fmod, fmodl(x, y)) ONE(hypot, hypotl(x, y)) ONE(lgamma, lgammal(x)) ONE(log, logl(x))
ONE(log2, log2l(x)) ONE(log10, log10l(x)) ONE(log1p, log1pl(x)) ONE(logb, logbl(x))
ONE(pow, powl(x, y)) ONE(powr, fabsl(powl(x, y)))
ONE(remainder, remainderl(x, y)) ONE(rint, rintl(x)) ONE(round, roundl(x))
ONE(rsqrt, 1 / sqrtl(x)) ONE(sin, sinl(x)) ONE(sinh, sinhl(x)) ONE(sqrt, sqrtl(x))
ONE(tan, tanl(x)) ONE(tanh, tanhl(x)) ONE(tgamma, tgammal(x)) ONE(trunc, truncl(x))
ONE(fclamp, fminl(fmaxl(x, y), z)) ONE(degrees, x * 180 / PI) ONE(radians, x * PI / 180)
ONE(step, y < x ? 0 : 1) ONE(sign, isnan(x) ? 0 : x > 0 ? 1 : x < 0 ? -1 : x)
ONE(maxmag, fabsl(x) > fabsl(y) ? x : fabsl(y) > fabsl(x) ? y : fmaxl(x, y))
ONE(minmag, fabsl(x) < fabsl(y) ? x : fabsl(y) < fabsl(x) ? y : fminl(x, y))

static long double turn(long double x, bool cosine)
{
    long double r = fmodl(x, 2);
    if (fabsl(r) > 1)
        r -= copysignl(2, r);
    if (cosine)
        return fabsl(r) == 0.5L ? 0 : fabsl(r) > 0.75L ? -cosl(PI * (1 - fabsl(r)))
             : fabsl(r) > 0.25L ? sinl(PI * (0.5L - fabsl(r))) : cosl(PI * r);
    return fabsl(r) == 1 || r == 0 ? copysignl(0, x) : fabsl(r) > 0.5L
               ? copysignl(sinl(PI * (1 - fabsl(r))), r) : sinl(PI * r);
}
ONE(sinpi, turn(x, false)) ONE(cospi, turn(x, true)) ONE(tanpi, turn(x, false) / turn(x, true))

#define ROW(name, operands, low, high, ulps) { #name, exact_##name, operands, low, high, ulps }
static const Row rows[] = {
    ROW(acos, 1, -1, 1, 4), ROW(acosh, 1, 1, 8, 4), ROW(acospi, 1, -1, 1, 5),
    ROW(asin, 1, -1, 1, 4), ROW(asinh, 1, -4, 4, 4), ROW(asinpi, 1, -1, 1, 5),
    ROW(atan, 1, -4, 4, 5), ROW(atanh, 1, -1, 1, 5), ROW(atanpi, 1, -4, 4, 5),
    ROW(atan2, 2, -4, 4, 6), ROW(atan2pi, 2, -4, 4, 6), ROW(cbrt, 1, -100, 100, 2),
    ROW(ceil, 1, -100, 100, 0), ROW(copysign, 2, -4, 4, 0), ROW(cos, 1, -40, 40, 4),
    ROW(cosh, 1, -10, 10, 4), ROW(cospi, 1, -10, 10, 4), ROW(erfc, 1, -4, 8, 16),
    ROW(erf, 1, -4, 4, 16), ROW(exp, 1, -80, 80, 3), ROW(exp2, 1, -120, 120, 3),
    ROW(exp10, 1, -37, 37, 3), ROW(expm1, 1, -10, 10, 3), ROW(fabs, 1, -4, 4, 0),
    ROW(fdim, 2, -4, 4, 0.5), ROW(floor, 1, -100, 100, 0), ROW(fma, 3, -4, 4, 0.5),
    ROW(fmax, 2, -4, 4, 0), ROW(fmin, 2, -4, 4, 0), ROW(fmod, 2, -100, 100, 0),
    ROW(hypot, 2, -100, 100, 4), ROW(lgamma, 1, 3, 40, 16), ROW(log, 1, 0, 10, 3),
    ROW(log2, 1, 0, 10, 3), ROW(log10, 1, 0, 1000, 3), ROW(log1p, 1, -1, 4, 2),
    ROW(logb, 1, -100, 100, 0), ROW(pow, 2, 0, 8, 16), ROW(powr, 2, 0.1, 8, 16),
    ROW(remainder, 2, -100, 100, 0), ROW(rint, 1, -10, 10, 0), ROW(round, 1, -10, 10, 0),
    ROW(rsqrt, 1, 0, 10, 2), ROW(sin, 1, -40, 40, 4), ROW(sinh, 1, -10, 10, 4),
    ROW(sinpi, 1, -10, 10, 4), ROW(sqrt, 1, 0, 10, 3), ROW(tan, 1, -40, 40, 5),
    ROW(tanh, 1, -4, 4, 5), ROW(tanpi, 1, -10, 10, 6), ROW(tgamma, 1, 0.1, 20, 16),
    ROW(trunc, 1, -100, 100, 0), ROW(fclamp, 3, -4, 4, 0), ROW(degrees, 1, -4, 4, 2),
    ROW(radians, 1, -400, 400, 2), ROW(step, 2, -4, 4, 0), ROW(sign, 1, -4, 4, 0),
    ROW(maxmag, 2, -4, 4, 0), ROW(minmag, 2, -4, 4, 0),
};

/* ---- the kernel ------------------------------------------------------------------------------ */

static const char kernel[] =
    "OpCapability Kernel\nOpCapability Addresses\nOpCapability Int64\n%s"
    "%%s = OpExtInstImport \"OpenCL.std\"\nOpMemoryModel Physical64 OpenCL\n"
    "OpEntryPoint Kernel %%main \"f\" %%id\n"
    "OpDecorate %%id BuiltIn GlobalInvocationId\nOpDecorate %%id Constant\n"
    "%%void = OpTypeVoid\n%%T = OpTypeFloat %u\n%%long = OpTypeInt 64 0\n"
    "%%v3 = OpTypeVector %%long 3\n%%in = OpTypePointer Input %%v3\n"
    "%%p = OpTypePointer CrossWorkgroup %%T\n"
    "%%fn = OpTypeFunction %%void %%p %%p %%p %%p\n%%id = OpVariable %%in Input\n"
    "%%main = OpFunction %%void None %%fn\n%%a = OpFunctionParameter %%p\n"
    "%%b = OpFunctionParameter %%p\n%%c = OpFunctionParameter %%p\n"
    "%%d = OpFunctionParameter %%p\n%%entry = OpLabel\n%%v = OpLoad %%v3 %%id\n"
    "%%i = OpCompositeExtract %%long %%v 0\n%%pa = OpInBoundsPtrAccessChain %%p %%a %%i\n"
    "%%pb = OpInBoundsPtrAccessChain %%p %%b %%i\n%%pc = OpInBoundsPtrAccessChain %%p %%c %%i\n"
    "%%pd = OpInBoundsPtrAccessChain %%p %%d %%i\n%%x = OpLoad %%T %%pa\n%%y = OpLoad %%T %%pb\n"
    "%%z = OpLoad %%T %%pc\n%%r = OpExtInst %%T %%s %s %s\nOpStore %%pd %%r\nOpReturn\n"
    "OpFunctionEnd\n";

static const struct Format {
    HeddleType type;
    uint32_t bits;
    const char *capability;
    int precision, least;       /* exponent of the least denormal's bit */
    long double most;
} formats[] = {
    { HEDDLE_F32, 32, "", 24, -149, FLT_MAX },
    { HEDDLE_F64, 64, "OpCapability Float64\n", 53, -1074, DBL_MAX },
    { HEDDLE_F16, 16, "OpCapability Float16\n", 11, -24, 65504 },
};

static double ulps(long double got, long double want, const struct Format *f)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (fabsl(want) > f->most || isinf(got))
        return (isinf(got) || fabsl(got) >= f->most) && signbit(got) == signbit(want) &&
               fabsl(want) >= f->most * (1 - ldexpl(1, 1 - f->precision)) ? 0 : INFINITY;
    int e = want == 0 ? f->least : ilogbl(want) + 1 - f->precision;
    return (double)fabsl(ldexpl(got - want, -MAX(e, f->least)));
}

static double sample(const Row *row, uint32_t k, uint32_t operand, Rng *rng)
{
    static const double edges[] = { 0, -0.0, 1, -1, 0.5, -0.5, 2, 3, -3, INFINITY, -INFINITY, NAN };
    enum { E = COUNT_OF(edges) };
    double x = row->low + (row->high - row->low) * rng_uniform(rng);
    if (k < E * E)
        return edges[operand == 1 ? k / E : (k + operand) % E];
    return k % 4 == 3 ? x * ldexp(1, (int)(rng_u64(rng) % 16) - 8) : x;
}

static HeddleBuffer *buffer(HeddleDevice *d, HeddleArray *a)
{
    HeddleBuffer *b = NULL;
    heddle_buffer_wrap(d, a->data, a->size, &b, NULL);
    return b;
}

static bool run(HeddleDevice *device, const char *text, HeddleArray *const *arrays, HeddleLog *log)
{
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleBinding bindings[4] = { { 0 } };
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_SPIRV_ASM };
    HeddleKernelOptions ko = { .local_size = { 64, 1, 1 } };
    bool ok = !heddle_module_new(text, strlen(text), "std", &o, &m, log) &&
              !heddle_kernel_new(device, m, &ko, &k, log);
    for (uint32_t n = 0; n < 4; n++)
        bindings[n] = (HeddleBinding){ .binding = n, .buffer = buffer(device, arrays[n]) };
    HeddleDispatch d = { .global_size = { N, 1, 1 }, .bindings = bindings, .n_bindings = 4 };
    ok = ok && !heddle_dispatch(k, &d, NULL, log);
    for (uint32_t n = 0; n < 4; n++)
        heddle_buffer_free(bindings[n].buffer);
    heddle_kernel_free(k);
    heddle_module_free(m);
    return ok;
}

static void check(HeddleDevice *device, const Row *row, const struct Format *f, HeddleLog *log)
{
    static const char *const operands[] = { "", "%x", "%x %y", "%x %y %z" };
    HeddleArray *a[4];
    char text[4096];
    Rng rng = { 7 };
    for (uint32_t n = 0; n < 4; n++)
        heddle_array_new(f->type, 1, (uint64_t[]){ N }, &a[n], NULL);
    for (uint32_t k = 0; k < N; k++)
        for (uint32_t n = 0; n < 3; n++)
            heddle_array_set(a[n], k, sample(row, k, n, &rng));
    snprintf(text, sizeof text, kernel, f->capability, f->bits, row->name, operands[row->operands]);
    CHECK(run(device, text, a, log));
    double allowed = row->ulps ? row->ulps + (f->type == HEDDLE_F16 ? 2 : 0) : 0;
    for (uint32_t k = 0; k < N; k++) {
        double x[3];
        for (uint32_t n = 0; n < 3; n++)
            x[n] = heddle_array_get(a[n], k);
        long double want = row->exact(x[0], x[1], x[2]), got = heddle_array_get(a[3], k);
        if (!strcmp(row->name, "powr") && (x[0] < 0 || (x[0] == 0 && x[1] == 0) ||
                                           (isinf(x[0]) && x[1] == 0) || isnan(x[1]) ||
                                           isnan(x[0]) || (x[0] == 1 && isinf(x[1]))))
            want = NAN;
        if (!(ulps(got, want, f) <= allowed))
            test_fail(__FILE__, __LINE__, "%s of f%u on the %s device: (%a, %a, %a) gives %La, "
                      "not %La: %.2f ulps", row->name, f->bits,
                      heddle_device_info(device)->kind_name, x[0], x[1], x[2], got, want,
                      ulps(got, want, f));
    }
    for (uint32_t n = 0; n < 4; n++)
        heddle_array_free(a[n]);
}

static void check_all(HeddleDeviceKind kind, uint32_t format)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device;
    REQUIRE(!heddle_device_new(&(HeddleDeviceOptions){ .kind = kind }, &device, log));
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        check(device, &rows[k], &formats[format], log);
    heddle_device_free(device);
    heddle_log_free(log);
}

TEST(float_on_the_cpu) { check_all(HEDDLE_DEVICE_CPU, 0); }
TEST(double_on_the_cpu) { check_all(HEDDLE_DEVICE_CPU, 1); }
TEST(half_on_the_cpu) { check_all(HEDDLE_DEVICE_CPU, 2); }
TEST(float_on_the_reference) { check_all(HEDDLE_DEVICE_REFERENCE, 0); }
TEST(double_on_the_reference) { check_all(HEDDLE_DEVICE_REFERENCE, 1); }
