/* SPDX-License-Identifier: MIT
 *
 * Kernels through the Vulkan driver: every way to give them their numbers.
 */
#include "gpu.h"

/* out[i] = in[i] * k + push, from `first` on. */
static const char scale[] =
    "#version 450\n"
    "layout(local_size_x_id = 0) in;\n"
    "layout(constant_id = 1) const int k = 3;\n"
    "layout(binding = 0) readonly buffer In { int x[]; };\n"
    "layout(binding = 1) buffer Out { int y[]; };\n"
    "layout(push_constant) uniform Push { int add; };\n"
    "void main() { uint i = gl_GlobalInvocationID.x; y[i] = x[i] * k + add; }\n";

enum { N = 256 };

typedef struct Scale {
    Gpu gpu;
    GpuProgram program;
    GpuBuffer in, out;
    int *x, *y;
} Scale;

static bool scale_new(Scale *s)
{
    static const VkSpecializationMapEntry entry = { 0, 0, 4 };
    static const uint32_t local_size = 64;
    static const VkSpecializationInfo spec = { 1, &entry, sizeof local_size, &local_size };
    s->program.n_types = 2;
    if (!s->program.spec)
        s->program.spec = &spec;
    VkResult r = gpu_new(&s->gpu);
    if (!r)
        r = gpu_program_glsl(&s->gpu, scale, &s->program);
    if (!r)
        r = gpu_buffer(&s->gpu, N * 4, &s->in);
    if (!r)
        r = gpu_buffer(&s->gpu, N * 4, &s->out);
    if (r)
        return test_fail(__FILE__, __LINE__, "VkResult %d", r);
    s->x = s->in.data;
    s->y = s->out.data;
    for (int i = 0; i < N; i++)
        s->x[i] = i;
    if (s->program.set && !s->program.types) {
        VkDescriptorType t = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        gpu_write(&s->gpu, s->program.set, 0, t, s->in.buffer, 0, VK_WHOLE_SIZE);
        gpu_write(&s->gpu, s->program.set, 1, t, s->out.buffer, 0, VK_WHOLE_SIZE);
    }
    return true;
}

static void scale_free(Scale *s)
{
    gpu_buffer_free(&s->gpu, &s->in);
    gpu_buffer_free(&s->gpu, &s->out);
    gpu_program_free(&s->gpu, &s->program);
    gpu_free(&s->gpu);
}

static VkCommandBuffer scale_begin(Scale *s, int add)
{
    VkCommandBuffer c = gpu_begin(&s->gpu);
    GpuProgram p = s->program;
    if (p.types)                /* with dynamic offsets: bound by the test */
        p.set = VK_NULL_HANDLE;
    gpu_bind(c, &p);
    VK(CmdPushConstants)(c, s->program.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &add);
    return c;
}

static void check_scaled(const Scale *s, int from, int to, int k, int add)
{
    for (int i = 0; i < N; i++)
        CHECK_EQ_U64(s->y[i], (uint64_t)(i >= from && i < to ? i * k + add : 0));
}

TEST(dispatch)
{
    Scale s = { 0 };
    REQUIRE(scale_new(&s));
    VkCommandBuffer c = scale_begin(&s, 5);
    VK(CmdDispatch)(c, N / 64, 1, 1);
    CHECK(gpu_finish(&s.gpu, c) == VK_SUCCESS);
    check_scaled(&s, 0, N, 3, 5);
    scale_free(&s);
}

