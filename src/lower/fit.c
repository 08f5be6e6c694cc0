/* SPDX-License-Identifier: MIT
 *
 * fit_matrices: shapes that the target does not list. In: KHR's matrices. Out: those whose fate is
 * tiles are arrays of matrices of the listed shape, row by row, under their types' ids. A
 * multiply-add is those of its tiles, along K one after the other.
 */
#include "lower/internal.h"

static SpvId tile_type(Lower *l, const SpvType *t, LowerFate f)
{
    SpvInst *whole = spv_def(l->m, t->id);
    uint32_t words[] = { t->element->id, spv_operand(whole, 1), build_const(l, f.rows),
                         build_const(l, f.cols), spv_operand(whole, 4) };
    for (SpvInst *i = l->m->globals.first; i; i = i->next) {
        const SpvType *x = i->op == SpvOpTypeCooperativeMatrixKHR ? spv_type(l->m, i->id) : NULL;
        if (x && x->element == t->element && x->scope == t->scope && x->use == t->use &&
            x->rows == f.rows && x->cols == f.cols && lower_fate(l, x).kind == FATE_STAYS)
            return i->id;
    }
    SpvInst *made = spv_make(l->m, SpvOpTypeCooperativeMatrixKHR, 0, spv_new_id(l->m), words, 5);
    spv_append_global(l->m, made);
    return made->id;
}

/* False: the value is no matrix that is made of tiles. */
static bool tiles_of_type(Lower *l, SpvId type, LowerTiles *out)
{
    const SpvType *t = spv_type(l->m, type);
    if (!t || t->kind != SPV_COOPMAT || lower_fate(l, t).kind != FATE_TILES)
        return false;
    LowerFate f = lower_fate(l, t);
    *out =
        (LowerTiles){ t, tile_type(l, t, f), t->rows / f.rows, t->cols / f.cols, f.rows, f.cols };
    return true;
}

static bool tiles_of(Lower *l, SpvId value, LowerTiles *out)
{
    const SpvInst *i = spv_def(l->m, value);
    return i && i->type && tiles_of_type(l, i->type, out);
}

LowerTiles lower_tiles(Lower *l, const SpvType *matrix)
{
    LowerTiles t;
    if (tiles_of_type(l, matrix->id, &t))
        return t;
    return (LowerTiles){ matrix, matrix->id, 1, 1, matrix->rows, matrix->cols };
}

SpvId lower_tile_of(Lower *l, SpvInst *at, const LowerTiles *t, SpvId matrix, uint32_t k)
{
    return t->type == t->whole->id ? matrix
                                   : BUILD(l, at, SpvOpCompositeExtract, t->type, matrix, k);
}

static void compose(Lower *l, SpvInst *i, const LowerTiles *t, const SpvId *parts)
{
    build_replace(l, i,
                  build(l, i, SpvOpCompositeConstruct, t->whole->id, parts, t->rows * t->cols));
}

/* ---- values ---------------------------------------------------------------------------------- */

static SpvId *repeated(Lower *l, const LowerTiles *t, SpvId one)
{
    SpvId *parts = NEW_ARRAY(l->scratch, SpvId, t->rows * t->cols);
    for (uint32_t k = 0; k < t->rows * t->cols; k++)
        parts[k] = one;
    return parts;
}

static void repeat_constants(Lower *l)
{
    LowerTiles t;
    for (SpvInst *i = l->m->globals.first; i; i = i->next) {
        bool constant =
            i->op == SpvOpConstantComposite || i->op == SpvOpConstantCompositeReplicateEXT;
        if (!constant || !tiles_of_type(l, i->type, &t))
            continue;
        SpvId number = spv_operand(i, 0);
        SpvId one = spv_composite_constant(l->m, t.type, &number, 1);
        edit_become(l->m, i, SpvOpConstantComposite, repeated(l, &t, one), t.rows * t.cols);
    }
}

static void repeat(Lower *l, SpvInst *i, const LowerTiles *t)
{
    SpvId one = BUILD(l, i, SpvOpCompositeConstruct, t->type, spv_operand(i, 0));
    compose(l, i, t, repeated(l, t, one));
}

static void by_tiles(Lower *l, SpvInst *i, const LowerTiles *t)
{
    uint32_t n = spv_n_operands(i), *x = NEW_ARRAY(l->scratch, uint32_t, n);
    SpvId *parts = NEW_ARRAY(l->scratch, SpvId, t->rows * t->cols);
    LowerTiles of;
    for (uint32_t k = 0; k < t->rows * t->cols; k++) {
        for (uint32_t j = 0; j < n; j++)
            x[j] = tiles_of(l, spv_operand(i, j), &of)
                       ? lower_tile_of(l, i, &of, spv_operand(i, j), k)
                       : spv_operand(i, j);
        parts[k] = build(l, i, i->op, t->type, x, n);
    }
    lower_hand_down(l, i->id, parts, t->rows * t->cols);
    lower_undecorate(l, i->id);
    lower_note(l, i, "tile by tile");
    compose(l, i, t, parts);
}

