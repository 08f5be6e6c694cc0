/* SPDX-License-Identifier: MIT
 *
 * The host's side of the device cuda, on a driver that is none (mock.h): what is copied and when,
 * queues, times, stored kernels, and all that can go wrong.
 */
#include "base/test.h"

#include "cuda/driver.h"
#include "mock.h"
#include "nvptx/nvptx.h"
#include "runtime/runtime.h"

#include <dlfcn.h>
#include <heddle/heddle.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Adds 1 to the first element for each workgroup; on the mock, `count` does. */
static const char text[] = "#version 450\n"
                           "layout(local_size_x = 32) in;\n"
                           "layout(set = 0, binding = 0) buffer A { uint a[]; };\n"
                           "layout(set = 0, binding = 1) readonly buffer B { uint b[]; };\n"
                           "void main() { atomicAdd(a[0], b[0]); }\n";

/* A buffer of an array of them is reached through a table. */
static const char text_array[] = "#version 450\n"
                                 "layout(local_size_x = 32) in;\n"
                                 "layout(set = 0, binding = 0) buffer A { uint a[]; } x[2];\n"
                                 "layout(push_constant) uniform P { uint n; };\n"
                                 "void main() { x[n].a[0] = n; }\n";

static MockCuda *mock(void)
{
    return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "mock_cuda");
}

static void reset(void)
{
    void (*f)(void);
    *(void **)&f = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "mock_reset");
    f();
}

static void count(const void *parameters, const unsigned groups[3], const unsigned size[3])
{
    const NvptxEnv *e = parameters;
    uint32_t *a = (uint32_t *)(uintptr_t)e->own[0].address;
    const uint32_t *b = (const uint32_t *)(uintptr_t)e->own[1].address;
    (void)size;
    *a += groups[0] * *b;
}

typedef struct Fixture {
    MockCuda *mock;
    HeddleLog *log;
    HeddleDevice *device;
    HeddleModule *module;
    HeddleKernel *kernel;
    HeddleBuffer *a, *b;
    HeddleBinding bindings[2];
} Fixture;

static bool make(Fixture *f, const char *source)
{
    HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_CUDA };
    const char *name = *source == '#' ? "k.comp" : "k.cl";
    return !heddle_module_new(source, strlen(source), name, NULL, &f->module, f->log) &&
           !heddle_device_new(&o, &f->device, f->log) &&
           !heddle_kernel_new(f->device, f->module, NULL, &f->kernel, f->log);
}

static Fixture fixture(const char *source)
{
    reset();
    Fixture f = { .mock = mock(), .log = heddle_log_new(NULL, NULL) };
    CHECK(make(&f, source));
    f.mock->kernel = count;
    return f;
}

static bool with_buffers(Fixture *f, HeddleBuffer *a, HeddleBuffer *b)
{
    f->a = a;
    f->b = b;
    f->bindings[0] = (HeddleBinding){ .binding = 0, .buffer = a };
    f->bindings[1] = (HeddleBinding){ .binding = 1, .buffer = b };
    return a && b;
}

static HeddleBuffer *on_device(Fixture *f, uint64_t size, uint32_t first)
{
    HeddleBuffer *b = NULL;
    if (!heddle_buffer_new_placed(f->device, size, HEDDLE_PLACEMENT_DEVICE, &b, f->log))
        heddle_buffer_write(b, 0, &first, sizeof first, f->log);
    return b;
}

static HeddleBuffer *wrapped(Fixture *f, void *data, uint64_t size)
{
    HeddleBuffer *b = NULL;
    heddle_buffer_wrap(f->device, data, size, &b, f->log);
    return b;
}

static HeddleDispatch dispatch_of(const Fixture *f, uint32_t groups)
{
    return (HeddleDispatch){ .groups = { groups, 1, 1 }, .bindings = f->bindings, .n_bindings = 2 };
}

static uint32_t first_of(Fixture *f)
{
    uint32_t x = UINT32_MAX;
    heddle_buffer_read(f->a, 0, &x, sizeof x, f->log);
    return x;
}

