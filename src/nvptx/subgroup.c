/* SPDX-License-Identifier: MIT
 *
 * Subgroup operations (SPIR-V 3.3.24, 3.3.21): shuffles, votes and reductions of a warp, among the
 * lanes that a mask names. Where that is all of them, reductions take five steps; else they go over
 * the lanes that are there, one after the other. Of a group that is a workgroup: group.c.
 *
 * Subgroups of 8 and 16 are parts of a warp: masks name lanes of the warp, all other words and lane
 * numbers are the subgroup's.
 */
#include "nvptx/internal.h"
#include "llvm/ir.h"

static LV u32(Emit *e, uint32_t x) { return ir_int(e->i32, x); }

LV threads_mask(Emit *e)
{
    if (threads_together(e))
        return threads_members(e);
    threads_members(e);
    threads_of(e)->has_masks = true;
    return threads_call(e, MASK_NAME, e->i32, NULL, 0);
}

/* Whether it is known that all of the subgroup's lanes are there. */
static bool whole(Emit *e)
{
    uint64_t n = (uint64_t)e->local_size[0] * e->local_size[1] * e->local_size[2];
    return n && n % e->W == 0 && threads_together(e);
}

/* Where the subgroup begins in the warp; NULL: with it. */
static LV base(Emit *e)
{
    return e->W == NVPTX_WARP
               ? NULL
               : LLVMBuildAnd(e->b, threads_register(e, "laneid"), u32(e, ~(e->W - 1)), "");
}

LV threads_from_warp(Emit *e, LV word)
{
    LV first = base(e);
    return first ? LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, word, first, ""),
                                u32(e, (1u << e->W) - 1), "")
                 : word;
}

/* ---- shuffles -------------------------------------------------------------------------------- */

static LV shuffle_word(Emit *e, LV mask, LV word, LV lane)
{
    LV args[4] = { mask, word, lane, u32(e, 31) };
    return threads_call(e, "llvm.nvvm.shfl.sync.idx.i32", e->i32, args, 4);
}

LV threads_shuffle(Emit *e, LV mask, LV v, LV lane)
{
    LT type = LLVMTypeOf(v);
    LV bits = ops_bits(e, v);
    LT own = LLVMTypeOf(bits);
    if (e->W < NVPTX_WARP)
        lane = LLVMBuildOr(e->b, LLVMBuildAnd(e->b, lane, u32(e, e->W - 1), ""), base(e), "");
    if (LLVMGetIntTypeWidth(own) < 64) {
        LV word = shuffle_word(e, mask, arith_resize(e->b, bits, e->i32, false), lane);
        return LLVMBuildBitCast(e->b, arith_resize(e->b, word, own, false), type, "");
    }
    LV low = LLVMBuildTrunc(e->b, bits, e->i32, "");
    LV high = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, bits, ir_int(own, 32), ""), e->i32, "");
    low = LLVMBuildZExt(e->b, shuffle_word(e, mask, low, lane), own, "");
    high = LLVMBuildZExt(e->b, shuffle_word(e, mask, high, lane), own, "");
    bits = LLVMBuildOr(e->b, low, LLVMBuildShl(e->b, high, ir_int(own, 32), ""), "");
    return LLVMBuildBitCast(e->b, bits, type, "");
}

static void shuffled(Emit *e, const SpvInst *i, SpvId value, LV lane)
{
    uint32_t n;
    LV *v = ops_leaves(e, value, &n), mask = threads_mask(e);
    for (uint32_t k = 0; k < n; k++)
        v[k] = threads_shuffle(e, mask, v[k], lane);
    emit_set(e, i, v, n);
}

static LV index_leaf(Emit *e, SpvId id)
{
    return arith_resize(e->b, emit_leaf(e, id, 0), e->i32, false);
}

static void shuffle(Emit *e, const SpvInst *i)
{
    LV amount = index_leaf(e, spv_operand(i, 2)), lane = threads_lane(e);
    if (i->op == SpvOpGroupNonUniformShuffleXor)
        amount = LLVMBuildXor(e->b, lane, amount, "");
    else if (i->op == SpvOpGroupNonUniformShuffleUp)
        amount = LLVMBuildSub(e->b, lane, amount, "");
    else if (i->op == SpvOpGroupNonUniformShuffleDown)
        amount = LLVMBuildAdd(e->b, lane, amount, "");
    shuffled(e, i, spv_operand(i, 1), amount);
}

