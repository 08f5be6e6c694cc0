/* SPDX-License-Identifier: MIT
 *
 * What can be done with each format. Kernels access buffers only, so no format has a feature.
 */
#include "vulkan/vk.h"

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceFormatProperties(VkPhysicalDevice device,
                                                                VkFormat format,
                                                                VkFormatProperties *out)
{
    (void)device, (void)format;
    *out = (VkFormatProperties){ 0 };
}

VKAPI_ATTR void VKAPI_CALL hv_GetPhysicalDeviceFormatProperties2(VkPhysicalDevice device,
                                                                 VkFormat format,
                                                                 VkFormatProperties2 *out)
{
    hv_GetPhysicalDeviceFormatProperties(device, format, &out->formatProperties);
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3) {
            VkFormatProperties3 *p = (void *)s;
            p->linearTilingFeatures = p->optimalTilingFeatures = p->bufferFeatures = 0;
        }
    }
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPhysicalDeviceImageFormatProperties(
    VkPhysicalDevice device, VkFormat format, VkImageType type, VkImageTiling tiling,
    VkImageUsageFlags usage, VkImageCreateFlags flags, VkImageFormatProperties *out)
{
    (void)device, (void)format, (void)type, (void)tiling, (void)usage, (void)flags;
    *out = (VkImageFormatProperties){ 0 };
    return VK_ERROR_FORMAT_NOT_SUPPORTED;
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
