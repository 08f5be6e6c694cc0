/* SPDX-License-Identifier: MIT
 *
 * Pointers: access chains, the length of a runtime array, comparisons and differences.
 */
#include "reference/machine.h"

const RType *pointer_to(RMachine *m, const RInst *i, const RType *p)
{
    if (!p || p->kind != SPV_POINTER) {
        refuse(m, i->src, "the operand is not a pointer");
        return NULL;
    }
    return type_get(m, p->pointee);
}

/* ---- access chains --------------------------------------------------------------------------- */

typedef enum LinkKind {
    LINK_OFFSET,
    LINK_ARRAY,
    LINK_VECTOR,
    LINK_MATRIX,
    LINK_DESCRIPTOR
} LinkKind;
typedef struct Link {
    LinkKind kind;
    Ref index;
    uint32_t bits, count; /* count 0: no limit known here */
    uint64_t stride;      /* OFFSET: what to add */
    uint64_t layout;      /* OFFSET: the member's matrix layout as pointer bits */
    uint64_t scalar;      /* MATRIX: size of a component */
} Link;
typedef struct Chain {
    Link *links;
    uint32_t n;
} Chain;

static void follow_descriptor(RMachine *m, uint64_t x, RPointer *p)
{
    const RObject *first = mem_object(m, p->prov);
    if (first && x < first->row) {
        p->prov += x;
        p->va = first[x].va;
    } else {
        p->prov |= PTR_STRAY;
    }
}

static void follow_link(RMachine *m, RInv *v, const Link *l, RPointer *p, uint8_t *undef)
{
    if (l->kind == LINK_OFFSET) {
        p->va += l->stride;
        p->prov = (p->prov & ~PTR_LAYOUT) | l->layout;
        return;
    }
    uint64_t x = (uint64_t)sext(*leaf(v, l->index), l->bits);
    uint32_t stride = PTR_STRIDE(p->prov);
    bool rows = p->prov & PTR_ROW_MAJOR;
    *undef |= *unset(v, l->index);
    if (l->count && x >= l->count)
        p->prov |= PTR_STRAY;
    switch (l->kind) {
    case LINK_DESCRIPTOR: follow_descriptor(m, x, p); break;
    case LINK_MATRIX:
        p->va += x * (rows && stride ? l->scalar : stride ? stride : l->stride);
        if (!rows)
            p->prov &= ~PTR_LAYOUT;
        break;
    case LINK_VECTOR:
        p->va += x * (rows && stride ? stride : l->stride);
        p->prov &= ~PTR_LAYOUT;
        break;
    default: p->va += x * l->stride; break;
    }
}

static RStep step_access_chain(RMachine *m, RInv *v, const RInst *i)
{
    const Chain *c = i->aux;
    RPointer p = pointer_at(v, i->ops[0]);
    uint8_t undef = *unset(v, i->ops[0]);
    for (uint32_t k = 0; k < c->n; k++)
        follow_link(m, v, &c->links[k], &p, &undef);
    leaf(v, i->dst)[0] = p.va;
    leaf(v, i->dst)[1] = p.prov;
    unset(v, i->dst)[0] = undef;
    unset(v, i->dst)[1] = 0;
    return STEP_NEXT;
}

/* The decoded access chain that made the instruction's pointer; NULL where something else did. */
static const RInst *chain_of(const RMachine *m, const RInst *i)
{
    const SpvInst *def = spv_n_operands(i->src) ? spv_def(m->module, spv_operand(i->src, 0)) : NULL;
    for (uint32_t k = i->number; def && k-- > 0;)
        if (m->code.data[k].src == def)
            return m->code.data[k].run == step_access_chain ? &m->code.data[k] : NULL;
    return NULL;
}

/* What chains, one of another, begin at. */
static SpvId root_of(const RMachine *m, const RInst *chain)
{
    SpvId root = spv_operand(chain->src, 0);
    while ((chain = chain_of(m, chain)))
        root = spv_operand(chain->src, 0);
    return root;
}

const char *pointer_stray(RMachine *m, const RInv *v, const RInst *i)
{
    for (const RInst *at = chain_of(m, i); at; at = chain_of(m, at)) {
        const Chain *c = at->aux;
        for (uint32_t k = 0; k < c->n; k++) {
            const Link *l = &c->links[k];
            uint64_t x = l->kind == LINK_OFFSET ? 0 : (uint64_t)sext(*leaf(v, l->index), l->bits);
            if (l->kind != LINK_OFFSET && l->count && x >= l->count)
                return arena_printf(m->arena,
                                    "index %lld of '%s' is outside its array, which has %u",
                                    (long long)x, name_of(m, root_of(m, at)), l->count);
        }
    }
    return "an index on the way here was outside its array";
}

/* One index: appends its link, returns what it leads to. */
static const RType *link_index(RMachine *m, RInst *i, const RType *t, SpvId id, uint32_t storage,
                               Link *l)
{
    const RType *it = type_of(m, id);
    if (ref_of(m, id) == REF_NONE || !it || it->kind != SPV_INT) {
        refuse(m, i->src, "an index is not a scalar integer");
        return NULL;
    }
    l->index = m->refs[id];
    l->bits = it->bits;
    l->count = t->count;
    l->stride = t->stride;
    if (t->kind == SPV_STRUCT) {
        uint64_t x;
        if (!constant_uint(m, id, &x) || x >= t->count) {
            refuse(m, i->src, "a structure's index must be a constant below %u", t->count);
            return NULL;
        }
        l->kind = LINK_OFFSET;
        l->stride = t->offsets[x];
        l->layout = (uint64_t)t->matrix_strides[x] << 32 | (t->row_major[x] ? PTR_ROW_MAJOR : 0);
        return t->members[x];
    }
    switch (t->kind) {
    case SPV_ARRAY:
    case SPV_RUNTIME_ARRAY:
        l->kind = mem_is_descriptor_array(m, t, storage) ? LINK_DESCRIPTOR : LINK_ARRAY;
        break;
    case SPV_VECTOR: l->kind = LINK_VECTOR; break;
    case SPV_COOPMAT: l->kind = LINK_ARRAY; break;
    case SPV_MATRIX:
        l->kind = LINK_MATRIX;
        l->scalar = t->element->element->size;
        break;
    default: refuse(m, i->src, "an index into something that has no parts"); return NULL;
    }
    return t->element;
}

