/* SPDX-License-Identifier: MIT
 *
 * In: blocks of workgroups. Out: they have run on the calling thread (contract in exec.h).
 *
 * Without fibers a workgroup's subgroups are plain calls, one after the other, that share a frame.
 * In phases they are calls too: a subgroup at a barrier returns, and is called again when all have
 * come to one or are through. Then each has an environment and memory of its own.
 * With fibers each subgroup in flight is a strand: an environment, a stack, a frame. Strands that
 * can go on stand in a queue. A strand that yields goes to its end. A strand at a barrier leaves
 * the queue until the last strand of its workgroup arrives, which puts the others at the front, so
 * that the phases of a workgroup follow each other while the data that it shares is in the nearest
 * cache. There is no scheduler to switch to: a strand that stops continues the next one itself.
 */
#include "cpu/run/exec.h"
#include "cpu/run/fault.h"
#include "cpu/run/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)
/* Around memory of kernels: lanes that a masked access leaves out may lie there, up to d of them in
 * `l >= d ? a[l - d] : 0`. Where no page is, or none yet, the machine finds only step by step that
 * nothing is read, and a scan in workgroup memory takes three times as long. */
#define MARGIN ((size_t)4096)
/* Stack beyond the kernel's own: for barrier and yield, the C library, a signal handler with its
 * registers. */
#define STACK_MARGIN ((size_t)32 << 10)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZER_STACK ((size_t)64 << 10)
#else
#define SANITIZER_STACK ((size_t)0)
#endif
/* The distance added between frames, so that equal offsets in neighbouring ones differ in their low
 * bits. */
#define FRAME_SKEW 320

typedef struct ExecGroup ExecGroup;
struct ExecGroup {
    uint32_t live, waiting;   /* strands that have not returned; those of them at the barrier */
    ExecStrand *first, *last; /* at the barrier, in order of arrival */
};

struct ExecStrand {
    CpuEnv env; /* first: the kernel is given its address */
    const ExecPlan *plan;
    ExecPool *pool;
    ExecGroup *group;
    ExecStrand *next;                 /* the next in the queue or at the barrier */
    atomic_uint_fast64_t *next_block; /* for a strand that runs whole blocks (ExecPlan.own_stack) */
    Fiber fiber;
};

/* ---- memory -------------------------------------------------------------------------------- */

static void memory_free(ExecMemory *m)
{
    if (m->data)
        munmap(m->data - MARGIN, m->size + 2 * MARGIN);
    *m = (ExecMemory){ 0 };
}

static bool memory_grow(ExecMemory *m, uint64_t stride, uint64_t n)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(stride, n, &bytes) || bytes > SIZE_MAX / 2)
        return false;
    if (bytes <= m->size)
        return true;
    size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
    size_t size = align_up(bytes + 2 * MARGIN, unit);
    char *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return false;
#if defined(MADV_HUGEPAGE)
    if (size >= HUGE_PAGE)
        (void)madvise(data, size, MADV_HUGEPAGE); /* only advice: it may fail */
#endif
    memory_free(m);
    data[0] = data[size - 1] = 0;
    *m = (ExecMemory){ data + MARGIN, size - 2 * MARGIN };
    return true;
}

static uint64_t stride_of(uint64_t bytes) { return bytes ? align_up(bytes, 64) + FRAME_SKEW : 0; }

static void strand_free(ExecStrand *s)
{
    fiber_free(&s->fiber);
    free(s);
}

static void drop_strands(ExecPool *pool)
{
    for (uint32_t i = 0; i < pool->n_strands; i++)
        strand_free(pool->strands[i]);
    pool->n_strands = 0;
    pool->stack_bytes = 0;
}

static bool add_strands(ExecPool *pool, uint32_t n, size_t stack)
{
    if (n <= pool->n_strands)
        return true;
    ExecStrand **strands = realloc(pool->strands, n * sizeof(ExecStrand *));
    if (!strands)
        return false;
    pool->strands = strands;
    while (pool->n_strands < n) {
        size_t size = align_up(sizeof(ExecStrand), 64);
        ExecStrand *s = aligned_alloc(64, size);
        if (!s)
            return false;
        memset(s, 0, size);
        if (stack && !fiber_new(&s->fiber, stack, pool->n_strands)) {
            free(s);
            return false;
        }
        pool->strands[pool->n_strands++] = s;
    }
    return true;
}

/* With memory of their own, of a workgroup. */
static uint32_t strands_of(const ExecPlan *p)
{
    return p->fibers || p->phases ? p->n_subgroups : 1;
}

