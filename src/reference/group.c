/* SPDX-License-Identifier: MIT
 *
 * Barriers and the operations of subgroups and workgroups (SPIR-V 3.3.20, 3.3.21, 3.3.24). The
 * invocations that take part are those that the scheduler found at the same dynamic instance.
 * Reductions and scans visit them in the order of their numbers and round at each step. Values that
 * an inactive invocation would have to supply are undefined.
 */
#include "reference/machine.h"

#include <math.h>

static uint32_t number_of(const RInst *i, const RInv *v)
{
    return i->scope == SpvScopeWorkgroup ? v->index : v->lane;
}

static void put_all(RInv **set, uint32_t n, const RInst *i, uint64_t x, uint8_t undef)
{
    for (uint32_t k = 0; k < n; k++) {
        *leaf(set[k], i->dst) = x;
        *unset(set[k], i->dst) = undef;
    }
}

static void copy_value(const RInst *i, RInv *to, const RInv *from, Ref r)
{
    memcpy(leaf(to, i->dst), leaf(from, r), i->n * sizeof(uint64_t));
    memcpy(unset(to, i->dst), unset(from, r), i->n);
}

static void no_value(const RInst *i, RInv *to)
{
    memset(leaf(to, i->dst), 0, i->n * sizeof(uint64_t));
    memset(unset(to, i->dst), 1, i->n);
}

/* The invocation numbered `x` among those that take part, or NULL. */
static RInv *member_numbered(RInv **set, uint32_t n, const RInst *i, uint64_t x)
{
    if (x < n && number_of(i, set[x]) == x)
        return set[x];
    for (uint32_t k = 0; k < n; k++)
        if (number_of(i, set[k]) == x)
            return set[k];
    return NULL;
}

/* ---- preparation ----------------------------------------------------------------------------- */

/* How many operands precede the value: the scope, and a group operation. */
static uint32_t value_operand(uint16_t op)
{
    switch (op) {
    case SpvOpGroupNonUniformPartitionEXT:
    case SpvOpSubgroupBallotKHR:
    case SpvOpSubgroupFirstInvocationKHR:
    case SpvOpSubgroupAllKHR:
    case SpvOpSubgroupAnyKHR:
    case SpvOpSubgroupAllEqualKHR:
    case SpvOpSubgroupReadInvocationKHR:
    case SpvOpGroupNonUniformQuadAllKHR:
    case SpvOpGroupNonUniformQuadAnyKHR: return 0;
    case SpvOpGroupNonUniformElect:
    case SpvOpGroupNonUniformAll:
    case SpvOpGroupNonUniformAny:
    case SpvOpGroupNonUniformAllEqual:
    case SpvOpGroupNonUniformBroadcast:
    case SpvOpGroupNonUniformBroadcastFirst:
    case SpvOpGroupNonUniformBallot:
    case SpvOpGroupNonUniformInverseBallot:
    case SpvOpGroupNonUniformBallotBitExtract:
    case SpvOpGroupNonUniformBallotFindLSB:
    case SpvOpGroupNonUniformBallotFindMSB:
    case SpvOpGroupNonUniformShuffle:
    case SpvOpGroupNonUniformShuffleXor:
    case SpvOpGroupNonUniformShuffleUp:
    case SpvOpGroupNonUniformShuffleDown:
    case SpvOpGroupNonUniformRotateKHR:
    case SpvOpGroupNonUniformQuadBroadcast:
    case SpvOpGroupNonUniformQuadSwap:
    case SpvOpGroupAll:
    case SpvOpGroupAny:
    case SpvOpGroupBroadcast: return 1;
    default: return 2;
    }
}

static bool prepare_scope(RMachine *m, RInst *i, SpvId id)
{
    uint64_t scope;
    if (!constant_uint(m, id, &scope) ||
        (scope != SpvScopeSubgroup && scope != SpvScopeWorkgroup)) {
        refuse(m, i->src, "the execution scope is not a constant that names subgroup or workgroup");
        return false;
    }
    i->scope = (uint8_t)scope;
    return true;
}

