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

/* ---- accesses -------------------------------------------------------------------------------- */

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
    SpvId variable = lower_view_start(l, spv_def(l->m, spv_operand(a->inst, 0)), &a->first);
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
