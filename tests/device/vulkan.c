/* SPDX-License-Identifier: MIT
 *
 * --device vulkan by what a program sees of it, on heddle's own driver and on Mesa's lavapipe
 * (Debian: mesa-vulkan-drivers): buffers in all places, push constants, specialisation, workgroups
 * from a base on, queues, OpenCL C, what is lowered, and what is refused in which words.
 */
#include <dirent.h>
#include <heddle/heddle.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"

static const char *const drivers[] = { HEDDLE_DRIVER, HEDDLE_LAVAPIPE };

typedef struct Fixture {
    HeddleLog *log;
    HeddleDevice *device;
} Fixture;

static void choose(const char *manifest)
{
    setenv("VK_DRIVER_FILES", manifest, 1);
    setenv("VK_ICD_FILENAMES", manifest, 1);
}

/* False where the driver is not installed. */
static bool open_driver(Fixture *f, const char *manifest)
{
    HeddleDeviceOptions o = { .struct_size = sizeof o, .kind = HEDDLE_DEVICE_VULKAN };
    *f = (Fixture){ 0 };
    if (access(manifest, R_OK)) {
        printf("passed over: no %s\n", manifest);
        return false;
    }
    choose(manifest);
    f->log = heddle_log_new(heddle_print_to_stderr, NULL);
    CHECK(heddle_device_new(&o, &f->device, f->log) == HEDDLE_OK);
    return f->device != NULL;
}

static void close_driver(Fixture *f)
{
    heddle_device_free(f->device);
    heddle_log_free(f->log);
}

#define EACH_DRIVER(f)                                                                             \
    for (size_t at = 0; at < COUNT_OF(drivers); at++, close_driver(&(f)))                          \
        if (open_driver(&(f), drivers[at]))

static HeddleModule *module_of(Fixture *f, const char *source, HeddleModuleOptions o)
{
    HeddleModule *m = NULL;
    bool opencl = o.language == HEDDLE_LANGUAGE_OPENCL;
    heddle_module_new(source, strlen(source), opencl ? "test.cl" : "test.comp", &o, &m, f->log);
    return m;
}

static const char plain[] =
    "#version 460\n"
    "layout(local_size_x = 16) in;\n"
    "layout(constant_id = 3) const uint FACTOR = 2;\n"
    "layout(set = 0, binding = 0) readonly buffer In { uint from[]; };\n"
    "layout(set = 1, binding = 2) buffer Out { uint to[]; };\n"
    "layout(set = 0, binding = 5) uniform Block { uvec4 more; };\n"
    "layout(push_constant) uniform Push { uint bias; };\n"
    "void main() {\n"
    "    uint i = gl_GlobalInvocationID.x;\n"
    "    to[i] = from[i] * FACTOR + bias + more.z;\n"
    "}\n";

typedef struct Plain {
    HeddleBuffer *buffers[3];
    HeddleBinding bindings[3];
    uint32_t push;
    HeddleDispatch dispatch;
} Plain;

enum { N = 64 };

/* Buffers of the device's in a placement. */
static bool plain_open(Plain *p, Fixture *f, HeddlePlacement placement)
{
    uint32_t from[N], more[4] = { 1, 2, 300, 4 };
    bool good = true;
    *p = (Plain){ .bindings = { { .set = 0, .binding = 0 }, { .set = 1, .binding = 2 },
                                { .set = 0, .binding = 5 } }, .push = 7 };
    for (uint32_t i = 0; i < N; i++)
        from[i] = i * i;
    for (uint32_t k = 0; k < 3; k++) {
        good &= !heddle_buffer_new_placed(f->device, k == 2 ? 16 : sizeof from, placement,
                                          &p->buffers[k], f->log);
        p->bindings[k].buffer = p->buffers[k];
    }
    p->dispatch = (HeddleDispatch){ .struct_size = sizeof p->dispatch, .groups = { N / 16, 1, 1 },
                                    .bindings = p->bindings, .n_bindings = 3, .push = &p->push,
                                    .push_size = sizeof p->push };
    return good && !heddle_buffer_write(p->buffers[0], 0, from, sizeof from, f->log) &&
           !heddle_buffer_write(p->buffers[2], 0, more, sizeof more, f->log);
}

