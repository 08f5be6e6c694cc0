/* SPDX-License-Identifier: MIT
 *
 * shader, pointers: logical addressing. A pointer becomes the root that it points into and a 32-bit
 * distance in bytes from the root's start, which is a sum of multiples of values. If it may point
 * into one of several roots, a second number says which, and memory accesses through it are
 * repeated for each of them in a switch. In memory, and as an integer, a pointer holds both: the
 * root's number in the upper half and the distance in the lower.
 */
#include "pass/shader.h"

/* ---- distances ------------------------------------------------------------------------------- */

/* An integer modulo 2^32. */
SpvId shader_narrow_integer(Shader *s, SpvId id)
{
    const SpvInst *i = spv_def(s->m, id);
    const SpvType *t = spv_type_of(s->m, id);
    uint64_t k;
    if (shader_constant(s, id, &k))
        return shader_u32(s, (uint32_t)k);
    if (t->bits == 32)
        return id;
    const SpvType *from = i->op == SpvOpSConvert || i->op == SpvOpUConvert
                              ? spv_type_of(s->m, spv_operand(i, 0))
                              : NULL;
    if (from && from->kind == SPV_INT && from->bits == 32)
        return spv_operand(i, 0);
    return EMIT(s, t->bits < 32 ? SpvOpSConvert : SpvOpUConvert, s->u32, id);
}

/* Adds index * scale, modulo 2^32. Sums and constant multiples in 64 bits are taken apart, so that
 * what is left are values of 32 bits. */
static void add_index(Shader *s, ShaderAddress *a, SpvId index, uint32_t scale, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, index);
    const SpvType *t = spv_type_of(s->m, index);
    bool wide = t->bits == 64 && depth < 8 && a->n + 2 < MAX_TERMS;
    uint64_t k;
    if (shader_constant(s, index, &k)) {
        a->constant += (uint32_t)k * scale;
    } else if (wide && i->op == SpvOpIAdd) {
        add_index(s, a, spv_operand(i, 0), scale, depth + 1);
        add_index(s, a, spv_operand(i, 1), scale, depth + 1);
    } else if (wide && i->op == SpvOpIMul && shader_constant(s, spv_operand(i, 1), &k)) {
        add_index(s, a, spv_operand(i, 0), scale * (uint32_t)k, depth + 1);
    } else if (wide && i->op == SpvOpShiftLeftLogical &&
               shader_constant(s, spv_operand(i, 1), &k) && k < 32) {
        add_index(s, a, spv_operand(i, 0), scale << k, depth + 1);
    } else {
        SpvId term = shader_narrow_integer(s, index);
        for (uint32_t j = 0; j < a->n; j++) {
            if (a->terms[j].index != term)
                continue;
            a->terms[j].scale += scale;
            return;
        }
        a->terms[a->n++] = (ShaderTerm){ term, scale };
    }
}

void shader_add_index(Shader *s, ShaderAddress *a, SpvId index, uint32_t scale)
{
    add_index(s, a, index, scale, 0);
}

/* The distance in units of so many bytes. Constants and scales may be negative. */
SpvId shader_distance(Shader *s, const ShaderAddress *a, uint32_t extra, uint32_t unit)
{
    int32_t constant = (int32_t)(a->constant + extra), by = (int32_t)unit;
    SpvId sum = 0;
    for (uint32_t k = 0; k < a->n; k++)
        by = (int32_t)a->terms[k].scale % (int32_t)unit ? 1 : by;
    by = constant % (int32_t)unit ? 1 : by;
    for (uint32_t k = 0; k < a->n; k++) {
        int32_t scale = (int32_t)a->terms[k].scale / by;
        SpvId term = a->terms[k].index;
        if (scale != 1)
            term = EMIT(s, SpvOpIMul, s->u32, term, shader_u32(s, (uint32_t)scale));
        sum = sum ? EMIT(s, SpvOpIAdd, s->u32, sum, term) : term;
    }
    SpvId rest = shader_u32(s, (uint32_t)(constant / by));
    sum = !sum ? rest : constant ? EMIT(s, SpvOpIAdd, s->u32, sum, rest) : sum;
    if (by == (int32_t)unit)
        return sum;
    return EMIT(s, SpvOpUDiv, s->u32, sum, shader_u32(s, unit));
}