/* One that is declared needs nothing bound to it, nor a set in the layout. */
TEST(unused_variables)
{
    static const char text[] =
        "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
        "OpEntryPoint GLCompute %main \"main\" %used %unused\n"
        "OpExecutionMode %main LocalSize 1 1 1\n"
        "OpDecorate %used DescriptorSet 0\nOpDecorate %used Binding 0\n"
        "OpDecorate %unused DescriptorSet 5\nOpDecorate %unused Binding 5\n"
        "OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
        "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%u32 = OpTypeInt 32 0\n"
        "%block = OpTypeStruct %u32\n%buffer = OpTypePointer StorageBuffer %block\n"
        "%word = OpTypePointer StorageBuffer %u32\n%zero = OpConstant %u32 0\n"
        "%seven = OpConstant %u32 7\n"
        "%used = OpVariable %buffer StorageBuffer\n%unused = OpVariable %buffer StorageBuffer\n"
        "%main = OpFunction %void None %fn\n%l = OpLabel\n"
        "%at = OpAccessChain %word %used %zero\nOpStore %at %seven\nOpReturn\nOpFunctionEnd\n";
    Gpu g = { 0 };
    GpuBuffer b = { 0 };
    GpuProgram p = { .n_types = 1 };
    REQUIRE(!gpu_new(&g) && !gpu_buffer(&g, 4, &b) && !gpu_program_glsl(&g, text, &p));
    gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
    VkCommandBuffer c = gpu_begin(&g);
    gpu_bind(c, &p);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    CHECK_EQ_U64(*(uint32_t *)b.data, 7);
    gpu_program_free(&g, &p);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

TEST(base_and_indirect)
{
    Scale s = { 0 };
    GpuBuffer groups;
    REQUIRE(scale_new(&s));
    VkCommandBuffer c = scale_begin(&s, 1);
    VK(CmdDispatchBase)(c, 1, 0, 0, 2, 1, 1);
    VK(CmdDispatch)(c, 0, 1, 1);
    CHECK(gpu_finish(&s.gpu, c) == VK_SUCCESS);
    check_scaled(&s, 64, 192, 3, 1);
    REQUIRE(gpu_buffer(&s.gpu, 64, &groups) == VK_SUCCESS);
    c = scale_begin(&s, 2);
    VK(CmdUpdateBuffer)(c, groups.buffer, 16, 12, (uint32_t[]){ 4, 1, 1 });
    VK(CmdDispatchIndirect)(c, groups.buffer, 16);
    CHECK(gpu_finish(&s.gpu, c) == VK_SUCCESS);
    check_scaled(&s, 0, N, 3, 2);
    gpu_buffer_free(&s.gpu, &groups);
    scale_free(&s);
}

TEST(dynamic_offsets)
{
    static const VkDescriptorType types[] = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
                                              VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC };
    Scale s = { .program.types = types };
    REQUIRE(scale_new(&s));
    gpu_write(&s.gpu, s.program.set, 0, types[0], s.in.buffer, 0, 256);
    gpu_write(&s.gpu, s.program.set, 1, types[1], s.out.buffer, 0, 256);
    VkCommandBuffer c = scale_begin(&s, 0);
    for (uint32_t i = 0; i < 4; i += 2) {
        uint32_t offsets[] = { 256 * i, 256 * i };
        VK(CmdBindDescriptorSets)(c, VK_PIPELINE_BIND_POINT_COMPUTE, s.program.layout, 0, 1,
                                  &s.program.set, 2, offsets);
        VK(CmdDispatch)(c, 1, 1, 1);
    }
    CHECK(gpu_finish(&s.gpu, c) == VK_SUCCESS);
    for (int i = 0; i < N; i++)
        CHECK_EQ_U64(s.y[i], (uint64_t)(i / 64 % 2 ? 0 : i * 3));
    scale_free(&s);
}