static void plain_close(Plain *p)
{
    for (uint32_t k = 0; k < 3; k++)
        heddle_buffer_free(p->buffers[k]);
}

TEST(plain_compute)
{
    Fixture f;
    EACH_DRIVER(f) {
        HeddleModule *m = module_of(&f, plain, (HeddleModuleOptions){ 0 });
        HeddleSpecValue five = { 3, 5 };
        HeddleKernelOptions o = { .struct_size = sizeof o, .specs = &five, .n_specs = 1 };
        HeddleKernel *k = NULL;
        REQUIRE(m && heddle_kernel_new(f.device, m, &o, &k, f.log) == HEDDLE_OK);
        for (int place = 0; place < HEDDLE_N_PLACEMENTS; place++) {
            HeddleReport report = { .struct_size = sizeof report };
            Plain p;
            uint32_t to[N];
            CHECK(plain_open(&p, &f, (HeddlePlacement)place));
            p.dispatch.groups[0] = 2;
            p.dispatch.base_group[0] = 1;
            CHECK(heddle_dispatch(k, &p.dispatch, &report, f.log) == HEDDLE_OK);
            CHECK(report.end >= report.start);
            CHECK(heddle_buffer_read(p.buffers[1], 0, to, sizeof to, f.log) == HEDDLE_OK);
            for (uint32_t i = 0; i < N; i++)
                CHECK_EQ_U64(to[i], i >= 16 && i < 48 ? i * i * 5 + 307 : 0);
            plain_close(&p);
        }
        heddle_kernel_free(k);
        heddle_module_free(m);
    }
}

/* What is wrapped is the program's before and after; what is read only may be so to the program
 * as well. */
TEST(wrapped_memory)
{
    static _Alignas(64) const uint32_t from[N] = { 1, 2, 3 }, more[4] = { 0, 0, 10, 0 };
    Fixture f;
    EACH_DRIVER(f) {
        static _Alignas(64) uint32_t to[N];
        HeddleModule *m = module_of(&f, plain, (HeddleModuleOptions){ 0 });
        HeddleKernel *k = NULL;
        Plain p = { .bindings = { { .set = 0, .binding = 0 }, { .set = 1, .binding = 2 },
                                  { .set = 0, .binding = 5 } } };
        memset(to, 0xff, sizeof to);
        heddle_buffer_wrap(f.device, (void *)(uintptr_t)from, sizeof from, &p.buffers[0], f.log);
        heddle_buffer_wrap(f.device, to, sizeof to, &p.buffers[1], f.log);
        heddle_buffer_wrap(f.device, (void *)(uintptr_t)more, sizeof more, &p.buffers[2], f.log);
        for (uint32_t n = 0; n < 3; n++)
            p.bindings[n].buffer = p.buffers[n];
        HeddleDispatch d = { .struct_size = sizeof d, .bindings = p.bindings, .n_bindings = 3,
                             .push = &p.push, .push_size = 4 };
        REQUIRE(m && heddle_kernel_new(f.device, m, NULL, &k, f.log) == HEDDLE_OK);
        CHECK(heddle_dispatch(k, &d, NULL, f.log) == HEDDLE_OK);
        for (uint32_t i = 0; i < N; i++)
            CHECK_EQ_U64(to[i], i < 16 ? from[i] * 2 + 10 : UINT32_MAX);
        plain_close(&p);
        heddle_kernel_free(k);
        heddle_module_free(m);
    }
}

