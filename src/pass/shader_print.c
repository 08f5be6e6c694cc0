/* SPDX-License-Identifier: MIT
 *
 * shader, printf: NonSemantic.DebugPrintf, which Vulkan's validation layers print and drivers pass
 * over. The format is translated: vectors of 8 and 16 are several of four, small numbers are words,
 * lengths are those of 64 bits only, strings (constant ones) become part of it; %c is the
 * character's number, %p the pointer as an integer.
 */
#include "pass/shader.h"

#include <stdlib.h>

typedef struct Print {
    Shader *s;
    const SpvInst *inst;
    Str text;
    VEC(uint32_t) words; /* the instruction's operands */
    uint32_t next;       /* argument */
} Print;

/* %[flags][width][.precision][vN][length]conversion */
typedef struct PrintedConversion {
    const char *head;       /* what stands before the vector's size */
    uint32_t n_head, count; /* components; 1: a scalar */
    char kind;
} PrintedConversion;

static const char *parse_conversion(const char *at, PrintedConversion *c)
{
    *c = (PrintedConversion){ .head = at, .count = 1 };
    at += strspn(at, "-+ #0123456789.");
    c->n_head = (uint32_t)(at - c->head);
    if (*at == 'v')
        c->count = (uint32_t)strtoul(at + 1, (char **)&at, 10);
    at += strspn(at, "hl");
    c->kind = *at;
    return at + (*at != 0);
}

/* As DebugPrintf takes it: numbers of 32 bits or, whole ones and the layer's %l, of 64. */
static SpvId argument(Print *p, SpvId id, bool is_signed)
{
    Shader *s = p->s;
    const SpvInst *def = spv_def(s->m, id);
    const SpvType *t = spv_type_of(s->m, id), *e = shader_scalar(t);
    uint32_t count = t->kind == SPV_VECTOR ? t->count : 1;
    bool is_float = e->kind == SPV_FLOAT;
    bool promoted = def->op == SpvOpFConvert &&
                    shader_scalar(spv_type_of(s->m, spv_operand(def, 0)))->bits == 32;
    if (promoted) /* as C does it */
        return spv_operand(def, 0);
    if (e->bits >= 32)
        return id;
    SpvId wide = is_float ? spv_float_type(s->m, 32) : s->u32;
    wide = count > 1 ? spv_vector_type(s->m, wide, count) : wide;
    return EMIT(s, is_float ? SpvOpFConvert : is_signed ? SpvOpSConvert : SpvOpUConvert, wide, id);
}

static void put_value(Print *p, const PrintedConversion *c, SpvId value)
{
    Shader *s = p->s;
    bool is_signed = c->kind == 'd' || c->kind == 'i' || c->kind == 'c';
    char kind = c->kind == 'c' ? 'd' : c->kind;
    value = argument(p, value, is_signed);
    const SpvType *t = spv_type_of(s->m, value), *e = shader_scalar(t);
    str_printf(s->a, &p->text, "%%%.*s", (int)c->n_head, c->head);
    if (t->kind == SPV_VECTOR)
        str_printf(s->a, &p->text, "v%u", t->count);
    str_printf(s->a, &p->text, "%s%c", e->kind == SPV_INT && e->bits == 64 ? "l" : "", kind);
    vec_push(s->a, &p->words, value);
}

static void put_text(Print *p, const char *text)
{
    for (; *text; text++)
        str_printf(p->s->a, &p->text, *text == '%' ? "%%%%" : "%c", *text);
}

static bool put_conversion(Print *p, const PrintedConversion *c)
{
    Shader *s = p->s;
    for (uint32_t at = 0; at < c->count; at += 4) {
        SpvId id = p->next < spv_n_operands(p->inst) ? spv_operand(p->inst, p->next++) : 0;
        const SpvType *t = id ? spv_type_of(s->m, id) : NULL;
        if (!id)
            return shader_refuse(s, p->inst, "a printf with fewer arguments than its format has");
        if (c->kind == 's') {
            const char *text = shader_text(s, id);
            if (!text)
                return shader_refuse(s, p->inst, "a printf of a string that is not constant");
            put_text(p, text);
            continue;
        }
        if (at)
            str_printf(s->a, &p->text, ",");
        if (t->kind == SPV_POINTER) {
            SpvId pair = shader_pack(s, id);
            id = EMIT(s, SpvOpBitcast, spv_int_type(s->m, 64, false), pair);
        }
        PrintedConversion own = *c;
        own.kind = c->kind == 'p' ? 'x' : c->kind;
        put_value(p, &own, id);
    }
    return true;
}

static SpvId string(Print *p)
{
    uint32_t n = (uint32_t)p->text.len + 1;
    uint32_t *words = NEW_ARRAY(p->s->a, uint32_t, n / 4 + 1);
    memcpy(words, p->text.data, n - 1);
    return shader_global(p->s, SpvOpString, 0, words, (n + 3) / 4);
}

static SpvId import(Shader *s)
{
    static const char set[] = "NonSemantic.DebugPrintf";
    uint32_t words[sizeof set / 4 + 1] = { 0 };
    memcpy(words, set, sizeof set);
    if (!s->debug_printf)
        s->debug_printf = shader_global(s, SpvOpExtInstImport, 0, words, sizeof set / 4);
    return s->debug_printf;
}

ShaderFate shader_print(Shader *s, SpvInst *i, SpvId *to)
{
    enum { DEBUG_PRINTF = 1 };
    Print p = { .s = s, .inst = i, .next = 3 };
    const char *at = shader_text(s, spv_operand(i, 2));
    if (!at)
        return shader_refuse(s, i, "a printf whose format is not constant"), FATE_ERROR;
    for (uint32_t k = 0; k < 3; k++)
        vec_push(s->a, &p.words, 0);
    while (*at) {
        PrintedConversion c;
        if (*at != '%' || at[1] == '%') {
            size_t n = *at == '%' ? 2 : strcspn(at, "%");
            str_printf(s->a, &p.text, "%.*s", (int)n, at);
            at += n;
            continue;
        }
        at = parse_conversion(at + 1, &c);
        if (!c.kind || !strchr("diouxXaAeEfFgGcsp", c.kind) || !c.count || c.count > 16)
            return shader_refuse(s, i, "a printf with such a conversion"), FATE_ERROR;
        if (!put_conversion(&p, &c))
            return FATE_ERROR;
    }
    p.words.data[0] = import(s);
    p.words.data[1] = DEBUG_PRINTF;
    p.words.data[2] = string(&p);
    shader_emit(s, SpvOpExtInst, s->void_, p.words.data, p.words.len);
    *to = spv_int_constant(s->m, i->type, 0);
    return FATE_GONE;
}
