/* SPDX-License-Identifier: MIT
 *
 * SPV_KHR_untyped_pointers: what is said of memory where the pointer's type does not say it. These
 * rules are asked of a module as it was read; behind them pass_untyped gives its pointers types.
 */
#include "check/internal.h"

static const char section[] = "SPV_KHR_untyped_pointers";

static bool is_untyped(const SpvType *t) { return t && t->kind == SPV_POINTER && !t->element; }

/* Types whose values are no bytes. */
static bool is_bodiless(const SpvType *t)
{
    const SpvType *s = component(t);
    return (s->kind != SPV_INT && s->kind != SPV_FLOAT && s->kind != SPV_STRUCT &&
            s->kind != SPV_ARRAY && s->kind != SPV_POINTER) ||
           is_matrix(t);
}

static void want_sized(Checker *c, SpvInst *i, const SpvType *t)
{
    if (t && holds(c, t, &c->holds_bodiless, is_bodiless))
        broken(c, i, "%s has no size in memory", type_name(c, t));
}

/* The operand as a type. */
static const SpvType *want_type(Checker *c, SpvInst *i, uint32_t n)
{
    const SpvType *t = spv_type(c->m, spv_operand(i, n));
    if (!t)
        broken(c, i, "operand %%%u is not a type", spv_operand(i, n));
    return t;
}

