/* SPDX-License-Identifier: MIT
 *
 * In: the table of lines that LLVM wrote into an object (DWARF 4, section 6.2). Out: rows sorted by
 * offset. The object is the compiler's own or one that was stored, so its contents are not trusted:
 * a reader that has come to its end reads zeros.
 */
#include "cpu/machine/lines.h"

#include <stdlib.h>

typedef struct Reader {
    const unsigned char *at, *end;
    bool failed;
} Reader;

static uint64_t fixed(Reader *r, unsigned bytes)
{
    uint64_t x = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->failed = true;
        r->at = r->end;
        return 0;
    }
    for (unsigned k = 0; k < bytes; k++)
        x |= (uint64_t)*r->at++ << 8 * k;
    return x;
}

static uint64_t unsigned_leb(Reader *r)
{
    uint64_t x = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = fixed(r, 1);
        x |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return x;
}

static int64_t signed_leb(Reader *r)
{
    uint64_t x = 0, byte = 0x80;
    unsigned shift = 0;
    for (; byte & 0x80 && shift < 64; shift += 7) {
        byte = fixed(r, 1);
        x |= (byte & 0x7f) << shift;
    }
    return (int64_t)(byte & 0x40 && shift < 64 ? x | ~UINT64_C(0) << shift : x);
}

static const char *text(Reader *r)
{
    const char *s = (const char *)r->at;
    while (fixed(r, 1) && !r->failed)
        ;
    return r->failed ? "" : s;
}

/* ---- the header ------------------------------------------------------------------------------ */

typedef struct Header {
    unsigned min_length, line_range, first_special;
    int line_base;
    const unsigned char *operands; /* by opcode, from 1 on: how many it has */
    const char *folders[64];
    uint32_t n_folders;
} Header;

static bool add_file(CpuLines *l, const Header *h, const char *name, uint64_t folder)
{
    char **more = realloc(l->files, (l->n_files + 1) * sizeof *more);
    if (!more)
        return false;
    l->files = more;
    const char *in = folder && folder <= h->n_folders ? h->folders[folder - 1] : "";
    size_t size = strlen(in) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path)
        return false;
    path[0] = 0;
    if (*in)
        strcat(strcpy(path, in), "/");
    strcat(path, name);
    l->files[l->n_files++] = path;
    return true;
}

static bool read_header(Reader *r, Header *h, CpuLines *l)
{
    enum { VERSION = 4 };
    uint64_t size = fixed(r, 4);
    if (size > (size_t)(r->end - r->at))
        return false;
    r->end = r->at + size;
    bool known = fixed(r, 2) == VERSION;
    uint64_t rest = fixed(r, 4);
    if (!known || rest > (size_t)(r->end - r->at))
        return false;
    const unsigned char *program = r->at + rest;
    h->min_length = (unsigned)fixed(r, 1);
    fixed(r, 2); /* operations an instruction, and whether a row is a statement by default */
    h->line_base = (int8_t)fixed(r, 1);
    h->line_range = (unsigned)fixed(r, 1);
    h->first_special = (unsigned)fixed(r, 1);
    h->operands = r->at - 1;
    for (unsigned k = 1; k < h->first_special; k++)
        fixed(r, 1);
    for (const char *s = text(r); *s; s = text(r))
        if (h->n_folders < COUNT_OF(h->folders))
            h->folders[h->n_folders++] = s;
    for (const char *s = text(r); *s; s = text(r)) {
        uint64_t folder = unsigned_leb(r);
        unsigned_leb(r); /* its time and size, which are 0 */
        unsigned_leb(r);
        if (!add_file(l, h, s, folder))
            return false;
    }
    r->at = program;
    return !r->failed && h->line_range && h->first_special;
}

/* ---- the program ----------------------------------------------------------------------------- */

enum {
    COPY = 1,
    ADVANCE_PC,
    ADVANCE_LINE,
    SET_FILE,
    SET_COLUMN,
    CONST_ADD_PC = 8,
    FIXED_ADVANCE_PC
};
enum { END_SEQUENCE = 1, SET_ADDRESS };

typedef struct State {
    uint64_t offset, file, column;
    int64_t line;
} State;