static bool prepare_strands(ExecPool *pool, const ExecPlan *p)
{
    uint64_t n = (uint64_t)p->together * strands_of(p);
    size_t stack = 0;
    if (p->fibers || p->own_stack)
        stack = p->kernel->stack_bytes + STACK_MARGIN + SANITIZER_STACK;
    if (n > UINT32_MAX)
        return false;
    if (stack > pool->stack_bytes) {
        drop_strands(pool);
        pool->stack_bytes = stack;
    }
    return add_strands(pool, (uint32_t)n, pool->stack_bytes);
}

static bool prepare_groups(ExecPool *pool, const ExecPlan *p)
{
    if (p->together <= pool->n_groups)
        return true;
    ExecGroup *groups = calloc(p->together, sizeof *groups);
    if (!groups)
        return false;
    free(pool->groups);
    pool->groups = groups;
    pool->n_groups = p->together;
    return true;
}

static void barrier_alone(CpuEnv *env) { (void)env; }

static void barrier_fiber(CpuEnv *env);
static void yield_fiber(CpuEnv *env);

static void *own_panel(CpuEnv *env, const uint64_t *key, uint32_t words, uint32_t kind, void *own)
{
    (void)key, (void)words, (void)kind;
    env->packed = false;
    return own;
}

static void *shared_panel(CpuEnv *env, const uint64_t *key, uint32_t words, uint32_t kind,
                          void *own)
{
    ExecPool *pool = ((ExecStrand *)env)->pool;
    bool packed;
    void *panel = panels_find(&pool->panels, key, words, kind, &packed);
    (void)own;
    env->packed = packed;
    pool->stats[packed ? DEVICE_STAT_PANELS_SHARED : DEVICE_STAT_PANELS_PACKED]++;
    return panel;
}

/* Fills in an environment, but for which workgroup and subgroup it is. */
static void fill_env(ExecPool *pool, const ExecPlan *p, ExecStrand *s, void *frame, void *shared)
{
    const CpuDispatch *d = p->dispatch;
    s->plan = p;
    s->pool = pool;
    s->env = (CpuEnv){
        .slots = d->slots,
        .counts = d->counts,
        .push = d->push,
        .shared = shared,
        .shared_bytes = p->shared_bytes,
        .frame = frame,
        .scratch = pool->scratch.data,
        .n_subgroups = p->n_subgroups,
        .yield_every = p->yield_every,
        .prefetch = p->prefetch,
        .beyond_l2 = p->beyond_l2,
        .unwritten = p->unwritten,
        .barrier = p->fibers ? barrier_fiber : barrier_alone,
        .yield = p->fibers ? yield_fiber : barrier_alone,
        .panel = p->panels ? shared_panel : own_panel,
        .own_panel = own_panel,
        .stats = pool->stats,
        .print = p->print,
        .work_dim = d->work_dim ? d->work_dim : 3,
    };
    for (int i = 0; i < 3; i++) {
        s->env.n_groups[i] = d->n_groups[i] ? d->n_groups[i] : d->groups[i];
        s->env.local_size[i] = p->local_size[i];
        s->env.enqueued_size[i] = d->enqueued_size[i] ? d->enqueued_size[i] : p->local_size[i];
        s->env.global_size[i] =
            d->global_size[i] ? d->global_size[i] : d->groups[i] * p->local_size[i];
        s->env.global_offset[i] = d->global_offset[i];
    }
}

bool pool_prepare(ExecPool *pool, const ExecPlan *p)
{
    uint32_t strands = strands_of(p);
    uint64_t frame = stride_of(p->kernel->frame_bytes), shared = stride_of(p->shared_bytes);
    uint64_t kept = stride_of(p->kernel->kept_bytes);
    uint64_t stats = sizeof(uint64_t) * (DEVICE_N_STATS + (uint64_t)p->kernel->n_counters);
    if (!prepare_strands(pool, p) || !prepare_groups(pool, p) ||
        !memory_grow(&pool->scratch, stride_of(p->kernel->scratch_bytes), 1) ||
        !memory_grow(&pool->frames, frame, (uint64_t)p->together * strands) ||
        !memory_grow(&pool->kept, kept, (uint64_t)p->together * strands) ||
        !memory_grow(&pool->shared, shared, p->together) ||
        !memory_grow(&pool->panel_memory, p->panel_memory, 1) ||
        !memory_grow(&pool->counters, stats, 1))
        return false;
    pool->stats = (uint64_t *)(void *)pool->counters.data;
    pool->block = pool->blocks_end = 0;
    if (p->panels)
        panels_clear(&pool->panels, pool->panel_memory.data, p->kernel, p->panels);
    for (uint32_t i = 0; i < p->together * strands; i++) {
        fill_env(pool, p, pool->strands[i], frame ? pool->frames.data + i * frame : NULL,
                 shared ? pool->shared.data + i / strands * shared : NULL);
        pool->strands[i]->env.kept = pool->kept.data + i * kept;
    }
    memset(pool->stats, 0, stats);
    return true;
}

