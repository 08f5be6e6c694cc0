/* SPDX-License-Identifier: MIT
 *
 * In: a dispatch. Out: all of its workgroups have run. A device is its worker threads and the queue
 * from which they take dispatches.
 *
 * A dispatch is planned (which workgroups are in flight together on a thread, what a block of
 * workgroups is), then stands in the queue while its caller works on it: threads take block numbers
 * from one counter. The caller always works too, so a dispatch needs no worker to finish, and any
 * number of them proceed at once; a worker joins the dispatch with the fewest helpers. A dispatch
 * of one block wakes nobody. Workers that are awake join and leave without a lock: a small dispatch
 * takes less time than sixteen of them take to pass one through their hands.
 *
 * Interleaving (PERFORMANCE, rule 5): if a kernel streams more than the second-level cache holds,
 * the workgroups of a 4x4 square run together on one thread, taking turns every so many bytes, so
 * that they share what they load.
 */
#include "cpu/run/exec.h"
#include "cpu/machine/lines.h"
#include "cpu/run/fault.h"

#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_STRANDS 4096        /* on a thread, if the caller forces interleaving */
#define SAFE_STACK  (64u << 10) /* what every calling thread is assumed to have left */

#define MAX_JOBS 64 /* dispatches with helpers at once; more of them do without */

/* Job.state: how many run it beside its caller, how many more may join, whether its caller sleeps
 * until they have left. */
#define HELPER       UINT32_C(1)
#define HELPERS      UINT32_C(0xffff)
#define ROOM_FOR_ONE UINT32_C(0x10000)
#define ROOM         UINT32_C(0x7fff0000)
#define WAITED_FOR   UINT32_C(0x80000000)

/* A place for a dispatch in the queue. It is its caller's from when it is taken until it is given
 * back, but may be looked at by a worker at any time: that is why it is the device's memory. A
 * worker that has joined may read the plan, since the caller waits for it. */
typedef struct Job {
    _Alignas(64) atomic_uint state;
    const ExecPlan *plan;
    DeviceFault fault; /* of a helper, if any; written under the lock */
    _Alignas(64) atomic_uint_fast64_t next_block;
} Job;

enum { RECENT = 4 };

struct CpuDevice {
    pthread_mutex_t lock; /* guards pools, faults of jobs and counts, and sleep */
    pthread_cond_t work, done;
    pthread_mutex_t print_lock;
    _Atomic(ExecPool *) spare; /* a pool for a calling thread, which needs no lock to take it */
    ExecPool *pools;           /* more of them; the unused ones */
    pthread_t *workers;
    uint32_t n_workers;
    atomic_uint sleeping; /* workers; changed under the lock */
    atomic_bool stop;
    bool faults; /* faults become errors: our handlers are installed */
    const CpuTuning *tuning;
    uint32_t l2_bytes;
    atomic_uintptr_t recent[RECENT]; /* the largest buffers of the last dispatches, by turns */
    atomic_uint n_recent;
    atomic_uint_fast64_t taken, open; /* a bit for each job: has a dispatch; can be joined */
    _Alignas(64) atomic_uint epoch;   /* counts the jobs queued; idle threads watch it */
    Job jobs[MAX_JOBS];
};

/* ---- the plan: workgroups to blocks -------------------------------------------------------- */

/* Panels of `panel` columns of blocks are walked one after the other, each row by row. Every other
 * row and every other panel is walked backwards, so that neighbours in time are neighbours in the
 * grid. */
ExecBlock plan_block(const ExecPlan *p, uint64_t number)
{
    if (p->n_blocks == 1)
        return (ExecBlock){ .size = { p->dispatch->groups[0], p->dispatch->groups[1] } };
    uint64_t plane = (uint64_t)p->blocks[0] * p->blocks[1], in_plane = number % plane;
    uint64_t per_panel = (uint64_t)p->panel * p->blocks[1], panel = in_plane / per_panel;
    uint64_t rest = in_plane % per_panel, left = panel * p->panel;
    uint64_t width = MIN((uint64_t)p->panel, p->blocks[0] - left);
    uint64_t row = rest / width, column = rest % width;
    if (row & 1)
        column = width - 1 - column;
    if (panel & 1)
        row = p->blocks[1] - 1 - row;
    ExecBlock b;
    b.first[0] = (uint32_t)((left + column) * p->block[0]);
    b.first[1] = (uint32_t)(row * p->block[1]);
    b.first[2] = (uint32_t)(number / plane);
    for (int i = 0; i < 2; i++)
        b.size[i] = MIN(p->block[i], p->dispatch->groups[i] - b.first[i]);
    return b;
}

