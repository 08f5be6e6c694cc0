/* SPDX-License-Identifier: MIT
 *
 * uniformity: finds the values that are the same for all invocations of a subgroup. In: a function
 * (an entry point after inlining) and its Cfg. Out: Uniformity.
 *
 * The analysis is optimistic: everything starts out uniform, and variance spreads along uses until
 * nothing changes. Vectors are followed component by component. A branch on a varying condition
 * makes the blocks up to its immediate post-dominator divergent, and joins of disjoint paths from
 * it (found by spreading labels over the compact order) make their phis varying; where it lets
 * lanes leave a loop in different iterations, the loop is divergent, and so is what was computed in
 * it and is used after it. A Function or Private variable is varying once something varying, or by
 * some lanes only, is stored to it.
 */
#include "analysis/analysis.h"

#define NONE UINT32_MAX
enum { ALL = 0xffff };

typedef struct State {
    Arena *a;
    SpvModule *m;
    const Cfg *c;
    Uniformity *u;
    uint16_t *mask;  /* u->components */
    SpvInst **insts; /* of the reachable blocks, in order */
    uint32_t n_insts;
    uint32_t *first;           /* by position: number of the block's first instruction */
    uint32_t *use_start, *use; /* by id: numbers of the instructions that use it */
    uint32_t *work, n_work;
    uint8_t *queued;
    SpvId *base;        /* by id of a pointer: the variable it points into, or 0 */
    uint8_t *in_matrix; /* by id of a pointer: to an element of a matrix */
    /* by variable id, by instruction number: what reads a variable */
    uint32_t *load_head, *load_next;
    uint8_t *join; /* by position: lanes that parted meet here */
    uint32_t *label, *stamp, stamps;
    uint8_t **back;      /* by loop, when asked: its blocks that lead to its header again */
    uint32_t *walked_to; /* by position: end of the walk that made it divergent */
    uint16_t operand_at[65536];
    uint16_t local_mask; /* components of LocalInvocationId that differ */
    bool single_invocation;
} State;

static void push(State *s, uint32_t k)
{
    if (!s->queued[k]) {
        s->queued[k] = 1;
        s->work[s->n_work++] = k;
    }
}

static bool is_vector(State *s, SpvId type)
{
    const SpvType *t = spv_type(s->m, type);
    return t && t->kind == SPV_VECTOR;
}

static bool is_coopmat(const SpvType *t)
{
    while (t && t->kind == SPV_ARRAY)
        t = t->element;
    return t && t->kind == SPV_COOPMAT;
}

static void set_mask(State *s, const SpvInst *i, uint16_t mask)
{
    if (!mask || !i->id || is_coopmat(spv_type(s->m, i->type)))
        return;
    if (!is_vector(s, i->type))
        mask = ALL;
    if ((s->mask[i->id] | mask) == s->mask[i->id])
        return;
    s->mask[i->id] |= mask;
    s->u->varying[i->id] = 1;
    for (uint32_t k = s->use_start[i->id]; k < s->use_start[i->id + 1]; k++)
        push(s, s->use[k]);
}

static uint16_t of(const State *s, SpvId id) { return id < s->m->bound ? s->mask[id] : 0; }

static uint16_t spread_scalar(uint16_t mask) { return mask ? ALL : 0; }

/* ---- variables ------------------------------------------------------------------------------- */

static bool is_private(const SpvInst *var)
{
    uint32_t storage = var && var->op == SpvOpVariable ? spv_operand(var, 0) : NONE;
    return storage == SpvStorageClassFunction || storage == SpvStorageClassPrivate;
}

static void vary_variable(State *s, SpvId var)
{
    SpvInst *def = spv_def(s->m, var);
    const SpvType *t = def ? spv_type(s->m, def->type) : NULL;
    if (!is_private(def) || s->u->varying_variable[var] || (t && is_coopmat(t->element)))
        return;
    s->u->varying_variable[var] = 1;
    for (uint32_t k = s->load_head[var]; k != NONE; k = s->load_next[k])
        push(s, k);
}