TEST(push_descriptors_and_templates)
{
    Scale s = { .program.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT };
    REQUIRE(scale_new(&s));
    VkDescriptorBufferInfo infos[] = { { s.in.buffer, 0, VK_WHOLE_SIZE },
                                       { s.out.buffer, 0, VK_WHOLE_SIZE } };
    VkWriteDescriptorSet writes = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .descriptorCount = 2,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = infos };
    VkCommandBuffer c = scale_begin(&s, 9);
    VK(CmdPushDescriptorSetKHR)(c, VK_PIPELINE_BIND_POINT_COMPUTE, s.program.layout, 0, 1, &writes);
    VK(CmdDispatch)(c, 2, 1, 1);
    CHECK(gpu_finish(&s.gpu, c) == VK_SUCCESS);
    check_scaled(&s, 0, 128, 3, 9);
    VkDescriptorUpdateTemplateEntry entry = { 0, 0, 2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0,
                                              sizeof infos[0] };
    VkDescriptorUpdateTemplateCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
        .descriptorUpdateEntryCount = 1, .pDescriptorUpdateEntries = &entry,
        .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR,
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE, .pipelineLayout = s.program.layout };
    VkDescriptorUpdateTemplate t;
    REQUIRE(VK(CreateDescriptorUpdateTemplate)(s.gpu.device, &info, NULL, &t) == VK_SUCCESS);
    c = scale_begin(&s, 7);
    VK(CmdPushDescriptorSetWithTemplateKHR)(c, t, s.program.layout, 0, infos);
    VK(CmdDispatch)(c, 4, 1, 1);
    CHECK(gpu_finish(&s.gpu, c) == VK_SUCCESS);
    check_scaled(&s, 0, N, 3, 7);
    VK(DestroyDescriptorUpdateTemplate)(s.gpu.device, t, NULL);
    scale_free(&s);
}

/* What is pushed with one layout stays for another one of the same definition. */
TEST(pushed_descriptors_stay)
{
    Scale s = { .program.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT };
    REQUIRE(scale_new(&s));
    GpuProgram other = { .n_types = 2, .flags = s.program.flags, .spec = s.program.spec };
    REQUIRE(gpu_program_glsl(&s.gpu, scale, &other) == VK_SUCCESS);
    VkDescriptorBufferInfo infos[] = { { s.in.buffer, 0, VK_WHOLE_SIZE },
                                       { s.out.buffer, 0, VK_WHOLE_SIZE } };
    VkCommandBuffer c = scale_begin(&s, 2);
    for (uint32_t i = 0; i < 2; i++) {
        VkWriteDescriptorSet write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstBinding = i, .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &infos[i] };
        VK(CmdPushDescriptorSetKHR)(c, VK_PIPELINE_BIND_POINT_COMPUTE,
                                    i ? other.layout : s.program.layout, 0, 1, &write);
    }
    VK(CmdDispatch)(c, N / 64, 1, 1);
    CHECK(gpu_finish(&s.gpu, c) == VK_SUCCESS);
    check_scaled(&s, 0, N, 3, 2);
    gpu_program_free(&s.gpu, &other);
    scale_free(&s);
}

TEST(secondary_command_buffers)
{
    Scale s = { 0 };
    REQUIRE(scale_new(&s));
    VkCommandBuffer second;
    VkCommandBufferAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                         .commandPool = s.gpu.pool, .commandBufferCount = 1,
                                         .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY };
    VkCommandBufferInheritanceInfo inherit = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO };
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .pInheritanceInfo = &inherit };
    int add = 4;
    REQUIRE(VK(AllocateCommandBuffers)(s.gpu.device, &info, &second) == VK_SUCCESS);
    VK(BeginCommandBuffer)(second, &begin);
    gpu_bind(second, &s.program);
    VK(CmdPushConstants)(second, s.program.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &add);
    VK(CmdDispatch)(second, 4, 1, 1);
    CHECK(VK(EndCommandBuffer)(second) == VK_SUCCESS);
    VkCommandBuffer c = gpu_begin(&s.gpu);
    VK(CmdExecuteCommands)(c, 1, &second);
    VK(CmdFillBuffer)(c, s.out.buffer, 512, VK_WHOLE_SIZE, 0);
    CHECK(gpu_finish(&s.gpu, c) == VK_SUCCESS);
    check_scaled(&s, 0, 128, 3, 4);
    VK(FreeCommandBuffers)(s.gpu.device, s.gpu.pool, 1, &second);
    scale_free(&s);
}

