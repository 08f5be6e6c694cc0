/* SPDX-License-Identifier: MIT
 *
 * What the layer makes of calls that heddle's own driver has no use for: the layer is opened as a
 * loader opens it, and between it and the driver are commands of a driver that has shader objects,
 * module identifiers, pipeline binaries, graphics and ray tracing, which keep what they are given.
 */
#include <dirent.h>
#include <stdio.h>

#include "family.h"

#include <vulkan/vk_layer.h>

/* ---- what the driver below is given ---------------------------------------------------------- */

#define IDENTIFIER VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT
#define REQUIRED_SIZE VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO
enum { MOST = 32, BARRIER = 224, SHUFFLE_XOR = 346 };
/* Capabilities. */
enum { MATRIX = 6022, BFLOAT16 = 5116, BFLOAT16_DOT = 5117, BFLOAT16_MATRIX = 5118, FLOAT8 = 4212 };

static struct {
    PFN_vkGetInstanceProcAddr get;
    PFN_vkGetDeviceProcAddr get_device;
    PFN_vkCreateDevice create_device;
    PFN_vkCreateShaderModule create_module;
    PFN_vkCreateComputePipelines create_pipelines;
    PFN_vkGetPhysicalDeviceFeatures2 features;
    PFN_vkGetPhysicalDeviceProperties2 properties;
    bool partly; /* NV2 is listed without workgroup scope, bf16 and fp8 as types alone */
    bool other;  /* it is not heddle's, whose order of elements is known */
    bool narrow; /* subgroups have 32 invocations at most */
    uint32_t required; /* size of subgroups, by the last compute pipeline */
    uint32_t own_devices, lost_devices; /* of the layer's: made, destroyed */
    uint32_t barriers, shuffles;        /* in the last module */
    char extensions[MOST][VK_MAX_EXTENSION_NAME_SIZE]; /* of the last device */
    uint32_t n_extensions;
    VkShaderModule module;        /* the last one that was made */
    uint64_t words;               /* and a hash of its words */
    uint32_t calls;               /* of any command below */
    uint32_t linked, alone;       /* shaders of one call, and compute shaders */
    VkShaderCreateInfoEXT shader; /* the last compute shader */
    bool family;                  /* was among the code: it is not to be */
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloats; /* that the last device asked for */
    uint32_t capabilities[64]; /* of the last module */
    uint32_t n_capabilities;
    uint32_t code[4096]; /* of the last module that fits */
    size_t code_size;
    VkPipelineShaderStageCreateInfo stage; /* the last of graphics and of ray tracing */
    VkDeferredOperationKHR deferred;
    VkShaderModule keyed;         /* the module of the last key or binary */
    const char *said;             /* of the layer to messengers */
} below;

static uint32_t count(const uint32_t *words, size_t size, uint32_t op)
{
    uint32_t n = 0;
    for (size_t at = 5; at < size / 4 && words[at] >> 16; at += words[at] >> 16)
        n += (words[at] & 0xffff) == op;
    return n;
}

static bool has_family(const uint32_t *words, size_t size)
{
    for (size_t at = 5; at < size / 4 && words[at] >> 16; at += words[at] >> 16)
        if ((words[at] & 0xffff) == 17 && words[at + 1] == MATRIX)
            return true;
    return false;
}

static void keep_capabilities(const uint32_t *words, size_t size)
{
    below.n_capabilities = 0;
    for (size_t at = 5; at < size / 4 && (words[at] & 0xffff) == 17; at += words[at] >> 16)
        if (below.n_capabilities < COUNT_OF(below.capabilities))
            below.capabilities[below.n_capabilities++] = words[at + 1];
}

/* The last module did. */
static bool declared(uint32_t capability)
{
    for (uint32_t k = 0; k < below.n_capabilities; k++)
        if (below.capabilities[k] == capability)
            return true;
    return false;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice p,
                                                    const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *alloc,
                                                    VkDevice *out)
{
    below.n_extensions = 0;
    for (uint32_t k = 0; k < info->enabledExtensionCount && k < MOST; k++)
        snprintf(below.extensions[below.n_extensions++], VK_MAX_EXTENSION_NAME_SIZE, "%s",
                 info->ppEnabledExtensionNames[k]);
    const VkBaseInStructure *s = info->pNext;
    while (s && s->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR)
        s = s->pNext;
    memset(&below.bfloats, 0, sizeof below.bfloats);
    if (s)
        memcpy(&below.bfloats, s, sizeof below.bfloats);
    return below.create_device(p, info, alloc, out);
}

static VKAPI_ATTR void VKAPI_CALL features_of(VkPhysicalDevice p, VkPhysicalDeviceFeatures2 *out)
{
    below.features(p, out);
    for (VkBaseOutStructure *s = out->pNext; s && below.partly; s = s->pNext) {
        VkPhysicalDeviceCooperativeMatrix2FeaturesNV *nv2 = (void *)s;
        VkPhysicalDeviceShaderBfloat16FeaturesKHR *bfloats = (void *)s;
        VkPhysicalDeviceShaderFloat8FeaturesEXT *floats = (void *)s;
        switch ((int)s->sType) {
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV:
            nv2->cooperativeMatrixWorkgroupScope = VK_FALSE;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR:
            bfloats->shaderBFloat16DotProduct = VK_FALSE;
            bfloats->shaderBFloat16CooperativeMatrix = VK_FALSE;
            break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT:
            floats->shaderFloat8CooperativeMatrix = VK_FALSE;
            break;
        default: break;
        }
    }
}

static VKAPI_ATTR void VKAPI_CALL properties_of(VkPhysicalDevice p,
                                                VkPhysicalDeviceProperties2 *out)
{
    below.properties(p, out);
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        if (below.other && s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)
            strcpy(((VkPhysicalDeviceDriverProperties *)s)->driverName, "another");
        if (below.narrow &&
            s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES)
            ((VkPhysicalDeviceSubgroupSizeControlProperties *)s)->maxSubgroupSize = 32;
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice d,
                                                    const VkShaderModuleCreateInfo *info,
                                                    const VkAllocationCallbacks *alloc,
                                                    VkShaderModule *out)
{
    VkResult r = below.create_module(d, info, alloc, out);
    below.family |= has_family(info->pCode, info->codeSize);
    below.words = hash_bytes(info->pCode, info->codeSize, 0);
    keep_capabilities(info->pCode, info->codeSize);
    below.code_size = MIN(info->codeSize, sizeof below.code);
    memcpy(below.code, info->pCode, below.code_size);
    below.barriers = count(info->pCode, info->codeSize, BARRIER);
    below.shuffles = count(info->pCode, info->codeSize, SHUFFLE_XOR);
    below.module = r ? VK_NULL_HANDLE : *out;
    return r;
}

static bool is_known(VkShaderModule m) { return m && m == below.module; }

