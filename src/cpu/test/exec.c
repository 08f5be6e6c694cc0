/* SPDX-License-Identifier: MIT
 *
 * Dispatching kernels written in C: every workgroup runs once, barriers order, interleaving
 * advances workgroups in turn, many threads dispatch at once, what strays ends its dispatch only.
 */
#include "base/test.h"
#include "cpu/cpu.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static bool dispatch_with(CpuDevice *d, CpuDispatch *x, DiagSink *sink)
{
    return cpu_dispatch(d, x, sink);
}

static bool dispatch_on(uint32_t threads, CpuDispatch *x)
{
    TestDiags diags = TEST_DIAGS(diags);
    CpuDevice *d = cpu_device_new(threads, true, &diags.sink);
    if (!d)
        return false;
    bool ok = dispatch_with(d, x, &diags.sink) && diags.len == 0;
    cpu_device_free(d);
    return ok;
}

/* ---- every workgroup once ------------------------------------------------------------------ */

typedef struct Grid { const uint32_t *groups, *base; atomic_uint *counts; atomic_uint wrong; } Grid;

static void count_group(CpuEnv *env)
{
    Grid *g = *(Grid *const *)env->push;
    uint64_t at = 0;
    for (int i = 2; i >= 0; i--) {
        if (env->n_groups[i] != g->groups[i])
            atomic_fetch_add(&g->wrong, 1);
        at = at * g->groups[i] + (env->group[i] - g->base[i]);
    }
    atomic_fetch_add(&g->counts[at * env->n_subgroups + env->subgroup], 1);
    bool shared = env->local_size[1] == 1;
    if ((uintptr_t)env->frame % 64 || (uintptr_t)env->shared % 64 || !env->frame ||
        !env->shared == shared)
        atomic_fetch_add(&g->wrong, 1);
    memset(env->frame, (int)env->subgroup, 1000);
    env->stats[DEVICE_STAT_MULADDS]++;
    env->stats[DEVICE_STAT_FLOPS] += 2;
    if (env->yield_every)
        env->yield(env);
    if (((volatile char *)env->frame)[999] != (char)env->subgroup)
        atomic_fetch_add(&g->wrong, 1);
}

static void check_grid(CpuDevice *d, const uint32_t groups[3], const CpuKernel *k, int interleave)
{
    static const uint32_t base[3] = {5, 6, 7};
    uint32_t invocations = k->local_size[0] * k->local_size[1];
    uint32_t subgroups = (invocations + k->subgroup_size - 1) / k->subgroup_size;
    uint64_t n = (uint64_t)groups[0] * groups[1] * groups[2] * subgroups, wrong = 0;
    Grid g = {.groups = groups, .base = base, .counts = calloc(n + 1, sizeof(atomic_uint))};
    Grid *push = &g;
    uint64_t stats[DEVICE_N_STATS] = {0};
    CpuDispatch x = {.kernel = k, .push = &push, .interleave = interleave, .stats = stats};
    for (int i = 0; i < 3; i++) {
        x.groups[i] = groups[i];
        x.base_group[i] = base[i];
    }
    TestDiags diags = TEST_DIAGS(diags);
    CHECK(cpu_dispatch(d, &x, &diags.sink));
    for (uint64_t i = 0; i < n; i++)
        wrong += g.counts[i] != 1;
    CHECK_EQ_U64(wrong, 0);
    CHECK_EQ_U64(g.wrong, 0);
    CHECK_EQ_U64(stats[DEVICE_STAT_MULADDS], n);
    CHECK_EQ_U64(stats[DEVICE_STAT_FLOPS], 2 * n);
    free(g.counts);
}

