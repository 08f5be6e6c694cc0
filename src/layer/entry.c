/* SPDX-License-Identifier: MIT
 *
 * The doors: the loader's interface for layers (vk_layer.h, version 2), and the lookup of functions
 * by name. What the layer has nothing to do with is the next one's own function.
 */
#include "layer/layer.h"

/* OWN: of extensions that the driver need not know. ALWAYS: also of devices that the layer leaves
 * alone. */
typedef enum Level { GLOBAL, INSTANCE, OWN, ALWAYS, DEVICE } Level;

static const struct {
    const char *name;
    PFN_vkVoidFunction function;
    Level level;
} entries[] = {
#define X(name, level) { "vk" #name, (PFN_vkVoidFunction)hl_##name, level },
    HL_ENTRIES(X)
#undef X
};

static size_t find(const char *name)
{
    size_t k = 0;
    while (k < COUNT_OF(entries) && strcmp(entries[k].name, name))
        k++;
    return k;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL hl_GetInstanceProcAddr(VkInstance instance,
                                                                const char *name)
{
    size_t k = find(name);
    bool known = k < COUNT_OF(entries);
    if (known && entries[k].level == GLOBAL)
        return entries[k].function;
    HlInstance *i = instance ? hl_instance(instance) : NULL;
    if (!i)
        return NULL;
    PFN_vkVoidFunction next = i->get(instance, name);
    return known && (next || entries[k].level == OWN) ? entries[k].function : next;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL hl_GetDeviceProcAddr(VkDevice device, const char *name)
{
    size_t k = find(name);
    const HlDevice *d = hl_device(device);
    if (!d)
        return NULL;
    PFN_vkVoidFunction next = d->get(device, name);
    bool ours = k < COUNT_OF(entries) && next &&
                (entries[k].level == ALWAYS || (entries[k].level == DEVICE && d->ours));
    return ours ? entries[k].function : next;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_physical(VkInstance instance, const char *name)
{
    size_t k = find(name);
    const HlInstance *i = hl_instance(instance);
    bool physical = !strncmp(name, "vkGetPhysicalDevice", 19) ||
                    !strcmp(name, "vkEnumerateDeviceExtensionProperties") ||
                    !strcmp(name, "vkCreateDevice");
    if (k < COUNT_OF(entries) && physical)
        return hl_GetInstanceProcAddr(instance, name);
    return i && i->get_physical ? i->get_physical(instance, name) : NULL;
}

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *n)
{
    if (n->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT || n->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    n->loaderLayerInterfaceVersion = 2;
    n->pfnGetInstanceProcAddr = hl_GetInstanceProcAddr;
    n->pfnGetDeviceProcAddr = hl_GetDeviceProcAddr;
    n->pfnGetPhysicalDeviceProcAddr = get_physical;
    return VK_SUCCESS;
}
