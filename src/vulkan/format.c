/* SPDX-License-Identifier: MIT
 *
 * What can be done with each format: copying, since kernels access buffers only.
 */
#include "vulkan/vk.h"

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceFormatProperties(VkPhysicalDevice device,
                                                                VkFormat format,
                                                                VkFormatProperties *out)
{
    (void)device;
    VkFormatFeatureFlags copies = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT |
                                  VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    VkFormatFeatureFlags all = texel_format(format) ? copies : 0;
    *out = (VkFormatProperties){ .linearTilingFeatures = all, .optimalTilingFeatures = all };
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceFormatProperties2(VkPhysicalDevice device,
                                                                 VkFormat format,
                                                                 VkFormatProperties2 *out)
{
    hv_GetPhysicalDeviceFormatProperties(device, format, &out->formatProperties);
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3) {
            VkFormatProperties3 *p = (void *)s;
            p->linearTilingFeatures = out->formatProperties.linearTilingFeatures;
            p->optimalTilingFeatures = out->formatProperties.optimalTilingFeatures;
            p->bufferFeatures = 0;
        }
    }
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceImageFormatProperties(
    VkPhysicalDevice device, VkFormat format, VkImageType type, VkImageTiling tiling,
    VkImageUsageFlags usage, VkImageCreateFlags flags, VkImageFormatProperties *out)
{
    static const VkExtent3D sizes[] = { { 16384, 1, 1 }, { 16384, 16384, 1 },
                                        { 2048, 2048, 2048 } };
    const VkImageUsageFlags copies = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                     VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    (void)device, (void)tiling;
    *out = (VkImageFormatProperties){ 0 };
    if (!texel_format(format) || (usage & ~copies) || flags || (uint32_t)type >= COUNT_OF(sizes))
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    *out = (VkImageFormatProperties){
        .maxExtent = sizes[type], .maxMipLevels = 15,
        .maxArrayLayers = type == VK_IMAGE_TYPE_3D ? 1 : 2048,
        .sampleCounts = VK_SAMPLE_COUNT_1_BIT, .maxResourceSize = MAX_MEMORY };
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceImageFormatProperties2(
    VkPhysicalDevice device, const VkPhysicalDeviceImageFormatInfo2 *info,
    VkImageFormatProperties2 *out)
{
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
