/* SPDX-License-Identifier: MIT
 *
 * Literals as text. 32- and 64-bit floating-point numbers are decimal with as many digits as it
 * takes to get them back, all others (and what decimals cannot say: infinities, NaNs, subnormals)
 * hexadecimal: 0x1.8p+3. The exponent beyond the largest finite one stands for infinity and, with
 * digits after the point, for NaN and its payload, in each format as wide as its fraction: the bits
 * come back as they were. A word that does not fit its type is written as !0x12345678.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "spirv/internal.h"

typedef struct Format {
    uint32_t exponent, fraction; /* bits of each; 0 0: not known here */
} Format;

static const Format double_format = { 11, 52 };

static Format format_of_number(SpvNumber n)
{
    const SpvFloatInfo *info = spv_float_info(n.format);
    if (info)
        return (Format){ info->exponent, info->fraction };
    return n.bits == 16   ? (Format){ 5, 10 }
           : n.bits == 32 ? (Format){ 8, 23 }
           : n.bits == 64 ? double_format
                          : (Format){ 0, 0 };
}

SpvNumber spv_number(uint16_t op, const uint32_t *operands, uint32_t n)
{
    SpvNumber t = { .is_float = op == SpvOpTypeFloat, .bits = operands[0] };
    if (t.is_float)
        t.format = spv_float_format(operands, n);
    t.is_signed = !t.is_float && n > 1 && operands[1] != 0;
    if (t.format == SPV_NO_FLOAT) /* bits */
        t.bits = 0;
    return t;
}

bool spv_number_of(const SpvModule *m, SpvId type, SpvNumber *n)
{
    const SpvInst *t = spv_def(m, type);
    if (!t || (t->op != SpvOpTypeInt && t->op != SpvOpTypeFloat) || !spv_n_operands(t))
        return false;
    *n = spv_number(t->op, t->words + t->first_operand, spv_n_operands(t));
    return true;
}

/* The two formats of the OCP's microscaling numbers that are no floating-point ones of the usual
 * build: a bare exponent, and an integer of 64ths. */
static bool odd_to_double(SpvNumber n, uint64_t bits, double *x)
{
    if (n.format == SPV_E8M0)
        *x = ldexp(1, (int)bits - 127);
    else if (n.format == SPV_MXINT8)
        *x = (int8_t)bits / 64.0;
    else
        return false;
    return true;
}

static bool odd_from_double(SpvNumber n, double x, uint64_t *bits)
{
    for (uint32_t k = 0; k < 256; k++) {
        double y;
        if (odd_to_double(n, k, &y) && x == y)
            return *bits = k, true;
    }
    return false;
}

/* ---- to text --------------------------------------------------------------------------------- */

static void print_hex_float(Arena *arena, Str *out, Format f, uint64_t bits)
{
    uint64_t fraction = bits & ((UINT64_C(1) << f.fraction) - 1);
    int32_t biased = (int32_t)(bits >> f.fraction & ((1u << f.exponent) - 1));
    int32_t bias = (1 << (f.exponent - 1)) - 1, exponent = biased - bias;
    bool zero = !biased && !fraction;
    if (bits >> (f.exponent + f.fraction) & 1)
        str_add(arena, out, "-");
    if (!biased && fraction) { /* subnormal: bring its first 1 before the point */
        exponent = 1 - bias;
        for (uint64_t top = UINT64_C(1) << f.fraction; !(fraction & top); exponent--)
            fraction <<= 1;
        fraction &= (UINT64_C(1) << f.fraction) - 1;
    }
    str_add(arena, out, zero ? "0x0" : "0x1");
    uint32_t digits = (f.fraction + 3) / 4;
    uint64_t hex = fraction << (digits * 4 - f.fraction);
    while (digits && !(hex & 15)) {
        hex >>= 4;
        digits--;
    }
    if (digits)
        str_printf(arena, out, ".%0*llx", (int)digits, (unsigned long long)hex);
    str_printf(arena, out, "p%+d", zero ? 0 : exponent);
}

/* A double as C writes it, whatever the process's locale. glibc's "C" locale is static. */
static void print_double(char buf[40], int digits, double x)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t old = uselocale(c);
    snprintf(buf, 40, "%.*g", digits, x);
    uselocale(old);
    freelocale(c);
}