/* The rectangle of n workgroups that is nearest to a square and fits into the grid. */
static void shape(const uint32_t groups[3], uint32_t n, uint32_t out[2])
{
    uint32_t side = 1;
    while (side * side * 4 <= n)
        side *= 2;
    out[0] = MIN(groups[0], n / side);
    out[1] = MIN(groups[1], MAX(1, n / out[0]));
    out[0] = MIN(groups[0], MAX(1, n / out[1]));
}

static void set_blocks(ExecPlan *p, const uint32_t block[2], uint32_t panel_groups)
{
    const uint32_t *groups = p->dispatch->groups;
    for (int i = 0; i < 2; i++) {
        p->block[i] = block[i];
        p->blocks[i] = (uint32_t)(((uint64_t)groups[i] + block[i] - 1) / block[i]);
    }
    p->n_blocks = (uint64_t)p->blocks[0] * p->blocks[1] * groups[2];
    p->panel = MAX(1, panel_groups / block[0]);
}

/* ---- the plan: interleaving ---------------------------------------------------------------- */

/* The size of the buffers that the kernel only reads or, if it writes to all of them, of all of its
 * buffers. UINT64_MAX if its memory is not bound by slots. */
static uint64_t footprint(const CpuDispatch *d)
{
    uint64_t read = 0, all = 0;
    for (uint32_t i = 0; i < d->kernel->n_slots; i++) {
        const CpuSlot *s = &d->kernel->slots[i];
        if (s->storage == SpvStorageClassUniformConstant)
            continue; /* images and samplers: their size is not known here */
        if (s->count == UINT32_MAX || !d->slots)
            return UINT64_MAX;
        uint32_t count = d->counts ? MIN(s->count, d->counts[i]) : s->count;
        for (uint32_t e = 0; e < count; e++) {
            uint64_t size = d->slots[i] ? d->slots[i][e].size : 0;
            all += MIN(size, UINT64_MAX / 2 - all);
            if (!s->written)
                read += MIN(size, UINT64_MAX / 2 - read);
        }
    }
    return d->kernel->n_slots == 0 ? UINT64_MAX : read ? read : all;
}

static uintptr_t largest_buffer(const CpuDispatch *d)
{
    uint64_t most = 0;
    uintptr_t at = 0;
    for (uint32_t i = 0; d->slots && i < d->kernel->n_slots; i++) {
        const DeviceBinding *b = d->kernel->slots[i].count == 1 ? d->slots[i] : NULL;
        if (b && b->size > most) {
            most = b->size;
            at = (uintptr_t)b->base;
        }
    }
    return at;
}

/* Whether one of the last dispatches had the same data, so that what is small is still in the
 * caches; from now on this one had. */
static bool used_lately(CpuDevice *device, const CpuDispatch *d)
{
    uintptr_t at = largest_buffer(d);
    bool lately = false;
    for (uint32_t k = 0; k < RECENT; k++)
        lately |= atomic_load_explicit(&device->recent[k], memory_order_relaxed) == at;
    if (!lately) {
        uint32_t k = atomic_fetch_add_explicit(&device->n_recent, 1, memory_order_relaxed);
        atomic_store_explicit(&device->recent[k % RECENT], at, memory_order_relaxed);
    }
    return lately;
}

/* Whether what a dispatch reads comes from memory, most likely, and the machine's prefetchers
 * follow rows only if workgroups read them one after the other. In a grid of several rows of
 * workgroups these read the same data, so that it comes from memory seldom. */
static bool one_by_one(const CpuDevice *device, const CpuDispatch *d, bool lately)
{
    uint64_t l2s = device->tuning->one_by_one_l2s, l2 = device->l2_bytes;
    if (!l2s || d->groups[1] > 1 || d->groups[2] > 1)
        return false;
    uint64_t data = footprint(d);
    return data != UINT64_MAX && data > (lately ? l2 * l2s : l2);
}

