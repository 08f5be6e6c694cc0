/* SPDX-License-Identifier: MIT
 *
 * coarsen: neighbouring workgroups in one call. In: a shader whose workgroups share no memory, and
 * in whose loops they read the same: a product of a matrix and a vector, a row a workgroup, reads
 * the vector once a row. Out: a second version of the body that does what several workgroups do,
 * those after this one in x. What does not depend on a workgroup's place it does once, the rest
 * once for each of them, instruction by instruction.
 *
 * Where a branch depends on the place ("is there such a row?") the version is for workgroups that
 * all take the same way; the caller says how many workgroups there are, and is told how many were
 * done.
 */
#include "pass/edit.h"

enum {
    MOST_SIZE = 2048, /* instructions of the body: twice as many take twice as long to compile */
    MOST_BRANCHES = 4,
    MOST_EARLY = 64, /* instructions that a branch's condition is computed from */
    LEAST_SHARED = 4 /* one in so many of a loop's loads, at least */
};

/* A branch that depends on the place, and how the version takes it. */
typedef struct Decision {
    SpvBlock *block;
    bool when; /* its condition's value */
} Decision;

typedef struct Coarsen {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    const Uniformity *u;
    /* by id, n_ids of them: it depends on the workgroup's place in x, or, of a variable, holds what
     * does; FIRST_ONLY: of a vector, only its first component does */
    uint8_t *own;
    uint32_t n_ids, n_groups;
    Decision decision[MOST_BRANCHES];
    uint32_t n_decisions;
    SpvId *map; /* by id: what it is in the workgroup that is built for; 0: the same */
    uint32_t n_map;
} Coarsen;

enum { SHARED, FIRST_ONLY, OWN };

/* ---- what depends on the workgroup's place --------------------------------------------------- */

static bool is_place(const Coarsen *s, SpvId variable)
{
    uint32_t b = edit_which_builtin(s->m, variable);
    return b == SpvBuiltInWorkgroupId || b == SpvBuiltInGlobalInvocationId;
}

/* The variable with the place that a load is from, or NULL. */
static const SpvInst *place_variable(const Coarsen *s, const SpvInst *i)
{
    const SpvInst *v = i->op == SpvOpLoad ? pointer_root(s->m, spv_operand(i, 0)) : NULL;
    return v && v->op == SpvOpVariable && is_place(s, v->id) ? v : NULL;
}

/* Whether a load from it is of the whole place or of a component that is known. */
static bool is_known_part(const Coarsen *s, const SpvInst *i)
{
    uint64_t axis;
    const SpvInst *from = spv_def(s->m, spv_operand(i, 0)), *v = place_variable(s, i);
    bool chain = from->op == SpvOpAccessChain || from->op == SpvOpInBoundsAccessChain;
    return from == v || (chain && spv_operand(from, 0) == v->id && spv_n_operands(from) == 2 &&
                         spv_constant(s->m, spv_operand(from, 1), &axis));
}

/* Of a load from a variable with the place, or from a component of it; SHARED: it is none. */
static uint8_t place_loaded(const Coarsen *s, const SpvInst *i)
{
    uint64_t axis;
    const SpvInst *v = place_variable(s, i);
    if (!v || spv_operand(i, 0) == v->id)
        return v ? FIRST_ONLY : SHARED;
    const SpvInst *chain = spv_def(s->m, spv_operand(i, 0));
    return is_known_part(s, i) && spv_constant(s->m, spv_operand(chain, 1), &axis) && axis ? SHARED
                                                                                           : OWN;
}

static uint8_t own_of(const Coarsen *s, SpvId id) { return id < s->n_ids ? s->own[id] : SHARED; }

static bool depends(const Coarsen *s, const SpvInst *i)
{
    uint16_t at[64];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = 0; k < MIN(n, COUNT_OF(at)); k++)
        if (own_of(s, i->words[at[k]]))
            return true;
    return n > COUNT_OF(at);
}

/* Does something beside giving a value, but to a variable of the invocation's that no place is in:
 * for each workgroup. */
