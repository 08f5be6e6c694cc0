/* SPDX-License-Identifier: MIT
 *
 * Compiled kernels by key, and VkPipelineCache around them. The key is a hash of all that decides
 * the machine code: module, entry point, specialisation, subgroup size, robustness.
 */
#include <stdlib.h>

#include "vulkan/vk.h"

Kernel *kernel_retain(Kernel *k)
{
    atomic_fetch_add(&k->references, 1);
    return k;
}

void kernel_release(Kernel *k)
{
    if (k && atomic_fetch_sub(&k->references, 1) == 1) {
        heddle_kernel_free(k->heddle);
        free(k);
    }
}

bool cache_init(Cache *c, uint32_t limit)
{
    c->limit = limit;
    return pthread_mutex_init(&c->lock, NULL) == 0;
}

void cache_finish(Cache *c)
{
    for (uint32_t i = 0; i < c->capacity; i++)
        kernel_release(c->kernels[i]);
    free(c->kernels);
    pthread_mutex_destroy(&c->lock);
}

/* The kernel's place, or the free one where it would be. There is always one. */
static Kernel **place(Kernel **kernels, uint32_t capacity, const KernelKey *key)
{
    uint32_t i = (uint32_t)key->hash[0] & (capacity - 1);
    while (kernels[i] && memcmp(&kernels[i]->key, key, sizeof *key))
        i = (i + 1) & (capacity - 1);
    return &kernels[i];
}

/* Moves all, or with a limit reached those in use, to a table of `capacity`. */
static bool rehash(Cache *c, uint32_t capacity)
{
    Kernel **fresh = calloc(capacity, sizeof *fresh);
    if (!fresh)
        return false;
    bool drop = c->limit && c->n_kernels >= c->limit;
    c->n_kernels = 0;
    for (uint32_t i = 0; i < c->capacity; i++) {
        Kernel *k = c->kernels[i];
        if (k && drop && atomic_load(&k->references) == 1) {
            kernel_release(k);
        } else if (k) {
            *place(fresh, capacity, &k->key) = k;
            c->n_kernels++;
        }
    }
    free(c->kernels);
    c->kernels = fresh;
    c->capacity = capacity;
    return true;
}

Kernel *cache_find(Cache *c, const KernelKey *key)
{
    pthread_mutex_lock(&c->lock);
    Kernel *k = c->capacity ? *place(c->kernels, c->capacity, key) : NULL;
    if (k)
        kernel_retain(k);
    pthread_mutex_unlock(&c->lock);
    return k;
}

void cache_add(Cache *c, Kernel *k)
{
    pthread_mutex_lock(&c->lock);
    bool room = c->n_kernels < c->capacity / 2 || rehash(c, MAX(64, c->capacity * 2));
    if (room) {
        Kernel **at = place(c->kernels, c->capacity, &k->key);
        if (!*at) {
            *at = kernel_retain(k);
            c->n_kernels++;
        }
    }
    pthread_mutex_unlock(&c->lock);
}

/* ---- VkPipelineCache ------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreatePipelineCache(VkDevice device,
                                                      const VkPipelineCacheCreateInfo *info,
                                                      const VkAllocationCallbacks *alloc,
                                                      VkPipelineCache *out)
{
    (void)info;
    Device *d = Device_of(device);
    Cache *c = object_new(alloc, &d->alloc, sizeof *c, VK_OBJECT_TYPE_PIPELINE_CACHE);
    *out = TO_HANDLE(VkPipelineCache, c);
    if (c && cache_init(c, 0))
        return VK_SUCCESS;
    *out = VK_NULL_HANDLE;
    object_free(alloc, &d->alloc, c);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyPipelineCache(VkDevice device, VkPipelineCache cache,
                                                   const VkAllocationCallbacks *alloc)
{
    Cache *c = Cache_of(cache);
    if (!c)
        return;
    cache_finish(c);
    object_free(alloc, &Device_of(device)->alloc, c);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_MergePipelineCaches(VkDevice device, VkPipelineCache to,
                                                      uint32_t n, const VkPipelineCache *from)
{
    (void)device;
    for (uint32_t i = 0; i < n; i++) {
        Cache *c = Cache_of(from[i]);
        for (uint32_t k = 0; k < c->capacity; k++) {
            if (c->kernels[k])
                cache_add(Cache_of(to), c->kernels[k]);
        }
    }
    return VK_SUCCESS;
}

/* VkPipelineCacheHeaderVersionOne. */
VKAPI_ATTR VkResult VKAPI_CALL hv_GetPipelineCacheData(VkDevice device, VkPipelineCache cache,
                                                       size_t *size, void *out)
{
    (void)cache;
    VkPhysicalDeviceProperties p;
    hv_GetPhysicalDeviceProperties((VkPhysicalDevice)Device_of(device)->physical, &p);
    VkPipelineCacheHeaderVersionOne header = {
        .headerSize = sizeof header, .headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE,
        .vendorID = p.vendorID, .deviceID = p.deviceID };
    memcpy(header.pipelineCacheUUID, p.pipelineCacheUUID, VK_UUID_SIZE);
    if (!out) {
        *size = sizeof header;
        return VK_SUCCESS;
    }
    if (*size < sizeof header) {
        *size = 0;
        return VK_INCOMPLETE;
    }
    *size = sizeof header;
    memcpy(out, &header, sizeof header);
    return VK_SUCCESS;
}
