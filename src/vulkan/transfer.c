/* SPDX-License-Identifier: MIT
 *
 * Commands that move bytes of buffers: copies, fills, updates.
 */
#include "vulkan/vk.h"

typedef struct Copy {
    char *to;
    const char *from;
    uint64_t size;
} Copy;

typedef struct CmdCopy {
    HvCmd cmd;
    uint32_t n;
    Copy copies[];
} CmdCopy;

static void run_copy(HvExec *x, const HvCmd *cmd)
{
    (void)x;
    const CmdCopy *c = (const CmdCopy *)cmd;
    for (uint32_t i = 0; i < c->n; i++)
        memmove(c->copies[i].to, c->copies[i].from, c->copies[i].size);
}

static CmdCopy *record(VkCommandBuffer buffer, const HvBuffer *from, const HvBuffer *to, uint32_t n)
{
    if (!from->data || !to->data)
        return NULL;
    CmdCopy *c =
        command_move(HvCommandBuffer_of(buffer), sizeof *c + n * sizeof *c->copies, run_copy);
    if (c)
        c->n = n;
    return c;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyBuffer(VkCommandBuffer buffer, VkBuffer from, VkBuffer to,
                                            uint32_t n, const VkBufferCopy *regions)
{
    const HvBuffer *source = HvBuffer_of(from), *target = HvBuffer_of(to);
    CmdCopy *c = record(buffer, source, target, n);
    for (uint32_t i = 0; c && i < n; i++)
        c->copies[i] = (Copy){ target->data + regions[i].dstOffset,
                               source->data + regions[i].srcOffset, regions[i].size };
}

VKAPI_ATTR void VKAPI_CALL hv_CmdCopyBuffer2(VkCommandBuffer buffer, const VkCopyBufferInfo2 *info)
{
    const HvBuffer *source = HvBuffer_of(info->srcBuffer), *target = HvBuffer_of(info->dstBuffer);
    CmdCopy *c = record(buffer, source, target, info->regionCount);
    for (uint32_t i = 0; c && i < info->regionCount; i++)
        c->copies[i] = (Copy){ target->data + info->pRegions[i].dstOffset,
                               source->data + info->pRegions[i].srcOffset, info->pRegions[i].size };
}

typedef struct CmdFill {
    HvCmd cmd;
    uint32_t *to;
    uint64_t n; /* words */
    uint32_t value;
} CmdFill;

static void run_fill(HvExec *x, const HvCmd *cmd)
{
    (void)x;
    const CmdFill *c = (const CmdFill *)cmd;
    for (uint64_t i = 0; i < c->n; i++)
        c->to[i] = c->value;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdFillBuffer(VkCommandBuffer buffer, VkBuffer to,
                                            VkDeviceSize offset, VkDeviceSize size, uint32_t value)
{
    const HvBuffer *b = HvBuffer_of(to);
    if (!b->data || offset > b->size)
        return;
    CmdFill *c = command_move(HvCommandBuffer_of(buffer), sizeof *c, run_fill);
    if (!c)
        return;
    c->to = (uint32_t *)(void *)(b->data + offset);
    c->n = MIN(size, b->size - offset) / 4;
    c->value = value;
}

typedef struct CmdUpdate {
    HvCmd cmd;
    char *to;
    uint64_t size;
    char data[];
} CmdUpdate;

static void run_update(HvExec *x, const HvCmd *cmd)
{
    (void)x;
    const CmdUpdate *c = (const CmdUpdate *)cmd;
    memcpy(c->to, c->data, c->size);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdUpdateBuffer(VkCommandBuffer buffer, VkBuffer to,
                                              VkDeviceSize offset, VkDeviceSize size,
                                              const void *data)
{
    const HvBuffer *b = HvBuffer_of(to);
    CmdUpdate *c =
        b->data ? command_move(HvCommandBuffer_of(buffer), sizeof *c + size, run_update) : NULL;
    if (!c)
        return;
    c->to = b->data + offset;
    c->size = size;
    memcpy(c->data, data, size);
}
