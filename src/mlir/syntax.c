/* SPDX-License-Identifier: MIT
 *
 * The operations of the RFC "Add GPU operations to permute data in 2 loaded mma_matrix" never got
 * into MLIR under these names, so MLIR's parser does not know their syntax:
 *
 *     %r = gpu.subgroup_mma_rotate %a, %b, %offset {attributes} : tA, tB, i32 -> tR
 *     %e = gpu.subgroup_mma_extract %a[0] {attributes} : tA -> tE
 *     %r = gpu.subgroup_mma_insert %e, %a[0] {attributes} : tE, tA -> tR
 *     %v = gpu.rotate %e, %offset, %width {attributes} : tE, i32, i32 -> tE
 *
 * Here they get the generic form, which parsers take for operations that nobody registered:
 *
 *     %r = "heddle.subgroup_mma_rotate"(%a, %b, %offset) {attributes} : (tA, tB, i32) -> (tR)
 *     %e = "heddle.subgroup_mma_extract"(%a) {indices = [0], attributes} : (tA) -> (tE)
 *
 * A schedule of the transform dialect (transform.named_sequence, transform.sequence), which
 * transform-interpreter leaves in the module that it has transformed, is left out: its operations
 * belong to extensions of many dialects, and nothing that it says concerns a kernel.
 *
 * Lines stay lines; what was inserted where is noted for the columns of messages.
 */
#include <ctype.h>

#include "mlir/mlir.h"

typedef struct Spelling {
    const char *name, *generic;
    uint32_t n;           /* operands */
    const char *operands; /* what they are, for messages */
    bool indexed;         /* numbers in brackets behind the last operand */
    bool shared;          /* MLIR has another one, whose second operand is a number */
} Spelling;

static const Spelling spellings[] = {
    { "gpu.subgroup_mma_rotate", ROTATE, 3, "two matrices and an offset", false, false },
    { "gpu.subgroup_mma_extract", EXTRACT, 1, "a matrix", true, false },
    { "gpu.subgroup_mma_insert", INSERT, 2, "an element and a matrix", true, false },
    { "gpu.rotate", TURN, 3, "a value, an offset and a width", false, true },
};

typedef struct Scan {
    HmJob *job;
    const Spelling *spelling; /* of the operation that is read */
    const char *at, *end;
    const char *done; /* copied up to there */
    Str out;
    const char *line_start; /* of the source's line that `done` is in */
    uint32_t line;
    uint32_t out_line_start; /* in out */
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
static void replace_text(Scan *s, const char *at, size_t n, const char *text)
{
    copy_to(s, at);
    str_add(s->job->arena, &s->out, text);
    s->done = at + n;
    HmShift shift = { s->line, s->out.len - s->out_line_start + 1,
                      (int32_t)n - (int32_t)strlen(text) };
    vec_push(s->job->arena, &s->job->shifts, shift);
}

static bool expected(Scan *s, const char *what)
{
    copy_to(s, s->at);
    DiagLoc at = { .file = s->job->name,
                   .line = s->line,
                   .column = (uint32_t)(s->at - s->line_start) + 1 };
    diag(s->job->sink, DIAG_ERROR, &at, "MLIR", "%s: expected %s", s->spelling->name, what);
    return false;
}

/* ---- the input ------------------------------------------------------------------------------- */

static bool is_word_char(char c)
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
    } else if (is_word_char(*p)) {
        while (s->at < s->end && is_word_char(*s->at))
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
static bool find_outside(Scan *s, const char *stop)
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
    while (s->at < s->end && (is_word_char(*s->at) || *s->at == '-' || *s->at == '#'))
        s->at++;
    return true;
}

/* [0] and the attributes behind it, of which it becomes one. */
static bool numbers(Scan *s)
{
    skip_blank(s);
    if (s->at >= s->end || *s->at != '[')
        return expected(s, "'[' and the number of an element");
    replace_text(s, s->at++, 0, ") {indices = ");
    if (!find_outside(s, "]"))
        return expected(s, "']' behind the number of an element");
    const char *behind = ++s->at;
    skip_blank(s);
    if (s->at >= s->end || *s->at != '{') {
        replace_text(s, behind, 0, "}");
        return true;
    }
    const char *open = s->at++;
    skip_blank(s);
    replace_text(s, open, 1, s->at < s->end && *s->at == '}' ? "" : ",");
    return find_outside(s, "}") ? s->at++, true : expected(s, "'}' behind attributes");
}

static bool rewrite_operands(Scan *s)
{
    for (uint32_t i = 0; i < s->spelling->n; i++) {
        if (!skip_operand(s))
            return false;
        const char *behind = s->at;
        bool last = i + 1 == s->spelling->n;
        skip_blank(s);
        if (last && s->spelling->indexed)
            return numbers(s);
        if (last)
            replace_text(s, behind, 0, ")");
        else if (s->at < s->end && *s->at == ',')
            s->at++;
        else
            return expected(s, arena_printf(s->job->arena, "',' and another operand: %s",
                                            s->spelling->operands));
    }
    return true;
}

