/* SPDX-License-Identifier: MIT
 *
 * The doors of the driver: the loader's interface (vk_icd.h, version 7) and the lookup of entry
 * points by name. The same doors serve programs that open the driver without a loader.
 */
#include <stdlib.h>

#include "vulkan/vk.h"

/* A function that no file defines is a null pointer here and in the table: the device has no such
 * command. */
#define TABLE_ENTRY
#define ENTRY(name, function, ...) extern __typeof__(name) hv_##function __attribute__((weak));
#include "vulkan/tables.def"
#undef ENTRY

typedef enum Level { GLOBAL, INSTANCE, PHYSICAL, DEVICE } Level;
typedef struct EntryPoint {
    const char *name;
    PFN_vkVoidFunction function;
    Level level;
    uint32_t version;       /* minor one of the core that has it */
    const char *extensions; /* those that have it else, with blanks between; or "" */
} EntryPoint;

/* Sorted by name. */
static const EntryPoint entry_points[] = {
#define ENTRY(name, function, level, version, extensions)                                          \
    { #name, (PFN_vkVoidFunction)hv_##function, level, version, extensions },
#include "vulkan/tables.def"
#undef ENTRY
};
#undef TABLE_ENTRY

static int by_name(const void *name, const void *entry)
{
    return strcmp(name, ((const EntryPoint *)entry)->name);
}

static const EntryPoint *find(const char *name)
{
    return bsearch(name, entry_points, COUNT_OF(entry_points), sizeof *entry_points, by_name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL hv_GetInstanceProcAddr(VkInstance instance,
                                                                const char *name)
{
    const EntryPoint *e = find(name);
    bool always = e && (e->level == GLOBAL || !strcmp(name, "vkGetInstanceProcAddr"));
    return e && (instance || always) ? e->function : NULL;
}

static bool is_among(const char *names, const char *name, size_t n)
{
    for (const char *at = names; *at; at += strlen(at) + 1) {
        if (!strncmp(at, name, n) && !at[n])
            return true;
    }
    return false;
}

/* Commands of extensions that are not enabled are not there (vkGetDeviceProcAddr's table). */
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL hv_GetDeviceProcAddr(VkDevice device, const char *name)
{
    const HvDevice *d = HvDevice_of(device);
    const EntryPoint *e = find(name);
    bool there = e && e->level == DEVICE && e->version <= d->core;
    if (!there || !*e->extensions)
        return there ? e->function : NULL;
    there = false;
    for (const char *at = e->extensions; *at && !there;) {
        size_t n = strcspn(at, " ");
        there = is_among(d->extensions, at, n) || is_among(d->instance->extensions, at, n);
        at += n + (at[n] == ' ');
    }
    return there ? e->function : NULL;
}

/* ---- what the library exports ---------------------------------------------------------------- */

#define DOOR __attribute__((visibility("default"))) VKAPI_ATTR

DOOR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
DOOR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance, const char *name);
DOOR PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance,
                                                                   const char *name);

DOOR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    if (*version < 2)
        return VK_ERROR_INCOMPATIBLE_DRIVER;
    *version = MIN(*version, 7);
    return VK_SUCCESS;
}

/* The other doors are found here too, as version 7 of the interface has it. */
DOOR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance, const char *name)
{
    if (!strcmp(name, "vk_icdNegotiateLoaderICDInterfaceVersion"))
        return (PFN_vkVoidFunction)vk_icdNegotiateLoaderICDInterfaceVersion;
    if (!strcmp(name, "vk_icdGetPhysicalDeviceProcAddr"))
        return (PFN_vkVoidFunction)vk_icdGetPhysicalDeviceProcAddr;
    return hv_GetInstanceProcAddr(instance, name);
}

DOOR PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance,
                                                                   const char *name)
{
    (void)instance;
    const EntryPoint *e = find(name);
    return e && e->level == PHYSICAL ? e->function : NULL;
}
