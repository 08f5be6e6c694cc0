/* SPDX-License-Identifier: MIT
 *
 * MLIR's C API in a form that suits the rest of the program: types and attributes as text, lists of
 * operations, building before an operation.
 */
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Pass.h>
#include <stdio.h>
#include <stdlib.h>

#include "mlir/mlir.h"

void text_add(MlirStringRef s, void *text)
{
    HmText *t = text;
    str_addn(t->arena, &t->str, s.data, s.length);
}

const char *type_text(HmJob *j, MlirType type)
{
    HmText t = { .arena = j->arena };
    mlirTypePrint(type, text_add, &t);
    return t.str.data ? t.str.data : "";
}

const char *attr_text(HmJob *j, MlirAttribute a)
{
    HmText t = { .arena = j->arena };
    if (!mlirAttributeIsNull(a))
        mlirAttributePrint(a, text_add, &t);
    return t.str.data ? t.str.data : "";
}

MlirAttribute attr_parse(HmJob *j, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char text[4096];
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return mlirAttributeParseGet(j->context, ref(text));
}

MlirType type_parse(HmJob *j, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char text[256];
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return mlirTypeParseGet(j->context, ref(text));
}

MlirAttribute attr_of(MlirOperation op, const char *name)
{
    return mlirOperationGetAttributeByName(op, ref(name));
}

bool is_op(MlirOperation op, const char *name)
{
    return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)), ref(name));
}

const char *op_name(HmJob *j, MlirOperation op)
{
    MlirStringRef s = mlirIdentifierStr(mlirOperationGetName(op));
    return arena_strndup(j->arena, s.data, s.length);
}

typedef struct OpSearch {
    HmJob *job;
    const char *name;
    HmOpList found;
} OpSearch;

static MlirWalkResult visit_op(MlirOperation op, void *user)
{
    OpSearch *s = user;
    if (!s->name || is_op(op, s->name))
        vec_push(s->job->arena, &s->found, op);
    return MlirWalkResultAdvance;
}

HmOpList ops_named(HmJob *j, MlirOperation root, const char *name)
{
    OpSearch s = { .job = j, .name = name };
    mlirOperationWalk(root, visit_op, &s, MlirWalkPreOrder);
    return s.found;
}

MlirOperation definition(MlirValue v)
{
    return mlirValueIsAOpResult(v) ? mlirOpResultGetOwner(v) : (MlirOperation){ NULL };
}

bool constant_int(MlirValue v, int64_t *out)
{
    MlirOperation op = definition(v);
    if (mlirOperationIsNull(op) || !(is_op(op, "arith.constant") || is_op(op, "spirv.Constant")))
        return false;
    MlirAttribute value = attr_of(op, "value");
    if (mlirAttributeIsNull(value) || !mlirAttributeIsAInteger(value))
        return false;
    *out = mlirIntegerAttrGetValueInt(value);
    return true;
}

MlirAttribute attr_around(MlirOperation op, const char *name)
{
    MlirAttribute a = { NULL };
    for (; !mlirOperationIsNull(op) && mlirAttributeIsNull(a);
         op = mlirOperationGetParentOperation(op))
        a = attr_of(op, name);
    return a;
}

static uint32_t subgroup_of(HmJob *j, MlirAttribute abi)
{
    const char *at = strstr(attr_text(j, abi), "subgroup_size = ");
    uint32_t size;
    return at && sscanf(at, "subgroup_size = %u", &size) == 1 && size ? size : j->subgroup_size;
}

uint32_t subgroup_around(HmJob *j, MlirOperation op)
{
    MlirAttribute around = attr_around(op, "spirv.entry_point_abi");
    if (!mlirAttributeIsNull(around))
        return subgroup_of(j, around);
    HmOpList ops = ops_named(j, j->module, NULL);
    uint32_t all = 0;
    for (uint32_t i = 0; i < ops.len; i++) {
        MlirAttribute abi = attr_of(ops.data[i], "spirv.entry_point_abi");
        uint32_t size = mlirAttributeIsNull(abi) ? 0 : subgroup_of(j, abi);
        if (size && all && size != all)
            return 0;
        all = size ? size : all;
    }
    return all ? all : j->subgroup_size;
}

