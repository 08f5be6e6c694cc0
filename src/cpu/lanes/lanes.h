/* SPDX-License-Identifier: MIT
 *
 * lanes: invocations as SIMD lanes. The W invocations of a subgroup are the W lanes of one function
 * `void heddle_kernel(CpuEnv *)`; a varying leaf is <W x T>. This header is for code that emits for
 * a whole subgroup: masks, loops over lanes, accesses under a mask, the kernel's environment.
 *
 * Lane masks are combined with selects (lanes_and), which keep the poison of inactive lanes out.
 */
#ifndef HEDDLE_CPU_LANES_H
#define HEDDLE_CPU_LANES_H

#include "cpu/machine/kernel.h"
#include "cpu/machine/machine.h"
#include "emit/ops.h"
#include "emit/target.h"

/* What Emit.own is: the state of one function. */
typedef struct Lanes {
    /* of the compilation; whoever calls emit_module sets these four */
    CpuKernel *kernel;
    const CpuOptions *options;
    const CpuTarget *machine;
    SpvId groups_left;          /* PassCoarse.left; 0: there is none */
    struct LanesCalled *called; /* called.c's: functions made so far */

    struct MatEmit *matrices; /* cpu/matrix's; NULL: this function has none */

    /* the lanes that exist if the workgroup is not a multiple of W; NULL: all W */
    LV entry_mask;
    struct Flow *flow;                /* flow.c's */
    struct LanesKept *kept;           /* kept.c's, by id */
    struct LanesVariables *variables; /* variables.c's */
    struct LanesTogether *together;   /* together.c's: of the current block */
    LV addresses, values;             /* by_lanes.c's memory */
    struct LanesImage *image; /* image.c's: memory that its calls share; NULL: not needed yet */
    LV *returned;             /* called.c's: allocas for the leaves that it returns */
    uint32_t n_returned;
    bool held;                      /* called.c's: it takes and returns 8-bit floats as float */
    struct LanesCounts *counts;     /* counters.c's, of the kernel; NULL: it does not count */
    struct LanesCounters *counters; /* and of this function; NULL: none yet */
    struct LanesRows *rows;         /* rows.c's; NULL: nothing is counted by lines */
    uint64_t *loop_bytes;           /* turns.c's, by Cfg.loops: what an iteration streams */
    struct LanesAhead *ahead;       /* ahead.c's; NULL: nothing is prefetched yet */
    struct LanesSeries *series;     /* series.c's; NULL: none yet */
    struct LanesInPlace *in_place;  /* in_place.c's; NULL: nothing was loaded yet */
    bool dotted;                    /* dot products want what is loaded now */
    Map expected;                   /* affine.c's LanesExpected, by value */
    uint32_t version;               /* next_group.c's: 1 + where coarse.c's version begins */
    bool seldom;                    /* what is emitted now is the seldom of two ways (access.c) */
    uint32_t n_all;                 /* by_lanes.c: accesses that have a way of all lanes */
} Lanes;
static inline Lanes *lanes_of(const Emit *e) { return e->own; }

LV lanes_ids(Emit *e); /* <W x i32> 0, 1, 2, ... */

/* ---- target.c: the table that emit knows lanes by -------------------------------------------- */

/* The rules, and the functions for matrices (`inst`, `block_begin` to `edge`, `prefetch`,
 * `settle`), are left open. */
extern const EmitTarget lanes_target;
extern const EmitRule lanes_rules_flow[], lanes_rules_subgroup[], lanes_rules_vote[],
    lanes_rules_atomic[], lanes_rules_image[];
bool lanes_plan(Emit *e);   /* EmitTarget.plan: how the blocks are laid out */
void lanes_blocks(Emit *e); /* EmitTarget.blocks */

/* width.c: as many lanes as suit a kernel whose subgroups may be of any size, e->W or more. */
uint32_t lanes_width(Emit *e);

/* ---- target.c: the kernel's environment ------------------------------------------------------ */

LV lanes_env(Emit *e, LLVMBuilderRef b, LT type, size_t offset); /* a field of CpuEnv */
/* Memory of the subgroup that outlives a stack frame, for large objects. Aligned to 64 bytes. */
LV lanes_frame(Emit *e, uint64_t bytes);
LV lanes_active(Emit *e, LV mask); /* i64: how many lanes of a mask are active */

/* ---- counters.c ------------------------------------------------------------------------------ */

void counters_begin(Emit *e); /* before emit_module, of a kernel that counts */
/* Code that is built here does n of what is counted whenever it runs (with a mask: n for each of
 * its lanes), on the line that code is built for, where the kernel counts by lines. */
