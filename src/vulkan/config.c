/* SPDX-License-Identifier: MIT
 *
 * The environment variables of the driver; docs/VULKAN.md has the table for users. Programs that
 * run with others' rights see none of them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vulkan/vk.h"

static const char *text(const char *name)
{
    const char *s = secure_getenv(name);
    return s && *s ? s : NULL;
}

static bool on(const char *name)
{
    const char *s = text(name);
    return s && strcmp(s, "0");
}

static void complain_instead(HvConfig *c, const char *name, const char *expected,
                             const char *instead)
{
    size_t n = strlen(c->wrong);
    snprintf(c->wrong + n, sizeof c->wrong - n, "%s%s is not %s: %s", n ? "; " : "", name, expected,
             instead);
}

static void complain(HvConfig *c, const char *name, const char *expected)
{
    complain_instead(c, name, expected, "ignored");
}

static VkPhysicalDeviceType device_type(HvConfig *c, const char *name)
{
    static const struct {
        const char *name;
        VkPhysicalDeviceType type;
    } types[] = {
        { "cpu", VK_PHYSICAL_DEVICE_TYPE_CPU },
        { "integrated", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU },
        { "discrete", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU },
        { "virtual", VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU },
        { "other", VK_PHYSICAL_DEVICE_TYPE_OTHER },
    };
    const char *s = text(name);
    for (size_t i = 0; s && i < COUNT_OF(types); i++) {
        if (!strcmp(s, types[i].name))
            return types[i].type;
    }
    if (s)
        complain(c, name, "cpu, integrated, discrete, virtual or other");
    return VK_PHYSICAL_DEVICE_TYPE_CPU;
}

static HvMatrixLevel matrix_level(HvConfig *c, const char *name)
{
    static const char *const levels[] = { [MATRICES_NONE] = "none",
                                          [MATRICES_F16] = "f16",
                                          [MATRICES_KHR] = "khr",
                                          [MATRICES_ALL] = "all" };
    const char *s = text(name);
    for (size_t i = 0; s && i < COUNT_OF(levels); i++) {
        if (!strcmp(s, levels[i]))
            return (HvMatrixLevel)i;
    }
    if (s)
        complain(c, name, "all, khr, f16 or none");
    return MATRICES_ALL;
}

/* heddle_kernel_new reads it. */
static void check_tier(HvConfig *c, const char *name)
{
    const char *s = text(name);
    if (s && strcmp(s, "auto") && strcmp(s, "fast") && strcmp(s, "full"))
        complain(c, name, "auto, fast or full");
}

static uint32_t number(HvConfig *c, const char *name, uint32_t otherwise)
{
    const char *s = text(name);
    char *end = NULL;
    unsigned long n = s ? strtoul(s, &end, 10) : otherwise;
    if (!s || (!*end && n <= UINT32_MAX))
        return (uint32_t)n;
    complain(c, name, "a number");
    return otherwise;
}

static uint32_t subgroup_size(HvConfig *c, const char *name)
{
    uint32_t n = number(c, name, 32);
    if (n >= 8 && n <= 128 && is_pow2(n))
        return n;
    complain(c, name, "8, 16, 32, 64 or 128");
    return 32;
}

/* One to be written to is made. */
static const char *folder(HvConfig *c, const char *name, bool written)
{
    const char *s = text(name);
    if (s && written)
        mkdir(s, 0777);
    if (!s || !access(s, written ? W_OK | X_OK : R_OK | X_OK))
        return s;
    complain(c, name, written ? "a folder to write to" : "a folder to read from");
    return NULL;
}

/* Whoever asks for messages is told where they go instead. */
static const char *log_file(HvConfig *c, const char *name)
{
    const char *s = text(name);
    if (!s || !strcmp(s, "stderr"))
        return s;
    int fd = open(s, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        complain_instead(c, name, "a file to write to", "messages go to stderr");
        return "stderr";
    }
    close(fd);
    return s;
}

void config_read(HvConfig *c)
{
    *c = (HvConfig){
        .check = on("HEDDLE_CHECK"),
        .debug = on("HEDDLE_DEBUG"),
        .graphics = on("HEDDLE_CLAIM_GRAPHICS"),
        .stats = on("HEDDLE_STATS"),
    };
    c->variables = c->debug && !strcmp(text("HEDDLE_DEBUG"), "variables");
    c->log = log_file(c, "HEDDLE_LOG");
    c->dump = folder(c, "HEDDLE_DUMP", true);
    c->replace = folder(c, "HEDDLE_REPLACE", false);
    c->cache = folder(c, "HEDDLE_CACHE", true);
    c->device_type = device_type(c, "HEDDLE_DEVICE_TYPE");
    c->subgroup_size = subgroup_size(c, "HEDDLE_SUBGROUP_SIZE");
    c->any_subgroup_size = !text("HEDDLE_SUBGROUP_SIZE");
    c->large_shapes =
        text("HEDDLE_LARGE_SHAPES") ? on("HEDDLE_LARGE_SHAPES") : c->subgroup_size >= 64;
    c->matrices = matrix_level(c, "HEDDLE_MATRICES");
    const char *check = text("HEDDLE_CHECK");
    c->check_fatal = check && (!strcmp(check, "fatal") || !strcmp(check, "lost"));
    c->budget = number(c, "HEDDLE_BUDGET", 0);
    c->threads = number(c, "HEDDLE_THREADS", 0);
    c->keep = number(c, "HEDDLE_KEEP", 256);
    check_tier(c, "HEDDLE_TIER");
}