TEST(queues)
{
    static const char source[] = "#version 460\n"
                                 "layout(set = 0, binding = 0) buffer B { uint x; };\n"
                                 "layout(push_constant) uniform P { uint add; };\n"
                                 "void main() { x = x * 3 + add; }\n";
    Fixture f;
    EACH_DRIVER(f) {
        HeddleModule *m = module_of(&f, source, (HeddleModuleOptions){ 0 });
        HeddleKernel *k = NULL;
        HeddleQueue *q = NULL;
        HeddleBuffer *b = NULL;
        REQUIRE(m && !heddle_kernel_new(f.device, m, NULL, &k, f.log) &&
                !heddle_queue_new(f.device, &q, f.log) &&
                !heddle_buffer_new_placed(f.device, 4, HEDDLE_PLACEMENT_DEVICE, &b, f.log));
        uint32_t want = 0, got = 0;
        for (uint32_t i = 0; i < 50; i++) {
            HeddleBinding binding = { .buffer = b };
            HeddleDispatch d = { .struct_size = sizeof d, .bindings = &binding, .n_bindings = 1,
                                 .push = &i, .push_size = 4 };
            CHECK(heddle_queue_submit(q, k, &d, NULL, f.log) == HEDDLE_OK);
            want = want * 3 + i;
        }
        CHECK(heddle_queue_wait(q, f.log) == HEDDLE_OK);
        CHECK(heddle_buffer_read(b, 0, &got, 4, f.log) == HEDDLE_OK);
        CHECK_EQ_U64(got, want);
        heddle_queue_free(q);
        heddle_buffer_free(b);
        heddle_kernel_free(k);
        heddle_module_free(m);
    }
}

static const char opencl[] =
    "__attribute__((reqd_work_group_size(16, 1, 1)))\n"
    "kernel void twice(global const uint *from, global uint *to, uint bias)\n"
    "{ size_t i = get_global_id(0); to[i] = 2 * from[i] + bias; }\n";

TEST(opencl_c)
{
    Fixture f;
    EACH_DRIVER(f) {
        HeddleModuleOptions shader = { .struct_size = sizeof shader, .opencl_to_vulkan = true,
                                       .language = HEDDLE_LANGUAGE_OPENCL };
        HeddleModule *m = module_of(&f, opencl, shader);
        if (!m)
            continue; /* heddle was built without LLVM's SPIR-V target */
        HeddleKernel *k = NULL;
        Plain p;
        uint32_t to[N], bias = 9;
        REQUIRE(heddle_kernel_new(f.device, m, NULL, &k, f.log) == HEDDLE_OK);
        CHECK(plain_open(&p, &f, HEDDLE_PLACEMENT_HOST));
        p.bindings[1].set = 0;
        p.bindings[1].binding = 1;
        p.dispatch.n_bindings = 2;
        p.dispatch.push = &bias;
        CHECK(heddle_dispatch(k, &p.dispatch, NULL, f.log) == HEDDLE_OK);
        CHECK(heddle_buffer_read(p.buffers[1], 0, to, sizeof to, f.log) == HEDDLE_OK);
        for (uint32_t i = 0; i < N; i++)
            CHECK_EQ_U64(to[i], 2 * i * i + 9);
        plain_close(&p);
        heddle_kernel_free(k);
        heddle_module_free(m);
    }
}

static const char matrices[] =
    "#version 460\n"
    "#pragma use_vulkan_memory_model\n"
    "#extension GL_KHR_cooperative_matrix : require\n"
    "#extension GL_KHR_memory_scope_semantics : require\n"
    "layout(local_size_x = 32) in;\n"
    "layout(set = 0, binding = 0) buffer B { float x[]; };\n"
    "void main() {\n"
    "    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;\n"
    "    coopMatLoad(c, x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
    "    coopMatStore(c + c, x, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);\n"
    "}\n";

