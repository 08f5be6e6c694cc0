/* SPDX-License-Identifier: MIT
 *
 * untyped: expresses SPV_KHR_untyped_pointers in terms of typed pointers. In: a module that was
 * just read. Out: untyped pointers have become pointers to bytes, which is how the extension counts
 * unless something else gives the pointee type (differences, copies, strides of matrices), and are
 * cast where something else is accessed. OpBitcast between logical pointers is not SPIR-V, but the
 * devices know it.
 */
#include "pass/edit.h"

typedef struct Untyped {
    SpvModule *m;
    SpvInst *byte; /* its type */
    Map untyped;   /* ids of the types that were untyped pointers */
    Map was;       /* id of a variable -> the one of them that it had */
} Untyped;

/* ---- declarations ---------------------------------------------------------------------------- */

/* The type of bytes, which may have been declared behind the first that needs it. */
static void declare_byte(Untyped *u, SpvInst *first)
{
    SpvInst *i = first;
    u->byte = spv_def(u->m, spv_int_type(u->m, 8, false));
    while (i && i != u->byte)
        i = i->next;
    if (!i)
        return;
    spv_unlink(u->byte);
    spv_insert_before(first, u->byte);
}

static void become_pointer(Untyped *u, SpvInst *i)
{
    if (!u->byte)
        declare_byte(u, i);
    uint32_t words[] = { spv_operand(i, 0), u->byte->id };
    map_put(u->m->arena, &u->untyped, i->id, 1);
    edit_become(u->m, i, SpvOpTypePointer, words, 2);
}

