/* SPDX-License-Identifier: MIT
 *
 * small_memory: what small_numbers loads from buffers and push constants, and stores there. Where
 * these may hold numbers of 8 or 16 bits, each is converted as it is accessed. Where they may not,
 * the variable is an array of words, and numbers are parts of these: a part is stored by atomic
 * operations that change nothing but its own bits, so that invocations may store to neighbours.
 */
#include "lower/tensor.h"

/* What is accessed: through a pointer, or words. */
typedef struct Place {
    const SpvType *type; /* as it lies there */
    SpvId pointer;
    LowerWords words;
    uint32_t storage;
    uint32_t memory[4], n_memory; /* operands */
} Place;

/* ---- words ----------------------------------------------------------------------------------- */

static void decorate(Lower *l, const uint32_t *words, uint32_t n)
{
    uint16_t op = n > 3 ? SpvOpMemberDecorate : SpvOpDecorate;
    spv_append_global(l->m, spv_make(l->m, op, 0, 0, words, n));
}

/* A property of memory that the block had. */
static void keep_property(Lower *l, const SpvType *block, SpvId words, uint32_t property)
{
    uint32_t member[] = { words, 0, property };
    if (lower_has_property(l, block, property))
        spv_append_global(l->m, spv_make(l->m, SpvOpMemberDecorate, 0, 0, member, 3));
}

static uint32_t first_offset(const SpvType *block)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t k = 0; k < block->count; k++)
        first = MIN(first, block->offsets ? block->offsets[k] : 0);
    return first / 4 * 4;
}

/* The variable keeps its id, and with it what its descriptor is. */
static void become_words(LowerSmall *s, SpvInst *v, const SpvType *pointer)
{
    SpvModule *m = s->l->m;
    const SpvType *block = pointer->element;
    bool pushed = pointer->storage == SpvStorageClassPushConstant;
    uint32_t first = pushed ? first_offset(block) : 0;
    uint32_t n = (uint32_t)(align_up(block->size, 4) - first) / 4;
    uint32_t of[] = { build_u32(s->l), pushed ? build_const(s->l, n) : 0 };
    SpvInst *array = spv_make(m, pushed ? SpvOpTypeArray : SpvOpTypeRuntimeArray, 0, spv_new_id(m),
                              of, pushed ? 2 : 1);
    SpvInst *all = spv_make(m, SpvOpTypeStruct, 0, spv_new_id(m), &array->id, 1);
    spv_append_global(m, array);
    spv_append_global(m, all);
    decorate(s->l, (uint32_t[]){ array->id, SpvDecorationArrayStride, 4 }, 3);
    decorate(s->l, (uint32_t[]){ all->id, SpvDecorationBlock }, 2);
    decorate(s->l, (uint32_t[]){ all->id, 0, SpvDecorationOffset, first }, 4);
    keep_property(s->l, block, all->id, SpvDecorationNonWritable);
    keep_property(s->l, block, all->id, SpvDecorationCoherent);
    keep_property(s->l, block, all->id, SpvDecorationVolatile);
    v->type = v->words[1] = spv_pointer_type(m, pointer->storage, all->id);
    s->words[v->id] = (LowerWords){ v->id, build_const(s->l, 0 - first) };
}

static bool lacks8(const Lower *l, const SpvType *t)
{
    return t->bits == 8 && lower_lacks_storage(l, t);
}

static bool lacks16(const Lower *l, const SpvType *t)
{
    return t->bits == 16 && lower_lacks_storage(l, t);
}

static bool refuse_storage(Lower *l, const SpvInst *i, const SpvType *t, const char *where)
{
    bool of8 = small_holds(l, t, lacks8), of16 = small_holds(l, t, lacks16);
    return lower_refuse(l, i, "'%s' lacks %s%s%s, and %s", l->profile->name,
                        of8 ? "storageBuffer8BitAccess" : "", of8 && of16 ? " and " : "",
                        of16 ? "storageBuffer16BitAccess" : "", where);
}

