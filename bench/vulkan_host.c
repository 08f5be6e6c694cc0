/* SPDX-License-Identifier: MIT
 *
 * See vulkan_host.h. Functions come from vkGetInstanceProcAddr through one table, so that nothing
 * here links to libvulkan. A program records its command buffer once; a run submits it and waits
 * for a fence.
 */
#include "vulkan_host.h"

#if defined(__has_include)
#if __has_include(<vulkan/vulkan_core.h>)
#define HAVE_VULKAN 1
#endif
#endif

#ifdef HAVE_VULKAN

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#define FUNCTIONS(X)                                                                        \
    X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties2)                             \
    X(EnumerateDeviceExtensionProperties) X(GetPhysicalDeviceFeatures2)                     \
    X(GetPhysicalDeviceMemoryProperties) X(CreateDevice) X(GetDeviceQueue)                  \
    X(CreateCommandPool) X(AllocateCommandBuffers) X(BeginCommandBuffer)                    \
    X(EndCommandBuffer) X(CmdBindPipeline) X(CmdBindDescriptorSets) X(CmdPushConstants)     \
    X(CmdDispatch) X(CmdPipelineBarrier) X(CreateBuffer) X(DestroyBuffer)                   \
    X(GetBufferMemoryRequirements) X(AllocateMemory) X(FreeMemory) X(BindBufferMemory)      \
    X(MapMemory) X(CreateDescriptorSetLayout) X(DestroyDescriptorSetLayout)                 \
    X(CreateDescriptorPool) X(DestroyDescriptorPool) X(AllocateDescriptorSets)              \
    X(UpdateDescriptorSets) X(CreatePipelineLayout) X(DestroyPipelineLayout)                \
    X(CreateShaderModule) X(DestroyShaderModule) X(CreateComputePipelines)                  \
    X(CreatePipelineCache) X(DestroyPipelineCache)                                          \
    X(DestroyPipeline) X(CreateFence) X(DestroyFence) X(ResetFences) X(WaitForFences)       \
    X(QueueSubmit) X(DestroyCommandPool) X(DestroyDevice) X(DestroyInstance)

struct VulkanHost {
    void *library;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlProperties sizes;
    uint32_t memory_type;
#define X(name) PFN_vk##name name;
    FUNCTIONS(X)
#undef X
};

struct VulkanProgram {
    VulkanHost *host;
    uint32_t n_buffers, n_steps;
    VkBuffer buffers[VULKAN_MAX_BUFFERS];
    VkDeviceMemory memory[VULKAN_MAX_BUFFERS];
    void *data[VULKAN_MAX_BUFFERS];
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipelines[VULKAN_MAX_STEPS];
    VkPipelineCache cache; /* or null */
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
};

/* ---- the host -------------------------------------------------------------------------------- */

static bool load(VulkanHost *h)
{
    h->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!h->library)
        return false;
    PFN_vkGetInstanceProcAddr get;
    *(void **)&get = dlsym(h->library, "vkGetInstanceProcAddr");
    if (!get)
        return false;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion =
                             VK_API_VERSION_1_3};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &app};
    if (!create || create(&info, NULL, &h->instance) != VK_SUCCESS)
        return false;
    bool all = true;
#define X(name) all &= (h->name = (PFN_vk##name)get(h->instance, "vk" #name)) != NULL;
    FUNCTIONS(X)
#undef X
    return all;
}

/* The first of those that are best; 0: not wanted. */
static int rank(VulkanChoice choice, VkPhysicalDeviceType type, VkDriverId driver)
{
    switch (choice) {
    case VULKAN_CPU: return type == VK_PHYSICAL_DEVICE_TYPE_CPU;
    case VULKAN_LAVAPIPE: return driver == VK_DRIVER_ID_MESA_LLVMPIPE;
    default: return type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? 3
                    : type == VK_PHYSICAL_DEVICE_TYPE_CPU ? 1 : 2;
    }
}