/* Lane `in` of the lane's own cluster of a power of two. */
static LV in_cluster(Emit *e, LV in, uint32_t size)
{
    LV base = LLVMBuildAnd(e->b, threads_lane(e), u32(e, ~(size - 1)), "");
    return LLVMBuildOr(e->b, base, LLVMBuildAnd(e->b, in, u32(e, size - 1), ""), "");
}

static uint32_t cluster_size(Emit *e, const SpvInst *i)
{
    uint64_t size = e->W;
    if (spv_n_operands(i) > 3 && spv_constant(e->module, spv_operand(i, 3), &size) &&
        is_pow2(size) && size < e->W)
        return (uint32_t)size;
    return e->W;
}

static void rotate(Emit *e, const SpvInst *i)
{
    LV moved = LLVMBuildAdd(e->b, threads_lane(e), index_leaf(e, spv_operand(i, 2)), "");
    shuffled(e, i, spv_operand(i, 1), in_cluster(e, moved, cluster_size(e, i)));
}

static void quad_broadcast(Emit *e, const SpvInst *i)
{
    shuffled(e, i, spv_operand(i, 1), in_cluster(e, index_leaf(e, spv_operand(i, 2)), 4));
}

/* Direction 0 across, 1 down, 2 diagonally: lane ^ 1, 2, 3. */
static void quad_swap(Emit *e, const SpvInst *i)
{
    uint64_t direction = 0;
    spv_constant(e->module, spv_operand(i, 2), &direction);
    LV other = LLVMBuildXor(e->b, threads_lane(e), u32(e, (uint32_t)(direction % 3) + 1), "");
    shuffled(e, i, spv_operand(i, 1), other);
}

/* ---- votes and ballots ----------------------------------------------------------------------- */

static LV lanes_below(Emit *e) { return threads_from_warp(e, threads_register(e, "lanemask.lt")); }

static LV lanes_up_to(Emit *e) { return threads_from_warp(e, threads_register(e, "lanemask.le")); }

static LV lowest(Emit *e, LV word)
{
    LV args[2] = { word, ir_int(e->i1, 0) };
    return ir_intrinsic(e->b, "llvm.cttz", &e->i32, 1, args, 2);
}

/* The lowest lane of the subgroup that a mask names. */
static LV first_lane(Emit *e, LV mask) { return lowest(e, threads_from_warp(e, mask)); }

static LV is(Emit *e, LLVMIntPredicate p, LV x, LV y) { return LLVMBuildICmp(e->b, p, x, y, ""); }

static LV is_not_zero(Emit *e, LV word) { return is(e, LLVMIntNE, word, u32(e, 0)); }

static LV vote_any(Emit *e, LV mask, LV p) { return is_not_zero(e, masks_vote(e->b, mask, p)); }

static LV vote_all(Emit *e, LV mask, LV p)
{
    return is(e, LLVMIntEQ, masks_vote(e->b, mask, p), mask);
}

static LV same(Emit *e, LV x, LV y)
{
    return LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMIntegerTypeKind
               ? is(e, LLVMIntEQ, x, y)
               : LLVMBuildFCmp(e->b, LLVMRealOEQ, ops_fold(e, x), ops_fold(e, y), "");
}

static LV vote_equal(Emit *e, LV mask, SpvId id)
{
    uint32_t n;
    LV *v = ops_leaves(e, id, &n), r = ir_int(e->i1, 1);
    for (uint32_t k = 0; k < n; k++) {
        LV first = threads_shuffle(e, mask, v[k], first_lane(e, mask));
        r = LLVMBuildAnd(e->b, r, same(e, v[k], first), "");
    }
    return vote_all(e, mask, r);
}