static SpvInst *root_of(Lower *l, SpvId pointer)
{
    SpvInst *i = spv_def(l->m, pointer);
    while (i && (i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain ||
                 i->op == SpvOpCopyObject))
        i = spv_def(l->m, spv_operand(i, 0));
    return i;
}

/* Whether it is stored where others see it: then what stores it rounds it. */
static bool is_stored(LowerSmall *s, const SpvInst *i)
{
    const SpvType *p = i->op == SpvOpStore ? spv_type_of(s->l->m, spv_operand(i, 0)) : NULL;
    return p && !small_is_own(p->storage);
}

static void note_uses(LowerSmall *s, const SpvInst *i)
{
    uint16_t at[64];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = is_stored(s, i) ? n : 0; k < n && k < COUNT_OF(at); k++)
        if (i->words[at[k]] < s->n)
            s->used[i->words[at[k]]] = 1;
    bool stores = i->op == SpvOpStore || i->op == SpvOpCopyMemory;
    const SpvInst *v = stores ? root_of(s->l, spv_operand(i, 0)) : NULL;
    if (v && v->op == SpvOpVariable)
        s->written[v->id] = 1;
}

/* Others than the variable lead to the same memory. */
static void spread_written(LowerSmall *s)
{
    bool any = false;
    for (uint32_t turn = 0; turn < 2; turn++)
        for (SpvId id = 1; id < s->n; id++) {
            bool aliased =
                s->words[id].variable && spv_has_decoration(s->l->m, id, -1, SpvDecorationAliased);
            any |= aliased && s->written[id];
            s->written[id] |= aliased && any;
        }
}

static bool is_small8(const Lower *l, const SpvType *t)
{
    return t->bits == 8 && lower_is_small(l, t) && !lower_lacks_storage(l, t);
}

static bool is_small16(const Lower *l, const SpvType *t)
{
    return t->bits == 16 && lower_is_small(l, t) && !lower_lacks_storage(l, t);
}

/* Before version 1.5 an extension too (16 bits: 1.3). */
static void declare_extension(Lower *l)
{
    static const char name[] = "SPV_KHR_8bit_storage";
    uint32_t words[sizeof name / 4 + 1] = { 0 };
    SpvInst *last = l->m->globals.first;
    memcpy(words, name, sizeof name);
    while (last->next->op == SpvOpCapability)
        last = last->next;
    if (l->m->version < 0x10500)
        spv_insert_after(last, spv_make(l->m, SpvOpExtension, 0, 0, words, COUNT_OF(words)));
}

/* What is not calculated in needs a capability to be stored. */
static void declare_storage(Lower *l, const SpvType *p)
{
    bool uniform = p->storage == SpvStorageClassUniform;
    bool pushed = p->storage == SpvStorageClassPushConstant;
    uint32_t of8 = uniform  ? SpvCapabilityUniformAndStorageBuffer8BitAccess
                   : pushed ? SpvCapabilityStoragePushConstant8
                            : SpvCapabilityStorageBuffer8BitAccess;
    if (small_holds(l, p->element, is_small16))
        edit_capability(l->m, uniform  ? SpvCapabilityUniformAndStorageBuffer16BitAccess
                              : pushed ? SpvCapabilityStoragePushConstant16
                                       : SpvCapabilityStorageBuffer16BitAccess);
    if (!small_holds(l, p->element, is_small8) || edit_find_capability(l->m, of8))
        return;
    edit_capability(l->m, of8);
    declare_extension(l);
}