static uint16_t builtin_mask(State *s, SpvId var)
{
    uint32_t n;
    const uint32_t *builtin = spv_decoration(s->m, var, -1, SpvDecorationBuiltIn, &n);
    if (!builtin && spv_has_decoration(s->m, var, -1, SpvDecorationLocation))
        return 0; /* how many workgroups there are to do (pass/coarsen.c) */
    if (!builtin || !n)
        return ALL;
    switch (*builtin) {
    case SpvBuiltInNumWorkgroups:
    case SpvBuiltInWorkgroupSize:
    case SpvBuiltInWorkgroupId:
    case SpvBuiltInWorkDim:
    case SpvBuiltInGlobalSize:
    case SpvBuiltInEnqueuedWorkgroupSize:
    case SpvBuiltInGlobalOffset:
    case SpvBuiltInSubgroupSize:
    case SpvBuiltInSubgroupMaxSize:
    case SpvBuiltInNumSubgroups:
    case SpvBuiltInNumEnqueuedSubgroups:
    case SpvBuiltInSubgroupId:
    case SpvBuiltInDeviceIndex:
    case SpvBuiltInWarpsPerSMNV:
    case SpvBuiltInSMCountNV:
    case SpvBuiltInWarpIDNV:
    case SpvBuiltInSMIDNV:
    case SpvBuiltInCoreCountARM:
    case SpvBuiltInCoreMaxIDARM:
    case SpvBuiltInWarpMaxIDARM:
    case SpvBuiltInCoreIDARM:
    case SpvBuiltInWarpIDARM: return 0;
    case SpvBuiltInLocalInvocationId:
    case SpvBuiltInGlobalInvocationId: return s->local_mask;
    case SpvBuiltInLocalInvocationIndex: return s->single_invocation ? 0 : ALL;
    default: return ALL;
    }
}

static uint16_t load_mask(State *s, SpvId pointer)
{
    SpvId var = s->base[pointer];
    SpvInst *def = spv_def(s->m, var), *at = spv_def(s->m, pointer);
    if (of(s, pointer) || s->in_matrix[pointer])
        return ALL;
    if (!def) { /* which memory is unknown: that of one invocation, perhaps */
        const SpvType *t = spv_type_of(s->m, pointer);
        return t && t->kind == SPV_POINTER &&
                       (t->storage == SpvStorageClassFunction ||
                        t->storage == SpvStorageClassPrivate ||
                        t->storage == SpvStorageClassGeneric)
                   ? ALL
                   : 0;
    }
    if (is_private(def))
        return s->u->varying_variable[var] ? ALL : 0;
    if (def->op != SpvOpVariable || spv_operand(def, 0) != SpvStorageClassInput)
        return 0;
    uint16_t mask = builtin_mask(s, var);
    uint64_t index;
    if (pointer == var || mask == 0)
        return mask;
    if (at && (at->op == SpvOpAccessChain || at->op == SpvOpInBoundsAccessChain) &&
        spv_n_operands(at) == 2 && spv_operand(at, 0) == var &&
        spv_constant(s->m, spv_operand(at, 1), &index) && index < 16)
        return spread_scalar(mask >> index & 1);
    return ALL;
}

static void store_to(State *s, const SpvInst *i, SpvId pointer, uint16_t value)
{
    SpvId var = s->base[pointer];
    if (!var || s->in_matrix[pointer])
        return;
    if (value || of(s, pointer) || s->u->divergent_block[s->c->position[i->block->index]])
        vary_variable(s, var);
}

/* ---- control flow ---------------------------------------------------------------------------- */

static void diverge_block(State *s, uint32_t p, uint32_t towards)
{
    s->walked_to[p] = towards;
    if (s->u->divergent_block[p])
        return;
    s->u->divergent_block[p] = 1;
    for (uint32_t k = s->first[p]; k < s->first[p + 1]; k++) {
        uint16_t op = s->insts[k]->op;
        if (op == SpvOpStore || op == SpvOpCopyMemory || op == SpvOpCopyMemorySized ||
            op == SpvOpExtInst)
            push(s, k);
    }
}

static void make_join(State *s, uint32_t p)
{
    if (s->join[p])
        return;
    s->join[p] = 1;
    for (uint32_t k = s->first[p]; k < s->first[p + 1]; k++)
        if (s->insts[k]->op == SpvOpPhi)
            push(s, k);
}

typedef struct Walk {
    uint32_t stop, pending;
} Walk;

/* A path labelled `label` reaches `to` from `from`. If two labels meet, lanes that had diverged
 * join. */
