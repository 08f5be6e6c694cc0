/* SPDX-License-Identifier: MIT
 *
 * Logical devices, and what becomes of one that is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vulkan/vk.h"

/* What a kernel reads through a descriptor that nothing was written to. */
enum { NOTHING_SIZE = 65536 };

void device_lose(HvDevice *d, const HvBase *object, const char *why, const DeviceFault *fault)
{
    pthread_mutex_lock(&d->lock);
    if (!d->failing) {
        snprintf(d->fault, sizeof d->fault, "%s", why);
        if (fault)
            d->access = *fault;
    }
    d->failing = true;
    sync_changed(d);
    pthread_mutex_unlock(&d->lock);
    say(d->instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, object, "device-lost", why);
}

static bool known_extension(VkPhysicalDevice p, const char *name)
{
    uint32_t n = 0;
    bool known = false;
    hv_EnumerateDeviceExtensionProperties(p, NULL, &n, NULL);
    VkExtensionProperties *all = calloc(n, sizeof *all);
    if (!all)
        return true;
    hv_EnumerateDeviceExtensionProperties(p, NULL, &n, all);
    for (uint32_t i = 0; i < n && !known; i++)
        known = !strcmp(name, all[i].extensionName);
    free(all);
    return known;
}

static bool wants_robust(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceFeatures2 *two =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    const VkPhysicalDeviceRobustness2FeaturesKHR *r =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_KHR);
    const VkPhysicalDeviceFeatures *core = two ? &two->features : info->pEnabledFeatures;
    return (core && core->robustBufferAccess) ||
           (r && (r->robustBufferAccess2 || r->nullDescriptor));
}

/* What maintenance5 asks of vkGetDeviceProcAddr would break programs that do not expect it. */
static bool wants_maintenance5(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceMaintenance5Features *alone =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES);
    const VkPhysicalDeviceVulkan14Features *core =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES);
    return (alone && alone->maintenance5) || (core && core->maintenance5);
}

/* ---- HEDDLE_STATS ---------------------------------------------------------------------------- */

/* The devices whose kernels are counted. Many programs end without destroying theirs. */
static struct {
    pthread_mutex_t lock;
    HvDevice *first;
    pid_t process; /* a fork's child has counted nothing */
} counted = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void count(HvDevice *d)
{
    pthread_mutex_lock(&counted.lock);
    d->next_counted = counted.process == getpid() ? counted.first : NULL;
    counted.first = d;
    counted.process = getpid();
    pthread_mutex_unlock(&counted.lock);
}

static void say_statistics(void *instance, const char *line)
{
    say(instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, NULL, "statistics", line);
}

/* One of an instance's, or that one; it is counted no more. NULL: there is none. */
static HvDevice *take(const HvInstance *of, const HvDevice *only)
{
    pthread_mutex_lock(&counted.lock);
    HvDevice **at = &counted.first;
    while (*at && ((*at)->instance != of || (only && *at != only)))
        at = &(*at)->next_counted;
    HvDevice *d = *at;
    if (d)
        *at = d->next_counted;
    pthread_mutex_unlock(&counted.lock);
    return d;
}

static void report(HvInstance *of, const HvDevice *only)
{
    for (const HvDevice *d; (d = take(of, only));)
        cache_report(d->cache, say_statistics, of);
}

void devices_report(HvInstance *of) { report(of, NULL); }

static void log_statistics(void *instance, const char *line)
{
    const char *log = ((const HvInstance *)instance)->config.log;
    if (log)
        log_line(log, NULL, line);
}

/* To the log alone, and waiting for nobody: the program may end anywhere, in a callback too, and
 * have taken down its allocator. */
__attribute__((destructor)) static void report_at_exit(void)
{
    if (counted.process != getpid() || pthread_mutex_trylock(&counted.lock))
        return;
    for (const HvDevice *d = counted.first; d; d = d->next_counted)
        if (d->alloc.pfnAllocation == host_default()->pfnAllocation)
            cache_report(d->cache, log_statistics, d->instance);
    counted.first = NULL;
    pthread_mutex_unlock(&counted.lock);
}

/* ---- devices --------------------------------------------------------------------------------- */

static void device_free(HvDevice *d, const HvAlloc *alloc)
{
    for (int i = 0; i < N_QUEUES; i++)
        queue_free(d->queues[i]);
    report(d->instance, d);
    if (d->cache) {
        cache_finish(d->cache);
        host_free(NULL, &d->alloc, d->cache);
    }
    free(d->nothing);
    host_free(NULL, &d->alloc, d->extensions);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    HvAlloc kept = d->alloc;
    object_free(alloc, &kept, d);
}

static bool device_init(HvDevice *d, const VkDeviceCreateInfo *info)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    d->nothing = aligned_alloc(64, NOTHING_SIZE);
    d->cache = host_alloc(NULL, &d->alloc, sizeof *d->cache, VK_SYSTEM_ALLOCATION_SCOPE_DEVICE);
    const HvConfig *config = &d->instance->config;
    uint64_t keep = config->stats ? UINT64_MAX : (uint64_t)config->keep << 20;
    d->extensions = names_copy(&d->alloc, info->ppEnabledExtensionNames,
                               info->enabledExtensionCount, VK_SYSTEM_ALLOCATION_SCOPE_DEVICE);
    if (!d->nothing || !d->extensions || !d->cache || !cache_init(d->cache, keep))
        return false;
    memset(d->nothing, 0, NOTHING_SIZE);
    for (int i = 0; i < N_QUEUES; i++) {
        d->queues[i] = queue_new(d);
        if (!d->queues[i])
            return false;
    }
    return true;
}

