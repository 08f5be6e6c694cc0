/* SPDX-License-Identifier: MIT
 *
 * Texels against what their format's name says, in double: every texel of up to 16 bits, and many
 * of the longer ones.
 */
#include "base/image.h"
#include "base/test.h"

#include <ctype.h>
#include <math.h>

typedef struct Name {
    const char *text;
    uint32_t number;
} Name;
static const Name names[] = {
#define TEXEL(name, number, ...) { #name, number },
#include "base/texel.def"
};

typedef struct Part {
    char component;
    uint32_t bits, shift;
} Part;
typedef struct Parsed {
    Part parts[4];
    int n;
    const char *kind;
    uint32_t total, bytes;
    bool packed;
} Parsed;

/* "A2B10G10R10_UNORM_PACK32": packed formats name their highest bits first, others their first
 * bytes. */
static Parsed parse(const char *text)
{
    Parsed p = { .packed = strstr(text, "_PACK") != NULL };
    if (!strncmp(text, "X8_", 3)) /* bits that are nothing */
        text += 3;
    while (*text != '_') {
        Part *part = &p.parts[p.n++];
        part->component = *text++;
        while (isdigit((unsigned char)*text))
            part->bits = part->bits * 10 + (uint32_t)(*text++ - '0');
        p.total += part->bits;
    }
    p.kind = text + 1;
    p.bytes = p.total == 24 && p.packed ? 4 : p.total / 8;
    uint32_t at = 0;
    for (int k = 0; k < p.n; k++) {
        p.parts[k].shift = p.packed ? p.total - at - p.parts[k].bits : at;
        at += p.parts[k].bits;
    }
    return p;
}

static bool is(const Parsed *p, const char *kind) { return !strncmp(p->kind, kind, strlen(kind)); }

static double small_float(uint64_t x, uint32_t mantissa, bool has_sign)
{
    uint64_t fraction = x & ((1u << mantissa) - 1), exponent = x >> mantissa & 31;
    double sign = has_sign && x >> (mantissa + 5) ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    if (!exponent)
        return sign * (double)fraction / (double)(1u << mantissa) * exp2(-14);
    return sign * (1 + (double)fraction / (double)(1u << mantissa)) * exp2((double)exponent - 15);
}

static double number_of(const Parsed *p, const Part *c, uint64_t x)
{
    double most = exp2(c->bits) - 1, half = exp2(c->bits - 1.0);
    double two = x >= half ? (double)x - 2 * half : (double)x;
    if (is(p, "UNORM") || (is(p, "SRGB") && c->component == 'A'))
        return (double)x / most;
    if (is(p, "SRGB"))
        return x / most <= 0.04045 ? x / most / 12.92 : pow((x / most + 0.055) / 1.055, 2.4);
    if (is(p, "SNORM"))
        return two < 1 - half ? -1 : two / (half - 1);
    if (is(p, "USCALED") || is(p, "UINT"))
        return (double)x;
    if (is(p, "SSCALED") || is(p, "SINT"))
        return two;
    if (is(p, "SFLOAT") && c->bits == 32) {
        uint32_t word = (uint32_t)x;
        float f;
        memcpy(&f, &word, 4);
        return f;
    }
    return is(p, "SFLOAT") ? small_float(x, 10, true) : small_float(x, c->bits - 5, false);
}

static uint64_t field(const uint8_t *texel, const Part *c)
{
    uint64_t x = 0;
    for (uint32_t k = 0; k < c->bits; k++)
        x |= (uint64_t)(texel[(c->shift + k) / 8] >> (c->shift + k) % 8 & 1) << k;
    return x;
}

/* Loads a texel, compares, stores what was loaded and compares again. */
static void check_texel(const Name *n, const Parsed *p, const uint8_t *texel)
{
    const TexelFormat *f = texel_format(n->number);
    uint32_t x[4];
    uint8_t back[32];
    double want[4] = { 0, 0, 0, 1 };
    bool exact = true, whole = is(p, "UINT") || is(p, "SINT");
    for (int k = 0; k < p->n; k++) {
        uint64_t bits = field(texel, &p->parts[k]);
        const char *at = strchr("RGBA", p->parts[k].component);
        want[at ? 4 - strlen(at) : 0] = number_of(p, &p->parts[k], bits); /* D, S */
        exact &= !isnan(number_of(p, &p->parts[k], bits));
        exact &= !(is(p, "SNORM") && bits == 1ull << (p->parts[k].bits - 1));
    }
    texel_load(f, texel, x);
    for (int c = 0; c < 4; c++) {
        double got =
            whole ? is(p, "SINT") ? (double)(int32_t)x[c] : x[c] : (double)texel_float(x[c]);
        if (!(got == (double)(float)want[c] || (whole && got == want[c]) ||
              (is(p, "SRGB") && fabs(got - want[c]) < 1e-7) || (isnan(got) && isnan(want[c]))))
            test_fail(__FILE__, __LINE__, "%s: component %d is %a, not %a", n->text, c, got,
                      want[c]);
    }
    texel_store(f, back, x);
    if (exact && memcmp(back, texel, p->total / 8))
        test_fail(__FILE__, __LINE__, "%s: texel %02x%02x... is stored as %02x%02x...", n->text,
                  texel[1], texel[0], back[1], back[0]);
}

