/* SPDX-License-Identifier: MIT
 *
 * Memory: every access names an object (a buffer, workgroup memory, a variable of an invocation)
 * and is checked against its bounds, whether or not findings are asked for. Objects of invocations
 * and of workgroups have a byte a byte that is 1 until it is written.
 */
#include "reference/machine.h"

uint64_t mem_read(const uint8_t *p, uint32_t size)
{
    uint64_t x = 0;
    memcpy(&x, p, size); /* little-endian hosts only, as SPIR-V's memory is on all of them */
    return x;
}

void mem_write(uint8_t *p, uint32_t size, uint64_t x) { memcpy(p, &x, size); }

uint32_t mem_scalar_size(const RType *t) { return (uint32_t)t->size; }

/* ---- access ---------------------------------------------------------------------------------- */

static const char *describe(Machine *m, const Object *o)
{
    if (o->variable && o->storage != SpvStorageClassWorkgroup &&
        o->storage != SpvStorageClassPushConstant)
        return arena_printf(m->arena, "%s '%s' (set %u, binding %u)",
                            o->storage == SpvStorageClassImage ? "image" : "buffer",
                            name_of(m, o->variable), o->set, o->binding);
    return o->variable ? arena_printf(m->arena, "'%s'", name_of(m, o->variable)) : "a buffer";
}

static bool outside(Machine *m, Inv *v, const RInst *i, AccessKind kind, uint32_t size, uint64_t at,
                    const char *what, uint64_t has)
{
    found(m, v, i, REF_OUT_OF_BOUNDS, "%s of %u bytes at byte %lld of %s, which has %llu",
          kind == ACCESS_READ || kind == ACCESS_ATOMIC_READ ? "read" : "write", size, (long long)at,
          what, (unsigned long long)has);
    return false;
}

static bool local_access(Machine *m, Inv *v, const RInst *i, uint64_t va, uint64_t prov,
                         uint32_t size, AccessKind kind, Access *out)
{
    uint32_t index = prov & 0x7fffffff;
    if (index >= v->n_objects) {
        found(m, v, i, REF_OUT_OF_BOUNDS, "access to a variable that no longer exists");
        return false;
    }
    const LocalObject *o = &v->objects[index];
    uint64_t at = va - LOCAL_BASE - o->offset;
    if (at > o->size || size > o->size - at) {
        if (!checking(m, REF_OUT_OF_BOUNDS))
            return false;
        const char *what = arena_printf(m->arena, "'%s'", name_of(m, o->variable));
        return outside(m, v, i, kind, size, at, what, o->size);
    }
    out->data = v->memory + o->offset + at;
    out->undef = v->memory_undef + o->offset + at;
    out->object = NULL;
    return true;
}

bool mem_access(Machine *m, Inv *v, const RInst *i, uint64_t va, uint64_t prov, uint32_t size,
                uint32_t align, AccessKind kind, Access *out)
{
    if (prov & PTR_STRAY) {
        found(m, v, i, REF_OUT_OF_BOUNDS, "an index on the way here was outside its array");
        return false;
    }
    if (!(prov & PTR_OBJECT_MASK))
        prov = mem_provenance(m, v, va);
    if (align > 1 && va % align)
        found(m, v, i, REF_MISALIGNED, "address %#llx is not a multiple of %u",
              (unsigned long long)va, align);
    if (prov & PTR_LOCAL)
        return local_access(m, v, i, va, prov, size, kind, out);
    uint32_t index = prov & 0x7fffffff;
    if (!index || index >= m->objects.len) {
        found(m, v, i, REF_OUT_OF_BOUNDS,
              va ? "pointer %#llx leads to no buffer that is bound"
                 : "access through a null pointer%.0llx",
              (unsigned long long)va);
        return false;
    }
    const Object *o = &m->objects.data[index];
    uint64_t at = va - o->va;
    if (at > o->size || size > o->size - at)
        return checking(m, REF_OUT_OF_BOUNDS) &&
               outside(m, v, i, kind, size, at, describe(m, o), o->size);
    if (!o->writable && (kind == ACCESS_WRITE || kind == ACCESS_ATOMIC)) {
        found(m, v, i, REF_OUT_OF_BOUNDS, "write to %s, which is read-only", describe(m, o));
        return false;
    }
    out->data = o->data + at;
    out->undef = o->undef ? o->undef + at : NULL;
    out->object = o;
    v->looked |= o->writable && kind != ACCESS_WRITE;
    m->changes += kind == ACCESS_WRITE;
    if (o->shared && checking(m, REF_RACE))
        race_access(m, v, i, o, at, size, kind);
    return true;
}

