/* SPDX-License-Identifier: MIT
 *
 * arith.c and convert.c where no kernel of tests/ops reaches: division by zero and poison that must
 * not trap, directed rounding, saturation. The oracle is the machine's own rounding mode and plain
 * C.
 */
#include "base/test.h"
#include "llvm/arith.h"
#include "jit_small.h"

#include <fenv.h>
#include <float.h>

enum { LANES = 16, ROUNDS = 4000 };

static LLVMTypeRef vector(LLVMTypeRef t) { return LLVMVectorType(t, LANES); }

static uint64_t random_bits(Rng *r, unsigned width)
{
    static const uint64_t edges[] = { 0,
                                      1,
                                      2,
                                      0x7f,
                                      0x80,
                                      0xff,
                                      0x7fff,
                                      0x8000,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      INT64_MAX,
                                      (uint64_t)INT64_MIN,
                                      UINT64_MAX,
                                      0x7f800000,
                                      0x7ff0000000000000 };
    uint64_t x = rng_u64(r);
    uint64_t v = x >> 61 == 0 ? edges[x % COUNT_OF(edges)] : rng_u64(r) >> (x % 60);
    return width < 64 ? v & ((UINT64_C(1) << width) - 1) : v;
}

/* ---- division -------------------------------------------------------------------------------- */

typedef LLVMValueRef Binary(LLVMBuilderRef, LLVMValueRef, LLVMValueRef);

static const struct { const char *name; Binary *fn; } divisions[] = {
    { "udiv", arith_udiv }, { "sdiv", arith_sdiv }, { "umod", arith_umod }, { "srem", arith_srem },
    { "smod", arith_smod },
};

static int64_t sign_extend(uint64_t x, unsigned w) { return (int64_t)(x << (64 - w)) >> (64 - w); }

static int64_t divided(uint32_t which, uint64_t ux, uint64_t uy, unsigned w)
{
    int64_t x = sign_extend(ux, w), y = sign_extend(uy, w), r;
    switch (which) {
    case 0: return (int64_t)(ux / uy);
    case 1: return x / y;
    case 2: return (int64_t)(ux % uy);
    case 3: return x % y;
    default:
        r = x % y;
        return r && (r < 0) != (y < 0) ? r + y : r;
    }
}

/* Every width, vectors and scalars. Nothing may trap; what is defined must be right. */
TEST(division)
{
    static const unsigned widths[] = { 8, 16, 32, 64 };
    SmallJit j;
    char name[32];
    small_open(&j);
    for (uint32_t d = 0; d < COUNT_OF(divisions); d++)
        for (uint32_t w = 0; w < COUNT_OF(widths); w++)
            for (int scalar = 0; scalar < 2; scalar++) {
                LLVMTypeRef t = LLVMIntTypeInContext(j.cx, widths[w]);
                snprintf(name, sizeof name, "%s%u.%d", divisions[d].name, widths[w], scalar);
                small_begin(&j, name);
                t = scalar ? t : vector(t);
                small_end(&j, divisions[d].fn(j.b, small_load(&j, 1, t), small_load(&j, 2, t)));
            }
    REQUIRE(small_compile(&j, NULL));
    Rng r = { 1 };
    for (uint32_t d = 0; d < COUNT_OF(divisions); d++)
        for (uint32_t w = 0; w < COUNT_OF(widths); w++)
            for (int scalar = 0; scalar < 2; scalar++) {
                unsigned width = widths[w], bytes = width / 8, n = scalar ? 1 : LANES;
                snprintf(name, sizeof name, "%s%u.%d", divisions[d].name, width, scalar);
                SmallFn *f = small_lookup(&j, name);
                for (int round = 0; f && round < ROUNDS / 10; round++) {
                    uint8_t x[LANES * 8], y[LANES * 8], out[LANES * 8];
                    for (unsigned k = 0; k < n; k++) {
                        memcpy(x + k * bytes, &(uint64_t){ random_bits(&r, width) }, bytes);
                        memcpy(y + k * bytes, &(uint64_t){ random_bits(&r, width) }, bytes);
                    }
                    f(out, x, y);
                    for (unsigned k = 0; k < n; k++) {
                        uint64_t a = 0, b = 0, got = 0;
                        memcpy(&a, x + k * bytes, bytes);
                        memcpy(&b, y + k * bytes, bytes);
                        memcpy(&got, out + k * bytes, bytes);
                        if (!b || (d % 2 + d / 4 && sign_extend(b, width) == -1))
                            continue;
                        uint64_t want = (uint64_t)divided(d, a, b, width);
                        if ((want ^ got) << (64 - width))
                            test_fail(__FILE__, __LINE__, "%s(%llx, %llx) is %llx", name,
                                      (unsigned long long)a, (unsigned long long)b,
                                      (unsigned long long)got);
                    }
                }
            }
    small_close(&j);
}