const ExecPlan *pool_plan(const CpuEnv *env) { return ((const ExecStrand *)env)->plan; }

void pool_free(ExecPool *pool)
{
    drop_strands(pool);
    free(pool->strands);
    free(pool->groups);
    memory_free(&pool->scratch);
    memory_free(&pool->frames);
    memory_free(&pool->kept);
    memory_free(&pool->shared);
    memory_free(&pool->panel_memory);
    memory_free(&pool->counters);
    memset(pool, 0, sizeof *pool);
}

/* ---- the walk through a block -------------------------------------------------------------- */

/* Rows alternate between left to right and right to left, if calls do not do several workgroups. */
static bool is_backward(const ExecPlan *p, const ExecBlock *b, uint32_t i)
{
    return i / b->size[0] & 1 && !p->coarse;
}

/* WorkgroupId of the i-th workgroup. */
static void group_id(const ExecPlan *p, const ExecBlock *b, uint32_t i, uint32_t id[3])
{
    uint32_t y = i / b->size[0], x = i % b->size[0];
    if (is_backward(p, b, i))
        x = b->size[0] - 1 - x;
    id[0] = p->dispatch->base_group[0] + b->first[0] + x;
    id[1] = p->dispatch->base_group[1] + b->first[1] + y;
    id[2] = p->dispatch->base_group[2] + b->first[2];
}

/* A kernel has done what it must not: the counter is then beyond all that threads take. */
#define STOPPED (UINT64_MAX / 2)

static inline void take_blocks(ExecPool *pool, const ExecPlan *p, atomic_uint_fast64_t *next)
{
    uint64_t number = atomic_load_explicit(next, memory_order_relaxed), n = 1;
    if (p->portions && number < p->n_blocks)
        n = MAX(n, (p->n_blocks - number) / p->portions);
    /* An instruction with a lock waits until all that was stored has reached a cache. */
    if (p->one_thread)
        atomic_store_explicit(next, number + n, memory_order_relaxed);
    else
        number = atomic_fetch_add_explicit(next, n, memory_order_relaxed);
    pool->block = number;
    pool->blocks_end = MIN(number + n, p->n_blocks);
}

/* A thread's next block of workgroups. What is packed is an operand's columns: where the block is
 * in others than the one before, that is of no use any more, but its memory is, which lies in the
 * caches. */
static bool next_block_of(ExecPool *pool, const ExecPlan *p, atomic_uint_fast64_t *next,
                          ExecBlock *b)
{
    uint32_t column = b->first[0], plane = b->first[2];
    if (pool->block >= pool->blocks_end)
        take_blocks(pool, p, next);
    if (pool->block >= pool->blocks_end ||
        atomic_load_explicit(next, memory_order_relaxed) >= STOPPED)
        return false;
    *b = plan_block(p, pool->block++);
    if (p->panels && !p->kernel->panels_by_row && (b->first[0] != column || b->first[2] != plane))
        panels_restart(&pool->panels);
    return true;
}

/* ---- subgroups as calls -------------------------------------------------------------------- */

/* A subgroup of n workgroups side by side, which it does one or several a call. */
static void run_across(ExecStrand *s, const ExecPlan *p, uint32_t n, uint32_t step)
{
    CpuSubgroupFn *code = p->kernel->code;
    for (uint32_t k = 0; k < n; k += s->env.groups_done) {
        s->env.yield_count = 0;
        s->env.groups_left = p->coarse ? n - k : 1;
        s->env.groups_done = 1;
        code(&s->env);
        s->env.group[0] += step * s->env.groups_done;
    }
}

