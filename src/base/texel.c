/* SPDX-License-Identifier: MIT
 *
 * Texels to components and back (Vulkan 1.3, 3.9 to 3.11, 16.1.2 and 16.2.6). In the middle is
 * double, which holds each component of up to 32 bits, so that every conversion rounds once.
 */
#include "base/image.h"

#include <math.h>

static const TexelFormat formats[] = {
#define TEXEL(name, number, kind, aspect, bytes, r, g, b, a, at_r, at_g, at_b, at_a)               \
    { number, TEXEL_##kind, TEXEL_##aspect, bytes, { r, g, b, a }, { at_r, at_g, at_b, at_a } },
#include "base/texel.def"
};

const TexelFormat *texel_format(uint32_t number)
{
    enum { DENSE = 127 }; /* formats 1 to 127 are the first rows, in order */
    if (number && number <= DENSE)
        return &formats[number - 1];
    for (size_t k = DENSE; k < COUNT_OF(formats); k++)
        if (formats[k].number == number)
            return &formats[k];
    return NULL;
}

bool texel_is_integer(const TexelFormat *f)
{
    return f->kind == TEXEL_UINT || f->kind == TEXEL_SINT;
}

bool texel_is_long(const TexelFormat *f)
{
    return texel_is_integer(f) && f->bits[0] == 64 && !f->bits[1];
}

/* ---- bits ------------------------------------------------------------------------------------ */

static uint32_t mask_of(uint32_t bits) { return bits >= 32 ? UINT32_MAX : (1u << bits) - 1; }

static uint32_t sign_extended(uint32_t x, uint32_t bits)
{
    uint32_t sign = 1u << (bits - 1);
    return ((x & mask_of(bits)) ^ sign) - sign;
}

static uint32_t get_bits(const TexelFormat *f, const uint8_t *at, int c)
{
    uint32_t shift = f->shift[c] % 8, bytes = (shift + f->bits[c] + 7) / 8;
    uint64_t word = 0;
    memcpy(&word, at + f->shift[c] / 8, MIN(bytes, sizeof word));
    return (uint32_t)(word >> shift) & mask_of(f->bits[c]);
}

/* Into bits that are 0. */
static void put_bits(const TexelFormat *f, uint8_t *at, int c, uint32_t x)
{
    uint32_t shift = f->shift[c] % 8, bytes = (shift + f->bits[c] + 7) / 8;
    uint64_t word = 0;
    memcpy(&word, at + f->shift[c] / 8, MIN(bytes, sizeof word));
    word |= (uint64_t)(x & mask_of(f->bits[c])) << shift;
    memcpy(at + f->shift[c] / 8, &word, MIN(bytes, sizeof word));
}

/* ---- sRGB and shared exponents --------------------------------------------------------------- */

static double linear_of(double s)
{
    return s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
}

static double srgb_of(double l)
{
    return l < 0.0031308 ? l * 12.92 : 1.055 * pow(l, 1 / 2.4) - 0.055;
}

enum { SHARED_BITS = 9, SHARED_BIAS = 15 };

static void load_shared(const uint8_t *at, uint32_t out[4])
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    for (int c = 0; c < 3; c++) {
        double x = word >> (SHARED_BITS * c) & mask_of(SHARED_BITS);
        out[c] = texel_bits((float)ldexp(x, (int)(word >> 27) - SHARED_BIAS - SHARED_BITS));
    }
}

static void store_shared(uint8_t *at, const uint32_t in[4])
{
    const double largest = ldexp(511.0 / 512, 31 - SHARED_BIAS);
    double x[3], most = 0;
    for (int c = 0; c < 3; c++) {
        x[c] = texel_float(in[c]);
        x[c] = x[c] > 0 ? fmin(x[c], largest) : 0; /* a NaN too */
        most = fmax(most, x[c]);
    }
    int exponent = most > 0 ? MAX(-SHARED_BIAS - 1, ilogb(most)) + 1 + SHARED_BIAS : 0;
    if (floor(ldexp(most, SHARED_BIAS + SHARED_BITS - exponent) + 0.5) == 512)
        exponent++;
    uint32_t word = (uint32_t)exponent << 27;
    for (int c = 0; c < 3; c++) {
        double scaled = floor(ldexp(x[c], SHARED_BIAS + SHARED_BITS - exponent) + 0.5);
        word |= (uint32_t)scaled << (SHARED_BITS * c);
    }
    memcpy(at, &word, sizeof word);
}

/* ---- components ------------------------------------------------------------------------------ */

