/* SPDX-License-Identifier: MIT
 *
 * NumPy's .npy files, versions 1.0, 2.0 and 3.0 (numpy.lib.format). A file is a magic word, a
 * version, the length of a header, the header (a Python dictionary as text: descr,
 * fortran_order, shape) and the elements. bfloat16 and fp8 have no descriptor of NumPy's own:
 * ml_dtypes registers bfloat16 as '<V2', float8_e4m3fn as '<V1' and float8_e5m2 as '<f1', which
 * is what numpy.save then writes; their names are understood too.
 */
#include <stdio.h>

#include "runtime/internal.h"

static const struct {
    const char *descr;
    HeddleType type;
} kinds[] = {
    { "f2", HEDDLE_F16 },  { "f4", HEDDLE_F32 },  { "f8", HEDDLE_F64 },  { "V2", HEDDLE_BF16 },
    { "V1", HEDDLE_E4M3 }, { "f1", HEDDLE_E5M2 }, { "i1", HEDDLE_S8 },   { "i2", HEDDLE_S16 },
    { "i4", HEDDLE_S32 },  { "i8", HEDDLE_S64 },  { "u1", HEDDLE_U8 },   { "u2", HEDDLE_U16 },
    { "u4", HEDDLE_U32 },  { "u8", HEDDLE_U64 },  { "b1", HEDDLE_BOOL },
};

/* ---- the header's dictionary ----------------------------------------------------------------- */

typedef struct Parser {
    const char *name; /* of the file */
    const char *at, *end, *begin;
    DiagSink *sink;
    bool failed;
} Parser;

static void fail(Parser *p, const char *what)
{
    if (p->failed)
        return;
    p->failed = true;
    DiagLoc loc = { .file = p->name };
    diag(p->sink, DIAG_ERROR, &loc, "numpy.lib.format", "%s (header, character %zu)", what,
         (size_t)(p->at - p->begin));
}

static void skip_space(Parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t'))
        p->at++;
}

