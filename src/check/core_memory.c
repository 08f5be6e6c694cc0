/* SPDX-License-Identifier: MIT
 *
 * Pointers lead to what is read and written through them (SPIR-V 3.3.8, 3.3.18, 3.3.25).
 */
#include "check/internal.h"

static const SpvType *want_pointer(Checker *c, const SpvInst *i, uint32_t n)
{
    const SpvType *p = want_value(c, i, n);
    if (p && p->kind != SPV_POINTER) {
        broken(c, i, "operand %%%u is %s, not a pointer", spv_operand(i, n), type_name(c, p));
        return NULL;
    }
    if (p && !p->element)
        return NULL; /* an untyped pointer: nothing to compare with */
    return p;
}

static void check_load(Checker *c, SpvInst *i)
{
    const SpvType *p = want_pointer(c, i, 0), *r = result_type(c, i);
    if (p && !same_type(p->element, r))
        broken(c, i, "the pointer leads to %s, the result is %s", type_name(c, p->element),
               type_name(c, r));
    else if (r && (r->kind == SPV_VOID || r->kind == SPV_RUNTIME_ARRAY || r->kind == SPV_FUNCTION))
        broken(c, i, "%s cannot be loaded", type_name(c, r));
}

static bool may_write(uint32_t storage)
{
    return storage != SpvStorageClassPushConstant && storage != SpvStorageClassInput &&
           storage != SpvStorageClassUniformConstant;
}

static void check_store(Checker *c, SpvInst *i)
{
    const SpvType *p = want_pointer(c, i, 0), *o = want_value(c, i, 1);
    if (!p || !o)
        return;
    if (!same_type(p->element, o) || o->kind == SPV_VOID)
        broken(c, i, "the pointer leads to %s, the object is %s", type_name(c, p->element),
               type_name(c, o));
    if (!may_write(p->storage))
        broken(c, i, "the pointer's storage class is read-only");
}

static void check_copy_memory(Checker *c, SpvInst *i)
{
    const SpvType *to = want_pointer(c, i, 0), *from = want_pointer(c, i, 1);
    if (!to || !from)
        return;
    if (i->op == SpvOpCopyMemory && !same_type(to->element, from->element))
        broken(c, i, "copies %s to %s", type_name(c, from->element), type_name(c, to->element));
    if (i->op == SpvOpCopyMemorySized) {
        const SpvType *n = want_value(c, i, 2);
        if (n && n->kind != SPV_INT)
            broken(c, i, "the size is %s", type_name(c, n));
    }
    if (!may_write(to->storage))
        broken(c, i, "the target's storage class is read-only");
}

/* ---- access chains --------------------------------------------------------------------------- */

static const SpvType *step(Checker *c, SpvInst *i, const SpvType *t, uint32_t k)
{
    const SpvType *x = want_value(c, i, k);
    uint64_t index;
    if (!x)
        return NULL;
    if (x->kind != SPV_INT) {
        broken(c, i, "index %%%u is %s", spv_operand(i, k), type_name(c, x));
        return NULL;
    }
    switch (t->kind) {
    case SPV_STRUCT: {
        const SpvInst *def = spv_def(c->m, spv_operand(i, k));
        bool constant = def && (def->op == SpvOpConstant || def->op == SpvOpConstantNull) &&
                        spv_constant(c->m, def->id, &index);
        if (!constant || index >= t->count) {
            broken(c, i, "a member of a structure is named by a constant below %u", t->count);
            return NULL;
        }
        return t->members[index];
    }
    case SPV_VECTOR:
    case SPV_MATRIX:
    case SPV_ARRAY:
        if (t->count_known && spv_constant(c->m, spv_operand(i, k), &index) &&
            !spv_is_spec_constant(c->m, spv_operand(i, k)) && index >= t->count)
            doubtful(c, i, "index %llu of %s with %u parts", (unsigned long long)index,
                     type_name(c, t), t->count); /* undefined only where it is executed */
        return t->element;
    case SPV_RUNTIME_ARRAY:
    case SPV_COOPMAT: return t->element;
    default: broken(c, i, "an index into %s", type_name(c, t)); return NULL;
    }
}

