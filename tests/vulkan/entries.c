/* SPDX-License-Identifier: MIT
 *
 * The entry points that the other tests have no use for: queries, newer kinds of commands, imported
 * host memory, labels, resetting.
 */
#include "gpu.h"

static VkBool32 VKAPI_CALL count(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)severity, (void)types, (void)data;
    ++*(int *)user;
    return VK_FALSE;
}

static const VkImageCreateInfo square = {
    .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
    .format = VK_FORMAT_R32_UINT, .extent = { 4, 4, 1 }, .mipLevels = 1, .arrayLayers = 1,
    .samples = VK_SAMPLE_COUNT_1_BIT, .tiling = VK_IMAGE_TILING_OPTIMAL,
    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT };

/* ---- queries --------------------------------------------------------------------------------- */

TEST(what_there_is_without_a_device)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    uint32_t version = 0, n = 0;
    CHECK(VK(EnumerateInstanceVersion)(&version) == VK_SUCCESS && version >= VK_API_VERSION_1_3);
    CHECK(VK(EnumerateInstanceExtensionProperties)(NULL, &n, NULL) == VK_SUCCESS && n > 3);
    CHECK(VK(EnumerateInstanceExtensionProperties)("no layer", &n, NULL) ==
          VK_ERROR_LAYER_NOT_PRESENT);
    CHECK(VK(EnumerateInstanceLayerProperties)(&n, NULL) == VK_SUCCESS);
    CHECK(VK(EnumerateDeviceLayerProperties)(g.physical, &n, NULL) == VK_SUCCESS);
    VkPhysicalDeviceGroupProperties group = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES };
    n = 1;
    CHECK(VK(EnumeratePhysicalDeviceGroups)(g.instance, &n, &group) == VK_SUCCESS && n == 1);
    CHECK(group.physicalDeviceCount == 1 && group.physicalDevices[0] == g.physical);
    VkPhysicalDeviceProperties p;
    VK(GetPhysicalDeviceProperties)(g.physical, &p);
    CHECK(!strncmp(p.deviceName, "heddle ", 7) && p.limits.maxBoundDescriptorSets >= 7);
    VkTimeDomainKHR domains[4];
    n = COUNT_OF(domains);
    if (!getenv("HEDDLE_TEST_LOADER")) { /* Debian 12's has not heard of it */
        CHECK(!VK(GetPhysicalDeviceCalibrateableTimeDomainsKHR)(g.physical, &n, domains));
        CHECK(n == 2 && domains[0] == VK_TIME_DOMAIN_DEVICE_KHR);
    }
    CHECK(VK(GetPhysicalDeviceToolProperties)(g.physical, &n, NULL) == VK_SUCCESS);
    gpu_free(&g);
}

TEST(matrices_of_both_of_nvidias_extensions)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    uint32_t n = 0, few = 1;
    CHECK(!VK(GetPhysicalDeviceCooperativeMatrixPropertiesNV)(g.physical, &n, NULL) && n > 10);
    VkCooperativeMatrixPropertiesNV old = {
        .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV };
    CHECK(VK(GetPhysicalDeviceCooperativeMatrixPropertiesNV)(g.physical, &few, &old) ==
          VK_INCOMPLETE);
    CHECK(old.MSize == 16 && old.AType == VK_COMPONENT_TYPE_FLOAT16_NV);
    VkCooperativeMatrixFlexibleDimensionsPropertiesNV flexible[256];
    CHECK(!VK(GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)(g.physical, &n,
                                                                                NULL));
    REQUIRE(n && n <= COUNT_OF(flexible));
    for (uint32_t i = 0; i < n; i++)
        flexible[i] = (VkCooperativeMatrixFlexibleDimensionsPropertiesNV){
            .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV };
    CHECK(!VK(GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)(g.physical, &n,
                                                                                flexible));
    bool of_workgroup = false;
    for (uint32_t i = 0; i < n; i++) {
        const VkCooperativeMatrixFlexibleDimensionsPropertiesNV *f = &flexible[i];
        CHECK(f->MGranularity && f->NGranularity && f->KGranularity && !f->pNext);
        CHECK(f->scope == VK_SCOPE_WORKGROUP_KHR ? f->workgroupInvocations > 0
                                                  : f->scope == VK_SCOPE_SUBGROUP_KHR);
        CHECK(f->ResultType != VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT &&
              f->ResultType != VK_COMPONENT_TYPE_FLOAT8_E5M2_EXT);
        of_workgroup |= f->scope == VK_SCOPE_WORKGROUP_KHR && f->workgroupInvocations == 256;
    }
    CHECK(of_workgroup);
    gpu_free(&g);
}

