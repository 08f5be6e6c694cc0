/* SPDX-License-Identifier: MIT
 *
 * Memory of buffers and arrays: pages of its own, zero without being touched, of 2 MiB when large
 * (PERFORMANCE, rule 8: up to 13 % on a GEMM), between addresses that nobody may touch. So a kernel
 * that leaves it does not come into the program's heap: as on a GPU, it stays in the first or last
 * page or faults.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device/device.h"

enum { LINE = 64, PAGE = 64 << 10 /* the largest of any system */, HUGE = 2 << 20 };
#define FAR (4ull << 30) /* as far as a 32-bit offset in bytes leads */

static bool more_than_there_is(uint64_t size)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return size > SIZE_MAX / 2 ||
           (pages > 0 && page > 0 && size / (uint64_t)page > (uint64_t)pages);
}

/* Addresses cost nothing, except where the program's are counted. */
static bool addresses_are_free(void)
{
    struct rlimit limit;
    return sizeof(void *) == 8 && !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur == RLIM_INFINITY;
}

static bool reserve(size_t size, HostMapping *out)
{
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *out = p == MAP_FAILED ? (HostMapping){ 0 } : (HostMapping){ p, size };
    return out->start;
}

/* The smaller an array's pages, the less of what leaves it goes unseen. */
static size_t page_for(uint64_t size, HostMemoryKind kind)
{
    long smallest = sysconf(_SC_PAGESIZE);
    if (size >= HUGE)
        return HUGE;
    return kind == HOST_MEMORY_ARRAY && smallest > 0 ? (size_t)smallest : PAGE;
}

void *host_memory_map(uint64_t size, HostMemoryKind kind, HostMapping *out)
{
    *out = (HostMapping){ 0 };
    if (more_than_there_is(size))
        return NULL;
    size_t page = page_for(size, kind), need = (size_t)align_up(size + !size, page);
    size_t guard = kind == HOST_MEMORY_ARRAY && addresses_are_free() ? FAR : PAGE;
    if (!reserve(guard + page + need + guard, out)) {
        guard = PAGE;
        if (!reserve(guard + page + need + guard, out))
            return NULL;
    }
    char *at = (char *)(uintptr_t)align_up((uintptr_t)out->start + guard, page);
    if (mprotect(at, need, PROT_READ | PROT_WRITE)) {
        host_memory_unmap(out);
        return NULL;
    }
    if (page == HUGE)
        madvise(at, need, MADV_HUGEPAGE);
    return kind == HOST_MEMORY_ARRAY ? at + need - align_up(size + !size, LINE) : at;
}

void host_memory_unmap(HostMapping *m)
{
    if (m->start)
        munmap(m->start, m->size);
    *m = (HostMapping){ 0 };
}

bool host_memory_alloc(DeviceBase *d, uint64_t size, HeddlePlacement placement, DeviceMemory *out)
{
    (void)d, (void)placement;
    HostMapping map;
    void *data = host_memory_map(size, HOST_MEMORY_BUFFER, &map);
    *out = (DeviceMemory){ .address = (uintptr_t)data, .size = size, .host = data, .map = map };
    return data;
}

bool host_memory_wrap(DeviceBase *d, void *data, uint64_t size, DeviceMemory *out)
{
    (void)d;
    *out = (DeviceMemory){ .address = (uintptr_t)data, .size = size, .host = data };
    return true;
}

void host_memory_free(DeviceBase *d, DeviceMemory *m)
{
    (void)d;
    host_memory_unmap(&m->map);
}
