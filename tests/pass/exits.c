/* SPDX-License-Identifier: MIT
 *
 * Generated functions that return, break and continue from anywhere in nested loops and switches:
 * where modules are made for other drivers, they are inlined, unrolled and structured again. The
 * reference device computes the same of them before and after, and spirv-val accepts what came out,
 * where it is installed.
 */
#include "base/test.h"
#include "front/glsl/glsl.h"
#include "pass/pass.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <unistd.h>

enum { MODULES = 6, FUNCTIONS = 10, DEPTH = 4, WORDS = 64 };

typedef struct Writer {
    Arena *a;
    Str text;
    Rng rng;
    uint32_t names;
} Writer;

#define WRITE(w, ...) str_printf((w)->a, &(w)->text, __VA_ARGS__)

static uint32_t below(Writer *w, uint32_t n) { return (uint32_t)(rng_uniform(&w->rng) * n) % n; }

static void condition(Writer *w)
{
    WRITE(w, "(x >> %u & 3u) == %uu", below(w, 8), below(w, 4));
}

static void block(Writer *w, uint32_t depth, bool in_loop, bool in_switch);

static void loop(Writer *w, uint32_t depth)
{
    uint32_t i = w->names++;
    WRITE(w, "for (uint i%u = 0u; i%u < %uu; i%u++) {\nx += i%u;\n", i, i, 2 + below(w, 4), i, i);
    block(w, depth - 1, true, false);
    WRITE(w, "}\n");
}

static void cases(Writer *w, uint32_t depth, bool in_loop)
{
    uint32_t n = 1 + below(w, 3);
    WRITE(w, "switch (x & 3u) {\n");
    for (uint32_t k = 0; k <= n; k++) {
        WRITE(w, k < n ? "case %uu:\n" : "default:\n", k);
        block(w, depth - 1, in_loop, true);
        if (below(w, 3))
            WRITE(w, "break;\n");
    }
    WRITE(w, "}\n");
}

static void jump(Writer *w, bool in_loop, bool in_switch)
{
    uint32_t kind = below(w, 3);
    WRITE(w, "if (");
    condition(w);
    if (kind == 0 && (in_loop || in_switch))
        WRITE(w, ") break;\n");
    else if (kind == 1 && in_loop)
        WRITE(w, ") continue;\n");
    else
        WRITE(w, ") return x + %uu;\n", below(w, 100));
}

static void statement(Writer *w, uint32_t depth, bool in_loop, bool in_switch)
{
    switch (depth ? below(w, 6) : 3 + below(w, 3)) {
    case 0: loop(w, depth); return;
    case 1: cases(w, depth, in_loop); return;
    case 2:
        WRITE(w, "if (");
        condition(w);
        WRITE(w, ") {\n");
        block(w, depth - 1, in_loop, in_switch);
        WRITE(w, "}\n");
        return;
    case 3: WRITE(w, "x = x * 5u + %uu;\n", below(w, 50)); return;
    default: jump(w, in_loop, in_switch); return;
    }
}

static void block(Writer *w, uint32_t depth, bool in_loop, bool in_switch)
{
    for (uint32_t n = 1 + below(w, 3); n--;)
        statement(w, depth, in_loop, in_switch);
}

static void write_kernel(Writer *w)
{
    WRITE(w, "#version 460\nlayout(local_size_x = %u) in;\n"
             "layout(binding = 0) buffer Data { uint data[]; };\n", WORDS);
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        WRITE(w, "uint f%u(uint x)\n{\n", f);
        loop(w, DEPTH);
        block(w, DEPTH, false, false);
        WRITE(w, "return x;\n}\n");
    }
    WRITE(w, "void main()\n{\nuint t = gl_LocalInvocationID.x, x = data[t];\n");
    for (uint32_t f = 0; f < FUNCTIONS; f++)
        WRITE(w, "x = x * 3u + f%u(x);\n", f);
    WRITE(w, "data[t] = x;\n}\n");
}

/* ---- running --------------------------------------------------------------------------------- */

static bool interpret(Arena *a, SpvModule *m, uint32_t *words, DiagSink *sink)
{
    RefBinding binding = { .base = words, .size = WORDS * sizeof *words };
    RefResult result;
    RefDispatch d = { .bindings = &binding, .n_bindings = 1, .groups = { 1, 1, 1 },
                      .subgroup_size = 32 };
    for (uint32_t k = 0; k < WORDS; k++)
        words[k] = k * 2654435761u >> 8;
    return ref_dispatch(a, m, &d, &result, sink);
}

static void validate(const void *words, size_t size, const Writer *w)
{
    static const char val[] = HEDDLE_TOOLCHAIN "/bin/spirv-val";
    char path[] = "/tmp/heddle-exits-XXXXXX", command[600];
    int file = access(val, X_OK) ? -1 : mkstemp(path);
    if (file < 0)
        return;
    bool written = write(file, words, size) == (ssize_t)size;
    close(file);
    snprintf(command, sizeof command, "%s --target-env vulkan1.3 %s", val, path);
    if (written && system(command))
        test_fail(__FILE__, __LINE__, "spirv-val rejects what came of\n%s", w->text.data);
    unlink(path);
}

static void structure(Arena *a, SpvModule *m, const Writer *w, TestDiags *diags)
{
    uint32_t want[WORDS], got[WORDS];
    PassAheadReport report = { .arena = a };
    PassOptions o = { .subgroup_size = 32, .optimise = true, .fuse_steps = 1, .ahead = &report };
    SpvEntryPoint entry;
    size_t size;
    if (!interpret(a, spv_clone(a, m), want, &diags->sink) ||
        !pass_pipeline(m, &o, &entry, &diags->sink)) {
        test_fail(__FILE__, __LINE__, "%s", diags->text);
        return;
    }
    CHECK(!report.unstructured);
    const void *words = spv_write(a, m, &size);
    SpvModule *again = spv_read(a, words, size, "again", &diags->sink);
    validate(words, size, w);
    if (!again || !interpret(a, again, got, &diags->sink) || memcmp(want, got, sizeof want))
        test_fail(__FILE__, __LINE__, "another result of\n%s\n%s", w->text.data, diags->text);
}

static void run(uint64_t seed)
{
    Arena a = { 0 };
    jmp_buf failed;
    TestDiags diags;
    diags = (TestDiags)TEST_DIAGS(diags);
    a.on_failure = &failed;
    if (setjmp(failed)) {
        test_fail(__FILE__, __LINE__, "out of memory");
        arena_free(&a);
        return;
    }
    Writer *w = NEW(&a, Writer);
    *w = (Writer){ .a = &a, .rng = { seed } };
    write_kernel(w);
    void *spirv;
    size_t size;
    GlslOptions options = { .target_env = "vulkan1.3" };
    ToolSource source = { w->text.data, w->text.len, "exits.comp" };
    ToolStatus status = glsl_compile(&a, &source, &options, &spirv, &size, &diags.sink);
    SpvModule *m = status == TOOL_OK ? spv_read(&a, spirv, size, "exits", &diags.sink) : NULL;
    if (status == TOOL_MISSING)
        printf("no glslang: seed %llu is not tested\n", (unsigned long long)seed);
    else if (!m)
        test_fail(__FILE__, __LINE__, "%s\n%s", diags.text, w->text.data);
    else
        structure(&a, m, w, &diags);
    arena_free(&a);
}

TEST(any_way_out)
{
    for (uint64_t seed = 1; seed <= MODULES; seed++)
        run(seed);
}
