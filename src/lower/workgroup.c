/* SPDX-License-Identifier: MIT
 *
 * lower_workgroup: matrices of a workgroup's scope become ones of its subgroups', a part each,
 * under their types' ids. In: a module whose types have not been decided about. Out: no such
 * matrices, where all that is done with them each subgroup can do alone; else the module as it was.
 *
 * The subgroups are a grid of R x C. Accumulators of M x N are dealt to it in parts of M / R x
 * N / C. Of A a subgroup has the rows of its part and all columns, of B the columns and all rows,
 * for a product needs these; so subgroups of a line of the grid have the same, each its own copy.
 * Matrices too small for the grid are dealt to fewer parts, and copies there are of these as well.
 * Which grid it is follows from what is done: rows can be reduced, and accumulators become A, where
 * C is 1, columns and B where R is; among those that are left the one that computes and loads least
 * wins.
 */
#include "lower/tensor.h"

typedef struct Grid {
    Lower *l;
    uint32_t rows, columns; /* of subgroups */
} Grid;

static const SpvType *matrix_type(Lower *l, SpvId type)
{
    const SpvType *t = type ? spv_type(l->m, type) : NULL;
    return t && t->kind == SPV_COOPMAT && t->scope == SpvScopeWorkgroup ? t : NULL;
}