static void let_go(Fixture *f)
{
    heddle_buffer_free(f->a);
    heddle_buffer_free(f->b);
    heddle_kernel_free(f->kernel);
    heddle_module_free(f->module);
    heddle_device_free(f->device);
    heddle_log_free(f->log);
}

static void fixture_free(Fixture *f)
{
    let_go(f);
    CHECK_EQ_U64(f->mock->live, 0);
    CHECK_EQ_U64(f->mock->blocked, 0);
    reset();
}

/* The newest error. */
static const char *said(const Fixture *f)
{
    for (size_t n = heddle_log_count(f->log); n--;)
        if (heddle_log_get(f->log, n)->severity == HEDDLE_ERROR)
            return heddle_log_get(f->log, n)->text;
    return "";
}

static uint32_t errors(const Fixture *f)
{
    uint32_t some = 0;
    for (size_t n = heddle_log_count(f->log); n--;)
        some += heddle_log_get(f->log, n)->severity == HEDDLE_ERROR;
    return some;
}

/* ---- no driver, no GPU ----------------------------------------------------------------------- */

/* What opening the device says in a process of its own, since the driver is opened once. */
static void refused(void (*prepare)(MockCuda *m), const char *why)
{
    char line[512] = "";
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        HeddleDevice *d;
        HeddleLog *log = heddle_log_new(NULL, NULL);
        HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_CUDA };
        prepare(mock());
        const char *text =
            heddle_device_new(&o, &d, log) ? heddle_log_get(log, 0)->text : "no error";
        _exit(write(ends[1], text, strlen(text)) < 0);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], line, sizeof line - 1);
    line[MAX(n, 0)] = 0;
    close(ends[0]);
    waitpid(child, NULL, 0);
    CHECK_CONTAINS(line, why);
}

static void no_gpu(MockCuda *m) { m->devices = 0; }
static void no_start(MockCuda *m) { m->fail = "cuInit"; }
static void old_gpu(MockCuda *m)
{
    m->major = 7;
    m->minor = 5;
}
static void no_context(MockCuda *m) { m->fail = "cuDevicePrimaryCtxRetain"; }

/* The first test, as it has to be. */
TEST(a_driver_without_a_gpu_says_what_is_missing)
{
    refused(no_gpu, "NVIDIA's driver is there, but no GPU");
    refused(no_start, "NVIDIA's driver does not start: CUDA_ERROR_OUT_OF_MEMORY");
    refused(old_gpu, "compute capability 7.5: heddle needs 8.0 or later");
    refused(no_context, "making the GPU's context: out of memory");
}

/* ---- dispatches ------------------------------------------------------------------------------ */

