/* SPDX-License-Identifier: MIT
 *
 * Query pools. Timestamps are what can be asked: nanoseconds of CLOCK_MONOTONIC.
 */
#include "vulkan/vk.h"

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateQueryPool(VkDevice device,
                                                  const VkQueryPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *alloc,
                                                  VkQueryPool *out)
{
    HvQueryPool *p =
        object_new(alloc, &HvDevice_of(device)->alloc,
                   sizeof *p + info->queryCount * sizeof *p->queries, VK_OBJECT_TYPE_QUERY_POOL);
    *out = TO_HANDLE(VkQueryPool, p);
    if (!p)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    p->n = info->queryCount;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyQueryPool(VkDevice device, VkQueryPool pool,
                                               const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvQueryPool_of(pool));
}

static void reset(HvQueryPool *p, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < p->n && i - first < n; i++)
        atomic_store(&p->queries[i].available, false);
}

VKAPI_ATTR void VKAPI_CALL hv_ResetQueryPool(VkDevice device, VkQueryPool pool, uint32_t first,
                                             uint32_t n)
{
    (void)device;
    reset(HvQueryPool_of(pool), first, n);
}

static void write_result(char *at, VkQueryResultFlags flags, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    if (flags & VK_QUERY_RESULT_64_BIT)
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &narrow, sizeof narrow);
}

/* VK_NOT_READY when one is missing. */
static VkResult results(const HvQueryPool *p, uint32_t first, uint32_t n, char *out,
                        uint64_t stride, VkQueryResultFlags flags)
{
    size_t size = flags & VK_QUERY_RESULT_64_BIT ? 8 : 4;
    VkResult r = VK_SUCCESS;
    for (uint32_t i = first; i < p->n && i - first < n; i++, out += stride) {
        bool available = atomic_load(&p->queries[i].available);
        if (available)
            write_result(out, flags, p->queries[i].value);
        else if (flags & VK_QUERY_RESULT_PARTIAL_BIT)
            write_result(out, flags, 0);
        if (flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT)
            write_result(out + size, flags, available);
        if (!available && !(flags & VK_QUERY_RESULT_PARTIAL_BIT))
            r = VK_NOT_READY;
    }
    return r;
}

static bool all_available(const HvQueryPool *p, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < p->n && i - first < n; i++) {
        if (!atomic_load(&p->queries[i].available))
            return false;
    }
    return true;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetQueryPoolResults(VkDevice device, VkQueryPool pool,
                                                      uint32_t first, uint32_t n, size_t size,
                                                      void *out, VkDeviceSize stride,
                                                      VkQueryResultFlags flags)
{
    (void)size;
    HvDevice *d = HvDevice_of(device);
    const HvQueryPool *p = HvQueryPool_of(pool);
    if (flags & VK_QUERY_RESULT_WAIT_BIT) {
        pthread_mutex_lock(&d->lock);
        d->waiting_for_queries++;
        while (!all_available(p, first, n) && !d->lost)
            sync_wait(d, NULL, UINT64_MAX);
        d->waiting_for_queries--;
        pthread_mutex_unlock(&d->lock);
    }
    if (d->lost)
        return VK_ERROR_DEVICE_LOST;
    return results(p, first, n, out, stride, flags);
}

/* ---- commands -------------------------------------------------------------------------------- */

typedef struct CmdQuery {
    HvCmd cmd;
    HvQueryPool *pool;
    uint32_t first, n;
    char *out; /* of copies */
    uint64_t stride;
    VkQueryResultFlags flags;
} CmdQuery;

static void run_timestamp(HvExec *x, const HvCmd *cmd)
{
    (void)x;
    const CmdQuery *c = (const CmdQuery *)cmd;
    HvQuery *q = &c->pool->queries[c->first];
    q->value = clock_ns();
    atomic_store(&q->available, true);
}

static void run_reset(HvExec *x, const HvCmd *cmd)
{
    (void)x;
    const CmdQuery *c = (const CmdQuery *)cmd;
    reset(c->pool, c->first, c->n);
}

static void run_copy(HvExec *x, const HvCmd *cmd)
{
    (void)x;
    const CmdQuery *c = (const CmdQuery *)cmd;
    results(c->pool, c->first, c->n, c->out, c->stride, c->flags);
}

static CmdQuery *record(VkCommandBuffer buffer, VkQueryPool pool, uint32_t first, uint32_t n,
                        void (*run)(HvExec *, const HvCmd *))
{
    CmdQuery *c = RECORD(HvCommandBuffer_of(buffer), CmdQuery, run);
    if (c) {
        c->pool = HvQueryPool_of(pool);
        c->first = first;
        c->n = n;
    }
    return c;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdWriteTimestamp(VkCommandBuffer buffer,
                                                VkPipelineStageFlagBits stage, VkQueryPool pool,
                                                uint32_t query)
{
    (void)stage;
    record(buffer, pool, query, 1, run_timestamp);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdWriteTimestamp2(VkCommandBuffer buffer,
                                                 VkPipelineStageFlags2 stage, VkQueryPool pool,
                                                 uint32_t query)
{
    (void)stage;
    record(buffer, pool, query, 1, run_timestamp);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdResetQueryPool(VkCommandBuffer buffer, VkQueryPool pool,
                                                uint32_t first, uint32_t n)
{
    record(buffer, pool, first, n, run_reset);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyQueryPoolResults(VkCommandBuffer buffer, VkQueryPool pool,
                                                      uint32_t first, uint32_t n, VkBuffer to,
                                                      VkDeviceSize offset, VkDeviceSize stride,
                                                      VkQueryResultFlags flags)
{
    CmdQuery *c = HvBuffer_of(to)->data ? record(buffer, pool, first, n, run_copy) : NULL;
    if (c) {
        c->cmd.moves = true;
        c->out = HvBuffer_of(to)->data + offset;
        c->stride = stride;
        c->flags = flags;
    }
}

/* Only occlusion and statistics queries begin and end, and a compute device has none. */
VKAPI_ATTR void VKAPI_CALL hv_CmdBeginQuery(VkCommandBuffer buffer, VkQueryPool pool,
                                            uint32_t query, VkQueryControlFlags flags)
{
    (void)flags;
    record(buffer, pool, query, 1, run_reset);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdEndQuery(VkCommandBuffer buffer, VkQueryPool pool, uint32_t query)
{
    record(buffer, pool, query, 1, run_timestamp);
}