static bool choose_device(VulkanHost *h, VulkanChoice choice)
{
    VkPhysicalDevice found[16];
    uint32_t n = 16;
    int best = 0;
    if (h->EnumeratePhysicalDevices(h->instance, &n, found) < 0)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        VkPhysicalDeviceDriverProperties driver = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
        VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
            .pNext = &driver};
        VkPhysicalDeviceSubgroupProperties subgroup = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &sizes};
        VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                         .pNext = &subgroup};
        h->GetPhysicalDeviceProperties2(found[i], &p);
        int rated = rank(choice, p.properties.deviceType, driver.driverID);
        if (rated <= best)
            continue;
        best = rated;
        h->subgroup = subgroup;
        h->subgroup.pNext = NULL;
        h->sizes = sizes;
        h->properties = p.properties;
        h->physical = found[i];
    }
    return best;
}

static bool has_extension(const VulkanHost *h, const char *name)
{
    VkExtensionProperties all[512];
    uint32_t n = 512;
    if (h->EnumerateDeviceExtensionProperties(h->physical, NULL, &n, all) < 0)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(all[i].extensionName, name))
            return true;
    return false;
}

bool vulkan_host_has_matrices(const VulkanHost *h)
{
    return has_extension(h, "VK_KHR_cooperative_matrix");
}

/* Extensions about matrices and the structures of their features, of which there is one each. */
typedef struct Family {
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR khr;
    VkPhysicalDeviceCooperativeMatrix2FeaturesNV nv2;
    VkPhysicalDeviceCooperativeMatrixConversionFeaturesQCOM conversion;
    VkPhysicalDeviceShaderMultipleWaitQueuesFeaturesQCOM queues;
    const char *names[4];
    uint32_t n;
    void *chain;
} Family;

static void family_add(Family *f, const VulkanHost *h, const char *name, VkStructureType type,
                       void *features)
{
    VkBaseOutStructure *base = features;
    if (!has_extension(h, name))
        return;
    base->sType = type;
    base->pNext = f->chain;
    f->chain = base;
    f->names[f->n++] = name;
}

static void family_find(Family *f, const VulkanHost *h)
{
    *f = (Family){0};
    family_add(f, h, "VK_KHR_cooperative_matrix",
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, &f->khr);
    family_add(f, h, "VK_NV_cooperative_matrix2",
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV, &f->nv2);
    family_add(f, h, "VK_QCOM_cooperative_matrix_conversion",
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_CONVERSION_FEATURES_QCOM,
               &f->conversion);
    family_add(f, h, "VK_QCOM_shader_multiple_wait_queues",
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MULTIPLE_WAIT_QUEUES_FEATURES_QCOM,
               &f->queues);
}

/* With the types and the features of Vulkan 1.1 to 1.3 that there are, and matrices; without checks
 * of bounds. */
static bool open_device(VulkanHost *h)
{
    Family family;
    family_find(&family, h);
    VkPhysicalDeviceVulkan13Features v13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .pNext = family.chain};
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &v13};
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &v11};
    VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v12};
    h->GetPhysicalDeviceFeatures2(h->physical, &features);
    features.features = (VkPhysicalDeviceFeatures){
        .shaderInt16 = features.features.shaderInt16, .shaderInt64 = features.features.shaderInt64,
        .shaderFloat64 = features.features.shaderFloat64};
    v13.robustImageAccess = VK_FALSE;
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features,
                               .enabledExtensionCount = family.n,
                               .ppEnabledExtensionNames = family.names,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    if (h->CreateDevice(h->physical, &info, NULL, &h->device) != VK_SUCCESS)
        return false;
    h->GetDeviceQueue(h->device, 0, 0, &h->queue);
    VkPhysicalDeviceMemoryProperties memory;
    h->GetPhysicalDeviceMemoryProperties(h->physical, &memory);
    VkMemoryPropertyFlags want = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
        | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if ((memory.memoryTypes[i].propertyFlags & want) == want) {
            h->memory_type = i;
            return true;
        }
    return false;
}

