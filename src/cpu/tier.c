/* SPDX-License-Identifier: MIT
 *
 * Compiling in the background (contract in tier.h).
 *
 * A kernel that has run for as long as its first tier took to compile is likely to run for longer,
 * so it is queued then. One that leaves the workgroup's size open (OpenCL's) is compiled for the
 * size that it ran with, and again for others that it runs with for as long. Whoever frees a kernel
 * does not wait: a compilation that is under way gets the kernel's inputs as its own, and is told
 * that its result is not wanted.
 *
 * The C library runs LLVM's destructors when the process ends, whether somebody compiles or not, so
 * the threads of all devices are ended before that.
 */
#include "cpu/tier.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/thread.h"

typedef enum Stage { FIRST, QUEUED, COMPILING, LEFT, DONE } Stage;

enum { MOST_CODES = 4 }; /* sizes of workgroups */

struct CpuTiered {
    CpuTiers *tiers;
    CpuInputs inputs; /* until it is compiled for the last time */
    const CpuKernel *first;
    uint64_t patience_ns;
    atomic_uint_fast64_t ns; /* that it has run, since it was compiled last */
    Stage stage;             /* under tiers->lock; LEFT: the kernel is gone, this is the thread's */
    CpuTiered *next;         /* in the queue */
    atomic_bool unwanted;
    _Atomic(CpuKernel *) full[MOST_CODES]; /* up to the first NULL */
};

struct CpuTiers {
    const CpuTarget *target;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started, stop;
    pid_t process;       /* that it was started in: a fork has no such thread */
    uint32_t references; /* the device's, and one for each kernel */
    CpuTiered *queue, *compiling;
    CpuTiers *next; /* of all */
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static CpuTiers *all;

static void free_tiered(CpuTiered *k)
{
    for (uint32_t n = 0; n < MOST_CODES; n++)
        cpu_kernel_free(atomic_load(&k->full[n]));
    arena_free(&k->inputs.arena);
    free(k);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Descriptors are bound, and memory is given, by what the first tier says. */
static bool fits(const CpuKernel *full, const CpuKernel *first)
{
    return full && full->n_slots == first->n_slots && full->push_bytes == first->push_bytes &&
           full->shared_bytes <= first->shared_bytes &&
           (full->merges || full->subgroup_size == first->subgroup_size) &&
           !memcmp(full->slots, first->slots, first->n_slots * sizeof *first->slots);
}

static bool is_open(const CpuKernel *k) { return !k->local_size[0]; }

/* Under the lock. The kernel keeps its first tier if this is none that fits. */
static void hand_over(CpuTiered *k, CpuKernel *full)
{
    bool good = k->stage == COMPILING && fits(full, k->first);
    uint32_t n = 0;
    while (atomic_load(&k->full[n]))
        n++;
    if (good)
        atomic_store(&k->full[n], full);
    else
        cpu_kernel_free(full);
    if (k->stage == LEFT) {
        free_tiered(k);
        return;
    }
    atomic_store(&k->ns, 0);
    k->stage = good && n + 1 < MOST_CODES && is_open(k->first) ? FIRST : DONE;
    if (k->stage == DONE)
        arena_free(&k->inputs.arena);
}

/* Dispatches, which the program waits for, come first; on Linux, id 0 is the thread. With all cores
 * busy it still gets a quarter of one (sched(7)). Less would only delay the better code: with a
 * tenth, llama.cpp's products of f16, 4 s to compile, ran the first for a minute on two cores. */
static void give_way(void) { setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 5); }

/* NULL: it cannot be, and the kernel stays what it is. */
static CpuKernel *compile_better(const CpuTiered *k)
{
    DiagSink nobody = { 0 };
    const CpuInputs *in = &k->inputs;
    return cpu_compile(in->source, k->tiers->target, &in->passes, &in->options, &nobody);
}

static void *compile_queued(void *user)
{
    CpuTiers *t = user;
    give_way();
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        CpuTiered *k = t->queue;
        if (!k) {
            pthread_cond_wait(&t->changed, &t->lock);
            continue;
        }
        t->queue = k->next;
        t->compiling = k;
        k->stage = COMPILING;
        pthread_mutex_unlock(&t->lock);
        CpuKernel *full = compile_better(k);
        pthread_mutex_lock(&t->lock);
        t->compiling = NULL;
        hand_over(k, full);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Ends the thread; nothing is compiled afterwards. */
static void stop(CpuTiers *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    if (t->compiling)
        atomic_store(&t->compiling->unwanted, true);
    bool join = t->started && t->process == getpid();
    t->started = false;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    if (join)
        pthread_join(t->thread, NULL);
}

static void stop_all(void)
{
    pthread_mutex_lock(&all_lock);
    for (CpuTiers *t = all; t; t = t->next)
        stop(t);
    pthread_mutex_unlock(&all_lock);
}

/* After LLVM's own destructors have been registered, so that it runs before them. */
static void stop_at_exit(void) { atexit(stop_all); }

/* Under the lock. False: no thread is to be had, and kernels stay what they are. */
static bool start(CpuTiers *t)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!t->started && !t->stop) {
        pthread_once(&once, stop_at_exit);
        t->process = getpid();
        t->started = thread_start(&t->thread, NULL, "heddle tier", compile_queued, t) == 0;
    }
    return t->started;
}