/* ---- rounding towards zero ------------------------------------------------------------------- */

enum { EDGES = 12 };

static double random_double(Rng *r)
{
    static const double edges[EDGES] = { 0, 0x1p-1074, 0x1p-1022, 0x1.8p-1023, 0x1p-540, 0.75, 1,
                                         1.25, 0x1p540, 0x1p1023, DBL_MAX, INFINITY };
    uint64_t bits =
        rng_u64(r) % 4 ? rng_u64(r) >> 3 | UINT64_C(0x3000000000000000) : random_bits(r, 64);
    double x;
    memcpy(&x, &bits, 8);
    switch (rng_u64(r) % 8) {
    case 0: return copysign(edges[rng_u64(r) % EDGES], x);
    case 1: return ldexp(x, (int)(rng_u64(r) % 2200) - 1100);
    default: return x;
    }
}

static float random_float(Rng *r)
{
    static const float edges[EDGES] = { 0, 0x1p-149f, 0x1p-126f, 0x1.8p-127f, 0x1p-70f, 0.75f, 1,
                                        1.25f, 0x1p70f, 0x1p127f, FLT_MAX, INFINITY };
    uint32_t bits = (uint32_t)rng_u64(r);
    float x;
    memcpy(&x, &bits, 4);
    return rng_u64(r) % 4 ? x : copysignf(edges[rng_u64(r) % EDGES], x);
}

/* Of floats, two roundings to zero are one. */
static double towards_zero(LLVMOpcode op, bool wide, volatile double x, volatile double y)
{
    fesetround(FE_TOWARDZERO);
    volatile double r = op == LLVMFAdd   ? x + y
                        : op == LLVMFSub ? x - y
                        : op == LLVMFMul ? x * y
                                         : x / y;
    volatile float narrow = (float)r;
    fesetround(FE_TONEAREST);
    return wide ? r : (double)narrow;
}

TEST(arithmetic_towards_zero)
{
    static const LLVMOpcode ops[] = { LLVMFAdd, LLVMFSub, LLVMFMul, LLVMFDiv };
    SmallJit j;
    char name[16];
    small_open(&j);
    for (uint32_t k = 0; k < 2 * COUNT_OF(ops); k++) {
        LLVMTypeRef t = k % 2 ? LLVMDoubleTypeInContext(j.cx) : LLVMFloatTypeInContext(j.cx);
        t = vector(t);
        snprintf(name, sizeof name, "op%u", k);
        small_begin(&j, name);
        small_end(&j,
                  arith_towards_zero(j.b, ops[k / 2], small_load(&j, 1, t), small_load(&j, 2, t)));
    }
    REQUIRE(small_compile(&j, NULL));
    Rng r = { 2 };
    for (uint32_t k = 0; k < 2 * COUNT_OF(ops); k++) {
        snprintf(name, sizeof name, "op%u", k);
        SmallFn *f = small_lookup(&j, name);
        for (int round = 0; f && round < 4 * ROUNDS; round++) {
            union { double d[LANES]; float f[LANES]; } in[2], out;
            double x[2 * LANES];
            for (int l = 0; l < 2 * LANES; l++)
                if (k % 2)
                    x[l] = in[l / LANES].d[l % LANES] = random_double(&r);
                else
                    x[l] = (double)(in[l / LANES].f[l % LANES] = random_float(&r));
            f(&out, &in[0], &in[1]);
            for (int l = 0; l < LANES; l++) {
                double want = towards_zero(ops[k / 2], k % 2, x[l], x[l + LANES]);
                double got = k % 2 ? out.d[l] : (double)out.f[l];
                if (memcmp(&got, &want, sizeof got) && !(isnan(got) && isnan(want)))
                    test_fail(__FILE__, __LINE__, "op %u on %a, %a is %a, not %a", k, x[l],
                              x[l + LANES], got, want);
            }
        }
    }
    small_close(&j);
}