static double float_of(uint32_t x, uint32_t bits)
{
    if (bits == 32)
        return texel_float(x);
    /* An unsigned small float is half without the sign and the last bits. */
    return f16_to_double((uint16_t)(bits == 16 ? x : x << (15 - bits)));
}

static uint32_t load_component(const TexelFormat *f, int c, uint32_t x)
{
    uint32_t bits = f->bits[c];
    double number = 0, ones = mask_of(bits), top = mask_of(bits - 1);
    switch ((TexelKind)f->kind) {
    case TEXEL_UINT: return x;
    case TEXEL_SINT: return sign_extended(x, bits);
    case TEXEL_UNORM: number = x / ones; break;
    case TEXEL_SRGB: number = c == 3 ? x / ones : linear_of(x / ones); break;
    case TEXEL_SNORM: number = fmax((int32_t)sign_extended(x, bits) / top, -1); break;
    case TEXEL_USCALED: number = x; break;
    case TEXEL_SSCALED: number = (int32_t)sign_extended(x, bits); break;
    case TEXEL_SFLOAT:
    case TEXEL_UFLOAT:
        if (bits == 32)
            return x;
        number = float_of(x, bits);
        break;
    case TEXEL_SHARED: break;
    }
    return texel_bits((float)number);
}

/* x as an integer between two; a NaN is 0. */
static uint32_t rounded(double x, double least, double most)
{
    if (isnan(x))
        return 0;
    x = nearbyint(fmin(fmax(x, least), most));
    return x < 0 ? (uint32_t)(int32_t)x : (uint32_t)x;
}

/* Integers that do not fit are clamped, which Vulkan leaves open: WebGPU and OpenCL ask for it. */
static uint32_t store_component(const TexelFormat *f, int c, uint32_t in)
{
    uint32_t bits = f->bits[c];
    int32_t most = (int32_t)mask_of(bits - 1);
    double x = texel_float(in), ones = mask_of(bits), top = most;
    switch ((TexelKind)f->kind) {
    case TEXEL_UINT: return MIN(in, mask_of(bits));
    case TEXEL_SINT: return (uint32_t)MIN(MAX((int32_t)in, -most - 1), most);
    case TEXEL_UNORM: return rounded(x * ones, 0, ones);
    case TEXEL_SRGB: return rounded((c == 3 ? x : srgb_of(fmax(x, 0))) * ones, 0, ones);
    case TEXEL_SNORM: return rounded(x * top, -top, top);
    case TEXEL_USCALED: return rounded(x, 0, ones);
    case TEXEL_SSCALED: return rounded(x, -top - 1, top);
    case TEXEL_SFLOAT: return bits == 32 ? in : f16_from_double(x);
    case TEXEL_UFLOAT: return ufloat_from_double(x, (int)bits - 5);
    case TEXEL_SHARED: break;
    }
    return 0;
}

/* ---- texels ---------------------------------------------------------------------------------- */

void texel_complete(const TexelFormat *f, uint32_t x[4])
{
    for (int c = 0; c < 4; c++)
        if (!f->bits[c])
            x[c] = c < 3 ? 0 : texel_is_integer(f) ? 1 : texel_bits(1);
}

void texel_load(const TexelFormat *f, const void *at, uint32_t out[4])
{
    texel_complete(f, out);
    if (texel_is_long(f)) {
        memcpy(out, at, 8);
        return;
    }
    if (f->kind == TEXEL_SHARED) {
        load_shared(at, out);
        return;
    }
    for (int c = 0; c < 4; c++)
        if (f->bits[c])
            out[c] = f->bits[c] > 32 ? 0 : load_component(f, c, get_bits(f, at, c));
}

void texel_store(const TexelFormat *f, void *at, const uint32_t in[4])
{
    uint8_t texel[32] = { 0 };
    if (f->kind == TEXEL_SHARED)
        store_shared(texel, in);
    if (texel_is_long(f))
        memcpy(texel, in, 8);
    for (int c = 0; c < 4 && f->kind != TEXEL_SHARED; c++)
        if (f->bits[c] && f->bits[c] <= 32)
            put_bits(f, texel, c, store_component(f, c, in[c]));
    memcpy(at, texel, f->bytes);
}

void texel_extend(const TexelFormat *f, bool is_signed, uint32_t x[4])
{
    for (int c = 0; c < 4 && texel_is_integer(f); c++)
        if (f->bits[c] && f->bits[c] < 32)
            x[c] = is_signed ? sign_extended(x[c], f->bits[c]) : x[c] & mask_of(f->bits[c]);
}
