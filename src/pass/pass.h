/* SPDX-License-Identifier: MIT
 *
 * pass: SPIR-V to SPIR-V. A pass is one file with one exported function and a contract: what it
 * needs and what it leaves. The pipeline is a table in pipeline.c. A module between two passes
 * reads again, and spirv-val accepts it, but for two things: where a return left several loops, a
 * function that returns from within a loop was inlined, or a loop with both break and continue
 * left was unrolled, its branches are no structured exits any more (SPIR-V 2.11.2); and the
 * OpSelect of a structure with matrices becomes those of matrices, which it does not know. Graphs
 * stay reducible, and blocks come after what dominates them.
 */
#ifndef HEDDLE_PASS_H
#define HEDDLE_PASS_H

#include "analysis/analysis.h"

typedef struct PassOptions {
    const char *entry;          /* entry point, NULL = the only one */
    const SpecValue *spec;
    uint32_t n_spec;
    /* folded into nothing by default; used by length queries and unrolling budgets */
    uint32_t subgroup_size;
    uint32_t max_unrolled;      /* instructions a fully unrolled loop may grow to; 0 = 16384 */
    /* strip-mining of matrix loops; 0 = as many as make K about 64, 1 = off */
    uint32_t fuse_steps;
    bool optimise;              /* false: only what the code generator cannot do without */
    /* not NULL: hinted loops load ahead into registers, and what came of it is put here */
    struct AheadReport *ahead;
    /* for --emit and tests; may be NULL */
    void (*after)(void *user, const char *pass, SpvModule *m);
    void *user;
} PassOptions;

typedef struct PassContext {
    SpvModule *module;
    SpvEntryPoint entry;
    const PassOptions *options;
    DiagSink *sink;
    Arena *scratch;             /* reset between passes */
} PassContext;

/* Each returns false after reporting an error. */

/* Freezes specialisation constants to their given or default values (also through WorkgroupSize),
 * turns OpSpecConstantOp into constants, array lengths and matrix sizes with it. An id given that
 * no constant has is a warning. Leaves no OpSpecConstant*, but for OpSpecConstantOp on pointers. */
bool pass_specialise(PassContext *c);
/* In a shader, gives loops whose merge block is not reached, since only returns leave them, one
 * that they branch to. Not for portable output. */
bool pass_endless(PassContext *c);
/* Inlines every call reachable from the entry point into it and drops the other functions, but
 * those that other instructions name (a reduction's combining function). Early returns become
 * branches to the call's continuation, the merge block of an OpSwitch with one target around the
 * body (shaders). Recursion, and growth beyond 2^20 instructions, is an error. Drops OpLine and
 * debug instructions: SpvInst has the position. */
bool pass_inline(PassContext *c);
/* In an OpenCL kernel, accesses a variable of the function as a whole by its own type where its
 * address is cast to that of another type of the same size, and casts the value instead. */
bool pass_retype(PassContext *c);
/* Takes structures and arrays that hold matrices apart: as values into their matrices and members
 * without matrices; as variables into one for each member, an array where arrays are on the way. */
bool pass_apart(PassContext *c);
/* Splits Function variables (and Private ones of the entry point alone) of structures and
 * arrays that are accessed by constant indices only, or that hold matrices, into one variable a
 * part, and promotes those whose address does not escape to SSA, with phis where the variable is
 * live. Composites loaded or stored whole are taken apart with composite extract and construct;
 * accesses to components become extracts and inserts. */
bool pass_promote(PassContext *c);
/* Folds constants, copies, composites, trivial phis, branches on constants; merges equal pure
 * instructions and straight lines of blocks; drops unreachable blocks and unused instructions,
 * variables and types. OpCooperativeMatrixLengthKHR is folded when options->subgroup_size is
 * given. */
bool pass_simplify(PassContext *c);
/* Fully unrolls counted loops whose trip count is constant and which index variables that hold
 * matrices by their counter, ask for it ([[unroll]] with matrices inside), or are short;
 * simplifies. */
bool pass_unroll(PassContext *c);
/* Puts in front of a uniform loop whose body is one straight line without stores and that chains
 * multiply-adds a loop that does several of its steps (options->fuse_steps) in one block; the old
 * one does the rest. Simplifies. */
bool pass_strip_mine(PassContext *c);

/* Software pipelines for the loops with a hint for wait queues (SPV_QCOM_multiple_wait_queues) when
 * options->ahead: N iterations ahead of its use, what a load brings goes to a register, N of which
 * rotate as phis of the loop. Results stay the same bit for bit. Afterwards no loop has the hint,
 * and the module neither capability nor extension. Simplifies. */
bool pass_load_ahead(PassContext *c);
/* Takes the hints out, and the capability and the extension. */
void pass_drop_wait_queues(SpvModule *m);

/* ---- wait_queues.c: an analysis, of SPV_QCOM_multiple_wait_queues ---------------------------- */

