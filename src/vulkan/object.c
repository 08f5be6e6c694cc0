/* SPDX-License-Identifier: MIT
 *
 * What all objects share: names and private data.
 */
#include <stdlib.h>

#include "vulkan/vk.h"

/* ---- objects --------------------------------------------------------------------------------- */

void *object_new(const HvAlloc *own, const HvAlloc *parent, size_t size, VkObjectType type)
{
    HvBase *b = host_alloc(own, parent, size, VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
    if (b) {
        set_loader_magic_value(b);
        b->type = type;
    }
    return b;
}

void object_free(const HvAlloc *own, const HvAlloc *parent, void *object)
{
    HvBase *b = object;
    if (!b)
        return;
    free(b->name);
    free(b->data);
    host_free(own, parent, b);
}

char *names_copy(const HvAlloc *alloc, const char *const *names, uint32_t n,
                 VkSystemAllocationScope scope)
{
    size_t size = 1;
    for (uint32_t i = 0; i < n; i++)
        size += strlen(names[i]) + 1;
    char *copy = host_alloc(NULL, alloc, size, scope), *at = copy;
    for (uint32_t i = 0; at && i < n; i++)
        at = stpcpy(at, names[i]) + 1;
    return copy;
}

/* ---- private data ---------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreatePrivateDataSlot(VkDevice device,
                                                        const VkPrivateDataSlotCreateInfo *info,
                                                        const VkAllocationCallbacks *alloc,
                                                        VkPrivateDataSlot *out)
{
    (void)info;
    HvDevice *d = HvDevice_of(device);
    HvPrivateSlot *s = object_new(alloc, &d->alloc, sizeof *s, VK_OBJECT_TYPE_PRIVATE_DATA_SLOT);
    if (!s)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    s->id = atomic_fetch_add(&d->next_slot, 1);
    *out = TO_HANDLE(VkPrivateDataSlot, s);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyPrivateDataSlot(VkDevice device, VkPrivateDataSlot slot,
                                                     const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvPrivateSlot_of(slot));
}

/* Slots are numbered once and for all, so what an object still holds of a destroyed one is never
 * found. */
static HvDatum *find_datum(HvBase *b, uint64_t slot)
{
    for (uint32_t i = 0; i < b->n_data; i++) {
        if (b->data[i].slot == slot)
            return &b->data[i];
    }
    return NULL;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_SetPrivateData(VkDevice device, VkObjectType type,
                                                 uint64_t handle, VkPrivateDataSlot slot,
                                                 uint64_t value)
{
    (void)type;
    HvDevice *d = HvDevice_of(device);
    HvBase *b = (HvBase *)(uintptr_t)handle;
    uint64_t id = HvPrivateSlot_of(slot)->id;
    VkResult result = VK_SUCCESS;
    pthread_mutex_lock(&d->lock);
    HvDatum *at = find_datum(b, id);
    if (!at) {
        HvDatum *more = realloc(b->data, (b->n_data + 1) * sizeof *more);
        if (more) {
            b->data = more;
            at = &more[b->n_data++];
        }
    }
    if (at)
        *at = (HvDatum){ id, value };
    else
        result = VK_ERROR_OUT_OF_HOST_MEMORY;
    pthread_mutex_unlock(&d->lock);
    return result;
}

VKAPI_ATTR void VKAPI_CALL hv_GetPrivateData(VkDevice device, VkObjectType type, uint64_t handle,
                                             VkPrivateDataSlot slot, uint64_t *value)
{
    (void)type;
    HvDevice *d = HvDevice_of(device);
    pthread_mutex_lock(&d->lock);
    const HvDatum *at = find_datum((HvBase *)(uintptr_t)handle, HvPrivateSlot_of(slot)->id);
    *value = at ? at->value : 0;
    pthread_mutex_unlock(&d->lock);
}

/* ---- names ----------------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL
hv_SetDebugUtilsObjectNameEXT(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    pthread_mutex_t *lock = &HvDevice_of(device)->instance->lock;
    HvBase *b = (HvBase *)(uintptr_t)info->objectHandle;
    if (!b || b->type != info->objectType) /* an instance's handle may be the loader's own */
        return VK_SUCCESS;
    char *name = NULL;
    if (info->pObjectName && *info->pObjectName && !(name = strdup(info->pObjectName)))
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    pthread_mutex_lock(lock);
    free(b->name);
    b->name = name;
    pthread_mutex_unlock(lock);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
hv_SetDebugUtilsObjectTagEXT(VkDevice device, const VkDebugUtilsObjectTagInfoEXT *info)
{
    (void)device, (void)info;
    return VK_SUCCESS;
}
