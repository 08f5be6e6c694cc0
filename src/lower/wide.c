/* SPDX-License-Identifier: MIT
 *
 * wide_subgroups: subgroups larger than the target's. In: a module without matrices of subgroups.
 * Out: the same for subgroups of any size: W invocations of a workgroup, one after the other by
 * their index, are what was a subgroup. What they tell each other goes through workgroup memory,
 * and a barrier of a subgroup is one of the workgroup. So control flow must be the same for all of
 * the workgroup there; where it is not known to be, an error names the branch.
 */
#include "lower/internal.h"

static void meet(Lower *l, SpvInst *at) { place_barrier(l, at, SpvScopeWorkgroup); }

static SpvId lane_of(Lower *l, SpvInst *at) { return place_lane(l, at, SpvScopeSubgroup); }

/* ---- values of others ------------------------------------------------------------------------ */

static const SpvType *component(const SpvType *t) { return t->kind == SPV_VECTOR ? t->element : t; }

/* A type of memory, with as many components: booleans are words there. */
static SpvId like(Lower *l, const SpvType *t, SpvId scalar)
{
    return t->kind == SPV_VECTOR ? spv_vector_type(l->m, scalar, t->count) : scalar;
}

static SpvId constant_of(Lower *l, const SpvType *t, uint64_t bits)
{
    const SpvType *s = component(t);
    SpvId parts[16], one = s->kind == SPV_INT ? spv_int_constant(l->m, s->id, bits)
                                              : spv_number_constant(l->m, s->id, bits);
    for (uint32_t k = 0; k < t->count && k < 16; k++)
        parts[k] = one;
    return t->kind == SPV_VECTOR ? spv_composite_constant(l->m, t->id, parts, t->count) : one;
}

static const SpvType *stored(Lower *l, const SpvType *t)
{
    return component(t)->kind == SPV_BOOL ? spv_type(l->m, like(l, t, build_u32(l))) : t;
}

static void publish(Lower *l, SpvInst *i, SpvId value)
{
    const SpvType *t = spv_type_of(l->m, value), *as = stored(l, t);
    if (as != t)
        value =
            BUILD(l, i, SpvOpSelect, as->id, value, constant_of(l, as, 1), constant_of(l, as, 0));
    staging_of(l, as->id, SpvScopeSubgroup, l->lanes);
    staging_store(l, i, SpvScopeSubgroup, lane_of(l, i), value);
    meet(l, i);
}

static SpvId fetch(Lower *l, SpvInst *at, const SpvType *t, SpvId lane)
{
    const SpvType *as = stored(l, t);
    SpvId value = staging_load(l, at, as->id, SpvScopeSubgroup, lane);
    return as == t ? value : BUILD(l, at, SpvOpINotEqual, t->id, value, constant_of(l, as, 0));
}

static void take_from(Lower *l, SpvInst *i, SpvId value, SpvId lane)
{
    publish(l, i, value);
    SpvId got = fetch(l, i, spv_type(l->m, i->type), build_mod(l, i, lane, l->lanes));
    meet(l, i);
    build_replace(l, i, got);
}

/* ---- combinations ---------------------------------------------------------------------------- */

/* The identity's bits: zero, one, or what is the least or the largest of a type. */
typedef enum Identity { ZERO, ONE, LARGEST, LEAST } Identity;
typedef struct Combination {
    uint16_t op, with; /* with: of two values, or the comparison that chooses the first */
    bool chooses;
    Identity identity;
} Combination;

