/* SPDX-License-Identifier: MIT
 *
 * lower_qcom: SPV_QCOM_cooperative_matrix_conversion. In: any module. Out: none of its
 * instructions. A lane's array is a row of the matrix (of B: a column), which goes through
 * workgroup memory. Bit casts and parts of arrays are an invocation's own affair.
 */
#include "lower/internal.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

static SpvId several(Lower *l, SpvId type, uint32_t n)
{
    return n == 1 ? type : spv_vector_type(l->m, type, n);
}

static SpvId cast(Lower *l, SpvInst *at, SpvId type, SpvId value)
{
    return spv_def(l->m, value)->type == type ? value : BUILD(l, at, SpvOpBitcast, type, value);
}

/* Takes the numbers of `from` to pieces of `to` bits, the first in the lowest, or puts them
 * together. */
static uint32_t recast(Lower *l, SpvInst *at, const SpvId *from, uint32_t n, const SpvType *of,
                       const SpvType *to, SpvId *out)
{
    uint32_t made = n * of->bits / to->bits;
    if (of->bits >= to->bits) {
        uint32_t ratio = of->bits / to->bits;
        for (uint32_t k = 0; k < n; k++) {
            SpvId x = cast(l, at, several(l, to->id, ratio), from[k]);
            for (uint32_t j = 0; j < ratio; j++)
                out[k * ratio + j] =
                    ratio == 1 ? x : BUILD(l, at, SpvOpCompositeExtract, to->id, x, j);
        }
        return made;
    }
    uint32_t ratio = to->bits / of->bits;
    for (uint32_t k = 0; k < made; k++)
        out[k] = cast(l, at, to->id, build(l, at, SpvOpCompositeConstruct,
                                           several(l, of->id, ratio), from + k * ratio, ratio));
    return made;
}

static SpvId *elements_of(Lower *l, SpvInst *at, SpvId array, const SpvType *t)
{
    SpvId *x = NEW_ARRAY(l->scratch, SpvId, t->count);
    for (uint32_t k = 0; k < t->count; k++)
        x[k] = BUILD(l, at, SpvOpCompositeExtract, t->element->id, array, k);
    return x;
}

static bool ratio_fits(Lower *l, SpvInst *i, const SpvType *a, const SpvType *b)
{
    uint32_t high = MAX(a->bits, b->bits), low = MIN(a->bits, b->bits);
    return (high % low == 0 && high / low <= 4) ||
        lower_refuse(l, i, "numbers of %u bits are not one to four of %u", high, low);
}

static void bit_cast(Lower *l, SpvInst *i)
{
    const SpvType *to = spv_type(l->m, i->type), *from = spv_type_of(l->m, spv_operand(i, 0));
    if (!ratio_fits(l, i, to->element, from->element))
        return;
    SpvId *x = elements_of(l, i, spv_operand(i, 0), from);
    SpvId *out = NEW_ARRAY(l->scratch, SpvId, to->count);
    recast(l, i, x, from->count, from->element, to->element, out);
    lower_note(l, i, "bit casts of numbers");
    build_replace(l, i, build(l, i, SpvOpCompositeConstruct, to->id, out, to->count));
}

