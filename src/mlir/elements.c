/* SPDX-License-Identifier: MIT
 *
 * Operations on the elements of a matrix that an invocation holds. The RFC's proposal 2 takes them
 * out, puts them in and hands them from one invocation to another:
 *
 *     gpu.subgroup_mma_extract    spirv.CompositeExtract
 *     gpu.subgroup_mma_insert     spirv.CompositeInsert
 *     gpu.rotate                  spirv.GroupNonUniformRotateKHR
 *
 * as they were proposed; MLIR has the first two by other names and the third with numbers for
 * offset and width. And elementwise operations that SPIR-V has only for scalars.
 */
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>

#include "mlir/mlir.h"

static bool in_gpu_dialect(HmJob *j, MlirType t, HmMatrix *m)
{
    return matrix_of(j, t, m) && !strncmp(type_text(j, t), "!gpu.", 5);
}

static bool has_sign(const HmMatrix *m) { return m->element[0] == 's' || m->element[0] == 'u'; }

uint32_t elements_held(HmJob *j, MlirOperation op, const HmMatrix *m)
{
    uint32_t width = subgroup_around(j, op), n = m->rows * m->columns;
    if (is_pow2(width) && n % width == 0)
        return n / width;
    complain_at(j, mlirOperationGetLocation(op),
                "the %u elements of %ux%u matrices are not a "
                "whole number for each of a subgroup's %u invocations",
                n, m->rows, m->columns, width);
    return 0;
}

/* ---- extract, insert ------------------------------------------------------------------------- */

/* The one number in the brackets; false after reporting. */
static bool element_number(HmJob *j, MlirOperation op, const char *name, const HmMatrix *m,
                           uint32_t *out)
{
    MlirLocation loc = mlirOperationGetLocation(op);
    MlirAttribute list = attr_of(op, "indices"), number = { NULL };
    if (!mlirAttributeIsNull(list) && mlirAttributeIsAArray(list) &&
        mlirArrayAttrGetNumElements(list) == 1)
        number = mlirArrayAttrGetElement(list, 0);
    if (mlirAttributeIsNull(number) || !mlirAttributeIsAInteger(number)) {
        complain_at(j, loc,
                    "%s takes one number in brackets: of an element that the invocation "
                    "holds",
                    name);
        return false;
    }
    int64_t at = mlirIntegerAttrGetValueInt(number);
    uint32_t n = elements_held(j, op, m);
    if (n && (at < 0 || at >= n))
        complain_at(j, loc,
                    "%s: element %lld; an invocation holds elements 0 to %u of %ux%u "
                    "matrices",
                    name, (long long)at, n - 1, m->rows, m->columns);
    *out = (uint32_t)at;
    return at >= 0 && at < n;
}

/* The matrix is the last operand; an insertion has the element before it. */
typedef struct ElementAccess {
    const char *name;
    bool insert;
    MlirValue matrix;
    MlirType type, element, result;
} ElementAccess;

static bool access_fits(HmJob *j, const ElementAccess *a, MlirLocation loc, HmMatrix *m)
{
    const char *type = type_text(j, a->type);
    if (!in_gpu_dialect(j, a->type, m))
        complain_at(j, loc, "%s takes a matrix (!gpu.mma_matrix), not %s", a->name, type);
    else if (has_sign(m))
        complain_at(j, loc, "%s: the gpu dialect cannot take elements out of %s", a->name, type);
    else if (strcmp(m->element, type_text(j, a->element)))
        complain_at(j, loc, "%s: an element of %s is no %s", a->name, type,
                    type_text(j, a->element));
    else if (a->insert && !mlirTypeEqual(a->type, a->result))
        complain_at(j, loc, "%s makes a %s of one, not a %s", a->name, type,
                    type_text(j, a->result));
    else
        return true;
    return false;
}

static bool lower_access(HmJob *j, MlirOperation op, bool insert)
{
    ElementAccess a = { .insert = insert,
                        .name = insert ? "gpu.subgroup_mma_insert" : "gpu.subgroup_mma_extract" };
    HmBuild b = { j, op, mlirOperationGetLocation(op) };
    HmMatrix m;
    uint32_t at;
    if (mlirOperationGetNumOperands(op) != 1 + insert || mlirOperationGetNumResults(op) != 1) {
        complain_at(j, b.loc, "%s takes %s and has one result", a.name,
                    insert ? "an element and a matrix" : "a matrix");
        return false;
    }
    a.matrix = mlirOperationGetOperand(op, insert);
    a.type = mlirValueGetType(a.matrix);
    a.result = mlirValueGetType(mlirOperationGetResult(op, 0));
    a.element = insert ? mlirValueGetType(mlirOperationGetOperand(op, 0)) : a.result;
    if (!access_fits(j, &a, b.loc, &m) || !element_number(j, op, a.name, &m, &at))
        return false;
    MlirValue v = insert ? rotate_insert(&b, a.matrix, mlirOperationGetOperand(op, 0), at)
                         : rotate_extract(&b, a.matrix, a.element, at);
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), v);
    erase(op);
    return true;
}

