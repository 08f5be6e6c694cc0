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

typedef struct Numbers {
    const SpvType *type;
    SpvId *x;
    uint32_t n;
} Numbers;

/* The same bits as numbers of another type: the first in the lowest. */
static Numbers recast(Lower *l, SpvInst *at, Numbers from, const SpvType *type)
{
    uint32_t high = MAX(from.type->bits, type->bits), low = MIN(from.type->bits, type->bits);
    uint32_t ratio = high / low;
    Numbers to = { .type = type, .n = from.n * from.type->bits / type->bits };
    to.x = NEW_ARRAY(l->scratch, SpvId, to.n);
    for (uint32_t k = 0; from.type->bits >= type->bits && k < from.n; k++) {
        SpvId v = cast(l, at, several(l, type->id, ratio), from.x[k]);
        for (uint32_t j = 0; j < ratio; j++)
            to.x[k * ratio + j] =
                ratio == 1 ? v : BUILD(l, at, SpvOpCompositeExtract, type->id, v, j);
    }
    for (uint32_t k = 0; from.type->bits < type->bits && k < to.n; k++)
        to.x[k] = cast(l, at, type->id,
                       build(l, at, SpvOpCompositeConstruct, several(l, from.type->id, ratio),
                             from.x + k * ratio, ratio));
    return to;
}

static Numbers numbers_of(Lower *l, SpvInst *at, SpvId array)
{
    const SpvType *t = spv_type_of(l->m, array);
    Numbers from = { t->element, NEW_ARRAY(l->scratch, SpvId, t->count), t->count };
    for (uint32_t k = 0; k < t->count; k++)
        from.x[k] = BUILD(l, at, SpvOpCompositeExtract, t->element->id, array, k);
    return from;
}

static SpvId array_of(Lower *l, SpvInst *at, const SpvType *t, Numbers from)
{
    return build(l, at, SpvOpCompositeConstruct, t->id, from.x, from.n);
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
    Numbers x = recast(l, i, numbers_of(l, i, spv_operand(i, 0)), to->element);
    lower_note(l, i, "bit casts of numbers");
    build_replace(l, i, array_of(l, i, to, x));
}

