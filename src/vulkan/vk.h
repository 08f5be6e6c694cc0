/* SPDX-License-Identifier: MIT
 *
 * vulkan: the Vulkan driver, libvulkan_heddle.so. A compute-only device over runtime: handles are
 * pointers to the structs below, an entry point vkX is the function hv_X, and tables.def (written
 * by tools/vulkan_tables.py) says which there are and what the device reports.
 *
 * Threads: one lock a device (HvDevice.lock) guards queues, fences, semaphores and events; what the
 * specification calls externally synchronized has no lock. Work runs on a thread a queue, or on the
 * thread that waits for it.
 */
#ifndef HEDDLE_VULKAN_VK_H
#define HEDDLE_VULKAN_VK_H

#include <pthread.h>
#include <stdatomic.h>

#include <vulkan/vk_icd.h>

#include "runtime/runtime.h"
#include "vk/facts.h"

enum {
    N_QUEUES = 2,
    MAX_SETS = 32,             /* maxBoundDescriptorSets */
    MAX_PUSH = 256,            /* maxPushConstantsSize */
    MAX_DYNAMIC = 128,         /* dynamic buffers of a pipeline layout */
    MAX_DESCRIPTORS = 1 << 20, /* maxPerSetDescriptors */
    MAX_INLINE_BLOCK = 4096,   /* maxInlineUniformBlockSize, in bytes */
    MAX_INVOCATIONS = 1024,
    MAX_SHARED = 262144,
    BUFFER_ALIGNMENT = 64,
    SAMPLES = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_2_BIT | VK_SAMPLE_COUNT_4_BIT |
              VK_SAMPLE_COUNT_8_BIT,
};
#define MAX_MEMORY ((VkDeviceSize)1 << 40)

/* Declares hv_X of the type of vkX. */
#define TABLE_ENTRY
#define ENTRY(name, function, ...) extern __typeof__(name) hv_##function;
#include "vulkan/tables.def"
#undef ENTRY
#undef TABLE_ENTRY

/* ---- object.c: what all handles have in common ----------------------------------------------- */

/* Host memory of the application's. */
typedef VkAllocationCallbacks HvAlloc;

typedef struct HvDatum {
    uint64_t slot, value;
} HvDatum;
/* Every object begins with one, so that names and private data find their place. */
typedef struct HvBase {
    VK_LOADER_DATA loader; /* of dispatchable handles; the loader writes to it */
    VkObjectType type;
    char *name;    /* vkSetDebugUtilsObjectNameEXT's; malloc'd */
    HvDatum *data; /* vkSetPrivateData's; malloc'd */
    uint32_t n_data;
} HvBase;

void *object_new(const HvAlloc *own, const HvAlloc *parent, size_t size, VkObjectType type);
void object_free(const HvAlloc *own, const HvAlloc *parent, void *object);

/* X_of(handle): the struct behind a handle. */
#define DISPATCHABLE(T, Handle)                                                                    \
    static inline T *T##_of(Handle h) { return (T *)(void *)h; }
#define HANDLE(T, Handle)                                                                          \
    static inline T *T##_of(Handle h) { return (T *)(uintptr_t)h; }
#define TO_HANDLE(Handle, object) ((Handle)(uintptr_t)(object))

/* The strings behind one another and an empty one, for host_free. */
char *names_copy(const HvAlloc *alloc, const char *const *names, uint32_t n,
                 VkSystemAllocationScope scope);

/* ---- config.c: HEDDLE_* in the environment --------------------------------------------------- */

/* For programs that want to see what they do where there is less; kernels may use it all. */
typedef enum HvMatrixLevel {
    MATRICES_NONE,
    MATRICES_F16, /* VK_KHR_cooperative_matrix, 16x16x16 of f16, and f32 as its result */
    MATRICES_KHR, /* all of that extension */
    MATRICES_ALL
} HvMatrixLevel;

