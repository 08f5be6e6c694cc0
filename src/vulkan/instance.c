/* SPDX-License-Identifier: MIT
 *
 * Instances, their one physical device, and messages: heddle's diagnostics go to debug-utils
 * messengers and to HEDDLE_LOG.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vulkan/vk.h"

static const VkExtensionProperties extensions[] = {
#define TABLE_EXTENSION
#define INSTANCE_EXTENSION(name, version) { #name, version },
#define DEVICE_EXTENSION(name, version)
#include "vulkan/tables.def"
#undef INSTANCE_EXTENSION
#undef DEVICE_EXTENSION
#undef TABLE_EXTENSION
};

VKAPI_ATTR VkResult VKAPI_CALL hv_EnumerateInstanceVersion(uint32_t *version)
{
    *version = VK_API_VERSION_1_4;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_EnumerateInstanceExtensionProperties(const char *layer,
                                                                       uint32_t *count,
                                                                       VkExtensionProperties *out)
{
    if (layer)
        return VK_ERROR_LAYER_NOT_PRESENT;
    return enumerate(count, out, extensions, COUNT_OF(extensions), sizeof *out, false);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_EnumerateInstanceLayerProperties(uint32_t *count,
                                                                   VkLayerProperties *out)
{
    return enumerate(count, out, NULL, 0, sizeof *out, false);
}

/* ---- messages -------------------------------------------------------------------------------- */

void say(HvInstance *instance, VkDebugUtilsMessageSeverityFlagBitsEXT severity,
         const HvBase *object, const char *id, const char *message)
{
    const VkDebugUtilsMessageTypeFlagsEXT type = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
    pthread_mutex_lock(&instance->lock);
    VkDebugUtilsObjectNameInfoEXT named = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = object ? object->type : VK_OBJECT_TYPE_UNKNOWN,
        .objectHandle = (uint64_t)(uintptr_t)object,
        .pObjectName = object ? object->name : NULL,
    };
    VkDebugUtilsMessengerCallbackDataEXT data = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
        .pMessageIdName = id,
        .pMessage = message,
        .objectCount = object != NULL,
        .pObjects = &named,
    };
    const char *log = instance->config.log;
    if (log && severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT)
        log_line(log, named.pObjectName, message);
    for (const HvMessenger *m = instance->messengers; m; m = m->next) {
        if ((m->info.messageSeverity & severity) && (m->info.messageType & type))
            m->info.pfnUserCallback(severity, type, &data, m->info.pUserData);
    }
    pthread_mutex_unlock(&instance->lock);
}

static void speak(void *user, const HeddleDiagnostic *d)
{
    static const VkDebugUtilsMessageSeverityFlagBitsEXT severities[] = {
        [HEDDLE_NOTE] = VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT,
        [HEDDLE_WARNING] = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        [HEDDLE_ERROR] = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
    };
    HvSpeaker *s = user;
    if (d->severity == HEDDLE_ERROR && !s->first[0])
        snprintf(s->first, sizeof s->first, "%s", d->text);
    say(s->instance, severities[d->severity], s->object, d->rule ? d->rule : "heddle", d->text);
}

HeddleLog *speaker_log(HvSpeaker *s) { return heddle_log_new(speak, s); }

static HvMessenger *messenger_new(HvInstance *i, const VkDebugUtilsMessengerCreateInfoEXT *info,
                                  const HvAlloc *alloc)
{
    HvMessenger *m =
        object_new(alloc, &i->alloc, sizeof *m, VK_OBJECT_TYPE_DEBUG_UTILS_MESSENGER_EXT);
    if (!m)
        return NULL;
    m->info = *info;
    pthread_mutex_lock(&i->lock);
    m->next = i->messengers;
    if (m->next)
        m->next->prev = m;
    i->messengers = m;
    pthread_mutex_unlock(&i->lock);
    return m;
}

VKAPI_ATTR VkResult VKAPI_CALL
hv_CreateDebugUtilsMessengerEXT(VkInstance instance, const VkDebugUtilsMessengerCreateInfoEXT *info,
                                const VkAllocationCallbacks *alloc, VkDebugUtilsMessengerEXT *out)
{
    HvMessenger *m = messenger_new(HvInstance_of(instance), info, alloc);
    *out = TO_HANDLE(VkDebugUtilsMessengerEXT, m);
    return m ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyDebugUtilsMessengerEXT(VkInstance instance,
                                                            VkDebugUtilsMessengerEXT messenger,
                                                            const VkAllocationCallbacks *alloc)
{
    HvInstance *i = HvInstance_of(instance);
    HvMessenger *m = HvMessenger_of(messenger);
    if (!m)
        return;
    pthread_mutex_lock(&i->lock);
    if (m->next)
        m->next->prev = m->prev;
    if (m->prev)
        m->prev->next = m->next;
    else
        i->messengers = m->next;
    pthread_mutex_unlock(&i->lock);
    object_free(alloc, &i->alloc, m);
}

VKAPI_ATTR void VKAPI_CALL hv_SubmitDebugUtilsMessageEXT(
    VkInstance instance, VkDebugUtilsMessageSeverityFlagBitsEXT severity,
    VkDebugUtilsMessageTypeFlagsEXT types, const VkDebugUtilsMessengerCallbackDataEXT *data)
{
    HvInstance *i = HvInstance_of(instance);
    pthread_mutex_lock(&i->lock);
    for (const HvMessenger *m = i->messengers; m; m = m->next) {
        if ((m->info.messageSeverity & severity) && (m->info.messageType & types))
            m->info.pfnUserCallback(severity, types, data, m->info.pUserData);
    }
    pthread_mutex_unlock(&i->lock);
}

/* ---- instances ------------------------------------------------------------------------------- */

static bool known_extension(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(extensions); i++) {
        if (!strcmp(name, extensions[i].extensionName))
            return true;
    }
    return false;
}