static void run_calls(ExecStrand *s, const ExecPlan *p, atomic_uint_fast64_t *next_block)
{
    ExecBlock b = { 0 };
    bool rows = p->along_rows || (p->coarse && p->n_subgroups == 1);
    while (next_block_of(s->pool, p, next_block, &b)) {
        uint32_t width = b.size[0], most = rows ? width : p->coarse ? p->kernel->groups_at_once : 1;
        for (uint32_t i = 0, n; i < width * b.size[1]; i += n) {
            n = MIN(most, width - i % width);
            for (uint32_t j = 0; j < p->n_subgroups; j++) {
                group_id(p, &b, i, s->env.group);
                s->env.subgroup = j;
                run_across(s, p, n, is_backward(p, &b, i) ? UINT32_MAX : 1);
            }
        }
    }
}

/* ---- subgroups as calls from barrier to barrier ---------------------------------------------- */

static void run_in_phases(ExecPool *pool, const ExecPlan *p, const uint32_t group[3])
{
    CpuSubgroupFn *code = p->kernel->code;
    uint32_t waiting = 0;
    for (uint32_t j = 0; j < p->n_subgroups; j++) {
        CpuEnv *env = &pool->strands[j]->env;
        memcpy(env->group, group, sizeof env->group);
        env->subgroup = j;
        env->yield_count = 0;
        code(env);
        waiting += env->resume != 0;
    }
    while (waiting) {
        waiting = 0;
        for (uint32_t j = 0; j < p->n_subgroups; j++) {
            CpuEnv *env = &pool->strands[j]->env;
            if (env->resume)
                code(env);
            waiting += env->resume != 0;
        }
    }
}

static void run_phases(ExecPool *pool, const ExecPlan *p, atomic_uint_fast64_t *next_block)
{
    ExecBlock b = { 0 };
    while (next_block_of(pool, p, next_block, &b))
        for (uint32_t i = 0; i < b.size[0] * b.size[1]; i++) {
            uint32_t group[3];
            group_id(p, &b, i, group);
            run_in_phases(pool, p, group);
        }
}

static void run_without_fibers(ExecStrand *s, const ExecPlan *p, atomic_uint_fast64_t *next_block)
{
    if (p->phases)
        run_phases(s->pool, p, next_block);
    else
        run_calls(s, p, next_block);
}

static Fiber *run_on_fiber(void *argument)
{
    ExecStrand *s = argument;
    run_without_fibers(s, s->plan, s->next_block);
    return &s->pool->home;
}

/* ---- subgroups as fibers ------------------------------------------------------------------- */

static void push_ready(ExecPool *pool, ExecStrand *s)
{
    s->next = NULL;
    if (pool->ready)
        pool->last_ready->next = s;
    else
        pool->ready = s;
    pool->last_ready = s;
}

static Fiber *pop_ready(ExecPool *pool)
{
    ExecStrand *s = pool->ready;
    if (!s)
        return &pool->home;
    pool->ready = s->next;
    return &s->fiber;
}

static void release(ExecPool *pool, ExecGroup *g)
{
    if (g->first) {
        if (!pool->ready)
            pool->last_ready = g->last;
        g->last->next = pool->ready;
        pool->ready = g->first;
    }
    g->first = g->last = NULL;
    g->waiting = 0;
}

static void barrier_fiber(CpuEnv *env)
{
    ExecStrand *s = (ExecStrand *)env;
    ExecGroup *g = s->group;
    if (++g->waiting == g->live) {
        release(s->pool, g);
        return;
    }
    s->next = NULL;
    if (g->first)
        g->last->next = s;
    else
        g->first = s;
    g->last = s;
    fiber_switch(&s->fiber, pop_ready(s->pool));
}

static void yield_fiber(CpuEnv *env)
{
    ExecStrand *s = (ExecStrand *)env;
    ExecPool *pool = s->pool;
    env->yield_count = 0;
    pool->stats[DEVICE_STAT_YIELDS]++;
    if (!pool->ready)
        return;
    Fiber *to = pop_ready(pool);
    push_ready(pool, s);
    fiber_switch(&s->fiber, to);
}

static Fiber *strand_main(void *argument)
{
    ExecStrand *s = argument;
    ExecGroup *g = s->group;
    while (s->plan->kernel->code(&s->env), s->env.resume)
        barrier_fiber(&s->env);
    /* The others need not wait for a subgroup that has returned. */
    if (--g->live && g->waiting == g->live)
        release(s->pool, g);
    return pop_ready(s->pool);
}

