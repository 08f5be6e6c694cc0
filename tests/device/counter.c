/* SPDX-License-Identifier: MIT
 *
 * A device that is none of heddle's, through the public header: what device.h asks of one is
 * enough.
 */
#include "base/test.h"

#include "counter.h"
#include "runtime/internal.h"

static const char text[] =
    "OpCapability Shader\n"
    "OpMemoryModel Logical GLSL450\n"
    "OpEntryPoint GLCompute %main \"main\" %buffer\n"
    "OpExecutionMode %main LocalSize 8 1 1\n"
    "OpDecorate %array ArrayStride 4\n"
    "OpDecorate %block Block\n"
    "OpMemberDecorate %block 0 Offset 0\n"
    "OpDecorate %buffer DescriptorSet 1\n"
    "OpDecorate %buffer Binding 2\n"
    "%void = OpTypeVoid\n"
    "%fn = OpTypeFunction %void\n"
    "%uint = OpTypeInt 32 0\n"
    "%zero = OpConstant %uint 0\n"
    "%array = OpTypeRuntimeArray %uint\n"
    "%block = OpTypeStruct %array\n"
    "%blockp = OpTypePointer StorageBuffer %block\n"
    "%uintp = OpTypePointer StorageBuffer %uint\n"
    "%buffer = OpVariable %blockp StorageBuffer\n"
    "%main = OpFunction %void None %fn\n"
    "%entry = OpLabel\n"
    "%p = OpAccessChain %uintp %buffer %zero %zero\n"
    "OpStore %p %zero\n"
    "OpReturn\n"
    "OpFunctionEnd\n";
enum { INSTRUCTIONS = 24 };

typedef struct Fixture {
    HeddleLog *log;
    HeddleDevice *device;
    HeddleModule *module;
    HeddleKernel *kernel;
} Fixture;

static Fixture fixture(void)
{
    Fixture f = { .log = heddle_log_new(NULL, NULL) };
    HeddleDeviceOptions o = { .ordinal = 1 };
    CHECK(device_new(&counter_ops, &o, &f.device, f.log) == HEDDLE_OK);
    CHECK(heddle_module_new(text, sizeof text - 1, "text", NULL, &f.module, f.log) == HEDDLE_OK);
    CHECK(heddle_kernel_new(f.device, f.module, NULL, &f.kernel, f.log) == HEDDLE_OK);
    return f;
}

static void fixture_free(Fixture *f)
{
    heddle_kernel_free(f->kernel);
    heddle_module_free(f->module);
    heddle_device_free(f->device);
    heddle_log_free(f->log);
}

static HeddleDispatch dispatch_to(const HeddleBinding *b, uint32_t groups)
{
    return (HeddleDispatch){ .groups = { groups, 2, 1 }, .bindings = b, .n_bindings = 1 };
}

TEST(what_it_says_of_itself)
{
    Fixture f = fixture();
    const HeddleDeviceInfo *info = heddle_device_info(f.device);
    CHECK(info->kind == HEDDLE_N_DEVICE_KINDS);
    CHECK_STR(info->kind_name, "counter");
    CHECK_STR(info->name, "the second counter");
    CHECK_EQ_U64(info->ordinal, 1);
    CHECK_EQ_U64(heddle_kernel_info(f.kernel)->subgroup_size, 4);
    HeddleDevice *third;
    CHECK(device_new(&counter_ops, &(HeddleDeviceOptions){ .ordinal = 2 }, &third, f.log) ==
          HEDDLE_ERROR_UNSUPPORTED);
    fixture_free(&f);
}

TEST(what_it_lacks_is_refused)
{
    Fixture f = fixture();
    HeddleKernel *k;
    HeddleBuffer *b;
    _Alignas(16) char data[16];
    CHECK(heddle_kernel_new(f.device, f.module, &(HeddleKernelOptions){ .check = true }, &k,
                            f.log) == HEDDLE_ERROR_UNSUPPORTED);
    CHECK(heddle_kernel_new(f.device, f.module, &(HeddleKernelOptions){ .subgroup_size = 32 }, &k,
                            f.log) == HEDDLE_ERROR_UNSUPPORTED);
    CHECK(heddle_kernel_new(f.device, f.module,
                            &(HeddleKernelOptions){ .emit = HEDDLE_EMIT_LLVM }, &k, f.log) ==
          HEDDLE_ERROR_UNSUPPORTED);
    CHECK(heddle_buffer_wrap(f.device, data, sizeof data, &b, f.log) == HEDDLE_ERROR_UNSUPPORTED);
    CHECK(heddle_buffer_new(f.device, COUNTER_MEMORY + 1, &b, f.log) == HEDDLE_ERROR_MEMORY);
    fixture_free(&f);
}

