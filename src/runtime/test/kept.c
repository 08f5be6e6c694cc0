/* SPDX-License-Identifier: MIT
 *
 * HEDDLE_CACHE: kernels that are in the folder are not compiled again; what decides a kernel
 * decides its file; files that are none are compiled anew. That a file was taken is seen by giving
 * it the contents of another kernel's.
 */
#include "base/test.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "heddle/heddle.h"

static const char source[] =
    "kernel void k(global int *x, int by) { x[get_global_id(0)] += STEP * by; }\n";

enum { MOST = 16 };
#define SIZED .struct_size = sizeof(HeddleKernelOptions)

typedef struct Fixture {
    HeddleDevice *device;
    HeddleBuffer *buffer;
    HeddleLog *log;
    bool shader;
    char folder[32];
    char files[MOST][300]; /* in the order in which they came */
    uint32_t n_files;
} Fixture;

static Fixture fixture(bool shader)
{
    Fixture f = { .log = heddle_log_new(NULL, NULL), .shader = shader };
    HeddleDeviceOptions o = { .threads = 1 };
    CHECK(heddle_device_new(&o, &f.device, f.log) == HEDDLE_OK);
    CHECK(heddle_buffer_new(f.device, 256, &f.buffer, f.log) == HEDDLE_OK);
    strcpy(f.folder, "/tmp/heddle-kept-XXXXXX");
    CHECK(mkdtemp(f.folder) && !setenv("HEDDLE_CACHE", f.folder, 1));
    return f;
}

static void fixture_free(Fixture *f)
{
    for (uint32_t i = 0; i < f->n_files; i++)
        CHECK(unlink(f->files[i]) == 0);
    CHECK(rmdir(f->folder) == 0 && !unsetenv("HEDDLE_CACHE"));
    heddle_buffer_free(f->buffer);
    heddle_device_free(f->device);
    heddle_log_free(f->log);
}

/* Adds the files that came. */
static uint32_t count_files(Fixture *f)
{
    DIR *d = opendir(f->folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", f->folder, e->d_name);
        bool known = e->d_name[0] == '.';
        for (uint32_t i = 0; i < f->n_files; i++)
            known |= !strcmp(f->files[i], path);
        if (!known && f->n_files < MOST)
            strcpy(f->files[f->n_files++], path);
    }
    if (d)
        closedir(d);
    return f->n_files;
}

static HeddleKernel *compile(const Fixture *f, const char *step, const HeddleKernelOptions *o)
{
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleModuleOptions how = { .language = HEDDLE_LANGUAGE_OPENCL,
                                .defines = &(HeddleDefine){ "STEP", step },
                                .n_defines = 1,
                                .opencl_to_vulkan = f->shader };
    CHECK(heddle_module_new(source, strlen(source), "kept.cl", &how, &m, f->log) == HEDDLE_OK);
    CHECK(heddle_kernel_new(f->device, m, o, &k, f->log) == HEDDLE_OK);
    heddle_module_free(m);
    return k;
}

/* What the kernel adds, times ten. */
static uint32_t added(const Fixture *f, const HeddleKernel *k)
{
    uint32_t by = 10, *x = heddle_buffer_data(f->buffer);
    const HeddleKernelInfo *info = heddle_kernel_info(k);
    HeddleBinding b[] = { { .buffer = f->buffer }, { .binding = 1, .value = &by, .size = 4 } };
    HeddleDispatch d = { .groups = { 1, 1, 1 }, .bindings = b, .n_bindings = info->n_bindings,
                         .push = f->shader ? &by : NULL, .push_size = f->shader ? 4 : 0 };
    *x = 7;
    CHECK(heddle_dispatch((HeddleKernel *)k, &d, NULL, f->log) == HEDDLE_OK);
    return *x - 7;
}