static bool prepare_group(RMachine *m, RInst *i)
{
    uint32_t at = value_operand(i->op);
    if (at && (i->n_ops < 1 || !prepare_scope(m, i, spv_operand(i->src, 0))))
        return false;
    for (uint32_t k = at; k < i->n_ops; k++)
        if (ref_of(m, spv_operand(i->src, k)) == REF_NONE) {
            refuse(m, i->src, "operand %u is not a value this device supports", k);
            return false;
        }
    i->at = i->n_ops > at ? type_of(m, spv_operand(i->src, at)) : NULL;
    if (i->at) {
        i->sbits = (uint8_t)type_scalar(i->at)->bits;
        i->sfmt = (uint8_t)fmt_of(i->at);
    }
    i->part = at;
    return true;
}

static bool prepare_like(RMachine *m, RInst *i)
{
    if (!prepare_group(m, i) || !i->at || i->at->leaves != i->n) {
        refuse(m, i->src, "the value is not of the result type");
        return false;
    }
    return true;
}

static bool prepare_ballot(RMachine *m, RInst *i)
{
    bool makes = i->op == SpvOpGroupNonUniformBallot || i->op == SpvOpSubgroupBallotKHR ||
                 i->op == SpvOpGroupNonUniformPartitionEXT;
    if (!prepare_group(m, i) || !i->at || (makes ? i->n : i->at->leaves) != 4) {
        refuse(m, i->src, "a ballot is a vector of four 32-bit integers");
        return false;
    }
    return true;
}

/* ---- barriers -------------------------------------------------------------------------------- */

static void all_barrier(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    uint64_t memory = 0, semantics = 0;
    constant_uint(m, spv_operand(i->src, 1), &memory);
    constant_uint(m, spv_operand(i->src, 2), &semantics);
    bool workgroup = i->scope == SpvScopeWorkgroup;
    bool wide = memory <= SpvScopeWorkgroup || memory == SpvScopeQueueFamily ||
                (!workgroup && memory == SpvScopeSubgroup);
    race_barrier(m, set, n, i, wide ? (uint32_t)semantics : 0);
}

/* SPV_EXT_split_barrier. Each invocation alternates between arriving and waiting (Vulkan, VUIDs
 * 13559 to 13561); all arrive together, since control flow is uniform. */
static void all_split_barrier(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    bool arrives = i->op == SpvOpControlBarrierArriveEXT;
    uint32_t bit = 1u << i->scope;
    for (uint32_t k = 0; k < n; k++) {
        if (!(set[k]->arrived & bit) != arrives)
            found(m, set[k], i, REF_DIVERGENT,
                  arrives ? "arrives at a split barrier again, without having waited"
                          : "waits at a split barrier without having arrived");
        set[k]->arrived = arrives ? set[k]->arrived | bit : set[k]->arrived & ~bit;
    }
    all_barrier(m, set, n, i);
}

static bool prepare_barrier(RMachine *m, RInst *i)
{
    return i->n_ops >= 3 && prepare_scope(m, i, spv_operand(i->src, 0)) && prepare_value(m, i);
}

static RStep step_memory_barrier(RMachine *m, RInv *v, const RInst *i)
{
    uint64_t scope = 0, semantics = 0;
    constant_uint(m, spv_operand(i->src, 0), &scope);
    constant_uint(m, spv_operand(i->src, 1), &semantics);
    race_fence(m, v, (uint32_t)scope, (uint32_t)semantics);
    return STEP_SWITCH;
}

/* ---- asynchronous copies, done at once ------------------------------------------------------- */

/* The stride applies to the side that is not workgroup memory. */
static void all_async_copy(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    RPointer to = pointer_at(set[0], i->ops[1]), from = pointer_at(set[0], i->ops[2]);
    uint64_t count = *leaf(set[0], i->ops[3]), stride = *leaf(set[0], i->ops[4]), size = i->part;
    bool gathers = operand_type(m, i, 1)->storage == SpvStorageClassWorkgroup;
    uint64_t to_step = (gathers ? 1 : stride) * size, from_step = (gathers ? stride : 1) * size;
    for (uint64_t k = 0; k < count; k++) {
        for (uint64_t b = 0; b < size; b++)
            mem_copy_byte(m, set[0], i, pointer_plus(to, k * to_step + b),
                          pointer_plus(from, k * from_step + b));
        set[0]->steps += size;
    }
    put_all(set, n, i, 0, 0);
}

