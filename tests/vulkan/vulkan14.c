/* SPDX-License-Identifier: MIT
 *
 * What Vulkan 1.4 brings to a compute device: the commands and structures of maintenance 5 and 6,
 * map_memory2, push descriptors in the core, copies of images by the host, float controls 2. And
 * what maintenance 7, 8 and 9 bring to any, and memory that starts as zeros.
 */
#include "gpu.h"

TEST(features_and_properties)
{
    Gpu g = { .version = VK_API_VERSION_1_4 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkPhysicalDeviceVulkan14Features f = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES };
    VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                           .pNext = &f };
    VK(GetPhysicalDeviceFeatures2)(g.physical, &features);
    CHECK(f.globalPriorityQuery && f.shaderSubgroupRotate && f.shaderSubgroupRotateClustered);
    CHECK(f.shaderFloatControls2 && f.shaderExpectAssume && f.maintenance5 && f.maintenance6);
    CHECK(f.pipelineRobustness && f.hostImageCopy && f.pushDescriptor);
    CHECK(!f.rectangularLines && !f.indexTypeUint8 && !f.dynamicRenderingLocalRead);
    VkImageLayout layouts[32] = { 0 };
    VkPhysicalDeviceHostImageCopyProperties host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES,
        .copySrcLayoutCount = 1, .pCopySrcLayouts = layouts };
    VkPhysicalDeviceVulkan14Properties p = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_PROPERTIES, .pNext = &host };
    VkPhysicalDeviceProperties2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                        .pNext = &p };
    VK(GetPhysicalDeviceProperties2)(g.physical, &all);
    CHECK(all.properties.apiVersion >= VK_API_VERSION_1_4);
    CHECK(p.maxPushDescriptors >= 32 && p.maxCombinedImageSamplerDescriptorCount == 1);
    CHECK(p.copySrcLayoutCount > 10 && p.copyDstLayoutCount > 10 && !p.pCopySrcLayouts);
    REQUIRE(p.copyDstLayoutCount <= COUNT_OF(layouts));
    CHECK(host.copySrcLayoutCount == 1 && layouts[0] == VK_IMAGE_LAYOUT_GENERAL && !layouts[1]);
    p.pCopyDstLayouts = layouts;
    VK(GetPhysicalDeviceProperties2)(g.physical, &all);
    CHECK(p.pCopyDstLayouts == layouts && layouts[p.copyDstLayoutCount - 1]);
    VkQueueFamilyGlobalPriorityProperties priority = {
        .sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_GLOBAL_PRIORITY_PROPERTIES };
    VkQueueFamilyProperties2 family = { .sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2,
                                        .pNext = &priority };
    uint32_t n = 1;
    VK(GetPhysicalDeviceQueueFamilyProperties2)(g.physical, &n, &family);
    CHECK(priority.priorityCount == 1 && priority.priorities[0] == VK_QUEUE_GLOBAL_PRIORITY_MEDIUM);
    VkFormatProperties odd;
    VK(GetPhysicalDeviceFormatProperties)(g.physical, (VkFormat)1999999999, &odd);
    CHECK(!odd.optimalTilingFeatures && !odd.bufferFeatures);
    gpu_free(&g);
}

