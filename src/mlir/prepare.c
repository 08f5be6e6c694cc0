/* SPDX-License-Identifier: MIT
 *
 * Rewrites what MLIR's conversion to SPIR-V does not handle into forms that it does:
 *
 *   - memory spaces of the gpu dialect become SPIR-V's storage classes;
 *   - memory that a kernel declares beside its arguments becomes allocations in it;
 *   - calls are inlined, unstructured control flow becomes structured: passes that know func.func
 *     only, so that kernels are such while these run;
 *   - poison, of which it leaves some, becomes zeros;
 *   - arithmetic of bf16, which SPIR-V has none for, becomes f32's;
 *   - vectors are loaded and stored element by element, by transfers too where these are no more,
 *     since a pointer to a scalar cannot become one to a vector with logical addressing.
 */
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>

#include "mlir/mlir.h"

/* ---- memory spaces --------------------------------------------------------------------------- */

static const struct {
    const char *gpu, *spirv;
} spaces[] = {
    { "#gpu.address_space<workgroup>", "#spirv.storage_class<Workgroup>" },
    { "#gpu.address_space<private>", "#spirv.storage_class<Function>" },
    { "#gpu.address_space<global>", "#spirv.storage_class<StorageBuffer>" },
};

/* The text with SPIR-V's names; NULL where it has none of the gpu dialect's. */
static const char *renamed(HmJob *j, const char *text)
{
    Str out = { 0 };
    const char *done = text;
    for (const char *at = strchr(text, '#'); at; at = strchr(at + 1, '#')) {
        for (size_t i = 0; i < COUNT_OF(spaces); i++) {
            size_t n = strlen(spaces[i].gpu);
            if (strncmp(at, spaces[i].gpu, n))
                continue;
            str_addn(j->arena, &out, done, (size_t)(at - done));
            str_add(j->arena, &out, spaces[i].spirv);
            done = at + n;
        }
    }
    if (done != text)
        str_add(j->arena, &out, done);
    return out.data;
}

static void rename_value(HmJob *j, MlirValue v)
{
    const char *text = renamed(j, type_text(j, mlirValueGetType(v)));
    if (text)
        mlirValueSetType(v, mlirTypeParseGet(j->context, ref(text)));
}

static void rename_spaces(HmJob *j, MlirOperation op)
{
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
        rename_value(j, mlirOperationGetResult(op, i));
    for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); i++) {
        MlirNamedAttribute a = mlirOperationGetAttribute(op, i);
        const char *text = renamed(j, attr_text(j, a.attribute));
        if (text)
            mlirOperationSetAttributeByName(op, mlirIdentifierStr(a.name),
                                            mlirAttributeParseGet(j->context, ref(text)));
    }
    for (intptr_t i = 0; i < mlirOperationGetNumRegions(op); i++) {
        for (MlirBlock b = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
             !mlirBlockIsNull(b); b = mlirBlockGetNextInRegion(b)) {
            for (intptr_t k = 0; k < mlirBlockGetNumArguments(b); k++)
                rename_value(j, mlirBlockGetArgument(b, k));
        }
    }
}

/* ---- memory that kernels declare ------------------------------------------------------------- */

/* A kernel's block has arguments beyond its function's for memory of the workgroup, then for its
 * own. */
static void allocate(HmJob *j, MlirOperation kernel)
{
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
    MlirType type = mlirTypeAttrGetValue(attr_of(kernel, "function_type"));
    intptr_t inputs = mlirFunctionTypeGetNumInputs(type);
    MlirAttribute shared = attr_of(kernel, "workgroup_attributions");
    intptr_t n_shared = mlirAttributeIsNull(shared) ? 0 : mlirIntegerAttrGetValueInt(shared);
    HmBuild b = { j, mlirBlockGetFirstOperation(block), mlirOperationGetLocation(kernel) };
    for (intptr_t i = inputs; i < mlirBlockGetNumArguments(block); i++) {
        MlirValue old = mlirBlockGetArgument(block, i);
        const char *name = i < inputs + n_shared ? "memref.alloc" : "memref.alloca";
        MlirValue memory = build_n(&b, name, mlirValueGetType(old),
                                   "{operandSegmentSizes = array<i32: 0, 0>}", 0, NULL);
        mlirValueReplaceAllUsesOfWith(old, memory);
    }
    while (mlirBlockGetNumArguments(block) > inputs)
        mlirBlockEraseArgument(block, (unsigned)mlirBlockGetNumArguments(block) - 1);
    mlirOperationRemoveAttributeByName(kernel, ref("workgroup_attributions"));
}

