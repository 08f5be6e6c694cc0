/* SPDX-License-Identifier: MIT
 *
 * Objects of all kinds made and destroyed in random orders, with host memory that runs out at any
 * allocation: every call says so or succeeds, and in the end nothing is left over.
 */
#include <pthread.h>

#include "gpu.h"

/* ---- host memory that is counted and runs out ------------------------------------------------ */

typedef struct Purse {
    int64_t left, live;
    pthread_t owner;
    bool stolen;                /* another thread was here */
} Purse;

static void *VKAPI_CALL spend(void *user, size_t size, size_t alignment,
                              VkSystemAllocationScope scope)
{
    (void)scope;
    Purse *p = user;
    p->stolen |= !pthread_equal(p->owner, pthread_self());
    if (p->left-- <= 0)
        return NULL;
    p->live++;
    return aligned_alloc(alignment, align_up(size, alignment));
}

static void *VKAPI_CALL never(void *user, void *p, size_t size, size_t alignment,
                              VkSystemAllocationScope scope)
{
    (void)user, (void)p, (void)size, (void)alignment, (void)scope;
    return NULL;
}

static void VKAPI_CALL give_back(void *user, void *p)
{
    Purse *of = user;
    of->stolen |= !pthread_equal(of->owner, pthread_self());
    of->live -= p != NULL;
    free(p);
}

/* ---- kinds of objects ------------------------------------------------------------------------ */

typedef struct World {
    Gpu gpu;
    GpuProgram program;         /* whose module, layouts and set the objects are made of */
    GpuBuffer buffer;
    VkImage image;
    VkDeviceMemory memory;      /* of the image */
    Purse purse;
    VkAllocationCallbacks alloc;
} World;

#define SIMPLE(Kind, Info, ...)                                                                    \
    static VkResult make_##Kind(World *w, uint64_t *out)                                           \
    {                                                                                              \
        Info info = { __VA_ARGS__ };                                                               \
        Vk##Kind made = VK_NULL_HANDLE;                                                            \
        VkResult r = VK(Create##Kind)(w->gpu.device, &info, &w->alloc, &made);                     \
        *out = (uint64_t)(uintptr_t)made;                                                          \
        return r;                                                                                  \
    }                                                                                              \
    static void end_##Kind(World *w, uint64_t made)                                                \
    {                                                                                              \
        VK(Destroy##Kind)(w->gpu.device, (Vk##Kind)(uintptr_t)made, &w->alloc);                    \
    }

static const VkDescriptorSetLayoutBinding bindings[] = {
    { 3, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2, VK_SHADER_STAGE_COMPUTE_BIT, NULL },
    { 1, VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 20, VK_SHADER_STAGE_COMPUTE_BIT, NULL },
};
static const VkDescriptorPoolSize pool_size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4 };
static const VkDescriptorUpdateTemplateEntry entry = { 0, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                       0, 0 };

SIMPLE(Fence, VkFenceCreateInfo, .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO)
SIMPLE(Semaphore, VkSemaphoreCreateInfo, .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO)
SIMPLE(Event, VkEventCreateInfo, .sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO)
SIMPLE(QueryPool, VkQueryPoolCreateInfo, .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
       .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 5)
SIMPLE(Buffer, VkBufferCreateInfo, .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 100,
       .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)
SIMPLE(BufferView, VkBufferViewCreateInfo, .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
       .buffer = w->buffer.buffer, .format = VK_FORMAT_R32_UINT, .range = VK_WHOLE_SIZE)
SIMPLE(Image, VkImageCreateInfo, .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
       .imageType = VK_IMAGE_TYPE_2D, .format = VK_FORMAT_R8_UNORM, .extent = { 7, 5, 1 },
       .mipLevels = 2, .arrayLayers = 3, .samples = VK_SAMPLE_COUNT_1_BIT,
       .usage = VK_IMAGE_USAGE_STORAGE_BIT)
SIMPLE(ImageView, VkImageViewCreateInfo, .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
       .image = w->image, .viewType = VK_IMAGE_VIEW_TYPE_2D, .format = VK_FORMAT_R32_UINT,
       .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 })
SIMPLE(Sampler, VkSamplerCreateInfo, .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO)
SIMPLE(PipelineCache, VkPipelineCacheCreateInfo,
       .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO)
SIMPLE(PipelineLayout, VkPipelineLayoutCreateInfo,
       .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1,
       .pSetLayouts = &w->program.set_layout)
SIMPLE(DescriptorSetLayout, VkDescriptorSetLayoutCreateInfo,
       .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
       .bindingCount = COUNT_OF(bindings), .pBindings = bindings)
SIMPLE(DescriptorUpdateTemplate, VkDescriptorUpdateTemplateCreateInfo,
       .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
       .descriptorUpdateEntryCount = 1, .pDescriptorUpdateEntries = &entry,
       .descriptorSetLayout = w->program.set_layout)
SIMPLE(PrivateDataSlot, VkPrivateDataSlotCreateInfo,
       .sType = VK_STRUCTURE_TYPE_PRIVATE_DATA_SLOT_CREATE_INFO)