TEST(later_maintenance)
{
    Gpu g = { .version = VK_API_VERSION_1_4 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkPhysicalDeviceMaintenance9FeaturesKHR nine = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_9_FEATURES_KHR };
    VkPhysicalDeviceMaintenance8FeaturesKHR eight = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_8_FEATURES_KHR, .pNext = &nine };
    VkPhysicalDeviceMaintenance7FeaturesKHR seven = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_7_FEATURES_KHR, .pNext = &eight };
    VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                           .pNext = &seven };
    VK(GetPhysicalDeviceFeatures2)(g.physical, &features);
    CHECK(seven.maintenance7 && eight.maintenance8 && nine.maintenance9);
    VkPhysicalDeviceLayeredApiPropertiesListKHR below = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_LAYERED_API_PROPERTIES_LIST_KHR,
        .layeredApiCount = 3 };
    VkPhysicalDeviceMaintenance7PropertiesKHR limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_7_PROPERTIES_KHR, .pNext = &below };
    VkPhysicalDeviceProperties2 p = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                      .pNext = &limits };
    VK(GetPhysicalDeviceProperties2)(g.physical, &p);
    CHECK(below.layeredApiCount == 0);
    CHECK(limits.maxDescriptorSetTotalUniformBuffersDynamic ==
          p.properties.limits.maxDescriptorSetUniformBuffersDynamic);
    CHECK(limits.maxDescriptorSetTotalBuffersDynamic ==
          limits.maxDescriptorSetTotalUniformBuffersDynamic +
              limits.maxDescriptorSetTotalStorageBuffersDynamic);
    VkQueueFamilyOwnershipTransferPropertiesKHR to = {
        .sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_OWNERSHIP_TRANSFER_PROPERTIES_KHR };
    VkQueueFamilyProperties2 family = { .sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2,
                                        .pNext = &to };
    uint32_t n = 1, result[2] = { 5, 5 };
    VK(GetPhysicalDeviceQueueFamilyProperties2)(g.physical, &n, &family);
    CHECK(to.optimalImageTransferToQueueFamilies == 1);
    VkDeviceCreateInfo without_queues = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                          .pNext = &nine };
    VkQueryPoolCreateInfo queries = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .flags = VK_QUERY_POOL_CREATE_RESET_BIT_KHR, .queryCount = 1 };
    VkDevice device;
    VkQueryPool pool;
    REQUIRE(VK(CreateDevice)(g.physical, &without_queues, NULL, &device) == VK_SUCCESS);
    CHECK(VK(CreateQueryPool)(device, &queries, NULL, &pool) == VK_SUCCESS);
    CHECK(VK(GetQueryPoolResults)(device, pool, 0, 1, sizeof result, result, sizeof result,
                                  VK_QUERY_RESULT_WITH_AVAILABILITY_BIT) == VK_NOT_READY);
    CHECK(result[1] == 0);
    VK(DestroyQueryPool)(device, pool, NULL);
    VK(DestroyDevice)(device, NULL);
    gpu_free(&g);
}

TEST(memory_starts_as_zeros)
{
    enum { SIZE = 3 << 20 };
    Gpu g = { .version = VK_API_VERSION_1_4 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkPhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT zeros = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ZERO_INITIALIZE_DEVICE_MEMORY_FEATURES_EXT };
    VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                           .pNext = &zeros };
    VK(GetPhysicalDeviceFeatures2)(g.physical, &features);
    CHECK(zeros.zeroInitializeDeviceMemory);
    VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT };
    VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags,
                                  .allocationSize = SIZE };
    for (int round = 0; round < 3; round++) { /* what was written before is not seen again */
        VkDeviceMemory memory;
        void *data;
        uint32_t any = 0;
        REQUIRE(VK(AllocateMemory)(g.device, &info, NULL, &memory) == VK_SUCCESS);
        REQUIRE(VK(MapMemory)(g.device, memory, 0, SIZE, 0, &data) == VK_SUCCESS);
        for (uint32_t i = 0; i < SIZE; i++)
            any |= ((uint8_t *)data)[i];
        CHECK(!any);
        memset(data, 0xa5, SIZE);
        VK(FreeMemory)(g.device, memory, NULL);
    }
    gpu_free(&g);
}

/* A device of an application that asks for Vulkan 1.`minor`, with maintenance 5 or without. */
static VkDevice device_of(Gpu *g, uint32_t minor, bool maintenance5)
{
    g->version = VK_MAKE_API_VERSION(0, 1, minor, 0);
    if (gpu_new(g))
        return VK_NULL_HANDLE;
    VkPhysicalDeviceMaintenance5Features five = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES,
        .maintenance5 = maintenance5 };
    const char *name = "VK_KHR_maintenance5";
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueCount = 1, .pQueuePriorities = (float[]){ 1 } };
    VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &five,
                                .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue,
                                .enabledExtensionCount = 1, .ppEnabledExtensionNames = &name };
    VkDevice d = VK_NULL_HANDLE;
    CHECK(VK(CreateDevice)(g->physical, &info, NULL, &d) == VK_SUCCESS);
    return d;
}

