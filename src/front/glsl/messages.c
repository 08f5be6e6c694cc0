/* SPDX-License-Identifier: MIT
 *
 * glslang's messages as diagnostics. A line is
 *
 *     ERROR: path:line:column: 'token' : what is wrong
 *
 * with WARNING for ERROR, the column only for the file itself, and no position for messages
 * about the whole shader. The path of the temporary file becomes the source's name again.
 */
#include "front/glsl/messages.h"

#include <stdlib.h>

/* ":12" or ":12:" at *s: the number, and *s behind it. 0 when there is none. */
static uint32_t colon_number(const char **s)
{
    if (**s != ':' || (*s)[1] < '0' || (*s)[1] > '9')
        return 0;
    char *end;
    unsigned long n = strtoul(*s + 1, &end, 10);
    if (*end != ':')
        return 0;
    *s = end;
    return (uint32_t)MIN(n, UINT32_MAX);
}

/* "path:line[:column]: rest": the first colon that a number and another colon follow ends the
 * path. */
static const char *position(Arena *arena, const char *s, const GlslNames *names, DiagLoc *loc)
{
    for (const char *at = strchr(s, ':'); at; at = strchr(at + 1, ':')) {
        const char *rest = at;
        uint32_t line = colon_number(&rest);
        if (!line)
            continue;
        loc->file = arena_strndup(arena, s, (size_t)(at - s));
        if (!strcmp(loc->file, names->temporary))
            loc->file = names->source;
        loc->line = line;
        loc->column = colon_number(&rest);
        s = *rest == ':' ? rest + 1 : rest;
        break;
    }
    while (*s == ' ')
        s++;
    return s;
}

/* Messages that only announce or count others. */
static bool is_summary(const char *s)
{
    return strstr(s, "compilation errors.  No code generated") ||
           strstr(s, "compilation terminated") || strstr(s, "SPIR-V is not generated for failed");
}

/* A comment that ends in a backslash continues on the next line, which deserves a warning unless
 * that line is a comment anyway. */
static bool harmless_continuation(const char *s, const GlslNames *names, const DiagLoc *loc)
{
    const char *at = names->text;
    if (!strstr(s, "used at end of comment") || strcmp(loc->file, names->source))
        return false;
    for (uint32_t i = 0; at && i < loc->line; i++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return at && !strncmp(at + strspn(at, " \t"), "//", 2);
}

/* "'token' : text" reads better the other way round: "text: 'token'". */
static const char *reword(Arena *arena, const char *s)
{
    const char *end = *s == '\'' ? strstr(s, "' : ") : NULL;
    if (!end)
        return s;
    const char *text = end + 4;
    size_t n = strlen(text);
    while (n && text[n - 1] == ' ')
        n--;
    if (end == s + 1) /* no token */
        return arena_strndup(arena, text, n);
    return arena_printf(arena, "%.*s: %.*s'", (int)n, text, (int)(end - s), s);
}

static void line(Arena *arena, char *s, const GlslNames *names, DiagSink *sink)
{
    static const struct {
        const char *prefix;
        DiagSeverity severity;
    } kinds[] = { { "ERROR: ", DIAG_ERROR },
                  { "WARNING: ", DIAG_WARNING },
                  { "INTERNAL ERROR: ", DIAG_ERROR },
                  { "UNIMPLEMENTED: ", DIAG_ERROR } };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t n = strlen(kinds[i].prefix);
        if (strncmp(s, kinds[i].prefix, n) || is_summary(s))
            continue;
        DiagLoc loc = { .file = names->source };
        const char *text = position(arena, s + n, names, &loc);
        if (!harmless_continuation(text, names, &loc))
            diag(sink, kinds[i].severity, &loc, "GLSL", "%s", reword(arena, text));
        return;
    }
}

void glsl_messages(Arena *arena, char *text, const GlslNames *names, DiagSink *sink)
{
    while (*text) {
        char *end = strchr(text, '\n');
        if (end)
            *end = 0;
        line(arena, text, names, sink);
        if (!end)
            break;
        text = end + 1;
    }
}
