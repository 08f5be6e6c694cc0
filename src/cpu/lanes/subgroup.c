/* SPDX-License-Identifier: MIT
 *
 * Subgroup operations but votes (vote.c): OpGroupNonUniform*, and the older OpGroup* and
 * OpSubgroup* with subgroup scope (SPIR-V 3.3.24, 3.3.21; SPV_KHR_shader_ballot, subgroup_vote,
 * subgroup_rotate, quad_control; SPV_EXT_shader_subgroup_partitioned).
 *
 * A subgroup is one vector, so an operation is a few shuffles under the lane mask. Inactive lanes
 * take part with the operation's identity. Reductions halve the vector log2(W) times and scans
 * shift it by 1, 2, 4, ...; the order depends only on W, so a kernel gives the same results on all
 * machines. A result that all lanes share is kept as a scalar.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <llvm/Config/llvm-config.h>

static LV lanes_u32(Emit *e, uint64_t x) { return ir_int(emit_lanes_type(e, e->i32), x); }
static const SpvType *result_type(Emit *e, const SpvInst *i)
{
    return spv_type(e->module, i->type);
}

/* ---- shuffles -------------------------------------------------------------------------------- */

static LV shuffle_xor(Emit *e, LV v, uint32_t mask)
{
    int from[128];
    for (uint32_t l = 0; l < e->W; l++)
        from[l] = (l ^ mask) & (e->W - 1);
    return ir_shuffle(e->b, v, NULL, from, e->W);
}

/* Lane l gets lane l - by of v; the lowest lanes get `fill`. */
static LV shift_up(Emit *e, LV v, uint32_t by, LV fill)
{
    int from[128];
    for (uint32_t l = 0; l < e->W; l++)
        from[l] = l >= by ? l - by : e->W + l;
    return ir_shuffle(e->b, v, fill, from, e->W);
}

/* Gathers need integers of 32 or 64 bits: makes v one. The caller converts back. */
static LV gatherable(Emit *e, LV v)
{
    v = ops_bits(e, v);
    return LLVMGetIntTypeWidth(ir_element_of(v)) < 32 ? arith_resize(e->b, v, e->i32, false) : v;
}

static LV gathered(Emit *e, LV v, LT type)
{
    LLVMTypeKind k = LLVMGetTypeKind(ir_element(type));
    unsigned n = k == LLVMIntegerTypeKind  ? LLVMGetIntTypeWidth(ir_element(type))
                 : k == LLVMDoubleTypeKind ? 64
                 : k == LLVMFloatTypeKind  ? 32
                                           : 16;
    v = arith_resize(e->b, v, LLVMIntTypeInContext(e->cx, n), false);
    return LLVMBuildBitCast(e->b, v, ir_type_like(LLVMTypeOf(v), ir_element(type)), "");
}

LV subgroup_permute(Emit *e, LV v, LV index)
{
    if (!emit_is_lanes(v))
        return v;
    index = LLVMBuildFreeze(e->b, index, "");
    index = LLVMBuildAnd(e->b, index, ir_int(LLVMTypeOf(index), e->W - 1), "");
    if (!emit_is_lanes(index))
        return emit_lane(e, v, index);
    LV plain = gatherable(e, v);
    LV memory = emit_alloca(e, LLVMTypeOf(plain), "permute");
    LLVMBuildStore(e->b, plain, memory);
    LV at = LLVMBuildGEP2(e->b, ir_element_of(plain), memory, &index, 1, "");
    LV all = LLVMConstAllOnes(emit_lanes_type(e, e->i1));
    LV r = lanes_masked_load(e, LLVMTypeOf(plain), at, 4, all);
    return gathered(e, r, LLVMTypeOf(v));
}

/* Index operands may have any integer type. */
static LV index_leaf(Emit *e, SpvId id)
{
    return arith_resize(e->b, emit_leaf(e, id, 0), e->i32, false);
}

/* Sets the result to the operand's leaves, permuted. */
static void permute_result(Emit *e, const SpvInst *i, SpvId value, LV index)
{
    uint32_t n;
    LV *v = ops_leaves(e, value, &n);
    for (uint32_t k = 0; k < n; k++)
        v[k] = subgroup_permute(e, v[k], index);
    emit_set(e, i, v, n);
}

