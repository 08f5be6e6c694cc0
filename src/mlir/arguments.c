/* SPDX-License-Identifier: MIT
 *
 * Checks a kernel's arguments, which may be numbers, and memrefs of numbers, which are buffers. If
 * MLIR's conversion has no SPIR-V for an argument it names only the kernel, and it accepts some
 * that no shader can have: tensors, matrices, workgroup memory.
 */
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>

#include "mlir/mlir.h"

static bool is_number(MlirType t, unsigned least_bits)
{
    if (mlirTypeIsAIndex(t))
        return true;
    if (!mlirTypeIsAFloat(t) && !mlirTypeIsAInteger(t))
        return false;
    unsigned bits = mlirTypeIsAFloat(t) ? mlirFloatTypeGetWidth(t) : mlirIntegerTypeGetWidth(t);
    return is_pow2(bits) && bits >= (mlirTypeIsAFloat(t) ? 8 : least_bits) && bits <= 64;
}

/* Complex ones are vectors of two. */
static bool is_element(MlirType t)
{
    if (mlirTypeIsAComplex(t))
        return is_number(mlirComplexTypeGetElementType(t), 8);
    if (mlirTypeIsAVector(t) && !mlirVectorTypeIsScalable(t))
        return mlirShapedTypeGetRank(t) == 1 && mlirShapedTypeGetDimSize(t, 0) <= 4 &&
               is_number(mlirShapedTypeGetElementType(t), 8);
    return is_number(t, 1);
}

const char *layout_fault(MlirType memref)
{
    enum { MAX_RANK = 32 };
    int64_t strides[MAX_RANK], offset, rank = mlirShapedTypeGetRank(memref);
    if (rank > MAX_RANK ||
        mlirLogicalResultIsFailure(mlirMemRefTypeGetStridesAndOffset(memref, strides, &offset)))
        return "MLIR finds no strides in its layout";
    bool known = !mlirShapedTypeIsDynamicStrideOrOffset(offset);
    for (int64_t i = 0; i < rank; i++)
        known &= !mlirShapedTypeIsDynamicStrideOrOffset(strides[i]);
    return known ? NULL
                 : "its strides and offset are known only as the kernel runs; of sizes the "
                   "outermost alone may be '?'";
}

/* Of a shader's; OpenCL's kernels may have pointers to any. */
static const char *space_fault(HmJob *j, MlirType memref)
{
    static const char *const buffers[] = { "",
                                           "0 : i64",
                                           "4 : i64",
                                           "#gpu.address_space<global>",
                                           "#spirv.storage_class<StorageBuffer>",
                                           "#spirv.storage_class<Uniform>" };
    const char *space = attr_text(j, mlirMemRefTypeGetMemorySpace(memref));
    for (size_t i = 0; i < COUNT_OF(buffers); i++) {
        if (!strcmp(space, buffers[i]))
            return NULL;
    }
    return "arguments are buffers; a kernel declares other memory beside them, such as "
           "workgroup(%w: memref<...>)";
}

static const char *memref_fault(HmJob *j, MlirType t, bool opencl)
{
    if (!is_element(mlirShapedTypeGetElementType(t)))
        return "a buffer consists of numbers of up to 64 bits, or of vectors of up to four";
    for (int64_t i = 0; i < mlirShapedTypeGetRank(t); i++) {
        if (mlirShapedTypeGetDimSize(t, i) == 0)
            return "a buffer has at least one element";
    }
    const char *layout = layout_fault(t);
    return layout || opencl ? layout : space_fault(j, t);
}

static const char *fault_of(HmJob *j, MlirType t, bool opencl)
{
    if (mlirTypeIsAMemRef(t))
        return memref_fault(j, t, opencl);
    return is_number(t, 2) || (opencl && is_element(t))
               ? NULL
               : "a kernel takes numbers of 2 to 64 bits, and memrefs of known rank";
}

static bool verify(HmJob *j, MlirOperation kernel)
{
    MlirBlock entry = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
    MlirType type = mlirTypeAttrGetValue(attr_of(kernel, "function_type"));
    const char *name = attr_text(j, attr_of(kernel, "sym_name"));
    bool opencl = strstr(attr_text(j, attr_around(kernel, "spirv.target_env")), "Kernel");
    bool good = true;
    for (intptr_t i = 0; i < mlirFunctionTypeGetNumInputs(type); i++) {
        MlirType t = mlirFunctionTypeGetInput(type, i);
        const char *fault = fault_of(j, t, opencl);
        if (fault)
            complain_at(j, mlirValueGetLocation(mlirBlockGetArgument(entry, i)),
                        "argument %d of %s is %s: %s", (int)i, name, type_text(j, t), fault);
        good &= !fault;
    }
    return good;
}

bool arguments_verify(HmJob *j)
{
    HmOpList ops = ops_named(j, j->module, "gpu.func");
    bool good = true;
    for (uint32_t i = 0; i < ops.len; i++) {
        if (!mlirAttributeIsNull(attr_of(ops.data[i], "gpu.kernel")))
            good &= verify(j, ops.data[i]);
    }
    return good;
}
