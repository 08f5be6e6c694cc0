/* SPDX-License-Identifier: MIT
 *
 * reduce: SPV_NV_cooperative_matrix2's reductions through workgroup memory. Results that differ are
 * those of groups of elements: rows, columns, all, squares of 2 x 2. A strip of groups whose
 * results are whole tiles is done at once: its elements are staged a window after the other, each
 * invocation combines those of its own groups, by parts; then tiles are made of what came out.
 * Tiles that are the same are made once. Where there is no memory for the elements of whole rows'
 * tiles, and it is known who holds what, they are staged by bands, a few rows after the other.
 */
#include "lower/internal.h"

enum { MOST_IN_PART = 8 }; /* elements that are combined one after the other */

typedef struct Reduction {
    Lower *l;
    SpvInst *inst;
    SpvId combine;
    LowerTiles from, to;
    bool all_rows, all_cols; /* of the source are in each group; else deep, wide of them */
    uint32_t deep, wide;
    uint32_t rows, cols;           /* groups of a strip */
    uint32_t strip_row, strip_col; /* its first group */
    uint32_t room;                 /* of the strip's results, before what else is staged */
    SpvId sums;                    /* a variable: an invocation's groups' */
    SpvId part;                    /* another: of a part of one */
    LowerWindow window;            /* of the strip's elements */
} Reduction;

static const SpvType *element_of(const Reduction *x) { return x->from.whole->element; }
static uint32_t scope_of(const Reduction *x) { return x->from.whole->scope; }

/* Groups in a strip along one side, so that their elements and their results are whole tiles. */
static uint32_t strip_of(bool all, uint32_t each, uint32_t from_tile, uint32_t to_tile)
{
    return all ? 1 : lower_multiple(to_tile, lower_multiple(from_tile, each) / each);
}

static void open_reduction(Lower *l, SpvInst *i, Reduction *x)
{
    uint32_t mode = spv_operand(i, 1);
    bool square = mode & SpvCooperativeMatrixReduce2x2Mask;
    *x = (Reduction){ .l = l,
                      .inst = i,
                      .combine = spv_operand(i, 2),
                      .from = lower_tiles(l, spv_type_of(l->m, spv_operand(i, 0))),
                      .to = lower_tiles(l, spv_type(l->m, i->type)),
                      .all_rows = mode & SpvCooperativeMatrixReduceColumnMask,
                      .all_cols = mode & SpvCooperativeMatrixReduceRowMask,
                      .deep = square ? 2 : 1,
                      .wide = square ? 2 : 1 };
    x->rows = strip_of(x->all_rows, x->deep, x->from.tall, x->to.tall);
    x->cols = strip_of(x->all_cols, x->wide, x->from.wide, x->to.wide);
    x->room = (x->rows * x->cols + 15) / 16 * 16; /* matrices begin at multiples of 16 bytes */
    x->part = build_variable(l, i, element_of(x)->id);
}

/* ---- combining ------------------------------------------------------------------------------- */

/* Where element k is of those in the window that are in the group with that row and column in the
 * strip: along rows, in squares along columns. */
static SpvId place_in(const Reduction *x, SpvInst *at, const LowerElement *group, SpvId k)
{
    Lower *l = x->l;
    bool square = x->deep == 2;
    uint32_t across = x->all_cols ? x->window.cols : x->wide;
    SpvId row = square ? build_mod(l, at, k, x->deep) : build_div(l, at, k, across);
    SpvId col = square ? build_div(l, at, k, x->deep) : build_mod(l, at, k, across);
    if (!x->all_rows)
        row = build_add(l, at, row, build_mul(l, at, group->row, build_const(l, x->deep)));
    if (!x->all_cols)
        col = build_add(l, at, col, build_mul(l, at, group->column, build_const(l, x->wide)));
    SpvId number = build_add(l, at, build_mul(l, at, row, build_const(l, x->window.cols)), col);
    return build_add(l, at, number, build_const(l, x->room));
}

static SpvId element_in(const Reduction *x, SpvInst *at, const LowerElement *group, SpvId k)
{
    return staging_load(x->l, at, element_of(x)->id, scope_of(x), place_in(x, at, group, k));
}