/* ---- conversions ----------------------------------------------------------------------------- */

static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD };

/* x rounded into the format, as a double: the oracle for every target. */
static double rounded(double x, IrComp to, IrRounding mode)
{
    volatile double v = x;
    double near = to == COMP_F16 ? f16_to_double(f16_from_double(x)) : to == COMP_BF16
                ? bf16_to_double(bf16_from_double(x)) : (double)(float)v;
    if (mode == ROUND_NEAREST || isnan(x) || near == x)
        return near;
    bool down = mode == ROUND_DOWN || (mode == ROUND_ZERO && x > 0);
    if (down ? near < x : near > x)
        return near;
    if (to == COMP_F32) {
        fesetround(modes[mode]);
        volatile float f = (float)v;
        fesetround(FE_TONEAREST);
        return (double)f;
    }
    /* the neighbour on the other side: what is nearest to a little less (more) than `near` */
    double least = to == COMP_F16 ? 0x1p-24 : 0x1p-133;
    if (near == 0)
        return down ? -least : least;
    double unit = fmax(ldexp(1, ilogb(isinf(near) ? x : near) - (to == COMP_F16 ? 11 : 8)),
                       to == COMP_F16 ? 0x1p-25 : 0x1p-134);
    double largest = to == COMP_F16 ? 65504 : 0x1.fep127;
    if (isinf(near))
        return near > 0 ? largest : -largest;
    double aside = near + (down ? -1.01 : 1.01) * unit;
    if (fabs(aside) > largest)
        return aside > 0 ? INFINITY : -INFINITY;
    return to == COMP_F16 ? f16_to_double(f16_from_double(aside))
                          : bf16_to_double(bf16_from_double(aside));
}

static double element(const uint8_t *p, IrComp c)
{
    uint64_t bits = 0;
    memcpy(&bits, p, comp_bytes(c));
    float f;
    double d;
    switch (c) {
    case COMP_F16: return f16_to_double((uint16_t)bits);
    case COMP_BF16: return bf16_to_double((uint16_t)bits);
    case COMP_F32: memcpy(&f, p, 4); return (double)f;
    case COMP_F64: memcpy(&d, p, 8); return d;
    default: return comp_is_signed(c) ? (double)sign_extend(bits, comp_bytes(c) * 8) : (double)bits;
    }
}

static const struct { IrComp from, to;
} narrowings[] = {
    { COMP_F32, COMP_F16 },  { COMP_F32, COMP_BF16 }, { COMP_F64, COMP_F16 },
    { COMP_F64, COMP_BF16 }, { COMP_F64, COMP_F32 },  { COMP_S32, COMP_F32 },
    { COMP_U32, COMP_F32 },  { COMP_S32, COMP_F16 },  { COMP_U32, COMP_BF16 },
    { COMP_S16, COMP_F16 },
};