/* ---- which root ------------------------------------------------------------------------------ */

static SpvId which(Shader *s, const ShaderAddress *a)
{
    return a && a->varies ? a->which : shader_u32(s, a && a->root ? a->root->index : 0);
}

static SpvId bytes(Shader *s, const ShaderAddress *a)
{
    return a ? shader_distance(s, a, 0, 1) : shader_u32(s, 0);
}

static SpvId pair_type(Shader *s) { return spv_vector_type(s->m, s->u32, 2); }

SpvId shader_pack(Shader *s, SpvId pointer)
{
    const ShaderAddress *a = shader_pointed(s, pointer);
    return EMIT(s, SpvOpCompositeConstruct, pair_type(s), bytes(s, a), which(s, a));
}

void shader_unpack(Shader *s, ShaderAddress *a, SpvId words)
{
    a->constant = 0;
    a->n = 1;
    a->terms[0] = (ShaderTerm){ EMIT(s, SpvOpCompositeExtract, s->u32, words, 0), 1 };
    a->which = EMIT(s, SpvOpCompositeExtract, s->u32, words, 1);
}

/* Whether it leads into a root of that storage class. */
static SpvId in_class(Shader *s, const ShaderAddress *a, uint32_t storage)
{
    const struct ShaderMemory *y = s->memory;
    SpvId any = 0, one;
    for (uint32_t k = 1; a && k < y->roots.len; k++) {
        const ShaderRoot *r = y->roots.data[k];
        if (!shader_may_be(a, r) || !shader_in_class(r, storage))
            continue;
        one = EMIT(s, SpvOpIEqual, s->bool_, which(s, a), shader_u32(s, k));
        any = any ? EMIT(s, SpvOpLogicalOr, s->bool_, any, one) : one;
    }
    return any ? any : spv_int_constant(s->m, s->bool_, 0);
}

SpvId shader_ambiguous(const Shader *s, const SpvInst *i)
{
    for (uint32_t k = 0; k < MIN(spv_n_operands(i), 8); k++) {
        const ShaderAddress *a =
            shader_accesses(i, k) ? shader_address(s, spv_operand(i, k)) : NULL;
        if (a && a->n_roots > 1)
            return spv_operand(i, k);
    }
    return 0;
}

static bool loads_pointer(Shader *s, const SpvInst *i)
{
    return i->op == SpvOpLoad && spv_type(s->m, i->type)->kind == SPV_POINTER;
}

/* The instruction in a block of its own, which goes on to `rest`. */
static ShaderFate one_case(Shader *s, const SpvInst *i, SpvBlock *b, const SpvBlock *rest,
                           SpvId value[2])
{
    SpvInst *own = spv_clone_inst(s->m, i);
    own->id = i->id ? spv_new_id(s->m) : 0;
    if (own->id) {
        own->words[own->first_operand - 1] = own->id;
        s->m->defs[own->id] = own;
    }
    if (loads_pointer(s, i)) /* as it is in memory: where it leads is known behind the cases */
        own->words[own->first_operand - 2] = own->type = pair_type(s);
    edit_append(s->m, b, SpvOpBranch, &rest->id, 1);
    const SpvInst *end = b->insts.last;
    spv_insert_before(b->insts.last, own);
    value[0] = own->id;
    ShaderFate fate = shader_lower(s, own, &value[0]);
    if (fate == FATE_GONE)
        spv_unlink(own);
    value[1] = end->block->id; /* which may be another by now */
    return fate;
}

