/* SPDX-License-Identifier: MIT
 *
 * vk: what a Vulkan driver's device has, for those that lower kernels for it: the device of
 * vkdevice/ and the layer. And what the layer and heddle's own driver both do for programs: host
 * memory, lists, the matrices that are listed. A function vkX is in a table, without its vk.
 */
#ifndef HEDDLE_VK_FACTS_H
#define HEDDLE_VK_FACTS_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "heddle/heddle.h"
#include "lower/lower.h"

/* ---- describe.c ------------------------------------------------------------------------------ */

/* What the facts are asked with. */
#define VKF_COMMANDS(X)                                                                            \
    X(EnumerateDeviceExtensionProperties)                                                          \
    X(GetPhysicalDeviceFeatures2)                                                                  \
    X(GetPhysicalDeviceMemoryProperties)                                                           \
    X(GetPhysicalDeviceProperties)                                                                 \
    X(GetPhysicalDeviceProperties2)

typedef struct VkfCommands {
#define X(name) PFN_vk##name name;
    VKF_COMMANDS(X)
#undef X
    /* or NULL */
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR matrices;
    PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV flexible;
    uint32_t version; /* of Vulkan that the instance is for */
} VkfCommands;

/* Structures of features: member, type without VkPhysicalDevice and Features, the end of its
 * sType, the extension, the version of Vulkan that has it without. All that a device has of them
 * are enabled. */
#define VKF_FEATURES(X)                                                                            \
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
#define VKF_EXTENSION_FEATURES(X)                                                                  \
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
    X(reconvergence, ShaderMaximalReconvergence, KHR, SHADER_MAXIMAL_RECONVERGENCE_FEATURES_KHR,   \
      "VK_KHR_shader_maximal_reconvergence")                                                       \
    X(derivatives, ComputeShaderDerivatives, KHR, COMPUTE_SHADER_DERIVATIVES_FEATURES_KHR,         \
      "VK_KHR_compute_shader_derivatives")

typedef struct VkfFeatures {
    VkPhysicalDeviceFeatures2 core;
#define X(member, Type, ...) VkPhysicalDevice##Type##Features member;
    VKF_FEATURES(X)
#undef X
#define X(member, Type, Owner, ...) VkPhysicalDevice##Type##Features##Owner member;
    VKF_EXTENSION_FEATURES(X)
#undef X
} VkfFeatures;

enum { VKF_MOST_EXTENSIONS = 32 };

typedef struct VkfFacts {
    VkfFeatures features;                        /* chained, for VkDeviceCreateInfo */
    const char *extensions[VKF_MOST_EXTENSIONS]; /* to enable */
    uint32_t n_extensions;
    uint32_t version; /* of Vulkan, that both the device and the instance have */
    VkPhysicalDeviceProperties2 properties;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlProperties sizes;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDeviceFloatControlsProperties floats;
    VkPhysicalDeviceMemoryProperties memory;
    LowerProfile profile;
    const HeddleMatrixShape *shapes; /* n_listed, which profile.shapes begin with */
    uint32_t n_listed;
    const HeddleFlexibleShape *flexible_shapes; /* the others */
} VkfFacts;
/* `a` lives as long as what is written. */
void vkf_describe(const VkfCommands *c, VkPhysicalDevice p, VkfFacts *out, Arena *a);
/* Features and SPIR-V's version. False after reporting what the device lacks. */
bool vkf_accepts(const VkfFacts *f, SpvModule *m, DiagSink *sink);

/* A structure of features of the table above. */
typedef struct VkfStructure {
    size_t at, size; /* in VkfFeatures */
    VkStructureType type;
    const char *extension;
    uint32_t minor; /* version 1.minor has it in any case; UINT32_MAX: none */
} VkfStructure;
const VkfStructure *vkf_structure(VkStructureType type); /* or NULL */

/* ---- answers.c: what is kept of a driver ----------------------------------------------------- */

uint64_t vkf_identity(const VkfFacts *f); /* of the driver, its version and the device */
/* A file of the driver's in a folder, which may be NULL; false: there is no such name. */
bool vkf_cache_path(const VkfFacts *f, const char *folder, const char *what, char *out,
                    size_t size);
/* Who holds which element, into the profile, if nobody knows: from a profile of the same driver as
 * text, or in a file. False: it is not kept. */
bool vkf_take_answers(VkfFacts *f, const char *text, size_t size, Arena *a);
bool vkf_read_answers(VkfFacts *f, const char *path, Arena *a);

/* ---- shapes.c: matrices, as Vulkan lists them ------------------------------------------------ */

typedef struct VkfComponent {
    VkComponentTypeKHR vulkan;
    LowerType profile;
    HeddleType heddle;
    uint32_t bytes;
} VkfComponent;
const VkfComponent *vkf_component(VkComponentTypeKHR t); /* or NULL */
VkComponentTypeKHR vkf_component_of(HeddleType t);

bool vkf_take_shape(const VkCooperativeMatrixPropertiesKHR *p, LowerShape *to,
                    HeddleMatrixShape *shown);
bool vkf_take_flexible(const VkCooperativeMatrixFlexibleDimensionsPropertiesNV *p, LowerShape *to,
                       HeddleFlexibleShape *shown);
/* Programs divide a workgroup's tile among its subgroups without asking whether a matrix still fits
 * their share, so what is listed is no larger than 32 x 32, but for programs that want a row for
 * each of 64 lanes; kernels may use more in any case. */
bool vkf_is_listed(const HeddleMatrixShape *s, bool large);
bool vkf_is_listed_flexible(const HeddleFlexibleShape *s);
VkCooperativeMatrixPropertiesKHR vkf_khr(const HeddleMatrixShape *s);
VkCooperativeMatrixFlexibleDimensionsPropertiesNV vkf_flexible(const HeddleFlexibleShape *s);

/* ---- host.c: host memory, lists, messages ---------------------------------------------------- */

/* Zeroed. NULL when the callback has none. `own` is the call's pAllocator or NULL. */
void *host_alloc(const VkAllocationCallbacks *own, const VkAllocationCallbacks *parent, size_t size,
                 VkSystemAllocationScope scope);
void host_free(const VkAllocationCallbacks *own, const VkAllocationCallbacks *parent, void *p);
const VkAllocationCallbacks *host_default(void);

/* The struct of the type in a chain, or NULL. */
const void *chain_find(const void *chain, VkStructureType type);
/* Two-call enumeration: copies what fits, says VK_INCOMPLETE when not all did. `size` bytes each;
 * a structure with sType and pNext keeps them when `chained`. */
VkResult enumerate(uint32_t *count, void *out, const void *all, uint32_t n, size_t size,
                   bool chained);
/* "heddle: name: message" to "stderr" or appended to a file. `name` may be NULL. */
void log_line(const char *where, const char *name, const char *message);

#endif
