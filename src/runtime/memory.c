/* SPDX-License-Identifier: MIT
 *
 * Memory of buffers and arrays: mapped and aligned to huge pages when large (PERFORMANCE, rule
 * 8: up to 13 % on a GEMM), so that it is zero without being touched.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/runtime.h"

enum { LINE = 64, HUGE = 2 << 20 };

static bool more_than_there_is(uint64_t size)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return size > SIZE_MAX / 2 ||
           (pages > 0 && page > 0 && size / (uint64_t)page > (uint64_t)pages);
}

/* Maps up to one huge page more than needed and gives the ends back. */
static void *map(uint64_t size)
{
    size_t need = (size_t)align_up(size, HUGE), all = need + HUGE;
    char *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    char *at = (char *)(uintptr_t)align_up((uintptr_t)p, HUGE);
    size_t before = (size_t)(at - p), after = all - before - need;
    if (before)
        munmap(p, before);
    if (after)
        munmap(at + need, after);
    madvise(at, need, MADV_HUGEPAGE);
    return at;
}

void *memory_alloc(uint64_t size)
{
    if (more_than_there_is(size))
        return NULL;
    if (size >= HUGE)
        return map(size);
    size_t n = (size_t)align_up(size + !size, LINE);
    void *p = aligned_alloc(LINE, n);
    if (p)
        memset(p, 0, n);
    return p;
}

void memory_free(void *p, uint64_t size)
{
    if (p && size >= HUGE)
        munmap(p, (size_t)align_up(size, HUGE));
    else
        free(p);
}
