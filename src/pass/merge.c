/* SPDX-License-Identifier: MIT
 *
 * merge: workgroups side by side as one. In: a kernel after its passes, whose workgroups have short
 * rows, and whose invocations neither share memory nor wait for one another, nor tell which
 * subgroup they are in. Out: the same kernel for workgroups that have the rows of several side by
 * side, of ROW invocations, so that lanes lie in a row; built-ins say what they said.
 *
 * The number in the dispatch of the merged workgroup's invocations is their own: g * n * s + l for
 * workgroups of s, n of which are one, g, and place l in its row. Sums of the workgroup's number
 * times its size and of the place in it count up along the whole row, and are written so.
 *
 * Workgroups may wait for others to write, although nothing says that these run: not in one vector.
 * So nothing may be volatile or coherent (and of atomics cpu/lanes/width.c makes no wide vectors).
 */
#include "pass/edit.h"

enum { ROW = 64, LONGEST = 16, MOST_INVOCATIONS = 4096, MOST_SIZE = 1024 };

typedef struct Merge {
    SpvModule *m;
    SpvEntryPoint *entry;
    Arena *scratch;
    uint32_t n, size[3]; /* workgroups; of each */
    SpvInst *at;         /* what is computed first is in front of it */
    SpvId across;        /* which of the merged workgroups an invocation is in */
    uint8_t *mixed;      /* by id, n_mixed of them: a sum that `across` may be left out of */
    uint32_t n_mixed;
} Merge;

/* ---- may it be done? ------------------------------------------------------------------------- */

static bool is_changed(uint32_t builtin)
{
    return builtin == SpvBuiltInWorkgroupId || builtin == SpvBuiltInLocalInvocationId ||
           builtin == SpvBuiltInLocalInvocationIndex || builtin == SpvBuiltInWorkgroupSize ||
           builtin == SpvBuiltInEnqueuedWorkgroupSize;
}

static bool is_kept(uint32_t builtin)
{
    return builtin == SpvBuiltInGlobalInvocationId || builtin == SpvBuiltInNumWorkgroups ||
           builtin == SpvBuiltInGlobalSize || builtin == SpvBuiltInGlobalOffset ||
           builtin == SpvBuiltInWorkDim || builtin == SpvBuiltInDeviceIndex;
}

/* A variable is a buffer, an invocation's own, or a built-in that may be asked for. */
static bool is_plain_variable(SpvModule *m, const SpvInst *v)
{
    uint32_t storage = spv_operand(v, 0), builtin = edit_which_builtin(m, v->id);
    return storage == SpvStorageClassInput
               ? is_changed(builtin) || is_kept(builtin)
               : storage != SpvStorageClassWorkgroup && storage != SpvStorageClassOutput;
}

/* A load of one of the built-ins that change, of all of it or of a known component (`part`). */
static const SpvInst *changed_variable(SpvModule *m, const SpvInst *load, uint64_t *part)
{
    const SpvInst *from = spv_def(m, spv_operand(load, 0));
    bool chain = spv_is_chain(from);
    const SpvInst *v = chain ? spv_def(m, spv_operand(from, 0)) : from;
    *part = UINT64_MAX;
    if (load->op != SpvOpLoad || v->op != SpvOpVariable ||
        spv_operand(v, 0) != SpvStorageClassInput || !is_changed(edit_which_builtin(m, v->id)))
        return NULL;
    if (chain && (spv_n_operands(from) != 2 || !spv_constant(m, spv_operand(from, 1), part)))
        return NULL;
    return v;
}

