/* SPDX-License-Identifier: MIT
 *
 * What the physical device says of itself. Features and properties are images of the structures,
 * made from tables.def; a query copies the image of each structure in its chain, so that every
 * member is written, and what only this machine knows is filled in afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vulkan/vk.h"

#define SUBGROUP_OPERATIONS                                                                        \
    (VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |                                \
     VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |                         \
     VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT |                  \
     VK_SUBGROUP_FEATURE_CLUSTERED_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT |                            \
     VK_SUBGROUP_FEATURE_ROTATE_BIT | VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT |                   \
     VK_SUBGROUP_FEATURE_PARTITIONED_BIT_EXT)

/* Mesa's and others' ids are taken; this is none of theirs ('hd'). */
enum {
    VENDOR = 0x10000 + 0x6864,
    DRIVER_VERSION = HEDDLE_VERSION_MAJOR << 22 | HEDDLE_VERSION_MINOR << 12 | HEDDLE_VERSION_PATCH
};

typedef struct Template {
    size_t size;
    const VkBaseInStructure *data;
    size_t members;
} Template;

/* clang-format off */
static const Template features[] = {
#define TABLE_FEATURES
#define FEATURES(T, n, ...) { sizeof(T), (const void *)&(const T){ __VA_ARGS__ }, n },
#define CORE_FEATURES(...)
#include "vulkan/tables.def"
#undef FEATURES
#undef CORE_FEATURES
};
/* clang-format on */
/* clang-format off */
static const Template no_features[] = {
#define FIRST(first, ...) first
#define FEATURES(T, n, ...) { sizeof(T), (const void *)&(const T){ FIRST(__VA_ARGS__) }, n },
#define CORE_FEATURES(...)
#include "vulkan/tables.def"
#undef FEATURES
#undef CORE_FEATURES
#undef FIRST
};
/* clang-format on */
static const VkPhysicalDeviceFeatures core_features =
#define FEATURES(T, n, ...)
#define CORE_FEATURES(...) { __VA_ARGS__ };
#include "vulkan/tables.def"
#undef FEATURES
#undef CORE_FEATURES
#undef TABLE_FEATURES

    /* clang-format off */
static const Template properties[] = {
#define TABLE_PROPERTIES
#define PROPERTIES(T, ...) { sizeof(T), (const void *)&(const T){ __VA_ARGS__ }, 0 },
#include "vulkan/tables.def"
#undef PROPERTIES
#undef TABLE_PROPERTIES
};
/* clang-format on */

/* clang-format off */
static const VkExtensionProperties extensions[] = {
#define TABLE_EXTENSION
#define INSTANCE_EXTENSION(name, version)
#define DEVICE_EXTENSION(name, version) { #name, version },
#include "vulkan/tables.def"
#undef INSTANCE_EXTENSION
#undef DEVICE_EXTENSION
#undef TABLE_EXTENSION
};
/* clang-format on */

/* What HEDDLE_MATRICES takes away below a level. */
static const struct {
    const char *extension;
    VkStructureType features;
    HvMatrixLevel level;
} matrix_extensions[] = {
    { "VK_KHR_cooperative_matrix",
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, MATRICES_F16 },
    { "VK_NV_cooperative_matrix", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV,
      MATRICES_ALL },
    { "VK_NV_cooperative_matrix2",
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV, MATRICES_ALL },
    { "VK_NV_cooperative_matrix_decode_vector",
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_DECODE_VECTOR_FEATURES_NV,
      MATRICES_ALL },
    { "VK_EXT_cooperative_matrix_maintenance1",
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_MAINTENANCE_1_FEATURES_EXT,
      MATRICES_ALL },
    { "VK_QCOM_cooperative_matrix_conversion",
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_CONVERSION_FEATURES_QCOM, MATRICES_ALL },
    { "VK_QCOM_shader_multiple_wait_queues",
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MULTIPLE_WAIT_QUEUES_FEATURES_QCOM, MATRICES_ALL },
};

static bool hides_extension(const HvConfig *c, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(matrix_extensions); i++)
        if (c->matrices < matrix_extensions[i].level &&
            !strcmp(name, matrix_extensions[i].extension))
            return true;
    return false;
}

