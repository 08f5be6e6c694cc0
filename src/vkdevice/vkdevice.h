/* SPDX-License-Identifier: MIT
 *
 * What the files of vkdevice/ share: finding drivers, what a device has, its memory, its kernels.
 * A function vkX is in a table of commands, without its vk. Private to vkdevice/.
 */
#ifndef HEDDLE_VKDEVICE_H
#define HEDDLE_VKDEVICE_H

#include <pthread.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "lower/lower.h"
#include "vkdevice/device.h"

/* ---- loader.c: where drivers are ------------------------------------------------------------- */

/* Commands of an instance; those with a question mark in their comment may be missing. */
#define VKD_INSTANCE_COMMANDS(X)                                                                   \
    X(CreateDevice)                                                                                \
    X(DestroyInstance)                                                                             \
    X(EnumerateDeviceExtensionProperties)                                                          \
    X(EnumeratePhysicalDevices)                                                                    \
    X(GetDeviceProcAddr)                                                                           \
    X(GetPhysicalDeviceFeatures2)                                                                  \
    X(GetPhysicalDeviceMemoryProperties)                                                           \
    X(GetPhysicalDeviceProperties)                                                                 \
    X(GetPhysicalDeviceProperties2)                                                                \
    X(GetPhysicalDeviceQueueFamilyProperties)