/* ---- kernels as functions -------------------------------------------------------------------- */

static void change_returns(HmJob *j, MlirOperation function, const char *from, const char *to)
{
    HmOpList returns = ops_named(j, function, from);
    for (uint32_t i = 0; i < returns.len; i++) {
        HmBuild b = { j, returns.data[i], mlirOperationGetLocation(returns.data[i]) };
        build_n(&b, to, (MlirType){ NULL }, NULL, 0, NULL);
        erase(returns.data[i]);
    }
}

/* A func.func with the kernel's body in the kernel's place; the kernel is left outside. */
static MlirOperation to_function(HmJob *j, MlirOperation kernel)
{
    const char *text = arena_printf(j->arena, "{sym_name = %s, function_type = %s}",
                                    attr_text(j, attr_of(kernel, "sym_name")),
                                    attr_text(j, attr_of(kernel, "function_type")));
    MlirAttribute all = mlirAttributeParseGet(j->context, ref(text));
    MlirOperationState s =
        mlirOperationStateGet(ref("func.func"), mlirOperationGetLocation(kernel));
    MlirRegion region = mlirRegionCreate();
    mlirOperationStateAddOwnedRegions(&s, 1, &region);
    for (intptr_t i = 0; i < mlirDictionaryAttrGetNumElements(all); i++) {
        MlirNamedAttribute a = mlirDictionaryAttrGetElement(all, i);
        mlirOperationStateAddAttributes(&s, 1, &a);
    }
    MlirOperation function = mlirOperationCreate(&s);
    mlirRegionTakeBody(mlirOperationGetRegion(function, 0), mlirOperationGetRegion(kernel, 0));
    mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(kernel), kernel, function);
    mlirOperationRemoveFromParent(kernel);
    change_returns(j, function, "gpu.return", "func.return");
    return function;
}

static void to_kernel(HmJob *j, MlirOperation function, MlirOperation kernel)
{
    change_returns(j, function, "func.return", "gpu.return");
    mlirRegionTakeBody(mlirOperationGetRegion(kernel, 0), mlirOperationGetRegion(function, 0));
    mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(function), function, kernel);
    erase(function);
}

static bool is_kernel(MlirOperation op)
{
    return is_op(op, "gpu.func") && !mlirAttributeIsNull(attr_of(op, "gpu.kernel"));
}

static MlirOperation function_named(HmJob *j, MlirAttribute name)
{
    HmOpList functions = ops_named(j, j->module, "func.func");
    for (uint32_t i = 0; i < functions.len; i++) {
        if (mlirAttributeEqual(attr_of(functions.data[i], "sym_name"), name))
            return functions.data[i];
    }
    return (MlirOperation){ NULL };
}

static bool run_as_functions(HmJob *j, const char *pipeline)
{
    HmOpList all = ops_named(j, j->module, "gpu.func"), kernels = { 0 };
    for (uint32_t i = 0; i < all.len; i++) {
        if (!is_kernel(all.data[i]))
            continue;
        to_function(j, all.data[i]);
        vec_push(j->arena, &kernels, all.data[i]);
    }
    bool good = run_passes(j, j->module, pipeline);
    for (uint32_t i = 0; i < kernels.len; i++)
        to_kernel(j, function_named(j, attr_of(kernels.data[i], "sym_name")), kernels.data[i]);
    return good;
}

