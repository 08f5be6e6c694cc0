/* SPDX-License-Identifier: MIT
 *
 * Barriers and operations of subgroups and workgroups: scopes are constants, values have the
 * result's type (SPIR-V 3.3.20, 3.3.21, 3.3.24).
 */
#include "check/internal.h"

static bool is_split(uint16_t op)
{
    return op == SpvOpControlBarrierArriveEXT || op == SpvOpControlBarrierWaitEXT;
}

/* SPV_KHR_uniform_group_instructions */
static bool is_whole(uint16_t op)
{
    return op >= SpvOpGroupIMulKHR && op <= SpvOpGroupLogicalXorKHR;
}

static bool has_scope(uint16_t op)
{
    return (op >= SpvOpGroupNonUniformElect && op <= SpvOpGroupNonUniformQuadSwap) ||
           op == SpvOpGroupNonUniformRotateKHR ||
           (op >= SpvOpGroupAsyncCopy && op <= SpvOpGroupSMax) || is_whole(op) ||
           op == SpvOpControlBarrier || op == SpvOpMemoryBarrier || is_split(op);
}

static void check_scope(Checker *c, SpvInst *i)
{
    uint64_t scope;
    const SpvType *t = want_value(c, i, 0);
    if (!t)
        return;
    if (t->kind != SPV_INT || t->bits != 32 || !spv_constant(c->m, spv_operand(i, 0), &scope)) {
        broken(c, i, "the scope is not a 32-bit integer constant");
        return;
    }
    bool barrier = i->op == SpvOpMemoryBarrier || i->op == SpvOpControlBarrier ||
                   (is_split(i->op) && !has_capability(c, SpvCapabilityShader));
    if (scope > SpvScopeShaderCallKHR ||
        (!barrier && scope != SpvScopeSubgroup && scope != SpvScopeWorkgroup))
        broken(c, i, "scope %llu", (unsigned long long)scope);
}

static void check_barrier(Checker *c, SpvInst *i)
{
    uint64_t x;
    for (uint32_t k = 0; k < spv_n_operands(i); k++) {
        const SpvType *t = want_value(c, i, k);
        if (t &&
            (t->kind != SPV_INT || t->bits != 32 || !spv_constant(c->m, spv_operand(i, k), &x)))
            broken(c, i, "operand %%%u is not a 32-bit integer constant", spv_operand(i, k));
    }
}

/* The value has the result's type; it stands behind the scope where there is one. */
static bool moves(uint16_t op)
{
    switch (op) {
    case SpvOpGroupNonUniformBroadcast:
    case SpvOpGroupNonUniformBroadcastFirst:
    case SpvOpGroupNonUniformShuffle:
    case SpvOpGroupNonUniformShuffleXor:
    case SpvOpGroupNonUniformShuffleUp:
    case SpvOpGroupNonUniformShuffleDown:
    case SpvOpGroupNonUniformQuadBroadcast:
    case SpvOpGroupNonUniformQuadSwap:
    case SpvOpGroupNonUniformRotateKHR:
    case SpvOpGroupBroadcast:
    case SpvOpSubgroupFirstInvocationKHR:
    case SpvOpSubgroupReadInvocationKHR: return true;
    default: return false;
    }
}

static bool reduces(uint16_t op)
{
    return (op >= SpvOpGroupNonUniformIAdd && op <= SpvOpGroupNonUniformLogicalXor) ||
           (op >= SpvOpGroupIAdd && op <= SpvOpGroupSMax) || is_whole(op);
}

/* Numbers or booleans, which other invocations may have. */
static bool is_shareable(const SpvType *t) { return is_numeric(t) || of_kind(t, SPV_BOOL); }

/* What says where the value comes from is one integer; an OpGroupBroadcast may have an id of up to
 * three components. */
static void check_moved(Checker *c, SpvInst *i)
{
    uint32_t value = has_scope(i->op) ? 1 : 0;
    const SpvType *r = result_type(c, i), *t = want_value(c, i, value);
    if (t && (!same_type(t, r) || !is_shareable(t)))
        broken(c, i, "the value is %s, the result %s", type_name(c, t), type_name(c, r));
    for (uint32_t k = value + 1; k < spv_n_operands(i); k++) {
        const SpvType *x = want_value(c, i, k);
        bool good = i->op == SpvOpGroupBroadcast ? x && of_kind(x, SPV_INT) && components(x) <= 3
                                                 : x && x->kind == SPV_INT;
        if (x && !good)
            broken(c, i, "operand %%%u is %s", spv_operand(i, k), type_name(c, x));
    }
}

/* The operand's value, a constant that only a cluster's size may be decided by. Of size 0 it is
 * undefined what comes out. */
