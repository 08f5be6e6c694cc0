/* SPDX-License-Identifier: MIT
 *
 * cpu: the fast device. SPIR-V (after pass_pipeline) to LLVM IR to machine code, and its execution:
 * workgroups on worker threads, subgroups as calls of the machine code, invocations as SIMD lanes.
 */
#ifndef HEDDLE_CPU_H
#define HEDDLE_CPU_H

#include "device/device.h"
#include "pass/pass.h"

/* ---- machine/target.c: the machine ----------------------------------------------------------- */

/* Instruction sets that code is generated for: bits of CpuTarget.sets, rows of a table. */
enum {
    CPU_F16C = 1 << 0,
    CPU_AVX2 = 1 << 1,
    CPU_AVX512 = 1 << 2,            /* F, BW, DQ and VL */
    CPU_AVX512_VNNI = 1 << 3,
    CPU_AVX512_BF16 = 1 << 4,
    CPU_AVX512_FP16 = 1 << 5,
    CPU_AVX_VNNI = 1 << 6,
    CPU_AMX_INT8 = 1 << 7,
    CPU_AMX_BF16 = 1 << 8,
    CPU_NEON = 1 << 9,
    CPU_N_SETS = 10
};

typedef struct CpuTuning CpuTuning;
typedef struct CpuTarget {
    char triple[64], cpu[64];
    char lacks[32];             /* a feature of the level that this machine does not have, or "" */
    char *features;             /* LLVM's, "+avx512f,..." */
    uint32_t sets;              /* CPU_... */
    uint32_t vector_bits;       /* the widest vector worth using: 128, 256, 512 */
    uint32_t l2_bytes;          /* of one core */
    unsigned llvm[3];           /* the version of the LLVM that generates the code */
    const CpuTuning *tuning;
} CpuTarget;
/* This machine's; `level` NULL, or a name ("x86-64-v2", "x86-64-v3", "x86-64-v4", "host"...) to
 * generate for less than it has. */
bool cpu_target(CpuTarget *t, const char *level, DiagSink *sink);
/* The same, and levels that it lacks something of: code for them must not be run. */
bool cpu_target_any(CpuTarget *t, const char *level, DiagSink *sink);
bool cpu_target_runs(const CpuTarget *t, DiagSink *sink);   /* false after reporting */
void cpu_target_free(CpuTarget *t);
const char *cpu_set_name(uint32_t bit); /* "avx512-vnni" */
/* gemm/engines.c: those that the code makes use of. */
uint32_t cpu_sets_used(const CpuTarget *t);

/* ---- machine/tuning.c: what was measured of machines ----------------------------------------- */

/* Numbers that change how fast a kernel runs and never what it computes. A row a kind of machine;
 * tuning.c has the measurement behind each. */
struct CpuTuning {
    const char *name;
    const char *arch;               /* that the target's triple begins with; "": any */
    uint32_t needs;                 /* CPU_... */
    uint32_t vector_bits;
    uint32_t line_bytes;            /* of the caches */

    /* multiply-add kernels */
    uint32_t accumulators;          /* vectors of C in registers */
    uint32_t block_vectors;         /* of them side by side */
    uint32_t units_at_once;         /* of k, an iteration */
    uint32_t short_units;           /* a kernel of so many has one an iteration */
    uint32_t packed_vectors;        /* of B, packed side by side */
    uint32_t blocks_to_pack;        /* more blocks of C's rows than this: B is packed */
    uint32_t queues;                /* wait queues: iterations that a prefetch is ahead at most */

    /* dispatches */
    uint32_t l2_bytes;              /* where the machine does not say */
    uint32_t spin_ns;               /* a thread waits before it sleeps */
    uint32_t strands;               /* subgroups of workgroups that run interleaved on a thread */
    uint32_t frames_percent;        /* of L2 that their memory may take */
    uint32_t yield_bytes;           /* streamed by a workgroup between two yields */
    uint32_t blocks_per_thread;     /* of a dispatch, at least */
    uint32_t block_groups;          /* workgroups of a block, at most */
    uint32_t prefetch_l2s;          /* data of so many L2 caches is worth prefetching */
    uint32_t panel_groups;          /* workgroups that a panel of blocks is wide */
};
const CpuTuning *cpu_tuning(const char *triple, uint32_t sets);
const CpuTuning *cpu_host_tuning(void);             /* of this machine */
/* Of one core of this machine; the row's where it does not say. */
uint32_t cpu_host_l2_bytes(const CpuTuning *t);

