/* SPDX-License-Identifier: MIT
 *
 * The public API: wrong use gets a result and a diagnostic, right use works on both devices, from
 * several threads too.
 */
#include "base/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/internal.h"

/* data[i] = 2 * data[i] + push.add, by one invocation an element; specialisation constant 3 is
 * 2. */
static const char kernel_text[] =
    "OpCapability Shader\n"
    "OpMemoryModel Logical GLSL450\n"
    "OpEntryPoint GLCompute %main \"main\" %id %buffer %push\n"
    "OpExecutionMode %main LocalSize 8 1 1\n"
    "OpName %buffer \"numbers\"\n"
    "OpName %two \"factor\"\n"
    "OpDecorate %id BuiltIn GlobalInvocationId\n"
    "OpDecorate %array ArrayStride 4\n"
    "OpDecorate %block Block\n"
    "OpMemberDecorate %block 0 Offset 0\n"
    "OpDecorate %pushes Block\n"
    "OpMemberDecorate %pushes 0 Offset 0\n"
    "OpDecorate %buffer DescriptorSet 2\n"
    "OpDecorate %buffer Binding 5\n"
    "OpDecorate %two SpecId 3\n"
    "%void = OpTypeVoid\n"
    "%fn = OpTypeFunction %void\n"
    "%uint = OpTypeInt 32 0\n"
    "%zero = OpConstant %uint 0\n"
    "%two = OpSpecConstant %uint 2\n"
    "%v3 = OpTypeVector %uint 3\n"
    "%v3in = OpTypePointer Input %v3\n"
    "%id = OpVariable %v3in Input\n"
    "%array = OpTypeRuntimeArray %uint\n"
    "%block = OpTypeStruct %array\n"
    "%blockp = OpTypePointer StorageBuffer %block\n"
    "%uintp = OpTypePointer StorageBuffer %uint\n"
    "%buffer = OpVariable %blockp StorageBuffer\n"
    "%pushes = OpTypeStruct %uint\n"
    "%pushesp = OpTypePointer PushConstant %pushes\n"
    "%pushp = OpTypePointer PushConstant %uint\n"
    "%push = OpVariable %pushesp PushConstant\n"
    "%main = OpFunction %void None %fn\n"
    "%entry = OpLabel\n"
    "%all = OpLoad %v3 %id\n"
    "%i = OpCompositeExtract %uint %all 0\n"
    "%p = OpAccessChain %uintp %buffer %zero %i\n"
    "%x = OpLoad %uint %p\n"
    "%q = OpAccessChain %pushp %push %zero\n"
    "%a = OpLoad %uint %q\n"
    "%xx = OpIMul %uint %x %two\n"
    "%y = OpIAdd %uint %xx %a\n"
    "OpStore %p %y\n"
    "OpReturn\n"
    "OpFunctionEnd\n";

static HeddleModule *module(void)
{
    HeddleModule *m;
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    heddle_module_new(kernel_text, sizeof kernel_text - 1, "kernel", NULL, &m, log);
    heddle_log_free(log);
    return m;
}

static HeddleDevice *device(HeddleDeviceKind kind)
{
    HeddleDevice *d;
    heddle_device_new(&(HeddleDeviceOptions){ .kind = kind, .threads = 2 }, &d, NULL);
    return d;
}

/* SPV_EXT_shader_64bit_indexing: the array's length at its front, the index of an element behind
 * 4 GiB in it. */