/* Of an identifier alone it makes none. */
static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice d, VkPipelineCache cache,
                                                       uint32_t n,
                                                       const VkComputePipelineCreateInfo *infos,
                                                       const VkAllocationCallbacks *alloc,
                                                       VkPipeline *out)
{
    const VkBaseInStructure *next = infos->stage.pNext;
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *size = infos->stage.pNext;
    while (size && size->sType != REQUIRED_SIZE)
        size = size->pNext;
    below.required = size ? size->requiredSubgroupSize : 0;
    if (infos->stage.module || !next || next->sType != IDENTIFIER)
        return below.create_pipelines(d, cache, n, infos, alloc, out);
    *out = VK_NULL_HANDLE;
    return VK_PIPELINE_COMPILE_REQUIRED;
}

/* A shader whose entry point is "no" cannot be made. */
static VKAPI_ATTR VkResult VKAPI_CALL create_shaders(VkDevice d, uint32_t n,
                                                     const VkShaderCreateInfoEXT *infos,
                                                     const VkAllocationCallbacks *alloc,
                                                     VkShaderEXT *out)
{
    static uintptr_t handles;
    (void)d, (void)alloc;
    VkResult result = VK_SUCCESS;
    below.calls++;
    for (uint32_t k = 0; k < n; k++) {
        bool compute = infos[k].stage == VK_SHADER_STAGE_COMPUTE_BIT;
        below.alone += compute;
        below.linked += !compute && n > 1;
        if (compute)
            below.shader = infos[k];
        if (infos[k].codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT)
            below.family |= has_family(infos[k].pCode, infos[k].codeSize);
        bool no = !strcmp(infos[k].pName, "no");
        out[k] = no ? VK_NULL_HANDLE : (VkShaderEXT)++handles;
        result = no ? VK_ERROR_INITIALIZATION_FAILED : result;
    }
    return result;
}

static VKAPI_ATTR void VKAPI_CALL identify(VkDevice d, VkShaderModule m,
                                           VkShaderModuleIdentifierEXT *out)
{
    (void)d, (void)m;
    out->identifierSize = 1;
}

static VKAPI_ATTR void VKAPI_CALL identify_code(VkDevice d, const VkShaderModuleCreateInfo *info,
                                                VkShaderModuleIdentifierEXT *out)
{
    (void)d, (void)info;
    out->identifierSize = 1;
}

static void keep_keyed(const VkPipelineCreateInfoKHR *info)
{
    const VkComputePipelineCreateInfo *c = info->pNext;
    below.keyed = is_known(c->stage.module) ? c->stage.module : VK_NULL_HANDLE;
}

static VKAPI_ATTR VkResult VKAPI_CALL key_of(VkDevice d, const VkPipelineCreateInfoKHR *info,
                                             VkPipelineBinaryKeyKHR *out)
{
    (void)d;
    keep_keyed(info);
    out->keySize = sizeof below.words;
    memcpy(out->key, &below.words, sizeof below.words);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_binaries(VkDevice d,
                                                      const VkPipelineBinaryCreateInfoKHR *info,
                                                      const VkAllocationCallbacks *alloc,
                                                      VkPipelineBinaryHandlesInfoKHR *out)
{
    (void)d, (void)alloc, (void)out;
    keep_keyed(info->pPipelineCreateInfo);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_graphics(VkDevice d, VkPipelineCache cache, uint32_t n,
                                                      const VkGraphicsPipelineCreateInfo *infos,
                                                      const VkAllocationCallbacks *alloc,
                                                      VkPipeline *out)
{
    (void)d, (void)cache, (void)alloc;
    below.calls++;
    if (infos && !infos->pNext && infos->stageCount)
        below.stage = infos->pStages[infos->stageCount - 1];
    for (uint32_t k = 0; k < n; k++)
        out[k] = (VkPipeline)(uintptr_t)1;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_rays(VkDevice d, VkDeferredOperationKHR deferred,
                                                  VkPipelineCache cache, uint32_t n,
                                                  const VkRayTracingPipelineCreateInfoKHR *infos,
                                                  const VkAllocationCallbacks *alloc,
                                                  VkPipeline *out)
{
    VkGraphicsPipelineCreateInfo same = { .stageCount = infos->stageCount,
                                          .pStages = infos->pStages };
    below.deferred = deferred;
    return create_graphics(d, cache, n, n == 1 ? &same : NULL, alloc, out);
}

static VKAPI_ATTR void VKAPI_CALL say(VkInstance i, VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                      VkDebugUtilsMessageTypeFlagsEXT types,
                                      const VkDebugUtilsMessengerCallbackDataEXT *data)
{
    (void)i, (void)severity, (void)types;
    below.said = data->pMessageIdName;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice d, const char *name);
static const struct {
    const char *name;
    PFN_vkVoidFunction function;
} commands[] = {
    { "vkCreateDevice", (PFN_vkVoidFunction)create_device },
    { "vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device },
    { "vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)features_of },
    { "vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)properties_of },
    { "vkCreateShaderModule", (PFN_vkVoidFunction)create_module },
    { "vkCreateComputePipelines", (PFN_vkVoidFunction)create_pipelines },
    { "vkCreateShadersEXT", (PFN_vkVoidFunction)create_shaders },
    { "vkGetShaderModuleIdentifierEXT", (PFN_vkVoidFunction)identify },
    { "vkGetShaderModuleCreateInfoIdentifierEXT", (PFN_vkVoidFunction)identify_code },
    { "vkGetPipelineKeyKHR", (PFN_vkVoidFunction)key_of },
    { "vkCreatePipelineBinariesKHR", (PFN_vkVoidFunction)create_binaries },
    { "vkCreateGraphicsPipelines", (PFN_vkVoidFunction)create_graphics },
    { "vkCreateRayTracingPipelinesKHR", (PFN_vkVoidFunction)create_rays },
    { "vkSubmitDebugUtilsMessageEXT", (PFN_vkVoidFunction)say },
};

static PFN_vkVoidFunction own_command(const char *name)
{
    for (size_t k = 0; k < COUNT_OF(commands); k++)
        if (!strcmp(commands[k].name, name))
            return commands[k].function;
    return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice d, const char *name)
{
    PFN_vkVoidFunction own = own_command(name);
    return own ? own : below.get_device(d, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_below(VkInstance i, const char *name)
{
    PFN_vkVoidFunction own = i ? own_command(name) : NULL;
    return own ? own : below.get(i, name);
}

/* ---- as a loader does it --------------------------------------------------------------------- */

static VkResult VKAPI_PTR create_own(VkInstance i, VkPhysicalDevice p,
                                     const VkDeviceCreateInfo *info,
                                     const VkAllocationCallbacks *alloc, VkDevice *out,
                                     PFN_vkGetInstanceProcAddr layer, PFN_vkGetDeviceProcAddr *get)
{
    (void)i, (void)layer;
    *get = get_device;
    below.own_devices++;
    return below.create_device(p, info, alloc, out);
}

static void VKAPI_PTR destroy_own(VkDevice d, const VkAllocationCallbacks *alloc,
                                  PFN_vkDestroyDevice destroy)
{
    below.lost_devices++;
    destroy(d, alloc);
}

static bool layer_open(void)
{
    VkNegotiateLayerInterface n = { .sType = LAYER_NEGOTIATE_INTERFACE_STRUCT,
                                    .loaderLayerInterfaceVersion = 2 };
    PFN_vkNegotiateLoaderLayerInterfaceVersion negotiate;
    if (!gpu_open())
        return false;
    if (below.get)
        return true;
    below.get = vk.get;
    void *library = dlopen(HEDDLE_LAYER_FILE, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return test_fail(__FILE__, __LINE__, "%s", dlerror());
    *(void **)&negotiate = dlsym(library, "vkNegotiateLoaderLayerInterfaceVersion");
    if (!negotiate || negotiate(&n))
        return false;
    vk.get = n.pfnGetInstanceProcAddr;
    return true;
}

static bool instance_new(Gpu *g)
{
    VkLayerInstanceLink next = { .pfnNextGetInstanceProcAddr = get_below };
    VkLayerInstanceCreateInfo link = { .sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
                                       .function = VK_LAYER_LINK_INFO,
                                       .u.pLayerInfo = &next };
    VkLayerInstanceCreateInfo own = { .sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
                                      .pNext = &link,
                                      .function = VK_LOADER_LAYER_CREATE_DEVICE_CALLBACK,
                                      .u.layerDevice = { create_own, destroy_own } };
    VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .apiVersion = VK_API_VERSION_1_3 };
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pNext = &own, .pApplicationInfo = &application };
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)vk.get(NULL, "vkCreateInstance");
    uint32_t n = 1;
    if (!create || create(&info, NULL, &g->instance))
        return false;
    below.get_device = (PFN_vkGetDeviceProcAddr)below.get(g->instance, "vkGetDeviceProcAddr");
    below.create_device = (PFN_vkCreateDevice)below.get(g->instance, "vkCreateDevice");
    below.features = (PFN_vkGetPhysicalDeviceFeatures2)below.get(g->instance,
                                                                 "vkGetPhysicalDeviceFeatures2");
    below.properties = (PFN_vkGetPhysicalDeviceProperties2)below.get(
        g->instance, "vkGetPhysicalDeviceProperties2");
    below.create_module = (PFN_vkCreateShaderModule)below.get(g->instance, "vkCreateShaderModule");
    below.create_pipelines =
        (PFN_vkCreateComputePipelines)below.get(g->instance, "vkCreateComputePipelines");
    gpu_load(g->instance);
    return !VK(EnumeratePhysicalDevices)(g->instance, &n, &g->physical);
}

static const char *const bfloat16 = "VK_KHR_shader_bfloat16";

/* A device that asks for these and for what gpu.h needs; bf16 is the second, and then fp8. */
static bool device_new(Gpu *g, const char *const *names, uint32_t n)
{
    VkLayerDeviceLink next = { .pfnNextGetInstanceProcAddr = get_below,
                               .pfnNextGetDeviceProcAddr = get_device };
    VkLayerDeviceCreateInfo link = { .sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
                                     .function = VK_LAYER_LINK_INFO,
                                     .u.pLayerInfo = &next };
    VkPhysicalDeviceVulkan13Features v13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .pNext = &link };
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &v13 };
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, .pNext = &v12 };
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR,
        .pNext = n ? (void *)&matrices : &v12 };
    VkPhysicalDeviceShaderFloat8FeaturesEXT floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT, .pNext = &bfloats };
    bool small = n > 1 && !strcmp(names[1], bfloat16);
    VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                      .pNext = small ? (void *)&floats : bfloats.pNext };
    VK(GetPhysicalDeviceFeatures2)(g->physical, &all);
    all.features.robustBufferAccess = VK_FALSE;
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueCount = 1,
                                      .pQueuePriorities = (float[]){ 1 } };
    VkDeviceCreateInfo device = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &all,
                                  .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue,
                                  .enabledExtensionCount = n, .ppEnabledExtensionNames = names };
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
    if (VK(CreateDevice)(g->physical, &device, NULL, &g->device))
        return false;
    VK(GetDeviceQueue)(g->device, 0, 0, &g->queues[0]);
    return !VK(CreateCommandPool)(g->device, &pool, NULL, &g->pool);
}