static void combine_into(const Reduction *x, SpvInst *at, SpvId sum, SpvId next)
{
    SpvId element = element_of(x)->id, left = build_load(x->l, at, element, sum);
    SpvId both = BUILD(x->l, at, SpvOpFunctionCall, element, x->combine, left, next);
    build_store(x->l, at, sum, both);
}

/* Of n elements from that one on. */
static SpvId combine_part(const Reduction *x, SpvInst *at, const LowerElement *group, SpvId from,
                          uint32_t n)
{
    Lower *l = x->l;
    SpvInst *body;
    SpvId k;
    build_store(l, at, x->part, element_in(x, at, group, from));
    if (n > 1) {
        build_loop(l, at, n - 1, &body, &k);
        k = build_add(l, body, build_add(l, body, k, build_const(l, 1)), from);
        combine_into(x, body, x->part, element_in(x, body, group, k));
    }
    return build_load(l, at, element_of(x)->id, x->part);
}

static uint32_t part_of(uint32_t n)
{
    for (uint32_t k = MOST_IN_PART; k > 1 && n > MOST_IN_PART; k--)
        if (n % k == 0)
            return k;
    return n;
}

/* A sum of thousands of numbers, one after the other, soon has a last bit that is larger than they
 * are, in bf16 at 256. So what parts come to takes the place of the first elements, and so on. */
static SpvId combine_parts(const Reduction *x, SpvInst *at, const LowerElement *group, uint32_t n)
{
    Lower *l = x->l;
    for (uint32_t part; (part = part_of(n)) < n; n /= part) {
        SpvInst *body;
        SpvId k;
        build_loop(l, at, n / part, &body, &k);
        SpvId from = build_mul(l, body, k, build_const(l, part));
        SpvId sum = combine_part(x, body, group, from, part);
        staging_store(l, body, scope_of(x), place_in(x, body, group, k), sum);
    }
    return combine_part(x, at, group, build_const(l, 0), n);
}

static void combine_group(const Reduction *x, SpvInst *at, const LowerElement *group, SpvId e)
{
    Lower *l = x->l;
    SpvId element = element_of(x)->id;
    bool first = !x->window.row && !x->window.col;
    uint32_t n =
        (x->all_rows ? x->window.rows : x->deep) * (x->all_cols ? x->window.cols : x->wide);
    SpvId sum = build_element(l, at, SpvStorageClassFunction, element, x->sums, e);
    SpvId all = combine_parts(x, at, group, n);
    if (first)
        build_store(l, at, sum, all);
    else
        combine_into(x, at, sum, all);
    bool last = x->window.row + x->window.rows == x->window.all_rows &&
                x->window.col + x->window.cols == x->window.all_cols;
    if (last)
        staging_store(l, at, scope_of(x), group->number, build_load(l, at, element, sum));
}

static void combine_window(const Reduction *x)
{
    Lower *l = x->l;
    uint32_t lanes = place_lanes(l, scope_of(x)), n = x->rows * x->cols;
    const uint32_t size[2] = { x->rows, x->cols };
    LowerWindow in_matrix = x->window;
    in_matrix.row += x->all_rows ? 0 : x->strip_row * x->deep;
    in_matrix.col += x->all_cols ? 0 : x->strip_col * x->wide;
    window_put(l, x->inst, &in_matrix, spv_operand(x->inst, 0), x->room, false);
    place_barrier(l, x->inst, scope_of(x));
    LowerEach e = each_open(l, x->inst, (n + lanes - 1) / lanes);
    while (each_next(&e)) {
        SpvInst *at =
            n % lanes ? build_if(l, e.at, place_holds(l, e.at, scope_of(x), n, e.index)) : e.at;
        LowerElement group = place_dealt(l, at, scope_of(x), size, e.index);
        combine_group(x, at, &group, e.index);
    }
    place_barrier(l, x->inst, scope_of(x));
}

/* ---- results --------------------------------------------------------------------------------- */