static const char far_text[] =
    "OpCapability Shader\nOpCapability Int64\nOpCapability Shader64BitIndexingEXT\n"
    "OpExtension \"SPV_EXT_shader_64bit_indexing\"\n"
    "OpMemoryModel Logical GLSL450\n"
    "OpEntryPoint GLCompute %main \"main\" %id %buffer\n"
    "OpExecutionMode %main LocalSize 8 1 1\n"
    "OpExecutionMode %main Shader64BitIndexingEXT\n"
    "OpDecorate %id BuiltIn GlobalInvocationId\n"
    "OpDecorate %array ArrayStride 8\n"
    "OpDecorate %block Block\n"
    "OpMemberDecorate %block 0 Offset 0\n"
    "OpDecorate %buffer DescriptorSet 0\n"
    "OpDecorate %buffer Binding 0\n"
    "%void = OpTypeVoid\n"
    "%fn = OpTypeFunction %void\n"
    "%uint = OpTypeInt 32 0\n"
    "%ulong = OpTypeInt 64 0\n"
    "%zero = OpConstant %uint 0\n"
    "%far = OpConstant %ulong 0x20000003\n"
    "%v3 = OpTypeVector %uint 3\n"
    "%v3in = OpTypePointer Input %v3\n"
    "%id = OpVariable %v3in Input\n"
    "%array = OpTypeRuntimeArray %ulong\n"
    "%block = OpTypeStruct %array\n"
    "%blockp = OpTypePointer StorageBuffer %block\n"
    "%ulongp = OpTypePointer StorageBuffer %ulong\n"
    "%buffer = OpVariable %blockp StorageBuffer\n"
    "%main = OpFunction %void None %fn\n"
    "%entry = OpLabel\n"
    "%all = OpLoad %v3 %id\n"
    "%i = OpCompositeExtract %uint %all 0\n"
    "%wide = OpUConvert %ulong %i\n"
    "%at = OpIAdd %ulong %wide %far\n"
    "%p = OpAccessChain %ulongp %buffer %zero %at\n"
    "OpStore %p %at\n"
    "%q = OpAccessChain %ulongp %buffer %zero %i\n"
    "%n = OpArrayLength %ulong %buffer 0\n"
    "OpStore %q %n\n"
    "OpReturn\n"
    "OpFunctionEnd\n";

