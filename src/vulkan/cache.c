/* SPDX-License-Identifier: MIT
 *
 * Compiled kernels by key, and VkPipelineCache around them. The key is a hash of all that decides
 * the machine code: module, entry point, specialisation, subgroup size, robustness.
 */
#include <stdio.h>
#include <stdlib.h>

#include "vulkan/vk.h"

static void code_release(DeviceKernel *code)
{
    if (code)
        code->device->ops->release(code);
}

HvKernel *kernel_new(const DeviceKey *key, HeddleKernel *heddle, DeviceKernel *code)
{
    HvKernel *k = calloc(1, sizeof *k);
    if (!k) {
        heddle_kernel_free(heddle);
        code_release(code);
        return NULL;
    }
    *k = (HvKernel){ .references = 1, .key = *key, .heddle = heddle, .code = code };
    if (heddle)
        k->code = heddle->code;
    return k;
}

HvKernel *kernel_retain(HvKernel *k)
{
    atomic_fetch_add(&k->references, 1);
    return k;
}

void kernel_release(HvKernel *k)
{
    if (!k)
        return;
    atomic_store(&k->left, clock_ns());
    if (atomic_fetch_sub(&k->references, 1) != 1)
        return;
    device_keep(&k->folder, k->code, &k->key);
    if (k->heddle)
        heddle_kernel_free(k->heddle);
    else
        code_release(k->code);
    free(k);
}

bool cache_init(HvCache *c, uint64_t limit)
{
    c->limit = limit;
    return pthread_mutex_init(&c->lock, NULL) == 0;
}

void cache_finish(HvCache *c)
{
    for (uint32_t i = 0; i < c->capacity; i++)
        kernel_release(c->kernels[i]);
    free(c->kernels);
    free(c->stored);
    pthread_mutex_destroy(&c->lock);
}

/* Bytes that the kernel costs, about: its object and the code made of it, and what LLVM's linker
 * keeps for each (measured). */
static uint64_t cost(const HvKernel *k) { return 160 * 1024 + k->code->cost; }

/* The kernel's place, or the free one where it would be. There is always one. */
static HvKernel **place(HvKernel **kernels, uint32_t capacity, const DeviceKey *key)
{
    uint32_t i = (uint32_t)key->hash[0] & (capacity - 1);
    while (kernels[i] && memcmp(&kernels[i]->key, key, sizeof *key))
        i = (i + 1) & (capacity - 1);
    return &kernels[i];
}

static bool grow(HvCache *c)
{
    uint32_t capacity = MAX(64, c->capacity * 2);
    HvKernel **fresh = calloc(capacity, sizeof *fresh);
    if (!fresh)
        return false;
    for (uint32_t i = 0; i < c->capacity; i++) {
        if (c->kernels[i])
            *place(fresh, capacity, &c->kernels[i]->key) = c->kernels[i];
    }
    free(c->kernels);
    c->kernels = fresh;
    c->capacity = capacity;
    return true;
}

/* Takes the kernel at the place out; those behind it that it kept from theirs move up. */
static void drop(HvCache *c, HvKernel **at)
{
    uint32_t i = (uint32_t)(at - c->kernels);
    c->bytes -= cost(*at);
    c->n_kernels--;
    kernel_release(*at);
    *at = NULL;
    for (HvKernel *k; (k = c->kernels[i = (i + 1) & (c->capacity - 1)]);) {
        c->kernels[i] = NULL;
        *place(c->kernels, c->capacity, &k->key) = k;
    }
}

/* Under the lock. A kernel that nobody else holds stays so: only cache_find gives it away. */
static void trim(HvCache *c)
{
    while (c->bytes > c->limit) {
        HvKernel **oldest = NULL;
        for (uint32_t i = 0; i < c->capacity; i++) {
            HvKernel **k = &c->kernels[i];
            if (*k && atomic_load(&(*k)->references) == 1 &&
                (!oldest || atomic_load(&(*k)->left) < atomic_load(&(*oldest)->left)))
                oldest = k;
        }
        if (!oldest)
            return;
        drop(c, oldest);
    }
}

/* ---- kernels as bytes ------------------------------------------------------------------------ */

/* Before each kernel in stored data; the kernel's bytes follow, padded to 8. */
typedef struct Entry {
    DeviceKey key;
    uint64_t size;
} Entry;

static size_t entry_size(uint64_t kernel) { return sizeof(Entry) + align_up(kernel, 8); }

/* The entry at *at, which moves behind it; NULL at the end, or where there is no whole one. */
static const char *next_entry(const char *data, size_t size, size_t *at, Entry *e)
{
    if (size - *at < sizeof *e)
        return NULL;
    memcpy(e, data + *at, sizeof *e);
    if (e->size > size || entry_size(e->size) > size - *at)
        return NULL;
    const char *kernel = data + *at + sizeof *e;
    *at += entry_size(e->size);
    return kernel;
}

