/* SPDX-License-Identifier: MIT
 *
 * Images: texels lie densely, row by row, slice by slice, layers behind one another, mip levels of
 * all layers behind one another. Commands that copy and clear them; kernels see views (view.c).
 */
#include "vulkan/vk.h"

static uint32_t shrink(uint32_t n, uint32_t level) { return MAX(n >> level, 1); }

static uint64_t layer_size(const Image *m, uint32_t level)
{
    return (uint64_t)shrink(m->extent.width, level) * shrink(m->extent.height, level) *
           shrink(m->extent.depth, level) * m->texel;
}

static uint64_t level_offset(const Image *m, uint32_t level)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < level; i++)
        at += layer_size(m, i) * m->layers;
    return at;
}

static Image describe(const VkImageCreateInfo *info)
{
    const TexelFormat *f = texel_format(info->format);
    return (Image){ .extent = info->extent, .format = f, .texel = f ? f->bytes : 0,
                    .levels = info->mipLevels, .layers = info->arrayLayers };
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateImage(VkDevice device, const VkImageCreateInfo *info,
                                              const VkAllocationCallbacks *alloc, VkImage *out)
{
    Device *d = Device_of(device);
    Image described = describe(info);
    *out = VK_NULL_HANDLE;
    if (!described.texel)
        return VK_ERROR_FORMAT_NOT_SUPPORTED;
    Image *m = object_new(alloc, &d->alloc, sizeof *m, VK_OBJECT_TYPE_IMAGE);
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
    object_free(alloc, &Device_of(device)->alloc, Image_of(image));
}

uint64_t image_size(const Image *m) { return level_offset(m, m->levels); }

ImageLevel image_level(const Image *m, uint32_t level, uint32_t layer)
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

static VkMemoryRequirements requirements(const Image *m)
{
    uint64_t size = align_up(image_size(m), BUFFER_ALIGNMENT);
    return (VkMemoryRequirements){ size, BUFFER_ALIGNMENT, 1 };
}

VKAPI_ATTR void VKAPI_CALL hv_GetImageMemoryRequirements(VkDevice device, VkImage image,
                                                         VkMemoryRequirements *out)
{
    (void)device;
    *out = requirements(Image_of(image));
}

VKAPI_ATTR void VKAPI_CALL hv_GetImageMemoryRequirements2(
    VkDevice device, const VkImageMemoryRequirementsInfo2 *info, VkMemoryRequirements2 *out)
{
    (void)device;
    out->memoryRequirements = requirements(Image_of(info->image));
    memory_not_dedicated(out->pNext);
}

VKAPI_ATTR void VKAPI_CALL hv_GetDeviceImageMemoryRequirements(
    VkDevice device, const VkDeviceImageMemoryRequirements *info, VkMemoryRequirements2 *out)
{
    (void)device;
    Image m = describe(info->pCreateInfo);
    out->memoryRequirements = requirements(&m);
    memory_not_dedicated(out->pNext);
}

/* No image is sparse. */
VKAPI_ATTR void VKAPI_CALL hv_GetImageSparseMemoryRequirements(
    VkDevice device, VkImage image, uint32_t *count, VkSparseImageMemoryRequirements *out)
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
    Image_of(image)->data = Memory_of(memory)->data + offset;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_BindImageMemory2(VkDevice device, uint32_t n,
                                                   const VkBindImageMemoryInfo *infos)
{
    for (uint32_t i = 0; i < n; i++)
        hv_BindImageMemory(device, infos[i].image, infos[i].memory, infos[i].memoryOffset);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_GetImageSubresourceLayout(VkDevice device, VkImage image,
                                                        const VkImageSubresource *s,
                                                        VkSubresourceLayout *out)
{
    (void)device;
    const Image *m = Image_of(image);
    uint64_t size = layer_size(m, s->mipLevel);
    uint64_t row = (uint64_t)shrink(m->extent.width, s->mipLevel) * m->texel;
    *out = (VkSubresourceLayout){
        .offset = level_offset(m, s->mipLevel) + s->arrayLayer * size, .size = size,
        .rowPitch = row, .arrayPitch = size,
        .depthPitch = row * shrink(m->extent.height, s->mipLevel) };
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* One side of a copy: where its first row is, and from there to the next row, slice, layer. */
typedef struct Side { char *at; uint64_t row, slice, layer; } Side;

typedef struct CmdCopyTexels {
    Cmd cmd;
    Side from, to;
    uint64_t bytes;             /* of a row */
    uint32_t rows, slices, layers;
} CmdCopyTexels;

static void run_copy(Exec *x, const Cmd *cmd)
{
    (void)x;
    const CmdCopyTexels *c = (const CmdCopyTexels *)cmd;
    for (uint64_t l = 0; l < c->layers; l++) {
        for (uint64_t z = 0; z < c->slices; z++) {
            for (uint64_t y = 0; y < c->rows; y++)
                memmove(c->to.at + l * c->to.layer + z * c->to.slice + y * c->to.row,
                        c->from.at + l * c->from.layer + z * c->from.slice + y * c->from.row,
                        c->bytes);
        }
    }
}

static Side image_side(const Image *m, const VkImageSubresourceLayers *s, VkOffset3D at)
{
    ImageLevel v = image_level(m, s->mipLevel, s->baseArrayLayer);
    Side side = { (char *)v.base, v.row, v.slice, v.layer };
    side.at += (uint64_t)at.z * v.slice + (uint64_t)at.y * v.row + (uint64_t)at.x * m->texel;
    return side;
}

static Side buffer_side(const Image *m, const Buffer *b, const VkBufferImageCopy2 *r)
{
    uint64_t width = r->bufferRowLength ? r->bufferRowLength : r->imageExtent.width;
    uint64_t height = r->bufferImageHeight ? r->bufferImageHeight : r->imageExtent.height;
    Side side = { .at = b->data + r->bufferOffset, .row = width * m->texel,
                  .slice = width * height * m->texel };
    side.layer = side.slice * r->imageExtent.depth;
    return side;
}

static void record(VkCommandBuffer buffer, Side from, Side to, VkExtent3D extent, uint32_t layers,
                   uint32_t texel)
{
    CmdCopyTexels *c = RECORD(CommandBuffer_of(buffer), CmdCopyTexels, run_copy);
    if (!c)
        return;
    c->from = from;
    c->to = to;
    c->bytes = (uint64_t)extent.width * texel;
    c->rows = extent.height;
    c->slices = extent.depth;
    c->layers = layers;
}

static void with_buffer(VkCommandBuffer commands, const Image *m, const Buffer *b,
                        const VkBufferImageCopy2 *r, bool to_image)
{
    if (!m->data || !b->data)
        return;
    Side image = image_side(m, &r->imageSubresource, r->imageOffset);
    Side buffer = buffer_side(m, b, r);
    record(commands, to_image ? buffer : image, to_image ? image : buffer, r->imageExtent,
           r->imageSubresource.layerCount, m->texel);
}

static VkBufferImageCopy2 newer(const VkBufferImageCopy *r)
{
    return (VkBufferImageCopy2){
        .bufferOffset = r->bufferOffset, .bufferRowLength = r->bufferRowLength,
        .bufferImageHeight = r->bufferImageHeight, .imageSubresource = r->imageSubresource,
        .imageOffset = r->imageOffset, .imageExtent = r->imageExtent };
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyBufferToImage(VkCommandBuffer buffer, VkBuffer from,
                                                   VkImage to, VkImageLayout layout, uint32_t n,
                                                   const VkBufferImageCopy *regions)
{
    (void)layout;
    for (uint32_t i = 0; i < n; i++) {
        VkBufferImageCopy2 r = newer(&regions[i]);
        with_buffer(buffer, Image_of(to), Buffer_of(from), &r, true);
    }
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyBufferToImage2(VkCommandBuffer buffer,
                                                    const VkCopyBufferToImageInfo2 *info)
{
    for (uint32_t i = 0; i < info->regionCount; i++)
        with_buffer(buffer, Image_of(info->dstImage), Buffer_of(info->srcBuffer),
                    &info->pRegions[i], true);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyImageToBuffer(VkCommandBuffer buffer, VkImage from,
                                                   VkImageLayout layout, VkBuffer to, uint32_t n,
                                                   const VkBufferImageCopy *regions)
{
    (void)layout;
    for (uint32_t i = 0; i < n; i++) {
        VkBufferImageCopy2 r = newer(&regions[i]);
        with_buffer(buffer, Image_of(from), Buffer_of(to), &r, false);
    }
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyImageToBuffer2(VkCommandBuffer buffer,
                                                    const VkCopyImageToBufferInfo2 *info)
{
    for (uint32_t i = 0; i < info->regionCount; i++)
        with_buffer(buffer, Image_of(info->srcImage), Buffer_of(info->dstBuffer),
                    &info->pRegions[i], false);
}

static void copy_image(VkCommandBuffer buffer, const Image *from, const Image *to,
                       const VkImageSubresourceLayers *source, VkOffset3D source_at,
                       const VkImageSubresourceLayers *target, VkOffset3D target_at,
                       VkExtent3D extent)
{
    if (!from->data || !to->data)
        return;
    Side a = image_side(from, source, source_at), b = image_side(to, target, target_at);
    uint32_t layers = source->layerCount;
    /* Slices of a 3-D image may become layers, and layers slices. */
    if (target->layerCount > layers)
        a.layer = a.slice, layers = target->layerCount, extent.depth = 1;
    else if (layers > target->layerCount)
        b.layer = b.slice, extent.depth = 1;
    record(buffer, a, b, extent, layers, from->texel);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyImage(VkCommandBuffer buffer, VkImage from,
                                           VkImageLayout from_layout, VkImage to,
                                           VkImageLayout to_layout, uint32_t n,
                                           const VkImageCopy *r)
{
    (void)from_layout, (void)to_layout;
    for (uint32_t i = 0; i < n; i++)
        copy_image(buffer, Image_of(from), Image_of(to), &r[i].srcSubresource, r[i].srcOffset,
                   &r[i].dstSubresource, r[i].dstOffset, r[i].extent);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyImage2(VkCommandBuffer buffer, const VkCopyImageInfo2 *info)
{
    for (uint32_t i = 0; i < info->regionCount; i++) {
        const VkImageCopy2 *r = &info->pRegions[i];
        copy_image(buffer, Image_of(info->srcImage), Image_of(info->dstImage), &r->srcSubresource,
                   r->srcOffset, &r->dstSubresource, r->dstOffset, r->extent);
    }
}

/* ---- clearing -------------------------------------------------------------------------------- */

typedef struct CmdClear {
    Cmd cmd;
    ImageLevel level;
    uint32_t layers, bytes;
    uint8_t texel[32];
} CmdClear;

static void run_clear(Exec *x, const Cmd *cmd)
{
    (void)x;
    const CmdClear *c = (const CmdClear *)cmd;
    const ImageLevel *v = &c->level;
    uint64_t n = (uint64_t)v->size[0] * v->size[1] * v->size[2] * c->layers; /* side by side */
    for (uint64_t k = 0; k < n; k++)
        memcpy(v->base + k * c->bytes, c->texel, c->bytes);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdClearColorImage(VkCommandBuffer buffer, VkImage image,
                                                 VkImageLayout layout,
                                                 const VkClearColorValue *color, uint32_t n,
                                                 const VkImageSubresourceRange *ranges)
{
    const Image *m = Image_of(image);
    (void)layout;
    for (uint32_t i = 0; i < n && m->data; i++) {
        const VkImageSubresourceRange *r = &ranges[i];
        uint32_t levels = MIN(r->levelCount, m->levels - r->baseMipLevel);
        for (uint32_t k = 0; k < levels; k++) {
            CmdClear *c = RECORD(CommandBuffer_of(buffer), CmdClear, run_clear);
            if (!c)
                return;
            c->level = image_level(m, r->baseMipLevel + k, r->baseArrayLayer);
            c->layers = MIN(r->layerCount, m->layers - r->baseArrayLayer);
            c->bytes = m->texel;
            texel_store(m->format, c->texel, color->uint32);
        }
    }
}