TEST(buffers_beyond_4_gib)
{
    enum { WORDS = 0x20000100 }; /* of 8 bytes */
    for (int kind = HEDDLE_DEVICE_CPU; kind <= HEDDLE_DEVICE_REFERENCE; kind++) {
        size_t size = (size_t)WORDS * 8;
        uint64_t *far = mmap(NULL, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (far == MAP_FAILED)
            return; /* a machine that gives no such addresses */
        HeddleModule *m = NULL;
        HeddleKernel *k = NULL;
        HeddleBuffer *b = NULL;
        HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
        HeddleDevice *d = device((HeddleDeviceKind)kind);
        CHECK(heddle_module_new(far_text, sizeof far_text - 1, "far", NULL, &m, log) == HEDDLE_OK);
        CHECK(heddle_kernel_new(d, m, NULL, &k, log) == HEDDLE_OK);
        CHECK(heddle_buffer_wrap(d, far, size, &b, log) == HEDDLE_OK);
        HeddleDispatch dispatch = { .groups = { 1, 1, 1 },
                                    .bindings = &(HeddleBinding){ .buffer = b },
                                    .n_bindings = 1 };
        CHECK(heddle_dispatch(k, &dispatch, NULL, log) == HEDDLE_OK);
        for (uint32_t i = 0; i < 8; i++)
            CHECK(far[i] == WORDS && far[0x20000003 + i] == 0x20000003 + i);
        CHECK(!far[0x20000002] && !far[3 + 8]);
        heddle_buffer_free(b);
        heddle_kernel_free(k);
        heddle_module_free(m);
        heddle_device_free(d);
        heddle_log_free(log);
        munmap(far, size);
    }
}

/* Lines of a tensor that lie 512 MiB apart, of which the last are beyond its ROWS or all inside: an
 * element's index has 32 bits, its address has not. */
static const char far_tensor[] =
    "#version 460\n"
    "#pragma use_vulkan_memory_model\n"
    "#extension GL_KHR_cooperative_matrix : require\n"
    "#extension GL_KHR_memory_scope_semantics : require\n"
    "#extension GL_NV_cooperative_matrix2 : require\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    "layout(local_size_x = 32) in;\n"
    "layout(constant_id = 0) const uint ROWS = 20;\n"
    "layout(binding = 0) buffer Tensor { uint tensor[]; };\n"
    "layout(binding = 1) buffer Out { uint o[]; };\n"
    "void main()\n"
    "{\n"
    "    const int clamp = gl_CooperativeMatrixClampModeConstantNV;\n"
    "    coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;\n"
    "    tensorLayoutNV<2, clamp> t = createTensorLayoutNV(2, clamp);\n"
    "    t = setTensorLayoutDimensionNV(t, ROWS, 16);\n"
    "    t = setTensorLayoutStrideNV(t, 0x8000000, 1);\n"
    "    t = sliceTensorLayoutNV(t, 4, 16, 0, 16);\n"
    "    coopMatLoadTensorNV(m, tensor, 0, t);\n"
    "    coopMatStore(m, o, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
    "}\n";

static void load_far(HeddleDeviceKind kind, uint32_t *far, size_t size, uint32_t rows, bool robust)
{
    _Alignas(16) uint32_t out[256] = { 0 };
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleBuffer *b[2] = { NULL };
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *d = device(kind);
    HeddleSpecValue spec = { 0, rows };
    HeddleKernelOptions options = { .specs = &spec, .n_specs = 1, .robust = robust };
    CHECK(heddle_module_new(far_tensor, sizeof far_tensor - 1, "far.comp", NULL, &m, log) ==
          HEDDLE_OK);
    CHECK(heddle_kernel_new(d, m, &options, &k, log) == HEDDLE_OK);
    CHECK(heddle_buffer_wrap(d, far, size, &b[0], log) == HEDDLE_OK);
    CHECK(heddle_buffer_wrap(d, out, sizeof out, &b[1], log) == HEDDLE_OK);
    HeddleBinding bindings[2] = { { .buffer = b[0] }, { .binding = 1, .buffer = b[1] } };
    HeddleDispatch dispatch = { .groups = { 1, 1, 1 }, .bindings = bindings, .n_bindings = 2 };
    CHECK(heddle_dispatch(k, &dispatch, NULL, log) == HEDDLE_OK);
    for (uint32_t r = 0; r < 16; r++)
        for (uint32_t c = 0; c < 16; c++)
            CHECK(out[r * 16 + c] == (4 + r < rows ? 16 * r + c + 1 : 0));
    heddle_buffer_free(b[0]);
    heddle_buffer_free(b[1]);
    heddle_kernel_free(k);
    heddle_module_free(m);
    heddle_device_free(d);
    heddle_log_free(log);
}

TEST(tensors_beyond_4_gib)
{
    const size_t line = 0x20000000, size = 20 * line;
    uint32_t *far = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far == MAP_FAILED)
        return; /* a machine that gives no such addresses */
    for (uint32_t r = 0; r < 16; r++)
        for (uint32_t c = 0; c < 16; c++)
            far[(4 + r) * line / 4 + c] = 16 * r + c + 1;
    for (int kind = HEDDLE_DEVICE_CPU; kind <= HEDDLE_DEVICE_REFERENCE; kind++)
        for (int robust = 0; robust < 2; robust++) {
            load_far((HeddleDeviceKind)kind, far, size, 20, robust); /* a tile in memory */
            load_far((HeddleDeviceKind)kind, far, size, 15, robust); /* line by line */
        }
    munmap(far, size);
}

