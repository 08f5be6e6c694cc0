/* SPDX-License-Identifier: MIT
 *
 * Float functions of GLSL.std.450, and the remainders, on both devices: f16, f32 and f64, scalars
 * and vectors, edges, random bits and random values, against results computed far more exactly, by
 * MPFR where they are elementary. The bounds are inside what the Vulkan specification's precision
 * table allows ("Precision and Operation of SPIR-V Instructions"); the reference rounds once.
 *
 * One kernel a type and width has a call of every function. HEDDLE_MATH_VERBOSE prints the worst
 * error of each, HEDDLE_MATH_SAMPLES=n takes n samples of each (a multiple of 768; 1536 unless
 * told).
 */
#include "base/test.h"

#ifdef HEDDLE_HAVE_MPFR

#include "spirv/spirv.h"

#include <heddle/heddle.h>
#include <mpfr.h>
#include <stdlib.h>

typedef long double Wide;

typedef struct Format {
    const char *name, *vector;  /* GLSL's names */
    int bits, precision, least; /* least: exponent of the last bit of a denormal */
    double max;
} Format;
static const Format formats[] = {
    { "float16_t", "f16vec", 16, 11, -24, 65504 },
    { "float", "vec", 32, 24, -149, 0x1.fffffep127 },
    { "double", "dvec", 64, 53, -1074, 0x1.fffffffffffffp1023 },
};

/* ---- exact results -------------------------------------------------------------------------- */

/* *m: what errors are measured by where that is more than the result */

