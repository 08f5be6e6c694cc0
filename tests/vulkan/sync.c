/* SPDX-License-Identifier: MIT
 *
 * Fences, semaphores, events, queries: what finishes when, and what waits for what.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "gpu.h"

static VkSemaphore semaphore(Gpu *g, VkSemaphoreType type, uint64_t value)
{
    VkSemaphoreTypeCreateInfo t = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = type, .initialValue = value };
    VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &t };
    VkSemaphore s = VK_NULL_HANDLE;
    CHECK(VK(CreateSemaphore)(g->device, &info, NULL, &s) == VK_SUCCESS);
    return s;
}

static VkResult signal_semaphore(Gpu *g, VkSemaphore s, uint64_t value)
{
    VkSemaphoreSignalInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = s,
                                   .value = value };
    return VK(SignalSemaphore)(g->device, &info);
}

static VkFence fence(Gpu *g, VkFenceCreateFlags flags)
{
    VkFenceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = flags };
    VkFence f = VK_NULL_HANDLE;
    CHECK(VK(CreateFence)(g->device, &info, NULL, &f) == VK_SUCCESS);
    return f;
}

static VkCommandBuffer fill(Gpu *g, const GpuBuffer *b, uint64_t at, uint32_t value)
{
    VkCommandBuffer c = gpu_begin(g);
    VK(CmdFillBuffer)(c, b->buffer, at, 4, value);
    CHECK(VK(EndCommandBuffer)(c) == VK_SUCCESS);
    return c;
}

TEST(fences)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    VkFence set = fence(&g, VK_FENCE_CREATE_SIGNALED_BIT), f = fence(&g, 0), both[] = { set, f };
    CHECK(VK(GetFenceStatus)(g.device, set) == VK_SUCCESS);
    CHECK(VK(GetFenceStatus)(g.device, f) == VK_NOT_READY);
    CHECK(VK(WaitForFences)(g.device, 2, both, VK_TRUE, 1000000) == VK_TIMEOUT);
    CHECK(VK(WaitForFences)(g.device, 2, both, VK_FALSE, UINT64_MAX) == VK_SUCCESS);
    CHECK(VK(WaitForFences)(g.device, 1, &f, VK_TRUE, 0) == VK_TIMEOUT);
    CHECK(VK(QueueSubmit)(g.queues[0], 0, NULL, f) == VK_SUCCESS);
    CHECK(VK(WaitForFences)(g.device, 2, both, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
    CHECK(VK(ResetFences)(g.device, 2, both) == VK_SUCCESS);
    CHECK(VK(GetFenceStatus)(g.device, set) == VK_NOT_READY);
    /* Whoever asks again and again is kept waiting, but not for a fence that nothing signals. */
    for (int i = 0; i < 20; i++)
        CHECK(VK(GetFenceStatus)(g.device, f) == VK_NOT_READY);
    /* Nobody waits: the queue's own thread does it. */
    CHECK(VK(QueueSubmit)(g.queues[1], 0, NULL, f) == VK_SUCCESS);
    while (VK(GetFenceStatus)(g.device, f) == VK_NOT_READY)
        ;
    VK(DestroyFence)(g.device, set, NULL);
    VK(DestroyFence)(g.device, f, NULL);
    gpu_free(&g);
}

