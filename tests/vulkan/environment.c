/* SPDX-License-Identifier: MIT
 *
 * What HEDDLE_* in the environment does to the driver.
 */
#include "gpu.h"

static const char doubles[] =
    "#version 450\n"
    "layout(local_size_x = 32) in;\n"
    "layout(binding = 0) buffer B { int y[]; };\n"
    "void main() { uint i = gl_GlobalInvocationID.x; y[i] *= 2; }\n";
static const char triples[] =
    "#version 450\n"
    "layout(local_size_x = 32) in;\n"
    "layout(binding = 0) buffer B { int y[]; };\n"
    "void main() { uint i = gl_GlobalInvocationID.x; y[i] *= 3; }\n";
static const char waits_in_queues[] =
    "#version 450\n"
    "#extension GL_EXT_control_flow_attributes : require\n"
    "#extension GL_QCOM_multiple_wait_queues : require\n"
    "layout(local_size_x = 32) in;\n"
    "layout(binding = 0) buffer B { int y[]; };\n"
    "void main() {\n"
    "    uint i = gl_GlobalInvocationID.x;\n"
    "    [[multiple_wait_queuesQCOM(3)]] for (uint k = 0; k < i; k++) y[i] += 1;\n"
    "}\n";
static const char races[] =
    "#version 450\n"
    "layout(local_size_x = 32) in;\n"
    "layout(binding = 0) buffer B { int y[]; };\n"
    "void main() { y[0] = int(gl_GlobalInvocationID.x); }\n";

typedef struct Program {
    Gpu gpu;
    GpuProgram program;
    GpuBuffer buffer;
} Program;

/* y[31] that began as 7, of a submission that ends as expected. Nothing is destroyed. */
static int start(Program *x, const char *kernel, VkResult expected)
{
    *x = (Program){ .program = { .n_types = 1 } };
    if (gpu_new(&x->gpu) || gpu_program_glsl(&x->gpu, kernel, &x->program) ||
        gpu_buffer(&x->gpu, 128, &x->buffer))
        return 0;
    int *data = x->buffer.data;
    data[31] = 7;
    gpu_write(&x->gpu, x->program.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, x->buffer.buffer, 0,
              VK_WHOLE_SIZE);
    VkCommandBuffer c = gpu_begin(&x->gpu);
    gpu_bind(c, &x->program);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&x->gpu, c) == expected);
    return data[31];
}

static int run_to(const char *kernel, VkResult expected)
{
    Program x;
    int result = start(&x, kernel, expected);
    gpu_buffer_free(&x.gpu, &x.buffer);
    gpu_program_free(&x.gpu, &x.program);
    gpu_free(&x.gpu);
    return result;
}

static int run(const char *kernel) { return run_to(kernel, VK_SUCCESS); }

static char *read_text(const char *path)
{
    static char text[65536];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

static void shell(const char *format, const char *folder)
{
    char command[512];
    snprintf(command, sizeof command, format, folder, folder, folder);
    CHECK(system(command) == 0);
}

TEST(what_the_device_reports)
{
    Gpu g = { 0 };
    setenv("HEDDLE_DEVICE_TYPE", "integrated", 1);
    setenv("HEDDLE_SUBGROUP_SIZE", "16", 1);
    setenv("HEDDLE_THREADS", "1", 1);
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkPhysicalDeviceVulkan11Properties v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES };
    VkPhysicalDeviceShaderMultipleWaitQueuesPropertiesQCOM wait = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MULTIPLE_WAIT_QUEUES_PROPERTIES_QCOM,
        .pNext = &v11 };
    VkPhysicalDeviceShaderCorePropertiesAMD cores = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD, .pNext = &wait };
    VkPhysicalDeviceShaderCoreProperties2AMD active = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD, .pNext = &cores };
    VkPhysicalDeviceProperties2 p = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                      .pNext = &active };
    VkPhysicalDeviceShaderMultipleWaitQueuesFeaturesQCOM waits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MULTIPLE_WAIT_QUEUES_FEATURES_QCOM };
    VkPhysicalDeviceFeatures2 f = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                    .pNext = &waits };
    VK(GetPhysicalDeviceProperties2)(g.physical, &p);
    VK(GetPhysicalDeviceFeatures2)(g.physical, &f);
    CHECK(waits.shaderMultipleWaitQueues);
    CHECK_EQ_U64(wait.maxShaderWaitQueues, 8);
    CHECK(p.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
    CHECK_EQ_U64(v11.subgroupSize, 16);
    CHECK_EQ_U64(cores.wavefrontSize, 128); /* the largest there is */
    CHECK_EQ_U64(cores.computeUnitsPerShaderArray, 1);
    CHECK_EQ_U64(active.activeComputeUnitCount, 1);
    gpu_free(&g);
    CHECK(run(doubles) == 14);
    CHECK(run(waits_in_queues) == 38);
    unsetenv("HEDDLE_DEVICE_TYPE");
    unsetenv("HEDDLE_SUBGROUP_SIZE");
    unsetenv("HEDDLE_THREADS");
}

