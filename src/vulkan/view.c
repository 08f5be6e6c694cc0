/* SPDX-License-Identifier: MIT
 *
 * Image views, texel buffers and samplers: each is the descriptor that kernels read
 * (base/image.h), made once.
 */
#include "vulkan/vk.h"

/* ---- image views ----------------------------------------------------------------------------- */

static ImageDim dim_of(VkImageViewType t)
{
    static const ImageDim dims[] = {
        [VK_IMAGE_VIEW_TYPE_1D] = IMAGE_1D,           [VK_IMAGE_VIEW_TYPE_2D] = IMAGE_2D,
        [VK_IMAGE_VIEW_TYPE_3D] = IMAGE_3D,           [VK_IMAGE_VIEW_TYPE_CUBE] = IMAGE_CUBE,
        [VK_IMAGE_VIEW_TYPE_1D_ARRAY] = IMAGE_1D,     [VK_IMAGE_VIEW_TYPE_2D_ARRAY] = IMAGE_2D,
        [VK_IMAGE_VIEW_TYPE_CUBE_ARRAY] = IMAGE_CUBE,
    };
    return (uint32_t)t < COUNT_OF(dims) ? dims[t] : IMAGE_2D;
}

static void swizzle(const VkComponentMapping *m, uint8_t out[4])
{
    const VkComponentSwizzle given[4] = { m->r, m->g, m->b, m->a };
    for (int c = 0; c < 4; c++) {
        switch (given[c]) {
        case VK_COMPONENT_SWIZZLE_ZERO: out[c] = SWIZZLE_0; break;
        case VK_COMPONENT_SWIZZLE_ONE: out[c] = SWIZZLE_1; break;
        case VK_COMPONENT_SWIZZLE_IDENTITY: out[c] = (uint8_t)c; break;
        default: out[c] = (uint8_t)(SWIZZLE_R + (given[c] - VK_COMPONENT_SWIZZLE_R)); break;
        }
    }
}

static void describe_view(const HvImage *m, const VkImageViewCreateInfo *info, ImageDesc *d)
{
    const VkImageSubresourceRange *r = &info->subresourceRange;
    d->data = (uint8_t *)m->data;
    d->size = image_size(m);
    d->dim = dim_of(info->viewType);
    d->n_samples = m->samples;
    uint32_t levels = m->levels - r->baseMipLevel, layers = m->layers - r->baseArrayLayer;
    d->n_levels = r->levelCount == VK_REMAINING_MIP_LEVELS ? levels : r->levelCount;
    d->n_layers = r->layerCount == VK_REMAINING_ARRAY_LAYERS ? layers : r->layerCount;
    swizzle(&info->components, d->swizzle);
    for (uint32_t k = 0; k < d->n_levels; k++)
        d->levels[k] = image_level(m, r->baseMipLevel + k, r->baseArrayLayer);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateImageView(VkDevice device,
                                                  const VkImageViewCreateInfo *info,
                                                  const VkAllocationCallbacks *alloc,
                                                  VkImageView *out)
{
    const VkImageSubresourceRange *r = &info->subresourceRange;
    const HvImage m = image_plane(HvImage_of(info->image), r->aspectMask);
    const TexelFormat *f = format_of(info->format, r->aspectMask);
    *out = VK_NULL_HANDLE;
    bool sound = f && m.data && f->bytes == m.texel && r->baseMipLevel < m.levels &&
                 r->baseArrayLayer < m.layers;
    if (!sound)
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    HvImageView *v =
        object_new(alloc, &HvDevice_of(device)->alloc, sizeof *v, VK_OBJECT_TYPE_IMAGE_VIEW);
    if (!v)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    v->desc.format = f;
    describe_view(&m, info, &v->desc);
    *out = TO_HANDLE(VkImageView, v);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyImageView(VkDevice device, VkImageView view,
                                               const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvImageView_of(view));
}

/* ---- texel buffers --------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateBufferView(VkDevice device,
                                                   const VkBufferViewCreateInfo *info,
                                                   const VkAllocationCallbacks *alloc,
                                                   VkBufferView *out)
{
    const HvBuffer *b = HvBuffer_of(info->buffer);
    const TexelFormat *f = texel_format(info->format);
    *out = VK_NULL_HANDLE;
    if (!f || !b->data || info->offset > b->size)
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    HvImageView *v =
        object_new(alloc, &HvDevice_of(device)->alloc, sizeof *v, VK_OBJECT_TYPE_BUFFER_VIEW);
    if (!v)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    uint64_t size = MIN(info->range, b->size - info->offset), n = size / f->bytes;
    v->desc = (ImageDesc){ .data = (uint8_t *)b->data + info->offset,
                           .size = size,
                           .format = f,
                           .dim = IMAGE_BUFFER,
                           .n_levels = 1,
                           .n_layers = 1,
                           .n_samples = 1,
                           .swizzle = { SWIZZLE_R, SWIZZLE_G, SWIZZLE_B, SWIZZLE_A } };
    v->desc.levels[0] =
        (ImageLevel){ .base = v->desc.data, .size = { (uint32_t)MIN(n, UINT32_MAX), 1, 1 } };
    *out = TO_HANDLE(VkBufferView, v);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyBufferView(VkDevice device, VkBufferView view,
                                                const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, BufferView_of(view));
}

/* ---- samplers -------------------------------------------------------------------------------- */

static void border_of(VkBorderColor c, uint32_t out[4])
{
    bool integer = c == VK_BORDER_COLOR_INT_TRANSPARENT_BLACK ||
                   c == VK_BORDER_COLOR_INT_OPAQUE_BLACK || c == VK_BORDER_COLOR_INT_OPAQUE_WHITE;
    bool white = c == VK_BORDER_COLOR_INT_OPAQUE_WHITE || c == VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
    bool clear =
        c == VK_BORDER_COLOR_INT_TRANSPARENT_BLACK || c == VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
    uint32_t one = integer ? 1 : texel_bits(1);
    out[0] = out[1] = out[2] = white ? one : 0;
    out[3] = clear ? 0 : one;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateSampler(VkDevice device, const VkSamplerCreateInfo *info,
                                                const VkAllocationCallbacks *alloc, VkSampler *out)
{
    HvSampler *s =
        object_new(alloc, &HvDevice_of(device)->alloc, sizeof *s, VK_OBJECT_TYPE_SAMPLER);
    *out = TO_HANDLE(VkSampler, s);
    if (!s)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    s->desc = (SamplerDesc){ .mag_linear = info->magFilter == VK_FILTER_LINEAR,
                             .min_linear = info->minFilter == VK_FILTER_LINEAR,
                             .mip_linear = info->mipmapMode == VK_SAMPLER_MIPMAP_MODE_LINEAR,
                             .unnormalized = info->unnormalizedCoordinates,
                             .address = { (uint8_t)info->addressModeU, (uint8_t)info->addressModeV,
                                          (uint8_t)info->addressModeW },
                             .compare = (uint8_t)info->compareOp,
                             .bias = info->mipLodBias,
                             .min_lod = info->minLod,
                             .max_lod = info->maxLod };
    border_of(info->borderColor, s->desc.border);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroySampler(VkDevice device, VkSampler sampler,
                                             const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvSampler_of(sampler));
}
