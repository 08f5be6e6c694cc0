/* SPDX-License-Identifier: MIT
 *
 * What a rotation consists of. Elements are taken out of matrices and put into them by the
 * operations of the gpu dialect that the RFC's proposal 2 became. For what happens to the scalars
 * in between there are two tables: proposal 2, where gpu.rotate's offset is an attribute and
 * gpu.shuffle stands in for it when the offset is no constant; and the SPIR-V that the RFC prints.
 */
#include <stdio.h>

#include "mlir/mlir.h"

static MlirValue index_constant(HmBuild *b, uint32_t value)
{
    char text[48];
    snprintf(text, sizeof text, "{value = %u : index}", value);
    return build_n(b, "arith.constant", type_parse(b->job, "index"), text, 0, NULL);
}

/* Constants of the arith dialect are signless, and constant matrices of no more than 32 bits. */
MlirValue rotate_zero(HmBuild *b, MlirType matrix, const HmMatrix *m)
{
    if (m->element[0] == 's' || m->element[0] == 'u' || !strcmp(m->element, "f64"))
        return (MlirValue){ NULL };
    char text[48];
    snprintf(text, sizeof text, "{value = %s : %s}", m->element[0] == 'f' ? "0.0" : "0",
             m->element);
    MlirValue v = build_n(b, "arith.constant", type_parse(b->job, "%s", m->element), text, 0, NULL);
    return build(b, "gpu.subgroup_mma_constant_matrix", matrix, NULL, v);
}

static bool is_spirv(HmBuild *b, MlirValue matrix)
{
    return !strncmp(type_text(b->job, mlirValueGetType(matrix)), "!spirv.", 7);
}

MlirValue rotate_extract(HmBuild *b, MlirValue matrix, MlirType element, uint32_t at)
{
    char text[48];
    snprintf(text, sizeof text, "{indices = [%u : i32]}", at);
    if (is_spirv(b, matrix))
        return build(b, "spirv.CompositeExtract", element, text, matrix);
    return build(b, "gpu.subgroup_mma_extract_thread_local", element, NULL, matrix,
                 index_constant(b, at));
}

MlirValue rotate_insert(HmBuild *b, MlirValue matrix, MlirValue element, uint32_t at)
{
    MlirType type = mlirValueGetType(matrix);
    char text[48];
    snprintf(text, sizeof text, "{indices = [%u : i32]}", at);
    if (is_spirv(b, matrix))
        return build(b, "spirv.CompositeInsert", type, text, element, matrix);
    return build(b, "gpu.subgroup_mma_insert_thread_local", type, NULL, element, matrix,
                 index_constant(b, at));
}

MlirValue rotate_lane(HmBuild *b)
{
    MlirValue id = build_n(b, "gpu.lane_id", type_parse(b->job, "index"), NULL, 0, NULL);
    return build(b, "arith.index_cast", type_parse(b->job, "i32"), NULL, id);
}

MlirValue rotate_constant(const HmRotateOps *ops, HmBuild *b, int64_t value)
{
    char text[48];
    snprintf(text, sizeof text, "{value = %lld : i32}", (long long)value);
    return build_n(b, ops->constant, type_parse(b->job, "i32"), text, 0, NULL);
}

/* The value alone of an operation that has a second result, whether it is valid. */
static MlirValue first_of_two(HmBuild *b, const char *name, MlirType type, const char *attributes,
                              uint32_t n, const MlirValue *operands)
{
    MlirType types[] = { type, type_parse(b->job, "i1") };
    return build_op(b, &(HmNewOp){ name, types, 2, attributes, operands, n });
}

static MlirValue gpu_rotate(HmBuild *b, MlirValue v, MlirValue delta, int64_t known, uint32_t width,
                            uint32_t cluster)
{
    const HmRotateOps *arith = &rotate_ops[ROTATION_GPU];
    MlirType i32 = type_parse(b->job, "i32"), type = mlirValueGetType(v);
    char text[64];
    if (known >= 0) {
        snprintf(text, sizeof text, "{offset = %lld : i32, width = %u : i32}", (long long)known,
                 cluster);
        return first_of_two(b, "gpu.rotate", type, text, 1, &v);
    }
    MlirValue lane = rotate_lane(b), from = build(b, "arith.addi", i32, NULL, lane, delta);
    from = build(b, "arith.andi", i32, NULL, from, rotate_constant(arith, b, cluster - 1));
    if (cluster < width) {
        MlirValue mask = rotate_constant(arith, b, -(int64_t)cluster);
        lane = build(b, "arith.andi", i32, NULL, lane, mask);
        from = build(b, "arith.ori", i32, NULL, lane, from);
    }
    MlirValue operands[] = { v, from, rotate_constant(arith, b, width) };
    return first_of_two(b, "gpu.shuffle", type, "{mode = #gpu<shuffle_mode idx>}", 3, operands);
}

static MlirValue spirv_rotate(HmBuild *b, MlirValue v, MlirValue delta, int64_t known,
                              uint32_t width, uint32_t cluster)
{
    (void)known;
    MlirValue operands[] = { v, delta, { NULL } };
    if (cluster < width)
        operands[2] = rotate_constant(&rotate_ops[ROTATION_SPIRV], b, cluster);
    return build_n(b, "spirv.GroupNonUniformRotateKHR", mlirValueGetType(v),
                   "{execution_scope = #spirv.scope<Subgroup>}", cluster < width ? 3 : 2, operands);
}

const HmRotateOps rotate_ops[] = {
    [ROTATION_GPU] = { .constant = "arith.constant",
                       .select = "arith.select",
                       .bit_and = "arith.andi",
                       .shift_right = "arith.shrui",
                       .greater_equal = "arith.cmpi",
                       .greater_equal_attr = "{predicate = 5 : i64}",
                       .not_equal = "arith.cmpi",
                       .not_equal_attr = "{predicate = 1 : i64}",
                       .rotate = gpu_rotate },
    [ROTATION_SPIRV] = { .constant = "spirv.Constant",
                         .select = "spirv.Select",
                         .bit_and = "spirv.BitwiseAnd",
                         .shift_right = "spirv.ShiftRightLogical",
                         .greater_equal = "spirv.SGreaterThanEqual",
                         .not_equal = "spirv.INotEqual",
                         .rotate = spirv_rotate },
};
