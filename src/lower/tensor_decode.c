/* SPDX-License-Identifier: MIT
 *
 * tensor_decode: calls of decode functions. They take a physical pointer to a block, which a buffer
 * that is bound has none of. So the buffer is declared once more, as an array of blocks, and the
 * function is copied for it: the copy takes the block's number. Where the tensor is behind a
 * physical pointer itself, the function is called as it is.
 */
#include "lower/tensor.h"

typedef struct Decoder {
    const SpvType *pointer, *block, *coordinates;   /* its parameters' types */
    uint32_t stride;            /* bytes from one block to the next */
} Decoder;

static SpvFunction *function_of(const Lower *l, SpvId id)
{
    SpvFunction *f = l->m->functions;
    while (f && f->def->id != id)
        f = f->next;
    return f;
}

static bool read_decoder(Lower *l, const TensorAccess *a, Decoder *d)
{
    const SpvFunction *f = function_of(l, a->decode);
    const SpvType *t[3] = { NULL };
    uint32_t n = 0;
    for (const SpvInst *p = f ? f->head.first : NULL; p; p = p->next)
        if (p->op == SpvOpFunctionParameter && n++ < 3)
            t[n - 1] = spv_type(l->m, p->type);
    bool fits = n == 3 && t[0]->kind == SPV_POINTER && t[0]->element && t[0]->element->size &&
        t[1]->kind == SPV_ARRAY && t[2] == t[1];
    if (!fits)
        return lower_refuse(l, a->inst, "its decode function takes no pointer and two coordinates");
    *d = (Decoder){ t[0], t[0]->element, t[1], 0 };
    d->stride = (uint32_t)align_up(d->block->size, d->block->align);
    return true;
}

/* ---- the buffer as blocks -------------------------------------------------------------------- */

static void decorate(Lower *l, SpvId id, uint32_t decoration, uint32_t value, uint32_t n)
{
    uint32_t words[] = { id, decoration, value };
    spv_append_global(l->m, spv_make(l->m, SpvOpDecorate, 0, 0, words, 2 + n));
}

static void decorate_member(Lower *l, SpvId id, uint32_t member, const uint32_t *rest, uint32_t n)
{
    uint32_t words[8] = { id, member };
    memcpy(words + 2, rest, MIN(n, 6) * sizeof *rest);
    spv_append_global(l->m, spv_make(l->m, SpvOpMemberDecorate, 0, 0, words, 2 + MIN(n, 6)));
}

/* The structure without its decoration as an interface, which must not be part of another's. */
static SpvId plain_block(Lower *l, const SpvType *block)
{
    const SpvInst *t = spv_def(l->m, block->id);
    if (block->kind != SPV_STRUCT || !spv_has_decoration(l->m, block->id, -1, SpvDecorationBlock))
        return block->id;
    SpvInst *copy = spv_make(l->m, SpvOpTypeStruct, 0, spv_new_id(l->m),
                             t->words + t->first_operand, spv_n_operands(t));
    spv_append_global(l->m, copy);
    for (const SpvInst *i = l->m->globals.first; i; i = i->next)
        if (i->op == SpvOpMemberDecorate && spv_operand(i, 0) == block->id)
            decorate_member(l, copy->id, spv_operand(i, 1), i->words + i->first_operand + 2,
                            spv_n_operands(i) - 2);
    return copy->id;
}

static SpvId declare_again(Lower *l, SpvId variable, const Decoder *d)
{
    static const uint32_t kept[] = { SpvDecorationDescriptorSet, SpvDecorationBinding };
    static const uint32_t start[] = { SpvDecorationOffset, 0 };
    uint32_t storage = spv_operand(spv_def(l->m, variable), 0), n;
    SpvId block = plain_block(l, d->block);
    SpvInst *array = spv_make(l->m, SpvOpTypeRuntimeArray, 0, spv_new_id(l->m), &block, 1);
    spv_append_global(l->m, array);
    SpvInst *all = spv_make(l->m, SpvOpTypeStruct, 0, spv_new_id(l->m), &array->id, 1);
    spv_append_global(l->m, all);
    SpvId again = place_variable(l, storage, all->id);
    decorate(l, array->id, SpvDecorationArrayStride, d->stride, 1);
    decorate(l, all->id, SpvDecorationBlock, 0, 0);
    decorate_member(l, all->id, 0, start, 2);
    for (uint32_t k = 0; k < COUNT_OF(kept); k++) {
        const uint32_t *value = spv_decoration(l->m, variable, -1, kept[k], &n);
        decorate(l, again, kept[k], value ? *value : 0, 1);
    }
    decorate(l, again, SpvDecorationAliased, 0, 0);
    if (!spv_has_decoration(l->m, variable, -1, SpvDecorationAliased))
        decorate(l, variable, SpvDecorationAliased, 0, 0);
    spv_forget_types(l->m);
    return again;
}

/* ---- the function for it --------------------------------------------------------------------- */

typedef struct Copy {
    Lower *l;
    SpvId *with;                /* by id of the original */
    uint32_t n, storage;
} Copy;

