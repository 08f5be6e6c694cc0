/* SPDX-License-Identifier: MIT
 *
 * values: simplifies single instructions. In: a function without unreachable code and its Cfg. Out:
 * operations on constants are folded, copies and trivial phis are replaced by what they copy,
 * extracts look through preceding constructs and inserts, and a pure instruction that repeats a
 * dominating one is replaced by it.
 *
 * One walk in compact order, which meets definitions before their uses (but for phis): each
 * instruction gets its operands' replacements first and is then replaced, rewritten or remembered.
 */
#include "pass/edit.h"

#define NONE UINT32_MAX
enum { MAX_STEPS = 4096, MAX_PATH = 300 };

typedef struct Values {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassFold fold;
    SpvId *with;
    uint32_t n_ids;
    uint8_t *decorated; /* by id: more is said of it than RelaxedPrecision */
    Map seen;           /* hash of an instruction -> id of the last such */
    PassIdWords ids;
    bool changed;
} Values;

static SpvId resolve(const Values *s, SpvId id)
{
    while (id < s->n_ids && s->with[id])
        id = s->with[id];
    return id;
}

static SpvId type_of(const Values *s, SpvId id)
{
    const SpvInst *i = spv_def(s->m, id);
    return i ? i->type : 0;
}

static void replace_value(Values *s, SpvInst *i, SpvId by)
{
    s->with[i->id] = by;
    edit_remove(s->m, i);
    s->changed = true;
}

static void rewrite_inst(Values *s, SpvInst *i, uint16_t op, const uint32_t *operands, uint32_t n)
{
    edit_become(s->m, i, op, operands, n);
    s->changed = true;
}

/* ---- phis ------------------------------------------------------------------------------------ */

static bool is_undef(const Values *s, SpvId id)
{
    const SpvInst *i = spv_def(s->m, id);
    return i && i->op == SpvOpUndef;
}

static bool is_available(const Values *s, SpvId id, const SpvBlock *at)
{
    const SpvInst *i = spv_def(s->m, id);
    if (!i)
        return false;
    if (!i->block)
        return true;
    uint32_t p = s->g->position[i->block->index];
    return p != NONE && i->block != at && cfg_dominates(s->g, p, s->g->position[at->index]);
}

/* The one value that a phi can have, or 0. Undefined operands and itself do not count. */
static SpvId phi_value(const Values *s, const SpvInst *i)
{
    SpvId only = 0, undef = 0;
    for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2) {
        SpvId value = resolve(s, spv_operand(i, k));
        SpvBlock *pred = edit_block(s->m, spv_operand(i, k + 1));
        if (value == i->id || !pred || s->g->position[pred->index] == NONE || value == only)
            continue;
        if (is_undef(s, value))
            undef = value;
        else if (only)
            return 0;
        else
            only = value;
    }
    if (!only)
        return undef;
    return !undef || is_available(s, only, i->block) ? only : 0;
}

/* ---- composites ------------------------------------------------------------------------------ */

typedef struct Path {
    SpvId from;
    uint32_t at[MAX_PATH], n;
} Path;

static void drop_first(Path *p, uint32_t n)
{
    memmove(p->at, p->at + n, (p->n - n) * sizeof *p->at);
    p->n -= n;
}

static bool through_construct(Values *s, Path *p, const SpvInst *d)
{
    const SpvType *t = spv_type(s->m, d->type);
    if (t->kind == SPV_COOPMAT && spv_n_operands(d) == 1) {
        p->from = spv_operand(d, 0);
        drop_first(p, 1);
        return true;
    }
    if (t->kind != SPV_VECTOR) {
        if (p->at[0] >= spv_n_operands(d) || t->kind == SPV_COOPMAT)
            return false;
        p->from = spv_operand(d, p->at[0]);
        drop_first(p, 1);
        return true;
    }
    uint32_t at = 0;
    for (uint32_t k = 0; k < spv_n_operands(d); k++) {
        const SpvType *part = spv_type_of(s->m, spv_operand(d, k));
        uint32_t n = part && part->kind == SPV_VECTOR ? part->count : 1;
        if (p->at[0] < at + n) {
            p->from = spv_operand(d, k);
            if (part && part->kind == SPV_VECTOR)
                p->at[0] -= at;
            else
                drop_first(p, 1);
            return true;
        }
        at += n;
    }
    return false;
}