static const char *const matrix = "VK_KHR_cooperative_matrix";

static bool family_new(Gpu *g)
{
    setenv("HEDDLE_MATRICES", "none", 1);
    return layer_open() && instance_new(g) && device_new(g, &matrix, 1);
}

static PFN_vkVoidFunction command(const Gpu *g, const char *name)
{
    PFN_vkGetDeviceProcAddr get =
        (PFN_vkGetDeviceProcAddr)vk.get(g->instance, "vkGetDeviceProcAddr");
    return get(g->device, name);
}

/* ---- who holds what -------------------------------------------------------------------------- */

/* Sums of rows of a matrix that the driver has, by NV2, which it has not. */
static const char *const sums =
    "#version 460\n"
    "#extension GL_KHR_cooperative_matrix : require\n"
    "#extension GL_KHR_memory_scope_semantics : require\n"
    "#extension GL_NV_cooperative_matrix2 : require\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    "layout(local_size_x = 32) in;\n"
    "layout(binding = 0) buffer A { float16_t a[]; };\n"
    "layout(binding = 1) buffer C { float16_t c[]; };\n"
    "float16_t add(const in float16_t x, const in float16_t y) { return x + y; }\n"
    "void main() {\n"
    "    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> x, y;\n"
    "    coopMatLoad(x, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
    "    coopMatReduceNV(y, x, gl_CooperativeMatrixReduceRowNV, add);\n"
    "    coopMatStore(y, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
    "}\n";

static void sum_rows(Gpu *g, GpuProgram *p, bool *right)
{
    GpuBuffer a, c;
    *right = !gpu_buffer(g, 2 * 256, &a) && !gpu_buffer(g, 2 * 256, &c);
    uint16_t *x = a.data, *z = c.data;
    for (uint32_t i = 0; i < 256; i++)
        x[i] = f16_from_double(i % 7 + i / 16);
    *right &= !dispatch(g, p, &a, &c);
    for (uint32_t i = 0; i < 256; i++) {
        double sum = 0;
        for (uint32_t e = 0; e < 16; e++)
            sum += f16_to_double(x[i / 16 * 16 + e]);
        *right &= sum == f16_to_double(z[i]);
    }
    gpu_buffer_free(g, &a);
    gpu_buffer_free(g, &c);
}

TEST(drivers_are_asked_who_holds_what)
{
    static const char *const names[] = { "VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix2" };
    size_t size;
    uint32_t *words = gpu_spirv(sums, &size);
    REQUIRE(words);
    /* its own device is asked once; heddle's own driver never */
    for (uint32_t turn = 0; turn < 2; turn++) {
        Gpu g = { 0 };
        GpuProgram p = { .n_types = 2 };
        bool right;
        below.other = turn == 0;
        below.own_devices = below.lost_devices = 0;
        setenv("HEDDLE_MATRICES", "f16", 1);
        REQUIRE(layer_open() && instance_new(&g) && device_new(&g, names, 2));
        CHECK(below.own_devices == below.other && below.lost_devices == below.other);
        CHECK(gpu_program(&g, words, size, &p) == VK_SUCCESS);
        CHECK(below.shuffles > 0 && !below.barriers);
        sum_rows(&g, &p, &right);
        CHECK(right);
        gpu_program_free(&g, &p);
        gpu_free(&g);
    }
    below.other = false;
    free(words);
}

