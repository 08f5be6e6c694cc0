/* SPDX-License-Identifier: MIT
 *
 * rows: matrices made of arrays that are functions of rows of others, each component of the
 * component in the same place and of numbers that the invocation has for all of its row. In: a
 * module that pass_pipeline has been over. Out: where it is known who holds what, such a matrix is
 * made by those who hold the elements, of those of the others; arrays that nothing needs any more
 * are not made. So a softmax' sums are multiplied by their rows' factors where they are.
 */
#include "lower/internal.h"

enum { MOST_LEAVES = 4, MOST_NODES = 32, MOST_ODD = 2, MOST_OPERANDS = 4 };

/* What the components of an array are: ids of scalars, 0 where another rule holds. */
typedef struct Rows {
    Lower *l;
    const SpvType *type; /* of the matrix */
    bool by_column;
    uint32_t scope;         /* of those who have the arrays */
    uint32_t n, first;      /* components, and the first that the rule holds for */
    uint32_t n_odd;         /* constants in some places */
    uint32_t odd[MOST_ODD]; /* the places */
    SpvId constants[MOST_ODD];
    uint32_t n_matrices, n_numbers, n_nodes;
    SpvId matrices[MOST_LEAVES];                     /* whose rows they are of */
    SpvId numbers[MOST_LEAVES], staged[MOST_LEAVES]; /* of an invocation, and in its row */
    LowerDeal *deal;                                 /* NULL: it only looks */
    bool anyhow;                                     /* whoever holds what */
} Rows;

/* Component k of an array that is made here; 0: it is not known. */
static SpvId component(const Lower *l, SpvId array, uint32_t k)
{
    for (const SpvInst *d = spv_def(l->m, array); d;) {
        uint64_t first;
        switch (d->op) {
        case SpvOpExtractSubArrayQCOM:
            if (!spv_constant(l->m, spv_operand(d, 1), &first))
                return 0;
            k += (uint32_t)first;
            d = spv_def(l->m, spv_operand(d, 0));
            break;
        case SpvOpCompositeInsert:
            if (spv_operand(d, 2) == k)
                return spv_operand(d, 0);
            d = spv_def(l->m, spv_operand(d, 1));
            break;
        case SpvOpCompositeConstruct:
        case SpvOpConstantComposite: return k < spv_n_operands(d) ? spv_operand(d, k) : 0;
        default: return 0;
        }
    }
    return 0;
}

static uint32_t place_in(SpvId *list, uint32_t *n, SpvId id)
{
    uint32_t k = 0;
    while (k < *n && list[k] != id)
        k++;
    if (k == *n && k < MOST_LEAVES)
        list[(*n)++] = id;
    return k;
}

static bool is_scalar(const SpvType *t)
{
    return t && (t->kind == SPV_FLOAT || t->kind == SPV_INT || t->kind == SPV_BOOL);
}

static bool is_constant(const Lower *l, SpvId id)
{
    const SpvInst *d = spv_def(l->m, id);
    return d && !d->block;
}

/* An invocation's own number, the same for its row. */
static SpvId of_number(Rows *r, SpvId id)
{
    const SpvType *t = spv_type_of(r->l->m, id);
    if (is_constant(r->l, id))
        return id;
    if (t->kind == SPV_BOOL)
        return 0;
    uint32_t k = place_in(r->numbers, &r->n_numbers, id);
    return k == MOST_LEAVES ? 0 : r->deal ? r->staged[k] : id;
}

/* The matrix whose rows' components they are, each in its place; 0: there is none. */
static SpvId rows_of(const Rows *r, const SpvId *x)
{
    Lower *l = r->l;
    SpvId array = spv_operand(spv_def(l->m, x[r->first]), 0);
    for (uint32_t k = 0; k < r->n; k++) {
        const SpvInst *d = x[k] ? spv_def(l->m, x[k]) : NULL;
        if (d && (d->op != SpvOpCompositeExtract || spv_n_operands(d) != 2 ||
                  spv_operand(d, 0) != array || spv_operand(d, 1) != k))
            return 0;
    }
    const SpvInst *made = spv_def(l->m, array);
    if (!made || made->op != SpvOpCompositeExtractCoopMatQCOM)
        return 0;
    SpvId matrix = spv_operand(made, 0);
    const SpvType *t = spv_type_of(l->m, matrix);
    bool same = t->rows == r->type->rows && t->cols == r->type->cols &&
                t->scope == r->type->scope &&
                (t->use == SpvCooperativeMatrixUseMatrixBKHR) == r->by_column &&
                spv_type(l->m, made->type)->element == t->element;
    bool held = r->anyhow || (deal_is_known(l, t) && lower_are_alike(l, t, r->type));
    return same && held ? matrix : 0;
}