static const Combination combinations[] = {
    { SpvOpGroupNonUniformIAdd, SpvOpIAdd, false, ZERO },
    { SpvOpGroupNonUniformFAdd, SpvOpFAdd, false, ZERO },
    { SpvOpGroupNonUniformIMul, SpvOpIMul, false, ONE },
    { SpvOpGroupNonUniformFMul, SpvOpFMul, false, ONE },
    { SpvOpGroupNonUniformSMin, SpvOpSLessThan, true, LARGEST },
    { SpvOpGroupNonUniformUMin, SpvOpULessThan, true, LARGEST },
    { SpvOpGroupNonUniformFMin, SpvOpFOrdLessThan, true, LARGEST },
    { SpvOpGroupNonUniformSMax, SpvOpSGreaterThan, true, LEAST },
    { SpvOpGroupNonUniformUMax, SpvOpUGreaterThan, true, LEAST },
    { SpvOpGroupNonUniformFMax, SpvOpFOrdGreaterThan, true, LEAST },
    { SpvOpGroupNonUniformBitwiseAnd, SpvOpBitwiseAnd, false, LARGEST },
    { SpvOpGroupNonUniformBitwiseOr, SpvOpBitwiseOr, false, ZERO },
    { SpvOpGroupNonUniformBitwiseXor, SpvOpBitwiseXor, false, ZERO },
    { SpvOpGroupNonUniformLogicalAnd, SpvOpLogicalAnd, false, ONE },
    { SpvOpGroupNonUniformLogicalOr, SpvOpLogicalOr, false, ZERO },
    { SpvOpGroupNonUniformLogicalXor, SpvOpLogicalNotEqual, false, ZERO },
    { SpvOpGroupNonUniformAll, SpvOpLogicalAnd, false, ONE },
    { SpvOpGroupNonUniformAny, SpvOpLogicalOr, false, ZERO },
};

static const Combination *find_combination(uint16_t op)
{
    for (uint32_t k = 0; k < COUNT_OF(combinations); k++)
        if (combinations[k].op == op)
            return &combinations[k];
    return NULL;
}

static uint64_t float_identity(const SpvType *s, Identity what)
{
    static const struct {
        uint32_t bits;
        uint64_t one, infinity;
    } of[] = {
        { 16, 0x3c00, 0x7c00 },
        { 32, 0x3f800000, 0x7f800000 },
        { 64, UINT64_C(0x3ff0000000000000), UINT64_C(0x7ff0000000000000) },
    };
    uint32_t k = s->bits == 16 ? 0 : s->bits == 32 ? 1 : 2;
    return what == ZERO      ? 0
           : what == ONE     ? of[k].one
           : what == LARGEST ? of[k].infinity
                             : of[k].infinity | UINT64_C(1) << (s->bits - 1);
}

static uint64_t int_identity(const SpvType *s, const Combination *c)
{
    bool is_signed = c->with == SpvOpSLessThan || c->with == SpvOpSGreaterThan;
    uint64_t all = UINT64_MAX >> (64 - s->bits), top = UINT64_C(1) << (s->bits - 1);
    if (c->identity < LARGEST)
        return c->identity;
    if (c->identity == LARGEST)
        return is_signed ? top - 1 : all;
    return is_signed ? top : 0;
}

static SpvId identity_of(Lower *l, const SpvType *t, const Combination *c)
{
    const SpvType *s = component(t);
    if (s->kind == SPV_BOOL) {
        uint16_t op = c->identity == ONE ? SpvOpConstantTrue : SpvOpConstantFalse;
        SpvInst *b = spv_make(l->m, op, s->id, spv_new_id(l->m), NULL, 0);
        SpvId parts[4] = { b->id, b->id, b->id, b->id };
        spv_append_global(l->m, b);
        return t->kind == SPV_VECTOR ? spv_composite_constant(l->m, t->id, parts, MIN(t->count, 4))
                                     : b->id;
    }
    return constant_of(l, t,
                       s->kind == SPV_FLOAT ? float_identity(s, c->identity) : int_identity(s, c));
}

static SpvId join(Lower *l, SpvInst *at, const SpvType *t, const Combination *c, SpvId x, SpvId y)
{
    if (!c->chooses)
        return BUILD(l, at, c->with, t->id, x, y);
    SpvId first = BUILD(l, at, c->with, like(l, t, build_bool(l)), x, y);
    return BUILD(l, at, SpvOpSelect, t->id, first, x, y);
}

/* The lanes from `first` on, `count` of them; of those the ones below `end` where that is not 0. */
typedef struct Lanes {
    SpvId first;
    uint32_t count;
    SpvId end;
} Lanes;