TEST(commands_of_later_versions)
{
    for (uint32_t minor = 0; minor <= 4; minor++) {
        Gpu g = { 0 };
        VkDevice d = device_of(&g, minor, true);
        REQUIRE(d);
        static const char *const since[] = { "vkCmdDispatch", "vkTrimCommandPool",
                                             "vkResetQueryPool", "vkCmdPipelineBarrier2",
                                             "vkMapMemory2" };
        for (uint32_t k = 0; k < COUNT_OF(since); k++)
            CHECK((VK(GetDeviceProcAddr)(d, since[k]) != NULL) == (k <= minor));
        CHECK(VK(GetDeviceProcAddr)(d, "vkGetImageSubresourceLayout2KHR"));
        CHECK(VK(GetDeviceProcAddr)(d, "vkCmdDraw"));         /* it fails: environment.c */
        VK(DestroyDevice)(d, NULL);
        gpu_free(&g);
    }
    Gpu g = { 0 };
    VkDevice d = device_of(&g, 1, false);
    CHECK(VK(GetDeviceProcAddr)(d, "vkMapMemory2"));
    VK(DestroyDevice)(d, NULL);
    gpu_free(&g);
}

/* ---- binding --------------------------------------------------------------------------------- */

static const char adds[] =
    "#version 450\n"
    "layout(local_size_x = 32) in;\n"
    "layout(binding = 0) buffer B { uint y[]; };\n"
    "layout(push_constant) uniform P { uint add; };\n"
    "void main() { y[gl_LocalInvocationIndex] += add; }\n";

static void push_two(VkCommandBuffer c, const GpuProgram *p, uint32_t value)
{
    VkPushConstantsInfo push = { .sType = VK_STRUCTURE_TYPE_PUSH_CONSTANTS_INFO,
                                 .layout = p->layout, .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                 .size = 4, .pValues = &value };
    VK(CmdBindPipeline)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    VK(CmdPushConstants2)(c, &push);
}

TEST(sets_and_constants)
{
    Gpu g = { .version = VK_API_VERSION_1_4 };
    GpuProgram p = { .n_types = 1 };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, adds, &p) == VK_SUCCESS);
    REQUIRE(gpu_buffer(&g, 128, &b) == VK_SUCCESS);
    gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
    VkBindDescriptorSetsInfo bind = { .sType = VK_STRUCTURE_TYPE_BIND_DESCRIPTOR_SETS_INFO,
                                      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                      .layout = p.layout, .descriptorSetCount = 1,
                                      .pDescriptorSets = &p.set };
    VkCommandBuffer c = gpu_begin(&g);
    push_two(c, &p, 5);
    VK(CmdBindDescriptorSets2)(c, &bind);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    CHECK_EQ_U64(((uint32_t *)b.data)[31], 5);
    gpu_buffer_free(&g, &b);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

TEST(push_descriptors)
{
    Gpu g = { .version = VK_API_VERSION_1_4 };
    GpuProgram p = { .n_types = 1, .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, adds, &p) == VK_SUCCESS);
    REQUIRE(gpu_buffer(&g, 128, &b) == VK_SUCCESS);
    VkDescriptorBufferInfo buffer = { b.buffer, 0, VK_WHOLE_SIZE };
    VkWriteDescriptorSet write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .descriptorCount = 1,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &buffer };
    VkPushDescriptorSetInfo push = { .sType = VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_INFO,
                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .layout = p.layout,
                                     .descriptorWriteCount = 1, .pDescriptorWrites = &write };
    VkDescriptorUpdateTemplateEntry entry = { 0, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0, 0 };
    VkDescriptorUpdateTemplateCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
        .descriptorUpdateEntryCount = 1, .pDescriptorUpdateEntries = &entry,
        .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS,
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE, .pipelineLayout = p.layout };
    VkPushDescriptorSetWithTemplateInfo with = {
        .sType = VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_WITH_TEMPLATE_INFO, .layout = p.layout,
        .pData = &buffer };
    REQUIRE(VK(CreateDescriptorUpdateTemplate)(g.device, &info, NULL,
                                               &with.descriptorUpdateTemplate) == VK_SUCCESS);
    for (int i = 0; i < 4; i++) {
        VkCommandBuffer c = gpu_begin(&g);
        push_two(c, &p, 3);
        switch (i) {
        case 0: VK(CmdPushDescriptorSet2)(c, &push); break;
        case 1: VK(CmdPushDescriptorSetWithTemplate2)(c, &with); break;
        case 2:
            VK(CmdPushDescriptorSet)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p.layout, 0, 1, &write);
            break;
        case 3:
            VK(CmdPushDescriptorSetWithTemplate)(c, with.descriptorUpdateTemplate, p.layout, 0,
                                                 &buffer);
            break;
        }
        VK(CmdDispatch)(c, 1, 1, 1);
        CHECK(gpu_finish(&g, c) == VK_SUCCESS);
        CHECK_EQ_U64(((uint32_t *)b.data)[31], 3 * ((uint64_t)i + 1));
    }
    VK(DestroyDescriptorUpdateTemplate)(g.device, with.descriptorUpdateTemplate, NULL);
    gpu_buffer_free(&g, &b);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

