/* SPDX-License-Identifier: MIT
 *
 * Queues of dispatches. A device that has queues is given them as they come; of any other a queue
 * is a thread, which carries them out one after the other. What a dispatch has to say is kept until
 * somebody waits.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"
#include "runtime/internal.h"

typedef struct Submission Submission;
struct Submission {
    Submission *next;  /* to be carried out */
    Submission *later; /* to be told of */
    HeddleQueue *queue;
    RuntimeRun run;
    HeddleReport *report;
    HeddleLog *log;
    HeddleResult result;
};

struct HeddleQueue {
    HeddleDevice *device;
    void *own;            /* the device's queue, where it has such: then no thread */
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t work, done;
    pthread_t thread;
    bool started, stop;
    Submission *next, **last;    /* to be carried out; last means nothing when there is none */
    Submission *first, **newest; /* nobody has waited for them yet */
    uint64_t n_submitted, n_ended;
};

static bool has_queues(const HeddleQueue *q) { return q->device->base->ops->submit; }

/* ---- carrying out ---------------------------------------------------------------------------- */

static void *queue_main(void *argument)
{
    HeddleQueue *q = argument;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        Submission *s = q->next;
        if (!s && q->stop)
            break;
        if (!s) {
            pthread_cond_wait(&q->work, &q->lock);
            continue;
        }
        pthread_mutex_unlock(&q->lock);
        s->result = run_execute(&s->run, s->log);
        pthread_mutex_lock(&q->lock);
        q->next = s->next; /* from here on it may go */
        q->n_ended++;
        pthread_cond_broadcast(&q->done);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

static HeddleResult start(HeddleQueue *q, HeddleLog *log)
{
    if (q->started || has_queues(q))
        return HEDDLE_OK;
    q->started = thread_start(&q->thread, NULL, "heddle queue", queue_main, q) == 0;
    return q->started ? HEDDLE_OK
                      : log_fail(log, HEDDLE_ERROR_MEMORY, "a queue's thread cannot be started");
}

/* Under the lock. */
static HeddleResult submit_to_thread(HeddleQueue *q, Submission *s, HeddleLog *log)
{
    HeddleResult r = start(q, log);
    if (r)
        return r;
    if (q->next)
        *q->last = s;
    else
        q->next = s;
    q->last = &s->next;
    pthread_cond_signal(&q->work);
    return HEDDLE_OK;
}

static HeddleResult hand_over(void *user)
{
    Submission *s = user;
    DeviceBase *d = s->queue->device->base;
    return d->ops->submit(d, s->queue->own, &s->run.x, &s->run.scratch, &s->run.sink);
}

/* ---- submissions ----------------------------------------------------------------------------- */

static void submission_free(Submission *s)
{
    run_free(&s->run);
    heddle_log_free(s->log);
    free(s);
}

static HeddleResult submit(HeddleQueue *q, Submission *s, HeddleLog *log)
{
    s->queue = q;
    s->run.sink = log_sink(s->log);
    pthread_mutex_lock(&q->lock);
    HeddleResult r = has_queues(q) ? log_guarded(log, &s->run.scratch, hand_over, s)
                                   : submit_to_thread(q, s, log);
    if (!r) {
        *q->newest = s;
        q->newest = &s->later;
        q->n_submitted++;
    }
    pthread_mutex_unlock(&q->lock);
    if (r)
        log_move(log, s->log);
    return r;
}

HeddleResult heddle_queue_submit(HeddleQueue *queue, HeddleKernel *kernel,
                                 const HeddleDispatch *dispatch, HeddleReport *report,
                                 HeddleLog *log)
{
    if (!queue || (kernel && kernel->device != queue->device))
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_queue_submit: no queue, or one of another device than the kernel");
    if (!sized_check(&sized_report, report, log))
        return HEDDLE_ERROR_ARGUMENT;
    Submission *s = calloc(1, sizeof *s);
    HeddleLog *own = s ? heddle_log_new(NULL, NULL) : NULL;
    if (!own) {
        free(s);
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    }
    s->log = own;
    s->report = report;
    HeddleResult r = run_prepare(&s->run, kernel, dispatch, log);
    s->run.x.untimed = !report;
    if (!r)
        r = submit(queue, s, log);
    if (r)
        submission_free(s);
    return r;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Waits for what was submitted, and takes it out of the queue, the oldest first. */
static Submission *take_ended(HeddleQueue *q)
{
    DeviceBase *d = q->device->base;
    pthread_mutex_lock(&q->lock);
    Submission *all = q->first;
    q->first = NULL;
    q->newest = &q->first;
    uint64_t end = q->n_submitted;
    while (!has_queues(q) && q->n_ended < end)
        pthread_cond_wait(&q->done, &q->lock);
    pthread_mutex_unlock(&q->lock);
    if (has_queues(q))
        d->ops->wait(d, q->own);
    for (Submission *s = all; s && has_queues(q); s = s->later)
        s->result = s->run.x.result;
    return all;
}

HeddleResult heddle_queue_wait(HeddleQueue *queue, HeddleLog *log)
{
    if (!queue)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_queue_wait: queue is NULL");
    HeddleResult worst = HEDDLE_OK;
    for (Submission *s = take_ended(queue), *later; s; s = later) {
        later = s->later;
        HeddleResult r = run_report(&s->run, s->result, s->report, s->log);
        worst = worst ? worst : r;
        log_move(log, s->log);
        submission_free(s);
    }
    return worst;
}

/* ---- queues ---------------------------------------------------------------------------------- */

HeddleResult heddle_queue_new(HeddleDevice *device, HeddleQueue **out, HeddleLog *log)
{
    if (out)
        *out = NULL;
    if (!device || !out)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_queue_new: device or out is NULL");
    HeddleQueue *q = calloc(1, sizeof *q);
    if (!q)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    q->device = device;
    q->newest = &q->first;
    DeviceBase *d = device->base;
    DiagSink sink = log_sink(log);
    HeddleResult r = has_queues(q) ? d->ops->queue_open(d, &q->own, &sink) : HEDDLE_OK;
    if (r) {
        free(q);
        return log_failed_stage(&sink, log, r, "making a queue");
    }
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->work, NULL);
    pthread_cond_init(&q->done, NULL);
    *out = q;
    return HEDDLE_OK;
}

void heddle_queue_free(HeddleQueue *queue)
{
    if (!queue)
        return;
    DeviceBase *d = queue->device->base;
    heddle_queue_wait(queue, NULL);
    pthread_mutex_lock(&queue->lock);
    queue->stop = true;
    pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    if (queue->started)
        pthread_join(queue->thread, NULL);
    if (has_queues(queue))
        d->ops->queue_close(d, queue->own);
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->work);
    pthread_cond_destroy(&queue->done);
    free(queue);
}
