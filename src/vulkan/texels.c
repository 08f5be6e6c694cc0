/* SPDX-License-Identifier: MIT
 *
 * What moves texels of images: copies to and from buffers, the program's memory and other images,
 * by command buffers and at once by the host, and clearing.
 */
#include "vulkan/vk.h"

/* ---- copies ---------------------------------------------------------------------------------- */

/* One side of a copy: where its first row is, and from there to the next row, slice, layer. */
typedef struct Side {
    char *at;
    uint64_t row, slice, layer;
} Side;

typedef struct Copy {
    Side from, to;
    uint64_t bytes; /* of a row */
    uint32_t rows, slices, layers;
} Copy;

static void copy_now(Copy c)
{
    for (uint64_t l = 0; l < c.layers; l++) {
        for (uint64_t z = 0; z < c.slices; z++) {
            for (uint64_t y = 0; y < c.rows; y++)
                memmove(c.to.at + l * c.to.layer + z * c.to.slice + y * c.to.row,
                        c.from.at + l * c.from.layer + z * c.from.slice + y * c.from.row, c.bytes);
        }
    }
}

/* VK_REMAINING_ARRAY_LAYERS is more than there are. */
static uint32_t layers_of(const HvImage *m, const VkImageSubresourceLayers *s)
{
    return MIN(s->layerCount, m->layers - s->baseArrayLayer);
}

static Side image_side(const HvImage *m, const VkImageSubresourceLayers *s, VkOffset3D at)
{
    ImageLevel v = image_level(m, s->mipLevel, s->baseArrayLayer);
    Side side = { (char *)v.base, v.row, v.slice, v.layer };
    side.at += (uint64_t)at.z * v.slice + (uint64_t)at.y * v.row + (uint64_t)at.x * m->texel;
    return side;
}

/* What lies in memory from `data` on. */
static Copy memory_copy(const HvImage *all, char *data, const VkBufferImageCopy *r, bool to_image)
{
    const HvImage plane = image_plane(all, r->imageSubresource.aspectMask), *m = &plane;
    uint64_t width = r->bufferRowLength ? r->bufferRowLength : r->imageExtent.width;
    uint64_t height = r->bufferImageHeight ? r->bufferImageHeight : r->imageExtent.height;
    Side image = image_side(m, &r->imageSubresource, r->imageOffset);
    Side memory = { .at = data + r->bufferOffset,
                    .row = width * m->texel,
                    .slice = width * height * m->texel };
    memory.layer = memory.slice * r->imageExtent.depth;
    return (Copy){ .from = to_image ? memory : image,
                   .to = to_image ? image : memory,
                   .bytes = (uint64_t)r->imageExtent.width * m->texel,
                   .rows = r->imageExtent.height,
                   .slices = r->imageExtent.depth,
                   .layers = layers_of(m, &r->imageSubresource) };
}

/* Slices of a 3-D image may become layers, and layers slices. Samples are copied like slices. */
static Copy plane_copy(const HvImage *from, const HvImage *to, const VkImageCopy *r)
{
    uint32_t source = layers_of(from, &r->srcSubresource);
    uint32_t target = layers_of(to, &r->dstSubresource);
    Copy c = { .from = image_side(from, &r->srcSubresource, r->srcOffset),
               .to = image_side(to, &r->dstSubresource, r->dstOffset),
               .bytes = (uint64_t)r->extent.width * from->texel,
               .rows = r->extent.height,
               .slices = source == target ? r->extent.depth * from->samples : 1,
               .layers = MAX(source, target) };
    if (target > source)
        c.from.layer = c.from.slice;
    else if (source > target)
        c.to.layer = c.to.slice;
    return c;
}

/* What copies all aspects of the region: that many, at most two. A color may become a depth or a
 * stencil, and they a color (maintenance8). */
static uint32_t image_copies(const HvImage *from, const HvImage *to, const VkImageCopy *r,
                             Copy c[2])
{
    uint32_t n = 0;
    VkImageAspectFlags source = r->srcSubresource.aspectMask, left = source;
    for (; left && n < 2 && from->data && to->data; left &= left - 1) {
        VkImageAspectFlags one = left & -left, target = r->dstSubresource.aspectMask;
        HvImage a = image_plane(from, one), b = image_plane(to, source == target ? one : target);
        c[n++] = plane_copy(&a, &b, r);
    }
    return n;
}

/* ---- regions of the second generation are those of the first with a chain -------------------- */

