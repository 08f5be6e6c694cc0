/* SPDX-License-Identifier: MIT
 *
 * What a driver must survive: failing allocation callbacks, null handles, counts that are short,
 * structures full of rubbish, shaders that are wrong; and the doors a loader knocks at.
 */
#include <signal.h>
#include <sys/mman.h>

#include "gpu.h"

/* ---- the doors ------------------------------------------------------------------------------- */

TEST(without_a_loader)
{
    REQUIRE(gpu_open());
    uint32_t version = 1;
    CHECK(vk.negotiate(&version) == VK_ERROR_INCOMPATIBLE_DRIVER);
    version = 99;
    CHECK(vk.negotiate(&version) == VK_SUCCESS);
    CHECK_EQ_U64(version, 7);
    CHECK(vk.get(NULL, "vkCreateInstance") && vk.get(NULL, "vkEnumerateInstanceVersion"));
    CHECK(vk.get(NULL, "vkEnumerateInstanceExtensionProperties"));
    CHECK(vk.get(NULL, "vkEnumerateInstanceLayerProperties"));
    CHECK(!vk.get(NULL, "vkCreateDevice") && !vk.get(NULL, "vkNoSuchThing"));
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    CHECK(vk.get(g.instance, "vkCmdDispatch") && !vk.get(g.instance, "vkCmdDrawMeshTasksEXT"));
    CHECK(!VK(GetDeviceProcAddr)(g.device, "vkCreateInstance"));
    CHECK(!VK(GetDeviceProcAddr)(g.device, "vkGetPhysicalDeviceFeatures"));
    CHECK(VK(GetDeviceProcAddr)(g.device, "vkGetBufferDeviceAddress") != NULL);
    /* Of an extension that is enabled, or is not. */
    CHECK(VK(GetDeviceProcAddr)(g.device, "vkCmdPushDescriptorSetWithTemplateKHR") != NULL);
    CHECK(VK(GetDeviceProcAddr)(g.device, "vkSetDebugUtilsObjectNameEXT") != NULL);
    CHECK(!VK(GetDeviceProcAddr)(g.device, "vkGetBufferDeviceAddressKHR"));
    gpu_free(&g);
}

TEST(extensions_that_do_not_exist)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    const char *names[] = { "VK_KHR_shader_bfloat16", "VK_KHR_shader_bfloat16", "VK_KHR_nothing" };
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR unasked = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
        .cooperativeMatrix = VK_TRUE };
    VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &unasked,
                                .enabledExtensionCount = 3, .ppEnabledExtensionNames = names };
    VkDevice d;
    CHECK(VK(CreateDevice)(g.physical, &info, NULL, &d) == VK_ERROR_EXTENSION_NOT_PRESENT);
    CHECK(d == VK_NULL_HANDLE);
    info.enabledExtensionCount = 2;
    CHECK(VK(CreateDevice)(g.physical, &info, NULL, &d) == VK_SUCCESS);
    VK(DestroyDevice)(d, NULL);
    VkInstanceCreateInfo instance = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                      .enabledExtensionCount = 1,
                                      .ppEnabledExtensionNames = &names[2] };
    VkInstance i;
    CHECK(VK(CreateInstance)(&instance, NULL, &i) == VK_ERROR_EXTENSION_NOT_PRESENT);
    gpu_free(&g);
}

/* ---- queries --------------------------------------------------------------------------------- */

/* All features at once, each struct full of rubbish before: every member is 0 or 1 afterwards. */
TEST(every_member_of_every_features_struct_is_written)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    static union {
        VkBaseOutStructure head;
        VkBool32 words[256];
    } structs[512];
    size_t sizes[512];
    uint32_t n = 0;
    VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 };
#define TABLE_FEATURES
#define CORE_FEATURES(...)
#define FEATURES(T, m, ...)                                                                        \
    do {                                                                                           \
        const T image = { __VA_ARGS__ };                                                           \
        memset(&structs[n], 0xa5, sizeof structs[n]);                                              \
        structs[n].head.sType = image.sType;                                                       \
        structs[n].head.pNext = all.pNext;                                                         \
        sizes[n] = sizeof(T);                                                                      \
        all.pNext = &structs[n++];                                                                 \
    } while (0);
