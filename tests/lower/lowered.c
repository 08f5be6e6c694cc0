/* SPDX-License-Identifier: MIT
 *
 * The family's tests once more, lowered: linked into their programs, this takes the place of
 * heddle_kernel_new, lowers every module for a target (HEDDLE_LOWER, a profile) and compiles what
 * comes of it. So each result that a test expects of a kernel it expects of the lowered one too, on
 * both devices. Every module is shown to spirv-val once.
 */
#include "base/base.h"
#include "../wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_SEEN = 4096 };
static uint64_t seen[MOST_SEEN];
static uint32_t n_seen;

static char *read_profile(size_t *size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/lower/%s.json", HEDDLE_SOURCE_DIR, HEDDLE_LOWER);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = calloc(1, 65536);
    *size = text ? fread(text, 1, 65535, f) : 0;
    fclose(f);
    return text;
}

/* False where it is the first time. */
static bool seen_before(uint64_t hash)
{
    for (uint32_t k = 0; k < n_seen; k++)
        if (seen[k] == hash)
            return true;
    if (n_seen < MOST_SEEN)
        seen[n_seen++] = hash;
    return false;
}

static bool is_valid(const HeddleModule *m)
{
    char path[] = "/tmp/heddle-lowered-XXXXXX", command[2048];
    size_t size;
    const void *words = heddle_module_spirv(m, &size);
    if (access(HEDDLE_TOOLCHAIN "/bin/spirv-val", X_OK) || seen_before(hash_bytes(words, size, 1)))
        return true;
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
    bool good = f && fwrite(words, 1, size, f) == size;
    good = f && !fclose(f) && good;
    snprintf(command, sizeof command, "%s/bin/spirv-val --target-env vulkan1.4 "
             "--scalar-block-layout %s 1>&2", HEDDLE_TOOLCHAIN, path);
    good = good && !system(command);
    if (good || !getenv("HEDDLE_KEEP_LOWERED"))
        unlink(path);
    else
        printf("  spirv-val refuses %s\n", path);
    return good;
}

#ifdef HEDDLE_LOWER_WORDS
/* Buffers that hold numbers in words consist of whole ones. */
HeddleResult __wrap_heddle_buffer_new(HeddleDevice *device, uint64_t size, HeddleBuffer **out,
                                      HeddleLog *log)
{
    return __real_heddle_buffer_new(device, (size + 3) / 4 * 4, out, log);
}

HeddleResult __wrap_heddle_buffer_wrap(HeddleDevice *device, void *data, uint64_t size,
                                       HeddleBuffer **out, HeddleLog *log)
{
    return __real_heddle_buffer_wrap(device, data, (size + 3) / 4 * 4, out, log);
}
#endif

HeddleResult __wrap_heddle_kernel_new(HeddleDevice *device, const HeddleModule *module,
                                      const HeddleKernelOptions *options, HeddleKernel **out,
                                      HeddleLog *log)
{
    HeddleKernelOptions o = options ? *options : (HeddleKernelOptions){ 0 };
    HeddleLowerOptions l = { .profile_name = HEDDLE_LOWER, .entry = o.entry, .specs = o.specs,
                             .n_specs = o.n_specs, .subgroup_size = o.subgroup_size };
    HeddleModule *lowered = NULL;
    char *profile = read_profile(&l.profile_size);
    l.profile = profile;
    if (!l.subgroup_size)
        l.subgroup_size = 32;
    HeddleResult r = heddle_module_lower(module, &l, &lowered, log);
    free(profile);
    o.subgroup_size = 0; /* the one that it is lowered for */
    *out = NULL;
    if (!r && !is_valid(lowered))
        r = HEDDLE_ERROR_SOURCE;
    o.specs = NULL;
    o.n_specs = 0;
    o.check_portability = false; /* what is lowered is so for one subgroup size */
    if (!r)
        r = __real_heddle_kernel_new(device, lowered, &o, out, log);
    heddle_module_free(lowered);
    return r;
}