/* Two pieces of more than half the heap do not fit, and what is freed is there again. */
TEST(the_heap_and_its_budget)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT };
    VkPhysicalDeviceMemoryProperties2 two = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &budget };
    VkPhysicalDeviceMemoryProperties one;
    VK(GetPhysicalDeviceMemoryProperties)(g.physical, &one);
    VkDeviceSize heap = one.memoryHeaps[0].size;
    VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .allocationSize = heap / 2 + 4096 };
    VkDeviceMemory a = VK_NULL_HANDLE, b = VK_NULL_HANDLE;
    VkResult r = VK(AllocateMemory)(g.device, &info, NULL, &a);
    CHECK(r == VK_SUCCESS || r == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    VK(GetPhysicalDeviceMemoryProperties2)(g.physical, &two);
    CHECK_EQ_U64(budget.heapUsage[0], a ? info.allocationSize : 0);
    CHECK(budget.heapBudget[0] >= budget.heapUsage[0] && budget.heapBudget[0] <= heap);
    CHECK_EQ_U64(budget.heapBudget[1], 0);
    CHECK(!a || VK(AllocateMemory)(g.device, &info, NULL, &b) == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(!b);
    VkDeviceSize committed = 0;
    if (a && !getenv("HEDDLE_TEST_LOADER")) /* no memory is allocated lazily */
        VK(GetDeviceMemoryCommitment)(g.device, a, &committed);
    VK(FreeMemory)(g.device, a, NULL);
    VK(GetPhysicalDeviceMemoryProperties2)(g.physical, &two);
    CHECK_EQ_U64(budget.heapUsage[0], 0);
    /* It is the process's: another instance sees what this one takes. */
    Gpu other = { 0 };
    GpuBuffer piece;
    REQUIRE(!gpu_new(&other) && !gpu_buffer(&g, 1 << 20, &piece));
    VK(GetPhysicalDeviceMemoryProperties2)(other.physical, &two);
    CHECK_EQ_U64(budget.heapUsage[0], 1 << 20);
    gpu_buffer_free(&g, &piece);
    gpu_free(&other);
    gpu_free(&g);
}

TEST(nothing_is_shared_with_others_but_host_memory)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkPhysicalDeviceExternalFenceInfo fence = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_FENCE_INFO,
        .handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT };
    VkExternalFenceProperties of_fence = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_FENCE_PROPERTIES, .externalFenceFeatures = 1 };
    VkPhysicalDeviceExternalSemaphoreInfo semaphore = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT };
    VkExternalSemaphoreProperties of_semaphore = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES, .externalSemaphoreFeatures = 1 };
    VK(GetPhysicalDeviceExternalFenceProperties)(g.physical, &fence, &of_fence);
    VK(GetPhysicalDeviceExternalSemaphoreProperties)(g.physical, &semaphore, &of_semaphore);
    CHECK(!of_fence.externalFenceFeatures && !of_semaphore.externalSemaphoreFeatures);
    VkExternalMemoryHandleTypeFlagBits types[] = {
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        VkPhysicalDeviceExternalBufferInfo buffer = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
            .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, .handleType = types[i] };
        VkExternalBufferProperties of_buffer = {
            .sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES };
        VK(GetPhysicalDeviceExternalBufferProperties)(g.physical, &buffer, &of_buffer);
        const uint32_t features = i ? VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT : 0;
        CHECK_EQ_U64(of_buffer.externalMemoryProperties.externalMemoryFeatures, features);
        VkPhysicalDeviceExternalImageFormatInfo external = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
            .handleType = types[i] };
        VkPhysicalDeviceImageFormatInfo2 image = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2, .pNext = &external,
            .format = square.format, .type = square.imageType, .usage = square.usage };
        VkExternalImageFormatProperties of_image = {
            .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES,
            .externalMemoryProperties.externalMemoryFeatures = 7 };
        VkImageFormatProperties2 any = { .sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                         .pNext = &of_image };
        CHECK(VK(GetPhysicalDeviceImageFormatProperties2)(g.physical, &image, &any) ==
              (i ? VK_SUCCESS : VK_ERROR_FORMAT_NOT_SUPPORTED));
        CHECK_EQ_U64(of_image.externalMemoryProperties.externalMemoryFeatures, features);
    }
    uint32_t n = 9;
    VK(GetPhysicalDeviceSparseImageFormatProperties)(g.physical, VK_FORMAT_R32_UINT,
                                                     VK_IMAGE_TYPE_2D, VK_SAMPLE_COUNT_1_BIT,
                                                     VK_IMAGE_USAGE_STORAGE_BIT,
                                                     VK_IMAGE_TILING_OPTIMAL, &n, NULL);
    CHECK_EQ_U64(n, 0);
    VkPhysicalDeviceSparseImageFormatInfo2 sparse = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SPARSE_IMAGE_FORMAT_INFO_2,
        .format = VK_FORMAT_R32_UINT, .type = VK_IMAGE_TYPE_2D, .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_STORAGE_BIT, .tiling = VK_IMAGE_TILING_OPTIMAL };
    n = 9;
    VK(GetPhysicalDeviceSparseImageFormatProperties2)(g.physical, &sparse, &n, NULL);
    CHECK_EQ_U64(n, 0);
    gpu_free(&g);
}