bool small_open_memory(LowerSmall *s)
{
    Lower *l = s->l;
    for (SpvFunction *f = l->m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                note_uses(s, i);
    for (SpvInst *i = l->m->globals.first; i; i = i->next) {
        const SpvType *p = i->op == SpvOpVariable ? spv_type(l->m, i->type) : NULL, *t;
        t = p ? p->element : NULL;
        if (t && !small_is_own(p->storage))
            declare_storage(l, p);
        if (!t || small_is_own(p->storage) || !small_holds(l, t, lower_lacks_storage))
            continue;
        bool words = t->kind == SPV_STRUCT && (p->storage == SpvStorageClassStorageBuffer ||
                                               p->storage == SpvStorageClassPushConstant);
        if (!words)
            return refuse_storage(l, i, t,
                                  "the variable is neither one storage buffer nor push constants");
        become_words(s, i, p);
    }
    spread_written(s);
    spv_forget_types(l->m);
    return true;
}

/* ---- parts of words -------------------------------------------------------------------------- */

static SpvId word_pointer(Lower *l, SpvInst *at, const Place *p, SpvId bytes)
{
    SpvId type = spv_pointer_type(l->m, p->storage, build_u32(l));
    return BUILD(l, at, SpvOpAccessChain, type, p->words.variable, build_const(l, 0),
                 build_div(l, at, bytes, 4));
}

static SpvId atomic_scope(Lower *l)
{
    return build_const(l, place_has_availability(l) ? SpvScopeQueueFamily : SpvScopeDevice);
}

static SpvId load_word(LowerSmall *s, SpvInst *at, const Place *p, SpvId bytes)
{
    Lower *l = s->l;
    uint32_t x[6] = { word_pointer(l, at, p, bytes) };
    if (s->written[p->words.variable])
        return BUILD(l, at, SpvOpAtomicLoad, build_u32(l), x[0], atomic_scope(l),
                     build_const(l, SpvMemorySemanticsMaskNone));
    memcpy(x + 1, p->memory, sizeof p->memory);
    return build(l, at, SpvOpLoad, build_u32(l), x, 1 + p->n_memory);
}

static SpvId shift_of(Lower *l, SpvInst *at, SpvId bytes)
{
    return build_mul(l, at, build_mod(l, at, bytes, 4), build_const(l, 8));
}

static SpvId load_number(LowerSmall *s, SpvInst *at, const Place *p, const SpvType *t, SpvId bytes)
{
    Lower *l = s->l;
    SpvId u32 = build_u32(l), word = load_word(s, at, p, bytes), words[2] = { word };
    if (t->bits == 64) {
        words[1] = load_word(s, at, p, build_add(l, at, bytes, build_const(l, 4)));
        word = build(l, at, SpvOpCompositeConstruct, spv_vector_type(l->m, u32, 2), words, 2);
        return BUILD(l, at, SpvOpBitcast, t->id, word);
    }
    if (t->bits < 32)
        word = BUILD(l, at, SpvOpBitFieldUExtract, u32, word, shift_of(l, at, bytes),
                     build_const(l, t->bits));
    return small_decode(s, at, t, word);
}

static void store_word(Lower *l, SpvInst *at, const Place *p, SpvId bytes, SpvId word)
{
    uint32_t x[6] = { word_pointer(l, at, p, bytes), word };
    memcpy(x + 2, p->memory, sizeof p->memory);
    build(l, at, SpvOpStore, 0, x, 2 + p->n_memory);
}

static void store_part(Lower *l, SpvInst *at, const Place *p, SpvId bytes, uint32_t bits,
                       SpvId value)
{
    SpvId u32 = build_u32(l), to = word_pointer(l, at, p, bytes), by = shift_of(l, at, bytes);
    SpvId scope = atomic_scope(l), order = build_const(l, SpvMemorySemanticsMaskNone);
    SpvId mask = build_const(l, (1u << bits) - 1);
    mask = BUILD(l, at, SpvOpShiftLeftLogical, u32, mask, by);
    mask = BUILD(l, at, SpvOpNot, u32, mask);
    value = BUILD(l, at, SpvOpShiftLeftLogical, u32, value, by);
    BUILD(l, at, SpvOpAtomicAnd, u32, to, scope, order, mask);
    BUILD(l, at, SpvOpAtomicOr, u32, to, scope, order, value);
}

static void store_number(LowerSmall *s, SpvInst *at, const Place *p, const SpvType *t, SpvId bytes,
                         SpvId value)
{
    Lower *l = s->l;
    SpvId u32 = build_u32(l);
    if (t->bits == 64) {
        SpvId two = BUILD(l, at, SpvOpBitcast, spv_vector_type(l->m, u32, 2), value);
        for (uint32_t k = 0; k < 2; k++)
            store_word(l, at, p, build_add(l, at, bytes, build_const(l, 4 * k)),
                       BUILD(l, at, SpvOpCompositeExtract, u32, two, k));
        return;
    }
    SpvId code = small_encode(s, at, t, value);
    if (t->bits == 32)
        store_word(l, at, p, bytes, code);
    else
        store_part(l, at, p, bytes, t->bits, code);
}

/* ---- numbers and vectors --------------------------------------------------------------------- */

static uint16_t resize_of(const SpvType *t)
{
    return t->kind == SPV_FLOAT ? SpvOpFConvert : t->is_signed ? SpvOpSConvert : SpvOpUConvert;
}

static SpvId load_leaf(LowerSmall *s, SpvInst *at, const Place *p)
{
    Lower *l = s->l;
    const SpvType *t = p->type, *c = lower_scalar(t);
    uint32_t x[5] = { p->pointer };
    SpvId parts[16], type = small_value(s, t->id);
    if (p->words.variable) {
        uint32_t n = t->kind == SPV_VECTOR ? t->count : 1;
        for (uint32_t k = 0; k < n && k < COUNT_OF(parts); k++)
            parts[k] = load_number(
                s, at, p, c,
                build_add(l, at, p->words.bytes, build_const(l, k * (uint32_t)c->size)));
        return t->kind == SPV_VECTOR ? build(l, at, SpvOpCompositeConstruct, type, parts, n)
                                     : parts[0];
    }
    memcpy(x + 1, p->memory, sizeof p->memory);
    SpvId value = build(l, at, SpvOpLoad, t->id, x, 1 + p->n_memory);
    return lower_is_small(l, c) ? BUILD(l, at, resize_of(c), type, value) : value;
}

static void store_leaf(LowerSmall *s, SpvInst *at, const Place *p, SpvId value)
{
    Lower *l = s->l;
    const SpvType *t = p->type, *c = lower_scalar(t);
    if (p->words.variable) {
        uint32_t n = t->kind == SPV_VECTOR ? t->count : 1;
        SpvId type = small_value(s, c->id);
        for (uint32_t k = 0; k < n; k++)
            store_number(s, at, p, c,
                         build_add(l, at, p->words.bytes, build_const(l, k * (uint32_t)c->size)),
                         t->kind == SPV_VECTOR ? BUILD(l, at, SpvOpCompositeExtract, type, value, k)
                                               : value);
        return;
    }
    if (lower_is_small(l, c))
        value = BUILD(l, at, resize_of(c), t->id, value);
    uint32_t x[6] = { p->pointer, value };
    memcpy(x + 2, p->memory, sizeof p->memory);
    build(l, at, SpvOpStore, 0, x, 2 + p->n_memory);
}

/* ---- all of a type --------------------------------------------------------------------------- */

static bool is_leaf(LowerSmall *s, const Place *p)
{
    const SpvType *t = p->type;
    return (t->kind != SPV_ARRAY && t->kind != SPV_STRUCT) ||
           (!p->words.variable && small_value(s, t->id) == t->id);
}

static Place part_of(LowerSmall *s, SpvInst *at, const Place *p, uint32_t k)
{
    Lower *l = s->l;
    const SpvType *t = p->type;
    bool array = t->kind == SPV_ARRAY;
    Place part = *p;
    part.type = array ? t->element : t->members[k];
    uint32_t stride = array && t->array_stride ? t->array_stride : (uint32_t)part.type->size;
    if (p->words.variable)
        part.words.bytes =
            build_add(l, at, p->words.bytes, build_const(l, array ? k * stride : t->offsets[k]));
    else if (p->pointer)
        part.pointer =
            BUILD(l, at, SpvOpAccessChain, spv_pointer_type(l->m, p->storage, part.type->id),
                  p->pointer, build_const(l, k));
    if (part.n_memory > 1 && part.memory[0] & SpvMemoryAccessAlignedMask)
        part.memory[1] = MIN(part.memory[1], part.type->align);
    return part;
}

static SpvId load_all(LowerSmall *s, SpvInst *at, const Place *p)
{
    const SpvType *t = p->type;
    if (is_leaf(s, p))
        return load_leaf(s, at, p);
    SpvId *parts = NEW_ARRAY(s->l->scratch, SpvId, t->count);
    for (uint32_t k = 0; k < t->count; k++) {
        Place part = part_of(s, at, p, k);
        parts[k] = load_all(s, at, &part);
    }
    return build(s->l, at, SpvOpCompositeConstruct, small_value(s, t->id), parts, t->count);
}

static void store_all(LowerSmall *s, SpvInst *at, const Place *p, SpvId value)
{
    const SpvType *t = p->type;
    if (is_leaf(s, p)) {
        store_leaf(s, at, p, value);
        return;
    }
    for (uint32_t k = 0; k < t->count; k++) {
        Place part = part_of(s, at, p, k);
        store_all(s, at, &part,
                  BUILD(s->l, at, SpvOpCompositeExtract, small_value(s, part.type->id), value, k));
    }
}

/* ---- instructions ---------------------------------------------------------------------------- */

static LowerWords words_of(const LowerSmall *s, SpvId id)
{
    return id < s->n ? s->words[id] : (LowerWords){ 0 };
}

static bool is_other(const Lower *l, const SpvType *t)
{
    (void)l;
    return t->kind != SPV_INT && t->kind != SPV_FLOAT && t->kind != SPV_VECTOR &&
           t->kind != SPV_ARRAY && t->kind != SPV_STRUCT;
}

/* Where it leads, with the memory operands from operand `memory` on. False after refusing, or where
 * the access stays as it is. */
static bool find_place(LowerSmall *s, const SpvInst *i, SpvId pointer, uint32_t memory, Place *p)
{
    Lower *l = s->l;
    const SpvType *t = pointer < s->n ? s->old[pointer] : NULL;
    uint32_t n = spv_n_operands(i);
    if (!t || t->kind != SPV_POINTER || !t->element)
        return false;
    *p = (Place){ t->element, pointer, words_of(s, pointer), t->storage, { 0 }, 0 };
    bool own = small_is_own(t->storage);
    if (!own && !p->words.variable && small_holds(l, t->element, lower_lacks_storage))
        return refuse_storage(l, i, t->element, "what it leads to is no variable's own");
    for (uint32_t k = memory; k < n && p->n_memory < 4; k++)
        p->memory[p->n_memory++] = spv_operand(i, k);
    if (!p->words.variable)
        return !own && small_holds(l, t->element, lower_is_small);
    if (small_holds(l, t->element, is_other))
        return lower_refuse(l, i,
                            "it shares a buffer with numbers of 8 or 16 bits, which '%s' "
                            "keeps in words",
                            l->profile->name);
    if (p->n_memory && p->memory[0] & SpvMemoryAccessAlignedMask) {
        memmove(p->memory + 1, p->memory + 2, 2 * sizeof *p->memory);
        p->memory[0] &= ~(uint32_t)SpvMemoryAccessAlignedMask;
        p->n_memory--;
    }
    return true;
}

static bool visit_load(LowerSmall *s, SpvInst *i)
{
    Place p;
    if (!find_place(s, i, spv_operand(i, 0), 1, &p))
        return false;
    SpvId value = load_all(s, i, &p);
    i->type = i->words[1] = small_value(s, i->type);
    lower_note(s->l, i, p.words.variable ? "parts of words" : "32 bits");
    build_replace(s->l, i, value);
    return true;
}

static bool visit_store(LowerSmall *s, SpvInst *i)
{
    Place p;
    if (!find_place(s, i, spv_operand(i, 0), 2, &p))
        return false;
    store_all(s, i, &p, spv_operand(i, 1));
    lower_note(s->l, i, p.words.variable ? "parts of words" : "32 bits");
    edit_remove(s->l->m, i);
    return true;
}

static bool visit_copy(LowerSmall *s, SpvInst *i)
{
    Place to, from;
    uint32_t n = spv_n_operands(i);
    bool other = find_place(s, i, spv_operand(i, 0), n, &to);
    other |= !s->l->failed && find_place(s, i, spv_operand(i, 1), n, &from);
    if (!other || s->l->failed)
        return false;
    SpvId value = small_is_own(from.storage)
                      ? build_load(s->l, i, small_value(s, from.type->id), from.pointer)
                      : load_all(s, i, &from);
    if (small_is_own(to.storage))
        build_store(s->l, i, to.pointer, value);
    else
        store_all(s, i, &to, value);
    edit_remove(s->l->m, i);
    return true;
}

static bool visit_chain(LowerSmall *s, SpvInst *i)
{
    LowerWords w = words_of(s, spv_operand(i, 0));
    if (!w.variable)
        return false;
    SpvId bytes = lower_view_bytes(s->l, i, s->old[spv_operand(i, 0)]->element);
    if (!bytes)
        return lower_refuse(s->l, i, "it leads to a matrix in a buffer that '%s' keeps in words",
                            s->l->profile->name);
    s->words[i->id] = (LowerWords){ w.variable, build_add(s->l, i, w.bytes, bytes) };
    edit_remove(s->l->m, i);
    return true;
}

static bool visit_length(LowerSmall *s, SpvInst *i)
{
    Lower *l = s->l;
    LowerWords w = words_of(s, spv_operand(i, 0));
    if (!w.variable)
        return false;
    const SpvType *block = s->old[spv_operand(i, 0)]->element;
    uint32_t k = spv_operand(i, 1), stride = block->members[k]->array_stride;
    SpvId all = BUILD(l, i, SpvOpArrayLength, build_u32(l), w.variable, 0);
    SpvId bytes =
        build_sub(l, i, build_mul(l, i, all, build_const(l, 4)), build_const(l, block->offsets[k]));
    build_replace(l, i, build_div(l, i, bytes, stride));
    return true;
}

static bool uses_words(LowerSmall *s, SpvInst *i)
{
    uint16_t at[64];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = 0; k < n && k < COUNT_OF(at); k++)
        if (words_of(s, i->words[at[k]]).variable)
            return lower_refuse(s->l, i,
                                "it shares a buffer with numbers of 8 or 16 bits, which '%s' keeps "
                                "in words",
                                s->l->profile->name);
    return false;
}