static bool has_effect(const Coarsen *s, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (i->op == SpvOpStore) {
        const SpvInst *v = pointer_root(s->m, spv_operand(i, 0));
        uint32_t storage = v && v->op == SpvOpVariable ? spv_operand(v, 0) : UINT32_MAX;
        return storage != SpvStorageClassFunction && storage != SpvStorageClassPrivate;
    }
    bool ends = info && info->flags & SPV_OPF_TERMINATOR;
    return !i->id && !ends && i->op != SpvOpSelectionMerge && i->op != SpvOpLoopMerge &&
           i->op != SpvOpNop;
}

static uint8_t own_result(const Coarsen *s, const SpvInst *i)
{
    uint8_t place = place_loaded(s, i);
    if (place)
        return place;
    if (i->op == SpvOpCompositeExtract && own_of(s, spv_operand(i, 0)) == FIRST_ONLY)
        return spv_operand(i, 1) ? SHARED : OWN;
    return depends(s, i) ? OWN : SHARED;
}

/* A variable that is written what depends on the place, or where it says, depends on it too. */
static bool mark_written(Coarsen *s, const SpvInst *i)
{
    const SpvInst *v = i->op == SpvOpStore ? pointer_root(s->m, spv_operand(i, 0)) : NULL;
    if (!v || v->op != SpvOpVariable || own_of(s, v->id) || !depends(s, i) || has_effect(s, i))
        return false;
    s->own[v->id] = OWN;
    return true;
}

static void find_own(Coarsen *s)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = 0; p + 1 < s->g->n; p++)
            for (SpvInst *i = s->g->blocks[p].block->insts.first->next; i; i = i->next) {
                uint8_t own = i->id && i->op != SpvOpVariable ? own_result(s, i) : SHARED;
                changed |= mark_written(s, i);
                if (own <= own_of(s, i->id))
                    continue;
                s->own[i->id] = own;
                changed = true;
            }
    }
}

/* ---- whether it may be ----------------------------------------------------------------------- */

/* To memory, or to a variable of the invocation's that is known. */
static bool is_plain_store(const Coarsen *s, const SpvInst *i)
{
    const SpvType *p = spv_type_of(s->m, spv_operand(i, 0)),
                  *t = spv_type_of(s->m, spv_operand(i, 1));
    const SpvInst *v = pointer_root(s->m, spv_operand(i, 0));
    bool own = p->storage == SpvStorageClassFunction || p->storage == SpvStorageClassPrivate;
    return t->kind != SPV_POINTER && (!own || (v && v->op == SpvOpVariable));
}

static uint32_t memory_access(const SpvInst *i)
{
    uint32_t at = i->op == SpvOpStore ? 2 : 1;
    bool has = (i->op == SpvOpLoad || i->op == SpvOpStore) && spv_n_operands(i) > at;
    return has ? spv_operand(i, at) : 0;
}

/* No workgroup learns of another by it, and what it does is a value, or a store. */
static bool may_share(const Coarsen *s, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    const SpvType *t = i->type ? spv_type(s->m, i->type) : NULL;
    const uint32_t harmless = SpvMemoryAccessAlignedMask | SpvMemoryAccessNontemporalMask |
                              SpvMemoryAccessNonPrivatePointerMask;
    const uint32_t others = SPV_OPF_BARRIER | SPV_OPF_ATOMIC | SPV_OPF_MEMORY;
    if (!info || memory_access(i) & ~harmless || (t && edit_has_matrix(t)) ||
        (t && t->kind == SPV_POINTER && t->storage == SpvStorageClassGeneric))
        return false;
    switch (i->op) {
    case SpvOpLoad: return !place_variable(s, i) || is_known_part(s, i);
    case SpvOpVariable:
    case SpvOpPhi:
    case SpvOpSelectionMerge:
    case SpvOpLoopMerge:
    case SpvOpBranch:
    case SpvOpBranchConditional:
    case SpvOpReturn:
    case SpvOpUnreachable: return true;
    case SpvOpSwitch: return !own_of(s, spv_operand(i, 0));
    case SpvOpStore: return is_plain_store(s, i);
    default:
        return spv_is_pure(i) || spv_is_chain(i) || spv_is_image_op(i->op) ||
               (info->flags & SPV_OPF_GROUP && !(info->flags & others));
    }
}