TEST(languages)
{
    static const struct {
        const char *text, *name;
        HeddleLanguage language;
    } rows[] = {
        { "\x03\x02\x23\x07", "x.comp", HEDDLE_LANGUAGE_SPIRV },
        { "\x07\x23\x02\x03", NULL, HEDDLE_LANGUAGE_SPIRV },
        { "#version 450\n", "x.spv", HEDDLE_LANGUAGE_GLSL },
        { "// a kernel\n/* OpNop */ #version 450\n", NULL, HEDDLE_LANGUAGE_GLSL },
        { "; SPIR-V\n", NULL, HEDDLE_LANGUAGE_SPIRV_ASM },
        { "  OpCapability Shader\n", "x.glsl", HEDDLE_LANGUAGE_SPIRV_ASM },
        { "%1 = OpTypeVoid\n", NULL, HEDDLE_LANGUAGE_SPIRV_ASM },
        { "void main() {}", "x.comp", HEDDLE_LANGUAGE_GLSL },
        { "void main() {}", "x.c", HEDDLE_LANGUAGE_AUTO },
        { "/* no end", NULL, HEDDLE_LANGUAGE_AUTO },
        { "", "comp", HEDDLE_LANGUAGE_AUTO },
        { "", "x.spvasm", HEDDLE_LANGUAGE_SPIRV_ASM },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK(heddle_language_of(rows[i].text, strlen(rows[i].text), rows[i].name) ==
              rows[i].language);
    CHECK(heddle_language_of(NULL, 0, NULL) == HEDDLE_LANGUAGE_AUTO);
}

TEST(null_arguments)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleDevice *d = (HeddleDevice *)1;
    HeddleModule *m;
    HeddleKernel *k;
    HeddleBuffer *b;
    HeddleArray *a;
    char bytes[64];
    HeddleResult wrong[] = {
        heddle_device_new(NULL, NULL, log),
        heddle_device_new(&(HeddleDeviceOptions){ .kind = (HeddleDeviceKind)7 }, &d, log),
        heddle_module_new(NULL, 0, "x", NULL, &m, log),
        heddle_module_new("x", 1, "x", NULL, NULL, log),
        heddle_module_from_file(NULL, NULL, &m, log),
        heddle_kernel_new(NULL, NULL, NULL, &k, log),
        heddle_buffer_new(NULL, 4, &b, log),
        heddle_buffer_wrap(NULL, bytes, 4, &b, log),
        heddle_dispatch(NULL, NULL, NULL, log),
        heddle_array_new((HeddleType)99, 0, NULL, &a, log),
        heddle_array_new(HEDDLE_F32, 99, NULL, &a, log),
        heddle_array_new(HEDDLE_F32, 1, NULL, &a, log),
        heddle_array_read(NULL, &a, log),
        heddle_array_write(NULL, "x", log),
        heddle_array_compare(NULL, NULL, 0, NULL, log),
        heddle_array_from_spec(NULL, &a, log),
        heddle_array_parse_npy(NULL, 0, NULL, &a, log),
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        CHECK(wrong[i] == HEDDLE_ERROR_ARGUMENT);
    CHECK_EQ_U64(heddle_log_errors(log), COUNT_OF(wrong));
    CHECK(d == NULL); /* by the second call */
    heddle_device_free(NULL);
    heddle_module_free(NULL);
    heddle_kernel_free(NULL);
    heddle_buffer_free(NULL);
    heddle_array_free(NULL);
    heddle_log_clear(log);
    CHECK(heddle_log_get(log, 0) == NULL);
    heddle_log_free(log);
    heddle_log_free(NULL);
}

TEST(buffers)
{
    HeddleDevice *d = device(HEDDLE_DEVICE_REFERENCE);
    HeddleBuffer *b;
    _Alignas(16) char bytes[64] = "mine";
    REQUIRE(d);
    CHECK(heddle_buffer_new(d, 0, &b, NULL) == HEDDLE_ERROR_ARGUMENT && !b);
    CHECK(heddle_buffer_new(d, UINT64_MAX, &b, NULL) == HEDDLE_ERROR_MEMORY && !b);
    CHECK(heddle_buffer_wrap(d, bytes + 4, 8, &b, NULL) == HEDDLE_ERROR_ARGUMENT && !b);
    REQUIRE(heddle_buffer_wrap(d, bytes, sizeof bytes, &b, NULL) == HEDDLE_OK);
    CHECK(heddle_buffer_data(b) == bytes);
    heddle_buffer_free(b);
    CHECK_STR(bytes, "mine");
    for (uint64_t size = 1; size < 10000000; size = size * 7 + 1) {
        REQUIRE(heddle_buffer_new(d, size, &b, NULL) == HEDDLE_OK);
        char *p = heddle_buffer_data(b);
        CHECK((uintptr_t)p % 64 == 0 && p[0] == 0 && p[size - 1] == 0);
        p[size - 1] = 1;
        CHECK_EQ_U64(heddle_buffer_size(b), size);
        heddle_buffer_free(b);
    }
    heddle_device_free(d);
}

TEST(modules_that_are_none)
{
    static const char *const texts[] = { "", "nonsense", "\x03\x02\x23\x07", "OpNop x y z",
                                         "%1 = OpTypeInt 32" };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        HeddleLog *log = heddle_log_new(NULL, NULL);
        HeddleModule *m;
        CHECK(heddle_module_new(texts[i], strlen(texts[i]), "x", NULL, &m, log) ==
              HEDDLE_ERROR_SOURCE);
        CHECK(m == NULL);
        CHECK(heddle_log_errors(log) > 0);
        CHECK_CONTAINS(heddle_log_get(log, 0)->text, "error: ");
        heddle_log_free(log);
    }
}