/* A variable becomes a typed one. Without a type of its data it stays, and is refused later. */
static void become_variable(Untyped *u, SpvInst *i)
{
    uint32_t n = spv_n_operands(i), words[2] = { spv_operand(i, 0) };
    if (n < 2)
        return;
    uint32_t operands[] = { words[0], spv_operand(i, 1) };
    SpvId pointer;
    if (i->block) {
        pointer = spv_pointer_type(u->m, operands[0], operands[1]);
    } else {
        SpvInst *t = spv_make(u->m, SpvOpTypePointer, 0, spv_new_id(u->m), operands, 2);
        spv_insert_before(i, t);
        pointer = t->id;
    }
    if (n > 2)
        words[1] = spv_operand(i, 2);
    map_put(u->m->arena, &u->was, i->id, i->type);
    i->words[1] = i->type = pointer;
    edit_become(u->m, i, SpvOpVariable, words, n - 1);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static const SpvType *pointer_type(Untyped *u, SpvId id)
{
    const SpvType *t = spv_type_of(u->m, id);
    return t && t->kind == SPV_POINTER && t->element ? t : NULL;
}

static bool is_untyped(Untyped *u, SpvId id)
{
    uint64_t k;
    const SpvInst *d = spv_def(u->m, id);
    return d && (map_get(&u->was, id, &k) || map_get(&u->untyped, d->type, &k));
}

static SpvId cast_pointer(Untyped *u, SpvInst *at, SpvId type, SpvId id)
{
    return spv_put(u->m, at, SpvOpBitcast, type, &id, 1)->id;
}

/* The pointer as one to that type: the one that it was cast from, if that is one. */
static SpvId as(Untyped *u, SpvInst *at, SpvId id, SpvId type)
{
    const SpvType *p = pointer_type(u, id);
    const SpvInst *d;
    while (p && p->element->id != type && (d = spv_def(u->m, id)) && d->op == SpvOpBitcast &&
           pointer_type(u, spv_operand(d, 0)))
        p = pointer_type(u, id = spv_operand(d, 0));
    if (!p || p->element->id == type)
        return id;
    return cast_pointer(u, at, spv_pointer_type(u->m, p->storage, type), id);
}

/* The pointer as one of the type that it has in the module. */
static SpvId plain(Untyped *u, SpvInst *at, SpvId id)
{
    uint64_t type;
    return map_get(&u->was, id, &type) ? cast_pointer(u, at, (SpvId)type, id) : id;
}

static const SpvType *part_type(Untyped *u, const SpvType *t, SpvId index)
{
    uint64_t k;
    if (t->kind != SPV_STRUCT)
        return t->element;
    return spv_constant(u->m, index, &k) && k < t->count ? t->members[k] : NULL;
}

/* Where Element leads: by the stride of the pointer's type, or else by the size of Base Type. */
static SpvId element_pointer(Untyped *u, SpvInst *i, SpvId type, SpvId base, uint32_t index)
{
    uint64_t was;
    const SpvType *p =
        map_get(&u->was, base, &was) ? spv_type(u->m, (SpvId)was) : pointer_type(u, base);
    if (!p)
        return base;
    base = p->array_stride ? plain(u, i, base) : as(u, i, base, type);
    uint32_t words[] = { base, index };
    const SpvType *q = pointer_type(u, base);
    return q ? spv_put(u->m, i, SpvOpPtrAccessChain, q->id, words, 2)->id : base;
}

static void become_chain(Untyped *u, SpvInst *i)
{
    bool steps =
        i->op == SpvOpUntypedPtrAccessChainKHR || i->op == SpvOpUntypedInBoundsPtrAccessChainKHR;
    uint32_t n = spv_n_operands(i), first = steps ? 3 : 2;
    SpvId type = spv_operand(i, 0), base = spv_operand(i, 1);
    const SpvType *t = spv_type(u->m, type);
    if (!pointer_type(u, base))
        return;
    if (steps)
        base = element_pointer(u, i, type, base, spv_operand(i, 2));
    uint32_t *words = NEW_ARRAY(u->m->arena, uint32_t, n);
    words[0] = as(u, i, base, type);
    for (uint32_t k = first; t && k < n; k++)
        t = part_type(u, t, words[k - first + 1] = spv_operand(i, k));
    if (!t)
        return;
    if (n > first) {
        SpvId to = spv_pointer_type(u->m, pointer_type(u, base)->storage, t->id);
        words[0] = spv_put(u->m, i, SpvOpAccessChain, to, words, n - first + 1)->id;
    }
    edit_become(u->m, i, SpvOpBitcast, words, 1);
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* What an instruction takes the pointer that is its operand in that word to lead to; 0: bytes. */
static SpvId meant(Untyped *u, const SpvInst *i, uint32_t word)
{
    uint32_t at = word - i->first_operand;
    const SpvOpInfo *info = spv_op_info(i->op);
    const SpvType *t;
    switch (i->op) {
    case SpvOpLoad: return i->type;
    case SpvOpStore:
    case SpvOpAtomicStore:
        t = at == 0 ? spv_type_of(u->m, spv_operand(i, i->op == SpvOpStore ? 1 : 3)) : NULL;
        return t ? t->id : 0;
    case SpvOpCopyMemory:
        t = at < 2 ? pointer_type(u, spv_operand(i, 1 - at)) : NULL;
        return t ? t->element->id : 0;
    case SpvOpCooperativeMatrixLoadTensorNV:
        t = at == 0 ? spv_type(u->m, i->type) : NULL;
        return t && t->element ? t->element->id : 0;
    case SpvOpCooperativeMatrixStoreTensorNV:
        t = at == 0 ? spv_type_of(u->m, spv_operand(i, 1)) : NULL;
        return t && t->element ? t->element->id : 0;
    default: return at == 0 && i->type && info && info->flags & SPV_OPF_ATOMIC ? i->type : 0;
    }
}

static void retype_operands(Untyped *u, SpvInst *i)
{
    SpvOperand o;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        SpvId *id = &i->words[o.word];
        if (!o.is_id || !is_untyped(u, *id))
            continue;
        SpvId type = meant(u, i, o.word);
        SpvInst *at = i;
        if (i->op == SpvOpPhi) {
            SpvBlock *from = edit_block(u->m, i->words[o.word + 1]);
            at = from ? from->insts.last : i;
            if (at->prev && (at->prev->op == SpvOpSelectionMerge || at->prev->op == SpvOpLoopMerge))
                at = at->prev;
        }
        *id = type ? as(u, at, *id, type) : plain(u, at, *id);
    }
}

static void retype(Untyped *u, SpvInst *i)
{
    switch (i->op) {
    case SpvOpUntypedVariableKHR: become_variable(u, i); break;
    case SpvOpUntypedAccessChainKHR:
    case SpvOpUntypedInBoundsAccessChainKHR:
    case SpvOpUntypedPtrAccessChainKHR:
    case SpvOpUntypedInBoundsPtrAccessChainKHR: become_chain(u, i); break;
    case SpvOpUntypedArrayLengthKHR: {
        uint32_t words[] = { as(u, i, spv_operand(i, 1), spv_operand(i, 0)), spv_operand(i, 2) };
        edit_become(u->m, i, SpvOpArrayLength, words, 2);
        break;
    }
    case SpvOpUntypedPrefetchKHR: edit_remove(u->m, i); break;
    case SpvOpVariable:
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain: break;
    default: retype_operands(u, i);
    }
}

void pass_untyped(SpvModule *m)
{
    Untyped u = { .m = m };
    for (SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpTypeUntypedPointerKHR)
            become_pointer(&u, i);
    if (!u.byte)
        return;
    for (SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpUntypedVariableKHR)
            become_variable(&u, i);
    spv_forget_types(m);
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first, *next; i; i = next) {
                next = i->next;
                retype(&u, i);
            }
}
