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

/* Where need be, one matrix after the other goes to the staging; returns where its next is free. */
static uint32_t stage_operands(Lower *l, SpvInst *i, uint32_t n)
{
    uint32_t first = 0;
    for (uint32_t k = 0; k < n; k++) {
        const SpvType *t = matrix_of(l, spv_operand(i, k));
        if (!t)
            continue;
        staging_put_matrix(l, i, spv_operand(i, k), first);
        first += t->rows * t->cols;
    }
    place_barrier(l, i, matrix_of(l, spv_operand(i, 0))->scope);
    return first;
}

static void per_element(Lower *l, SpvInst *i)
{
    const SpvType *t = spv_type(l->m, i->type);
    uint32_t n = spv_n_operands(i), size = t->rows * t->cols;
    uint32_t *args = NEW_ARRAY(l->scratch, uint32_t, n + 2);
    uint32_t first = deal_is_known(l, t) ? 0 : stage_operands(l, i, n);
    LowerDeal d = deal_open(l, i, t, first);
    args[0] = spv_operand(i, 1);
    while (deal_next(&d)) {
        uint32_t part = 0;
        args[1] = build_add(l, d.at, d.element.row, part_row(l, d.at, t));
        args[2] = build_add(l, d.at, d.element.column, part_column(l, d.at, t));
        for (uint32_t k = 0; k < n; k++) {
            SpvId x = spv_operand(i, k);
            if (k != 1) /* which is the function */
                args[k ? k + 2 : 3] = matrix_of(l, x) ? deal_get(&d, x, size * part++) : x;
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

static void convert(Lower *l, SpvInst *i)
{
    const SpvType *t = spv_type(l->m, i->type);
    SpvId from = spv_operand(i, 0);
    bool known = deal_is_known(l, matrix_of(l, from));
    uint32_t first = known ? 0 : stage_operands(l, i, 1);
    LowerDeal d = deal_open(l, i, t, first);
    while (deal_next(&d))
        deal_put(&d, converted(l, d.at, i, t->element, deal_get(&d, from, 0)));
    lower_note(l, i, known && d.known ? "element by element" : "workgroup memory");
    build_replace(l, i, deal_close(&d));
}

static void transpose(Lower *l, SpvInst *i)
{
    const SpvType *t = spv_type(l->m, i->type), *from = matrix_of(l, spv_operand(i, 0));
    uint32_t first = stage_operands(l, i, 1);
    LowerDeal d = deal_open(l, i, t, first);
    while (deal_next(&d)) {
        SpvId line = build_mul(l, d.at, d.element.column, build_const(l, from->cols));
        SpvId x = staging_load(l, d.at, from->element->id, from->scope,
                               build_add(l, d.at, line, d.element.row));
        deal_put(&d, deal_convert(l, d.at, t->element, x));
    }
    SpvId result = deal_close(&d);
    place_barrier(l, i, t->scope);
    lower_note(l, i, "workgroup memory");
    build_replace(l, i, result);
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct Reduction {
    SpvInst *inst;
    const SpvType *from, *to;
    SpvId combine;
    uint32_t mode, deep, wide; /* elements of the source in a result */
    uint32_t rows, cols;       /* of different results */
} Reduction;

/* Element k of the region that begins at (row, column): along rows, in 2x2 along columns. */
static SpvId region(Lower *l, SpvInst *at, const Reduction *x, SpvId row, SpvId column, SpvId k)
{
    bool square = x->mode == SpvCooperativeMatrixReduce2x2Mask;
    SpvId r = square ? build_mod(l, at, k, x->deep) : build_div(l, at, k, x->wide);
    SpvId c = square ? build_div(l, at, k, x->deep) : build_mod(l, at, k, x->wide);
    r = build_add(l, at, row, r);
    c = build_add(l, at, column, c);
    SpvId number = build_add(l, at, build_mul(l, at, r, build_const(l, x->from->cols)), c);
    return staging_load(l, at, x->from->element->id, x->from->scope, number);
}

/* The results that differ, dealt to the invocations; behind the source in the staging. */
static void reduce_regions(Lower *l, const Reduction *x, uint32_t first)
{
    SpvInst *i = x->inst, *body;
    SpvId element = x->from->element->id, k;
    uint32_t lanes = place_lanes(l, x->from->scope), n = x->rows * x->cols;
    LowerEach e = each_open(l, i, (n + lanes - 1) / lanes);
    while (each_next(&e)) {
        SpvId number = build_add(l, e.at, build_mul(l, e.at, e.index, build_const(l, lanes)),
                                 place_lane(l, e.at, x->from->scope));
        SpvInst *at =
            n % lanes ? build_if(l, e.at, build_less(l, e.at, number, build_const(l, n))) : e.at;
        SpvId row = build_mul(l, at, build_div(l, at, number, x->cols), build_const(l, x->deep));
        SpvId column = build_mul(l, at, build_mod(l, at, number, x->cols), build_const(l, x->wide));
        SpvId sum = build_variable(l, at, element);
        build_store(l, at, sum, region(l, at, x, row, column, build_const(l, 0)));
        build_loop(l, at, x->deep * x->wide - 1, &body, &k);
        k = build_add(l, body, k, build_const(l, 1));
        SpvId next = region(l, body, x, row, column, k);
        SpvId left = build_load(l, body, element, sum);
        build_store(l, body, sum,
                    BUILD(l, body, SpvOpFunctionCall, element, x->combine, left, next));
        staging_store(l, at, x->from->scope, build_add(l, at, number, build_const(l, first)),
                      build_load(l, at, element, sum));
    }
}

static void reduce(Lower *l, SpvInst *i)
{
    Reduction x = { .inst = i,
                    .from = matrix_of(l, spv_operand(i, 0)),
                    .to = spv_type(l->m, i->type),
                    .mode = spv_operand(i, 1),
                    .combine = spv_operand(i, 2) };
    bool square = x.mode & SpvCooperativeMatrixReduce2x2Mask;
    x.deep = square ? 2 : x.mode & SpvCooperativeMatrixReduceColumnMask ? x.from->rows : 1;
    x.wide = square ? 2 : x.mode & SpvCooperativeMatrixReduceRowMask ? x.from->cols : 1;
    x.rows = x.from->rows / x.deep;
    x.cols = x.from->cols / x.wide;
    uint32_t first = stage_operands(l, i, 1), n = x.rows * x.cols;
    staging_of(l, x.from->element->id, x.from->scope, first + n);
    reduce_regions(l, &x, first);
    place_barrier(l, i, x.from->scope);
    LowerDeal d = deal_open(l, i, x.to, first + n);
    while (deal_next(&d)) {
        SpvId row =
            build_mul(l, d.at, build_mod(l, d.at, d.element.row, x.rows), build_const(l, x.cols));
        SpvId number = build_add(l, d.at, row, build_mod(l, d.at, d.element.column, x.cols));
        deal_put(&d, staging_load(l, d.at, x.from->element->id, x.from->scope,
                                  build_add(l, d.at, number, build_const(l, first))));
    }
    SpvId result = deal_close(&d);
    place_barrier(l, i, x.from->scope);
    lower_note(l, i, "workgroup memory, calls in order");
    build_replace(l, i, result);
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
        transpose(l, i);
    else if (i->op == SpvOpCooperativeMatrixReduceNV && !whole) {
        if (!lower_reduce_tiles(l, i))
            reduce(l, i);
    } else if (i->op == SpvOpCooperativeMatrixPerElementOpNV && !whole)
        per_element(l, i);
    else if (i->op == SpvOpCooperativeMatrixConvertNV ? !whole : crosses(l, i))
        convert(l, i);
}

void lower_nv2(Lower *l) { lower_each(l, visit); }
