/* SPDX-License-Identifier: MIT
 *
 * reduce_held: reductions where it is known who holds which element, and each bit of an
 * invocation's number and of its element's leads to another row or to another column, not to both.
 * An invocation combines those of its rows (of its columns) that it has itself; others that differ
 * from it in bits of their number have more of them, and they exchange what they have by shuffles.
 */
#include "lower/internal.h"

enum { MOST_HELD = 256 }; /* elements */

/* How an invocation holds a matrix: of each tile some rows, and of each the same columns. */
typedef struct Held {
    LowerOwner owner;
    uint32_t own[2];                            /* rows, columns that are the subgroup's */
    uint32_t bits[2][OWNER_ELEMENT_BITS], n[2]; /* of an element's number, by side; how many */
    uint32_t lanes[2];                          /* bits of an invocation's: a mask */
    uint32_t all[2];                            /* rows, columns held of these */
    uint32_t across, length;                    /* tiles in a row of them; elements in one */
} Held;

typedef struct HeldReduction {
    Lower *l;
    SpvInst *at;
    SpvId combine;
    const SpvType *from, *to;
    Held of, by;        /* `from` and `to` */
    bool rows, columns; /* what is reduced: a row's elements, a column's */
} HeldReduction;

/* ---- who holds what -------------------------------------------------------------------------- */

static uint32_t log2_of(uint32_t n) { return (uint32_t)__builtin_ctz(n); }

/* PROFILE_TILES' lanes and elements. */
static bool tiles_owner(const Lower *l, const SpvType *t, LowerOwner *o)
{
    static const LowerOwner tiles[] = {
        { .rows = 8,
          .cols = 8,
          .lanes = { { 0, 0, 1, 2, 4 }, { 2, 4 } },
          .elements = { { 0 }, { 1 } } },
        { .rows = 16,
          .cols = 16,
          .lanes = { { 0, 0, 1, 4, 8 }, { 4, 8 } },
          .elements = { { 0, 0, 2 }, { 1, 2 } } },
    };
    uint32_t size = tiles_size(t->rows, t->cols);
    if (!size || l->lanes != 32 || t->scope != SpvScopeSubgroup || lower_is_array(l, t))
        return false;
    *o = tiles[size == 16];
    return true;
}

/* The rows and columns that a subgroup has by itself: all of its own matrix, of a workgroup's a
 * block. False: it has nothing of the kind. */
static bool own_part(const Lower *l, const SpvType *t, uint32_t own[2])
{
    LowerGrid g;
    own[0] = t->rows;
    own[1] = t->cols;
    if (t->scope == SpvScopeSubgroup)
        return true;
    if (!place_block(l, t, &g))
        return false;
    own[0] = g.rows;
    own[1] = g.columns * l->lanes;
    return true;
}

/* One after the other, by rows: so is a block. */
static bool numbered_owner(const Lower *l, const SpvType *t, const uint32_t own[2], LowerOwner *o)
{
    uint32_t n = own[0] * own[1], wide = log2_of(own[1]), lanes = log2_of(l->lanes);
    bool numbered = t->scope != SpvScopeSubgroup || place_is_by_number(l, t);
    bool even = is_pow2(own[0]) && is_pow2(own[1]) && is_pow2(l->lanes) && n >= l->lanes &&
                MAX(own[0], own[1]) <= 256 && n / l->lanes <= MOST_HELD;
    if (!even || !numbered || !deal_is_known(l, t))
        return false;
    *o = (LowerOwner){ .rows = own[0], .cols = own[1] };
    for (uint32_t k = 0; 1u << k < n; k++) {
        uint8_t *to = k < lanes ? &o->lanes[k < wide][k] : &o->elements[k < wide][k - lanes];
        *to = (uint8_t)(k < wide ? 1u << k : 1u << (k - wide));
    }
    return true;
}

static bool find_owner(const Lower *l, const SpvType *t, const uint32_t own[2], LowerOwner *o)
{
    const LowerOwner *asked = lower_owner(l, t);
    if (asked)
        *o = *asked;
    return asked || (l->profile->ownership == PROFILE_TILES ? tiles_owner(l, t, o)
                                                            : numbered_owner(l, t, own, o));
}