static bool prepare_copy(RMachine *m, RInst *i)
{
    if (i->n_ops < 6 || !prepare_scope(m, i, spv_operand(i->src, 0)) || !prepare_value(m, i))
        return false;
    const RType *to = operand_type(m, i, 1), *from = operand_type(m, i, 2), *t = NULL;
    if (to->kind == SPV_POINTER && from->kind == SPV_POINTER)
        t = type_get(m, to->pointee);
    i->part = t ? (uint32_t)align_up(t->size, t->align) : 0;
    return i->part && operand_type(m, i, 3)->kind == SPV_INT &&
           operand_type(m, i, 4)->kind == SPV_INT;
}

static void all_wait_events(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    race_barrier(m, set, n, i,
                 SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsWorkgroupMemoryMask |
                     SpvMemorySemanticsCrossWorkgroupMemoryMask);
}

static bool prepare_wait(RMachine *m, RInst *i)
{
    return i->n_ops >= 1 && prepare_scope(m, i, spv_operand(i->src, 0));
}

/* ---- votes and ballots ----------------------------------------------------------------------- */

static void all_elect(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    (void)m;
    put_all(set, n, i, 0, 0);
    *leaf(set[0], i->dst) = 1;
}

static bool same_value(const RInst *i, const RInv *a, const RInv *b, Ref r)
{
    for (uint32_t k = 0; k < i->at->leaves; k++) {
        uint64_t x = leaf(a, r)[k], y = leaf(b, r)[k];
        bool same =
            i->sfmt == FMT_NONE ? x == y : fmt_get((RFmt)i->sfmt, x) == fmt_get((RFmt)i->sfmt, y);
        if (!same)
            return false;
    }
    return true;
}

static void all_vote(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    Ref r = i->ops[i->part];
    bool all = true, any = false, equal = true;
    uint8_t undef = 0;
    (void)m;
    for (uint32_t k = 0; k < n; k++) {
        bool x = *leaf(set[k], r);
        all &= x;
        any |= x;
        equal &= same_value(i, set[k], set[0], r);
        for (uint32_t c = 0; c < i->at->leaves; c++)
            undef |= unset(set[k], r)[c];
    }
    bool is_any =
        i->op == SpvOpGroupNonUniformAny || i->op == SpvOpSubgroupAnyKHR || i->op == SpvOpGroupAny;
    bool is_equal = i->op == SpvOpGroupNonUniformAllEqual || i->op == SpvOpSubgroupAllEqualKHR;
    put_all(set, n, i, is_equal ? equal : is_any ? any : all, undef);
}

static void all_quad_vote(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    bool is_any = i->op == SpvOpGroupNonUniformQuadAnyKHR;
    (void)m;
    for (uint32_t k = 0; k < n; k++) {
        bool r = !is_any;
        for (uint32_t j = 0; j < n; j++)
            if (set[j]->lane / 4 == set[k]->lane / 4) {
                bool x = *leaf(set[j], i->ops[0]);
                r = is_any ? r || x : r && x;
            }
        *leaf(set[k], i->dst) = r;
        *unset(set[k], i->dst) = 0;
    }
}

static void all_ballot(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    uint64_t bits[4] = { 0 };
    uint8_t undef = 0;
    Ref r = i->ops[i->part];
    (void)m;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t x = set[k]->lane;
        if (*leaf(set[k], r))
            bits[x / 32 & 3] |= 1ull << x % 32;
        undef |= *unset(set[k], r);
    }
    for (uint32_t k = 0; k < n; k++) {
        memcpy(leaf(set[k], i->dst), bits, sizeof(bits));
        memset(unset(set[k], i->dst), undef, 4);
    }
}

static bool ballot_bit(const uint64_t *b, uint64_t x)
{
    return x < 128 && (b[x / 32] >> x % 32 & 1);
}