TEST(wide_pipeline_flags)
{
    Gpu g = { .version = VK_API_VERSION_1_4 };
    VkPipelineCreateFlags2CreateInfo flags = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO,
        .flags = VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT };
    GpuProgram p = { .n_types = 1 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, adds, &p) == VK_SUCCESS);
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .pNext = &flags,
        .layout = p.layout,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = p.module, .pName = "main" } };
    VkPipeline made = VK_NULL_HANDLE;
    CHECK(VK(CreateComputePipelines)(g.device, VK_NULL_HANDLE, 1, &info, NULL, &made) ==
          VK_SUCCESS);
    VK(DestroyPipeline)(g.device, made, NULL);
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo other = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = 64 };
    info.stage.pNext = &other;
    CHECK(VK(CreateComputePipelines)(g.device, VK_NULL_HANDLE, 1, &info, NULL, &made) ==
          VK_PIPELINE_COMPILE_REQUIRED);
    CHECK(!made);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

/* ---- memory and images ----------------------------------------------------------------------- */

enum { SIDE = 8, LAYERS = 3 };

static const VkImageCreateInfo square = {
    .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
    .format = VK_FORMAT_R32_UINT, .extent = { SIDE, SIDE, 1 }, .mipLevels = 2,
    .arrayLayers = LAYERS, .samples = VK_SAMPLE_COUNT_1_BIT, .tiling = VK_IMAGE_TILING_OPTIMAL,
    .usage = VK_IMAGE_USAGE_HOST_TRANSFER_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT };

/* With memory, bound with a status. */
static VkDeviceMemory image_new(Gpu *g, VkImage *image)
{
    VkMemoryRequirements need;
    VkDeviceMemory m = VK_NULL_HANDLE;
    CHECK(VK(CreateImage)(g->device, &square, NULL, image) == VK_SUCCESS);
    VK(GetImageMemoryRequirements)(g->device, *image, &need);
    VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .allocationSize = need.size };
    CHECK(VK(AllocateMemory)(g->device, &memory, NULL, &m) == VK_SUCCESS);
    VkResult result = VK_NOT_READY;
    VkBindMemoryStatus status = { .sType = VK_STRUCTURE_TYPE_BIND_MEMORY_STATUS,
                                  .pResult = &result };
    VkBindImageMemoryInfo bind = { .sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
                                   .pNext = &status, .image = *image, .memory = m };
    CHECK(VK(BindImageMemory2)(g->device, 1, &bind) == VK_SUCCESS && result == VK_SUCCESS);
    VkHostImageLayoutTransitionInfo ready = {
        .sType = VK_STRUCTURE_TYPE_HOST_IMAGE_LAYOUT_TRANSITION_INFO, .image = *image,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 2, 0, LAYERS } };
    CHECK(VK(TransitionImageLayout)(g->device, 1, &ready) == VK_SUCCESS);
    return m;
}

/* Rows of 10 texels, layers of 9 rows, into all layers from the second on; an image's part into
 * another; and back, also as it lies. */