typedef int Mp1(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int Mp2(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef Wide Plain(const Wide *a, Wide *m);
typedef void Geometric(Wide *r, Wide *m, Wide a[3][4], int n);

#define PLAIN(name, expr)                                                                          \
    static Wide name(const Wide *a, Wide *m)                                                       \
    {                                                                                              \
        (void)m;                                                                                   \
        return expr;                                                                               \
    }
static const Wide pi = 3.14159265358979323846264338327950288L;
PLAIN(nearest, rintl(a[0]))
PLAIN(trunc_, truncl(a[0]))
PLAIN(abs_, fabsl(a[0]))
PLAIN(sign_, a[0] > 0 ? 1 : a[0] < 0 ? -1 : isnan(a[0]) ? 0 : a[0])
PLAIN(floor_, floorl(a[0]))
PLAIN(ceil_, ceill(a[0]))
PLAIN(fract_, a[0] - floorl(a[0]))
PLAIN(radians_, a[0] * (pi / 180))
PLAIN(degrees_, a[0] * (180 / pi))
PLAIN(min_, fminl(a[0], a[1]))
PLAIN(max_, fmaxl(a[0], a[1]))
PLAIN(clamp_, fminl(fmaxl(a[0], a[1]), a[2]))
PLAIN(mix_, (*m = fabsl(a[0] * (1 - a[2])) + fabsl(a[1] * a[2]), a[0] * (1 - a[2]) + a[1] * a[2]))
PLAIN(step_, a[1] < a[0] ? 0 : 1)
PLAIN(frem_, fmodl(a[0], a[1]))
static Wide fmod_(const Wide *a, Wide *m)
{
    Wide r = frem_(a, m);
    return r != 0 && (r < 0) != (a[1] < 0) ? r + a[1] : r;
}
static Wide smooth_step(const Wide *a, Wide *m)
{
    Wide t = (a[2] - a[0]) / (a[1] - a[0]);
    (void)m;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}
static Wide fused(const Wide *a, Wide *m)
{
    mpfr_t x[3];
    (void)m;
    for (int k = 0; k < 3; k++) {
        mpfr_init2(x[k], 64);
        mpfr_set_ld(x[k], a[k], MPFR_RNDN);
    }
    mpfr_fma(x[0], x[0], x[1], x[2], MPFR_RNDN);
    Wide r = mpfr_get_ld(x[0], MPFR_RNDN);
    for (int k = 0; k < 3; k++)
        mpfr_clear(x[k]);
    return r;
}

static Wide dot_of(const Wide *a, const Wide *b, int n, Wide *m)
{
    Wide s = 0;
    *m = 0;
    for (int k = 0; k < n; k++) {
        s += a[k] * b[k];
        *m += fabsl(a[k] * b[k]);
    }
    return s;
}
static void length_(Wide *r, Wide *m, Wide a[3][4], int n)
{
    r[0] = sqrtl(dot_of(a[0], a[0], n, m));
    m[0] = 0;
}
static void distance_(Wide *r, Wide *m, Wide a[3][4], int n)
{
    for (int k = 0; k < n; k++)
        a[0][k] -= a[1][k];
    length_(r, m, a, n);
}
static void normalize_(Wide *r, Wide *m, Wide a[3][4], int n)
{
    Wide l = sqrtl(dot_of(a[0], a[0], n, m));
    for (int k = 0; k < n; k++)
        r[k] = a[0][k] / l;
    *m = 0;
}
static void cross_(Wide *r, Wide *m, Wide a[3][4], int n)
{
    for (int k = 0; k < 3 && n == 3; k++) {
        int p = (k + 1) % 3, q = (k + 2) % 3;
        r[k] = a[0][p] * a[1][q] - a[0][q] * a[1][p];
        *m = fmaxl(*m, fabsl(a[0][p] * a[1][q]) + fabsl(a[0][q] * a[1][p]));
    }
}
static void face_forward(Wide *r, Wide *m, Wide a[3][4], int n)
{
    Wide s = dot_of(a[2], a[1], n, m);
    for (int k = 0; k < n; k++) /* so near to 0 that the sign hangs on rounding: not told */
        r[k] = fabsl(s) < *m * 0x1p-8L ? NAN : s < 0 ? a[0][k] : -a[0][k];
    *m = 0;
}
static void reflect_(Wide *r, Wide *m, Wide a[3][4], int n)
{
    Wide s = dot_of(a[1], a[0], n, m), most = 0;
    for (int k = 0; k < n; k++) {
        r[k] = a[0][k] - 2 * s * a[1][k];
        most = fmaxl(most, fabsl(a[0][k]) + fabsl(2 * *m * a[1][k]));
    }
    *m = most;
}

/* ---- the functions --------------------------------------------------------------------------- */

enum { NO_NAN = 1, ORDERED = 2 /* the last two, or the first two of three */, MILD = 4, CORE = 8,
       MULTIPLES = 16 };
typedef struct Function {
    const char *name;
    uint16_t number;
    uint8_t operands, flags;
    double lo, hi;              /* where most samples lie */
    double ulps[3];             /* allowed: f16, f32, f64 */
    Mp1 *mp1;
    Mp2 *mp2;
    Plain *plain;
    Geometric *geometric;
} Function;

/* IEEE 754 has 1/sqrt(-0) negative, MPFR positive. */
static int inverse_root(mpfr_t r, const mpfr_t x, mpfr_rnd_t rnd)
{
    int inexact = mpfr_rec_sqrt(r, x, rnd);
    if (mpfr_zero_p(x))
        mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
    return inexact;
}

#define EXACT { 0.5, 0.5, 0.5 }
#define F(name, n, flags, lo, hi, ...) #name, GLSLstd450##name, n, flags, lo, hi, __VA_ARGS__
static const Function functions[] = {
    { F(Round, 1, 0, -9, 9, EXACT), .plain = nearest },
    { F(RoundEven, 1, 0, -9, 9, EXACT), .plain = nearest },
    { F(Trunc, 1, 0, -9, 9, EXACT), .plain = trunc_ },
    { F(FAbs, 1, 0, -9, 9, EXACT), .plain = abs_ },
    { F(FSign, 1, 0, -9, 9, EXACT), .plain = sign_ },
    { F(Floor, 1, 0, -9, 9, EXACT), .plain = floor_ },
    { F(Ceil, 1, 0, -9, 9, EXACT), .plain = ceil_ },
    { F(Fract, 1, 0, -9, 9, { 1, 1, 1 }), .plain = fract_ },
    { F(Radians, 1, 0, -400, 400, { 1.5, 1.5, 1.5 }), .plain = radians_ },
    { F(Degrees, 1, 0, -7, 7, { 1.5, 1.5, 1.5 }), .plain = degrees_ },
    { F(Sin, 1, 0, -40, 40, { 0.51, 1.6, 1 }), .mp1 = mpfr_sin },
    { F(Cos, 1, 0, -40, 40, { 0.51, 1.6, 1 }), .mp1 = mpfr_cos },
    { F(Tan, 1, 0, -40, 40, { 0.51, 3.5, 1 }), .mp1 = mpfr_tan },
    { F(Asin, 1, 0, -1, 1, { 0.51, 2, 1 }), .mp1 = mpfr_asin },
    { F(Acos, 1, 0, -1, 1, { 0.51, 1.5, 1 }), .mp1 = mpfr_acos },
    { F(Atan, 1, 0, -4, 4, { 0.51, 1.5, 1 }), .mp1 = mpfr_atan },
    { F(Sinh, 1, 0, -4, 4, { 0.51, 2, 2 }), .mp1 = mpfr_sinh },
    { F(Cosh, 1, 0, -4, 4, { 0.51, 2, 2 }), .mp1 = mpfr_cosh },
    { F(Tanh, 1, 0, -4, 4, { 0.51, 2, 2 }), .mp1 = mpfr_tanh },
    { F(Asinh, 1, 0, -4, 4, { 0.51, 3, 2 }), .mp1 = mpfr_asinh },
    { F(Acosh, 1, 0, 1, 8, { 0.51, 3, 2 }), .mp1 = mpfr_acosh },
    { F(Atanh, 1, 0, -1, 1, { 0.51, 3, 2 }), .mp1 = mpfr_atanh },
    { F(Atan2, 2, 0, -4, 4, { 0.51, 2, 1 }), .mp2 = mpfr_atan2 },
    { F(Pow, 2, ORDERED, 0, 10, { 0.51, 0.6, 1 }), .mp2 = mpfr_pow },
    { F(Exp, 1, 0, -105, 90, { 0.51, 1, 1 }), .mp1 = mpfr_exp },
    { F(Log, 1, 0, 0, 4, { 0.51, 1, 1 }), .mp1 = mpfr_log },
    { F(Exp2, 1, 0, -151, 130, { 0.51, 1.2, 1 }), .mp1 = mpfr_exp2 },
    { F(Log2, 1, 0, 0, 4, { 0.51, 2, 1 }), .mp1 = mpfr_log2 },
    { F(Sqrt, 1, 0, 0, 4, { 0.501, 0.501, 0.501 }), .mp1 = mpfr_sqrt },
    { F(InverseSqrt, 1, 0, 0, 4, { 0.51, 1.5, 1.5 }), .mp1 = inverse_root },
    { F(FMin, 2, NO_NAN, -4, 4, EXACT), .plain = min_ },
    { F(FMax, 2, NO_NAN, -4, 4, EXACT), .plain = max_ },
    { F(NMin, 2, 0, -4, 4, EXACT), .plain = min_ },
    { F(NMax, 2, 0, -4, 4, EXACT), .plain = max_ },
    { F(FClamp, 3, NO_NAN | ORDERED, -4, 4, EXACT), .plain = clamp_ },
    { F(NClamp, 3, NO_NAN | ORDERED, -4, 4, EXACT), .plain = clamp_ },
    { F(FMix, 3, MILD, -4, 4, { 2, 2, 2 }), .plain = mix_ },
    { F(Step, 2, NO_NAN, -4, 4, EXACT), .plain = step_ },
    { F(SmoothStep, 3, MILD | ORDERED, -4, 4, { 6, 6, 6 }), .plain = smooth_step },
    { F(Fma, 3, 0, -4, 4, { 0.51, 0.501, 0.501 }), .plain = fused },
    { "OpFRem", 140, 2, CORE | MULTIPLES, -40, 40, EXACT, .plain = frem_ },
    { "OpFMod", 141, 2, CORE | MULTIPLES, -40, 40, { 1, 1, 1 }, .plain = fmod_ },
    { F(Length, 1, MILD, -4, 4, { 3, 3, 3 }), .geometric = length_ },
    { F(Distance, 2, MILD, -4, 4, { 4, 4, 4 }), .geometric = distance_ },
    { F(Normalize, 1, MILD, -4, 4, { 4, 4, 4 }), .geometric = normalize_ },
    { F(Cross, 2, MILD, -4, 4, { 2, 2, 2 }), .geometric = cross_ },
    { F(FaceForward, 3, MILD, -4, 4, EXACT), .geometric = face_forward },
    { F(Reflect, 2, MILD, -4, 4, { 4, 4, 4 }), .geometric = reflect_ },
};
enum { N_FUNCTIONS = COUNT_OF(functions) };

static bool has_scalar_result(const Function *f)
{
    return f->geometric == length_ || f->geometric == distance_;
}

/* ---- values in memory ------------------------------------------------------------------------ */

static double get(const Format *f, const void *p, size_t k)
{
    return f->bits == 16 ? f16_to_double(((const uint16_t *)p)[k])
         : f->bits == 32 ? (double)((const float *)p)[k] : ((const double *)p)[k];
}

static void put(const Format *f, void *p, size_t k, double x)
{
    if (f->bits == 16)
        ((uint16_t *)p)[k] = f16_from_double(x);
    else if (f->bits == 32)
        ((float *)p)[k] = (float)x;
    else
        ((double *)p)[k] = x;
}

static size_t bytes_of(const Format *f, size_t n) { return n * (size_t)f->bits / 8; }

/* ---- input ----------------------------------------------------------------------------------- */

static double edge(const Format *f, uint32_t k)
{
    double least = ldexp(1, f->least), normal = ldexp(1, f->least + f->precision - 1);
    const double edges[] = { 0, 1, 0.5, INFINITY, NAN, least, normal, normal - least, f->max, 1.5,
                             2.5, 3, ldexp(1, f->precision - 1), ldexp(1, f->precision) - 1,
                             ldexp(1, -f->precision), 0x1.921fb54442d18p0, 88, 10, 2, 0.75 };
    double x = edges[k / 2 % COUNT_OF(edges)];
    return k & 1 ? -x : x;
}

/* Edges come first, each with any. */
static double sample(const Format *f, const Function *fn, uint32_t k, int operand, Rng *rng)
{
    uint8_t raw[8];
    uint64_t bits = rng_u64(rng);
    double x = fn->lo + (fn->hi - fn->lo) * rng_uniform(rng);
    if (!(fn->flags & MILD) && k < (fn->operands > 1 ? 640 : 40))
        x = edge(f, operand ? (uint32_t)(bits >> 20) : k);
    else if (!(fn->flags & MILD) && k % 4 == 0) {
        memcpy(raw, &bits, 8);
        x = get(f, raw, 0);
    }
    return isnan(x) && fn->flags & NO_NAN ? 1 : x;
}

static void swap_if(const Format *f, void *p, void *q, size_t k, bool strictly)
{
    double x = get(f, p, k), y = get(f, q, k);
    if (x > y) {
        put(f, p, k, y);
        put(f, q, k, x);
    }
    if (strictly && x == y)
        put(f, q, k, x + 1);
}

static void fill(const Format *f, void *in[3], uint32_t n)
{
    for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
        const Function *fn = &functions[i];
        Rng rng = { i + 1 };
        for (uint32_t k = 0; k < n; k++) {
            size_t at = (size_t)i * n + k;
            for (int o = 0; o < fn->operands; o++)
                put(f, in[o], at, sample(f, fn, k, o, &rng));
            if (fn->mp2 == mpfr_pow)
                put(f, in[0], at, fabs(get(f, in[0], at)));
            else if (fn->flags & ORDERED)
                swap_if(f, in[fn->flags & MILD ? 0 : 1], in[fn->flags & MILD ? 1 : 2], at,
                        fn->flags & MILD);
            if (fn->flags & MULTIPLES && k % 2) { /* a little beside a multiple */
                double y = get(f, in[1], at), near = y * floor(rng_uniform(&rng) * 40);
                int e;
                frexp(near, &e);
                double aside = ldexp((double)(rng_u64(&rng) % 3) - 1, e - f->precision);
                put(f, in[0], at, near + aside);
            }
            if (fn->flags & MULTIPLES &&
                !(fabs(get(f, in[0], at) / get(f, in[1], at)) < ldexp(1, f->precision - 2)))
                put(f, in[1], at, INFINITY); /* the whole part must be exact */
        }
    }
}

/* ---- the oracle ------------------------------------------------------------------------------ */

static Wide by_mpfr(const Function *fn, const Wide *a)
{
    mpfr_t x, y, r;
    mpfr_inits2(64, x, y, r, (mpfr_ptr)NULL);
    mpfr_set_ld(x, a[0], MPFR_RNDN);
    mpfr_set_ld(y, fn->mp2 ? a[1] : 0, MPFR_RNDN);
    if (fn->mp1)
        fn->mp1(r, x, MPFR_RNDN);
    else
        fn->mp2(r, x, y, MPFR_RNDN);
    Wide result = mpfr_get_ld(r, MPFR_RNDN);
    mpfr_clears(x, y, r, (mpfr_ptr)NULL);
    return result;
}

/* |got - want| in units of want's last place. */
static double ulps(const Format *f, double got, Wide want, Wide m)
{
    int e;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(got) || fabsl(want) > (Wide)f->max)
        return fabs(got) >= f->max && !signbit(got) == !signbit(want) &&
               fabsl(want) >= f->max * (1 - ldexpl(1, -f->precision)) ? 0 : INFINITY;
    Wide scale = fmaxl(fabsl(want), m);
    frexpl(scale, &e);
    return (double)(fabsl((Wide)got - want) /
                    ldexpl(1, scale != 0 ? MAX(e - f->precision, f->least) : f->least));
}

