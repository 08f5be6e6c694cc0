/* SPDX-License-Identifier: MIT
 *
 * Queues. A submission stands in its queue's list until its semaphores are ready; then the queue's
 * thread runs it, or a thread that waits without a timeout, whichever comes first. One submission
 * of a queue runs at a time, in order. All of it is under the device's lock, but for the running.
 */
#include "base/thread.h"
#include "vulkan/vk.h"

static bool is_ready(const HvSubmission *s)
{
    for (uint32_t i = 0; i < s->n_waits; i++) {
        if (s->waits[i].semaphore->value < s->waits[i].value)
            return false;
    }
    return true;
}

static void finish(const HvSubmission *s)
{
    for (uint32_t i = 0; i < s->n_signals; i++)
        s->signals[i].semaphore->value = s->signals[i].value;
    if (s->fence)
        s->fence->signaled = true;
}

static bool nothing_runs(const HvDevice *d)
{
    for (int i = 0; i < N_QUEUES; i++) {
        if (d->queues[i]->running)
            return false;
    }
    return true;
}

bool queues_work(const HvDevice *d)
{
    for (int i = 0; i < N_QUEUES; i++) {
        const HvQueue *q = d->queues[i];
        if (q->running || (q->head && is_ready(q->head)))
            return true;
    }
    return false;
}

static void free_all(const HvDevice *d, HvSubmission *s)
{
    while (s) {
        HvSubmission *next = s->next;
        host_free(NULL, &d->alloc, s);
        s = next;
    }
}

/* Under the lock: what has run, for free_all. Callbacks of the application's are called by its own
 * threads only ("Host Memory"), so not by the queue's. */
static HvSubmission *take_done(HvQueue *q)
{
    HvSubmission *done = q->done;
    q->done = NULL;
    return done;
}

void queue_wake(HvQueue *q)
{
    if (!q->asleep || !q->head || q->running || !is_ready(q->head))
        return;
    q->asleep = false;
    pthread_cond_signal(&q->work);
}

bool queue_step(HvQueue *q)
{
    HvDevice *d = q->device;
    HvSubmission *s = q->head;
    if (!s || q->running || d->failing || !is_ready(s))
        return false;
    for (uint32_t i = 0; i < s->n_waits; i++) {
        if (!s->waits[i].semaphore->timeline)
            s->waits[i].semaphore->value = 0;
    }
    q->head = s->next;
    if (!q->head)
        q->tail = &q->head;
    q->running = true;
    if (s->n_buffers) {
        pthread_mutex_unlock(&d->lock);
        for (uint32_t i = 0; i < s->n_buffers && !d->failing; i++)
            exec_run(&q->exec, s->buffers[i]);
        pthread_mutex_lock(&d->lock);
    }
    if (!d->failing) /* what was cut short is never over; its waiters hear of the loss */
        finish(s);
    q->running = false;
    d->lost = d->failing && nothing_runs(d);
    /* A thread that is woken for nothing takes a core from the next submission. */
    if (s->fence || s->n_signals || !q->head || d->failing || d->waiting_for_queries)
        sync_changed(d);
    else
        queue_wake(q);
    s->next = q->done;
    q->done = s;
    return true;
}

static void *queue_main(void *user)
{
    HvQueue *q = user;
    pthread_mutex_lock(&q->device->lock);
    while (!q->stop) {
        if (queue_step(q))
            continue;
        q->asleep = true;
        pthread_cond_wait(&q->work, &q->device->lock);
        q->asleep = false;
    }
    pthread_mutex_unlock(&q->device->lock);
    return NULL;
}

HvQueue *queue_new(HvDevice *d)
{
    HvQueue *q = object_new(NULL, &d->alloc, sizeof *q, VK_OBJECT_TYPE_QUEUE);
    if (!q)
        return NULL;
    q->device = d;
    q->tail = &q->head;
    q->exec.device = d;
    pthread_cond_init(&q->work, NULL);
    return q;
}

void queue_free(HvQueue *q)
{
    if (!q)
        return;
    HvDevice *d = q->device;
    if (q->started) {
        pthread_mutex_lock(&d->lock);
        q->stop = true;
        pthread_cond_signal(&q->work);
        pthread_mutex_unlock(&d->lock);
        pthread_join(q->thread, NULL);
    }
    free_all(d, q->head);
    free_all(d, q->done);
    exec_finish(&q->exec);
    pthread_cond_destroy(&q->work);
    object_free(NULL, &d->alloc, q);
}