/* k and the local size from the pipeline, by an inline module. */
TEST(specialisation_and_inline_module)
{
    static const VkSpecializationMapEntry entries[] = { { 0, 0, 4 }, { 1, 4, 4 }, { 77, 0, 4 } };
    static const int32_t values[] = { 32, -2 };
    VkSpecializationInfo spec = { 3, entries, sizeof values, values };
    Scale s = { .program.spec = &spec };
    if (getenv("HEDDLE_TEST_LOADER")) /* Debian 12's validation layer does not know the way */
        return;
    REQUIRE(scale_new(&s));
    size_t size = 0;
    uint32_t *words = gpu_spirv(scale, &size);
    VkShaderModuleCreateInfo module = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                        .codeSize = size, .pCode = words };
    VK(DestroyShaderModule)(s.gpu.device, s.program.module, NULL);
    VK(DestroyPipeline)(s.gpu.device, s.program.pipeline, NULL);
    s.program.module = VK_NULL_HANDLE;
    s.program.stage_next = &module;
    REQUIRE(gpu_program_pipeline(&s.gpu, &s.program) == VK_SUCCESS);
    free(words);
    VkCommandBuffer c = scale_begin(&s, 0);
    VK(CmdDispatch)(c, 2, 1, 1);
    CHECK(gpu_finish(&s.gpu, c) == VK_SUCCESS);
    for (int i = 0; i < N; i++)
        CHECK(s.y[i] == (i < 64 ? -2 * i : 0));
    scale_free(&s);
}

TEST(inline_uniform_blocks)
{
    static const VkDescriptorType types[] = { VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
                                              VK_DESCRIPTOR_TYPE_STORAGE_BUFFER };
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 2, .types = types };
    GpuBuffer out;
    static const char block_kernel[] =
        "#version 450\n"
        "layout(local_size_x = 4) in;\n"
        "layout(binding = 0) uniform Block { ivec4 v; int s; };\n"
        "layout(binding = 1) buffer Out { int y[]; };\n"
        "void main() { uint i = gl_LocalInvocationIndex; y[i] = v[i] + s; }\n";
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, block_kernel, &p) == VK_SUCCESS);
    REQUIRE(gpu_buffer(&g, 64, &out) == VK_SUCCESS);
    gpu_write(&g, p.set, 1, types[1], out.buffer, 0, 64);
    static const int data[] = { 1, 2, 3, 4, 10 };
    VkWriteDescriptorSetInlineUniformBlock block = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
        .dataSize = sizeof data, .pData = data };
    VkWriteDescriptorSet w = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .pNext = &block,
                               .dstSet = p.set, .descriptorCount = sizeof data,
                               .descriptorType = types[0] };
    VK(UpdateDescriptorSets)(g.device, 1, &w, 0, NULL);
    VkCommandBuffer c = gpu_begin(&g);
    gpu_bind(c, &p);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_U64(((int *)out.data)[i], (uint64_t)(i + 11));
    gpu_buffer_free(&g, &out);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

static const char by_address[] =
    "#version 450\n"
    "#extension GL_EXT_buffer_reference : require\n"
    "layout(local_size_x = 64) in;\n"
    "layout(buffer_reference, std430) buffer Ints { int v[]; };\n"
    "layout(push_constant) uniform Push { Ints a; Ints b; };\n"
    "void main() { uint i = gl_GlobalInvocationID.x; b.v[i] = a.v[i] + 1; }\n";