/* ---- whole matrices -------------------------------------------------------------------------- */

static void multiply(Lower *l, SpvInst *i, const LowerTiles *d)
{
    LowerTiles a, b, c;
    uint32_t n = spv_n_operands(i);
    SpvId *parts = NEW_ARRAY(l->scratch, SpvId, d->rows * d->cols);
    bool has_a = tiles_of(l, spv_operand(i, 0), &a), has_b = tiles_of(l, spv_operand(i, 1), &b);
    bool has_c = tiles_of(l, spv_operand(i, 2), &c);
    uint32_t depth = has_a ? a.cols : has_b ? b.rows : 1;
    for (uint32_t k = 0; k < d->rows * d->cols; k++) {
        uint32_t row = k / d->cols, column = k % d->cols;
        uint32_t x[4] = { 0, 0, spv_operand(i, 2), n > 3 ? spv_operand(i, 3) : 0 };
        if (has_c)
            x[2] = lower_tile_of(l, i, &c, x[2], k);
        for (uint32_t j = 0; j < depth; j++) {
            SpvId wa = spv_operand(i, 0), wb = spv_operand(i, 1);
            x[0] = has_a ? lower_tile_of(l, i, &a, wa, row * depth + j) : wa;
            x[1] = has_b ? lower_tile_of(l, i, &b, wb, j * d->cols + column) : wb;
            x[2] = build(l, i, SpvOpCooperativeMatrixMulAddKHR, d->type, x, n > 3 ? 4 : 3);
        }
        parts[k] = x[2];
    }
    lower_note(l, i, "multiply-adds of tiles");
    if (d->rows * d->cols == 1 && d->type == d->whole->id)
        build_replace(l, i, parts[0]);
    else
        compose(l, i, d, parts);
}

/* The pointer to a tile, in pointees from the matrix' own. */
static SpvId tile_pointer(Lower *l, SpvInst *i, const LowerAddress *a, const LowerTiles *t,
                          uint32_t k)
{
    uint32_t row = k / t->cols * t->tall, column = k % t->cols * t->wide;
    uint32_t line = a->by_column ? column : row, along = a->by_column ? row : column;
    uint64_t bytes = along * a->element->size;
    if (bytes % a->pointee->size)
        lower_refuse(l, i, "a tile begins within what its pointer leads to");
    SpvId number = build_mul(l, i, build_const(l, line), a->stride);
    number = build_add(l, i, number, build_const(l, (uint32_t)(bytes / a->pointee->size)));
    return address_pointer(l, i, a, number);
}

static void transfer(Lower *l, SpvInst *i, const LowerTiles *t)
{
    LowerAddress a;
    bool store = i->op == SpvOpCooperativeMatrixStoreKHR;
    uint32_t at = store ? 2 : 1, n = spv_n_operands(i), x[16];
    SpvId *parts = NEW_ARRAY(l->scratch, SpvId, t->rows * t->cols);
    if (!address_open(l, i, t->whole, &a))
        return;
    n = MAX(n, at + 2);
    memcpy(x, i->words + i->first_operand, MIN(spv_n_operands(i), 16) * sizeof *x);
    x[at + 1] = a.stride;
    for (uint32_t k = 0; k < t->rows * t->cols; k++) {
        x[0] = tile_pointer(l, i, &a, t, k);
        if (store)
            x[1] = lower_tile_of(l, i, t, spv_operand(i, 1), k);
        parts[k] = build(l, i, i->op, store ? 0 : t->type, x, MIN(n, 16));
    }
    lower_note(l, i, store ? "stores of tiles" : "loads of tiles");
    if (store)
        edit_remove(l->m, i);
    else
        compose(l, i, t, parts);
}

/* ---- elements -------------------------------------------------------------------------------- */

static SpvId tile_length(Lower *l, SpvInst *at, const LowerTiles *t)
{
    return BUILD(l, at, SpvOpCooperativeMatrixLengthKHR, build_u32(l), t->type);
}

/* The tile that an element is in [0], and which of it that is [1]. Where it is known how many a
 * tile has, passes see which tile it is. */
static void split_index(Lower *l, SpvInst *at, const LowerTiles *t, SpvId number, SpvId to[2])
{
    if (lower_owner(l, t->whole)) {
        uint32_t length = t->tall * t->wide / l->lanes;
        to[0] = build_div(l, at, number, length);
        to[1] = build_mod(l, at, number, length);
        return;
    }
    SpvId length = tile_length(l, at, t);
    to[0] = BUILD(l, at, SpvOpUDiv, build_u32(l), number, length);
    to[1] = BUILD(l, at, SpvOpUMod, build_u32(l), number, length);
}

