/* SPDX-License-Identifier: MIT
 *
 * gpu.subgroup_reduce and gpu.all_reduce. MLIR's conversion turns the former, if it is `uniform` or
 * a bit operation, into instructions that shaders cannot use, and gives the latter workgroup scope,
 * which Vulkan does not have (VUID-StandaloneSpirv-None-04642). So an all_reduce of a workgroup of
 * several subgroups is
 *
 *     memory[subgroup * W + lane] = subgroup_reduce(v)
 *     barrier
 *     memory[0] op memory[W] op memory[2 * W] ...
 *     barrier
 *
 * in every invocation, W being the subgroup's size: each has a place of its own, so that none has
 * to be chosen for its subgroup.
 */
#include <mlir-c/BuiltinTypes.h>

#include "mlir/mlir.h"

typedef struct GroupReduction {
    const char *kind;
    const char *integer, *real;     /* of two values; NULL: there is none */
    const char *subgroup, *boolean; /* SPIR-V's, where MLIR's conversion has none */
} GroupReduction;

static const GroupReduction reductions[] = {
    { "#gpu<all_reduce_op add>", "arith.addi", "arith.addf", NULL, NULL },
    { "#gpu<all_reduce_op mul>", "arith.muli", "arith.mulf", NULL, NULL },
    { "#gpu<all_reduce_op minui>", "arith.minui", NULL, NULL, NULL },
    { "#gpu<all_reduce_op minsi>", "arith.minsi", NULL, NULL, NULL },
    { "#gpu<all_reduce_op maxui>", "arith.maxui", NULL, NULL, NULL },
    { "#gpu<all_reduce_op maxsi>", "arith.maxsi", NULL, NULL, NULL },
    { "#gpu<all_reduce_op minnumf>", NULL, "arith.minnumf", NULL, NULL },
    { "#gpu<all_reduce_op maxnumf>", NULL, "arith.maxnumf", NULL, NULL },
    { "#gpu<all_reduce_op minimumf>", NULL, "arith.minimumf", NULL, NULL },
    { "#gpu<all_reduce_op maximumf>", NULL, "arith.maximumf", NULL, NULL },
    { "#gpu<all_reduce_op and>", "arith.andi", NULL, "spirv.GroupNonUniformBitwiseAnd",
      "spirv.GroupNonUniformLogicalAnd" },
    { "#gpu<all_reduce_op or>", "arith.ori", NULL, "spirv.GroupNonUniformBitwiseOr",
      "spirv.GroupNonUniformLogicalOr" },
    { "#gpu<all_reduce_op xor>", "arith.xori", NULL, "spirv.GroupNonUniformBitwiseXor",
      "spirv.GroupNonUniformLogicalXor" },
};

static const GroupReduction *reduction_of(HmJob *j, MlirOperation op)
{
    const char *kind = attr_text(j, attr_of(op, "op"));
    for (size_t i = 0; i < COUNT_OF(reductions); i++) {
        if (!strcmp(kind, reductions[i].kind))
            return &reductions[i];
    }
    return NULL;
}

static MlirValue of_subgroup(HmBuild *b, const GroupReduction *r, MlirValue v)
{
    MlirType t = mlirValueGetType(v);
    bool boolean = mlirTypeIsAInteger(t) && mlirIntegerTypeGetWidth(t) == 1;
    if (r->subgroup)
        return build(b, boolean ? r->boolean : r->subgroup, t,
                     "{execution_scope = #spirv.scope<Subgroup>, "
                     "group_operation = #spirv.group_operation<Reduce>}",
                     v);
    return build(b, "gpu.subgroup_reduce", t, arena_printf(b->job->arena, "{op = %s}", r->kind), v);
}

/* ---- workgroups ------------------------------------------------------------------------------ */