/* How many workgroups run together: 1, or as many as the caches and the number of threads allow. */
static uint32_t decide_interleave(const ExecPlan *p, const CpuDevice *device, uint32_t threads)
{
    const CpuDispatch *d = p->dispatch;
    const CpuTuning *tuning = device->tuning;
    uint64_t total = (uint64_t)d->groups[0] * d->groups[1];
    if (!p->kernel->can_yield || d->interleave == 1)
        return 1;
    if (d->interleave > 1) {
        uint64_t n = MIN((uint64_t)d->interleave, total);
        return (uint32_t)MAX(1, MIN(n, MAX_STRANDS / p->n_subgroups));
    }
    if (footprint(d) <= device->l2_bytes)
        return 1;
    uint32_t n = MAX(1, tuning->strands / p->n_subgroups);
    uint64_t each = p->kernel->frame_bytes * p->n_subgroups + p->shared_bytes;
    uint64_t room = (uint64_t)device->l2_bytes * tuning->frames_percent / 100;
    while (n > 1 && (n > total || each > room / n || total * d->groups[2] / n < threads))
        n /= 2;
    return n;
}

/* The block of workgroups that run one after the other. If they work on tiles of their data,
 * neighbours in a square share them. If they read it where it lies, a row suits the caches'
 * prefetchers. */
static void shape_alone(const ExecPlan *p, const CpuTuning *tuning, uint32_t threads,
                        uint32_t block[2])
{
    const uint32_t *groups = p->dispatch->groups;
    uint64_t total = (uint64_t)groups[0] * groups[1] * groups[2];
    uint64_t most = total / ((uint64_t)threads * tuning->blocks_per_thread);
    uint32_t n = 1;
    while (n < tuning->block_groups && n * 2 <= most)
        n *= 2;
    if (p->kernel->can_yield || p->kernel->has_barrier) {
        shape(groups, n, block);
    } else {
        block[0] = MIN(groups[0], n);
        block[1] = MIN(groups[1], MAX(1, n / block[0]));
    }
}

static void plan_blocks(ExecPlan *p, const CpuDevice *device, uint32_t threads)
{
    /* Of a thread's share of what is left. llama.cpp's tokens of q4_0 a second on two cores of a
     * Zen 4, medians of five by turns: 177 block by block, 185 with 4, 190 with 2; a thread that is
     * stopped delays by a portion. */
    enum { PORTIONS = 4 };
    const CpuTuning *tuning = device->tuning;
    uint64_t data = footprint(p->dispatch);
    uint32_t block[2] = { 1, 1 }, together = decide_interleave(p, device, threads);
    if (together > 1) {
        shape(p->dispatch->groups, together, block);
        together = block[0] * block[1];
    }
    if (together == 1)
        shape_alone(p, tuning, threads, block);
    /* The subgroups of one workgroup may be worth interleaving too. */
    bool alone = together == 1 && (p->n_subgroups == 1 || !p->kernel->can_yield ||
                                   p->dispatch->interleave == 1 || data <= device->l2_bytes);
    /* What is packed for a block serves those below it. */
    set_blocks(p, block, p->panels ? 1 : tuning->panel_groups);
    p->together = together;
    bool waits = p->kernel->has_barrier && p->n_subgroups > 1;
    p->fibers = !alone || (waits && !p->kernel->returns_at_barriers);
    p->phases = !p->fibers && p->kernel->returns_at_barriers;
    /* A row of invocations continues in the next workgroup, not in the next subgroup. */
    p->along_rows = !p->fibers && !p->phases && !p->shared_bytes && p->n_subgroups > 1 &&
                    p->local_size[0] <= p->kernel->subgroup_size;
    p->coarse = !p->fibers && !p->phases && !p->shared_bytes && p->kernel->groups_at_once;
    bool streams = together == 1 && !p->kernel->can_yield && !p->kernel->has_barrier && !p->panels;
    p->portions = streams ? PORTIONS * threads : 0;
    p->own_stack = !p->fibers && p->kernel->stack_bytes > SAFE_STACK;
    uint64_t step = p->kernel->stream_bytes_per_step;
    p->yield_every = alone ? 0 : step ? (uint32_t)MAX(1, tuning->yield_bytes / step) : 1;
    p->beyond_l2 = data > device->l2_bytes;
    p->prefetch =
        p->dispatch->prefetch || (alone && data / tuning->prefetch_l2s > device->l2_bytes);
}