/* Runs workgroups first to first + n - 1 of the block together. */
static void run_together(ExecPool *pool, const ExecPlan *p, const ExecBlock *b, uint32_t first,
                         uint32_t n)
{
    pool->ready = NULL;
    for (uint32_t i = 0; i < n; i++) {
        ExecGroup *g = &pool->groups[i];
        *g = (ExecGroup){ .live = p->n_subgroups };
        for (uint32_t j = 0; j < p->n_subgroups; j++) {
            ExecStrand *s = pool->strands[i * p->n_subgroups + j];
            group_id(p, b, first + i, s->env.group);
            s->env.subgroup = j;
            s->env.yield_count = 0;
            s->group = g;
            fiber_start(&s->fiber, strand_main, s);
            push_ready(pool, s);
        }
    }
    fiber_switch(&pool->home, pop_ready(pool));
}

static void run_fibers(ExecPool *pool, const ExecPlan *p, atomic_uint_fast64_t *next_block)
{
    ExecBlock b = { 0 };
    while (next_block_of(pool, p, next_block, &b)) {
        uint32_t n = b.size[0] * b.size[1];
        for (uint32_t i = 0; i < n; i += p->together)
            run_together(pool, p, &b, i, MIN(p->together, n - i));
    }
}

/* ---- floating-point control ---------------------------------------------------------------- */

/* Kernels run with the default rounding, denormals kept and exceptions masked, whatever the caller
 * has set: results must not depend on the thread. */
#if defined(__x86_64__)
typedef uint32_t FloatControl;
static FloatControl float_control(void) { return __builtin_ia32_stmxcsr(); }
static void set_float_control(FloatControl c) { __builtin_ia32_ldmxcsr(c); }
#define FLOAT_DEFAULT 0x1f80u
#elif defined(__aarch64__)
typedef uint64_t FloatControl;
static FloatControl float_control(void)
{
    FloatControl c;
    __asm__ volatile("mrs %0, fpcr" : "=r"(c));
    return c;
}
static void set_float_control(FloatControl c) { __asm__ volatile("msr fpcr, %0" : : "r"(c)); }
#define FLOAT_DEFAULT 0u
#else
#include <fenv.h>
typedef fenv_t FloatControl;
static FloatControl float_control(void)
{
    FloatControl c;
    fegetenv(&c);
    return c;
}
static void set_float_control(FloatControl c) { fesetenv(&c); }
#define FLOAT_DEFAULT (*FE_DFL_ENV)
#endif

typedef struct Share {
    ExecPool *pool;
    const ExecPlan *plan;
    atomic_uint_fast64_t *next_block;
} Share;

static void run_share(void *user)
{
    const Share *r = user;
    if (r->plan->fibers) {
        run_fibers(r->pool, r->plan, r->next_block);
    } else if (r->plan->own_stack) {
        ExecStrand *s = r->pool->strands[0];
        s->next_block = r->next_block;
        fiber_start(&s->fiber, run_on_fiber, s);
        fiber_switch(&r->pool->home, &s->fiber);
    } else {
        run_without_fibers(r->pool->strands[0], r->plan, r->next_block);
    }
}

static CpuWatch watch_of(const ExecPool *pool, const ExecPlan *p)
{
    return (CpuWatch){ .lines = p->kernel->lines,
                       .samples = p->dispatch->sample_ns ? p->dispatch->samples : NULL,
                       .sample_ns = p->dispatch->sample_ns,
                       .limit_ns = p->dispatch->watchdog_ns,
                       .env = &pool->strands[0]->env };
}

static bool run_guarded(Share *r, DeviceFault *fault)
{
    bool fibers = r->plan->fibers || r->plan->own_stack;
    return fault_guarded(run_share, r, fibers ? &r->pool->home : NULL, fault);
}

static bool run_watched(Share *r, DeviceFault *fault)
{
    CpuWatch w = watch_of(r->pool, r->plan);
    watch_begin(&w);
    bool fine = run_guarded(r, fault);
    watch_end(&w);
    return fine;
}

bool pool_run(ExecPool *pool, const ExecPlan *p, atomic_uint_fast64_t *next_block,
              DeviceFault *fault)
{
    Share r = { pool, p, next_block };
    FloatControl kept = float_control();
    CpuTiles tiles = p->kernel->tiles ? cpu_tiles_begin() : (CpuTiles){ { 0 } };
    set_float_control(FLOAT_DEFAULT);
    bool fine = p->watched ? run_watched(&r, fault) : run_guarded(&r, fault);
    set_float_control(kept);
    if (p->kernel->tiles)
        cpu_tiles_end(&tiles);
    if (!fine) {
        atomic_store(next_block, STOPPED);
        drop_strands(pool); /* some stopped inside the kernel */
    }
    return fine;
}
