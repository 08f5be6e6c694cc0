/* SPDX-License-Identifier: MIT
 *
 * tensor_decode: calls of decode functions. They take a physical pointer to a block, which a buffer
 * that is bound has none of. So the buffer is declared once more, as an array of blocks, and the
 * function is copied for it: the copy takes the block's number. Where the tensor is behind a
 * physical pointer itself, the function is called as it is.
 */
#include "lower/tensor.h"

typedef struct Decoder {
    const SpvType *pointer, *block, *coordinates; /* its parameters' types */
    uint32_t stride;                              /* bytes from one block to the next */
} Decoder;

static bool read_decoder(Lower *l, const LowerTensorAccess *a, Decoder *d)
{
    const SpvFunction *f = lower_tensor_function(l, a->decode);
    const SpvType *t[3] = { NULL };
    uint32_t n = 0;
    for (const SpvInst *p = f ? f->head.first : NULL; p; p = p->next)
        if (p->op == SpvOpFunctionParameter && n++ < 3)
            t[n - 1] = spv_type(l->m, p->type);
    bool fits = n == 3 && t[0]->kind == SPV_POINTER && t[0]->element && t[0]->element->size &&
                t[1]->kind == SPV_ARRAY && t[2] == t[1];
    if (!fits)
        return lower_refuse(l, a->inst, "its decode function takes no pointer and two coordinates");
    *d = (Decoder){ t[0], t[0]->element, t[1], 0 };
    d->stride = (uint32_t)align_up(d->block->size, d->block->align);
    return true;
}

/* ---- the buffer as blocks -------------------------------------------------------------------- */

static void decorate(Lower *l, SpvId id, uint32_t decoration, uint32_t value, uint32_t n)
{
    uint32_t words[] = { id, decoration, value };
    spv_append_global(l->m, spv_make(l->m, SpvOpDecorate, 0, 0, words, 2 + n));
}

static void decorate_member(Lower *l, SpvId id, uint32_t member, const uint32_t *rest, uint32_t n)
{
    uint32_t words[8] = { id, member };
    memcpy(words + 2, rest, MIN(n, 6) * sizeof *rest);
    spv_append_global(l->m, spv_make(l->m, SpvOpMemberDecorate, 0, 0, words, 2 + MIN(n, 6)));
}

/* The structure without its decoration as an interface, which must not be part of another's. */
static SpvId plain_block(Lower *l, const SpvType *block)
{
    const SpvInst *t = spv_def(l->m, block->id);
    if (block->kind != SPV_STRUCT || !spv_has_decoration(l->m, block->id, -1, SpvDecorationBlock))
        return block->id;
    SpvInst *copy = spv_make(l->m, SpvOpTypeStruct, 0, spv_new_id(l->m),
                             t->words + t->first_operand, spv_n_operands(t));
    spv_append_global(l->m, copy);
    for (const SpvInst *i = l->m->globals.first; i; i = i->next)
        if (i->op == SpvOpMemberDecorate && spv_operand(i, 0) == block->id)
            decorate_member(l, copy->id, spv_operand(i, 1), i->words + i->first_operand + 2,
                            spv_n_operands(i) - 2);
    return copy->id;
}

