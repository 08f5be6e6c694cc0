/* SPDX-License-Identifier: MIT
 *
 * Work for the queue: a command buffer that is filled, submitted and waited for.
 */
#include <stdlib.h>

#include "vkdevice/vkdevice.h"

static void free_job(VkdDevice *d, VkdJob *j)
{
    d->DestroyQueryPool(d->handle, j->times, NULL);
    d->DestroyFence(d->handle, j->fence, NULL);
    d->DestroyCommandPool(d->handle, j->pool, NULL);
    free(j);
}

static VkResult fill_job(VkdDevice *d, VkdJob *j)
{
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .queueFamilyIndex = d->family };
    VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
    VkQueryPoolCreateInfo times = { .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                    .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                    .queryCount = 2 };
    VkResult r = d->CreateCommandPool(d->handle, &pool, NULL, &j->pool);
    VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = j->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    r = r ? r : d->AllocateCommandBuffers(d->handle, &commands, &j->commands);
    if (!r && d->set_dispatch)
        r = d->set_dispatch(d->handle, j->commands);
    r = r ? r : d->CreateFence(d->handle, &fence, NULL, &j->fence);
    return r || !d->time_bits ? r : d->CreateQueryPool(d->handle, &times, NULL, &j->times);
}

static VkdJob *take_job(VkdDevice *d)
{
    pthread_mutex_lock(&d->lock);
    VkdJob *j = d->jobs;
    if (j)
        d->jobs = j->next;
    pthread_mutex_unlock(&d->lock);
    if (j)
        j->limit_ns = 0;
    return j;
}

static VkdJob *new_job(VkdDevice *d, DiagSink *sink)
{
    VkdJob *j = calloc(1, sizeof *j);
    VkResult r = j ? fill_job(d, j) : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (!r)
        return j;
    if (j)
        free_job(d, j);
    vkd_failed(d, r, "making a command buffer", sink);
    return NULL;
}

/* What came before is seen by what comes behind, on the device and on the host. */
static void barrier(VkdDevice *d, VkdJob *j)
{
    VkMemoryBarrier all = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                            .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                            .dstAccessMask =
                                VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT };
    d->CmdPipelineBarrier(j->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                          &all, 0, NULL, 0, NULL);
}

VkdJob *vkd_begin(VkdDevice *d, DiagSink *sink)
{
    VkdJob *j = take_job(d);
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT };
    if (!j)
        j = new_job(d, sink);
    VkResult r = j ? d->BeginCommandBuffer(j->commands, &begin) : VK_SUCCESS;
    if (r) {
        free_job(d, j);
        vkd_failed(d, r, "beginning a command buffer", sink);
        return NULL;
    }
    if (j)
        barrier(d, j);
    return j;
}

/* In slices, of which one passes where the machine itself stood still, or was moved to another
 * host, however long that took. */
static VkResult wait_within(VkdDevice *d, VkFence fence, uint64_t limit_ns)
{
    enum { SLICES = 64 };
    VkResult r = VK_TIMEOUT;
    for (int k = 0; k < SLICES && r == VK_TIMEOUT; k++)
        r = d->WaitForFences(d->handle, 1, &fence, VK_TRUE,
                             limit_ns ? limit_ns / SLICES : UINT64_MAX);
    return r;
}

static VkResult wait_for(VkdDevice *d, VkdJob *j)
{
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &j->commands };
    barrier(d, j);
    VkResult r = d->EndCommandBuffer(j->commands);
    if (r)
        return r;
    pthread_mutex_lock(&d->queue_lock);
    r = d->QueueSubmit(d->queue, 1, &submit, j->fence);
    pthread_mutex_unlock(&d->queue_lock);
    r = r ? r : wait_within(d, j->fence, j->limit_ns);
    r = r ? r : d->ResetFences(d->handle, 1, &j->fence);
    return r;
}

bool vkd_is_stuck(VkdDevice *d)
{
    pthread_mutex_lock(&d->lock);
    bool stuck = d->stuck;
    pthread_mutex_unlock(&d->lock);
    return stuck;
}

/* Vulkan has no way to end what was submitted: the job stays with the device. */
static HeddleResult give_up(VkdDevice *d, const VkdJob *j, DiagSink *sink)
{
    pthread_mutex_lock(&d->lock);
    d->lost = d->stuck = true;
    pthread_mutex_unlock(&d->lock);
    diag(sink, DIAG_ERROR, NULL, NULL,
         "the dispatch did not end within %g s: a loop of the kernel's may be endless, or there is "
         "that much to do (--watchdog); '%s' may still be at it, so nothing more is run on it",
         (double)j->limit_ns * 1e-9, d->facts.profile.name);
    return HEDDLE_ERROR_RUN;
}

HeddleResult vkd_run_and_keep(VkdDevice *d, VkdJob *j, DiagSink *sink)
{
    VkResult r = wait_for(d, j);
    if (!r)
        return HEDDLE_OK;
    if (r == VK_TIMEOUT)
        return give_up(d, j, sink);
    free_job(d, j); /* what failed is not used again */
    return vkd_failed(d, r, "running on the device", sink);
}

void vkd_give_back(VkdDevice *d, VkdJob *j)
{
    if (d->ResetCommandPool(d->handle, j->pool, 0)) {
        free_job(d, j);
        return;
    }
    pthread_mutex_lock(&d->lock);
    j->next = d->jobs;
    d->jobs = j;
    pthread_mutex_unlock(&d->lock);
}

HeddleResult vkd_run(VkdDevice *d, VkdJob *j, DiagSink *sink)
{
    HeddleResult r = vkd_run_and_keep(d, j, sink);
    if (!r)
        vkd_give_back(d, j);
    return r;
}

void vkd_free_jobs(VkdDevice *d)
{
    for (VkdJob *j; (j = take_job(d));)
        free_job(d, j);
}