/* An index into a matrix is one of a tile and one into that, where a chain has it. */
static void split_chain(Lower *l, SpvInst *i)
{
    const SpvType *t = spv_type_of(l->m, spv_operand(i, 0));
    uint32_t n = spv_n_operands(i), made = 1;
    uint32_t *x = NEW_ARRAY(l->scratch, uint32_t, 2 * n);
    bool split = false;
    LowerTiles tiles;
    x[0] = spv_operand(i, 0);
    t = t && t->kind == SPV_POINTER ? t->element : NULL;
    for (uint32_t k = 1; k < n; k++) {
        SpvId index = spv_operand(i, k);
        uint64_t member;
        if (t && tiles_of_type(l, t->id, &tiles)) {
            split_index(l, i, &tiles, build_to_u32(l, i, index), x + made);
            made += 2;
            split = true;
        } else {
            x[made++] = index;
        }
        bool in =
            t && t->kind == SPV_STRUCT && spv_constant(l->m, index, &member) && member < t->count;
        t = !t ? NULL : in ? t->members[member] : t->element;
    }
    if (split)
        edit_become(l->m, i, i->op, x, made);
}

/* The same of literal indices: by way of a variable, where they may be any. */
static void through_variable(Lower *l, SpvInst *i, const LowerTiles *t, uint32_t composite)
{
    SpvId element = t->whole->element->id, v = build_variable(l, i, t->whole->id), x[2];
    split_index(l, i, t, build_const(l, spv_operand(i, composite + 1)), x);
    build_store(l, i, v, spv_operand(i, composite));
    SpvId p = BUILD(l, i, SpvOpAccessChain,
                    spv_pointer_type(l->m, SpvStorageClassFunction, element), v, x[0], x[1]);
    if (!composite) {
        build_replace(l, i, build_load(l, i, element, p));
        return;
    }
    build_store(l, i, p, spv_operand(i, 0));
    build_replace(l, i, build_load(l, i, t->whole->id, v));
}

static void visit(Lower *l, SpvInst *i)
{
    LowerTiles t, of;
    const SpvOpInfo *info = spv_op_info(i->op);
    bool whole = i->type && tiles_of_type(l, i->type, &t);
    switch (i->op) {
    case SpvOpCooperativeMatrixStoreKHR:
        if (tiles_of(l, spv_operand(i, 1), &t))
            transfer(l, i, &t);
        return;
    case SpvOpCooperativeMatrixLengthKHR:
        if (tiles_of_type(l, spv_operand(i, 0), &of))
            build_replace(l, i,
                          BUILD(l, i, SpvOpIMul, i->type, tile_length(l, i, &of),
                                build_const(l, of.rows * of.cols)));
        return;
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain: split_chain(l, i); return;
    case SpvOpCompositeExtract:
    case SpvOpCompositeInsert:
        /* where matrices are staged, tiles are taken out as such */
        if (i->op == SpvOpCompositeExtract && spv_type(l->m, i->type)->kind == SPV_COOPMAT)
            return;
        if (tiles_of(l, spv_operand(i, i->op == SpvOpCompositeInsert), &of))
            through_variable(l, i, &of, i->op == SpvOpCompositeInsert);
        return;
    case SpvOpCooperativeMatrixMulAddKHR:
        if (!whole && tiles_of(l, spv_operand(i, 0), &of)) /* tiles along K only */
            t = (LowerTiles){ spv_type(l->m, i->type), i->type, 1, 1, 0, 0 };
        if (whole || tiles_of(l, spv_operand(i, 0), &of))
            multiply(l, i, &t);
        return;
    default: break;
    }
    if (!whole)
        return;
    if (i->op == SpvOpCooperativeMatrixLoadKHR)
        transfer(l, i, &t);
    else if (i->op == SpvOpCompositeConstruct && spv_n_operands(i) == 1)
        repeat(l, i, &t);
    else if (info && info->flags & SPV_OPF_MATRICES)
        by_tiles(l, i, &t);
}

static void replace_types(Lower *l)
{
    LowerTiles t;
    for (SpvInst *i = l->m->globals.first; i; i = i->next) {
        if (i->op != SpvOpTypeCooperativeMatrixKHR || !tiles_of_type(l, i->id, &t))
            continue;
        uint32_t words[] = { t.type, build_const(l, t.rows * t.cols) };
        edit_become(l->m, i, SpvOpTypeArray, words, 2);
    }
    spv_forget_types(l->m);
}

void fit_matrices(Lower *l)
{
    if (!l->has_tiles)
        return;
    repeat_constants(l);
    lower_each(l, visit);
    if (!l->failed)
        replace_types(l);
}