typedef struct HvConfig {
    VkPhysicalDeviceType device_type;
    uint32_t subgroup_size, threads;
    bool any_subgroup_size;     /* nobody has asked for one */
    uint32_t keep;              /* MiB of compiled kernels, those in use included */
    uint64_t budget;            /* with check: instructions of an invocation; 0: the default */
    bool check_fatal;           /* what check finds loses the device */
    bool check;                 /* run on the reference device and check */
    bool graphics;              /* says that it has what it has not: graphics.c */
    bool stats;                 /* counts of every pipeline, to the log at its device's end */
    bool debug;                 /* code with lines, for debuggers and profilers */
    bool variables;             /* and with variables in memory, not optimised */
    bool large_shapes;          /* lists matrices above 32 x 32 too */
    HvMatrixLevel matrices;     /* what it says that it has of them */
    const char *log;            /* "stderr", or a file that messages are appended to; or NULL */
    const char *dump, *replace; /* folders of shaders; or NULL */
    const char *cache;          /* folder of compiled kernels; or NULL */
    char wrong[512];            /* what is wrong with variables; or "" */
} HvConfig;
void config_read(HvConfig *c);

/* ---- instance.c ------------------------------------------------------------------------------ */

typedef struct HvInstance HvInstance;
typedef struct HvDevice HvDevice;

typedef struct HvMessenger {
    HvBase base;
    struct HvMessenger *prev, *next;
    VkDebugUtilsMessengerCreateInfoEXT info;
} HvMessenger;

typedef struct HvPhysical {
    HvBase base;
    HvInstance *instance;
    HeddleDevice *heddle;
    uint64_t memory;   /* bytes there are */
    uint64_t identity; /* device_identity */
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
} HvPhysical;

struct HvInstance {
    HvBase base;
    HvAlloc alloc;
    HvConfig config;
    char *extensions; /* that are enabled: names_copy's */
    uint32_t core;    /* the minor version that the application asks for */
    HvPhysical physical;
    pthread_mutex_t lock; /* of messengers, and of objects' names: queues speak of them too */
    HvMessenger *messengers;
};
DISPATCHABLE(HvInstance, VkInstance)
DISPATCHABLE(HvPhysical, VkPhysicalDevice)
HANDLE(HvMessenger, VkDebugUtilsMessengerEXT)

/* Whether the device has every feature that is asked for. */
bool features_are_there(VkPhysicalDevice device, const VkDeviceCreateInfo *info);

/* To the messengers and the log. `object` may be NULL. */
void say(HvInstance *instance, VkDebugUtilsMessageSeverityFlagBitsEXT severity,
         const HvBase *object, const char *id, const char *message);
/* A log whose diagnostics are said about `object`. NULL when out of memory, which is fine. */
typedef struct HvSpeaker {
    HvInstance *instance;
    const HvBase *object;
    char first[256];
} HvSpeaker;
HeddleLog *speaker_log(HvSpeaker *s);

/* ---- graphics.c ------------------------------------------------------------------------------ */

/* HEDDLE_CLAIM_GRAPHICS: what implementations of WebGPU require besides what is there. */
static inline bool claims_graphics(VkPhysicalDevice p)
{
    return HvPhysical_of(p)->instance->config.graphics;
}
void claim_features(VkPhysicalDeviceFeatures *f);
void claim_limits(VkPhysicalDeviceLimits *l);
VkFormatFeatureFlags2 claim_format(const TexelFormat *f); /* that kernels can read */

/* ---- device.c -------------------------------------------------------------------------------- */

typedef struct HvQueue HvQueue;
typedef struct HvCache HvCache;