static void arrive(State *s, Walk *w, uint32_t from, uint32_t to, uint32_t label)
{
    bool known = s->stamp[to] == s->stamps;
    if (known && s->label[to] != label)
        make_join(s, to);
    if (known && (to == w->stop || to <= from))
        return;
    if (known) {
        if (s->label[to] != label)
            s->label[to] = to;
        return;
    }
    s->stamp[to] = s->stamps;
    s->label[to] = label;
    if (to != w->stop && to > from)
        w->pending++;
}

/* Makes the blocks from the seeds up to `stop`, which all paths go through, divergent, and finds
 * joins. */
static void walk_apart(State *s, uint32_t from, const uint32_t *seeds, uint32_t n, uint32_t stop)
{
    Walk w = { .stop = stop };
    uint32_t p = NONE;
    s->stamps++;
    for (uint32_t k = 0; k < n; k++) {
        arrive(s, &w, from, seeds[k], seeds[k]);
        if (seeds[k] > from)
            p = MIN(p, seeds[k]);
    }
    for (; w.pending && p + 1 < s->c->n; p++) {
        if (s->stamp[p] != s->stamps || p == stop || p <= from)
            continue;
        if (--w.pending == 0 && s->u->divergent_block[p] && s->walked_to[p] == stop) {
            if (s->stamp[stop] == s->stamps && s->label[stop] != s->label[p])
                make_join(s, stop);
            return; /* the rest was walked before, as one stream */
        }
        diverge_block(s, p, stop);
        const CfgBlock *b = &s->c->blocks[p];
        for (uint32_t k = 0; k < b->n_succs; k++)
            arrive(s, &w, p, b->succs[k], s->label[p]);
    }
}

static bool is_in(const State *s, const CfgLoop *l, const SpvBlock *block)
{
    return cfg_in_loop(l, s->c, s->c->position[block->index]);
}

/* Whether a phi takes the value along edges that leave the loop only. */
static bool takes_on_leaving(const State *s, const SpvInst *phi, SpvId id, const CfgLoop *l)
{
    for (uint32_t k = 0; k + 1 < spv_n_operands(phi); k += 2) {
        const SpvInst *label = spv_def(s->m, spv_operand(phi, k + 1));
        if (spv_operand(phi, k) == id && !(label && label->block && is_in(s, l, label->block)))
            return false;
    }
    return true;
}

/* A value of a divergent loop differs behind it, between lanes that left in different iterations,
 * while the lanes that are in it may share it. So in loop-closed form (pass_close_loops) only the
 * phis behind the loop vary. */
static void diverge_behind(State *s, SpvInst *i, const CfgLoop *l)
{
    for (uint32_t k = s->use_start[i->id]; k < s->use_start[i->id + 1]; k++) {
        SpvInst *use = s->insts[s->use[k]];
        if (is_in(s, l, use->block))
            continue;
        bool phi = use->op == SpvOpPhi && takes_on_leaving(s, use, i->id, l);
        set_mask(s, phi ? use : i, ALL);
    }
}

static void diverge_loop(State *s, const CfgLoop *l)
{
    uint32_t number = l->index, end = l->header + l->n_blocks;
    if (s->u->divergent_loop[number])
        return;
    s->u->divergent_loop[number] = 1;
    VEC(uint32_t) exits = { 0 };
    for (uint32_t p = l->header; p < end; p++) {
        diverge_block(s, p, NONE);
        for (uint32_t k = 0; k < s->c->blocks[p].n_succs; k++)
            if (!cfg_in_loop(l, s->c, s->c->blocks[p].succs[k]))
                vec_push(s->a, &exits, s->c->blocks[p].succs[k]);
    }
    for (uint32_t k = s->first[l->header]; k < s->first[end]; k++) {
        SpvInst *i = s->insts[k];
        if (i->id && i->type)
            diverge_behind(s, i, l);
    }
    uint32_t n = 0, stop = s->c->blocks[l->header].ipdom;
    while (cfg_in_loop(l, s->c, stop))
        stop = s->c->blocks[stop].ipdom;
    s->stamps++;
    for (uint32_t k = 0; k < exits.len; k++) {
        if (s->stamp[exits.data[k]] == s->stamps) {
            make_join(s, exits.data[k]); /* two ways out, taken in different iterations */
        } else {
            s->stamp[exits.data[k]] = s->stamps;
            exits.data[n++] = exits.data[k];
        }
    }
    walk_apart(s, end - 1, exits.data, n, stop);
}

