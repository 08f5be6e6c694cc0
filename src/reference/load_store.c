/* SPDX-License-Identifier: MIT
 *
 * Values of any type between memory and leaves: loads, stores, copies, initializers.
 */
#include "reference/machine.h"

/* Moves a value of type `t` between memory and leaves, scalar by scalar. Matrices lie as the
 * pointer's stride and order say, or packed by columns. Recursion is as deep as types nest. */
typedef struct Mover {
    RMachine *m;
    RInv *v;
    const RInst *i;
    bool stores;
} Mover;

static void move_scalars(const Mover *c, RPointer at, const RType *e, uint32_t n, uint64_t stride,
                         RLeaves l)
{
    for (uint32_t k = 0; k < n; k++) {
        RPointer p = pointer_plus(at, k * stride);
        RLeaves part = leaves_from(l, (size_t)k * e->leaves);
        if (c->stores)
            mem_store_scalar(c->m, c->v, c->i, p, e, part);
        else
            mem_load_scalar(c->m, c->v, c->i, p, e, part);
    }
}

static void move_matrix(const Mover *c, RPointer at, const RType *t, RLeaves l)
{
    const RType *column = t->element;
    uint32_t stride = PTR_STRIDE(at.prov);
    bool rows = stride && at.prov & PTR_ROW_MAJOR;
    uint64_t step = rows ? column->element->size : stride ? stride : t->stride;
    at.prov &= ~PTR_LAYOUT;
    for (uint32_t k = 0; k < t->count; k++)
        move_scalars(c, pointer_plus(at, k * step), column->element, column->count,
                     rows ? stride : column->stride, leaves_from(l, (size_t)k * column->count));
}

static void move_value(const Mover *c, RPointer at, const RType *t, RLeaves l)
{
    static const RType handle = { .kind = SPV_INT, .bits = 64, .leaves = 1, .size = 8, .align = 8 };
    RPointer plain = { at.va, at.prov & ~PTR_LAYOUT };
    uint32_t stride = PTR_STRIDE(at.prov);
    if (!t->leaves)
        return; /* however many empty structures there are */
    switch (t->kind) {
    case SPV_VECTOR:
        move_scalars(c, plain, t->element, t->count,
                     stride && at.prov & PTR_ROW_MAJOR ? stride : t->stride, l);
        break;
    case SPV_COOPMAT:
    case SPV_TENSOR_LAYOUT:
    case SPV_TENSOR_VIEW: move_scalars(c, plain, t->element, t->count, t->stride, l); break;
    case SPV_MATRIX: move_matrix(c, at, t, l); break;
    case SPV_ARRAY:
        for (uint32_t k = 0; k < t->count; k++)
            move_value(c, pointer_plus(at, k * t->stride), t->element,
                       leaves_from(l, (size_t)k * t->element->leaves));
        break;
    case SPV_STRUCT:
        for (uint32_t k = 0; k < t->count; k++) {
            RPointer member = pointer_plus(plain, t->offsets[k]);
            member.prov |= (uint64_t)t->matrix_strides[k] << 32;
            member.prov |= t->row_major[k] ? PTR_ROW_MAJOR : 0;
            move_value(c, member, t->members[k], leaves_from(l, t->first_leaf[k]));
        }
        break;
    case SPV_RUNTIME_ARRAY: break;
    case SPV_IMAGE:
    case SPV_SAMPLED_IMAGE: move_scalars(c, plain, &handle, t->leaves, handle.size, l); break;
    case SPV_SAMPLER:
        move_scalars(c, pointer_plus(plain, offsetof(ImageBinding, sampler)), &handle, 1, 0, l);
        break;
    default: move_scalars(c, plain, t, 1, 0, l); break;
    }
}

void mem_initialize(const RType *t, RLeaves from, uint8_t *data, uint8_t *undef)
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
            mem_initialize(t->element, leaves_from(from, (size_t)k * t->element->leaves),
                           data + k * t->stride, undef + k * t->stride);
        break;
    case SPV_STRUCT:
        for (uint32_t k = 0; k < t->count; k++)
            mem_initialize(t->members[k], leaves_from(from, t->first_leaf[k]), data + t->offsets[k],
                           undef + t->offsets[k]);
        break;
    default:
        mem_write(data, (uint32_t)MIN(t->size, 8), from.x[0]);
        if (t->kind == SPV_POINTER && !t->physical)
            mem_write(data + 8, 8, from.x[1]);
        memset(undef, from.undef[0], t->size);
        break;
    }
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Invocations change places at memory that they share. */
static RStep after_access(RMachine *m, RInv *v, RPointer p)
{
    if ((p.prov & PTR_LOCAL) || v->left--)
        return STEP_NEXT;
    v->left = random_below(m, 24);
    return STEP_SWITCH;
}