/* ---- the plan: shared panels ---------------------------------------------------------------- */

static bool overlaps(const DeviceBinding *a, const DeviceBinding *b)
{
    uintptr_t x = (uintptr_t)a->base, y = (uintptr_t)b->base;
    return x < y ? b->size && y - x < a->size : a->size && x - y < b->size;
}

/* A buffer that the kernel may write is, in part, one that it only reads. */
static bool writes_what_it_reads(const CpuDispatch *d, uint32_t written)
{
    for (uint32_t i = 0; i < d->kernel->n_slots; i++) {
        const CpuSlot *r = &d->kernel->slots[i], *w = &d->kernel->slots[written];
        for (uint32_t e = 0; !r->written && e < r->count; e++)
            for (uint32_t k = 0; k < w->count; k++)
                if (overlaps(&d->slots[i][e], &d->slots[written][k]))
                    return true;
    }
    return false;
}

/* What the kernel said that it only reads (matrix/share.c) no other buffer that it is given says
 * that it writes. */
static bool leaves_what_it_reads(const CpuDispatch *d)
{
    enum { FEW = 16 }; /* of an array: more are not looked at */
    if (!d->slots)
        return false;
    for (uint32_t i = 0; i < d->kernel->n_slots; i++) {
        const CpuSlot *s = &d->kernel->slots[i];
        if (s->storage == SpvStorageClassUniformConstant || s->count > FEW || !d->slots[i] ||
            (d->counts && d->counts[i] < s->count))
            return false;
    }
    for (uint32_t i = 0; i < d->kernel->n_slots; i++)
        if (d->kernel->slots[i].written && writes_what_it_reads(d, i))
            return false;
    return true;
}

/* Packed operands are kept, but for one row or column of workgroups, which has little to share, and
 * memory to fill for it. */
static void plan_panels(ExecPlan *p, const CpuDevice *device)
{
    uint64_t budget = (uint64_t)device->l2_bytes * device->tuning->panel_l2s;
    const CpuDispatch *d = p->dispatch;
    if (!p->kernel->panel_bytes && !p->kernel->puts_off)
        return;
    p->unwritten = leaves_what_it_reads(d);
    if (p->unwritten && p->kernel->panel_bytes && d->groups[0] > 1 && d->groups[1] > 1)
        p->panel_memory = panels_bytes(p->kernel, budget, &p->panels);
}

/* ---- the plan: sizes ----------------------------------------------------------------------- */

static bool bad(DiagSink *sink, const char *what)
{
    diag(sink, DIAG_ERROR, NULL, NULL, "%s", what);
    return false;
}

static bool plan_sizes(ExecPlan *p, DiagSink *sink)
{
    const CpuDispatch *d = p->dispatch;
    const CpuKernel *k = p->kernel;
    uint64_t invocations = 1, total = 1;
    for (int i = 0; i < 3; i++) {
        p->local_size[i] = k->local_size[i] ? k->local_size[i] : MAX(1, d->local_size[i]);
        if (__builtin_mul_overflow(invocations, (uint64_t)p->local_size[i], &invocations) ||
            invocations > UINT32_MAX)
            return bad(sink, "a workgroup has more than 2^32 - 1 invocations");
        if (__builtin_mul_overflow(total, (uint64_t)d->groups[i], &total) || total > INT64_MAX)
            return bad(sink, "a dispatch has more than 2^63 - 1 workgroups");
        if (d->base_group[i] > UINT32_MAX - d->groups[i])
            return bad(sink, "base workgroup and number of workgroups exceed 2^32 - 1");
    }
    if (k->max_invocations && invocations > k->max_invocations)
        return bad(sink, "the workgroup is too large for the kernel's operations over it");
    if (k->subgroup_size == 0)
        return bad(sink, "the kernel has no subgroup size");
    p->n_subgroups = (uint32_t)((invocations + k->subgroup_size - 1) / k->subgroup_size);
    if (__builtin_add_overflow(k->shared_bytes, d->local_bytes, &p->shared_bytes))
        return bad(sink, "more than 2^64 - 1 bytes of workgroup memory");
    return true;
}