static bool accept(Parser *p, char c)
{
    skip_space(p);
    if (p->failed || p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static void expect(Parser *p, char c)
{
    char what[] = "'_' expected in the header";
    what[1] = c;
    if (!accept(p, c))
        fail(p, what);
}

static bool accept_word(Parser *p, const char *word)
{
    skip_space(p);
    size_t n = strlen(word);
    if (p->failed || (size_t)(p->end - p->at) < n || memcmp(p->at, word, n))
        return false;
    p->at += n;
    return true;
}

/* A quoted string without escapes, cut to what fits in out. */
static void string(Parser *p, char *out, size_t size)
{
    skip_space(p);
    char quote = p->at < p->end ? *p->at : 0;
    if (quote != '\'' && quote != '"') {
        fail(p, "a string expected in the header");
        return;
    }
    const char *from = ++p->at;
    const char *to = memchr(from, quote, (size_t)(p->end - from));
    if (!to) {
        fail(p, "a string that does not end");
        return;
    }
    snprintf(out, size, "%.*s", (int)MIN((size_t)(to - from), size - 1), from);
    p->at = to + 1;
}

static uint64_t number(Parser *p)
{
    skip_space(p);
    uint64_t v = 0;
    const char *from = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
        if (v > (UINT64_MAX - 9) / 10) {
            fail(p, "a dimension too large");
            return 0;
        }
        v = v * 10 + (uint64_t)(*p->at++ - '0');
    }
    if (p->at == from)
        fail(p, "a number expected in the shape");
    if (p->at < p->end && *p->at == 'L')
        p->at++; /* Python 2 wrote long integers so */
    return v;
}

static void shape(Parser *p, RuntimeNpy *h)
{
    expect(p, '(');
    while (!p->failed && !accept(p, ')')) {
        uint64_t n = number(p);
        if (h->rank == HEDDLE_MAX_RANK) {
            fail(p, "more than 8 dimensions");
            return;
        }
        h->shape[h->rank++] = n;
        if (!accept(p, ',')) {
            expect(p, ')');
            return;
        }
    }
}

/* '<f4', '|u1', '=i8', 'bfloat16'. */
static void describe(Parser *p, RuntimeNpy *h)
{
    char text[32];
    if (accept(p, '[')) {
        fail(p, "an array of records: only arrays of one number type can be used");
        return;
    }
    string(p, text, sizeof text);
    if (p->failed)
        return;
    h->type = heddle_type_from_name(text);
    const char *kind = text;
    if (*kind && strchr("<>|=", *kind))
        h->big_endian = *kind++ == '>';
    for (size_t i = 0; h->type == HEDDLE_NO_TYPE && i < COUNT_OF(kinds); i++) {
        if (!strcmp(kinds[i].descr, kind))
            h->type = kinds[i].type;
    }
    if (h->type != HEDDLE_NO_TYPE)
        return;
    char what[100];
    snprintf(what, sizeof what, "elements of type '%s', which heddle has not", text);
    fail(p, what);
}

static void dictionary(Parser *p, RuntimeNpy *h)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    unsigned seen = 0;
    expect(p, '{');
    while (!p->failed && !accept(p, '}')) {
        char key[20] = "";
        string(p, key, sizeof key);
        expect(p, ':');
        unsigned which = !strcmp(key, "descr")           ? DESCR
                         : !strcmp(key, "fortran_order") ? ORDER
                         : !strcmp(key, "shape")         ? SHAPE
                                                         : 0;
        if (p->failed)
            break;
        if (!which || (seen & which)) {
            fail(p, which ? "a header entry given twice" : "an unknown header entry");
            break;
        }
        seen |= which;
        if (which == DESCR)
            describe(p, h);
        if (which == SHAPE)
            shape(p, h);
        if (which == ORDER) {
            h->fortran_order = accept_word(p, "True");
            if (!h->fortran_order && !accept_word(p, "False"))
                fail(p, "True or False expected");
        }
        if (!accept(p, ',')) {
            expect(p, '}');
            break;
        }
    }
    skip_space(p);
    if (!p->failed && seen != (DESCR | ORDER | SHAPE))
        fail(p, "a header without descr, order or shape");
    if (!p->failed && p->at != p->end)
        fail(p, "text after the header's dictionary");
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool bad_file(DiagSink *sink, const char *name, const char *what)
{
    DiagLoc loc = { .file = name };
    diag(sink, DIAG_ERROR, &loc, "numpy.lib.format", "%s", what);
    return false;
}

/* Elements and bytes of the shape; false when they do not fit in 63 bits. */
static bool measure(RuntimeNpy *h)
{
    uint64_t limit = (uint64_t)INT64_MAX / heddle_type_size(h->type);
    h->count = 1;
    for (uint32_t i = 0; i < h->rank; i++) {
        if (h->shape[i] && h->count > limit / h->shape[i])
            return false;
        h->count *= h->shape[i];
    }
    h->size = h->count * heddle_type_size(h->type);
    return true;
}

bool npy_parse(const void *bytes, size_t size, const char *name, RuntimeNpy *out, DiagSink *sink)
{
    Cursor c = { .data = bytes, .size = size };
    *out = (RuntimeNpy){ 0 };
    const uint8_t *magic = cursor_bytes(&c, 6);
    if (!magic || memcmp(magic, "\x93NUMPY", 6)) {
        return bad_file(sink, name, "not a .npy file (it does not begin with \\x93NUMPY)");
    }
    uint8_t major = cursor_u8(&c), minor = cursor_u8(&c);
    if (c.overrun)
        return bad_file(sink, name, "the file ends within its header");
    if (major < 1 || major > 3 || minor != 0) {
        return bad_file(sink, name, "an unknown .npy version (1.0, 2.0 and 3.0 are known)");
    }
    size_t length = major == 1 ? cursor_u16(&c) : cursor_u32(&c);
    const uint8_t *text = c.overrun ? NULL : cursor_bytes(&c, length);
    if (!text)
        return bad_file(sink, name, "the file ends within its header");
    const char *begin = (const char *)text;
    Parser p = { .name = name, .begin = begin, .at = begin, .end = begin + length, .sink = sink };
    dictionary(&p, out);
    if (p.failed)
        return false;
    out->header_size = c.pos;
    if (!measure(out))
        return bad_file(sink, name, "the shape is too large");
    if (out->size > size - c.pos) {
        DiagLoc loc = { .file = name };
        diag(sink, DIAG_ERROR, &loc, "numpy.lib.format",
             "the file ends early: its shape needs %llu bytes of elements, %llu are there",
             (unsigned long long)out->size, (unsigned long long)(size - c.pos));
        return false;
    }
    return true;
}

/* "(3, 4)", "(3,)", "()". */
static int shape_text(const HeddleArray *a, char *out, size_t size)
{
    int n = snprintf(out, size, "(");
    for (uint32_t i = 0; i < a->rank; i++) {
        n += snprintf(out + n, size - (size_t)n, "%s%llu", i ? ", " : "",
                      (unsigned long long)a->shape[i]);
    }
    return n + snprintf(out + n, size - (size_t)n, a->rank == 1 ? ",)" : ")");
}

size_t npy_header(const HeddleArray *a, char *out)
{
    char dims[HEDDLE_MAX_RANK * 24], text[300];
    const char *descr = "u1"; /* raw bytes */
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (kinds[i].type == a->type)
            descr = kinds[i].descr;
    }
    char order =
        heddle_type_size(a->type) > 1 || descr[0] == 'V' || !strcmp(descr, "f1") ? '<' : '|';
    shape_text(a, dims, sizeof dims);
    int n = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }",
                     order, descr, dims);
    /* Magic, version, length and text with its newline fill a multiple of 64 bytes. */
    size_t total = align_up(10 + (size_t)n + 1, 64), length = total - 10;
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)(length & 0xff);
    out[9] = (char)(length >> 8);
    memset(out + 10, ' ', length);
    memcpy(out + 10, text, (size_t)n);
    out[total - 1] = '\n';
    return total;
}
