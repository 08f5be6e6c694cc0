/* SPDX-License-Identifier: MIT
 *
 * Opening a Vulkan device, and its table of operations.
 */
#include <stdio.h>
#include <stdlib.h>

#include "vkdevice/vkdevice.h"

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct {
    VkResult result;
    HeddleResult as;
    const char *words;
} errors[] = {
    { VK_ERROR_OUT_OF_HOST_MEMORY, HEDDLE_ERROR_MEMORY, "there is no memory left" },
    { VK_ERROR_OUT_OF_DEVICE_MEMORY, HEDDLE_ERROR_MEMORY, "the device has no memory left" },
    { VK_ERROR_DEVICE_LOST, HEDDLE_ERROR_RUN,
      "the device was lost: the kernel reached for memory that is not there, or ran for longer "
      "than the driver lets it, or the driver failed; nothing can be run on it any more" },
    { VK_ERROR_INITIALIZATION_FAILED, HEDDLE_ERROR_UNSUPPORTED, "the driver does not start" },
    { VK_ERROR_FEATURE_NOT_PRESENT, HEDDLE_ERROR_UNSUPPORTED,
      "the driver lacks a feature that it lists" },
    { VK_ERROR_EXTENSION_NOT_PRESENT, HEDDLE_ERROR_UNSUPPORTED,
      "the driver lacks an extension that it lists" },
    { VK_ERROR_TOO_MANY_OBJECTS, HEDDLE_ERROR_MEMORY, "the driver has too many objects" },
};

HeddleResult vkd_failed(VkdDevice *d, VkResult r, const char *what, DiagSink *sink)
{
    if (r == VK_ERROR_DEVICE_LOST) {
        pthread_mutex_lock(&d->lock);
        d->lost = true;
        pthread_mutex_unlock(&d->lock);
    }
    for (size_t k = 0; k < COUNT_OF(errors); k++) {
        if (errors[k].result != r)
            continue;
        diag(sink, DIAG_ERROR, NULL, NULL, "%s: %s", what, errors[k].words);
        return errors[k].as;
    }
    diag(sink, DIAG_ERROR, NULL, NULL, "%s: the driver fails with VkResult %d", what, (int)r);
    return HEDDLE_ERROR_RUN;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void choose_queue(VkdDevice *d)
{
    VkQueueFamilyProperties families[16];
    uint32_t n = COUNT_OF(families), best = UINT32_MAX;
    d->instance.GetPhysicalDeviceQueueFamilyProperties(d->physical, &n, families);
    for (uint32_t k = 0; k < n; k++)
        if (families[k].queueFlags & VK_QUEUE_COMPUTE_BIT && best == UINT32_MAX)
            best = k;
    d->family = best;
    d->time_bits = families[best].timestampValidBits;
}

static bool load_commands(VkdDevice *d)
{
    bool all = true;
#define X(name)                                                                                    \
    d->name = (PFN_vk##name)d->instance.GetDeviceProcAddr(d->handle, "vk" #name);                  \
    all &= d->name != NULL;
    VKD_COMMANDS(X)
#undef X
    if (d->facts.features.addresses.bufferDeviceAddress)
        d->address_of = (PFN_vkGetBufferDeviceAddress)d->instance.GetDeviceProcAddr(
            d->handle, VK_API_VERSION_MINOR(d->facts.version) >= 2 ? "vkGetBufferDeviceAddress"
                                                                   : "vkGetBufferDeviceAddressKHR");
    return all;
}

static VkResult make_device(VkdDevice *d)
{
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = d->family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority };
    VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &d->facts.features.core,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue,
                                .enabledExtensionCount = d->facts.n_extensions,
                                .ppEnabledExtensionNames = d->facts.extensions };
    VkResult r = d->instance.CreateDevice(d->physical, &info, NULL, &d->handle);
    if (r)
        d->handle = VK_NULL_HANDLE;
    if (!r && !load_commands(d))
        r = VK_ERROR_INITIALIZATION_FAILED;
    if (!r)
        d->GetDeviceQueue(d->handle, d->family, 0, &d->queue);
    return r;
}