/* They are as good as not set, and somebody hears of it. */
TEST(wrong_values)
{
    static const char *const wrong[][2] = { { "HEDDLE_DEVICE_TYPE", "gpu" },
                                            { "HEDDLE_SUBGROUP_SIZE", "12" },
                                            { "HEDDLE_THREADS", "two" },
                                            { "HEDDLE_KEEP", "1G" },
                                            { "HEDDLE_MATRICES", "few" },
                                            { "HEDDLE_TIER", "best" },
                                            { "HEDDLE_ISA", "x86-64-v9" },
                                            { "HEDDLE_CACHE", "/proc/none" },
                                            { "HEDDLE_DUMP", "/proc/none" },
                                            { "HEDDLE_REPLACE", "/proc/none" } };
    char log[] = "/tmp/heddle-log-XXXXXX";
    int fd = mkstemp(log);
    REQUIRE(fd >= 0);
    setenv("HEDDLE_LOG", log, 1);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        Gpu g = { 0 };
        VkPhysicalDeviceProperties p;
        setenv(wrong[i][0], wrong[i][1], 1);
        REQUIRE(gpu_new(&g) == VK_SUCCESS);
        unsetenv(wrong[i][0]);
        VK(GetPhysicalDeviceProperties)(g.physical, &p);
        CHECK(p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU);
        gpu_free(&g);
        CHECK_CONTAINS(read_text(log), wrong[i][0]);
    }
    unsetenv("HEDDLE_LOG");
    close(fd);
    remove(log);
}

/* What is on stderr while an instance is made. */
static const char *stderr_of_instance(void)
{
    char file[] = "/tmp/heddle-stderr-XXXXXX";
    int fd = mkstemp(file), before = dup(2);
    Gpu g = { 0 };
    dup2(fd, 2);
    CHECK(gpu_new(&g) == VK_SUCCESS);
    gpu_free(&g);
    dup2(before, 2);
    close(before);
    close(fd);
    const char *text = read_text(file);
    remove(file);
    return text;
}

/* Who wants messages and names no file for them gets them. */
TEST(a_log_that_cannot_be_written)
{
    setenv("HEDDLE_LOG", "/proc/none/log", 1);
    setenv("HEDDLE_THREADS", "two", 1);
    const char *text = stderr_of_instance();
    CHECK_CONTAINS(text, "HEDDLE_LOG is not a file to write to: messages go to stderr");
    CHECK_CONTAINS(text, "HEDDLE_THREADS is not a number: ignored");
    unsetenv("HEDDLE_THREADS");
    unsetenv("HEDDLE_LOG");
}

/* 64 x columns x k */
static bool lists(const VkCooperativeMatrixPropertiesKHR *p, uint32_t n, uint32_t columns,
                  uint32_t k, VkComponentTypeKHR a)
{
    for (uint32_t i = 0; i < n; i++) {
        if (p[i].MSize == 64 && p[i].NSize == columns && p[i].KSize == k && p[i].AType == a)
            return true;
    }
    return false;
}

static bool has_extension(const Gpu *g, const char *name)
{
    static VkExtensionProperties p[512];
    uint32_t n = COUNT_OF(p);
    if (VK(EnumerateDeviceExtensionProperties)(g->physical, NULL, &n, p) != VK_SUCCESS)
        return false;
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(p[k].extensionName, name))
            return true;
    return false;
}

