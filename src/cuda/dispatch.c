/* SPDX-License-Identifier: MIT
 *
 * A dispatch onto a stream: mirrors to the GPU, then launches. What comes behind is queue.c's.
 */
#include "cuda/internal.h"

#include <stdlib.h>

enum { MOST_GROUPS = 65535 }; /* of a launch, in y and z */

struct CudaLaunch {
    CudaJob job;
    Cuda *c;
    NvptxEnv *env; /* with the push constants behind it */
    uint64_t local_bytes;
};

CudaJob *cuda_job_of(CudaLaunch *l) { return &l->job; }

static bool good(CudaLaunch *l, CuResult result, const char *what)
{
    return cuda_good(l->c, result, what, l->job.sink);
}

/* ---- what the kernel is bound to ------------------------------------------------------------- */

static bool in_tables(const CudaKernel *k, uint32_t slot)
{
    return slot >= NVPTX_OWN_SLOTS || k->slots[slot].count != 1;
}

/* By slot the address of its descriptors, then how many there are, then these. */
static bool fill_tables(CudaLaunch *l)
{
    const DeviceDispatch *x = l->job.x;
    uint32_t n = l->job.kernel->base.n_slots;
    uint64_t words = 2 * (uint64_t)n;
    bool some = false;
    for (uint32_t s = 0; s < n; s++) {
        some |= in_tables(l->job.kernel, s);
        words += 2 * (uint64_t)x->counts[s];
    }
    if (!some || l->job.kernel->arguments)
        return true;
    CudaBlock *b = l->job.tables = cuda_take_block(l->c, words * 8, l->job.sink);
    if (!b)
        return false;
    uint64_t next = 2 * (uint64_t)n;
    uint32_t *counts = (uint32_t *)(b->words + n);
    for (uint32_t s = 0; s < n; s++) {
        b->words[s] = b->address + next * 8;
        counts[s] = x->counts[s];
        memcpy(b->words + next, x->slots[s], x->counts[s] * sizeof(NvptxDescriptor));
        next += 2 * (uint64_t)x->counts[s];
    }
    l->env->slots = b->address;
    l->env->counts = b->address + 8 * (uint64_t)n;
    return true;
}

CudaLaunch *cuda_new_launch(Cuda *c, DeviceDispatch *x, Arena *scratch, DiagSink *sink)
{
    _Static_assert(sizeof(DeviceBinding) == sizeof(NvptxDescriptor), "a descriptor");
    const CudaKernel *k = (const CudaKernel *)x->kernel;
    CudaLaunch *l = NEW(scratch, CudaLaunch);
    NvptxEnv *e = arena_alloc(scratch, k->code->parameter_bytes + 16);
    *l = (CudaLaunch){ .job = { .kernel = k, .x = x, .sink = sink }, .c = c, .env = e };
    char *push = (char *)(e + 1);
    if (k->arguments) {
        const void *block =
            device_arguments(x, k->arguments, k->code->shared_bytes, scratch, &l->local_bytes);
        memcpy(push, block, MIN(k->arguments->size, k->code->push_bytes));
    } else {
        if (k->code->push_bytes)
            memcpy(push, x->push, k->code->push_bytes);
        for (uint32_t s = 0; s < k->base.n_slots; s++)
            if (!in_tables(k, s))
                memcpy(&e->own[s], x->slots[s], sizeof e->own[s]);
    }
    e->shared_bytes = k->code->shared_bytes + l->local_bytes;
    e->work_dim = device_work_dim(x);
    memcpy(e->n_groups, x->groups, sizeof e->n_groups);
    memcpy(e->enqueued_size, x->local_size, sizeof e->enqueued_size);
    memcpy(e->global_size, x->global_size, sizeof e->global_size);
    memcpy(e->global_offset, x->global_offset, sizeof e->global_offset);
    return l;
}

/* ---- mirrors --------------------------------------------------------------------------------- */

