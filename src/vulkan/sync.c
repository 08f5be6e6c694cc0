/* SPDX-License-Identifier: MIT
 *
 * Fences, semaphores and events: values under the device's lock, one condition for all of them.
 */
#include "vulkan/vk.h"

uint64_t sync_deadline(uint64_t timeout)
{
    uint64_t now = clock_ns();
    return timeout > UINT64_MAX - now ? UINT64_MAX : now + timeout;
}

void sync_changed(HvDevice *d)
{
    if (d->waiting)
        pthread_cond_broadcast(&d->changed);
    for (int i = 0; i < N_QUEUES; i++) {
        if (d->queues[i])
            queue_wake(d->queues[i]);
    }
}

/* Whether the queue's next submission could hold up the thread that runs it. */
static bool may_block(const HvQueue *q)
{
    for (uint32_t i = 0; q->head && i < q->head->n_buffers; i++) {
        if (q->head->buffers[i]->waits)
            return true;
    }
    return false;
}

bool sync_wait(HvDevice *d, HvQueue *helped, uint64_t deadline)
{
    if (deadline == UINT64_MAX) {
        for (int i = 0; i < N_QUEUES; i++) {
            HvQueue *q = d->queues[i];
            if ((!helped || q == helped) && !may_block(q) && queue_step(q))
                return true;
        }
    } else if (clock_ns() >= deadline) {
        return false;
    }
    d->waiting++;
    if (deadline == UINT64_MAX) {
        pthread_cond_wait(&d->changed, &d->lock);
    } else {
        struct timespec t = { (time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u) };
        pthread_cond_timedwait(&d->changed, &d->lock, &t);
    }
    d->waiting--;
    return true;
}

/* ---- fences ---------------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateFence(VkDevice device, const VkFenceCreateInfo *info,
                                              const VkAllocationCallbacks *alloc, VkFence *out)
{
    HvFence *f = object_new(alloc, &HvDevice_of(device)->alloc, sizeof *f, VK_OBJECT_TYPE_FENCE);
    *out = TO_HANDLE(VkFence, f);
    if (!f)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    f->signaled = info->flags & VK_FENCE_CREATE_SIGNALED_BIT;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyFence(VkDevice device, VkFence fence,
                                           const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvFence_of(fence));
}

VKAPI_ATTR VkResult VKAPI_CALL hv_ResetFences(VkDevice device, uint32_t n, const VkFence *fences)
{
    HvDevice *d = HvDevice_of(device);
    pthread_mutex_lock(&d->lock);
    for (uint32_t i = 0; i < n; i++) {
        HvFence *f = HvFence_of(fences[i]);
        f->signaled = false;
        f->asked = 0;
    }
    pthread_mutex_unlock(&d->lock);
    return VK_SUCCESS;
}

/* ns: what counts as asking again at once; how long such a program is kept waiting, at first and at
 * most */
enum { AT_ONCE = 100000, PATIENCE = 500000, MOST_PATIENCE = 2000000 };

/* A program that asks again and again occupies a core that the work could use (llama.cpp's main
 * thread spins for 45 us between two questions). It gets its answer when a fence or a semaphore is
 * signaled, or later than it asked, each time by twice as much; whoever asks now and then does not
 * wait, nor who asks while nothing runs. */