static void list_sizes(VkdDevice *d, uint32_t *sizes)
{
    DeviceInfo *info = &d->base.info;
    const LowerProfile *p = &d->facts.profile;
    for (uint32_t w = p->min_subgroup_size; w <= 128; w *= 2)
        sizes[info->n_subgroup_sizes++] = w;
    info->subgroup_sizes = sizes;
    info->default_subgroup_size = p->subgroup_size;
}

static void list_features(VkdDevice *d, const char **list)
{
    DeviceInfo *info = &d->base.info;
    for (uint32_t k = 0; k < d->facts.n_extensions; k++)
        list[info->n_features++] = d->facts.extensions[k] + strlen("VK_");
    info->features = list;
}

static uint64_t device_bytes(const VkPhysicalDeviceMemoryProperties *m)
{
    uint64_t most = 0;
    for (uint32_t k = 0; k < m->memoryHeapCount; k++)
        if (m->memoryHeaps[k].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
            most = MAX(most, m->memoryHeaps[k].size);
    return most;
}

/* All that is said of it, in its arena. */
static void describe(void *user)
{
    VkdDevice *d = user;
    Arena *a = &d->arena;
    DeviceInfo *info = &d->base.info;
    vkf_describe(&d->instance.facts, d->physical, &d->facts, a);
    const VkPhysicalDeviceProperties *p = &d->facts.properties.properties;
    *info = (DeviceInfo){ .name = d->facts.profile.name,
                          .target = "",
                          .driver = d->facts.profile.source,
                          .memory = device_bytes(&d->facts.memory),
                          .profile = profile_write(a, &d->facts.profile),
                          .shapes = d->facts.shapes,
                          .n_shapes = d->facts.n_listed,
                          .flexible_shapes = d->facts.flexible_shapes,
                          .n_flexible_shapes = d->facts.profile.n_shapes - d->facts.n_listed };
    if (!info->shapes)
        info->shapes = NEW(a, HeddleMatrixShape);
    if (!info->flexible_shapes)
        info->flexible_shapes = NEW(a, HeddleFlexibleShape);
    info->identity = vkf_identity(&d->facts);
    list_sizes(d, NEW_ARRAY(a, uint32_t, 8));
    list_features(d, NEW_ARRAY(a, const char *, VKF_MOST_EXTENSIONS));
    d->unified = p->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ||
                 p->deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    choose_queue(d);
}

static void close_vulkan(DeviceBase *base)
{
    VkdDevice *d = (VkdDevice *)base;
    if (d->stuck) /* the driver is left with what it is at, and all that belongs to it */
        return;
    if (d->handle) {
        vkd_free_jobs(d);
        vkd_close_cache(d);
        d->DestroyDevice(d->handle, NULL);
    }
    vkd_close_instance(&d->instance);
    pthread_mutex_destroy(&d->queue_lock);
    pthread_mutex_destroy(&d->lock);
    arena_free(&d->arena);
    free(d);
}

static HeddleResult explain(const VkdSearch *s, uint32_t ordinal, DiagSink *sink)
{
    if (s->count)
        diag(sink, DIAG_ERROR, NULL, NULL, "there are %u Vulkan devices, and no number %u",
             s->count, ordinal);
    else if (s->too_old)
        diag(sink, DIAG_ERROR, NULL, NULL, "no driver has Vulkan 1.1, which heddle needs");
    else
        diag(sink, DIAG_ERROR, NULL, NULL,
             "no Vulkan device: %s, %s (VK_DRIVER_FILES names drivers' manifests; heddle's own "
             "driver is used by `heddle vulkan -- PROGRAM`)",
             s->loader ? "the loader finds none" : "there is no loader (libvulkan.so.1)",
             s->drivers ? "and drivers that were opened without it have none"
                        : "and no driver was found without it");
    return HEDDLE_ERROR_UNSUPPORTED;
}

static HeddleResult open_vulkan(const DeviceOptions *o, DeviceBase **out, DiagSink *sink)
{
    VkdDevice *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d) {
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return HEDDLE_ERROR_MEMORY;
    }
    pthread_mutex_init(&d->queue_lock, NULL);
    pthread_mutex_init(&d->lock, NULL);
    d->base.ops = &vulkan_device_ops;
    d->next_address = 1 << 16;
    VkdSearch s = { .ordinal = o->ordinal };
    vkd_search(&s);
    d->instance = s.instance;
    d->physical = s.physical;
    HeddleResult r = s.found ? HEDDLE_OK : explain(&s, o->ordinal, sink);
    if (!r && !arena_try(&d->arena, describe, d))
        r = vkd_failed(d, VK_ERROR_OUT_OF_HOST_MEMORY, "opening a device", sink);
    VkResult made = r ? VK_SUCCESS : make_device(d);
    if (made)
        r = vkd_failed(d, made, "opening a device", sink);
    if (!r)
        vkd_open_cache(d);
    if (!r && !arena_try(&d->arena, vkd_ask, d))
        r = vkd_failed(d, VK_ERROR_OUT_OF_HOST_MEMORY, "opening a device", sink);
    if (r) {
        close_vulkan(&d->base);
        return r;
    }
    *out = &d->base;
    return HEDDLE_OK;
}