struct HvDevice {
    HvBase base;
    HvInstance *instance;
    HvPhysical *physical;
    HvAlloc alloc;
    HvQueue *queues[N_QUEUES];
    char *extensions; /* that are enabled: names_copy's */
    pthread_mutex_t lock;
    pthread_cond_t changed;       /* a fence, semaphore or event; a queue has nothing more to do */
    uint32_t waiting;             /* for `changed` */
    uint32_t waiting_for_queries; /* of these */
    bool robust;                  /* robustBufferAccess(2) is on */
    uint32_t core;                /* the last minor version whose commands it gives away */
    atomic_bool failing;          /* lost: the queues stop */
    atomic_bool lost; /* ... have stopped, and calls say so: nothing is in use any more */
    char fault[VK_MAX_DESCRIPTION_SIZE];
    DeviceFault access;             /* what a kernel did that lost it */
    atomic_uint_fast64_t next_slot; /* of private data */
    HvCache *cache;                 /* kernels of all its pipelines */
    void *nothing;                  /* what empty descriptors point to */
    HvDevice *next_counted;         /* with HEDDLE_STATS */
};
DISPATCHABLE(HvDevice, VkDevice)
/* HEDDLE_STATS: logs what the kernels of an instance's devices did, once. */
void devices_report(HvInstance *of);
static inline DeviceBase *device_base(const HvDevice *d) { return d->physical->heddle->base; }

/* By what runs on a queue, not under the lock: the device is lost, for this reason. `fault` may be
 * NULL. */
void device_lose(HvDevice *d, const HvBase *object, const char *why, const DeviceFault *fault);

typedef struct HvPrivateSlot {
    HvBase base;
    uint64_t id;
} HvPrivateSlot;
HANDLE(HvPrivateSlot, VkPrivateDataSlot)

/* ---- memory.c -------------------------------------------------------------------------------- */

typedef struct HvMemory {
    HvBase base;
    HeddleBuffer *buffer;
    char *data;
    uint64_t size;
} HvMemory;
HANDLE(HvMemory, VkDeviceMemory)
uint64_t memory_in_use(void); /* by all devices of the process */

typedef struct HvBuffer {
    HvBase base;
    uint64_t size;
    char *data; /* NULL until bound */
} HvBuffer;
HANDLE(HvBuffer, VkBuffer)

/* Memory of the program's own, which can be imported. */
static inline bool is_host_memory(VkExternalMemoryHandleTypeFlagBits type)
{
    return type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT ||
           type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT;
}
/* What can be done with such a handle; nothing is shared with others. */
static inline VkExternalMemoryProperties external_memory(VkExternalMemoryHandleTypeFlagBits type)
{
    if (!is_host_memory(type))
        return (VkExternalMemoryProperties){ 0 };
    return (VkExternalMemoryProperties){ VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT, 0, type };
}
/* What every resource asks for; in the chain, no memory of its own. */
VkMemoryRequirements memory_requirements(uint64_t size);
void memory_requirements2(uint64_t size, VkMemoryRequirements2 *out);
/* `chain`: of the VkBind*MemoryInfo, or NULL. */
void memory_bind(char **data, VkDeviceMemory memory, VkDeviceSize offset, const void *chain);

/* ---- format.c -------------------------------------------------------------------------------- */

/* What the aspect's texels are; of formats of depth and stencil, which lie in planes of their own,
 * the depth's unless it is the stencil's that is asked for. NULL: not known. */
const TexelFormat *format_of(VkFormat format, VkImageAspectFlags aspect);
bool format_has_two(VkFormat format); /* depth and stencil */

/* ---- image.c --------------------------------------------------------------------------------- */

typedef struct HvImage {
    HvBase base;
    VkExtent3D extent;
    const TexelFormat *format;               /* of two planes the first's */
    bool two;                                /* a plane of stencil behind that of depth */
    uint32_t texel, levels, layers, samples; /* texel: its bytes, of one sample */
    char *data;                              /* NULL until bound */
} HvImage;
HANDLE(HvImage, VkImage)
uint64_t image_size(const HvImage *m);
HvImage image_plane(const HvImage *m, VkImageAspectFlags aspect); /* as if it were all */
/* Where a level lies, from a layer on. */
ImageLevel image_level(const HvImage *m, uint32_t level, uint32_t layer);

/* ---- view.c ---------------------------------------------------------------------------------- */