TEST(reflection)
{
    HeddleModule *m = module();
    REQUIRE(m);
    REQUIRE(heddle_module_n_entry_points(m) == 1);
    const HeddleKernelInfo *info = heddle_module_entry_point(m, 0);
    CHECK(heddle_module_entry_point(m, 1) == NULL);
    CHECK_STR(info->entry, "main");
    CHECK_EQ_U64(info->local_size[0], 8);
    CHECK_EQ_U64(info->push_size, 4);
    REQUIRE(info->n_bindings == 1);
    CHECK_EQ_U64(info->bindings[0].set, 2);
    CHECK_EQ_U64(info->bindings[0].binding, 5);
    CHECK_STR(info->bindings[0].name, "numbers");
    CHECK(info->bindings[0].written);
    CHECK(info->bindings[0].element == HEDDLE_U32);
    CHECK_EQ_U64(info->bindings[0].element_stride, 4);
    CHECK_EQ_U64(info->bindings[0].static_size, 4);
    REQUIRE(info->n_specs == 1);
    CHECK_EQ_U64(info->specs[0].id, 3);
    CHECK_STR(info->specs[0].name, "factor");
    CHECK_EQ_U64(info->specs[0].bits, 2);
    size_t size;
    CHECK(heddle_module_spirv(m, &size)[0] == 0x07230203 && size > 100);
    char *text = heddle_module_disassemble(m, true);
    CHECK_CONTAINS(text, "OpName %numbers \"numbers\"");
    free(text);
    heddle_module_free(m);
}

TEST(kernels_refused)
{
    HeddleModule *m = module();
    HeddleDevice *cpu = device(HEDDLE_DEVICE_CPU), *reference = device(HEDDLE_DEVICE_REFERENCE);
    HeddleKernel *k;
    REQUIRE(m && cpu && reference);
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleKernelOptions o = { .entry = "other" };
    CHECK(heddle_kernel_new(cpu, m, &o, &k, log) == HEDDLE_ERROR_SOURCE && !k);
    o = (HeddleKernelOptions){ .subgroup_size = 12 };
    CHECK(heddle_kernel_new(cpu, m, &o, &k, log) == HEDDLE_ERROR_UNSUPPORTED && !k);
    o = (HeddleKernelOptions){ .check = true };
    CHECK(heddle_kernel_new(cpu, m, &o, &k, log) == HEDDLE_ERROR_UNSUPPORTED && !k);
    o = (HeddleKernelOptions){ .emit = HEDDLE_EMIT_LLVM };
    CHECK(heddle_kernel_new(reference, m, &o, &k, log) == HEDDLE_ERROR_UNSUPPORTED && !k);
    o = (HeddleKernelOptions){ .n_specs = 1 };
    CHECK(heddle_kernel_new(cpu, m, &o, &k, log) == HEDDLE_ERROR_ARGUMENT && !k);
    CHECK(heddle_log_errors(log) >= 5);
    heddle_log_clear(log);
    o = (HeddleKernelOptions){ .n_specs = 1, .specs = &(HeddleSpecValue){ .id = 77 } };
    CHECK(heddle_kernel_new(reference, m, &o, &k, log) == HEDDLE_OK);
    CHECK_EQ_U64(heddle_log_errors(log), 0);
    REQUIRE(heddle_log_count(log) == 1);
    CHECK(heddle_log_get(log, 0)->severity == HEDDLE_WARNING);
    heddle_kernel_free(k);
    heddle_log_free(log);
    heddle_device_free(cpu);
    heddle_device_free(reference);
    heddle_module_free(m);
}