static SpvId combined(Lower *l, SpvInst *i, const Combination *c, const SpvType *t, Lanes of)
{
    SpvInst *body;
    SpvId k, sum = build_variable(l, i, t->id);
    build_store(l, i, sum, identity_of(l, t, c));
    build_loop(l, i, of.count, &body, &k);
    SpvId lane = build_add(l, body, of.first, k);
    SpvInst *at = of.end ? build_if(l, body, build_less(l, body, lane, of.end)) : body;
    SpvId old = build_load(l, at, t->id, sum);
    build_store(l, at, sum, join(l, at, t, c, old, fetch(l, at, t, lane)));
    return build_load(l, i, t->id, sum);
}

/* Operands: scope, how, value, cluster size; of votes: scope, value. */
static void combine(Lower *l, SpvInst *i, const Combination *c)
{
    bool vote = i->op == SpvOpGroupNonUniformAll || i->op == SpvOpGroupNonUniformAny;
    uint32_t how = vote ? SpvGroupOperationReduce : spv_operand(i, 1);
    SpvId value = spv_operand(i, vote ? 1 : 2), lane = lane_of(l, i);
    Lanes of = { build_const(l, 0), l->lanes, 0 };
    const SpvType *t = spv_type(l->m, i->type);
    uint64_t cluster = 0;
    publish(l, i, value);
    if (how == SpvGroupOperationInclusiveScan)
        of.end = build_add(l, i, lane, build_const(l, 1));
    else if (how == SpvGroupOperationExclusiveScan)
        of.end = lane;
    else if (how == SpvGroupOperationClusteredReduce &&
             spv_constant(l->m, spv_operand(i, 3), &cluster) && cluster && cluster <= l->lanes) {
        of.count = (uint32_t)cluster;
        of.first = build_sub(l, i, lane, build_mod(l, i, lane, of.count));
    } else if (how != SpvGroupOperationReduce) {
        lower_refuse(l, i, "it combines neither all lanes nor those up to one nor clusters");
        return;
    }
    SpvId result = combined(l, i, c, t, of);
    meet(l, i);
    build_replace(l, i, result);
}

static void all_equal(Lower *l, SpvInst *i)
{
    static const Combination every = { 0, SpvOpLogicalAnd, false, ONE };
    SpvId value = spv_operand(i, 1), b = build_bool(l);
    const SpvType *t = spv_type_of(l->m, value), *s = component(t);
    publish(l, i, value);
    SpvId first = fetch(l, i, t, build_const(l, 0));
    uint16_t op = s->kind == SPV_FLOAT  ? SpvOpFOrdEqual
                  : s->kind == SPV_BOOL ? SpvOpLogicalEqual
                                        : SpvOpIEqual;
    SpvId same = BUILD(l, i, op, like(l, t, b), first, value);
    if (t->kind == SPV_VECTOR)
        same = BUILD(l, i, SpvOpAll, b, same);
    meet(l, i);
    publish(l, i, same);
    Lanes all = { build_const(l, 0), l->lanes, 0 };
    SpvId result = combined(l, i, &every, spv_type(l->m, b), all);
    meet(l, i);
    build_replace(l, i, result);
}

/* ---- ballots --------------------------------------------------------------------------------- */

static void ballot(Lower *l, SpvInst *i)
{
    SpvId u32 = build_u32(l), words[4], k;
    const SpvType *b = spv_type(l->m, build_bool(l));
    SpvInst *body;
    publish(l, i, spv_operand(i, 1));
    for (uint32_t w = 0; w < 4; w++) {
        words[w] = build_const(l, 0);
        if (32 * w >= l->lanes)
            continue;
        SpvId sum = build_variable(l, i, u32);
        build_store(l, i, sum, words[w]);
        build_loop(l, i, MIN(32, l->lanes - 32 * w), &body, &k);
        SpvId yes = fetch(l, body, b, build_add(l, body, k, build_const(l, 32 * w)));
        SpvId bit = BUILD(l, body, SpvOpShiftLeftLogical, u32, build_const(l, 1), k);
        bit = build_select(l, body, yes, bit, build_const(l, 0));
        SpvId old = build_load(l, body, u32, sum);
        build_store(l, body, sum, BUILD(l, body, SpvOpBitwiseOr, u32, old, bit));
        words[w] = build_load(l, i, u32, sum);
    }
    meet(l, i);
    build_replace(l, i, build(l, i, SpvOpCompositeConstruct, i->type, words, 4));
}

