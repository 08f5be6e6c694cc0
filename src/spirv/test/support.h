/* SPDX-License-Identifier: MIT
 *
 * For the tests of spirv/: arenas with a guard, files, and modules that glslang made from the
 * kernels in tests/spirv. Where the toolchain is not installed those tests say so and pass.
 */
#ifndef HEDDLE_SPIRV_TEST_SUPPORT_H
#define HEDDLE_SPIRV_TEST_SUPPORT_H

#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
#include "spirv/spirv.h"

typedef struct Bytes {
    void *data;
    size_t size;
} Bytes;

static inline Bytes read_file(Arena *a, const char *path)
{
    Bytes b = { 0 };
    FILE *f = fopen(path, "rb");
    if (!f)
        return b;
    fseek(f, 0, SEEK_END);
    b.size = (size_t)ftell(f);
    rewind(f);
    b.data = arena_alloc(a, b.size + 1);
    if (fread(b.data, 1, b.size, f) != b.size)
        b.size = 0;
    fclose(f);
    return b;
}

static inline bool write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return false;
    bool ok = fwrite(data, 1, size, f) == size;
    return fclose(f) == 0 && ok;
}

static inline bool have_tool(const char *tool)
{
    char path[512];
    snprintf(path, sizeof path, HEDDLE_TOOLCHAIN "/bin/%s", tool);
    if (access(path, X_OK) == 0)
        return true;
    printf("skipped: no %s\n", path);
    return false;
}

/* Runs a tool of the toolchain; its output is thrown away. */
static inline PRINTF_LIKE(1, 2) bool run_tool(const char *fmt, ...)
{
    char command[2048] = HEDDLE_TOOLCHAIN "/bin/";
    size_t n = strlen(command);
    va_list args;
    va_start(args, fmt);
    vsnprintf(command + n, sizeof command - n, fmt, args);
    va_end(args);
    n = strlen(command);
    snprintf(command + n, sizeof command - n, " >/dev/null 2>&1");
    return system(command) == 0;
}

/* A name for a file of this process. */
static inline const char *temp_path(Arena *a, const char *suffix)
{
    const char *folder = getenv("TMPDIR");
    return arena_printf(a, "%s/heddle-spirv-%ld%s", folder ? folder : "/tmp", (long)getpid(),
                        suffix);
}

/* Calls `each` with every module that glslang makes of tests/spirv's kernels, with the first `n`
 * of: plain, with OpLine, with NonSemantic.Shader.DebugInfo. */
static inline void each_kernel(size_t n, void (*each)(Arena *a, const char *name, Bytes module))
{
    static const char *const options[] = { "--target-env vulkan1.4", "--target-env vulkan1.4 -g",
                                           "--target-env vulkan1.4 -gVS" };
    glob_t files;
    if (!have_tool("glslang"))
        return;
    if (glob(HEDDLE_SOURCE_DIR "/tests/spirv/*.comp", 0, NULL, &files))
        return;
    for (size_t k = 0; k < files.gl_pathc; k++) {
        for (size_t o = 0; o < n && o < COUNT_OF(options); o++) {
            Arena a = { 0 };
            const char *out = temp_path(&a, ".spv");
            CHECK(run_tool("glslang -V %s -o %s %s", options[o], out, files.gl_pathv[k]));
            Bytes module = read_file(&a, out);
            unlink(out);
            CHECK(module.size > 20);
            each(&a, arena_printf(&a, "%s %s", files.gl_pathv[k], options[o]), module);
            arena_free(&a);
        }
    }
    globfree(&files);
}

/* Calls `each` with every text in tests/spirv. */
static inline void each_text(void (*each)(Arena *a, const char *name, Bytes text))
{
    glob_t files;
    if (glob(HEDDLE_SOURCE_DIR "/tests/spirv/*.spvasm", 0, NULL, &files)) {
        test_fail(__FILE__, __LINE__, "tests/spirv has no texts");
        return;
    }
    for (size_t k = 0; k < files.gl_pathc; k++) {
        Arena a = { 0 };
        each(&a, files.gl_pathv[k], read_file(&a, files.gl_pathv[k]));
        arena_free(&a);
    }
    globfree(&files);
}

static inline SpvModule *assemble(Arena *a, const char *text, DiagSink *sink)
{
    return spv_assemble(a, text, strlen(text), "test.spvasm", sink);
}

static inline void swap_words(Bytes b)
{
    for (size_t k = 0; k + 4 <= b.size; k += 4) {
        uint32_t x;
        memcpy(&x, (char *)b.data + k, 4);
        x = __builtin_bswap32(x);
        memcpy((char *)b.data + k, &x, 4);
    }
}

static inline bool same(Bytes a, const void *data, size_t size)
{
    return a.size == size && !memcmp(a.data, data, size);
}

#endif