/* Loads a broken module, with and without the checks, and asks it all there is to ask. */
static void load_broken(const void *bytes, size_t size)
{
    for (int unchecked = 0; unchecked < 2; unchecked++) {
        HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_SPIRV, .unchecked = unchecked };
        HeddleLog *log = heddle_log_new(NULL, NULL);
        HeddleModule *m;
        HeddleResult r = heddle_module_new(bytes, size, "broken", &o, &m, log);
        CHECK((r == HEDDLE_OK) == (m != NULL));
        CHECK((r == HEDDLE_OK) == (heddle_log_errors(log) == 0));
        if (m)
            free(heddle_module_disassemble(m, true));
        heddle_module_free(m);
        heddle_log_free(log);
    }
}

TEST(broken_modules)
{
    HeddleModule *m = module();
    REQUIRE(m);
    size_t size;
    const uint32_t *words = heddle_module_spirv(m, &size);
    for (size_t n = 0; n < size; n++) {
        unsigned char *copy = malloc(size); /* of its own, so that the sanitizer sees its end */
        memcpy(copy, words, size);
        load_broken(copy, n);
        copy[n] ^= (unsigned char)(1 << n % 8);
        load_broken(copy, size);
        copy[n] = (unsigned char)(n * 37);
        load_broken(copy, size);
        free(copy);
    }
    heddle_module_free(m);
}

typedef struct Job {
    HeddleDevice *device;
    HeddleKernel *kernel;
    bool good;
} Job;

/* Runs the kernel on data of its own. */
static bool run(HeddleDevice *d, HeddleKernel *k, uint32_t factor)
{
    _Alignas(64) uint32_t data[64];
    uint32_t add = 5;
    HeddleBuffer *b;
    for (uint32_t i = 0; i < 64; i++)
        data[i] = i;
    if (heddle_buffer_wrap(d, data, sizeof data, &b, NULL))
        return false;
    HeddleBinding binding = { .set = 2, .binding = 5, .buffer = b, .offset = 64, .size = 128 };
    HeddleDispatch dispatch = { .groups = { 4, 0, 0 }, .bindings = &binding, .n_bindings = 1,
                                .push = &add, .push_size = 4 };
    bool good = heddle_dispatch(k, &dispatch, NULL, NULL) == HEDDLE_OK;
    heddle_buffer_free(b);
    for (uint32_t i = 0; i < 64; i++)
        good &= data[i] == (i >= 16 && i < 48 ? factor * i + 5 : i);
    return good;
}

static void *thread(void *user)
{
    Job *j = user;
    j->good = true;
    for (int i = 0; i < 20; i++)
        j->good &= run(j->device, j->kernel, 3);
    return NULL;
}