static bool through_insert(Path *p, const SpvInst *d)
{
    uint32_t n = spv_n_operands(d) - 2, same = 0;
    while (same < n && same < p->n && spv_operand(d, same + 2) == p->at[same])
        same++;
    if (same == n) {
        p->from = spv_operand(d, 0);
        drop_first(p, n);
        return true;
    }
    if (same == p->n)
        return false; /* a part of what is asked for was changed */
    p->from = spv_operand(d, 1);
    return true;
}

static bool through_shuffle(Values *s, Path *p, const SpvInst *d)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(d, 0));
    if (!t || p->at[0] + 2 >= spv_n_operands(d) || spv_operand(d, p->at[0] + 2) == NONE)
        return false;
    uint32_t c = spv_operand(d, p->at[0] + 2);
    p->from = spv_operand(d, c < t->count ? 0 : 1);
    p->at[0] = c < t->count ? c : c - t->count;
    return true;
}

static bool through_extract(Path *p, const SpvInst *d)
{
    uint32_t n = spv_n_operands(d) - 1;
    if (p->n + n > MAX_PATH)
        return false;
    memmove(p->at + n, p->at, p->n * sizeof *p->at);
    memcpy(p->at, d->words + d->first_operand + 1, n * sizeof *p->at);
    p->n += n;
    p->from = spv_operand(d, 0);
    return true;
}

/* One step from a composite to what it was made of. */
static bool look_through(Values *s, Path *p)
{
    const SpvInst *d = spv_def(s->m, p->from);
    SpvId member;
    if (!d)
        return false;
    switch (d->op) {
    case SpvOpCompositeConstruct: return through_construct(s, p, d);
    case SpvOpCompositeInsert: return through_insert(p, d);
    case SpvOpVectorShuffle: return through_shuffle(s, p, d);
    case SpvOpCompositeExtract: return through_extract(p, d);
    case SpvOpCopyLogical: p->from = spv_operand(d, 0); return true;
    case SpvOpConstantComposite:
    case SpvOpConstantNull:
    case SpvOpConstantCompositeReplicateEXT:
        member = fold_member(&s->fold, p->from, p->at[0]);
        if (!member)
            return false;
        p->from = member;
        drop_first(p, 1);
        return true;
    default: return false;
    }
}

/* Type that lies at the path, or 0. */
static SpvId path_type(Values *s, const Path *p)
{
    const SpvType *t = spv_type_of(s->m, p->from);
    for (uint32_t k = 0; t && k < p->n; k++)
        t = t->kind != SPV_STRUCT ? t->element : p->at[k] < t->count ? t->members[p->at[k]] : NULL;
    return t ? t->id : 0;
}

static bool simplify_extract(Values *s, SpvInst *i)
{
    Path p, best;
    bool moved = false;
    if (spv_n_operands(i) - 1 > MAX_PATH)
        return false;
    p.from = spv_operand(i, 0);
    p.n = spv_n_operands(i) - 1;
    memcpy(p.at, i->words + i->first_operand + 1, p.n * sizeof *p.at);
    for (uint32_t step = 0; p.n && step < MAX_STEPS; step++) {
        if (is_undef(s, p.from)) {
            replace_value(s, i, spv_undef(s->m, i->type));
            return true;
        }
        if (!look_through(s, &p))
            break;
        p.from = resolve(s, p.from);
        if (path_type(s, &p) == i->type) {
            best = p;
            moved = true;
        }
    }
    if (!moved)
        return false;
    if (best.n == 0) {
        replace_value(s, i, best.from);
        return true;
    }
    if (best.from == spv_operand(i, 0))
        return false;
    uint32_t operands[MAX_PATH + 1] = { best.from };
    memcpy(operands + 1, best.at, best.n * sizeof *operands);
    rewrite_inst(s, i, SpvOpCompositeExtract, operands, best.n + 1);
    return false;
}