/* What is not listed is no feature, has no shapes, and cannot be enabled. */
TEST(fewer_matrices)
{
    static const struct { const char *level; bool khr, nv; uint32_t least, most; } cases[] = {
        { "none", false, false, 0, 0 }, { "f16", true, false, 2, 2 },
        { "khr", true, false, 3, 999 }, { "all", true, true, 3, 999 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Gpu g = { 0 };
        uint32_t n = 0;
        VkPhysicalDeviceCooperativeMatrix2FeaturesNV nv = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV };
        VkPhysicalDeviceCooperativeMatrixFeaturesKHR khr = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
            .pNext = &nv };
        VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &khr };
        setenv("HEDDLE_MATRICES", cases[i].level, 1);
        REQUIRE(gpu_new(&g) == VK_SUCCESS);
        unsetenv("HEDDLE_MATRICES");
        VK(GetPhysicalDeviceFeatures2)(g.physical, &all);
        CHECK(khr.cooperativeMatrix == cases[i].khr);
        CHECK(nv.cooperativeMatrixReductions == cases[i].nv);
        CHECK(has_extension(&g, "VK_KHR_cooperative_matrix") == cases[i].khr);
        CHECK(has_extension(&g, "VK_NV_cooperative_matrix2") == cases[i].nv);
        CHECK(VK(GetPhysicalDeviceCooperativeMatrixPropertiesKHR)(g.physical, &n, NULL) ==
              VK_SUCCESS);
        CHECK(n >= cases[i].least && n <= cases[i].most);
        VkDevice device;
        nv.cooperativeMatrixReductions = VK_TRUE;
        VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueCount = 1, .pQueuePriorities = (float[]){ 1 } };
        VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &all,
                                    .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue };
        VkResult r = VK(CreateDevice)(g.physical, &info, NULL, &device);
        CHECK(r == (cases[i].nv ? VK_SUCCESS : VK_ERROR_FEATURE_NOT_PRESENT));
        if (!r)
            VK(DestroyDevice)(device, NULL);
        gpu_free(&g);
    }
}

/* For 64 lanes, and where it is asked for, also what Qualcomm's programs look for: a row a lane,
 * of 32 bytes. */