static VkBufferImageCopy memory_region(const VkBufferImageCopy2 *r)
{
    return (VkBufferImageCopy){ r->bufferOffset,     r->bufferRowLength, r->bufferImageHeight,
                                r->imageSubresource, r->imageOffset,     r->imageExtent };
}

static VkImageCopy image_region(const VkImageCopy2 *r)
{
    return (VkImageCopy){ r->srcSubresource, r->srcOffset, r->dstSubresource, r->dstOffset,
                          r->extent };
}

/* ---- by command buffers ---------------------------------------------------------------------- */

typedef struct CmdCopyTexels {
    HvCmd cmd;
    Copy copy;
} CmdCopyTexels;

static void run_copy(HvExec *x, const HvCmd *cmd)
{
    (void)x;
    copy_now(((const CmdCopyTexels *)cmd)->copy);
}

static void record(VkCommandBuffer buffer, Copy copy)
{
    CmdCopyTexels *c = command_move(HvCommandBuffer_of(buffer), sizeof *c, run_copy);
    if (c)
        c->copy = copy;
}

static void with_buffer(VkCommandBuffer commands, VkImage image, VkBuffer buffer, uint32_t n,
                        const VkBufferImageCopy *regions, bool to_image)
{
    const HvImage *m = HvImage_of(image);
    const HvBuffer *b = HvBuffer_of(buffer);
    for (uint32_t i = 0; m->data && b->data && i < n; i++)
        record(commands, memory_copy(m, b->data, &regions[i], to_image));
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyBufferToImage(VkCommandBuffer buffer, VkBuffer from,
                                                   VkImage to, VkImageLayout layout, uint32_t n,
                                                   const VkBufferImageCopy *regions)
{
    (void)layout;
    with_buffer(buffer, to, from, n, regions, true);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyBufferToImage2(VkCommandBuffer buffer,
                                                    const VkCopyBufferToImageInfo2 *info)
{
    for (uint32_t i = 0; i < info->regionCount; i++) {
        VkBufferImageCopy r = memory_region(&info->pRegions[i]);
        with_buffer(buffer, info->dstImage, info->srcBuffer, 1, &r, true);
    }
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyImageToBuffer(VkCommandBuffer buffer, VkImage from,
                                                   VkImageLayout layout, VkBuffer to, uint32_t n,
                                                   const VkBufferImageCopy *regions)
{
    (void)layout;
    with_buffer(buffer, from, to, n, regions, false);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyImageToBuffer2(VkCommandBuffer buffer,
                                                    const VkCopyImageToBufferInfo2 *info)
{
    for (uint32_t i = 0; i < info->regionCount; i++) {
        VkBufferImageCopy r = memory_region(&info->pRegions[i]);
        with_buffer(buffer, info->srcImage, info->dstBuffer, 1, &r, false);
    }
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyImage(VkCommandBuffer buffer, VkImage from,
                                           VkImageLayout from_layout, VkImage to,
                                           VkImageLayout to_layout, uint32_t n,
                                           const VkImageCopy *regions)
{
    (void)from_layout, (void)to_layout;
    Copy c[2];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t planes = image_copies(HvImage_of(from), HvImage_of(to), &regions[i], c);
        for (uint32_t k = 0; k < planes; k++)
            record(buffer, c[k]);
    }
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyImage2(VkCommandBuffer buffer, const VkCopyImageInfo2 *info)
{
    for (uint32_t i = 0; i < info->regionCount; i++) {
        VkImageCopy r = image_region(&info->pRegions[i]);
        hv_CmdCopyImage(buffer, info->srcImage, info->srcImageLayout, info->dstImage,
                        info->dstImageLayout, 1, &r);
    }
}

/* ---- by the host, at once -------------------------------------------------------------------- */

/* VK_HOST_IMAGE_COPY_MEMCPY: images lie as the program's memory does. */
VKAPI_ATTR VkResult VKAPI_CALL hv_CopyMemoryToImage(VkDevice device,
                                                    const VkCopyMemoryToImageInfo *info)
{
    (void)device;
    for (uint32_t i = 0; HvImage_of(info->dstImage)->data && i < info->regionCount; i++) {
        const VkMemoryToImageCopy *r = &info->pRegions[i];
        VkBufferImageCopy region = { 0,
                                     r->memoryRowLength,
                                     r->memoryImageHeight,
                                     r->imageSubresource,
                                     r->imageOffset,
                                     r->imageExtent };
        copy_now(memory_copy(HvImage_of(info->dstImage), (char *)(uintptr_t)r->pHostPointer,
                             &region, true));
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CopyImageToMemory(VkDevice device,
                                                    const VkCopyImageToMemoryInfo *info)
{
    (void)device;
    for (uint32_t i = 0; HvImage_of(info->srcImage)->data && i < info->regionCount; i++) {
        const VkImageToMemoryCopy *r = &info->pRegions[i];
        VkBufferImageCopy region = { 0,
                                     r->memoryRowLength,
                                     r->memoryImageHeight,
                                     r->imageSubresource,
                                     r->imageOffset,
                                     r->imageExtent };
        copy_now(memory_copy(HvImage_of(info->srcImage), r->pHostPointer, &region, false));
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CopyImageToImage(VkDevice device,
                                                   const VkCopyImageToImageInfo *info)
{
    (void)device;
    for (uint32_t i = 0; i < info->regionCount; i++) {
        VkImageCopy r = image_region(&info->pRegions[i]);
        Copy c[2];
        uint32_t n = image_copies(HvImage_of(info->srcImage), HvImage_of(info->dstImage), &r, c);
        for (uint32_t k = 0; k < n; k++)
            copy_now(c[k]);
    }
    return VK_SUCCESS;
}

/* All layouts are one. */
VKAPI_ATTR VkResult VKAPI_CALL hv_TransitionImageLayout(VkDevice device, uint32_t n,
                                                        const VkHostImageLayoutTransitionInfo *all)
{
    (void)device, (void)n, (void)all;
    return VK_SUCCESS;
}

/* ---- clearing -------------------------------------------------------------------------------- */

typedef struct CmdClear {
    HvCmd cmd;
    ImageLevel level;
    uint32_t layers, bytes;
    uint8_t texel[32];
} CmdClear;

static void run_clear(HvExec *x, const HvCmd *cmd)
{
    (void)x;
    const CmdClear *c = (const CmdClear *)cmd;
    const ImageLevel *v = &c->level;
    uint64_t n = v->layer / c->bytes * c->layers; /* side by side */
    for (uint64_t k = 0; k < n; k++)
        memcpy(v->base + k * c->bytes, c->texel, c->bytes);
}

static void clear(VkCommandBuffer buffer, const HvImage *m, const VkImageSubresourceRange *r,
                  const uint8_t texel[32])
{
    uint32_t levels = MIN(r->levelCount, m->levels - r->baseMipLevel);
    for (uint32_t k = 0; k < levels && m->data; k++) {
        CmdClear *c = command_move(HvCommandBuffer_of(buffer), sizeof *c, run_clear);
        if (!c)
            return;
        c->level = image_level(m, r->baseMipLevel + k, r->baseArrayLayer);
        c->layers = MIN(r->layerCount, m->layers - r->baseArrayLayer);
        c->bytes = m->texel;
        memcpy(c->texel, texel, sizeof c->texel);
    }
}

VKAPI_ATTR void VKAPI_CALL hv_CmdClearColorImage(VkCommandBuffer buffer, VkImage image,
                                                 VkImageLayout layout,
                                                 const VkClearColorValue *color, uint32_t n,
                                                 const VkImageSubresourceRange *ranges)
{
    const HvImage *m = HvImage_of(image);
    uint8_t texel[32] = { 0 };
    (void)layout;
    if (m->format->bits[0] == 64) /* the value is two numbers of 64 bits */
        memcpy(texel, color, MIN(m->texel, sizeof *color));
    else
        texel_store(m->format, texel, color->uint32);
    for (uint32_t i = 0; i < n; i++)
        clear(buffer, m, &ranges[i], texel);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdClearDepthStencilImage(VkCommandBuffer buffer, VkImage image,
                                                        VkImageLayout layout,
                                                        const VkClearDepthStencilValue *value,
                                                        uint32_t n,
                                                        const VkImageSubresourceRange *ranges)
{
    (void)layout;
    for (uint32_t i = 0; i < n; i++) {
        VkImageAspectFlags left = ranges[i].aspectMask;
        for (; left; left &= left - 1) {
            HvImage m = image_plane(HvImage_of(image), left & -left);
            uint32_t x[4] = { texel_is_integer(m.format) ? value->stencil
                                                         : texel_bits(value->depth) };
            uint8_t texel[32] = { 0 };
            texel_store(m.format, texel, x);
            clear(buffer, &m, &ranges[i], texel);
        }
    }
}