TEST(every_workgroup_runs_once)
{
    static const uint32_t grids[][3] = {
        {1, 1, 1}, {2, 1, 1}, {1, 3, 1}, {1, 1, 5}, {17, 1, 1}, {1, 33, 1}, {4, 4, 1}, {5, 7, 1},
        {16, 16, 1}, {31, 9, 3}, {1000, 1, 1}, {8, 8, 8}, {3, 200, 1}, {0, 4, 4}, {4, 4, 0},
    };
    static const int interleaves[] = {0, 1, 4, 16, 7};
    CpuKernel kernel = {.code = count_group, .subgroup_size = 32, .local_size = {32, 1, 1},
                        .shared_bytes = 100, .frame_bytes = 1000, .stack_bytes = 8192};
    for (uint32_t threads = 1; threads <= 3; threads++) {
        TestDiags diags = TEST_DIAGS(diags);
        CpuDevice *d = cpu_device_new(threads, true, &diags.sink);
        REQUIRE(d);
        CHECK_EQ_U64(cpu_device_threads(d), threads);
        for (uint32_t i = 0; i < COUNT_OF(grids) * COUNT_OF(interleaves); i++) {
            kernel.local_size[0] = i & 1 ? 70 : 32;
            kernel.local_size[1] = i & 16 ? 3 : 1;
            kernel.shared_bytes = i & 16 ? 0 : 100; /* rows may be run in one go */
            kernel.has_barrier = i & 2;
            kernel.can_yield = i % 3;
            kernel.stream_bytes_per_step = i & 4 ? 8192 : 0;
            kernel.stack_bytes = i & 8 ? 100000 : 5000;
            check_grid(d, grids[i / COUNT_OF(interleaves)], &kernel,
                       interleaves[i % COUNT_OF(interleaves)]);
        }
        cpu_device_free(d);
    }
}

/* ---- barriers ------------------------------------------------------------------------------ */

/* Each subgroup adds its neighbour's value of the last phase to its own. */
static void add_neighbour(CpuEnv *env)
{
    uint32_t *shared = env->shared, n = env->n_subgroups, s = env->subgroup;
    shared[s] = s + env->group[0];
    env->barrier(env);
    for (int phase = 0; phase < 10; phase++) {
        uint32_t neighbour = shared[(s + 1) % n];
        env->barrier(env);
        shared[s] += neighbour;
        env->barrier(env);
        if (env->yield_every && ++env->yield_count >= env->yield_every)
            env->yield(env);
    }
    uint32_t *out = env->slots[0][0].base;
    out[env->group[0] * n + s] = shared[s];
}

static void check_barriers(uint32_t subgroups, uint32_t threads, int interleave)
{
    enum { GROUPS = 40 };
    CpuSlot slot = {.count = 1, .storage = SpvStorageClassStorageBuffer, .written = true};
    CpuKernel kernel = {.code = add_neighbour, .slots = &slot, .n_slots = 1, .subgroup_size = 8,
                        .local_size = {8 * subgroups, 1, 1}, .shared_bytes = 4 * subgroups,
                        .stack_bytes = 4096, .has_barrier = true, .can_yield = interleave != 1};
    uint32_t *out = calloc(GROUPS * subgroups, 4), *now = calloc(subgroups, 4),
             *next = calloc(subgroups, 4), wrong = 0;
    DeviceBinding binding = {out, GROUPS * subgroups * 4};
    const DeviceBinding *slots[] = {&binding};
    CpuDispatch x = {.kernel = &kernel, .slots = slots, .groups = {GROUPS, 1, 1},
                     .interleave = interleave};
    CHECK(dispatch_on(threads, &x));
    for (uint32_t g = 0; g < GROUPS; g++) {
        for (uint32_t s = 0; s < subgroups; s++)
            now[s] = s + g;
        for (int phase = 0; phase < 10; phase++) {
            for (uint32_t s = 0; s < subgroups; s++)
                next[s] = now[s] + now[(s + 1) % subgroups];
            memcpy(now, next, 4 * subgroups);
        }
        for (uint32_t s = 0; s < subgroups; s++)
            wrong += out[g * subgroups + s] != now[s];
    }
    CHECK_EQ_U64(wrong, 0);
    free(out);
    free(now);
    free(next);
}

TEST(barriers_order_subgroups)
{
    static const uint32_t counts[] = {1, 2, 3, 8, 33};
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        for (uint32_t threads = 1; threads <= 2; threads++) {
            check_barriers(counts[i], threads, 1);
#if !defined(__SANITIZE_THREAD__) /* which takes 20 ms to make a fiber */
            check_barriers(counts[i], threads, 4);
            check_barriers(counts[i], threads, 0);
#endif
        }
}