TEST(what_resources_need)
{
    Gpu g = { 0 };
    GpuBuffer b;
    VkImage image;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 100, &b) == VK_SUCCESS);
    REQUIRE(VK(CreateImage)(g.device, &square, NULL, &image) == VK_SUCCESS);
    VkMemoryDedicatedRequirements dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS,
        .requiresDedicatedAllocation = VK_TRUE, .prefersDedicatedAllocation = VK_TRUE };
    VkMemoryRequirements2 need[4];
    for (int i = 0; i < 4; i++)
        need[i] = (VkMemoryRequirements2){ .sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2 };
    need[0].pNext = &dedicated;
    VkBufferMemoryRequirementsInfo2 of_buffer = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = b.buffer };
    VK(GetBufferMemoryRequirements2)(g.device, &of_buffer, &need[0]);
    CHECK(!dedicated.requiresDedicatedAllocation && !dedicated.prefersDedicatedAllocation);
    VkBufferCreateInfo like = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 100,
                                .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT };
    VkDeviceBufferMemoryRequirements of_such_a_buffer = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_BUFFER_MEMORY_REQUIREMENTS, .pCreateInfo = &like };
    VK(GetDeviceBufferMemoryRequirements)(g.device, &of_such_a_buffer, &need[1]);
    VkImageMemoryRequirementsInfo2 of_image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, .image = image };
    VK(GetImageMemoryRequirements2)(g.device, &of_image, &need[2]);
    VkDeviceImageMemoryRequirements of_such_an_image = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_IMAGE_MEMORY_REQUIREMENTS, .pCreateInfo = &square };
    VK(GetDeviceImageMemoryRequirements)(g.device, &of_such_an_image, &need[3]);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ_U64(need[i].memoryRequirements.size, i < 2 ? 128 : 64);
        CHECK_EQ_U64(need[i].memoryRequirements.memoryTypeBits, 1);
    }
    uint32_t counts[3] = { 9, 9, 9 };
    VkImageSparseMemoryRequirementsInfo2 sparse = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_SPARSE_MEMORY_REQUIREMENTS_INFO_2, .image = image };
    VK(GetImageSparseMemoryRequirements)(g.device, image, &counts[0], NULL);
    VK(GetImageSparseMemoryRequirements2)(g.device, &sparse, &counts[1], NULL);
    VK(GetDeviceImageSparseMemoryRequirements)(g.device, &of_such_an_image, &counts[2], NULL);
    CHECK(!counts[0] && !counts[1] && !counts[2]);
    VkDeviceMemoryOpaqueCaptureAddressInfo at = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_OPAQUE_CAPTURE_ADDRESS_INFO, .memory = b.memory };
    VkBufferDeviceAddressInfo address = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                          .buffer = b.buffer };
    if (!getenv("HEDDLE_TEST_LOADER")) /* asks for a feature that is not there */
        CHECK(VK(GetDeviceMemoryOpaqueCaptureAddress)(g.device, &at) ==
              VK(GetBufferOpaqueCaptureAddress)(g.device, &address));
    VK(DestroyImage)(g.device, image, NULL);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