/* ---- shader objects -------------------------------------------------------------------------- */

static const char *const plain = "#version 450\nvoid main() {}\n";

TEST(shader_objects_get_lowered_code)
{
    Gpu g = { 0 };
    size_t size, plain_size;
    uint32_t *words = gpu_spirv(product, &size), *other = gpu_spirv(plain, &plain_size), k = 32;
    VkSpecializationMapEntry entry = { 7, 0, 4 };
    VkSpecializationInfo spec = { 1, &entry, sizeof k, &k };
    REQUIRE(words && other && family_new(&g));
    PFN_vkCreateShadersEXT create = (PFN_vkCreateShadersEXT)command(&g, "vkCreateShadersEXT");
    const VkShaderCreateFlagsEXT link = VK_SHADER_CREATE_LINK_STAGE_BIT_EXT;
    VkShaderCreateInfoEXT infos[3] = {
        { .stage = VK_SHADER_STAGE_VERTEX_BIT, .flags = link, .codeSize = plain_size,
          .pCode = other, .pName = "main" },
        { .stage = VK_SHADER_STAGE_COMPUTE_BIT, .codeSize = size, .pCode = words, .pName = "main",
          .flags = VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT,
          .pSpecializationInfo = &spec },
        { .stage = VK_SHADER_STAGE_FRAGMENT_BIT, .flags = link, .codeSize = plain_size,
          .pCode = other, .pName = "main" },
    };
    VkShaderEXT out[3];
    for (int i = 0; i < 3; i++) {
        infos[i].sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT;
        infos[i].codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT;
    }
    below.calls = below.linked = below.alone = below.family = 0;
    CHECK(create(g.device, 3, infos, NULL, out) == VK_SUCCESS);
    CHECK(out[0] && out[1] && out[2]);
    CHECK(below.calls == 2 && below.linked == 2 && below.alone == 1 && !below.family);
    CHECK(!below.shader.pSpecializationInfo && below.shader.pCode != words);
    CHECK(below.shader.flags == VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT);
    /* the first that is null is what the result is of */
    infos[2].pName = "no";
    CHECK(create(g.device, 3, infos, NULL, out) == VK_ERROR_INITIALIZATION_FAILED);
    CHECK(out[0] && out[1] && !out[2]);
    infos[1].pName = "nothing";
    CHECK(create(g.device, 3, infos, NULL, out) == VK_ERROR_UNKNOWN);
    CHECK(out[0] && !out[1] && !out[2]);
    infos[0].pName = "no";
    infos[1].pName = "main";
    CHECK(create(g.device, 3, infos, NULL, out) == VK_ERROR_INITIALIZATION_FAILED);
    CHECK(!out[0] && !out[1]);
    /* a binary is the driver's own */
    below.calls = 0;
    infos[1].codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
    CHECK(create(g.device, 1, &infos[1], NULL, out) == VK_SUCCESS);
    CHECK(below.calls == 1 && below.shader.pCode == words);
    gpu_free(&g);
    free(words);
    free(other);
}

/* ---- identifiers, keys and binaries ---------------------------------------------------------- */

TEST(identifiers_of_kept_modules_are_the_layers)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 2 };
    size_t size, plain_size;
    uint32_t *words = gpu_spirv(product, &size), *other = gpu_spirv(plain, &plain_size);
    bool right;
    REQUIRE(words && other && family_new(&g));
    PFN_vkGetShaderModuleIdentifierEXT of_module =
        (PFN_vkGetShaderModuleIdentifierEXT)command(&g, "vkGetShaderModuleIdentifierEXT");
    PFN_vkGetShaderModuleCreateInfoIdentifierEXT of_code =
        (PFN_vkGetShaderModuleCreateInfoIdentifierEXT)command(
            &g, "vkGetShaderModuleCreateInfoIdentifierEXT");
    VkShaderModuleCreateInfo code = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = size, .pCode = words };
    VkShaderModuleIdentifierEXT a = { 0 }, b = { 0 };
    p.pipeline_flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
    CHECK(gpu_program(&g, words, size, &p) == VK_PIPELINE_COMPILE_REQUIRED);
    of_module(g.device, p.module, &a);
    of_code(g.device, &code, &b);
    CHECK(a.identifierSize == 16 && b.identifierSize == 16);
    CHECK(!memcmp(a.identifier, b.identifier, 16));
    code.codeSize = plain_size;
    code.pCode = other;
    of_code(g.device, &code, &b);
    CHECK(b.identifierSize == 1);
    /* of it alone: once it has been lowered */
    VkPipelineShaderStageModuleIdentifierCreateInfoEXT id = {
        .sType = IDENTIFIER, .identifierSize = a.identifierSize, .pIdentifier = a.identifier };
    VkShaderModule module = p.module;
    p.module = VK_NULL_HANDLE;
    p.stage_next = &id;
    CHECK(gpu_program_pipeline(&g, &p) == VK_PIPELINE_COMPILE_REQUIRED);
    GpuProgram first = { .n_types = 2 };
    CHECK(gpu_program(&g, words, size, &first) == VK_SUCCESS);
    CHECK(gpu_program_pipeline(&g, &p) == VK_SUCCESS);
    CHECK(gpu_program_set(&g, &p) == VK_SUCCESS);
    run(&g, &p, 16, &right);
    CHECK(right);
    p.module = module;
    gpu_program_free(&g, &p);
    gpu_program_free(&g, &first);
    gpu_free(&g);
    free(words);
    free(other);
}

TEST(keys_and_binaries_are_of_lowered_modules)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 2 };
    uint32_t k = 32;
    VkSpecializationMapEntry entry = { 7, 0, 4 };
    VkSpecializationInfo spec = { 1, &entry, sizeof k, &k };
    REQUIRE(family_new(&g) && gpu_program_glsl(&g, product, &p) == VK_SUCCESS);
    PFN_vkGetPipelineKeyKHR key = (PFN_vkGetPipelineKeyKHR)command(&g, "vkGetPipelineKeyKHR");
    PFN_vkCreatePipelineBinariesKHR create =
        (PFN_vkCreatePipelineBinariesKHR)command(&g, "vkCreatePipelineBinariesKHR");
    VkComputePipelineCreateInfo pipeline = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = p.layout,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = p.module, .pName = "main" } };
    VkPipelineCreateInfoKHR info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR,
                                     .pNext = &pipeline };
    VkPipelineBinaryKeyKHR a = { 0 }, b = { 0 }, c = { 0 };
    below.family = false;
    CHECK(key(g.device, &info, &a) == VK_SUCCESS && below.keyed && below.keyed != p.module);
    CHECK(key(g.device, &info, &b) == VK_SUCCESS);
    pipeline.stage.pSpecializationInfo = &spec;
    CHECK(key(g.device, &info, &c) == VK_SUCCESS);
    CHECK(!memcmp(a.key, b.key, a.keySize) && memcmp(a.key, c.key, a.keySize));
    VkPipelineBinaryCreateInfoKHR binaries = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR, .pPipelineCreateInfo = &info };
    VkPipelineBinaryHandlesInfoKHR out = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR };
    below.keyed = VK_NULL_HANDLE;
    CHECK(create(g.device, &binaries, NULL, &out) == VK_SUCCESS);
    CHECK(below.keyed && below.keyed != p.module && !below.family);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