/* Queries of a ballot's bits, which each invocation answers by itself. */
static RStep step_ask_ballot(RMachine *m, RInv *v, const RInst *i)
{
    const uint64_t *b = leaf(v, i->ops[i->part]);
    uint32_t width = m->width, count = 0, first = width, last = width;
    uint64_t r;
    for (uint32_t k = 0; k < width; k++) {
        if (!ballot_bit(b, k))
            continue;
        bool counts = i->op != SpvOpGroupNonUniformBallotBitCount ||
                      i->ops[1] == SpvGroupOperationReduce ||
                      (i->ops[1] == SpvGroupOperationInclusiveScan ? k <= v->lane : k < v->lane);
        count += counts;
        first = first == width ? k : first;
        last = k;
    }
    switch (i->op) {
    case SpvOpGroupNonUniformInverseBallot: r = ballot_bit(b, v->lane); break;
    case SpvOpGroupNonUniformBallotBitExtract: r = ballot_bit(b, *leaf(v, i->ops[2])); break;
    case SpvOpGroupNonUniformBallotBitCount: r = count; break;
    case SpvOpGroupNonUniformBallotFindLSB: r = first; break;
    default: r = last; break;
    }
    bool none = first == width && (i->op == SpvOpGroupNonUniformBallotFindLSB ||
                                   i->op == SpvOpGroupNonUniformBallotFindMSB);
    const uint8_t *u = unset(v, i->ops[i->part]);
    *leaf(v, i->dst) = none ? 0 : r;
    *unset(v, i->dst) = none | u[0] | u[1] | u[2] | u[3];
    return STEP_NEXT;
}

/* ---- moving values --------------------------------------------------------------------------- */

static void all_broadcast_first(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    (void)m;
    for (uint32_t k = n; k-- > 0;)
        copy_value(i, set[k], set[0], i->ops[i->part]);
}

/* Which invocation's value number `x` gets; `size`: of the scope. */
static uint64_t source(const RInst *i, const RInv *v, uint32_t size)
{
    uint64_t x = number_of(i, v), by = i->n_ops > i->part + 1u ? *leaf(v, i->ops[i->part + 1]) : 0;
    switch (i->op) {
    case SpvOpGroupNonUniformShuffleXor: return x ^ by;
    case SpvOpGroupNonUniformShuffleUp: return x - by;
    case SpvOpGroupNonUniformShuffleDown: return x + by;
    case SpvOpGroupNonUniformQuadBroadcast: return (x & ~3ull) + (by & 3);
    case SpvOpGroupNonUniformQuadSwap: return x ^ (by == 0 ? 1 : by == 1 ? 2 : 3);
    case SpvOpGroupNonUniformRotateKHR: {
        uint64_t cluster = i->n_ops > i->part + 2u ? *leaf(v, i->ops[i->part + 2]) : size;
        cluster = cluster ? cluster : size;
        return x / cluster * cluster + (x + by) % cluster;
    }
    default: return by;
    }
}

static void all_shuffle(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    uint32_t size = i->scope == SpvScopeWorkgroup ? m->n_inv : m->width;
    bool same = i->op == SpvOpGroupNonUniformBroadcast || i->op == SpvOpGroupBroadcast ||
                i->op == SpvOpSubgroupReadInvocationKHR;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t from = source(i, set[k], size);
        RInv *s = member_numbered(set, n, i, from);
        if (same && from != source(i, set[0], size))
            found(m, set[k], i, REF_NOT_UNIFORM, "the invocation to broadcast from differs");
        if (i->n_ops > i->part + 1u && *unset(set[k], i->ops[i->part + 1]))
            s = NULL;
        if (s)
            copy_value(i, set[k], s, i->ops[i->part]);
        else
            no_value(i, set[k]);
    }
}

/* In OpenCL's broadcast over a workgroup the local id is a vector. */
static void all_group_broadcast(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const RType *t = operand_type(m, i, 2);
    const uint64_t *id = leaf(set[0], i->ops[2]);
    uint64_t x = id[0];
    if (i->scope == SpvScopeWorkgroup) {
        x += t->leaves > 1 ? id[1] * m->local_size[0] : 0;
        x += t->leaves > 2 ? id[2] * m->local_size[0] * m->local_size[1] : 0;
    }
    const RInv *s = member_numbered(set, n, i, x);
    for (uint32_t k = 0; k < n; k++) {
        if (s)
            copy_value(i, set[k], s, i->ops[1]);
        else
            no_value(i, set[k]);
    }
}

/* ---- derivatives ----------------------------------------------------------------------------- */

RInv *group_neighbour(const RInst *i, RInv **set, uint32_t n, uint32_t lane)
{
    return member_numbered(set, n, i, lane);
}

typedef struct Difference {
    double d;
    bool defined;
} Difference;