/* A composite that is assembled from all parts of another one. */
static SpvId whole_of_parts(const Values *s, const SpvInst *i)
{
    SpvId whole = 0;
    for (uint32_t k = 0; k < spv_n_operands(i); k++) {
        const SpvInst *part = spv_def(s->m, spv_operand(i, k));
        if (!part || part->op != SpvOpCompositeExtract || spv_n_operands(part) != 2 ||
            spv_operand(part, 1) != k || (whole && spv_operand(part, 0) != whole))
            return 0;
        whole = spv_operand(part, 0);
    }
    const SpvInst *d = spv_def(s->m, whole);
    const SpvType *t = d && d->type == i->type ? spv_type(s->m, i->type) : NULL;
    return t && t->kind != SPV_COOPMAT && t->count == spv_n_operands(i) ? whole : 0;
}

static SpvId whole_of_shuffle(const Values *s, const SpvInst *i)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    for (uint32_t k = 2; k < spv_n_operands(i); k++)
        if (spv_operand(i, k) != k - 2)
            return 0;
    return t && t->id == i->type ? spv_operand(i, 0) : 0;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* A constant whose components are all the same. */
static bool splat_bits(const Values *s, SpvId id, uint64_t *bits)
{
    PassFoldValue v;
    if (!fold_read(&s->fold, id, &v) || v.type->kind == SPV_FLOAT)
        return false;
    for (uint32_t k = 1; k < v.count; k++)
        if (v.bits[k] != v.bits[0])
            return false;
    *bits = v.bits[0];
    return true;
}

static bool is_commutative(uint16_t op)
{
    switch (op) {
    case SpvOpIAdd:
    case SpvOpIMul:
    case SpvOpBitwiseAnd:
    case SpvOpBitwiseOr:
    case SpvOpBitwiseXor:
    case SpvOpLogicalAnd:
    case SpvOpLogicalOr:
    case SpvOpLogicalEqual:
    case SpvOpLogicalNotEqual:
    case SpvOpIEqual:
    case SpvOpINotEqual:
    case SpvOpFAdd:
    case SpvOpFMul: return true;
    default: return false;
    }
}

static uint64_t all_ones(const Values *s, SpvId type)
{
    const SpvType *t = spv_type(s->m, type);
    if (t && t->kind == SPV_VECTOR)
        t = t->element;
    return !t || t->kind != SPV_INT ? 1 : t->bits >= 64 ? UINT64_MAX : ((uint64_t)1 << t->bits) - 1;
}

/* a op b where b is the constant `k` in every component: the value it is, or 0. */
static SpvId with_constant(Values *s, const SpvInst *i, SpvId a, SpvId b, uint64_t k)
{
    switch (i->op) {
    case SpvOpIAdd:
    case SpvOpISub:
    case SpvOpBitwiseXor:
    case SpvOpShiftLeftLogical:
    case SpvOpShiftRightLogical:
    case SpvOpShiftRightArithmetic: return k == 0 ? a : 0;
    case SpvOpBitwiseOr:
    case SpvOpLogicalOr: return k == 0 ? a : k == all_ones(s, i->type) ? b : 0;
    case SpvOpIMul: return k == 1 ? a : k == 0 ? b : 0;
    case SpvOpUDiv:
    case SpvOpSDiv: return k == 1 ? a : 0;
    case SpvOpUMod: return k == 1 ? fold_null(&s->fold, i->type) : 0;
    case SpvOpBitwiseAnd:
    case SpvOpLogicalAnd: return k == 0 ? b : k == all_ones(s, i->type) ? a : 0;
    case SpvOpLogicalEqual: return k == 1 ? a : 0;
    case SpvOpLogicalNotEqual: return k == 0 ? a : 0;
    default: return 0;
    }
}