static void sub_array(Lower *l, SpvInst *i)
{
    const SpvType *to = spv_type(l->m, i->type);
    SpvId array = spv_operand(i, 0), first = build_to_u32(l, i, spv_operand(i, 1));
    SpvId *out = NEW_ARRAY(l->scratch, SpvId, to->count), variable = 0;
    uint64_t start;
    bool constant = spv_constant(l->m, first, &start) &&
        start + to->count <= spv_type_of(l->m, array)->count;
    if (!constant) {
        variable = build_variable(l, i, spv_def(l->m, array)->type);
        build_store(l, i, variable, array);
    }
    for (uint32_t k = 0; k < to->count; k++) {
        if (constant) {
            out[k] = BUILD(l, i, SpvOpCompositeExtract, to->element->id, array,
                           (uint32_t)start + k);
            continue;
        }
        SpvId p = build_element(l, i, SpvStorageClassFunction, to->element->id, variable,
                                build_add(l, i, first, build_const(l, k)));
        out[k] = build_load(l, i, to->element->id, p);
    }
    lower_note(l, i, "elements");
    build_replace(l, i, build(l, i, SpvOpCompositeConstruct, to->id, out, to->count));
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Conversion {
    const SpvType *matrix, *array;
    uint32_t lanes, length;     /* arrays in the matrix, components in each */
    bool by_column;
} Conversion;

static bool open_conversion(Lower *l, SpvInst *i, const SpvType *matrix, const SpvType *array,
                            Conversion *x)
{
    bool b = matrix->use == SpvCooperativeMatrixUseMatrixBKHR;
    *x = (Conversion){ matrix, array, b ? matrix->cols : matrix->rows,
                       b ? matrix->rows : matrix->cols, b };
    if (x->lanes > l->lanes)
        return lower_refuse(l, i, "the matrix is made of the arrays of %u invocations, of which the"
                            " subgroup has %u", x->lanes, l->lanes);
    return ratio_fits(l, i, matrix->element, array->element);
}

static SpvId place_of(Lower *l, SpvInst *at, const Conversion *x, SpvId lane, uint32_t k)
{
    uint32_t cols = x->matrix->cols;
    return x->by_column ? build_add(l, at, lane, build_const(l, k * cols))
                        : build_add(l, at, build_mul(l, at, lane, build_const(l, cols)),
                                    build_const(l, k));
}

static void construct(Lower *l, SpvInst *i)
{
    Conversion x;
    SpvId array = spv_operand(i, 0);
    if (!open_conversion(l, i, spv_type(l->m, i->type), spv_type_of(l->m, array), &x))
        return;
    SpvId *parts = NEW_ARRAY(l->scratch, SpvId, x.length);
    recast(l, i, elements_of(l, i, array, x.array), x.array->count, x.array->element,
           x.matrix->element, parts);
    SpvId lane = place_lane(l, i, x.matrix->scope);
    SpvInst *at = x.lanes < l->lanes
        ? build_if(l, i, build_less(l, i, lane, build_const(l, x.lanes))) : i;
    staging_of(l, x.matrix->element->id, x.matrix->scope, x.lanes * x.length);
    for (uint32_t k = 0; k < x.length; k++)
        staging_store(l, at, x.matrix->scope, place_of(l, at, &x, lane, k), parts[k]);
    place_barrier(l, i, x.matrix->scope);
    SpvId matrix = staging_get_matrix(l, i, x.matrix, 0);
    place_barrier(l, i, x.matrix->scope);
    lower_note(l, i, "workgroup memory");
    build_replace(l, i, matrix);
}

static void extract(Lower *l, SpvInst *i)
{
    Conversion x;
    SpvId matrix = spv_operand(i, 0);
    if (!open_conversion(l, i, spv_type_of(l->m, matrix), spv_type(l->m, i->type), &x))
        return;
    SpvId *parts = NEW_ARRAY(l->scratch, SpvId, x.length);
    SpvId *out = NEW_ARRAY(l->scratch, SpvId, x.array->count);
    staging_put_matrix(l, i, matrix, 0);
    place_barrier(l, i, x.matrix->scope);
    SpvId lane = place_lane(l, i, x.matrix->scope);
    SpvId inside = 0, zero = spv_null_constant(l->m, x.matrix->element->id);
    if (x.lanes < l->lanes) { /* what those behind get is undefined; here it is zero */
        inside = build_less(l, i, lane, build_const(l, x.lanes));
        lane = build_min(l, i, lane, x.lanes - 1);
    }
    for (uint32_t k = 0; k < x.length; k++) {
        parts[k] = staging_load(l, i, x.matrix->element->id, x.matrix->scope,
                                place_of(l, i, &x, lane, k));
        if (inside)
            parts[k] = build_select(l, i, inside, parts[k], zero);
    }
    place_barrier(l, i, x.matrix->scope);
    recast(l, i, parts, x.length, x.matrix->element, x.array->element, out);
    lower_note(l, i, "workgroup memory");
    build_replace(l, i, build(l, i, SpvOpCompositeConstruct, x.array->id, out, x.array->count));
}

static void visit(Lower *l, SpvInst *i)
{
    switch (i->op) {
    case SpvOpBitCastArrayQCOM:
        bit_cast(l, i);
        return;
    case SpvOpExtractSubArrayQCOM:
        sub_array(l, i);
        return;
    case SpvOpCompositeConstructCoopMatQCOM:
        construct(l, i);
        return;
    case SpvOpCompositeExtractCoopMatQCOM:
        extract(l, i);
        return;
    default:
        return;
    }
}

void lower_qcom(Lower *l) { lower_each(l, visit); }
