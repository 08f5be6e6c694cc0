/* SPDX-License-Identifier: MIT
 *
 * owner: who holds which element of a matrix, where a driver was asked. Bits of an invocation's
 * number and of its element's number flip bits of the row and of the column; what is answered
 * otherwise, or holds an element twice, is not taken.
 */
#include "lower/internal.h"

static uint32_t bits_of(uint32_t n) { return (uint32_t)__builtin_ctz(n); }

void owner_place(const LowerOwner *o, uint32_t lane, uint32_t element, uint32_t at[2])
{
    for (uint32_t side = 0; side < 2; side++) {
        at[side] = 0;
        for (uint32_t k = 0; k < OWNER_LANE_BITS; k++)
            at[side] ^= lane >> k & 1 ? o->lanes[side][k] : 0;
        for (uint32_t k = 0; k < OWNER_ELEMENT_BITS; k++)
            at[side] ^= element >> k & 1 ? o->elements[side][k] : 0;
    }
}

/* The table holds for all of them, and each element is there once. */
static bool holds(const LowerOwner *o, uint32_t lanes, const uint32_t *const answers[2])
{
    uint8_t seen[OWNER_MOST / 8] = { 0 };
    uint32_t length = o->rows * o->cols / lanes;
    for (uint32_t k = 0; k < lanes * length; k++) {
        uint32_t at[2];
        owner_place(o, k / length, k % length, at);
        if (at[0] != answers[0][k] || at[1] != answers[1][k] || at[0] >= o->rows ||
            at[1] >= o->cols)
            return false;
        uint32_t number = at[0] * o->cols + at[1];
        if (seen[number / 8] >> number % 8 & 1)
            return false;
        seen[number / 8] |= (uint8_t)(1 << number % 8);
    }
    return true;
}

bool owner_fit(LowerOwner *o, uint32_t lanes, const uint32_t *const answers[2])
{
    uint32_t size = o->rows * o->cols, length = lanes ? size / lanes : 0;
    if (!is_pow2(lanes) || !is_pow2(length) || size != lanes * length || size > OWNER_MOST ||
        bits_of(lanes) > OWNER_LANE_BITS || bits_of(length) > OWNER_ELEMENT_BITS || answers[0][0] ||
        answers[1][0])
        return false;
    for (uint32_t side = 0; side < 2; side++) {
        memset(o->lanes[side], 0, sizeof o->lanes[side]);
        memset(o->elements[side], 0, sizeof o->elements[side]);
        for (uint32_t k = 0; k < bits_of(lanes); k++)
            o->lanes[side][k] = (uint8_t)answers[side][length << k];
        for (uint32_t k = 0; k < bits_of(length); k++)
            o->elements[side][k] = (uint8_t)answers[side][1u << k];
    }
    return holds(o, lanes, answers);
}

bool owner_explains(const LowerOwner *o, uint32_t lanes, const uint32_t *matrix,
                    const uint32_t *answer)
{
    uint32_t length = o->rows * o->cols / lanes;
    for (uint32_t k = 0; k < lanes * length; k++) {
        uint32_t at[2];
        owner_place(o, k / length, k % length, at);
        if (answer[k] != matrix[at[0] * o->cols + at[1]])
            return false;
    }
    return true;
}

/* ---- of a kernel's matrices ------------------------------------------------------------------ */

const LowerOwner *lower_owner(const Lower *l, const SpvType *matrix)
{
    const LowerProfile *p = l->profile;
    LowerFate f = lower_fate(l, matrix);
    bool whole = l->width == p->subgroup_size && l->lanes == l->width;
    if (p->ownership != PROFILE_ASKED || f.kind == FATE_ARRAY || !whole ||
        matrix->scope != SpvScopeSubgroup)
        return NULL;
    for (uint32_t k = 0; k < p->n_owners; k++) {
        const LowerOwner *o = &p->owners[k];
        bool type = o->type == lower_type_of(matrix->element, false) ||
                    o->type == lower_type_of(matrix->element, true);
        if (type && o->use == matrix->use && o->rows == f.rows && o->cols == f.cols)
            return o;
    }
    return NULL;
}

bool lower_are_alike(const Lower *l, const SpvType *a, const SpvType *b)
{
    const LowerOwner *x = lower_owner(l, a), *y = lower_owner(l, b);
    if (!x || !y)
        return !x && !y && place_is_by_number(l, a) == place_is_by_number(l, b);
    return x->rows == y->rows && x->cols == y->cols &&
           !memcmp(x->lanes, y->lanes, sizeof x->lanes) &&
           !memcmp(x->elements, y->elements, sizeof x->elements);
}

static SpvId flip(Lower *l, SpvInst *at, SpvId a, SpvId b)
{
    SpvId zero = build_const(l, 0);
    return a == zero ? b : b == zero ? a : BUILD(l, at, SpvOpBitwiseXor, build_u32(l), a, b);
}

/* What the bits of a number flip: runs of bits that flip as many neighbours go together. */
static SpvId flipped(Lower *l, SpvInst *at, SpvId number, const uint8_t *by, uint32_t n)
{
    SpvId all = build_const(l, 0);
    for (uint32_t k = 0, run; k < n; k += run) {
        run = 1;
        if (!by[k])
            continue;
        while (k + run < n && is_pow2(by[k]) && by[k + run] == by[k] << run)
            run++;
        SpvId part = build_mod(l, at, build_div(l, at, number, 1u << k), 1u << run);
        all = flip(l, at, all, build_mul(l, at, part, build_const(l, by[k])));
    }
    return all;
}

LowerElement owner_element(Lower *l, SpvInst *at, const SpvType *matrix, SpvId e)
{
    const LowerOwner *o = lower_owner(l, matrix);
    uint32_t length = o->rows * o->cols / l->lanes, across = matrix->cols / o->cols;
    SpvId tile = build_div(l, at, e, length), in_tile = build_mod(l, at, e, length), to[2];
    SpvId lane = place_lane(l, at, matrix->scope);
    for (uint32_t side = 0; side < 2; side++)
        to[side] = flip(l, at, flipped(l, at, lane, o->lanes[side], OWNER_LANE_BITS),
                        flipped(l, at, in_tile, o->elements[side], OWNER_ELEMENT_BITS));
    LowerElement x;
    SpvId row = build_mul(l, at, build_div(l, at, tile, across), build_const(l, o->rows));
    SpvId column = build_mul(l, at, build_mod(l, at, tile, across), build_const(l, o->cols));
    x.row = build_add(l, at, to[0], row);
    x.column = build_add(l, at, to[1], column);
    return x;
}