static void check_cluster(Checker *c, SpvInst *i, uint32_t k)
{
    uint64_t size;
    const SpvType *t = want_value(c, i, k);
    if (!t)
        return;
    if (t->kind != SPV_INT || t->is_signed || !spv_constant(c->m, spv_operand(i, k), &size) ||
        (size && !is_pow2(size)))
        broken(c, i, "the cluster's size is not an unsigned constant power of two");
    else if (!size)
        doubtful(c, i, "clusters of 0 invocations: the result is undefined");
}

static void check_rotated(Checker *c, SpvInst *i)
{
    if (spv_n_operands(i) > 3)
        check_cluster(c, i, 3);
}

static SpvKind reduced_kind(uint16_t op)
{
    switch (op) {
    case SpvOpGroupNonUniformFAdd:
    case SpvOpGroupNonUniformFMul:
    case SpvOpGroupNonUniformFMin:
    case SpvOpGroupNonUniformFMax:
    case SpvOpGroupFAdd:
    case SpvOpGroupFMin:
    case SpvOpGroupFMax:
    case SpvOpGroupFMulKHR: return SPV_FLOAT;
    case SpvOpGroupNonUniformLogicalAnd:
    case SpvOpGroupNonUniformLogicalOr:
    case SpvOpGroupNonUniformLogicalXor:
    case SpvOpGroupLogicalAndKHR:
    case SpvOpGroupLogicalOrKHR:
    case SpvOpGroupLogicalXorKHR: return SPV_BOOL;
    default: return SPV_INT;
    }
}

static bool is_ballot(const SpvType *t)
{
    return t && t->kind == SPV_VECTOR && t->count == 4 && of_kind(t, SPV_INT) &&
           t->element->bits == 32;
}

static void check_reduced(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *t = want_value(c, i, 2);
    uint32_t how = spv_operand(i, 1);
    bool non_uniform = i->op <= SpvOpGroupNonUniformLogicalXor && i->op >= SpvOpGroupNonUniformIAdd;
    if (!t)
        return;
    if (!same_type(t, r) || !of_kind(t, reduced_kind(i->op)))
        broken(c, i, "the value is %s, the result %s", type_name(c, t), type_name(c, r));
    if (how > SpvGroupOperationExclusiveScan && !non_uniform) {
        broken(c, i, "group operation %u of %s", how, spv_op_name(i->op));
    } else if (how == SpvGroupOperationClusteredReduce) {
        check_cluster(c, i, 3);
    } else if (how >= SpvGroupOperationPartitionedReduceEXT &&
               how <= SpvGroupOperationPartitionedExclusiveScanEXT) {
        const SpvType *p = want_value(c, i, 3);
        if (p && !is_ballot(p))
            broken(c, i, "the partition is %s", type_name(c, p));
    } else if (how > SpvGroupOperationExclusiveScan) {
        broken(c, i, "group operation %u", how);
    }
}

static void check_vote(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    uint32_t n = spv_n_operands(i);
    bool bare = !has_scope(i->op);
    if (!r || r->kind != SPV_BOOL)
        broken(c, i, "the vote gives %s", type_name(c, r));
    if (i->op == SpvOpGroupNonUniformElect)
        return;
    const SpvType *t = want_value(c, i, bare ? 0 : 1);
    bool equal = i->op == SpvOpGroupNonUniformAllEqual;
    if (n && t && (equal ? !is_shareable(t) : t->kind != SPV_BOOL))
        broken(c, i, "a vote on %s", type_name(c, t));
}

static void check_partition(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *v = want_value(c, i, 0);
    if (v && (!is_shareable(v) || !is_ballot(r)))
        broken(c, i, "a partition by %s gives %s", type_name(c, v), type_name(c, r));
}

static void check_ballot(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    if (i->op == SpvOpGroupNonUniformBallot || i->op == SpvOpSubgroupBallotKHR) {
        const SpvType *p = want_value(c, i, i->op == SpvOpSubgroupBallotKHR ? 0 : 1);
        if (p && (p->kind != SPV_BOOL || !is_ballot(r)))
            broken(c, i, "a ballot of %s gives %s", type_name(c, p), type_name(c, r));
        return;
    }
    const SpvType *v = want_value(c, i, i->op == SpvOpGroupNonUniformBallotBitCount ? 2 : 1);
    bool boolean =
        i->op == SpvOpGroupNonUniformInverseBallot || i->op == SpvOpGroupNonUniformBallotBitExtract;
    if (v && (!is_ballot(v) || !r || r->kind != (boolean ? SPV_BOOL : SPV_INT)))
        broken(c, i, "%s of %s gives %s", spv_op_name(i->op), type_name(c, v), type_name(c, r));
    if (i->op == SpvOpGroupNonUniformBallotBitExtract) {
        const SpvType *x = want_value(c, i, 2);
        if (x && x->kind != SPV_INT)
            broken(c, i, "the index is %s", type_name(c, x));
    }
}

