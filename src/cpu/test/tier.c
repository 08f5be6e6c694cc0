/* SPDX-License-Identifier: MIT
 *
 * Tiers: which kernels begin with the first one, that the second one computes the same and takes
 * its place, for each size of workgroups of its own where they are left open, and that kernels and
 * devices go while it is compiled.
 */
#include "run.h"

#include <dirent.h>
#include <sys/resource.h>

#include "cpu/tier.h"

enum { N = 256, LARGE = 2500, SECOND_NS = 1000000000 };

static CpuTarget target;
static const uint32_t any[3] = { 0 };

/* So many loops and branches, each with accesses of the lanes' own. */
static SpvModule *kernel_of(Arena *arena, uint32_t steps)
{
    DiagSink sink = { 0 };
    Str s = { 0 };
    str_printf(arena, &s, "#version 460\nlayout(local_size_x = 64) in;\n"
               "layout(std430, binding = 0) buffer A { uint a[]; };\n"
               "layout(std430, binding = 1) buffer B { uint b[]; };\n"
               "void main() { uint i = gl_GlobalInvocationID.x, x = a[i];\n");
    for (uint32_t k = 0; k < steps; k++)
        str_printf(arena, &s, "for (uint k = 0; k < (x & 3u); k++) {\n"
                   "    if ((a[(x + k) & 255u] & %uu) == 0u) { x += %uu; continue; }\n"
                   "    x = x * 31u + a[x & 255u]; if (x %% 7u == %uu) break; }\n",
                   1u << k % 9, k, k % 7);
    str_printf(arena, &s, "b[i] = x; }\n");
    return glsl_module(arena, s.data, &sink);
}

static CpuOptions options_of(CpuTier tier)
{
    return (CpuOptions){ .subgroup_size = 32, .optimise = true, .tier = tier };
}

static CpuKernel *compile(const SpvModule *m, CpuTier tier)
{
    DiagSink sink = { 0 };
    PassOptions passes = { .optimise = true };
    CpuOptions options = options_of(tier);
    CpuKernel *k = cpu_compile(m, &target, &passes, &options, &sink);
    CHECK(k != NULL);
    return k;
}

static bool ready(void)
{
    DiagSink sink = { 0 };
    bool good = have_glslang() && (*target.triple || cpu_target(&target, NULL, &sink));
    CHECK(good || !have_glslang());
    return good;
}

static void run_kernel(CpuDevice *d, const CpuKernel *k, uint32_t *b)
{
    uint32_t a[N];
    DiagSink sink = { 0 };
    for (uint32_t i = 0; i < N; i++)
        a[i] = i * 2654435761u >> 7;
    DeviceBinding in = { a, sizeof a }, out = { b, N * sizeof *b };
    const DeviceBinding *slots[2] = { 0 };
    for (uint32_t i = 0; i < k->n_slots && i < 2; i++)
        slots[i] = k->slots[i].binding ? &out : &in;
    CpuDispatch x = { .kernel = k, .slots = slots, .groups = { N / 64, 1, 1 } };
    memset(b, 0xee, N * sizeof *b);
    CHECK(cpu_dispatch(d, &x, &sink));
}

TEST(large_kernels_begin_fast)
{
    if (!ready())
        return;
    Arena arena = { 0 };
    static const struct { uint32_t steps; bool fast; } cases[] = { { 3, false }, { LARGE, true } };
    for (unsigned c = 0; c < COUNT_OF(cases); c++) {
        SpvModule *m = kernel_of(&arena, cases[c].steps);
        CpuKernel *k = m ? compile(m, CPU_TIER_AUTO) : NULL;
        CHECK(k && k->fast == cases[c].fast);
        cpu_kernel_free(k);
    }
    arena_free(&arena);
}

/* The better code, after a wait for it; NULL: it does not come. */
static const CpuKernel *wait_for(CpuTiered *t, const uint32_t local_size[3])
{
    const CpuKernel *better = NULL;
    for (uint32_t ms = 0; !better && ms < 120000; ms++) {
        better = cpu_tiered_code(t, local_size);
        usleep(1000);
    }
    return better;
}