/* There is one priority; asking for another one fails where the program could have known. */
static bool priorities_are_there(const VkDeviceCreateInfo *info)
{
    for (uint32_t i = 0; i < info->queueCreateInfoCount; i++) {
        const VkDeviceQueueGlobalPriorityCreateInfo *p =
            chain_find(info->pQueueCreateInfos[i].pNext,
                       VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO);
        if (p && p->globalPriority != VK_QUEUE_GLOBAL_PRIORITY_MEDIUM)
            return false;
    }
    return true;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateDevice(VkPhysicalDevice physical,
                                               const VkDeviceCreateInfo *info,
                                               const VkAllocationCallbacks *alloc, VkDevice *out)
{
    HvPhysical *p = HvPhysical_of(physical);
    *out = VK_NULL_HANDLE;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        if (!known_extension(physical, info->ppEnabledExtensionNames[i]))
            return VK_ERROR_EXTENSION_NOT_PRESENT;
    }
    if (!features_are_there(physical, info))
        return VK_ERROR_FEATURE_NOT_PRESENT;
    if (!priorities_are_there(info))
        return VK_ERROR_INITIALIZATION_FAILED;
    HvDevice *d = object_new(alloc, &p->instance->alloc, sizeof *d, VK_OBJECT_TYPE_DEVICE);
    if (!d)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    d->instance = p->instance;
    d->physical = p;
    d->alloc = alloc ? *alloc : p->instance->alloc;
    d->robust = wants_robust(info);
    d->core = wants_maintenance5(info) ? p->instance->core : UINT32_MAX;
    if (!device_init(d, info)) {
        device_free(d, alloc);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (d->instance->config.stats)
        count(d);
    *out = (VkDevice)d;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyDevice(VkDevice device, const VkAllocationCallbacks *alloc)
{
    if (device)
        device_free(HvDevice_of(device), alloc);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_DeviceWaitIdle(VkDevice device)
{
    HvDevice *d = HvDevice_of(device);
    for (int i = 0; i < N_QUEUES; i++) {
        VkResult r = queue_wait(d->queues[i]);
        if (r)
            return r;
    }
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_GetDeviceQueue(VkDevice device, uint32_t family_index, uint32_t index,
                                             VkQueue *out)
{
    bool known = family_index == 0 && index < N_QUEUES;
    *out = known ? (VkQueue)HvDevice_of(device)->queues[index] : VK_NULL_HANDLE;
}

VKAPI_ATTR void VKAPI_CALL hv_GetDeviceQueue2(VkDevice device, const VkDeviceQueueInfo2 *info,
                                              VkQueue *out)
{
    *out = VK_NULL_HANDLE;
    if (!info->flags)
        hv_GetDeviceQueue(device, info->queueFamilyIndex, info->queueIndex, out);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetDeviceFaultInfoEXT(VkDevice device,
                                                        VkDeviceFaultCountsEXT *counts,
                                                        VkDeviceFaultInfoEXT *info)
{
    static const VkDeviceFaultAddressTypeEXT types[] = {
        [DEVICE_FAULT_READ] = VK_DEVICE_FAULT_ADDRESS_TYPE_READ_INVALID_EXT,
        [DEVICE_FAULT_WRITE] = VK_DEVICE_FAULT_ADDRESS_TYPE_WRITE_INVALID_EXT,
        [DEVICE_FAULT_ACCESS] = VK_DEVICE_FAULT_ADDRESS_TYPE_READ_INVALID_EXT,
    };
    HvDevice *d = HvDevice_of(device);
    pthread_mutex_lock(&d->lock);
    DeviceFaultKind kind = d->access.kind;
    uint32_t n = kind >= DEVICE_FAULT_READ && kind <= DEVICE_FAULT_ACCESS;
    bool whole = !info || !info->pAddressInfos || counts->addressInfoCount >= n;
    if (info)
        snprintf(info->description, sizeof info->description, "%s", d->fault);
    if (info && info->pAddressInfos && n && whole)
        info->pAddressInfos[0] = (VkDeviceFaultAddressInfoEXT){ types[kind], d->access.address, 1 };
    pthread_mutex_unlock(&d->lock);
    counts->addressInfoCount = whole ? n : 0;
    counts->vendorInfoCount = 0;
    counts->vendorBinarySize = 0;
    return whole ? VK_SUCCESS : VK_INCOMPLETE;
}

VKAPI_ATTR void VKAPI_CALL hv_GetDeviceGroupPeerMemoryFeatures(VkDevice device, uint32_t heap,
                                                               uint32_t local, uint32_t remote,
                                                               VkPeerMemoryFeatureFlags *out)
{
    (void)device, (void)heap, (void)local, (void)remote;
    *out = VK_PEER_MEMORY_FEATURE_COPY_SRC_BIT | VK_PEER_MEMORY_FEATURE_COPY_DST_BIT |
           VK_PEER_MEMORY_FEATURE_GENERIC_SRC_BIT | VK_PEER_MEMORY_FEATURE_GENERIC_DST_BIT;
}