/* Lane l gets lane index(l); a constant `amount` makes it a constant shuffle. */
typedef uint32_t LaneMap(uint32_t lane, uint32_t amount, uint32_t W);

static bool constant_operand(LV v, uint32_t *x)
{
    if (!LLVMIsAConstantInt(v))
        return false;
    *x = (uint32_t)LLVMConstIntGetZExtValue(v);
    return true;
}

static void mapped_result(Emit *e, const SpvInst *i, SpvId value, uint32_t amount, LaneMap *map)
{
    uint32_t n;
    int from[128];
    LV *v = ops_leaves(e, value, &n);
    for (uint32_t l = 0; l < e->W; l++)
        from[l] = map(l, amount, e->W) & (e->W - 1);
    for (uint32_t k = 0; k < n; k++)
        v[k] = emit_is_lanes(v[k]) ? ir_shuffle(e->b, v[k], NULL, from, e->W) : v[k];
    emit_set(e, i, v, n);
}

static uint32_t map_xor(uint32_t lane, uint32_t x, uint32_t W)
{
    (void)W;
    return lane ^ x;
}
static uint32_t map_up(uint32_t lane, uint32_t x, uint32_t W)
{
    (void)W;
    return lane - x;
}
static uint32_t map_down(uint32_t lane, uint32_t x, uint32_t W)
{
    (void)W;
    return lane + x;
}
static uint32_t map_quad(uint32_t lane, uint32_t x, uint32_t W)
{
    (void)W;
    return (lane & ~3u) | (x & 3);
}

static void relative(Emit *e, const SpvInst *i, LLVMOpcode op, LaneMap *map)
{
    LV amount = index_leaf(e, spv_operand(i, 2));
    uint32_t constant;
    if (constant_operand(amount, &constant)) {
        mapped_result(e, i, spv_operand(i, 1), constant, map);
        return;
    }
    LV index = LLVMBuildBinOp(e->b, op, lanes_ids(e), emit_lanes(e, amount), "");
    permute_result(e, i, spv_operand(i, 1), index);
}

static void shuffle_relative(Emit *e, const SpvInst *i)
{
    if (i->op == SpvOpGroupNonUniformShuffleXor)
        relative(e, i, LLVMXor, map_xor);
    else if (i->op == SpvOpGroupNonUniformShuffleUp)
        relative(e, i, LLVMSub, map_up);
    else
        relative(e, i, LLVMAdd, map_down);
}

static void shuffle_any(Emit *e, const SpvInst *i)
{
    permute_result(e, i, spv_operand(i, 1), index_leaf(e, spv_operand(i, 2)));
}

/* Rotates within clusters whose size is a power of two (operand 3; by default the subgroup). */
static void rotate(Emit *e, const SpvInst *i)
{
    uint64_t cluster = e->W;
    if (spv_n_operands(i) > 3 && spv_constant(e->module, spv_operand(i, 3), &cluster) &&
        (!is_pow2(cluster) || cluster > e->W))
        cluster = e->W;
    LV delta = index_leaf(e, spv_operand(i, 2));
    LV moved = LLVMBuildAdd(e->b, lanes_ids(e), emit_lanes(e, delta), "");
    LV in = LLVMBuildAnd(e->b, moved, lanes_u32(e, cluster - 1), "");
    LV base = LLVMBuildAnd(e->b, lanes_ids(e), lanes_u32(e, ~(cluster - 1)), "");
    LV index = LLVMBuildOr(e->b, in, base, "");
    uint32_t n;
    int from[128];
    LV *v = ops_leaves(e, spv_operand(i, 1), &n);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t l = 0; l < e->W && LLVMIsConstant(index); l++)
            from[l] = (uint32_t)LLVMConstIntGetZExtValue(LLVMGetAggregateElement(index, l));
        if (emit_is_lanes(v[k]))
            v[k] = LLVMIsConstant(index) ? ir_shuffle(e->b, v[k], NULL, from, e->W)
                                         : subgroup_permute(e, v[k], index);
    }
    emit_set(e, i, v, n);
}

/* ---- quads ----------------------------------------------------------------------------------- */

