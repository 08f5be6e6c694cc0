/* SPDX-License-Identifier: MIT
 *
 * tensor_decode: calls of decode functions. They take a physical pointer to a block, which a buffer
 * that is bound has none of. So the function is copied for the buffer: the copy takes the block's
 * place in it. Where the tensor is behind a physical pointer itself, the function is called as it
 * is.
 */
#include "lower/tensor.h"

typedef struct Decoder {
    const SpvType *pointer, *coordinates; /* its parameters' types */
    uint32_t stride;                      /* bytes from one block to the next */
} Decoder;

static bool read_decoder(Lower *l, const LowerTensorAccess *a, Decoder *d)
{
    const SpvFunction *f = spv_function(l->m, a->decode);
    const SpvType *t[3] = { NULL };
    uint32_t n = 0;
    for (const SpvInst *p = f ? f->head.first : NULL; p; p = p->next)
        if (p->op == SpvOpFunctionParameter && n++ < 3)
            t[n - 1] = spv_type(l->m, p->type);
    bool fits = n == 3 && t[0]->kind == SPV_POINTER && t[0]->element && t[1]->kind == SPV_ARRAY &&
                t[2] == t[1];
    if (!fits)
        return lower_refuse(l, a->inst, "its decode function takes no pointer and two coordinates");
    const SpvType *block = t[0]->element;
    *d = (Decoder){ t[0], t[1], (uint32_t)align_up(block->size, block->align) };
    return true;
}

/* ---- the buffer as numbers ------------------------------------------------------------------- */

static void decorate(Lower *l, SpvId id, uint32_t decoration, uint32_t value, uint32_t n)
{
    uint32_t words[] = { id, decoration, value };
    spv_append_global(l->m, spv_make(l->m, SpvOpDecorate, 0, 0, words, 2 + n));
}

static SpvId declare_again(Lower *l, SpvId variable, const SpvType *number)
{
    static const uint32_t kept[] = { SpvDecorationDescriptorSet, SpvDecorationBinding };
    uint32_t storage = spv_operand(spv_def(l->m, variable), 0), n;
    SpvInst *array = spv_make(l->m, SpvOpTypeRuntimeArray, 0, spv_new_id(l->m), &number->id, 1);
    spv_append_global(l->m, array);
    SpvInst *all = spv_make(l->m, SpvOpTypeStruct, 0, spv_new_id(l->m), &array->id, 1);
    spv_append_global(l->m, all);
    SpvId again = place_variable(l, storage, all->id);
    uint32_t start[] = { all->id, 0, SpvDecorationOffset, 0 };
    decorate(l, array->id, SpvDecorationArrayStride, (uint32_t)number->size, 1);
    decorate(l, all->id, SpvDecorationBlock, 0, 0);
    spv_append_global(l->m, spv_make(l->m, SpvOpMemberDecorate, 0, 0, start, 4));
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

SpvId lower_tensor_view(Lower *l, SpvId variable, const SpvType *number)
{
    for (uint32_t k = 0; k < l->views.len; k++)
        if (l->views.data[k].variable == variable && l->views.data[k].number == number->id)
            return l->views.data[k].view;
    SpvId view = declare_again(l, variable, number);
    vec_push(l->scratch, &l->views, (LowerView){ variable, number->id, view });
    return view;
}

/* ---- accesses -------------------------------------------------------------------------------- */

SpvId lower_tensor_bytes(Lower *l, SpvInst *chain, const SpvType *t)
{
    SpvId bytes = build_const(l, 0);
    for (uint32_t k = 1; t && k < spv_n_operands(chain); k++) {
        SpvId index = spv_operand(chain, k);
        uint64_t x;
        if (t->kind == SPV_STRUCT) {
            if (!spv_constant(l->m, index, &x) || x >= t->count || !t->offsets)
                return 0;
            bytes = build_add(l, chain, bytes, build_const(l, t->offsets[x]));
            t = t->members[x];
            continue;
        }
        if (t->kind != SPV_ARRAY && t->kind != SPV_RUNTIME_ARRAY && t->kind != SPV_VECTOR)
            return 0;
        uint32_t stride = t->array_stride ? t->array_stride : (uint32_t)t->element->size;
        index = build_mul(l, chain, build_to_u32(l, chain, index), build_const(l, stride));
        bytes = build_add(l, chain, bytes, index);
        t = t->element;
    }
    return t ? bytes : 0;
}

/* The variable of the buffer, and the bytes from its beginning to where the pointer leads. */
static SpvId first_byte(Lower *l, LowerTensorAccess *a, SpvId *bytes)
{
    SpvInst *chain = spv_def(l->m, spv_operand(a->inst, 0));
    const SpvInst *v =
        chain && (chain->op == SpvOpAccessChain || chain->op == SpvOpInBoundsAccessChain)
            ? spv_def(l->m, spv_operand(chain, 0))
            : NULL;
    const SpvType *t = v && v->op == SpvOpVariable ? spv_type(l->m, v->type)->element : NULL;
    *bytes = t && t->kind == SPV_STRUCT ? lower_tensor_bytes(l, chain, t) : 0;
    return *bytes ? v->id : 0;
}

static bool copy_for(Lower *l, LowerTensorAccess *a, SpvId variable)
{
    for (uint32_t k = 0; k < l->decoders.len; k++) {
        const LowerDecoderCopy *c = &l->decoders.data[k];
        if (c->function == a->decode && c->variable == variable) {
            a->decode = c->copy;
            return true;
        }
    }
    LowerDecodeCopy c = { .l = l, .variable = variable };
    SpvId copy = lower_tensor_copy_decoder(&c, a->decode, 1);
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
    a->block_size = d.stride;
    if (from->storage == SpvStorageClassPhysicalStorageBuffer) {
        SpvId u64 = spv_int_type(l->m, 64, false);
        a->block_pointer = d.pointer->id;
        lower_uses(l, spv_type(l->m, u64));
        a->first = BUILD(l, a->inst, SpvOpConvertPtrToU, u64, spv_operand(a->inst, 0));
        return true;
    }
    SpvId variable = first_byte(l, a, &a->first);
    if (!variable)
        return lower_refuse(l, a->inst, "its blocks are in no buffer that it names");
    return copy_for(l, a, variable);
}

/* What the function's first parameter is for a block. */
static SpvId block_of(Lower *l, SpvInst *at, const LowerTensorAccess *a, SpvId number)
{
    if (!a->block_pointer)
        return build_add(l, at, a->first, build_mul(l, at, number, build_const(l, a->block_size)));
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
