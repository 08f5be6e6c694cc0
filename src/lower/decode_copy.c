/* SPDX-License-Identifier: MIT
 *
 * decode_copy: copies of decode functions that take a block's place in a buffer, in bytes, in place
 * of its address, and of the functions that they hand it on to, as it is or in a variable. What is
 * read there is read a number at a time from the buffer as an array of such numbers: so a function
 * may take a block for another structure, and blocks may begin anywhere. Whatever else is done with
 * an address is an error.
 */
#include "lower/tensor.h"

/* What an id of the copy was: an address, the same as an integer, a variable that holds one. */
enum { PLAIN, ADDRESS, INTEGER, HOLDER };

typedef struct Copy {
    LowerDecodeCopy *of;
    Lower *l;
    SpvModule *m;
    const SpvFunction *from;
    uint64_t given; /* by parameter: whether it is an address, or holds one */
    SpvId *with;    /* by id of the original */
    uint32_t n;
    Map kinds, types; /* by id of the copy: its kind, and what type the original has */
} Copy;

static uint32_t kind_of(const Copy *c, SpvId id)
{
    uint64_t kind = PLAIN;
    map_get(&c->kinds, id, &kind);
    return (uint32_t)kind;
}

static void be(Copy *c, SpvInst *i, uint32_t kind, SpvId type)
{
    map_put(c->l->scratch, &c->kinds, i->id, kind);
    map_put(c->l->scratch, &c->types, i->id, i->type);
    i->type = i->words[1] = type;
}

static const SpvType *original_type(const Copy *c, SpvId id)
{
    uint64_t type = 0;
    return map_get(&c->types, id, &type) ? spv_type(c->m, (SpvId)type) : NULL;
}

static SpvId holder_type(Copy *c)
{
    return spv_pointer_type(c->m, SpvStorageClassFunction, build_u32(c->l));
}

static bool is_address(const SpvType *t)
{
    return t && t->kind == SPV_POINTER && t->storage == SpvStorageClassPhysicalStorageBuffer;
}

/* What has that type can be: an address or a variable for one. */
static uint32_t kind_of_type(const Copy *c, SpvId type)
{
    const SpvType *t = spv_type(c->m, type);
    bool holds = t && t->kind == SPV_POINTER && t->storage == SpvStorageClassFunction;
    return is_address(t) ? ADDRESS : holds && is_address(t->element) ? HOLDER : PLAIN;
}

/* ---- what leads into the buffer -------------------------------------------------------------- */

enum { MOST_STEPS = 64 }; /* of addresses handed on */

static bool leads(const Copy *c, SpvId id, uint32_t steps);

static bool is_given(const Copy *c, SpvId id)
{
    uint32_t n = 0;
    for (const SpvInst *p = c->from->head.first; p; p = p->next)
        if (p->op == SpvOpFunctionParameter && n++ < 64 && p->id == id)
            return c->given >> (n - 1) & 1;
    return false;
}

static bool holds(const Copy *c, SpvId variable, uint32_t steps)
{
    if (is_given(c, variable))
        return true;
    for (const SpvBlock *b = c->from->first; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next)
            if (i->op == SpvOpStore && spv_operand(i, 0) == variable &&
                leads(c, spv_operand(i, 1), steps))
                return true;
    return false;
}