static const SpvType *matrix_of(Lower *l, SpvId value)
{
    const SpvInst *i = spv_def(l->m, value);
    return i ? matrix_type(l, i->type) : NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Of `size` rows or columns, for as many subgroups; each whole tiles as targets have them. */
static uint32_t parts_of(uint32_t size, uint32_t subgroups)
{
    uint32_t tile = size % 16 == 0 ? 16 : size % 8 == 0 ? 8 : size;
    while (size % (subgroups * tile))
        subgroups /= 2;
    return subgroups;
}

static LowerPart part_of(const Grid *g, const SpvType *t)
{
    LowerPart p = { t->rows, t->cols, 1, 1 };
    if (t->use != SpvCooperativeMatrixUseMatrixBKHR)
        p.row_parts = parts_of(t->rows, g->rows);
    if (t->use != SpvCooperativeMatrixUseMatrixAKHR)
        p.column_parts = parts_of(t->cols, g->columns);
    return p;
}

static bool is_copied(const Grid *g, const SpvType *t)
{
    LowerPart p = part_of(g, t);
    return p.row_parts * p.column_parts < g->rows * g->columns;
}

bool lower_is_part(const Lower *l, const SpvType *matrix)
{
    return matrix->id < l->n_parts && l->parts[matrix->id].rows;
}

LowerPart lower_part(const Lower *l, const SpvType *matrix)
{
    return lower_is_part(l, matrix) ? l->parts[matrix->id]
                                    : (LowerPart){ matrix->rows, matrix->cols, 1, 1 };
}

static SpvId part_number(Lower *l, SpvInst *at, bool column)
{
    SpvId subgroup = place_subgroup(l, at);
    return column ? build_mod(l, at, subgroup, l->grid_columns)
                  : build_div(l, at, subgroup, l->grid_columns);
}

static SpvId part_begins(Lower *l, SpvInst *at, bool column, uint32_t parts, uint32_t size)
{
    if (parts == 1)
        return build_const(l, 0);
    SpvId number = part_number(l, at, column);
    if (parts != (column ? l->grid_columns : l->subgroups / l->grid_columns))
        number = build_mod(l, at, number, parts);
    return build_mul(l, at, number, build_const(l, size / parts));
}

SpvId part_row(Lower *l, SpvInst *at, const SpvType *matrix)
{
    LowerPart p = lower_part(l, matrix);
    return part_begins(l, at, false, p.row_parts, p.rows);
}

SpvId part_column(Lower *l, SpvInst *at, const SpvType *matrix)
{
    LowerPart p = lower_part(l, matrix);
    return part_begins(l, at, true, p.column_parts, p.columns);
}

/* ---- can each subgroup do it alone? ---------------------------------------------------------- */

static bool same_rows(const Grid *g, const SpvType *a, const SpvType *b)
{
    return part_of(g, a).row_parts == part_of(g, b).row_parts;
}

static bool same_columns(const Grid *g, const SpvType *a, const SpvType *b)
{
    return part_of(g, a).column_parts == part_of(g, b).column_parts;
}

static bool reduces_alone(const Grid *g, const SpvInst *i, const SpvType *from, const SpvType *to)
{
    uint32_t mode = spv_operand(i, 1);
    LowerPart p = part_of(g, from);
    if (mode & SpvCooperativeMatrixReduce2x2Mask)
        return same_rows(g, from, to) && same_columns(g, from, to);
    bool rows = mode & SpvCooperativeMatrixReduceRowMask,
         columns = mode & SpvCooperativeMatrixReduceColumnMask;
    return (rows ? p.column_parts == 1 : same_columns(g, from, to)) &&
           (columns ? p.row_parts == 1 : same_rows(g, from, to));
}

/* Functions that are called for elements are called for every copy of them. */
static bool has_effects(Lower *l, SpvId function, uint32_t depth)
{
    SpvId called[SPV_MAX_CALLEES];
    const SpvFunction *f = spv_function(l->m, function);
    for (const SpvBlock *b = f ? f->first : NULL; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next) {
            const SpvInst *root =
                i->op == SpvOpStore ? pointer_root(l->m, spv_operand(i, 0)) : NULL;
            bool local = root && root->op == SpvOpVariable &&
                         spv_operand(root, 0) == SpvStorageClassFunction;
            bool flows = i->op >= SpvOpPhi && i->op <= SpvOpUnreachable;
            if (!local && !flows && i->op != SpvOpLoad && i->op != SpvOpVariable &&
                i->op != SpvOpFunctionCall && !spv_is_pure(i))
                return true;
            for (uint32_t n = spv_callees(l->m, i, called), k = 0; k < n; k++)
                if (depth > 8 || has_effects(l, called[k], depth + 1))
                    return true;
        }
    return !f;
}

static bool calls_quietly(const Grid *g, const SpvInst *i, const SpvType *t)
{
    SpvId called[SPV_MAX_CALLEES];
    if (is_copied(g, t))
        for (uint32_t n = spv_callees(g->l->m, i, called), k = 0; k < n; k++)
            if (has_effects(g->l, called[k], 0))
                return false;
    return true;
}

/* The matrix that an access to a part of something leads into, if it does. */
static const SpvType *entered(Lower *l, const SpvInst *i)
{
    bool chain = i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain;
    uint32_t first = i->op == SpvOpCompositeInsert ? 2 : 1;
    if (!chain && i->op != SpvOpCompositeExtract && i->op != SpvOpCompositeInsert)
        return NULL;
    const SpvType *t = spv_type_of(l->m, spv_operand(i, first - 1));
    t = t && t->kind == SPV_POINTER ? t->element : t;
    for (uint32_t k = first; t && k < spv_n_operands(i); k++) {
        uint64_t member = spv_operand(i, k);
        if (t->kind == SPV_COOPMAT)
            return matrix_type(l, t->id);
        if (t->kind != SPV_STRUCT)
            t = t->element;
        else if ((chain && !spv_constant(l->m, spv_operand(i, k), &member)) || member >= t->count)
            return NULL;
        else
            t = t->members[member];
    }
    return NULL;
}

static bool is_alone(const Grid *g, const SpvInst *i)
{
    Lower *l = g->l;
    const SpvType *t = matrix_type(l, i->type), *in = entered(l, i);
    const SpvType *from = spv_n_operands(i) ? matrix_of(l, spv_operand(i, 0)) : NULL;
    const SpvOpInfo *info = spv_op_info(i->op);
    if (in && is_copied(g, in)) /* what one copy's element becomes the others' must */
        return false;
    switch (i->op) {
    case SpvOpCooperativeMatrixReduceNV:
        return !t || (reduces_alone(g, i, from, t) && calls_quietly(g, i, from));
    case SpvOpCooperativeMatrixTransposeNV: return !t || g->rows * g->columns == 1;
    case SpvOpCooperativeMatrixPerElementOpNV:
    case SpvOpCooperativeMatrixLoadTensorNV: return !t || calls_quietly(g, i, t);
    default: break;
    }
    bool converts = t && from && info && info->flags & SPV_OPF_MATRICES && spv_n_operands(i) == 1;
    return !converts || (same_rows(g, from, t) && same_columns(g, from, t));
}

/* ---- which grid ------------------------------------------------------------------------------ */

/* Of a subgroup: multiply-adds, of which a tile takes about as long as eight loads of lines, and
 * elements that it loads for them. */
static uint64_t cost_of(const Grid *g, const SpvInst *i)
{
    const SpvType *a = matrix_of(g->l, spv_operand(i, 0)), *c = matrix_type(g->l, i->type);
    LowerPart p = part_of(g, c);
    uint64_t rows = p.rows / p.row_parts, columns = p.columns / p.column_parts;
    return a ? a->cols * (rows * columns / 8 + rows + columns) : 0;
}

/* UINT64_MAX: not with that grid. */
static uint64_t cost_of_all(const Grid *g)
{
    uint64_t cost = 0;
    for (SpvFunction *f = g->l->m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                if (!is_alone(g, i))
                    return UINT64_MAX;
                if (i->op == SpvOpCooperativeMatrixMulAddKHR && matrix_type(g->l, i->type))
                    cost += cost_of(g, i);
            }
    return cost;
}

static bool choose(Grid *g, uint32_t subgroups)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t columns = 1; columns <= subgroups; columns *= 2) {
        Grid one = { g->l, subgroups / columns, columns };
        uint64_t cost = cost_of_all(&one);
        if (cost >= least)
            continue;
        least = cost;
        *g = one;
    }
    return least != UINT64_MAX;
}

