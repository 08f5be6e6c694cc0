/* SPDX-License-Identifier: MIT
 *
 * window: matrices go through workgroup memory a part at a time, so that large ones do not need as
 * much of it as they have elements. A part is made of whole tiles of all that go through together,
 * and control flow is that of one part after the other: who reads what others wrote waits for them.
 */
#include "lower/internal.h"

/* Of the memory that the kernel leaves, what the staging of one component type may take while
 * there is another way. Other types have theirs beside it. */
enum { SHARE = 4 };

uint32_t lower_multiple(uint32_t a, uint32_t b)
{
    uint32_t x = a, y = b;
    while (y) {
        uint32_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* The largest part of `all`, in units, that takes no more than `most`; else one unit. */
static uint32_t largest_part(uint32_t all, uint32_t unit, uint64_t most)
{
    for (uint32_t parts = 1; parts < all / unit; parts++)
        if (all / unit % parts == 0 && all / parts <= most)
            return all / parts;
    return unit;
}

void window_open(const Lower *l, LowerWindow *w, uint32_t scope)
{
    uint64_t memory = l->profile->workgroup_memory;
    uint64_t rest = (memory - MIN(memory, l->own_memory)) / SHARE;
    rest /= (scope == SpvScopeWorkgroup ? 1 : l->subgroups) * (uint64_t)MAX(w->bytes, 1);
    w->rows = largest_part(w->all_rows, w->tall, rest / w->all_cols);
    w->cols = (uint64_t)w->rows * w->all_cols <= rest
                  ? w->all_cols
                  : largest_part(w->all_cols, w->wide, rest / w->rows);
    w->row = w->col = 0;
}

bool window_next(LowerWindow *w)
{
    w->col += w->cols;
    if (w->col == w->all_cols) {
        w->col = 0;
        w->row += w->rows;
    }
    return w->row < w->all_rows;
}

/* Where the tile begins in the window's row-by-row order. False: it lies elsewhere. */
static bool place_tile(const LowerWindow *w, uint32_t row, uint32_t col, uint32_t *number)
{
    *number = (row - w->row) * w->cols + col - w->col;
    return row >= w->row && row < w->row + w->rows && col >= w->col && col < w->col + w->cols;
}

void window_put(Lower *l, SpvInst *at, const LowerWindow *w, SpvId matrix, uint32_t first,
                bool transposed)
{
    LowerTiles t = lower_tiles(l, spv_type_of(l->m, matrix));
    SpvId element = t.whole->element->id;
    uint32_t scope = t.whole->scope, number;
    staging_of(l, element, scope, first + w->rows * w->cols);
    for (uint32_t k = 0; k < t.rows * t.cols; k++) {
        uint32_t row = k / t.cols * t.tall, col = k % t.cols * t.wide;
        if (!place_tile(w, transposed ? col : row, transposed ? row : col, &number))
            continue;
        LowerLines x = { scope, build_const(l, first + number), transposed, w->cols, 0 };
        staging_put_lines(l, at, lower_tile_of(l, at, &t, matrix, k), &x);
    }
}

void window_get(Lower *l, SpvInst *at, const LowerWindow *w, const LowerTiles *t, uint32_t first,
                SpvId *parts)
{
    SpvId element = t->whole->element->id;
    uint32_t scope = t->whole->scope, number;
    staging_of(l, element, scope, first + w->rows * w->cols);
    for (uint32_t k = 0; k < t->rows * t->cols; k++) {
        if (!place_tile(w, k / t->cols * t->tall, k % t->cols * t->wide, &number))
            continue;
        LowerLines x = { scope, build_const(l, first + number), false, w->cols, 0 };
        parts[k] = staging_get_lines(l, at, spv_type(l->m, t->type), &x);
    }
}
