/* SPDX-License-Identifier: MIT
 *
 * layer: the Vulkan layer, libVkLayer_heddle_cooperative_matrix.so. It lists what a device lacks of
 * the family, takes it out of what programs ask of vkCreateDevice, and lowers modules that use it
 * when pipelines are made of them, which is when specialisation and the size of subgroups are
 * known. Whatever else a program calls is the driver's own function. A function vkX is hl_X here.
 *
 * Threads: the tables of instances and devices are read without a lock; an instance has a lock for
 * its physical devices, a device one for its modules and one for what was lowered.
 */
#ifndef HEDDLE_LAYER_H
#define HEDDLE_LAYER_H

#include <pthread.h>
#include <stdatomic.h>

#include "vk/facts.h"
#include <vulkan/vk_layer.h>

#define HL_NAME "VK_LAYER_HEDDLE_cooperative_matrix"

/* ---- config.c: what it lists, and HEDDLE_* in the environment -------------------------------- */

/* Of an extension that the device lists without some of its features, the layer does nothing, all,
 * or what is missing; each capability of the last kind is for a feature. */
typedef enum HlPart { HL_LEAVES, HL_REPLACES, HL_COMPLETES } HlPart;

typedef struct HlExtension {
    const char *name;
    uint32_t version;
    VkStructureType features, properties; /* properties: VK_STRUCTURE_TYPE_MAX_ENUM: has none */
    uint32_t n_features;
    uint32_t profile;          /* PROFILE_HAS_* */
    uint16_t capabilities[10]; /* of modules that use it; then zeros */
    HlPart part;
} HlExtension;

enum {
    HL_KHR,
    HL_NV,
    HL_NV2,
    HL_DECODE_VECTOR,
    HL_CONVERSION,
    HL_WAIT_QUEUES,
    HL_BFLOAT16,
    HL_FLOAT8,
    HL_N_EXTENSIONS,
    HL_NONE = HL_N_EXTENSIONS
};
extern const HlExtension hl_extensions[HL_N_EXTENSIONS];
uint32_t hl_extension(const char *name);

typedef struct HlConfig {
    uint32_t hidden, added; /* bits of HL_*: not listed; by the layer where the device has it too */
    uint32_t subgroup_size; /* the largest to list; 0: the device's */
    const char *log, *cache; /* or NULL */
    char wrong[256];         /* what is wrong with variables; or "" */
} HlConfig;
void hl_read_config(HlConfig *c);

/* ---- table.c --------------------------------------------------------------------------------- */

enum { HL_TABLE_ROWS = 256 };
/* By the first word of a dispatchable handle, which is the same for all that belong to an instance
 * or to a device. */
typedef struct HlTable {
    pthread_mutex_t lock; /* of those that write */
    atomic_uint n;
    atomic_uintptr_t keys[HL_TABLE_ROWS]; /* 0: free */
    void *values[HL_TABLE_ROWS];
} HlTable;
void *hl_table_find(HlTable *t, const void *dispatchable); /* or NULL */
bool hl_table_add(HlTable *t, const void *dispatchable, void *value);
void hl_table_remove(HlTable *t, const void *value);

/* ---- instance.c ------------------------------------------------------------------------------ */

/* What modules are lowered for: the device without what the layer does itself. */
typedef struct HlTarget {
    LowerProfile profile;
    uint64_t identity; /* of the profile and of this heddle */
} HlTarget;

typedef struct HlShapes {
    VkCooperativeMatrixPropertiesKHR *all;
    uint32_t n;
} HlShapes;

typedef struct HlPhysical {
    struct HlPhysical *next;
    VkPhysicalDevice handle;
    Arena arena;
    VkfFacts facts;
    _Atomic(const HlTarget *) target;
    atomic_bool asked;             /* of who holds what */
    uint32_t native;               /* bits of HL_*: the device lists it */
    uint32_t ours;                 /* the layer does it, */
    uint32_t shared;               /* beside what the device has of it: */
    uint32_t has[HL_N_EXTENSIONS]; /* these features, a bit each */
    uint32_t listed;               /* programs see it */
    uint32_t widest;               /* subgroups, made of several of the device's; 0: its own only */
    HlShapes khr, nv;              /* what is listed */
    VkCooperativeMatrixFlexibleDimensionsPropertiesNV *flexible;
    uint32_t n_flexible;
} HlPhysical;

