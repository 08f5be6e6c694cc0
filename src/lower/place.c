/* SPDX-License-Identifier: MIT
 *
 * place: which invocation this is, and where it waits for the others.
 */
#include "lower/internal.h"

enum { LANE, SUBGROUP, INDEX };

SpvId place_variable(Lower *l, uint32_t storage, SpvId type)
{
    return edit_variable(l->m, l->entry.inst, storage, type);
}

SpvId place_builtin(Lower *l, uint32_t builtin, SpvId type)
{
    return edit_builtin(l->m, l->entry.inst, builtin, type);
}

/* Once a function, in its first block behind the variables. */
static SpvId value_of(Lower *l, SpvInst *at, uint32_t which)
{
    static const uint32_t builtins[] = { [LANE] = SpvBuiltInSubgroupLocalInvocationId,
                                         [SUBGROUP] = SpvBuiltInSubgroupId,
                                         [INDEX] = SpvBuiltInLocalInvocationIndex };
    SpvFunction *f = at->block->function;
    uint64_t id;
    if (map_get(&l->places[which], f->def->id, &id))
        return (SpvId)id;
    SpvId v = place_builtin(l, builtins[which], build_u32(l));
    l->asks_lane |= which != INDEX;
    SpvInst *first = f->first->insts.first->next;
    while (first->op == SpvOpVariable)
        first = first->next;
    SpvId type = spv_type_of(l->m, v)->element->id;
    id = build_to_u32(l, first, build_load(l, first, type, v));
    map_put(l->scratch, &l->places[which], f->def->id, id);
    return (SpvId)id;
}

uint32_t place_lanes(const Lower *l, uint32_t scope)
{
    return scope == SpvScopeWorkgroup ? l->invocations : l->lanes;
}

SpvId place_lane(Lower *l, SpvInst *at, uint32_t scope)
{
    if (place_lanes(l, scope) == 1)
        return build_const(l, 0);
    return value_of(l, at, scope == SpvScopeWorkgroup ? INDEX : LANE);
}

SpvId place_subgroup(Lower *l, SpvInst *at)
{
    return l->subgroups == 1 ? build_const(l, 0) : value_of(l, at, SUBGROUP);
}

bool place_has_availability(const Lower *l)
{
    for (const SpvInst *i = l->m->globals.first; i; i = i->next)
        if (i->op == SpvOpMemoryModel)
            return spv_operand(i, 1) == SpvMemoryModelVulkan;
    return false;
}

/* The barrier makes what was written available and visible, all of it at once: operands of each
 * access that say the same (MakePointerVisible) are barriers of their own to many drivers, and to
 * some even ones of control. */
void place_barrier(Lower *l, SpvInst *at, uint32_t scope)
{
    bool own = scope == SpvScopeSubgroup && l->width <= l->profile->max_subgroup_size;
    /* in lockstep are those of the driver's own size: a layer may list larger ones */
    if (own && l->width <= l->profile->subgroup_size && l->profile->features & PROFILE_HAS_LOCKSTEP)
        return;
    uint32_t make = place_has_availability(l)
                        ? SpvMemorySemanticsMakeAvailableMask | SpvMemorySemanticsMakeVisibleMask
                        : 0;
    SpvId s = build_const(l, scope);
    SpvId order = build_const(l, SpvMemorySemanticsAcquireReleaseMask |
                                     SpvMemorySemanticsWorkgroupMemoryMask | make);
    BUILD(l, at, SpvOpControlBarrier, 0, s, s, order);
}

/* ---- elements -------------------------------------------------------------------------------- */

uint32_t place_length(const Lower *l, const SpvType *matrix)
{
    uint32_t lanes = place_lanes(l, matrix->scope);
    return (matrix->rows * matrix->cols + lanes - 1) / lanes;
}

bool place_is_even(const Lower *l, const SpvType *matrix)
{
    return matrix->rows * matrix->cols % place_lanes(l, matrix->scope) == 0;
}

/* 0: its elements are dealt one after another. */
static uint32_t tile_of(const Lower *l, const SpvType *matrix)
{
    bool may = l->profile->ownership == PROFILE_TILES && matrix->scope == SpvScopeSubgroup &&
               l->lanes == 32;
    return may ? tiles_size(matrix->rows, matrix->cols) : 0;
}