/* What is done with the built-ins that change is that they are loaded. */
static bool only_loads(Merge *s, const SpvInst *i)
{
    uint16_t at[64];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    uint64_t part;
    if (spv_is_chain(i) || n > COUNT_OF(at))
        return n <= COUNT_OF(at);
    for (uint32_t k = 0; k < n; k++) {
        const SpvInst *of = spv_def(s->m, i->words[at[k]]);
        const SpvInst *v = of && of->block && spv_is_chain(of) ? pointer_root(s->m, of->id) : of;
        bool changes = v && v->op == SpvOpVariable && spv_operand(v, 0) == SpvStorageClassInput &&
                       is_changed(edit_which_builtin(s->m, v->id));
        if (changes && !changed_variable(s->m, i, &part))
            return false;
    }
    return true;
}

static bool is_watched(const SpvInst *i)
{
    uint32_t watched = SpvMemoryAccessVolatileMask | SpvMemoryAccessMakePointerAvailableMask |
                       SpvMemoryAccessMakePointerVisibleMask | SpvMemoryAccessNonPrivatePointerMask;
    uint32_t at = i->op == SpvOpLoad ? 1 : 2;
    bool access = i->op == SpvOpLoad || i->op == SpvOpStore;
    bool member = i->op == SpvOpMemberDecorate;
    uint32_t decoration =
        (member || i->op == SpvOpDecorate) ? spv_operand(i, member ? 2 : 1) : UINT32_MAX;
    return decoration == SpvDecorationCoherent || decoration == SpvDecorationVolatile ||
           (access && spv_n_operands(i) > at && spv_operand(i, at) & watched);
}

static bool suits(Merge *s, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    const SpvType *t = spv_type(s->m, i->type);
    if (!info || is_watched(i) || i->op == SpvOpFunctionCall || (t && edit_has_matrix(t)))
        return false;
    if (i->op != SpvOpGroupNonUniformAll && info->flags & (SPV_OPF_GROUP | SPV_OPF_BARRIER))
        return false;
    return only_loads(s, i);
}

/* ---- what rows share ------------------------------------------------------------------------- */

enum { ACROSS = 1, DOWN = 2 }; /* it differs along a row; from row to row */

static bool is_place(const Merge *s, const SpvInst *v)
{
    uint32_t builtin = v && v->op == SpvOpVariable && spv_operand(v, 0) == SpvStorageClassInput
                           ? edit_which_builtin(s->m, v->id)
                           : UINT32_MAX;
    return builtin == SpvBuiltInLocalInvocationId || builtin == SpvBuiltInGlobalInvocationId ||
           builtin == SpvBuiltInLocalInvocationIndex;
}

static uint8_t places_of(const Merge *s, const uint8_t *places, const SpvInst *i)
{
    uint16_t at[64];
    uint32_t n = MIN(spv_id_operands(i, at, COUNT_OF(at)), COUNT_OF(at));
    const SpvInst *of = n ? spv_def(s->m, i->words[at[0]]) : NULL;
    uint8_t own = 0;
    uint64_t part = 0;
    for (uint32_t k = 0; k < n; k++)
        own |= places[i->words[at[k]]];
    if (is_place(s, of))
        return !spv_is_chain(i) || !spv_constant(s->m, spv_operand(i, 1), &part) ? ACROSS | DOWN
               : part                                                            ? DOWN
                                                                                 : ACROSS;
    if (i->op == SpvOpCompositeExtract && of->op == SpvOpLoad &&
        is_place(s, spv_def(s->m, spv_operand(of, 0))))
        return spv_operand(i, 1) ? DOWN : ACROSS;
    return own;
}

/* Whether all rows read the same somewhere, which lanes of several rows load once. */
static bool rows_share(Merge *s)
{
    uint8_t *places = NEW_ARRAY(s->scratch, uint8_t, s->m->bound);
    bool share = false, changed = s->size[1] * s->size[2] > 1;
    while (changed) {
        changed = false;
        for (const SpvBlock *b = s->entry->function->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next) {
                uint8_t p = i->id ? places_of(s, places, i) : 0;
                changed |= i->id && p & ~places[i->id];
                if (i->id)
                    places[i->id] |= p;
            }
    }
    for (const SpvBlock *b = s->entry->function->first; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next) {
            const SpvInst *v = i->op == SpvOpLoad ? pointer_root(s->m, spv_operand(i, 0)) : NULL;
            share |= v && (v->op != SpvOpVariable || spv_operand(v, 0) != SpvStorageClassInput) &&
                     places[spv_operand(i, 0)] == ACROSS;
        }
    return share;
}