/* How much less the compiling thread is favoured than this one; 0: there is no such thread. */
static int gives_way(void)
{
    int less = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *t; tasks && (t = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", t->d_name);
        FILE *f = fopen(path, "r");
        bool its = f && fgets(name, sizeof name, f) && !strcmp(name, "heddle tier\n");
        if (f)
            fclose(f);
        if (its)
            less = getpriority(PRIO_PROCESS, (id_t)atoi(t->d_name)) - getpriority(PRIO_PROCESS, 0);
    }
    if (tasks)
        closedir(tasks);
    return less;
}

TEST(second_tier_takes_over)
{
    if (!ready())
        return;
    Arena arena = { 0 };
    DiagSink sink = { 0 };
    uint32_t before[N], after[N];
    SpvModule *m = kernel_of(&arena, 8);
    PassOptions passes = { .optimise = true };
    CpuOptions options = options_of(CPU_TIER_AUTO);
    CpuTiers *tiers = cpu_tiers_new(&target);
    CpuDevice *d = cpu_device_new(2, true, &sink);
    CpuKernel *first = compile(m, CPU_TIER_FAST);
    CHECK(first->fast);
    CpuTiered *t = cpu_tiered_new(tiers, m, &passes, &options, first);
    arena_free(&arena); /* the module is its own */
    run_kernel(d, first, before);
    cpu_tiered_ran(t, any, 0);
    CHECK(cpu_tiered_code(t, NULL) == NULL); /* not before it has run for long enough */
    cpu_tiered_ran(t, any, (uint64_t)60 * SECOND_NS);
    const CpuKernel *better = wait_for(t, any);
    CHECK(better != NULL);
    CHECK(gives_way() > 0 || getpriority(PRIO_PROCESS, 0) >= 19);
    if (better) {
        CHECK(!better->fast);
        run_kernel(d, better, after);
        CHECK(!memcmp(before, after, sizeof before));
    }
    cpu_tiered_free(t);
    cpu_kernel_free(first);
    cpu_tiers_free(tiers);
    cpu_device_free(d);
}

/* Which kernels are compiled again for workgroups that are merged, and how many are. */
TEST(short_rows_are_merged)
{
    static const struct { const char *body; uint32_t may, merges; } cases[] = {
        { "b[y * 64u + x] = a[y * 64u + x] * 3u;", 8, 8 },
        /* lanes part */
        { "for (uint k = a[y * 64u + x]; k > 3u; k /= 2u) b[y * 64u + x] += k;", 8, 0 },
        { "b[y * 64u + x] = a[x] * a[y];", 0, 0 }, /* rows share what they read */
        { "atomicAdd(b[x], y); barrier();", 0, 0 },
    };
    if (!ready())
        return;
    for (uint32_t c = 0; c < COUNT_OF(cases); c++) {
        Arena arena = { 0 };
        DiagSink sink = { 0 };
        Str s = { 0 };
        str_printf(&arena, &s, "#version 460\nlayout(local_size_x = 8, local_size_y = 8) in;\n"
                   "layout(std430, binding = 0) readonly buffer A { uint a[]; };\n"
                   "layout(std430, binding = 1) buffer B { uint b[]; };\nvoid main() {\n"
                   "uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y;\n"
                   "%s }\n", cases[c].body);
        SpvModule *m = glsl_module(&arena, s.data, &sink);
        PassOptions passes = { .optimise = true, .inside = true, .whole = true };
        CpuOptions options = { .optimise = true, .tier = CPU_TIER_FULL };
        CpuTiers *tiers = cpu_tiers_new(&target);
        CpuKernel *first = m ? cpu_compile(m, &target, &passes, &options, &sink) : NULL;
        CHECK(first && first->may_merge == cases[c].may && !first->merges);
        CHECK(first && cpu_tiered_helps(first) == (cases[c].may != 0));
        CpuTiered *t = first ? cpu_tiered_new(tiers, m, &passes, &options, first) : NULL;
        if (t && cases[c].may) {
            cpu_tiered_compile(t);
            const CpuKernel *k = cpu_tiered_code(t, any);
            CHECK((k ? k->merges : 0) == cases[c].merges);
        }
        cpu_tiered_free(t);
        cpu_kernel_free(first);
        cpu_tiers_free(tiers);
        arena_free(&arena);
    }
}

