/* SPDX-License-Identifier: MIT
 *
 * Devices: what the layer does is taken out of what the driver is asked for, and what lowered
 * modules need is added. A device without any of it gets the driver's own functions.
 */
#include "layer/layer.h"

/* ---- which device ---------------------------------------------------------------------------- */

static HlTable devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

HlDevice *hl_device(VkDevice device) { return hl_table_find(&devices, device); }

/* ---- features that lowered modules need ------------------------------------------------------ */

static bool is_stripped(const HlPhysical *p, uint32_t k)
{
    return k != HL_NONE && (p->ours & ~p->shared) >> k & 1;
}

typedef struct Wanted {
    size_t fact;              /* a VkBool32 of VkfFeatures */
    VkStructureType own, all; /* structures that have it; all: of a version of Vulkan */
    size_t at, at_all;
} Wanted;

#define WANT(member, T, sType, version, field)                                                     \
    { offsetof(VkfFeatures, member.field), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##sType##_FEATURES,   \
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_##version##_FEATURES,                             \
      offsetof(VkPhysicalDevice##T##Features, field),                                              \
      offsetof(VkPhysicalDeviceVulkan1##version##Features, field) }
#define WANT_OF(member, T, owner, sType, field)                                                    \
    { offsetof(VkfFeatures, member.field),                                                         \
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##sType##_FEATURES_##owner, VK_STRUCTURE_TYPE_MAX_ENUM,    \
      offsetof(VkPhysicalDevice##T##Features##owner, field), 0 }
/* clang-format off */
static const Wanted wanted[] = {
    WANT(small, ShaderFloat16Int8, SHADER_FLOAT16_INT8, 2, shaderFloat16),
    WANT(small, ShaderFloat16Int8, SHADER_FLOAT16_INT8, 2, shaderInt8),
    WANT(storage16, 16BitStorage, 16BIT_STORAGE, 1, storageBuffer16BitAccess),
    WANT(storage8, 8BitStorage, 8BIT_STORAGE, 2, storageBuffer8BitAccess),
    WANT(memory_model, VulkanMemoryModel, VULKAN_MEMORY_MODEL, 2, vulkanMemoryModel),
    WANT(sizes, SubgroupSizeControl, SUBGROUP_SIZE_CONTROL, 3, subgroupSizeControl),
    WANT(sizes, SubgroupSizeControl, SUBGROUP_SIZE_CONTROL, 3, computeFullSubgroups),
    WANT_OF(matrices, CooperativeMatrix, KHR, COOPERATIVE_MATRIX, cooperativeMatrix),
    WANT_OF(matrices2, CooperativeMatrix2, NV, COOPERATIVE_MATRIX_2,
            cooperativeMatrixFlexibleDimensions),
};
/* clang-format on */

static void *find(const HlChain *c, VkStructureType type)
{
    return (void *)(uintptr_t)chain_find(c->first, type);
}

static void enable_extension(VkDeviceCreateInfo *info, const char **names, const char *name)
{
    for (uint32_t k = 0; k < info->enabledExtensionCount; k++)
        if (!strcmp(names[k], name))
            return;
    names[info->enabledExtensionCount++] = name;
}

static void want(const HlPhysical *p, const Wanted *w, VkDeviceCreateInfo *info, const char **names,
                 HlChain *c)
{
    VkBool32 has;
    const VkfStructure *own = vkf_structure(w->own);
    memcpy(&has, (const char *)&p->facts.features + w->fact, sizeof has);
    if (!has || is_stripped(p, hl_extension(own->extension)))
        return;
    char *to = find(c, w->all);
    size_t at = w->at_all;
    if (!to) {
        to = find(c, w->own);
        at = w->at;
    }
    if (!to) {
        to = hl_push(c, w->own, own->size);
        if (VK_API_VERSION_MINOR(p->facts.version) < own->minor)
            enable_extension(info, names, own->extension);
    }
    memcpy(to + at, &has, sizeof has);
}

static void want_core(const HlPhysical *p, VkDeviceCreateInfo *info, HlChain *c)
{
    const VkPhysicalDeviceFeatures *has = &p->facts.features.core.features;
    VkPhysicalDeviceFeatures2 *two = find(c, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    VkPhysicalDeviceFeatures *to = two ? &two->features : NEW(c->arena, VkPhysicalDeviceFeatures);
    if (!two && info->pEnabledFeatures)
        *to = *info->pEnabledFeatures;
    if (!two)
        info->pEnabledFeatures = to;
    to->shaderInt16 |= has->shaderInt16;
    to->shaderInt64 |= has->shaderInt64;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* What programs see of it and the device has not. */
static void mask(const HlPhysical *p, uint32_t k, const HlChain *c)
{
    VkBaseOutStructure *s = find(c, hl_extensions[k].features);
    VkBool32 *all = (VkBool32 *)(s + 1);
    for (uint32_t f = 0; s && f < hl_extensions[k].n_features; f++)
        all[f] = all[f] && p->has[k] >> f & 1;
}

void hl_change_device(const HlPhysical *p, uint32_t ours, VkDeviceCreateInfo *info, HlChain *c)
{
    VkStructureType without[HL_N_EXTENSIONS];
    uint32_t n = 0, kept = 0;
    const char **names =
        NEW_ARRAY(c->arena, const char *, info->enabledExtensionCount + COUNT_OF(wanted));
    for (uint32_t k = 0; k < info->enabledExtensionCount; k++)
        if (!is_stripped(p, hl_extension(info->ppEnabledExtensionNames[k])))
            names[kept++] = info->ppEnabledExtensionNames[k];
    info->enabledExtensionCount = kept;
    info->ppEnabledExtensionNames = names;
    for (uint32_t k = 0; k < HL_N_EXTENSIONS; k++)
        if (is_stripped(p, k))
            without[n++] = hl_extensions[k].features;
    hl_copy_chain(c, info->pNext, without, n);
    for (uint32_t k = 0; k < HL_N_EXTENSIONS; k++)
        if (p->shared >> k & 1)
            mask(p, k, c);
    for (size_t k = 0; ours && k < COUNT_OF(wanted); k++)
        want(p, &wanted[k], info, names, c);
    if (ours)
        want_core(p, info, c);
    info->pNext = c->first;
}

/* ---- making and destroying ------------------------------------------------------------------- */

static VkLayerDeviceCreateInfo *link_of(const VkDeviceCreateInfo *info, VkLayerFunction what)
{
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        VkLayerDeviceCreateInfo *link = (void *)(uintptr_t)s;
        if (s->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && link->function == what)
            return link;
    }
    return NULL;
}

static uint32_t enabled(const HlPhysical *p, const VkDeviceCreateInfo *info)
{
    uint32_t all = 0;
    for (uint32_t k = 0; p && k < info->enabledExtensionCount; k++)
        all |= 1u << hl_extension(info->ppEnabledExtensionNames[k]);
    return p ? all & p->ours : 0;
}

typedef struct Asking {
    const HlPhysical *physical;
    uint32_t ours;
    VkPhysicalDevice handle;
    const VkDeviceCreateInfo *info;
    const VkAllocationCallbacks *alloc;
    PFN_vkCreateDevice create;
    VkDevice *out;
    VkResult result;
    Arena arena;
} Asking;

static void ask(void *user)
{
    Asking *a = user;
    VkDeviceCreateInfo info = *a->info;
    HlChain chain = { .arena = &a->arena };
    hl_change_device(a->physical, a->ours, &info, &chain);
    a->result = a->create(a->handle, &info, a->alloc, a->out);
    hl_restore_chain(&chain);
}

static void load_commands(HlDevice *d)
{
#define X(name) d->name = (PFN_vk##name)d->get(d->handle, "vk" #name);
    HL_DEVICE_COMMANDS(X)
#undef X
}

static VkResult keep(HlDevice *d, const VkAllocationCallbacks *alloc)
{
    load_commands(d);
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->cache_lock, NULL);
    if (hl_table_add(&devices, d->handle, d))
        return VK_SUCCESS;
    d->DestroyDevice(d->handle, alloc);
    return VK_ERROR_TOO_MANY_OBJECTS;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreateDevice(VkPhysicalDevice physical,
                                               const VkDeviceCreateInfo *info,
                                               const VkAllocationCallbacks *alloc, VkDevice *out)
{
    HlInstance *i = hl_instance(physical);
    HlPhysical *p = hl_physical(i, physical);
    VkLayerDeviceCreateInfo *link = link_of(info, VK_LAYER_LINK_INFO);
    VkLayerDeviceCreateInfo *data = link_of(info, VK_LOADER_DATA_CALLBACK);
    if (!link || !link->u.pLayerInfo)
        return VK_ERROR_INITIALIZATION_FAILED;
    VkLayerDeviceLink *next = link->u.pLayerInfo;
    HlDevice *d = host_alloc(alloc, &i->alloc, sizeof *d, VK_SYSTEM_ALLOCATION_SCOPE_DEVICE);
    if (!d)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    d->alloc = alloc ? *alloc : i->alloc;
    d->instance = i;
    d->physical = p;
    d->get = next->pfnNextGetDeviceProcAddr;
    d->ours = enabled(p, info);
    Asking a = { .physical = p,
                 .ours = d->ours,
                 .handle = physical,
                 .info = info,
                 .alloc = alloc,
                 .out = out,
                 .result = VK_ERROR_OUT_OF_HOST_MEMORY };
    a.create = (PFN_vkCreateDevice)next->pfnNextGetInstanceProcAddr(i->handle, "vkCreateDevice");
    link->u.pLayerInfo = next->pNext;
    if (d->ours)
        hl_ask(i, p, data ? data->u.pfnSetDeviceLoaderData : NULL);
    if (!d->ours)
        a.result = a.create(physical, info, alloc, out);
    else
        arena_try(&a.arena, ask, &a);
    arena_free(&a.arena);
    d->handle = a.result ? VK_NULL_HANDLE : *out;
    VkResult r = a.result ? a.result : keep(d, alloc);
    if (r)
        host_free(&d->alloc, NULL, d);
    return r;
}

VKAPI_ATTR void VKAPI_CALL hl_DestroyDevice(VkDevice device, const VkAllocationCallbacks *alloc)
{
    HlDevice *d = device ? hl_device(device) : NULL;
    if (!d)
        return;
    hl_table_remove(&devices, d);
    hl_free_modules(d);
    hl_free_lowered(d);
    d->DestroyDevice(device, alloc);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->cache_lock);
    VkAllocationCallbacks own = d->alloc;
    host_free(&own, NULL, d);
}
