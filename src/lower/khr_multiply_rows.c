/* SPDX-License-Identifier: MIT
 *
 * khr_multiply_rows: multiply-adds whose subgroups have rows of A and of the result to themselves.
 *
 * Products with a B that is one number everywhere are sums of A's rows: nothing is staged.
 *
 * Tiles at the end of a tensor have rows behind it, which are all the same, and so has what is
 * computed of them row by row: in attention of a single token thirty of A's 32 rows. Where A may be
 * such a tile, a subgroup whose rows are like the last one takes the last one's sums.
 */
#include "lower/khr_multiply.h"

/* What the numbers of all lanes come to by an operation. */
static SpvId over_lanes(Lower *l, SpvInst *at, uint16_t op, SpvId type, SpvId number)
{
    SpvId subgroup = build_const(l, SpvScopeSubgroup);
    for (uint32_t bit = 1; bit < l->lanes; bit *= 2) {
        SpvId other = BUILD(l, at, SpvOpGroupNonUniformShuffleXor, type, subgroup, number,
                            build_const(l, bit));
        number = BUILD(l, at, op, type, number, other);
    }
    l->shuffles = true;
    return number;
}

/* ---- sums of rows ---------------------------------------------------------------------------- */

/* Where B is the same everywhere and a subgroup has whole rows of A and of the result. */
bool multiply_has_own_rows(const Lower *l, const LowerMultiply *x)
{
    LowerGrid a, d;
    return x->same && x->shares && l->profile->features & PROFILE_HAS_SHUFFLES &&
           is_pow2(l->lanes) && x->sum->bits == 32 && place_block(l, x->a, &a) &&
           place_block(l, x->d, &d) && a.rows == d.rows && a.columns * l->lanes == x->depth &&
           d.columns * l->lanes == x->d->cols;
}

/* A lane's products, then those of all lanes. */
void multiply_add_own_rows(Lower *l, const LowerMultiply *x)
{
    SpvInst *at = x->inst;
    SpvId type = x->sum->id;
    uint16_t add = x->sum->kind == SPV_FLOAT ? SpvOpFAdd : SpvOpIAdd;
    uint32_t columns = x->depth / l->lanes;
    SpvId same = multiply_widen(l, at, x, x->b->element, x->sign_b, x->same);
    for (uint32_t row = 0; row < x->grid.rows; row++) {
        SpvId sum = spv_null_constant(l->m, type);
        for (uint32_t k = 0; k < columns; k++) {
            uint32_t e = row * columns + k;
            SpvId own =
                BUILD(l, at, SpvOpCompositeExtract, x->a->element->id, spv_operand(x->inst, 0), e);
            own = multiply_widen(l, at, x, x->a->element, x->sign_a, own);
            sum = multiply_add(l, at, x, sum, (SpvId[]){ own, same });
        }
        sum = over_lanes(l, at, add, type, sum);
        build_store(l, at, multiply_sum(l, at, x, build_const(l, row * x->grid.columns)), sum);
    }
}

/* ---- rows that are the last one -------------------------------------------------------------- */

/* Where subgroups have rows of the result to themselves because these are reduced, as in attention,
 * and all of K is staged. (Products whose tiles fit have few such rows; the tests cost an H200 a
 * quarter of its time.) */
bool multiply_may_repeat(const Lower *l, const LowerMultiply *x)
{
    LowerGrid g;
    return l->clips && x->shares && !x->shuffles && x->slab == x->depth && is_pow2(l->lanes) &&
           x->depth % l->lanes == 0 && place_has_whole_rows(l, x->d) && place_block(l, x->d, &g) &&
           g.rows < x->d->rows;
}

