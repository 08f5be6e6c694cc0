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
/* When the thread was last watched: what was left of the time between two looks, so that dispatches
 * that are shorter are looked at as often as long ones; and how long that took, of which code. */
static _Thread_local struct {
    uint64_t left, took; /* ns */
    const CpuLines *lines;
    uint32_t n_groups[3];
} last;
static struct {
    pthread_mutex_t lock;
    unsigned users;
    bool stands;
    struct sigaction before;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- a look ---------------------------------------------------------------------------------- */

static uint64_t clock_of(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
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
    uint64_t subgroup = which_subgroup(w->env), now = clock_of(CLOCK_THREAD_CPUTIME_ID);
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

/* Calls are counted: the first installs the handler, the last restores what was there. */
static void catch_signals(void)
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
static void catch_no_more(void)
{
    struct sigaction now;
    pthread_mutex_lock(&process.lock);
    if (!--process.users && process.stands && sigaction(SIGPROF, NULL, &now) == 0 &&
        now.sa_sigaction == on_signal)
        process.stands = sigaction(SIGPROF, &process.before, NULL) != 0;
    pthread_mutex_unlock(&process.lock);
}

/* ---- a thread -------------------------------------------------------------------------------- */

/* A timer costs more than a short dispatch does: where the last one like this ended long before the
 * next look is due, so will this one, it is assumed, and the time that it takes is subtracted. */
static bool ends_before_look(const CpuWatch *w)
{
    return w->samples && !w->limit_ns && last.lines == w->lines && last.left > 2 * last.took &&
           !memcmp(last.n_groups, w->env->n_groups, sizeof last.n_groups);
}

static struct timespec in_seconds(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

static void start_timer(CpuWatch *w)
{
    uint64_t ns = MAX(w->sample_ns ? w->sample_ns : w->limit_ns / LOOKS, 10000);
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
                              .sigev_signo = SIGPROF,
                              .sigev_value.sival_ptr = w };
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    bool goes_on = w->samples && last.left && last.left <= ns;
    struct itimerspec every = { in_seconds(ns), in_seconds(goes_on ? last.left : ns) };
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPROF);
    w->on = timer_create(CLOCK_MONOTONIC, &event, &w->timer) == 0;
    if (!w->on)
        return;
    catch_signals();
    w->since = clock_of(CLOCK_THREAD_CPUTIME_ID);
    w->subgroup = which_subgroup(w->env);
    watched = w;
    pthread_sigmask(SIG_UNBLOCK, &ours, &w->mask);
    timer_settime(w->timer, 0, &every, NULL);
}

/* A signal that is on its way comes before timer_delete returns, since it is not blocked. */
static void stop_timer(CpuWatch *w)
{
    struct itimerspec rest;
    if (w->samples && timer_gettime(w->timer, &rest) == 0)
        last.left = (uint64_t)rest.it_value.tv_sec * 1000000000u + (uint64_t)rest.it_value.tv_nsec;
    timer_delete(w->timer);
    watched = NULL;
    pthread_sigmask(SIG_SETMASK, &w->mask, NULL);
    catch_no_more();
}

void watch_begin(CpuWatch *w)
{
    w->began = clock_of(CLOCK_MONOTONIC);
    w->on = false;
    if (!ends_before_look(w))
        start_timer(w);
}

void watch_end(CpuWatch *w)
{
    uint64_t took = clock_of(CLOCK_MONOTONIC) - w->began;
    if (w->on)
        stop_timer(w);
    else
        last.left -= MIN(took, last.left);
    last.took = took;
    last.lines = w->samples ? w->lines : NULL;
    memcpy(last.n_groups, w->env->n_groups, sizeof last.n_groups);
}