static void print_float(Arena *arena, Str *out, SpvNumber n, uint64_t bits)
{
    double odd;
    if (odd_to_double(n, bits, &odd)) {
        memcpy(&bits, &odd, 8);
        print_hex_float(arena, out, double_format, bits);
        return;
    }
    Format f = format_of_number(n);
    uint64_t biased = bits >> f.fraction & ((1u << f.exponent) - 1);
    uint64_t magnitude = bits & ~(UINT64_C(1) << (n.bits - 1));
    bool decimal = n.format == SPV_IEEE && n.bits >= 32 &&
                   (!magnitude || (biased && biased != (1u << f.exponent) - 1));
    if (!decimal) {
        print_hex_float(arena, out, f, bits);
        return;
    }
    char buf[40];
    float narrow;
    double wide;
    uint32_t low = (uint32_t)bits;
    memcpy(&narrow, &low, 4);
    memcpy(&wide, &bits, 8);
    print_double(buf, n.bits == 32 ? 9 : 17, n.bits == 32 ? narrow : wide);
    str_add(arena, out, buf);
}

/* The bits above the type's own: zeros, or the sign's copies. */
static bool is_extended(SpvNumber n, uint64_t bits, uint32_t width)
{
    if (n.bits >= width)
        return true;
    uint64_t high = bits >> n.bits << n.bits;
    uint64_t all = width == 64 ? UINT64_MAX : UINT32_MAX;
    bool negative = n.is_signed && !n.is_float && bits >> (n.bits - 1) & 1;
    return high == (negative ? all >> n.bits << n.bits : 0);
}

void spv_print_number(Arena *arena, Str *out, SpvNumber n, const uint32_t *words, uint32_t n_words)
{
    uint64_t bits = n_words ? words[0] : 0;
    if (n_words > 1)
        bits |= (uint64_t)words[1] << 32;
    bool plain = n.bits >= 1 && n.bits <= 64 && n_words == (n.bits > 32 ? 2 : 1) &&
                 is_extended(n, bits, n_words * 32);
    if (!plain) {
        for (uint32_t k = 0; k < n_words; k++)
            str_printf(arena, out, "%s!0x%08x", k ? " " : "", words[k]);
    } else if (n.is_float) {
        print_float(arena, out, n, bits);
    } else if (n.is_signed) {
        int64_t x = n_words > 1 ? (int64_t)bits : (int32_t)bits;
        str_printf(arena, out, "%lld", (long long)x);
    } else {
        str_printf(arena, out, "%llu", (unsigned long long)bits);
    }
}

/* ---- from text ------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Hexadecimal digits with a point, as a 64-bit fraction of at most 60 significant bits, and the
 * power of two of its last bit. Later digits only count as "not zero". */
static const char *parse_mantissa(const char *s, uint64_t *mantissa, int32_t *exponent)
{
    bool point = false, any = false;
    *mantissa = 0;
    *exponent = 0;
    for (;; s++) {
        if (*s == '.' && !point) {
            point = true;
            continue;
        }
        int digit = hex_digit(*s);
        if (digit < 0)
            return any ? s : NULL;
        any = true;
        if (*mantissa >> 56) {
            *mantissa |= digit != 0;
            *exponent += point ? 0 : 4;
        } else {
            *mantissa = *mantissa << 4 | (uint64_t)digit;
            *exponent -= point ? 4 : 0;
        }
        if (*exponent > 100000 || *exponent < -100000)
            return NULL;
    }
}

/* mantissa * 2^exponent in the format, rounded to nearest even; false where it is too large. */
static bool encode(Format f, uint64_t mantissa, int32_t exponent, uint64_t *bits)
{
    int32_t bias = (1 << (f.exponent - 1)) - 1;
    *bits = 0;
    if (!mantissa)
        return true;
    int32_t top = 63 - __builtin_clzll(mantissa) + exponent; /* of the first 1 */
    int32_t last = MAX(top, 1 - bias) - (int32_t)f.fraction; /* of the last bit kept */
    int32_t drop = last - exponent;
    uint64_t kept = drop <= 0 ? mantissa << MIN(-drop, 63) : drop < 64 ? mantissa >> drop : 0;
    if (drop > 0 && drop <= 64) {
        uint64_t half = UINT64_C(1) << (drop - 1);
        uint64_t rest = drop == 64 ? mantissa : mantissa & (half * 2 - 1);
        kept += rest > half || (rest == half && kept & 1);
    }
    /* Adding lets a carry of the rounding go on into the exponent. */
    int64_t biased = top < 1 - bias ? 0 : (int64_t)top + bias - 1;
    *bits = ((uint64_t)biased << f.fraction) + kept;
    return *bits >> f.fraction < UINT64_C(1) << f.exponent;
}

