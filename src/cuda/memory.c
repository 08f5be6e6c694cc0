/* SPDX-License-Identifier: MIT
 *
 * Memory: the GPU's own; the host's, which both reach (44 GB/s of a PCIe 5 GPU's 3,000); the
 * program's, which has a mirror on the GPU.
 */
#include "cuda/internal.h"

#include <stdlib.h>

static bool silently_enter(Cuda *c)
{
    DiagSink nobody = { 0 };
    return cuda_enter(c, &nobody);
}

static bool wait_for(Cuda *c, CudaLane *l)
{
    CuResult r;
    while ((r = c->driver->cuStreamQuery(l->stream)) == CU_ERROR_NOT_READY)
        ;
    return !r;
}

/* Device memory, of zeros. */
static bool new_memory(Cuda *c, uint64_t size, CuAddress *out)
{
    DiagSink nobody = { 0 };
    if (c->driver->cuMemAlloc_v2(out, size))
        return false;
    CudaLane *l = cuda_take_lane(c, &nobody);
    bool good = l && !c->driver->cuMemsetD8Async(*out, 0, size, l->stream) && wait_for(c, l);
    if (l)
        cuda_give_lane(c, l);
    if (!good)
        c->driver->cuMemFree_v2(*out);
    return good;
}

static bool new_host_memory(Cuda *c, uint64_t size, DeviceMemory *out)
{
    if (c->driver->cuMemHostAlloc(&out->host, size, CU_HOST_PORTABLE_MAPPED))
        return false;
    memset(out->host, 0, size);
    if (!c->driver->cuMemHostGetDevicePointer_v2(&out->address, out->host, 0))
        return true;
    c->driver->cuMemFreeHost(out->host);
    return false;
}

bool cuda_alloc(DeviceBase *d, uint64_t size, HeddlePlacement placement, DeviceMemory *out)
{
    Cuda *c = (Cuda *)d;
    *out = (DeviceMemory){ .size = size };
    if (!silently_enter(c))
        return false;
    bool good = placement == HEDDLE_PLACEMENT_HOST ? new_host_memory(c, size, out)
                                                   : new_memory(c, size, &out->address);
    cuda_leave(c);
    return good;
}

bool cuda_wrap(DeviceBase *d, void *data, uint64_t size, DeviceMemory *out)
{
    enum { WORTH_REGISTERING = 1 << 20 }; /* it takes as long as copying about as much */
    Cuda *c = (Cuda *)d;
    CudaMirror *m = calloc(1, sizeof *m);
    if (!m || !silently_enter(c)) {
        free(m);
        return false;
    }
    *m = (CudaMirror){ .host = data, .size = size };
    bool good = new_memory(c, size, &m->address);
    if (good && size >= WORTH_REGISTERING)
        m->registered = !c->driver->cuMemHostRegister_v2(data, size, 1);
    cuda_leave(c);
    if (!good) {
        free(m);
        return false;
    }
    pthread_mutex_lock(&c->lock);
    m->next = c->mirrors;
    if (m->next)
        m->next->previous = m;
    c->mirrors = m;
    pthread_mutex_unlock(&c->lock);
    *out = (DeviceMemory){ .address = m->address, .size = size, .host = data, .own = m };
    return true;
}

static void forget_mirror(Cuda *c, CudaMirror *m)
{
    pthread_mutex_lock(&c->lock);
    if (m->previous)
        m->previous->next = m->next;
    else
        c->mirrors = m->next;
    if (m->next)
        m->next->previous = m->previous;
    pthread_mutex_unlock(&c->lock);
}

void cuda_free(DeviceBase *d, DeviceMemory *memory)
{
    Cuda *c = (Cuda *)d;
    CudaMirror *m = memory->own;
    if (m)
        forget_mirror(c, m);
    if (silently_enter(c)) {
        if (m && m->registered)
            c->driver->cuMemHostUnregister(m->host);
        if (m || !memory->host)
            c->driver->cuMemFree_v2(memory->address);
        else
            c->driver->cuMemFreeHost(memory->host);
        cuda_leave(c);
    }
    free(m);
}

/* to NULL: from `from` to the GPU. */
static HeddleResult copy(Cuda *c, CuAddress at, void *to, const void *from, uint64_t size,
                         DiagSink *sink)
{
    if (!cuda_enter(c, sink))
        return HEDDLE_ERROR_RUN;
    CudaLane *l = cuda_take_lane(c, sink);
    CuResult r = !l   ? CU_ERROR_OUT_OF_MEMORY
                 : to ? c->driver->cuMemcpyDtoHAsync_v2(to, at, size, l->stream)
                      : c->driver->cuMemcpyHtoDAsync_v2(at, from, size, l->stream);
    bool good = l && cuda_good(c, r, "copying memory", sink) && wait_for(c, l);
    if (l)
        cuda_give_lane(c, l);
    cuda_leave(c);
    return good ? HEDDLE_OK : HEDDLE_ERROR_RUN;
}

HeddleResult cuda_read(DeviceBase *d, const DeviceMemory *m, uint64_t offset, void *to,
                       uint64_t size, DiagSink *sink)
{
    return copy((Cuda *)d, m->address + offset, to, NULL, size, sink);
}

HeddleResult cuda_write(DeviceBase *d, const DeviceMemory *m, uint64_t offset, const void *from,
                        uint64_t size, DiagSink *sink)
{
    return copy((Cuda *)d, m->address + offset, NULL, from, size, sink);
}
