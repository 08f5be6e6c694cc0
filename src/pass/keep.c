/* SPDX-License-Identifier: MIT
 *
 * keep: leaves variables to debuggers. In: functions as they were read. Out: beside each variable
 * and each parameter of numbers that has a name another variable of that name, which is written
 * wherever that one is, by volatile stores, and never read. So it stays in memory, while the
 * original becomes values as ever and nothing else depends on it: not what is uniform, nor where
 * loops end.
 */
#include "pass/edit.h"

typedef struct Keeper {
    PassContext *c;
    SpvModule *m;
    SpvId *kept; /* by variable or parameter: the one beside it */
    uint32_t n_ids;
} Keeper;

static bool is_numbers(const SpvType *t)
{
    const SpvType *s = t && t->kind == SPV_VECTOR ? t->element : t;
    return s && (s->kind == SPV_INT || s->kind == SPV_FLOAT);
}

static void put_name(SpvModule *m, SpvId id, const char *name)
{
    uint32_t n = (uint32_t)strlen(name) / 4 + 1;
    uint32_t *words = NEW_ARRAY(m->arena, uint32_t, n + 1);
    words[0] = id;
    memcpy(words + 1, name, strlen(name));
    spv_append_global(m, spv_make(m, SpvOpName, 0, 0, words, n + 1));
}

/* Whether a variable of that name is written by volatile stores: a front end did this already. */
static bool is_there(const Keeper *s, const char *name)
{
    for (const SpvFunction *f = s->m->functions; f; f = f->next)
        for (const SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next) {
                bool is = i->op == SpvOpStore && spv_n_operands(i) > 2 &&
                          spv_operand(i, 2) & SpvMemoryAccessVolatileMask;
                const char *own =
                    is && spv_operand(i, 0) < s->n_ids ? spv_name(s->m, spv_operand(i, 0)) : NULL;
                if (own && !strcmp(own, name))
                    return true;
            }
    return false;
}

/* The type of what `i`, a variable or a parameter, holds or leads to, if that is to be kept. */
static const SpvType *kept_type(const Keeper *s, const SpvInst *i)
{
    const SpvType *t = spv_type_of(s->m, i->id);
    if (t && t->kind == SPV_POINTER)
        t = t->storage == SpvStorageClassFunction ? t->element : NULL;
    else if (i->op != SpvOpFunctionParameter)
        t = NULL;
    return is_numbers(t) && spv_name(s->m, i->id) ? t : NULL;
}

static void keep_value(Keeper *s, SpvInst *at, SpvId of, SpvId value)
{
    uint32_t operands[] = { s->kept[of], value, SpvMemoryAccessVolatileMask };
    spv_put(s->m, at, SpvOpStore, 0, operands, COUNT_OF(operands));
}

/* The one beside `i`; `first` is the function's first instruction that is no variable. */
static void add_beside(Keeper *s, SpvInst *i, SpvInst *first)
{
    const SpvType *t = kept_type(s, i);
    if (!t || is_there(s, spv_name(s->m, i->id)))
        return;
    SpvId type = spv_pointer_type(s->m, SpvStorageClassFunction, t->id);
    uint32_t storage = SpvStorageClassFunction, n = spv_n_operands(i);
    SpvInst *beside = spv_make(s->m, SpvOpVariable, type, spv_new_id(s->m), &storage, 1);
    spv_insert_after(first->block->insts.first, beside);
    beside->file = first->file;
    beside->line = first->line;
    put_name(s->m, beside->id, spv_name(s->m, i->id));
    s->kept[i->id] = beside->id;
    if (i->op == SpvOpVariable && n > 1)
        keep_value(s, first, i->id, spv_operand(i, 1));
    if (i->op != SpvOpFunctionParameter)
        return;
    bool pointer = spv_type_of(s->m, i->id)->kind == SPV_POINTER;
    keep_value(s, first, i->id,
               pointer ? spv_put(s->m, first, SpvOpLoad, t->id, &i->id, 1)->id : i->id);
}

/* What a pointer leads into, if that is kept. */
static SpvId kept_root(const Keeper *s, SpvId pointer)
{
    const SpvInst *i = spv_def(s->m, pointer);
    while (i && (i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain))
        i = spv_def(s->m, spv_operand(i, 0));
    return i && i->id < s->n_ids && s->kept[i->id] ? i->id : 0;
}

/* Behind `i`, which may have written to `pointer`, and of its line: a debugger that stops at the
 * next one sees what was written. */
static void keep_written(Keeper *s, SpvInst *i, SpvId pointer)
{
    SpvId of = kept_root(s, pointer);
    SpvInst *next = i->next;
    if (!of)
        return;
    SpvInst *load = spv_put(s->m, i, SpvOpLoad, spv_type_of(s->m, of)->element->id, &of, 1);
    keep_value(s, i, of, load->id);
    SpvInst *store = load->next;
    spv_unlink(load);
    spv_unlink(store);
    spv_insert_before(next, load);
    spv_insert_before(next, store);
}

static void keep_writes(Keeper *s, SpvInst *i)
{
    switch (i->op) {
    case SpvOpStore:
    case SpvOpCopyMemory: keep_written(s, i, spv_operand(i, 0)); break;
    case SpvOpFunctionCall:
    case SpvOpExtInst: /* Modf, Frexp */
        for (uint32_t k = 1 + (i->op == SpvOpExtInst); k < spv_n_operands(i); k++) {
            const SpvType *t = spv_type_of(s->m, spv_operand(i, k));
            if (t && t->kind == SPV_POINTER && !spv_is_nonsemantic(i))
                keep_written(s, i, spv_operand(i, k));
        }
        break;
    default: break;
    }
}

/* The first instruction behind a function's variables, and those about them. */
static SpvInst *behind_variables(const SpvFunction *f)
{
    SpvInst *i = f->first->insts.first->next;
    while (i->op == SpvOpVariable || i->op == SpvOpLine || i->op == SpvOpNoLine ||
           spv_is_nonsemantic(i))
        i = i->next;
    return i;
}

bool pass_keep(PassContext *c)
{
    Keeper s = { .c = c, .m = c->module, .n_ids = c->module->bound };
    if (!c->options->keep_variables)
        return true;
    s.kept = NEW_ARRAY(c->scratch, SpvId, s.n_ids);
    for (SpvFunction *f = s.m->functions; f; f = f->next) {
        SpvInst *first = f->first ? behind_variables(f) : NULL;
        for (SpvInst *i = f->head.first; first && i; i = i->next)
            if (i->op == SpvOpFunctionParameter)
                add_beside(&s, i, first);
        for (SpvInst *i = first ? f->first->insts.first : NULL; i != first; i = i->next)
            if (i->op == SpvOpVariable && i->id < s.n_ids)
                add_beside(&s, i, first);
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first, *next; i; i = next) {
                next = i->next;
                keep_writes(&s, i);
            }
    }
    return true;
}