TEST(directed_rounding)
{
    SmallJit j;
    char name[32];
    small_open(&j);
    for (uint32_t c = 0; c < COUNT_OF(narrowings); c++)
        for (int mode = 0; mode < 4; mode++) {
            snprintf(name, sizeof name, "c%u.%d", c, mode);
            small_begin(&j, name);
            LLVMValueRef x = small_load(&j, 1, vector(comp_type(j.cx, narrowings[c].from)));
            small_end(&j, arith_convert(j.b, x, narrowings[c].from, narrowings[c].to,
                                        (IrRounding)mode, false));
        }
    REQUIRE(small_compile(&j, NULL));
    Rng r = { 3 };
    for (uint32_t c = 0; c < COUNT_OF(narrowings); c++)
        for (int mode = 0; mode < 4; mode++) {
            IrComp from = narrowings[c].from, to = narrowings[c].to;
            snprintf(name, sizeof name, "c%u.%d", c, mode);
            SmallFn *f = small_lookup(&j, name);
            for (int round = 0; f && round < ROUNDS / 10; round++) {
                uint8_t in[LANES * 8], out[LANES * 8];
                for (uint32_t l = 0; l < LANES; l++) {
                    double x = rng_normal(&r) * ldexp(1, (int)(rng_u64(&r) % 60) - 40);
                    if (from == COMP_F64)
                        memcpy(in + l * 8, &x, 8);
                    else if (from == COMP_F32)
                        memcpy(in + l * 4, &(float){ (float)x }, 4);
                    else
                        memcpy(in + l * comp_bytes(from), &(uint64_t){ random_bits(&r, 32) },
                               comp_bytes(from));
                }
                f(out, in, in);
                for (uint32_t l = 0; l < LANES; l++) {
                    double x = element(in + l * comp_bytes(from), from),
                           got = element(out + l * comp_bytes(to), to);
                    double want = rounded(x, to, (IrRounding)mode);
                    if (got != want && !(isnan(got) && isnan(want)))
                        test_fail(__FILE__, __LINE__, "%s to %s, mode %d: %a is %a, not %a",
                                  comp_name(from), comp_name(to), mode, x, got, want);
                }
            }
        }
    small_close(&j);
}

/* 64-bit integers into float formats, against C's conversions; and saturation between integers and
 * fp8. */