/* Of function i, what n inputs taken as vectors give. */
static void exact_of(const Format *f, uint32_t i, void *in[3], uint32_t n, uint32_t width,
                     Wide *want, Wide *m)
{
    const Function *fn = &functions[i];
    memset(m, 0, n * sizeof *m);
    for (uint32_t k = 0; k < n; k += fn->geometric ? width : 1) {
        Wide a[3][4] = { { 0 } }, x[3] = { 0 }, scale = 0;
        for (uint32_t o = 0; o < fn->operands; o++)
            for (uint32_t c = 0; c < (fn->geometric ? width : 1); c++)
                a[o][c] = get(f, in[o], (size_t)i * n + k + c);
        for (uint32_t o = 0; o < 3; o++)
            x[o] = a[o][0];
        if (!fn->geometric) {
            want[k] = fn->plain ? fn->plain(x, &m[k]) : by_mpfr(fn, x);
            continue;
        }
        fn->geometric(&want[k], &scale, a, (int)width);
        for (uint32_t c = 0; c < width; c++) {
            m[k + c] = scale;
            want[k + c] = has_scalar_result(fn) ? want[k] : want[k + c];
        }
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool takes(const Function *fn, uint32_t width)
{
    return !fn->geometric || (fn->geometric == cross_ ? width == 3 : width > 1);
}

static void write_kernel(const Format *f, uint32_t width, uint32_t n, char *text, size_t size)
{
    size_t at = 0;
    char vector[16];
    snprintf(vector, sizeof vector, "%s%.0u", width > 1 ? f->vector : f->name,
             width > 1 ? width : 0);
#define ADD(...) at += (size_t)snprintf(text + at, size - at, __VA_ARGS__)
    ADD("#version 460\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
        "#extension GL_EXT_shader_16bit_storage : require\n"
        "#extension GL_EXT_spirv_intrinsics : require\n"
        "#extension GL_EXT_scalar_block_layout : require\nlayout(local_size_x = 64) in;\n");
    for (uint32_t b = 0; b < 4; b++)
        ADD("layout(scalar, set = 0, binding = %u) buffer B%u { %s %c[]; };\n", b, b, vector,
            "xyzr"[b]);
    for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
        const Function *fn = &functions[i];
        if (takes(fn, width))
            ADD("spirv_instruction(%sid = %u) %s f%u(%s a%s%s%s%s);\n",
                fn->flags & CORE ? "" : "set = \"GLSL.std.450\", ", fn->number,
                has_scalar_result(fn) ? f->name : vector, i, vector,
                fn->operands > 1 ? ", " : "", fn->operands > 1 ? vector : "",
                fn->operands > 2 ? " b, " : fn->operands > 1 ? " b" : "",
                fn->operands > 2 ? vector : "");
    }
    ADD("void main()\n{\n    uint i = gl_GlobalInvocationID.x;\n");
    for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
        static const char *const arguments[] = { "x[k]", "x[k], y[k]", "x[k], y[k], z[k]" };
        if (takes(&functions[i], width))
            ADD("    { uint k = i + %u; r[k] = %s(f%u(%s)); }\n", i * n / width, vector, i,
                arguments[functions[i].operands - 1]);
    }
    ADD("}\n");
#undef ADD
}