/* ---- printf -------------------------------------------------------------------------------- */

/* Makes one call for each lane. */
static void print_lanes(CpuEnv *env, uint64_t format, const uint64_t *args, uint32_t n,
                        const uint64_t *lane_mask)
{
    enum { MAX_WORDS = 256 };
    const ExecPlan *p = pool_plan(env);
    uint32_t width = p->kernel->subgroup_size;
    uint64_t words[MAX_WORDS];
    n = MIN(n, MAX_WORDS);
    void *guard = fault_unguard(); /* the caller's function prints, so its faults are not ours */
    pthread_mutex_lock(p->print_lock);
    for (uint32_t lane = 0; lane < width; lane++) {
        if (!(lane_mask[lane / 64] >> lane % 64 & 1))
            continue;
        for (uint32_t k = 0; k < n; k++)
            words[k] = args[(uint64_t)k * width + lane];
        p->dispatch->print(p->dispatch->user, (const char *)(uintptr_t)format, words, n);
    }
    pthread_mutex_unlock(p->print_lock);
    fault_reguard(guard);
}

/* ---- the queue ----------------------------------------------------------------------------- */

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins for a short while, until *value differs from `seen`. */
static void spin_while(atomic_uint *value, unsigned seen, uint64_t ns)
{
    uint64_t end = clock_ns() + ns;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(value, memory_order_acquire) != seen)
                return;
            relax();
        }
    } while (clock_ns() < end);
}

/* Joins the job with the fewest helpers among those that have room for one. NULL: there is none. */
static Job *join_job(CpuDevice *d)
{
    for (;;) {
        Job *best = NULL;
        unsigned state = 0;
        for (uint64_t open = atomic_load(&d->open); open; open &= open - 1) {
            Job *j = &d->jobs[__builtin_ctzll(open)];
            unsigned s = atomic_load_explicit(&j->state, memory_order_relaxed);
            if ((s & ROOM) && (!best || (s & HELPERS) < (state & HELPERS))) {
                best = j;
                state = s;
            }
        }
        if (!best ||
            atomic_compare_exchange_strong(&best->state, &state, state - ROOM_FOR_ONE + HELPER))
            return best;
    }
}

/* Nobody joins any more: no block is left, or no memory for helpers. Called by the job's caller and
 * its helpers, most of which find it closed and only look. */
static void close_job(CpuDevice *d, Job *j)
{
    uint64_t bit = UINT64_C(1) << (j - d->jobs);
    if (atomic_load(&j->state) & ROOM)
        atomic_fetch_and(&j->state, ~ROOM);
    if (atomic_load(&d->open) & bit)
        atomic_fetch_and(&d->open, ~bit);
}

/* The job may be another dispatch's as soon as this was the last helper. */
static void leave_job(CpuDevice *d, Job *j)
{
    close_job(d, j);
    if (atomic_fetch_sub(&j->state, HELPER) != (WAITED_FOR | HELPER))
        return;
    pthread_mutex_lock(&d->lock);
    pthread_cond_broadcast(&d->done);
    pthread_mutex_unlock(&d->lock);
}

/* What a thread counted, to the dispatch's sums and the kernel's rows. Under the lock, where other
 * threads may do so too. */
static void add_counts(const ExecPool *pool, const ExecPlan *p)
{
    uint64_t *sums = p->dispatch->stats, *rows = p->dispatch->rows;
    for (uint32_t i = 0; sums && i < DEVICE_N_STATS; i++)
        sums[i] += pool->stats[i];
    for (uint32_t k = 0; k < p->kernel->n_counts; k++) {
        const CpuCount *c = &p->kernel->counts[k];
        uint64_t n = pool->stats[DEVICE_N_STATS + c->counter] * c->times;
        if (sums)
            sums[c->stat] += n;
        if (rows && c->row)
            rows[(uint64_t)(c->row - 1) * DEVICE_N_STATS + c->stat] += n;
    }
}

