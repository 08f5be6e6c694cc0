/* SPDX-License-Identifier: MIT
 *
 * In: a thread that runs a kernel. Out: counts of where it was, or the end of what does not end
 * (contract in watch.h).
 *
 * Each thread has a timer of its own. The handler asks the kernel's own table of lines, and
 * changes nothing but counters. Whether a subgroup is still the same is told by its number, which
 * the thread writes before it runs one; a thread that is kept from running does not get older,
 * since the limit is one of the processor's time. A kernel is only ended where its own code is
 * running: the functions that it calls may have something to finish.
 */
#include "cpu/run/watch.h"
#include "cpu/run/fault.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Not in every C library. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { LOOKS = 32 }; /* within the limit, where there is no profile */

static _Thread_local __attribute__((tls_model("initial-exec"))) CpuWatch *volatile watched;
/* What was left of the time between two looks when the thread was last watched: dispatches that are
 * shorter are looked at as often as long ones. */
static _Thread_local struct timespec left;
static struct {
    pthread_mutex_t lock;
    unsigned users;
    bool stands;
    struct sigaction before;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- a look ---------------------------------------------------------------------------------- */

static uint64_t own_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t which_subgroup(const CpuEnv *e)
{
    return hash_bytes(e->group, sizeof e->group, e->subgroup);
}

static void note_line(CpuWatch *w, const CpuLine *at)
{
    if (!at)
        return;
    if (!w->low || at->file != w->file)
        w->low = w->high = at->line;
    w->file = at->file;
    w->low = MIN(w->low, at->line);
    w->high = MAX(w->high, at->line);
}

static void look_for_end(CpuWatch *w, uint64_t place, const CpuLine *at, const void *context)
{
    uint64_t subgroup = which_subgroup(w->env), now = own_time();
    if (subgroup != w->subgroup) {
        w->subgroup = subgroup;
        w->since = now;
        w->low = w->high = 0;
        return;
    }
    if (at)
        w->place = place;
    if (now - w->since > w->limit_ns / 2)
        note_line(w, at);
    if (now - w->since < w->limit_ns || place - w->lines->start >= w->lines->size)
        return;
    DeviceFault f = { .kind = DEVICE_FAULT_ENDLESS, .place = w->place ? w->place : place };
    if (w->high - w->low < 100) { /* else it was everywhere */
        f.from_line = w->low;
        f.to_line = w->high;
    }
    fault_end(&f, context);
}

static void look(CpuWatch *w, const void *context)
{
    uint64_t place = fault_place(context);
    const CpuLine *at = cpu_lines_find(w->lines, place);
    if (w->samples) {
        uint64_t *n = &w->samples[at ? (uint32_t)(at - w->lines->lines) : w->lines->n_lines];
        __atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
    }
    if (w->limit_ns)
        look_for_end(w, place, at, context);
}

/* ---- the handler ----------------------------------------------------------------------------- */

static void pass_on(int signal, siginfo_t *info, void *context)
{
    const struct sigaction *before = &process.before;
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(signal, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(signal);
    else if (before->sa_handler == SIG_DFL && info->si_code != SI_TIMER) {
        sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
        raise(signal);
    }
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    CpuWatch *w = watched;
    if (w && info->si_code == SI_TIMER && info->si_value.sival_ptr == w)
        look(w, context);
    else
        pass_on(signal, info, context);
}

void watch_catch(void)
{
    struct sigaction ours = { .sa_sigaction = on_signal,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&process.lock);
    if (!process.users++ && !process.stands)
        process.stands = sigaction(SIGPROF, &ours, &process.before) == 0;
    pthread_mutex_unlock(&process.lock);
}

/* A handler that was installed after ours may call ours as the one before it; then ours stays. */
void watch_catch_no_more(void)
{
    struct sigaction now;
    pthread_mutex_lock(&process.lock);
    if (!--process.users && process.stands && sigaction(SIGPROF, NULL, &now) == 0 &&
        now.sa_sigaction == on_signal)
        process.stands = sigaction(SIGPROF, &process.before, NULL) != 0;
    pthread_mutex_unlock(&process.lock);
}

/* ---- a thread -------------------------------------------------------------------------------- */

void watch_begin(CpuWatch *w)
{
    uint64_t ns = MAX(w->sample_ns ? w->sample_ns : w->limit_ns / LOOKS, 10000);
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
                              .sigev_signo = SIGPROF,
                              .sigev_value.sival_ptr = w };
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    struct timespec step = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
    bool goes_on = w->samples && (left.tv_sec || left.tv_nsec) && left.tv_sec <= step.tv_sec;
    struct itimerspec every = { step, goes_on ? left : step };
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPROF);
    w->on = timer_create(CLOCK_MONOTONIC, &event, &w->timer) == 0;
    if (!w->on)
        return;
    w->since = own_time();
    w->subgroup = which_subgroup(w->env);
    watched = w;
    pthread_sigmask(SIG_UNBLOCK, &ours, &w->mask);
    timer_settime(w->timer, 0, &every, NULL);
}

/* A signal that is on its way comes before timer_delete returns, since it is not blocked. */
void watch_end(CpuWatch *w)
{
    if (!w->on)
        return;
    struct itimerspec rest;
    if (w->samples && timer_gettime(w->timer, &rest) == 0)
        left = rest.it_value;
    timer_delete(w->timer);
    watched = NULL;
    pthread_sigmask(SIG_SETMASK, &w->mask, NULL);
}