TEST(it_counts_in_memory_that_nobody_sees)
{
    Fixture f = fixture();
    HeddleBuffer *b;
    REQUIRE(heddle_buffer_new_placed(f.device, 64, HEDDLE_PLACEMENT_DEVICE, &b, f.log) ==
            HEDDLE_OK);
    CHECK(!heddle_buffer_data(b));
    CHECK_EQ_U64(heddle_buffer_address(b), COUNTER_BASE);
    uint64_t sum = 1000;
    CHECK(heddle_buffer_write(b, 16, &sum, sizeof sum, f.log) == HEDDLE_OK);
    HeddleBinding binding = { .set = 1, .binding = 2, .buffer = b, .offset = 16 };
    HeddleDispatch d = dispatch_to(&binding, 3);
    HeddleReport report = { 0 };
    CHECK(heddle_dispatch(f.kernel, &d, &report, f.log) == HEDDLE_OK);
    CHECK(heddle_buffer_read(b, 16, &sum, sizeof sum, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(sum, 1000 + 6 * INSTRUCTIONS);
    CHECK_NEAR(report.seconds, 1e-9 * COUNTER_TICK, 1e-12);
    heddle_buffer_free(b);
    fixture_free(&f);
}

TEST(its_queue_waits_until_somebody_does)
{
    Fixture f = fixture();
    HeddleBuffer *b;
    HeddleQueue *q;
    HeddleReport reports[3] = { 0 };
    REQUIRE(heddle_buffer_new(f.device, 64, &b, f.log) == HEDDLE_OK);
    REQUIRE(heddle_queue_new(f.device, &q, f.log) == HEDDLE_OK);
    const uint64_t *sum = heddle_buffer_data(b);
    HeddleBinding binding = { .set = 1, .binding = 2, .buffer = b };
    for (uint32_t i = 0; i < COUNT_OF(reports); i++) {
        HeddleDispatch d = dispatch_to(&binding, i + 1);
        CHECK(heddle_queue_submit(q, f.kernel, &d, &reports[i], f.log) == HEDDLE_OK);
    }
    CHECK_EQ_U64(*sum, 0);
    CHECK(heddle_queue_wait(q, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(*sum, 2 * (1 + 2 + 3) * INSTRUCTIONS);
    for (uint32_t i = 0; i < COUNT_OF(reports); i++)
        CHECK_NEAR(reports[i].start, 1e-9 * COUNTER_TICK * i, 1e-12);
    heddle_queue_free(q);
    heddle_buffer_free(b);
    fixture_free(&f);
}

/* By a dispatch, and by one of a queue that others stand in. */
TEST(its_faults_are_told_by_buffers)
{
    Fixture f = fixture();
    HeddleBuffer *b;
    HeddleQueue *q;
    REQUIRE(heddle_buffer_new(f.device, 64, &b, f.log) == HEDDLE_OK);
    REQUIRE(heddle_queue_new(f.device, &q, f.log) == HEDDLE_OK);
    HeddleBinding small = { .set = 1, .binding = 2, .buffer = b, .size = 4 };
    HeddleDispatch d = dispatch_to(&small, 1);
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_ERROR_RUN);
    CHECK_EQ_U64(heddle_log_count(f.log), 3);
    CHECK_CONTAINS(heddle_log_get(f.log, 0)->text, "no room for the count");
    CHECK_CONTAINS(heddle_log_get(f.log, 1)->text, "byte 4 of set 1, binding 2");
    CHECK_CONTAINS(heddle_log_get(f.log, 2)->text, "run with --check");
    heddle_log_clear(f.log);
    CHECK(heddle_queue_submit(q, f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    small.size = 0;
    CHECK(heddle_queue_submit(q, f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(heddle_log_count(f.log), 0);
    CHECK(heddle_queue_wait(q, f.log) == HEDDLE_ERROR_RUN);
    CHECK_EQ_U64(heddle_log_errors(f.log), 1);
    CHECK_EQ_U64(*(uint64_t *)heddle_buffer_data(b), 2 * INSTRUCTIONS);
    heddle_queue_free(q);
    heddle_buffer_free(b);
    fixture_free(&f);
}

TEST(its_matrices_lie_as_it_says)
{
    Fixture f = fixture();
    HeddleMatrixLayout m = { .rows = 3, .columns = 5, .subgroup_size = 4 };
    CHECK_EQ_U64(heddle_matrix_length(f.device, &m), 4);
    uint32_t row, column, lane, element;
    CHECK(heddle_matrix_position(f.device, &m, 1, 1, &row, &column) && row == 2 && column == 1);
    for (uint32_t i = 0; i < 15; i++) {
        CHECK(heddle_matrix_owner(f.device, &m, i % 3, i / 3, &lane, &element));
        CHECK(lane == i % 4 && element == i / 4);
    }
    CHECK(!heddle_matrix_position(f.device, &m, 3, 3, &row, &column));
    CHECK(!heddle_matrix_owner(f.device, &m, 3, 0, &lane, &element));
    CHECK(heddle_matrix_position(NULL, &m, 1, 1, &row, &column) && row == 1 && column == 0);
    fixture_free(&f);
}