static SpvId declare_again(Lower *l, SpvId variable, const Decoder *d)
{
    static const uint32_t kept[] = { SpvDecorationDescriptorSet, SpvDecorationBinding };
    static const uint32_t start[] = { SpvDecorationOffset, 0 };
    uint32_t storage = spv_operand(spv_def(l->m, variable), 0), n;
    SpvId block = plain_block(l, d->block);
    SpvInst *array = spv_make(l->m, SpvOpTypeRuntimeArray, 0, spv_new_id(l->m), &block, 1);
    spv_append_global(l->m, array);
    SpvInst *all = spv_make(l->m, SpvOpTypeStruct, 0, spv_new_id(l->m), &array->id, 1);
    spv_append_global(l->m, all);
    SpvId again = place_variable(l, storage, all->id);
    decorate(l, array->id, SpvDecorationArrayStride, d->stride, 1);
    decorate(l, all->id, SpvDecorationBlock, 0, 0);
    decorate_member(l, all->id, 0, start, 2);
    for (uint32_t k = 0; k < COUNT_OF(kept); k++) {
        const uint32_t *value = spv_decoration(l->m, variable, -1, kept[k], &n);
        decorate(l, again, kept[k], value ? *value : 0, 1);
    }
    decorate(l, again, SpvDecorationAliased, 0, 0);
    if (!spv_has_decoration(l->m, variable, -1, SpvDecorationAliased))
        decorate(l, variable, SpvDecorationAliased, 0, 0);
    spv_forget_types(l->m);
    return again;
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* The block that the pointer leads to, counted from the buffer's start; the variable. */
static SpvId first_block(Lower *l, LowerTensorAccess *a, const Decoder *d, SpvId *number)
{
    const SpvInst *chain = spv_def(l->m, spv_operand(a->inst, 0));
    const SpvInst *v =
        chain && (chain->op == SpvOpAccessChain || chain->op == SpvOpInBoundsAccessChain)
            ? spv_def(l->m, spv_operand(chain, 0))
            : NULL;
    const SpvType *t = v && v->op == SpvOpVariable ? spv_type(l->m, v->type)->element : NULL;
    uint64_t bytes = 0, x;
    *number = build_const(l, 0);
    if (!t || t->kind != SPV_STRUCT)
        return 0;
    for (uint32_t k = 1; t && k < spv_n_operands(chain); k++) {
        bool known = spv_constant(l->m, spv_operand(chain, k), &x);
        if (t->kind == SPV_STRUCT) {
            if (!known || x >= t->count || !t->offsets)
                return 0;
            bytes += t->offsets[x];
            t = t->members[x];
            continue;
        }
        uint32_t stride = t->array_stride ? t->array_stride : (uint32_t)t->element->size;
        t = t->element;
        if (known) {
            bytes += x * stride;
        } else {
            SpvId index = build_to_u32(l, a->inst, spv_operand(chain, k));
            if (stride % d->stride)
                return 0;
            index = build_mul(l, a->inst, index, build_const(l, stride / d->stride));
            *number = build_add(l, a->inst, *number, index);
        }
    }
    *number = build_add(l, a->inst, *number, build_const(l, (uint32_t)(bytes / d->stride)));
    return bytes % d->stride ? 0 : v->id;
}

static bool copy_for(Lower *l, LowerTensorAccess *a, const Decoder *d, SpvId variable)
{
    for (uint32_t k = 0; k < l->decoders.len; k++) {
        const LowerDecoderCopy *c = &l->decoders.data[k];
        if (c->function == a->decode && c->variable == variable) {
            a->decode = c->copy;
            return true;
        }
    }
    LowerDecodeCopy c = { .l = l,
                          .buffer = declare_again(l, variable, d),
                          .pointer = d->pointer->id };
    SpvId copy = lower_tensor_copy_decoder(&c, a->decode);
    vec_push(l->scratch, &l->decoders, (LowerDecoderCopy){ a->decode, variable, copy });
    a->decode = copy;
    return copy;
}

bool lower_tensor_decode_open(Lower *l, LowerTensorAccess *a)
{
    Decoder d = { 0 };
    const SpvType *from = spv_type_of(l->m, spv_operand(a->inst, 0));
    if (!read_decoder(l, a, &d))
        return false;
    a->coordinates = d.coordinates->id;
    if (from->storage == SpvStorageClassPhysicalStorageBuffer) {
        SpvId u64 = spv_int_type(l->m, 64, false);
        a->block_pointer = d.pointer->id;
        a->block_size = d.stride;
        lower_uses(l, spv_type(l->m, u64));
        a->first = BUILD(l, a->inst, SpvOpConvertPtrToU, u64, spv_operand(a->inst, 0));
        return true;
    }
    SpvId variable = first_block(l, a, &d, &a->first);
    if (!variable)
        return lower_refuse(l, a->inst,
                            "its blocks do not begin at a multiple of their size in a "
                            "buffer that it names");
    return copy_for(l, a, &d, variable);
}

/* What the function's first parameter is for a block. */
static SpvId block_of(Lower *l, SpvInst *at, const LowerTensorAccess *a, SpvId number)
{
    if (!a->block_pointer)
        return build_add(l, at, a->first, number);
    SpvId u64 = spv_int_type(l->m, 64, false);
    SpvId wide = BUILD(l, at, SpvOpUConvert, u64, number);
    SpvId bytes = BUILD(l, at, SpvOpIMul, u64, wide, spv_int_constant(l->m, u64, a->block_size));
    return BUILD(l, at, SpvOpConvertUToPtr, a->block_pointer,
                 BUILD(l, at, SpvOpIAdd, u64, a->first, bytes));
}

SpvId lower_tensor_decode(Lower *l, SpvInst *at, const LowerTensorAccess *a,
                          const LowerTensorPlace *p)
{
    uint32_t dims = a->of_layout.dims;
    const SpvType *result = spv_type(l->m, spv_def(l->m, a->decode)->type);
    SpvId in[TENSOR_MAX_DIMENSIONS], part = 0;
    memcpy(in, p->in_block, sizeof in);
    if (a->vector) {
        part = build_mod(l, at, in[dims - 1], result->count);
        in[dims - 1] = build_sub(l, at, in[dims - 1], part);
    }
    SpvId args[4] = { a->decode, block_of(l, at, a, p->index) };
    args[2] = build(l, at, SpvOpCompositeConstruct, a->coordinates, p->block, dims);
    args[3] = build(l, at, SpvOpCompositeConstruct, a->coordinates, in, dims);
    SpvId value = build(l, at, SpvOpFunctionCall, result->id, args, 4);
    return a->vector ? BUILD(l, at, SpvOpVectorExtractDynamic, result->element->id, value, part)
                     : value;
}
