/* SPDX-License-Identifier: MIT
 *
 * The boundaries of descriptors whose offset comes with the binding of their set, by pointers that
 * are chosen among them and step from element to element, next to a descriptor of no buffer. What
 * is inside of the moved range is accessed exactly; what is outside reads as 0 and is not written,
 * though the buffer has bytes there.
 */
#include "gpu.h"

enum { LANES = 32, BYTES = 65536, AT = 1024, RANGE = 1012, UNIFORMS = 40, OUT = 61440 };

static const char text[] =
    "OpCapability Shader\nOpCapability VariablePointersStorageBuffer\n"
    "OpExtension \"SPV_KHR_variable_pointers\"\n"
    "OpExtension \"SPV_KHR_storage_buffer_storage_class\"\n"
    "OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\" %lid\n"
    "OpExecutionMode %main LocalSize 32 1 1\nOpDecorate %lid BuiltIn LocalInvocationIndex\n"
    "OpDecorate %o DescriptorSet 0\nOpDecorate %o Binding 0\n"
    "OpDecorate %a DescriptorSet 0\nOpDecorate %a Binding 1\n"
    "OpDecorate %c DescriptorSet 0\nOpDecorate %c Binding 2\n"
    "OpDecorate %z DescriptorSet 0\nOpDecorate %z Binding 3\n"
    "OpDecorate %words ArrayStride 4\nOpDecorate %p_word ArrayStride 4\n"
    "OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
    "OpDecorate %vectors ArrayStride 16\nOpDecorate %uniform Block\n"
    "OpMemberDecorate %uniform 0 Offset 0\nOpDecorate %push Block\n"
    "OpMemberDecorate %push 0 Offset 0\nOpMemberDecorate %push 1 Offset 4\n"
    "OpMemberDecorate %push 2 Offset 8\n"
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n"
    "%u32 = OpTypeInt 32 0\n%i32 = OpTypeInt 32 1\n%v4 = OpTypeVector %u32 4\n"
    "%n0 = OpConstant %u32 0\n%n1 = OpConstant %u32 1\n%n2 = OpConstant %u32 2\n"
    "%n3 = OpConstant %u32 3\n%n32 = OpConstant %u32 32\n%n64 = OpConstant %u32 64\n"
    "%words = OpTypeRuntimeArray %u32\n%block = OpTypeStruct %words\n"
    "%vectors = OpTypeArray %v4 %n64\n%uniform = OpTypeStruct %vectors\n"
    "%push = OpTypeStruct %i32 %i32 %u32\n"
    "%p_block = OpTypePointer StorageBuffer %block\n%p_word = OpTypePointer StorageBuffer %u32\n"
    "%p_uniform = OpTypePointer Uniform %uniform\n%p_part = OpTypePointer Uniform %u32\n"
    "%p_push = OpTypePointer PushConstant %push\n%p_int = OpTypePointer PushConstant %i32\n"
    "%p_flag = OpTypePointer PushConstant %u32\n%p_in = OpTypePointer Input %u32\n"
    "%o = OpVariable %p_block StorageBuffer\n%a = OpVariable %p_block StorageBuffer\n"
    "%z = OpVariable %p_block StorageBuffer\n%c = OpVariable %p_uniform Uniform\n"
    "%p = OpVariable %p_push PushConstant\n%lid = OpVariable %p_in Input\n"
    "%main = OpFunction %void None %fn\n%begin = OpLabel\n%l = OpLoad %u32 %lid\n"
    "%at_u = OpAccessChain %p_int %p %n0\n%u = OpLoad %i32 %at_u\n"
    "%at_s = OpAccessChain %p_int %p %n1\n%s = OpLoad %i32 %at_s\n%i = OpIAdd %i32 %s %l\n"
    "%at_w = OpAccessChain %p_flag %p %n2\n%writes = OpLoad %u32 %at_w\n"
    "%third = OpUMod %u32 %l %n3\n%to_none = OpIEqual %bool %third %n1\n"
    "%steps = OpIEqual %bool %third %n2\n"
    "%plain = OpAccessChain %p_word %a %n0 %i\n%row = OpAccessChain %p_word %a %n0 %u\n"
    "%stepped = OpPtrAccessChain %p_word %row %i\n%none = OpAccessChain %p_word %z %n0 %i\n"
    "%q1 = OpSelect %p_word %steps %stepped %plain\n%q = OpSelect %p_word %to_none %none %q1\n"
    "%x = OpLoad %u32 %q\n%out = OpAccessChain %p_word %o %n0 %l\nOpStore %out %x\n"
    "%part = OpAccessChain %p_part %c %n0 %i %n2\n%v = OpLoad %u32 %part\n"
    "%l2 = OpIAdd %u32 %l %n32\n%out2 = OpAccessChain %p_word %o %n0 %l2\nOpStore %out2 %v\n"
    "%does = OpINotEqual %bool %writes %n0\nOpSelectionMerge %end None\n"
    "OpBranchConditional %does %write %end\n"
    "%write = OpLabel\nOpStore %q %writes\nOpBranch %end\n"
    "%end = OpLabel\nOpReturn\nOpFunctionEnd\n";

typedef struct Push { int32_t u, s; uint32_t writes; } Push;

static const VkDescriptorType types[] = {
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC };

