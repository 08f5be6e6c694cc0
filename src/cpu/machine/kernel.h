/* SPDX-License-Identifier: MIT
 *
 * kernel: what those who make machine code and those who run it share: the ABI, and a compiled
 * kernel.
 */
#ifndef HEDDLE_CPU_MACHINE_KERNEL_H
#define HEDDLE_CPU_MACHINE_KERNEL_H

#include "device/device.h"

#include <stdatomic.h>

/* ---- the ABI --------------------------------------------------------------------------------- */

/* Names: of a kernel's function, and of C functions that it calls. */
#define CPU_KERNEL_NAME  "heddle_kernel"
#define CPU_CLOCK_NAME   "heddle_clock"
#define CPU_BARRIER_NAME "heddle_barrier" /* where subgroups wait for each other: jit/barriers.c */

/* Metadata of a branch in a loop whose first way is expected. */
#define CPU_EXPECTED "heddle.expected"
/* Of an alloca: what is in it nobody reads behind a barrier. */
#define CPU_SCRATCH "heddle.scratch"

/* The subgroup's view of its run; the kernel's only argument. Field order is ABI: the code
 * generator uses offsetof. The exec side derives from it (its own fields follow this struct). */
typedef struct CpuEnv CpuEnv;
typedef void *CpuPanelFn(CpuEnv *env, const uint64_t *key, uint32_t words, uint32_t kind,
                         void *own);
struct CpuEnv {
    const DeviceBinding *const *slots; /* by CpuSlot number: an array of slot.count descriptors */
    const void *push;                  /* push constants */
    void *shared;                      /* workgroup memory, 64-byte aligned */
    /* this subgroup's memory for matrices and large private arrays, 64-byte aligned,
     * kernel.frame_bytes */
    void *frame;
    /* this thread's: what is in it is gone after a barrier or yield. 64-byte aligned,
     * kernel.scratch_bytes */
    void *scratch;
    uint32_t group[3]; /* WorkgroupId */
    /* workgroups to do, this one and those after it in x (0 is one), and how many the call did, if
     * not one */
    uint32_t groups_left, groups_done;
    uint32_t n_groups[3];      /* NumWorkgroups */
    uint32_t local_size[3];    /* WorkgroupSize: constant in most kernels, passed for OpenCL */
    uint32_t global_offset[3]; /* OpenCL's */
    uint32_t enqueued_size[3]; /* of all workgroups but the last ones, which may be smaller */
    uint32_t global_size[3];   /* invocations of the dispatch */
    uint32_t work_dim;
    uint32_t subgroup; /* SubgroupId */
    uint32_t n_subgroups;
    uint32_t yield_every; /* back edges of matrix loops between two yields; 0 = never */
    uint32_t yield_count;
    uint32_t prefetch;  /* whether loops with wait queues prefetch */
    uint32_t beyond_l2; /* whether the dispatch's data is not in the second-level cache, probably */
    uint32_t unwritten; /* whether nobody writes meanwhile what the kernel only reads */
    /* workgroup control barrier: returns when all subgroups arrived */
    void (*barrier)(CpuEnv *env);
    /* Of kernels that return at barriers instead: which one the subgroup waits at; 0: none, it has
     * not begun or is through. And what it left there, 64-byte aligned, kernel.kept_bytes. */
    uint32_t resume;
    void *kept;
    void (*yield)(CpuEnv *env); /* lets the other workgroups interleaved on this core advance */
    /* The place of a packed operand that this thread may have packed before in this dispatch: what
     * `words` of `key` and `kind` say is the same, is. `packed` says whether it is there; if not,
     * the caller fills it in. It stays until the next call. Where nothing is kept, and always
     * with own_panel, it is `own`. */
    CpuPanelFn *panel, *own_panel;
    uint32_t packed;
    /* DEVICE_STAT_*, and behind them the kernel's counters, which CpuKernel.counts tells about */
    uint64_t *stats;
    uint64_t shared_bytes;  /* at `shared`: kernel.shared_bytes and the dispatch's own */
    const uint32_t *counts; /* by CpuSlot number: how many descriptors there are; not 0 */
    /* printf; may be NULL. format: the address of its text; args: n words, each for all lanes */
    void (*print)(CpuEnv *env, uint64_t format, const uint64_t *args, uint32_t n,
                  const uint64_t *lane_mask);
};
typedef void CpuSubgroupFn(CpuEnv *env);

/* ---- a kernel -------------------------------------------------------------------------------- */

typedef struct CpuSlot {
    /* count: array size, 1 for a single one; UINT32_MAX for a runtime array */
    uint32_t set, binding, count;
    /* SpvStorageClassStorageBuffer, Uniform; UniformConstant: images, samplers */
    uint32_t storage;
    bool written;
    bool apart; /* the code takes it that nothing writes to its memory: see apart.h */
} CpuSlot;