TEST(layouts_that_are_too_large)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    for (uint32_t n = 16; n; n = n == 16 ? UINT32_MAX : 0) {
        VkDescriptorSetLayoutBinding binding = { 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, n,
                                                 VK_SHADER_STAGE_COMPUTE_BIT, NULL };
        VkDescriptorSetLayoutCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1,
            .pBindings = &binding };
        VkDescriptorSetLayoutSupport there = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_SUPPORT };
        VK(GetDescriptorSetLayoutSupport)(g.device, &info, &there);
        CHECK_EQ_U64(there.supported, n == 16);
    }
    gpu_free(&g);
}

/* ---- the device and its queues --------------------------------------------------------------- */

TEST(queues_clocks_and_labels)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkDeviceQueueInfo2 info = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_INFO_2, .queueIndex = 1 };
    VkQueue q = VK_NULL_HANDLE;
    VK(GetDeviceQueue2)(g.device, &info, &q);
    CHECK(q == g.queues[1]);
    VkPeerMemoryFeatureFlags peer = 0;
    if (!getenv("HEDDLE_TEST_LOADER")) { /* there is no other device in the group */
        VK(GetDeviceGroupPeerMemoryFeatures)(g.device, 0, 0, 0, &peer);
        CHECK(peer & VK_PEER_MEMORY_FEATURE_COPY_DST_BIT);
        CHECK(VK(QueueBindSparse)(q, 0, NULL, VK_NULL_HANDLE) == VK_SUCCESS);
        VkCalibratedTimestampInfoKHR clocks[2];
        for (int i = 0; i < 2; i++)
            clocks[i] = (VkCalibratedTimestampInfoKHR){
                .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_KHR,
                .timeDomain = i ? VK_TIME_DOMAIN_CLOCK_MONOTONIC_KHR : VK_TIME_DOMAIN_DEVICE_KHR };
        uint64_t before = clock_ns(), times[2], deviation = 0;
        CHECK(!VK(GetCalibratedTimestampsKHR)(g.device, 2, clocks, times, &deviation));
        CHECK(times[0] == times[1] && times[0] >= before && times[0] <= clock_ns() && deviation);
    }
    VkDebugUtilsLabelEXT label = { .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                   .pLabelName = "label" };
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdBeginDebugUtilsLabelEXT)(c, &label);
    VK(CmdInsertDebugUtilsLabelEXT)(c, &label);
    VK(CmdEndDebugUtilsLabelEXT)(c);
    VK(CmdSetDeviceMask)(c, 1);
    VK(QueueBeginDebugUtilsLabelEXT)(g.queues[0], &label);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    VK(QueueInsertDebugUtilsLabelEXT)(g.queues[0], &label);
    VK(QueueEndDebugUtilsLabelEXT)(g.queues[0]);
    gpu_free(&g);
}

/* A program's own messages, and names that reach no other object than the one they are given. */
TEST(messages_and_names)
{
    Gpu g = { 0 };
    int heard = 0;
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkDebugUtilsMessengerCreateInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT, .pfnUserCallback = count,
        .pUserData = &heard };
    VkDebugUtilsMessengerEXT m = VK_NULL_HANDLE;
    REQUIRE(VK(CreateDebugUtilsMessengerEXT)(g.instance, &info, NULL, &m) == VK_SUCCESS);
    VkDebugUtilsMessengerCallbackDataEXT data = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
        .pMessage = "slow" };
    VK(SubmitDebugUtilsMessageEXT)(g.instance, info.messageSeverity, info.messageType, &data);
    VK(SubmitDebugUtilsMessageEXT)(g.instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT,
                                   info.messageType, &data);
    CHECK_EQ_U64((uint64_t)heard, 1);
    VkDebugUtilsObjectTagInfoEXT tag = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_TAG_INFO_EXT,
        .objectType = VK_OBJECT_TYPE_COMMAND_POOL, .objectHandle = (uint64_t)g.pool, .tagName = 1,
        .tagSize = 1, .pTag = "" };
    CHECK(VK(SetDebugUtilsObjectTagEXT)(g.device, &tag) == VK_SUCCESS);
    VkDebugUtilsObjectNameInfoEXT name = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = VK_OBJECT_TYPE_COMMAND_POOL, .objectHandle = (uint64_t)g.pool,
        .pObjectName = "first" };
    CHECK(VK(SetDebugUtilsObjectNameEXT)(g.device, &name) == VK_SUCCESS);
    name.pObjectName = NULL;
    CHECK(VK(SetDebugUtilsObjectNameEXT)(g.device, &name) == VK_SUCCESS);
    if (!getenv("HEDDLE_TEST_LOADER")) { /* a handle that is somebody else's */
        uint64_t others[16] = { 0 };
        name.objectType = VK_OBJECT_TYPE_INSTANCE;
        name.objectHandle = (uint64_t)(uintptr_t)others;
        name.pObjectName = "not ours";
        CHECK(VK(SetDebugUtilsObjectNameEXT)(g.device, &name) == VK_SUCCESS);
        for (int i = 0; i < 16; i++)
            CHECK_EQ_U64(others[i], 0);
    }
    VK(DestroyDebugUtilsMessengerEXT)(g.instance, m, NULL);
    gpu_free(&g);
}