/* Whether a block of a loop leads back to the loop's header; others are on the way out. */
static bool comes_back(State *s, const CfgLoop *l, uint32_t p)
{
    uint32_t number = l->index, n = 0;
    if (!s->back[number]) {
        uint8_t *back = s->back[number] = NEW_ARRAY(s->a, uint8_t, l->n_blocks);
        uint32_t *stack = NEW_ARRAY(s->a, uint32_t, l->n_blocks + 1);
        stack[n++] = l->header;
        while (n) {
            const CfgBlock *b = &s->c->blocks[stack[--n]];
            for (uint32_t k = 0; k < b->n_preds; k++) {
                uint32_t from = b->preds[k];
                if (!cfg_in_loop(l, s->c, from) || back[from - l->header])
                    continue;
                back[from - l->header] = 1;
                if (from != l->header)
                    stack[n++] = from;
            }
        }
        back[0] = 1;
    }
    return s->back[number][p - l->header];
}

static void diverge_branch(State *s, const SpvInst *term)
{
    uint32_t p = s->c->position[term->block->index];
    const CfgBlock *b = &s->c->blocks[p];
    if (s->u->divergent_branch[p])
        return;
    s->u->divergent_branch[p] = 1;
    if (b->n_succs < 2)
        return;
    walk_apart(s, p, b->succs, b->n_succs, b->ipdom);
    for (const CfgLoop *l = b->loop; l; l = l->parent) {
        if (cfg_in_loop(l, s->c, b->ipdom) && comes_back(s, l, b->ipdom))
            break;
        if (comes_back(s, l, p))
            diverge_loop(s, l);
    }
}

/* ---- instructions ---------------------------------------------------------------------------- */

static uint16_t any_operand(State *s, const SpvInst *i)
{
    uint32_t n = spv_id_operands(i, s->operand_at, COUNT_OF(s->operand_at));
    uint16_t mask = 0;
    for (uint32_t k = 0; k < n; k++)
        mask |= of(s, i->words[s->operand_at[k]]);
    return mask;
}

static bool is_componentwise(State *s, const SpvInst *i)
{
    if (i->op == SpvOpBitcast) {
        const SpvType *from = spv_type_of(s->m, spv_operand(i, 0)), *to = spv_type(s->m, i->type);
        return from && to && from->kind == SPV_VECTOR && from->count == to->count;
    }
    return (i->op >= SpvOpConvertFToU && i->op <= SpvOpQuantizeToF16) || i->op == SpvOpCopyObject ||
           (i->op >= SpvOpSNegate && i->op <= SpvOpVectorTimesScalar) ||
           (i->op >= SpvOpIsNan && i->op <= SpvOpFUnordGreaterThanEqual) ||
           (i->op >= SpvOpShiftRightLogical && i->op <= SpvOpBitCount);
}

/* Where a pointer is a value (of a phi, in memory), one into memory that each lane has of its own
 * differs. */
static uint16_t as_value(State *s, SpvId id)
{
    SpvId var = id < s->m->bound ? s->base[id] : 0;
    return is_private(spv_def(s->m, var)) ? ALL : of(s, id);
}

static uint16_t phi_mask(State *s, const SpvInst *i)
{
    uint16_t mask = 0;
    bool same = true;
    SpvId only = 0;
    for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2) {
        SpvId value = spv_operand(i, k), pred = spv_operand(i, k + 1);
        SpvInst *label = spv_def(s->m, pred);
        if (!label || !label->block || s->c->position[label->block->index] == NONE)
            continue;
        mask |= as_value(s, value);
        if (value == i->id || value == only)
            continue;
        same = same && !only;
        only = value;
    }
    return !same && s->join[s->c->position[i->block->index]] ? ALL : mask;
}

static uint16_t construct_mask(State *s, const SpvInst *i)
{
    if (!is_vector(s, i->type))
        return any_operand(s, i);
    uint16_t mask = 0;
    uint32_t at = 0;
    for (uint32_t k = 0; k < spv_n_operands(i) && at < 16; k++) {
        const SpvType *t = spv_type_of(s->m, spv_operand(i, k));
        uint32_t n = t && t->kind == SPV_VECTOR ? t->count : 1;
        uint32_t part = of(s, spv_operand(i, k)) & ((n < 16 ? 1u << n : 0x10000u) - 1);
        mask |= (uint16_t)(part << at);
        at += n;
    }
    return mask;
}

