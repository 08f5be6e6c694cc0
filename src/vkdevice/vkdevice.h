/* SPDX-License-Identifier: MIT
 *
 * What the files of vkdevice/ share: finding drivers, what a device has, its memory, its kernels.
 * A function vkX is in a table of commands, without its vk. Private to vkdevice/.
 */
#ifndef HEDDLE_VKDEVICE_H
#define HEDDLE_VKDEVICE_H

#include <pthread.h>
#include "vk/facts.h"
#include "vkdevice/ask.h"
#include "vkdevice/device.h"

/* ---- loader.c: where drivers are ------------------------------------------------------------- */

/* Commands of an instance, besides those that its devices' facts are asked with. */
#define VKD_INSTANCE_COMMANDS(X)                                                                   \
    X(CreateDevice)                                                                                \
    X(DestroyInstance)                                                                             \
    X(EnumeratePhysicalDevices)                                                                    \
    X(GetDeviceProcAddr)                                                                           \
    X(GetPhysicalDeviceQueueFamilyProperties)

/* An instance of the loader's, or of a driver that is opened without one. */
typedef struct VkdInstance {
    void *library;
    VkInstance handle;
    PFN_vkGetInstanceProcAddr get;
#define X(name) PFN_vk##name name;
    VKD_INSTANCE_COMMANDS(X)
#undef X
    VkfCommands facts;
} VkdInstance;

/* What a search for drivers came to. */
typedef struct VkdSearch {
    uint32_t ordinal; /* of the device that is wanted; UINT32_MAX: all are counted */
    uint32_t count;   /* devices that were seen */
    bool found;       /* then these two are the caller's, for vkd_close_instance */
    VkdInstance instance;
    VkPhysicalDevice physical;
    bool loader; /* there is one */
    uint32_t drivers,
        too_old; /* libraries of drivers that could be opened; devices of Vulkan 1.0 */
} VkdSearch;
void vkd_search(VkdSearch *s);
void vkd_close_instance(VkdInstance *i);

/* ---- device.c -------------------------------------------------------------------------------- */

#define VKD_COMMANDS(X)                                                                            \
    X(AllocateCommandBuffers)                                                                      \
    X(AllocateDescriptorSets)                                                                      \
    X(AllocateMemory)                                                                              \
    X(BeginCommandBuffer)                                                                          \
    X(BindBufferMemory)                                                                            \
    X(CmdBindDescriptorSets)                                                                       \
    X(CmdBindPipeline)                                                                             \
    X(CmdCopyBuffer)                                                                               \
    X(CmdDispatchBase)                                                                             \
    X(CmdFillBuffer)                                                                               \
    X(CmdPipelineBarrier)                                                                          \
    X(CmdPushConstants)                                                                            \
    X(CmdResetQueryPool)                                                                           \
    X(CmdWriteTimestamp)                                                                           \
    X(CreateBuffer)                                                                                \
    X(CreateCommandPool)                                                                           \
    X(CreateComputePipelines)                                                                      \
    X(CreateDescriptorPool)                                                                        \
    X(CreateDescriptorSetLayout)                                                                   \
    X(CreateFence)                                                                                 \
    X(CreatePipelineCache)                                                                         \
    X(CreatePipelineLayout)                                                                        \
    X(CreateQueryPool)                                                                             \
    X(CreateShaderModule)                                                                          \
    X(DestroyBuffer)                                                                               \
    X(DestroyCommandPool)                                                                          \
    X(DestroyDescriptorPool)                                                                       \
    X(DestroyDescriptorSetLayout)                                                                  \
    X(DestroyDevice)                                                                               \
    X(DestroyFence)                                                                                \
    X(DestroyPipeline)                                                                             \
    X(DestroyPipelineCache)                                                                        \
    X(DestroyPipelineLayout)                                                                       \
    X(DestroyQueryPool)                                                                            \
    X(DestroyShaderModule)                                                                         \
    X(DeviceWaitIdle)                                                                              \
    X(EndCommandBuffer)                                                                            \
    X(FreeMemory)                                                                                  \
    X(GetBufferMemoryRequirements)                                                                 \
    X(GetDeviceQueue)                                                                              \
    X(GetPipelineCacheData)                                                                        \
    X(GetQueryPoolResults)                                                                         \
    X(MapMemory)                                                                                   \
    X(QueueSubmit)                                                                                 \
    X(ResetCommandPool)                                                                            \
    X(ResetFences)                                                                                 \
    X(UpdateDescriptorSets)                                                                        \
    X(WaitForFences)

/* A command buffer and what says that it has run, used again and again. */
typedef struct VkdJob {
    struct VkdJob *next;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkQueryPool times; /* two; VK_NULL_HANDLE where the queue has no clock */
    uint64_t limit_ns; /* how long it may take; 0: as long as it does */
} VkdJob;

typedef struct VkdPiece VkdPiece;