/* ---- a device -------------------------------------------------------------------------------- */

CpuTiers *cpu_tiers_new(const CpuTarget *target)
{
    CpuTiers *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->target = target;
    t->references = 1;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    pthread_mutex_lock(&all_lock);
    t->next = all;
    all = t;
    pthread_mutex_unlock(&all_lock);
    return t;
}

/* Under the lock, which it gives up. */
static void let_go(CpuTiers *t)
{
    bool last = --t->references == 0;
    pthread_mutex_unlock(&t->lock);
    if (!last)
        return;
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void cpu_tiers_free(CpuTiers *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&all_lock);
    CpuTiers **at = &all;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    pthread_mutex_unlock(&all_lock);
    stop(t);
    pthread_mutex_lock(&t->lock);
    let_go(t);
}

/* ---- a kernel -------------------------------------------------------------------------------- */

CpuTiered *cpu_tiered_new(CpuTiers *t, const SpvModule *source, const PassOptions *passes,
                          const CpuOptions *options, const CpuKernel *first)
{
    CpuTiered *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->tiers = t;
    k->first = first;
    k->patience_ns = (uint64_t)(first->seconds_llvm * 1e9);
    if (!cpu_inputs_keep(&k->inputs, source, passes, options)) {
        free_tiered(k);
        return NULL;
    }
    k->inputs.options.tier = CPU_TIER_FULL;
    k->inputs.options.unwanted = &k->unwanted;
    k->inputs.options.merge = first->may_merge && !first->fast;
    k->inputs.options.subgroup_size = k->inputs.options.merge ? 0 : first->subgroup_size;
    pthread_mutex_lock(&t->lock);
    t->references++;
    pthread_mutex_unlock(&t->lock);
    return k;
}

void cpu_tiered_free(CpuTiered *k)
{
    if (!k)
        return;
    CpuTiers *t = k->tiers;
    pthread_mutex_lock(&t->lock);
    CpuTiered **at = &t->queue;
    while (*at && *at != k)
        at = &(*at)->next;
    if (*at)
        *at = k->next;
    if (k->stage == COMPILING) {
        k->stage = LEFT;
        atomic_store(&k->unwanted, true);
    } else {
        free_tiered(k);
    }
    let_go(t);
}

bool cpu_tiered_helps(const CpuKernel *code)
{
    return code->fast || is_open(code) || code->may_merge;
}

void cpu_tiered_compile(CpuTiered *k)
{
    CpuTiers *t = k->tiers;
    pthread_mutex_lock(&t->lock);
    k->stage = COMPILING;
    pthread_mutex_unlock(&t->lock);
    CpuKernel *full = compile_better(k);
    pthread_mutex_lock(&t->lock);
    hand_over(k, full);
    pthread_mutex_unlock(&t->lock);
}

const CpuKernel *cpu_tiered_code(const CpuTiered *k, const uint32_t local_size[3])
{
    for (uint32_t n = 0; k && n < MOST_CODES; n++) {
        const CpuKernel *full = atomic_load(&k->full[n]);
        bool any = full && (is_open(full) || !is_open(k->first));
        if (!full || any ||
            (local_size && !memcmp(full->local_size, local_size, 3 * sizeof *local_size)))
            return full;
    }
    return NULL;
}

/* Under the lock. The last code of a kernel that began fast is for all other sizes. */
static void choose_size(CpuTiered *k, const uint32_t local_size[3])
{
    bool last = atomic_load(&k->full[MOST_CODES - 2]);
    for (uint32_t axis = 0; axis < 3 && is_open(k->first); axis++)
        k->inputs.options.local_size[axis] = last && k->first->fast ? 0 : local_size[axis];
}

void cpu_tiered_ran(CpuTiered *k, const uint32_t local_size[3], uint64_t ns)
{
    if (!k || cpu_tiered_code(k, local_size) || atomic_fetch_add(&k->ns, ns) + ns < k->patience_ns)
        return;
    CpuTiers *t = k->tiers;
    pthread_mutex_lock(&t->lock);
    if (k->stage == FIRST && !cpu_tiered_code(k, local_size) && start(t)) {
        CpuTiered **at = &t->queue;
        while (*at)
            at = &(*at)->next;
        k->next = NULL;
        *at = k;
        choose_size(k, local_size);
        k->stage = QUEUED;
        pthread_cond_signal(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
}