static void help(CpuDevice *d, Job *j, ExecPool *pool)
{
    DeviceFault fault = { .kind = DEVICE_FAULT_NONE };
    if (pool_prepare(pool, j->plan)) {
        pool_run(pool, j->plan, &j->next_block, &fault);
        if (fault.kind || j->plan->dispatch->stats || j->plan->dispatch->rows) {
            pthread_mutex_lock(&d->lock);
            if (fault.kind)
                j->fault = fault;
            add_counts(pool, j->plan);
            pthread_mutex_unlock(&d->lock);
        }
    }
    leave_job(d, j);
}

/* Who queues a job counts it and then looks who sleeps; who goes to sleep says so and then looks
 * whether a job was counted: one of the two sees the other. */
static void sleep_while(CpuDevice *d, unsigned seen)
{
    pthread_mutex_lock(&d->lock);
    atomic_fetch_add(&d->sleeping, 1);
    while (atomic_load(&d->epoch) == seen && !atomic_load(&d->stop))
        pthread_cond_wait(&d->work, &d->lock);
    atomic_fetch_sub(&d->sleeping, 1);
    pthread_mutex_unlock(&d->lock);
}

static void *worker_main(void *argument)
{
    CpuDevice *d = argument;
    ExecPool pool = { 0 };
    while (!atomic_load(&d->stop)) {
        unsigned seen = atomic_load(&d->epoch);
        Job *j = join_job(d);
        if (j) {
            help(d, j, &pool);
            continue;
        }
        spin_while(&d->epoch, seen, d->tuning->spin_ns);
        if (atomic_load(&d->epoch) == seen)
            sleep_while(d, seen);
    }
    pool_free(&pool);
    return NULL;
}

/* Workers that neither sleep nor help anyone. */
static uint32_t idle_workers(CpuDevice *d, uint32_t sleeping)
{
    uint32_t busy = sleeping;
    for (uint64_t taken = atomic_load(&d->taken); taken; taken &= taken - 1)
        busy += atomic_load(&d->jobs[__builtin_ctzll(taken)].state) & HELPERS;
    return d->n_workers - MIN(busy, d->n_workers);
}

/* NULL: all places are taken. */
static Job *take_job(CpuDevice *d)
{
    uint64_t taken = atomic_load(&d->taken);
    do
        if (taken == UINT64_MAX)
            return NULL;
    while (!atomic_compare_exchange_weak(&d->taken, &taken, taken | (taken + 1)));
    return &d->jobs[__builtin_ctzll(~taken)];
}

static void queue_job(CpuDevice *d, Job *j, const ExecPlan *p, uint32_t max_helpers)
{
    uint32_t useful = (uint32_t)MIN(max_helpers, p->n_blocks - 1);
    j->plan = p;
    j->fault = (DeviceFault){ .kind = DEVICE_FAULT_NONE };
    atomic_store(&j->next_block, 0);
    atomic_store(&j->state, useful * ROOM_FOR_ONE);
    atomic_fetch_or(&d->open, UINT64_C(1) << (j - d->jobs));
    atomic_fetch_add(&d->epoch, 1);
    uint32_t sleeping = atomic_load(&d->sleeping);
    uint32_t idle = sleeping ? idle_workers(d, sleeping) : 0;
    uint32_t wake = useful > idle ? MIN(useful - idle, sleeping) : 0;
    if (!wake)
        return;
    pthread_mutex_lock(&d->lock); /* who was about to sleep does so now */
    pthread_mutex_unlock(&d->lock);
    if (wake == sleeping)
        pthread_cond_broadcast(&d->work);
    else
        while (wake--)
            pthread_cond_signal(&d->work);
}

/* Keeps others from joining, waits for those who have, and gives the place back. */
static DeviceFault retire_job(CpuDevice *d, Job *j)
{
    close_job(d, j);
    uint64_t end = 0;
    while (atomic_load(&j->state) & HELPERS) {
        uint64_t now = clock_ns();
        end = end ? end : now + d->tuning->spin_ns;
        if (now >= end)
            break;
        relax();
    }
    if (atomic_load(&j->state) & HELPERS) {
        pthread_mutex_lock(&d->lock);
        while (atomic_fetch_or(&j->state, WAITED_FOR) & HELPERS)
            pthread_cond_wait(&d->done, &d->lock);
        pthread_mutex_unlock(&d->lock);
    }
    DeviceFault fault = j->fault;
    atomic_store(&j->state, 0);
    atomic_fetch_and(&d->taken, ~(UINT64_C(1) << (j - d->jobs)));
    return fault;
}