/* P of the invocation `to` less that of `from`; not defined where one of them is not here. */
static Difference difference(const RMachine *m, const RInst *i, const RInv *from, const RInv *to,
                             Ref p)
{
    RFmt f = (RFmt)i->fmt;
    if (!from || !to)
        return (Difference){ 0, false };
    double d = fmt_get(f, controls_flush(m, f, *leaf(to, p))) -
               fmt_get(f, controls_flush(m, f, *leaf(from, p)));
    return (Difference){ fmt_get(f, controls_flush(m, f, fmt_put(f, d))),
                         !*unset(from, p) && !*unset(to, p) };
}

/* Coarse derivatives may be the same as fine ones: the difference within the quad along x (bit 0 of
 * the lane) or y (bit 1). */
static void all_derivative(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    enum { TO_X = 1, TO_Y = 2 };
    bool x = i->op == SpvOpDPdx || i->op == SpvOpDPdxFine || i->op == SpvOpDPdxCoarse;
    bool y = i->op == SpvOpDPdy || i->op == SpvOpDPdyFine || i->op == SpvOpDPdyCoarse;
    RFmt f = (RFmt)i->fmt;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t lane = set[k]->lane;
        const RInv *left = member_numbered(set, n, i, lane & ~TO_X),
                   *right = member_numbered(set, n, i, lane | TO_X);
        const RInv *low = member_numbered(set, n, i, lane & ~TO_Y),
                   *high = member_numbered(set, n, i, lane | TO_Y);
        for (uint32_t c = 0; c < i->n; c++) {
            Difference dx = difference(m, i, left, right, i->ops[0] + c);
            Difference dy = difference(m, i, low, high, i->ops[0] + c);
            double d = x ? dx.d : y ? dy.d : fabs(dx.d) + fabs(dy.d);
            leaf(set[k], i->dst)[c] = controls_flush(m, f, fmt_put(f, d));
            unset(set[k], i->dst)[c] = !((y || dx.defined) && (x || dy.defined));
        }
    }
}

static bool prepare_derivative(RMachine *m, RInst *i)
{
    if (!m->entry.quads || i->n_ops < 1 || !prepare_same(m, i) || i->fmt == FMT_NONE) {
        refuse(m, i->src,
               m->entry.quads ? "derivatives are of floats"
                              : "the entry point has no derivative group");
        return false;
    }
    i->scope = SpvScopeSubgroup;
    return true;
}

/* ---- reductions and scans -------------------------------------------------------------------- */

typedef enum Fold {
    FOLD_IADD,
    FOLD_FADD,
    FOLD_IMUL,
    FOLD_FMUL,
    FOLD_SMIN,
    FOLD_UMIN,
    FOLD_FMIN,
    FOLD_SMAX,
    FOLD_UMAX,
    FOLD_FMAX,
    FOLD_AND,
    FOLD_OR,
    FOLD_XOR,
    FOLD_LXOR
} Fold;

static Fold fold_of(uint16_t op)
{
    switch (op) {
    case SpvOpGroupIAdd:
    case SpvOpGroupNonUniformIAdd: return FOLD_IADD;
    case SpvOpGroupFAdd:
    case SpvOpGroupNonUniformFAdd: return FOLD_FADD;
    case SpvOpGroupIMulKHR:
    case SpvOpGroupNonUniformIMul: return FOLD_IMUL;
    case SpvOpGroupFMulKHR:
    case SpvOpGroupNonUniformFMul: return FOLD_FMUL;
    case SpvOpGroupSMin:
    case SpvOpGroupNonUniformSMin: return FOLD_SMIN;
    case SpvOpGroupUMin:
    case SpvOpGroupNonUniformUMin: return FOLD_UMIN;
    case SpvOpGroupFMin:
    case SpvOpGroupNonUniformFMin: return FOLD_FMIN;
    case SpvOpGroupSMax:
    case SpvOpGroupNonUniformSMax: return FOLD_SMAX;
    case SpvOpGroupUMax:
    case SpvOpGroupNonUniformUMax: return FOLD_UMAX;
    case SpvOpGroupFMax:
    case SpvOpGroupNonUniformFMax: return FOLD_FMAX;
    case SpvOpGroupBitwiseAndKHR:
    case SpvOpGroupLogicalAndKHR:
    case SpvOpGroupNonUniformBitwiseAnd:
    case SpvOpGroupNonUniformLogicalAnd: return FOLD_AND;
    case SpvOpGroupBitwiseOrKHR:
    case SpvOpGroupLogicalOrKHR:
    case SpvOpGroupNonUniformBitwiseOr:
    case SpvOpGroupNonUniformLogicalOr: return FOLD_OR;
    default: return FOLD_XOR;
    }
}