/* Wrong kernels must not hang: some subgroups leave, the others meet without them. */
static void leave_early(CpuEnv *env)
{
    if (env->subgroup % 3 == 0)
        return;
    env->barrier(env);
    env->barrier(env);
    atomic_fetch_add(*(atomic_uint *const *)env->push, 1);
}

TEST(a_subgroup_that_returned_is_not_waited_for)
{
    atomic_uint count = 0, *push = &count;
    CpuKernel kernel = {.code = leave_early, .subgroup_size = 8, .local_size = {80, 1, 1},
                        .stack_bytes = 4096, .has_barrier = true};
    CpuDispatch x = {.kernel = &kernel, .push = &push, .groups = {5, 1, 1}};
    CHECK(dispatch_on(1, &x));
    CHECK_EQ_U64(count, 5 * 6);
}

/* ---- interleaving -------------------------------------------------------------------------- */

#define STEPS 6
typedef struct Trace {
    uint32_t len;
    uint8_t step[16 * STEPS], x[16 * STEPS], y[16 * STEPS];
} Trace;

static void trace_steps(CpuEnv *env)
{
    Trace *t = *(Trace *const *)env->push;
    for (uint8_t step = 0; step < STEPS; step++) {
        t->step[t->len] = step;
        t->x[t->len] = (uint8_t)env->group[0];
        t->y[t->len++] = (uint8_t)env->group[1];
        if (env->yield_every && ++env->yield_count >= env->yield_every)
            env->yield(env);
    }
}

static Trace traced(int interleave, uint64_t step_bytes)
{
    Trace t = {0}, *push = &t;
    CpuKernel kernel = {.code = trace_steps, .subgroup_size = 32, .local_size = {32, 1, 1},
                        .stack_bytes = 4096, .can_yield = true,
                        .stream_bytes_per_step = step_bytes};
    CpuDispatch x = {.kernel = &kernel, .push = &push, .groups = {4, 4, 1},
                     .interleave = interleave};
    CHECK(dispatch_on(1, &x));
    CHECK_EQ_U64(t.len, 16 * STEPS);
    return t;
}

TEST(interleaved_workgroups_advance_in_turn)
{
    Trace t = traced(16, 65536);
    for (uint32_t i = 0; i < t.len; i++)
        CHECK_EQ_U64(t.step[i], i / 16);
    for (uint32_t i = 1; i < 16; i++) /* neighbours follow each other */
        CHECK_EQ_U64(abs(t.x[i] - t.x[i - 1]) + abs(t.y[i] - t.y[i - 1]), 1);
    t = traced(16, 32768); /* two steps between yields */
    for (uint32_t i = 0; i < t.len; i++)
        CHECK_EQ_U64(t.step[i] / 2, i / 32);
    t = traced(1, 65536);
    for (uint32_t i = 0; i < t.len; i++)
        CHECK_EQ_U64(t.step[i], i % STEPS);
}

/* Interleaving is decided by what is bound against the cache's size. */
TEST(small_data_are_not_interleaved)
{
    for (int big = 0; big < 2; big++) {
        Trace t = {0}, *push = &t;
        CpuSlot slot = {.count = 1, .storage = SpvStorageClassStorageBuffer};
        CpuKernel kernel = {.code = trace_steps, .slots = &slot, .n_slots = 1, .subgroup_size = 32,
                            .local_size = {32, 1, 1}, .stack_bytes = 4096, .can_yield = true};
        DeviceBinding binding = {NULL, big ? 1u << 30 : 1u << 14};
        const DeviceBinding *slots[] = {&binding};
        uint64_t stats[DEVICE_N_STATS] = {0};
        CpuDispatch x = {.kernel = &kernel, .slots = slots, .push = &push, .groups = {4, 4, 1},
                         .stats = stats};
        CHECK(dispatch_on(1, &x));
        CHECK_EQ_U64(t.step[1], big ? 0 : 1);
        CHECK_EQ_U64(stats[DEVICE_STAT_YIELDS], big ? 16 * STEPS : 0);
    }
}

/* ---- packed operands ----------------------------------------------------------------------- */

typedef struct Keeper {
    uint32_t packed, asked, own, mistaken;
} Keeper;

/* Every workgroup asks for three operands; one is the same for all, one for a row of them. What it
 * is said to have packed must hold what was put there. */
