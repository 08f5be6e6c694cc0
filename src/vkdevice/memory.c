/* SPDX-License-Identifier: MIT
 *
 * Buffers, each with memory of its own. What the program wraps is copied to the device before a
 * dispatch that uses it, and back behind one that may have written there.
 */
#include <stdlib.h>

#include "vkdevice/vkdevice.h"

enum { STAGING = 1 << 24 };

/* ---- buffers --------------------------------------------------------------------------------- */

/* The first type of those allowed that has all of the one, else of the other. */
static uint32_t type_of(const VkdDevice *d, uint32_t allowed, VkMemoryPropertyFlags better,
                        VkMemoryPropertyFlags good)
{
    const VkMemoryPropertyFlags wanted[] = { better, good };
    const VkPhysicalDeviceMemoryProperties *m = &d->facts.memory;
    for (size_t w = 0; w < COUNT_OF(wanted); w++)
        for (uint32_t k = 0; k < m->memoryTypeCount; k++)
            if (allowed >> k & 1 && (m->memoryTypes[k].propertyFlags & wanted[w]) == wanted[w])
                return k;
    return UINT32_MAX;
}

static const VkMemoryPropertyFlags seen =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

static VkResult allocate(VkdDevice *d, VkdPiece *p, bool mapped)
{
    VkMemoryRequirements need;
    d->GetBufferMemoryRequirements(d->handle, p->buffer, &need);
    VkMemoryPropertyFlags better =
        mapped ? seen | VK_MEMORY_PROPERTY_HOST_CACHED_BIT : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    uint32_t type = type_of(d, need.memoryTypeBits, better, mapped ? seen : 0);
    VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
    VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .pNext = d->address_of ? &flags : NULL,
                                  .allocationSize = need.size,
                                  .memoryTypeIndex = type };
    if (type == UINT32_MAX)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkResult r = d->AllocateMemory(d->handle, &info, NULL, &p->memory);
    r = r ? r : d->BindBufferMemory(d->handle, p->buffer, p->memory, 0);
    return r || !mapped ? r : d->MapMemory(d->handle, p->memory, 0, VK_WHOLE_SIZE, 0, &p->mapped);
}

static void destroy(VkdDevice *d, VkdPiece *p)
{
    d->DestroyBuffer(d->handle, p->buffer, NULL);
    d->FreeMemory(d->handle, p->memory, NULL);
    free(p);
}

/* Without an address, and on no list. NULL where there is no memory. */
static VkdPiece *new_buffer(VkdDevice *d, uint64_t size, bool mapped)
{
    VkBufferUsageFlags address = d->address_of ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0;
    VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = align_up(size, 16),
                                .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                         VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_DST_BIT | address };
    VkdPiece *p = size <= UINT64_MAX - 16 ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return NULL;
    p->size = size;
    if (!d->CreateBuffer(d->handle, &info, NULL, &p->buffer) && !allocate(d, p, mapped))
        return p;
    destroy(d, p);
    return NULL;
}

/* Addresses that no kernel sees, where the device gives none: they tell pieces apart. */
static uint64_t made_up_address(VkdDevice *d, uint64_t size)
{
    uint64_t at = d->next_address;
    d->next_address = align_up(at + size + (1 << 16), 1 << 16);
    return at;
}

static void add_piece(VkdDevice *d, VkdPiece *p)
{
    VkBufferDeviceAddressInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                       .buffer = p->buffer };
    pthread_mutex_lock(&d->lock);
    p->address = d->address_of ? d->address_of(d->handle, &info) : made_up_address(d, p->size);
    p->next = d->pieces;
    if (p->next)
        p->next->prev = p;
    d->pieces = p;
    pthread_mutex_unlock(&d->lock);
}

