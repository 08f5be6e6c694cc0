/* SPDX-License-Identifier: MIT
 *
 * Device memory, which is host memory, and buffers, which are pieces of it. A buffer's device
 * address is its address.
 */
#include "vulkan/vk.h"

/* What VK_EXT_memory_budget reports is the process's, whatever instance took it. */
static atomic_uint_fast64_t in_use;
uint64_t memory_in_use(void) { return atomic_load(&in_use); }

static VkResult of_heddle(HeddleResult r, bool imported)
{
    if (r == HEDDLE_OK)
        return VK_SUCCESS;
    return imported ? VK_ERROR_INVALID_EXTERNAL_HANDLE : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

/* Counts the memory as taken; false when there is less left than that. Imported memory is the
 * program's, and counts whether it fits or not. */
static bool take(const HvPhysical *p, uint64_t size, bool imported)
{
    if (!imported && size > p->memory)
        return false;
    uint64_t taken = atomic_fetch_add(&in_use, size);
    if (imported || (taken <= p->memory && size <= p->memory - taken))
        return true;
    atomic_fetch_sub(&in_use, size);
    return false;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                 const VkAllocationCallbacks *alloc,
                                                 VkDeviceMemory *out)
{
    HvDevice *d = HvDevice_of(device);
    *out = VK_NULL_HANDLE;
    const VkImportMemoryHostPointerInfoEXT *import =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    bool imported = import && import->handleType;
    HvMemory *m = object_new(alloc, &d->alloc, sizeof *m, VK_OBJECT_TYPE_DEVICE_MEMORY);
    if (!m)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    m->size = info->allocationSize;
    HeddleDevice *h = d->physical->heddle;
    if (!take(d->physical, m->size, imported)) {
        object_free(alloc, &d->alloc, m);
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    HeddleResult r = imported
                         ? heddle_buffer_wrap(h, import->pHostPointer, m->size, &m->buffer, NULL)
                         : heddle_buffer_new(h, MAX(m->size, 1), &m->buffer, NULL);
    if (r) {
        atomic_fetch_sub(&in_use, m->size);
        object_free(alloc, &d->alloc, m);
        return of_heddle(r, imported);
    }
    m->data = heddle_buffer_data(m->buffer);
    *out = TO_HANDLE(VkDeviceMemory, m);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_FreeMemory(VkDevice device, VkDeviceMemory memory,
                                         const VkAllocationCallbacks *alloc)
{
    HvMemory *m = HvMemory_of(memory);
    if (!m)
        return;
    HvDevice *d = HvDevice_of(device);
    atomic_fetch_sub(&in_use, m->size);
    heddle_buffer_free(m->buffer);
    object_free(alloc, &d->alloc, m);
}

/* What is paged, the operating system decides. */
VKAPI_ATTR void VKAPI_CALL hv_SetDeviceMemoryPriorityEXT(VkDevice device, VkDeviceMemory memory,
                                                         float priority)
{
    (void)device, (void)memory, (void)priority;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_MapMemory(VkDevice device, VkDeviceMemory memory,
                                            VkDeviceSize offset, VkDeviceSize size,
                                            VkMemoryMapFlags flags, void **out)
{
    (void)device, (void)size, (void)flags;
    *out = HvMemory_of(memory)->data + offset;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_UnmapMemory(VkDevice device, VkDeviceMemory memory)
{
    (void)device, (void)memory;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_MapMemory2(VkDevice device, const VkMemoryMapInfo *info,
                                             void **out)
{
    return hv_MapMemory(device, info->memory, info->offset, info->size, info->flags, out);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_UnmapMemory2(VkDevice device, const VkMemoryUnmapInfo *info)
{
    hv_UnmapMemory(device, info->memory);
    return VK_SUCCESS;
}

/* All memory is coherent. */
VKAPI_ATTR VkResult VKAPI_CALL hv_FlushMappedMemoryRanges(VkDevice device, uint32_t n,
                                                          const VkMappedMemoryRange *ranges)
{
    (void)device, (void)n, (void)ranges;
    atomic_thread_fence(memory_order_seq_cst);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_InvalidateMappedMemoryRanges(VkDevice device, uint32_t n,
                                                               const VkMappedMemoryRange *ranges)
{
    return hv_FlushMappedMemoryRanges(device, n, ranges);
}

VKAPI_ATTR void VKAPI_CALL hv_GetDeviceMemoryCommitment(VkDevice device, VkDeviceMemory memory,
                                                        VkDeviceSize *out)
{
    (void)device;
    *out = HvMemory_of(memory)->size;
}

VKAPI_ATTR uint64_t VKAPI_CALL hv_GetDeviceMemoryOpaqueCaptureAddress(
    VkDevice device, const VkDeviceMemoryOpaqueCaptureAddressInfo *info)
{
    (void)device;
    return (uint64_t)(uintptr_t)HvMemory_of(info->memory)->data;
}

VKAPI_ATTR VkResult VKAPI_CALL
hv_GetMemoryHostPointerPropertiesEXT(VkDevice device, VkExternalMemoryHandleTypeFlagBits type,
                                     const void *pointer, VkMemoryHostPointerPropertiesEXT *out)
{
    (void)device;
    bool host = is_host_memory(type);
    out->memoryTypeBits = host && (uintptr_t)pointer % 64 == 0;
    return host ? VK_SUCCESS : VK_ERROR_INVALID_EXTERNAL_HANDLE;
}

/* ---- buffers --------------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateBuffer(VkDevice device, const VkBufferCreateInfo *info,
                                               const VkAllocationCallbacks *alloc, VkBuffer *out)
{
    HvDevice *d = HvDevice_of(device);
    *out = VK_NULL_HANDLE;
    if (info->size > MAX_MEMORY)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    HvBuffer *b = object_new(alloc, &d->alloc, sizeof *b, VK_OBJECT_TYPE_BUFFER);
    if (!b)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    b->size = info->size;
    *out = TO_HANDLE(VkBuffer, b);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyBuffer(VkDevice device, VkBuffer buffer,
                                            const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvBuffer_of(buffer));
}

VkMemoryRequirements memory_requirements(uint64_t size)
{
    return (VkMemoryRequirements){ align_up(size, BUFFER_ALIGNMENT), BUFFER_ALIGNMENT, 1 };
}

void memory_requirements2(uint64_t size, VkMemoryRequirements2 *out)
{
    out->memoryRequirements = memory_requirements(size);
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS) {
            VkMemoryDedicatedRequirements *r = (void *)s;
            r->prefersDedicatedAllocation = r->requiresDedicatedAllocation = VK_FALSE;
        }
    }
}

VKAPI_ATTR void VKAPI_CALL hv_GetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                          VkMemoryRequirements *out)
{
    (void)device;
    *out = memory_requirements(HvBuffer_of(buffer)->size);
}

VKAPI_ATTR void VKAPI_CALL hv_GetBufferMemoryRequirements2(
    VkDevice device, const VkBufferMemoryRequirementsInfo2 *info, VkMemoryRequirements2 *out)
{
    (void)device;
    memory_requirements2(HvBuffer_of(info->buffer)->size, out);
}

VKAPI_ATTR void VKAPI_CALL hv_GetDeviceBufferMemoryRequirements(
    VkDevice device, const VkDeviceBufferMemoryRequirements *info, VkMemoryRequirements2 *out)
{
    (void)device;
    memory_requirements2(info->pCreateInfo->size, out);
}

void memory_bind(char **data, VkDeviceMemory memory, VkDeviceSize offset, const void *chain)
{
    const VkBindMemoryStatus *status = chain_find(chain, VK_STRUCTURE_TYPE_BIND_MEMORY_STATUS);
    *data = HvMemory_of(memory)->data + offset;
    if (status)
        *status->pResult = VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_BindBufferMemory(VkDevice device, VkBuffer buffer,
                                                   VkDeviceMemory memory, VkDeviceSize offset)
{
    (void)device;
    memory_bind(&HvBuffer_of(buffer)->data, memory, offset, NULL);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_BindBufferMemory2(VkDevice device, uint32_t n,
                                                    const VkBindBufferMemoryInfo *infos)
{
    (void)device;
    for (uint32_t i = 0; i < n; i++)
        memory_bind(&HvBuffer_of(infos[i].buffer)->data, infos[i].memory, infos[i].memoryOffset,
                    infos[i].pNext);
    return VK_SUCCESS;
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL
hv_GetBufferDeviceAddress(VkDevice device, const VkBufferDeviceAddressInfo *info)
{
    (void)device;
    return (VkDeviceAddress)(uintptr_t)HvBuffer_of(info->buffer)->data;
}

VKAPI_ATTR uint64_t VKAPI_CALL
hv_GetBufferOpaqueCaptureAddress(VkDevice device, const VkBufferDeviceAddressInfo *info)
{
    return hv_GetBufferDeviceAddress(device, info);
}
