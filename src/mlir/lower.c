/* SPDX-License-Identifier: MIT
 *
 * From the gpu dialect to a SPIR-V binary with MLIR's passes, after filling in what they require: a
 * target with everything that heddle runs, and an interface for each kernel. Operations that MLIR
 * does not convert are found one by one: after each failure the operation is removed and the
 * conversion tried again.
 */
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Dialect/GPU.h>
#include <stdio.h>

#include "mlir/mlir.h"

/* Of zeros in the place of an operation that MLIR does not convert. */
#define STANDS "heddle.stands"

/* The part of MLIR's SPIR-V dialect that heddle's devices run. */
static const char target[] =
    "#spirv.target_env<#spirv.vce<v1.6, [Shader, Int8, Int16, Int64, Float16, Float64, "
    "StorageBuffer8BitAccess, UniformAndStorageBuffer8BitAccess, StorageBuffer16BitAccess, "
    "StorageUniform16, GroupNonUniform, GroupNonUniformVote, GroupNonUniformArithmetic, "
    "GroupNonUniformBallot, GroupNonUniformShuffle, GroupNonUniformShuffleRelative, "
    "GroupNonUniformClustered, GroupNonUniformQuad, GroupNonUniformRotateKHR, "
    "CooperativeMatrixKHR, VulkanMemoryModel, VulkanMemoryModelDeviceScope, Int64Atomics, "
    "AtomicFloat32AddEXT, AtomicFloat64AddEXT, AtomicFloat16AddEXT, VariablePointers, "
    "VariablePointersStorageBuffer, BFloat16TypeKHR, DotProduct, DotProductInputAll, "
    "DotProductInput4x8Bit, DotProductInput4x8BitPacked], [SPV_KHR_cooperative_matrix, "
    "SPV_KHR_storage_buffer_storage_class, SPV_KHR_8bit_storage, SPV_KHR_16bit_storage, "
    "SPV_KHR_subgroup_rotate, SPV_KHR_vulkan_memory_model, SPV_KHR_variable_pointers, "
    "SPV_EXT_shader_atomic_float_add, SPV_EXT_shader_atomic_float16_add, "
    "SPV_KHR_bfloat16, SPV_KHR_integer_dot_product, SPV_KHR_non_semantic_info]>, api=Vulkan, "
    "#spirv.resource_limits<max_compute_workgroup_size = [1024, 1024, 1024], "
    "max_compute_workgroup_invocations = 1024, subgroup_size = %u>>";

static MlirBlock module_body(MlirOperation module)
{
    return mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
}

static void set_attr(MlirOperation op, const char *name, MlirAttribute a)
{
    mlirOperationSetAttributeByName(op, ref(name), a);
}

/* ---- before: kernels alone, with all that MLIR asks of them ---------------------------------- */

/* Host code refers to kernels, so the last operation is erased first. */
static void erase_host(HmJob *j)
{
    HmOpList ops = { 0 };
    for (MlirOperation o = mlirBlockGetFirstOperation(module_body(j->module));
         !mlirOperationIsNull(o); o = mlirOperationGetNextInBlock(o)) {
        if (!is_op(o, "gpu.module") && !is_op(o, "spirv.module"))
            vec_push(j->arena, &ops, o);
    }
    while (ops.len)
        erase(ops.data[--ops.len]);
}

/* The target may be an attribute of its own, or the first that is one for SPIR-V of a list. */
static MlirAttribute target_of(HmJob *j, MlirOperation module)
{
    MlirAttribute a = attr_around(module, "spirv.target_env"), list = attr_of(module, "targets");
    intptr_t n = mlirAttributeIsNull(list) ? 0 : mlirArrayAttrGetNumElements(list);
    for (intptr_t i = 0; i < n && mlirAttributeIsNull(a); i++) {
        MlirAttribute t = mlirArrayAttrGetElement(list, i);
        if (!strncmp(attr_text(j, t), "#spirv.target_env", 17))
            a = t;
    }
    return a;
}