/* ---- rotations of a value -------------------------------------------------------------------- */

static bool is_i32(MlirType t)
{
    return mlirTypeIsAInteger(t) && mlirIntegerTypeGetWidth(t) == 32 &&
           mlirIntegerTypeIsSignless(t);
}

/* gpu.rotate %v, %offset, %width */
static bool turn_operands_fit(HmJob *j, MlirOperation op)
{
    MlirLocation loc = mlirOperationGetLocation(op);
    if (mlirOperationGetNumOperands(op) != 3 || mlirOperationGetNumResults(op) != 1) {
        complain_at(j, loc, "gpu.rotate takes a value, an offset and a width and has one result");
        return false;
    }
    MlirType t[3], result = mlirValueGetType(mlirOperationGetResult(op, 0));
    for (int i = 0; i < 3; i++)
        t[i] = mlirValueGetType(mlirOperationGetOperand(op, i));
    if ((!mlirTypeIsAInteger(t[0]) && !mlirTypeIsAFloat(t[0])) || !mlirTypeEqual(t[0], result))
        complain_at(j, loc, "gpu.rotate takes and gives a number of one type, not %s and %s",
                    type_text(j, t[0]), type_text(j, result));
    else if (!is_i32(t[1]) || !is_i32(t[2]))
        complain_at(j, loc, "gpu.rotate's offset and width are i32, not %s and %s",
                    type_text(j, t[1]), type_text(j, t[2]));
    else
        return true;
    return false;
}

static bool lower_turn(HmJob *j, MlirOperation op)
{
    if (!turn_operands_fit(j, op))
        return false;
    uint32_t width = subgroup_around(j, op);
    int64_t cluster, known = -1;
    MlirValue delta = mlirOperationGetOperand(op, 1);
    if (!constant_int(mlirOperationGetOperand(op, 2), &cluster) || cluster < 1 || cluster > width ||
        !is_pow2((uint64_t)cluster)) {
        complain_at(j, mlirOperationGetLocation(op),
                    "gpu.rotate's width is a constant power of "
                    "two up to the subgroup's %u invocations (SPIR-V's ClusterSize)",
                    width);
        return false;
    }
    if (constant_int(delta, &known))
        known &= cluster - 1;
    HmBuild b = { j, op, mlirOperationGetLocation(op) };
    MlirValue v = rotate_ops[j->rotation].rotate(&b, mlirOperationGetOperand(op, 0), delta, known,
                                                 width, (uint32_t)cluster);
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), v);
    erase(op);
    return true;
}

bool elements_lower(HmJob *j)
{
    HmOpList ops = ops_named(j, j->module, NULL);
    bool good = true;
    for (uint32_t i = 0; i < ops.len; i++) {
        if (is_op(ops.data[i], EXTRACT) || is_op(ops.data[i], INSERT))
            good &= lower_access(j, ops.data[i], is_op(ops.data[i], INSERT));
        else if (is_op(ops.data[i], TURN))
            good &= lower_turn(j, ops.data[i]);
    }
    return good;
}

/* ---- elementwise operations ------------------------------------------------------------------ */

static const struct {
    const char *kind, *scalar;
} forms[] = {
    { "#gpu<mma_element_wise maxf>", "arith.maximumf" },
    { "#gpu<mma_element_wise minf>", "arith.minimumf" },
    { "#gpu<mma_element_wise muli>", "arith.muli" },
};

/* Element by element, replacing those of the first operand. */
static bool apply_to_elements(HmJob *j, MlirOperation op, const char *scalar)
{
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
    HmMatrix m;
    if (!in_gpu_dialect(j, type, &m) || has_sign(&m))
        return true; /* MLIR's conversion says that it has none */
    uint32_t n = elements_held(j, op, &m);
    HmBuild b = { j, op, mlirOperationGetLocation(op) };
    MlirType element = type_parse(j, "%s", m.element);
    MlirValue x = mlirOperationGetOperand(op, 0), y = mlirOperationGetOperand(op, 1), result = x;
    for (uint32_t i = 0; i < n; i++) {
        MlirValue v = build(&b, scalar, element, NULL, rotate_extract(&b, x, element, i),
                            rotate_extract(&b, y, element, i));
        result = rotate_insert(&b, result, v, i);
    }
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), result);
    erase(op);
    return n;
}

bool elementwise_lower(HmJob *j)
{
    HmOpList ops = ops_named(j, j->module, "gpu.subgroup_mma_elementwise");
    bool good = true;
    for (uint32_t i = 0; i < ops.len; i++) {
        const char *kind = attr_text(j, attr_of(ops.data[i], "opType"));
        for (size_t k = 0; k < COUNT_OF(forms); k++) {
            if (strcmp(kind, forms[k].kind))
                continue;
            good &= apply_to_elements(j, ops.data[i], forms[k].scalar);
            break;
        }
    }
    return good;
}
