/* SPDX-License-Identifier: MIT
 *
 * Numbers, characters and strings (C99, 6.4.4 and 6.4.5; OpenCL C adds the suffix h).
 */
#include "front/opencl/internal.h"

#include <stdlib.h>

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_hex(const OclToken *t)
{
    return t->len > 1 && t->text[0] == '0' && (t->text[1] | 32) == 'x';
}

static bool is_floating(const OclToken *t)
{
    bool hex = is_hex(t);
    for (uint32_t i = 0; i < t->len; i++) {
        char c = t->text[i];
        if (c == '.' || (c | 32) == 'p' || (!hex && (c | 32) == 'e'))
            return true;
    }
    return false;
}

static OclNode *floating(Ocl *o, const OclToken *t)
{
    char *text = arena_strndup(o->arena, t->text, t->len), *end;
    double v = strtod(text, &end);
    OclType *type = o->basic[TY_DOUBLE];
    char suffix = (char)(*end | 32);
    if (suffix == 'f')
        type = o->basic[TY_FLOAT];
    if (suffix == 'h')
        type = o->basic[TY_HALF];
    if ((*end && (end[1] || (suffix != 'f' && suffix != 'h' && suffix != 'l'))) ||
        (is_hex(t) && !strpbrk(text, "pP"))) {
        ocl_error(o, t->loc, "'%s' is no number", text);
        return ocl_bad(o, t->loc);
    }
    if (type->kind == TY_FLOAT) /* rounded once */
        v = strtof(text, NULL);
    OclNode *n = ocl_node(o, N_FLOAT, t->loc, type, NULL, NULL);
    n->f = ocl_round(type, v);
    return n;
}

/* The first of C99's list (6.4.4.1) that holds the value. */
static OclType *integer_type(Ocl *o, uint64_t v, bool decimal, bool is_unsigned, bool is_long)
{
    if (!is_long && !is_unsigned && v <= INT32_MAX)
        return o->basic[TY_INT];
    if (!is_long && (is_unsigned || !decimal) && v <= UINT32_MAX)
        return o->basic[TY_UINT];
    return o->basic[!is_unsigned && v <= INT64_MAX ? TY_LONG : TY_ULONG];
}

static OclNode *integer_literal(Ocl *o, const OclToken *t)
{
    const char *p = t->text, *end = p + t->len;
    unsigned base = 10;
    uint64_t v = 0;
    bool over = false;
    if (*p == '0' && t->len > 1) {
        base = (p[1] | 32) == 'x' ? 16 : (p[1] | 32) == 'b' ? 2 : 8;
        p += base == 8 ? 1 : 2;
    }
    const char *digits = p;
    for (; p < end && hex_digit(*p) >= 0 && (unsigned)hex_digit(*p) < base; p++) {
        over |= __builtin_mul_overflow(v, base, &v);
        over |= __builtin_add_overflow(v, (unsigned)hex_digit(*p), &v);
    }
    bool good = p > digits || base == 8, u = false, l = false;
    for (; p < end && good; p++) {
        if ((*p | 32) == 'u' && !u) {
            u = true;
        } else if ((*p | 32) == 'l' && !l) {
            l = true;
            p += p + 1 < end && p[1] == *p; /* ll is as long as l */
        } else {
            good = false;
        }
    }
    if (!good) {
        ocl_error(o, t->loc, "'%.*s' is no number", (int)t->len, t->text);
        return ocl_bad(o, t->loc);
    }
    if (over)
        ocl_error(o, t->loc, "'%.*s' does not fit 64 bits", (int)t->len, t->text);
    return ocl_int(o, t->loc, integer_type(o, v, base == 10, u, l), v);
}

OclNode *ocl_number(Ocl *o, const OclToken *t)
{
    return is_floating(t) ||
                   (t->len > 1 && (t->text[t->len - 1] | 32) == 'h' && (t->text[1] | 32) != 'x')
               ? floating(o, t)
               : integer_literal(o, t);
}

/* ---- characters and strings ------------------------------------------------------------------ */

/* One character, or what an escape stands for. */
static unsigned character(Ocl *o, OclLoc loc, const char **at, const char *end)
{
    static const char escapes[] = "abfnrtv\\'\"?", values[] = "\a\b\f\n\r\t\v\\'\"?";
    const char *p = *at;
    unsigned v = 0;
    if (*p != '\\' || p + 1 >= end) {
        *at = p + 1;
        return (unsigned char)*p;
    }
    const char *e = strchr(escapes, *++p);
    if (*p && e) {
        v = (unsigned char)values[e - escapes];
        p++;
    } else if (*p >= '0' && *p <= '7') {
        for (int i = 0; i < 3 && p < end && *p >= '0' && *p <= '7'; i++)
            v = v * 8 + (unsigned)(*p++ - '0');
    } else if (*p == 'x' && p + 1 < end && hex_digit(p[1]) >= 0) {
        for (p++; p < end && hex_digit(*p) >= 0; p++)
            v = v * 16 + (unsigned)hex_digit(*p);
    } else {
        ocl_error(o, loc, "unknown escape '\\%c'", *p);
        p++;
    }
    if (v > 255)
        ocl_error(o, loc, "an escape stands for one byte, and this is larger");
    *at = p;
    return v & 255;
}

OclNode *ocl_character(Ocl *o, const OclToken *t)
{
    const char *p = t->text + 1, *end = t->text + t->len - 1;
    if (p >= end || t->text[t->len - 1] != '\'') {
        if (t->len >= 2 && t->text[t->len - 1] == '\'')
            ocl_error(o, t->loc, "empty character");
        return ocl_bad(o, t->loc);
    }
    uint32_t v = character(o, t->loc, &p, end);
    if (p >= end) /* a char's value */
        return ocl_int(o, t->loc, o->basic[TY_INT], (uint64_t)(int64_t)(int8_t)v);
    ocl_warning(o, t->loc, "more than one character between quotes: the last is the lowest byte");
    while (p < end)
        v = v << 8 | character(o, t->loc, &p, end);
    return ocl_int(o, t->loc, o->basic[TY_INT], v);
}

OclNode *ocl_text(Ocl *o, OclLoc loc, const char *text, uint32_t size)
{
    OclType *c = ocl_qualified(o, o->basic[TY_CHAR], 0, AS_CONSTANT);
    OclNode *n = ocl_node(o, N_STRING, loc, ocl_array(o, c, size), NULL, NULL);
    n->string.text = text;
    n->string.size = size;
    n->lvalue = true;
    return n;
}

/* Strings side by side are one. */
OclNode *ocl_string(Ocl *o)
{
    Str s = { 0 };
    OclLoc loc = o->tok.loc;
    str_add(o->arena, &s, "");
    while (o->tok.kind == T_STRING) {
        const char *p = o->tok.text + 1, *end = o->tok.text + o->tok.len - 1;
        while (p < end) {
            char c = (char)character(o, o->tok.loc, &p, end);
            str_addn(o->arena, &s, &c, 1);
        }
        ocl_advance(o);
    }
    return ocl_text(o, loc, s.data, s.len + 1);
}
