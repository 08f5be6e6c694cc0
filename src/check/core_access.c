/* SPDX-License-Identifier: MIT
 *
 * Memory operands (SPIR-V 3.2.26; Vulkan, appendix A): what a load, store or copy says of its
 * access fits its pointers. Matrices' transfers have rules of their own.
 */
#include "check/internal.h"

enum {
    ALIGNED = SpvMemoryAccessAlignedMask,
    AVAILABLE = SpvMemoryAccessMakePointerAvailableMask,
    VISIBLE = SpvMemoryAccessMakePointerVisibleMask,
    SHARED = SpvMemoryAccessNonPrivatePointerMask
};

/* One access: by a pointer, reading or writing. */
typedef struct Access {
    const SpvType *pointer;
    bool reads, writes;
} Access;

static bool is_shared(uint32_t storage)
{
    switch (storage) {
    case SpvStorageClassUniform:
    case SpvStorageClassWorkgroup:
    case SpvStorageClassCrossWorkgroup:
    case SpvStorageClassGeneric:
    case SpvStorageClassImage:
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassPhysicalStorageBuffer: return true;
    default: return false;
    }
}

/* Less alignment than the largest scalar's is no error here (VUID 06314): buffer_reference_align
 * asks for it, and devices go by it. */
static void check_alignment(Checker *c, const SpvInst *i, const Access *a, uint32_t mask,
                            uint32_t alignment)
{
    bool address = a->pointer->storage == SpvStorageClassPhysicalStorageBuffer;
    if (mask & ALIGNED && !is_pow2(alignment))
        broken(c, i, "Aligned %u, no power of two", alignment);
    else if (address && !(mask & ALIGNED))
        broken(c, i, "an access by address that is not Aligned (VUID 04708)");
}

static void check_access(Checker *c, const SpvInst *i, const Access *a, uint32_t at)
{
    uint32_t n = spv_n_operands(i), mask = at < n ? spv_operand(i, at) : 0;
    if (!a->pointer || a->pointer->kind != SPV_POINTER)
        return;
    check_alignment(c, i, a, mask, mask & ALIGNED && at + 1 < n ? spv_operand(i, at + 1) : 0);
    if (mask & AVAILABLE && !a->writes)
        broken(c, i, "MakePointerAvailable where memory is read");
    if (mask & VISIBLE && !a->reads)
        broken(c, i, "MakePointerVisible where memory is written");
    if (mask & (AVAILABLE | VISIBLE) && !(mask & SHARED))
        broken(c, i, "made available or visible, but not NonPrivatePointer");
    if (mask & SHARED && !is_shared(a->pointer->storage))
        broken(c, i, "NonPrivatePointer by a pointer to memory of one invocation");
}

static void check_load(Checker *c, SpvInst *i)
{
    Access a = { operand_type(c, i, 0), true, false };
    check_access(c, i, &a, 1);
}

static void check_store(Checker *c, SpvInst *i)
{
    Access a = { operand_type(c, i, 0), false, true };
    check_access(c, i, &a, 2);
}

/* Words that memory operands take. */
static uint32_t operand_words(uint32_t mask)
{
    return 1u + !!(mask & ALIGNED) + !!(mask & AVAILABLE) + !!(mask & VISIBLE) +
           !!(mask & SpvMemoryAccessAliasScopeINTELMaskMask) +
           !!(mask & SpvMemoryAccessNoAliasINTELMaskMask);
}

/* One list of operands is of both sides; of two the first is the target's. */
static void check_copy(Checker *c, SpvInst *i)
{
    uint32_t at = i->op == SpvOpCopyMemorySized ? 3 : 2, n = spv_n_operands(i);
    const SpvType *to = operand_type(c, i, 0), *from = operand_type(c, i, 1);
    uint32_t second = at < n ? at + operand_words(spv_operand(i, at)) : at;
    bool two = at < n && second < n, sized = i->op == SpvOpCopyMemorySized;
    Access target = { to, !two, true };
    Access source = { from, true, !two };
    check_access(c, i, &target, at);
    check_access(c, i, &source, two ? second : at);
    if (two && c->m->version < 0x10400)
        broken(c, i, "memory operands twice, which SPIR-V has from version 1.4 on");
    uint64_t size;
    if (sized && !spv_is_spec_constant(c->m, spv_operand(i, 2)) &&
        spv_constant(c->m, spv_operand(i, 2), &size)) {
        const SpvType *t = operand_type(c, i, 2);
        if (!size || (t && t->is_signed && (int64_t)size < 0))
            broken(c, i, "a copy of %lld bytes", (long long)size);
    }
}

/* ---- blocks that are read -------------------------------------------------------------------- */

static void check_written(Checker *c, SpvInst *i)
{
    const SpvInst *root = spv_def(c->m, spv_operand(i, 0));
    while (root && (root->op == SpvOpAccessChain || root->op == SpvOpInBoundsAccessChain ||
                    root->op == SpvOpCopyObject))
        root = spv_def(c->m, spv_operand(root, 0));
    const SpvType *t = root && root->op == SpvOpVariable ? spv_type(c->m, root->type) : NULL;
    if (!is_shader(c) || !t || t->kind != SPV_POINTER || t->storage != SpvStorageClassUniform)
        return;
    for (t = t->element; t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY);)
        t = t->element;
    if (t && spv_has_decoration(c->m, t->id, -1, SpvDecorationBlock))
        broken(c, i, "%%%u, a uniform block, is written (VUID 06925)", root->id);
}

static const CheckRow rows[] = {
    { { "uniform-block", "Vulkan, Uniform 06925", "Shaders do not write uniform blocks." },
      { SpvOpStore, SpvOpCopyMemory, SpvOpCopyMemorySized },
      NULL,
      check_written },
    { { "memory-access", "SPIR-V 3.2.26; Vulkan, appendix A",
        "Memory operands fit the pointer and what is done by it." },
      { SpvOpLoad },
      NULL,
      check_load },
    { { "memory-access", "SPIR-V 3.2.26; Vulkan, appendix A",
        "Memory operands fit the pointer and what is done by it." },
      { SpvOpStore },
      NULL,
      check_store },
    { { "memory-copy", "SPIR-V 3.2.26, 3.3.8",
        "A copy has a size, and its memory operands fit both its pointers." },
      { SpvOpCopyMemory, SpvOpCopyMemorySized },
      NULL,
      check_copy },
};
const CheckFamily check_core_access = { rows, COUNT_OF(rows) };