static bool globals_allow(const Coarsen *s)
{
    for (const SpvInst *i = s->m->globals.first; i; i = i->next) {
        uint32_t at = i->op == SpvOpDecorate ? 1 : i->op == SpvOpMemberDecorate ? 2 : 0;
        uint32_t what = at && at < spv_n_operands(i) ? spv_operand(i, at) : 0;
        if (at && (what == SpvDecorationCoherent || what == SpvDecorationVolatile))
            return false;
        if (i->op == SpvOpDecorate && what == SpvDecorationBuiltIn &&
            spv_operand(i, 2) == SpvBuiltInGlobalLinearId)
            return false;
        if (i->op == SpvOpVariable &&
            (spv_operand(i, 0) == SpvStorageClassWorkgroup || own_of(s, i->id)))
            return false;
    }
    return true;
}

static bool body_allows(const Coarsen *s)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (const SpvInst *i = s->g->blocks[p].block->insts.first->next; i; i = i->next)
            if (!may_share(s, i))
                return false;
    return true;
}

/* ---- branches that depend on the place, and whether it is worth it --------------------------- */

/* Whether a value can be computed at the beginning, from no more than that many instructions. */
static bool is_early(const Coarsen *s, SpvId id, uint32_t *left)
{
    uint16_t at[16];
    const SpvInst *i = spv_def(s->m, id);
    if (!i || !i->block || i->op == SpvOpVariable)
        return true;
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    bool early = spv_is_chain(i) ? edit_is_fixed_chain(s->m, i)
                                 : edit_cannot_fail(s->m, i) || loads_constant(s->m, i);
    early &= *left && n <= COUNT_OF(at);
    *left -= early;
    for (uint32_t k = 0; k < n && early; k++)
        early = is_early(s, i->words[at[k]], left);
    return early;
}

static const Decision *decision_of(const Coarsen *s, const SpvBlock *b)
{
    for (uint32_t k = 0; k < s->n_decisions; k++)
        if (s->decision[k].block == b)
            return &s->decision[k];
    return NULL;
}

static void mark_reached(const Coarsen *s, uint32_t p, bool *reached)
{
    const Decision *d = s->g->blocks[p].block ? decision_of(s, s->g->blocks[p].block) : NULL;
    if (reached[p])
        return;
    reached[p] = true;
    if (d) {
        SpvBlock *to = edit_block(s->m, spv_operand(d->block->insts.last, d->when ? 1 : 2));
        mark_reached(s, s->g->position[to->index], reached);
        return;
    }
    for (uint32_t k = 0; k < s->g->blocks[p].n_succs; k++)
        mark_reached(s, s->g->blocks[p].succs[k], reached);
}

static bool reads_memory(Coarsen *s, const SpvInst *i)
{
    const SpvType *p = i->op == SpvOpLoad ? spv_type_of(s->m, spv_operand(i, 0)) : NULL;
    return p && p->kind == SPV_POINTER && p->storage != SpvStorageClassFunction &&
           p->storage != SpvStorageClassPrivate && !loads_constant(s->m, i);
}

/* What a loop and those around it carry on for each workgroup: words of an invocation's. */
static uint32_t words_carried(Coarsen *s, const CfgLoop *loop)
{
    uint32_t words = 0;
    for (; loop; loop = loop->parent)
        for (const SpvInst *i = s->g->blocks[loop->header].block->insts.first->next;
             i->op == SpvOpPhi; i = i->next) {
            const SpvType *t = spv_type(s->m, i->type);
            uint32_t bits = t->kind == SPV_VECTOR ? t->count * t->element->bits : t->bits;
            words += own_of(s, i->id) && s->u->varying[i->id] ? (bits + 31) / 32 : 0;
        }
    return words;
}