static SpvId with_itself(Values *s, const SpvInst *i, SpvId a)
{
    const SpvType *t = spv_type(s->m, i->type);
    switch (i->op) {
    case SpvOpBitwiseAnd:
    case SpvOpBitwiseOr:
    case SpvOpLogicalAnd:
    case SpvOpLogicalOr: return a;
    case SpvOpISub:
    case SpvOpBitwiseXor: return fold_null(&s->fold, i->type);
    case SpvOpIEqual:
    case SpvOpUGreaterThanEqual:
    case SpvOpULessThanEqual:
    case SpvOpSGreaterThanEqual:
    case SpvOpSLessThanEqual: return t->kind == SPV_BOOL ? fold_bool(&s->fold, i->type, true) : 0;
    case SpvOpINotEqual:
    case SpvOpUGreaterThan:
    case SpvOpULessThan:
    case SpvOpSGreaterThan:
    case SpvOpSLessThan: return t->kind == SPV_BOOL ? fold_bool(&s->fold, i->type, false) : 0;
    default: return 0;
    }
}

/* (x + c1) + c2 is x + (c1 + c2); the same with *, and x - c is x + -c. */
static void reassociate(Values *s, SpvInst *i)
{
    PassFoldValue v;
    if (i->op == SpvOpISub && fold_read(&s->fold, spv_operand(i, 1), &v) && v.count == 1) {
        v.bits[0] = 0 - v.bits[0];
        if (type_of(s, spv_operand(i, 1)) == i->type)
            rewrite_inst(s, i, SpvOpIAdd,
                         (uint32_t[]){ spv_operand(i, 0), fold_int(&s->fold, i->type, v.bits[0]) },
                         2);
    }
    if (i->op != SpvOpIAdd && i->op != SpvOpIMul)
        return;
    const SpvInst *a = spv_def(s->m, spv_operand(i, 0));
    if (!a || a->op != i->op || a->type != i->type || s->decorated[i->id] || s->decorated[a->id])
        return;
    SpvId both =
        fold_op(&s->fold, i->op, i->type, (uint32_t[]){ spv_operand(a, 1), spv_operand(i, 1) }, 2);
    if (both)
        rewrite_inst(s, i, i->op, (uint32_t[]){ spv_operand(a, 0), both }, 2);
}

static bool is_constant(const Values *s, SpvId id)
{
    const SpvInst *i = spv_def(s->m, id);
    return i && !i->block && i->op != SpvOpVariable;
}

static SpvId simplify_binary(Values *s, SpvInst *i)
{
    SpvId a = spv_operand(i, 0), b = spv_operand(i, 1), value = 0;
    uint64_t k;
    if (is_commutative(i->op) && is_constant(s, a) && !is_constant(s, b)) {
        rewrite_inst(s, i, i->op, (uint32_t[]){ b, a }, 2);
        a = spv_operand(i, 0), b = spv_operand(i, 1);
    }
    if (splat_bits(s, b, &k))
        value = with_constant(s, i, a, b, k);
    if (!value && a == b)
        value = with_itself(s, i, a);
    if (value && type_of(s, value) == i->type)
        return value;
    reassociate(s, i);
    return 0;
}

static SpvId simplify_select(Values *s, SpvInst *i)
{
    SpvId c = spv_operand(i, 0), a = spv_operand(i, 1), b = spv_operand(i, 2);
    const SpvType *t = spv_type(s->m, i->type);
    uint64_t k, ka, kb;
    if (a == b)
        return a;
    if (splat_bits(s, c, &k))
        return k ? a : b;
    if (t->kind == SPV_BOOL && splat_bits(s, a, &ka) && splat_bits(s, b, &kb) && ka == 1 && kb == 0)
        return c;
    return 0;
}

/* Compared with 0: a number made from a bool, as glslang writes conversions. */
static SpvId bool_of_select(Values *s, const SpvInst *i)
{
    const SpvInst *d = spv_def(s->m, spv_operand(i, 0));
    uint64_t zero, a, b;
    if (i->op != SpvOpINotEqual || !d || d->op != SpvOpSelect ||
        !splat_bits(s, spv_operand(i, 1), &zero) || zero || !splat_bits(s, spv_operand(d, 1), &a) ||
        !splat_bits(s, spv_operand(d, 2), &b) || !a || b)
        return 0;
    SpvId condition = spv_operand(d, 0);
    return type_of(s, condition) == i->type ? condition : 0;
}

