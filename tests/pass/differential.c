/* SPDX-License-Identifier: MIT
 *
 * The kernels of this folder mean the same after each pass: the interpreter runs the module as it
 * was and as each pass left it, on the same buffers, and every byte must agree.
 */
#include "base/test.h"
#include "front/glsl/glsl.h"
#include "pass/pass.h"
#include "reference/reference.h"

#include <stdlib.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/pass/"

enum { N_BUFFERS = 3, BYTES = 1 << 16 };

typedef struct Case {
    const char *file;
    bool floats;                /* what the buffers hold: small numbers as float or as uint */
    uint32_t groups[2], push[4];
    SpvSpecValue spec[4];
    uint32_t n_spec;
} Case;

static const Case cases[] = {
    { "gemm.comp", true, { 2, 2 }, { 128, 128, 80, 0x40000000 }, { { 0, 4 } }, 1 },
    { "gemm.comp", true, { 1, 2 }, { 64, 16, 24, 0x3f800000 },
      { { 0, 2 }, { 1, 1 }, { 2, 8 }, { 4, 8 } }, 4 },
    { "gemm.comp", true, { 1, 1 }, { 128, 128, 0, 0x3f800000 }, { { 0, 1 } }, 1 },
    { "returns.comp", false, { 2, 1 }, { 0 }, { { 0, 0 } }, 0 },
    { "control.comp", false, { 1, 1 }, { 9, 0 }, { { 0, 0 } }, 0 },
    { "control.comp", false, { 1, 1 }, { 9, 1 }, { { 0, 0 } }, 0 },
    { "control.comp", false, { 1, 1 }, { 9, 3 }, { { 0, 0 } }, 0 },
    { "aggregates.comp", true, { 1, 1 }, { 0 }, { { 0, 0 } }, 0 },
    { "constants.comp", true, { 1, 1 }, { 0 }, { { 0, 8 }, { 1, 5 } }, 2 },
    { "constants.comp", true, { 1, 1 }, { 0 }, { { 0, 4 }, { 2, 0 } }, 2 },
};

typedef struct Compare {
    const Case *k;
    TestDiags diags;
    uint32_t subgroup_size;
    ToolStatus status;
    uint8_t *start, *want, *got; /* N_BUFFERS * BYTES each */
} Compare;

static void fill(Compare *c)
{
    Rng rng = { 7 };
    for (uint32_t at = 0; at < N_BUFFERS * BYTES; at += 4) {
        uint32_t x = (uint32_t)(rng_uniform(&rng) * 40);
        float f = (float)x - 20;
        memcpy(c->start + at, c->k->floats ? (void *)&f : (void *)&x, 4);
    }
}

static bool interpret(Compare *c, Arena *a, SpvModule *m, bool specialised, uint8_t *buffers)
{
    RefBinding bindings[N_BUFFERS];
    SpvSpecValue spec[4];
    RefResult result;
    memcpy(buffers, c->start, (size_t)N_BUFFERS * BYTES);
    for (uint32_t n = 0; n < N_BUFFERS; n++)
        bindings[n] = (RefBinding){ .binding = n, .base = buffers + n * BYTES, .size = BYTES };
    for (uint32_t n = 0; n < c->k->n_spec; n++)
        spec[n] = (SpvSpecValue){ c->k->spec[n].id, c->k->spec[n].bits };
    RefDispatch d = { .bindings = bindings,
                      .n_bindings = N_BUFFERS,
                      .spec = spec,
                      .n_spec = specialised ? 0 : c->k->n_spec,
                      .push = c->k->push,
                      .push_size = sizeof c->k->push,
                      .groups = { c->k->groups[0], c->k->groups[1], 1 },
                      .subgroup_size = c->subgroup_size };
    return ref_dispatch(a, m, &d, &result, &c->diags.sink);
}

static void after(void *user, const char *pass, SpvModule *m)
{
    Compare *c = user;
    Arena a = { 0 };
    jmp_buf failed;
    a.on_failure = &failed;
    if (setjmp(failed)) {
        test_fail(__FILE__, __LINE__, "out of memory after %s", pass);
    } else {
        size_t size;
        const void *words = spv_write(&a, m, &size);
        SpvModule *again = spv_read(&a, words, size, pass, &c->diags.sink);
        if (!again || !interpret(c, &a, again, true, c->got))
            test_fail(__FILE__, __LINE__, "%s after %s: %s", c->k->file, pass, c->diags.text);
        else if (memcmp(c->want, c->got, (size_t)N_BUFFERS * BYTES))
            test_fail(__FILE__, __LINE__, "%s computes something else after %s", c->k->file, pass);
    }
    arena_free(&a);
}

static SpvModule *compile(Compare *c, Arena *a)
{
    char path[1024];
    void *spirv;
    size_t size;
    snprintf(path, sizeof path, "%s%s", FOLDER, c->k->file);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *source = arena_alloc(a, 65536);
    size_t n = fread(source, 1, 65536, f);
    fclose(f);
    GlslOptions options = { .target_env = "vulkan1.3" };
    ToolSource named = { source, n, path };
    c->status = glsl_compile(a, &named, &options, &spirv, &size, &c->diags.sink);
    return c->status == TOOL_OK ? spv_read(a, spirv, size, path, &c->diags.sink) : NULL;
}

static void run_case(const Case *k, uint32_t subgroup_size, bool optimise)
{
    static const uint32_t all = N_BUFFERS * BYTES;
    Compare c = { .k = k, .subgroup_size = subgroup_size, .status = TOOL_IO };
    Arena a = { 0 };
    jmp_buf failed;
    c.diags = (TestDiags)TEST_DIAGS(c.diags);
    a.on_failure = &failed;
    if (setjmp(failed)) {
        test_fail(__FILE__, __LINE__, "out of memory");
        arena_free(&a);
        return;
    }
    c.start = arena_alloc(&a, all);
    c.want = arena_alloc(&a, all);
    c.got = arena_alloc(&a, all);
    fill(&c);
    SpvModule *m = compile(&c, &a);
    PassOptions o = { .spec = k->spec, .n_spec = k->n_spec, .subgroup_size = subgroup_size,
                      .optimise = optimise, .after = after, .user = &c };
    SpvEntryPoint entry;
    if (c.status == TOOL_MISSING)
        printf("no glslang: %s is not tested\n", k->file);
    else if (!m || !interpret(&c, &a, spv_clone(&a, m), false, c.want))
        test_fail(__FILE__, __LINE__, "%s: %s", k->file, c.diags.text);
    else if (!memcmp(c.want, c.start, all))
        test_fail(__FILE__, __LINE__, "%s writes nothing", k->file);
    else
        CHECK(pass_pipeline(m, &o, &entry, &c.diags.sink));
    arena_free(&a);
}

TEST(every_pass_keeps_the_meaning)
{
    for (uint32_t k = 0; k < COUNT_OF(cases); k++)
        run_case(&cases[k], 32, true);
}

TEST(other_subgroups)
{
    for (uint32_t k = 0; k < COUNT_OF(cases); k++)
        if (strcmp(cases[k].file, "constants.comp"))
            run_case(&cases[k], 8, true);
}

TEST(the_minimum)
{
    for (uint32_t k = 0; k < COUNT_OF(cases); k++)
        run_case(&cases[k], 32, false);
}