/* Whether an innermost loop that is reached reads both what is the workgroups' own and, often
 * enough, what is not. */
static bool is_worth_it(Coarsen *s, const bool *reached)
{
    bool worth = false;
    for (uint32_t k = 0; k < s->g->n_loops && !worth; k++) {
        const CfgLoop *loop = s->g->loops[k];
        uint32_t shared = 0, own = 0;
        for (uint32_t n = 0; n < loop->n_blocks && reached[loop->header]; n++) {
            const CfgBlock *b = &s->g->blocks[loop->blocks[n]];
            for (const SpvInst *i = b->block->insts.first; i && b->loop == loop; i = i->next)
                if (reads_memory(s, i))
                    *(own_of(s, i->id) ? &own : &shared) += 1;
        }
        worth = own && shared && shared * LEAST_SHARED >= shared + own &&
                words_carried(s, loop) * MAX(s->n_groups, 2) <= s->c->options->coarse->most_words;
    }
    return worth;
}

/* The first branch that is reached, depends on the place, and is not decided; NULL: none. */
static SpvBlock *undecided(const Coarsen *s, const bool *reached)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        SpvBlock *b = s->g->blocks[p].block;
        if (reached[p] && depends(s, b->insts.last) && !decision_of(s, b))
            return b;
    }
    return NULL;
}

/* Finds a way that such branches can take to a loop that makes it worth it. */
static bool decide(Coarsen *s)
{
    bool *reached = NEW_ARRAY(s->c->scratch, bool, s->g->n);
    mark_reached(s, 0, reached);
    SpvBlock *b = undecided(s, reached);
    uint32_t left = MOST_EARLY;
    if (!is_worth_it(s, reached))
        return false;
    if (!b)
        return true;
    const SpvInst *term = b->insts.last;
    if (s->n_decisions == MOST_BRANCHES || term->op != SpvOpBranchConditional ||
        s->g->blocks[s->g->position[b->index]].loop || !is_early(s, spv_operand(term, 0), &left))
        return false;
    /* "Is it that one?" holds of one workgroup at most. */
    const SpvInst *condition = spv_def(s->m, spv_operand(term, 0));
    bool likely = condition->op != SpvOpIEqual;
    s->n_decisions++;
    for (uint32_t k = 0; k < 2; k++) {
        s->decision[s->n_decisions - 1] = (Decision){ b, k ? !likely : likely };
        if (decide(s))
            return true;
    }
    s->n_decisions--;
    return false;
}

/* ---- the version: values of one of the workgroups -------------------------------------------- */

static void set_map(Coarsen *s, SpvId id, SpvId to)
{
    if (id >= s->n_map) {
        uint32_t n = (id + 1) * 2;
        SpvId *map = NEW_ARRAY(s->c->scratch, SpvId, n);
        memcpy(map, s->map, s->n_map * sizeof *map);
        s->map = map;
        s->n_map = n;
    }
    s->map[id] = to;
}

static SpvId mapped(const Coarsen *s, SpvId id)
{
    return id < s->n_map && s->map[id] ? s->map[id] : id;
}

/* The place that was loaded, of the k-th workgroup from there: a scalar, or a vector. */
static SpvInst *place_of(Coarsen *s, const SpvInst *load, uint32_t k)
{
    const SpvType *t = spv_type(s->m, load->type);
    const SpvType *scalar = t->kind == SPV_VECTOR ? t->element : t;
    bool group = edit_which_builtin(s->m, place_variable(s, load)->id) == SpvBuiltInWorkgroupId;
    SpvId by =
        spv_int_constant(s->m, scalar->id, (uint64_t)k * (group ? 1 : s->c->entry.local_size[0]));
    if (t->kind == SPV_VECTOR) {
        SpvId parts[4] = { by };
        for (uint32_t n = 1; n < t->count; n++)
            parts[n] = spv_int_constant(s->m, scalar->id, 0);
        by = spv_composite_constant(s->m, t->id, parts, t->count);
    }
    uint32_t both[2] = { load->id, by };
    return spv_make(s->m, SpvOpIAdd, t->id, spv_new_id(s->m), both, 2);
}

