/* SPDX-License-Identifier: MIT
 *
 * In: the texts of the source and of what it includes. Out: tokens, positions, diagnostics.
 *
 * All texts lie end to end in one space of positions, so that a position is one number. Texts end
 * with a NUL, where the lexer stops; a NUL within a text is an ordinary character. Lines that end
 * in a backslash are joined when a text is added, and the line breaks follow the joined line, so
 * that line numbers stay what they are (C99, 5.1.1.2).
 */
#include "front/opencl/internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEPTH = 400 };

/* ---- texts and positions --------------------------------------------------------------------- */

/* How many characters a line break after a backslash takes; 0: it is none. */
static size_t splice(const char *s, const char *end)
{
    if (*s != '\\')
        return 0;
    const char *p = s + 1;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p < end && *p == '\r')
        p++;
    return p < end && *p == '\n' ? (size_t)(p + 1 - s) : 0;
}

static const char *joined(Ocl *o, const char *text, size_t *size)
{
    char *out = arena_alloc(o->arena, *size + 2), *q = out;
    const char *end = text + *size;
    size_t owed = 0;
    for (const char *p = text; p < end;) {
        size_t n = splice(p, end);
        if (n) {
            owed++;
            p += n;
            continue;
        }
        *q++ = *p;
        for (; owed && *p == '\n'; owed--)
            *q++ = '\n';
        p++;
    }
    *size = (size_t)(q - out);
    return out;
}

OclFile *ocl_add_file(Ocl *o, const char *name, const char *text, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf"; /* UTF-8's byte order mark */
    OclFile *f = NEW(o->arena, OclFile);
    if (size >= 3 && !memcmp(text, mark, 3)) {
        text += 3;
        size -= 3;
    }
    if (size > UINT32_MAX / 4 || size > UINT32_MAX / 2 - o->next_loc) {
        arena_fail(o->arena);
        size = 0;
    }
    f->text = joined(o, text, &size);
    f->name = name;
    f->size = (uint32_t)size;
    f->start = o->next_loc;
    o->next_loc += f->size + 2;
    vec_push(o->arena, &f->lines, 0);
    for (uint32_t i = 0; i < f->size; i++) {
        if (f->text[i] == '\n')
            vec_push(o->arena, &f->lines, i + 1);
    }
    vec_push(o->arena, &o->files, f);
    return f;
}

OclFile *ocl_file_of(Ocl *o, OclLoc loc)
{
    uint32_t low = 0, high = o->files.len;
    if (!loc || !high)
        return NULL;
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        *(o->files.data[mid]->start <= loc ? &low : &high) = mid;
    }
    return o->files.data[low];
}

uint32_t ocl_line_of(const OclFile *f, OclLoc loc)
{
    uint32_t offset = loc - f->start, low = 0, high = f->lines.len;
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        *(f->lines.data[mid] <= offset ? &low : &high) = mid;
    }
    return low;
}

DiagLoc ocl_position(Ocl *o, OclLoc loc)
{
    OclFile *f = ocl_file_of(o, loc);
    if (!f)
        return (DiagLoc){ .file = o->name };
    uint32_t low = ocl_line_of(f, loc);
    DiagLoc d = { .file = f->name,
                  .line = low + 1,
                  .column = loc - f->start - f->lines.data[low] + 1 };
    for (uint32_t i = f->marks.len; i-- > 0;) {
        const OclLineMark *m = &f->marks.data[i];
        if (m->line <= low + 1) {
            d.line = m->presumed + (low + 1 - m->line);
            d.file = m->name ? m->name : d.file;
            break;
        }
    }
    return d;
}

/* ---- diagnostics ----------------------------------------------------------------------------- */

#define REPORT(severity)                                                                           \
    DiagLoc at = ocl_position(o, loc);                                                             \
    va_list args;                                                                                  \
    va_start(args, fmt);                                                                           \
    diag_v(o->sink, severity, &at, NULL, fmt, args);                                               \
    va_end(args)

/* Ends the token stream, including the current token, so that everything that reads to the end
 * stops. */
void ocl_stop(Ocl *o)
{
    o->stop = true;
    o->tok.kind = T_EOF;
    o->has_ahead = false;
}

/* After twenty errors the rest of the source is skipped: the tokens end. */
void ocl_error(Ocl *o, OclLoc loc, const char *fmt, ...)
{
    if (o->stop) /* what follows is of that */
        return;
    REPORT(DIAG_ERROR);
    o->n_errors++;
    if (o->n_errors >= 20)
        ocl_stop(o);
}

void ocl_warning(Ocl *o, OclLoc loc, const char *fmt, ...) { REPORT(DIAG_WARNING); }

void ocl_note(Ocl *o, OclLoc loc, const char *fmt, ...) { REPORT(DIAG_NOTE); }

bool ocl_enter(Ocl *o, OclLoc loc)
{
    if (++o->depth <= MAX_DEPTH)
        return true;
    if (!o->stop)
        ocl_error(o, loc, "nested too deeply: more than %d levels", MAX_DEPTH);
    ocl_stop(o);
    return false;
}

void ocl_leave(Ocl *o) { o->depth--; }

/* ---- identifiers ----------------------------------------------------------------------------- */

