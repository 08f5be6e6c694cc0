/* SPDX-License-Identifier: MIT
 *
 * Finding drivers: through Vulkan's loader, and where there is none, or it finds no device, in
 * drivers' own libraries, by the loader's interface for those (docs of Vulkan-Loader,
 * LoaderDriverInterface). Everything is opened at run time, and nothing is kept between searches
 * but the mapped libraries, since not all drivers can be unloaded.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "lower/json.h"
#include "vkdevice/vkdevice.h"

/* ---- instances ------------------------------------------------------------------------------- */

static void *open_library(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

void vkd_close_instance(VkdInstance *i)
{
    if (i->handle && i->DestroyInstance)
        i->DestroyInstance(i->handle, NULL);
    if (i->library)
        dlclose(i->library);
    *i = (VkdInstance){ 0 };
}

static bool load_commands(VkdInstance *i)
{
    bool all = true;
#define X(name)                                                                                    \
    i->name = (PFN_vk##name)i->get(i->handle, "vk" #name);                                         \
    all &= i->name != NULL;
    VKD_INSTANCE_COMMANDS(X)
#undef X
#define X(name)                                                                                    \
    i->facts.name = (PFN_vk##name)i->get(i->handle, "vk" #name);                                   \
    all &= i->facts.name != NULL;
    VKF_COMMANDS(X)
#undef X
    i->facts.version = VK_API_VERSION_1_4;
    i->facts.matrices = (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)i->get(
        i->handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    i->facts.flexible =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)i->get(
            i->handle, "vkGetPhysicalDeviceCooperativeMatrix"
                       "FlexibleDimensionsPropertiesNV");
    return all;
}

/* An instance of what library and get are of; those are closed where there is none. */
static bool make_instance(VkdInstance *i)
{
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)i->get(NULL, "vkCreateInstance");
    VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pEngineName = "heddle",
                                      .apiVersion = VK_API_VERSION_1_4 };
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &application };
    if (!create || create(&info, NULL, &i->handle))
        i->handle = NULL;
    if (i->handle && load_commands(i))
        return true;
    vkd_close_instance(i);
    return false;
}

static bool open_loader(VkdInstance *i)
{
    *i = (VkdInstance){ .library = open_library("libvulkan.so.1") };
    if (i->library)
        *(void **)&i->get = dlsym(i->library, "vkGetInstanceProcAddr");
    return i->get != NULL;
}

/* Version 5 of the interface is the last that asks nothing of handles. */
static bool open_driver(VkdInstance *i, const char *library)
{
    VkResult (*negotiate)(uint32_t *version);
    uint32_t version = 5;
    *i = (VkdInstance){ .library = open_library(library) };
    if (!i->library)
        return false;
    *(void **)&negotiate = dlsym(i->library, "vk_icdNegotiateLoaderICDInterfaceVersion");
    *(void **)&i->get = dlsym(i->library, "vk_icdGetInstanceProcAddr");
    if (i->get && (!negotiate || !negotiate(&version)))
        return true;
    vkd_close_instance(i);
    return false;
}

/* ---- devices --------------------------------------------------------------------------------- */

static bool computes(const VkdInstance *i, VkPhysicalDevice p)
{
    VkQueueFamilyProperties families[16];
    uint32_t n = COUNT_OF(families);
    i->GetPhysicalDeviceQueueFamilyProperties(p, &n, families);
    while (n--)
        if (families[n].queueFlags & VK_QUEUE_COMPUTE_BIT)
            return true;
    return false;
}

/* Goes through the devices of an instance, and closes it unless the one that is wanted is there. */
static void look_through(VkdSearch *s, VkdInstance *i)
{
    VkPhysicalDevice list[64];
    uint32_t n = COUNT_OF(list);
    if (i->EnumeratePhysicalDevices(i->handle, &n, list) < 0)
        n = 0;
    for (uint32_t k = 0; k < n && !s->found; k++) {
        VkPhysicalDeviceProperties p;
        i->facts.GetPhysicalDeviceProperties(list[k], &p);
        if (p.apiVersion < VK_API_VERSION_1_1) {
            s->too_old++;
        } else if (computes(i, list[k]) && s->count++ == s->ordinal) {
            s->found = true;
            s->instance = *i;
            s->physical = list[k];
        }
    }
    if (!s->found)
        vkd_close_instance(i);
}

static void try_driver(VkdSearch *s, const char *library)
{
    VkdInstance i;
    if (s->found || !open_driver(&i, library))
        return;
    s->drivers++;
    if (make_instance(&i))
        look_through(s, &i);
}

/* ---- manifests ------------------------------------------------------------------------------- */

/* A path without a folder is the dynamic linker's to find, any other is beside the manifest. */
static void try_manifest(VkdSearch *s, const char *path)
{
    char text[16384], library[8192];
    DiagSink silent = { 0 };
    Arena a = { 0 };
    FILE *f = fopen(path, "re");
    size_t size = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        fclose(f);
    const Json *j = size ? json_read(&a, text, size, path, &silent) : NULL;
    const Json *icd = j && j->kind == JSON_OBJECT ? json_member(j, "ICD") : NULL;
    const Json *name = icd && icd->kind == JSON_OBJECT ? json_member(icd, "library_path") : NULL;
    if (name && name->kind == JSON_STRING) {
        const char *slash = strrchr(path, '/');
        bool beside = strchr(name->string, '/') && name->string[0] != '/' && slash;
        snprintf(library, sizeof library, "%.*s%s", beside ? (int)(slash - path + 1) : 0, path,
                 name->string);
        try_driver(s, library);
    }
    arena_free(&a);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_manifest(const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    return n > 5 && !strcmp(e->d_name + n - 5, ".json");
}

static void try_folder(VkdSearch *s, const char *folder)
{
    struct dirent **names;
    char path[8192];
    int n = scandir(folder, &names, is_manifest, by_name);
    for (int k = 0; k < n; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[k]->d_name);
        try_manifest(s, path);
        free(names[k]);
    }
    if (n >= 0)
        free(names);
}

/* Manifests, and folders of them, between colons. */
static void try_list(VkdSearch *s, const char *list)
{
    char path[4096];
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s", (int)n, at);
        if (n > 5 && !strcmp(path + strlen(path) - 5, ".json"))
            try_manifest(s, path);
        else if (n)
            try_folder(s, path);
        at += n + (at[n] == ':');
    }
}

static void try_drivers(VkdSearch *s)
{
    static const char *const folders[] = { "/etc/vulkan/icd.d", "/usr/local/etc/vulkan/icd.d",
                                           "/usr/local/share/vulkan/icd.d",
                                           "/usr/share/vulkan/icd.d" };
    /* where a container was given a driver's libraries but no manifest */
    static const char *const libraries[] = { "libGLX_nvidia.so.0", "libEGL_nvidia.so.0" };
    const char *list = secure_getenv("VK_DRIVER_FILES");
    if (!list || !*list)
        list = secure_getenv("VK_ICD_FILENAMES");
    if (list && *list) {
        try_list(s, list);
        return;
    }
    for (size_t k = 0; k < COUNT_OF(folders); k++)
        try_folder(s, folders[k]);
    for (size_t k = 0; k < COUNT_OF(libraries) && !s->count; k++)
        try_driver(s, libraries[k]);
}

void vkd_search(VkdSearch *s)
{
    VkdInstance i;
    s->loader = open_loader(&i);
    if (s->loader && make_instance(&i))
        look_through(s, &i);
    if (!s->count && !s->found)
        try_drivers(s);
}