/* The tile whose first result is the group with that row and column of the strip. */
static SpvId make_tile(const Reduction *x, uint32_t row, uint32_t col)
{
    Lower *l = x->l;
    LowerDealt dealt = { .first = x->room };
    LowerDeal d = deal_open(l, x->inst, spv_type(l->m, x->to.type), &dealt);
    while (deal_next(&d)) {
        SpvId r = build_add(l, d.at, d.element.row, build_const(l, row));
        SpvId c = build_add(l, d.at, d.element.column, build_const(l, col));
        r = build_mul(l, d.at, build_mod(l, d.at, r, x->rows), build_const(l, x->cols));
        SpvId number = build_add(l, d.at, r, build_mod(l, d.at, c, x->cols));
        deal_put(&d, staging_load(l, d.at, element_of(x)->id, scope_of(x), number));
    }
    return deal_close(&d);
}

/* One for all tiles of the result with the same groups in them. */
static void make_tiles(const Reduction *x, SpvId *parts)
{
    uint32_t n = x->to.rows * x->to.cols;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t row = x->all_rows ? 0 : k / x->to.cols * x->to.tall;
        uint32_t col = x->all_cols ? 0 : k % x->to.cols * x->to.wide;
        bool inside = row >= x->strip_row && row < x->strip_row + x->rows && col >= x->strip_col &&
                      col < x->strip_col + x->cols;
        uint32_t same =
            (x->all_rows ? 0 : k / x->to.cols) * x->to.cols + (x->all_cols ? 0 : k % x->to.cols);
        if (inside)
            parts[k] =
                same < k ? parts[same] : make_tile(x, row - x->strip_row, col - x->strip_col);
    }
    place_barrier(x->l, x->inst, scope_of(x));
}

static void reduce_strip(Reduction *x, SpvId *parts)
{
    const SpvType *from = x->from.whole;
    uint32_t tall = x->all_rows ? from->rows : x->rows * x->deep,
             wide = x->all_cols ? from->cols : x->cols * x->wide;
    x->window = (LowerWindow){ .all_rows = tall,
                               .all_cols = wide,
                               .tall = x->all_rows ? x->from.tall : tall,
                               .wide = x->all_cols ? x->from.wide : wide,
                               .bytes = (uint32_t)lower_size(x->l, element_of(x)) };
    window_open(x->l, &x->window, scope_of(x));
    do
        combine_window(x);
    while (window_next(&x->window));
    make_tiles(x, parts);
}

/* ---- bands ----------------------------------------------------------------------------------- */

/* A band of the rows, with all columns, becomes the window. False: it need not, or cannot. (What is
 * one tile is one strip.) */
static bool open_band(Reduction *x)
{
    Lower *l = x->l;
    const SpvType *from = x->from.whole;
    SpvId element = element_of(x)->id;
    uint64_t all = (uint64_t)from->rows * from->cols;
    bool whole = x->from.type == from->id && x->to.type == x->to.whole->id, square = x->deep == 2;
    bool known = deal_is_known(l, from) && deal_is_known(l, x->to.whole);
    if (x->all_rows || !whole || !known || staging_has_room(l, element, scope_of(x), x->room + all))
        return false;
    x->room = square ? 0 : x->room;
    x->window = (LowerWindow){ .all_rows = from->rows,
                               .all_cols = from->cols,
                               .tall = x->deep,
                               .wide = from->cols,
                               .bytes = (uint32_t)lower_size(l, element_of(x)) };
    window_open(l, &x->window, scope_of(x));
    staging_of(l, element, scope_of(x), x->room + x->window.rows * from->cols);
    return true;
}

/* Those who hold elements of the band that begins with that row put them there. */
static void put_band(const Reduction *x, SpvInst *at, SpvId first)
{
    Lower *l = x->l;
    SpvId matrix = spv_operand(x->inst, 0);
    LowerDealt dealt = { .from = &matrix, .n_from = 1, .used_only = true };
    LowerDeal d = deal_open(l, at, x->from.whole, &dealt);
    while (deal_next(&d)) {
        SpvId value = deal_get(&d, 0), row = build_sub(l, d.at, d.element.row, first);
        SpvId in_band = build_less(l, d.at, row, build_const(l, x->window.rows)); /* unsigned */
        SpvInst *in = build_if(l, d.at, in_band);
        SpvId number = build_mul(l, in, row, build_const(l, x->window.cols));
        number = build_add(l, in, number, d.element.column);
        number = build_add(l, in, number, build_const(l, x->room));
        staging_store(l, in, scope_of(x), number, value);
    }
    place_barrier(l, at, scope_of(x));
}