static SpvId simplify_bitcast(Values *s, SpvInst *i)
{
    SpvInst *d = spv_def(s->m, spv_operand(i, 0));
    if (d && d->type == i->type)
        return d->id;
    if (d && d->op == SpvOpBitcast) {
        SpvId from = spv_operand(d, 0);
        const SpvType *t = spv_type_of(s->m, from);
        if (t && t->id == i->type)
            return from;
    }
    return 0;
}

static bool has_two_values(uint16_t op)
{
    return (op >= SpvOpIAdd && op <= SpvOpFMod) ||
           (op >= SpvOpLogicalEqual && op <= SpvOpLogicalAnd) ||
           (op >= SpvOpIEqual && op <= SpvOpFUnordGreaterThanEqual) ||
           (op >= SpvOpShiftRightLogical && op <= SpvOpBitwiseAnd);
}

/* The value that `i` has, or 0; may rewrite it. */
static SpvId known_value(Values *s, SpvInst *i)
{
    const SpvType *t = spv_type(s->m, i->type);
    uint64_t k;
    if (t && t->kind == SPV_COOPMAT) {
        if (i->op == SpvOpPhi)
            return phi_value(s, i);
        return i->op == SpvOpCopyObject ? spv_operand(i, 0) : 0;
    }
    switch (i->op) {
    case SpvOpPhi: return phi_value(s, i);
    case SpvOpCopyObject: return s->decorated[i->id] ? 0 : spv_operand(i, 0);
    case SpvOpCopyLogical: return type_of(s, spv_operand(i, 0)) == i->type ? spv_operand(i, 0) : 0;
    case SpvOpCompositeConstruct: {
        SpvId whole = whole_of_parts(s, i);
        if (whole)
            return whole;
        break;
    }
    case SpvOpVectorShuffle: {
        SpvId whole = whole_of_shuffle(s, i);
        if (whole)
            return whole;
        break;
    }
    case SpvOpCooperativeMatrixLengthKHR:
        return edit_matrix_length(s->c, spv_operand(i, 0), &k) ? fold_int(&s->fold, i->type, k) : 0;
    case SpvOpSelect: {
        SpvId chosen = simplify_select(s, i);
        if (chosen)
            return chosen;
        break;
    }
    case SpvOpBitcast: {
        SpvId from = simplify_bitcast(s, i);
        if (from)
            return from;
        break;
    }
    case SpvOpLogicalNot: {
        const SpvInst *d = spv_def(s->m, spv_operand(i, 0));
        if (d && d->op == SpvOpLogicalNot)
            return spv_operand(d, 0);
        break;
    }
    default: break;
    }
    SpvId value = fold_inst(&s->fold, i, i->words + i->first_operand, spv_n_operands(i));
    if (!value && has_two_values(i->op) && spv_n_operands(i) == 2)
        value = simplify_binary(s, i);
    return value ? value : i->op == SpvOpINotEqual ? bool_of_select(s, i) : 0;
}

/* Dynamic component access with a constant index. */
static void settle_index(Values *s, SpvInst *i)
{
    bool insert = i->op == SpvOpVectorInsertDynamic;
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    uint64_t k;
    if (!t || !spv_constant(s->m, spv_operand(i, insert ? 2 : 1), &k) || k >= t->count)
        return;
    if (insert)
        rewrite_inst(s, i, SpvOpCompositeInsert,
                     (uint32_t[]){ spv_operand(i, 1), spv_operand(i, 0), (uint32_t)k }, 3);
    else
        rewrite_inst(s, i, SpvOpCompositeExtract, (uint32_t[]){ spv_operand(i, 0), (uint32_t)k },
                     2);
}

/* ---- equal instructions ---------------------------------------------------------------------- */

/* Memory that never changes while the kernel runs. */
static bool is_fixed_load(const Values *s, const SpvInst *i)
{
    const SpvType *t = i->op == SpvOpLoad ? spv_type_of(s->m, spv_operand(i, 0)) : NULL;
    return t && t->kind == SPV_POINTER && spv_n_operands(i) == 1 &&
           (t->storage == SpvStorageClassPushConstant || t->storage == SpvStorageClassInput);
}

