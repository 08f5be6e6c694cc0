/* SPDX-License-Identifier: MIT
 *
 * deal: matrices made of elements. Where it is known who holds what, by those who do, each its own;
 * else any invocation makes any element, and they become a matrix by a load from workgroup memory,
 * a window (window.c) after the other.
 */
#include "lower/internal.h"

/* What becomes arrays does so by lower_khr's order, which is this one; and of PROFILE_TILES' tiles
 * each has its elements where the whole matrix would have them. */
bool deal_is_known(const Lower *l, const SpvType *matrix)
{
    uint32_t kind = lower_fate(l, matrix).kind, who = l->profile->ownership;
    return kind == FATE_ARRAY || who == PROFILE_TILES ||
           (kind == FATE_STAYS && who == PROFILE_LINEAR) || lower_owner(l, matrix);
}

static const SpvType *source(const LowerDeal *d, uint32_t k)
{
    return spv_type_of(d->l->m, d->what.from[k]);
}

/* Where some are staged, so are those that are held in another order than row by row: a window's
 * elements would be anywhere among them. */
static bool is_dealt_by_number(const Lower *l, const SpvType *t)
{
    return deal_is_known(l, t) && place_is_by_number(l, t);
}

/* Its elements go by way of the staging. */
static bool is_staged(const LowerDeal *d, uint32_t k)
{
    return !d->known && (d->what.transposed || !is_dealt_by_number(d->l, source(d, k)));
}

static bool makes_staged(const LowerDeal *d)
{
    return !d->known && !d->what.used_only && !is_dealt_by_number(d->l, d->type);
}

/* Where the k-th source begins in its type's staging: behind others of that type. What is made of
 * an element is put where its first source of the type was. */
