/* SPDX-License-Identifier: MIT
 *
 * math.c against MPFR: every f16, and for float random bit patterns, random values of the
 * interesting range, and the edges; on this machine and on one without fused multiply-add. The
 * bound of each row is far inside what the Vulkan specification's precision table allows.
 *
 * HEDDLE_MATH_SAMPLES sets the number of random floats a function (20,000 unless told);
 * HEDDLE_MATH_VERBOSE prints the worst error found.
 */
#include "base/test.h"

#ifdef HEDDLE_HAVE_MPFR

#include "llvm/math.h"
#include "jit_small.h"

#include <float.h>
#include <mpfr.h>

enum { LANES = 16 };

typedef int Mp1(mpfr_t, const mpfr_t, mpfr_rnd_t);

typedef struct Row {
    const char *name;
    LLVMValueRef (*emit)(LLVMBuilderRef, LLVMValueRef);
    Mp1 *exact;
    double lo, hi;              /* where most random samples lie */
    double ulp;                 /* allowed, on a machine with fused multiply-add */
    double ulp_unfused;
    /* without fused multiply-add, relative error near multiples of pi/2 is let go */
    bool angle;
} Row;

/* IEEE 754 has 1/sqrt(-0) negative, MPFR positive. */
static int exact_rsqrt(mpfr_t r, const mpfr_t x, mpfr_rnd_t rnd)
{
    int inexact = mpfr_rec_sqrt(r, x, rnd);
    if (mpfr_zero_p(x))
        mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
    return inexact;
}

static const Row rows[] = {
    { "exp", math_exp, mpfr_exp, -105, 90, 1.0, 1.0, false },
    { "exp2", math_exp2, mpfr_exp2, -151, 130, 1.2, 1.2, false },
    { "log", math_log, mpfr_log, 0, 4, 1.0, 1.5, false },
    { "log2", math_log2, mpfr_log2, 0, 4, 2.0, 2.0, false },
    { "sin", math_sin, mpfr_sin, -40, 40, 1.6, 1.8, true },
    { "cos", math_cos, mpfr_cos, -40, 40, 1.6, 1.8, true },
    { "tan", math_tan, mpfr_tan, -40, 40, 3.5, 4.0, true },
    { "asin", math_asin, mpfr_asin, -1, 1, 2.0, 2.0, false },
    { "acos", math_acos, mpfr_acos, -1, 1, 1.5, 2.0, false },
    { "atan", math_atan, mpfr_atan, -4, 4, 1.5, 2.0, false },
    { "sinh", math_sinh, mpfr_sinh, -4, 4, 2.0, 2.5, false },
    { "cosh", math_cosh, mpfr_cosh, -4, 4, 2.0, 2.5, false },
    { "tanh", math_tanh, mpfr_tanh, -4, 4, 2.0, 2.5, false },
    { "asinh", math_asinh, mpfr_asinh, -4, 4, 3.0, 3.5, false },
    { "acosh", math_acosh, mpfr_acosh, 1, 8, 3.0, 3.5, false },
    { "atanh", math_atanh, mpfr_atanh, -1, 1, 3.0, 3.5, false },
    { "sqrt", math_sqrt, mpfr_sqrt, 0, 4, 0.5001, 0.5001, false },
    { "rsqrt", math_rsqrt, exact_rsqrt, 0, 4, 1.5, 1.5, false },
};

static uint32_t bits_of(float x) { uint32_t i; memcpy(&i, &x, 4); return i; }
static float float_of(uint32_t i) { float x; memcpy(&x, &i, 4); return x; }

static uint32_t sample_count(void)
{
    const char *s = getenv("HEDDLE_MATH_SAMPLES");
    return s ? (uint32_t)strtoul(s, NULL, 0) : 20000;
}

/* |got - want| in units of the last place that want has in a format of `precision` bits, smallest
 * exponent `emin` (of the least denormal's bit). Infinite when one of them is special and they
 * differ. */