static void rename_operands(Coarsen *s, SpvInst *i, PassIdWords *ids)
{
    edit_ids(i, ids);
    for (uint32_t k = 0; k < ids->n; k++)
        i->words[ids->at[k]] = mapped(s, i->words[ids->at[k]]);
}

/* A value of the k-th workgroup, computed before `at`. */
static SpvId bring(Coarsen *s, SpvId id, uint32_t k, SpvInst *at, PassIdWords *ids)
{
    const SpvInst *i = spv_def(s->m, id);
    uint16_t words[16];
    if (!i || !i->block || i->op == SpvOpVariable || mapped(s, id) != id)
        return mapped(s, id);
    uint32_t n = spv_id_operands(i, words, COUNT_OF(words));
    for (uint32_t w = 0; w < n; w++)
        bring(s, i->words[words[w]], k, at, ids);
    SpvInst *x = edit_another(s->m, i);
    rename_operands(s, x, ids);
    spv_insert_before(at, x);
    if (k && place_loaded(s, i)) {
        x = place_of(s, x, k);
        spv_insert_before(at, x);
    }
    set_map(s, id, x->id);
    return x->id;
}

/* Before `at`: whether there are so many workgroups, and they all branch as was decided. */
static SpvId ask(Coarsen *s, SpvInst *at)
{
    SpvId boolean = spv_bool_type(s->m), word = spv_int_type(s->m, 32, false);
    PassIdWords *ids = NEW(s->c->scratch, PassIdWords);
    SpvId left = spv_put(s->m, at, SpvOpLoad, word, &s->c->options->coarse->left, 1)->id;
    uint32_t enough[2] = { left, spv_int_constant(s->m, word, s->n_groups) };
    SpvId all = spv_put(s->m, at, SpvOpUGreaterThanEqual, boolean, enough, 2)->id;
    for (uint32_t k = 0; k < s->n_groups; k++) {
        memset(s->map, 0, s->n_map * sizeof *s->map);
        for (uint32_t n = 0; n < s->n_decisions; n++) {
            const Decision *d = &s->decision[n];
            SpvId is = bring(s, spv_operand(d->block->insts.last, 0), k, at, ids);
            if (!d->when)
                is = spv_put(s->m, at, SpvOpLogicalNot, boolean, &is, 1)->id;
            uint32_t both[2] = { all, edit_all(s->m, at->block, at, is) };
            all = spv_put(s->m, at, SpvOpLogicalAnd, boolean, both, 2)->id;
        }
        edit_share_decorations(s->m, s->map, s->n_map);
    }
    memset(s->map, 0, s->n_map * sizeof *s->map);
    return all;
}

/* ---- the version: instructions --------------------------------------------------------------- */

typedef struct Twin {
    const SpvInst *of; /* in the function as it was */
    SpvInst *first;    /* its copy, of the first workgroup */
    SpvInst *another;  /* of the one that is built for */
} Twin;

typedef VEC(Twin) Twins;

/* What each workgroup does by itself, in order. */
static void find_twins(Coarsen *s, const PassLoopCopy *l, Twins *twins)
{
    for (uint32_t k = 0; k < l->blocks.len; k++) {
        const SpvInst *i = l->blocks.data[k]->insts.first->next;
        SpvInst *x = edit_block(s->m, loop_mapped(l, l->blocks.data[k]->id))->insts.first->next;
        for (; i && x; i = i->next, x = x->next)
            if (own_of(s, i->id) || has_effect(s, i) || (i->op == SpvOpStore && depends(s, i)))
                vec_push(s->c->scratch, twins, (Twin){ .of = i, .first = x });
    }
}

