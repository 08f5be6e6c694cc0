/* SPDX-License-Identifier: MIT
 *
 * gpu.subgroup_mma_rotate %a, %b, %offset: of the elements of %a and then %b, row by row, those
 * from number %offset on, as many as a matrix has. An invocation of a subgroup of W holds the
 * elements number e * W + its own for e = 0, 1, ...: the RFC's picture for one element, heddle's
 * ownership for any number. With offset = k * W + r the invocation l needs what invocation
 * (l + r) mod W holds as its element e + k, or e + k + 1 where l + r went past W. Seen from the
 * giving side: who is at least r gives the former, the others the latter. That is
 *
 *     created[e] = rotate(lane >= r ? held[e + k] : held[e + k + 1], r)
 *
 * with held = those of %a, then those of %b. For offsets known only as the kernel runs held is
 * shifted by the bits of k first, one select for each.
 */
#include <mlir-c/BuiltinTypes.h>

#include "mlir/mlir.h"

/* ---- checks ---------------------------------------------------------------------------------- */

static bool check_types(HmJob *j, MlirOperation op, HmMatrix *m)
{
    MlirLocation loc = mlirOperationGetLocation(op);
    if (mlirOperationGetNumOperands(op) != 3 || mlirOperationGetNumResults(op) != 1) {
        complain_at(j, loc,
                    "gpu.subgroup_mma_rotate takes two matrices and an offset and has one "
                    "result");
        return false;
    }
    MlirType a = mlirValueGetType(mlirOperationGetOperand(op, 0));
    MlirType b = mlirValueGetType(mlirOperationGetOperand(op, 1));
    MlirType offset = mlirValueGetType(mlirOperationGetOperand(op, 2));
    MlirType result = mlirValueGetType(mlirOperationGetResult(op, 0));
    if (!matrix_of(j, a, m) || strncmp(type_text(j, a), "!gpu.", 5))
        complain_at(j, loc, "gpu.subgroup_mma_rotate takes matrices (!gpu.mma_matrix), not %s",
                    type_text(j, a));
    else if (!mlirTypeEqual(a, b) || !mlirTypeEqual(a, result))
        complain_at(j, loc,
                    "gpu.subgroup_mma_rotate takes and makes matrices of one type, not %s, "
                    "%s and %s",
                    type_text(j, a), type_text(j, b), type_text(j, result));
    else if (!mlirTypeIsAInteger(offset) || mlirIntegerTypeGetWidth(offset) != 32 ||
             !mlirIntegerTypeIsSignless(offset))
        complain_at(j, loc, "gpu.subgroup_mma_rotate's offset is an i32, not %s",
                    type_text(j, offset));
    else
        return true;
    return false;
}

static bool verify(HmJob *j, MlirOperation op)
{
    HmMatrix m;
    if (!check_types(j, op, &m))
        return false;
    MlirLocation loc = mlirOperationGetLocation(op);
    uint32_t n = m.rows * m.columns, width = subgroup_around(j, op);
    int64_t offset;
    if (constant_int(mlirOperationGetOperand(op, 2), &offset) && (offset < 0 || offset > n))
        complain_at(j, loc,
                    "gpu.subgroup_mma_rotate's offset is %lld; %ux%u matrices have "
                    "elements 0 to %u",
                    (long long)offset, m.rows, m.columns, n);
    else if (!width)
        complain_at(j, loc,
                    "gpu.subgroup_mma_rotate is in a function of a module whose kernels "
                    "have subgroups of different sizes");
    else if (!is_pow2(width) || n % width)
        complain_at(j, loc,
                    "gpu.subgroup_mma_rotate: the %u elements of %ux%u matrices are not a "
                    "whole number for each of a subgroup's %u invocations",
                    n, m.rows, m.columns, width);
    else
        return true;
    return false;
}

bool rotate_verify(HmJob *j)
{
    HmOpList ops = ops_named(j, j->module, ROTATE);
    bool good = true;
    for (uint32_t i = 0; i < ops.len; i++)
        good = verify(j, ops.data[i]) && good;
    return good;
}

