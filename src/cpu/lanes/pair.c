/* SPDX-License-Identifier: MIT
 *
 * Two numbers of 16 bits that lie side by side in each lane, loaded one after the other by two
 * instructions of a block: one load of 32 bits. In: the first of them. Out: the word's halves, of
 * which the second is kept until its instruction comes. Kernels for packed weights load words so,
 * whose blocks are not aligned to words, and put them together again, which LLVM then leaves out.
 *
 * Only for lanes that lie apart, and without robust access, which would have to tell them apart.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

enum { FARTHEST = 64 /* instructions between them */ };

/* Whether `id` is the number after `before`. */
static bool is_next(const SpvModule *m, SpvId before, SpvId id)
{
    const SpvInst *sum = spv_def(m, id);
    uint64_t x, y;
    if (spv_constant(m, before, &x) && spv_constant(m, id, &y))
        return x + 1 == y;
    if (!sum || sum->op != SpvOpIAdd)
        return false;
    for (uint32_t k = 0; k < 2; k++)
        if (spv_operand(sum, k) == before && spv_constant(m, spv_operand(sum, 1 - k), &x) && x == 1)
            return true;
    return false;
}

static bool is_chain(const SpvInst *i)
{
    return i && (i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain) &&
           spv_n_operands(i) > 1;
}

/* Whether a pointer leads to the element after that of another. */
static bool leads_next(const SpvModule *m, SpvId before, SpvId pointer)
{
    const SpvInst *a = spv_def(m, before), *b = spv_def(m, pointer);
    if (!is_chain(a) || !is_chain(b) || a->type != b->type ||
        spv_n_operands(a) != spv_n_operands(b))
        return false;
    uint32_t last = spv_n_operands(a) - 1;
    for (uint32_t k = 0; k < last; k++)
        if (spv_operand(a, k) != spv_operand(b, k))
            return false;
    return is_next(m, spv_operand(a, last), spv_operand(b, last));
}

static const SpvInst *partner_of(Emit *e, const SpvInst *load)
{
    uint32_t n = 0;
    for (const SpvInst *i = load->next; i && n < FARTHEST && !series_ends(i); i = i->next, n++)
        if (i->op == SpvOpLoad && i->type == load->type && spv_n_operands(i) == 1 &&
            leads_next(e->module, spv_operand(load, 0), spv_operand(i, 0)))
            return i;
    return NULL;
}

const SpvType *pair_word_type(Emit *e)
{
    for (SpvId id = 1; id < e->module->bound; id++) {
        const SpvInst *i = spv_def(e->module, id);
        if (i && i->op == SpvOpTypeInt && spv_operand(i, 0) == 32)
            return spv_type(e->module, id);
    }
    return NULL;
}

/* The elements of an array of 16 bits lie side by side. */
static bool is_dense(Emit *e, const SpvInst *load)
{
    const SpvInst *chain = spv_def(e->module, spv_operand(load, 0));
    const SpvType *t = chain ? spv_type_of(e->module, spv_operand(chain, 0)) : NULL;
    for (uint32_t k = 1; t && k < spv_n_operands(chain); k++) {
        uint64_t member = 0;
        t = t->kind == SPV_POINTER ? t->element : t;
        if (k + 1 == spv_n_operands(chain))
            return t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY) &&
                   t->array_stride == 2;
        if (t && t->kind == SPV_STRUCT)
            t = spv_constant(e->module, spv_operand(chain, k), &member) && member < t->count
                    ? t->members[member]
                    : NULL;
        else
            t = t ? t->element : NULL;
    }
    return false;
}

LV pair_half(Emit *e, const SpvType *t, LV word, uint32_t k)
{
    LT bits = emit_lanes_type(e, LLVMIntTypeInContext(e->cx, 16));
    LV x = k ? LLVMBuildLShr(e->b, word, ir_int(LLVMTypeOf(word), 16), "") : word;
    return LLVMBuildBitCast(e->b, LLVMBuildTrunc(e->b, x, bits, ""),
                            emit_lanes_type(e, emit_scalar_type(e, t)), "");
}

bool pair_load(Emit *e, const SpvInst *i, const EmitPointer *p, LV *leaves)
{
    Lanes *lanes = lanes_of(e);
    if (lanes->pair_second == i) {
        leaves[0] = lanes->pair_value;
        lanes->pair_second = NULL;
        return true;
    }
    const SpvType *t = p->at.type, *word = NULL;
    if (lanes->pair_second || (t->kind != SPV_INT && t->kind != SPV_FLOAT) || t->bits != 16 ||
        spv_n_operands(i) != 1 || !access_is_apart(e, p) || !is_dense(e, i))
        return false;
    const SpvInst *second = partner_of(e, i);
    word = second ? pair_word_type(e) : NULL;
    if (!word)
        return false;
    EmitPointer whole = *p;
    LV v;
    whole.at.type = word;
    whole.align = 2;
    access_load(e, &whole, &v);
    v = emit_lanes(e, v);
    leaves[0] = pair_half(e, t, v, 0);
    lanes->pair_value = pair_half(e, t, v, 1);
    lanes->pair_second = second;
    return true;
}