/* Queue 1 waits for queue 0, which waits for the host. */
TEST(timeline_semaphores)
{
    Gpu g = { 0 };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 64, &b) == VK_SUCCESS);
    VkSemaphore s = semaphore(&g, VK_SEMAPHORE_TYPE_TIMELINE, 5);
    VkCommandBuffer buffers[] = { fill(&g, &b, 0, 1), fill(&g, &b, 0, 2) };
    for (int i = 1; i >= 0; i--) {
        uint64_t wait = i ? 7 : 6, signal = i ? 8 : 7;
        VkTimelineSemaphoreSubmitInfo t = {
            .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
            .waitSemaphoreValueCount = 1, .pWaitSemaphoreValues = &wait,
            .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &signal };
        VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &t,
                                .waitSemaphoreCount = 1, .pWaitSemaphores = &s,
                                .pWaitDstStageMask = &stage, .commandBufferCount = 1,
                                .pCommandBuffers = &buffers[i], .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &s };
        CHECK(VK(QueueSubmit)(g.queues[i], 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
    }
    uint64_t value = 8;
    VkSemaphoreWaitInfo wait = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                 .semaphoreCount = 1, .pSemaphores = &s, .pValues = &value };
    CHECK(VK(WaitSemaphores)(g.device, &wait, 1000000) == VK_TIMEOUT);
    CHECK(signal_semaphore(&g, s, 6) == VK_SUCCESS);
    CHECK(VK(WaitSemaphores)(g.device, &wait, UINT64_MAX) == VK_SUCCESS);
    CHECK(VK(GetSemaphoreCounterValue)(g.device, s, &value) == VK_SUCCESS);
    CHECK_EQ_U64(value, 8);
    CHECK_EQ_U64(*(uint32_t *)b.data, 2);
    CHECK(VK(DeviceWaitIdle)(g.device) == VK_SUCCESS);
    VK(DestroySemaphore)(g.device, s, NULL);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