typedef struct HvImageView {
    HvBase base;
    ImageDesc desc;
} HvImageView, BufferView;
HANDLE(HvImageView, VkImageView)
HANDLE(BufferView, VkBufferView)
typedef struct HvSampler {
    HvBase base;
    SamplerDesc desc;
} HvSampler;
HANDLE(HvSampler, VkSampler)

/* ---- descriptor.c ---------------------------------------------------------------------------- */

typedef struct HvLayoutBinding {
    uint32_t binding, count;
    VkDescriptorType type;
    VkDescriptorBindingFlags flags;
    uint32_t first;             /* DeviceBinding of the set; with inline data: the one that it is */
    uint32_t first_dynamic;     /* of dynamic types: number in the set */
    uint32_t data;              /* of inline uniform blocks: offset of the data in the set */
    const HvSampler **samplers; /* immutable ones, or NULL; behind the layout */
} HvLayoutBinding;

typedef struct HvSetLayout {
    HvBase base;
    HvAlloc alloc;
    atomic_uint references;
    uint32_t n_bindings; /* sorted by binding */
    uint32_t n_descriptors, n_dynamic, data_size;
    bool is_mutable; /* has bindings of VK_DESCRIPTOR_TYPE_MUTABLE_EXT */
    VkDescriptorSetLayoutCreateFlags flags;
    void *nothing; /* what empty descriptors point to: the device's */
    HvLayoutBinding bindings[];
} HvSetLayout;
HANDLE(HvSetLayout, VkDescriptorSetLayout)
const HvLayoutBinding *layout_binding(const HvSetLayout *l, uint32_t binding);
size_t layout_set_size(const HvSetLayout *l); /* of a HvDescriptorSet with its descriptors */
void layout_release(HvSetLayout *l);

typedef struct HvSetPool HvSetPool;
typedef struct HvDescriptorSet {
    HvBase base;
    HvSetLayout *layout;
    HvSetPool *pool;
    struct HvDescriptorSet *prev, *next;
    uint32_t variable_count;
    /* layout->n_descriptors, of images and samplers ImageBindings; where bindings are mutable, a
     * byte each that says whether it is one; the data of inline blocks */
    DeviceBinding descriptors[];
} HvDescriptorSet;
HANDLE(HvDescriptorSet, VkDescriptorSet)
/* Makes the zeroed memory at `s` an empty set of the layout, which it retains. */
void set_init(HvDescriptorSet *s, HvSetLayout *l);
void set_write(HvDescriptorSet *s, const VkWriteDescriptorSet *w);
/* Whether the descriptor is an ImageBinding now. */
bool set_has_image(const HvDescriptorSet *s, const HvLayoutBinding *b, uint32_t element);

struct HvSetPool {
    HvBase base;
    uint32_t max_sets, n_sets;
    HvAlloc alloc;
    HvDescriptorSet *sets;
};
HANDLE(HvSetPool, VkDescriptorPool)

typedef struct HvUpdateTemplate {
    HvBase base;
    uint32_t n_entries;
    VkDescriptorUpdateTemplateEntry entries[];
} HvUpdateTemplate;
HANDLE(HvUpdateTemplate, VkDescriptorUpdateTemplate)
void template_write(HvDescriptorSet *s, const HvUpdateTemplate *t, const void *data);

typedef struct HvPipelineLayout {
    HvBase base;
    uint32_t n_sets;
    HvSetLayout *sets[]; /* each may be NULL */
} HvPipelineLayout;
HANDLE(HvPipelineLayout, VkPipelineLayout)

/* ---- cache.c: kernels that were compiled, and where they are kept ---------------------------- */

/* A kernel that pipelines and caches share. */
typedef struct HvKernel {
    atomic_uint references;
    DeviceKey key;
    HeddleKernel *heddle;       /* NULL when it comes from where kernels are kept */
    DeviceKernel *code;         /* heddle's, or its own */
    char name[64];              /* of its module, for people */
    const char *_Atomic folder; /* that it is to be kept in once there is something; or NULL */
    atomic_uint_fast64_t left;  /* clock_ns when somebody last let go of it */
    atomic_uint_fast64_t runs, ns, stats[DEVICE_N_STATS]; /* with HEDDLE_STATS */
} HvKernel;
/* Takes one of the two. NULL, with that freed, when out of memory. */
HvKernel *kernel_new(const DeviceKey *key, HeddleKernel *heddle, DeviceKernel *code);
HvKernel *kernel_retain(HvKernel *k);
void kernel_release(HvKernel *k);

