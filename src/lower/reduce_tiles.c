/* SPDX-License-Identifier: MIT
 *
 * reduce_tiles: reductions of rows and columns where lanes hold elements as PROFILE_TILES says. A
 * lane combines those of its rows (of its columns) that it has itself; four lanes have a row of
 * tiles between them, eight a column, and exchange what they have by shuffles.
 */
#include "lower/internal.h"

typedef struct TileReduction {
    Lower *l;
    SpvInst *at;
    SpvId combine;
    const SpvType *from, *to;
    uint32_t tile;
    bool rows, columns; /* what is reduced: a row's elements, a column's */
} TileReduction;

/* Rows and columns of a tile that a lane has elements of. */
static uint32_t rows_held(const TileReduction *x) { return x->tile / 8; }
static uint32_t columns_held(const TileReduction *x) { return x->tile / 4; }

/* A lane's element of its row `row` and its column `column`, counted over the whole matrix. */
static uint32_t element_at(const TileReduction *x, const SpvType *t, uint32_t row, uint32_t column)
{
    uint32_t tall = rows_held(x), wide = columns_held(x);
    uint32_t tile = row / tall * (t->cols / x->tile) + column / wide;
    return tile * tall * wide + row % tall * wide + column % wide;
}

/* A pointer to it in a variable. */
static SpvId element_of(const TileReduction *x, const SpvType *t, SpvId matrix, uint32_t row,
                        uint32_t column)
{
    return build_element(x->l, x->at, SpvStorageClassFunction, t->element->id, matrix,
                         build_const(x->l, element_at(x, t, row, column)));
}

static SpvId combined(const TileReduction *x, SpvId a, SpvId b)
{
    SpvId type = x->from->element->id;
    return a ? BUILD(x->l, x->at, SpvOpFunctionCall, type, x->combine, a, b) : b;
}

/* With the values of the lanes whose numbers differ in those bits. */
static SpvId exchanged(const TileReduction *x, SpvId value, uint32_t bits)
{
    Lower *l = x->l;
    SpvId scope = build_const(l, SpvScopeSubgroup);
    l->shuffles = true;
    for (uint32_t bit = 1; bit <= bits; bit *= 2)
        if (bits & bit)
            value = combined(x, value,
                             BUILD(l, x->at, SpvOpGroupNonUniformShuffleXor, x->from->element->id,
                                   scope, value, build_const(l, bit)));
    return value;
}

/* By the lane's rows (one where columns are reduced) and columns. */
static SpvId *reduce_elements(const TileReduction *x, SpvId value, uint32_t tall, uint32_t wide)
{
    enum { ACROSS = 3, DOWN = 28 }; /* lanes 4g + t that have a row, a column */
    Lower *l = x->l;
    SpvId *sums = NEW_ARRAY(l->scratch, SpvId, tall * wide);
    SpvId matrix = build_variable(l, x->at, x->from->id), element = x->from->element->id;
    build_store(l, x->at, matrix, value);
    uint32_t down = x->columns ? tall : 1, across = x->rows ? wide : 1;
    for (uint32_t r = 0; r < tall; r++)
        for (uint32_t c = 0; c < wide; c++) {
            SpvId *sum = &sums[(x->columns ? 0 : r * (x->rows ? 1 : wide)) + (x->rows ? 0 : c)];
            SpvId p = element_of(x, x->from, matrix, r, c);
            *sum = combined(x, *sum, build_load(l, x->at, element, p));
        }
    for (uint32_t k = 0; k < tall / down * (wide / across); k++)
        sums[k] = exchanged(x, sums[k], (x->rows ? ACROSS : 0) | (x->columns ? DOWN : 0));
    return sums;
}

static SpvId spread(const TileReduction *x, const SpvId *sums)
{
    Lower *l = x->l;
    SpvId made = build_variable(l, x->at, x->to->id);
    uint32_t tall = x->to->rows / x->tile * rows_held(x),
             wide = x->to->cols / x->tile * columns_held(x);
    for (uint32_t r = 0; r < tall; r++)
        for (uint32_t c = 0; c < wide; c++) {
            uint32_t from = (x->columns ? 0 : r * (x->rows ? 1 : wide)) + (x->rows ? 0 : c);
            build_store(l, x->at, element_of(x, x->to, made, r, c), sums[from]);
        }
    return build_load(l, x->at, x->to->id, made);
}

bool lower_reduce_tiles(Lower *l, SpvInst *i)
{
    uint32_t mode = spv_operand(i, 1);
    TileReduction x = { .l = l,
                        .at = i,
                        .combine = spv_operand(i, 2),
                        .from = spv_type_of(l->m, spv_operand(i, 0)),
                        .to = spv_type(l->m, i->type),
                        .rows = mode & SpvCooperativeMatrixReduceRowMask,
                        .columns = mode & SpvCooperativeMatrixReduceColumnMask };
    x.tile = tiles_size(x.from->rows, x.from->cols);
    uint32_t tall = x.from->rows / MAX(x.tile, 1) * rows_held(&x),
             wide = x.from->cols / MAX(x.tile, 1) * columns_held(&x);
    bool tiled = l->profile->ownership == PROFILE_TILES && l->lanes == 32 &&
                 x.from->scope == SpvScopeSubgroup && x.tile &&
                 x.tile == tiles_size(x.to->rows, x.to->cols) && deal_is_known(l, x.from) &&
                 deal_is_known(l, x.to) && !lower_is_array(l, x.from) && !lower_is_array(l, x.to);
    if (!tiled || (!x.rows && !x.columns))
        return false;
    SpvId value = spread(&x, reduce_elements(&x, spv_operand(i, 0), tall, wide));
    lower_note(l, i, "calls and shuffles");
    build_replace(l, i, value);
    return true;
}