uint64_t mem_provenance(Machine *m, Inv *v, uint64_t va)
{
    if (va >= LOCAL_BASE && va < SHARED_BASE) {
        uint64_t at = va - LOCAL_BASE;
        for (uint32_t k = v->n_objects; k-- > 0;)
            if (at >= v->objects[k].offset && at - v->objects[k].offset < v->objects[k].size)
                return PTR_LOCAL | k;
    }
    for (uint32_t k = 1; k < m->objects.len; k++) {
        const Object *o = &m->objects.data[k];
        if (va >= o->va && va - o->va < o->size && o->storage != SpvStorageClassPushConstant)
            return k;
    }
    return PTR_NOWHERE;
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint8_t any_undef(const uint8_t *u, uint32_t n)
{
    uint8_t any = 0;
    for (uint32_t k = 0; u && k < n; k++)
        any |= u[k];
    return any;
}

bool mem_load_scalar(Machine *m, Inv *v, const RInst *i, uint64_t va, uint64_t prov, const RType *t,
                     uint64_t *to, uint8_t *undef)
{
    Access a;
    uint32_t size = (uint32_t)t->size;
    to[0] = 0;
    undef[0] = 0;
    if (t->kind == SPV_POINTER)
        to[1] = undef[1] = 0;
    if (!mem_access(m, v, i, va, prov, size, t->align, ACCESS_READ, &a))
        return false;
    undef[0] = any_undef(a.undef, size);
    if (t->kind == SPV_BOOL) {
        to[0] = mem_read(a.data, size) != 0;
    } else if (t->kind == SPV_POINTER) {
        to[0] = mem_read(a.data, 8);
        to[1] = t->physical ? PTR_NOWHERE : mem_read(a.data + 8, 8);
    } else {
        to[0] = mem_read(a.data, size);
    }
    return true;
}

void mem_store_scalar(Machine *m, Inv *v, const RInst *i, uint64_t va, uint64_t prov,
                      const RType *t, const uint64_t *from, const uint8_t *undef)
{
    Access a;
    uint32_t size = (uint32_t)t->size;
    if (!mem_access(m, v, i, va, prov, size, t->align, ACCESS_WRITE, &a))
        return;
    if (undef[0] && !a.undef)
        found(m, v, i, REF_UNDEFINED, "%s is stored to a buffer", undefined_name(undef[0]));
    if (a.object && size <= 8 && mem_read(a.data, size) == from[0] && !undef[0] &&
        !any_undef(a.undef, size))
        m->changes--; /* it is what was there */
    if (a.undef)
        memset(a.undef, undef[0], size);
    mem_write(a.data, MIN(size, 8), from[0]);
    if (t->kind == SPV_POINTER && !t->physical)
        mem_write(a.data + 8, 8, from[1]);
}

/* Moves a value of type `t` between memory and leaves, scalar by scalar. Matrices lie as the
 * pointer's stride and order say, or packed by columns. Recursion is as deep as types nest. */
typedef struct Mover {
    Machine *m;
    Inv *v;
    const RInst *i;
    bool store;
} Mover;

static void move_scalars(const Mover *c, uint64_t va, uint64_t prov, const RType *e, uint32_t n,
                         uint64_t stride, uint64_t *x, uint8_t *u)
{
    for (uint32_t k = 0; k < n; k++) {
        if (c->store)
            mem_store_scalar(c->m, c->v, c->i, va + k * stride, prov, e, x + k * e->leaves,
                             u + k * e->leaves);
        else
            mem_load_scalar(c->m, c->v, c->i, va + k * stride, prov, e, x + k * e->leaves,
                            u + k * e->leaves);
    }
}

static void move_value(const Mover *c, uint64_t va, uint64_t prov, const RType *t, uint64_t *x,
                       uint8_t *u)
{
    static const RType handle = {
        .kind = SPV_INT, .bits = 64, .leaves = 1, .size = 8, .align = 8
    };
    uint64_t layout = PTR_ROW_MAJOR | 0x3fffffffull << 32, plain = prov & ~layout;
    uint32_t stride = PTR_STRIDE(prov);
    bool rows = prov & PTR_ROW_MAJOR;
    if (!t->leaves)
        return; /* however many empty structures there are */
    switch (t->kind) {
    case SPV_VECTOR:
        move_scalars(c, va, plain, t->element, t->count, rows && stride ? stride : t->stride, x, u);
        break;
    case SPV_COOPMAT:
    case SPV_TENSOR_LAYOUT:
    case SPV_TENSOR_VIEW:
        move_scalars(c, va, plain, t->element, t->count, t->stride, x, u);
        break;
    case SPV_MATRIX: {
        const RType *column = t->element;
        uint64_t step = rows && stride ? column->element->size : stride ? stride : t->stride;
        for (uint32_t k = 0; k < t->count; k++)
            move_scalars(c, va + k * step, plain, column->element, column->count,
                         rows && stride ? stride : column->stride, x + k * column->count,
                         u + k * column->count);
        break;
    }
    case SPV_ARRAY:
        for (uint32_t k = 0; k < t->count; k++)
            move_value(c, va + k * t->stride, prov, t->element, x + (size_t)k * t->element->leaves,
                       u + (size_t)k * t->element->leaves);
        break;
    case SPV_STRUCT:
        for (uint32_t k = 0; k < t->count; k++) {
            uint64_t p = plain | (uint64_t)t->matrix_strides[k] << 32 |
                         (t->row_major[k] ? PTR_ROW_MAJOR : 0);
            move_value(c, va + t->offsets[k], p, t->members[k], x + t->first_leaf[k],
                       u + t->first_leaf[k]);
        }
        break;
    case SPV_RUNTIME_ARRAY:
        break;
    case SPV_IMAGE:
    case SPV_SAMPLED_IMAGE:
        move_scalars(c, va, plain, &handle, t->leaves, handle.size, x, u);
        break;
    case SPV_SAMPLER:
        move_scalars(c, va + offsetof(ImageBinding, sampler), plain, &handle, 1, 0, x, u);
        break;
    default:
        move_scalars(c, va, plain, t, t->leaves ? 1 : 0, 0, x, u);
        break;
    }
}

/* An initializer's leaves to the bytes of a variable that is not shared yet. */
void mem_copy_initial(Machine *m, const RType *t, uint64_t at, const uint64_t *x, const uint8_t *u,
                      uint8_t *data, uint8_t *undef)
{
    if (!t->leaves)
        return;
    switch (t->kind) {
    case SPV_VECTOR:
    case SPV_MATRIX:
    case SPV_COOPMAT:
    case SPV_TENSOR_LAYOUT:
    case SPV_TENSOR_VIEW:
    case SPV_ARRAY:
        for (uint32_t k = 0; k < t->count; k++)
            mem_copy_initial(m, t->element, at + k * t->stride, x + (size_t)k * t->element->leaves,
                             u + (size_t)k * t->element->leaves, data, undef);
        break;
    case SPV_STRUCT:
        for (uint32_t k = 0; k < t->count; k++)
            mem_copy_initial(m, t->members[k], at + t->offsets[k], x + t->first_leaf[k],
                             u + t->first_leaf[k], data, undef);
        break;
    default:
        mem_write(data + at, (uint32_t)MIN(t->size, 8), x[0]);
        if (t->kind == SPV_POINTER && !t->physical)
            mem_write(data + at + 8, 8, x[1]);
        memset(undef + at, u[0], t->size);
        break;
    }
}

/* ---- load and store -------------------------------------------------------------------------- */

static Step after_access(Machine *m, Inv *v, uint64_t prov)
{
    if ((prov & PTR_LOCAL) || v->left--)
        return STEP_NEXT;
    v->left = random_below(m, 24);
    return STEP_SWITCH;
}

static void check_pointer(Machine *m, Inv *v, const RInst *i, uint32_t operand)
{
    if (*unset(v, i->ops[operand]))
        matters(m, v, i, i->ops[operand], 1, "is used as an address");
    uint32_t align = i->part;
    uint64_t va = *leaf(v, i->ops[operand]);
    if (align > 1 && va % align)
        found(m, v, i, REF_MISALIGNED, "address %#llx is not a multiple of %u, as Aligned says",
              (unsigned long long)va, align);
}

static Step load(Machine *m, Inv *v, const RInst *i)
{
    const uint64_t *p = leaf(v, i->ops[0]);
    uint64_t prov = p[1];
    check_pointer(m, v, i, 0);
    if (i->n == 1 && !type_is_wide(i->type)) {
        mem_load_scalar(m, v, i, p[0], prov, type_scalar(i->type), leaf(v, i->dst),
                        unset(v, i->dst));
    } else {
        Mover c = { m, v, i, false };
        v->steps += i->n / 8;
        move_value(&c, p[0], prov, i->type, leaf(v, i->dst), unset(v, i->dst));
    }
    return after_access(m, v, prov);
}

static Step store(Machine *m, Inv *v, const RInst *i)
{
    const uint64_t *p = leaf(v, i->ops[0]);
    Mover c = { m, v, i, true };
    check_pointer(m, v, i, 0);
    v->steps += i->n / 8;
    move_value(&c, p[0], p[1], operand_type(m, i, 1), leaf(v, i->ops[1]), unset(v, i->ops[1]));
    return after_access(m, v, p[1]);
}

/* The Aligned literal of memory operands that start at `operand`. */
static uint32_t aligned(const RInst *i, uint32_t operand)
{
    if (i->n_ops <= operand || !(i->ops[operand] & SpvMemoryAccessAlignedMask) ||
        i->n_ops <= operand + 1u)
        return 0;
    uint32_t a = spv_operand(i->src, operand + 1);
    return is_pow2(a) && a <= 4096 ? a : 0;
}

static const RType *pointee(Machine *m, RInst *i, const RType *p)
{
    if (!p || p->kind != SPV_POINTER) {
        refuse(m, i->src, "the operand is not a pointer");
        return NULL;
    }
    return type_get(m, p->pointee);
}

static bool prepare_load(Machine *m, RInst *i)
{
    const RType *t = pointee(m, i, i->at);
    if (t && (t->id != i->type->id && (t->leaves != i->n || t->kind != i->type->kind)))
        refuse(m, i->src, "the result is not of the type pointed to");
    i->part = aligned(i, 1);
    if (t && !i->n && t->kind != SPV_STRUCT && t->kind != SPV_ARRAY)
        refuse(m, i->src, "values of this type cannot be loaded");
    return !m->failed;
}

static bool prepare_store(Machine *m, RInst *i)
{
    const RType *t = pointee(m, i, i->at);
    const RType *x = i->n_ops > 1 && ref_of(m, spv_operand(i->src, 1)) != REF_NONE
                         ? type_of(m, spv_operand(i->src, 1))
                         : NULL;
    if (t && (!x || t->leaves != x->leaves || t->kind != x->kind))
        refuse(m, i->src, "the object is not of the type pointed to");
    if (m->failed)
        return false;
    i->n = x->leaves;
    i->part = aligned(i, 2);
    return true;
}

static Step copy_memory(Machine *m, Inv *v, const RInst *i)
{
    struct {
        uint64_t *x;
        uint8_t *u;
        const RType *t;
    } *tmp = i->aux;
    const uint64_t *to = leaf(v, i->ops[0]), *from = leaf(v, i->ops[1]);
    Mover c = { m, v, i, false };
    matters(m, v, i, i->ops[0], 1, "is used as an address");
    matters(m, v, i, i->ops[1], 1, "is used as an address");
    v->steps += tmp->t->leaves / 4;
    move_value(&c, from[0], from[1], tmp->t, tmp->x, tmp->u);
    c.store = true;
    move_value(&c, to[0], to[1], tmp->t, tmp->x, tmp->u);
    return after_access(m, v, to[1]);
}

static bool prepare_copy_memory(Machine *m, RInst *i)
{
    struct {
        uint64_t *x;
        uint8_t *u;
        const RType *t;
    } * tmp;
    if (i->n_ops < 2 || !prepare_value(m, i))
        return false;
    const RType *to = pointee(m, i, i->at), *from = pointee(m, i, operand_type(m, i, 1));
    if (!to || !from || to->leaves != from->leaves || to->kind != from->kind) {
        refuse(m, i->src, "source and target are not of one type");
        return false;
    }
    tmp = arena_alloc(m->arena, sizeof(*tmp));
    tmp->t = from;
    tmp->x = NEW_ARRAY(m->arena, uint64_t, from->leaves + 1);
    tmp->u = NEW_ARRAY(m->arena, uint8_t, from->leaves + 1);
    i->aux = tmp;
    return true;
}

static Step copy_sized(Machine *m, Inv *v, const RInst *i)
{
    const uint64_t *to = leaf(v, i->ops[0]), *from = leaf(v, i->ops[1]);
    uint64_t n = *leaf(v, i->ops[2]);
    for (uint64_t k = 0; k < n; k++) {
        Access a, b;
        if (!mem_access(m, v, i, from[0] + k, from[1], 1, 1, ACCESS_READ, &a) ||
            !mem_access(m, v, i, to[0] + k, to[1], 1, 1, ACCESS_WRITE, &b))
            break;
        *b.data = *a.data;
        if (b.undef)
            *b.undef = a.undef ? *a.undef : 0;
        v->steps++;
    }
    return after_access(m, v, to[1]);
}

static bool prepare_copy_sized(Machine *m, RInst *i)
{
    return i->n_ops >= 3 && prepare_value(m, i) && i->at->kind == SPV_POINTER &&
           operand_type(m, i, 1)->kind == SPV_POINTER && operand_type(m, i, 2)->kind == SPV_INT;
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

static void follow(Machine *m, Inv *v, const Link *l, uint64_t *va, uint64_t *prov, uint8_t *undef)
{
    const uint64_t layout = PTR_ROW_MAJOR | 0x3fffffffull << 32;
    if (l->kind == LINK_OFFSET) {
        *va += l->stride;
        *prov = (*prov & ~layout) | l->layout;
        return;
    }
    int64_t x = sext(*leaf(v, l->index), l->bits);
    uint32_t stride = PTR_STRIDE(*prov);
    bool rows = *prov & PTR_ROW_MAJOR;
    *undef |= *unset(v, l->index);
    if (l->count && (uint64_t)x >= l->count)
        *prov |= PTR_STRAY;
    switch (l->kind) {
    case LINK_DESCRIPTOR: {
        uint32_t first = *prov & 0x7fffffff;
        if (first && first < m->objects.len && (uint64_t)x < m->objects.data[first].row) {
            *prov += (uint64_t)x;
            *va = m->objects.data[first + x].va;
        } else {
            *prov |= PTR_STRAY;
        }
        break;
    }
    case LINK_MATRIX:
        *va += (uint64_t)x * (rows && stride ? l->scalar : stride ? stride : l->stride);
        if (!rows)
            *prov &= ~layout;
        break;
    case LINK_VECTOR:
        *va += (uint64_t)x * (rows && stride ? stride : l->stride);
        *prov &= ~layout;
        break;
    default:
        *va += (uint64_t)x * l->stride;
        break;
    }
}

static Step access_chain(Machine *m, Inv *v, const RInst *i)
{
    const Chain *c = i->aux;
    const uint64_t *p = leaf(v, i->ops[0]);
    uint64_t va = p[0], prov = p[1];
    uint8_t undef = *unset(v, i->ops[0]);
    for (uint32_t k = 0; k < c->n; k++)
        follow(m, v, &c->links[k], &va, &prov, &undef);
    uint64_t *d = leaf(v, i->dst);
    d[0] = va;
    d[1] = prov;
    unset(v, i->dst)[0] = undef;
    unset(v, i->dst)[1] = 0;
    return STEP_NEXT;
}

static bool is_block(Machine *m, const RType *t)
{
    return t->kind == SPV_STRUCT &&
           (spv_has_decoration(m->module, t->id, -1, SpvDecorationBlock) ||
            spv_has_decoration(m->module, t->id, -1, SpvDecorationBufferBlock));
}

static bool is_descriptor_array(Machine *m, const RType *t, uint32_t storage)
{
    return (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY) && is_block(m, t->element) &&
           (storage == SpvStorageClassStorageBuffer || storage == SpvStorageClassUniform);
}

/* One index: appends its link, returns what it leads to. */
static const RType *link_index(Machine *m, RInst *i, const RType *t, SpvId id, uint32_t storage,
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
        l->kind = is_descriptor_array(m, t, storage) ? LINK_DESCRIPTOR : LINK_ARRAY;
        break;
    case SPV_VECTOR:
        l->kind = LINK_VECTOR;
        break;
    case SPV_COOPMAT:
        l->kind = LINK_ARRAY;
        break;
    case SPV_MATRIX:
        l->kind = LINK_MATRIX;
        l->scalar = t->element->element->size;
        break;
    default:
        refuse(m, i->src, "an index into something that has no parts");
        return NULL;
    }
    return t->element;
}

static bool prepare_chain(Machine *m, RInst *i)
{
    bool first = i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain;
    const RType *t = pointee(m, i, i->at);
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

/* ---- pointers -------------------------------------------------------------------------------- */

static Step array_length(Machine *m, Inv *v, const RInst *i)
{
    const uint64_t *p = leaf(v, i->ops[0]);
    uint64_t prov = p[1] & PTR_OBJECT_MASK ? p[1] : mem_provenance(m, v, p[0]);
    const RType *s = type_get(m, i->at->pointee);
    uint32_t member = i->ops[1], index = prov & 0x7fffffff;
    uint64_t length = 0;
    if (!(prov & PTR_LOCAL) && index && index < m->objects.len) {
        const Object *o = &m->objects.data[index];
        uint64_t at = p[0] - o->va + s->offsets[member], stride = s->members[member]->stride;
        length = at <= o->size && stride ? (o->size - at) / stride : 0;
    }
    *leaf(v, i->dst) = length & mask_bits(i->bits);
    *unset(v, i->dst) = *unset(v, i->ops[0]);
    return STEP_NEXT;
}

static bool prepare_array_length(Machine *m, RInst *i)
{
    const RType *s = pointee(m, i, i->at);
    if (s && (s->kind != SPV_STRUCT || i->n_ops < 2 || i->ops[1] >= s->count ||
              s->members[i->ops[1]]->kind != SPV_RUNTIME_ARRAY || i->n != 1))
        refuse(m, i->src, "the member is not a runtime array of a structure");
    return !m->failed;
}

static Step pointer_relation(Machine *m, Inv *v, const RInst *i)
{
    uint64_t a = *leaf(v, i->ops[0]), b = *leaf(v, i->ops[1]);
    (void)m;
    *leaf(v, i->dst) = i->op == SpvOpPtrEqual      ? a == b
                       : i->op == SpvOpPtrNotEqual ? a != b
                                                   : (a - b) / i->part & mask_bits(i->bits);
    if (i->op == SpvOpPtrDiff)
        *leaf(v, i->dst) = (uint64_t)((int64_t)(a - b) / (int64_t)i->part) & mask_bits(i->bits);
    *unset(v, i->dst) = *unset(v, i->ops[0]) | *unset(v, i->ops[1]);
    return STEP_NEXT;
}

static bool prepare_relation(Machine *m, RInst *i)
{
    if (i->n_ops < 2 || !prepare_value(m, i) || i->at->kind != SPV_POINTER || i->n != 1 ||
        operand_type(m, i, 1)->kind != SPV_POINTER)
        return false;
    const RType *t = type_get(m, i->at->pointee);
    i->part = (uint32_t)MAX(i->at->stride ? i->at->stride : t ? t->size : 1, 1);
    return !m->failed;
}

/* ---- variables of module scope --------------------------------------------------------------- */

static uint32_t add_object(Machine *m, Object o)
{
    vec_push(m->arena, &m->objects, o);
    return m->objects.len - 1;
}

static void bind_buffer(Machine *m, SpvInst *i, const RType *t, Ref r)
{
    uint32_t n, n2, count = 1, first = 0;
    const uint32_t *set = spv_decoration(m->module, i->id, -1, SpvDecorationDescriptorSet, &n);
    const uint32_t *binding = spv_decoration(m->module, i->id, -1, SpvDecorationBinding, &n2);
    uint32_t storage = spv_operand(i, 0);
    Object o = { .storage = storage, .variable = i->id, .shared = true, .writable = true };
    o.set = set && n ? *set : 0;
    o.binding = binding && n2 ? *binding : 0;
    if (is_descriptor_array(m, t, storage)) {
        count = t->count;
        for (uint32_t k = 0; t->kind == SPV_RUNTIME_ARRAY && k < m->d->n_bindings; k++)
            if (m->d->bindings[k].set == o.set && m->d->bindings[k].binding == o.binding)
                count = MAX(count, m->d->bindings[k].element + 1);
        t = t->element;
        count = MIN(MAX(count, 1), 1u << 20);
    }
    if (storage == SpvStorageClassUniform &&
        !spv_has_decoration(m->module, t->id, -1, SpvDecorationBufferBlock))
        o.writable = o.shared = false;
    for (uint32_t k = 0; k < count; k++) {
        o.element = k;
        o.data = NULL;
        o.va = o.size = 0;
        for (uint32_t b = 0; b < m->d->n_bindings; b++) {
            const RefBinding *x = &m->d->bindings[b];
            if (x->set == o.set && x->binding == o.binding && x->element == k) {
                o.data = x->base;
                o.va = (uint64_t)(uintptr_t)x->base;
                o.size = x->base ? x->size : 0;
            }
        }
        uint32_t index = add_object(m, o);
        if (!k)
            first = index;
    }
    m->objects.data[first].row = count;
    m->cv[r & 0x7fffffff] = m->objects.data[first].va;
    m->cv[(r & 0x7fffffff) + 1] = first;
}

static bool is_opaque(const RType *t)
{
    while (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY)
        t = t->element;
    return type_is_opaque(t);
}

/* The variable is an array of ImageBindings, and each image's memory an object of its own, which
 * texels' addresses lead to. */
static void bind_images(Machine *m, SpvInst *i, const RType *t, Ref r)
{
    bool open = t->kind == SPV_RUNTIME_ARRAY;
    uint32_t n, count = open ? 1 : (uint32_t)(t->size / sizeof(ImageBinding));
    const uint32_t *set = spv_decoration(m->module, i->id, -1, SpvDecorationDescriptorSet, &n);
    const uint32_t *binding = spv_decoration(m->module, i->id, -1, SpvDecorationBinding, &n);
    Object o = { .storage = SpvStorageClassImage, .variable = i->id, .shared = true,
                 .writable = true, .set = set ? *set : 0, .binding = binding ? *binding : 0 };
    const RefBinding *all = m->d->bindings;
    for (uint32_t b = 0; open && b < m->d->n_bindings; b++)
        if (all[b].set == o.set && all[b].binding == o.binding)
            count = MAX(count, all[b].element + 1);
    count = MIN(count, 1u << 20);
    ImageBinding *table = NEW_ARRAY(m->arena, ImageBinding, count + 1);
    for (uint32_t b = 0; b < m->d->n_bindings; b++) {
        const RefBinding *x = &all[b];
        if (x->set != o.set || x->binding != o.binding || x->element >= count)
            continue;
        table[x->element] = x->image;
        o.element = x->element;
        if (!x->image.image)
            continue;
        o.data = x->image.image->data;
        o.size = x->image.image->size;
        o.va = (uint64_t)(uintptr_t)o.data;
        add_object(m, o);
    }
    Object variable = { .storage = SpvStorageClassUniformConstant, .variable = i->id,
                        .data = (uint8_t *)table, .size = count * sizeof *table };
    variable.va = (uint64_t)(uintptr_t)table;
    m->cv[r & 0x7fffffff] = variable.va;
    m->cv[(r & 0x7fffffff) + 1] = add_object(m, variable);
}

static void place_local(Machine *m, SpvInst *i, const RType *t, Ref r)
{
    uint32_t n;
    uint64_t at = align_up(m->local_bytes, 16);
    m->local_bytes = align_up(at + t->size, 16);
    m->cv[r & 0x7fffffff] = LOCAL_BASE + at;
    m->cv[(r & 0x7fffffff) + 1] = PTR_LOCAL | m->local_objects.len;
    vec_push(m->arena, &m->local_objects, (LocalObject){ at, t->size, i->id });
    const uint32_t *b = spv_decoration(m->module, i->id, -1, SpvDecorationBuiltIn, &n);
    if (b && n && type_is_wide(t))
        refuse(m, i, "a built-in variable must be a scalar or a vector");
    else if (b && n)
        vec_push(m->arena, &m->builtins, (struct Builtin){ at, t, *b });
    SpvId init = spv_n_operands(i) > 1 ? spv_operand(i, 1) : 0;
    if (init)
        vec_push(m->arena, &m->initials, (struct Initial){ i->id, at, t, ref_of(m, init), 0 });
    if (m->local_bytes > (1ull << 32))
        refuse(m, i, "private variables take too much memory");
}

/* Blocks in workgroup memory share it (SPV_KHR_workgroup_memory_explicit_layout): what the largest
 * of them takes. */
static uint64_t room_of_blocks(Machine *m)
{
    uint64_t room = 0;
    for (const SpvInst *i = m->module->globals.first; i; i = i->next) {
        if (i->op != SpvOpVariable || spv_operand(i, 0) != SpvStorageClassWorkgroup)
            continue;
        const RType *p = type_get(m, i->type);
        const RType *t = p && p->kind == SPV_POINTER ? type_get(m, p->pointee) : NULL;
        if (t && is_block(m, t))
            room = MAX(room, t->size);
    }
    return room;
}

static void place_shared(Machine *m, SpvInst *i, const RType *t, Ref r, uint64_t *bytes,
                         uint32_t *block)
{
    bool aliased = is_block(m, t);
    uint64_t room = aliased ? room_of_blocks(m) : t->size;
    SpvId init = spv_n_operands(i) > 1 ? spv_operand(i, 1) : 0;
    Object o = {
        .storage = SpvStorageClassWorkgroup, .variable = i->id, .shared = true, .writable = true
    };
    if (room > (1ull << 32) || *bytes > (1ull << 32)) {
        refuse(m, i, "workgroup variables take too much memory");
        return;
    }
    o.size = t->size;
    if (aliased && *block) {
        const Object *b = &m->objects.data[*block];
        o.va = b->va;
        o.data = b->data;
        o.undef = b->undef;
    } else {
        o.va = SHARED_BASE + *bytes;
        o.data = arena_alloc(m->arena, room + 8);
        o.undef = arena_alloc(m->arena, room + 8);
        *bytes = align_up(*bytes + room + 64, 64);
    }
    uint32_t index = add_object(m, o);
    if (aliased)
        *block = index;
    m->cv[r & 0x7fffffff] = o.va;
    m->cv[(r & 0x7fffffff) + 1] = index;
    if (init)
        vec_push(m->arena, &m->initials, (struct Initial){ i->id, 0, t, ref_of(m, init), index });
}

static void bind_variable(Machine *m, SpvInst *i, uint64_t *shared, uint32_t *block)
{
    const RType *p = type_get(m, i->type);
    if (!p || p->kind != SPV_POINTER || spv_n_operands(i) < 1)
        return;
    const RType *t = type_get(m, p->pointee);
    if (!t)
        return;
    if (spv_n_operands(i) > 1) {
        const RType *x = type_of(m, spv_operand(i, 1));
        if (ref_of(m, spv_operand(i, 1)) == REF_NONE || !x || x->leaves != t->leaves ||
            x->kind != t->kind) {
            refuse(m, i, "the initializer is not a constant of the variable's type");
            return;
        }
    }
    Ref r = constant_alloc(m, 2);
    m->value_types[i->id] = p;
    switch (spv_operand(i, 0)) {
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassUniform:
        bind_buffer(m, i, t, r);
        break;
    case SpvStorageClassPushConstant: {
        Object o = { .storage = SpvStorageClassPushConstant, .variable = i->id };
        o.data = (uint8_t *)m->d->push;
        o.size = m->d->push ? m->d->push_size : 0;
        o.va = (uint64_t)(uintptr_t)o.data;
        m->cv[r & 0x7fffffff] = o.va;
        m->cv[(r & 0x7fffffff) + 1] = add_object(m, o);
        break;
    }
    case SpvStorageClassWorkgroup:
        place_shared(m, i, t, r, shared, block);
        break;
    case SpvStorageClassPrivate:
    case SpvStorageClassInput:
    case SpvStorageClassOutput:
        place_local(m, i, t, r);
        break;
    case SpvStorageClassUniformConstant:
    case SpvStorageClassCrossWorkgroup: {
        if (t->kind == SPV_OTHER)
            return; /* an error where one is used */
        if (is_opaque(t)) {
            bind_images(m, i, t, r);
            break;
        }
        Object o = { .storage = spv_operand(i, 0), .variable = i->id, .shared = true };
        o.writable = o.storage == SpvStorageClassCrossWorkgroup;
        o.size = t->size;
        o.data = arena_alloc(m->arena, t->size + 16);
        o.va = (uint64_t)(uintptr_t)o.data;
        if (spv_n_operands(i) > 1) {
            Ref init = ref_of(m, spv_operand(i, 1));
            uint8_t *u = arena_alloc(m->arena, t->size + 16);
            mem_copy_initial(m, t, 0, leaf(&m->const_inv, init), unset(&m->const_inv, init), o.data,
                             u);
        }
        m->cv[r & 0x7fffffff] = o.va;
        m->cv[(r & 0x7fffffff) + 1] = add_object(m, o);
        break;
    }
    default:
        return;
    }
    m->refs[i->id] = r;
}

static void initial_images(Machine *m)
{
    m->local_image = arena_alloc(m->arena, m->local_bytes + 16);
    m->local_undef = arena_alloc(m->arena, m->local_bytes + 16);
    memset(m->local_undef, 1, m->local_bytes);
    for (uint32_t k = 0; k < m->initials.len; k++) {
        const struct Initial *x = &m->initials.data[k];
        if (!x->object)
            mem_copy_initial(m, x->type, x->offset, leaf(&m->const_inv, x->init),
                             unset(&m->const_inv, x->init), m->local_image, m->local_undef);
    }
    for (uint32_t k = 0; k < m->builtins.len; k++)
        memset(m->local_undef + m->builtins.data[k].offset, 0, m->builtins.data[k].type->size);
}

bool mem_bind(Machine *m)
{
    uint64_t shared = 0;
    uint32_t block = 0;
    add_object(m, (Object){ 0 });
    for (SpvInst *i = m->module->globals.first; i && !m->failed; i = i->next)
        if (i->op == SpvOpVariable)
            bind_variable(m, i, &shared, &block);
    for (uint32_t k = 0; k < m->d->n_memory; k++) {
        const RefMemory *x = &m->d->memory[k];
        Object o = { .storage = SpvStorageClassPhysicalStorageBuffer,
                     .shared = true,
                     .writable = true };
        o.data = x->base;
        o.va = (uint64_t)(uintptr_t)x->base;
        o.size = x->base ? x->size : 0;
        add_object(m, o);
    }
    if (!m->failed)
        initial_images(m);
    return !m->failed;
}

void mem_new_group(Machine *m)
{
    for (uint32_t k = 1; k < m->objects.len; k++) {
        Object *o = &m->objects.data[k];
        if (o->storage == SpvStorageClassWorkgroup) {
            memset(o->data, 0, o->size);
            memset(o->undef, 1, o->size);
        }
    }
    for (uint32_t k = 0; k < m->initials.len; k++) {
        const struct Initial *x = &m->initials.data[k];
        if (x->object) {
            Object *o = &m->objects.data[x->object];
            mem_copy_initial(m, x->type, 0, leaf(&m->const_inv, x->init),
                             unset(&m->const_inv, x->init), o->data, o->undef);
        }
    }
}

/* clang-format off */
static const OpRow rows[] = {
    { SpvOpLoad, load, prepare_load, NULL, 0 },
    { SpvOpStore, store, prepare_store, NULL, 0 },
    { SpvOpCopyMemory, copy_memory, prepare_copy_memory, NULL, 0 },
    { SpvOpCopyMemorySized, copy_sized, prepare_copy_sized, NULL, 0 },
    { SpvOpAccessChain, access_chain, prepare_chain, NULL, 0 },
    { SpvOpInBoundsAccessChain, access_chain, prepare_chain, NULL, 0 },
    { SpvOpPtrAccessChain, access_chain, prepare_chain, NULL, 0 },
    { SpvOpInBoundsPtrAccessChain, access_chain, prepare_chain, NULL, 0 },
    { SpvOpArrayLength, array_length, prepare_array_length, NULL, 0 },
    { SpvOpPtrEqual, pointer_relation, prepare_relation, NULL, 0 },
    { SpvOpPtrNotEqual, pointer_relation, prepare_relation, NULL, 0 },
    { SpvOpPtrDiff, pointer_relation, prepare_relation, NULL, 0 },
};
/* clang-format on */
const OpTable ref_memory_ops = { rows, COUNT_OF(rows) };