VkdPiece *vkd_find(VkdDevice *d, uint64_t address)
{
    pthread_mutex_lock(&d->lock);
    VkdPiece *p = d->pieces;
    while (p && (address < p->address || address - p->address >= p->size))
        p = p->next;
    pthread_mutex_unlock(&d->lock);
    return p;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static HeddleResult copy_part(VkdDevice *d, const VkdPiece *p, const VkdPiece *staging,
                              const VkBufferCopy *region, bool to_device, DiagSink *sink)
{
    VkdJob *j = vkd_begin(d, sink);
    VkBufferCopy turned = { region->dstOffset, region->srcOffset, region->size };
    if (!j)
        return HEDDLE_ERROR_RUN;
    if (to_device)
        d->CmdCopyBuffer(j->commands, staging->buffer, p->buffer, 1, region);
    else
        d->CmdCopyBuffer(j->commands, p->buffer, staging->buffer, 1, &turned);
    return vkd_run(d, j, sink);
}

HeddleResult vkd_copy(VkdDevice *d, VkdPiece *p, const VkdSpan *span, bool to_device,
                      DiagSink *sink)
{
    char *host = span->data, *mapped = p->mapped;
    uint64_t offset = span->offset, size = span->size;
    if (mapped) {
        memcpy(to_device ? mapped + offset : host, to_device ? host : mapped + offset, size);
        return HEDDLE_OK;
    }
    VkdPiece *staging = new_buffer(d, MIN(size, STAGING), true);
    if (!staging)
        return vkd_failed(d, VK_ERROR_OUT_OF_HOST_MEMORY, "copying a buffer", sink);
    HeddleResult r = HEDDLE_OK;
    for (uint64_t done = 0, part; done < size && !r; done += part) {
        part = MIN(size - done, STAGING);
        VkBufferCopy region = { .dstOffset = offset + done, .size = part };
        if (to_device)
            memcpy(staging->mapped, host + done, part);
        r = copy_part(d, p, staging, &region, to_device, sink);
        if (!r && !to_device)
            memcpy(host + done, staging->mapped, part);
    }
    destroy(d, staging);
    return r;
}

static bool clear(VkdDevice *d, VkdPiece *p)
{
    DiagSink silent = { 0 };
    if (p->mapped) {
        memset(p->mapped, 0, p->size);
        return true;
    }
    VkdJob *j = vkd_begin(d, &silent);
    if (j)
        d->CmdFillBuffer(j->commands, p->buffer, 0, VK_WHOLE_SIZE, 0);
    return j && !vkd_run(d, j, &silent);
}

/* ---- a device's operations ------------------------------------------------------------------- */

bool vkd_alloc(DeviceBase *base, uint64_t size, HeddlePlacement placement, DeviceMemory *out)
{
    VkdDevice *d = (VkdDevice *)base;
    VkdPiece *p = new_buffer(d, size, placement == HEDDLE_PLACEMENT_HOST || d->unified);
    if (!p)
        return false;
    if (!clear(d, p)) {
        destroy(d, p);
        return false;
    }
    add_piece(d, p);
    *out = (DeviceMemory){ .address = p->address, .size = size, .host = p->mapped, .own = p };
    return true;
}

bool vkd_wrap(DeviceBase *base, void *data, uint64_t size, DeviceMemory *out)
{
    VkdDevice *d = (VkdDevice *)base;
    VkdPiece *p = new_buffer(d, size, d->unified);
    if (!p)
        return false;
    p->wrapped = data;
    add_piece(d, p);
    *out = (DeviceMemory){ .address = p->address, .size = size, .host = data, .own = p };
    return true;
}

void vkd_free(DeviceBase *base, DeviceMemory *m)
{
    VkdDevice *d = (VkdDevice *)base;
    VkdPiece *p = m->own;
    pthread_mutex_lock(&d->lock);
    if (p->next)
        p->next->prev = p->prev;
    if (p->prev)
        p->prev->next = p->next;
    else
        d->pieces = p->next;
    bool stuck = d->stuck;
    pthread_mutex_unlock(&d->lock);
    if (!stuck)
        destroy(d, p);
}

HeddleResult vkd_read(DeviceBase *d, const DeviceMemory *m, uint64_t offset, void *to,
                      uint64_t size, DiagSink *sink)
{
    return vkd_copy((VkdDevice *)d, m->own, &(VkdSpan){ offset, size, to }, false, sink);
}

HeddleResult vkd_write(DeviceBase *d, const DeviceMemory *m, uint64_t offset, const void *from,
                       uint64_t size, DiagSink *sink)
{
    VkdSpan span = { offset, size, (void *)(uintptr_t)from };
    return vkd_copy((VkdDevice *)d, m->own, &span, true, sink);
}