static void sub_array(Lower *l, SpvInst *i)
{
    const SpvType *to = spv_type(l->m, i->type);
    SpvId array = spv_operand(i, 0), first = build_to_u32(l, i, spv_operand(i, 1));
    SpvId *out = NEW_ARRAY(l->scratch, SpvId, to->count), variable = 0;
    uint64_t start;
    bool constant =
        spv_constant(l->m, first, &start) && start + to->count <= spv_type_of(l->m, array)->count;
    if (!constant) {
        variable = build_variable(l, i, spv_def(l->m, array)->type);
        build_store(l, i, variable, array);
    }
    for (uint32_t k = 0; k < to->count; k++) {
        if (constant) {
            out[k] =
                BUILD(l, i, SpvOpCompositeExtract, to->element->id, array, (uint32_t)start + k);
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

static uint32_t arrays_of(const SpvType *matrix)
{
    return matrix->use == SpvCooperativeMatrixUseMatrixBKHR ? matrix->cols : matrix->rows;
}

uint32_t lower_qcom_width(const Lower *l)
{
    uint32_t most = 1;
    for (SpvFunction *f = l->m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next) {
                const SpvType *t = i->op == SpvOpCompositeConstructCoopMatQCOM
                                       ? spv_type(l->m, i->type)
                                   : i->op == SpvOpCompositeExtractCoopMatQCOM
                                       ? spv_type_of(l->m, spv_operand(i, 0))
                                       : NULL;
                while (t && t->scope == SpvScopeSubgroup && most < arrays_of(t))
                    most *= 2;
            }
    return most;
}

typedef struct Conversion {
    const SpvType *matrix, *array;
    LowerPart whole;
    uint32_t scope;         /* of those whose arrays they are */
    uint32_t lanes, length; /* arrays in the matrix, components in each */
    uint32_t stride;        /* of the matrix' rows in workgroup memory */
    bool by_column;
} Conversion;

bool lower_is_own_part(const Lower *l, const SpvType *matrix, bool by_column)
{
    LowerPart p = lower_part(l, matrix);
    bool in_order =
        l->profile->features & PROFILE_HAS_ORDER && l->entry.local_size[0] == l->invocations;
    return lower_is_part(l, matrix) && in_order &&
           (by_column ? p.column_parts : p.row_parts) == l->subgroups &&
           (by_column ? p.row_parts : p.column_parts) == 1 &&
           (by_column ? matrix->cols : matrix->rows) == l->lanes;
}

/* GPUs' workgroup memory has banks, 128 bytes side by side. Invocations that each access 16 bytes
 * of a row of their own get in each other's way unless rows are an odd number of those apart. */
static uint32_t stride_of(Lower *l, const Conversion *x)
{
    uint32_t columns = x->whole.columns, bytes = (uint32_t)x->matrix->element->size;
    uint32_t apart = columns + 16 / bytes;
    bool meet = !x->by_column && columns * bytes % 32 == 0;
    return meet && !(l->profile->features & PROFILE_HAS_LOCKSTEP) &&
                   staging_has_room(l, x->matrix->element->id, x->scope, x->lanes * apart)
               ? apart
               : columns;
}

static bool open_conversion(Lower *l, SpvInst *i, const SpvType *matrix, const SpvType *array,
                            Conversion *x)
{
    bool b = matrix->use == SpvCooperativeMatrixUseMatrixBKHR;
    bool own = lower_is_own_part(l, matrix, b);
    LowerPart p = own ? (LowerPart){ matrix->rows, matrix->cols, 1, 1 } : lower_part(l, matrix);
    *x =
        (Conversion){ .matrix = matrix,
                      .array = array,
                      .whole = p,
                      .scope = !own && lower_is_part(l, matrix) ? SpvScopeWorkgroup : matrix->scope,
                      .lanes = b ? p.columns : p.rows,
                      .length = b ? p.rows : p.columns,
                      .by_column = b };
    x->stride = stride_of(l, x);
    if (x->lanes > place_lanes(l, x->scope))
        return lower_refuse(l, i,
                            "the matrix is made of the arrays of %u invocations, of which the"
                            " %s has %u",
                            x->lanes, l->invocations < x->lanes ? "workgroup" : "subgroup",
                            place_lanes(l, x->scope));
    return ratio_fits(l, i, matrix->element, array->element);
}

static SpvId place_of(Lower *l, SpvInst *at, const Conversion *x, SpvId lane, uint32_t k)
{
    SpvId stride = build_const(l, x->stride);
    return x->by_column ? build_add(l, at, lane, build_const(l, k * x->stride))
                        : build_add(l, at, build_mul(l, at, lane, stride), build_const(l, k));
}

/* Where the matrix, or the subgroup's part of it, is among the arrays. */
static LowerLines lines_of(Lower *l, SpvInst *at, const Conversion *x)
{
    SpvId first = build_const(l, 0);
    if (x->scope == SpvScopeWorkgroup) {
        SpvId row = part_row(l, at, x->matrix), stride = build_const(l, x->stride);
        first = build_add(l, at, build_mul(l, at, row, stride), part_column(l, at, x->matrix));
    }
    return (LowerLines){ x->scope, first, false, x->stride, 0 };
}

static void construct(Lower *l, SpvInst *i)
{
    Conversion x;
    SpvId array = spv_operand(i, 0);
    if (!open_conversion(l, i, spv_type(l->m, i->type), spv_type_of(l->m, array), &x))
        return;
    Numbers parts = recast(l, i, numbers_of(l, i, array), x.matrix->element);
    SpvId lane = place_lane(l, i, x.scope);
    SpvInst *at = x.lanes < place_lanes(l, x.scope)
                      ? build_if(l, i, build_less(l, i, lane, build_const(l, x.lanes)))
                      : i;
    staging_of(l, x.matrix->element->id, x.scope, x.whole.rows * x.stride);
    for (uint32_t k = 0; k < x.length; k++)
        staging_store(l, at, x.scope, place_of(l, at, &x, lane, k), parts.x[k]);
    place_barrier(l, i, x.scope);
    LowerLines lines = lines_of(l, i, &x);
    SpvId matrix = staging_get_lines(l, i, x.matrix, &lines);
    place_barrier(l, i, x.scope);
    lower_note(l, i, "workgroup memory");
    build_replace(l, i, matrix);
}

static void put_matrix(Lower *l, SpvInst *i, const Conversion *x, SpvId matrix)
{
    SpvId first = part_is_first(l, i, x->matrix);
    SpvInst *at = first ? build_if(l, i, first) : i;
    LowerLines lines = lines_of(l, at, x);
    staging_of(l, x->matrix->element->id, x->scope, x->whole.rows * x->stride);
    staging_put_lines(l, at, matrix, &lines);
    place_barrier(l, i, x->scope);
}

static void extract(Lower *l, SpvInst *i)
{
    Conversion x;
    SpvId matrix = spv_operand(i, 0);
    if (!open_conversion(l, i, spv_type_of(l->m, matrix), spv_type(l->m, i->type), &x))
        return;
    Numbers parts = { x.matrix->element, NEW_ARRAY(l->scratch, SpvId, x.length), x.length };
    put_matrix(l, i, &x, matrix);
    SpvId lane = place_lane(l, i, x.scope);
    SpvId inside = 0, zero = spv_null_constant(l->m, x.matrix->element->id);
    if (x.lanes <
        place_lanes(l, x.scope)) { /* what those behind get is undefined; here it is zero */
        inside = build_less(l, i, lane, build_const(l, x.lanes));
        lane = build_min(l, i, lane, x.lanes - 1);
    }
    for (uint32_t k = 0; k < x.length; k++) {
        parts.x[k] =
            staging_load(l, i, x.matrix->element->id, x.scope, place_of(l, i, &x, lane, k));
        if (inside)
            parts.x[k] = build_select(l, i, inside, parts.x[k], zero);
    }
    place_barrier(l, i, x.scope);
    lower_note(l, i, "workgroup memory");
    build_replace(l, i, array_of(l, i, x.array, recast(l, i, parts, x.array->element)));
}

static void visit(Lower *l, SpvInst *i)
{
    switch (i->op) {
    case SpvOpBitCastArrayQCOM: bit_cast(l, i); return;
    case SpvOpExtractSubArrayQCOM: sub_array(l, i); return;
    case SpvOpCompositeConstructCoopMatQCOM: construct(l, i); return;
    case SpvOpCompositeExtractCoopMatQCOM: extract(l, i); return;
    default: return;
    }
}

void lower_qcom(Lower *l) { lower_each(l, visit); }