TEST(layers_are_the_loaders)
{
    if (getenv("HEDDLE_TEST_LOADER"))
        return;
    REQUIRE(gpu_open());
    gpu_load(VK_NULL_HANDLE);
    const char *layer = "VK_LAYER_KHRONOS_validation";
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .enabledLayerCount = 1, .ppEnabledLayerNames = &layer };
    VkInstance i;
    CHECK(VK(CreateInstance)(&info, NULL, &i) == VK_ERROR_LAYER_NOT_PRESENT && !i);
}

/* ---- memory, buffers and commands ------------------------------------------------------------ */

/* The program's own page as a buffer's memory. */
TEST(host_memory_is_imported)
{
    enum { PAGE = 4096 };
    Gpu g = { 0 };
    VkMemoryHostPointerPropertiesEXT p = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT };
    if (getenv("HEDDLE_TEST_LOADER")) /* an extension that gpu_new does not ask for */
        return;
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    uint32_t *page = aligned_alloc(PAGE, PAGE);
    REQUIRE(page);
    memset(page, 1, PAGE);
    VkExternalMemoryHandleTypeFlagBits type =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    CHECK(VK(GetMemoryHostPointerPropertiesEXT)(g.device, type, page, &p) == VK_SUCCESS);
    CHECK_EQ_U64(p.memoryTypeBits, 1);
    CHECK(VK(GetMemoryHostPointerPropertiesEXT)(g.device,
                                                VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, page,
                                                &p) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, .handleType = type,
        .pHostPointer = page };
    VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &import, .allocationSize = PAGE };
    VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = PAGE,
                                .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT };
    VkDeviceMemory m = VK_NULL_HANDLE;
    VkBuffer b = VK_NULL_HANDLE;
    CHECK(VK(AllocateMemory)(g.device, &memory, NULL, &m) == VK_SUCCESS);
    CHECK(VK(CreateBuffer)(g.device, &info, NULL, &b) == VK_SUCCESS);
    VkBindBufferMemoryInfo bind = { .sType = VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO,
                                    .buffer = b, .memory = m };
    CHECK(VK(BindBufferMemory2)(g.device, 1, &bind) == VK_SUCCESS);
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdFillBuffer)(c, b, 8, 4, 42);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    CHECK(page[1] == 0x01010101 && page[2] == 42);
    VK(DestroyBuffer)(g.device, b, NULL);
    VK(FreeMemory)(g.device, m, NULL);
    free(page);                 /* still the program's */
    gpu_free(&g);
}