/* All kernels of a file are one SPIR-V module. */
static bool merge(HmJob *j, MlirOperation into, MlirOperation from)
{
    MlirBlock block = module_body(into);
    if (!mlirAttributeEqual(target_of(j, into), target_of(j, from))) {
        complain_at(j, mlirOperationGetLocation(from), "two gpu.modules have different targets");
        return false;
    }
    for (MlirOperation o = mlirBlockGetFirstOperation(module_body(from)), next;
         !mlirOperationIsNull(o); o = next) {
        next = mlirOperationGetNextInBlock(o);
        const char *name = attr_text(j, attr_of(o, "sym_name"));
        for (MlirOperation p = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(p);
             p = mlirOperationGetNextInBlock(p)) {
            if (!strcmp(name, attr_text(j, attr_of(p, "sym_name")))) {
                complain_at(j, mlirOperationGetLocation(o), "two gpu.modules define %s", name);
                return false;
            }
        }
        mlirOperationRemoveFromParent(o);
        mlirBlockAppendOwnedOperation(block, o);
    }
    erase(from);
    return true;
}

/* Both sizes, where the interface does not name them. */
static bool complete_kernel(HmJob *j, MlirOperation kernel)
{
    const char *given = attr_text(j, attr_of(kernel, "spirv.entry_point_abi"));
    const char *parts = strchr(given, '<'), *known;
    uint32_t width = parts ? subgroup_around(j, kernel) : j->subgroup_size;
    int size[3] = { (int)width, 1, 1 };
    if (j->local_size[0])
        memcpy(size, j->local_size, sizeof size);
    known = attr_text(j, attr_of(kernel, "known_block_size"));
    if (!*known) /* what it was called before it became the operation's own */
        known = attr_text(j, attr_of(kernel, "gpu.known_block_size"));
    sscanf(known, "array<i32: %d, %d, %d>", &size[0], &size[1], &size[2]);
    if (!strstr(given, "subgroup_size"))
        parts = arena_printf(j->arena, "<subgroup_size = %u>", width);
    if (!strstr(given, "workgroup_size"))
        set_attr(kernel, "spirv.entry_point_abi",
                 attr_parse(j, "#spirv.entry_point_abi<workgroup_size = [%d, %d, %d], %s", size[0],
                            size[1], size[2], parts + 1));
    if (workgroup_around(j, kernel))
        return true;
    complain_at(j, mlirOperationGetLocation(kernel), "%s: a workgroup has 1 to 16384 invocations",
                *known ? known : given);
    return false;
}

/* Tells what subgroups the function was made for. */
static void tell_subgroup(HmJob *j, MlirOperation kernel)
{
    const char *name = attr_text(j, attr_of(kernel, "sym_name"));
    message_figure("subgroup", arena_strndup(j->arena, name + 1, strlen(name) - 2),
                   subgroup_around(j, kernel), 0);
}

/* How many there are; 0 after reporting. */
static uint32_t complete_kernels(HmJob *j, MlirOperation module)
{
    HmOpList ops = ops_named(j, module, NULL);
    uint32_t kernels = 0, width = j->subgroup_size;
    for (uint32_t i = 0; i < ops.len; i++) {
        MlirOperation op = ops.data[i];
        bool open = is_op(op, "gpu.func") && !mlirAttributeIsNull(attr_of(op, "gpu.kernel"));
        if (open && !complete_kernel(j, op))
            return 0;
        if (!mlirAttributeIsNull(attr_of(op, "spirv.entry_point_abi")))
            tell_subgroup(j, op);
        if ((open || is_op(op, "spirv.EntryPoint")) && !kernels++)
            width = subgroup_around(j, op);
    }
    MlirAttribute given = target_of(j, module);
    set_attr(module, "spirv.target_env",
             mlirAttributeIsNull(given) ? attr_parse(j, target, width) : given);
    if (!kernels)
        complain_at(j, mlirOperationGetLocation(module), "no function of the module is a kernel");
    return kernels;
}

bool lower_prepare(HmJob *j)
{
    if (ops_named(j, j->module, "gpu.launch").len &&
        !run_passes(j, j->module,
                    "builtin.module(gpu-launch-sink-index-computations,gpu-kernel-outlining)"))
        return false;
    erase_host(j);
    HmOpList gpu = ops_named(j, j->module, "gpu.module");
    HmOpList spirv = ops_named(j, j->module, "spirv.module");
    MlirLocation loc = mlirOperationGetLocation(j->module);
    for (uint32_t i = 1; i < gpu.len; i++) {
        if (!merge(j, gpu.data[0], gpu.data[i]))
            return false;
    }
    if (spirv.len > 1 || (spirv.len && gpu.len)) {
        complain_at(j, mlirOperationGetLocation(spirv.data[spirv.len - 1]),
                    "a spirv.module beside other modules of kernels: a file makes one SPIR-V "
                    "module");
        return false;
    }
    if (!gpu.len && !spirv.len) {
        complain_at(j, loc, "there is neither a gpu.module nor a spirv.module, so no kernel");
        return false;
    }
    MlirOperation module = gpu.len ? gpu.data[0] : spirv.data[0];
    return complete_kernels(j, module);
}