static uint32_t made(const Fixture *f, const char *step, const HeddleKernelOptions *o)
{
    HeddleKernel *k = compile(f, step, o);
    size_t size;
    if (!k)
        return 0;
    CHECK(!heddle_kernel_text(k, &size)); /* nobody has asked for one */
    uint32_t sum = added(f, k);
    heddle_kernel_free(k);
    return sum;
}

static void copy_file(const char *from, const char *to)
{
    size_t size;
    char *data = file_read(from, &size, NULL);
    CHECK(data && file_write(to, data, size, NULL, 0, NULL));
    free(data);
}

static void are_kept(bool shader)
{
    const HeddleKernelOptions size = { SIZED, .local_size = { 1, 1, 1 } };
    Fixture f = fixture(shader);
    CHECK_EQ_U64(made(&f, "1", &size), 10);
    CHECK_EQ_U64(count_files(&f), 1);
    CHECK_EQ_U64(made(&f, "2", &size), 20);
    CHECK_EQ_U64(count_files(&f), 2);
    CHECK_EQ_U64(made(&f, "2", &size), 20);
    copy_file(f.files[0], f.files[1]);
    CHECK_EQ_U64(made(&f, "2", &size), 10); /* which is how it is seen that it is not compiled */
    CHECK(truncate(f.files[1], 100) == 0);
    CHECK_EQ_U64(made(&f, "2", &size), 20);
    CHECK_EQ_U64(made(&f, "2", &size), 20);
    CHECK_EQ_U64(count_files(&f), 2);
    fixture_free(&f);
}

TEST(shaders_are_kept) { are_kept(true); }
TEST(opencl_kernels_are_kept) { are_kept(false); }

TEST(what_decides_a_kernel_decides_its_file)
{
    static const HeddleKernelOptions others[] = {
        { SIZED, .local_size = { 1, 1, 1 } },
        { SIZED, .local_size = { 2, 1, 1 } },
        { SIZED, .local_size = { 1, 1, 1 }, .subgroup_size = 8 },
        { SIZED, .local_size = { 1, 1, 1 }, .robust = true },
        { SIZED, .local_size = { 1, 1, 1 }, .debug = true },
        { SIZED, .local_size = { 1, 1, 1 }, .no_optimisation = true },
        { SIZED, .local_size = { 1, 1, 1 }, .tier = HEDDLE_TIER_FULL },
    };
    Fixture f = fixture(true);
    for (uint32_t i = 0; i < COUNT_OF(others); i++) {
        CHECK_EQ_U64(made(&f, "3", &others[i]), 30);
        CHECK_EQ_U64(count_files(&f), i + 1);
    }
    for (uint32_t i = 0; i < COUNT_OF(others); i++)
        CHECK_EQ_U64(made(&f, "3", &others[i]), 30);
    CHECK_EQ_U64(count_files(&f), COUNT_OF(others));
    fixture_free(&f);
}

/* Counts, lines' counts, remarks and texts are of one compilation; fast code is not worth it. */
TEST(what_is_looked_at_is_not_kept)
{
    static const HeddleKernelOptions others[] = {
        { SIZED, .local_size = { 1, 1, 1 }, .stats = true },
        { SIZED, .local_size = { 1, 1, 1 }, .profile = true },
        { SIZED, .local_size = { 1, 1, 1 }, .remarks = true },
        { SIZED, .local_size = { 1, 1, 1 }, .tier = HEDDLE_TIER_FAST },
    };
    Fixture f = fixture(true);
    for (uint32_t i = 0; i < COUNT_OF(others); i++)
        CHECK_EQ_U64(made(&f, "4", &others[i]), 40);
    HeddleKernelOptions text = { SIZED, .local_size = { 1, 1, 1 }, .emit = HEDDLE_EMIT_OBJECT };
    HeddleKernel *k = compile(&f, "4", &text);
    size_t size;
    CHECK(k && heddle_kernel_text(k, &size) && size);
    heddle_kernel_free(k);
    CHECK_EQ_U64(count_files(&f), 0);
    fixture_free(&f);
}