static void quad_broadcast(Emit *e, const SpvInst *i)
{
    LV index = index_leaf(e, spv_operand(i, 2));
    uint32_t constant;
    if (constant_operand(index, &constant)) {
        mapped_result(e, i, spv_operand(i, 1), constant, map_quad);
        return;
    }
    LV in = LLVMBuildAnd(e->b, emit_lanes(e, index), lanes_u32(e, 3), "");
    LV base = LLVMBuildAnd(e->b, lanes_ids(e), lanes_u32(e, ~UINT64_C(3)), "");
    permute_result(e, i, spv_operand(i, 1), LLVMBuildOr(e->b, in, base, ""));
}

/* Direction 0 is across, 1 down, 2 diagonal: lane ^ 1, 2, 3. */
static void quad_swap(Emit *e, const SpvInst *i)
{
    uint64_t direction = 0;
    spv_constant(e->module, spv_operand(i, 2), &direction);
    mapped_result(e, i, spv_operand(i, 1), (uint32_t)(direction % 3) + 1, map_xor);
}

/* OpGroupNonUniformQuadAllKHR, QuadAnyKHR: over the quad's active lanes. */
static void quad_vote(Emit *e, const SpvInst *i)
{
    bool all = i->op == SpvOpGroupNonUniformQuadAllKHR;
    LV p = emit_lanes(e, emit_leaf(e, spv_operand(i, 0), 0));
    LV bad = all ? LLVMBuildNot(e->b, p, "") : p;
    bad = emit_lanes(e, lanes_and(e, e->mask, bad));
    bad = LLVMBuildOr(e->b, bad, shuffle_xor(e, bad, 1), "");
    bad = LLVMBuildOr(e->b, bad, shuffle_xor(e, bad, 2), "");
    emit_set1(e, i, all ? LLVMBuildNot(e->b, bad, "") : bad);
}

/* ---- derivatives ----------------------------------------------------------------------------- */

LV subgroup_slope(Emit *e, const SpvInst *i, LV v, uint32_t axis)
{
    int near[128], far[128];
    if (!emit_is_lanes(v))
        return ops_float(e, i, LLVMFSub, v, v);
    for (uint32_t l = 0; l < e->W; l++) {
        near[l] = l & ~axis;
        far[l] = l | axis;
    }
    return ops_float(e, i, LLVMFSub, ir_shuffle(e->b, v, NULL, far, e->W),
                     ir_shuffle(e->b, v, NULL, near, e->W));
}

/* All derivatives are fine ones (Vulkan 1.4, Derivative Operations). */
static LV slope_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    bool x = i->op == SpvOpDPdx || i->op == SpvOpDPdxFine || i->op == SpvOpDPdxCoarse;
    bool y = i->op == SpvOpDPdy || i->op == SpvOpDPdyFine || i->op == SpvOpDPdyCoarse;
    if (x || y)
        return subgroup_slope(e, i, v[0], x ? 1 : 2);
    LV dx = subgroup_slope(e, i, v[0], 1), dy = subgroup_slope(e, i, v[0], 2);
    return ops_float(e, i, LLVMFAdd, ir_unary(e->b, "llvm.fabs", dx),
                     ir_unary(e->b, "llvm.fabs", dy));
}

static void slope(Emit *e, const SpvInst *i)
{
    if (e->entry->quads)
        emit_each_leaf(e, i, 0, 1, slope_leaf);
    else
        emit_error(e, i, "SPV_KHR_compute_shader_derivatives",
                   "the entry point has no derivative group");
}

/* ---- scopes ---------------------------------------------------------------------------------- */

bool subgroup_is_scope(Emit *e, const SpvInst *i)
{
    uint64_t scope = SpvScopeSubgroup;
    spv_constant(e->module, spv_operand(i, 0), &scope);
    if (scope == SpvScopeSubgroup || (scope == SpvScopeWorkgroup && group_is_subgroup(e)))
        return true;
    if (scope == SpvScopeWorkgroup) {
        group_inst(e, i);
        return false;
    }
    emit_error(e, i, NULL, "%s over a scope other than the subgroup is not supported",
               spv_op_name(i->op));
    return false;
}

static void elect(Emit *e, const SpvInst *i)
{
    LV first = emit_lanes(e, lanes_first(e));
    emit_set1(e, i, LLVMBuildICmp(e->b, LLVMIntEQ, lanes_ids(e), first, ""));
}

/* ---- ballots --------------------------------------------------------------------------------- */