/* False: a bit leads to another row and another column. */
static bool find_held(const Lower *l, const SpvType *t, Held *h)
{
    *h = (Held){ 0 };
    LowerOwner *o = &h->owner;
    if (!own_part(l, t, h->own) || !find_owner(l, t, h->own, o))
        return false;
    h->length = o->rows * o->cols / l->lanes;
    h->across = h->own[1] / o->cols;
    for (uint32_t k = 0; 1u << k < l->lanes; k++) {
        if (o->lanes[0][k] && o->lanes[1][k])
            return false;
        h->lanes[o->lanes[1][k] != 0] |= 1u << k;
    }
    for (uint32_t k = 0; 1u << k < h->length; k++) {
        uint32_t side = o->elements[1][k] != 0;
        if (side && o->elements[0][k])
            return false;
        h->bits[side][h->n[side]++] = k;
    }
    h->all[0] = h->own[0] / o->rows << h->n[0];
    h->all[1] = h->across << h->n[1];
    return h->all[0] * h->all[1] <= MOST_HELD;
}

/* The two hold the same rows (columns): by lane, and in the same order. */
static bool hold_alike(const Held *a, const Held *b, uint32_t side)
{
    const LowerOwner *x = &a->owner, *y = &b->owner;
    bool same = (side ? x->cols == y->cols : x->rows == y->rows) && a->n[side] == b->n[side] &&
                !memcmp(x->lanes[side], y->lanes[side], sizeof x->lanes[side]);
    for (uint32_t k = 0; same && k < a->n[side]; k++)
        same = x->elements[side][a->bits[side][k]] == y->elements[side][b->bits[side][k]];
    return same;
}

/* The number of the element in the row and the column that are so many-th of those held. */
static uint32_t element_at(const Held *h, const uint32_t place[2])
{
    uint32_t e = 0, tile[2];
    for (uint32_t side = 0; side < 2; side++) {
        tile[side] = place[side] >> h->n[side];
        for (uint32_t k = 0; k < h->n[side]; k++)
            e |= (place[side] >> k & 1) << h->bits[side][k];
    }
    return (tile[0] * h->across + tile[1]) * h->length + e;
}

/* ---- combining ------------------------------------------------------------------------------- */

/* A pointer to it in a variable. */
static SpvId element_of(const HeldReduction *x, const Held *h, SpvId matrix, uint32_t row,
                        uint32_t column)
{
    uint32_t e = element_at(h, (uint32_t[]){ row, column });
    return build_element(x->l, x->at, SpvStorageClassFunction, x->from->element->id, matrix,
                         build_const(x->l, e));
}

static SpvId combined(const HeldReduction *x, SpvId a, SpvId b)
{
    SpvId type = x->from->element->id;
    return a ? BUILD(x->l, x->at, SpvOpFunctionCall, type, x->combine, a, b) : b;
}

/* The value of the lane whose number differs in that bit. Numbers of other sizes than 32 bits are
 * shuffled only with a feature of their own. */
static SpvId shuffled(const HeldReduction *x, SpvId value, uint32_t bit)
{
    Lower *l = x->l;
    const SpvType *t = x->from->element;
    bool small = t->bits < 32 && l->profile->ownership != PROFILE_TILES,
         real = t->kind == SPV_FLOAT;
    uint16_t op = real ? SpvOpFConvert : t->is_signed ? SpvOpSConvert : SpvOpUConvert;
    SpvId type = !small ? t->id
                 : real ? spv_float_type(l->m, 32)
                        : spv_int_type(l->m, 32, t->is_signed);
    if (small)
        value = BUILD(l, x->at, op, type, value);
    value = BUILD(l, x->at, SpvOpGroupNonUniformShuffleXor, type, build_const(l, SpvScopeSubgroup),
                  value, build_const(l, bit));
    return small ? BUILD(l, x->at, op, t->id, value) : value;
}

/* With the values of the lanes whose numbers differ in those bits. */
static SpvId exchanged(const HeldReduction *x, SpvId value, uint32_t bits)
{
    for (uint32_t bit = 1; bit <= bits; bit *= 2)
        if (bits & bit)
            value = combined(x, value, shuffled(x, value, bit));
    x->l->shuffles |= bits != 0;
    return value;
}