static uint16_t shuffle_mask(State *s, const SpvInst *i)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    uint32_t n = t ? t->count : 0, mask = 0;
    for (uint32_t k = 2; k < spv_n_operands(i) && k < 18; k++) {
        uint32_t c = spv_operand(i, k);
        uint32_t from = c < n ? spv_operand(i, 0) : spv_operand(i, 1);
        uint32_t bit = c < n ? c : c - n;
        if (c != NONE && bit < 16 && of(s, from) >> bit & 1)
            mask |= 1u << (k - 2);
    }
    return (uint16_t)mask;
}

static uint16_t extract_mask(State *s, const SpvInst *i)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    uint16_t mask = of(s, spv_operand(i, 0));
    if (t && t->kind == SPV_VECTOR && spv_n_operands(i) == 2 && spv_operand(i, 1) < 16)
        return spread_scalar(mask >> spv_operand(i, 1) & 1);
    for (uint32_t k = 1; t && k < spv_n_operands(i); k++) {
        if (t->kind == SPV_COOPMAT)
            return ALL;
        t = t->kind == SPV_STRUCT
                ? (spv_operand(i, k) < t->count ? t->members[spv_operand(i, k)] : NULL)
                : t->element;
    }
    return spread_scalar(mask);
}

static uint16_t insert_mask(State *s, const SpvInst *i)
{
    uint16_t object = of(s, spv_operand(i, 0)), mask = of(s, spv_operand(i, 1));
    if (!is_vector(s, i->type) || spv_n_operands(i) != 3 || spv_operand(i, 2) >= 16)
        return spread_scalar(object | mask);
    uint16_t bit = (uint16_t)(1u << spv_operand(i, 2));
    return (uint16_t)((mask & ~bit) | (object ? bit : 0));
}

/* Reductions are one value for all; scans and parts of a subgroup are not. */
static uint16_t reduction_mask(const SpvInst *i)
{
    return spv_operand(i, 1) == SpvGroupOperationReduce ? 0 : ALL;
}

/* Subgroup operations; *known false: not one of them. */
static uint16_t group_mask(State *s, const SpvInst *i, bool *known)
{
    *known = true;
    switch (i->op) {
    case SpvOpGroupNonUniformAll:
    case SpvOpGroupNonUniformAny:
    case SpvOpGroupNonUniformAllEqual:
    case SpvOpGroupNonUniformBroadcast:
    case SpvOpGroupNonUniformBroadcastFirst:
    case SpvOpGroupNonUniformBallot:
    case SpvOpGroupAll:
    case SpvOpGroupAny:
    case SpvOpGroupBroadcast:
    case SpvOpSubgroupBallotKHR:
    case SpvOpSubgroupFirstInvocationKHR:
    case SpvOpSubgroupAllKHR:
    case SpvOpSubgroupAnyKHR:
    case SpvOpSubgroupAllEqualKHR:
    case SpvOpReadClockKHR:
    case SpvOpCooperativeMatrixLengthKHR:
    case SpvOpCooperativeMatrixLengthNV: return 0;
    case SpvOpGroupNonUniformElect:
    case SpvOpGroupNonUniformInverseBallot:
    case SpvOpGroupNonUniformPartitionEXT:
    case SpvOpFunctionCall:
    case SpvOpCompositeExtractCoopMatQCOM:
    case SpvOpCooperativeMatrixGetCoordinateEXT: return ALL;
    case SpvOpGroupNonUniformShuffle:
    case SpvOpGroupNonUniformQuadBroadcast:
        return of(s, spv_operand(i, 1)) && of(s, spv_operand(i, 2)) ? ALL : 0;
    case SpvOpGroupNonUniformShuffleXor:
    case SpvOpGroupNonUniformShuffleUp:
    case SpvOpGroupNonUniformShuffleDown:
    case SpvOpGroupNonUniformRotateKHR:
    case SpvOpGroupNonUniformQuadSwap: return spread_scalar(of(s, spv_operand(i, 1)));
    case SpvOpSubgroupReadInvocationKHR:
        return of(s, spv_operand(i, 0)) && of(s, spv_operand(i, 1)) ? ALL : 0;
    case SpvOpGroupNonUniformBallotBitCount:
        return reduction_mask(i) | spread_scalar(of(s, spv_operand(i, 2)));
    case SpvOpGroupNonUniformBallotBitExtract:
    case SpvOpGroupNonUniformBallotFindLSB:
    case SpvOpGroupNonUniformBallotFindMSB:
    case SpvOpGroupNonUniformQuadAllKHR:
    case SpvOpGroupNonUniformQuadAnyKHR: return spread_scalar(any_operand(s, i));
    default: break;
    }
    if ((i->op >= SpvOpGroupNonUniformIAdd && i->op <= SpvOpGroupNonUniformLogicalXor) ||
        (i->op >= SpvOpGroupIAdd && i->op <= SpvOpGroupSMax) ||
        (i->op >= SpvOpGroupIMulKHR && i->op <= SpvOpGroupLogicalXorKHR))
        return reduction_mask(i);
    *known = false;
    return 0;
}

