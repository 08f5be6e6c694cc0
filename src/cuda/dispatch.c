/* SPDX-License-Identifier: MIT
 *
 * A dispatch: mirrors to the GPU, launches, the wait for them, mirrors back.
 *
 * What a kernel does wrong ends the context: CUDA has no other way. A kernel without an end cannot
 * be stopped either, so after a while the wait is given up, and the device counts as lost.
 */
#include "cuda/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_GROUPS = 65535 }; /* of a launch, in y and z */

typedef struct Run {
    Cuda *c;
    const CudaKernel *k;
    DeviceDispatch *x;
    Arena *scratch;
    DiagSink *sink;
    CudaLane *lane;
    NvptxEnv *env; /* with the push constants behind it */
    uint64_t local_bytes;
    uint64_t *tables; /* host memory that the GPU reads: arrays of descriptors; or NULL */
} Run;

static bool good(Run *r, CuResult result, const char *what)
{
    return cuda_good(r->c, result, what, r->sink);
}

/* ---- what the kernel is bound to ------------------------------------------------------------- */

static bool in_tables(const CudaKernel *k, uint32_t slot)
{
    return slot >= NVPTX_OWN_SLOTS || k->slots[slot].count != 1;
}

/* By slot the address of its descriptors, then how many there are, then these. */
static bool fill_tables(Run *r)
{
    uint32_t n = r->k->base.n_slots;
    uint64_t words = 2 * (uint64_t)n;
    bool some = false;
    CuAddress at;
    for (uint32_t s = 0; s < n; s++) {
        some |= in_tables(r->k, s);
        words += 2 * (uint64_t)r->x->counts[s];
    }
    if (!some)
        return true;
    const CudaDriver *d = r->c->driver;
    if (!good(r, d->cuMemHostAlloc((void **)&r->tables, words * 8, CU_HOST_PORTABLE_MAPPED),
              "memory for descriptors") ||
        !good(r, d->cuMemHostGetDevicePointer_v2(&at, r->tables, 0), "memory for descriptors"))
        return false;
    uint64_t next = 2 * (uint64_t)n;
    uint32_t *counts = (uint32_t *)(r->tables + n);
    for (uint32_t s = 0; s < n; s++) {
        r->tables[s] = at + next * 8;
        counts[s] = r->x->counts[s];
        memcpy(r->tables + next, r->x->slots[s], r->x->counts[s] * sizeof(NvptxDescriptor));
        next += 2 * (uint64_t)r->x->counts[s];
    }
    r->env->slots = at;
    r->env->counts = at + 8 * (uint64_t)n;
    return true;
}

static bool fill_env(Run *r)
{
    _Static_assert(sizeof(DeviceBinding) == sizeof(NvptxDescriptor), "a descriptor");
    const DeviceDispatch *x = r->x;
    NvptxEnv *e = r->env = arena_alloc(r->scratch, r->k->code->parameter_bytes + 16);
    char *push = (char *)(e + 1);
    if (r->k->arguments) {
        const void *block = device_arguments(x, r->k->arguments, r->k->code->shared_bytes,
                                             r->scratch, &r->local_bytes);
        memcpy(push, block, MIN(r->k->arguments->size, r->k->code->push_bytes));
    } else {
        if (r->k->code->push_bytes)
            memcpy(push, x->push, r->k->code->push_bytes);
        for (uint32_t s = 0; s < r->k->base.n_slots; s++)
            if (!in_tables(r->k, s))
                memcpy(&e->own[s], x->slots[s], sizeof e->own[s]);
        if (!fill_tables(r))
            return false;
    }
    e->shared_bytes = r->k->code->shared_bytes + r->local_bytes;
    e->work_dim = device_work_dim(x);
    memcpy(e->n_groups, x->groups, sizeof e->n_groups);
    memcpy(e->enqueued_size, x->local_size, sizeof e->enqueued_size);
    memcpy(e->global_size, x->global_size, sizeof e->global_size);
    memcpy(e->global_offset, x->global_offset, sizeof e->global_offset);
    return true;
}

/* ---- mirrors --------------------------------------------------------------------------------- */

static bool is_bound(const Run *r, const CudaMirror *m, bool *written)
{
    bool bound = *written = r->k->by_address;
    for (uint32_t s = 0; s < r->k->base.n_slots && !*written; s++)
        for (uint32_t k = 0; k < r->x->counts[s]; k++) {
            uint64_t at = (uint64_t)(uintptr_t)r->x->slots[s][k].base;
            if (at < m->address || at >= m->address + m->size)
                continue;
            bound = true;
            *written |= r->k->code->slots[s].written;
        }
    return bound;
}

static bool copy_mirrors(Run *r, bool back)
{
    bool fine = true, written;
    pthread_mutex_lock(&r->c->lock);
    for (CudaMirror *m = r->c->mirrors; m && fine; m = m->next) {
        if (!is_bound(r, m, &written) || (back && !written))
            continue;
        CuResult result =
            back
                ? r->c->driver->cuMemcpyDtoHAsync_v2(m->host, m->address, m->size, r->lane->stream)
                : r->c->driver->cuMemcpyHtoDAsync_v2(m->address, m->host, m->size, r->lane->stream);
        fine = good(r, result, "copying the program's memory");
    }
    pthread_mutex_unlock(&r->c->lock);
    return fine;
}

/* ---- launches -------------------------------------------------------------------------------- */