/* ---- what MLIR does not convert -------------------------------------------------------------- */

/* The operation that the held message names, if one: of several with that position one that stands
 * for another, or the first. */
static MlirOperation held_operation(HmJob *j, const char *name)
{
    HmOpList ops = ops_named(j, j->module, name);
    MlirOperation found = { NULL };
    for (uint32_t i = 0; i < ops.len; i++) {
        bool stands = !mlirAttributeIsNull(attr_of(ops.data[i], STANDS));
        if (mlirLocationEqual(mlirOperationGetLocation(ops.data[i]), j->held_at) &&
            (stands || !found.ptr))
            found = ops.data[i];
    }
    return found;
}

/* Out of the module; zeros with the mark stand for its results. */
static bool take_out(HmJob *j, MlirOperation op)
{
    if (mlirOperationIsNull(op) || is_op(op, "gpu.func") ||
        mlirOperationIsNull(mlirOperationGetNextInBlock(op)))
        return false;
    HmBuild b = { j, op, mlirOperationGetLocation(op) };
    for (intptr_t k = 0; k < mlirOperationGetNumResults(op); k++) {
        MlirValue old = mlirOperationGetResult(op, k);
        MlirValue v = any_value(&b, mlirValueGetType(old));
        if (!v.ptr)
            return false;
        set_attr(definition(v), STANDS, mlirUnitAttrGet(j->context));
        mlirValueReplaceAllUsesOfWith(old, v);
    }
    erase(op);
    return true;
}

/* Removes zeros of types that SPIR-V does not have, and all operations on them. */
static bool take_out_users(HmJob *j, MlirOperation zeros)
{
    MlirValue v = mlirOperationGetResult(zeros, 0);
    for (MlirOpOperand use = mlirValueGetFirstUse(v); !mlirOpOperandIsNull(use);
         use = mlirValueGetFirstUse(v)) {
        if (!take_out(j, mlirOpOperandGetOwner(use)))
            return false;
    }
    erase(zeros);
    return true;
}

static const char *value_fault(HmJob *j, MlirValue v)
{
    MlirType t = mlirValueGetType(v);
    const char *fault = mlirTypeIsAMemRef(t) ? layout_fault(t) : NULL;
    return fault ? arena_printf(j->arena, ": %s: %s", type_text(j, t), fault) : NULL;
}

/* A known reason for MLIR's failure, or "". */
static const char *fault_of(HmJob *j, MlirOperation op)
{
    const char *fault = NULL;
    for (intptr_t i = 0; !fault && i < mlirOperationGetNumOperands(op); i++)
        fault = value_fault(j, mlirOperationGetOperand(op, i));
    for (intptr_t i = 0; !fault && i < mlirOperationGetNumResults(op); i++)
        fault = value_fault(j, mlirOperationGetResult(op, i));
    return fault ? fault : "";
}

/* Reports the held message; whether it makes sense to look for more. */
static bool explain(HmJob *j)
{
    static const char start[] = "failed to legalize operation '";
    const char *name =
        j->held && !strncmp(j->held, start, sizeof start - 1) ? j->held + sizeof start - 1 : NULL;
    if (!name) {
        complain_at(j, j->held ? j->held_at : mlirOperationGetLocation(j->module), "%s",
                    j->held ? j->held : "MLIR's conversion to SPIR-V failed");
        return false;
    }
    name = arena_strndup(j->arena, name, strcspn(name, "'"));
    MlirOperation op = held_operation(j, name);
    if (op.ptr && !mlirAttributeIsNull(attr_of(op, STANDS)))
        return take_out_users(j, op);
    complain_at(j, j->held_at, "MLIR has no conversion of this %s to SPIR-V%s", name,
                op.ptr ? fault_of(j, op) : "");
    return take_out(j, op);
}

/* Like run_passes, on a copy that takes the module's place when all of it was converted. */
static bool convert_module(HmJob *j, const char *pipeline)
{
    enum { MAX_TRIES = 100 };
    for (int i = 0; i < MAX_TRIES; i++) {
        MlirOperation copy = mlirOperationClone(j->module);
        j->hold = true;
        j->held = NULL;
        bool good = run_passes(j, copy, pipeline);
        j->hold = false;
        mlirOperationDestroy(good ? j->module : copy);
        if (good) {
            j->module = copy;
            return i == 0;
        }
        if (!explain(j))
            return false;
    }
    return false;
}