/* A chain of submissions that alternate between the queues. */
TEST(binary_semaphores_with_submit2)
{
    enum { STEPS = 20 };
    Gpu g = { 0 };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 64, &b) == VK_SUCCESS);
    VkSemaphore s[STEPS];
    for (uint32_t i = 0; i < STEPS; i++) {
        s[i] = semaphore(&g, VK_SEMAPHORE_TYPE_BINARY, 0);
        VkCommandBufferSubmitInfo c = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = fill(&g, &b, 0, i) };
        VkSemaphoreSubmitInfo wait = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                       .semaphore = i ? s[i - 1] : VK_NULL_HANDLE }, signal = wait;
        signal.semaphore = s[i];
        VkSubmitInfo2 submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                 .waitSemaphoreInfoCount = i > 0, .pWaitSemaphoreInfos = &wait,
                                 .commandBufferInfoCount = 1, .pCommandBufferInfos = &c,
                                 .signalSemaphoreInfoCount = 1, .pSignalSemaphoreInfos = &signal };
        CHECK(VK(QueueSubmit2)(g.queues[i % 2], 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
    }
    CHECK(VK(DeviceWaitIdle)(g.device) == VK_SUCCESS);
    CHECK_EQ_U64(*(uint32_t *)b.data, STEPS - 1);
    for (uint32_t i = 0; i < STEPS; i++)
        VK(DestroySemaphore)(g.device, s[i], NULL);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

TEST(events)
{
    Gpu g = { 0 };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 64, &b) == VK_SUCCESS);
    VkEventCreateInfo info = { .sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO };
    VkEvent e, done;
    VkFence f = fence(&g, 0);
    const bool early = getenv("HEDDLE_TEST_LOADER") != NULL; /* VUID-vkSetEvent-event-09543 */
    REQUIRE(!VK(CreateEvent)(g.device, &info, NULL, &e));
    REQUIRE(!VK(CreateEvent)(g.device, &info, NULL, &done));
    CHECK(VK(GetEventStatus)(g.device, e) == VK_EVENT_RESET);
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdWaitEvents)(c, 1, &e, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, NULL,
                      0, NULL, 0, NULL);
    VK(CmdFillBuffer)(c, b.buffer, 0, 4, 42);
    VK(CmdSetEvent)(c, done, VK_PIPELINE_STAGE_TRANSFER_BIT);
    VK(CmdResetEvent)(c, e, VK_PIPELINE_STAGE_TRANSFER_BIT);
    CHECK(VK(EndCommandBuffer)(c) == VK_SUCCESS);
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                            .pCommandBuffers = &c };
    CHECK(!early || VK(SetEvent)(g.device, e) == VK_SUCCESS);
    CHECK(VK(QueueSubmit)(g.queues[0], 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
    CHECK(early || VK(GetEventStatus)(g.device, done) == VK_EVENT_RESET);
    /* Waiting for the other queue does not wait for this one's event. */
    CHECK(VK(QueueSubmit)(g.queues[1], 0, NULL, f) == VK_SUCCESS);
    CHECK(VK(WaitForFences)(g.device, 1, &f, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
    VK(DestroyFence)(g.device, f, NULL);
    CHECK(early || VK(SetEvent)(g.device, e) == VK_SUCCESS);
    while (VK(GetEventStatus)(g.device, done) == VK_EVENT_RESET)
        ;
    CHECK(VK(QueueWaitIdle)(g.queues[0]) == VK_SUCCESS);
    CHECK(VK(GetEventStatus)(g.device, e) == VK_EVENT_RESET);
    CHECK_EQ_U64(*(uint32_t *)b.data, 42);
    VK(DestroyEvent)(g.device, e, NULL);
    VK(DestroyEvent)(g.device, done, NULL);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

TEST(timestamps)
{
    Gpu g = { 0 };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 64, &b) == VK_SUCCESS);
    VkQueryPoolCreateInfo info = { .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 3 };
    VkQueryPool pool;
    REQUIRE(VK(CreateQueryPool)(g.device, &info, NULL, &pool) == VK_SUCCESS);
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdResetQueryPool)(c, pool, 0, 3);
    VK(CmdWriteTimestamp)(c, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool, 0);
    VK(CmdWriteTimestamp2)(c, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, pool, 1);
    VK(CmdCopyQueryPoolResults)(c, pool, 0, 2, b.buffer, 0, 8, VK_QUERY_RESULT_64_BIT);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    uint64_t t[6] = { 0 };
    CHECK(VK(GetQueryPoolResults)(g.device, pool, 0, 3, sizeof t, t, 16,
                                  VK_QUERY_RESULT_64_BIT |
                                  VK_QUERY_RESULT_WITH_AVAILABILITY_BIT) == VK_NOT_READY);
    CHECK(t[1] == 1 && t[3] == 1 && t[5] == 0 && t[0] && t[0] <= t[2]);
    CHECK(!memcmp(b.data, (uint64_t[]){ t[0], t[2] }, 16));
    VK(ResetQueryPool)(g.device, pool, 0, 1);
    CHECK(VK(GetQueryPoolResults)(g.device, pool, 0, 1, 8, t, 8, VK_QUERY_RESULT_64_BIT) ==
          VK_NOT_READY);
    VK(DestroyQueryPool)(g.device, pool, NULL);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

/* Results of 32 bits with a stride, some of them not there: copied by the queue as by the host. */
TEST(queries_that_are_not_there)
{
    Gpu g = { 0 };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 128, &b) == VK_SUCCESS);
    VkQueryPoolCreateInfo info = { .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 4 };
    VkQueryPool pool;
    REQUIRE(VK(CreateQueryPool)(g.device, &info, NULL, &pool) == VK_SUCCESS);
    memset(b.data, 0x55, 128);
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdResetQueryPool)(c, pool, 0, 4);
    VK(CmdWriteTimestamp)(c, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool, 2);
    VK(CmdCopyQueryPoolResults)(c, pool, 1, 2, b.buffer, 16, 12,
                                VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    uint32_t host[6];
    memset(host, 0x55, sizeof host);
    CHECK(VK(GetQueryPoolResults)(g.device, pool, 1, 2, sizeof host, host, 12,
                                  VK_QUERY_RESULT_WITH_AVAILABILITY_BIT) == VK_NOT_READY);
    CHECK(host[0] == 0x55555555 && host[1] == 0 && host[2] == 0x55555555);
    CHECK(host[4] == 1 && host[5] == 0x55555555);
    CHECK(!memcmp((char *)b.data + 16, host, sizeof host));
    CHECK(((uint32_t *)b.data)[3] == 0x55555555 && ((uint32_t *)b.data)[10] == 0x55555555);
    uint64_t wide = 0;
    CHECK(VK(GetQueryPoolResults)(g.device, pool, 2, 1, 8, &wide, 8,
                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) == VK_SUCCESS);
    CHECK_EQ_U64((uint32_t)wide, host[3]);
    VK(DestroyQueryPool)(g.device, pool, NULL);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

static VkResult submit_at(Gpu *g, VkSemaphore s, uint64_t value, VkCommandBuffer c)
{
    VkSemaphoreSubmitInfo wait = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, .semaphore = s,
                                   .value = value,
                                   .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT };
    VkCommandBufferSubmitInfo buffer = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                         .commandBuffer = c };
    VkSubmitInfo2 submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .waitSemaphoreInfoCount = 1,
                             .pWaitSemaphoreInfos = &wait, .commandBufferInfoCount = c ? 1 : 0,
                             .pCommandBufferInfos = &buffer };
    return VK(QueueSubmit2)(g->queues[0], 1, &submit, VK_NULL_HANDLE);
}