static bool hides_features(const HvConfig *c, VkStructureType type)
{
    for (size_t i = 0; i < COUNT_OF(matrix_extensions); i++)
        if (c->matrices < matrix_extensions[i].level && type == matrix_extensions[i].features)
            return true;
    return false;
}

/* What a query of a list says at its end: n there are, *count had room. */
static VkResult listed(uint32_t *count, bool wanted, uint32_t n)
{
    bool whole = !wanted || *count >= n;
    *count = wanted ? MIN(*count, n) : n;
    return whole ? VK_SUCCESS : VK_INCOMPLETE;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_EnumerateDeviceExtensionProperties(VkPhysicalDevice device,
                                                                     const char *layer,
                                                                     uint32_t *count,
                                                                     VkExtensionProperties *out)
{
    const HvConfig *config = &HvPhysical_of(device)->instance->config;
    uint32_t n = 0;
    if (layer)
        return VK_ERROR_LAYER_NOT_PRESENT;
    for (size_t i = 0; i < COUNT_OF(extensions); i++) {
        if (hides_extension(config, extensions[i].extensionName))
            continue;
        if (out && n < *count)
            out[n] = extensions[i];
        n++;
    }
    return listed(count, out != NULL, n);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_EnumerateDeviceLayerProperties(VkPhysicalDevice device,
                                                                 uint32_t *count,
                                                                 VkLayerProperties *out)
{
    (void)device;
    return enumerate(count, out, NULL, 0, sizeof *out, false);
}

/* Copies the structure's image behind its sType and pNext. False when there is none. */
static bool fill(VkBaseOutStructure *s, const Template *images, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (images[i].data->sType == s->sType) {
            memcpy(s + 1, (const char *)images[i].data + sizeof *s, images[i].size - sizeof *s);
            return true;
        }
    }
    return false;
}

/* ---- features -------------------------------------------------------------------------------- */

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceFeatures(VkPhysicalDevice device,
                                                        VkPhysicalDeviceFeatures *out)
{
    *out = core_features;
    if (claims_graphics(device))
        claim_features(out);
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceFeatures2(VkPhysicalDevice device,
                                                         VkPhysicalDeviceFeatures2 *out)
{
    hv_GetPhysicalDeviceFeatures(device, &out->features);
    const HvConfig *config = &HvPhysical_of(device)->instance->config;
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext)
        fill(s, hides_features(config, s->sType) ? no_features : features, COUNT_OF(features));
}

enum { CORE_MEMBERS = sizeof(VkPhysicalDeviceFeatures) / sizeof(VkBool32) };

static bool all_there(const void *wanted, const void *there, size_t n)
{
    const VkBool32 *w = wanted, *t = there;
    for (size_t i = 0; i < n; i++)
        if (w[i] && !t[i])
            return false;
    return true;
}

/* Structures that no table knows may be anything's. */
bool features_are_there(VkPhysicalDevice device, const VkDeviceCreateInfo *info)
{
    const HvConfig *config = &HvPhysical_of(device)->instance->config;
    VkPhysicalDeviceFeatures core;
    hv_GetPhysicalDeviceFeatures(device, &core);
    if (info->pEnabledFeatures && !all_there(info->pEnabledFeatures, &core, CORE_MEMBERS))
        return false;
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        const VkPhysicalDeviceFeatures2 *two = (const void *)s;
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 &&
            !all_there(&two->features, &core, CORE_MEMBERS))
            return false;
        const Template *there = hides_features(config, s->sType) ? no_features : features;
        for (size_t i = 0; i < COUNT_OF(features); i++)
            if (there[i].data->sType == s->sType &&
                !all_there(s + 1, there[i].data + 1, there[i].members))
                return false;
    }
    return true;
}

/* ---- properties ------------------------------------------------------------------------------ */