/* heddle's own limit, which its check of SPIR-V has too. */
enum { MAX_WORKGROUP = 16384 };

uint32_t workgroup_around(HmJob *j, MlirOperation op)
{
    static const char start[] = "workgroup_size = [";
    const char *at = strstr(attr_text(j, attr_around(op, "spirv.entry_point_abi")), start);
    uint64_t n = 1;
    at = at ? at + sizeof start - 1 : "";
    while (n && n <= MAX_WORKGROUP && (*at == '-' || (*at >= '0' && *at <= '9'))) {
        char *end;
        long long size = strtoll(at, &end, 10);
        n = size > 0 && size <= MAX_WORKGROUP ? n * (uint64_t)size : 0;
        at = end + (*end == ',' ? 2 : 0);
    }
    return *at == ']' && n <= MAX_WORKGROUP ? (uint32_t)n : 0;
}

MlirValue build_op(HmBuild *b, const HmNewOp *o)
{
    MlirOperationState s = mlirOperationStateGet(ref(o->name), b->loc);
    mlirOperationStateAddOperands(&s, o->n, o->operands);
    mlirOperationStateAddResults(&s, o->n_results, o->results);
    MlirAttribute all =
        o->attributes ? attr_parse(b->job, "%s", o->attributes) : (MlirAttribute){ NULL };
    for (intptr_t i = 0; o->attributes && i < mlirDictionaryAttrGetNumElements(all); i++) {
        MlirNamedAttribute a = mlirDictionaryAttrGetElement(all, i);
        mlirOperationStateAddAttributes(&s, 1, &a);
    }
    MlirOperation op = mlirOperationCreate(&s);
    mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(b->before), b->before, op);
    return o->n_results ? mlirOperationGetResult(op, 0) : (MlirValue){ NULL };
}

MlirValue build_n(HmBuild *b, const char *name, MlirType result, const char *attributes, uint32_t n,
                  const MlirValue *operands)
{
    return build_op(b,
                    &(HmNewOp){ name, &result, !mlirTypeIsNull(result), attributes, operands, n });
}

MlirValue any_value(HmBuild *b, MlirType type)
{
    const char *t = type_text(b->job, type);
    HmMatrix m;
    if (matrix_of(b->job, type, &m))
        return rotate_zero(b, type, &m);
    bool vector = mlirTypeIsAVector(type);
    MlirType element = vector ? mlirShapedTypeGetElementType(type) : type;
    const char *zero = mlirTypeIsAFloat(element) ? "0.0" : "0";
    if (!mlirTypeIsAFloat(element) && !mlirTypeIsAInteger(element) && !mlirTypeIsAIndex(element))
        return (MlirValue){ NULL };
    const char *attributes = arena_printf(
        b->job->arena, vector ? "{value = dense<%s> : %s}" : "{value = %s : %s}", zero, t);
    return build_n(b, "arith.constant", type, attributes, 0, NULL);
}

void erase(MlirOperation op)
{
    mlirOperationRemoveFromParent(op);
    mlirOperationDestroy(op);
}

bool run_passes(HmJob *j, MlirOperation module, const char *pipeline)
{
    MlirPassManager m = mlirPassManagerCreate(j->context);
    HmText said = { .arena = j->arena };
    MlirLogicalResult r =
        mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(m), ref(pipeline), text_add, &said);
    if (mlirLogicalResultIsFailure(r))
        complain_at(j, mlirOperationGetLocation(module), "%s: %s", pipeline, said.str.data);
    else
        r = mlirPassManagerRunOnOp(m, module);
    mlirPassManagerDestroy(m);
    return mlirLogicalResultIsSuccess(r);
}

bool matrix_of(HmJob *j, MlirType t, HmMatrix *out)
{
    const char *text = type_text(j, t);
    if (sscanf(text, "!gpu.mma_matrix<%ux%ux%7[a-z0-9], \"%15[A-Z]p\">", &out->rows, &out->columns,
               out->element, out->use) == 4) {
        strcat(out->use, "p");
        return true;
    }
    return sscanf(text, "!spirv.coopmatrix<%ux%ux%7[a-z0-9], %*[A-Za-z], %15[A-Za-z]>", &out->rows,
                  &out->columns, out->element, out->use) == 4;
}
