/* SPDX-License-Identifier: MIT
 *
 * What kernels of OpenCL do with memory: pointers to the generic storage class and back,
 * asynchronous copies and their events, the lives of variables (SPIR-V 3.3.8, 3.3.11, 3.3.21,
 * 3.3.3).
 */
#include "check/internal.h"

/* A storage class that Generic stands for. */
static bool is_specific(uint32_t storage)
{
    return storage == SpvStorageClassWorkgroup || storage == SpvStorageClassCrossWorkgroup ||
           storage == SpvStorageClassFunction;
}

static bool is_generic(const SpvType *t)
{
    return t->kind == SPV_POINTER && t->storage == SpvStorageClassGeneric;
}

static void check_generic_cast(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    if (!r || !a)
        return;
    const SpvType *generic = i->op == SpvOpPtrCastToGeneric ? r : a, *other = generic == r ? a : r;
    if (!is_generic(generic) || other->kind != SPV_POINTER || !is_specific(other->storage))
        broken(c, i, "%s from storage class %u to %u", spv_op_name(i->op), a->storage, r->storage);
    else if (r->element && a->element && !same_type(r->element, a->element))
        broken(c, i, "a pointer to %s becomes one to %s", type_name(c, a->element),
               type_name(c, r->element));
    else if (i->op == SpvOpGenericCastToPtrExplicit && spv_operand(i, 1) != r->storage)
        broken(c, i, "the storage class is not the result's");
}

static void check_generic_semantics(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *p = want_value(c, i, 0);
    if (p && (!is_generic(p) || !r || r->kind != SPV_INT || r->bits != 32))
        broken(c, i, "%s of %s gives %s", spv_op_name(i->op), type_name(c, p), type_name(c, r));
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

static const SpvType *pointee(const SpvType *t)
{
    return t && t->kind == SPV_POINTER ? t->element : NULL;
}

static void want_event(Checker *c, SpvInst *i, const SpvType *t, const char *what)
{
    if (t && t->kind != SPV_EVENT)
        broken(c, i, "%s is %s, not an event", what, type_name(c, t));
}

static void check_async_copy(Checker *c, SpvInst *i)
{
    const SpvType *to = want_value(c, i, 1), *from = want_value(c, i, 2), *t = pointee(to);
    want_event(c, i, result_type(c, i), "the result");
    want_event(c, i, want_value(c, i, 5), "what is waited for");
    for (uint32_t k = 3; k < 5; k++) {
        const SpvType *n = want_value(c, i, k);
        if (n && (n->kind != SPV_INT || (n->bits != 32 && n->bits != 64)))
            broken(c, i, "operand %%%u is %s", spv_operand(i, k), type_name(c, n));
    }
    if (!to || !from)
        return;
    uint32_t local = SpvStorageClassWorkgroup, global = SpvStorageClassCrossWorkgroup;
    bool there = t && pointee(from) &&
                 ((to->storage == local && from->storage == global) ||
                  (to->storage == global && from->storage == local));
    if (!there || !same_type(t, from->element) || !is_numeric(t))
        broken(c, i, "copies %s to %s, not numbers between global and workgroup memory",
               type_name(c, pointee(from)), type_name(c, t));
}

static void check_wait_events(Checker *c, SpvInst *i)
{
    const SpvType *n = want_value(c, i, 1), *list = want_value(c, i, 2);
    if (n && (n->kind != SPV_INT || n->bits != 32))
        broken(c, i, "the number of events is %s", type_name(c, n));
    if (list && !pointee(list))
        broken(c, i, "the list of events is %s", type_name(c, list));
    else if (list)
        want_event(c, i, list->element, "the list's element");
}

static void check_lifetime(Checker *c, SpvInst *i)
{
    const SpvType *p = want_value(c, i, 0);
    if (p && (p->kind != SPV_POINTER || p->storage != SpvStorageClassFunction))
        broken(c, i, "the life of %s, not of a function's variable", type_name(c, p));
}

static const CheckRow rows[] = {
    { { "generic-cast", "SPIR-V 3.3.11",
        "A pointer becomes a generic one, or one of Workgroup, CrossWorkgroup or Function, and "
        "leads to the same type." },
      { SpvOpPtrCastToGeneric, SpvOpGenericCastToPtr, SpvOpGenericCastToPtrExplicit },
      NULL,
      check_generic_cast },
    { { "generic-semantics", "SPIR-V 3.3.8",
        "The memory that a generic pointer leads to is told in 32 bits." },
      { SpvOpGenericPtrMemSemantics },
      NULL,
      check_generic_semantics },
    { { "async-copy", "SPIR-V 3.3.21",
        "Numbers are copied between global and workgroup memory, from event to event." },
      { SpvOpGroupAsyncCopy },
      NULL,
      check_async_copy },
    { { "wait-events", "SPIR-V 3.3.21", "Events are waited for, which a pointer leads to." },
      { SpvOpGroupWaitEvents },
      NULL,
      check_wait_events },
    { { "lifetime", "SPIR-V 3.3.17", "Lives begin and end of a function's variables." },
      { SpvOpLifetimeStart, SpvOpLifetimeStop },
      NULL,
      check_lifetime },
};
const CheckFamily check_core_kernel = { rows, COUNT_OF(rows) };