struct HvCache {
    HvBase base;
    pthread_mutex_t lock;
    HvKernel **kernels; /* open addressing; malloc'd */
    uint32_t n_kernels, capacity;
    uint64_t bytes, limit; /* about what the kernels take, and may */
    char *stored;          /* kernels as bytes, not all of them loaded; malloc'd */
    size_t stored_size;
};
HANDLE(HvCache, VkPipelineCache)
/* Kernels that nobody else holds go when all take more bytes than the limit, the one first that has
 * been idle longest. */
bool cache_init(HvCache *c, uint64_t limit);
void cache_finish(HvCache *c);
HvKernel *cache_find(HvCache *c, DeviceBase *d, const DeviceKey *key); /* retained, or NULL */
void cache_add(HvCache *c, HvKernel *k);
void cache_release(HvCache *c, HvKernel *k); /* kernel_release, and keeps the limit */
/* HEDDLE_STATS: a line for each kernel that ran. */
void cache_report(const HvCache *c, void (*tell)(void *user, const char *line), void *user);
/* Of device_store's. */
HvKernel *folder_find(const char *folder, DeviceBase *d, const DeviceKey *key);

/* ---- pipeline.c ------------------------------------------------------------------------------ */

typedef struct HvShaderModule {
    HvBase base;
    size_t size;
    uint32_t words[];
} HvShaderModule;
HANDLE(HvShaderModule, VkShaderModule)

typedef struct HvPipeline {
    HvBase base;
    HvKernel *kernel;
} HvPipeline;
HANDLE(HvPipeline, VkPipeline)

/* ---- command.c: recording -------------------------------------------------------------------- */

typedef struct HvExec HvExec;
typedef struct HvCmd HvCmd;
struct HvCmd {
    HvCmd *next;
    void (*run)(HvExec *x, const HvCmd *c);
    bool moves; /* bytes of the program's, and nothing else */
};

/* What a dispatch sees, shared by those that see the same. */
typedef struct HvBoundState {
    _Alignas(16) char push[MAX_PUSH];
    HvPipeline *pipeline;
    HvDescriptorSet *sets[MAX_SETS];
    const uint32_t *dynamic[MAX_SETS]; /* offsets of the set's dynamic buffers */
} HvBoundState;

typedef struct HvCommandPool {
    HvBase base;
    HvDevice *device;
    HvAlloc alloc;
    struct HvCommandBuffer *buffers;
} HvCommandPool;
HANDLE(HvCommandPool, VkCommandPool)

typedef struct HvCommandBuffer {
    HvBase base;
    HvDevice *device;
    HvCommandPool *pool;
    struct HvCommandBuffer *prev, *next;
    VkResult result; /* of recording */
    HvCmd *first, **last;
    struct HvPushedSet *pushed;
    bool waits;                       /* for events, which its submitter may set later */
    struct HvBlock *blocks, *current; /* memory of commands; kept when reset */
    HvBoundState now;
    HvBoundState *shared; /* the copy in `blocks` that equals `now`, or NULL */
} HvCommandBuffer;
DISPATCHABLE(HvCommandBuffer, VkCommandBuffer)

/* Memory that lives as long as the recording: zeroed, 16-byte aligned. NULL makes
 * vkEndCommandBuffer fail. */