/* ---- larger subgroups ------------------------------------------------------------------------ */

/* A sum of each subgroup, and its size. */
static const char *const lanes =
    "#version 460\n"
    "#extension GL_KHR_shader_subgroup_arithmetic : require\n"
    "layout(local_size_x = 64) in;\n"
    "layout(binding = 0) buffer A { uint a[]; };\n"
    "layout(binding = 1) buffer C { uint c[]; };\n"
    "void main() {\n"
    "    uint i = gl_LocalInvocationIndex;\n"
    "    c[i] = subgroupAdd(a[i]) * 1000 + gl_SubgroupSize;\n"
    "}\n";

static void sum_lanes(Gpu *g, GpuProgram *p, uint32_t width, bool *right)
{
    GpuBuffer a, c;
    *right = !gpu_buffer(g, 4 * 64, &a) && !gpu_buffer(g, 4 * 64, &c);
    uint32_t *x = a.data, *z = c.data;
    for (uint32_t i = 0; i < 64; i++)
        x[i] = i * i;
    *right &= !dispatch(g, p, &a, &c);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t sum = 0;
        for (uint32_t e = 0; e < width; e++)
            sum += x[i / width * width + e];
        *right &= z[i] == sum * 1000 + width;
    }
    gpu_buffer_free(g, &a);
    gpu_buffer_free(g, &c);
}

static bool lists_subgroups_of(Gpu *g, uint32_t most)
{
    VkPhysicalDeviceSubgroupSizeControlProperties own = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES };
    VkPhysicalDeviceVulkan13Properties v13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES };
    VkPhysicalDeviceProperties2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                        .pNext = &own };
    VK(GetPhysicalDeviceProperties2)(g->physical, &all);
    all.pNext = &v13;
    VK(GetPhysicalDeviceProperties2)(g->physical, &all);
    return own.maxSubgroupSize == most && v13.maxSubgroupSize == most &&
           own.requiredSubgroupSizeStages == VK_SHADER_STAGE_COMPUTE_BIT &&
           v13.requiredSubgroupSizeStages == VK_SHADER_STAGE_COMPUTE_BIT;
}

static bool narrow_new(Gpu *g, const char *largest)
{
    below.narrow = true;
    setenv("HEDDLE_LAYER_SUBGROUPS", largest, 1);
    bool good = family_new(g);
    unsetenv("HEDDLE_LAYER_SUBGROUPS");
    below.narrow = false;
    return good;
}

TEST(subgroups_of_several_of_the_drivers)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 2 };
    size_t size;
    uint32_t *words = gpu_spirv(lanes, &size);
    bool right;
    REQUIRE(words && narrow_new(&g, "64"));
    CHECK(lists_subgroups_of(&g, 64));
    /* what asks for none of these is the driver's, module and all */
    CHECK(gpu_program(&g, words, size, &p) == VK_SUCCESS);
    CHECK(below.module == p.module && below.words == hash_bytes(words, size, 0));
    sum_lanes(&g, &p, 32, &right);
    CHECK(right && below.required == 0);
    VK(DestroyPipeline)(g.device, p.pipeline, NULL);
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required = { .sType = REQUIRED_SIZE };
    static const uint32_t sizes[] = { 16, 32, 64 };
    p.stage_next = &required;
    for (uint32_t k = 0; k < COUNT_OF(sizes); k++) {
        required.requiredSubgroupSize = sizes[k];
        CHECK(gpu_program_pipeline(&g, &p) == VK_SUCCESS);
        CHECK((below.module == p.module) == (sizes[k] < 64));
        CHECK(below.required == MIN(sizes[k], 32));
        sum_lanes(&g, &p, sizes[k], &right);
        CHECK(right);
        VK(DestroyPipeline)(g.device, p.pipeline, NULL);
    }
    /* the same by code in the chain, and not by the driver's identifier */
    VkShaderModule module = p.module;
    VkShaderModuleCreateInfo code = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = size, .pCode = words, .pNext = &required };
    p.module = VK_NULL_HANDLE;
    p.stage_next = &code;
    CHECK(gpu_program_pipeline(&g, &p) == VK_SUCCESS);
    sum_lanes(&g, &p, 64, &right);
    CHECK(right);
    VkPipeline last = p.pipeline;
    PFN_vkGetShaderModuleIdentifierEXT of_module =
        (PFN_vkGetShaderModuleIdentifierEXT)command(&g, "vkGetShaderModuleIdentifierEXT");
    VkShaderModuleIdentifierEXT identifier = { 0 };
    of_module(g.device, module, &identifier);
    VkPipelineShaderStageModuleIdentifierCreateInfoEXT id = {
        .sType = IDENTIFIER, .pNext = &required, .identifierSize = identifier.identifierSize,
        .pIdentifier = identifier.identifier };
    p.stage_next = &id;
    p.pipeline_flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
    CHECK(gpu_program_pipeline(&g, &p) == VK_PIPELINE_COMPILE_REQUIRED);
    CHECK(below.required != 64);
    VK(DestroyPipeline)(g.device, last, NULL);
    p.module = module;
    gpu_program_free(&g, &p);
    gpu_free(&g);
    free(words);
}