static bool parse_hex_float(Format f, const char *s, uint64_t *bits)
{
    uint64_t mantissa;
    int32_t exponent;
    s = parse_mantissa(s, &mantissa, &exponent);
    if (!s || (*s != 'p' && *s != 'P'))
        return s && !*s && encode(f, mantissa, exponent, bits);
    char *end;
    long power = strtol(s + 1, &end, 10);
    if (end == s + 1 || *end || power > 100000 || power < -100000)
        return false;
    return encode(f, mantissa, exponent + (int32_t)power, bits);
}

static bool parse_decimal(SpvNumber n, const char *s, uint64_t *bits)
{
    if (!(*s >= '0' && *s <= '9') && *s != '.')
        return false; /* no inf, nan, blanks */
    char *end;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double wide = strtod_l(s, &end, c);
    float narrow = n.bits == 32 ? strtof_l(s, &end, c) : 0;
    freelocale(c);
    if (*end || isinf(wide) || isinf(narrow))
        return false;
    if (n.bits == 64) {
        memcpy(bits, &wide, 8);
        return true;
    }
    if (n.bits == 32) {
        uint32_t single;
        memcpy(&single, &narrow, 4);
        *bits = single;
        return true;
    }
    Format f = format_of_number(n);
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(wide, &exponent), 53);
    if (!encode(f, mantissa, exponent - 53, bits))
        return false;
    /* The small formats without infinities use all their exponents; E4M3 keeps its last code. */
    if (n.format == SPV_E4M3)
        return *bits != 0x7f;
    bool has_infinity = n.bits == 16 || n.format == SPV_E5M2;
    return !has_infinity || *bits >> f.fraction != (UINT64_C(1) << f.exponent) - 1;
}

static bool parse_odd(SpvNumber n, const char *s, bool negative, uint64_t *bits)
{
    uint64_t word;
    double x;
    if (strncmp(s, "0x", 2) || !parse_hex_float(double_format, s + 2, &word))
        return false;
    memcpy(&x, &word, 8);
    return odd_from_double(n, negative ? -x : x, bits);
}

static bool parse_float(SpvNumber n, const char *s, uint64_t *bits)
{
    Format f = format_of_number(n);
    bool negative = *s == '-';
    s += negative || *s == '+';
    if (!f.exponent)
        return parse_odd(n, s, negative, bits);
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    if (!(hex ? parse_hex_float(f, s + 2, bits) : parse_decimal(n, s, bits)))
        return false;
    if (negative)
        *bits |= UINT64_C(1) << (n.bits - 1);
    return true;
}

/* Decimal numbers must fit the type; hexadecimal ones are its bits. */
static bool parse_int(SpvNumber n, const char *s, uint64_t *bits)
{
    bool negative = *s == '-', hex;
    s += negative;
    hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    s += hex ? 2 : 0;
    uint64_t x = 0, most = n.bits < 64 ? (UINT64_C(1) << n.bits) - 1 : UINT64_MAX;
    if (!*s)
        return false;
    for (; *s; s++) {
        int digit = hex_digit(*s);
        if (digit < 0 || digit >= (hex ? 16 : 10))
            return false;
        if (__builtin_mul_overflow(x, hex ? 16u : 10u, &x) ||
            __builtin_add_overflow(x, (uint64_t)digit, &x))
            return false;
    }
    uint64_t sign = UINT64_C(1) << (n.bits - 1);
    if (x > most || (n.is_signed && !hex && x > sign - !negative))
        return false;
    if (negative && !n.is_signed && x)
        return false;
    if (negative)
        x = -x;
    if (n.is_signed && n.bits < 64 && x & sign)
        x |= ~most;
    *bits = x;
    return true;
}

uint32_t spv_parse_number(SpvNumber n, const char *text, uint32_t words[2])
{
    uint64_t bits = 0;
    if (n.bits < 1 || n.bits > 64)
        return 0;
    if (!(n.is_float ? parse_float(n, text, &bits) : parse_int(n, text, &bits)))
        return 0;
    words[0] = (uint32_t)bits;
    words[1] = (uint32_t)(bits >> 32);
    return n.bits > 32 ? 2 : 1;
}