const SpvType *chain_part(Checker *c, SpvInst *i, const SpvType *t, uint32_t first)
{
    for (uint32_t k = first; t && k < spv_n_operands(i); k++)
        t = step(c, i, t, k);
    return t;
}

static void check_chain(Checker *c, SpvInst *i)
{
    const SpvType *p = want_pointer(c, i, 0), *r = result_type(c, i);
    bool pointer = i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain;
    if (!p)
        return;
    const SpvType *t = p->element;
    if (!r || r->kind != SPV_POINTER || r->storage != p->storage) {
        broken(c, i, "the result is not a pointer of the base's storage class");
        return;
    }
    const SpvType *x = pointer ? want_value(c, i, 1) : NULL;
    if (x && x->kind != SPV_INT)
        broken(c, i, "index %%%u is %s", spv_operand(i, 1), type_name(c, x));
    t = chain_part(c, i, t, pointer ? 2 : 1);
    if (t && !same_type(t, r->element))
        broken(c, i, "the chain leads to %s, its result to %s", type_name(c, t),
               type_name(c, r->element));
}

static void check_array_length(Checker *c, SpvInst *i)
{
    const SpvType *p = want_pointer(c, i, 0), *r = result_type(c, i);
    if (!p)
        return;
    uint32_t n = spv_operand(i, 1);
    const SpvType *s = p->element;
    if (s->kind != SPV_STRUCT || !s->count || n != s->count - 1 || !s->members[n] ||
        s->members[n]->kind != SPV_RUNTIME_ARRAY)
        broken(c, i, "member %u of %s is not a runtime array at its end", n, type_name(c, s));
    if (!r || r->kind != SPV_INT || (r->bits != 32 && r->bits != 64))
        broken(c, i, "the length is %s, not an integer of 32 or 64 bits", type_name(c, r));
}

/* Untyped pointers, which have types by now, equal others to the same storage class or not. */
static bool may_be_compared(Checker *c, const SpvInst *i, const SpvType *a, const SpvType *b)
{
    bool untyped = i->op != SpvOpPtrDiff && has_capability(c, SpvCapabilityUntypedPointersKHR);
    return a->kind == SPV_POINTER &&
           (same_type(a, b) || (untyped && b->kind == SPV_POINTER && a->storage == b->storage));
}

static void check_relation(Checker *c, SpvInst *i)
{
    const SpvType *a = want_value(c, i, 0), *b = want_value(c, i, 1), *r = result_type(c, i);
    SpvKind want = i->op == SpvOpPtrDiff ? SPV_INT : SPV_BOOL;
    if (a && b && !may_be_compared(c, i, a, b))
        broken(c, i, "%s and %s are not pointers of one type", type_name(c, a), type_name(c, b));
    else if (a && b && (!r || r->kind != want))
        broken(c, i, "%s gives %s", spv_op_name(i->op), type_name(c, r));
}

/* ---- atomics --------------------------------------------------------------------------------- */

static bool is_atomic(uint16_t op)
{
    const SpvOpInfo *o = spv_op_info(op);
    return o && (o->flags & SPV_OPF_ATOMIC) && op != SpvOpMemoryBarrier;
}

static bool wants_float(uint16_t op)
{
    return op == SpvOpAtomicFAddEXT || op == SpvOpAtomicFMinEXT || op == SpvOpAtomicFMaxEXT;
}