#define HL_INSTANCE_COMMANDS(X)                                                                    \
    X(DestroyInstance)                                                                             \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                      \
    X(GetPhysicalDeviceFeatures2KHR)                                                               \
    X(GetPhysicalDeviceProperties2KHR)                                                             \
    X(SubmitDebugUtilsMessageEXT)                                                                  \
    X(GetPhysicalDeviceCooperativeMatrixPropertiesNV)

typedef struct HlInstance {
    VkInstance handle;
    VkAllocationCallbacks alloc;
    HlConfig config;
    PFN_vkGetInstanceProcAddr get;
    PFN_GetPhysicalDeviceProcAddr get_physical; /* or NULL */
    PFN_vkLayerCreateDevice create_device;      /* of the layer's own; or NULL */
    PFN_vkLayerDestroyDevice destroy_device;
    VkfCommands facts;
#define X(name) PFN_vk##name name; /* or NULL */
    HL_INSTANCE_COMMANDS(X)
#undef X
    pthread_mutex_t lock;
    HlPhysical *physicals;
} HlInstance;

HlInstance *hl_instance(const void *dispatchable);
/* What is known of the device; NULL: nothing, and the layer leaves it alone. */
HlPhysical *hl_physical(HlInstance *i, VkPhysicalDevice p);
/* Of the facts; out of memory where the arena says so. */
void hl_make_target(HlPhysical *p, Arena *a);
/* To the program's messengers and the log. `module` may be null. */
void hl_say(const HlInstance *i, VkDebugUtilsMessageSeverityFlagBitsEXT severity,
            VkShaderModule module, const char *id, const char *message);

/* ---- chain.c: copies of chains --------------------------------------------------------------- */

/* A structure that has no size here stays the program's own. What its pNext was is put back. */
typedef struct HlPatch {
    VkBaseOutStructure *at, *was;
} HlPatch;
typedef struct HlChain {
    Arena *arena;
    VkBaseOutStructure *first;
    VEC(HlPatch) patches;
} HlChain;
/* The chain without the structures of the types. Those of known size are copies. */
void hl_copy_chain(HlChain *c, const void *chain, const VkStructureType *without, uint32_t n);
void *hl_push(HlChain *c, VkStructureType type, size_t size); /* a new one, of zeros */
void hl_restore_chain(HlChain *c);
size_t hl_struct_size(VkStructureType type); /* 0: not known */

/* ---- device.c -------------------------------------------------------------------------------- */

/* Commands of a device, which may be missing: extensions have them. */
#define HL_DEVICE_COMMANDS(X)                                                                      \
    X(CreateComputePipelines)                                                                      \
    X(CreateGraphicsPipelines)                                                                     \
    X(CreatePipelineBinariesKHR)                                                                   \
    X(CreateRayTracingPipelinesKHR)                                                                \
    X(CreateShaderModule)                                                                          \
    X(CreateShadersEXT)                                                                            \
    X(DestroyDevice)                                                                               \
    X(DestroyShaderModule)                                                                         \
    X(GetPipelineKeyKHR)                                                                           \
    X(GetShaderModuleCreateInfoIdentifierEXT)                                                      \
    X(GetShaderModuleIdentifierEXT)

typedef struct HlKey {
    uint64_t hash[2];
} HlKey;

/* The program's module. Its handle is the driver's, of an empty shader with a number of its own, so
 * that names, private data and other layers find a module there. A plain one is the driver's as it
 * is, but for pipelines with subgroups larger than the driver's. */
typedef struct HlModule {
    struct HlModule *next;
    VkShaderModule handle;
    bool plain;
    uint32_t references; /* under the device's lock: pipelines are being made of it */
    HlKey key;           /* of the words */
    size_t size;
    uint32_t words[];
} HlModule;

typedef struct HlLowered HlLowered;
enum { HL_MODULE_ROWS = 256 };

typedef struct HlDevice {
    VkDevice handle;
    HlInstance *instance;
    HlPhysical *physical;
    VkAllocationCallbacks alloc;
    PFN_vkGetDeviceProcAddr get;
#define X(name) PFN_vk##name name;
    HL_DEVICE_COMMANDS(X)
#undef X
    uint32_t ours; /* bits of HL_*: enabled, and the layer's */
    pthread_mutex_t lock;
    HlModule *modules[HL_MODULE_ROWS]; /* by handle */
    atomic_uint n_modules, numbers;
    pthread_mutex_t cache_lock;
    HlLowered *lowered; /* newest first */
    size_t cached;      /* bytes */
} HlDevice;
HlDevice *hl_device(VkDevice device);
/* What the program asks for, with what lowered modules need in place of what the layer does. */
void hl_change_device(const HlPhysical *p, uint32_t ours, VkDeviceCreateInfo *info, HlChain *chain);