#include "vulkan/tables.def"
#undef FEATURES
#undef CORE_FEATURES
#undef TABLE_FEATURES
    VK(GetPhysicalDeviceFeatures2)(g.physical, &all);
    CHECK(n > 200 && all.features.robustBufferAccess);
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = sizeof(VkBaseOutStructure) / 4; k < sizes[i] / 4; k++) {
            bool padding = k == sizes[i] / 4 - 1 && structs[i].words[k] == 0xa5a5a5a5;
            CHECK(structs[i].words[k] <= 1 || padding);
        }
        CHECK_EQ_U64(structs[i].words[sizes[i] / 4], 0xa5a5a5a5);
    }
    gpu_free(&g);
}

/* What was in the structures is nowhere in them afterwards: two kinds of rubbish give the same. */
TEST(every_member_of_every_properties_struct_is_written)
{
    typedef union { VkBaseOutStructure head; uint8_t bytes[1024]; } Any;
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    static Any structs[2][512];
    uint32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        VkPhysicalDeviceProperties2 all = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 };
        n = 0;
#define TABLE_PROPERTIES
#define PROPERTIES(T, s_type, ...)                                                                 \
        do {                                                                                       \
            const T image = { s_type };                                                            \
            Any *s = &structs[pass][n++];                                                          \
            /* the two that lists of the caller's belong to */                                     \
            bool lists = image.sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_PROPERTIES || \
                image.sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES;       \
            memset(s, lists ? 0 : pass ? 0x5a : 0xa5, sizeof image);                               \
            s->head = (VkBaseOutStructure){ image.sType, all.pNext };                              \
            all.pNext = s;                                                                         \
        } while (0);
#include "vulkan/tables.def"
#undef PROPERTIES
#undef TABLE_PROPERTIES
        VK(GetPhysicalDeviceProperties2)(g.physical, &all);
    }
    CHECK(n > 100 && n < 512);
    for (uint32_t i = 0; i < n; i++) {
        const size_t head = sizeof(VkBaseOutStructure);
        CHECK(!memcmp(structs[0][i].bytes + head, structs[1][i].bytes + head,
                      sizeof structs[0][i] - head));
    }
    gpu_free(&g);
}

TEST(short_counts)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    uint32_t n = 12345;
    CHECK(VK(EnumerateDeviceExtensionProperties)(g.physical, NULL, &n, NULL) == VK_SUCCESS);
    CHECK(n > 50 && n < 500);
    VkExtensionProperties e[3] = { 0 };
    n = 2;
    CHECK(VK(EnumerateDeviceExtensionProperties)(g.physical, NULL, &n, e) == VK_INCOMPLETE);
    CHECK(n == 2 && e[1].extensionName[0] && !e[2].extensionName[0]);
    n = 0;
    VkPhysicalDevice p = VK_NULL_HANDLE;
    CHECK(VK(EnumeratePhysicalDevices)(g.instance, &n, &p) == VK_INCOMPLETE && !p);
    VkCooperativeMatrixPropertiesKHR m[2] = {
        { .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR },
        { .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR } };
    n = 1;
    CHECK(VK(GetPhysicalDeviceCooperativeMatrixPropertiesKHR)(g.physical, &n, m) == VK_INCOMPLETE);
    CHECK(n == 1 && m[0].MSize == 16 && m[0].AType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
          m[0].CType == VK_COMPONENT_TYPE_FLOAT32_KHR && !m[1].MSize);
    CHECK(m[0].sType == VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
    gpu_free(&g);
}