TEST(host_copies)
{
    static const VkImageSubresourceLayers rest = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1,
                                                   VK_REMAINING_ARRAY_LAYERS };
    Gpu g = { .version = VK_API_VERSION_1_4 };
    VkImage a, b;
    uint32_t in[2][9][10], out[2][SIDE][SIDE], zero[LAYERS][SIDE][SIDE] = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkDeviceMemory of_a = image_new(&g, &a), of_b = image_new(&g, &b);
    for (uint32_t i = 0; i < 180; i++)
        (&in[0][0][0])[i] = i + 1;
    VkMemoryToImageCopy put = { .sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY,
                                .pHostPointer = in, .memoryRowLength = 10, .memoryImageHeight = 9,
                                .imageSubresource = rest, .imageExtent = { SIDE, SIDE, 1 } };
    VkCopyMemoryToImageInfo puts = { .sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO,
                                     .dstImage = a, .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                     .regionCount = 1, .pRegions = &put };
    CHECK(VK(CopyMemoryToImage)(g.device, &puts) == VK_SUCCESS);
    puts.dstImage = b;
    put = (VkMemoryToImageCopy){ .sType = put.sType, .pHostPointer = zero,
                                 .imageSubresource = { 1, 0, 0, LAYERS },
                                 .imageExtent = { SIDE, SIDE, 1 } };
    CHECK(VK(CopyMemoryToImage)(g.device, &puts) == VK_SUCCESS);
    VkImageCopy2 part = { .sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2, .srcSubresource = rest,
                          .dstSubresource = rest, .srcOffset = { 1, 2, 0 },
                          .dstOffset = { 3, 4, 0 }, .extent = { 4, 3, 1 } };
    VkCopyImageToImageInfo across = { .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_IMAGE_INFO,
                                      .srcImage = a, .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                      .dstImage = b, .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                      .regionCount = 1, .pRegions = &part };
    CHECK(VK(CopyImageToImage)(g.device, &across) == VK_SUCCESS);
    VkImageToMemoryCopy get = { .sType = VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY,
                                .pHostPointer = out, .imageSubresource = rest,
                                .imageExtent = { SIDE, SIDE, 1 } };
    VkCopyImageToMemoryInfo gets = { .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO,
                                     .srcImage = b, .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                     .flags = VK_HOST_IMAGE_COPY_MEMCPY_BIT, .regionCount = 1,
                                     .pRegions = &get };
    CHECK(VK(CopyImageToMemory)(g.device, &gets) == VK_SUCCESS);
    for (int l = 0; l < 2; l++) {
        for (int i = 0; i < SIDE * SIDE; i++) {
            int x = i % SIDE, y = i / SIDE;
            bool inside = x >= 3 && x < 7 && y >= 4 && y < 7;
            CHECK_EQ_U64(out[l][y][x], inside ? in[l][y - 2][x - 2] : 0);
        }
    }
    VK(DestroyImage)(g.device, a, NULL);
    VK(DestroyImage)(g.device, b, NULL);
    VK(FreeMemory)(g.device, of_a, NULL);
    VK(FreeMemory)(g.device, of_b, NULL);
    gpu_free(&g);
}

TEST(layouts_with_and_without_an_image)
{
    Gpu g = { .version = VK_API_VERSION_1_4 };
    VkImage image;
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkDeviceMemory m = image_new(&g, &image);
    VkImageSubresource2 s = { .sType = VK_STRUCTURE_TYPE_IMAGE_SUBRESOURCE_2,
                              .imageSubresource = { VK_IMAGE_ASPECT_COLOR_BIT, 1, 2 } };
    VkDeviceImageSubresourceInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_IMAGE_SUBRESOURCE_INFO, .pCreateInfo = &square,
        .pSubresource = &s };
    VkSubresourceHostMemcpySize size = { .sType = VK_STRUCTURE_TYPE_SUBRESOURCE_HOST_MEMCPY_SIZE };
    VkSubresourceLayout2 one = { .sType = VK_STRUCTURE_TYPE_SUBRESOURCE_LAYOUT_2, .pNext = &size },
                         two = { .sType = VK_STRUCTURE_TYPE_SUBRESOURCE_LAYOUT_2 };
    VK(GetImageSubresourceLayout2)(g.device, image, &s, &one);
    VK(GetDeviceImageSubresourceLayout)(g.device, &info, &two);
    CHECK(!memcmp(&one.subresourceLayout, &two.subresourceLayout, sizeof two.subresourceLayout));
    CHECK_EQ_U64(size.size, SIDE * SIDE);
    CHECK_EQ_U64(one.subresourceLayout.rowPitch, SIDE / 2 * 4);
    VkImageFormatProperties2 properties = { .sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2 };
    VkHostImageCopyDevicePerformanceQuery fast = {
        .sType = VK_STRUCTURE_TYPE_HOST_IMAGE_COPY_DEVICE_PERFORMANCE_QUERY };
    properties.pNext = &fast;
    VkPhysicalDeviceImageFormatInfo2 format = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2, .format = square.format,
        .type = square.imageType, .tiling = square.tiling, .usage = square.usage };
    CHECK(VK(GetPhysicalDeviceImageFormatProperties2)(g.physical, &format, &properties) ==
          VK_SUCCESS);
    CHECK(fast.optimalDeviceAccess && fast.identicalMemoryLayout);
    VkMemoryMapInfo map = { .sType = VK_STRUCTURE_TYPE_MEMORY_MAP_INFO, .memory = m, .offset = 64,
                            .size = 64 };
    VkMemoryUnmapInfo unmap = { .sType = VK_STRUCTURE_TYPE_MEMORY_UNMAP_INFO, .memory = m };
    void *whole = NULL, *part = NULL;
    CHECK(VK(MapMemory)(g.device, m, 0, VK_WHOLE_SIZE, 0, &whole) == VK_SUCCESS);
    VK(UnmapMemory)(g.device, m);
    CHECK(VK(MapMemory2)(g.device, &map, &part) == VK_SUCCESS);
    CHECK((char *)part == (char *)whole + 64);
    CHECK(VK(UnmapMemory2)(g.device, &unmap) == VK_SUCCESS);
    VK(DestroyImage)(g.device, image, NULL);
    VK(FreeMemory)(g.device, m, NULL);
    gpu_free(&g);
}