static HvKernel *load_kernel(DeviceBase *d, const DeviceKey *key, const void *data, size_t size)
{
    DeviceKernel *code = device_load(d, NULL, data, size);
    return code ? kernel_new(key, NULL, code) : NULL;
}

static HvKernel *find_stored(const HvCache *c, DeviceBase *d, const DeviceKey *key)
{
    Entry e;
    size_t at = 0;
    for (const char *k; (k = next_entry(c->stored, c->stored_size, &at, &e));) {
        if (!memcmp(&e.key, key, sizeof *key))
            return load_kernel(d, key, k, e.size);
    }
    return NULL;
}

HvKernel *folder_find(const char *folder, DeviceBase *d, const DeviceKey *key)
{
    DeviceKernel *code = device_find_stored(folder, d, NULL, key);
    return code ? kernel_new(key, NULL, code) : NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

HvKernel *cache_find(HvCache *c, DeviceBase *d, const DeviceKey *key)
{
    pthread_mutex_lock(&c->lock);
    HvKernel *k = c->capacity ? *place(c->kernels, c->capacity, key) : NULL;
    if (k)
        kernel_retain(k);
    else if (c->stored)
        k = find_stored(c, d, key);
    pthread_mutex_unlock(&c->lock);
    return k;
}

void cache_add(HvCache *c, HvKernel *k)
{
    pthread_mutex_lock(&c->lock);
    bool room = c->n_kernels < c->capacity / 2 || grow(c);
    if (room) {
        HvKernel **at = place(c->kernels, c->capacity, &k->key);
        if (!*at) {
            *at = kernel_retain(k);
            c->n_kernels++;
            c->bytes += cost(k);
        }
    }
    trim(c);
    pthread_mutex_unlock(&c->lock);
}

void cache_release(HvCache *c, HvKernel *k)
{
    pthread_mutex_lock(&c->lock);
    kernel_release(k);
    trim(c);
    pthread_mutex_unlock(&c->lock);
}

void cache_report(const HvCache *c, void (*tell)(void *user, const char *line), void *user)
{
    for (uint32_t i = 0; i < c->capacity; i++) {
        const HvKernel *k = c->kernels[i];
        char line[512];
        if (!k || !k->runs)
            continue;
        snprintf(line, sizeof line,
                 "%s: %llu dispatches, %.3f ms, %.1f GFLOP in %llu multiply-adds, %llu loads and "
                 "%llu stores of matrices, %llu conversions, %llu barriers",
                 k->name, (unsigned long long)k->runs, (double)k->ns * 1e-6,
                 (double)k->stats[DEVICE_STAT_FLOPS] * 1e-9,
                 (unsigned long long)k->stats[DEVICE_STAT_MULADDS],
                 (unsigned long long)k->stats[DEVICE_STAT_MATRIX_LOADS],
                 (unsigned long long)k->stats[DEVICE_STAT_MATRIX_STORES],
                 (unsigned long long)k->stats[DEVICE_STAT_CONVERSIONS],
                 (unsigned long long)k->stats[DEVICE_STAT_BARRIERS]);
        tell(user, line);
    }
}

/* ---- VkPipelineCache ------------------------------------------------------------------------- */

typedef VkPipelineCacheHeaderVersionOne CacheHeader;

static CacheHeader header_of(const HvDevice *d)
{
    VkPhysicalDeviceProperties p;
    hv_GetPhysicalDeviceProperties((VkPhysicalDevice)d->physical, &p);
    CacheHeader h = { .headerSize = sizeof h,
                      .headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE,
                      .vendorID = p.vendorID,
                      .deviceID = p.deviceID };
    memcpy(h.pipelineCacheUUID, p.pipelineCacheUUID, VK_UUID_SIZE);
    return h;
}

/* Keeps what follows this driver's header; anybody else's data is as good as none. */
static void keep_stored(HvCache *c, const HvDevice *d, const void *data, size_t size)
{
    CacheHeader ours = header_of(d);
    if (size <= sizeof ours || memcmp(data, &ours, sizeof ours))
        return;
    c->stored = malloc(size - sizeof ours);
    if (c->stored) {
        c->stored_size = size - sizeof ours;
        memcpy(c->stored, (const char *)data + sizeof ours, c->stored_size);
    }
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CreatePipelineCache(VkDevice device,
                                                      const VkPipelineCacheCreateInfo *info,
                                                      const VkAllocationCallbacks *alloc,
                                                      VkPipelineCache *out)
{
    HvDevice *d = HvDevice_of(device);
    HvCache *c = object_new(alloc, &d->alloc, sizeof *c, VK_OBJECT_TYPE_PIPELINE_CACHE);
    *out = TO_HANDLE(VkPipelineCache, c);
    if (c && cache_init(c, UINT64_MAX)) {
        keep_stored(c, d, info->pInitialData, info->initialDataSize);
        return VK_SUCCESS;
    }
    *out = VK_NULL_HANDLE;
    object_free(alloc, &d->alloc, c);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyPipelineCache(VkDevice device, VkPipelineCache cache,
                                                   const VkAllocationCallbacks *alloc)
{
    HvCache *c = HvCache_of(cache);
    if (!c)
        return;
    cache_finish(c);
    object_free(alloc, &HvDevice_of(device)->alloc, c);
}

/* All that a cache has in memory, retained; NULL: out of memory. Nobody locks two caches at once:
 * another thread may merge them the other way round (VK_KHR_maintenance8). */
static HvKernel **kernels_of(HvCache *c, uint32_t *n)
{
    *n = 0;
    pthread_mutex_lock(&c->lock);
    HvKernel **all = malloc((c->n_kernels + 1) * sizeof(HvKernel *));
    for (uint32_t k = 0; all && k < c->capacity; k++)
        if (c->kernels[k])
            all[(*n)++] = kernel_retain(c->kernels[k]);
    pthread_mutex_unlock(&c->lock);
    return all;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_MergePipelineCaches(VkDevice device, VkPipelineCache to,
                                                      uint32_t n, const VkPipelineCache *from)
{
    DeviceBase *d = device_base(HvDevice_of(device));
    for (uint32_t i = 0; i < n; i++) {
        HvCache *c = HvCache_of(from[i]);
        uint32_t n_kernels;
        HvKernel **kernels = kernels_of(c, &n_kernels);
        if (!kernels)
            return VK_ERROR_OUT_OF_HOST_MEMORY;
        for (uint32_t k = 0; k < n_kernels; k++) {
            cache_add(HvCache_of(to), kernels[k]);
            kernel_release(kernels[k]);
        }
        free(kernels);
        Entry e;
        size_t at = 0;
        for (const char *k; (k = next_entry(c->stored, c->stored_size, &at, &e));) {
            HvKernel *loaded = load_kernel(d, &e.key, k, e.size);
            if (loaded)
                cache_add(HvCache_of(to), loaded);
            kernel_release(loaded);
        }
    }
    return VK_SUCCESS;
}

/* Appends an entry to what *used bytes of `out` hold, if all of it fits; *at: where the kernel's
 * bytes go, or NULL when only the size is wanted. */
static bool put_entry(char *out, size_t room, size_t *used, const DeviceKey *key, size_t size,
                      char **at)
{
    Entry e = { *key, size };
    size_t whole = entry_size(size);
    *at = out ? out + *used + sizeof e : NULL;
    if (out && whole > room - *used)
        return false;
    if (out) {
        memset(out + *used, 0, whole);
        memcpy(out + *used, &e, sizeof e);
    }
    *used += whole;
    return true;
}

/* Whole entries only, also of what came with the cache and was not asked for. */
static bool put_entries(const HvCache *c, char *out, size_t room, size_t *used)
{
    char *to;
    for (uint32_t i = 0; i < c->capacity; i++) {
        const HvKernel *k = c->kernels[i];
        size_t size = k ? device_save(k->code, NULL) : 0;
        if (size && !put_entry(out, room, used, &k->key, size, &to))
            return false;
        if (size && to)
            device_save(k->code, to);
    }
    Entry e;
    size_t at = 0;
    for (const char *k; (k = next_entry(c->stored, c->stored_size, &at, &e));) {
        bool loaded = c->capacity && *place(c->kernels, c->capacity, &e.key);
        if (!loaded && !put_entry(out, room, used, &e.key, e.size, &to))
            return false;
        if (!loaded && to)
            memcpy(to, k, e.size);
    }
    return true;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetPipelineCacheData(VkDevice device, VkPipelineCache cache,
                                                       size_t *size, void *out)
{
    HvCache *c = HvCache_of(cache);
    CacheHeader header = header_of(HvDevice_of(device));
    size_t room = *size, used = sizeof header;
    *size = 0;
    if (out && room < sizeof header)
        return VK_INCOMPLETE;
    if (out)
        memcpy(out, &header, sizeof header);
    pthread_mutex_lock(&c->lock);
    bool whole = put_entries(c, out, room, &used);
    pthread_mutex_unlock(&c->lock);
    *size = used;
    return whole ? VK_SUCCESS : VK_INCOMPLETE;
}
