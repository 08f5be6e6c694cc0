/* SPDX-License-Identifier: MIT
 *
 * Callers of another version: structs that are shorter than the library's, which lie at the end of
 * the memory there is, and longer ones. And what was added to the public header beside.
 */
#include "base/test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/internal.h"

/* `size` bytes that end where no memory is. */
typedef struct Edge { char *page; size_t bytes; } Edge;

static void *at_the_edge(Edge *e, const void *from, size_t size)
{
    long page = sysconf(_SC_PAGESIZE);
    e->bytes = 2 * (size_t)page;
    e->page = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(!mprotect(e->page + page, (size_t)page, PROT_NONE));
    return memcpy(e->page + e->bytes / 2 - size, from, size);
}

static void edge_free(Edge *e) { munmap(e->page, e->bytes); }

/* What a program saw that was compiled before most of the fields were there. */
typedef struct OlderDispatch {
    size_t struct_size;
    uint32_t groups[3];
    uint32_t base_group[3];
} OlderDispatch;
typedef struct OlderReport { size_t struct_size; double seconds; } OlderReport;
/* What one sees that is compiled later on. */
typedef struct NewerOptions { HeddleKernelOptions known; uint64_t added; } NewerOptions;

static const char text[] =
    "OpCapability Shader\n"
    "OpMemoryModel Logical GLSL450\n"
    "OpEntryPoint GLCompute %main \"main\"\n"
    "OpExecutionMode %main LocalSize 8 1 1\n"
    "%void = OpTypeVoid\n"
    "%fn = OpTypeFunction %void\n"
    "%main = OpFunction %void None %fn\n"
    "%entry = OpLabel\n"
    "OpReturn\n"
    "OpFunctionEnd\n";

typedef struct Objects {
    HeddleLog *log;
    HeddleDevice *device;
    HeddleModule *module;
} Objects;

static Objects objects(void)
{
    Objects o = { .log = heddle_log_new(NULL, NULL) };
    CHECK(heddle_device_new(NULL, &o.device, o.log) == HEDDLE_OK);
    CHECK(heddle_module_new(text, sizeof text - 1, "empty", NULL, &o.module, o.log) == HEDDLE_OK);
    return o;
}

static void objects_free(Objects *o)
{
    heddle_module_free(o->module);
    heddle_device_free(o->device);
    heddle_log_free(o->log);
}

TEST(older_structs_are_read_and_written_no_further)
{
    Objects o = objects();
    HeddleKernel *k;
    REQUIRE(heddle_kernel_new(o.device, o.module, NULL, &k, o.log) == HEDDLE_OK);
    Edge in, out;
    OlderDispatch d = { sizeof d, { 2, 1, 1 }, { 0 } };
    OlderReport r = { sizeof r, -1 };
    void *dispatch = at_the_edge(&in, &d, sizeof d), *report = at_the_edge(&out, &r, sizeof r);
    CHECK(heddle_dispatch(k, dispatch, report, o.log) == HEDDLE_OK);
    memcpy(&r, report, sizeof r);
    CHECK(r.struct_size == sizeof r && r.seconds >= 0);
    edge_free(&in);
    edge_free(&out);
    heddle_kernel_free(k);
    objects_free(&o);
}

/* Of each struct the first member alone, and every length up to the whole. */
TEST(any_length_will_do)
{
    Objects o = objects();
    const HeddleKernelOptions whole = { .subgroup_size = 16, .emit = HEDDLE_EMIT_SPIRV };
    for (size_t size = sizeof whole.struct_size; size <= sizeof whole; size += 4) {
        Edge e;
        HeddleKernelOptions given = whole;
        HeddleKernel *k;
        given.struct_size = size;
        CHECK(heddle_kernel_new(o.device, o.module, at_the_edge(&e, &given, size), &k, o.log) ==
              HEDDLE_OK);
        bool knows = size >= offsetof(HeddleKernelOptions, subgroup_size) + 4;
        /* unasked, it gets no more than the workgroup has */
        CHECK_EQ_U64(heddle_kernel_info(k)->subgroup_size, knows ? 16 : 8);
        heddle_kernel_free(k);
        edge_free(&e);
    }
    objects_free(&o);
}