/* As its specification requires: combinations that every answer must hold. */
TEST(matrix_properties_by_scope_and_flags)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    for (uint32_t scope = VK_SCOPE_WORKGROUP_KHR; scope <= VK_SCOPE_SUBGROUP_KHR; scope++) {
        VkPhysicalDeviceCooperativeMatrixInfo2EXT info = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_INFO_2_EXT,
            .scope = (VkScopeKHR)scope, .invocations = 32 };
        VkCooperativeMatrixProperties2EXT p[100] = { 0 };
        uint32_t n = 0, half = 0, plain = 0;
        CHECK(VK(GetPhysicalDeviceCooperativeMatrixProperties2EXT)(g.physical, &info, &n, NULL) ==
              VK_SUCCESS);
        plain = n;
        CHECK(n > 10 && n < COUNT_OF(p));
        CHECK(VK(GetPhysicalDeviceCooperativeMatrixProperties2EXT)(g.physical, &info, &n, p) ==
              VK_SUCCESS);
        for (uint32_t i = 0; i < n; i++) {
            half += p[i].AType == VK_COMPONENT_TYPE_FLOAT16_KHR;
            CHECK(p[i].ResultType != VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT &&
                  p[i].ResultType != VK_COMPONENT_TYPE_FLOAT8_E5M2_EXT);
            CHECK(p[i].MGranularity && p[i].NGranularity && p[i].KGranularity);
        }
        CHECK_EQ_U64(half, 2);
        n--;
        CHECK(VK(GetPhysicalDeviceCooperativeMatrixProperties2EXT)(g.physical, &info, &n, p) ==
              VK_INCOMPLETE);
        info.flags = VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT;
        CHECK(VK(GetPhysicalDeviceCooperativeMatrixProperties2EXT)(g.physical, &info, &n, NULL) ==
              VK_SUCCESS);
        CHECK(n && n < plain);
    }
    gpu_free(&g);
}

/* ---- null handles and empty arrays ----------------------------------------------------------- */

TEST(destroying_nothing)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkDevice d = g.device;
    VK(DestroyBuffer)(d, VK_NULL_HANDLE, NULL);
    VK(FreeMemory)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyFence)(d, VK_NULL_HANDLE, NULL);
    VK(DestroySemaphore)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyEvent)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyQueryPool)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyShaderModule)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyPipeline)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyPipelineCache)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyPipelineLayout)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyDescriptorSetLayout)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyDescriptorPool)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyDescriptorUpdateTemplate)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyCommandPool)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyPrivateDataSlot)(d, VK_NULL_HANDLE, NULL);
    VK(DestroyDebugUtilsMessengerEXT)(g.instance, VK_NULL_HANDLE, NULL);
    VkCommandBuffer none[2] = { VK_NULL_HANDLE, VK_NULL_HANDLE };
    VK(FreeCommandBuffers)(d, g.pool, 2, none);
    VK(UpdateDescriptorSets)(d, 0, NULL, 0, NULL);
    CHECK(VK(WaitForFences)(d, 0, NULL, VK_TRUE, 0) == VK_SUCCESS);
    CHECK(VK(QueueSubmit)(g.queues[0], 0, NULL, VK_NULL_HANDLE) == VK_SUCCESS);
    VkSubmitInfo empty = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO };
    CHECK(VK(QueueSubmit)(g.queues[0], 1, &empty, VK_NULL_HANDLE) == VK_SUCCESS);
    CHECK(VK(CreateComputePipelines)(d, VK_NULL_HANDLE, 0, NULL, NULL, NULL) == VK_SUCCESS);
    CHECK(VK(DeviceWaitIdle)(d) == VK_SUCCESS);
    gpu_free(&g);
    VK(DestroyDevice)(VK_NULL_HANDLE, NULL);
    VK(DestroyInstance)(VK_NULL_HANDLE, NULL);
}

/* ---- host memory ----------------------------------------------------------------------------- */

typedef struct Counter { int64_t left, live; } Counter;

static void *VKAPI_CALL count_alloc(void *user, size_t size, size_t alignment,
                                    VkSystemAllocationScope scope)
{
    (void)scope;
    Counter *c = user;
    if (c->left-- <= 0)
        return NULL;
    c->live++;
    return aligned_alloc(alignment, align_up(size, alignment));
}

static void *VKAPI_CALL count_realloc(void *user, void *p, size_t size, size_t alignment,
                                      VkSystemAllocationScope scope)
{
    (void)user, (void)p, (void)size, (void)alignment, (void)scope;
    return NULL;
}

static void VKAPI_CALL count_free(void *user, void *p)
{
    if (p)
        ((Counter *)user)->live--;
    free(p);
}

static const char add_one[] =
    "#version 450\n"
    "layout(local_size_x = 16) in;\n"
    "layout(binding = 0) buffer B { int y[]; };\n"
    "void main() { y[gl_GlobalInvocationID.x] += 1; }\n";

