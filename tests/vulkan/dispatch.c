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
    gpu_bind(c, &s->program);
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