/* The operation whose name was just passed. */
static bool rewrite_op(Scan *s, const char *name)
{
    const char *start = arena_printf(s->job->arena, "\"%s\"(", s->spelling->generic);
    replace_text(s, name, strlen(s->spelling->name), start);
    if (!rewrite_operands(s))
        return false;
    if (!find_outside(s, ":"))
        return expected(s, "':' and the operands' types");
    s->at++;
    replace_text(s, s->at, 0, " (");
    if (!find_outside(s, "->"))
        return expected(s, "'->' and the result's type");
    replace_text(s, s->at, 0, ") ");
    s->at += 2;
    return true;
}

/* Whether what follows the name is MLIR's own operation. */
static bool is_known(const Scan *s)
{
    Scan ahead = *s;
    for (skip_blank(&ahead); ahead.at < ahead.end && *ahead.at != ',';)
        skip_token(&ahead);
    ahead.at += ahead.at < ahead.end;
    skip_blank(&ahead);
    return s->spelling->shared && ahead.at < ahead.end && *ahead.at != '%';
}

/* ---- schedules ------------------------------------------------------------------------------- */

static bool comes(const Scan *s, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(s->end - s->at) >= n && !memcmp(s->at, text, n);
}

/* From an opening bracket to behind the one that closes it, or to the end. */
static void skip_brackets(Scan *s)
{
    static const char *const closing[] = { "()", "{}", "<>", "[]" };
    for (size_t k = 0; k < COUNT_OF(closing) && s->at < s->end; k++)
        if (*s->at == closing[k][0]) {
            s->at++;
            s->at += find_outside(s, closing[k] + 1);
            return;
        }
}

/* !transform.any_op, !transform.op<"func.func">, (types) */
static void skip_type(Scan *s)
{
    skip_blank(s);
    s->at += comes(s, "!");
    if (s->at < s->end && is_word_char(*s->at))
        skip_token(s);
    skip_brackets(s);
}

/* Past a schedule, behind its name: what it takes and gives, its attributes, its body if it has
 * one. */
static void skip_schedule(Scan *s)
{
    for (skip_blank(s); s->at < s->end; skip_blank(s)) {
        if (comes(s, "{")) {
            skip_brackets(s);
            return;
        }
        if (comes(s, "(")) {
            skip_brackets(s);
        } else if (comes(s, "->")) {
            s->at += 2;
            skip_type(s);
        } else if (comes(s, "attributes")) {
            skip_token(s);
            skip_blank(s);
            skip_brackets(s);
        } else if (comes(s, "@") || comes(s, "private") || comes(s, "public") ||
                   comes(s, "failures")) {
            s->at += comes(s, "@");
            skip_token(s);
        } else {
            return; /* declared only */
        }
    }
}

static void leave_out(Scan *s, const char *from)
{
    while (from < s->at) {
        const char *newline = memchr(from, '\n', (size_t)(s->at - from));
        const char *to = newline ? newline : s->at;
        replace_text(s, from, (size_t)(to - from), "");
        from = newline ? newline + 1 : to;
    }
}

static bool is_schedule(const char *token, size_t n)
{
    static const char *const names[] = { "transform.named_sequence", "transform.sequence" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (n == strlen(names[i]) && !memcmp(token, names[i], n))
            return true;
    return false;
}

/* ---- the text -------------------------------------------------------------------------------- */

static const Spelling *spelling_of(const char *token, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        if (n == strlen(spellings[i].name) && !memcmp(token, spellings[i].name, n))
            return &spellings[i];
    }
    return NULL;
}

const char *syntax_generic(HmJob *j, const char *text, size_t size, size_t *out_size)
{
    Scan s = { .job = j,
               .at = text,
               .end = text + size,
               .done = text,
               .line_start = text,
               .line = 1 };
    while (s.at < s.end) {
        const char *token = s.at;
        skip_token(&s);
        size_t n = (size_t)(s.at - token);
        bool quoted = n > 2 && *token == '"';
        s.spelling = quoted ? spelling_of(token + 1, n - 2) : spelling_of(token, n);
        if (s.spelling && quoted && !s.spelling->shared)
            replace_text(&s, token, n, arena_printf(j->arena, "\"%s\"", s.spelling->generic));
        else if (s.spelling && !quoted && !is_known(&s) && !rewrite_op(&s, token))
            return NULL;
        if (is_schedule(token, n)) {
            skip_schedule(&s);
            leave_out(&s, token);
        }
    }
    copy_to(&s, s.end);
    *out_size = s.out.len;
    return s.out.data ? s.out.data : "";
}
