/* SPDX-License-Identifier: MIT
 *
 * Descriptor sets: arrays of buffers that are written after they were bound, sets of several
 * layouts, copies, and what accesses outside of buffers do where that is defined.
 */
#include "gpu.h"

/* A set with its own pool: arrays of storage buffers, the last perhaps of variable size. */
typedef struct Arrays {
    VkDescriptorSetLayout layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
} Arrays;

enum { MOST = 4 };

static VkResult arrays_new(Gpu *g, const uint32_t *counts, uint32_t n, uint32_t variable,
                           Arrays *a)
{
    VkDescriptorSetLayoutBinding bindings[MOST] = { 0 };
    VkDescriptorBindingFlags flags[MOST];
    for (uint32_t i = 0; i < n; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){
            i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, counts[i], VK_SHADER_STAGE_COMPUTE_BIT, NULL };
        flags[i] = VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT |
                   VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT |
                   VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
    }
    if (variable)
        flags[n - 1] |= VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
    VkDescriptorSetLayoutBindingFlagsCreateInfo more = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
        .bindingCount = n, .pBindingFlags = flags };
    VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .pNext = &more,
        .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT, .bindingCount = n,
        .pBindings = bindings };
    VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 256 };
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1,
        .flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT, .pPoolSizes = &size };
    *a = (Arrays){ 0 };
    VkResult r = VK(CreateDescriptorSetLayout)(g->device, &layout, NULL, &a->layout);
    if (!r)
        r = VK(CreateDescriptorPool)(g->device, &pool, NULL, &a->pool);
    VkDescriptorSetVariableDescriptorCountAllocateInfo count = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
        .descriptorSetCount = 1, .pDescriptorCounts = &variable };
    VkDescriptorSetAllocateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .pNext = variable ? &count : NULL,
                                        .descriptorPool = a->pool, .descriptorSetCount = 1,
                                        .pSetLayouts = &a->layout };
    return r ? r : VK(AllocateDescriptorSets)(g->device, &set, &a->set);
}

static void arrays_free(Gpu *g, Arrays *a)
{
    VK(DestroyDescriptorPool)(g->device, a->pool, NULL);
    VK(DestroyDescriptorSetLayout)(g->device, a->layout, NULL);
}

static void write_element(Gpu *g, VkDescriptorSet set, uint32_t binding, uint32_t element,
                          const GpuBuffer *b, uint64_t offset, uint64_t range)
{
    VkDescriptorBufferInfo info = { b ? b->buffer : VK_NULL_HANDLE, offset, range };
    VkWriteDescriptorSet w = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set,
                               .dstBinding = binding, .dstArrayElement = element,
                               .descriptorCount = 1, .pBufferInfo = &info,
                               .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER };
    VK(UpdateDescriptorSets)(g->device, 1, &w, 0, NULL);
}

/* A pipeline for sets of those layouts; the program has no set of its own. */
static VkResult program_new(Gpu *g, const char *glsl, const VkDescriptorSetLayout *layouts,
                            uint32_t n, GpuProgram *p)
{
    size_t size = 0;
    uint32_t *words = gpu_spirv(glsl, &size);
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = n,
        .pSetLayouts = layouts };
    VkShaderModuleCreateInfo module = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                        .codeSize = size, .pCode = words };
    VkResult r = words ? VK(CreatePipelineLayout)(g->device, &layout, NULL, &p->layout)
                       : VK_ERROR_UNKNOWN;
    if (!r)
        r = VK(CreateShaderModule)(g->device, &module, NULL, &p->module);
    free(words);
    return r ? r : gpu_program_pipeline(g, p);
}

static void bind_sets(VkCommandBuffer c, const GpuProgram *p, uint32_t first, uint32_t n,
                      const VkDescriptorSet *sets)
{
    VK(CmdBindPipeline)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    VK(CmdBindDescriptorSets)(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, first, n, sets, 0,
                              NULL);
}

/* Each invocation writes its number into a buffer of its own; all of them are written to the set
 * when the commands are recorded, one even while another submission is running. */