/* ---- lowering -------------------------------------------------------------------------------- */

/* Adds to the bits that an enumeration's attribute names. */
static void add_bits(HmJob *j, MlirOperation op, const char *attribute, const char *bits)
{
    const char *text = attr_text(j, attr_of(op, attribute));
    if (strchr(text, '>'))
        set_attr(op, attribute, attr_parse(j, "%.*s|%s>", (int)strcspn(text, ">"), text, bits));
}

/* Atomics that order memory say which (VUID-StandaloneSpirv-MemorySemantics-10870). */
static void complete_atomic(HmJob *j, MlirOperation op)
{
    const char *semantics = attr_text(j, attr_of(op, "semantics"));
    if (!strstr(op_name(j, op), ".Atomic") || strstr(semantics, "None") ||
        strstr(semantics, "Memory|") || strstr(semantics, "Memory>"))
        return;
    const char *pointer = type_text(j, mlirValueGetType(mlirOperationGetOperand(op, 0)));
    add_bits(j, op, "semantics",
             strstr(pointer, ", Workgroup>") ? "WorkgroupMemory" : "UniformMemory");
}

/* By Vulkan's memory model (SPIR-V 1.6, 3.25 and 3.26) accesses are the invocation's own business,
 * and barriers order without passing on, unless they say otherwise. */
static void complete_accesses(HmJob *j, MlirOperation op)
{
    static const struct {
        const char *op, *attribute;
    } accesses[] = {
        { "spirv.Load", "memory_access" },
        { "spirv.Store", "memory_access" },
        { "spirv.KHR.CooperativeMatrixLoad", "memory_operand" },
        { "spirv.KHR.CooperativeMatrixStore", "memory_operand" },
    };
    if (strstr(op_name(j, op), "Barrier"))
        add_bits(j, op, "memory_semantics", "MakeAvailable|MakeVisible");
    for (size_t k = 0; k < COUNT_OF(accesses); k++) {
        if (!is_op(op, accesses[k].op) || !mlirAttributeIsNull(attr_of(op, accesses[k].attribute)))
            continue;
        const char *type = type_text(j, mlirValueGetType(mlirOperationGetOperand(op, 0)));
        if (strstr(type, ", StorageBuffer>") || strstr(type, ", Workgroup>"))
            set_attr(op, accesses[k].attribute,
                     attr_parse(j, "#spirv.memory_access<NonPrivatePointer>"));
    }
}

/* Returns whether something has the device's scope: that needs a capability in Vulkan's model. */
static bool complete_memory(HmJob *j, MlirOperation module, bool vulkan)
{
    HmOpList ops = ops_named(j, module, NULL);
    bool device = false;
    for (uint32_t i = 0; i < ops.len; i++) {
        device |= strstr(attr_text(j, attr_of(ops.data[i], "memory_scope")), "<Device>") != NULL;
        complete_atomic(j, ops.data[i]);
        if (vulkan)
            complete_accesses(j, ops.data[i]);
    }
    return device;
}

/* Whether the module has built-ins about subgroups, which MLIR asks no capability for. */
static bool asks_subgroups(HmJob *j, MlirOperation module)
{
    HmOpList variables = ops_named(j, module, "spirv.GlobalVariable");
    for (uint32_t i = 0; i < variables.len; i++) {
        if (strstr(attr_text(j, attr_of(variables.data[i], "built_in")), "Subgroup"))
            return true;
    }
    return false;
}

/* Cooperative matrices want Vulkan's memory model (SPV_KHR_cooperative_matrix), MLIR forgets the
 * extension of rotations and the capability of built-ins, and from SPIR-V 1.4 on it lists all
 * variables in an entry point's interface while it gives the module the lowest version that its
 * instructions have. */