/* ---- dispatches ---------------------------------------------------------------------------- */

/* NULL: all are in use. */
static ExecPool *take_unused(CpuDevice *d)
{
    ExecPool *pool = atomic_exchange_explicit(&d->spare, NULL, memory_order_acquire);
    if (pool)
        return pool;
    pthread_mutex_lock(&d->lock);
    pool = d->pools;
    if (pool)
        d->pools = pool->next;
    pthread_mutex_unlock(&d->lock);
    return pool;
}

static ExecPool *take_pool(CpuDevice *d)
{
    ExecPool *pool = take_unused(d);
    return pool ? pool : calloc(1, sizeof *pool);
}

static void return_pool(CpuDevice *d, ExecPool *pool)
{
    pool = atomic_exchange_explicit(&d->spare, pool, memory_order_acq_rel);
    if (!pool)
        return;
    pthread_mutex_lock(&d->lock);
    pool->next = d->pools;
    d->pools = pool;
    pthread_mutex_unlock(&d->lock);
}

static void run_job(CpuDevice *d, const ExecPlan *p, ExecPool *pool, uint32_t threads,
                    CpuDispatch *out)
{
    DeviceFault own = { .kind = DEVICE_FAULT_NONE }, helper = own;
    atomic_uint_fast64_t blocks = 0; /* of a dispatch without helpers */
    Job *j = p->one_thread ? NULL : take_job(d);
    if (j)
        queue_job(d, j, p, threads - 1);
    pool_run(pool, p, j ? &j->next_block : &blocks, &own);
    if (j)
        helper = retire_job(d, j);
    /* The sums are this dispatch's, whose helpers have left; rows are all dispatches'. */
    if (out->rows)
        pthread_mutex_lock(&d->lock);
    add_counts(pool, p);
    if (out->rows)
        pthread_mutex_unlock(&d->lock);
    out->fault = own.kind ? own : helper;
}

static void say_endless(const DeviceFault *f, const CpuDispatch *d, DiagSink *sink)
{
    DiagLoc loc = cpu_lines_loc(d->kernel->lines, (uintptr_t)f->place);
    double limit = 1e-9 * (double)d->watchdog_ns;
    diag(sink, DIAG_ERROR, &loc, "endless-loop",
         "still running after %.3g s in one subgroup: an endless loop? (--watchdog 0 lets it run)",
         limit);
    if (f->from_line < f->to_line)
        diag(sink, DIAG_NOTE, &loc, NULL, "for %.3g s it has been in lines %u to %u", limit / 2,
             f->from_line, f->to_line);
}

/* Says what happened, with the line where the kernel has lines. */
static bool no_fault(const CpuDispatch *d, DiagSink *sink)
{
    static const char *const does[] = {
        [DEVICE_FAULT_READ] = "the kernel reads memory that the program does not have",
        [DEVICE_FAULT_WRITE] = "the kernel writes memory that the program does not have",
        [DEVICE_FAULT_ACCESS] = "the kernel reads or writes memory that the program does not have",
        [DEVICE_FAULT_NO_ADDRESS] = "the kernel uses a pointer that is no address",
        [DEVICE_FAULT_ARITHMETIC] = "the kernel divides an integer by zero",
        [DEVICE_FAULT_INSTRUCTION] =
            "the kernel comes to where no instruction is: its behaviour is undefined",
    };
    const DeviceFault *f = &d->fault;
    if (f->kind == DEVICE_FAULT_NONE)
        return true;
    DiagLoc loc = cpu_lines_loc(d->kernel->lines, (uintptr_t)f->place);
    if (f->kind == DEVICE_FAULT_ENDLESS)
        say_endless(f, d, sink);
    else if (f->address)
        diag(sink, DIAG_ERROR, &loc, NULL, "%s: 0x%llx", does[f->kind],
             (unsigned long long)f->address);
    else
        diag(sink, DIAG_ERROR, &loc, NULL, "%s", does[f->kind]);
    return false;
}