static void ask_for_panels(CpuEnv *env)
{
    Keeper *k = *(Keeper *const *)env->push;
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t key[4] = { 4096, 64, i < 2 ? i * env->group[1] : env->group[0] * 100 + i, 64 };
        uint64_t own[64], *place = env->panel(env, key, 4, 7, own);
        k->asked++;
        k->packed += env->packed;
        k->own += place == own;
        if (!env->packed)
            memcpy(place, key, sizeof key);
        k->mistaken += memcmp(place, key, sizeof key) != 0;
    }
    uint64_t key[4] = { 4096, 64, 0, 64 }, own[64];
    uint64_t *place = env->own_panel(env, key, 4, 7, own);
    k->mistaken += env->packed || place != own;
}

static bool keeps_rows; /* CpuKernel.panels_by_row of what follows */

static Keeper kept_by(uint32_t columns, const CpuSlot *slots, const DeviceBinding *a,
                      const DeviceBinding *b, uint64_t panel_bytes, uint64_t stats[2])
{
    Keeper k = { .asked = 0 }, *push = &k;
    CpuKernel kernel = { .code = ask_for_panels,
                         .slots = (CpuSlot *)slots,
                         .n_slots = 2,
                         .subgroup_size = 32,
                         .local_size = { 32, 1, 1 },
                         .stack_bytes = 8192,
                         .panel_bytes = panel_bytes,
                         .panels_by_row = keeps_rows,
                         .panel_words = 4 };
    const DeviceBinding *bound[] = { a, b };
    uint64_t all[DEVICE_N_STATS] = { 0 };
    CpuDispatch x = {
        .kernel = &kernel, .slots = bound, .push = &push, .groups = { columns, 4, 1 }, .stats = all
    };
    CHECK(dispatch_on(1, &x));
    stats[0] = all[DEVICE_STAT_PANELS_PACKED];
    stats[1] = all[DEVICE_STAT_PANELS_SHARED];
    CHECK_EQ_U64(k.asked, columns * 4 * 3);
    CHECK_EQ_U64(k.mistaken, 0);
    return k;
}

static Keeper kept(const CpuSlot *slots, const DeviceBinding *a, const DeviceBinding *b,
                   uint64_t panel_bytes, uint64_t stats[2])
{
    return kept_by(16, slots, a, b, panel_bytes, stats);
}

TEST(packed_operands_are_kept)
{
    static char memory[4096];
    const CpuSlot slots[] = { { .count = 1, .storage = SpvStorageClassStorageBuffer },
                              { .count = 1,
                                .storage = SpvStorageClassStorageBuffer,
                                .written = true } };
    const DeviceBinding read = { memory, 1024 }, written = { memory + 1024, 1024 };
    uint64_t stats[2];
    Keeper k = kept(slots, &read, &written, 512, stats);
    CHECK_EQ_U64(k.own, 0);
    CHECK_EQ_U64(stats[0], 16 * 4 * 3 - k.packed);
    CHECK_EQ_U64(stats[1], k.packed);
    CHECK_EQ_U64(stats[0], 4 * 4 + 15); /* forgotten by the next of the four columns of blocks */
    keeps_rows = true;
    k = kept(slots, &read, &written, 512, stats);
    CHECK_EQ_U64(stats[0], 16 * 4 * 3 - k.packed);
    CHECK_EQ_U64(stats[0], 4 + 15); /* 0 to 3, and 102 to 1502: the third one's first is 2 */
    /* a few places only: some are given out again, none mistaken for another */
    k = kept(slots, &read, &written, cpu_host_l2_bytes(cpu_host_tuning()), stats);
    CHECK_EQ_U64(k.own, 0);
    CHECK(stats[0] > 19 && stats[1] > 0);
    /* no room for two */
    k = kept(slots, &read, &written, UINT64_C(1) << 40, stats);
    CHECK_EQ_U64(k.own, k.asked);
    k = kept_by(1, slots, &read, &written, 512, stats);
    CHECK_EQ_U64(k.own, k.asked);
    keeps_rows = false;
}

