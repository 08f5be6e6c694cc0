/* SPDX-License-Identifier: MIT
 *
 * pass: SPIR-V to SPIR-V. A pass is one file with one exported function and a contract: what it
 * needs and what it leaves. The pipeline is a table in pipeline.c. Between any two passes a module
 * can be read again and spirv-val accepts it, with two exceptions. Where a return left several
 * loops, a function that returns from within a loop was inlined, or a loop with both break and
 * continue left was unrolled, branches are no longer structured exits (SPIR-V 2.11.2) until
 * `structure` has run, which only modules for other drivers need; nor are they behind `alike`. And
 * the OpSelect of a structure with matrices becomes one of matrices, which spirv-val does not know.
 * Graphs stay reducible, and blocks come after what dominates them.
 */
#ifndef HEDDLE_PASS_H
#define HEDDLE_PASS_H

#include "analysis/analysis.h"

typedef struct PassOptions {
    const char *entry; /* entry point, NULL = the only one */
    const SpvSpecValue *spec;
    uint32_t n_spec;
    /* folded into nothing by default; used by length queries and unrolling budgets */
    uint32_t subgroup_size;
    uint32_t max_unrolled; /* instructions a fully unrolled loop may grow to; 0 = 16384 */
    /* strip-mining of matrix loops; 0 = as many as make K about 64, 1 = off */
    uint32_t fuse_steps;
    bool optimise;       /* false: only what the code generator cannot do without */
    bool keep_variables; /* for debuggers: pass_keep */
    bool inside;         /* pass_inside */
    SpvId *away;         /* out: its boolean whether the workgroup is away from edges; or NULL */
    bool forward;        /* pass_forward */
    uint32_t unstage;    /* pass_unstage: invocations that run side by side; 0: it does nothing */
    bool whole;          /* pass_whole: invocations are lanes */
    bool whole_matrices; /* pass_promote: of variables of matrices alone, accessed as wholes */
    /* not NULL: hinted loops load ahead into registers, and the outcome is stored here */
    struct PassAheadReport *ahead;
    struct PassCoarse *coarse; /* pass_coarsen; or NULL */
    /* for --emit and tests; may be NULL */
    void (*after)(void *user, const char *pass, SpvModule *m);
    void *user;
} PassOptions;

/* Workgroups in one call. The Input variable `left` (with Location 0, so that modules are valid but
 * for Vulkan's rules) says how many there are to do, this one and those after it in x; the kernel
 * stores `groups` to the Output variable `done` when it does so many, and else does one. */
typedef struct PassCoarse {
    uint32_t most; /* in: how many it may be */
    /* in: that loops of a version may carry on of an invocation; more would not be in registers */
    uint32_t most_words;
    uint32_t groups;
    SpvId left, done;
} PassCoarse;

enum { PASS_TWINS = 8 };
/* A variable of workgroup memory, and the one that stands for it in pass_inside's version. */
typedef struct PassTwin {
    SpvId of, twin;
} PassTwin;

typedef struct PassContext {
    SpvModule *module;
    SpvEntryPoint entry;
    const PassOptions *options;
    DiagSink *sink;
    Arena *scratch; /* reset between passes */
    PassTwin twins[PASS_TWINS];
    uint32_t n_twins;
} PassContext;

/* Each returns false after reporting an error. */

/* Freezes specialisation constants to their given or default values (also through
 * WorkgroupSize), turns OpSpecConstantOp into constants, array lengths and matrix sizes with it.
 * A given id that no constant has causes a warning. Leaves no OpSpecConstant*, but for
 * OpSpecConstantOp on pointers. */
bool pass_specialise(PassContext *c);
/* In a shader, gives loops that are left only by returns, so that their merge block is unreachable,
 * a merge block that they branch to. Not for portable output. */
bool pass_endless(PassContext *c);
/* With keep_variables: a second variable beside each named one of numbers, parameters included, has
 * the same value and is only written, by volatile stores: no pass makes values of it. */