bool cpu_dispatch(CpuDevice *d, CpuDispatch *dispatch, DiagSink *sink)
{
    ExecPlan plan = { .dispatch = dispatch,
                      .kernel = dispatch->kernel,
                      .print_lock = &d->print_lock,
                      .watched =
                          dispatch->kernel->lines && (dispatch->sample_ns || dispatch->watchdog_ns),
                      .print = dispatch->print ? print_lanes : NULL };
    if (!plan_sizes(&plan, sink))
        return false;
    if (!dispatch->groups[0] || !dispatch->groups[1] || !dispatch->groups[2])
        return true;
    uint32_t threads = d->n_workers + 1;
    if (dispatch->max_threads)
        threads = MIN(threads, dispatch->max_threads);
    plan_panels(&plan, d);
    plan_blocks(&plan, d, threads);
    bool lately = used_lately(d, dispatch);
    plan.beyond_l2 |= !lately;
    plan.coarse = plan.coarse && !one_by_one(d, dispatch, lately);
    plan.one_thread = threads == 1 || plan.n_blocks == 1;
    ExecPool *pool = take_pool(d);
    if (!pool)
        return bad(sink, "out of memory");
    bool ok = pool_prepare(pool, &plan);
    if (ok)
        run_job(d, &plan, pool, threads, dispatch);
    if (!ok)
        diag(sink, DIAG_ERROR, NULL, NULL,
             "out of memory for a workgroup of %u subgroups: %llu bytes of frame and %u of stack "
             "for each, %llu of workgroup memory",
             plan.n_subgroups, (unsigned long long)plan.kernel->frame_bytes,
             plan.kernel->stack_bytes, (unsigned long long)plan.shared_bytes);
    return_pool(d, pool);
    return ok && no_fault(dispatch, sink);
}

/* ---- devices ------------------------------------------------------------------------------- */

static uint32_t cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

/* Workers that are woken, or count, take the lock all at once, for some instructions each: who
 * finds it taken spins before it sleeps. */
static void lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
#if defined(__GLIBC__)
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

CpuDevice *cpu_device_new(uint32_t threads, bool faults, DiagSink *sink)
{
    uint32_t n = MIN(threads ? threads : cores(), 4096) - 1;
    CpuDevice *d = aligned_alloc(_Alignof(CpuDevice), sizeof *d);
    pthread_t *workers = calloc(MAX(1, n), sizeof *workers);
    if (!d || !workers) {
        free(d);
        free(workers);
        bad(sink, "out of memory");
        return NULL;
    }
    memset(d, 0, sizeof *d);
    d->workers = workers;
    lock_init(&d->lock);
    pthread_mutex_init(&d->print_lock, NULL);
    pthread_cond_init(&d->work, NULL);
    pthread_cond_init(&d->done, NULL);
    d->tuning = cpu_host_tuning();
    d->l2_bytes = cpu_host_l2_bytes(d->tuning);
    d->faults = faults;
    if (faults)
        fault_catch();
    for (; d->n_workers < n; d->n_workers++) {
        int error = thread_start(&d->workers[d->n_workers], NULL, "heddle worker", worker_main, d);
        if (error) {
            diag(sink, DIAG_ERROR, NULL, NULL, "thread %u of %u cannot be started: %s",
                 d->n_workers + 2, n + 1, strerror(error));
            cpu_device_free(d);
            return NULL;
        }
    }
    return d;
}

void cpu_device_free(CpuDevice *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    atomic_store(&d->stop, true);
    atomic_fetch_add(&d->epoch, 1);
    pthread_cond_broadcast(&d->work);
    pthread_mutex_unlock(&d->lock);
    for (uint32_t i = 0; i < d->n_workers; i++)
        pthread_join(d->workers[i], NULL);
    for (ExecPool *pool; (pool = take_unused(d));) {
        pool_free(pool);
        free(pool);
    }
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->print_lock);
    pthread_cond_destroy(&d->work);
    pthread_cond_destroy(&d->done);
    if (d->faults)
        fault_catch_no_more();
    free(d->workers);
    free(d);
}

uint32_t cpu_device_threads(const CpuDevice *d) { return d->n_workers + 1; }
