/* SPDX-License-Identifier: MIT
 *
 * The layer by what a program sees that asks for no more than it needs: through the loader, on
 * heddle's own driver without matrices.
 */
#include <pthread.h>
#include <stdio.h>

#include "family.h"

__attribute__((constructor)) static void choose_driver(void)
{
    if (!dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL)) {
        printf("passed over: no libvulkan.so.1\n0 passed, 0 failed\n");
        exit(0);
    }
    setenv("HEDDLE_TEST_LOADER", "libvulkan.so.1", 1);
    setenv("VK_DRIVER_FILES", HEDDLE_SHARE "/vulkan/icd.d/heddle_icd.json", 1);
    setenv("VK_ICD_FILENAMES", HEDDLE_SHARE "/vulkan/icd.d/heddle_icd.json", 1);
    setenv("XDG_DATA_DIRS", HEDDLE_SHARE ":/usr/share", 1);
    setenv("VK_ADD_IMPLICIT_LAYER_PATH", HEDDLE_SHARE "/vulkan/implicit_layer.d", 1);
    setenv("HEDDLE_MATRICES", "none", 1);
    setenv("HEDDLE_LAYER", "1", 1);
}

/* A device with the matrices of the layer, and nothing else that they would need; in front of them
 * in the chain is a structure that nobody knows, unless a validation layer would speak of it. */
static bool family_new(Gpu *g)
{
    if (!gpu_open())
        return false;
    VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .apiVersion = VK_API_VERSION_1_3 };
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &application };
    uint32_t n = 1;
    if (VK(CreateInstance)(&info, NULL, &g->instance))
        return false;
    if (VK(EnumeratePhysicalDevices)(g->instance, &n, &g->physical))
        return false;
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueCount = 1,
                                      .pQueuePriorities = (float[]){ 1 } };
    const char *names[] = { "VK_KHR_cooperative_matrix",
                            "VK_EXT_pipeline_creation_cache_control" };
    VkPhysicalDevicePipelineCreationCacheControlFeatures control = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_CREATION_CACHE_CONTROL_FEATURES,
        .pipelineCreationCacheControl = VK_TRUE };
    VkPhysicalDeviceBufferDeviceAddressFeatures addresses = { /* for gpu_buffer */
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
        .pNext = &control, .bufferDeviceAddress = VK_TRUE };
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
        .pNext = &addresses, .cooperativeMatrix = VK_TRUE };
    VkBaseOutStructure unknown = { .sType = (VkStructureType)1999999999,
                                   .pNext = (VkBaseOutStructure *)&matrices };
    VkDeviceCreateInfo device = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .pNext = getenv("VK_INSTANCE_LAYERS") ? unknown.pNext : &unknown,
                                  .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue,
                                  .enabledExtensionCount = COUNT_OF(names),
                                  .ppEnabledExtensionNames = names };
    if (VK(CreateDevice)(g->physical, &device, NULL, &g->device))
        return false;
    VK(GetDeviceQueue)(g->device, 0, 0, &g->queues[0]);
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
    return unknown.pNext == (VkBaseOutStructure *)&matrices && matrices.pNext == &addresses &&
           !VK(CreateCommandPool)(g->device, &pool, NULL, &g->pool);
}

/* Once, before threads: the table of commands is everybody's. */
static bool load_all(void)
{
    Gpu g = { 0 };
    bool loaded = gpu_new(&g) == VK_SUCCESS;
    gpu_free(&g);
    return loaded;
}

TEST(a_device_that_asks_for_matrices_alone)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 2 };
    bool right;
    REQUIRE(load_all() && family_new(&g));
    REQUIRE(gpu_program_glsl(&g, product, &p) == VK_SUCCESS);
    run(&g, &p, 16, &right);
    CHECK(right);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

TEST(specialisation_is_a_pipelines)
{
    Gpu g = { 0 };
    uint32_t k = 32;
    VkSpecializationMapEntry entries[] = { { 99, 0, 4 }, { 7, 0, 4 } }; /* there is no 99 */
    VkSpecializationInfo spec = { COUNT_OF(entries), entries, sizeof k, &k };
    GpuProgram p = { .n_types = 2, .spec = &spec };
    bool right;
    REQUIRE(load_all() && family_new(&g));
    REQUIRE(gpu_program_glsl(&g, product, &p) == VK_SUCCESS);
    run(&g, &p, k, &right);
    CHECK(right);
    VK(DestroyPipeline)(g.device, p.pipeline, NULL);
    p.spec = NULL;
    REQUIRE(gpu_program_pipeline(&g, &p) == VK_SUCCESS);
    run(&g, &p, 16, &right);
    CHECK(right);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

TEST(lowering_is_compiling)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 2,
                     .pipeline_flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT };
    REQUIRE(load_all() && family_new(&g));
    CHECK(gpu_program_glsl(&g, product, &p) == VK_PIPELINE_COMPILE_REQUIRED);
    CHECK(p.pipeline == VK_NULL_HANDLE);
    p.pipeline_flags = 0;
    CHECK(gpu_program_pipeline(&g, &p) == VK_SUCCESS);
    VkPipeline first = p.pipeline;
    p.pipeline_flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
    CHECK(gpu_program_pipeline(&g, &p) == VK_SUCCESS);
    VK(DestroyPipeline)(g.device, first, NULL);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

TEST(code_in_the_chain_of_a_stage)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 2 };
    size_t size;
    uint32_t *words = gpu_spirv(product, &size);
    bool right;
    REQUIRE(words && load_all() && family_new(&g));
    REQUIRE(gpu_program(&g, words, size, &p) == VK_SUCCESS);
    VK(DestroyPipeline)(g.device, p.pipeline, NULL);
    VkShaderModule module = p.module;
    VkShaderModuleCreateInfo code = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = size, .pCode = words };
    p.module = VK_NULL_HANDLE;
    p.stage_next = &code;
    REQUIRE(gpu_program_pipeline(&g, &p) == VK_SUCCESS);
    run(&g, &p, 16, &right);
    CHECK(right);
    p.module = module;
    gpu_program_free(&g, &p);
    gpu_free(&g);
    free(words);
}

typedef struct Thread {
    const uint32_t *words;
    size_t size;
    bool right;
} Thread;

static void *use_a_device(void *user)
{
    Thread *t = user;
    Gpu g = { 0 };
    t->right = true;
    if (!family_new(&g))
        t->right = false;
    for (int k = 0; k < 8 && t->right; k++) {
        GpuProgram p = { .n_types = 2 };
        bool right = false;
        if (!gpu_program(&g, t->words, t->size, &p))
            run(&g, &p, 16, &right);
        t->right = right;
        gpu_program_free(&g, &p);
    }
    gpu_free(&g);
    return NULL;
}

TEST(an_instance_a_thread)
{
    size_t size;
    uint32_t *words = gpu_spirv(product, &size);
    REQUIRE(words && load_all());
    Thread threads[4];
    pthread_t running[4];
    for (int k = 0; k < 4; k++) {
        threads[k] = (Thread){ words, size, false };
        REQUIRE(!pthread_create(&running[k], NULL, use_a_device, &threads[k]));
    }
    for (int k = 0; k < 4; k++) {
        pthread_join(running[k], NULL);
        CHECK(threads[k].right);
    }
    free(words);
}