/* Variables that hold what depends on the place. */
static void add_variables(Coarsen *s)
{
    for (SpvInst *i = s->g->blocks[0].block->insts.first, *next; i; i = next) {
        next = i->next;
        if (i->op != SpvOpVariable || !own_of(s, i->id))
            continue;
        SpvInst *v = edit_another(s->m, i);
        spv_insert_before(i, v);
        set_map(s, i->id, v->id);
    }
}

/* The k-th workgroup's instructions behind those of the one before. */
static void add_group(Coarsen *s, Twins *twins, uint32_t k)
{
    PassIdWords *ids = NEW(s->c->scratch, PassIdWords);
    memset(s->map, 0, s->n_map * sizeof *s->map);
    add_variables(s);
    for (uint32_t n = 0; n < twins->len; n++) {
        Twin *t = &twins->data[n];
        SpvInst *behind = t->another ? t->another : t->first;
        t->another =
            place_loaded(s, t->of) ? place_of(s, t->first, k) : edit_another(s->m, t->first);
        spv_insert_after(behind, t->another);
        if (t->first->id)
            set_map(s, t->first->id, t->another->id);
    }
    for (uint32_t n = 0; n < twins->len; n++)
        if (!place_loaded(s, twins->data[n].of))
            rename_operands(s, twins->data[n].another, ids);
    edit_share_decorations(s->m, s->map, s->n_map);
}

static SpvId add_location(Coarsen *s, uint32_t storage)
{
    SpvId v = edit_variable(s->m, s->c->entry.inst, storage, spv_int_type(s->m, 32, false));
    uint32_t words[] = { v, SpvDecorationLocation, 0 };
    spv_append_global(s->m, spv_make(s->m, SpvOpDecorate, 0, 0, words, 3));
    return v;
}

static void decide_branches(Coarsen *s, const PassVersion *v)
{
    for (uint32_t k = 0; k < s->n_decisions; k++) {
        const Decision *d = &s->decision[k];
        loop_decide_exit(s->m, version_block(v, d->block), d->when, true);
    }
}

static bool add_version(Coarsen *s)
{
    PassVersion v;
    const SpvBlock *entry = s->c->entry.function->first;
    Twins twins = { 0 };
    s->c->options->coarse->left = add_location(s, SpvStorageClassInput);
    if (!version_open(&v, s->c))
        return false;
    s->g = v.g;
    for (uint32_t k = 0; k < s->n_decisions; k++)
        if (s->decision[k].block == entry)
            s->decision[k].block = v.body;
    SpvId all = ask(s, v.at);
    find_twins(s, &v.copy, &twins);
    for (uint32_t k = 1; k < s->n_groups; k++)
        add_group(s, &twins, k);
    decide_branches(s, &v);
    s->c->options->coarse->done = add_location(s, SpvStorageClassOutput);
    SpvId done[2] = { s->c->options->coarse->done,
                      spv_int_constant(s->m, spv_int_type(s->m, 32, false), s->n_groups) };
    spv_put(s->m, version_block(&v, v.body)->insts.first->next, SpvOpStore, 0, done, 2);
    return version_close(&v, all);
}

bool pass_coarsen(PassContext *c)
{
    Coarsen s = { .c = c, .m = c->module };
    PassCoarse *coarse = c->options->coarse;
    if (!coarse || !c->entry.local_size[0] || c->entry.model != SpvExecutionModelGLCompute ||
        edit_count(c->entry.function) > MOST_SIZE)
        return true;
    edit_prune(c->module, c->entry.function, c->scratch);
    s.g = cfg_build(c->scratch, c->entry.function, c->sink);
    if (!s.g)
        return false;
    s.n_ids = s.n_map = c->module->bound;
    s.own = NEW_ARRAY(c->scratch, uint8_t, s.n_ids);
    s.map = NEW_ARRAY(c->scratch, SpvId, s.n_map);
    s.n_groups = coarse->most;
    s.u = uniformity_build_for(c->scratch, c->module, s.g, c->options->subgroup_size);
    find_own(&s);
    if (!globals_allow(&s) || !body_allows(&s) || !decide(&s))
        return true;
    coarse->groups = s.n_groups;
    return add_version(&s);
}