/* ---- ask.c ----------------------------------------------------------------------------------- */

/* Asks the driver who holds which element of its matrices, once, on a device of the layer's own. */
void hl_ask(HlInstance *i, HlPhysical *p, PFN_vkSetDeviceLoaderData set_dispatch);

/* ---- module.c -------------------------------------------------------------------------------- */

/* Whether the device's driver cannot have the code as it is. */
bool hl_is_family(const HlDevice *d, const void *words, size_t size);
/* Whether the subgroups that a stage or a shader with the chain asks for are larger than the
 * driver's. */
bool hl_is_wide(const HlDevice *d, const void *chain);
uint32_t hl_required_size(const void *chain); /* of subgroups; 0: any */
/* The module, until it is released; NULL: it is not the layer's. */
HlModule *hl_find_module(HlDevice *d, VkShaderModule m);
void hl_release_module(HlDevice *d, HlModule *m);
HlKey hl_key(const void *words, size_t size);
void hl_free_modules(HlDevice *d);

/* ---- lower.c --------------------------------------------------------------------------------- */

/* One entry point, of code or of a key alone: the words are in the cache then, or nowhere. Of a
 * stage that is no compute shader all of the module is lowered, but types alone. */
typedef struct HlStage {
    HlDevice *device;
    VkShaderModule module; /* for messages; or null */
    const void *words;     /* or NULL */
    size_t size;
    HlKey key; /* of the words */
    const char *entry;
    const VkSpecializationInfo *specialization;
    uint32_t subgroup_size; /* required; or 0 */
    bool compute;
} HlStage;

struct HlLowered {
    HlLowered *next;
    atomic_uint references;
    HlKey key;
    uint32_t native; /* size of subgroups */
    uint32_t whole;  /* the workgroup's first size is a multiple of it */
    size_t size;
    uint32_t words[];
};
/* VK_PIPELINE_COMPILE_REQUIRED: it is not in a cache, and may not be made or has no words. */
VkResult hl_lower(const HlStage *s, bool may_lower, HlLowered **out);
void hl_release_lowered(HlLowered *l);
void hl_free_lowered(HlDevice *d);

/* ---- entry.c --------------------------------------------------------------------------------- */

#define HL_ENTRIES(X)                                                                              \
    X(CreateInstance, GLOBAL)                                                                      \
    X(GetInstanceProcAddr, GLOBAL)                                                                 \
    X(DestroyInstance, INSTANCE)                                                                   \
    X(CreateDevice, INSTANCE)                                                                      \
    X(EnumerateDeviceExtensionProperties, INSTANCE)                                                \
    X(GetPhysicalDeviceFeatures2, INSTANCE)                                                        \
    X(GetPhysicalDeviceFeatures2KHR, INSTANCE)                                                     \
    X(GetPhysicalDeviceProperties2, INSTANCE)                                                      \
    X(GetPhysicalDeviceProperties2KHR, INSTANCE)                                                   \
    X(GetPhysicalDeviceCooperativeMatrixPropertiesKHR, OWN)                                        \
    X(GetPhysicalDeviceCooperativeMatrixPropertiesNV, OWN)                                         \
    X(GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV, OWN)                       \
    X(GetDeviceProcAddr, ALWAYS)                                                                   \
    X(DestroyDevice, ALWAYS)                                                                       \
    X(CreateComputePipelines, DEVICE)                                                              \
    X(CreateGraphicsPipelines, DEVICE)                                                             \
    X(CreatePipelineBinariesKHR, DEVICE)                                                           \
    X(CreateRayTracingPipelinesKHR, DEVICE)                                                        \
    X(CreateShaderModule, DEVICE)                                                                  \
    X(CreateShadersEXT, DEVICE)                                                                    \
    X(DestroyShaderModule, DEVICE)                                                                 \
    X(GetPipelineKeyKHR, DEVICE)                                                                   \
    X(GetShaderModuleCreateInfoIdentifierEXT, DEVICE)                                              \
    X(GetShaderModuleIdentifierEXT, DEVICE)

#define X(name, ...) extern __typeof__(*(PFN_vk##name)NULL) hl_##name;
HL_ENTRIES(X)
#undef X

#endif
