/* SPDX-License-Identifier: MIT
 *
 * Several workgroups a call (pass/coarsen.c): random kernels that branch by what workgroups have
 * alike, and compute with what they have not, in private arrays too; each must leave what it leaves
 * where the calls do one workgroup each. HEDDLE_SEED and HEDDLE_COUNT as in random.c.
 */
#include "run.h"

enum { GROUPS = 7, LANES = 32, WORDS = GROUPS * 3 * LANES * 2 };

typedef struct Writer {
    Arena *a;
    Rng rng;
    Str s;
    uint32_t loops, left; /* counters in scope; statements that may still be written */
} Writer;

static uint32_t any(Writer *w, uint32_t n) { return (uint32_t)(rng_u64(&w->rng) >> 33) % n; }

static void put_value(Writer *w, bool alike, uint32_t depth);

/* Two values, and what joins them. */
static void put_pair(Writer *w, bool alike, uint32_t depth, const char *between, const char *end)
{
    put_value(w, alike, depth);
    str_add(w->a, &w->s, between);
    put_value(w, alike, depth);
    str_add(w->a, &w->s, end);
}

/* Alike: the same in all workgroups. */
static void put_value(Writer *w, bool alike, uint32_t depth)
{
    static const char *const operators[] = { " + ", " - ", " * ", " ^ ", " & ", " | " };
    static const char *const shared[] = { "lane", "n", "s0", "s1", "gl_WorkGroupID.y", "7u" };
    static const char *const own[] = { "row", "v0", "v1", "v2", "gl_GlobalInvocationID.x" };
    uint32_t what = any(w, depth ? 9 : 4);
    if (what < 3)
        str_add(w->a, &w->s, alike || !what ? shared[any(w, 6)] : own[any(w, 5)]);
    else if (what == 3)
        str_printf(w->a, &w->s, w->loops ? "k%u" : "%uu", any(w, MAX(w->loops, 1)));
    else if (what < 6) {
        str_add(w->a, &w->s, "(");
        put_pair(w, alike, depth - 1, operators[any(w, 6)], ")");
    } else {
        str_add(w->a, &w->s, what == 6 ? "x[(" : alike ? "u[(" : what == 7 ? "t[(" : "a[(");
        put_value(w, alike, depth - 1);
        str_add(w->a, &w->s, what == 6 || (what == 8 && !alike) ? ") & 63u]" : ") & 3u]");
    }
}

static void put_block(Writer *w, uint32_t depth);

static void put_statement(Writer *w, uint32_t depth)
{
    uint32_t what = any(w, depth ? 9 : 6);
    bool alike = what < 2;
    if (what < 4) {
        str_printf(w->a, &w->s, alike ? "s%u " : "v%u ", any(w, alike ? 2 : 3));
        str_add(w->a, &w->s, any(w, 2) ? "= " : "+= ");
    } else if (what < 6) {
        alike = any(w, 2);
        str_add(w->a, &w->s, alike ? "u[(" : "t[(");
        put_value(w, alike, 1);
        str_add(w->a, &w->s, ") & 3u] = ");
    } else if (what < 8) {
        uint32_t k = w->loops++;
        str_printf(w->a, &w->s, "for (uint k%u = 0u; k%u < ", k, k);
        str_printf(w->a, &w->s, what == 6 ? "n; k%u++)" : "(lane & 3u) + 1u; k%u++)", k);
        put_block(w, depth - 1);
        w->loops--;
        return;
    } else {
        str_add(w->a, &w->s, "if (");
        put_pair(w, true, 1, " > ", ")");
        put_block(w, depth - 1);
        if (any(w, 2)) {
            str_add(w->a, &w->s, "else");
            put_block(w, depth - 1);
        }
        return;
    }
    put_value(w, alike, 2);
    str_add(w->a, &w->s, ";\n");
}

static void put_block(Writer *w, uint32_t depth)
{
    str_add(w->a, &w->s, " {\n");
    for (uint32_t k = 1 + any(w, 4); k && w->left; k--, w->left--)
        put_statement(w, depth);
    if (any(w, 3) == 0)
        str_add(w->a, &w->s, "b[2u * of] += v1;\n");
    str_add(w->a, &w->s, "}\n");
}

