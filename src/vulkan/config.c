/* SPDX-License-Identifier: MIT
 *
 * The environment variables of the driver; docs/VULKAN.md has the table for users.
 */
#include <stdlib.h>

#include "vulkan/vk.h"

static VkPhysicalDeviceType device_type(const char *name)
{
    static const struct { const char *name; VkPhysicalDeviceType type; } types[] = {
        { "cpu", VK_PHYSICAL_DEVICE_TYPE_CPU },
        { "integrated", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU },
        { "discrete", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU },
        { "virtual", VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU },
        { "other", VK_PHYSICAL_DEVICE_TYPE_OTHER },
    };
    for (size_t i = 0; name && i < COUNT_OF(types); i++) {
        if (!strcmp(name, types[i].name))
            return types[i].type;
    }
    return VK_PHYSICAL_DEVICE_TYPE_CPU;
}

static uint32_t number(const char *name, uint32_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? (uint32_t)strtoul(s, NULL, 10) : otherwise;
}

static bool on(const char *name)
{
    const char *s = getenv(name);
    return s && *s && strcmp(s, "0");
}

static const char *text(const char *name)
{
    const char *s = getenv(name);
    return s && *s ? s : NULL;
}

void config_read(Config *c)
{
    uint32_t size = number("HEDDLE_SUBGROUP_SIZE", 0);
    *c = (Config){
        .device_type = device_type(getenv("HEDDLE_DEVICE_TYPE")),
        .subgroup_size = size >= 8 && size <= 128 && is_pow2(size) ? size : 32,
        .threads = number("HEDDLE_THREADS", 0), .keep = number("HEDDLE_KEEP", 256),
        .check = on("HEDDLE_CHECK"), .graphics = on("HEDDLE_CLAIM_GRAPHICS"),
        .stats = on("HEDDLE_STATS"), .log = text("HEDDLE_LOG"),
        .dump = text("HEDDLE_DUMP"), .replace = text("HEDDLE_REPLACE"),
        .cache = text("HEDDLE_CACHE"),
    };
}