static uint64_t fold(Fold f, const RInst *i, uint64_t a, uint64_t b)
{
    RFmt t = (RFmt)i->fmt;
    int64_t x = sext(a, i->bits), y = sext(b, i->bits);
    double p = t != FMT_NONE ? fmt_get(t, a) : 0, q = t != FMT_NONE ? fmt_get(t, b) : 0;
    switch (f) {
    case FOLD_IADD: return (a + b) & mask_bits(i->bits);
    case FOLD_IMUL: return (a * b) & mask_bits(i->bits);
    case FOLD_FADD: return fmt_put(t, p + q);
    case FOLD_FMUL: return fmt_put(t, p * q);
    case FOLD_SMIN: return x < y ? a : b;
    case FOLD_SMAX: return x > y ? a : b;
    case FOLD_UMIN: return MIN(a, b);
    case FOLD_UMAX: return MAX(a, b);
    case FOLD_FMIN: return isnan(p) || q < p ? b : a;
    case FOLD_FMAX: return isnan(p) || q > p ? b : a;
    case FOLD_AND: return a & b;
    case FOLD_OR: return a | b;
    default: return a ^ b;
    }
}

static uint64_t identity(Fold f, const RInst *i)
{
    uint64_t all = mask_bits(i->bits);
    switch (f) {
    case FOLD_IMUL: return 1;
    case FOLD_FMUL: return fmt_put((RFmt)i->fmt, 1);
    case FOLD_FADD: return fmt_put((RFmt)i->fmt, -0.0);
    case FOLD_FMIN: return fmt_put((RFmt)i->fmt, INFINITY);
    case FOLD_FMAX: return fmt_put((RFmt)i->fmt, -INFINITY);
    case FOLD_SMIN: return all >> 1;
    case FOLD_SMAX: return (all >> 1) + 1;
    case FOLD_UMIN:
    case FOLD_AND: return all;
    default: return 0;
    }
}

static void all_reduce(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    Fold f = fold_of(i->op);
    uint32_t how = i->ops[1], size = i->scope == SpvScopeWorkgroup ? m->n_inv : m->width;
    uint64_t cluster = size;
    if (how == SpvGroupOperationClusteredReduce && i->n_ops > 3)
        cluster = MAX(*leaf(set[0], i->ops[3]), 1);
    bool scan = how == SpvGroupOperationInclusiveScan || how == SpvGroupOperationExclusiveScan;
    for (uint32_t c = 0; c < i->n; c++) {
        uint32_t first = 0; /* of the cluster being summed */
        uint64_t sum = identity(f, i);
        uint8_t undef = 0;
        for (uint32_t k = 0; k <= n; k++) {
            bool ends = k == n ||
                        (k && number_of(i, set[k]) / cluster != number_of(i, set[k - 1]) / cluster);
            if (ends && !scan)
                for (uint32_t j = first; j < k; j++) {
                    leaf(set[j], i->dst)[c] = sum;
                    unset(set[j], i->dst)[c] = undef;
                }
            if (k == n)
                break;
            if (ends) {
                first = k;
                sum = identity(f, i);
                undef = 0;
            }
            uint64_t x = leaf(set[k], i->ops[2])[c];
            uint8_t u = unset(set[k], i->ops[2])[c];
            uint64_t before = f == FOLD_FADD && k == first ? 0 : sum;
            uint8_t undef_before = undef;
            sum = fold(f, i, sum, x);
            undef |= u;
            if (scan) {
                bool inclusive = how == SpvGroupOperationInclusiveScan;
                leaf(set[k], i->dst)[c] = inclusive ? sum : before;
                unset(set[k], i->dst)[c] = inclusive ? undef : undef_before;
            }
        }
    }
}

/* SPV_EXT_shader_subgroup_partitioned: ballots of those that hold the same value, and reductions
 * within the set that each invocation's ballot names. */
static void all_partition(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    (void)m;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t bits[4] = { 0 };
        for (uint32_t j = 0; j < n; j++)
            if (j == k || same_value(i, set[j], set[k], i->ops[i->part]))
                bits[set[j]->lane / 32 & 3] |= 1ull << set[j]->lane % 32;
        memcpy(leaf(set[k], i->dst), bits, sizeof(bits));
        memset(unset(set[k], i->dst), 0, 4);
    }
}