VulkanHost *vulkan_host_new(VulkanChoice choice, const char **reason)
{
    VulkanHost *h = calloc(1, sizeof(*h));
    *reason = !h ? "out of memory" : !load(h) ? "no Vulkan loader (Debian: libvulkan1)"
              : !choose_device(h, choice)
                  ? "not among Vulkan's devices (Debian: mesa-vulkan-drivers)"
              : !open_device(h) ? "Vulkan's device does not open" : NULL;
    if (!*reason)
        return h;
    if (h)
        vulkan_host_free(h);
    return NULL;
}

const char *vulkan_host_name(const VulkanHost *h)
{
    return h->properties.deviceName;
}

bool vulkan_host_is_cpu(const VulkanHost *h)
{
    return h->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

uint32_t vulkan_host_subgroup_size(const VulkanHost *h)
{
    return h->subgroup.subgroupSize;
}

bool vulkan_host_has_subgroups_of(const VulkanHost *h, uint32_t size)
{
    bool asked = h->sizes.minSubgroupSize <= size && size <= h->sizes.maxSubgroupSize &&
                 h->sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
    return asked || size == h->subgroup.subgroupSize;
}

bool vulkan_host_has_arithmetic(const VulkanHost *h)
{
    return h->subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
}

void vulkan_host_free(VulkanHost *h)
{
    if (h->device)
        h->DestroyDevice(h->device, NULL);
    if (h->instance && h->DestroyInstance)
        h->DestroyInstance(h->instance, NULL);
    if (h->library)
        dlclose(h->library);
    free(h);
}

/* ---- programs -------------------------------------------------------------------------------- */

static bool make_buffer(VulkanProgram *p, uint32_t i, uint64_t size)
{
    VulkanHost *h = p->host;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    if (h->CreateBuffer(h->device, &info, NULL, &p->buffers[i]) != VK_SUCCESS)
        return false;
    VkMemoryRequirements needs;
    h->GetBufferMemoryRequirements(h->device, p->buffers[i], &needs);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = needs.size, .memoryTypeIndex = h->memory_type};
    return h->AllocateMemory(h->device, &memory, NULL, &p->memory[i]) == VK_SUCCESS
           && h->BindBufferMemory(h->device, p->buffers[i], p->memory[i], 0) == VK_SUCCESS
           && h->MapMemory(h->device, p->memory[i], 0, size, 0, &p->data[i]) == VK_SUCCESS;
}

static bool make_layout(VulkanProgram *p, uint32_t push_size)
{
    VulkanHost *h = p->host;
    VkDescriptorSetLayoutBinding bindings[VULKAN_MAX_BUFFERS];
    for (uint32_t i = 0; i < p->n_buffers; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set =
        {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = p->n_buffers, .pBindings = bindings};
    VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = push_size};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1, .pSetLayouts = &p->set_layout,
                                         .pushConstantRangeCount = push_size ? 1 : 0,
                                         .pPushConstantRanges = &range};
    return h->CreateDescriptorSetLayout(h->device, &set, NULL, &p->set_layout) == VK_SUCCESS
           && h->CreatePipelineLayout(h->device, &layout, NULL, &p->layout) == VK_SUCCESS;
}

static bool make_set(VulkanProgram *p)
{
    VulkanHost *h = p->host;
    VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount =
                                 p->n_buffers};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = p->n_buffers != 0, .pPoolSizes = &size};
    if (h->CreateDescriptorPool(h->device, &pool, NULL, &p->descriptors) != VK_SUCCESS)
        return false;
    VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorPool = p->descriptors, .descriptorSetCount = 1,
                                       .pSetLayouts = &p->set_layout};
    if (h->AllocateDescriptorSets(h->device, &set, &p->set) != VK_SUCCESS)
        return false;
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        VkDescriptorBufferInfo buffer = {.buffer = p->buffers[i], .range = VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet =
                                      p->set,
                                      .dstBinding = i, .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = &buffer};
        h->UpdateDescriptorSets(h->device, 1, &write, 0, NULL);
    }
    return true;
}