/* On an integer that is a word itself. */
static bool visit_atomic(LowerSmall *s, SpvInst *i)
{
    Lower *l = s->l;
    bool result = i->op != SpvOpAtomicStore;
    SpvId pointer = spv_operand(i, 0), u32 = build_u32(l);
    LowerWords w = words_of(s, pointer);
    const SpvType *t = w.variable ? s->old[pointer]->element : NULL;
    uint32_t n = spv_n_operands(i), x[6];
    if (!t || t->kind != SPV_INT || t->bits != 32 || n > COUNT_OF(x))
        return uses_words(s, i);
    Place p = { .type = t, .words = w, .storage = s->old[pointer]->storage };
    memcpy(x, i->words + i->first_operand, n * sizeof *x);
    x[0] = word_pointer(l, i, &p, w.bytes);
    for (uint32_t k = i->op == SpvOpAtomicCompareExchange ? 4 : 3; k < n; k++)
        x[k] = small_encode(s, i, t, x[k]);
    if (!result) {
        edit_become(l->m, i, i->op, x, n);
        return true;
    }
    SpvId value = build(l, i, i->op, u32, x, n);
    build_replace(l, i, small_decode(s, i, t, value));
    return true;
}

bool small_access(LowerSmall *s, SpvInst *i)
{
    switch (i->op) {
    case SpvOpLoad: return visit_load(s, i);
    case SpvOpStore: return visit_store(s, i);
    case SpvOpCopyMemory: return visit_copy(s, i);
    case SpvOpArrayLength: return visit_length(s, i);
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain: return visit_chain(s, i);
    default:
        if (spv_op_info(i->op)->flags & SPV_OPF_ATOMIC)
            return visit_atomic(s, i);
        return uses_words(s, i);
    }
}
