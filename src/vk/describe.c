/* SPDX-License-Identifier: MIT
 *
 * What a device has: features, limits and matrix shapes, and the profile that kernels are lowered
 * for. What a module needs of them is a table of capabilities.
 */
#include <stdlib.h>

#include "vk/facts.h"

/* ---- features -------------------------------------------------------------------------------- */

/* clang-format off */
static const VkfStructure structures[] = {
#define X(member, Type, sType, extension, minor)                                                   \
    { offsetof(VkfFeatures, member), sizeof(VkPhysicalDevice##Type##Features),                     \
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##sType, extension, minor },
    VKF_FEATURES(X)
#undef X
#define X(member, Type, Owner, sType, extension)                                                   \
    { offsetof(VkfFeatures, member), sizeof(VkPhysicalDevice##Type##Features##Owner),              \
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##sType, extension, UINT32_MAX },
    VKF_EXTENSION_FEATURES(X)
#undef X
};
/* clang-format on */

const VkfStructure *vkf_structure(VkStructureType type)
{
    for (size_t k = 0; k < COUNT_OF(structures); k++)
        if (structures[k].type == type)
            return &structures[k];
    return NULL;
}

/* That bring no features of their own. */
static const char *const plain_extensions[] = { "VK_KHR_shader_float_controls", "VK_KHR_spirv_1_4",
                                                "VK_KHR_shader_non_semantic_info" };

typedef struct Extensions {
    VkExtensionProperties *list;
    uint32_t n;
} Extensions;

static bool has_extension(const Extensions *e, const char *name)
{
    for (uint32_t k = 0; k < e->n; k++)
        if (!strcmp(e->list[k].extensionName, name))
            return true;
    return false;
}

static void enable(VkfFacts *f, const Extensions *e, const char *name)
{
    if (has_extension(e, name) && f->n_extensions < VKF_MOST_EXTENSIONS)
        f->extensions[f->n_extensions++] = name;
}

/* Those that are enabled where they are there; of the others the application has no use, and some
 * of them may not be together. */
static void keep_useful(VkfFeatures *f)
{
    VkPhysicalDeviceFeatures has = f->core.features;
    VkPhysicalDeviceDescriptorIndexingFeatures indexing = f->indexing;
    bool robust = has.robustBufferAccess && !f->pipeline_robustness.pipelineRobustness;
    f->core.features = (VkPhysicalDeviceFeatures){
        .robustBufferAccess = robust,
        .shaderFloat64 = has.shaderFloat64,
        .shaderInt64 = has.shaderInt64,
        .shaderInt16 = has.shaderInt16,
        .shaderUniformBufferArrayDynamicIndexing = has.shaderUniformBufferArrayDynamicIndexing,
        .shaderStorageBufferArrayDynamicIndexing = has.shaderStorageBufferArrayDynamicIndexing,
    };
    f->robustness2.robustBufferAccess2 &= robust;
    f->robustness2.robustImageAccess2 = f->robustness2.nullDescriptor = VK_FALSE;
    f->indexing = (VkPhysicalDeviceDescriptorIndexingFeatures){
        .sType = indexing.sType,
        .pNext = indexing.pNext,
        .shaderUniformBufferArrayNonUniformIndexing =
            indexing.shaderUniformBufferArrayNonUniformIndexing,
        .shaderStorageBufferArrayNonUniformIndexing =
            indexing.shaderStorageBufferArrayNonUniformIndexing,
        .descriptorBindingPartiallyBound = indexing.descriptorBindingPartiallyBound,
        .runtimeDescriptorArray = indexing.runtimeDescriptorArray,
    };
    f->addresses.bufferDeviceAddressCaptureReplay = VK_FALSE;
    f->addresses.bufferDeviceAddressMultiDevice = VK_FALSE;
}

static void ask_features(const VkfCommands *i, VkPhysicalDevice p, VkfFacts *f, const Extensions *e)
{
    uint32_t minor = VK_API_VERSION_MINOR(f->version);
    f->features.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    for (size_t k = 0; k < COUNT_OF(structures); k++) {
        const VkfStructure *s = &structures[k];
        if (minor < s->minor) {
            if (!has_extension(e, s->extension))
                continue;
            enable(f, e, s->extension);
        }
        VkBaseOutStructure *base = (void *)((char *)&f->features + s->at);
        base->sType = s->type;
        base->pNext = f->features.core.pNext;
        f->features.core.pNext = base;
    }
    for (size_t k = 0; k < COUNT_OF(plain_extensions); k++)
        enable(f, e, plain_extensions[k]);
    i->GetPhysicalDeviceFeatures2(p, &f->features.core);
    keep_useful(&f->features);
}

static void ask_properties(const VkfCommands *i, VkPhysicalDevice p, VkfFacts *f,
                           const Extensions *e)
{
    uint32_t minor = VK_API_VERSION_MINOR(f->version);
    f->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    f->sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    f->driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    f->properties =
        (VkPhysicalDeviceProperties2){ .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &f->subgroup };
    if (f->features.sizes.sType) {
        f->sizes.pNext = f->properties.pNext;
        f->properties.pNext = &f->sizes;
    }
    if (minor >= 2 || has_extension(e, "VK_KHR_driver_properties")) {
        f->driver.pNext = f->properties.pNext;
        f->properties.pNext = &f->driver;
    }
    f->floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
    if (minor >= 2 || has_extension(e, "VK_KHR_shader_float_controls")) {
        f->floats.pNext = f->properties.pNext;
        f->properties.pNext = &f->floats;
    }
    i->GetPhysicalDeviceProperties2(p, &f->properties);
    i->GetPhysicalDeviceMemoryProperties(p, &f->memory);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* NV2's, of any multiples, behind those of KHR, for which there is room. */
static void ask_flexible(const VkfCommands *i, VkPhysicalDevice p, VkfFacts *f, uint32_t n,
                         Arena *a)
{
    VkCooperativeMatrixFlexibleDimensionsPropertiesNV *list =
        NEW_ARRAY(a, VkCooperativeMatrixFlexibleDimensionsPropertiesNV, n + 1);
    HeddleFlexibleShape *shown = NEW_ARRAY(a, HeddleFlexibleShape, n + 1);
    VkPhysicalDeviceCooperativeMatrix2PropertiesNV most = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV
    };
    VkPhysicalDeviceProperties2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                        .pNext = &most };
    LowerShape *to = (LowerShape *)f->profile.shapes;
    for (uint32_t k = 0; k < n; k++)
        list[k].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV;
    if (i->flexible(p, &n, list) < 0)
        return;
    for (uint32_t k = 0; k < n; k++)
        if (vkf_take_flexible(&list[k], &to[f->profile.n_shapes],
                              &shown[f->profile.n_shapes - f->n_listed]))
            f->profile.n_shapes++;
    i->GetPhysicalDeviceProperties2(p, &all);
    f->profile.flexible_dimension = most.cooperativeMatrixFlexibleDimensionsMaxDimension;
    f->flexible_shapes = shown;
}

static void ask_shapes(const VkfCommands *i, VkPhysicalDevice p, VkfFacts *f, Arena *a)
{
    uint32_t n = 0, n_flexible = 0;
    if (!f->features.matrices.cooperativeMatrix || !i->matrices || i->matrices(p, &n, NULL))
        return;
    if (!f->features.matrices2.cooperativeMatrixFlexibleDimensions || !i->flexible ||
        i->flexible(p, &n_flexible, NULL))
        n_flexible = 0;
    VkCooperativeMatrixPropertiesKHR *list = NEW_ARRAY(a, VkCooperativeMatrixPropertiesKHR, n + 1);
    LowerShape *shapes = NEW_ARRAY(a, LowerShape, n + n_flexible + 1);
    HeddleMatrixShape *shown = NEW_ARRAY(a, HeddleMatrixShape, n + 1);
    for (uint32_t k = 0; k < n; k++)
        list[k].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    if (i->matrices(p, &n, list) < 0)
        return;
    for (uint32_t k = 0; k < n; k++)
        if (vkf_take_shape(&list[k], &shapes[f->profile.n_shapes], &shown[f->profile.n_shapes]))
            f->profile.n_shapes++;
    f->profile.shapes = shapes;
    f->shapes = shown;
    f->n_listed = f->profile.n_shapes;
    if (n_flexible)
        ask_flexible(i, p, f, n_flexible, a);
}

/* ---- the profile ----------------------------------------------------------------------------- */

static uint32_t profile_features(const VkfFeatures *f, VkSubgroupFeatureFlags operations)
{
    const VkPhysicalDeviceCooperativeMatrix2FeaturesNV *nv = &f->matrices2;
    bool nv2 = nv->cooperativeMatrixReductions && nv->cooperativeMatrixConversions &&
               nv->cooperativeMatrixPerElementOperations;
    bool tensors = nv->cooperativeMatrixTensorAddressing && nv->cooperativeMatrixBlockLoads;
    const struct {
        bool has;
        uint32_t feature;
    } rows[] = {
        { f->small.shaderFloat16, PROFILE_HAS_FLOAT16 },
        { f->core.features.shaderFloat64, PROFILE_HAS_FLOAT64 },
        { f->small.shaderInt8, PROFILE_HAS_INT8 },
        { f->core.features.shaderInt16, PROFILE_HAS_INT16 },
        { f->core.features.shaderInt64, PROFILE_HAS_INT64 },
        { f->bfloats.shaderBFloat16Type, PROFILE_HAS_BFLOAT16 },
        { f->bfloats.shaderBFloat16DotProduct, PROFILE_HAS_BFLOAT16_DOT },
        { f->floats8.shaderFloat8, PROFILE_HAS_FLOAT8 },
        { nv2, PROFILE_HAS_NV2 },
        { tensors, PROFILE_HAS_TENSORS },
        { f->conversion.cooperativeMatrixConversion, PROFILE_HAS_QCOM },
        { f->wait_queues.shaderMultipleWaitQueues, PROFILE_HAS_WAIT_QUEUES },
        { operations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT, PROFILE_HAS_SHUFFLES },
        { f->storage8.storageBuffer8BitAccess, PROFILE_HAS_STORAGE8 },
        { f->storage16.storageBuffer16BitAccess, PROFILE_HAS_STORAGE16 },
    };
    uint32_t all = 0;
    for (size_t k = 0; k < COUNT_OF(rows); k++)
        all |= rows[k].has ? rows[k].feature : 0;
    return all;
}

static void make_profile(VkfFacts *f, Arena *a)
{
    const VkPhysicalDeviceProperties *p = &f->properties.properties;
    LowerProfile *to = &f->profile;
    bool controlled = f->features.sizes.subgroupSizeControl &&
                      f->sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
    to->name = arena_strdup(a, p->deviceName);
    to->source = arena_printf(
        a, "the driver %s %s, Vulkan %u.%u.%u",
        *f->driver.driverName ? f->driver.driverName : "(unnamed)",
        *f->driver.driverInfo ? f->driver.driverInfo : "", VK_API_VERSION_MAJOR(p->apiVersion),
        VK_API_VERSION_MINOR(p->apiVersion), VK_API_VERSION_PATCH(p->apiVersion));
    to->subgroup_size = f->subgroup.subgroupSize;
    to->min_subgroup_size = controlled ? f->sizes.minSubgroupSize : to->subgroup_size;
    to->max_subgroup_size = controlled ? f->sizes.maxSubgroupSize : to->subgroup_size;
    to->features = profile_features(&f->features, f->subgroup.supportedOperations);
    to->workgroup_memory = p->limits.maxComputeSharedMemorySize;
    to->workgroup_invocations = p->limits.maxComputeWorkGroupInvocations;
    /* Mesa's lavapipe runs a subgroup as one vector, and every control barrier as one of the
     * workgroup, which subgroups that go another way do not reach. */
    if (f->driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE) /* its matrices are shuffles */
        to->features |= PROFILE_HAS_LOCKSTEP | PROFILE_HAS_SLOW_MATRICES;
    bool own = !strcmp(f->driver.driverName, "heddle");
    to->ownership = own ? PROFILE_LINEAR : PROFILE_OPAQUE;
    if (own || f->driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE ||
        f->driver.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY)
        to->features |= PROFILE_HAS_ORDER;
    if (f->driver.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY)
        to->features |= PROFILE_HAS_SLOW_LOADS;
}

void vkf_describe(const VkfCommands *i, VkPhysicalDevice p, VkfFacts *out, Arena *a)
{
    VkPhysicalDeviceProperties properties;
    Extensions e = { 0 };
    i->GetPhysicalDeviceProperties(p, &properties);
    out->version = MIN(properties.apiVersion, i->version);
    if (i->EnumerateDeviceExtensionProperties(p, NULL, &e.n, NULL) < 0)
        e.n = 0;
    e.list = NEW_ARRAY(a, VkExtensionProperties, e.n + 1);
    if (i->EnumerateDeviceExtensionProperties(p, NULL, &e.n, e.list) < 0)
        e.n = 0;
    ask_features(i, p, out, &e);
    ask_properties(i, p, out, &e);
    make_profile(out, a);
    ask_shapes(i, p, out, a);
}

/* ---- what a module needs --------------------------------------------------------------------- */

typedef struct Need {
    uint32_t capability;
    size_t feature; /* a VkBool32 of VkfFeatures */
    const char *name;
} Need;

#define NEED(capability, member, field)                                                            \
    { SpvCapability##capability, offsetof(VkfFeatures, member.field), #field }
/* clang-format off */
static const Need needs[] = {
    NEED(Float16, small, shaderFloat16),
    NEED(Int8, small, shaderInt8),
    NEED(Float64, core, features.shaderFloat64),
    NEED(Int64, core, features.shaderInt64),
    NEED(Int16, core, features.shaderInt16),
    NEED(StorageBuffer16BitAccess, storage16, storageBuffer16BitAccess),
    NEED(UniformAndStorageBuffer16BitAccess, storage16, uniformAndStorageBuffer16BitAccess),
    NEED(StoragePushConstant16, storage16, storagePushConstant16),
    NEED(StorageBuffer8BitAccess, storage8, storageBuffer8BitAccess),
    NEED(UniformAndStorageBuffer8BitAccess, storage8, uniformAndStorageBuffer8BitAccess),
    NEED(StoragePushConstant8, storage8, storagePushConstant8),
    NEED(VariablePointers, pointers, variablePointers),
    NEED(VariablePointersStorageBuffer, pointers, variablePointersStorageBuffer),
    NEED(Int64Atomics, atomics64, shaderBufferInt64Atomics),
    NEED(PhysicalStorageBufferAddresses, addresses, bufferDeviceAddress),
    NEED(VulkanMemoryModel, memory_model, vulkanMemoryModel),
    NEED(VulkanMemoryModelDeviceScope, memory_model, vulkanMemoryModelDeviceScope),
    NEED(RuntimeDescriptorArray, indexing, runtimeDescriptorArray),
    NEED(StorageBufferArrayNonUniformIndexing, indexing,
         shaderStorageBufferArrayNonUniformIndexing),
    NEED(UniformBufferArrayNonUniformIndexing, indexing,
         shaderUniformBufferArrayNonUniformIndexing),
    NEED(DotProduct, dot, shaderIntegerDotProduct),
    NEED(GroupNonUniformRotateKHR, rotate, shaderSubgroupRotate),
    NEED(ExpectAssumeKHR, assume, shaderExpectAssume),
    NEED(FloatControls2, controls2, shaderFloatControls2),
    NEED(WorkgroupMemoryExplicitLayoutKHR, explicit_layout, workgroupMemoryExplicitLayout),
    NEED(CooperativeMatrixKHR, matrices, cooperativeMatrix),
    NEED(CooperativeMatrixReductionsNV, matrices2, cooperativeMatrixReductions),
    NEED(CooperativeMatrixConversionsNV, matrices2, cooperativeMatrixConversions),
    NEED(CooperativeMatrixPerElementOperationsNV, matrices2,
         cooperativeMatrixPerElementOperations),
    NEED(CooperativeMatrixTensorAddressingNV, matrices2, cooperativeMatrixTensorAddressing),
    NEED(CooperativeMatrixBlockLoadsNV, matrices2, cooperativeMatrixBlockLoads),
    NEED(CooperativeMatrixConversionQCOM, conversion, cooperativeMatrixConversion),
    NEED(BFloat16TypeKHR, bfloats, shaderBFloat16Type),
    NEED(BFloat16DotProductKHR, bfloats, shaderBFloat16DotProduct),
    NEED(BFloat16CooperativeMatrixKHR, bfloats, shaderBFloat16CooperativeMatrix),
    NEED(Float8EXT, floats8, shaderFloat8),
    NEED(Float8CooperativeMatrixEXT, floats8, shaderFloat8CooperativeMatrix),
    NEED(AtomicFloat32AddEXT, atomic_floats, shaderBufferFloat32AtomicAdd),
    NEED(ComputeDerivativeGroupQuadsKHR, derivatives, computeDerivativeGroupQuads),
    NEED(ComputeDerivativeGroupLinearKHR, derivatives, computeDerivativeGroupLinear),
};
/* clang-format on */

static const struct {
    uint32_t capability, operations;
} groups[] = {
    { SpvCapabilityGroupNonUniform, VK_SUBGROUP_FEATURE_BASIC_BIT },
    { SpvCapabilityGroupNonUniformVote, VK_SUBGROUP_FEATURE_VOTE_BIT },
    { SpvCapabilityGroupNonUniformArithmetic, VK_SUBGROUP_FEATURE_ARITHMETIC_BIT },
    { SpvCapabilityGroupNonUniformBallot, VK_SUBGROUP_FEATURE_BALLOT_BIT },
    { SpvCapabilityGroupNonUniformShuffle, VK_SUBGROUP_FEATURE_SHUFFLE_BIT },
    { SpvCapabilityGroupNonUniformShuffleRelative, VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT },
    { SpvCapabilityGroupNonUniformClustered, VK_SUBGROUP_FEATURE_CLUSTERED_BIT },
    { SpvCapabilityGroupNonUniformQuad, VK_SUBGROUP_FEATURE_QUAD_BIT },
};

static bool accepts_capability(const VkfFacts *f, SpvModule *m, const SpvInst *i, DiagSink *sink)
{
    uint32_t c = spv_operand(i, 0);
    for (size_t k = 0; k < COUNT_OF(needs); k++) {
        VkBool32 has;
        memcpy(&has, (const char *)&f->features + needs[k].feature, sizeof has);
        if (needs[k].capability != c || has)
            continue;
        spv_error(m, i, sink, NULL, "'%s' has no %s, which the kernel needs", f->profile.name,
                  needs[k].name);
        return false;
    }
    for (size_t k = 0; k < COUNT_OF(groups); k++) {
        if (groups[k].capability != c || f->subgroup.supportedOperations & groups[k].operations)
            continue;
        spv_error(m, i, sink, NULL,
                  "'%s' has no such operations of subgroups, which the kernel needs",
                  f->profile.name);
        return false;
    }
    return true;
}

/* Execution modes of floating point, by width. */
#define FLOAT_MODE(mode, name)                                                                     \
    {                                                                                              \
        SpvExecutionMode##mode,                                                                    \
        {                                                                                          \
            offsetof(VkPhysicalDeviceFloatControlsProperties, shader##name##Float16),              \
                offsetof(VkPhysicalDeviceFloatControlsProperties, shader##name##Float32),          \
                offsetof(VkPhysicalDeviceFloatControlsProperties, shader##name##Float64)           \
        }                                                                                          \
    }
static const struct {
    uint32_t mode;
    size_t has[3]; /* of 16, 32, 64 bits: a VkBool32 */
} float_modes[] = {
    FLOAT_MODE(DenormPreserve, DenormPreserve),
    FLOAT_MODE(DenormFlushToZero, DenormFlushToZero),
    FLOAT_MODE(SignedZeroInfNanPreserve, SignedZeroInfNanPreserve),
    FLOAT_MODE(RoundingModeRTE, RoundingModeRTE),
    FLOAT_MODE(RoundingModeRTZ, RoundingModeRTZ),
};

static bool has_mode(const VkfFacts *f, uint32_t mode, uint32_t width)
{
    if (mode == SpvExecutionModeMaximallyReconvergesKHR)
        return f->features.reconvergence.shaderMaximalReconvergence;
    for (size_t k = 0; k < COUNT_OF(float_modes); k++) {
        VkBool32 has;
        size_t at = float_modes[k].has[width == 64 ? 2 : width == 32];
        memcpy(&has, (const char *)&f->floats + at, sizeof has);
        if (float_modes[k].mode == mode && !has)
            return false;
    }
    return true;
}

static bool accepts_mode(const VkfFacts *f, SpvModule *m, const SpvInst *i, DiagSink *sink)
{
    uint32_t mode = spv_operand(i, 1), width = spv_n_operands(i) > 2 ? spv_operand(i, 2) : 0;
    if (has_mode(f, mode, width))
        return true;
    spv_error(m, i, sink, NULL, "'%s' has no execution mode %s%s, which the kernel needs",
              f->profile.name, spv_enum_name(SPV_OPERAND_ExecutionMode, mode),
              width == 16   ? " of 16 bits"
              : width == 32 ? " of 32 bits"
              : width == 64 ? " of 64 bits"
                            : "");
    return false;
}

/* The newest SPIR-V that a version of Vulkan takes (Vulkan, "Versions and Formats"). */
static uint32_t newest_spirv(const VkfFacts *f)
{
    uint32_t minor = VK_API_VERSION_MINOR(f->version);
    for (uint32_t k = 0; minor == 1 && k < f->n_extensions; k++)
        if (!strcmp(f->extensions[k], "VK_KHR_spirv_1_4"))
            return 0x10400;
    return minor == 1 ? 0x10300 : minor == 2 ? 0x10500 : 0x10600;
}

bool vkf_accepts(const VkfFacts *f, SpvModule *m, DiagSink *sink)
{
    uint32_t newest = newest_spirv(f);
    bool good = true;
    if (m->version > newest) {
        spv_error(
            m, NULL, sink, NULL,
            "the module is SPIR-V 1.%u, '%s' takes versions up to 1.%u (of GLSL: --target-env "
            "vulkan1.%u)",
            m->version >> 8 & 0xff, f->profile.name, newest >> 8 & 0xff,
            VK_API_VERSION_MINOR(f->version));
        return false;
    }
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        if (i->op == SpvOpCapability)
            good &= accepts_capability(f, m, i, sink);
        else if (i->op == SpvOpExecutionMode)
            good &= accepts_mode(f, m, i, sink);
    }
    return good;
}