static void rename_id(void *user, uint32_t *id)
{
    const Copy *c = user;
    if (*id < c->n && c->with[*id])
        *id = c->with[*id];
}

static SpvInst *copy_inst(Copy *c, const SpvInst *i)
{
    SpvModule *m = c->l->m;
    SpvInst *copy = spv_make(m, i->op, i->type, i->id ? c->with[i->id] : 0,
                             i->words + i->first_operand, spv_n_operands(i));
    copy->file = i->file;
    copy->line = i->line;
    copy->column = i->column;
    copy->index = i->index;
    spv_each_id(copy, rename_id, c);
    return copy;
}

/* Chains from the block's pointer lead through the buffer; whatever else is done with one would
 * need an address. */
static bool turn_pointers(Copy *c, SpvInst *i, uint8_t *derived)
{
    Lower *l = c->l;
    uint16_t at[64];
    bool chain = i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain;
    for (uint32_t n = spv_id_operands(i, at, COUNT_OF(at)), k = 0; k < n; k++) {
        SpvId id = i->words[at[k]];
        if (!derived[id])
            continue;
        if (chain && k == 0) {
            const SpvType *t = spv_type(l->m, i->type);
            i->type = i->words[1] = spv_pointer_type(l->m, c->storage, t->element->id);
            derived[i->id] = 1;
        } else if (i->op != SpvOpLoad) {
            return lower_refuse(l, i, "a decode function needs the address of its block");
        }
    }
    return true;
}

static void add_function(SpvModule *m, SpvFunction *f)
{
    m->last_function->next = f;
    m->last_function = f;
}

static SpvInst *make_head(Copy *c, const SpvFunction *from, SpvFunction *f)
{
    Lower *l = c->l;
    SpvModule *m = l->m;
    SpvInst *number = NULL;
    uint32_t type[4] = { from->def->type, build_u32(l) }, n = 0;
    for (SpvInst *p = from->head.first; p; p = p->next) {
        if (p->op != SpvOpFunctionParameter)
            continue;
        SpvInst *copy = n++ ? copy_inst(c, p) : spv_make(m, p->op, build_u32(l), spv_new_id(m),
                                                         NULL, 0);
        number = number ? number : copy;
        type[n] = copy->type;
        spv_insert_after(f->head.last, copy);
    }
    SpvInst *t = spv_make(m, SpvOpTypeFunction, 0, spv_new_id(m), type, 4);
    for (SpvInst *i = m->globals.first; i; i = i->next) /* a type that is there must not be again */
        if (i->op == SpvOpTypeFunction && i->n_words == t->n_words &&
            !memcmp(i->words + 2, t->words + 2, 16)) {
            m->defs[t->id] = NULL;
            t = i;
        }
    if (!t->list)
        spv_append_global(m, t);
    f->def->words[f->def->first_operand + 1] = t->id;
    return number;
}

static void number_ids(Copy *c, const SpvFunction *from)
{
    SpvModule *m = c->l->m;
    for (const SpvInst *i = from->head.first; i; i = i->next)
        if (i->id)
            c->with[i->id] = spv_new_id(m);
    for (const SpvBlock *b = from->first; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next)
            if (i->id)
                c->with[i->id] = spv_new_id(m);
}