static void bit_of(Lower *l, SpvInst *i, SpvId lane)
{
    SpvId u32 = build_u32(l), one = build_const(l, 1);
    SpvId word =
        BUILD(l, i, SpvOpVectorExtractDynamic, u32, spv_operand(i, 1), build_div(l, i, lane, 32));
    SpvId bit = BUILD(l, i, SpvOpShiftRightLogical, u32, word, build_mod(l, i, lane, 32));
    bit = BUILD(l, i, SpvOpBitwiseAnd, u32, bit, one);
    build_replace(l, i, BUILD(l, i, SpvOpIEqual, build_bool(l), bit, one));
}

static void bit_count(Lower *l, SpvInst *i)
{
    SpvId sum = build_const(l, 0), u32 = build_u32(l);
    if (spv_operand(i, 1) != SpvGroupOperationReduce) {
        lower_refuse(l, i, "it counts up to its own lane");
        return;
    }
    for (uint32_t w = 0; 32 * w < l->lanes; w++) {
        SpvId word = BUILD(l, i, SpvOpCompositeExtract, u32, spv_operand(i, 2), w);
        if (l->lanes < 32)
            word = BUILD(l, i, SpvOpBitwiseAnd, u32, word, build_const(l, (1u << l->lanes) - 1));
        sum = build_add(l, i, sum, BUILD(l, i, SpvOpBitCount, u32, word));
    }
    build_replace(
        l, i, spv_type(l->m, i->type)->is_signed ? BUILD(l, i, SpvOpBitcast, i->type, sum) : sum);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static SpvId swapped(Lower *l, SpvInst *i)
{
    uint64_t direction = 0;
    spv_constant(l->m, spv_operand(i, 2), &direction);
    return BUILD(l, i, SpvOpBitwiseXor, build_u32(l), lane_of(l, i),
                 build_const(l, (uint32_t)(direction & 3) + 1));
}

static SpvId rotated(Lower *l, SpvInst *i)
{
    uint64_t cluster = l->lanes;
    SpvId lane = lane_of(l, i), by = build_to_u32(l, i, spv_operand(i, 2));
    if (spv_n_operands(i) > 3)
        spv_constant(l->m, spv_operand(i, 3), &cluster);
    uint32_t n = (uint32_t)(cluster ? cluster : 1);
    SpvId in = build_mod(l, i, lane, n), first = build_sub(l, i, lane, in);
    return build_add(l, i, first, build_mod(l, i, build_add(l, i, in, by), n));
}

static bool is_of_subgroup(Lower *l, const SpvInst *i)
{
    uint64_t scope = 0;
    return spv_n_operands(i) && spv_constant(l->m, spv_operand(i, 0), &scope) &&
           scope == SpvScopeSubgroup;
}

/* The lane that an instruction reads from; 0: it is none that reads from one. */
static SpvId source_of(Lower *l, SpvInst *i)
{
    SpvId u32 = build_u32(l), lane = lane_of(l, i);
    SpvId by = spv_n_operands(i) > 2 ? spv_operand(i, 2) : 0;
    switch (i->op) {
    case SpvOpGroupNonUniformBroadcastFirst: return build_const(l, 0);
    case SpvOpGroupNonUniformBroadcast:
    case SpvOpGroupNonUniformShuffle: return build_to_u32(l, i, by);
    case SpvOpGroupNonUniformShuffleXor:
        return BUILD(l, i, SpvOpBitwiseXor, u32, lane, build_to_u32(l, i, by));
    case SpvOpGroupNonUniformShuffleUp: return build_sub(l, i, lane, build_to_u32(l, i, by));
    case SpvOpGroupNonUniformShuffleDown: return build_add(l, i, lane, build_to_u32(l, i, by));
    case SpvOpGroupNonUniformQuadBroadcast:
        return build_add(l, i, build_sub(l, i, lane, build_mod(l, i, lane, 4)),
                         build_mod(l, i, build_to_u32(l, i, by), 4));
    case SpvOpGroupNonUniformQuadSwap: return swapped(l, i);
    case SpvOpGroupNonUniformRotateKHR: return rotated(l, i);
    default: return 0;
    }
}

static void operate(Lower *l, SpvInst *i)
{
    const Combination *c = find_combination(i->op);
    SpvId from = 0;
    if (i->op == SpvOpGroupNonUniformElect)
        build_replace(l, i,
                      BUILD(l, i, SpvOpIEqual, build_bool(l), lane_of(l, i), build_const(l, 0)));
    else if (i->op == SpvOpGroupNonUniformAllEqual)
        all_equal(l, i);
    else if (i->op == SpvOpGroupNonUniformBallot)
        ballot(l, i);
    else if (i->op == SpvOpGroupNonUniformInverseBallot)
        bit_of(l, i, lane_of(l, i));
    else if (i->op == SpvOpGroupNonUniformBallotBitExtract)
        bit_of(l, i, build_to_u32(l, i, spv_operand(i, 2)));
    else if (i->op == SpvOpGroupNonUniformBallotBitCount)
        bit_count(l, i);
    else if (c)
        combine(l, i, c);
    else if ((from = source_of(l, i)) != 0)
        take_from(l, i, spv_operand(i, 1), from);
    else
        lower_refuse(l, i, "it is not one that several subgroups can do together");
}

static void visit(Lower *l, SpvInst *i)
{
    uint64_t scope = 0;
    const SpvOpInfo *info = spv_op_info(i->op);
    SpvId workgroup = build_const(l, SpvScopeWorkgroup);
    if (i->op == SpvOpControlBarrier || i->op == SpvOpMemoryBarrier) {
        uint32_t memory = i->op == SpvOpControlBarrier ? 1 : 0;
        if (spv_constant(l->m, spv_operand(i, memory), &scope) && scope == SpvScopeSubgroup)
            i->words[i->first_operand + memory] = workgroup;
        if (memory && is_of_subgroup(l, i))
            i->words[i->first_operand] = workgroup;
    } else if (info && info->flags & SPV_OPF_GROUP && is_of_subgroup(l, i)) {
        lower_note(l, i, "workgroup memory");
        operate(l, i);
    }
}

/* ---- builtins -------------------------------------------------------------------------------- */

static SpvId value_of(Lower *l, SpvInst *at, uint32_t builtin)
{
    SpvId index = build_const(l, 0);
    if (l->invocations > 1) { /* read here: who reads the builtin may come first in its function */
        SpvId v = place_builtin(l, SpvBuiltInLocalInvocationIndex, build_u32(l));
        index = build_to_u32(l, at, build_load(l, at, spv_type_of(l->m, v)->element->id, v));
    }
    switch (builtin) {
    case SpvBuiltInSubgroupLocalInvocationId: return build_mod(l, at, index, l->width);
    case SpvBuiltInSubgroupId: return build_div(l, at, index, l->width);
    case SpvBuiltInSubgroupSize: return build_const(l, l->width);
    case SpvBuiltInNumSubgroups: return build_const(l, l->subgroups);
    default: return 0;
    }
}

/* The builtin that an Input variable is, of subgroups; UINT32_MAX: none. */
static uint32_t builtin_of(Lower *l, SpvId variable)
{
    uint32_t n;
    const SpvInst *v = spv_def(l->m, variable);
    const uint32_t *b = v && v->op == SpvOpVariable
                            ? spv_decoration(l->m, variable, -1, SpvDecorationBuiltIn, &n)
                            : NULL;
    if (!b)
        return UINT32_MAX;
    bool mask = *b >= SpvBuiltInSubgroupEqMask && *b <= SpvBuiltInSubgroupLtMask;
    return mask || (*b >= SpvBuiltInSubgroupSize && *b <= SpvBuiltInSubgroupLocalInvocationId)
               ? *b
               : UINT32_MAX;
}

static void read_builtin(Lower *l, SpvInst *i)
{
    if (i->op != SpvOpLoad && i->op != SpvOpAccessChain)
        return;
    uint32_t builtin = builtin_of(l, spv_operand(i, 0));
    if (builtin == UINT32_MAX)
        return;
    SpvId value = i->op == SpvOpLoad ? value_of(l, i, builtin) : 0;
    if (!value) {
        lower_refuse(l, i, "it reads a mask of lanes");
        return;
    }
    build_replace(l, i,
                  spv_type(l->m, i->type)->is_signed ? BUILD(l, i, SpvOpBitcast, i->type, value)
                                                     : value);
}

static void drop_builtins(Lower *l)
{
    for (SpvInst *i = l->m->globals.first, *next; i; i = next) {
        next = i->next;
        if (i->op == SpvOpVariable && builtin_of(l, i->id) != UINT32_MAX)
            edit_remove(l->m, i);
    }
    edit_sweep(l->m, l->scratch);
    l->asks_lane = false;
}

/* ---- control flow ---------------------------------------------------------------------------- */

static bool waits(const Lower *l, const SpvFunction *f)
{
    uint64_t scope;
    for (const SpvBlock *b = f->first; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next)
            if (i->op == SpvOpControlBarrier && spv_constant(l->m, spv_operand(i, 0), &scope) &&
                scope == SpvScopeWorkgroup)
                return true;
    return false;
}

static bool waits_in_call(Lower *l, const SpvInst *i, uint32_t depth)
{
    SpvId called[SPV_MAX_CALLEES];
    for (uint32_t n = spv_callees(l->m, i, called), k = 0; k < n && depth < 64; k++)
        for (SpvFunction *f = l->m->functions; f; f = f->next) {
            if (f->def->id != called[k])
                continue;
            if (waits(l, f))
                return true;
            for (const SpvBlock *b = f->first; b; b = b->next)
                for (const SpvInst *c = b->insts.first; c; c = c->next)
                    if (waits_in_call(l, c, depth + 1))
                        return true;
        }
    return false;
}

/* The branch that not all invocations take alike, on the way to a block. */
static const SpvInst *branch_above(const Cfg *g, const Uniformity *u, uint32_t at)
{
    for (uint32_t b = at; b; b = g->blocks[b].idom)
        if (u->divergent_branch[g->blocks[b].idom])
            return g->blocks[g->blocks[b].idom].block->insts.last;
    return NULL;
}

static bool check_flow(Lower *l, SpvFunction *f)
{
    static const UniformityKnown nothing;
    spv_number_blocks(f);
    Cfg *g = cfg_build(l->scratch, f, l->sink);
    Uniformity *u = !g ? NULL
                    : f == l->entry.function
                        ? uniformity_build(l->scratch, l->m, g)
                        : uniformity_build_known(l->scratch, l->m, g, 0, &nothing);
    for (uint32_t b = 0; u && b + 1 < g->n; b++) {
        if (!u->divergent_block[b])
            continue;
        for (const SpvInst *i = g->blocks[b].block->insts.first; i; i = i->next) {
            if (i->op != SpvOpControlBarrier && !waits_in_call(l, i, 0))
                continue;
            const SpvInst *branch = branch_above(g, u, b);
            return lower_refuse(l, branch ? branch : i,
                                "not all invocations of the workgroup take"
                                " this branch alike, and its subgroups wait for each other behind"
                                " it");
        }
    }
    return u;
}

void wide_subgroups(Lower *l)
{
    if (l->width <= l->profile->max_subgroup_size)
        return;
    if (l->entry.quads == SPV_QUADS_SQUARE) {
        lower_refuse(l, l->entry.inst, "subgroups are numbered by squares of invocations");
        return;
    }
    lower_each(l, visit);
    if (l->failed)
        return;
    lower_each(l, read_builtin);
    if (l->failed)
        return;
    drop_builtins(l);
    for (SpvFunction *f = l->m->functions; f && !l->failed; f = f->next)
        check_flow(l, f);
}
