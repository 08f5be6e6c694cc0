/* SPDX-License-Identifier: MIT
 *
 * What the tests of the Vulkan driver stand on: the driver opened without a loader (or, where
 * HEDDLE_TEST_LOADER names one, with it and the layers it loads), a device, and short forms of the
 * longest calls. A function vkX is VK(X).
 */
#ifndef HEDDLE_TESTS_VULKAN_GPU_H
#define HEDDLE_TESTS_VULKAN_GPU_H

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#include <vulkan/vk_icd.h>

#include "base/test.h"
#include "heddle/heddle.h"

/* Every command the driver may have; those it lacks are NULL. */
static struct {
#define TABLE_ENTRY
#define ENTRY(name, function, ...) PFN_##name name##_;
#include "vulkan/tables.def"
#undef ENTRY
    void *library;
    PFN_vk_icdNegotiateLoaderICDInterfaceVersion negotiate;
    PFN_vk_icdGetInstanceProcAddr get;
} vk;
#define VK(name) vk.vk##name##_

static inline bool gpu_open(void)
{
    if (vk.library)
        return true;
    const char *loader = getenv("HEDDLE_TEST_LOADER");
    vk.library = dlopen(loader ? loader : HEDDLE_VULKAN_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (!vk.library)
        return test_fail(__FILE__, __LINE__, "%s", dlerror());
    *(void **)&vk.get = dlsym(vk.library, "vkGetInstanceProcAddr");
    if (loader)
        return vk.get != NULL;
    *(void **)&vk.negotiate = dlsym(vk.library, "vk_icdNegotiateLoaderICDInterfaceVersion");
    *(void **)&vk.get = dlsym(vk.library, "vk_icdGetInstanceProcAddr");
    uint32_t version = 5;
    return vk.negotiate && vk.get && vk.negotiate(&version) == VK_SUCCESS && version == 5;
}

/* A loader has some commands for those only who have no instance yet. */
static inline void gpu_load(VkInstance instance)
{
#define ENTRY(name, function, ...)                                                                 \
    do {                                                                                           \
        PFN_##name f = (PFN_##name)vk.get(instance, #name);                                        \
        vk.name##_ = f || !instance ? f : vk.name##_;                                              \
    } while (0);
#include "vulkan/tables.def"
#undef ENTRY
#undef TABLE_ENTRY
}

typedef struct Gpu {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queues[2];
    VkCommandPool pool;
    VkAllocationCallbacks *alloc;
    uint32_t version;           /* that the application asks for; 0: Vulkan 1.3 */
    bool robust;                /* accesses to buffers; null descriptors */
} Gpu;

/* False when something fails: the destroying functions take what there is. */
static inline VkResult gpu_new(Gpu *g)
{
    if (!gpu_open())
        return VK_ERROR_INITIALIZATION_FAILED;
    gpu_load(VK_NULL_HANDLE);
    VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .apiVersion = g->version ? g->version : VK_API_VERSION_1_3 };
    const char *utils = "VK_EXT_debug_utils";
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &application, .enabledExtensionCount = 1,
                                  .ppEnabledExtensionNames = &utils };
    VkResult r = VK(CreateInstance)(&info, g->alloc, &g->instance);
    if (r)
        return r;
    gpu_load(g->instance);
    uint32_t n = 1;
    r = VK(EnumeratePhysicalDevices)(g->instance, &n, &g->physical);
    if (r)
        return r;
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueCount = 2,
                                      .pQueuePriorities = (float[]){ 1, 1 } };
    const char *names[] = { "VK_KHR_push_descriptor", "VK_EXT_device_fault",
                            "VK_EXT_robustness2", "VK_EXT_mutable_descriptor_type" };
    VkPhysicalDeviceMutableDescriptorTypeFeaturesEXT any = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MUTABLE_DESCRIPTOR_TYPE_FEATURES_EXT };
    VkPhysicalDeviceRobustness2FeaturesEXT robust = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT, .pNext = &any };
    VkPhysicalDeviceVulkan13Features v13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .pNext = &robust };
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &v13 };
    VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                      .pNext = &v12 };
    VK(GetPhysicalDeviceFeatures2)(g->physical, &all);
    all.features.robustBufferAccess = robust.robustBufferAccess2 = g->robust;
    robust.nullDescriptor = g->robust;
    VkDeviceCreateInfo device = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &all,
                                  .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue,
                                  .enabledExtensionCount = COUNT_OF(names),
                                  .ppEnabledExtensionNames = names };
    r = VK(CreateDevice)(g->physical, &device, g->alloc, &g->device);
    if (r)
        return r;
    for (uint32_t i = 0; i < 2; i++)
        VK(GetDeviceQueue)(g->device, 0, i, &g->queues[i]);
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
    return VK(CreateCommandPool)(g->device, &pool, g->alloc, &g->pool);
}