TEST(newer_structs_may_ask_for_nothing_new)
{
    Objects o = objects();
    HeddleKernel *k;
    NewerOptions n = { .known = { .struct_size = sizeof n } };
    CHECK(heddle_kernel_new(o.device, o.module, &n.known, &k, o.log) == HEDDLE_OK);
    heddle_kernel_free(k);
    n.added = 1;
    CHECK(heddle_kernel_new(o.device, o.module, &n.known, &k, o.log) == HEDDLE_ERROR_ARGUMENT);
    CHECK(!k && heddle_log_errors(o.log) == 1);
    objects_free(&o);
}

TEST(sizes_that_none_has)
{
    Objects o = objects();
    static const size_t wrong[] = { 1, 7, (size_t)1 << 40, SIZE_MAX };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        HeddleDevice *d;
        HeddleModule *m;
        HeddleKernel *k;
        HeddleComparison c = { .struct_size = wrong[i] };
        HeddleArray *a = NULL;
        CHECK(heddle_device_new(&(HeddleDeviceOptions){ .struct_size = wrong[i] }, &d, o.log) ==
              HEDDLE_ERROR_ARGUMENT);
        CHECK(heddle_module_new(text, sizeof text - 1, NULL,
                                &(HeddleModuleOptions){ .struct_size = wrong[i] }, &m, o.log) ==
              HEDDLE_ERROR_ARGUMENT);
        CHECK(heddle_module_pipeline(o.module, &(HeddlePipelineOptions){ .struct_size = wrong[i] },
                                     &m, o.log) == HEDDLE_ERROR_ARGUMENT);
        REQUIRE(heddle_kernel_new(o.device, o.module, NULL, &k, o.log) == HEDDLE_OK);
        CHECK(heddle_dispatch(k, &(HeddleDispatch){ .struct_size = wrong[i] }, NULL, o.log) ==
              HEDDLE_ERROR_ARGUMENT);
        CHECK(heddle_dispatch(k, &(HeddleDispatch){ .groups = { 1 } },
                              &(HeddleReport){ .struct_size = wrong[i] }, o.log) ==
              HEDDLE_ERROR_ARGUMENT);
        REQUIRE(heddle_array_from_spec("iota:s32[4]", &a, o.log) == HEDDLE_OK);
        CHECK(heddle_array_compare(a, a, 0, &c, o.log) == HEDDLE_ERROR_ARGUMENT);
        CHECK(!heddle_matrix_length(NULL, &(HeddleMatrixLayout){ .struct_size = wrong[i], .rows = 8,
                                                                 .columns = 8,
                                                                 .subgroup_size = 8 }));
        heddle_array_free(a);
        heddle_kernel_free(k);
    }
    objects_free(&o);
}

TEST(what_is_handed_out_says_its_size)
{
    Objects o = objects();
    HeddleKernel *k;
    REQUIRE(heddle_kernel_new(o.device, o.module, NULL, &k, o.log) == HEDDLE_OK);
    CHECK_EQ_U64(heddle_device_info(o.device)->struct_size, sizeof(HeddleDeviceInfo));
    CHECK_EQ_U64(heddle_kernel_info(k)->struct_size, sizeof(HeddleKernelInfo));
    CHECK_EQ_U64(heddle_module_entry_point(o.module, 0)->struct_size, sizeof(HeddleKernelInfo));
    log_fail(o.log, HEDDLE_ERROR_IO, "something");
    CHECK_EQ_U64(heddle_log_get(o.log, 0)->struct_size, sizeof(HeddleDiagnostic));
    heddle_kernel_free(k);
    objects_free(&o);
}

