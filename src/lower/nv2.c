/* SPDX-License-Identifier: MIT
 *
 * lower_nv2: SPV_NV_cooperative_matrix2 without tensors. In: any module. Out: no reductions,
 * functions of elements, transpositions and conversions between uses. Functions are called by who
 * holds the element. What needs others' elements has the matrix put into workgroup memory.
 */
#include "lower/internal.h"

static const SpvType *matrix_of(Lower *l, SpvId value)
{
    const SpvType *t = spv_type_of(l->m, value);
    return t && t->kind == SPV_COOPMAT ? t : NULL;
}

/* ---- element by element ---------------------------------------------------------------------- */

/* Whether the target itself does NV2's operations on it. */
static bool stays(const Lower *l, const SpvType *t)
{
    return l->profile->features & PROFILE_HAS_NV2 && lower_fate(l, t).kind == FATE_STAYS;
}

static void per_element(Lower *l, SpvInst *i)
{
    const SpvType *t = spv_type(l->m, i->type);
    uint32_t n = spv_n_operands(i);
    uint32_t *args = NEW_ARRAY(l->scratch, uint32_t, n + 2);
    SpvId *from = NEW_ARRAY(l->scratch, SpvId, n);
    LowerDealt dealt = { .from = from };
    for (uint32_t k = 0; k < n; k++)
        if (matrix_of(l, spv_operand(i, k)))
            from[dealt.n_from++] = spv_operand(i, k);
    LowerDeal d = deal_open(l, i, t, &dealt);
    args[0] = spv_operand(i, 1);
    while (deal_next(&d)) {
        uint32_t part = 0;
        args[1] = build_add(l, d.at, d.element.row, part_row(l, d.at, t));
        args[2] = build_add(l, d.at, d.element.column, part_column(l, d.at, t));
        for (uint32_t k = 0; k < n; k++) {
            SpvId x = spv_operand(i, k);
            if (k != 1) /* which is the function */
                args[k ? k + 2 : 3] = matrix_of(l, x) ? deal_get(&d, part++) : x;
        }
        deal_put(&d, build(l, d.at, SpvOpFunctionCall, t->element->id, args, n + 2));
    }
    lower_note(l, i, "calls by those who hold the elements");
    build_replace(l, i, deal_close(&d));
}

/* Of the component type, as the opcode has it. */
static SpvId converted(Lower *l, SpvInst *at, const SpvInst *i, const SpvType *to, SpvId value)
{
    if (i->op == SpvOpCooperativeMatrixConvertNV || spv_def(l->m, value)->type == to->id)
        return deal_convert(l, at, to, value);
    return BUILD(l, at, i->op, to->id, value);
}

static void convert(Lower *l, SpvInst *i, bool transposed)
{
    const SpvType *t = spv_type(l->m, i->type);
    SpvId from = spv_operand(i, 0);
    LowerDealt dealt = { .from = &from, .n_from = 1, .transposed = transposed };
    LowerDeal d = deal_open(l, i, t, &dealt);
    while (deal_next(&d)) {
        SpvId x = deal_get(&d, 0);
        SpvId y = transposed ? deal_convert(l, d.at, t->element, x)
                             : converted(l, d.at, i, t->element, x);
        lower_hand_down(l, i->id, &y, y != x);
        deal_put(&d, y);
    }
    lower_undecorate(l, i->id);
    lower_note(l, i, d.known ? "element by element" : "workgroup memory");
    build_replace(l, i, deal_close(&d));
}

/* A conversion between uses that the target does not do, or between matrices of different fates. */
static bool crosses(Lower *l, const SpvInst *i)
{
    const SpvType *t = i->type ? spv_type(l->m, i->type) : NULL;
    const SpvOpInfo *info = spv_op_info(i->op);
    bool unary = info && info->flags & SPV_OPF_MATRICES && spv_n_operands(i) == 1;
    const SpvType *from =
        t && t->kind == SPV_COOPMAT && unary ? matrix_of(l, spv_operand(i, 0)) : NULL;
    if (!from || (lower_is_array(l, from) && lower_is_array(l, t)))
        return false;
    LowerFate a = lower_fate(l, from), b = lower_fate(l, t);
    bool same =
        a.kind == b.kind && (a.kind == FATE_STAYS || (a.rows == b.rows && a.cols == b.cols));
    return !same || (from->use != t->use && !stays(l, t));
}

static void visit(Lower *l, SpvInst *i)
{
    const SpvType *t = i->type ? spv_type(l->m, i->type) : NULL;
    const SpvType *from = spv_n_operands(i) ? matrix_of(l, spv_operand(i, 0)) : NULL;
    if (!t || t->kind != SPV_COOPMAT || !from)
        return;
    bool whole = stays(l, t) && stays(l, from);
    if (i->op == SpvOpCooperativeMatrixTransposeNV && !whole)
        convert(l, i, true);
    else if (i->op == SpvOpCooperativeMatrixReduceNV && !whole) {
        if (!lower_reduce_held(l, i))
            lower_reduce(l, i);
    } else if (i->op == SpvOpCooperativeMatrixPerElementOpNV && !whole)
        per_element(l, i);
    else if (i->op == SpvOpCooperativeMatrixConvertNV ? !whole : crosses(l, i))
        convert(l, i, false);
}

void lower_nv2(Lower *l) { lower_each(l, visit); }