TEST(large_shapes)
{
    static const struct { const char *size, *asked; bool large; } cases[] = {
        { NULL, NULL, false }, { "32", "1", true }, { "64", NULL, true }, { "128", NULL, true },
        { "64", "0", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Gpu g = { 0 };
        VkCooperativeMatrixPropertiesKHR p[128];
        uint32_t n = COUNT_OF(p);
        for (uint32_t k = 0; k < n; k++)
            p[k] = (VkCooperativeMatrixPropertiesKHR){
                .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR };
        if (cases[i].size)
            setenv("HEDDLE_SUBGROUP_SIZE", cases[i].size, 1);
        if (cases[i].asked)
            setenv("HEDDLE_LARGE_SHAPES", cases[i].asked, 1);
        REQUIRE(gpu_new(&g) == VK_SUCCESS);
        unsetenv("HEDDLE_SUBGROUP_SIZE");
        unsetenv("HEDDLE_LARGE_SHAPES");
        CHECK(VK(GetPhysicalDeviceCooperativeMatrixPropertiesKHR)(g.physical, &n, p) == VK_SUCCESS);
        for (uint32_t columns = 16; columns <= 64; columns += 48) {
            CHECK(lists(p, n, columns, 8, VK_COMPONENT_TYPE_FLOAT32_KHR) == cases[i].large);
            CHECK(lists(p, n, columns, 16, VK_COMPONENT_TYPE_FLOAT16_KHR) == cases[i].large);
            CHECK(lists(p, n, columns, 32, VK_COMPONENT_TYPE_SINT8_KHR) == cases[i].large);
            CHECK(lists(p, n, columns, 32, VK_COMPONENT_TYPE_UINT8_KHR) == cases[i].large);
        }
        CHECK(p[0].MSize == 16 && p[0].NSize == 16 && p[0].KSize == 16);
        gpu_free(&g);
    }
}

static void query_claims(Gpu *g, VkPhysicalDeviceVulkan12Properties *v12,
                         VkPhysicalDeviceProperties2 *p, VkPhysicalDeviceFeatures *f,
                         VkQueueFamilyProperties *family, VkFormatProperties *format)
{
    uint32_t one = 1;
    *v12 = (VkPhysicalDeviceVulkan12Properties){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES };
    *p = (VkPhysicalDeviceProperties2){ .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                        .pNext = v12 };
    VK(GetPhysicalDeviceProperties2)(g->physical, p);
    VK(GetPhysicalDeviceFeatures)(g->physical, f);
    VK(GetPhysicalDeviceQueueFamilyProperties)(g->physical, &one, family);
    VK(GetPhysicalDeviceFormatProperties)(g->physical, VK_FORMAT_R8G8B8A8_UNORM, format);
}

/* Graphics are claimed only when that was asked for. */
TEST(claims)
{
    Gpu g = { 0 };
    VkPhysicalDeviceVulkan12Properties v12;
    VkPhysicalDeviceProperties2 p;
    VkPhysicalDeviceFeatures f;
    VkQueueFamilyProperties family;
    VkFormatProperties format;
    for (uint32_t asked = 0; asked < 2; asked++) {
        setenv("HEDDLE_CLAIM_GRAPHICS", asked ? "1" : "0", 1);
        REQUIRE(gpu_new(&g) == VK_SUCCESS);
        query_claims(&g, &v12, &p, &f, &family, &format);
        CHECK_EQ_U64(v12.conformanceVersion.major, asked);
        CHECK_EQ_U64(p.properties.limits.maxColorAttachments, asked ? 8 : 0);
        CHECK_EQ_U64(f.fragmentStoresAndAtomics, asked);
        CHECK_EQ_U64(family.queueFlags & VK_QUEUE_GRAPHICS_BIT, asked);
        CHECK(!(format.optimalTilingFeatures & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT) == !asked);
        gpu_free(&g);
        CHECK(run(doubles) == 14);
    }
    unsetenv("HEDDLE_CLAIM_GRAPHICS");
}

/* Commands of graphics are there and fail; the device stays. */
TEST(graphics_are_refused)
{
    Gpu g = { 0 };
    setenv("HEDDLE_CLAIM_GRAPHICS", "1", 1);
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkSubpassDescription subpass = { .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS };
    VkRenderPassCreateInfo info = { .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                    .subpassCount = 1, .pSubpasses = &subpass };
    VkRenderPass pass = VK_NULL_HANDLE;
    CHECK(VK(CreateRenderPass)(g.device, &info, NULL, &pass) == VK_ERROR_FEATURE_NOT_PRESENT);
    VK(DestroyRenderPass)(g.device, VK_NULL_HANDLE, NULL);
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdSetLineWidth)(c, 1);
    CHECK(VK(EndCommandBuffer)(c) == VK_ERROR_FEATURE_NOT_PRESENT);
    VK(FreeCommandBuffers)(g.device, g.pool, 1, &c);
    if (!getenv("HEDDLE_TEST_LOADER")) {
#define TABLE_ENTRY
#define ENTRY(name, ...) CHECK(vk.name##_ != NULL);
#include "vulkan/tables.def"
#undef ENTRY
#undef TABLE_ENTRY
        VkGraphicsPipelineCreateInfo pipelines[2] = { 0 };
        VkPipeline made[2];
        memset(made, 1, sizeof made);
        CHECK(VK(CreateGraphicsPipelines)(g.device, VK_NULL_HANDLE, 2, pipelines, NULL, made) ==
              VK_ERROR_FEATURE_NOT_PRESENT);
        CHECK(!made[0] && !made[1]);
    }
    c = gpu_begin(&g);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    gpu_free(&g);
    unsetenv("HEDDLE_CLAIM_GRAPHICS");
}

/* The shader that was written is replaced by another, which the second run uses. */
TEST(dump_and_replace)
{
    char folder[] = "/tmp/heddle-dump-XXXXXX", file[64];
    REQUIRE(mkdtemp(folder));
    setenv("HEDDLE_DUMP", folder, 1);
    CHECK(run(doubles) == 14);
    unsetenv("HEDDLE_DUMP");
    shell("cd %s && test $(ls *.spv | wc -l) = 1 && grep -q heddle_kernel *.ll", folder);
    size_t size = 0;
    uint32_t *words = gpu_spirv(triples, &size);
    REQUIRE(words);
    snprintf(file, sizeof file, "%s/new", folder);
    FILE *f = fopen(file, "w");
    REQUIRE(f && fwrite(words, 1, size, f) == size && !fclose(f));
    free(words);
    shell("cd %s && mv new *.spv", folder);
    setenv("HEDDLE_REPLACE", folder, 1);
    CHECK(run(doubles) == 21);
    unsetenv("HEDDLE_REPLACE");
    shell("rm -r %s", folder);
}