static bool add_row(CpuLines *l, const State *s, bool end)
{
    if (!(l->n_lines & (l->n_lines - 1))) { /* full, at a power of two */
        CpuLine *more = realloc(l->lines, (2 * l->n_lines + 1) * sizeof *more);
        if (!more)
            return false;
        l->lines = more;
    }
    uint32_t file = s->file && s->file <= l->n_files ? (uint32_t)s->file - 1 : UINT32_MAX;
    bool known = file != UINT32_MAX && s->line > 0 && s->line <= UINT32_MAX && !end;
    l->lines[l->n_lines++] = (CpuLine){ s->offset, known ? file : 0, known ? (uint32_t)s->line : 0,
                                        (uint32_t)s->column };
    return true;
}

static bool extended(Reader *r, CpuLines *l, State *s)
{
    uint64_t size = unsigned_leb(r);
    if (!size || size > (size_t)(r->end - r->at))
        return false;
    const unsigned char *next = r->at + size;
    unsigned op = (unsigned)fixed(r, 1);
    bool good = true;
    if (op == END_SEQUENCE) {
        good = add_row(l, s, true);
        *s = (State){ .file = 1, .line = 1 };
    } else if (op == SET_ADDRESS) {
        s->offset = 0; /* the relocation's, which is the start of the code */
    }
    r->at = next;
    return good;
}

static bool standard(Reader *r, const Header *h, CpuLines *l, State *s, unsigned op)
{
    switch (op) {
    case COPY: return add_row(l, s, false);
    case ADVANCE_PC: s->offset += unsigned_leb(r) * h->min_length; break;
    case ADVANCE_LINE: s->line += signed_leb(r); break;
    case SET_FILE: s->file = unsigned_leb(r); break;
    case SET_COLUMN: s->column = unsigned_leb(r); break;
    case CONST_ADD_PC:
        s->offset += (uint64_t)((255 - h->first_special) / h->line_range) * h->min_length;
        break;
    case FIXED_ADVANCE_PC: s->offset += fixed(r, 2); break;
    default:
        for (unsigned k = h->operands[op]; k; k--)
            unsigned_leb(r);
    }
    return true;
}

bool cpu_lines_read(CpuLines *l, const void *section, size_t size)
{
    Reader r = { section, (const unsigned char *)section + size, false };
    Header h = { 0 };
    if (!read_header(&r, &h, l))
        return false;
    State s = { .file = 1, .line = 1 };
    bool good = true;
    while (good && r.at < r.end && !r.failed) {
        unsigned op = (unsigned)fixed(&r, 1);
        if (op >= h.first_special) {
            unsigned step = op - h.first_special;
            s.offset += (uint64_t)(step / h.line_range) * h.min_length;
            s.line += h.line_base + (int)(step % h.line_range);
            good = add_row(l, &s, false);
        } else {
            good = op ? standard(&r, &h, l, &s, op) : extended(&r, l, &s);
        }
    }
    return good && !r.failed;
}

/* ---- looking up ------------------------------------------------------------------------------ */

const CpuLine *cpu_lines_find(const CpuLines *l, uintptr_t address)
{
    uint64_t offset = address - l->start;
    if (address < l->start || offset >= l->size || !l->n_lines)
        return NULL;
    uint32_t low = 0, high = l->n_lines;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (l->lines[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    const CpuLine *found = &l->lines[low];
    return found->line && found->offset <= offset ? found : NULL;
}

DiagLoc cpu_lines_loc(const CpuLines *l, uintptr_t address)
{
    const CpuLine *x = l ? cpu_lines_find(l, address) : NULL;
    return x ? (DiagLoc){ .file = l->files[x->file], .line = x->line, .column = x->column }
             : (DiagLoc){ 0 };
}

void cpu_lines_free(CpuLines *l)
{
    if (!l)
        return;
    for (uint32_t k = 0; k < l->n_files; k++)
        free(l->files[k]);
    for (uint32_t k = 0; k < l->n_functions; k++)
        free(l->functions[k].name);
    free(l->files);
    free(l->functions);
    free(l->lines);
    free(l);
}