bool pass_keep(PassContext *c);
/* Inlines every call reachable from the entry point into it and drops the other functions, but
 * those that other instructions name (a reduction's combining function). Early returns become
 * branches to the call's continuation, the merge block of an OpSwitch with one target around the
 * body (shaders). Recursion, and growth beyond 2^20 instructions, is an error. Drops OpLine and
 * debug instructions: SpvInst has the position. */
bool pass_inline(PassContext *c);
/* In a shader with options->ahead, makes branches that leave several loops or switches at once
 * (returns from loops of functions that were inlined, breaks from iterations that were unrolled)
 * leave one after the other, by variables that say where to (SPIR-V 2.11.2). What it cannot, for
 * pointers that would have to be kept in variables, is reported there. */
bool pass_structure(PassContext *c);
/* In an OpenCL kernel, accesses a variable of the function as a whole by its own type where its
 * address is cast to that of another type of the same size, and casts the value instead. */
bool pass_retype(PassContext *c);
/* Splits structures and arrays that hold matrices: values into their matrices and members without
 * matrices, variables into one for each member, which is an array if it was inside arrays. */
bool pass_apart(PassContext *c);
/* Splits Function variables (and Private ones of the entry point alone) of structures and
 * arrays that are accessed by constant indices only, or that hold matrices, into one variable a
 * part, and promotes those whose address does not escape to SSA, with phis where the variable is
 * live. Composites loaded or stored whole are taken apart with composite extract and construct;
 * accesses to components become extracts and inserts. With whole_matrices
 * variables without matrices stay, and matrices whose elements are accessed. */
bool pass_promote(PassContext *c);
/* Folds constants, copies, composites, trivial phis, branches on constants; merges equal pure
 * instructions and straight lines of blocks; drops unreachable blocks and unused instructions,
 * variables and types. OpCooperativeMatrixLengthKHR is folded when options->subgroup_size is
 * given. */
bool pass_simplify(PassContext *c);
/* Makes counters of loops that begin at an invocation's number in its workgroup sums of that number
 * and one that all invocations share, and where all run the loop equally often, the loop's
 * condition one on that. Unused instructions stay. */
bool pass_trips(PassContext *c);
/* Makes divisions, remainders and shifts of signed numbers that are not negative unsigned ones. */
bool pass_signs(PassContext *c);
/* Fully unrolls counted loops whose trip count is constant and which index variables that hold
 * matrices by their counter, ask for it ([[unroll]] with matrices inside), or are short;
 * simplifies. */
bool pass_unroll(PassContext *c);
/* In an OpenCL kernel, makes variables whose address is cast, and which are accessed at known
 * places that do not overlap, one variable a place; where places are computed, an array. */
bool pass_pieces(PassContext *c);
/* With options->inside, where an invocation's integers are compared with bounds, or clamped to
 * them, in a kernel that is not too large: precedes the body by a version for workgroups in which
 * all of that comes out as it does away from edges. Variables of workgroup memory have twins there.
 * Simplifies. */
bool pass_inside(PassContext *c);
/* Makes twins that are left the same variable again. Simplifies. */
bool pass_share(PassContext *c);
/* With options->unstage: where a workgroup fills a variable of workgroup memory once, and its
 * invocations read few elements each, computes these where they are read. Simplifies. */
bool pass_unstage(PassContext *c);
/* In a shader, with options->forward: where a workgroup copies parts of a buffer to a variable of
 * workgroup memory from which only matrices are loaded, loads them from the buffer instead, without
 * copies, and without barriers that nothing else waits at. Simplifies. */
bool pass_forward(PassContext *c);
/* With options->whole, has the header leave loops that end by a test, in which each invocation
 * walks along a row of its own. */
bool pass_unrotate(PassContext *c);
/* Precedes each loop that chains multiply-adds in a straight line without stores, uniformly
 * (options->fuse_steps), or in which each invocation walks along a row of its own (options->whole)
 * by a loop that does several of its steps in one block; the old loop does the rest. Simplifies. */