/* What rows come to, from that one on. */
static void combine_rows(const Reduction *x, SpvInst *at, SpvId first)
{
    Lower *l = x->l;
    const uint32_t n = x->window.rows, lanes = place_lanes(l, scope_of(x)), size[2] = { n, 1 };
    LowerEach e = each_open(l, at, (n + lanes - 1) / lanes);
    while (each_next(&e)) {
        SpvInst *in =
            n % lanes ? build_if(l, e.at, place_holds(l, e.at, scope_of(x), n, e.index)) : e.at;
        LowerElement group = place_dealt(l, in, scope_of(x), size, e.index);
        SpvId all = combine_parts(x, in, &group, x->window.cols);
        staging_store(l, in, scope_of(x), build_add(l, in, group.row, first), all);
    }
}

/* Those who hold elements of the result, from that row on, make them. */
static void combine_squares(const Reduction *x, SpvInst *at, SpvId first, SpvId result)
{
    Lower *l = x->l;
    SpvId element = element_of(x)->id;
    LowerDealt dealt = { .used_only = true };
    LowerDeal d = deal_open(l, at, x->to.whole, &dealt);
    while (deal_next(&d)) {
        LowerElement group = d.element;
        group.row = build_sub(l, d.at, d.element.row, first);
        SpvId in_band = build_less(l, d.at, group.row, build_const(l, x->window.rows / x->deep));
        SpvInst *in = build_if(l, d.at, in_band);
        SpvId all = combine_part(x, in, &group, build_const(l, 0), x->deep * x->wide);
        build_store(l, in,
                    build_element(l, in, SpvStorageClassFunction, element, result, d.each.index),
                    all);
    }
}

static SpvId reduce_by_bands(Reduction *x)
{
    Lower *l = x->l;
    SpvInst *body;
    SpvId k, result = build_variable(l, x->inst, x->to.whole->id), part;
    build_loop(l, x->inst, x->window.all_rows / x->window.rows, &body, &k);
    put_band(x, body, build_mul(l, body, k, build_const(l, x->window.rows)));
    SpvId first = build_mul(l, body, k, build_const(l, x->window.rows / x->deep));
    if (x->deep == 2)
        combine_squares(x, body, first, result);
    else
        combine_rows(x, body, first);
    place_barrier(l, body, scope_of(x));
    if (x->deep == 2)
        return build_load(l, x->inst, x->to.whole->id, result);
    x->rows = x->window.all_rows;
    make_tiles(x, &part);
    return part;
}

static SpvId reduce_by_strips(Reduction *x)
{
    Lower *l = x->l;
    uint32_t lanes = place_lanes(l, scope_of(x)), groups = x->rows * x->cols;
    SpvId count = build_const(l, (groups + lanes - 1) / lanes);
    x->sums = build_variable(l, x->inst, spv_array_type(l->m, element_of(x)->id, count));
    const SpvType *from = x->from.whole;
    uint32_t n = x->to.rows * x->to.cols;
    uint32_t down = x->all_rows ? 1 : from->rows / x->deep,
             along = x->all_cols ? 1 : from->cols / x->wide;
    SpvId *parts = NEW_ARRAY(l->scratch, SpvId, n);
    for (; x->strip_row < down; x->strip_row += x->rows)
        for (x->strip_col = 0; x->strip_col < along; x->strip_col += x->cols)
            reduce_strip(x, parts);
    return x->to.type == x->to.whole->id
               ? parts[0]
               : build(l, x->inst, SpvOpCompositeConstruct, x->to.whole->id, parts, n);
}

void lower_reduce(Lower *l, SpvInst *i)
{
    Reduction x;
    open_reduction(l, i, &x);
    SpvId result = open_band(&x) ? reduce_by_bands(&x) : reduce_by_strips(&x);
    lower_note(l, i, "workgroup memory, calls by parts");
    build_replace(l, i, result);
}
