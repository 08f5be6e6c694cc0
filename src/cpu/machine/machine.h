/* SPDX-License-Identifier: MIT
 *
 * machine: what a CPU is, and what was measured of CPUs.
 */
#ifndef HEDDLE_CPU_MACHINE_MACHINE_H
#define HEDDLE_CPU_MACHINE_MACHINE_H

#include "base/base.h"

/* ---- target.c: the machine ----------------------------------------------------------- */

/* Instruction sets that code is generated for: bits of CpuTarget.sets, rows of a table. */
enum {
    CPU_SSE2 = 1 << 0, /* of every x86-64 */
    CPU_F16C = 1 << 1,
    CPU_AVX2 = 1 << 2,
    CPU_AVX512 = 1 << 3, /* F, BW, DQ and VL */
    CPU_AVX512_VNNI = 1 << 4,
    CPU_AVX512_BF16 = 1 << 5,
    CPU_AVX512_FP16 = 1 << 6,
    CPU_AVX_VNNI = 1 << 7,
    CPU_AMX_INT8 = 1 << 8,
    CPU_AMX_BF16 = 1 << 9,
    CPU_NEON = 1 << 10,
    CPU_AVX_VNNI_INT8 = 1 << 11,
    CPU_AMX_FP16 = 1 << 12,
    CPU_NEON_DOT = 1 << 13,
    CPU_NEON_I8MM = 1 << 14,
    CPU_NEON_BF16 = 1 << 15,
    CPU_NEON_FHM = 1 << 16, /* products of f16 added to f32 */
    CPU_AVX512_VBMI = 1 << 17,
    CPU_N_SETS = 18,

    /* one of them: vpdpbusd, and what llvm/arith.h's dot products take */
    CPU_VNNI = CPU_AVX512_VNNI | CPU_AVX_VNNI,
    CPU_DOTS = CPU_VNNI | CPU_AVX2 | CPU_AVX512
};

typedef struct CpuTuning CpuTuning;
typedef struct CpuTarget {
    char triple[64], cpu[64];
    /* a feature of the level that this machine does not have, its architecture maybe, or "" */
    char lacks[32];
    bool foreign;         /* of another architecture: code is not even loaded */
    char *features;       /* LLVM's, "+avx512f,..." */
    uint32_t sets;        /* CPU_... */
    uint32_t vector_bits; /* the widest vector worth using: 128, 256, 512 */
    uint32_t l2_bytes;    /* of one core */
    unsigned llvm[3];     /* the version of the LLVM that generates the code */
    const CpuTuning *tuning;
} CpuTarget;
/* This machine's; `level` NULL, or a name ("x86-64-v2", "x86-64-v3", "x86-64-v4", "host"...) to
 * generate for less than it has. */
bool cpu_target(CpuTarget *t, const char *level, DiagSink *sink);
/* The same, and levels that it lacks something of: code for them must not be run. */
bool cpu_target_any(CpuTarget *t, const char *level, DiagSink *sink);
enum { CPU_MOST_LEVELS = 16 };
/* Those that it lacks nothing of, from the table's names; returns how many. */
uint32_t cpu_host_levels(const char *names[CPU_MOST_LEVELS]);
bool cpu_target_runs(const CpuTarget *t, DiagSink *sink); /* false after reporting */
void cpu_target_free(CpuTarget *t);
/* Configures this thread's tile registers as kernels want them, and puts back what was there. */
typedef struct CpuTiles {
    uint8_t config[64]; /* Intel SDM, LDTILECFG */
} CpuTiles;
CpuTiles cpu_tiles_begin(void);
void cpu_tiles_end(const CpuTiles *before);
const char *cpu_set_name(uint32_t bit); /* "avx512-vnni" */
/* Whether LLVM gathers by instructions for such a CPU. Where it takes them to be slow, it writes
 * out loads, under a mask with a branch for each. */
bool cpu_gathers(const CpuTarget *t);

/* ---- tuning.c: what was measured of machines ----------------------------------------- */

/* Numbers that change how fast a kernel runs and never what it computes. A row a kind of machine;
 * tuning.c has the measurement behind each. */
struct CpuTuning {
    const char *name;
    const char *arch, *cpu; /* that the target's triple and CPU begin with; "": any */
    uint32_t needs;         /* CPU_... */
    uint32_t vector_bits;
    uint32_t line_bytes; /* of the caches */

    /* multiply-add kernels */
    uint32_t slow;           /* CPU_...: engines that another one beats */
    uint32_t accumulators;   /* vectors of C in registers */
    uint32_t block_vectors;  /* of them side by side */
    uint32_t units_at_once;  /* of k, an iteration */
    uint32_t short_units;    /* a kernel of so many has one an iteration */
    uint32_t packed_vectors; /* of B, packed side by side */
    uint32_t blocks_to_pack; /* more blocks of C's rows than this: B is packed */
    uint32_t rows_ahead;     /* blocks of A's rows that are prefetched where A is cold: 0 or 1 */
    uint32_t queues;         /* wait queues: iterations that a prefetch is ahead at most */
    uint32_t row_ahead;      /* bytes that a prefetch is ahead in rows that follow one another */
    uint32_t row_again;      /* as far ahead they are fetched again, into L1 both times; 0: not */
    uint32_t leaps_ahead;    /* iterations that it is ahead of lanes that leap from page to page */
    bool leaps_into_l2;      /* and no nearer */
    bool slow_masked_stores; /* of all elements and of few others are faster */

    /* dispatches */
    uint32_t l2_bytes;          /* where the machine does not say */
    uint32_t spin_ns;           /* a thread waits before it sleeps */
    uint32_t strands;           /* subgroups of workgroups that run interleaved on a thread */
    uint32_t frames_percent;    /* of L2 that their memory may take */
    uint32_t panel_l2s;         /* L2 caches' worth of packed operands, kept by a thread */
    uint32_t yield_bytes;       /* streamed by a workgroup between two yields */
    uint32_t page_bytes;        /* what a vector of another page counts as, of these */
    uint32_t blocks_per_thread; /* of a dispatch, at least */
    uint32_t block_groups;      /* workgroups of a block, at most */
    uint32_t prefetch_l2s;      /* data of so many L2 caches is worth prefetching */
    uint32_t one_by_one_l2s;    /* with so much data workgroups read one row after another; 0: no */
    uint32_t panel_groups;      /* workgroups that a panel of blocks is wide */
};
const CpuTuning *cpu_tuning(const CpuTarget *t); /* by triple, cpu and sets */
const CpuTuning *cpu_host_tuning(void);          /* of this machine */
/* Of one core of this machine; the row's where it does not say. */
uint32_t cpu_host_l2_bytes(const CpuTuning *t);

#endif