VkResult queue_wait(HvQueue *q)
{
    HvDevice *d = q->device;
    pthread_mutex_lock(&d->lock);
    while ((q->head || q->running || d->failing) && !d->lost)
        sync_wait(d, q, UINT64_MAX);
    HvSubmission *done = take_done(q);
    pthread_mutex_unlock(&d->lock);
    free_all(d, done);
    return d->lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_QueueWaitIdle(VkQueue queue)
{
    return queue_wait(HvQueue_of(queue));
}

/* ---- submitting ------------------------------------------------------------------------------ */

static HvSubmission *submission_new(const HvDevice *d, uint32_t n_waits, uint32_t n_signals,
                                    uint32_t n_buffers)
{
    size_t uses = ((size_t)n_waits + n_signals) * sizeof(HvSemaphoreUse);
    HvSubmission *s = host_alloc(NULL, &d->alloc, sizeof *s + uses + n_buffers * sizeof *s->buffers,
                                 VK_SYSTEM_ALLOCATION_SCOPE_DEVICE);
    if (!s)
        return NULL;
    s->waits = (HvSemaphoreUse *)(s + 1);
    s->signals = s->waits + n_waits;
    s->buffers = (HvCommandBuffer **)(s->signals + n_signals);
    s->n_waits = n_waits;
    s->n_signals = n_signals;
    s->n_buffers = n_buffers;
    return s;
}

/* A binary semaphore counts to 1. */
static HvSemaphoreUse use_of(VkSemaphore handle, uint64_t value)
{
    HvSemaphore *s = HvSemaphore_of(handle);
    return (HvSemaphoreUse){ s, s->timeline ? value : 1 };
}

static HvSubmission *of_submit(const HvDevice *d, const VkSubmitInfo *info)
{
    const VkTimelineSemaphoreSubmitInfo *t =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    uint32_t n_waits = t ? t->waitSemaphoreValueCount : 0;
    uint32_t n_signals = t ? t->signalSemaphoreValueCount : 0;
    HvSubmission *s = submission_new(d, info->waitSemaphoreCount, info->signalSemaphoreCount,
                                     info->commandBufferCount);
    if (!s)
        return NULL;
    for (uint32_t i = 0; i < s->n_waits; i++)
        s->waits[i] =
            use_of(info->pWaitSemaphores[i], i < n_waits ? t->pWaitSemaphoreValues[i] : 0);
    for (uint32_t i = 0; i < s->n_signals; i++)
        s->signals[i] =
            use_of(info->pSignalSemaphores[i], i < n_signals ? t->pSignalSemaphoreValues[i] : 0);
    for (uint32_t i = 0; i < s->n_buffers; i++)
        s->buffers[i] = HvCommandBuffer_of(info->pCommandBuffers[i]);
    return s;
}

static HvSubmission *of_submit2(const HvDevice *d, const VkSubmitInfo2 *info)
{
    HvSubmission *s = submission_new(d, info->waitSemaphoreInfoCount,
                                     info->signalSemaphoreInfoCount, info->commandBufferInfoCount);
    if (!s)
        return NULL;
    for (uint32_t i = 0; i < s->n_waits; i++)
        s->waits[i] =
            use_of(info->pWaitSemaphoreInfos[i].semaphore, info->pWaitSemaphoreInfos[i].value);
    for (uint32_t i = 0; i < s->n_signals; i++)
        s->signals[i] =
            use_of(info->pSignalSemaphoreInfos[i].semaphore, info->pSignalSemaphoreInfos[i].value);
    for (uint32_t i = 0; i < s->n_buffers; i++)
        s->buffers[i] = HvCommandBuffer_of(info->pCommandBufferInfos[i].commandBuffer);
    return s;
}

static bool start(HvQueue *q)
{
    if (!q->started)
        q->started = thread_start(&q->thread, NULL, "heddle queue", queue_main, q) == 0;
    return q->started;
}

/* Appends the chain, or frees it where `whole` says that not all of it could be made. */
static VkResult append(HvQueue *q, HvSubmission *first, HvSubmission **last, bool whole)
{
    HvDevice *d = q->device;
    VkResult r = d->lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
    pthread_mutex_lock(&d->lock);
    if (!r && (!whole || !start(q)))
        r = VK_ERROR_OUT_OF_HOST_MEMORY;
    for (HvSubmission *s = r ? NULL : first; s; s = s->next) {
        if (s->fence)
            s->fence->queue = q;
    }
    if (!r && first) {
        *q->tail = first;
        q->tail = last;
        queue_wake(q);
    }
    HvSubmission *done = take_done(q);
    pthread_mutex_unlock(&d->lock);
    free_all(d, done);
    if (r)
        free_all(d, first);
    return r;
}

static VkResult submit(HvQueue *q, uint32_t n, const VkSubmitInfo *one, const VkSubmitInfo2 *two,
                       VkFence fence)
{
    HvSubmission *first = NULL, **last = &first, *s = NULL;
    for (uint32_t i = 0; i < n; i++) {
        s = one ? of_submit(q->device, &one[i]) : of_submit2(q->device, &two[i]);
        if (!s)
            return append(q, first, last, false);
        *last = s;
        last = &s->next;
    }
    if (!s && fence) {
        *last = s = submission_new(q->device, 0, 0, 0);
        if (!s)
            return append(q, first, last, false);
        last = &s->next;
    }
    if (s)
        s->fence = HvFence_of(fence);
    return append(q, first, last, true);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_QueueSubmit(VkQueue queue, uint32_t n, const VkSubmitInfo *infos,
                                              VkFence fence)
{
    return submit(HvQueue_of(queue), n, infos, NULL, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_QueueSubmit2(VkQueue queue, uint32_t n,
                                               const VkSubmitInfo2 *infos, VkFence fence)
{
    return submit(HvQueue_of(queue), n, NULL, infos, fence);
}

/* No queue may be asked for this, as none has VK_QUEUE_SPARSE_BINDING_BIT. */
VKAPI_ATTR VkResult VKAPI_CALL hv_QueueBindSparse(VkQueue queue, uint32_t n,
                                                  const VkBindSparseInfo *infos, VkFence fence)
{
    (void)n, (void)infos;
    return submit(HvQueue_of(queue), 0, NULL, NULL, fence);
}

/* ---- labels of debug utils: nothing shows them ----------------------------------------------- */

VKAPI_ATTR void VKAPI_CALL hv_QueueBeginDebugUtilsLabelEXT(VkQueue queue,
                                                           const VkDebugUtilsLabelEXT *label)
{
    (void)queue, (void)label;
}

VKAPI_ATTR void VKAPI_CALL hv_QueueEndDebugUtilsLabelEXT(VkQueue queue) { (void)queue; }

VKAPI_ATTR void VKAPI_CALL hv_QueueInsertDebugUtilsLabelEXT(VkQueue queue,
                                                            const VkDebugUtilsLabelEXT *label)
{
    (void)queue, (void)label;
}