static bool of_subgroup(Emit *e, const SpvInst *i)
{
    uint64_t scope = SpvScopeSubgroup,
             size = (uint64_t)e->local_size[0] * e->local_size[1] * e->local_size[2];
    spv_constant(e->module, spv_operand(i, 0), &scope);
    if (scope == SpvScopeSubgroup || (scope == SpvScopeWorkgroup && size && size <= e->W))
        return true;
    if (scope == SpvScopeWorkgroup)
        threads_group_inst(e, i);
    else
        emit_error(e, i, NULL, "%s over a scope other than the subgroup is not supported",
                   spv_op_name(i->op));
    return false;
}

static void vote(Emit *e, const SpvInst *i)
{
    bool khr = i->op == SpvOpSubgroupAllKHR || i->op == SpvOpSubgroupAnyKHR ||
               i->op == SpvOpSubgroupAllEqualKHR;
    if (!khr && !of_subgroup(e, i))
        return;
    SpvId id = spv_operand(i, khr ? 0 : 1);
    LV mask = threads_mask(e), r;
    switch (i->op) {
    case SpvOpGroupNonUniformAll:
    case SpvOpGroupAll:
    case SpvOpSubgroupAllKHR: r = vote_all(e, mask, emit_leaf(e, id, 0)); break;
    case SpvOpGroupNonUniformAny:
    case SpvOpGroupAny:
    case SpvOpSubgroupAnyKHR: r = vote_any(e, mask, emit_leaf(e, id, 0)); break;
    default: r = vote_equal(e, mask, id);
    }
    emit_set1(e, i, r);
}

/* OpGroupNonUniformQuadAllKHR, QuadAnyKHR: of the quad's active lanes. */
static void quad_vote(Emit *e, const SpvInst *i)
{
    bool all = i->op == SpvOpGroupNonUniformQuadAllKHR;
    LV p = emit_leaf(e, spv_operand(i, 0), 0);
    LV votes = masks_vote(e->b, threads_mask(e), all ? LLVMBuildNot(e->b, p, "") : p);
    LV word = threads_from_warp(e, votes);
    LV first = LLVMBuildAnd(e->b, threads_lane(e), u32(e, ~3u), "");
    LV some =
        is_not_zero(e, LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, word, first, ""), u32(e, 15), ""));
    emit_set1(e, i, all ? LLVMBuildNot(e->b, some, "") : some);
}

static void elect(Emit *e, const SpvInst *i)
{
    emit_set1(e, i, is(e, LLVMIntEQ, threads_lane(e), first_lane(e, threads_mask(e))));
}

static void set_ballot(Emit *e, const SpvInst *i, LV word)
{
    LV words[4] = { word, u32(e, 0), u32(e, 0), u32(e, 0) };
    emit_set(e, i, words, 4);
}

static void ballot(Emit *e, const SpvInst *i)
{
    SpvId id = spv_operand(i, i->op == SpvOpSubgroupBallotKHR ? 0 : 1);
    LV word = masks_vote(e->b, threads_mask(e), emit_leaf(e, id, 0));
    set_ballot(e, i, threads_from_warp(e, word));
}

/* Over the lanes that a mask names, ascending: each_begin, what uses l.lane, each_end. */
typedef struct Each {
    LV rest, lane;
    LLVMBasicBlockRef head, done;
} Each;

static Each each_begin(Emit *e, LV mask)
{
    Each l = { 0 };
    LV lanes = threads_from_warp(e, mask);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    l.done = emit_new_block(e, "lanes.done");
    l.head = emit_new_block(e, "lanes");
    LLVMBuildBr(e->b, l.head);
    LLVMPositionBuilderAtEnd(e->b, l.head);
    l.rest = LLVMBuildPhi(e->b, e->i32, "");
    LLVMAddIncoming(l.rest, &lanes, &before, 1);
    l.lane = lowest(e, l.rest);
    return l;
}

