/* SPDX-License-Identifier: MIT
 *
 * Text in the notation of spirv-as -> module. One instruction a line (a string may go over
 * several), `;` begins a comment; %12 is id 12, other names get the ids that are left, in the order
 * they come. Comments at the top say version, generator, bound and byte order, as spv_disassemble
 * writes them. Operands follow ops.def's lists, as in walk.c. The resulting words go through the
 * reader, which reports errors with the line that they came from.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "spirv/internal.h"

typedef enum TokenKind { TOKEN_END, TOKEN_LINE_END, TOKEN_WORD, TOKEN_STRING } TokenKind;

typedef struct Token {
    TokenKind kind;
    const char *text; /* NUL-terminated; of a string: what is between the quotes, unescaped */
    uint32_t size, line, column;
} Token;

typedef struct Asm {
    Arena *arena;
    DiagSink *sink;
    const char *name; /* of the text */
    const char *text;
    size_t size, pos;
    uint32_t line;
    size_t line_start;
    Token token; /* the next one */
    bool failed;
    bool in_params;      /* of a mask's bit or an enumeration's value */
    Map ids;             /* hash of a name -> its id */
    Map types, ext_sets; /* id -> type id of a result; import -> SPV_SET_* */
    Map numbers;         /* number type id -> where its words are */
    Map taken;           /* numeric ids of the text */
    Map ops, enumerants; /* hash of a name -> opcode; of kind and name -> value */
    SpvId next_id, max_id;
    VEC(uint32_t) words;
    VEC(uint32_t) lines; /* by instruction */
} Asm;