/* Signals 2 when the other thread has not come to that within ten seconds. */
typedef struct Rescue {
    Gpu *g;
    VkSemaphore s;
    atomic_bool over, late;
} Rescue;

static void *rescue(void *user)
{
    Rescue *r = user;
    for (int k = 0; k < 1000 && !atomic_load(&r->over); k++)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    if (!atomic_load(&r->over)) {
        atomic_store(&r->late, true);
        CHECK(signal_semaphore(r->g, r->s, 2) == VK_SUCCESS);
    }
    return NULL;
}

/* A query's result is there as soon as its submission has run, also where that signals nothing and
 * the next one waits for whoever waits for the result. */
TEST(queries_before_a_submission_that_waits)
{
    Gpu g = { 0 };
    GpuBuffer b;
    enum { LARGE = 64 << 20 }; /* takes longer than waiting for the queue to begin */
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, LARGE, &b) == VK_SUCCESS);
    VkQueryPoolCreateInfo info = { .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 1 };
    VkQueryPool pool;
    REQUIRE(VK(CreateQueryPool)(g.device, &info, NULL, &pool) == VK_SUCCESS);
    VK(ResetQueryPool)(g.device, pool, 0, 1);
    VkSemaphore s = semaphore(&g, VK_SEMAPHORE_TYPE_TIMELINE, 1);
    VkCommandBuffer c = gpu_begin(&g);
    VK(CmdFillBuffer)(c, b.buffer, 0, LARGE, 1);
    VK(CmdWriteTimestamp)(c, VK_PIPELINE_STAGE_TRANSFER_BIT, pool, 0);
    CHECK(VK(EndCommandBuffer)(c) == VK_SUCCESS);
    CHECK(submit_at(&g, s, 1, c) == VK_SUCCESS);
    CHECK(submit_at(&g, s, 2, VK_NULL_HANDLE) == VK_SUCCESS);
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    Rescue r = { .g = &g, .s = s };
    pthread_t thread;
    REQUIRE(!pthread_create(&thread, NULL, rescue, &r));
    uint64_t t = 0;
    CHECK(VK(GetQueryPoolResults)(g.device, pool, 0, 1, 8, &t, 8,
                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) == VK_SUCCESS);
    CHECK(t);
    atomic_store(&r.over, true);
    pthread_join(thread, NULL);
    CHECK(!r.late);
    if (!r.late)
        CHECK(signal_semaphore(&g, s, 2) == VK_SUCCESS);
    CHECK(VK(QueueWaitIdle)(g.queues[0]) == VK_SUCCESS);
    VK(DestroySemaphore)(g.device, s, NULL);
    VK(DestroyQueryPool)(g.device, pool, NULL);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

/* One primary, pending twice on each queue, that runs one secondary twice; and one of several
 * semaphores is waited for. */