/* ---- the lowering of one --------------------------------------------------------------------- */

typedef struct Lowering {
    HmBuild build;
    const HmRotateOps *ops;
    MlirValue matrices[2], offset;
    MlirValue lane; /* null: to be asked for */
    MlirType element, i1, i32;
    HmMatrix shape;
    uint32_t width, length; /* of the subgroup; elements an invocation holds */
    MlirValue *held;        /* 2 * length, those of both operands; null: not extracted */
    MlirValue delta;        /* lanes to rotate by */
    int64_t known_delta;    /* or -1 */
    MlirValue direct;       /* i1: this lane gives element e + k */
} Lowering;

static MlirValue held(Lowering *l, uint32_t i)
{
    MlirValue *v = &l->held[MIN(i, 2 * l->length - 1)];
    if (!v->ptr) {
        uint32_t at = (uint32_t)(v - l->held);
        *v = rotate_extract(&l->build, l->matrices[at >= l->length], l->element, at % l->length);
    }
    return *v;
}

static MlirValue select(Lowering *l, MlirValue condition, MlirValue yes, MlirValue no)
{
    return build(&l->build, l->ops->select, l->element, NULL, condition, yes, no);
}

/* Shifts what is held by as many elements as bits of `whole` say. */
static void shift_held(Lowering *l, MlirValue whole)
{
    for (uint32_t step = 1; step <= l->length; step *= 2) {
        MlirValue bit = build(&l->build, l->ops->bit_and, l->i32, NULL, whole,
                              rotate_constant(l->ops, &l->build, step));
        MlirValue set = build(&l->build, l->ops->not_equal, l->i1, l->ops->not_equal_attr, bit,
                              rotate_constant(l->ops, &l->build, 0));
        for (uint32_t i = 0; i + step < 2 * l->length; i++)
            l->held[i] = select(l, set, held(l, i + step), held(l, i));
    }
}

/* Takes the offset apart; returns how many elements later than its own a lane gives. */
static uint32_t split_offset(Lowering *l)
{
    HmBuild *b = &l->build;
    MlirValue offset = l->offset;
    int64_t known;
    if (constant_int(offset, &known)) {
        l->known_delta = known % l->width;
        l->delta = known == l->known_delta ? offset : rotate_constant(l->ops, b, l->known_delta);
        return (uint32_t)(known / l->width);
    }
    MlirValue mask = rotate_constant(l->ops, b, l->width - 1);
    MlirValue log2 = rotate_constant(l->ops, b, __builtin_ctz(l->width));
    l->known_delta = -1;
    l->delta = build(b, l->ops->bit_and, l->i32, NULL, offset, mask);
    shift_held(l, build(b, l->ops->shift_right, l->i32, NULL, offset, log2));
    return 0;
}

static MlirValue rotated_element(Lowering *l, uint32_t i)
{
    if (l->known_delta == 0)
        return held(l, i);
    MlirValue here = held(l, i), next = held(l, i + 1);
    if (!l->lane.ptr)
        l->lane = rotate_lane(&l->build);
    if (!l->direct.ptr)
        l->direct = build(&l->build, l->ops->greater_equal, l->i1, l->ops->greater_equal_attr,
                          l->lane, l->delta);
    MlirValue given = select(l, l->direct, here, next);
    return l->ops->rotate(&l->build, given, l->delta, l->known_delta, l->width, l->width);
}

/* Builds before `op` what takes the place of its result, and erases it. */
static void lower_rotation(Lowering *l, MlirOperation op)
{
    HmJob *j = l->build.job;
    l->build.before = op;
    l->build.loc = mlirOperationGetLocation(op);
    MlirType matrix = mlirValueGetType(l->matrices[0]);
    l->i1 = type_parse(j, "i1");
    l->i32 = type_parse(j, "i32");
    l->width = subgroup_around(j, op);
    matrix_of(j, matrix, &l->shape);
    l->element = type_parse(j, "%s", l->shape.element);
    l->length = l->shape.rows * l->shape.columns / l->width;
    l->held = NEW_ARRAY(j->arena, MlirValue, 2 * l->length);
    MlirValue created = rotate_zero(&l->build, matrix, &l->shape);
    if (!created.ptr)
        created = l->matrices[0];
    uint32_t later = split_offset(l);
    for (uint32_t e = 0; e < l->length; e++)
        created = rotate_insert(&l->build, created, rotated_element(l, e + later), e);
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), created);
    erase(op);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The gpu dialect takes no elements of signed and unsigned types out of matrices. These rotations
 * wait until matrices have SPIR-V's types. While MLIR converts the module two operations stand for
 * one, a difference of the matrices and a rotation of the lane by the offset; their location has a
 * name that says so. */