static bool may_merge(Merge *s)
{
    const SpvFunction *f = s->entry->function;
    memcpy(s->size, s->entry->local_size, sizeof s->size);
    if (!s->size[0] || !s->size[1] || !s->size[2] || !is_pow2(s->size[0]) || s->size[0] > LONGEST ||
        s->entry->quads != SPV_QUADS_NONE || s->entry->required_subgroup_size ||
        (uint64_t)s->size[1] * s->size[2] > MOST_INVOCATIONS / ROW || edit_count(f) > MOST_SIZE)
        return false;
    s->n = ROW / s->size[0];
    for (const SpvInst *i = s->m->globals.first; i; i = i->next)
        if (is_watched(i) || (i->op == SpvOpVariable && !is_plain_variable(s->m, i)))
            return false;
    for (const SpvBlock *b = f->first; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next)
            if (!suits(s, i))
                return false;
    return !rows_share(s);
}

/* ---- the built-ins --------------------------------------------------------------------------- */

static SpvId put_two(Merge *s, uint16_t op, SpvId type, SpvId x, SpvId y)
{
    return spv_put(s->m, s->at, op, type, (uint32_t[]){ x, y }, 2)->id;
}

static SpvId number(Merge *s, SpvId type, uint64_t n) { return spv_int_constant(s->m, type, n); }

/* A component of a built-in as it is for the merged workgroup; `type` is the number's. */
static SpvId component(Merge *s, uint32_t builtin, SpvId type, uint32_t k)
{
    SpvId v = edit_builtin(s->m, s->entry->inst, builtin, spv_vector_type(s->m, type, 3));
    SpvId all = spv_put(s->m, s->at, SpvOpLoad, spv_type_of(s->m, v)->element->id, &v, 1)->id;
    const SpvType *own = spv_type(s->m, spv_type_of(s->m, all)->element->id);
    SpvId x = spv_put(s->m, s->at, SpvOpCompositeExtract, own->id, (uint32_t[]){ all, k }, 2)->id;
    const SpvType *t = spv_type(s->m, type);
    if (own->bits != t->bits)
        return spv_put(s->m, s->at, SpvOpUConvert, type, &x, 1)->id;
    return own == t ? x : spv_put(s->m, s->at, SpvOpBitcast, type, &x, 1)->id;
}

/* Numbers are powers of two, so that signs do not matter. */
static SpvId group_across(Merge *s, SpvId type, SpvId place)
{
    uint32_t bits = (uint32_t)__builtin_ctz(s->size[0]);
    if (!bits)
        return place;
    SpvId across = put_two(s, SpvOpShiftRightLogical, type, place, number(s, type, bits));
    s->across = s->across ? s->across : across;
    return across;
}

/* The place in the workgroup's own row: written as a difference, so that sums are found to have the
 * same in them. */
static SpvId own_place(Merge *s, SpvId type, SpvId place)
{
    if (s->size[0] == 1)
        return number(s, type, 0);
    SpvId start =
        put_two(s, SpvOpIMul, type, group_across(s, type, place), number(s, type, s->size[0]));
    return put_two(s, SpvOpISub, type, place, start);
}