/* The whole life of a program; VK_ERROR_OUT_OF_HOST_MEMORY wherever memory ends. */
static VkResult life(VkAllocationCallbacks *alloc, const uint32_t *words, size_t size, int *result)
{
    Gpu g = { .alloc = alloc };
    GpuProgram p = { .n_types = 1 };
    GpuBuffer b = { 0 };
    VkResult r = gpu_new(&g);
    if (!r)
        r = gpu_program(&g, words, size, &p);
    if (!r)
        r = gpu_buffer(&g, 64, &b);
    if (!r) {
        gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
        VkCommandBuffer c = gpu_begin(&g);
        r = VK_ERROR_OUT_OF_HOST_MEMORY;
        if (c) {
            gpu_bind(c, &p);
            VK(CmdDispatch)(c, 1, 1, 1);
            r = gpu_finish(&g, c);
        }
        *result = ((int *)b.data)[15];
    }
    if (g.device) {
        gpu_buffer_free(&g, &b);
        gpu_program_free(&g, &p);
    }
    gpu_free(&g);
    return r;
}

TEST(every_allocation_may_fail)
{
    Counter c = { 0 };
    VkAllocationCallbacks alloc = { .pUserData = &c, .pfnAllocation = count_alloc,
                                    .pfnReallocation = count_realloc, .pfnFree = count_free };
    size_t size = 0;
    uint32_t *words = gpu_spirv(add_one, &size);
    REQUIRE(words);
    VkResult r = VK_ERROR_OUT_OF_HOST_MEMORY;
    int n = 0, result = 0;
    for (; r && n < 200; n++) {
        c = (Counter){ .left = n };
        r = life(&alloc, words, size, &result);
        CHECK(r == VK_SUCCESS || r == VK_ERROR_OUT_OF_HOST_MEMORY);
        CHECK(c.live == 0);
    }
    CHECK(r == VK_SUCCESS && result == 1 && n > 10);
    free(words);
}

TEST(more_device_memory_than_there_is)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .allocationSize = UINT64_MAX };
    VkDeviceMemory m;
    CHECK(VK(AllocateMemory)(g.device, &info, NULL, &m) == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(m == VK_NULL_HANDLE);
    gpu_free(&g);
}

/* ---- wrong shaders and faults ---------------------------------------------------------------- */

typedef struct Heard { char text[2048], object[64]; int n; } Heard;

static VkBool32 VKAPI_CALL hear(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                VkDebugUtilsMessageTypeFlagsEXT types,
                                const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)severity, (void)types;
    Heard *h = user;
    h->n++;
    snprintf(h->text, sizeof h->text, "%s", data->pMessage);
    if (data->objectCount && data->pObjects[0].pObjectName)
        snprintf(h->object, sizeof h->object, "%s", data->pObjects[0].pObjectName);
    return VK_FALSE;
}

static VkDebugUtilsMessengerEXT listen(Gpu *g, Heard *h)
{
    VkDebugUtilsMessengerCreateInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, .pfnUserCallback = hear,
        .pUserData = h };
    VkDebugUtilsMessengerEXT m = VK_NULL_HANDLE;
    CHECK(VK(CreateDebugUtilsMessengerEXT)(g->instance, &info, NULL, &m) == VK_SUCCESS);
    return m;
}

TEST(wrong_shaders_are_explained)
{
    Gpu g = { 0 };
    Heard h = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkDebugUtilsMessengerEXT m = listen(&g, &h);
    uint32_t rubbish[] = { 0x07230203, 0x10000, 0, 100, 0, 0xffff0011, 1, 2, 3 };
    VkShaderModuleCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = sizeof rubbish, .pCode = rubbish };
    GpuProgram p = { 0 };
    CHECK(VK(CreateShaderModule)(g.device, &info, NULL, &p.module) == VK_SUCCESS);
    VkDebugUtilsObjectNameInfoEXT name = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = VK_OBJECT_TYPE_SHADER_MODULE, .objectHandle = (uint64_t)p.module,
        .pObjectName = "the rubbish" };
    CHECK(VK(SetDebugUtilsObjectNameEXT)(g.device, &name) == VK_SUCCESS);
    CHECK(gpu_program_pipeline(&g, &p) < 0 && !p.pipeline);
    CHECK(h.n > 0);
    CHECK_STR(h.object, "the rubbish");
    CHECK_CONTAINS(h.text, "the rubbish");
    VK(DestroyShaderModule)(g.device, p.module, NULL);
    VK(DestroyDebugUtilsMessengerEXT)(g.instance, m, NULL);
    gpu_free(&g);
}