TEST(memory_of_the_device_is_not_copied)
{
    Fixture f = fixture(text);
    REQUIRE(with_buffers(&f, on_device(&f, 4096, 5), on_device(&f, 4096, 3)));
    f.mock->in = f.mock->out = 0;
    HeddleDispatch d = dispatch_of(&f, 7);
    HeddleReport report = { .struct_size = sizeof report };
    CHECK(heddle_dispatch(f.kernel, &d, &report, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(f.mock->in + f.mock->out, 0);
    CHECK_EQ_U64(report.bytes_copied, 0);
    CHECK_EQ_U64(first_of(&f), 5 + 7 * 3);
    CHECK_NEAR(report.seconds, 11e-6, 1e-9); /* the mock's clock, by a launch and an event */
    fixture_free(&f);
}

/* What another library of the process allocated on the GPU, as PyTorch does. */
static uint64_t of_another(uint64_t size, uint32_t first)
{
    const CudaDriver *d = cuda_driver();
    CuContext context;
    CuAddress address = 0;
    d->cuCtxPushCurrent_v2(NULL);
    d->cuMemAlloc_v2(&address, size);
    d->cuCtxPopCurrent_v2(&context);
    memcpy((void *)(uintptr_t)address, &first, sizeof first);
    return address;
}

static HeddleResult borrow(Fixture *f, uint64_t address, uint64_t size, HeddleBuffer **out)
{
    return heddle_buffer_wrap_address(f->device, address, size, out, f->log);
}

TEST(memory_of_another_library_is_used_and_left_to_it)
{
    Fixture f = fixture(text);
    uint64_t a = of_another(4096, 5), b = of_another(4096, 3);
    HeddleBuffer *buffers[2] = { NULL, NULL };
    f.mock->latency = 3; /* what the other library began is waited for */
    CHECK(borrow(&f, a, 4096, &buffers[0]) == HEDDLE_OK);
    CHECK_EQ_U64(f.mock->latency, 0);
    CHECK(borrow(&f, b, 16, &buffers[1]) == HEDDLE_OK);
    REQUIRE(with_buffers(&f, buffers[0], buffers[1]));
    CHECK_EQ_U64(heddle_buffer_address(f.a), a);
    CHECK(!heddle_buffer_data(f.a));
    HeddleDispatch d = dispatch_of(&f, 7);
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(f.mock->in + f.mock->out, 0);
    CHECK_EQ_U64(first_of(&f), 5 + 7 * 3);
    let_go(&f);
    CHECK_EQ_U64(f.mock->live, 2); /* both are still there */
    reset();
}

TEST(what_is_no_memory_of_the_gpu_is_refused)
{
    Fixture f = fixture(text);
    _Alignas(64) static uint32_t host[64];
    HeddleBuffer *b = NULL;
    uint64_t a = of_another(4096, 0);
    CHECK(borrow(&f, (uintptr_t)host, sizeof host, &b) == HEDDLE_ERROR_ARGUMENT);
    CHECK(strstr(said(&f), "are not memory of this GPU"));
    CHECK(borrow(&f, a, 8192, &b) == HEDDLE_ERROR_ARGUMENT); /* it ends before */
    CHECK(borrow(&f, a + 4, 64, &b) == HEDDLE_ERROR_ARGUMENT);
    CHECK(strstr(said(&f), "aligned to 16 bytes"));
    CHECK(borrow(&f, 0, 64, &b) == HEDDLE_ERROR_ARGUMENT);
    CHECK(borrow(&f, a, 0, &b) == HEDDLE_ERROR_ARGUMENT);
    CHECK(borrow(&f, a, UINT64_MAX, &b) == HEDDLE_ERROR_ARGUMENT);
    f.mock->fail = "cuStreamQuery";
    CHECK(borrow(&f, a, 64, &b) == HEDDLE_ERROR_RUN);
    f.mock->fail = NULL;
    CHECK(!b);
    let_go(&f);
    reset();
}

TEST(wrapped_memory_comes_back_where_it_was_written)
{
    Fixture f = fixture(text);
    _Alignas(64) static uint32_t a[1 << 20], b[1 << 10]; /* one of them is worth registering */
    a[0] = 1, b[0] = 2;
    REQUIRE(with_buffers(&f, wrapped(&f, a, sizeof a), wrapped(&f, b, sizeof b)));
    HeddleDispatch d = dispatch_of(&f, 4);
    HeddleReport report = { .struct_size = sizeof report };
    CHECK(heddle_dispatch(f.kernel, &d, &report, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(f.mock->in, sizeof a + sizeof b);
    CHECK_EQ_U64(f.mock->out, sizeof a);
    CHECK_EQ_U64(report.bytes_copied, 2 * sizeof a + sizeof b);
    CHECK_EQ_U64(a[0], 9);
    b[0] = 10;
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(a[0], 49);
    fixture_free(&f);
}

TEST(many_wrapped_buffers_are_told_apart)
{
    enum { N = 40 };
    Fixture f = fixture(text);
    _Alignas(64) static uint32_t data[N][64];
    HeddleBuffer *buffers[N];
    for (uint32_t k = 0; k < N; k++)
        buffers[k] = wrapped(&f, data[k], sizeof data[k]);
    for (uint32_t k = 0; k + 1 < N; k++) {
        REQUIRE(with_buffers(&f, buffers[k], buffers[N - 1]));
        data[N - 1][0] = k;
        HeddleDispatch d = dispatch_of(&f, 1);
        f.mock->in = 0;
        CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
        CHECK_EQ_U64(f.mock->in, 2 * sizeof data[0]);
    }
    for (uint32_t k = 0; k < N; k++) {
        CHECK_EQ_U64(data[k][0], MIN(k, N - 2));
        heddle_buffer_free(buffers[(k * 7) % N]);
    }
    f.a = f.b = NULL;
    fixture_free(&f);
}

TEST(arrays_of_buffers_are_tables_that_are_used_again)
{
    Fixture f = fixture(text_array);
    REQUIRE(with_buffers(&f, on_device(&f, 4096, 5), on_device(&f, 4096, 3)));
    f.bindings[1] = (HeddleBinding){ .index = 1, .buffer = f.b };
    f.mock->kernel = NULL;
    uint32_t push[4] = { 1 };
    HeddleDispatch d = dispatch_of(&f, 4);
    d.push = push;
    d.push_size = sizeof push[0];
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    int live = f.mock->live;
    for (int k = 0; k < 10; k++)
        CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(f.mock->live, live);
    fixture_free(&f);
}

TEST(a_short_wait_asks_a_long_one_sleeps)
{
    Fixture f = fixture(text);
    REQUIRE(with_buffers(&f, on_device(&f, 4096, 5), on_device(&f, 4096, 3)));
    HeddleDispatch d = dispatch_of(&f, 1);
    f.mock->questions = 0;
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(f.mock->questions, 1);
    clock_t before = clock();
    f.mock->hang = true;
    setenv("HEDDLE_GPU_TIMEOUT", "0.3", 1);
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_ERROR_RUN);
    unsetenv("HEDDLE_GPU_TIMEOUT");
    CHECK((double)(clock() - before) / CLOCKS_PER_SEC < 0.1);
    let_go(&f);
}

/* ---- printf ---------------------------------------------------------------------------------- */

static const char text_print[] = "kernel void k(global int *a, global int *b)\n"
                                 "{\n"
                                 "    printf(\"%s %d\\n\", \"left\", a[0]);\n"
                                 "    printf(\"%d %s, %v2d\\n\", b[0], \"right\", (int2)(1, 2));\n"
                                 "}\n";

/* As the code of a kernel that prints does it (src/nvptx/print.c). */
static void print_call(NvptxPrinted *p, uint64_t number, const uint64_t *words, uint64_t n)
{
    uint64_t at = p->used;
    p->used += n + 1;
    if (at >= p->room)
        return;
    p->words[at] = n < p->room - at ? number : 0;
    for (uint64_t k = 0; k < n && p->words[at]; k++)
        p->words[at + 1 + k] = words[k];
}

static void print_both(const void *parameters, const unsigned groups[3], const unsigned size[3])
{
    NvptxPrinted *p = (NvptxPrinted *)(uintptr_t)((const NvptxEnv *)parameters)->print;
    (void)size;
    for (uint64_t k = 0; k < groups[0] && p; k++) {
        print_call(p, 1, (uint64_t[]){ 0, k }, 2);
        print_call(p, 2, (uint64_t[]){ 7, 0, 1, 2 }, 4);
    }
}

typedef struct Shown {
    char text[64];
    uint64_t bytes, calls;
} Shown;

static void on_print(void *user, const char *line, size_t length)
{
    Shown *s = user;
    size_t had = strlen(s->text);
    snprintf(s->text + had, sizeof s->text - had, "%s", line);
    s->bytes += length;
    s->calls++;
}

TEST(what_a_kernel_prints_is_shown_when_it_has_ended)
{
    Fixture f = fixture(text_print);
    REQUIRE(with_buffers(&f, on_device(&f, 4096, 5), on_device(&f, 4096, 3)));
    Shown shown = { .calls = 0 };
    HeddleDispatch d = dispatch_of(&f, 2);
    d.local_size[0] = 32;
    f.mock->kernel = print_both;
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    d.print = on_print;
    d.print_user = &shown;
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK_STR(shown.text, "left 0\n7 right, 1,2\nleft 1\n7 right, 1,2\n");
    fixture_free(&f);
}

/* 4096 bytes are 510 words beside what is there to begin with: 63 of both calls, and one of three
 * words. */
TEST(what_does_not_fit_is_counted)
{
    setenv("HEDDLE_GPU_PRINT", "4096", 1);
    Fixture f = fixture(text_print);
    REQUIRE(with_buffers(&f, on_device(&f, 4096, 5), on_device(&f, 4096, 3)));
    Shown shown = { .calls = 0 };
    HeddleDispatch d = dispatch_of(&f, 100);
    d.local_size[0] = 32;
    d.print = on_print;
    d.print_user = &shown;
    f.mock->kernel = print_both;
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(shown.calls, 127);
    REQUIRE(heddle_log_count(f.log));
    CHECK_CONTAINS(heddle_log_get(f.log, heddle_log_count(f.log) - 1)->text,
                   "2320 of the 6400 bytes that the kernel printed did not fit "
                   "(HEDDLE_GPU_PRINT=6416 would");
    unsetenv("HEDDLE_GPU_PRINT");
    fixture_free(&f);
}

/* ---- queues ---------------------------------------------------------------------------------- */

TEST(a_queue_runs_in_order_and_copies_once)
{
    enum { N = 20 };
    Fixture f = fixture(text);
    _Alignas(64) static uint32_t a[64], b[64];
    HeddleQueue *q;
    HeddleReport reports[N] = { 0 };
    a[0] = 0, b[0] = 1;
    REQUIRE(with_buffers(&f, wrapped(&f, a, sizeof a), wrapped(&f, b, sizeof b)));
    REQUIRE(heddle_queue_new(f.device, &q, f.log) == HEDDLE_OK);
    for (uint32_t k = 0; k < N; k++) {
        HeddleDispatch d = dispatch_of(&f, k);
        CHECK(heddle_queue_submit(q, f.kernel, &d, k % 3 ? &reports[k] : NULL, f.log) == HEDDLE_OK);
    }
    CHECK_EQ_U64(a[0], 0);
    CHECK_EQ_U64(f.mock->launches, 0);
    CHECK(heddle_queue_wait(q, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(a[0], N * (N - 1) / 2 + 1); /* 0 groups are 1 */
    CHECK_EQ_U64(f.mock->in, sizeof a + sizeof b);
    CHECK_EQ_U64(f.mock->out, sizeof a);
    double end = 0;
    for (uint32_t k = 0; k < N; k++) {
        if (k % 3 == 0)
            continue;
        CHECK_NEAR(reports[k].seconds, 11e-6, 1e-9);
        CHECK(reports[k].start >= end);
        end = reports[k].end;
    }
    b[0] = 100; /* it is the program's again */
    HeddleDispatch d = dispatch_of(&f, 1);
    CHECK(heddle_queue_submit(q, f.kernel, &d, &reports[0], f.log) == HEDDLE_OK);
    CHECK(heddle_queue_wait(q, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(a[0], N * (N - 1) / 2 + 101);
    CHECK(reports[0].start >= end);
    heddle_queue_free(q);
    fixture_free(&f);
}

TEST(a_submission_that_fails_leaves_the_others)
{
    Fixture f = fixture(text);
    _Alignas(64) static uint32_t a[64], b[64];
    HeddleQueue *q;
    a[0] = 0, b[0] = 1;
    REQUIRE(with_buffers(&f, wrapped(&f, a, sizeof a), wrapped(&f, b, sizeof b)));
    REQUIRE(heddle_queue_new(f.device, &q, f.log) == HEDDLE_OK);
    HeddleDispatch d = dispatch_of(&f, 1);
    f.mock->fail = "cuLaunchKernel";
    CHECK(heddle_queue_submit(q, f.kernel, &d, NULL, f.log) == HEDDLE_ERROR_RUN);
    CHECK_CONTAINS(said(&f), "launching the kernel: out of memory");
    f.mock->fail = NULL;
    b[0] = 2; /* nothing uses it */
    CHECK(heddle_queue_submit(q, f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    f.mock->fail = "cuLaunchKernel";
    CHECK(heddle_queue_submit(q, f.kernel, &d, NULL, f.log) == HEDDLE_ERROR_RUN);
    f.mock->fail = NULL;
    CHECK(heddle_queue_submit(q, f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK(heddle_queue_wait(q, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(a[0], 4);
    heddle_queue_free(q);
    fixture_free(&f);
}

/* ---- faults ---------------------------------------------------------------------------------- */

TEST(a_fault_ends_the_device_and_all_behind_it)
{
    Fixture f = fixture(text);
    HeddleQueue *q;
    REQUIRE(with_buffers(&f, on_device(&f, 4096, 5), on_device(&f, 4096, 3)));
    REQUIRE(heddle_queue_new(f.device, &q, f.log) == HEDDLE_OK);
    HeddleDispatch d = dispatch_of(&f, 1);
    HeddleReport report = { 0 };
    for (int k = 0; k < 3; k++)
        CHECK(heddle_queue_submit(q, f.kernel, &d, &report, f.log) == HEDDLE_OK);
    f.mock->fault = CU_ERROR_ILLEGAL_ADDRESS;
    CHECK(heddle_queue_wait(q, f.log) == HEDDLE_ERROR_RUN);
    CHECK_EQ_U64(errors(&f), 3);
    CHECK_CONTAINS(heddle_log_get(f.log, 0)->text, "the kernel ended the GPU's context");
    CHECK_CONTAINS(said(&f), "lost to a kernel before this one");
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_ERROR_RUN);
    CHECK_CONTAINS(said(&f), "lost to an earlier fault");
    uint32_t x;
    CHECK(heddle_buffer_read(f.a, 0, &x, 4, f.log) == HEDDLE_ERROR_RUN);
    heddle_queue_free(q);
    let_go(&f);
}

/* Wrapped memory is what the driver would wait for the kernel with. */
TEST(a_kernel_without_an_end_is_given_up)
{
    Fixture f = fixture(text);
    _Alignas(64) static uint32_t a[1 << 16], b[64];
    HeddleQueue *q;
    REQUIRE(with_buffers(&f, wrapped(&f, a, sizeof a), wrapped(&f, b, sizeof b)));
    REQUIRE(heddle_queue_new(f.device, &q, f.log) == HEDDLE_OK);
    setenv("HEDDLE_GPU_TIMEOUT", "0.05", 1);
    f.mock->hang = true;
    HeddleDispatch d = dispatch_of(&f, 1);
    for (int k = 0; k < 3; k++)
        CHECK(heddle_queue_submit(q, f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK(heddle_queue_wait(q, f.log) == HEDDLE_ERROR_RUN);
    CHECK_CONTAINS(heddle_log_get(f.log, 0)->text, "has not ended after 0.05 s");
    CHECK_EQ_U64(f.mock->blocked, 0);
    unsetenv("HEDDLE_GPU_TIMEOUT");
    heddle_queue_free(q);
    let_go(&f);
    CHECK_EQ_U64(mock()->blocked, 0);
}

TEST(there_is_no_more_memory)
{
    Fixture f = fixture(text);
    HeddleBuffer *b;
    f.mock->memory = 1 << 20;
    CHECK(heddle_buffer_new_placed(f.device, 2 << 20, HEDDLE_PLACEMENT_DEVICE, &b, f.log) ==
          HEDDLE_ERROR_MEMORY);
    fixture_free(&f);
}

TEST(a_driver_too_old_for_the_ptx_says_so)
{
    reset();
    Fixture f = { .mock = mock(), .log = heddle_log_new(NULL, NULL) };
    f.mock->fail = "cuModuleLoadDataEx";
    f.mock->fail_with = CU_ERROR_UNSUPPORTED_PTX_VERSION;
    strcpy(f.mock->log, "ptxas: version 9.9");
    CHECK(!make(&f, text));
    size_t n = heddle_log_count(f.log);
    REQUIRE(n >= 2);
    CHECK_CONTAINS(heddle_log_get(f.log, n - 2)->text, "ptxas: version 9.9");
    CHECK_CONTAINS(heddle_log_get(f.log, n - 1)->text, "of CUDA 12.8, which is too old");
    fixture_free(&f);
}

/* ---- stored kernels -------------------------------------------------------------------------- */

static DeviceKernel *load_stored(const Fixture *f, const void *data, size_t size, TestDiags *said)
{
    DeviceBase *d = f->device->base;
    *said = (TestDiags)TEST_DIAGS(*said);
    return d->ops->load(d, NULL, data, size, &said->sink);
}

/* For free(). */
static uint64_t *save_stored(const Fixture *f, size_t *size)
{
    const DeviceOps *ops = f->device->base->ops;
    *size = ops->save(f->kernel->code, NULL);
    uint64_t *data = malloc(*size + 8);
    CHECK_EQ_U64(ops->save(f->kernel->code, data), *size);
    return data;
}

static void seal(uint64_t *data, size_t size)
{
    data[1] = hash_bytes(data + 2, size - 16, data[0]);
}

TEST(a_stored_kernel_runs_as_it_did)
{
    Fixture f = fixture(text);
    size_t size;
    TestDiags said;
    REQUIRE(with_buffers(&f, on_device(&f, 4096, 5), on_device(&f, 4096, 3)));
    uint64_t *data = save_stored(&f, &size);
    DeviceKernel *loaded = load_stored(&f, data, size, &said), *compiled = f.kernel->code;
    REQUIRE(loaded);
    CHECK_EQ_U64(loaded->n_slots, 2);
    CHECK(loaded->slots[0].written && !loaded->slots[1].written);
    f.kernel->code = loaded;
    HeddleDispatch d = dispatch_of(&f, 2);
    CHECK(heddle_dispatch(f.kernel, &d, NULL, f.log) == HEDDLE_OK);
    CHECK_EQ_U64(first_of(&f), 5 + 2 * 3);
    size_t again;
    uint64_t *same = save_stored(&f, &again);
    CHECK(again == size && !memcmp(same, data, size));
    f.kernel->code = compiled;
    f.device->base->ops->release(loaded);
    free(same);
    free(data);
    fixture_free(&f);
}

static const char text_arguments[] =
    "kernel void k(global uint *a, global const uint *b) { *a += *b; }\n";

/* They are its module's. */
TEST(a_stored_kernel_of_opencl_is_bound_to_its_arguments)
{
    Fixture f = fixture(text_arguments);
    size_t size;
    TestDiags said;
    DeviceBase *d = f.device->base;
    const DeviceSlot *slots = f.kernel->code->slots;
    SpvArguments arguments = { 0 };
    DeviceCompile how = { .arguments = &arguments, .slots = slots, .n_slots = 2 };
    uint64_t *data = save_stored(&f, &size);
    CHECK(!load_stored(&f, data, size, &said));
    CHECK_CONTAINS(said.text, "another one's");
    DeviceKernel *loaded = d->ops->load(d, &how, data, size, &said.sink);
    REQUIRE(loaded);
    CHECK(loaded->n_slots == 2 && loaded->slots == slots);
    d->ops->release(loaded);
    free(data);
    fixture_free(&f);
}

/* With a seal that fits, so that what is behind it is read. */
TEST(a_stored_kernel_that_was_changed_is_refused_or_works)
{
    enum { MUTATIONS = 20000 };
    Fixture f = fixture(text);
    size_t size;
    TestDiags said;
    uint64_t *data = save_stored(&f, &size), *changed = malloc(size + 8);
    Rng rng = { 1 };
    for (uint32_t n = 0; n < MUTATIONS; n++) {
        size_t end = n % 4 ? size : 16 + rng_u64(&rng) % (size - 16);
        memcpy(changed, data, size);
        for (uint32_t k = 0; k <= n % 3; k++) /* the numbers more often than the text */
            ((uint8_t *)changed)[16 + rng_u64(&rng) % (n % 2 ? 96 : MAX(end - 16, 1))] ^=
                (uint8_t)(1 << rng_u64(&rng) % 8);
        seal(changed, end);
        DeviceKernel *k = load_stored(&f, changed, end, &said);
        if (k)
            f.device->base->ops->release(k);
        else
            CHECK_CONTAINS(said.text, "error: ");
    }
    for (size_t end = 0; end < size; end++) { /* and with one that does not */
        CHECK(!load_stored(&f, data, end, &said));
        CHECK_CONTAINS(said.text, "a stored kernel is");
    }
    free(changed);
    free(data);
    fixture_free(&f);
}

/* ---- any function may fail ------------------------------------------------------------------- */

static bool submit_some(Fixture *f)
{
    HeddleQueue *q;
    HeddleReport reports[3] = { 0 };
    bool fine = true;
    if (heddle_queue_new(f->device, &q, f->log))
        return false;
    for (uint32_t k = 0; k < COUNT_OF(reports) && fine; k++) {
        HeddleDispatch d = dispatch_of(f, 1);
        fine = !heddle_queue_submit(q, f->kernel, &d, &reports[k], f->log);
    }
    fine &= !heddle_queue_wait(q, f->log);
    heddle_queue_free(q);
    return fine;
}

static bool session(Fixture *f)
{
    _Alignas(64) static uint32_t b[1 << 20];
    f->mock->kernel = count;
    b[0] = 3;
    if (!make(f, text) || !with_buffers(f, on_device(f, 4096, 5), wrapped(f, b, sizeof b)))
        return false;
    HeddleDispatch d = dispatch_of(f, 1);
    bool fine = !heddle_dispatch(f->kernel, &d, NULL, f->log) && submit_some(f);
    return !fine || first_of(f) == 5 + 4 * 3;
}

static bool gives_back(const char *name)
{
    static const char *const parts[] = {
        "Destroy", "Free", "Unload", "Release", "Unregister", "Pop"
    };
    for (uint32_t k = 0; k < COUNT_OF(parts); k++)
        if (strstr(name, parts[k]))
            return true;
    return false;
}

/* Whether the function was called as often at all. */
static bool session_with(const char *failing, int after)
{
    reset();
    Fixture f = { .mock = mock(), .log = heddle_log_new(NULL, NULL) };
    f.mock->fail = failing;
    f.mock->fail_after = after;
    if (!session(&f) && !said(&f)[0])
        test_fail(__FILE__, __LINE__, "%s failed after %d, and nothing was said", failing, after);
    /* no answer is an answer */
    bool reached = f.mock->fail_after < 0 || said(&f)[0];
    bool lost = strstr(failing, "Query") || strstr(failing, "Push");
    f.mock->fail = NULL;
    let_go(&f);
    if (mock()->live && !lost)
        test_fail(__FILE__, __LINE__, "%s failed after %d: %d objects are left", failing, after,
                  mock()->live);
    reset();
    return reached;
}

TEST(whatever_fails_is_said_and_nothing_is_left)
{
    static const char *const names[] = {
#define NAME(name, parameters) #name,
        CUDA_FUNCTIONS(NAME)
#undef NAME
    };
    for (uint32_t k = 0; k < COUNT_OF(names); k++)
        for (int after = 0; after < 8 && !gives_back(names[k]); after++)
            if (!session_with(names[k], after))
                break;
}