/* An instance of the loader's, or of a driver that is opened without one. */
typedef struct VkdInstance {
    void *library;
    VkInstance handle;
    PFN_vkGetInstanceProcAddr get;
#define X(name) PFN_vk##name name;
    VKD_INSTANCE_COMMANDS(X)
#undef X
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR matrices; /* or NULL */
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

/* ---- describe.c: what a device has ----------------------------------------------------------- */

/* Structures of features: member, type without VkPhysicalDevice and Features, the end of its
 * sType, the extension, the version of Vulkan that has it without. All that a device has of them
 * are enabled. */
#define VKD_FEATURES(X)                                                                            \
    X(storage16, 16BitStorage, 16BIT_STORAGE_FEATURES, "", 1)                                      \
    X(pointers, VariablePointers, VARIABLE_POINTERS_FEATURES, "", 1)                               \
    X(storage8, 8BitStorage, 8BIT_STORAGE_FEATURES, "VK_KHR_8bit_storage", 2)                      \
    X(small, ShaderFloat16Int8, SHADER_FLOAT16_INT8_FEATURES, "VK_KHR_shader_float16_int8", 2)     \
    X(atomics64, ShaderAtomicInt64, SHADER_ATOMIC_INT64_FEATURES, "VK_KHR_shader_atomic_int64", 2) \
    X(addresses, BufferDeviceAddress, BUFFER_DEVICE_ADDRESS_FEATURES,                              \
      "VK_KHR_buffer_device_address", 2)                                                           \
    X(memory_model, VulkanMemoryModel, VULKAN_MEMORY_MODEL_FEATURES, "VK_KHR_vulkan_memory_model", \
      2)                                                                                           \
    X(scalar, ScalarBlockLayout, SCALAR_BLOCK_LAYOUT_FEATURES, "VK_EXT_scalar_block_layout", 2)    \
    X(standard, UniformBufferStandardLayout, UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES,              \
      "VK_KHR_uniform_buffer_standard_layout", 2)                                                  \
    X(extended, ShaderSubgroupExtendedTypes, SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES,              \
      "VK_KHR_shader_subgroup_extended_types", 2)                                                  \
    X(indexing, DescriptorIndexing, DESCRIPTOR_INDEXING_FEATURES, "VK_EXT_descriptor_indexing", 2) \
    X(sizes, SubgroupSizeControl, SUBGROUP_SIZE_CONTROL_FEATURES, "VK_EXT_subgroup_size_control",  \
      3)                                                                                           \
    X(dot, ShaderIntegerDotProduct, SHADER_INTEGER_DOT_PRODUCT_FEATURES,                           \
      "VK_KHR_shader_integer_dot_product", 3)                                                      \
    X(zeros, ZeroInitializeWorkgroupMemory, ZERO_INITIALIZE_WORKGROUP_MEMORY_FEATURES,             \
      "VK_KHR_zero_initialize_workgroup_memory", 3)                                                \
    X(maintenance4, Maintenance4, MAINTENANCE_4_FEATURES, "VK_KHR_maintenance4", 3)                \
    X(rotate, ShaderSubgroupRotate, SHADER_SUBGROUP_ROTATE_FEATURES,                               \
      "VK_KHR_shader_subgroup_rotate", 4)                                                          \
    X(assume, ShaderExpectAssume, SHADER_EXPECT_ASSUME_FEATURES, "VK_KHR_shader_expect_assume", 4) \
    X(controls2, ShaderFloatControls2, SHADER_FLOAT_CONTROLS_2_FEATURES,                           \
      "VK_KHR_shader_float_controls2", 4)                                                          \
    X(pipeline_robustness, PipelineRobustness, PIPELINE_ROBUSTNESS_FEATURES,                       \
      "VK_EXT_pipeline_robustness", 4)

/* The same of structures that are of an extension in any version; whose, by their suffix. */
#define VKD_EXTENSION_FEATURES(X)                                                                  \
    X(explicit_layout, WorkgroupMemoryExplicitLayout, KHR,                                         \
      WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR, "VK_KHR_workgroup_memory_explicit_layout")    \
    X(matrices, CooperativeMatrix, KHR, COOPERATIVE_MATRIX_FEATURES_KHR,                           \
      "VK_KHR_cooperative_matrix")                                                                 \
    X(matrices2, CooperativeMatrix2, NV, COOPERATIVE_MATRIX_2_FEATURES_NV,                         \
      "VK_NV_cooperative_matrix2")                                                                 \
    X(conversion, CooperativeMatrixConversion, QCOM, COOPERATIVE_MATRIX_CONVERSION_FEATURES_QCOM,  \
      "VK_QCOM_cooperative_matrix_conversion")                                                     \
    X(wait_queues, ShaderMultipleWaitQueues, QCOM, SHADER_MULTIPLE_WAIT_QUEUES_FEATURES_QCOM,      \
      "VK_QCOM_shader_multiple_wait_queues")                                                       \
    X(bfloats, ShaderBfloat16, KHR, SHADER_BFLOAT16_FEATURES_KHR, "VK_KHR_shader_bfloat16")        \
    X(floats8, ShaderFloat8, EXT, SHADER_FLOAT8_FEATURES_EXT, "VK_EXT_shader_float8")              \
    X(atomic_floats, ShaderAtomicFloat, EXT, SHADER_ATOMIC_FLOAT_FEATURES_EXT,                     \
      "VK_EXT_shader_atomic_float")                                                                \
    X(robustness2, Robustness2, EXT, ROBUSTNESS_2_FEATURES_EXT, "VK_EXT_robustness2")              \
    X(derivatives, ComputeShaderDerivatives, KHR, COMPUTE_SHADER_DERIVATIVES_FEATURES_KHR,         \
      "VK_KHR_compute_shader_derivatives")

typedef struct VkdFeatures {
    VkPhysicalDeviceFeatures2 core;
#define X(member, Type, ...) VkPhysicalDevice##Type##Features member;
    VKD_FEATURES(X)
#undef X
#define X(member, Type, Owner, ...) VkPhysicalDevice##Type##Features##Owner member;
    VKD_EXTENSION_FEATURES(X)
#undef X
} VkdFeatures;

enum { VKD_MOST_EXTENSIONS = 32 };

typedef struct VkdFacts {
    VkdFeatures features;                        /* chained, for VkDeviceCreateInfo */
    const char *extensions[VKD_MOST_EXTENSIONS]; /* to enable */
    uint32_t n_extensions;
    uint32_t version; /* of Vulkan: VK_MAKE_API_VERSION */
    VkPhysicalDeviceProperties2 properties;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlProperties sizes;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDeviceMemoryProperties memory;
    LowerProfile profile;
    const HeddleMatrixShape *shapes; /* profile.n_shapes of them */
} VkdFacts;
/* `a` lives as long as what is written. */
void vkd_describe(const VkdInstance *i, VkPhysicalDevice p, VkdFacts *out, Arena *a);
/* Features and SPIR-V's version. False after reporting what the device lacks. */
bool vkd_accepts(const VkdFacts *f, SpvModule *m, DiagSink *sink);

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
    X(DestroyPipelineLayout)                                                                       \
    X(DestroyQueryPool)                                                                            \
    X(DestroyShaderModule)                                                                         \
    X(DeviceWaitIdle)                                                                              \
    X(EndCommandBuffer)                                                                            \
    X(FreeMemory)                                                                                  \
    X(GetBufferMemoryRequirements)                                                                 \
    X(GetDeviceQueue)                                                                              \
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
} VkdJob;

typedef struct VkdPiece VkdPiece;

typedef struct VkdDevice {
    DeviceBase base;
    Arena arena; /* of what describes it; nothing is allocated there once it is open */
    VkdFacts facts;
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
    PFN_vkGetBufferDeviceAddress address_of; /* or NULL */
    pthread_mutex_t queue_lock;              /* of `queue` */
    pthread_mutex_t lock;                    /* of all below */
    VkdJob *jobs;                            /* nobody's */
    VkdPiece *pieces;
    uint64_t next_address; /* where there are none of the device's */
    bool lost;
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
