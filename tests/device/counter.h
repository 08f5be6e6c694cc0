/* SPDX-License-Identifier: MIT
 *
 * A small device: it runs nothing, and adds up the instructions of the kernel's module, times the
 * workgroups of the dispatch, in its first buffer. But it has what cpu has not: memory that the
 * program cannot see, queues of its own, a clock, and matrices that lie by columns.
 */
#ifndef HEDDLE_TESTS_COUNTER_H
#define HEDDLE_TESTS_COUNTER_H

#include <pthread.h>
#include <stdlib.h>

#include "device/device.h"

enum { COUNTER_MEMORY = 1 << 16, COUNTER_TICK = 1000 };
#define COUNTER_BASE (UINT64_C(1) << 40)    /* its first address, which is none of the program's */

/* What was submitted to its queues, which are all one, and is done when somebody waits. */
typedef struct Counted { struct Counted *next; DeviceDispatch *x; DiagSink *sink; } Counted;

typedef struct Counter {
    DeviceBase base;
    pthread_mutex_t lock;           /* of what follows */
    uint64_t used, clock;
    Counted *first, **last;
    char memory[COUNTER_MEMORY];
} Counter;

typedef struct CounterKernel { DeviceKernel base; uint64_t instructions; } CounterKernel;

static const DeviceOps counter_ops;

static const uint32_t counter_sizes[] = { 4, 8 };
static uint32_t counter_count(void) { return 2; }
static HeddleResult counter_open(const DeviceOptions *o, DeviceBase **out, DiagSink *sink)
{
    Counter *c = calloc(1, sizeof *c);
    *out = (DeviceBase *)c;
    if (!c)
        return diag(sink, DIAG_ERROR, NULL, NULL, "out of memory"), HEDDLE_ERROR_MEMORY;
    pthread_mutex_init(&c->lock, NULL);
    c->last = &c->first;
    c->base.ops = &counter_ops;
    c->base.info = (DeviceInfo){ .name = o->ordinal ? "the second counter" : "the first counter",
                                 .target = "", .subgroup_sizes = counter_sizes,
                                 .n_subgroup_sizes = 2, .default_subgroup_size = 4 };
    return HEDDLE_OK;
}

static void counter_close(DeviceBase *d)
{
    pthread_mutex_destroy(&((Counter *)d)->lock);
    free(d);
}

/* Memory: given out once, never used again. */
static bool counter_alloc(DeviceBase *d, uint64_t size, HeddlePlacement placement,
                          DeviceMemory *out)
{
    Counter *c = (Counter *)d;
    pthread_mutex_lock(&c->lock);
    bool good = size <= COUNTER_MEMORY - c->used;
    if (good) {
        char *host = placement == HEDDLE_PLACEMENT_HOST ? c->memory + c->used : NULL;
        *out = (DeviceMemory){ .address = COUNTER_BASE + c->used, .size = size, .host = host };
        c->used = align_up(c->used + size, 64);
    }
    pthread_mutex_unlock(&c->lock);
    return good;
}

static void counter_free(DeviceBase *d, DeviceMemory *m) { (void)d, (void)m; }

static char *counter_at(DeviceBase *d, uint64_t address)
{
    return ((Counter *)d)->memory + (address - COUNTER_BASE);
}

static HeddleResult counter_read(DeviceBase *d, const DeviceMemory *m, uint64_t offset, void *to,
                                 uint64_t size, DiagSink *sink)
{
    return (void)sink, memcpy(to, counter_at(d, m->address) + offset, size), HEDDLE_OK;
}

static HeddleResult counter_write(DeviceBase *d, const DeviceMemory *m, uint64_t offset,
                                  const void *from, uint64_t size, DiagSink *sink)
{
    return (void)sink, memcpy(counter_at(d, m->address) + offset, from, size), HEDDLE_OK;
}

static bool counter_count_one(void *user, SpvInst *i)
{
    *(uint64_t *)user += i->op != SpvOpNop;
    return true;
}