bool vkd_ask_given(const VkdGiven *g)
{
    VkdDevice *d = calloc(1, sizeof *d);
    if (!d)
        return true;
    pthread_mutex_init(&d->queue_lock, NULL);
    pthread_mutex_init(&d->lock, NULL);
    d->next_address = 1 << 16;
    d->facts = *g->facts;
    d->handle = g->handle;
    d->family = g->family;
    d->set_dispatch = g->set_dispatch;
    d->instance.GetDeviceProcAddr = g->get;
    d->base.info.identity = vkf_identity(&d->facts);
    bool ready = load_commands(d);
    if (ready)
        d->GetDeviceQueue(d->handle, d->family, 0, &d->queue);
    ready = ready && (!d->set_dispatch || !d->set_dispatch(d->handle, d->queue));
    if (ready && arena_try(&d->arena, vkd_ask, d) && d->base.info.profile)
        vkf_take_answers(g->facts, d->base.info.profile, strlen(d->base.info.profile), g->arena);
    if (d->stuck)
        return false;
    if (ready)
        vkd_free_jobs(d);
    pthread_mutex_destroy(&d->queue_lock);
    pthread_mutex_destroy(&d->lock);
    arena_free(&d->arena);
    free(d);
    return true;
}

static uint32_t count_vulkan(void)
{
    VkdSearch s = { .ordinal = UINT32_MAX };
    vkd_search(&s);
    return s.count;
}

/* Where there are no matrices they are arrays, in heddle's own order. */
static bool matrix_position(const DeviceBase *base, const HeddleMatrixLayout *m, uint32_t lane,
                            uint32_t element, uint32_t *row, uint32_t *column)
{
    const LowerProfile *p = &((const VkdDevice *)base)->facts.profile;
    uint64_t number = (uint64_t)element * m->subgroup_size + lane;
    bool known = !p->n_shapes || p->ownership == PROFILE_LINEAR;
    if (!known || lane >= m->subgroup_size || number >= (uint64_t)m->rows * m->columns)
        return false;
    *row = (uint32_t)(number / m->columns);
    *column = (uint32_t)(number % m->columns);
    return true;
}

/* clang-format off */
const DeviceOps vulkan_device_ops = {
    .name = "vulkan", .count = count_vulkan, .open = open_vulkan, .close = close_vulkan,
    .alloc = vkd_alloc, .wrap = vkd_wrap, .free = vkd_free, .read = vkd_read, .write = vkd_write,
    .compile = vkd_compile, .release = vkd_release,
    .dispatch = vkd_dispatch, .matrix_position = matrix_position,
};
/* clang-format on */
