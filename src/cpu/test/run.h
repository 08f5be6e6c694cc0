/* SPDX-License-Identifier: MIT
 *
 * For tests of the code generator: a GLSL kernel compiled by glslang, run on buffers through exec.
 */
#ifndef HEDDLE_CPU_TEST_RUN_H
#define HEDDLE_CPU_TEST_RUN_H

#include "base/test.h"
#include "cpu/cpu.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct Messages { char text[2048]; } Messages;

static inline void keep_message(void *user, const Diag *d)
{
    Messages *m = user;
    size_t at = strlen(m->text);
    diag_format(d, m->text + at, sizeof m->text - at);
}

/* The bytes of a file, malloc'd. */
static inline void *read_bytes(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    *size = 0;
    while (f) {
        data = realloc(data, *size + 65536);
        size_t n = fread(data + *size, 1, 65536, f);
        *size += n;
        if (n == 0)
            break;
    }
    if (f)
        fclose(f);
    return data;
}

static inline bool have_glslang(void)
{
    return access(HEDDLE_TOOLCHAIN "/bin/glslang", X_OK) == 0;
}

/* GLSL to SPIR-V; NULL after a failed check. */
static inline SpvModule *glsl_module(Arena *a, const char *source, DiagSink *sink)
{
    char in[] = "/tmp/heddle-test-XXXXXX.comp", out[64], command[512];
    int fd = mkstemps(in, 5);
    if (fd < 0 || write(fd, source, strlen(source)) != (ssize_t)strlen(source))
        return NULL;
    close(fd);
    snprintf(out, sizeof out, "%s.spv", in);
    snprintf(command, sizeof command,
             HEDDLE_TOOLCHAIN "/bin/glslang --target-env vulkan1.3 -g0 -o %s %s "
             ">%s.log 2>&1 || { cat %s.log; false; }", out, in, in, in);
    bool ok = system(command) == 0;
    size_t size;
    void *data = ok ? read_bytes(out, &size) : NULL;
    SpvModule *m = data ? spv_read(a, arena_copy(a, data, size), size, "test", sink) : NULL;
    free(data);
    snprintf(command, sizeof command, "rm -f %s %s %s.log", in, out, in);
    if (system(command) != 0)
        return NULL;
    return m;
}

/* Compiles a module and runs it on buffers 0..n-1 (by binding). False after a failed check. */
typedef struct Run {
    uint32_t subgroup_size, groups[3];
    bool robust, plain, fast, dump;   /* plain: not optimised; fast: the first tier */
    DeviceBinding buffers[8];
    uint32_t n_buffers;
    const void *push;
} Run;

static inline bool run_module(const SpvModule *m, const Run *r)
{
    static CpuDevice *device;
    Messages messages = { "" };
    DiagSink sink = { .report = keep_message, .user = &messages };
    CpuTarget target;
    if (!cpu_target(&target, NULL, &sink))
        return false;
    if (!device)
        device = cpu_device_new(1, true, &sink);
    PassOptions passes = { .optimise = !r->plain };
    CpuOptions options = { .subgroup_size = r->subgroup_size, .robust = r->robust,
                           .optimise = !r->plain,
                           .tier = r->fast ? CPU_TIER_FAST : CPU_TIER_FULL,
                           .emit = r->dump ? CPU_EMIT_LLVM : CPU_EMIT_NOTHING };
    CpuKernel *k = cpu_compile(m, &target, &passes, &options, &sink);
    bool ok = k != NULL;
    if (k && r->dump)
        printf("%.*s\n", (int)k->text_size, k->text);
    if (k) {
        const DeviceBinding *slots[8] = { 0 };
        for (uint32_t s = 0; s < k->n_slots && s < 8; s++)
            slots[s] = &r->buffers[k->slots[s].binding];
        CpuDispatch d = { .kernel = k, .slots = slots, .push = r->push };
        memcpy(d.groups, r->groups, sizeof d.groups);
        ok = cpu_dispatch(device, &d, &sink);
    }
    if (!ok)
        test_fail(__FILE__, __LINE__, "W=%u: %s", r->subgroup_size, messages.text);
    cpu_kernel_free(k);
    cpu_target_free(&target);
    return ok;
}

#endif