bool pass_strip_mine(PassContext *c);

/* In a shader, with options->coarse, where workgroups share no memory and read in loops what others
 * read too: precedes the body by a version that does several workgroups. Simplifies. */
bool pass_coarsen(PassContext *c);

/* With options->whole, where a loop's trip count is one of two numbers, both uniform, duplicates
 * the code that follows, with one copy for subgroups whose invocations all chose the same number.
 * Where that is in a selection, both leave it at once. Simplifies. */
bool pass_alike(PassContext *c);

/* With options->whole, precedes each loop whose invocations leave it by a counter of their own by a
 * copy that they all run, which a vote of the subgroup ends. Simplifies. */
bool pass_whole(PassContext *c);

/* Not one of the pipeline's. Where invocations of a kernel after it neither share memory nor tell
 * which subgroup they are in, and the workgroup's rows are short, makes workgroups side by side one
 * with rows of 64; returns how many. 0: it is no such kernel, and nothing has changed; nor has it
 * if `only_ask`. The entry point's size is the new one. `away`: what pass_inside has said, or 0. */
uint32_t pass_merge_groups(SpvModule *m, SpvEntryPoint *entry, SpvId away, bool only_ask,
                           Arena *scratch);

/* With options->ahead, software-pipelines the loops with a hint for wait queues
 * (SPV_QCOM_multiple_wait_queues): a value is loaded N iterations before its use into one of N
 * registers, which rotate as phis of the loop. Results stay the same bit for bit. Afterwards no
 * loop has the hint, and the module neither capability nor extension. Simplifies. */
bool pass_load_ahead(PassContext *c);
bool pass_has_wait_queues(const SpvModule *m); /* loops with such a hint */
/* Takes the hints out, and the capability and the extension. */
void pass_drop_wait_queues(SpvModule *m);

/* Puts a phi behind each divergent loop that is left to one block, for every number that is
 * computed in it and used behind it: the lanes inside may then share what differs behind. Returns
 * how many phis there are; `u` is out of date if there are any. */
uint32_t pass_close_loops(Arena *a, SpvModule *m, const Cfg *g, const Uniformity *u);

/* ---- wait_queues.c: an analysis, of SPV_QCOM_multiple_wait_queues ---------------------------- */

enum {
    WAIT_QUEUES_MOST = SPV_WAIT_QUEUES_MOST,
    WAIT_QUEUES_GOOD = 2, /* what a hint of 0, as many as there are, means */
    TENSOR_MAX_DIMENSIONS = 5,
};

/* What a value grows by from one iteration of a loop to the next. */
typedef enum PassAheadStepKind {
    STEP_CONSTANT,
    STEP_VALUE,
    STEP_ADD,
    STEP_SUB,
    STEP_MUL
} PassAheadStepKind;
typedef struct PassAheadStep PassAheadStep;
struct PassAheadStep {
    PassAheadStepKind kind;
    uint64_t bits;              /* CONSTANT */
    SpvId value;                /* VALUE: the same in all iterations, but perhaps made in each */
    const PassAheadStep *x, *y; /* ADD, SUB, MUL */
};

typedef enum PassAheadMoves { AHEAD_STEPS, AHEAD_STAYS, AHEAD_UNKNOWN } PassAheadMoves;

/* A load in a loop with the hint, not in one within that. */
typedef struct PassAheadLoad {
    SpvInst *inst; /* OpCooperativeMatrixLoad{KHR,TensorNV}, OpLoad from a buffer */
    const CfgLoop *loop;
    uint32_t queues;            /* 1 to WAIT_QUEUES_MOST */
    PassAheadMoves moves;       /* STEPS: by a loop-invariant step */
    const PassAheadStep *bytes; /* STEPS: what the pointer moves on */
    const PassAheadStep
        *slice[TENSOR_MAX_DIMENSIONS]; /* elements that a tensor layout's slice does */
} PassAheadLoad;

