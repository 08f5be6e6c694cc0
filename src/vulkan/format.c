/* SPDX-License-Identifier: MIT
 *
 * What can be done with each format, from what its texels are (base/texel.def): kernels read all of
 * up to 32 bits a component, and write those that nothing is lost in but rounding.
 */
#include "vulkan/vk.h"

#define TEXEL(name, number, ...)                                                                   \
    _Static_assert(VK_FORMAT_##name == (number), "texel.def has Vulkan's numbers");
#include "base/texel.def"

bool format_has_two(VkFormat format)
{
    return format >= VK_FORMAT_D16_UNORM_S8_UINT && format <= VK_FORMAT_D32_SFLOAT_S8_UINT;
}

const TexelFormat *format_of(VkFormat format, VkImageAspectFlags aspect)
{
    /* In the order of D16_UNORM, X8_D24_UNORM_PACK32, D32_SFLOAT. */
    const uint32_t first = VK_FORMAT_D16_UNORM_S8_UINT - VK_FORMAT_D16_UNORM;
    if (!format_has_two(format))
        return texel_format(format);
    return texel_format(aspect == VK_IMAGE_ASPECT_STENCIL_BIT ? VK_FORMAT_S8_UINT : format - first);
}

/* The features of images and of buffers. */
static VkFormatFeatureFlags2 features(VkPhysicalDevice device, VkFormat format, bool buffer)
{
    const TexelFormat *f = format_of(format, 0);
    VkFormatFeatureFlags2 copies = VK_FORMAT_FEATURE_2_TRANSFER_SRC_BIT |
                                   VK_FORMAT_FEATURE_2_TRANSFER_DST_BIT |
                                   VK_FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT;
    if (!f || f->kind == TEXEL_USCALED || f->kind == TEXEL_SSCALED) /* vertices' */
        return 0;
    VkFormatFeatureFlags2 all = buffer ? 0 : copies;
    if (texel_is_long(f)) /* VK_EXT_shader_image_atomic_int64 */
        return all |
               (buffer ? VK_FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_BIT |
                             VK_FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_ATOMIC_BIT
                       : VK_FORMAT_FEATURE_2_STORAGE_IMAGE_BIT |
                             VK_FORMAT_FEATURE_2_STORAGE_IMAGE_ATOMIC_BIT) |
               VK_FORMAT_FEATURE_2_STORAGE_READ_WITHOUT_FORMAT_BIT |
               VK_FORMAT_FEATURE_2_STORAGE_WRITE_WITHOUT_FORMAT_BIT;
    if (f->bits[0] > 32)
        return all;
    bool color = f->aspect == TEXEL_COLOR, depth = f->aspect == TEXEL_DEPTH;
    bool stored = color && f->kind != TEXEL_SRGB && f->kind != TEXEL_SHARED;
    bool atomic = stored && f->bits[0] == 32 && !f->bits[1];
    if (buffer) {
        all |= stored ? VK_FORMAT_FEATURE_2_UNIFORM_TEXEL_BUFFER_BIT |
                            VK_FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_BIT
                      : 0;
        all |= atomic ? VK_FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_ATOMIC_BIT : 0;
    } else {
        all |= VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT;
        all |= texel_is_integer(f) ? 0 : VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_LINEAR_BIT;
        all |= depth ? VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_DEPTH_COMPARISON_BIT : 0;
        all |= stored ? VK_FORMAT_FEATURE_2_STORAGE_IMAGE_BIT : 0;
        all |= atomic ? VK_FORMAT_FEATURE_2_STORAGE_IMAGE_ATOMIC_BIT : 0;
        all |= claims_graphics(device) ? claim_format(f) : 0;
    }
    if (stored)
        all |= VK_FORMAT_FEATURE_2_STORAGE_READ_WITHOUT_FORMAT_BIT |
               VK_FORMAT_FEATURE_2_STORAGE_WRITE_WITHOUT_FORMAT_BIT;
    return all;
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceFormatProperties(VkPhysicalDevice device,
                                                                VkFormat format,
                                                                VkFormatProperties *out)
{
    /* What these flags have the same numbers for. */
    const VkFormatFeatureFlags2 first = VK_FORMAT_FEATURE_2_STORAGE_READ_WITHOUT_FORMAT_BIT - 1;
    VkFormatFeatureFlags image = (VkFormatFeatureFlags)(features(device, format, false) & first);
    VkFormatFeatureFlags buffer = (VkFormatFeatureFlags)(features(device, format, true) & first);
    *out = (VkFormatProperties){ .linearTilingFeatures = image,
                                 .optimalTilingFeatures = image,
                                 .bufferFeatures = buffer };
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceFormatProperties2(VkPhysicalDevice device,
                                                                 VkFormat format,
                                                                 VkFormatProperties2 *out)
{
    hv_GetPhysicalDeviceFormatProperties(device, format, &out->formatProperties);
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3) {
            VkFormatProperties3 *p = (void *)s;
            p->linearTilingFeatures = p->optimalTilingFeatures = features(device, format, false);
            p->bufferFeatures = features(device, format, true);
        }
    }
}

static bool usage_fits(VkFormatFeatureFlags2 there, VkImageUsageFlags usage)
{
    static const struct {
        VkImageUsageFlags usage;
        VkFormatFeatureFlags2 feature;
    } needs[] = {
        { VK_IMAGE_USAGE_TRANSFER_SRC_BIT, VK_FORMAT_FEATURE_2_TRANSFER_SRC_BIT },
        { VK_IMAGE_USAGE_TRANSFER_DST_BIT, VK_FORMAT_FEATURE_2_TRANSFER_DST_BIT },
        { VK_IMAGE_USAGE_HOST_TRANSFER_BIT, VK_FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT },
        { VK_IMAGE_USAGE_SAMPLED_BIT, VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT },
        { VK_IMAGE_USAGE_STORAGE_BIT, VK_FORMAT_FEATURE_2_STORAGE_IMAGE_BIT },
        { VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, VK_FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT },
        { VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
          VK_FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT },
    };
    for (size_t k = 0; k < COUNT_OF(needs); k++) {
        if (usage & needs[k].usage && !(there & needs[k].feature))
            return false;
        usage &= ~needs[k].usage;
    }
    return !usage;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceImageFormatProperties(
    VkPhysicalDevice device, VkFormat format, VkImageType type, VkImageTiling tiling,
    VkImageUsageFlags usage, VkImageCreateFlags flags, VkImageFormatProperties *out)
{
    static const struct {
        VkExtent3D size;
        uint32_t levels, layers;
    } most[] = { { { 16384, 1, 1 }, 15, 2048 },
                 { { 16384, 16384, 1 }, 15, 2048 },
                 { { 2048, 2048, 2048 }, 12, 1 } };
    const TexelFormat *f = format_of(format, 0);
    const VkImageCreateFlags allowed =
        VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT |
        VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT | VK_IMAGE_CREATE_ALIAS_BIT;
    bool cube = flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
    bool extended = flags & VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
    VkFormatFeatureFlags2 there = features(device, format, false);
    /* Vulkan 1.4, 48.1.1 (Supported Sample Counts): of formats that are no attachment's images have
     * one sample. Those that are made with more have more. */
    bool sampled = there & (VK_FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT |
                            VK_FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT) &&
                   type == VK_IMAGE_TYPE_2D && tiling == VK_IMAGE_TILING_OPTIMAL && !cube;
    *out = (VkImageFormatProperties){ 0 };
    if (!f || flags & ~allowed || (uint32_t)type >= COUNT_OF(most) ||
        (uint32_t)tiling > VK_IMAGE_TILING_LINEAR || (cube && type != VK_IMAGE_TYPE_2D) ||
        !(extended || usage_fits(there, usage)))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    *out = (VkImageFormatProperties){ .maxExtent = most[type].size,
                                      .maxMipLevels = most[type].levels,
                                      .maxArrayLayers = most[type].layers,
                                      .sampleCounts =
                                          sampled ? (VkFlags)SAMPLES : VK_SAMPLE_COUNT_1_BIT,
                                      .maxResourceSize = MAX_MEMORY };
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceImageFormatProperties2(
    VkPhysicalDevice device, const VkPhysicalDeviceImageFormatInfo2 *info,
    VkImageFormatProperties2 *out)
{
    const VkPhysicalDeviceExternalImageFormatInfo *external =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    const VkExternalMemoryHandleTypeFlagBits handle = external ? external->handleType : 0;
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        VkHostImageCopyDevicePerformanceQuery *q = (void *)s;
        VkExternalImageFormatProperties *e = (void *)s;
        VkSamplerYcbcrConversionImageFormatProperties *c = (void *)s;
        if (s->sType == VK_STRUCTURE_TYPE_HOST_IMAGE_COPY_DEVICE_PERFORMANCE_QUERY)
            q->optimalDeviceAccess = q->identicalMemoryLayout = VK_TRUE;
        else if (s->sType == VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES)
            e->externalMemoryProperties = external_memory(handle);
        else if (s->sType == VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_IMAGE_FORMAT_PROPERTIES)
            c->combinedImageSamplerDescriptorCount = 1;
    }
    if (handle && !is_host_memory(handle)) {
        out->imageFormatProperties = (VkImageFormatProperties){ 0 };
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    }
    return hv_GetPhysicalDeviceImageFormatProperties(device, info->format, info->type, info->tiling,
                                                     info->usage, info->flags,
                                                     &out->imageFormatProperties);
}

/* There is no sparse memory. */
VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceSparseImageFormatProperties(
    VkPhysicalDevice device, VkFormat format, VkImageType type, VkSampleCountFlagBits samples,
    VkImageUsageFlags usage, VkImageTiling tiling, uint32_t *count,
    VkSparseImageFormatProperties *out)
{
    (void)device, (void)format, (void)type, (void)samples, (void)usage, (void)tiling, (void)out;
    *count = 0;
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceSparseImageFormatProperties2(
    VkPhysicalDevice device, const VkPhysicalDeviceSparseImageFormatInfo2 *info, uint32_t *count,
    VkSparseImageFormatProperties2 *out)
{
    (void)device, (void)info, (void)out;
    *count = 0;
}
