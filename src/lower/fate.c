/* SPDX-License-Identifier: MIT
 *
 * fate: what becomes of a matrix type on the target. It stays where the target lists its shape; it
 * becomes tiles of a listed one where these divide it; else, or where a multiply-add that it takes
 * part in is not listed, it becomes an array of elements, and with it whatever it is multiplied by
 * or added to; and so does a type of fp8 that there is other arithmetic with, which targets lack.
 * One tile a type: where multiply-adds want different ones, their types become arrays.
 */
#include "lower/internal.h"

enum { UNDECIDED = FATE_ARRAY + 1 };

typedef struct Product {
    const SpvInst *inst;
    const SpvType *t[4]; /* A, B, C, result */
} Product;

typedef struct Deciding {
    Lower *l;
    VEC(Product) products;
    bool changed;
} Deciding;

LowerType lower_type_of(const SpvType *t, bool is_signed)
{
    static const LowerType small[] = { [SPV_BF16] = PROFILE_BF16,
                                       [SPV_E4M3] = PROFILE_E4M3,
                                       [SPV_E5M2] = PROFILE_E5M2 };
    uint32_t step = t->bits == 8 ? 0 : t->bits == 16 ? 1 : t->bits == 32 ? 2 : 3;
    if (t->kind == SPV_INT)
        return (LowerType)((is_signed ? PROFILE_S8 : PROFILE_U8) + step);
    if (t->format == SPV_IEEE)
        return t->bits == 16 ? PROFILE_F16 : t->bits == 32 ? PROFILE_F32 : PROFILE_F64;
    return t->format <= SPV_E5M2 ? small[t->format] : PROFILE_N_TYPES;
}

LowerFate lower_fate(const Lower *l, const SpvType *t)
{
    return t->id < l->n_fates ? l->fates[t->id] : (LowerFate){ FATE_STAYS, t->rows, t->cols };
}