TEST(buffers_that_run_at_once)
{
    static const char source[] =
        "#version 450\n"
        "layout(binding = 0) buffer B { uint n; };\n"
        "void main() { atomicAdd(n, 1); }\n";
    Gpu g = { 0 };
    GpuBuffer b;
    GpuProgram p = { .n_types = 1 };
    REQUIRE(!gpu_new(&g) && !gpu_buffer(&g, 64, &b) && !gpu_program_glsl(&g, source, &p));
    gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
    *(uint32_t *)b.data = 0;
    VkCommandBuffer both[2];
    VkCommandBufferInheritanceInfo inherit = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO };
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
                                       .pInheritanceInfo = &inherit };
    for (int i = 1; i >= 0; i--) {
        VkCommandBufferAllocateInfo one = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = g.pool,
            .commandBufferCount = 1, .level = (VkCommandBufferLevel)i };
        REQUIRE(VK(AllocateCommandBuffers)(g.device, &one, &both[i]) == VK_SUCCESS);
        VK(BeginCommandBuffer)(both[i], &begin);
        if (i) {
            gpu_bind(both[1], &p);
            VK(CmdDispatch)(both[1], 100, 1, 1);
        } else {
            VK(CmdExecuteCommands)(both[0], 2, (VkCommandBuffer[]){ both[1], both[1] });
        }
        CHECK(VK(EndCommandBuffer)(both[i]) == VK_SUCCESS);
    }
    VkSemaphore ends[2];
    uint64_t two[2] = { 2, 2 };
    for (uint64_t i = 0; i < 4; i++) {
        if (i < 2)
            ends[i] = semaphore(&g, VK_SEMAPHORE_TYPE_TIMELINE, 0);
        uint64_t value = 1 + i / 2;
        VkTimelineSemaphoreSubmitInfo t = {
            .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
            .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &value };
        VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &t,
                                .commandBufferCount = 1, .pCommandBuffers = both,
                                .signalSemaphoreCount = 1, .pSignalSemaphores = &ends[i % 2] };
        CHECK(VK(QueueSubmit)(g.queues[i % 2], 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
    }
    VkSemaphoreWaitInfo wait = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                 .flags = VK_SEMAPHORE_WAIT_ANY_BIT, .semaphoreCount = 2,
                                 .pSemaphores = ends, .pValues = two };
    CHECK(VK(WaitSemaphores)(g.device, &wait, UINT64_MAX) == VK_SUCCESS);
    CHECK(*(volatile uint32_t *)b.data >= 400);
    wait.flags = 0;
    CHECK(VK(WaitSemaphores)(g.device, &wait, UINT64_MAX) == VK_SUCCESS);
    CHECK_EQ_U64(*(uint32_t *)b.data, 800);
    CHECK(VK(DeviceWaitIdle)(g.device) == VK_SUCCESS);
    for (int i = 0; i < 2; i++)
        VK(DestroySemaphore)(g.device, ends[i], NULL);
    gpu_program_free(&g, &p);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

/* Two threads a queue, each with its own pool and fence. */
typedef struct Submitter {
    Gpu *g;
    VkQueue queue;
    pthread_mutex_t *lock;
    GpuBuffer *buffer;
    uint32_t number;
} Submitter;

