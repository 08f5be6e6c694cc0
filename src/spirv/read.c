/* SPDX-License-Identifier: MIT
 *
 * Bytes -> module, in steps, each of which relies on what the previous ones established:   1.
 * header: byte order, version, bound;   2. split: word counts and opcodes make instructions,
 * results are defined once, below the bound;   3. operands: each instruction has the operands that
 * its opcode asks for, every id is defined;      source positions are noted on the way;   4.
 * layout.c hangs the instructions in functions and blocks;   5. declare.c: types and constants; 6.
 * flow.c: control flow, calls, entry points. A step reports every error that it finds; the next
 * runs only if there were none.
 */
#include "spirv/internal.h"

typedef struct ModuleReader {
    Arena *arena;
    DiagSink *sink;
    const char *name;
    SpvModule *m;
    uint32_t *words;
    size_t n_words;
    const uint32_t *lines;
    SpvInst *insts;
    uint32_t n;
    uint32_t errors; /* sink->errors at the start of the step */
    SpvId file;      /* the position that holds at the current instruction */
    uint32_t line, column;
} ModuleReader;

static void header_error(ModuleReader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void header_error(ModuleReader *r, const char *fmt, ...)
{
    DiagLoc loc = { .file = r->name };
    va_list args;
    va_start(args, fmt);
    diag_v(r->sink, DIAG_ERROR, &loc, "SPIR-V 2.3", fmt, args);
    va_end(args);
}

static bool read_header(ModuleReader *r)
{
    const uint32_t *w = r->words;
    uint32_t version = w[1];
    if (version & 0xff0000ff || version < 0x10000 || version > 0x10600)
        return header_error(r, "SPIR-V version 0x%08x is not one of 1.0 to 1.6", version), false;
    if (w[3] == 0 || w[3] > SPV_MAX_BOUND)
        return header_error(r, "the id bound %u is not in 1..%u", w[3], SPV_MAX_BOUND), false;
    if (w[4] != 0)
        return header_error(r, "the schema is %u, not 0", w[4]), false;
    r->m = spv_module(r->arena, w[3]);
    r->m->version = version;
    r->m->generator = w[2];
    r->m->schema = w[4];
    r->m->name = r->name;
    return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool count_instructions(ModuleReader *r)
{
    size_t at = 5;
    for (r->n = 0; at < r->n_words; r->n++) {
        uint32_t n = r->words[at] >> 16;
        if (!n || n > r->n_words - at) {
            SpvInst bad = { .op = (uint16_t)r->words[at], .index = r->n };
            spv_error(
                r->m, &bad, r->sink, "SPIR-V 2.3",
                n ? "the instruction's %u words reach beyond the module's end (word %zu of %zu)"
                  : "an instruction of %u words (word %zu of %zu)",
                n, at, r->n_words);
            return false;
        }
        at += n;
    }
    return true;
}

/* Result type and result; defines the result. */
static void read_results(ModuleReader *r, SpvInst *i)
{
    SpvModule *m = r->m;
    const SpvOpInfo *info = spv_op_info(i->op);
    if (!info) {
        spv_error(m, i, r->sink, NULL, "unknown opcode %u", i->op);
        return;
    }
    uint32_t need = 1u + info->has_type + info->has_result;
    if (i->n_words < need) {
        spv_error(m, i, r->sink, NULL, "%u words, too few for its result", i->n_words);
        return;
    }
    i->first_operand = (uint16_t)need;
    i->type = info->has_type ? i->words[1] : 0;
    if (!info->has_result)
        return;
    SpvId id = i->words[need - 1];
    if (id == 0 || id >= m->bound) {
        spv_error(m, i, r->sink, "SPIR-V 2.4", "result id %u is not in 1..%u", id, m->bound - 1);
    } else if (m->defs[id]) {
        spv_error(m, i, r->sink, "SPIR-V 2.4", "id %u is defined twice, first by instruction %u",
                  id, m->defs[id]->index);
    } else {
        i->id = id;
        m->defs[id] = i;
    }
}

/* LLVM 22's SPIR-V target writes words behind OpConstantNull of an event, which mean nothing. */
static void trim(const ModuleReader *r, SpvInst *i)
{
    enum { LLVM_TARGET = 43, WANTED = 3 };
    if (i->op != SpvOpConstantNull || i->n_words <= WANTED || r->m->generator >> 16 != LLVM_TARGET)
        return;
    i->n_words = WANTED;
    i->words[0] = (uint32_t)WANTED << 16 | i->op;
}

static bool split_words(ModuleReader *r)
{
    if (!count_instructions(r))
        return false;
    r->insts = NEW_ARRAY(r->arena, SpvInst, r->n ? r->n : 1);
    size_t at = 5;
    for (uint32_t k = 0; k < r->n; k++) {
        SpvInst *i = &r->insts[k];
        i->words = r->words + at;
        i->op = (uint16_t)i->words[0];
        i->n_words = (uint16_t)(i->words[0] >> 16);
        i->first_operand = 1;
        i->index = k;
        i->line = r->lines ? r->lines[k] : 0;
        at += i->n_words;
        trim(r, i);
        read_results(r, i);
    }
    return r->sink->errors == r->errors;
}

/* ---- operands -------------------------------------------------------------------------------- */

static bool check_id(ModuleReader *r, const SpvInst *i, const char *what, SpvId id)
{
    if (spv_def(r->m, id))
        return true;
    if (id == 0 || id >= r->m->bound)
        spv_error(r->m, i, r->sink, "SPIR-V 2.4", "%s is id %u, which is not in 1..%u", what, id,
                  r->m->bound - 1);
    else
        spv_error(r->m, i, r->sink, "SPIR-V 2.4", "%s is id %u, which nothing defines", what, id);
    return false;
}

/* The width of a constant's literal must be that of its type (3.49.9). */
static void check_literal(ModuleReader *r, const SpvInst *i)
{
    const SpvInst *type = spv_def(r->m, i->type);
    bool number = type && (type->op == SpvOpTypeInt || type->op == SpvOpTypeFloat);
    if (!number || type->n_words < 3) {
        spv_error(r->m, i, r->sink, NULL, "its type is neither integer nor floating-point");
        return;
    }
    uint64_t want = MAX(1u, ((uint64_t)spv_operand(type, 0) + 31) / 32);
    if (spv_n_operands(i) != want)
        spv_error(r->m, i, r->sink, NULL, "a literal of %u words for a type of %u bits",
                  spv_n_operands(i), spv_operand(type, 0));
}

static bool check_operand_words(ModuleReader *r, SpvInst *i)
{
    uint32_t before = r->sink->errors;
    if (spv_op_info(i->op)->has_type) {
        const SpvInst *type = spv_def(r->m, i->type);
        if (check_id(r, i, "the result type", i->type) &&
            !(spv_op_info(type->op)->flags & SPV_OPF_TYPE))
            spv_error(r->m, i, r->sink, NULL, "the result type, id %u, is %s, no type", i->type,
                      spv_op_name(type->op));
    }
    spv_set_context(r->m, i);
    SpvWalk w = spv_walk(i);
    /* glslang writes 0 where debug information lacks a type: harmless, since nothing depends on it.
     */
    bool may_be_0 = spv_is_nonsemantic(i);
    for (SpvOperand o; spv_walk_next(&w, &o);)
        if (o.is_id && (i->words[o.word] || !may_be_0))
            check_id(r, i, o.name[0] ? o.name : "an operand", i->words[o.word]);
    if (w.error[0])
        spv_error(r->m, i, r->sink, NULL, "%s", w.error);
    if (i->op == SpvOpConstant || i->op == SpvOpSpecConstant)
        check_literal(r, i);
    return r->sink->errors == before;
}

/* ---- source positions ------------------------------------------------------------------------ */

/* DebugLine's numbers are ids of constants; its source is a DebugSource, which names a file. */
static void read_debug_line(ModuleReader *r, const SpvInst *i)
{
    uint64_t line = 0, column = 0;
    const SpvInst *source = spv_def(r->m, spv_operand(i, 2));
    bool is_source = source && source->op == SpvOpExtInst && spv_n_operands(source) > 2 &&
                     spv_operand(source, 1) == NonSemanticShaderDebugInfo100DebugSource;
    r->file = is_source ? spv_operand(source, 2) : 0;
    spv_constant(r->m, spv_operand(i, 3), &line);
    spv_constant(r->m, spv_operand(i, 5), &column);
    r->line = (uint32_t)line;
    r->column = (uint32_t)column;
}

static void read_position(ModuleReader *r, SpvInst *i)
{
    if (r->lines)
        return;
    bool debug = i->op == SpvOpExtInst && (i->ext_set == SPV_SET_NonSemanticShaderDebugInfo100 ||
                                           i->ext_set == SPV_SET_NonSemanticShaderDebugInfo);
    uint32_t number = debug ? spv_operand(i, 1) : 0;
    if (i->op == SpvOpLine) {
        r->file = spv_operand(i, 0);
        r->line = spv_operand(i, 1);
        r->column = spv_operand(i, 2);
    } else if (number == NonSemanticShaderDebugInfo100DebugLine && spv_n_operands(i) > 5) {
        read_debug_line(r, i);
    } else if (i->op == SpvOpNoLine || number == NonSemanticShaderDebugInfo100DebugNoLine) {
        r->file = r->line = r->column = 0;
    }
    i->file = r->file;
    i->line = r->line;
    i->column = r->column;
    if (spv_op_info(i->op)->flags & SPV_OPF_TERMINATOR || i->op == SpvOpFunctionEnd)
        r->file = r->line = r->column = 0;
}

static bool read_operands(ModuleReader *r)
{
    bool ok = true;
    for (uint32_t k = 0; k < r->n; k++) {
        SpvInst *i = &r->insts[k];
        if (check_operand_words(r, i))
            read_position(r, i);
        else
            ok = false;
    }
    return ok;
}

/* ---- the whole ------------------------------------------------------------------------------- */

SpvModule *spv_read_words(Arena *arena, uint32_t *words, size_t n, const char *name,
                          const uint32_t *lines, DiagSink *sink)
{
    ModuleReader r = { .arena = arena,
                       .sink = sink,
                       .name = name,
                       .words = words,
                       .n_words = n,
                       .lines = lines,
                       .errors = sink->errors };
    bool ok = read_header(&r) && split_words(&r) && read_operands(&r) &&
              spv_lay_out(r.m, r.insts, r.n, sink) && spv_check_declarations(r.m, sink) &&
              spv_check_flow(r.m, sink);
    return ok ? r.m : NULL;
}

SpvModule *spv_read(Arena *arena, const void *data, size_t size, const char *name, DiagSink *sink)
{
    ModuleReader r = { .name = name ? arena_strdup(arena, name) : NULL, .sink = sink };
    Cursor c = { .data = data, .size = size };
    uint32_t magic = cursor_u32(&c);
    if (size < 20 || size % 4)
        return header_error(&r, "%zu bytes are no SPIR-V module", size), NULL;
    if (magic != SpvMagicNumber && magic != __builtin_bswap32(SpvMagicNumber))
        return header_error(&r, "no SPIR-V module: it begins with 0x%08x", magic), NULL;
    c.swap = magic != SpvMagicNumber;
    c.pos = 0;
    size_t n = size / 4;
    uint32_t *words = NEW_ARRAY(arena, uint32_t, n);
    for (size_t k = 0; k < n; k++)
        words[k] = cursor_u32(&c);
    SpvModule *m = spv_read_words(arena, words, n, r.name, NULL, sink);
    if (m)
        m->swapped = c.swap;
    return m;
}