static bool make_pipeline(VulkanProgram *p, uint32_t i, const VulkanStep *step)
{
    VulkanHost *h = p->host;
    VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = step->size, .pCode = step->spirv};
    VkShaderModule module;
    if (step->n_specs > VULKAN_MAX_SPECS ||
        h->CreateShaderModule(h->device, &code, NULL, &module) != VK_SUCCESS)
        return false;
    VkSpecializationMapEntry entries[VULKAN_MAX_SPECS];
    VkSpecializationInfo spec = {step->n_specs, entries, 4 * step->n_specs, step->specs};
    for (uint32_t k = 0; k < step->n_specs; k++)
        entries[k] = (VkSpecializationMapEntry){k, 4 * k, 4};
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = step->subgroup_size};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = p->layout,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .pNext = step->subgroup_size ? &size : NULL,
                  .pSpecializationInfo = step->n_specs ? &spec : NULL,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = module,
                  .pName = step->entry ? step->entry : "main"}};
    VkResult result = h->CreateComputePipelines(h->device, p->cache, 1, &info, NULL,
                                                &p->pipelines[i]);
    h->DestroyShaderModule(h->device, module, NULL);
    return result == VK_SUCCESS;
}

bool vulkan_program_remake(VulkanProgram *p, const VulkanStep *step)
{
    VulkanHost *h = p->host;
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    if (!p->cache && h->CreatePipelineCache(h->device, &info, NULL, &p->cache) != VK_SUCCESS)
        return false;
    h->DestroyPipeline(h->device, p->pipelines[0], NULL);
    p->pipelines[0] = VK_NULL_HANDLE;
    return make_pipeline(p, 0, step);
}

static bool record(VulkanProgram *p, const VulkanStep *steps, const void *push, uint32_t push_size)
{
    VulkanHost *h = p->host;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (h->CreateCommandPool(h->device, &pool, NULL, &p->pool) != VK_SUCCESS
        || h->CreateFence(h->device, &fence, NULL, &p->fence) != VK_SUCCESS)
        return false;
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = p->pool, .commandBufferCount = 1,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    if (h->AllocateCommandBuffers(h->device, &commands, &p->commands) != VK_SUCCESS
        || h->BeginCommandBuffer(p->commands, &begin) != VK_SUCCESS)
        return false;
    h->CmdBindDescriptorSets(p->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &p->set,
                             0, NULL);
    if (push_size)
        h->CmdPushConstants(p->commands, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_size,
                            push);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_SHADER_READ_BIT
                               | VK_ACCESS_SHADER_WRITE_BIT};
        if (i)
            h->CmdPipelineBarrier(p->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                  VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &all, 0, NULL, 0,
                                      NULL);
        h->CmdBindPipeline(p->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipelines[i]);
        h->CmdDispatch(p->commands, steps[i].groups[0], steps[i].groups[1], steps[i].groups[2]);
    }
    return h->EndCommandBuffer(p->commands) == VK_SUCCESS;
}

VulkanProgram *vulkan_program_new(VulkanHost *host, const VulkanStep *steps, uint32_t n_steps,
                                  const uint64_t *sizes, uint32_t n_buffers, const void *push,
                                  uint32_t push_size)
{
    VulkanProgram *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->host = host;
    p->n_steps = n_steps;
    p->n_buffers = n_buffers;
    bool ok = n_steps <= VULKAN_MAX_STEPS && n_buffers <= VULKAN_MAX_BUFFERS;
    for (uint32_t i = 0; ok && i < n_buffers; i++)
        ok = make_buffer(p, i, sizes[i]);
    ok = ok && make_layout(p, push_size) && make_set(p);
    for (uint32_t i = 0; ok && i < n_steps; i++)
        ok = make_pipeline(p, i, &steps[i]);
    if (ok && record(p, steps, push, push_size))
        return p;
    vulkan_program_free(p);
    return NULL;
}

