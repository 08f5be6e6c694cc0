/* SPDX-License-Identifier: MIT
 *
 * What a device with a graphics queue has and this one has not. Its core commands are there, since
 * every core command has an address (vkGetDeviceProcAddr's table of return values), and fail:
 * objects are not made, and a command buffer that one was recorded in cannot be ended. With
 * HEDDLE_CLAIM_GRAPHICS the device also says of itself what others ask of every device before they
 * let anybody compute on it.
 */
#include <stdio.h>

#include "vulkan/vk.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static VkResult refuse_graphics(HvInstance *i, const HvBase *object, const char *command)
{
    char message[128];
    snprintf(message, sizeof message, "%s: the device has no graphics", command);
    say(i, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, object, "no-graphics", message);
    return VK_ERROR_FEATURE_NOT_PRESENT;
}

static void refuse_recording(HvCommandBuffer *c, const char *command)
{
    if (!c->result)
        c->result = refuse_graphics(c->device->instance, &c->base, command);
}

#define TABLE_GRAPHICS
#define CREATES(function, parameters, out, count)                                                  \
    VKAPI_ATTR VkResult VKAPI_CALL hv_##function parameters                                        \
    {                                                                                              \
        HvDevice *d = HvDevice_of(device);                                                         \
        memset(out, 0, (count) * sizeof *(out));                                                   \
        return refuse_graphics(d->instance, &d->base, "vk" #function);                             \
    }
#define DESTROYS(function, parameters)                                                             \
    VKAPI_ATTR void VKAPI_CALL hv_##function parameters {}
#define MEASURES(function, parameters, out)                                                        \
    VKAPI_ATTR void VKAPI_CALL hv_##function parameters { *(out) = (VkExtent2D){ 1, 1 }; }
#define RECORDS(function, parameters)                                                              \
    VKAPI_ATTR void VKAPI_CALL hv_##function parameters                                            \
    {                                                                                              \
        refuse_recording(HvCommandBuffer_of(commandBuffer), "vk" #function);                       \
    }
#include "vulkan/tables.def"

/* ---- claims ---------------------------------------------------------------------------------- */

/* What the Vulkan backends of Dawn and wgpu require, and not more: samplers stay isotropic. */
void claim_features(VkPhysicalDeviceFeatures *f)
{
    f->depthBiasClamp = f->fragmentStoresAndAtomics = f->fullDrawIndexUint32 = VK_TRUE;
    f->independentBlend = f->sampleRateShading = f->textureCompressionBC = VK_TRUE;
}

/* The limits of WebGPU's specification, or more. */
void claim_limits(VkPhysicalDeviceLimits *l)
{
    const VkSampleCountFlags samples = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT;
    l->maxFramebufferWidth = l->maxFramebufferHeight = l->maxImageDimension2D;
    l->maxFramebufferLayers = l->maxImageArrayLayers;
    l->maxViewports = 1;
    l->maxViewportDimensions[0] = l->maxViewportDimensions[1] = l->maxImageDimension2D;
    l->viewportBoundsRange[1] = 2 * (float)l->maxImageDimension2D;
    l->viewportBoundsRange[0] = -l->viewportBoundsRange[1];
    l->maxVertexInputAttributes = l->maxVertexInputBindings = 16;
    l->maxVertexInputAttributeOffset = 2047;
    l->maxVertexInputBindingStride = 2048;
    l->maxVertexOutputComponents = l->maxFragmentInputComponents = 128;
    l->maxColorAttachments = l->maxFragmentOutputAttachments = 8;
    l->maxFragmentCombinedOutputResources = l->maxPerStageResources;
    l->framebufferColorSampleCounts = l->framebufferDepthSampleCounts = samples;
    l->framebufferStencilSampleCounts = l->framebufferNoAttachmentsSampleCounts = samples;
    /* WGSL's arrays have 65,535 elements at most, and the CTS fills the memory with one. */
    l->maxComputeSharedMemorySize = 1 << 16;
    /* Dawn takes UINT32_MAX for "not given". */
    for (int i = 0; i < 3; i++)
        l->maxComputeWorkGroupCount[i] = UINT16_MAX;
}

VkFormatFeatureFlags2 claim_format(const TexelFormat *f)
{
    if (f->aspect != TEXEL_COLOR)
        return VK_FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT;
    return VK_FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT |
           (texel_is_integer(f) ? 0 : VK_FORMAT_FEATURE_2_COLOR_ATTACHMENT_BLEND_BIT);
}