static bool more_room(CudaLaunch *l, CudaQueue *q)
{
    uint32_t room = MAX(2 * q->room, 16);
    CudaHeld *held = q->n_held < q->room ? q->held : realloc(q->held, room * sizeof *held);
    if (!held) {
        diag(l->job.sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return false;
    }
    q->room = held == q->held && q->n_held < q->room ? q->room : room;
    q->held = held;
    return true;
}

/* What the queue's dispatches use already is not the program's to change meanwhile, so that it is
 * copied once for all of them. */
static bool hold(CudaLaunch *l, CudaQueue *q, CudaMirror *m, bool written)
{
    for (uint32_t k = 0; k < q->n_held; k++) {
        if (q->held[k].mirror != m)
            continue;
        q->held[k].written |= written;
        return true;
    }
    if (!more_room(l, q))
        return false;
    /* the driver waits for the stream before it copies more than it keeps */
    if (q->first && !m->registered && m->size > CUDA_STAGED && !cuda_settle(l->c, q, l->job.sink))
        return false;
    q->held[q->n_held++] = (CudaHeld){ m, written };
    l->job.x->stats[DEVICE_STAT_BYTES_COPIED] += m->size;
    return good(l, l->c->driver->cuMemcpyHtoDAsync_v2(m->address, m->host, m->size, q->stream),
                "copying the program's memory");
}

static bool hold_all(CudaLaunch *l, CudaQueue *q)
{
    bool fine = true;
    pthread_mutex_lock(&l->c->lock);
    for (uint32_t k = 0; k < l->c->n_mirrors && fine; k++)
        fine = hold(l, q, l->c->mirrors[k], true);
    pthread_mutex_unlock(&l->c->lock);
    return fine;
}

static bool hold_bound(CudaLaunch *l, CudaQueue *q)
{
    const DeviceKernel *k = &l->job.kernel->base;
    const DeviceDispatch *x = l->job.x;
    bool fine = true;
    for (uint32_t s = 0; s < k->n_slots; s++)
        for (uint32_t n = 0; n < x->counts[s] && fine; n++) {
            CudaMirror *m = cuda_mirror_at(l->c, (uintptr_t)x->slots[s][n].base);
            fine = !m || hold(l, q, m, k->slots[s].written);
        }
    return fine;
}

/* Most programs have all of their buffers on the GPU: they pay one test. */
static bool hold_mirrors(CudaLaunch *l, CudaQueue *q)
{
    pthread_mutex_lock(&l->c->lock);
    bool some = l->c->n_mirrors;
    pthread_mutex_unlock(&l->c->lock);
    return !some || (l->job.kernel->by_address ? hold_all(l, q) : hold_bound(l, q));
}

/* ---- launches -------------------------------------------------------------------------------- */

static bool fits(const CudaLaunch *l, const uint32_t *size)
{
    uint64_t threads = (uint64_t)size[0] * size[1] * size[2], shared = l->env->shared_bytes;
    if (threads > (uint64_t)l->job.kernel->most_threads)
        diag(l->job.sink, DIAG_ERROR, NULL, NULL,
             "workgroups of %ux%ux%u are more than the %d invocations that this kernel's can have "
             "on the GPU (its registers count)",
             size[0], size[1], size[2], l->job.kernel->most_threads);
    else if (shared > (uint64_t)l->c->shared_bytes)
        diag(l->job.sink, DIAG_ERROR, NULL, NULL,
             "%llu bytes of workgroup memory are more than the GPU's %d",
             (unsigned long long)shared, l->c->shared_bytes);
    else
        return true;
    return false;
}

static bool launch(CudaLaunch *l, CudaQueue *q, const uint32_t groups[3], const uint32_t *size)
{
    void *parameters[] = { l->env };
    return good(l,
                l->c->driver->cuLaunchKernel(
                    l->job.kernel->function, groups[0], groups[1], groups[2], size[0], size[1],
                    size[2], (unsigned)l->env->shared_bytes, q->stream, parameters, NULL),
                "launching the kernel");
}

static uint32_t divided(uint32_t n, uint32_t by) { return (n + by - 1) / by; }

/* How many workgroups are a block along each axis: fewer where else not half of the GPU would have
 * work. Returns the block's threads in x, or 0 where a block is a workgroup. */
static uint32_t fuse(const CudaLaunch *l, const uint32_t *groups, uint32_t *fused)
{
    const NvptxKernel *code = l->job.kernel->code;
    uint64_t blocks = 1;
    for (uint32_t k = 0; k < 3; k++) {
        fused[k] = code->fused[k];
        blocks *= divided(groups[k], fused[k]);
    }
    if (fused[code->column_axis] > 1 && 2 * blocks <= (uint64_t)l->c->multiprocessors)
        fused[code->column_axis] /= 2;
    l->env->fused_columns = fused[code->column_axis];
    uint32_t workgroups = fused[0] * fused[1] * fused[2];
    return workgroups > 1 ? workgroups * l->job.kernel->base.local_size[0] : 0;
}

/* A box of workgroups, in as many launches as it takes. */
static bool launch_box(CudaLaunch *l, CudaQueue *q, const DeviceRegion *box)
{
    uint32_t fused[3], threads = fuse(l, box->groups, fused);
    const uint32_t *size = box->local_size[0] ? box->local_size : l->job.kernel->base.local_size,
                   block[3] = { threads, 1, 1 };
    memcpy(l->env->local_size, size, sizeof l->env->local_size);
    if (threads)
        size = block;
    if (!fits(l, size))
        return false;
    for (uint32_t z = 0; z < box->groups[2]; z += MOST_GROUPS)
        for (uint32_t y = 0; y < box->groups[1]; y += MOST_GROUPS) {
            uint32_t groups[3] = { box->groups[0], MIN(box->groups[1] - y, MOST_GROUPS),
                                   MIN(box->groups[2] - z, MOST_GROUPS) };
            l->env->base_group[0] = box->first[0];
            l->env->base_group[1] = box->first[1] + y;
            l->env->base_group[2] = box->first[2] + z;
            for (uint32_t k = 0; k < 3; k++) {
                l->env->end_group[k] = l->env->base_group[k] + groups[k];
                groups[k] = divided(groups[k], fused[k]);
            }
            if (!launch(l, q, groups, size))
                return false;
        }
    return true;
}

static bool record(CudaLaunch *l, CudaQueue *q, CuEvent event)
{
    return good(l, l->c->driver->cuEventRecord(event, q->stream), "recording an event");
}

bool cuda_launch(CudaLaunch *l, CudaQueue *q)
{
    const CudaEvents *events = l->job.events;
    DeviceRegion box;
    if (!fill_tables(l) || !cuda_may_print(l->c, &l->job, l->env) || !hold_mirrors(l, q) ||
        (events && events->start && !record(l, q, events->start)))
        return false;
    for (uint32_t n = 0; device_region(l->job.x, &n, &box);)
        if (!launch_box(l, q, &box))
            return false;
    return !events || record(l, q, events->end);
}