static void check_alignment(RMachine *m, RInv *v, const RInst *i, uint32_t operand)
{
    if (*unset(v, i->ops[operand]))
        matters(m, v, i, i->ops[operand], 1, "is used as an address");
    uint32_t align = i->part;
    uint64_t va = *leaf(v, i->ops[operand]);
    if (align > 1 && va % align)
        found(m, v, i, REF_MISALIGNED, "address %#llx is not a multiple of %u, as Aligned says",
              (unsigned long long)va, align);
}

static RStep step_load(RMachine *m, RInv *v, const RInst *i)
{
    RPointer p = pointer_at(v, i->ops[0]);
    check_alignment(m, v, i, 0);
    if (i->n == 1 && !type_is_wide(i->type)) {
        mem_load_scalar(m, v, i, p, type_scalar(i->type), leaves_at(v, i->dst));
    } else {
        v->steps += i->n / 8;
        move_value(&(Mover){ m, v, i, false }, p, i->type, leaves_at(v, i->dst));
    }
    return after_access(m, v, p);
}

static RStep step_store(RMachine *m, RInv *v, const RInst *i)
{
    RPointer p = pointer_at(v, i->ops[0]);
    check_alignment(m, v, i, 0);
    v->steps += i->n / 8;
    move_value(&(Mover){ m, v, i, true }, p, operand_type(m, i, 1), leaves_at(v, i->ops[1]));
    return after_access(m, v, p);
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

static bool prepare_load(RMachine *m, RInst *i)
{
    const RType *t = pointer_to(m, i, i->at);
    if (t && (t->id != i->type->id && (t->leaves != i->n || t->kind != i->type->kind)))
        refuse(m, i->src, "the result is not of the type pointed to");
    i->part = aligned(i, 1);
    if (t && !i->n && t->kind != SPV_STRUCT && t->kind != SPV_ARRAY)
        refuse(m, i->src, "values of this type cannot be loaded");
    return !m->failed;
}

static bool prepare_store(RMachine *m, RInst *i)
{
    const RType *t = pointer_to(m, i, i->at);
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

typedef struct CopiedValue {
    const RType *t;
    RLeaves l;
} CopiedValue;

static RStep step_copy_memory(RMachine *m, RInv *v, const RInst *i)
{
    const CopiedValue *x = i->aux;
    RPointer to = pointer_at(v, i->ops[0]), from = pointer_at(v, i->ops[1]);
    matters(m, v, i, i->ops[0], 1, "is used as an address");
    matters(m, v, i, i->ops[1], 1, "is used as an address");
    v->steps += x->t->leaves / 4;
    move_value(&(Mover){ m, v, i, false }, from, x->t, x->l);
    move_value(&(Mover){ m, v, i, true }, to, x->t, x->l);
    return after_access(m, v, to);
}

static bool prepare_copy_memory(RMachine *m, RInst *i)
{
    if (i->n_ops < 2 || !prepare_value(m, i))
        return false;
    const RType *to = pointer_to(m, i, i->at), *from = pointer_to(m, i, operand_type(m, i, 1));
    if (!to || !from || to->leaves != from->leaves || to->kind != from->kind) {
        refuse(m, i->src, "source and target are not of one type");
        return false;
    }
    CopiedValue *x = NEW(m->arena, CopiedValue);
    x->t = from;
    x->l.x = NEW_ARRAY(m->arena, uint64_t, from->leaves + 1);
    x->l.undef = NEW_ARRAY(m->arena, uint8_t, from->leaves + 1);
    i->aux = x;
    return true;
}

static RStep step_copy_sized(RMachine *m, RInv *v, const RInst *i)
{
    RPointer to = pointer_at(v, i->ops[0]), from = pointer_at(v, i->ops[1]);
    uint64_t n = *leaf(v, i->ops[2]);
    for (uint64_t k = 0; k < n; k++, v->steps++)
        if (!mem_copy_byte(m, v, i, pointer_plus(to, k), pointer_plus(from, k)))
            break;
    return after_access(m, v, to);
}

static bool prepare_copy_sized(RMachine *m, RInst *i)
{
    return i->n_ops >= 3 && prepare_value(m, i) && i->at->kind == SPV_POINTER &&
           operand_type(m, i, 1)->kind == SPV_POINTER && operand_type(m, i, 2)->kind == SPV_INT;
}

/* clang-format off */
static const ROpRow rows[] = {
    { SpvOpLoad, step_load, prepare_load, NULL, 0 },
    { SpvOpStore, step_store, prepare_store, NULL, 0 },
    { SpvOpCopyMemory, step_copy_memory, prepare_copy_memory, NULL, 0 },
    { SpvOpCopyMemorySized, step_copy_sized, prepare_copy_sized, NULL, 0 },
};
/* clang-format on */
const ROpTable ref_load_store_ops = { rows, COUNT_OF(rows) };