static bool is_signaled(HvDevice *d, HvFence *f)
{
    uint64_t now = clock_ns();
    f->patience =
        now - f->asked >= AT_ONCE ? 0 : MIN(MAX(f->patience * 2, PATIENCE), MOST_PATIENCE);
    if (f->patience && !f->signaled && !d->lost && queues_work(d))
        sync_wait(d, NULL, now + f->patience);
    if (!f->signaled)
        f->asked = clock_ns();
    return f->signaled;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetFenceStatus(VkDevice device, VkFence fence)
{
    HvDevice *d = HvDevice_of(device);
    pthread_mutex_lock(&d->lock);
    bool signaled = is_signaled(d, HvFence_of(fence));
    pthread_mutex_unlock(&d->lock);
    if (d->lost)
        return VK_ERROR_DEVICE_LOST;
    return signaled ? VK_SUCCESS : VK_NOT_READY;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_WaitForFences(VkDevice device, uint32_t n, const VkFence *fences,
                                                VkBool32 all, uint64_t timeout)
{
    HvDevice *d = HvDevice_of(device);
    uint64_t deadline = sync_deadline(timeout);
    uint32_t signaled;
    HvQueue *helped;
    bool in_time = true;
    pthread_mutex_lock(&d->lock);
    do {
        signaled = 0;
        for (uint32_t i = 0; i < n; i++)
            signaled += HvFence_of(fences[i])->signaled;
        /* One fence's thread does not run other queues' work, which may take longer. */
        helped = n == 1 ? HvFence_of(*fences)->queue : NULL;
    } while (signaled < (all ? n : MIN(n, 1)) && !d->lost &&
             (in_time = sync_wait(d, helped, deadline)));
    pthread_mutex_unlock(&d->lock);
    if (d->lost)
        return VK_ERROR_DEVICE_LOST;
    return in_time ? VK_SUCCESS : VK_TIMEOUT;
}

/* ---- semaphores ------------------------------------------------------------------------------ */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateSemaphore(VkDevice device,
                                                  const VkSemaphoreCreateInfo *info,
                                                  const VkAllocationCallbacks *alloc,
                                                  VkSemaphore *out)
{
    const VkSemaphoreTypeCreateInfo *type =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    HvSemaphore *s =
        object_new(alloc, &HvDevice_of(device)->alloc, sizeof *s, VK_OBJECT_TYPE_SEMAPHORE);
    *out = TO_HANDLE(VkSemaphore, s);
    if (!s)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    s->timeline = type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
    s->value = s->timeline ? type->initialValue : 0;
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroySemaphore(VkDevice device, VkSemaphore semaphore,
                                               const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvSemaphore_of(semaphore));
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore,
                                                           uint64_t *out)
{
    HvDevice *d = HvDevice_of(device);
    pthread_mutex_lock(&d->lock);
    *out = HvSemaphore_of(semaphore)->value;
    pthread_mutex_unlock(&d->lock);
    return d->lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_SignalSemaphore(VkDevice device,
                                                  const VkSemaphoreSignalInfo *info)
{
    HvDevice *d = HvDevice_of(device);
    pthread_mutex_lock(&d->lock);
    HvSemaphore_of(info->semaphore)->value = info->value;
    sync_changed(d);
    pthread_mutex_unlock(&d->lock);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                                 uint64_t timeout)
{
    HvDevice *d = HvDevice_of(device);
    uint64_t deadline = sync_deadline(timeout);
    uint32_t need = info->flags & VK_SEMAPHORE_WAIT_ANY_BIT ? MIN(info->semaphoreCount, 1)
                                                            : info->semaphoreCount;
    uint32_t reached;
    bool in_time = true;
    pthread_mutex_lock(&d->lock);
    do {
        reached = 0;
        for (uint32_t i = 0; i < info->semaphoreCount; i++)
            reached += HvSemaphore_of(info->pSemaphores[i])->value >= info->pValues[i];
    } while (reached < need && !d->lost && (in_time = sync_wait(d, NULL, deadline)));
    pthread_mutex_unlock(&d->lock);
    if (d->lost)
        return VK_ERROR_DEVICE_LOST;
    return in_time ? VK_SUCCESS : VK_TIMEOUT;
}

/* ---- events ---------------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateEvent(VkDevice device, const VkEventCreateInfo *info,
                                              const VkAllocationCallbacks *alloc, VkEvent *out)
{
    (void)info;
    HvEvent *e = object_new(alloc, &HvDevice_of(device)->alloc, sizeof *e, VK_OBJECT_TYPE_EVENT);
    *out = TO_HANDLE(VkEvent, e);
    return e ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyEvent(VkDevice device, VkEvent event,
                                           const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvEvent_of(event));
}

VKAPI_ATTR VkResult VKAPI_CALL hv_GetEventStatus(VkDevice device, VkEvent event)
{
    if (HvDevice_of(device)->lost)
        return VK_ERROR_DEVICE_LOST;
    return atomic_load(&HvEvent_of(event)->set) ? VK_EVENT_SET : VK_EVENT_RESET;
}

static void set_event(HvDevice *d, HvEvent *e, bool set)
{
    pthread_mutex_lock(&d->lock);
    atomic_store(&e->set, set);
    sync_changed(d);
    pthread_mutex_unlock(&d->lock);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_SetEvent(VkDevice device, VkEvent event)
{
    set_event(HvDevice_of(device), HvEvent_of(event), true);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_ResetEvent(VkDevice device, VkEvent event)
{
    set_event(HvDevice_of(device), HvEvent_of(event), false);
    return VK_SUCCESS;
}

typedef struct CmdEvents {
    HvCmd cmd;
    bool set;
    uint32_t n;
    HvEvent *events[];
} CmdEvents;

static void run_set(HvExec *x, const HvCmd *cmd)
{
    const CmdEvents *c = (const CmdEvents *)cmd;
    set_event(x->device, c->events[0], c->set);
}

static void run_wait(HvExec *x, const HvCmd *cmd)
{
    const CmdEvents *c = (const CmdEvents *)cmd;
    HvDevice *d = x->device;
    for (uint32_t i = 0; i < c->n; i++) {
        pthread_mutex_lock(&d->lock);
        d->waiting++;
        while (!atomic_load(&c->events[i]->set) && !d->failing)
            pthread_cond_wait(&d->changed, &d->lock);
        d->waiting--;
        pthread_mutex_unlock(&d->lock);
    }
}

static void record(VkCommandBuffer buffer, uint32_t n, const VkEvent *events, bool set,
                   void (*run)(HvExec *, const HvCmd *))
{
    CmdEvents *c = command_new(HvCommandBuffer_of(buffer), sizeof *c + n * sizeof *c->events, run);
    if (!c)
        return;
    HvCommandBuffer_of(buffer)->waits |= run == run_wait;
    c->set = set;
    c->n = n;
    for (uint32_t i = 0; i < n; i++)
        c->events[i] = HvEvent_of(events[i]);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdSetEvent(VkCommandBuffer buffer, VkEvent event,
                                          VkPipelineStageFlags stages)
{
    (void)stages;
    record(buffer, 1, &event, true, run_set);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdSetEvent2(VkCommandBuffer buffer, VkEvent event,
                                           const VkDependencyInfo *info)
{
    (void)info;
    record(buffer, 1, &event, true, run_set);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdResetEvent(VkCommandBuffer buffer, VkEvent event,
                                            VkPipelineStageFlags stages)
{
    (void)stages;
    record(buffer, 1, &event, false, run_set);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdResetEvent2(VkCommandBuffer buffer, VkEvent event,
                                             VkPipelineStageFlags2 stages)
{
    (void)stages;
    record(buffer, 1, &event, false, run_set);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdWaitEvents(VkCommandBuffer buffer, uint32_t n,
                                            const VkEvent *events, VkPipelineStageFlags from,
                                            VkPipelineStageFlags to, uint32_t n_memory,
                                            const VkMemoryBarrier *memory, uint32_t n_buffers,
                                            const VkBufferMemoryBarrier *buffers, uint32_t n_images,
                                            const VkImageMemoryBarrier *images)
{
    (void)from, (void)to, (void)n_memory, (void)memory, (void)n_buffers, (void)buffers;
    (void)n_images, (void)images;
    record(buffer, n, events, false, run_wait);
}

VKAPI_ATTR void VKAPI_CALL hv_CmdWaitEvents2(VkCommandBuffer buffer, uint32_t n,
                                             const VkEvent *events, const VkDependencyInfo *infos)
{
    (void)infos;
    record(buffer, n, events, false, run_wait);
}

/* Commands run one after the other, each seeing all that those before it wrote. */
VKAPI_ATTR void VKAPI_CALL hv_CmdPipelineBarrier(
    VkCommandBuffer buffer, VkPipelineStageFlags from, VkPipelineStageFlags to,
    VkDependencyFlags flags, uint32_t n_memory, const VkMemoryBarrier *memory, uint32_t n_buffers,
    const VkBufferMemoryBarrier *buffers, uint32_t n_images, const VkImageMemoryBarrier *images)
{
    (void)buffer, (void)from, (void)to, (void)flags, (void)n_memory, (void)memory;
    (void)n_buffers, (void)buffers, (void)n_images, (void)images;
}

VKAPI_ATTR void VKAPI_CALL hv_CmdPipelineBarrier2(VkCommandBuffer buffer,
                                                  const VkDependencyInfo *info)
{
    (void)buffer, (void)info;
}