/* A body behind tests of which workgroup, and which invocation, it is. */
static char *coarse_source(Writer *w)
{
    str_add(w->a, &w->s,
            "#version 450\nlayout(local_size_x = 32) in;\n"
            "layout(set=0, binding=0) readonly buffer A { uint a[]; };\n"
            "layout(set=0, binding=1) readonly buffer X { uint x[]; };\n"
            "layout(set=0, binding=2) buffer B { uint b[]; };\n"
            "layout(push_constant) uniform P { uint n, rows; };\nvoid main() {\n"
            "uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.x, v0 = row, v1 = lane,"
            " v2 = n, s0 = n, s1 = lane, t[4], u[4];\n"
            "uint of = (row + gl_NumWorkGroups.x * gl_WorkGroupID.y) * 32u + lane;\n"
            "for (uint k = 0u; k < 4u; k++) { t[k] = row; u[k] = k; }\n");
    static const char *const tests[] = { "", "if (row >= rows) return;\n",
                                         "if (gl_GlobalInvocationID.x < rows * 30u)\n",
                                         "if (row + 1u == rows) v2 = 5u; else\n" };
    str_add(w->a, &w->s, tests[any(w, 4)]);
    str_add(w->a, &w->s,
            "{ for (uint k0 = 0u; k0 < n; k0++) {\nv0 += a[(row * n + k0) & 63u] * x[k0 & 63u];\n");
    w->loops = 1;
    w->left = 20;
    put_block(w, 2);
    w->loops = 0;
    str_add(w->a, &w->s, "}\n");
    put_block(w, 2);
    str_add(w->a, &w->s,
            "}\nb[2u * of + 1u] = v0 + v1 * 3u + v2 * 5u + t[n & 3u] + u[n & 3u] + s0 + s1;\n}\n");
    return w->s.data;
}

static bool run_coarse(const SpvModule *m, uint64_t seed, bool fast, uint32_t *b)
{
    static uint32_t a[64], x[64];
    for (uint32_t k = 0; k < 64; k++) {
        a[k] = k * 0x9e3779b9u >> 7;
        x[k] = k * 0x85ebca6bu >> 9;
    }
    const uint32_t push[2] = { 5, (uint32_t)(seed % (GROUPS + 2)) };
    memset(b, 0, WORDS * sizeof *b);
    Run r = { .subgroup_size = 32u << seed % 2, .groups = { GROUPS - seed % 3, 3, 1 },
              .robust = seed & 1, .fast = fast, .push = push,
              .buffers = { { a, sizeof a }, { x, sizeof x }, { b, WORDS * sizeof *b } } };
    return run_module(m, &r);
}

static void compare_coarse(uint64_t seed, bool show)
{
    static uint32_t one[WORDS], several[WORDS];
    Arena arena = { 0 };
    DiagSink sink = { 0 };
    Writer w = { .a = &arena, .rng = { seed * 0x9e3779b97f4a7c15u + 1 } };
    char *source = coarse_source(&w);
    if (show)
        printf("%s\n", source);
    SpvModule *m = glsl_module(&arena, source, &sink);
    bool ok = m && run_coarse(m, seed, true, one) && run_coarse(m, seed, false, several);
    for (uint32_t i = 0; ok && i < WORDS; i++)
        if (one[i] != several[i])
            ok = test_fail(__FILE__, __LINE__, "HEDDLE_SEED=%llu: b[%u] = %u, not %u",
                           (unsigned long long)seed, i, several[i], one[i]);
    CHECK(ok);
    arena_free(&arena);
}

TEST(coarse_kernels)
{
    const char *one = getenv("HEDDLE_SEED"), *count = getenv("HEDDLE_COUNT");
    uint64_t n = count ? strtoull(count, NULL, 0) : 12;
    if (one)
        compare_coarse(strtoull(one, NULL, 0), true);
    for (uint64_t seed = 0; !one && have_glslang() && seed < n; seed++)
        compare_coarse(seed, false);
}