void *vulkan_program_buffer(const VulkanProgram *p, uint32_t i)
{
    return p->data[i];
}

bool vulkan_program_run(VulkanProgram *p)
{
    VulkanHost *h = p->host;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                           .pCommandBuffers = &p->commands};
    return h->QueueSubmit(h->queue, 1, &submit, p->fence) == VK_SUCCESS
           && h->WaitForFences(h->device, 1, &p->fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS
           && h->ResetFences(h->device, 1, &p->fence) == VK_SUCCESS;
}

void vulkan_program_free(VulkanProgram *p)
{
    VulkanHost *h = p->host;
    if (p->fence)
        h->DestroyFence(h->device, p->fence, NULL);
    if (p->pool)
        h->DestroyCommandPool(h->device, p->pool, NULL);
    for (uint32_t i = 0; i < p->n_steps && i < VULKAN_MAX_STEPS; i++)
        if (p->pipelines[i])
            h->DestroyPipeline(h->device, p->pipelines[i], NULL);
    if (p->cache)
        h->DestroyPipelineCache(h->device, p->cache, NULL);
    if (p->layout)
        h->DestroyPipelineLayout(h->device, p->layout, NULL);
    if (p->descriptors)
        h->DestroyDescriptorPool(h->device, p->descriptors, NULL);
    if (p->set_layout)
        h->DestroyDescriptorSetLayout(h->device, p->set_layout, NULL);
    for (uint32_t i = 0; i < p->n_buffers && i < VULKAN_MAX_BUFFERS; i++) {
        if (p->buffers[i])
            h->DestroyBuffer(h->device, p->buffers[i], NULL);
        if (p->memory[i])
            h->FreeMemory(h->device, p->memory[i], NULL);
    }
    free(p);
}

#else

VulkanHost *vulkan_host_new(VulkanChoice choice, const char **reason)
{
    (void)choice;
    *reason = "compiled without Vulkan's headers (Debian: libvulkan-dev)";
    return NULL;
}

const char *vulkan_host_name(const VulkanHost *h)
{
    (void)h;
    return "";
}

bool vulkan_host_is_cpu(const VulkanHost *h)
{
    (void)h;
    return false;
}

uint32_t vulkan_host_subgroup_size(const VulkanHost *h)
{
    (void)h;
    return 0;
}

bool vulkan_host_has_subgroups_of(const VulkanHost *h, uint32_t size)
{
    (void)h, (void)size;
    return false;
}

bool vulkan_host_has_arithmetic(const VulkanHost *h)
{
    (void)h;
    return false;
}

bool vulkan_host_has_matrices(const VulkanHost *h)
{
    (void)h;
    return false;
}

void vulkan_host_free(VulkanHost *h)
{
    (void)h;
}

VulkanProgram *vulkan_program_new(VulkanHost *h, const VulkanStep *steps, uint32_t n_steps,
                                  const uint64_t *sizes, uint32_t n_buffers, const void *push,
                                  uint32_t push_size)
{
    (void)h, (void)steps, (void)n_steps, (void)sizes, (void)n_buffers, (void)push, (void)push_size;
    return NULL;
}

void *vulkan_program_buffer(const VulkanProgram *p, uint32_t i)
{
    (void)p, (void)i;
    return NULL;
}

bool vulkan_program_remake(VulkanProgram *p, const VulkanStep *step)
{
    (void)p, (void)step;
    return false;
}

bool vulkan_program_run(VulkanProgram *p)
{
    (void)p;
    return false;
}

void vulkan_program_free(VulkanProgram *p)
{
    (void)p;
}

#endif
