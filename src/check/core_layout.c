/* SPDX-License-Identifier: MIT
 *
 * Explicit layout of memory that others see (SPIR-V 2.16.2; Vulkan, 15.8.4, "Offset and Stride
 * Assignment"): every member and element has a place of its own, aligned to its largest scalar.
 * That is the scalar layout, which devices here offer for all of it; stricter ones are within it.
 */
#include "check/internal.h"

#include <stdlib.h>

typedef struct Laid {
    Checker *c;
    const SpvInst *at; /* where the type is used */
} Laid;

/* Those of a member, for the matrices in it. */
typedef struct Matrices {
    uint32_t stride;
    bool row_major;
} Matrices;

static bool lay_out(Laid *l, const SpvType *t, Matrices m);

/* Bytes from the first to the last; of what has no size by itself 0. */
static uint64_t extent(const SpvType *t, Matrices m)
{
    uint64_t n = t->count_known || !t->count ? t->count : 1;
    if (t->kind == SPV_ARRAY && t->element)
        return n ? (n - 1) * t->array_stride + extent(t->element, m) : 0;
    if (t->kind == SPV_MATRIX && t->element && t->element->element) {
        uint64_t vectors = m.row_major ? t->element->count : t->count;
        uint64_t length = m.row_major ? t->count : t->element->count;
        return (vectors - 1) * m.stride + length * t->element->element->size;
    }
    if (t->kind != SPV_STRUCT)
        return spv_type_size(t);
    uint64_t end = 0;
    for (uint32_t k = 0; k < t->count; k++)
        if (t->members[k] && t->offsets[k] != UINT32_MAX)
            end = MAX(end, t->offsets[k] + extent(t->members[k], (Matrices){ t->matrix_strides[k],
                                                                             t->row_major[k] }));
    return end;
}

static bool is_block(Checker *c, const SpvType *t)
{
    return t->kind == SPV_STRUCT && (spv_has_decoration(c->m, t->id, -1, SpvDecorationBlock) ||
                                     spv_has_decoration(c->m, t->id, -1, SpvDecorationBufferBlock));
}

static bool lay_out_array(Laid *l, const SpvType *t, Matrices m)
{
    uint64_t size = extent(t->element, m);
    if (!spv_has_decoration(l->c->m, t->id, -1, SpvDecorationArrayStride))
        broken(l->c, l->at, "the array %%%u has no ArrayStride", t->id);
    else if (!t->array_stride || t->array_stride < size)
        broken(l->c, l->at, "elements of %llu bytes, %u apart, overlap in the array %%%u",
               (unsigned long long)size, t->array_stride, t->id);
    else if (t->array_stride % t->element->align)
        broken(l->c, l->at, "elements %u bytes apart in the array %%%u, which need %u",
               t->array_stride, t->id, t->element->align);
    else
        return lay_out(l, t->element, m);
    return false;
}

static bool lay_out_matrix(Laid *l, const SpvType *t, Matrices m)
{
    const SpvType *e = component(t);
    uint64_t length = m.row_major ? t->count : t->element->count;
    if (m.stride && m.stride % e->align == 0 && m.stride >= length * e->size)
        return true;
    broken(l->c, l->at,
           m.stride ? "columns or rows of a matrix that are %u bytes apart"
                    : "a matrix without MatrixStride",
           m.stride);
    return false;
}

static const SpvType *within_arrays(const SpvType *t)
{
    while (t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY))
        t = t->element;
    return t;
}

typedef struct Span {
    uint64_t from, to;
    uint32_t member;
    bool open; /* a runtime array */
} Span;

