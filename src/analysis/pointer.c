/* SPDX-License-Identifier: MIT
 *
 * pointer: finds what pointers point into. In: a pointer. Out: what it was derived from, traced
 * back through access chains, copies and casts, none of which leaves the object that it starts with
 * (OpPtrAccessChain: the element is one of the array that the base points into). Everything else
 * ends the walk: phis, selections, loads, arithmetic on addresses.
 */
#include "analysis/analysis.h"

SpvId pointer_from(const SpvInst *i)
{
    switch (i->op) {
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain:
    case SpvOpCopyObject:
    case SpvOpBitcast:
    case SpvOpPtrCastToGeneric:
    case SpvOpGenericCastToPtr:
    case SpvOpGenericCastToPtrExplicit: return spv_operand(i, 0);
    default: return 0;
    }
}

/* In unreachable code a pointer may be derived from itself. */
const SpvInst *pointer_root(const SpvModule *m, SpvId pointer)
{
    const SpvInst *i = spv_def(m, pointer);
    for (uint32_t left = m->bound; i && left; left--) {
        SpvId from = pointer_from(i);
        if (!from)
            return i;
        i = spv_def(m, from);
    }
    return NULL;
}

SpvId pointer_variable(const SpvModule *m, SpvId pointer)
{
    const SpvInst *root = pointer_root(m, pointer);
    return root && root->op == SpvOpVariable ? root->id : 0;
}