static bool launch(Run *r, const uint32_t groups[3], const uint32_t *size)
{
    void *parameters[] = { r->env };
    uint64_t shared = r->k->code->shared_bytes + r->local_bytes;
    if (shared > (uint64_t)r->c->shared_bytes) {
        diag(r->sink, DIAG_ERROR, NULL, NULL,
             "%llu bytes of workgroup memory are more than the GPU's %d",
             (unsigned long long)shared, r->c->shared_bytes);
        return false;
    }
    if (r->local_bytes && shared > 48 << 10 &&
        !good(r,
              r->c->driver->cuFuncSetAttribute(r->k->function, CU_FUNC_SHARED_BYTES,
                                               r->c->shared_bytes),
              "asking for workgroup memory"))
        return false;
    return good(r,
                r->c->driver->cuLaunchKernel(r->k->function, groups[0], groups[1], groups[2],
                                             size[0], size[1], size[2], (unsigned)shared,
                                             r->lane->stream, parameters, NULL),
                "launching the kernel");
}

/* A box of workgroups, in as many launches as it takes. */
static bool launch_box(Run *r, const DeviceRegion *box)
{
    const uint32_t *size = box->local_size[0] ? box->local_size : r->k->base.local_size;
    memcpy(r->env->local_size, size, sizeof r->env->local_size);
    for (uint32_t z = 0; z < box->groups[2]; z += MOST_GROUPS)
        for (uint32_t y = 0; y < box->groups[1]; y += MOST_GROUPS) {
            uint32_t groups[3] = { box->groups[0], MIN(box->groups[1] - y, MOST_GROUPS),
                                   MIN(box->groups[2] - z, MOST_GROUPS) };
            r->env->base_group[0] = box->first[0];
            r->env->base_group[1] = box->first[1] + y;
            r->env->base_group[2] = box->first[2] + z;
            if (!launch(r, groups, size))
                return false;
        }
    return true;
}

static bool launch_all(Run *r)
{
    DeviceRegion box;
    const CudaDriver *d = r->c->driver;
    if (!copy_mirrors(r, false) ||
        !good(r, d->cuEventRecord(r->lane->start, r->lane->stream), "time"))
        return false;
    for (uint32_t n = 0; device_region(r->x, &n, &box);)
        if (!launch_box(r, &box))
            return false;
    return good(r, d->cuEventRecord(r->lane->end, r->lane->stream), "time") &&
           copy_mirrors(r, true);
}

/* ---- the end --------------------------------------------------------------------------------- */

static uint64_t patience_ns(void)
{
    const char *text = getenv("HEDDLE_GPU_TIMEOUT");
    double seconds = text && *text ? atof(text) : 10;
    return seconds > 0 ? (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

static void fault(Run *r, CuResult result)
{
    r->x->fault.kind = result == CU_ERROR_ILLEGAL_ADDRESS      ? DEVICE_FAULT_ACCESS
                       : result == CU_ERROR_MISALIGNED_ADDRESS ? DEVICE_FAULT_NO_ADDRESS
                                                               : DEVICE_FAULT_INSTRUCTION;
    pthread_mutex_lock(&r->c->lock);
    r->c->lost = true;
    pthread_mutex_unlock(&r->c->lock);
    good(r, result, "the kernel ended the GPU's context");
}

static bool wait_for(Run *r)
{
    enum { SPIN_NS = 2000000 };
    const struct timespec nap = { .tv_nsec = 50000 };
    uint64_t start = clock_ns(), patience = patience_ns();
    CuResult result;
    while ((result = r->c->driver->cuStreamQuery(r->lane->stream)) == CU_ERROR_NOT_READY) {
        uint64_t passed = clock_ns() - start;
        if (passed > patience)
            break;
        if (passed > SPIN_NS)
            nanosleep(&nap, NULL);
    }
    if (!result)
        return true;
    if (result != CU_ERROR_NOT_READY) {
        fault(r, result);
        return false;
    }
    pthread_mutex_lock(&r->c->lock);
    r->c->lost = true;
    pthread_mutex_unlock(&r->c->lock);
    diag(r->sink, DIAG_ERROR, NULL, NULL,
         "the kernel has not ended after %.0f s and cannot be stopped: the GPU is given up "
         "(HEDDLE_GPU_TIMEOUT=0 waits for ever)",
         (double)patience * 1e-9);
    return false;
}

static bool run(Run *r)
{
    float ms = 0;
    if (!fill_env(r) || !launch_all(r) || !wait_for(r))
        return false;
    r->c->driver->cuEventElapsedTime(&ms, r->lane->start, r->lane->end);
    r->x->end_ns = clock_ns();
    r->x->start_ns = r->x->end_ns - (uint64_t)((double)ms * 1e6);
    return true;
}

HeddleResult cuda_dispatch(DeviceBase *d, DeviceDispatch *x, Arena *scratch, DiagSink *sink)
{
    Run r = { .c = (Cuda *)d,
              .k = (const CudaKernel *)x->kernel,
              .x = x,
              .scratch = scratch,
              .sink = sink };
    if (!cuda_enter(r.c, sink))
        return HEDDLE_ERROR_RUN;
    r.lane = cuda_take_lane(r.c, sink);
    bool fine = r.lane && run(&r);
    if (r.tables && !r.c->lost)
        r.c->driver->cuMemFreeHost(r.tables);
    if (r.lane)
        cuda_give_lane(r.c, r.lane);
    cuda_leave(r.c);
    return fine ? HEDDLE_OK : HEDDLE_ERROR_RUN;
}