TEST(wide_integers_and_saturation)
{
    SmallJit j;
    char name[32];
    small_open(&j);
    LLVMTypeRef i64 = vector(LLVMInt64TypeInContext(j.cx)),
                f32 = vector(LLVMFloatTypeInContext(j.cx));
    for (int mode = 0; mode < 4; mode++)
        for (int k = 0; k < 4; k++) {
            snprintf(name, sizeof name, "m%d.%d", mode, k);
            small_begin(&j, name);
            small_end(&j, arith_convert(j.b, small_load(&j, 1, i64), k & 1 ? COMP_U64 : COMP_S64,
                                        k & 2 ? COMP_F64 : COMP_F32, (IrRounding)mode, false));
        }
    small_begin(&j, "s64_u8");
    small_end(&j,
              arith_convert(j.b, small_load(&j, 1, i64), COMP_S64, COMP_U8, ROUND_NEAREST, true));
    small_begin(&j, "u64_s16");
    small_end(&j,
              arith_convert(j.b, small_load(&j, 1, i64), COMP_U64, COMP_S16, ROUND_NEAREST, true));
    small_begin(&j, "f32_s8");
    small_end(&j,
              arith_convert(j.b, small_load(&j, 1, f32), COMP_F32, COMP_S8, ROUND_NEAREST, true));
    small_begin(&j, "f32_e4m3");
    small_end(&j,
              arith_convert(j.b, small_load(&j, 1, f32), COMP_F32, COMP_E4M3, ROUND_NEAREST, true));
    REQUIRE(small_compile(&j, NULL));
    Rng r = { 4 };
    for (int round = 0; round < ROUNDS / 10; round++) {
        uint64_t in[LANES];
        float narrow[LANES], floats[LANES];
        double wide[LANES];
        uint8_t bytes[LANES];
        int8_t small[LANES];
        int16_t shorts[LANES];
        for (int l = 0; l < LANES; l++) {
            /* some a little beside a power of two */
            in[l] = l % 4 ? random_bits(&r, 64)
                          : UINT64_C(1) << rng_u64(&r) % 64 | rng_u64(&r) % 2;
            floats[l] = (float)(rng_normal(&r) * 300);
        }
        for (int mode = 0; mode < 4; mode++) {
            for (int k = 0; k < 4; k++) {
                snprintf(name, sizeof name, "m%d.%d", mode, k);
                SmallFn *f = small_lookup(&j, name);
                REQUIRE(f);
                f(k & 2 ? (void *)wide : narrow, in, in);
                for (int l = 0; l < LANES; l++) {
                    volatile int64_t s = (int64_t)in[l];
                    volatile uint64_t u = in[l];
                    fesetround(modes[mode]);
                    volatile double d = k & 1 ? (double)u : (double)s;
                    volatile float g = k & 1 ? (float)u : (float)s;
                    fesetround(FE_TONEAREST);
                    if (k & 2 ? wide[l] != d : narrow[l] != g)
                        test_fail(__FILE__, __LINE__, "%s: %llx", name, (unsigned long long)u);
                }
            }
        }
        small_lookup(&j, "s64_u8")(bytes, in, in);
        small_lookup(&j, "u64_s16")(shorts, in, in);
        small_lookup(&j, "f32_s8")(small, floats, floats);
        for (int l = 0; l < LANES; l++) {
            int64_t s = (int64_t)in[l];
            CHECK_EQ_U64(bytes[l], s < 0 ? 0 : s > 255 ? 255 : (uint64_t)s);
            CHECK_EQ_U64(shorts[l], in[l] > 32767 ? 32767 : in[l]);
            CHECK(small[l] == (int8_t)fmin(fmax(trunc((double)floats[l]), -128), 127));
        }
        small_lookup(&j, "f32_e4m3")(bytes, floats, floats);
        for (int l = 0; l < LANES; l++)
            CHECK_EQ_U64(bytes[l], e4m3_from_double(fmin(fmax((double)floats[l], -448), 448)));
    }
    small_close(&j);
}

/* ---- 8-bit floats ---------------------------------------------------------------------------- */

static double small_to_double(IrComp c, uint8_t code)
{
    return c == COMP_E4M3 ? e4m3_to_double(code) : e5m2_to_double(code);
}

static uint8_t small_from_double(IrComp c, double x, bool saturate)
{
    double largest = c == COMP_E4M3 ? 448 : 57344;
    if (saturate && fabs(x) > largest)
        x = copysign(largest, x);
    return c == COMP_E4M3 ? e4m3_from_double(x) : e5m2_from_double(x);
}

static bool same_float(float got, double want)
{
    return isnan(want) ? isnan(got) != 0
                       : (double)got == want && signbit(got) == signbit((float)want);
}

static void check_widened(SmallJit *j, const char *name, IrComp c)
{
    SmallFn *f = small_lookup(j, name);
    REQUIRE(f);
    for (uint32_t code = 0; code < 256; code += LANES) {
        uint8_t in[LANES];
        float out[LANES];
        for (uint32_t l = 0; l < LANES; l++)
            in[l] = (uint8_t)(code + l);
        f(out, in, in);
        for (uint32_t l = 0; l < LANES; l++)
            if (!same_float(out[l], small_to_double(c, in[l])))
                test_fail(__FILE__, __LINE__, "%s: %x is %a", name, in[l], (double)out[l]);
    }
}

