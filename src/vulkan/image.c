/* SPDX-License-Identifier: MIT
 *
 * Images: texels lie densely, row by row, slice by slice, samples like slices, layers behind one
 * another, mip levels of all layers behind one another; stencil behind depth. Kernels see views of
 * them (view.c).
 */
#include "vulkan/vk.h"

static uint32_t shrink(uint32_t n, uint32_t level) { return MAX(n >> level, 1); }

static uint64_t layer_size(const HvImage *m, uint32_t level)
{
    return (uint64_t)shrink(m->extent.width, level) * shrink(m->extent.height, level) *
           shrink(m->extent.depth, level) * m->samples * m->texel;
}

static uint64_t level_offset(const HvImage *m, uint32_t level)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < level; i++)
        at += layer_size(m, i) * m->layers;
    return at;
}

static HvImage describe(const VkImageCreateInfo *info)
{
    const TexelFormat *f = format_of(info->format, 0);
    return (HvImage){ .extent = info->extent,
                      .format = f,
                      .texel = f ? f->bytes : 0,
                      .two = format_has_two(info->format),
                      .levels = info->mipLevels,
                      .layers = info->arrayLayers,
                      .samples = info->samples }; /* each bit is its number */
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateImage(VkDevice device, const VkImageCreateInfo *info,
                                              const VkAllocationCallbacks *alloc, VkImage *out)
{
    HvDevice *d = HvDevice_of(device);
    HvImage described = describe(info);
    *out = VK_NULL_HANDLE;
    if (!described.texel || info->samples & ~(VkFlags)SAMPLES)
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    HvImage *m = object_new(alloc, &d->alloc, sizeof *m, VK_OBJECT_TYPE_IMAGE);
    if (!m)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    described.base = m->base;
    *m = described;
    *out = TO_HANDLE(VkImage, m);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyImage(VkDevice device, VkImage image,
                                           const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvImage_of(image));
}

static uint64_t first_plane(const HvImage *m)
{
    return align_up(level_offset(m, m->levels), BUFFER_ALIGNMENT);
}

HvImage image_plane(const HvImage *m, VkImageAspectFlags aspect)
{
    HvImage p = *m;
    p.two = false;
    if (!m->two || aspect != VK_IMAGE_ASPECT_STENCIL_BIT)
        return p;
    p.format = texel_format(VK_FORMAT_S8_UINT);
    p.texel = p.format->bytes;
    if (p.data)
        p.data += first_plane(m);
    return p;
}

uint64_t image_size(const HvImage *m)
{
    HvImage stencil = image_plane(m, VK_IMAGE_ASPECT_STENCIL_BIT);
    uint64_t last = level_offset(&stencil, stencil.levels);
    return m->two ? first_plane(m) + last : last;
}

ImageLevel image_level(const HvImage *m, uint32_t level, uint32_t layer)
{
    ImageLevel v = { .size = { shrink(m->extent.width, level), shrink(m->extent.height, level),
                               shrink(m->extent.depth, level) } };
    v.row = (uint64_t)v.size[0] * m->texel;
    v.slice = v.row * v.size[1];
    v.layer = layer_size(m, level);
    v.base = (uint8_t *)m->data + level_offset(m, level) + layer * v.layer;
    return v;
}

/* ---- memory ---------------------------------------------------------------------------------- */

VKAPI_ATTR void VKAPI_CALL hv_GetImageMemoryRequirements(VkDevice device, VkImage image,
                                                         VkMemoryRequirements *out)
{
    (void)device;
    *out = memory_requirements(image_size(HvImage_of(image)));
}

VKAPI_ATTR void VKAPI_CALL hv_GetImageMemoryRequirements2(
    VkDevice device, const VkImageMemoryRequirementsInfo2 *info, VkMemoryRequirements2 *out)
{
    (void)device;
    memory_requirements2(image_size(HvImage_of(info->image)), out);
}

VKAPI_ATTR void VKAPI_CALL hv_GetDeviceImageMemoryRequirements(
    VkDevice device, const VkDeviceImageMemoryRequirements *info, VkMemoryRequirements2 *out)
{
    (void)device;
    HvImage m = describe(info->pCreateInfo);
    memory_requirements2(image_size(&m), out);
}

/* No image is sparse. */
VKAPI_ATTR void VKAPI_CALL hv_GetImageSparseMemoryRequirements(VkDevice device, VkImage image,
                                                               uint32_t *count,
                                                               VkSparseImageMemoryRequirements *out)
{
    (void)device, (void)image, (void)out;
    *count = 0;
}

VKAPI_ATTR void VKAPI_CALL hv_GetImageSparseMemoryRequirements2(
    VkDevice device, const VkImageSparseMemoryRequirementsInfo2 *info, uint32_t *count,
    VkSparseImageMemoryRequirements2 *out)
{
    (void)device, (void)info, (void)out;
    *count = 0;
}

VKAPI_ATTR void VKAPI_CALL hv_GetDeviceImageSparseMemoryRequirements(
    VkDevice device, const VkDeviceImageMemoryRequirements *info, uint32_t *count,
    VkSparseImageMemoryRequirements2 *out)
{
    (void)device, (void)info, (void)out;
    *count = 0;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_BindImageMemory(VkDevice device, VkImage image,
                                                  VkDeviceMemory memory, VkDeviceSize offset)
{
    (void)device;
    memory_bind(&HvImage_of(image)->data, memory, offset, NULL);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_BindImageMemory2(VkDevice device, uint32_t n,
                                                   const VkBindImageMemoryInfo *infos)
{
    (void)device;
    for (uint32_t i = 0; i < n; i++)
        memory_bind(&HvImage_of(infos[i].image)->data, infos[i].memory, infos[i].memoryOffset,
                    infos[i].pNext);
    return VK_SUCCESS;
}

static VkSubresourceLayout layout_of(const HvImage *m, const VkImageSubresource *s)
{
    HvImage p = image_plane(m, s->aspectMask);
    uint64_t size = layer_size(&p, s->mipLevel);
    uint64_t before = p.format != m->format ? first_plane(m) : 0;
    uint64_t row = (uint64_t)shrink(m->extent.width, s->mipLevel) * p.texel;
    return (VkSubresourceLayout){ .offset =
                                      before + level_offset(&p, s->mipLevel) + s->arrayLayer * size,
                                  .size = size,
                                  .rowPitch = row,
                                  .arrayPitch = size,
                                  .depthPitch = row * shrink(m->extent.height, s->mipLevel) };
}

/* As vkCopyImageToMemory gives it out, which is as it lies. */
static void layout2_of(const HvImage *m, const VkImageSubresource2 *s, VkSubresourceLayout2 *out)
{
    out->subresourceLayout = layout_of(m, &s->imageSubresource);
    for (VkBaseOutStructure *b = out->pNext; b; b = b->pNext) {
        if (b->sType == VK_STRUCTURE_TYPE_SUBRESOURCE_HOST_MEMCPY_SIZE)
            ((VkSubresourceHostMemcpySize *)b)->size = out->subresourceLayout.size;
    }
}

VKAPI_ATTR void VKAPI_CALL hv_GetImageSubresourceLayout(VkDevice device, VkImage image,
                                                        const VkImageSubresource *s,
                                                        VkSubresourceLayout *out)
{
    (void)device;
    *out = layout_of(HvImage_of(image), s);
}

VKAPI_ATTR void VKAPI_CALL hv_GetImageSubresourceLayout2(VkDevice device, VkImage image,
                                                         const VkImageSubresource2 *s,
                                                         VkSubresourceLayout2 *out)
{
    (void)device;
    layout2_of(HvImage_of(image), s, out);
}

VKAPI_ATTR void VKAPI_CALL hv_GetDeviceImageSubresourceLayout(
    VkDevice device, const VkDeviceImageSubresourceInfo *info, VkSubresourceLayout2 *out)
{
    (void)device;
    HvImage m = describe(info->pCreateInfo);
    layout2_of(&m, info->pSubresource, out);
}