static bool run(HeddleDevice *d, const char *text, void *data[4], size_t size, uint32_t groups,
                HeddleLog *log)
{
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleBuffer *b[4] = { NULL };
    HeddleBinding bindings[4];
    bool good = heddle_module_new(text, strlen(text), "precision.comp", NULL, &m, log) == HEDDLE_OK
                && heddle_kernel_new(d, m, NULL, &k, log) == HEDDLE_OK;
    for (uint32_t i = 0; i < 4; i++) {
        good = good && heddle_buffer_wrap(d, data[i], size, &b[i], log) == HEDDLE_OK;
        bindings[i] = (HeddleBinding){ .binding = i, .buffer = b[i] };
    }
    HeddleDispatch dispatch = { .groups = { groups, 1, 1 }, .bindings = bindings,
                                .n_bindings = 4 };
    good = good && heddle_dispatch(k, &dispatch, NULL, log) == HEDDLE_OK;
    for (uint32_t i = 0; i < 4; i++)
        heddle_buffer_free(b[i]);
    heddle_kernel_free(k);
    heddle_module_free(m);
    return good;
}

/* The interpreter rounds once; of doubles, libclc's functions are cuda's. */
static double bound_of(const Function *fn, const Format *f, const HeddleDeviceInfo *device)
{
    double bound = fn->ulps[f - formats];
    bool once = !fn->geometric && fn->plain != fract_; /* which is kept below 1 */
    if (device->kind == HEDDLE_DEVICE_REFERENCE && once)
        return 0.501;
    bool libclc = device->kind == HEDDLE_DEVICE_CUDA && f->bits == 64 && bound >= 1;
    return libclc ? 1.5 * bound : bound;
}

