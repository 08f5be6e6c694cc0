/* SPDX-License-Identifier: MIT
 *
 * exec: the two halves of running a dispatch. exec.c decides (Plan), keeps the worker threads and
 * hands out blocks of workgroups; workgroup.c runs them on one thread with that thread's memory
 * (Pool).
 */
#ifndef HEDDLE_CPU_RUN_EXEC_H
#define HEDDLE_CPU_RUN_EXEC_H

#include "cpu/machine/machine.h"
#include "cpu/run/run.h"
#include "cpu/run/fiber.h"

#include <stdatomic.h>

/* How a dispatch is run: the same for all threads, and not changed once made. */
typedef struct ExecPlan {
    const CpuDispatch *dispatch;
    const CpuKernel *kernel;
    uint32_t local_size[3], n_subgroups;
    uint64_t shared_bytes;
    bool fibers;       /* one fiber for each subgroup; false: subgroups run one after the other */
    bool phases;       /* without fibers: each to its next barrier, where it returns */
    bool own_stack;    /* without fibers, but with more stack than every thread is sure to have */
    uint32_t together; /* workgroups in flight on a thread; 1 without fibers */
    uint32_t yield_every, prefetch, beyond_l2, unwritten; /* CpuEnv's */
    uint32_t panels;       /* packed operands that a thread keeps; 0: none */
    uint64_t panel_memory; /* bytes of them all */
    /* without fibers: one subgroup runs for all workgroups of a row before the next subgroup
     * does */
    bool along_rows;
    bool coarse;     /* without fibers: calls may do several workgroups of a row */
    bool one_thread; /* runs all of it */
    /* of the blocks that are left a thread takes one in so many at once, a stream that its own
     * caches prefetch; 0: one at a time */
    uint32_t portions;
    uint32_t block[2];  /* workgroups in a block */
    uint32_t blocks[2]; /* blocks of the grid in x and y */
    uint32_t panel;     /* blocks in a panel's width */
    uint64_t n_blocks;  /* over x, y and z */
    void (*print)(CpuEnv *env, uint64_t format, const uint64_t *args, uint32_t n,
                  const uint64_t *lane_mask);
    void *print_lock; /* pthread_mutex_t */
    bool watched;     /* by watch.h */
} ExecPlan;

/* The workgroups of a block: a rectangle with one z. */
typedef struct ExecBlock {
    uint32_t first[3], size[2];
} ExecBlock;
ExecBlock plan_block(const ExecPlan *p, uint64_t number);

typedef struct ExecMemory {
    char *data;
    size_t size;
} ExecMemory;
typedef struct ExecStrand ExecStrand;

/* ---- panels.c -------------------------------------------------------------------------------- */

/* Packed operands that one thread keeps during a dispatch. */
typedef struct ExecPanels {
    char *data;
    uint32_t *first; /* by hash: 1 + number of the first place with it */
    uint64_t stride, head;
    uint32_t n; /* places, a power of two */
    uint32_t used;
} ExecPanels;
/* How many a budget has room for, and bytes of memory that they take with their table. */
uint64_t panels_bytes(const CpuKernel *k, uint64_t budget, uint32_t *places);
void panels_clear(ExecPanels *p, char *data, const CpuKernel *k, uint32_t n);
void panels_restart(ExecPanels *p); /* forgets all: the memory that is in the caches comes first */
void *panels_find(ExecPanels *p, const uint64_t *key, uint32_t words, uint32_t kind, bool *packed);

/* ---- workgroup.c ----------------------------------------------------------------------------- */

/* What a thread runs workgroups with; kept between dispatches. Valid when zero-initialised. */
typedef struct ExecPool {
    ExecStrand **strands; /* subgroups in flight */
    uint32_t n_strands;
    size_t stack_bytes; /* of every strand's fiber; 0 before the first is made */
    ExecMemory frames, kept, shared, scratch, panel_memory, counters;
    ExecPanels panels;
    uint64_t block, blocks_end; /* of the blocks that the thread has taken */
    struct ExecGroup *groups;   /* workgroups in flight */
    uint32_t n_groups;
    Fiber home;                     /* the thread's own stack */
    ExecStrand *ready, *last_ready; /* queue of subgroups that can go on */
    uint64_t *stats;                /* in `counters`: CpuEnv.stats */
    struct ExecPool *next;          /* in the device's list of unused ones */
} ExecPool;

/* Makes the pool large enough. False: out of memory (it keeps what it had). */
bool pool_prepare(ExecPool *pool, const ExecPlan *p);
/* Takes blocks from the counter and runs them until none is left. False, with *fault filled in, if
 * the kernel did something that the machine refuses; nobody takes further blocks then. */
bool pool_run(ExecPool *pool, const ExecPlan *p, atomic_uint_fast64_t *next_block,
              DeviceFault *fault);
void pool_free(ExecPool *pool);
const ExecPlan *pool_plan(const CpuEnv *env); /* the plan that a kernel's environment belongs to */

#endif