/* ---- derivatives ----------------------------------------------------------------------------- */

static bool takes_slopes(uint16_t op) { return op >= SpvOpDPdx && op <= SpvOpFwidthCoarse; }

static void check_slope(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *p = want_value(c, i, 0);
    if (p && (!of_kind(r, SPV_FLOAT) || !same_type(p, r)))
        broken(c, i, "%s of %s gives %s", spv_op_name(i->op), type_name(c, p), type_name(c, r));
    else if (p && component(p)->bits != 32)
        broken(c, i, "%s of %s, not of 32-bit floats", spv_op_name(i->op), type_name(c, p));
    if (!has_capability(c, SpvCapabilityComputeDerivativeGroupQuadsKHR) &&
        !has_capability(c, SpvCapabilityComputeDerivativeGroupLinearKHR))
        broken(c, i, "derivatives in kernels need a derivative group");
}

/* Sizes that specialisation decides are the devices' to look at. */
static void check_quads(Checker *c, SpvInst *i)
{
    SpvEntryPoint e;
    DiagSink quiet = { 0 };
    if (!spv_entry_point(c->m, spv_string(i, 2, NULL), &e, &quiet) || !e.quads)
        return;
    SpvId id = e.function->def->id;
    if (e.quads == SPV_QUADS_SQUARE &&
        spv_execution_mode(c->m, id, SpvExecutionModeDerivativeGroupLinearKHR, NULL))
        broken(c, i, "derivative groups of two kinds");
    else if (!e.size_is_specialised && !spv_has_whole_quads(e.quads, e.local_size))
        broken(c, i, "a workgroup of %u x %u x %u does not consist of quads", e.local_size[0],
               e.local_size[1], e.local_size[2]);
}

static const CheckRow rows[] = {
    { { "derivative", "SPV_KHR_compute_shader_derivatives",
        "Derivatives are of 32-bit floats, in entry points that say what the groups are." },
      { 0 },
      takes_slopes,
      check_slope },
    { { "derivative-group", "Vulkan, VUIDs 10151 and 10152",
        "A workgroup consists of quads of one kind." },
      { SpvOpEntryPoint },
      NULL,
      check_quads },
    { { "scope", "SPIR-V 3.2.27, 2.16.2",
        "Execution scopes are constants; groups are subgroups or workgroups." },
      { 0 },
      has_scope,
      check_scope },
    { { "barrier", "SPIR-V 3.3.20", "Scopes and semantics of barriers are constants." },
      { SpvOpControlBarrier, SpvOpMemoryBarrier, SpvOpControlBarrierArriveEXT,
        SpvOpControlBarrierWaitEXT },
      NULL,
      check_barrier },
    { { "group-move", "SPIR-V 3.3.24", "A value that moves between invocations keeps its type." },
      { 0 },
      moves,
      check_moved },
    { { "group-reduce", "SPIR-V 3.3.24",
        "What is reduced has the kind the name says and the result's type." },
      { 0 },
      reduces,
      check_reduced },
    { { "vote", "SPIR-V 3.3.24", "Votes are on booleans and give one." },
      { SpvOpGroupNonUniformElect, SpvOpGroupNonUniformAll, SpvOpGroupNonUniformAny,
        SpvOpGroupNonUniformAllEqual, SpvOpSubgroupAllKHR, SpvOpSubgroupAnyKHR, SpvOpGroupAll,
        SpvOpGroupAny, SpvOpGroupNonUniformQuadAllKHR, SpvOpGroupNonUniformQuadAnyKHR },
      NULL,
      check_vote },
    { { "group-rotate", "SPIR-V 3.3.24", "Clusters have a size that is a power of two." },
      { SpvOpGroupNonUniformRotateKHR },
      NULL,
      check_rotated },
    { { "vote", "SPV_KHR_subgroup_vote", "Votes are on booleans and give one." },
      { SpvOpSubgroupAllEqualKHR },
      NULL,
      check_vote },
    { { "partition", "SPV_EXT_shader_subgroup_partitioned",
        "Invocations are told apart by numbers or booleans; the subset is a ballot." },
      { SpvOpGroupNonUniformPartitionEXT },
      NULL,
      check_partition },
    { { "ballot", "SPIR-V 3.3.24", "A ballot is a vector of four 32-bit integers." },
      { SpvOpGroupNonUniformBallot, SpvOpSubgroupBallotKHR, SpvOpGroupNonUniformInverseBallot,
        SpvOpGroupNonUniformBallotBitExtract, SpvOpGroupNonUniformBallotBitCount,
        SpvOpGroupNonUniformBallotFindLSB, SpvOpGroupNonUniformBallotFindMSB },
      NULL,
      check_ballot },
};
const CheckFamily check_core_group = { rows, COUNT_OF(rows) };