TEST(too_many_push_constants)
{
    static const char greedy[] =
        "#version 450\n"
        "layout(local_size_x = 16) in;\n"
        "layout(binding = 0) buffer B { int y[]; };\n"
        "layout(push_constant) uniform Push { int v[100]; };\n"
        "void main() { y[gl_GlobalInvocationID.x] = v[gl_GlobalInvocationID.x]; }\n";
    Gpu g = { 0 };
    Heard h = { 0 };
    GpuProgram p = { .n_types = 1 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkDebugUtilsMessengerEXT m = listen(&g, &h);
    CHECK(gpu_program_glsl(&g, greedy, &p) < 0 && !p.pipeline);
    CHECK_CONTAINS(h.text, "400 bytes of push constants");
    VK(DestroyDebugUtilsMessengerEXT)(g.instance, m, NULL);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

/* A dispatch without its set is a lost device with a reason, not a crash. */
TEST(a_lost_device_says_why)
{
    Gpu g = { 0 };
    Heard h = { 0 };
    GpuProgram p = { .n_types = 1 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, add_one, &p) == VK_SUCCESS);
    VkDebugUtilsMessengerEXT m = listen(&g, &h);
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdBindPipeline)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p.pipeline);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_ERROR_DEVICE_LOST);
    CHECK_CONTAINS(h.text, "set 0, binding 0");
    VkDeviceFaultCountsEXT counts = { .sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_COUNTS_EXT };
    VkDeviceFaultInfoEXT fault = { .sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_INFO_EXT };
    CHECK(VK(GetDeviceFaultInfoEXT)(g.device, &counts, &fault) == VK_SUCCESS);
    CHECK_CONTAINS(fault.description, "set 0, binding 0");
    CHECK(VK(QueueSubmit)(g.queues[0], 0, NULL, VK_NULL_HANDLE) == VK_ERROR_DEVICE_LOST);
    CHECK(VK(DeviceWaitIdle)(g.device) == VK_ERROR_DEVICE_LOST);
    VK(DestroyDebugUtilsMessengerEXT)(g.instance, m, NULL);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

/* A pointer to nowhere in a kernel: the device is lost and says where; the program goes on. */
TEST(a_stray_pointer_loses_the_device)
{
    static const char source[] =
        "#version 460\n#extension GL_EXT_buffer_reference : require\n"
        "layout(buffer_reference, std430) buffer Ref { uint x; };\n"
        "layout(local_size_x = 64) in; layout(push_constant) uniform P { Ref at; };\n"
        "void main() { at.x = 1; barrier(); }\n";
    Gpu g = { 0 };
    GpuProgram p = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, source, &p) == VK_SUCCESS);
    VkDeviceAddress at = 4096;
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdBindPipeline)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p.pipeline);
    VK(CmdPushConstants)(c, p.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof at, &at);
    VK(CmdDispatch)(c, 100, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_ERROR_DEVICE_LOST);
    VkDeviceFaultAddressInfoEXT address[2];
    VkDeviceFaultCountsEXT counts = { .sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_COUNTS_EXT };
    VkDeviceFaultInfoEXT fault = { .sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_INFO_EXT };
    CHECK(VK(GetDeviceFaultInfoEXT)(g.device, &counts, NULL) == VK_SUCCESS);
    CHECK_EQ_U64(counts.addressInfoCount, 1);
    fault.pAddressInfos = address;
    counts.addressInfoCount = 0;
    CHECK(VK(GetDeviceFaultInfoEXT)(g.device, &counts, &fault) == VK_INCOMPLETE);
    counts.addressInfoCount = COUNT_OF(address);
    CHECK(VK(GetDeviceFaultInfoEXT)(g.device, &counts, &fault) == VK_SUCCESS);
    CHECK_EQ_U64(counts.addressInfoCount, 1);
    CHECK_EQ_U64(address[0].reportedAddress, at);
    CHECK_CONTAINS(fault.description, "0x1000");
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