/* A byte that may be written is enough. */
TEST(what_is_written_is_not_kept)
{
    static char memory[4096];
    CpuSlot slots[] = { { .count = 1, .storage = SpvStorageClassStorageBuffer },
                        { .count = 1, .storage = SpvStorageClassStorageBuffer, .written = true } };
    const DeviceBinding read = { memory + 1024, 1024 };
    const struct {
        DeviceBinding written;
        bool shares;
    } cases[] = {
        { { memory, 1024 }, true },          { { memory, 1025 }, false },
        { { memory + 2048, 1024 }, true },   { { memory + 2047, 1 }, false },
        { { memory + 1500, 8 }, false },     { { memory + 1024, 1024 }, false },
        { { memory, sizeof memory }, false }, { { NULL, 0 }, true },
    };
    uint64_t stats[2];
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        Keeper k = kept(slots, &read, &cases[i].written, 512, stats);
        CHECK_EQ_U64(k.own, cases[i].shares ? 0 : k.asked);
        CHECK(cases[i].shares == (stats[1] > 0));
    }
    slots[1].storage = SpvStorageClassUniformConstant; /* an image may lie anywhere */
    CHECK_EQ_U64(kept(slots, &read, &read, 512, stats).packed, 0);
    slots[1] = slots[0];
    slots[1].count = UINT32_MAX;
    CHECK_EQ_U64(kept(slots, &read, &read, 512, stats).packed, 0);
}

/* ---- limits -------------------------------------------------------------------------------- */

static void nothing(CpuEnv *env)
{
    (void)env;
}

TEST(impossible_dispatches_are_diagnostics)
{
    TestDiags d = TEST_DIAGS(d);
    CpuDevice *device = cpu_device_new(2, true, &d.sink);
    REQUIRE(device);
    CpuKernel kernel = {.code = nothing, .subgroup_size = 32, .local_size = {32, 1, 1},
                        .stack_bytes = 4096};
    CpuDispatch x = {.kernel = &kernel, .groups = {UINT32_MAX, UINT32_MAX, 4}};
    CHECK(!cpu_dispatch(device, &x, &d.sink));
    CHECK_CONTAINS(d.text, "workgroups");
    x = (CpuDispatch){.kernel = &kernel, .groups = {2, 1, 1}, .base_group = {UINT32_MAX - 1, 0, 0}};
    CHECK(!cpu_dispatch(device, &x, &d.sink));
    kernel.frame_bytes = 1ull << 60;
    x = (CpuDispatch){.kernel = &kernel, .groups = {2, 1, 1}};
    CHECK(!cpu_dispatch(device, &x, &d.sink));
    CHECK_CONTAINS(d.text, "out of memory for a workgroup");
    kernel.frame_bytes = 0;
    memset(kernel.local_size, 0, sizeof kernel.local_size);
    x = (CpuDispatch){.kernel = &kernel, .groups = {1, 1, 1}, .local_size = {1 << 20, 1 << 20, 1}};
    CHECK(!cpu_dispatch(device, &x, &d.sink));
    CHECK_CONTAINS(d.text, "invocations");
    x = (CpuDispatch){.kernel = &kernel, .groups = {4, 1, 1}, .local_size = {40, 2, 1}};
    CHECK(cpu_dispatch(device, &x, &d.sink));
    CHECK_EQ_U64(d.sink.errors, 4);
    cpu_device_free(device);
}

/* ---- many threads -------------------------------------------------------------------------- */

typedef struct Caller { CpuDevice *device; uint32_t n, failures; } Caller;

static void *call_often(void *argument)
{
    Caller *c = argument;
    static const uint32_t base[3] = {0, 0, 0};
    CpuKernel kernel = {.code = count_group, .subgroup_size = 32, .local_size = {64, 1, 1},
                        .shared_bytes = 64, .frame_bytes = 1000, .stack_bytes = 4096};
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t groups[3] = {1 + i % 7 * 9, 1 + i % 3, 1}, n = groups[0] * groups[1] * 2;
        Grid g = {.groups = groups, .base = base, .counts = calloc(n, sizeof(atomic_uint))};
        Grid *push = &g;
        uint64_t stats[DEVICE_N_STATS] = {0};
        CpuDispatch x = {.kernel = &kernel, .push = &push, .groups = {groups[0], groups[1], 1},
                         .max_threads = i % 3, .stats = stats};
        kernel.has_barrier = i % 2;
        TestDiags diags = TEST_DIAGS(diags);
        bool ok = cpu_dispatch(c->device, &x, &diags.sink) && !g.wrong;
        for (uint32_t e = 0; e < n; e++)
            ok = ok && g.counts[e] == 1;
        c->failures += !ok || stats[DEVICE_STAT_MULADDS] != n;
        free(g.counts);
    }
    return NULL;
}