#define WAITING "heddle.rotate"

static void wait_for_spirv(HmJob *j, MlirOperation op, uint32_t number)
{
    const char *name = arena_printf(j->arena, WAITING ".%u", number);
    MlirLocation loc = mlirOperationGetLocation(op);
    HmBuild b = { j, op, mlirLocationNameGet(j->context, ref(name), loc) };
    MlirValue v[3];
    for (int i = 0; i < 3; i++)
        v[i] = mlirOperationGetOperand(op, i);
    rotate_ops[ROTATION_SPIRV].rotate(&b, rotate_lane(&b), v[2], 0, 0, 0);
    MlirValue stands = build_n(&b, "gpu.subgroup_mma_elementwise", mlirValueGetType(v[0]),
                               "{opType = #gpu<mma_element_wise subi>}", 2, v);
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), stands);
    erase(op);
}

bool rotate_lower(HmJob *j)
{
    HmOpList ops = ops_named(j, j->module, ROTATE);
    for (uint32_t i = 0; i < ops.len; i++) {
        MlirOperation op = ops.data[i];
        Lowering l = { .build = { .job = j },
                       .ops = &rotate_ops[j->rotation],
                       .matrices = { mlirOperationGetOperand(op, 0),
                                     mlirOperationGetOperand(op, 1) },
                       .offset = mlirOperationGetOperand(op, 2) };
        const char *type = type_text(j, mlirValueGetType(l.matrices[0]));
        if (!strstr(type, "xsi8") && !strstr(type, "xui8")) {
            lower_rotation(&l, op);
        } else if (j->rotation == ROTATION_GPU || j->form == FORM_MLIR) {
            complain_at(j, mlirOperationGetLocation(op),
                        "the gpu dialect cannot take elements out "
                        "of %s; only SPIR-V can (--rotate-as spirv)",
                        type);
            return false;
        }
    }
    return true;
}

void rotate_wait(HmJob *j)
{
    HmOpList ops = ops_named(j, j->module, ROTATE);
    for (uint32_t i = 0; i < ops.len; i++)
        wait_for_spirv(j, ops.data[i], i);
}

void rotate_finish(HmJob *j)
{
    HmOpList matrices = ops_named(j, j->module, "spirv.ISub");
    HmOpList scalars = ops_named(j, j->module, "spirv.GroupNonUniformRotateKHR");
    for (uint32_t i = 0; i < matrices.len; i++) {
        MlirLocation loc = mlirOperationGetLocation(matrices.data[i]);
        MlirStringRef name = { "", 0 };
        if (mlirLocationIsAName(loc))
            name = mlirIdentifierStr(mlirLocationNameGetName(loc));
        if (name.length < sizeof WAITING || memcmp(name.data, WAITING ".", sizeof WAITING))
            continue;
        uint32_t k = 0;
        while (!mlirLocationEqual(loc, mlirOperationGetLocation(scalars.data[k])))
            k++;
        MlirOperation m = matrices.data[i], s = scalars.data[k];
        Lowering l = { .build = { .job = j },
                       .ops = &rotate_ops[ROTATION_SPIRV],
                       .matrices = { mlirOperationGetOperand(m, 0), mlirOperationGetOperand(m, 1) },
                       .lane = mlirOperationGetOperand(s, 0),
                       .offset = mlirOperationGetOperand(s, 1) };
        lower_rotation(&l, m);
        erase(s);
        scalars.data[k] = scalars.data[--scalars.len];
    }
}