SIMPLE(CommandPool, VkCommandPoolCreateInfo, .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO)
SIMPLE(DescriptorPool, VkDescriptorPoolCreateInfo,
       .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 4, .poolSizeCount = 1,
       .pPoolSizes = &pool_size)

static VkResult make_memory(World *w, uint64_t *out)
{
    VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .allocationSize = 4096 };
    VkDeviceMemory made = VK_NULL_HANDLE;
    VkResult r = VK(AllocateMemory)(w->gpu.device, &info, &w->alloc, &made);
    *out = (uint64_t)(uintptr_t)made;
    return r;
}

static void end_memory(World *w, uint64_t made)
{
    VK(FreeMemory)(w->gpu.device, (VkDeviceMemory)(uintptr_t)made, &w->alloc);
}

static VkResult make_pipeline(World *w, uint64_t *out)
{
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = w->program.layout,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = w->program.module,
                   .pName = "main" } };
    VkPipeline made = VK_NULL_HANDLE;
    VkResult r = VK(CreateComputePipelines)(w->gpu.device, VK_NULL_HANDLE, 1, &info, &w->alloc,
                                            &made);
    *out = (uint64_t)(uintptr_t)made;
    return r;
}

static void end_pipeline(World *w, uint64_t made)
{
    VK(DestroyPipeline)(w->gpu.device, (VkPipeline)(uintptr_t)made, &w->alloc);
}

/* A pool with sets in it, of which one is freed. */
static VkResult make_sets(World *w, uint64_t *out)
{
    VkDescriptorSetLayout layouts[3] = { w->program.set_layout, w->program.set_layout,
                                         w->program.set_layout };
    VkDescriptorSet sets[3];
    VkResult r = make_DescriptorPool(w, out);
    VkDescriptorSetAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                         .descriptorPool = (VkDescriptorPool)(uintptr_t)*out,
                                         .descriptorSetCount = 3, .pSetLayouts = layouts };
    if (r)
        return r;
    r = VK(AllocateDescriptorSets)(w->gpu.device, &info, sets);
    if (!r)
        return VK(FreeDescriptorSets)(w->gpu.device, info.descriptorPool, 1, &sets[1]);
    end_DescriptorPool(w, *out);
    *out = 0;
    return r;
}

/* A pool with command buffers, recorded and run. */
static VkResult make_commands(World *w, uint64_t *out)
{
    VkCommandBuffer buffers[2];
    VkResult r = make_CommandPool(w, out);
    VkCommandBufferAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                         .commandPool = (VkCommandPool)(uintptr_t)*out,
                                         .commandBufferCount = 2 };
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    if (r)
        return r;
    r = VK(AllocateCommandBuffers)(w->gpu.device, &info, buffers);
    for (int i = 0; !r && i < 2; i++) {
        VK(BeginCommandBuffer)(buffers[i], &begin);
        gpu_bind(buffers[i], &w->program);
        for (int k = 0; k < 20; k++) {
            VK(CmdPushConstants)(buffers[i], w->program.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4,
                                 &k);
            VK(CmdDispatch)(buffers[i], 1, 1, 1);
            VK(CmdFillBuffer)(buffers[i], w->buffer.buffer, 64, 64, (uint32_t)k);
        }
        r = VK(EndCommandBuffer)(buffers[i]);
    }
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 2,
                            .pCommandBuffers = buffers };
    if (!r)
        r = VK(QueueSubmit)(w->gpu.queues[0], 1, &submit, VK_NULL_HANDLE);
    if (!r)
        r = VK(QueueWaitIdle)(w->gpu.queues[0]);
    if (!r)
        return r;
    end_CommandPool(w, *out);
    *out = 0;
    return r;
}

#define KIND(name) { #name, make_##name, end_##name }
static const struct {
    const char *name;
    VkResult (*make)(World *w, uint64_t *out);
    void (*end)(World *w, uint64_t made);
} kinds[] = {
    KIND(Fence), KIND(Semaphore), KIND(Event), KIND(QueryPool), KIND(Buffer), KIND(BufferView),
    KIND(Image), KIND(ImageView), KIND(Sampler), KIND(PipelineCache), KIND(PipelineLayout),
    KIND(DescriptorSetLayout), KIND(DescriptorUpdateTemplate), KIND(PrivateDataSlot),
    KIND(CommandPool), KIND(DescriptorPool), KIND(memory), KIND(pipeline),
    { "sets", make_sets, end_DescriptorPool }, { "commands", make_commands, end_CommandPool },
};

/* ---- the world they are made in -------------------------------------------------------------- */