static void check_atomic(Checker *c, SpvInst *i)
{
    const SpvType *p = want_pointer(c, i, 0), *r = result_type(c, i);
    if (!p)
        return;
    const SpvType *t = p->element;
    bool any =
        i->op == SpvOpAtomicLoad || i->op == SpvOpAtomicStore || i->op == SpvOpAtomicExchange;
    bool flag = i->op == SpvOpAtomicFlagTestAndSet || i->op == SpvOpAtomicFlagClear;
    bool fits = any ? t->kind == SPV_INT || t->kind == SPV_FLOAT
                    : t->kind == (wants_float(i->op) ? SPV_FLOAT : SPV_INT);
    if (t->kind == SPV_VECTOR && wants_float(i->op))
        fits = of_kind(t, SPV_FLOAT); /* SPV_NV_shader_atomic_fp16_vector */
    if (!fits || (r && !flag && !same_type(r, t)) || (flag && r && r->kind != SPV_BOOL))
        broken(c, i, "%s on %s gives %s", spv_op_name(i->op), type_name(c, t), type_name(c, r));
    bool swap = i->op == SpvOpAtomicCompareExchange || i->op == SpvOpAtomicCompareExchangeWeak;
    for (uint32_t k = 1; k < spv_n_operands(i); k++) {
        const SpvType *x = want_value(c, i, k);
        bool order = k < (swap ? 4u : 3u);
        if (x && (order ? x->kind != SPV_INT || x->bits != 32 : !same_type(x, t)))
            broken(c, i, "operand %%%u is %s", spv_operand(i, k), type_name(c, x));
    }
    if (!may_write(p->storage) && i->op != SpvOpAtomicLoad)
        broken(c, i, "the pointer's storage class is read-only");
}

/* ---- variables ------------------------------------------------------------------------------- */

static void check_variable(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i);
    uint32_t storage = spv_operand(i, 0);
    if (!p || p->kind != SPV_POINTER || p->storage != storage) {
        broken(c, i, "the result is not a pointer of the variable's storage class");
        return;
    }
    if ((storage == SpvStorageClassFunction) != (c->function != NULL))
        broken(c, i, "variables of storage class Function, and only those, stand in functions");
    if (spv_n_operands(i) > 1) {
        const SpvInst *init = spv_def(c->m, spv_operand(i, 1));
        const SpvType *t = want_value(c, i, 1);
        bool constant = init && (spv_is_constant(c->m, init->id) ||
                                 (init->op == SpvOpVariable && !init->block));
        if (t && (!constant || !same_type(t, p->element)))
            broken(c, i, "the initializer is %s, the variable %s", type_name(c, t),
                   type_name(c, p->element));
    }
    if (p->element && (p->element->kind == SPV_VOID || p->element->kind == SPV_FUNCTION))
        broken(c, i, "a variable of %s", type_name(c, p->element));
    if (p->element && p->element->kind == SPV_RUNTIME_ARRAY &&
        (storage == SpvStorageClassFunction || storage == SpvStorageClassPrivate ||
         storage == SpvStorageClassWorkgroup))
        broken(c, i, "a variable of unknown size");
}

static const CheckRow rows[] = {
    { { "load", "SPIR-V 3.3.8", "What is loaded is what the pointer leads to." },
      { SpvOpLoad },
      NULL,
      check_load },
    { { "store", "SPIR-V 3.3.8",
        "What is stored is what the pointer leads to, and it may be written." },
      { SpvOpStore },
      NULL,
      check_store },
    { { "copy-memory", "SPIR-V 3.3.8",
        "Source and target have one type, and the target may be written." },
      { SpvOpCopyMemory, SpvOpCopyMemorySized },
      NULL,
      check_copy_memory },
    { { "access-chain", "SPIR-V 3.3.8",
        "Indices are integers within known bounds and lead to what the result points to." },
      { SpvOpAccessChain, SpvOpInBoundsAccessChain, SpvOpPtrAccessChain,
        SpvOpInBoundsPtrAccessChain },
      NULL,
      check_chain },
    { { "array-length", "SPIR-V 3.3.8", "The length is of a runtime array that ends a structure." },
      { SpvOpArrayLength },
      NULL,
      check_array_length },
    { { "pointer-relation", "SPIR-V 3.3.8", "Pointers of one type are compared." },
      { SpvOpPtrEqual, SpvOpPtrNotEqual, SpvOpPtrDiff },
      NULL,
      check_relation },
    { { "atomic", "SPIR-V 3.3.18",
        "Atomics work on scalars of the kind their name says and on values of that type." },
      { 0 },
      is_atomic,
      check_atomic },
    { { "variable", "SPIR-V 3.3.8", "A variable's pointer, storage class and initializer agree." },
      { SpvOpVariable },
      NULL,
      check_variable },
};
const CheckFamily check_core_memory = { rows, COUNT_OF(rows) };