static double ulps(double got, const mpfr_t want, int precision, int emin, double max)
{
    if (mpfr_nan_p(want))
        return isnan(got) ? 0 : INFINITY;
    if (isnan(got))
        return INFINITY;
    double w = mpfr_get_d(want, MPFR_RNDN);
    if (isinf(got) || fabs(w) > max)
        return (isinf(got) || fabs(got) >= max) && fabs(w) >= max * (1 - ldexp(1, -precision)) &&
               signbit(got) == signbit(w) ? 0 : INFINITY;
    mpfr_t d;
    mpfr_init2(d, 120);
    mpfr_sub_d(d, want, got, MPFR_RNDN);
    long e = mpfr_zero_p(want) ? emin : mpfr_get_exp(want) - precision;
    mpfr_mul_2si(d, d, -MAX(e, emin), MPFR_RNDN);
    double r = fabs(mpfr_get_d(d, MPFR_RNDN));
    mpfr_clear(d);
    return r;
}

/* Edges first, then random bits, then the range. */
static float pick(const Row *row, uint32_t i, Rng *rng)
{
    static const float edges[] = {
        0.0f,
        -0.0f,
        1.0f,
        -1.0f,
        0.5f,
        -0.5f,
        2.0f,
        INFINITY,
        -INFINITY,
        NAN,
        0x1p-149f,
        -0x1p-149f,
        0x1p-126f,
        0x1.fffffep-127f,
        0x1.fffffep127f,
        -0x1.fffffep127f,
        0x1p-24f,
        0x1p-12f,
        0x1p13f,
        0x1.000002p13f,
        0x1p22f,
        0x1p23f,
        0x1p24f,
        0x1p31f,
        0x1p32f,
        0x1p33f,
        0x1p64f,
        0x1p127f,
        0x1.921fb6p0f,
        0x1.921fb6p1f,
        0x1.921fb6p-1f,
        -0x1.921fb6p0f,
        0x1.2d97c8p1f,
        88.72284f,
        88.722839f,
        -87.33655f,
        -103.97208f,
        -104.0f,
        128.0f,
        127.99999f,
        -126.0f,
        -149.0f,
        -150.0f,
        -149.5f,
        0x1.000002p0f,
        0x1.fffffep-1f,
        0x1.6a09e6p-1f,
        0x1.6a09e8p-1f,
        0x1.6a09e6p0f,
        0x1.6a09e8p0f,
        9.01f,
        9.02f,
        10.0f,
        0.55f,
        0.6f,
        16367173.0f,
        0x1.47d0fep34f,
        0x1.5c2ee2p+62f,
        0x1.f1e8p100f,
    };
    if (i < COUNT_OF(edges))
        return edges[i];
    if (i % 4 == 0)
        return float_of((uint32_t)rng_u64(rng));
    return (float)(row->lo + (row->hi - row->lo) * rng_uniform(rng));
}

/* `least`: exponent of the smallest unit counted: absolute error where the result is tiny. */
static void check_float(const Row *row, SmallFn *f, double bound, int least, const char *cpu)
{
    Rng rng = { 7 };
    mpfr_t x, y;
    mpfr_init2(x, 24);
    mpfr_init2(y, 90);
    double worst = 0;
    float at = 0, got_at = 0;
    uint32_t n = sample_count();
    for (uint32_t i = 0; f && i < n; i += LANES) {
        float in[LANES], out[LANES];
        for (uint32_t k = 0; k < LANES; k++)
            in[k] = pick(row, i + k, &rng);
        f(out, in, in);
        for (uint32_t k = 0; k < LANES; k++) {
            mpfr_set_flt(x, in[k], MPFR_RNDN);
            row->exact(y, x, MPFR_RNDN);
            double e = ulps((double)out[k], y, 24, least, FLT_MAX);
            if (e > worst) {
                worst = e;
                at = in[k];
                got_at = out[k];
            }
            if (e > bound)
                test_fail(__FILE__, __LINE__, "%s(%a) on %s is %a: %g ulp, %g allowed", row->name,
                          (double)in[k], cpu, (double)out[k], e, bound);
        }
    }
    if (getenv("HEDDLE_MATH_VERBOSE"))
        printf("%-6s f32 %-10s %.3f ulp at %a (%a)\n", row->name, cpu, worst, (double)at,
               (double)got_at);
    mpfr_clear(x);
    mpfr_clear(y);
}