typedef enum CpuEmit {
    CPU_EMIT_NOTHING,
    CPU_EMIT_SPIRV, /* the module that LLVM IR is made from */
    CPU_EMIT_LLVM,
    CPU_EMIT_LLVM_OPTIMISED,
    CPU_EMIT_ASM,
    CPU_EMIT_OBJECT
} CpuEmit;

/* How much work goes into machine code; AUTO: little where much would take long. */
typedef enum CpuTier { CPU_TIER_FULL, CPU_TIER_FAST, CPU_TIER_AUTO } CpuTier;

typedef struct CpuOptions {
    /* 8, 16, 32, 64, 128; 0 = the kernel's required size, else 32 */
    uint32_t subgroup_size;
    uint32_t local_size[3]; /* for kernels that leave it open; 0 = 1 */
    /* robustBufferAccess2: out-of-bounds reads give 0, writes are dropped */
    bool robust;
    bool stats;       /* count into CpuEnv.stats */
    bool debug;       /* with lines, for debuggers, faults and profilers */
    bool profile;     /* with stats and debug: count by line */
    bool remarks;     /* keep CpuKernel.remarks */
    const char *name; /* of the kernel, for profilers; NULL will do. For the call */
    bool optimise;    /* false: -O0, the passes' minimum; for tests */
    bool merge;       /* CpuKernel.merges workgroups side by side, or it fails */
    CpuTier tier;     /* with optimise */
    /* where another thread says that nobody waits for the result any more; or NULL. The
     * compilation then ends soon, as one that failed, without a message */
    const atomic_bool *unwanted;
    CpuEmit emit; /* also keep this text (or object) in the kernel */
} CpuOptions;

/* A line of the source that a kernel counts what it does on. */
typedef struct CpuRow {
    char *file;
    uint32_t line;
} CpuRow;

/* A counter of a kernel's machine code stands for so many of what is counted, each time; on a line
 * where row, less 1, is one of CpuKernel.rows. */
typedef struct CpuCount {
    uint32_t counter, row, stat; /* DEVICE_STAT_* */
    uint64_t times;
} CpuCount;

/* Immutable once made, usable from many threads at once. store.c knows the pointers in it. */
typedef struct CpuKernel {
    CpuSubgroupFn *code;
    CpuSlot *slots;
    uint32_t n_slots;
    /* bits of an OpenCL kernel's arguments: as CpuSlot.apart and CpuSlot.written */
    uint64_t apart_arguments, written_arguments;
    uint32_t subgroup_size;
    uint32_t local_size[3]; /* 0 where CpuEnv decides */
    uint64_t shared_bytes, frame_bytes, scratch_bytes, push_bytes, kept_bytes;
    /* of the largest operand that may be packed once for several workgroups, and words of its key;
     * 0: there is none, or what they read might be written meanwhile */
    uint64_t panel_bytes, panel_words;
    bool panels_by_row;       /* some of them are rows' of workgroups, not columns' */
    uint32_t stack_bytes;     /* a fiber of it needs */
    uint32_t max_invocations; /* of a workgroup; 0 = any number */
    bool has_barrier;         /* subgroups of a workgroup must run interleaved */
    bool returns_at_barriers; /* CpuEnv.resume: it is to be called again */
    bool can_yield;           /* has a loop with yields (lanes/turns.c) */
    bool puts_off;            /* code asks for CpuEnv.unwritten */
    bool tiles;               /* is to run between cpu_tiles_begin and cpu_tiles_end */
    bool fast;                /* the first tier's: the same kernel could run faster */
    uint32_t groups_at_once;  /* that a call may do: CpuEnv.groups_left; 0: it does one */
    /* so many workgroups side by side are one here, with a row of all of theirs, and base_group and
     * groups of a dispatch count those (pass/merge.c); 0: each is one. may_merge: so many could */
    uint32_t merges, may_merge;
    bool has_edges; /* workgroups away from edges do less: pass_inside */
    /* of that loop, a workgroup: what the interleaving decision is made from; 0 unknown */
    uint64_t stream_bytes_per_step;
    char *text;
    size_t text_size;                    /* what CpuOptions.emit asked for */
    double seconds_passes, seconds_llvm; /* spent compiling */
    struct CpuCode *owner;               /* the JIT's memory */
    bool debug;                          /* CpuOptions.debug */
    struct CpuLines *lines;              /* of its code; NULL where there are none */
    CpuRow *rows;                        /* CpuOptions.profile */
    CpuCount *counts;                    /* CpuOptions.stats */
    uint32_t n_rows, n_counts, n_counters;
    uint32_t n_remarks;
    HeddleRemark *remarks; /* CpuOptions.remarks; their strings are the kernel's */
} CpuKernel;

#endif