static void *submit_many(void *user)
{
    Submitter *s = user;
    Gpu own = *s->g;
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
    VK(CreateCommandPool)(own.device, &pool, NULL, &own.pool);
    VkFence f = fence(&own, 0);
    for (uint32_t i = 1; i <= 100; i++) {
        VkCommandBuffer c = fill(&own, s->buffer, 4 * s->number, i);
        VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                                .pCommandBuffers = &c };
        pthread_mutex_lock(s->lock);
        VK(QueueSubmit)(s->queue, 1, &submit, f);
        pthread_mutex_unlock(s->lock);
        CHECK(VK(WaitForFences)(own.device, 1, &f, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
        VK(ResetFences)(own.device, 1, &f);
        CHECK_EQ_U64(((uint32_t *)s->buffer->data)[s->number], i);
        VK(FreeCommandBuffers)(own.device, own.pool, 1, &c);
    }
    VK(DestroyFence)(own.device, f, NULL);
    VK(DestroyCommandPool)(own.device, own.pool, NULL);
    return NULL;
}

TEST(submissions_from_many_threads)
{
    Gpu g = { 0 };
    GpuBuffer b;
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 64, &b) == VK_SUCCESS);
    pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
    pthread_t threads[4];
    Submitter s[4];
    for (uint32_t i = 0; i < 4; i++) {
        s[i] = (Submitter){ &g, g.queues[i % 2], &locks[i % 2], &b, i };
        pthread_create(&threads[i], NULL, submit_many, &s[i]);
    }
    for (uint32_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

/* ---- threads that hand a counter to one another ---------------------------------------------- */

enum { RUNNERS = 4, LAPS = 50 };

typedef struct Relay {
    Gpu *g;
    VkQueue queue;
    pthread_mutex_t *lock;      /* the queue's */
    VkSemaphore baton;
    GpuBuffer *track;
    GpuProgram *step;
    uint32_t number;
} Relay;

/* Runner n takes over at n, n + RUNNERS, ... In every second lap it submits as soon as its queue's
 * last submission has run (one queue's begin in order), before what it waits for has. */
static void *run_laps(void *user)
{
    Relay *r = user;
    Gpu own = *r->g;
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
    CHECK(VK(CreateCommandPool)(own.device, &pool, NULL, &own.pool) == VK_SUCCESS);
    VkCommandBuffer c = gpu_begin(&own);
    gpu_bind(c, r->step);
    VK(CmdDispatch)(c, 1, 1, 1);
    VK(EndCommandBuffer)(c);
    for (uint64_t lap = 0; lap < LAPS; lap++) {
        uint64_t from = lap * RUNNERS + r->number, to = from + 1;
        uint64_t ready = from - (from && lap % 2);
        VkSemaphoreWaitInfo wait = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                     .semaphoreCount = 1, .pSemaphores = &r->baton,
                                     .pValues = &ready };
        CHECK(VK(WaitSemaphores)(own.device, &wait, UINT64_MAX) == VK_SUCCESS);
        VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
        VkTimelineSemaphoreSubmitInfo values = {
            .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
            .waitSemaphoreValueCount = 1, .pWaitSemaphoreValues = &from,
            .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &to };
        VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values,
                                .waitSemaphoreCount = 1, .pWaitSemaphores = &r->baton,
                                .pWaitDstStageMask = &stage, .commandBufferCount = 1,
                                .pCommandBuffers = &c, .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &r->baton };
        pthread_mutex_lock(r->lock);
        CHECK(VK(QueueSubmit)(r->queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
        pthread_mutex_unlock(r->lock);
        wait.pValues = &to;
        CHECK(VK(WaitSemaphores)(own.device, &wait, UINT64_MAX) == VK_SUCCESS);
    }
    VK(DestroyCommandPool)(own.device, own.pool, NULL);
    return NULL;
}

/* Each step adds what only the one before it has written. */
TEST(a_relay_over_both_queues)
{
    static const char source[] =
        "#version 450\n"
        "layout(binding = 0) buffer B { uint laps, odd; };\n"
        "void main() { laps += 1; odd = laps & 1; }\n";
    Gpu g = { 0 };
    GpuBuffer track;
    GpuProgram step = { .n_types = 1 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_buffer(&g, 64, &track) == VK_SUCCESS);
    REQUIRE(gpu_program_glsl(&g, source, &step) == VK_SUCCESS);
    gpu_write(&g, step.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, track.buffer, 0, VK_WHOLE_SIZE);
    memset(track.data, 0, 8);
    VkSemaphoreTypeCreateInfo type = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE };
    VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                   .pNext = &type };
    VkSemaphore baton;
    REQUIRE(VK(CreateSemaphore)(g.device, &info, NULL, &baton) == VK_SUCCESS);
    pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
    pthread_t threads[RUNNERS];
    Relay r[RUNNERS];
    for (uint32_t i = 0; i < RUNNERS; i++) {
        r[i] = (Relay){ &g, g.queues[i % 2], &locks[i % 2], baton, &track, &step, i };
        pthread_create(&threads[i], NULL, run_laps, &r[i]);
    }
    for (uint32_t i = 0; i < RUNNERS; i++)
        pthread_join(threads[i], NULL);
    uint64_t value = 0;
    CHECK(VK(GetSemaphoreCounterValue)(g.device, baton, &value) == VK_SUCCESS);
    CHECK_EQ_U64(value, RUNNERS * LAPS);
    CHECK_EQ_U64(((uint32_t *)track.data)[0], RUNNERS * LAPS);
    VK(DestroySemaphore)(g.device, baton, NULL);
    gpu_program_free(&g, &step);
    gpu_buffer_free(&g, &track);
    gpu_free(&g);
}