/* The bits of a lane mask as four words. */
static void ballot_words(Emit *e, LV mask, LV *word)
{
    LT whole = LLVMIntTypeInContext(e->cx, e->W);
    LV bits = LLVMBuildBitCast(e->b, mask, whole, "");
    for (uint32_t k = 0; k < 4; k++) {
        if (k * 32 >= e->W) {
            word[k] = ir_int(e->i32, 0);
            continue;
        }
        LV part = LLVMBuildLShr(e->b, bits, ir_int(whole, k * 32), "");
        word[k] = arith_resize(e->b, part, e->i32, false);
    }
}

static void ballot(Emit *e, const SpvInst *i)
{
    SpvId id = spv_operand(i, i->op == SpvOpSubgroupBallotKHR ? 0 : 1);
    LV word[4];
    ballot_words(e, emit_lanes(e, lanes_and(e, lanes_mask(e), emit_leaf(e, id, 0))), word);
    emit_set(e, i, word, 4);
}

/* For each lane, its own bit of the four words. */
static LV own_bit(Emit *e, LV *word)
{
    LV r = emit_lanes(e, word[0]);
    for (uint32_t k = 1; k * 32 < e->W; k++) {
        int from[128];
        for (uint32_t l = 0; l < e->W; l++)
            from[l] = l / 32 >= k ? e->W + l : l;
        r = ir_shuffle(e->b, r, emit_lanes(e, word[k]), from, e->W);
    }
    LV place = LLVMBuildAnd(e->b, lanes_ids(e), lanes_u32(e, 31), "");
    r = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, r, place, ""), lanes_u32(e, 1), "");
    return LLVMBuildICmp(e->b, LLVMIntNE, r, lanes_u32(e, 0), "");
}

/* Loops over the parts of a partition, by the lowest lane of each. `part` is the whole part. */
static void part_done(Emit *e, LanesLoop *l, LV part)
{
    l->also = LLVMBuildBitCast(e->b, part, LLVMIntTypeInContext(e->cx, e->W), "");
    lane_loop_end(e, l);
}

static LV with_first(Emit *e, const LanesLoop *l, LV part)
{
    LV first = LLVMBuildICmp(e->b, LLVMIntEQ, lanes_ids(e), emit_lanes(e, l->index), "");
    return emit_lanes(e, lanes_and(e, e->mask, LLVMBuildOr(e->b, part, first, "")));
}

static void set_where(Emit *e, LV where, LV v, LV memory)
{
    LV old = LLVMBuildLoad2(e->b, LLVMTypeOf(v), memory, "");
    LLVMBuildStore(e->b, LLVMBuildSelect(e->b, where, v, old, ""), memory);
}

/* For each lane, the ballot of the active lanes that hold the same value, or of itself if that is
 * NaN. */
static void partition(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LT lanes = emit_lanes_type(e, e->i32);
    LV *v = ops_leaves(e, spv_operand(i, 0), &n), memory[4], word[4];
    for (uint32_t k = 0; k < 4; k++)
        memory[k] = emit_alloca(e, lanes, "partition");
    LanesLoop l = lane_loop_begin(e, e->mask);
    LV part = LLVMConstAllOnes(emit_lanes_type(e, e->i1));
    for (uint32_t c = 0; c < n; c++) {
        LV x = emit_lanes(e, v[c]);
        part =
            LLVMBuildAnd(e->b, part, vote_same(e, x, emit_lanes(e, emit_lane(e, x, l.index))), "");
    }
    part = with_first(e, &l, part);
    ballot_words(e, part, word);
    for (uint32_t k = 0; k < 4; k++)
        set_where(e, part, emit_lanes(e, word[k]), memory[k]);
    part_done(e, &l, part);
    for (uint32_t k = 0; k < 4; k++)
        word[k] = LLVMBuildLoad2(e->b, lanes, memory[k], "");
    emit_set(e, i, word, 4);
}

static void inverse_ballot(Emit *e, const SpvInst *i)
{
    uint32_t n;
    emit_set1(e, i, own_bit(e, ops_leaves(e, spv_operand(i, 1), &n)));
}