static const char open_kernel[] =
    "OpCapability Kernel\nOpCapability Addresses\nOpMemoryModel Physical64 OpenCL\n"
    "OpEntryPoint Kernel %f \"f\"\n"
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n"
    "%f = OpFunction %void None %fn\n%entry = OpLabel\nOpReturn\nOpFunctionEnd\n";

TEST(code_for_each_size)
{
    if (!ready())
        return;
    static const uint32_t sizes[][3] = { { 64, 1, 1 }, { 8, 8, 1 }, { 3, 1, 1 }, { 5, 1, 1 },
                                         { 9, 1, 1 } };
    enum { KEPT = 4 };
    Arena arena = { 0 };
    DiagSink sink = { 0 };
    SpvModule *m = spv_assemble(&arena, open_kernel, strlen(open_kernel), "open", &sink);
    PassOptions passes = { .optimise = true };
    CpuOptions options = options_of(CPU_TIER_AUTO);
    for (int fast = 0; m && fast < 2; fast++) {
        CpuTiers *tiers = cpu_tiers_new(&target);
        CpuKernel *first = compile(m, fast ? CPU_TIER_FAST : CPU_TIER_FULL);
        CHECK(first && cpu_tiered_helps(first));
        CpuTiered *t = cpu_tiered_new(tiers, m, &passes, &options, first);
        for (uint32_t s = 0; s < COUNT_OF(sizes); s++) {
            bool gets = s < KEPT || fast;
            CHECK(s == KEPT || cpu_tiered_code(t, sizes[s]) == NULL);
            cpu_tiered_ran(t, sizes[s], (uint64_t)60 * SECOND_NS);
            const CpuKernel *k = gets ? wait_for(t, sizes[s]) : cpu_tiered_code(t, sizes[s]);
            CHECK((k != NULL) == gets);
            bool for_all = fast && s >= KEPT - 1;
            CHECK(!k || k->local_size[0] == (for_all ? 0 : sizes[s][0]));
        }
        CHECK((cpu_tiered_code(t, NULL) != NULL) == fast);
        cpu_tiered_free(t);
        cpu_kernel_free(first);
        cpu_tiers_free(tiers);
    }
    CHECK(m != NULL);
    arena_free(&arena);
}

TEST(kernels_and_devices_go_while_they_are_compiled)
{
    if (!ready())
        return;
    Arena arena = { 0 };
    SpvModule *m = kernel_of(&arena, 60);
    PassOptions passes = { .optimise = true };
    CpuOptions options = options_of(CPU_TIER_AUTO);
    CpuKernel *first = compile(m, CPU_TIER_FAST);
    for (uint32_t wait_us = 0; wait_us < 60000; wait_us += 10000) {
        CpuTiers *tiers = cpu_tiers_new(&target);
        CpuTiered *t[4];
        for (unsigned k = 0; k < COUNT_OF(t); k++) {
            t[k] = cpu_tiered_new(tiers, m, &passes, &options, first);
            cpu_tiered_ran(t[k], any, (uint64_t)60 * SECOND_NS);
        }
        usleep(wait_us);
        cpu_tiered_free(t[0]); /* most often the one under way */
        cpu_tiered_free(t[2]);
        cpu_tiers_free(tiers);
        cpu_tiered_free(t[1]); /* kernels may go after their device */
        cpu_tiered_free(t[3]);
    }
    cpu_kernel_free(first);
    arena_free(&arena);
    CHECK(true);
}