void *command_alloc(HvCommandBuffer *c, size_t size);
/* A command of `size` bytes, beginning with a Cmd, at the end of the list; NULL as above. */
void *command_new(HvCommandBuffer *c, size_t size, void (*run)(HvExec *, const HvCmd *));
#define RECORD(c, T, run) ((T *)command_new((c), sizeof(T), (run)))
/* The same for one that only moves bytes: where they are not there the device is lost. */
void *command_move(HvCommandBuffer *c, size_t size, void (*run)(HvExec *, const HvCmd *));
const HvBoundState *command_state(HvCommandBuffer *c);

/* ---- execute.c ------------------------------------------------------------------------------- */

/* What runs command buffers: one a queue. */
struct HvExec {
    HvDevice *device;
    Arena scratch;           /* of a dispatch */
    DeviceDispatch dispatch; /* what all have in common stays in it; large to fill in each time */
    const DeviceBinding **slots;
    uint32_t *counts;                 /* descriptors of each slot */
    uint32_t n_slots;                 /* room */
    DeviceBinding moved[MAX_DYNAMIC]; /* descriptors with dynamic offsets added */
};
void exec_run(HvExec *x, const HvCommandBuffer *c);
void exec_finish(HvExec *x);
void exec_dispatch(HvExec *x, const HvBoundState *s, const uint32_t groups[3],
                   const uint32_t base[3]);

/* ---- sync.c: fences, semaphores, events ------------------------------------------------------ */

typedef struct HvFence {
    HvBase base;
    bool signaled;
    HvQueue *queue;    /* that is to signal it; or NULL */
    uint64_t asked;    /* when a program last heard that it is not */
    uint64_t patience; /* ns that it was kept waiting then */
} HvFence;
HANDLE(HvFence, VkFence)

typedef struct HvSemaphore {
    HvBase base;
    bool timeline;
    uint64_t value; /* of binary ones 0 or 1 */
} HvSemaphore;
HANDLE(HvSemaphore, VkSemaphore)

typedef struct HvEvent {
    HvBase base;
    atomic_bool set;
} HvEvent;
HANDLE(HvEvent, VkEvent)

/* Under the lock: tells everyone who waits. */
void sync_changed(HvDevice *d);
/* Waits under the lock for a change, until `deadline` (clock_ns) at the latest; when there is no
 * deadline, runs work that is ready meanwhile: of `helped`, or of all queues if that is NULL. False
 * when the deadline has passed. */
bool sync_wait(HvDevice *d, HvQueue *helped, uint64_t deadline);
uint64_t sync_deadline(uint64_t timeout);

/* ---- queue.c --------------------------------------------------------------------------------- */

typedef struct HvSemaphoreUse {
    HvSemaphore *semaphore;
    uint64_t value;
} HvSemaphoreUse;
typedef struct HvSubmission {
    struct HvSubmission *next;
    HvFence *fence;
    HvSemaphoreUse *waits, *signals;
    HvCommandBuffer **buffers;
    uint32_t n_waits, n_signals, n_buffers;
} HvSubmission;

struct HvQueue {
    HvBase base;
    HvDevice *device;
    pthread_t thread;
    pthread_cond_t work;
    HvSubmission *head, **tail;
    HvSubmission *done; /* to be freed by a thread of the application's */
    bool running, started, stop, asleep;
    HvExec exec;
};
DISPATCHABLE(HvQueue, VkQueue)

HvQueue *queue_new(HvDevice *d);
void queue_free(HvQueue *q); /* what was submitted has run */
/* Under the lock: whether any queue runs something, or is about to. */
bool queues_work(const HvDevice *d);
/* Under the lock: if the next submission can start and nobody is there to run it, its thread is
 * woken. */
void queue_wake(HvQueue *q);
/* Under the lock: runs the next submission if it can start. False when there is none. */
bool queue_step(HvQueue *q);
VkResult queue_wait(HvQueue *q);

/* ---- query.c --------------------------------------------------------------------------------- */

typedef struct HvQuery {
    atomic_bool available;
    uint64_t value;
} HvQuery;
typedef struct HvQueryPool {
    HvBase base;
    uint32_t n;
    HvQuery queries[];
} HvQueryPool;
HANDLE(HvQueryPool, VkQueryPool)

#endif