/* What is dumped is the same whether or not the compiled kernel is kept, and it is kept, beside
 * what glslang made of it. */
TEST(dump_beside_a_cache)
{
    char dump[] = "/tmp/heddle-dump-XXXXXX", cache[] = "/tmp/heddle-kept-XXXXXX";
    REQUIRE(mkdtemp(dump) && mkdtemp(cache));
    setenv("HEDDLE_DUMP", dump, 1);
    setenv("HEDDLE_CACHE", cache, 1);
    for (int i = 0; i < 2; i++) {
        CHECK(run(doubles) == 14);
        shell("cd %s && test $(ls *.spv | wc -l) = 1 && grep -q heddle_kernel *.ll && rm *", dump);
        shell("test $(ls %s | grep -vc ^glsl-) = 1", cache);
    }
    unsetenv("HEDDLE_DUMP");
    CHECK(run(doubles) == 14);
    shell("test $(ls %s | grep -vc ^glsl-) = 1", cache);
    unsetenv("HEDDLE_CACHE");
    shell("rm -r %s", dump);
    shell("rm -r %s", cache);
}

TEST(checks_that_lose_the_device)
{
    static const char endless[] =
        "#version 450\n"
        "layout(local_size_x = 1) in;\n"
        "layout(binding = 0) buffer B { int y[]; };\n"
        "void main() { for (int i = 0; i < 100000; i++) y[31] = i; }\n";
    static const char *const values[] = { "fatal", "lost" };
    char log[] = "/tmp/heddle-log-XXXXXX";
    int fd = mkstemp(log);
    REQUIRE(fd >= 0);
    setenv("HEDDLE_LOG", log, 1);
    for (int i = 0; i < 2; i++) {
        setenv("HEDDLE_CHECK", values[i], 1);
        CHECK(run(doubles) == 14);
        run_to(races, VK_ERROR_DEVICE_LOST);
    }
    setenv("HEDDLE_CHECK", "1", 1);
    CHECK(run(endless) == 99999);
    setenv("HEDDLE_BUDGET", "1000", 1);
    run(endless);
    unsetenv("HEDDLE_BUDGET");
    unsetenv("HEDDLE_CHECK");
    unsetenv("HEDDLE_LOG");
    CHECK_CONTAINS(read_text(log), "race");
    CHECK_CONTAINS(read_text(log), "still running after 1000 instructions");
    remove(log);
}

/* A program that ends without destroying anything is this one, once more. */
TEST(statistics_at_the_end)
{
    char log[] = "/tmp/heddle-log-XXXXXX", command[256];
    if (getenv("HEDDLE_TEST_LEAVES")) {
        static Program x;
        CHECK(start(&x, doubles, VK_SUCCESS) == 14);
        return;
    }
    int fd = mkstemp(log);
    REQUIRE(fd >= 0);
    snprintf(command, sizeof command,
             "HEDDLE_TEST_LEAVES=1 HEDDLE_STATS=1 HEDDLE_LOG=%s /proc/%d/exe statistics_at_the_end "
             "> /dev/null", log, (int)getpid());
    CHECK(system(command) == 0);
    CHECK_CONTAINS(read_text(log), "1 dispatches");
    remove(log);
}

TEST(statistics_and_checks)
{
    char log[] = "/tmp/heddle-log-XXXXXX";
    int fd = mkstemp(log);
    REQUIRE(fd >= 0);
    setenv("HEDDLE_LOG", log, 1);
    setenv("HEDDLE_STATS", "1", 1);
    CHECK(run(doubles) == 14);
    unsetenv("HEDDLE_STATS");
    CHECK_CONTAINS(read_text(log), "1 dispatches");
    setenv("HEDDLE_CHECK", "1", 1);
    CHECK(run(doubles) == 14);
    run(races);
    unsetenv("HEDDLE_CHECK");
    unsetenv("HEDDLE_LOG");
    CHECK_CONTAINS(read_text(log), "race");
    remove(log);
}