static void ballot_extract(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *word = ops_leaves(e, spv_operand(i, 1), &n), index = index_leaf(e, spv_operand(i, 2)),
       r = word[0];
    LV which = LLVMBuildLShr(e->b, index, ir_int(LLVMTypeOf(index), 5), "");
    for (uint32_t k = 1; k < 4; k++)
        r = ops_select(e, LLVMBuildICmp(e->b, LLVMIntEQ, which, ir_int(LLVMTypeOf(which), k), ""),
                       word[k], r);
    LV v[2] = { r, index };
    emit_unify(e, v, 2);
    r = arith_lshr(e->b, v[0], v[1]);
    r = LLVMBuildAnd(e->b, r, ir_int(LLVMTypeOf(r), 1), "");
    emit_set1(e, i, LLVMBuildICmp(e->b, LLVMIntNE, r, LLVMConstNull(LLVMTypeOf(r)), ""));
}

/* The bits of word k that a lane sees: those of existing lanes, for scans only those below it (or
 * up to it). */
static LV visible(Emit *e, uint32_t k, uint32_t group_operation)
{
    LV lane[128];
    for (uint32_t l = 0; l < e->W; l++) {
        uint32_t end = group_operation == SpvGroupOperationInclusiveScan   ? l + 1
                       : group_operation == SpvGroupOperationExclusiveScan ? l
                                                                           : e->W;
        uint32_t bits = end <= k * 32        ? 0
                        : end - k * 32 >= 32 ? UINT32_MAX
                                             : (1u << (end - k * 32)) - 1;
        lane[l] = ir_int(e->i32, bits);
    }
    return group_operation == SpvGroupOperationReduce ? lane[0] : LLVMConstVector(lane, e->W);
}

static void ballot_count(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *word = ops_leaves(e, spv_operand(i, 2), &n), sum = ir_int(e->i32, 0);
    for (uint32_t k = 0; k < 4 && k * 32 < e->W; k++) {
        LV v[2] = { word[k], visible(e, k, spv_operand(i, 1)) };
        emit_unify(e, v, 2);
        LV s[2] = { sum, ir_unary(e->b, "llvm.ctpop", LLVMBuildAnd(e->b, v[0], v[1], "")) };
        emit_unify(e, s, 2);
        sum = LLVMBuildAdd(e->b, s[0], s[1], "");
    }
    LT result = emit_scalar_type(e, result_type(e, i));
    emit_set1(e, i, arith_resize(e->b, sum, result, false));
}