TEST(no_larger_subgroups_than_are_asked_for)
{
    Gpu g = { 0 };
    REQUIRE(narrow_new(&g, "65"));
    CHECK(!lists_subgroups_of(&g, 64));
    gpu_free(&g);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* The last of them. */
static bool is_refused(VkResult r, const VkPipeline *out, uint32_t n)
{
    bool refused = r == VK_ERROR_UNKNOWN && below.calls == n - 1 && below.said &&
                   !strcmp(below.said, "heddle");
    for (uint32_t k = 0; k < n; k++)
        refused &= (out[k] == VK_NULL_HANDLE) == (k == n - 1);
    below.said = NULL;
    below.calls = 0;
    return refused;
}

TEST(stages_of_other_pipelines_are_refused)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 2 };
    size_t size;
    uint32_t *words = gpu_spirv(product, &size);
    REQUIRE(words && family_new(&g) && gpu_program(&g, words, size, &p) == VK_SUCCESS);
    VkShaderModuleCreateInfo code = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = size, .pCode = words };
    VkPipelineShaderStageCreateInfo stages[2] = { { .module = below.module, .pName = "main" },
                                                  { .module = p.module, .pName = "main" } };
    VkGraphicsPipelineCreateInfo graphics[2] = {
        { .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .stageCount = 1,
          .pStages = stages },
        { .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .stageCount = 2,
          .pStages = stages } };
    VkRayTracingPipelineCreateInfoKHR rays = {
        .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR, .stageCount = 2,
        .pStages = stages };
    VkPipeline out[2];
    PFN_vkCreateGraphicsPipelines create =
        (PFN_vkCreateGraphicsPipelines)command(&g, "vkCreateGraphicsPipelines");
    PFN_vkCreateRayTracingPipelinesKHR trace =
        (PFN_vkCreateRayTracingPipelinesKHR)command(&g, "vkCreateRayTracingPipelinesKHR");
    below.calls = 0;
    CHECK(is_refused(create(g.device, NULL, 2, graphics, NULL, out), out, 2));
    CHECK(is_refused(trace(g.device, NULL, NULL, 1, &rays, NULL, out), out, 1));
    stages[1] = (VkPipelineShaderStageCreateInfo){ .pNext = &code, .pName = "main" };
    CHECK(is_refused(create(g.device, NULL, 2, graphics, NULL, out), out, 2));
    CHECK(is_refused(trace(g.device, NULL, NULL, 1, &rays, NULL, out), out, 1));
    stages[1] = stages[0];
    CHECK(create(g.device, NULL, 2, graphics, NULL, out) == VK_SUCCESS && below.calls == 1);
    /* parts without shaders, and one made of parts, have no stages whatever pStages is */
    VkGraphicsPipelineLibraryCreateInfoEXT part = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
        .flags = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT };
    VkPipelineLibraryCreateInfoKHR parts = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR, .libraryCount = 1 };
    graphics[0].pStages = graphics[1].pStages = (const void *)(uintptr_t)16;
    graphics[0].pNext = &part;
    graphics[1].pNext = &parts;
    CHECK(create(g.device, NULL, 2, graphics, NULL, out) == VK_SUCCESS && below.calls == 2);
    gpu_program_free(&g, &p);
    gpu_free(&g);
    free(words);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool asked_for(const char *name)
{
    for (uint32_t k = 0; k < below.n_extensions; k++)
        if (!strcmp(below.extensions[k], name))
            return true;
    return false;
}

static bool lists(const Gpu *g, const char *name)
{
    uint32_t n = 0;
    bool found = false;
    VK(EnumerateDeviceExtensionProperties)(g->physical, NULL, &n, NULL);
    VkExtensionProperties *all = calloc(n + 1, sizeof *all);
    VK(EnumerateDeviceExtensionProperties)(g->physical, NULL, &n, all);
    for (uint32_t k = 0; k < n; k++)
        found |= !strcmp(all[k].extensionName, name);
    free(all);
    return found;
}

static uint32_t n_shapes(const Gpu *g)
{
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR get =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)vk.get(
            g->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    uint32_t n = 0;
    get(g->physical, &n, NULL);
    return n;
}

/* The driver has one shape and no conversions. */
TEST(what_is_added_is_the_layers)
{
    static const char *const names[] = { "VK_KHR_cooperative_matrix",
                                         "VK_QCOM_cooperative_matrix_conversion" };
    Gpu g = { 0 };
    REQUIRE(layer_open());
    setenv("HEDDLE_MATRICES", "f16", 1);
    REQUIRE(instance_new(&g) && device_new(&g, names, 2));
    uint32_t few = n_shapes(&g);
    CHECK(few > 0 && asked_for(names[0]) && !asked_for(names[1]));
    gpu_free(&g);
    setenv("HEDDLE_LAYER_EXTENSIONS", "+VK_KHR_cooperative_matrix", 1);
    REQUIRE(instance_new(&g) && device_new(&g, names, 2));
    CHECK(n_shapes(&g) > few && asked_for(names[0]));
    GpuProgram p = { .n_types = 2 };
    bool right = false;
    if (gpu_program_glsl(&g, product, &p) == VK_SUCCESS) /* of f32 */
        run(&g, &p, 16, &right);
    CHECK(right);
    gpu_program_free(&g, &p);
    gpu_free(&g);
    /* the driver's own is not asked for where the layer is to do it */
    setenv("HEDDLE_MATRICES", "all", 1);
    setenv("HEDDLE_LAYER_EXTENSIONS", "+VK_QCOM_cooperative_matrix_conversion", 1);
    REQUIRE(instance_new(&g) && device_new(&g, names, 2));
    CHECK(asked_for(names[0]) && !asked_for(names[1]) && lists(&g, names[1]));
    gpu_free(&g);
    setenv("HEDDLE_LAYER_EXTENSIONS",
           "-VK_QCOM_cooperative_matrix_conversion,-VK_KHR_cooperative_matrix", 1);
    REQUIRE(instance_new(&g));
    CHECK(!lists(&g, names[0]) && !lists(&g, names[1]) && !n_shapes(&g));
    gpu_free(&g);
    unsetenv("HEDDLE_LAYER_EXTENSIONS");
}

/* Of an extension that the driver lists with a part of its features, the layer does all. */
TEST(what_is_there_in_part_is_the_layers)
{
    static const char *const names[] = { "VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix2",
                                         "VK_NV_cooperative_matrix_decode_vector" };
    Gpu g = { 0 };
    REQUIRE(layer_open());
    setenv("HEDDLE_MATRICES", "all", 1);
    for (int partly = 0; partly < 2; partly++) {
        below.partly = partly;
        REQUIRE(instance_new(&g) && device_new(&g, names, COUNT_OF(names)));
        VkPhysicalDeviceCooperativeMatrix2FeaturesNV nv2 = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV };
        VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &nv2 };
        VK(GetPhysicalDeviceFeatures2)(g.physical, &all);
        CHECK(nv2.cooperativeMatrixWorkgroupScope && nv2.cooperativeMatrixBlockLoads);
        CHECK(lists(&g, names[1]) && lists(&g, names[2]) && asked_for(names[0]));
        CHECK(asked_for(names[1]) == !partly && asked_for(names[2]) == !partly);
        gpu_free(&g);
    }
    below.partly = false;
}

/* ---- small floats ---------------------------------------------------------------------------- */

#define EXTENSIONS                                                                                 \
    "#version 460\n"                                                                              \
    "#extension GL_KHR_cooperative_matrix : require\n"                                            \
    "#extension GL_KHR_memory_scope_semantics : require\n"                                        \
    "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"                              \
    "#extension GL_EXT_bfloat16 : require\n"                                                      \
    "#extension GL_EXT_float_e4m3 : require\n"                                                    \
    "layout(binding = 0) buffer A { float a[]; };\n"                                              \
    "layout(binding = 1) buffer C { float c[]; };\n"