/* Workgroup memory is the kernel's: declared where it begins. */
static MlirValue allocate(HmJob *j, MlirOperation op, uint32_t n, MlirType t)
{
    MlirOperation kernel = op;
    while (!is_op(kernel, "gpu.func"))
        kernel = mlirOperationGetParentOperation(kernel);
    MlirBlock entry = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
    HmBuild b = { j, mlirBlockGetFirstOperation(entry), mlirOperationGetLocation(op) };
    MlirType memref =
        type_parse(j, "memref<%ux%s, #spirv.storage_class<Workgroup>>", n, type_text(j, t));
    return build_n(&b, "memref.alloc", memref, "{operandSegmentSizes = array<i32: 0, 0>}", 0, NULL);
}

static MlirValue index_of(HmBuild *b, uint32_t value)
{
    const char *text = arena_printf(b->job->arena, "{value = %u : index}", value);
    return build_n(b, "arith.constant", type_parse(b->job, "index"), text, 0, NULL);
}

static void barrier(HmBuild *b) { build_n(b, "gpu.barrier", (MlirType){ NULL }, NULL, 0, NULL); }

static MlirValue of_workgroup(HmBuild *b, const GroupReduction *r, MlirValue v)
{
    MlirType t = mlirValueGetType(v), index = type_parse(b->job, "index");
    uint32_t width = subgroup_around(b->job, b->before);
    uint32_t n = (workgroup_around(b->job, b->before) + width - 1) / width;
    MlirValue partial = of_subgroup(b, r, v);
    if (n < 2)
        return partial;
    MlirValue memory = allocate(b->job, b->before, n * width, t);
    MlirValue subgroup = build_n(b, "gpu.subgroup_id", index, NULL, 0, NULL);
    MlirValue lane = build_n(b, "gpu.lane_id", index, NULL, 0, NULL);
    MlirValue at = build(b, "arith.muli", index, NULL, subgroup, index_of(b, width));
    at = build(b, "arith.addi", index, NULL, at, lane);
    build(b, "memref.store", (MlirType){ NULL }, NULL, partial, memory, at);
    barrier(b);
    MlirValue total = { NULL };
    for (uint32_t i = 0; i < n; i++) {
        MlirValue part = build(b, "memref.load", t, NULL, memory, index_of(b, i * width));
        total =
            i ? build(b, mlirTypeIsAFloat(t) ? r->real : r->integer, t, NULL, total, part) : part;
    }
    barrier(b);
    return total;
}

/* ---- all of them, bf16 as f32 ---------------------------------------------------------------- */

static bool lower_reduction(HmJob *j, MlirOperation op, bool all)
{
    const GroupReduction *r = reduction_of(j, op);
    MlirValue v = mlirOperationGetOperand(op, 0);
    if (all && !r) {
        complain_at(j, mlirOperationGetLocation(op),
                    "gpu.all_reduce by a region of operations: "
                    "only the operations that have names (add, mul, ...) can be converted");
        return false;
    }
    mlirOperationRemoveAttributeByName(op, ref("uniform"));
    MlirType t = mlirValueGetType(v);
    bool simple = !mlirTypeIsAVector(t) && mlirAttributeIsNull(attr_of(op, "cluster_size"));
    if (!simple || (!all && !r->subgroup && !mlirTypeIsABF16(t)))
        return true; /* MLIR's conversion takes it, or says that it has none */
    HmBuild b = { j, op, mlirOperationGetLocation(op) };
    if (mlirTypeIsABF16(t))
        v = build(&b, "arith.extf", type_parse(j, "f32"), NULL, v);
    MlirValue result = all ? of_workgroup(&b, r, v) : of_subgroup(&b, r, v);
    if (mlirTypeIsABF16(t))
        result = build(&b, "arith.truncf", t, NULL, result);
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), result);
    erase(op);
    return true;
}

bool reduce_lower(HmJob *j)
{
    HmOpList ops = ops_named(j, j->module, NULL);
    bool good = true;
    for (uint32_t i = 0; i < ops.len; i++) {
        bool all = is_op(ops.data[i], "gpu.all_reduce");
        if (all || is_op(ops.data[i], "gpu.subgroup_reduce"))
            good &= lower_reduction(j, ops.data[i], all);
    }
    return good;
}