TEST(threads_dispatch_at_once)
{
    TestDiags d = TEST_DIAGS(d);
    CpuDevice *device = cpu_device_new(3, true, &d.sink);
    REQUIRE(device);
    Caller callers[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        callers[i] = (Caller){device, 60, 0};
        CHECK(pthread_create(&threads[i], NULL, call_often, &callers[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ_U64(callers[i].failures, 0);
    }
    cpu_device_free(device);
}

/* More dispatches than the queue has places, all running: a workgroup of each waits for others. */
enum { CROWD = 80 };
typedef struct Crowd { CpuDevice *device; atomic_uint running, wrong; } Crowd;
typedef struct Member { Crowd *crowd; atomic_bool came; atomic_uint groups; } Member;

static void wait_for_crowd(CpuEnv *env)
{
    Member *m = *(Member *const *)env->push;
    if (!atomic_exchange(&m->came, true))
        atomic_fetch_add(&m->crowd->running, 1);
    while (atomic_load(&m->crowd->running) < CROWD)
        usleep(100);
    atomic_fetch_add(&m->groups, 1);
}

static void *join_crowd(void *argument)
{
    Member member = {.crowd = argument}, *push = &member;
    CpuKernel kernel = {.code = wait_for_crowd, .subgroup_size = 32, .local_size = {32, 1, 1},
                        .stack_bytes = 4096};
    CpuDispatch x = {.kernel = &kernel, .push = &push, .groups = {5, 1, 1}};
    TestDiags diags = TEST_DIAGS(diags);
    bool ok = cpu_dispatch(member.crowd->device, &x, &diags.sink);
    atomic_fetch_add(&member.crowd->wrong, !ok || member.groups != 5);
    return NULL;
}

TEST(more_dispatches_than_places)
{
    TestDiags d = TEST_DIAGS(d);
    Crowd crowd = {.device = cpu_device_new(3, true, &d.sink)};
    REQUIRE(crowd.device);
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++)
        REQUIRE(pthread_create(&threads[i], NULL, join_crowd, &crowd) == 0);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ_U64(crowd.wrong, 0);
    cpu_device_free(crowd.device);
}

/* ---- printf -------------------------------------------------------------------------------- */

static void print_odd_lanes(CpuEnv *env)
{
    static const char format[] = "%d";
    uint64_t mask[2] = {0xaaaaaaaa, 0}, words[2 * 32];
    for (uint32_t lane = 0; lane < 32; lane++) {
        words[lane] = env->subgroup * 32 + lane;
        words[32 + lane] = 100000;
    }
    env->print(env, (uint64_t)(uintptr_t)format, words, 2, mask);
}

static void add_words(void *user, const char *format, const uint64_t *words, uint32_t n)
{
    *(uint64_t *)user += n == 2 && !strcmp(format, "%d") ? words[0] + words[1] : 0;
}

TEST(print_is_called_a_lane)
{
    CpuKernel kernel = {.code = print_odd_lanes, .subgroup_size = 32, .local_size = {64, 1, 1},
                        .stack_bytes = 4096};
    uint64_t sum = 0, expected = 0;
    CpuDispatch x = {.kernel = &kernel, .groups = {1, 1, 1}, .print = add_words, .user = &sum};
    CHECK(dispatch_on(1, &x));
    for (uint32_t i = 1; i < 64; i += 2)
        expected += 100000 + i;
    CHECK_EQ_U64(sum, expected);
}

/* ---- faults -------------------------------------------------------------------------------- */

typedef struct Stray { uint32_t group, subgroup; volatile uint32_t *at; bool writes; } Stray;

static void stray(CpuEnv *env)
{
    const Stray *s = *(const Stray *const *)env->push;
    env->barrier(env);
    if (env->group[0] == s->group && env->subgroup == s->subgroup) {
        if (s->writes)
            *s->at = 1;
        else
            env->group[1] = *s->at;
    }
    env->barrier(env);
}

static void check_stray(CpuDevice *d, const CpuKernel *k, const Stray *s, DeviceFaultKind kind)
{
    CpuDispatch x = { .kernel = k, .push = &s, .groups = { 200, 2, 1 } };
    TestDiags diags = TEST_DIAGS(diags);
    bool fine = cpu_dispatch(d, &x, &diags.sink);
    CHECK(fine == (kind == DEVICE_FAULT_NONE));
    CHECK((diags.len != 0) == !fine);
    CHECK(x.fault.kind == kind || (x.fault.kind == DEVICE_FAULT_ACCESS && kind));
    CHECK_EQ_U64(x.fault.address, fine ? 0 : (uintptr_t)s->at);
}

/* On the thread's own stack, on a stack of its own, and among subgroups at a barrier; the device is
 * as good as new afterwards. */
TEST(a_stray_access_ends_the_dispatch)
{
    char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED && mprotect(pages + 4096, 4096, PROT_NONE) == 0);
    uint32_t good = 0;
    const Stray none = { 3, 1, &good, true }, reads = { 77, 1, (uint32_t *)(pages + 4096), false },
                writes = { 199, 0, (uint32_t *)pages, true };
    for (uint32_t threads = 1; threads <= 3; threads++) {
        TestDiags diags = TEST_DIAGS(diags);
        CpuDevice *d = cpu_device_new(threads, true, &diags.sink);
        REQUIRE(d);
        for (uint32_t i = 0; i < 3; i++) {
            CpuKernel k = { .code = stray, .subgroup_size = 32, .local_size = { 64, 1, 1 },
                            .stack_bytes = i == 1 ? 100000 : 5000, .has_barrier = i == 2 };
            check_stray(d, &k, &reads, DEVICE_FAULT_READ);
            check_stray(d, &k, &none, DEVICE_FAULT_NONE);
            check_stray(d, &k, &writes, DEVICE_FAULT_WRITE);
            check_stray(d, &k, &none, DEVICE_FAULT_NONE);
        }
        cpu_device_free(d);
    }
    munmap(pages, 8192);
}

static struct sigaction heddles;

static void first_ours(int signal, siginfo_t *info, void *context)
{
    heddles.sa_sigaction(signal, info, context);
}

/* The program's own handler may come later, block signals while it runs, and call ours. */
TEST(a_stray_access_seen_by_the_program_first)
{
    struct sigaction own = { .sa_sigaction = first_ours, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const Stray writes = { 7, 1, (uint32_t *)page, true };
    CpuKernel k = { .code = stray, .subgroup_size = 32, .local_size = { 64, 1, 1 },
                    .stack_bytes = 5000, .has_barrier = true };
    TestDiags diags = TEST_DIAGS(diags);
    CpuDevice *d = cpu_device_new(1, true, &diags.sink);
    REQUIRE(d && page != MAP_FAILED);
    sigfillset(&own.sa_mask);
    sigaction(SIGSEGV, &own, &heddles);
    for (int i = 0; i < 3; i++)
        check_stray(d, &k, &writes, DEVICE_FAULT_WRITE);
    sigaction(SIGSEGV, &heddles, NULL);
    cpu_device_free(d);
    munmap(page, 4096);
}

static sigjmp_buf out;
static volatile sig_atomic_t seen;

static void note(int signal)
{
    seen = signal;
    siglongjmp(out, 1);
}

/* The program's own faults go to the program's own handler, which stands again when no device is
 * left. */
TEST(other_faults_are_the_programs)
{
    struct sigaction own = { .sa_handler = note }, before, after;
    TestDiags diags = TEST_DIAGS(diags);
    sigaction(SIGSEGV, &own, &before);
    CpuDevice *d = cpu_device_new(2, true, &diags.sink);
    REQUIRE(d);
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sigsetjmp(out, 1) == 0)
        *(volatile char *)page = 1;
    CHECK(seen == SIGSEGV);
    cpu_device_free(d);
    munmap(page, 4096);
    sigaction(SIGSEGV, &before, &after);
    CHECK(after.sa_handler == note);
}
