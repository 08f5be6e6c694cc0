/* SPDX-License-Identifier: MIT
 *
 * Instances, and messages about what is done for them.
 */
#include <stdlib.h>

#include "layer/layer.h"

/* ---- which instance -------------------------------------------------------------------------- */

static HlTable instances = { .lock = PTHREAD_MUTEX_INITIALIZER };

HlInstance *hl_instance(const void *dispatchable)
{
    return hl_table_find(&instances, dispatchable);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* The loader gives what is submitted to every messenger of the program's. */
void hl_say(const HlInstance *i, VkDebugUtilsMessageSeverityFlagBitsEXT severity,
            VkShaderModule module, const char *id, const char *message)
{
    VkDebugUtilsObjectNameInfoEXT named = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = VK_OBJECT_TYPE_SHADER_MODULE,
        .objectHandle = (uint64_t)(uintptr_t)module,
    };
    VkDebugUtilsMessengerCallbackDataEXT data = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
        .pMessageIdName = id,
        .pMessage = message,
        .objectCount = module != VK_NULL_HANDLE,
        .pObjects = &named,
    };
    if (i->config.log && severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT)
        log_line(i->config.log, "layer", message);
    if (i->SubmitDebugUtilsMessageEXT)
        i->SubmitDebugUtilsMessageEXT(i->handle, severity,
                                      VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, &data);
}

/* Of the environment, while the instance is made: the loader holds its lock, so that messages go to
 * those who are in the chain for just that time. */
static void complain(const HlInstance *i, const VkInstanceCreateInfo *info)
{
    const VkDebugUtilsMessageSeverityFlagBitsEXT warning =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
    const VkDebugUtilsMessageTypeFlagsEXT general = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
    const VkDebugUtilsMessengerCallbackDataEXT data = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
        .pMessageIdName = "environment",
        .pMessage = i->config.wrong,
    };
    if (i->config.log)
        log_line(i->config.log, "layer", i->config.wrong);
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        const VkDebugUtilsMessengerCreateInfoEXT *m = (const void *)s;
        if (s->sType == VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT &&
            m->messageSeverity & warning && m->messageType & general)
            m->pfnUserCallback(warning, general, &data, m->pUserData);
    }
}

/* ---- making and destroying ------------------------------------------------------------------- */

static VkLayerInstanceCreateInfo *link_of(const VkInstanceCreateInfo *info, VkLayerFunction what)
{
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        VkLayerInstanceCreateInfo *link = (void *)(uintptr_t)s;
        if (s->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO && link->function == what)
            return link;
    }
    return NULL;
}

static void load_commands(HlInstance *i)
{
    VkInstance h = i->handle;
#define X(name) i->facts.name = (PFN_vk##name)i->get(h, "vk" #name);
    VKF_COMMANDS(X)
#undef X
#define X(name) i->name = (PFN_vk##name)i->get(h, "vk" #name);
    HL_INSTANCE_COMMANDS(X)
#undef X
    i->facts.matrices = (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)i->get(
        h, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    i->facts.flexible =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)i->get(
            h, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV");
}

/* The loader has something of its own in *out before the call. */
static VkResult make(HlInstance *i, const VkInstanceCreateInfo *info,
                     const VkAllocationCallbacks *alloc, VkInstance *out)
{
    VkLayerInstanceCreateInfo *link = link_of(info, VK_LAYER_LINK_INFO);
    VkLayerInstanceCreateInfo *own = link_of(info, VK_LOADER_LAYER_CREATE_DEVICE_CALLBACK);
    if (own && own->u.layerDevice.pfnLayerDestroyDevice) {
        i->create_device = own->u.layerDevice.pfnLayerCreateDevice;
        i->destroy_device = own->u.layerDevice.pfnLayerDestroyDevice;
    }
    if (!link || !link->u.pLayerInfo)
        return VK_ERROR_INITIALIZATION_FAILED;
    i->get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    i->get_physical = link->u.pLayerInfo->pfnNextGetPhysicalDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)i->get(NULL, "vkCreateInstance");
    VkResult r = create ? create(info, alloc, out) : VK_ERROR_INITIALIZATION_FAILED;
    i->handle = r ? VK_NULL_HANDLE : *out;
    return r;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreateInstance(const VkInstanceCreateInfo *info,
                                                 const VkAllocationCallbacks *alloc,
                                                 VkInstance *out)
{
    const VkAllocationCallbacks *own = alloc ? alloc : host_default();
    HlInstance *i = host_alloc(own, NULL, sizeof *i, VK_SYSTEM_ALLOCATION_SCOPE_INSTANCE);
    if (!i)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    i->alloc = *own;
    VkResult r = make(i, info, alloc, out);
    if (r) {
        host_free(own, NULL, i);
        return r;
    }
    uint32_t version = info->pApplicationInfo ? info->pApplicationInfo->apiVersion : 0;
    i->facts.version = version ? version : VK_API_VERSION_1_0;
    pthread_mutex_init(&i->lock, NULL);
    load_commands(i);
    hl_read_config(&i->config);
    if (!hl_table_add(&instances, i->handle, i)) {
        i->DestroyInstance(i->handle, alloc);
        host_free(own, NULL, i);
        return VK_ERROR_TOO_MANY_OBJECTS;
    }
    if (i->config.wrong[0])
        complain(i, info);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hl_DestroyInstance(VkInstance instance,
                                              const VkAllocationCallbacks *alloc)
{
    HlInstance *i = instance ? hl_instance(instance) : NULL;
    if (!i)
        return;
    hl_table_remove(&instances, i);
    i->DestroyInstance(instance, alloc);
    for (HlPhysical *p = i->physicals, *next; p; p = next) {
        next = p->next;
        Arena a = p->arena; /* which has the struct itself */
        arena_free(&a);
    }
    pthread_mutex_destroy(&i->lock);
    VkAllocationCallbacks own = i->alloc;
    host_free(&own, NULL, i);
}