static inline void gpu_free(Gpu *g)
{
    if (g->device) {
        VK(DestroyCommandPool)(g->device, g->pool, g->alloc);
        VK(DestroyDevice)(g->device, g->alloc);
    }
    if (g->instance)
        VK(DestroyInstance)(g->instance, g->alloc);
    *g = (Gpu){ .alloc = g->alloc };
}

/* ---- buffers --------------------------------------------------------------------------------- */

typedef struct GpuBuffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    void *data;
} GpuBuffer;

static inline VkResult gpu_buffer(Gpu *g, uint64_t size, GpuBuffer *b)
{
    *b = (GpuBuffer){ 0 };
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                 VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
                 VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT };
    VkResult r = VK(CreateBuffer)(g->device, &info, g->alloc, &b->buffer);
    if (r)
        return r;
    VkMemoryRequirements need;
    VK(GetBufferMemoryRequirements)(g->device, b->buffer, &need);
    VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
    VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &flags,
                                    .allocationSize = need.size };
    r = VK(AllocateMemory)(g->device, &memory, g->alloc, &b->memory);
    if (r)
        return r;
    VK(BindBufferMemory)(g->device, b->buffer, b->memory, 0);
    return VK(MapMemory)(g->device, b->memory, 0, VK_WHOLE_SIZE, 0, &b->data);
}

static inline void gpu_buffer_free(Gpu *g, GpuBuffer *b)
{
    VK(DestroyBuffer)(g->device, b->buffer, g->alloc);
    VK(FreeMemory)(g->device, b->memory, g->alloc);
    *b = (GpuBuffer){ 0 };
}

/* ---- shaders and pipelines ------------------------------------------------------------------- */

/* GLSL, compiled by libheddle; NULL after saying why. For free(). */
static inline uint32_t *gpu_spirv(const char *glsl, size_t *size)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleModule *m = NULL;
    uint32_t *words = NULL;
    if (!heddle_module_new(glsl, strlen(glsl), "test.comp", NULL, &m, log)) {
        const uint32_t *spirv = heddle_module_spirv(m, size);
        words = malloc(*size);
        if (words)
            memcpy(words, spirv, *size);
    }
    heddle_module_free(m);
    heddle_log_free(log);
    return words;
}

/* A pipeline and its set 0, whose bindings have the types. */
typedef struct GpuProgram {
    VkShaderModule module;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkPipelineCache cache;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkDescriptorSetLayoutCreateFlags flags;
    VkPipelineCreateFlags pipeline_flags;
    const VkDescriptorType *types;
    uint32_t n_types;
    const VkSpecializationInfo *spec;
    const void *stage_next, *next;
} GpuProgram;

static inline VkResult gpu_program_set(Gpu *g, GpuProgram *p)
{
    VkDescriptorPoolSize sizes[9] = { { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 16 } };
    for (uint32_t i = 0; p->types && i < p->n_types; i++)
        sizes[i + 1] = (VkDescriptorPoolSize){ p->types[i], 256 }; /* bytes, of inline blocks */
    VkDescriptorPoolInlineUniformBlockCreateInfo blocks = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
        .maxInlineUniformBlockBindings = 4 };
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .pNext = &blocks, .maxSets = 4,
        .flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT,
        .poolSizeCount = 1 + (p->types ? p->n_types : 0), .pPoolSizes = sizes };
    VkResult r = VK(CreateDescriptorPool)(g->device, &pool, g->alloc, &p->pool);
    if (r || (p->flags & VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT))
        return r;
    VkDescriptorSetAllocateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = p->pool, .descriptorSetCount = 1,
                                        .pSetLayouts = &p->set_layout };
    return VK(AllocateDescriptorSets)(g->device, &set, &p->set);
}