/* Row and column in a tile, as PROFILE_TILES says. */
static void place_in_tile(Lower *l, SpvInst *at, uint32_t size, SpvId lane, SpvId e,
                          LowerElement *x)
{
    if (size == 8) {
        SpvId pair = build_mul(l, at, build_mod(l, at, lane, 4), build_const(l, 2));
        x->row = build_div(l, at, lane, 4);
        x->column = build_add(l, at, pair, build_mod(l, at, e, 2));
        return;
    }
    SpvId four = build_const(l, 4), odd = build_mod(l, at, build_div(l, at, lane, 4), 2);
    SpvId half = build_mul(l, at, build_mod(l, at, build_div(l, at, e, 4), 2), build_const(l, 2));
    SpvId row = build_add(l, at, build_mul(l, at, build_div(l, at, lane, 8), four), odd);
    SpvId column = build_mul(l, at, build_mod(l, at, lane, 4), four);
    x->row = build_add(l, at, row, half);
    x->column = build_add(l, at, column, build_mod(l, at, e, 4));
}

static LowerElement tiled_element(Lower *l, SpvInst *at, const SpvType *matrix, SpvId e)
{
    uint32_t size = tile_of(l, matrix), across = matrix->cols / size;
    SpvId tile = build_div(l, at, e, size * size / 32), sizes = build_const(l, size);
    SpvId line = build_div(l, at, tile, across);
    LowerElement x;
    place_in_tile(l, at, size, place_lane(l, at, matrix->scope), e, &x);
    x.row = build_add(l, at, x.row, build_mul(l, at, line, sizes));
    tile = build_mul(l, at, build_mod(l, at, tile, across), sizes);
    x.column = build_add(l, at, x.column, tile);
    return x;
}

bool place_has_whole_rows(const Lower *l, const SpvType *matrix)
{
    for (uint32_t k = 0; k < l->whole_rows.len; k++)
        if (l->whole_rows.data[k].rows == matrix->rows &&
            l->whole_rows.data[k].columns == matrix->cols)
            return true;
    return false;
}

static void add_whole_rows(Lower *l, const SpvType *matrix)
{
    LowerGrid shape = { matrix->rows, matrix->cols };
    if (matrix->scope == SpvScopeWorkgroup && !place_has_whole_rows(l, matrix))
        vec_push(l->scratch, &l->whole_rows, shape);
}

/* Of rows, in a loop; functions may be called in one. */
static void note_reductions(Lower *l, SpvFunction *f)
{
    DiagSink silent = { 0 };
    const Cfg *g = f == l->entry.function ? cfg_build(l->scratch, f, &silent) : NULL;
    for (SpvBlock *b = f->first; b; b = b->next) {
        uint32_t at = g ? g->position[b->index] : UINT32_MAX;
        if (g && (at == UINT32_MAX || !g->blocks[at].loop))
            continue;
        for (const SpvInst *i = b->insts.first; i; i = i->next) {
            if (i->op != SpvOpCooperativeMatrixReduceNV ||
                spv_operand(i, 1) != SpvCooperativeMatrixReduceRowMask)
                continue;
            add_whole_rows(l, spv_type_of(l->m, spv_operand(i, 0)));
            add_whole_rows(l, spv_type(l->m, i->type));
        }
    }
}

void place_choose_blocks(Lower *l)
{
    l->whole_rows.len = 0;
    for (SpvFunction *f = l->m->functions; f && l->profile->features & PROFILE_HAS_SHUFFLES;
         f = f->next)
        note_reductions(l, f);
}

/* Arrays that a workgroup shares are dealt in blocks where rows are as long as some subgroups: a
 * block is a subgroup's, and each lane has a column of every run of neighbours in it. Then what is
 * asked of a row is asked by a whole subgroup (a driver that sees this loads it once), and a lane's
 * elements share more rows and columns than if they were dealt one after another. The block has
 * whole rows where those of its shape are reduced in a loop, by shuffles then (reduce_held.c); else
 * it is the one whose rows and columns are fewest, those of lanes for two. Only where lines of the
 * workgroup are whole subgroups is it certain that there are no others (what
 * VkPipelineShaderStageCreateInfo's flag for full subgroups asks for). */
bool place_block(const Lower *l, const SpvType *matrix, LowerGrid *g)
{
    uint32_t tall = matrix->rows, runs = matrix->cols / l->lanes, least = UINT32_MAX;
    uint32_t held = tall * runs / l->subgroups;
    if (matrix->scope != SpvScopeWorkgroup || !lower_is_array(l, matrix) ||
        l->entry.local_size[0] % l->width || l->width > l->profile->max_subgroup_size ||
        matrix->cols % l->lanes || tall * runs % l->subgroups)
        return false;
    if (tall % l->subgroups == 0 && place_has_whole_rows(l, matrix)) {
        *g = (LowerGrid){ tall / l->subgroups, runs };
        return true;
    }
    for (uint32_t columns = 1; columns <= MIN(runs, held); columns++) {
        uint32_t rows = held / columns;
        bool fits = held % columns == 0 && runs % columns == 0 && tall % rows == 0;
        if (!fits || rows + 2 * columns >= least)
            continue;
        least = rows + 2 * columns;
        *g = (LowerGrid){ rows, columns };
    }
    return least != UINT32_MAX;
}