/* ---- float controls 2 ------------------------------------------------------------------------ */

/* x * y + z, whose product is not exact, under a default that allows nothing. */
static const char exactly[] =
    "OpCapability Shader\n"
    "OpCapability FloatControls2\n"
    "OpExtension \"SPV_KHR_float_controls2\"\n"
    "OpMemoryModel Logical GLSL450\n"
    "OpEntryPoint GLCompute %main \"main\" %b\n"
    "OpExecutionMode %main LocalSize 1 1 1\n"
    "OpExecutionModeId %main FPFastMathDefault %float %none\n"
    "OpDecorate %array ArrayStride 4\n"
    "OpDecorate %struct Block\n"
    "OpMemberDecorate %struct 0 Offset 0\n"
    "OpDecorate %b DescriptorSet 0\n"
    "OpDecorate %b Binding 0\n"
    "%void = OpTypeVoid\n"
    "%fn = OpTypeFunction %void\n"
    "%float = OpTypeFloat 32\n"
    "%uint = OpTypeInt 32 0\n"
    "%none = OpConstant %uint 0\n"
    "%one = OpConstant %uint 1\n"
    "%two = OpConstant %uint 2\n"
    "%three = OpConstant %uint 3\n"
    "%array = OpTypeRuntimeArray %float\n"
    "%struct = OpTypeStruct %array\n"
    "%pointer = OpTypePointer StorageBuffer %struct\n"
    "%element = OpTypePointer StorageBuffer %float\n"
    "%b = OpVariable %pointer StorageBuffer\n"
    "%main = OpFunction %void None %fn\n"
    "%entry = OpLabel\n"
    "%p0 = OpAccessChain %element %b %none %none\n"
    "%p1 = OpAccessChain %element %b %none %one\n"
    "%p2 = OpAccessChain %element %b %none %two\n"
    "%p3 = OpAccessChain %element %b %none %three\n"
    "%x = OpLoad %float %p0\n"
    "%y = OpLoad %float %p1\n"
    "%z = OpLoad %float %p2\n"
    "%xy = OpFMul %float %x %y\n"
    "%sum = OpFAdd %float %xy %z\n"
    "OpStore %p3 %sum\n"
    "OpReturn\n"
    "OpFunctionEnd\n";

TEST(nothing_is_contracted)
{
    Gpu g = { .version = VK_API_VERSION_1_4 };
    GpuProgram p = { .n_types = 1 };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 64, &b) == VK_SUCCESS);
    REQUIRE(gpu_program_glsl(&g, exactly, &p) == VK_SUCCESS);
    gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
    float *f = b.data;
    volatile float product = 1.0000001f * 1.0000001f;
    f[0] = f[1] = 1.0000001f;
    f[2] = -product;
    f[3] = 1;
    VkCommandBuffer c = gpu_begin(&g);
    gpu_bind(c, &p);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    CHECK_NEAR(f[3], 0, 0);
    gpu_buffer_free(&g, &b);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}