/* An extended instruction that touches memory: a load and a store of each of its pointers. */
static uint16_t impure_ext_mask(State *s, const SpvInst *i)
{
    uint16_t mask = spread_scalar(any_operand(s, i));
    uint32_t n = spv_id_operands(i, s->operand_at, COUNT_OF(s->operand_at));
    for (uint32_t k = 0; k < n; k++) {
        const SpvType *t = spv_type_of(s->m, i->words[s->operand_at[k]]);
        if (t && t->kind == SPV_POINTER)
            mask |= load_mask(s, i->words[s->operand_at[k]]);
    }
    for (uint32_t k = 0; k < n; k++)
        store_to(s, i, i->words[s->operand_at[k]], mask);
    return mask;
}

static bool is_atomic_access(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    return info && info->flags & SPV_OPF_ATOMIC;
}

static uint16_t result_mask(State *s, const SpvInst *i)
{
    bool known;
    uint16_t mask;
    switch (i->op) {
    case SpvOpPhi: return phi_mask(s, i);
    case SpvOpLoad: return load_mask(s, spv_operand(i, 0));
    case SpvOpVariable:
    case SpvOpUndef: return 0;
    case SpvOpCompositeConstruct: return construct_mask(s, i);
    case SpvOpVectorShuffle: return shuffle_mask(s, i);
    case SpvOpCompositeExtract: return extract_mask(s, i);
    case SpvOpCompositeInsert: return insert_mask(s, i);
    case SpvOpSelect:
        if (spv_operand(i, 1) == spv_operand(i, 2))
            return as_value(s, spv_operand(i, 1));
        return of(s, spv_operand(i, 0)) | as_value(s, spv_operand(i, 1)) |
               as_value(s, spv_operand(i, 2));
    case SpvOpConvertPtrToU: return as_value(s, spv_operand(i, 0));
    case SpvOpAtomicLoad: return load_mask(s, spv_operand(i, 0));
    case SpvOpExtInst:
        return spv_is_pure(i) ? spread_scalar(any_operand(s, i)) : impure_ext_mask(s, i);
    default: break;
    }
    mask = group_mask(s, i, &known);
    if (known)
        return mask;
    if (is_atomic_access(i))
        return ALL;
    mask = any_operand(s, i);
    return is_componentwise(s, i) ? mask : spread_scalar(mask);
}

static void visit_inst(State *s, uint32_t k)
{
    const SpvInst *i = s->insts[k];
    switch (i->op) {
    case SpvOpBranchConditional:
    case SpvOpSwitch:
        if (of(s, spv_operand(i, 0)))
            diverge_branch(s, i);
        return;
    case SpvOpStore:
    case SpvOpAtomicStore:
        store_to(s, i, spv_operand(i, 0),
                 i->op == SpvOpStore ? as_value(s, spv_operand(i, 1)) : ALL);
        return;
    case SpvOpCopyMemory:
    case SpvOpCopyMemorySized:
        store_to(s, i, spv_operand(i, 0), load_mask(s, spv_operand(i, 1)));
        return;
    default:
        if (i->id && i->type)
            set_mask(s, i, result_mask(s, i));
        else if (is_atomic_access(i))
            store_to(s, i, spv_operand(i, 0), ALL);
    }
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static void number_instructions(State *s)
{
    uint32_t n = 0;
    s->first = NEW_ARRAY(s->a, uint32_t, s->c->n + 1);
    for (uint32_t p = 0; p + 1 < s->c->n; p++)
        for (SpvInst *i = s->c->blocks[p].block->insts.first; i; i = i->next)
            n++;
    s->insts = NEW_ARRAY(s->a, SpvInst *, n);
    for (uint32_t p = 0; p + 1 < s->c->n; p++) {
        s->first[p] = s->n_insts;
        for (SpvInst *i = s->c->blocks[p].block->insts.first; i; i = i->next)
            s->insts[s->n_insts++] = i;
    }
    s->first[s->c->n - 1] = s->first[s->c->n] = n;
    s->work = NEW_ARRAY(s->a, uint32_t, n);
    s->queued = NEW_ARRAY(s->a, uint8_t, n);
    s->load_next = NEW_ARRAY(s->a, uint32_t, n);
}

static void index_uses(State *s)
{
    uint32_t *start = s->use_start = NEW_ARRAY(s->a, uint32_t, (size_t)s->m->bound + 2);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < s->n_insts; k++) {
            uint32_t n = spv_id_operands(s->insts[k], s->operand_at, COUNT_OF(s->operand_at));
            for (uint32_t o = 0; o < n; o++) {
                uint32_t id = s->insts[k]->words[s->operand_at[o]];
                if (pass == 0)
                    start[id + 2]++;
                else
                    s->use[start[id + 1]++] = k;
            }
        }
        if (pass)
            break;
        for (uint32_t id = 2; id <= s->m->bound + 1; id++)
            start[id] += start[id - 1];
        s->use = NEW_ARRAY(s->a, uint32_t, start[s->m->bound + 1]);
    }
}

