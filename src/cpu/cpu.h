/* SPDX-License-Identifier: MIT
 *
 * cpu: the fast device. SPIR-V (after pass_pipeline) to LLVM IR to machine code, and its execution:
 * workgroups on worker threads, subgroups as calls of the machine code, invocations as SIMD lanes.
 */
#ifndef HEDDLE_CPU_H
#define HEDDLE_CPU_H

#include "cpu/machine/kernel.h"
#include "cpu/machine/machine.h"
#include "cpu/run/run.h"
#include "pass/pass.h"

/* ---- compile.c: module -> kernel ------------------------------------------------------------- */

/* Takes a private copy of the module. NULL after reporting. Thread-safe. */
CpuKernel *cpu_compile(const SpvModule *m, const CpuTarget *t, const PassOptions *passes,
                       const CpuOptions *o, DiagSink *sink);
/* What that takes, for later: with the module, and what the options of the passes point to, in
 * `arena`, which is for the caller to free. False: out of memory, and nothing is kept. */
typedef struct CpuInputs {
    Arena arena;
    const SpvModule *source;
    PassOptions passes;
    CpuOptions options;
} CpuInputs;
bool cpu_inputs_keep(CpuInputs *in, const SpvModule *source, const PassOptions *passes,
                     const CpuOptions *options);
void cpu_kernel_free(CpuKernel *k);
/* "FILE:ENTRY" into out, as profilers show the kernel; returns out. */
const char *cpu_kernel_name(char *out, size_t size, const SpvModule *m, const char *entry);
/* Whether the code generator has a rule for the opcode (what only matrices have aside). */
bool cpu_handles(uint16_t op);

/* ---- counts.c: what dispatches did, by the source's lines ------------------------------------ */

/* Of a kernel: what CpuDispatch.rows and samples point to. */
typedef struct CpuCounts {
    uint64_t *rows, *samples; /* NULL where it has no rows, no lines */
} CpuCounts;
bool cpu_counts_begin(CpuCounts *c, const CpuKernel *k); /* false: out of memory */
void cpu_counts_end(CpuCounts *c);
/* DeviceOps.lines */
uint32_t cpu_counts_lines(const CpuCounts *c, const CpuKernel *k, HeddleLine *out, uint32_t room);

/* ---- store.c: kernels that outlive the process ----------------------------------------------- */

/* A kernel that was compiled with CPU_EMIT_OBJECT, as bytes into `out` unless that is NULL; returns
 * how many. They mean something to the same build of the library on the same kind of CPU only,
 * which the caller sees to. 0: it has no object. */
size_t cpu_kernel_save(const CpuKernel *k, void *out);
/* `name`: cpu_kernel_name's, or NULL. NULL after reporting, also when the bytes are no kernel's. */
CpuKernel *cpu_kernel_load(const char *name, const void *data, size_t size, DiagSink *sink);

#endif