/* clang-format off */
static const VkPhysicalDeviceLimits limits = {
    .maxImageDimension1D = 16384, .maxImageDimension2D = 16384, .maxImageDimension3D = 2048,
    .maxImageDimensionCube = 16384, .maxImageArrayLayers = 2048, .maxTexelBufferElements = 1 << 27,
    .maxUniformBufferRange = 1 << 30, .maxStorageBufferRange = UINT32_MAX,
    .maxPushConstantsSize = MAX_PUSH, .maxMemoryAllocationCount = UINT32_MAX,
    .maxSamplerAllocationCount = 1 << 16, .bufferImageGranularity = 1,
    .maxBoundDescriptorSets = MAX_SETS, .maxPerStageDescriptorSamplers = MAX_DESCRIPTORS,
    .maxPerStageDescriptorUniformBuffers = MAX_DESCRIPTORS,
    .maxPerStageDescriptorStorageBuffers = MAX_DESCRIPTORS,
    .maxPerStageDescriptorSampledImages = MAX_DESCRIPTORS,
    .maxPerStageDescriptorStorageImages = MAX_DESCRIPTORS,
    .maxPerStageDescriptorInputAttachments = MAX_DESCRIPTORS,
    .maxPerStageResources = MAX_DESCRIPTORS, .maxDescriptorSetInputAttachments = MAX_DESCRIPTORS,
    .maxDescriptorSetSamplers = MAX_DESCRIPTORS, .maxDescriptorSetUniformBuffers = MAX_DESCRIPTORS,
    .maxDescriptorSetUniformBuffersDynamic = MAX_DYNAMIC / 2,
    .maxDescriptorSetStorageBuffers = MAX_DESCRIPTORS,
    .maxDescriptorSetStorageBuffersDynamic = MAX_DYNAMIC / 2,
    .maxDescriptorSetSampledImages = MAX_DESCRIPTORS,
    .maxDescriptorSetStorageImages = MAX_DESCRIPTORS, .maxComputeSharedMemorySize = MAX_SHARED,
    .maxComputeWorkGroupCount = { UINT32_MAX, UINT32_MAX, UINT32_MAX },
    .maxComputeWorkGroupInvocations = MAX_INVOCATIONS,
    .maxComputeWorkGroupSize = { MAX_INVOCATIONS, MAX_INVOCATIONS, MAX_INVOCATIONS },
    .subPixelPrecisionBits = 4, .subTexelPrecisionBits = 8, .mipmapPrecisionBits = 6,
    .maxSamplerLodBias = 16, .maxSamplerAnisotropy = 1, .minMemoryMapAlignment = 64,
    .minTexelBufferOffsetAlignment = 16, .minUniformBufferOffsetAlignment = 16,
    .minStorageBufferOffsetAlignment = 16, .minTexelOffset = -8, .maxTexelOffset = 7,
    .minTexelGatherOffset = -8, .maxTexelGatherOffset = 7,
    .sampledImageColorSampleCounts = SAMPLES, .sampledImageIntegerSampleCounts = SAMPLES,
    .sampledImageDepthSampleCounts = SAMPLES, .sampledImageStencilSampleCounts = SAMPLES,
    .storageImageSampleCounts = SAMPLES, .maxSampleMaskWords = 1,
    .timestampComputeAndGraphics = VK_TRUE, .timestampPeriod = 1, .discreteQueuePriorities = 2,
    .optimalBufferCopyOffsetAlignment = 64, .optimalBufferCopyRowPitchAlignment = 64,
    .nonCoherentAtomSize = 64,
};
/* clang-format on */

