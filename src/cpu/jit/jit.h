/* SPDX-License-Identifier: MIT
 *
 * jit: LLVM module -> machine code in this process.
 *
 * In: one LLVM module that defines `void heddle_kernel(CpuEnv *)` (external linkage) and whatever
 * it calls. Out: its address, and the text asked for. The passes are those that a code generator
 * needs which emits allocas and straight scalar or <W x T> code; see the table in jit.c.
 *
 * Ownership: every compilation has an LLVM context of its own (LLVMContextCreate), used by one
 * thread. cpu_jit takes the module and its context and disposes of both, whether it succeeds or
 * not; the machine code does not refer to them. Any thread may run the code until cpu_code_free.
 *
 * The attributes that every defined function needs (target CPU and features, vector width, stack
 * probes) are set here, so the code generator need not. The verifier runs first: invalid IR is a
 * diagnostic.
 */
#ifndef HEDDLE_CPU_JIT_JIT_H
#define HEDDLE_CPU_JIT_JIT_H

#include "cpu/machine/kernel.h"
#include "cpu/machine/lines.h"
#include "cpu/machine/machine.h"

#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>

struct CpuCode; /* the memory of one kernel's machine code */

typedef struct CpuJit {
    struct CpuCode *owner;
    CpuSubgroupFn *code;
    char *text;           /* malloc'd: what options->emit asked for, or NULL */
    size_t text_size;     /* of a text without its final NUL */
    CpuLines *lines;      /* of options->debug; or NULL */
    uint32_t stack_bytes; /* for the kernel function and what it calls, with room for libm */
    bool fast;            /* compiled as the first tier is */
    bool returns_at_barriers;
    uint64_t kept_bytes; /* of CpuEnv.kept */
    double seconds;
} CpuJit;

/* Thread-safe. False after reporting, with *out zeroed. */
bool cpu_jit(LLVMModuleRef module, LLVMContextRef context, const CpuTarget *target,
             const CpuOptions *options, CpuJit *out, DiagSink *sink);
/* The same, from what CPU_EMIT_OBJECT made, with options->debug or not; does not set stack_bytes.
 */
bool cpu_jit_load(const void *object, size_t size, const CpuOptions *options, CpuJit *out,
                  DiagSink *sink);
void cpu_code_free(struct CpuCode *code); /* NULL is fine */

/* ---- trace.c: for jit.c, once variables are values ------------------------------------------- */

bool cpu_trace_expected(LLVMModuleRef module); /* false: out of memory */

/* ---- words.c: for jit.c, once the passes are through ----------------------------------------- */

bool cpu_dot_words(LLVMModuleRef module, const CpuTarget *target); /* false: out of memory */

/* ---- dots.c: for jit.c, once the passes are through ------------------------------------------ */

void cpu_join_dots(LLVMModuleRef module);
void cpu_shift_bytes(LLVMModuleRef module); /* behind split.c and order.c, which know lanes */

/* ---- seldom.c: for jit.c, once the passes are through ---------------------------------------- */

bool cpu_sink_to_seldom(LLVMModuleRef module); /* false: out of memory */

/* ---- products.c: for jit.c, once the passes are through; vectors of 64 bytes ----------------- */

void cpu_multiply_whole(LLVMModuleRef module);

/* ---- barriers.c: for jit.c, once the passes are through -------------------------------------- */

/* Where all barriers are the kernel's own and little lives across them; sets out's fields for this.
 * Leaves variables. False: out of memory. */
bool cpu_return_at_barriers(LLVMModuleRef module, LLVMTargetDataRef layout, const CpuTarget *target,
                            CpuJit *out);
void cpu_call_barriers(LLVMModuleRef module); /* what barriers there are still */

/* ---- order.c: for jit.c, once the passes are through ----------------------------------------- */

void cpu_access_in_order(LLVMModuleRef module, LLVMTargetDataRef layout, uint32_t vector_bits);

/* ---- split.c: for jit.c, once the passes are through --------------------------------------- */

void cpu_split_blocks(LLVMModuleRef module, LLVMTargetDataRef layout, uint32_t vector_bits);

/* ---- outline.c: for jit.c, optimised or not ----------------------------------------- */

void cpu_outline_accesses(LLVMModuleRef module, uint32_t vector_bits);

/* ---- size.c: for jit.c, which tier a module is compiled for ---------------------------------- */

/* Whether everything that jit.c can do for the module takes longer than people like to wait. */
bool cpu_is_large(LLVMModuleRef module, uint32_t vector_bits);

/* ---- masks.c: before workarounds.c, optimised or not ----------------------------------------- */

bool cpu_carry_masks(LLVMModuleRef module, const CpuTarget *target); /* false: out of memory */

/* ---- workarounds.c: the last, optimised or not ----------------------------------------------- */

/* In vectors of up to known_bits the passes are taken to have found all constant lanes. */
void cpu_work_around(LLVMModuleRef module, uint32_t known_bits);

/* ---- bfloat.c: for workarounds.c ------------------------------------------------------------- */

void cpu_without_bfloats(LLVMValueRef function);

/* ---- debug.c: for jit.c, code that others look at -------------------------------------------- */

/* HEDDLE_PERF of the environment: 1, or jitdump */
typedef enum CpuPerf { CPU_PERF_NONE, CPU_PERF_MAP, CPU_PERF_DUMP } CpuPerf;
CpuPerf cpu_perf(void);
LLVMOrcLLJITBuilderRef cpu_debug_linker(void);
/* What an object says of the code that it became, with the kernel at that address. NULL: nothing,
 * or out of memory. */
CpuLines *cpu_debug_lines(LLVMMemoryBufferRef object, uintptr_t kernel);
void cpu_perf_map(const CpuLines *l, const char *kernel);

/* ---- symbols.c: the C functions that machine code may call by name ------------------------- */

typedef struct CpuSymbol {
    const char *name;
    void (*address)(void);
} CpuSymbol;

extern const CpuSymbol cpu_symbols[];
extern const uint32_t cpu_n_symbols;

#endif