static bool run_as_kernels(HmJob *j, const char *pipeline)
{
    return run_passes(j, j->module, pipeline);
}

/* Functions that nothing calls any more. */
static void erase_functions(HmJob *j)
{
    HmOpList functions = ops_named(j, j->module, "func.func");
    for (uint32_t i = 0; i < functions.len && !ops_named(j, j->module, "func.call").len; i++)
        erase(functions.data[i]);
}

/* Values that structured control flow needs where there were none; any value is fine. */
static void define_poison(HmJob *j)
{
    HmOpList ops = ops_named(j, j->module, "ub.poison");
    for (uint32_t i = 0; i < ops.len; i++) {
        HmBuild b = { j, ops.data[i], mlirOperationGetLocation(ops.data[i]) };
        MlirValue poison = mlirOperationGetResult(ops.data[i], 0);
        MlirValue v = any_value(&b, mlirValueGetType(poison));
        if (!v.ptr)
            continue;
        mlirValueReplaceAllUsesOfWith(poison, v);
        erase(ops.data[i]);
    }
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* One element of a vector of one dimension, by the indices of the first. */
static MlirValue access_element(HmBuild *b, MlirOperation op, const char *access, MlirValue stored,
                                MlirType type, int64_t i)
{
    MlirType index = type_parse(b->job, "index");
    intptr_t skip = stored.ptr != NULL, n = mlirOperationGetNumOperands(op);
    MlirValue *operands = NEW_ARRAY(b->job->arena, MlirValue, n);
    for (intptr_t k = 0; k < n; k++)
        operands[k] = mlirOperationGetOperand(op, k);
    const char *text = arena_printf(b->job->arena, "{value = %lld : index}", (long long)i);
    MlirValue c = build_n(b, "arith.constant", index, text, 0, NULL);
    operands[n - 1] = build(b, "arith.addi", index, NULL, operands[n - 1], c);
    if (skip) {
        text = arena_printf(b->job->arena, "{static_position = array<i64: %lld>}", (long long)i);
        operands[0] = build_n(b, "vector.extract", type, text, 1, &stored);
    }
    return build_n(b, access, skip ? (MlirType){ NULL } : type, NULL, (uint32_t)n, operands);
}

static void split_access(HmJob *j, MlirOperation op)
{
    bool load = is_op(op, "vector.load");
    MlirValue stored = load ? (MlirValue){ NULL } : mlirOperationGetOperand(op, 0);
    MlirType memory = mlirValueGetType(mlirOperationGetOperand(op, !load));
    MlirType vector = mlirValueGetType(load ? mlirOperationGetResult(op, 0) : stored);
    if (mlirShapedTypeGetRank(vector) != 1 || mlirShapedTypeGetRank(memory) < 1 ||
        mlirVectorTypeIsScalable(vector) || mlirTypeIsAVector(mlirShapedTypeGetElementType(memory)))
        return;
    HmBuild b = { j, op, mlirOperationGetLocation(op) };
    int64_t n = mlirShapedTypeGetDimSize(vector, 0);
    MlirValue *parts = NEW_ARRAY(j->arena, MlirValue, n);
    for (int64_t i = 0; i < n; i++)
        parts[i] = access_element(&b, op, load ? "memref.load" : "memref.store", stored,
                                  mlirShapedTypeGetElementType(vector), i);
    if (load)
        mlirValueReplaceAllUsesOfWith(
            mlirOperationGetResult(op, 0),
            build_n(&b, "vector.from_elements", vector, NULL, (uint32_t)n, parts));
    erase(op);
}

/* A transfer that is a load or a store: one dimension, the memref's last, in bounds, no mask. */
static void simplify_transfer(HmJob *j, MlirOperation op)
{
    bool read = is_op(op, "vector.transfer_read");
    MlirValue memory = mlirOperationGetOperand(op, !read);
    MlirType vector =
        mlirValueGetType(read ? mlirOperationGetResult(op, 0) : mlirOperationGetOperand(op, 0));
    if (!mlirTypeIsAMemRef(mlirValueGetType(memory)))
        return;
    uint32_t rank = (uint32_t)mlirShapedTypeGetRank(mlirValueGetType(memory));
    Str map = { 0 };
    for (uint32_t i = 0; i < rank; i++)
        str_printf(j->arena, &map, "%sd%u", i ? ", " : "affine_map<(", i);
    str_printf(j->arena, &map, ") -> (d%u)>", rank - 1);
    if (!rank || mlirOperationGetNumOperands(op) != rank + 2 ||
        strcmp(attr_text(j, attr_of(op, "in_bounds")), "[true]") ||
        strcmp(attr_text(j, attr_of(op, "permutation_map")), map.data))
        return;
    MlirValue *operands = NEW_ARRAY(j->arena, MlirValue, rank + 2);
    for (uint32_t i = 0; i < rank + 2; i++)
        operands[i] = mlirOperationGetOperand(op, i);
    HmBuild b = { j, op, mlirOperationGetLocation(op) };
    MlirValue v =
        build_n(&b, read ? "vector.load" : "vector.store", read ? vector : (MlirType){ NULL }, NULL,
                rank + (read ? 1 : 2), operands);
    if (read)
        mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), v);
    erase(op);
}