/* 1 where a lane's k-th of so many elements of the block's rows is another than in the last row. */
static SpvId is_unlike(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId first_row, SpvId k)
{
    uint32_t runs = x->depth / l->lanes;
    SpvId run = build_mul(l, at, build_mod(l, at, k, runs), build_const(l, l->lanes));
    SpvId column = build_add(l, at, run, place_lane(l, at, SpvScopeSubgroup));
    SpvId row = build_add(l, at, first_row, build_div(l, at, k, runs));
    SpvId own = multiply_fetch_a(l, at, x, column, 0, row);
    SpvId last = multiply_fetch_a(l, at, x, column, 0, build_const(l, x->d->rows - 1));
    uint16_t unlike = x->sum->kind == SPV_FLOAT ? SpvOpFUnordNotEqual : SpvOpINotEqual;
    SpvId is = BUILD(l, at, unlike, build_bool(l), own, last);
    return build_select(l, at, is, build_const(l, 1), build_const(l, 0));
}

/* Whether a number of any lane is not 0. */
static SpvId is_any(Lower *l, SpvInst *at, SpvId number)
{
    number = over_lanes(l, at, SpvOpBitwiseOr, build_u32(l), number);
    return BUILD(l, at, SpvOpINotEqual, build_bool(l), number, build_const(l, 0));
}

/* Whether any of the block's rows is another than the last one: most that are show it in the first
 * of their elements. */
static SpvId is_other(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId first_row)
{
    SpvInst *body;
    SpvId k, number = build_variable(l, at, build_u32(l));
    SpvId some = build_variable(l, at, build_bool(l));
    SpvId first = is_unlike(l, at, x, first_row, build_const(l, 0));
    SpvId unlike = is_any(l, at, first);
    build_store(l, at, some, unlike);
    build_store(l, at, number, first);
    SpvInst *rest = build_if(l, at, BUILD(l, at, SpvOpLogicalNot, build_bool(l), unlike));
    build_loop(l, rest, x->grid.rows * (x->depth / l->lanes), &body, &k);
    SpvId more = is_unlike(l, body, x, first_row, k);
    SpvId all = BUILD(l, body, SpvOpBitwiseOr, build_u32(l),
                      build_load(l, body, build_u32(l), number), more);
    build_store(l, body, number, all);
    all = build_load(l, rest, build_u32(l), number);
    build_store(l, rest, some, is_any(l, rest, all));
    return build_load(l, at, build_bool(l), some);
}

static SpvId last_pointer(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId e)
{
    LowerElement p = place_element(l, at, x->d, e);
    return build_element(l, at, SpvStorageClassWorkgroup, x->sum->id, x->last, p.column);
}

/* The products, where rows may be the last one. Behind it all have their sums; nobody waits for the
 * last row's to be read, since all meet once more before they are written again. */
void multiply_add_unlike(Lower *l, SpvInst *at, const LowerMultiply *x)
{
    uint32_t first_of_last = (x->grid.rows - 1) * x->grid.columns;
    SpvId row = place_element(l, at, x->d, build_const(l, 0)).row;
    SpvId last_row = build_const(l, x->d->rows - x->grid.rows);
    SpvId is_last = BUILD(l, at, SpvOpIEqual, build_bool(l), row, last_row);
    SpvId own = build_both(l, at, SpvOpLogicalOr, is_last, is_other(l, at, x, row));
    multiply_add_all(l, build_if(l, at, own), x);
    LowerEach e = each_open(l, build_if(l, at, is_last), x->grid.columns);
    while (each_next(&e)) {
        SpvId number = build_add(l, e.at, e.index, build_const(l, first_of_last));
        SpvId sum = build_load(l, e.at, x->sum->id, multiply_sum(l, e.at, x, number));
        staging_write(l, e.at, last_pointer(l, e.at, x, number), sum);
    }
    place_barrier(l, at, x->d->scope);
    SpvId taken = BUILD(l, at, SpvOpLogicalNot, build_bool(l), own);
    e = each_open(l, build_if(l, at, taken), place_length(l, x->d));
    while (each_next(&e)) {
        SpvId sum = staging_read(l, e.at, x->sum->id, last_pointer(l, e.at, x, e.index));
        build_store(l, e.at, multiply_sum(l, e.at, x, e.index), sum);
    }
}
