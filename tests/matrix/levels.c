/* SPDX-License-Identifier: MIT
 *
 * Matrices of odd sizes at every level of instruction sets that machine code is made for: what this
 * machine can run gives what the interpreter gives, what it cannot run compiles. What LLVM has
 * instructions and registers for differs from level to level, and so does what it has no code for.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

static const char *const levels[] = {
    "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "cooperlake", "znver4", "alderlake",
    "arrowlake", "sapphirerapids", "graniterapids", "armv8", "armv8.2", "host"
};

typedef struct Case { HeddleType type; const char *name; uint32_t rows, cols, subgroup; } Case;

static const Case cases[] = {
    { HEDDLE_BF16, "bfloat16_t", 1, 17, 32 }, { HEDDLE_BF16, "bfloat16_t", 1, 33, 64 },
    { HEDDLE_BF16, "bfloat16_t", 8, 33, 64 }, { HEDDLE_BF16, "bfloat16_t", 2, 9, 16 },
    { HEDDLE_BF16, "bfloat16_t", 3, 65, 8 },  { HEDDLE_BF16, "bfloat16_t", 1, 41, 32 },
    { HEDDLE_BF16, "bfloat16_t", 5, 25, 128 }, { HEDDLE_BF16, "bfloat16_t", 1, 49, 16 },
    { HEDDLE_F16, "float16_t", 1, 17, 32 },   { HEDDLE_E4M3, "floate4m3_t", 2, 33, 64 },
    { HEDDLE_F32, "float", 3, 9, 16 },
};

enum { PARTS = 14, OUT = PARTS * 8192, IN = 4096 };

static HeddleArray *array(HeddleType type, uint64_t n)
{
    HeddleArray *a = NULL;
    heddle_array_new(type, 1, &n, &a, NULL);
    return a;
}

/* What the device makes of small integers. UNSUPPORTED: it only compiles. */
static HeddleResult run(const Case *c, const HeddleDeviceOptions *o, HeddleModule *m,
                        HeddleArray *out, HeddleLog *log)
{
    HeddleArray *data[] = { array(c->type, IN), out, array(HEDDLE_U32, 1) };
    HeddleSpecValue specs[] = { { 0, c->rows }, { 1, c->cols } };
    HeddleKernelOptions ko = { .specs = specs, .n_specs = 2, .subgroup_size = c->subgroup };
    HeddleBinding bindings[3] = { 0 };
    HeddleDevice *d = NULL;
    HeddleKernel *k = NULL;
    Rng r = { 11 };
    for (uint32_t e = 0; e < IN; e++)
        heddle_array_set(data[0], e, floor(rng_uniform(&r) * 5) - 2);
    heddle_array_set(data[2], 0, 1);
    HeddleResult result = heddle_device_new(o, &d, log);
    result = result ? result : heddle_kernel_new(d, m, &ko, &k, log);
    for (uint32_t b = 0; !result && b < 3; b++) {
        bindings[b].binding = b;
        result = heddle_buffer_wrap(d, data[b]->data, data[b]->size, &bindings[b].buffer, log);
    }
    HeddleDispatch run = { .bindings = bindings, .n_bindings = 3 };
    result = result ? result : heddle_dispatch(k, &run, NULL, NULL);
    for (uint32_t b = 0; b < 3; b++)
        heddle_buffer_free(bindings[b].buffer);
    heddle_kernel_free(k);
    heddle_device_free(d);
    heddle_array_free(data[0]);
    heddle_array_free(data[2]);
    return result;
}

static bool same(const Case *c, const char *level, const HeddleArray *got, const HeddleArray *want)
{
    for (uint32_t e = 0; e < OUT; e++) {
        double x = heddle_array_get(got, e), y = heddle_array_get(want, e);
        if (x == y)
            continue;
        printf("%s, %s %ux%u, subgroups of %u: part %u has %g at %u, not %g\n", level, c->name,
               c->rows, c->cols, c->subgroup, e / 8192, x, e % 8192, y);
        return false;
    }
    return true;
}

static bool exists(const char *level)
{
    HeddleDevice *d = NULL;
    heddle_device_new(&(HeddleDeviceOptions){ .isa = level }, &d, NULL);
    heddle_device_free(d);
    return d != NULL;
}

static void at_all_levels(const Case *c, HeddleLog *log)
{
    HeddleDefine define = { "T", c->name };
    HeddleModuleOptions o = { .defines = &define, .n_defines = 1 };
    HeddleModule *m = NULL;
    HeddleArray *want = array(c->type, OUT), *got = array(c->type, OUT);
    heddle_module_from_file(HEDDLE_SOURCE_DIR "/tests/matrix/levels.comp", &o, &m, log);
    HeddleDeviceOptions reference = { .kind = HEDDLE_DEVICE_REFERENCE };
    CHECK(m && !run(c, &reference, m, want, log));
    for (uint32_t k = 0; m && k < COUNT_OF(levels); k++) {
        if (!exists(levels[k]))
            continue;
        memset(got->data, 0, got->size);
        HeddleResult r = run(c, &(HeddleDeviceOptions){ .isa = levels[k] }, m, got, log);
        CHECK(r == HEDDLE_OK || (r == HEDDLE_ERROR_UNSUPPORTED && strcmp(levels[k], "host")));
        CHECK(r || same(c, levels[k], got, want));
    }
    heddle_module_free(m);
    heddle_array_free(want);
    heddle_array_free(got);
}

TEST(matrices_at_all_levels)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    for (uint32_t k = 0; k < COUNT_OF(cases); k += HEDDLE_TEST_STEP)
        at_all_levels(&cases[k], log);
    CHECK(!heddle_log_count(log));
    heddle_log_free(log);
}

TEST(levels_have_names)
{
    CHECK(exists("host"));
    CHECK(!exists("pentium-9"));
}