static inline VkResult gpu_program_pipeline(Gpu *g, GpuProgram *p)
{
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .pNext = p->next,
        .layout = p->layout,
        .flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT | p->pipeline_flags,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = p->module, .pName = "main",
                   .pSpecializationInfo = p->spec, .pNext = p->stage_next } };
    return VK(CreateComputePipelines)(g->device, p->cache, 1, &info, g->alloc, &p->pipeline);
}

static inline VkResult gpu_program(Gpu *g, const uint32_t *words, size_t size, GpuProgram *p)
{
    VkDescriptorSetLayoutBinding bindings[8] = { 0 };
    for (uint32_t i = 0; i < p->n_types; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            i, p->types ? p->types[i] : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            p->types && p->types[i] == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK ? 64 : 1,
            VK_SHADER_STAGE_COMPUTE_BIT, NULL };
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .flags = p->flags,
        .bindingCount = p->n_types, .pBindings = bindings };
    VkResult r = VK(CreateDescriptorSetLayout)(g->device, &set, g->alloc, &p->set_layout);
    if (r)
        return r;
    VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, 128 };
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1,
        .pSetLayouts = &p->set_layout, .pushConstantRangeCount = 1, .pPushConstantRanges = &push };
    r = VK(CreatePipelineLayout)(g->device, &layout, g->alloc, &p->layout);
    if (r)
        return r;
    VkShaderModuleCreateInfo module = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                        .codeSize = size, .pCode = words };
    r = VK(CreateShaderModule)(g->device, &module, g->alloc, &p->module);
    if (!r)
        r = gpu_program_pipeline(g, p);
    return r ? r : gpu_program_set(g, p);
}

static inline VkResult gpu_program_glsl(Gpu *g, const char *glsl, GpuProgram *p)
{
    size_t size = 0;
    uint32_t *words = gpu_spirv(glsl, &size);
    VkResult r = words ? gpu_program(g, words, size, p) : VK_ERROR_UNKNOWN;
    free(words);
    return r;
}

static inline void gpu_program_free(Gpu *g, GpuProgram *p)
{
    VK(DestroyDescriptorPool)(g->device, p->pool, g->alloc);
    VK(DestroyPipeline)(g->device, p->pipeline, g->alloc);
    VK(DestroyShaderModule)(g->device, p->module, g->alloc);
    VK(DestroyPipelineLayout)(g->device, p->layout, g->alloc);
    VK(DestroyDescriptorSetLayout)(g->device, p->set_layout, g->alloc);
}

static inline void gpu_write(Gpu *g, VkDescriptorSet set, uint32_t binding, VkDescriptorType type,
                             VkBuffer buffer, uint64_t offset, uint64_t range)
{
    VkDescriptorBufferInfo info = { buffer, offset, range };
    VkWriteDescriptorSet w = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set,
                               .dstBinding = binding, .descriptorCount = 1, .descriptorType = type,
                               .pBufferInfo = &info };
    VK(UpdateDescriptorSets)(g->device, 1, &w, 0, NULL);
}

/* ---- commands -------------------------------------------------------------------------------- */

static inline VkCommandBuffer gpu_begin(Gpu *g)
{
    VkCommandBuffer c = VK_NULL_HANDLE;
    VkCommandBufferAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                         .commandPool = g->pool, .commandBufferCount = 1 };
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    if (!VK(AllocateCommandBuffers)(g->device, &info, &c))
        VK(BeginCommandBuffer)(c, &begin);
    return c;
}

/* Ends, submits, waits, frees. */
static inline VkResult gpu_finish(Gpu *g, VkCommandBuffer c)
{
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                            .pCommandBuffers = &c };
    VkResult r = VK(EndCommandBuffer)(c);
    if (!r)
        r = VK(QueueSubmit)(g->queues[0], 1, &submit, VK_NULL_HANDLE);
    if (!r)
        r = VK(QueueWaitIdle)(g->queues[0]);
    VK(FreeCommandBuffers)(g->device, g->pool, 1, &c);
    return r;
}

static inline void gpu_bind(VkCommandBuffer c, const GpuProgram *p)
{
    VK(CmdBindPipeline)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    if (p->set)
        VK(CmdBindDescriptorSets)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &p->set, 0,
                                  NULL);
}

#endif