static bool asm_fail(Asm *a, const Token *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool asm_fail(Asm *a, const Token *at, const char *fmt, ...)
{
    DiagLoc loc = { .file = a->name, .line = at->line, .column = at->column };
    va_list args;
    va_start(args, fmt);
    if (!a->failed)
        diag_v(a->sink, DIAG_ERROR, &loc, NULL, fmt, args);
    va_end(args);
    a->failed = true;
    return false;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static int peek(const Asm *a) { return a->pos < a->size ? (unsigned char)a->text[a->pos] : -1; }

static void new_line(Asm *a)
{
    a->line++;
    a->line_start = a->pos;
}

static void read_string(Asm *a, Token *t)
{
    Str s = { 0 };
    str_add(a->arena, &s, "");
    for (a->pos++; peek(a) != '"'; a->pos++) {
        if (peek(a) == '\\' && a->pos + 1 < a->size)
            a->pos++;
        int c = peek(a);
        if (c <= 0) {
            asm_fail(a, t, c ? "the string is not closed" : "the string holds a NUL");
            return;
        }
        str_addn(a->arena, &s, a->text + a->pos, 1);
        if (c == '\n') {
            a->line++;
            a->line_start = a->pos + 1;
        }
    }
    a->pos++;
    t->text = s.data;
    t->size = s.len;
}

static bool is_space(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

static void next_token(Asm *a)
{
    while (is_space(peek(a)))
        a->pos++;
    if (peek(a) == ';')
        while (peek(a) >= 0 && peek(a) != '\n')
            a->pos++;
    Token t = { .line = a->line, .column = (uint32_t)(a->pos - a->line_start) + 1 };
    int c = peek(a);
    if (c < 0) {
        t.kind = TOKEN_END;
    } else if (c == '\n') {
        t.kind = TOKEN_LINE_END;
        a->pos++;
        new_line(a);
    } else if (c == '"') {
        t.kind = TOKEN_STRING;
        t.text = "";
        read_string(a, &t);
    } else {
        size_t start = a->pos;
        t.kind = TOKEN_WORD;
        for (; c >= 0 && c != '\n' && c != ';' && c != '"' && !is_space(c); c = peek(a))
            a->pos++;
        t.text = arena_strndup(a->arena, a->text + start, a->pos - start);
        t.size = (uint32_t)(a->pos - start);
    }
    a->token = t;
}

static bool at_word(const Asm *a) { return a->token.kind == TOKEN_WORD; }
static bool at_operand(const Asm *a) { return at_word(a) || a->token.kind == TOKEN_STRING; }

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t hash_name(const char *s, uint64_t seed) { return hash_bytes(s, strlen(s), seed); }

static void index_names(Asm *a)
{
    uint32_t n, value;
    const SpvOpInfo *ops = spv_all_ops(&n);
    const char *alias;
    uint16_t op;
    uint8_t kind;
    for (uint32_t k = 0; k < n; k++)
        map_put(a->arena, &a->ops, hash_name(ops[k].name, 0), ops[k].op);
    for (uint32_t k = 0; spv_op_alias(k, &alias, &op); k++)
        map_put(a->arena, &a->ops, hash_name(alias, 0), op);
    for (uint32_t k = 0; k < SPV_N_OPERAND_KINDS; k++) {
        const SpvEnumerant *e = spv_enumerants((uint8_t)k, &n);
        for (uint32_t x = 0; x < n; x++)
            map_put(a->arena, &a->enumerants, hash_name(e[x].name, k), e[x].value);
    }
    for (uint32_t k = 0; spv_enum_alias(k, &kind, &alias, &value); k++)
        map_put(a->arena, &a->enumerants, hash_name(alias, kind), value);
}

/* %12 -> 12; 0 and false for another name. */
static bool numeric_id(const char *name, SpvId *id)
{
    uint64_t x = 0;
    if (!*name || strlen(name) > 9)
        return false;
    for (; *name; name++) {
        if (!isdigit((unsigned char)*name))
            return false;
        x = x * 10 + (uint64_t)(*name - '0');
    }
    *id = (SpvId)x;
    return x < SPV_MAX_BOUND;
}

/* The text's numeric ids, so that names do not get them; leaves the cursor at the start again. */
static void find_numeric_ids(Asm *a)
{
    SpvId id;
    for (next_token(a); a->token.kind != TOKEN_END && !a->failed; next_token(a))
        if (at_word(a) && a->token.text[0] == '%' && numeric_id(a->token.text + 1, &id))
            map_put(a->arena, &a->taken, id, 1);
    a->pos = a->line_start = 0;
    a->line = 1;
}

static bool parse_id(Asm *a, SpvId *id)
{
    Token t = a->token;
    uint64_t found;
    if (!at_word(a) || t.text[0] != '%' || !t.text[1])
        return asm_fail(a, &t, "an id such as %%name is wanted");
    for (const char *c = t.text + 1; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.' && *c != '$')
            return asm_fail(a, &t, "'%s' is no id: letters, digits and _ make one", t.text);
    if (!numeric_id(t.text + 1, id)) {
        uint64_t key = hash_name(t.text, 0);
        if (map_get(&a->ids, key, &found)) {
            *id = (SpvId)found;
        } else {
            while (map_get(&a->taken, a->next_id, &found))
                a->next_id++;
            *id = a->next_id++;
            map_put(a->arena, &a->ids, key, *id);
        }
    }
    if (*id >= SPV_MAX_BOUND)
        return asm_fail(a, &t, "too many ids");
    a->max_id = MAX(a->max_id, *id);
    next_token(a);
    return true;
}

static void push(Asm *a, uint32_t word) { vec_push(a->arena, &a->words, word); }

/* ---- literals -------------------------------------------------------------------------------- */

static bool parse_string(Asm *a)
{
    Token t = a->token;
    if (t.kind != TOKEN_STRING)
        return asm_fail(a, &t, "a string in quotes is wanted");
    for (uint32_t k = 0; k <= t.size; k += 4) {
        uint32_t word = 0;
        memcpy(&word, t.text + k, MIN(4, t.size - k));
        push(a, word);
    }
    next_token(a);
    return true;
}

/* !0x12345678: a word as it is. */
static bool parse_raw(Asm *a)
{
    uint32_t words[2];
    if (!spv_parse_number((SpvNumber){ .bits = 32 }, a->token.text + 1, words))
        return asm_fail(a, &a->token, "'%s' is no 32-bit number", a->token.text);
    push(a, words[0]);
    next_token(a);
    return true;
}

static bool parse_number(Asm *a, SpvNumber n)
{
    uint32_t words[2], count;
    if (!at_word(a))
        return asm_fail(a, &a->token, "a number is wanted");
    if (a->token.text[0] == '!')
        return parse_raw(a);
    count = spv_parse_number(n, a->token.text, words);
    if (!count)
        return asm_fail(a, &a->token, "'%s' is not a %s number of %u bits", a->token.text,
                        n.is_float    ? "floating-point"
                        : n.is_signed ? "signed"
                                      : "whole",
                        n.bits);
    for (uint32_t k = 0; k < count; k++)
        push(a, words[k]);
    next_token(a);
    return true;
}

/* An integer of 32 bits whose signedness the grammar does not tell; those that loop controls,
 * decorations and such bring along are all unsigned. */
static bool parse_integer(Asm *a)
{
    if (a->in_params && at_word(a) && a->token.text[0] == '-')
        return asm_fail(a, &a->token, "'%s' is negative; this literal is unsigned", a->token.text);
    SpvNumber n = { .bits = 32, .is_signed = at_word(a) && a->token.text[0] == '-' };
    return parse_number(a, n);
}

static bool number_type(const Asm *a, SpvId type, SpvNumber *n)
{
    uint64_t packed;
    if (!map_get(&a->numbers, type, &packed))
        return false;
    *n = spv_number((uint16_t)a->words.data[packed], a->words.data + packed + 2,
                    (a->words.data[packed] >> 16) - 2);
    return true;
}

/* ---- operands -------------------------------------------------------------------------------- */

typedef struct Line {
    const SpvOpInfo *info;
    Token at;
    uint32_t start; /* of its words */
    SpvId type, result;
    uint8_t ext_set;
} Line;

static bool parse_enumerant(Asm *a, uint8_t kind, const char *name, uint32_t *value)
{
    uint64_t found;
    if (!map_get(&a->enumerants, hash_name(name, kind), &found)) {
        char *end, why[SPV_WHY_LENGTH];
        uint32_t bit = (uint32_t)strtoul(name, &end, 0);
        if (*end || end == name || !spv_kind_is_mask(kind))
            return asm_fail(a, &a->token, "'%s' is no %s", name, spv_kind_name(kind));
        spv_unknown_bit(why, kind, bit);
        return asm_fail(a, &a->token, "%s", why);
    }
    *value = (uint32_t)found;
    return true;
}

static bool parse_operands(Asm *a, Line *l, const SpvOperandInfo *list, uint32_t n);

static bool parse_params(Asm *a, Line *l, uint8_t kind, uint32_t value)
{
    const SpvEnumerant *e = spv_enumerant(kind, value);
    bool outer = a->in_params;
    a->in_params = true;
    bool good = !e || !e->n_params || parse_operands(a, l, e->params, e->n_params);
    a->in_params = outer;
    return good;
}

static bool parse_mask(Asm *a, Line *l, uint8_t kind)
{
    uint32_t mask = 0, bit = 0;
    if (!at_word(a))
        return asm_fail(a, &a->token, "a %s is wanted", spv_kind_name(kind));
    char *text = arena_strdup(a->arena, a->token.text);
    for (char *name = text, *end; name; name = end) {
        end = strchr(name, '|');
        if (end)
            *end++ = 0;
        if (strcmp(name, "None") && !parse_enumerant(a, kind, name, &bit))
            return false;
        if (strcmp(name, "None"))
            mask |= bit;
    }
    next_token(a);
    push(a, mask);
    for (; mask; mask &= mask - 1)
        if (!parse_params(a, l, kind, mask & -mask))
            return false;
    return true;
}

static bool parse_value(Asm *a, Line *l, uint8_t kind)
{
    uint32_t value = 0;
    if (!at_word(a))
        return asm_fail(a, &a->token, "a %s is wanted", spv_kind_name(kind));
    if (!parse_enumerant(a, kind, a->token.text, &value))
        return false;
    next_token(a);
    push(a, value);
    return parse_params(a, l, kind, value);
}

/* OpSpecConstantOp's opcode, without Op, and that instruction's operands. */
static bool parse_nested_op(Asm *a, Line *l)
{
    uint64_t op;
    if (!at_word(a))
        return asm_fail(a, &a->token, "an opcode is wanted");
    const char *prefix = strncmp(a->token.text, "Op", 2) ? "Op" : "";
    const char *name = arena_printf(a->arena, "%s%s", prefix, a->token.text);
    const SpvOpInfo *info =
        map_get(&a->ops, hash_name(name, 0), &op) ? spv_op_info((uint16_t)op) : NULL;
    if (!info || !info->has_type || !info->has_result || info->flags & SPV_OPF_CONSTANT)
        return asm_fail(a, &a->token, "'%s' cannot be used in OpSpecConstantOp", a->token.text);
    push(a, info->op);
    next_token(a);
    return parse_operands(a, l, info->operands, info->n_operands);
}

static bool parse_ext_inst(Asm *a, Line *l)
{
    uint32_t n;
    const SpvExtInst *all = spv_ext_insts(l->ext_set, &n), *e = NULL;
    if (!at_word(a))
        return asm_fail(a, &a->token, "an instruction of the set is wanted");
    for (uint32_t k = 0; k < n && !e; k++)
        if (!strcmp(all[k].name, a->token.text))
            e = &all[k];
    const SpvOperandInfo ids = { SPV_OPERAND_IdRef, SPV_ANY, "" };
    const char *set = spv_set_name(l->ext_set);
    bool all_ids = !e || !strncmp(set, "NonSemantic.", 12);
    if (!e && !isdigit((unsigned char)a->token.text[0]))
        return asm_fail(a, &a->token, "%s has no instruction '%s'", set ? set : "the unknown set",
                        a->token.text);
    if (!e) {
        if (!parse_integer(a))
            return false;
    } else {
        push(a, e->number);
        next_token(a);
    }
    return all_ids ? parse_operands(a, l, &ids, 1)
                   : parse_operands(a, l, e->operands, e->n_operands);
}

static bool parse_constant(Asm *a, Line *l)
{
    SpvNumber n = { .bits = 32 };
    bool known = number_type(a, l->type, &n);
    if (at_word(a) && a->token.text[0] == '!') {
        while (at_word(a) && a->token.text[0] == '!')
            if (!parse_raw(a))
                return false;
        return true;
    }
    if (!known)
        return asm_fail(a, &l->at, "the type of %s is no number", l->info->name);
    return parse_number(a, n);
}

static bool parse_selector_literal(Asm *a, Line *l)
{
    SpvNumber n = { .bits = 32, .is_signed = at_word(a) && a->token.text[0] == '-' };
    uint64_t type;
    if (a->words.len > l->start + 1 && map_get(&a->types, a->words.data[l->start + 1], &type))
        number_type(a, (SpvId)type, &n);
    return parse_number(a, n);
}

static bool parse_operand(Asm *a, Line *l, uint8_t kind)
{
    SpvId id;
    uint32_t unused;
    uint64_t set;
    switch (kind) {
    case SPV_OPERAND_LiteralString: return parse_string(a);
    case SPV_OPERAND_LiteralInteger: return parse_integer(a);
    case SPV_OPERAND_LiteralFloat:
        return parse_number(a, (SpvNumber){ .bits = 32, .is_float = true });
    case SPV_OPERAND_LiteralContextDependentNumber: return parse_constant(a, l);
    case SPV_OPERAND_LiteralSpecConstantOpInteger: return parse_nested_op(a, l);
    case SPV_OPERAND_LiteralExtInstInteger: return parse_ext_inst(a, l);
    case SPV_OPERAND_PairIdRefIdRef:
        return parse_operand(a, l, SPV_OPERAND_IdRef) && parse_operand(a, l, SPV_OPERAND_IdRef);
    case SPV_OPERAND_PairIdRefLiteralInteger:
        return parse_operand(a, l, SPV_OPERAND_IdRef) && parse_integer(a);
    case SPV_OPERAND_PairLiteralIntegerIdRef:
        return parse_selector_literal(a, l) && parse_operand(a, l, SPV_OPERAND_IdRef);
    default: break;
    }
    if (spv_kind_is_mask(kind))
        return parse_mask(a, l, kind);
    if (spv_enumerants(kind, &unused))
        return parse_value(a, l, kind);
    if (!parse_id(a, &id))
        return false;
    push(a, id);
    if (map_get(&a->ext_sets, id, &set))
        l->ext_set = (uint8_t)set;
    return true;
}

static bool parse_operands(Asm *a, Line *l, const SpvOperandInfo *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k].times == SPV_ANY) {
            while (at_operand(a))
                if (!parse_operand(a, l, list[k].kind))
                    return false;
            continue;
        }
        if (!at_operand(a)) {
            if (list[k].times == SPV_OPTIONAL)
                continue;
            return asm_fail(a, &a->token, "%s lacks its operand %s", l->info->name,
                            list[k].name[0] ? list[k].name : spv_kind_name(list[k].kind));
        }
        if (!parse_operand(a, l, list[k].kind))
            return false;
        /* The extended instruction took the rest of the line by its own list. */
        if (list[k].kind == SPV_OPERAND_LiteralExtInstInteger)
            return true;
    }
    return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* What later literals need to know: types of values, widths of types, extended sets. */
static void note_result(Asm *a, const Line *l)
{
    const uint32_t *w = a->words.data + l->start;
    if (!l->result)
        return;
    if (l->type)
        map_put(a->arena, &a->types, l->result, l->type);
    if (l->info->op == SpvOpExtInstImport)
        map_put(a->arena, &a->ext_sets, l->result, spv_set_by_name((const char *)(w + 2)));
    if (l->info->op == SpvOpTypeInt || l->info->op == SpvOpTypeFloat)
        map_put(a->arena, &a->numbers, l->result, l->start);
}

static bool parse_opcode(Asm *a, Line *l, bool has_result)
{
    uint64_t op;
    if (!at_word(a) || !map_get(&a->ops, hash_name(a->token.text, 0), &op))
        return asm_fail(a, &a->token, "'%s' is no instruction", at_word(a) ? a->token.text : "");
    l->info = spv_op_info((uint16_t)op);
    l->at = a->token;
    if (l->info->has_result != has_result)
        return asm_fail(a, &a->token,
                        has_result ? "%s has no result" : "%s has a result: %%name = %s",
                        l->info->name, l->info->name);
    next_token(a);
    return true;
}

static bool parse_instruction(Asm *a)
{
    Line l = { .at = a->token, .start = a->words.len };
    bool has_result = at_word(a) && a->token.text[0] == '%';
    if (has_result) {
        if (!parse_id(a, &l.result))
            return false;
        if (!at_word(a) || strcmp(a->token.text, "="))
            return asm_fail(a, &a->token, "'=' is wanted");
        next_token(a);
    }
    if (!parse_opcode(a, &l, has_result))
        return false;
    push(a, 0);
    if (l.info->has_type) {
        if (!parse_id(a, &l.type))
            return false;
        push(a, l.type);
    }
    if (has_result)
        push(a, l.result);
    if (!parse_operands(a, &l, l.info->operands, l.info->n_operands))
        return false;
    if (at_operand(a))
        return asm_fail(a, &a->token, "more operands than %s takes", l.info->name);
    uint32_t n = a->words.len - l.start;
    if (n > UINT16_MAX)
        return asm_fail(a, &l.at, "the instruction is too long: %u words", n);
    a->words.data[l.start] = n << 16 | l.info->op;
    vec_push(a->arena, &a->lines, l.at.line);
    note_result(a, &l);
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

typedef struct Header {
    uint32_t version, generator, bound, schema;
    bool swapped;
} Header;

/* "; Key: value" at the top of the text; what cannot be understood is a comment like any other. */
static void header_line(Header *h, const char *line)
{
    unsigned x, y;
    if (sscanf(line, "; Version: %9u.%9u", &x, &y) == 2)
        h->version = x << 16 | (y & 255) << 8;
    else if (sscanf(line, "; Generator: 0x%8x", &x) == 1)
        h->generator = x;
    else if (sscanf(line, "; Bound: %9u", &x) == 1)
        h->bound = x;
    else if (sscanf(line, "; Schema: %9u", &x) == 1)
        h->schema = x;
    else if (!strcmp(line, "; Byte order: swapped"))
        h->swapped = true;
}

static Header read_header(Asm *a)
{
    Header h = { .version = 0x10600 };
    for (size_t at = 0; at < a->size && (a->text[at] == ';' || a->text[at] == '\n');) {
        char line[64];
        size_t n = 0;
        for (; at < a->size && a->text[at] != '\n'; at++)
            if (n + 1 < sizeof line && a->text[at] != '\r')
                line[n++] = a->text[at];
        line[n] = 0;
        at++;
        header_line(&h, line);
    }
    return h;
}

SpvModule *spv_assemble(Arena *arena, const char *text, size_t size, const char *name,
                        DiagSink *sink)
{
    Asm a = { .arena = arena,
              .sink = sink,
              .text = text,
              .size = size,
              .line = 1,
              .next_id = 1,
              .name = name ? arena_strdup(arena, name) : NULL };
    Header h = read_header(&a);
    index_names(&a);
    find_numeric_ids(&a);
    uint32_t header[5] = { SpvMagicNumber, h.version, h.generator, 0, h.schema };
    for (uint32_t k = 0; k < COUNT_OF(header); k++)
        push(&a, header[k]);
    bool ok = !a.failed;
    for (next_token(&a); ok && a.token.kind != TOKEN_END;) {
        if (a.token.kind == TOKEN_LINE_END)
            next_token(&a);
        else
            ok = parse_instruction(&a);
    }
    if (!ok || a.failed)
        return NULL;
    a.words.data[3] = MAX(h.bound, a.max_id + 1);
    SpvModule *m = spv_read_words(arena, a.words.data, a.words.len, a.name, a.lines.data, sink);
    if (m)
        m->swapped = h.swapped;
    return m;
}
