/* SPDX-License-Identifier: MIT
 *
 * Command buffers: lists of Cmd in blocks of memory that stay with the buffer until it is freed.
 * What dispatches see (pipeline, sets, push constants) is copied when it has changed.
 */
#include "vulkan/vk.h"

enum { BLOCK = 16384 };

typedef struct HvBlock {
    struct HvBlock *next;
    size_t used, size;
    _Alignas(16) char data[];
} HvBlock;

/* A set that vkCmdPushDescriptorSet made. */
typedef struct HvPushedSet {
    struct HvPushedSet *next;
    HvDescriptorSet *set;
} HvPushedSet;

/* ---- memory ---------------------------------------------------------------------------------- */

static HvBlock *next_block(HvCommandBuffer *c, size_t size)
{
    HvBlock *b = c->current ? c->current->next : c->blocks;
    if (b && b->size >= size) {
        b->used = 0;
        return b;
    }
    size_t room = MAX(BLOCK, size);
    HvBlock *fresh =
        host_alloc(NULL, &c->pool->alloc, sizeof *fresh + room, VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
    if (!fresh)
        return NULL;
    fresh->size = room;
    fresh->next = b;
    if (c->current)
        c->current->next = fresh;
    else
        c->blocks = fresh;
    return fresh;
}

void *command_alloc(HvCommandBuffer *c, size_t size)
{
    size = align_up(size, 16);
    if (!c->current || c->current->size - c->current->used < size) {
        HvBlock *b = next_block(c, size);
        if (!b) {
            c->result = VK_ERROR_OUT_OF_HOST_MEMORY;
            return NULL;
        }
        c->current = b;
    }
    void *p = c->current->data + c->current->used;
    c->current->used += size;
    return memset(p, 0, size);
}

void *command_new(HvCommandBuffer *c, size_t size, void (*run)(HvExec *, const HvCmd *))
{
    HvCmd *cmd = command_alloc(c, size);
    if (!cmd)
        return NULL;
    cmd->run = run;
    *c->last = cmd;
    c->last = &cmd->next;
    return cmd;
}

void *command_move(HvCommandBuffer *c, size_t size, void (*run)(HvExec *, const HvCmd *))
{
    HvCmd *cmd = command_new(c, size, run);
    if (cmd)
        cmd->moves = true;
    return cmd;
}

const HvBoundState *command_state(HvCommandBuffer *c)
{
    if (!c->shared) {
        c->shared = command_alloc(c, sizeof c->now);
        if (c->shared)
            *c->shared = c->now;
    }
    return c->shared;
}

static void reset(HvCommandBuffer *c)
{
    for (HvPushedSet *p = c->pushed; p; p = p->next)
        layout_release(p->set->layout);
    c->pushed = NULL;
    c->waits = false;
    c->result = VK_SUCCESS;
    c->first = NULL;
    c->last = &c->first;
    c->current = NULL;
    c->shared = NULL;
    memset(&c->now, 0, sizeof c->now);
}

static void free_blocks(HvCommandBuffer *c)
{
    while (c->blocks) {
        HvBlock *b = c->blocks;
        c->blocks = b->next;
        host_free(NULL, &c->pool->alloc, b);
    }
}

/* ---- pools and buffers ----------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateCommandPool(VkDevice device,
                                                    const VkCommandPoolCreateInfo *info,
                                                    const VkAllocationCallbacks *alloc,
                                                    VkCommandPool *out)
{
    (void)info;
    HvDevice *d = HvDevice_of(device);
    HvCommandPool *p = object_new(alloc, &d->alloc, sizeof *p, VK_OBJECT_TYPE_COMMAND_POOL);
    *out = TO_HANDLE(VkCommandPool, p);
    if (!p)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    p->device = d;
    p->alloc = alloc ? *alloc : d->alloc;
    return VK_SUCCESS;
}

static void buffer_free(HvCommandBuffer *c)
{
    if (!c)
        return;
    HvCommandPool *p = c->pool;
    reset(c);
    free_blocks(c);
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        p->buffers = c->next;
    object_free(NULL, &p->alloc, c);
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyCommandPool(VkDevice device, VkCommandPool pool,
                                                 const VkAllocationCallbacks *alloc)
{
    HvCommandPool *p = HvCommandPool_of(pool);
    while (p && p->buffers)
        buffer_free(p->buffers);
    object_free(alloc, &HvDevice_of(device)->alloc, p);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_ResetCommandPool(VkDevice device, VkCommandPool pool,
                                                   VkCommandPoolResetFlags flags)
{
    (void)device;
    for (HvCommandBuffer *c = HvCommandPool_of(pool)->buffers; c; c = c->next) {
        reset(c);
        if (flags & VK_COMMAND_POOL_RESET_RELEASE_RESOURCES_BIT)
            free_blocks(c);
    }
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_TrimCommandPool(VkDevice device, VkCommandPool pool,
                                              VkCommandPoolTrimFlags flags)
{
    (void)device, (void)flags;
    for (HvCommandBuffer *c = HvCommandPool_of(pool)->buffers; c; c = c->next) {
        if (!c->current)
            free_blocks(c);
    }
}

static HvCommandBuffer *buffer_new(HvCommandPool *p)
{
    HvCommandBuffer *c = object_new(NULL, &p->alloc, sizeof *c, VK_OBJECT_TYPE_COMMAND_BUFFER);
    if (!c)
        return NULL;
    c->device = p->device;
    c->pool = p;
    reset(c);
    c->next = p->buffers;
    if (c->next)
        c->next->prev = c;
    p->buffers = c;
    return c;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_AllocateCommandBuffers(VkDevice device,
                                                         const VkCommandBufferAllocateInfo *info,
                                                         VkCommandBuffer *out)
{
    HvCommandPool *p = HvCommandPool_of(info->commandPool);
    memset(out, 0, info->commandBufferCount * sizeof *out);
    for (uint32_t i = 0; i < info->commandBufferCount; i++) {
        HvCommandBuffer *c = buffer_new(p);
        if (!c) {
            hv_FreeCommandBuffers(device, info->commandPool, i, out);
            memset(out, 0, i * sizeof *out);
            return VK_ERROR_OUT_OF_HOST_MEMORY;
        }
        out[i] = (VkCommandBuffer)c;
    }
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_FreeCommandBuffers(VkDevice device, VkCommandPool pool, uint32_t n,
                                                 const VkCommandBuffer *buffers)
{
    (void)device, (void)pool;
    for (uint32_t i = 0; i < n; i++)
        buffer_free(HvCommandBuffer_of(buffers[i]));
}

VKAPI_ATTR VkResult VKAPI_CALL hv_ResetCommandBuffer(VkCommandBuffer buffer,
                                                     VkCommandBufferResetFlags flags)
{
    HvCommandBuffer *c = HvCommandBuffer_of(buffer);
    reset(c);
    if (flags & VK_COMMAND_BUFFER_RESET_RELEASE_RESOURCES_BIT)
        free_blocks(c);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_BeginCommandBuffer(VkCommandBuffer buffer,
                                                     const VkCommandBufferBeginInfo *info)
{
    (void)info;
    reset(HvCommandBuffer_of(buffer));
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_EndCommandBuffer(VkCommandBuffer buffer)
{
    return HvCommandBuffer_of(buffer)->result;
}

/* ---- what dispatches see --------------------------------------------------------------------- */

VKAPI_ATTR void VKAPI_CALL hv_CmdBindPipeline(VkCommandBuffer buffer, VkPipelineBindPoint point,
                                              VkPipeline pipeline)
{
    HvCommandBuffer *c = HvCommandBuffer_of(buffer);
    if (point != VK_PIPELINE_BIND_POINT_COMPUTE || c->now.pipeline == HvPipeline_of(pipeline))
        return;
    c->now.pipeline = HvPipeline_of(pipeline);
    c->shared = NULL;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdBindDescriptorSets(VkCommandBuffer buffer,
                                                    VkPipelineBindPoint point,
                                                    VkPipelineLayout layout, uint32_t first,
                                                    uint32_t n, const VkDescriptorSet *sets,
                                                    uint32_t n_dynamic, const uint32_t *dynamic)
{
    (void)layout;
    HvCommandBuffer *c = HvCommandBuffer_of(buffer);
    uint32_t *offsets = NULL, used = 0;
    if (point != VK_PIPELINE_BIND_POINT_COMPUTE)
        return;
    if (n_dynamic) {
        offsets = command_alloc(c, n_dynamic * sizeof *offsets);
        if (!offsets)
            return;
        memcpy(offsets, dynamic, n_dynamic * sizeof *offsets);
    }
    for (uint32_t i = 0; i < n && first + i < MAX_SETS; i++) {
        HvDescriptorSet *s = HvDescriptorSet_of(sets[i]);
        uint32_t need = s ? s->layout->n_dynamic : 0;
        bool given = need && need <= n_dynamic - used;
        c->now.sets[first + i] = s;
        c->now.dynamic[first + i] = given ? offsets + used : NULL;
        used += given ? need : 0;
    }
    c->shared = NULL;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdBindDescriptorSets2(VkCommandBuffer buffer,
                                                     const VkBindDescriptorSetsInfo *info)
{
    if (info->stageFlags & VK_SHADER_STAGE_COMPUTE_BIT)
        hv_CmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, info->layout,
                                 info->firstSet, info->descriptorSetCount, info->pDescriptorSets,
                                 info->dynamicOffsetCount, info->pDynamicOffsets);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdPushConstants(VkCommandBuffer buffer, VkPipelineLayout layout,
                                               VkShaderStageFlags stages, uint32_t offset,
                                               uint32_t size, const void *values)
{
    (void)layout, (void)stages;
    HvCommandBuffer *c = HvCommandBuffer_of(buffer);
    if (offset > MAX_PUSH || size > MAX_PUSH - offset)
        return;
    memcpy(c->now.push + offset, values, size);
    c->shared = NULL;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdPushConstants2(VkCommandBuffer buffer,
                                                const VkPushConstantsInfo *info)
{
    hv_CmdPushConstants(buffer, info->layout, info->stageFlags, info->offset, info->size,
                        info->pValues);
}

/* What was pushed stays across layouts that are identically defined ("Pipeline Layout
 * Compatibility"). */
static bool same_layout(const HvSetLayout *a, const HvSetLayout *b)
{
    bool same = a == b || (a->n_bindings == b->n_bindings && a->flags == b->flags);
    for (uint32_t i = 0; same && a != b && i < a->n_bindings; i++) {
        const HvLayoutBinding *x = &a->bindings[i], *y = &b->bindings[i];
        same = x->binding == y->binding && x->count == y->count && x->type == y->type &&
               !x->samplers && !y->samplers;
    }
    return same;
}

/* A set of the layout's that begins as a copy of the one pushed before, if that has the layout. */
static HvDescriptorSet *push_set(HvCommandBuffer *c, VkPipelineLayout layout, uint32_t number)
{
    const HvPipelineLayout *p = HvPipelineLayout_of(layout);
    HvSetLayout *l = number < MIN(p->n_sets, MAX_SETS) ? p->sets[number] : NULL;
    if (!l)
        return NULL;
    HvDescriptorSet *s = command_alloc(c, layout_set_size(l));
    HvPushedSet *pushed = s ? command_alloc(c, sizeof *pushed) : NULL;
    if (!pushed)
        return NULL;
    set_init(s, l);
    pushed->set = s;
    pushed->next = c->pushed;
    c->pushed = pushed;
    const HvDescriptorSet *before = c->now.sets[number];
    if (before && same_layout(before->layout, l))
        memcpy(s->descriptors, before->descriptors, l->n_descriptors * sizeof *s->descriptors);
    c->now.sets[number] = s;
    c->now.dynamic[number] = NULL;
    c->shared = NULL;
    return s;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdPushDescriptorSet(VkCommandBuffer buffer,
                                                   VkPipelineBindPoint point,
                                                   VkPipelineLayout layout, uint32_t number,
                                                   uint32_t n, const VkWriteDescriptorSet *writes)
{
    HvDescriptorSet *s = point == VK_PIPELINE_BIND_POINT_COMPUTE
                             ? push_set(HvCommandBuffer_of(buffer), layout, number)
                             : NULL;
    for (uint32_t i = 0; s && i < n; i++)
        set_write(s, &writes[i]);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdPushDescriptorSetWithTemplate(VkCommandBuffer buffer,
                                                               VkDescriptorUpdateTemplate t,
                                                               VkPipelineLayout layout,
                                                               uint32_t number, const void *data)
{
    HvDescriptorSet *s = push_set(HvCommandBuffer_of(buffer), layout, number);
    if (s)
        template_write(s, HvUpdateTemplate_of(t), data);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdPushDescriptorSet2(VkCommandBuffer buffer,
                                                    const VkPushDescriptorSetInfo *info)
{
    if (info->stageFlags & VK_SHADER_STAGE_COMPUTE_BIT)
        hv_CmdPushDescriptorSet(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, info->layout, info->set,
                                info->descriptorWriteCount, info->pDescriptorWrites);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdPushDescriptorSetWithTemplate2(
    VkCommandBuffer buffer, const VkPushDescriptorSetWithTemplateInfo *info)
{
    hv_CmdPushDescriptorSetWithTemplate(buffer, info->descriptorUpdateTemplate, info->layout,
                                        info->set, info->pData);
}

/* ---- dispatches ------------------------------------------------------------------------------ */

typedef struct CmdDispatch {
    HvCmd cmd;
    const HvBoundState *state;
    uint32_t base[3], groups[3];
    const char *indirect; /* where the numbers of groups are read; or NULL */
} CmdDispatch;

static void run_dispatch(HvExec *x, const HvCmd *cmd)
{
    const CmdDispatch *c = (const CmdDispatch *)cmd;
    uint32_t groups[3];
    memcpy(groups, c->indirect ? c->indirect : (const char *)c->groups, sizeof groups);
    exec_dispatch(x, c->state, groups, c->base);
}

static CmdDispatch *record_dispatch(VkCommandBuffer buffer)
{
    HvCommandBuffer *c = HvCommandBuffer_of(buffer);
    const HvBoundState *state = c->now.pipeline ? command_state(c) : NULL;
    CmdDispatch *d = state ? RECORD(c, CmdDispatch, run_dispatch) : NULL;
    if (d)
        d->state = state;
    return d;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdDispatchBase(VkCommandBuffer buffer, uint32_t bx, uint32_t by,
                                              uint32_t bz, uint32_t x, uint32_t y, uint32_t z)
{
    CmdDispatch *d = record_dispatch(buffer);
    if (!d)
        return;
    memcpy(d->base, (uint32_t[]){ bx, by, bz }, sizeof d->base);
    memcpy(d->groups, (uint32_t[]){ x, y, z }, sizeof d->groups);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdDispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y,
                                          uint32_t z)
{
    hv_CmdDispatchBase(buffer, 0, 0, 0, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdDispatchIndirect(VkCommandBuffer buffer, VkBuffer from,
                                                  VkDeviceSize offset)
{
    CmdDispatch *d = HvBuffer_of(from)->data ? record_dispatch(buffer) : NULL;
    if (d)
        d->indirect = HvBuffer_of(from)->data + offset;
}

/* ---- secondary command buffers --------------------------------------------------------------- */

typedef struct CmdExecute {
    HvCmd cmd;
    uint32_t n;
    const HvCommandBuffer *buffers[];
} CmdExecute;

static void run_execute(HvExec *x, const HvCmd *cmd)
{
    const CmdExecute *c = (const CmdExecute *)cmd;
    for (uint32_t i = 0; i < c->n; i++)
        exec_run(x, c->buffers[i]);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdExecuteCommands(VkCommandBuffer buffer, uint32_t n,
                                                 const VkCommandBuffer *buffers)
{
    HvCommandBuffer *to = HvCommandBuffer_of(buffer);
    CmdExecute *c = command_new(to, sizeof *c + n * sizeof *c->buffers, run_execute);
    if (!c)
        return;
    c->n = n;
    for (uint32_t i = 0; i < n; i++) {
        c->buffers[i] = HvCommandBuffer_of(buffers[i]);
        to->waits |= c->buffers[i]->waits;
    }
    /* What the primary's dispatches see is undefined afterwards: nothing need be done. */
}

VKAPI_ATTR void VKAPI_CALL hv_CmdSetDeviceMask(VkCommandBuffer buffer, uint32_t mask)
{
    (void)buffer, (void)mask;
}

/* ---- labels of debug utils: nothing shows them ----------------------------------------------- */

VKAPI_ATTR void VKAPI_CALL hv_CmdBeginDebugUtilsLabelEXT(VkCommandBuffer buffer,
                                                         const VkDebugUtilsLabelEXT *label)
{
    (void)buffer, (void)label;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdEndDebugUtilsLabelEXT(VkCommandBuffer buffer) { (void)buffer; }

VKAPI_ATTR void VKAPI_CALL hv_CmdInsertDebugUtilsLabelEXT(VkCommandBuffer buffer,
                                                          const VkDebugUtilsLabelEXT *label)
{
    (void)buffer, (void)label;
}