/* Numbers that both types have, a dot product, and matrices of either. */
static const char *const convert =
    EXTENSIONS "layout(local_size_x = 256) in;\n"
               "void main() {\n"
               "    uint i = gl_LocalInvocationIndex;\n"
               "    c[i] = float(bfloat16_t(a[i])) + float(floate4m3_t(a[i]));\n"
               "}\n";
static const char *const bfloats_alone =
    EXTENSIONS "layout(local_size_x = 256) in;\n"
               "void main() {\n"
               "    uint i = gl_LocalInvocationIndex;\n"
               "    c[i] = 2 * float(bfloat16_t(a[i]));\n"
               "}\n";
static const char *const multiply =
    EXTENSIONS "layout(local_size_x = 256) in;\n"
               "void main() {\n"
               "    uint i = gl_LocalInvocationIndex;\n"
               "    bf16vec2 x = bf16vec2(a[i], 1), y = bf16vec2(1, a[i]);\n"
               "    c[i] = float(dot(x, y));\n"
               "}\n";
#define MATRICES(T)                                                                                \
    EXTENSIONS "layout(local_size_x = 32) in;\n"                                                  \
               "shared " T " one[256];\n"                                                         \
               "void main() {\n"                                                                  \
               "    for (uint k = gl_LocalInvocationIndex; k < 256; k += 32)\n"                   \
               "        one[k] = " T "(k % 17 == 0 ? 1.0 : 0.0);\n"                               \
               "    barrier();\n"                                                                 \
               "    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> f;\n"                 \
               "    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> g;\n"                 \
               "    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> z, n =\n"   \
               "        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);\n"  \
               "    coopmat<" T ", gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;\n"                 \
               "    coopmat<" T ", gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;\n"                 \
               "    coopMatLoad(f, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"              \
               "    coopMatLoad(y, one, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"            \
               "    x = coopmat<" T ", gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>(f);\n"            \
               "    z = coopMatMulAdd(x, y, n);\n"                                                \
               "    coopMatStore(z + z, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"         \
               "}\n"
static const char *const bfloat_matrices = MATRICES("bfloat16_t"),
                  *const float8_matrices = MATRICES("floate4m3_t");

/* It doubles what it is given. */
static bool doubles_words(Gpu *g, const uint32_t *words, size_t size)
{
    GpuProgram p = { .n_types = 2 };
    GpuBuffer a = { 0 }, c = { 0 };
    bool right = !gpu_buffer(g, 4 * 256, &a) && !gpu_buffer(g, 4 * 256, &c) &&
                 !gpu_program(g, words, size, &p);
    for (uint32_t i = 0; right && i < 256; i++)
        ((float *)a.data)[i] = (float)(i % 13) - 4;
    right = right && !dispatch(g, &p, &a, &c);
    for (uint32_t i = 0; right && i < 256; i++)
        right = ((float *)c.data)[i] == 2 * ((float *)a.data)[i];
    gpu_program_free(g, &p);
    gpu_buffer_free(g, &a);
    gpu_buffer_free(g, &c);
    return right;
}

static bool doubles(Gpu *g, const char *source)
{
    size_t size;
    uint32_t *words = gpu_spirv(source, &size);
    bool right = words && doubles_words(g, words, size);
    free(words);
    return right;
}

static const char *const small_names[] = { "VK_KHR_cooperative_matrix", "VK_KHR_shader_bfloat16",
                                           "VK_EXT_shader_float8" };

static uint32_t n_shapes_of(const Gpu *g, VkComponentTypeKHR type)
{
    VkCooperativeMatrixPropertiesKHR list[1024] = { 0 };
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR get =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)vk.get(
            g->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    uint32_t n = COUNT_OF(list), found = 0;
    get(g->physical, &n, list);
    for (uint32_t k = 0; k < n; k++)
        found += list[k].AType == type;
    return found;
}

/* Without matrices of the driver's and with: these stay its own. */
TEST(small_floats_of_a_driver_without)
{
    for (uint32_t native = 0; native < 2; native++) {
        Gpu g = { 0 };
        REQUIRE(layer_open());
        setenv("HEDDLE_MATRICES", native ? "khr" : "none", 1);
        setenv("HEDDLE_LAYER_EXTENSIONS", "+VK_KHR_shader_bfloat16,+VK_EXT_shader_float8", 1);
        REQUIRE(instance_new(&g) && device_new(&g, small_names, COUNT_OF(small_names)));
        CHECK(lists(&g, small_names[1]) && lists(&g, small_names[2]));
        CHECK(!asked_for(small_names[1]) && !asked_for(small_names[2]) && !below.bfloats.sType);
        CHECK(n_shapes_of(&g, VK_COMPONENT_TYPE_BFLOAT16_KHR) > 0);
        CHECK(n_shapes_of(&g, VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT) > 0);
        const char *const sources[] = { convert, multiply, bfloat_matrices, float8_matrices };
        for (size_t k = 0; k < COUNT_OF(sources); k++) {
            CHECK(doubles(&g, sources[k]));
            CHECK(!declared(BFLOAT16) && !declared(BFLOAT16_DOT) && !declared(FLOAT8));
            CHECK(!declared(BFLOAT16_MATRIX));
        }
        gpu_free(&g);
    }
    unsetenv("HEDDLE_LAYER_EXTENSIONS");
}

/* What the driver has of them stays its own. */
TEST(small_floats_of_a_driver_that_has_the_types_alone)
{
    Gpu g = { 0 };
    REQUIRE(layer_open());
    setenv("HEDDLE_MATRICES", "none", 1);
    below.partly = true;
    REQUIRE(instance_new(&g) && device_new(&g, small_names, COUNT_OF(small_names)));
    CHECK(asked_for(small_names[1]) && asked_for(small_names[2]));
    CHECK(below.bfloats.shaderBFloat16Type && !below.bfloats.shaderBFloat16DotProduct);
    CHECK(!below.bfloats.shaderBFloat16CooperativeMatrix);
    CHECK(doubles(&g, multiply) && declared(BFLOAT16) && !declared(BFLOAT16_DOT));
    CHECK(doubles(&g, bfloat_matrices) && declared(BFLOAT16) && !declared(BFLOAT16_MATRIX));
    CHECK(doubles(&g, float8_matrices) && declared(FLOAT8));
    size_t size;
    uint32_t *words = gpu_spirv(bfloats_alone, &size);
    REQUIRE(words);
    CHECK(doubles(&g, bfloats_alone) && below.words == hash_bytes(words, size, 0));
    free(words);
    below.partly = false;
    gpu_free(&g);
}

