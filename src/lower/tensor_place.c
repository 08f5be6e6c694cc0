/* SPDX-License-Identifier: MIT
 *
 * tensor_place: SPV_NV_tensor_addressing's pseudo-code for one element, with its types: an index is
 * a u32 and wraps, a coordinate an s32. Its lines for mirrored repetition say `dim` where the
 * layout's dimension is meant.
 */
#include "lower/tensor.h"

/* first <= x < first + count, by u32 that wraps. */
static SpvId is_out(Lower *l, SpvInst *at, SpvId x, SpvId first, SpvId count)
{
    SpvId below = build_less(l, at, x, first);
    SpvId above = BUILD(l, at, SpvOpUGreaterThanEqual, build_bool(l), x,
                        BUILD(l, at, SpvOpIAdd, build_u32(l), first, count));
    return build_both(l, at, SpvOpLogicalOr, below, above);
}

static SpvId remainder_of(Lower *l, SpvInst *at, SpvId *x, SpvId by)
{
    SpvId rest = BUILD(l, at, SpvOpUMod, build_u32(l), *x, by);
    *x = BUILD(l, at, SpvOpUDiv, build_u32(l), *x, by);
    return rest;
}

static SpvId from_matrix(Lower *l, SpvInst *at, const LowerTensorAccess *a, SpvId row, SpvId column,
                         SpvId *clipped)
{
    uint32_t cols = lower_part(l, a->matrix).columns;
    SpvId width = build_const(l, cols);
    *clipped = 0;
    if (a->view) {
        const SpvId *clip = a->v + VIEW_CLIP * a->of_view.dims;
        *clipped =
            build_both(l, at, SpvOpLogicalOr, is_out(l, at, row, clip[CLIP_ROW], clip[CLIP_ROWS]),
                       is_out(l, at, column, clip[CLIP_COLUMN], clip[CLIP_COLUMNS]));
        row = build_sub(l, at, row, clip[CLIP_ROW]);
        column = build_sub(l, at, column, clip[CLIP_COLUMN]);
        width = build_min(l, at, clip[CLIP_COLUMNS], cols);
    }
    return build_add(l, at, build_mul(l, at, row, width), column);
}

static SpvId through_view(Lower *l, SpvInst *at, const LowerTensorAccess *a, SpvId index)
{
    const LowerTensorType *t = &a->of_view;
    SpvId coordinate[TENSOR_MAX_DIMENSIONS], stride = build_const(l, 1), sum = build_const(l, 0);
    for (uint32_t k = t->dims; k-- > 0;) {
        uint32_t to = t->order[k];
        SpvId size = t->has_sizes ? a->v[VIEW_SIZE * t->dims + to]
                                  : a->x[TENSOR_SPAN * a->of_layout.dims + to];
        coordinate[to] = remainder_of(l, at, &index, size);
    }
    for (uint32_t k = t->dims; k-- > 0;) {
        if (t->has_sizes)
            stride = a->v[VIEW_STRIDE * t->dims + k];
        sum = build_add(l, at, sum, build_mul(l, at, coordinate[k], stride));
        if (!t->has_sizes && k)
            stride = build_mul(l, at, stride, a->x[TENSOR_SPAN * a->of_layout.dims + k]);
    }
    return sum;
}

/* A signed number modulo a positive one. Not OpSMod: where an operand is negative, what that gives
 * is undefined in Vulkan without VK_KHR_maintenance8, and is not the same on all devices. */
static SpvId modulo(Lower *l, SpvInst *at, SpvId c, SpvId n)
{
    SpvId u32 = build_u32(l);
    SpvId negative = BUILD(l, at, SpvOpSLessThan, build_bool(l), c, build_const(l, 0));
    SpvId away = build_select(l, at, negative, BUILD(l, at, SpvOpNot, u32, c), c);
    SpvId rest = BUILD(l, at, SpvOpUMod, u32, away, n);
    SpvId from_end = build_sub(l, at, build_sub(l, at, n, build_const(l, 1)), rest);
    return build_select(l, at, negative, from_end, rest);
}

