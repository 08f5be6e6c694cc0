/* SPDX-License-Identifier: MIT
 *
 * json: a reader of RFC 8259 by its grammar, one function a rule. The bytes come through Cursor,
 * which cannot run past the end; nesting is bounded.
 */
#include "lower/json.h"

enum { DEEPEST = 32 };

typedef struct Reader {
    Arena *arena;
    Cursor in;
    const char *file;
    DiagSink *sink;
    uint32_t line, depth;
    bool failed;
} Reader;

static Json *value(Reader *r);

static uint8_t peek(const Reader *r) { return r->in.pos < r->in.size ? r->in.data[r->in.pos] : 0; }

static Json *refuse_text(Reader *r, const char *what)
{
    DiagLoc loc = { .file = r->file, .line = r->line };
    if (!r->failed)
        diag(r->sink, DIAG_ERROR, &loc, "RFC 8259", "%s", what);
    r->failed = true;
    return NULL;
}

static void skip_space(Reader *r)
{
    for (uint8_t c; (c = peek(r)) == ' ' || c == '\t' || c == '\n' || c == '\r';) {
        r->line += c == '\n';
        cursor_u8(&r->in);
    }
}

static bool take(Reader *r, char c)
{
    skip_space(r);
    if (peek(r) != (uint8_t)c)
        return false;
    cursor_u8(&r->in);
    return true;
}

static bool take_word(Reader *r, const char *word)
{
    size_t n = strlen(word);
    if (r->in.size - r->in.pos < n || memcmp(r->in.data + r->in.pos, word, n))
        return false;
    cursor_bytes(&r->in, n);
    return true;
}

static Json *node(Reader *r, JsonKind kind)
{
    Json *j = NEW(r->arena, Json);
    j->kind = kind;
    j->line = r->line;
    return j;
}

static void add_utf8(Reader *r, Str *s, uint32_t c)
{
    char b[3] = { (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63)) };
    char two[2] = { (char)(0xc0 | c >> 6), b[2] }, one = (char)c;
    if (c < 0x80)
        str_addn(r->arena, s, &one, 1);
    else if (c < 0x800)
        str_addn(r->arena, s, two, 2);
    else
        str_addn(r->arena, s, b, 3);
}

static bool escape(Reader *r, Str *s)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint8_t c = cursor_u8(&r->in);
    const char *at = c ? strchr(from, c) : NULL;
    if (at) {
        str_addn(r->arena, s, to + (at - from), 1);
        return true;
    }
    uint32_t code = 0;
    for (uint32_t k = 0; c == 'u' && k < 4; k++) {
        uint8_t h = cursor_u8(&r->in);
        uint32_t digit = h >= '0' && h <= '9'                 ? h - '0'
                         : (h | 32) >= 'a' && (h | 32) <= 'f' ? (h | 32) - 'a' + 10
                                                              : 16;
        if (digit > 15)
            return false;
        code = code << 4 | digit;
    }
    if (c != 'u' || !code || (code >= 0xd800 && code < 0xe000))
        return false;
    add_utf8(r, s, code);
    return true;
}

static const char *string(Reader *r)
{
    Str s = { 0 };
    str_add(r->arena, &s, "");
    while (r->in.pos < r->in.size) {
        uint8_t c = cursor_u8(&r->in);
        if (c == '"')
            return s.data ? s.data : "";
        if (c < 0x20 || (c == '\\' && !escape(r, &s)))
            break;
        if (c != '\\')
            str_addn(r->arena, &s, (const char *)&c, 1);
    }
    refuse_text(r,
                "a string that does not end, or with a character or an escape that it cannot have");
    return NULL;
}

static Json *number(Reader *r)
{
    Json *j = node(r, JSON_NUMBER);
    bool digits = false;
    while (peek(r) >= '0' && peek(r) <= '9' && j->number < UINT64_C(1) << 49) {
        j->number = j->number * 10 + (cursor_u8(&r->in) - '0');
        digits = true;
    }
    uint8_t c = peek(r);
    if (!digits || (c >= '0' && c <= '9') || c == '.' || (c | 32) == 'e')
        return refuse_text(r, "not a value; numbers are whole and not negative here");
    return j;
}

static Json *members(Reader *r, JsonKind kind, char close)
{
    Json *j = node(r, kind), **last = &j->first;
    if (++r->depth > DEEPEST)
        return refuse_text(r, "arrays and objects lie in one another too deep");
    bool done = take(r, close);
    while (!done) {
        const char *name = NULL;
        if (kind == JSON_OBJECT && (!take(r, '"') || !(name = string(r)) || !take(r, ':')))
            return refuse_text(r, "an object's member needs a name in quotes and a colon");
        Json *m = value(r);
        if (!m)
            return NULL;
        m->name = name;
        *last = m;
        last = &m->next;
        done = !take(r, ',');
        if (done && !take(r, close))
            return refuse_text(r, "a comma or the end of the array or object is missing");
    }
    r->depth--;
    return j;
}

static Json *value(Reader *r)
{
    skip_space(r);
    if (take(r, '{'))
        return members(r, JSON_OBJECT, '}');
    if (take(r, '['))
        return members(r, JSON_ARRAY, ']');
    if (take(r, '"')) {
        Json *j = node(r, JSON_STRING);
        j->string = string(r);
        return j->string ? j : NULL;
    }
    bool yes = take_word(r, "true");
    if (yes || take_word(r, "false")) {
        Json *j = node(r, JSON_BOOL);
        j->number = yes;
        return j;
    }
    return take_word(r, "null") ? node(r, JSON_NULL) : number(r);
}

const Json *json_read(Arena *a, const char *text, size_t size, const char *file, DiagSink *sink)
{
    Reader r = { .arena = a,
                 .in = { .data = (const uint8_t *)text, .size = size },
                 .file = file,
                 .sink = sink,
                 .line = 1 };
    Json *j = value(&r);
    skip_space(&r);
    if (j && r.in.pos < r.in.size)
        return refuse_text(&r, "there is something behind the value");
    return j;
}

const Json *json_member(const Json *object, const char *name)
{
    for (const Json *m = object->kind == JSON_OBJECT ? object->first : NULL; m; m = m->next)
        if (!strcmp(m->name, name))
            return m;
    return NULL;
}