/* ---- what machine code and runtime share: the ABI -------------------------------------------- */

/* The subgroup's view of its run; the kernel's only argument. Field order is ABI: the code
 * generator uses offsetof. The exec side derives from it (its own fields follow this struct). */
typedef struct CpuEnv CpuEnv;
struct CpuEnv {
    const DeviceBinding *const *slots; /* by CpuSlot number: an array of slot.count descriptors */
    const void *push;               /* push constants */
    void *shared;                   /* workgroup memory, 64-byte aligned */
    /* this subgroup's memory for matrices and large private arrays, 64-byte aligned,
     * kernel.frame_bytes */
    void *frame;
    /* this thread's: what is in it is gone after a barrier or yield. 64-byte aligned,
     * kernel.scratch_bytes */
    void *scratch;
    uint32_t group[3];              /* WorkgroupId */
    uint32_t n_groups[3];           /* NumWorkgroups */
    uint32_t local_size[3];         /* WorkgroupSize: constant in most kernels, passed for OpenCL */
    uint32_t global_offset[3];      /* OpenCL's */
    uint32_t enqueued_size[3];      /* of all workgroups but the last ones, which may be smaller */
    uint32_t global_size[3];        /* invocations of the dispatch */
    uint32_t work_dim;
    uint32_t subgroup;              /* SubgroupId */
    uint32_t n_subgroups;
    uint32_t yield_every;           /* back edges of matrix loops between two yields; 0 = never */
    uint32_t yield_count;
    uint32_t prefetch;              /* whether loops that ask for wait queues are to look ahead */
    uint32_t beyond_l2;             /* whether the dispatch's data exceeds the second-level cache */
    /* workgroup control barrier: returns when all subgroups arrived */
    void (*barrier)(CpuEnv *env);
    void (*yield)(CpuEnv *env);     /* lets the other workgroups interleaved on this core advance */
    uint64_t *stats;                /* DEVICE_STAT_* counters, or NULL */
    uint64_t shared_bytes;          /* at `shared`: kernel.shared_bytes and the dispatch's own */
    const uint32_t *counts;         /* by CpuSlot number: how many descriptors there are; not 0 */
    /* printf; may be NULL. format: the address of its text; args: n words, each for all lanes */
    void (*print)(CpuEnv *env, uint64_t format, const uint64_t *args, uint32_t n,
                  const uint64_t *lane_mask);
};
typedef void CpuSubgroupFn(CpuEnv *env);

/* ---- compile.c: module -> kernel ------------------------------------------------------------- */

typedef struct CpuSlot {
    /* count: array size, 1 for a single one; UINT32_MAX for a runtime array */
    uint32_t set, binding, count;
    /* SpvStorageClassStorageBuffer, Uniform; UniformConstant: images, samplers */
    uint32_t storage;
    bool written;
} CpuSlot;

typedef enum CpuEmit {
    CPU_EMIT_NOTHING,
    CPU_EMIT_SPIRV,                 /* the module that LLVM IR is made from */
    CPU_EMIT_LLVM,
    CPU_EMIT_LLVM_OPTIMISED,
    CPU_EMIT_ASM,
    CPU_EMIT_OBJECT
} CpuEmit;

typedef struct CpuOptions {
    /* 8, 16, 32, 64, 128; 0 = the kernel's required size, else 32 */
    uint32_t subgroup_size;
    uint32_t local_size[3];         /* for kernels that leave it open; 0 = 1 */
    /* robustBufferAccess2: out-of-bounds reads give 0, writes are dropped */
    bool robust;
    bool stats;                     /* count into CpuEnv.stats */
    bool optimise;                  /* false: -O0, the passes' minimum; for tests */
    CpuEmit emit;                   /* also keep this text (or object) in the kernel */
} CpuOptions;