static SpvId of_all(Rows *r, const SpvId *x);

/* They are made alike, of operands that are. */
static SpvId of_same(Rows *r, const SpvId *x)
{
    Lower *l = r->l;
    const SpvInst *one = spv_def(l->m, x[r->first]);
    uint32_t n = spv_n_operands(one), made[MOST_OPERANDS + 2];
    uint32_t literals = one->op == SpvOpExtInst ? 2 : 0;
    if (!one->block || !spv_is_pure(one) || n > MOST_OPERANDS + literals ||
        !is_scalar(spv_type(l->m, one->type)))
        return 0;
    SpvId *part = NEW_ARRAY(l->scratch, SpvId, r->n);
    for (uint32_t o = 0; o < n; o++) {
        for (uint32_t k = 0; k < r->n; k++) {
            const SpvInst *d = x[k] ? spv_def(l->m, x[k]) : NULL;
            part[k] = 0;
            if (!d)
                continue;
            if (d->op != one->op || d->type != one->type || spv_n_operands(d) != n ||
                (o < literals && spv_operand(d, o) != spv_operand(one, o)))
                return 0;
            part[k] = spv_operand(d, o);
        }
        bool scalar = o >= literals && is_scalar(spv_type_of(l->m, part[r->first]));
        made[o] = o < literals ? spv_operand(one, o) : scalar ? of_all(r, part) : 0;
        if (!made[o])
            return 0;
    }
    if (!r->deal)
        return one->id;
    SpvId value = build(l, r->deal->at, one->op, one->type, made, n);
    spv_def(l->m, value)->ext_set = one->ext_set;
    lower_hand_down(l, one->id, &value, 1);
    return value;
}

/* What components are for an element, before the deal's place; while it only looks, any id. */
static SpvId of_all(Rows *r, const SpvId *x)
{
    bool same = true;
    for (uint32_t k = 0; k < r->n; k++)
        same &= !x[k] || x[k] == x[r->first];
    if (same)
        return of_number(r, x[r->first]);
    const SpvInst *one = spv_def(r->l->m, x[r->first]);
    if (++r->n_nodes > MOST_NODES || !one)
        return 0;
    if (one->op != SpvOpCompositeExtract)
        return of_same(r, x);
    SpvId matrix = rows_of(r, x);
    uint32_t k = matrix ? place_in(r->matrices, &r->n_matrices, matrix) : MOST_LEAVES;
    return k == MOST_LEAVES ? 0 : r->deal ? deal_get(r->deal, k) : matrix;
}

/* Constants among others are in places of their own. */
static bool part_odd(Rows *r, SpvId *x)
{
    r->first = r->n;
    for (uint32_t k = 0; k < r->n; k++) {
        if (!x[k])
            return false;
        if (!is_constant(r->l, x[k])) {
            r->first = MIN(r->first, k);
        } else if (r->n_odd == MOST_ODD) {
            return false;
        } else {
            r->odd[r->n_odd] = k;
            r->constants[r->n_odd++] = x[k];
            x[k] = 0;
        }
    }
    return r->first < r->n;
}

/* Each invocation's own where those who hold its row's elements find it. */
static void stage_numbers(Rows *r, SpvInst *at)
{
    Lower *l = r->l;
    uint32_t lanes = place_lanes(l, r->scope);
    for (uint32_t k = 0; k < r->n_numbers; k++) {
        SpvId type = spv_def(l->m, r->numbers[k])->type, index = place_lane(l, at, r->scope);
        staging_of(l, type, r->scope, (k + 1) * lanes);
        index = build_add(l, at, index, build_const(l, k * lanes));
        staging_store(l, at, r->scope, index, r->numbers[k]);
    }
    if (r->n_numbers)
        place_barrier(l, at, r->scope);
}

