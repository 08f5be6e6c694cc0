/* SPDX-License-Identifier: MIT
 *
 * deal: matrices made of elements. Where it is known who holds what, by those who do, each its own;
 * else any invocation makes any element, and they become a matrix by a load from workgroup memory.
 */
#include "lower/internal.h"

/* What becomes arrays does so by lower_khr's order, which is this one; and of PROFILE_TILES' tiles
 * each has its elements where the whole matrix would have them. */
bool deal_is_known(const Lower *l, const SpvType *matrix)
{
    uint32_t kind = lower_fate(l, matrix).kind, who = l->profile->ownership;
    return kind == FATE_ARRAY || (kind == FATE_STAYS && who != PROFILE_OPAQUE) ||
           (kind == FATE_TILES && who == PROFILE_TILES);
}

LowerDeal deal_open(Lower *l, SpvInst *at, const SpvType *type, uint32_t first)
{
    LowerDeal d = { .l = l,
                    .inst = at,
                    .type = type,
                    .first = first,
                    .known = deal_is_known(l, type) };
    if (!d.known)
        staging_of(l, type->element->id, type->scope, first + type->rows * type->cols);
    d.each = each_open(l, at, place_length(l, type));
    return d;
}

bool deal_next(LowerDeal *d)
{
    Lower *l = d->l;
    if (!each_next(&d->each))
        return false;
    d->at = d->each.at;
    d->one = 0;
    if (!place_is_even(l, d->type)) {
        if (d->known) {
            d->one = build_variable(l, d->at, d->type->element->id);
            build_store(l, d->at, d->one, spv_null_constant(l->m, d->type->element->id));
        }
        d->at = place_if_holds(l, d->at, d->type, d->each.index);
    }
    d->element = place_element(l, d->at, d->type, d->each.index);
    return true;
}

SpvId deal_get(LowerDeal *d, SpvId matrix, uint32_t first)
{
    Lower *l = d->l;
    const SpvType *t = spv_type_of(l->m, matrix);
    if (!deal_is_known(l, t))
        return staging_load(l, d->at, t->element->id, t->scope,
                            build_add(l, d->at, d->element.number, build_const(l, first)));
    SpvInst *at = d->each.at;
    d->each.at = d->at;
    SpvId value = each_get(&d->each, matrix, t->element->id);
    d->each.at = at;
    return value;
}

void deal_put(LowerDeal *d, SpvId value)
{
    Lower *l = d->l;
    if (!d->known) {
        staging_store(l, d->at, d->type->scope,
                      build_add(l, d->at, d->element.number, build_const(l, d->first)), value);
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
    if (d->known)
        return each_result(&d->each, d->type->id);
    place_barrier(d->l, d->inst, d->type->scope);
    SpvId matrix = staging_get_matrix(d->l, d->inst, d->type, d->first);
    place_barrier(d->l, d->inst, d->type->scope);
    return matrix;
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