/* By the lane's rows (one where columns are reduced) and columns. */
static SpvId *reduce_elements(const HeldReduction *x, SpvId value)
{
    Lower *l = x->l;
    const Held *h = &x->of;
    uint32_t tall = h->all[0], wide = h->all[1];
    SpvId *sums = NEW_ARRAY(l->scratch, SpvId, tall * wide);
    SpvId matrix = build_variable(l, x->at, x->from->id), element = x->from->element->id;
    build_store(l, x->at, matrix, value);
    uint32_t down = x->columns ? tall : 1, across = x->rows ? wide : 1;
    for (uint32_t r = 0; r < tall; r++)
        for (uint32_t c = 0; c < wide; c++) {
            SpvId *sum = &sums[(x->columns ? 0 : r * (x->rows ? 1 : wide)) + (x->rows ? 0 : c)];
            SpvId p = element_of(x, h, matrix, r, c);
            *sum = combined(x, *sum, build_load(l, x->at, element, p));
        }
    for (uint32_t k = 0; k < tall / down * (wide / across); k++)
        sums[k] =
            exchanged(x, sums[k], (x->rows ? h->lanes[1] : 0) | (x->columns ? h->lanes[0] : 0));
    return sums;
}

/* What all subgroups' come to, by way of workgroup memory: each lane takes as many of them as there
 * are for so many lanes. */
static SpvId combine_blocks(const HeldReduction *x, SpvId value)
{
    Lower *l = x->l;
    SpvId element = x->from->element->id, lane = place_lane(l, x->at, SpvScopeSubgroup), all = 0;
    uint32_t lanes = MIN(l->lanes, l->subgroups);
    staging_of(l, element, SpvScopeWorkgroup, l->subgroups);
    SpvInst *one = build_if(l, x->at, build_less(l, x->at, lane, build_const(l, 1)));
    staging_store(l, one, SpvScopeWorkgroup, place_subgroup(l, one), value);
    place_barrier(l, x->at, SpvScopeWorkgroup);
    for (uint32_t k = 0; k < l->subgroups; k += lanes) {
        SpvId number = build_add(l, x->at, build_mod(l, x->at, lane, lanes), build_const(l, k));
        all = combined(x, all, staging_load(l, x->at, element, SpvScopeWorkgroup, number));
    }
    all = exchanged(x, all, lanes - 1);
    place_barrier(l, x->at, SpvScopeWorkgroup);
    return all;
}

static SpvId spread(const HeldReduction *x, const SpvId *sums)
{
    Lower *l = x->l;
    SpvId made = build_variable(l, x->at, x->to->id);
    uint32_t tall = x->by.all[0], wide = x->by.all[1];
    for (uint32_t r = 0; r < tall; r++)
        for (uint32_t c = 0; c < wide; c++) {
            uint32_t from = (x->columns ? 0 : r * (x->rows ? 1 : wide)) + (x->rows ? 0 : c);
            build_store(l, x->at, element_of(x, &x->by, made, r, c), sums[from]);
        }
    return build_load(l, x->at, x->to->id, made);
}

static bool may_shuffle(const Lower *l, const SpvType *element)
{
    const LowerProfile *p = l->profile;
    bool has = p->features & PROFILE_HAS_SHUFFLES && element->bits <= 32 &&
               l->width <= p->max_subgroup_size;
    return p->ownership == PROFILE_TILES || has;
}

bool lower_reduce_held(Lower *l, SpvInst *i)
{
    uint32_t mode = spv_operand(i, 1);
    HeldReduction x = { .l = l,
                        .at = i,
                        .combine = spv_operand(i, 2),
                        .from = spv_type_of(l->m, spv_operand(i, 0)),
                        .to = spv_type(l->m, i->type),
                        .rows = mode & SpvCooperativeMatrixReduceRowMask,
                        .columns = mode & SpvCooperativeMatrixReduceColumnMask };
    bool held = (x.rows || x.columns) && may_shuffle(l, x.from->element) &&
                find_held(l, x.from, &x.of) && find_held(l, x.to, &x.by) &&
                (x.columns || hold_alike(&x.of, &x.by, 0)) &&
                (x.rows || hold_alike(&x.of, &x.by, 1));
    if (!held)
        return false;
    bool blocks = x.of.own[0] < x.from->rows || x.of.own[1] < x.from->cols;
    bool whole_rows = x.of.own[1] == x.from->cols && x.by.own[1] == x.to->cols;
    if (blocks && !(x.columns ? x.rows && is_pow2(l->subgroups) : whole_rows))
        return false;
    SpvId *sums = reduce_elements(&x, spv_operand(i, 0));
    if (blocks && x.columns)
        sums[0] = combine_blocks(&x, sums[0]);
    SpvId value = spread(&x, sums);
    lower_note(l, i, "calls and shuffles");
    build_replace(l, i, value);
    return true;
}