static void uuids(const HvPhysical *p, uint8_t device[VK_UUID_SIZE], uint8_t driver[VK_UUID_SIZE])
{
    uint64_t of_device = hash_bytes(p->name, strlen(p->name), VENDOR);
    const char *version = heddle_version();
    uint64_t of_driver = hash_bytes(version, strlen(version), VENDOR);
    memset(device, 'h', VK_UUID_SIZE);
    memset(driver, 'd', VK_UUID_SIZE);
    memcpy(device, &of_device, sizeof of_device);
    memcpy(driver, &of_driver, sizeof of_driver);
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceProperties(VkPhysicalDevice device,
                                                          VkPhysicalDeviceProperties *out)
{
    const HvPhysical *p = HvPhysical_of(device);
    *out = (VkPhysicalDeviceProperties){
        .apiVersion = VK_MAKE_API_VERSION(0, 1, 4, VK_HEADER_VERSION),
        .driverVersion = DRIVER_VERSION,
        .vendorID = VENDOR,
        .deviceID = 1,
        .deviceType = p->instance->config.device_type,
        .limits = limits,
    };
    if (p->instance->config.graphics)
        claim_limits(&out->limits);
    memcpy(out->deviceName, p->name, sizeof p->name);
    memcpy(out->pipelineCacheUUID, &p->identity, sizeof p->identity);
}

/* wgpu hides devices without one. */
static VkConformanceVersion conformance(const HvPhysical *p)
{
    return (VkConformanceVersion){ .major = p->instance->config.graphics };
}

static void driver_names(char *name, char *info)
{
    snprintf(name, VK_MAX_DRIVER_NAME_SIZE, "heddle");
    snprintf(info, VK_MAX_DRIVER_INFO_SIZE, "heddle %s", heddle_version());
}

static void subgroup_sizes(const HvPhysical *p, uint32_t *least, uint32_t *most)
{
    const HeddleDeviceInfo *info = heddle_device_info(p->heddle);
    *least = MAX(8, info->subgroup_sizes[0]);
    *most = info->subgroup_sizes[info->n_subgroup_sizes - 1];
}

/* What the machine and the environment decide. */
static void complete(const HvPhysical *p, VkBaseOutStructure *s)
{
    const uint32_t size = p->instance->config.subgroup_size;
    const VkShaderStageFlags more = p->instance->config.graphics ? VK_SHADER_STAGE_FRAGMENT_BIT : 0;
    uint32_t least;
    switch ((int)s->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES: {
        VkPhysicalDeviceVulkan11Properties *v = (void *)s;
        uuids(p, v->deviceUUID, v->driverUUID);
        v->subgroupSize = size;
        v->subgroupSupportedStages |= more;
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES: {
        VkPhysicalDeviceIDProperties *v = (void *)s;
        uuids(p, v->deviceUUID, v->driverUUID);
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES: {
        VkPhysicalDeviceSubgroupProperties *v = (void *)s;
        v->subgroupSize = size;
        v->supportedStages |= more;
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES: {
        VkPhysicalDeviceVulkan12Properties *v = (void *)s;
        driver_names(v->driverName, v->driverInfo);
        v->conformanceVersion = conformance(p);
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES: {
        VkPhysicalDeviceDriverProperties *v = (void *)s;
        driver_names(v->driverName, v->driverInfo);
        v->conformanceVersion = conformance(p);
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES: {
        VkPhysicalDeviceVulkan13Properties *v = (void *)s;
        subgroup_sizes(p, &v->minSubgroupSize, &v->maxSubgroupSize);
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES: {
        VkPhysicalDeviceSubgroupSizeControlProperties *v = (void *)s;
        subgroup_sizes(p, &v->minSubgroupSize, &v->maxSubgroupSize);
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD: {
        VkPhysicalDeviceShaderCorePropertiesAMD *v = (void *)s;
        v->computeUnitsPerShaderArray = heddle_device_info(p->heddle)->threads;
        subgroup_sizes(p, &least, &v->wavefrontSize);
        break;
    }
    /* llama.cpp takes a device that does not say how many units it has to have 16, and splits
     * attention for one token into as many parts, each with a result to be stored and added. */
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD: {
        VkPhysicalDeviceShaderCoreProperties2AMD *v = (void *)s;
        v->activeComputeUnitCount = heddle_device_info(p->heddle)->threads;
        break;
    }
    default: break;
    }
}

/* In the two structures that have them, lists of layouts are the caller's memory. */
#define LAYOUTS(T, s)                                                                              \
    do {                                                                                           \
        T *v = (void *)(s), given = *v;                                                            \
        fill(s, properties, COUNT_OF(properties));                                                 \
        layouts(&given.copySrcLayoutCount, given.pCopySrcLayouts);                                 \
        layouts(&given.copyDstLayoutCount, given.pCopyDstLayouts);                                 \
        v->copySrcLayoutCount = given.copySrcLayoutCount;                                          \
        v->copyDstLayoutCount = given.copyDstLayoutCount;                                          \
        v->pCopySrcLayouts = given.pCopySrcLayouts;                                                \
        v->pCopyDstLayouts = given.pCopyDstLayouts;                                                \
        memset(v->optimalTilingLayoutUUID, 'h', VK_UUID_SIZE);                                     \
    } while (0)

/* All layouts are one. */
static void layouts(uint32_t *count, VkImageLayout *out)
{
    static const VkImageLayout all[] = {
        VK_IMAGE_LAYOUT_GENERAL,
        VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
        VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
        VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
        VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL,
        VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL,
        VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL,
        VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL,
        VK_IMAGE_LAYOUT_ATTACHMENT_OPTIMAL,
        VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
        VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL,
        VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL,
        VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL,
        VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL,
    };
    enumerate(count, out, all, COUNT_OF(all), sizeof *out, false);
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                                           VkPhysicalDeviceProperties2 *out)
{
    hv_GetPhysicalDeviceProperties(device, &out->properties);
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_PROPERTIES)
            LAYOUTS(VkPhysicalDeviceVulkan14Properties, s);
        else if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES)
            LAYOUTS(VkPhysicalDeviceHostImageCopyProperties, s);
        else if (fill(s, properties, COUNT_OF(properties)))
            complete(HvPhysical_of(device), s);
    }
}

/* ---- queues and memory ----------------------------------------------------------------------- */

static VkQueueFamilyProperties family(VkPhysicalDevice device)
{
    VkQueueFlags graphics = claims_graphics(device) ? VK_QUEUE_GRAPHICS_BIT : 0;
    return (VkQueueFamilyProperties){
        .queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | graphics,
        .queueCount = N_QUEUES,
        .timestampValidBits = 64,
        .minImageTransferGranularity = { 1, 1, 1 },
    };
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device,
                                                                     uint32_t *count,
                                                                     VkQueueFamilyProperties *out)
{
    const VkQueueFamilyProperties all = family(device);
    enumerate(count, out, &all, 1, sizeof *out, false);
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceQueueFamilyProperties2(VkPhysicalDevice device,
                                                                      uint32_t *count,
                                                                      VkQueueFamilyProperties2 *out)
{
    const VkQueueFamilyProperties2 all = { .queueFamilyProperties = family(device) };
    enumerate(count, out, &all, 1, sizeof *out, true);
    for (VkBaseOutStructure *s = out && *count ? out->pNext : NULL; s; s = s->pNext) {
        VkQueueFamilyGlobalPriorityProperties *p = (void *)s;
        if (s->sType == VK_STRUCTURE_TYPE_QUEUE_FAMILY_OWNERSHIP_TRANSFER_PROPERTIES_KHR)
            ((VkQueueFamilyOwnershipTransferPropertiesKHR *)s)
                ->optimalImageTransferToQueueFamilies = 1; /* the one that there is */
        if (s->sType != VK_STRUCTURE_TYPE_QUEUE_FAMILY_GLOBAL_PRIORITY_PROPERTIES)
            continue;
        memset(p->priorities, 0, sizeof p->priorities);
        p->priorityCount = 1;
        p->priorities[0] = VK_QUEUE_GLOBAL_PRIORITY_MEDIUM;
    }
}

VKAPI_ATTR void VKAPI_CALL
hv_GetPhysicalDeviceMemoryProperties(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *out)
{
    *out = (VkPhysicalDeviceMemoryProperties){ .memoryTypeCount = 1, .memoryHeapCount = 1 };
    out->memoryTypes[0].propertyFlags =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
        VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    out->memoryHeaps[0] =
        (VkMemoryHeap){ HvPhysical_of(device)->memory, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT };
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceMemoryProperties2(
    VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *out)
{
    hv_GetPhysicalDeviceMemoryProperties(device, &out->memoryProperties);
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        if (s->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT)
            continue;
        VkPhysicalDeviceMemoryBudgetPropertiesEXT *b = (void *)s;
        memset(b->heapBudget, 0, sizeof b->heapBudget);
        memset(b->heapUsage, 0, sizeof b->heapUsage);
        long free_pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        uint64_t there = HvPhysical_of(device)->memory;
        uint64_t left = free_pages > 0 ? (uint64_t)free_pages * (uint64_t)page : there;
        b->heapUsage[0] = MIN(memory_in_use(), there);
        b->heapBudget[0] = b->heapUsage[0] + MIN(left, there - b->heapUsage[0]);
    }
}

/* ---- cooperative matrices -------------------------------------------------------------------- */

/* What every device with the extension lists. */
static bool is_common(const HeddleMatrixShape *s)
{
    return s->m == 16 && s->n == 16 && s->k == 16 && s->a == HEDDLE_F16 && s->b == HEDDLE_F16 &&
           s->c == s->result && (s->c == HEDDLE_F16 || s->c == HEDDLE_F32) && !s->saturating;
}

static bool is_listed(const HvConfig *c, const HeddleMatrixShape *s)
{
    if (c->matrices < MATRICES_KHR && (c->matrices == MATRICES_NONE || !is_common(s)))
        return false;
    return vkf_is_listed(s, c->large_shapes);
}

/* All of a query's structure but its sType and pNext, which the caller set. */
static void fill_in(void *out, const void *from, size_t size)
{
    size_t head = sizeof(VkBaseOutStructure);
    memcpy((char *)out + head, (const char *)from + head, size - head);
}

/* One structure of `size` bytes for each shape that is wanted. */
static VkResult list_shapes(VkPhysicalDevice device, uint32_t *count, void *out, size_t size,
                            bool (*wanted)(const HvConfig *c, const HeddleMatrixShape *s),
                            void (*describe)(const HeddleMatrixShape *s, void *out))
{
    const HvConfig *config = &HvPhysical_of(device)->instance->config;
    size_t all;
    const HeddleMatrixShape *shapes = heddle_matrix_shapes(HvPhysical_of(device)->heddle, &all);
    uint32_t n = 0;
    for (size_t i = 0; i < all; i++) {
        if (!wanted(config, &shapes[i]))
            continue;
        if (out && n < *count)
            describe(&shapes[i], (char *)out + n * size);
        n++;
    }
    return listed(count, out != NULL, n);
}

static void describe_khr(const HeddleMatrixShape *s, void *out)
{
    VkCooperativeMatrixPropertiesKHR p = vkf_khr(s);
    fill_in(out, &p, sizeof p);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceCooperativeMatrixPropertiesKHR(
    VkPhysicalDevice device, uint32_t *count, VkCooperativeMatrixPropertiesKHR *out)
{
    return list_shapes(device, count, out, sizeof *out, is_listed, describe_khr);
}

/* The older extension has neither saturation nor the types that came later. */
static bool is_older(const HvConfig *c, const HeddleMatrixShape *s)
{
    return is_listed(c, s) && !s->saturating &&
           vkf_component_of(s->a) <= VK_COMPONENT_TYPE_UINT64_KHR &&
           vkf_component_of(s->result) <= VK_COMPONENT_TYPE_UINT64_KHR;
}

static void describe_nv(const HeddleMatrixShape *s, void *out)
{
    VkCooperativeMatrixPropertiesNV p = {
        .MSize = s->m,
        .NSize = s->n,
        .KSize = s->k,
        .AType = vkf_component_of(s->a),
        .BType = vkf_component_of(s->b),
        .CType = vkf_component_of(s->c),
        .DType = vkf_component_of(s->result),
        .scope = VK_SCOPE_SUBGROUP_KHR,
    };
    fill_in(out, &p, sizeof p);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceCooperativeMatrixPropertiesNV(
    VkPhysicalDevice device, uint32_t *count, VkCooperativeMatrixPropertiesNV *out)
{
    return list_shapes(device, count, out, sizeof *out, is_older, describe_nv);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV(
    VkPhysicalDevice device, uint32_t *count,
    VkCooperativeMatrixFlexibleDimensionsPropertiesNV *out)
{
    (void)device;
    size_t all;
    const HeddleFlexibleShape *shapes = heddle_flexible_shapes(HvPhysical_of(device)->heddle, &all);
    uint32_t n = 0;
    for (size_t i = 0; i < all; i++) {
        const HeddleFlexibleShape *s = &shapes[i];
        if (!vkf_is_listed_flexible(s))
            continue;
        VkCooperativeMatrixFlexibleDimensionsPropertiesNV p = vkf_flexible(s);
        if (out && n < *count)
            fill_in(&out[n], &p, sizeof p);
        n++;
    }
    return listed(count, out != NULL, n);
}

/* One a combination of types: what is flexible is so at every scope and size. */
VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceCooperativeMatrixProperties2EXT(
    VkPhysicalDevice device, const VkPhysicalDeviceCooperativeMatrixInfo2EXT *info, uint32_t *count,
    VkCooperativeMatrixProperties2EXT *out)
{
    (void)device;
    size_t all;
    const HeddleFlexibleShape *s = heddle_flexible_shapes(HvPhysical_of(device)->heddle, &all);
    bool saturating = info->flags & VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT;
    bool fits = info->scope == VK_SCOPE_SUBGROUP_KHR ||
                (info->scope == VK_SCOPE_WORKGROUP_KHR && info->invocations <= MAX_INVOCATIONS);
    uint32_t n = 0;
    for (const HeddleFlexibleShape *end = s + (fits ? all : 0); s < end; s++) {
        if (s->scope != HEDDLE_SCOPE_SUBGROUP || s->saturating != saturating ||
            !vkf_is_listed_flexible(s))
            continue;
        VkCooperativeMatrixProperties2EXT p = {
            .MGranularity = s->m,
            .NGranularity = s->n,
            .KGranularity = s->k,
            .AType = vkf_component_of(s->a),
            .BType = vkf_component_of(s->b),
            .CType = vkf_component_of(s->c),
            .ResultType = vkf_component_of(s->result),
        };
        if (out && n < *count)
            fill_in(&out[n], &p, sizeof p);
        n++;
    }
    return listed(count, out != NULL, n);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static const VkTimeDomainKHR domains[] = { VK_TIME_DOMAIN_DEVICE_KHR,
                                           VK_TIME_DOMAIN_CLOCK_MONOTONIC_KHR };

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceCalibrateableTimeDomainsKHR(
    VkPhysicalDevice device, uint32_t *count, VkTimeDomainKHR *out)
{
    (void)device;
    return enumerate(count, out, domains, COUNT_OF(domains), sizeof *out, false);
}

/* Both domains are the same clock. */
VKAPI_ATTR VkResult VKAPI_CALL hv_GetCalibratedTimestampsKHR(
    VkDevice device, uint32_t n, const VkCalibratedTimestampInfoKHR *infos, uint64_t *timestamps,
    uint64_t *deviation)
{
    (void)device, (void)infos;
    uint64_t now = clock_ns();
    for (uint32_t i = 0; i < n; i++)
        timestamps[i] = now;
    *deviation = 1;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceToolProperties(
    VkPhysicalDevice device, uint32_t *count, VkPhysicalDeviceToolProperties *out)
{
    VkPhysicalDeviceToolProperties tool = { .purposes = VK_TOOL_PURPOSE_VALIDATION_BIT };
    snprintf(tool.name, sizeof tool.name, "heddle --check");
    snprintf(tool.version, sizeof tool.version, "%s", heddle_version());
    snprintf(tool.description, sizeof tool.description,
             "Kernels run in an interpreter that checks what they do");
    bool check = HvPhysical_of(device)->instance->config.check;
    return enumerate(count, out, &tool, check, sizeof tool, true);
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceExternalBufferProperties(
    VkPhysicalDevice device, const VkPhysicalDeviceExternalBufferInfo *info,
    VkExternalBufferProperties *out)
{
    (void)device;
    out->externalMemoryProperties = external_memory(info->handleType);
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceExternalFenceProperties(
    VkPhysicalDevice device, const VkPhysicalDeviceExternalFenceInfo *info,
    VkExternalFenceProperties *out)
{
    (void)device, (void)info;
    out->exportFromImportedHandleTypes = out->compatibleHandleTypes = 0;
    out->externalFenceFeatures = 0;
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceExternalSemaphoreProperties(
    VkPhysicalDevice device, const VkPhysicalDeviceExternalSemaphoreInfo *info,
    VkExternalSemaphoreProperties *out)
{
    (void)device, (void)info;
    out->exportFromImportedHandleTypes = out->compatibleHandleTypes = 0;
    out->externalSemaphoreFeatures = 0;
}
