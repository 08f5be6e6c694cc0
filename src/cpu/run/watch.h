/* SPDX-License-Identifier: MIT
 *
 * watch: looks at where a thread is in a kernel, again and again, by a timer that sends it a
 * signal: for profiles, and for kernels that do not end. It needs no rights, and costs a kernel
 * nothing between two looks.
 *
 * The signal is SIGPROF, whose handler is the whole process's while anybody watches. One that was
 * not sent by our timers goes on to the handler that was there before.
 */
#ifndef HEDDLE_CPU_RUN_WATCH_H
#define HEDDLE_CPU_RUN_WATCH_H

#include "cpu/machine/lines.h"
#include "cpu/run/run.h"

#include <signal.h>
#include <time.h>

typedef struct CpuWatch {
    /* given */
    const CpuLines *lines;
    uint64_t
        *samples; /* by line of `lines`, then elsewhere; changed atomically. NULL: no profile */
    uint64_t sample_ns; /* between two looks; 0: by limit_ns */
    uint64_t limit_ns;  /* of the processor's time in one subgroup; 0: any */
    const CpuEnv *env;  /* whose workgroup and subgroup tell one from the next */
    /* watch.c's */
    uint64_t subgroup, since; /* where that was first seen, on the thread's own clock */
    uint64_t place;           /* the last one with a line */
    uint32_t file, low, high; /* lines in the second half of the limit */
    timer_t timer;
    sigset_t mask;  /* the thread's, of signals */
    uint64_t began; /* on CLOCK_MONOTONIC */
    bool on;
} CpuWatch;

/* Watches the calling thread, which is to call watch_end; does nothing where there are no timers. A
 * subgroup beyond the limit ends what is guarded (fault.h) by DEVICE_FAULT_ENDLESS. */
void watch_begin(CpuWatch *w);
void watch_end(CpuWatch *w);

#endif