static bool leads(const Copy *c, SpvId id, uint32_t steps)
{
    const SpvInst *i = steps ? spv_def(c->m, id) : NULL;
    switch (i ? i->op : SpvOpNop) {
    case SpvOpFunctionParameter: return kind_of_type(c, i->type) == ADDRESS && is_given(c, id);
    case SpvOpLoad:
        return kind_of_type(c, i->type) == ADDRESS && holds(c, spv_operand(i, 0), steps - 1);
    case SpvOpIAdd:
    case SpvOpISub:
        if (leads(c, spv_operand(i, 1), steps - 1))
            return true;
        /* fall through */
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpBitcast:
    case SpvOpCopyObject:
    case SpvOpConvertPtrToU:
    case SpvOpConvertUToPtr: return leads(c, spv_operand(i, 0), steps - 1);
    default: return false;
    }
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

/* What a pointer of that type leads to by the indices from operand 1 on, in bytes. */
static bool chain(Copy *c, SpvInst *i)
{
    const SpvType *pointer = original_type(c, spv_operand(i, 0));
    SpvId at = lower_view_bytes(c->l, i, pointer ? pointer->element : NULL);
    if (!at)
        return lower_refuse(c->l, i,
                            "a decode function reads a part of its block that has no "
                            "place in memory");
    at = build_add(c->l, i, spv_operand(i, 0), at);
    edit_become(c->m, i, SpvOpCopyObject, &at, 1);
    be(c, i, ADDRESS, build_u32(c->l));
    return true;
}

/* The number at that place, which is a multiple of its size (VUID-StandaloneSpirv-
 * PhysicalStorageBuffer64-06314). */
static SpvId read_number(Copy *c, SpvInst *load, const SpvType *t, SpvId at)
{
    uint32_t storage = spv_operand(spv_def(c->m, c->of->variable), 0);
    SpvId x[3] = { lower_view(c->l, c->of->variable, t), build_const(c->l, 0),
                   build_div(c->l, load, at, t->bits / 8) };
    uint32_t words[6] = { build(c->l, load, SpvOpAccessChain,
                                spv_pointer_type(c->m, storage, t->id), x, 3) };
    uint32_t n = 1, access = spv_n_operands(load) > 1 ? spv_operand(load, 1) : 0;
    if (access & ~SpvMemoryAccessAlignedMask)
        words[n++] = access & ~SpvMemoryAccessAlignedMask;
    for (uint32_t k = access & SpvMemoryAccessAlignedMask ? 3 : 2;
         n > 1 && k < spv_n_operands(load) && n < 6; k++)
        words[n++] = spv_operand(load, k);
    return build(c->l, load, SpvOpLoad, t->id, words, n);
}

enum { MOST_PARTS = 256 }; /* of what is read at once */

/* 0: what cannot be read. */
static SpvId read(Copy *c, SpvInst *load, const SpvType *t, SpvId at)
{
    if (t->kind == SPV_INT || t->kind == SPV_FLOAT)
        return read_number(c, load, t, at);
    SpvId parts[MOST_PARTS];
    bool array = t->kind == SPV_ARRAY && t->count_known;
    if ((t->kind != SPV_VECTOR && t->kind != SPV_STRUCT && !array) || t->count > MOST_PARTS)
        return 0;
    for (uint32_t k = 0; k < t->count; k++) {
        const SpvType *part = t->kind == SPV_STRUCT ? t->members[k] : t->element;
        uint32_t stride = array ? t->array_stride : (uint32_t)part->size;
        uint32_t offset = t->kind != SPV_STRUCT ? k * stride : t->offsets ? t->offsets[k] : 0;
        parts[k] = read(c, load, part, build_add(c->l, load, at, build_const(c->l, offset)));
        if (!parts[k])
            return 0;
    }
    return build(c->l, load, SpvOpCompositeConstruct, t->id, parts, t->count);
}

static bool read_part(Copy *c, SpvInst *i)
{
    SpvId value = read(c, i, spv_type(c->m, i->type), spv_operand(i, 0));
    if (!value)
        return lower_refuse(c->l, i, "a decode function reads other than numbers from its block");
    edit_become(c->m, i, SpvOpCopyObject, &value, 1);
    return true;
}

static bool call(Copy *c, SpvInst *i)
{
    uint64_t given = 0;
    for (uint32_t k = 1; k < spv_n_operands(i) && k <= 64; k++) {
        if (kind_of(c, spv_operand(i, k)) == INTEGER)
            return lower_refuse(c->l, i,
                                "a decode function hands the address of its block on as a "
                                "number");
        given |= (uint64_t)(kind_of(c, spv_operand(i, k)) != PLAIN) << (k - 1);
    }
    SpvId callee = lower_tensor_copy_decoder(c->of, spv_operand(i, 0), given);
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

/* An address that stays one, or becomes an integer and after additions an address again: bytes
 * wrap as addresses do. */
static bool carry(Copy *c, SpvInst *i, uint32_t kind)
{
    SpvId from = spv_operand(i, 0);
    const SpvType *t = spv_type(c->m, i->type);
    bool same = i->op == SpvOpCopyObject || (i->op == SpvOpBitcast && is_address(t));
    bool sum = i->op == SpvOpIAdd || (i->op == SpvOpISub && kind == INTEGER);
    if (kind == ADDRESS && same)
        edit_become(c->m, i, SpvOpCopyObject, &from, 1);
    else if (kind == ADDRESS && i->op == SpvOpConvertPtrToU && t->bits == 64)
        edit_become(c->m, i, SpvOpUConvert, &from, 1);
    else if (kind == INTEGER && i->op == SpvOpConvertUToPtr)
        edit_become(c->m, i, SpvOpUConvert, &from, 1);
    else if (!(kind == HOLDER && i->op == SpvOpLoad) && !sum)
        return false;
    if (sum || !is_address(t))
        be(c, i, INTEGER, i->type);
    else
        be(c, i, ADDRESS, build_u32(c->l));
    return true;
}

static bool turn(Copy *c, SpvInst *i)
{
    if (!uses_any(c, i))
        return true;
    uint32_t kind = kind_of(c, spv_operand(i, 0));
    bool value = i->op == SpvOpStore && kind_of(c, spv_operand(i, 1)) == ADDRESS;
    if ((i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain) && kind == ADDRESS)
        return chain(c, i);
    if (i->op == SpvOpFunctionCall)
        return call(c, i);
    if (i->op == SpvOpLoad && kind == ADDRESS)
        return read_part(c, i);
    return carry(c, i, kind) || (value && kind == HOLDER) ||
           lower_refuse(c->l, i, "a decode function needs the address of its block");
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
        uint32_t kind = is_given(c, p->id) ? kind_of_type(c, p->type) : PLAIN;
        if (kind != PLAIN)
            be(c, copy, kind, kind == ADDRESS ? build_u32(c->l) : holder_type(c));
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
        for (const SpvInst *i = b->insts.first; i; i = i->next) {
            SpvInst *copy = copy_inst(c, i);
            spv_append(to, copy);
            if (i->op == SpvOpVariable && spv_n_operands(i) == 1 &&
                kind_of_type(c, i->type) == HOLDER && holds(c, i->id, MOST_STEPS))
                be(c, copy, HOLDER, holder_type(c));
        }
    }
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first, *next; i; i = next) {
            next = i->next;
            if (!turn(c, i))
                return false;
        }
    return true;
}

SpvId lower_tensor_copy_decoder(LowerDecodeCopy *of, SpvId function, uint64_t given)
{
    Lower *l = of->l;
    const SpvFunction *from = spv_function(l->m, function);
    Copy c = { .of = of, .l = l, .m = l->m, .from = from, .given = given, .n = l->m->bound };
    for (uint32_t k = 0; k < of->made.len; k++)
        if (of->made.data[k].function == function && of->made.data[k].given == given)
            return of->made.data[k].copy;
    c.with = NEW_ARRAY(l->scratch, SpvId, c.n);
    number_ids(&c, from);
    SpvFunction *f = NEW(l->m->arena, SpvFunction);
    f->module = l->m;
    f->end = spv_make(l->m, SpvOpFunctionEnd, 0, 0, NULL, 0);
    copy_head(&c, from, f);
    vec_push(l->scratch, &of->made, (LowerDecoderMade){ function, f->def->id, given });
    l->m->last_function->next = f;
    l->m->last_function = f;
    return copy_blocks(&c, from, f) ? f->def->id : 0;
}
