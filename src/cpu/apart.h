/* SPDX-License-Identifier: MIT
 *
 * apart: the code of kernels that take buffers for different memory, as SPIR-V lets them (2.18.2),
 * and their other code for dispatches whose buffers share some. Many programs have one buffer in
 * two bindings, work in place, and say nothing of it.
 */
#ifndef HEDDLE_CPU_APART_H
#define HEDDLE_CPU_APART_H

#include "cpu/cpu.h"
#include "device/device.h"

typedef struct CpuApart CpuApart;

/* Whether some buffer's memory must not be written through another (CpuSlot.apart). */
bool cpu_assumes_apart(const CpuKernel *code);
/* Whether it may be, by a dispatch with these descriptors, so many in each slot. */
bool cpu_apart_overlaps(const CpuKernel *code, const DeviceBinding *const *slots,
                        const uint32_t *counts);
/* Of what `code` was made of, which stays the caller's, as the target does. NULL: out of memory. */
CpuApart *cpu_apart_new(const CpuTarget *t, const SpvModule *source, const PassOptions *passes,
                        const CpuOptions *options, const CpuKernel *code);
void cpu_apart_free(CpuApart *a); /* NULL is fine */
/* The code that assumes nothing, which is compiled when it is first asked for. NULL after
 * reporting. Any thread. */
const CpuKernel *cpu_apart_code(CpuApart *a, DiagSink *sink);

#endif