static void reduce_partition(RInv **set, uint32_t n, const RInst *i, RInv *to)
{
    const uint64_t *b = leaf(to, i->ops[3]);
    uint32_t how = i->ops[1];
    Fold f = fold_of(i->op);
    for (uint32_t c = 0; c < i->n; c++) {
        uint64_t sum = identity(f, i);
        uint8_t undef = 0;
        bool any = false;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t lane = set[k]->lane;
            bool before = lane < to->lane || how == SpvGroupOperationPartitionedReduceEXT ||
                          (lane == to->lane && how == SpvGroupOperationPartitionedInclusiveScanEXT);
            if (!before || !ballot_bit(b, lane))
                continue;
            sum = fold(f, i, sum, leaf(set[k], i->ops[2])[c]);
            undef |= unset(set[k], i->ops[2])[c];
            any = true;
        }
        leaf(to, i->dst)[c] = f == FOLD_FADD && !any ? 0 : sum;
        unset(to, i->dst)[c] = undef;
    }
}

static void all_reduce_any(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    if (i->ops[1] <= SpvGroupOperationClusteredReduce)
        all_reduce(m, set, n, i);
    else
        for (uint32_t k = 0; k < n; k++)
            reduce_partition(set, n, i, set[k]);
}

static bool prepare_reduce(RMachine *m, RInst *i)
{
    if (i->n_ops < 3 || !prepare_like(m, i))
        return false;
    bool partitioned = i->ops[1] >= SpvGroupOperationPartitionedReduceEXT &&
                       i->ops[1] <= SpvGroupOperationPartitionedExclusiveScanEXT;
    if (partitioned && (i->n_ops < 4 || operand_type(m, i, 3)->leaves != 4)) {
        refuse(m, i->src, "a partition is a vector of four 32-bit integers");
        return false;
    }
    if (i->ops[1] > SpvGroupOperationClusteredReduce && !partitioned) {
        refuse(m, i->src, "this group operation is not supported");
        return false;
    }
    return true;
}