ShaderFate shader_by_cases(Shader *s, SpvInst *i, SpvId pointer, SpvId *to)
{
    const struct ShaderMemory *y = s->memory;
    ShaderAddress *a = shader_address(s, pointer), all = *a;
    SpvBlock *head = i->block, *rest = edit_split(s->m, i);
    VEC(uint32_t) choice = { 0 }, values = { 0 };
    vec_push(s->a, &choice, all.which);
    vec_push(s->a, &choice, 0);
    for (uint32_t k = 1; k < y->roots.len; k++) {
        SpvId value[2];
        if (!shader_may_be(&all, y->roots.data[k]))
            continue;
        SpvBlock *b = spv_new_block(s->f, rest->prev);
        a->root = y->roots.data[k];
        a->n_roots = 1;
        if (one_case(s, i, b, rest, value) == FATE_ERROR)
            return FATE_ERROR;
        vec_push(s->a, &values, value[0]);
        vec_push(s->a, &values, value[1]);
        if (!choice.data[1]) { /* the default, as one of them it is */
            choice.data[1] = b->id;
            continue;
        }
        vec_push(s->a, &choice, k);
        vec_push(s->a, &choice, b->id);
    }
    *a = all;
    edit_append(s->m, head, SpvOpSelectionMerge, (uint32_t[]){ rest->id, 0 }, 2);
    edit_append(s->m, head, SpvOpSwitch, choice.data, choice.len);
    s->at = rest->insts.first->next;
    if (loads_pointer(s, i))
        shader_unpack(s, shader_address(s, i->id),
                      shader_emit(s, SpvOpPhi, pair_type(s), values.data, values.len));
    else if (i->id && spv_type(s->m, i->type)->kind != SPV_VOID)
        *to = shader_emit(s, SpvOpPhi, i->type, values.data, values.len);
    return FATE_GONE;
}

/* ---- pointers in memory ---------------------------------------------------------------------- */

static const SpvInst *defined_by(Shader *s, SpvId id, uint16_t op)
{
    const SpvInst *def = spv_def(s->m, id);
    return def && def->op == op && spv_type_of(s->m, id)->bits == 64 ? def : NULL;
}

/* The front end has them integers in memory. Here they are pointers, two words without an integer
 * of 64 bits, which a driver need not have. */
void shader_pointers_in_memory(Shader *s)
{
    uint32_t n = s->m->bound;
    SpvId *with = NEW_ARRAY(s->a, SpvId, n);
    for (SpvBlock *b = s->f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first, *next; i; i = next) {
            next = i->next;
            const SpvInst *of = NULL;
            if (i->op == SpvOpStore)
                of = defined_by(s, spv_operand(i, 1), SpvOpConvertPtrToU);
            else if (i->op == SpvOpConvertUToPtr)
                of = defined_by(s, spv_operand(i, 0), SpvOpLoad);
            if (of && i->op == SpvOpStore) {
                i->words[i->first_operand + 1] = spv_operand(of, 0);
            } else if (of) {
                with[i->id] = spv_put(s->m, of->next, SpvOpLoad, i->type,
                                      of->words + of->first_operand, spv_n_operands(of))
                                  ->id;
                spv_unlink(i);
            }
        }
    edit_replace(s->f, with, n);
}

/* ---- pointers -------------------------------------------------------------------------------- */

/* What leads as `from` does; the search knows where. */
static void lead_as(ShaderAddress *a, const ShaderAddress *from)
{
    a->constant = from ? from->constant : 0;
    a->n = from ? from->n : 0;
    a->which = from ? from->which : 0;
    for (uint32_t k = 0; k < a->n; k++)
        a->terms[k] = from->terms[k];
}

static ShaderFate lower_chain(Shader *s, SpvInst *i)
{
    ShaderAddress *a = shader_address(s, i->id);
    lead_as(a, shader_pointed(s, spv_operand(i, 0)));
    ShaderChain c = shader_chain(s, i);
    SpvId index;
    uint64_t scale;
    while (shader_chain_step(&c, &index, &scale)) {
        if (!index) {
            a->constant += (uint32_t)scale;
            continue;
        }
        if (a->n + 1 >= MAX_TERMS) {
            a->terms[0] = (ShaderTerm){ bytes(s, a), 1 };
            a->n = 1;
            a->constant = 0;
        }
        add_index(s, a, index, (uint32_t)scale, 0);
    }
    return FATE_GONE;
}

