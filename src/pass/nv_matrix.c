/* SPDX-License-Identifier: MIT
 *
 * nv_matrix: expresses SPV_NV_cooperative_matrix in terms of SPV_KHR_cooperative_matrix, its
 * successor.
 *
 * The older types have no use operand. They become accumulators, and multiply-adds convert their
 * factors to A and B (SPV_EXT_cooperative_matrix_maintenance1). Signedness of integers comes from
 * the types rather than from the multiply-add.
 */
#include "pass/edit.h"

typedef struct Older {
    SpvModule *m;
    SpvInst *first;       /* the first type: constants go in front of it */
    SpvId u32, number[3]; /* uses, and layouts */
    Map as_use;           /* id of a type * 2 + use -> the same type of use A, of use B */
} Older;

static void rename_op(SpvInst *i, uint16_t op)
{
    i->op = op;
    i->words[0] = (uint32_t)i->n_words << 16 | op;
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void extension(SpvModule *m, SpvInst *at, const char *name)
{
    uint32_t words[16] = { 0 };
    size_t n = strlen(name);
    memcpy(words, name, n);
    spv_put(m, at, SpvOpExtension, 0, words, (uint32_t)n / 4 + 1);
}

/* The declaration of the capability itself is the newer one's; false without it. */
static bool declare(SpvModule *m)
{
    uint32_t conversions = SpvCapabilityCooperativeMatrixConversionsEXT;
    SpvInst *i = m->globals.first;
    while (i && (i->op != SpvOpCapability || spv_operand(i, 0) != SpvCapabilityCooperativeMatrixNV))
        i = i->next;
    if (!i)
        return false;
    i->words[i->first_operand] = SpvCapabilityCooperativeMatrixKHR;
    spv_put(m, i, SpvOpCapability, 0, &conversions, 1);
    while (i && i->op == SpvOpCapability)
        i = i->next;
    if (i) {
        extension(m, i, "SPV_KHR_cooperative_matrix");
        extension(m, i, "SPV_EXT_cooperative_matrix_maintenance1");
    }
    return true;
}

static void become_type(Older *o, SpvInst *i)
{
    uint32_t words[5];
    if (!o->first) {
        const SpvInst *scope = spv_def(o->m, spv_operand(i, 1));
        o->first = i;
        for (uint32_t k = 0; k < COUNT_OF(o->number); k++)
            o->number[k] = spv_put(o->m, i, SpvOpConstant, scope ? scope->type : 0, &k, 1)->id;
        o->u32 = scope ? scope->type : 0;
    }
    memcpy(words, i->words + i->first_operand, 4 * sizeof *words);
    words[4] = o->number[SpvCooperativeMatrixUseMatrixAccumulatorKHR];
    edit_become(o->m, i, SpvOpTypeCooperativeMatrixKHR, words, COUNT_OF(words));
}

static SpvId type_as(Older *o, SpvInst *type, uint32_t use)
{
    uint64_t key = (uint64_t)type->id * 2 + use, id;
    if (map_get(&o->as_use, key, &id))
        return (SpvId)id;
    SpvInst *t = spv_make(o->m, type->op, 0, spv_new_id(o->m), type->words + type->first_operand,
                          spv_n_operands(type));
    t->words[t->first_operand + 4] = o->number[use];
    spv_insert_after(type, t);
    map_put(o->m->arena, &o->as_use, key, t->id);
    return t->id;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Pointer, [object,] stride, column major -> pointer, [object,] layout, stride. */
static void transfer(Older *o, SpvInst *i, uint16_t op, uint32_t at)
{
    uint32_t *w = i->words + i->first_operand + at, stride = w[0];
    const SpvInst *column = spv_def(o->m, w[1]);
    uint32_t choice[] = { SpvOpSelect, w[1], o->number[SpvCooperativeMatrixLayoutColumnMajorKHR],
                          o->number[SpvCooperativeMatrixLayoutRowMajorKHR] };
    rename_op(i, op);
    w[1] = stride;
    if (column && (column->op == SpvOpConstantTrue || column->op == SpvOpConstantFalse)) {
        w[0] = choice[column->op == SpvOpConstantTrue ? 2 : 3];
        return;
    }
    SpvInst *layout =
        spv_make(o->m, SpvOpSpecConstantOp, o->u32, spv_new_id(o->m), choice, COUNT_OF(choice));
    spv_append_global(o->m, layout);
    w[0] = layout->id;
}

static SpvInst *type_of(Older *o, SpvId id)
{
    const SpvInst *value = spv_def(o->m, id);
    SpvInst *type = value && value->type ? spv_def(o->m, value->type) : NULL;
    return type && type->op == SpvOpTypeCooperativeMatrixKHR ? type : NULL;
}

static void muladd(Older *o, SpvInst *i)
{
    SpvInst *type[4] = { type_of(o, spv_operand(i, 0)), type_of(o, spv_operand(i, 1)),
                         type_of(o, spv_operand(i, 2)), type_of(o, i->id) };
    uint32_t words[4] = { spv_operand(i, 0), spv_operand(i, 1), spv_operand(i, 2), 0 };
    for (uint32_t k = 0; k < 4; k++) {
        const SpvInst *c = type[k] ? spv_def(o->m, spv_operand(type[k], 0)) : NULL;
        if (c && c->op == SpvOpTypeInt && spv_operand(c, 1))
            words[3] |= 1u << k;
        if (type[k] && k < SpvCooperativeMatrixUseMatrixAccumulatorKHR)
            words[k] = spv_put(o->m, i, SpvOpCooperativeMatrixConvertUseEXT, type_as(o, type[k], k),
                               &words[k], 1)
                           ->id;
    }
    edit_become(o->m, i, SpvOpCooperativeMatrixMulAddKHR, words, words[3] ? 4 : 3);
}

static bool change(void *user, SpvInst *i)
{
    Older *o = user;
    switch (i->op) {
    case SpvOpTypeCooperativeMatrixNV: become_type(o, i); break;
    case SpvOpCooperativeMatrixLoadNV: transfer(o, i, SpvOpCooperativeMatrixLoadKHR, 1); break;
    case SpvOpCooperativeMatrixStoreNV: transfer(o, i, SpvOpCooperativeMatrixStoreKHR, 2); break;
    case SpvOpCooperativeMatrixMulAddNV: muladd(o, i); break;
    case SpvOpCooperativeMatrixLengthNV: rename_op(i, SpvOpCooperativeMatrixLengthKHR); break;
    case SpvOpSpecConstantOp:
        if (spv_operand(i, 0) == SpvOpCooperativeMatrixLengthNV)
            i->words[i->first_operand] = SpvOpCooperativeMatrixLengthKHR;
        break;
    }
    return true;
}

void pass_nv_matrix(SpvModule *m)
{
    Older o = { .m = m };
    if (declare(m))
        spv_each_inst(m, change, &o);
}