/* From a buffer to the next one, by the older command and the newer. */
TEST(copies_between_buffers)
{
    Gpu g = { 0 };
    GpuBuffer b[3];
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    for (int i = 0; i < 3; i++)
        REQUIRE(gpu_buffer(&g, 256, &b[i]) == VK_SUCCESS);
    for (uint32_t i = 0; i < 64; i++)
        ((uint32_t *)b[0].data)[i] = i;
    memset(b[1].data, 0, 256);
    memset(b[2].data, 0, 256);
    VkMappedMemoryRange range = { .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                                  .memory = b[0].memory, .size = VK_WHOLE_SIZE };
    CHECK(VK(FlushMappedMemoryRanges)(g.device, 1, &range) == VK_SUCCESS);
    VkBufferCopy old[] = { { 0, 128, 64 }, { 64, 0, 8 } };
    VkBufferCopy2 new = { .sType = VK_STRUCTURE_TYPE_BUFFER_COPY_2, .srcOffset = 128,
                          .dstOffset = 4, .size = 64 };
    VkCopyBufferInfo2 info = { .sType = VK_STRUCTURE_TYPE_COPY_BUFFER_INFO_2,
                               .srcBuffer = b[1].buffer, .dstBuffer = b[2].buffer,
                               .regionCount = 1, .pRegions = &new };
    VkMemoryBarrier2 memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT };
    VkDependencyInfo after = { .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                               .memoryBarrierCount = 1, .pMemoryBarriers = &memory };
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdCopyBuffer)(c, b[0].buffer, b[1].buffer, 2, old);
    VK(CmdPipelineBarrier2)(c, &after);
    VK(CmdCopyBuffer2)(c, &info);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    range.memory = b[2].memory;
    CHECK(VK(InvalidateMappedMemoryRanges)(g.device, 1, &range) == VK_SUCCESS);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t first = i < 2 ? i + 16 : i >= 32 && i < 48 ? i - 32 : 0;
        CHECK_EQ_U64(((uint32_t *)b[1].data)[i], first);
        CHECK_EQ_U64(((uint32_t *)b[2].data)[i], i >= 1 && i < 17 ? i - 1 : 0);
    }
    for (int i = 0; i < 3; i++)
        gpu_buffer_free(&g, &b[i]);
    gpu_free(&g);
}

/* Through an image and its copy, by the newer commands. */
TEST(copies_with_images)
{
    Gpu g = { 0 };
    GpuBuffer in, out;
    VkImage a, b;
    VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .allocationSize = 128 };
    VkDeviceMemory m;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && !gpu_buffer(&g, 64, &in) && !gpu_buffer(&g, 64, &out));
    REQUIRE(!VK(CreateImage)(g.device, &square, NULL, &a) &&
            !VK(CreateImage)(g.device, &square, NULL, &b) &&
            !VK(AllocateMemory)(g.device, &memory, NULL, &m) &&
            !VK(BindImageMemory)(g.device, a, m, 0) && !VK(BindImageMemory)(g.device, b, m, 64));
    for (uint32_t i = 0; i < 16; i++)
        ((uint32_t *)in.data)[i] = i + 1;
    const VkImageSubresourceLayers layer = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 };
    VkBufferImageCopy2 whole = { .sType = VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2,
                                 .imageSubresource = layer, .imageExtent = { 4, 4, 1 } };
    VkImageCopy2 across = { .sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2, .srcSubresource = layer,
                            .dstSubresource = layer, .extent = { 4, 4, 1 } };
    VkCopyBufferToImageInfo2 put = {
        .sType = VK_STRUCTURE_TYPE_COPY_BUFFER_TO_IMAGE_INFO_2, .srcBuffer = in.buffer,
        .dstImage = a, .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL, .regionCount = 1,
        .pRegions = &whole };
    VkCopyImageInfo2 copy = { .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_INFO_2, .srcImage = a,
                              .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL, .dstImage = b,
                              .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL, .regionCount = 1,
                              .pRegions = &across };
    VkCopyImageToBufferInfo2 get = {
        .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_BUFFER_INFO_2, .srcImage = b,
        .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL, .dstBuffer = out.buffer, .regionCount = 1,
        .pRegions = &whole };
    VkImageMemoryBarrier2 ready[2];
    for (int i = 0; i < 2; i++)
        ready[i] = (VkImageMemoryBarrier2){
            .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
            .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
            .dstAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT, .newLayout = VK_IMAGE_LAYOUT_GENERAL,
            .image = i ? b : a,
            .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 } };
    VkMemoryBarrier2 written = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                 .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                 .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                 .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                 .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT };
    VkDependencyInfo before = { .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                .imageMemoryBarrierCount = 2, .pImageMemoryBarriers = ready };
    VkDependencyInfo between = { .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                 .memoryBarrierCount = 1, .pMemoryBarriers = &written };
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdPipelineBarrier2)(c, &before);
    VK(CmdCopyBufferToImage2)(c, &put);
    VK(CmdPipelineBarrier2)(c, &between);
    VK(CmdCopyImage2)(c, &copy);
    VK(CmdPipelineBarrier2)(c, &between);
    VK(CmdCopyImageToBuffer2)(c, &get);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    CHECK(!memcmp(in.data, out.data, 64));
    gpu_buffer_free(&g, &in);
    gpu_buffer_free(&g, &out);
    VK(DestroyImage)(g.device, a, NULL);
    VK(DestroyImage)(g.device, b, NULL);
    VK(FreeMemory)(g.device, m, NULL);
    gpu_free(&g);
}