static void check_half(const Row *row, SmallFn *f)
{
    mpfr_t x, y;
    mpfr_init2(x, 24);
    mpfr_init2(y, 60);
    double worst = 0;
    for (uint32_t i = 0; f && i < 65536; i += LANES) {
        uint16_t in[LANES], out[LANES];
        for (uint32_t k = 0; k < LANES; k++)
            in[k] = (uint16_t)(i + k);
        f(out, in, in);
        for (uint32_t k = 0; k < LANES; k++) {
            mpfr_set_d(x, f16_to_double(in[k]), MPFR_RNDN);
            row->exact(y, x, MPFR_RNDN);
            double e = ulps(f16_to_double(out[k]), y, 11, -24, 65504);
            worst = MAX(worst, e);
            if (e > 0.51)
                test_fail(__FILE__, __LINE__, "%s(%a) is %a in f16: %g ulp", row->name,
                          f16_to_double(in[k]), f16_to_double(out[k]), e);
        }
    }
    if (getenv("HEDDLE_MATH_VERBOSE"))
        printf("%-6s f16 %.4f ulp\n", row->name, worst);
    mpfr_clear(x);
    mpfr_clear(y);
}

static LLVMTypeRef vector(LLVMTypeRef t) { return LLVMVectorType(t, LANES); }

static void emit_row(SmallJit *j, const Row *row, const char *suffix, LLVMTypeRef t)
{
    char name[40];
    snprintf(name, sizeof name, "%s.%s", row->name, suffix);
    small_begin(j, name);
    small_end(j, row->emit(j->b, small_load(j, 1, t)));
}

static SmallFn *lookup_row(SmallJit *j, const Row *row, const char *suffix)
{
    char name[40];
    snprintf(name, sizeof name, "%s.%s", row->name, suffix);
    return small_lookup(j, name);
}

TEST(unary_functions)
{
    SmallJit j;
    small_open(&j);
    for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
        emit_row(&j, &rows[i], "f32", vector(LLVMFloatTypeInContext(j.cx)));
        emit_row(&j, &rows[i], "f16", vector(LLVMHalfTypeInContext(j.cx)));
        emit_row(&j, &rows[i], "scalar", LLVMFloatTypeInContext(j.cx));
        emit_row(&j, &rows[i], "f64", LLVMVectorType(LLVMDoubleTypeInContext(j.cx), 2));
    }
    REQUIRE(small_compile(&j, NULL));
    for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
        const Row *row = &rows[i];
        check_float(row, lookup_row(&j, row, "f32"), row->ulp, -149, "host");
        check_half(row, lookup_row(&j, row, "f16"));
        /* a scalar does what a lane does */
        float in = 0.7f, one = 0, many[LANES], ins[LANES];
        for (int k = 0; k < LANES; k++)
            ins[k] = in;
        SmallFn *scalar = lookup_row(&j, row, "scalar"), *f = lookup_row(&j, row, "f32");
        REQUIRE(scalar && f);
        scalar(&one, &in, &in);
        f(many, ins, ins);
        CHECK(bits_of(one) == bits_of(many[3]) || (isnan(one) && isnan(many[3])));
        CHECK(lookup_row(&j, row, "f64") != NULL);
    }
    small_close(&j);
}