static bool prepare_chain(RMachine *m, RInst *i)
{
    bool first = i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain;
    const RType *t = pointer_to(m, i, i->at);
    Chain *c = NEW(m->arena, Chain);
    c->links = NEW_ARRAY(m->arena, Link, i->n_ops + 1u);
    if (!t || i->type->kind != SPV_POINTER) {
        refuse(m, i->src, "an access chain makes a pointer from a pointer");
        return false;
    }
    for (uint32_t k = 1; k < i->n_ops; k++) {
        SpvId id = spv_operand(i->src, k);
        Link *l = &c->links[c->n++];
        if (first && k == 1) {
            if (ref_of(m, id) == REF_NONE || type_of(m, id)->kind != SPV_INT) {
                refuse(m, i->src, "an index is not a scalar integer");
                return false;
            }
            uint64_t stride = i->at->stride ? i->at->stride : t->size;
            *l = (Link){ .kind = LINK_ARRAY,
                         .index = m->refs[id],
                         .bits = type_of(m, id)->bits,
                         .stride = stride };
            continue;
        }
        t = link_index(m, i, t, id, i->at->storage, l);
        if (!t)
            return false;
    }
    const RType *to = type_get(m, i->type->pointee);
    if (!to || (to->id != t->id && (to->kind != t->kind || to->leaves != t->leaves))) {
        refuse(m, i->src, "the access chain leads to another type than its result points to");
        return false;
    }
    i->aux = c;
    return true;
}

/* ---- lengths and comparisons ----------------------------------------------------------------- */

static RStep step_array_length(RMachine *m, RInv *v, const RInst *i)
{
    RPointer p = pointer_at(v, i->ops[0]);
    const RType *s = type_get(m, i->at->pointee);
    const RObject *o = mem_object(m, mem_provenance(m, v, p));
    uint32_t member = i->ops[1];
    uint64_t length = 0;
    if (o) {
        uint64_t at = p.va - o->va + s->offsets[member], stride = s->members[member]->stride;
        length = at <= o->size && stride ? (o->size - at) / stride : 0;
    }
    *leaf(v, i->dst) = length & mask_bits(i->bits);
    *unset(v, i->dst) = *unset(v, i->ops[0]);
    return STEP_NEXT;
}

static bool prepare_array_length(RMachine *m, RInst *i)
{
    const RType *s = pointer_to(m, i, i->at);
    if (s && (s->kind != SPV_STRUCT || i->n_ops < 2 || i->ops[1] >= s->count ||
              s->members[i->ops[1]]->kind != SPV_RUNTIME_ARRAY || i->n != 1))
        refuse(m, i->src, "the member is not a runtime array of a structure");
    return !m->failed;
}

static RStep step_pointer_relation(RMachine *m, RInv *v, const RInst *i)
{
    uint64_t a = *leaf(v, i->ops[0]), b = *leaf(v, i->ops[1]);
    (void)m;
    uint64_t apart = (uint64_t)((int64_t)(a - b) / (int64_t)i->part);
    *leaf(v, i->dst) = i->op == SpvOpPtrEqual      ? a == b
                       : i->op == SpvOpPtrNotEqual ? a != b
                                                   : apart & mask_bits(i->bits);
    *unset(v, i->dst) = *unset(v, i->ops[0]) | *unset(v, i->ops[1]);
    return STEP_NEXT;
}

static bool prepare_relation(RMachine *m, RInst *i)
{
    if (i->n_ops < 2 || !prepare_value(m, i) || i->at->kind != SPV_POINTER || i->n != 1 ||
        operand_type(m, i, 1)->kind != SPV_POINTER)
        return false;
    const RType *t = type_get(m, i->at->pointee);
    i->part = (uint32_t)MAX(i->at->stride ? i->at->stride : t ? t->size : 1, 1);
    return !m->failed;
}

/* clang-format off */
static const ROpRow rows[] = {
    { SpvOpAccessChain, step_access_chain, prepare_chain, NULL, 0 },
    { SpvOpInBoundsAccessChain, step_access_chain, prepare_chain, NULL, 0 },
    { SpvOpPtrAccessChain, step_access_chain, prepare_chain, NULL, 0 },
    { SpvOpInBoundsPtrAccessChain, step_access_chain, prepare_chain, NULL, 0 },
    { SpvOpArrayLength, step_array_length, prepare_array_length, NULL, 0 },
    { SpvOpPtrEqual, step_pointer_relation, prepare_relation, NULL, 0 },
    { SpvOpPtrNotEqual, step_pointer_relation, prepare_relation, NULL, 0 },
    { SpvOpPtrDiff, step_pointer_relation, prepare_relation, NULL, 0 },
};
/* clang-format on */
const ROpTable ref_pointer_ops = { rows, COUNT_OF(rows) };