TEST(ordinals)
{
    for (int kind = 0; kind < HEDDLE_N_DEVICE_KINDS; kind++) {
        if (!heddle_device_count((HeddleDeviceKind)kind))
            continue; /* this machine has none */
        HeddleDeviceOptions options = { .kind = (HeddleDeviceKind)kind };
        HeddleDevice *d;
        uint32_t n = heddle_device_count(options.kind);
        options.ordinal = n - 1;
        REQUIRE(heddle_device_new(&options, &d, NULL) == HEDDLE_OK);
        CHECK_EQ_U64(heddle_device_info(d)->ordinal, n - 1);
        CHECK_STR(heddle_device_info(d)->kind_name, heddle_device_kind_name(options.kind));
        heddle_device_free(d);
        options.ordinal = n;
        CHECK(heddle_device_new(&options, &d, NULL) == HEDDLE_ERROR_UNSUPPORTED && !d);
    }
    CHECK(!heddle_device_kind_name(HEDDLE_N_DEVICE_KINDS));
    CHECK_EQ_U64(heddle_device_count(HEDDLE_N_DEVICE_KINDS), 0);
}

TEST(bytes_into_buffers_and_out)
{
    for (int kind = 0; kind < HEDDLE_N_DEVICE_KINDS; kind++) {
        if (!heddle_device_count((HeddleDeviceKind)kind))
            continue; /* this machine has none */
        HeddleDevice *d;
        REQUIRE(heddle_device_new(&(HeddleDeviceOptions){ .kind = (HeddleDeviceKind)kind }, &d,
                                  NULL) == HEDDLE_OK);
        for (int place = 0; place < HEDDLE_N_PLACEMENTS; place++) {
            HeddleBuffer *b;
            char in[] = "0123456789", out[sizeof in] = "";
            REQUIRE(heddle_buffer_new_placed(d, 100, (HeddlePlacement)place, &b, NULL) ==
                    HEDDLE_OK);
            CHECK(heddle_buffer_data(b) || place != HEDDLE_PLACEMENT_HOST);
            CHECK(heddle_buffer_write(b, 100 - sizeof in, in, sizeof in, NULL) == HEDDLE_OK);
            CHECK(heddle_buffer_read(b, 100 - sizeof in, out, sizeof out, NULL) == HEDDLE_OK);
            CHECK_STR(out, in);
            CHECK(heddle_buffer_read(b, 100, NULL, 0, NULL) == HEDDLE_OK);
            CHECK(heddle_buffer_read(b, 99, out, 2, NULL) == HEDDLE_ERROR_ARGUMENT);
            CHECK(heddle_buffer_write(b, UINT64_MAX, in, 2, NULL) == HEDDLE_ERROR_ARGUMENT);
            CHECK(heddle_buffer_write(b, 0, NULL, 2, NULL) == HEDDLE_ERROR_ARGUMENT);
            heddle_buffer_free(b);
        }
        HeddleBuffer *none;
        CHECK(heddle_buffer_new_placed(d, 1, HEDDLE_N_PLACEMENTS, &none, NULL) ==
              HEDDLE_ERROR_ARGUMENT && !none);
        heddle_device_free(d);
    }
    CHECK(heddle_buffer_read(NULL, 0, NULL, 0, NULL) == HEDDLE_ERROR_ARGUMENT);
}

TEST(signal_handlers_are_the_programs_where_it_asks)
{
    for (int without = 0; without < 2; without++) {
        struct sigaction before, meanwhile, after;
        HeddleDevice *d;
        sigaction(SIGSEGV, NULL, &before);
        HeddleDeviceOptions options = { .no_signal_handlers = without };
        REQUIRE(heddle_device_new(&options, &d, NULL) == HEDDLE_OK);
        sigaction(SIGSEGV, NULL, &meanwhile);
        CHECK((meanwhile.sa_sigaction == before.sa_sigaction) == without);
        heddle_device_free(d);
        sigaction(SIGSEGV, NULL, &after);
        CHECK(after.sa_sigaction == before.sa_sigaction);
    }
}