TEST(unary_functions_without_fma)
{
    SmallJit j;
    small_open(&j);
    for (uint32_t i = 0; i < COUNT_OF(rows); i++)
        emit_row(&j, &rows[i], "f32", vector(LLVMFloatTypeInContext(j.cx)));
    REQUIRE(small_compile(&j, "x86-64-v2"));
    for (uint32_t i = 0; i < COUNT_OF(rows); i++)
        check_float(&rows[i], lookup_row(&j, &rows[i], "f32"), rows[i].ulp_unfused,
                    rows[i].angle ? -36 : -149, "x86-64-v2");
    small_close(&j);
}

/* ---- pow, atan2, ldexp, frexp ---------------------------------------------------------------- */

typedef int Mp2(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

static void check_binary(SmallFn *f, const char *name, Mp2 *exact, bool positive, double bound)
{
    static const float edges[] = { 0.0f,       -0.0f, 1.0f,          -1.0f,
                                   0.5f,       2.0f,  -2.0f,         INFINITY,
                                   -INFINITY,  NAN,   0x1p-149f,     0x1.fffffep127f,
                                   -0x1p-149f, 3.0f,  0x1.000002p0f, -0.5f };
    Rng rng = { 11 };
    mpfr_t x, y, r;
    mpfr_inits2(24, x, y, (mpfr_ptr)NULL);
    mpfr_init2(r, 90);
    double worst = 0;
    uint32_t n = sample_count(), n_edges = COUNT_OF(edges) * COUNT_OF(edges);
    for (uint32_t i = 0; f && i < n; i += LANES) {
        float a[LANES], b[LANES], out[LANES];
        for (uint32_t k = 0; k < LANES; k++) {
            uint32_t at = i + k;
            a[k] = at < n_edges ? edges[at % COUNT_OF(edges)]
                 : at % 3 ? (float)(10 * rng_normal(&rng)) : float_of((uint32_t)rng_u64(&rng));
            b[k] = at < n_edges ? edges[at / COUNT_OF(edges)]
                 : at % 3 ? (float)(10 * rng_normal(&rng)) : float_of((uint32_t)rng_u64(&rng));
            if (positive)
                a[k] = fabsf(a[k]);
        }
        f(out, a, b);
        for (uint32_t k = 0; k < LANES; k++) {
            mpfr_set_flt(x, a[k], MPFR_RNDN);
            mpfr_set_flt(y, b[k], MPFR_RNDN);
            exact(r, x, y, MPFR_RNDN);
            double e = ulps((double)out[k], r, 24, -149, FLT_MAX);
            worst = MAX(worst, e);
            if (e > bound)
                test_fail(__FILE__, __LINE__, "%s(%a, %a) is %a, not %a: %g ulp", name,
                          (double)a[k], (double)b[k], (double)out[k], mpfr_get_d(r, MPFR_RNDN), e);
        }
    }
    if (getenv("HEDDLE_MATH_VERBOSE"))
        printf("%-6s f32 %.3f ulp\n", name, worst);
    mpfr_clears(x, y, r, (mpfr_ptr)NULL);
}

static void emit_binary(SmallJit *j, const char *name,
                        LLVMValueRef (*emit)(LLVMBuilderRef, LLVMValueRef, LLVMValueRef))
{
    LLVMTypeRef t = vector(LLVMFloatTypeInContext(j->cx));
    small_begin(j, name);
    small_end(j, emit(j->b, small_load(j, 1, t), small_load(j, 2, t)));
}

static void check_binary_on(const char *cpu)
{
    SmallJit j;
    small_open(&j);
    emit_binary(&j, "pow", math_pow);
    emit_binary(&j, "atan2", math_atan2);
    REQUIRE(small_compile(&j, cpu));
    check_binary(small_lookup(&j, "pow"), "pow", mpfr_pow, true, 0.6);
    check_binary(small_lookup(&j, "atan2"), "atan2", mpfr_atan2, false, 2.0);
    small_close(&j);
}

TEST(binary_functions) { check_binary_on(NULL); }
TEST(binary_functions_without_fma) { check_binary_on("x86-64-v2"); }

static void emit_exponents(SmallJit *j, LLVMTypeRef t, const char *up, const char *down)
{
    LLVMTypeRef i32 = vector(LLVMInt32TypeInContext(j->cx));
    small_begin(j, up);
    small_end(j, math_ldexp(j->b, small_load(j, 1, t), small_load(j, 2, i32)));
    small_begin(j, down);
    LLVMValueRef e, m = math_frexp(j->b, small_load(j, 1, t), &e);
    LLVMSetAlignment(LLVMBuildStore(j->b, e, LLVMGetParam(j->fn, 2)), 1);
    small_end(j, m);
}

static const int32_t shifts[LANES] = { 0,    1,    -1,  127, 128, 300,       -126,      -149,
                                       -150, -300, 277, -24, 10,  INT32_MAX, INT32_MIN, 2000 };

TEST(exponents_of_float)
{
    SmallJit j;
    small_open(&j);
    emit_exponents(&j, vector(LLVMFloatTypeInContext(j.cx)), "up", "down");
    REQUIRE(small_compile(&j, NULL));
    SmallFn *up = small_lookup(&j, "up"), *down = small_lookup(&j, "down");
    REQUIRE(up && down);
    Rng rng = { 3 };
    for (int round = 0; round < 2000; round++) {
        float in[LANES], out[LANES];
        int32_t e[LANES];
        for (int k = 0; k < LANES; k++)
            in[k] = round == 0 ? -0.0f : round == 1 ? INFINITY : float_of((uint32_t)rng_u64(&rng));
        up(out, in, shifts);
        for (int k = 0; k < LANES; k++) {
            float want = ldexpf(in[k], shifts[k]);
            if (!isnan(want) && bits_of(out[k]) != bits_of(want))
                test_fail(__FILE__, __LINE__, "ldexp(%a, %d) is %a, not %a", (double)in[k],
                          shifts[k], (double)out[k], (double)want);
        }
        down(out, in, e);
        for (int k = 0; k < LANES; k++) {
            int want_e = 0;
            float want = frexpf(in[k], &want_e);
            if (isfinite(in[k]) && (bits_of(out[k]) != bits_of(want) || e[k] != want_e))
                test_fail(__FILE__, __LINE__, "frexp(%a) is %a, %d", (double)in[k], (double)out[k],
                          e[k]);
        }
    }
    small_close(&j);
}

TEST(exponents_of_double)
{
    SmallJit j;
    small_open(&j);
    emit_exponents(&j, vector(LLVMDoubleTypeInContext(j.cx)), "up", "down");
    REQUIRE(small_compile(&j, NULL));
    SmallFn *up = small_lookup(&j, "up"), *down = small_lookup(&j, "down");
    REQUIRE(up && down);
    Rng rng = { 5 };
    for (int round = 0; round < 2000; round++) {
        double in[LANES], out[LANES];
        int32_t e[LANES];
        for (int k = 0; k < LANES; k++) {
            uint64_t i = rng_u64(&rng);
            memcpy(&in[k], &i, 8);
        }
        up(out, in, shifts);
        for (int k = 0; k < LANES; k++)
            if (isfinite(in[k]) && memcmp(&out[k], &(double){ ldexp(in[k], shifts[k]) }, 8))
                test_fail(__FILE__, __LINE__, "ldexp(%a, %d) is %a", in[k], shifts[k], out[k]);
        down(out, in, e);
        for (int k = 0; k < LANES; k++) {
            int want_e = 0;
            double want = frexp(in[k], &want_e);
            if (isfinite(in[k]) && (out[k] != want || e[k] != want_e))
                test_fail(__FILE__, __LINE__, "frexp(%a) is %a, %d", in[k], out[k], e[k]);
        }
    }
    small_close(&j);
}

#endif