static SpvId copy_function(Lower *l, const SpvFunction *from, SpvId again, const Decoder *d)
{
    SpvModule *m = l->m;
    Copy c = { .l = l, .n = m->bound };
    c.with = NEW_ARRAY(l->scratch, SpvId, c.n);
    c.storage = spv_operand(spv_def(m, again), 0);
    number_ids(&c, from);
    SpvFunction *f = NEW(m->arena, SpvFunction);
    f->module = m;
    f->def = copy_inst(&c, from->def);
    f->end = spv_make(m, SpvOpFunctionEnd, 0, 0, NULL, 0);
    f->head.first = f->head.last = f->def;
    f->def->list = &f->head;
    SpvInst *number = make_head(&c, from, f), *parameter = from->head.first;
    while (parameter->op != SpvOpFunctionParameter)
        parameter = parameter->next;
    for (const SpvBlock *b = from->first; b; b = b->next) {
        SpvBlock *to = spv_new_block(f, f->last);
        to->id = c.with[b->id];
        edit_remove(m, to->insts.first);
        for (const SpvInst *i = b->insts.first; i; i = i->next)
            spv_append(to, copy_inst(&c, i));
    }
    add_function(m, f);
    SpvInst *first = f->first->insts.first->next;
    while (first->op == SpvOpVariable)
        first = first->next;
    const SpvType *all = spv_type_of(m, again)->element;
    SpvId element = all->members[0]->element->id, block = c.with[parameter->id];
    SpvId chain[] = { again, build_const(l, 0), number->id };
    (void)d;
    spv_insert_before(first, spv_make(m, SpvOpAccessChain,
                                      spv_pointer_type(m, c.storage, element), block, chain, 3));
    uint8_t *derived = NEW_ARRAY(l->scratch, uint8_t, m->bound + 64);
    derived[block] = 1;
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (i->id != block && !turn_pointers(&c, i, derived))
                return 0;
    return f->def->id;
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* The block that the pointer leads to, counted from the buffer's start; the variable. */
static SpvId first_block(Lower *l, TensorAccess *a, const Decoder *d, SpvId *number)
{
    const SpvInst *chain = spv_def(l->m, spv_operand(a->inst, 0));
    const SpvInst *v = chain && (chain->op == SpvOpAccessChain ||
                                 chain->op == SpvOpInBoundsAccessChain)
        ? spv_def(l->m, spv_operand(chain, 0)) : NULL;
    const SpvType *t = v && v->op == SpvOpVariable ? spv_type(l->m, v->type)->element : NULL;
    uint64_t bytes = 0, x;
    *number = build_const(l, 0);
    if (!t || t->kind != SPV_STRUCT)
        return 0;
    for (uint32_t k = 1; t && k < spv_n_operands(chain); k++) {
        bool known = spv_constant(l->m, spv_operand(chain, k), &x);
        if (t->kind == SPV_STRUCT) {
            if (!known || x >= t->count || !t->offsets)
                return 0;
            bytes += t->offsets[x];
            t = t->members[x];
            continue;
        }
        uint32_t stride = t->array_stride ? t->array_stride : (uint32_t)t->element->size;
        t = t->element;
        if (known) {
            bytes += x * stride;
        } else {
            SpvId index = build_to_u32(l, a->inst, spv_operand(chain, k));
            if (stride % d->stride)
                return 0;
            index = build_mul(l, a->inst, index, build_const(l, stride / d->stride));
            *number = build_add(l, a->inst, *number, index);
        }
    }
    *number = build_add(l, a->inst, *number, build_const(l, (uint32_t)(bytes / d->stride)));
    return bytes % d->stride ? 0 : v->id;
}

static bool copy_for(Lower *l, TensorAccess *a, const Decoder *d, SpvId variable)
{
    for (uint32_t k = 0; k < l->decoders.len; k++) {
        const DecoderCopy *c = &l->decoders.data[k];
        if (c->function == a->decode && c->variable == variable) {
            a->decode = c->copy;
            return true;
        }
    }
    SpvId again = declare_again(l, variable, d);
    SpvId copy = copy_function(l, function_of(l, a->decode), again, d);
    vec_push(l->scratch, &l->decoders, (DecoderCopy){ a->decode, variable, copy });
    a->decode = copy;
    return copy;
}

bool tensor_decode_open(Lower *l, TensorAccess *a)
{
    Decoder d = { 0 };
    const SpvType *from = spv_type_of(l->m, spv_operand(a->inst, 0));
    if (!read_decoder(l, a, &d))
        return false;
    a->coordinates = d.coordinates->id;
    if (from->storage == SpvStorageClassPhysicalStorageBuffer) {
        SpvId u64 = spv_int_type(l->m, 64, false);
        a->block_pointer = d.pointer->id;
        a->block_size = d.stride;
        lower_uses(l, spv_type(l->m, u64));
        a->first = BUILD(l, a->inst, SpvOpConvertPtrToU, u64, spv_operand(a->inst, 0));
        return true;
    }
    SpvId variable = first_block(l, a, &d, &a->first);
    if (!variable)
        return lower_refuse(l, a->inst, "its blocks do not begin at a multiple of their size in a "
                            "buffer that it names");
    return copy_for(l, a, &d, variable);
}

/* What the function's first parameter is for a block. */
static SpvId block_of(Lower *l, SpvInst *at, const TensorAccess *a, SpvId number)
{
    if (!a->block_pointer)
        return build_add(l, at, a->first, number);
    SpvId u64 = spv_int_type(l->m, 64, false);
    SpvId wide = BUILD(l, at, SpvOpUConvert, u64, number);
    SpvId bytes = BUILD(l, at, SpvOpIMul, u64, wide, spv_int_constant(l->m, u64, a->block_size));
    return BUILD(l, at, SpvOpConvertUToPtr, a->block_pointer,
                 BUILD(l, at, SpvOpIAdd, u64, a->first, bytes));
}

SpvId tensor_decode(Lower *l, SpvInst *at, const TensorAccess *a, const TensorPlace *p)
{
    uint32_t dims = a->of_layout.dims;
    const SpvType *result = spv_type(l->m, spv_def(l->m, a->decode)->type);
    SpvId in[TENSOR_MAX_DIMENSIONS], part = 0;
    memcpy(in, p->in_block, sizeof in);
    if (a->vector) {
        part = build_mod(l, at, in[dims - 1], result->count);
        in[dims - 1] = build_sub(l, at, in[dims - 1], part);
    }
    SpvId args[4] = { a->decode, block_of(l, at, a, p->index) };
    args[2] = build(l, at, SpvOpCompositeConstruct, a->coordinates, p->block, dims);
    args[3] = build(l, at, SpvOpCompositeConstruct, a->coordinates, in, dims);
    SpvId value = build(l, at, SpvOpFunctionCall, result->id, args, 4);
    return a->vector ? BUILD(l, at, SpvOpVectorExtractDynamic, result->element->id, value, part)
                     : value;
}