static void each_end(Emit *e, Each *l)
{
    LV rest = LLVMBuildAnd(e->b, l->rest, LLVMBuildSub(e->b, l->rest, u32(e, 1), ""), "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
    LLVMAddIncoming(l->rest, &rest, &from, 1);
    LLVMBuildCondBr(e->b, is_not_zero(e, rest), l->head, l->done);
    LLVMPositionBuilderAtEnd(e->b, l->done);
}

/* Each lane's ballot of the active lanes that hold the same value; of itself, when that is NaN. */
static void partition(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *v = ops_leaves(e, spv_operand(i, 0), &n), mask = threads_mask(e);
    LV part = emit_alloca(e, e->i32, "partition");
    LLVMBuildStore(e->b, LLVMBuildShl(e->b, u32(e, 1), threads_lane(e), ""), part);
    Each l = each_begin(e, mask);
    LV equal = ir_int(e->i1, 1);
    for (uint32_t k = 0; k < n; k++)
        equal =
            LLVMBuildAnd(e->b, equal, same(e, v[k], threads_shuffle(e, mask, v[k], l.lane)), "");
    LV bit = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, equal, e->i32, ""), l.lane, "");
    LV now = LLVMBuildLoad2(e->b, e->i32, part, "");
    LLVMBuildStore(e->b, LLVMBuildOr(e->b, now, bit, ""), part);
    each_end(e, &l);
    set_ballot(e, i, LLVMBuildLoad2(e->b, e->i32, part, ""));
}

static LV bit_of(Emit *e, LV word, LV lane)
{
    return is_not_zero(e, LLVMBuildAnd(e->b, arith_lshr(e->b, word, lane), u32(e, 1), ""));
}

static void inverse_ballot(Emit *e, const SpvInst *i)
{
    emit_set1(e, i, bit_of(e, emit_leaf(e, spv_operand(i, 1), 0), threads_lane(e)));
}

static void ballot_extract(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *word = ops_leaves(e, spv_operand(i, 1), &n), index = index_leaf(e, spv_operand(i, 2));
    LV r = word[0], which = LLVMBuildLShr(e->b, index, u32(e, 5), "");
    for (uint32_t k = 1; k < 4; k++)
        r = LLVMBuildSelect(e->b, is(e, LLVMIntEQ, which, u32(e, k)), word[k], r, "");
    emit_set1(e, i, bit_of(e, r, LLVMBuildAnd(e->b, index, u32(e, 31), "")));
}

/* The lanes that a scan sees: those below, and the lane itself where it is inclusive. */
static LV seen(Emit *e, uint32_t operation)
{
    return operation == SpvGroupOperationReduce          ? u32(e, UINT32_MAX >> (32 - e->W))
           : operation == SpvGroupOperationInclusiveScan ? lanes_up_to(e)
                                                         : lanes_below(e);
}

static void ballot_count(Emit *e, const SpvInst *i)
{
    LV word = emit_leaf(e, spv_operand(i, 2), 0);
    word = LLVMBuildAnd(e->b, word, seen(e, spv_operand(i, 1)), "");
    LT result = emit_scalar_type(e, spv_type(e->module, i->type));
    emit_set1(e, i, arith_resize(e->b, ir_unary(e->b, "llvm.ctpop", word), result, false));
}

static void ballot_find(Emit *e, const SpvInst *i)
{
    LV word = LLVMBuildAnd(e->b, emit_leaf(e, spv_operand(i, 1), 0),
                           u32(e, UINT32_MAX >> (32 - e->W)), "");
    LV at = i->op == SpvOpGroupNonUniformBallotFindLSB ? arith_find_lsb(e->b, word)
                                                       : arith_find_msb(e->b, word, false);
    LT result = emit_scalar_type(e, spv_type(e->module, i->type));
    emit_set1(e, i, arith_resize(e->b, at, result, false));
}

/* ---- broadcasts ------------------------------------------------------------------------------ */

static void broadcast_first(Emit *e, const SpvInst *i)
{
    SpvId value = spv_operand(i, i->op == SpvOpSubgroupFirstInvocationKHR ? 0 : 1);
    shuffled(e, i, value, first_lane(e, threads_mask(e)));
}

static void broadcast(Emit *e, const SpvInst *i)
{
    bool khr = i->op == SpvOpSubgroupReadInvocationKHR;
    if (khr || of_subgroup(e, i))
        shuffled(e, i, spv_operand(i, khr ? 0 : 1), index_leaf(e, spv_operand(i, khr ? 1 : 2)));
}

/* ---- reductions and scans -------------------------------------------------------------------- */