typedef struct PassWaitQueues {
    VEC(PassAheadLoad) loads;
    Map places; /* by id of a load */
} PassWaitQueues;

PassWaitQueues *wait_queues_find(Arena *a, SpvModule *m, const Cfg *g);
const PassAheadLoad *wait_queues_load(const PassWaitQueues *w, const SpvInst *i); /* or NULL */
uint32_t wait_queues_hint(const CfgLoop *loop); /* PassAheadLoad.queues; 0: no hint */
bool wait_queues_may_load(SpvModule *m, const SpvInst *i);
/* What a value, or a pointer in bytes, grows by from one iteration to the next; NULL: not the same
 * each time. */
const PassAheadStep *wait_queues_step(Arena *a, SpvModule *m, const Cfg *g, const CfgLoop *loop,
                                      SpvId id);
/* Whether a value is the same in all iterations, as long as memory does not change. */
bool wait_queues_same(Arena *a, SpvModule *m, const Cfg *g, const CfgLoop *loop, SpvId id);

/* ---- load_ahead.c: what came of a loop ------------------------------------------------------- */

/* Why a loop, or one of its loads, is left as it is. */
typedef enum PassAheadReason {
    AHEAD_DONE,
    AHEAD_UNROLLED,
    AHEAD_LATCHES,
    AHEAD_EXITS,
    AHEAD_CONDITION,
    AHEAD_SIZE,
    AHEAD_NO_LOAD,
    AHEAD_VOLATILE,
    AHEAD_STORE,
    AHEAD_BARRIER,
    AHEAD_SAME,
    AHEAD_STEP,
    AHEAD_SELDOM,
    AHEAD_EXIT_BETWEEN,
    AHEAD_CALLS,
    AHEAD_STRUCTURE,
    AHEAD_N_REASONS
} PassAheadReason;

typedef struct PassAheadLoop {
    DiagLoc loc;                   /* of its OpLoopMerge */
    uint32_t queues, loads, ahead; /* loads in it; those that are pipelined */
    PassAheadReason why;           /* of the loop, or of the first load that is left; or DONE */
} PassAheadLoop;

typedef struct PassAheadReport {
    Arena *arena;
    uint32_t most; /* iterations ahead, whatever the hint says; given, 0: as many as it says */
    /* there is control flow that `structure` could not structure, which drivers reject */
    bool unstructured;
    VEC(PassAheadLoop) loops;
} PassAheadReport;

const char *ahead_reason(PassAheadReason why); /* for people; "" for DONE */
void ahead_report(PassAheadReport *r, const SpvModule *m, const SpvInst *merge, PassAheadLoop l);

/* Replaces SPV_NV_cooperative_matrix by SPV_KHR_cooperative_matrix, which came of it, in a module
 * that was just read. */
void pass_nv_matrix(SpvModule *m);
/* Replaces SPV_KHR_untyped_pointers by pointers to bytes, cast where they are accessed, in a module
 * that was just read. */
void pass_untyped(SpvModule *m);

/* Turns an OpenCL module into compute shaders for Vulkan. Its kernels must not contain calls; loops
 * have one exit and selections one end, without merge instructions:
 *
 *     pointers to global, constant memory  storage buffers: set 0, binding = the argument's number
 *     pointers to workgroup memory         arrays of as many bytes as the specialisation constant
 *                                          4 + the argument's number says
 *     other arguments                      push constants, in order, each at its own alignment
 *     the workgroup's size                 LocalSize, or specialisation constants 0, 1, 2
 *     get_work_dim()                       specialisation constant 3
 *
 * Anything that Vulkan cannot express is reported as an error. */
bool pass_shader(SpvModule *m, DiagSink *sink);

/* Restores OpLine, which the passes drop, from the positions in instructions, for a module that is
 * to be written. */
void pass_lines(SpvModule *m);

/* Runs all passes; the result is what code generators expect: one function, specialised, in SSA. */
bool pass_pipeline(SpvModule *m, const PassOptions *o, SpvEntryPoint *entry, DiagSink *sink);

#endif