static int by_place(const void *a, const void *b)
{
    const Span *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static bool lay_out_member(Laid *l, const SpvType *t, uint32_t k)
{
    const SpvType *e = t->members[k], *inner = within_arrays(e);
    Matrices m = { t->matrix_strides[k], t->row_major[k] };
    if (t->offsets[k] == UINT32_MAX) {
        broken(l->c, l->at, "member %u of the structure %%%u has no Offset", k, t->id);
        return false;
    }
    if (t->offsets[k] % e->align) {
        broken(l->c, l->at, "member %u of the structure %%%u is at %u, not a multiple of %u", k,
               t->id, t->offsets[k], e->align);
        return false;
    }
    if (inner && inner->kind == SPV_MATRIX && !m.row_major &&
        !spv_has_decoration(l->c->m, t->id, (int32_t)k, SpvDecorationColMajor)) {
        broken(l->c, l->at, "member %u of the structure %%%u is neither RowMajor nor ColMajor", k,
               t->id);
        return false;
    }
    return lay_out(l, e, m);
}

/* Members lie one behind the other, whatever their order; a runtime array is the last of them. */
static bool lay_out_structure(Laid *l, const SpvType *t)
{
    Span *s = NEW_ARRAY(l->c->arena, Span, t->count + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->count; k++) {
        const SpvType *e = t->members[k];
        if (!e || !lay_out_member(l, t, k))
            return false;
        Matrices m = { t->matrix_strides[k], t->row_major[k] };
        s[n++] =
            (Span){ t->offsets[k], t->offsets[k] + extent(e, m), k, e->kind == SPV_RUNTIME_ARRAY };
    }
    qsort(s, n, sizeof *s, by_place);
    for (uint32_t k = 1; k < n; k++) {
        if (s[k].from >= s[k - 1].to && !s[k - 1].open)
            continue;
        broken(l->c, l->at, "members %u and %u of the structure %%%u overlap", s[k - 1].member,
               s[k].member, t->id);
        return false;
    }
    return true;
}

/* Each type once but for matrices, whose layout is their member's. */
static bool lay_out(Laid *l, const SpvType *t, Matrices m)
{
    Checker *c = l->c;
    if (!c->laid_out)
        c->laid_out = NEW_ARRAY(c->arena, uint8_t, c->m->bound);
    if (!t || (t->kind != SPV_MATRIX && !m.stride && c->laid_out[t->id]))
        return true;
    c->laid_out[t->id] = 1;
    switch (t->kind) {
    case SPV_STRUCT: return lay_out_structure(l, t);
    case SPV_ARRAY:
    case SPV_RUNTIME_ARRAY: return !t->element || lay_out_array(l, t, m);
    case SPV_MATRIX: return lay_out_matrix(l, t, m);
    default:
        if (component(t)->kind != SPV_BOOL)
            return true;
        broken(l->c, l->at, "a boolean in memory that others see: it has no size there");
        return false;
    }
}

static bool is_laid_out(Checker *c, uint32_t storage)
{
    switch (storage) {
    case SpvStorageClassUniform:
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassPushConstant:
    case SpvStorageClassPhysicalStorageBuffer: return has_capability(c, SpvCapabilityShader);
    case SpvStorageClassWorkgroup:
        return has_capability(c, SpvCapabilityWorkgroupMemoryExplicitLayoutKHR);
    default: return false;
    }
}

/* Buffers are blocks or arrays of them, which are descriptors and have no layout. */
static void check_variable(Checker *c, SpvInst *i)
{
    bool typed = i->op == SpvOpVariable;
    const SpvType *p = result_type(c, i), *t = p ? p->element : NULL;
    uint32_t storage = spv_operand(i, 0);
    if (!typed)
        t = spv_n_operands(i) > 1 ? spv_type(c->m, spv_operand(i, 1)) : NULL;
    if (storage == SpvStorageClassUniform || storage == SpvStorageClassStorageBuffer)
        t = within_arrays(t);
    if (t && is_laid_out(c, storage) && is_block(c, t))
        lay_out(&(Laid){ c, i }, t, (Matrices){ 0 });
}

/* Addresses lead to what is laid out, wherever they come from. */
static void check_pointer(Checker *c, SpvInst *i)
{
    const SpvType *p = i->op == SpvOpTypePointer ? spv_type(c->m, i->id) : result_type(c, i);
    bool address =
        p && p->kind == SPV_POINTER && p->element &&
        (p->storage == SpvStorageClassPhysicalStorageBuffer || i->op == SpvOpBufferPointerEXT);
    if (address && is_laid_out(c, p->storage))
        lay_out(&(Laid){ c, i }, p->element, (Matrices){ 0 });
}

/* What an untyped pointer is taken to lead to. */
static void check_untyped(Checker *c, SpvInst *i)
{
    bool chain = i->op != SpvOpLoad && i->op != SpvOpStore;
    const SpvType *p = operand_type(c, i, chain ? 1 : 0), *t = NULL;
    if (!p || p->kind != SPV_POINTER || (p->element && !chain) || !is_laid_out(c, p->storage))
        return;
    if (chain)
        t = spv_type(c->m, spv_operand(i, 0));
    else
        t = i->op == SpvOpLoad ? result_type(c, i) : operand_type(c, i, 1);
    const SpvType *inner = within_arrays(t);
    lay_out(&(Laid){ c, i }, inner && is_block(c, inner) ? inner : t, (Matrices){ 0 });
}

/* An array of descriptors is no memory. */
static void check_descriptors(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i), *t = p ? p->element : NULL;
    if (!is_shader(c) || spv_operand(i, 0) != SpvStorageClassUniformConstant || !t ||
        (t->kind != SPV_ARRAY && t->kind != SPV_RUNTIME_ARRAY))
        return;
    if (t->array_stride || spv_has_decoration(c->m, t->id, -1, SpvDecorationArrayStrideIdEXT))
        broken(c, i, "descriptors have no ArrayStride (VUID 10684)");
}

static const CheckRow rows[] = {
    { { "descriptor-layout", "Vulkan, None 10684", "Arrays of descriptors have no layout." },
      { SpvOpVariable },
      NULL,
      check_descriptors },
    { { "block-layout", "SPIR-V 2.16.2; Vulkan, 15.8.4",
        "Blocks are laid out whole: members and elements are aligned and do not overlap." },
      { SpvOpVariable, SpvOpUntypedVariableKHR },
      NULL,
      check_variable },
    { { "address-layout", "SPIR-V 2.16.2; Vulkan, 15.8.4",
        "What an address leads to is laid out like a block." },
      { SpvOpTypePointer, SpvOpBufferPointerEXT },
      NULL,
      check_pointer },
    { { "untyped-layout", "SPV_KHR_untyped_pointers; Vulkan, 15.8.4",
        "What an untyped pointer is taken to lead to is laid out like a block." },
      { SpvOpUntypedAccessChainKHR, SpvOpUntypedInBoundsAccessChainKHR,
        SpvOpUntypedPtrAccessChainKHR, SpvOpUntypedInBoundsPtrAccessChainKHR,
        SpvOpUntypedArrayLengthKHR, SpvOpLoad, SpvOpStore },
      NULL,
      check_untyped },
};
const CheckFamily check_core_layout = { rows, COUNT_OF(rows) };