typedef struct VkdDevice {
    DeviceBase base;
    Arena arena; /* of what describes it; nothing is allocated there once it is open */
    VkfFacts facts;
    VkdInstance instance;
    VkPhysicalDevice physical;
    VkDevice handle;
    VkQueue queue;
    uint32_t family;
    uint32_t time_bits; /* of a timestamp; 0: none */
    bool unified;       /* all memory is the host's */
#define X(name) PFN_vk##name name;
    VKD_COMMANDS(X)
#undef X
    PFN_vkGetBufferDeviceAddress address_of;             /* or NULL */
    VkResult(VKAPI_PTR *set_dispatch)(VkDevice, void *); /* or NULL */
    VkPipelineCache cache;                               /* or VK_NULL_HANDLE */
    size_t cached;                                       /* bytes that it began with */
    pthread_mutex_t queue_lock;                          /* of `queue` */
    pthread_mutex_t lock;                                /* of all below */
    VkdJob *jobs;                                        /* nobody's */
    VkdPiece *pieces;
    uint64_t next_address; /* where there are none of the device's */
    bool lost;
    bool stuck; /* something still runs that took too long: nothing it may use is released */
} VkdDevice;

/* The error of a call that failed, in words: "WHAT: out of the device's memory". */
HeddleResult vkd_failed(VkdDevice *d, VkResult r, const char *what, DiagSink *sink);

/* ---- job.c: work for the queue --------------------------------------------------------------- */

/* Begins a command buffer, behind all that was submitted before. NULL after reporting. */
VkdJob *vkd_begin(VkdDevice *d, DiagSink *sink);
/* Runs it to its end and lets go of it. */
HeddleResult vkd_run(VkdDevice *d, VkdJob *j, DiagSink *sink);
/* The same in two steps, between which the job is the caller's. */
HeddleResult vkd_run_and_keep(VkdDevice *d, VkdJob *j, DiagSink *sink);
void vkd_give_back(VkdDevice *d, VkdJob *j);
void vkd_free_jobs(VkdDevice *d);
bool vkd_is_stuck(VkdDevice *d);

/* ---- cache.c --------------------------------------------------------------------------------- */

void vkd_open_cache(VkdDevice *d);
void vkd_close_cache(VkdDevice *d);
/* A file of the driver's in HEDDLE_CACHE; false: that is not there. */
bool vkd_cache_path(const VkdDevice *d, const char *what, char *out, size_t size);

/* ---- ask.c ----------------------------------------------------------------------------------- */

/* Who holds which element, into the profile; before the device is anybody's, in its arena. */
void vkd_ask(void *device);

/* ---- memory.c -------------------------------------------------------------------------------- */

/* A buffer with memory of its own. */
struct VkdPiece {
    VkdPiece *prev, *next;
    uint64_t address, size;
    VkBuffer buffer;
    VkDeviceMemory memory;
    void *mapped;  /* NULL: only copies reach it */
    void *wrapped; /* the program's bytes that this is a copy of; or NULL */
};

bool vkd_alloc(DeviceBase *d, uint64_t size, HeddlePlacement placement, DeviceMemory *out);
bool vkd_wrap(DeviceBase *d, void *data, uint64_t size, DeviceMemory *out);
void vkd_free(DeviceBase *d, DeviceMemory *m);
HeddleResult vkd_read(DeviceBase *d, const DeviceMemory *m, uint64_t offset, void *to,
                      uint64_t size, DiagSink *sink);
HeddleResult vkd_write(DeviceBase *d, const DeviceMemory *m, uint64_t offset, const void *from,
                       uint64_t size, DiagSink *sink);
/* The piece that an address lies in, or NULL. */
VkdPiece *vkd_find(VkdDevice *d, uint64_t address);
/* Bytes of a piece, from `offset` on, and the program's that they are copied from or to. */
typedef struct VkdSpan {
    uint64_t offset, size;
    void *data;
} VkdSpan;
HeddleResult vkd_copy(VkdDevice *d, VkdPiece *p, const VkdSpan *span, bool to_device,
                      DiagSink *sink);

/* ---- kernel.c -------------------------------------------------------------------------------- */

enum { VKD_UNBOUNDED = 1024 }; /* descriptors of an array whose length a kernel leaves open */

typedef struct VkdKernel {
    DeviceKernel base;
    VkDescriptorType *types; /* by slot */
    uint32_t *counts;        /* by slot: descriptors */
    VkDescriptorSetLayout *sets;
    uint32_t n_sets;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    uint32_t push_bytes;    /* of the layout */
    bool follows_addresses; /* it may reach any memory of the device's */
} VkdKernel;

HeddleResult vkd_compile(DeviceBase *d, const DeviceCompile *c, Arena *arena, DeviceKernel **out,
                         DiagSink *sink);
void vkd_release(DeviceKernel *k);

/* ---- dispatch.c ------------------------------------------------------------------------------ */

HeddleResult vkd_dispatch(DeviceBase *d, DeviceDispatch *x, Arena *scratch, DiagSink *sink);

#endif
