/* SPDX-License-Identifier: MIT
 *
 * decode_copy: copies of decode functions that take a block's number in a buffer in place of its
 * address, and of the functions that they hand it on to, as it is or in a variable. Whatever else
 * is done with an address is an error.
 */
#include "lower/tensor.h"

/* What an id of the copy was: the address, a variable that holds one, a pointer to a part. */
enum { PLAIN, NUMBER, HOLDER, PART };

typedef struct Copy {
    LowerDecodeCopy *of;
    Lower *l;
    SpvModule *m;
    SpvId *with; /* by id of the original */
    uint32_t n;
    Map kinds; /* by id of the copy */
} Copy;

SpvFunction *lower_tensor_function(const Lower *l, SpvId id)
{
    SpvFunction *f = l->m->functions;
    while (f && f->def->id != id)
        f = f->next;
    return f;
}

static uint32_t kind_of(const Copy *c, SpvId id)
{
    uint64_t kind = PLAIN;
    map_get(&c->kinds, id, &kind);
    return (uint32_t)kind;
}

static void be(Copy *c, SpvInst *i, uint32_t kind, SpvId type)
{
    map_put(c->l->scratch, &c->kinds, i->id, kind);
    i->type = i->words[1] = type;
}

static SpvId holder_type(Copy *c)
{
    return spv_pointer_type(c->m, SpvStorageClassFunction, build_u32(c->l));
}