/* Component k of a built-in that changes, as it was. */
static SpvId as_it_was(Merge *s, uint32_t builtin, SpvId type, uint32_t k)
{
    uint32_t local = SpvBuiltInLocalInvocationId;
    switch (builtin) {
    case SpvBuiltInWorkgroupId: {
        SpvId group = component(s, builtin, type, k);
        if (k)
            return group;
        group = put_two(s, SpvOpIMul, type, group, number(s, type, s->n));
        return put_two(s, SpvOpIAdd, type, group,
                       group_across(s, type, component(s, local, type, 0)));
    }
    case SpvBuiltInLocalInvocationId:
        return k ? component(s, local, type, k) : own_place(s, type, component(s, local, type, 0));
    case SpvBuiltInLocalInvocationIndex: {
        SpvId row =
            put_two(s, SpvOpIMul, type, component(s, local, type, 2), number(s, type, s->size[1]));
        row = put_two(s, SpvOpIAdd, type, row, component(s, local, type, 1));
        row = put_two(s, SpvOpIMul, type, row, number(s, type, s->size[0]));
        return put_two(s, SpvOpIAdd, type, row, own_place(s, type, component(s, local, type, 0)));
    }
    default: return number(s, type, s->size[k]);
    }
}

/* Loads of built-ins, before anything is computed, so that all that follows may use them. */
static void replace_loads(Merge *s)
{
    SpvFunction *f = s->entry->function;
    uint32_t n = s->m->bound;
    SpvId *with = NEW_ARRAY(s->scratch, SpvId, n);
    VEC(SpvInst *) loads = { 0 };
    uint64_t part;
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (i->op == SpvOpLoad && changed_variable(s->m, i, &part))
                vec_push(s->scratch, &loads, i);
    s->at = edit_after_phis(f->first);
    while (s->at->op == SpvOpVariable)
        s->at = s->at->next;
    for (uint32_t l = 0; l < loads.len; l++) {
        SpvInst *i = loads.data[l];
        uint32_t builtin = edit_which_builtin(s->m, changed_variable(s->m, i, &part)->id);
        const SpvType *t = spv_type(s->m, i->type);
        SpvId of[3];
        if (t->kind != SPV_VECTOR) {
            with[i->id] = as_it_was(s, builtin, i->type, part < 3 ? (uint32_t)part : 0);
            continue;
        }
        for (uint32_t k = 0; k < 3; k++)
            of[k] = as_it_was(s, builtin, t->element->id, k);
        with[i->id] = spv_put(s->m, s->at, SpvOpCompositeConstruct, i->type, of, 3)->id;
    }
    edit_replace(f, with, n);
    for (uint32_t l = 0; l < loads.len; l++)
        edit_remove(s->m, loads.data[l]);
}

/* The size is in a mode, or in a constant that is the built-in. */
static void set_size(Merge *s)
{
    SpvId id = s->entry->function->def->id;
    for (SpvInst *i = s->m->globals.first, *next; i; i = next) {
        next = i->next;
        bool mode = (i->op == SpvOpExecutionMode || i->op == SpvOpExecutionModeId) &&
                    spv_operand(i, 0) == id &&
                    (spv_operand(i, 1) == SpvExecutionModeLocalSize ||
                     spv_operand(i, 1) == SpvExecutionModeLocalSizeId);
        bool constant = i->op == SpvOpDecorate && spv_n_operands(i) >= 3 &&
                        spv_operand(i, 1) == SpvDecorationBuiltIn &&
                        spv_operand(i, 2) == SpvBuiltInWorkgroupSize &&
                        spv_def(s->m, spv_operand(i, 0)) &&
                        spv_def(s->m, spv_operand(i, 0))->op != SpvOpVariable;
        if (mode || constant)
            edit_remove(s->m, i);
    }
    uint32_t mode[] = { id, SpvExecutionModeLocalSize, ROW, s->size[1], s->size[2] };
    spv_insert_after(s->entry->inst, spv_make(s->m, SpvOpExecutionMode, 0, 0, mode, 5));
}

/* ---- sums ------------------------------------------------------------------------------------ */

static bool is_across(const Merge *s, SpvId id)
{
    const SpvInst *i = spv_def(s->m, id), *a = spv_def(s->m, s->across);
    return i && i->op == SpvOpShiftRightLogical && i->block == a->block &&
           spv_operand(i, 1) == spv_operand(a, 1) && values_alike(s->m, id, s->across);
}