/* What leaves a buffer stays in its last page or loses the device, and is in no one's heap. */
TEST(beyond_a_buffer)
{
    static const char source[] =
        "#version 450\n"
        "layout(binding = 0) buffer B { uint y[]; };\n"
        "layout(push_constant) uniform Push { uint at; };\n"
        "void main() { y[at] = 1; }\n";
    Gpu g = { 0 };
    GpuBuffer b;
    GpuProgram p = { .n_types = 1 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, source, &p) == VK_SUCCESS);
    REQUIRE(gpu_buffer(&g, 256, &b) == VK_SUCCESS);
    gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, 256);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t at = i ? 20000 : 10000;
        VkCommandBuffer c = gpu_begin(&g);
        gpu_bind(c, &p);
        VK(CmdPushConstants)(c, p.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof at, &at);
        VK(CmdDispatch)(c, 1, 1, 1);
        CHECK(gpu_finish(&g, c) == (i ? VK_ERROR_DEVICE_LOST : VK_SUCCESS));
    }
    gpu_buffer_free(&g, &b);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

/* One device's loss is no other's, nor that of the next one. */
TEST(a_lost_device_is_alone)
{
    Gpu lost = { 0 }, other = { 0 };
    GpuProgram p = { .n_types = 1 };
    REQUIRE(gpu_new(&lost) == VK_SUCCESS && gpu_program_glsl(&lost, add_one, &p) == VK_SUCCESS);
    for (int i = 0; i < 2; i++) {
        GpuProgram q = { .n_types = 1 };
        GpuBuffer b;
        VkCommandBuffer c = gpu_begin(&lost);
        VK(CmdBindPipeline)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p.pipeline);
        VK(CmdDispatch)(c, 1, 1, 1);
        REQUIRE(gpu_new(&other) == VK_SUCCESS && gpu_program_glsl(&other, add_one, &q) == 0);
        CHECK(gpu_finish(&lost, c) == VK_ERROR_DEVICE_LOST);
        REQUIRE(gpu_buffer(&other, 64, &b) == VK_SUCCESS);
        memset(b.data, 0, 64);
        gpu_write(&other, q.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, 64);
        c = gpu_begin(&other);
        gpu_bind(c, &q);
        VK(CmdDispatch)(c, 1, 1, 1);
        CHECK(gpu_finish(&other, c) == VK_SUCCESS);
        CHECK_EQ_U64(*(uint32_t *)b.data, 1);
        gpu_buffer_free(&other, &b);
        gpu_program_free(&other, &q);
        gpu_free(&other);
    }
    gpu_program_free(&lost, &p);
    gpu_free(&lost);
}

/* Nor is a fill of memory that the program has taken back more than a lost device. */
TEST(memory_that_is_gone)
{
    enum { PAGE = 4096 };
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = page };
    VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &import, .allocationSize = PAGE };
    VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = PAGE,
                                .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT };
    VkDeviceMemory m = VK_NULL_HANDLE;
    VkBuffer b = VK_NULL_HANDLE;
    REQUIRE(!VK(AllocateMemory)(g.device, &memory, NULL, &m) &&
            !VK(CreateBuffer)(g.device, &info, NULL, &b) &&
            !VK(BindBufferMemory)(g.device, b, m, 0));
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdFillBuffer)(c, b, 16, 64, 1);
    munmap(page, PAGE);
    CHECK(gpu_finish(&g, c) == VK_ERROR_DEVICE_LOST);
    VkDeviceFaultAddressInfoEXT address;
    VkDeviceFaultCountsEXT counts = { .sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_COUNTS_EXT,
                                      .addressInfoCount = 1 };
    VkDeviceFaultInfoEXT fault = { .sType = VK_STRUCTURE_TYPE_DEVICE_FAULT_INFO_EXT,
                                   .pAddressInfos = &address };
    CHECK(VK(GetDeviceFaultInfoEXT)(g.device, &counts, &fault) == VK_SUCCESS);
    CHECK_EQ_U64(address.reportedAddress, (uintptr_t)page + 16);
    CHECK_CONTAINS(fault.description, "fill");
    VK(DestroyBuffer)(g.device, b, NULL);
    VK(FreeMemory)(g.device, m, NULL);
    gpu_free(&g);
}