enum {
    WAIT_QUEUES_MOST = SPV_WAIT_QUEUES_MOST,
    WAIT_QUEUES_GOOD = 2,       /* what a hint of 0, as many as there are, means */
    TENSOR_MAX_DIMENSIONS = 5,
};

/* What a value grows by from one iteration of a loop to the next. */
typedef enum AheadStepKind {
    STEP_CONSTANT,
    STEP_VALUE,
    STEP_ADD,
    STEP_SUB,
    STEP_MUL
} AheadStepKind;
typedef struct AheadStep AheadStep;
struct AheadStep {
    AheadStepKind kind;
    uint64_t bits;              /* CONSTANT */
    SpvId value;                /* VALUE: the same in all iterations, but perhaps made in each */
    const AheadStep *x, *y;     /* ADD, SUB, MUL */
};

typedef enum AheadMoves { AHEAD_STEPS, AHEAD_STAYS, AHEAD_UNKNOWN } AheadMoves;

/* A load in a loop with the hint, not in one within that. */
typedef struct AheadLoad {
    SpvInst *inst;              /* OpCooperativeMatrixLoad{KHR,TensorNV}, OpLoad from a buffer */
    const CfgLoop *loop;
    uint32_t queues;            /* 1 to WAIT_QUEUES_MOST */
    AheadMoves moves;           /* STEPS: by a loop-invariant step */
    const AheadStep *bytes;     /* STEPS: what the pointer moves on */
    const AheadStep *slice[TENSOR_MAX_DIMENSIONS]; /* elements that a tensor layout's slice does */
} AheadLoad;

typedef struct WaitQueues {
    VEC(AheadLoad) loads;
    Map places;                 /* by id of a load */
} WaitQueues;

WaitQueues *wait_queues_find(Arena *a, SpvModule *m, const Cfg *g);
const AheadLoad *wait_queues_load(const WaitQueues *w, const SpvInst *i); /* or NULL */
uint32_t wait_queues_asked(const CfgLoop *loop);    /* AheadLoad.queues; 0: no hint */
bool wait_queues_may_load(SpvModule *m, const SpvInst *i);
/* Whether a value is the same in all iterations, as long as memory does not change. */
bool wait_queues_same(Arena *a, SpvModule *m, const Cfg *g, const CfgLoop *loop, SpvId id);

/* ---- load_ahead.c: what came of a loop ------------------------------------------------------- */

/* Why a loop, or one of its loads, is left as it is. */
typedef enum AheadReason {
    AHEAD_DONE, AHEAD_UNROLLED, AHEAD_LATCHES, AHEAD_EXITS, AHEAD_CONDITION, AHEAD_SIZE,
    AHEAD_NO_LOAD, AHEAD_VOLATILE, AHEAD_STORE, AHEAD_BARRIER, AHEAD_SAME, AHEAD_STEP,
    AHEAD_SELDOM, AHEAD_EXIT_BETWEEN, AHEAD_CALLS, AHEAD_STRUCTURE, AHEAD_N_REASONS
} AheadReason;

typedef struct AheadLoop {
    DiagLoc loc;                /* of its OpLoopMerge */
    uint32_t queues, loads, ahead; /* loads in it; those that are pipelined */
    AheadReason why;            /* of the loop, or of the first load that is left; or DONE */
} AheadLoop;

typedef struct AheadReport {
    Arena *arena;
    /* inlining or unrolling left control flow that is not structured, which drivers refuse */
    bool unstructured;
    VEC(AheadLoop) loops;
} AheadReport;

const char *ahead_reason(AheadReason why);          /* for people; "" for DONE */
void ahead_report(AheadReport *r, const SpvModule *m, const SpvInst *merge, AheadLoop l);

/* Replaces SPV_NV_cooperative_matrix by SPV_KHR_cooperative_matrix, which came of it, in a module
 * that was just read. */
void pass_nv_matrix(SpvModule *m);
/* Replaces SPV_KHR_untyped_pointers by pointers to bytes, cast where they are accessed, in a module
 * that was just read. */
void pass_untyped(SpvModule *m);

/* Makes a compute shader for Vulkan of an OpenCL module, whose kernels call nothing and have loops
 * with one exit and selections with one end, without merge instructions:
 *
 *     pointers to global, constant memory  storage buffers: set 0, binding = the argument's number
 *     pointers to workgroup memory         arrays of as many bytes as the specialisation constant
 *                                          4 + the argument's number says
 *     other arguments                      push constants, in order, each at its own alignment
 *     the workgroup's size                 LocalSize, or specialisation constants 0, 1, 2
 *     get_work_dim()                       specialisation constant 3
 *
 * What Vulkan has no way to do is an error that names it. */
bool pass_shader(SpvModule *m, DiagSink *sink);

/* Puts the positions that instructions have into OpLine, which the passes drop: for a module that
 * is to be written. */
void pass_lines(SpvModule *m);

/* All of it, as the code generators want it: one function, specialised, in SSA. */
bool pass_pipeline(SpvModule *m, const PassOptions *o, SpvEntryPoint *entry, DiagSink *sink);

#endif