TEST(written_after_they_were_bound)
{
    static const char source[] =
        "#version 460\n#extension GL_EXT_nonuniform_qualifier : require\n"
        "layout(local_size_x = 32) in;\n"
        "layout(binding = 0) buffer First { uint y[]; } first;\n"
        "layout(binding = 1) buffer All { uint y[]; } all[];\n"
        "void main() {\n"
        "    uint i = gl_LocalInvocationIndex;\n"
        "    all[nonuniformEXT(i)].y[0] = i + first.y[0];\n"
        "}\n";
    enum { N = 32 };
    Gpu g = { 0 };
    Arrays a;
    GpuBuffer b, more;
    GpuProgram p = { 0 };
    REQUIRE(!gpu_new(&g) && !gpu_buffer(&g, 256 * (N + 1), &b) && !gpu_buffer(&g, 256, &more));
    REQUIRE(!arrays_new(&g, (uint32_t[]){ 1, 200 }, 2, N, &a));
    REQUIRE(!program_new(&g, source, &a.layout, 1, &p));
    memset(b.data, 0xff, 256 * (N + 1));
    VkCommandBuffer c = gpu_begin(&g);
    bind_sets(c, &p, 0, 1, &a.set);
    VK(CmdDispatch)(c, 1, 1, 1);
    VK(EndCommandBuffer)(c);
    *(uint32_t *)b.data = 5;
    write_element(&g, a.set, 0, 0, &b, 0, 256);
    for (uint32_t i = 0; i < N; i++)
        write_element(&g, a.set, 1, i, &b, 256 * (i + 1), 256);
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                            .pCommandBuffers = &c };
    CHECK(VK(QueueSubmit)(g.queues[0], 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
    CHECK(VK(QueueWaitIdle)(g.queues[0]) == VK_SUCCESS);
    for (uint32_t i = 0; i < N; i++)
        CHECK_EQ_U64(((uint32_t *)b.data)[64 * (i + 1)], i + 5);
    write_element(&g, a.set, 1, 7, &more, 0, 4);
    CHECK(VK(QueueSubmit)(g.queues[0], 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
    CHECK(VK(QueueWaitIdle)(g.queues[0]) == VK_SUCCESS);
    CHECK_EQ_U64(*(uint32_t *)more.data, 12);
    gpu_program_free(&g, &p);
    arrays_free(&g, &a);
    gpu_buffer_free(&g, &b);
    gpu_buffer_free(&g, &more);
    gpu_free(&g);
}

/* Another set is bound as set 1 between dispatches, sets 0 and 2 stay; what set 2 holds was copied
 * from that other one. */
TEST(sets_of_several_layouts)
{
    static const char source[] =
        "#version 460\n"
        "layout(set = 0, binding = 0) buffer A { uint y[]; } a;\n"
        "layout(set = 1, binding = 0) buffer B { uint y[]; } b[2];\n"
        "layout(set = 2, binding = 1) buffer C { uint y[]; } c[2];\n"
        "void main() { a.y[0] = 10 * a.y[0] + b[0].y[0] + 2 * b[1].y[0] + 3 * c[1].y[0]; }\n";
    Gpu g = { 0 };
    Arrays sets[4];
    GpuBuffer b[4];
    GpuProgram p = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    for (uint32_t i = 0; i < 4; i++) {
        REQUIRE(!gpu_buffer(&g, 64, &b[i]));
        REQUIRE(!arrays_new(&g, i == 2 ? (uint32_t[]){ 3, 2 } : (uint32_t[]){ i ? 2 : 1 },
                            i == 2 ? 2 : 1, 0, &sets[i]));
        *(uint32_t *)b[i].data = i;
    }
    REQUIRE(!program_new(&g, source, (VkDescriptorSetLayout[]){ sets[0].layout, sets[1].layout,
                                                                sets[2].layout }, 3, &p));
    write_element(&g, sets[0].set, 0, 0, &b[0], 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < 2; i++) {
        write_element(&g, sets[1].set, 0, i, &b[1 + i], 0, VK_WHOLE_SIZE);
        write_element(&g, sets[3].set, 0, i, &b[3 - i], 0, VK_WHOLE_SIZE);
    }
    /* From one binding's end into the next one: the last of 3 and the first of 2 ... */
    VkCopyDescriptorSet copy = { .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                 .srcSet = sets[3].set, .dstSet = sets[2].set, .dstBinding = 0,
                                 .dstArrayElement = 2, .descriptorCount = 2 };
    VK(UpdateDescriptorSets)(g.device, 0, NULL, 1, &copy);
    copy.srcSet = copy.dstSet;  /* ... and from there into the second of 2 */
    copy.srcBinding = copy.dstBinding = 1;
    copy.dstArrayElement = copy.descriptorCount = 1;
    VK(UpdateDescriptorSets)(g.device, 0, NULL, 1, &copy);
    VkMemoryBarrier written = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_SHADER_READ_BIT |
                                                 VK_ACCESS_SHADER_WRITE_BIT };
    VkCommandBuffer c = gpu_begin(&g);
    bind_sets(c, &p, 0, 3, (VkDescriptorSet[]){ sets[0].set, sets[1].set, sets[2].set });
    VK(CmdDispatch)(c, 1, 1, 1);
    VK(CmdPipelineBarrier)(c, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &written, 0, NULL, 0, NULL);
    bind_sets(c, &p, 1, 1, &sets[3].set);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    CHECK_EQ_U64(*(uint32_t *)b[0].data, 10 * (1 + 2 * 2 + 3 * 2) + (3 + 2 * 2 + 3 * 2));
    gpu_program_free(&g, &p);
    for (uint32_t i = 0; i < 4; i++) {
        arrays_free(&g, &sets[i]);
        gpu_buffer_free(&g, &b[i]);
    }
    gpu_free(&g);
}

/* What lies behind a buffer's end is 0 and stays as it is, by device and by pipeline; a descriptor
 * of no buffer is as one of size 0. */
TEST(accesses_outside)
{
    static const char source[] =
        "#version 460\n"
        "layout(local_size_x = 32) in;\n"
        "layout(binding = 0) buffer In { uint x[]; };\n"
        "layout(binding = 1) buffer Out { uint y[]; };\n"
        "layout(binding = 2) buffer None { uint z[]; };\n"
        "void main() {\n"
        "    uint i = gl_LocalInvocationIndex;\n"
        "    z[i] = 1;\n"
        "    y[i] = x[i] + z[i] + z.length();\n"
        "}\n";
    for (int by_device = 0; by_device < 2; by_device++) {
        Gpu g = { .robust = by_device };
        GpuBuffer in, out;
        VkPipelineRobustnessCreateInfo robust = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO,
            .storageBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2 };
        GpuProgram p = { .n_types = 3, .stage_next = by_device ? NULL : &robust };
        if (!by_device && getenv("HEDDLE_TEST_LOADER")) /* an extension that gpu_new has not */
            continue;
        REQUIRE(!gpu_new(&g) && !gpu_buffer(&g, 256, &in) && !gpu_buffer(&g, 256, &out));
        REQUIRE(gpu_program_glsl(&g, source, &p) == VK_SUCCESS);
        for (uint32_t i = 0; i < 64; i++)
            ((uint32_t *)in.data)[i] = ((uint32_t *)out.data)[i] = i + 100;
        write_element(&g, p.set, 0, 0, &in, 0, 80);
        write_element(&g, p.set, 1, 0, &out, 64, 100);
        write_element(&g, p.set, 2, 0, by_device ? NULL : &in, 0, by_device ? VK_WHOLE_SIZE : 4);
        VkCommandBuffer c = gpu_begin(&g);
        gpu_bind(c, &p);
        VK(CmdDispatch)(c, 1, 1, 1);
        CHECK(gpu_finish(&g, c) == VK_SUCCESS);
        const uint32_t none = by_device ? 0 : 1 + 1; /* z is a buffer of one element there */
        for (uint32_t i = 0; i < 64; i++) {
            bool there = i >= 16 && i < 16 + 25;
            uint32_t k = i - 16, x = k >= 20 ? 0 : !by_device && !k ? 1 : k + 100;
            uint32_t z = none ? (k ? 1 : 2) : 0;
            CHECK_EQ_U64(((uint32_t *)out.data)[i], there ? x + z : i + 100);
        }
        gpu_program_free(&g, &p);
        gpu_buffer_free(&g, &in);
        gpu_buffer_free(&g, &out);
        gpu_free(&g);
    }
}