static bool is_mergeable(const Values *s, const SpvInst *i)
{
    if (!i->id || !i->type || i->op == SpvOpVariable || i->op == SpvOpUndef || s->decorated[i->id])
        return false;
    const SpvType *t = spv_type(s->m, i->type);
    return i->op == SpvOpPhi || is_fixed_load(s, i) ||
           (spv_is_pure(i) && !(t && t->kind == SPV_COOPMAT));
}

static bool same_work(const SpvInst *a, const SpvInst *b)
{
    uint32_t n = spv_n_operands(a);
    return a->op == b->op && a->type == b->type && n == spv_n_operands(b) &&
           (!n || !memcmp(a->words + a->first_operand, b->words + b->first_operand,
                          n * sizeof *a->words));
}

/* Whether the result of `d` may be used at `i`. Not from outside d's loop: lanes that leave a loop
 * in different iterations would make it vary. */
static bool reaches(const Values *s, const SpvInst *d, const SpvInst *i)
{
    uint32_t from = s->g->position[d->block->index], to = s->g->position[i->block->index];
    const CfgLoop *l = s->g->blocks[from].loop;
    if (i->op == SpvOpPhi)
        return d->block == i->block;
    return cfg_dominates(s->g, from, to) && (!l || cfg_in_loop(l, s->g, to));
}

static void merge_equal(Values *s, SpvInst *i)
{
    if (!is_mergeable(s, i))
        return;
    uint64_t seed = (uint64_t)i->type << 16 | i->op, id;
    uint64_t key =
        hash_bytes(i->words + i->first_operand, spv_n_operands(i) * sizeof *i->words, seed);
    const SpvInst *d = map_get(&s->seen, key, &id) ? spv_def(s->m, (SpvId)id) : NULL;
    if (d && d->block && same_work(d, i) && reaches(s, d, i))
        replace_value(s, i, d->id);
    else
        map_put(s->c->scratch, &s->seen, key, i->id);
}

static void visit_inst(Values *s, SpvInst *i)
{
    edit_ids(i, &s->ids);
    for (uint32_t k = 0; k < s->ids.n; k++)
        i->words[s->ids.at[k]] = resolve(s, i->words[s->ids.at[k]]);
    if (!i->id || !i->type || i->id >= s->n_ids)
        return;
    if (i->op == SpvOpVectorExtractDynamic || i->op == SpvOpVectorInsertDynamic)
        settle_index(s, i);
    if (i->op == SpvOpCompositeExtract && simplify_extract(s, i))
        return;
    SpvId value = known_value(s, i);
    if (value && value != i->id)
        replace_value(s, i, value);
    else
        merge_equal(s, i);
}

static void find_decorated(Values *s)
{
    for (SpvInst *i = s->m->globals.first; i; i = i->next)
        if ((i->op == SpvOpDecorate || i->op == SpvOpDecorateId) &&
            spv_operand(i, 1) != SpvDecorationRelaxedPrecision && spv_operand(i, 0) < s->n_ids)
            s->decorated[spv_operand(i, 0)] = 1;
}

bool values_simplify(PassContext *c, const Cfg *g)
{
    Values *s = NEW(c->scratch, Values);
    s->c = c;
    s->m = c->module;
    s->g = g;
    s->fold = fold_open(s->m, c->scratch);
    fold_modes(&s->fold, &c->entry);
    s->n_ids = s->m->bound;
    s->with = NEW_ARRAY(c->scratch, SpvId, s->n_ids);
    s->decorated = NEW_ARRAY(c->scratch, uint8_t, s->n_ids);
    find_decorated(s);
    for (uint32_t p = 0; p + 1 < g->n; p++) {
        for (SpvInst *i = g->blocks[p].block->insts.first, *next; i; i = next) {
            next = i->next;
            visit_inst(s, i);
        }
    }
    if (s->changed)
        edit_replace(g->function, s->with, s->n_ids);
    return s->changed;
}
