/* SPDX-License-Identifier: MIT
 *
 * The kernels of tests/opencl/kernels/: what heddle's front end makes of them gives the same as
 * what clang makes (where there is a clang that makes SPIR-V), and as the shaders that --target
 * vulkan makes, on heddle's cpu device, and by Vulkan on heddle's driver and on Mesa's lavapipe
 * (where they and a loader are installed).
 *
 * A file is one module; its kernels take (out, in) in workgroups of 16 and name themselves by the
 * macro KERNEL. Those that only OpenCL can run say "VULKAN: no" in their head.
 */
#include "base/test.h"
#include "../../bench/vulkan_host.h"

#include <dirent.h>
#include <heddle/heddle.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/opencl/kernels"
enum { ITEMS = 64, GROUP = 16, WORDS = 1024, IN_WORDS = 256, MAX_FILES = 32 };

typedef struct File {
    char path[512], name[64];
    char *text;
    HeddleModule *own, *clang, *shader;
} File;

typedef struct Fixture {
    HeddleDevice *device;
    HeddleLog *log;
    uint32_t in[IN_WORDS], out[WORDS], expected[WORDS];
    uint32_t n_kernels, n_clang, n_shaders;
} Fixture;

static bool run(Fixture *f, HeddleModule *m, const char *entry)
{
    HeddleKernel *k = NULL;
    HeddleBuffer *in = NULL, *out = NULL;
    HeddleKernelOptions o = { .entry = entry };
    memset(f->out, 0, sizeof f->out);
    bool good = !heddle_kernel_new(f->device, m, &o, &k, f->log) &&
                !heddle_buffer_wrap(f->device, f->out, sizeof f->out, &out, f->log) &&
                !heddle_buffer_wrap(f->device, f->in, sizeof f->in, &in, f->log);
    HeddleBinding b[2] = { { .binding = 0, .buffer = out }, { .binding = 1, .buffer = in } };
    HeddleDispatch d = { .groups = { ITEMS / GROUP, 1, 1 }, .bindings = b, .n_bindings = 2 };
    good = good && !heddle_dispatch(k, &d, NULL, f->log);
    heddle_buffer_free(out);
    heddle_buffer_free(in);
    heddle_kernel_free(k);
    return good;
}

static HeddleModule *by_clang(Fixture *f, const File *file)
{
    char out[64], command[2048];
    HeddleModule *m = NULL;
    snprintf(out, sizeof out, "kernels_%d.spv", (int)getpid());
    snprintf(command, sizeof command,
             "%s -x cl -cl-std=CL3.0 -Xclang -cl-ext=+all -target spirv64 -mllvm --spirv-ext=all "
             "-O1 -w -c %s -o %s 2>/dev/null", HEDDLE_CLANG, file->path, out);
    if (!system(command))
        heddle_module_from_file(out, NULL, &m, f->log);
    remove(out);
    return m;
}

static void open_file(Fixture *f, File *file)
{
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_OPENCL };
    FILE *in = fopen(file->path, "r");
    file->text = calloc(1, 1 << 20);
    CHECK(in && file->text && fread(file->text, 1, (1 << 20) - 1, in));
    if (in)
        fclose(in);
    CHECK(!heddle_module_from_file(file->path, &o, &file->own, f->log));
    o.opencl_to_vulkan = true;
    if (!strstr(file->text, "VULKAN: no"))
        CHECK(!heddle_module_from_file(file->path, &o, &file->shader, f->log));
    file->clang = by_clang(f, file);
}

/* The next kernel's name, or false at the end. */
static bool next_kernel(const char **at, char name[64])
{
    const char *p = strstr(*at, "\nKERNEL(");
    if (!p)
        return false;
    size_t n = strcspn(p + 8, ")");
    snprintf(name, 64, "%.*s", (int)n, p + 8);
    *at = p + 8;
    return true;
}

static void compare(const Fixture *f, const uint32_t *got, const File *file, const char *kernel,
                    const char *what)
{
    for (uint32_t k = 0; k < WORDS; k++) {
        if (got[k] == f->expected[k])
            continue;
        test_fail(__FILE__, __LINE__, "%s: %s: o[%u] of item %u: %#x, but %#x %s", file->name,
                  kernel, k % 8, k / 8, f->expected[k], got[k], what);
        return;
    }
}