static void find_numbers(Rows *r, SpvId line)
{
    Lower *l = r->l;
    for (uint32_t k = 0; k < r->n_numbers; k++) {
        SpvId type = spv_def(l->m, r->numbers[k])->type;
        SpvId index = build_const(l, k * place_lanes(l, r->scope));
        r->staged[k] =
            staging_load(l, r->deal->at, type, r->scope, build_add(l, r->deal->at, line, index));
    }
}

static SpvId element_of(Rows *r, const SpvId *x)
{
    Lower *l = r->l;
    LowerDeal *d = r->deal;
    SpvId line = r->by_column ? d->element.column : d->element.row;
    SpvId along = r->by_column ? d->element.row : d->element.column;
    if (r->scope == SpvScopeWorkgroup)
        line =
            build_add(l, d->at, line, (r->by_column ? part_column : part_row)(l, d->at, r->type));
    find_numbers(r, line);
    r->n_nodes = 0;
    SpvId value = of_all(r, x);
    for (uint32_t k = 0; k < r->n_odd; k++) {
        SpvId there = BUILD(l, d->at, SpvOpIEqual, build_bool(l), along, build_const(l, r->odd[k]));
        value = build_select(l, d->at, there, r->constants[k], value);
    }
    return value;
}

static void make(Rows *r, SpvInst *i, const SpvId *x)
{
    Lower *l = r->l;
    stage_numbers(r, i);
    LowerDealt dealt = { .from = r->matrices, .n_from = r->n_matrices };
    LowerDeal d = deal_open(l, i, r->type, &dealt);
    r->deal = &d;
    while (deal_next(&d))
        deal_put(&d, element_of(r, x));
    SpvId matrix = deal_close(&d);
    if (r->n_numbers)
        place_barrier(l, i, r->scope);
    l->made_rows = true;
    lower_note(l, i, "made of others' elements");
    build_replace(l, i, matrix);
}

/* The array's components, as a matrix' row is made of them; NULL: nothing holds for them. */
static SpvId *open_rows(Rows *r, Lower *l, const SpvInst *i)
{
    SpvId array = spv_operand(i, 0);
    const SpvType *t = spv_type(l->m, i->type), *from = spv_type_of(l->m, array);
    r->l = l;
    r->type = t;
    r->by_column = t->use == SpvCooperativeMatrixUseMatrixBKHR;
    r->n = from->count;
    if (from->element != t->element || r->n != (r->by_column ? t->rows : t->cols))
        return NULL;
    SpvId *x = NEW_ARRAY(l->scratch, SpvId, r->n);
    for (uint32_t k = 0; k < r->n; k++)
        x[k] = component(l, array, k);
    return part_odd(r, x) && of_all(r, x) && r->n_matrices ? x : NULL;
}

bool lower_has_rows(Lower *l)
{
    for (SpvFunction *f = l->m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next) {
                Rows r = { .anyhow = true };
                if (i->op == SpvOpCompositeConstructCoopMatQCOM && open_rows(&r, l, i))
                    return true;
            }
    return false;
}

static void visit(Lower *l, SpvInst *i)
{
    const SpvType *t = i->op == SpvOpCompositeConstructCoopMatQCOM ? spv_type(l->m, i->type) : NULL;
    if (!t || !deal_is_known(l, t))
        return;
    Rows r = { 0 };
    SpvId *x = open_rows(&r, l, i);
    r.scope =
        lower_is_part(l, t) && !lower_is_own_part(l, t, r.by_column) ? SpvScopeWorkgroup : t->scope;
    /* a part of what a whole row is made of is not a row */
    LowerPart whole = lower_part(l, t);
    if (x && (r.by_column ? whole.row_parts : whole.column_parts) == 1)
        make(&r, i, x);
}

void lower_rows(Lower *l)
{
    const PassOptions o = { .entry = l->entry.name };
    PassContext c = { .module = l->m,
                      .entry = l->entry,
                      .options = &o,
                      .sink = l->sink,
                      .scratch = l->scratch };
    lower_each(l, visit);
    for (SpvFunction *f = l->m->functions; f && l->made_rows && !l->failed; f = f->next) {
        c.entry.function = f;
        l->failed |= !pass_simplify(&c);
    }
    if (l->made_rows) /* what nothing used any more is gone */
        memset(l->places, 0, sizeof l->places);
}