/* They may be in any stage: the driver gets a module that says the same in integers. */
TEST(small_floats_of_other_stages)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 2 };
    VkPipeline out[2] = { 0 };
    REQUIRE(layer_open());
    setenv("HEDDLE_MATRICES", "none", 1);
    setenv("HEDDLE_LAYER_EXTENSIONS", "+VK_KHR_shader_bfloat16,+VK_EXT_shader_float8", 1);
    REQUIRE(instance_new(&g) && device_new(&g, small_names, COUNT_OF(small_names)));
    REQUIRE(gpu_program_glsl(&g, convert, &p) == VK_SUCCESS);
    VkSpecializationInfo spec = { 0 };
    VkPipelineShaderStageCreateInfo stage = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .module = p.module,
        .stage = VK_SHADER_STAGE_FRAGMENT_BIT, .pName = "main", .pSpecializationInfo = &spec };
    VkGraphicsPipelineCreateInfo graphics = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .stageCount = 1,
        .pStages = &stage, .basePipelineIndex = -1 };
    VkRayTracingPipelineCreateInfoKHR rays = {
        .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR, .stageCount = 1,
        .pStages = &stage, .basePipelineIndex = -1 };
    PFN_vkCreateGraphicsPipelines create =
        (PFN_vkCreateGraphicsPipelines)command(&g, "vkCreateGraphicsPipelines");
    PFN_vkCreateRayTracingPipelinesKHR trace =
        (PFN_vkCreateRayTracingPipelinesKHR)command(&g, "vkCreateRayTracingPipelinesKHR");
    CHECK(create(g.device, NULL, 1, &graphics, NULL, out) == VK_SUCCESS && out[0]);
    CHECK(below.stage.module == below.module && below.stage.module != p.module);
    CHECK(below.stage.pSpecializationInfo == &spec);
    CHECK(!declared(BFLOAT16) && !declared(FLOAT8) && below.code_size < sizeof below.code);
    size_t size = below.code_size;
    uint32_t *words = malloc(size);
    memcpy(words, below.code, size);
    /* the structures end with the call, so that none is deferred */
    VkDeferredOperationKHR deferred = (VkDeferredOperationKHR)(uintptr_t)1;
    below.stage.module = VK_NULL_HANDLE;
    CHECK(trace(g.device, deferred, NULL, 1, &rays, NULL, out) == VK_OPERATION_NOT_DEFERRED_KHR);
    CHECK(below.stage.module && below.stage.module != p.module && !below.deferred);
    /* and it calculates the same */
    stage.module = VK_NULL_HANDLE;
    gpu_program_free(&g, &p);
    CHECK(doubles_words(&g, words, size));
    free(words);
    gpu_free(&g);
    unsetenv("HEDDLE_LAYER_EXTENSIONS");
}

TEST(small_floats_that_are_hidden)
{
    Gpu g = { 0 };
    REQUIRE(layer_open());
    setenv("HEDDLE_MATRICES", "khr", 1);
    setenv("HEDDLE_LAYER_EXTENSIONS", "-VK_KHR_shader_bfloat16,-VK_EXT_shader_float8", 1);
    REQUIRE(instance_new(&g));
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR };
    VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                      .pNext = &bfloats };
    VK(GetPhysicalDeviceFeatures2)(g.physical, &all);
    CHECK(!bfloats.shaderBFloat16Type && !lists(&g, small_names[1]) && !lists(&g, small_names[2]));
    CHECK(n_shapes_of(&g, VK_COMPONENT_TYPE_FLOAT16_KHR) > 0);
    CHECK(!n_shapes_of(&g, VK_COMPONENT_TYPE_BFLOAT16_KHR));
    CHECK(!n_shapes_of(&g, VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT));
    gpu_free(&g);
    unsetenv("HEDDLE_LAYER_EXTENSIONS");
}

TEST(a_device_without_the_family_has_the_drivers_commands)
{
    static const char *const names[] = { "vkCreateShaderModule", "vkCreateComputePipelines",
                                         "vkCreateShadersEXT", "vkCreateGraphicsPipelines",
                                         "vkDestroyShaderModule", "vkQueueSubmit",
                                         "vkGetPipelineKeyKHR", "vkCmdDispatch" };
    Gpu g = { 0 };
    setenv("HEDDLE_MATRICES", "none", 1);
    REQUIRE(layer_open() && instance_new(&g) && device_new(&g, NULL, 0));
    for (size_t k = 0; k < COUNT_OF(names); k++)
        CHECK(command(&g, names[k]) == get_device(g.device, names[k]));
    gpu_free(&g);
    REQUIRE(family_new(&g));
    CHECK(command(&g, names[0]) != get_device(g.device, names[0]));
    CHECK(command(&g, "vkCmdDispatch") == get_device(g.device, "vkCmdDispatch"));
    CHECK(command(&g, "vkQueueSubmit") == get_device(g.device, "vkQueueSubmit"));
    gpu_free(&g);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The only file of lowered words in the folder. */
static bool find_file(const char *folder, char *path, size_t size)
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, ".lowered") && ++n)
            snprintf(path, size, "%s/%s", folder, e->d_name);
    if (d)
        closedir(d);
    return n == 1;
}

/* In an instance of its own, whose memory is empty. */
static VkResult make_pipeline(VkPipelineCreateFlags flags, uint32_t k, bool *right)
{
    Gpu g = { 0 };
    VkSpecializationMapEntry entry = { 7, 0, 4 };
    VkSpecializationInfo spec = { 1, &entry, sizeof k, &k };
    GpuProgram p = { .n_types = 2, .pipeline_flags = flags, .spec = &spec };
    *right = false;
    VkResult r = family_new(&g) ? gpu_program_glsl(&g, product, &p) : VK_ERROR_UNKNOWN;
    if (!r)
        run(&g, &p, k, right);
    gpu_program_free(&g, &p);
    gpu_free(&g);
    return r;
}

/* That there is a file which is believed. */
static bool is_kept(uint32_t k)
{
    bool right;
    return !make_pipeline(VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT, k, &right) &&
           right;
}

/* Damages the file, and tells whether it is then not believed and made anew. */
static bool survives(const char *path, const char *data, size_t size)
{
    bool right;
    return file_write(path, data, size, NULL, 0, NULL) && !is_kept(16) &&
           !make_pipeline(0, 16, &right) && right && is_kept(16);
}

TEST(files_of_lowered_words)
{
    char folder[] = "/tmp/heddle-layer-XXXXXX", path[512], other[512];
    size_t size;
    bool right;
    REQUIRE(mkdtemp(folder));
    setenv("HEDDLE_CACHE", folder, 1);
    CHECK(!make_pipeline(0, 32, &right) && right);
    REQUIRE(find_file(folder, other, sizeof other));
    unlink(other);
    CHECK(!make_pipeline(0, 16, &right) && right && is_kept(16) && !is_kept(32));
    REQUIRE(find_file(folder, path, sizeof path));
    char *data = file_read(path, &size, NULL);
    REQUIRE(data && size > 64);
    CHECK(survives(path, data, 0));
    CHECK(survives(path, data, 7));
    CHECK(survives(path, data, size - 4));
    CHECK(survives(path, data, size - 1));
    for (size_t at = 0; at < size; at += size / 5) {
        data[at] ^= 0x10;
        CHECK(survives(path, data, size));
        data[at] ^= 0x10;
    }
    CHECK(!rename(path, other)); /* by the other's name */
    CHECK(!is_kept(32) && !is_kept(16));
    unlink(other);
    rmdir(folder);
    free(data);
    unsetenv("HEDDLE_CACHE");
}