static bool enters_matrix(State *s, const SpvInst *i)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    bool ptr = i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain;
    if ((!ptr && i->op != SpvOpAccessChain && i->op != SpvOpInBoundsAccessChain) || !t)
        return false;
    t = t->element;
    for (uint32_t k = ptr ? 2 : 1; t && k < spv_n_operands(i); k++) {
        uint64_t member;
        if (t->kind == SPV_COOPMAT)
            return true;
        if (t->kind == SPV_STRUCT)
            t = spv_constant(s->m, spv_operand(i, k), &member) && member < t->count
                    ? t->members[member]
                    : NULL;
        else
            t = t->element;
    }
    return false;
}

/* Finds the variable that each pointer points into, the instructions that read a variable, and the
 * variables whose uses cannot all be followed (these vary). */
static void trace_pointers(State *s)
{
    s->base = NEW_ARRAY(s->a, SpvId, s->m->bound);
    s->in_matrix = NEW_ARRAY(s->a, uint8_t, s->m->bound);
    s->load_head = NEW_ARRAY(s->a, uint32_t, s->m->bound);
    memset(s->load_head, 0xff, sizeof(uint32_t) * s->m->bound);
    for (SpvInst *i = s->m->globals.first; i; i = i->next)
        if (i->op == SpvOpVariable)
            s->base[i->id] = i->id;
    for (uint32_t k = 0; k < s->n_insts; k++) {
        SpvInst *i = s->insts[k];
        if (i->op == SpvOpVariable)
            s->base[i->id] = i->id;
        SpvId from = pointer_from(i);
        if (from) {
            s->base[i->id] = s->base[from];
            s->in_matrix[i->id] = s->in_matrix[from] || enters_matrix(s, i);
            continue;
        }
        bool follows = i->op == SpvOpLoad || i->op == SpvOpStore || i->op == SpvOpCopyMemory ||
                       i->op == SpvOpCopyMemorySized || i->op == SpvOpExtInst ||
                       i->op == SpvOpAtomicLoad;
        bool harmless = i->op == SpvOpLifetimeStart || i->op == SpvOpLifetimeStop ||
                        i->op == SpvOpPtrEqual || i->op == SpvOpPtrNotEqual ||
                        i->op == SpvOpPtrDiff || i->op == SpvOpCooperativeMatrixLoadKHR ||
                        i->op == SpvOpCooperativeMatrixStoreKHR ||
                        i->op == SpvOpCooperativeMatrixLoadTensorNV ||
                        i->op == SpvOpCooperativeMatrixStoreTensorNV;
        uint32_t n = spv_id_operands(i, s->operand_at, COUNT_OF(s->operand_at));
        for (uint32_t o = 0; o < n; o++) {
            SpvId var = s->base[i->words[s->operand_at[o]]];
            if (!var)
                continue;
            if (!follows && !harmless)
                vary_variable(s, var);
            if (follows && !(i->op == SpvOpStore && s->operand_at[o] == i->first_operand)) {
                s->load_next[k] = s->load_head[var];
                s->load_head[var] = k;
                break; /* one list an instruction: a second variable makes both vary */
            }
        }
        for (uint32_t o = 0, seen = 0; follows && o < n; o++)
            if (s->base[i->words[s->operand_at[o]]] && seen++ && i->op != SpvOpStore)
                vary_variable(s, s->base[i->words[s->operand_at[o]]]);
        if (i->op == SpvOpStore && s->base[spv_operand(i, 1)]) /* a pointer is stored */
            vary_variable(s, s->base[spv_operand(i, 1)]);
    }
}