/* The profile of a device is one that kernels can be lowered for, and says what happens anyway. */
TEST(what_is_lowered)
{
    Fixture f;
    EACH_DRIVER(f) {
        HeddleModule *m = module_of(&f, matrices, (HeddleModuleOptions){ 0 }), *lowered = NULL;
        const char *profile = heddle_device_profile(f.device);
        const HeddleDeviceInfo *info = heddle_device_info(f.device);
        HeddleKernel *k = NULL;
        uint32_t here = 0, there = 0;
        REQUIRE(m && profile && *info->driver && info->memory);
        HeddleLowerOptions l = { .profile = profile, .profile_size = strlen(profile),
                                 .subgroup_size = 32 };
        HeddleKernelOptions o = { .struct_size = sizeof o, .subgroup_size = 32 };
        CHECK(heddle_module_lower(m, &l, &lowered, f.log) == HEDDLE_OK);
        CHECK(heddle_kernel_new(f.device, m, &o, &k, f.log) == HEDDLE_OK);
        if (lowered && k) {
            const HeddleLowering *a = heddle_module_lowerings(lowered, &there),
                                 *b = heddle_kernel_lowerings(k, &here);
            CHECK_EQ_U64(here, there);
            CHECK(drivers[at] == drivers[0] ? !here : here > 0);
            for (uint32_t n = 0; n < here && n < there; n++)
                CHECK_STR(a[n].how, b[n].how);
        }
        heddle_kernel_free(k);
        heddle_module_free(lowered);
        heddle_module_free(m);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refused(Fixture *f, const char *source, HeddleModuleOptions mo, HeddleKernelOptions o,
                    const char *words)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleModule *m = module_of(f, source, mo);
    HeddleKernel *k = NULL;
    CHECK(m && heddle_kernel_new(f->device, m, &o, &k, log) != HEDDLE_OK && !k);
    CHECK_CONTAINS(heddle_log_count(log) ? heddle_log_get(log, 0)->message : "", words);
    heddle_module_free(m);
    heddle_log_free(log);
}

TEST(kernels_that_do_not_fit)
{
    Fixture f;
    EACH_DRIVER(f) {
        refused(&f, "#version 460\nlayout(set = 0, binding = 0) buffer B { uint x[]; };\n"
                    "layout(push_constant) uniform P { uint many[1000]; };\n"
                    "void main() { x[0] = many[x[1]]; }\n",
                (HeddleModuleOptions){ 0 }, (HeddleKernelOptions){ 0 }, "4000 bytes of push");
        refused(&f, "#version 460\nlayout(set = 0, binding = 0) buffer B { uint x[]; };\n"
                    "shared uint much[100000];\n"
                    "void main() { much[x[0]] = 1; barrier(); x[0] = much[x[1]]; }\n",
                (HeddleModuleOptions){ 0 }, (HeddleKernelOptions){ 0 },
                "400000 bytes of workgroup memory");
        refused(&f, plain, (HeddleModuleOptions){ 0 },
                (HeddleKernelOptions){ .emit = HEDDLE_EMIT_NATIVE }, "no code to show but SPIR-V");
        HeddleModuleOptions kernel = { .struct_size = sizeof kernel,
                                       .language = HEDDLE_LANGUAGE_OPENCL };
        HeddleModule *m = module_of(&f, opencl, kernel);
        if (m)
            refused(&f, opencl, kernel, (HeddleKernelOptions){ 0 }, "--target vulkan");
        heddle_module_free(m);
    }
}

static const char slow[] =
    "#version 460\n"
    "layout(local_size_x = 1) in;\n"
    "layout(set = 0, binding = 0) buffer Out { uint x[]; };\n"
    "layout(push_constant) uniform Push { uint n; };\n"
    "void main() {\n"
    "    uint v = x[0];\n"
    "    for (uint i = 0; i < n; i++) v = v * 1664525 + (v >> 9) + 1013904223;\n"
    "    x[0] = v;\n"
    "}\n";

/* On heddle's own driver alone: lavapipe ends loops itself. What takes too long is an error at
 * once, and so is everything behind it; to close the device is allowed while it still runs. */
TEST(watchdog)
{
    Fixture f;
    if (!open_driver(&f, HEDDLE_DRIVER))
        return;
    HeddleModule *m = module_of(&f, slow, (HeddleModuleOptions){ 0 });
    HeddleKernel *k = NULL;
    HeddleBuffer *b = NULL;
    uint32_t n = 1u << 30;
    REQUIRE(m && heddle_kernel_new(f.device, m, NULL, &k, f.log) == HEDDLE_OK);
    REQUIRE(heddle_buffer_new(f.device, 64, &b, f.log) == HEDDLE_OK);
    HeddleBinding binding = { .buffer = b };
    HeddleDispatch d = { .struct_size = sizeof d, .groups = { 1, 1, 1 }, .bindings = &binding,
                         .n_bindings = 1, .push = &n, .push_size = sizeof n, .watchdog = 60 };
    n = 1000;
    CHECK(heddle_dispatch(k, &d, NULL, f.log) == HEDDLE_OK);
    n = 1u << 30;
    d.watchdog = 0.01;
    HeddleLog *log = heddle_log_new(NULL, NULL);
    CHECK(heddle_dispatch(k, &d, NULL, log) == HEDDLE_ERROR_RUN);
    CHECK_CONTAINS(heddle_log_get(log, 0)->message, "did not end within 0.01 s");
    CHECK(heddle_dispatch(k, &d, NULL, log) == HEDDLE_ERROR_RUN);
    CHECK_CONTAINS(heddle_log_get(log, 1)->message, "was lost before");
    heddle_log_free(log);
    heddle_buffer_free(b);
    heddle_kernel_free(k);
    heddle_module_free(m);
    close_driver(&f);
}

/* The one file of the folder, whole; NULL: there is none. */
static char *cache_file(const char *folder, char *path, size_t *size)
{
    DIR *d = opendir(folder);
    char *data = NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strstr(e->d_name, ".pipelines"))
            continue;
        snprintf(path, 512, "%s/%s", folder, e->d_name);
        data = file_read(path, size, NULL);
    }
    if (d)
        closedir(d);
    return data;
}