static void ballot_find(Emit *e, const SpvInst *i)
{
    bool low = i->op == SpvOpGroupNonUniformBallotFindLSB;
    uint32_t n, words = (e->W + 31) / 32;
    LV *word = ops_leaves(e, spv_operand(i, 1), &n), r = ir_int(e->i32, UINT32_MAX);
    for (uint32_t step = 0; step < words; step++) {
        uint32_t k = low ? words - 1 - step : step;
        LV v[2] = { word[k], visible(e, k, SpvGroupOperationReduce) };
        emit_unify(e, v, 2);
        LV bits = LLVMBuildAnd(e->b, v[0], v[1], "");
        LV at = low ? arith_find_lsb(e->b, bits) : arith_find_msb(e->b, bits, false);
        at = LLVMBuildAdd(e->b, at, ir_int(LLVMTypeOf(at), k * 32), "");
        LV some = LLVMBuildICmp(e->b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
        r = ops_select(e, some, at, r);
    }
    emit_set1(e, i, arith_resize(e->b, r, emit_scalar_type(e, result_type(e, i)), false));
}

/* ---- broadcasts ------------------------------------------------------------------------------ */

static void broadcast_first(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *v = ops_leaves(e, spv_operand(i, i->op == SpvOpSubgroupFirstInvocationKHR ? 0 : 1), &n);
    for (uint32_t k = 0; k < n; k++)
        v[k] = emit_uniform(e, v[k]);
    emit_set(e, i, v, n);
}

static void broadcast(Emit *e, const SpvInst *i)
{
    bool khr = i->op == SpvOpSubgroupReadInvocationKHR;
    if (!khr && !subgroup_is_scope(e, i))
        return;
    SpvId value = spv_operand(i, khr ? 0 : 1), id = spv_operand(i, khr ? 1 : 2);
    uint32_t n;
    LV *v = ops_leaves(e, value, &n), index = index_leaf(e, id);
    /* OpGroupBroadcast takes a vector as a local id; in a row of lanes its first component is the
     * lane */
    index = emit_uniform(e, index);
    for (uint32_t k = 0; k < n; k++)
        v[k] = subgroup_permute(e, v[k], index);
    emit_set(e, i, v, n);
}

/* ---- reductions and scans -------------------------------------------------------------------- */

/* The mask, as a value that LLVM cannot recognise as the same. LLVM 22's x86 peephole optimiser
 * folds a load under a mask into its user under the same mask, shuffles included, which then read
 * lanes that the first mask had replaced. */
static LV another_mask(Emit *e, LV mask)
{
    LT word = LLVMIntTypeInContext(e->cx, MIN(e->W, 32));
    static const IrAsm copy = { "", "=r,0", false };
    LT words = LLVMVectorType(word, MAX(e->W / 32, 1));
    LV v = LLVMBuildBitCast(e->b, mask, words, "");
    for (uint32_t k = 0; k < LLVMGetVectorSize(words); k++) {
        LV bits = LLVMBuildExtractElement(e->b, v, ir_int(e->i32, k), "");
        bits = ir_asm(e->b, &copy, word, &bits, 1);
        v = LLVMBuildInsertElement(e->b, v, bits, ir_int(e->i32, k), "");
    }
    return LLVMBuildBitCast(e->b, v, LLVMTypeOf(mask), "");
}

/* All lanes of v, with the identity in inactive ones. */
static LV with_identity(Emit *e, EmitCombine how, LV v, LV mask)
{
    v = emit_lanes(e, v);
    if (!mask)
        return v;
    LV identity = emit_lanes(e, combine_identity(e, how, ir_element_of(v)));
    return LLVMBuildSelect(e->b, another_mask(e, mask), v, identity, "");
}

static bool idempotent(EmitCombine how)
{
    return how >= COMBINE_SMIN && how <= COMBINE_OR && how != COMBINE_XOR;
}

/* The number of active lanes, as an integer of `type`. */
static LV active_lanes(Emit *e, LV mask, LT type)
{
    if (!mask)
        return ir_int(type, e->W);
    LV bits = LLVMBuildBitCast(e->b, mask, LLVMIntTypeInContext(e->cx, e->W), "");
    return arith_resize(e->b, ir_unary(e->b, "llvm.ctpop", bits), type, false);
}

LV combine_reduce(Emit *e, EmitCombine how, LV v, LV mask)
{
    if (!emit_is_lanes(v) && idempotent(how))
        return v;
    if (!emit_is_lanes(v) && how == COMBINE_IADD)
        return LLVMBuildMul(e->b, v, active_lanes(e, mask, LLVMTypeOf(v)), "");
    v = with_identity(e, how, v, mask);
    for (uint32_t n = e->W / 2; n >= 1; n /= 2) {
        int low[128], high[128];
        for (uint32_t l = 0; l < n; l++) {
            low[l] = l;
            high[l] = n + l;
        }
        v = combine(e, how, ir_shuffle(e->b, v, NULL, low, n), ir_shuffle(e->b, v, NULL, high, n));
    }
    return LLVMBuildExtractElement(e->b, v, ir_int(e->i32, 0), "");
}

/* The lanes up to and including the first of mask. */
static LV up_to_first(Emit *e, LV mask)
{
    LT whole = LLVMIntTypeInContext(e->cx, e->W);
    LV bits = mask ? LLVMBuildBitCast(e->b, mask, whole, "") : LLVMConstAllOnes(whole);
    LV below = LLVMBuildSub(e->b, bits, ir_int(whole, 1), "");
    return LLVMBuildBitCast(e->b, LLVMBuildXor(e->b, bits, below, ""), emit_lanes_type(e, e->i1),
                            "");
}

LV combine_scan(Emit *e, EmitCombine how, LV v, LV mask, bool inclusive)
{
    LV identity = emit_lanes(e, combine_identity(e, how, ir_element_of(v)));
    v = with_identity(e, how, v, mask);
    for (uint32_t by = 1; by < e->W; by *= 2)
        v = combine(e, how, shift_up(e, v, by, identity), v);
    if (inclusive)
        return v;
    v = shift_up(e, v, 1, identity);
    if (how == COMBINE_FADD) /* of no lanes: the specification's identity is +0 */
        v = LLVMBuildSelect(e->b, up_to_first(e, mask), LLVMConstNull(LLVMTypeOf(v)), v, "");
    return v;
}

static LV combine_clusters(Emit *e, EmitCombine how, LV v, LV mask, uint64_t size)
{
    v = with_identity(e, how, v, mask);
    for (uint32_t by = 1; by < size && by < e->W; by *= 2)
        v = combine(e, how, v, shuffle_xor(e, v, by));
    return v;
}

/* The lanes that are set in a ballot's words. */
static LV ballot_lanes(Emit *e, LV *word)
{
    LT whole = LLVMIntTypeInContext(e->cx, e->W);
    LV bits = LLVMConstNull(whole);
    for (uint32_t k = 0; k * 32 < e->W; k++) {
        LV part = arith_resize(e->b, word[k], whole, false);
        part = LLVMBuildShl(e->b, part, ir_int(whole, k * 32), "");
        bits = LLVMBuildOr(e->b, bits, part, "");
    }
    return LLVMBuildBitCast(e->b, bits, emit_lanes_type(e, e->i1), "");
}

/* Combines over the active lanes of each part, which the ballot of its lowest lane defines. */
static LV combine_parts(Emit *e, EmitCombine how, LV v, LV *ballot, uint32_t operation)
{
    v = emit_lanes(e, v);
    LV memory = emit_alloca(e, LLVMTypeOf(v), "parts"), word[4];
    LanesLoop l = lane_loop_begin(e, e->mask);
    for (uint32_t k = 0; k < 4; k++)
        word[k] = emit_is_lanes(ballot[k]) ? emit_lane(e, ballot[k], l.index) : ballot[k];
    LV part = with_first(e, &l, ballot_lanes(e, word));
    bool inclusive = operation == SpvGroupOperationPartitionedInclusiveScanEXT;
    LV r = operation == SpvGroupOperationPartitionedReduceEXT
               ? combine_reduce(e, how, v, part)
               : combine_scan(e, how, v, part, inclusive);
    set_where(e, part, emit_lanes(e, r), memory);
    part_done(e, &l, part);
    return LLVMBuildLoad2(e->b, LLVMTypeOf(v), memory, "");
}

static void arithmetic(Emit *e, const SpvInst *i)
{
    if (!subgroup_is_scope(e, i))
        return;
    EmitCombine how = combine_of(i->op);
    uint32_t operation = spv_operand(i, 1), n;
    uint64_t cluster = e->W;
    if (operation == SpvGroupOperationClusteredReduce && spv_n_operands(i) > 3)
        spv_constant(e->module, spv_operand(i, 3), &cluster);
    LV *ballot =
        operation > SpvGroupOperationClusteredReduce ? ops_leaves(e, spv_operand(i, 3), &n) : NULL;
    LV *v = ops_leaves(e, spv_operand(i, 2), &n);
    for (uint32_t k = 0; k < n; k++) {
        switch (operation) {
        case SpvGroupOperationReduce: v[k] = combine_reduce(e, how, v[k], e->mask); break;
        case SpvGroupOperationInclusiveScan:
            v[k] = combine_scan(e, how, v[k], e->mask, true);
            break;
        case SpvGroupOperationExclusiveScan:
            v[k] = combine_scan(e, how, v[k], e->mask, false);
            break;
        case SpvGroupOperationClusteredReduce:
            v[k] = combine_clusters(e, how, v[k], e->mask, cluster);
            break;
        default: v[k] = combine_parts(e, how, v[k], ballot, operation); break;
        }
    }
    emit_set(e, i, v, n);
}

#define ROW(name, fn) { SpvOp##name, 0, fn }

/* clang-format off */
const EmitRule lanes_rules_subgroup[] = {
    ROW(GroupNonUniformElect, elect),
    ROW(GroupNonUniformBroadcast, broadcast),
    ROW(GroupNonUniformBroadcastFirst, broadcast_first),
    ROW(GroupBroadcast, broadcast),
    ROW(GroupAsyncCopy, group_async_copy),
    ROW(GroupWaitEvents, group_wait_events),
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
    ROW(GroupNonUniformShuffle, shuffle_any),
    ROW(GroupNonUniformShuffleXor, shuffle_relative),
    ROW(GroupNonUniformShuffleUp, shuffle_relative),
    ROW(GroupNonUniformShuffleDown, shuffle_relative),
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
