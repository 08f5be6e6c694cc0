/* SPDX-License-Identifier: MIT
 *
 * OpenCL C's printf (6.15.14) on the words that a kernel's arguments became: integers in their own
 * width, floats as the bits of a double, strings as addresses; of a vector one word a component.
 *
 * A conversion is handed to C's snprintf with the length modifier that the word's width asks for.
 * Conversions without words left, or unknown to C, are written out unchanged.
 */
#include "base/base.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

typedef struct Printer {
    char *out;
    size_t size, used; /* used may exceed size: what was not written */
    const uint64_t *words;
    uint32_t n;
} Printer;

static void put_text(Printer *p, const char *text, size_t n)
{
    for (size_t k = 0; k < n; k++, p->used++)
        if (p->used + 1 < p->size)
            p->out[p->used] = text[k];
}

/* One conversion of a format: "%-+5.2v4hlf". */
typedef struct PrintConversion {
    char flags[48];        /* with '%', width and precision */
    uint32_t vector, bits; /* components, width of an integer */
    char kind;
} PrintConversion;

static const char *parse_conversion(const char *s, PrintConversion *c)
{
    size_t n = 0;
    *c = (PrintConversion){ .vector = 1, .bits = 32 };
    c->flags[n++] = *s++;
    while (*s && strchr("-+ #0123456789.", *s) && n + 8 < sizeof c->flags)
        c->flags[n++] = *s++;
    if (*s == 'v') {
        s++;
        for (c->vector = 0; isdigit((unsigned char)*s) && c->vector < 16; s++)
            c->vector = c->vector * 10 + (uint32_t)(*s - '0');
    }
    if (!strncmp(s, "hh", 2))
        c->bits = 8, s += 2;
    else if (!strncmp(s, "hl", 2))
        s += 2;
    else if (*s == 'h')
        c->bits = 16, s++;
    else if (*s == 'l' || *s == 'j' || *s == 'z' || *s == 't')
        for (c->bits = 64; *s == 'l' || *s == 'j' || *s == 'z' || *s == 't';)
            s++;
    c->kind = *s;
    return *s ? s + 1 : s;
}

static void put_word(Printer *p, const PrintConversion *c, uint64_t word)
{
    char format[64], text[512];
    int64_t wide = (int64_t)(word << (64 - c->bits)) >> (64 - c->bits);
    uint64_t low = word << (64 - c->bits) >> (64 - c->bits);
    double real;
    int n = 0;
    memcpy(&real, &word, sizeof real);
    if (strchr("di", c->kind)) {
        snprintf(format, sizeof format, "%s%s", c->flags, PRId64);
        n = snprintf(text, sizeof text, format, wide);
    } else if (strchr("ouxX", c->kind)) {
        snprintf(format, sizeof format, "%sll%c", c->flags, c->kind);
        n = snprintf(text, sizeof text, format, (unsigned long long)low);
    } else if (strchr("fFeEgGaA", c->kind)) {
        snprintf(format, sizeof format, "%s%c", c->flags, c->kind);
        n = snprintf(text, sizeof text, format, real);
    } else if (c->kind == 'c') {
        snprintf(format, sizeof format, "%sc", c->flags);
        n = snprintf(text, sizeof text, format, (int)(word & 0xff));
    } else if (c->kind == 's') {
        snprintf(format, sizeof format, "%ss", c->flags);
        n = snprintf(text, sizeof text, format, word ? (const char *)(uintptr_t)word : "(null)");
    } else {
        n = snprintf(text, sizeof text, "%#" PRIx64, word);
    }
    put_text(p, text, (size_t)MIN(MAX(n, 0), (int)sizeof text - 1));
}

size_t print_words(char *out, size_t size, const char *format, const uint64_t *words, uint32_t n)
{
    Printer p = { .out = out, .size = size, .words = words, .n = n };
    uint32_t next = 0;
    for (const char *s = format; *s;) {
        PrintConversion c;
        size_t plain = strcspn(s, "%");
        put_text(&p, s, plain);
        s += plain;
        if (!*s)
            break;
        if (s[1] == '%') {
            put_text(&p, "%", 1);
            s += 2;
            continue;
        }
        const char *end = parse_conversion(s, &c);
        if (!c.kind || !strchr("diouxXfFeEgGaAcsp", c.kind) || next + c.vector > n)
            put_text(&p, s, (size_t)(end - s));
        else
            for (uint32_t k = 0; k < c.vector; k++) {
                if (k)
                    put_text(&p, ",", 1);
                put_word(&p, &c, words[next++]);
            }
        s = end;
    }
    if (size)
        out[MIN(p.used, size - 1)] = 0;
    return MIN(p.used, size ? size - 1 : 0);
}