static const ROpRow rows[] = {
    { SpvOpControlBarrier, NULL, prepare_barrier, all_barrier, 0 },
    { SpvOpControlBarrierArriveEXT, NULL, prepare_barrier, all_split_barrier, 0 },
    { SpvOpControlBarrierWaitEXT, NULL, prepare_barrier, all_split_barrier, 0 },
    { SpvOpMemoryBarrier, step_memory_barrier, prepare_value, NULL, 0 },
    { SpvOpDPdx, NULL, prepare_derivative, all_derivative, 0 },
    { SpvOpDPdy, NULL, prepare_derivative, all_derivative, 0 },
    { SpvOpFwidth, NULL, prepare_derivative, all_derivative, 0 },
    { SpvOpDPdxFine, NULL, prepare_derivative, all_derivative, 0 },
    { SpvOpDPdyFine, NULL, prepare_derivative, all_derivative, 0 },
    { SpvOpFwidthFine, NULL, prepare_derivative, all_derivative, 0 },
    { SpvOpDPdxCoarse, NULL, prepare_derivative, all_derivative, 0 },
    { SpvOpDPdyCoarse, NULL, prepare_derivative, all_derivative, 0 },
    { SpvOpFwidthCoarse, NULL, prepare_derivative, all_derivative, 0 },
    { SpvOpGroupNonUniformElect, NULL, prepare_group, all_elect, 0 },
    { SpvOpGroupNonUniformAll, NULL, prepare_group, all_vote, 0 },
    { SpvOpGroupNonUniformAny, NULL, prepare_group, all_vote, 0 },
    { SpvOpGroupNonUniformAllEqual, NULL, prepare_group, all_vote, 0 },
    { SpvOpSubgroupAllKHR, NULL, prepare_group, all_vote, 0 },
    { SpvOpSubgroupAnyKHR, NULL, prepare_group, all_vote, 0 },
    { SpvOpSubgroupAllEqualKHR, NULL, prepare_group, all_vote, 0 },
    { SpvOpGroupAsyncCopy, NULL, prepare_copy, all_async_copy, OPF_WHOLE },
    { SpvOpGroupWaitEvents, NULL, prepare_wait, all_wait_events, OPF_WHOLE },
    { SpvOpGroupAll, NULL, prepare_group, all_vote, OPF_WHOLE },
    { SpvOpGroupAny, NULL, prepare_group, all_vote, OPF_WHOLE },
    { SpvOpGroupNonUniformQuadAllKHR, NULL, prepare_group, all_quad_vote, 0 },
    { SpvOpGroupNonUniformQuadAnyKHR, NULL, prepare_group, all_quad_vote, 0 },
    { SpvOpGroupNonUniformBallot, NULL, prepare_ballot, all_ballot, 0 },
    { SpvOpSubgroupBallotKHR, NULL, prepare_ballot, all_ballot, 0 },
    { SpvOpGroupNonUniformPartitionEXT, NULL, prepare_ballot, all_partition, 0 },
    { SpvOpGroupNonUniformInverseBallot, step_ask_ballot, prepare_ballot, NULL, 0 },
    { SpvOpGroupNonUniformBallotBitExtract, step_ask_ballot, prepare_ballot, NULL, 0 },
    { SpvOpGroupNonUniformBallotBitCount, step_ask_ballot, prepare_ballot, NULL, 0 },
    { SpvOpGroupNonUniformBallotFindLSB, step_ask_ballot, prepare_ballot, NULL, 0 },
    { SpvOpGroupNonUniformBallotFindMSB, step_ask_ballot, prepare_ballot, NULL, 0 },
    { SpvOpGroupNonUniformBroadcastFirst, NULL, prepare_like, all_broadcast_first, 0 },
    { SpvOpSubgroupFirstInvocationKHR, NULL, prepare_like, all_broadcast_first, 0 },
    { SpvOpGroupNonUniformBroadcast, NULL, prepare_like, all_shuffle, 0 },
    { SpvOpSubgroupReadInvocationKHR, NULL, prepare_like, all_shuffle, 0 },
    { SpvOpGroupBroadcast, NULL, prepare_like, all_group_broadcast, OPF_WHOLE },
    { SpvOpGroupNonUniformShuffle, NULL, prepare_like, all_shuffle, 0 },
    { SpvOpGroupNonUniformShuffleXor, NULL, prepare_like, all_shuffle, 0 },
    { SpvOpGroupNonUniformShuffleUp, NULL, prepare_like, all_shuffle, 0 },
    { SpvOpGroupNonUniformShuffleDown, NULL, prepare_like, all_shuffle, 0 },
    { SpvOpGroupNonUniformRotateKHR, NULL, prepare_like, all_shuffle, 0 },
    { SpvOpGroupNonUniformQuadBroadcast, NULL, prepare_like, all_shuffle, 0 },
    { SpvOpGroupNonUniformQuadSwap, NULL, prepare_like, all_shuffle, 0 },
#define REDUCE(name) { SpvOpGroupNonUniform##name, NULL, prepare_reduce, all_reduce_any, 0 }
    REDUCE(IAdd),
    REDUCE(FAdd),
    REDUCE(IMul),
    REDUCE(FMul),
    REDUCE(SMin),
    REDUCE(UMin),
    REDUCE(FMin),
    REDUCE(SMax),
    REDUCE(UMax),
    REDUCE(FMax),
    REDUCE(BitwiseAnd),
    REDUCE(BitwiseOr),
    REDUCE(BitwiseXor),
    REDUCE(LogicalAnd),
    REDUCE(LogicalOr),
    REDUCE(LogicalXor),
#undef REDUCE
#define REDUCE(name) { SpvOpGroup##name, NULL, prepare_reduce, all_reduce_any, OPF_WHOLE }
    REDUCE(IAdd),
    REDUCE(FAdd),
    REDUCE(SMin),
    REDUCE(UMin),
    REDUCE(FMin),
    REDUCE(SMax),
    REDUCE(UMax),
    REDUCE(FMax),
    REDUCE(IMulKHR),
    REDUCE(FMulKHR),
    REDUCE(BitwiseAndKHR),
    REDUCE(BitwiseOrKHR),
    REDUCE(BitwiseXorKHR),
    REDUCE(LogicalAndKHR),
    REDUCE(LogicalOrKHR),
    REDUCE(LogicalXorKHR),
#undef REDUCE
};
const ROpTable ref_group_ops = { rows, COUNT_OF(rows) };