/* Immutable once made, usable from many threads at once. store.c knows the pointers in it. */
typedef struct CpuKernel {
    CpuSubgroupFn *code;
    CpuSlot *slots;
    uint32_t n_slots;
    uint32_t subgroup_size;
    uint32_t local_size[3];         /* 0 where CpuEnv decides */
    uint64_t shared_bytes, frame_bytes, scratch_bytes, push_bytes;
    uint32_t stack_bytes;           /* a fiber of it needs */
    uint32_t max_invocations;       /* of a workgroup; 0 = any number */
    bool has_barrier;               /* subgroups of a workgroup must run interleaved */
    bool can_yield;                 /* has a matrix loop with yields */
    /* of that loop, a workgroup: what the interleaving decision is made from; 0 unknown */
    uint64_t stream_bytes_per_step;
    char *text; size_t text_size;   /* what CpuOptions.emit asked for */
    double seconds_passes, seconds_llvm; /* spent compiling */
    struct CpuCode *owner;          /* the JIT's memory */
} CpuKernel;

/* Takes a private copy of the module. NULL after reporting. Thread-safe. */
CpuKernel *cpu_compile(const SpvModule *m, const CpuTarget *t, const PassOptions *passes,
                       const CpuOptions *o, DiagSink *sink);
void cpu_kernel_free(CpuKernel *k);
/* Whether the code generator has a rule for the opcode (what only matrices have aside). */
bool cpu_handles(uint16_t op);

/* ---- store.c: kernels that outlive the process ----------------------------------------------- */

/* A kernel that was compiled with CPU_EMIT_OBJECT, as bytes into `out` unless that is NULL; returns
 * how many. They mean something to the same build of the library on the same kind of CPU only,
 * which the caller sees to. 0: it has no object. */
size_t cpu_kernel_save(const CpuKernel *k, void *out);
/* NULL after reporting, also when the bytes are no kernel's. */
CpuKernel *cpu_kernel_load(const void *data, size_t size, DiagSink *sink);
/* ---- exec.c: running ------------------------------------------------------------------------- */

typedef struct CpuDevice CpuDevice; /* worker threads with their stacks; no other state */
/* threads: 0 = one a core; faults: handlers of signals end kernels that fault */
CpuDevice *cpu_device_new(uint32_t threads, bool faults, DiagSink *sink);
void cpu_device_free(CpuDevice *d);
uint32_t cpu_device_threads(const CpuDevice *d);

typedef struct CpuDispatch {
    const CpuKernel *kernel;
    const DeviceBinding *const *slots; /* by the kernel's slot numbers */
    /* how many descriptors each slot has, at least 1; may be NULL where none is an array */
    const uint32_t *counts;
    const void *push;
    uint32_t groups[3], base_group[3];
    uint32_t local_size[3];         /* for kernels that leave it open */
    uint32_t global_offset[3];
    /* OpenCL's, where the workgroups run are the smaller ones at an edge; 0 = as those run */
    uint32_t enqueued_size[3], n_groups[3], global_size[3];
    uint32_t work_dim;              /* 0 = 3 */
    uint64_t local_bytes;           /* OpenCL's dynamic local memory behind kernel->shared_bytes */
    uint32_t max_threads;           /* 0 = all */
    int interleave;                 /* workgroups sharing a core: 0 = decide, 1 = off, 16 = 4x4 */
    bool prefetch;                  /* loops that ask for wait queues look ahead: false = decide */
    uint64_t stats[DEVICE_N_STATS];    /* out, added to */
    DeviceFault fault;                 /* out: what ended it before its time */
    void (*print)(void *user, const char *format, const uint64_t *words, uint32_t n); void *user;
} CpuDispatch;
/* Runs to completion; several threads may dispatch on one device at once. False after reporting. */
bool cpu_dispatch(CpuDevice *d, CpuDispatch *dispatch, DiagSink *sink);

#endif