/* Whoever is told that the device is lost may destroy what its queues worked on. */
TEST(a_lost_device_is_at_rest)
{
    static const char counts[] =
        "#version 450\nlayout(binding = 0) buffer B { uint y[]; };\n"
        "void main() { for (uint i = 0; i < 1000; i++) y[i & 7] += 1; }\n";
    static const char strays[] =
        "#version 460\n#extension GL_EXT_buffer_reference : require\n"
        "layout(buffer_reference, std430) buffer Ref { uint x; };\n"
        "layout(push_constant) uniform P { Ref at; };\nvoid main() { at.x = 1; }\n";
    Gpu g = { 0 };
    GpuProgram work = { .n_types = 1 }, stray = { 0 };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, counts, &work) == VK_SUCCESS &&
            gpu_program_glsl(&g, strays, &stray) == VK_SUCCESS && !gpu_buffer(&g, 64, &b));
    gpu_write(&g, work.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
    VkCommandBuffer buffers[2] = { gpu_begin(&g), gpu_begin(&g) };
    gpu_bind(buffers[0], &work);
    for (int i = 0; i < 10000; i++)
        VK(CmdDispatch)(buffers[0], 1, 1, 1);
    gpu_bind(buffers[1], &stray);
    VK(CmdPushConstants)(buffers[1], stray.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8,
                         (uint64_t[]){ 4096 });
    VK(CmdDispatch)(buffers[1], 1, 1, 1);
    for (int q = 0; q < 2; q++) {
        VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                                .pCommandBuffers = &buffers[q] };
        VK(EndCommandBuffer)(buffers[q]);
        VK(QueueSubmit)(g.queues[q], 1, &submit, VK_NULL_HANDLE);
        for (int i = 0; !q && i < 1000 && !*(volatile uint32_t *)b.data; i++)
            usleep(1000);
    }
    CHECK(VK(QueueWaitIdle)(g.queues[1]) == VK_ERROR_DEVICE_LOST);
    gpu_buffer_free(&g, &b);
    gpu_program_free(&g, &work);
    gpu_program_free(&g, &stray);
    gpu_free(&g);
}

/* None that is sent to the process is handled by a thread of the driver's. */
TEST(signals_are_the_programs)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 1 };
    GpuBuffer b;
    sigset_t one, before, waiting;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    REQUIRE(!gpu_new(&g) && !gpu_program_glsl(&g, add_one, &p) && !gpu_buffer(&g, 4096, &b));
    gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
    VkCommandBuffer c = gpu_begin(&g);
    gpu_bind(c, &p);
    VK(CmdDispatch)(c, 64, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS); /* all threads are there now */
    pthread_sigmask(SIG_BLOCK, &one, &before);
    kill(getpid(), SIGUSR1);    /* who handles it ends the program */
    usleep(10000);
    CHECK(!sigpending(&waiting) && sigismember(&waiting, SIGUSR1));
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR1, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    gpu_program_free(&g, &p);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

/* A set that nothing was written to reads as zeros. */
TEST(empty_descriptors)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 1 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, add_one, &p) == VK_SUCCESS);
    VkCommandBuffer c = gpu_begin(&g);
    gpu_bind(c, &p);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

TEST(private_data)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkPrivateDataSlotCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PRIVATE_DATA_SLOT_CREATE_INFO };
    VkPrivateDataSlot a, b;
    REQUIRE(!VK(CreatePrivateDataSlot)(g.device, &info, NULL, &a) &&
            !VK(CreatePrivateDataSlotEXT)(g.device, &info, NULL, &b));
    uint64_t object = (uint64_t)(uintptr_t)g.pool, value = 1;
    VK(GetPrivateData)(g.device, VK_OBJECT_TYPE_COMMAND_POOL, object, a, &value);
    CHECK_EQ_U64(value, 0);
    CHECK(!VK(SetPrivateData)(g.device, VK_OBJECT_TYPE_COMMAND_POOL, object, a, 7));
    CHECK(!VK(SetPrivateData)(g.device, VK_OBJECT_TYPE_COMMAND_POOL, object, b, 8));
    VK(GetPrivateData)(g.device, VK_OBJECT_TYPE_COMMAND_POOL, object, a, &value);
    CHECK_EQ_U64(value, 7);
    VK(DestroyPrivateDataSlot)(g.device, a, NULL);
    VK(GetPrivateData)(g.device, VK_OBJECT_TYPE_COMMAND_POOL, object, b, &value);
    CHECK_EQ_U64(value, 8);
    VK(DestroyPrivateDataSlot)(g.device, b, NULL);
    gpu_free(&g);
}