TEST(every_texel)
{
    Rng rng = { 11 };
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        Parsed p = parse(names[k].text);
        const TexelFormat *f = texel_format(names[k].number);
        CHECK(f && f->number == names[k].number);
        if (!f || p.parts[0].bits == 64 || p.parts[0].component == 'E')
            continue;
        CHECK_EQ_U64(f->bytes, p.bytes);
        uint32_t n = p.total == 8 ? 256 : 65536;
        for (uint32_t x = 0; x < n; x++) {
            uint64_t words[4] = { p.total <= 16 ? x : rng_u64(&rng), rng_u64(&rng) };
            check_texel(&names[k], &p, (uint8_t *)words);
        }
    }
    CHECK(!texel_format(0));
    CHECK(!texel_format(128));
    CHECK(!texel_format(1000340002));
}

/* What is between two texels becomes the nearer one, what is outside the nearest. */
TEST(rounding)
{
    Rng rng = { 12 };
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        Parsed p = parse(names[k].text);
        const TexelFormat *f = texel_format(names[k].number);
        if (!is(&p, "UNORM") && !is(&p, "SNORM"))
            continue;
        for (int round = 0; round < 200; round++) {
            float in[4];
            uint32_t bits[4], out[4];
            uint8_t texel[8];
            for (int c = 0; c < 4; c++)
                in[c] = (float)(rng_uniform(&rng) * 3 - 1.5);
            memcpy(bits, in, sizeof bits);
            texel_store(f, texel, bits);
            texel_load(f, texel, out);
            for (int c = 0; c < 4; c++) {
                double step = is(&p, "SNORM") ? exp2(f->bits[c] - 1.0) - 1 : exp2(f->bits[c]) - 1;
                double least = is(&p, "SNORM") ? -1 : 0;
                double want = fmin(fmax(in[c], least), 1);
                if (f->bits[c] && fabs(texel_float(out[c]) - want) > 0.5 / step + 1e-7)
                    test_fail(__FILE__, __LINE__, "%s: %g becomes %g", names[k].text, in[c],
                              texel_float(out[c]));
            }
        }
    }
}

TEST(integers_are_clamped)
{
    Rng rng = { 13 };
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        Parsed p = parse(names[k].text);
        const TexelFormat *f = texel_format(names[k].number);
        bool is_signed = is(&p, "SINT");
        if ((!is(&p, "UINT") && !is_signed) || p.parts[0].bits == 64)
            continue;
        for (int round = 0; round < 200; round++) {
            uint32_t in[4], out[4];
            uint8_t texel[16];
            for (int c = 0; c < 4; c++)
                in[c] = (uint32_t)((int32_t)rng_u64(&rng) >> rng_u64(&rng) % 32);
            texel_store(f, texel, in);
            texel_load(f, texel, out);
            for (int c = 0; c < 4; c++) {
                double most = exp2(f->bits[c] - is_signed) - 1, least = is_signed ? -most - 1 : 0;
                double x = is_signed ? (double)(int32_t)in[c] : in[c];
                double y = is_signed ? (double)(int32_t)out[c] : out[c];
                if (f->bits[c] && y != fmin(fmax(x, least), most))
                    test_fail(__FILE__, __LINE__, "%s: %g becomes %g", names[k].text, x, y);
            }
        }
    }
}

static uint32_t stored(uint32_t format, float r, float g, float b)
{
    uint32_t in[4] = { texel_bits(r), texel_bits(g), texel_bits(b), 0 }, word = 0;
    texel_store(texel_format(format), &word, in);
    return word;
}

TEST(small_floats)
{
    enum { B10G11R11 = 122, E5B9G9R9 = 123 };
    CHECK_EQ_U64(stored(B10G11R11, -1, 65024, 64512), 0x7bfu << 11 | 0x3dfu << 22);
    CHECK_EQ_U64(stored(B10G11R11, 1e30f, INFINITY, 1e30f), 0x7bfu | 0x7c0u << 11 | 0x3dfu << 22);
    CHECK_EQ_U64(stored(B10G11R11, 1, 0.5f, -INFINITY), 0x3c0u | 0x380u << 11);
    CHECK(stored(B10G11R11, NAN, 0, 0) > 0x7c0u);
    CHECK_EQ_U64(stored(E5B9G9R9, -1, NAN, 0), 0);
    CHECK_EQ_U64(stored(E5B9G9R9, 1e30f, 65408, 0), 511u | 511u << 9 | 31u << 27);
    CHECK_EQ_U64(stored(E5B9G9R9, 1, 0.5f, 0.25f), 256u | 128u << 9 | 64u << 18 | 16u << 27);
    /* All that the format has, but for those whose exponent could be smaller. */
    for (uint32_t e = 0; e < 32; e++)
        for (uint32_t m = e ? 256 : 0; m < 512; m++) {
            uint32_t word = m | (m / 2) << 9 | (511 - m) << 18 | e << 27, x[4], back;
            texel_load(texel_format(E5B9G9R9), &word, x);
            CHECK(texel_float(x[0]) == ldexp(m, (int)e - 24));
            CHECK(texel_float(x[2]) == ldexp(511 - m, (int)e - 24));
            CHECK(texel_float(x[3]) == 1);
            texel_store(texel_format(E5B9G9R9), &back, x);
            CHECK_EQ_U64(back, word);
        }
}

TEST(extension)
{
    enum { R8_UINT = 13, R8G8_SINT = 21 };
    uint32_t x[4] = { 0x80, 0, 0, 1 };
    texel_extend(texel_format(R8_UINT), true, x);
    CHECK_EQ_U64(x[0], 0xffffff80);
    CHECK_EQ_U64(x[3], 1);
    x[1] = 0xfffffffe;
    texel_extend(texel_format(R8G8_SINT), false, x);
    CHECK_EQ_U64(x[0], 0x80);
    CHECK_EQ_U64(x[1], 0xfe);
}