/* Where the target has matrices of subgroups, and the workgroup's are not its own affair. */
static bool deals(const Lower *l)
{
    const LowerProfile *p = l->profile;
    bool subgroups = false, workgroups = p->features & PROFILE_HAS_NV2;
    for (uint32_t k = 0; k < p->n_shapes; k++) {
        workgroups |= p->shapes[k].scope == SpvScopeWorkgroup;
        subgroups |= p->shapes[k].scope == SpvScopeSubgroup;
    }
    bool whole = l->invocations % l->width == 0 && is_pow2(l->invocations / l->width);
    bool dealt = p->ownership != PROFILE_TILES || l->width == p->subgroup_size;
    return subgroups && !(p->features & PROFILE_HAS_SLOW_MATRICES) && (!workgroups || l->widened) &&
           whole && dealt && l->width <= p->max_subgroup_size;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

/* To where the part begins; its layout and its stride stay. */
static void move_pointer(Lower *l, SpvInst *i, const SpvType *t)
{
    LowerAddress a;
    uint32_t at = i->op == SpvOpCooperativeMatrixStoreKHR ? 2 : 1, n = spv_n_operands(i), x[16];
    LowerPart p = lower_part(l, t);
    if ((p.row_parts == 1 && p.column_parts == 1) || !address_open(l, i, t, &a))
        return;
    SpvId line = part_row(l, i, t), along = part_column(l, i, t);
    uint32_t step = p.columns / p.column_parts;
    if (a.by_column) {
        SpvId row = line;
        line = along;
        along = row;
        step = p.rows / p.row_parts;
    }
    uint64_t bytes = step * a.element->size;
    if (bytes % a.pointee->size && along != build_const(l, 0)) {
        lower_refuse(l, i, "a subgroup's part begins within what its pointer leads to");
        return;
    }
    memcpy(x, i->words + i->first_operand, MIN(n, 16) * sizeof *x);
    /* along is a multiple of step; pointees may be larger than elements, or parts of them */
    uint32_t size = (uint32_t)a.element->size, unit = (uint32_t)a.pointee->size;
    along = size >= unit ? build_mul(l, i, along, build_const(l, size / unit))
                         : build_div(l, i, along, unit / size);
    x[0] = address_pointer(l, i, &a, build_add(l, i, build_mul(l, i, line, a.stride), along));
    x[at + 1] = a.stride;
    edit_become(l->m, i, i->op, x, MIN(MAX(n, at + 2), 16));
}

SpvId part_is_first(Lower *l, SpvInst *at, const SpvType *matrix)
{
    LowerPart p = lower_part(l, matrix);
    const uint32_t parts[2] = { p.row_parts, p.column_parts };
    SpvId one = 0;
    for (uint32_t k = 0; k < 2 && lower_is_part(l, matrix); k++) {
        if (parts[k] == (k ? l->grid_columns : l->subgroups / l->grid_columns))
            continue;
        SpvId first = build_less(l, at, part_number(l, at, k), build_const(l, parts[k]));
        one = one ? BUILD(l, at, SpvOpLogicalAnd, build_bool(l), one, first) : first;
    }
    return one;
}

/* Of copies one is stored. */
static void store_once(Lower *l, SpvInst *i, const SpvType *t)
{
    SpvId one = part_is_first(l, i, t);
    if (!one)
        return;
    SpvInst *in = build_if(l, i, one);
    SpvInst *copy = spv_make(l->m, i->op, 0, 0, i->words + i->first_operand, spv_n_operands(i));
    copy->file = i->file;
    copy->line = i->line;
    copy->column = i->column;
    spv_insert_before(in, copy);
    edit_remove(l->m, i);
}

static void rewrite(const Grid *g)
{
    Lower *l = g->l;
    VEC(SpvInst *) accesses = { 0 };
    for (SpvFunction *f = l->m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                if (i->op >= SpvOpCooperativeMatrixLoadKHR &&
                    i->op <= SpvOpCooperativeMatrixStoreTensorNV)
                    vec_push(l->scratch, &accesses, i);
    for (uint32_t k = 0; k < accesses.len && !l->failed; k++) {
        SpvInst *i = accesses.data[k];
        bool khr = i->op == SpvOpCooperativeMatrixStoreKHR;
        bool store = khr || i->op == SpvOpCooperativeMatrixStoreTensorNV;
        const SpvType *t = store ? matrix_of(l, spv_operand(i, 1)) : matrix_type(l, i->type);
        if (!t)
            continue;
        if (khr || i->op == SpvOpCooperativeMatrixLoadKHR)
            move_pointer(l, i, t);
        if (store)
            store_once(l, i, t);
        else
            lower_note(l, i, "a part each subgroup");
    }
}

static void replace_types(const Grid *g)
{
    Lower *l = g->l;
    SpvId scope = build_const(l, SpvScopeSubgroup);
    for (SpvInst *i = l->m->globals.first; i; i = i->next) {
        if (!l->n_parts || i->id >= l->n_parts || !l->parts[i->id].rows)
            continue;
        LowerPart p = l->parts[i->id];
        uint32_t words[] = { spv_operand(i, 0), scope, build_const(l, p.rows / p.row_parts),
                             build_const(l, p.columns / p.column_parts), spv_operand(i, 4) };
        edit_become(l->m, i, i->op, words, 5);
    }
    spv_forget_types(l->m);
}

void lower_workgroup(Lower *l)
{
    Grid g = { .l = l };
    VEC(const SpvType *) types = { 0 };
    for (SpvInst *i = l->m->globals.first; i; i = i->next)
        if (i->op == SpvOpTypeCooperativeMatrixKHR && matrix_type(l, i->id))
            vec_push(l->scratch, &types, spv_type(l->m, i->id));
    if (!types.len || !deals(l) || !choose(&g, l->subgroups))
        return;
    l->undealt = spv_clone(l->m->arena, l->m);
    l->grid_columns = g.columns;
    l->n_parts = l->m->bound;
    l->parts = NEW_ARRAY(l->scratch, LowerPart, l->n_parts);
    for (uint32_t k = 0; k < types.len; k++)
        l->parts[types.data[k]->id] = part_of(&g, types.data[k]);
    rewrite(&g);
    if (!l->failed)
        replace_types(&g);
}

/* ---- types that have become the same --------------------------------------------------------- */

typedef struct Renaming {
    SpvId *with; /* by id of a type, n of them; 0: it stays */
    uint32_t n;
    PassIdWords ids;
} Renaming;

static void rename_in(SpvInstList *list, Renaming *r)
{
    for (SpvInst *i = list->first; i; i = i->next) {
        if (i->type && i->type < r->n && r->with[i->type])
            i->words[1] = i->type = r->with[i->type];
        edit_ids(i, &r->ids);
        for (uint32_t k = 0; k < r->ids.n; k++) {
            uint32_t *id = &i->words[r->ids.at[k]];
            if (*id < r->n && r->with[*id])
                *id = r->with[*id];
        }
    }
}

static bool is_same(const SpvType *a, const SpvType *b)
{
    return a->element == b->element && a->scope == b->scope && a->use == b->use &&
           a->rows == b->rows && a->cols == b->cols;
}

/* SPIR-V 2.8: types that are no aggregates are declared once. */
void lower_workgroup_close(Lower *l)
{
    Renaming *r = NEW(l->scratch, Renaming);
    VEC(SpvInst *) kept = { 0 }, same = { 0 };
    r->with = NEW_ARRAY(l->scratch, SpvId, l->n_parts + 1);
    r->n = l->n_parts;
    for (SpvInst *i = l->m->globals.first; i && r->n; i = i->next) {
        if (i->op != SpvOpTypeCooperativeMatrixKHR || i->id >= r->n)
            continue;
        for (uint32_t k = 0; k < kept.len && !r->with[i->id]; k++)
            if (is_same(spv_type(l->m, kept.data[k]->id), spv_type(l->m, i->id)))
                r->with[i->id] = kept.data[k]->id;
        if (r->with[i->id])
            vec_push(l->scratch, &same, i);
        else
            vec_push(l->scratch, &kept, i);
    }
    for (uint32_t k = 0; k < same.len; k++)
        edit_remove(l->m, same.data[k]);
    if (!same.len)
        return;
    rename_in(&l->m->globals, r);
    for (SpvFunction *f = l->m->functions; f; f = f->next) {
        rename_in(&f->head, r);
        for (SpvBlock *b = f->first; b; b = b->next)
            rename_in(&b->insts, r);
    }
    spv_forget_types(l->m);
}
