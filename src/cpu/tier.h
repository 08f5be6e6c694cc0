/* SPDX-License-Identifier: MIT
 *
 * tier: the second tier of kernels whose first one was compiled fast, or for workgroups of any
 * size, or for workgroups of which several could be one.
 *
 * A device has one thread that compiles, begun when the first kernel has run for long enough. A
 * kernel has what it takes to compile it once more; its dispatches ask for the code to run each
 * time, so that the better code is taken in between them. What dispatches in flight run stays until
 * the kernel goes.
 */
#ifndef HEDDLE_CPU_TIER_H
#define HEDDLE_CPU_TIER_H

#include "cpu/cpu.h"

typedef struct CpuTiers CpuTiers;
typedef struct CpuTiered CpuTiered;

/* Of a device; the target is the caller's, until cpu_tiers_free. NULL: out of memory. */
CpuTiers *cpu_tiers_new(const CpuTarget *target);
/* Waits for the pass of LLVM's, or the code generation, that is under way; NULL is fine. Kernels
 * may go later. */
void cpu_tiers_free(CpuTiers *t);

/* Whether there is something better than the code, for some size of the workgroup at least. */
bool cpu_tiered_helps(const CpuKernel *code);
/* Of a kernel that these made `first` of, which stays the caller's. NULL: out of memory. */
CpuTiered *cpu_tiered_new(CpuTiers *t, const SpvModule *source, const PassOptions *passes,
                          const CpuOptions *options, const CpuKernel *first);
/* Does not wait; NULL is fine. No dispatch may be running. */
void cpu_tiered_free(CpuTiered *k);
void cpu_tiered_compile(CpuTiered *k); /* at once, before the first dispatch */
/* The better code for workgroups of that size (NULL: of any), or NULL as long as there is none. Any
 * thread. */
const CpuKernel *cpu_tiered_code(const CpuTiered *k, const uint32_t local_size[3]);
/* A dispatch without it took that long, which may be the one that makes it worth while. Any thread.
 */
void cpu_tiered_ran(CpuTiered *k, const uint32_t local_size[3], uint64_t ns);

#endif