/* Passes, and what they are for: a module that has none of it stays as it is. */
static const struct {
    const char *start; /* of operations' names */
    bool functions;    /* the pass sees kernels as functions */
    const char *pipeline;
} steps[] = {
    { "func.call", true, "builtin.module(gpu.module(inline))" },
    { "cf.", true, "builtin.module(gpu.module(func.func(lift-cf-to-scf)))" },
    { "affine.", false, "builtin.module(gpu.module(lower-affine))" },
    { "memref.subview", false, "builtin.module(gpu.module(fold-memref-alias-ops))" },
    { "memref.expand_shape", false, "builtin.module(gpu.module(fold-memref-alias-ops))" },
    { "memref.collapse_shape", false, "builtin.module(gpu.module(fold-memref-alias-ops))" },
    { "arith.", false,
      "builtin.module(gpu.module(arith-emulate-unsupported-floats{"
      "source-types=bf16 target-type=f32}))" },
    { "math.", false,
      "builtin.module(gpu.module(math-extend-to-supported-types{"
      "extra-types=f16 target-type=f32},convert-math-to-spirv))" },
};

static bool has_operations(HmJob *j, const char *start)
{
    HmOpList ops = ops_named(j, j->module, NULL);
    for (uint32_t i = 0; i < ops.len; i++) {
        if (!strncmp(op_name(j, ops.data[i]), start, strlen(start)))
            return true;
    }
    return false;
}

bool prepare_for_conversion(HmJob *j)
{
    if (!arguments_verify(j))
        return false;
    HmOpList ops = ops_named(j, j->module, NULL);
    for (uint32_t i = 0; i < ops.len; i++)
        rename_spaces(j, ops.data[i]);
    for (uint32_t i = 0; i < ops.len; i++) {
        if (is_kernel(ops.data[i]))
            allocate(j, ops.data[i]);
    }
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        bool (*run)(HmJob *, const char *) = steps[i].functions ? run_as_functions : run_as_kernels;
        if (has_operations(j, steps[i].start) && !run(j, steps[i].pipeline))
            return false;
    }
    erase_functions(j);
    define_poison(j);
    if (!elementwise_lower(j) || !reduce_lower(j))
        return false;
    ops = ops_named(j, j->module, NULL);
    for (uint32_t i = 0; i < ops.len; i++) {
        if (is_op(ops.data[i], "vector.transfer_read") ||
            is_op(ops.data[i], "vector.transfer_write"))
            simplify_transfer(j, ops.data[i]);
    }
    ops = ops_named(j, j->module, NULL);
    for (uint32_t i = 0; i < ops.len; i++) {
        if (is_op(ops.data[i], "vector.load") || is_op(ops.data[i], "vector.store"))
            split_access(j, ops.data[i]);
    }
    return true;
}