static void compile_plain(Fixture *f)
{
    HeddleModule *m = module_of(f, plain, (HeddleModuleOptions){ 0 });
    HeddleKernel *k = NULL;
    CHECK(m && heddle_kernel_new(f->device, m, NULL, &k, f->log) == HEDDLE_OK);
    heddle_kernel_free(k);
    heddle_module_free(m);
}

/* HEDDLE_CACHE has the driver's pipelines behind a sum; a file that is damaged is made anew. */
TEST(pipelines_are_kept)
{
    for (size_t at = 0; at < COUNT_OF(drivers); at++) {
        char folder[] = "/tmp/heddle-pipelines-XXXXXX", path[512];
        REQUIRE(mkdtemp(folder) != NULL);
        setenv("HEDDLE_CACHE", folder, 1);
        char *files[3] = { 0 };
        size_t sizes[3] = { 0 };
        Fixture f;
        for (int turn = 0; turn < 3 && open_driver(&f, drivers[at]); turn++) {
            compile_plain(&f);
            close_driver(&f);
            files[turn] = cache_file(folder, path, &sizes[turn]);
            REQUIRE(files[turn] && sizes[turn] >= 24 + 32); /* heddle's head, Vulkan's */
            if (turn == 1) { /* kept as it was; then damaged */
                CHECK(sizes[0] == sizes[1] && !memcmp(files[0], files[1], sizes[0]));
                files[1][sizes[1] - 1] ^= 1;
                CHECK(file_write(path, files[1], sizes[1], NULL, 0, NULL));
            }
        }
        if (files[2])
            CHECK(memcmp(files[2], files[1], MIN(sizes[1], sizes[2])));
        for (int turn = 0; turn < 3; turn++)
            free(files[turn]);
        char command[600];
        snprintf(command, sizeof command, "rm -r %s", folder);
        CHECK(!system(command));
    }
    unsetenv("HEDDLE_CACHE");
}

TEST(no_driver)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleDeviceOptions o = { .struct_size = sizeof o, .kind = HEDDLE_DEVICE_VULKAN };
    HeddleDevice *d;
    choose("/there/is/no.json");
    CHECK_EQ_U64(heddle_device_count(HEDDLE_DEVICE_VULKAN), 0);
    CHECK(heddle_device_new(&o, &d, log) == HEDDLE_ERROR_UNSUPPORTED && !d);
    CHECK_CONTAINS(heddle_log_get(log, 0)->message, "no Vulkan device");
    choose(HEDDLE_DRIVER);
    CHECK_EQ_U64(heddle_device_count(HEDDLE_DEVICE_VULKAN), 1);
    o.ordinal = 1;
    heddle_log_clear(log);
    CHECK(heddle_device_new(&o, &d, log) == HEDDLE_ERROR_UNSUPPORTED && !d);
    CHECK_CONTAINS(heddle_log_get(log, 0)->message, "this machine has 1");
    heddle_log_free(log);
}