static uint32_t place_of(const LowerDeal *d, uint32_t k)
{
    uint32_t before = 0;
    for (uint32_t j = 0; j < k; j++)
        before += is_staged(d, j) && source(d, j)->element == source(d, k)->element;
    return d->what.first + before * d->window.rows * d->window.cols;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Windows are made of whole tiles of t. */
static void count_in(LowerDeal *d, const SpvType *t, bool transposed)
{
    LowerTiles tiles = lower_tiles(d->l, t);
    LowerWindow *w = &d->window;
    w->tall = lower_multiple(w->tall, transposed ? tiles.wide : tiles.tall);
    w->wide = lower_multiple(w->wide, transposed ? tiles.tall : tiles.wide);
    w->bytes += (uint32_t)lower_size(d->l, t->element);
}

static void choose_window(LowerDeal *d)
{
    LowerWindow *w = &d->window;
    uint32_t lanes = place_lanes(d->l, d->type->scope);
    bool staged = makes_staged(d), known = !d->what.used_only && !staged;
    *w =
        (LowerWindow){ .all_rows = d->type->rows, .all_cols = d->type->cols, .tall = 1, .wide = 1 };
    if (staged)
        count_in(d, d->type, false);
    for (uint32_t k = 0; k < d->what.n_from; k++) {
        if (is_staged(d, k))
            count_in(d, source(d, k), d->what.transposed);
        known |= !is_staged(d, k);
    }
    if (known) { /* a lane's elements of a window are some of its own that follow one another */
        w->wide = w->all_cols;
        if (w->tall * w->wide % lanes)
            w->tall = w->all_rows;
    }
    window_open(d->l, w, d->type->scope);
}

static void hold(LowerDeal *d)
{
    Lower *l = d->l;
    for (uint32_t k = 0; k < d->what.n_from; k++) {
        if (is_staged(d, k))
            continue;
        SpvId v = build_variable(l, d->inst, source(d, k)->id);
        build_store(l, d->inst, v, d->what.from[k]);
        vec_push(l->scratch, &d->held, d->what.from[k]);
        vec_push(l->scratch, &d->held, v);
    }
    if (d->what.used_only)
        return;
    if (makes_staged(d)) {
        LowerTiles t = lower_tiles(l, d->type);
        d->parts = NEW_ARRAY(l->scratch, SpvId, t.rows * t.cols);
        return;
    }
    d->out = build_variable(l, d->inst, d->type->id);
    build_store(l, d->inst, d->out, spv_null_constant(l->m, d->type->id));
}

static void open_window(LowerDeal *d)
{
    Lower *l = d->l;
    const LowerWindow *w = &d->window;
    uint32_t lanes = place_lanes(l, d->type->scope), size = w->rows * w->cols;
    bool staged = false;
    for (uint32_t k = 0; k < d->what.n_from; k++) {
        if (!is_staged(d, k))
            continue;
        window_put(l, d->inst, w, d->what.from[k], place_of(d, k), d->what.transposed);
        staged = true;
    }
    if (staged)
        place_barrier(l, d->inst, d->type->scope);
    if (makes_staged(d))
        staging_of(l, d->type->element->id, d->type->scope, d->what.first + size);
    d->each = each_open_part(l, d->inst, (size + lanes - 1) / lanes,
                             d->type->rows * d->type->cols / lanes);
}

static void close_window(LowerDeal *d)
{
    Lower *l = d->l;
    place_barrier(l, d->inst, d->type->scope);
    if (!makes_staged(d))
        return;
    LowerTiles t = lower_tiles(l, d->type);
    window_get(l, d->inst, &d->window, &t, d->what.first, d->parts);
    place_barrier(l, d->inst, d->type->scope);
}

/* ---- elements -------------------------------------------------------------------------------- */

LowerDeal deal_open(Lower *l, SpvInst *at, const SpvType *type, const LowerDealt *what)
{
    LowerDeal d = { .l = l, .inst = at, .type = type, .what = *what };
    bool looped = lower_owner(l, type) && place_length(l, type) > UNROLLED;
    d.known = !what->transposed && deal_is_known(l, type) && !(what->seldom && looped);
    for (uint32_t k = 0; k < what->n_from; k++)
        d.known &= deal_is_known(l, source(&d, k)) && lower_are_alike(l, source(&d, k), type);
    if (d.known) {
        d.each = each_open(l, at, place_length(l, type));
        return d;
    }
    choose_window(&d);
    hold(&d);
    open_window(&d);
    return d;
}

static bool next_in_window(LowerDeal *d)
{
    Lower *l = d->l;
    const LowerWindow *w = &d->window;
    const uint32_t size[2] = { w->rows, w->cols };
    while (!each_next(&d->each)) {
        close_window(d);
        if (!window_next(&d->window))
            return false;
        open_window(d);
    }
    uint32_t scope = d->type->scope;
    d->at = d->each.at;
    if (w->rows * w->cols % place_lanes(l, scope))
        d->at = build_if(l, d->at, place_holds(l, d->at, scope, w->rows * w->cols, d->each.index));
    d->element = place_dealt(l, d->at, scope, size, d->each.index);
    d->element.row = build_add(l, d->at, d->element.row, build_const(l, w->row));
    d->element.column = build_add(l, d->at, d->element.column, build_const(l, w->col));
    return true;
}

bool deal_next(LowerDeal *d)
{
    Lower *l = d->l;
    if (!d->known)
        return next_in_window(d);
    if (!each_next(&d->each))
        return false;
    d->at = d->each.at;
    d->one = 0;
    if (!place_is_even(l, d->type)) {
        if (!d->what.used_only) {
            d->one = build_variable(l, d->at, d->type->element->id);
            build_store(l, d->at, d->one, spv_null_constant(l->m, d->type->element->id));
        }
        d->at = place_if_holds(l, d->at, d->type, d->each.index);
    }
    d->element = place_element(l, d->at, d->type, d->each.index);
    return true;
}

/* The lane's element in a variable of a whole matrix that it holds some of. */
static SpvId whole_element(LowerDeal *d, const SpvType *t, SpvId variable)
{
    Lower *l = d->l;
    uint32_t before = d->window.row * d->window.all_cols / place_lanes(l, d->type->scope);
    SpvId e = build_add(l, d->at, d->each.index, build_const(l, before));
    return build_element(l, d->at, SpvStorageClassFunction, t->element->id, variable, e);
}

SpvId deal_get(LowerDeal *d, uint32_t k)
{
    Lower *l = d->l;
    const SpvType *t = source(d, k);
    SpvId matrix = d->what.from[k];
    if (d->known) {
        SpvInst *at = d->each.at;
        d->each.at = d->at;
        SpvId value = each_get(&d->each, matrix, t->element->id);
        d->each.at = at;
        return value;
    }
    if (is_staged(d, k))
        return staging_load(l, d->at, t->element->id, t->scope,
                            build_add(l, d->at, d->element.number, build_const(l, place_of(d, k))));
    uint32_t held = 0;
    while (d->held.data[held] != matrix)
        held += 2;
    return build_load(l, d->at, t->element->id, whole_element(d, t, d->held.data[held + 1]));
}

void deal_put(LowerDeal *d, SpvId value)
{
    Lower *l = d->l;
    if (d->parts) {
        staging_store(l, d->at, d->type->scope,
                      build_add(l, d->at, d->element.number, build_const(l, d->what.first)), value);
        return;
    }
    if (!d->known) {
        build_store(l, d->at, whole_element(d, d->type, d->out), value);
        return;
    }
    if (d->one) {
        build_store(l, d->at, d->one, value);
        value = build_load(l, d->each.at, d->type->element->id, d->one);
    }
    each_put(&d->each, d->type->id, d->type->element->id, value);
}

SpvId deal_close(LowerDeal *d)
{
    Lower *l = d->l;
    if (d->known)
        return each_result(&d->each, d->type->id);
    if (d->out)
        return build_load(l, d->inst, d->type->id, d->out);
    LowerTiles t = lower_tiles(l, d->type);
    return t.type == d->type->id
               ? d->parts[0]
               : build(l, d->inst, SpvOpCompositeConstruct, d->type->id, d->parts, t.rows * t.cols);
}

SpvId deal_convert(Lower *l, SpvInst *at, const SpvType *to, SpvId value)
{
    const SpvType *from = spv_type_of(l->m, value);
    if (from->id == to->id)
        return value;
    if (from->kind == SPV_FLOAT)
        return BUILD(l, at, SpvOpFConvert, to->id, value);
    if (from->bits == to->bits)
        return BUILD(l, at, SpvOpBitcast, to->id, value);
    if (from->is_signed) /* of a signed result: SConvert extends by what it comes from */
        return BUILD(l, at, SpvOpSConvert, to->id, value);
    if (!to->is_signed)
        return BUILD(l, at, SpvOpUConvert, to->id, value);
    SpvId wide = BUILD(l, at, SpvOpUConvert, spv_int_type(l->m, to->bits, false), value);
    return BUILD(l, at, SpvOpBitcast, to->id, wide);
}