static void complete_requirements(HmJob *j, MlirOperation module)
{
    const char *vce = attr_text(j, attr_of(module, "vce_triple"));
    const char *has = strstr(attr_text(j, attr_around(module, "spirv.target_env")), "vce<v1.");
    if (has && has[7] >= '4' && !strncmp(vce, "#spirv.vce<v1.", 14))
        vce = arena_printf(j->arena, "#spirv.vce<v1.%c%s", has[7], vce + 15);
    const char *middle = strstr(vce, "], ["), *end = strrchr(vce, ']');
    bool rotates = strstr(vce, "GroupNonUniformRotateKHR") && !strstr(vce, "subgroup_rotate");
    bool vulkan = strstr(vce, "CooperativeMatrixKHR") && !strstr(vce, "VulkanMemoryModel");
    if (!middle)
        return;
    bool none = end == middle + 4, device = complete_memory(j, module, vulkan);
    const char *model = vulkan && device ? ", VulkanMemoryModel, VulkanMemoryModelDeviceScope"
                        : vulkan         ? ", VulkanMemoryModel"
                                         : "";
    const char *group =
        asks_subgroups(j, module) && !strstr(vce, "GroupNonUniform") && !strstr(vce, "Kernel")
            ? ", GroupNonUniform"
            : "";
    set_attr(module, "vce_triple",
             attr_parse(j, "%.*s%s%s%.*s%s%s]>", (int)(middle - vce), vce, model, group,
                        (int)(end - middle), middle, rotates ? none ? "" : ", " : "",
                        rotates ? "SPV_KHR_subgroup_rotate" : ""));
    if (vulkan)
        set_attr(module, "memory_model", attr_parse(j, "#spirv.memory_model<Vulkan>"));
}

/* MLIR has the signs of integers in the types; SPIR-V's multiply-add has them as operands, which
 * MLIR's conversion leaves out. Accumulators count as signed (gpu.subgroup_mma_compute). */
static void complete_signs(HmJob *j)
{
    HmOpList ops = ops_named(j, j->module, "spirv.KHR.CooperativeMatrixMulAdd");
    for (uint32_t i = 0; i < ops.len; i++) {
        HmMatrix m[3];
        for (int k = 0; k < 3; k++)
            matrix_of(j, mlirValueGetType(mlirOperationGetOperand(ops.data[i], k)), &m[k]);
        if (m[2].element[0] == 'f' || !mlirAttributeIsNull(attr_of(ops.data[i], "matrix_operands")))
            continue;
        set_attr(ops.data[i], "matrix_operands",
                 attr_parse(j, "#spirv.cooperative_matrix_operands_khr<%s%sCSigned|ResultSigned>",
                            m[0].element[0] == 's' ? "ASigned|" : "",
                            m[1].element[0] == 's' ? "BSigned|" : ""));
    }
}

bool lower_to_spirv(HmJob *j)
{
    if (!prepare_for_conversion(j))
        return false;
    rotate_wait(j);
    if (!convert_module(j, "builtin.module(convert-gpu-to-spirv)"))
        return false;
    /* For OpenCL targets MLIR leaves the result inside. */
    HmOpList kernels = ops_named(j, j->module, "gpu.module");
    MlirOperation module = ops_named(j, j->module, "spirv.module").data[0];
    mlirOperationRemoveFromParent(module);
    mlirBlockAppendOwnedOperation(module_body(j->module), module);
    for (uint32_t i = 0; i < kernels.len; i++)
        erase(kernels.data[i]);
    rotate_finish(j);
    if (kernels.len)
        complete_signs(j);
    if (!ops_named(j, module, "spirv.EntryPoint").len &&
        !run_passes(j, j->module, "builtin.module(spirv.module(spirv-lower-abi-attrs))"))
        return false;
    if (!mlirAttributeIsNull(attr_of(module, "vce_triple")))
        return true;
    if (!run_passes(j, j->module, "builtin.module(spirv.module(spirv-update-vce))"))
        return false;
    complete_requirements(j, module);
    return mlirOperationVerify(j->module);
}

/* MLIR serialises as the last step of compiling a gpu.module that holds a spirv.module. */
bool lower_serialise(HmJob *j)
{
    MlirOperation module = ops_named(j, j->module, "spirv.module").data[0];
    const char *text = arena_printf(j->arena, "builtin.module { gpu.module @binary [%s] {} }",
                                    attr_text(j, attr_around(module, "spirv.target_env")));
    MlirOperation outer = mlirOperationCreateParse(j->context, ref(text), ref(j->name));
    MlirOperation holder = mlirBlockGetFirstOperation(module_body(outer));
    lines_mark(j, module);
    mlirOperationRemoveFromParent(module);
    mlirBlockAppendOwnedOperation(module_body(holder), module);
    bool good = run_passes(j, outer, "builtin.module(gpu-module-to-binary)");
    if (good) {
        MlirOperation binary = ops_named(j, outer, "gpu.binary").data[0];
        MlirAttribute object = mlirArrayAttrGetElement(attr_of(binary, "objects"), 0);
        MlirStringRef bytes = mlirGPUObjectAttrGetObject(object);
        str_addn(j->arena, &j->output, bytes.data, bytes.length);
        lines_write(j);
    }
    mlirOperationDestroy(outer);
    return good;
}