static SpvInst *new_phi(Shader *s, SpvInst *i)
{
    return spv_put(s->m, i, SpvOpPhi, s->u32, NULL, 0);
}

/* It stays until all of its values are known, because it tells where they come from. */
static ShaderFate lower_phi(Shader *s, SpvInst *i)
{
    ShaderAddress *a = shader_address(s, i->id);
    ShaderPointerPhi p = { i, new_phi(s, i), a->varies ? new_phi(s, i) : NULL, a->grain };
    a->n = 1;
    a->terms[0] = (ShaderTerm){ p.distance->id, a->grain };
    a->which = p.which ? p.which->id : 0;
    vec_push(s->a, &s->memory->phis, p);
    return FATE_STAYS;
}

void shader_close_pointers(Shader *s)
{
    struct ShaderMemory *y = s->memory;
    for (uint32_t p = 0; p < y->phis.len; p++) {
        ShaderPointerPhi *w = &y->phis.data[p];
        for (uint32_t k = 0; k + 1 < spv_n_operands(w->old); k += 2) {
            SpvBlock *from = edit_block(s->m, spv_operand(w->old, k + 1));
            const ShaderAddress *a = shader_pointed(s, spv_operand(w->old, k));
            SpvInst *merge = cfg_merge_inst(from);
            s->at = merge ? merge : from->insts.last;
            SpvId d = a ? shader_distance(s, a, 0, w->scale) : shader_u32(s, 0);
            edit_add_incoming(s->m, w->distance, d, from->id);
            if (w->which)
                edit_add_incoming(s->m, w->which, which(s, a), from->id);
        }
        spv_unlink(w->old);
    }
}

static SpvId choose_number(Shader *s, SpvId condition, SpvId yes, SpvId no)
{
    return yes == no ? yes : EMIT(s, SpvOpSelect, s->u32, condition, yes, no);
}

static ShaderFate lower_select(Shader *s, SpvInst *i)
{
    ShaderAddress *a = shader_address(s, i->id);
    SpvId d[2], w[2];
    for (uint32_t k = 0; k < 2; k++) {
        const ShaderAddress *x = shader_pointed(s, spv_operand(i, 1 + k));
        d[k] = x ? shader_distance(s, x, 0, a->grain) : shader_u32(s, 0);
        w[k] = which(s, x);
    }
    a->n = 1;
    a->terms[0] = (ShaderTerm){ choose_number(s, spv_operand(i, 0), d[0], d[1]), a->grain };
    a->which = choose_number(s, spv_operand(i, 0), w[0], w[1]);
    return FATE_GONE;
}

static ShaderFate lower_difference(Shader *s, SpvInst *i, SpvId *to)
{
    const ShaderAddress *a = shader_pointed(s, spv_operand(i, 0));
    const ShaderAddress *b = shader_pointed(s, spv_operand(i, 1));
    uint32_t align;
    uint32_t size =
        (uint32_t)spv_opencl_size(s->m, spv_type_of(s->m, spv_operand(i, 0))->element, &align);
    SpvId d = EMIT(s, SpvOpISub, s->u32, bytes(s, a), bytes(s, b));
    d = EMIT(s, SpvOpSDiv, s->u32, d, shader_u32(s, MAX(size, 1)));
    *to = EMIT(s, SpvOpSConvert, i->type, d);
    return FATE_GONE;
}

static ShaderFate lower_compare(Shader *s, SpvInst *i, SpvId *to)
{
    const ShaderAddress *a = shader_pointed(s, spv_operand(i, 0));
    const ShaderAddress *b = shader_pointed(s, spv_operand(i, 1));
    SpvId wa = which(s, a), wb = which(s, b);
    SpvId equal = EMIT(s, SpvOpIEqual, s->bool_, bytes(s, a), bytes(s, b));
    if (wa != wb) {
        SpvId same = EMIT(s, SpvOpIEqual, s->bool_, wa, wb);
        bool null = !a || !b || !a->n_roots || !b->n_roots;
        equal = null ? same : EMIT(s, SpvOpLogicalAnd, s->bool_, same, equal);
    }
    *to = i->op == SpvOpPtrEqual ? equal : EMIT(s, SpvOpLogicalNot, s->bool_, equal);
    return FATE_GONE;
}