static VkResult open_physical(HvInstance *i)
{
    HvPhysical *p = &i->physical;
    set_loader_magic_value(p);
    p->base.type = VK_OBJECT_TYPE_PHYSICAL_DEVICE;
    p->instance = i;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    p->memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 32;
    HvSpeaker speaker = { i, NULL, "" };
    HeddleLog *log = speaker_log(&speaker);
    HeddleDeviceOptions o = {
        .kind = i->config.check ? HEDDLE_DEVICE_REFERENCE : HEDDLE_DEVICE_CPU,
        .threads = i->config.threads,
    };
    HeddleResult r = heddle_device_new(&o, &p->heddle, log);
    heddle_log_free(log);
    if (r)
        return r == HEDDLE_ERROR_MEMORY ? VK_ERROR_OUT_OF_HOST_MEMORY
                                        : VK_ERROR_INITIALIZATION_FAILED;
    const HeddleDeviceInfo *info = heddle_device_info(p->heddle);
    p->identity = device_identity(p->heddle->base);
    snprintf(p->name, sizeof p->name, "heddle %s (%.200s)", info->kind_name, info->name);
    return VK_SUCCESS;
}

static void instance_free(HvInstance *i, const HvAlloc *alloc)
{
    if (!i)
        return;
    heddle_device_free(i->physical.heddle);
    free(i->physical.base.name);
    pthread_mutex_destroy(&i->lock);
    HvAlloc kept = i->alloc;
    host_free(NULL, &kept, i->extensions);
    object_free(alloc, &kept, i);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateInstance(const VkInstanceCreateInfo *info,
                                                 const VkAllocationCallbacks *alloc,
                                                 VkInstance *out)
{
    *out = VK_NULL_HANDLE;
    if (info->enabledLayerCount) /* a loader passes none on */
        return VK_ERROR_LAYER_NOT_PRESENT;
    for (uint32_t k = 0; k < info->enabledExtensionCount; k++) {
        if (!known_extension(info->ppEnabledExtensionNames[k]))
            return VK_ERROR_EXTENSION_NOT_PRESENT;
    }
    HvInstance *i = object_new(alloc, host_default(), sizeof *i, VK_OBJECT_TYPE_INSTANCE);
    if (!i)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    i->alloc = alloc ? *alloc : *host_default();
    pthread_mutex_init(&i->lock, NULL);
    config_read(&i->config);
    uint32_t version = info->pApplicationInfo ? info->pApplicationInfo->apiVersion : 0;
    i->core = VK_API_VERSION_MINOR(version);
    HvMessenger early = { 0 };
    const VkDebugUtilsMessengerCreateInfoEXT *messenger =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
    if (messenger) {
        early.info = *messenger;
        i->messengers = &early;
    }
    if (i->config.wrong[0])
        say(i, VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT, NULL, "environment",
            i->config.wrong);
    i->extensions = names_copy(&i->alloc, info->ppEnabledExtensionNames,
                               info->enabledExtensionCount, VK_SYSTEM_ALLOCATION_SCOPE_INSTANCE);
    VkResult r = i->extensions ? open_physical(i) : VK_ERROR_OUT_OF_HOST_MEMORY;
    i->messengers = NULL;
    if (r) {
        instance_free(i, alloc);
        return r;
    }
    *out = (VkInstance)i;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyInstance(VkInstance instance,
                                              const VkAllocationCallbacks *alloc)
{
    if (instance)
        devices_report(HvInstance_of(instance));
    instance_free(HvInstance_of(instance), alloc);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_EnumeratePhysicalDevices(VkInstance instance, uint32_t *count,
                                                           VkPhysicalDevice *out)
{
    VkPhysicalDevice all[] = { (VkPhysicalDevice)&HvInstance_of(instance)->physical };
    return enumerate(count, out, all, 1, sizeof *out, false);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_EnumeratePhysicalDeviceGroups(
    VkInstance instance, uint32_t *count, VkPhysicalDeviceGroupProperties *out)
{
    VkPhysicalDeviceGroupProperties group = { .physicalDeviceCount = 1 };
    group.physicalDevices[0] = (VkPhysicalDevice)&HvInstance_of(instance)->physical;
    return enumerate(count, out, &group, 1, sizeof *out, true);
}