/* A coordinate that may be outside, brought inside as the clamp mode says. */
static SpvId wrap(Lower *l, SpvInst *at, const LowerTensorAccess *a, SpvId c, SpvId size)
{
    SpvId one = build_const(l, 1), zero = build_const(l, 0), bool_type = build_bool(l);
    SpvId last = BUILD(l, at, SpvOpISub, build_u32(l), size, one);
    SpvId negative = BUILD(l, at, SpvOpSLessThan, bool_type, c, zero);
    switch (a->of_layout.clamp) {
    case SpvTensorClampModeClampToEdge:
        c = build_select(l, at, build_less(l, at, c, last), c, last);
        return build_select(l, at, negative, zero, c);
    case SpvTensorClampModeRepeat: return modulo(l, at, c, size);
    default: break;
    }
    /* Negative numbers mirror positive ones. No period of more than 32 bits is as long as a number
     * is large, nor one that is all ones. */
    SpvId period = build_add(l, at, last, last), wraps = build_less(l, at, period, last);
    SpvId single = BUILD(l, at, SpvOpIEqual, bool_type, last, zero);
    period = build_select(l, at, single, one, period);
    period = build_select(l, at, wraps, build_const(l, UINT32_MAX), period);
    c = build_select(l, at, negative, build_sub(l, at, zero, c), c);
    c = BUILD(l, at, SpvOpUMod, build_u32(l), c, period);
    SpvId back = BUILD(l, at, SpvOpISub, build_u32(l), period, c);
    return build_select(l, at, BUILD(l, at, SpvOpUGreaterThanEqual, bool_type, c, size), back, c);
}

static SpvId is_inside(Lower *l, SpvInst *at, SpvId c, SpvId size)
{
    SpvId zero = build_const(l, 0), b = build_bool(l);
    SpvId positive = BUILD(l, at, SpvOpSGreaterThanEqual, b, c, zero);
    return build_both(l, at, SpvOpLogicalAnd, positive, build_less(l, at, c, size));
}

/* Along each dimension from where the slice begins. Where two of them are the matrix' rows and
 * columns, what goes through a number and back would be the same. */
static void find_span(Lower *l, SpvInst *at, const LowerTensorAccess *a, const SpvId where[2],
                      LowerTensorPlace *p, SpvId *span)
{
    uint32_t along[2], dims = a->of_layout.dims;
    if (lower_tensor_dimensions(l, a, lower_part(l, a->matrix), along)) {
        for (uint32_t k = 0; k < dims; k++)
            span[k] = k == along[0] ? where[0] : k == along[1] ? where[1] : build_const(l, 0);
        return;
    }
    SpvId index = from_matrix(l, at, a, where[0], where[1], &p->clipped);
    if (a->view)
        index = through_view(l, at, a, index);
    for (uint32_t k = dims; k-- > 0;)
        span[k] = k ? remainder_of(l, at, &index, a->x[TENSOR_SPAN * dims + k])
                    : BUILD(l, at, SpvOpUMod, build_u32(l), index, a->x[TENSOR_SPAN * dims]);
}

static void through_layout(Lower *l, SpvInst *at, const LowerTensorAccess *a, const SpvId *span,
                           LowerTensorPlace *p)
{
    uint32_t dims = a->of_layout.dims, mode = a->of_layout.clamp;
    bool tests = mode == SpvTensorClampModeConstant || (a->store && mode);
    p->index = build_const(l, 0);
    for (uint32_t k = 0; k < dims; k++) {
        SpvId size = a->x[TENSOR_SIZE * dims + k], block = a->x[TENSOR_BLOCK * dims + k];
        SpvId c = BUILD(l, at, SpvOpIAdd, build_u32(l), span[k], a->x[TENSOR_OFFSET * dims + k]);
        if (tests)
            p->inside = build_both(l, at, SpvOpLogicalAnd, p->inside, is_inside(l, at, c, size));
        else if (mode != SpvTensorClampModeUndefined)
            c = wrap(l, at, a, c, size);
        p->block[k] = c;
        p->in_block[k] = a->blocks ? remainder_of(l, at, &p->block[k], block) : build_const(l, 0);
        SpvId stride = a->x[TENSOR_STRIDE * dims + k];
        p->index = build_add(l, at, p->index, build_mul(l, at, p->block[k], stride));
    }
}

LowerTensorPlace lower_tensor_place(Lower *l, SpvInst *at, const LowerTensorAccess *a, SpvId row,
                                    SpvId column)
{
    LowerTensorPlace p = { 0 };
    SpvId span[TENSOR_MAX_DIMENSIONS];
    find_span(l, at, a, (SpvId[]){ row, column }, &p, span);
    through_layout(l, at, a, span, &p);
    if (p.clipped)
        p.inside = build_both(l, at, SpvOpLogicalAnd, p.inside,
                              BUILD(l, at, SpvOpLogicalNot, build_bool(l), p.clipped));
    return p;
}