static void compare(const Format *f, const HeddleDeviceInfo *device, uint32_t width, uint32_t i,
                    void *data[4], uint32_t n, const Wide *want, const Wide *m)
{
    const Function *fn = &functions[i];
    const char *kind = heddle_device_kind_name(device->kind);
    double bound = bound_of(fn, f, device), worst = 0;
    for (uint32_t k = 0; k < n; k++) {
        size_t at = (size_t)i * n + k;
        double got = get(f, data[3], at), e = ulps(f, got, want[k], m[k]);
        if (fn->geometric == face_forward && isnan(want[k]))
            continue;
        worst = fmax(worst, e);
        if (e > bound)
            test_fail(__FILE__, __LINE__, "%s(%a, %a, %a) of %s%u on %s is %a, not %La: %g ulps",
                      fn->name, get(f, data[0], at), get(f, data[1], at), get(f, data[2], at),
                      f->name, width, kind, got, want[k], e);
    }
    if (getenv("HEDDLE_MATH_VERBOSE"))
        printf("%-12s %s%u %-9s %.4f ulp\n", fn->name, f->name, width, kind, worst);
}

static void check_format(const Format *f, HeddleDevice *devices[2], HeddleLog *log)
{
    static char text[32768];
    const char *s = getenv("HEDDLE_MATH_SAMPLES");
    uint32_t n = s ? (uint32_t)strtoul(s, NULL, 0) / 768 * 768 : 1536;
    size_t size = align_up(bytes_of(f, (size_t)n * N_FUNCTIONS), 64);
    void *data[4];
    Wide *want = malloc(n * N_FUNCTIONS * sizeof *want);
    Wide *m = malloc(n * N_FUNCTIONS * sizeof *m);
    for (int b = 0; b < 4; b++)
        data[b] = aligned_alloc(64, size);
    memset(data[1], 0, size);
    memset(data[2], 0, size);
    fill(f, data, n);
    for (uint32_t width = 1; width <= 4; width++) {
        write_kernel(f, width, n, text, sizeof text);
        for (uint32_t i = 0; i < N_FUNCTIONS; i++)
            if (width == 1 || functions[i].geometric)
                exact_of(f, i, data, n, width, want + (size_t)i * n, m + (size_t)i * n);
        for (int d = 0; d < 2; d++) {
            const HeddleDeviceInfo *info = heddle_device_info(devices[d]);
            if (!run(devices[d], text, data, size, n / width / 64, log)) {
                test_fail(__FILE__, __LINE__, "%s%u fails on %s", f->name, width, info->name);
                continue;
            }
            for (uint32_t i = 0; i < N_FUNCTIONS; i++)
                if (takes(&functions[i], width))
                    compare(f, info, width, i, data, n, want + (size_t)i * n, m + (size_t)i * n);
        }
    }
    for (int b = 0; b < 4; b++)
        free(data[b]);
    free(want);
    free(m);
}

TEST(functions_are_as_exact_as_told)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_REFERENCE };
    HeddleDevice *devices[2];
    REQUIRE(heddle_device_new(NULL, &devices[0], log) == HEDDLE_OK);
    REQUIRE(heddle_device_new(&o, &devices[1], log) == HEDDLE_OK);
    for (uint32_t k = 0; k < COUNT_OF(formats); k++)
        check_format(&formats[k], devices, log);
    heddle_device_free(devices[0]);
    heddle_device_free(devices[1]);
    heddle_log_free(log);
}

#endif