/* At or between two neighbours of the format, between the last and what overflows, or anything. */
static float beside_small(Rng *r, IrComp c)
{
    uint8_t code = (uint8_t)rng_u64(r);
    double x = small_to_double(c, code), y = small_to_double(c, (uint8_t)(code + 1));
    double edge = c == COMP_E4M3 ? 464 : 61440, middle = rng_u64(r) % 4 ? (x + y) / 2 : edge;
    double at[] = { x, y, middle, middle * (1 + 0x1p-20), middle * (1 - 0x1p-20) };
    return rng_u64(r) % 4 ? (float)at[rng_u64(r) % COUNT_OF(at)] : random_float(r);
}

static void check_narrowed(SmallJit *j, const char *narrow, const char *round, IrComp c,
                           bool saturate)
{
    SmallFn *f = small_lookup(j, narrow), *g = small_lookup(j, round);
    REQUIRE(f && g);
    Rng r = { 5 };
    for (int k = 0; k < 4 * ROUNDS; k++) {
        float in[LANES], out[LANES];
        uint8_t codes[LANES];
        for (uint32_t l = 0; l < LANES; l++)
            in[l] = beside_small(&r, c);
        f(codes, in, in);
        g(out, in, in);
        for (uint32_t l = 0; l < LANES; l++) {
            uint8_t want = small_from_double(c, (double)in[l], saturate);
            double value = small_to_double(c, want), got = small_to_double(c, codes[l]);
            if (isnan(value) ? !isnan(got) : codes[l] != want)
                test_fail(__FILE__, __LINE__, "%s: %a is %x, not %x", narrow, (double)in[l],
                          codes[l], want);
            if (!same_float(out[l], value))
                test_fail(__FILE__, __LINE__, "%s: %a is %a, not %a", round, (double)in[l],
                          (double)out[l], value);
        }
    }
}

TEST(small_floats)
{
    static const IrComp comps[] = { COMP_E4M3, COMP_E5M2 };
    SmallJit j;
    char name[2][32];
    small_open(&j);
    LLVMTypeRef bytes = vector(LLVMInt8TypeInContext(j.cx)),
                floats = vector(LLVMFloatTypeInContext(j.cx));
    for (uint32_t k = 0; k < COUNT_OF(comps); k++) {
        IrComp c = comps[k];
        snprintf(name[0], sizeof name[0], "widen %s", comp_name(c));
        snprintf(name[1], sizeof name[1], "by half %s", comp_name(c));
        small_begin(&j, name[0]);
        small_end(&j, arith_convert(j.b, small_load(&j, 1, bytes), c, COMP_F32, ROUND_NEAREST,
                                    false));
        small_begin(&j, name[1]);
        small_end(&j, arith_widen_by_half(j.b, small_load(&j, 1, bytes), c));
        for (int saturate = 0; saturate < 2; saturate++) {
            snprintf(name[0], sizeof name[0], "narrow %s %d", comp_name(c), saturate);
            snprintf(name[1], sizeof name[1], "round %s %d", comp_name(c), saturate);
            small_begin(&j, name[0]);
            small_end(&j, arith_convert(j.b, small_load(&j, 1, floats), COMP_F32, c, ROUND_NEAREST,
                                        saturate));
            small_begin(&j, name[1]);
            small_end(&j, arith_round_small(j.b, small_load(&j, 1, floats), c, saturate));
        }
    }
    REQUIRE(small_compile(&j, NULL));
    for (uint32_t k = 0; k < COUNT_OF(comps); k++) {
        IrComp c = comps[k];
        snprintf(name[0], sizeof name[0], "widen %s", comp_name(c));
        snprintf(name[1], sizeof name[1], "by half %s", comp_name(c));
        check_widened(&j, name[0], c);
        check_widened(&j, name[1], c);
        for (int saturate = 0; saturate < 2; saturate++) {
            snprintf(name[0], sizeof name[0], "narrow %s %d", comp_name(c), saturate);
            snprintf(name[1], sizeof name[1], "round %s %d", comp_name(c), saturate);
            check_narrowed(&j, name[0], name[1], c, saturate);
        }
    }
    small_close(&j);
}