/* The kind of what has that type: an address or a variable for one. */
static uint32_t kind_of_type(Copy *c, SpvId type)
{
    const SpvType *t = spv_type(c->m, type);
    bool holds = t && t->kind == SPV_POINTER && t->storage == SpvStorageClassFunction &&
                 t->element && t->element->id == c->of->pointer;
    return type == c->of->pointer ? NUMBER : holds ? HOLDER : PLAIN;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void rename_id(void *user, uint32_t *id)
{
    const Copy *c = user;
    if (*id < c->n && c->with[*id])
        *id = c->with[*id];
}

static SpvInst *copy_inst(Copy *c, const SpvInst *i)
{
    SpvInst *copy = spv_make(c->m, i->op, i->type, i->id ? c->with[i->id] : 0,
                             i->words + i->first_operand, spv_n_operands(i));
    copy->file = i->file;
    copy->line = i->line;
    copy->column = i->column;
    copy->index = i->index;
    spv_each_id(copy, rename_id, c);
    return copy;
}

static bool chain(Copy *c, SpvInst *i)
{
    uint32_t n = spv_n_operands(i), storage = spv_operand(spv_def(c->m, c->of->buffer), 0);
    SpvId part = spv_pointer_type(c->m, storage, spv_type(c->m, i->type)->element->id);
    if (kind_of(c, spv_operand(i, 0)) == NUMBER) {
        uint32_t *x = NEW_ARRAY(c->l->scratch, uint32_t, n + 2);
        x[0] = c->of->buffer;
        x[1] = build_const(c->l, 0);
        memcpy(x + 2, i->words + i->first_operand, n * sizeof *x);
        edit_become(c->m, i, i->op, x, n + 2);
    }
    be(c, i, PART, part);
    return true;
}

static bool call(Copy *c, SpvInst *i)
{
    SpvId callee = lower_tensor_copy_decoder(c->of, spv_operand(i, 0));
    i->words[i->first_operand] = callee;
    return callee;
}

static bool uses_any(const Copy *c, const SpvInst *i)
{
    uint16_t at[64];
    for (uint32_t n = spv_id_operands(i, at, COUNT_OF(at)), k = 0; k < n; k++)
        if (kind_of(c, i->words[at[k]]) != PLAIN)
            return true;
    return false;
}

static bool turn(Copy *c, SpvInst *i)
{
    if (i->op == SpvOpVariable && kind_of_type(c, i->type) == HOLDER && spv_n_operands(i) == 1) {
        be(c, i, HOLDER, holder_type(c));
        return true;
    }
    if (!uses_any(c, i))
        return true;
    uint32_t kind = kind_of(c, spv_operand(i, 0));
    bool value = i->op == SpvOpStore && kind_of(c, spv_operand(i, 1)) == NUMBER;
    if ((i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain) && kind != HOLDER)
        return chain(c, i);
    if (i->op == SpvOpFunctionCall)
        return call(c, i);
    if ((i->op == SpvOpLoad && kind == HOLDER) || (i->op == SpvOpCopyObject && kind == NUMBER)) {
        be(c, i, NUMBER, build_u32(c->l));
        return true;
    }
    if ((i->op == SpvOpLoad && kind == PART) || (value && kind == HOLDER))
        return true;
    return lower_refuse(c->l, i, "a decode function needs the address of its block");
}

/* ---- functions ------------------------------------------------------------------------------- */

static SpvId function_type(Lower *l, const uint32_t *words, uint32_t n)
{
    SpvInst *t = spv_make(l->m, SpvOpTypeFunction, 0, spv_new_id(l->m), words, n);
    for (SpvInst *i = l->m->globals.first; i; i = i->next) /* one that is there must not be twice */
        if (i->op == SpvOpTypeFunction && i->n_words == t->n_words &&
            !memcmp(i->words + 2, t->words + 2, n * sizeof *words)) {
            l->m->defs[t->id] = NULL;
            return i->id;
        }
    spv_append_global(l->m, t);
    return t->id;
}

static void number_ids(Copy *c, const SpvFunction *from)
{
    for (const SpvInst *i = from->head.first; i; i = i->next)
        if (i->id)
            c->with[i->id] = spv_new_id(c->m);
    for (const SpvBlock *b = from->first; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next)
            if (i->id)
                c->with[i->id] = spv_new_id(c->m);
}

static void copy_head(Copy *c, const SpvFunction *from, SpvFunction *f)
{
    uint32_t *type = NEW_ARRAY(c->l->scratch, uint32_t, from->def->n_words + 256), n = 1;
    type[0] = from->def->type;
    f->def = copy_inst(c, from->def);
    f->head.first = f->head.last = f->def;
    f->def->list = &f->head;
    for (const SpvInst *p = from->head.first; p && n < 256; p = p->next) {
        if (p->op != SpvOpFunctionParameter)
            continue;
        SpvInst *copy = copy_inst(c, p);
        uint32_t kind = kind_of_type(c, p->type);
        if (kind != PLAIN)
            be(c, copy, kind, kind == NUMBER ? build_u32(c->l) : holder_type(c));
        spv_insert_after(f->head.last, copy);
        type[n++] = copy->type;
    }
    f->def->words[f->def->first_operand + 1] = function_type(c->l, type, n);
}

static bool copy_blocks(Copy *c, const SpvFunction *from, SpvFunction *f)
{
    for (const SpvBlock *b = from->first; b; b = b->next) {
        SpvBlock *to = spv_new_block(f, f->last);
        edit_remove(c->m, to->insts.first);
        to->id = c->with[b->id];
        for (const SpvInst *i = b->insts.first; i; i = i->next)
            spv_append(to, copy_inst(c, i));
    }
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (!turn(c, i))
                return false;
    return true;
}

SpvId lower_tensor_copy_decoder(LowerDecodeCopy *of, SpvId function)
{
    Lower *l = of->l;
    const SpvFunction *from = lower_tensor_function(l, function);
    Copy c = { .of = of, .l = l, .m = l->m, .n = l->m->bound };
    for (uint32_t k = 0; k < of->made.len; k += 2)
        if (of->made.data[k] == function)
            return of->made.data[k + 1];
    c.with = NEW_ARRAY(l->scratch, SpvId, c.n);
    number_ids(&c, from);
    SpvFunction *f = NEW(l->m->arena, SpvFunction);
    f->module = l->m;
    f->end = spv_make(l->m, SpvOpFunctionEnd, 0, 0, NULL, 0);
    copy_head(&c, from, f);
    vec_push(l->scratch, &of->made, function);
    vec_push(l->scratch, &of->made, f->def->id);
    l->m->last_function->next = f;
    l->m->last_function = f;
    return copy_blocks(&c, from, f) ? f->def->id : 0;
}