static bool world_new(World *w)
{
    static const char kernel[] =
        "#version 450\nlayout(binding = 0) buffer B { uint y[]; };\n"
        "layout(push_constant) uniform P { uint add; };\nvoid main() { y[0] += add; }\n";
    w->alloc = (VkAllocationCallbacks){ .pUserData = &w->purse, .pfnAllocation = spend,
                                        .pfnReallocation = never, .pfnFree = give_back };
    w->purse = (Purse){ .left = INT64_MAX, .owner = pthread_self() };
    w->gpu.alloc = &w->alloc;
    w->program.n_types = 1;
    VkImageCreateInfo image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R32_UINT, .extent = { 4, 4, 1 }, .mipLevels = 1, .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT, .usage = VK_IMAGE_USAGE_STORAGE_BIT };
    VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .allocationSize = 4096 };
    if (gpu_new(&w->gpu) || gpu_program_glsl(&w->gpu, kernel, &w->program) ||
        gpu_buffer(&w->gpu, 256, &w->buffer) ||
        VK(CreateImage)(w->gpu.device, &image, &w->alloc, &w->image) ||
        VK(AllocateMemory)(w->gpu.device, &memory, &w->alloc, &w->memory) ||
        VK(BindImageMemory)(w->gpu.device, w->image, w->memory, 0))
        return test_fail(__FILE__, __LINE__, "no device with a buffer and an image");
    gpu_write(&w->gpu, w->program.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, w->buffer.buffer, 0,
              64);
    return true;
}

static void world_free(World *w)
{
    VK(DestroyImage)(w->gpu.device, w->image, &w->alloc);
    VK(FreeMemory)(w->gpu.device, w->memory, &w->alloc);
    gpu_buffer_free(&w->gpu, &w->buffer);
    gpu_program_free(&w->gpu, &w->program);
    gpu_free(&w->gpu);
    CHECK(w->purse.live == 0 && !w->purse.stolen);
}

TEST(each_kind_without_its_nth_allocation)
{
    World w = { 0 };
    REQUIRE(world_new(&w));
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        VkResult r = VK_ERROR_OUT_OF_HOST_MEMORY;
        int n = 0;
        for (; r && n < 50; n++) {
            uint64_t made = 1;
            int64_t before = w.purse.live;
            w.purse.left = n;
            r = kinds[k].make(&w, &made);
            w.purse.left = INT64_MAX;
            if (r != VK_SUCCESS && r != VK_ERROR_OUT_OF_HOST_MEMORY)
                test_fail(__FILE__, __LINE__, "%s: %d", kinds[k].name, r);
            CHECK((r == VK_SUCCESS) == (made != 0));
            if (made)
                kinds[k].end(&w, made);
            if (w.purse.live != before)
                test_fail(__FILE__, __LINE__, "%s leaves allocations behind", kinds[k].name);
        }
        if (r || n < 2)
            test_fail(__FILE__, __LINE__, "%s: %d after %d allocations", kinds[k].name, r, n);
    }
    world_free(&w);
}

/* "An implementation must only make calls into an application-provided allocator from the same
 * thread that called the provoking API command" (Host Memory): a queue's own thread makes none. */
TEST(callbacks_are_called_by_the_caller)
{
    World w = { 0 };
    uint64_t f = 0;
    REQUIRE(world_new(&w) && make_Fence(&w, &f) == VK_SUCCESS);
    VkFence fence = (VkFence)(uintptr_t)f;
    VkCommandBuffer c = gpu_begin(&w.gpu);
    VK(CmdFillBuffer)(c, w.buffer.buffer, 0, 64, 3);
    VK(EndCommandBuffer)(c);
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                            .pCommandBuffers = &c };
    for (int i = 0; i < 10; i++) {
        CHECK(VK(QueueSubmit)(w.gpu.queues[0], 1, &submit, fence) == VK_SUCCESS);
        while (VK(GetFenceStatus)(w.gpu.device, fence) == VK_NOT_READY) /* nobody helps the queue */
            ;
        VK(ResetFences)(w.gpu.device, 1, &fence);
    }
    CHECK_EQ_U64(*(uint32_t *)w.buffer.data, 3);
    end_Fence(&w, f);
    world_free(&w);
}

static uint64_t below(Rng *r, uint64_t n) { return rng_u64(r) % n; }

TEST(random_orders)
{
    enum { STEPS = 4000, MOST = 100 };
    struct { size_t kind; uint64_t object; } alive[MOST];
    World w = { 0 };
    Rng rng = { 11 };
    uint32_t n = 0, failed = 0;
    REQUIRE(world_new(&w));
    for (int step = 0; step < STEPS; step++) {
        if (n && (n == MOST || below(&rng, 2))) {
            uint32_t i = (uint32_t)below(&rng, n);
            kinds[alive[i].kind].end(&w, alive[i].object);
            alive[i] = alive[--n];
            continue;
        }
        size_t k = below(&rng, COUNT_OF(kinds));
        w.purse.left = below(&rng, 4) ? INT64_MAX : (int64_t)below(&rng, 3);
        VkResult r = kinds[k].make(&w, &alive[n].object);
        w.purse.left = INT64_MAX;
        CHECK(r == VK_SUCCESS || r == VK_ERROR_OUT_OF_HOST_MEMORY);
        failed += r != VK_SUCCESS;
        alive[n].kind = k;
        n += r == VK_SUCCESS;
    }
    CHECK(failed > STEPS / 100);
    while (n--)
        kinds[alive[n].kind].end(&w, alive[n].object);
    world_free(&w);
}