static HeddleResult counter_compile(DeviceBase *d, const DeviceCompile *how, Arena *arena,
                                    DeviceKernel **out, DiagSink *sink)
{
    if (how->emit) {
        diag(sink, DIAG_ERROR, NULL, NULL, "the counter device makes nothing that could be kept");
        return HEDDLE_ERROR_UNSUPPORTED;
    }
    CounterKernel *k = NEW(arena, CounterKernel);
    k->base = (DeviceKernel){ .device = d, .slots = how->slots, .n_slots = how->n_slots,
                              .push_bytes = how->push_bytes,
                              .subgroup_size = d->info.default_subgroup_size };
    memcpy(k->base.local_size, how->local_size, sizeof k->base.local_size);
    spv_each_inst(how->module, counter_count_one, &k->instructions);
    *out = &k->base;
    return HEDDLE_OK;
}

static void counter_release(DeviceKernel *k) { (void)k; }

/* Under the lock. */
static HeddleResult counter_run(Counter *c, DeviceDispatch *x, DiagSink *sink)
{
    const DeviceBinding *b = x->kernel->n_slots ? &x->slots[0][0] : NULL;
    if (!b || b->size < sizeof(uint64_t)) {
        x->fault = (DeviceFault){ .kind = DEVICE_FAULT_WRITE,
                                  .address = b ? (uintptr_t)b->base + b->size : 0 };
        diag(sink, DIAG_ERROR, NULL, NULL, "there is no room for the count");
        return HEDDLE_ERROR_RUN;
    }
    uint64_t groups = (uint64_t)x->groups[0] * x->groups[1] * x->groups[2], sum;
    memcpy(&sum, counter_at(&c->base, (uintptr_t)b->base), sizeof sum);
    sum += groups * ((const CounterKernel *)x->kernel)->instructions;
    memcpy(counter_at(&c->base, (uintptr_t)b->base), &sum, sizeof sum);
    x->start_ns = c->clock;
    x->end_ns = c->clock += COUNTER_TICK;
    return HEDDLE_OK;
}

static HeddleResult counter_dispatch(DeviceBase *d, DeviceDispatch *x, Arena *scratch,
                                     DiagSink *sink)
{
    Counter *c = (Counter *)d;
    (void)scratch;
    pthread_mutex_lock(&c->lock);
    HeddleResult r = counter_run(c, x, sink);
    pthread_mutex_unlock(&c->lock);
    return r;
}

static HeddleResult counter_queue_open(DeviceBase *d, void **out, DiagSink *sink)
{
    return (void)sink, *out = d, HEDDLE_OK;
}

static void counter_queue_close(DeviceBase *d, void *queue) { (void)d, (void)queue; }

static HeddleResult counter_submit(DeviceBase *d, void *queue, DeviceDispatch *x, Arena *scratch,
                                   DiagSink *sink)
{
    Counter *c = queue;
    Counted *one = NEW(scratch, Counted);
    (void)d;
    *one = (Counted){ NULL, x, sink };
    pthread_mutex_lock(&c->lock);
    *c->last = one;
    c->last = &one->next;
    pthread_mutex_unlock(&c->lock);
    return HEDDLE_OK;
}

static void counter_wait(DeviceBase *d, void *queue)
{
    Counter *c = queue;
    (void)d;
    pthread_mutex_lock(&c->lock);
    for (Counted *one = c->first; one; one = one->next)
        one->x->result = counter_run(c, one->x, one->sink);
    c->first = NULL;
    c->last = &c->first;
    pthread_mutex_unlock(&c->lock);
}

static bool counter_position(const DeviceBase *d, const HeddleMatrixLayout *m, uint32_t lane,
                             uint32_t element, uint32_t *row, uint32_t *column)
{
    uint64_t linear = (uint64_t)element * m->subgroup_size + lane;
    (void)d;
    if (linear >= (uint64_t)m->rows * m->columns)
        return false;
    *row = (uint32_t)(linear % m->rows);
    *column = (uint32_t)(linear / m->rows);
    return true;
}

static const DeviceOps counter_ops = {
    .name = "counter", .count = counter_count, .open = counter_open, .close = counter_close,
    .alloc = counter_alloc, .free = counter_free, .read = counter_read, .write = counter_write,
    .compile = counter_compile, .release = counter_release, .dispatch = counter_dispatch,
    .queue_open = counter_queue_open, .queue_close = counter_queue_close,
    .submit = counter_submit, .wait = counter_wait, .matrix_position = counter_position,
};

#endif