static void grow_idents(Ocl *o)
{
    uint32_t cap = o->cap_idents ? o->cap_idents * 2 : 1024;
    OclIdent **table = NEW_ARRAY(o->arena, OclIdent *, cap);
    for (uint32_t i = 0; i < o->cap_idents; i++) {
        for (OclIdent *id = o->idents[i], *next; id; id = next) {
            next = id->next;
            OclIdent **at = &table[hash_bytes(id->name, id->len, 0) & (cap - 1)];
            id->next = *at;
            *at = id;
        }
    }
    o->idents = table;
    o->cap_idents = cap;
}

OclIdent *ocl_intern(Ocl *o, const char *name, size_t len)
{
    if (o->n_idents >= o->cap_idents)
        grow_idents(o);
    OclIdent **at = &o->idents[hash_bytes(name, len, 0) & (o->cap_idents - 1)];
    for (OclIdent *id = *at; id; id = id->next) {
        if (id->len == len && !memcmp(id->name, name, len))
            return id;
    }
    OclIdent *id = NEW(o->arena, OclIdent);
    *id = (OclIdent){ .name = arena_strndup(o->arena, name, len),
                      .len = (uint32_t)len,
                      .keyword = T_IDENT,
                      .next = *at };
    o->n_idents++;
    return *at = id;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static const char *const names[N_TOKENS] = {
    "the end of the file", "an identifier", "a number", "a character", "a string", "a character",
#define PUNCTUATOR(name, text) "'" text "'",
#define KEYWORD(name, text)    "'" text "'",
#include "front/opencl/tokens.def"
};

const char *ocl_token_name(OclTok kind) { return kind < N_TOKENS ? names[kind] : ""; }

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Past white space and comments; tells whether there was any, and a line break among it. */
static const char *skip(Ocl *o, OclLexer *l, const char *p, uint8_t *flags)
{
    const char *end = l->file->text + l->file->size;
    for (;;) {
        if (*p == '\n') {
            *flags |= TF_LINE;
            p++;
        } else if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\f' || *p == '\v') {
            *flags |= TF_SPACE;
            p++;
        } else if (p[0] == '/' && p[1] == '/') {
            while (p < end && *p != '\n')
                p++;
        } else if (p[0] == '/' && p[1] == '*') {
            const char *close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
            if (!close) {
                ocl_error(o, l->file->start + (OclLoc)(p - l->file->text),
                          "comment without an end");
                return end;
            }
            *flags |= TF_SPACE | (memchr(p, '\n', (size_t)(close - p)) ? TF_LINE : 0);
            p = close + 2;
        } else {
            return p;
        }
    }
}

/* Past a literal in quotes, which ends with its line at the latest. */
static const char *quoted(Ocl *o, OclLexer *l, const char *p)
{
    const char *start = p, *end = l->file->text + l->file->size;
    char quote = *p++;
    while (p < end && *p != quote && *p != '\n')
        p += *p == '\\' && p + 1 < end && p[1] != '\n' ? 2 : 1;
    if (p < end && *p == quote)
        return p + 1;
    if (!o->any_text && !ocl_skipping(o))
        ocl_error(o, l->file->start + (OclLoc)(start - l->file->text),
                  "missing %c at the end of the line", quote);
    return p;
}

static const char *lex_number(const char *p)
{
    for (;; p++) {
        bool sign = (*p == '+' || *p == '-') && strchr("eEpP", p[-1]);
        if (!is_letter(*p) && !is_digit(*p) && *p != '.' && !sign)
            return p;
    }
}

static OclTok punctuator(const char *p, uint32_t *len)
{
    static const struct {
        const char text[5];
        uint8_t kind, len;
    } table[] = {
#define PUNCTUATOR(name, text) { text, P_##name, sizeof(text) - 1 },
#define DIGRAPH                PUNCTUATOR
#include "front/opencl/tokens.def"
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (*p == table[i].text[0] && !strncmp(p, table[i].text, table[i].len)) {
            *len = table[i].len;
            return table[i].kind;
        }
    }
    for (*len = 1; (p[*len] & 0xc0) == 0x80; ++*len) /* UTF-8 stays whole */
        ;
    return T_OTHER;
}

void ocl_lex(Ocl *o, OclLexer *l, OclToken *out)
{
    uint8_t flags = l->at_line ? TF_LINE : 0;
    const char *p = skip(o, l, l->at, &flags), *start = p;
    OclTok kind;
    uint32_t len;
    *out = (OclToken){ .flags = flags,
                       .text = p,
                       .loc = l->file->start + (OclLoc)(p - l->file->text) };
    l->at_line = false;
    if (p >= l->file->text + l->file->size) {
        l->at = p;
        return;
    }
    if (is_letter(*p)) {
        while (is_letter(*p) || is_digit(*p))
            p++;
        kind = T_IDENT;
        out->ident = ocl_intern(o, start, (size_t)(p - start));
    } else if (is_digit(*p) || (*p == '.' && is_digit(p[1]))) {
        p = lex_number(p + 1);
        kind = T_NUMBER;
    } else if (*p == '"' || *p == '\'') {
        kind = *p == '"' ? T_STRING : T_CHAR;
        p = quoted(o, l, p);
    } else {
        kind = punctuator(p, &len);
        p += len;
    }
    out->kind = kind;
    out->len = (uint32_t)(p - start);
    l->at = p;
}