static void run_on(HeddleDeviceKind kind)
{
    HeddleModule *m = module();
    HeddleDevice *d = device(kind);
    HeddleKernel *plain = NULL, *special = NULL;
    REQUIRE(m && d);
    HeddleKernelOptions o = { .n_specs = 1, .specs = &(HeddleSpecValue){ .id = 3, .bits = 3 } };
    CHECK(heddle_kernel_new(d, m, NULL, &plain, NULL) == HEDDLE_OK);
    CHECK(heddle_kernel_new(d, m, &o, &special, NULL) == HEDDLE_OK);
    heddle_module_free(m); /* kernels keep nothing of it */
    REQUIRE(plain && special);
    CHECK_EQ_U64(heddle_kernel_info(special)->specs[0].bits, 3);
    CHECK(run(d, plain, 2));
    Job jobs[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (Job){ d, special, false };
        pthread_create(&threads[i], NULL, thread, &jobs[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(jobs[i].good);
    }
    heddle_kernel_free(plain);
    heddle_kernel_free(special);
    heddle_device_free(d);
}

TEST(runs_on_cpu) { run_on(HEDDLE_DEVICE_CPU); }
TEST(runs_on_reference) { run_on(HEDDLE_DEVICE_REFERENCE); }

TEST(dispatches_refused)
{
    HeddleModule *m = module();
    HeddleDevice *d = device(HEDDLE_DEVICE_REFERENCE);
    HeddleKernel *k;
    HeddleBuffer *b;
    uint32_t push[4] = { 0 };
    REQUIRE(m && d && !heddle_kernel_new(d, m, NULL, &k, NULL) &&
            !heddle_buffer_new(d, 256, &b, NULL));
    static const struct {
        uint32_t set;
        uint64_t offset, size;
        size_t push_size;
        const char *message;
    } rows[] = {
        { 0, 0, 0, 4, "no buffer is bound to set 2, binding 5 ('numbers')" },
        { 2, 8, 0, 4, "multiple of 16" },
        { 2, 256, 0, 4, "do not fit" },
        { 2, 16, 256, 4, "do not fit" },
        { 2, 16, UINT64_MAX, 4, "do not fit" },
        { 2, 0, 0, 3, "4 bytes of push constants, 3 are given" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        HeddleLog *log = heddle_log_new(NULL, NULL);
        HeddleBinding binding = { .set = rows[i].set, .binding = 5, .buffer = b,
                                  .offset = rows[i].offset, .size = rows[i].size };
        HeddleDispatch dispatch = { .bindings = &binding, .n_bindings = 1, .push = push,
                                    .push_size = rows[i].push_size };
        CHECK(heddle_dispatch(k, &dispatch, NULL, log) == HEDDLE_ERROR_BINDING);
        REQUIRE(heddle_log_errors(log) == 1);
        CHECK_CONTAINS(heddle_log_get(log, 0)->message, rows[i].message);
        heddle_log_free(log);
    }
    heddle_buffer_free(b);
    heddle_kernel_free(k);
    heddle_device_free(d);
    heddle_module_free(m);
}

static void count_report(void *user, const HeddleDiagnostic *d)
{
    *(size_t *)user += d->severity == HEDDLE_ERROR;
}

TEST(logs)
{
    size_t told = 0;
    HeddleLog *log = heddle_log_new(count_report, &told);
    HeddleArray *a;
    for (int i = 0; i < 50; i++)
        heddle_array_from_spec("zeros:f32[x]", &a, log);
    CHECK_EQ_U64(told, 50);
    CHECK_EQ_U64(heddle_log_count(log), 50);
    const HeddleDiagnostic *first = heddle_log_get(log, 0);
    CHECK_STR(first->text, "error: 'zeros:f32[x]': a dimension expected at character 11");
    CHECK(first->file == NULL && first->line == 0 && first->rule == NULL);
    heddle_log_free(log);
}

TEST(names)
{
    CHECK_STR(heddle_result_name(HEDDLE_ERROR_BINDING), "HEDDLE_ERROR_BINDING");
    CHECK_STR(heddle_result_name((HeddleResult)5), "unknown result");
    CHECK(strlen(heddle_version()) >= 5);
}