/* A cast to a storage class other than that of the pointer's root yields null. */
static ShaderFate lower_cast(Shader *s, SpvInst *i)
{
    ShaderAddress *a = shader_address(s, i->id);
    const ShaderAddress *from = shader_pointed(s, spv_operand(i, 0));
    bool narrower = i->op == SpvOpGenericCastToPtrExplicit && from &&
                    memcmp(a->set, from->set, s->memory->n_words * sizeof *a->set);
    lead_as(a, narrower && !a->n_roots ? NULL : from);
    if (!narrower || !a->n_roots)
        return FATE_GONE;
    SpvId good = in_class(s, from, spv_operand(i, 1)), none = shader_u32(s, 0);
    a->which = choose_number(s, good, which(s, from), none);
    a->terms[0] = (ShaderTerm){ choose_number(s, good, bytes(s, from), none), 1 };
    a->n = 1;
    a->constant = 0;
    return FATE_GONE;
}

static ShaderFate lower_semantics(Shader *s, SpvInst *i, SpvId *to)
{
    const ShaderAddress *a = shader_pointed(s, spv_operand(i, 0));
    SpvId global = in_class(s, a, SpvStorageClassCrossWorkgroup);
    SpvId local = in_class(s, a, SpvStorageClassWorkgroup), none = shader_u32(s, 0);
    local = choose_number(s, local, shader_u32(s, SpvMemorySemanticsWorkgroupMemoryMask), none);
    *to =
        choose_number(s, global, shader_u32(s, SpvMemorySemanticsCrossWorkgroupMemoryMask), local);
    return FATE_GONE;
}

static ShaderFate lower_to_integer(Shader *s, SpvInst *i, SpvId *to)
{
    const ShaderAddress *a = shader_pointed(s, spv_operand(i, 0));
    if (spv_type(s->m, i->type)->bits < 64)
        *to = bytes(s, a);
    else if (!a || (!a->n_roots && !a->n)) /* what offsetof comes to */
        *to = spv_int_constant(s->m, i->type, a ? a->constant : 0);
    else
        *to = EMIT(s, SpvOpBitcast, i->type, shader_pack(s, spv_operand(i, 0)));
    return FATE_GONE;
}

static ShaderFate lower_from_integer(Shader *s, SpvInst *i)
{
    SpvId x = spv_operand(i, 0), wide = spv_int_type(s->m, 64, false);
    if (spv_type_of(s->m, x)->bits < 64)
        x = EMIT(s, SpvOpUConvert, wide, x);
    shader_unpack(s, shader_address(s, i->id), EMIT(s, SpvOpBitcast, pair_type(s), x));
    return FATE_GONE;
}

ShaderFate shader_pointer(Shader *s, SpvInst *i, SpvId *to)
{
    bool pointer = i->id && shader_address(s, i->id);
    switch (i->op) {
    case SpvOpPtrDiff: return lower_difference(s, i, to);
    case SpvOpPtrEqual:
    case SpvOpPtrNotEqual: return lower_compare(s, i, to);
    case SpvOpConvertPtrToU: return lower_to_integer(s, i, to);
    case SpvOpConvertUToPtr: return lower_from_integer(s, i);
    case SpvOpGenericPtrMemSemantics: return lower_semantics(s, i, to);
    default: break;
    }
    if (!pointer)
        return FATE_STAYS;
    switch (i->op) {
    case SpvOpPhi: return lower_phi(s, i);
    case SpvOpSelect: return lower_select(s, i);
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain: return lower_chain(s, i);
    case SpvOpBitcast:
    case SpvOpCopyObject:
    case SpvOpPtrCastToGeneric:
    case SpvOpGenericCastToPtr:
    case SpvOpGenericCastToPtrExplicit: return lower_cast(s, i);
    case SpvOpUndef: return FATE_GONE;
    default: return FATE_STAYS;
    }
}
