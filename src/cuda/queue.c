/* SPDX-License-Identifier: MIT
 *
 * Queues: a stream of the driver's with the dispatches on it. A dispatch that is waited for at once
 * is one on a queue that was idle.
 *
 * What a kernel does wrong ends the context: CUDA has no other way. A kernel without an end cannot
 * be stopped either, so after a while the wait is given up, and the device counts as lost. Nothing
 * else that waits for a kernel may be called before, as that would wait without an end: above all
 * copies to and from memory that is not registered.
 */
#include "cuda/internal.h"

#include <stdlib.h>
#include <time.h>

/* Dispatches without times of their own, to tell a slow queue from one that has stopped. */
enum { MARK_EVERY = 8 };

/* ---- waiting --------------------------------------------------------------------------------- */

static uint64_t patience_ns(void)
{
    const char *text = getenv("HEDDLE_GPU_TIMEOUT");
    double seconds = text && *text ? atof(text) : 10;
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

/* What the driver answers once it does not answer "not ready", or that for too long. What is short
 * is asked for all the time; else naps are a sixteenth of what has passed. */
static CuResult ask(CuResult (*query)(void *), void *of, uint64_t patience)
{
    enum { SPIN_NS = 100000, LONGEST_NAP_NS = 1000000 };
    uint64_t start = clock_ns(), passed = 0;
    CuResult result;
    while ((result = query(of)) == CU_ERROR_NOT_READY && passed <= patience) {
        struct timespec nap = { .tv_nsec = (long)MIN(passed / 16, LONGEST_NAP_NS) };
        if (passed > SPIN_NS)
            nanosleep(&nap, NULL);
        passed = clock_ns() - start;
    }
    return result;
}

static uint64_t times_patience(uint32_t n)
{
    uint64_t one = patience_ns();
    return one > UINT64_MAX / (n + 1) ? UINT64_MAX : one * n;
}

static bool lose(Cuda *c, CuResult result, DiagSink *sink)
{
    atomic_store(&c->lost, true);
    if (result != CU_ERROR_NOT_READY)
        return cuda_good(c, result, "the kernel ended the GPU's context", sink);
    diag(sink, DIAG_ERROR, NULL, NULL,
         "the kernel has not ended after %.3g s and cannot be stopped: the GPU is given up "
         "(HEDDLE_GPU_TIMEOUT=0 waits for ever)",
         (double)patience_ns() * 1e-9);
    return false;
}

static void say_lost(DiagSink *sink)
{
    diag(sink, DIAG_ERROR, NULL, NULL, "the GPU was lost to a kernel before this one");
}

bool cuda_settle(Cuda *c, CudaQueue *q, DiagSink *sink)
{
    if (atomic_load(&c->lost))
        return false;
    CuResult r = ask(c->driver->cuStreamQuery, q->stream, patience_ns());
    return !r || lose(c, r, sink);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static CudaEvents *new_events(Cuda *c, bool timed, DiagSink *sink)
{
    const CudaDriver *d = c->driver;
    CudaEvents *e = calloc(1, sizeof *e);
    if (!e)
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
    else if ((!timed || cuda_good(c, d->cuEventCreate(&e->start, 0), "making an event", sink)) &&
             cuda_good(c, d->cuEventCreate(&e->end, timed ? 0 : CU_EVENT_DISABLE_TIMING),
                       "making an event", sink))
        return e;
    if (e && e->start)
        d->cuEventDestroy_v2(e->start);
    free(e);
    return NULL;
}

static CudaEvents *take_events(Cuda *c, CudaQueue *q, bool timed, DiagSink *sink)
{
    CudaEvents *e = q->events[timed];
    if (!e)
        return new_events(c, timed, sink);
    q->events[timed] = e->next;
    return e;
}

static void give_events(CudaQueue *q, CudaEvents *e)
{
    if (!e)
        return;
    CudaEvents **list = &q->events[e->start != NULL];
    e->next = *list;
    *list = e;
}

static void free_events(Cuda *c, CudaEvents *e, bool entered)
{
    for (CudaEvents *next; e; e = next) {
        next = e->next;
        if (entered && e->start)
            c->driver->cuEventDestroy_v2(e->start);
        if (entered)
            c->driver->cuEventDestroy_v2(e->end);
        free(e);
    }
}

/* Of a context that is lost nothing can be given back. */
static void free_queue(Cuda *c, CudaQueue *q, bool entered)
{
    for (int k = 0; k < 2; k++)
        free_events(c, q->events[k], entered);
    if (entered && q->stream)
        c->driver->cuStreamDestroy_v2(q->stream);
    pthread_mutex_destroy(&q->waiting);
    pthread_mutex_destroy(&q->lock);
    free(q->held);
    free(q);
}

static CudaQueue *new_queue(Cuda *c, DiagSink *sink)
{
    CudaQueue *q = calloc(1, sizeof *q);
    if (!q) {
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&q->waiting, NULL);
    pthread_mutex_init(&q->lock, NULL);
    q->last = &q->first;
    if (cuda_good(c, c->driver->cuStreamCreate(&q->stream, CU_STREAM_NON_BLOCKING),
                  "making a stream", sink))
        return q;
    free_queue(c, q, true);
    return NULL;
}

CudaQueue *cuda_take_queue(Cuda *c, DiagSink *sink)
{
    pthread_mutex_lock(&c->lock);
    CudaQueue *q = c->queues;
    if (q)
        c->queues = q->next;
    pthread_mutex_unlock(&c->lock);
    return q ? q : new_queue(c, sink);
}

void cuda_give_queue(Cuda *c, CudaQueue *q)
{
    pthread_mutex_lock(&c->lock);
    q->next = c->queues;
    c->queues = q;
    pthread_mutex_unlock(&c->lock);
}

void cuda_free_queues(Cuda *c)
{
    bool entered = c->context && !c->lost && !c->driver->cuCtxPushCurrent_v2(c->context);
    for (CudaQueue *q = c->queues, *next; q; q = next) {
        next = q->next;
        free_queue(c, q, entered);
    }
    if (entered)
        cuda_leave(c);
}

HeddleResult cuda_queue_open(DeviceBase *d, void **out, DiagSink *sink)
{
    Cuda *c = (Cuda *)d;
    if (!cuda_enter(c, sink))
        return HEDDLE_ERROR_RUN;
    *out = cuda_take_queue(c, sink);
    cuda_leave(c);
    return *out ? HEDDLE_OK : HEDDLE_ERROR_RUN;
}

void cuda_queue_close(DeviceBase *d, void *queue) { cuda_give_queue((Cuda *)d, queue); }

/* ---- submissions ----------------------------------------------------------------------------- */

/* A dispatch whose times nobody wants has an event only now and then. */
static bool wants_events(const CudaQueue *q, const CudaJob *j)
{
    return !j->x->untimed || q->unmarked + 1 == MARK_EVERY;
}

static bool put_on_stream(Cuda *c, CudaQueue *q, CudaLaunch *l)
{
    CudaJob *j = cuda_job_of(l);
    if (wants_events(q, j) && !(j->events = take_events(c, q, !j->x->untimed, j->sink)))
        return false;
    if (!q->first)
        q->start_ns = clock_ns();
    return cuda_launch(l, q);
}

static void give_blocks(Cuda *c, CudaJob *j)
{
    if (j->tables)
        cuda_give_block(c, j->tables);
    if (j->printed)
        cuda_give_block(c, j->printed);
}

/* What of it is on the stream has to end before its memory goes. */
static void take_back(Cuda *c, CudaQueue *q, CudaJob *j)
{
    DiagSink nobody = { 0 };
    bool settled = cuda_settle(c, q, &nobody);
    give_events(q, j->events);
    if (settled)
        give_blocks(c, j);
}

static HeddleResult submit(Cuda *c, CudaQueue *q, CudaLaunch *l, DiagSink *sink)
{
    CudaJob *j = cuda_job_of(l);
    if (!cuda_enter(c, sink))
        return HEDDLE_ERROR_RUN;
    pthread_mutex_lock(&q->lock);
    uint32_t n_held = q->n_held;
    bool fine = put_on_stream(c, q, l);
    if (fine) {
        *q->last = j;
        q->last = &j->next;
        q->unmarked = j->events ? 0 : q->unmarked + 1;
    } else {
        take_back(c, q, j);
        q->n_held = n_held;
    }
    pthread_mutex_unlock(&q->lock);
    cuda_leave(c);
    return fine ? HEDDLE_OK : HEDDLE_ERROR_RUN;
}

HeddleResult cuda_submit(DeviceBase *d, void *queue, DeviceDispatch *x, Arena *scratch,
                         DiagSink *sink)
{
    return submit((Cuda *)d, queue, cuda_new_launch((Cuda *)d, x, scratch, sink), sink);
}

/* ---- the end --------------------------------------------------------------------------------- */

static DeviceFaultKind fault_kind(CuResult r)
{
    return r == CU_ERROR_NOT_READY            ? DEVICE_FAULT_NONE
           : r == CU_ERROR_ILLEGAL_ADDRESS    ? DEVICE_FAULT_ACCESS
           : r == CU_ERROR_MISALIGNED_ADDRESS ? DEVICE_FAULT_NO_ADDRESS
                                              : DEVICE_FAULT_INSTRUCTION;
}

/* From where the last dispatch ended, or the first one came, on. */
static void take_times_of(Cuda *c, CudaJob *j, CuEvent *previous, uint64_t *now)
{
    float gap = 0, ms = 0;
    if (j->x->untimed) {
        j->x->start_ns = j->x->end_ns = *now;
        return;
    }
    if (*previous)
        c->driver->cuEventElapsedTime(&gap, *previous, j->events->start);
    c->driver->cuEventElapsedTime(&ms, j->events->start, j->events->end);
    j->x->start_ns = *now + (uint64_t)((double)MAX(gap, 0) * 1e6);
    j->x->end_ns = *now = j->x->start_ns + (uint64_t)((double)MAX(ms, 0) * 1e6);
    *previous = j->events->end;
}

/* Waits for dispatches from *j on that end together, and says in *j where they do. */
static CuResult wait_for_some(Cuda *c, CudaQueue *q, CudaJob **j)
{
    uint32_t n = 1;
    while (!(*j)->events && (*j)->next) {
        *j = (*j)->next;
        n++;
    }
    return (*j)->events ? ask(c->driver->cuEventQuery, (*j)->events->end, times_patience(n))
                        : ask(c->driver->cuStreamQuery, q->stream, times_patience(n));
}

/* Those from `first` on have not ended, and never will. */
static void fail_jobs(Cuda *c, CudaJob *first, CuResult result)
{
    first->x->fault.kind = fault_kind(result);
    lose(c, result, first->sink);
    for (CudaJob *j = first; j; j = j->next) {
        j->x->result = HEDDLE_ERROR_RUN;
        if (j != first)
            say_lost(j->sink);
    }
}

/* Waits for a list of dispatches. */
static bool wait_for_jobs(Cuda *c, CudaQueue *q, CudaJob *first, uint64_t *now)
{
    CuEvent previous = NULL;
    for (CudaJob *j = first, *end; j; j = end->next) {
        end = j;
        CuResult r = wait_for_some(c, q, &end);
        if (r) {
            fail_jobs(c, j, r);
            return false;
        }
        for (CudaJob *k = j; k != end->next; k = k->next) {
            take_times_of(c, k, &previous, now);
            k->x->result = HEDDLE_OK;
            cuda_show_printed(k);
        }
    }
    return true;
}

/* Copies back what was written. The program's memory is its own again then. */
static bool copy_back(Cuda *c, CudaQueue *q, CudaJob *job)
{
    bool fine = true, some = false;
    for (uint32_t k = 0; k < q->n_held && fine; k++) {
        const CudaMirror *m = q->held[k].mirror;
        if (!q->held[k].written)
            continue;
        some = true;
        job->x->stats[DEVICE_STAT_BYTES_COPIED] += m->size;
        fine =
            cuda_good(c, c->driver->cuMemcpyDtoHAsync_v2(m->host, m->address, m->size, q->stream),
                      "copying the program's memory back", job->sink);
    }
    q->n_held = 0;
    fine = fine && (!some || cuda_settle(c, q, job->sink));
    if (!fine)
        job->x->result = HEDDLE_ERROR_RUN;
    return fine;
}

static CudaJob *take_jobs(CudaQueue *q)
{
    CudaJob *first = q->first;
    q->first = NULL;
    q->last = &q->first;
    q->unmarked = 0;
    return first;
}

static void free_jobs(Cuda *c, CudaQueue *q, CudaJob *first)
{
    for (CudaJob *j = first; j; j = j->next) {
        give_events(q, j->events);
        give_blocks(c, j);
    }
}

static CudaJob *last_of(CudaJob *j)
{
    while (j->next)
        j = j->next;
    return j;
}

/* While more comes that uses the program's memory, that cannot be copied back: it is waited for as
 * well. */
static void wait_in_context(Cuda *c, CudaQueue *q)
{
    pthread_mutex_lock(&q->lock);
    for (CudaJob *first; (first = take_jobs(q));) {
        uint64_t now = MAX(q->start_ns, q->end_ns);
        pthread_mutex_unlock(&q->lock);
        bool fine = wait_for_jobs(c, q, first, &now);
        pthread_mutex_lock(&q->lock);
        q->end_ns = now;
        if (!fine)
            q->n_held = 0;
        else if (!q->first)
            copy_back(c, q, last_of(first));
        free_jobs(c, q, first);
        if (!q->n_held)
            break;
    }
    pthread_mutex_unlock(&q->lock);
}

/* There is no way into the context, so that nobody can tell any more what runs. */
static void wait_without(Cuda *c, CudaQueue *q)
{
    pthread_mutex_lock(&q->lock);
    for (CudaJob *j = take_jobs(q); j; j = j->next) {
        atomic_store(&c->lost, true);
        j->x->result = HEDDLE_ERROR_RUN;
        say_lost(j->sink);
    }
    q->n_held = 0;
    pthread_mutex_unlock(&q->lock);
}

void cuda_wait(DeviceBase *d, void *queue)
{
    Cuda *c = (Cuda *)d;
    CudaQueue *q = queue;
    DiagSink nobody = { 0 };
    pthread_mutex_lock(&q->waiting);
    if (cuda_enter(c, &nobody)) {
        wait_in_context(c, q);
        cuda_leave(c);
    } else {
        wait_without(c, q);
    }
    pthread_mutex_unlock(&q->waiting);
}

HeddleResult cuda_dispatch(DeviceBase *d, DeviceDispatch *x, Arena *scratch, DiagSink *sink)
{
    void *q;
    CudaLaunch *l = cuda_new_launch((Cuda *)d, x, scratch, sink);
    HeddleResult r = cuda_queue_open(d, &q, sink);
    if (r)
        return r;
    r = submit((Cuda *)d, q, l, sink);
    if (!r) {
        cuda_wait(d, q);
        r = x->result;
    }
    cuda_queue_close(d, q);
    return r;
}