static void one_kernel(Fixture *f, File *file, const char *kernel, VulkanHost *const *hosts)
{
    if (!run(f, file->own, kernel)) {
        test_fail(__FILE__, __LINE__, "%s: %s does not run", file->name, kernel);
        return;
    }
    f->n_kernels++;
    memcpy(f->expected, f->out, sizeof f->out);
    if (file->clang && ++f->n_clang) {
        CHECK(run(f, file->clang, kernel));
        compare(f, f->out, file, kernel, "as clang compiles it");
    }
    if (file->shader && ++f->n_shaders) {
        CHECK(run(f, file->shader, kernel));
        compare(f, f->out, file, kernel, "as a shader");
    }
    for (uint32_t k = 0; file->shader && k < 2; k++) {
        size_t size;
        const uint32_t *spirv = heddle_module_spirv(file->shader, &size);
        VulkanStep step = { .spirv = spirv, .size = size, .groups = { ITEMS / GROUP, 1, 1 },
                            .entry = kernel };
        uint64_t sizes[] = { sizeof f->out, sizeof f->in };
        VulkanProgram *p = hosts[k] ? vulkan_program_new(hosts[k], &step, 1, sizes, 2, NULL, 0)
                                    : NULL;
        if (!p) {
            CHECK(!hosts[k]);
            continue;
        }
        memset(vulkan_program_buffer(p, 0), 0, sizeof f->out);
        memcpy(vulkan_program_buffer(p, 1), f->in, sizeof f->in);
        CHECK(vulkan_program_run(p));
        compare(f, vulkan_program_buffer(p, 0), file, kernel, vulkan_host_name(hosts[k]));
        vulkan_program_free(p);
    }
}

static VulkanHost *host(const char *manifest, const char *what)
{
    const char *reason = "its manifest is not there";
    VulkanHost *h = NULL;
    if (manifest && !access(manifest, R_OK)) {
        setenv("VK_DRIVER_FILES", manifest, 1);
        setenv("VK_ICD_FILENAMES", manifest, 1);
        h = vulkan_host_new(VULKAN_CPU, &reason);
    }
    if (!h)
        printf("skipped: %s by Vulkan: %s\n", what, reason);
    return h;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const File *)a)->name, ((const File *)b)->name);
}

static uint32_t find_files(File *files)
{
    DIR *dir = opendir(FOLDER);
    uint32_t n = 0;
    for (struct dirent *e; dir && n < MAX_FILES && (e = readdir(dir)) != NULL;) {
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 3, ".cl"))
            continue;
        snprintf(files[n].name, sizeof files[n].name, "%.60s", e->d_name);
        snprintf(files[n].path, sizeof files[n].path, "%s/%.60s", FOLDER, e->d_name);
        n++;
    }
    if (dir)
        closedir(dir);
    qsort(files, n, sizeof *files, by_name);
    return n;
}

TEST(every_way_to_run_a_kernel_gives_the_same)
{
#ifdef HEDDLE_MANIFEST
    static const char manifest[] = HEDDLE_MANIFEST;
#else
    static const char *const manifest = NULL;
#endif
    static File files[MAX_FILES];
    Fixture *f = calloc(1, sizeof *f);
    Rng rng = { .state = 5 };
    VulkanHost *hosts[2] = { host(manifest, "heddle"),
                             host("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", "lavapipe") };
    uint32_t n = find_files(files);
    f->log = heddle_log_new(heddle_print_to_stderr, NULL);
    CHECK(!heddle_device_new(NULL, &f->device, f->log));
    for (uint32_t k = 0; k < IN_WORDS; k++)
        f->in[k] = (uint32_t)(rng_u64(&rng) >> 32);
    for (uint32_t k = 0; k < n; k++) {
        const char *at;
        char kernel[64];
        open_file(f, &files[k]);
        for (at = files[k].text; files[k].own && at && next_kernel(&at, kernel);)
            one_kernel(f, &files[k], kernel, hosts);
        heddle_module_free(files[k].own);
        heddle_module_free(files[k].clang);
        heddle_module_free(files[k].shader);
        free(files[k].text);
    }
    CHECK(f->n_kernels >= 100);
    printf("%u kernels, %u by clang too, %u as shaders\n", f->n_kernels, f->n_clang, f->n_shaders);
    for (uint32_t k = 0; k < 2; k++)
        if (hosts[k])
            vulkan_host_free(hosts[k]);
    heddle_device_free(f->device);
    heddle_log_free(f->log);
    free(f);
}