typedef struct World {
    Gpu gpu;
    GpuProgram program;
    GpuBuffer buffer;
} World;

static bool begin(World *w)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleModule *m = NULL;
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_SPIRV_ASM };
    size_t size = 0;
    *w = (World){ .gpu = { .robust = true },
                  .program = { .types = types, .n_types = COUNT_OF(types) } };
    bool good = !heddle_module_new(text, sizeof text - 1, "bounds", &o, &m, log);
    const uint32_t *words = good ? heddle_module_spirv(m, &size) : NULL;
    good = good && !gpu_new(&w->gpu) && !gpu_program(&w->gpu, words, size, &w->program) &&
           !gpu_buffer(&w->gpu, BYTES, &w->buffer);
    heddle_module_free(m);
    heddle_log_free(log);
    return good;
}

static void end(World *w)
{
    gpu_program_free(&w->gpu, &w->program);
    gpu_buffer_free(&w->gpu, &w->buffer);
    gpu_free(&w->gpu);
}

static bool dispatch(World *w, const uint32_t offsets[3], const Push *p)
{
    VkCommandBuffer c = gpu_begin(&w->gpu);
    VK(CmdBindPipeline)(c, VK_PIPELINE_BIND_POINT_COMPUTE, w->program.pipeline);
    VK(CmdBindDescriptorSets)(c, VK_PIPELINE_BIND_POINT_COMPUTE, w->program.layout, 0, 1,
                              &w->program.set, 3, offsets);
    VK(CmdPushConstants)(c, w->program.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof *p, p);
    VK(CmdDispatch)(c, 1, 1, 1);
    return gpu_finish(&w->gpu, c) == VK_SUCCESS;
}

/* The word `index` elements of `bytes` behind `at`, where these are inside of `range`. */
static uint32_t *word_at(uint32_t *data, uint32_t at, int64_t index, uint32_t bytes, uint32_t range)
{
    int64_t offset = index * bytes;
    return offset < 0 || offset + 4 > range ? NULL : data + (at + offset) / 4;
}

static void expect(const uint32_t *was, uint32_t *want, const uint32_t offsets[3], const Push *p)
{
    for (uint32_t l = 0; l < LANES; l++) {
        int64_t i = (int32_t)((uint32_t)p->s + l), u = l % 3 == 2 ? p->u : 0;
        const uint32_t *x = word_at((uint32_t *)was, AT + offsets[0], u + i, 4, RANGE);
        bool uniform = i >= 0 && i < UNIFORMS;
        want[OUT / 4 + l] = x && l % 3 != 1 ? *x : 0;
        want[OUT / 4 + LANES + l] = uniform ? was[(AT + offsets[1]) / 4 + i * 4 + 2] : 0;
    }
    for (uint32_t l = 0; l < LANES && p->writes; l++) {
        int64_t i = (int32_t)((uint32_t)p->s + l), u = l % 3 == 2 ? p->u : 0;
        uint32_t *x = word_at(want, AT + offsets[0], u + i, 4, RANGE);
        if (x && l % 3 != 1)
            *x = p->writes;
    }
}

TEST(moved_ranges)
{
    static const int32_t ends[] = { 0, -1, -40, RANGE / 4 - 32, RANGE / 4 - 5, RANGE / 4,
                                    UNIFORMS - 7, 1000, INT32_MAX - 3, INT32_MIN, 1 << 30,
                                    -(1 << 30) },
                         us[] = { 0, 3, -3, 1 << 30, INT32_MIN };
    static const uint32_t moves[][3] = { { 0, 0, 0 }, { 256, 4096, 0 }, { 40960, 512, 0 } };
    static uint32_t was[BYTES / 4], want[BYTES / 4];
    World w;
    REQUIRE(begin(&w));
    VkDescriptorSet set = w.program.set;
    gpu_write(&w.gpu, set, 0, types[0], w.buffer.buffer, OUT, 8 * LANES);
    gpu_write(&w.gpu, set, 1, types[1], w.buffer.buffer, AT, RANGE);
    gpu_write(&w.gpu, set, 2, types[2], w.buffer.buffer, AT, 16 * UNIFORMS);
    gpu_write(&w.gpu, set, 3, types[3], VK_NULL_HANDLE, 0, VK_WHOLE_SIZE);
    for (uint32_t k = 0; k < BYTES / 4; k++)
        was[k] = k * 2654435761u | 1;
    for (uint32_t n = 0; n < COUNT_OF(ends) * COUNT_OF(us) * COUNT_OF(moves); n++) {
        const uint32_t *offsets = moves[n % COUNT_OF(moves)];
        Push p = { us[n / COUNT_OF(moves) % COUNT_OF(us)],
                   ends[n / COUNT_OF(moves) / COUNT_OF(us)], n / 2 % 2 ? 77 : 0 };
        memcpy(w.buffer.data, was, BYTES);
        memcpy(want, was, BYTES);
        expect(was, want, offsets, &p);
        if (!dispatch(&w, offsets, &p) || memcmp(w.buffer.data, want, BYTES))
            test_fail(__FILE__, __LINE__, "offsets %u and %u, u %d, s %d, writes %u", offsets[0],
                      offsets[1], p.u, p.s, p.writes);
    }
    end(&w);
}
