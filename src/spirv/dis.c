/* SPDX-License-Identifier: MIT
 *
 * Module -> text in the notation of spirv-as, one instruction a line. What the notation cannot
 * express (version, generator, bound, byte order) is in comments at the top, where spv_assemble
 * finds it, so that with names = false assembling the text yields the identical module.
 */
#include "spirv/internal.h"

typedef struct Dis {
    Arena *arena;
    const SpvModule *m;
    const char **names; /* by id, or NULL */
    Str out;
} Dis;

static const char *id_text(Dis *d, SpvId id)
{
    if (d->names && id < d->m->bound && d->names[id])
        return d->names[id];
    return arena_printf(d->arena, "%u", id);
}

static void print_string(Dis *d, const char *s)
{
    str_add(d->arena, &d->out, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            str_add(d->arena, &d->out, "\\");
        str_addn(d->arena, &d->out, s, 1);
    }
    str_add(d->arena, &d->out, "\"");
}

static void print_enumerant(Dis *d, uint8_t kind, uint32_t value)
{
    const char *name = spv_enum_name(kind, value);
    if (!spv_kind_is_mask(kind) || (!value && name)) {
        str_add(d->arena, &d->out, name ? name : "?");
        return;
    }
    if (!value)
        str_add(d->arena, &d->out, "None");
    for (bool first = true; value; value &= value - 1, first = false) {
        const char *bit = spv_enum_name(kind, value & -value);
        str_printf(d->arena, &d->out, "%s%s", first ? "" : "|", bit ? bit : "?");
    }
}

/* The type that a literal is of: the result's, a switch selector's. */
static bool literal_type(const Dis *d, const SpvInst *i, SpvNumber *n)
{
    if (i->op != SpvOpSwitch)
        return spv_number_of(d->m, i->type, n);
    const SpvInst *selector = spv_def(d->m, spv_operand(i, 0));
    return selector && spv_number_of(d->m, selector->type, n);
}

static void print_operand(Dis *d, const SpvInst *i, const SpvOperand *o)
{
    const uint32_t *words = i->words + o->word;
    SpvNumber n = { .bits = 32 };
    uint32_t unused;
    switch (o->kind) {
    case SPV_OPERAND_LiteralString: print_string(d, (const char *)words); return;
    case SPV_OPERAND_LiteralFloat:
        n.is_float = true;
        spv_print_number(d->arena, &d->out, n, words, 1);
        return;
    case SPV_OPERAND_LiteralContextDependentNumber:
        if (!literal_type(d, i, &n))
            n = (SpvNumber){ .bits = 0 };
        spv_print_number(d->arena, &d->out, n, words, o->n_words);
        return;
    case SPV_OPERAND_LiteralSpecConstantOpInteger:
        str_add(d->arena, &d->out, spv_op_name((uint16_t)*words) + 2);
        return;
    case SPV_OPERAND_LiteralExtInstInteger: {
        const SpvExtInst *e = spv_ext_inst(i->ext_set, *words);
        if (e)
            str_add(d->arena, &d->out, e->name);
        else
            str_printf(d->arena, &d->out, "%u", *words);
        return;
    }
    default: break;
    }
    if (o->is_id)
        str_printf(d->arena, &d->out, "%%%s", id_text(d, *words));
    else if (spv_enumerants(o->kind, &unused))
        print_enumerant(d, o->kind, *words);
    else
        str_printf(d->arena, &d->out, "%u", *words);
}

static bool print_inst(void *user, SpvInst *i)
{
    Dis *d = user;
    const char *result = i->id ? arena_printf(d->arena, "%%%s = ", id_text(d, i->id)) : "";
    str_printf(d->arena, &d->out, "%15s", result);
    str_add(d->arena, &d->out, spv_op_name(i->op));
    if (i->type)
        str_printf(d->arena, &d->out, " %%%s", id_text(d, i->type));
    SpvWalk w = spv_walk(i);
    for (SpvOperand o; spv_walk_next(&w, &o);) {
        str_add(d->arena, &d->out, " ");
        print_operand(d, i, &o);
    }
    /* Only a module that a pass broke has such an instruction; show all its words. */
    if (w.error[0]) {
        for (uint32_t k = w.word; k < i->n_words; k++)
            str_printf(d->arena, &d->out, " !0x%08x", i->words[k]);
        str_printf(d->arena, &d->out, " ; %s", w.error);
    }
    str_add(d->arena, &d->out, "\n");
    return true;
}

char *spv_disassemble(Arena *arena, const SpvModule *m, bool names)
{
    Dis d = { .arena = arena, .m = m };
    if (names)
        d.names = spv_friendly_names(arena, m);
    str_printf(arena, &d.out, "; SPIR-V\n; Version: %u.%u\n; Generator: 0x%08x\n; Bound: %u\n",
               m->version >> 16 & 255, m->version >> 8 & 255, m->generator, m->bound);
    str_printf(arena, &d.out, "; Schema: %u\n%s", m->schema,
               m->swapped ? "; Byte order: swapped\n" : "");
    spv_each_inst(m, print_inst, &d);
    return d.out.data;
}
