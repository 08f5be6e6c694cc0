/* SPDX-License-Identifier: MIT
 *
 * gpu.subgroup_mma_rotate never got into MLIR, so MLIR's parser does not know its syntax (the RFC
 * "Add GPU operations to permute data in 2 loaded mma_matrix"):
 *
 *     %r = gpu.subgroup_mma_rotate %a, %b, %offset {attributes} : tA, tB, i32 -> tR
 *
 * Here it gets the generic form, which parsers take for operations that nobody registered:
 *
 *     %r = "heddle.subgroup_mma_rotate"(%a, %b, %offset) {attributes} : (tA, tB, i32) -> (tR)
 *
 * Lines stay lines; what was inserted where is noted for the columns of messages.
 */
#include <ctype.h>

#include "mlir/mlir.h"

static const char rotation[] = "gpu.subgroup_mma_rotate";

typedef struct Scan {
    Job *job;
    const char *at, *end;
    const char *done;               /* copied up to there */
    Str out;
    const char *line_start;         /* of the source's line that `done` is in */
    uint32_t line;
    uint32_t out_line_start;        /* in out */
} Scan;

/* ---- the output ------------------------------------------------------------------------------ */

static void copy_to(Scan *s, const char *to)
{
    while (s->done < to) {
        const char *newline = memchr(s->done, '\n', (size_t)(to - s->done));
        const char *part = newline ? newline + 1 : to;
        str_addn(s->job->arena, &s->out, s->done, (size_t)(part - s->done));
        s->done = part;
        if (newline) {
            s->line++;
            s->line_start = part;
            s->out_line_start = s->out.len;
        }
    }
}

/* Puts `text` for the `n` characters at `at`. */
static void replace(Scan *s, const char *at, size_t n, const char *text)
{
    copy_to(s, at);
    str_add(s->job->arena, &s->out, text);
    s->done = at + n;
    Shift shift = { s->line, s->out.len - s->out_line_start + 1,
                    (int32_t)n - (int32_t)strlen(text) };
    vec_push(s->job->arena, &s->job->shifts, shift);
}

static bool expected(Scan *s, const char *what)
{
    copy_to(s, s->at);
    DiagLoc at = { .file = s->job->name, .line = s->line,
                   .column = (uint32_t)(s->at - s->line_start) + 1 };
    diag(s->job->sink, DIAG_ERROR, &at, "MLIR", "%s: expected %s", rotation, what);
    return false;
}

/* ---- the input ------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* Past a string, a comment, a word or one other character. */
static void skip_token(Scan *s)
{
    const char *p = s->at++;
    if (*p == '"') {
        while (s->at < s->end && *s->at != '"' && *s->at != '\n')
            s->at += *s->at == '\\' && s->at + 1 < s->end ? 2 : 1;
        s->at += s->at < s->end;
    } else if (*p == '/' && s->at < s->end && *s->at == '/') {
        while (s->at < s->end && *s->at != '\n')
            s->at++;
    } else if (is_word(*p)) {
        while (s->at < s->end && is_word(*s->at))
            s->at++;
    }
}

static void skip_blank(Scan *s)
{
    while (s->at < s->end && (isspace((unsigned char)*s->at) ||
                              (*s->at == '/' && s->end - s->at > 1 && s->at[1] == '/')))
        skip_token(s);
}

/* To the next `stop` outside brackets; "->" stands for itself, '>' closes otherwise. */
static bool find(Scan *s, const char *stop)
{
    size_t n = strlen(stop);
    int depth = 0;
    while (s->at < s->end) {
        bool arrow = s->end - s->at > 1 && s->at[0] == '-' && s->at[1] == '>';
        if (depth == 0 && (size_t)(s->end - s->at) >= n && !memcmp(s->at, stop, n))
            return true;
        if (arrow) {
            s->at += 2;
            continue;
        }
        depth += strchr("{(<[", *s->at) ? 1 : strchr("})>]", *s->at) ? -1 : 0;
        if (depth < 0)
            return false;
        skip_token(s);
    }
    return false;
}

/* %name, %name#2 */
static bool skip_operand(Scan *s)
{
    skip_blank(s);
    if (s->at >= s->end || *s->at != '%')
        return expected(s, "an operand");
    s->at++;
    while (s->at < s->end && (is_word(*s->at) || *s->at == '-' || *s->at == '#'))
        s->at++;
    return true;
}

/* The rotation whose name was just passed. */
static bool rotate(Scan *s, const char *name)
{
    replace(s, name, sizeof rotation - 1, "\"" ROTATE "\"(");
    for (int i = 0; i < 3; i++) {
        if (!skip_operand(s))
            return false;
        const char *behind = s->at;
        skip_blank(s);
        if (i == 2)
            replace(s, behind, 0, ")");
        else if (s->at < s->end && *s->at == ',')
            s->at++;
        else
            return expected(s, "',' and another operand: two matrices and an offset");
    }
    if (!find(s, ":"))
        return expected(s, "':' and the operands' types");
    s->at++;
    replace(s, s->at, 0, " (");
    if (!find(s, "->"))
        return expected(s, "'->' and the result's type");
    replace(s, s->at, 0, ") ");
    s->at += 2;
    return true;
}

const char *syntax_generic(Job *j, const char *text, size_t size, size_t *out_size)
{
    Scan s = { .job = j, .at = text, .end = text + size, .done = text, .line_start = text,
               .line = 1 };
    const char quoted[] = "\"gpu.subgroup_mma_rotate\"";
    while (s.at < s.end) {
        const char *token = s.at;
        skip_token(&s);
        size_t n = (size_t)(s.at - token);
        if (n == sizeof rotation - 1 && !memcmp(token, rotation, n)) {
            if (!rotate(&s, token))
                return NULL;
        } else if (n == sizeof quoted - 1 && !memcmp(token, quoted, n)) {
            replace(&s, token, n, "\"" ROTATE "\"");
        }
    }
    copy_to(&s, s.end);
    *out_size = s.out.len;
    return s.out.data ? s.out.data : "";
}