void lanes_count(Emit *e, DeviceStat stat, LV mask, uint64_t n);
void counters_end(Emit *e); /* once e->fn is complete */
/* Gives the kernel its counts. False: out of memory. */
bool counters_keep(const Emit *e, CpuKernel *k);

/* ---- rows.c: lines with counters of their own ------------------------------------------------ */

void rows_begin(Emit *e);    /* before emit_module, of a kernel that counts by lines */
uint32_t rows_here(Emit *e); /* the row of the line that code is built for; 0: of none */
/* Gives the kernel its rows. False: out of memory. */
bool rows_keep(const Emit *e, CpuKernel *k);

/* ---- flow.c: masks --------------------------------------------------------------------------- */

LV lanes_mask(Emit *e); /* e->mask, or the constant of all lanes */
/* mask && condition (i1 or <W x i1>); mask NULL = all */
LV lanes_and(Emit *e, LV mask, LV condition);
LV lanes_any(Emit *e, LV mask); /* i1 */
/* i32: the lowest active lane; 0 if there is none */
LV lanes_first(Emit *e);
void flow_barrier(Emit *e); /* waits for the other subgroups of the workgroup */
/* turns.c: so many bytes of buffers are read in each iteration of the loop that code is built for,
 * on whose back edge the subgroups that share this core then take turns. */
void lanes_streams(Emit *e, uint64_t bytes);
/* What a load's address grows by in each iteration of the innermost loop around it, if it goes to
 * another page (pass.h); NULL: it does not, or differently each time. */
const PassAheadStep *lanes_far_step(Emit *e, const SpvInst *i);

/* ahead.c: where a load begins to read, if it is worth prefetching what lies further on; `bytes`:
 * how much it reads; `distance`: how far, CpuTuning.row_ahead or more, and how far a second time,
 * NULL: once is enough. NULL: it is not. */
LV lanes_row_ahead(Emit *e, const SpvInst *i, const EmitPointer *p, uint32_t *bytes,
                   LV distance[2]);

/* Runs the body once for each lane of mask (NULL: all), in ascending order; l.index is the lane,
 * i32. Lanes that the body sets in l.also, an integer of W bits, are skipped from then on. */
typedef struct LanesLoop {
    LV index, rest, also;
    LLVMBasicBlockRef body, done;
} LanesLoop;
LanesLoop lane_loop_begin(Emit *e, LV mask);
void lane_loop_end(Emit *e, LanesLoop *l);

/* ---- called.c: functions that instructions call for the elements of matrices ----------------- */

/* Calls `function` once for W lanes. Arguments are given leaf by leaf, as scalars or <W x T>; mask
 * NULL: all lanes; results are always <W x T>. False after reporting. */
typedef struct LanesCall {
    const SpvInst *inst;
    SpvId function;
    const LV *arguments;
    uint32_t n_arguments;
    LV mask;
    LV *results;
    uint32_t n_results;
    bool held; /* 8-bit floats are passed and returned as float (emit/held.c) */
} LanesCall;
bool lanes_call(Emit *e, const LanesCall *call);
/* The uniformity of the entry point, taking into account what such functions store. */
Uniformity *called_uniformity(Arena *a, SpvModule *m, const Cfg *c, uint32_t W, DiagSink *sink);

/* ---- access.c, address.c --------------------------------------------------------------------- */

bool lanes_same_address(const EmitPointer *p); /* emit_address gives a ptr */
/* Robust access: whether [byte, byte + size) is inside, i1 or <W x i1>; NULL: no test is needed. */
LV lanes_in_bounds(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size);
/* Whether the machine loads and stores vectors of elements of so many bits under a mask. */
bool lanes_has_masks(Emit *e, uint32_t bits); /* masked.c */
/* Whether it stores all elements, or a few one by one, in less time. */
bool lanes_slow_masked_stores(Emit *e, uint32_t bits);
uint32_t lanes_scalar_bits(LT scalar); /* masked.c: of an integer, a float or a pointer */
/* Loads a vector of `type` from one address, or an element from each of a vector of addresses;
 * zeros where the mask is false. Stores likewise. */
LV lanes_masked_load(Emit *e, LT type, LV address, unsigned align, LV mask);
void lanes_masked_store(Emit *e, LV v, LV address, unsigned align, LV mask);

/* ---- subgroup.c, group.c --------------------------------------------------------------------- */

/* Combines v, a vector or a scalar, over the active lanes of `mask` (NULL: all) into a scalar. */
LV combine_reduce(Emit *e, EmitCombine how, LV v, LV mask);
/* For each lane, combines the lanes below it (and itself if `inclusive`). */
LV combine_scan(Emit *e, EmitCombine how, LV v, LV mask, bool inclusive);
/* The lanes of v picked by index, of which only the low bits count. */
LV subgroup_permute(Emit *e, LV v, LV index);

#endif