typedef struct Scan {
    EmitCombine how;
    uint32_t operation, cluster;
    LV mask;  /* who takes part */
    LV parts; /* of partitioned ones: the lane's own part, as a word; else NULL */
} Scan;

static bool is_scan(uint32_t operation, bool *inclusive)
{
    *inclusive = operation == SpvGroupOperationInclusiveScan ||
                 operation == SpvGroupOperationPartitionedInclusiveScanEXT;
    return *inclusive || operation == SpvGroupOperationExclusiveScan ||
           operation == SpvGroupOperationPartitionedExclusiveScanEXT;
}

/* The lanes whose values a lane combines. */
static LV combined_lanes(Emit *e, const Scan *s)
{
    bool inclusive;
    LV r = threads_from_warp(e, s->mask);
    if (is_scan(s->operation, &inclusive))
        r = LLVMBuildAnd(e->b, r, inclusive ? lanes_up_to(e) : lanes_below(e), "");
    if (s->parts)
        r = LLVMBuildAnd(e->b, r, s->parts, "");
    if (s->cluster < e->W) {
        LV first = in_cluster(e, u32(e, 0), s->cluster);
        LV ones = u32(e, (1u << s->cluster) - 1);
        r = LLVMBuildAnd(e->b, r, LLVMBuildShl(e->b, ones, first, ""), "");
    }
    return r;
}

/* An exclusive sum of nothing is +0 (SPIR-V's identity), where combining begins with -0. */
static LV begun(Emit *e, const Scan *s, LV lanes, LV v)
{
    bool inclusive, scan = is_scan(s->operation, &inclusive);
    if (s->how != COMBINE_FADD || !scan || inclusive)
        return v;
    return LLVMBuildSelect(e->b, is_not_zero(e, lanes), v, LLVMConstNull(LLVMTypeOf(v)), "");
}

/* Lane by lane: any mask, any part. */
static LV one_by_one(Emit *e, const Scan *s, LV v)
{
    LT type = LLVMTypeOf(v);
    LV mine = combined_lanes(e, s), sum = emit_alloca(e, type, "sum");
    LLVMBuildStore(e->b, combine_identity(e, s->how, type), sum);
    Each l = each_begin(e, s->mask);
    LV other = threads_shuffle(e, s->mask, v, l.lane), now = LLVMBuildLoad2(e->b, type, sum, "");
    LV next =
        LLVMBuildSelect(e->b, bit_of(e, mine, l.lane), combine(e, s->how, now, other), now, "");
    LLVMBuildStore(e->b, next, sum);
    each_end(e, &l);
    return begun(e, s, mine, LLVMBuildLoad2(e->b, type, sum, ""));
}

/* All lanes, in as many steps as their number has bits. */
static LV together(Emit *e, const Scan *s, LV v)
{
    bool inclusive, scan = is_scan(s->operation, &inclusive);
    LV lane = threads_lane(e), identity = combine_identity(e, s->how, LLVMTypeOf(v));
    for (uint32_t by = 1; by < s->cluster; by *= 2) {
        if (!scan) {
            v = combine(e, s->how, v,
                        threads_shuffle(e, s->mask, v, LLVMBuildXor(e->b, lane, u32(e, by), "")));
            continue;
        }
        LV below = threads_shuffle(e, s->mask, v, LLVMBuildSub(e->b, lane, u32(e, by), ""));
        LV has = is(e, LLVMIntUGE, lane, u32(e, by));
        v = combine(e, s->how, LLVMBuildSelect(e->b, has, below, identity, ""), v);
    }
    if (!scan || inclusive)
        return v;
    v = threads_shuffle(e, s->mask, v, LLVMBuildSub(e->b, lane, u32(e, 1), ""));
    v = LLVMBuildSelect(e->b, is_not_zero(e, lane), v, identity, "");
    return begun(e, s, lane, v);
}

static LV scanned(Emit *e, const Scan *s, LV v)
{
    return whole(e) && !s->parts ? together(e, s, v) : one_by_one(e, s, v);
}