TEST(device_addresses)
{
    Gpu g = { 0 };
    GpuProgram p = { 0 };
    GpuBuffer in, out;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, by_address, &p) == VK_SUCCESS);
    REQUIRE(!gpu_buffer(&g, N * 4, &in) && !gpu_buffer(&g, N * 4, &out));
    VkBufferDeviceAddressInfo a = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                    .buffer = in.buffer }, b = a;
    b.buffer = out.buffer;
    uint64_t push[] = { VK(GetBufferDeviceAddress)(g.device, &a),
                        VK(GetBufferDeviceAddress)(g.device, &b) };
    for (int i = 0; i < N; i++)
        ((int *)in.data)[i] = i;
    VkCommandBuffer c = gpu_begin(&g);
    gpu_bind(c, &p);
    VK(CmdPushConstants)(c, p.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, push);
    VK(CmdDispatch)(c, N / 64, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    for (int i = 0; i < N; i++)
        CHECK_EQ_U64(((int *)out.data)[i], (uint64_t)i + 1);
    gpu_buffer_free(&g, &in);
    gpu_buffer_free(&g, &out);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

/* A subgroup's size is what the pipeline asks for. */
TEST(required_subgroup_size)
{
    static const char size[] =
        "#version 450\n"
        "#extension GL_KHR_shader_subgroup_basic : require\n"
        "layout(local_size_x = 128) in;\n"
        "layout(binding = 0) buffer Out { uint y[]; };\n"
        "void main() { y[gl_LocalInvocationIndex] = gl_SubgroupSize; }\n";
    Gpu g = { 0 };
    GpuBuffer out;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 512, &out) == VK_SUCCESS);
    for (uint32_t want = 8; want <= 128; want *= 2) {
        VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
            .requiredSubgroupSize = want };
        GpuProgram p = { .n_types = 1, .stage_next = &required };
        CHECK(gpu_program_glsl(&g, size, &p) == VK_SUCCESS);
        gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out.buffer, 0, VK_WHOLE_SIZE);
        VkCommandBuffer c = gpu_begin(&g);
        gpu_bind(c, &p);
        VK(CmdDispatch)(c, 1, 1, 1);
        CHECK(gpu_finish(&g, c) == VK_SUCCESS);
        CHECK_EQ_U64(((uint32_t *)out.data)[127], want);
        gpu_program_free(&g, &p);
    }
    gpu_buffer_free(&g, &out);
    gpu_free(&g);
}

/* To an image and back, with a part of another slice in between. */
TEST(images_are_copied)
{
    Gpu g = { 0 };
    GpuBuffer in, out;
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    REQUIRE(!gpu_buffer(&g, 4 * 4 * 2 * 4, &in) && !gpu_buffer(&g, 4 * 4 * 2 * 4, &out));
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_3D,
        .format = VK_FORMAT_R32_SFLOAT, .extent = { 4, 4, 2 }, .mipLevels = 2, .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT, .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT };
    VkImage image;
    REQUIRE(VK(CreateImage)(g.device, &info, NULL, &image) == VK_SUCCESS);
    VkMemoryRequirements need;
    VK(GetImageMemoryRequirements)(g.device, image, &need);
    CHECK(need.size >= 4 * 4 * 2 * 4 + 2 * 2 * 4);
    VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .allocationSize = need.size };
    VkDeviceMemory m;
    REQUIRE(VK(AllocateMemory)(g.device, &memory, NULL, &m) == VK_SUCCESS);
    VK(BindImageMemory)(g.device, image, m, 0);
    for (int i = 0; i < 32; i++)
        ((float *)in.data)[i] = (float)i;
    VkBufferImageCopy whole = { .imageSubresource = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 },
                                .imageExtent = { 4, 4, 2 } };
    VkImageCopy part = { .srcSubresource = whole.imageSubresource, .srcOffset = { 1, 1, 0 },
                         .dstSubresource = whole.imageSubresource, .dstOffset = { 2, 2, 1 },
                         .extent = { 2, 2, 1 } };
    VkImageMemoryBarrier ready = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER, .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT, .image = image,
        .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 2, 0, 1 } };
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdPipelineBarrier)(c, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                           0, NULL, 0, NULL, 1, &ready);
    VK(CmdCopyBufferToImage)(c, in.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &whole);
    VK(CmdCopyImage)(c, image, VK_IMAGE_LAYOUT_GENERAL, image, VK_IMAGE_LAYOUT_GENERAL, 1, &part);
    VK(CmdCopyImageToBuffer)(c, image, VK_IMAGE_LAYOUT_GENERAL, out.buffer, 1, &whole);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    for (int i = 0; i < 32; i++) {
        int x = i % 4, y = i / 4 % 4, z = i / 16;
        bool moved = z == 1 && x >= 2 && y >= 2;
        CHECK_NEAR(((float *)out.data)[i], moved ? (x - 1) + 4 * (y - 1) : i, 0);
    }
    VK(DestroyImage)(g.device, image, NULL);
    VK(FreeMemory)(g.device, m, NULL);
    gpu_buffer_free(&g, &in);
    gpu_buffer_free(&g, &out);
    gpu_free(&g);
}