/* Whether a sum is one without `across`, of numbers of its width. What the reader did not look
 * into, the sum itself for one, may have it in it. */
static bool is_without(const Merge *s, const SpvInst *sum, const Polynomial *p)
{
    uint32_t bits = spv_type(s->m, sum->type)->bits;
    for (uint32_t k = 0; k < p->n; k++)
        for (uint32_t f = 0; f < POLYNOMIAL_FACTORS; f++) {
            SpvId of = p->terms[k].of[f];
            if (of && (of == sum->id || is_across(s, of) || spv_type_of(s->m, of)->bits != bits))
                return false;
        }
    return !p->too_large;
}

static bool is_mixed(const Merge *s, const SpvInst *i)
{
    uint16_t at[8];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    if (i->op != SpvOpIAdd && i->op != SpvOpISub && i->op != SpvOpIMul && i->op != SpvOpUConvert &&
        i->op != SpvOpSConvert && i->op != SpvOpBitcast)
        return is_across(s, i->id);
    for (uint32_t k = 0; k < n && k < COUNT_OF(at); k++)
        if (i->words[at[k]] < s->n_mixed && s->mixed[i->words[at[k]]])
            return true;
    return false;
}

/* A sum that `across` cancels out of, written without it. */
static void write_sum(Merge *s, SpvInst *i)
{
    const SpvType *t = spv_type(s->m, i->type);
    if ((i->op != SpvOpIAdd && i->op != SpvOpISub) || t->kind != SPV_INT)
        return;
    PolynomialReader reader = { .m = s->m, .bits = t->bits };
    Polynomial p = polynomial_read(&reader, i->id);
    if (!is_without(s, i, &p))
        return;
    SpvId all = 0, zero = number(s, i->type, 0);
    s->at = i;
    for (uint32_t k = 0; k < p.n; k++) {
        SpvId term = p.terms[k].times == 1 ? 0 : number(s, i->type, p.terms[k].times);
        for (uint32_t f = 0; f < POLYNOMIAL_FACTORS; f++) {
            SpvId of = p.terms[k].of[f];
            if (of)
                term = term ? put_two(s, SpvOpIMul, i->type, term, of) : of;
        }
        term = term ? term : number(s, i->type, 1);
        all = all ? put_two(s, SpvOpIAdd, i->type, all, term) : term;
    }
    edit_become(s->m, i, SpvOpIAdd, (uint32_t[]){ all ? all : zero, zero }, 2);
    s->mixed[i->id] = 0;
}

static void write_sums(Merge *s)
{
    s->n_mixed = s->m->bound;
    s->mixed = NEW_ARRAY(s->scratch, uint8_t, s->n_mixed);
    for (SpvBlock *b = s->entry->function->first; b && s->across; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next) {
            if (!i->id || i->id >= s->n_mixed || !is_mixed(s, i))
                continue;
            s->mixed[i->id] = 1;
            write_sum(s, i);
        }
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Where a workgroup's version is chosen, all of the merged ones have to agree. */
static void agree(Merge *s, SpvId away)
{
    for (SpvBlock *b = s->entry->function->first; b; b = b->next) {
        SpvInst *term = b->insts.last;
        if (away && term->op == SpvOpBranchConditional && spv_operand(term, 0) == away)
            term->words[term->first_operand] = edit_all(s->m, b, term, away);
    }
}

uint32_t pass_merge_groups(SpvModule *m, SpvEntryPoint *entry, SpvId away, bool only_ask,
                           Arena *scratch)
{
    Merge s = { .m = m, .entry = entry, .scratch = scratch };
    if (!may_merge(&s))
        return 0;
    if (only_ask)
        return s.n;
    replace_loads(&s);
    set_size(&s);
    write_sums(&s);
    agree(&s, away);
    entry->local_size[0] = ROW;
    return s.n;
}