TEST(events_of_the_newer_kind)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkEventCreateInfo info = { .sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO };
    VkEvent e;
    REQUIRE(VK(CreateEvent)(g.device, &info, NULL, &e) == VK_SUCCESS);
    VkMemoryBarrier2 memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT };
    VkDependencyInfo copies = { .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                .memoryBarrierCount = 1, .pMemoryBarriers = &memory };
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdSetEvent2)(c, e, &copies);
    VK(CmdWaitEvents2)(c, 1, &e, &copies);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    CHECK(VK(GetEventStatus)(g.device, e) == VK_EVENT_SET);
    c = gpu_begin(&g);
    VK(CmdResetEvent2)(c, e, VK_PIPELINE_STAGE_2_COPY_BIT);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    CHECK(VK(GetEventStatus)(g.device, e) == VK_EVENT_RESET);
    CHECK(VK(SetEvent)(g.device, e) == VK_SUCCESS);
    CHECK(VK(ResetEvent)(g.device, e) == VK_SUCCESS);
    CHECK(VK(GetEventStatus)(g.device, e) == VK_EVENT_RESET);
    VK(DestroyEvent)(g.device, e, NULL);
    gpu_free(&g);
}

/* ---- resetting ------------------------------------------------------------------------------- */

/* Pools that are reset or trimmed, once with their memory, give the same buffers and sets again;
 * trimming takes nothing from a buffer that is being recorded. */
TEST(pools_are_reset_and_trimmed)
{
    static const char adds[] =
        "#version 450\n"
        "layout(binding = 0) buffer B { uint y[]; };\n"
        "void main() { y[0] += 1; }\n";
    static const VkDescriptorType dynamic = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 1, .types = &dynamic };
    GpuBuffer b;
    REQUIRE(!gpu_new(&g) && !gpu_buffer(&g, 1024, &b) && !gpu_program_glsl(&g, adds, &p));
    memset(b.data, 0, 1024);
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT };
    VK(DestroyCommandPool)(g.device, g.pool, NULL);
    REQUIRE(VK(CreateCommandPool)(g.device, &pool, NULL, &g.pool) == VK_SUCCESS);
    VkCommandBuffer c = gpu_begin(&g);
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                            .pCommandBuffers = &c };
    for (uint32_t i = 0; i < 5; i++) {
        if (i) {
            CHECK(VK(ResetDescriptorPool)(g.device, p.pool, 0) == VK_SUCCESS);
            VkDescriptorSetAllocateInfo set = {
                .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = p.pool,
                .descriptorSetCount = 1, .pSetLayouts = &p.set_layout };
            CHECK(VK(AllocateDescriptorSets)(g.device, &set, &p.set) == VK_SUCCESS);
            VkFlags all = i % 2; /* VK_COMMAND_..._RESET_RELEASE_RESOURCES_BIT of both is 1 */
            CHECK(!(i < 3 ? VK(ResetCommandBuffer)(c, all)
                          : VK(ResetCommandPool)(g.device, g.pool, all)));
            VK(TrimCommandPool)(g.device, g.pool, 0);
            CHECK(VK(BeginCommandBuffer)(c, &begin) == VK_SUCCESS);
        }
        gpu_write(&g, p.set, 0, dynamic, b.buffer, 0, 4);
        uint32_t offset = 256;
        VK(CmdBindPipeline)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p.pipeline);
        VK(CmdBindDescriptorSets)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p.layout, 0, 1, &p.set, 1,
                                  &offset);
        VK(TrimCommandPool)(g.device, g.pool, 0);
        VK(CmdDispatch)(c, 1, 1, 1);
        CHECK(VK(EndCommandBuffer)(c) == VK_SUCCESS);
        CHECK(VK(QueueSubmit)(g.queues[0], 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
        CHECK(VK(QueueWaitIdle)(g.queues[0]) == VK_SUCCESS);
        CHECK(((uint32_t *)b.data)[64] == i + 1 && !((uint32_t *)b.data)[0]);
    }
    gpu_program_free(&g, &p);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}
