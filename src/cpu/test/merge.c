/* SPDX-License-Identifier: MIT
 *
 * Workgroups that are merged (pass/merge.c): random kernels that compute with what tells one from
 * the others, each of which must leave what it leaves when they are not. HEDDLE_SEED and
 * HEDDLE_COUNT as in random.c.
 */
#include "pass/pass.h"
#include "run.h"

enum { ROW = 64, ROWS = 2, WORDS = 4096 };

typedef struct Writer {
    Arena *a;
    Rng rng;
    Str s;
} Writer;

static uint32_t any(Writer *w, uint32_t n) { return (uint32_t)(rng_u64(&w->rng) >> 33) % n; }

static void put_number(Writer *w, uint32_t depth)
{
    static const char *const operators[] = { " + ", " - ", " * ", " ^ ", " / 2u + ", " % 5u + " };
    static const char *const leaves[] = {
        "gl_WorkGroupID.x", "gl_WorkGroupID.y", "gl_LocalInvocationID.x", "gl_LocalInvocationID.y",
        "gl_LocalInvocationIndex", "gl_GlobalInvocationID.x", "gl_GlobalInvocationID.y", "x", "y",
        "group[c & 1u]", "local.x", "gl_WorkGroupSize.x", "gl_WorkGroupSize.y", "3u", "n", "c",
        "gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationID.x",
        "uint(int(gl_LocalInvocationID.x) - 1)", "(gl_WorkGroupID.x * gl_WorkGroupSize.x - 1u)" };
    if (!depth) {
        str_add(w->a, &w->s, leaves[any(w, COUNT_OF(leaves))]);
        return;
    }
    bool load = any(w, 4) == 0;
    str_add(w->a, &w->s, load ? "a[(" : "(");
    put_number(w, depth - 1);
    str_add(w->a, &w->s, operators[any(w, COUNT_OF(operators))]);
    put_number(w, depth - 1);
    str_add(w->a, &w->s, load ? ") & 1023u]" : ")");
}

static void put_statement(Writer *w, uint32_t depth)
{
    static const char *const compare[] = { " < ", " == ", " != ", " >= " };
    uint32_t what = any(w, depth ? 5 : 3);
    if (what < 3) {
        str_add(w->a, &w->s, what ? "v += " : "c = ");
        put_number(w, 2);
        str_add(w->a, &w->s, ";\n");
        return;
    }
    str_add(w->a, &w->s, what == 3 ? "if (" : "for (uint k = 0u; k < 4u && k + ");
    put_number(w, 1);
    str_add(w->a, &w->s, what == 3 ? compare[any(w, 4)] : " != ");
    put_number(w, 1);
    str_add(w->a, &w->s, what == 3 ? ") {\n" : "; k++) {\n");
    for (uint32_t k = 1 + any(w, 2); k; k--)
        put_statement(w, depth - 1);
    str_add(w->a, &w->s, "}\n");
}

static char *source_of(Writer *w, const uint32_t size[3])
{
    str_printf(w->a, &w->s,
               "#version 450\nlayout(local_size_x = %u, local_size_y = %u, local_size_z = %u) in;\n"
               "layout(set=0, binding=0) readonly buffer A { uint a[]; };\n"
               "layout(set=0, binding=1) buffer B { uint b[]; };\n"
               "layout(push_constant) uniform P { uint n, groups; };\nvoid main() {\n"
               "uvec3 local = gl_LocalInvocationID, group = gl_WorkGroupID;\n"
               "uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y, c = 1u, v = 0u;\n",
               size[0], size[1], size[2]);
    if (any(w, 2))
        str_add(w->a, &w->s, "if (x < n)\n");
    str_add(w->a, &w->s, "{\n");
    for (uint32_t k = 2 + any(w, 4); k; k--)
        put_statement(w, 2);
    str_add(w->a, &w->s,
            "}\nuint line = (gl_GlobalInvocationID.z * groups + y) * 256u;\n"
            "b[(line + gl_WorkGroupID.x * gl_WorkGroupSize.x + local.x) & 4095u] = v ^ c;\n}\n");
    return w->s.data;
}

static bool run_merged(const SpvModule *m, uint64_t seed, uint32_t across, uint32_t *b)
{
    static uint32_t a[1024];
    for (uint32_t k = 0; k < COUNT_OF(a); k++)
        a[k] = k * 0x9e3779b9u >> 7;
    const uint32_t push[2] = { 100 + (uint32_t)(seed % 100), 8 };
    memset(b, 0, WORDS * sizeof *b);
    Run r = { .subgroup_size = 32, .groups = { across, ROWS, 1 }, .robust = seed & 1,
              .plain = seed % 3 == 0, .push = push,
              .buffers = { { a, sizeof a }, { b, WORDS * sizeof *b } } };
    return run_module(m, &r);
}

/* Whether they were merged. */
static bool compare_merged(uint64_t seed, bool show)
{
    static const uint32_t sizes[][3] = { { 1, 1, 1 }, { 1, 4, 1 }, { 2, 3, 1 }, { 4, 4, 1 },
                                         { 8, 1, 1 }, { 8, 2, 2 }, { 16, 4, 1 } };
    static uint32_t apart[WORDS], merged[WORDS];
    Arena arena = { 0 };
    DiagSink sink = { 0 };
    Writer w = { .a = &arena, .rng = { seed * 0x9e3779b97f4a7c15u + 1 } };
    const uint32_t *size = sizes[seed % COUNT_OF(sizes)];
    char *source = source_of(&w, size);
    if (show)
        printf("%s\n", source);
    SpvModule *m = glsl_module(&arena, source, &sink), *other = m ? spv_clone(&arena, m) : NULL;
    SpvEntryPoint entry;
    uint32_t n = 0, across = 3 * ROW / size[0];
    bool ok = m && spv_entry_point(other, NULL, &entry, &sink);
    if (ok)
        n = pass_merge_groups(other, &entry, 0, false, &arena);
    ok = ok && (n == 0 || n == ROW / size[0]);
    if (ok && n)
        ok = run_merged(m, seed, across, apart) && run_merged(other, seed, across / n, merged);
    for (uint32_t i = 0; ok && n && i < WORDS; i++)
        if (apart[i] != merged[i])
            ok = test_fail(__FILE__, __LINE__, "HEDDLE_SEED=%llu: b[%u] = %u, not %u",
                           (unsigned long long)seed, i, merged[i], apart[i]);
    CHECK(ok);
    arena_free(&arena);
    return n != 0;
}

TEST(merged_workgroups)
{
    const char *one = getenv("HEDDLE_SEED"), *count = getenv("HEDDLE_COUNT");
    uint64_t n = count ? strtoull(count, NULL, 0) : 28, merged = 0;
    if (one)
        compare_merged(strtoull(one, NULL, 0), true);
    for (uint64_t seed = 0; !one && have_glslang() && seed < n; seed++)
        merged += compare_merged(seed, false);
    if (!one && have_glslang())
        compare_merged(422, false); /* a sum of which nothing is known but itself */
    CHECK(one || !have_glslang() || merged >= n / 4);
}