static void read_workgroup_size(State *s, uint32_t subgroup_size)
{
    uint32_t size[3] = { 0 };
    for (SpvInst *i = s->m->globals.first; i; i = i->next) {
        SpvEntryPoint e;
        DiagSink none = { 0 };
        if (i->op == SpvOpEntryPoint && spv_operand(i, 1) == s->c->function->def->id &&
            spv_entry_point(s->m, spv_string(i, 2, NULL), &e, &none))
            memcpy(size, e.local_size, sizeof size);
    }
    uint64_t row = size[0], plane = (uint64_t)size[0] * size[1];
    bool rows = subgroup_size && row && row % subgroup_size == 0;
    bool planes = subgroup_size && plane && plane % subgroup_size == 0;
    s->local_mask =
        (uint16_t)((size[0] != 1) | (size[1] != 1 && !rows) << 1 | (size[2] != 1 && !planes) << 2);
    s->single_invocation = size[0] == 1 && size[1] == 1 && size[2] == 1;
}

static bool is_entry_point(const State *s)
{
    for (SpvInst *i = s->m->globals.first; i; i = i->next)
        if (i->op == SpvOpEntryPoint && spv_operand(i, 1) == s->c->function->def->id)
            return true;
    return false;
}

Uniformity *uniformity_build_known(Arena *a, SpvModule *m, const Cfg *c, uint32_t subgroup_size,
                                   const UniformityKnown *known)
{
    State *s = NEW(a, State);
    Uniformity *u = NEW(a, Uniformity);
    s->a = a, s->m = m, s->c = c, s->u = u;
    u->varying = NEW_ARRAY(a, uint8_t, m->bound);
    u->varying_variable = NEW_ARRAY(a, uint8_t, m->bound);
    u->components = s->mask = NEW_ARRAY(a, uint16_t, m->bound);
    u->divergent_block = NEW_ARRAY(a, uint8_t, c->n);
    u->divergent_branch = NEW_ARRAY(a, uint8_t, c->n);
    u->divergent_loop = NEW_ARRAY(a, uint8_t, c->n_loops);
    s->join = NEW_ARRAY(a, uint8_t, c->n);
    s->label = NEW_ARRAY(a, uint32_t, c->n);
    s->stamp = NEW_ARRAY(a, uint32_t, c->n);
    s->walked_to = NEW_ARRAY(a, uint32_t, c->n);
    s->back = NEW_ARRAY(a, uint8_t *, c->n_loops);
    number_instructions(s);
    index_uses(s);
    read_workgroup_size(s, subgroup_size);
    trace_pointers(s);
    bool entry = is_entry_point(s);
    for (SpvId id = 0; known->varying_variable && id < m->bound; id++)
        if (known->varying_variable[id])
            vary_variable(s, id);
    uint32_t parameter = 0;
    for (SpvInst *i = c->function->head.first; i; i = i->next) {
        const SpvType *t = i->op == SpvOpFunctionParameter ? spv_type(m, i->type) : NULL;
        bool same = entry || (t && known->same && known->same[parameter++]);
        /* A kernel's arguments are uniform, but each invocation has its own copy of a structure. */
        if (t && (!same || (t->kind == SPV_POINTER && t->storage == SpvStorageClassFunction)))
            set_mask(s, i, ALL);
    }
    for (uint32_t k = s->n_insts; k-- > 0;) /* popped from the end: in order */
        push(s, k);
    while (s->n_work) {
        uint32_t k = s->work[--s->n_work];
        s->queued[k] = 0;
        visit_inst(s, k);
    }
    return u;
}

Uniformity *uniformity_build_for(Arena *a, SpvModule *m, const Cfg *c, uint32_t subgroup_size)
{
    return uniformity_build_known(a, m, c, subgroup_size, &(UniformityKnown){ 0 });
}

Uniformity *uniformity_build(Arena *a, SpvModule *m, const Cfg *c)
{
    return uniformity_build_for(a, m, c, 0);
}
