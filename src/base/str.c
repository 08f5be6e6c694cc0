/* SPDX-License-Identifier: MIT
 *
 * Text that grows at its end, in an arena, NUL-terminated throughout.
 */
#include "base/base.h"

#include <stdio.h>

/* Room for n more bytes and the terminator. */
static bool reserve(Arena *a, Str *s, size_t n)
{
    if (n >= UINT32_MAX - 1 - s->len) {
        arena_fail(a);
        return false;
    }
    uint32_t need = s->len + (uint32_t)n + 1;
    vec_reserve(a, s, need);
    return s->cap >= need;
}

void str_addn(Arena *a, Str *s, const char *text, size_t n)
{
    if (!reserve(a, s, n))
        return;
    if (n)
        memcpy(s->data + s->len, text, n);
    s->len += (uint32_t)n;
    s->data[s->len] = 0;
}

void str_add(Arena *a, Str *s, const char *text) { str_addn(a, s, text, strlen(text)); }

void str_printf(Arena *a, Str *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0 || !reserve(a, s, (size_t)n))
        return;
    va_start(args, fmt);
    vsnprintf(s->data + s->len, (size_t)n + 1, fmt, args);
    va_end(args);
    s->len += (uint32_t)n;
}