static void arithmetic(Emit *e, const SpvInst *i)
{
    if (!of_subgroup(e, i))
        return;
    uint32_t n, operation = spv_operand(i, 1);
    Scan s = { .how = combine_of(i->op), .operation = operation, .cluster = e->W };
    if (operation == SpvGroupOperationClusteredReduce)
        s.cluster = cluster_size(e, i);
    if (operation > SpvGroupOperationClusteredReduce)
        s.parts = emit_leaf(e, spv_operand(i, 3), 0);
    LV *v = ops_leaves(e, spv_operand(i, 2), &n);
    s.mask = threads_mask(e);
    for (uint32_t k = 0; k < n; k++)
        v[k] = scanned(e, &s, v[k]);
    emit_set(e, i, v, n);
}

/* ---- derivatives ----------------------------------------------------------------------------- */

static LV difference(Emit *e, const SpvInst *i, LV v, uint32_t axis)
{
    LV lane = threads_lane(e), mask = threads_mask(e);
    LV near = threads_shuffle(e, mask, v, LLVMBuildAnd(e->b, lane, u32(e, ~axis), ""));
    LV far = threads_shuffle(e, mask, v, LLVMBuildOr(e->b, lane, u32(e, axis), ""));
    return ops_float(e, i, LLVMFSub, far, near);
}

static LV slope_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    bool x = i->op == SpvOpDPdx || i->op == SpvOpDPdxFine || i->op == SpvOpDPdxCoarse;
    bool y = i->op == SpvOpDPdy || i->op == SpvOpDPdyFine || i->op == SpvOpDPdyCoarse;
    if (x || y)
        return difference(e, i, v[0], x ? 1 : 2);
    LV dx = ir_unary(e->b, "llvm.fabs", difference(e, i, v[0], 1));
    LV dy = ir_unary(e->b, "llvm.fabs", difference(e, i, v[0], 2));
    return ops_float(e, i, LLVMFAdd, dx, dy);
}

static void slope(Emit *e, const SpvInst *i)
{
    if (e->entry->quads)
        emit_each_leaf(e, i, 0, 1, slope_leaf);
    else
        emit_error(e, i, "SPV_KHR_compute_shader_derivatives",
                   "the entry point has no derivative group");
}
#define ROW(name, fn) { SpvOp##name, 0, fn }

/* clang-format off */
const EmitRule threads_rules_subgroup[] = {
    ROW(GroupNonUniformElect, elect),
    VOTE_RULES(vote)
    ROW(GroupNonUniformBroadcast, broadcast),
    ROW(GroupNonUniformBroadcastFirst, broadcast_first),
    ROW(GroupBroadcast, broadcast),
    ROW(SubgroupReadInvocationKHR, broadcast),
    ROW(SubgroupFirstInvocationKHR, broadcast_first),
    ROW(GroupNonUniformBallot, ballot),
    ROW(SubgroupBallotKHR, ballot),
    ROW(GroupNonUniformPartitionEXT, partition),
    ROW(GroupNonUniformInverseBallot, inverse_ballot),
    ROW(GroupNonUniformBallotBitExtract, ballot_extract),
    ROW(GroupNonUniformBallotBitCount, ballot_count),
    ROW(GroupNonUniformBallotFindLSB, ballot_find),
    ROW(GroupNonUniformBallotFindMSB, ballot_find),
    ROW(GroupNonUniformShuffle, shuffle),
    ROW(GroupNonUniformShuffleXor, shuffle),
    ROW(GroupNonUniformShuffleUp, shuffle),
    ROW(GroupNonUniformShuffleDown, shuffle),
    ROW(GroupNonUniformRotateKHR, rotate),
    ROW(GroupNonUniformQuadBroadcast, quad_broadcast),
    ROW(GroupNonUniformQuadSwap, quad_swap),
    ROW(DPdx, slope), ROW(DPdy, slope), ROW(Fwidth, slope),
    ROW(DPdxFine, slope), ROW(DPdyFine, slope), ROW(FwidthFine, slope),
    ROW(DPdxCoarse, slope), ROW(DPdyCoarse, slope), ROW(FwidthCoarse, slope),
    ROW(GroupNonUniformQuadAllKHR, quad_vote),
    ROW(GroupNonUniformQuadAnyKHR, quad_vote),
    COMBINE_RULES(arithmetic)
    { 0, 0, NULL },
};
/* clang-format on */
