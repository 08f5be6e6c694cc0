/* SPDX-License-Identifier: MIT
 *
 * run: dispatches of compiled kernels: workgroups on worker threads, subgroups as calls.
 */
#ifndef HEDDLE_CPU_RUN_RUN_H
#define HEDDLE_CPU_RUN_RUN_H

#include "cpu/machine/kernel.h"

typedef struct CpuDevice CpuDevice; /* worker threads with their stacks; no other state */
/* threads: 0 = one a core; faults: install handlers of signals that end kernels which fault */
CpuDevice *cpu_device_new(uint32_t threads, bool faults, DiagSink *sink);
void cpu_device_free(CpuDevice *d);
uint32_t cpu_device_threads(const CpuDevice *d);

typedef struct CpuDispatch {
    const CpuKernel *kernel;
    const DeviceBinding *const *slots; /* by the kernel's slot numbers */
    /* how many descriptors each slot has, at least 1; may be NULL if no slot is an array */
    const uint32_t *counts;
    const void *push;
    uint32_t groups[3], base_group[3];
    uint32_t local_size[3]; /* for kernels that leave it open */
    uint32_t global_offset[3];
    /* OpenCL: of the whole dispatch, if these workgroups are the smaller ones at its edge; 0 = the
     * same */
    uint32_t enqueued_size[3], n_groups[3], global_size[3];
    uint32_t work_dim;    /* 0 = 3 */
    uint64_t local_bytes; /* OpenCL's dynamic local memory, behind kernel->shared_bytes */
    uint32_t max_threads; /* 0 = all */
    int interleave;       /* workgroups sharing a core: 0 = decide, 1 = off, 16 = 4x4 */
    bool prefetch;        /* loops with wait queues prefetch; false = decide */
    /* out: counters, to which the dispatch's are added; either may be NULL. DEVICE_N_STATS sums;
     * kernel->n_rows times as many, which change under the device's lock */
    uint64_t *stats, *rows;
    DeviceFault fault; /* out: what ended it early */
    /* DeviceDispatch's, for a kernel with lines. Looks are counted in samples, by line of
     * kernel->lines and, behind these, elsewhere */
    uint64_t sample_ns, watchdog_ns;
    uint64_t *samples;
    void (*print)(void *user, const char *format, const uint64_t *words, uint32_t n);
    void *user;
} CpuDispatch;
/* Runs to completion; several threads may dispatch on one device at once. False after reporting. */
bool cpu_dispatch(CpuDevice *d, CpuDispatch *dispatch, DiagSink *sink);

#endif