static void want_integer(Checker *c, SpvInst *i, uint32_t n)
{
    const SpvType *t = want_value(c, i, n);
    if (t && t->kind != SPV_INT)
        broken(c, i, "operand %%%u is %s, not an integer", spv_operand(i, n), type_name(c, t));
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool is_own(uint32_t storage)
{
    return storage == SpvStorageClassFunction || storage == SpvStorageClassPrivate ||
           storage == SpvStorageClassWorkgroup;
}

/* What a variable holds is said, but for heaps of descriptors; workgroups' memory that is laid out
 * is a block. */
static void check_held(Checker *c, SpvInst *i, const SpvType *t)
{
    uint32_t storage = spv_operand(i, 0);
    bool heap = spv_has_decoration(c->m, i->id, -1, SpvDecorationBuiltIn);
    bool laid_out = storage == SpvStorageClassWorkgroup &&
                    has_capability(c, SpvCapabilityWorkgroupMemoryExplicitLayoutKHR);
    if (storage == SpvStorageClassGeneric)
        broken(c, i, "a variable of storage class Generic");
    if (spv_n_operands(i) < 2 && (is_own(storage) || (is_shader(c) && !heap)))
        broken(c, i, "a variable without a type");
    if (t && laid_out &&
        (t->kind != SPV_STRUCT || !spv_has_decoration(c->m, t->id, -1, SpvDecorationBlock)))
        broken(c, i, "%s in a workgroup's memory, which is laid out, is no block", type_name(c, t));
}

static void check_variable(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    uint32_t storage = spv_operand(i, 0), n = spv_n_operands(i);
    const SpvType *t = n > 1 ? want_type(c, i, 1) : NULL;
    check_held(c, i, t);
    if (!is_untyped(r) || r->storage != storage)
        broken(c, i, "the result is not an untyped pointer of the variable's storage class");
    if ((storage == SpvStorageClassFunction) != (c->function != NULL))
        broken(c, i, "variables of storage class Function, and only those, stand in functions");
    if (!t)
        return;
    if (t->kind == SPV_VOID || t->kind == SPV_FUNCTION ||
        (is_own(storage) && t->kind == SPV_RUNTIME_ARRAY))
        broken(c, i, "a variable of %s", type_name(c, t));
    const SpvType *init = n > 2 ? want_value(c, i, 2) : NULL;
    if (init && (!spv_is_constant(c->m, spv_operand(i, 2)) || !same_type(init, t)))
        broken(c, i, "the initializer is %s, the variable %s", type_name(c, init), type_name(c, t));
}

/* ---- pointers -------------------------------------------------------------------------------- */

static bool has_element(uint16_t op)
{
    return op == SpvOpUntypedPtrAccessChainKHR || op == SpvOpUntypedInBoundsPtrAccessChainKHR;
}

static void check_chain(Checker *c, SpvInst *i)
{
    const SpvType *t = want_type(c, i, 0), *p = want_value(c, i, 1), *r = result_type(c, i);
    if (!t || !p)
        return;
    if (p->kind != SPV_POINTER || !is_untyped(r) || r->storage != p->storage) {
        broken(c, i, "from %s to %s, not between pointers of one storage class", type_name(c, p),
               type_name(c, r));
        return;
    }
    if (has_element(i->op)) {
        want_integer(c, i, 2);
        want_sized(c, i, t);
    }
    chain_part(c, i, t, has_element(i->op) ? 3 : 2);
}

static void check_array_length(Checker *c, SpvInst *i)
{
    const SpvType *s = want_type(c, i, 0), *p = want_value(c, i, 1), *r = result_type(c, i);
    uint32_t n = spv_operand(i, 2);
    if (p && !is_untyped(p))
        broken(c, i, "the length of what %s, no untyped pointer, leads to", type_name(c, p));
    if (s && (s->kind != SPV_STRUCT || !s->count || n != s->count - 1 || !s->members[n] ||
              s->members[n]->kind != SPV_RUNTIME_ARRAY))
        broken(c, i, "member %u of %s is not a runtime array at its end", n, type_name(c, s));
    if (!r || r->kind != SPV_INT || r->bits != 32)
        broken(c, i, "the length is %s, not an integer of 32 bits", type_name(c, r));
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* An atomic's value: what it gives, or what it stores. */
static const SpvType *accessed(Checker *c, const SpvInst *i)
{
    return i->op == SpvOpStore         ? operand_type(c, i, 1)
           : i->op == SpvOpAtomicStore ? operand_type(c, i, 3)
                                       : result_type(c, i);
}

static bool accesses(uint16_t op)
{
    const SpvOpInfo *o = spv_op_info(op);
    return op == SpvOpLoad || op == SpvOpStore || (o && o->flags & SPV_OPF_ATOMIC);
}

static void check_access(Checker *c, SpvInst *i)
{
    const SpvType *p = operand_type(c, i, 0), *t = accessed(c, i);
    if (!is_untyped(p) || !t)
        return;
    want_sized(c, i, t);
    bool atomic = i->op != SpvOpLoad && i->op != SpvOpStore;
    if (atomic && (t->kind != SPV_INT && t->kind != SPV_FLOAT))
        broken(c, i, "%s on %s", spv_op_name(i->op), type_name(c, t));
}

static void check_copy(Checker *c, SpvInst *i)
{
    const SpvType *to = want_value(c, i, 0), *from = want_value(c, i, 1);
    if (!is_untyped(to) && !is_untyped(from))
        return;
    if (to && from && (to->kind != SPV_POINTER || from->kind != SPV_POINTER))
        broken(c, i, "copies %s to %s", type_name(c, from), type_name(c, to));
    else if (i->op == SpvOpCopyMemorySized)
        want_integer(c, i, 2);
    else if (is_untyped(to) && is_untyped(from))
        broken(c, i, "how much is copied neither pointer says");
    else if (to && from)
        want_sized(c, i, is_untyped(to) ? from->element : to->element);
}

static void check_prefetch(Checker *c, SpvInst *i)
{
    const SpvType *p = want_value(c, i, 0);
    if (p && (!is_untyped(p) || p->storage != SpvStorageClassCrossWorkgroup))
        broken(c, i, "%s is not an untyped pointer to global memory", type_name(c, p));
    for (uint32_t k = 1; k < spv_n_operands(i); k++)
        want_integer(c, i, k);
}

static const CheckRow rows[] = {
    { { "untyped-variable", section,
        "A variable has an untyped pointer of its storage class, and a type of its data." },
      { SpvOpUntypedVariableKHR },
      NULL,
      check_variable },
    { { "untyped-chain", section,
        "Indices are integers, and lead into the base type from a pointer of the result's storage "
        "class." },
      { SpvOpUntypedAccessChainKHR, SpvOpUntypedInBoundsAccessChainKHR,
        SpvOpUntypedPtrAccessChainKHR, SpvOpUntypedInBoundsPtrAccessChainKHR },
      NULL,
      check_chain },
    { { "untyped-array-length", section,
        "The length is of a runtime array that ends a structure." },
      { SpvOpUntypedArrayLengthKHR },
      NULL,
      check_array_length },
    { { "untyped-access", section, "What is read or written has a size in memory." },
      { 0 },
      accesses,
      check_access },
    { { "untyped-copy", section, "One of the pointers says how much is copied, or a size does." },
      { SpvOpCopyMemory, SpvOpCopyMemorySized },
      NULL,
      check_copy },
    { { "untyped-prefetch", section, "Bytes of global memory are prefetched." },
      { SpvOpUntypedPrefetchKHR },
      NULL,
      check_prefetch },
};
const CheckFamily check_khr_untyped_pointers = { rows, COUNT_OF(rows) };