static LowerElement element_of_block(Lower *l, SpvInst *at, const SpvType *matrix,
                                     const LowerGrid *g, SpvId e)
{
    uint32_t across = matrix->cols / l->lanes / g->columns;
    SpvId block = place_subgroup(l, at), lane = place_lane(l, at, SpvScopeSubgroup);
    SpvId row = build_mul(l, at, build_div(l, at, block, across), build_const(l, g->rows));
    SpvId run = build_mul(l, at, build_mod(l, at, block, across), build_const(l, g->columns));
    run = build_add(l, at, run, build_mod(l, at, e, g->columns));
    LowerElement x;
    x.row = build_add(l, at, row, build_div(l, at, e, g->columns));
    x.column = build_add(l, at, build_mul(l, at, run, build_const(l, l->lanes)), lane);
    return x;
}

/* Rows and columns by sums where a row is as many lanes as there are, or several are, or one is so
 * many times as long; else by a division. */
LowerElement place_dealt(Lower *l, SpvInst *at, uint32_t scope, const uint32_t size[2], SpvId e)
{
    uint32_t lanes = place_lanes(l, scope), cols = size[1];
    bool even = size[0] * cols % lanes == 0;
    SpvId lane = place_lane(l, at, scope), held = build_const(l, lanes);
    LowerElement x = { .number = build_add(l, at, build_mul(l, at, e, held), lane) };
    if (!even)
        x.number = build_min(l, at, x.number, size[0] * cols - 1);
    if (even && lanes % cols == 0) {
        SpvId lines = build_mul(l, at, e, build_const(l, lanes / cols));
        x.row = build_add(l, at, lines, build_div(l, at, lane, cols));
        x.column = build_mod(l, at, lane, cols);
    } else if (cols % lanes == 0) {
        SpvId part = build_mul(l, at, build_mod(l, at, e, cols / lanes), held);
        x.row = build_div(l, at, e, cols / lanes);
        x.column = build_add(l, at, part, lane);
    } else {
        x.row = build_div(l, at, x.number, cols);
        x.column = build_mod(l, at, x.number, cols);
    }
    return x;
}

bool place_is_by_number(const Lower *l, const SpvType *matrix)
{
    LowerGrid g;
    return !lower_owner(l, matrix) && !tile_of(l, matrix) && !place_block(l, matrix, &g);
}

bool place_grid(const Lower *l, const SpvType *matrix, LowerGrid *g)
{
    uint32_t lanes = place_lanes(l, matrix->scope), cols = matrix->cols;
    if (place_block(l, matrix, g))
        return true;
    *g = cols % lanes ? (LowerGrid){ place_length(l, matrix), 1 }
                      : (LowerGrid){ matrix->rows, cols / lanes };
    return place_is_by_number(l, matrix) && place_is_even(l, matrix) &&
           (cols % lanes == 0 || lanes % cols == 0);
}

LowerElement place_element(Lower *l, SpvInst *at, const SpvType *matrix, SpvId e)
{
    LowerGrid g;
    LowerElement x;
    if (lower_owner(l, matrix))
        x = owner_element(l, at, matrix, e);
    else if (tile_of(l, matrix))
        x = tiled_element(l, at, matrix, e);
    else if (place_block(l, matrix, &g))
        x = element_of_block(l, at, matrix, &g, e);
    else
        return place_dealt(l, at, matrix->scope, (uint32_t[]){ matrix->rows, matrix->cols }, e);
    x.number = build_mul(l, at, x.row, build_const(l, matrix->cols));
    x.number = build_add(l, at, x.number, x.column);
    return x;
}

SpvId place_holds(Lower *l, SpvInst *at, uint32_t scope, uint32_t size, SpvId e)
{
    SpvId lanes = build_const(l, place_lanes(l, scope));
    SpvId number = build_add(l, at, build_mul(l, at, e, lanes), place_lane(l, at, scope));
    return build_less(l, at, number, build_const(l, size));
}

SpvInst *place_if_holds(Lower *l, SpvInst *at, const SpvType *matrix, SpvId e)
{
    uint32_t size = matrix->rows * matrix->cols;
    return place_is_even(l, matrix) ? at
                                    : build_if(l, at, place_holds(l, at, matrix->scope, size, e));
}