bool lower_is_array(const Lower *l, const SpvType *t)
{
    return t && t->kind == SPV_COOPMAT && lower_fate(l, t).kind == FATE_ARRAY;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Rows and columns of operand k of a shape, of a matrix's own where the shape takes any. */
static LowerFate tile_of(const LowerShape *s, uint32_t k, const SpvType *t)
{
    uint32_t rows = k == 1 ? s->k : s->m, cols = k == 0 ? s->k : s->n;
    if (!s->m || s->flexible)
        return (LowerFate){ FATE_STAYS, t->rows, t->cols };
    return (LowerFate){ rows == t->rows && cols == t->cols ? FATE_STAYS : FATE_TILES, rows, cols };
}

static bool divides(const Lower *l, LowerFate f, const SpvType *t)
{
    LowerFate now = l->fates[t->id];
    bool same = now.kind == UNDECIDED || (now.rows == f.rows && now.cols == f.cols);
    if (l->profile->ownership == PROFILE_TILES && f.rows != tiles_size(t->rows, t->cols))
        return false; /* elements would be dealt otherwise than of other types of its size */
    return same && t->rows % f.rows == 0 && t->cols % f.cols == 0;
}

/* Of a shape that is not of one size; others are asked whether they divide. */
static bool is_of_size(const Lower *l, const LowerShape *s, uint32_t k, const SpvType *t)
{
    uint32_t rows = k == 1 ? s->k : s->m, cols = k == 0 ? s->k : s->n,
             most = l->profile->flexible_dimension;
    if (!s->flexible)
        return true;
    return t->rows % rows == 0 && t->cols % cols == 0 &&
           (!most || (t->rows <= most && t->cols <= most)) &&
           (!s->invocations || s->invocations == l->invocations);
}

static bool lists(const Lower *l, const Product *p, const LowerShape *s)
{
    uint32_t operands = spv_n_operands(p->inst) > 3 ? spv_operand(p->inst, 3) : 0;
    const LowerType listed[] = { s->a, s->b, s->c, s->result };
    bool saturates = operands & SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask;
    if (s->scope != p->t[3]->scope || s->saturating != saturates)
        return false;
    for (uint32_t k = 0; k < 4; k++)
        if (lower_type_of(p->t[k]->element, operands >> k & 1) != listed[k] ||
            !divides(l, tile_of(s, k, p->t[k]), p->t[k]) || !is_of_size(l, s, k, p->t[k]))
            return false;
    /* saturates once, in the end */
    return !saturates || !s->m || s->flexible || s->k == p->t[0]->cols;
}

static bool is_known(const Lower *l, LowerType type, uint32_t use, uint32_t rows, uint32_t cols)
{
    for (uint32_t k = 0; k < l->profile->n_owners; k++) {
        const LowerOwner *o = &l->profile->owners[k];
        if (o->type == type && o->use == use && o->rows == rows && o->cols == cols)
            return true;
    }
    return false;
}

/* Any size before one that matrices are tiles of, and large tiles before small ones. But where rows
 * are made of others' rows, tiles come first of which it is known who holds what. */
static uint64_t worth(const Lower *l, const LowerShape *s)
{
    const uint32_t c = SpvCooperativeMatrixUseMatrixAccumulatorKHR;
    uint64_t size = (uint64_t)s->m * s->n * s->k;
    if (!s->m || s->flexible)
        return UINT64_MAX / 2;
    return l->has_rows && is_known(l, s->result, c, s->m, s->n) ? UINT64_MAX / 2 + size : size;
}

static const LowerShape *best_for(const Lower *l, const Product *p)
{
    const LowerShape *best = NULL;
    for (uint32_t k = 0; k < l->profile->n_shapes; k++) {
        const LowerShape *s = &l->profile->shapes[k];
        if (lists(l, p, s) && (!best || worth(l, s) > worth(l, best)))
            best = s;
    }
    return best;
}

/* ---- deciding -------------------------------------------------------------------------------- */

static void decide(Deciding *d, const SpvType *t, LowerFate f)
{
    LowerFate *now = &d->l->fates[t->id];
    d->changed |= now->kind != f.kind;
    *now = f;
}

static void decide_product(Deciding *d, const Product *p)
{
    bool array = false;
    for (uint32_t k = 0; k < 4; k++)
        array |= d->l->fates[p->t[k]->id].kind == FATE_ARRAY;
    const LowerShape *s = array ? NULL : best_for(d->l, p);
    for (uint32_t k = 0; k < 4; k++)
        decide(d, p->t[k], s ? tile_of(s, k, p->t[k]) : (LowerFate){ FATE_ARRAY, 0, 0 });
}

/* A type that nothing multiplies: the largest tile that is listed for its use. */
static void decide_alone(Deciding *d, const SpvType *t)
{
    const LowerProfile *p = d->l->profile;
    LowerFate f = { FATE_ARRAY, 0, 0 };
    uint32_t most = 0;
    for (uint32_t k = 0; k < p->n_shapes; k++) {
        const LowerShape *s = &p->shapes[k];
        uint32_t operand = t->use == SpvCooperativeMatrixUseMatrixAKHR   ? 0
                           : t->use == SpvCooperativeMatrixUseMatrixBKHR ? 1
                                                                         : 2;
        const LowerType of[] = { s->a, s->b, s->c };
        bool fits = s->scope == t->scope && (of[operand] == lower_type_of(t->element, false) ||
                                             of[operand] == lower_type_of(t->element, true));
        LowerFate tile = tile_of(s, operand, t);
        uint32_t size = tile.rows * tile.cols;
        if (!fits || !divides(d->l, tile, t) || !is_of_size(d->l, s, operand, t))
            continue;
        if (d->l->has_rows && is_known(d->l, of[operand], t->use, tile.rows, tile.cols))
            size = UINT32_MAX;
        if (f.kind == FATE_ARRAY || size > most) {
            f = tile;
            most = size;
        }
    }
    decide(d, t, f);
}

static bool is_arithmetic(uint16_t op)
{
    static const uint16_t ops[] = { SpvOpFNegate, SpvOpFAdd, SpvOpFSub,
                                    SpvOpFMul,    SpvOpFDiv, SpvOpMatrixTimesScalar };
    for (uint32_t k = 0; k < COUNT_OF(ops); k++)
        if (ops[k] == op)
            return true;
    return false;
}

static void collect_arithmetic(Deciding *d, const SpvInst *i)
{
    const SpvType *t = is_arithmetic(i->op) ? spv_type(d->l->m, i->type) : NULL;
    if (t && t->kind == SPV_COOPMAT &&
        (t->element->format == SPV_E4M3 || t->element->format == SPV_E5M2))
        d->l->fates[t->id].kind = FATE_ARRAY;
}

static void collect(Deciding *d)
{
    Lower *l = d->l;
    for (SpvFunction *f = l->m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                collect_arithmetic(d, i);
                if (i->op != SpvOpCooperativeMatrixMulAddKHR)
                    continue;
                Product p = { .inst = i, .t[3] = spv_type(l->m, i->type) };
                for (uint32_t k = 0; k < 3; k++)
                    p.t[k] = spv_type_of(l->m, spv_operand(i, k));
                vec_push(l->scratch, &d->products, p);
            }
}

static void decide_fates(Lower *l)
{
    Deciding d = { .l = l };
    /* tiles are dealt to whole subgroups of one size */
    bool deals = l->profile->ownership != PROFILE_TILES || l->lanes == l->profile->subgroup_size;
    deals = deals && !(l->profile->features & PROFILE_HAS_SLOW_MATRICES);
    uint32_t undecided = l->profile->n_shapes && deals ? UNDECIDED : FATE_ARRAY;
    l->n_fates = l->m->bound;
    l->fates = NEW_ARRAY(l->scratch, LowerFate, l->n_fates);
    for (uint32_t k = 0; k < l->n_fates; k++)
        l->fates[k].kind = undecided;
    for (const SpvInst *i = l->m->globals.first; i; i = i->next) {
        const SpvType *t = i->op == SpvOpTypeCooperativeMatrixKHR ? spv_type(l->m, i->id) : NULL;
        /* no subgroup of the target's is one of the kernel's */
        if (t && t->scope == SpvScopeSubgroup && l->width > l->profile->max_subgroup_size)
            l->fates[t->id].kind = FATE_ARRAY;
        if (t && (lower_lacks_float(l, t->element) || lower_is_small(l, t->element) ||
                  lower_lacks_storage(l, t->element)))
            l->fates[t->id].kind = FATE_ARRAY;
    }
    collect(&d);
    do {
        d.changed = false;
        for (uint32_t k = 0; k < d.products.len; k++)
            decide_product(&d, &d.products.data[k]);
    } while (d.changed);
    for (const SpvInst *i = l->m->globals.first; i; i = i->next) {
        if (i->op != SpvOpTypeCooperativeMatrixKHR)
            continue;
        if (l->fates[i->id].kind == UNDECIDED)
            decide_alone(&d, spv_type(l->m, i->id));
        l->has_arrays |= l->fates[i->id].kind == FATE_ARRAY;
        l->has_tiles |= l->fates[i->id].kind == FATE_TILES;
    }
}

/* Products that want different tiles may leave none for any of them. */
void lower_decide_fates(Lower *l)
{
    place_choose_blocks(l);
    decide_fates(l);
    if (l->has_rows && l->has_arrays) {
        l->has_rows = l->has_arrays = l->has_tiles = false;
        decide_fates(l);
    }
}
