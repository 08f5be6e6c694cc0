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

/* Device memory, of zeros. */
static bool new_memory(Cuda *c, uint64_t size, CuAddress *out)
{
    DiagSink nobody = { 0 };
    if (c->driver->cuMemAlloc_v2(out, size))
        return false;
    CudaQueue *q = cuda_take_queue(c, &nobody);
    bool good =
        q && !c->driver->cuMemsetD8Async(*out, 0, size, q->stream) && cuda_settle(c, q, &nobody);
    if (q)
        cuda_give_queue(c, q);
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

/* ---- mirrors --------------------------------------------------------------------------------- */

/* How many begin at or before the address: under the lock. */
static uint32_t mirrors_up_to(const Cuda *c, CuAddress address)
{
    uint32_t low = 0, high = c->n_mirrors;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (c->mirrors[middle]->address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

CudaMirror *cuda_mirror_at(Cuda *c, CuAddress address)
{
    pthread_mutex_lock(&c->lock);
    uint32_t n = mirrors_up_to(c, address);
    CudaMirror *m = n ? c->mirrors[n - 1] : NULL;
    pthread_mutex_unlock(&c->lock);
    return m && address - m->address < m->size ? m : NULL;
}

static bool keep_mirror(Cuda *c, CudaMirror *m)
{
    pthread_mutex_lock(&c->lock);
    if (c->n_mirrors == c->room) {
        uint32_t room = MAX(2 * c->room, 16);
        CudaMirror **more = realloc(c->mirrors, room * sizeof *more);
        c->mirrors = more ? more : c->mirrors;
        c->room = more ? room : c->room;
    }
    bool fine = c->n_mirrors < c->room;
    if (fine) {
        uint32_t at = mirrors_up_to(c, m->address);
        memmove(c->mirrors + at + 1, c->mirrors + at, (c->n_mirrors - at) * sizeof *c->mirrors);
        c->mirrors[at] = m;
        c->n_mirrors++;
    }
    pthread_mutex_unlock(&c->lock);
    return fine;
}

static void forget_mirror(Cuda *c, const CudaMirror *m)
{
    pthread_mutex_lock(&c->lock);
    uint32_t n = mirrors_up_to(c, m->address);
    memmove(c->mirrors + n - 1, c->mirrors + n, (c->n_mirrors - n) * sizeof *c->mirrors);
    c->n_mirrors--;
    pthread_mutex_unlock(&c->lock);
}

static void free_mirror(Cuda *c, CudaMirror *m)
{
    if (silently_enter(c)) {
        if (m->registered)
            c->driver->cuMemHostUnregister(m->host);
        c->driver->cuMemFree_v2(m->address);
        cuda_leave(c);
    }
    free(m);
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
    if (!keep_mirror(c, m)) {
        free_mirror(c, m);
        return false;
    }
    *out = (DeviceMemory){ .address = m->address, .size = size, .host = data, .own = m };
    return true;
}

/* As the driver knows it; the first and the last byte are asked for, since what lies between them
 * cannot be another's. */
static bool is_ours(Cuda *c, CuAddress address)
{
    const CudaDriver *d = c->driver;
    unsigned type = 0;
    CuDevice ordinal = -1;
    return !d->cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, address) &&
           type == CU_MEMORY_DEVICE &&
           !d->cuPointerGetAttribute(&ordinal, CU_POINTER_ORDINAL, address) && ordinal == c->device;
}

/* The device's own streams do not wait for the default one. */
HeddleResult cuda_reach(DeviceBase *d, uint64_t address, uint64_t size, DiagSink *sink)
{
    Cuda *c = (Cuda *)d;
    if (!cuda_enter(c, sink))
        return HEDDLE_ERROR_RUN;
    bool ours = is_ours(c, address) && is_ours(c, address + size - 1);
    bool settled = ours && cuda_settle(c, &(CudaQueue){ .stream = CU_STREAM_LEGACY }, sink);
    cuda_leave(c);
    if (!ours)
        diag(sink, DIAG_ERROR, NULL, NULL, "the %llu bytes at 0x%llx are not memory of this GPU",
             (unsigned long long)size, (unsigned long long)address);
    return settled ? HEDDLE_OK : ours ? HEDDLE_ERROR_RUN : HEDDLE_ERROR_ARGUMENT;
}

void cuda_free(DeviceBase *d, DeviceMemory *memory)
{
    Cuda *c = (Cuda *)d;
    if (memory->own) {
        forget_mirror(c, memory->own);
        free_mirror(c, memory->own);
        return;
    }
    if (!silently_enter(c))
        return;
    if (memory->host)
        c->driver->cuMemFreeHost(memory->host);
    else
        c->driver->cuMemFree_v2(memory->address);
    cuda_leave(c);
}

/* ---- blocks of descriptors ------------------------------------------------------------------- */

static void free_block(Cuda *c, CudaBlock *b)
{
    if (b->words && silently_enter(c)) {
        c->driver->cuMemFreeHost(b->words);
        cuda_leave(c);
    }
    free(b);
}

static CudaBlock *new_block(Cuda *c, uint64_t size, DiagSink *sink)
{
    const CudaDriver *d = c->driver;
    CudaBlock *b = calloc(1, sizeof *b);
    if (!b) {
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return NULL;
    }
    b->size = align_up(size, 4096);
    if (cuda_good(c, d->cuMemHostAlloc((void **)&b->words, b->size, CU_HOST_PORTABLE_MAPPED),
                  "memory for descriptors", sink) &&
        cuda_good(c, d->cuMemHostGetDevicePointer_v2(&b->address, b->words, 0),
                  "memory for descriptors", sink))
        return b;
    free_block(c, b);
    return NULL;
}

CudaBlock *cuda_take_block(Cuda *c, uint64_t size, DiagSink *sink)
{
    pthread_mutex_lock(&c->lock);
    CudaBlock **at = &c->blocks;
    while (*at && (*at)->size < size)
        at = &(*at)->next;
    CudaBlock *b = *at;
    if (b)
        *at = b->next;
    pthread_mutex_unlock(&c->lock);
    return b ? b : new_block(c, size, sink);
}

void cuda_give_block(Cuda *c, CudaBlock *b)
{
    pthread_mutex_lock(&c->lock);
    b->next = c->blocks;
    c->blocks = b;
    pthread_mutex_unlock(&c->lock);
}

void cuda_free_blocks(Cuda *c)
{
    for (CudaBlock *b = c->blocks, *next; b; b = next) {
        next = b->next;
        free_block(c, b);
    }
    c->blocks = NULL;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* to NULL: from `from` to the GPU. */
static HeddleResult copy(Cuda *c, CuAddress at, void *to, const void *from, uint64_t size,
                         DiagSink *sink)
{
    if (!cuda_enter(c, sink))
        return HEDDLE_ERROR_RUN;
    CudaQueue *q = cuda_take_queue(c, sink);
    CuResult r = !q   ? CU_SUCCESS
                 : to ? c->driver->cuMemcpyDtoHAsync_v2(to, at, size, q->stream)
                      : c->driver->cuMemcpyHtoDAsync_v2(at, from, size, q->stream);
    bool good = q && cuda_good(c, r, "copying memory", sink) && cuda_settle(c, q, sink);
    if (q)
        cuda_give_queue(c, q);
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
