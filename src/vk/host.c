/* SPDX-License-Identifier: MIT
 *
 * What programs' calls bring: host memory through VkAllocationCallbacks, chains and lists. And
 * where messages go.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vk/facts.h"

/* ---- host memory ----------------------------------------------------------------------------- */

static VKAPI_ATTR void *VKAPI_CALL default_alloc(void *user, size_t size, size_t alignment,
                                                 VkSystemAllocationScope scope)
{
    (void)user, (void)scope;
    return aligned_alloc(alignment, align_up(size, alignment));
}

static VKAPI_ATTR void VKAPI_CALL default_free(void *user, void *p)
{
    (void)user;
    free(p);
}

const VkAllocationCallbacks *host_default(void)
{
    static const VkAllocationCallbacks defaults = { .pfnAllocation = default_alloc,
                                                    .pfnFree = default_free };
    return &defaults;
}

void *host_alloc(const VkAllocationCallbacks *own, const VkAllocationCallbacks *parent, size_t size,
                 VkSystemAllocationScope scope)
{
    const VkAllocationCallbacks *a = own ? own : parent;
    void *p = a->pfnAllocation(a->pUserData, MAX(size, 1), 64, scope);
    return p ? memset(p, 0, size) : NULL;
}

void host_free(const VkAllocationCallbacks *own, const VkAllocationCallbacks *parent, void *p)
{
    const VkAllocationCallbacks *a = own ? own : parent;
    if (p)
        a->pfnFree(a->pUserData, p);
}

/* ---- chains and lists ------------------------------------------------------------------------ */

const void *chain_find(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *s = chain;
    while (s && s->sType != type)
        s = s->pNext;
    return s;
}

VkResult enumerate(uint32_t *count, void *out, const void *all, uint32_t n, size_t size,
                   bool chained)
{
    if (!out) {
        *count = n;
        return VK_SUCCESS;
    }
    size_t head = chained ? sizeof(VkBaseOutStructure) : 0;
    *count = MIN(*count, n);
    for (uint32_t i = 0; i < *count; i++)
        memcpy((char *)out + i * size + head, (const char *)all + i * size + head, size - head);
    return *count < n ? VK_INCOMPLETE : VK_SUCCESS;
}

/* ---- messages -------------------------------------------------------------------------------- */

void log_line(const char *where, const char *name, const char *message)
{
    char line[2048];
    int n = snprintf(line, sizeof line, "heddle: %s%s%s\n", name ? name : "", name ? ": " : "",
                     message);
    bool err = !strcmp(where, "stderr");
    int fd = err ? 2 : open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    ssize_t written = fd < 0 || n < 0 ? 0 : write(fd, line, MIN((size_t)n, sizeof line - 1));
    (void)written;
    if (!err && fd >= 0)
        close(fd);
}
